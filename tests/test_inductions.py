"""The likeliest program that reproduces the traces becomes the workflow; others become its rivals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flowmind.build.induction.induce import induce
from flowmind.build.induction.induction import Induction, Request
from flowmind.build.induction.inductions import induction_of, inductions_of, straight
from flowmind.build.induction.program import Block, CallStep, If, Return, Slot, StructuredProgram
from flowmind.build.induction.reading import read
from flowmind.build.induction.runs import UNSET, Call, Run
from flowmind.build.induction.scopes import Candidate, Context
from flowmind.run.running import run
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.callables import tool
from tools_registry.sandbox.environments import FunctionEnvironment

ORDERS = {"A1": {"cents": 900, "open": True}, "B2": {"cents": 700, "open": False}, "C3": {"cents": 650, "open": True}}


@tool(effect="read")
def order(id: str) -> dict[str, Any]:
    """An order."""
    return ORDERS[id]


@tool(effect="write")
def refund(id: str, cents: int, why: str = "") -> str:
    """Pays back."""
    return f"refund of {id}"


TOOLS = FunctionEnvironment([order, refund])
INPUTS = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


def case(number: int, id: str, why: str = "late", answer: Any = None) -> Run:
    calls = [Call("order", {"id": id}, ORDERS[id], 0)]
    if ORDERS[id]["open"]:
        calls.append(Call("refund", {"id": id, "cents": ORDERS[id]["cents"], "why": why}, f"refund of {id}", 1))
    given = f"refund of {id}" if ORDERS[id]["open"] else None
    return Run({"id": id}, tuple(calls), given if answer is None else answer, number, len(calls))


RUNS = [case(0, "A1"), case(1, "B2"), case(2, "C3")]


def slot(*texts: str, steps: tuple[tuple[int, int], ...] = ((1, 2), (3, 2))) -> Slot:
    return Slot(tuple(Candidate(1.0 + 2 * number, text) for number, text in enumerate(texts)), steps)


def program(
    condition: Slot | None = None, cents: Slot | None = None, why: Slot | None = None, bits: float = 20.0
) -> StructuredProgram:
    paid: Block = (
        CallStep(
            "refund", "paid", {"id": slot("id"), "cents": cents or slot("order['cents']"), "why": why or slot("'late'")}
        ),
        Return(slot("paid")),
    )
    body = (
        CallStep("order", "order", {"id": slot("id")}),
        If(condition or slot("order['open']", steps=((1, 2), (2, 2), (3, 2))), paid, (Return(slot("None")),)),
    )
    return StructuredProgram(body, bits)


def made(*programs: StructuredProgram, runs: Sequence[Run] = RUNS, query: str = "", **more: Any) -> Induction:
    request = Request(runs, TOOLS.specs, INPUTS, query, "refunds", **more)
    induction = induction_of(programs, request, Context(read(query)))
    assert induction is not None
    return induction


def ids(induction: Induction) -> dict[str, list[str]]:
    return {place.id: [one.text for one in place.alternatives] for place in induction.places}


def test_what_remains_in_doubt_is_a_place_and_gives_rivals() -> None:
    induction = made(program(slot("order['open']", "order['cents'] != 700", "order['cents'] > 700")))
    assert induction.sound
    assert check(induction.workflow, TOOLS) == []
    # the third candidate does not reproduce the traces
    assert ids(induction) == {"if": ["order['open']", "order['cents'] != 700"]}
    (rival,) = induction.workflow.rivals
    assert (rival.place, rival.bits) == ("if", 2.0)
    other = induction.workflow.rival(rival)
    assert run(other, {"id": "B2"}, TOOLS).answer is None
    assert [one.workflow.document for one in induction.places[0].alternatives[1:]] != [other.document]
    assert Workflow.model_validate_json(induction.workflow.document) == induction.workflow


def test_evidence_names_the_steps_and_the_guesses() -> None:
    induction = made(program(slot("order['open']", "order['open'] != False")))
    parts = {(part.node, part.field): part for part in induction.workflow.evidence}
    assert parts["paid", "cents"].steps == ((1, 2), (3, 2))
    assert parts["paid", "cents"].guess == ""
    close = replace(slot("order['open']"), candidates=(Candidate(1.0, "order['open']"), Candidate(1.1, "id != 'B2'")))
    guesses = {part.node: part.guess for part in made(program(close)).workflow.evidence}
    assert guesses["if"] == "2 conditions agree with the traces"
    alone = {
        part.field: part.guess
        for part in made(program(cents=slot("650", steps=((3, 2),))), runs=RUNS[2:]).workflow.evidence
    }
    assert alone["cents"] == "one trace alone shows this constant, and the text does not name it"


def test_a_program_that_does_not_reproduce_the_traces_loses_its_place() -> None:
    wrong, right = program(cents=slot("order['cents'] + 1"), bits=10.0), program()
    induction = made(wrong, right)
    assert induction.sound
    assert induction.bits == 20.0
    assert not made(wrong).sound
    assert "does not fit: trace 1" in made(wrong).refused[-1]


def test_other_structures_are_rivals() -> None:
    told = program().body[0]
    pays = If(slot("order['cents'] != 700"), program().body[1].then, ())  # type: ignore[union-attr]
    other = StructuredProgram((told, pays, Return(slot("None"))), 23.0)
    induction = made(program(), other)
    (place,) = induction.places
    assert (place.id, place.kind) == ("structure", "structure")
    assert [one.bits for one in place.alternatives] == [0.0, 3.0]
    chosen = made(program(), other, chosen={"structure": place.alternatives[1].text})
    assert chosen.bits == 23.0
    assert chosen.places == ()


def test_a_chosen_expression_stands_and_has_no_rivals() -> None:
    condition = slot("order['open']", "order['cents'] != 700")
    induction = made(program(condition), chosen={"if": "order['cents'] != 700"})
    assert induction.places == ()
    assert induction.workflow.by_id["if"].expr == "order['cents'] != 700"  # type: ignore[union-attr]
    own = made(program(condition), chosen={"if": "order['open'] and order['cents'] > 1"})
    assert own.workflow.by_id["if"].expr == "order['open'] and order['cents'] > 1"  # type: ignore[union-attr]
    assert own.sound
    assert not made(program(condition), chosen={"if": "order['cents'] > 800"}).sound


def test_refuted_workflows_are_left_out() -> None:
    condition = slot("order['open']", "order['cents'] != 700")
    found = made(program(condition))
    rival = found.places[0].alternatives[1].workflow
    assert made(program(condition), excluded=[rival.document]).places == ()
    assert not made(program(condition), excluded=[found.workflow.document]).sound


def test_what_nothing_explains_is_not_passed_on() -> None:
    induction = made(program(cents=Slot((), ((1, 2), (3, 2)))))
    assert induction.unexplained == ("paid.cents",)
    assert not induction.sound
    assert induction.refused[:2] == (
        "refund, cents: 900 comes from no input and no tool result",
        "refund, cents: 650 comes from no input and no tool result",
    )


def test_a_constant_of_one_trace_is_not_passed_on() -> None:
    told = "'kind ' + id if order['cents'] > 800 else 'late'"
    runs = [case(0, "A1", "kind A1"), *RUNS[1:]]
    induction = made(program(why=slot(told)), runs=runs)
    assert induction.refused == (
        'refund, why: "kind " comes from no input and no tool result',
        'refund, why: "late" comes from no input and no tool result',
    )
    assert made(program(why=slot(told)), runs=runs, query="Say 'kind ' or 'late'.").refused == ()
    assert made(program()).refused == ()


def test_a_condition_that_knows_a_trace_does_not_decide_about_a_write() -> None:
    induction = made(program(slot("id != 'B2'")))
    assert induction.refused == ("id != 'B2': \"B2\" occurs in trace 2 only",)
    assert made(program(slot("id != 'B2'")), query="All but B2.").sound


def test_several_workflows_come_in_their_order() -> None:
    programs = [program(), program(slot("order['cents'] != 700"), bits=22.0)]
    found = inductions_of(programs, Request(RUNS, TOOLS.specs, INPUTS, "", "refunds"), Context(read("")))
    assert [one.bits for one in found] == [20.0, 22.0]
    assert inductions_of([], Request(RUNS, TOOLS.specs, INPUTS, "", "refunds"), Context(read(""))) == []


def test_the_calls_of_one_run_in_order() -> None:
    workflow = straight(RUNS[0], INPUTS, "replayed", "")
    assert [node.kind for node in workflow.nodes] == ["start", "tool", "tool", "end"]
    assert check(workflow, TOOLS) == []
    assert run(workflow, {"id": "C3"}, TOOLS).answer == "refund of C3"
    open_ = straight(replace(RUNS[0], answer=UNSET), INPUTS, "replayed", "")
    assert run(open_, {"id": "C3"}, TOOLS).answer is None


def test_a_number_that_few_traces_give_is_in_doubt_where_it_would_be_used() -> None:
    told = StructuredProgram(
        (
            CallStep("order", "order", {"id": slot("id")}),
            Return(slot("order['cents'] if order['open'] else 4711", steps=((1, 2), (2, 2), (3, 2)))),
        ),
        20.0,
    )
    runs = [
        Run({"id": id}, (Call("order", {"id": id}, ORDERS[id], 0),), answer, number, 1)
        for number, (id, answer) in enumerate({"A1": 900, "B2": 4711, "C3": 650}.items())
    ]
    induction = made(told, runs=runs)
    assert induction.sound
    assert induction.places == ()
    (rival,) = induction.workflow.rivals
    assert rival.says == "not 4711: few traces show it"
    other = induction.workflow.rival(rival)
    assert [run(other, {"id": id}, TOOLS).answer for id in ("A1", "B2")] == [900, 4712]
    assert made(told, runs=runs, query="Answer 4711 if it is closed.").workflow.rivals == ()


def test_inputs_may_be_named_like_keywords() -> None:
    runs = [Run({"from": one.inputs["id"]}, one.calls, one.answer, one.number, one.steps) for one in RUNS]
    inputs = {"type": "object", "properties": {"from": {"type": "string"}}, "required": ["from"]}
    induction = induce(Request(runs, TOOLS.specs, inputs, "Refund the order if it is open, because it is late.", "x"))[
        0
    ]
    assert not induction.problems
    assert run(induction.workflow, {"from": "C3"}, TOOLS).answer == "refund of C3"
    workflow = straight(runs[0], inputs, "replayed", "")
    assert check(workflow, TOOLS) == []
    assert run(workflow, {"from": "C3"}, TOOLS).answer == "refund of C3"


def test_the_first_element_has_the_last_as_a_rival_if_no_trace_tells_them_apart() -> None:
    told = StructuredProgram((Return(slot("ids[0]", steps=((1, 1), (2, 1)))),), 5.0)
    inputs = {"type": "object", "properties": {"ids": {"type": "array"}}, "required": ["ids"]}

    def says(*lists: list[str]) -> list[str]:
        runs = [Run({"ids": ids}, (), ids[0], number, 0) for number, ids in enumerate(lists)]
        induction = induction_of([told], Request(runs, TOOLS.specs, inputs, "", "first"), Context(read("")))
        assert induction is not None
        return [rival.says for rival in induction.workflow.rivals]

    assert says(["a"], ["b"]) == ["ids[-1]"]
    assert says(["a"], ["b", "c"]) == []
