"""The tools of the gas equipment service."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _code(prefix: str, *parts: Any) -> str:
    total = 0
    for character in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(character)) % 900_001
    return f"{prefix}{total % 90_000 + 10_000}"


@tool(effect="read")
def assess_gas_fault(db: dict[str, Any], device: str, fault: str) -> dict[str, Any]:
    """Assess how urgent a fault is.

    Args:
        device: Device that has it: `boiler`, `cooker`, `gas fire` or `meter`.
        fault: What is wrong, such as `smell of gas`.

    Returns:
        `urgency`: `emergency`, `visit` if an engineer must come, or `guide` if customers can mend it themselves;
        `guide`: the number of the instructions then; `emergency_line` for emergencies.
    """
    row = db["faults"].get(fault, {"urgency": "visit", "guides": {}})
    result = {
        "urgency": row["urgency"],
        "guide": row["guides"].get(device),
        "emergency_line": db["emergency_lines"].get(device) if row["urgency"] == "emergency" else None,
    }
    return {"db": db, "result": result}


@tool(effect="write")
def dispatch_emergency_crew(db: dict[str, Any], device: str, fault: str, contract: str, phone: str) -> dict[str, Any]:
    """Send the emergency crew to a customer.

    Args:
        device: Device that has the fault: `boiler`, `cooker`, `gas fire` or `meter`.
        fault: What is wrong, such as `smell of gas`.
        contract: Contract number of the customer.
        phone: Phone number at which the crew can call back.

    Returns:
        `crew`: the call sign of the crew; `arrives_at` as HH:MM.
    """
    db["serial"] += 1
    job = _code("EJ", db["serial"], contract, device, fault)
    crew = f"{('Falcon', 'Otter', 'Badger', 'Heron')[int(job[2:]) % 4]} {int(job[4:]) % 90 + 10}"
    db["emergencies"][job] = {"contract": contract, "device": device, "fault": fault, "phone": phone, "crew": crew}
    return {"db": db, "result": {"crew": crew, "arrives_at": f"14:{int(job[3:]) % 43 + 15}"}}


@tool(effect="read")
def quote_gas_repair(db: dict[str, Any], contract: str, device: str) -> dict[str, Any]:
    """Quote the visit of an engineer. It costs less while the device is under warranty.

    Args:
        contract: Contract number of the customer.
        device: Device to repair: `boiler`, `cooker`, `gas fire` or `meter`.

    Returns:
        `quote`: its number; `fee`; `warranty`: whether the device is under warranty.
    """
    devices = db["customers"].get(contract, {"warranties": []})["warranties"]
    warranty = device in devices
    quote = _code("GQ", db["salt"], contract, device)
    return {
        "db": db,
        "result": {"quote": quote, "fee": int(quote[4:]) % 60 + (20 if warranty else 120), "warranty": warranty},
    }


@tool(effect="write")
def book_gas_engineer(
    db: dict[str, Any], device: str, fault: str, contract: str, date: str, phone: str
) -> dict[str, Any]:
    """Book the visit of an engineer, or note the request if none is free that day.

    Args:
        device: Device to repair: `boiler`, `cooker`, `gas fire` or `meter`.
        fault: What is wrong, such as `strange noise`.
        contract: Contract number of the customer.
        date: Day of the visit as YYYY-MM-DD.
        phone: Phone number of the customer.

    Returns:
        `booked`; `visit`: its number, and `from_time` as HH:MM if it is booked, else `request`: the number of the
        request, and `next_day` with a free engineer.
    """
    result: dict[str, Any] = {"booked": False, "visit": None, "from_time": None}
    result.update({"request": None, "next_day": None})
    request = {"contract": contract, "device": device, "fault": fault, "date": date, "phone": phone}
    if db["engineers"].get(date, 0) < 1:
        later = sorted(day for day, free in db["engineers"].items() if day > date and free > 0)
        db["serial"] += 1
        number = _code("GR", db["serial"], contract, device, date)
        db["requests"][number] = request
        result.update({"request": number, "next_day": later[0] if later else db["desk"]})
        return {"db": db, "result": result}
    db["serial"] += 1
    visit = _code("GV", db["serial"], contract, device, date)
    db["engineers"][date] -= 1
    db["visits"][visit] = request
    result.update(
        {"booked": True, "visit": visit, "from_time": f"{int(visit[2:]) % 9 + 8:02}:{int(visit[3:]) % 4 * 15:02}"}
    )
    return {"db": db, "result": result}


@tool(effect="read")
def find_gas_bill(db: dict[str, Any], contract: str) -> dict[str, Any]:
    """Find the last bill of a customer.

    Args:
        contract: Contract number of the customer.

    Returns:
        `state`: `open`; `overdue` if the customer was reminded in vain, so that it is paid in installments; or
        `settled`; its `amount` and the day `due` if it is not settled, the day of the
        `next_bill` if it is.
    """
    row = db["customers"].get(contract, {"bill": {"state": "settled", "amount": None, "day": db["desk"]}})["bill"]
    settled = row["state"] == "settled"
    result = {
        "state": row["state"],
        "amount": None if settled else row["amount"],
        "due": None if settled else row["day"],
        "next_bill": row["day"] if settled else None,
    }
    return {"db": db, "result": result}


@tool(effect="write")
def pay_gas_bill(db: dict[str, Any], contract: str, account: str) -> dict[str, Any]:
    """Pay the open bill of a customer from an account.

    Args:
        contract: Contract number of the customer.
        account: Number of the account.

    Returns:
        `payment`: its number, or None if no bill is open.
    """
    row = db["customers"].get(contract, {"bill": {"state": "settled"}})["bill"]
    if row["state"] == "settled":
        return {"db": db, "result": {"payment": None}}
    db["serial"] += 1
    payment = _code("GP", db["serial"], contract, account)
    row["state"] = "settled"
    db["payments"][payment] = {"contract": contract, "account": account, "amount": row["amount"]}
    return {"db": db, "result": {"payment": payment}}


@tool(effect="read")
def quote_gas_installments(db: dict[str, Any], contract: str, months: int) -> dict[str, Any]:
    """Work out monthly installments for an overdue bill.

    Args:
        contract: Contract number of the customer.
        months: Number of months, from 2 to 12.

    Returns:
        `allowed`: whether the customer may pay in so many installments; `monthly`: the amount of each one if so,
        `collections_desk`: the extension that decides on other cases if not.
    """
    row = db["customers"].get(contract, {"installments": 0, "bill": {"amount": "0.00"}})
    allowed = 2 <= months <= row["installments"]
    desk = f"extension {int(_code('', db['salt'], contract)) % 9000 + 1000}"
    monthly = f"{float(row['bill']['amount']) * 1.04 / months:.2f}" if allowed else None
    return {"db": db, "result": {"allowed": allowed, "monthly": monthly, "collections_desk": None if allowed else desk}}


@tool(effect="write")
def set_up_gas_installments(db: dict[str, Any], contract: str, months: int, account: str) -> dict[str, Any]:
    """Agree on monthly installments for an overdue bill.

    Args:
        contract: Contract number of the customer.
        months: Number of months.
        account: Number of the account from which they are taken.

    Returns:
        `plan`: the number of the agreement; `first_payment`: the day of the first installment. None if the bill is
        settled.
    """
    row = db["customers"].get(contract, {"bill": {"state": "settled"}})["bill"]
    if row["state"] == "settled":
        return {"db": db, "result": {"plan": None, "first_payment": None}}
    db["serial"] += 1
    plan = _code("IP", db["serial"], contract, months, account)
    row["state"] = "settled"
    db["plans"][plan] = {"contract": contract, "months": months, "account": account, "amount": row["amount"]}
    return {"db": db, "result": {"plan": plan, "first_payment": f"2026-12-{int(plan[2:]) % 27 + 2:02}"}}


@tool(effect="read")
def find_gas_outage(db: dict[str, Any], postcode: str) -> dict[str, Any]:
    """Look for works or disturbances of the gas network in a postcode.

    Args:
        postcode: Postcode of the customer.

    Returns:
        `state`: `planned` for announced works, `disturbance`, or `none`; the number of the `notice` and the time at
        which gas is `back_at` if there is one.
    """
    row = db["network"].get(postcode, {"state": "none", "notice": None, "back_at": None})
    return {"db": db, "result": {"state": row["state"], "notice": row["notice"], "back_at": row["back_at"]}}


@tool(effect="write")
def join_gas_outage(db: dict[str, Any], postcode: str, contract: str, since: str) -> dict[str, Any]:
    """Add a customer to those who are affected by a known disturbance, so that they are compensated.

    Args:
        postcode: Postcode of the customer.
        contract: Contract number of the customer.
        since: Time since which there is no gas, as HH:MM.

    Returns:
        `claim`: the number of the customer's compensation.
    """
    db["serial"] += 1
    claim = _code("CL", db["serial"], postcode, contract, since)
    db["affected"][claim] = {"postcode": postcode, "contract": contract, "since": since}
    return {"db": db, "result": {"claim": claim}}


@tool(effect="read")
def read_gas_meter(db: dict[str, Any], contract: str) -> dict[str, Any]:
    """Read the smart meter of a customer from afar.

    Args:
        contract: Contract number of the customer.

    Returns:
        `locked`: whether the meter has closed its valve; `unlock_code`: what the customer must type in then;
        `pressure` in millibar.
    """
    row = db["customers"].get(contract, {"locked": False})
    code = int(_code("", db["salt"], contract))
    result = {
        "locked": row["locked"],
        "unlock_code": str(code) if row["locked"] else None,
        "pressure": f"{code % 170 / 10 + 2:.1f}",
    }
    return {"db": db, "result": result}


@tool(effect="write")
def report_gas_interruption(db: dict[str, Any], postcode: str, contract: str, since: str) -> dict[str, Any]:
    """Report an interruption that is not known yet.

    Args:
        postcode: Postcode of the customer.
        contract: Contract number of the customer.
        since: Time since which there is no gas, as HH:MM.

    Returns:
        `ticket`: its number; `callback_at`: the time at which the control room calls, as HH:MM.
    """
    db["serial"] += 1
    ticket = _code("NI", db["serial"], postcode, contract, since)
    db["interruptions"][ticket] = {"postcode": postcode, "contract": contract, "since": since}
    return {
        "db": db,
        "result": {"ticket": ticket, "callback_at": f"{int(ticket[2:]) % 4 + 14}:{int(ticket[3:]) % 50 + 10}"},
    }
