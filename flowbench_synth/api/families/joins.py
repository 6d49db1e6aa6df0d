"""Joins: lists inside records, records that belong together by an id, groups and totals over them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Family, Sampler, World, integer, text
from flowbench_synth.api.drawing import any_of, cents, company, day, email_of, fresh_id, fresh_ids, person

# A plant nursery

PLANTS = ("lavender", "rosemary", "fern", "ivy", "heather", "thyme")


def nursery(random: Random) -> Database:
    """Two buyers with three or four orders each."""
    buyers = fresh_ids(random, "BUY-", 2, 4)
    orders: dict[str, Any] = {}
    for buyer_id in buyers:
        for number in fresh_ids(random, "N", random.randint(3, 4)):
            lines: list[dict[str, Any]] = []
            for plant in random.sample(PLANTS, random.randint(1, 3)):
                pots = random.randint(2, 30)
                returned = random.choice([0, 0, random.randint(1, 2)])
                lines.append({"plant": plant, "pots": pots, "returned": returned, "pot_price": cents(random, 1, 9)})
            orders[number] = {
                "buyer_id": buyer_id,
                "state": random.choice(["open", "delivered", "delivered", "cancelled"]),
                "placed_on": day("2025-03-01", random.randrange(90)),
                "lines": lines,
                "discount": random.choice([None, 5, 10]),
            }
    return {"buyers": {id: {} for id in buyers}, "orders": orders}


NURSERY = World("nursery", nursery)


def buyer(*states: str, discount: int | None = 10, returned: int | None = None) -> Sampler:
    """Draws a buyer whose orders are in these states; the first one has the discount."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["buyers"])
        rows = [row for _, row in sorted(db["orders"].items()) if row["buyer_id"] == id]
        for place, row in enumerate(rows):
            row["state"] = states[place % len(states)]
            if returned is not None:
                row["lines"][0]["returned"] = row["lines"][0]["pots"] if returned else 0
        rows[0]["discount"] = discount
        return {"buyer_id": id}

    return drawn


BUYER_TURNOVER = ApiTask(
    name="buyer_turnover",
    split="tune",
    world=NURSERY,
    precise=(
        "Get the lines of each delivered order of the buyer. A line counts the pots that were not returned times the "
        "price of a pot; an order's sum is reduced by its discount, if it has one. Answer with the sum over these "
        "orders, rounded to 2 decimals at the end, or 0 if there are none."
    ),
    casual=(
        "how much did this buyer really spend? delivered orders only, returned pots dont count, and take off the "
        "order's discount % where there is one. one number, 2 decimals"
    ),
    inputs={"buyer_id": text("id of the buyer")},
    gold="""
        listed = orders_of_buyer(buyer_id=buyer_id)
        turnover = 0
        for order in listed["orders"]:
            if order["state"] == "delivered":
                detail = order_lines(number=order["number"])
                total = sum((line["pots"] - line["returned"]) * line["pot_price"] for line in detail["lines"])
                if detail["discount"] is not None:
                    total = total * (100 - detail["discount"]) / 100
                turnover += total
        return round(turnover, 2)
    """,
    arms={
        "some": buyer("delivered", "cancelled", "delivered", "open"),
        "all": buyer("delivered", discount=None, returned=0), "none": buyer("open", "cancelled"),
        "discounts": buyer("delivered", "delivered", "open", discount=5, returned=1),
    },
)  # fmt: skip

# A school


def school(random: Random) -> Database:
    """Two courses with three to five students each."""
    courses: dict[str, Any] = {id: {} for id in fresh_ids(random, "C", 2, 4)}
    students: dict[str, Any] = {}
    enrolments: dict[str, Any] = {}
    for course_id in sorted(courses):
        for student_id in fresh_ids(random, "ST-", random.randint(3, 5)):
            first, _, last = person(random).partition(" ")
            guardian = random.choice([None, {"email": email_of(f"{first} {last} {student_id[-2:]}")}])
            form = f"{random.randint(7, 12)}{random.choice('abc')}"
            students[student_id] = {"name": {"first": first, "last": last}, "form": form, "guardian": guardian}
            enrolments[fresh_id(random, "EN", 6)] = {
                "course_id": course_id,
                "student_id": student_id,
                "points": [random.randint(0, 30) for _ in range(random.randint(1, 4))],
                "left_on": random.choice([None, None, None, day("2025-02-01", random.randrange(60))]),
            }
    return {"courses": courses, "students": students, "enrolments": enrolments}


SCHOOL = World("school", school)


def course(points: Sequence[Sequence[int] | None], left: Sequence[int] = ()) -> Sampler:
    """Draws a course whose students have these points, drawn where they are None; some have left."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["courses"])
        rows = [row for _, row in sorted(db["enrolments"].items()) if row["course_id"] == id]
        for place, row in enumerate(rows):
            chosen = points[place % len(points)]
            row["points"] = list(chosen) if chosen is not None else [random.randint(0, 30) for _ in range(3)]
            row["left_on"] = day("2025-02-01", random.randrange(60)) if place in left else None
        return {"course_id": id}

    return drawn


COURSE_AVERAGES = ApiTask(
    name="course_averages",
    split="report",
    world=SCHOOL,
    precise=(
        "For each student who is still enrolled in the course, in the order of the list, answer with an object: `name` "
        "is the last name, a comma, a space and the first name; `average` is the mean of the student's points, rounded "
        "to 1 decimal, or null if there are no points yet."
    ),
    casual=(
        "i need the averages for this course: one {name: 'Last, First', average} per student who hasn't left, 1 "
        "decimal, null if no tests so far"
    ),
    inputs={"course_id": text("id of the course")},
    gold="""
        listed = list_enrolments(course_id=course_id)
        rows = []
        for enrolment in listed["enrolments"]:
            if enrolment["left_on"] is not None:
                continue
            student = get_student(student_id=enrolment["student_id"])
            average = None
            if len(enrolment["points"]) > 0:
                average = round(sum(enrolment["points"]) / len(enrolment["points"]), 1)
            name = student["name"]["last"] + ", " + student["name"]["first"]
            rows.append({"name": name, "average": average})
        return rows
    """,
    arms={
        "some have left": course([None], left=(1,)), "no points yet": course([None, [], None]), "all": course([None]),
        "one test": course([[], [17], [4, 9]], left=(0,)),
    },
    tests_only={"thirds": course([[1, 1, 2], [10, 10, 11]]), "all have left": course([None], left=(0, 1, 2, 3, 4))},
)  # fmt: skip

# A design studio

TASKS = ("logo", "website", "brochure", "poster", "signage", "catalogue")


def studio(random: Random) -> Database:
    """Two clients with two to four projects each, and a time sheet."""
    clients = [f"{company(random)} {place}" for place in random.sample(range(10, 99), 2)]
    projects: dict[str, Any] = {}
    for client in clients:
        for id in fresh_ids(random, "PR-", random.randint(2, 4), 4):
            closed = random.choice([None, None, day("2025-01-01", random.randrange(60))])
            budget = random.choice([None, {"minutes": random.randrange(100, 900)}])
            projects[id] = {"id": id, "client": client, "title": random.choice(TASKS), "budget": budget,
                            "closed_on": closed}  # fmt: skip
    month = f"{random.randint(2024, 2026)}-{random.randint(1, 12):02}"
    people = [person(random) for _ in range(3)]
    entries = [
        {
            "project_id": random.choice(sorted(projects)),
            "person": random.choice(people),
            "minutes": random.randrange(15, 400, 5),
            "billable": random.random() < 0.7,
        }
        for _ in range(random.randint(9, 12))
    ]
    return {
        "clients": {client: {} for client in clients},
        "projects": projects,
        "timesheets": {month: {"entries": entries}},
    }


STUDIO = World("studio", studio)


def client(kind: str = "") -> Sampler:
    """Draws a client: as drawn, without billable time (`idle`), with one minute of it (`minute`), without closed
    projects (`open`), with all closed (`closed`)."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        name = any_of(random, db["clients"])
        month = any_of(random, db["timesheets"])
        mine = [row for _, row in sorted(db["projects"].items()) if row["client"] == name]
        entries = db["timesheets"][month]["entries"]
        for row in mine:
            row["closed_on"] = {"open": None, "closed": "2025-02-11"}.get(kind, row["closed_on"])
        if kind != "closed":
            mine[0]["closed_on"] = None
        ids = [row["id"] for row in mine]
        for place, entry in enumerate(entries):
            if kind == "idle" and entry["project_id"] in ids:
                entry["billable"] = False
            elif kind != "idle" and place < 3:
                entry.update(project_id=ids[place % len(ids)], billable=place != 2)
            elif kind != "idle" and place == 3:
                entry.update(project_id=ids[0], billable=True)
            if kind == "minute" and entry["project_id"] == ids[0]:
                entry.update(minutes=1, billable=place == 3)
        return {"client": name, "month": month}

    return drawn


TIME_BY_PROJECT = ApiTask(
    name="time_by_project",
    split="tune",
    world=STUDIO,
    precise=(
        "For the open projects of the client, in the order of the list, add up the billable minutes of the month's "
        "time sheet. Answer with a list of objects of the project's `id`, `title` and `minutes`; leave out projects "
        "without billable minutes."
    ),
    casual=(
        "billable minutes per open project of this client for that month please (id, title, minutes), skip the ones "
        "with nothing on them"
    ),
    inputs={"client": text("name of the client"), "month": text("the month, YYYY-MM")},
    gold="""
        listed = list_projects(client=client)
        sheet = month_sheet(month=month)
        rows = []
        for project in listed["projects"]:
            if project["closed_on"] is not None:
                continue
            minutes = 0
            for entry in sheet["entries"]:
                if entry["project_id"] == project["id"] and entry["billable"]:
                    minutes += entry["minutes"]
            if minutes > 0:
                rows.append({"id": project["id"], "title": project["title"], "minutes": minutes})
        return rows
    """,
    arms={"mixed": client(), "nothing to bill": client("idle"), "all open": client("open")},
    tests_only={"all closed": client("closed"), "one minute": client("minute")},
)

# A public library

BOOKS = ("Tides", "The Orchard", "Small Maps", "North", "Glass Bells", "Salt", "A Long Walk", "Kites")


def library(random: Random) -> Database:
    """Two branches with three to five loans each."""
    branches: dict[str, Any] = {id: {} for id in fresh_ids(random, "BR", 2, 3)}
    members: dict[str, Any] = {}
    loans: dict[str, Any] = {}
    for branch_id in sorted(branches):
        for id in fresh_ids(random, "LN-", random.randint(3, 5)):
            member_id = fresh_id(random, "MB-")
            name = person(random)
            email = random.choice([None, email_of(f"{name} {member_id[-2:]}")])
            reach = {"email": email, "street": f"{random.choice(['Mill', 'Park', 'Bay'])} {random.randint(1, 90)}"}
            members[member_id] = {"name": name, "reach": reach}
            items = [
                {"title": title, "due_on": day("2025-04-01", 2 * random.randrange(40))}
                for title in random.sample(BOOKS, random.randint(1, 3))
            ]
            loans[id] = {"id": id, "branch_id": branch_id, "member_id": member_id, "items": items}
    return {"branches": branches, "members": members, "loans": loans, "reminders": {}, "letters": {}}


LIBRARY = World("library", library)


def overdue(*late: int, mail: bool | None = None, exact: bool = False) -> Sampler:
    """Draws a branch in which the loans have this many items that are due before a day, or on it if `exact`."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["branches"])
        today = day("2025-05-02", random.randrange(60))
        rows = [row for _, row in sorted(db["loans"].items()) if row["branch_id"] == id]
        for place, row in enumerate(rows):
            count = late[place % len(late)]
            titles = random.sample(BOOKS, max(count, random.randint(1, 3)))
            ages = [random.randint(1, 40) if at < count else -random.randint(1, 40) for at in range(len(titles))]
            random.shuffle(ages)
            ages = [0 if exact and age < 0 else age for age in ages]
            row["items"] = [
                {"title": title, "due_on": day(today, -age)} for title, age in zip(titles, ages, strict=True)
            ]
            member = db["members"][row["member_id"]]
            wanted = mail if mail is not None else place % 2 == 0
            member["reach"]["email"] = email_of(f"{member['name']} {row['member_id'][-2:]}") if wanted else None
        return {"branch_id": id, "day": today}

    return drawn


REMIND_MEMBERS = ApiTask(
    name="remind_members",
    split="report",
    world=LIBRARY,
    precise=(
        "For each loan of the branch with at least one item that was due before `day`, remind its member, in the order "
        "of the list: by e-mail if the member's address is known, otherwise with a letter. The text is `Please return "
        "<count> overdue item(s), the oldest was due on <day>.` Answer with an object of the number of `mails` and the "
        "number of `letters`."
    ),
    casual=(
        "chase the overdue stuff at this branch (due before that day). mail if we have an address, letter if not, "
        "text: 'Please return <count> overdue item(s), the oldest was due on <day>.' tell me how many mails and "
        "letters went out"
    ),
    inputs={"branch_id": text("id of the branch"), "day": text("the day, YYYY-MM-DD")},
    gold="""
        listed = list_loans(branch_id=branch_id)
        mails = 0
        letters = 0
        for loan in listed["loans"]:
            due = [item["due_on"] for item in loan["items"] if item["due_on"] < day]
            if len(due) == 0:
                continue
            message = f"Please return {len(due)} overdue item(s), the oldest was due on {min(due)}."
            member = get_member(member_id=loan["member_id"])
            if member["reach"]["email"] is None:
                print_letter(member_id=loan["member_id"], text=message)
                letters += 1
            else:
                send_reminder_mail(email=member["reach"]["email"], text=message)
                mails += 1
        return {"mails": mails, "letters": letters}
    """,
    arms={"both": overdue(2, 1, 0), "mails": overdue(1, 0, mail=True), "none": overdue(0), "letters": overdue(0, 3,
    mail=False)},
    tests_only={"due on the day": overdue(1, 0, 2, exact=True)},
)  # fmt: skip

# A workshop


def workshop(random: Random) -> Database:
    """Two products of two to four parts each."""
    ids = fresh_ids(random, "PT-", 7, 4)
    names = ("bolt", "panel", "hinge", "wheel", "spring", "cable", "bracket")
    parts: dict[str, Any] = {
        id: {
            "name": name,
            "on_shelf": random.randint(0, 40),
            "supplier": {"code": random.choice(["ZEN", "KAP", "ORM"]), "days": random.randint(1, 20)},
        }
        for id, name in zip(ids, names, strict=True)
    }
    recipes: dict[str, Any] = {}
    for id in fresh_ids(random, "PD-", 2, 4):
        used = random.sample(ids, random.randint(3, 4))
        recipes[id] = {"components": [{"part_id": part, "per_unit": random.randint(1, 4)} for part in used]}
    return {"parts": parts, "recipes": recipes, "part_orders": {}, "order_number": random.randrange(1_000, 9_000)}


WORKSHOP = World("workshop", workshop)


def recipe(*gaps: int) -> Sampler:
    """Draws a product and a number of units; the parts lack this many pieces, or have as many to spare if negative."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["recipes"])
        units = random.randint(5, 25)
        for place, component in enumerate(db["recipes"][id]["components"]):
            gap = gaps[place % len(gaps)]
            gap = gap * random.randint(1, 5) if gap else 0
            need = component["per_unit"] * units
            db["parts"][component["part_id"]]["on_shelf"] = max(0, need - gap)
        return {"product_id": id, "units": units}

    return drawn


ORDER_MISSING_PARTS = ApiTask(
    name="order_missing_parts",
    split="tune",
    world=WORKSHOP,
    precise=(
        "We want to make `units` of the product. For each of its components, in their order, compare the number of "
        "parts needed with those on the shelf, and order exactly the missing ones from the part's supplier. Answer "
        "with the list of the ids of the orders."
    ),
    casual=(
        "can we build that many of this product? order whatever parts we're short of (just the missing number, from "
        "the part's supplier) and send me the order ids"
    ),
    inputs={"product_id": text("id of the product"), "units": integer("how many to make")},
    gold="""
        recipe = get_recipe(product_id=product_id)
        shelves = list_parts()
        orders = []
        for component in recipe["components"]:
            part = [row for row in shelves["parts"] if row["id"] == component["part_id"]][0]
            missing = component["per_unit"] * units - part["on_shelf"]
            if missing > 0:
                made = order_part(part_id=part["id"], quantity=missing, supplier=part["supplier"]["code"])
                orders.append(made["order_id"])
        return orders
    """,
    arms={"some": recipe(2, -1, 1), "nothing": recipe(-1, -2), "all": recipe(1, 3, 1), "the last": recipe(-1, -1, 2)},
    tests_only={"just enough": recipe(0, 1, 0, 2)},
)

# An events office


def banquets(random: Random) -> Database:
    """Two banquets with five to seven guests each."""
    rows: dict[str, Any] = {}
    for id in fresh_ids(random, "BQ-", 2, 4):
        guests = [
            {"guest_id": guest, "name": person(random), "plus": random.randint(0, 2)}
            for guest in fresh_ids(random, "G", random.randint(5, 7), 4)
        ]
        rows[id] = {"host": person(random), "guests": guests, "replies": []}
    return {"banquets": rows}


BANQUETS = World("banquet", banquets)


def replies(share: float, coming: float) -> Sampler:
    """Draws a banquet to which this share of the guests replied, of whom this share comes."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["banquets"])
        guests = db["banquets"][id]["guests"]
        count = round(share * len(guests))
        answered = random.sample(guests, count)
        comers = round(coming * count)
        db["banquets"][id]["replies"] = [
            {
                "guest_id": guest["guest_id"],
                "coming": place < comers,
                "brings": random.randint(0, guest["plus"]) if place < comers else random.randint(0, 1),
                "diet": random.choice([None, None, "vegan", "no nuts"]),
            }
            for place, guest in enumerate(answered)
        ]
        random.shuffle(db["banquets"][id]["replies"])
        return {"banquet_id": id}

    return drawn


SEATS_AND_SILENT = ApiTask(
    name="seats_and_silent_guests",
    split="report",
    world=BANQUETS,
    precise=(
        "Answer with an object about the banquet. `seats` is the number of seats needed: one for each guest who is "
        "coming and one for each person that such a guest brings. `silent` is the list of the names of the guests who "
        "have not replied, sorted alphabetically. `diets` is the list of the names of the guests who are coming with a "
        "diet, in the order of the replies."
    ),
    casual=(
        "for this banquet: how many seats do we need (coming guests plus whoever they bring), who hasn't answered yet "
        "(`silent`, names a-z), and which of those coming have a diet (`diets`, names, as the replies came in)"
    ),
    inputs={"banquet_id": text("id of the banquet")},
    gold="""
        invited = get_invitations(banquet_id=banquet_id)
        answered = get_replies(banquet_id=banquet_id)
        known = [reply["guest_id"] for reply in answered["replies"]]
        silent = sorted([guest["name"] for guest in invited["guests"] if guest["guest_id"] not in known])
        coming = [reply for reply in answered["replies"] if reply["coming"]]
        seats = len(coming) + sum(reply["brings"] for reply in coming)
        diets = []
        for reply in coming:
            if reply["diet"] is not None:
                guest = [row for row in invited["guests"] if row["guest_id"] == reply["guest_id"]][0]
                diets.append(guest["name"])
        return {"seats": seats, "silent": silent, "diets": diets}
    """,
    arms={"some replied": replies(0.6, 0.7), "nobody yet": replies(0, 0), "all replied": replies(1, 0.6),
          "nobody comes": replies(0.5, 0)},
)  # fmt: skip

# A personnel office


def personnel(random: Random) -> Database:
    """One division of two or three departments of one or two teams each."""
    departments: list[dict[str, Any]] = []
    for name in random.sample(["Assembly", "Design", "Sales", "Service", "Quality"], random.randint(2, 3)):
        teams = [
            {"name": f"{name} {letter}", "members": [member(random) for _ in range(random.randint(1, 3))]}
            for letter in "AB"[: random.randint(1, 2)]
        ]
        departments.append({"name": name, "teams": teams})
    return {"divisions": {fresh_id(random, "DIV-", 4): {"name": company(random), "departments": departments}}}


def member(random: Random) -> dict[str, Any]:
    leaves = random.choice([None, None, day("2025-07-01", random.randrange(90))])
    return {"name": person(random), "salary": random.randrange(2_000, 7_000, 50), "leaves_on": leaves}


PERSONNEL = World("divisions", personnel)


def payroll(kind: str = "") -> Sampler:
    """Draws the division: as drawn, with a first, last or equal dearest department, or one that everybody leaves."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["divisions"])
        departments = db["divisions"][id]["departments"]
        if kind == "equal":
            departments[1]["teams"] = [{"name": "Night", "members": [{**member(random), "leaves_on": None}]}]
            departments[0]["teams"] = [{"name": "Day", "members": [dict(departments[1]["teams"][0]["members"][0])]}]
            departments[1]["teams"][0]["members"][0]["name"] = person(random)
            del departments[2:]
        if kind in ("first", "last"):
            chosen = departments[0 if kind == "first" else -1]
            chosen["teams"][0]["members"] = [{**member(random), "leaves_on": None, "salary": 9_000} for _ in range(4)]
        if kind == "leaving":
            for team in departments[0]["teams"]:
                for row in team["members"]:
                    row.update(leaves_on=day("2025-07-01", random.randrange(90)), salary=8_000)
        return {"division_id": id}

    return drawn


DEAREST_DEPARTMENT = ApiTask(
    name="dearest_department",
    split="tune",
    world=PERSONNEL,
    precise=(
        "For each department of the division, add up the salaries of the members of all its teams who have no day on "
        "which they leave. Answer with an object about the department with the highest sum, of equal ones the first: "
        "`department`, its name, `payroll`, the sum, and `people`, the number of members counted."
    ),
    casual=(
        "which department of this division costs us most in salaries? count only people who aren't leaving. "
        "department, payroll and people (how many that are); first one if two are the same"
    ),
    inputs={"division_id": text("id of the division")},
    gold="""
        division = get_division(division_id=division_id)
        best = None
        for department in division["departments"]:
            payroll = 0
            people = 0
            for team in department["teams"]:
                staying = [member["salary"] for member in team["members"] if member["leaves_on"] is None]
                payroll += sum(staying)
                people += len(staying)
            if best is None or payroll > best["payroll"]:
                best = {"department": department["name"], "payroll": payroll, "people": people}
        return best
    """,
    arms={
        "mixed": payroll(),
        "the first": payroll("first"),
        "the last": payroll("last"),
        "leaving": payroll("leaving"),
    },
    tests_only={"equal": payroll("equal")},
)

# Travel expenses

CATEGORIES = ("hotel", "meal", "taxi", "train")


def expenses(random: Random) -> Database:
    """Two reports of three to five expenses, and two pay bands."""
    bands: dict[str, Any] = {}
    for band in ("A", "B"):
        limited = random.sample(CATEGORIES, 3)
        bands[band] = {"limits": [{"category": name, "most": random.randrange(40, 200, 5)} for name in limited]}
    reports: dict[str, Any] = {}
    for id in fresh_ids(random, "XR-", 2):
        band = random.choice(["A", "B"])
        reports[id] = {
            "traveller": {"name": person(random), "band": band},
            "days": random.randint(1, 6),
            "expenses": [spent(random, number, bands[band]) for number in range(1, random.randint(4, 6))],
        }
    return {"bands": bands, "reports": reports, "payments": {}, "returned": {},
            "payment_number": random.randrange(1_000, 9_000)}  # fmt: skip


def spent(random: Random, number: int, band: dict[str, Any]) -> dict[str, Any]:
    """An expense within its limit."""
    category = random.choice(CATEGORIES)
    most = next((row["most"] for row in band["limits"] if row["category"] == category), 300)
    amount = round(random.randrange(500, 100 * most) / 100, 2)
    return {"number": number, "category": category, "amount": amount, "receipt": fresh_id(random, "rc-", 6)}


EXPENSES = World("expenses", expenses)


def report(*over: int, bare: Sequence[int] = (), exact: bool = False, free: bool = False) -> Sampler:
    """Draws a report in which the expenses at these places are above their limits, and others have no receipt.

    Args:
        over: Places of expenses above their limits.
        bare: Places of expenses without a receipt.
        exact: Whether the first expense is exactly at its limit.
        free: Whether the second expense is a high one in a category without a limit.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["reports"])
        row = db["reports"][id]
        limits = db["bands"][row["traveller"]["band"]]["limits"]
        for place in over:
            limit = random.choice(limits)
            row["expenses"][place].update(
                category=limit["category"], amount=limit["most"] + random.randrange(1, 900) / 100
            )
        for place in bare:
            row["expenses"][place]["receipt"] = None
        if exact:
            row["expenses"][0].update(category=limits[0]["category"], amount=limits[0]["most"])
        if free:
            unlimited = next(name for name in CATEGORIES if all(limit["category"] != name for limit in limits))
            row["expenses"][1].update(category=unlimited, amount=cents(random, 250, 400))
        return {"report_id": id}

    return drawn


SETTLE_EXPENSES = ApiTask(
    name="settle_expenses",
    split="report",
    world=EXPENSES,
    precise=(
        "Check the expense report against the limits of the traveller's band. An expense is not accepted if it is "
        "above the limit of its category, if there is one, or has no receipt. If all are accepted, reimburse the sum "
        "of their amounts, rounded to 2 decimals, and answer with the id of the payment. Otherwise send the report "
        "back with the numbers of the expenses that are not accepted, in their order, and the note `<count> of <number "
        "of expenses> not accepted`, and answer with the list of these numbers."
    ),
    casual=(
        "pls settle this expense report. anything above its category limit (for the traveller's band, some categories "
        "have none) or without receipt = not ok. all ok -> reimburse the total, give me the payment id. else send it "
        "back with the numbers that aren't ok and the note '<count> of <number of expenses> not accepted', and list "
        "those numbers"
    ),
    inputs={"report_id": text("id of the report")},
    gold="""
        report = get_expense_report(report_id=report_id)
        band = get_limits(band=report["traveller"]["band"])
        numbers = []
        for expense in report["expenses"]:
            limits = [row["most"] for row in band["limits"] if row["category"] == expense["category"]]
            if expense["receipt"] is None or (len(limits) > 0 and expense["amount"] > limits[0]):
                numbers.append(expense["number"])
        if len(numbers) == 0:
            total = round(sum(expense["amount"] for expense in report["expenses"]), 2)
            payment = pay_expenses(report_id=report_id, amount=total)
            return payment["payment_id"]
        note = f"{len(numbers)} of {len(report['expenses'])} not accepted"
        send_back(report_id=report_id, numbers=numbers, note=note)
        return numbers
    """,
    arms={
        "accepted": report(), "above a limit": report(1), "no receipt": report(bare=(2,)),
        "both": report(0, bare=(1, 2)), "a category without a limit": report(free=True),
    },
    tests_only={"at the limit": report(exact=True)},
)  # fmt: skip

FAMILY = Family(
    "joins",
    "records that belong together, and lists inside them",
    (
        BUYER_TURNOVER, COURSE_AVERAGES, TIME_BY_PROJECT, REMIND_MEMBERS, ORDER_MISSING_PARTS, SEATS_AND_SILENT,
        DEAREST_DEPARTMENT, SETTLE_EXPENSES,
    ),
)  # fmt: skip
