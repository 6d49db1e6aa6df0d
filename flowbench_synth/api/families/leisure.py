"""Tasks of a delivery service for restaurants, a farmers' cooperative, a sports club and a museum, one of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Sampler, World, integer, text
from flowbench_synth.api.drawing import any_of, cents, day, email_of, fresh_ids, person, unused_ids

DISHES = (
    "Pad Thai", "Green curry", "Tom Yum", "Ramen", "Gyoza", "Bibimbap", "Laksa", "Pho", "Dal", "Naan", "Moussaka",
    "Falafel", "Gnocchi", "Risotto", "Tiramisu", "Gazpacho", "Paella", "Pierogi", "Goulash", "Ratatouille",
)  # fmt: skip
STREETS = ("Harbour Lane", "Mill Road", "Abbey Street", "Castle Hill", "Station Square", "Orchard Way")


def phone(random: Random) -> str:
    return f"+44 7{random.randrange(100, 999)} {random.randrange(100_000, 999_999)}"


def takeaway(random: Random) -> Database:
    """Two restaurants with their dishes, three orders, four couriers."""
    restaurants = {
        id: {"id": id, "name": f"{random.choice(['Casa', 'Chez', 'Little', 'Old'])} {person(random).split()[1]}"}
        for id in fresh_ids(random, "R", 2, 4)
    }
    owners = [id for id, count in zip(restaurants, (random.randint(5, 7), 3), strict=True) for _ in range(count)]
    dishes: dict[str, Any] = {}
    names = random.sample(DISHES, len(owners))
    for id, owner, name in zip(fresh_ids(random, "D", len(owners)), owners, names, strict=True):
        dishes[id] = {
            "dish_id": id,
            "restaurant_id": owner,
            "name": name,
            "price": cents(random, 4, 24),
            "listed": random.random() < 0.75,
            "portions": random.choice([None, random.randint(0, 30), random.randint(0, 30)]),
        }
    couriers = {
        id: {
            "courier_id": id,
            "name": person(random),
            "vehicle": random.choice(["bike", "scooter", "car"]),
            "rating": random.randrange(30, 50) / 10,
        }
        for id in fresh_ids(random, "K", 4, 3)
    }
    orders = {
        id: {
            "order_id": id,
            "restaurant_id": any_of(random, restaurants),
            "total": cents(random, 12, 90),
            "guest": {"name": person(random), "phone": phone(random)},
            "dropoff": {"street": f"{random.choice(STREETS)} {random.randint(1, 90)}", "floor": random.randrange(6)},
        }
        for id in fresh_ids(random, "O-", 3, 6)
    }
    return {
        "restaurants": restaurants, "dishes": dishes, "orders": orders, "couriers": couriers, "searches": {},
        "fates": {}, "clock": {}, "texts": {},
    }  # fmt: skip


TAKEAWAY = World("takeaway", takeaway)


def menu(kinds: Sequence[str], surely: Sequence[str] = (), at: Sequence[int] = ()) -> Sampler:
    """Draws a restaurant; each dish is of one of the kinds, the first ones of those in `surely`.

    `few` and `plenty` are listed, below the number and not; `order` are cooked to order; `hidden` are few and not
    listed. The numbers of portions in `at` are differences from the given number.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        restaurant_id = any_of(random, db["restaurants"])
        rows = [row for row in db["dishes"].values() if row["restaurant_id"] == restaurant_id]
        random.shuffle(rows)
        least = random.randint(3, 9)
        for number, row in enumerate(rows):
            kind = surely[number] if number < len(surely) else random.choice(kinds)
            row["listed"] = kind != "hidden" and (kind != "order" or random.random() < 0.8)
            if kind == "order":
                row["portions"] = None
            elif kind == "plenty":
                row["portions"] = least + (at[number % len(at)] if at else random.randint(0, 25))
            else:
                row["portions"] = random.randrange(least)
        return {"restaurant_id": restaurant_id, "least": least}

    return drawn


TAKE_OFF_MENU = ApiTask(
    name="take_off_menu",
    split="report",
    world=TAKEAWAY,
    precise=(
        "Take the dishes of a restaurant that are running out off its menu. Those are the dishes that guests see now "
        "(`listed`) and of which fewer portions are left than the given number. A dish without a number of portions is "
        "cooked to order and stays. Answer with a list of the names of the dishes that were taken off, in the order of "
        "the menu; it is empty if there were none."
    ),
    casual=(
        "hide whatever is about to sell out at this restaurant: anything still listed with less than that many "
        "portions left (exactly that many is ok). portions null = cooked to order, leave it. give me the names of what "
        "you hid, menu order, [] if nothing"
    ),
    inputs={"restaurant_id": text("id of the restaurant"), "least": integer("how many portions must be left")},
    gold="""
        card = get_dish_card(restaurant_id=restaurant_id)
        hidden = []
        for dish in card["dishes"]:
            if dish["listed"] and dish["portions"] is not None and dish["portions"] < least:
                hide_dish(dish_id=dish["dish_id"])
                hidden.append(dish["name"])
        return hidden
    """,
    arms={
        "some": menu(("few", "few", "plenty", "order", "hidden"), ("few", "plenty")),
        "mixed": menu(("few", "plenty", "order", "hidden"), ("hidden", "few", "order")),
        "none": menu(("plenty", "order", "hidden"), ("plenty", "hidden")),
        "many": menu(("few", "few", "few", "hidden"), ("few", "few")),
    },
    tests_only={"just_enough": menu(("plenty", "few"), ("plenty", "few"), (0, 1))},
)


def searching(*outcomes: str) -> Sampler:
    """Draws an order and what becomes of its searches, in turn; those after the last one have another courier.

    `assigned` and `failed` come with one of the first asks, `last` is assigned with the fourth and `late` would be
    with a later one.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        order_id = any_of(random, db["orders"])
        fates: list[Any] = []
        for outcome in (*outcomes, *["assigned"] * (5 - len(outcomes))):
            asks = {"last": 4, "late": random.choice([5, 5, 6])}.get(outcome, random.randint(1, 3))
            fates.append({
                "asks": asks,
                "state": "failed" if outcome == "failed" else "assigned",
                "courier_id": any_of(random, db["couriers"]),
                "minutes": random.randint(9, 58),
            })  # fmt: skip
        db["fates"][order_id] = fates
        return {"order_id": order_id}

    return drawn


def one_of(*samplers: Sampler) -> Sampler:
    """Draws from one of several samplers."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        return random.choice(samplers)(random, db)

    return drawn


FIND_COURIER = ApiTask(
    name="find_courier",
    split="report",
    world=TAKEAWAY,
    precise=(
        "Find a courier for an order. Start a search with a bonus of 0 euros and ask for its state until it is no "
        "longer `searching`, at most 4 times for each search. If a courier is assigned, send the guest's phone the "
        "message `<courier's name> brings your order in <minutes> minutes.` and answer with an object of `courier`, "
        "the name, and `bonus`, that of the search. If the search has failed, or is still searching after the fourth "
        "time, start another one with a bonus of 2 euros more; withdraw the old one first if it is still searching (a "
        "failed one needs no withdrawal). The highest bonus is 4 euros. If the search with that one brings nobody "
        "either (it is withdrawn likewise), send no message and answer with null for both."
    ),
    casual=(
        "get a courier for this order. begin with bonus 0, poll the search max 4x. assigned -> text the guest "
        "'<courier name> brings your order in <minutes> minutes.' and return {courier: name, bonus}. if it failed or "
        "is still searching after poll 4 (withdraw it in that case, only then), try again with 2 euros more bonus, up "
        "to and including 4 euros. nobody after that: {courier: null, bonus: null}, no text"
    ),
    inputs={"order_id": text("id of the order")},
    gold="""
        order = get_delivery_order(order_id=order_id)
        bonus = 0
        while bonus <= 4:
            search = start_courier_search(order_id=order_id, bonus=bonus)
            asks = 0
            while search["state"] == "searching" and asks < 4:
                search = check_courier_search(search_id=search["search_id"])
                asks += 1
            if search["state"] == "assigned":
                courier = get_courier_profile(courier_id=search["courier_id"])
                message = f"{courier['name']} brings your order in {search['minutes']} minutes."
                text_guest(phone=order["guest"]["phone"], message=message)
                return {"courier": courier["name"], "bonus": bonus}
            if search["state"] == "searching":
                withdraw_courier_search(search_id=search["search_id"])
            bonus += 2
        return {"courier": None, "bonus": None}
    """,
    arms={
        "at_once": searching("assigned"),
        "failed": searching("failed", "assigned"),
        "slow": one_of(searching("late", "assigned"), searching("late", "last")),
        "third": one_of(searching("failed", "late", "assigned"), searching("late", "failed", "assigned")),
        "nobody": one_of(searching("failed", "late", "failed"), searching("late", "failed", "late")),
    },
    tests_only={"fourth_ask": searching("last"), "never": searching("late", "late", "late")},
)

CROPS = (
    "Carrots", "Leeks", "Kale", "Beetroot", "Potatoes", "Onions", "Parsnips", "Spinach", "Fennel", "Pumpkin",
    "Celeriac", "Radishes",
)  # fmt: skip
VILLAGES = ("Oakham", "Barley End", "Wickford", "Netherby", "Stowe", "Hazelbury")


def coop(random: Random) -> Database:
    """The milk of two farms in a month, three boxes, five crops of three growers."""
    month = f"{random.randint(2021, 2029)}-{random.randint(1, 12):02}"
    week = f"{random.randint(2021, 2029)}-W{random.randint(1, 52):02}"
    runs: dict[str, Any] = {}
    for farm_id in fresh_ids(random, "F", 2, 4):
        days = sorted(random.sample(range(28), random.randint(3, 6)))
        for id, at in zip(unused_ids(random, "RUN", len(days), 5, runs), days, strict=True):
            runs[id] = {
                "run_id": id,
                "farm_id": farm_id,
                "day": day(f"{month}-01", at),
                "litres": random.randrange(180, 2_400),
                "fat": random.randrange(340, 480) / 100,
                "lab": None,
            }
    tariff = {
        "month": month,
        "per_litre": random.randrange(34, 58) / 100,
        "fat_bonus": {
            "from_fat": random.choice([3.75, 4.0, 4.25]),
            "extra_per_litre": random.randrange(1, 8) / 100,
        },
        "failed_run_fee": random.randrange(20, 90),
    }
    growers = {
        id: {"grower_id": id, "name": person(random), "phone": phone(random), "village": random.choice(VILLAGES)}
        for id in fresh_ids(random, "GR", 3, 3)
    }
    names = random.sample(CROPS, 5)
    crops: dict[str, Any] = {}
    for name in names:
        code = name[:3].upper() + str(random.randint(10, 99))
        crops[code] = {
            "code": code,
            "name": name,
            "kg": random.randrange(80, 400) / 2,
            "reserved_kg": random.randrange(60) / 2,
            "grower_id": any_of(random, growers),
        }
    boxes: list[dict[str, Any]] = [
        {
            "box": box,
            "households": random.randint(8, 40),
            "contents": [
                {"crop": code, "kg": random.randrange(1, 8) / 4}
                for code in random.sample(sorted(crops), random.randint(2, 4))
            ],
        }
        for box in ("small", "family", "roots")
    ]
    plan = {"week": week, "packing_day": random.choice(["Tuesday", "Wednesday", "Thursday"]), "boxes": boxes}
    return {"runs": runs, "tariffs": {month: tariff}, "plans": {week: plan}, "crops": crops, "growers": growers}


COOP = World("coop", coop)


def milk(rich: bool, results: Sequence[str], surely: Sequence[str] = ()) -> Sampler:
    """Draws a farm whose runs have results of the laboratory, the first ones those in `surely`.

    The fat of the runs that passed is on average above the limit or below it; that of the others is on the other side.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        farm_id = random.choice(sorted({row["farm_id"] for row in db["runs"].values()}))
        month = any_of(random, db["tariffs"])
        limit = db["tariffs"][month]["fat_bonus"]["from_fat"]
        rows = [row for row in db["runs"].values() if row["farm_id"] == farm_id]
        random.shuffle(rows)
        for number, row in enumerate(rows):
            result = surely[number] if number < len(surely) else random.choice(results)
            row["lab"] = None if result == "none" else {"result": result, "cells": random.randrange(90, 500) * 1_000}
            above = rich if result == "passed" else not rich
            off = random.randrange(1, 60) / 100
            row["fat"] = round(limit + off if above else limit - off, 2)
        if len([row for row in rows if _passed(row)]) > 2:  # one run on the other side does not move the average much
            odd = min((row for row in rows if _passed(row)), key=lambda row: row["litres"])
            odd["fat"] = round(limit - 0.03 if rich else limit + 0.03, 2)
            mean = sum(row["fat"] * row["litres"] for row in rows if _passed(row))
            mean = mean / sum(row["litres"] for row in rows if _passed(row))
            if (mean > limit) != rich:
                raise ValueError("the average is on the other side")
        return {"farm_id": farm_id, "month": month}

    return drawn


def _passed(row: dict[str, Any]) -> bool:
    return row["lab"] is not None and row["lab"]["result"] == "passed"


def on_the_limit(random: Random, db: Database) -> dict[str, Any]:
    inputs = milk(True, ("passed", "failed"), ("passed", "passed"))(random, db)
    for row in db["runs"].values():
        if row["farm_id"] == inputs["farm_id"]:
            row["fat"] = db["tariffs"][inputs["month"]]["fat_bonus"]["from_fat"]
    return inputs


def skewed(random: Random, db: Database) -> dict[str, Any]:
    """The plain average is below the limit, the weighted one is not."""
    inputs = milk(True, ("failed", "none"), ("passed", "passed"))(random, db)
    limit = db["tariffs"][inputs["month"]]["fat_bonus"]["from_fat"]
    rows = [row for row in db["runs"].values() if row["farm_id"] == inputs["farm_id"] and _passed(row)]
    rows[0].update(litres=random.randrange(1_700, 2_400), fat=round(limit + random.randrange(10, 20) / 100, 2))
    rows[1].update(litres=random.randrange(180, 400), fat=round(limit - random.randrange(25, 35) / 100, 2))
    return inputs


MILK_MONEY = ApiTask(
    name="milk_money",
    split="report",
    world=COOP,
    precise=(
        "Compute what the cooperative owes a farm for the milk of a month. Only runs whose laboratory result is "
        "`passed` are paid, with the price per litre. If the average fat of the paid milk, weighted by litres, is at "
        "least the limit of the fat bonus, each paid litre earns the bonus's extra amount, too. For each run with the "
        "result `failed`, the fee for failed runs is taken off; runs that were not tested yet neither pay nor cost "
        "anything. If no run has passed, answer 0 and charge no fee. Otherwise answer with the amount as a number, "
        "rounded to two decimals; it may be negative."
    ),
    casual=(
        "what do we owe this farm for its milk that month? just the number, 2 decimals. price per litre for runs that "
        "passed the lab; plus the extra per litre on those litres when their average fat (weighted by litres) reaches "
        "the bonus limit, hitting it exactly is enough; minus the fee for every failed run. untested runs don't count "
        "at all. nothing passed -> 0, no fees. below zero is fine otherwise"
    ),
    inputs={"farm_id": text("id of the farm"), "month": text("the month, as YYYY-MM")},
    gold="""
        milk = list_milk_runs(farm_id=farm_id, month=month)
        litres = 0
        fat = 0
        failed = 0
        for run in milk["runs"]:
            if run["lab"] is not None:
                if run["lab"]["result"] == "passed":
                    litres += run["litres"]
                    fat += run["litres"] * run["fat"]
                else:
                    failed += 1
        if litres == 0:
            return 0
        tariff = get_milk_tariff(month=month)
        rate = tariff["per_litre"]
        if fat / litres >= tariff["fat_bonus"]["from_fat"]:
            rate += tariff["fat_bonus"]["extra_per_litre"]
        return round(litres * rate - failed * tariff["failed_run_fee"], 2)
    """,
    arms={
        "rich": milk(True, ("passed", "passed", "none"), ("passed",)),
        "lean": milk(False, ("passed", "passed", "none"), ("passed",)),
        "rich_failed": milk(True, ("passed", "failed", "none"), ("passed", "failed")),
        "lean_failed": milk(False, ("passed", "failed", "none"), ("passed", "failed")),
        "nothing": milk(False, ("failed", "none"), ("failed", "none")),
    },
    tests_only={"on_the_limit": on_the_limit, "skewed": skewed},
)


def boxes(short: Sequence[int], exact: bool = False) -> Sampler:
    """Draws a week in which there is too little of some crops; with `exact` the others are just enough."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        week = f"{random.randint(2021, 2029)}-W{random.randint(1, 52):02}"
        plan: dict[str, Any] = {**db["plans"].popitem()[1], "week": week}
        db["plans"] = {week: plan}
        need = dict.fromkeys(db["crops"], 0.0)
        for box in plan["boxes"]:
            for part in box["contents"]:
                need[part["crop"]] += part["kg"] * box["households"]
        wanted = [code for code in sorted(need) if need[code] > 0]
        scarce = random.sample(wanted, min(random.choice(short), len(wanted)))
        for code, row in db["crops"].items():
            if code in scarce:
                lack = min(random.randrange(1, 60) / 2, need[code])
                free = need[code] - lack
                row["reserved_kg"] = random.choice([0.0, lack / 2, lack + random.randrange(40) / 2])
            else:
                free = need[code] + (0 if exact else random.randrange(1, 90) / 2)
                row["reserved_kg"] = random.randrange(40) / 2
            row["kg"] = free + row["reserved_kg"]
        return {"week": week}

    return drawn


BOX_SHORTAGES = ApiTask(
    name="box_shortages",
    split="report",
    world=COOP,
    precise=(
        "Find out which crops will not suffice for the vegetable boxes of a week. The need for a crop is the sum over "
        "all boxes that contain it: its kilograms for one household times the households of the box. What can be used "
        "of a crop is its stock in the store without what is reserved. For each crop in the store, in the store's "
        "order, whose need is more than what can be used, give an object of `crop` (its name), `missing_kg` (need "
        "minus what can be used) and `call` (the phone of its grower). Answer with the list of them; it is empty if "
        "everything suffices. All crops of the boxes are in the store's list."
    ),
    casual=(
        "will the veg last for that week's boxes? per crop: need = kg per household x households, added up over the "
        "boxes it's in; available = kg in store minus reserved. list whatever is short (need > available), in the "
        "store's order: [{crop: name, missing_kg: need - available, call: its grower's phone}]. [] when all good"
    ),
    inputs={"week": text("the week, as YYYY-Www")},
    gold="""
        plan = get_box_plan(week=week)
        store = list_crop_store()
        missing = []
        for crop in store["crops"]:
            need = 0
            for box in plan["boxes"]:
                for part in box["contents"]:
                    if part["crop"] == crop["code"]:
                        need += part["kg"] * box["households"]
            usable = crop["kg"] - crop["reserved_kg"]
            if need > usable:
                grower = get_grower(grower_id=crop["grower_id"])
                missing.append({"crop": crop["name"], "missing_kg": need - usable, "call": grower["phone"]})
        return missing
    """,
    arms={"one": boxes((1,)), "several": boxes((2, 3, 4)), "none": boxes((0,)), "two": boxes((2,))},
    tests_only={"just_enough": boxes((0, 1, 2), exact=True)},
)

TEAMS = ("Otters", "Falcons", "Comets", "Badgers", "Sharks", "Ravens", "Foxes", "Hornets")


def club(random: Random) -> Database:
    """Four players, three teams, the members of two sections."""
    players: dict[str, Any] = {}
    for id in fresh_ids(random, "P", 4):
        players[id] = {
            "player_id": id,
            "name": person(random),
            "birth_year": random.randint(2007, 2015),
            "certificate": None,
        }
    teams: dict[str, Any] = {}
    for id, name in zip(fresh_ids(random, "TM", 3, 3), random.sample(TEAMS, 3), strict=True):
        first = day("2025-08-01", random.randrange(500))
        places = random.randint(4, 7)
        teams[id] = {
            "team_id": id,
            "name": name,
            "coach": person(random),
            "born_from": random.randint(2008, 2013),
            "season": {"first_day": first, "last_day": day(first, random.randint(200, 300))},
            "places": places,
            "player_ids": fresh_ids(random, "P", random.randrange(1, places)),
            "waiting": fresh_ids(random, "P", random.randrange(4)),
        }
    members: dict[str, Any] = {}
    for section_id, count in zip(fresh_ids(random, "SEC", 2, 4), (random.randint(7, 9), 2), strict=True):
        for number in fresh_ids(random, "", count):
            members[number] = {**member(random), "number": int(number), "section_id": section_id}
    shirts = {id: {"next": random.randint(12, 90)} for id in teams}
    return {
        "players": players, "teams": teams, "shirts": shirts, "members": members, "page_size": random.randint(2, 4),
    }  # fmt: skip


def member(random: Random) -> dict[str, Any]:
    name = person(random)
    return {
        "name": name,
        "email": email_of(f"{name}{random.randint(10, 99)}"),
        "status": random.choice(["active", "active", "active", "paused", "left"]),
        "emergency_phone": random.choice([None, phone(random)]),
    }


CLUB = World("club", club)


def signing(certificate: Sequence[int | None], younger: Sequence[int], full: bool) -> Sampler:
    """Draws a player and a team.

    Args:
        certificate: Days that the certificate is valid after the first day of the season; None without one.
        younger: Years that the player is born after the first year that the team takes.
        full: Whether the team has no place.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        player = db["players"][any_of(random, db["players"])]
        team = db["teams"][any_of(random, db["teams"])]
        days = random.choice(certificate)
        until = None if days is None else day(team["season"]["first_day"], days)
        player["certificate"] = None if until is None else {"doctor": person(random), "valid_until": until}
        player["birth_year"] = team["born_from"] + random.choice(younger)
        known = team["player_ids"]
        team["places"] = len(known) if full else len(known) + random.randint(1, 3)
        return {"player_id": player["player_id"], "team_id": team["team_id"]}

    return drawn


VALID, EXPIRED, YOUNG, OLD = range(1, 500), range(-400, 0), range(4), range(-4, 0)
SIGN_PLAYER = ApiTask(
    name="sign_player",
    split="report",
    world=CLUB,
    precise=(
        "Sign a player up for a team and answer with an object of `outcome` and `number`. If the player is born before "
        "the year from which the team takes players, the outcome is `too old`. Otherwise, if the player has no medical "
        "certificate, or one that ends before the first day of the team's season (the first day itself is enough), it "
        "is `certificate`. In these two cases change nothing; the number is null. Otherwise, if the team has at least "
        "as many players as places, put the player on its waiting list: the outcome is `waiting`, the number the "
        "position there. Otherwise add the player to the team: `signed`, with the number of the shirt."
    ),
    casual=(
        "sign the kid up for that team, answer {outcome, number}. born before the team's born_from year -> 'too old'. "
        "then: no doctor's certificate or it runs out before the season's first day (on the day is still ok) -> "
        "'certificate'. both: number null and don't touch anything. no place left -> waiting list, 'waiting' + "
        "position. otherwise in the team: 'signed' + shirt number"
    ),
    inputs={"player_id": text("id of the player"), "team_id": text("id of the team")},
    gold="""
        player = get_player(player_id=player_id)
        team = get_squad(team_id=team_id)
        if player["birth_year"] < team["born_from"]:
            return {"outcome": "too old", "number": None}
        certificate = player["certificate"]
        if certificate is None or certificate["valid_until"] < team["season"]["first_day"]:
            return {"outcome": "certificate", "number": None}
        if len(team["player_ids"]) >= team["places"]:
            queued = queue_for_squad(team_id=team_id, player_id=player_id)
            return {"outcome": "waiting", "number": queued["position"]}
        added = add_to_squad(team_id=team_id, player_id=player_id)
        return {"outcome": "signed", "number": added["shirt"]}
    """,
    arms={
        "signed": signing(VALID, YOUNG, False),
        "waiting": signing(VALID, YOUNG, True),
        "no_certificate": one_of(signing((None,), YOUNG, False), signing((None,), YOUNG, True)),
        "expired": one_of(signing(EXPIRED, YOUNG, False), signing(EXPIRED, YOUNG, True)),
        "too_old": one_of(signing(VALID, OLD, False), signing((*VALID, None), OLD, True)),
    },
    tests_only={
        "last_day": signing((0,), (0, 1), False),
        "day_before": signing((-1,), YOUNG, False),
        "too_old_expired": signing((*EXPIRED, None), (-1,), False),
    },
)


def section(low: int, high: int, missing: float, paused: float = 0.3) -> Sampler:
    """Draws a section with a number of members, a part of whom lack the phone and are not active."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        sections = sorted({row["section_id"] for row in db["members"].values()})
        section_id = random.choice(sections)
        others = [row for row in db["members"].values() if row["section_id"] != section_id][:2]
        db["members"] = {str(row["number"]): row for row in others}
        count = random.randint(low, high)
        for number in fresh_ids(random, "", count, 6):
            row = {**member(random), "number": int(number), "section_id": section_id}
            row["emergency_phone"] = None if random.random() < missing else phone(random)
            row["status"] = random.choice(["paused", "left"]) if random.random() < paused else "active"
            db["members"][number] = row
        if count and missing > 0:
            mine = [row for row in db["members"].values() if row["section_id"] == section_id]
            for row, status in zip(random.sample(mine, min(2, count)), ("active", "paused"), strict=False):
                row.update(status=status, emergency_phone=None)
        return {"section_id": section_id}

    return drawn


MISSING_CONTACTS = ApiTask(
    name="missing_contacts",
    split="report",
    world=CLUB,
    precise=(
        "Find the active members of a section of whom the club has no emergency phone. The list of members comes in "
        "pieces; look at all of them. Answer with an object of `active`, the number of members with the status "
        "`active` in the whole list, and `ask`, the e-mail addresses of those of them without an emergency phone, in "
        "the order of the list."
    ),
    casual=(
        "who in this section still owes us an emergency phone? go through the complete member list (it is paged), only "
        "active people matter. {active: how many active ones there are altogether, ask: [emails of the active ones "
        "with no emergency phone, in list order]}"
    ),
    inputs={"section_id": text("id of the section")},
    gold="""
        cursor = None
        active = 0
        ask = []
        while True:
            page = list_section_members(section_id=section_id, cursor=cursor)
            for member in page["members"]:
                if member["status"] == "active":
                    active += 1
                    if member["emergency_phone"] is None:
                        ask.append(member["email"])
            cursor = page["next_cursor"]
            if cursor is None:
                return {"active": active, "ask": ask}
    """,
    arms={
        "many": section(7, 10, 0.5),
        "some": section(4, 8, 0.3),
        "few": section(2, 3, 0.5),
        "complete": section(3, 8, 0.0),
    },
    tests_only={"one": section(1, 1, 0.5)},
)

TITLES = ("The Ferry", "Still Life with Pears", "Evening", "Two Sisters", "The Quarry", "Self-Portrait", "Rain", "Nets")
TECHNIQUES = ("oil on canvas", "woodcut", "bronze", "watercolour", "etching", "tempera")
COUNTRIES = ("Portugal", "Norway", "Japan", "Poland", "Chile", "Senegal", "Ireland", "Hungary")
TOWNS = ("Porto", "Bergen", "Kyoto", "Krakow", "Valparaiso", "Dakar", "Cork", "Pecs", "Paris", "Vienna")
HALLS = ("North Hall", "Rotunda", "Print Room", "Garden Wing", "Long Gallery", "Crypt")
LANGUAGES = ("Spanish", "French", "Polish", "Dutch", "Korean")
STARTS = ("09:30", "10:15", "11:00", "13:30", "14:45", "16:00")


def museum(random: Random) -> Database:
    """Four works of three artists in three halls; three visits, five guides."""
    makers: dict[str, Any] = {
        id: {
            "maker_id": id,
            "name": person(random),
            "country": random.choice(COUNTRIES),
            "born": random.randint(1790, 1950),
            "active_in": random.choice(TOWNS),
        }
        for id in fresh_ids(random, "M", 3, 4)
    }
    halls = {
        id: {"hall_id": id, "name": name, "floor": random.randint(0, 5), "seats": random.randint(0, 40)}
        for id, name in zip(fresh_ids(random, "H", 3, 2), random.sample(HALLS, 3), strict=True)
    }
    artworks: dict[str, Any] = {}
    for id, title in zip(fresh_ids(random, "INV", 4), random.sample(TITLES, 4), strict=True):
        maker_id = any_of(random, makers)
        artworks[id] = {
            "artwork_id": id,
            "title": title,
            "year": makers[maker_id]["born"] + random.randint(20, 60),
            "technique": random.choice(TECHNIQUES),
            "maker_id": maker_id,
            "place": {"hall_id": any_of(random, halls), "wall": random.choice("ABCDEFG")},
        }
    visits: dict[str, Any] = {}
    for id in fresh_ids(random, "V", 3):
        visits[id] = {
            "visit_id": id,
            "group": f"{random.choice(['Friends of', 'School of', 'Chess Club', 'Choir of'])} {random.choice(TOWNS)}",
            "language": random.choice(LANGUAGES),
            "people": random.randint(6, 30),
            "slot": {"day": day("2026-01-05", random.randrange(300)), "start": random.choice(STARTS)},
        }
    guides = {
        id: {
            "guide_id": id,
            "name": person(random),
            "since": day("2009-03-01", random.randrange(5_000)),
            "languages": random.sample(LANGUAGES, random.randint(1, 3)),
            "max_tours": random.randint(1, 4),
            "days_off": [],
        }
        for id in fresh_ids(random, "G", 5, 3)
    }
    return {
        "artworks": artworks, "makers": makers, "halls": halls, "visits": visits, "guides": guides, "bookings": {},
        "last_booking": random.randrange(2_000, 9_000),
    }  # fmt: skip


MUSEUM = World("museum", museum)


def work(*techniques: str) -> Sampler:
    """Draws a work of one of the techniques."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["artworks"])
        db["artworks"][id]["technique"] = random.choice(techniques)
        return {"artwork_id": id}

    return drawn


WALL_LABEL = ApiTask(
    name="wall_label",
    split="report",
    world=MUSEUM,
    precise=(
        "Write the entry of a work of art for the printed guide to the museum, as the text `<title> (<year>), "
        "<technique>, by <artist> of <country>: <hall>, floor <floor>, wall <wall>`. The artist stands there with the "
        "name, the hall is the one in which the work hangs, with its name."
    ),
    casual=(
        "need the line for our printed guide for this piece: '<title> (<year>), <technique>, by <artist name> of "
        "<artist's country>: <name of the hall it's in>, floor <floor>, wall <wall>'"
    ),
    inputs={"artwork_id": text("number of the work in the inventory")},
    gold="""
        artwork = get_artwork(artwork_id=artwork_id)
        maker = get_maker(maker_id=artwork["maker_id"])
        hall = get_hall(hall_id=artwork["place"]["hall_id"])
        return (
            f"{artwork['title']} ({artwork['year']}), {artwork['technique']}, by {maker['name']} of {maker['country']}"
            f": {hall['name']}, floor {hall['floor']}, wall {artwork['place']['wall']}"
        )
    """,
    arms={
        "painting": work("oil on canvas", "tempera", "watercolour"),
        "print": work("woodcut", "etching"),
        "other": work("bronze", "walnut", "glass", "charcoal"),
    },
)


def guides(*states: str) -> Sampler:
    """Draws a visit; the guides of its language, the longest-serving first, are in these states on its day.

    `full` have no tour at the time and as many as they may, `clash` have one at the time and may have more.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        visit_id = any_of(random, db["visits"])
        visit = db["visits"][visit_id]
        slot, language = visit["slot"], visit["language"]
        others = [start for start in STARTS if start != slot["start"]]
        order = sorted(db["guides"].values(), key=lambda row: (row["since"], row["guide_id"]))
        some = random.sample(order, len(states))
        chosen = [row["guide_id"] for row in order if row in some]
        for row in order:
            speaks = [known for known in row["languages"] if known != language]
            row["languages"] = sorted({*speaks, language} if row["guide_id"] in chosen else speaks or ["Italian"])
        number = db["last_booking"] - 700
        for id, state in zip(chosen, states, strict=True):
            row = db["guides"][id]
            starts = random.sample(others, random.randint(0, 2))
            row["max_tours"] = len(starts) + random.randint(1, 2)
            if state == "full":
                starts = starts or [random.choice(others)]
                row["max_tours"] = len(starts)
            if state == "clash":
                starts.insert(random.randint(0, len(starts)), slot["start"])
                row["max_tours"] = len(starts) + 1
            if state == "away":
                row["days_off"] = [slot["day"]]
                starts = []
            if state == "free" and random.random() < 0.5:
                row["days_off"] = [day(slot["day"], random.choice([-7, -1, 1, 2]))]
            for start in starts:
                number += random.randint(1, 30)
                db["bookings"][f"GB{number}"] = {"guide_id": id, "day": slot["day"], "start": start}
        return {"visit_id": visit_id}

    return drawn


GUIDE_FOR_VISIT = ApiTask(
    name="guide_for_visit",
    split="report",
    world=MUSEUM,
    precise=(
        "Book a guide for the visit of a group. Go through the guides who speak the language of the visit in the order "
        "in which they are listed, and take the first one who is not away on the day of the visit, has fewer tours on "
        "that day than the most that this guide leads a day, and has no tour that starts at the same time as the "
        "visit. Book this guide only and answer `<name of the guide>: <id of the booking>`. If no guide fits, book "
        "nothing and answer `nobody for <group>`."
    ),
    casual=(
        "find a guide for this group: ask for the ones with the right language and go down the list. first one who's "
        "not away that day, has less than their max tours that day and no tour with the same start time gets booked -> "
        "'<guide name>: <booking id>'. none works -> 'nobody for <group>', no booking"
    ),
    inputs={"visit_id": text("id of the visit")},
    gold="""
        visit = get_group_visit(visit_id=visit_id)
        listed = list_guides(language=visit["language"])
        for guide in listed["guides"]:
            agenda = get_guide_day(guide_id=guide["guide_id"], day=visit["slot"]["day"])
            if not agenda["away"] and len(agenda["tours"]) < guide["max_tours"]:
                if all(tour["start"] != visit["slot"]["start"] for tour in agenda["tours"]):
                    booked = book_guide(guide_id=guide["guide_id"], visit_id=visit_id)
                    return f"{guide['name']}: {booked['booking_id']}"
        return f"nobody for {visit['group']}"
    """,
    arms={
        "first": one_of(guides("free", "free"), guides("free", "away", "free")),
        "away": one_of(guides("away", "free"), guides("away", "away", "free", "full")),
        "full": one_of(guides("full", "free", "free"), guides("full", "away", "free")),
        "clash": one_of(guides("clash", "free"), guides("full", "clash", "free", "free")),
        "nobody": one_of(guides("away", "full", "clash"), guides("clash", "full"), guides("full", "away")),
    },
    tests_only={"no_guide": guides(), "last": guides("clash", "away", "full", "free")},
)

TASKS: dict[str, ApiTask] = {
    "lookups": WALL_LABEL,
    "branches": SIGN_PLAYER,
    "filters": TAKE_OFF_MENU,
    "totals": MILK_MONEY,
    "paging": MISSING_CONTACTS,
    "polling": FIND_COURIER,
    "early_exit": GUIDE_FOR_VISIT,
    "joins": BOX_SHORTAGES,
}
"""By family."""
