"""The tools of the food delivery service."""

from __future__ import annotations

from typing import Any

from flowmind import tool


def _code(prefix: str, *parts: Any) -> str:
    total = 0
    for character in "/".join(str(part) for part in parts):
        total = (total * 31 + ord(character)) % 900_001
    return f"{prefix}{total % 90_000 + 10_000}"


@tool(effect="read")
def find_meal_order(db: dict[str, Any], order: str) -> dict[str, Any]:
    """Look up whether an order can be rated.

    Args:
        order: Number of the order.

    Returns:
        `state`: `delivered`; `rated` if the customer has rated it; or `cancelled`; the `kitchen` that cooked it; the
        number of the `earlier_answer` if it is rated; the number of the `refund` if it is cancelled.
    """
    row = db["orders"].get(order)
    if row is None:
        row = {"state": "cancelled", "kitchen": None, "number": _code("RF", db["salt"], order)}
    result = {
        "state": row["state"],
        "kitchen": row["kitchen"],
        "earlier_answer": row["number"] if row["state"] == "rated" else None,
        "refund": row["number"] if row["state"] == "cancelled" else None,
    }
    return {"db": db, "result": result}


@tool(effect="read")
def find_questionnaire(db: dict[str, Any], kitchen: str, topic: str) -> dict[str, Any]:
    """Find the questionnaire on a topic for a kitchen.

    Args:
        kitchen: Name of the kitchen.
        topic: Topic: `taste`, `packaging`, `courier` or `punctuality`.

    Returns:
        `running`; `form`: its number, or that of the next one; `closes_on`: its last day, if it is running; `opens_on`:
        the day of the next one if not.
    """
    row = db["questionnaires"].get(f"{kitchen}/{topic}")
    running = row is not None and row["running"]
    result = {
        "running": running,
        "form": row["form"] if row else db["next_form"],
        "closes_on": row["day"] if row and running else None,
        "opens_on": None if running else (row["day"] if row else db["next_round"]),
    }
    return {"db": db, "result": result}


@tool(effect="write")
def submit_questionnaire(db: dict[str, Any], order: str, topic: str, stars: int, improvement: str) -> dict[str, Any]:
    """Submit the answers of a customer. A customer who is not content can be called back.

    Args:
        order: Number of the order.
        topic: Topic: `taste`, `packaging`, `courier` or `punctuality`.
        stars: Number of stars, from 1 to 5.
        improvement: What should change first, such as `larger portions`.

    Returns:
        `answer`: its number, or None if the order cannot be rated; `points` that the customer earns; `complaint`:
        whether the answers are a complaint.
    """
    row = db["orders"].get(order)
    if row is None or row["state"] != "delivered":
        return {"db": db, "result": {"answer": None, "points": None, "complaint": False}}
    db["serial"] += 1
    answer = _code("QA", db["serial"], order, topic, stars, improvement)
    row["state"] = "rated"
    row["number"] = answer
    db["answers"][answer] = {"order": order, "topic": topic, "stars": stars, "improvement": improvement}
    return {"db": db, "result": {"answer": answer, "points": int(answer[2:]) % 170 + 30, "complaint": stars <= 2}}


@tool(effect="write")
def open_meal_complaint(db: dict[str, Any], order: str, topic: str, stars: int, improvement: str) -> dict[str, Any]:
    """Open a complaint for answers of a customer who is not content.

    Args:
        order: Number of the order.
        topic: Topic: `taste`, `packaging`, `courier` or `punctuality`.
        stars: Number of stars, from 1 to 5.
        improvement: What should change first, such as `larger portions`.

    Returns:
        `complaint`: its number; `call_at`: when the manager calls, as `YYYY-MM-DD HH:MM`.
    """
    db["serial"] += 1
    complaint = _code("CP", db["serial"], order, topic, stars)
    call_at = f"2026-08-{int(complaint[2:]) % 5 + 19} {int(complaint[3:]) % 9 + 9:02}:{int(complaint[4:]) % 5 + 1}5"
    db["complaints"][complaint] = {
        "order": order,
        "topic": topic,
        "stars": stars,
        "improvement": improvement,
        "call_at": call_at,
    }
    return {"db": db, "result": {"complaint": complaint, "call_at": call_at}}


@tool(effect="read")
def check_voucher_claim(db: dict[str, Any], account: str, occasion: str) -> dict[str, Any]:
    """Look whether a customer may have a voucher for an occasion.

    Args:
        account: Number of the customer's account.
        occasion: Occasion: `birthday`, `late delivery`, `loyalty` or `referral`.

    Returns:
        `state`: `allowed`, `used` or `blocked`; the `amount`, and the number of the `offer`, if it is allowed; the
        earlier voucher `used_voucher`, and `again_from`: the day from which there is another, if it is used.
    """
    row = db["accounts"].get(account, {"claims": {}})["claims"].get(occasion, {"state": "blocked"})
    allowed, used = row["state"] == "allowed", row["state"] == "used"
    result = {
        "state": row["state"],
        "amount": row["amount"] if allowed else None,
        "offer": _code("VO", db["salt"], account, occasion) if allowed else None,
        "used_voucher": row["voucher"] if used else None,
        "again_from": row["day"] if used else None,
    }
    return {"db": db, "result": result}


@tool(effect="read")
def explain_voucher_block(db: dict[str, Any], account: str, occasion: str) -> dict[str, Any]:
    """Explain why a customer may not have a voucher.

    Args:
        account: Number of the customer's account.
        occasion: Occasion: `birthday`, `late delivery`, `loyalty` or `referral`.

    Returns:
        `missing_points`: how many points the customer lacks; `review_case`: the number under which the case can be
        reviewed.
    """
    points = db["accounts"].get(account, {"points": 0})["points"]
    needed = db["points_needed"].get(occasion, 900)
    result = {"missing_points": max(needed - points, 0), "review_case": _code("VR", db["salt"], account, occasion)}
    return {"db": db, "result": result}


@tool(effect="write")
def issue_food_voucher(db: dict[str, Any], account: str, occasion: str, email: str) -> dict[str, Any]:
    """Issue a voucher and send it by e-mail, while the month's budget lasts.

    Args:
        account: Number of the customer's account.
        occasion: Occasion: `birthday`, `late delivery`, `loyalty` or `referral`.
        email: E-mail address to which it goes.

    Returns:
        `issued`; the number of the `voucher` if it is issued; `queue_number` for the next month if the budget is spent.
    """
    row = db["accounts"].get(account, {"claims": {}})["claims"].get(occasion, {"state": "blocked"})
    if row["state"] != "allowed":
        return {"db": db, "result": {"issued": False, "voucher": None, "queue_number": None}}
    db["serial"] += 1
    request = {"account": account, "occasion": occasion, "email": email}
    if db["budgets"].get(occasion, 0) < row["amount"]:
        queue_number = _code("WQ", db["serial"], account, occasion, email)
        db["queue"][queue_number] = request
        return {"db": db, "result": {"issued": False, "voucher": None, "queue_number": queue_number}}
    voucher = _code("FV", db["serial"], account, occasion, email)
    db["budgets"][occasion] -= row["amount"]
    row["state"] = "used"
    row["voucher"] = voucher
    db["vouchers"][voucher] = request
    return {"db": db, "result": {"issued": True, "voucher": voucher, "queue_number": None}}


@tool(effect="read")
def find_voucher_terms(db: dict[str, Any], voucher: str) -> dict[str, Any]:
    """Look up the terms of a voucher.

    Args:
        voucher: Number of an issued voucher.

    Returns:
        `minimum`: the lowest price of an order for which it counts; `valid_until`: its last day. None if it is unknown.
    """
    if voucher not in db["vouchers"]:
        return {"db": db, "result": {"minimum": None, "valid_until": None}}
    value = int(voucher[2:])
    return {"db": db, "result": {"minimum": value % 17 + 14, "valid_until": f"2026-{value % 3 + 10}-{value % 19 + 10}"}}
