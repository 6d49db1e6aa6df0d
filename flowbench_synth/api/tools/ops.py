"""The tools of an operations desk: services, teams, incidents, rollouts."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_services(db: dict[str, Any]) -> dict[str, Any]:
    """List all services.

    Returns:
        The services, each with `slug`, `tier` (1 is the most important, 3 the least), `team_id`, `allowed_minutes`:
        the minutes that it may be down in a month.
    """
    names = ("slug", "tier", "team_id", "allowed_minutes")
    services = [{name: row[name] for name in names} for row in db["services"].values()]
    return {"db": db, "result": services}


@tool(effect="read")
def get_service(db: dict[str, Any], slug: str) -> dict[str, Any]:
    """Get a service.

    Args:
        slug: Its short name.

    Returns:
        The service: `slug`, `tier`, `team_id`, `running` with `version` and `instances`, `allowed_minutes`, `runbook`.
    """
    return {"db": db, "result": db["services"][slug]}


@tool(effect="read")
def get_team(db: dict[str, Any], team_id: str) -> dict[str, Any]:
    """Get a team.

    Args:
        team_id: Id of the team.

    Returns:
        The team: `team_id`, `title`, `channel`, `on_call` with `primary` and `secondary`.
    """
    return {"db": db, "result": db["teams"][team_id]}


@tool(effect="read")
def get_incident(db: dict[str, Any], incident_id: str) -> dict[str, Any]:
    """Get an incident.

    Args:
        incident_id: Id of the incident.

    Returns:
        The incident: `incident_id`, `headline`, `severity` (`sev1`, `sev2` or `sev3`), `began` (YYYY-MM-DDTHH:MM),
        `cause` (`change`, `capacity`, `third party` or `unknown`), `origin`: the slug of the service in which it began,
        and `hits`: for each service that was down its slug as `service`, and `minutes`.
    """
    return {"db": db, "result": db["incidents"][incident_id]}


@tool(effect="read")
def list_incidents(db: dict[str, Any], month: str) -> dict[str, Any]:
    """List the incidents that began in a month.

    Args:
        month: The month as YYYY-MM.

    Returns:
        The incidents, each with the fields of a single incident: `incident_id`, `headline`, `severity`, `began`,
        `cause`, `origin`, `hits` with `service` and `minutes`.
    """
    incidents = [row for row in db["incidents"].values() if row["began"][:7] == month]
    return {"db": db, "result": incidents}


@tool(effect="write")
def start_rollout(db: dict[str, Any], slug: str, version: str) -> dict[str, Any]:
    """Begin to roll out a version of a service.

    Args:
        slug: Short name of the service.
        version: The version.

    Returns:
        `rollout_id`, `phase`: `queued`.
    """
    db["number"] += 1
    rollout_id = f"RO-{db['number']}"
    db["rollouts"][rollout_id] = {"slug": slug, "version": version, "undone": None}
    return {"db": db, "result": {"rollout_id": rollout_id, "phase": "queued"}}


@tool(effect="read")
def get_rollout(db: dict[str, Any], rollout_id: str) -> dict[str, Any]:
    """Get how far a rollout is.

    Args:
        rollout_id: Id of the rollout.

    Returns:
        `rollout_id`, `phase` (`queued`, `moving`, `live` or `failed`), `instances` with `ready` and `wanted`, `reason`
        (null unless it failed).
    """
    looks = db["clock"].get(rollout_id, 0) + 1
    db["clock"][rollout_id] = looks
    course = db["course"]
    wanted = db["services"][db["rollouts"][rollout_id]["slug"]]["running"]["instances"]
    phase, ready, reason = "moving" if looks > 1 else "queued", (looks - 1) % wanted, None
    if looks >= course["looks"]:
        phase = course["end"]
        ready = wanted if phase == "live" else ready
        reason = course["reason"] if phase == "failed" else None
    instances = {"ready": ready, "wanted": wanted}
    return {"db": db, "result": {"rollout_id": rollout_id, "phase": phase, "instances": instances, "reason": reason}}


@tool(effect="write")
def undo_rollout(db: dict[str, Any], rollout_id: str, note: str) -> dict[str, Any]:
    """Go back to the version before a rollout.

    Args:
        rollout_id: Id of the rollout.
        note: Why.

    Returns:
        `rollout_id`, `version`: the version that runs now.
    """
    rollout = db["rollouts"][rollout_id]
    rollout["undone"] = note
    version = db["services"][rollout["slug"]]["running"]["version"]
    return {"db": db, "result": {"rollout_id": rollout_id, "version": version}}
