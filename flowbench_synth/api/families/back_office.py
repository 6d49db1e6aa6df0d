"""Tasks of a personnel department, an insurer, a laboratory and a bank, one of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Sampler, World, text
from flowbench_synth.api.drawing import any_of, cents, company, day, fresh_id, fresh_ids, person

# Personnel

TITLES = ("Payroll Clerk", "Site Engineer", "Buyer", "Data Analyst", "Controller", "Nurse", "Recruiter", "Lawyer")
UNITS = ("Finance", "Logistics", "Legal", "Care", "Facilities", "Procurement", "Research")
STREETS = ("Mill Lane", "Harbour Road", "Station Street", "Elm Avenue", "Castle Row", "Quay Walk")
TOWNS = ("Leeds", "Ghent", "Porto", "Malmo", "Bilbao", "Graz", "Cork", "Turku")
COURSES = ("First aid", "Negotiation", "Data protection", "Spreadsheets", "Leading teams", "Labour law")


def people(random: Random) -> Database:
    """Seven employees, two courses with waiting lists."""
    today = day("2025-01-06", random.randrange(600))
    sites = {
        id: {
            "id": id,
            "address": {"street": f"{random.choice(STREETS)} {random.randint(1, 99)}", "town": town},
            "reception": {"contact": person(random), "opens_at": random.choice(["07:30", "08:00", "08:30"])},
        }
        for id, town in zip(fresh_ids(random, "LOC", 3, 2), random.sample(TOWNS, 3), strict=True)
    }
    positions = {
        code: {
            "code": code, "title": title, "family": random.choice(["office", "field", "expert"]),
            "grade": random.randint(3, 12),
        }
        for code, title in zip(fresh_ids(random, "J", 4, 3), random.sample(TITLES, 4), strict=True)
    }  # fmt: skip
    numbers = fresh_ids(random, "P", 7)
    staff = {
        no: {
            "staff_no": no,
            "name": person(random),
            "unit": random.choice(UNITS),
            "position_code": any_of(random, positions),
            "manager_no": random.choice([other for other in numbers if other != no]),
            "contract": {
                "starts_on": day(today, random.randint(-900, 60)),
                "ends_on": random.choice([None, day(today, random.randint(70, 700))]),
            },
            "desk": {
                "site_id": any_of(random, sites),
                "room": f"{random.randint(0, 5)}.{random.randint(10, 40)}",
                "extension": random.randint(2000, 8999),
            },
            "training": {"budget_left": random.randrange(0, 1500, 10)},
        }
        for no in numbers
    }
    courses = {
        id: {
            "id": id, "title": title, "held_on": day(today, random.randint(10, 60)),
            "fee": random.randrange(150, 900, 10), "trainer": person(random),
        }
        for id, title in zip(fresh_ids(random, "TC", 2, 4), random.sample(COURSES, 2), strict=True)
    }  # fmt: skip
    waiting = {
        id: {
            "entries": [
                {"staff_no": no, "since": day(today, rank - 100)}
                for rank, no in enumerate(random.sample(numbers, random.randint(2, 5)))
            ]
        }
        for id in courses
    }
    return {
        "staff": staff, "positions": positions, "sites": sites, "courses": courses, "waiting": waiting, "absences": {},
        "enrolments": {}, "last_enrolment": random.randrange(1000, 9000),
    }  # fmt: skip


PEOPLE = World("people", people)


def newcomer(same_site: bool | None = None) -> Sampler:
    """Draws somebody who starts; whether the manager sits at the same site."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["staff"][any_of(random, db["staff"])]
        manager = db["staff"][row["manager_no"]]
        if same_site is not None:
            sites = [id for id in sorted(db["sites"]) if (id == row["desk"]["site_id"]) == same_site]
            manager["desk"]["site_id"] = random.choice(sites)
        manager["unit"] = random.choice([unit for unit in UNITS if unit != row["unit"]])
        return {"staff_no": row["staff_no"]}

    return drawn


FIRST_DAY_NOTE = ApiTask(
    name="first_day_note",
    split="tune",
    world=PEOPLE,
    precise=(
        "Write the note for the first day of a new employee. Answer with the text `<name>, <title> in <unit>, starts "
        "on <start>. Ask for <contact> at <street>, <town>. Questions: <manager>, extension <extension>.` The name, "
        "the unit and the start of the contract are the employee's, the title is that of their position, the contact "
        "is that of the reception at the site of the employee's own desk, whose address follows, and the last two are "
        "the name and the extension of the employee's manager."
    ),
    casual=(
        "need the first day blurb for this new hire: '<name>, <title> in <unit>, starts on <start>. Ask for <contact> "
        "at <street>, <town>. Questions: <manager>, extension <extension>.' - title = position title, contact/street/"
        "town = reception contact and address of the site where the new hire's desk is (not the boss's!), start = "
        "contract start, manager and extension = name and phone extension of their manager"
    ),
    inputs={"staff_no": text("staff number of the new employee")},
    gold="""
        hire = staff_record(staff_no=staff_no)
        position = position_info(position_code=hire["position_code"])
        site = site_info(site_id=hire["desk"]["site_id"])
        manager = staff_record(staff_no=hire["manager_no"])
        who = f"{hire['name']}, {position['title']} in {hire['unit']}, starts on {hire['contract']['starts_on']}."
        where = f" Ask for {site['reception']['contact']} at {site['address']['street']}, {site['address']['town']}."
        return who + where + f" Questions: {manager['name']}, extension {manager['desk']['extension']}."
    """,
    arms={"any": newcomer(), "manager_here": newcomer(True), "manager_elsewhere": newcomer(False)},
)

FITS, ENDS, POOR, AWAY = "fits", "ends", "poor", "away"
KINDS = ("holiday", "parental leave", "business trip")


def queue(patterns: Sequence[Sequence[str]], on_edge: bool = False) -> Sampler:
    """Draws a course whose waiting list follows a pattern of people who fit or why they do not."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        course = db["courses"][any_of(random, db["courses"])]
        pattern = random.choice(patterns)
        held, fee = course["held_on"], course["fee"]
        numbers = random.sample(sorted(db["staff"]), len(pattern))
        days = sorted(random.sample(range(5, 90), len(pattern)), reverse=True)
        entries = [{"staff_no": no, "since": day(held, -60 - ago)} for no, ago in zip(numbers, days, strict=True)]
        db["waiting"][course["id"]] = {"entries": entries}
        for no, why in zip(numbers, pattern, strict=True):
            edge = on_edge or random.random() < 0.2
            row = db["staff"][no]
            ends = held if edge else random.choice([None, None, day(held, random.randint(1, 400))])
            row["contract"]["ends_on"] = day(held, -random.randint(1, 50)) if why == ENDS else ends
            budget = fee - random.randrange(1, fee, 7) if why == POOR else fee + (0 if edge else random.randrange(900))
            row["training"]["budget_left"] = budget
            rows: list[dict[str, Any]] = []
            if random.random() < 0.7:
                rows.append(absence(random, held, random.randint(-60, -12), random.randint(-11, -1)))
            if why == AWAY:
                start = 0 if edge and random.random() < 0.5 else -random.randint(0, 9)
                rows.append(absence(random, held, start, 0 if edge and start else random.randint(0, 9)))
            if random.random() < 0.5:
                rows.append(absence(random, held, random.randint(1, 20), random.randint(21, 40)))
            db["absences"][no] = {"rows": rows}
        return {"course_id": course["id"]}

    return drawn


def absence(random: Random, held: str, first: int, last: int) -> dict[str, Any]:
    return {"kind": random.choice(KINDS), "first_day": day(held, first), "last_day": day(held, last)}


FREE_COURSE_SEAT = ApiTask(
    name="free_course_seat",
    split="tune",
    world=PEOPLE,
    precise=(
        "A seat in a training course has become free. Go through the waiting list in its order and enrol the first "
        "person who can take part; nobody else is enrolled. Somebody can take part if their contract does not end "
        "before the day on which the course is held, their training budget is at least the fee, and no absence of "
        "theirs includes that day (the first and the last day of an absence belong to it). Answer with an object of "
        "`enrolment`, the number of the enrolment, `name`, the name of the person, and `passed_over`, the list of the "
        "names of those before them on the list. If nobody can take part, `enrolment` and `name` are null and "
        "`passed_over` has everybody on the list."
    ),
    casual=(
        "someone dropped out of this course, give the seat to the first one on the waiting list who can come: contract "
        "still running on the course day (ending that very day is ok), budget left covers the fee (exactly is fine), "
        "not absent on the course day - first/last day of an absence count as absent. reply {enrolment: number, name, "
        "passed_over: [names of the ones before them]}; nobody -> enrolment and name null, passed_over = everyone on "
        "the list"
    ),
    inputs={"course_id": text("id of the course")},
    gold="""
        course = course_details(course_id=course_id)
        listed = course_waiting_list(course_id=course_id)
        passed = []
        for entry in listed["entries"]:
            person = staff_record(staff_no=entry["staff_no"])
            until = person["contract"]["ends_on"]
            if (until is None or until >= course["held_on"]) and person["training"]["budget_left"] >= course["fee"]:
                away = absences_of(staff_no=entry["staff_no"])
                clashes = [
                    row for row in away["absences"]
                    if row["first_day"] <= course["held_on"] and row["last_day"] >= course["held_on"]
                ]
                if len(clashes) == 0:
                    booked = enrol_staff(course_id=course_id, staff_no=entry["staff_no"])
                    return {"enrolment": booked["enrolment_no"], "name": person["name"], "passed_over": passed}
            passed.append(person["name"])
        return {"enrolment": None, "name": None, "passed_over": passed}
    """,
    arms={
        "first": queue([(FITS, FITS, AWAY), (FITS, POOR), (FITS, ENDS, FITS, FITS)]),
        "after_absent": queue([(AWAY, FITS, FITS), (AWAY, AWAY, FITS), (POOR, AWAY, FITS, AWAY)]),
        "after_others": queue([(ENDS, FITS), (POOR, ENDS, FITS, FITS), (POOR, POOR, FITS), (ENDS, POOR, FITS)]),
        "nobody": queue([(AWAY, ENDS, POOR), (POOR, AWAY), (ENDS, AWAY, AWAY, POOR), (AWAY, POOR, ENDS)]),
    },
    tests_only={
        "on_edge": queue([(AWAY, FITS), (POOR, AWAY, FITS), (AWAY, AWAY, ENDS, FITS)], on_edge=True),
        "empty": queue([()]),
    },
)

# Insurance

CATEGORIES = ("glass", "electronics", "jewellery", "furniture", "bicycle", "clothing")
LABELS = {
    "glass": ("hob", "shower screen", "window", "mirror"),
    "electronics": ("laptop", "television", "camera", "phone"),
    "jewellery": ("ring", "watch", "bracelet"),
    "furniture": ("sofa", "desk", "wardrobe"),
    "bicycle": ("e-bike", "child's bike", "racing bike"),
    "clothing": ("coat", "suit", "boots"),
}


def cover(random: Random) -> Database:
    """Four motor policies, two policyholders with losses, three household policies."""
    today = day("2025-01-06", random.randrange(600))
    motor = {
        no: {
            "policy_no": no,
            "holder": person(random),
            "plate": fresh_id(random, random.choice(["KX", "LM", "RT"]), 4),
            "premium": {
                "yearly": odd_cents(random),
                "instalments": random.choice([1, 2, 4, 12]),
            },
            "losses_in_term": random.randrange(4),
            "arrears": None,
            "cancelled_to": None,
            "term_ends_on": day(today, random.randint(5, 60)),
        }
        for no in fresh_ids(random, "MV-", 4)
    }
    terms = {
        no: {
            "policy_no": no,
            "tariff": random.choice(["basic", "comfort", "premium"]),
            "valid": {
                "first_day": day(today, -random.randint(400, 1500)),
                "last_day": random.choice([None, day(today, random.randint(1, 500))]),
            },
            "coverages": [
                {
                    "category": category,
                    "limit": random.randrange(200, 2000, 50),
                    "own_share": random.choice([0, 5, 10, 15, 20, 25]),
                }
                for category in random.sample(CATEGORIES, random.randint(2, 4))
            ],
        }
        for no in fresh_ids(random, "HH-", 3)
    }
    holders = {
        id: {
            "holder": {"id": id, "name": person(random)},
            "losses": [loss(random, random.choice(sorted(terms)), "open", today, 1)],
        }
        for id in fresh_ids(random, "C", 2)
    }
    return {
        "today": today, "motor": motor, "terms": terms, "holders": holders, "suspended": {}, "documents": {},
        "clerk": person(random), "last_document": random.randrange(20_000, 90_000),
    }  # fmt: skip


def odd_cents(random: Random) -> float:
    """A premium with an odd number of cents, so that no rounding is a tie."""
    return (random.randrange(10_000, 70_000) * 2 + 1) / 100


def loss(random: Random, policy_no: str, state: str, today: str, count: int) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for category in random.choices(CATEGORIES, k=count):
        items.append({"label": random.choice(LABELS[category]), "category": category, "value": item_value(random)})
    happened = day(today, -random.randint(2, 80))
    return {
        "loss_no": fresh_id(random, "L"), "policy_no": policy_no, "state": state, "happened_on": happened,
        "items": items,
    }  # fmt: skip


def item_value(random: Random) -> int:
    return random.randint(31, 2600)


COVER = World("cover", cover)


def renewal(losses: Sequence[int], arrears: Sequence[float | None], cancelled: bool = False) -> Sampler:
    """Draws a motor policy with a number of losses, arrears and perhaps a cancellation."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["motor"][any_of(random, db["motor"])]
        owed = random.choice(arrears)
        since = day(db["today"], -random.randint(10, 200))
        row["losses_in_term"] = random.choice(losses)
        row["arrears"] = None if owed is None else {"amount": owed, "since": since}
        row["cancelled_to"] = row["term_ends_on"] if cancelled and random.random() < 0.5 else None
        if cancelled and row["cancelled_to"] is None:
            row["cancelled_to"] = day(db["today"], random.randint(1, 50))
        return {"policy_no": row["policy_no"]}

    return drawn


LITTLE = (None, None, 3.4, 12.0, 19.95, 24.5)
MUCH = (25.01, 31.8, 77.0, 140.25, 402.6, 63.15)
RENEW_MOTOR = ApiTask(
    name="renew_motor",
    split="tune",
    world=COVER,
    precise=(
        "Deal with the renewal of a motor policy. If its holder has cancelled it, change nothing and answer with "
        "`result` the text `ends <day>`, where the day is the one to which it is cancelled, and `premium` null. "
        "Otherwise, if its arrears are more than 25, suspend the renewal with the remark `owes since <since>` and "
        "answer with `result` the text `with <clerk>` and `premium` null. Arrears up to 25 do not matter. Otherwise "
        "renew it. The new yearly premium is the present one less 5 percent if there was no loss in the term, the "
        "present one plus 20 percent if there were 3 losses or more, and the present one if there were 1 or 2, "
        "rounded to two decimals. Answer with `result` the number of the new document and `premium` the new premium."
    ),
    casual=(
        "renew this motor policy pls. holder cancelled it -> leave it (even if they owe us), {result: 'ends "
        "<cancelled_to>', premium: null}. "
        "owes us over 25 (25 flat or less we ignore) -> suspend the renewal, remark 'owes since <since>', {result: "
        "'with <clerk>', premium: null}. else renew: no losses this term = 5% off the yearly premium, 1 or 2 = as it "
        "is, 3+ = 20% more, 2 decimals. then {result: new document number, premium: new yearly premium}"
    ),
    inputs={"policy_no": text("number of the motor policy")},
    gold="""
        policy = motor_policy(policy_no=policy_no)
        if policy["cancelled_to"] is not None:
            return {"result": f"ends {policy['cancelled_to']}", "premium": None}
        if policy["arrears"] is not None and policy["arrears"]["amount"] > 25:
            stopped = suspend_renewal(policy_no=policy_no, remark=f"owes since {policy['arrears']['since']}")
            return {"result": f"with {stopped['clerk']}", "premium": None}
        premium = policy["premium"]["yearly"]
        if policy["losses_in_term"] == 0:
            premium = round(premium * 0.95, 2)
        elif policy["losses_in_term"] >= 3:
            premium = round(premium * 1.2, 2)
        renewed = renew_policy(policy_no=policy_no, yearly_premium=premium)
        return {"result": renewed["document_no"], "premium": premium}
    """,
    arms={
        "no_loss": renewal([0], LITTLE),
        "arrears": renewal([0, 1, 2, 3, 4], MUCH),
        "many_losses": renewal([3, 4, 5], LITTLE),
        "some_losses": renewal([1, 2], LITTLE),
        "cancelled": renewal([0, 1, 3], (None, None, 55.1), cancelled=True),
    },
    tests_only={
        "owes_limit": renewal([0, 2, 3], (25.0,)),
        "cancelled_and_owes": renewal([0, 1, 2, 3], MUCH, cancelled=True),
        "three_losses": renewal([3], LITTLE),
    },
)


def settlement(states: Sequence[Sequence[str]], covered: float, capped: float) -> Sampler:
    """Draws a policyholder with losses in some states; shares of items that are covered, and above the limit."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        entry = db["holders"][any_of(random, db["holders"])]
        losses: list[dict[str, Any]] = []
        for state in random.choice(states):
            terms = db["terms"][any_of(random, db["terms"])]
            row = loss(random, terms["policy_no"], state, db["today"], random.randint(1, 3))
            known = {part["category"]: part["limit"] for part in terms["coverages"]}
            for item in row["items"]:
                good = random.random() < covered
                wanted = [name for name in CATEGORIES if (name in known) == good]
                item["category"] = random.choice(wanted)
                item["label"] = random.choice(LABELS[item["category"]])
                limit = known.get(item["category"], 900)
                over = random.random() < capped
                item["value"] = limit + random.randint(1, 800) if over else random.randint(31, limit)
            losses.append(row)
        entry["losses"] = sorted(losses, key=lambda row: row["happened_on"])
        return {"holder_id": entry["holder"]["id"]}

    return drawn


OPEN, SETTLED, WITHDRAWN = "open", "settled", "withdrawn"
SETTLE_LOSSES = ApiTask(
    name="propose_settlement",
    split="tune",
    world=COVER,
    precise=(
        "Propose what a policyholder should get for the household losses that are open. An item of a loss is covered "
        "if the policy of the loss has a coverage of the item's category. For a covered item the value counts up to "
        "the limit of the coverage (for each item anew), and of that the own share of the coverage, in percent, is "
        "taken off. Answer with a list with an object for each open loss, in the order of the losses: `loss`, its "
        "number, `payout`, the sum for its covered items, rounded to two decimals (0 if none is covered), and "
        "`refused`, the list of the labels of the items that are not covered. Without open losses the list is empty."
    ),
    casual=(
        "settlement proposal for this customer's open household losses (skip the settled and withdrawn ones). match "
        "each item to the coverage of the same category in that loss's policy: we pay the value but no more than the "
        "limit (per item), minus the own share percent. no such coverage = refused. give me a list of {loss: number, "
        "payout: total of that loss with 2 decimals, 0 if nothing's covered, refused: [labels of refused items]}, "
        "same order as the losses. no open losses -> empty list"
    ),
    inputs={"holder_id": text("id of the policyholder")},
    gold="""
        filed = losses_of_holder(holder_id=holder_id)
        proposals = []
        for loss in filed["losses"]:
            if loss["state"] == "open":
                terms = policy_terms(policy_no=loss["policy_no"])
                payout = 0
                refused = []
                for item in loss["items"]:
                    fitting = [part for part in terms["coverages"] if part["category"] == item["category"]]
                    if len(fitting) == 0:
                        refused.append(item["label"])
                    else:
                        payout += min(item["value"], fitting[0]["limit"]) * (100 - fitting[0]["own_share"]) / 100
                proposals.append({"loss": loss["loss_no"], "payout": round(payout, 2), "refused": refused})
        return proposals
    """,
    arms={
        "within": settlement([(OPEN, SETTLED), (OPEN, OPEN), (OPEN, OPEN, WITHDRAWN)], 0.9, 0.1),
        "above_limits": settlement([(OPEN, WITHDRAWN), (OPEN, OPEN, SETTLED), (OPEN, OPEN)], 0.8, 0.8),
        "refused": settlement([(OPEN, OPEN), (OPEN, SETTLED, OPEN), (WITHDRAWN, OPEN)], 0.3, 0.4),
        "nothing_open": settlement([(SETTLED,), (SETTLED, WITHDRAWN), (WITHDRAWN, WITHDRAWN)], 0.7, 0.3),
        "mixed": settlement([(OPEN, SETTLED, OPEN, OPEN), (WITHDRAWN, OPEN, OPEN)], 0.6, 0.5),
    },
)

# Laboratory

MATERIALS = ("serum", "plasma", "urine", "swab", "cerebrospinal fluid")
ASSAYS = {"glucose": "mmol/l", "ferritin": "ug/l", "troponin": "ng/l", "sodium": "mmol/l", "CRP": "mg/l"}
FAULTS = ("clot", "air bubble", "low volume", "haemolysis", "lamp")
MODULES = ("pipettor", "photometer", "carousel", "washer")
WARDS = ("ward 3B", "intensive care", "day clinic", "maternity", "ward 7A")


def lab(random: Random) -> Database:
    """Two fridges with samples, four orders."""
    today = day("2025-01-06", random.randrange(600))
    fridges = {
        id: {
            "fridge": {"id": id, "room": f"L{random.randint(1, 40)}"},
            "samples": [sample(random, today) for _ in range(random.randint(3, 6))],
        }
        for id in fresh_ids(random, "FR", 2, 4)
    }
    orders: dict[str, Any] = {}
    tubes: dict[str, Any] = {}
    for no in fresh_ids(random, "LO-", 3):
        barcode, backup = fresh_ids(random, "9", 2, 6)
        assay = random.choice(sorted(ASSAYS))
        orders[no] = {
            "order_no": no, "assay": assay, "ward": random.choice(WARDS),
            "sample": {"barcode": barcode, "backup_barcode": backup},
        }  # fmt: skip
        for code in (barcode, backup):
            tubes[code] = {
                "takes": random.randint(1, 5), "reading": {"value": cents(random, 1, 90), "unit": ASSAYS[assay]},
                "fault": None,
            }  # fmt: skip
    return {
        "today": today, "fridges": fridges, "orders": orders, "tubes": tubes, "waste": {}, "runs": {}, "findings": {},
        "recollections": {}, "last_protocol": random.randrange(1000, 9000), "last_run": random.randrange(1000, 9000),
        "last_finding": random.randrange(1000, 9000), "clock": {},
        "next_round": f"{random.randint(8, 19):02}:{random.choice(['00', '20', '40'])}",
    }  # fmt: skip


def sample(random: Random, today: str, ago: Sequence[int] = range(1, 40), state: str = "", held: bool = False) -> Any:
    hold = {"by": person(random), "note": random.choice(["second opinion", "study", "retest", "court"])}
    return {
        "barcode": fresh_id(random, "8", 6),
        "material": random.choice(MATERIALS),
        "drawn_on": day(today, -random.choice(ago)),
        "order": {
            "no": fresh_id(random, "LO-"),
            "state": state or random.choice(["waiting", "measured", "reported", "cancelled"]),
        },
        "hold": hold if held else None,
    }


LAB = World("lab", lab)
OLD, YOUNG, DONE, UNDONE = range(15, 40), range(14), ("reported", "cancelled"), ("waiting", "measured")


def fridge(weights: Sequence[int], count: tuple[int, int], on_the_day: bool = False) -> Sampler:
    """Draws a fridge; the weights are those of what may go, what is held, what is young and what is not reported."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["fridges"][any_of(random, db["fridges"])]
        today = db["today"]
        row["samples"] = []
        for kind in random.choices(("go", "held", "young", "undone"), weights, k=random.randint(*count)):
            ago = YOUNG if kind == "young" else OLD
            state = random.choice(UNDONE if kind == "undone" else DONE)
            held = kind == "held" or (kind in ("young", "undone") and random.random() < 0.4)
            row["samples"].append(sample(random, today, ago, state, held))
        if on_the_day:
            row["samples"].insert(1, sample(random, today, [14], random.choice(DONE), random.random() < 0.3))
        return {"fridge_id": row["fridge"]["id"], "keep_from": day(today, -14)}

    return drawn


CLEAR_FRIDGE = ApiTask(
    name="clear_fridge",
    split="tune",
    world=LAB,
    precise=(
        "Clear out a fridge of the laboratory. A sample is due for disposal if it was drawn before the given day "
        "(those of the day itself are not) and its order is reported or cancelled. Dispose of each sample that is due "
        "and that nobody has put on hold, in the order of the list, on the grounds `retention over`. Answer with an "
        "object of `protocols`, the list of the protocol numbers in that order, and `held_back`, the list of the "
        "barcodes of the samples that are due but on hold."
    ),
    casual=(
        "please clear this fridge: everything drawn before keep_from (not on the day itself) whose order is reported "
        "or cancelled goes in the bin, grounds 'retention over', one by one as listed - except samples with a hold on "
        "them. reply {protocols: [protocol numbers], held_back: [barcodes that should have gone but are on hold]}"
    ),
    inputs={
        "fridge_id": text("id of the fridge"),
        "keep_from": text("the first day whose samples are kept, as YYYY-MM-DD"),
    },
    gold="""
        stored = fridge_samples(fridge_id=fridge_id)
        protocols = []
        held_back = []
        for sample in stored["samples"]:
            if sample["drawn_on"] < keep_from and sample["order"]["state"] in ["reported", "cancelled"]:
                if sample["hold"] is not None:
                    held_back.append(sample["barcode"])
                else:
                    noted = dispose_sample(barcode=sample["barcode"], grounds="retention over")
                    protocols.append(noted["protocol_no"])
        return {"protocols": protocols, "held_back": held_back}
    """,
    arms={
        "mixed": fridge((3, 2, 2, 2), (4, 7)),
        "nothing_due": fridge((0, 0, 2, 2), (2, 5)),
        "many_held": fridge((1, 3, 1, 1), (3, 6)),
        "most_go": fridge((5, 1, 1, 1), (3, 6)),
    },
    tests_only={"on_the_day": fridge((3, 2, 1, 1), (2, 4), on_the_day=True), "empty": fridge((1, 0, 0, 0), (0, 0))},
)


def run(takes: Sequence[int], fails: bool = False) -> Sampler:
    """Draws an order whose run is over at one of these checks."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        order = db["orders"][any_of(random, db["orders"])]
        tube = db["tubes"][order["sample"]["barcode"]]
        tube["takes"] = random.choice(takes)
        tube["fault"] = {"code": random.choice(FAULTS), "module": random.choice(MODULES)} if fails else None
        return {"order_no": order["order_no"]}

    return drawn


MEASURE_ORDER = ApiTask(
    name="measure_order",
    split="tune",
    world=LAB,
    precise=(
        "Measure the sample of a laboratory order on the analyser. Start a run of the order's assay with its barcode "
        "(not the backup) and ask for the state of the run until it has finished or has an error, but at most five "
        "times. If it has finished, file the value with its unit for the order and answer `<value> <unit>`. If it has "
        "an error, request a recollection from the order's ward with the code of the fault and answer `new sample at "
        "<time>`, where the time is when it will be fetched. If it is still neither after the fifth time, abort the "
        "run and answer `aborted, <slot> is free`, with the slot that this frees."
    ),
    casual=(
        "run this order on the analyser (normal barcode, not the backup) and keep checking till it's finished or in "
        "error, max 5 checks. finished: file value+unit, answer '<value> <unit>'. error: request recollection from the "
        "ward with the fault code, answer 'new sample at <pickup time>'. still going after check 5: abort it and say "
        "'aborted, <freed slot> is free'"
    ),
    inputs={"order_no": text("number of the order")},
    gold="""
        order = lab_order(order_no=order_no)
        run = start_run(barcode=order["sample"]["barcode"], assay=order["assay"])
        asked = 0
        while asked < 5:
            asked += 1
            seen = run_state(run_id=run["run_id"])
            if seen["phase"] == "finished":
                file_value(order_no=order_no, value=seen["reading"]["value"], unit=seen["reading"]["unit"])
                return f"{seen['reading']['value']} {seen['reading']['unit']}"
            if seen["phase"] == "error":
                again = request_recollection(
                    order_no=order_no, ward=order["ward"], fault_code=seen["fault"]["code"]
                )
                return f"new sample at {again['pickup_at']}"
        stopped = abort_run(run_id=run["run_id"])
        return f"aborted, {stopped['freed_slot']} is free"
    """,
    arms={"quick": run([1, 2]), "slow": run([3, 4, 5]), "error": run([1, 2, 3, 4, 5], True), "stuck": run([6, 7, 8])},
    tests_only={
        "last_check": run([5]), "error_last": run([5], True), "too_late": run([6]), "error_late": run([6, 7], True),
    },
)  # fmt: skip

# Bank


def bank(random: Random) -> Database:
    """Two branches with tills, two accounts with entries, five partners."""
    branches: dict[str, Any] = {}
    tills: dict[str, Any] = {}
    for id, town in zip(fresh_ids(random, "B", 2, 3), random.sample(TOWNS, 2), strict=True):
        cash = {"tolerance": random.randrange(500, 4000, 50) / 100, "reserve": random.randrange(20, 90) * 1000.0}
        branches[id] = {"id": id, "town": town, "cash": cash}
        tills[id] = {"rows": [till(random, 0) for _ in range(random.randint(2, 5))]}
    partners = {
        id: {
            "id": id,
            "name": random.choice([company(random), person(random)]),
            "risk": random.choice(["low", "medium", "high"]),
            "identified_on": random.choice([None, day("2022-03-01", random.randrange(900))]),
        }
        for id in fresh_ids(random, "PA", 6, 4)
    }
    accounts = {
        no: {
            "account_no": no,
            "entries": [
                booking(random, any_of(random, partners), random.randint(-900_000, 900_000))
                for _ in range(random.randint(2, 5))
            ],
        }
        for no in fresh_ids(random, "70", 2, 6)
    }
    return {"branches": branches, "tills": tills, "partners": partners, "accounts": accounts}


def till(random: Random, off: int | None) -> dict[str, Any]:
    """A till whose counted cash is off by some cents, or was not counted."""
    opening, paid_in = (random.randrange(40_000, 400_000) for _ in range(2))
    paid_out = random.randrange(5_000, opening + paid_in - 40_000)
    counted = None if off is None else (opening + paid_in - paid_out + off) / 100
    return {
        "till_no": random.randint(11, 99), "teller": person(random), "opening": opening / 100,
        "paid_in": paid_in / 100, "paid_out": paid_out / 100, "counted": counted,
    }  # fmt: skip


def booking(random: Random, partner_id: str | None, amount: int) -> dict[str, Any]:
    return {
        "entry_no": fresh_id(random, "E", 6), "booked_on": day("2025-02-01", random.randrange(300)),
        "amount": amount / 100, "partner_id": partner_id,
    }  # fmt: skip


BANK = World("bank", bank)


def evening(sign: int, uncounted: int = 0, edge: bool = False, counted: Sequence[int] = (2, 3, 4, 5)) -> Sampler:
    """Draws a branch whose tills are together within the tolerance (0), short (-1) or over (1)."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        branch = db["branches"][any_of(random, db["branches"])]
        bound = round(branch["cash"]["tolerance"] * 100)
        total = sign * (bound + random.randint(1, 6000)) if sign else random.randint(-bound, bound)
        if edge:
            total = random.choice([-1, 1]) * bound
        offs = [random.choice([0, random.randint(-4000, 4000)]) for _ in range(random.choice(counted))]
        if offs:
            offs[random.randrange(len(offs))] += total - sum(offs)
        rows: list[int | None] = [*offs, *[None] * uncounted]
        random.shuffle(rows)
        numbers = random.sample(range(11, 99), len(rows))
        made = [{**till(random, off), "till_no": no} for off, no in zip(rows, numbers, strict=True)]
        db["tills"][branch["id"]] = {"rows": made}
        return {"branch_id": branch["id"]}

    return drawn


def exactly(offs: Sequence[Sequence[int]], tolerance: float | None = None) -> Sampler:
    """Draws a branch whose tills are off by these cents."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        branch = db["branches"][any_of(random, db["branches"])]
        if tolerance is not None:
            branch["cash"]["tolerance"] = tolerance
        chosen = random.choice(offs)
        numbers = random.sample(range(11, 99), len(chosen))
        made = [{**till(random, off), "till_no": no} for off, no in zip(chosen, numbers, strict=True)]
        db["tills"][branch["id"]] = {"rows": made}
        return {"branch_id": branch["id"]}

    return drawn


CASH_CLOSE = ApiTask(
    name="cash_close",
    split="tune",
    world=BANK,
    precise=(
        "Check the cash of a bank branch in the evening. The difference of a till is what was counted less what "
        "should be in it: the opening amount plus what was paid in less what was paid out. Tills that nobody has "
        "counted are left out. Answer with an object of `difference`, the sum of the differences of all counted "
        "tills (0 if there are none), `worst`, the number of the till whose difference is largest regardless of its "
        "sign (the first of equals; null if no till has a difference), and `verdict`: `balanced` if the sum, "
        "regardless of its sign, is no more than the tolerance of the branch, otherwise `short` if it is negative "
        "and `over` if it is positive. Differences, and their sum, are rounded to two decimals."
    ),
    casual=(
        "do the evening cash check for this branch. till difference = counted - (opening + paid in - paid out), 2 "
        "decimals, skip tills that weren't counted. {difference: total over the counted tills (2 decimals, 0 if none), "
        "worst: number of the till that's furthest off, plus or minus alike - first one on a tie, null if none is off "
        "at all, verdict: 'balanced' if the total is within the branch tolerance either way (exactly the tolerance is "
        "still ok), else 'short' / 'over'}"
    ),
    inputs={"branch_id": text("id of the branch")},
    gold="""
        branch = branch_profile(branch_id=branch_id)
        evening = tills_of_branch(branch_id=branch_id)
        total = 0
        largest = 0
        worst = None
        for till in evening["tills"]:
            if till["counted"] is not None:
                off = round(till["counted"] - (till["opening"] + till["paid_in"] - till["paid_out"]), 2)
                total += off
                if abs(off) > largest:
                    largest = abs(off)
                    worst = till["till_no"]
        total = round(total, 2)
        if abs(total) <= branch["cash"]["tolerance"]:
            verdict = "balanced"
        elif total < 0:
            verdict = "short"
        else:
            verdict = "over"
        return {"difference": total, "worst": worst, "verdict": verdict}
    """,
    arms={
        "balanced": evening(0),
        "short": evening(-1),
        "over": evening(1),
        "balanced_uncounted": evening(0, uncounted=2),
        "off_uncounted": evening(-1, uncounted=1),
    },
    tests_only={
        "edge": evening(0, edge=True),
        "none_counted": evening(0, uncounted=3, counted=(0,)),
        "equals": exactly([(-730, 730, 0), (0, 1220, -1220), (310, -310, -310)]),
        "cents": exactly([(1, 0), (0, -1), (0, 0, 0), (60, 20)], tolerance=0.3),
        "cents_over": exactly([(40, 25), (0, 90), (70, -5, 5)], tolerance=0.3),
        "none_off": exactly([(0, 0), (0, 0, 0), (0,)]),
    },
)

LARGE = 500_000
CASH, RISKY, UNKNOWN, GOOD, SMALL, OUT = "cash", "risky", "unknown", "good", "small", "out"


def statement(weights: Sequence[int], count: tuple[int, int], exact: bool = False) -> Sampler:
    """Draws an account; weights of cash, risky, unidentified and good credits, small ones and debits."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        ids = sorted(db["partners"])
        random.shuffle(ids)
        seen = [day("2022-03-01", random.randrange(900)) for _ in ids]
        risks = ("high", "high", random.choice(["low", "medium"]), random.choice(["low", "medium"]), "low", "medium")
        for place, (id, risk) in enumerate(zip(ids, risks, strict=True)):
            db["partners"][id].update(risk=risk, identified_on=None if place in (1, 2, 3) else seen[place])
        kinds = random.choices((CASH, RISKY, UNKNOWN, GOOD, SMALL, OUT), weights, k=random.randint(*count))
        row = db["accounts"][any_of(random, db["accounts"])]
        entries: list[dict[str, Any]] = []
        for kind in kinds:
            amount = LARGE + (0 if exact or random.random() < 0.1 else random.randrange(900_000))
            partner: str | None = None
            if kind == RISKY:
                partner = ids[random.randrange(2)]
            elif kind == UNKNOWN:
                partner = ids[2 + random.randrange(2)]
            elif kind == GOOD:
                partner = ids[4 + random.randrange(2)]
            elif kind == SMALL:
                partner = random.choice([*ids, None])
                amount = random.randrange(3_000, LARGE)
            elif kind == OUT:
                partner = random.choice([*ids, None])
                amount = -random.randrange(3_000, 2 * LARGE)
            entries.append(booking(random, partner, amount))
        row["entries"] = sorted(entries, key=lambda entry: entry["booked_on"])
        return {"account_no": row["account_no"]}

    return drawn


LARGE_CREDITS = ApiTask(
    name="large_credits",
    split="tune",
    world=BANK,
    precise=(
        "Review an account for large credits, on all pages of its entries. Large credits are entries whose amount is "
        "at least 5000 (what goes out is negative and does not matter). Report one without a partner for the reason "
        "`cash`. For the others look at the partner: report the entry for the reason `high risk` if the partner's risk "
        "is high, otherwise for the reason `not identified` if the partner has not been identified; do not report it "
        "if neither is so. Answer with the list of the reported entries in the order of the account, each an object of "
        "`entry`, its number, `amount`, as it is, `partner`, the partner's name (null for cash), and `reason`."
    ),
    casual=(
        "go thru this account (all pages) and list every incoming entry of 5000 or more that looks fishy: no partner = "
        "reason 'cash' (partner null), partner with high risk = 'high risk', partner we never identified = 'not "
        "identified' (high risk wins if both). normal partners don't get listed, neither does anything smaller or "
        "outgoing. [{entry: number, amount, partner: name, reason}] in account order"
    ),
    inputs={"account_no": text("number of the account")},
    gold="""
        reported = []
        cursor = None
        while True:
            page = account_entries(account_no=account_no, cursor=cursor)
            for entry in page["entries"]:
                if entry["amount"] >= 5000:
                    if entry["partner_id"] is None:
                        reported.append({
                            "entry": entry["entry_no"], "amount": entry["amount"], "partner": None, "reason": "cash"
                        })
                    else:
                        partner = partner_profile(partner_id=entry["partner_id"])
                        reason = None
                        if partner["risk"] == "high":
                            reason = "high risk"
                        elif partner["identified_on"] is None:
                            reason = "not identified"
                        if reason is not None:
                            reported.append({
                                "entry": entry["entry_no"], "amount": entry["amount"], "partner": partner["name"],
                                "reason": reason
                            })
            cursor = page["next_cursor"]
            if cursor is None:
                return reported
    """,
    arms={
        "cash": statement((4, 0, 0, 1, 2, 2), (3, 8)),
        "risky": statement((0, 4, 1, 2, 2, 2), (4, 9)),
        "unidentified": statement((1, 0, 4, 2, 2, 2), (2, 7)),
        "harmless": statement((0, 0, 0, 3, 2, 2), (4, 8)),
        "mixed": statement((2, 2, 2, 1, 1, 1), (6, 9)),
    },
    tests_only={"exact": statement((1, 1, 1, 1, 1, 1), (2, 6), exact=True), "full_page": statement((1,) * 6, (6, 6))},
)

TASKS: dict[str, ApiTask] = {
    "lookups": FIRST_DAY_NOTE,
    "branches": RENEW_MOTOR,
    "filters": CLEAR_FRIDGE,
    "totals": CASH_CLOSE,
    "paging": LARGE_CREDITS,
    "polling": MEASURE_ORDER,
    "early_exit": FREE_COURSE_SEAT,
    "joins": SETTLE_LOSSES,
}
"""By family."""
