"""Tasks of an operations desk, a registrar of names, a service for feature flags and a code host, one of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Sampler, World, integer, text
from flowbench_synth.api.drawing import any_of, day, fresh_ids, moment, person

TEAMS = ("payments core", "search", "identity", "edge", "data platform", "storefront", "messaging")
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "iris", "juniper", "kelp", "lotus")


# Operations desk: services, teams, incidents, rollouts

SERVICES = ("checkout", "search-api", "login", "ledger", "mailer", "image-proxy", "catalog", "webhooks", "quota")
HEADLINES = (
    "Errors at sign-in", "Slow answers", "Orders are stuck", "Queue grows", "Disk is full", "Timeouts in one zone",
    "Wrong prices shown", "Mails are late",
)  # fmt: skip
REASONS = (
    "image cannot be pulled", "readiness probe fails", "out of memory", "config key is missing", "quota is used up",
)  # fmt: skip


def ops(random: Random) -> Database:
    """Five services of three teams, and six incidents in two months."""
    teams = {
        id: {
            "team_id": id,
            "title": title,
            "channel": f"#{title.replace(' ', '-')}-{random.choice(['alerts', 'oncall', 'ops'])}",
            "on_call": {"primary": person(random), "secondary": person(random)},
        }
        for id, title in zip(fresh_ids(random, "TM", 3, 3), random.sample(TEAMS, 3), strict=True)
    }
    services: dict[str, Any] = {}
    for name in random.sample(SERVICES, 5):
        slug = f"{name}-{random.randint(11, 99)}"
        services[slug] = {
            "slug": slug,
            "tier": random.randint(1, 3),
            "team_id": any_of(random, teams),
            "running": {"version": version(random), "instances": random.randint(3, 12)},
            "allowed_minutes": random.choice([15, 20, 30, 45, 60, 90]),
            "runbook": f"wiki/{random.choice(WORDS)}/{random.randint(100, 999)}",
        }
    first = f"20{random.randint(22, 26)}-{random.randint(1, 12):02}"
    incidents: dict[str, Any] = {}
    for id in fresh_ids(random, "INC-", 6):
        hit = random.sample(sorted(services), random.randint(1, 3))
        incidents[id] = {
            "incident_id": id,
            "headline": random.choice(HEADLINES),
            "severity": random.choice(["sev1", "sev2", "sev3"]),
            "began": moment(f"{first}-01T00:00", random.randrange(28 * 1_440) + random.choice([0, 0, 0, 31 * 1_440])),
            "cause": random.choice(["change", "capacity", "third party", "unknown"]),
            "origin": any_of(random, services),
            "hits": [{"service": slug, "minutes": random.randint(3, 70)} for slug in hit],
        }
    course = {"looks": random.randint(2, 4), "end": "live", "reason": random.choice(REASONS)}
    return {
        "services": services, "teams": teams, "incidents": incidents, "rollouts": {}, "course": course,
        "number": random.randrange(1_000, 9_000), "clock": {},
    }  # fmt: skip


def version(random: Random) -> str:
    return f"{random.randint(1, 9)}.{random.randint(0, 40)}.{random.randint(0, 20)}"


OPS = World("ops", ops)


def incident(severity: str) -> Sampler:
    """Draws an incident of a severity."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["incidents"][any_of(random, db["incidents"])]
        row["severity"] = severity
        return {"incident_id": row["incident_id"]}

    return drawn


WAKE_UP_CALL = ApiTask(
    name="wake_up_call",
    split="tune",
    world=OPS,
    precise=(
        "Prepare the message that wakes the people on call for an incident. The team is the one of the service in "
        "which the incident began. Answer with an object of `to`, the channel of that team, and `message`, the text "
        "`<SEVERITY> <headline> (<service>): <primary>, then <secondary>. Runbook: <runbook>`, with the severity in "
        "capital letters, the slug of that service, the two people on call of the team, and the service's runbook."
    ),
    casual=(
        "draft the page for this incident: {to: channel of the team that owns the service it started in, message: "
        "'<SEVERITY> <headline> (<service slug>): <primary>, then <secondary>. Runbook: <runbook>'} - severity in "
        "caps, the names are whoever is on call in that team, runbook is the service's"
    ),
    inputs={"incident_id": text("id of the incident")},
    gold="""
        incident = get_incident(incident_id=incident_id)
        service = get_service(slug=incident["origin"])
        team = get_team(team_id=service["team_id"])
        head = f"{incident['severity'].upper()} {incident['headline']} ({service['slug']}): "
        calls = f"{team['on_call']['primary']}, then {team['on_call']['secondary']}. Runbook: {service['runbook']}"
        return {"to": team["channel"], "message": head + calls}
    """,
    arms={"sev1": incident("sev1"), "sev2": incident("sev2"), "sev3": incident("sev3")},
)


def course(end: str, looks: Sequence[int]) -> Sampler:
    """Draws a service and a new version whose rollout ends so at a look."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        db["course"].update(end=end, looks=random.choice(looks))
        slug, wanted = any_of(random, db["services"]), version(random)
        while wanted == db["services"][slug]["running"]["version"]:
            wanted = version(random)
        return {"slug": slug, "version": wanted}

    return drawn


def running(random: Random, db: Database) -> dict[str, Any]:
    slug = any_of(random, db["services"])
    return {"slug": slug, "version": db["services"][slug]["running"]["version"]}


SHIP_VERSION = ApiTask(
    name="ship_version",
    split="tune",
    world=OPS,
    precise=(
        "Roll out a version of a service. If the service runs this version already, do nothing and answer `<slug> "
        "already runs <version>`. Otherwise start the rollout and look at it until its phase is `live` or `failed`, "
        "but no more than 6 times. If it is live, answer `<version> is live on <ready> instances`. If it failed, undo "
        "the rollout with its reason as the note, and answer `back on <version>: <reason>` with the version that runs "
        "now. If it is neither after 6 looks, leave it alone and answer `<rollout id> is not finished`."
    ),
    casual=(
        "ship this version of the service. same version already running? don't touch it, say '<slug> already runs "
        "<version>'. else start it and check on it, 6 checks max: live -> '<version> is live on <ready> instances'. "
        "failed -> undo it, note = the failure reason, and say 'back on <version that runs now>: <reason>'. still "
        "going after the 6th check -> just '<rollout id> is not finished', no undo"
    ),
    inputs={"slug": text("short name of the service"), "version": text("the version to roll out")},
    gold="""
        service = get_service(slug=slug)
        if service["running"]["version"] == version:
            return f"{slug} already runs {version}"
        rollout = start_rollout(slug=slug, version=version)
        looks = 0
        while looks < 6:
            seen = get_rollout(rollout_id=rollout["rollout_id"])
            looks += 1
            if seen["phase"] == "live":
                return f"{version} is live on {seen['instances']['ready']} instances"
            if seen["phase"] == "failed":
                undone = undo_rollout(rollout_id=rollout["rollout_id"], note=seen["reason"])
                return f"back on {undone['version']}: {seen['reason']}"
        return f"{rollout['rollout_id']} is not finished"
    """,
    arms={
        "live": course("live", (2, 3, 4, 5)),
        "failed": course("failed", (2, 3, 4, 5)),
        "unfinished": course("live", (8, 9, 12)),
        "running": running,
    },
    tests_only={
        "live_at_last": course("live", (6,)),
        "failed_at_once": course("failed", (1,)),
        "failed_too_late": course("failed", (7,)),
        "live_too_late": course("live", (7,)),
    },
)


def month(over: int, equal: bool = False) -> Sampler:
    """Draws a month and a tier; so many services of the tier are over what they are allowed."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        months = sorted(row["began"][:7] for row in db["incidents"].values())
        chosen = random.choice([month for month in months if months.count(month) >= 3])
        tier = random.randint(1, 3)
        slugs = random.sample(sorted(db["services"]), 4)
        for slug, row in db["services"].items():
            row["tier"] = tier if slug in slugs else random.choice([one for one in (1, 2, 3) if one != tier])
        rows = [row for row in db["incidents"].values() if row["began"][:7] == chosen]
        rows[0]["cause"], rows[1]["cause"], rows[2]["cause"] = random.sample(["change", "third party", "capacity"], 3)
        for at, slug in enumerate(slugs):
            if at < over and counted(rows, slug) < 2:
                row = random.choice([row for row in rows if row["cause"] != "third party"])
                kept = [hit for hit in row["hits"] if hit["service"] != slug]
                row["hits"] = [*kept, {"service": slug, "minutes": random.randint(3, 70)}]
            lost = counted(rows, slug)
            outside = sum(hit["minutes"] for row in rows for hit in row["hits"] if hit["service"] == slug) - lost
            service = db["services"][slug]
            if at < over:
                service["allowed_minutes"] = random.randint(1, lost - 1) if not equal or at else lost
            else:
                service["allowed_minutes"] = lost + random.randint(1, max(outside, 20))
        return {"month": chosen, "tier": tier}

    return drawn


def counted(rows: Sequence[dict[str, Any]], slug: str) -> int:
    """The minutes of a service that count."""
    ours = [row for row in rows if row["cause"] != "third party"]
    return sum(hit["minutes"] for row in ours for hit in row["hits"] if hit["service"] == slug)


def quiet_month(random: Random, db: Database) -> dict[str, Any]:
    return {"month": f"20{random.randint(10, 21)}-{random.randint(1, 12):02}", "tier": random.randint(1, 3)}


OVER_ALLOWANCE = ApiTask(
    name="over_allowance",
    split="tune",
    world=OPS,
    precise=(
        "Report which services of the given tier were down for longer than they are allowed in a month. The minutes of "
        "a service are the sum of the minutes for which the incidents of that month hit it; an incident hits several "
        "services, and incidents with the cause `third party` do not count. A service is reported only if its minutes "
        "are more than its allowed minutes. Answer with a list of objects of `service` (the slug), `minutes`, `excess` "
        "(by how many minutes they are over what is allowed) and `call`, the primary on call of the service's team, in "
        "the order in which the services are listed; the list is empty if there is none."
    ),
    casual=(
        "which services of this tier blew their downtime allowance that month? add up the minutes each one was hit by "
        "that month's incidents (one incident can hit several services), leave out anything caused by a third party. "
        "exactly at the allowance is fine. list of {service: slug, minutes, excess: minutes above the allowance, call: "
        "primary on call of its team}, same order as the service list, [] if all good"
    ),
    inputs={"month": text("the month as YYYY-MM"), "tier": integer("the tier")},
    gold="""
        services = list_services()
        incidents = list_incidents(month=month)
        report = []
        for service in services:
            if service["tier"] == tier:
                minutes = 0
                for incident in incidents:
                    if incident["cause"] != "third party":
                        minutes += sum(hit["minutes"] for hit in incident["hits"] if hit["service"] == service["slug"])
                if minutes > service["allowed_minutes"]:
                    team = get_team(team_id=service["team_id"])
                    row = {
                        "service": service["slug"],
                        "minutes": minutes,
                        "excess": minutes - service["allowed_minutes"],
                        "call": team["on_call"]["primary"],
                    }
                    report.append(row)
        return report
    """,
    arms={"two": month(2), "one": month(1), "none": month(0), "three": month(3)},
    tests_only={"at_the_limit": month(2, equal=True), "quiet": quiet_month},
)


# Names and certificates

HOSTS = (
    "www", "blog", "shop", "docs", "api", "status", "mail", "help", "legacy", "promo", "beta", "cdn", "events", "jobs",
    "forum", "lab", "login", "media",
)  # fmt: skip
HOSTERS = ("hostly.net", "pages.cloud", "bucket.store", "edgefront.net", "sitekit.app")


def zone(random: Random) -> Database:
    """Sixteen records of two zones, and five certificates."""
    ends = [random.choice(["org", "com", "io"]) for _ in range(2)]
    zones = [f"{word}{random.randint(10, 99)}.{end}" for word, end in zip(random.sample(WORDS, 2), ends, strict=True)]
    records: dict[str, Any] = {}
    names: dict[str, str] = {}
    hosts = random.sample(HOSTS, 16)
    for at, id in enumerate(sorted(fresh_ids(random, "rec", 16, 4))):
        kind = random.choice(["A", "CNAME", "CNAME", "CNAME", "TXT"])
        target = hosted_name(random)
        if kind == "CNAME":
            names[target] = random.choice(["ok", "ok", "servfail"])
        elif kind == "A":
            target = f"198.51.{random.randint(1, 254)}.{random.randint(1, 254)}"
        else:
            target = f"verify={random.randrange(10**5, 10**6)}"
        records[id] = {
            "record_id": id,
            "zone": zones[0] if at % 3 or random.random() < 0.2 else zones[1],
            "host": hosts[at],
            "kind": kind,
            "points_to": target,
            "ttl": random.choice([300, 600, 3600]),
            "locked": random.random() < 0.4,
        }
    certificates = {
        id: certificate(random, id, random.choice(zones), day("2025-01-05", random.randrange(400)))
        for id in fresh_ids(random, "crt-", 5, 4)
    }
    return {
        "records": records, "names": names, "certificates": certificates, "orders": {}, "tasks": {},
        "serial": random.randrange(20_000, 90_000),
    }  # fmt: skip


def hosted_name(random: Random) -> str:
    return f"{random.choice(WORDS)}-{random.randrange(1_000, 10_000)}.{random.choice(HOSTERS)}"


def certificate(random: Random, id: str, parent: str, today: str) -> dict[str, Any]:
    left = random.randint(-20, 120)
    return {
        "certificate_id": id,
        "common_name": random.choice(["*", *HOSTS[:6]]) + "." + parent,
        "issuer": random.choice(["Openseal", "Trustwell"]),
        "owner": random.choice([None, *TEAMS]),
        "pinned": random.random() < 0.3,
        "validity": {"not_before": day(today, left - 120), "not_after": day(today, left), "days_left": left},
    }


ZONE = World("zone", zone)


def expiring(
    low: int, high: int, pinned: Sequence[bool] = (False,), owned: Sequence[bool] = (True, False), wild: float = 0.5
) -> Sampler:
    """Draws a certificate with so many days left."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["certificates"][any_of(random, db["certificates"])]
        left, parent = random.randint(low, high), row["common_name"].partition(".")[2]
        row["validity"]["not_before"] = day(row["validity"]["not_after"], -random.choice([90, 180, 365]))
        row["validity"]["days_left"] = left
        row["pinned"] = random.choice(pinned)
        row["owner"] = random.choice(TEAMS) if random.choice(owned) else None
        row["common_name"] = ("*" if random.random() < wild else random.choice(HOSTS)) + "." + parent
        return {"certificate_id": row["certificate_id"]}

    return drawn


BOTH = (True, False)
CERTIFICATE_CARE = ApiTask(
    name="certificate_care",
    split="tune",
    world=ZONE,
    precise=(
        "Look after a certificate. If it has more than 21 days left, do nothing, pinned or not: answer with `action` "
        "`none` and a null `reference`. Otherwise, if it is pinned, it must not be renewed by a machine: open a task "
        "with the title `Replace <common name> before <not_after>` for its owner, or for `security desk` if it has no "
        "owner; answer with `action` `task` and the id of the task as `reference`. Otherwise order its renewal, with "
        "the challenge `dns-01` if its common name begins with `*.`, and with `http-01` if not; answer with `action` "
        "`renewal` and the id of the order as `reference`. An expired certificate is treated in the same way."
    ),
    casual=(
        "take care of this cert, reply {action, reference}. over 21 days left: nothing to do, {none, null}. pinned "
        "ones we can't auto-renew, so open a task 'Replace <common name> before <not_after>' for the owner (no owner "
        "-> 'security desk'): {task, task id}. the rest: order the renewal, dns-01 for wildcards (*. in front), "
        "http-01 for the others: {renewal, order id}. already expired ones count as 21 days or less, same thing"
    ),
    inputs={"certificate_id": text("id of the certificate")},
    gold="""
        certificate = get_certificate(certificate_id=certificate_id)
        if certificate["validity"]["days_left"] > 21:
            return {"action": "none", "reference": None}
        if certificate["pinned"]:
            assignee = "security desk" if certificate["owner"] is None else certificate["owner"]
            title = f"Replace {certificate['common_name']} before {certificate['validity']['not_after']}"
            task = open_task(assignee=assignee, title=title)
            return {"action": "task", "reference": task["task_id"]}
        challenge = "http-01"
        if certificate["common_name"].startswith("*."):
            challenge = "dns-01"
        order = order_renewal(certificate_id=certificate_id, challenge=challenge)
        return {"action": "renewal", "reference": order["order_id"]}
    """,
    arms={
        "fresh": expiring(23, 200, BOTH),
        "pinned": expiring(-10, 20, (True,), (True,)),
        "pinned_alone": expiring(-10, 20, (True,), (False,)),
        "wildcard": expiring(-10, 20, wild=1.0),
        "single": expiring(-10, 20, wild=0.0),
    },
    tests_only={"at_the_limit": expiring(21, 21, BOTH), "just_over": expiring(22, 22, BOTH)},
)


def dangling(free: Sequence[int], locked: Sequence[int], last: bool = False, small: bool = False) -> Sampler:
    """Draws a zone in which so many unlocked and locked aliases lead nowhere; with `last` those stand at the end."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        rows = list(db["records"].values())
        wanted = [False] * random.choice(free) + [True] * random.choice(locked)
        random.shuffle(wanted)
        counts = {row["zone"]: sum(other["zone"] == row["zone"] for other in rows) for row in rows}
        large = [name for name in counts if counts[name] >= len(wanted)]
        chosen = (min if small or random.random() < 0.3 else max)(large, key=lambda name: counts[name])
        rows = [row for row in rows if row["zone"] == chosen]
        others = [row for row in rows if row["kind"] != "CNAME"]
        lacking = max(0, len(wanted) + len(others) - len(rows))
        for row in random.sample(others, lacking):
            row.update(kind="CNAME", points_to=hosted_name(random))
        aliases = [row for row in rows if row["kind"] == "CNAME"]
        marked = aliases[len(aliases) - len(wanted) :] if last else random.sample(aliases, len(wanted))
        for row, lock in zip(marked, wanted, strict=True):
            row["locked"] = lock
            db["names"][row["points_to"]] = "nxdomain"
        return {"zone": chosen}

    return drawn


PRUNE_ALIASES = ApiTask(
    name="prune_aliases",
    split="tune",
    world=ZONE,
    precise=(
        "Remove the aliases of a zone that lead nowhere. Go through all records of the zone. For each record of the "
        "kind `CNAME` probe the name that it points to. Only the status `nxdomain` means that it leads nowhere. Such a "
        "record is deleted, unless it is locked. Answer with an object of `deleted` and `locked`: the hosts of the "
        "records that were deleted, and those of the records that lead nowhere but are locked, each in the order in "
        "which the records are listed."
    ),
    casual=(
        "clean out dangling CNAMEs in this zone before somebody takes them over: probe what each CNAME points to, "
        "nxdomain = dangling (servfail is not). delete the dangling ones except if they're locked. check every page of "
        "the records. {deleted: [hosts], locked: [hosts of dangling ones we had to leave]}, in listing order"
    ),
    inputs={"zone": text("the zone")},
    gold="""
        deleted = []
        locked = []
        mark = None
        while True:
            part = list_records(zone=zone, after=mark)
            for record in part["records"]:
                if record["kind"] == "CNAME":
                    probe = probe_name(name=record["points_to"])
                    if probe["status"] == "nxdomain":
                        if record["locked"]:
                            locked.append(record["host"])
                        else:
                            delete_record(record_id=record["record_id"])
                            deleted.append(record["host"])
            mark = part["next"]
            if mark is None:
                return {"deleted": deleted, "locked": locked}
    """,
    arms={
        "both": dangling((1, 2, 3), (1, 2)),
        "free": dangling((1, 2, 3), (0,)),
        "locked": dangling((0,), (1, 2)),
        "clean": dangling((0,), (0,)),
    },
    tests_only={
        "at_the_end": dangling((1,), (1,), last=True),
        "short": dangling((1,), (0, 1), small=True),
        "many": dangling((3, 4), (1, 2)),
    },
)


# Feature flags

FEATURES = ("dark-mode", "fast-cart", "new-search", "gift-cards", "two-factor", "bulk-edit", "live-chat", "csv-import")


def flags(random: Random) -> Database:
    """Fourteen flags of two projects."""
    projects = fresh_ids(random, "prj", 2, 3)
    today = day("2025-01-10", random.randrange(500))
    rows: dict[str, Any] = {}
    for at in range(14):
        key = f"{random.choice(FEATURES)}-{random.randrange(10, 90)}{at % 10}"
        while key in rows:
            key = f"{random.choice(FEATURES)}-{random.randrange(10, 90)}{at % 10}"
        rows[key] = flag(random, key, projects[at % 3 == 0], day(today, -random.randrange(400)))
    return {"flags": rows, "history": {}, "revision": random.randrange(300, 900)}


def flag(random: Random, key: str, project: str, changed: str) -> dict[str, Any]:
    percent = random.choice([0, 5, 25, 50, 90, 99, 100, 100, 100])
    return {
        "key": key,
        "project": project,
        "kind": random.choice(["release", "release", "release", "experiment", "ops", "permission"]),
        "environments": {
            "staging": {"enabled": True, "percent": random.choice([50, 100])},
            "production": {"enabled": percent > 0, "percent": percent},
        },
        "changed": {"on": changed, "by": person(random)},
        "archived": False,
    }


FLAGS = World("flags", flags)


def stale(count: Sequence[int], on_the_day: bool = False) -> Sampler:
    """Draws a project and a day for which so many flags are to be archived; the others miss one or two conditions."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        wanted = random.choice(count)
        projects = [db["flags"][key]["project"] for key in sorted(db["flags"])]
        project = random.choice([name for name in projects if projects.count(name) >= wanted + 2])
        rows = [row for row in db["flags"].values() if row["project"] == project]
        since = day(random.choice(rows)["changed"]["on"], random.randint(-60, 60))
        random.shuffle(rows)
        for at, row in enumerate(rows):
            misses = [] if at < wanted else random.sample(["kind", "percent", "day"], random.choice([1, 1, 2]))
            late = 0 if on_the_day else random.randint(0, 150)
            percent = random.choice([0, 5, 25, 50, 90, 99]) if "percent" in misses else 100
            row["kind"] = random.choice(["experiment", "ops", "permission"]) if "kind" in misses else "release"
            row["environments"]["production"] = {"enabled": percent > 0, "percent": percent}
            row["changed"]["on"] = day(since, late if "day" in misses else -random.randint(1, 300))
        return {"project": project, "since": since}

    return drawn


ARCHIVE_FLAGS = ApiTask(
    name="archive_flags",
    split="tune",
    world=FLAGS,
    precise=(
        "Archive the flags of a project that have done their work: those of the kind `release` that 100 percent of "
        "the users get in production, and whose last change was before the given day (a change on that day is too "
        "late). The comment is `rolled out on <day of the last change> by <who changed it>`. Answer with the list of "
        "the keys of the flags that were archived, in the order in which the flags are listed."
    ),
    casual=(
        "archive old release flags in this project: kind release, at 100 percent in production, last changed earlier "
        "than the day I give you (not on it). comment 'rolled out on <change day> by <who>'. give me the keys you "
        "archived as a list, in listing order"
    ),
    inputs={"project": text("id of the project"), "since": text("the day, as YYYY-MM-DD")},
    gold="""
        flags = list_flags(project=project)
        keys = []
        for flag in flags:
            done = flag["kind"] == "release" and flag["environments"]["production"]["percent"] == 100
            if done and flag["changed"]["on"] < since:
                comment = f"rolled out on {flag['changed']['on']} by {flag['changed']['by']}"
                archive_flag(key=flag["key"], comment=comment)
                keys.append(flag["key"])
        return keys
    """,
    arms={"some": stale((2, 3)), "none": stale((0,)), "one": stale((1,)), "many": stale((3, 4, 5))},
    tests_only={"on_the_day": stale((1, 2, 3), on_the_day=True)},
)


# Code review and CI

AREAS = ("billing/api", "web/cart", "infra/network", "mobile/sync", "search/index", "auth/tokens")
TITLES = ("Retry on timeout", "Drop old column", "Cache prices", "Split the parser", "Log request ids", "Fix time zone")
PIPELINES = ("unit tests", "nightly build", "integration", "image build", "end to end")


def forge(random: Random) -> Database:
    """Six developers, two areas, four changes; two pipelines with sixteen runs."""
    today = day("2025-02-01", random.randrange(500))
    developers: dict[str, Any] = {}
    while len(developers) < 6:
        name = person(random)
        handle = f"{name.split()[0].lower()}{random.randint(1, 99)}"
        leave = {"until": day(today, random.randint(1, 20)), "deputy": person(random)}
        developers[handle] = {
            "handle": handle,
            "name": name,
            "reviews": {"open": random.randint(0, 7), "done": random.randint(0, 90)},
            "leave": random.choice([None, None, leave]),
        }
    areas = {
        area: {
            "area": area,
            "owners": random.sample(sorted(developers), 4),
            "review_cap": random.randint(3, 5),
            "language": random.choice(["Go", "Python", "Kotlin", "Rust"]),
        }
        for area in random.sample(AREAS, 2)
    }
    changes = {
        id: {
            "change_id": id,
            "title": random.choice(TITLES),
            "author": any_of(random, developers),
            "area": any_of(random, areas),
            "size": {"added": random.randint(1, 400), "removed": random.randint(0, 200)},
        }
        for id in fresh_ids(random, "CH", 4)
    }
    pipelines = {
        id: {
            "pipeline_id": id,
            "title": random.choice(PIPELINES),
            "default_branch": random.choice(["main", "trunk", "develop"]),
            "goal": {"pass_percent": random.choice([60, 70, 75, 80, 90]), "max_seconds": random.randint(4, 20) * 60},
        }
        for id in fresh_ids(random, "pl-", 2, 4)
    }
    runs = {id: run(random, id, pipelines[any_of(random, pipelines)]) for id in fresh_ids(random, "run", 16, 4)}
    return {
        "developers": developers, "areas": areas, "changes": changes, "pipelines": pipelines, "runs": runs,
        "requests": {}, "number": random.randrange(1_000, 9_000), "due_on": day(today, random.randint(1, 4)),
    }  # fmt: skip


def run(random: Random, id: str, pipeline: dict[str, Any]) -> dict[str, Any]:
    return {
        "run_id": id,
        "pipeline_id": pipeline["pipeline_id"],
        "branch": random.choice([pipeline["default_branch"]] * 3 + [f"fix-{random.randint(10, 99)}"]),
        "outcome": random.choice(["passed", "passed", "passed", "failed", "cancelled"]),
        "seconds": {"queued": random.randint(0, 400), "ran": random.randint(60, 1_500)},
    }


FORGE = World("forge", forge)


def review(fits: Sequence[int], author: Sequence[int | None], at_cap: bool = False) -> Sampler:
    """Draws a change; the first owner who can review it, and the owner who wrote it, stand at one of these places."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        change = db["changes"][any_of(random, db["changes"])]
        area = db["areas"][change["area"]]
        wrote, first = random.choice(author), random.choice(fits)
        others = [handle for handle in sorted(db["developers"]) if handle not in area["owners"]]
        change["author"] = random.choice(others) if wrote is None else area["owners"][wrote]
        for at, handle in enumerate(area["owners"]):
            row, cap = db["developers"][handle], area["review_cap"]
            row["reviews"]["open"] = random.randint(0, cap - 1)
            row["leave"] = None
            if at == first and at_cap:
                row["reviews"]["open"] = cap - 1
            if at < first and at != wrote:
                if at_cap:
                    row["reviews"]["open"] = cap
                elif random.random() < 0.5:
                    row["reviews"]["open"] = random.randint(cap, cap + 4)
                else:
                    row["leave"] = {"until": day(db["due_on"], random.randint(1, 20)), "deputy": person(random)}
            elif at > first:
                row["reviews"]["open"] = random.randint(0, cap + 2)
        return {"change_id": change["change_id"]}

    return drawn


FIND_REVIEWER = ApiTask(
    name="find_reviewer",
    split="tune",
    world=FORGE,
    precise=(
        "Find a reviewer for a change among the owners of the part of the code that it belongs to, in the order in "
        "which they are listed. The author of the change cannot review it, nor can who is on leave, nor who has as "
        "many open reviews as the review cap of that part, or more. Ask the first owner who can to review the change, "
        "and answer `<name> (<handle>) by <due day>`, with the name of the developer and the day by which the review "
        "is expected. If no owner can, ask nobody and answer `no reviewer for <area>`."
    ),
    casual=(
        "get a reviewer for this change: walk through the owners of its area in order and request a review from the "
        "first one who isn't the author, isn't on leave and has fewer open reviews than the area's cap. just one. tell "
        "me '<name> (<handle>) by <due day>', or 'no reviewer for <area>' if none of them can"
    ),
    inputs={"change_id": text("id of the change")},
    gold="""
        change = get_change(change_id=change_id)
        area = get_area(area=change["area"])
        for handle in area["owners"]:
            if handle != change["author"]:
                owner = get_developer(handle=handle)
                if owner["leave"] is None and owner["reviews"]["open"] < area["review_cap"]:
                    asked = request_review(change_id=change_id, reviewer=handle)
                    return f"{owner['name']} ({handle}) by {asked['due_on']}"
        return f"no reviewer for {area['area']}"
    """,
    arms={
        "first": review((0,), (None, 2, 3)),
        "later": review((1, 2, 3), (None,)),
        "author_first": review((1, 2), (0,)),
        "nobody": review((4,), (None, 0, 1, 2, 3)),
    },
    tests_only={"at_cap": review((1, 2), (None,), at_cap=True), "nobody_but_author": review((4,), (3,), at_cap=True)},
)


def week(passed: Sequence[int], failed: Sequence[int], goal: str) -> Sampler:
    """Draws a pipeline with so many runs of the default branch; its goal is above, below or at what they reach."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        pipeline = db["pipelines"][any_of(random, db["pipelines"])]
        rows = [row for row in db["runs"].values() if row["pipeline_id"] == pipeline["pipeline_id"]]
        outcomes = ["passed"] * random.choice(passed) + ["failed"] * random.choice(failed)
        others = [row for row in db["runs"].values() if row["pipeline_id"] != pipeline["pipeline_id"]]
        lacking = max(0, len(outcomes) + 2 - len(rows))
        for row in random.sample(others, lacking):
            row["pipeline_id"] = pipeline["pipeline_id"]
            rows.append(row)
        random.shuffle(rows)
        for at, row in enumerate(rows):
            mine = at < len(outcomes)
            row["outcome"] = outcomes[at] if mine else random.choice(["passed", "failed", "cancelled"])
            side = row["outcome"] != "cancelled" and not mine
            row["branch"] = f"fix-{random.randint(10, 99)}" if side else pipeline["default_branch"]
        if outcomes:
            rate = round(100 * outcomes.count("passed") / len(outcomes), 1)
            met = random.randint(max(1, int(rate) - 25), max(1, int(rate)))
            missed = random.randint(min(max(int(rate) + 1, 40), 100), 100)
            wanted = {"met": met, "missed": missed}
            pipeline["goal"]["pass_percent"] = wanted.get(goal, rate)
        return {"pipeline_id": pipeline["pipeline_id"]}

    return drawn


PIPELINE_HEALTH = ApiTask(
    name="pipeline_health",
    split="tune",
    world=FORGE,
    precise=(
        "Sum up the last seven days of a pipeline. Only the runs of its default branch count, and cancelled runs do "
        "not count. Answer with an object of `runs`, the number of runs that count; `pass_rate`, the share of them "
        "that passed in percent, rounded to one decimal; `slowest`, the most seconds that one of the passed runs ran "
        "(without the time in the queue), null if none passed; and `verdict`: `healthy` if the rounded rate is at "
        "least the pass percent of the pipeline's goal, otherwise `unhealthy`. If no run counts, `pass_rate` is null "
        "and the verdict is `no data`."
    ),
    casual=(
        "how did this pipeline do over the last 7 days? default branch only, forget cancelled runs. {runs: how many, "
        "pass_rate: percent that passed, 1 decimal, slowest: longest run time in secs of a passed run (queue time "
        "doesn't count, null if nothing passed), verdict: 'healthy' if the rounded rate is at or above the pass "
        "percent in its goal, else 'unhealthy'}. no runs left at all -> pass_rate null, verdict 'no data'"
    ),
    inputs={"pipeline_id": text("id of the pipeline")},
    gold="""
        pipeline = get_pipeline(pipeline_id=pipeline_id)
        every = list_runs(pipeline_id=pipeline_id)
        ours = [run for run in every if run["branch"] == pipeline["default_branch"] and run["outcome"] != "cancelled"]
        times = [run["seconds"]["ran"] for run in ours if run["outcome"] == "passed"]
        if len(ours) == 0:
            return {"runs": 0, "pass_rate": None, "slowest": None, "verdict": "no data"}
        slowest = max(times) if len(times) > 0 else None
        rate = round(100 * len(times) / len(ours), 1)
        verdict = "healthy" if rate >= pipeline["goal"]["pass_percent"] else "unhealthy"
        return {"runs": len(ours), "pass_rate": rate, "slowest": slowest, "verdict": verdict}
    """,
    arms={
        "healthy": week((2, 3, 4, 5), (0, 1, 2), "met"),
        "unhealthy": week((1, 2, 3, 4), (1, 2), "missed"),
        "no_data": week((0,), (0,), "met"),
        "none_passed": week((0,), (1, 2, 3), "missed"),
    },
    tests_only={
        "at_the_goal": week((2, 3, 4), (1, 2), "at"),
        "healthy_again": week((3, 4, 5), (1, 2, 3), "met"),
        "rounded": week((2,), (1,), "at"),
    },
)

TASKS: dict[str, ApiTask] = {
    "lookups": WAKE_UP_CALL,
    "branches": CERTIFICATE_CARE,
    "filters": ARCHIVE_FLAGS,
    "totals": PIPELINE_HEALTH,
    "paging": PRUNE_ALIASES,
    "polling": SHIP_VERSION,
    "early_exit": FIND_REVIEWER,
    "joins": OVER_ALLOWANCE,
}
"""By family."""
