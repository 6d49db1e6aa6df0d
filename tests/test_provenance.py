"""Provenance: where arguments and answers came from, and values without an origin."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from flowmind.trace.events import Called, Event, Origin, Planned, Trace
from flowmind.trace.origins import describe, has_holes, unexplained, with_origins
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import Observation, ToolCall
from tools_registry.specs.values import MAX_DEPTH


def did(tool: str, value: Any, **args: Any) -> Called:
    return Called(call=ToolCall(tool=tool, args=args), observation=Observation(value=value))


def broke(tool: str, **args: Any) -> Called:
    failed = Observation.failed("tool_error", "it broke")
    return Called(call=ToolCall(tool=tool, args=args), observation=failed)


def ended(inputs: dict[str, Any], *steps: Event, answer: Any = None) -> Trace:
    return Trace(inputs=inputs, events=steps, stop="finish", answer=answer)


def told(trace: Trace) -> list[str]:
    """The origins of all arguments, a line a step, and of the answer."""
    lines = [
        "; ".join(f"{name}: {describe(origin, trace, step.call.args[name])}" for name, origin in step.origins.items())
        for step in trace.calls
    ]
    return [*lines, *([describe(trace.origin, trace, trace.answer)] if trace.origin else [])]


def of(value: Any, query: str = "", **inputs: Any) -> str:
    """The origin of the one argument of the one step of one trace."""
    [trace] = with_origins([ended(inputs, did("f", 99.5, x=value))], query)
    return told(trace)[0].removeprefix("x: ")


ORDER = {"items": [{"price": 7.5, "name": "pen"}, {"price": 12, "name": "ink"}], "to": "Oslo"}


@pytest.mark.parametrize(
    ("value", "origin"),
    [
        (ORDER, "input order"),
        (ORDER["items"], "input order.items"),
        (12.0, "input order.items[1].price"),
        ("Oslo", "input order.to"),
        ("price", 'literal "price"'),
        (0, "literal 0"),
        (True, "literal true"),
        ([], "literal []"),
        ({}, "literal {}"),
        ("", 'literal ""'),
        (" - ", 'literal " - "'),
        (None, "literal null"),
        (31, "unexplained"),
        ("Bergen", "unexplained"),
        ([31, 32], "unexplained"),
        ([12, 0], "made of [input order.items[1].price, literal 0]"),
        ({"who": "pen", "n": 31}, "made of {who: input order.items[0].name, n: unexplained}"),
        ({"in": {"to": "Oslo"}}, "made of {in: an object of 1}"),
        (["price", "name"], 'literal ["price", "name"]'),
    ],
)
def test_a_value_of_one_trace(value: Any, origin: str) -> None:
    assert of(value, order=ORDER) == origin


QUERY = (
    "Take 15% of it, add 1,250 and -3, for 7kg; of seven and a dozen, in 4-6 days. "
    "Put 'a, b' and \"; \" between the Red parts, 2.5 percent; give 'Hello you' in inches."
)


@pytest.mark.parametrize(
    "value",
    [15, 0.15, 1250, -3, 7.0, 12, 4, 6, 0.025, 2.5, "a, b", "; ", "red", "Hello you", "between the red", "inch"],
)
def test_what_the_text_names(value: Any) -> None:
    assert of(value, QUERY).startswith("text: ")


@pytest.mark.parametrize("value", [250, -6, 0.12, 5, 25, "re", ";", ",", "ell", True])
def test_what_the_text_does_not_name(value: Any) -> None:
    assert not of(value, QUERY).startswith("text")


def test_a_list_of_what_the_text_names_is_of_the_text() -> None:
    assert of([15, 1250], QUERY) == "text: [15, 1250]"
    assert of([15, 16], QUERY) == "unexplained"


def test_outputs_and_parts_of_them() -> None:
    trace = ended(
        {"n": 3},
        did("load", {"rows": [40, 50]}, n=3),
        did("first", 40, rows=[40, 50]),
        did("add", 93, a=40, b=50, c=3),
        answer={"sum": 93, "of": [40, 50], "ok": True},
    )
    [found] = with_origins([trace])
    assert told(found) == [
        "n: input n",
        "rows: step 1 (load).rows",
        "a: step 2 (first); b: step 1 (load).rows[1]; c: input n",
        "made of {sum: step 3 (add), of: step 1 (load).rows, ok: literal true}",
    ]
    assert found.calls[2].origins["b"] == Origin(kind="output", step=0, path=("rows", 1))
    assert unexplained(found) == []
    assert Trace.model_validate(found.dump()) == found


def test_a_step_sees_only_what_came_before_it() -> None:
    [found] = with_origins([ended({}, did("f", 41, x=42), did("g", 42, x=41))])
    assert told(found) == ["x: unexplained", "x: step 1 (f)", "literal null"]


def test_the_whole_input_goes_before_the_latest_output_before_earlier_ones() -> None:
    same = [5, 6, 7]
    [found] = with_origins([ended({"a": same}, did("f", same), did("g", same), did("h", 8, x=same))])
    assert told(found)[2] == "x: input a"
    [found] = with_origins([ended({"a": [same]}, did("f", same), did("g", same), did("h", 8, x=same))])
    assert told(found)[2] == "x: step 2 (g)"


def test_an_answer_is_rather_what_the_last_step_gave() -> None:
    [found] = with_origins([ended({"n": 5}, did("check", True), did("f", 5, n=5), answer=5)])
    assert told(found)[-1] == "step 2 (f)"
    [found] = with_origins([ended({"n": 5}, did("check", True), answer=True)])
    assert told(found)[-1] == "step 1 (check)"


def run(n: int, mean: Any, given: Any) -> Trace:
    return ended({"n": n, "all": [60, 70]}, did("mean", mean), did("scale", 1000, by=given))


def test_a_second_trace_settles_what_equals_two_things() -> None:
    alone = with_origins([run(5, 5, 5)])
    assert told(alone[0])[1] == "by: input n"
    assert [told(trace)[1] for trace in with_origins([run(5, 5, 5), run(5, 8, 8)])] == ["by: step 1 (mean)"] * 2
    assert [told(trace)[1] for trace in with_origins([run(5, 5, 5), run(6, 5, 6)])] == ["by: input n"] * 2


def test_what_equals_an_input_by_chance_is_unexplained_if_the_other_trace_is() -> None:
    found = with_origins([run(5, 9, 5), run(6, 9, 11)])
    assert [told(trace)[1] for trace in found] == ["by: unexplained"] * 2
    assert unexplained(found[1]) == ["step 2 (scale), by: 11 comes from no input and no tool result"]
    assert told(with_origins([run(5, 9, 5), run(6, 9, 11)], "Scale it by 5.")[0])[1] == "by: text: 5"


def test_what_all_traces_have_is_a_constant() -> None:
    assert [told(trace)[1] for trace in with_origins([run(5, 9, 0.3), run(6, 9, 0.3)])] == ["by: literal 0.3"] * 2
    assert [told(trace)[1] for trace in with_origins([run(60, 9, 60), run(61, 60, 60)])] == ["by: input all[0]"] * 2
    found = with_origins([run(5, 9, 5), run(8, 9, 5)])
    assert [told(trace)[1] for trace in found] == ["by: literal 5"] * 2


def test_a_trivial_value_is_what_explains_the_others() -> None:
    found = with_origins([run(0, 9, 0), run(5, 9, 5)])
    assert [told(trace)[1] for trace in found] == ["by: input n"] * 2
    found = with_origins([run(0, 9, 0), run(0, 9, 0)])
    assert [told(trace)[1] for trace in found] == ["by: literal 0"] * 2


def test_branches_keep_what_each_of_them_uses() -> None:
    one = ended({"n": 5}, did("low", 21), did("pay", 1, sum=21))
    other = ended({"n": 6}, did("high", 34), did("pay", 1, sum=34))
    assert [told(trace)[1] for trace in with_origins([one, other])] == ["sum: step 1 (low)", "sum: step 1 (high)"]


def test_keys_that_only_one_trace_has_are_data_and_no_names_of_fields() -> None:
    found = with_origins([ended({"of": {key: 5}}, did("get", 5, of={key: 5}, key=key)) for key in ("Rome", "Paris")])
    assert [told(trace)[0] for trace in found] == ["of: input of; key: unexplained"] * 2


def picked(numbers: list[int], chosen: list[int]) -> Trace:
    return ended({"numbers": numbers}, did("total", 1000, numbers=chosen))


def test_elements_that_are_chosen_anew_each_time_were_filtered_in_the_head() -> None:
    assert told(with_origins([picked([21, 34, 55], [34, 55])])[0])[0] == "numbers: unexplained"
    found = with_origins([picked([21, 34, 55], [34, 55]), picked([44, 33, 22], [44])])
    assert [told(trace)[0] for trace in found] == ["numbers: unexplained"] * 2
    found = with_origins([picked([21, 34, 55], [55, 21]), picked([44, 33, 22], [22, 44])])
    made = "numbers: made of [input numbers[2], input numbers[0]]"
    assert [told(trace)[0] for trace in found] == [made] * 2


def test_a_list_collected_from_calls_is_made_of_them() -> None:
    def collected(*prices: int) -> Trace:
        calls = [did("price", price, id=f"item number {price}") for price in prices]
        return ended({}, *calls, did("total", sum(prices), of=list(prices)), answer=sum(prices))

    one, other = with_origins([collected(21, 34), collected(13, 45, 67)])
    assert told(one)[2:] == ["of: made of [step 1 (price), step 2 (price)]", "step 3 (total)"]
    assert told(other)[3] == "of: made of [step 1 (price), step 2 (price), step 3 (price)]"


def test_a_long_list_is_described_in_short() -> None:
    calls = [did("f", number) for number in range(20, 30)]
    [found] = with_origins([ended({}, *calls, did("g", 3, of=[*range(20, 29), 77]))])
    assert told(found)[10].endswith("step 6 (f), 4 more (1 unexplained)]")
    assert unexplained(found) == ["step 11 (g), of[9]: 77 comes from no input and no tool result"]


def test_the_answer_may_be_worked_out_in_the_head() -> None:
    [found] = with_origins([ended({}, did("f", 20), answer={"a": 20, "b": [{"c": 21}]})])
    assert unexplained(found) == ['the answer.b: [{"c": 21}] comes from no input and no tool result']
    assert found.origin is not None and has_holes(found.origin) and not has_holes(found.origin.parts["a"])


def test_calls_that_failed_have_origins_and_give_nothing() -> None:
    def tried(n: int, wrong: Any) -> Trace:
        return ended({"n": n, "id": "number 12345"}, broke("f", x=wrong), did("f", 70, x=n), did("g", 80, x=n))

    one, other = with_origins([tried(5, "number 12345"), tried(6, 6)])
    assert told(one)[:3] == ["x: input id", "x: input n", "x: input n"]
    assert told(other)[:3] == ["x: input n", "x: input n", "x: input n"]
    [only] = with_origins([ended({}, broke("f", x=70))])
    assert told(only) == ["x: unexplained", "literal null"]


def test_graph_tools_and_other_steps_stay_as_they_are() -> None:
    plan = Planned(steps=("think",))
    edit = did("add_end_node", "Added.", output="r1")
    [found] = with_origins([ended({"n": 7}, plan, edit, did("f", 8, x=7), did("g", 9, x=8), answer=9)])
    assert found.events[:2] == (plan, edit)
    assert told(found) == ["", "x: input n", "x: step 2 (f)", "step 3 (g)"]


def test_empty_traces() -> None:
    assert with_origins([]) == ()
    stopped = Trace(stop="turns")
    assert with_origins([stopped, stopped]) == (stopped, stopped)
    assert unexplained(stopped) == []
    handed = Trace(stop="turns", handed_in=True, answer=3)
    assert with_origins([handed])[0].origin == Origin(kind="unexplained")
    assert with_origins([Trace(stop="turns", answer=3)])[0].origin is None


def test_large_values_are_found_whole_and_by_their_first_parts() -> None:
    large = [[number, number + 0.5] for number in range(20_000)]
    steps = (did("f", 1, x=[list(pair) for pair in large]), did("g", 1, x=2_000.5), did("g", 1, x=19_999.5))
    [found] = with_origins([ended({"all": large}, *steps)])
    assert told(found)[0] == "x: input all"
    assert told(found)[2] == "x: unexplained"
    [found] = with_origins([ended({}, did("f", 1, x=list(range(10, 20_000))))])
    assert told(found)[0] == "x: unexplained"


def nested(depth: int) -> Any:
    value: Any = 77
    for _ in range(depth):
        value = [value]
    return value


def test_what_is_nested_too_deeply_equals_nothing() -> None:
    def given(depth: int) -> str:
        [found] = with_origins([ended({"deep": nested(depth)}, did("f", 1, x=nested(depth)))])
        return found.calls[0].origins["x"].kind

    assert given(MAX_DEPTH) == "input"
    assert given(MAX_DEPTH + 1) != "input"
    [found] = with_origins([ended({"n": 77}, did("f", 1, x=nested(300)))])
    assert found.calls[0].origins["x"].kind == "unexplained"


def valued(origin: Origin, trace: Trace, value: Any) -> Any:
    """What an origin gives; constants are taken from the value."""
    match origin.kind:
        case "made":
            parts = [
                valued(part, trace, value[int(key) if isinstance(value, list) else key])
                for key, part in origin.parts.items()
            ]
            return parts if isinstance(value, list) else dict(zip(origin.parts, parts, strict=True))
        case "input" | "output":
            found = (
                trace.inputs[str(origin.name)] if origin.step is None else trace.calls[origin.step].observation.value
            )
            for key in origin.path:
                found = found[key]
            return found
        case _:
            return value


def test_every_origin_gives_the_value_back() -> None:
    rng = Random(11)

    def drawn(depth: int) -> Any:
        kind = rng.randrange(7 if depth else 5)
        if kind == 5:
            return [drawn(depth - 1) for _ in range(rng.randrange(4))]
        if kind == 6:
            return {rng.choice("abc"): drawn(depth - 1) for _ in range(rng.randrange(4))}
        return [rng.randrange(9), float(rng.randrange(9)), rng.choice(["", "p", "q q"]), None, rng.random() < 0.5][kind]

    kinds: set[str] = set()
    for _ in range(60):
        traces: list[Trace] = []
        for _ in range(rng.randrange(1, 4)):
            pool = [drawn(2), drawn(3)]
            steps: list[Event] = []
            for _ in range(rng.randrange(6)):
                args = {name: rng.choice([*pool, drawn(2), [pool[-1], drawn(1)]]) for name in "xy"}
                step = rng.choice([did, did, lambda tool, value, **args: broke(tool, **args)])
                steps.append(step(rng.choice("fg"), drawn(2), **args))
                pool.append(steps[-1].observation.value if isinstance(steps[-1], Called) else None)
            traces.append(ended({"a": pool[0], "b": pool[1]}, *steps, answer=rng.choice(pool)))
        found = with_origins(traces, "Take 7 of p.")
        assert with_origins(found, "Take 7 of p.") == found
        for trace in found:
            assert trace.origin is not None
            asked = [(trace.origin, trace.answer, len(trace.calls))]
            for index, step in enumerate(trace.calls):
                asked += [(step.origins[name], value, index) for name, value in step.call.args.items()]
            for origin, value, before in asked:
                kinds.add(origin.kind)
                assert json_equal(valued(origin, trace, value), value)
                assert origin.step is None or origin.step < before
    assert kinds == {"input", "output", "text", "literal", "made", "unexplained"}
