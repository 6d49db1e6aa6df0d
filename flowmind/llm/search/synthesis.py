"""Search for a sequence of tool calls that reproduces the examples, by bottom-up enumeration of terms.

A term is an input, a field of an input, a constant of the task's text, or a call over terms, with its values in all
cases. Terms are enumerated by the number of their calls. Of the terms with equal values in all cases and equal uses of
inputs and named constants, the first is kept (observational equivalence: Albarghouthi, Gulwani and Kincaid, CAV 2013).
Terms with other uses are kept, too, because a few examples often do not show the purpose of a constant. The search is
incomplete: it tries a limited number of calls.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from flowmind.llm.search.constants import HOLE, Constant, Named
from flowmind.llm.search.matching import Fit
from flowmind.llm.search.parameters import Parameter, parameters
from flowmind.llm.search.program import Call, Source
from flowmind.llm.search.terms import (
    NOTHING,
    Candidate,
    Filling,
    Groups,
    Term,
    Uses,
    Values,
    gives,
    grouped,
    is_large,
    texts,
)
from tools_registry.specs.schema import json_equal, validator
from tools_registry.specs.spec import ToolSpec

Probe = Callable[[Sequence[tuple[str, dict[str, Any]]]], Sequence[tuple[Any, Any]]]
"""Runs independent calls and returns a pair (value, None) or (None, error) for each."""
MAX_CALLS = 4
_CHUNK = 1_000
"""Calls in one round trip to the sandbox."""
_SHALLOW = 200
"""Fillings of the parameters of a call that hold no calls."""
_DEEP = 1_500
"""Pairs of terms for two parameters that both hold calls, and terms whose inner calls are shared."""
_PAIRS = 40
"""Lists of two texts with the same uses that are kept as terms."""
_TRIED = {1: 2_000, 2: 6_000, 3: 11_000, 4: 21_000}
"""The number of candidates that are tried, by the number of calls in them."""
_RELEVANCE = 0.5
"""The factor for the fit of a candidate's tool to the text."""
_TIE = 0.4
"""The bonus for a constant whose context in the text has the words of the parameter's description."""
_IDLE = 0.4
"""The penalty for a call that returns one of its arguments in every case."""
_USE = {1: 0.2, 2: 0.5, 3: 1.0, 4: 1.6}
"""The factor for the weight of a candidate's uses, by the number of calls; a whole program should use everything."""
_SHARED = 0.2
"""The penalty for two arguments that share calls."""
_ANYTHING = 0.5
"""The penalty for a list or an object in a parameter that takes any value."""
_GROUPED = {1: 0.3, 2: 0.3, 3: 0.3, 4: 0.2}
"""The penalty for each doubling of a candidate's place among those with the same tool and the same uses."""


@dataclass
class Question:
    """The problem of a search."""

    specs: Mapping[str, ToolSpec]
    cases: Sequence[dict[str, Any]]
    outputs: Sequence[Any]
    """The answers of the first cases; the other cases have none."""
    constants: Sequence[Constant]
    """Values that a program may use."""
    named: Sequence[Named]
    """The numbers and texts that the task names."""
    fit: Fit
    """The fit of tools and parameters to the text."""
    effort: float = 1.0
    """The number of candidates that are tried, as a share of the usual number."""

    @cached_property
    def known(self) -> dict[str, Constant]:
        """The constants, each by the `repr` of its value."""
        return {repr(constant.value): constant for constant in self.constants}


class Search:
    """A search. `run` fills `solutions` with the terms whose values are the answers, or one field of the answers."""

    def __init__(self, question: Question, probe: Probe) -> None:
        self.question = question
        self.probe = probe
        self.values = Values()
        self.tried: dict[tuple[Any, ...], int | None] = {}
        self.answering: dict[tuple[int, int], bool] = {}
        self.seen: set[tuple[int, tuple[int, ...]]] = set()
        self.uses = Uses(question.cases[0], {repr(part.value): part.weight for part in question.named})
        self.goals = _goals(question)
        self.solutions: dict[str, list[Term]] = {name: [] for name in self.goals}
        self.parameters = {
            (name, parameter.name): parameter for name, spec in question.specs.items() for parameter in parameters(spec)
        }
        self.names = {name: spec.required for name, spec in question.specs.items()}
        self.levels: list[list[Term]] = [self.inputs()]
        self.remember(self.levels[0])
        self.solutions[""] = []
        self.paired: list[list[Term]] = [[] for _ in range(MAX_CALLS + 1)]
        self.shallow: dict[tuple[str, tuple[str, ...]], Groups] = {}
        self.sharing: dict[str, Groups] = {}
        self.pools: dict[tuple[str, int], Groups] = {}
        self.constants = [self.constant_term(constant) for constant in question.constants]

    def run(self) -> None:
        """Enumerates terms by the number of their calls."""
        for size in range(1, MAX_CALLS + 1):
            level: list[Term] = []
            last = size == MAX_CALLS
            candidates = itertools.islice(self.candidates(size), round(_TRIED[size] * self.question.effort))
            for batch in _chunks(candidates, _CHUNK):
                level += self.evaluate(batch, size, only_answers=last)
            level.sort(key=lambda term: -term.score - _USE[size] * self.uses.weight(term.uses))
            self.levels.append(level)
            for pair in self.pairs(size, level):
                self.paired[pair.size].append(pair)
            level += [*self.paired[size], *self.filled(level)]

    def remember(self, level: list[Term]) -> None:
        """Keeps the terms whose values are the answers, or one field of answers that are objects."""
        for name, answers in self.goals.items():
            self.solutions[name] += [term for term in level if gives(term, answers)]

    def inputs(self) -> list[Term]:
        cases = self.question.cases
        terms: list[Term] = []
        for name in cases[0]:
            if not all(name in case for case in cases):  # an optional input
                continue
            source = Source("input", name)
            terms += self.with_fields(Term(source, [case[name] for case in cases], 0, 0.0, self.uses.of_input(name)))
        self.seen |= {(term.uses, self.values.numbers(term)) for term in terms}
        return terms

    def constant_term(self, constant: Constant) -> Term:
        values = [constant.value] * len(self.question.cases)
        uses = self.uses.of_constants(constant.names)
        return Term(Source("constant", value=constant.value), values, 0, -constant.cost, uses)

    def pairs(self, size: int, level: list[Term]) -> list[Term]:
        """Lists of two texts, one of which has `size` calls. Tools that join texts take such lists."""
        if not any(parameter.takes_texts for parameter in self.parameters.values()):
            return []
        named = [term for term in self.constants if term.uses and isinstance(term.source.value, str)]
        lists: list[Term] = []
        for other, terms in enumerate([[*self.levels[0], *named], *self.levels[1:]]):
            if size + other >= MAX_CALLS:
                break
            for one, two, uses, score in self.two_texts(level, terms):
                for first, second in ((one, two), (two, one)):
                    values = [list(pair) for pair in zip(first.values, second.values, strict=True)]
                    source = Source("list", fields=(("0", first.source), ("1", second.source)))
                    inside = tuple(part for term in (one, two) for part in (term, *term.inside) if part.size)
                    lists.append(Term(source, values, size + other, score - 0.3, uses, inside=inside))
        return lists

    def filled(self, level: Sequence[Term]) -> list[Term]:
        """Objects of one field. Tools that fill templates take such objects."""
        if not any(parameter.fills for parameter in self.parameters.values()):
            return []
        return [
            Term(
                Source("object", fields=((HOLE, term.source),)),
                [{HOLE: value} for value in term.values],
                term.size,
                term.score,
                term.uses,
                inside=(term, *term.inside),
            )
            for term in level
            if not is_large(term)
        ]

    def two_texts(self, ones: Sequence[Term], others: Sequence[Term]) -> Iterator[tuple[Term, Term, int, float]]:
        """Pairs of different texts, the most promising first."""
        left, right = (
            grouped(Filling((term,), term.uses, term.score) for term in texts(terms)) for terms in (ones, others)
        )
        alike: dict[int, int] = {}
        for (one, two), uses, score in itertools.islice(self.joined(left, right, _USE[3]), _PAIRS * 20):
            alike[uses] = alike.get(uses, 0) + 1
            if one is not two and alike[uses] <= _PAIRS:
                yield one, two, uses, score

    def could_answer(self, tool: str) -> bool:
        """Whether a tool's result can have the type of the answers."""
        check = validator(self.question.specs[tool].returns)
        return any(all(check(value) is None for value in wanted) for wanted in self.goals.values())

    def fits(self, term: Term, tool: str, parameter: str) -> bool:
        parameter_type = self.parameters[tool, parameter]
        known = term.fits.get(parameter_type.shape)
        if known is None:
            known = term.fits[parameter_type.shape] = parameter_type.takes(term.values[0])
        return known

    def pool(self, tool: str, parameter: str, size: int) -> Groups:
        """The terms with `size` calls that a parameter takes."""
        key = (self.parameters[tool, parameter].shape, size)
        if key not in self.pools:
            terms = [term for term in self.levels[size] if self.fits(term, tool, parameter)]
            anything = self.parameters[tool, parameter].types is None
            self.pools[key] = grouped(
                Filling((term,), term.uses, term.score - (_ANYTHING if anything and is_large(term) else 0.0))
                for term in terms
            )
        return self.pools[key]

    def candidates(self, size: int) -> Iterator[Candidate]:
        """The calls with `size` calls in them, the most promising first."""
        tools = [name for name in self.question.specs if size < MAX_CALLS or self.could_answer(name)]
        streams = [
            self.calls(tool, size, deep)
            for tool in tools
            for deep in _placements(self.question.specs[tool].required, size - 1)
        ]
        return heapq.merge(*streams, key=_unpromising)

    def calls(self, tool: str, size: int, deep: Mapping[str, int]) -> Iterator[Candidate]:
        """The calls of one tool with their inner calls at given parameters, the most promising first."""
        names = self.question.specs[tool].required
        relevance = self.question.fit.tools[tool] * _RELEVANCE
        factor = _USE[size]
        shallow = tuple(name for name in names if name not in deep)
        order = [(*deep, *shallow).index(name) for name in names]
        groups: dict[int, int] = {}
        for terms, uses, score in self.fillings(tool, deep, shallow, factor):
            if not deep and all(term.source.kind == "constant" for term in terms):
                continue
            groups[uses] = place = groups.get(uses, 0) + 1
            rank = score + relevance + factor * self.uses.weight(uses) - _GROUPED[size] * math.log2(place)
            yield Candidate(rank, tool, tuple([terms[at] for at in order]), uses, score + relevance)

    def fillings(
        self, tool: str, deep: Mapping[str, int], shallow: tuple[str, ...], factor: float
    ) -> Iterator[Filling]:
        """Fillings of parameters, the best first: of the parameters with calls, then of the others."""
        if -1 in deep.values():
            fillings = self.shared(tool, deep)
        else:
            pools = [self.pool(tool, name, level) for name, level in deep.items()]
            if len(pools) == 2 and not shallow:
                return self.joined(pools[0], pools[1], factor)
            fillings = NOTHING
            for pool in pools:
                fillings = self.some(fillings, pool, round(_DEEP * self.question.effort))
        return self.joined(fillings, self.without_calls(tool, shallow), factor)

    def shared(self, tool: str, deep: Mapping[str, int]) -> Groups:
        """Fillings of two parameters, one with a term and the other with a term that is part of it."""
        one, other = deep
        whole, part = (other, one) if deep[one] < 0 else (one, other)
        shapes = [self.parameters[tool, name].shape for name in (whole, part)]
        key = f"{shapes[0]} {shapes[1]} {deep[whole]} {whole == one}"
        if key not in self.sharing:
            terms = (term for term in self.levels[deep[whole]][:_DEEP] if term.inside and self.fits(term, tool, whole))
            pairs = ((term, inner) for term in terms for inner in term.inside if self.fits(inner, tool, part))
            self.sharing[key] = grouped(
                Filling(pair if whole == one else pair[::-1], pair[0].uses, pair[0].score - _SHARED) for pair in pairs
            )
        return self.sharing[key]

    def without_calls(self, tool: str, shallow: tuple[str, ...]) -> Groups:
        """Fillings of parameters with inputs and constants."""
        key = (tool, shallow)
        if key not in self.shallow:
            fillings = NOTHING
            for name in shallow:
                fillings = self.some(fillings, grouped(self.atoms(tool, name)), _SHALLOW)
            self.shallow[key] = fillings
        return self.shallow[key]

    def some(self, ones: Groups, others: Groups, most: int) -> Groups:
        """The best pairs of fillings."""
        if ones is NOTHING:
            return others
        return grouped(itertools.islice(self.joined(ones, others, _USE[2]), most))

    def joined(self, ones: Groups, others: Groups, factor: float) -> Iterator[Filling]:
        """The pairs of fillings, the best first: those with high scores and with much weight in their uses."""
        pairs: dict[tuple[int, int], tuple[list[Filling], list[Filling], float, float]] = {}
        for one, rows in ones.items():
            for other, columns in others.items():
                cost = self.uses.penalty(one & other)
                pairs[one, other] = (rows, columns, factor * self.uses.weight(one | other) - cost, cost)
        heap = [
            (-gain - rows[0].score - columns[0].score, pair, 0, 0) for pair, (rows, columns, gain, _) in pairs.items()
        ]
        heapq.heapify(heap)
        while heap:
            _, pair, row, column = heap[0]
            rows, columns, gain, cost = pairs[pair]
            first, second = rows[row], columns[column]
            if column + 1 < len(columns):
                heapq.heapreplace(heap, (-gain - first.score - columns[column + 1].score, pair, row, column + 1))
            else:
                heapq.heappop(heap)
            if not column and row + 1 < len(rows):
                heapq.heappush(heap, (-gain - rows[row + 1].score - second.score, pair, row + 1, 0))
            yield Filling(first.terms + second.terms, pair[0] | pair[1], first.score + second.score - cost)

    def atoms(self, tool: str, name: str) -> list[Filling]:
        """The inputs and constants that a parameter takes, the likeliest first."""
        parameter = self.parameters[tool, name]
        fillings = [
            Filling((term,), term.uses, term.score - (_ANYTHING if not parameter.types and is_large(term) else 0.0))
            for term in self.levels[0]
            if self.fits(term, tool, name)
        ]
        for option in parameter.options:
            source = Source("constant", value=option)
            term = Term(source, [option] * len(self.question.cases), 0, -self.question.fit.unsaid(option))
            fillings.append(Filling((term,), 0, term.score))
        if not parameter.options:
            for term, constant in zip(self.constants, self.question.constants, strict=True):
                if self.fits(term, tool, name) and (cost := _misplaced(constant, parameter)) is not None:
                    tie = _TIE * self.question.fit.tie(constant.context, tool, name)
                    fillings.append(Filling((term,), term.uses, term.score + tie - cost))
        return fillings

    def with_fields(self, term: Term) -> list[Term]:
        """A term and, if its values are objects, a term for each field that all of them have.

        If the objects have different fields, their keys are data: only the fields that the text names are taken.
        """
        terms = [term]
        if all(isinstance(value, dict) for value in term.values):
            objects = cast(list[dict[str, Any]], term.values)
            alike = len({tuple(value) for value in objects}) == 1 and len(objects[0]) <= 8
            for name in objects[0]:
                if all(name in value for value in objects) and (alike or self.question.fit.says(name)):
                    source = Source(
                        term.source.kind, term.source.name, None, term.source.call, (*term.source.path, name)
                    )
                    values = [value[name] for value in objects]
                    terms.append(Term(source, values, term.size, term.score - 0.1, term.uses))
        return terms

    def answers(self, number: int, case: int) -> bool:
        """Whether a value or one of its fields is the answer of a case or one field of it; true without an answer."""
        if case >= len(self.question.outputs):
            return True
        known = self.answering.get((number, case))
        if known is None:
            value = self.values.values[number]
            parts: list[Any] = [value]
            if isinstance(value, dict):
                parts += cast(dict[str, Any], value).values()
            known = any(json_equal(part, answer[case]) for answer in self.goals.values() for part in parts)
            self.answering[number, case] = known
        return known

    def results(self, batch: Sequence[Candidate], case: int) -> list[int | None]:
        """The numbers of the values of calls in a case, None for a call that fails. Equal calls are tried once."""
        keys = [(candidate.tool, *[term.numbers[case] for term in candidate.terms]) for candidate in batch]
        new = {key: candidate for key, candidate in zip(keys, batch, strict=True) if key not in self.tried}
        calls = [
            (
                candidate.tool,
                dict(zip(self.names[candidate.tool], [term.values[case] for term in candidate.terms], strict=True)),
            )
            for candidate in new.values()
        ]
        for key, (value, error) in zip(new, self.probe(calls), strict=True):
            self.tried[key] = self.values.number(value) if error is None else None
        return [self.tried[key] for key in keys]

    def evaluate(self, batch: Sequence[Candidate], size: int, only_answers: bool = False) -> list[Term]:
        """The new terms of a batch of calls that succeed in every case.

        Args:
            batch: The calls.
            size: The number of calls in each.
            only_answers: Drop a call at the first case whose answer is another value.
        """
        for candidate in batch:
            for term in candidate.terms:
                self.values.numbers(term)
        alive = [(candidate, list[int]()) for candidate in batch]
        for case in range(len(self.question.cases)):
            results = self.results([candidate for candidate, _ in alive], case)
            remaining: list[tuple[Candidate, list[int]]] = []
            for (candidate, numbers), number in zip(alive, results, strict=True):
                if number is not None and (not only_answers or self.answers(number, case)):
                    numbers.append(number)
                    remaining.append((candidate, numbers))
            alive = remaining
        return [term for candidate, numbers in alive for term in self.made(candidate, tuple(numbers), size)]

    def made(self, candidate: Candidate, numbers: tuple[int, ...], size: int) -> list[Term]:
        """The terms of a call whose values have these numbers, if they are new. Solutions are remembered."""
        key = (candidate.uses, numbers)
        new = key not in self.seen
        solves = all(self.answers(number, case) for case, number in enumerate(numbers))
        if not new and not solves:
            return []
        values = [self.values.values[number] for number in numbers]
        args = zip(self.names[candidate.tool], (term.source for term in candidate.terms), strict=True)
        source = Source("call", call=Call(candidate.tool, tuple(args)))
        idle = any(term.values == values for term in candidate.terms)
        score = candidate.score - _IDLE * idle
        terms = self.with_fields(Term(source, values, size, score, candidate.uses, idle, numbers=numbers))
        inner = {id(term): term for part in candidate.terms if part.size for term in (part, *part.inside)}
        for term in terms:
            term.inside = (*inner.values(), *(other for other in terms if other is not term))
        if solves:
            self.remember(terms)
        self.seen.add(key)
        return terms if new else []


def _misplaced(constant: Constant, parameter: Parameter) -> float | None:
    """The penalty for the kind of a constant in a parameter; None if the constant is not tried there."""
    match parameter.role, constant.kind:
        case "new field", "new":
            return 0.0
        case "new field", "field":
            return 0.5
        case "field", "field":
            return 0.0
        case "field", "new":
            return 0.0
        case "field", "text":
            return 0.2
        case "plain", "field":
            return 0.4
        case "plain", "number" | "text" | "list" | "sign" | "usual":
            return 0.0
        case "field", "fields" | "list":
            return 0.0
        case _:
            return None


def _placements(names: Sequence[str], calls: int) -> Iterator[dict[str, int]]:
    """The number of calls in the arguments of parameters: all in one argument, or divided between two.

    -1 stands for an argument that is part of the other argument.
    """
    if not calls:
        yield {}
        return
    for name in names:
        yield {name: calls}
    for one, other in itertools.combinations(names, 2):
        for first in range(1, calls):
            yield {one: first, other: calls - first}
        yield {one: calls, other: -1}
        yield {one: -1, other: calls}


def _chunks(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while chunk := list(itertools.islice(items, size)):
        yield chunk


def _unpromising(candidate: Candidate) -> float:
    return -candidate.rank


def _goals(question: Question) -> dict[str, list[Any]]:
    """The values to search for: the answers under the name "", and each field if all answers have the same fields.

    A few answers may have the same fields by chance, so the text must name all the fields.
    """
    outputs = question.outputs
    goals = {"": list(outputs)}
    first = outputs[0]
    if isinstance(first, dict):
        names = list(cast(dict[str, Any], first))
        alike = all(isinstance(output, dict) and list(cast(dict[str, Any], output)) == names for output in outputs)
        if alike and 0 < len(names) <= 4 and all(question.fit.says(name) for name in names):
            goals |= {name: [output[name] for output in outputs] for name in names}
    return goals
