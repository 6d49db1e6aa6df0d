"""The tools of a payment service: payments that are settled after a while, and approvals of payouts."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_payment(db: dict[str, Any], payment_id: str) -> dict[str, Any]:
    """Get a payment by its id.

    Args:
        payment_id: Id of the payment.

    Returns:
        The payment: `id`, `status` (pending, settled or declined), `amount` with `value` and `currency`, `decline_code`
        (null unless it was declined).
    """
    row = db["payments"][payment_id]
    over = db["clock"]["seconds"] >= row["ready_after"]
    declined = over and row["decline_code"] is not None
    status = "declined" if declined else "settled" if over else "pending"
    code = row["decline_code"] if declined else None
    return {"db": db, "result": {"id": payment_id, "status": status, "amount": row["amount"], "decline_code": code}}


@tool(effect="read")
def wait_seconds(db: dict[str, Any], seconds: int) -> dict[str, Any]:
    """Wait.

    Args:
        seconds: How long.

    Returns:
        `waited`, the seconds.
    """
    db["clock"]["seconds"] += seconds
    return {"db": db, "result": {"waited": seconds}}


@tool(effect="read")
def get_supplier(db: dict[str, Any], supplier_id: str) -> dict[str, Any]:
    """Get a supplier by its id.

    Args:
        supplier_id: Id of the supplier.

    Returns:
        The supplier: `id`, `name`, `contact` with `email`, `account` with `iban` and `currency`, `manager` with `name`
        and `email`, who approves payouts, and `deputy` likewise (may be null).
    """
    return {"db": db, "result": db["suppliers"][supplier_id]}


@tool(effect="write")
def ask_approval(db: dict[str, Any], approver: str, subject: str, amount: float) -> dict[str, Any]:
    """Ask a person to approve a payout.

    Args:
        approver: E-mail address of the person.
        subject: What the payout is for.
        amount: The amount.

    Returns:
        `request_id`, `status` (waiting).
    """
    db["request_number"] += 1
    request_id = f"APR-{db['request_number']}"
    db["requests"][request_id] = {"approver": approver, "subject": subject, "amount": amount}
    return {"db": db, "result": {"request_id": request_id, "status": "waiting"}}


@tool(effect="read")
def get_approval(db: dict[str, Any], request_id: str) -> dict[str, Any]:
    """Get the decision on a request for approval. The person may take some time.

    Args:
        request_id: Id of the request.

    Returns:
        `id`, `status` (waiting, approved or rejected), `decision` with `by` and `comment` (null while it waits).
    """
    approver = db["requests"][request_id]["approver"]
    habit = db["habits"][approver]
    checks = db["clock"].get(request_id, 0) + 1
    db["clock"][request_id] = checks
    status, decision = "waiting", None
    if checks >= habit["checks"]:
        status = habit["status"]
        decision = {"by": approver, "comment": habit["comment"]}
    return {"db": db, "result": {"id": request_id, "status": status, "decision": decision}}


@tool(effect="write")
def make_payout(db: dict[str, Any], iban: str, amount: float, approval_id: str) -> dict[str, Any]:
    """Pay an amount out to a bank account.

    Args:
        iban: The account.
        amount: The amount.
        approval_id: Id of the request that was approved.

    Returns:
        `payout_id`, `amount`.
    """
    db["payout_number"] += 1
    payout_id = f"PO-{db['payout_number']}"
    db["payouts"][payout_id] = {"iban": iban, "amount": amount, "approval_id": approval_id}
    return {"db": db, "result": {"payout_id": payout_id, "amount": amount}}


@tool(effect="write")
def send_notice(db: dict[str, Any], to: str, text: str) -> dict[str, Any]:
    """Send a notice to a person.

    Args:
        to: E-mail address.
        text: The text.

    Returns:
        `sent`.
    """
    db["notices"][f"N{len(db['notices']) + 1}"] = {"to": to, "text": text}
    return {"db": db, "result": {"sent": True}}
