"""NESTFUL records as workflows: small ones of our own, and the published ones where they are at hand."""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from flowmind.base.errors import InputError
from flowmind.formats.nestful import from_nestful, nestful_specs, problems
from flowmind.run.running import arun, run
from flowmind.workflow.checking import check
from flowmind.workflow.program import Outcome, Program
from tools_registry.sandbox.environment import DEFAULT_BUDGET
from tools_registry.sandbox.environments import FunctionEnvironment
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec, tool

Row = dict[str, Any]


def find(city: str, stars: int = 3) -> dict[str, Any]:
    """Finds a hotel."""
    return {"name": f"Hotel {city}", "rooms": [{"price": 70 + stars}]}


@tool(name="Hotels.Book")
def book(hotel: str, notes: list[str]) -> dict[str, Any]:
    """Books a hotel."""
    return {"text": f"{hotel}: {notes}"}


SPECS = nestful_specs(
    [
        {
            "name": "find",
            "description": "Finds a hotel.",
            "query_parameters": {
                "city": {"type": "string", "required": True},
                "stars": {"type": "int or float", "required": False},
            },
            "output_parameters": {
                "name": {"type": "string"},
                "rooms": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "number"}}}},
            },
        },
        {
            "name": "Hotels.Book",
            "arguments": {"hotel": {"required": True}, "notes": {"type": "list of string", "required": True}},
            "output_parameters": {"text": {"type": "string"}},
        },
    ]
)


def record(*calls: Row) -> Row:
    return {"input": "Book a hotel.", "output": list(calls)}


def named(name: str, label: str | None = None, **arguments: Any) -> Row:
    return {"name": name, "arguments": arguments} | ({} if label is None else {"label": label})


FIND = named("find", "var1", city="Rome", stars=4)
BOOK = named(
    "Hotels.Book", "var2", hotel="$var1.name$", notes=["costs $var1.rooms[0].price$, $100-$200", "$var1.name$", "late"]
)
COLLECT = named("var_result", where="$var1$", booked={"as": "$var2.text$"}, constant=7)


def test_a_record_of_the_first_version_runs() -> None:
    made = record(FIND, BOOK, COLLECT)
    assert problems(made, SPECS) == problems(made) == ()
    workflow = from_nestful(made, SPECS, "hotel")
    sandbox = FunctionEnvironment([find, book])
    assert check(workflow, SPECS) == check(workflow, sandbox.specs) == []
    assert (workflow.name, workflow.description, workflow.input_names) == ("hotel", "Book a hotel.", ())
    assert [node.kind for node in workflow.nodes] == ["start", "tool", "assign", "tool", "end"]
    trace = run(workflow, {}, sandbox)
    assert trace.answer == {
        "where": {"name": "Hotel Rome", "rooms": [{"price": 74}]},
        "booked": {"as": "Hotel Rome: ['costs 74, $100-$200', 'Hotel Rome', 'late']"},
        "constant": 7,
    }


def split(number: float, by: float) -> list[float]:
    """Divides with rest."""
    return [number // by, number % by]


def multiply(a: float, b: float) -> float:
    """Multiplies."""
    return a * b


def test_a_record_of_the_second_version_runs() -> None:
    outputs = {"whole": {"type": "number"}, "rest": {"type": "number"}}
    number = {"type": "int or float"}
    tools = [
        {"name": "split", "parameters": {"number": number, "by": number}, "output_parameters": outputs},
        {"name": "multiply", "parameters": {"a": number, "b": number}, "output_parameters": {"result": number}},
    ]
    made = record(
        named("split", "$var_1", arg_0=17, arg_1=5),
        named("multiply", "$var_2", a="$var_1.rest$", b="$var_1.whole$"),
        named("multiply", "$var_3", b="$var_2.result$", a=10),
    )
    specs = nestful_specs(tools)
    assert problems(made, specs) == ()
    assert run(from_nestful(made, specs), {}, FunctionEnvironment([split, multiply])).answer == 60
    alone = record(*made["output"][2:])
    assert "refers to 'var_2', a label that no call has" in problems(alone, specs)[0]


@pytest.mark.parametrize(
    ("calls", "wrong"),
    [
        (
            (BOOK, FIND),
            "argument 'hotel': $var1.name$ refers to 'var1', a label that comes later",
        ),
        ((FIND, named("var_result", x="$var7$")), "call 2 (var_result), 'x': $var7$ refers to 'var7', a label that no"),
        ((FIND, FIND), "call 2 (find): label 'var1' stands twice"),
        ((named("nope", "var1"),), "call 1 (nope): there is no such tool"),
        ((named("find", "var1", stars=3),), "call 1 (find): argument 'city' is missing"),
        ((named("find", "var1", city="Rome", x=1),), "call 1 (find): there is no argument 'x' (there are city, stars)"),
        ((named("find", "var1", city=5),), "call 1 (find): argument 'city': expected string, got 5 (integer)"),
        ((FIND, named("var_result", x="$var1.nam$")), "$var1.nam$: find gives no 'nam' (it gives name, rooms)"),
        ((FIND, named("var_result", x="$var1.rooms.price$")), "'rooms' of find gives a list: 'price' is not a number"),
        ((FIND, named("var_result", x="$var1[0]$")), "find gives no list but object: 0 is not a field"),
        ((), "there are no calls under 'output'"),
        (({"arguments": {}},), "call 1 has no name"),
    ],
)
def test_what_is_annotated_wrongly_is_told(calls: Sequence[Row], wrong: str) -> None:
    found = problems(record(*calls), SPECS)
    assert len([line for line in found if wrong in line]) == 1
    assert all("\n" not in line for line in found)
    with pytest.raises(InputError, match=r"^NESTFUL record 'one': "):
        from_nestful(record(*calls), SPECS, "one")


def test_without_specs_only_labels_are_looked_at() -> None:
    odd = record(named("nope", "var1", x=1), named("var_result", y="$var1.anything[3]$"))
    assert problems(odd) == ()
    assert problems(odd, SPECS) == ("call 1 (nope): there is no such tool",)
    assert problems(record(named("var_result", y="$var1$")))
    with pytest.raises(InputError, match="tool 1 of the NESTFUL specification has no name"):
        nestful_specs([{}])


def test_several_problems_are_counted() -> None:
    with pytest.raises(InputError, match=r"argument 'city' is missing \(and 1 more\)"):
        from_nestful(record(named("find", "var1"), named("nope", "var2")), SPECS)


# The published records


def rows(name: str) -> list[Any]:
    held = os.environ.get("FLOWMIND_FIXTURES")
    folder = Path(held) if held else Path(__file__).resolve().parents[2] / "shared" / "fixtures"
    path = folder / "nestful" / name
    if not path.exists():
        pytest.skip("the NESTFUL records are not here (FLOWMIND_FIXTURES names their folder)")
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


class RecordedTools:
    """A sandbox that gives what was recorded, call by call, and wants the arguments that were recorded."""

    def __init__(self, specs: Mapping[str, ToolSpec], steps: Sequence[Row]) -> None:
        self.specs = specs
        self.steps = list(steps)

    awaited: Collection[str] = ()

    async def call(self, call: ToolCall) -> Observation:
        step = self.steps.pop(0)
        assert call.tool == step["name"]
        for given, recorded in zip(call.args.values(), step["resolved_args"], strict=True):
            # a function that changes its argument in place is recorded with the changed one
            assert json_equal(given, recorded) or json_equal(recorded, step["result"])
        return Observation(value=step["result"])

    def run(self, program: Program, cases: Sequence[Row], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        raise AssertionError("recorded calls are awaited")


def test_every_recorded_execution_is_replayed() -> None:
    records = {row["sample_id"]: row for row in rows("v2_records.jsonl")}
    replayed, calls = 0, 0
    for kept in rows("v2_reference_execution.jsonl"):
        made = records[kept["sample_id"]]
        specs = nestful_specs(made["tools"])
        workflow = from_nestful(made, specs)
        assert check(workflow, specs) == []
        if kept["error"] is not None:
            continue
        sandbox = RecordedTools(specs, kept["steps"])
        trace = asyncio.run(arun(workflow, {}, sandbox))
        assert trace.ok and json_equal(trace.answer, kept["final"]) and json_equal(trace.answer, made["gold_answer"])
        assert sandbox.steps == []
        replayed, calls = replayed + 1, calls + len(kept["steps"])
    assert replayed >= 8 and calls >= 30


def arithmetic() -> list[Any]:
    def add(arg_0: float, arg_1: float) -> float:
        return arg_0 + arg_1

    def subtract(arg_0: float, arg_1: float) -> float:
        return arg_0 - arg_1

    def multiply(arg_0: float, arg_1: float) -> float:
        return arg_0 * arg_1

    def divide(arg_0: float, arg_1: float) -> float:
        return arg_0 / arg_1

    def power(arg_0: float, arg_1: float) -> float:
        return arg_0**arg_1

    def sqrt(arg_0: float) -> float:
        return math.sqrt(arg_0)

    return [add, subtract, multiply, divide, power, sqrt]


def test_records_of_arithmetic_give_their_gold_answers_when_run() -> None:
    sandbox = FunctionEnvironment(arithmetic())
    ran = 0
    for row in rows("v2_records.jsonl"):
        if {call["name"] for call in row["output"]} <= set(sandbox.specs):
            trace = run(from_nestful(row, nestful_specs(row["tools"])), {}, sandbox)
            assert json_equal(trace.answer, row["gold_answer"])
            ran += 1
    assert ran >= 6


# Labels that no call has, or two calls have; of the published errors those that these records hold.
WRONG_LABELS = {"glaive-045", "glaive-094", "glaive-103", "glaive-104", "sgd-018", "sgd-034"}


@pytest.mark.parametrize("part", ["executable", "glaive", "sgd"])
def test_published_records_are_read_or_their_errors_told(part: str) -> None:
    specs = nestful_specs(rows(f"v1_{part}_spec.json"))
    held = rows(f"v1_{part}.jsonl")
    wrong = {row["fixture_id"] for row in held if problems(row["record"])}
    assert wrong == WRONG_LABELS & {row["fixture_id"] for row in held}
    read = 0
    for row in held:
        found = problems(row["record"], specs)
        assert all(line.startswith("call ") and "\n" not in line for line in found)
        assert (row["fixture_id"] in wrong) <= bool(found)
        if not found:
            workflow = from_nestful(row["record"], specs, row["fixture_id"])
            assert check(workflow, specs) == []
            assert len([node for node in workflow.nodes if node.kind == "tool"]) == len(row["record"]["output"]) - 1
            read += 1
    assert read >= len(held) // 3
