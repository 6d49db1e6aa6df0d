"""The tools of the express support."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _code(prefix: str, *parts: Any) -> str:
    total = 0
    for character in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(character)) % 900_001
    return f"{prefix}{total % 90_000 + 10_000}"


@tool(effect="read")
def check_goods_rules(db: dict[str, Any], contents: str, destination: str) -> dict[str, Any]:
    """Look up whether goods may be sent to a country.

    Args:
        contents: What is in the parcel, such as `documents`.
        destination: Country to which it goes.

    Returns:
        `rule`: `free`, `declared` if a customs declaration is needed, or `banned`; `paragraph`: the number of the rule;
        `goods_desk`: the phone number for banned goods.
    """
    rule = db["rules"].get(destination, {}).get(contents, "banned")
    result = {
        "rule": rule,
        "paragraph": _code("GR-", db["salt"], contents, destination),
        "goods_desk": db["goods_desks"].get(destination, db["desk"]) if rule == "banned" else None,
    }
    return {"db": db, "result": result}


@tool(effect="read")
def quote_parcel(db: dict[str, Any], destination: str, service: str, weight: int) -> dict[str, Any]:
    """Quote the transport of a parcel.

    Args:
        destination: Country to which it goes.
        service: Service: `express`, `standard` or `economy`.
        weight: Weight in kilograms.

    Returns:
        `carried`; `quote`: its number, and its `price`, if it is carried; `limit` in kilograms; `freight_case`: the
        number under which the freight team has the case, if the parcel is too heavy.
    """
    row = db["services"].get(service, {"limit": 0, "base": 0})
    rate = db["rates"].get(destination, 9)
    carried = 0 < weight <= row["limit"]
    result = {
        "carried": carried,
        "quote": _code("EQ", db["salt"], destination, service, weight) if carried else None,
        "price": row["base"] + rate * weight if carried else None,
        "limit": row["limit"],
        "freight_case": None if carried else _code("FC", db["salt"], destination, service, weight),
    }
    return {"db": db, "result": result}


@tool(effect="write")
def schedule_parcel_pickup(
    db: dict[str, Any], contents: str, destination: str, service: str, weight: int, pickup_date: str, address: str
) -> dict[str, Any]:
    """Have a parcel collected and sent.

    Args:
        contents: What is in the parcel, such as `documents`.
        destination: Country to which it goes.
        service: Service: `express`, `standard` or `economy`.
        weight: Weight in kilograms.
        pickup_date: Day of the collection as YYYY-MM-DD.
        address: Street and number where it is collected.

    Returns:
        `waybill`: its number; `courier_from`: the time from which the courier comes, as HH:MM.
    """
    db["serial"] += 1
    waybill = _code("EX", db["serial"], contents, destination, weight, address)
    db["pickups"][waybill] = {
        "contents": contents,
        "destination": destination,
        "service": service,
        "weight": weight,
        "pickup_date": pickup_date,
        "address": address,
    }
    courier_from = f"{int(waybill[2:]) % 8 + 8:02}:{int(waybill[3:]) % 12 * 5:02}"
    return {"db": db, "result": {"waybill": waybill, "courier_from": courier_from}}


@tool(effect="write")
def file_customs_declaration(
    db: dict[str, Any], contents: str, destination: str, service: str, weight: int, pickup_date: str, address: str
) -> dict[str, Any]:
    """File the customs declaration of a parcel whose collection has been scheduled.

    Args:
        contents: What is in the parcel, such as `documents`.
        destination: Country to which it goes.
        service: Service: `express`, `standard` or `economy`.
        weight: Weight in kilograms.
        pickup_date: Day of the collection as YYYY-MM-DD.
        address: Street and number where it is collected.

    Returns:
        `declaration`: its number, which must be written on the parcel.
    """
    db["serial"] += 1
    declaration = _code("CD", db["serial"], contents, destination, weight)
    db["declarations"][declaration] = {
        "contents": contents,
        "destination": destination,
        "service": service,
        "weight": weight,
        "pickup_date": pickup_date,
        "address": address,
    }
    return {"db": db, "result": {"declaration": declaration}}


@tool(effect="read")
def track_parcel(db: dict[str, Any], waybill: str) -> dict[str, Any]:
    """Look up where a parcel is.

    Args:
        waybill: Number of the waybill.

    Returns:
        `state`: `moving`, `delivered`, `missed` if nobody was at home, or `unknown`; the `depot`; the day on which it
        `arrives` if it is moving; the day until which it is `kept_until` if it was missed; the `search_desk` if it is
        unknown.
    """
    row = db["parcels"].get(waybill)
    if row is None:
        search_desk = f"extension {int(_code('', db['salt'], waybill)) % 90 + 4100}"
        result = {"state": "unknown", "depot": None, "arrives": None, "kept_until": None, "search_desk": search_desk}
        return {"db": db, "result": result}
    result = {
        "state": row["state"],
        "depot": row["depot"],
        "arrives": row["day"] if row["state"] == "moving" else None,
        "kept_until": row["day"] if row["state"] == "missed" else None,
        "search_desk": None,
    }
    return {"db": db, "result": result}


@tool(effect="read")
def find_delivery_proof(db: dict[str, Any], waybill: str, postcode: str) -> dict[str, Any]:
    """Look up who took a parcel. The postcode of the receiver must be right.

    Args:
        waybill: Number of the waybill of a delivered parcel.
        postcode: Postcode of the receiver.

    Returns:
        `matched`: whether the postcode is right; `signed_by` and `signed_at` if so, else `privacy_case`: the number
        under which the caller can prove who they are.
    """
    row = db["parcels"].get(waybill, {"postcode": "", "signed_by": None, "signed_at": None})
    matched = row["postcode"] == postcode
    result = {
        "matched": matched,
        "signed_by": row["signed_by"] if matched else None,
        "signed_at": row["signed_at"] if matched else None,
        "privacy_case": None if matched else _code("PC", db["salt"], waybill, postcode),
    }
    return {"db": db, "result": result}


@tool(effect="write")
def request_redelivery(db: dict[str, Any], waybill: str, postcode: str, date: str) -> dict[str, Any]:
    """Have a missed parcel delivered again.

    Args:
        waybill: Number of the waybill of a missed parcel.
        postcode: Postcode of the receiver.
        date: Day of the second delivery as YYYY-MM-DD.

    Returns:
        `redelivery`: its number, or None if the parcel was not missed; `door_code`: what the driver will ask for.
    """
    row = db["parcels"].get(waybill)
    if row is None or row["state"] != "missed":
        return {"db": db, "result": {"redelivery": None, "door_code": None}}
    db["serial"] += 1
    redelivery = _code("RD", db["serial"], waybill, postcode, date)
    row["state"] = "moving"
    row["day"] = date
    db["redeliveries"][redelivery] = {"waybill": waybill, "postcode": postcode, "date": date}
    return {"db": db, "result": {"redelivery": redelivery, "door_code": str(int(redelivery[2:]) * 7 % 9_000 + 1_000)}}
