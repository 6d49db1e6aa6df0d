"""The tools of a ledger: entries of accounts, listed from an offset."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_entries(db: dict[str, Any], account_id: str, offset: int, limit: int) -> dict[str, Any]:
    """List the entries of an account, oldest first.

    Args:
        account_id: Id of the account.
        offset: How many entries to skip.
        limit: How many entries to list, at most 5.

    Returns:
        `entries` with `id`, `booked_on`, `amount`, `kind` (fee, payment or interest), `status` (booked or pending) and
        `counterparty` with `name`; `has_more`.
    """
    if not 1 <= limit <= 5:
        raise ValueError(f"limit is {limit}; give a number from 1 to 5")
    rows = [row for row in db["entries"].values() if row["account_id"] == account_id]
    rows.sort(key=lambda row: (row["booked_on"], row["id"]))
    fields = ("id", "booked_on", "amount", "kind", "status", "counterparty")
    entries = [{field: row[field] for field in fields} for row in rows[offset : offset + limit]]
    return {"db": db, "result": {"entries": entries, "has_more": offset + limit < len(rows)}}


@tool(effect="write")
def create_refund(db: dict[str, Any], account_id: str, entry_ids: list[str], amount: float) -> dict[str, Any]:
    """Refund entries to an account.

    Args:
        account_id: Id of the account.
        entry_ids: Ids of the entries that are refunded.
        amount: The sum that is paid back.

    Returns:
        `refund_id`, `amount`, `status`.
    """
    db["refund_number"] += 1
    refund_id = f"RF-{db['refund_number']}"
    db["refunds"][refund_id] = {"account_id": account_id, "entry_ids": entry_ids, "amount": amount}
    return {"db": db, "result": {"refund_id": refund_id, "amount": amount, "status": "created"}}


@tool(effect="read")
def get_entry(db: dict[str, Any], entry_id: str) -> dict[str, Any]:
    """Get an entry by its id.

    Args:
        entry_id: Id of the entry.

    Returns:
        The entry: `id`, `account_id`, `booked_on`, `amount`, `kind`, `status`, `counterparty` with `name`.
    """
    return {"db": db, "result": db["entries"][entry_id]}


@tool(effect="write")
def book_entry(db: dict[str, Any], entry_id: str) -> dict[str, Any]:
    """Book a pending entry.

    Args:
        entry_id: Id of the entry.

    Returns:
        `entry_id`, `status`.
    """
    db["entries"][entry_id]["status"] = "booked"
    return {"db": db, "result": {"entry_id": entry_id, "status": "booked"}}
