"""The tools of an accounting system: batches of vouchers that are posted."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_batch(db: dict[str, Any], batch_id: str) -> dict[str, Any]:
    """Get a batch of vouchers.

    Args:
        batch_id: Id of the batch.

    Returns:
        The batch: `id`, `period`, `vouchers`, the ids in the order in which they are posted.
    """
    return {"db": db, "result": {"id": batch_id, **db["batches"][batch_id]}}


@tool(effect="write")
def post_voucher(db: dict[str, Any], voucher_id: str, period: str) -> dict[str, Any]:
    """Post a voucher to the books. A voucher with a problem is not posted.

    Args:
        voucher_id: Id of the voucher.
        period: The month to post it to, YYYY-MM.

    Returns:
        `voucher_id`, `posted`, `problem` with `code` and `field` (null if it was posted).
    """
    row = db["vouchers"][voucher_id]
    posted = row["problem"] is None
    if posted:
        row["posted_to"] = period
    return {"db": db, "result": {"voucher_id": voucher_id, "posted": posted, "problem": row["problem"]}}


@tool(effect="write")
def flag_voucher(db: dict[str, Any], voucher_id: str, note: str) -> dict[str, Any]:
    """Flag a voucher for a clerk.

    Args:
        voucher_id: Id of the voucher.
        note: What the clerk should look at.

    Returns:
        `voucher_id`, `flagged`.
    """
    db["vouchers"][voucher_id]["note"] = note
    return {"db": db, "result": {"voucher_id": voucher_id, "flagged": True}}


@tool(effect="read")
def get_voucher(db: dict[str, Any], voucher_id: str) -> dict[str, Any]:
    """Get a voucher by id.

    Args:
        voucher_id: Id of the voucher.

    Returns:
        The voucher: `id`, `total`, `posted_to` (null until it is posted), `note`.
    """
    row = db["vouchers"][voucher_id]
    voucher = {"id": voucher_id, "total": row["total"], "posted_to": row["posted_to"], "note": row["note"]}
    return {"db": db, "result": voucher}
