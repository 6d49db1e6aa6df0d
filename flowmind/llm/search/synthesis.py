"""Searches a straight sequence of tool calls that reproduces examples: bottom-up enumeration of terms.

A term is a value for each case at once: an input, a field of one, a constant of the task text, or a call over
terms. Terms are built by the number of their calls; of terms with equal values in all cases the first is kept
(observational equivalence: Albarghouthi, Gulwani and Kincaid, CAV 2013). What it cannot find within its budget
it does not find.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from tools_registry.schema import Validator, json_equal, validator
from tools_registry.spec import ToolSpec

from flowmind.files import dump_json

Probe = Callable[[Sequence[tuple[str, dict[str, Any]]]], Sequence[tuple[Any, Any]]]
"""Runs independent calls; gives (value, None) or (None, error) for each."""
MAX_CALLS = 4
_CHUNK = 4_000
_WIDTH = 1_500
"""Terms of one size that are built upon, the best first."""


@dataclass(frozen=True)
class Source:
    """Where a value comes from: an input, a constant, or the result of a call; then a path into it."""

    kind: str
    """`input`, `constant` or `call`."""
    name: str = ""
    value: Any = None
    call: Call | None = None
    path: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class Call:
    """A tool call over sources."""

    tool: str
    args: tuple[tuple[str, Source], ...]


@dataclass(frozen=True)
class Program:
    """Calls in order, each reading inputs, constants and results of earlier ones."""

    calls: tuple[Call, ...]
    answer: Source


@dataclass
class Term:
    """A value for each case, and how it is made."""

    source: Source
    values: list[Any]
    size: int
    score: float
    fits: dict[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])


@dataclass
class Question:
    """What is searched for."""

    specs: Mapping[str, ToolSpec]
    cases: Sequence[dict[str, Any]]
    outputs: Sequence[Any]
    """The answers of the first cases; the others have none."""
    constants: Sequence[tuple[Any, float]]
    """Values that the text names, with how much they cost."""
    relevance: Mapping[str, float]
    """For each tool how well its documentation fits the text, 0 to 1."""
    budget: int = 60_000
    """Tool calls that the search may make."""


def search(question: Question, probe: Probe) -> Program | None:
    """The best program of the fewest calls that gives all known outputs; None if none was found."""
    return _Search(question, probe).run()


class _Search:
    def __init__(self, question: Question, probe: Probe) -> None:
        self.question = question
        self.probe = probe
        self.spent = 0
        self.seen: set[str] = set()
        self.levels: list[list[Term]] = [self.inputs()]
        self.constants = self.constant_terms()
        self.validators: dict[tuple[str, str], Validator] = {}
        for name, spec in question.specs.items():
            definitions = spec.parameters.get("$defs")
            for parameter, schema in spec.parameters.get("properties", {}).items():
                schema = {**schema, "$defs": definitions} if definitions else schema
                self.validators[name, parameter] = validator(schema)

    def run(self) -> Program | None:
        for size in range(1, MAX_CALLS + 1):
            level: list[Term] = []
            for batch in _chunks(self.candidates(size), _CHUNK):
                if self.spent >= self.question.budget:
                    break
                level += self.evaluate(batch, size)
            found = [term for term in level if self.solves(term)]
            if found:
                return _program(max(found, key=lambda term: term.score).source)
            if not level or self.spent >= self.question.budget:
                return None
            level.sort(key=lambda term: -term.score)
            self.levels.append(level[:_WIDTH])
        return None

    def solves(self, term: Term) -> bool:
        return all(
            json_equal(ours, wanted) for ours, wanted in zip(term.values, self.question.outputs, strict=False)
        )

    def inputs(self) -> list[Term]:
        cases = self.question.cases
        terms: list[Term] = []
        for name in cases[0]:
            source = Source("input", name)
            terms += self.with_fields(Term(source, [case[name] for case in cases], 0, 0.0))
        self.seen |= {_key(term.values) for term in terms}
        return terms

    def with_fields(self, term: Term) -> list[Term]:
        """A term and, if it is an object in every case, a term for each of its common fields."""
        found = [term]
        if all(isinstance(value, dict) for value in term.values):
            objects = cast(list[dict[str, Any]], term.values)
            for name in objects[0]:
                if all(name in value for value in objects) and len(objects[0]) <= 8:
                    source = Source(
                        term.source.kind, term.source.name, None, term.source.call, (*term.source.path, name)
                    )
                    found.append(Term(source, [value[name] for value in objects], term.size, term.score - 0.1))
        return found

    def constant_terms(self) -> list[Term]:
        count = len(self.question.cases)
        return [
            Term(Source("constant", value=value), [value] * count, 0, -cost)
            for value, cost in self.question.constants
        ]

    def could_answer(self, tool: str) -> bool:
        """Whether a tool's result can have the type of the answers."""
        check = validator(self.question.specs[tool].returns)
        return all(check(output) is None for output in self.question.outputs)

    def fits(self, term: Term, tool: str, parameter: str) -> bool:
        known = term.fits.get((tool, parameter))
        if known is None:
            check = self.validators[tool, parameter]
            known = term.fits[tool, parameter] = check(term.values[0]) is None
        return known

    def candidates(self, size: int) -> Iterator[tuple[str, list[tuple[str, Term]]]]:
        """Calls with `size` calls in them, the most relevant tools first."""
        specs = self.question.specs
        tools = [name for name in specs if size < MAX_CALLS or self.could_answer(name)]
        order = sorted(tools, key=lambda name: (-self.question.relevance.get(name, 0.0), name))
        shares = list(_shares(size - 1, 2))
        for name in order:
            spec = specs[name]
            parameters = spec.required
            if not parameters:
                continue
            yield from self.calls(name, parameters, size, shares)

    def calls(
        self, tool: str, parameters: Sequence[str], size: int, shares: list[tuple[int, ...]]
    ) -> Iterator[tuple[str, list[tuple[str, Term]]]]:
        constants = {
            parameter: [term for term in self.own_constants(tool, parameter) if self.fits(term, tool, parameter)]
            for parameter in parameters
        }
        terms = {
            (parameter, level): [term for term in self.levels[level] if self.fits(term, tool, parameter)]
            for parameter in parameters
            for level in range(min(size, len(self.levels)))
        }
        zero = {parameter: [*terms[parameter, 0], *constants[parameter]] for parameter in parameters}
        for chosen in _placements(parameters, size - 1, shares):
            pools = [
                terms[parameter, level] if level else zero[parameter]
                for parameter, level in zip(parameters, chosen, strict=True)
            ]
            for combination in itertools.product(*pools):
                if any(term.source.kind != "constant" for term in combination):
                    yield tool, list(zip(parameters, combination, strict=True))

    def own_constants(self, tool: str, parameter: str) -> list[Term]:
        """The constants of the text, and the options of a parameter that lists them."""
        schema = self.question.specs[tool].parameters["properties"][parameter]
        count = len(self.question.cases)
        options: list[Any] = schema.get("enum", [])
        if schema.get("type") == "boolean":
            options = [True, False]
        listed = [Term(Source("constant", value=value), [value] * count, 0, -0.1) for value in options]
        return listed or self.constants

    def evaluate(self, batch: list[tuple[str, list[tuple[str, Term]]]], size: int) -> list[Term]:
        """The terms of a batch of calls that give a new value in every case."""
        alive = list(range(len(batch)))
        values: list[list[Any]] = [[] for _ in batch]
        for number in range(len(self.question.cases)):
            calls = [
                (batch[index][0], {name: term.values[number] for name, term in batch[index][1]}) for index in alive
            ]
            self.spent += len(calls)
            left: list[int] = []
            for index, (value, error) in zip(alive, self.probe(calls), strict=True):
                if error is None:
                    values[index].append(value)
                    left.append(index)
            alive = left
        found: list[Term] = []
        for index in alive:
            tool, args = batch[index]
            key = _key(values[index])
            if key in self.seen:
                continue
            self.seen.add(key)
            call = Call(tool, tuple((name, term.source) for name, term in args))
            score = self.question.relevance.get(tool, 0.0) + sum(term.score for _, term in args) - 0.05
            term = Term(Source("call", call=call), values[index], size, score)
            found += self.with_fields(term)
        return found


def _placements(
    parameters: Sequence[str], calls: int, shares: list[tuple[int, ...]]
) -> Iterator[tuple[int, ...]]:
    """How many calls each argument holds: all in one argument, or shared by two."""
    count = len(parameters)
    if calls == 0:
        yield (0,) * count
        return
    for share in shares:
        for places in itertools.permutations(range(count), len(share)):
            if len(share) == 2 and share[0] == share[1] and places[0] > places[1]:
                continue
            chosen = [0] * count
            for place, size in zip(places, share, strict=True):
                chosen[place] = size
            yield tuple(chosen)


def _shares(calls: int, parts: int) -> Iterator[tuple[int, ...]]:
    """The ways to share a number of calls among at most `parts` arguments, larger shares first."""
    if calls:
        yield (calls,)
    if parts > 1:
        for first in range(calls - 1, 0, -1):
            if first >= calls - first:
                yield (first, calls - first)


def _chunks(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while chunk := list(itertools.islice(items, size)):
        yield chunk


def _key(values: list[Any]) -> str:
    return dump_json(values)


def _program(answer: Source) -> Program:
    """The calls of a term in the order in which they are needed, equal calls once."""
    calls: list[Call] = []

    def visit(source: Source) -> None:
        if source.call is None or source.call in calls:
            return
        for _, part in source.call.args:
            visit(part)
        calls.append(source.call)

    visit(answer)
    return Program(tuple(calls), answer)
