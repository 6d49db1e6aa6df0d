"""Finds the program for a brief: from a trace, or from the examples."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from flowmind.llm.search.constants import constants, entries, named
from flowmind.llm.search.matching import Fit
from flowmind.llm.search.program import Call, Program, Source, resolve
from flowmind.llm.search.ranking import best
from flowmind.llm.search.synthesis import Probe, Question, Search
from flowmind.protocols import Brief
from flowmind.trace.events import Called, Trace
from tools_registry.specs.schema import json_equal, type_label, type_of
from tools_registry.specs.spec import ToolSpec

BUDGET = 60_000
"""The approximate number of calls that one search tries. A smaller budget scales all limits of the search."""


class Thinker:
    """Finds programs in this process.

    Args:
        probe: Makes trial calls; `Trials` refuses tools that are not marked `read`.
        budget: The approximate number of calls that one search tries.
    """

    def __init__(self, probe: Probe, budget: int = BUDGET) -> None:
        self._probe = probe
        self._budget = budget

    def program(self, brief: Brief, business: Mapping[str, ToolSpec]) -> Program | None:
        """The program of the brief's trace, or else one that gives the examples.

        Args:
            brief: The work.
            business: The tools that the request offers. Without a trace, the program calls only those that are marked
                `read`.

        Returns:
            The program; None if none was found.
        """
        trace = next((trace for trace in brief.traces if trace.ok), None)
        calls = [step for step in trace.calls if step.observation.ok] if trace else []
        if trace and calls:
            return self._from_trace(brief, trace, calls)
        return self._from_examples(brief, {name: spec for name, spec in business.items() if spec.effect == "read"})

    def _from_examples(self, brief: Brief, business: Mapping[str, ToolSpec]) -> Program | None:
        if not brief.examples or not business:
            return None
        steps = brief.knowledge.steps if brief.knowledge else ()
        known = {tool for step in steps for tool in step.tools} if all(step.tools for step in steps) else set[str]()
        if known & business.keys():  # the tools of a workflow that the agent was given, before all tools
            fewer = {name: spec for name, spec in business.items() if name in known}
            if (program := self._searched(brief, fewer)) is not None:
                return program
        return self._searched(brief, business)

    def _searched(self, brief: Brief, business: Mapping[str, ToolSpec]) -> Program | None:
        search = Search(question(brief, business, self._budget / BUDGET), self._probe)
        search.run()
        return best(search)

    def _from_trace(self, brief: Brief, trace: Trace, calls: Sequence[Called]) -> Program | None:
        """The first program of a trace that also gives the answers of the examples; else the first of all."""
        first: Program | None = None
        for program in itertools.islice(_readings(brief, trace, calls), _READINGS):
            first = first or program
            if all(json_equal(self._run(program, case), answer) for case, answer in brief.examples):
                return program
        return first

    def _run(self, program: Program, inputs: dict[str, Any]) -> Any:
        """The answer of a program on an input; None if a call fails."""
        results: list[Any] = []
        for call in program.calls:
            try:
                args = {name: resolve(source, program, inputs, results) for name, source in call.args}
            except (KeyError, TypeError):
                return None
            ((value, error),) = self._probe([(call.tool, args)])
            if error is not None:
                return None
            results.append(value)
        try:
            return resolve(program.answer, program, inputs, results)
        except (KeyError, TypeError):
            return None


def question(brief: Brief, business: Mapping[str, ToolSpec], effort: float) -> Question:
    """The search problem of a brief."""
    cases = [*(case for case, _ in brief.examples), brief.inputs]
    outputs = [answer for _, answer in brief.examples]
    constants_named = named(brief.query, entries(cases))
    return Question(
        specs=business,
        cases=cases,
        outputs=outputs,
        constants=constants(_text(brief), cases, outputs, constants_named),
        named=constants_named,
        fit=Fit(brief.query, business),
        effort=effort * _share(len(business)),
    )


def _text(brief: Brief) -> str:
    """The task's text with the description of its inputs."""
    lines = [brief.query, "", "Inputs:"]
    for name, field in brief.input_schema.get("properties", {}).items():
        note = f": {field['description']}" if field.get("description") else ""
        lines.append(f"- {name} ({type_label(field)}){note}")
    return "\n".join(lines)


_FEW_TOOLS = 6
"""With fewer tools there are fewer sequences to try."""
_MANY_TOOLS = 10
"""With more tools the effort decreases with their cube: it would cover hardly any sequence of three or four calls."""


def _share(tools: int) -> float:
    """The effort for a number of tools, as a share of the usual effort."""
    return min(1.0, tools / _FEW_TOOLS) ** 2 * min(1.0, _MANY_TOOLS / max(1, tools)) ** 3


_READINGS = 64
"""The number of programs of a trace that are tried on the examples."""


def _readings(brief: Brief, trace: Trace, made: Sequence[Called]) -> Iterator[Program]:
    """The programs that a trace with these successful calls can stand for, the likeliest first."""
    values_named = [part.value for part in named(brief.query, entries([case for case, _ in brief.examples]))]

    def build(calls: tuple[Call, ...]) -> Iterator[Program]:
        results = [(call, step.observation.value) for call, step in zip(calls, made, strict=False)]
        if len(calls) == len(made):
            for answer in _answers(trace, results):
                yield Program(calls, answer)
            return
        step = made[len(calls)].call
        choices = [_origins(value, trace.inputs, results, values_named) for value in step.args.values()]
        for chosen in itertools.product(*choices):
            yield from build((*calls, Call(step.tool, tuple(zip(step.args, chosen, strict=True)))))

    return build(())


def _answers(trace: Trace, results: Sequence[tuple[Call, Any]]) -> list[Source]:
    """The possible sources of the answer of a trace: results, or an object of results and inputs."""
    answer = trace.answer
    whole = [source for source in _origins(answer, trace.inputs, results, []) if source.kind == "call"]
    if whole or not isinstance(answer, dict):
        return whole
    fields = cast(dict[str, Any], answer)
    choices = [_origins(value, trace.inputs, results, [])[:2] for value in fields.values()]
    return [Source("object", fields=tuple(zip(fields, chosen, strict=True))) for chosen in itertools.product(*choices)]


def _origins(
    value: Any, inputs: dict[str, Any], results: Sequence[tuple[Call, Any]], named: Sequence[Any]
) -> list[Source]:
    """The possible sources of a value in a trace: results, the latest first, then inputs, then a constant.

    A number that the text names is rather a constant than an equal input, so these two are exchanged.
    """
    from_calls = [
        Source("call", call=call, path=path)
        for call, result in reversed(results)
        for path, part in _parts(result)
        if json_equal(part, value)
    ]
    from_inputs = [
        Source("input", name, path=path)
        for name, whole in inputs.items()
        for path, part in _parts(whole)
        if json_equal(part, value)
    ]
    kind = type_of(value)
    if kind is list and not from_calls and 1 < len(value) <= 4:
        from_calls = _composed("list", {str(at): part for at, part in enumerate(value)}, inputs, results, named)
    if kind is dict and not from_calls and 0 < len(value) <= 4:
        from_calls = _composed("object", value, inputs, results, named)
    constant = [Source("constant", value=value)]
    if kind in (int, float) and any(json_equal(value, part) for part in named):
        return [*from_calls, *constant, *from_inputs]
    return [*from_calls, *from_inputs, *constant]


def _composed(
    kind: str, parts: dict[str, Any], inputs: dict[str, Any], results: Sequence[tuple[Call, Any]], named: Sequence[Any]
) -> list[Source]:
    """A list or an object of the likeliest sources of its parts, if one of them is a result."""
    sources = {name: _origins(part, inputs, results, named)[0] for name, part in parts.items()}
    used = any(source.kind == "call" for source in sources.values())
    return [Source(kind, fields=tuple(sources.items()))] if used else []


def _parts(value: Any) -> list[tuple[tuple[str, ...], Any]]:
    """A value and the fields of an object, each with its path."""
    fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    return [((), value), *(((name,), part) for name, part in fields.items())]
