"""The tools of a workshop: recipes of products, parts, orders of parts."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_recipe(db: dict[str, Any], product_id: str) -> dict[str, Any]:
    """Get the parts that a product is made of.

    Args:
        product_id: Id of the product.

    Returns:
        `product_id`, `components` with `part_id` and `per_unit`, the number of parts in one product.
    """
    return {"db": db, "result": {"product_id": product_id, "components": db["recipes"][product_id]["components"]}}


@tool(effect="read")
def list_parts(db: dict[str, Any]) -> dict[str, Any]:
    """List all parts on the shelves.

    Returns:
        `parts` with `id`, `name`, `on_shelf`, `supplier` with `code` and `days`. A part without a shelf is not listed.
    """
    return {"db": db, "result": {"parts": [{"id": id, **db["parts"][id]} for id in sorted(db["parts"])]}}


@tool(effect="write")
def order_part(db: dict[str, Any], part_id: str, quantity: int, supplier: str) -> dict[str, Any]:
    """Order a part.

    Args:
        part_id: Id of the part.
        quantity: How many.
        supplier: Code of the supplier.

    Returns:
        `order_id`, `quantity`.
    """
    db["order_number"] += 1
    order_id = f"WO-{db['order_number']}"
    db["part_orders"][order_id] = {"part_id": part_id, "quantity": quantity, "supplier": supplier}
    return {"db": db, "result": {"order_id": order_id, "quantity": quantity}}


@tool(effect="read")
def get_part(db: dict[str, Any], part_id: str) -> dict[str, Any]:
    """Get a part by id.

    Args:
        part_id: Id of the part.

    Returns:
        The part: `id`, `name`, `on_shelf`, `supplier` with `code` and `days`.
    """
    return {"db": db, "result": {"id": part_id, **db["parts"][part_id]}}
