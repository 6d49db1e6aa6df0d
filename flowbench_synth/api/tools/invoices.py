"""The tools of a receivables department: debtors, invoices, rates, holds."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_debtor(db: dict[str, Any], debtor_id: str) -> dict[str, Any]:
    """Get a debtor.

    Args:
        debtor_id: Id of the debtor, such as D-4417.

    Returns:
        `id`, `name`, `credit` with `limit` and `on_hold`, `country`.
    """
    return {"db": db, "result": db["debtors"][debtor_id]}


@tool(effect="read")
def list_invoices(db: dict[str, Any], debtor_id: str) -> dict[str, Any]:
    """List the invoices of a debtor by number.

    Args:
        debtor_id: Id of the debtor.

    Returns:
        `invoices`, each with `number`, `state` (`open`, `paid` or `void`), `amount`, `paid` (what was paid so far),
        `due_on`, `currency`.
    """
    shown = ("number", "state", "amount", "paid", "due_on", "currency")
    rows = [row for _, row in sorted(db["invoices"].items()) if row["debtor_id"] == debtor_id]
    return {"db": db, "result": {"invoices": [{name: row[name] for name in shown} for row in rows]}}


@tool(effect="read")
def get_invoice_lines(db: dict[str, Any], number: str) -> dict[str, Any]:
    """Get the lines of an invoice.

    Args:
        number: Number of the invoice.

    Returns:
        `number`, `lines` with `text`, `quantity`, `price` of one, `discount_percent` (null without a discount),
        `taxed`; `freight`: `net` and `free_from`.
    """
    row = db["invoices"][number]
    return {"db": db, "result": {"number": number, "lines": row["lines"], "freight": row["freight"]}}


@tool(effect="read")
def get_rate(db: dict[str, Any], currency: str) -> dict[str, Any]:
    """Get the rate at which a currency is booked.

    Args:
        currency: Code of the currency.

    Returns:
        `currency`, `per_euro`: how many units of it are one euro, `as_of`.
    """
    return {"db": db, "result": {"currency": currency, "per_euro": db["rates"][currency], "as_of": db["today"]}}


@tool(effect="read")
def ledger_day(db: dict[str, Any]) -> dict[str, Any]:
    """Get the day in the ledger.

    Returns:
        `today` as YYYY-MM-DD.
    """
    return {"db": db, "result": {"today": db["today"]}}


@tool(effect="write")
def put_on_hold(db: dict[str, Any], debtor_id: str, overdue: float) -> dict[str, Any]:
    """Put a debtor on hold: nothing more is delivered.

    Args:
        debtor_id: Id of the debtor.
        overdue: What is overdue.

    Returns:
        `hold_id`.
    """
    db["debtors"][debtor_id]["credit"]["on_hold"] = True
    db["hold_number"] += 1
    db["holds"][f"H{db['hold_number']}"] = {"debtor_id": debtor_id, "overdue": overdue}
    return {"db": db, "result": {"hold_id": f"H{db['hold_number']}"}}


@tool(effect="write")
def send_dunning(db: dict[str, Any], debtor_id: str, level: int) -> dict[str, Any]:
    """Send a dunning letter.

    Args:
        debtor_id: Id of the debtor.
        level: 1 to 3.

    Returns:
        `letter_id`.
    """
    db["hold_number"] += 1
    db["letters"][f"DL{db['hold_number']}"] = {"debtor_id": debtor_id, "level": level}
    return {"db": db, "result": {"letter_id": f"DL{db['hold_number']}"}}
