"""The tools of the meeting arrangement."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _number(*parts: Any) -> int:
    """A number below 90,000 that depends on every character of its parts."""
    total = 0
    for letter in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(letter)) % 90_000
    return total


def _desk(db: dict[str, Any], name: str) -> str:
    return db["desks"][_number(name) % len(db["desks"])]


def _room(db: dict[str, Any], date: str, time: str, people: int) -> str | None:
    """The smallest free room with enough seats."""
    free = [
        (row["seats"], name)
        for name, row in db["rooms"].items()
        if row["seats"] >= people and time not in row["taken"].get(date, [])
    ]
    return min(free)[1] if free else None


def _common_gap(db: dict[str, Any], names: list[str], date: str, time: str) -> str:
    """The first working hour after a time at which none of the people is busy."""
    for day in db["days"]:
        for hour in db["hours"]:
            later = day > date or (day == date and hour > time)
            if later and not any(hour in db["people"][name]["busy"].get(day, []) for name in names):
                return f"{day} {hour}"
    return f"{db['next_week']} {db['hours'][_number(date, time) % len(db['hours'])]}"


@tool(effect="read")
def check_colleague_calendar(db: dict[str, Any], colleague: str, date: str, time: str) -> dict[str, Any]:
    """Look whether a colleague has time for a meeting.

    Args:
        colleague: First and last name of the colleague.
        date: Day as YYYY-MM-DD.
        time: Full hour as HH:MM.

    Returns:
        `state`: `free`, `busy` or `unknown`; `next_free`: day and time of the colleague's next free hour if the state
        is `busy`; `directory`: extension of the desk that knows the person if the state is `unknown`.
    """
    row = db["people"].get(colleague)
    result: dict[str, Any] = {"state": "free", "next_free": None, "directory": None}
    if row is None:
        result = {"state": "unknown", "next_free": None, "directory": _desk(db, colleague)}
    elif time in row["busy"].get(date, []):
        result = {"state": "busy", "next_free": _common_gap(db, [colleague], date, time), "directory": None}
    return {"db": db, "result": result}


@tool(effect="read")
def find_meeting_room(db: dict[str, Any], date: str, time: str, people: int) -> dict[str, Any]:
    """Find the smallest room that is free and has enough seats.

    Args:
        date: Day as YYYY-MM-DD.
        time: Full hour as HH:MM.
        people: Number of people in the meeting.

    Returns:
        `room`, or null if there is none; then `bridge` is the number of a video conference that is free at that time.
    """
    room = _room(db, date, time, people)
    bridge = None if room else db["bridges"][_number(date, time, people) % len(db["bridges"])]
    return {"db": db, "result": {"room": room, "bridge": bridge}}


@tool(effect="write")
def schedule_meeting(
    db: dict[str, Any], colleague: str, date: str, time: str, people: int, organizer: str
) -> dict[str, Any]:
    """Enter a meeting in the calendars and reserve the smallest suitable room.

    Args:
        colleague: First and last name of the colleague who is invited.
        date: Day as YYYY-MM-DD.
        time: Full hour as HH:MM.
        people: Number of people in the meeting.
        organizer: E-mail address of the person who invites.

    Returns:
        `scheduled`; `meeting`: the code of the meeting, and `room`, both null if it could not be scheduled.
    """
    room = _room(db, date, time, people)
    person = db["people"].get(colleague)
    if room is None or person is None or time in person["busy"].get(date, []):
        return {"db": db, "result": {"scheduled": False, "meeting": None, "room": None}}
    meeting = f"MT{(_number(colleague, date, time, organizer) + db['serial']) % 9_000 + 1_000}"
    db["serial"] += 1
    person["busy"][date] = sorted([*person["busy"].get(date, []), time])
    taken = db["rooms"][room]["taken"]
    taken[date] = sorted([*taken.get(date, []), time])
    db["meetings"][meeting] = {
        "organizer": organizer,
        "people": [colleague],
        "date": date,
        "time": time,
        "state": "planned",
        "dial_in": f"D{_number(meeting, room) + 10_000}",
        "revision": 0,
    }
    return {"db": db, "result": {"scheduled": True, "meeting": meeting, "room": room}}


@tool(effect="read")
def look_up_meeting(db: dict[str, Any], meeting: str, requester: str) -> dict[str, Any]:
    """Look up a meeting and whether a person may move it; only its organizer may.

    Args:
        meeting: Code of the meeting.
        requester: E-mail address of the person who wants to move it.

    Returns:
        `state`: `movable`, `not_organizer`, `over` or `unknown`; `dial_in` number of a movable meeting; `office`:
        extension of the organizer's office if the state is `not_organizer`; `minutes`: number of the minutes of a
        meeting that is over; `calendar_desk`: extension to ask if the code is unknown.
    """
    row = db["meetings"].get(meeting)
    result: dict[str, Any] = {"dial_in": None, "office": None, "minutes": None, "calendar_desk": None}
    if row is None:
        result = {**result, "state": "unknown", "calendar_desk": _desk(db, meeting)}
    elif row["state"] == "over":
        result = {**result, "state": "over", "minutes": f"MN{_number(meeting, row['date']) + 10_000}"}
    elif row["organizer"] != requester:
        result = {**result, "state": "not_organizer", "office": str(_number(row["organizer"]) % 9_000 + 1_000)}
    else:
        result = {**result, "state": "movable", "dial_in": row["dial_in"]}
    return {"db": db, "result": result}


@tool(effect="read")
def check_participants(db: dict[str, Any], meeting: str, date: str, time: str) -> dict[str, Any]:
    """Look whether all participants of a meeting have time.

    Args:
        meeting: Code of the meeting.
        date: New day as YYYY-MM-DD.
        time: New full hour as HH:MM.

    Returns:
        `busy`: names of the participants who have no time; `gap`: day and time of the next hour at which all have time
        if anyone is busy.
    """
    names = db["meetings"].get(meeting, {}).get("people", [])
    busy = [name for name in names if time in db["people"][name]["busy"].get(date, [])]
    return {"db": db, "result": {"busy": busy, "gap": _common_gap(db, names, date, time) if busy else None}}


@tool(effect="write")
def move_meeting(db: dict[str, Any], meeting: str, requester: str, date: str, time: str) -> dict[str, Any]:
    """Move a meeting to another time, in the name of its organizer.

    Args:
        meeting: Code of the meeting.
        requester: E-mail address of the organizer.
        date: New day as YYYY-MM-DD.
        time: New full hour as HH:MM.

    Returns:
        `moved`; `revision`: the number of the new calendar entry, null if the meeting was not moved.
    """
    row = db["meetings"].get(meeting)
    if row is None or row["organizer"] != requester or row["state"] != "planned":
        return {"db": db, "result": {"moved": False, "revision": None}}
    for name in row["people"]:
        busy = db["people"][name]["busy"]
        busy[row["date"]] = [hour for hour in busy.get(row["date"], []) if hour != row["time"]]
        busy[date] = sorted({*busy.get(date, []), time})
    row["date"], row["time"], row["revision"] = date, time, row["revision"] + 1
    revision = f"CE{_number(meeting, date, time, row['revision']) + 10_000}"
    return {"db": db, "result": {"moved": True, "revision": revision}}


@tool(effect="write")
def notify_participants(db: dict[str, Any], meeting: str, requester: str, date: str, time: str) -> dict[str, Any]:
    """Write to all participants that a meeting was moved.

    Args:
        meeting: Code of the meeting.
        requester: E-mail address of the organizer, who receives a copy.
        date: New day as YYYY-MM-DD.
        time: New full hour as HH:MM.

    Returns:
        `notice`: the number of the message, null if the meeting is unknown.
    """
    row = db["meetings"].get(meeting)
    if row is None:
        return {"db": db, "result": {"notice": None}}
    notice = f"N{_number(requester, meeting, time, date) + 10_000}"
    db["notices"][notice] = {"meeting": meeting, "to": [*row["people"], requester], "date": date, "time": time}
    return {"db": db, "result": {"notice": notice}}
