"""The tools of a card issuer: transactions, mandates, disputes, provisional credits."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def get_card_dispute(db: dict[str, Any], dispute_no: str) -> dict[str, Any]:
    """Get the file of a dispute.

    Args:
        dispute_no: Number of the dispute, such as DP-40117.

    Returns:
        The file: `dispute_no`, `txn_ref`, `filed_on` (YYYY-MM-DD), `claim` with `amount` and `why` (`fraud`,
        `not_received`, `duplicate` or `faulty`), `merchant_reply` (null while the merchant is silent) with `stance`
        (`accepts` or `contests`) and `received_on`.
    """
    return {"db": db, "result": db["disputes"][dispute_no]}


@tool(effect="read")
def get_card_transaction(db: dict[str, Any], txn_ref: str) -> dict[str, Any]:
    """Get a transaction of a card.

    Args:
        txn_ref: Reference of the transaction.

    Returns:
        The transaction: `ref`, `card_token`, `booked_on` and `disputable_until` (YYYY-MM-DD), `amount`, `entry_mode`
        (`chip`, `contactless`, `online` or `phone`), `state` (`settled`, `pending` or `reversed`), `mandate_id` (null
        if it is not a charge on a mandate).
    """
    return {"db": db, "result": db["transactions"][txn_ref]}


@tool(effect="read")
def list_card_charges(db: dict[str, Any], card_token: str, cursor: str | None = None) -> dict[str, Any]:
    """List the charges of a card, a page at a time.

    Args:
        card_token: Token of the card.
        cursor: Where the page begins; null for the first page.

    Returns:
        `charges`, each with `ref`, `booked_on` (YYYY-MM-DD), `amount`, `state` (`settled`, `pending` or `reversed`)
        and `mandate_id` (null if it is not a charge on a mandate); `next_cursor`, null on the last page.
    """
    rows = [row for _, row in sorted(db["transactions"].items()) if row["card_token"] == card_token]
    start = 0 if cursor is None else int(cursor.split(".")[1])
    end = start + db["cards"][card_token]["page_size"]
    names = ("ref", "booked_on", "amount", "state", "mandate_id")
    charges = [{name: row[name] for name in names} for row in rows[start:end]]
    following = f"{card_token[-3:]}.{end}" if end < len(rows) else None
    return {"db": db, "result": {"charges": charges, "next_cursor": following}}


@tool(effect="read")
def get_charge_mandate(db: dict[str, Any], mandate_id: str) -> dict[str, Any]:
    """Get what a cardholder agreed to for recurring charges.

    Args:
        mandate_id: Id of the mandate.

    Returns:
        The mandate: `mandate_id`, `payee`, `ceiling` (the most that one charge may be), `cancelled_on` (YYYY-MM-DD,
        null while it is in force).
    """
    return {"db": db, "result": db["mandates"][mandate_id]}


@tool(effect="write")
def flag_card_charge(db: dict[str, Any], charge_ref: str, excess: float) -> dict[str, Any]:
    """Flag a charge as higher than agreed.

    Args:
        charge_ref: Reference of the charge.
        excess: The part of its amount that was not agreed.

    Returns:
        `flag_id`.
    """
    db["counter"] += 7
    flag_id = f"FL{db['counter']}"
    db["flags"][flag_id] = {"charge_ref": charge_ref, "excess": excess}
    return {"db": db, "result": {"flag_id": flag_id}}


@tool(effect="write")
def close_card_dispute(db: dict[str, Any], dispute_no: str, outcome: str) -> dict[str, Any]:
    """Close a dispute and write to the cardholder.

    Args:
        dispute_no: Number of the dispute.
        outcome: The outcome, `merchant_refunds` or `too_late`.

    Returns:
        `letter_id`: the letter to the cardholder; `outcome`.
    """
    db["counter"] += 3
    letter_id = f"LT{db['counter']}"
    db["letters"][letter_id] = {"dispute_no": dispute_no, "outcome": outcome}
    return {"db": db, "result": {"letter_id": letter_id, "outcome": outcome}}


@tool(effect="write")
def request_cardholder_proof(db: dict[str, Any], dispute_no: str, kind: str) -> dict[str, Any]:
    """Ask the cardholder for a document.

    Args:
        dispute_no: Number of the dispute.
        kind: The document, `signed_statement` or `receipt`.

    Returns:
        `request_id`, `kind`.
    """
    db["counter"] += 5
    request_id = f"RQ{db['counter']}"
    db["requests"][request_id] = {"dispute_no": dispute_no, "kind": kind}
    return {"db": db, "result": {"request_id": request_id, "kind": kind}}


@tool(effect="write")
def post_provisional_credit(db: dict[str, Any], card_token: str, amount: float, dispute_no: str) -> dict[str, Any]:
    """Credit a card until a dispute is settled.

    Args:
        card_token: Token of the card.
        amount: The amount.
        dispute_no: Number of the dispute.

    Returns:
        `credit_id`, `amount`.
    """
    db["counter"] += 4
    credit_id = f"CR{db['counter']}"
    db["credits"][credit_id] = {"card_token": card_token, "amount": amount, "dispute_no": dispute_no}
    return {"db": db, "result": {"credit_id": credit_id, "amount": amount}}
