"""The tools of a travel expenses office."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_expense_report(db: dict[str, Any], report_id: str) -> dict[str, Any]:
    """Get an expense report.

    Args:
        report_id: Id of the report.

    Returns:
        The report: `id`, `traveller` with `name` and `band`, `days`, `expenses` with `number`, `category`, `amount` and
        `receipt` (null if it is missing).
    """
    return {"db": db, "result": {"id": report_id, **db["reports"][report_id]}}


@tool(effect="read")
def get_limits(db: dict[str, Any], band: str) -> dict[str, Any]:
    """Get the limits of a pay band.

    Args:
        band: The band.

    Returns:
        `band`, `limits` with `category` and `most`, the most for one expense. A category without a limit is not listed.
    """
    return {"db": db, "result": {"band": band, "limits": db["bands"][band]["limits"]}}


@tool(effect="write")
def pay_expenses(db: dict[str, Any], report_id: str, amount: float) -> dict[str, Any]:
    """Pay an expense report.

    Args:
        report_id: Id of the report.
        amount: The amount that is paid.

    Returns:
        `payment_id`, `amount`.
    """
    db["payment_number"] += 1
    payment_id = f"TX-{db['payment_number']}"
    db["payments"][payment_id] = {"report_id": report_id, "amount": amount}
    return {"db": db, "result": {"payment_id": payment_id, "amount": amount}}


@tool(effect="write")
def send_back(db: dict[str, Any], report_id: str, numbers: list[int], note: str) -> dict[str, Any]:
    """Send an expense report back to the traveller.

    Args:
        report_id: Id of the report.
        numbers: The numbers of the expenses that are not accepted.
        note: What is wrong with them.

    Returns:
        `report_id`, `state`.
    """
    db["returned"][report_id] = {"numbers": numbers, "note": note}
    return {"db": db, "result": {"report_id": report_id, "state": "returned"}}
