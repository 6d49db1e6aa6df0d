"""The tools of a service for feature flags."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_flags(db: dict[str, Any], project: str) -> dict[str, Any]:
    """List the flags of a project that are in use.

    Args:
        project: Id of the project.

    Returns:
        The flags, each with `key`, `kind` (`release`, `experiment`, `ops` or `permission`), `environments` with
        `staging` and `production`, each of which has `enabled` and `percent` (the share of users who get it), and
        `changed` with `on` (the day of the last change) and `by`.
    """
    names = ("key", "kind", "environments", "changed")
    rows = [row for row in db["flags"].values() if row["project"] == project and not row["archived"]]
    shown = [{name: row[name] for name in names} for row in rows]
    return {"db": db, "result": shown}


@tool(effect="write")
def archive_flag(db: dict[str, Any], key: str, comment: str) -> dict[str, Any]:
    """Archive a flag, so that it is served no longer.

    Args:
        key: Key of the flag.
        comment: The entry in the history of the flag.

    Returns:
        `key`, `archived`, `revision`: the number of the change.
    """
    db["flags"][key]["archived"] = True
    db["revision"] += 1
    db["history"][f"r{db['revision']}"] = {"key": key, "comment": comment}
    return {"db": db, "result": {"key": key, "archived": True, "revision": db["revision"]}}


@tool(effect="write")
def set_rollout(db: dict[str, Any], key: str, environment: str, percent: int) -> dict[str, Any]:
    """Set the share of users who get a flag.

    Args:
        key: Key of the flag.
        environment: `staging` or `production`.
        percent: The share, from 0 to 100.

    Returns:
        `key`, `environment`, `percent`.
    """
    db["flags"][key]["environments"][environment] = {"enabled": percent > 0, "percent": percent}
    return {"db": db, "result": {"key": key, "environment": environment, "percent": percent}}
