"""The tools of the online shopping support."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _number(*parts: Any) -> int:
    """A number below 90,000 that depends on every character of its parts."""
    total = 0
    for letter in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(letter)) % 90_000
    return total


def _desk(db: dict[str, Any], name: str) -> str:
    return db["desks"][_number(name) % len(db["desks"])]


def _goods(db: dict[str, Any], cart: str) -> int:
    """The price of what lies in a cart, in euros."""
    items = db["carts"].get(cart, {"items": {}})["items"]
    return sum(db["products"][product]["price"] * quantity for product, quantity in items.items())


def _postage(db: dict[str, Any], cart: str) -> int:
    """Two euros and a share of the weight, by what lies in a cart."""
    items = db["carts"].get(cart, {"items": {}})["items"]
    return 2 + sum(db["products"][product]["weight"] * quantity for product, quantity in items.items()) // 4


@tool(effect="read")
def search_products(db: dict[str, Any], category: str, color: str, budget: int) -> dict[str, Any]:
    """Search the best product of a category and color within a budget: the dearest that the customer can pay.

    Args:
        category: Category of the product.
        color: Color of the product.
        budget: The most that the customer wants to pay, in euros.

    Returns:
        `product`: its number, or null if there is none; `price` in euros; `cheapest`: the price of the cheapest
        product of the category and color if there is none within the budget.
    """
    prices = sorted(
        (row["price"], product)
        for product, row in db["products"].items()
        if row["category"] == category and row["color"] == color
    )
    fitting = [(price, product) for price, product in prices if price <= budget]
    result: dict[str, Any] = {"product": None, "price": None, "cheapest": None}
    if fitting:
        result["price"], result["product"] = fitting[-1]
    elif prices:
        result["cheapest"] = prices[0][0]
    return {"db": db, "result": result}


@tool(effect="read")
def check_product_stock(db: dict[str, Any], product: str) -> dict[str, Any]:
    """Look whether a product is in stock.

    Args:
        product: Number of the product.

    Returns:
        `available`; `dispatch`: the day on which it can be sent; `supply`: the day of the next supply if it is not in
        stock.
    """
    row = db["products"].get(product)
    available = row is not None and row["stock"] > 0
    day = None if row is None else row["day"]
    return {
        "db": db,
        "result": {
            "available": available,
            "dispatch": day if available else None,
            "supply": None if available else day,
        },
    }


@tool(effect="write")
def register_stock_alert(db: dict[str, Any], category: str, color: str, budget: int, email: str) -> dict[str, Any]:
    """Write to a customer as soon as a product is in stock that fits the wishes.

    Args:
        category: Category of the product.
        color: Color of the product.
        budget: The most that the customer wants to pay, in euros.
        email: E-mail address of the customer.

    Returns:
        `alert`: the number of the alert.
    """
    alert = f"AL{_number(email, category, color, budget) + 10_000}"
    db["alerts"][alert] = {"category": category, "color": color, "budget": budget, "email": email}
    return {"db": db, "result": {"alert": alert}}


@tool(effect="read")
def view_cart(db: dict[str, Any], cart: str) -> dict[str, Any]:
    """Look into a cart.

    Args:
        cart: Number of the cart.

    Returns:
        `state`: `open`, `ordered` or `unknown`; `total`: the price of the goods in an open cart, in euros; `order`: the
        number of the order that the cart became; `desk`: extension to ask if the number is unknown.
    """
    row = db["carts"].get(cart)
    if row is None:
        return {"db": db, "result": {"state": "unknown", "total": None, "order": None, "desk": _desk(db, cart)}}
    if row["order"]:
        return {"db": db, "result": {"state": "ordered", "total": None, "order": row["order"], "desk": None}}
    return {"db": db, "result": {"state": "open", "total": _goods(db, cart), "order": None, "desk": None}}


@tool(effect="read")
def check_product_quantity(db: dict[str, Any], product: str, quantity: int) -> dict[str, Any]:
    """Look whether so many pieces of a product are in stock.

    Args:
        product: Number of the product.
        quantity: Number of pieces.

    Returns:
        `enough`; `supply`: the day of the next supply if there are not enough pieces; it is a desk's extension if the
        product is not sold.
    """
    row = db["products"].get(product)
    if row is None:
        return {"db": db, "result": {"enough": False, "supply": _desk(db, product)}}
    enough = 0 < quantity <= row["stock"]
    return {"db": db, "result": {"enough": enough, "supply": None if enough else row["day"]}}


@tool(effect="write")
def update_cart(db: dict[str, Any], cart: str, product: str, quantity: int) -> dict[str, Any]:
    """Set how many pieces of a product lie in a cart.

    Args:
        cart: Number of the cart.
        product: Number of the product.
        quantity: Number of pieces.

    Returns:
        `revision`: the number of the change, null if the cart is not open or the pieces are not there.
    """
    row, goods = db["carts"].get(cart), db["products"].get(product)
    if row is None or row["order"] or goods is None or not 0 < quantity <= goods["stock"]:
        return {"db": db, "result": {"revision": None}}
    row["items"][product] = quantity
    return {"db": db, "result": {"revision": f"R{_number(cart, product, quantity) + 10_000}"}}


@tool(effect="read")
def price_cart(db: dict[str, Any], cart: str) -> dict[str, Any]:
    """Add up a cart.

    Args:
        cart: Number of the cart.

    Returns:
        `goods`: the price of the goods, and `postage`, in euros.
    """
    return {"db": db, "result": {"goods": _goods(db, cart), "postage": _postage(db, cart)}}


@tool(effect="read")
def check_delivery_area(db: dict[str, Any], cart: str, postcode: str) -> dict[str, Any]:
    """Look whether an open cart can be delivered to a postcode.

    Args:
        cart: Number of the cart.
        postcode: Postcode of the customer, five digits.

    Returns:
        `state`: `deliverable`, `pickup_only` or `no_open_cart`; `postage` in euros; `arrival`: the day on which the
        goods arrive; `pickup_point` next to a postcode without delivery; `desk`: extension to ask about the cart.
    """
    row = db["carts"].get(cart)
    result: dict[str, Any] = {"postage": None, "arrival": None, "pickup_point": None, "desk": None}
    if row is None or row["order"]:
        return {"db": db, "result": {"state": "no_open_cart", **result, "desk": _desk(db, cart)}}
    if postcode[:2] not in db["areas"]:
        point = db["pickup_points"][_number(postcode) % len(db["pickup_points"])]
        return {"db": db, "result": {"state": "pickup_only", **result, "pickup_point": point}}
    arrival = f"2026-06-{17 + _number(postcode, cart) % 12}"
    result = {**result, "postage": _postage(db, cart) + db["areas"][postcode[:2]], "arrival": arrival}
    return {"db": db, "result": {"state": "deliverable", **result}}


@tool(effect="read")
def check_payment_method(db: dict[str, Any], cart: str, payment: str) -> dict[str, Any]:
    """Look whether a cart can be paid in a certain way; carts above the credit of the customer need a card.

    Args:
        cart: Number of the cart.
        payment: `card`, `invoice` or `direct debit`.

    Returns:
        `accepted`; `credit`: the most that can be paid without a card, in euros, if it is not accepted.
    """
    credit = db["carts"].get(cart, {"credit": 0})["credit"]
    accepted = payment == "card" or _goods(db, cart) <= credit
    return {"db": db, "result": {"accepted": accepted, "credit": None if accepted else credit}}


@tool(effect="write")
def place_order(db: dict[str, Any], cart: str, postcode: str, payment: str) -> dict[str, Any]:
    """Order what lies in a cart.

    Args:
        cart: Number of the cart.
        postcode: Postcode of the customer, five digits.
        payment: `card`, `invoice` or `direct debit`.

    Returns:
        `order`: the number of the order, null if the cart is not open.
    """
    row = db["carts"].get(cart)
    if row is None or row["order"]:
        return {"db": db, "result": {"order": None}}
    order = f"OR{_number(cart, postcode, payment, _goods(db, cart)) + 10_000}"
    row["order"] = order
    db["orders"][order] = {"cart": cart, "postcode": postcode, "payment": payment, "total": _goods(db, cart)}
    return {"db": db, "result": {"order": order}}
