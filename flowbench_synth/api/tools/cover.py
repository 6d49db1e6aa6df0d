"""The tools of an insurer: motor policies and their renewal, household policies, losses."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def motor_policy(db: dict[str, Any], policy_no: str) -> dict[str, Any]:
    """Get a motor policy.

    Args:
        policy_no: Number of the policy, such as MV-48213.

    Returns:
        The policy: `policy_no`, `holder`, `plate`, `premium` with `yearly` and `instalments`, `losses_in_term` (the
        number of losses paid in the present term), `arrears` (null if nothing is owed) with `amount` and `since`,
        `cancelled_to` (the day to which the holder has cancelled it, null if not), `term_ends_on`.
    """
    return {"db": db, "result": db["motor"][policy_no]}


@tool(effect="write")
def renew_policy(db: dict[str, Any], policy_no: str, yearly_premium: float) -> dict[str, Any]:
    """Renew a motor policy by a year.

    Args:
        policy_no: Number of the policy.
        yearly_premium: The premium of the new term.

    Returns:
        `policy_no`, `document_no` of the new policy document, `mailed_on`.
    """
    db["last_document"] += 1
    document = f"D{db['last_document']}"
    db["documents"][document] = {"policy_no": policy_no, "yearly_premium": yearly_premium}
    result = {"policy_no": policy_no, "document_no": document, "mailed_on": db["motor"][policy_no]["term_ends_on"]}
    return {"db": db, "result": result}


@tool(effect="write")
def suspend_renewal(db: dict[str, Any], policy_no: str, remark: str) -> dict[str, Any]:
    """Keep a motor policy from being renewed until somebody has looked at it.

    Args:
        policy_no: Number of the policy.
        remark: Why.

    Returns:
        `policy_no`, `clerk`: who will look at it.
    """
    db["suspended"][policy_no] = {"remark": remark}
    return {"db": db, "result": {"policy_no": policy_no, "clerk": db["clerk"]}}


@tool(effect="read")
def losses_of_holder(db: dict[str, Any], holder_id: str) -> dict[str, Any]:
    """List the household losses of a policyholder.

    Args:
        holder_id: Id of the policyholder.

    Returns:
        `holder` with `id` and `name`; `losses`, the oldest first, each with `loss_no`, `policy_no`, `state` (`open`,
        `settled` or `withdrawn`), `happened_on` and `items`: each with `label`, `category` and `value`.
    """
    return {"db": db, "result": db["holders"][holder_id]}


@tool(effect="read")
def policy_terms(db: dict[str, Any], policy_no: str) -> dict[str, Any]:
    """Get the terms of a household policy.

    Args:
        policy_no: Number of the policy.

    Returns:
        `policy_no`, `tariff`, `valid` with `first_day` and `last_day` (null if it is open-ended), `coverages`: each
        with `category` (no two have the same), `limit` and `own_share` in percent.
    """
    return {"db": db, "result": db["terms"][policy_no]}
