"""The tools of a shop: orders, customers, products, shipments, carriers."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_order(db: dict[str, Any], order_id: str) -> dict[str, Any]:
    """Get an order by its id.

    Args:
        order_id: Id of the order, such as ORD-20417.

    Returns:
        The order: `id`, `status`, `placed_on`, `customer_id`, `shipping` with the address and `shipment_id` (null until
        it ships), `lines` with `sku`, `quantity` and `unit_price`, `coupon` (may be null).
    """
    return {"db": db, "result": db["orders"][order_id]}


@tool(effect="read")
def get_customer(db: dict[str, Any], customer_id: str) -> dict[str, Any]:
    """Get a customer by id.

    Args:
        customer_id: Id of the customer.

    Returns:
        The customer: `id`, `name`, `contact` with `email` and `phone` (may be null), `tier`, `account_manager_id` (may
        be null).
    """
    return {"db": db, "result": db["customers"][customer_id]}


@tool(effect="read")
def find_customer(db: dict[str, Any], email: str) -> dict[str, Any]:
    """Find the customer with an e-mail address.

    Args:
        email: The address.

    Returns:
        `matches`: the customers with this address, as `id` and `name`; `count`.
    """
    matches = [
        {"id": row["id"], "name": row["name"]} for row in db["customers"].values() if row["contact"]["email"] == email
    ]
    return {"db": db, "result": {"matches": matches, "count": len(matches)}}


@tool(effect="read")
def get_shipment(db: dict[str, Any], shipment_id: str) -> dict[str, Any]:
    """Get a shipment by id.

    Args:
        shipment_id: Id of the shipment.

    Returns:
        The shipment: `id`, `carrier` (a code), `tracking_number`, `eta`, `parcels` with `weight_kg` each.
    """
    return {"db": db, "result": db["shipments"][shipment_id]}


@tool(effect="read")
def get_carrier(db: dict[str, Any], code: str) -> dict[str, Any]:
    """Get a carrier by its code.

    Args:
        code: The carrier's code.

    Returns:
        The carrier: `code`, `name`, `support` with `phone` and `hours`, `tracking_url`.
    """
    return {"db": db, "result": db["carriers"][code]}


@tool(effect="read")
def get_product(db: dict[str, Any], sku: str) -> dict[str, Any]:
    """Get a product by its stock keeping unit.

    Args:
        sku: The stock keeping unit.

    Returns:
        The product: `sku`, `title`, `supplier` with `id` and `lead_days`, `weight_kg`.
    """
    return {"db": db, "result": db["products"][sku]}


@tool(effect="read")
def list_orders(db: dict[str, Any], customer_id: str) -> dict[str, Any]:
    """List the orders of a customer, newest first.

    Args:
        customer_id: Id of the customer.

    Returns:
        `orders` with `id`, `status` and `placed_on` each; `count`.
    """
    rows = [row for row in db["orders"].values() if row["customer_id"] == customer_id]
    rows.sort(key=lambda row: (row["placed_on"], row["id"]), reverse=True)
    orders = [{"id": row["id"], "status": row["status"], "placed_on": row["placed_on"]} for row in rows]
    return {"db": db, "result": {"orders": orders, "count": len(orders)}}


@tool(effect="write")
def send_email(db: dict[str, Any], to: str, subject: str, body: str) -> dict[str, Any]:
    """Send an e-mail.

    Args:
        to: The address.
        subject: The subject line.
        body: The text.

    Returns:
        `message_id`, `status`.
    """
    db["messages"] += 1
    message_id = f"MSG-{db['messages']}"
    db["outbox"][message_id] = {"to": to, "subject": subject, "body": body}
    return {"db": db, "result": {"message_id": message_id, "status": "queued"}}


@tool(effect="write")
def update_shipping_address(db: dict[str, Any], order_id: str, street: str, city: str, postcode: str) -> dict[str, Any]:
    """Change the address that an order is sent to.

    Args:
        order_id: Id of the order.
        street: Street and house number.
        city: The city.
        postcode: The postcode.

    Returns:
        `order_id`, `updated`.
    """
    shipping = db["orders"][order_id]["shipping"]
    shipping["address"] = {"street": street, "city": city, "postcode": postcode}
    return {"db": db, "result": {"order_id": order_id, "updated": True}}
