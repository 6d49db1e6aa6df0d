"""The tools of the invoice management."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def find_invoice(db: dict[str, Any], invoice: str) -> dict[str, Any]:
    """Look up an invoice that a supplier has sent.

    Args:
        invoice: Number of the invoice, such as INV-20417.

    Returns:
        `state`: `open`, `filed` or `missing`; `amount` and `currency` if it is open, `folder` if it is filed already,
        `clerk` in charge of lost invoices if it is missing.
    """
    row = db["invoices"].get(invoice)
    result: dict[str, Any] = {"state": "missing", "amount": None, "currency": None, "folder": None, "clerk": None}
    if row is None:
        result["clerk"] = db["clerks"][
            sum(place * ord(letter) for place, letter in enumerate(invoice, 7)) % len(db["clerks"])
        ]
    elif row["folder"]:
        result["state"] = "filed"
        result["folder"] = row["folder"]
    else:
        result["state"] = "open"
        result["amount"] = row["amount"]
        result["currency"] = row["currency"]
    return {"db": db, "result": result}


@tool(effect="read")
def check_cost_centre(db: dict[str, Any], invoice: str, cost_centre: str) -> dict[str, Any]:
    """Look whether the budget of a cost centre covers an open invoice.

    Args:
        invoice: Number of the invoice.
        cost_centre: Number of the cost centre, such as CC-310.

    Returns:
        `covered`; `controller`: the e-mail address of the person who decides if it is not covered.
    """
    row = db["cost_centres"].get(cost_centre)
    amount = db["invoices"].get(invoice, {}).get("amount") or 0
    covered = row is not None and row["budget"] >= amount
    address = row["controller"] if row else db["controlling"]
    return {"db": db, "result": {"covered": covered, "controller": None if covered else address}}


@tool(effect="write")
def file_invoice(db: dict[str, Any], invoice: str, cost_centre: str) -> dict[str, Any]:
    """Charge an open invoice to a cost centre and file it.

    Args:
        invoice: Number of the invoice.
        cost_centre: Number of the cost centre.

    Returns:
        `voucher`: the number of the booking voucher.
    """
    row = db["invoices"][invoice]
    voucher = (
        f"BV{sum(place * ord(letter) for place, letter in enumerate(invoice + cost_centre, 7)) * 53 % 90000 + 10000}"
    )
    row["folder"] = f"F-{voucher[2:4]}/{cost_centre[3:]}"
    db["cost_centres"][cost_centre]["budget"] -= row["amount"]
    db["vouchers"][voucher] = {"invoice": invoice, "cost_centre": cost_centre}
    return {"db": db, "result": {"voucher": voucher}}


@tool(effect="read")
def check_expense_rule(db: dict[str, Any], kind: str, amount: int) -> dict[str, Any]:
    """Look whether an expense is reimbursed.

    Args:
        kind: Kind of expense: travel, meal, books or equipment.
        amount: Amount in euros.

    Returns:
        `allowed`; `limit` in euros of this kind of expense if the amount exceeds it.
    """
    limit = db["limits"].get(kind, 0)
    return {"db": db, "result": {"allowed": amount <= limit, "limit": None if amount <= limit else limit}}


@tool(effect="read")
def find_employee_account(db: dict[str, Any], employee: str) -> dict[str, Any]:
    """Look up the bank account to which an employee's expenses are paid.

    Args:
        employee: Personnel number, E and four digits.

    Returns:
        `known`; `account`: the last four digits of the account, or `form`: the number of the form to hand in if no
        account is known.
    """
    account = db["accounts"].get(employee)
    form = (
        None
        if account
        else f"HR-{sum(place * ord(letter) for place, letter in enumerate(employee, 7)) * 7 % 900 + 100}"
    )
    return {"db": db, "result": {"known": account is not None, "account": account, "form": form}}


@tool(effect="write")
def pay_expense(db: dict[str, Any], employee: str, kind: str, amount: int) -> dict[str, Any]:
    """Pay an expense back to an employee.

    Args:
        employee: Personnel number.
        kind: Kind of expense.
        amount: Amount in euros.

    Returns:
        `payment`: the number of the payment; `day` on which it arrives, as YYYY-MM-DD.
    """
    number = db["payment_serial"] + 3
    payment = f"PY{number * 29 % 90000 + 10000}"
    db["payment_serial"] = number
    db["payments"][payment] = {"employee": employee, "kind": kind, "amount": amount}
    day = f"2026-04-{number % 20 + 8:02}"
    return {"db": db, "result": {"payment": payment, "day": day}}
