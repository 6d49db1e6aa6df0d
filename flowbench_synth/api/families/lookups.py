"""Look-ups: fields of one record lead to the next, in a shop."""

from __future__ import annotations

from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Family, World, text
from flowbench_synth.api.drawing import any_of, cents, company, day, email_of, fresh_id, fresh_ids, person, pick

STREETS = ("Harbour Road", "Elm Street", "Kiln Lane", "Park Terrace", "Dock Street")
CITIES = ("Leeds", "Porto", "Gent", "Lyon", "Graz", "Turku")
TITLES = ("desk lamp", "office chair", "monitor arm", "footrest", "whiteboard", "label printer", "filing box")
CARRIERS = {"PNX": "Phoenix Parcel", "QRL": "Quarrel Logistics", "TND": "Tandem Freight"}


def address(random: Random) -> dict[str, Any]:
    """A postal address."""
    postcode = str(random.randrange(10_000, 99_999))
    street = f"{random.choice(STREETS)} {random.randint(1, 90)}"
    return {"street": street, "city": random.choice(CITIES), "postcode": postcode}


def shop(random: Random) -> Database:
    """Four customers with two orders each, most of them shipped."""
    today = day("2025-03-01", random.randrange(200))
    customers: dict[str, Any] = {}
    managers = {id: {"id": id, "name": person(random)} for id in fresh_ids(random, "CUS-9", 2, 3)}
    for id in fresh_ids(random, "CUS-", 4, 4):
        name = person(random)
        customers[id] = {
            "id": id,
            "name": name,
            "contact": {
                "email": email_of(f"{name} {id[-2:]}"),
                "phone": random.choice([None, fresh_id(random, "+44")]),
            },
            "tier": random.choice(["basic", "plus", "gold"]),
            "account_manager_id": random.choice([None, *managers]),
        }
    for id, row in managers.items():
        contact = {"email": email_of(row["name"]), "phone": fresh_id(random, "+44")}
        customers[id] = {**row, "contact": contact, "tier": "staff", "account_manager_id": None}
    products: dict[str, Any] = {}
    for sku in fresh_ids(random, "SKU-", 5, 4):
        supplier = {"id": fresh_id(random, "SUP-", 3), "name": company(random), "lead_days": random.randint(2, 30)}
        weight = random.randrange(2, 90) / 10
        products[sku] = {"sku": sku, "title": random.choice(TITLES), "supplier": supplier, "weight_kg": weight}
    orders: dict[str, Any] = {}
    shipments: dict[str, Any] = {}
    for number, id in enumerate(fresh_ids(random, "ORD-", 8)):
        placed = day(today, -random.randint(1, 40))
        shipped = number % 3 != 2
        shipment_id = fresh_id(random, "SHP-") if shipped else None
        if shipment_id:
            shipments[shipment_id] = {
                "id": shipment_id,
                "carrier": random.choice(sorted(CARRIERS)),
                "tracking_number": fresh_id(random, "TRK", 8),
                "eta": day(placed, random.randint(2, 9)),
                "parcels": [{"weight_kg": random.randrange(5, 200) / 10} for _ in range(random.randint(1, 3))],
            }
        lines = [
            {"sku": sku, "quantity": random.randint(1, 6), "unit_price": cents(random, 5, 200)}
            for sku in random.sample(sorted(products), random.randint(1, 3))
        ]
        orders[id] = {
            "id": id,
            "status": "shipped" if shipped else "processing",
            "placed_on": placed,
            "customer_id": sorted(customers)[number % 4],
            "shipping": {"address": address(random), "shipment_id": shipment_id},
            "lines": lines,
            "coupon": random.choice([None, None, "SPRING5", "WELCOME"]),
        }
    carriers = {
        code: {
            "code": code,
            "name": name,
            "support": {"phone": fresh_id(random, "0800", 6), "hours": random.choice(["8-18", "9-17", "24/7"])},
            "tracking_url": f"https://track.example/{code.lower()}/",
        }
        for code, name in CARRIERS.items()
    }
    return {
        "today": today, "customers": customers, "products": products, "orders": orders, "shipments": shipments,
        "carriers": carriers, "messages": random.randrange(1_000, 9_000), "outbox": {},
    }  # fmt: skip


SHOP = World("shop", shop)


def shipped_order(random: Random, db: Database) -> dict[str, Any]:
    return {"order_id": pick(random, db["orders"], lambda row: row["shipping"]["shipment_id"] is not None)}


def open_order(random: Random, db: Database) -> dict[str, Any]:
    return {"order_id": pick(random, db["orders"], lambda row: row["shipping"]["shipment_id"] is None)}


def order_of(carrier: str) -> Any:
    """Draws a shipped order, and gives it to a carrier."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        inputs = shipped_order(random, db)
        shipment = db["orders"][inputs["order_id"]]["shipping"]["shipment_id"]
        db["shipments"][shipment]["carrier"] = carrier
        return inputs

    return drawn


TRACKING_LINK = ApiTask(
    name="tracking_link",
    split="tune",
    world=SHOP,
    precise=(
        "For the given order, find its shipment and the shipment's carrier. Answer with an object: `link` is the "
        "carrier's tracking URL followed directly by the tracking number, `eta` is the shipment's expected day, and "
        "`support` is the phone number of the carrier's support."
    ),
    casual="need the tracking link for this order (carrier url + number), the eta, and the carrier's support phone pls",
    inputs={"order_id": text("id of the order, which has been shipped")},
    gold="""
        order = get_order(order_id=order_id)
        shipment = get_shipment(shipment_id=order["shipping"]["shipment_id"])
        carrier = get_carrier(code=shipment["carrier"])
        link = carrier["tracking_url"] + shipment["tracking_number"]
        return {"link": link, "eta": shipment["eta"], "support": carrier["support"]["phone"]}
    """,
    arms={code: order_of(code) for code in CARRIERS},
)


def mover(random: Random, db: Database) -> dict[str, Any]:
    order_id = pick(random, db["orders"], lambda row: row["status"] == "processing")
    source = pick(random, db["orders"], lambda row: row["id"] != order_id)
    return {"order_id": order_id, "like_order_id": source}


COPY_ADDRESS = ApiTask(
    name="copy_address",
    split="report",
    world=SHOP,
    precise=(
        "Send the first order to the address of the second one: read the shipping address of `like_order_id` and "
        "update the shipping address of `order_id` with its street, city and postcode. Then send an e-mail to the "
        "customer of `order_id` with the subject `Address of <order_id> changed` and the body `It goes to <street>, "
        "<postcode> <city>.`. Answer with the id of the message."
    ),
    casual=(
        "can you ship order_id to the same address as like_order_id? then mail the customer of that order, subject "
        "'Address of <order_id> changed', text 'It goes to <street>, <postcode> <city>.' and give me the message id"
    ),
    inputs={"order_id": text("id of the order to change"), "like_order_id": text("id of the order with the address")},
    gold="""
        source = get_order(order_id=like_order_id)
        place = source["shipping"]["address"]
        update_shipping_address(
            order_id=order_id, street=place["street"], city=place["city"], postcode=place["postcode"]
        )
        order = get_order(order_id=order_id)
        customer = get_customer(customer_id=order["customer_id"])
        body = f"It goes to {place['street']}, {place['postcode']} {place['city']}."
        sent = send_email(to=customer["contact"]["email"], subject=f"Address of {order_id} changed", body=body)
        return sent["message_id"]
    """,
    arms={"changed": mover},
)


def known_email(random: Random, db: Database) -> dict[str, Any]:
    customer = db["orders"][any_of(random, db["orders"])]["customer_id"]
    return {"email": db["customers"][customer]["contact"]["email"]}


LATEST_ORDER = ApiTask(
    name="latest_order",
    split="tune",
    world=SHOP,
    precise=(
        "Find the customer with the given e-mail address and take their newest order. Answer with an object of the "
        "customer's name (`name`), the order's id (`order_id`), its status (`status`) and the city that it is sent to "
        "(`city`)."
    ),
    casual="someone wrote in from this address - what's their last order? i need name, order_id, status and the city",
    inputs={"email": text("e-mail address of a customer who has ordered")},
    gold="""
        found = find_customer(email=email)
        person = found["matches"][0]
        history = list_orders(customer_id=person["id"])
        order = get_order(order_id=history["orders"][0]["id"])
        city = order["shipping"]["address"]["city"]
        return {"name": person["name"], "order_id": order["id"], "status": order["status"], "city": city}
    """,
    arms={"found": known_email},
)

QUEUES = ("it-west", "it-north", "it-harbour")
JOBS = ("Analyst", "Engineer", "Planner", "Buyer", "Designer", "Controller")
RELATIONS = ("sister", "partner", "father", "friend", "mother")


def staff(random: Random) -> Database:
    """A chain of three levels of managers over six employees in two offices."""
    ids = fresh_ids(random, "E-", 9, 4)
    offices = {
        id: {
            "id": id,
            "city": random.choice(CITIES),
            "desk": {"queue": random.choice(QUEUES), "lead_id": random.choice(ids[3:])},
            "phone": fresh_id(random, "+32", 7),
        }
        for id in fresh_ids(random, "OFF-", 3, 2)
    }
    employees: dict[str, Any] = {}
    profiles: dict[str, Any] = {}
    badges: dict[str, Any] = {}
    for number, id in enumerate(ids):
        name = person(random)
        manager = None if number == 0 else ids[0] if number < 3 else ids[1 + number % 2]
        employees[id] = {
            "id": id,
            "name": name,
            "email": email_of(f"{name} {id[-2:]}"),
            "job": {"title": random.choice(JOBS), "level": 3 - min(number, 3) + 1, "manager_id": manager},
            "office_id": random.choice(sorted(offices)),
            "cost_centre": fresh_id(random, "CC-", 3),
            "hired_on": day("2016-01-01", random.randrange(3_000)),
        }
        contacts = [
            {"name": person(random), "relation": random.choice(RELATIONS), "phone": fresh_id(random, "+32", 8)}
            for _ in range(random.randint(1, 2))
        ]
        profiles[id] = {
            "employee_id": id,
            "home": {"city": random.choice(CITIES)},
            "emergency": {"contacts": contacts},
            "allergies": random.choice([None, "penicillin", "nuts"]),
        }
        badge = fresh_id(random, "B", 6)
        holder = {"employee_id": id, "kind": random.choice(["staff", "contractor"])}
        badges[badge] = {"badge": badge, "holder": holder, "valid_until": day("2026-01-01", random.randrange(400))}
    return {
        "employees": employees, "profiles": profiles, "offices": offices, "badges": badges,
        "next_request": random.randrange(2_000, 9_000), "requests": {},
    }  # fmt: skip


STAFF = World("staff", staff)


def worker(random: Random, db: Database) -> dict[str, Any]:
    """An employee whose manager has a manager."""
    chiefs = [id for id, row in db["employees"].items() if row["job"]["manager_id"] is None]
    id = pick(random, db["employees"], lambda row: row["job"]["manager_id"] not in (None, *chiefs))
    return {"email": db["employees"][id]["email"]}


SKIP_LEVEL = ApiTask(
    name="skip_level",
    split="report",
    world=STAFF,
    precise=(
        "Find the employee with the given e-mail address, then their manager, then the manager of that manager. Answer "
        "with an object: `boss` is the name of the manager, `big_boss` the name of the manager's manager, and `phone` "
        "the phone number of the office in which the manager's manager works."
    ),
    casual="who's the boss of this person's boss? give boss, big_boss (names) and the phone of the big boss's office",
    inputs={"email": text("work e-mail address of an employee")},
    gold="""
        found = find_employee(email=email)
        employee = get_employee(employee_id=found["employee_id"])
        manager = get_employee(employee_id=employee["job"]["manager_id"])
        chief = get_employee(employee_id=manager["job"]["manager_id"])
        office = get_office(office_id=chief["office_id"])
        return {"boss": manager["name"], "big_boss": chief["name"], "phone": office["phone"]}
    """,
    arms={"found": worker},
)


def asker(random: Random, db: Database) -> dict[str, Any]:
    id = pick(random, db["employees"], lambda row: row["job"]["manager_id"] is not None)
    item = random.choice(["laptop", "headset", "second screen", "dock", "standing desk"])
    return {"employee_id": id, "item": item}


ORDER_EQUIPMENT = ApiTask(
    name="order_equipment",
    split="tune",
    world=STAFF,
    precise=(
        "Open a request for the given item for an employee, in the queue of the service desk of the employee's office. "
        "The cost centre of the employee's manager pays, not the employee's own. Answer with an object: `request` is "
        "the id of the request, `lead` the name of the employee who leads that service desk."
    ),
    casual=(
        "please get this employee the item via the service desk of their office, on the cost centre of their manager. "
        "tell me request (the id) and lead, the name of whoever leads that desk"
    ),
    inputs={"employee_id": text("id of the employee"), "item": text("what the employee gets")},
    gold="""
        employee = get_employee(employee_id=employee_id)
        office = get_office(office_id=employee["office_id"])
        manager = get_employee(employee_id=employee["job"]["manager_id"])
        opened = open_request(
            queue=office["desk"]["queue"], item=item, for_employee=employee_id, cost_centre=manager["cost_centre"]
        )
        lead = get_employee(employee_id=office["desk"]["lead_id"])
        return {"request": opened["request"]["id"], "lead": lead["name"]}
    """,
    arms={"opened": asker},
)

EMERGENCY_CONTACT = ApiTask(
    name="emergency_contact",
    split="report",
    world=STAFF,
    precise=(
        "Somebody was found with a badge. Look up its holder and the first emergency contact of that employee. Answer "
        "with one line of text: `Call <name of the contact> (<relation> of <name of the employee>) at <phone>`."
    ),
    casual=(
        "we have the badge of someone who fainted. who do we call first? one line please: "
        "Call <contact> (<relation> of <employee>) at <phone>"
    ),
    inputs={"badge": text("number on the badge")},
    gold="""
        found = get_badge(badge=badge)
        employee = get_employee(employee_id=found["holder"]["employee_id"])
        profile = get_private_profile(employee_id=employee["id"])
        contact = profile["emergency"]["contacts"][0]
        return f"Call {contact['name']} ({contact['relation']} of {employee['name']}) at {contact['phone']}"
    """,
    arms={"found": lambda random, db: {"badge": any_of(random, db["badges"])}},
)

FAMILY = Family(
    "lookups",
    "look-ups that pass fields on",
    (TRACKING_LINK, COPY_ADDRESS, LATEST_ORDER, SKIP_LEVEL, ORDER_EQUIPMENT, EMERGENCY_CONTACT),
)
