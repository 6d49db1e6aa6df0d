"""Recorded conversations without inputs as executions of a task: the inputs are read off what the users said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import count, pairwise
from keyword import iskeyword
from typing import Any

from flowmind.dialogue.executions import Executions, as_execution, schema_of, slot_names, uses_of, values_of
from flowmind.trace.events import Called, Said, Trace
from flowmind.trace.scenario import OUTCOME
from flowmind.trace.telling import tells
from tools_registry.specs.spec import ToolSpec

BOOKKEEPING = frozenset({
    "think", "thought", "thinking", "sequential_thinking", "sequentialthinking", "reflect", "scratchpad", "plan",
    "update_plan", "todo_write", "todowrite", "write_todos",
})  # fmt: skip
"""Tools with which agents keep notes for themselves."""
MESSAGE = "message"
"""The input with the user's whole first message, where nothing can be read off it."""
_SENTENCE = 4
"""Words from which a text answer is a sentence. Its wording is the agent's; only the values in it count."""
_COMMON = 0.4
"""The share of a message's words that must be common to all messages, for the other words to be inputs."""
_FEW = 3
_WORD = re.compile(r"[^\s,;:!?()\"]*[^\s,;:!?().\"]")
_PLAIN = re.compile(r"[a-z]{3,}")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def is_conversation(trace: Trace) -> bool:
    """Whether a trace has texts of a user and no inputs."""
    return not trace.inputs and any(True for _ in _user_texts(trace))


def conversations_of(traces: Sequence[Trace], specs: Mapping[str, ToolSpec]) -> Executions:
    """Conversations with users about one task as its executions.

    All texts of the user are sources. An argument is an input if a text of the user has its value, or if no earlier
    result has it and it differs between the conversations. Words in which the first messages differ, while the rest of
    them is the same, are inputs too. If there is neither, the whole first message is one. Calls with which the agent
    keeps notes, such as `think`, are left out, and so are calls with a value that the user changed later.

    An answer that is a sentence counts by the values of results that it tells, as an object of the names that all
    conversations with the same last call tell. It is null if there are none: then only the calls count.

    Args:
        traces: The conversations.
        specs: The tools.
    """
    notes: list[str] = []
    traces, tools = without_bookkeeping(traces, specs)
    if tools:
        notes.append(f"calls of {', '.join(tools)} are left out: with them the agent keeps notes for itself")
    uses = [list(uses_of(trace)) for trace in traces]
    names = slot_names(uses)
    values = [values_of(given, names) for given in uses]
    words = _varying_words([next(_user_texts(trace), "") for trace in traces], values)
    if not words and not any(values):
        words = [{MESSAGE: text} for text in (next(_user_texts(trace), "") for trace in traces)]
    values = [{**dict.fromkeys(names.values()), **given} for given in values]
    if words:
        values = [{**given, **more} for given, more in zip(values, words, strict=True)]
    schema = schema_of(values, specs, names)
    notes.append(f"inputs read off the conversations: {', '.join(schema['properties']) or 'none'}")
    wordy = any(_is_sentence(trace.answer) or not trace.executed for trace in traces)
    made = [
        as_execution(trace, given, names).model_copy(update={"success": trace.success})
        for trace, given in zip(traces, values, strict=True)
    ]
    if wordy:
        answers = _told(made)
        made = [trace.model_copy(update={"answer": answer}) for trace, answer in zip(made, answers, strict=True)]
        facts = sorted({name for answer in answers for name in answer or ()})
        told = f"the values that they tell: {', '.join(facts)}" if facts else "nothing that all of them tell"
        notes.append(f"answers are compared by {told}; their wording does not count")
    else:
        made = [trace.model_copy(update={"answer": old.answer}) for trace, old in zip(made, traces, strict=True)]
    return Executions(made, schema, notes)


def without_bookkeeping(traces: Sequence[Trace], specs: Mapping[str, ToolSpec]) -> tuple[list[Trace], list[str]]:
    """Traces without the calls with which an agent keeps notes, and the tools of these calls."""
    called = sorted({call.call.tool for trace in traces for call in trace.calls})
    writing = {name for name, spec in specs.items() if spec.effect == "write"}
    tools = [tool for tool in called if tool.casefold() in BOOKKEEPING and tool not in writing]
    return [_without(trace, tools) if tools else trace for trace in traces], tools


def _without(trace: Trace, tools: Sequence[str]) -> Trace:
    events = tuple(event for event in trace.events if not (isinstance(event, Called) and event.call.tool in tools))
    return trace.model_copy(update={"events": events})


def _user_texts(trace: Trace) -> Iterator[str]:
    return (event.text for event in trace.events if isinstance(event, Said) and event.role == "user")


def _is_sentence(answer: Any) -> bool:
    return isinstance(answer, str) and len(answer.split()) >= _SENTENCE


def _told(traces: Sequence[Trace]) -> list[dict[str, Any] | None]:
    """For each execution the facts that all executions with the same last call tell; None if there are none."""
    facts = [{name: value for name, value in trace.answer.items() if name != OUTCOME} for trace in traces]
    last = [trace.calls[-1].call.tool if trace.calls else "" for trace in traces]
    common: dict[str, set[str]] = {}
    for tool, told in zip(last, facts, strict=True):
        common[tool] = common.get(tool, set(told)) & set(told)
    kept = [
        {name: value for name, value in told.items() if name in common[tool]}
        for tool, told in zip(last, facts, strict=True)
    ]
    return [told or None for told in kept]


# Words in which messages differ


def _varying_words(messages: Sequence[str], values: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each message the words in which it differs from the others, by names; empty if the messages are not alike.

    Words that tell the value of another input are left out.
    """
    tokens = [_WORD.findall(message) for message in messages]
    anchors = _anchors(tokens)
    if len(messages) < 2 or len(anchors) < max(_FEW, _COMMON * sum(map(len, tokens)) / len(tokens)):
        return []
    ends = [(-1,) * len(tokens), *anchors, tuple(map(len, tokens))]
    rows: list[dict[str, Any]] = [{} for _ in messages]
    for before, after in pairwise(ends):
        spans = [words[start + 1 : end] for words, start, end in zip(tokens, before, after, strict=True)]
        texts = [" ".join(span) for span in spans]
        if not all(texts) or len({text.casefold() for text in texts}) == 1:
            continue
        if all(_holds(text, given) for text, given in zip(texts, values, strict=True)):
            continue
        name = _named(
            tokens[0][before[0]] if before[0] >= 0 else "", {*rows[0], *(key for row in values for key in row)}
        )
        numbers = all(_NUMBER.fullmatch(text) for text in texts)
        for row, text in zip(rows, texts, strict=True):
            row[name] = (float(text) if "." in text else int(text)) if numbers else text
    return rows if rows and rows[0] else []


def _anchors(tokens: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    """The places of the words that all messages have in the same order: for each word its index in every message."""
    if not tokens:
        return []
    first = [word.casefold() for word in tokens[0]]
    places: list[dict[int, int]] = []
    for words in tokens[1:]:
        matcher = SequenceMatcher(None, first, [word.casefold() for word in words], autojunk=False)
        blocks = matcher.get_matching_blocks()
        places.append({block.a + step: block.b + step for block in blocks for step in range(block.size)})
    common = [place for place in range(len(first)) if all(place in matched for matched in places)]
    return [(place, *(matched[place] for matched in places)) for place in common]


def _holds(text: str, values: Mapping[str, Any]) -> bool:
    """Whether words tell the value of an input."""
    return any(value is not None and tells(text, value) for value in values.values())


def _named(word: str, taken: set[str]) -> str:
    """A name for an input: the word before it, or `words`."""
    name = word.casefold()
    if not _PLAIN.fullmatch(name) or iskeyword(name):
        name = "words"
    numbered = (f"{name}_{number}" for number in count(2))
    return name if name not in taken else next(other for other in numbered if other not in taken)
