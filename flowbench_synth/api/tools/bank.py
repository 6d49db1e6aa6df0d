"""The tools of a bank: tills of branches, entries of accounts, partners of payments."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def branch_profile(db: dict[str, Any], branch_id: str) -> dict[str, Any]:
    """Get a branch of the bank.

    Args:
        branch_id: Id of the branch.

    Returns:
        The branch: `id`, `town`, `cash` with `tolerance` (the difference that is put up with) and `reserve`.
    """
    return {"db": db, "result": db["branches"][branch_id]}


@tool(effect="read")
def tills_of_branch(db: dict[str, Any], branch_id: str) -> dict[str, Any]:
    """List the tills of a branch as they stand this evening.

    Args:
        branch_id: Id of the branch.

    Returns:
        `branch_id` and `tills`: each with `till_no`, `teller`, `opening`, `paid_in`, `paid_out` and `counted`: the
        cash that was counted, null if nobody has counted it.
    """
    return {"db": db, "result": {"branch_id": branch_id, "tills": db["tills"][branch_id]["rows"]}}


@tool(effect="read")
def account_entries(db: dict[str, Any], account_no: str, cursor: str | None) -> dict[str, Any]:
    """List the entries of an account, a page at a time.

    Args:
        account_no: Number of the account.
        cursor: Null for the first page, otherwise `next_cursor` of the page before.

    Returns:
        `entries`: each with `entry_no`, `booked_on`, `amount` (negative for what goes out), `partner_id` (null for
        cash over the counter); `next_cursor`, null on the last page.
    """
    rows = db["accounts"][account_no]["entries"]
    first = 0 if cursor is None else int(cursor[2:])
    last = first + 3
    return {"db": db, "result": {"entries": rows[first:last], "next_cursor": f"c-{last}" if last < len(rows) else None}}


@tool(effect="read")
def partner_profile(db: dict[str, Any], partner_id: str) -> dict[str, Any]:
    """Get what is known about the other side of payments.

    Args:
        partner_id: Id of the partner.

    Returns:
        The partner: `id`, `name`, `risk` (`low`, `medium` or `high`), `identified_on` (null if their papers have not
        been seen).
    """
    return {"db": db, "result": db["partners"][partner_id]}
