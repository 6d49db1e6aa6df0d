"""Polling: what was started takes a while, fails, or never comes to an end."""

from __future__ import annotations

from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Family, Sampler, World, choice, integer, number, text
from flowbench_synth.api.drawing import any_of, cents, company, email_of, fresh_id, fresh_ids, person

# A data warehouse

FORMATS = ("csv", "xlsx", "parquet")
MESSAGES = {
    "too_many_rows": "the format holds at most 65536 rows",
    "no_access": "the owner has withdrawn access",
    "bad_column": "a column has no name",
    "storage_full": "there is no room for the file",
}


def warehouse(random: Random) -> Database:
    """Four datasets whose exports end after one to nine checks, and three imports."""
    datasets: dict[str, Any] = {}
    for id in fresh_ids(random, "DS-", 4):
        slug = random.choice(["sales", "visits", "stock", "claims"]) + f"-{random.randrange(100, 999)}"
        datasets[id] = {"slug": slug, "rows": random.randrange(2_000, 200_000), "checks": random.randint(1, 5),
                        "errors": {}}  # fmt: skip
    imports: dict[str, Any] = {}
    for id in fresh_ids(random, "IMP-", 3):
        percents = sorted(random.sample(range(0, 100, 7), random.randint(3, 5)))
        ending = random.choice([[100], [percents[-1]]])
        imports[id] = {"name": f"{random.choice(['leads', 'orders', 'prices'])}.csv", "percents": percents + ending,
                       "rows": random.randrange(1_000, 9_000)}  # fmt: skip
    return {"datasets": datasets, "imports": imports, "exports": {}, "export_number": random.randrange(1_000, 9_000),
            "clock": {}}  # fmt: skip


WAREHOUSE = World("exports", warehouse)


def failure(code: str) -> dict[str, str]:
    return {"code": code, "message": MESSAGES[code]}


def export(low: int, high: int, *codes: str, **inputs: tuple[Any, ...]) -> Sampler:
    """Draws a dataset whose exports end after this many checks, and fail with one of the codes if there are any."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["datasets"])
        db["datasets"][id]["checks"] = random.randint(low, high)
        if codes:
            db["datasets"][id]["errors"] = {format: failure(random.choice(codes)) for format in FORMATS}
        return {"dataset_id": id, **{name: random.choice(values) for name, values in inputs.items()}}

    return drawn


EXPORT_LINK = ApiTask(
    name="export_link",
    split="tune",
    world=WAREHOUSE,
    precise=(
        "Start an export of the dataset in the given format. Check its state again and again until it is done or "
        "failed. If it is done, answer with the URL of its file; if it failed, answer with the message of the error."
    ),
    casual=(
        "export this dataset in that format, wait till it's finished and give me the download url. if it blows up just "
        "the error message"
    ),
    inputs={"dataset_id": text("id of the dataset"), "format": choice("the format of the file", *FORMATS)},
    gold="""
        started = start_export(dataset_id=dataset_id, format=format)
        while True:
            export = get_export(export_id=started["export_id"])
            if export["status"] == "done":
                return export["file"]["url"]
            if export["status"] == "failed":
                return export["error"]["message"]
    """,
    arms={
        "after some checks": export(2, 6, format=FORMATS),
        "failed": export(2, 4, "no_access", "bad_column", "storage_full", format=FORMATS),
        "at once": export(1, 1, format=FORMATS),
    },
)

EXPORT_OR_CANCEL = ApiTask(
    name="export_or_cancel",
    split="report",
    world=WAREHOUSE,
    precise=(
        "Start a parquet export of the dataset and check its state, at most five times. Stop checking as soon as it is "
        "neither queued nor running. If it still is after the fifth check, cancel it. Answer with an object: `status` "
        "is done, failed or cancelled, `size_kb` the size of the file, null if there is none, and `checks` the number "
        "of checks."
    ),
    casual=(
        "kick off a parquet export of the dataset and look at it max 5 times. not ready by then -> cancel it. give me "
        "status (done / failed / cancelled), size_kb or null, and how many checks it took"
    ),
    inputs={"dataset_id": text("id of the dataset")},
    gold="""
        started = start_export(dataset_id=dataset_id, format="parquet")
        checks = 0
        while checks < 5:
            export = get_export(export_id=started["export_id"])
            checks += 1
            if export["status"] == "done":
                return {"status": "done", "size_kb": export["file"]["size_kb"], "checks": checks}
            if export["status"] == "failed":
                return {"status": "failed", "size_kb": None, "checks": checks}
        cancelled = cancel_export(export_id=started["export_id"])
        return {"status": cancelled["status"], "size_kb": None, "checks": checks}
    """,
    arms={
        "done in time": export(1, 4), "too slow": export(7, 9), "failed": export(2, 4, "no_access", "storage_full"),
    },
    tests_only={"at the fifth check": export(5, 5), "one check too late": export(6, 6)},
)  # fmt: skip


def narrow(*codes: str) -> Sampler:
    """Draws a dataset that cannot be exported as xlsx for a reason, nor as csv for a second one if there is one."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        inputs = export(1, 3)(random, db)
        errors = {format: failure(code) for format, code in zip(("xlsx", "csv"), codes, strict=False)}
        db["datasets"][inputs["dataset_id"]]["errors"] = errors
        return inputs

    return drawn


EXPORT_FALLBACK = ApiTask(
    name="export_fallback",
    split="tune",
    world=WAREHOUSE,
    precise=(
        "Export the dataset as xlsx: start the export and check until it is done or failed. If it fails with the error "
        "code `too_many_rows`, do the same once more as csv. Answer with the URL of the file, or with the code of the "
        "error that remains."
    ),
    casual=(
        "i need this dataset as xlsx. if excel can't hold it (error code too_many_rows) take csv instead. url please, "
        "or the error code if it fails for good"
    ),
    inputs={"dataset_id": text("id of the dataset")},
    gold="""
        format = "xlsx"
        while True:
            started = start_export(dataset_id=dataset_id, format=format)
            export = get_export(export_id=started["export_id"])
            while export["status"] in ["queued", "running"]:
                export = get_export(export_id=started["export_id"])
            if export["status"] == "done":
                return export["file"]["url"]
            if format == "csv" or export["error"]["code"] != "too_many_rows":
                return export["error"]["code"]
            format = "csv"
    """,
    arms={
        "xlsx": export(1, 4), "csv": narrow("too_many_rows"), "no access": narrow("no_access"),
        "neither": narrow("too_many_rows", "bad_column"),
    },
    tests_only={"too many rows twice": narrow("too_many_rows", "too_many_rows"), "full": narrow("storage_full")},
)  # fmt: skip


def progress(*percents: int, least: int, most: int) -> Sampler:
    """Draws an import with this progress at each check, a percentage to wait for, and a limit of checks."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["imports"])
        shift = random.randint(0, 3)
        db["imports"][id]["percents"] = [value if value in (0, 100) else value + shift for value in percents]
        return {"import_id": id, "percent": least + (0 if least == 100 else shift), "max_checks": most}

    return drawn


IMPORT_PROGRESS = ApiTask(
    name="import_progress",
    split="tune",
    world=WAREHOUSE,
    precise=(
        "Check the import until its progress is at least `percent` percent or it has failed, but make at most "
        "`max_checks` checks. Answer with an object about the last check: `state`, `percent`, `rejected_rows` (0 if "
        "that is not known), and `checks`, the number of checks."
    ),
    casual=(
        "keep an eye on that import till it hits the given percent or dies, max_checks looks at most. report state, "
        "percent, rejected_rows (0 if unknown yet) and number of checks"
    ),
    inputs={
        "import_id": text("id of the import"), "percent": integer("the progress to wait for"),
        "max_checks": integer("the most checks, at least 1"),
    },
    gold="""
        checks = 0
        while True:
            run = get_import(import_id=import_id)
            checks += 1
            if run["progress"]["percent"] >= percent or run["state"] == "failed" or checks == max_checks:
                break
        rejected = run["source"]["rejected_rows"]
        if rejected is None:
            rejected = 0
        return {
            "state": run["state"], "percent": run["progress"]["percent"], "rejected_rows": rejected, "checks": checks
        }
    """,
    arms={
        "reached": progress(0, 11, 34, 62, 85, 100, least=58, most=9),
        "failed": progress(0, 20, 41, 41, least=77, most=8),
        "too many checks": progress(0, 0, 13, 22, 53, 100, least=90, most=4),
        "complete": progress(31, 50, 79, 100, least=100, most=7),
        "nothing read": progress(0, 0, 0, 44, 100, least=30, most=2),
    },
    tests_only={
        "exactly": progress(0, 15, 40, 70, 100, least=40, most=6), "at the last check": progress(4, 60, 100, least=55,
        most=2), "one check": progress(21, 47, 100, least=90, most=1),
    },
)  # fmt: skip


# A payment service

CODES = ("insufficient_funds", "expired_card", "suspected_fraud")


def payments(random: Random) -> Database:
    """Four payments that are decided after 0 to 200 seconds, and three suppliers with managers who decide slowly."""
    rows: dict[str, Any] = {}
    for id in fresh_ids(random, "PAY-", 4):
        amount = {"value": cents(random, 10, 900), "currency": random.choice(["EUR", "GBP", "CHF"])}
        code = random.choice([None, None, *CODES])
        rows[id] = {"amount": amount, "ready_after": random.randrange(1, 200), "decline_code": code}
    suppliers: dict[str, Any] = {}
    habits: dict[str, Any] = {}
    for id in fresh_ids(random, "SUP-", 3):
        name, manager, deputy = company(random), person(random), person(random)
        bosses = [{"name": boss, "email": email_of(f"{boss} {id[-2:]}")} for boss in (manager, deputy)]
        suppliers[id] = {
            "id": id,
            "name": name,
            "contact": {"email": email_of(name)},
            "account": {"iban": fresh_id(random, "DE", 12), "currency": "EUR"},
            "manager": bosses[0],
            "deputy": random.choice([None, bosses[1]]),
        }
        for boss in bosses:
            habits[boss["email"]] = {"checks": random.randint(1, 4), "status": "approved", "comment": "fine with me"}
    return {"payments": rows, "suppliers": suppliers, "habits": habits, "requests": {}, "payouts": {}, "notices": {},
            "request_number": random.randrange(1_000, 9_000), "payout_number": random.randrange(1_000, 9_000),
            "clock": {"seconds": 0}}  # fmt: skip


PAYMENTS = World("payments", payments)


def payment(low: int, high: int, most: tuple[int, ...], code: bool = False) -> Sampler:
    """Draws a payment that is decided after this time, and a limit of the time to wait."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["payments"])
        declined = random.choice(CODES) if code else None
        db["payments"][id].update(ready_after=random.randint(low, high), decline_code=declined)
        return {"payment_id": id, "max_seconds": random.choice(most)}

    return drawn


PAYMENT_SETTLED = ApiTask(
    name="payment_settled",
    split="report",
    world=PAYMENTS,
    precise=(
        "Look at the payment. While it is pending, wait and look again: first 5 seconds, then 10, and each time twice "
        "as long as before. Do not start a wait with which the whole time waited would be more than `max_seconds`. "
        "Answer with an object: `status` as last seen, `waited`, the seconds waited in all, and `code`, the decline "
        "code, null if there is none."
    ),
    casual=(
        "is this payment through? if pending wait 5s and look again, then 10s, 20s... doubling, but never wait longer "
        "than max_seconds in total. tell me status, waited (sec in total) and the decline code if any (code, else null)"
    ),
    inputs={"payment_id": text("id of the payment"), "max_seconds": integer("the most seconds to wait in all")},
    gold="""
        waited = 0
        pause = 5
        payment = get_payment(payment_id=payment_id)
        while payment["status"] == "pending" and waited + pause <= max_seconds:
            wait_seconds(seconds=pause)
            waited += pause
            pause = pause * 2
            payment = get_payment(payment_id=payment_id)
        return {"status": payment["status"], "waited": waited, "code": payment["decline_code"]}
    """,
    arms={
        "settled": payment(6, 30, (70, 80, 100, 160)), "given up": payment(80, 200, (15, 16, 30, 40, 60, 70)),
        "declined": payment(1, 14, (20, 35, 50, 90), code=True), "at once": payment(0, 0, (10, 60, 100)),
    },
    tests_only={
        "exactly the limit": payment(11, 15, (15,)), "just under the next wait": payment(16, 35, (34,)),
        "slowly declined": payment(36, 70, (75, 150), code=True),
    },
)  # fmt: skip


def payout(status: str, low: int, high: int, deputy: bool | None = None) -> Sampler:
    """Draws a supplier whose manager decides so after this many checks; with or without a deputy if that is given."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["suppliers"])
        row = db["suppliers"][id]
        comment = random.choice(["over budget", "wrong period", "paid already", "no contract"])
        db["habits"][row["manager"]["email"]] = {
            "checks": random.randint(low, high),
            "status": status,
            "comment": comment if status == "rejected" else random.choice(["ok", "go ahead", "approved as agreed"]),
        }
        if deputy is not None:
            other = next(email for email in sorted(db["habits"]) if email != row["manager"]["email"])
            name = other.partition("@")[0]
            row["deputy"] = {"name": name, "email": other} if deputy else None
        return {"supplier_id": id, "amount": cents(random, 50, 5_000), "period": f"2025-{random.randint(1, 12):02}"}

    return drawn


APPROVED_PAYOUT = ApiTask(
    name="approved_payout",
    split="report",
    world=PAYMENTS,
    precise=(
        "Pay the amount to the supplier, but only after its manager has approved it. Ask the manager for approval with "
        "the subject `Payout to <supplier's name> for <period>`, and check the decision at most four times. If it is "
        "approved, make the payout to the supplier's account with the id of the request and answer with the payout's "
        "id. If it is rejected, send the supplier's contact a notice with the text `Your payout for <period> was not "
        "approved: <comment>` and answer `rejected`. If there is no decision after the fourth check, send a notice to "
        "the deputy, or to the manager if there is no deputy, with the text `Please decide on <request id>` and answer "
        "`waiting`."
    ),
    casual=(
        "pls pay this amount to the supplier for the period. needs an ok from their manager first! subject 'Payout to "
        "<supplier's name> for <period>', look for the answer 4 times max. ok -> pay out, give me the payout id. no -> "
        "tell the supplier's contact 'Your payout for <period> was not approved: <comment>', answer rejected. no "
        "answer -> nudge the deputy (or the manager if there's none) with 'Please decide on <request id>', answer "
        "waiting"
    ),
    inputs={
        "supplier_id": text("id of the supplier"), "amount": number("the amount in EUR"),
        "period": text("the month that is paid, YYYY-MM"),
    },
    gold="""
        supplier = get_supplier(supplier_id=supplier_id)
        manager = supplier["manager"]["email"]
        subject = f"Payout to {supplier['name']} for {period}"
        request = ask_approval(approver=manager, subject=subject, amount=amount)
        for check in [1, 2, 3, 4]:
            approval = get_approval(request_id=request["request_id"])
            if approval["status"] == "approved":
                payout = make_payout(
                    iban=supplier["account"]["iban"], amount=amount, approval_id=request["request_id"]
                )
                return payout["payout_id"]
            if approval["status"] == "rejected":
                comment = approval["decision"]["comment"]
                notice = f"Your payout for {period} was not approved: {comment}"
                send_notice(to=supplier["contact"]["email"], text=notice)
                return "rejected"
        other = manager
        if supplier["deputy"] is not None:
            other = supplier["deputy"]["email"]
        send_notice(to=other, text=f"Please decide on {request['request_id']}")
        return "waiting"
    """,
    arms={
        "approved": payout("approved", 1, 3), "rejected": payout("rejected", 1, 3),
        "the deputy is asked": payout("approved", 6, 9, deputy=True),
        "the manager is asked again": payout("approved", 6, 9, deputy=False),
    },
    tests_only={"at the fourth check": payout("approved", 4, 4), "a check too late": payout("rejected", 5, 5)},
)  # fmt: skip


# A build server

FAILURES = ("network unreachable", "2 tests failed", "out of disk space", "type errors found")


def server(random: Random) -> Database:
    """Three branches whose builds are finished after one to four checks and pass at some attempt."""
    branches: dict[str, Any] = {}
    for issue in fresh_ids(random, "", 3, 4):
        name = f"{random.choice(['fix', 'feature', 'release'])}-{issue}"
        branches[name] = {"checks": random.randint(1, 3), "passes_at": 1, "failure": random.choice(FAILURES)}
    return {"branches": branches, "builds": {}, "build_number": random.randrange(1_000, 9_000), "incidents": {},
            "incident_number": random.randrange(1_000, 9_000), "clock": {}}  # fmt: skip


SERVER = World("builds", server)


def branch(passes_at: int, low: int = 1, high: int = 3) -> Sampler:
    """Draws a branch whose builds pass at this attempt."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        name = any_of(random, db["branches"])
        db["branches"][name].update(passes_at=passes_at, checks=random.randint(low, high))
        return {"branch": name}

    return drawn


BUILD_UNTIL_GREEN = ApiTask(
    name="build_until_green",
    split="report",
    world=SERVER,
    precise=(
        "Build the branch and check the build until it is finished. While it has failed, run it once more and wait for "
        "that build likewise, with at most two reruns. If the last build has failed, too, open an incident with the "
        "title `<branch> does not build` and the last line of the log as detail. Answer with an object: `build_id` of "
        "the last build, `reruns`, and `incident_id`, null if there is none."
    ),
    casual=(
        "build this branch. flaky as usual, so rerun up to two times when it fails. still red? open an incident "
        "'<branch> does not build', detail = last log line. i need build_id of the last one, reruns and incident_id "
        "(or null)"
    ),
    inputs={"branch": text("name of the branch")},
    gold="""
        build = trigger_build(branch=branch)
        reruns = 0
        while True:
            state = get_build(build_id=build["build_id"])
            if state["state"] != "finished":
                continue
            if state["outcome"] == "passed" or reruns == 2:
                break
            build = rerun_build(build_id=build["build_id"])
            reruns += 1
        if state["outcome"] == "passed":
            return {"build_id": build["build_id"], "reruns": reruns, "incident_id": None}
        incident = open_incident(title=f"{branch} does not build", detail=state["log"]["last_line"])
        return {"build_id": build["build_id"], "reruns": reruns, "incident_id": incident["incident_id"]}
    """,
    arms={"passes": branch(1), "passes after a rerun": branch(2), "never passes": branch(9), "slow": branch(1, 4, 6)},
    tests_only={"passes at the second rerun": branch(3), "passes too late": branch(4)},
)

# A ticket office


def office(random: Random) -> Database:
    """Four performances with some free seats."""
    ids = fresh_ids(random, "P-", 4, 4)
    rows = {id: {"free": random.randint(0, 9), "cancelled": False} for id in ids}
    return {"performances": rows, "holds": {}, "hold_number": random.randrange(1_000, 9_000)}


OFFICE = World("seats", office)


def performance(
    free: tuple[int, int], over: tuple[int, int], below: tuple[int, int], cancelled: bool = False
) -> Sampler:
    """Draws a performance, the seats wanted beyond the free ones, and the fewest seats below the free ones."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        id = any_of(random, db["performances"])
        seats = random.randint(*free)
        db["performances"][id].update(free=seats, cancelled=cancelled)
        wanted, least = seats + random.randint(*over), seats - random.randint(*below)
        return {"performance_id": id, "wanted": wanted, "least": max(1, min(least, wanted))}

    return drawn


HOLD_SEATS = ApiTask(
    name="hold_seats_or_fewer",
    split="tune",
    world=OFFICE,
    precise=(
        "Hold `wanted` seats for the performance. When that is refused as `too_many`, try one seat fewer, and so on, "
        "but never fewer than `least` seats. Answer with an object of the hold's `id`, `seats` and `row`, or with the "
        "last reason if no seats could be held."
    ),
    casual=(
        "try to get `wanted` seats for this show. too_many? go down one at a time, min `least`. hold id, seats, row "
        "please, or the last reason it said no"
    ),
    inputs={
        "performance_id": text("id of the performance"), "wanted": integer("how many seats would be best"),
        "least": integer("the fewest seats that make sense"),
    },
    gold="""
        seats = wanted
        tried = hold_seats(performance_id=performance_id, seats=seats)
        while not tried["held"] and tried["reason"] == "too_many" and seats > least:
            seats -= 1
            tried = hold_seats(performance_id=performance_id, seats=seats)
        if tried["held"]:
            return {"id": tried["hold"]["id"], "seats": seats, "row": tried["hold"]["row"]}
        return tried["reason"]
    """,
    arms={
        "at once": performance((3, 9), (-2, -1), (2, 4)), "fewer": performance((3, 8), (1, 4), (1, 3)),
        "too few": performance((0, 3), (3, 5), (-2, -1)), "cancelled": performance((2, 6), (0, 3), (1, 2), True),
    },
    tests_only={
        "exactly the least": performance((2, 6), (1, 3), (0, 0)), "exactly": performance((3, 9), (0, 0), (1, 2)),
    },
)  # fmt: skip

FAMILY = Family(
    "polling",
    "waiting for what takes a while or fails",
    (
        EXPORT_LINK, EXPORT_OR_CANCEL, EXPORT_FALLBACK, PAYMENT_SETTLED, IMPORT_PROGRESS, APPROVED_PAYOUT, HOLD_SEATS,
        BUILD_UNTIL_GREEN,
    ),
)  # fmt: skip
