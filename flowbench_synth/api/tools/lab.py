"""The tools of a clinical laboratory: fridges with samples, orders, runs of an analyser."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def fridge_samples(db: dict[str, Any], fridge_id: str) -> dict[str, Any]:
    """List the samples in a fridge.

    Args:
        fridge_id: Id of the fridge.

    Returns:
        `fridge` with `id` and `room`; `samples`, each with `barcode`, `material`, `drawn_on`, `order` with `no` and
        `state` (`waiting`, `measured`, `reported` or `cancelled`), `hold` (null if nobody wants it kept) with `by` and
        `note`.
    """
    return {"db": db, "result": db["fridges"][fridge_id]}


@tool(effect="write")
def dispose_sample(db: dict[str, Any], barcode: str, grounds: str) -> dict[str, Any]:
    """Record that a sample goes into the waste.

    Args:
        barcode: Barcode of the sample.
        grounds: Why.

    Returns:
        `barcode`, `protocol_no`.
    """
    db["last_protocol"] += 1
    number = f"W{db['last_protocol']}"
    db["waste"][number] = {"barcode": barcode, "grounds": grounds}
    return {"db": db, "result": {"barcode": barcode, "protocol_no": number}}


@tool(effect="read")
def lab_order(db: dict[str, Any], order_no: str) -> dict[str, Any]:
    """Get an order.

    Args:
        order_no: Number of the order.

    Returns:
        The order: `order_no`, `assay`, `ward`, `sample` with `barcode` and `backup_barcode`.
    """
    return {"db": db, "result": db["orders"][order_no]}


@tool(effect="write")
def start_run(db: dict[str, Any], barcode: str, assay: str) -> dict[str, Any]:
    """Put a sample on the analyser. The run goes on by itself.

    Args:
        barcode: Barcode of the sample.
        assay: What is measured.

    Returns:
        `run_id`, `slot`: its place on the analyser.
    """
    db["last_run"] += 1
    run_id = f"R{db['last_run']}"
    db["runs"][run_id] = {"barcode": barcode, "assay": assay, "aborted": False}
    return {"db": db, "result": {"run_id": run_id, "slot": f"S{db['last_run'] % 40}"}}


@tool(effect="read")
def run_state(db: dict[str, Any], run_id: str) -> dict[str, Any]:
    """Get the state of a run.

    Args:
        run_id: Id of the run.

    Returns:
        `run_id`, `phase` (`incubating`, `measuring`, `finished` or `error`), `reading` with `value` and `unit` (null
        until it has finished), `fault` with `code` and `module` (null unless there is an error).
    """
    tube = db["tubes"][db["runs"][run_id]["barcode"]]
    asked = db["clock"].get(run_id, 0) + 1
    db["clock"][run_id] = asked
    phase, reading, fault = "incubating" if 2 * asked < tube["takes"] else "measuring", None, None
    if asked >= tube["takes"]:
        phase = "finished" if tube["fault"] is None else "error"
        reading = tube["reading"] if tube["fault"] is None else None
        fault = tube["fault"]
    return {"db": db, "result": {"run_id": run_id, "phase": phase, "reading": reading, "fault": fault}}


@tool(effect="write")
def file_value(db: dict[str, Any], order_no: str, value: float, unit: str) -> dict[str, Any]:
    """Enter a measured value in the findings of an order.

    Args:
        order_no: Number of the order.
        value: The value.
        unit: Its unit.

    Returns:
        `order_no`, `finding_no`.
    """
    db["last_finding"] += 1
    number = f"F{db['last_finding']}"
    db["findings"][number] = {"order_no": order_no, "value": value, "unit": unit}
    return {"db": db, "result": {"order_no": order_no, "finding_no": number}}


@tool(effect="write")
def request_recollection(db: dict[str, Any], order_no: str, ward: str, fault_code: str) -> dict[str, Any]:
    """Ask a ward for a new sample.

    Args:
        order_no: Number of the order.
        ward: The ward.
        fault_code: The code of the fault of the analyser.

    Returns:
        `order_no`, `pickup_at`: when the new sample will be fetched, as HH:MM.
    """
    db["recollections"][order_no] = {"ward": ward, "fault_code": fault_code}
    return {"db": db, "result": {"order_no": order_no, "pickup_at": db["next_round"]}}


@tool(effect="write")
def abort_run(db: dict[str, Any], run_id: str) -> dict[str, Any]:
    """Stop a run that goes on.

    Args:
        run_id: Id of the run.

    Returns:
        `run_id`, `freed_slot`.
    """
    db["runs"][run_id]["aborted"] = True
    return {"db": db, "result": {"run_id": run_id, "freed_slot": f"S{int(run_id[1:]) % 40}"}}
