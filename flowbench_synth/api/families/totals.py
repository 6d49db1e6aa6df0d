"""Totals: amounts and hours are added up under conditions, and what follows from the sum is done."""

from __future__ import annotations

from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Family, Sampler, World, text
from flowbench_synth.api.drawing import any_of, company, day, fresh_id, fresh_ids, person

WARES = ("pump", "seal kit", "hose", "bracket", "sensor", "cable", "gasket", "manual")
CURRENCIES = ("EUR", "USD", "CHF", "SEK")


def line(random: Random) -> dict[str, Any]:
    """A line of an invoice."""
    return {
        "text": random.choice(WARES),
        "quantity": random.randint(1, 9),
        "price": random.randrange(150, 9_000) / 100,
        "discount_percent": random.choice([None, 5, 10, 20]),
        "taxed": random.random() < 0.7,
    }


def invoices(random: Random) -> Database:
    """Three debtors with eight invoices."""
    today = day("2025-03-01", random.randrange(250))
    debtors = {
        id: {
            "id": id,
            "name": company(random),
            "credit": {"limit": random.randrange(10, 40) * 50, "on_hold": False},
            "country": random.choice(["NO", "CH", "US", "NL"]),
        }
        for id in fresh_ids(random, "D-", 3, 4)
    }
    rows: dict[str, Any] = {}
    for count, number in enumerate(fresh_ids(random, "INV", 8, 6)):
        amount = random.randrange(5_000, 90_000) / 100
        rows[number] = {
            "number": number,
            "debtor_id": sorted(debtors)[count % 3],
            "state": random.choice(["open", "open", "paid", "void"]),
            "amount": amount,
            "paid": random.choice([0.0, round(amount / 4, 2)]),
            "due_on": day(today, random.randint(-60, 60)),
            "currency": random.choice(CURRENCIES),
            "lines": [line(random) for _ in range(random.randint(1, 3))],
            "freight": {"net": random.choice([9.5, 14.0, 22.75]), "free_from": random.choice([200, 300, 500])},
        }
    rates = {"EUR": 1.0, **{code: random.randrange(80, 1_200) / 100 for code in CURRENCIES[1:]}}
    return {
        "today": today, "debtors": debtors, "invoices": rows, "rates": rates, "holds": {}, "letters": {},
        "hold_number": random.randrange(100, 900),
    }  # fmt: skip


INVOICES = World("invoices", invoices)


def debts(over: float | None) -> Sampler:
    """Draws a debtor whose overdue sum is that share of the credit limit; without anything overdue if it is None."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        debtor = any_of(random, db["debtors"])
        rows = [row for row in db["invoices"].values() if row["debtor_id"] == debtor]
        for row in rows[1:]:
            kind = random.randrange(4)
            row["state"] = ("open", "paid", "void", "open")[kind]
            row["due_on"] = day(db["today"], random.randint(0, 40) if kind == 0 else -random.randint(1, 90))
        first = rows[0]
        first.update(state="open", due_on=day(db["today"], -random.randint(1, 30) if over else random.choice([0, 9])))
        if over is None:
            for row in rows[1:]:
                row["due_on"] = day(db["today"], random.choice([0, random.randint(1, 40)]))
        due = [row for row in rows if row["state"] == "open" and row["due_on"] < db["today"]]
        total = round(sum(row["amount"] - row["paid"] for row in due), 2)
        limit = round(total / over, 2) if over else db["debtors"][debtor]["credit"]["limit"]
        db["debtors"][debtor]["credit"]["limit"] = limit
        return {"debtor_id": debtor}

    return drawn


def owes_little(random: Random, db: Database) -> dict[str, Any]:
    inputs = debts(None)(random, db)
    rows = [row for row in db["invoices"].values() if row["debtor_id"] == inputs["debtor_id"]]
    amount = rows[0]["amount"]
    rows[0].update(due_on=day(db["today"], -3), paid=round(amount - random.randint(1, 90) / 100, 2))
    return inputs


HOLD_DEBTOR = ApiTask(
    name="hold_debtor",
    split="tune",
    world=INVOICES,
    precise=(
        "Add up what a debtor owes on overdue invoices: the amount less what was paid, over the open invoices that "
        "were due before today, rounded to two decimals. If the sum is more than the debtor's credit limit, put the "
        "debtor on hold with the sum. Otherwise, if the sum is more than 0, send a dunning letter of level 1. Answer "
        "with an object of `overdue`, the sum, and `reference`, the id of the hold or of the letter, null without "
        "either."
    ),
    casual=(
        "how much is overdue for this debtor (open invoices due before today, amount minus paid, 2 decimals)? more "
        "than their credit limit -> put them on hold with that sum. less but something -> dunning letter level 1. "
        "nothing -> leave it. reply {overdue, reference: hold or letter id, or null}"
    ),
    inputs={"debtor_id": text("id of the debtor")},
    gold="""
        debtor = get_debtor(debtor_id=debtor_id)
        ledger = ledger_day()
        listed = list_invoices(debtor_id=debtor_id)
        late = [row for row in listed["invoices"] if row["state"] == "open" and row["due_on"] < ledger["today"]]
        overdue = round(sum(row["amount"] - row["paid"] for row in late), 2)
        if overdue > debtor["credit"]["limit"]:
            hold = put_on_hold(debtor_id=debtor_id, overdue=overdue)
            return {"overdue": overdue, "reference": hold["hold_id"]}
        if overdue > 0:
            letter = send_dunning(debtor_id=debtor_id, level=1)
            return {"overdue": overdue, "reference": letter["letter_id"]}
        return {"overdue": overdue, "reference": None}
    """,
    arms={"over": debts(1.3), "under": debts(0.6), "nothing": debts(None)},
    tests_only={"at_the_limit": debts(1.0), "little": owes_little},
)


def goods(low: float, high: float, discounts: int = 1) -> Sampler:
    """Draws an invoice whose goods cost a share of the sum from which freight is free."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        number = any_of(random, db["invoices"])
        row = db["invoices"][number]
        row["lines"] = [line(random) for _ in range(random.randint(2, 4))]
        for place, part in enumerate(row["lines"]):
            part["discount_percent"] = random.choice([5, 10, 20, 25]) if place < discounts else None
        random.shuffle(row["lines"])
        total = sum(
            part["quantity"] * part["price"] * (100 - (part["discount_percent"] or 0)) / 100 for part in row["lines"]
        )
        row["freight"]["free_from"] = round(total / random.uniform(low, high), 2)
        if low == high == 1:
            row["freight"]["free_from"] = round(total, 2)
        return {"number": number}

    return drawn


INVOICE_NET = ApiTask(
    name="invoice_net",
    split="report",
    world=INVOICES,
    precise=(
        "Compute the net value of an invoice. A line costs its quantity times the price of one, less its discount in "
        "percent if it has one. The sum of the lines is rounded to two decimals; if it is less than `free_from`, the "
        "net freight is added. Answer with an object of `goods`, the rounded sum of the lines, `freight`, the freight "
        "that is added or 0, and `net`, the sum of both, rounded to two decimals."
    ),
    casual=(
        "work out the net of this invoice: lines are quantity x price minus the discount % if any, 2 decimals. freight "
        "comes on top only when the goods are below free_from. {goods, freight (0 if free), net}"
    ),
    inputs={"number": text("number of the invoice")},
    gold="""
        invoice = get_invoice_lines(number=number)
        plain = [row for row in invoice["lines"] if row["discount_percent"] is None]
        cut = [row for row in invoice["lines"] if row["discount_percent"] is not None]
        full = sum(row["quantity"] * row["price"] for row in plain)
        reduced = sum(row["quantity"] * row["price"] * (100 - row["discount_percent"]) / 100 for row in cut)
        goods = round(full + reduced, 2)
        freight = 0
        if goods < invoice["freight"]["free_from"]:
            freight = invoice["freight"]["net"]
        return {"goods": goods, "freight": freight, "net": round(goods + freight, 2)}
    """,
    arms={"freight": goods(0.3, 0.95), "free": goods(1.05, 2.0), "no_discount": goods(0.3, 0.9, discounts=0)},
    tests_only={"just_free": goods(1, 1), "two_discounts": goods(1.05, 2.0, discounts=2)},
)


def abroad(codes: tuple[str, ...], state: str = "open") -> Sampler:
    """Draws a debtor with open invoices in these currencies, and others that are paid or void."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        debtor = any_of(random, db["debtors"])
        db["invoices"] = {key: row for key, row in db["invoices"].items() if row["debtor_id"] != debtor}
        states = [state] * len(codes) + ["paid", "void"]
        drawn_codes = [*codes, random.choice(CURRENCIES), random.choice(CURRENCIES)]
        pairs = list(zip(states, drawn_codes, strict=True))
        random.shuffle(pairs)
        for state_of_it, code in pairs:
            number = fresh_id(random, "INV", 6)
            db["invoices"][number] = {
                "number": number,
                "debtor_id": debtor,
                "state": state_of_it,
                "amount": random.randrange(5_000, 90_000) / 100,
                "paid": 0.0,
                "due_on": day(db["today"], random.randint(-60, 60)),
                "currency": code,
                "lines": [line(random)],
                "freight": {"net": 9.5, "free_from": 200},
            }
        return {"debtor_id": debtor}

    return drawn


EXPOSURE = ApiTask(
    name="exposure_in_euros",
    split="report",
    world=INVOICES,
    precise=(
        "Add up the amounts of all open invoices of a debtor in euros. An amount in another currency is divided by the "
        "rate of that currency; amounts in EUR need no rate. Answer with an object of `euros`, the sum rounded to two "
        "decimals, and `converted`, the number of invoices that were in another currency."
    ),
    casual=(
        "total open invoices for this debtor in euros please, convert whatever isn't EUR with the booking rate (amount "
        "/ per_euro; don't fetch a rate for EUR). euros with 2 decimals + converted = how many you had to convert"
    ),
    inputs={"debtor_id": text("id of the debtor")},
    gold="""
        listed = list_invoices(debtor_id=debtor_id)
        euros = 0
        converted = 0
        for invoice in listed["invoices"]:
            if invoice["state"] != "open":
                continue
            if invoice["currency"] == "EUR":
                euros += invoice["amount"]
            else:
                rate = get_rate(currency=invoice["currency"])
                euros += invoice["amount"] / rate["per_euro"]
                converted += 1
        return {"euros": round(euros, 2), "converted": converted}
    """,
    arms={
        "mixed": abroad(("EUR", "USD", "CHF")),
        "home": abroad(("EUR", "EUR")),
        "abroad": abroad(("SEK", "USD")),
        "none": abroad(()),
    },
)
PROJECTS = ("Atlas", "Borealis", "Comet", "Delta")
KINDS = ("meal", "taxi", "hotel", "train")


def entry(random: Random, on: str) -> dict[str, Any]:
    """An entry of a time sheet."""
    project = random.choice([*PROJECTS, None])
    return {
        "on": on,
        "hours": random.randrange(4, 36) / 4,
        "project": project,
        "approved": random.random() < 0.75,
        "billable": project is not None and random.random() < 0.7,
    }


def hours(random: Random) -> Database:
    """Three workers, each with a time sheet of one week and an expense claim."""
    monday = day("2025-01-06", 7 * random.randrange(48))
    week = f"2025-W{random.randint(10, 48)}"
    contracts: dict[str, Any] = {}
    sheets: dict[str, Any] = {}
    claims: dict[str, Any] = {}
    for id in fresh_ids(random, "W-", 3, 4):
        contracts[id] = {
            "worker_id": id,
            "name": person(random),
            "weekly_hours": random.choice([20, 32, 35, 40]),
            "pay": {"hourly": random.randrange(1_800, 6_000) / 100, "currency": "EUR"},
        }
        entries = [entry(random, day(monday, count)) for count in range(random.randint(4, 6))]
        sheets[f"{id}/{week}"] = {"worker_id": id, "week": week, "entries": entries}
        claim = fresh_id(random, "EX-", 4)
        items = [
            {
                "item": fresh_id(random, "IT", 3),
                "kind": random.choice(KINDS),
                "amount": random.randrange(500, 20_000) / 100,
                "receipt": random.choice([None, fresh_id(random, "RC", 5)]),
            }
            for _ in range(random.randint(2, 4))
        ]
        claims[claim] = {"id": claim, "worker_id": id, "state": "submitted", "items": items}
    policy = {"limit": random.choice([300, 400, 500]), "receipt_from": random.choice([20, 25, 30])}
    return {
        "contracts": contracts, "sheets": sheets, "claims": claims, "policy": policy, "payouts": {},
        "payout": random.randrange(1_000, 9_000),
    }  # fmt: skip


HOURS = World("hours", hours)


def week_of(share: float) -> Sampler:
    """Draws a time sheet whose approved hours are about that share of the contract's."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        key = any_of(random, db["sheets"])
        sheet = db["sheets"][key]
        sheet["entries"] = [entry(random, row["on"]) for row in sheet["entries"]]
        sheet["entries"][0]["approved"] = True
        sheet["entries"][1]["approved"] = False
        total = sum(row["hours"] for row in sheet["entries"] if row["approved"])
        wanted = total / share
        db["contracts"][sheet["worker_id"]]["weekly_hours"] = total if share == 1 else round(wanted * 4) / 4
        return {"worker_id": sheet["worker_id"], "week": sheet["week"]}

    return drawn


WEEK_PAY = ApiTask(
    name="week_pay",
    split="tune",
    world=HOURS,
    precise=(
        "Compute the pay of a worker for a week from the approved entries of the time sheet. Hours up to the weekly "
        "hours of the contract are paid at the hourly rate, hours above them at 1.5 times that rate. Answer with an "
        "object of `hours`, the approved hours, `overtime`, the hours above the contract (0 if there are none), and "
        "`pay`, rounded to two decimals."
    ),
    casual=(
        "what does this worker get for the week? only approved entries; everything above the contract's weekly hours "
        "counts 1.5x the hourly rate. {hours, overtime (0 if none), pay}, pay to the cent"
    ),
    inputs={"worker_id": text("id of the worker"), "week": text("the week, such as 2025-W14")},
    gold="""
        sheet = get_timesheet(worker_id=worker_id, week=week)
        contract = get_contract(worker_id=worker_id)
        hours = sum(row["hours"] for row in sheet["entries"] if row["approved"])
        overtime = max(hours - contract["weekly_hours"], 0)
        pay = round((hours + 0.5 * overtime) * contract["pay"]["hourly"], 2)
        return {"hours": hours, "overtime": overtime, "pay": pay}
    """,
    arms={"overtime": week_of(1.4), "short": week_of(0.7)},
    tests_only={"exact": week_of(1)},
)


def projects(billed: int, free: int) -> Sampler:
    """Draws a time sheet with so many billable entries and so many others with a project."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        key = any_of(random, db["sheets"])
        sheet = db["sheets"][key]
        rows = [entry(random, sheet["entries"][0]["on"]) for _ in range(billed + free + 1)]
        for number, row in enumerate(rows):
            row["project"] = random.choice(PROJECTS) if number < billed + free else None
            row["billable"] = number < billed
        random.shuffle(rows)
        sheet["entries"] = rows
        return {"worker_id": sheet["worker_id"], "week": sheet["week"]}

    return drawn


def short_week(random: Random, db: Database) -> dict[str, Any]:
    inputs = projects(1, 0)(random, db)
    for row in db["sheets"][f"{inputs['worker_id']}/{inputs['week']}"]["entries"]:
        row["hours"] = random.choice([0.25, 0.5, 0.75, 1.0])
    return inputs


UTILISATION = ApiTask(
    name="utilisation",
    split="report",
    world=HOURS,
    precise=(
        "Compute how much of a worker's project time in a week is billable. Entries without a project are absences and "
        "do not count. Answer with an object of `worker`, the worker's name, `project_hours`, `billable_hours`, and "
        "`percent`: the billable hours as a percentage of the project hours, rounded to one decimal; null if there are "
        "no project hours."
    ),
    casual=(
        "utilisation for this person that week: billable hours vs all project hours (no project = absence, leave out). "
        "{worker: name, project_hours, billable_hours, percent with 1 decimal}, percent null when they had no project "
        "time"
    ),
    inputs={"worker_id": text("id of the worker"), "week": text("the week, such as 2025-W14")},
    gold="""
        contract = get_contract(worker_id=worker_id)
        sheet = get_timesheet(worker_id=worker_id, week=week)
        rows = [row for row in sheet["entries"] if row["project"] is not None]
        total = sum(row["hours"] for row in rows)
        billable = sum(row["hours"] for row in rows if row["billable"])
        percent = None
        if total > 0:
            percent = round(100 * billable / total, 1)
        return {"worker": contract["name"], "project_hours": total, "billable_hours": billable, "percent": percent}
    """,
    arms={"some": projects(2, 2), "none": projects(0, 0), "mostly": projects(4, 1)},
    tests_only={"unbilled": projects(0, 3), "short": short_week},
)


def claimed(missing: int, share: float) -> Sampler:
    """Draws a claim with so many missing receipts, and a total that is a share of the limit."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        claim_id = any_of(random, db["claims"])
        least, limit = db["policy"]["receipt_from"], db["policy"]["limit"]
        count = missing + 2
        amounts = [round(limit * share / count + random.randrange(100) / 100, 2) for _ in range(count - 1)]
        amounts.append(round(limit * share - sum(amounts), 2))
        items: list[dict[str, Any]] = [
            {
                "item": fresh_id(random, "IT", 3),
                "kind": random.choice(KINDS),
                "amount": amount,
                "receipt": None if number < missing else fresh_id(random, "RC", 5),
            }
            for number, amount in enumerate(amounts)
        ]
        small = {"item": fresh_id(random, "IT", 3), "kind": "meal", "amount": least - 7.5, "receipt": None}
        items[-1]["amount"] = round(items[-1]["amount"] - small["amount"], 2)
        items.insert(random.randrange(len(items)), small)
        if missing > 1:
            items[0 if items[0] is not small else 1]["amount"] = float(least)
        db["claims"][claim_id]["items"] = items
        return {"claim_id": claim_id}

    return drawn


CHECK_CLAIM = ApiTask(
    name="check_claim",
    split="tune",
    world=HOURS,
    precise=(
        "Check an expense claim. An item needs a receipt if its amount is at least `receipt_from` of the policy. If "
        "items lack a receipt that they need, return the claim with the reason `<n> receipts missing`, where n is "
        "their number. Otherwise, if the total of all items, rounded to two decimals, is more than the limit of the "
        "policy, return it with the reason `over the limit`. Otherwise approve it with the total. Answer with the id "
        "of the payout, or null if the claim is returned."
    ),
    casual=(
        "please process this claim: any item of receipt_from or more without a receipt -> send it back, reason "
        "'<n> receipts missing'. sum of the items (2 decimals) above the policy limit -> back with 'over the limit'. "
        "otherwise approve the sum. i just need the payout id (null if it went back)"
    ),
    inputs={"claim_id": text("id of the claim")},
    gold="""
        claim = get_claim(claim_id=claim_id)
        policy = get_expense_policy()
        least = policy["receipt_from"]
        missing = len([row for row in claim["items"] if row["amount"] >= least and row["receipt"] is None])
        if missing > 0:
            return_claim(claim_id=claim_id, reason=f"{missing} receipts missing")
            return None
        total = round(sum(row["amount"] for row in claim["items"]), 2)
        if total > policy["limit"]:
            return_claim(claim_id=claim_id, reason="over the limit")
            return None
        paid = approve_claim(claim_id=claim_id, amount=total)
        return paid["payout_id"]
    """,
    arms={"approved": claimed(0, 0.7), "missing": claimed(2, 0.8), "over": claimed(0, 1.2)},
    tests_only={"one_missing_and_over": claimed(1, 1.3), "at_the_limit": claimed(0, 1.0)},
)

FAMILY = Family(
    "totals",
    "totals with conditions",
    (HOLD_DEBTOR, INVOICE_NET, EXPOSURE, WEEK_PAY, UTILISATION, CHECK_CLAIM),
)
