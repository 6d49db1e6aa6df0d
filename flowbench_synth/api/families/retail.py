"""Tasks of a parcel service, an online shop, a warehouse and a coffee subscription, one of each kind."""

from __future__ import annotations

from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Sampler, World, choice, number, text
from flowbench_synth.api.drawing import any_of, cents, company, day, email_of, fresh_id, fresh_ids, moment, person

TOWNS = ("Lille", "Graz", "Turin", "Aarhus", "Porto", "Leeds", "Gdansk", "Ghent", "Basel", "Malmo")
STREETS = ("Mill Road", "Canal Street", "Harbour Way", "Station Lane", "Quarry Hill", "Market Row")
EVENTS = ("arrived", "sorted", "loaded", "returned to hub", "waiting at the counter", "delivery missed")
GOODS = ("textiles", "books", "electronics", "cosmetics", "toys", "medical")
REMARKS = ("value not credible", "no permit", "goods not described", "wrong tariff code", "address incomplete")


def courier(random: Random) -> Database:
    """Five parcels of three merchants, last seen at three hubs."""
    towns = random.sample(TOWNS, 3)
    hubs = {
        code: {
            "code": code,
            "label": f"{random.choice(['Hub', 'Depot', 'Point'])} {random.choice('NSEW')}{random.randint(1, 60)}",
            "address": {"street": f"{random.choice(STREETS)} {random.randint(1, 99)}", "town": town},
            "supervisor": person(random),
        }
        for code, town in zip(fresh_ids(random, "H", 3, 3), towns, strict=True)
    }
    merchants: dict[str, Any] = {}
    for id in fresh_ids(random, "MC", 3, 4):
        brand = company(random)
        contacts = {"support": f"help{random.randint(1, 99)}.{email_of(brand)}", "accounts": email_of(brand)}
        merchants[id] = {"id": id, "brand": brand, "contacts": contacts}
    start = moment("2025-01-02T06:00", random.randrange(400_000))
    parcels: dict[str, Any] = {
        id: {
            "id": id,
            "merchant_id": any_of(random, merchants),
            "recipient": {"name": person(random), "country": random.choice(["CH", "NO", "GB", "TR", "RS"])},
            "contents": {
                "category": random.choice(GOODS),
                "value": cents(random, 10, 900),
                "weight_kg": random.randint(2, 240) / 10,
            },
            "last_scan": {
                "event": random.choice(EVENTS),
                "at": moment(start, random.randrange(9_000)),
                "hub_code": any_of(random, hubs),
            },
        }
        for id in fresh_ids(random, "PX", 5, 6)
    }
    return {
        "parcels": parcels, "hubs": hubs, "merchants": merchants, "declarations": {}, "dispatched": {}, "held": {},
        "van": {"plate": fresh_id(random, "VN-", 4), "departs_at": moment(start, random.randrange(9_000, 20_000))},
        "customs": {
            "rounds": 1, "outcome": "released", "queue": 1, "stamp": fresh_id(random, "R", 4),
            "remark": random.choice(REMARKS),
        },
        "clock": {},
    }  # fmt: skip


COURIER = World("courier", courier)


def seen(*events: str) -> Sampler:
    """Draws a parcel whose latest scan is one of some events."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["parcels"][any_of(random, db["parcels"])]
        row["last_scan"]["event"] = random.choice(events)
        return {"parcel_id": row["id"]}

    return drawn


WHERE_IS_IT = ApiTask(
    name="where_is_it",
    split="tune",
    world=COURIER,
    precise=(
        "Write what a customer is told who asks where a parcel is. Answer with an object of `line` and `since`. `line` "
        "is the text `<brand of the merchant> parcel for <name of the recipient>: <event of the latest scan> at "
        "<label of the hub of that scan>, <town of the hub>. Questions: <support address of the merchant>`; `since` is "
        "the time of the latest scan as it stands in the record."
    ),
    casual=(
        "customer asks where their parcel is, make me the reply: {line: '<brand> parcel for <recipient name>: <event> "
        "at <hub label>, <town>. Questions: <support mail>', since: <when that scan was>}. event/hub = from the last "
        "scan, brand and support mail = the merchant's"
    ),
    inputs={"parcel_id": text("id of the parcel")},
    gold="""
        parcel = track_parcel(parcel_id=parcel_id)
        scan = parcel["last_scan"]
        hub = get_hub(hub_code=scan["hub_code"])
        merchant = get_merchant(merchant_id=parcel["merchant_id"])
        place = f"{hub['label']}, {hub['address']['town']}"
        head = f"{merchant['brand']} parcel for {parcel['recipient']['name']}: {scan['event']} at {place}"
        line = f"{head}. Questions: {merchant['contacts']['support']}"
        return {"line": line, "since": scan["at"]}
    """,
    arms={
        "moving": seen("arrived", "sorted", "loaded"),
        "stopped": seen("returned to hub", "delivery missed"),
        "waiting": seen("waiting at the counter"),
    },
)


def customs(outcome: str, low: int, high: int) -> Sampler:
    """Draws a parcel that customs decide on after a number of questions between limits."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        rounds = random.randint(low, high)
        queue = random.randint(max(0, rounds - 3), rounds - 1)
        if rounds > 6:
            queue = random.choice([6, 6, random.randint(0, 5), random.randint(2, 5)])
        db["customs"].update(rounds=rounds, outcome=outcome, queue=queue)
        return {"parcel_id": any_of(random, db["parcels"])}

    return drawn


CLEAR_CUSTOMS = ApiTask(
    name="clear_customs",
    split="tune",
    world=COURIER,
    precise=(
        "Bring a parcel through customs. Hand in a declaration with the category and the value of its contents, then "
        "ask for the state of the declaration, at most six times. As soon as it is `released`, dispatch the parcel "
        "with the release code and answer with the text `sent with <vehicle> at <departs_at>`. As soon as it is "
        "`refused`, hold the parcel with the remark of customs as the note and answer with "
        "`held in <cage>: <remark>`. If the sixth answer is neither, withdraw the declaration and answer with "
        "`withdrawn while <state>`, the state that the sixth answer gave."
    ),
    casual=(
        "get this parcel cleared: file the declaration (category + value from its contents) and check on it, 6 checks "
        "max. released -> dispatch it with the release code, tell me 'sent with <vehicle> at <departs_at>'. refused -> "
        "put it on hold, note = customs' remark, tell me 'held in <cage>: <remark>'. still nothing after check no. 6? "
        "withdraw the declaration and say 'withdrawn while <the last state you saw>'"
    ),
    inputs={"parcel_id": text("id of the parcel")},
    gold="""
        parcel = track_parcel(parcel_id=parcel_id)
        goods = parcel["contents"]
        filed = declare_goods(parcel_id=parcel_id, category=goods["category"], value=goods["value"])
        state = filed["state"]
        asked = 0
        while asked < 6:
            reply = customs_state(declaration=filed["declaration"])
            asked += 1
            state = reply["state"]
            if state == "released":
                sent = dispatch_parcel(parcel_id=parcel_id, release_code=reply["release_code"])
                return f"sent with {sent['vehicle']} at {sent['departs_at']}"
            if state == "refused":
                held = hold_parcel(parcel_id=parcel_id, note=reply["remark"])
                return f"held in {held['cage']}: {reply['remark']}"
        withdraw_declaration(declaration=filed["declaration"])
        return f"withdrawn while {state}"
    """,
    arms={
        "soon": customs("released", 1, 2),
        "refused": customs("refused", 1, 6),
        "never": customs("released", 7, 12),
        "late": customs("released", 3, 6),
    },
    tests_only={"sixth": customs("released", 6, 6), "seventh": customs("refused", 7, 7)},
)

SIZES = ("damaged", "wrong_size", "changed_mind", "late")


def store(random: Random) -> Database:
    """Ten orders in three channels, of four customers, and four returns."""
    today = day("2025-02-10", random.randrange(300))
    customers: dict[str, Any] = {}
    for id in fresh_ids(random, "C", 4, 4):
        name = person(random)
        customers[id] = {"id": id, "name": name, "kind": random.choice(["private", "trade"]), "email": email_of(name)}
    orders: dict[str, Any] = {}
    for id in sorted(fresh_ids(random, "", 10, 6)):
        state = random.choice(["awaiting_payment", "awaiting_payment", "awaiting_payment", "packing", "shipped"])
        orders[id] = {
            "number": id,
            "channel": random.choice(["web", "web", "app", "phone"]),
            "state": state,
            "placed_on": day(today, -random.randint(0, 30)),
            "customer_id": any_of(random, customers),
            "payment": {
                "method": random.choice(["transfer", "invoice", "voucher"]),
                "promised_on": random.choice([None, None, day(today, random.randint(0, 20))]),
            },
            "totals": {"goods": cents(random, 12, 400), "shipping": random.choice([0.0, 3.9, 5.9])},
        }
    returns: dict[str, Any] = {
        id: {
            "id": id,
            "order_number": any_of(random, orders),
            "filed_on": day(today, -random.randint(0, 60)),
            "reason": random.choice(SIZES),
            "item": {"sku": fresh_id(random, "SK", 5), "price": cents(random, 15, 200), "return_until": None},
        }
        for id in fresh_ids(random, "RMA-", 4)
    }
    return {
        "today": today, "orders": orders, "customers": customers, "returns": returns, "decisions": {}, "reminders": {},
    }  # fmt: skip


STORE = World("store", store)


def coming_back(damaged: bool, left: tuple[int, int] | None) -> Sampler:
    """Draws a return, damaged or not, filed some days before the last one; None for a final sale."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["returns"][any_of(random, db["returns"])]
        row["reason"] = "damaged" if damaged else random.choice(SIZES[1:])
        row["item"]["return_until"] = None if left is None else day(row["filed_on"], random.randint(*left))
        return {"return_id": row["id"]}

    return drawn


def broken(random: Random, db: Database) -> dict[str, Any]:
    return coming_back(True, random.choice([None, (-30, -1), (0, 30)]))(random, db)


SETTLE_RETURN = ApiTask(
    name="settle_return",
    split="tune",
    world=STORE,
    precise=(
        "Decide on a return request. A damaged item is always approved, with its full price as the refund. Otherwise, "
        "an item without a `return_until` is rejected with `final sale` as the reason for the customer, and a request "
        "filed after the day `return_until` is rejected with the reason `window closed on <return_until>`; one filed "
        "on that day is still in time. What is left is approved, with the price less a handling fee of 4.90 as the "
        "refund, rounded to two decimals. Answer with the text `<label>: <refund>` after an approval, and with the "
        "reason after a rejection."
    ),
    casual=(
        "sort out this return. damaged = approve, full price back, always. if not damaged: no return_until -> reject, "
        "why = 'final sale'; filed later than return_until -> reject, why = 'window closed on <return_until>' (on the "
        "day itself is ok); otherwise approve with price minus 4.90 handling, 2 decimals. answer '<label>: <refund>' "
        "if approved, else just the why"
    ),
    inputs={"return_id": text("id of the return")},
    gold="""
        request = get_return_request(return_id=return_id)
        item = request["item"]
        if request["reason"] == "damaged":
            refund = item["price"]
        else:
            why = None
            if item["return_until"] is None:
                why = "final sale"
            elif request["filed_on"] > item["return_until"]:
                why = f"window closed on {item['return_until']}"
            if why is not None:
                reject_return(return_id=return_id, why=why)
                return why
            refund = round(item["price"] - 4.9, 2)
        done = approve_return(return_id=return_id, refund=refund)
        return f"{done['label']}: {done['refund']}"
    """,
    arms={
        "damaged": broken,
        "final_sale": coming_back(False, None),
        "too_late": coming_back(False, (-30, -1)),
        "in_time": coming_back(False, (0, 30)),
    },
    tests_only={"last_day": coming_back(False, (0, 0))},
)


def unpaid(count: tuple[int, int], *kinds: str) -> Sampler:
    """Draws a channel that has a number of orders between limits; those to clear are of customers of these kinds."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        channel = random.choice(["web", "app", "phone"])
        numbers = sorted(db["orders"])
        chosen = random.sample(numbers, random.randint(*count))
        before = day(db["today"], -random.randint(6, 16))
        customers = random.sample(sorted(db["customers"]), len(db["customers"]))
        for at, id in enumerate(customers):
            kind = kinds[at] if at < len(kinds) else random.choice(kinds or ("private", "trade"))
            db["customers"][id]["kind"] = kind
        surely = dict(zip(chosen, customers[: len(kinds)], strict=False))
        for id in numbers:
            row = db["orders"][id]
            if id not in chosen:
                row["channel"] = random.choice([name for name in ("web", "app", "phone") if name != channel])
                continue
            row.update(channel=channel, state="awaiting_payment", placed_on=day(before, -random.randint(1, 12)))
            row["payment"]["promised_on"] = None
            row["customer_id"] = surely.get(id, row["customer_id"])
            if id in surely or (kinds and random.random() < 0.6):
                continue
            miss = random.choice(["state", "day", "promise"])
            if miss == "state":
                row["state"] = random.choice(["packing", "shipped"])
            elif miss == "day":
                row["placed_on"] = day(before, random.choice([0, 0, 1, 4]))
            else:
                row["payment"]["promised_on"] = day(db["today"], random.randint(0, 20))
        return {"channel": channel, "placed_before": before}

    return drawn


CLEAR_UNPAID = ApiTask(
    name="clear_unpaid",
    split="tune",
    world=STORE,
    precise=(
        "Go through all orders of a sales channel, on all pages, and clear those that nobody pays for: state "
        "`awaiting_payment`, placed before the given day (not on it), and without a day on which payment was promised. "
        "If the customer of such an order is a trade customer, send a reminder to the customer's address; otherwise "
        "cancel the order with the cause `unpaid`. Leave all other orders alone. Answer with an object of "
        "`cancelled`, the numbers of the cancelled orders in the order of the list, `reminded`, how many reminders "
        "were sent, and `freed`, the sum of the goods totals of the cancelled orders, rounded to two decimals (0 if "
        "there are none)."
    ),
    casual=(
        "clean up the unpaid orders of this channel, all pages please. that's state awaiting_payment, placed before "
        "my date (the date itself doesn't count) and no promised payment day. trade customers only get a reminder "
        "mail to their address, everybody else's order gets cancelled, cause 'unpaid'. give me {cancelled: [order "
        "numbers, as listed], reminded: how many mails, freed: goods totals of the cancelled ones added up, 2 "
        "decimals, 0 if none}"
    ),
    inputs={
        "channel": choice("the sales channel", "web", "app", "phone"),
        "placed_before": text("the day before which the orders were placed, YYYY-MM-DD"),
    },
    gold="""
        cancelled = []
        reminded = 0
        freed = 0
        page = list_channel_orders(channel=channel, cursor=None)
        while True:
            for order in page["orders"]:
                if order["state"] != "awaiting_payment" or order["placed_on"] >= placed_before:
                    continue
                if order["payment"]["promised_on"] is not None:
                    continue
                customer = get_shop_customer(customer_id=order["customer_id"])
                if customer["kind"] == "trade":
                    remind_payer(number=order["number"], email=customer["email"])
                    reminded += 1
                else:
                    cancel_shop_order(number=order["number"], cause="unpaid")
                    cancelled.append(order["number"])
                    freed += order["totals"]["goods"]
            if page["next_cursor"] is None:
                return {"cancelled": cancelled, "reminded": reminded, "freed": round(freed, 2)}
            page = list_channel_orders(channel=channel, cursor=page["next_cursor"])
    """,
    arms={
        "many": unpaid((7, 9), "private", "trade"),
        "private": unpaid((4, 7), "private"),
        "one_page": unpaid((2, 3), "private", "trade"),
        "nothing_due": unpaid((3, 5)),
        "trade": unpaid((4, 6), "trade"),
    },
)


def depot(random: Random) -> Database:
    """Ten pick slots in two aisles, five articles and two count sheets."""
    aisles = [random.choice("BCDGHKMR") + str(number) for number in random.sample(range(100, 1_000), 2)]
    articles: dict[str, Any] = {
        sku: {
            "sku": sku,
            "title": f"{random.choice(['Hinge', 'Bracket', 'Valve', 'Gasket', 'Clamp'])} {random.randint(4, 60)} mm",
            "unit_cost": random.randrange(20, 900) / 100,
            "pack_price": cents(random, 10, 90),
            "case_size": random.choice([6, 12, 20, 24]),
        }
        for sku in fresh_ids(random, "AR", 5, 5)
    }
    slots: dict[str, Any] = {}
    for aisle in aisles:
        for place in sorted(random.sample(range(10, 100), 5)):
            low = random.randint(5, 25)
            slots[f"{aisle}-{place}"] = {
                "code": f"{aisle}-{place}",
                "aisle": aisle,
                "sku": any_of(random, articles),
                "state": random.choice(["active", "active", "active", "blocked"]),
                "on_hand": random.randint(0, 2 * low),
                "levels": {"min": low, "max": low + random.randint(15, 60)},
                "open_topup": random.choice([None, None, fresh_id(random, "TU", 4)]),
            }
    sheets: dict[str, Any] = {
        id: {"id": id, "aisle": aisle, "counted_by": person(random), "lines": []}
        for id, aisle in zip(fresh_ids(random, "CS-", 2), aisles, strict=True)
    }
    return {
        "slots": slots, "articles": articles, "sheets": sheets, "topups_made": random.randrange(10_000, 90_000),
        "topups": {},
    }  # fmt: skip


DEPOT = World("depot", depot)


def running_low(low: int, high: int) -> Sampler:
    """Draws an aisle in which a number of slots between limits is to be filled."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        aisle = random.choice(sorted({row["aisle"] for row in db["slots"].values()}))
        rows = [row for _, row in sorted(db["slots"].items()) if row["aisle"] == aisle]
        chosen = random.sample(range(len(rows)), random.randint(low, high))
        for at, row in enumerate(rows):
            least = row["levels"]["min"]
            if at in chosen:
                row.update(state="active", open_topup=None, on_hand=random.randint(0, least - 1))
                continue
            kind = random.choice(["blocked", "under way", "exact", "full"])
            row.update(state="active", open_topup=None, on_hand=random.randint(0, least - 1))
            if kind == "blocked":
                row["state"] = "blocked"
            elif kind == "under way":
                row["open_topup"] = fresh_id(random, "TU", 4)
            else:
                row["on_hand"] = least + (0 if kind == "exact" else random.randint(1, 14))
        return {"aisle": aisle, "worker": person(random)}

    return drawn


TOPUP_AISLE = ApiTask(
    name="topup_aisle",
    split="tune",
    world=DEPOT,
    precise=(
        "Have the pick slots of an aisle filled by the given worker. A slot is filled if it is active, holds fewer "
        "pieces than its minimum level (one that is exactly at the minimum is not filled) and has no top-up under way. "
        "Each top-up brings as many pieces as are missing to the maximum level. Answer with the list of the ids of the "
        "top-ups created, in the order of the slots; it is empty if no slot needs one."
    ),
    casual=(
        "top up the aisle, the worker i name does it. only active slots with less on hand than their min level (at the "
        "min is fine, skip) and no open top-up already. bring enough to reach the max level. just give me the list of "
        "new top-up ids in slot order, [] if there was nothing to do"
    ),
    inputs={"aisle": text("the aisle"), "worker": text("name of the worker")},
    gold="""
        slots = list_slots(aisle=aisle)
        made = []
        for slot in slots:
            low = slot["on_hand"] < slot["levels"]["min"]
            if low and slot["state"] == "active" and slot["open_topup"] is None:
                missing = slot["levels"]["max"] - slot["on_hand"]
                topup = create_topup(slot=slot["code"], units=missing, worker=worker)
                made.append(topup["topup_id"])
        return made
    """,
    arms={"some": running_low(2, 3), "none": running_low(0, 0), "one": running_low(1, 1), "most": running_low(3, 5)},
)


def counted(agree: float, missing: float) -> Sampler:
    """Draws a sheet on which slots agree or are missing with a probability; a gap sometimes costs about the limit."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        sheet = db["sheets"][any_of(random, db["sheets"])]
        limit = random.randint(8, 40)
        for code, row in sorted(db["slots"].items()):
            if row["aisle"] != sheet["aisle"]:
                continue
            row["on_hand"] = random.randint(15, 40)
            draw = random.random()
            pieces = row["on_hand"]
            if draw < missing:
                continue
            if draw > missing + agree:
                pieces += random.choice([-1, 1]) * random.randint(1, 12)
                if random.random() < 0.2:
                    db["articles"][row["sku"]]["unit_cost"] = limit / abs(pieces - row["on_hand"])
                    db["articles"][row["sku"]]["unit_cost"] = round(db["articles"][row["sku"]]["unit_cost"], 2)
            first = pieces if random.random() < 0.6 else random.randint(1, pieces - 1)
            sheet["lines"].append({"slot": code, "pieces": first})
            if first < pieces:
                sheet["lines"].append({"slot": code, "pieces": pieces - first})
        random.shuffle(sheet["lines"])
        return {"sheet_id": sheet["id"], "limit": limit}

    return drawn


def counted_to_the_limit(random: Random, db: Database) -> dict[str, Any]:
    """All articles cost 4 or 2 a piece, so that gaps often cost just the limit."""
    inputs = counted(0.1, 0.1)(random, db)
    for row in db["articles"].values():
        row["unit_cost"] = random.choice([2.0, 4.0])
    return {**inputs, "limit": random.choice([8, 12, 16, 20])}


CHECK_COUNT = ApiTask(
    name="check_count",
    split="tune",
    world=DEPOT,
    precise=(
        "Compare a count sheet with the stock of the pick slots in the aisle of the sheet. Blocked slots are left out. "
        "For an active slot, the pieces of all its lines on the sheet are added; if that is what the slot has on hand, "
        "it is left out, too. Answer with a list of objects of `slot`, `verdict` and `worth`, in the order of the "
        "slots. For a slot without any line on the sheet the verdict is `not counted` and `worth` null. For one that "
        "differs, `worth` is the difference in pieces, without its sign, times the unit cost of the article, rounded "
        "to two decimals; the verdict is `recount` if `worth` is over the given limit, otherwise `surplus` if more was "
        "counted than is on hand, and `shortage` if less."
    ),
    casual=(
        "check this count sheet against the slots of its aisle. skip blocked slots; a slot can be on the sheet in "
        "several lines, add those up, and skip it when the sum is what we have on hand. for the rest, in slot order: "
        "{slot, verdict, worth}. no line at all -> 'not counted', worth null. otherwise worth = pieces off (no minus "
        "sign) x unit cost, 2 decimals, and verdict 'recount' when worth is more than my limit, else 'surplus' / "
        "'shortage' (counted more / less than on hand)"
    ),
    inputs={"sheet_id": text("id of the count sheet"), "limit": number("the worth over which slots are recounted")},
    gold="""
        sheet = get_count_sheet(sheet_id=sheet_id)
        slots = list_slots(aisle=sheet["aisle"])
        found = []
        for slot in slots:
            if slot["state"] != "active":
                continue
            lines = [line["pieces"] for line in sheet["lines"] if line["slot"] == slot["code"]]
            if len(lines) == 0:
                found.append({"slot": slot["code"], "verdict": "not counted", "worth": None})
                continue
            gap = sum(lines) - slot["on_hand"]
            if gap != 0:
                article = get_stock_article(sku=slot["sku"])
                worth = round(abs(gap) * article["unit_cost"], 2)
                if worth > limit:
                    verdict = "recount"
                elif gap > 0:
                    verdict = "surplus"
                else:
                    verdict = "shortage"
                found.append({"slot": slot["code"], "verdict": verdict, "worth": worth})
        return found
    """,
    arms={
        "mixed": counted(0.25, 0.2),
        "gaps": counted(0.1, 0.0),
        "holes": counted(0.3, 0.5),
        "nearly_right": counted(0.75, 0.05),
    },
    tests_only={"to_the_limit": counted_to_the_limit},
)

ROASTS = ("light", "medium", "dark")
COFFEES = ("Yirga", "Huila", "Sidra", "Antigua", "Lintong", "Nyeri", "Mogiana", "Cauca")


def roast(random: Random) -> Database:
    """Three subscribers with nine invoices and three boxes, six coffees, three reward tiers."""
    today = day("2025-03-01", random.randrange(300))
    subscribers: dict[str, Any] = {
        id: {
            "id": id,
            "name": person(random),
            "tastes": {"likes": random.choice(ROASTS), "avoids": random.choice([None, *ROASTS])},
            "since": day(today, -random.randint(100, 1_500)),
        }
        for id in fresh_ids(random, "M", 3, 4)
    }
    invoices: dict[str, Any] = {}
    for number_ in sorted(fresh_ids(random, "RI", 9, 5)):
        gross = cents(random, 12, 70)
        invoices[number_] = {
            "number": number_,
            "subscriber_id": any_of(random, subscribers),
            "issued_on": day(today, -random.randint(0, 300)),
            "state": random.choice(["paid", "paid", "paid", "open", "void"]),
            "amounts": {
                "gross": gross,
                "tax": round(gross * 0.07, 2),
                "refunded": random.choice([None, None, random.randrange(100, 1_000) / 100]),
            },
        }
    skus = fresh_ids(random, "CF", 6, 4)
    coffees: dict[str, Any] = {
        sku: {
            "sku": sku,
            "name": name,
            "roast": random.choice(ROASTS),
            "bag_price": random.randint(14, 26) / 2,
            "bags_left": random.randint(0, 9),
            "substitutes": random.sample([other for other in skus if other != sku], random.randint(2, 5)),
        }
        for sku, name in zip(skus, random.sample(COFFEES, 6), strict=True)
    }
    boxes: dict[str, Any] = {
        id: {
            "id": id,
            "subscriber_id": any_of(random, subscribers),
            "ships_on": day(today, random.randint(1, 20)),
            "coffee": {"sku": any_of(random, coffees), "bags": random.randint(1, 5)},
        }
        for id in fresh_ids(random, "BX", 3)
    }
    gifts = ("tasting spoon", "filter papers", "travel mug", "hand grinder", "glass carafe", "brew scale", "tin box")
    tiers = {
        tier: {"tier": tier, "gift": gift, "discount_percent": percent}
        for tier, gift, percent in zip(("bean", "cup", "pot"), random.sample(gifts, 3), (0, 5, 12), strict=True)
    }
    return {
        "today": today, "subscribers": subscribers, "invoices": invoices, "coffees": coffees, "boxes": boxes,
        "tiers": tiers,
    }  # fmt: skip


ROAST = World("roast", roast)


def spender(low: int, high: int, target: float | None = None) -> Sampler:
    """Draws a subscriber and a period; the paid invoices in it come to an amount between limits, or to a target."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["subscribers"])
        first = day(db["today"], -random.randint(150, 260))
        last = day(first, random.randint(60, 140))
        others = [name for name in sorted(db["subscribers"]) if name != id]
        numbers = sorted(db["invoices"])
        chosen = random.sample(numbers, random.randint(4, 7))
        inside = random.sample(chosen, random.randint(2, 4)) if high else []
        for number_ in numbers:
            row = db["invoices"][number_]
            row["subscriber_id"] = id if number_ in chosen else random.choice(others)
            if number_ in inside:
                middle = day(first, random.randint(1, 50))
                row.update(state="paid", issued_on=random.choice([first, last, middle, middle]))
            elif number_ in chosen:
                outside = random.choice([day(first, -random.randint(1, 30)), day(last, random.randint(1, 30))])
                if random.random() < 0.5:
                    row.update(issued_on=outside, state=random.choice(["paid", "paid", "void"]))
                else:
                    row.update(issued_on=day(first, random.randint(0, 60)), state=random.choice(["open", "void"]))
        if inside:
            wanted = round(target if target is not None else random.randrange(low * 100, high * 100) / 100, 2)
            shares = [random.uniform(0.4, 1.6) for _ in inside]
            left = wanted
            for at, number_ in enumerate(inside):
                refunded = random.choice([None, random.randrange(100, 1_500) / 100])
                net = round(wanted * shares[at] / sum(shares), 2) if at < len(inside) - 1 else round(left, 2)
                left -= net
                gross = round(net + (refunded or 0), 2)
                amounts = {"gross": gross, "tax": round(gross * 0.07, 2), "refunded": refunded}
                db["invoices"][number_]["amounts"] = amounts
        return {"subscriber_id": id, "first_day": first, "last_day": last}

    return drawn


YEAR_REWARD = ApiTask(
    name="period_reward",
    split="tune",
    world=ROAST,
    precise=(
        "Find what a subscriber spent in a period and which gift that earns. Paid invoices count that were issued from "
        "the first to the last day of the period, both days included; open and void ones do not. Of each, the gross "
        "amount counts less what was refunded, if anything was. The sum, rounded to two decimals, decides the reward "
        "tier: `pot` from 120 on, `cup` from 50 on (and below 120), `bean` below 50. Answer with an object of `spent`, "
        "the rounded sum, `largest`, the largest gross amount of these invoices, and `gift`, the gift of the tier. If "
        "no invoice counts, answer with `spent` 0 and the other two null."
    ),
    casual=(
        "how much did this subscriber spend in the period and what gift do they get? count paid invoices only, issued "
        "first_day..last_day inclusive, gross minus refunds (if any). rounded to cents: 120 or more is tier pot, 50 or "
        "more is cup, less is bean, the gift is the tier's. {spent, largest: biggest single gross amount among those, "
        "gift}; no such invoices -> spent 0, largest and gift null"
    ),
    inputs={
        "subscriber_id": text("id of the subscriber"),
        "first_day": text("first day of the period, YYYY-MM-DD"),
        "last_day": text("last day of the period, YYYY-MM-DD"),
    },
    gold="""
        listed = list_subscriber_invoices(subscriber_id=subscriber_id)
        spent = 0
        largest = None
        for invoice in listed["invoices"]:
            in_period = first_day <= invoice["issued_on"] and invoice["issued_on"] <= last_day
            if invoice["state"] == "paid" and in_period:
                amounts = invoice["amounts"]
                spent += amounts["gross"]
                if amounts["refunded"] is not None:
                    spent = spent - amounts["refunded"]
                if largest is None or amounts["gross"] > largest:
                    largest = amounts["gross"]
        if largest is None:
            return {"spent": 0, "largest": None, "gift": None}
        spent = round(spent, 2)
        tier = "bean"
        if spent >= 120:
            tier = "pot"
        elif spent >= 50:
            tier = "cup"
        reward = get_reward_tier(tier=tier)
        return {"spent": spent, "largest": largest, "gift": reward["gift"]}
    """,
    arms={"cup": spender(50, 120), "none": spender(0, 0), "pot": spender(120, 240), "bean": spender(12, 50)},
    tests_only={
        "just_cup": spender(50, 51, 50.0), "just_pot": spender(120, 121, 120.0), "nearly_pot": spender(1, 2, 119.99),
        "above_pot": spender(1, 2, 120.5), "above_cup": spender(1, 2, 50.5),
    },
)  # fmt: skip


def coffee_box(enough: bool, fits: tuple[int, ...]) -> Sampler:
    """Draws a box with or without enough of its coffee; `fits` are places of which one is the first that fits."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        box = db["boxes"][any_of(random, db["boxes"])]
        subscriber = db["subscribers"][box["subscriber_id"]]
        present = db["coffees"][box["coffee"]["sku"]]
        bags = box["coffee"]["bags"] = random.randint(2, 6)
        present["bags_left"] = bags + random.choice([0, 0, 1, 4]) if enough else random.randint(0, bags - 1)
        avoids = subscriber["tastes"]["avoids"] = random.choice([None, *ROASTS])
        good = [name for name in ROASTS if name != avoids]
        place = random.choice(fits) if fits else 99
        skus = sorted(sku for sku in db["coffees"] if sku != present["sku"])
        present["substitutes"] = random.sample(skus, max(random.randint(2, 5), place + 1 if place < 99 else 0))
        for at, sku in enumerate(present["substitutes"]):
            row = db["coffees"][sku]
            row["roast"] = random.choice(good)
            row["bags_left"] = bags + random.choice([0, 0, 1, 3, 6])
            row["bag_price"] = present["bag_price"] + random.choice([-3, -1, 0, 0.5, 1, 1.5, 1.5])
            if at < place:
                kind = random.choice(["few", "dear", "roast"])
                if kind == "few":
                    row["bags_left"] = bags - random.choice([1, 1, 2])
                elif kind == "dear" or avoids is None:
                    row["bag_price"] = present["bag_price"] + random.choice([2, 2, 3, 4.5])
                else:
                    row["roast"] = avoids
        return {"box_id": box["id"]}

    return drawn


SWAP_COFFEE = ApiTask(
    name="coffee_for_box",
    split="tune",
    world=ROAST,
    precise=(
        "See to it that a box can be shipped. If there are at least as many bags left of its coffee as the box needs, "
        "change nothing and answer `as planned`. Otherwise go through the substitutes of its coffee in their order and "
        "put the first one into the box that has at least as many bags left as the box needs, costs no more than 1.50 "
        "a bag above the price of the planned coffee, and is not of the roast that the subscriber avoids (any roast "
        "will do if the subscriber avoids none); answer with its name. If no substitute fits, postpone the box by two "
        "weeks and answer `postponed`."
    ),
    casual=(
        "make sure this box can go out. enough bags left of its coffee (as many as the box needs or more) -> leave it, "
        "say 'as planned'. if not, try the coffee's substitutes one by one: needs enough bags left too, at most 1.50 "
        "per bag dearer than the planned one, and not the roast this subscriber avoids (if they avoid one). swap in "
        "the first that works and give me its name. nothing works -> postpone the box 2 weeks, say 'postponed'"
    ),
    inputs={"box_id": text("id of the box")},
    gold="""
        box = get_box(box_id=box_id)
        bags = box["coffee"]["bags"]
        planned = get_coffee(sku=box["coffee"]["sku"])
        if planned["bags_left"] >= bags:
            return "as planned"
        subscriber = get_subscriber(subscriber_id=box["subscriber_id"])
        avoided = subscriber["tastes"]["avoids"]
        for sku in planned["substitutes"]:
            coffee = get_coffee(sku=sku)
            cheap = coffee["bag_price"] - planned["bag_price"] <= 1.5
            if coffee["bags_left"] >= bags and cheap and coffee["roast"] != avoided:
                swap_coffee(box_id=box_id, sku=sku)
                return coffee["name"]
        postpone_box(box_id=box_id, weeks=2)
        return "postponed"
    """,
    arms={
        "later": coffee_box(False, (1, 2, 3)),
        "planned": coffee_box(True, (0, 1)),
        "first": coffee_box(False, (0,)),
        "none": coffee_box(False, ()),
    },
)

TASKS: dict[str, ApiTask] = {
    "lookups": WHERE_IS_IT,
    "branches": SETTLE_RETURN,
    "filters": TOPUP_AISLE,
    "totals": YEAR_REWARD,
    "paging": CLEAR_UNPAID,
    "polling": CLEAR_CUSTOMS,
    "early_exit": SWAP_COFFEE,
    "joins": CHECK_COUNT,
}
"""By family."""
