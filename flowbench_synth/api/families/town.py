"""Tasks of an agency for holiday flats, a law office, a university and a town council, one of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Sampler, World, text
from flowbench_synth.api.drawing import any_of, cents, company, day, email_of, fresh_id, fresh_ids, person

AREAS = ("Old Harbour", "Castle Hill", "Riverside", "Station Quarter")
FLATS = (
    "Seagull Loft", "Lantern House", "The Boathouse", "Garden Studio", "Rope Maker's Flat", "Miller's Attic",
    "Blue Door", "Canal View", "The Old Bakery", "Sundial Rooms", "Weaver's Nook", "Chestnut Court",
)  # fmt: skip
STREETS = ("Mill Lane", "Quay Street", "Abbey Row", "Cooper's Yard", "Bell Passage", "Market Walk")


def people(random: Random, count: int) -> list[str]:
    """Different names."""
    names: list[str] = []
    while len(names) < count:
        name = person(random)
        if name not in names:
            names.append(name)
    return names


# The agency for holiday flats


def lettings(random: Random) -> Database:
    """Seven flats in two areas, and three bookings."""
    start = day("2025-03-01", random.randrange(500))
    names = people(random, 6)
    hosts = {
        id: {
            "id": id,
            "full_name": name,
            "mobile": f"+44 7{random.randrange(100, 999)} {random.randrange(10**5, 10**6)}",
        }
        for id, name in zip(fresh_ids(random, "HO", 3, 3), names, strict=False)
    }
    guests = {
        id: {
            "id": id,
            "full_name": name,
            "contact": {
                "email": email_of(name),
                "phone": random.choice([None, f"+49 {random.randrange(10**7, 10**8)}"]),
            },
        }
        for id, name in zip(fresh_ids(random, "GU", 3, 4), names[3:], strict=True)
    }
    areas = random.sample(AREAS, 2)
    ranks = random.sample(range(1, 40), 7)
    flats: dict[str, Any] = {}
    for number, (id, title) in enumerate(zip(fresh_ids(random, "F", 7, 3), random.sample(FLATS, 7), strict=True)):
        flats[id] = {
            "id": id,
            "title": title,
            "area": areas[number // 5],
            "street": f"{random.choice(STREETS)} {random.randint(1, 80)}",
            "sleeps": random.randint(2, 7),
            "per_night": random.randint(70, 160),
            "open": random.random() < 0.8,
            "rank": ranks[number],
            "access": {
                "door_code": str(random.randrange(1_000, 9_999)),
                "keys_from": f"{random.randint(14, 18)}:{random.choice(['00', '15', '30'])}",
            },
            "host_id": any_of(random, hosts),
            "taken": [],
        }  # fmt: skip
    rows: dict[str, Any] = {}
    for id, guest in zip(fresh_ids(random, "HB", 3), guests, strict=True):
        nights, arrival = random.randint(2, 14), day(start, random.randint(10, 120))
        flat = any_of(random, flats)
        rows[id] = {
            "no": id,
            "guest": {"id": guest},
            "flat_id": flat,
            "arrival": arrival,
            "departure": day(arrival, nights),
            "nights": nights,
            "party": random.randint(1, 5),
            "price": {
                "per_night": flats[flat]["per_night"] - random.randint(1, 12),
                "cleaning": cents(random, 30, 95),
                "deposit": cents(random, 40, 130),
            },
            "state": "confirmed",
        }
    return {"flats": flats, "hosts": hosts, "guests": guests, "bookings": rows, "cases": {}}


LETTINGS = World("lettings", lettings)


def stay(low: int, high: int, deposit: bool = True) -> Sampler:
    """Draws a booking of a number of nights between limits, with or without a deposit."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["bookings"][any_of(random, db["bookings"])]
        row["nights"] = random.randint(low, high)
        row["departure"] = day(row["arrival"], row["nights"])
        row["price"]["deposit"] = cents(random, 20, 90) if deposit else 0.0
        return {"booking_no": row["no"]}

    return drawn


ARRIVAL_NOTE = ApiTask(
    name="arrival_note",
    split="report",
    world=LETTINGS,
    precise=(
        "Prepare the note that a guest gets before the arrival. From the number of a booking, answer with an object of "
        "`to`, `subject`, `body` and `due`. `to` is the guest's e-mail address. `subject` is `<title of the flat>, "
        "<arrival> to <departure>`. `body` is `Dear <full name of the guest>, the keys are at <street> from <time from "
        "which the keys are there>. Door code: <door code>. Questions? <full name of the host>, <mobile of the host>`. "
        "`due` is what is still to be paid: the nights times the booking's price per night, plus its cleaning fee, "
        "minus the deposit, rounded to two decimals."
    ),
    casual=(
        "write the pre-arrival note for this booking -> {to, subject, body, due}. to = guest's mail. subject: '<flat "
        "title>, <arrival> to <departure>'. body: 'Dear <guest full name>, the keys are at <street> from <keys from>. "
        "Door code: <door code>. Questions? <host full name>, <host mobile>'. due = nights x the nightly price in the "
        "booking + cleaning - deposit, 2 decimals"
    ),
    inputs={"booking_no": text("number of the booking")},
    gold="""
        booking = get_flat_booking(booking_no=booking_no)
        guest = get_guest(guest_id=booking["guest"]["id"])
        flat = get_flat(flat_id=booking["flat_id"])
        host = get_host(host_id=flat["host_id"])
        subject = f"{flat['title']}, {booking['arrival']} to {booking['departure']}"
        keys = f"the keys are at {flat['street']} from {flat['access']['keys_from']}."
        help = f"Questions? {host['full_name']}, {host['mobile']}"
        body = f"Dear {guest['full_name']}, {keys} Door code: {flat['access']['door_code']}. {help}"
        price = booking["price"]
        due = round(booking["nights"] * price["per_night"] + price["cleaning"] - price["deposit"], 2)
        return {"to": guest["contact"]["email"], "subject": subject, "body": body, "due": due}
    """,
    arms={"short": stay(1, 3), "long": stay(5, 21), "no_deposit": stay(1, 12, deposit=False)},
)


def unfit(random: Random, flat: dict[str, Any], booking: dict[str, Any], why: str) -> None:
    """Makes a flat unfit for a booking, for one reason."""
    if why == "open":
        flat["open"] = False
    elif why == "sleeps":
        flat["sleeps"] = booking["party"] - random.randint(1, booking["party"] - 1)
    elif why == "price":
        flat["per_night"] = booking["price"]["per_night"] + random.randint(21, 60)
    else:
        begins = day(booking["arrival"], random.randint(-5, booking["nights"] - 1))
        ends = max(day(begins, random.randint(1, 9)), day(booking["arrival"], random.randint(1, 4)))
        flat["taken"] = [{"from": begins, "to": ends, "note": random.choice(["another booking", "the owner", "works"])}]


def homeless(found_at: Sequence[int], edge: bool = False) -> Sampler:
    """Draws a booking whose first fitting candidate has one of these places among four; 4 for none that fits.

    With `edge` that candidate fits as barely as can be.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        flats = sorted(db["flats"].values(), key=lambda flat: flat["rank"])
        area = max((flat["area"] for flat in flats), key=[flat["area"] for flat in flats].count)
        near = [flat for flat in flats if flat["area"] == area]
        booking = db["bookings"][any_of(random, db["bookings"])]
        home = random.choice(near)
        booking.update(flat_id=home["id"], party=random.randint(2, 5))
        home.update(open=random.random() < 0.5, sleeps=booking["party"] + random.randint(0, 3))
        booking["price"]["per_night"] = random.randint(70, 140)
        home["per_night"] = booking["price"]["per_night"] + random.randint(0, 9)
        first = random.choice(found_at)
        reasons = random.sample(["open", "sleeps", "price", "taken"], 4)
        for place, flat in enumerate(flat for flat in near if flat is not home):
            flat.update(open=True, sleeps=booking["party"] + random.randint(0, 3), taken=[])
            flat["per_night"] = booking["price"]["per_night"] + random.randint(-30, 20)
            if place < first or (place > first and random.random() < 0.4):
                unfit(random, flat, booking, reasons[place])
            elif place == first and edge:
                flat.update(sleeps=booking["party"], per_night=booking["price"]["per_night"] + 20)
                before = {"from": day(booking["arrival"], -4), "to": booking["arrival"], "note": "another booking"}
                after = {"from": booking["departure"], "to": day(booking["departure"], 3), "note": "the owner"}
                flat["taken"] = [before, after]
        return {"booking_no": booking["no"]}

    return drawn


REHOUSE_BOOKING = ApiTask(
    name="rehouse_booking",
    split="report",
    world=LETTINGS,
    precise=(
        "The flat of a booking cannot be used; find another one. Go through the flats of the same area in the order in "
        "which they are listed, leaving out the booking's own flat. A flat fits if it is open, sleeps at least the "
        "party of the booking, costs at most 20 more per night than the booking's price per night, and its calendar is "
        "free from the arrival to the departure. Move the booking to the first flat that fits and answer with an "
        "object of `flat` (its title), `voucher` (the number of the new voucher) and `extra`: how much more than the "
        "booking's price per night the flat costs for all nights of the booking together, 0 if it does not cost more. "
        "If no flat fits, hand the booking to the service desk with the note `no flat left in <area>` and answer with "
        "null `flat`, `voucher` and `extra`."
    ),
    casual=(
        "flat's unusable, rehouse the booking. take the first other flat in the same area (in listed order) that's "
        "open, sleeps the party, is max 20 a night pricier than what they booked at (20 is ok) and is free for their "
        "dates. move them -> {flat: title, voucher, extra}, extra = nightly difference x nights (0 if the new one "
        "isn't pricier). nothing fits: give it to the service desk, note 'no flat left in <area>', all three null"
    ),
    inputs={"booking_no": text("number of the booking")},
    gold="""
        booking = get_flat_booking(booking_no=booking_no)
        home = get_flat(flat_id=booking["flat_id"])
        near = search_flats(area=home["area"])
        for flat in near["flats"]:
            if flat["id"] == home["id"] or not flat["open"] or flat["sleeps"] < booking["party"]:
                continue
            more = flat["per_night"] - booking["price"]["per_night"]
            if more > 20:
                continue
            dates = check_calendar(flat_id=flat["id"], arrival=booking["arrival"], departure=booking["departure"])
            if dates["free"]:
                moved = move_flat_booking(booking_no=booking_no, flat_id=flat["id"])
                return {"flat": flat["title"], "voucher": moved["voucher"], "extra": max(more, 0) * booking["nights"]}
        open_desk_case(booking_no=booking_no, note=f"no flat left in {home['area']}")
        return {"flat": None, "voucher": None, "extra": None}
    """,
    arms={
        "first": homeless((0,)),
        "second": homeless((1,)),
        "later": homeless((2, 3)),
        "none": homeless((4,)),
    },
    tests_only={"barely": homeless((0, 1, 2), edge=True)},
)

# The law office

SUBJECTS = ("Statement of defence", "Appeal", "Reply to the court", "Filing fee", "Witness list", "Annual return")
GRADES = ("partner", "counsel", "associate")
CODES = {"LIT": "Litigation", "TAX": "Tax", "EMP": "Employment"}
RATES = (148.2, 164.4, 187.6, 212.8, 236.2, 259.6, 284.4)


def chambers(random: Random) -> Database:
    """Five lawyers in three practices, four matters, eight deadlines and the time of two months."""
    today = day("2025-02-01", random.randrange(600))
    lawyers = {
        id: {"id": id, "name": name, "grade": random.choice(GRADES), "leave": None}
        for id, name in zip(fresh_ids(random, "LW", 5, 3), people(random, 5), strict=True)
    }
    practices = {code: {"code": code, "title": title, "head": any_of(random, lawyers)} for code, title in CODES.items()}
    matters: dict[str, Any] = {}
    for id in fresh_ids(random, "M-", 4):
        lead, stand_in = random.sample(sorted(lawyers), 2)
        matters[id] = {
            "no": id,
            "client": company(random),
            "practice": random.choice(list(CODES)),
            "team": {"lead": lead, "stand_in": random.choice([None, stand_in])},
            "budget": {"monthly": random.choice([None, random.randrange(10, 60) * 50]), "currency": "EUR"},
        }
    deadlines = {
        id: {
            "id": id,
            "matter_no": any_of(random, matters),
            "subject": random.choice(SUBJECTS),
            "due_on": day(today, random.randint(1, 40)),
            "done_on": None if random.random() < 0.8 else day(today, -random.randint(1, 9)),
            "owner": any_of(random, lawyers),
        }
        for id in fresh_ids(random, "DL", 8, 4)
    }
    time: dict[str, Any] = {matter: {"entries": []} for matter in matters}
    for id in fresh_ids(random, "TE", 3, 4):
        time[any_of(random, matters)]["entries"].append(entry(random, id, any_of(random, lawyers), today[:7]))
    return {
        "today": today, "lawyers": lawyers, "practices": practices, "matters": matters, "deadlines": deadlines,
        "matter_time": time,
    }  # fmt: skip


def entry(random: Random, id: str, lawyer: str, month: str) -> dict[str, Any]:
    """Time that a lawyer recorded in a month."""
    return {
        "entry": id,
        "day": f"{month}-{random.randint(1, 28):02}",
        "lawyer_id": lawyer,
        "hours": random.randint(2, 70) / 20,
        "rate": random.choice(RATES),
        "billable": random.random() < 0.75,
        "written_off": random.random() < 0.2,
    }


CHAMBERS = World("chambers", chambers)


def away(stand_in: Sequence[bool], places: Sequence[str], planned: bool = True) -> Sampler:
    """Draws a lawyer with a leave.

    Args:
        stand_in: Whether the matters of the lawyer's deadlines have a stand-in, in turn.
        places: Where the deadlines lie: `in`, `before`, `after`, `first` or `last` (day), `done` (in the leave).
        planned: Whether the leave is planned at all.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["lawyers"])
        others = [other for other in sorted(db["lawyers"]) if other != id]
        begins, length = random.randint(5, 20), random.randint(4, 15)
        leave = {"first_day": day(db["today"], begins), "last_day": day(db["today"], begins + length)}
        db["lawyers"][id]["leave"] = leave if planned else None
        for practice in db["practices"].values():
            practice["head"] = random.choice(others)
        turns = random.sample(list(stand_in), len(stand_in))
        for number, matter in enumerate(db["matters"].values()):
            head = db["practices"][matter["practice"]]["head"]
            deputy = random.choice([other for other in others if other != head])
            matter["team"].update(lead=id, stand_in=deputy if turns[number % len(turns)] else None)
        rows = random.sample(list(db["deadlines"].values()), 8)
        matters = random.sample(sorted(db["matters"]), 4)
        for number, row in enumerate(rows):
            if number >= len(places):
                row["owner"] = random.choice(others)
                row["due_on"] = day(db["today"], begins + random.randint(0, length))
                continue
            place = places[number]
            offset = {
                "before": -random.randint(1, 4),
                "after": length + random.randint(1, 9),
                "first": 0,
                "last": length,
            }
            due = offset.get(place, random.randint(1, length - 1))
            done = day(db["today"], -random.randint(1, 9)) if place == "done" else None
            row.update(owner=id, matter_no=matters[number % 4], due_on=day(db["today"], begins + due), done_on=done)
        return {"lawyer_id": id}

    return drawn


def mixed_leave(random: Random, db: Database) -> dict[str, Any]:
    places = [*random.choices(["in", "in", "first", "last"], k=3), "before", random.choice(["done", "after"])]
    return away((True, False), random.sample(places, len(places)))(random, db)


def quiet_leave(random: Random, db: Database) -> dict[str, Any]:
    return away((True, False), random.choices(["before", "after", "done"], k=random.randint(2, 4)))(random, db)


def covered_leave(random: Random, db: Database) -> dict[str, Any]:
    return away((True,), [*["in"] * random.randint(1, 3), "done", "after"])(random, db)


def uncovered_leave(random: Random, db: Database) -> dict[str, Any]:
    return away((False,), ["before", *["in"] * random.randint(1, 3), "done"])(random, db)


def no_leave(random: Random, db: Database) -> dict[str, Any]:
    return away((True, False), ["in", "in", "before"][: random.randint(1, 3)], planned=False)(random, db)


HAND_OVER_DEADLINES = ApiTask(
    name="hand_over_deadlines",
    split="report",
    world=CHAMBERS,
    precise=(
        "Hand over the deadlines that fall into a lawyer's next leave. These are the deadlines of the lawyer that are "
        "still open (no `done_on`) and due on or after the first day of the leave and on or before its last day. Each "
        "of them goes to the stand-in of its matter; if the matter has no stand-in, to the head of the practice of the "
        "matter. Answer with a list, in the order in which the deadlines are listed, of an object of `deadline` (its "
        "id) and `to` (the name of the lawyer who is responsible now) for each deadline that was handed over. If no "
        "leave is planned or nothing falls into it, the list is empty and nothing is changed."
    ),
    casual=(
        "lawyer's going on leave, pass on whatever deadlines of theirs are due in it (first and last day included) and "
        "aren't done yet: to the matter's stand-in, or when there is none to the head of the matter's practice. give "
        "me [{deadline: id, to: name of the new owner}] in listed order. no leave planned -> []"
    ),
    inputs={"lawyer_id": text("id of the lawyer")},
    gold="""
        lawyer = get_lawyer(lawyer_id=lawyer_id)
        leave = lawyer["leave"]
        if leave is None:
            return []
        found = deadlines_of_lawyer(lawyer_id=lawyer_id)
        moved = []
        for deadline in found["deadlines"]:
            inside = leave["first_day"] <= deadline["due_on"] and deadline["due_on"] <= leave["last_day"]
            if inside and deadline["done_on"] is None:
                matter = get_matter(matter_no=deadline["matter_no"])
                to = matter["team"]["stand_in"]
                if to is None:
                    practice = get_practice(code=matter["practice"])
                    to = practice["head"]
                handed = reassign_deadline(deadline_id=deadline["id"], lawyer_id=to)
                moved.append({"deadline": deadline["id"], "to": handed["owner"]["name"]})
        return moved
    """,
    arms={
        "mixed": mixed_leave,
        "stand_ins": covered_leave,
        "heads": uncovered_leave,
        "nothing_due": quiet_leave,
        "no_leave": no_leave,
    },
    tests_only={"edges": away((True, False), ("first", "before", "last", "after"))},
)


def month_of(charged: int, other: int, budget: str | None) -> Sampler:
    """Draws a matter and a month with time that is charged and other time.

    The budget is `small` or `large`, measured by what is charged; None for no budget.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        no = any_of(random, db["matters"])
        month = day(db["today"], random.randint(-60, 0))[:7]
        before = day(f"{month}-01", -3)[:7]
        rows: list[dict[str, Any]] = []
        ids = fresh_ids(random, "TE", 9, 5)
        for number in range(charged + other + 2):
            row = entry(random, ids[number], any_of(random, db["lawyers"]), month)
            row.update(billable=True, written_off=False)
            if charged <= number < charged + other:
                billable = (number + len(no) + int(no[-1])) % 2 == 0
                row.update(billable=billable, written_off=billable or random.random() < 0.3)
            elif number >= charged + other:
                row["day"] = f"{before}-{random.randint(1, 28):02}"
            rows.append(row)
        value = sum(row["hours"] * row["rate"] for row in rows[:charged])
        share = random.uniform(0.3, 0.9) if budget == "small" else random.uniform(1.05, 1.9)
        monthly = None if budget is None else round(value * share / 10) * 10 if value else random.randrange(10, 90) * 10
        db["matters"][no]["budget"]["monthly"] = monthly
        db["matter_time"][no]["entries"] = sorted(rows, key=lambda row: row["day"])
        return {"matter_no": no, "month": month}

    return drawn


def some_time(budget: str | None, least: int = 1) -> Sampler:
    """Draws a matter with a number of charged and other entries."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        return month_of(random.randint(least, 4), random.randint(0, 3), budget)(random, db)

    return drawn


def nothing_charged(random: Random, db: Database) -> dict[str, Any]:
    return month_of(0, random.randint(1, 3), "large")(random, db)


BUDGET_OF_MATTER = ApiTask(
    name="budget_of_matter",
    split="report",
    world=CHAMBERS,
    precise=(
        "Compare what was worked on a matter in a month with the monthly budget of the matter. Only time that is "
        "billable and not written off is charged. Answer with an object of `hours`, the charged hours; `value`, the "
        "sum of hours times rate of the charged time; `left_out`, the number of entries of the month that are not "
        "charged; and `over`, by how much the value exceeds the budget: 0 if it does not, null if the matter has no "
        "monthly budget. `hours`, `value` and `over` are rounded to two decimals."
    ),
    casual=(
        "how does this matter's month look against its monthly budget? count only billable time that isn't written "
        "off: {hours, value: sum of hours x rate, left_out: how many entries of that month we didn't count, over: "
        "value minus budget but 0 when we're inside it and null when there is no budget}. 2 decimals"
    ),
    inputs={"matter_no": text("number of the matter"), "month": text("the month, as YYYY-MM")},
    gold="""
        matter = get_matter(matter_no=matter_no)
        entries = time_of_matter(matter_no=matter_no, month=month)
        charged = [row for row in entries if row["billable"] and not row["written_off"]]
        hours = round(sum(row["hours"] for row in charged), 2)
        charge = round(sum(row["hours"] * row["rate"] for row in charged), 2)
        budget = matter["budget"]["monthly"]
        over = None
        if budget is not None:
            over = max(0, round(charge - budget, 2))
        return {"hours": hours, "value": charge, "left_out": len(entries) - len(charged), "over": over}
    """,
    arms={
        "over": some_time("small", least=2),
        "within": some_time("large"),
        "no_budget": some_time(None),
        "nothing": nothing_charged,
    },
)

# The university

COURSES = (
    "Contract Law", "Public Choice", "Organic Chemistry", "Linear Models", "Roman History", "Cell Biology",
    "Labour Economics", "Graph Theory", "Urban Planning", "Phonetics",
)  # fmt: skip
SUBJECT_CODES = ("LAW", "CHE", "STA", "HIS", "BIO", "ECO", "MAT", "GEO", "LIN")
EXCUSES = ("sick note", "field trip", "jury service", "parental leave")
BUILDINGS = ("North Hall", "Library Wing", "Main Building", "Sports Hall")
HOURS = ("08:30", "09:15", "10:00", "11:30", "13:00", "14:45", "16:00", "17:30")


def campus(random: Random) -> Database:
    """Four courses with their rolls, four rooms and five exams on two days."""
    today = day("2025-01-06", random.randrange(2_500))
    courses: dict[str, Any] = {}
    numbers = random.sample(range(101, 999), 4)
    for number, title in zip(numbers, random.sample(COURSES, 4), strict=True):
        code, name = f"{random.choice(SUBJECT_CODES)}{number}", person(random)
        held = random.choice([10, 12, 14, 15, 20])
        courses[code] = {
            "code": code,
            "title": title,
            "lecturer": {"name": name, "email": email_of(name)},
            "rules": {"min_attendance": random.choice([60, 70, 75, 80]), "max_absences": random.randint(2, 5)},
            "roll": [student(random, name, held) for name in people(random, 2)],
        }
    rooms = {
        code: {
            "code": code,
            "building": random.choice(BUILDINGS),
            "seats": seats,
            "desks": 2 * seats + random.randint(0, 5),
        }
        for code, seats in zip(fresh_ids(random, "R", 4, 3), random.sample(range(20, 120), 4), strict=True)
    }
    exams = {
        id: {
            "id": id,
            "course_code": any_of(random, courses),
            "room": random.choice([None, any_of(random, rooms)]),
            "day": day(today, random.randint(30, 31)),
            "starts": random.choice(HOURS),
            "registered": random.randint(12, 130),
        }
        for id in fresh_ids(random, "EX", 5, 4)
    }
    return {"today": today, "courses": courses, "exam_rooms": rooms, "exams": exams}


def student(random: Random, name: str, held: int) -> dict[str, Any]:
    """A line of the roll of a course."""
    return {
        "number": fresh_id(random, "s", 6),
        "name": name,
        "status": random.choice(["active", "active", "active", "withdrawn", "auditing"]),
        "held": held,
        "attended": random.randint(held // 4, held),
        "excuse": random.choice([None, None, random.choice(EXCUSES)]),
    }


CAMPUS = World("campus", campus)


def roll(low: int, high: int, risky: bool = True, edge: bool = False) -> Sampler:
    """Draws a course with a roll of a length between limits.

    Without `risky` nobody active without an excuse attended too seldom; with `edge` some attended just often enough.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        course = db["courses"][any_of(random, db["courses"])]
        held = random.choice([10, 20])
        course["rules"]["min_attendance"] = least = random.choice([60, 70, 80])
        enough = held * least // 100
        count = random.randint(low, high)
        course["roll"] = lines = [student(random, name, held) for name in people(random, count)]
        for line in lines:
            if random.random() < 0.2:
                line["held"], line["attended"] = held - 5, random.randint(1, held - 5)
        if risky:
            lucky = random.sample(lines, max(1, count // 3))
            for line in lucky:
                line.update(status="active", excuse=None, held=held, attended=random.randint(2, enough - 1))
        if edge:
            for line in random.sample(lines, max(1, count // 3)):
                line.update(status="active", excuse=None, held=held, attended=enough)
        if not risky:
            for line in lines:
                if line["status"] == "active" and line["excuse"] is None:
                    line.update(held=held, attended=random.randint(enough, held))
        return {"course_code": course["code"]}

    return drawn


AT_RISK = ApiTask(
    name="at_risk",
    split="report",
    world=CAMPUS,
    precise=(
        "Find the students of a course whose attendance is too low. Go through all pages of the roll of the course. A "
        "student is at risk who is `active`, has no excuse, and attended less than the course's minimum attendance, in "
        "percent of the sessions held; who attended exactly that share is not at risk. Answer with an object of "
        "`report_to`, the e-mail address of the lecturer; `active`, the number of all active students of the roll; and "
        "`at_risk`, a list of the texts `<name> (<attended>/<held>)` of the students at risk, in the order of the roll."
    ),
    casual=(
        "who's skipping too much in this course? read the whole roll. only active students without an excuse, and "
        "their share of attended sessions has to be below the course's min attendance percentage (exactly on it is "
        "fine). {report_to: lecturer's mail, active: how many active students in total, at_risk: ['<name> "
        "(<attended>/<held>)', ...] in roll order}"
    ),
    inputs={"course_code": text("code of the course")},
    gold="""
        course = get_course(course_code=course_code)
        least = course["rules"]["min_attendance"]
        active = 0
        at_risk = []
        cursor = None
        while True:
            page = course_roll(course_code=course_code, cursor=cursor)
            for entry in page["entries"]:
                if entry["status"] == "active":
                    active += 1
                    sessions = entry["sessions"]
                    if entry["excuse"] is None and 100 * sessions["attended"] < least * sessions["held"]:
                        at_risk.append(f"{entry['student']['name']} ({sessions['attended']}/{sessions['held']})")
            cursor = page["next_cursor"]
            if cursor is None:
                break
        return {"report_to": course["lecturer"]["email"], "active": active, "at_risk": at_risk}
    """,
    arms={
        "one_page": roll(2, 3),
        "two_pages": roll(4, 6),
        "three_pages": roll(7, 9),
        "nobody": roll(3, 7, risky=False),
    },
    tests_only={"just_enough": roll(4, 8, edge=True)},
)


def exam_day(kinds: Sequence[str], count: int) -> Sampler:
    """Draws a day with exams of these kinds: `fits`, `full` (just fits), `short` or `no_room`."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        date = day(db["today"], random.randint(20, 60))
        rows = random.sample(list(db["exams"].values()), 5)
        hours = random.sample(HOURS, 5)
        for number, row in enumerate(rows):
            row["day"], row["starts"] = date, hours[number]
            if number >= count:
                row["day"] = day(date, random.choice([-1, 1]))
                continue
            kind = kinds[number] if number < len(kinds) else random.choice(kinds)
            room = db["exam_rooms"][any_of(random, db["exam_rooms"])]
            row["room"] = None if kind == "no_room" else room["code"]
            if kind != "no_room":
                less, more = random.randint(1, room["seats"] // 2), random.randint(1, 25)
                row["registered"] = room["seats"] + {"fits": -less, "full": 0, "short": more}[kind]
        return {"day": date}

    return drawn


def some_exams(*kinds: str) -> Sampler:
    """Draws a day with exams of each of these kinds, and perhaps more."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        return exam_day(kinds, random.randint(max(2, len(kinds)), 4))(random, db)

    return drawn


def no_exams(random: Random, db: Database) -> dict[str, Any]:
    return exam_day((), 0)(random, db)


EXAM_SEATS = ApiTask(
    name="exam_seats",
    split="report",
    world=CAMPUS,
    precise=(
        "List the exams of a day that do not have enough seats. The seats of an exam are the exam seats of its room; "
        "an exam that was given no room has none. Answer with a list, in the order in which the exams are listed, with "
        "an object for each exam with more registered students than seats: `course`, the title of its course; "
        "`starts`; `where`, the text `<building>, <code of the room>`, or null without a room; and `missing`, how many "
        "seats are missing."
    ),
    casual=(
        "which exams on that day don't have enough exam seats for the people registered? no room yet = 0 seats. "
        "[{course: title, starts, where: '<building>, <room code>' or null if there's no room, missing: number of "
        "seats we lack}], same order as the exam list"
    ),
    inputs={"day": text("the day, as YYYY-MM-DD")},
    gold="""
        listed = exams_on(day=day)
        rooms = exam_rooms()
        tight = []
        for exam in listed["exams"]:
            seats = 0
            where = None
            matching = [room for room in rooms if room["code"] == exam["room"]]
            if len(matching) > 0:
                seats = matching[0]["seats"]
                where = f"{matching[0]['building']}, {matching[0]['code']}"
            if exam["registered"] > seats:
                course = get_course(course_code=exam["course_code"])
                missing = exam["registered"] - seats
                tight.append({"course": course["title"], "starts": exam["starts"], "where": where, "missing": missing})
        return tight
    """,
    arms={
        "short": some_exams("short", "fits"),
        "no_room": some_exams("no_room", "fits"),
        "mixed": some_exams("short", "no_room", "fits"),
        "all_fit": some_exams("fits"),
    },
    tests_only={"full": some_exams("full", "short"), "no_exams": no_exams},
)

# The town council

PURPOSES = ("extension", "garage", "new house", "loft conversion", "shop front")
DOCUMENTS = ("site plan", "elevations", "energy report", "structural report", "neighbour consent", "drainage plan")
REFUSALS = ("title closed", "register under revision", "number unknown", "copy restricted by court")


def council(random: Random) -> Database:
    """Five applications on four parcels in three districts."""
    today = day("2025-01-10", random.randrange(700))
    names = people(random, 11)
    districts = {
        code: {
            "code": code,
            "officer": officer,
            "board": {"chair": chair, "next_session": day(today, random.randint(5, 60))},
        }
        for code, officer, chair in zip(("NW", "CE", "SE"), names[:3], names[3:6], strict=True)
    }
    parcels: dict[str, Any] = {}
    titles: dict[str, Any] = {}
    for id, title in zip(fresh_ids(random, "PC", 4, 4), fresh_ids(random, "T/", 4), strict=True):
        parcels[id] = {
            "id": id,
            "street": f"{random.choice(STREETS)} {random.randint(1, 120)}",
            "district": any_of(random, districts),
            "heritage": random.random() < 0.3,
            "title_no": title,
        }
        titles[title] = {
            "title_no": title,
            "owner": {"name": person(random), "since": day(today, -random.randint(100, 9_000))},
            "charges": [
                {"creditor": company(random), "amount": random.randrange(10, 300) * 1_000}
                for _ in range(random.randrange(3))
            ],
            "takes": random.randint(1, 4),
            "refusal": None,
        }
    rows = {
        id: {
            "reference": id,
            "purpose": random.choice(PURPOSES),
            "applicant": {"name": name, "email": email_of(name)},
            "parcel_id": any_of(random, parcels),
            "floor_area": random.randint(20, 400),
            "fee": {
                "amount": cents(random, 80, 900),
                "paid_on": random.choice([None, day(today, -random.randint(1, 60))]),
            },
            "missing": random.sample(DOCUMENTS, random.choice([0, 0, 1, 2, 3])),
            "officer": None,
        }
        for id, name in zip(fresh_ids(random, "BA-", 5), names[6:], strict=True)
    }  # fmt: skip
    return {
        "applications": rows, "parcels": parcels, "districts": districts, "titles": titles, "letters": {},
        "agendas": {}, "orders": {}, "reply_by": day(today, random.randint(14, 30)),
        "pay_by": day(today, random.randint(31, 45)), "clock": {"polls": 0},
    }  # fmt: skip


COUNCIL = World("council", council)


def application(
    area: tuple[int, int], heritage: bool | None, missing: Sequence[int] = (0,), paid: bool | None = True
) -> Sampler:
    """Draws an application with a floor area between limits; None for any of both."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["applications"][any_of(random, db["applications"])]
        row["floor_area"] = random.randint(*area)
        row["missing"] = random.sample(DOCUMENTS, random.choice(missing))
        is_paid = random.random() < 0.5 if paid is None else paid
        row["fee"]["paid_on"] = day(db["pay_by"], -random.randint(50, 90)) if is_paid else None
        protected = random.random() < 0.5 if heritage is None else heritage
        db["parcels"][row["parcel_id"]]["heritage"] = protected
        for district in db["districts"].values():
            before = [other for other in db["applications"] if other != row["reference"]]
            session = {"items": random.sample(before, random.randrange(4))}
            db["agendas"][district["board"]["next_session"]] = session
        return {"reference": row["reference"]}

    return drawn


NEXT_STEP = ApiTask(
    name="next_step",
    split="report",
    world=COUNCIL,
    precise=(
        "Take the next step with a building application, the first of these that applies. If documents are missing, "
        "ask the applicant for all of them: the answer is `documents by <day until which they have to be there>`. If "
        "the fee is not paid, demand its amount: `fee by <day until which it has to be paid>`. If the floor area is "
        "over 250 square metres or the parcel is protected as heritage, put the application on the agenda of the next "
        "session of the board of the parcel's district: `board on <day of the session>, item <number on the agenda>`. "
        "Otherwise hand it to the officer of the parcel's district: `with <officer>`."
    ),
    casual=(
        "move this building application along. documents missing? ask for them -> 'documents by <reply-by day>'. else "
        "fee not paid? demand it -> 'fee by <pay-by day>'. else anything over 250 m2 (250 itself isn't) or on a "
        "heritage parcel goes to the district board's next session -> 'board on <session day>, item <agenda number>'. "
        "everything else to the district's officer -> 'with <officer>'"
    ),
    inputs={"reference": text("reference of the application")},
    gold="""
        application = get_permit_application(reference=reference)
        if len(application["missing"]) > 0:
            asked = ask_for_documents(reference=reference, documents=application["missing"])
            return f"documents by {asked['reply_by']}"
        if application["fee"]["paid_on"] is None:
            demanded = demand_fee(reference=reference, amount=application["fee"]["amount"])
            return f"fee by {demanded['pay_by']}"
        parcel = get_parcel(parcel_id=application["parcel_id"])
        district = get_district(code=parcel["district"])
        if application["floor_area"] > 250 or parcel["heritage"]:
            tabled = table_at_board(reference=reference, session=district["board"]["next_session"])
            return f"board on {tabled['session']}, item {tabled['item']}"
        hand_to_officer(reference=reference, officer=district["officer"])
        return f"with {district['officer']}"
    """,
    arms={
        "documents": application((20, 400), None, missing=(1, 2, 3), paid=None),
        "fee": application((20, 400), None, paid=False),
        "large": application((255, 420), False),
        "heritage": application((20, 245), True),
        "officer": application((20, 245), False),
    },
    tests_only={
        "just_not_large": application((250, 250), False),
        "just_large": application((251, 251), False),
        "one_document": application((20, 400), None, missing=(1,)),
    },
)


def extract(takes: Sequence[int], own: bool | None, refused: bool = False) -> Sampler:
    """Draws an application whose extract takes a number of enquiries; with whether the applicant owns the land."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["applications"][any_of(random, db["applications"])]
        title = db["titles"][db["parcels"][row["parcel_id"]]["title_no"]]
        names = [other["applicant"]["name"] for other in db["applications"].values() if other is not row]
        is_own = random.random() < 0.5 if own is None else own
        title["owner"]["name"] = row["applicant"]["name"] if is_own else random.choice(names)
        title["charges"] = [
            {"creditor": company(random), "amount": random.randrange(10, 300) * 1_000}
            for _ in range(random.choice([2, 3] if is_own else [0, 1, 2]))
        ]
        title["takes"] = random.choice(takes)
        title["refusal"] = random.choice(REFUSALS) if refused else None
        return {"reference": row["reference"]}

    return drawn


OWNER_OF_LAND = ApiTask(
    name="owner_of_land",
    split="report",
    world=COUNCIL,
    precise=(
        "Find out whether the applicant of a building application owns the land. Order an extract for the title of the "
        "application's parcel and ask for the state of the order until it is `ready` or `refused`, at most five times. "
        "Answer with an object of `owner`, `applicant_owns`, `charges` and `problem`. When the extract is ready: the "
        "name of the owner, whether this is the applicant's name, the sum of the amounts of all charges (0 without "
        "charges) and null. When it is refused: null, null, null and the reason. If it is neither after the fifth "
        "time, cancel the order: null, null, null and `no extract`."
    ),
    casual=(
        "does the applicant actually own the plot? order the land register extract for the parcel's title, check up to "
        "5 times. ready -> {owner: name, applicant_owns: same name as the applicant or not, charges: total amount of "
        "all charges, problem: null}. refused -> owner, applicant_owns, charges null and problem = the reason. still "
        "nothing after 5 checks -> cancel the order, same nulls, problem 'no extract'"
    ),
    inputs={"reference": text("reference of the application")},
    gold="""
        application = get_permit_application(reference=reference)
        parcel = get_parcel(parcel_id=application["parcel_id"])
        order = order_extract(title_no=parcel["title_no"])
        checks = 0
        while checks < 5:
            progress = extract_state(order_no=order["order_no"])
            checks += 1
            if progress["state"] == "refused":
                return {"owner": None, "applicant_owns": None, "charges": None, "problem": progress["reason"]}
            if progress["state"] == "ready":
                extract = read_extract(order_no=order["order_no"])
                owner = extract["owner"]["name"]
                owns = owner == application["applicant"]["name"]
                charges = sum(charge["amount"] for charge in extract["charges"])
                return {"owner": owner, "applicant_owns": owns, "charges": charges, "problem": None}
        drop_order(order_no=order["order_no"])
        return {"owner": None, "applicant_owns": None, "charges": None, "problem": "no extract"}
    """,
    arms={
        "own": extract((1, 2, 3, 4), True),
        "foreign": extract((1, 2, 3, 4), False),
        "refused": extract((1, 2, 3), None, refused=True),
        "never": extract((7, 9, 12), None),
    },
    tests_only={"fifth": extract((5,), None), "sixth": extract((6,), None)},
)

TASKS: dict[str, ApiTask] = {
    "lookups": ARRIVAL_NOTE,
    "branches": NEXT_STEP,
    "filters": HAND_OVER_DEADLINES,
    "totals": BUDGET_OF_MATTER,
    "paging": AT_RISK,
    "polling": OWNER_OF_LAND,
    "early_exit": REHOUSE_BOOKING,
    "joins": EXAM_SEATS,
}
"""By family."""
