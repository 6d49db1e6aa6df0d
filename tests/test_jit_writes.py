"""No write is repeated: after faults, after kills, by fallbacks, and by agents that go on."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import forked
import pytest
from jit_clerk import handle_of
from jit_shop import NOW, Shop, cents

import flowmind
from flowmind import Happened, Stopped, tool
from flowmind.jit import Handle
from tools_registry.specs.spec import ToolCall, ToolSpec


def giving_back(shop: Shop, **options: Any) -> Handle:
    settings: dict[str, Any] = {"mode": "live", "derive": "now", "promotion": NOW, "audit": 0, **options}

    @flowmind.jit(shop.tools, query="Refund an item.", **settings)
    def give_back(sku: str) -> dict[str, Any]:
        return shop.give_back(sku)

    for number in range(3):
        give_back(f"a{number}")
    assert give_back.store.runs()[0].kind == "hit"
    return give_back


def repeated(writes: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [write for write, count in Counter(writes).items() if count > 1]


def test_refund_then_failure_then_fallback_never_refunds_twice() -> None:
    shop = Shop()
    give_back = giving_back(shop)
    shop.failing.add("receipt")
    with pytest.raises(Stopped) as caught:
        give_back("a9")
    assert shop.writes.count(("refund", "a9", cents(9))) == 1
    stopped = caught.value
    assert (stopped.guard, stopped.unknown) == ("error", None)
    assert stopped.writes == (ToolCall(tool="refund", args={"sku": "a9", "cents": cents(9)}),)
    assert stopped.run in str(stopped) and "receipt" in give_back.explain(stopped.run)
    assert shop.asked == 2


def test_an_agent_that_takes_over_is_answered_from_the_journal() -> None:
    shop = Shop()
    give_back = giving_back(shop, after_write="handover")
    shop.failing.add("receipt")
    traces = len(give_back.store.traces("give_back", taught=False))
    assert give_back("a9") == {"receipt": None}
    assert shop.asked == 3
    assert repeated(shop.writes) == []
    run = give_back.store.runs()[0]
    assert (run.kind, run.guard) == ("handover", "error")
    assert len(give_back.store.traces("give_back", taught=False)) == traces  # it is not learnt
    shop.failing.clear()
    assert give_back("a10") == {"receipt": "receipt R-a10"}


@pytest.mark.parametrize(("answer", "made"), [(None, 0), (False, 0), ("not today", 0), (True, 1)])
def test_another_write_after_a_takeover_asks(answer: bool | str | None, made: int) -> None:
    shop = Shop()
    asked: list[tuple[ToolCall, ToolSpec]] = []

    def approve(call: ToolCall, spec: ToolSpec) -> bool | str:
        asked.append((call, spec))
        return answer if answer is not None else False

    @flowmind.jit(
        shop.tools, query="Refund an item.", mode="live", derive="now", promotion=NOW, audit=0, after_write="handover",
        approve=None if answer is None else approve,
    )  # fmt: skip
    def give_back(sku: str) -> dict[str, Any]:
        number = shop.refund(sku, shop.price(sku))
        try:
            return {"receipt": shop.receipt(number)}
        except RuntimeError:
            try:
                return {"receipt": shop.ship(sku, "the post")}
            except flowmind.CaseFailed as refused:
                return {"receipt": refused.type}

    for number in range(3):
        give_back(f"a{number}")
    shop.failing.add("receipt")
    assert give_back("a9") == {"receipt": "S-a9" if made else "refused"}
    assert [call.tool for call, _ in asked] == ([] if answer is None else ["ship"])
    assert shop.writes.count(("ship", "a9", "the post")) == made
    assert repeated(shop.writes) == []


def test_a_write_that_raises_may_have_happened() -> None:
    shop = Shop()
    for after_write in ("stop", "handover"):
        give_back = giving_back(shop, after_write=after_write)
        shop.failing.add("refund")
        with pytest.raises(Stopped, match="it is not known whether refund happened") as caught:
            give_back("a9")
        assert caught.value.unknown == ToolCall(tool="refund", args={"sku": "a9", "cents": cents(9)})
        assert repeated(shop.writes) == []
        shop = Shop()


@pytest.mark.parametrize("happens", [True, False])
def test_a_verify_function_says_whether_a_write_happened(happens: bool) -> None:
    ledger: list[str] = []
    failing = [False]

    def look(sku: str) -> Happened | None:
        return Happened(f"R-{sku}") if sku in ledger else None

    @tool(effect="write", verify=look)
    def refund(sku: str) -> str:
        """Refund an item."""
        if failing[0] and not happens:
            failing[0] = False
            raise RuntimeError("no connection")
        ledger.append(sku)
        if failing[0]:
            raise RuntimeError("the connection broke")
        return f"R-{sku}"

    (pay,) = flowmind.recorded([refund])
    asked: list[str] = []

    @flowmind.jit([pay], query="Refund an item.", mode="live", derive="now", promotion=NOW, audit=0)
    def give_back(sku: str) -> str:
        asked.append(sku)
        return pay(sku)

    for sku in ("a", "b", "c"):
        give_back(sku)
    failing[0] = True
    assert give_back("d") == "R-d"
    assert ledger == ["a", "b", "c", "d"]
    assert give_back.store.runs()[0].kind == ("hit" if happens else "fallback")
    assert asked == (["a", "b"] if happens else ["a", "b", "d"])


def test_500_faults_after_writes_repeat_none() -> None:
    draw = random.Random(7)
    shop = Shop()
    outcomes: Counter[str] = Counter()
    for number in range(1_000):
        shop.items[f"x{number}"] = {"count": 5, "warehouse": "w", "cents": 100 + number % 90}

    @tool(effect="write")
    def notify(sku: str, text: str) -> str:
        """Tell the customer of an item."""
        shop.writes.append(("notify", sku))
        if "notify" in shop.failing:
            raise RuntimeError("the connection broke")
        return "told"

    (tell,) = flowmind.recorded([notify])

    def agent(sku: str) -> str:
        number = shop.refund(sku, shop.price(sku))
        text = shop.receipt(number)
        return tell(sku, text)

    options: dict[str, Any] = {
        "query": "Refund an item.",
        "mode": "live",
        "derive": "now",
        "promotion": NOW,
        "audit": 0,
    }
    tools = [shop.price, shop.refund, shop.receipt, tell]
    stop = flowmind.jit(tools, **options)(agent)
    go_on = flowmind.jit(tools, after_write="handover", **options)(agent)
    for handle in (stop, go_on):
        for number in range(3):
            handle(f"a{number}" if handle is stop else f"a{number + 3}")
        assert handle.store.runs()[0].kind == "hit"
    for number in range(500):
        shop.failing = {draw.choice(["refund", "receipt", "notify"])}
        handle = draw.choice([stop, go_on])
        run = f"run-{number}" if draw.random() < 0.5 else None
        for attempt in range(2):  # the caller tries again, if the run has an id
            try:
                answer = handle(f"x{number}") if run is None else handle.once(run, f"x{number}")
                outcomes[answer] += 1
            except Stopped as stopped:
                outcomes["stopped"] += 1
                assert stopped.writes or stopped.unknown is not None
            except RuntimeError:
                outcomes["failed"] += 1
            if run is None:
                break
            if attempt == 0 and draw.random() < 0.5:
                shop.failing.clear()
    assert repeated(shop.writes) == []
    assert outcomes["stopped"] > 100 and outcomes["told"] > 20
    made = {write[1] for write in shop.writes}
    assert {f"x{number}" for number in range(500)} <= made


# Kills


def killed(folder: Path, run: str, sku: str, point: str, mode: str = "live") -> None:
    """A process that works on a run and kills itself."""
    words = (folder / "flows.db", folder / "effects", run, sku, point, mode)
    done = forked.run("jit_clerk", *words, cwd=Path(__file__).parent, env={"PATH": ""})
    assert done.returncode == -9, done.stderr.decode()


def effects(folder: Path) -> list[str]:
    return (folder / "effects").read_text().splitlines()


def taught(folder: Path) -> None:
    teacher = handle_of(folder / "flows.db", folder / "effects")
    for number in range(4):
        teacher(f"t{number}")
    assert teacher.store.runs()[0].kind == "hit"
    teacher.store.close()


def resumed(folder: Path, run: str, sku: str, point: str, **options: Any) -> str:
    """What becomes of a killed run when it is taken up: the answer, or `stopped`."""
    handle = handle_of(folder / "flows.db", folder / "effects", **options)
    before = effects(folder)
    try:
        answer = handle.once(run, sku)
        assert handle.once(run, sku) == answer
        assert effects(folder).count(f"notify {sku}") == 1
        assert sum(line.startswith(f"refund {sku} ") for line in effects(folder)) == 1
        return answer
    except Stopped as stopped:
        assert stopped.unknown is not None
        assert effects(folder) == before
        return f"stopped at {stopped.unknown.tool}"
    finally:
        handle.store.close()


OUTCOMES = {"before": "stopped at refund", "in": "stopped at refund", "after": "stopped at notify", "late": "told"}
"""What becomes of a run that was killed at a point: the intent of a write is noted before it is made."""


@pytest.mark.parametrize("point", OUTCOMES)
def test_a_killed_workflow_is_resumed_without_repeating_a_write(tmp_path: Path, point: str) -> None:
    taught(tmp_path)
    killed(tmp_path, "run-1", "k10", point)
    assert resumed(tmp_path, "run-1", "k10", point) == OUTCOMES[point]
    assert sum(line.startswith("refund k10 ") for line in effects(tmp_path)) == (0 if point == "before" else 1)


@pytest.mark.parametrize("point", ["before", "late"])
def test_a_killed_agent_is_resumed_without_repeating_a_write(tmp_path: Path, point: str) -> None:
    (tmp_path / "effects").write_text("")
    killed(tmp_path, "run-1", "k10", point, mode="shadow")
    assert resumed(tmp_path, "run-1", "k10", point, mode="shadow") == OUTCOMES[point]


def test_a_settled_write_lets_a_stopped_run_go_on(tmp_path: Path) -> None:
    taught(tmp_path)
    killed(tmp_path, "run-1", "k10", "in")
    handle = handle_of(tmp_path / "flows.db", tmp_path / "effects")
    with pytest.raises(Stopped):
        handle.once("run-1", "k10")
    handle.engine.journal.settle("run-1", Happened("R-k10"))
    assert handle.once("run-1", "k10") == "told"
    assert [line for line in effects(tmp_path) if " k10" in line] == ["refund k10 113", "notify k10"]


@pytest.mark.slow
def test_50_kills_repeat_no_write(tmp_path: Path) -> None:
    taught(tmp_path)
    draw = random.Random(3)
    for number in range(50):
        point = draw.choice(list(OUTCOMES))
        sku = f"k{number % 10}{number}"
        killed(tmp_path, f"run-{number}", sku, point, mode=draw.choice(["live", "shadow"]))
        assert resumed(tmp_path, f"run-{number}", sku, point) == OUTCOMES[point]
    assert [line for line, count in Counter(effects(tmp_path)).items() if count > 1] == []
