"""The tools of a market: wish lists, prices, baskets."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_wishlist(db: dict[str, Any], shopper_id: str) -> dict[str, Any]:
    """Get the wish list of a shopper.

    Args:
        shopper_id: Id of the shopper.

    Returns:
        `shopper_id`, `entries` with `article` and `quantity`, the most wanted first.
    """
    return {"db": db, "result": {"shopper_id": shopper_id, "entries": db["wishlists"][shopper_id]["entries"]}}


@tool(effect="read")
def get_article_price(db: dict[str, Any], article: str) -> dict[str, Any]:
    """Get the price of an article.

    Args:
        article: Code of the article.

    Returns:
        `article`, `unit_cents`, the price of one in cents, `available`.
    """
    row = db["articles"][article]
    return {"db": db, "result": {"article": article, "unit_cents": row["cents"], "available": row["available"]}}


@tool(effect="write")
def add_to_basket(db: dict[str, Any], shopper_id: str, article: str, quantity: int) -> dict[str, Any]:
    """Put an article into the basket of a shopper.

    Args:
        shopper_id: Id of the shopper.
        article: Code of the article.
        quantity: How many.

    Returns:
        `articles`, the number of different articles in the basket.
    """
    basket = db["baskets"].setdefault(shopper_id, {})
    basket[article] = basket.get(article, 0) + quantity
    return {"db": db, "result": {"articles": len(basket)}}


@tool(effect="read")
def get_basket(db: dict[str, Any], shopper_id: str) -> dict[str, Any]:
    """Get what is in the basket of a shopper.

    Args:
        shopper_id: Id of the shopper.

    Returns:
        `entries` with `article` and `quantity`.
    """
    basket = db["baskets"].get(shopper_id, {})
    entries = [{"article": article, "quantity": basket[article]} for article in sorted(basket)]
    return {"db": db, "result": {"entries": entries}}
