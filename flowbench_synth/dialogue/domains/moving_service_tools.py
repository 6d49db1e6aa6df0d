"""The tools of the moving service."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _code(prefix: str, *parts: Any) -> str:
    total = 0
    for character in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(character)) % 900_001
    return f"{prefix}{total % 90_000 + 10_000}"


@tool(effect="read")
def estimate_move(db: dict[str, Any], departure: str, destination: str, rooms: int) -> dict[str, Any]:
    """Estimate a move.

    Args:
        departure: Town that the customer leaves.
        destination: Town to which the customer goes.
        rooms: Number of rooms.

    Returns:
        `served`; the `estimate` number, the `price` and the `truck` that is needed (`small` or `large`) if the route is
        served, else the phone number `partner_line` of a company that serves it.
    """
    distance = db["distances"].get(departure, {}).get(destination)
    served = distance is not None
    estimate = _code("ME", db["salt"], departure, destination, rooms)
    result = {
        "served": served,
        "estimate": estimate if served else None,
        "price": 140 * rooms + 3 * distance + 85 if served else None,
        "truck": "large" if rooms >= 4 else "small",
        "partner_line": None if served else f"555-{int(estimate[2:]) % 900 + 100}-{int(estimate[2:]) % 9_000 + 1_000}",
    }
    return {"db": db, "result": result}


@tool(effect="read")
def check_moving_crews(db: dict[str, Any], truck: str, date: str) -> dict[str, Any]:
    """Look whether a crew with a truck is free on a day.

    Args:
        truck: Size of the truck: `small` or `large`.
        date: Day as YYYY-MM-DD.

    Returns:
        `state`: `whole_day`, `afternoon` if the crew is free in the afternoon only, or `none`; `next_day`: the next day
        on which a crew is free for the whole day.
    """
    days = db["crews"].get(truck, {})
    later = sorted(day for day, state in days.items() if day > date and state == "whole_day")
    result = {"state": days.get(date, "none"), "next_day": later[0] if later else db["desk"]}
    return {"db": db, "result": result}


def _booked(
    db: dict[str, Any],
    departure: str,
    destination: str,
    rooms: int,
    date: str,
    customer: str,
    phone: str,
    part: str,
) -> str | None:
    """Books a move for a part of a day, and returns its number, or None if no crew is free then."""
    days = db["crews"]["large" if rooms >= 4 else "small"]
    if days.get(date) != part:
        return None
    days[date] = "none"
    db["serial"] += 1
    move = _code("MV", db["serial"], departure, destination, rooms, date, customer)
    db["moves"][move] = {
        "departure": departure,
        "destination": destination,
        "rooms": rooms,
        "date": date,
        "customer": customer,
        "phone": phone,
        "part": part,
    }
    return move


@tool(effect="write")
def book_move(
    db: dict[str, Any], departure: str, destination: str, rooms: int, date: str, customer: str, phone: str
) -> dict[str, Any]:
    """Book a move that begins in the morning.

    Args:
        departure: Town that the customer leaves.
        destination: Town to which the customer goes.
        rooms: Number of rooms.
        date: Day as YYYY-MM-DD.
        customer: Name of the customer.
        phone: Phone number of the customer.

    Returns:
        `move`: its number, or None if no crew is free; the name of the `foreman`.
    """
    move = _booked(db, departure, destination, rooms, date, customer, phone, "whole_day")
    foreman = db["foremen"][int(move[2:]) % len(db["foremen"])] if move else None
    return {"db": db, "result": {"move": move, "foreman": foreman}}


@tool(effect="write")
def book_afternoon_move(
    db: dict[str, Any], departure: str, destination: str, rooms: int, date: str, customer: str, phone: str
) -> dict[str, Any]:
    """Book a move that begins in the afternoon, at a lower price.

    Args:
        departure: Town that the customer leaves.
        destination: Town to which the customer goes.
        rooms: Number of rooms.
        date: Day as YYYY-MM-DD.
        customer: Name of the customer.
        phone: Phone number of the customer.

    Returns:
        `move`: its number, or None if no crew is free; `rebate`: by how much the price is lower.
    """
    move = _booked(db, departure, destination, rooms, date, customer, phone, "afternoon")
    rebate = 31 * rooms + int(move[2:]) % 29 if move else None
    return {"db": db, "result": {"move": move, "rebate": rebate}}


@tool(effect="read")
def look_up_move(db: dict[str, Any], move: str) -> dict[str, Any]:
    """Look up whether a claim can be made for a finished move.

    Args:
        move: Number of the move.

    Returns:
        `cover`: `insured`, `expired` if the time for claims is over, or `none`; the `policy` number and the last day to
        `claim_by` if it is insured; the day it `expired_on` if it is over; the `goodwill_desk` if there is no cover.
    """
    row = db["finished"].get(move)
    cover = row["cover"] if row else "none"
    result = {
        "cover": cover,
        "policy": row["policy"] if row and cover == "insured" else None,
        "claim_by": row["claim_by"] if row and cover == "insured" else None,
        "expired_on": row["claim_by"] if row and cover == "expired" else None,
        "goodwill_desk": f"extension {int(_code('', db['salt'], move)) % 90 + 7_300}" if cover == "none" else None,
    }
    return {"db": db, "result": result}


@tool(effect="read")
def check_damage_cover(db: dict[str, Any], policy: str, item: str, damage: str) -> dict[str, Any]:
    """Look whether a policy covers a damage.

    Args:
        policy: Number of the policy.
        item: What was damaged, such as `wardrobe`.
        damage: Kind of damage: `scratched`, `broken`, `missing` or `wet`.

    Returns:
        `covered`; the `clause` that excludes it if it is not.
    """
    covered = damage not in db["exclusions"].get(item, [])
    return {"db": db, "result": {"covered": covered, "clause": None if covered else _code("CL-", policy, item, damage)}}


@tool(effect="write")
def file_damage_claim(db: dict[str, Any], move: str, item: str, damage: str, price: int, email: str) -> dict[str, Any]:
    """File a claim. Low claims are paid at once; an assessor comes for high claims.

    Args:
        move: Number of the move.
        item: What was damaged, such as `wardrobe`.
        damage: Kind of damage: `scratched`, `broken`, `missing` or `wet`.
        price: Purchase price of the item.
        email: E-mail address for the decision.

    Returns:
        `claim`: its number, or None if the move is not insured; `assessed`: whether an assessor comes first; `payout`
        if not.
    """
    row = db["finished"].get(move)
    if row is None or row["cover"] != "insured":
        return {"db": db, "result": {"claim": None, "assessed": False, "payout": None}}
    db["serial"] += 1
    claim = _code("DC", db["serial"], move, item, damage, price)
    assessed = price >= db["assess_from"]
    db["claims"][claim] = {"move": move, "item": item, "damage": damage, "price": price, "email": email}
    payout = None if assessed else price * (70 + int(claim[2:]) % 19) // 100
    return {"db": db, "result": {"claim": claim, "assessed": assessed, "payout": payout}}


@tool(effect="read")
def find_assessor_visit(db: dict[str, Any], claim: str) -> dict[str, Any]:
    """Find the next visit of an assessor for a claim.

    Args:
        claim: Number of a filed claim.

    Returns:
        `assessor`: the name, and `visit_at`: the time as `YYYY-MM-DD HH:MM`. None if the claim is unknown.
    """
    if claim not in db["claims"]:
        return {"db": db, "result": {"assessor": None, "visit_at": None}}
    row = db["assessors"][int(claim[2:]) % len(db["assessors"])]
    return {"db": db, "result": {"assessor": row["name"], "visit_at": row["free"][int(claim[3:]) % len(row["free"])]}}
