"""The tools of the seal management."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def check_seal(db: dict[str, Any], seal: str, date: str) -> dict[str, Any]:
    """Look whether a company seal can be lent out on a day.

    Args:
        seal: Kind of seal: company, contract, finance or personnel.
        date: Day as YYYY-MM-DD.

    Returns:
        `free`; `keeper` of the seal if it is free, else `back_on`: the day and the time at which it comes back.
    """
    until = db["lent"].get(f"{seal}/{date}")
    keepers = db["keepers"]
    keeper = keepers[sum(place * ord(letter) for place, letter in enumerate(seal + date, 7)) % len(keepers)]
    return {"db": db, "result": {"free": until is None, "keeper": None if until else keeper, "back_on": until}}


@tool(effect="read")
def check_authority(db: dict[str, Any], seal: str, applicant: str) -> dict[str, Any]:
    """Look whether a person may use a seal.

    Args:
        seal: Kind of seal.
        applicant: Personnel number of the person, S and four digits.

    Returns:
        `level`: `alone`, `second` if a second signature is needed, or `none`; `countersigner` if one is needed,
        `rule` number that excludes the person if there is no authority.
    """
    level = db["authorities"].get(applicant, {}).get(seal, "none")
    code = sum(place * ord(letter) for place, letter in enumerate(seal + applicant, 7))
    countersigner = db["countersigners"][code % len(db["countersigners"])] if level == "second" else None
    rule = f"rule {code % 80 + 10}.{code % 7 + 1}" if level == "none" else None
    return {"db": db, "result": {"level": level, "countersigner": countersigner, "rule": rule}}


@tool(effect="write")
def request_seal(db: dict[str, Any], seal: str, date: str, applicant: str, purpose: str) -> dict[str, Any]:
    """Request a seal for a day.

    Args:
        seal: Kind of seal.
        date: Day as YYYY-MM-DD.
        applicant: Personnel number.
        purpose: What is sealed, in a few words.

    Returns:
        `request` number.
    """
    serial = db["serial"] + 13
    number = f"SR-{serial * 47 % 9000 + 1000}"
    db["serial"] = serial
    db["requests"][number] = {
        "seal": seal,
        "date": date,
        "applicant": applicant,
        "purpose": purpose,
        "state": "filed",
        "detail": None,
    }
    return {"db": db, "result": {"request": number}}


@tool(effect="read")
def find_seal_request(db: dict[str, Any], request: str) -> dict[str, Any]:
    """Look up the state of a request for a seal.

    Args:
        request: Number of the request, such as SR-5120.

    Returns:
        `state`: `approved`, `rejected`, `stuck` or `unknown`; `cabinet` where it can be picked up if approved,
        `reason` code if rejected, `approver` who has not decided if it is stuck, `register` page if unknown.
    """
    row = db["requests"].get(request)
    result: dict[str, Any] = {"state": "unknown", "cabinet": None, "reason": None, "approver": None, "register": None}
    if row is None:
        mixed = sum(place * ord(letter) for place, letter in enumerate(request, 7))
        result["register"] = f"page {(mixed * 7 + db['serial']) % 900 + 50}"
    else:
        result["state"] = row["state"]
        field = {"approved": "cabinet", "rejected": "reason", "stuck": "approver"}[row["state"]]
        result[field] = row["detail"]
    return {"db": db, "result": result}


@tool(effect="write")
def remind_approver(db: dict[str, Any], request: str) -> dict[str, Any]:
    """Remind the approver of a request that is stuck.

    Args:
        request: Number of the request.

    Returns:
        `decision_by`: the day and the time by which a decision is promised, as YYYY-MM-DD HH:MM.
    """
    code = sum(place * ord(letter) for place, letter in enumerate(request, 7)) + db["serial"]
    time = f"2026-08-{code % 15 + 14:02} {code % 9 + 9:02}:{code * 7 % 60:02}"
    db["reminders"][request] = {"decision_by": time}
    return {"db": db, "result": {"decision_by": time}}
