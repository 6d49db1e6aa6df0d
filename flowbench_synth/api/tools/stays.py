"""The tools of a travel agency: offers of hotels."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_offers(db: dict[str, Any], search_id: str) -> dict[str, Any]:
    """List the ids of the offers that a search found.

    Args:
        search_id: Id of the search.

    Returns:
        `offer_ids`, the recommended ones first; `expires_at`.
    """
    row = db["searches"][search_id]
    return {"db": db, "result": {"offer_ids": row["offer_ids"], "expires_at": row["expires_at"]}}


@tool(effect="read")
def get_offer(db: dict[str, Any], offer_id: str) -> dict[str, Any]:
    """Get an offer with its current price.

    Args:
        offer_id: Id of the offer.

    Returns:
        The offer: `id`, `hotel` with `name` and `stars`, `price` with `night` and `total`, `cancellable_until` (null if
        it cannot be cancelled), `sold_out`.
    """
    return {"db": db, "result": {"id": offer_id, **db["offers"][offer_id]}}


@tool(effect="write")
def reserve_offer(db: dict[str, Any], offer_id: str, guest: str) -> dict[str, Any]:
    """Reserve an offer.

    Args:
        offer_id: Id of the offer.
        guest: Name of the guest.

    Returns:
        `offer_id`, `reserved`.
    """
    row = db["offers"][offer_id]
    free = not row["sold_out"]
    row["sold_out"] = True
    return {"db": db, "result": {"offer_id": offer_id, "reserved": free, "guest": guest}}
