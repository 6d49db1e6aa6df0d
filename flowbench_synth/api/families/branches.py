"""Branches: what is done depends on a status, a limit, a date or an absent value, at a help desk and in billing."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Family, Sampler, World, integer, text
from flowbench_synth.api.drawing import any_of, company, day, fresh_ids, moment, person

SUBJECTS = ("Cannot log in", "Export is empty", "Wrong invoice", "Page is slow", "Password mail missing", "API error")


def tickets(random: Random) -> Database:
    """Seven tickets of four accounts, in two groups."""
    now = moment("2025-02-03T08:00", random.randrange(300_000))
    groups = {
        id: {
            "id": id,
            "name": name,
            "lead": person(random),
            "on_call": person(random),
            "queue": f"q-{name}-{random.randint(1, 9)}",
        }
        for id, name in zip(fresh_ids(random, "G", 3, 2), ("billing", "platform", "access"), strict=True)
    }
    accounts = {
        id: {
            "id": id,
            "company": company(random),
            "plan": random.choice(["free", "team", "enterprise"]),
            "success_manager": random.choice([None, person(random)]),
        }
        for id in fresh_ids(random, "A", 4, 4)
    }
    rows: dict[str, Any] = {}
    for id in fresh_ids(random, "T-", 7):
        assignee = random.choice([None, person(random)])
        rows[id] = {
            "id": id,
            "subject": random.choice(SUBJECTS),
            "state": "new" if assignee is None else random.choice(["open", "pending", "solved", "closed"]),
            "severity": random.choice(["low", "normal", "high", "critical"]),
            "requester": {"account_id": any_of(random, accounts)},
            "assignee": assignee,
            "group_id": any_of(random, groups),
            "due_at": random.choice([None, moment(now, random.randint(-3_000, 3_000))]),
            "reopened": random.randrange(4),
        }
    return {
        "now": now, "tickets": rows, "accounts": accounts, "groups": groups, "queues": {}, "pages": {},
        "comments": random.randrange(100, 900), "posted": {},
    }  # fmt: skip


TICKETS = World("tickets", tickets)


def ticket(plan: str | None = None, **fields: Any) -> Sampler:
    """Draws a ticket and sets fields of it; with the plan of its account."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["tickets"][any_of(random, db["tickets"])]
        row.update(fields)
        if plan is not None:
            db["accounts"][row["requester"]["account_id"]]["plan"] = plan
        return {"ticket_id": row["id"]}

    return drawn


def calm(random: Random, db: Database) -> dict[str, Any]:
    """A ticket that is not critical, of a customer without the plan enterprise."""
    severity = random.choice(["low", "normal", "high"])
    return ticket(random.choice(["free", "team"]), severity=severity)(random, db)


def noble(random: Random, db: Database) -> dict[str, Any]:
    return ticket("enterprise", severity=random.choice(["low", "normal", "high"]))(random, db)


ROUTE_TICKET = ApiTask(
    name="route_ticket",
    split="tune",
    world=TICKETS,
    precise=(
        "Route a ticket within its group. If its severity is `critical`, page the agent on call of the group, whatever "
        "the account's plan is, and answer `paged <agent>`. Otherwise, if the account of the requester has the plan "
        "`enterprise`, assign the ticket to the lead of the group and answer `assigned to <lead>`. Otherwise move it "
        "to the queue of the group and answer `queued in <queue> at <position>`."
    ),
    casual=(
        "route this one: critical -> page whoever is on call in its group ('paged <agent>'). else enterprise accounts "
        "go to the group's lead ('assigned to <lead>'), everybody else just goes in the group's queue "
        "('queued in <queue> at <position>')"
    ),
    inputs={"ticket_id": text("id of the ticket")},
    gold="""
        ticket = get_ticket(ticket_id=ticket_id)
        group = get_group(group_id=ticket["group_id"])
        if ticket["severity"] == "critical":
            page_agent(agent=group["on_call"], ticket_id=ticket_id)
            return f"paged {group['on_call']}"
        account = get_account(account_id=ticket["requester"]["account_id"])
        if account["plan"] == "enterprise":
            assign_ticket(ticket_id=ticket_id, assignee=group["lead"])
            return f"assigned to {group['lead']}"
        moved = move_to_queue(ticket_id=ticket_id, queue=group["queue"])
        return f"queued in {moved['queue']} at {moved['position']}"
    """,
    arms={"critical": ticket(severity="critical"), "enterprise": noble, "other": calm},
    tests_only={"critical_enterprise": ticket("enterprise", severity="critical")},
)


def late(random: Random, db: Database) -> dict[str, Any]:
    due = moment(db["now"], -random.randint(1, 2_000))
    return ticket(due_at=due, state=random.choice(["new", "open", "pending"]))(random, db)


def in_time(random: Random, db: Database) -> dict[str, Any]:
    due = moment(db["now"], random.randint(1, 2_000))
    return ticket(due_at=due, state=random.choice(["new", "open", "pending"]))(random, db)


def done(random: Random, db: Database) -> dict[str, Any]:
    due = moment(db["now"], random.randint(-2_000, 2_000))
    return ticket(due_at=due, state=random.choice(["solved", "closed"]))(random, db)


def due_now(random: Random, db: Database) -> dict[str, Any]:
    return ticket(due_at=db["now"], state="open")(random, db)


PROMISE_KEPT = ApiTask(
    name="promise_kept",
    split="tune",
    world=TICKETS,
    precise=(
        "Tell whether the time promised for a ticket has passed. Answer with an object of `ticket` (its id), `verdict` "
        "and `due` (its `due_at`, as it is). The verdict is `done` if the ticket is solved or closed, otherwise "
        "`no promise` if it has no time, `late` if its time is before the present time of the desk, and `in time` if "
        "it is not."
    ),
    casual=(
        "did we blow the deadline on this ticket? {ticket: id, verdict, due}. verdict: done when it's solved/closed, "
        "'no promise' when there's no due time, late when the due time is before the desk's current time, "
        "else 'in time'"
    ),
    inputs={"ticket_id": text("id of the ticket")},
    gold="""
        ticket = get_ticket(ticket_id=ticket_id)
        if ticket["state"] == "solved" or ticket["state"] == "closed":
            verdict = "done"
        elif ticket["due_at"] is None:
            verdict = "no promise"
        else:
            clock = desk_time()
            verdict = "late" if ticket["due_at"] < clock["now"] else "in time"
        return {"ticket": ticket_id, "verdict": verdict, "due": ticket["due_at"]}
    """,
    arms={"late": late, "in_time": in_time, "done": done, "no_promise": ticket(due_at=None, state="pending")},
    tests_only={"due_now": due_now},
)


def follow(random: Random, db: Database) -> dict[str, Any]:
    note = f"{random.choice(['Called', 'Mailed', 'Met'])} them on {day('2025-03-01', random.randrange(300))}."
    return {"note": note}


def nobody(random: Random, db: Database) -> dict[str, Any]:
    return {**ticket(assignee=None, state="new")(random, db), **follow(random, db)}


def somebody(random: Random, db: Database) -> dict[str, Any]:
    state = random.choice(["open", "pending", "solved"])
    return {**ticket(assignee=person(random), state=state)(random, db), **follow(random, db)}


def shut(random: Random, db: Database) -> dict[str, Any]:
    return {**ticket(assignee=person(random), state="closed")(random, db), **follow(random, db)}


def shut_unassigned(random: Random, db: Database) -> dict[str, Any]:
    return {**ticket(assignee=None, state="closed")(random, db), **follow(random, db)}


NOTE_ON_TICKET = ApiTask(
    name="note_on_ticket",
    split="report",
    world=TICKETS,
    precise=(
        "Leave the given note on a ticket as a comment that the customer does not see. Before that, a ticket without "
        "an assignee is assigned to the lead of its group. A closed ticket is left alone: answer with null `comment` "
        "and null `owner`. Otherwise answer with an object of `comment`, the id of the comment, and `owner`, the agent "
        "who has the ticket afterwards."
    ),
    casual=(
        "put my note on the ticket as an internal comment; if nobody has the ticket give it to the lead of its group "
        "first. don't touch closed ones (comment and owner null then). reply {comment: id, owner: whoever has it now}"
    ),
    inputs={"ticket_id": text("id of the ticket"), "note": text("the note")},
    gold="""
        ticket = get_ticket(ticket_id=ticket_id)
        if ticket["state"] == "closed":
            return {"comment": None, "owner": None}
        owner = ticket["assignee"]
        if ticket["assignee"] is None:
            group = get_group(group_id=ticket["group_id"])
            owner = group["lead"]
            assign_ticket(ticket_id=ticket_id, assignee=owner)
        posted = add_comment(ticket_id=ticket_id, body=note, public=False)
        return {"comment": posted["comment_id"], "owner": owner}
    """,
    arms={"unassigned": nobody, "assigned": somebody, "closed": shut},
    tests_only={"closed_unassigned": shut_unassigned},
)

PLANS = ("solo", "crew", "fleet")


def plans(random: Random) -> Database:
    """Six subscriptions to three plans."""
    today = day("2025-01-02", random.randrange(340))
    most_seats = [random.randint(5, 9), random.randint(20, 40), random.randint(100, 200)]
    listed: dict[str, Any] = {
        code: {
            "code": code,
            "title": code.title(),
            "seat_price": random.randrange(400, 3_000) / 100,
            "max_seats": most,
            "next_plan": following,
        }
        for code, most, following in zip(PLANS, most_seats, ("crew", "fleet", None), strict=True)
    }
    coupons: dict[str, Any] = {}
    for code in fresh_ids(random, "SAVE", 4, 3):
        kind = random.choice(["percent", "amount"])
        value = random.choice([5, 10, 15, 20]) if kind == "percent" else random.choice([3, 6, 9])
        coupons[code] = {"code": code, "kind": kind, "value": value, "expires_on": day(today, random.randint(-60, 60))}
    rows: dict[str, Any] = {}
    for id in fresh_ids(random, "SUB-", 6):
        code = random.choice(PLANS)
        rows[id] = {
            "id": id,
            "plan_code": code,
            "seats": random.randint(2, listed[code]["max_seats"]),
            "term": {
                "started_on": day(today, -random.randint(30, 900)),
                "bound_until": random.choice([None, day(today, random.randint(-200, 200))]),
            },
            "billing": {
                "balance": random.choice([0.0, 0.0, random.randrange(100, 20_000) / 100]),
                "coupon_code": random.choice([None, any_of(random, coupons)]),
            },
            "state": "active",
            "owner": person(random),
        }
    approver = {"name": person(random), "limit": random.choice([300.0, 400.0, 500.0])}
    return {
        "today": today, "plans": listed, "coupons": coupons, "subscriptions": rows, "approver": approver,
        "approvals": {},
    }  # fmt: skip


PLAN_WORLD = World("plans", plans)
REASONS = ("too expensive", "moving to a competitor", "project ended", "not used")


def leaving(bound: Sequence[int | None], owed: bool) -> Sampler:
    """Draws a subscription to cancel: `bound` are the days until the minimum term ends, None without one."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["subscriptions"][any_of(random, db["subscriptions"])]
        days = random.choice(bound)
        row["term"]["bound_until"] = None if days is None else day(db["today"], days)
        row["billing"]["balance"] = random.randrange(100, 20_000) / 100 if owed else 0.0
        return {"subscription_id": row["id"], "reason": random.choice(REASONS)}

    return drawn


def owes_little(random: Random, db: Database) -> dict[str, Any]:
    inputs = leaving(BEHIND, True)(random, db)
    db["subscriptions"][inputs["subscription_id"]]["billing"]["balance"] = random.randrange(1, 99) / 100
    return inputs


AHEAD, BEHIND = range(1, 200), (*range(-200, 0), None)
END_SUBSCRIPTION = ApiTask(
    name="end_subscription",
    split="report",
    world=PLAN_WORLD,
    precise=(
        "Cancel a subscription for the given reason if that may be done. It may not while its minimum term lasts: if "
        "`bound_until` is after today, answer with `cancelled` false, `why` the text `bound until <bound_until>` and "
        "`ends_on` null. It may not while money is owed: then `why` is `owes <balance>`. Otherwise cancel it and "
        "answer with `cancelled` true, `why` null and `ends_on` from the confirmation. The term is looked at first."
    ),
    casual=(
        "customer wants out. cancel with their reason unless they're still bound (bound_until later than today: "
        "{cancelled: false, why: 'bound until <date>', ends_on: null}) or owe us something (why: 'owes <balance>'), "
        "check the term first. if it worked: {cancelled: true, why: null, ends_on: <from the confirmation>}"
    ),
    inputs={"subscription_id": text("id of the subscription"), "reason": text("the customer's reason")},
    gold="""
        subscription = get_subscription(subscription_id=subscription_id)
        until = subscription["term"]["bound_until"]
        if until is not None:
            now = billing_day()
            if until > now["today"]:
                return {"cancelled": False, "why": f"bound until {until}", "ends_on": None}
        if subscription["billing"]["balance"] > 0:
            return {"cancelled": False, "why": f"owes {subscription['billing']['balance']}", "ends_on": None}
        ended = cancel_subscription(subscription_id=subscription_id, reason=reason)
        return {"cancelled": True, "why": None, "ends_on": ended["ends_on"]}
    """,
    arms={
        "bound": leaving(AHEAD, False),
        "free": leaving((None,), False),
        "owes": leaving(BEHIND, True),
        "past": leaving(range(-200, 0), False),
    },
    tests_only={"bound_and_owes": leaving(AHEAD, True), "last_day": leaving((0,), False), "owes_little": owes_little},
)


def growing(low: float, high: float, fits: bool = True) -> Sampler:
    """Draws a subscription and a number of seats whose extra price is between limits, or which the plan has not."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["subscriptions"][any_of(random, db["subscriptions"])]
        plan = db["plans"][row["plan_code"]]
        row["seats"] = random.randint(2, plan["max_seats"] - 2)
        more = random.randint(row["seats"] + 1, plan["max_seats"])
        plan["seat_price"] = round(random.uniform(low, high) / (more - row["seats"]), 3)
        seats = more if fits else plan["max_seats"] + random.randint(1, 30)
        return {"subscription_id": row["id"], "seats": seats}

    return drawn


def above_limit(random: Random, db: Database) -> dict[str, Any]:
    inputs = at_limit(random, db)
    row = db["subscriptions"][inputs["subscription_id"]]
    row["seats"] = inputs["seats"] - 1
    db["plans"][row["plan_code"]]["seat_price"] = 200 + random.randrange(5, 95) / 100
    return inputs


def at_limit(random: Random, db: Database) -> dict[str, Any]:
    inputs = growing(50, 60)(random, db)
    row = db["subscriptions"][inputs["subscription_id"]]
    row["seats"] = inputs["seats"] - 1 if random.random() < 0.5 else inputs["seats"] - 2
    db["plans"][row["plan_code"]]["seat_price"] = 200.0 / (inputs["seats"] - row["seats"])
    return inputs


def to_the_last_seat(random: Random, db: Database) -> dict[str, Any]:
    inputs = growing(50, 60)(random, db)
    row = db["subscriptions"][inputs["subscription_id"]]
    return {**inputs, "seats": db["plans"][row["plan_code"]]["max_seats"]}


MORE_SEATS = ApiTask(
    name="more_seats",
    split="tune",
    world=PLAN_WORLD,
    precise=(
        "Raise the number of seats of a subscription to the given number. If the plan does not allow that many, change "
        "nothing and answer with `done` false and `hint` the code of the next plan (null for the largest). The extra "
        "price is the number of added seats times the plan's seat price, rounded to two decimals. If it is more than "
        "200, ask for approval first, with the subscription's id as the subject; without consent change nothing and "
        "answer with `done` false and `hint` the approver's note. Otherwise change the seats and answer with `done` "
        "true and `hint` null."
    ),
    casual=(
        "bump the subscription to that many seats. plan too small -> {done: false, hint: code of the next plan}. if "
        "the added seats cost more than 200 a month (2 decimals) get approval first, subject = subscription id; when "
        "they say no -> {done: false, hint: their note}. all good -> {done: true, hint: null}"
    ),
    inputs={"subscription_id": text("id of the subscription"), "seats": integer("the new number of seats")},
    gold="""
        subscription = get_subscription(subscription_id=subscription_id)
        plan = get_plan(code=subscription["plan_code"])
        if seats > plan["max_seats"]:
            return {"done": False, "hint": plan["next_plan"]}
        extra = round((seats - subscription["seats"]) * plan["seat_price"], 2)
        if extra > 200:
            asked = request_approval(subject=subscription_id, amount=extra)
            if not asked["approved"]:
                return {"done": False, "hint": asked["note"]}
        change_seats(subscription_id=subscription_id, seats=seats)
        return {"done": True, "hint": None}
    """,
    arms={
        "small": growing(20, 190),
        "approved": growing(205, 299),
        "denied": growing(505, 900),
        "too_many": growing(20, 190, fits=False),
    },
    tests_only={"at_the_limit": at_limit, "above_the_limit": above_limit, "last_seat": to_the_last_seat},
)


def coupon(kind: str | None, days: int = 5) -> Sampler:
    """Draws a subscription with a coupon of a kind that is valid for some days more; without one if it is None."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["subscriptions"][any_of(random, db["subscriptions"])]
        code = any_of(random, db["coupons"])
        row["billing"]["coupon_code"] = None if kind is None else code
        left = random.randint(1, days) if days > 0 else -random.randint(1, -days) if days < 0 else 0
        value = random.choice([5, 10, 15, 20]) if kind == "percent" else random.choice([3, 6, 9])
        db["coupons"][code].update(kind=kind or "amount", value=value, expires_on=day(db["today"], left))
        return {"subscription_id": row["id"]}

    return drawn


def expired(random: Random, db: Database) -> dict[str, Any]:
    return coupon(random.choice(["percent", "amount"]), -40)(random, db)


NEXT_CHARGE = ApiTask(
    name="next_charge",
    split="report",
    world=PLAN_WORLD,
    precise=(
        "Compute the next charge of a subscription: seats times the plan's seat price. A coupon that has not expired "
        "(it is valid on the day of `expires_on`, too) lowers it: by `value` percent, or by the amount `value`, "
        "depending on its kind. Answer with an object of `charge`, rounded to two decimals, and `coupon`: the code of "
        "the coupon that was used, null if none was."
    ),
    casual=(
        "what will we charge next for this sub? seats x seat price, minus the coupon if there is one and it hasn't run "
        "out (expires_on itself still counts) - percent off or a flat amount. {charge, coupon}, charge with 2 "
        "decimals, coupon = code if we used it else null"
    ),
    inputs={"subscription_id": text("id of the subscription")},
    gold="""
        subscription = get_subscription(subscription_id=subscription_id)
        plan = get_plan(code=subscription["plan_code"])
        charge = subscription["seats"] * plan["seat_price"]
        code = subscription["billing"]["coupon_code"]
        used = None
        if code is not None:
            coupon = get_coupon(code=code)
            now = billing_day()
            if coupon["expires_on"] >= now["today"]:
                used = code
                if coupon["kind"] == "percent":
                    charge = charge * (100 - coupon["value"]) / 100
                else:
                    charge = charge - coupon["value"]
        return {"charge": round(charge, 2), "coupon": used}
    """,
    arms={"none": coupon(None), "percent": coupon("percent"), "amount": coupon("amount"), "expired": expired},
    tests_only={"last_day": coupon("percent", 0)},
)

FAMILY = Family(
    "branches",
    "branches on a status, a limit, a date or an absent value",
    (ROUTE_TICKET, PROMISE_KEPT, NOTE_ON_TICKET, END_SUBSCRIPTION, MORE_SEATS, NEXT_CHARGE),
)
