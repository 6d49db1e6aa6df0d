"""Scores of single turns against references, computed by hand."""

from __future__ import annotations

from typing import Any

import pytest

from flowmind.evaluation.dialogue import Counts
from flowmind.evaluation.turn_level import TurnReply, score_turn
from flowmind.trace.scenario import Reference
from tools_registry.specs.spec import ToolCall, ToolSpec

SPECS = {
    "book": ToolSpec(
        name="book",
        parameters={
            "type": "object",
            "properties": {"day": {"type": "string"}, "seats": {"type": "integer", "default": 1}},
            "required": ["day"],
        },
    )
}
BOOK = ToolCall(tool="book", args={"day": "monday"})


def reference(**fields: Any) -> Reference:
    return Reference(id="r", session="s", oow=False, events=(), **fields)


def test_a_gold_call_passes_if_it_is_equal() -> None:
    gold = reference(call=BOOK, node="n4")
    right = score_turn(TurnReply(call=ToolCall(tool="book", args={"day": "Monday", "seats": 1})), gold, SPECS)
    assert right.passed and right.calls.f1 == 100 and right.parameters == Counts(matched=2, given=2, gold=2)
    wrong = score_turn(TurnReply(call=ToolCall(tool="book", args={"day": "friday"})), gold, SPECS)
    assert not wrong.passed and wrong.calls.f1 == 0 and wrong.names.f1 == 100
    assert wrong.parameters == Counts(matched=1, given=2, gold=2)


def test_nothing_against_nothing_counts_no_call() -> None:
    score = score_turn(TurnReply(text="Which day?", asks=("day",)), reference(text="Which day?", asks=("day",)), SPECS)
    assert score.passed and score.calls.f1 is None and score.parameters.precision is None


def test_parameters_count_with_their_names() -> None:
    gold = reference(call=ToolCall(tool="move", args={"start": "A", "end": "B"}))
    swapped = score_turn(TurnReply(call=ToolCall(tool="move", args={"start": "B", "end": "A"})), gold, {})
    assert swapped.parameters == Counts(matched=0, given=2, gold=2)


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        (TurnReply(text="Reference B7. Which day?", asks=("day", "seats")), True),
        (TurnReply(text="Reference B7.", asks=()), False),
        (TurnReply(text="Reference B77. Which day?", asks=("day",)), False),
        (TurnReply(call=BOOK), False),
        (TurnReply(), False),
    ],
)
def test_a_gold_text_passes_if_it_tells_its_facts_and_asks_for_its_slots(reply: TurnReply, passed: bool) -> None:
    gold = reference(text="Your reference is B7. Which day?", asks=("day",), tells={"reference": "B7"})
    assert score_turn(reply, gold, SPECS).passed is passed


def test_a_node_counts_if_it_is_named_or_asked_for() -> None:
    gold = reference(call=BOOK, node="n4")
    assert score_turn(TurnReply(call=BOOK, node="n4"), gold, SPECS).node is True
    assert score_turn(TurnReply(call=BOOK, node="n5"), gold, SPECS).node is False
    assert score_turn(TurnReply(call=BOOK), gold, SPECS).node is None
    assert score_turn(TurnReply(call=BOOK), gold, SPECS, with_nodes=True).node is False
