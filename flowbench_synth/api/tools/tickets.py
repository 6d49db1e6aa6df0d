"""The tools of a help desk: tickets, accounts, groups, pages."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_ticket(db: dict[str, Any], ticket_id: str) -> dict[str, Any]:
    """Get a ticket.

    Args:
        ticket_id: Id of the ticket, such as T-20417.

    Returns:
        The ticket: `id`, `subject`, `state` (`new`, `open`, `pending`, `solved` or `closed`), `severity` (`low`,
        `normal`, `high` or `critical`), `requester` with `account_id`, `assignee` (null if nobody has it), `group_id`,
        `due_at` (null without a promise), `reopened`: how often it was reopened.
    """
    return {"db": db, "result": db["tickets"][ticket_id]}


@tool(effect="read")
def get_account(db: dict[str, Any], account_id: str) -> dict[str, Any]:
    """Get the account of a customer.

    Args:
        account_id: Id of the account.

    Returns:
        The account: `id`, `company`, `plan` (`free`, `team` or `enterprise`), `success_manager` (may be null).
    """
    return {"db": db, "result": db["accounts"][account_id]}


@tool(effect="read")
def get_group(db: dict[str, Any], group_id: str) -> dict[str, Any]:
    """Get a group of agents.

    Args:
        group_id: Id of the group.

    Returns:
        The group: `id`, `name`, `lead`, `on_call`, `queue`.
    """
    return {"db": db, "result": db["groups"][group_id]}


@tool(effect="read")
def desk_time(db: dict[str, Any]) -> dict[str, Any]:
    """Get the time at the help desk.

    Returns:
        `now` as YYYY-MM-DDTHH:MM.
    """
    return {"db": db, "result": {"now": db["now"]}}


@tool(effect="write")
def assign_ticket(db: dict[str, Any], ticket_id: str, assignee: str) -> dict[str, Any]:
    """Give a ticket to an agent.

    Args:
        ticket_id: Id of the ticket.
        assignee: The agent.

    Returns:
        `ticket_id`, `assignee`, `state`.
    """
    ticket = db["tickets"][ticket_id]
    ticket["assignee"] = assignee
    ticket["state"] = "open"
    return {"db": db, "result": {"ticket_id": ticket_id, "assignee": assignee, "state": "open"}}


@tool(effect="write")
def add_comment(db: dict[str, Any], ticket_id: str, body: str, public: bool) -> dict[str, Any]:
    """Add a comment to a ticket.

    Args:
        ticket_id: Id of the ticket.
        body: The text.
        public: Whether the customer sees it.

    Returns:
        `comment_id`.
    """
    db["comments"] += 3
    db["posted"][f"C{db['comments']}"] = {"ticket_id": ticket_id, "body": body, "public": public}
    return {"db": db, "result": {"comment_id": f"C{db['comments']}"}}


@tool(effect="write")
def move_to_queue(db: dict[str, Any], ticket_id: str, queue: str) -> dict[str, Any]:
    """Put a ticket into a queue.

    Args:
        ticket_id: Id of the ticket.
        queue: The queue.

    Returns:
        `ticket_id`, `queue`, `position`: its place in the queue.
    """
    waiting = db["queues"].setdefault(queue, {"tickets": []})
    waiting["tickets"].append(ticket_id)
    return {"db": db, "result": {"ticket_id": ticket_id, "queue": queue, "position": len(waiting["tickets"])}}


@tool(effect="write")
def page_agent(db: dict[str, Any], agent: str, ticket_id: str) -> dict[str, Any]:
    """Call an agent out of bed.

    Args:
        agent: The agent.
        ticket_id: Id of the ticket that it is about.

    Returns:
        `page_id`.
    """
    db["comments"] += 1
    db["pages"][f"PG{db['comments']}"] = {"agent": agent, "ticket_id": ticket_id}
    return {"db": db, "result": {"page_id": f"PG{db['comments']}"}}
