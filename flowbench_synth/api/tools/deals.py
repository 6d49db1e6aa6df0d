"""The tools of a sales pipeline: deals, customers, territories, representatives."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_deal(db: dict[str, Any], deal_id: str) -> dict[str, Any]:
    """Get a deal.

    Args:
        deal_id: Id of the deal.

    Returns:
        The deal: `id`, `title`, `rep_id`, `customer_id`, `stage` (`qualify`, `demo`, `proposal`, `won` or `lost`),
        `amount` (null if not known yet), `odds`: the chance in percent (null if not rated), `close_on`: the day on
        which it closed or should close (null if not planned), `discount`: the discount in percent.
    """
    return {"db": db, "result": db["deals"][deal_id]}


@tool(effect="read")
def list_rep_deals(db: dict[str, Any], rep_id: str) -> dict[str, Any]:
    """List all deals of a sales representative.

    Args:
        rep_id: Id of the representative.

    Returns:
        `rep_id`, `deals`: the deals, with the fields of a single deal.
    """
    return {"db": db, "result": {"rep_id": rep_id, "deals": [d for d in db["deals"].values() if d["rep_id"] == rep_id]}}


@tool(effect="read")
def get_rep(db: dict[str, Any], rep_id: str) -> dict[str, Any]:
    """Get a sales representative.

    Args:
        rep_id: Id of the representative.

    Returns:
        `id`, `name`, `targets` with `quarter` and `year`: the amounts to be sold.
    """
    return {"db": db, "result": db["reps"][rep_id]}


@tool(effect="read")
def get_customer_record(db: dict[str, Any], customer_id: str) -> dict[str, Any]:
    """Get a customer.

    Args:
        customer_id: Id of the customer.

    Returns:
        `id`, `name`, `segment` (`key`, `standard` or `trial`), `territory`: the code of the territory.
    """
    return {"db": db, "result": db["customers"][customer_id]}


@tool(effect="read")
def get_territory(db: dict[str, Any], code: str) -> dict[str, Any]:
    """Get a sales territory.

    Args:
        code: Code of the territory.

    Returns:
        `code`, `region`, `manager` (null while the position is open), `free_discount`: the percentage that needs no
        approval.
    """
    return {"db": db, "result": db["territories"][code]}


@tool(effect="write")
def set_discount(db: dict[str, Any], deal_id: str, percent: int) -> dict[str, Any]:
    """Set the discount of a deal.

    Args:
        deal_id: Id of the deal.
        percent: The discount in percent.

    Returns:
        `deal_id`, `discount`, `quote_id`: the new quote.
    """
    db["deals"][deal_id]["discount"] = percent
    db["quotes"] += 6
    return {"db": db, "result": {"deal_id": deal_id, "discount": percent, "quote_id": f"QU{db['quotes']}"}}


@tool(effect="write")
def request_signoff(db: dict[str, Any], deal_id: str, approver: str, percent: int) -> dict[str, Any]:
    """Ask somebody to sign off a discount.

    Args:
        deal_id: Id of the deal.
        approver: Who decides.
        percent: The discount in percent.

    Returns:
        `request_id`, `approver`.
    """
    db["quotes"] += 2
    id = f"SO{db['quotes']}"
    db["signoffs"][id] = {"deal_id": deal_id, "approver": approver, "percent": percent}
    return {"db": db, "result": {"request_id": id, "approver": approver}}
