"""The tools of the apartment manager."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _code(prefix: str, *parts: Any) -> str:
    total = 0
    for character in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(character)) % 900_001
    return f"{prefix}{total % 90_000 + 10_000}"


@tool(effect="read")
def find_apartments(db: dict[str, Any], district: str, bedrooms: int, budget: int) -> dict[str, Any]:
    """Find the cheapest vacant apartment of a size in a district.

    Args:
        district: Name of the district.
        bedrooms: Number of bedrooms.
        budget: Highest monthly rent.

    Returns:
        `state`: `match`, `too_dear` if the cheapest one is above the budget, or `none` if none is vacant; `apartment`
        and its `rent` if there is one, `office_line` of the district if there is none.
    """
    rows = [
        (row["rent"], code)
        for code, row in db["apartments"].items()
        if row["state"] == "vacant" and row["district"] == district and row["bedrooms"] == bedrooms
    ]
    result: dict[str, Any] = {"state": "none", "apartment": None, "rent": None, "office_line": None}
    if rows:
        rent, code = min(rows)
        result.update({"state": "match" if rent <= budget else "too_dear", "apartment": code, "rent": rent})
    else:
        result["office_line"] = db["offices"].get(district, db["desk"])
    return {"db": db, "result": result}


@tool(effect="read")
def check_move_in(db: dict[str, Any], apartment: str, move_in: str) -> dict[str, Any]:
    """Look whether an apartment is ready for a tenant on a day.

    Args:
        apartment: Code of the apartment.
        move_in: Day on which the tenant wants to move in, as YYYY-MM-DD.

    Returns:
        `ready`; `ready_on`: the day from which it is; `deposit` to pay; `offer`: its number if it is ready.
    """
    row = db["apartments"].get(apartment, {"ready_on": "9999-12-31", "rent": 0})
    ready = row["ready_on"] <= move_in
    result = {
        "ready": ready,
        "ready_on": row["ready_on"],
        "deposit": row["rent"] * 2 + 35,
        "offer": _code("AO", db["salt"], apartment, move_in) if ready else None,
    }
    return {"db": db, "result": result}


@tool(effect="write")
def join_apartment_list(db: dict[str, Any], district: str, bedrooms: int, budget: int, email: str) -> dict[str, Any]:
    """Put a person on the list of those who are told when an apartment becomes vacant.

    Args:
        district: Name of the district.
        bedrooms: Number of bedrooms.
        budget: Highest monthly rent.
        email: E-mail address of the person.

    Returns:
        `list_number` of the person.
    """
    db["serial"] += 1
    list_number = _code("AL", db["serial"], district, bedrooms, budget, email)
    db["waiting"][list_number] = {"district": district, "bedrooms": bedrooms, "budget": budget, "email": email}
    return {"db": db, "result": {"list_number": list_number}}


@tool(effect="read")
def look_up_apartment(db: dict[str, Any], apartment: str) -> dict[str, Any]:
    """Look up whether an apartment can be viewed.

    Args:
        apartment: Code of the apartment, such as `A-214`.

    Returns:
        `state`: `vacant`, `let` or `renovation`; `similar`: the vacant apartment of the same size with the nearest rent
        if it is let, or the extension of the desk; `viewable_from`: the day from which it can be viewed if it is
        renovated.
    """
    row = db["apartments"].get(apartment, {"state": "let", "bedrooms": 0, "rent": 0, "ready_on": None})
    similar = sorted(
        (abs(other["rent"] - row["rent"]), code)
        for code, other in db["apartments"].items()
        if other["state"] == "vacant" and other["bedrooms"] == row["bedrooms"]
    )
    result = {
        "state": row["state"],
        "similar": (similar[0][1] if similar else db["desk"]) if row["state"] == "let" else None,
        "viewable_from": row["ready_on"] if row["state"] == "renovation" else None,
    }
    return {"db": db, "result": result}


@tool(effect="read")
def check_viewing_time(db: dict[str, Any], apartment: str, date: str, time: str) -> dict[str, Any]:
    """Look whether an apartment can be viewed at a time.

    Args:
        apartment: Code of the apartment, such as `A-214`.
        date: Day as YYYY-MM-DD.
        time: Time as HH:MM.

    Returns:
        `free`; `next_viewing`: the next free viewing after that, as `YYYY-MM-DD HH:MM`, or the extension of the desk.
    """
    viewings = db["apartments"].get(apartment, {"viewings": []})["viewings"]
    later = sorted(moment for moment in viewings if moment > f"{date} {time}")
    result = {"free": f"{date} {time}" in viewings, "next_viewing": later[0] if later else db["desk"]}
    return {"db": db, "result": result}


@tool(effect="write")
def book_viewing(db: dict[str, Any], apartment: str, date: str, time: str, visitor: str, phone: str) -> dict[str, Any]:
    """Book a viewing of an apartment.

    Args:
        apartment: Code of the apartment, such as `A-214`.
        date: Day as YYYY-MM-DD.
        time: A free time, as HH:MM.
        visitor: Name of the visitor.
        phone: Phone number of the visitor.

    Returns:
        `viewing`: its number, or None if the time is not free.
    """
    viewings = db["apartments"].get(apartment, {"viewings": []})["viewings"]
    if f"{date} {time}" not in viewings:
        return {"db": db, "result": {"viewing": None}}
    viewings.remove(f"{date} {time}")
    db["serial"] += 1
    viewing = _code("VW", db["serial"], apartment, date, time, visitor)
    db["viewings"][viewing] = {
        "apartment": apartment,
        "date": date,
        "time": time,
        "visitor": visitor,
        "phone": phone,
    }
    return {"db": db, "result": {"viewing": viewing}}


@tool(effect="read")
def find_viewing_host(db: dict[str, Any], viewing: str) -> dict[str, Any]:
    """Look up who shows an apartment.

    Args:
        viewing: Number of a booked viewing.

    Returns:
        `host`: the name of the person, and their phone number `host_line`. None if the viewing is unknown.
    """
    row = db["viewings"].get(viewing)
    if row is None:
        return {"db": db, "result": {"host": None, "host_line": None}}
    host = db["hosts"][int(viewing[2:]) % len(db["hosts"])]
    return {"db": db, "result": {"host": host["name"], "host_line": host["phone"]}}


@tool(effect="read")
def find_utility_bill(db: dict[str, Any], tenant: str, utility: str, month: str) -> dict[str, Any]:
    """Find a utility bill of a tenant.

    Args:
        tenant: Number of the tenant.
        utility: What the bill is for: `electricity`, `water`, `heating` or `gas`.
        month: Month, such as `September`.

    Returns:
        `state`: `open`, `paid` or `missing`; the `amount` and the day `due` if it is open, the `receipt` if it is paid,
        `issued_on`: the day on which it will be issued, and `reading`: what the meter showed last, if it is missing.
    """
    row = db["bills"].get(f"{tenant}/{utility}/{month}")
    result: dict[str, Any] = {"state": "missing", "amount": None, "due": None, "receipt": None}
    result.update({"issued_on": None, "reading": None})
    if row is None:
        reading = _code("", db["salt"], tenant, utility, month)
        result.update({"issued_on": f"2026-10-{int(reading) % 19 + 10}", "reading": reading})
    elif row["receipt"]:
        result.update({"state": "paid", "receipt": row["receipt"]})
    else:
        result.update({"state": "open", "amount": row["amount"], "due": row["due"]})
    return {"db": db, "result": result}


@tool(effect="read")
def compare_usage(db: dict[str, Any], tenant: str, utility: str, month: str) -> dict[str, Any]:
    """Compare the amount of a bill with what the tenant paid on average.

    Args:
        tenant: Number of the tenant.
        utility: What the bill is for: `electricity`, `water`, `heating` or `gas`.
        month: Month, such as `September`.

    Returns:
        `unusual`: whether it is more than half as much again; `average` amount.
    """
    row = db["bills"].get(f"{tenant}/{utility}/{month}", {"amount": "0.00", "average": "0.00"})
    unusual = float(row["amount"]) > 1.5 * float(row["average"])
    return {"db": db, "result": {"unusual": unusual, "average": row["average"]}}


@tool(effect="write")
def request_meter_check(db: dict[str, Any], tenant: str, utility: str, month: str) -> dict[str, Any]:
    """Ask the caretaker to read the meter again, and stop the bill until then.

    Args:
        tenant: Number of the tenant.
        utility: What the bill is for: `electricity`, `water`, `heating` or `gas`.
        month: Month, such as `September`.

    Returns:
        `check_number`, and `visit`: the time of the visit, as `YYYY-MM-DD HH:MM`. None if there is no such bill.
    """
    if f"{tenant}/{utility}/{month}" not in db["bills"]:
        return {"db": db, "result": {"check_number": None, "visit": None}}
    db["serial"] += 1
    check_number = _code("MC", db["serial"], tenant, utility, month)
    visit = f"2026-10-{int(check_number[2:]) % 17 + 12} {int(check_number[3:]) % 8 + 9:02}:15"
    db["meter_checks"][check_number] = {"tenant": tenant, "utility": utility, "month": month, "visit": visit}
    return {"db": db, "result": {"check_number": check_number, "visit": visit}}


@tool(effect="read")
def find_rent(db: dict[str, Any], tenant: str, month: str) -> dict[str, Any]:
    """Look up the rent of a tenant for a month.

    Args:
        tenant: Number of the tenant.
        month: Month, such as `September`.

    Returns:
        `state`: `due`, `overdue` or `settled`; the `rent` and the last day to `pay_by`; the number `settled_by` of the
        payment if it is settled, or the extension of the accounts if the tenant is unknown.
    """
    row = db["rents"].get(f"{tenant}/{month}")
    if row is None:
        result = {"state": "settled", "rent": None, "pay_by": None, "settled_by": db["desk"]}
        return {"db": db, "result": result}
    state = "settled" if row["paid"] else ("overdue" if row["pay_by"] < db["today"] else "due")
    result = {"state": state, "rent": row["rent"], "pay_by": row["pay_by"], "settled_by": row["paid"]}
    return {"db": db, "result": result}


@tool(effect="read")
def check_rent_amount(db: dict[str, Any], tenant: str, month: str, amount: int) -> dict[str, Any]:
    """Compare an amount with the rent of a month.

    Args:
        tenant: Number of the tenant.
        month: Month, such as `September`.
        amount: Amount that the tenant wants to pay.

    Returns:
        `enough`; `late_fee` that a payment after the last day costs; `missing_amount` if it is not enough, and
        `plan_desk`: the extension that agrees on payment in parts.
    """
    row = db["rents"].get(f"{tenant}/{month}", {"rent": 0})
    missing = max(row["rent"] - amount, 0)
    plan_desk = f"extension {int(_code('', db['salt'], tenant)) % 9000 + 1000}"
    result = {
        "enough": missing == 0,
        "late_fee": _late_fee(row["rent"]),
        "missing_amount": missing,
        "plan_desk": plan_desk if missing else None,
    }
    return {"db": db, "result": result}


def _late_fee(rent: int) -> int:
    return rent * 3 // 100 + 107


def _paid(db: dict[str, Any], tenant: str, month: str, amount: int, method: str, fee: int) -> str | None:
    row = db["rents"].get(f"{tenant}/{month}")
    if row is None or row["paid"]:
        return None
    db["serial"] += 1
    payment = _code("RP", db["serial"], tenant, month, amount, method)
    row["paid"] = payment
    db["payments"][payment] = {"tenant": tenant, "month": month, "amount": amount, "method": method, "fee": fee}
    return payment


@tool(effect="write")
def pay_rent(db: dict[str, Any], tenant: str, month: str, amount: int, method: str) -> dict[str, Any]:
    """Pay the rent of a month.

    Args:
        tenant: Number of the tenant.
        month: Month, such as `September`.
        amount: Amount to pay.
        method: How it is paid: `direct debit`, `bank transfer` or `card`.

    Returns:
        `payment`: its number, or None if no rent is open.
    """
    return {"db": db, "result": {"payment": _paid(db, tenant, month, amount, method, 0)}}


@tool(effect="write")
def pay_overdue_rent(db: dict[str, Any], tenant: str, month: str, amount: int, method: str) -> dict[str, Any]:
    """Pay the rent of a month after its last day; a fee is put on the next rent.

    Args:
        tenant: Number of the tenant.
        month: Month, such as `September`.
        amount: Amount to pay, without the fee.
        method: How it is paid: `direct debit`, `bank transfer` or `card`.

    Returns:
        `payment`: its number, or None if no rent is open.
    """
    rent = db["rents"].get(f"{tenant}/{month}", {"rent": 0})["rent"]
    return {"db": db, "result": {"payment": _paid(db, tenant, month, amount, method, _late_fee(rent))}}


@tool(effect="write")
def issue_rent_receipt(db: dict[str, Any], tenant: str, month: str, amount: int, method: str) -> dict[str, Any]:
    """Issue the receipt of a rent that was paid in time.

    Args:
        tenant: Number of the tenant.
        month: Month, such as `September`.
        amount: Amount that was paid.
        method: How it was paid: `direct debit`, `bank transfer` or `card`.

    Returns:
        `receipt`: its number, or None if there is no rent for that month.
    """
    if f"{tenant}/{month}" not in db["rents"]:
        return {"db": db, "result": {"receipt": None}}
    db["serial"] += 1
    receipt = _code("RR", db["serial"], tenant, month, amount, method)
    db["receipts"][receipt] = {"tenant": tenant, "month": month, "amount": amount, "method": method}
    return {"db": db, "result": {"receipt": receipt}}
