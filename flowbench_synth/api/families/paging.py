"""Paging: records come in pages, by a cursor, by a number or from an offset."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from flowbench_synth.api.blueprint import ApiTask, Database, Family, Sampler, World, integer, number, text
from flowbench_synth.api.drawing import cents, company, day, fresh_ids, person

# An insurer


def insurer(random: Random) -> Database:
    """Three desks with claims on one, two and three pages. Due days are an even number of days from today."""
    today = day("2025-02-03", random.randrange(300))
    sizes = dict(zip(fresh_ids(random, "DK-", 3, 4), (random.randint(1, 3), random.randint(5, 6), 9), strict=True))
    claims: dict[str, Any] = {}
    ids = fresh_ids(random, "CLM-", sum(sizes.values()))
    for desk_id, size in sizes.items():
        ages = random.sample(range(1, 40), size)
        for age in ages:
            id = ids.pop()
            due = random.choice([None, *[day(today, 2 * random.randint(-8, 8)) for _ in range(4)]])
            claims[id] = {
                "id": id,
                "desk_id": desk_id,
                "status": random.choice(["open", "waiting", "waiting", "closed"]),
                "claimant": {"name": person(random), "company": random.choice([None, None, company(random)])},
                "adjuster": random.choice([None, person(random)]),
                "updated_on": day(today, -2 * age),
                "due_on": due,
            }
    return {"today": today, "desks": {id: {"size": size} for id, size in sizes.items()}, "claims": claims,
            "closings": {}}  # fmt: skip


INSURER = World("claims", insurer)


def desk_of(db: Database, low: int, high: int) -> str:
    """The desk with this many claims."""
    return next(id for id in sorted(db["desks"]) if low <= db["desks"][id]["size"] <= high)


def claims_of(db: Database, desk_id: str) -> list[dict[str, Any]]:
    """The claims of a desk, in the order in which they are listed."""
    rows = [db["claims"][id] for id in sorted(db["claims"]) if db["claims"][id]["desk_id"] == desk_id]
    return sorted(rows, key=lambda row: row["updated_on"], reverse=True)


def with_day(low: int, high: int, shift: int = 1, **fields: Any) -> Sampler:
    """Draws a desk with this many claims, and a day that is a due day exactly if `shift` is even."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        desk_id = desk_of(db, low, high)
        rows = claims_of(db, desk_id)
        for row in rows:
            row.update(fields)
        base = random.choice([row["due_on"] for row in rows if row["due_on"]] or [db["today"]])
        return {"desk_id": desk_id, "day": day(base, shift)}

    return drawn


def on_the_due_day(random: Random, db: Database) -> dict[str, Any]:
    desk_id = desk_of(db, 9, 9)
    row = random.choice(claims_of(db, desk_id))
    row.update(status="open", due_on=row["due_on"] or db["today"])
    return {"desk_id": desk_id, "day": row["due_on"]}


def four_claims(random: Random, db: Database) -> dict[str, Any]:
    """A desk whose only page is full."""
    desk_id = desk_of(db, 5, 7)
    for row in claims_of(db, desk_id)[4:]:
        del db["claims"][row["id"]]
    return {"desk_id": desk_id, "day": day(db["today"], 1)}


CLAIMS_PAST_DUE = ApiTask(
    name="claims_past_due",
    split="tune",
    world=INSURER,
    precise=(
        "List the claims of the desk, page after page until there is no next cursor. Answer with the list of the ids "
        "of all claims that are not closed and whose due day is before `day`, in the order in which they are listed. "
        "Tickets without a due day are left out."
    ),
    casual="which claims at this desk were due before `day` and still aren't closed? just the ids, all pages please",
    inputs={"desk_id": text("id of the desk"), "day": text("a day, YYYY-MM-DD")},
    gold="""
        ids = []
        cursor = None
        while True:
            page = list_claims(desk_id=desk_id, cursor=cursor)
            for claim in page["claims"]:
                if claim["status"] != "closed" and claim["due_on"] is not None and claim["due_on"] < day:
                    ids.append(claim["id"])
            cursor = page["next_cursor"]
            if cursor is None:
                break
        return ids
    """,
    arms={"three pages": with_day(9, 9), "one page": with_day(1, 3), "two pages": with_day(5, 7, 7)},
    tests_only={
        "on the due day": on_the_due_day, "a full page": four_claims, "none is due": with_day(5, 7, due_on=None),
    },
)  # fmt: skip


def stale(low: int, high: int, statuses: tuple[str, ...], exact: bool = False) -> Sampler:
    """Draws a desk with this many claims in these states, and the day before which they count as stale."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        desk_id = desk_of(db, low, high)
        rows = claims_of(db, desk_id)
        for place, row in enumerate(rows):
            row["status"] = statuses[place % len(statuses)]
        middle = rows[len(rows) // 2]
        if exact:
            middle["status"] = "waiting"
        return {"desk_id": desk_id, "before": day(middle["updated_on"], 0 if exact else 1)}

    return drawn


CLOSE_STALE_CLAIMS = ApiTask(
    name="close_stale_claims",
    split="report",
    world=INSURER,
    precise=(
        "Go through all pages of the desk. Close each claim that has the status `waiting` and was last updated before "
        "`before`, with the reason `No reply since <updated_on>.`, as you come to it. Answer with the number of claims "
        "that you closed."
    ),
    casual=(
        "pls clean up this desk: everything that's still 'waiting' and wasn't touched since before the given date gets "
        "closed, reason 'No reply since <updated_on>.' how many did you close?"
    ),
    inputs={"desk_id": text("id of the desk"), "before": text("a day, YYYY-MM-DD")},
    gold="""
        closed = 0
        page = list_claims(desk_id=desk_id, cursor=None)
        while True:
            for claim in page["claims"]:
                if claim["status"] == "waiting" and claim["updated_on"] < before:
                    close_claim(claim_id=claim["id"], reason=f"No reply since {claim['updated_on']}.")
                    closed += 1
            if page["next_cursor"] is None:
                return closed
            page = list_claims(desk_id=desk_id, cursor=page["next_cursor"])
    """,
    arms={
        "some of three pages": stale(9, 9, ("waiting", "open", "waiting", "waiting", "closed")),
        "none": stale(1, 3, ("open", "closed")),
        "all old ones of two pages": stale(5, 7, ("waiting",)),
    },
    tests_only={"on the day": stale(9, 9, ("waiting", "closed"), exact=True)},
)


def since(low: int, high: int, *places: int, exact: bool = False) -> Sampler:
    """Draws a desk and the day after the update of the claim at one of these places, or that day itself."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        desk_id = desk_of(db, low, high)
        rows = claims_of(db, desk_id)
        row = rows[min(random.choice(places), len(rows) - 1)]
        return {"desk_id": desk_id, "since": day(row["updated_on"], 0 if exact else 1)}

    return drawn


def all_recent(random: Random, db: Database) -> dict[str, Any]:
    return {"desk_id": desk_of(db, 9, 9), "since": day(db["today"], -random.randint(90, 200))}


RECENT_ACTIVITY = ApiTask(
    name="recent_activity",
    split="tune",
    world=INSURER,
    precise=(
        "Count the claims of the desk that were updated on `since` or later. The list has the last updated first: read "
        "page after page, and read no further page when the last claim of a page was updated before `since` or there "
        "is no next cursor. Answer with an object: `claims` is the count, `pages` the number of pages that you read."
    ),
    casual=(
        "how many claims here were updated since (incl.) that day? they come newest first so stop paging once the last "
        "one on a page is older. tell me claims + pages you had to read"
    ),
    inputs={"desk_id": text("id of the desk"), "since": text("a day, YYYY-MM-DD")},
    gold="""
        claims = 0
        pages = 0
        cursor = None
        while True:
            page = list_claims(desk_id=desk_id, cursor=cursor)
            pages += 1
            claims += len([claim for claim in page["claims"] if claim["updated_on"] >= since])
            cursor = page["next_cursor"]
            if cursor is None or page["claims"][-1]["updated_on"] < since:
                return {"claims": claims, "pages": pages}
    """,
    arms={
        "first page": since(9, 9, 1, 2, 3), "second page": since(9, 9, 5, 6, 7), "to the end": all_recent,
        "a short desk": since(1, 3, 0, 1, 2),
    },
    tests_only={
        "on the day": since(9, 9, 1, exact=True), "last of a page": since(9, 9, 3, exact=True),
        "first of a page": since(9, 9, 4), "only the last of a page": since(9, 9, 3),
    },
)  # fmt: skip


def at_most(low: int, high: int, *pages: int) -> Sampler:
    def drawn(random: Random, db: Database) -> dict[str, Any]:
        return {"desk_id": desk_of(db, low, high), "max_pages": random.choice(pages)}

    return drawn


FIRST_CLAIMANTS = ApiTask(
    name="first_claimants",
    split="report",
    world=INSURER,
    precise=(
        "Read the pages of the desk, but at most `max_pages` of them. Collect the names of the claimants of the claims "
        "that have no adjuster, in the order of the list. Answer with an object: `names`, and `complete`, which is "
        "true if there was no further page."
    ),
    casual=(
        "who's waiting at this desk without anyone assigned? names only. don't read more than max_pages pages, and "
        "tell me in `complete` whether that was everything (answer with names + complete)"
    ),
    inputs={"desk_id": text("id of the desk"), "max_pages": integer("the most pages to read, at least 1")},
    gold="""
        names = []
        cursor = None
        read = 0
        while True:
            page = list_claims(desk_id=desk_id, cursor=cursor)
            read += 1
            names += [claim["claimant"]["name"] for claim in page["claims"] if claim["adjuster"] is None]
            cursor = page["next_cursor"]
            if cursor is None or read >= max_pages:
                break
        return {"names": names, "complete": cursor is None}
    """,
    arms={
        "cut off": at_most(9, 9, 1, 2), "just enough": at_most(9, 9, 3), "more than enough": at_most(5, 7, 4, 5, 9),
        "one page": at_most(1, 3, 1, 2, 6),
    },
)  # fmt: skip


# An archive


def archive(random: Random) -> Database:
    """Three folders with documents on one to four pages."""
    today = day("2025-05-01", random.randrange(300))
    owners = {id: {"id": id, "name": person(random)} for id in fresh_ids(random, "U", 3, 4)}
    sizes = (random.randint(1, 3), random.randint(4, 6), random.randint(7, 10))
    folders: dict[str, Any] = {}
    documents: dict[str, Any] = {}
    ids = fresh_ids(random, "DOC-", sum(sizes))
    for id, size in zip(fresh_ids(random, "FLD-", 3, 4), sizes, strict=True):
        days = random.choice([None, 30, 90, 365])
        name = random.choice(["Contracts", "Plans", "Letters", "Minutes", "Drawings"])
        folders[id] = {
            "id": id, "name": name, "quota_kb": random.randrange(12_000, 30_000), "size": size,
            "retention": {"days": days, "contact": person(random)},
        }  # fmt: skip
        for _ in range(size):
            document_id = ids.pop()
            documents[document_id] = {
                "id": document_id,
                "folder_id": id,
                "title": f"{name[:-1]} {random.choice('ABCDEFGH')}{random.randint(1, 99)}",
                "size_kb": random.randrange(20, 2_000),
                "owner": owners[random.choice(sorted(owners))],
                "archived_on": random.choice([None, None, day(today, -random.randint(1, 300))]),
            }
    return {"today": today, "folders": folders, "documents": documents}


ARCHIVE = World("archive", archive)


def documents_of(db: Database, folder_id: str) -> list[dict[str, Any]]:
    """The documents of a folder, in the order in which they are listed."""
    return [db["documents"][id] for id in sorted(db["documents"]) if db["documents"][id]["folder_id"] == folder_id]


def folder(low: int, high: int, change: Callable[[list[dict[str, Any]]], None] | None = None) -> Sampler:
    """Draws a folder with this many documents, which are changed."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        folder_id = next(id for id in sorted(db["folders"]) if low <= db["folders"][id]["size"] <= high)
        if change is not None:
            change(documents_of(db, folder_id))
        return {"folder_id": folder_id}

    return drawn


def all_archived(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        row["archived_on"] = "2024-12-31"


def last_in_use(rows: list[dict[str, Any]]) -> None:
    rows[-1]["archived_on"] = None


FOLDER_SIZE = ApiTask(
    name="folder_size",
    split="tune",
    world=ARCHIVE,
    precise=(
        "Read all pages of the folder, from page 1 to the last one. Answer with an object: `documents`, the number of "
        "documents that are not archived, and `free_kb`, the quota of the folder minus the sum of their sizes."
    ),
    casual=(
        "how many docs in this folder are still in use (not archived) and how much of the quota is free after those, "
        "in kb?"
    ),
    inputs={"folder_id": text("id of the folder")},
    gold="""
        folder = get_folder(folder_id=folder_id)
        documents = 0
        used = 0
        number = 0
        while True:
            number += 1
            page = list_documents(folder_id=folder_id, page=number)
            in_use = [document for document in page["documents"] if document["archived_on"] is None]
            documents += len(in_use)
            used += sum(document["size_kb"] for document in in_use)
            if number == page["pages"]:
                break
        return {"documents": documents, "free_kb": folder["quota_kb"] - used}
    """,
    arms={"many pages": folder(7, 10), "one page": folder(1, 3), "two pages": folder(4, 6)},
    tests_only={"all archived": folder(4, 6, all_archived), "the last one counts": folder(7, 10, last_in_use)},
)


def owned(low: int, high: int, kind: str) -> Sampler:
    """Draws a folder and an owner: of some documents, of archived ones alone, or of none."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        inputs = folder(low, high)(random, db)
        rows = documents_of(db, inputs["folder_id"])
        owner = random.choice(rows)["owner"]["id"]
        mine = [row for row in rows if row["owner"]["id"] == owner]
        if kind == "none":
            owner = f"U{random.randrange(1_000, 9_999)}"
            while any(row["owner"]["id"] == owner for row in rows):
                owner = f"U{random.randrange(1_000, 9_999)}"
        for row in mine:
            row["archived_on"] = "2025-01-15" if kind == "archived" else None
        if kind == "alike":
            rows[0]["owner"] = rows[-1]["owner"] = mine[0]["owner"]
            rows[2]["owner"] = mine[0]["owner"]
            for row in (rows[0], rows[2], rows[-1]):
                row.update(size_kb=2_500, archived_on=None)
        if kind == "last":
            rows[-1].update(owner=mine[0]["owner"], size_kb=2_400, archived_on=None)
        return {**inputs, "owner_id": owner}

    return drawn


LARGEST_OF_OWNER = ApiTask(
    name="largest_of_owner",
    split="report",
    world=ARCHIVE,
    precise=(
        "Among all documents of the folder, on all pages, find the largest one that belongs to the owner and is not "
        "archived; of several equally large ones the first. Answer with an object of its `id` and `title`, or with "
        "null if there is none."
    ),
    casual=(
        "whats the biggest doc of this owner in the folder? check every page, ignore archived stuff, first one wins if "
        "equal. id and title, or null if he has nothing there"
    ),
    inputs={"folder_id": text("id of the folder"), "owner_id": text("id of the owner")},
    gold="""
        largest = None
        number = 1
        while True:
            page = list_documents(folder_id=folder_id, page=number)
            for document in page["documents"]:
                if document["owner"]["id"] == owner_id and document["archived_on"] is None:
                    if largest is None or document["size_kb"] > largest["size_kb"]:
                        largest = document
            if number >= page["pages"]:
                break
            number += 1
        if largest is None:
            return None
        return {"id": largest["id"], "title": largest["title"]}
    """,
    arms={
        "many pages": owned(7, 10, "some"), "none": owned(4, 6, "none"), "one page": owned(1, 3, "some"),
        "archived": owned(4, 6, "archived"), "on the last page": owned(7, 10, "last"),
    },
    tests_only={"equally large": owned(7, 10, "alike")},
)  # fmt: skip


# A ledger


def ledger(random: Random) -> Database:
    """Two accounts, with entries on one and on several pages of five."""
    start = day("2025-01-01", random.randrange(300))
    entries: dict[str, Any] = {}
    accounts = dict(zip(fresh_ids(random, "AC-", 2), (random.randint(2, 4), random.randint(7, 13)), strict=True))
    ids = fresh_ids(random, "E", sum(accounts.values()))
    names = [company(random) for _ in range(4)]
    for account_id, size in accounts.items():
        for _ in range(size):
            id = ids.pop()
            entries[id] = {
                "id": id,
                "account_id": account_id,
                "booked_on": day(start, random.randrange(40)),
                "amount": cents(random, 1, 90),
                "kind": random.choice(["fee", "fee", "payment", "interest"]),
                "status": random.choice(["booked", "pending"]),
                "counterparty": {"name": random.choice(names)},
            }
    return {"accounts": {id: {"size": size} for id, size in accounts.items()}, "entries": entries,
            "refund_number": random.randrange(1_000, 9_000), "refunds": {}}  # fmt: skip


LEDGER = World("ledger", ledger)


def account(low: int, high: int, kind: str = "", status: str = "") -> Sampler:
    """Draws an account with this many entries; all of a kind or in a state if that is given."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        account_id = next(id for id in sorted(db["accounts"]) if low <= db["accounts"][id]["size"] <= high)
        for row in db["entries"].values():
            if row["account_id"] == account_id:
                row.update({"kind": kind} if kind else {}, **({"status": status} if status else {}))
        return {"account_id": account_id}

    return drawn


def fees(low: int, high: int, kind: str = "", exact: bool = False) -> Sampler:
    """Draws an account and the amount from which fees are refunded; the amount of a booked fee if `exact`."""

    def drawn(random: Random, db: Database) -> dict[str, Any]:
        inputs = account(low, high, kind)(random, db)
        rows = [row for _, row in sorted(db["entries"].items()) if row["account_id"] == inputs["account_id"]]
        if not kind:
            rows[0].update(kind="fee", status="booked", amount=cents(random, 60, 90))
            rows[-1].update(kind="fee", status="booked", amount=cents(random, 40, 90))
        least = random.choice([row["amount"] for row in rows[:1] if exact] or [random.randrange(5, 40)])
        return {**inputs, "least": least}

    return drawn


REFUND_FEES = ApiTask(
    name="refund_fees",
    split="tune",
    world=LEDGER,
    precise=(
        "List all entries of the account, five at a time from offset 0, as long as there are more. Take the entries of "
        "kind `fee` with the status `booked` and an amount of at least `least`. If there are any, create one refund "
        "with their ids, in the order of the list, and the sum of their amounts rounded to 2 decimals, and answer with "
        "the refund's id; otherwise answer with null."
    ),
    casual=(
        "refund all booked fees of at least `least` on this account, in one single refund (amount to 2 decimals, "
        "entries listed oldest first, 5 per call is the max). refund id please, or null if there was nothing to refund"
    ),
    inputs={"account_id": text("id of the account"), "least": number("the smallest amount that is refunded")},
    gold="""
        found = []
        offset = 0
        more = True
        while more:
            page = list_entries(account_id=account_id, offset=offset, limit=5)
            for entry in page["entries"]:
                if entry["kind"] == "fee" and entry["status"] == "booked" and entry["amount"] >= least:
                    found.append(entry)
            more = page["has_more"]
            offset += 5
        if len(found) == 0:
            return None
        ids = [entry["id"] for entry in found]
        amount = round(sum(entry["amount"] for entry in found), 2)
        refund = create_refund(account_id=account_id, entry_ids=ids, amount=amount)
        return refund["refund_id"]
    """,
    arms={"several pages": fees(7, 13), "nothing": fees(7, 13, "payment"), "one page": fees(2, 4)},
    tests_only={"exactly the least": fees(7, 13, exact=True)},
)


PENDING_COUNTERPARTIES = ApiTask(
    name="pending_counterparties",
    split="report",
    world=LEDGER,
    precise=(
        "List all entries of the account, four in a call, until there are no more. Answer with an object: `names` has "
        "the names of the counterparties of the pending entries, each name once, in the order in which it comes up "
        "first; `entries` is the number of pending entries."
    ),
    casual=(
        "who do we still have pending entries with on this account? each company once, in order, plus how many entries "
        "that is in total. fetch them 4 at a time"
    ),
    inputs={"account_id": text("id of the account")},
    gold="""
        names = []
        pending = 0
        offset = 0
        while True:
            page = list_entries(account_id=account_id, offset=offset, limit=4)
            for entry in page["entries"]:
                name = entry["counterparty"]["name"]
                if entry["status"] == "pending":
                    pending += 1
                    if name not in names:
                        names.append(name)
            if not page["has_more"]:
                return {"names": names, "entries": pending}
            offset += 4
    """,
    arms={
        "several pages": account(7, 13), "all pending": account(7, 13, status="pending"), "one page": account(2, 4),
    },
    tests_only={"none pending": account(7, 13, status="booked")},
)  # fmt: skip

FAMILY = Family(
    "paging",
    "lists that come in pages",
    (
        CLAIMS_PAST_DUE, CLOSE_STALE_CLAIMS, RECENT_ACTIVITY, FIRST_CLAIMANTS, FOLDER_SIZE, LARGEST_OF_OWNER,
        REFUND_FEES, PENDING_COUNTERPARTIES,
    ),
)  # fmt: skip
