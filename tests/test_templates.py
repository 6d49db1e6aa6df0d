"""Requests in prose as inputs: what the requests of one phrasing share, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from workbench import Instance, WorkBench, workbench

from flowmind import summarize
from flowmind.base.errors import InputError
from flowmind.formats.traces import READERS
from flowmind.formats.traces.cases import AnswerRule, NoInputs, cases_of, other_effect
from flowmind.formats.traces.imported import Imported
from flowmind.formats.traces.templates import Request, Template, fillings, phrasings, template_of
from flowmind.trace.events import Called, Trace
from flowmind.workflow.document import ToolNode
from tools_registry.specs.spec import Effect, Observation, ToolCall, ToolSpec

Row = dict[str, Any]


def template(*texts: str, args: Sequence[Row] = ()) -> Template:
    """The template of requests, which must have one."""
    given = [*args, *[Row()] * len(texts)]
    made = template_of([Request(text, [*args.items()]) for text, args in zip(texts, given, strict=False)])
    assert made is not None
    return made


MEETINGS = template(
    "Book a room for Ann on December 3 at 10:30, please",
    "Book a room for Bob Lee on December 14 at 9, please",
    "Book a room for Cy on December 9 at 11:15, please",
    args=[{"who": "Ann"}, {"who": "bob lee"}, {"who": "Cy"}],
)


def test_slots_have_the_names_of_the_parameters_that_they_reach() -> None:
    assert str(MEETINGS) == "Book a room for {who} on {on} at {at}, please"
    assert MEETINGS.parse("Book a room for Dora Fox on January 30 at 8, please") == {
        "who": "Dora Fox", "on": "January 30", "at": "8",
    }  # fmt: skip
    assert MEETINGS.inputs()["required"] == ["who", "on", "at"]


@pytest.mark.parametrize(
    "request_",
    [
        "Book a room for Dora on March 3 at 8",
        "Book the room for Dora on March 3 at 8, please",
        "Please book a room for Dora on March 3 at 8, please",
        "Book a room for  on March 3 at 8, please",
        "Book a room for Dora on March 3 at 8, please!",
        "Cancel a room for Dora on March 3 at 8, please",
        "Book a room for Dora",
        "",
    ],
)
def test_a_request_of_another_phrasing_is_a_mismatch(request_: str) -> None:
    assert MEETINGS.parse(request_) is None


def test_case_and_spaces_do_not_count() -> None:
    assert MEETINGS.parse("  book a ROOM for  Dora Fox\n on March 3 at 8, please ") == {
        "who": "Dora Fox", "on": "March 3", "at": "8",
    }  # fmt: skip


def test_a_template_can_be_stored() -> None:
    stored = json.loads(json.dumps(MEETINGS.model_dump(mode="json")))
    assert Template.model_validate(stored) == MEETINGS


def test_numbers_are_numbers_and_only_numbers() -> None:
    made = template("Refund 3 orders", "Refund 12 orders", "Refund 4.5 orders")
    assert made.parse("Refund 7 orders") == {"refund": 7} and made.parse("Refund 7.5 orders") == {"refund": 7.5}
    assert made.parse("Refund seven orders") is None


def test_the_same_words_at_two_places_are_one_slot() -> None:
    made = template("Ask ann and remind ann", "Ask bob and remind Bob", "Ask cy and remind cy")
    assert [slot.name for slot in made.slots] == ["ask", "ask"]
    assert made.parse("Ask eve and remind eve") == {"ask": "eve"}
    assert made.parse("Ask eve and remind ann") is None


def test_words_that_may_say_what_to_do_are_a_choice() -> None:
    made = template("Was it more than 3 today?", "Was it less than 5 today?", "Was it more than 9 today?")
    assert [slot.kind for slot in made.slots] == ["choice", "number"]
    assert made.parse("Was it Less than 7 today?") == {"it": "Less", "than": 7}
    assert made.parse("Was it other than 7 today?") is None
    verbs = template("Open box a1 now", "Close box b2 now", "Lock box c3 now")
    assert verbs.parse("Close box d4 now") is not None and verbs.parse("Burn box d4 now") is None


def test_what_can_be_read_in_two_ways_is_a_mismatch() -> None:
    made = template("Move ann to bob to day", "Move cy to di to day", "Move ed to fay to day")
    assert made.parse("Move hal to ida to day") == {"move": "hal", "to": "ida"}
    assert made.parse("Move hal to jo to ida to day") is None
    assert made.parse("Move " + "to to " * 200 + "to day") is None


def test_words_that_are_alike_by_chance_are_no_part_of_the_template() -> None:
    made = template(
        "Plot session length and users since May",
        "Plot users and session length since May",
        "Plot visits and users since May",
    )
    assert made.parse("Plot visits and session length since May") is not None
    assert "session" not in "".join(made.texts)


def test_too_few_requests_or_too_few_common_words_give_no_template() -> None:
    assert template_of([Request("Refund a1"), Request("Refund b2")]) is None
    assert template_of([Request("one two three"), Request("four five six"), Request("seven eight nine")]) is None


def test_phrasings_are_not_mixed() -> None:
    texts = [
        "Cancel the order A1 of ann", "Please could you cancel the order B2 of bob", "Cancel the order C3 of cy",
        "Refund the order D4 of di", "Please could you cancel the order E5 of ed", "Cancel the order F6 of fay",
    ]  # fmt: skip
    assert phrasings([Request(text) for text in texts]) == [[0, 2, 5], [1, 4], [3]]
    one, two = template(*[f"Cancel {n} now" for n in "abc"]), template(*[f"Cancel it {n} now" for n in "abc"])
    assert fillings([one, two], "Cancel d now") == {"cancel": "d"}
    assert fillings([one, two], "Cancel it d now") is None, "two templates read it"


# Cases


def run(request: str, order: str, final: str, cents: int = 500, **beside: Any) -> Imported:
    function = {"name": "refund", "arguments": json.dumps({"order": order})}
    messages: list[Row] = [
        {"role": "user", "content": request},
        {"role": "assistant", "content": None, "tool_calls": [{"id": order, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": order, "content": json.dumps({"cents": cents})},
        {"role": "assistant", "content": final},
    ]
    return next(iter(READERS["openai"].read([{"messages": messages, **beside}])))


def spec(effect: Effect) -> dict[str, ToolSpec]:
    return {"refund": ToolSpec(name="refund", parameters={"type": "object", "properties": {}}, effect=effect)}


PROSE = "The refund is on its way."


def test_inputs_that_are_stated_are_taken() -> None:
    cases = cases_of([run("Hi", "A1", "500", inputs={"order": "A1"})], {})
    assert (cases.traces[0].inputs, cases.traces[0].answer, cases.inputs, cases.notes) == (
        {"order": "A1"},
        500,
        None,
        [],
    )


def test_a_request_that_is_an_object_is_the_inputs() -> None:
    cases = cases_of([run('{"order": "A1"}', "A1", "500"), run("Hi", "A2", "500")], {})
    assert cases.traces[0].inputs == {"order": "A1"}
    assert cases.left_out == {1: "its request is no JSON object, and other requests are"}


def test_requests_of_one_phrasing_give_a_template_and_others_are_told() -> None:
    runs = [run(f"Refund order {order}.", order, PROSE) for order in ("A1", "B2", "C3", "D4")]
    cases = cases_of([*runs, run("Hello there, E5 please", "E5", PROSE)], {})
    assert [trace.inputs for trace in cases.traces[:4]] == [{"order": order} for order in ("A1", "B2", "C3", "D4")]
    assert cases.left_out == {4: "its request fits no template of the other requests"}
    assert [str(made) for made in cases.templates] == ["Refund order {order}."]
    assert cases.notes[0] == "inputs: the slots of 'Refund order {order}.' (4 requests)"


def test_without_inputs_the_remedy_is_told() -> None:
    with pytest.raises(
        NoInputs, match=r"at most 1 .* same phrasing; give the inputs beside the messages .* at least 3"
    ):
        cases_of([run("Refund A1", "A1", PROSE), run("What about B2?", "B2", PROSE)], {})
    with pytest.raises(InputError, match="no trace has a tool call"):
        talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
        cases_of(list(READERS["openai"].read([talk])), {})


@pytest.mark.parametrize(
    ("final", "effect", "rule", "answer", "told"),
    [
        ("500", "write", None, 500, ""),
        ("refunded", "read", None, "refunded", ""),
        (PROSE, "write", None, None, "answers: the calls that write"),
        (PROSE, "unknown", None, {"cents": 500}, "answers: the results of the last calls"),
        (PROSE, "read", "text", PROSE, "answers: the last texts"),
        (PROSE, "read", "effects", None, "answers: the calls that write"),
        (PROSE, "write", "given", PROSE, "answers: the recorded answers"),
        ("500", "read", "last-result", {"cents": 500}, "answers: the results of the last calls"),
    ],
)
def test_the_answer_by_its_rule(final: str, effect: Effect, rule: AnswerRule | None, answer: Any, told: str) -> None:
    cases = cases_of([run("Hi", "A1", final, inputs={"order": "A1"})], spec(effect), rule)
    assert (cases.traces[0].answer, cases.traces[0].stop) == (answer, "finish")
    assert cases.notes == [] if not told else cases.notes[0].startswith(told)


def test_a_run_that_was_cut_off_has_no_answer() -> None:
    cut = run("Hi", "A1", PROSE, inputs={"order": "A1"})
    cut = Imported(cut.trace.model_copy(update={"stop": "tokens", "answer": None}), given=True)
    done = run("Hi", "A2", PROSE, inputs={"order": "A2"})
    assert cases_of([done, cut], {}, "last-result").left_out == {1: "it has no answer by the rule 'last-result'"}
    assert [trace.executed for trace in cases_of([done, cut], {}).traces] == [True, False]


def paid(order: str, *tools: str) -> Trace:
    """A run that calls tools on an order one after the other."""
    calls = [
        Called(call=ToolCall(tool=tool, args={"order": order}), observation=Observation(value="done"), turn=turn)
        for turn, tool in enumerate(tools)
    ]
    return Trace(inputs={"order": order}, events=tuple(calls), stop="finish", answer=PROSE)


def test_effects_are_equal_calls_in_their_order() -> None:
    tools = [
        ToolSpec(name=name, parameters={"type": "object", "properties": {"order": {"type": "string"}}}, effect="write")
        for name in ("charge", "ship")
    ]
    runs = [paid(order, "charge", "ship") for order in ("A1", "B2", "C3")]
    result = summarize(runs, tools, answer="effects")
    assert result.solved and [node.tool for node in result.document.nodes if isinstance(node, ToolNode)] == [
        "charge", "ship",
    ]  # fmt: skip
    assert not summarize([*runs, paid("D4", "ship", "charge")], tools, answer="effects").solved
    specs = {spec.name: spec for spec in tools}
    for other, call in (
        (paid("A1", "charge", "ship"), None),
        (paid("A1", "charge", "look", "ship"), None),
        (paid("A1", "ship", "charge"), "charge"),
        (paid("A1", "charge"), "ship"),
        (paid("A1", "charge", "ship", "ship"), "ship"),
        (paid("B2", "charge", "ship"), "charge"),
    ):
        found = other_effect(runs[0], other, {**specs, "look": spec("read")["refund"]})
        assert (found and found.tool) == call


# WorkBench


@pytest.fixture(scope="module")
def bench() -> WorkBench:
    return workbench()


def asked(instance: Instance) -> Request:
    """A query with the arguments of the right calls: those of GPT-4's run if it is right, and the golden ones."""
    right = instance.run.calls if instance.run is not None and instance.correct else ()
    return Request(instance.query, [pair for call in (*right, *instance.gold) for pair in call.call.args.items()])


def test_most_further_requests_of_a_phrasing_of_workbench_are_read(bench: WorkBench) -> None:
    phrased: dict[str, list[Instance]] = {}
    for instance in bench.instances:
        phrased.setdefault(instance.phrasing, []).append(instance)
    further = read = equal = 0
    for instances in phrased.values():
        made = template_of([asked(one) for one in instances[:3]])
        for one in instances[3:]:
            further += 1
            values = made.parse(one.query) if made else None
            read += values is not None
            true = {text.casefold() for text in (one.slots or {}).values()}
            equal += values is not None and {str(value).casefold() for value in values.values()} == true
    assert (further, read, equal) == (94, 84, 69), "further requests, those that are read, and those read right"
    assert read >= 0.85 * further and equal >= 0.6 * further


def test_phrasings_of_workbench_are_found(bench: WorkBench) -> None:
    groups = phrasings([asked(one) for one in bench.instances])
    mixed = [group for group in groups if len({bench.instances[number].phrasing for number in group}) > 1]
    large = [group for group in groups if len(group) >= 3]
    assert len(mixed) <= 3 and len(large) >= 70
    assert all(template_of([asked(bench.instances[number]) for number in group]) is not None for group in large)
