"""The tools of a university: courses, their rolls, exams, exam rooms."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_course(db: dict[str, Any], course_code: str) -> dict[str, Any]:
    """Get a course.

    Args:
        course_code: Code of the course, such as LAW204.

    Returns:
        The course: `code`, `title`, `lecturer` with `name` and `email`, `rules` with `min_attendance` (percent) and
        `max_absences`.
    """
    row = db["courses"][course_code]
    return {"db": db, "result": {key: row[key] for key in ("code", "title", "lecturer", "rules")}}


@tool(effect="read")
def course_roll(db: dict[str, Any], course_code: str, cursor: str | None) -> dict[str, Any]:
    """Read a page of the roll of a course.

    Args:
        course_code: Code of the course.
        cursor: The cursor of the page; null for the first one.

    Returns:
        `entries`: each with `student` with `number` and `name`, `status` (`active`, `withdrawn` or `auditing`),
        `sessions` with `held` and `attended`, `excuse` (a note, or null); `next_cursor`: null on the last page.
    """
    roll = db["courses"][course_code]["roll"]
    start = 0 if cursor is None else int(cursor.split("-")[1])
    following = start + 3
    entries = [
        {
            "student": {"number": row["number"], "name": row["name"]},
            "status": row["status"],
            "sessions": {"held": row["held"], "attended": row["attended"]},
            "excuse": row["excuse"],
        }
        for row in roll[start:following]
    ]
    more = f"{course_code}-{following}" if following < len(roll) else None
    return {"db": db, "result": {"entries": entries, "next_cursor": more}}


@tool(effect="read")
def exams_on(db: dict[str, Any], day: str) -> dict[str, Any]:
    """List the exams of a day.

    Args:
        day: The day, as YYYY-MM-DD.

    Returns:
        `day`, `exams`: by time, each with `id`, `course_code`, `room` (its code, null if none was given yet),
        `starts` (a time of day), `registered`: the number of students.
    """
    found = [
        {key: row[key] for key in ("id", "course_code", "room", "starts", "registered")}
        for row in db["exams"].values()
        if row["day"] == day
    ]
    found = sorted(found, key=lambda row: (row["starts"], row["id"]))
    return {"db": db, "result": {"day": day, "exams": found}}


@tool(effect="read")
def exam_rooms(db: dict[str, Any]) -> dict[str, Any]:
    """List the rooms that exams are written in.

    Returns:
        The rooms: each with `code`, `building`, `seats`: the seats of an exam, `desks`: all seats.
    """
    rooms = [db["exam_rooms"][code] for code in sorted(db["exam_rooms"])]
    return {"db": db, "result": rooms}
