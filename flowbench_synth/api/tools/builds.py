"""The tools of a build server: builds of branches, reruns, incidents."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="write")
def trigger_build(db: dict[str, Any], branch: str) -> dict[str, Any]:
    """Start a build of a branch.

    Args:
        branch: Name of the branch.

    Returns:
        `build_id`, `state` (scheduled).
    """
    db["build_number"] += 1
    build_id = f"b{db['build_number']}"
    db["builds"][build_id] = {"branch": branch, "attempt": 1}
    return {"db": db, "result": {"build_id": build_id, "state": "scheduled"}}


@tool(effect="write")
def rerun_build(db: dict[str, Any], build_id: str) -> dict[str, Any]:
    """Run a failed build once more, as a new build.

    Args:
        build_id: Id of the build that failed.

    Returns:
        `build_id` of the new build, `state` (scheduled).
    """
    before = db["builds"][build_id]
    db["build_number"] += 1
    new_id = f"b{db['build_number']}"
    db["builds"][new_id] = {"branch": before["branch"], "attempt": before["attempt"] + 1}
    return {"db": db, "result": {"build_id": new_id, "state": "scheduled"}}


@tool(effect="read")
def get_build(db: dict[str, Any], build_id: str) -> dict[str, Any]:
    """Get a build by its id.

    Args:
        build_id: Id of the build.

    Returns:
        The build: `id`, `branch`, `state` (scheduled, running or finished), `outcome` (passed or failed; null until it
        is finished), `log` with `lines` and `last_line` (null until it is finished).
    """
    row = db["builds"][build_id]
    branch = db["branches"][row["branch"]]
    checks = db["clock"].get(build_id, 0) + 1
    db["clock"][build_id] = checks
    state, outcome, log = "scheduled" if checks == 1 else "running", None, None
    if checks >= branch["checks"]:
        passed = row["attempt"] >= branch["passes_at"]
        state, outcome = "finished", "passed" if passed else "failed"
        last = "all tests passed" if passed else f"{branch['failure']} (attempt {row['attempt']})"
        log = {"lines": 100 + 17 * row["attempt"], "last_line": last}
    return {
        "db": db,
        "result": {"id": build_id, "branch": row["branch"], "state": state, "outcome": outcome, "log": log},
    }


@tool(effect="write")
def open_incident(db: dict[str, Any], title: str, detail: str) -> dict[str, Any]:
    """Open an incident.

    Args:
        title: The title.
        detail: What happened.

    Returns:
        `incident_id`.
    """
    db["incident_number"] += 1
    incident_id = f"INC-{db['incident_number']}"
    db["incidents"][incident_id] = {"title": title, "detail": detail}
    return {"db": db, "result": {"incident_id": incident_id}}
