"""The tools of a mailbox."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_inbox(db: dict[str, Any], mailbox: str) -> dict[str, Any]:
    """List the messages in the inbox of a mailbox, the newest first.

    Args:
        mailbox: The address of the mailbox.

    Returns:
        `messages` with `id`, `sender` with `name` and `address`, `subject`, `read`.
    """
    rows = [row for row in db["messages"].values() if row["mailbox"] == mailbox]
    rows.sort(key=lambda row: row["id"], reverse=True)
    messages = [{field: row[field] for field in ("id", "sender", "subject", "read")} for row in rows]
    return {"db": db, "result": {"messages": messages}}


@tool(effect="read")
def open_message(db: dict[str, Any], message_id: str) -> dict[str, Any]:
    """Get a message with its text and its attachments. It stays unread.

    Args:
        message_id: Id of the message.

    Returns:
        The message: `id`, `subject`, `text`, `attachments` with `name` and `kb` (an empty list if there are none).
    """
    row = db["messages"][message_id]
    return {"db": db, "result": {field: row[field] for field in ("id", "subject", "text", "attachments")}}


@tool(effect="write")
def forward_message(db: dict[str, Any], message_id: str, to: str) -> dict[str, Any]:
    """Forward a message with its attachments.

    Args:
        message_id: Id of the message.
        to: The address.

    Returns:
        `forwarded`, `to`.
    """
    db["forwarded"][message_id] = {"to": to}
    return {"db": db, "result": {"forwarded": True, "to": to}}


@tool(effect="write")
def mark_read(db: dict[str, Any], message_id: str) -> dict[str, Any]:
    """Mark a message as read.

    Args:
        message_id: Id of the message.

    Returns:
        `id`, `read`.
    """
    db["messages"][message_id]["read"] = True
    return {"db": db, "result": {"id": message_id, "read": True}}
