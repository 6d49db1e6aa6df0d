"""The constants that a text names: one reader for provenance and `search`; origins after induction."""

from __future__ import annotations

from typing import Any

import pytest

from flowmind.build.induction.induce import induce, request_of
from flowmind.build.verification.sources import with_workflow
from flowmind.llm.search.constants import named
from flowmind.run.running import run_batch
from flowmind.trace.constants import read_text
from flowmind.trace.events import Called, Trace
from flowmind.trace.origins import describe, unexplained, with_origins
from flowmind.trace.recorded import Recorded
from flowmind.workflow.checking import check
from tools_registry.sandbox.environments import FunctionEnvironment
from tools_registry.specs.spec import Observation, ToolCall


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Take twenty-five of them.", [25]),
        ("Half a dozen, or two hundred.", [6, 200]),
        ("After the 12th of 1,250.", [12, 1250]),
        ("A box weighs 7kg, a bag 2.5 kg.", [7, 2.5]),
        ("Open on 2024-05-01 at 12:30, version 1.2.3.", []),
        ("Write '12 of 7' or “a, b”.", ["12 of 7", "a, b"]),
        ("Add 13 percent.", [13, 0.13]),
    ],
)
def test_provenance_and_search_read_the_same_constants(text: str, values: list[Any]) -> None:
    own = read_text(text)
    assert all(own.names(value) for value in values)
    shares = [value for value in values if value == 0.13]
    assert [part.value for part in named(text, ())] == [value for value in values if value not in shares]


@pytest.mark.parametrize("value", [20, 5, 2024, 30, True, ""])
def test_what_is_not_read_as_a_constant(value: Any) -> None:
    assert not read_text("Take twenty-five on 2024-05-01 at 12:30.").names(value)


def greet(who: str) -> str:
    """Greet someone."""
    return f"Hello {who}"


def price(article: str, count: int = 1) -> int:
    """What a number of articles costs."""
    return {"pen": 3, "ink": 8, "pad": 3}[article] * count


TOOLS = FunctionEnvironment([greet, price])
TEXT = {"type": "string"}
LIST = {"type": "array", "items": TEXT}


def trace_of(inputs: dict[str, Any], calls: list[tuple[str, dict[str, Any], Any]], answer: Any) -> Trace:
    steps = [
        Called(call=ToolCall(tool=tool, args=args), observation=Observation(value=value)) for tool, args, value in calls
    ]
    return Trace(inputs=inputs, events=tuple(steps), stop="finish", answer=answer)


def derived(traces: list[Trace], query: str = "", **properties: Any) -> tuple[tuple[Trace, ...], tuple[Trace, ...]]:
    """The traces with origins by their values alone, and by the workflow that is induced from them."""
    inputs = {"type": "object", "properties": properties, "required": list(properties)}
    alone = with_origins(traces, query)
    workflow = induce(request_of(traces, TOOLS.specs, inputs, query))[0].workflow
    sound = not check(workflow, TOOLS.specs)
    recorded = Recorded(TOOLS.specs, traces)
    runs = enumerate(run_batch(workflow, [trace.inputs for trace in traces], recorded) if sound else [])
    return alone, with_workflow(alone, workflow, {place: run for place, run in runs if run.error is None}, query)


def test_what_induction_computes_is_explained() -> None:
    traces = [
        trace_of({"name": name}, [("greet", {"who": name.title()}, greet(name.title()))], greet(name.title()))
        for name in ("jinsoo", "maria", "oleg")
    ]
    alone, corrected = derived(traces, name=TEXT)
    assert unexplained(alone[0]) != []
    assert [unexplained(trace) for trace in corrected] == [[], [], []]
    call = corrected[0].calls[0]
    assert describe(call.origins["who"], corrected[0], "Jinsoo") in (
        "computed: name.title()",
        "computed: name.capitalize()",
    )
    assert Trace.model_validate(corrected[0].dump()) == corrected[0]


def test_an_answer_that_a_loop_gathers_is_no_constant() -> None:
    def priced(articles: list[str]) -> Trace:
        calls = [("price", {"article": article}, price(article)) for article in articles]
        return trace_of({"articles": articles}, calls, [value for _, _, value in calls])

    # the answers are equal by chance
    alone, corrected = derived([priced(["pen", "ink", "pad"]), priced(["pad", "ink", "pen"])], articles=LIST)
    assert all(trace.origin is not None and trace.origin.kind in ("computed", "made") for trace in corrected)
    assert [trace.origin and trace.origin.kind for trace in alone] == ["literal"] * 2


def test_a_computation_with_a_number_that_nobody_names_explains_nothing() -> None:
    traces = [
        trace_of({"n": number}, [("price", {"article": "pen", "count": 7 * number}, 1)], number)
        for number in (4, 9, 11)
    ]
    integer = {"type": "integer"}
    assert [unexplained(trace) for trace in derived(traces, n=integer)[1]] != [[], [], []]
    assert [unexplained(trace) for trace in derived(traces, "Take 7 for each.", n=integer)[1]] == [[], [], []]


def test_what_induction_leaves_open_stays_unexplained() -> None:
    traces = [
        trace_of({"name": name}, [("greet", {"who": other}, greet(other))], greet(other))
        for name, other in (("jinsoo", "Quentin"), ("maria", "Wolf"), ("oleg", "Birgit"))
    ]
    alone, corrected = derived(traces, name=TEXT)
    assert corrected[0].calls[0].origins == alone[0].calls[0].origins
    assert len(unexplained(corrected[0])) == 1
