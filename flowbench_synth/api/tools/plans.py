"""The tools of a subscription business: subscriptions, plans, coupons, approvals."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_subscription(db: dict[str, Any], subscription_id: str) -> dict[str, Any]:
    """Get a subscription.

    Args:
        subscription_id: Id of the subscription, such as SUB-20417.

    Returns:
        The subscription: `id`, `plan_code`, `seats`, `term` with `started_on` and `bound_until` (null without a minimum
        term), `billing` with `balance` (what is owed) and `coupon_code` (may be null), `state`, `owner`.
    """
    return {"db": db, "result": db["subscriptions"][subscription_id]}


@tool(effect="read")
def get_plan(db: dict[str, Any], code: str) -> dict[str, Any]:
    """Get a plan from the price list.

    Args:
        code: Code of the plan.

    Returns:
        The plan: `code`, `title`, `seat_price` a month, `max_seats`, `next_plan` (null for the largest one).
    """
    return {"db": db, "result": db["plans"][code]}


@tool(effect="read")
def get_coupon(db: dict[str, Any], code: str) -> dict[str, Any]:
    """Get a coupon.

    Args:
        code: Code of the coupon.

    Returns:
        The coupon: `code`, `kind` (`percent` or `amount`), `value`, `expires_on`: the last day on which it is valid.
    """
    return {"db": db, "result": db["coupons"][code]}


@tool(effect="read")
def billing_day(db: dict[str, Any]) -> dict[str, Any]:
    """Get the day in the billing system.

    Returns:
        `today` as YYYY-MM-DD.
    """
    return {"db": db, "result": {"today": db["today"]}}


@tool(effect="write")
def request_approval(db: dict[str, Any], subject: str, amount: float) -> dict[str, Any]:
    """Ask the approver for consent to an amount; the answer comes at once.

    Args:
        subject: What it is about.
        amount: The amount.

    Returns:
        `approved`, `by`, `note` (may be null).
    """
    approver = db["approver"]
    approved = amount <= approver["limit"]
    db["approvals"][subject] = {"amount": amount, "approved": approved}
    note = None if approved else "over my limit"
    return {"db": db, "result": {"approved": approved, "by": approver["name"], "note": note}}


@tool(effect="write")
def change_seats(db: dict[str, Any], subscription_id: str, seats: int) -> dict[str, Any]:
    """Set the number of seats of a subscription.

    Args:
        subscription_id: Id of the subscription.
        seats: The new number.

    Returns:
        `subscription_id`, `seats`, `monthly`: the new price of a month.
    """
    row = db["subscriptions"][subscription_id]
    row["seats"] = seats
    monthly = round(seats * db["plans"][row["plan_code"]]["seat_price"], 2)
    return {"db": db, "result": {"subscription_id": subscription_id, "seats": seats, "monthly": monthly}}


@tool(effect="write")
def cancel_subscription(db: dict[str, Any], subscription_id: str, reason: str) -> dict[str, Any]:
    """Cancel a subscription at the end of the month.

    Args:
        subscription_id: Id of the subscription.
        reason: The reason.

    Returns:
        `confirmation`, `ends_on`.
    """
    row = db["subscriptions"][subscription_id]
    row["state"] = "cancelled"
    row["reason"] = reason
    confirmation = f"CX{subscription_id[4:]}{row['seats']}"
    return {"db": db, "result": {"confirmation": confirmation, "ends_on": f"{db['today'][:7]}-28"}}
