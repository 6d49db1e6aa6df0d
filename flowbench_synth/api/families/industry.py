"""Tasks of a newspaper, a support hotline, the maintenance of a plant and a grid operator, one of each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Sampler, World, text
from flowbench_synth.api.drawing import (
    any_of,
    company,
    day,
    fresh_id,
    fresh_ids,
    moment,
    person,
    unused_id,
    unused_ids,
)

# Media publishing

TOPICS = ("harbour", "tram", "budget", "festival", "storm", "clinic", "derby", "school meals")
HEADLINES = ("What now for the {}?", "The {} divides the council", "A year of the {}", "Five questions on the {}")


def press(random: Random) -> Database:
    """Four articles of two desks, four contributors, seven photos of two topics."""
    today = day("2025-01-02", random.randrange(330))
    desks = {
        code: {
            "code": code,
            "title": title,
            "editor": person(random),
            "photographer": person(random),
            "cost_centre": f"CC-{random.randrange(1_000, 9_999)}",
        }
        for code, title in zip(random.sample(["loc", "pol", "spo", "cul"], 2), ("Morning", "Weekend"), strict=True)
    }
    contributors: dict[str, Any] = {}
    for id in fresh_ids(random, "CON-", 4, 4):
        byline = person(random)
        contributors[id] = {
            "id": id,
            "byline": byline,
            "rate": random.randrange(120, 950) / 1_000,
            "account": {"holder": random.choice([company(random), person(random)]), "bank": fresh_id(random, "BK", 4)},
        }
    topics = random.sample(TOPICS, 2)
    articles: dict[str, Any] = {}
    for id in fresh_ids(random, "ART-", 4):
        topic, words = random.choice(topics), random.randrange(180, 2_600)
        articles[id] = {
            "id": id,
            "headline": random.choice(HEADLINES).format(topic),
            "slug": f"{topic.replace(' ', '-')}-{random.randrange(10, 99)}",
            "topic": topic,
            "desk_code": random.choice(sorted(desks)),
            "author_id": any_of(random, contributors),
            "length": {"words": words, "lines": words // random.randint(6, 9)},
            "publish_on": day(today, random.randint(0, 20)),
            "lead_photo": None,
        }
    photos: dict[str, Any] = {
        id: photo(random, topics[number % 2], today) for number, id in enumerate(fresh_ids(random, "PH", 7))
    }
    return {
        "today": today, "desks": desks, "contributors": contributors, "articles": articles, "photos": photos,
        "shoots": {}, "next_shoot": random.randrange(1_000, 9_000),
    }  # fmt: skip


def photo(random: Random, topic: str, today: str) -> dict[str, Any]:
    width = random.choice([640, 900, 1_080, 1_280, 1_600, 2_400, 4_000])
    return {
        "topic": topic,
        "rank": random.randrange(10_000),
        "shot_by": person(random),
        "size": {"width": width, "height": random.choice([480, 720, 1_200, 3_000])},
        "licence": {
            "holder": random.choice([company(random), person(random)]),
            "channels": random.sample(["web", "print", "social"], random.randint(1, 3)),
            "until": random.choice([None, day(today, random.randint(-40, 90))]),
        },
    }


PRESS = World("press", press)


def article_of(low: int, high: int) -> Sampler:
    """Draws an article with a number of words between two."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["articles"][any_of(random, db["articles"])]
        words = random.randint(low, high)
        row["length"] = {"words": words, "lines": words // random.randint(6, 9)}
        return {"article_id": row["id"], "issue": f"{random.choice(['M', 'W', 'S'])}{random.randrange(100, 999)}"}

    return drawn


FEE_SLIP = ApiTask(
    name="fee_slip",
    split="report",
    world=PRESS,
    precise=(
        "Prepare the fee slip of an article in an issue. Answer with an object of `payee`, the holder of the author's "
        "account; `fee`, the article's words times the author's rate, rounded to two decimals; `charged_to`, the cost "
        "centre of the article's desk; and `reference`, the text `<issue>/<slug> by <byline>`, with the slug of the "
        "article and the byline of the author."
    ),
    casual=(
        "make me the fee slip for this piece: {payee: account holder of whoever wrote it, fee: words x their rate (2 "
        "decimals), charged_to: cost centre of its desk, reference: '<issue>/<slug> by <byline>'}"
    ),
    inputs={"article_id": text("id of the article"), "issue": text("code of the issue in which it is printed")},
    gold="""
        article = get_article(article_id=article_id)
        author = get_contributor(contributor_id=article["author_id"])
        desk = get_desk(code=article["desk_code"])
        fee = round(article["length"]["words"] * author["rate"], 2)
        reference = f"{issue}/{article['slug']} by {author['byline']}"
        return {
            "payee": author["account"]["holder"],
            "fee": fee,
            "charged_to": desk["cost_centre"],
            "reference": reference,
        }
    """,
    arms={"brief": article_of(80, 300), "report": article_of(400, 900), "feature": article_of(1_200, 3_500)},
)


def illustrated(outcomes: Sequence[str], extra: int = 0) -> Sampler:
    """Draws an article with photos, in the order of the search: `good`, or what keeps them from being used.

    There are up to `extra` further photos at the end, whatever they are.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["articles"][any_of(random, db["articles"])]
        others = [id for id, photo in db["photos"].items() if photo["topic"] != row["topic"]]
        kept = {id: db["photos"][id] for id in random.sample(others, min(2, len(others)))}
        later = [random.choice(["good", "small", "channel", "expired"]) for _ in range(random.randint(0, extra))]
        kinds = [random.choice(REFUSED) if kind == "bad" else kind for kind in (*outcomes, *later)]
        for number, (id, kind) in enumerate(zip(unused_ids(random, "PH", len(kinds), 5, kept), kinds, strict=True)):
            kept[id] = licensed(random, kind, row) | {"rank": 100 * number + random.randrange(100)}
        ids = sorted(kept, key=lambda _: random.random())
        db["photos"] = {id: kept[id] for id in ids}
        return {"article_id": row["id"]}

    return drawn


REFUSED = ("small", "channel", "expired")


def licensed(random: Random, kind: str, row: dict[str, Any]) -> dict[str, Any]:
    """A photo for an article."""
    made = photo(random, row["topic"], row["publish_on"])
    width = random.choice([1_201, 1_280, 1_600, 2_400, 4_000])
    channels = random.choice([["web"], ["print", "web"], ["web", "social"], ["social", "print", "web"]])
    until = random.choice([None, day(row["publish_on"], random.randint(1, 120))])
    match kind:
        case "small":
            width = random.choice([640, 900, 1_080, 1_199])
        case "just":
            width = 1_200
        case "channel":
            channels = random.choice([["print"], ["social"], ["social", "print"]])
        case "expired":
            until = day(row["publish_on"], -random.randint(1, 120))
        case "last_day":
            until = row["publish_on"]
        case _:
            pass
    made["size"]["width"] = width
    made["licence"].update(channels=channels, until=until)
    return made


def has_photo(random: Random, db: Database) -> dict[str, Any]:
    inputs = illustrated(["good"], 2)(random, db)
    db["articles"][inputs["article_id"]]["lead_photo"] = unused_id(random, "PH", 5, db["photos"])
    return inputs


def later_good(random: Random, db: Database) -> dict[str, Any]:
    return illustrated([*["bad"] * random.randint(1, 3), "good"], 1)(random, db)


def none_good(random: Random, db: Database) -> dict[str, Any]:
    return illustrated(["bad"] * random.randint(2, 4))(random, db)


LEAD_PHOTO = ApiTask(
    name="lead_photo",
    split="report",
    world=PRESS,
    precise=(
        "Give an article its lead photo. If it has one already, leave it and answer `has <id of that photo>`. "
        "Otherwise search for photos on the topic of the article, and take the first hit that is at least 1200 pixels "
        "wide and whose licence includes the channel `web` and does not end before the article's day of publication "
        "(it may end on that day, or have no end). Look up the licence only of hits that are wide enough, and stop at "
        "the first that fits. Set it as the lead photo with the holder of the licence as the credit, and answer "
        "`<photo id> (<holder>)`. If no hit fits, request a shoot for the desk of the article, with the headline as "
        "the subject and the day of publication as the day on which it is needed, and answer `shoot <number>`."
    ),
    casual=(
        "find a lead photo for this article. already has one? -> 'has <photo id>', done. otherwise search its topic "
        "and go down the hits: min 1200 px wide (only check the licence of those), licence has to cover web and still "
        "be running on publish day (ending that very day is fine, no end date too). first match goes on the article, "
        "credit = licence holder, reply '<photo id> (<holder>)'. nothing usable -> request a shoot: the article's "
        "desk, subject = headline, needed by publish day; reply 'shoot <number>'"
    ),
    inputs={"article_id": text("id of the article")},
    gold="""
        article = get_article(article_id=article_id)
        if article["lead_photo"] is not None:
            return f"has {article['lead_photo']}"
        found = search_photos(topic=article["topic"])
        for hit in found["hits"]:
            if hit["size"]["width"] < 1200:
                continue
            licence = get_licence(photo_id=hit["photo_id"])
            running = licence["until"] is None or licence["until"] >= article["publish_on"]
            if "web" in licence["channels"] and running:
                set_lead_photo(article_id=article_id, photo_id=hit["photo_id"], credit=licence["holder"])
                return f"{hit['photo_id']} ({licence['holder']})"
        shoot = request_shoot(
            desk_code=article["desk_code"], subject=article["headline"], needed_by=article["publish_on"]
        )
        return f"shoot {shoot['shoot_no']}"
    """,
    arms={"first": illustrated(["good"], 2), "later": later_good, "none": none_good, "has_one": has_photo},
    tests_only={
        "just_wide_enough": illustrated(["bad", "just", "good"]),
        "last_day": illustrated(["expired", "last_day", "good"]),
        "no_hit": illustrated([]),
    },
)

# Telephony and support desks

LABELS = ("Router help", "Billing line", "Press line", "Returns", "Installers", "Fibre help")


def hotline(random: Random) -> Database:
    """Five calls on three lines, three customers, and cases of two queues."""
    now = moment("2025-01-06T07:00", random.randrange(450_000))
    lines = {
        no: {"line_no": no, "label": label, "owner": person(random), "deputy": person(random)}
        for no, label in zip(fresh_ids(random, "L", 3, 3), random.sample(LABELS, 3), strict=True)
    }
    customers = {
        id: {
            "id": id,
            "company": company(random),
            "care": {"agent": person(random), "language": random.choice(["en", "de", "fr", "pl"])},
        }
        for id in fresh_ids(random, "CU", 3)
    }
    calls: dict[str, Any] = {}
    for id in fresh_ids(random, "CALL-", 5):
        calls[id] = {
            "id": id,
            "line_no": any_of(random, lines),
            "at": moment(now, -random.randint(5, 900)),
            "rang": random.randint(2, 60),
            "caller": {"number": fresh_id(random, "+44 20 7", 6), "customer_id": None},
            "voicemail": random.choice(
                [None, {"recording": fresh_id(random, "REC"), "seconds": random.randint(2, 90)}]
            ),
        }
    cases: dict[str, Any] = {}
    queues = fresh_ids(random, "Q-", 2, 4)
    for number, id in enumerate(fresh_ids(random, "CS-", 5)):
        cases[id] = case_row(random, id, queues[number % 2], random.choice(["open", "on_hold", "closed"]), now, now)
    return {
        "now": now, "lines": lines, "customers": customers, "calls": calls, "cases": cases, "callbacks": {},
        "forwarded": {}, "free_hour": random.randint(9, 18), "page_size": random.randint(2, 3),
        "salt": random.randrange(5_000, 60_000),
    }  # fmt: skip


def case_row(random: Random, id: str, queue: str, state: str, first: str, last: str) -> dict[str, Any]:
    """A case whose last message came at a time up to two days before `first` or after `last`."""
    at = moment(first, -random.randint(1, 3_000)) if random.random() < 0.5 else moment(last, random.randint(1, 3_000))
    return {
        "id": id,
        "queue": queue,
        "place": random.randrange(100_000),
        "state": state,
        "owner": random.choice([None, person(random)]),
        "last_message": {"by": random.choice(["customer", "agent"]), "at": at},
    }


HOTLINE = World("hotline", hotline)


def missed(withheld: bool, recorded: bool | None, customer: bool, rang: tuple[int, int] = (2, 60)) -> Sampler:
    """Draws a call; `recorded` is whether a voicemail was left, by chance if it is None."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["calls"][any_of(random, db["calls"])]
        left = random.random() < 0.5 if recorded is None else recorded
        row["caller"] = {
            "number": None if withheld else fresh_id(random, random.choice(["+44 20 7", "+49 30 ", "+33 1 "]), 6),
            "customer_id": any_of(random, db["customers"]) if customer else None,
        }
        message = {"recording": fresh_id(random, "REC"), "seconds": random.randint(2, 90)}
        row.update(rang=random.randint(*rang), voicemail=message if left else None)
        return {"call_id": row["id"]}

    return drawn


MISSED_CALL = ApiTask(
    name="missed_call",
    split="report",
    world=HOTLINE,
    precise=(
        "Deal with a call that nobody took. If the caller's number is withheld, forward the recording of the voicemail "
        "to the owner of the line, and answer with `done` the text `forwarded` and `agent` the owner; if no voicemail "
        "was left either, do nothing and answer with `done` the text `nothing` and null `agent`. If the number is "
        "known and is a customer's, book a call-back to the number with the agent who takes care of the customer. If "
        "it is nobody's whom we know, book the call-back with the owner of the line, but only if the call rang for "
        "more than 10 seconds; otherwise do nothing, as above. After booking, answer with `done` the slot and `agent` "
        "the agent who is to call."
    ),
    casual=(
        "sort out this missed call. customer's number -> callback booked with their care agent. number we don't know "
        "-> callback with the line's owner, unless it rang 10 seconds or less, then forget it. number withheld -> "
        "send the voicemail recording to the line's owner, no voicemail then forget it as well. reply {done, agent}: "
        "done = slot of the callback, or 'forwarded', or 'nothing' (agent null then); agent = who has to do "
        "something with it"
    ),
    inputs={"call_id": text("id of the call")},
    gold="""
        call = get_call(call_id=call_id)
        number = call["caller"]["number"]
        if number is None:
            if call["voicemail"] is None:
                return {"done": "nothing", "agent": None}
            line = get_line(line_no=call["line_no"])
            forward_recording(recording=call["voicemail"]["recording"], agent=line["owner"])
            return {"done": "forwarded", "agent": line["owner"]}
        if call["caller"]["customer_id"] is not None:
            customer = get_caller(customer_id=call["caller"]["customer_id"])
            agent = customer["care"]["agent"]
        else:
            if call["rang"] <= 10:
                return {"done": "nothing", "agent": None}
            line = get_line(line_no=call["line_no"])
            agent = line["owner"]
        booked = book_callback(number=number, agent=agent)
        return {"done": booked["slot"], "agent": agent}
    """,
    arms={
        "customer": missed(False, None, True),
        "stranger": missed(False, None, False, (12, 60)),
        "recording": missed(True, True, False),
        "short": missed(False, None, False, (2, 9)),
        "silent": missed(True, False, False),
    },
    tests_only={
        "customer_short": missed(False, None, True, (1, 6)),
        "at_the_limit": missed(False, None, False, (10, 10)),
        "above_the_limit": missed(False, None, False, (11, 11)),
    },
)


def queue_of(waiting: tuple[int, int], other: tuple[int, int], at_limit: int = 0) -> Sampler:
    """Draws a queue with numbers of cases that wait for an answer since before a moment, and of others.

    Some of those that wait may have got their last message at that very moment, which does not count.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        queue = unused_id(random, "Q-", 4, {row["queue"] for row in db["cases"].values()})
        before = moment(db["now"], -random.randint(600, 6_000))
        wanted, others = random.randint(*waiting), random.randint(*other)
        ids = unused_ids(random, "CS-", wanted + others + at_limit, 5, db["cases"])
        rows: list[dict[str, Any]] = []
        for number, id in enumerate(ids):
            state = random.choice(["open", "on_hold", "closed"])
            row = case_row(random, id, queue, state, before, before)
            message = row["last_message"]
            if number < wanted:
                row["state"] = random.choice(["open", "on_hold"])
                message.update(by="customer", at=moment(before, -random.randint(1, 4_000)))
            elif number < wanted + others:
                if row["state"] != "closed" and message["by"] == "customer" and message["at"] < before:
                    message["by"] = "agent"
            else:
                row["state"] = "open"
                message.update(by="customer", at=before)
            rows.append(row)
        kept = dict(list(db["cases"].items())[:2])
        db["cases"] = kept | {row["id"]: row for row in sorted(rows, key=lambda row: row["id"])}
        return {"queue": queue, "before": before}

    return drawn


WAITING_CASES = ApiTask(
    name="waiting_cases",
    split="report",
    world=HOTLINE,
    precise=(
        "Find the cases of a queue that wait for us for too long: on all pages, those that are not closed and whose "
        "last message is by the customer and came before the given moment (not at it). Answer with an object of "
        "`cases`, their ids in the order of the list, `unowned`, how many of them have no owner, and `oldest`, the "
        "earliest moment of their last messages, null if there are none."
    ),
    casual=(
        "which cases in this queue are still waiting on us? go through all pages; not closed, last message from the "
        "customer and sent before the time i give you (exactly at it doesn't count). want {cases: ids in list order, "
        "unowned: how many of those have no owner, oldest: time of the earliest of those last messages or null when "
        "there's nothing}"
    ),
    inputs={"queue": text("id of the queue"), "before": text("the moment, as YYYY-MM-DDTHH:MM")},
    gold="""
        waiting = []
        unowned = 0
        oldest = None
        cursor = None
        while True:
            page = list_cases(queue=queue, cursor=cursor)
            for case in page["cases"]:
                message = case["last_message"]
                if case["state"] != "closed" and message["by"] == "customer" and message["at"] < before:
                    waiting.append(case["id"])
                    if case["owner"] is None:
                        unowned += 1
                    if oldest is None or message["at"] < oldest:
                        oldest = message["at"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        return {"cases": waiting, "unowned": unowned, "oldest": oldest}
    """,
    arms={
        "several_pages": queue_of((2, 4), (2, 4)),
        "one_page": queue_of((1, 1), (0, 1)),
        "none_waits": queue_of((0, 0), (3, 5)),
        "most_wait": queue_of((4, 6), (0, 2)),
    },
    tests_only={"at_the_moment": queue_of((1, 3), (1, 2), 2), "empty": queue_of((0, 0), (0, 0))},
)

# Manufacturing and maintenance

PARTS = ("V-belt", "Bearing", "Shaft seal", "Fuse 16 A", "Proximity switch", "Oil filter", "Coupling", "Guide roller")
CRAFTS = ("mechanic", "electrician", "hydraulics")


def plant(random: Random) -> Database:
    """Eight parts in two stores, and four jobs of two weeks."""
    stores = fresh_ids(random, "ST", 2, 3)
    parts = {
        no: part_row(random, no, stores[number % 2], random.choice(PARTS))
        for number, no in enumerate(fresh_ids(random, "P-", 8, 4))
    }
    weeks = [f"2025-W{number:02}" for number in random.sample(range(1, 53), 2)]
    jobs: dict[str, Any] = {}
    for number, no in enumerate(fresh_ids(random, "JB", 4)):
        jobs[no] = job_row(random, no, weeks[number % 2], [])
    return {
        "parts": parts, "jobs": jobs, "orders": {}, "next_order": random.randrange(20_000, 90_000),
    }  # fmt: skip


def part_row(random: Random, no: str, store: str, name: str) -> dict[str, Any]:
    on_hand = random.randint(0, 40)
    return {
        "part_no": no,
        "store": store,
        "shelf": random.randrange(10_000),
        "name": name,
        "supplier": company(random),
        "stock": {"on_hand": on_hand, "reserved": random.randint(0, on_hand)},
        "minimum": random.randint(2, 15),
        "lot": random.choice([5, 10, 12, 20, 25, 50]),
        "open_order": random.choice([None, fresh_id(random, "PO", 5)]),
    }


def job_row(random: Random, no: str, week: str, needs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "job_no": no,
        "week": week,
        "machine": fresh_id(random, random.choice(["LATHE-", "PRESS-", "MILL-"]), 2),
        "craft": random.choice(CRAFTS),
        "state": "planned",
        "needs": list(needs),
    }


PLANT = World("plant", plant)


def store_of(kinds: Callable[[Random], Sequence[str]]) -> Sampler:
    """Draws a store whose parts are `low`, `coming` (low, but ordered), `enough`, or `at` the minimum."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        store = unused_id(random, "ST", 3, {row["store"] for row in db["parts"].values()})
        wanted = list(kinds(random))
        random.shuffle(wanted)
        kept = dict(list(db["parts"].items())[:2])
        for no, kind in zip(unused_ids(random, "P-", len(wanted), 4, kept), wanted, strict=True):
            row = part_row(random, no, store, random.choice(PARTS))
            least, reserved = row["minimum"], random.randint(0, 20)
            free = random.randint(0, least - 1) if kind in ("low", "coming") else least + random.randint(1, 20)
            free = least if kind == "at" else free
            row["stock"] = {"on_hand": free + reserved, "reserved": reserved}
            order = fresh_id(random, "PO", 5)
            row["open_order"] = (
                order if kind == "coming" else random.choice([None, order]) if kind == "enough" else None
            )
            kept[no] = row
        db["parts"] = kept
        return {"store": store}

    return drawn


def kinds(low: tuple[int, int], coming: tuple[int, int], enough: tuple[int, int]) -> Callable[[Random], list[str]]:
    def drawn(random: Random) -> list[str]:
        counts = {"low": low, "coming": coming, "enough": enough}
        return [kind for kind, limits in counts.items() for _ in range(random.randint(*limits))]

    return drawn


REFILL_STORE = ApiTask(
    name="refill_store",
    split="report",
    world=PLANT,
    precise=(
        "Refill a store. For each of its parts, the free stock is what is on hand less what is reserved. Order one lot "
        "of every part whose free stock is below its minimum and that has no open order, in the order of the list. "
        "Answer with the list of the numbers of the new orders; it is empty if there was nothing to order."
    ),
    casual=(
        "reorder parts for this store: anything where on hand minus reserved is under the minimum and nothing is on "
        "order yet, one lot each, in list order. give me the list of order numbers ([] if none)"
    ),
    inputs={"store": text("id of the store")},
    gold="""
        listed = list_spare_parts(store=store)
        orders = []
        for part in listed["parts"]:
            free = part["stock"]["on_hand"] - part["stock"]["reserved"]
            if free < part["minimum"] and part["open_order"] is None:
                placed = order_spare_part(part_no=part["part_no"], quantity=part["lot"])
                orders.append(placed["order_no"])
        return orders
    """,
    arms={
        "some": store_of(kinds((2, 3), (1, 2), (1, 3))),
        "all": store_of(kinds((2, 4), (0, 0), (0, 0))),
        "nothing": store_of(kinds((0, 0), (1, 2), (1, 3))),
    },
    tests_only={"at_the_minimum": store_of(lambda _: ["low", "at", "at", "enough"])},
)


def week_of(kinds: Sequence[str], exact: bool = False) -> Sampler:
    """Draws a week and a store, with jobs whose parts are there (`ready`), `short`, `unknown` to the store, not
    needed (`none`), or that are `done`; others get no more than they need if `exact`.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        week = f"2025-W{random.randrange(1, 53):02}"
        while any(row["week"] == week for row in db["jobs"].values()):
            week = f"2025-W{random.randrange(1, 53):02}"
        store = unused_id(random, "ST", 3, {row["store"] for row in db["parts"].values()})
        numbers = unused_ids(random, "P-", 6, 4, db["parts"])
        stocked, unknown = numbers[:4], numbers[4:]
        parts = dict(list(db["parts"].items())[:1])
        free: dict[str, int] = {}
        for no in stocked:
            row = part_row(random, no, store, random.choice(PARTS))
            free[no] = random.randint(0, 8) if no == stocked[0] else random.randint(3, 9)
            reserved = random.randint(1, 12)
            row["stock"] = {"on_hand": free[no] + reserved, "reserved": reserved}
            parts[no] = row

        def enough(no: str) -> dict[str, Any]:
            return {"part_no": no, "qty": free[no] if exact else random.randint(1, free[no])}

        def lacking(no: str) -> dict[str, Any]:
            return {"part_no": no, "qty": free[no] + random.randint(1, 6)}

        jobs = dict(list(db["jobs"].items())[:1])
        made = list(kinds)
        random.shuffle(made)
        for no, kind in zip(unused_ids(random, "JB", len(made), 5, jobs), made, strict=True):
            chosen = random.sample(stocked[1:], random.randint(1, 2))
            needs = [enough(part) for part in chosen]
            if kind == "short":
                needs = [*needs[1:], lacking(chosen[0])]
                if random.random() < 0.4:
                    needs.append(lacking(stocked[0]))
            elif kind == "unknown":
                needs.append({"part_no": random.choice(unknown), "qty": random.randint(1, 5)})
            elif kind == "none":
                needs = []
            elif kind == "done":
                needs = [random.choice([enough, lacking])(part) for part in chosen]
            random.shuffle(needs)
            jobs[no] = job_row(random, no, week, needs)
            jobs[no]["state"] = "done" if kind == "done" else random.choice(["planned", "running"])
        db.update(parts=parts, jobs=jobs)
        return {"week": week, "store": store}

    return drawn


JOB_PARTS = ApiTask(
    name="job_parts",
    split="report",
    world=PLANT,
    precise=(
        "Tell which jobs of a week have all their parts in a store. Jobs that are done are left out. A need is covered "
        "if the free stock of its part (on hand less reserved) is at least the quantity; a part that the store does "
        "not carry has a free stock of 0. Each need is looked at by itself: what other jobs need takes nothing away. "
        "Answer with an object of `ready`, the numbers of the jobs all of whose needs are covered (so a job without "
        "needs is ready), and `short`: for each other job an object of `job`, its number, and `parts`, the needs that "
        "are not covered, each as an object of `part_no` and `lacking`, the quantity less the free stock. Everything "
        "is in the order in which it is listed."
    ),
    casual=(
        "for the planning meeting: which of that week's jobs (skip the done ones) can we do with what's in this store? "
        "free stock = on hand - reserved, has to be >= the qty needed, parts the store doesn't carry count as 0 free. "
        "check every need on its own, jobs don't eat up each other's stock. reply {ready: [job numbers, also jobs that "
        "need nothing], short: [{job, parts: [{part_no, lacking: qty - free}]}]}, only the uncovered parts in there, "
        "all in list order"
    ),
    inputs={"week": text("the week"), "store": text("id of the store")},
    gold="""
        planned = list_jobs(week=week)
        stocked = list_spare_parts(store=store)
        ready = []
        short = []
        for job in planned["jobs"]:
            if job["state"] == "done":
                continue
            lacking = []
            for need in job["needs"]:
                free = 0
                for part in stocked["parts"]:
                    if part["part_no"] == need["part_no"]:
                        free = part["stock"]["on_hand"] - part["stock"]["reserved"]
                if free < need["qty"]:
                    lacking.append({"part_no": need["part_no"], "lacking": need["qty"] - free})
            if len(lacking) == 0:
                ready.append(job["job_no"])
            else:
                short.append({"job": job["job_no"], "parts": lacking})
        return {"ready": ready, "short": short}
    """,
    arms={
        "mixed": week_of(["ready", "short", "done", "short"]),
        "all_ready": week_of(["ready", "ready", "none"]),
        "not_carried": week_of(["unknown", "short", "ready"]),
        "none_ready": week_of(["short", "unknown", "done"]),
    },
    tests_only={"exactly": week_of(["ready", "ready", "short"], exact=True), "no_jobs": week_of([])},
)

# Energy and metering

STARTS = ("00:00", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00", "21:00")
SITES = ("Bakery", "Pumping station", "Cold store", "Car park", "Swimming pool", "Print works")


def grid(random: Random) -> Database:
    """Three meters, each with a day of eight intervals, and two tariffs."""
    now = moment("2025-01-06T07:00", random.randrange(450_000))
    tariffs = {
        code: {
            "code": code,
            "peak": {
                "from": random.choice(["06:00", "09:00"]),
                "to": random.choice(["15:00", "18:00", "21:00"]),
                "price": random.randrange(2_600, 4_800) / 10_000,
            },
            "base_price": random.randrange(900, 2_400) / 10_000,
        }
        for code in fresh_ids(random, "TF", 2, 3)
    }
    meters: dict[str, Any] = {}
    for id in fresh_ids(random, "MT-", 3):
        meters[id] = {
            "site": f"{random.choice(SITES)} {random.randint(1, 9)}",
            "supply": {"tariff": any_of(random, tariffs), "daily_limit": random.randrange(80, 400)},
            "channel": random.choice(["868 MHz", "powerline", "LTE-M"]),
            "register": random.randrange(10_000, 990_000) / 10,
            "radio": [{"checks": random.randint(1, 3), "outcome": "answered"}],
            "days": {day(now[:10], -random.randint(1, 20)): intervals(random)},
        }
    return {
        "now": now, "tariffs": tariffs, "meters": meters, "requests": {}, "visits": {}, "clock": {},
        "next_request": random.randrange(10_000, 80_000), "next_visit": random.randrange(1_000, 9_000),
        "technician": person(random),
    }  # fmt: skip


def intervals(random: Random) -> list[dict[str, Any]]:
    return [
        {"start": start, "kwh": random.randrange(20, 600) / 10, "source": random.choice(["measured", "estimated"])}
        for start in STARTS
    ]


GRID = World("grid", grid)


def metered(over: bool | None, gaps: tuple[int, int]) -> Sampler:
    """Draws a day of a meter, over its daily limit or not (None: just at it), with a number of gaps."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["meters"])
        meter = db["meters"][id]
        on = day(db["now"][:10], -random.randint(1, 40))
        rows = intervals(random)
        for row in random.sample(rows, random.randint(*gaps)):
            row["kwh"] = None
        counted = [row for row in rows if row["kwh"] is not None]
        tenths = sum(round(row["kwh"] * 10) for row in counted)
        whole = random.choice(counted)
        if over is None:
            whole["kwh"] = round(whole["kwh"] + (-tenths % 10) / 10, 1)
            tenths += -tenths % 10
        total = tenths / 10
        aside = random.randint(1, 60)
        limit = round(total) if over is None else int(total - aside) if over else int(total + 1 + aside)
        meter["supply"]["daily_limit"] = limit
        meter["days"] = {day(on, -1): rows_before(random), on: rows}
        return {"meter_id": id, "day": on}

    return drawn


def rows_before(random: Random) -> list[dict[str, Any]]:
    """A part of another day."""
    return intervals(random)[:2]


DAY_COST = ApiTask(
    name="day_cost",
    split="report",
    world=GRID,
    precise=(
        "Compute the cost of a meter's day. An interval belongs to the peak of the meter's tariff if its start is not "
        "before the start of the peak and before the end of the peak; its kWh cost the price of the peak, those of all "
        "other intervals the base price. Intervals without a value cost nothing and are counted as gaps. If the kWh of "
        "the day, rounded to one decimal, are more than the daily limit of the meter, 8 percent are added to the cost. "
        "Answer with an object of `kwh`, rounded to one decimal, `cost`, rounded to two decimals at the very end, "
        "`gaps`, the number of the gaps, and `over`, whether the limit was exceeded."
    ),
    casual=(
        "cost of that meter's day please. peak price for intervals starting within the tariff's peak (its start hour "
        "included, its end hour not), base price for the rest. intervals with no kwh: skip, just count them as gaps. "
        "if the day's kwh (1 decimal) is over the meter's daily limit the whole cost goes up 8%, exactly at the limit "
        "is ok. {kwh (1 decimal), cost (round to 2 decimals only at the end), gaps, over: true/false}"
    ),
    inputs={"meter_id": text("id of the meter"), "day": text("the day, as YYYY-MM-DD")},
    gold="""
        meter = get_meter(meter_id=meter_id)
        tariff = get_tariff(code=meter["supply"]["tariff"])
        counted = get_intervals(meter_id=meter_id, day=day)
        peak = 0
        base = 0
        gaps = 0
        for interval in counted["intervals"]:
            if interval["kwh"] is None:
                gaps += 1
            elif interval["start"] >= tariff["peak"]["from"] and interval["start"] < tariff["peak"]["to"]:
                peak += interval["kwh"]
            else:
                base += interval["kwh"]
        kwh = round(peak + base, 1)
        cost = peak * tariff["peak"]["price"] + base * tariff["base_price"]
        over = kwh > meter["supply"]["daily_limit"]
        if over:
            cost = cost * 1.08
        return {"kwh": kwh, "cost": round(cost, 2), "gaps": gaps, "over": over}
    """,
    arms={
        "within": metered(False, (0, 0)),
        "over": metered(True, (0, 0)),
        "gaps": metered(False, (1, 4)),
        "over_with_gaps": metered(True, (1, 3)),
    },
    tests_only={"at_the_limit": metered(None, (0, 2))},
)


def radio(*outcomes: str) -> Sampler:
    """Draws a meter that answers requests in turn: `answered`, `last` (at the last check), `failed`, `silent`, `late`
    (one check too late), or one of `failed` and `silent` (`bad`)."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["meters"])
        script: list[dict[str, Any]] = []
        for outcome in outcomes:
            kind = random.choice(["failed", "silent"]) if outcome == "bad" else outcome
            checks = {"silent": 99, "late": 5, "last": 4}.get(kind, random.randint(1, 4))
            script.append({"checks": checks, "outcome": "failed" if kind == "failed" else "answered"})
        db["meters"][id]["radio"] = script
        return {"meter_id": id, "order_no": fresh_id(random, "MO-")}

    return drawn


REMOTE_READING = ApiTask(
    name="remote_reading",
    split="report",
    world=GRID,
    precise=(
        "Get the reading of a meter by radio. Send a request and check it until it is no longer waiting, but four "
        "times at most. If it is answered, answer with an object of `value`, the value of the reading, `requests`, the "
        "number of requests that were sent, and null `visit`. If it has failed, or is still waiting after the fourth "
        "check, try again with a new request; one that is still waiting is withdrawn first. Send three requests at "
        "most. If the third brings nothing either (it is withdrawn, too, if it is waiting), book a visit with the "
        "reason `<order> no contact`, with the number of the order, and answer with null `value`, `requests` 3 and "
        "`visit` the number of the visit."
    ),
    casual=(
        "try to read this meter over the air. send a request, check on it up to 4 times while it's waiting. failed or "
        "still waiting after check 4 -> next try with a fresh request (withdraw the waiting one before, no need for "
        "failed ones), 3 requests max. reply {value: the reading's value, requests: how many you sent, visit: null}. "
        "if the third one is no good either, clean up the same way, book a visit, reason '<order no> no contact', and "
        "reply {value: null, requests: 3, visit: its number}"
    ),
    inputs={"meter_id": text("id of the meter"), "order_no": text("number of the order for the reading")},
    gold="""
        sent = 0
        while sent < 3:
            request = request_reading(meter_id=meter_id)
            sent += 1
            checks = 1
            answer = check_request(request_id=request["request_id"])
            while answer["state"] == "waiting" and checks < 4:
                answer = check_request(request_id=request["request_id"])
                checks += 1
            if answer["state"] == "answered":
                return {"value": answer["reading"]["value"], "requests": sent, "visit": None}
            if answer["state"] == "waiting":
                withdraw_request(request_id=request["request_id"])
        visit = book_visit(meter_id=meter_id, reason=f"{order_no} no contact")
        return {"value": None, "requests": sent, "visit": visit["visit_no"]}
    """,
    arms={
        "at_once": radio("answered"),
        "after_failure": radio("failed", "answered"),
        "after_silence": radio("silent", "answered"),
        "third": radio("bad", "bad", "answered"),
        "never": radio("bad", "bad", "bad"),
    },
    tests_only={
        "last_check": radio("last"),
        "too_late": radio("late", "last"),
        "fourth_would_answer": radio("failed", "silent", "silent", "answered"),
    },
)

TASKS: dict[str, ApiTask] = {
    "lookups": FEE_SLIP,
    "branches": MISSED_CALL,
    "filters": REFILL_STORE,
    "totals": DAY_COST,
    "paging": WAITING_CASES,
    "polling": REMOTE_READING,
    "early_exit": LEAD_PHOTO,
    "joins": JOB_PARTS,
}
"""By family."""
