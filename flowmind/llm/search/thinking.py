"""The thinking of `search`: from what a conversation says to a program that does it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from flowmind.llm.search.constants import constants, entries, named
from flowmind.llm.search.matching import Fit
from flowmind.llm.search.program import Call, Program, Source, resolve
from flowmind.llm.search.ranking import best
from flowmind.llm.search.reading import Exchange, Reading
from flowmind.llm.search.synthesis import Probe, Question, Search
from tools_registry.specs.schema import json_equal, type_of
from tools_registry.specs.spec import ToolSpec

BUDGET = 60_000
"""Calls that one search may try, about: what it does with less is that share of what it does with all of it."""


class Thinker:
    """Thinks in this process.

    Args:
        probe: Tries calls in a sandbox of its own; it is asked only for tools that the conversation offers.
        budget: Calls that one search may try.
    """

    def __init__(self, probe: Probe, budget: int = BUDGET) -> None:
        self._probe = probe
        self._budget = budget

    def program(self, reading: Reading, business: Mapping[str, ToolSpec]) -> Program | None:
        """The program of a trace, or else one that gives the examples; None if none was found."""
        return self._from_trace(reading) if reading.trace else self._from_examples(reading, business)

    def _from_examples(self, reading: Reading, business: Mapping[str, ToolSpec]) -> Program | None:
        if not reading.examples or reading.working is None or not business:
            return None
        search = Search(question(reading, business, self._budget / BUDGET), self._probe)
        search.run()
        return best(search)

    def _from_trace(self, reading: Reading) -> Program | None:
        """The program of a trace: each argument comes from a value that equals it.

        Where several do, those that give the other examples too are taken.
        """
        given = reading.traced
        if given is None:
            return None
        first: Program | None = None
        for program in itertools.islice(_readings(reading, given), _READINGS):
            first = first or program
            if all(json_equal(self._run(program, case), wanted) for case, wanted in reading.examples):
                return program
        return first

    def _run(self, program: Program, given: dict[str, Any]) -> Any:
        """The answer of a program on an input; None where a call fails."""
        results: list[Any] = []
        for call in program.calls:
            try:
                args = {name: resolve(source, program, given, results) for name, source in call.args}
            except (KeyError, TypeError):
                return None
            ((value, error),) = self._probe([(call.tool, args)])
            if error is not None:
                return None
            results.append(value)
        try:
            return resolve(program.answer, program, given, results)
        except (KeyError, TypeError):
            return None


def question(reading: Reading, business: Mapping[str, ToolSpec], effort: float) -> Question:
    """What a search for a task has to find, from what a conversation says."""
    assert reading.working is not None
    cases = [*(given for given, _ in reading.examples), reading.working]
    outputs = [wanted for _, wanted in reading.examples]
    query = reading.text.split("\n\nInputs:")[0]
    said = named(query, entries(cases))
    return Question(
        specs=business,
        cases=cases,
        outputs=outputs,
        constants=constants(reading.text, cases, outputs, said),
        named=said,
        fit=Fit(query, business),
        effort=effort * _share(len(business)),
    )


_FEW_TOOLS = 6
"""With fewer tools there are fewer sequences to try."""
_MANY_TOOLS = 10
"""With more tools the effort shrinks by their cube: it would cover next to nothing of the sequences of three or
four calls."""


def _share(tools: int) -> float:
    """The share of the usual effort for a number of tools."""
    return min(1.0, tools / _FEW_TOOLS) ** 2 * min(1.0, _MANY_TOOLS / max(1, tools)) ** 3


_READINGS = 64
"""Ways to read a trace that are tried on the other examples."""


def _readings(reading: Reading, given: dict[str, Any]) -> Iterator[Program]:
    """The programs that a trace can stand for, the likeliest first."""
    cases = [case for case, _ in reading.examples]
    said = [part.value for part in named(reading.text.split("\n\nInputs:")[0], entries(cases))]

    def build(index: int, calls: tuple[Call, ...]) -> Iterator[Program]:
        if index == len(reading.trace):
            for answer in _answers(reading, given, calls):
                yield Program(calls, answer)
            return
        exchange = reading.trace[index]
        choices = [_origins(value, given, reading.trace, calls, said) for value in exchange.args.values()]
        for chosen in itertools.product(*choices):
            call = Call(exchange.tool, tuple(zip(exchange.args, chosen, strict=True)))
            yield from build(index + 1, (*calls, call))

    return build(0, ())


def _answers(reading: Reading, given: dict[str, Any], calls: tuple[Call, ...]) -> list[Source]:
    """Where the answer of a trace comes from: a result, or an object of results and inputs."""
    whole = [source for source in _origins(reading.answer, given, reading.trace, calls, []) if source.kind == "call"]
    answer = reading.answer
    if whole or not isinstance(answer, dict):
        return whole
    fields = cast(dict[str, Any], answer)
    choices = [_origins(value, given, reading.trace, calls, [])[:2] for value in fields.values()]
    return [Source("object", fields=tuple(zip(fields, chosen, strict=True))) for chosen in itertools.product(*choices)]


def _origins(
    value: Any, given: dict[str, Any], trace: Sequence[Exchange], calls: Sequence[Call], named: Sequence[Any]
) -> list[Source]:
    """Where a value of a trace can come from: the latest results first, then inputs, then the text.

    A number that the text names is likelier a constant than an input that happens to equal it.
    """
    found = [
        Source("call", call=call, path=path)
        for call, exchange in reversed(list(zip(calls, trace, strict=False)))
        for path, part in _parts(exchange.value)
        if json_equal(part, value)
    ]
    inputs = [
        Source("input", name, path=path)
        for name, whole in given.items()
        for path, part in _parts(whole)
        if json_equal(part, value)
    ]
    kind = type_of(value)
    if kind is list and not found and 1 < len(value) <= 4:
        parts = [_origins(part, given, trace, calls, named)[0] for part in value]
        if any(part.kind == "call" for part in parts):
            found = [Source("list", fields=tuple((str(at), part) for at, part in enumerate(parts)))]
    if kind is dict and not found and 0 < len(value) <= 4:
        fields = {name: _origins(part, given, trace, calls, named)[0] for name, part in value.items()}
        if any(part.kind == "call" for part in fields.values()):
            found = [Source("object", fields=tuple(fields.items()))]
    constant = [Source("constant", value=value)]
    said = kind in (int, float) and any(json_equal(value, part) for part in named)
    return [*found, *constant, *inputs] if said else [*found, *inputs, *constant]


def _parts(value: Any) -> list[tuple[tuple[str, ...], Any]]:
    """A value, and the fields of an object."""
    if not isinstance(value, dict):
        return [((), value)]
    fields = cast(dict[str, Any], value)
    return [((), fields), *(((name,), part) for name, part in fields.items())]
