"""The tools of a plant's maintenance: spare parts in stores, jobs of a week."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_spare_parts(db: dict[str, Any], store: str) -> dict[str, Any]:
    """List the spare parts that a store carries, in the order of its shelves.

    Args:
        store: Id of the store.

    Returns:
        `parts` with `part_no`, `name`, `stock` with `on_hand` and `reserved`, `minimum`, `lot`: the number that is
        ordered at a time, `open_order` (the number of an order that is on its way, may be null).
    """
    names = ("part_no", "name", "stock", "minimum", "lot", "open_order")
    rows = sorted((row["shelf"], id) for id, row in db["parts"].items() if row["store"] == store)
    return {"db": db, "result": {"parts": [{name: db["parts"][id][name] for name in names} for _, id in rows]}}


@tool(effect="write")
def order_spare_part(db: dict[str, Any], part_no: str, quantity: int) -> dict[str, Any]:
    """Order a spare part.

    Args:
        part_no: Number of the part.
        quantity: How many.

    Returns:
        `order_no`, `supplier`.
    """
    number = f"PO{db['next_order']}"
    db["next_order"] += 1
    row = db["parts"][part_no]
    row["open_order"] = number
    db["orders"][number] = {"part_no": part_no, "quantity": quantity}
    return {"db": db, "result": {"order_no": number, "supplier": row["supplier"]}}


@tool(effect="read")
def list_jobs(db: dict[str, Any], week: str) -> dict[str, Any]:
    """List the maintenance jobs that are planned for a week.

    Args:
        week: The week, such as 2025-W07.

    Returns:
        `jobs` with `job_no`, `machine`, `craft`, `state` (planned, running or done), `needs`: the parts, each with
        `part_no` and `qty`; a job may need none.
    """
    rows = sorted(id for id, row in db["jobs"].items() if row["week"] == week)
    names = ("job_no", "machine", "craft", "state", "needs")
    return {"db": db, "result": {"jobs": [{name: db["jobs"][id][name] for name in names} for id in rows]}}


@tool(effect="write")
def reserve_part(db: dict[str, Any], part_no: str, job_no: str, quantity: int) -> dict[str, Any]:
    """Reserve pieces of a part for a job.

    Args:
        part_no: Number of the part.
        job_no: Number of the job.
        quantity: How many.

    Returns:
        `part_no`, `reserved`: the number reserved in all.
    """
    stock = db["parts"][part_no]["stock"]
    stock["reserved"] += quantity
    return {"db": db, "result": {"part_no": part_no, "reserved": stock["reserved"]}}
