"""Tasks of a card issuer, a car sharing company, a pharmacy and a waste collection service, one of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Sampler, World, choice, integer, text
from flowbench_synth.api.drawing import any_of, cents, company, day, fresh_id, fresh_ids, moment, person

# Payment cards

MODES = ("chip", "contactless", "online", "phone")


def transaction(random: Random, ref: str, token: str, today: str, **fields: Any) -> dict[str, Any]:
    booked = -random.randint(2, 160)
    return {
        "ref": ref,
        "card_token": token,
        "booked_on": day(today, booked),
        "disputable_until": day(today, booked + random.choice([60, 90, 120])),
        "amount": cents(random, 8, 420),
        "entry_mode": random.choice(MODES),
        "state": random.choice(["settled", "settled", "pending", "reversed"]),
        "mandate_id": None,
        **fields,
    }


def cards(random: Random) -> Database:
    """Two cards with transactions, three disputes, four mandates of which two are cancelled."""
    today = day("2025-01-20", random.randrange(600))
    tokens = fresh_ids(random, "tok_", 2, 6)
    mandates = {
        id: {
            "mandate_id": id,
            "payee": company(random),
            "ceiling": cents(random, 9, 130),
            "cancelled_on": day(today, -random.randint(20, 60)) if number > 1 else None,
        }
        for number, id in enumerate(fresh_ids(random, "MD-", 4, 4))
    }
    rows = {ref: transaction(random, ref, random.choice(tokens), today) for ref in fresh_ids(random, "tx", 4, 7)}
    disputes = {
        id: {
            "dispute_no": id,
            "txn_ref": any_of(random, rows),
            "filed_on": day(today, -random.randint(10, 40)),
            "claim": {
                "amount": cents(random, 8, 400),
                "why": random.choice(["fraud", "not_received", "duplicate", "faulty"]),
            },
            "merchant_reply": random.choice([None, silent_or_not(random, today)]),
        }
        for id in fresh_ids(random, "DP-", 3)
    }
    return {
        "cards": {id: {"holder": person(random), "page_size": random.randint(2, 4)} for id in tokens},
        "today": today, "transactions": rows, "mandates": mandates, "disputes": disputes,
        "counter": random.randrange(10_000, 90_000), "flags": {}, "letters": {}, "requests": {}, "credits": {},
    }  # fmt: skip


def silent_or_not(random: Random, today: str) -> dict[str, Any]:
    return {"stance": random.choice(["accepts", "contests"]), "received_on": day(today, -random.randint(0, 9))}


CARDS = World("cards", cards)


def dispute(
    accepts: bool,
    spare: tuple[int, int],
    modes: Sequence[str],
    claimed: tuple[int, int],
    beyond: bool | None = None,
) -> Sampler:
    """Draws a dispute.

    Args:
        accepts: Whether the merchant accepts it.
        spare: Between how many days before the end of the period it was filed.
        modes: How the card was read.
        claimed: Between which amounts the claim is.
        beyond: Whether it is more than the transaction; None if it does not matter.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        file = db["disputes"][any_of(random, db["disputes"])]
        row = db["transactions"][file["txn_ref"]]
        reply = silent_or_not(random, db["today"])
        reply["stance"] = "accepts" if accepts else "contests"
        file["merchant_reply"] = reply if accepts else random.choice([None, reply])
        row["booked_on"] = day(file["filed_on"], -random.randint(41, 130) if spare[0] < 0 else -random.randint(2, 90))
        row["disputable_until"] = day(file["filed_on"], random.randint(*spare))
        row["entry_mode"] = random.choice(modes)
        amount = cents(random, *claimed) if claimed[0] < claimed[1] else float(claimed[0])
        more = random.random() < 0.3 if beyond is None else beyond
        file["claim"]["amount"] = amount
        row["amount"] = round(amount * random.uniform(0.5, 0.97) if more else amount + cents(random, 0, 90), 2)
        row["state"] = "settled"
        return {"dispute_no": file["dispute_no"]}

    return drawn


def creditable(beyond: bool) -> Sampler:
    """Draws a dispute that leads to a credit: a small claim, or one where the chip was not read."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        small = dispute(False, (0, 70), ["chip"], (9, 150), beyond)
        other = dispute(False, (0, 70), MODES[1:], (9, 400), beyond)
        return random.choice([small, other, other])(random, db)

    return drawn


DISPUTE_TRIAGE = ApiTask(
    name="dispute_triage",
    split="report",
    world=CARDS,
    precise=(
        "Decide what is done first about a dispute of a card transaction. The rules are tried in this order. (1) If "
        "the merchant has replied and accepts, close the dispute with the outcome `merchant_refunds`. (2) If the "
        "dispute was filed after the day until which the transaction can be disputed, close it with the outcome "
        "`too_late`; on that day itself it is in time. (3) If the chip of the card was read (`entry_mode` is `chip`) "
        "and the claimed amount is over 150.00, request a `signed_statement` from the cardholder. (4) Otherwise credit "
        "the card provisionally with the claimed amount, but with no more than the amount of the transaction. Answer "
        "with an object of `action` (`closed` for 1, `declined` for 2, `waiting` for 3, `credited` for 4), `ref` (the "
        "id of the letter, the request or the credit) and `amount` (what was credited, null if nothing was)."
    ),
    casual=(
        "triage this dispute for me. merchant replied and accepts -> close it as merchant_refunds (action 'closed'). "
        "else filed later than the txn's disputable_until (that day is still ok) -> close it as too_late (action "
        "'declined'). else chip transaction and they claim more than 150 -> ask for a signed_statement (action "
        "'waiting'). anything else: provisional credit to the card for what they claim, capped at the transaction's "
        "amount (action 'credited'). give me {action, ref: id of the letter / request / credit, amount: what we "
        "credited or null}"
    ),
    inputs={"dispute_no": text("number of the dispute")},
    gold="""
        dispute = get_card_dispute(dispute_no=dispute_no)
        reply = dispute["merchant_reply"]
        if reply is not None and reply["stance"] == "accepts":
            closed = close_card_dispute(dispute_no=dispute_no, outcome="merchant_refunds")
            return {"action": "closed", "ref": closed["letter_id"], "amount": None}
        txn = get_card_transaction(txn_ref=dispute["txn_ref"])
        if dispute["filed_on"] > txn["disputable_until"]:
            closed = close_card_dispute(dispute_no=dispute_no, outcome="too_late")
            return {"action": "declined", "ref": closed["letter_id"], "amount": None}
        claimed = dispute["claim"]["amount"]
        if txn["entry_mode"] == "chip" and claimed > 150:
            asked = request_cardholder_proof(dispute_no=dispute_no, kind="signed_statement")
            return {"action": "waiting", "ref": asked["request_id"], "amount": None}
        amount = min(claimed, txn["amount"])
        credit = post_provisional_credit(card_token=txn["card_token"], amount=amount, dispute_no=dispute_no)
        return {"action": "credited", "ref": credit["credit_id"], "amount": amount}
    """,
    arms={
        "accepted": dispute(True, (-40, 60), MODES, (9, 400)),
        "late": dispute(False, (-40, -1), MODES, (9, 400)),
        "chip": dispute(False, (0, 60), ["chip"], (151, 400)),
        "whole_claim": creditable(beyond=False),
        "capped": creditable(beyond=True),
    },
    tests_only={
        "accepted_late": dispute(True, (-40, -1), ["chip"], (151, 400)),
        "late_chip": dispute(False, (-40, -1), ["chip"], (151, 400)),
        "last_day": dispute(False, (0, 0), MODES[1:], (9, 400)),
        "at_limit": dispute(False, (1, 60), ["chip"], (150, 150), False),
        "above_limit": dispute(False, (1, 60), ["chip"], (151, 151)),
    },
)


def charge(random: Random, db: Database, kind: str, mandate_of: Any) -> dict[str, Any]:
    """The fields of a charge of a kind."""
    states = {"pending": "pending", "reversed": "reversed"}
    if kind == "plain":
        return {"state": "settled", "mandate_id": None, "amount": cents(random, 5, 300)}
    ended = kind in ("after", "before", "same_day") or (kind in states and random.random() < 0.4)
    mandate = mandate_of(ended)
    ceiling = mandate["ceiling"]
    amount = round(ceiling * random.uniform(0.3, 0.98), 2)
    if kind in ("high", *states):
        amount = round(ceiling + random.choice([random.randint(1, 99) / 100, cents(random, 1, 45)]), 2)
    if kind == "after" and random.random() < 0.5:
        amount = round(ceiling * random.uniform(0.4, 1.6), 2)
    if kind == "exact":
        amount = ceiling
    gap = {"before": -random.randint(1, 50), "same_day": 0}.get(kind, random.randint(1, 15))
    booked = day(mandate["cancelled_on"], gap) if ended else day(db["today"], -random.randint(1, 90))
    return {"state": states.get(kind, "settled"), "mandate_id": mandate["mandate_id"], "amount": amount,
            "booked_on": booked}  # fmt: skip


def charges(must: Sequence[str], may: Sequence[str], count: tuple[int, int], page: int | None = None) -> Sampler:
    """Draws a card with charges: each kind of `must`, and others of `may`."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        token = any_of(random, db["cards"])
        for ref in [ref for ref, row in db["transactions"].items() if row["card_token"] == token]:
            db["transactions"][ref]["card_token"] = next(other for other in db["cards"] if other != token)
        kinds = list(must)
        for _ in range(max(0, random.randint(*count) - len(kinds))):
            kinds.append(random.choice(may))
        random.shuffle(kinds)
        for ref, kind in zip(fresh_ids(random, "ch", len(kinds), 7), kinds, strict=True):

            def mandate_of(ended: bool) -> dict[str, Any]:
                rows = [row for _, row in sorted(db["mandates"].items()) if (row["cancelled_on"] is not None) == ended]
                return random.choice(rows)

            fields = charge(random, db, kind, mandate_of)
            db["transactions"][ref] = transaction(random, ref, token, db["today"], **fields)
        if page is not None:
            db["cards"][token]["page_size"] = page
        return {"card_token": token}

    return drawn


QUIET = ("plain", "pending", "reversed", "fine", "before", "exact")
MANDATE_SWEEP = ApiTask(
    name="mandate_sweep",
    split="report",
    world=CARDS,
    precise=(
        "Look for recurring charges of a card that the cardholder did not agree to, among all its charges on all "
        "pages. Checked are the charges that are `settled` and belong to a mandate. If the mandate was cancelled and "
        "the charge was booked after the day of the cancellation, the excess is the whole amount. Otherwise, if the "
        "amount is more than the ceiling of the mandate, the excess is the difference, rounded to two decimals; an "
        "amount equal to the ceiling is in order. Flag each charge that has an excess, in the order of the list. "
        "Answer with an object of `checked` (the number of charges that were checked), `flags` (the list of the ids of "
        "the flags, in that order) and `excess` (the sum of all excesses, rounded to two decimals, 0 without any)."
    ),
    casual=(
        "sweep this card's charges for subscription overcharging - every page please. only settled ones with a mandate "
        "count. booked later than the day the mandate was cancelled: the full amount is excess. if not that, but above "
        "the mandate's ceiling (exactly the ceiling is fine): excess = amount minus ceiling, 2 decimals. flag every "
        "charge with an excess as you go. reply {checked: how many you checked, flags: [flag ids in order], excess: "
        "total, 2 decimals, 0 if there was nothing}"
    ),
    inputs={"card_token": text("token of the card")},
    gold="""
        cursor = None
        checked = 0
        flags = []
        total = 0
        while True:
            page = list_card_charges(card_token=card_token, cursor=cursor)
            for charge in page["charges"]:
                if charge["state"] != "settled" or charge["mandate_id"] is None:
                    continue
                checked += 1
                mandate = get_charge_mandate(mandate_id=charge["mandate_id"])
                excess = None
                if mandate["cancelled_on"] is not None and charge["booked_on"] > mandate["cancelled_on"]:
                    excess = charge["amount"]
                elif charge["amount"] > mandate["ceiling"]:
                    excess = round(charge["amount"] - mandate["ceiling"], 2)
                if excess is not None:
                    flag = flag_card_charge(charge_ref=charge["ref"], excess=excess)
                    flags.append(flag["flag_id"])
                    total += excess
            cursor = page["next_cursor"]
            if cursor is None:
                break
        return {"checked": checked, "flags": flags, "excess": round(total, 2)}
    """,
    arms={
        "too_high": charges(["high", "pending", "plain"], ("high", *QUIET), (5, 8)),
        "cancelled": charges(["after", "before"], ("after", *QUIET), (4, 7)),
        "both": charges(["after", "high", "exact"], ("high", "after", *QUIET), (5, 8)),
        "in_order": charges(["fine"], QUIET, (3, 6)),
        "one_page": charges(["high"], ("after", "high", "reversed", "fine"), (2, 4), 4),
    },
    tests_only={
        "empty": charges([], QUIET, (0, 0)),
        "exact": charges(["exact", "exact", "high"], ("plain", "fine"), (4, 6)),
        "same_day": charges(["same_day", "after"], ("same_day", "fine"), (3, 6)),
    },
)

# Car sharing

MODELS = ("Zoe", "e-208", "ID.3", "Spring", "Kona", "Leaf")
FAULTS = (
    ("door_ajar", "Driver's door is ajar"), ("door_ajar", "Rear left door is ajar"), ("boot_open", "Boot is open"),
    ("low_voltage", "Auxiliary battery at 10.4 V"), ("low_voltage", "Auxiliary battery at 9.8 V"),
    ("actuator", "Lock actuator does not move"), ("key_inside", "Key card is not in its slot"),
)  # fmt: skip


def fleet(random: Random) -> Database:
    """Two stations and six cars."""
    now = moment("2025-03-01T05:00", random.randrange(500_000))
    rows: dict[str, Any] = {}
    for number, plate in enumerate(fresh_ids(random, random.choice(["KV ", "LB ", "MT ", "RS "]), 6, 4)):
        fault = random.choice(FAULTS)
        rows[plate] = {
            "plate": plate,
            "bay": f"{random.choice('ABCDEF')}{random.randint(1, 40)}",
            "seats": random.choice([2, 4, 5, 7]),
            "charge_percent": random.randint(5, 100),
            "mileage_km": random.randint(900, 90_000),
            "damage": None,
            "claimed": False,
            "hold_until": moment(now, random.randint(15, 45) + number),
            "link": {
                "queued_for": random.randint(0, 3),
                "answers_at": random.randint(1, 8),
                "locks_at": moment(now, random.randint(1, 14)),
                "fault": random.choice([None, {"code": fault[0], "detail": fault[1]}]),
            },
        }
    return {
        "now": now, "cars": rows, "stations": {code: {"cars": []} for code in fresh_ids(random, "STN", 2, 4)},
        "ranger": person(random), "counter": random.randrange(10_000, 90_000), "reservations": {}, "commands": {},
        "jobs": {}, "clock": {},
    }  # fmt: skip


FLEET = World("fleet", fleet)


def around(random: Random, db: Database, kinds: Sequence[str]) -> dict[str, Any]:
    """A station with cars of kinds: they fit, are taken, far, small, flat or damaged, or fit just about."""
    station, people, walk = any_of(random, db["stations"]), random.randint(3, 5), random.randrange(150, 950, 10)
    plates = random.sample(sorted(db["cars"]), len(kinds))
    listed: list[dict[str, Any]] = []
    for plate, kind in zip(plates, kinds, strict=True):
        far = kind == "far"
        damaged = {
            "reported_on": day(db["now"][:10], -random.randint(1, 30)),
            "part": random.choice(["tyre", "mirror"]),
        }
        charge = {"flat": random.randint(5, 40), "at_forty": 40, "just_charged": 41}.get(kind, random.randint(41, 100))
        db["cars"][plate].update(
            seats=random.choice([size for size in (2, 4, 5, 7) if (size < people) == (kind == "small")]),
            charge_percent=charge,
            damage=damaged if kind == "damaged" else None,
            claimed=kind == "taken",
        )
        if kind == "just_seats":
            db["cars"][plate]["seats"] = people
        distance = walk + random.randint(1, 600) if far else walk if kind == "at_walk" else random.randint(20, walk)
        listed.append({"plate": plate, "model": random.choice(MODELS), "distance_m": distance})
    db["stations"][station]["cars"] = listed
    return {"station_code": station, "member_no": fresh_id(random, "M", 6), "people": people, "max_walk_m": walk}


UNFIT = ("far", "small", "flat", "damaged")


def options(before: tuple[int, int], fit: bool, taken: bool = False, first: str | None = None) -> Sampler:
    """Draws a station: some cars that do not fit, perhaps one that is taken, one that fits and some more."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        kinds = [random.choice(UNFIT) for _ in range(random.randint(*before))]
        if taken:
            kinds.insert(random.randint(0, len(kinds)), "taken")
        if first is not None:
            kinds.append(first)
        if fit:
            kinds.append("fit")
            kinds += [random.choice(("fit", *UNFIT)) for _ in range(random.randint(0, 6 - len(kinds)))]
        return around(random, db, kinds[:6])

    return drawn


CAR_FOR_GROUP = ApiTask(
    name="car_for_group",
    split="report",
    world=FLEET,
    precise=(
        "Get a shared car for a member. Go through the cars around the station in the order of the list and take the "
        "first one that is no farther away than `max_walk_m` metres, has at least as many seats as there are people, "
        "is charged to more than 40 percent and has no reported damage. Reserve it for the member. If the reservation "
        "is not granted, go on with the next car that suits. Answer `<plate> in bay <bay> until <until>` with the end "
        "of the reservation, or `no car within <max_walk_m> m` if none could be reserved."
    ),
    casual=(
        "grab a car for this member near the station: first one in the list that's within max_walk_m (inclusive), "
        "seats everybody, has over 40% charge (40 sharp is too little) and no damage report. if somebody else was "
        "faster and the reservation isn't granted, try the next suitable one. tell me '<plate> in bay <bay> until "
        "<until>', or 'no car within <max_walk_m> m' when you can't get any"
    ),
    inputs={
        "station_code": text("code of the station"),
        "member_no": text("number of the member"),
        "people": integer("how many people will ride"),
        "max_walk_m": integer("the farthest that they want to walk, in metres"),
    },
    gold="""
        around = find_shared_cars(station_code=station_code)
        for option in around["cars"]:
            if option["distance_m"] > max_walk_m:
                continue
            car = get_shared_car(plate=option["plate"])
            if car["seats"] >= people and car["charge_percent"] > 40 and car["damage"] is None:
                tried = reserve_shared_car(plate=option["plate"], member_no=member_no)
                if tried["granted"]:
                    return f"{option['plate']} in bay {car['bay']} until {tried['reservation']['until']}"
        return f"no car within {max_walk_m} m"
    """,
    arms={
        "first": options((0, 0), fit=True),
        "later": options((1, 4), fit=True),
        "beaten_to_it": options((0, 3), fit=True, taken=True),
        "none": options((2, 5), fit=False),
        "all_gone": options((1, 3), fit=False, taken=True),
    },
    tests_only={
        "at_walk": options((0, 2), fit=True, first="at_walk"),
        "at_forty": options((0, 2), fit=True, first="at_forty"),
        "just_charged": options((0, 2), fit=True, first="just_charged"),
        "just_seats": options((0, 2), fit=True, first="just_seats"),
        "no_cars": options((0, 0), fit=False),
    },
)


def link(answers: tuple[int, int], fails: bool) -> Sampler:
    """Draws a car that answers a command after some checks."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        plate = any_of(random, db["cars"])
        fault = random.choice(FAULTS)
        db["cars"][plate]["link"].update(
            answers_at=random.randint(*answers), fault={"code": fault[0], "detail": fault[1]} if fails else None
        )
        return {"plate": plate}

    return drawn


LOCK_CAR = ApiTask(
    name="lock_car",
    split="report",
    world=FLEET,
    precise=(
        "Lock a car that was left open. Send it the command to lock and ask for the state of that command until it is "
        "`done` or `failed`, five times at most. If it is done, answer with `locked_at` from the command. If it "
        "failed, send a ranger to the car with the detail of the fault as the reason. If it is neither after the fifth "
        "time, send a ranger with the reason `no answer`. The answer is an object of `locked_at` (null if the car did "
        "not lock), `asked` (how often the state was asked for) and `ranger_job` (the number of the ranger's job, null "
        "if none was sent)."
    ),
    casual=(
        "somebody left this car unlocked. send the lock command and keep checking on it, max 5 checks. done -> great. "
        "failed -> send a ranger, reason = the fault's detail. still nothing after 5 checks -> send a ranger, reason "
        "'no answer'. reply {locked_at: time or null, asked: number of checks, ranger_job: job number or null}"
    ),
    inputs={"plate": text("number plate of the car")},
    gold="""
        command = send_lock_command(plate=plate)
        asked = 0
        reason = "no answer"
        while asked < 5:
            status = get_lock_command(command_id=command["command_id"])
            asked += 1
            if status["state"] == "done":
                return {"locked_at": status["locked_at"], "asked": asked, "ranger_job": None}
            if status["state"] == "failed":
                reason = status["fault"]["detail"]
                break
        job = send_ranger(plate=plate, reason=reason)
        return {"locked_at": None, "asked": asked, "ranger_job": job["job_no"]}
    """,
    arms={
        "locks": link((1, 3), fails=False),
        "fails": link((1, 4), fails=True),
        "silent": link((6, 9), fails=False),
        "locks_late": link((3, 5), fails=False),
    },
    tests_only={
        "at_fifth": link((5, 5), fails=False),
        "fails_at_fifth": link((5, 5), fails=True),
        "at_sixth": link((6, 6), fails=False),
        "would_fail": link((6, 8), fails=True),
    },
)

# Pharmacy

DRUGS = ("metformin", "ramipril", "codeine", "ibuprofen", "levodopa", "furosemide", "sertraline", "bisoprolol")


def repeat(random: Random, rx_no: str, drug: str) -> dict[str, Any]:
    return {
        "rx_no": rx_no,
        "drug": drug,
        "pack_size": random.choice([14, 20, 28, 30, 50, 56, 60, 84, 100]),
        "days_left": random.randint(0, 40),
        "repeats_left": random.randint(0, 6),
        "hold": random.choice([None, None, {"by": person(random), "note": random.choice(NOTES)}]),
    }


NOTES = ("switched to another drug", "blood test first", "in hospital", "dose is reviewed")


def care(random: Random) -> Database:
    """Three patients and four drugs."""
    names = random.sample(DRUGS, 4)
    drugs: dict[str, Any] = {}
    for code, name in zip(fresh_ids(random, "RX", 4, 4), names, strict=True):
        tablet = random.choice([25, 40, 50, 80, 100, 200, 250, 400, 500])
        drugs[code] = {
            "drug_code": code,
            "name": name,
            "tablet_mg": tablet,
            "daily_max_mg": tablet * random.randint(3, 8) + random.choice([0, tablet // 2]),
            "shelf": f"{random.choice('ABCD')}{random.randint(10, 99)}",
        }
    patients: dict[str, Any] = {}
    for number in fresh_ids(random, "P-", 3):
        patients[number] = {
            "surgery": f"Dr {person(random).split()[1]}",
            "items": [
                repeat(random, rx, drug)
                for rx, drug in zip(fresh_ids(random, "rp", 3, 6), random.sample(DRUGS, 3), strict=True)
            ],
            "chart": [],
        }
    return {"patients": patients, "drugs": drugs, "orders": {}, "counter": random.randrange(10_000, 90_000)}


CARE = World("care", care)


def repeats(must: Sequence[str], may: Sequence[str]) -> Sampler:
    """Draws a patient whose prescriptions are of kinds: to order, used up, on hold, or enough."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        patient_no, horizon = any_of(random, db["patients"]), random.randint(4, 21)
        kinds = [*must, *[random.choice(may) for _ in range(random.randint(1, 6 - len(must)))]]
        random.shuffle(kinds)
        items: list[dict[str, Any]] = []
        numbers = fresh_ids(random, "rp", len(kinds), 6)
        for rx_no, drug, kind in zip(numbers, random.sample(DRUGS, len(kinds)), kinds, strict=True):
            row = repeat(random, rx_no, drug)
            held = {"by": person(random), "note": random.choice(NOTES)}
            soon, late = random.randint(0, horizon - 1), horizon + random.randint(0, 30)
            row["hold"] = held if kind == "held" else None
            row["days_left"] = {"enough": late, "at_horizon": horizon, "day_before": horizon - 1}.get(kind, soon)
            if kind in ("order", "day_before", "at_horizon"):
                row["repeats_left"] = random.randint(1, 6)
            if kind == "used_up":
                row["repeats_left"] = 0
            items.append(row)
        db["patients"][patient_no]["items"] = items
        return {"patient_no": patient_no, "horizon_days": horizon}

    return drawn


REORDER_REPEATS = ApiTask(
    name="reorder_repeats",
    split="report",
    world=CARE,
    precise=(
        "Reorder the repeat prescriptions of a patient that run out soon: those whose supply lasts fewer than "
        "`horizon_days` days. Prescriptions on hold are passed over altogether. If one that runs out has repeats left, "
        "order one pack of it (as many tablets as its pack size); if it has none left, the surgery must be asked for a "
        "new prescription. Orders are placed in the order of the list. Answer with an object of `orders` (the numbers "
        "of the orders) and `ask_surgery` (the names of the drugs without repeats), both in the order of the list; "
        "either may be empty."
    ),
    casual=(
        "reorder what this patient is about to run out of, i.e. days_left below horizon_days. ignore anything on hold. "
        "one pack each (pack_size tablets). if there are no repeats left don't order it, just list the drug so we can "
        "ask the surgery. -> {orders: [order numbers], ask_surgery: [drug names]}, same order as the list, empty lists "
        "if there's nothing"
    ),
    inputs={
        "patient_no": text("number of the patient"),
        "horizon_days": integer("supplies that last fewer days than this run out soon"),
    },
    gold="""
        repeats = get_repeat_list(patient_no=patient_no)
        orders = []
        ask_surgery = []
        for item in repeats["items"]:
            if item["hold"] is None and item["days_left"] < horizon_days:
                if item["repeats_left"] > 0:
                    ordered = order_repeat(rx_no=item["rx_no"], tablets=item["pack_size"])
                    orders.append(ordered["order_no"])
                else:
                    ask_surgery.append(item["drug"])
        return {"orders": orders, "ask_surgery": ask_surgery}
    """,
    arms={
        "both": repeats(["order", "used_up"], ("order", "used_up", "held", "enough")),
        "orders": repeats(["order", "order", "enough"], ("order", "held", "enough")),
        "used_up": repeats(["used_up", "held"], ("used_up", "held", "enough")),
        "nothing": repeats(["enough"], ("held", "enough")),
    },
    tests_only={
        "at_horizon": repeats(["at_horizon", "order"], ("used_up", "enough")),
        "day_before": repeats(["day_before", "held"], ("order", "held")),
    },
)


def chart(given: str) -> Sampler:
    """Draws a patient and a drug of which nothing was given, some, enough, all but one tablet or too much."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        patient_no, code = any_of(random, db["patients"]), any_of(random, db["drugs"])
        drug = db["drugs"][code]
        tablet, most = drug["tablet_mg"], drug["daily_max_mg"]
        doses: list[int] = []
        if given == "some":
            while len(doses) < 4 and sum(doses) + 2 * tablet <= most and (not doses or random.random() < 0.6):
                doses.append(random.choice([tablet, tablet // 2]))
        elif given != "nothing":
            room = {
                "enough": random.choice([0, tablet // 2, tablet // 5, tablet - 5]),
                "one_tablet": tablet,
                "too_much": -random.choice([tablet, tablet // 2]),
            }[given]
            left = most - room
            while left > 0 and (len(doses) < 3 or left <= tablet):
                doses.append(min(left, random.choice([tablet, tablet, 2 * tablet, tablet // 2])))
                left -= doses[-1]
            if left > 0:
                doses.append(left)
        entries = [{"drug_code": code, "mg": mg, "outcome": "given"} for mg in doses]
        for _ in range(random.randint(1, 2)):
            outcome = random.choice(["refused", "missed"])
            entries.append({"drug_code": code, "mg": random.choice([tablet, 2 * tablet]), "outcome": outcome})
        for _ in range(random.randint(1, 3)):
            other = random.choice([name for name in sorted(db["drugs"]) if name != code])
            outcome = random.choice(["given", "given", "refused", "missed"])
            entries.append({"drug_code": other, "mg": db["drugs"][other]["tablet_mg"], "outcome": outcome})
        random.shuffle(entries)
        times = sorted(random.sample(range(6 * 60, 22 * 60), len(entries)))
        db["patients"][patient_no]["chart"] = [
            {
                "at": f"{at // 60:02}:{at % 60:02}",
                **entry,
                "nurse": None if entry["outcome"] == "missed" else person(random),
            }
            for at, entry in zip(times, entries, strict=True)
        ]
        return {"patient_no": patient_no, "drug_code": code}

    return drawn


TABLETS_LEFT = ApiTask(
    name="tablets_left",
    split="report",
    world=CARE,
    precise=(
        "Tell how many whole tablets of a drug a patient may still have today. Add up the milligrams of the drug on "
        "today's chart that were really given; doses that were refused or missed do not count. What is left up to "
        "`daily_max_mg` of the drug is divided into tablets of `tablet_mg`. If at least one whole tablet is possible, "
        "answer `<tablets> x <tablet_mg> mg`, with the largest number of whole tablets that keeps to the maximum, "
        "otherwise `none, <given> of <daily_max_mg> mg given`, where <given> is the sum."
    ),
    casual=(
        "how many more whole tablets of this drug can the patient have today? sum the mg from today's chart (given "
        "only, not refused/missed, only this drug), see what's left to the daily max. if that's a tablet or more say "
        "'<tablets> x <tablet_mg> mg', otherwise 'none, <given> of <daily_max_mg> mg given'"
    ),
    inputs={"patient_no": text("number of the patient"), "drug_code": text("code of the drug")},
    gold="""
        chart = get_medicine_chart(patient_no=patient_no)
        doses = [entry for entry in chart["entries"] if entry["drug_code"] == drug_code]
        given = sum([dose["mg"] for dose in doses if dose["outcome"] == "given"])
        drug = get_drug_card(drug_code=drug_code)
        tablets = (drug["daily_max_mg"] - given) // drug["tablet_mg"]
        if tablets < 1:
            return f"none, {given} of {drug['daily_max_mg']} mg given"
        return f"{tablets} x {drug['tablet_mg']} mg"
    """,
    arms={"some": chart("some"), "enough": chart("enough"), "nothing_yet": chart("nothing")},
    tests_only={"one_tablet": chart("one_tablet"), "too_much": chart("too_much")},
)

# Waste collection

STREETS = ("Elm Street", "Canal Road", "Mill Lane", "Station Road", "Chapel Hill", "Orchard Way", "High Street")
STREAMS = ("paper", "organic", "residual")
PROBLEMS = ("blocked by a car", "wrong contents", "too heavy", "lid frozen", "gate locked", "bin damaged")


def waste(random: Random) -> Database:
    """Five accounts in two zones, two depots, two tours."""
    today = day("2025-02-10", random.randrange(500))
    depots = {
        id: {
            "depot_id": id,
            "manager": person(random),
            "hotline": f"0{random.randrange(200, 999)} {random.randrange(10_000, 99_999)}",
            "opens_at": f"{random.randint(6, 9):02}:{random.choice(['00', '15', '30'])}",
        }
        for id in fresh_ids(random, "DEP", 2, 3)
    }
    zones = {
        code: {
            "zone_code": code,
            "depot_id": depot,
            "next_pickup": {
                stream: day(today, days) for stream, days in zip(STREAMS, random.sample(range(1, 28), 3), strict=True)
            },
        }
        for code, depot in zip(fresh_ids(random, "Z", 2, 3), random.sample(sorted(depots), 2), strict=True)
    }
    accounts = {
        id: {
            "account_no": id,
            "address": {"street": random.choice(STREETS), "house_no": str(random.randint(1, 180))},
            "zone_code": any_of(random, zones),
            "contact": {"name": person(random), "phone": f"07{random.randrange(10**7, 10**8)}"},
        }
        for id in fresh_ids(random, "W", 5, 6)
    }
    vehicles = fresh_ids(random, "TRK-", 2, 3)
    tours: dict[str, Any] = {
        id: {"tour_id": id, "vehicle": vehicle, "day": day(today, -random.randint(1, 20)), "stops": []}
        for id, vehicle in zip(fresh_ids(random, "TR", 2, 5), vehicles, strict=True)
    }
    return {"today": today, "depots": depots, "zones": zones, "accounts": accounts, "tours": tours, "scans": {}}


WASTE = World("waste", waste)


def household(stream: str) -> Sampler:
    def drawn(random: Random, db: Database) -> dict[str, Any]:
        return {"account_no": any_of(random, db["accounts"]), "stream": stream}

    return drawn


PICKUP_CARD = ApiTask(
    name="pickup_card",
    split="report",
    world=WASTE,
    precise=(
        "Put together what a household asks on the phone about the next collection of a kind of waste. Answer with an "
        "object of `for` (the name of the account's contact), `address` (the text `<house_no> <street>`), `date` (the "
        "next pickup of this kind of waste in the account's zone) and `questions` (the text `call <hotline> from "
        "<opens_at>`, of the depot that serves the zone)."
    ),
    casual=(
        "household wants to know when their bin is next. give me {for: contact's name, address: '<house_no> <street>', "
        "date: next pickup of that stream in their zone, questions: 'call <hotline> from <opens_at>' (the zone's "
        "depot)}"
    ),
    inputs={
        "account_no": text("number of the household's account"),
        "stream": choice("the kind of waste", *STREAMS),
    },
    gold="""
        account = get_waste_account(account_no=account_no)
        zone = get_pickup_zone(zone_code=account["zone_code"])
        depot = get_waste_depot(depot_id=zone["depot_id"])
        date = zone["next_pickup"][stream]
        address = f"{account['address']['house_no']} {account['address']['street']}"
        questions = f"call {depot['hotline']} from {depot['opens_at']}"
        return {"for": account["contact"]["name"], "address": address, "date": date, "questions": questions}
    """,
    arms={stream: household(stream) for stream in STREAMS},
)


def tour(must: Sequence[str], may: Sequence[str]) -> Sampler:
    """Draws a tour whose bins were emptied, have a problem, or were not scanned."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        plan = db["tours"][any_of(random, db["tours"])]
        accounts = random.sample(sorted(db["accounts"]), random.randint(2, 4))
        sizes = [random.choice([1, 2, 2, 3]) for _ in accounts]
        while sum(sizes) < len(must):
            sizes[random.randrange(len(sizes))] += 1
        kinds = [*must, *[random.choice(may) for _ in range(sum(sizes) - len(must))]]
        random.shuffle(kinds)
        tags = fresh_ids(random, "B", len(kinds) + 1, 5)
        bins = [
            {"tag": tag, "stream": random.choice(STREAMS), "kind": kind}
            for tag, kind in zip(tags[1:], kinds, strict=True)
        ]
        scanned = [(row["tag"], row["kind"]) for row in bins if row["kind"] != "unscanned"]
        if random.random() < 0.5:
            scanned.append((tags[0], random.choice(["emptied", "problem"])))
        random.shuffle(scanned)
        times = sorted(random.sample(range(6 * 60, 14 * 60), len(scanned)))
        db["scans"][f"{plan['vehicle']}/{plan['day']}"] = {
            "scans": [
                {
                    "tag": tag,
                    "at": f"{at // 60:02}:{at % 60:02}",
                    "kg": 0 if kind == "problem" else random.randint(3, 60),
                    "problem": random.choice(PROBLEMS) if kind == "problem" else None,
                }
                for at, (tag, kind) in zip(times, scanned, strict=True)
            ]
        }
        stops: list[dict[str, Any]] = []
        for account, size in zip(accounts, sizes, strict=True):
            own, bins = bins[:size], bins[size:]
            listed = [{"tag": row["tag"], "stream": row["stream"]} for row in own]
            stops.append({"account_no": account, "bins": listed})
        plan["stops"] = stops
        return {"tour_id": plan["tour_id"]}

    return drawn


MISSED_BINS = ApiTask(
    name="missed_bins",
    split="report",
    world=WASTE,
    precise=(
        "List the bins of a tour that were not emptied, so that the households can be called. A bin of the plan was "
        "emptied if the tour's vehicle scanned its tag on the tour's day without a problem. Answer with a list of one "
        "object for each bin that was not, in the order of the stops and of their bins: `tag` (of the bin), `why` (the "
        "problem of its scan, or `not scanned` if there is no scan of it), `name` and `phone` (of the contact of the "
        "stop's account). Scans of bins that are not in the plan are ignored. The list is empty if all were emptied."
    ),
    casual=(
        "which bins on this tour did we miss? match the plan's bins with what the truck scanned that day. a bin is "
        "fine if it has a scan with no problem. for each other one, in the order of the plan: {tag, why: the scan's "
        "problem or 'not scanned', name, phone} (name/phone of the account's contact). scanned bins that aren't in the "
        "plan don't matter. nothing missed = empty list"
    ),
    inputs={"tour_id": text("id of the tour")},
    gold="""
        tour = get_collection_tour(tour_id=tour_id)
        log = get_vehicle_scans(vehicle=tour["vehicle"], day=tour["day"])
        missed = []
        for stop in tour["stops"]:
            for container in stop["bins"]:
                found = [scan for scan in log["scans"] if scan["tag"] == container["tag"]]
                why = "not scanned"
                if len(found) > 0:
                    why = found[0]["problem"]
                if why is not None:
                    account = get_waste_account(account_no=stop["account_no"])
                    name = account["contact"]["name"]
                    phone = account["contact"]["phone"]
                    missed.append({"tag": container["tag"], "why": why, "name": name, "phone": phone})
        return missed
    """,
    arms={
        "problems": tour(["problem"], ("problem", "emptied", "emptied")),
        "unscanned": tour(["unscanned"], ("unscanned", "emptied", "emptied")),
        "both": tour(["problem", "unscanned", "emptied"], ("problem", "unscanned", "emptied")),
        "all_emptied": tour([], ("emptied",)),
    },
    tests_only={"no_scans": tour([], ("unscanned",))},
)

TASKS: dict[str, ApiTask] = {
    "lookups": PICKUP_CARD,
    "branches": DISPUTE_TRIAGE,
    "filters": REORDER_REPEATS,
    "totals": TABLETS_LEFT,
    "paging": MANDATE_SWEEP,
    "polling": LOCK_CAR,
    "early_exit": CAR_FOR_GROUP,
    "joins": MISSED_BINS,
}
"""By family."""
