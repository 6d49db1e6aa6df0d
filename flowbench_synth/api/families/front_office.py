"""Tasks of recruiting, a shared drive, a sales pipeline and conferences, one of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Sampler, World, integer, text
from flowbench_synth.api.drawing import any_of, company, day, email_of, fresh_ids, person, unused_ids

# Recruiting and calendars

JOBS = ("Data Engineer", "Product Designer", "Account Manager", "Site Manager", "Tax Analyst", "Nurse", "Translator")
TITLES = (
    "Team Lead", "Senior Engineer", "Head of Sales", "Controller", "Ward Manager", "Art Director", "Architect", "Buyer",
    "Branch Manager", "Head of Care",
)  # fmt: skip
ENTRIES = ("Standup", "Budget", "Dentist", "Review", "Supplier call", "Training")


def clock(minutes: int) -> str:
    """HH:MM."""
    return f"{minutes // 60:02}:{minutes % 60:02}"


def names(random: Random, count: int) -> list[str]:
    """Different people."""
    found: list[str] = []
    while len(found) < count:
        name = person(random)
        if name not in found:
            found.append(name)
    return found


def medium(random: Random, kind: str) -> dict[str, str]:
    """Where an interview takes place."""
    places = {
        "video": f"https://meet.example.com/{random.randrange(10_000, 99_999)}",
        "office": f"Room {random.choice('ABCDEF')}{random.randint(1, 40)}",
        "phone": f"+49 30 {random.randrange(100_000, 999_999)}",
    }
    return {"kind": kind, "where": places[kind]}


def recruit(random: Random) -> Database:
    """Five colleagues, three openings, five applications, three interviews."""
    today = day("2025-02-03", random.randrange(300))
    people = dict(zip(fresh_ids(random, "E", 5, 4), names(random, 5), strict=True))
    colleagues = {
        id: {
            "id": id,
            "name": name,
            "job_title": random.choice(TITLES),
            "email": email_of(name),
            "away_until": random.choice([None, None, day(today, random.randint(1, 9))]),
        }
        for id, name in people.items()
    }
    openings: dict[str, Any] = {}
    for id, title in zip(fresh_ids(random, "OP-", 3, 3), random.sample(JOBS, 3), strict=True):
        recruiter = person(random)
        openings[id] = {
            "id": id,
            "title": title,
            "team": random.choice(["North", "Core", "Care", "Studio"]),
            "recruiter": {"name": recruiter, "email": email_of(recruiter)},
            "panel": random.sample(sorted(colleagues), random.choice([3, 4])),
        }
    applications: dict[str, Any] = {}
    for id, name in zip(fresh_ids(random, "AP-", 5), names(random, 5), strict=True):
        city = random.choice(["Lyon", "Graz", "Turin", "Leeds"])
        applications[id] = {
            "id": id,
            "candidate": {"name": name, "email": email_of(name), "city": city},
            "opening_id": any_of(random, openings),
            "stage": random.choice(["screened", "interview", "new"]),
        }
    interviews: dict[str, Any] = {}
    for id in fresh_ids(random, "IV-", 3, 6):
        start = random.randrange(36, 66) * 15
        slot = {"day": day(today, random.randint(1, 20)), "starts_at": clock(start), "ends_at": clock(start + 45)}
        interviews[id] = {
            "id": id,
            "application_id": any_of(random, applications),
            "interviewer_id": any_of(random, colleagues),
            "slot": slot,
            "medium": medium(random, random.choice(["video", "office", "phone"])),
        }
    return {
        "today": today, "colleagues": colleagues, "openings": openings, "applications": applications,
        "interviews": interviews, "calendars": {id: {"id": id, "entries": []} for id in colleagues}, "mails": {},
        "counter": random.randrange(1_000, 9_000),
    }  # fmt: skip


RECRUIT = World("recruit", recruit)


def interview(kind: str) -> Sampler:
    """Draws an interview of a kind."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["interviews"][any_of(random, db["interviews"])]
        row["medium"] = medium(random, kind)
        opening = db["openings"][db["applications"][row["application_id"]]["opening_id"]]
        row["interviewer_id"] = random.choice(opening["panel"])
        host = db["colleagues"][row["interviewer_id"]]
        host.update(job_title=random.choice(TITLES), away_until=random.choice([None, db["today"]]))
        return {"interview_id": row["id"]}

    return drawn


INVITE_CANDIDATE = ApiTask(
    name="invite_candidate",
    split="tune",
    world=RECRUIT,
    precise=(
        "Invite the candidate to an interview that has been booked. The invitation goes to the candidate's e-mail "
        "address, with a copy to the recruiter of the opening. Its subject is `Interview: <title of the opening>`, its "
        "text `Dear <candidate>, <interviewer>, <job title of the interviewer>, meets you on <day> at <start>: "
        "<where>`, where the last is the link, room or number of the interview. Answer with an object of `message`, "
        "the id of the message, and `to`, the name of the candidate."
    ),
    casual=(
        "send out the invite for this interview, to the candidate, recruiter of the opening in cc. subject "
        "'Interview: <opening title>', body 'Dear <candidate>, <interviewer>, <their job title>, meets you on <day> at "
        "<start time>: <link, room or phone number>'. give me {message: the message id, to: candidate's name}"
    ),
    inputs={"interview_id": text("id of the interview")},
    gold="""
        interview = get_interview(interview_id=interview_id)
        application = get_application(application_id=interview["application_id"])
        opening = get_opening(opening_id=application["opening_id"])
        host = get_colleague(colleague_id=interview["interviewer_id"])
        candidate = application["candidate"]
        slot = interview["slot"]
        body = (
            f"Dear {candidate['name']}, {host['name']}, {host['job_title']}, meets you on {slot['day']} at "
            f"{slot['starts_at']}: {interview['medium']['where']}"
        )
        sent = send_invitation(
            to=candidate["email"], cc=opening["recruiter"]["email"], subject=f"Interview: {opening['title']}", body=body
        )
        return {"message": sent["message_id"], "to": candidate["name"]}
    """,
    arms={"video": interview("video"), "office": interview("office"), "phone": interview("phone")},
)


def busy(random: Random, on: str, start: int, end: int, tentative: bool) -> dict[str, Any]:
    """An entry of a calendar."""
    title = random.choice(ENTRIES)
    return {"day": on, "from": clock(start), "to": clock(end), "title": title, "tentative": tentative}


def panel(*kinds: str) -> Sampler:
    """Draws a slot; what kinds of calendars those on the panel have, the last kind for all the others, too.

    A kind is `free`, `busy`, `tentative`, `touching`, `away` or `last_day`; of `any` and `blocked` one is drawn.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        application = db["applications"][any_of(random, db["applications"])]
        on = day(db["today"], random.randint(1, 25))
        start = random.randrange(37, 60) * 15
        end = start + random.choice([30, 45, 60])
        for place, id in enumerate(db["openings"][application["opening_id"]]["panel"]):
            kind = kinds[min(place, len(kinds) - 1)]
            if kind == "any":
                kind = random.choice(["free", "busy", "away"])
            if kind == "blocked":
                kind = random.choice(["busy", "busy", "away"])
            colleague, entries = db["colleagues"][id], db["calendars"][id]["entries"]
            colleague["away_until"] = random.choice([None, day(on, -random.randint(1, 12))])
            if kind == "away":
                colleague["away_until"] = day(on, random.randint(1, 12))
            if kind == "last_day":
                colleague["away_until"] = on
            if random.random() < 0.6 or kind == "touching":  # just before
                entries.append(busy(random, on, start - random.choice([15, 30, 60]), start, False))
            if kind == "busy":
                begins = random.choice([start - 15, start, start + 15])
                entries.append(busy(random, on, begins, begins + random.choice([30, 60]), False))
            elif kind == "tentative":
                entries.append(busy(random, on, start, end, True))
            if random.random() < 0.3 or kind == "touching":  # just after
                entries.append(busy(random, on, end, end + random.choice([30, 60]), random.random() < 0.2))
            if random.random() < 0.5:
                entries.append(busy(random, day(on, 1), start, end, False))
        return {"application_id": application["id"], "day": on, "starts_at": clock(start), "ends_at": clock(end)}

    return drawn


def settled(*kinds: str) -> Sampler:
    """Draws with a number of colleagues ahead who cannot, of random kinds."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        ahead = random.choice([1, 2])
        return panel(*["blocked"] * ahead, *kinds)(random, db)

    return drawn


BOOK_PANELIST = ApiTask(
    name="book_panelist",
    split="tune",
    world=RECRUIT,
    precise=(
        "Book an interview for an application in the given slot with the first colleague of the opening's panel, in "
        "the order of the panel, who can take it. A colleague cannot if the absence lasts until that day or longer, or "
        "if an entry of that day in the calendar overlaps the slot. Tentative entries do not count, and an entry that "
        "ends when the slot starts, or starts when it ends, does not overlap. Answer `<name>: <id of the interview>`, "
        "or `nobody is free` without a booking if no one on the panel can."
    ),
    casual=(
        "find someone from the opening's panel for this interview slot - go down the panel in order & book the first "
        "one who isn't away (away until that day still means away) and has nothing overlapping in the calendar that "
        "day. ignore tentative stuff, back to back is ok. reply '<name>: <interview id>' or 'nobody is free' (then "
        "book nothing)"
    ),
    inputs={
        "application_id": text("id of the application"),
        "day": text("day of the interview, as YYYY-MM-DD"),
        "starts_at": text("start of the slot, as HH:MM"),
        "ends_at": text("end of the slot, as HH:MM"),
    },
    gold="""
        application = get_application(application_id=application_id)
        opening = get_opening(opening_id=application["opening_id"])
        for member in opening["panel"]:
            colleague = get_colleague(colleague_id=member)
            if colleague["away_until"] is not None and colleague["away_until"] >= day:
                continue
            calendar = read_calendar(colleague_id=member, day=day)
            overlaps = [
                entry for entry in calendar["entries"]
                if not entry["tentative"] and entry["from"] < ends_at and entry["to"] > starts_at
            ]
            if len(overlaps) == 0:
                booked = book_interview(
                    application_id=application_id, interviewer_id=member, day=day, starts_at=starts_at, ends_at=ends_at
                )
                return f"{colleague['name']}: {booked['interview_id']}"
        return "nobody is free"
    """,
    arms={
        "first": panel("free", "any"),
        "later": settled("free", "any"),
        "away": panel("away", "free", "any"),
        "tentative": settled("tentative", "free"),
        "none": panel("blocked"),
    },
    tests_only={"touching": panel("touching", "free"), "last_day": panel("last_day", "busy", "free")},
)

# Shared drive

STEMS = ("Kickoff", "Budget", "Retro", "Interview", "Site visit", "Sales call", "Board", "Roadmap", "Offsite")
TALK = ("We agreed on the plan.", "The budget is too small.", "Nadia will call them.", "Nothing was decided.")
PROBLEMS = ("no speech found", "file is damaged", "language not supported", "too much noise")
UNTIL = 6
"""How often a transcription is asked for."""


def link(random: Random, access: str, expires_on: str | None) -> dict[str, Any]:
    """A public link."""
    return {"access": access, "expires_on": expires_on}


def drive(random: Random) -> Database:
    """Two folders of four to six files each, all of which could be transcribed."""
    today = day("2025-02-03", random.randrange(300))
    files: dict[str, Any] = {}
    engine: dict[str, Any] = {}
    for folder in fresh_ids(random, "FD", 2, 4):
        for id in unused_ids(random, "F-", random.randint(4, 6), 5, files):
            access = random.choice(["view", "comment", "edit"])
            expires = random.choice([None, day(today, random.randint(-30, 90))])
            files[id] = {
                "id": id,
                "name": f"{random.choice(STEMS)} {random.randint(1, 52)}",
                "folder_id": folder,
                "owner": random.choice([None, person(random), person(random)]),
                "media": {"minutes": random.randint(4, 90), "language": random.choice(["de", "fr", "es", "it"])},
                "link": random.choice([None, link(random, access, expires)]),
            }
            engine[id] = {"asked": random.randint(1, 5), "outcome": "ready", "text": None, "problem": None}
    return {
        "today": today, "files": files, "engine": engine, "jobs": {}, "notes": {}, "clock": {"asked": 0},
        "counter": random.randrange(1_000, 9_000),
    }  # fmt: skip


DRIVE = World("drive", drive)


def links(*chosen: str) -> Sampler:
    """Draws a folder; the kinds of links that its first files have: `open`, `late`, `soon`, `view`, `last` or `none`.

    The other files have links of random kinds among the last three.
    """

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        folder = random.choice(sorted({row["folder_id"] for row in db["files"].values()}))
        until = day(db["today"], random.randint(5, 60))
        rows = [row for row in db["files"].values() if row["folder_id"] == folder]
        kinds = [*chosen, *random.choices(["soon", "view", "none"], k=len(rows))][: len(rows)]
        random.shuffle(kinds)
        for row, kind in zip(rows, kinds, strict=True):
            later, sooner = day(until, random.randint(1, 40)), day(until, -random.randint(1, 40))
            made = {
                "open": ("edit", None),
                "late": ("edit", later),
                "soon": ("edit", sooner),
                "view": (random.choice(["view", "comment"]), random.choice([None, later])),
                "last": ("edit", until),
            }
            row["link"] = None if kind == "none" else link(random, *made[kind])
        return {"folder_id": folder, "until": until}

    return drawn


OPEN_LINKS = ApiTask(
    name="open_links",
    split="tune",
    world=DRIVE,
    precise=(
        "List the files of a folder that outsiders could change for too long: those with a public link of the access "
        "`edit` that never expires, or expires after the given day (on that day itself is all right). Answer with a "
        "list of objects of `file`, the name of the file, `owner`, which may be null, and `expires`, the day on which "
        "the link expires, null if it never does. Keep the order of the folder; the list is empty if there is none."
    ),
    casual=(
        "which files in this folder have a public edit link that stays open too long, i.e. never expires or only "
        "expires later than the day I give you (that day is still ok)? list of {file: name, owner, expires}, owner and "
        "expires can be null, folder order, [] if there aren't any"
    ),
    inputs={
        "folder_id": text("id of the folder"),
        "until": text("the last day on which links may be open, YYYY-MM-DD"),
    },
    gold="""
        listed = list_folder_files(folder_id=folder_id)
        found = []
        for file in listed["files"]:
            if file["link"] is not None and file["link"]["access"] == "edit":
                expires = file["link"]["expires_on"]
                if expires is None or expires > until:
                    found.append({"file": file["name"], "owner": file["owner"], "expires": expires})
        return found
    """,
    arms={
        "open": links("open", "open"),
        "late": links("late", "late", "view"),
        "both": links("open", "late", "none", "view"),
        "nothing": links("soon", "view", "none"),
    },
    tests_only={"last_day": links("last", "late", "last")},
)


def recording(outcome: str, low: int, high: int, known: bool = True) -> Sampler:
    """Draws a recording that is done when it is asked for a certain time, and whether its language is known."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["files"][any_of(random, db["files"])]
        row["media"]["language"] = random.choice(["de", "fr", "es", "it"]) if known else None
        db["engine"][row["id"]] = {
            "asked": random.randint(low, high),
            "outcome": outcome,
            "text": f"{random.choice(TALK)} {random.choice(TALK)} {person(random)} takes the minutes.",
            "problem": f"{random.choice(PROBLEMS)} at minute {random.randint(1, row['media']['minutes'])}",
        }
        return {"file_id": row["id"]}

    return drawn


TRANSCRIBE = ApiTask(
    name="transcript_note",
    split="tune",
    world=DRIVE,
    precise=(
        "Have a recording transcribed in its language, or in `en` if the language is not known, and ask for the "
        "transcription until it is ready or has failed, at most 6 times. When it is ready, save its text as a note in "
        "the folder of the recording, with the title `Transcript of <name of the file>`. When it has failed, save "
        "nothing. If it is neither after 6 requests, cancel it. Answer with an object of `note`, the id of the note, "
        "and `problem`: null with a note, the problem of a failed transcription, `too slow` for a cancelled one. "
        "Without a note, `note` is null."
    ),
    casual=(
        "transcribe this recording (its own language; if we don't know it use en) and poll up to 6 times. ready -> "
        "save the text as a note in the same folder, title 'Transcript of <file name>', and return {note: note id, "
        "problem: null}. failed -> {note: null, problem: what it says}. still not through after 6 polls -> cancel the "
        "job, {note: null, problem: 'too slow'}"
    ),
    inputs={"file_id": text("id of the recording")},
    gold="""
        file = get_drive_file(file_id=file_id)
        language = file["media"]["language"]
        if language is None:
            language = "en"
        job = start_transcription(file_id=file_id, language=language)
        asked = 0
        while asked < 6:
            progress = get_transcription(job_id=job["job_id"])
            asked += 1
            if progress["state"] == "failed":
                return {"note": None, "problem": progress["problem"]}
            if progress["state"] == "ready":
                note = create_note(
                    folder_id=file["folder_id"], title=f"Transcript of {file['name']}", body=progress["text"]
                )
                return {"note": note["note_id"], "problem": None}
        cancel_transcription(job_id=job["job_id"])
        return {"note": None, "problem": "too slow"}
    """,
    arms={
        "ready": recording("ready", 2, 5),
        "failed": recording("failed", 1, 5),
        "slow": recording("ready", 8, 12),
        "unknown": recording("ready", 1, 4, known=False),
    },
    tests_only={
        "last_request": recording("ready", UNTIL, UNTIL),
        "just_too_slow": recording("ready", UNTIL + 1, UNTIL + 1),
        "failed_last": recording("failed", UNTIL, UNTIL, known=False),
    },
)

# Sales pipeline

NEEDS = ("licences", "rollout", "renewal", "pilot", "training", "hardware", "support")
OPEN = ("qualify", "demo", "proposal")


def deals(random: Random) -> Database:
    """Nine deals of two representatives with four customers in three territories."""
    today = day("2025-02-03", random.randrange(300))
    territories = {
        code: {
            "code": code,
            "region": region,
            "manager": person(random),
            "free_discount": random.randint(5, 14),
        }
        for code, region in zip(fresh_ids(random, "TR", 3, 2), ("North", "South", "Islands"), strict=True)
    }
    customers = {
        id: {
            "id": id,
            "name": company(random),
            "segment": random.choice(["key", "standard", "trial"]),
            "territory": any_of(random, territories),
        }
        for id in fresh_ids(random, "CU", 4, 4)
    }
    reps: dict[str, Any] = {}
    for id in fresh_ids(random, "R", 2, 3):
        quarter = random.randrange(40, 90) * 1_000
        reps[id] = {"id": id, "name": person(random), "targets": {"quarter": quarter, "year": quarter * 4 + 5_000}}
    rows: dict[str, Any] = {}
    for id in fresh_ids(random, "D-", 9):
        rows[id] = {
            "id": id,
            "title": f"{random.choice(['Main', 'New', 'Second'])} {random.choice(NEEDS)}",
            "rep_id": any_of(random, reps),
            "customer_id": any_of(random, customers),
            "stage": random.choice([*OPEN, "won", "lost"]),
            "amount": random.randrange(2_000, 30_000),
            "odds": random.randrange(5, 95),
            "close_on": day(today, random.randint(-60, 90)),
            "discount": random.choice([0, 0, 2, 3]),
        }
    return {
        "today": today, "territories": territories, "customers": customers, "reps": reps, "deals": rows,
        "signoffs": {}, "quotes": random.randrange(1_000, 9_000),
    }  # fmt: skip


DEALS = World("deals", deals)


def discount(
    low: int | None, high: int, stages: tuple[str, ...] = OPEN, segments: tuple[str, ...] = ("standard", "trial"),
    managed: bool | None = True,
) -> Sampler:  # fmt: skip
    """Draws a deal and a percentage: how far it is from what is free in the territory; above 25 if `low` is None."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        row = db["deals"][any_of(random, db["deals"])]
        row["stage"] = random.choice(stages)
        customer = db["customers"][row["customer_id"]]
        customer["segment"] = random.choice(segments)
        territory = db["territories"][customer["territory"]]
        if managed is False or (managed is None and random.random() < 0.5):
            territory["manager"] = None
        free = territory["free_discount"]
        percent = random.randint(26, high) if low is None else free + random.randint(low, high)
        return {"deal_id": row["id"], "percent": percent}

    return drawn


def most_for_key(random: Random, db: Database) -> dict[str, Any]:
    return {**discount(1, 2, segments=("key",))(random, db), "percent": 25}


def beyond(random: Random, db: Database) -> dict[str, Any]:
    """A discount that must be signed off: for a key customer only if it is large."""
    return random.choice([discount(1, 14), discount(1, 14), discount(None, 34, segments=("key",))])(random, db)


ANY = ("key", "standard", "trial")
GRANT_DISCOUNT = ApiTask(
    name="grant_discount",
    split="tune",
    world=DEALS,
    precise=(
        "Handle the wish for a discount on a deal. A deal that is won or lost stays as it is: answer `closed`. A "
        "percentage up to the free discount of the customer's territory, that one included, is set, and so is one of "
        "no more than 25 percent if the customer is of the segment `key`. Then answer `granted with <id of the "
        "quote>`. Anything else needs a sign-off by the manager of the territory: request it and answer `waiting for "
        "<manager>`. If the territory has no manager, request nothing and answer `nobody can sign <percent> percent in "
        "<region>`."
    ),
    casual=(
        "they want this discount on the deal. won/lost deals: leave alone, say 'closed'. up to and including what the "
        "customer's territory gives away freely just set it, and key customers can have up to 25 (25 included) "
        "without asking: 'granted with <quote id>' in both cases. otherwise ask the territory's manager to sign off -> "
        "'waiting for <manager>', and when that territory has no manager right now don't ask anybody, say 'nobody can "
        "sign <percent> percent in <region>'"
    ),
    inputs={"deal_id": text("id of the deal"), "percent": integer("the discount that is wanted, in percent")},
    gold="""
        deal = get_deal(deal_id=deal_id)
        if deal["stage"] == "won" or deal["stage"] == "lost":
            return "closed"
        customer = get_customer_record(customer_id=deal["customer_id"])
        territory = get_territory(code=customer["territory"])
        if percent <= territory["free_discount"] or (customer["segment"] == "key" and percent <= 25):
            granted = set_discount(deal_id=deal_id, percent=percent)
            return f"granted with {granted['quote_id']}"
        if territory["manager"] is None:
            return f"nobody can sign {percent} percent in {territory['region']}"
        request_signoff(deal_id=deal_id, approver=territory["manager"], percent=percent)
        return f"waiting for {territory['manager']}"
    """,
    arms={
        "free": discount(-4, 0, segments=ANY, managed=None),
        "key": discount(1, 10, segments=("key",), managed=None),
        "asked": beyond,
        "closed": discount(-4, 12, stages=("won", "lost"), segments=ANY),
        "unmanaged": discount(1, 14, managed=False),
    },
    tests_only={
        "just_free": discount(0, 0),
        "most_for_key": most_for_key,
        "too_much_for_key": discount(None, 27, segments=("key",)),
        "just_above": discount(1, 1),
        "closed_lost": discount(-4, 0, stages=("lost",)),
    },
)


def quarter(verdict: str, edge: bool = False) -> Sampler:
    """Draws a quarter of a representative with a verdict; at the very edge of it if wanted."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        rep = any_of(random, db["reps"])
        first = day("2025-01-01", random.randrange(400))
        last = day(first, random.choice([89, 90, 91]))
        booked, expected = 0.0, 0.0
        kinds = ["won", "won", "open", "open", "unrated", "unknown", "outside", "lost"]
        random.shuffle(kinds)
        kinds.insert(random.randrange(9), "other")
        for row, kind in zip(db["deals"].values(), kinds, strict=True):
            if kind == "other":
                row["rep_id"] = next(id for id in db["reps"] if id != rep)
                continue
            row.update(rep_id=rep, amount=random.randrange(2_000, 30_000), odds=random.randrange(5, 95))
            if edge:  # so that a target, which has no decimals, can be met exactly
                row["amount"] = row["amount"] // 100 * 100
            row["stage"] = random.choice(OPEN)
            row["close_on"] = random.choice([first, last, *(day(first, random.randint(1, 88)) for _ in range(3))])
            if kind == "won" or kind == "lost":
                row.update(stage=kind, odds=random.choice([None, row["odds"]]))
                booked += row["amount"] * (kind == "won")
            elif kind == "open":
                expected += row["amount"] * row["odds"] / 100
            elif kind == "unrated":
                row["odds"] = None
                expected += row["amount"] * 20 / 100
            elif kind == "unknown":
                row.update(random.choice([{"amount": None}, {"close_on": None}]))
            else:
                row["stage"] = random.choice([*OPEN, "won"])
                row["close_on"] = random.choice([day(first, -random.randint(1, 60)), day(last, random.randint(1, 60))])
        both = round(booked + round(expected, 2), 2)
        if verdict == "met":
            target = int(booked) if edge else int(booked * random.uniform(0.6, 0.97))
        elif verdict == "on track":
            target = int(both) if edge else random.randint(int(booked) + 1, int(both))
        else:
            target = int(both) + 1 if edge else int(both * random.uniform(1.1, 1.7))
        db["reps"][rep]["targets"] = {"quarter": target, "year": target * 4 + random.randrange(5_000)}
        return {"rep_id": rep, "first_day": first, "last_day": last}

    return drawn


def dry(random: Random, db: Database) -> dict[str, Any]:
    """A quarter that is short, without an open deal in it."""
    inputs = quarter("short")(random, db)
    for row in db["deals"].values():
        if row["stage"] in OPEN:
            row.update(random.choice([{"stage": "lost"}, {"close_on": None}, {"amount": None}]))
    return inputs


QUARTER_OUTLOOK = ApiTask(
    name="quarter_outlook",
    split="tune",
    world=DEALS,
    precise=(
        "Report on a sales representative's quarter, which the given first and last day belong to. Only deals that "
        "close within it count; those without a day or without an amount do not. `booked` is the sum of the amounts of "
        "the won deals. `expected` is the sum over the open deals, which are neither won nor lost, of the amount times "
        "the odds in percent, where odds that are not rated are 20 percent; round it to two decimals. The verdict is "
        "`met` if `booked` is at least the representative's target for the quarter, otherwise `on track` if `booked` "
        "and `expected` together are at least the target, otherwise `short`. Answer with an object of `booked`, "
        "`expected`, `verdict` and `push`: if the verdict is `short`, the id of the open deal with the largest amount "
        "among those that count (null if there is none), otherwise null."
    ),
    casual=(
        "how's this rep's quarter looking (first to last day, both included)? only deals with a close date in there "
        "and an amount. booked = total of the won ones; expected = open ones (not won, not lost), amount x odds %, no "
        "odds yet = 20%, 2 decimals. verdict: 'met' if booked reaches their quarterly target, 'on track' if booked + "
        "expected does, else 'short'. {booked, expected, verdict, push} - push is the id of the biggest of those open "
        "deals (by amount) when we're short (null if there are none), null otherwise"
    ),
    inputs={
        "rep_id": text("id of the representative"),
        "first_day": text("first day of the quarter, YYYY-MM-DD"),
        "last_day": text("last day of the quarter, YYYY-MM-DD"),
    },
    gold="""
        rep = get_rep(rep_id=rep_id)
        listed = list_rep_deals(rep_id=rep_id)
        booked = 0
        expected = 0
        largest = None
        for deal in listed["deals"]:
            if deal["close_on"] is None or deal["amount"] is None:
                continue
            if deal["close_on"] < first_day or deal["close_on"] > last_day:
                continue
            if deal["stage"] == "won":
                booked += deal["amount"]
            elif deal["stage"] != "lost":
                odds = 20 if deal["odds"] is None else deal["odds"]
                expected += deal["amount"] * odds / 100
                if largest is None or deal["amount"] > largest["amount"]:
                    largest = deal
        expected = round(expected, 2)
        push = None
        if booked >= rep["targets"]["quarter"]:
            verdict = "met"
        elif booked + expected >= rep["targets"]["quarter"]:
            verdict = "on track"
        else:
            verdict = "short"
            if largest is not None:
                push = largest["id"]
        return {"booked": booked, "expected": expected, "verdict": verdict, "push": push}
    """,
    arms={"met": quarter("met"), "on_track": quarter("on track"), "short": quarter("short"), "dry": dry},
    tests_only={
        "just_met": quarter("met", True),
        "just_on_track": quarter("on track", True),
        "just_short": quarter("short", True),
    },
)

# Conferences

TOPICS = ("Soil", "Rust", "Pricing", "Care", "Batteries", "Ethics", "Logistics", "Light", "Water", "Teams")
FORMATS = ("in practice", "for beginners", "after the crisis", "at scale")


def expo(random: Random) -> Database:
    """Two events, of which the first has registrations and sessions on two days."""
    start = day("2025-02-03", random.randrange(300))
    events = {
        id: {
            "id": id,
            "title": f"{random.choice(TOPICS)} Days",
            "venue": {"name": f"Hall {random.randint(1, 9)}", "capacity": random.randint(12, 40), "tables": 9},
            "starts_on": start,
        }
        for id in fresh_ids(random, "EV", 2, 4)
    }
    chosen = next(iter(events))
    registrations: dict[str, Any] = {}
    count = random.randint(6, 11)
    for id, name in zip(fresh_ids(random, "RG-", count), names(random, count), strict=True):
        party = random.randint(1, 6)
        registrations[id] = {
            "id": id,
            "event_id": chosen,
            "contact": {"name": name, "email": email_of(name)},
            "party": party,
            "children": random.randrange(party),
            "status": random.choice(["confirmed", "waitlisted", "cancelled"]),
        }
    speakers: dict[str, Any] = {}
    for id, name in zip(fresh_ids(random, "SP", 5, 4), names(random, 5), strict=True):
        speakers[id] = {"id": id, "name": name, "email": email_of(name), "agent": None}
    sessions: dict[str, Any] = {}
    for id, topic in zip(fresh_ids(random, "SE", 4, 4), random.sample(TOPICS, 4), strict=True):
        sessions[id] = {
            "id": id,
            "event_id": chosen,
            "title": f"{topic} {random.choice(FORMATS)}",
            "hall": random.choice(["Blue", "Red", "Attic"]),
            "day": random.choice([start, day(start, 1)]),
            "lineup": [
                {"speaker_id": speaker, "role": random.choice(["presenter", "presenter", "panelist", "moderator"])}
                for speaker in random.sample(sorted(speakers), random.randint(2, 3))
            ],
        }
    return {
        "events": events, "registrations": registrations, "speakers": speakers, "sessions": sessions, "uploads": {},
        "page_size": random.randint(3, 5),
    }  # fmt: skip


EXPO = World("expo", expo)


def waiting(kind: str) -> Sampler:
    """Draws the registrations of an event: `some`, `all` or `none` of those who wait fit, the first two
    of them exactly (`exact`), or `nobody` waits."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        rows = list(db["registrations"].values())
        for row in rows:
            row["status"] = random.choice(["confirmed", "confirmed", "cancelled"])
        if kind != "nobody":
            for row in random.sample(rows, random.randint(3, len(rows) - 2)):
                row["status"] = "waitlisted"
        waits = [row for row in rows if row["status"] == "waitlisted"]
        if kind == "some" and not any(one["party"] > two["party"] for one, two in pairwise(waits)):
            for row, low, high in ((waits[0], 3, 6), (waits[-1], 1, 2)):
                row["party"] = random.randint(low, high)
                row["children"] = random.randrange(row["party"])
        sizes = [row["party"] for row in waits]
        taken = sum(row["party"] for row in rows if row["status"] == "confirmed")
        free = {
            "some": lambda: random.choice([free for free in range(sum(sizes)) if late_party_fits(sizes, free)]),
            "all": lambda: sum(sizes) + random.randint(0, 6),
            "none": lambda: random.randint(-3, min(sizes) - 1),
            "exact": lambda: sizes[0] + sizes[1],
            "nobody": lambda: random.randint(0, 12),
        }[kind]()
        event = rows[0]["event_id"]
        db["events"][event]["venue"]["capacity"] = max(taken + free, 0)
        return {"event_id": event}

    return drawn


def late_party_fits(sizes: Sequence[int], free: int) -> bool:
    """Whether a party moves up after one that is too large."""
    skipped = False
    for size in sizes:
        if size > free:
            skipped = True
        elif skipped:
            return True
        else:
            free -= size
    return False


FILL_SEATS = ApiTask(
    name="fill_seats",
    split="tune",
    world=EXPO,
    precise=(
        "Give the free seats of an event to those who wait. The free seats are the capacity of the venue minus the "
        "people of all confirmed registrations on all pages; they may be below zero. Then go through the waitlisted "
        "registrations in the order in which they came. Confirm each one whose party is no larger than the seats that "
        "are still free, and take its people off the free seats; pass over a party that is too large and go on. Answer "
        "with an object of `moved_up`, the list of the names of the contacts that were confirmed, in this order, and "
        "`seats_left`, the free seats at the end."
    ),
    casual=(
        "fill up this event from the waitlist. free seats = venue capacity minus everybody in confirmed registrations "
        "(check all pages, could be negative). then waitlisted ones in the order they came in: confirm if their "
        "whole party still fits, otherwise skip them and try the next. {moved_up: [contact names], seats_left: "
        "whatever is still free afterwards}"
    ),
    inputs={"event_id": text("id of the event")},
    gold="""
        event = get_conference(event_id=event_id)
        free = event["venue"]["capacity"]
        queue = []
        cursor = None
        while True:
            page = list_registrations(event_id=event_id, cursor=cursor)
            for row in page["registrations"]:
                if row["status"] == "confirmed":
                    free -= row["party"]
                elif row["status"] == "waitlisted":
                    queue.append(row)
            cursor = page["next_cursor"]
            if cursor is None:
                break
        moved = []
        for entry in queue:
            if entry["party"] <= free:
                confirm_registration(registration_id=entry["id"])
                free -= entry["party"]
                moved.append(entry["contact"]["name"])
        return {"moved_up": moved, "seats_left": free}
    """,
    arms={"some": waiting("some"), "all": waiting("all"), "full": waiting("none"), "nobody": waiting("nobody")},
    tests_only={"exact": waiting("exact"), "mixed": waiting("some")},
)


def slides(share: float, agents: float = 0.4, least: int = 1) -> Sampler:
    """Draws a day of an event; the share of presenters with approved slides, and of speakers who have an agent."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        sessions = list(db["sessions"].values())
        on = random.choice(sorted({session["day"] for session in sessions}))
        for session in random.sample(sessions, 2):
            session["day"] = on
        for session in sessions:
            if session["day"] == on and random.random() < 0.8:
                session["lineup"][0]["role"] = session["lineup"][-1]["role"] = "presenter"
        ids = iter(fresh_ids(random, "UP", 40, 4))
        missing = 0

        def upload(session_id: str, speaker_id: str, review: str) -> None:
            id = next(ids)
            db["uploads"][id] = {"id": id, "session_id": session_id, "speaker_id": speaker_id, "review": review}

        for speaker in db["speakers"].values():
            agent = person(random)
            speaker["agent"] = {"name": agent, "email": email_of(agent)} if random.random() < agents else None
        for session in sessions:
            for part in session["lineup"]:
                presents = part["role"] == "presenter"
                if random.random() < 0.5:
                    upload(session["id"], part["speaker_id"], random.choice(["draft", "rejected"]))
                if random.random() < (share if presents and session["day"] == on else 0.3):
                    upload(session["id"], part["speaker_id"], "approved")
                elif presents and session["day"] == on:
                    missing += 1
        if missing < least:
            raise ValueError("too few slides are missing")
        return {"event_id": sessions[0]["event_id"], "day": on}

    return drawn


MISSING_SLIDES = ApiTask(
    name="missing_slides",
    split="tune",
    world=EXPO,
    precise=(
        "Find out whom to chase for slides of an event's sessions on the given day. For each session of that day, in "
        "the order of the sessions, look at each person of the lineup with the role `presenter`, in the order of the "
        "lineup. Slides are missing unless that speaker has an approved upload for that very session; drafts, rejected "
        "uploads and slides for other sessions do not help. For all that are missing answer with a list of objects of "
        "`session` (the title), `speaker` (the name) and `write_to`: the e-mail address of the speaker's agent, or the "
        "speaker's own without an agent. The list is empty if nothing is missing."
    ),
    casual=(
        "who do we still need slides from for that day of the event? every presenter (not panelists/moderators) in "
        "every session on the day who has no approved upload for exactly that session - drafts or rejected ones don't "
        "count. list of {session: title, speaker: name, write_to: agent's email if they have an agent, else their "
        "own}, in session order then lineup order; empty list if everything's there"
    ),
    inputs={"event_id": text("id of the event"), "day": text("the day, as YYYY-MM-DD")},
    gold="""
        programme = list_sessions(event_id=event_id)
        slides = list_slide_uploads(event_id=event_id)
        missing = []
        for session in programme["sessions"]:
            if session["day"] == day:
                for part in session["lineup"]:
                    if part["role"] == "presenter":
                        approved = [
                            upload for upload in slides["uploads"]
                            if upload["session_id"] == session["id"] and upload["speaker_id"] == part["speaker_id"]
                            and upload["review"] == "approved"
                        ]
                        if len(approved) == 0:
                            speaker = get_speaker(speaker_id=part["speaker_id"])
                            address = speaker["email"]
                            if speaker["agent"] is not None:
                                address = speaker["agent"]["email"]
                            missing.append(
                                {"session": session["title"], "speaker": speaker["name"], "write_to": address}
                            )
        return missing
    """,
    arms={
        "several": slides(0.3, least=2),
        "agents": slides(0.4, agents=0.9),
        "own": slides(0.5, agents=0.1),
        "complete": slides(1, least=0),
    },
)

TASKS: dict[str, ApiTask] = {
    "lookups": INVITE_CANDIDATE,
    "branches": GRANT_DISCOUNT,
    "filters": OPEN_LINKS,
    "totals": QUARTER_OUTLOOK,
    "paging": FILL_SEATS,
    "polling": TRANSCRIBE,
    "early_exit": BOOK_PANELIST,
    "joins": MISSING_SLIDES,
}
"""By family."""
