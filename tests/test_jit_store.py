"""The store of guarded workflows: concurrent requests, the log of events, redaction, clean-up, and `flowmind jit`."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from jit_shop import NOW, Shop, cents

import flowmind
from flowmind import InputError, tool
from flowmind.cli.main import main
from flowmind.jit import Handle, Store

OPTIONS: dict[str, Any] = {"mode": "live", "derive": "now", "audit": 0}


def costing(shop: Shop, store: Any, **options: Any) -> Handle:
    settings: dict[str, Any] = {"promotion": NOW, **OPTIONS, **options}

    @flowmind.jit(shop.tools, query="Tell the price of an item.", store=store, **settings)
    def cost(sku: str) -> int:
        return shop.cost(sku)

    return cost


def giving_back(shop: Shop, store: Any, **options: Any) -> Handle:
    settings: dict[str, Any] = {"promotion": NOW, **OPTIONS, **options}

    @flowmind.jit(shop.tools, query="Refund an item.", store=store, **settings)
    def give_back(sku: str) -> dict[str, Any]:
        return shop.give_back(sku)

    return give_back


def sku_of(number: int) -> str:
    return f"a{number % 60}"


def work(path: Path, first: int, count: int) -> None:
    """Another process that works on the same store."""
    shop = Shop()
    cost = costing(shop, path)
    give_back = giving_back(shop, path)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(cost, map(sku_of, range(first, first + count))))
        backs = list(pool.map(give_back, map(sku_of, range(first, first + count // 4))))
    assert answers == [cents(number % 60) for number in range(first, first + count)]
    assert len(backs) == count // 4 and len(shop.writes) == count // 4


def test_threads_tasks_and_processes_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "flows.db"
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=work, args=(path, 100 * number, 64)) for number in range(2)]
    for other in others:
        other.start()
    shop = Shop()
    cost = costing(shop, path)

    @flowmind.jit(shop.tools, query="Tell a price.", store=path, name="acost", promotion=NOW, **OPTIONS)
    async def acost(sku: str) -> int:
        return await asyncio.to_thread(shop.cost, sku)

    async def every() -> list[int]:
        return await asyncio.gather(*(acost(f"a{number % 60}") for number in range(64)))

    with ThreadPoolExecutor(64) as pool:
        assert list(pool.map(cost, map(sku_of, range(64)))) == [cents(number % 60) for number in range(64)]
    assert asyncio.run(every()) == [cents(number % 60) for number in range(64)]
    for other in others:
        other.join(300)
        assert other.exitcode == 0
    store = Store(path)
    assert len(store.runs("cost", most=10_000)) == 3 * 64
    assert len(store.runs("acost", most=10_000)) == 64
    assert len(store.runs("give_back", most=10_000)) == 2 * 16
    assert store.verify_events() == len(list(store.events())) > 3
    for handle in ("cost", "acost", "give_back"):
        assert sum(record.state == "live" for record in store.versions(handle)) == 1
    store.close()


def test_a_promotion_in_another_process_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "flows.db"
    shop = Shop()
    give_back = giving_back(shop, path, promotion=flowmind.Promotion(runs=0))
    for number in range(3):
        give_back(f"a{number}")
    assert give_back.version is not None
    assert main(["jit", "promote", give_back.version.id[:6], "--by", "Ada", "--store", str(path)]) == 0
    give_back("a4")
    assert give_back.store.runs()[0].kind == "hit"
    assert main(["jit", "retire", give_back.version.id, "--store", str(path)]) == 0
    give_back("a5")
    assert give_back.store.runs()[0].kind == "agent"


def test_a_store_that_is_opened_again_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "flows.db"
    first = costing(Shop(), path)
    for number in range(3):
        first(f"a{number}")
    first.store.close()
    shop = Shop()
    again = costing(shop, path)
    assert again("a7") == cents(7)
    assert shop.asked == 0


# Events


def test_events_cannot_be_changed_unnoticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "flows.db"
    cost = costing(Shop(), path)
    for number in range(3):
        cost(f"a{number}")
    cost.store.close()
    assert main(["jit", "ls", "--store", str(path)]) == 0
    assert "3 events; their hashes are intact" in capsys.readouterr().out
    database = sqlite3.connect(path)
    for statement in ("delete from events where id = 2", "update events set kind = 'x' where id = 2"):
        with pytest.raises(sqlite3.IntegrityError):
            database.execute(statement)
        database.rollback()
    for statement, broken in (
        ("update events set detail = '{}' where id = 2", 2),
        ("delete from events where id = 2", 2),
        ("update events set hash = hash || 'x' where id = 3", 3),
    ):
        copy = tmp_path / "copy.db"
        copy.unlink(missing_ok=True)
        with sqlite3.connect(copy) as other:
            database.backup(other)
            other.execute("drop trigger events_are_kept")
            other.execute("drop trigger events_stay")
            other.execute(statement)
        other.close()
        assert main(["jit", "ls", "--store", str(copy)]) == 2
        assert f"event {broken} was changed, removed or inserted" in capsys.readouterr().err
    database.close()


# Redaction and clean-up


def test_secrets_are_not_stored_and_equal_ones_stay_equal(tmp_path: Path) -> None:
    path = tmp_path / "flows.db"
    keys = {f"u{number}": f"sk-{number}aaaabbbbccccdddd{number}" for number in range(5)}

    @tool(effect="read")
    def login(user: str) -> dict[str, str]:
        """Log a user in."""
        return {"key": keys[user], "mail": f"{user}@example.org"}

    @tool(effect="read")
    def balance(key: str) -> int:
        """Find the balance of a key."""
        return len(key)

    enter, look = flowmind.recorded([login, balance])

    @flowmind.jit(
        [enter, look], query="Tell the balance.", store=path, redact=[r"\S+@example\.org"], promotion=NOW, **OPTIONS
    )
    def tell(user: str) -> int:
        return look(enter(user)["key"])

    assert [tell(f"u{number}") for number in range(5)] == [len(keys[f"u{number}"]) for number in range(5)]
    assert [run.kind for run in reversed(tell.store.runs())] == ["agent", "agent", "hit", "hit", "hit"]
    tell.store.close()
    data = b"".join(file.read_bytes() for file in tmp_path.glob("flows.db*") if file.is_file())
    assert b"aaaabbbb" not in data and b"@example.org" not in data and b"[redacted " in data


def test_old_runs_are_deleted_and_events_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "flows.db"
    cost = costing(Shop(), path)
    for number in range(5):
        cost(f"a{number}")
    cost.store.close()
    with sqlite3.connect(path) as database:
        database.execute("update runs set at = at - 10 * 86400 where kind = 'hit'")
    database.close()
    assert main(["jit", "gc", "--store", str(path), "--keep-days", "7"]) == 0
    assert "3 runs deleted" in capsys.readouterr().out
    again = costing(Shop(), path, keep_days=7)
    assert len(again.store.runs()) == 2
    assert again("a9") == cents(9)
    assert again.store.verify_events() == 4


# The command


def test_the_command_shows_what_the_store_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "flows.db"
    shop = Shop()
    shop.items["none"] = {"count": 0, "warehouse": "w99", "cents": 120}

    @flowmind.jit(shop.tools, query="Ship an item.", store=path, promotion=NOW, **OPTIONS)
    def deliver(sku: str) -> dict[str, Any]:
        return shop.deliver(sku)

    for sku in ("a0", "a1", "a2", "none", "a3"):
        deliver(sku)
    first, second = deliver.versions
    runs = deliver.store.runs()
    deliver.store.close()

    def said(*arguments: str, code: int = 0) -> str:
        assert main(["jit", *arguments, "--store", str(path)]) == code
        return capsys.readouterr().out

    listed = said("ls")
    assert first.id in listed and second.id in listed and "by the tests" in listed and "took its place" in listed
    assert {row["version"] for row in json.loads(said("ls", "--json"))["versions"]} == {first.id, second.id}
    assert "ship" in said("show", second.id[:5]) and "took its place" in said("show", first.id)
    assert "different" in said("diff", first.id, second.id, code=1)
    assert json.loads(said("diff", first.id, first.id, "--json"))["result"] == "same"
    assert "hits" in said("stats") and "unread 1" in said("stats", "deliver")
    assert json.loads(said("stats", "--json"))[0]["handle"] == "deliver"
    assert len(said("runs", "deliver", "--limit", "3").splitlines()) == 4
    assert len(json.loads(said("runs", "--json"))) == 5
    assert "guard unread" in said("explain", runs[1].id)
    assert json.loads(said("export", second.id))["schema"] == "flowmind/workflow@1"
    said("export", second.id, "--out", str(tmp_path / "w.json"))
    assert main(["check", str(tmp_path / "w.json")]) in (0, 1)
    capsys.readouterr()
    assert f"version {first.id} of deliver is live" in said("promote", first.id, "--by", "Ada")
    assert "is retired" in said("retire", first.id, "--reason", "it is wrong")
    assert "it is wrong" in said("ls")
    assert f"version {second.id} of deliver is shadow" in said("derive")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ls", "--store", "none.db"], "none.db: no such file"),
        (["ls", "--store", "text.db"], "the store cannot be opened: file is not a database"),
        (["ls", "--store", "other.db"], "the file is not a store of version 1"),
        (["ls", "nobody"], "there is no handle 'nobody'"),
        (["show"], "jit show: give VERSION, not 0 names"),
        (["show", "zzz"], "there is no version 'zzz'"),
        (["diff", "a"], "jit diff: give VERSION VERSION"),
        (["promote", "zzz"], "say who answers for the version, with --by NAME"),
        (["promote", "zzz", "--by", "Ada"], "there is no version 'zzz'"),
        (["explain", "zzz"], "there is no run 'zzz'"),
        (["runs", "--limit", "0"], "--limit: 0 is not a number of runs"),
        (["gc"], "say how many days runs are kept"),
        (["gc", "--keep-days", "-1"], "say how many days runs are kept"),
        (["export", "zzz", "--out", "."], "this is a folder"),
        (["stats", "nobody"], "there is no handle 'nobody'"),
        (["derive", "nobody"], "there is no handle 'nobody'"),
    ],
)
def test_bad_arguments_are_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    costing(Shop(), "flows.db")("a0")
    Path("text.db").write_text("no database at all, but a text of some length, which sqlite refuses\n" * 20)
    with sqlite3.connect("other.db") as other:
        other.execute("create table t (x)")
    other.close()
    assert main(["jit", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("x" * 5_000)
    with pytest.raises(InputError, match="the store cannot be opened"):
        costing(Shop(), tmp_path / "text.db")
    with pytest.raises(InputError):
        costing(Shop(), tmp_path)
