"""The tools of a law office: matters, lawyers, practices, deadlines, time entries."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_matter(db: dict[str, Any], matter_no: str) -> dict[str, Any]:
    """Get a matter.

    Args:
        matter_no: Number of the matter, such as M-20417.

    Returns:
        The matter: `no`, `client`, `practice` (a code), `team` with `lead` and `stand_in` (ids of lawyers;
        `stand_in` may be null), `budget` with `monthly` (null if none was agreed) and `currency`.
    """
    return {"db": db, "result": db["matters"][matter_no]}


@tool(effect="read")
def get_lawyer(db: dict[str, Any], lawyer_id: str) -> dict[str, Any]:
    """Get a lawyer.

    Args:
        lawyer_id: Id of the lawyer.

    Returns:
        The lawyer: `id`, `name`, `grade`, `leave`: the next leave with `first_day` and `last_day`, null if none is
        planned.
    """
    return {"db": db, "result": db["lawyers"][lawyer_id]}


@tool(effect="read")
def get_practice(db: dict[str, Any], code: str) -> dict[str, Any]:
    """Get a practice group of the office.

    Args:
        code: Code of the practice.

    Returns:
        The practice: `code`, `title`, `head`: id of the lawyer who heads it.
    """
    return {"db": db, "result": db["practices"][code]}


@tool(effect="read")
def deadlines_of_lawyer(db: dict[str, Any], lawyer_id: str) -> dict[str, Any]:
    """List the deadlines that a lawyer is responsible for, done ones too.

    Args:
        lawyer_id: Id of the lawyer.

    Returns:
        `count`, `deadlines`: each with `id`, `matter_no`, `subject`, `due_on`, `done_on` (null while it is open).
    """
    rows = [row for row in db["deadlines"].values() if row["owner"] == lawyer_id]
    found = [
        {key: row[key] for key in ("id", "matter_no", "subject", "due_on", "done_on")}
        for row in sorted(rows, key=lambda row: row["id"])
    ]
    return {"db": db, "result": {"count": len(found), "deadlines": found}}


@tool(effect="read")
def time_of_matter(db: dict[str, Any], matter_no: str, month: str) -> dict[str, Any]:
    """List the time that was recorded on a matter in a month.

    Args:
        matter_no: Number of the matter.
        month: The month, as YYYY-MM.

    Returns:
        The entries: each with `entry`, `day`, `lawyer_id`, `hours`, `rate` (per hour), `billable`, `written_off`.
    """
    rows = [row for row in db["matter_time"][matter_no]["entries"] if row["day"][:7] == month]
    return {"db": db, "result": rows}


@tool(effect="write")
def reassign_deadline(db: dict[str, Any], deadline_id: str, lawyer_id: str) -> dict[str, Any]:
    """Make another lawyer responsible for a deadline.

    Args:
        deadline_id: Id of the deadline.
        lawyer_id: Id of the lawyer who is responsible from now on.

    Returns:
        `deadline_id`, `owner` with `id` and `name`.
    """
    lawyer = db["lawyers"][lawyer_id]
    db["deadlines"][deadline_id]["owner"] = lawyer["id"]
    owner = {"id": lawyer["id"], "name": lawyer["name"]}
    return {"db": db, "result": {"deadline_id": deadline_id, "owner": owner}}
