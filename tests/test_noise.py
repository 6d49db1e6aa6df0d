"""Noise in traces: what each kind does to them, and what induction makes of it."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tiny import NUMBERS, tiny_benchmark

from experiments.golds import demonstration
from experiments.noise import (
    KINDS,
    Kind,
    Spoiled,
    duplicates,
    failed_calls,
    in_the_head_last,
    in_the_head_middle,
    main,
    outcome,
    spoiled,
    tables,
    useless_call,
)
from flowmind.trace.events import Trace
from flowmind.trace.task import Example, Task
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.callables import tool
from tools_registry.sandbox.environments import FunctionEnvironment


def total(numbers: list[float]) -> float:
    """Add up numbers."""
    return sum(numbers)


def with_tax(price: float, percent: float) -> float:
    """Add a tax to a price."""
    return price * (100 + percent) / 100


def as_price(value: float, currency: str) -> str:
    """Write a value with two decimals, and its currency."""
    return f"{value:.2f} {currency}"


def largest(numbers: list[float]) -> float:
    """The largest number."""
    return max(numbers)


SHOP = FunctionEnvironment([tool(effect="read")(one) for one in (total, with_tax, as_price, largest)])
INPUTS: dict[str, Any] = {
    "type": "object",
    "properties": {"prices": {"type": "array", "items": {"type": "number"}}},
    "required": ["prices"],
}
CHAIN: list[tuple[str, dict[str, Any]]] = [
    ("total", {"numbers": {"var": "prices"}}),
    ("with_tax", {"price": {"var": "total"}, "percent": {"value": 20}}),
    ("as_price", {"value": {"var": "with_tax"}, "currency": {"value": "EUR"}}),
]


def chain(calls: list[tuple[str, dict[str, Any]]], inputs: dict[str, Any]) -> Workflow:
    """A workflow of calls in a row, each with a variable of its tool's name."""
    names = [name for name, _ in calls]
    nodes: list[dict[str, Any]] = [{"id": "start", "kind": "start"}]
    nodes += [{"id": name, "kind": "tool", "tool": name, "args": args, "output": name} for name, args in calls]
    nodes += [{"id": "end", "kind": "end", "output": {"var": names[-1]}}]
    row = ["start", *names, "end"]
    edges = [{"from": one, "to": other} for one, other in pairwise(row)]
    return Workflow.model_validate({"inputs": inputs, "nodes": nodes, "edges": edges})


GOLD = chain(CHAIN, INPUTS)


def example(prices: list[float]) -> Example:
    return Example(input={"prices": prices}, output=as_price(with_tax(total(prices), 20), "EUR"))


TASK = Task(
    id="shop",
    control_flow="linear",
    query="Add up the prices, add 20 percent of tax, and write the result in 'EUR'.",
    inputs=INPUTS,
    tools=tuple(SHOP.specs),
    examples=(example([10, 5]), example([2.5]), example([1, 1, 8])),
)
TESTS = [example([100]), example([0.5, 7])]


def gold_traces() -> list[Trace]:
    demonstrate = demonstration(GOLD, SHOP)
    return [asyncio.run(demonstrate(one.input)) for one in TASK.examples]


TRACE = gold_traces()[0]
CALLS = [step.call for step in TRACE.calls]


def test_failed_calls_stand_before_calls_that_succeed() -> None:
    noisy = failed_calls(TRACE, Random(3))
    assert noisy is not None
    assert [step.call for step in noisy.calls if step.observation.ok] == CALLS
    failed = [place for place, step in enumerate(noisy.calls) if not step.observation.ok]
    assert failed
    for place in failed:
        meant, made = noisy.calls[place + 1].call, noisy.calls[place].call
        assert made.tool == meant.tool and made.args != meant.args
        assert SHOP.specs[made.tool].check(made.args) is not None


def test_duplicates_make_one_call_twice() -> None:
    noisy = duplicates(TRACE, Random(0))
    assert noisy is not None
    assert len(noisy.calls) == 4
    place = next(n for n in range(3) if noisy.events[n] == noisy.events[n + 1])
    assert (*noisy.events[:place], *noisy.events[place + 1 :]) == TRACE.events


def test_a_useless_call_is_a_real_one_of_another_tool() -> None:
    for seed in range(5):
        noisy = asyncio.run(useless_call(TRACE, Random(seed), SHOP))
        assert noisy is not None
        added = [step for step in noisy.calls if step.call not in CALLS]
        assert [step.call.tool for step in added] == ["largest"]
        assert added[0].observation.value == 10
        assert [step.call for step in noisy.calls if step not in added] == CALLS


def test_a_call_in_the_head_is_missing_and_the_answer_stays() -> None:
    last, middle = in_the_head_last(TRACE), in_the_head_middle(TRACE, Random(0))
    assert last is not None and middle is not None
    assert [step.call for step in last.calls] == CALLS[:2]
    assert [step.call for step in middle.calls] == [CALLS[0], CALLS[2]]
    assert last.answer == middle.answer == TRACE.answer == "18.00 EUR"


def test_a_trace_that_cannot_have_the_noise_has_none() -> None:
    bare = TRACE.model_copy(update={"events": ()})
    assert failed_calls(bare, Random(0)) is None
    assert duplicates(bare, Random(0)) is None
    assert in_the_head_last(bare) is None
    assert in_the_head_middle(TRACE.model_copy(update={"events": TRACE.events[:1]}), Random(0)) is None
    assert asyncio.run(useless_call(bare.model_copy(update={"inputs": {}}), Random(0), SHOP)) is None
    assert asyncio.run(spoiled("duplicates", [bare, bare], Random(0), SHOP)) is None


def test_noise_is_in_all_traces_or_in_one_and_the_same_for_a_seed() -> None:
    clean = gold_traces()
    for kind in KINDS:
        made = asyncio.run(spoiled(kind, clean, Random(7), SHOP))
        assert made == asyncio.run(spoiled(kind, clean, Random(7), SHOP)) and made is not None
        changed = sum(one != other for one, other in zip(made, clean, strict=True))
        assert changed == (0 if kind == "none" else 1 if kind.endswith("one") else 3)


def come(kind: Kind) -> Spoiled:
    traces = asyncio.run(spoiled(kind, gold_traces(), Random(1), SHOP))
    assert traces is not None
    return asyncio.run(outcome(kind, TASK, traces, TESTS, SHOP))


@pytest.mark.parametrize("kind", ["none", "failed calls", "duplicates", "useless call"])
def test_noise_that_takes_nothing_away_is_borne(kind: Kind) -> None:
    found = come(kind)
    assert found.solved and found.whole and found.unexplained == 0


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("in the head")])
def test_what_was_worked_out_in_the_head_is_detected(kind: Kind) -> None:
    found = come(kind)
    assert found.detected and not found.silent


def test_the_command_measures_a_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = tiny_benchmark(tmp_path / "bench")
    inputs = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    rows: list[dict[str, Any]] = []
    for id, (added, factor) in NUMBERS.items():
        calls: list[tuple[str, dict[str, Any]]] = [
            ("add", {"first": {"var": "n"}, "second": {"value": added}}),
            ("multiply", {"first": {"var": "add"}, "second": {"value": factor}}),
        ]
        rows.append({"id": id, "workflow": chain(calls, inputs).dump()})
    (bench / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "noise.json"
    kinds = ["none", "in the head: last, all"]
    assert main(["--bench", str(bench), "--limit", "2", "--out", str(out), "--kinds", *kinds]) == 0
    assert "| none | 100 (2/2) | 100 (2/2) |" in capsys.readouterr().out
    found = [(row["kind"], row["solved"], row["detected"]) for row in json.loads(out.read_text())["rows"]]
    # the text names the factor of the missing step, so induction computes it and nothing is left to detect
    assert found == 2 * [("none", True, False), ("in the head: last, all", True, False)]
    assert main(["--bench", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.endswith("nowhere/instances.jsonl: no such file\n")


def test_tables_say_how_many_tasks_could_have_the_noise() -> None:
    def row(kind: Kind, flow: str, solved: bool, unexplained: int) -> Spoiled:
        return Spoiled(
            id="t", control_flow=flow, kind=kind, solved=solved, built=True, whole=True, unexplained=unexplained,
            tests=5, wrong=0 if solved else 3, doubts=0 if solved else 2,
        )  # fmt: skip

    head: Kind = "in the head: last, all"
    told = tables([row("none", "linear", True, 0), row(head, "linear", False, 2), row(head, "loop", False, 0)])
    assert "| none | 100 (1/1) | – | 100 (1/1) |" in told
    assert "| in the head: last, all | 0 (0/1) | 100 (1/1) | 50 (1/2) |" in told
    assert "| in the head: last, all | 60 (3/5) | 60 (3/5) | 60 (6/10) |" in told
    assert "| in the head: last, all | 40 (2/5) | 40 (2/5) | 40 (4/10) |" in told
