"""The tools of an online shop: orders by sales channel, customers, returns."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_channel_orders(db: dict[str, Any], channel: str, cursor: str | None = None) -> dict[str, Any]:
    """List the orders of a sales channel, three on a page, by number.

    Args:
        channel: `web`, `app` or `phone`.
        cursor: `next_cursor` of the page before. Null for the first page.

    Returns:
        `orders`, each with `number`, `state`, `placed_on`, `customer_id`, `payment` with `method` and `promised_on`
        (null unless the customer named a day), `totals` with `goods` and `shipping`; and `next_cursor`, null on the
        last page.
    """
    after = "" if cursor is None else cursor[2:]
    rest = [row for row in db["orders"].values() if row["channel"] == channel and row["number"] > after]
    rest.sort(key=lambda row: row["number"])
    page = [{name: value for name, value in row.items() if name != "channel"} for row in rest[:3]]
    following = "p:" + page[-1]["number"] if len(rest) > 3 else None
    return {"db": db, "result": {"orders": page, "next_cursor": following}}


@tool(effect="read")
def get_shop_customer(db: dict[str, Any], customer_id: str) -> dict[str, Any]:
    """Get a customer of the shop.

    Args:
        customer_id: Id of the customer, such as C4410.

    Returns:
        `id`, `name`, `kind` (`private` or `trade`), `email`.
    """
    return {"db": db, "result": db["customers"][customer_id]}


@tool(effect="write")
def cancel_shop_order(db: dict[str, Any], number: str, cause: str) -> dict[str, Any]:
    """Cancel an order; the goods that it held go back on sale.

    Args:
        number: Number of the order.
        cause: Why.

    Returns:
        `number`, `state`.
    """
    row = db["orders"][number]
    if row["state"] in ("shipped", "cancelled"):
        raise ValueError(f"order {number} is {row['state']}")
    row["state"] = "cancelled"
    row["cause"] = cause
    return {"db": db, "result": {"number": number, "state": "cancelled"}}


@tool(effect="write")
def remind_payer(db: dict[str, Any], number: str, email: str) -> dict[str, Any]:
    """Mail a reminder to pay an order.

    Args:
        number: Number of the order.
        email: Where it goes.

    Returns:
        `message_id`.
    """
    db["reminders"][number] = email
    return {"db": db, "result": {"message_id": f"m-{number}"}}


@tool(effect="read")
def get_return_request(db: dict[str, Any], return_id: str) -> dict[str, Any]:
    """Get what a customer wants to send back.

    Args:
        return_id: Id of the return, such as RMA-20417.

    Returns:
        `id`, `order_number`, `filed_on`, `reason` (`damaged`, `wrong_size`, `changed_mind` or `late`), `item` with
        `sku`, `price` and `return_until` (null for a final sale).
    """
    return {"db": db, "result": db["returns"][return_id]}


@tool(effect="write")
def approve_return(db: dict[str, Any], return_id: str, refund: float) -> dict[str, Any]:
    """Accept a return and promise a refund.

    Args:
        return_id: Id of the return.
        refund: The amount that the customer gets back.

    Returns:
        `label`, the code of the parcel label, and `refund`.
    """
    db["decisions"][return_id] = {"approved": True, "refund": refund}
    label = f"LB{return_id[4:]}{db['returns'][return_id]['item']['sku'][-2:]}"
    return {"db": db, "result": {"label": label, "refund": refund}}


@tool(effect="write")
def reject_return(db: dict[str, Any], return_id: str, why: str) -> dict[str, Any]:
    """Turn a return down.

    Args:
        return_id: Id of the return.
        why: What the customer is told.

    Returns:
        `return_id`, `told`: the customer's address.
    """
    db["decisions"][return_id] = {"approved": False, "why": why}
    number = db["returns"][return_id]["order_number"]
    told = db["customers"][db["orders"][number]["customer_id"]]["email"]
    return {"db": db, "result": {"return_id": return_id, "told": told}}
