"""Recorded conversations without inputs become executions of a task."""

from __future__ import annotations

from typing import Any

import pytest

from flowmind import summarize
from flowmind.base.errors import InputError
from flowmind.dialogue.conversations import conversations_of
from flowmind.formats.openai_messages import read_trace
from flowmind.trace.events import Trace
from tools_registry.specs.spec import ToolSpec

Message = dict[str, Any]


def call(number: int, tool: str, args: str, result: str) -> list[Message]:
    function = {"name": tool, "arguments": args}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{number}", "function": function}]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def agent(text: str) -> Message:
    return {"role": "assistant", "content": text}


def read(*messages: Message | list[Message], **marks: Any) -> Trace:
    flat = [part for message in messages for part in (message if isinstance(message, list) else [message])]
    return read_trace({"messages": flat, **marks})


def refund(order: str, amount: int, wording: str) -> Trace:
    return read(
        user(f"I want my money back for order {order}."),
        agent("Which currency?"),
        user("In EUR please."),
        call(1, "think", '{"thought": "I look it up first"}', ""),
        call(2, "get_order", f'{{"order_id": "{order}"}}', f'{{"id": "{order}", "total": {amount}}}'),
        call(
            3,
            "refund",
            f'{{"order_id": "{order}", "cents": {amount}, "currency": "EUR"}}',
            f'{{"receipt": "R{amount}"}}',
        ),
        agent(wording),
    )


def test_what_any_turn_of_the_user_says_is_an_input_and_wording_does_not_count() -> None:
    traces = [refund("A1", 500, "Done: the receipt is R500."), refund("B7", 90, "You get receipt R90, thank you!")]
    made = conversations_of(traces, {})
    assert made.traces[0].inputs == {"order_id": "A1", "currency": "EUR"}
    assert [trace.answer for trace in made.traces] == [{"receipt": "R500"}, {"receipt": "R90"}]
    assert all([step.call.tool for step in trace.calls] == ["get_order", "refund"] for trace in made.traces)
    assert any(note.startswith("calls of think are left out") for note in made.notes)


def test_a_tool_that_writes_is_no_bookkeeping() -> None:
    trace = read(user("Keep a plan"), call(1, "plan", '{"text": "x"}', "{}"), agent("Done with all of it."))
    writes = ToolSpec(name="plan", description="Stores a plan.", parameters={"type": "object"}, effect="write")
    assert [step.call.tool for step in conversations_of([trace], {"plan": writes}).traces[0].calls] == ["plan"]
    assert conversations_of([trace], {}).traces[0].calls == ()


def test_words_in_which_first_messages_differ_are_inputs() -> None:
    plots = [
        read(
            user(f"please plot the total visits metric on {day} for me"),
            call(1, "plot", f'{{"metric": "total_visits", "day": "{iso}"}}', '"saved"'),
            agent("The plot is saved as you asked."),
        )
        for day, iso in (("October 10", "2023-10-10"), ("March 3", "2023-03-03"), ("May 21", "2023-05-21"))
    ]
    made = conversations_of(plots, {})
    assert [trace.inputs["words"] for trace in made.traces] == ["October 10", "March 3", "May 21"]


def test_messages_that_are_not_alike_are_inputs_as_they_are() -> None:
    texts = ["Could you tell Ann that I am late?", "please let the team know about lunch"]
    made = conversations_of([read(user(text), agent("I can not do this at all.")) for text in texts], {})
    assert [trace.inputs for trace in made.traces] == [{"message": text} for text in texts]


def test_a_conversation_may_end_with_a_call() -> None:
    ended = [*call(1, "transfer", '{"summary": "Ann wants A1 back"}', "null")]
    trace = read(user("I am Ann, about A1"), ended)
    assert not trace.executed
    (made,) = conversations_of([trace], {}).traces
    assert made.executed and made.answer is None and made.calls[0].call.tool == "transfer"


def test_marks_of_success_are_read() -> None:
    messages = [user("Hi"), agent("2")]
    assert read_trace({"messages": messages, "reward": 0.0}).success is False
    assert read_trace({"traj": messages, "reward": 1.0}).success is True
    assert read_trace({"messages": messages, "success": False, "reward": 1}).success is False
    assert read_trace({"messages": messages}).success is None
    with pytest.raises(ValueError, match="its reward is string; give a number"):
        read_trace({"messages": messages, "reward": "good"})


def test_null_is_an_answer() -> None:
    trace = read_trace({"messages": [user("Hi"), *call(1, "send", "{}", "null")], "answer": None})
    assert trace.executed and trace.answer is None


def test_a_failed_conversation_is_left_out_and_said_so() -> None:
    def sums(a: int, b: int) -> int:
        """Adds."""
        return a + b

    entries = [
        {
            "inputs": {"a": a, "b": 2},
            "messages": [*call(1, "sums", f'{{"a": {a}, "b": 2}}', str(a + 2)), agent(said)],
            **mark,
        }
        for a, said, mark in ((1, "3", {}), (5, "7", {"reward": 1}), (6, "9", {"reward": 0}))
    ]
    result = summarize(entries, sums)
    assert result.solved and any("trace 3 is left out: its mark says that it failed" in note for note in result.notes)
    with pytest.raises(InputError, match="none of the 1 traces"):
        summarize(entries[2:], sums)
