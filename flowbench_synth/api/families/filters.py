"""Filters: a list is read, and something is done or told for some of its elements, in a calendar and a warehouse."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Family, Sampler, World, integer, text
from flowbench_synth.api.drawing import any_of, day, fresh_id, fresh_ids

PEOPLE = ("amoreau", "bkline", "cokafor", "dsato", "eruiz", "flund", "gpatel")
TOPICS = ("Standup", "Budget", "Hiring", "Roadmap", "Retro", "Review", "1:1", "Offsite", "Demo")
REPLIES = ("accepted", "tentative", "declined", None)
BUILDINGS = ("Mill", "Tower", "Annex")


def event(random: Random, on: str, people: Sequence[str], hour: int) -> dict[str, Any]:
    """An event of its first person."""
    replies = {name: random.choice(REPLIES) for name in people}
    replies[people[0]] = "accepted"
    half = random.choice(["00", "30"])
    return {
        "id": fresh_id(random, "EV"),
        "title": random.choice(TOPICS),
        "on": on,
        "start": f"{hour:02d}:{half}",
        "end": f"{hour + 1:02d}:{half}",
        "organizer": people[0],
        "series_id": random.choice([None, fresh_id(random, "S", 3)]),
        "replies": replies,
        "optional": [name for name in people[1:] if random.random() < 0.35],
    }


def rooms(random: Random) -> Database:
    """Six events on two days, seven rooms in three buildings, some of them booked."""
    first = day("2025-02-01", random.randrange(300))
    days = [first, day(first, 1)]
    events: dict[str, Any] = {}
    for _ in range(6):
        people = random.sample(PEOPLE, random.randint(3, 6))
        row = event(random, random.choice(days), people, random.randint(8, 17))
        events[row["id"]] = row
    listed = {
        id: {
            "id": id,
            "name": f"{random.choice(['North', 'South', 'East', 'West'])} {id[-2:]}",
            "building": BUILDINGS[number % 3],
            "capacity": random.choice([4, 6, 8, 10, 12, 16]),
            "equipment": {"screen": random.random() < 0.6, "phone": random.random() < 0.5},
        }
        for number, id in enumerate(fresh_ids(random, "R-", 7, 3))
    }
    return {
        "days": days, "events": events, "rooms": listed, "bookings": {}, "comments": {}, "sent": {},
        "reminders": random.randrange(100, 900),
    }  # fmt: skip


ROOMS = World("rooms", rooms)


def busy_day(unsure: int) -> Sampler:
    """Draws a person with a day of events, of which some have a tentative reply and another organizer."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        person, on = random.choice(PEOPLE), day("2026-01-01", random.randrange(300))
        others = [name for name in PEOPLE if name != person]
        hours = sorted(random.sample(range(8, 18), unsure + 3))
        plain = random.sample(hours, unsure)
        own = random.choice([hour for hour in hours if hour not in plain])
        for hour in hours:
            people = [person] if hour == own else []
            people += [name for name in random.sample(others, 3) if name not in people]
            row = event(random, on, people if hour == own else [people[0], person, *people[1:]], hour)
            row["replies"][person] = "tentative" if hour in plain else random.choice(["accepted", "declined", None])
            if hour == own:
                row["replies"][person] = random.choice(["accepted", "tentative"])
            db["events"][row["id"]] = row
        return {"person": person, "on": on}

    return drawn


DECLINE_UNSURE = ApiTask(
    name="decline_unsure",
    split="report",
    world=ROOMS,
    precise=(
        "A person is away on a day. In their calendar of that day, decline every event to which their reply is "
        "`tentative` and which somebody else organizes, in the order of the calendar, with the comment `Away on "
        "<day>`. Answer with the list of the ids of the declined events."
    ),
    casual=(
        "this person will be away on that day, decline all the maybes for them (only meetings they don't organize "
        "themselves), comment: Away on <day>. list me the event ids you declined"
    ),
    inputs={"person": text("user name of the person"), "on": text("the day, YYYY-MM-DD")},
    gold="""
        calendar = list_events(person=person, on=on)
        declined = []
        for event in calendar["events"]:
            if event["reply"] == "tentative" and event["organizer"] != person:
                comment = f"Away on {on}"
                answer_invitation(event_id=event["id"], person=person, reply="declined", comment=comment)
                declined.append(event["id"])
        return declined
    """,
    arms={"two": busy_day(2), "none": busy_day(0), "one": busy_day(1)},
    tests_only={"many": busy_day(4)},
)


def search(kept: int) -> Sampler:
    """Draws a search for rooms; at least so many rooms fit, and one of the others is large enough but taken."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        building, on, hour = random.choice(BUILDINGS), day("2026-01-01", random.randrange(300)), random.randint(9, 16)
        people = random.choice([5, 6, 7, 8])
        for id in fresh_ids(random, "R-", 2, 4):
            db["rooms"][id] = {**db["rooms"][any_of(random, db["rooms"])], "id": id, "name": f"Hall {id[-2:]}"}
            db["rooms"][id]["building"] = building
        inside = [row for row in db["rooms"].values() if row["building"] == building]
        random.shuffle(inside)
        for number, row in enumerate(inside):
            large = number <= kept
            row["capacity"] = people + random.choice([0, 0, 2, 6]) if large else people - random.randint(1, 3)
            hours = random.sample([other for other in range(8, 18) if other != hour], random.randint(0, 2))
            hours += [hour] if number == kept or (not large and random.random() < 0.5) else []
            for taken in hours:
                booking = {"room_id": row["id"], "on": on, "start": f"{taken:02d}:00", "end": f"{taken + 1:02d}:00"}
                db["bookings"][f"{row['id']}/{taken}"] = booking
        return {"building": building, "people": people, "on": on, "hour": hour}

    return drawn


FREE_ROOMS = ApiTask(
    name="free_rooms",
    split="tune",
    world=ROOMS,
    precise=(
        "List the names of the rooms of a building that have a capacity of at least the given number of people and no "
        "booking in the given full hour of the day, in the order in which the building lists its rooms. Look up the "
        "bookings of rooms that are large enough only."
    ),
    casual=(
        "which rooms in that building fit us (capacity >= people) and are free at that hour on the day? just the "
        "names in the building's order; no need to check bookings of rooms that are too small"
    ),
    inputs={
        "building": text("name of the building"),
        "people": integer("the number of people"),
        "on": text("the day, YYYY-MM-DD"),
        "hour": integer("the full hour, such as 14"),
    },
    gold="""
        listed = list_rooms(building=building)
        free = []
        for room in listed["rooms"]:
            if room["capacity"] >= people:
                taken = get_bookings(room_id=room["id"], on=on)
                if hour not in taken["busy_hours"]:
                    free.append(room["name"])
        return free
    """,
    arms={"one": search(1), "none": search(0), "two": search(2)},
)


def invited(silent: int) -> Sampler:
    """Draws an event with so many guests who must come and have not answered."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        people = random.sample(PEOPLE, 6)
        row = event(random, db["days"][0], people, random.randint(8, 17))
        row["optional"] = people[4:]
        for number, name in enumerate(people[1:4]):
            row["replies"][name] = None if number < silent else random.choice(["accepted", "tentative", "declined"])
        order = [people[0], *random.sample(people[1:], 5)]
        row["replies"] = {name: row["replies"][name] for name in order}
        row["replies"][people[4]] = None
        db["events"][row["id"]] = row
        return {"event_id": row["id"]}

    return drawn


REMIND_GUESTS = ApiTask(
    name="remind_guests",
    split="tune",
    world=ROOMS,
    precise=(
        "Send a reminder to every guest of an event who is not optional and has not replied, in the order of the "
        "guests. Answer with an object of `title` (the title of the event), `reminded` (the number of reminders sent) "
        "and `reminders` (the list of their ids)."
    ),
    casual=(
        "ping the people who still owe an answer to this invite, optional guests don't count. "
        "return title, reminded (how many), reminders (the reminder ids)"
    ),
    inputs={"event_id": text("id of the event")},
    gold="""
        event = get_event(event_id=event_id)
        reminders = []
        for guest in event["guests"]:
            if guest["reply"] is None and not guest["optional"]:
                sent = send_reminder(to=guest["email"], event_id=event_id)
                reminders.append(sent["reminder_id"])
        return {"title": event["title"], "reminded": len(reminders), "reminders": reminders}
    """,
    arms={"two": invited(2), "none": invited(0), "three": invited(3), "one": invited(1)},
)

LABELS = ("acetone", "gloves", "glue", "filter", "solvent", "tape", "valve", "resin", "wipes", "primer")
CATEGORIES = ("chemical", "tool", "packaging")


def stock(random: Random) -> Database:
    """Nine items in two warehouses."""
    today = day("2025-03-01", random.randrange(250))
    sites = fresh_ids(random, "WH", 2, 4)
    items: dict[str, Any] = {}
    for count, number in enumerate(fresh_ids(random, "I-", 9, 4)):
        reorder_at = random.randint(10, 40)
        batches = [
            {
                "batch": fresh_id(random, "L", 4),
                "quantity": random.choice([0, random.randint(1, 90)]),
                "expires_on": random.choice([None, day(today, random.randint(-60, 120))]),
                "blocked": random.random() < 0.2,
            }
            for _ in range(random.randint(1, 3))
        ]
        items[number] = {
            "number": number,
            "label": random.choice(LABELS),
            "warehouse": sites[count % 2],
            "category": random.choice(CATEGORIES),
            "levels": {
                "on_hand": random.randint(0, 70),
                "reorder_at": reorder_at,
                "target": reorder_at + random.randint(20, 60),
            },
            "discontinued": random.random() < 0.25,
            "supply": {
                "supplier_id": fresh_id(random, "V", 3),
                "minimum": random.choice([1, 10, 25]),
                "unit_cost": random.randrange(50, 9_000) / 100,
            },
            "batches": batches,
            "sheet": {
                "revised_on": random.choice([None, day(today, -random.randint(30, 2_000))]),
                "storage": {"class": random.choice(["3", "8A", "10", "12"]), "max_celsius": random.choice([None, 25])},
            },
        }
    return {
        "today": today, "sites": {site: {"code": site} for site in sites}, "items": items, "purchases": {},
        "purchase_number": random.randrange(1_000, 9_000), "blocks": {},
    }  # fmt: skip


STOCK = World("stock", stock)


def shelves(low: int) -> Sampler:
    """Draws a warehouse, in which so many items must be ordered."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        site = any_of(random, db["sites"])
        rows = [row for row in db["items"].values() if row["warehouse"] == site]
        random.shuffle(rows)
        for number, row in enumerate(rows):
            levels = row["levels"]
            row["discontinued"] = number == low or (number > low and random.random() < 0.3)
            short = number <= low
            levels["on_hand"] = levels["reorder_at"] - random.randint(1, 9) if short else levels["reorder_at"]
            levels["on_hand"] += 0 if short else random.choice([0, 0, random.randint(1, 30)])
        return {"warehouse": site}

    return drawn


REORDER = ApiTask(
    name="reorder_stock",
    split="report",
    world=STOCK,
    precise=(
        "Go through the items of a warehouse. For each one that is not discontinued and has less on hand than its "
        "reorder level, look up its supplier and create a purchase of as many as are missing to its target. Answer "
        "with the list of the purchases, each as an object of `item` (its label) and `purchase` (the id)."
    ),
    casual=(
        "top up the warehouse: everything below its reorder_at gets ordered up to target from its supplier, skip "
        "discontinued stuff. give me a list of {item: label, purchase: id}"
    ),
    inputs={"warehouse": text("code of the warehouse")},
    gold="""
        kept = list_items(warehouse=warehouse)
        bought = []
        for item in kept["items"]:
            levels = item["levels"]
            if not item["discontinued"] and levels["on_hand"] < levels["reorder_at"]:
                supply = get_item_supplier(number=item["number"])
                missing = levels["target"] - levels["on_hand"]
                order = create_purchase(supplier_id=supply["supplier_id"], number=item["number"], quantity=missing)
                bought.append({"item": item["label"], "purchase": order["purchase"]["id"]})
        return bought
    """,
    arms={"two": shelves(2), "none": shelves(0), "one": shelves(1)},
)


def batches(expiring: int) -> Sampler:
    """Draws an item with so many batches that expire by a day."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        number = any_of(random, db["items"])
        by = day(db["today"], random.randint(10, 90))
        ends = [day(by, -random.choice([0, random.randint(1, 60)])) for _ in range(expiring)]
        rows: list[dict[str, Any]] = [
            {"quantity": random.choice([1, random.randint(2, 80)]), "expires_on": end} for end in ends
        ]
        rows.append({"quantity": 0, "expires_on": day(by, -3)})
        rows.append({"quantity": random.randint(1, 80), "expires_on": None})
        rows.append({"quantity": random.randint(1, 80), "expires_on": day(by, random.randint(1, 40))})
        random.shuffle(rows)
        names = fresh_ids(random, "L", len(rows), 4)
        every = [{"batch": name, **row, "blocked": False} for name, row in zip(names, rows, strict=True)]
        db["items"][number]["batches"] = every
        return {"number": number, "by": by}

    return drawn


EXPIRING = ApiTask(
    name="expiring_batches",
    split="tune",
    world=STOCK,
    precise=(
        "Tell which batches of an item expire on the given day or before it. Batches with a quantity of 0 and batches "
        "that do not expire are left out. Answer with an object of `batches`, the list of their names in the order in "
        "which they are listed, and `pieces`, the sum of their quantities."
    ),
    casual=(
        "which batches of this item run out of date by then (that day included)? ignore empty ones and the ones "
        "without expiry. {batches: [...], pieces: total quantity}"
    ),
    inputs={"number": text("number of the item"), "by": text("the last day, YYYY-MM-DD")},
    gold="""
        found = list_batches(number=number)
        dated = [row for row in found["batches"] if row["expires_on"] is not None]
        rows = [row for row in dated if row["expires_on"] <= by and row["quantity"] > 0]
        return {"batches": [row["batch"] for row in rows], "pieces": sum(row["quantity"] for row in rows)}
    """,
    arms={"two": batches(2), "one": batches(1), "none": batches(0)},
    tests_only={"three": batches(3)},
)


def sheets(missing: int) -> Sampler:
    """Draws a warehouse, in which so many chemicals have no sheet, or an old one."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        site = any_of(random, db["sites"])
        before = day(db["today"], -random.randint(300, 900))
        rows = [row for row in db["items"].values() if row["warehouse"] == site]
        random.shuffle(rows)
        for number, row in enumerate(rows):
            row["category"] = "chemical" if number < 3 else random.choice(["tool", "packaging"])
            old = random.choice([None, day(before, -random.randint(1, 400))])
            fresh = day(before, random.choice([0, random.randint(1, 200)]))
            row["sheet"]["revised_on"] = old if number < missing else fresh
            if number >= 3 and random.random() < 0.6:
                row["sheet"]["revised_on"] = None
        return {"warehouse": site, "before": before}

    return drawn


STALE_SHEETS = ApiTask(
    name="stale_sheets",
    split="report",
    world=STOCK,
    precise=(
        "Check the safety sheets of the items of the category `chemical` in a warehouse. Answer with the list of those "
        "that have no sheet (no day of revision) or one that was revised before the given day, each as an object of "
        "`number`, `label` and `class` (the storage class). Sheets of other items are not looked at."
    ),
    casual=(
        "safety audit! which chemicals in this warehouse have no data sheet or one older than the date? list number, "
        "label, class (storage class). only the chemical category matters, leave the other sheets alone"
    ),
    inputs={"warehouse": text("code of the warehouse"), "before": text("the day, YYYY-MM-DD")},
    gold="""
        kept = list_items(warehouse=warehouse)
        stale = []
        for item in kept["items"]:
            if item["category"] == "chemical":
                sheet = get_safety_sheet(number=item["number"])
                if sheet["revised_on"] is None or sheet["revised_on"] < before:
                    row = {"number": item["number"], "label": item["label"], "class": sheet["storage"]["class"]}
                    stale.append(row)
        return stale
    """,
    arms={"two": sheets(2), "none": sheets(0), "one": sheets(1)},
    tests_only={"three": sheets(3)},
)

FAMILY = Family(
    "filters",
    "a list, and some of its elements",
    (DECLINE_UNSURE, FREE_ROOMS, REMIND_GUESTS, REORDER, EXPIRING, STALE_SHEETS),
)
