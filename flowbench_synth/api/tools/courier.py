"""The tools of a parcel service: parcels, hubs, merchants, customs."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def track_parcel(db: dict[str, Any], parcel_id: str) -> dict[str, Any]:
    """Get a parcel with its latest scan.

    Args:
        parcel_id: Id of the parcel, such as PX204177.

    Returns:
        `id`, `merchant_id`, `recipient` with `name` and `country`, `contents` with `category`, `value` and
        `weight_kg`, `last_scan` with `event`, `at` and `hub_code`.
    """
    return {"db": db, "result": db["parcels"][parcel_id]}


@tool(effect="read")
def get_hub(db: dict[str, Any], hub_code: str) -> dict[str, Any]:
    """Get a hub of the parcel service.

    Args:
        hub_code: Code of the hub.

    Returns:
        `code`, `label`, `address` with `street` and `town`, `supervisor`.
    """
    return {"db": db, "result": db["hubs"][hub_code]}


@tool(effect="read")
def get_merchant(db: dict[str, Any], merchant_id: str) -> dict[str, Any]:
    """Get a merchant who sends parcels.

    Args:
        merchant_id: Id of the merchant.

    Returns:
        `id`, `brand`, `contacts` with `support` and `accounts` (e-mail addresses).
    """
    return {"db": db, "result": db["merchants"][merchant_id]}


@tool(effect="write")
def declare_goods(db: dict[str, Any], parcel_id: str, category: str, value: float) -> dict[str, Any]:
    """Hand in a customs declaration for a parcel.

    Args:
        parcel_id: Id of the parcel.
        category: What is in it.
        value: Its value.

    Returns:
        `declaration`, its id, and `state`, which is `queued`.
    """
    declaration = f"D-{parcel_id[2:]}-{category[0].upper()}"
    db["declarations"][declaration] = {"parcel_id": parcel_id, "category": category, "value": value}
    return {"db": db, "result": {"declaration": declaration, "state": "queued"}}


@tool(effect="read")
def customs_state(db: dict[str, Any], declaration: str) -> dict[str, Any]:
    """Ask how far customs are with a declaration. Each question takes a while.

    Args:
        declaration: Id of the declaration.

    Returns:
        `state` (`queued`, `inspecting`, `released` or `refused`), `release_code` (null unless released), `remark`
        (null unless refused).
    """
    asked = db["clock"].get(declaration, 0) + 1
    db["clock"][declaration] = asked
    office = db["customs"]
    result = {"state": "queued", "release_code": None, "remark": None}
    if asked >= office["rounds"]:
        result["state"] = office["outcome"]
        if office["outcome"] == "released":
            result["release_code"] = f"{office['stamp']}/{declaration[2:8]}"
        else:
            result["remark"] = office["remark"]
    elif asked > office["queue"]:
        result["state"] = "inspecting"
    return {"db": db, "result": result}


@tool(effect="write")
def dispatch_parcel(db: dict[str, Any], parcel_id: str, release_code: str) -> dict[str, Any]:
    """Send a released parcel on its way.

    Args:
        parcel_id: Id of the parcel.
        release_code: The code that customs gave.

    Returns:
        `parcel_id`, `vehicle`, `departs_at`.
    """
    db["dispatched"][parcel_id] = release_code
    van = db["van"]
    return {"db": db, "result": {"parcel_id": parcel_id, "vehicle": van["plate"], "departs_at": van["departs_at"]}}


@tool(effect="write")
def hold_parcel(db: dict[str, Any], parcel_id: str, note: str) -> dict[str, Any]:
    """Keep a parcel in the bonded store.

    Args:
        parcel_id: Id of the parcel.
        note: Why.

    Returns:
        `parcel_id`, `cage`, where it is kept.
    """
    db["held"][parcel_id] = note
    return {"db": db, "result": {"parcel_id": parcel_id, "cage": f"K{int(parcel_id[2:]) % 37 + 1}"}}


@tool(effect="write")
def withdraw_declaration(db: dict[str, Any], declaration: str) -> dict[str, Any]:
    """Take a customs declaration back.

    Args:
        declaration: Id of the declaration.

    Returns:
        `declaration`, `withdrawn`.
    """
    db["declarations"][declaration]["withdrawn"] = True
    return {"db": db, "result": {"declaration": declaration, "withdrawn": True}}
