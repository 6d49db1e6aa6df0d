"""The tools of a sports club: players, teams, and the members of its sections."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_player(db: dict[str, Any], player_id: str) -> dict[str, Any]:
    """Get a player.

    Args:
        player_id: Id of the player.

    Returns:
        The player: `player_id`, `name`, `birth_year`, `certificate` of a doctor (null if there is none) with `doctor`
        and `valid_until`.
    """
    return {"db": db, "result": db["players"][player_id]}


@tool(effect="read")
def get_squad(db: dict[str, Any], team_id: str) -> dict[str, Any]:
    """Get a team.

    Args:
        team_id: Id of the team.

    Returns:
        The team: `team_id`, `name`, `coach`, `born_from` (the year), `season` with `first_day` and `last_day`,
        `places`, `player_ids`, `waiting` (ids of players).
    """
    return {"db": db, "result": db["teams"][team_id]}


@tool(effect="write")
def add_to_squad(db: dict[str, Any], team_id: str, player_id: str) -> dict[str, Any]:
    """Give a player a place in a team.

    Args:
        team_id: Id of the team.
        player_id: Id of the player.

    Returns:
        `team_id`, `player_id`, `shirt`: the number on the player's back.
    """
    db["teams"][team_id]["player_ids"].append(player_id)
    shirt = db["shirts"][team_id]["next"]
    db["shirts"][team_id]["next"] = shirt + 2
    return {"db": db, "result": {"team_id": team_id, "player_id": player_id, "shirt": shirt}}


@tool(effect="write")
def queue_for_squad(db: dict[str, Any], team_id: str, player_id: str) -> dict[str, Any]:
    """Put a player on the waiting list of a team.

    Args:
        team_id: Id of the team.
        player_id: Id of the player.

    Returns:
        `team_id`, `player_id`, `position`: the place on the list.
    """
    team = db["teams"][team_id]
    team["waiting"].append(player_id)
    return {"db": db, "result": {"team_id": team_id, "player_id": player_id, "position": len(team["waiting"])}}


@tool(effect="read")
def list_section_members(db: dict[str, Any], section_id: str, cursor: str | None) -> dict[str, Any]:
    """List members of a section of the club, some at a time.

    Args:
        section_id: Id of the section.
        cursor: Where to go on; null for the beginning.

    Returns:
        `members`: each with `number`, `name`, `email`, `status` (`active`, `paused` or `left`), `emergency_phone`
        (null if it is missing); `next_cursor`, null at the end.
    """
    rows = [row for row in db["members"].values() if row["section_id"] == section_id]
    start = 0 if cursor is None else int(cursor.removeprefix("after-"))
    end = start + db["page_size"]
    members = [
        {name: row[name] for name in ("number", "name", "email", "status", "emergency_phone")}
        for row in rows[start:end]
    ]
    following = f"after-{end}" if end < len(rows) else None
    return {"db": db, "result": {"members": members, "next_cursor": following}}
