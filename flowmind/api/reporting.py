"""Whether a workflow is right on every example, and reports on results in words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from flowmind.base.files import dump_json
from flowmind.build.derivation import Derivation, Forecast
from flowmind.run.examples import ExampleCheck
from flowmind.trace.events import StopReason, Trace
from flowmind.trace.task import Example
from flowmind.workflow.checking import Problem
from flowmind.workflow.document import (
    Assign,
    Binding,
    BodyStep,
    Condition,
    End,
    Evidence,
    Map,
    ToolNode,
    Var,
    Workflow,
    show_binding,
)
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import Record, ToolSpec, untried_line

_SHOWN = 100
_MOST = 10
"""Lines of one kind that a report shows."""
_DISPUTES = 3
"""Inputs on which rivals disagree that a report shows."""
_NO_ANSWER: dict[StopReason, str] = {
    "finish": "the agent gave up",
    "error": "it ended in an error",
    "doubt": "the rivals of the workflow disagreed",
    "turns": "the limit of turns was reached",
    "failures": "too many calls in a row failed",
    "unparsed": "the model's replies could not be read",
    "tokens": "the limit of output tokens was reached",
    "seconds": "the time limit was reached",
    "context": "the conversation is longer than the model's context",
    "model_error": "the model's endpoint failed",
}
"""Why an execution has no answer, by its stop reason."""

MARK = 'mark a tool that changes nothing with @tool(effect="read")'
REPAIR = "repair the workflow on the examples, with verify=True (--mode es-pe+verify)"
"""The advice if a workflow without verification fails on examples."""


class Verdict(Record):
    """Whether a workflow is sound, and right on every example."""

    sound: bool
    """Whether there is a workflow that passes `check`."""
    checks: tuple[ExampleCheck, ...] = ()
    """The check on each example or trace."""
    unsupported: tuple[str, ...] = ()
    """Constants that come from no input, no tool result and no text, where a workflow may not have them: as its answer
    to every input, or in a call of a tool that is not marked `read`."""
    forecast: Forecast | None = None
    """What is predicted beyond the traces; None if it was not examined."""

    @property
    def disputed(self) -> tuple[str, ...]:
        """Inputs near the traces on which rivals disagree about a call that may change something."""
        return self.forecast.disputed if self.forecast is not None else ()

    @property
    def failures(self) -> tuple[ExampleCheck, ...]:
        """The examples that the workflow does not solve: it is wrong, it fails, or it could not be checked."""
        return tuple(check for check in self.checks if not check.ok)

    @property
    def solved(self) -> bool:
        """Whether the workflow is sound, is right on every example, and may run unattended: it has no unsupported
        constant, its rivals agree on the calls that may change something, and more than half of the traces were
        predicted by the others, if that was examined."""
        return (
            self.sound and bool(self.checks) and not (self.failures or self.unsupported or self.disputed or self.weak)
        )

    @property
    def weak(self) -> bool:
        """Whether at most half of the traces were predicted by the others."""
        return self.forecast is not None and self.forecast.weak

    def headline(self, otherwise: str = "no workflow was built") -> str:
        """The verdict in a line; `otherwise` says what happened if there is no sound workflow."""
        if not self.sound:
            return f"NOT solved: {otherwise}"
        counts: list[str] = []
        for kind in dict.fromkeys(check.kind for check in self.checks):
            checks = [check for check in self.checks if check.kind == kind]
            fitted = "fitted " if kind == "trace" else ""
            counts.append(f"{fitted}{sum(check.ok for check in checks)} of {len(checks)} {kind}s")
        counts = [*self._predicted(), *counts]
        text = f"{'solved' if self.solved else 'NOT solved'}: {', '.join(counts) or 'there is no example'}"
        unchecked = sum(bool(check.not_checked) for check in self.checks)
        text += f"; {unchecked} not checked" if unchecked else ""
        text += "; it has a guess that is not allowed" if self.unsupported else ""
        text += "; its rivals disagree on a call that may change something" if self.disputed else ""
        return f"{text}; too few traces were predicted, so that each run is in doubt" if self.weak else text

    def _predicted(self) -> Iterator[str]:
        """How many traces were predicted from the others."""
        made = self.forecast.predictions if self.forecast is not None else ()
        if self.forecast is not None and made:
            doubts = sum(one.doubt for one in made)
            yield f"predicted {self.forecast.predicted} of {len(made)}{f' ({doubts} in doubt)' if doubts else ''}"

    def lines(self) -> Iterator[str]:
        """A line for each failure and each unsupported constant."""
        for check in self.failures[:_MOST]:
            yield f"{'not checked' if check.not_checked else 'failed'}: {check}"
        yield from _rest("failed", self.failures)
        yield from (f"not allowed: {line}" for line in self.unsupported)
        yield from (f"rivals disagree: {line}" for line in self.disputed[:_DISPUTES])


class Judged:
    """A result with its verdict, whose parts are properties."""

    verdict: Verdict
    """Whether the workflow is sound, and right on every example and trace."""

    @property
    def sound(self) -> bool:
        """Whether there is a workflow that passes `check`. It may still give wrong answers; see `solved`."""
        return self.verdict.sound

    @property
    def solved(self) -> bool:
        """Whether the workflow is sound and right on every example and trace."""
        return self.verdict.solved

    @property
    def ok(self) -> bool:
        """The same as `solved`."""
        return self.solved

    @property
    def checks(self) -> tuple[ExampleCheck, ...]:
        """The check of the workflow on each example and trace; empty if there is no sound workflow."""
        return self.verdict.checks

    @property
    def failures(self) -> tuple[ExampleCheck, ...]:
        """The examples and traces that are not solved, with expected and given value, or why they were not checked."""
        return self.verdict.failures


def several(kind: str, lines: Sequence[object]) -> Iterator[str]:
    """The first lines of a kind, and how many more there are."""
    yield from (f"{kind}: {line}" for line in lines[:_MOST])
    yield from _rest(kind, lines)


def _rest(kind: str, lines: Sequence[object]) -> Iterator[str]:
    if len(lines) > _MOST:
        yield f"{kind}: and {len(lines) - _MOST} more"


# A result without a workflow


def no_workflow(traces: Sequence[Trace], searched: bool, specs: Mapping[str, ToolSpec], examples: int) -> Iterator[str]:
    """Why the executions gave no workflow, and what to do, a line each.

    Args:
        traces: The executions.
        searched: Whether the embedded model `search` executed.
        specs: The tools.
        examples: The number of examples.
    """
    reasons: list[str] = []
    for trace in traces:
        if searched and not trace.calls:
            reasons.append("search found no sequence of calls that gives the examples")
        elif not trace.executed or trace.answer is None:
            calls = f" after {len(trace.calls)} calls" if trace.calls else ""
            error = f" ({trace.error.message})" if trace.error else ""
            reasons.append(f"an execution has no answer: {_NO_ANSWER[trace.stop]}{calls}{error}")
    yield from several("why", _counted(reasons))
    if searched:
        if untried := untried_line(specs):
            yield untried
        if examples < 2:
            yield "next: give search two examples at least; it cannot tell a rule from one"
        yield (
            "next: search finds sequences of calls only, without branches and loops; for other tasks name a language "
            "model, or give traces of your own agent to summarize"
        )
    elif not reasons:
        yield "why: the executions have answers, but no graph was built from them"
        yield "next: let induction build it from the traces, with verify=True (--mode es-pe+verify)"


def _counted(lines: Sequence[str]) -> list[str]:
    """The different lines, each with the number of times that it stands there, if it is more than one."""
    return [line if count == 1 else f"{line} ({count} times)" for line, count in Counter(lines).items()]


def forecast_lines(forecast: Forecast) -> Iterator[str]:
    """What is predicted of a workflow, and which traces are missing, a line each."""
    wrong = [one for one in forecast.predictions if not one.right]
    if wrong:
        numbers = ", ".join(str(one.number) for one in wrong)
        yield f"not predicted from the others: trace{'s' if len(wrong) > 1 else ''} {numbers}"
    if forecast.rivals:
        share = f"they agree on {forecast.agreed} of {forecast.sampled} generated inputs"
        none = "not compared, because no generated input could be run"
        more = f"{forecast.rivals} more workflow{'s explain' if forecast.rivals > 1 else ' explains'} the traces"
        yield f"rivals: {more}; {share if forecast.sampled else none}"
    shown = [f"only trace {way.trace} shows that {way.told}" for way in forecast.lone if way.trace]
    yield from several("weak", [*shown, *(f"no trace shows that {way.told}" for way in forecast.lone if not way.trace)])
    yield from several("needed", forecast.needed)


def execution_lines(traces: Sequence[Trace]) -> Iterator[str]:
    """The calls of each execution; equal executions are one line."""
    lines = [
        f"{' → '.join(step.call.tool for step in trace.calls) or 'no calls'}; stopped by {trace.stop}"
        for trace in traces
    ]
    yield from several("execute", _counted(lines))


# A workflow and its evidence


def derivation_lines(derivation: Derivation) -> Iterator[str]:
    """Guesses that a derivation reports, a line each."""
    for line in derivation.leaked:
        yield f"{line} is used as a constant, but is an input of an example"
    for line in derivation.idle:
        yield f"input {line} never changes the answer"


def contradiction_lines(examples: Sequence[Example]) -> Iterator[str]:
    """A line for each example that has the input of an earlier one, and another output."""
    first: dict[str, int] = {}
    for number, example in enumerate(examples, 1):
        before = first.setdefault(json.dumps(example.input, sort_keys=True), number)
        if not json_equal(examples[before - 1].output, example.output):
            yield f"why: examples {before} and {number} have the same input and different outputs; mend one"


def evidence_lines(workflow: Workflow, total: int) -> list[str]:
    """The parts of a workflow that traces show, with the number of traces."""
    return [
        f"evidence: {part_of(workflow, part)}: {len({trace for trace, _ in part.steps})} of {total} traces"
        for part in workflow.evidence
        if not part.guess
    ]


def guess_lines(workflow: Workflow) -> list[str]:
    """The parts of a workflow that are guesses, with the reason."""
    return [f"{part_of(workflow, part)}: {part.guess}" for part in workflow.evidence if part.guess]


def signature(workflow: Workflow) -> str:
    """A workflow in a line: its name, inputs, size and tools."""
    inputs, tools = ", ".join(workflow.input_names), ", ".join(workflow.tool_names) or "none"
    return f"{workflow.name}({inputs}): {len(workflow.nodes)} nodes; tools: {tools}"


def problem_lines(problems: Iterable[Problem]) -> list[str]:
    """The problems of an unsound workflow."""
    return [f"problem: {problem}" for problem in problems]


def short(value: Any) -> str:
    """A text, or a value as JSON, cut if it is long."""
    text = value if isinstance(value, str) else dump_json(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def part_of(workflow: Workflow, part: Evidence) -> str:
    """A part of a workflow, for a reader."""
    match workflow.by_id.get(part.node):
        case ToolNode(args=args) if part.field in args:
            return f"{part.node}.{part.field} = {short(_source(workflow, args[part.field]))}"
        case Map(body=body) if (inner := _bound_in(body, part.field)) is not None:
            return f"{part.node}: {part.field} = {short(show_binding(inner))}"
        case Condition(expr=expr):
            return f"{part.node}: {short(expr)}"
        case End(output=output):
            return f"the answer = {short(_source(workflow, output))}"
        case _:
            return f"{part.node}.{part.field}"


def _bound_in(body: Sequence[BodyStep], field: str) -> Binding | None:
    """The binding of an argument in the body of a map, from a field such as `double.n`."""
    id, _, name = field.partition(".")
    return next((step.args.get(name) for step in body if step.id == id and isinstance(step, ToolNode)), None)


def _source(workflow: Workflow, binding: Binding, seen: frozenset[str] = frozenset()) -> str:
    """A binding, for a reader; a variable that nodes set is replaced by their results and expressions."""
    if not isinstance(binding, Var) or binding.path or binding.var in {*workflow.bound_inputs, *seen}:
        return show_binding(binding)
    sources: list[str] = []
    for node in workflow.nodes:
        if getattr(node, "output", None) != binding.var:
            continue
        if isinstance(node, Assign):
            inner = _source(workflow, node.value, seen | {binding.var}) if node.value is not None else ""
            sources.append(node.expr or inner)
        else:
            sources.append(f"the result of {node.id}")
    return " or ".join(dict.fromkeys(filter(None, sources))) or binding.var
