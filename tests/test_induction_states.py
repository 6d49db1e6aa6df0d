"""Loops that carry states, and results and numbers that want a use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowmind.build.induction.induce import induce
from flowmind.build.induction.induction import Request
from flowmind.build.induction.program import CallStep, Return, Slot, StructuredProgram
from flowmind.build.induction.purposes import with_mentions, with_purposes
from flowmind.build.induction.reading import read
from flowmind.build.induction.runs import Call, Run
from flowmind.build.induction.scopes import Candidate
from flowmind.run.running import run_batch
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.callables import tool
from tools_registry.sandbox.environments import FunctionEnvironment


def without_first(text: str, part: str) -> str:
    """A text without the first occurrence of a part."""
    return text.replace(part, "", 1)


SANDBOX = FunctionEnvironment([tool(effect="read")(without_first)])
INPUTS = {"type": "object", "properties": {"row": {"type": "string"}}, "required": ["row"]}


def run_on(row: str, number: int) -> Run:
    calls: list[Call] = []
    left = row
    while "ab" in left:
        args = {"text": left, "part": "ab"}
        left = without_first(**args)
        calls.append(Call("without_first", args, left, len(calls)))
    return Run({"row": row}, tuple(calls), {"left": left, "moves": len(calls)}, number, len(calls))


def answers(workflow: Workflow, *rows: str) -> list[Any]:
    return [trace.answer for trace in run_batch(workflow, [{"row": row} for row in rows], SANDBOX)]


def test_a_repetition_of_a_carried_text_may_have_no_round() -> None:
    rows = ("cab", "aabbcab", "abcabdaabb")
    runs = [run_on(row, number) for number, row in enumerate(rows)]
    made = induce(Request(runs, SANDBOX.specs, INPUTS, "Take out 'ab' as long as the row has it.", "game"))
    assert made[0].sound
    held = ("cba", "", "abab", "bbaa")
    assert answers(made[0].workflow, *held) == [run_on(row, 0).answer for row in held]


def total(numbers: list[int]) -> int:
    """The sum of numbers."""
    return sum(numbers)


def doubled(numbers: list[int]) -> list[int]:
    """Each number twice."""
    return [2 * number for number in numbers]


def is_heavy(weight: int) -> bool:
    """Whether a weight is above 10."""
    return weight > 10


def with_item(items: list[int], item: int) -> list[int]:
    """A list with one item more."""
    return [*items, item]


TOOLS = FunctionEnvironment([tool(effect="read")(one) for one in (total, doubled, is_heavy, with_item)])


class Agent:
    """Calls the tools and keeps the calls."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def call(self, function: Any, **args: Any) -> Any:
        value = function(**args)
        self.calls.append(Call(function.__name__, args, value, len(self.calls)))
        return value

    def run(self, inputs: dict[str, Any], answer: Any, number: int) -> Run:
        return Run(inputs, tuple(self.calls), answer, number, len(self.calls))


def grown(numbers: list[int], number: int = 0) -> Run:
    agent, own, years = Agent(), numbers, 0
    while agent.call(total, numbers=own) < 50:
        own = agent.call(doubled, numbers=own)
        years += 1
    return agent.run({"numbers": numbers}, {"years": years, "numbers": own}, number)


def sorted_out(weights: list[int], number: int = 0) -> Run:
    agent, heavy = Agent(), list[int]()
    for weight in weights:
        if agent.call(is_heavy, weight=weight):
            heavy = agent.call(with_item, items=heavy, item=weight)
    return agent.run({"weights": weights}, heavy, number)


def learned(runs: Sequence[Run], query: str) -> Workflow:
    schema = {"type": "array", "items": {"type": "integer"}}
    inputs = {"type": "object", "properties": dict.fromkeys(runs[0].inputs, schema), "required": [*runs[0].inputs]}
    made = induce(Request(runs, TOOLS.specs, inputs, query, "learned"))
    assert made[0].sound
    return made[0].workflow.model_copy(update={"rivals": ()})


def given(workflow: Workflow, inputs: Sequence[dict[str, Any]]) -> list[Any]:
    return [trace.answer for trace in run_batch(workflow, inputs, TOOLS)]


def test_a_loop_tests_the_last_result_before_its_first_round() -> None:
    shown = ([3, 4], [1, 1, 2], [20, 8])
    workflow = learned([grown(one, place) for place, one in enumerate(shown)], "Double them until they total 50.")
    held = [grown(one) for one in ([50], [60, 1], [1], [12, 13], [7, 7, 7])]
    assert given(workflow, [run.inputs for run in held]) == [run.answer for run in held], "some need no round"


def test_a_state_stays_as_it_is_where_a_round_does_not_change_it() -> None:
    shown = ([3, 14, 5, 16], [11, 12, 2], [4, 30])
    workflow = learned([sorted_out(one, place) for place, one in enumerate(shown)], "List the heavy ones.")
    held = [sorted_out(one) for one in ([], [1, 2], [20, 1, 21, 2, 22], [10, 11])]
    assert given(workflow, [run.inputs for run in held]) == [run.answer for run in held]


def of(text: str, *others: str) -> Slot:
    return Slot((Candidate(3.0, text), *(Candidate(4.0 + place, other) for place, other in enumerate(others))))


def test_a_result_that_nothing_reads_is_preferred_to_another_one() -> None:
    body = (
        CallStep("without_first", "one", {"text": of("row"), "part": of("'a'")}),
        CallStep("without_first", "two", {"text": of("row"), "part": of("'b'")}),
        Return(of("[one, one]", "[two, two]", "[one, two]")),
    )
    program = StructuredProgram(body, 20.0)
    preferred = with_purposes(program, {"without_first"}).body[-1]
    assert isinstance(preferred, Return)
    assert preferred.value.candidates[0].text == "[one, two]"
    assert with_purposes(program, set()) == program, "a call that changes something needs no reader"


def test_a_number_that_the_text_names_is_preferred_to_another_one() -> None:
    program = StructuredProgram((Return(of("len(row) > 3", "len(row) >= 7", "len(row) > 9")),), 10.0)
    preferred = with_mentions(program, read("At least 7, or 1.")).body[0]
    assert isinstance(preferred, Return)
    assert preferred.value.candidates[0].text == "len(row) >= 7"
    assert with_mentions(program, read("At least 12.")).body == program.body
    kept = with_mentions(program, read("At least 3, or 7.")).body[0]
    assert isinstance(kept, Return)
    assert kept.value.candidates[0].text == "len(row) > 3", "a number of the text is not given up for another"
