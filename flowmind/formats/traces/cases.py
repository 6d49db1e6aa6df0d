"""Recorded runs as cases of one task: each run has its inputs and its answer.

Agents are often asked in prose and answer in prose. The inputs are then read off the requests with a template of each
phrasing, and the answer is what the calls did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, get_args

from flowmind.base.errors import InputError
from flowmind.formats.conversation import json_or_text
from flowmind.formats.traces.imported import Imported
from flowmind.formats.traces.templates import FEWEST, Request, Template, fillings, phrasings, template_of
from flowmind.trace.events import Said, Trace
from tools_registry.specs.schema import JSONSchema, json_equal
from tools_registry.specs.spec import ToolCall, ToolSpec

AnswerRule = Literal["given", "text", "last-result", "effects"]
ANSWER_RULES: tuple[AnswerRule, ...] = get_args(AnswerRule)
_SENTENCE = 4
"""Words from which a text answer is prose."""
_SAID: dict[AnswerRule, str] = {
    "given": "the recorded answers",
    "text": "the last texts of the agent",
    "last-result": "the results of the last calls; the texts of the agent do not count",
    "effects": "the calls that write, in their order; the texts of the agent do not count",
}
_REMEDY = (
    'give the inputs beside the messages ({"inputs": {...}, "messages": [...]}), write each request as one JSON '
    f"object, or record at least {FEWEST} requests of one phrasing"
)


class NoInputs(InputError):
    """The recordings do not state the inputs of the cases, and they cannot be read off the requests."""


class Cases(NamedTuple):
    """Recorded runs as cases of one task."""

    traces: list[Trace]
    """All traces, in their order."""
    inputs: JSONSchema | None
    """JSON Schema of the inputs, if they were read off the requests."""
    templates: tuple[Template, ...]
    """The templates by which the inputs were read."""
    left_out: dict[int, str]
    """The traces that are no cases, by index, with the reason."""
    notes: list[str]
    """Where inputs and answers come from."""
    rule: AnswerRule = "given"
    """What the answer of a case is."""


def cases_of(imported: Sequence[Imported], specs: Mapping[str, ToolSpec], answer: AnswerRule | None = None) -> Cases:
    """Recorded runs as cases of one task.

    The inputs are those that the recordings state; else the request, if it is one JSON object; else the slots of a
    template of at least three requests of one phrasing.

    Args:
        imported: The runs.
        specs: The tools, for the effects of calls.
        answer: What the answer of a case is: `given` (as recorded), `text` (the last text of the agent), `last-result`
            (the result of the last successful call) or `effects` (the calls of tools that write, in order: the answer
            is then null, and the calls are compared). By default `given` if all recorded answers are values and not
            prose, else `effects` if a tool that is marked `write` was called, else `last-result`. With a rule, a run
            that ends with a call has an answer, too; without one it may have been cut off.

    Raises:
        NoInputs: If the inputs are not known.
        InputError: If no run has a call.
    """
    left_out: dict[int, str] = {}
    for number, one in enumerate(imported):
        if not one.trace.calls and one.trace.source is not None:
            left_out[number] = "it has no calls"
    if len(left_out) == len(imported):
        raise InputError("no trace has a tool call, so that there is nothing to make a workflow of")
    reading = _Inputs(imported, left_out)
    reading.read()
    left_out |= reading.left_out
    traces = [
        one.trace.model_copy(update={"inputs": reading.inputs.get(number, one.trace.inputs)})
        for number, one in enumerate(imported)
    ]
    kept = [number for number in range(len(traces)) if number not in left_out]
    rule = answer or rule_of([traces[number] for number in kept], specs)
    notes = list(reading.notes)
    if answer is not None or rule != "given":
        notes.append(f"answers: {_SAID[rule]}" + ("" if answer else " (the default; --answer chooses others)"))
    for number in kept:
        if answer is None and not traces[number].executed:
            continue  # it may have been cut off
        made = answered(traces[number], rule)
        if made is None:
            left_out[number] = f"it has no answer by the rule {rule!r}"
        else:
            traces[number] = made
    return Cases(traces, reading.schema, tuple(reading.templates), left_out, notes, rule)


def rule_of(traces: Sequence[Trace], specs: Mapping[str, ToolSpec]) -> AnswerRule:
    """The default rule for the answers of traces; see `cases_of`."""
    answers = [trace.answer for trace in traces if trace.executed]
    if answers and not any(isinstance(answer, str) and len(answer.split()) >= _SENTENCE for answer in answers):
        return "given"
    called = {call.call.tool for trace in traces for call in trace.calls if call.observation.ok}
    return "effects" if any(specs[tool].effect == "write" for tool in called & specs.keys()) else "last-result"


def answered(trace: Trace, rule: AnswerRule) -> Trace | None:
    """A trace with its answer by a rule; None if it has none. A run that was cut off has no answer."""
    if rule == "given":
        return trace
    done = trace.executed or trace.stop == "turns"
    if not done:
        return None
    if rule == "effects":
        return trace.model_copy(update={"answer": None, "stop": "finish"})
    values: list[Any]
    if rule == "last-result":
        values = [call.observation.value for call in trace.calls if call.observation.ok]
    else:
        values = [event.text for event in trace.events if isinstance(event, Said) and event.role == "agent"]
    return trace.model_copy(update={"answer": values[-1], "stop": "finish"}) if values else None


def other_effect(trace: Trace, run: Trace, specs: Mapping[str, ToolSpec]) -> ToolCall | None:
    """The first successful call of a trace in whose place a run makes another one; None if their effects are equal.

    Only calls of tools that are not marked `read` count. Equal effects are the same calls in the same order.
    """
    recorded, made = (
        [
            call.call
            for call in calls.calls
            if call.observation.ok and (call.call.tool not in specs or specs[call.call.tool].effect != "read")
        ]
        for calls in (trace, run)
    )
    for call, other in zip_longest(recorded, made):
        if call is None or other is None or call.tool != other.tool or not json_equal(call.args, other.args):
            return call or other
    return None


@dataclass
class _Inputs:
    """The inputs of runs, by the first way that works."""

    imported: Sequence[Imported]
    skipped: Mapping[int, str]
    inputs: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    left_out: dict[int, str] = field(default_factory=dict[int, str])
    templates: list[Template] = field(default_factory=list[Template])
    notes: list[str] = field(default_factory=list[str])
    schema: JSONSchema | None = None

    def read(self) -> None:
        """Reads the inputs.

        Raises:
            NoInputs: If they are not known.
        """
        unstated = [number for number, one in enumerate(self.imported) if number not in self.skipped and not one.given]
        if not unstated:
            return
        if len(unstated) + len(self.skipped) < len(self.imported):
            self._leave_out(unstated, lambda number: "it states no inputs, and other traces do")
            return
        objects = {number: json_or_text(self._request(number)) for number in unstated}
        if any(isinstance(value, dict) for value in objects.values()):
            self.inputs = {number: value for number, value in objects.items() if isinstance(value, dict)}
            self._leave_out(unstated, lambda number: "its request is no JSON object, and other requests are")
            self.notes.append("inputs: the requests, which are JSON objects")
            return
        self._by_templates(unstated)

    def _by_templates(self, numbers: Sequence[int]) -> None:
        single = [number for number in numbers if self._said(number) == 1]
        requests = {number: self._arguments(number) for number in single}
        groups = [[single[place] for place in group] for group in phrasings([requests[number] for number in single])]
        made = [(group, template_of([requests[number] for number in group])) for group in groups]
        names: dict[frozenset[str], list[tuple[list[int], Template]]] = {}
        for group, template in made:
            if template is not None:
                names.setdefault(frozenset(template.names), []).append((group, template))
        if not names:
            raise NoInputs(f"the inputs of the traces are not known: {self._reason(numbers, groups)}; {_REMEDY}")
        chosen = max(names.values(), key=lambda pairs: sum(len(group) for group, _ in pairs))
        self.templates = [template for _, template in chosen]
        self.schema = self.templates[0].inputs()
        for number in single:
            filled = fillings(self.templates, requests[number].text)
            if filled is not None:
                self.inputs[number] = filled
        self._leave_out(numbers, lambda number: "its request fits no template of the other requests")
        shown = "; ".join(f"{str(template)!r} ({template.requests} requests)" for template in self.templates)
        self.notes.append(f"inputs: the slots of {shown}")

    def _leave_out(self, numbers: Sequence[int], reason: Callable[[int], str]) -> None:
        self.left_out |= {number: reason(number) for number in numbers if number not in self.inputs}

    def _request(self, number: int) -> str:
        return next(iter(self._texts(number)), "")

    def _texts(self, number: int) -> list[str]:
        events = self.imported[number].trace.events
        return [event.text for event in events if isinstance(event, Said) and event.role == "user"]

    def _said(self, number: int) -> int:
        return len(self._texts(number))

    def _arguments(self, number: int) -> Request:
        calls = self.imported[number].trace.calls
        return Request(self._request(number), [pair for call in calls for pair in call.call.args.items()])

    def _reason(self, numbers: Sequence[int], groups: Sequence[Sequence[int]]) -> str:
        if not any(map(self._said, numbers)):
            return "they have no request of a user"
        if all(self._said(number) > 1 for number in numbers):
            return "they are conversations with several texts of the user"
        most = max(map(len, groups), default=0)
        if most < FEWEST:
            return f"at most {most} of the requests have the same phrasing"
        return "the requests of one phrasing share too few words"
