"""The tools of the financial assistant."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _number(*parts: Any) -> int:
    """A number below 90,000 that depends on every character of its parts."""
    total = 0
    for letter in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(letter)) % 90_000
    return total


def _desk(db: dict[str, Any], account: str) -> str:
    return db["desks"][_number(account) % len(db["desks"])]


def _price(db: dict[str, Any], currency: str, amount: int) -> float:
    """What an amount of foreign money costs in euros, with a fee of one percent, at least four euros."""
    plain = amount * db["rates"].get(currency, 0)
    return round(plain + max(4.0, plain / 100), 2)


@tool(effect="read")
def check_account_standing(db: dict[str, Any], account: str) -> dict[str, Any]:
    """Look whether an account can be used for orders.

    Args:
        account: Account number.

    Returns:
        `state`: `good`, `frozen` or `unknown`; `case`: number of the case for which the account is frozen; `desk`:
        extension of the desk for account numbers that are unknown.
    """
    row = db["accounts"].get(account)
    if row is None:
        return {"db": db, "result": {"state": "unknown", "case": None, "desk": _desk(db, account)}}
    state = "frozen" if row["case"] else "good"
    return {"db": db, "result": {"state": state, "case": row["case"], "desk": None}}


@tool(effect="read")
def quote_exchange(db: dict[str, Any], account: str, currency: str, amount: int) -> dict[str, Any]:
    """Compute what foreign money costs, with the fee, and whether the account has that much.

    Args:
        account: Account number.
        currency: Currency to buy, such as `USD`.
        amount: Amount in that currency.

    Returns:
        `covered`: whether the account has enough money; `price` in euros; `short`: the euros that are missing.
    """
    price = _price(db, currency, amount)
    balance = db["accounts"].get(account, {}).get("balance", 0)
    short = f"{price - balance:.2f}" if price > balance else None
    return {"db": db, "result": {"covered": short is None, "price": f"{price:.2f}", "short": short}}


@tool(effect="write")
def exchange_currency(db: dict[str, Any], account: str, currency: str, amount: int) -> dict[str, Any]:
    """Buy foreign money for an account; it is paid at once and kept at the counter.

    Args:
        account: Account number.
        currency: Currency to buy, such as `USD`.
        amount: Amount in that currency.

    Returns:
        `receipt` number, and `balance` of the account in euros after the purchase; both null if it was not made.
    """
    row = db["accounts"].get(account)
    price = _price(db, currency, amount)
    if row is None or row["case"] or amount <= 0 or price > row["balance"]:
        return {"db": db, "result": {"receipt": None, "balance": None}}
    row["balance"] = round(row["balance"] - price, 2)
    receipt = f"FX{_number(account, currency, amount, row['balance']) + 10_000}"
    db["exchanges"][receipt] = {"account": account, "currency": currency, "amount": amount, "price": price}
    return {"db": db, "result": {"receipt": receipt, "balance": f"{row['balance']:.2f}"}}


@tool(effect="read")
def check_withdrawal(db: dict[str, Any], account: str, amount: int) -> dict[str, Any]:
    """Look whether an amount of cash can be withdrawn from an account.

    Args:
        account: Account number.
        amount: Amount in euros.

    Returns:
        `state`: `allowed`, `too_much` or `unknown`; `most`: the largest amount that can be withdrawn if the state is
        `too_much`; `desk`: extension of the desk for account numbers that are unknown.
    """
    row = db["accounts"].get(account)
    if row is None:
        return {"db": db, "result": {"state": "unknown", "most": None, "desk": _desk(db, account)}}
    most = min(row["cash_limit"], int(row["balance"]))
    if amount > most:
        return {"db": db, "result": {"state": "too_much", "most": most, "desk": None}}
    return {"db": db, "result": {"state": "allowed", "most": None, "desk": None}}


@tool(effect="read")
def find_counter_time(db: dict[str, Any], branch: str, date: str, part: str) -> dict[str, Any]:
    """Find the first free time at the cash counter of a branch.

    Args:
        branch: Name of the branch.
        date: Day as YYYY-MM-DD.
        part: `morning` or `afternoon`.

    Returns:
        `time` as HH:MM, or null if there is none; `counter_phone`: phone number of the counter.
    """
    row = db["branches"].get(branch, {"phone": None, "free": {}})
    times = row["free"].get(f"{date} {part}", [])
    return {"db": db, "result": {"time": times[0] if times else None, "counter_phone": row["phone"]}}


@tool(effect="write")
def book_withdrawal(
    db: dict[str, Any], account: str, amount: int, branch: str, date: str, part: str, phone: str
) -> dict[str, Any]:
    """Book the first free time at the cash counter and set the money aside.

    Args:
        account: Account number.
        amount: Amount in euros.
        branch: Name of the branch.
        date: Day as YYYY-MM-DD.
        part: `morning` or `afternoon`.
        phone: Phone number of the customer.

    Returns:
        `voucher` to show at the counter, null if no time is free.
    """
    times = db["branches"].get(branch, {"free": {}})["free"].get(f"{date} {part}", [])
    if not times or account not in db["accounts"]:
        return {"db": db, "result": {"voucher": None}}
    time = times.pop(0)
    voucher = f"W{_number(account, amount, branch, date, time) + 10_000}"
    db["withdrawals"][voucher] = {
        "account": account,
        "amount": amount,
        "branch": branch,
        "at": f"{date} {time}",
        "phone": phone,
    }
    return {"db": db, "result": {"voucher": voucher}}


@tool(effect="write")
def request_counter_callback(
    db: dict[str, Any], account: str, amount: int, branch: str, date: str, part: str, phone: str
) -> dict[str, Any]:
    """Ask the branch to call the customer when a time at the cash counter becomes free.

    Args:
        account: Account number.
        amount: Amount in euros.
        branch: Name of the branch.
        date: Day as YYYY-MM-DD.
        part: `morning` or `afternoon`.
        phone: Phone number to call.

    Returns:
        `ticket` number of the request.
    """
    ticket = f"CB{_number(phone, account, branch, date, part) + 10_000}"
    db["callbacks"][ticket] = {
        "account": account,
        "amount": amount,
        "branch": branch,
        "wish": f"{date} {part}",
        "phone": phone,
    }
    return {"db": db, "result": {"ticket": ticket}}


@tool(effect="read")
def verify_account_holder(db: dict[str, Any], account: str, birth_date: str) -> dict[str, Any]:
    """Look whether a date of birth is that of the holder of an account.

    Args:
        account: Account number.
        birth_date: Date of birth as YYYY-MM-DD.

    Returns:
        `state`: `verified`, `mismatch` or `frozen`; `desk`: extension of the desk that settles a mismatch; `case`:
        number of the case for which the account is frozen.
    """
    row = db["accounts"].get(account)
    if row is None or row["birth_date"] != birth_date:
        return {"db": db, "result": {"state": "mismatch", "desk": _desk(db, account), "case": None}}
    state = "frozen" if row["case"] else "verified"
    return {"db": db, "result": {"state": state, "desk": None, "case": row["case"]}}


@tool(effect="read")
def read_closing_balance(db: dict[str, Any], account: str, month: str) -> dict[str, Any]:
    """Read the balance of an account at the end of a month.

    Args:
        account: Account number.
        month: English name of one of the last three months.

    Returns:
        `overdrawn`: whether the account was overdrawn; if not, `balance` in euros and `statement`: the number of the
        statement; if it was, `overdraft`: by how many euros.
    """
    balance = db["accounts"].get(account, {"closing": {}})["closing"].get(month)
    result: dict[str, Any] = {"overdrawn": False, "balance": balance, "statement": None, "overdraft": None}
    if balance is not None and balance < 0:
        result = {**result, "overdrawn": True, "balance": None, "overdraft": -balance}
    elif balance is not None:
        result["statement"] = f"S{_number(account, month, balance) + 10_000}"
    return {"db": db, "result": result}


@tool(effect="read")
def read_overdraft_interest(db: dict[str, Any], account: str, month: str) -> dict[str, Any]:
    """Compute the interest on an account that was overdrawn at the end of a month.

    Args:
        account: Account number.
        month: English name of one of the last three months.

    Returns:
        `interest` in euros, and `due`: the day on which it is charged, as YYYY-MM-DD.
    """
    balance = db["accounts"].get(account, {"closing": {}})["closing"].get(month, 0)
    interest = max(0.0, -balance) * 0.0095
    return {"db": db, "result": {"interest": f"{interest:.2f}", "due": f"2026-05-{14 + _number(account, month) % 15}"}}
