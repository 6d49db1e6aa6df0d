"""The tools of a public library: loans, members, letters."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_loans(db: dict[str, Any], branch_id: str) -> dict[str, Any]:
    """List the loans of a branch.

    Args:
        branch_id: Id of the branch.

    Returns:
        `loans` with `id`, `member_id`, `items` with `title` and `due_on` each.
    """
    rows = [row for _, row in sorted(db["loans"].items()) if row["branch_id"] == branch_id]
    loans = [{field: row[field] for field in ("id", "member_id", "items")} for row in rows]
    return {"db": db, "result": {"loans": loans}}


@tool(effect="read")
def get_member(db: dict[str, Any], member_id: str) -> dict[str, Any]:
    """Get a member by id.

    Args:
        member_id: Id of the member.

    Returns:
        The member: `id`, `name`, `reach` with `email` (null if unknown) and `street`.
    """
    return {"db": db, "result": {"id": member_id, **db["members"][member_id]}}


@tool(effect="write")
def send_reminder_mail(db: dict[str, Any], email: str, text: str) -> dict[str, Any]:
    """Remind a member by e-mail.

    Args:
        email: The address.
        text: The text.

    Returns:
        `sent`.
    """
    db["reminders"][f"R{len(db['reminders']) + 1}"] = {"email": email, "text": text}
    return {"db": db, "result": {"sent": True}}


@tool(effect="write")
def print_letter(db: dict[str, Any], member_id: str, text: str) -> dict[str, Any]:
    """Print a letter to a member, which is sent by post.

    Args:
        member_id: Id of the member.
        text: The text.

    Returns:
        `printed`.
    """
    db["letters"][f"L{len(db['letters']) + 1}"] = {"member_id": member_id, "text": text}
    return {"db": db, "result": {"printed": True}}
