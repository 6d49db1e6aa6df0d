"""The tools of an insurer: claims in desks, listed in pages with a cursor."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_claims(db: dict[str, Any], desk_id: str, cursor: str | None = None) -> dict[str, Any]:
    """List the claims of a desk, the last updated first, four at a time.

    Args:
        desk_id: Id of the desk.
        cursor: Where to go on: `next_cursor` of the page before. Null for the first page.

    Returns:
        `claims` with `id`, `status` (open, waiting or closed), `claimant` with `name` and `company`, `adjuster` (may
        be null), `updated_on` and `due_on` (may be null); `next_cursor`, null on the last page.
    """
    rows = [row for row in db["claims"].values() if row["desk_id"] == desk_id]
    rows.sort(key=lambda row: row["id"])
    rows.sort(key=lambda row: row["updated_on"], reverse=True)
    start = 0 if cursor is None else 1 + [row["id"] for row in rows].index(cursor.removeprefix("after-"))
    page = rows[start : start + 4]
    following = f"after-{page[-1]['id']}" if start + 4 < len(rows) else None
    fields = ("id", "status", "claimant", "adjuster", "updated_on", "due_on")
    claims = [{field: row[field] for field in fields} for row in page]
    return {"db": db, "result": {"claims": claims, "next_cursor": following}}


@tool(effect="read")
def read_claim(db: dict[str, Any], claim_id: str) -> dict[str, Any]:
    """Get a claim by its id.

    Args:
        claim_id: Id of the claim.

    Returns:
        The claim: `id`, `desk_id`, `status`, `claimant` with `name` and `company`, `adjuster` (may be null),
        `updated_on`, `due_on` (may be null).
    """
    return {"db": db, "result": db["claims"][claim_id]}


@tool(effect="write")
def close_claim(db: dict[str, Any], claim_id: str, reason: str) -> dict[str, Any]:
    """Close a claim.

    Args:
        claim_id: Id of the claim.
        reason: Why it is closed; the claimant reads it.

    Returns:
        `claim_id`, `status`.
    """
    row = db["claims"][claim_id]
    row["status"] = "closed"
    db["closings"][claim_id] = {"reason": reason}
    return {"db": db, "result": {"claim_id": claim_id, "status": "closed"}}


@tool(effect="write")
def assign_claim(db: dict[str, Any], claim_id: str, adjuster: str) -> dict[str, Any]:
    """Assign a claim to an adjuster.

    Args:
        claim_id: Id of the claim.
        adjuster: Name of the adjuster.

    Returns:
        `claim_id`, `adjuster`.
    """
    db["claims"][claim_id]["adjuster"] = adjuster
    return {"db": db, "result": {"claim_id": claim_id, "adjuster": adjuster}}
