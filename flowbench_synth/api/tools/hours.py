"""The tools of time sheets and expense claims."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_timesheet(db: dict[str, Any], worker_id: str, week: str) -> dict[str, Any]:
    """Get the time sheet of a worker for a week.

    Args:
        worker_id: Id of the worker.
        week: The week, such as 2025-W14.

    Returns:
        `worker_id`, `week`, `entries` with `on`, `hours`, `project` (null for absences), `approved`, `billable`.
    """
    sheet = db["sheets"][f"{worker_id}/{week}"]
    return {"db": db, "result": {"worker_id": worker_id, "week": week, "entries": sheet["entries"]}}


@tool(effect="read")
def get_contract(db: dict[str, Any], worker_id: str) -> dict[str, Any]:
    """Get the contract of a worker.

    Args:
        worker_id: Id of the worker.

    Returns:
        `worker_id`, `name`, `weekly_hours`, `pay` with `hourly` and `currency`.
    """
    return {"db": db, "result": db["contracts"][worker_id]}


@tool(effect="read")
def get_claim(db: dict[str, Any], claim_id: str) -> dict[str, Any]:
    """Get an expense claim.

    Args:
        claim_id: Id of the claim, such as EX-2041.

    Returns:
        `id`, `worker_id`, `state`, `items` with `item`, `kind` (`meal`, `taxi`, `hotel` or `train`), `amount`,
        `receipt` (null if there is none).
    """
    return {"db": db, "result": db["claims"][claim_id]}


@tool(effect="read")
def get_expense_policy(db: dict[str, Any]) -> dict[str, Any]:
    """Get the rules of expense claims.

    Returns:
        `limit` of a claim, `receipt_from`: the amount from which an item needs a receipt.
    """
    return {"db": db, "result": db["policy"]}


@tool(effect="write")
def approve_claim(db: dict[str, Any], claim_id: str, amount: float) -> dict[str, Any]:
    """Approve an expense claim.

    Args:
        claim_id: Id of the claim.
        amount: What is paid out.

    Returns:
        `payout_id`.
    """
    db["claims"][claim_id]["state"] = "approved"
    db["payout"] += 5
    db["payouts"][f"PAY{db['payout']}"] = {"claim_id": claim_id, "amount": amount}
    return {"db": db, "result": {"payout_id": f"PAY{db['payout']}"}}


@tool(effect="write")
def return_claim(db: dict[str, Any], claim_id: str, reason: str) -> dict[str, Any]:
    """Send an expense claim back.

    Args:
        claim_id: Id of the claim.
        reason: The reason, for the worker.

    Returns:
        `claim_id`, `state`.
    """
    db["claims"][claim_id]["state"] = "returned"
    db["claims"][claim_id]["reason"] = reason
    return {"db": db, "result": {"claim_id": claim_id, "state": "returned"}}
