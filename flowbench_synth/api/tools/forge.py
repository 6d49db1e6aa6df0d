"""The tools of a code host: changes under review, owners of code, pipelines and their runs."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_change(db: dict[str, Any], change_id: str) -> dict[str, Any]:
    """Get a change that waits for review.

    Args:
        change_id: Id of the change.

    Returns:
        The change: `change_id`, `title`, `author` (a handle), `area` (the part of the code), `size` with `added` and
        `removed` lines.
    """
    return {"db": db, "result": db["changes"][change_id]}


@tool(effect="read")
def get_area(db: dict[str, Any], area: str) -> dict[str, Any]:
    """Get a part of the code.

    Args:
        area: Its name.

    Returns:
        The part: `area`, `owners` (handles, the one who knows it best first), `review_cap`: the number of open reviews
        that an owner may have, `language`.
    """
    return {"db": db, "result": db["areas"][area]}


@tool(effect="read")
def get_developer(db: dict[str, Any], handle: str) -> dict[str, Any]:
    """Get a developer.

    Args:
        handle: The handle.

    Returns:
        The developer: `handle`, `name`, `reviews` with `open` and `done` (numbers), `leave` (null for who is at work,
        otherwise with `until`, a day, and `deputy`, who is no owner of code).
    """
    return {"db": db, "result": db["developers"][handle]}


@tool(effect="write")
def request_review(db: dict[str, Any], change_id: str, reviewer: str) -> dict[str, Any]:
    """Ask a developer to review a change.

    Args:
        change_id: Id of the change.
        reviewer: The handle.

    Returns:
        `review_id`, `reviewer`, `due_on`: the day by which the review is expected.
    """
    db["number"] += 1
    review_id = f"RV-{db['number']}"
    db["requests"][review_id] = {"change_id": change_id, "reviewer": reviewer}
    db["developers"][reviewer]["reviews"]["open"] += 1
    return {"db": db, "result": {"review_id": review_id, "reviewer": reviewer, "due_on": db["due_on"]}}


@tool(effect="read")
def get_pipeline(db: dict[str, Any], pipeline_id: str) -> dict[str, Any]:
    """Get a pipeline.

    Args:
        pipeline_id: Id of the pipeline.

    Returns:
        The pipeline: `pipeline_id`, `title`, `default_branch`, `goal` with `pass_percent` and `max_seconds`.
    """
    return {"db": db, "result": db["pipelines"][pipeline_id]}


@tool(effect="read")
def list_runs(db: dict[str, Any], pipeline_id: str) -> dict[str, Any]:
    """List the runs of a pipeline in the last seven days.

    Args:
        pipeline_id: Id of the pipeline.

    Returns:
        The runs, each with `run_id`, `branch`, `outcome` (`passed`, `failed` or `cancelled`), `seconds` with `queued`
        and `ran`.
    """
    names = ("run_id", "branch", "outcome", "seconds")
    rows = [row for row in db["runs"].values() if row["pipeline_id"] == pipeline_id]
    shown = [{name: row[name] for name in names} for row in rows]
    return {"db": db, "result": shown}
