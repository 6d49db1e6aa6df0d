"""The tools of a pharmacy that serves care homes: repeat prescriptions, charts of what was given, drugs."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_repeat_list(db: dict[str, Any], patient_no: str) -> dict[str, Any]:
    """Get the repeat prescriptions of a patient.

    Args:
        patient_no: Number of the patient.

    Returns:
        `patient_no`, `surgery`, `items`: each with `rx_no`, `drug`, `pack_size` (tablets), `days_left` (how long the
        supply lasts), `repeats_left`, `hold` (null, or an object of `by` and `note`).
    """
    row = db["patients"][patient_no]
    return {"db": db, "result": {"patient_no": patient_no, "surgery": row["surgery"], "items": row["items"]}}


@tool(effect="write")
def order_repeat(db: dict[str, Any], rx_no: str, tablets: int) -> dict[str, Any]:
    """Order the next supply on a repeat prescription.

    Args:
        rx_no: Number of the prescription.
        tablets: How many tablets.

    Returns:
        `order_no`, `tablets`.
    """
    db["counter"] += 6
    order_no = f"OR{db['counter']}"
    db["orders"][order_no] = {"rx_no": rx_no, "tablets": tablets}
    return {"db": db, "result": {"order_no": order_no, "tablets": tablets}}


@tool(effect="read")
def get_medicine_chart(db: dict[str, Any], patient_no: str) -> dict[str, Any]:
    """Get today's chart of a patient.

    Args:
        patient_no: Number of the patient.

    Returns:
        `patient_no`, `entries` by time: each with `at` (HH:MM), `drug_code`, `mg`, `outcome` (`given`, `refused` or
        `missed`) and `nurse` (null if it was missed).
    """
    return {"db": db, "result": {"patient_no": patient_no, "entries": db["patients"][patient_no]["chart"]}}


@tool(effect="read")
def get_drug_card(db: dict[str, Any], drug_code: str) -> dict[str, Any]:
    """Get what is known of a drug.

    Args:
        drug_code: Code of the drug.

    Returns:
        The drug: `drug_code`, `name`, `tablet_mg` (what is in one tablet), `daily_max_mg`, `shelf`.
    """
    return {"db": db, "result": db["drugs"][drug_code]}
