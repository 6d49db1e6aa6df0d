"""Searches a straight sequence of tool calls that reproduces examples: bottom-up enumeration of terms.

A term is a value for each case at once: an input, a field of one, a constant of the task text, or a call over
terms. Terms are built by the number of their calls; of terms with equal values in all cases the first is kept
(observational equivalence: Albarghouthi, Gulwani and Kincaid, CAV 2013), unless the later one uses more of what
the task names: a few examples often do not show what a constant is for. What it cannot find within its budget
it does not find.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, cast

from flowmind.files import dump_json
from tools_registry.schema import Validator, json_equal, type_of, validator
from tools_registry.spec import ToolSpec

Probe = Callable[[Sequence[tuple[str, dict[str, Any]]]], Sequence[tuple[Any, Any]]]
"""Runs independent calls; gives (value, None) or (None, error) for each."""
MAX_CALLS = 4
_CHUNK = 4_000
_FIELD_CHOICES = 3
"""Terms for one field of an answer that are put together with those of the others."""
_SINGLE = 1_000
_PAIR = 60
"""Terms that one argument is tried with, the best first: alone, or beside another argument that holds calls."""
_PAIRED = 8
"""Texts of one size that are put into lists of two."""
_PAIRS = 100
"""Lists of two texts that are built upon."""
_COMBINATIONS = 20_000
"""Combinations of arguments that are ranked, over all tools, in one way of sharing calls among the arguments."""
_TRIED = {1: 3_000, 2: 6_000, 3: 4_000, 4: 0}
"""Candidates that are tried in all cases, by the calls in them, the best first: the next size is built on them."""
_CHECKED = {1: 0, 2: 4_000, 3: 12_000, 4: 20_000}
"""Candidates behind these that may be the answer, but are not built upon: they cost a call where they are not."""


_PYTHON: dict[str, tuple[type, ...]] = {
    "integer": (int, float),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
"""The types that values of a JSON type can have: most terms are told apart by it at once."""


@dataclass(frozen=True)
class Source:
    """Where a value comes from: an input, a constant, the result of a call, or an object or list of sources."""

    kind: str
    """`input`, `constant`, `call`, `object` or `list`."""
    name: str = ""
    value: Any = None
    call: Call | None = None
    path: tuple[str | int, ...] = ()
    fields: tuple[tuple[str, Source], ...] = ()
    """Of an object by name, of a list by position."""


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
    uses: int = 0
    """The inputs and named constants in it, a bit for each."""
    fits: dict[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])


class Candidate(NamedTuple):
    """A call that may be tried."""

    tool: str
    parameters: Sequence[str]
    terms: tuple[Term, ...]
    uses: int
    score: float

    def arguments(self, case: int) -> dict[str, Any]:
        """Its arguments in one case."""
        return {name: term.values[case] for name, term in zip(self.parameters, self.terms, strict=True)}


Ranked = TypeVar("Ranked", Term, Candidate)


@dataclass
class Question:
    """What is searched for."""

    specs: Mapping[str, ToolSpec]
    cases: Sequence[dict[str, Any]]
    outputs: Sequence[Any]
    """The answers of the first cases; the others have none."""
    constants: Sequence[tuple[Any, float]]
    """Values that the text names, with how much they cost."""
    named: Sequence[Any]
    """The constants among them that the task is likely to be about: its numbers and quoted texts."""
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
        self.bits: dict[str, int] = {}
        self.goals = _goals(question.outputs)
        self.solutions: dict[str, list[Source]] = {name: [] for name in self.goals}
        self.levels: list[list[Term]] = [self.inputs()]
        self.remember(self.levels[0])
        self.solutions[""] = []
        self.constants = self.constant_terms()
        self.validators: dict[tuple[str, str], Validator] = {}
        self.types: dict[tuple[str, str], tuple[type, ...] | None] = {}
        for name, spec in question.specs.items():
            definitions = spec.parameters.get("$defs")
            for parameter, schema in spec.parameters.get("properties", {}).items():
                schema = {**schema, "$defs": definitions} if definitions else schema
                self.validators[name, parameter] = validator(schema)
                self.types[name, parameter] = _PYTHON.get(str(schema.get("type")))

    def run(self) -> Program | None:
        """Sizes are searched one after the other; a program that leaves something named in the task unused is
        kept while two larger sizes are searched, because examples are few and a coincidence is likely."""
        best: tuple[float, Program] | None = None
        last = MAX_CALLS
        for size in range(1, MAX_CALLS + 1):
            level: list[Term] = []
            candidates = self.candidates(size)
            for batch in _chunks(iter(candidates[: _TRIED[size]]), _CHUNK):
                if self.spent >= self.question.budget:
                    break
                level += self.evaluate(batch, size)
            for batch in _chunks(iter(candidates[_TRIED[size] :]), _CHUNK):
                if self.spent >= self.question.budget:
                    break
                self.evaluate(batch, size, only_answers=True)
            for program in self.programs():
                cost = self.cost(program)
                if best is None or cost < best[0]:
                    best = cost, program
                    last = min(MAX_CALLS, len(program.calls) + 2)
            if best is not None and (size >= last or not self.unused(best[1])):
                break
            if not level or self.spent >= self.question.budget:
                break
            self.levels.append(_ranked(level, len(level)))
            self.levels[-1] += self.pairs(size)
        return best[1] if best else None

    def remember(self, level: list[Term]) -> None:
        """Keeps the terms that give the answers, or one field of them where the answers are objects."""
        for name, wanted in self.goals.items():
            self.solutions[name] += [term.source for term in level if _gives(term, wanted)]

    def programs(self) -> Iterator[Program]:
        """What the kept terms make: a program for each that gives the answer, or one term for each field.

        A record that is put together without a call is no program: executing means calling tools.
        """
        yield from (_program(source) for source in self.solutions[""])
        fields = {name: sources[:_FIELD_CHOICES] for name, sources in self.solutions.items() if name}
        if fields:
            for chosen in itertools.product(*fields.values()):
                program = _program(Source("object", fields=tuple(zip(fields, chosen, strict=True))))
                if program.calls:
                    yield program

    def cost(self, program: Program) -> float:
        """Calls, and what of the task they leave unused, and constants that the task does not name."""
        named = {repr(value): cost for value, cost in self.question.constants}
        constants = _constants(program)
        guessed = sum(named.get(repr(value), 0.3) * len(_parts_of(value)) for value in constants)
        guessed += 0.15 * (len(constants) - len(set(map(repr, constants))))
        fitting = sum(self.question.relevance.get(call.tool, 0.0) for call in program.calls)
        return len(program.calls) + 1.1 * self.unused(program) + guessed - fitting / (len(program.calls) or 1)

    def unused(self, program: Program) -> float:
        """How many inputs and named constants a program leaves unused.

        Quoted texts are often illustrations, and 0, 1 and -1 explanations: they hardly count.
        """
        used = {repr(part) for value in _constants(program) for part in _parts_of(value)}
        inputs = {source.name for source in _leaves(program) if source.kind == "input"}
        missing = 1.5 * len(set(self.question.cases[0]) - inputs)
        for value in self.question.named:
            alike = {repr(value), repr(value / 100)} if type(value) in (int, float) else {repr(value)}
            if not alike & used:
                illustrative = isinstance(value, str) or value in (0, 1, -1)
                missing += 0.2 if illustrative else 1.0
        return missing

    def bit(self, name: str) -> int:
        """The bit that stands for an input or a named constant."""
        return 1 << self.bits.setdefault(name, len(self.bits))

    def inputs(self) -> list[Term]:
        cases = self.question.cases
        terms: list[Term] = []
        for name in cases[0]:
            source = Source("input", name)
            terms += self.with_fields(Term(source, [case[name] for case in cases], 0, 0.0, self.bit(name)))
        self.seen |= {_key(term.values, term.uses) for term in terms}
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
                    values = [value[name] for value in objects]
                    found.append(Term(source, values, term.size, term.score - 0.1, term.uses))
        return found

    def constant_terms(self) -> list[Term]:
        count = len(self.question.cases)
        known = {repr(value): repr(value) for value in self.question.named}
        known |= {repr(value / 100): repr(value) for value in self.question.named if type(value) in (int, float)}
        return [
            Term(
                Source("constant", value=value),
                [value] * count,
                0,
                -cost,
                sum({self.bit(known[repr(part)]) for part in _parts_of(value) if repr(part) in known}),
            )
            for value, cost in self.question.constants
        ]

    def pairs(self, size: int) -> list[Term]:
        """Lists of two texts, the newer of `size` calls: what tools that join texts take."""
        found: list[Term] = []
        for level, terms in enumerate(self.levels):
            for one, other in itertools.product(_texts(self.levels[size]), _texts(terms)):
                if one is other or (level and one.size + other.size > MAX_CALLS - 1):
                    continue
                for first, second in ((one, other), (other, one)):
                    values = [list(pair) for pair in zip(first.values, second.values, strict=True)]
                    source = Source("list", fields=(("0", first.source), ("1", second.source)))
                    score = first.score + second.score - 0.3
                    found.append(Term(source, values, size, score, first.uses | second.uses))
        return _ranked(found, _PAIRS)

    def could_answer(self, tool: str) -> bool:
        """Whether a tool's result can have the type of the answers."""
        check = validator(self.question.specs[tool].returns)
        return any(all(check(value) is None for value in wanted) for wanted in self.goals.values())

    def fits(self, term: Term, tool: str, parameter: str) -> bool:
        known = term.fits.get((tool, parameter))
        if known is None:
            value, types = term.values[0], self.types[tool, parameter]
            known = (types is None or type_of(value) in types) and self.validators[tool, parameter](value) is None
            term.fits[tool, parameter] = known
        return known

    def candidates(self, size: int) -> list[Candidate]:
        """The most promising calls with `size` calls in them, the best first."""
        tools = [name for name in self.question.specs if size < MAX_CALLS or self.could_answer(name)]
        shares = list(_shares(size - 1, 2))
        every = itertools.chain.from_iterable(self.calls(name, size, shares) for name in tools)
        return _ranked(list(every), _TRIED[size] + _CHECKED[size])

    def calls(self, tool: str, size: int, shares: list[tuple[int, ...]]) -> Iterator[Candidate]:
        parameters = self.question.specs[tool].required
        relevance = self.question.relevance.get(tool, 0.0)
        pools = {
            (parameter, level): self.pool(tool, parameter, level, size)
            for parameter in parameters
            for level in range(min(size, len(self.levels)))
        }
        for chosen in _placements(parameters, size - 1, shares):
            width = _PAIR if sum(1 for level in chosen if level) > 1 else _SINGLE
            held = [
                pools[parameter, level][: width if level else None]
                for parameter, level in zip(parameters, chosen, strict=True)
            ]
            for combination in itertools.product(*_trimmed(held, _COMBINATIONS // len(self.question.specs))):
                if all(term.source.kind == "constant" for term in combination):
                    continue
                uses = twice = 0
                score = relevance
                for term in combination:
                    score += term.score
                    twice += (uses & term.uses).bit_count()
                    uses |= term.uses
                yield Candidate(tool, parameters, combination, uses, score - 0.2 * twice)

    def pool(self, tool: str, parameter: str, level: int, size: int) -> list[Term]:
        """The terms of a level that a parameter takes; constants are of level 0, guessed ones for short programs."""
        constants = [] if level else self.own_constants(tool, parameter)
        if size > 2:
            constants = [term for term in constants if term.score > -0.3]
        terms = [*self.levels[level], *constants]
        return [term for term in terms if self.fits(term, tool, parameter)]

    def own_constants(self, tool: str, parameter: str) -> list[Term]:
        """The constants of the text, and the options of a parameter that lists them."""
        schema = self.question.specs[tool].parameters["properties"][parameter]
        count = len(self.question.cases)
        options: list[Any] = schema.get("enum", [])
        if schema.get("type") == "boolean":
            options = [True, False]
        listed = [Term(Source("constant", value=value), [value] * count, 0, -0.1) for value in options]
        return listed or self.constants

    def answers(self, value: Any, case: int) -> bool:
        """Whether a value, or a field of it, is the answer of a case or a field of it."""
        if case >= len(self.question.outputs):
            return True
        parts: list[Any] = [value]
        if isinstance(value, dict):
            parts += cast(dict[str, Any], value).values()
        return any(json_equal(part, wanted[case]) for wanted in self.goals.values() for part in parts)

    def evaluate(self, batch: list[Candidate], size: int, only_answers: bool = False) -> list[Term]:
        """The terms of a batch of calls that give a value in every case, and a new one.

        Args:
            batch: The calls.
            size: How many calls are in each.
            only_answers: Drop a call at the first case whose answer it does not give.
        """
        alive = list(range(len(batch)))
        values: list[list[Any]] = [[] for _ in batch]
        for number in range(len(self.question.cases)):
            calls = [(batch[index].tool, batch[index].arguments(number)) for index in alive]
            self.spent += len(calls)
            left: list[int] = []
            for index, (value, error) in zip(alive, self.probe(calls), strict=True):
                if error is None and not (only_answers and not self.answers(value, number)):
                    values[index].append(value)
                    left.append(index)
            alive = left
        found: list[Term] = []
        for index in alive:
            candidate = batch[index]
            args = zip(candidate.parameters, (term.source for term in candidate.terms), strict=True)
            source = Source("call", call=Call(candidate.tool, tuple(args)))
            terms = self.with_fields(Term(source, values[index], size, candidate.score, candidate.uses))
            self.remember(terms)
            key = _key(values[index], candidate.uses)
            if key not in self.seen:
                self.seen.add(key)
                found += terms
        return found


def _ranked(items: list[Ranked], count: int) -> list[Ranked]:
    """The best items, two views taking turns: those whose tools fit the text, and those that use most of it."""
    fitting = heapq.nlargest(count, items, key=lambda item: item.score)
    using = heapq.nlargest(count, items, key=lambda item: item.score + item.uses.bit_count())
    both = itertools.chain.from_iterable(zip(fitting, using, strict=True))
    return list({id(item): item for item in both}.values())[:count]


def _trimmed(pools: list[list[Term]], most: int) -> list[list[Term]]:
    """Pools cut from the end, the longest first, until their product is small enough."""
    cut = list(pools)
    while math.prod(map(len, cut)) > most:
        longest = max(range(len(cut)), key=lambda index: len(cut[index]))
        cut[longest] = cut[longest][: len(cut[longest]) * 3 // 4]
    return cut


def _placements(parameters: Sequence[str], calls: int, shares: list[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
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


def _key(values: list[Any], uses: int) -> str:
    return f"{dump_json(values)} {uses}"


def _goals(outputs: Sequence[Any]) -> dict[str, list[Any]]:
    """What is to be found: the answers, under the name "", and each field of them, if all are alike objects."""
    goals = {"": list(outputs)}
    first = outputs[0]
    if isinstance(first, dict):
        names = list(cast(dict[str, Any], first))
        alike = all(isinstance(output, dict) and list(cast(dict[str, Any], output)) == names for output in outputs)
        if alike and 0 < len(names) <= 4:
            goals |= {name: [output[name] for output in outputs] for name in names}
    return goals


def _gives(term: Term, wanted: Sequence[Any]) -> bool:
    return all(json_equal(ours, theirs) for ours, theirs in zip(term.values, wanted, strict=False))


def _texts(terms: Sequence[Term]) -> list[Term]:
    """The first terms that are texts in every case."""
    texts = (term for term in terms if all(isinstance(value, str) for value in term.values))
    return list(itertools.islice(texts, _PAIRED))


def _leaves(program: Program) -> list[Source]:
    """The inputs and constants that a program reads."""
    found: list[Source] = []

    def visit(source: Source) -> None:
        if source.kind in ("input", "constant"):
            found.append(source)
        for _, part in source.fields:
            visit(part)

    for call in program.calls:
        for _, source in call.args:
            visit(source)
    visit(program.answer)
    return found


def _constants(program: Program) -> list[Any]:
    return [source.value for source in _leaves(program) if source.kind == "constant"]


def _parts_of(value: Any) -> list[Any]:
    return [value, *cast(list[Any], value)] if isinstance(value, list) else [value]


def _program(answer: Source) -> Program:
    """The calls of a term in the order in which they are needed, equal calls once."""
    calls: list[Call] = []

    def visit(source: Source) -> None:
        for _, part in source.fields:
            visit(part)
        if source.call is None or source.call in calls:
            return
        for _, part in source.call.args:
            visit(part)
        calls.append(source.call)

    visit(answer)
    return Program(tuple(calls), answer)
