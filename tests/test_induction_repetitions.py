"""Repetitions that may have no round, and results that want a reader."""

from __future__ import annotations

from typing import Any

from flowmind.build.induction.induce import induce
from flowmind.build.induction.induction import Request
from flowmind.build.induction.program import CallStep, Return, Slot, StructuredProgram
from flowmind.build.induction.purposes import with_purposes
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
