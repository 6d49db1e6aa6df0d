"""The tools of a personnel office: divisions with departments, teams and members."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_division(db: dict[str, Any], division_id: str) -> dict[str, Any]:
    """Get a division with all its departments.

    Args:
        division_id: Id of the division.

    Returns:
        The division: `id`, `name`, `departments` with `name` and `teams`; a team has `name` and `members` with `name`,
        `salary` and `leaves_on` (null for most).
    """
    return {"db": db, "result": {"id": division_id, **db["divisions"][division_id]}}


@tool(effect="read")
def list_divisions(db: dict[str, Any]) -> dict[str, Any]:
    """List all divisions.

    Returns:
        `divisions` with `id` and `name`.
    """
    rows = [{"id": id, "name": row["name"]} for id, row in sorted(db["divisions"].items())]
    return {"db": db, "result": {"divisions": rows}}


@tool(effect="write")
def rename_division(db: dict[str, Any], division_id: str, name: str) -> dict[str, Any]:
    """Rename a division.

    Args:
        division_id: Id of the division.
        name: The new name.

    Returns:
        `id`, `name`.
    """
    db["divisions"][division_id]["name"] = name
    return {"db": db, "result": {"id": division_id, "name": name}}
