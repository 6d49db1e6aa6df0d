"""The tools of a town council: building applications, parcels, districts, extracts from the land register."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_permit_application(db: dict[str, Any], reference: str) -> dict[str, Any]:
    """Get a building application.

    Args:
        reference: Reference of the application, such as BA-20417.

    Returns:
        The application: `reference`, `purpose`, `applicant` with `name` and `email`, `parcel_id`, `floor_area` (square
        metres), `fee` with `amount` and `paid_on` (null until it is paid), `missing`: the documents that are not there,
        `officer`: who has it, null if nobody has it yet.
    """
    return {"db": db, "result": db["applications"][reference]}


@tool(effect="read")
def get_parcel(db: dict[str, Any], parcel_id: str) -> dict[str, Any]:
    """Get a parcel of land.

    Args:
        parcel_id: Id of the parcel.

    Returns:
        The parcel: `id`, `street`, `district` (a code), `heritage`: whether it is protected, `title_no`: its number in
        the land register.
    """
    return {"db": db, "result": db["parcels"][parcel_id]}


@tool(effect="read")
def get_district(db: dict[str, Any], code: str) -> dict[str, Any]:
    """Get a district of the town.

    Args:
        code: Code of the district.

    Returns:
        The district: `code`, `officer`: who decides on its applications, `board` with `chair` and `next_session`.
    """
    return {"db": db, "result": db["districts"][code]}


@tool(effect="write")
def ask_for_documents(db: dict[str, Any], reference: str, documents: list[str]) -> dict[str, Any]:
    """Ask the applicant for documents.

    Args:
        reference: Reference of the application.
        documents: The documents.

    Returns:
        `letter_no`, `reply_by`: the day until which they have to be there.
    """
    db["letters"][f"L{reference[3:]}D"] = {"reference": reference, "documents": documents}
    return {"db": db, "result": {"letter_no": f"L{reference[3:]}D", "reply_by": db["reply_by"]}}


@tool(effect="write")
def demand_fee(db: dict[str, Any], reference: str, amount: float) -> dict[str, Any]:
    """Send the applicant a demand for the fee.

    Args:
        reference: Reference of the application.
        amount: The amount.

    Returns:
        `letter_no`, `pay_by`: the day until which it has to be paid.
    """
    db["letters"][f"L{reference[3:]}F"] = {"reference": reference, "amount": amount}
    return {"db": db, "result": {"letter_no": f"L{reference[3:]}F", "pay_by": db["pay_by"]}}


@tool(effect="write")
def table_at_board(db: dict[str, Any], reference: str, session: str) -> dict[str, Any]:
    """Put an application on the agenda of a session of the board.

    Args:
        reference: Reference of the application.
        session: The day of the session.

    Returns:
        `reference`, `session`, `item`: its number on the agenda.
    """
    agenda = db["agendas"].setdefault(session, {"items": []})
    agenda["items"].append(reference)
    return {"db": db, "result": {"reference": reference, "session": session, "item": len(agenda["items"])}}


@tool(effect="write")
def hand_to_officer(db: dict[str, Any], reference: str, officer: str) -> dict[str, Any]:
    """Hand an application to an officer.

    Args:
        reference: Reference of the application.
        officer: The officer.

    Returns:
        `reference`, `officer`.
    """
    db["applications"][reference]["officer"] = officer
    return {"db": db, "result": {"reference": reference, "officer": officer}}


@tool(effect="write")
def order_extract(db: dict[str, Any], title_no: str) -> dict[str, Any]:
    """Order an extract from the land register.

    Args:
        title_no: Number of the title.

    Returns:
        `order_no`, `state`.
    """
    order = f"EX{title_no[2:]}"
    db["orders"][order] = {"title_no": title_no, "cancelled": False}
    return {"db": db, "result": {"order_no": order, "state": "queued"}}


@tool(effect="read")
def extract_state(db: dict[str, Any], order_no: str) -> dict[str, Any]:
    """Ask for the state of an order at the land register.

    Args:
        order_no: Number of the order.

    Returns:
        `order_no`, `state` (`queued`, `in_progress`, `ready` or `refused`), `reason`: why it was refused, else null.
    """
    title = db["titles"][db["orders"][order_no]["title_no"]]
    db["clock"]["polls"] += 1
    state = "queued" if db["clock"]["polls"] == 1 else "in_progress"
    reason = None
    if db["clock"]["polls"] >= title["takes"]:
        state = "ready" if title["refusal"] is None else "refused"
        reason = title["refusal"]
    return {"db": db, "result": {"order_no": order_no, "state": state, "reason": reason}}


@tool(effect="read")
def read_extract(db: dict[str, Any], order_no: str) -> dict[str, Any]:
    """Read an extract that is ready.

    Args:
        order_no: Number of the order.

    Returns:
        `title_no`, `owner` with `name` and `since`, `charges`: each with `creditor` and `amount`.
    """
    title = db["titles"][db["orders"][order_no]["title_no"]]
    result = {key: title[key] for key in ("title_no", "owner", "charges")}
    return {"db": db, "result": result}


@tool(effect="write")
def drop_order(db: dict[str, Any], order_no: str) -> dict[str, Any]:
    """Cancel an order at the land register.

    Args:
        order_no: Number of the order.

    Returns:
        `order_no`, `cancelled`.
    """
    db["orders"][order_no]["cancelled"] = True
    return {"db": db, "result": {"order_no": order_no, "cancelled": True}}
