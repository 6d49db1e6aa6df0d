"""The tools of a support hotline: calls, lines, customers, call-backs, cases in queues."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_call(db: dict[str, Any], call_id: str) -> dict[str, Any]:
    """Get a call that nobody took.

    Args:
        call_id: Id of the call.

    Returns:
        The call: `id`, `line_no`, `at`, `rang`: seconds that it rang, `caller` with `number` (null if it is withheld)
        and `customer_id` (null if no customer has the number), `voicemail` with `recording` and `seconds` (null if
        none was left).
    """
    return {"db": db, "result": db["calls"][call_id]}


@tool(effect="read")
def get_line(db: dict[str, Any], line_no: str) -> dict[str, Any]:
    """Get a line of the hotline.

    Args:
        line_no: Number of the line.

    Returns:
        The line: `line_no`, `label`, `owner`, `deputy`.
    """
    return {"db": db, "result": db["lines"][line_no]}


@tool(effect="read")
def get_caller(db: dict[str, Any], customer_id: str) -> dict[str, Any]:
    """Get a customer.

    Args:
        customer_id: Id of the customer.

    Returns:
        The customer: `id`, `company`, `care` with `agent` and `language`.
    """
    return {"db": db, "result": db["customers"][customer_id]}


@tool(effect="write")
def book_callback(db: dict[str, Any], number: str, agent: str) -> dict[str, Any]:
    """Put a call-back into the diary of an agent.

    Args:
        number: The number to call.
        agent: The agent who calls.

    Returns:
        `slot`: the time of the call-back, `agent`.
    """
    slot = f"{db['free_hour']}:{10 + len(agent)}"
    db["callbacks"][number] = {"agent": agent, "slot": slot}
    return {"db": db, "result": {"slot": slot, "agent": agent}}


@tool(effect="write")
def forward_recording(db: dict[str, Any], recording: str, agent: str) -> dict[str, Any]:
    """Send a recording to an agent.

    Args:
        recording: Id of the recording.
        agent: The agent.

    Returns:
        `recording`, `sent_to`.
    """
    db["forwarded"][recording] = agent
    return {"db": db, "result": {"recording": recording, "sent_to": agent}}


@tool(effect="read")
def list_cases(db: dict[str, Any], queue: str, cursor: str | None = None) -> dict[str, Any]:
    """List the cases of a queue, a page at a time.

    Args:
        queue: Id of the queue.
        cursor: The cursor of the page; without it the first page.

    Returns:
        `cases` with `id`, `state` (open, on_hold or closed), `owner` (may be null), `last_message` with `by` (customer
        or agent) and `at`; `next_cursor`, null on the last page.
    """
    rows = sorted((row["place"], id) for id, row in db["cases"].items() if row["queue"] == queue)
    size = db["page_size"]
    start = 0 if cursor is None else int(cursor[2:], 16) - db["salt"]
    shown = [
        {key: db["cases"][id][key] for key in ("id", "state", "owner", "last_message")}
        for _, id in rows[start : start + size]
    ]
    after = start + size
    following = f"c{hex(after + db['salt'])[1:]}" if after < len(rows) else None
    return {"db": db, "result": {"cases": shown, "next_cursor": following}}
