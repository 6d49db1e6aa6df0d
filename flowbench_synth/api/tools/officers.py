"""The tools of a register of officers, who sign for one another."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_officer(db: dict[str, Any], officer_id: str) -> dict[str, Any]:
    """Get an officer by id.

    Args:
        officer_id: Id of the officer.

    Returns:
        The officer: `id`, `name`, `rank` with `title` and `grade` (1 to 9), `superior_id` (null at the top), `leave`
        with `until` (null if the officer is on duty).
    """
    return {"db": db, "result": {"id": officer_id, **db["officers"][officer_id]}}


@tool(effect="read")
def find_officers(db: dict[str, Any], title: str) -> dict[str, Any]:
    """Find the officers with a title.

    Args:
        title: The title, such as captain.

    Returns:
        `officers` with `id` and `name`.
    """
    rows = [(id, row["name"]) for id, row in sorted(db["officers"].items()) if row["rank"]["title"] == title]
    return {"db": db, "result": {"officers": [{"id": id, "name": name} for id, name in rows]}}


@tool(effect="write")
def grant_leave(db: dict[str, Any], officer_id: str, until: str) -> dict[str, Any]:
    """Grant an officer leave.

    Args:
        officer_id: Id of the officer.
        until: The last day, YYYY-MM-DD.

    Returns:
        `officer_id`, `until`.
    """
    db["officers"][officer_id]["leave"] = {"until": until}
    return {"db": db, "result": {"officer_id": officer_id, "until": until}}
