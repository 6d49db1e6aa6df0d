"""Early exit: a search that stops at the first match, at an error, or when it is good enough."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Family, Sampler, World, integer, number, text, texts
from flowbench_synth.api.drawing import any_of, cents, day, email_of, fresh_id, fresh_ids, moment, person

# A wholesaler


def wholesaler(random: Random) -> Database:
    """Two regions with three to six depots each, two articles, two parcels, five couriers."""
    regions = fresh_ids(random, "R", 2, 3)
    skus = fresh_ids(random, "ART-", 2, 4)
    depots: dict[str, Any] = {}
    for region in regions:
        for id in fresh_ids(random, "D", random.randint(3, 6), 4):
            stock = {sku: stocked(random, random.randint(0, 30)) for sku in skus}
            depots[id] = {
                "region": region, "name": f"{random.choice(['North', 'Old', 'River', 'Hill'])} depot",
                "km": random.randrange(3, 400), "stock": stock,
            }  # fmt: skip
    couriers = {
        code: {
            "base": random.randrange(20, 120) / 10,
            "per_kg": random.randrange(2, 30) / 10,
            "days": random.randint(1, 6),
            "most_kg": random.choice([5, 10, 40]),
        }
        for code in ("alto", "brisk", "comet", "dart", "ember")
    }
    parcels = {id: {"kg": random.randrange(5, 300) / 10} for id in fresh_ids(random, "PCL-", 2)}
    return {
        "regions": {id: {} for id in regions}, "skus": {id: {} for id in skus}, "depots": depots, "couriers": couriers,
        "parcels": parcels, "bookings": {}, "booking_number": random.randrange(1_000, 9_000),
    }  # fmt: skip


def stocked(random: Random, free: int) -> dict[str, Any]:
    """Stock of which this much is free."""
    reserved = random.randint(0, 9)
    planned = {"on": "2025-12-01", "quantity": random.randrange(10, 90)}
    return {"on_hand": free + reserved, "reserved": reserved, "next_delivery": random.choice([None, planned])}


WHOLESALER = World("depots", wholesaler)


def stock(match: int | None, exact: bool = False) -> Sampler:
    """Draws a region, an article and a quantity that the depot at this place is the first to have free; none has it if
    that is None."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        region, sku = any_of(random, db["regions"]), any_of(random, db["skus"])
        rows = [row for _, row in sorted(db["depots"].items()) if row["region"] == region]
        rows.sort(key=lambda row: row["km"])
        for row, km in zip(rows, sorted(random.sample(range(3, 400), len(rows))), strict=True):
            row["km"] = km
        quantity = random.randint(5, 20)
        for place, row in enumerate(rows):
            free = random.choice([0, quantity - 1, quantity - 3])
            if match is not None and place == match % len(rows):
                free = quantity if exact else quantity + random.randint(1, 9)
            elif match is not None and place > match % len(rows):
                free = random.randint(0, 40)
            row["stock"][sku] = stocked(random, free)
        return {"region": region, "sku": sku, "quantity": quantity}

    return drawn


NEAREST_STOCK = ApiTask(
    name="nearest_stock",
    split="tune",
    world=WHOLESALER,
    precise=(
        "Find the nearest depot of the region that has the quantity of the article free: on hand and not reserved. "
        "Look at the stock of one depot after the other, the nearest first, and look no further when you have found "
        "it. Answer with an object of the depot's `id`, `name` and `km`, or with null if no depot has enough."
    ),
    casual=(
        "which is the closest depot in this region that has at least that many of the article free (on hand minus "
        "reserved)? stop checking once you have one. id, name, km - or null"
    ),
    inputs={
        "region": text("code of the region"), "sku": text("code of the article"),
        "quantity": integer("how many are needed"),
    },
    gold="""
        found = list_depots(region=region)
        for depot in found["depots"]:
            stock = get_stock(depot_id=depot["id"], sku=sku)
            if stock["on_hand"] - stock["reserved"] >= quantity:
                return depot
        return None
    """,
    arms={"the second": stock(1), "none": stock(None), "the nearest": stock(0), "the farthest": stock(-1)},
    tests_only={"exactly enough": stock(1, exact=True)},
)  # fmt: skip


def quotes(*kinds: str) -> Sampler:
    """Draws couriers that in this order are too dear (`dear`), refuse the parcel (`no`), fit or cost the budget."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        parcel = any_of(random, db["parcels"])
        kg = db["parcels"][parcel]["kg"] = random.randrange(15, 40) / 10
        codes = random.sample(sorted(db["couriers"]), len(kinds))
        budget = round(random.randrange(800, 2_500) / 100, 2)
        for code, kind in zip(codes, kinds, strict=True):
            row = db["couriers"][code]
            gap = {"dear": random.randint(1, 500) / 100, "fits": -random.randint(1, 300) / 100}.get(kind, 0.0)
            row["most_kg"] = 1 if kind == "no" else 40
            row["base"] = round(budget + gap - row["per_kg"] * kg, 2)
        return {"parcel_id": parcel, "couriers": codes, "budget": budget}

    return drawn


BOOK_COURIER = ApiTask(
    name="book_affordable_courier",
    split="report",
    world=WHOLESALER,
    precise=(
        "Ask the couriers for a quote for the parcel, one after the other in the given order. Book the first one that "
        "takes the parcel for at most the budget, and ask no further. Answer with an object of the `courier` and the "
        "`booking_id`, or with null if none does."
    ),
    casual=(
        "get quotes for the parcel from these couriers, in this order, and book the first one thats within budget "
        "(then stop asking). some don't take it at all. courier + booking_id, or null"
    ),
    inputs={
        "parcel_id": text("id of the parcel"), "couriers": texts("codes of couriers, the preferred one first"),
        "budget": number("the most that it may cost"),
    },
    gold="""
        for courier in couriers:
            quote = get_courier_quote(courier=courier, parcel_id=parcel_id)
            if quote["offer"] is not None and quote["offer"]["amount"] <= budget:
                booking = book_courier(quote_id=quote["offer"]["quote_id"])
                return {"courier": courier, "booking_id": booking["booking_id"]}
        return None
    """,
    arms={
        "the third": quotes("dear", "no", "fits", "fits"), "none": quotes("dear", "no", "dear"),
        "the first": quotes("fits", "dear"), "the second": quotes("dear", "fits", "no"),
    },
    tests_only={"exactly the budget": quotes("no", "exact", "fits"), "one": quotes("fits"), "nobody": quotes("no")},
)  # fmt: skip

# An accounting system

PROBLEMS = {"missing": "vat_id", "unknown": "cost_centre", "too_late": "due_on"}


def accounting(random: Random) -> Database:
    """Two batches of three to six vouchers without problems."""
    batches: dict[str, Any] = {}
    rows: dict[str, Any] = {}
    for batch in fresh_ids(random, "BAT-", 2, 4):
        ids = fresh_ids(random, "VCH-", random.randint(3, 6))
        batches[batch] = {"period": f"2025-{random.randint(1, 12):02}", "vouchers": ids}
        rows |= {id: {"total": cents(random, 20, 900), "problem": None, "posted_to": None, "note": ""} for id in ids}
    return {"batches": batches, "vouchers": rows}


ACCOUNTING = World("vouchers", accounting)


def batch(*places: int) -> Sampler:
    """Draws a batch in which the vouchers at these places have problems."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["batches"])
        ids = db["batches"][id]["vouchers"]
        for place in places:
            code = random.choice(sorted(PROBLEMS))
            db["vouchers"][ids[place]]["problem"] = {"code": code, "field": PROBLEMS[code]}
        return {"batch_id": id}

    return drawn


POST_BATCH = ApiTask(
    name="post_until_problem",
    split="tune",
    world=ACCOUNTING,
    precise=(
        "Post the vouchers of the batch in their order, to the period of the batch. Stop at the first one that is not "
        "posted, and flag it with the note `<code>: <field>` of its problem. Answer with an object: `posted`, the "
        "number of vouchers that were posted, and `stopped_at`, the id of the voucher that was not, or null."
    ),
    casual=(
        "post this batch to its period, one voucher after the other. if one doesn't go through: stop right there, flag "
        "it with '<code>: <field>' of the problem. tell me posted (how many) and stopped_at (id or null)"
    ),
    inputs={"batch_id": text("id of the batch")},
    gold="""
        batch = get_batch(batch_id=batch_id)
        posted = 0
        for voucher_id in batch["vouchers"]:
            outcome = post_voucher(voucher_id=voucher_id, period=batch["period"])
            if not outcome["posted"]:
                problem = outcome["problem"]
                flag_voucher(voucher_id=voucher_id, note=f"{problem['code']}: {problem['field']}")
                return {"posted": posted, "stopped_at": voucher_id}
            posted += 1
        return {"posted": posted, "stopped_at": None}
    """,
    arms={"in the middle": batch(1), "all are posted": batch(), "the first": batch(0), "two problems": batch(1, 2)},
    tests_only={"the last": batch(-1)},
)

# A travel agency


def agency(random: Random) -> Database:
    """Two searches with four to seven offers each."""
    searches: dict[str, Any] = {}
    offers: dict[str, Any] = {}
    for id in fresh_ids(random, "S-", 2):
        ids = fresh_ids(random, "O", random.randint(4, 7))
        searches[id] = {"offer_ids": ids, "expires_at": moment("2025-06-01T10:00", random.randrange(9_000))}
        for offer_id in ids:
            offers[offer_id] = offered(random, random.randrange(200, 900))
    return {"searches": searches, "offers": offers}


def offered(random: Random, total: int) -> dict[str, Any]:
    """An offer that can be cancelled."""
    name = f"{random.choice(['Hotel', 'Pension', 'Inn'])} {random.choice(['Aurora', 'Berg', 'Lago', 'Prado', 'Sol'])}"
    return {
        "hotel": {"name": name, "stars": random.randint(2, 5)},
        "price": {"night": round(total / 3, 2), "total": total},
        "cancellable_until": day("2025-06-01", random.randrange(90)),
        "sold_out": False,
    }


AGENCY = World("stays", agency)


def offers(match: int | None, exact: bool = False, alike: bool = False, none: bool = False) -> Sampler:
    """Draws a search and a target that the offer at this place meets first, if there is one."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["searches"])
        rows = [db["offers"][offer_id] for offer_id in db["searches"][id]["offer_ids"]]
        target = random.randrange(300, 500)
        for place, row in enumerate(rows):
            row.update(offered(random, target + random.randrange(5, 300)))
            if place % 3 == 1:
                row["price"]["total"] = target - random.randrange(3, 90)
                row.update({"sold_out": True} if random.random() < 0.5 else {"cancellable_until": None})
        if match is not None:
            rows[match].update(offered(random, target - (0 if exact else random.randrange(1, 60))))
        if alike:
            for place in (0, 2, 3):
                rows[place].update(offered(random, target + 3))
        if none:
            for row in rows:
                row["sold_out"] = True
        return {"search_id": id, "target": target}

    return drawn


BEST_STAY = ApiTask(
    name="good_enough_stay",
    split="report",
    world=AGENCY,
    precise=(
        "Look at the offers of the search in their order. Offers that are sold out or cannot be cancelled do not "
        "count. Keep the cheapest one by its total price, of equal ones the first. Stop as soon as one costs at most "
        "`target` in total. Answer with an object of the `id` and the `total` of the best offer, both null if none "
        "counts, and `looked_at`, the number of offers that you looked at."
    ),
    casual=(
        "go through the offers of this search one by one, ignore sold out ones and those i cant cancel. first one at "
        "or below target total -> take it and stop, otherwise the cheapest in the end (first one if equal). want id, "
        "total (null if nothing) and looked_at = how many you checked"
    ),
    inputs={"search_id": text("id of the search"), "target": number("a total price that is good enough")},
    gold="""
        offers = list_offers(search_id=search_id)
        best_id = None
        best = None
        looked_at = 0
        for offer_id in offers["offer_ids"]:
            offer = get_offer(offer_id=offer_id)
            looked_at += 1
            if offer["sold_out"] or offer["cancellable_until"] is None:
                continue
            if best is None or offer["price"]["total"] < best:
                best_id = offer_id
                best = offer["price"]["total"]
            if best <= target:
                break
        return {"id": best_id, "total": best, "looked_at": looked_at}
    """,
    arms={
        "the third": offers(2), "none is good enough": offers(None), "the first": offers(0),
        "nothing": offers(1, none=True),
    },
    tests_only={"exactly the target": offers(2, exact=True), "equal ones": offers(None, alike=True)},
)  # fmt: skip

# A mailbox


def mail(random: Random) -> Database:
    """Two mailboxes with three to six messages each."""
    messages: dict[str, Any] = {}
    boxes: Database = {email_of(f"desk {fresh_id(random, '', 3)}"): {} for _ in range(2)}
    for box in sorted(boxes):
        for id in fresh_ids(random, "M", random.randint(4, 6)):
            name = person(random)
            domain = random.choice(["acme.test", "orbit.test", "lumen.test"])
            messages[id] = {
                "id": id,
                "mailbox": box,
                "sender": {"name": name, "address": f"{name.split()[0].lower()}@{domain}"},
                "subject": random.choice(["Order", "Invoice", "Question", "Contract", "Reminder"]),
                "text": random.choice(["Please see below.", "As agreed.", "Thank you!"]),
                "read": random.random() < 0.4,
                "attachments": [],
            }
    return {"boxes": boxes, "messages": messages, "forwarded": {}}


MAIL = World("mailbox", mail)


def inbox(match: int | None) -> Sampler:
    """Draws a mailbox, a domain and an address; the message at this place is the first one to forward."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        box = any_of(random, db["boxes"])
        domain = f"{random.choice(['quartz', 'pebble', 'harbor'])}{random.randrange(10, 99)}.test"
        rows = [row for _, row in sorted(db["messages"].items(), reverse=True) if row["mailbox"] == box]
        for place, row in enumerate(rows):
            file = {"name": f"{row['subject'].lower()}.pdf", "kb": random.randrange(20, 900)}
            fits = {"read": False, "attachments": [file]}
            ours = {**row["sender"], "address": f"{row['sender']['address'].partition('@')[0]}@{domain}"}
            kinds = [{**fits, "sender": ours, "read": True}, {**fits, "sender": ours, "attachments": []}, fits]
            if match is not None and place == match % len(rows):
                row.update(fits, sender=ours)
            else:
                row.update(kinds[place % 3])
            if match is not None and place > match % len(rows) and random.random() < 0.5:
                row.update(fits, sender=ours)
        colleague = f"{person(random).split()[0].lower()}.{random.randrange(100, 999)}@example.com"
        return {"mailbox": box, "domain": domain, "to": colleague}

    return drawn


FORWARD_FIRST = ApiTask(
    name="forward_first_attachment",
    split="tune",
    world=MAIL,
    precise=(
        "In the inbox, find the newest unread message whose sender's address ends with `@` and the domain and that has "
        "an attachment; open messages only as far as needed. Forward it to `to`, mark it as read, and answer with an "
        "object of its `id` and `file`, the name of its first attachment. If there is no such message, answer with "
        "null."
    ),
    casual=(
        "find the newest unread mail from someone @domain with an attachment, fwd it to `to` and mark it read. dont "
        "open more mails than you have to. reply with id and file (name of the first attachment), null if theres none"
    ),
    inputs={
        "mailbox": text("address of the mailbox"), "domain": text("domain of the sender"),
        "to": text("address to forward to"),
    },
    gold="""
        inbox = list_inbox(mailbox=mailbox)
        for entry in inbox["messages"]:
            if entry["read"] or not entry["sender"]["address"].endswith("@" + domain):
                continue
            message = open_message(message_id=entry["id"])
            if len(message["attachments"]) > 0:
                forward_message(message_id=entry["id"], to=to)
                mark_read(message_id=entry["id"])
                return {"id": entry["id"], "file": message["attachments"][0]["name"]}
        return None
    """,
    arms={"the third": inbox(2), "none": inbox(None), "the newest": inbox(0), "the oldest": inbox(-1)},
)  # fmt: skip

# A register of officers


def register(random: Random) -> Database:
    """Two chains of six officers, from the lowest to the top."""
    officers: dict[str, Any] = {}
    chains: dict[str, Any] = {}
    for name in ("east", "west"):
        ids = fresh_ids(random, "OFF-", 6)
        grades = sorted(random.sample(range(1, 10), 6))
        chains[name] = {"ids": ids}
        for place, (id, grade) in enumerate(zip(ids, grades, strict=True)):
            title = random.choice(["ensign", "lieutenant", "captain", "major"])
            officers[id] = {
                "name": person(random),
                "rank": {"title": title, "grade": grade},
                "superior_id": ids[place + 1] if place < 5 else None,
                "leave": None,
            }
    return {"chains": chains, "officers": officers}


REGISTER = World("officers", register)


def chain(start: tuple[int, int], target: int | None, away: Sequence[int] = (), shift: int = 0) -> Sampler:
    """Draws an officer, and the grade of the one at `target`, who may sign if he is not away."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        ids = db["chains"][random.choice(["east", "west"])]["ids"]
        for place in away:
            db["officers"][ids[place]]["leave"] = {"until": day("2025-08-01", random.randrange(60))}
        grade = 10 if target is None else db["officers"][ids[target]]["rank"]["grade"] - shift
        return {"officer_id": ids[random.randint(*start)], "grade": grade}

    return drawn


WHO_SIGNS = ApiTask(
    name="who_signs",
    split="report",
    world=REGISTER,
    precise=(
        "Starting with the superior of the officer, go up from superior to superior until you come to someone whose "
        "grade is at least `grade` and who is not on leave. Answer with an object of the `id` and the `name` of that "
        "person and `steps`, 1 for the officer's own superior; answer with null if there is nobody."
    ),
    casual=(
        "who can sign for this officer? walk up the superiors till someone has at least that grade and isnt on leave. "
        "id, name and steps (direct superior = 1). null if nobody"
    ),
    inputs={"officer_id": text("id of the officer"), "grade": integer("the lowest grade that may sign")},
    gold="""
        person = get_officer(officer_id=officer_id)
        steps = 0
        while person["superior_id"] is not None:
            person = get_officer(officer_id=person["superior_id"])
            steps += 1
            if person["rank"]["grade"] >= grade and person["leave"] is None:
                return {"id": person["id"], "name": person["name"], "steps": steps}
        return None
    """,
    arms={
        "some steps up": chain((0, 1), 3), "nobody": chain((0, 4), None),
        "the next one is away": chain((0, 2), 3, (3,)),
        "at the top": chain((0, 3), 5), "all away": chain((1, 3), 4, (4, 5)),
    },
    tests_only={
        "already the top": chain((5, 5), 2), "own superior": chain((2, 2), 3),
        "high enough": chain((3, 3), 2),
    },
)  # fmt: skip

# A market


def market(random: Random) -> Database:
    """Two wish lists of three to six entries."""
    codes = fresh_ids(random, "A", 8, 4)
    articles = {code: {"cents": random.randrange(150, 4_000), "available": True} for code in codes}
    wishlists = {
        id: {
            "entries": [
                {"article": code, "quantity": random.randint(1, 3)}
                for code in random.sample(codes, random.randint(4, 6))
            ]
        }
        for id in fresh_ids(random, "SH-", 2)
    }
    return {"articles": articles, "wishlists": wishlists, "baskets": {}}


MARKET = World("market", market)


def wishes(place: int | None, gap: int | None = None, missing: Sequence[int] = ()) -> Sampler:
    """Draws a wish list and a budget that ends before the entry at this place, or never.

    Args:
        place: Of the first entry that the budget does not hold.
        gap: The cents that lack for this entry; drawn if it is None.
        missing: The places of entries that are not available.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["wishlists"])
        entries = db["wishlists"][id]["entries"]
        costs: list[int] = []
        for at, entry in enumerate(entries):
            row = db["articles"][entry["article"]]
            row["available"] = at not in missing
            costs.append(entry["quantity"] * row["cents"] * row["available"])
        if place is None:
            return {"shopper_id": id, "budget": sum(costs) + random.randrange(100, 3_000)}
        short = random.randint(1, costs[place] - 1) if gap is None else gap
        return {"shopper_id": id, "budget": sum(costs[: place + 1]) - short}

    return drawn


FILL_BASKET = ApiTask(
    name="fill_basket",
    split="tune",
    world=MARKET,
    precise=(
        "Put the entries of the wish list into the shopper's basket in their order, with their quantities. Articles "
        "that are not available are passed over. Stop before the first article with which the basket would cost more "
        "than the budget. Answer with an object: `articles`, the codes that you put in, and `left`, the cents that are "
        "left of the budget."
    ),
    casual=(
        "fill the basket from the wishlist top down as long as the budget holds (skip whats not available). first "
        "thing that would go over -> stop. articles + left (rest of the budget, in cents) please"
    ),
    inputs={"shopper_id": text("id of the shopper"), "budget": integer("the most that the basket may cost, in cents")},
    gold="""
        wishlist = get_wishlist(shopper_id=shopper_id)
        articles = []
        total = 0
        for entry in wishlist["entries"]:
            price = get_article_price(article=entry["article"])
            if not price["available"]:
                continue
            cost = price["unit_cents"] * entry["quantity"]
            if total + cost > budget:
                break
            add_to_basket(shopper_id=shopper_id, article=entry["article"], quantity=entry["quantity"])
            articles.append(entry["article"])
            total += cost
        return {"articles": articles, "left": budget - total}
    """,
    arms={
        "stops": wishes(2), "all fit": wishes(None), "one is missing": wishes(3, missing=(1,)),
        "nothing fits": wishes(0),
    },
    tests_only={"a cent short": wishes(2, gap=1), "not a cent left": wishes(2, gap=0)},
)  # fmt: skip

# A plant


def plant(random: Random) -> Database:
    """Two halls with five to eight sensors each."""
    sensors: dict[str, Any] = {}
    halls: Database = {code: {} for code in fresh_ids(random, "H", 2, 3)}
    for hall in sorted(halls):
        for place, id in enumerate(fresh_ids(random, "SN", random.randint(5, 8), 4)):
            low = random.randrange(10, 40)
            sensors[id] = {
                "hall": hall,
                "place": place,
                "kind": random.choice(["pressure", "temperature", "flow"]),
                "unit": random.choice(["bar", "C", "l/s"]),
                "value": low + random.randrange(1, 20),
                "limits": {"low": low, "high": low + 20},
            }
    return {"halls": halls, "sensors": sensors}


PLANT = World("sensors", plant)


def readings(kinds: str, count: tuple[int, int]) -> Sampler:
    """Draws a hall whose sensors read so: `l`, `h` too low or high, `-` offline, `[`, `]` at a limit, `.` normal."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        hall = any_of(random, db["halls"])
        rows = sorted((row for row in db["sensors"].values() if row["hall"] == hall), key=lambda row: row["place"])
        for row, kind in zip(rows, kinds, strict=False):
            low, high = row["limits"]["low"], row["limits"]["high"]
            values = {"l": low - random.randint(1, 5), "h": high + random.randint(1, 5), "-": None, "[": low, "]": high}
            row["value"] = values.get(kind, row["value"])
        return {"hall": hall, "count": random.randint(*count)}

    return drawn


THIRD_ANOMALY = ApiTask(
    name="first_anomalies",
    split="report",
    world=PLANT,
    precise=(
        "Read the sensors of the hall in their order until `count` of them have a value below the low limit or above "
        "the high one, or all are read. Sensors that are offline are passed over, but count as read. Answer with an "
        "object: `ids` of the sensors outside their limits, and `read`, the number of sensors that you read."
    ),
    casual=(
        "walk through the sensors of this hall and read them until you found `count` that are outside their limits "
        "(the limits themselves are fine, offline ones dont matter). ids of the bad ones + how many you read (read)"
    ),
    inputs={"hall": text("code of the hall"), "count": integer("how many to find, at least 1")},
    gold="""
        found = list_sensors(hall=hall)
        ids = []
        read = 0
        for sensor in found["sensors"]:
            reading = read_sensor(sensor_id=sensor["id"])
            read += 1
            value = reading["value"]
            if value is not None and (value < reading["limits"]["low"] or value > reading["limits"]["high"]):
                ids.append(sensor["id"])
            if len(ids) >= count:
                break
        return {"ids": ids, "read": read}
    """,
    arms={
        "found early": readings("l-h.h", (2, 2)), "not enough": readings("h.-.l", (4, 5)),
        "one": readings(".l..h", (1, 1)), "three": readings("hl.h.l", (3, 3)),
    },
    tests_only={"at the limits": readings("[]h.l", (1, 2)), "none": readings("]-[.", (1, 3))},
)  # fmt: skip

FAMILY = Family(
    "early_exit",
    "searches that stop early",
    (
        NEAREST_STOCK, BOOK_COURIER, POST_BATCH, BEST_STAY, FORWARD_FIRST, WHO_SIGNS, FILL_BASKET, THIRD_ANOMALY,
    ),
)  # fmt: skip
