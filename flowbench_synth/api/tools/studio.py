"""The tools of a design studio: projects and time sheets."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_projects(db: dict[str, Any], client: str) -> dict[str, Any]:
    """List the projects of a client.

    Args:
        client: Name of the client.

    Returns:
        `projects` with `id`, `title`, `budget` with `minutes` (null without a limit), `closed_on` (null while open).
    """
    rows = [row for _, row in sorted(db["projects"].items()) if row["client"] == client]
    projects = [{field: row[field] for field in ("id", "title", "budget", "closed_on")} for row in rows]
    return {"db": db, "result": {"projects": projects}}


@tool(effect="read")
def month_sheet(db: dict[str, Any], month: str) -> dict[str, Any]:
    """Get the time sheet of a month, of all projects.

    Args:
        month: The month, YYYY-MM.

    Returns:
        `month`, `entries` with `project_id`, `person`, `minutes`, `billable`.
    """
    return {"db": db, "result": {"month": month, "entries": db["timesheets"][month]["entries"]}}


@tool(effect="write")
def close_project(db: dict[str, Any], project_id: str, closed_on: str) -> dict[str, Any]:
    """Close a project.

    Args:
        project_id: Id of the project.
        closed_on: The day, YYYY-MM-DD.

    Returns:
        `id`, `closed_on`.
    """
    db["projects"][project_id]["closed_on"] = closed_on
    return {"db": db, "result": {"id": project_id, "closed_on": closed_on}}


@tool(effect="read")
def get_project(db: dict[str, Any], project_id: str) -> dict[str, Any]:
    """Get a project by id.

    Args:
        project_id: Id of the project.

    Returns:
        The project: `id`, `client`, `title`, `budget` with `minutes` (null without a limit), `closed_on` (null while
        open).
    """
    return {"db": db, "result": db["projects"][project_id]}
