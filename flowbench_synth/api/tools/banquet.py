"""The tools of an events office: invitations and replies."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_invitations(db: dict[str, Any], banquet_id: str) -> dict[str, Any]:
    """Get who is invited to a banquet.

    Args:
        banquet_id: Id of the banquet.

    Returns:
        `banquet_id`, `host`, `guests` with `guest_id`, `name` and `plus`, how many people may be brought along.
    """
    row = db["banquets"][banquet_id]
    return {"db": db, "result": {"banquet_id": banquet_id, "host": row["host"], "guests": row["guests"]}}


@tool(effect="read")
def get_replies(db: dict[str, Any], banquet_id: str) -> dict[str, Any]:
    """Get the replies to the invitations to a banquet, in the order in which they came in.

    Args:
        banquet_id: Id of the banquet.

    Returns:
        `replies` with `guest_id`, `coming`, `brings`, the number of people brought along, and `diet` (may be null). Who
        has not answered is not listed.
    """
    return {"db": db, "result": {"replies": db["banquets"][banquet_id]["replies"]}}


@tool(effect="write")
def note_reply(db: dict[str, Any], banquet_id: str, guest_id: str, coming: bool, brings: int) -> dict[str, Any]:
    """Note a reply that came by telephone.

    Args:
        banquet_id: Id of the banquet.
        guest_id: Id of the guest.
        coming: Whether the guest is coming.
        brings: How many people the guest brings along.

    Returns:
        `replies`, the number of replies so far.
    """
    replies = db["banquets"][banquet_id]["replies"]
    replies.append({"guest_id": guest_id, "coming": coming, "brings": brings, "diet": None})
    return {"db": db, "result": {"replies": len(replies)}}
