"""The tools of a delivery service for restaurants: menus, orders, searches for couriers."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_dish_card(db: dict[str, Any], restaurant_id: str) -> dict[str, Any]:
    """Get the menu of a restaurant as the app shows it to the kitchen.

    Args:
        restaurant_id: Id of the restaurant.

    Returns:
        `restaurant` with `id` and `name`, and `dishes` in the order of the menu: each with `dish_id`, `name`, `price`,
        `listed` (whether guests see it) and `portions`: how many are left today, null if it is cooked to order.
    """
    dishes = [
        {name: row[name] for name in ("dish_id", "name", "price", "listed", "portions")}
        for row in db["dishes"].values()
        if row["restaurant_id"] == restaurant_id
    ]
    return {"db": db, "result": {"restaurant": db["restaurants"][restaurant_id], "dishes": dishes}}


@tool(effect="write")
def hide_dish(db: dict[str, Any], dish_id: str) -> dict[str, Any]:
    """Take a dish off the menu, so that guests cannot order it.

    Args:
        dish_id: Id of the dish.

    Returns:
        `dish_id`, `listed`.
    """
    db["dishes"][dish_id]["listed"] = False
    return {"db": db, "result": {"dish_id": dish_id, "listed": False}}


@tool(effect="write")
def relist_dish(db: dict[str, Any], dish_id: str) -> dict[str, Any]:
    """Put a dish back on the menu.

    Args:
        dish_id: Id of the dish.

    Returns:
        `dish_id`, `listed`.
    """
    db["dishes"][dish_id]["listed"] = True
    return {"db": db, "result": {"dish_id": dish_id, "listed": True}}


@tool(effect="read")
def get_delivery_order(db: dict[str, Any], order_id: str) -> dict[str, Any]:
    """Get an order that is to be delivered.

    Args:
        order_id: Id of the order.

    Returns:
        The order: `order_id`, `restaurant_id`, `total`, `guest` with `name` and `phone`, `dropoff` with `street` and
        `floor`.
    """
    return {"db": db, "result": db["orders"][order_id]}


@tool(effect="write")
def start_courier_search(db: dict[str, Any], order_id: str, bonus: int) -> dict[str, Any]:
    """Offer an order to the couriers nearby.

    Args:
        order_id: Id of the order.
        bonus: What a courier gets on top, in euros.

    Returns:
        The search: `search_id`, `state` (`searching` at first), `courier_id` and `minutes` (both null until then).
    """
    earlier = [row for row in db["searches"].values() if row["order_id"] == order_id]
    search_id = f"{order_id}/{len(earlier) + 1}"
    db["searches"][search_id] = {"order_id": order_id, "bonus": bonus, "withdrawn": False}
    return {
        "db": db,
        "result": {"search_id": search_id, "state": "searching", "courier_id": None, "minutes": None},
    }


@tool(effect="read")
def check_courier_search(db: dict[str, Any], search_id: str) -> dict[str, Any]:
    """Ask for the state of a search.

    Args:
        search_id: Id of the search.

    Returns:
        The search: `search_id`, `state` (`searching`, `assigned` or `failed`), `courier_id` and `minutes` until the
        food arrives (both null unless a courier is assigned).
    """
    order_id, number = search_id.split("/")
    fate = db["fates"][order_id][int(number) - 1]
    db["clock"][search_id] = db["clock"].get(search_id, 0) + 1
    state = "searching" if db["clock"][search_id] < fate["asks"] else fate["state"]
    taken = state == "assigned"
    return {
        "db": db,
        "result": {
            "search_id": search_id,
            "state": state,
            "courier_id": fate["courier_id"] if taken else None,
            "minutes": fate["minutes"] if taken else None,
        },
    }


@tool(effect="write")
def withdraw_courier_search(db: dict[str, Any], search_id: str) -> dict[str, Any]:
    """Take an offer to the couriers back.

    Args:
        search_id: Id of the search.

    Returns:
        `search_id`, `withdrawn`.
    """
    db["searches"][search_id]["withdrawn"] = True
    return {"db": db, "result": {"search_id": search_id, "withdrawn": True}}


@tool(effect="read")
def get_courier_profile(db: dict[str, Any], courier_id: str) -> dict[str, Any]:
    """Get a courier.

    Args:
        courier_id: Id of the courier.

    Returns:
        The courier: `courier_id`, `name`, `vehicle`, `rating`.
    """
    return {"db": db, "result": db["couriers"][courier_id]}


@tool(effect="write")
def text_guest(db: dict[str, Any], phone: str, message: str) -> dict[str, Any]:
    """Send a short message to a guest.

    Args:
        phone: The number.
        message: The text.

    Returns:
        `text_id`.
    """
    text_id = f"X{len(db['texts']) + 1}"
    db["texts"][text_id] = {"phone": phone, "message": message}
    return {"db": db, "result": {"text_id": text_id}}
