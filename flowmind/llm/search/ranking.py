"""Ranking of the programs that give the examples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from flowmind.llm.search.program import Program, Source, leaves, parts_of, program_of
from flowmind.llm.search.synthesis import Question, Search
from flowmind.llm.search.terms import Term

MOST = 1_500
"""The number of programs that are compared."""
# The weights were fitted with a softmax over the programs for each easy task of the benchmark's seeds 0 and 7, so that
# the programs that pass the tests rank first. The features were chosen by cross-validation over task families. The
# weights are rounded, and the first one was set by hand.
_CALL = 0.3
"""The cost of a call."""
_UNUSED = 1.2
"""The cost of an unused input or named constant, by its weight."""
_GUESSED = 2.4
"""The cost of constants, by their prior costs."""
_FITTING = 1.15
"""The gain of tools, by their fit to the text."""
_TIED = 0.5
"""The gain of a constant whose context in the text has the words of the parameter's description."""
_REPEATED = 1.9
"""The cost of another call of the same tool."""
_ALIKE = 1.0
"""The cost of two tools with similar documentation, which are probably alternatives."""
_STILL = 0.8
"""The cost of a call with the same result in all cases."""
_IDLE = 1.4
"""The cost of a call that returns one of its arguments in all cases."""
_DISORDER = 0.5
"""The cost of two constants that the program uses in another order than the text."""
_SHARED = 1.1
"""The gain for each call that two fields of the answer share."""


def best(search: Search) -> Program | None:
    """The likeliest program; None if none was found."""
    ranked = rank(search)
    return ranked[0] if ranked else None


def rank(search: Search) -> list[Program]:
    """The programs that were found, the likeliest first."""
    question = search.question
    programs = [(cost(question, program, terms), program) for program, terms in _programs(search)]
    return [program for _, program in sorted(programs, key=lambda pair: pair[0])]


def cost(question: Question, program: Program, terms: Sequence[Term]) -> float:
    """The cost of a program; the program with the least cost is the likeliest.

    Args:
        question: The problem.
        program: A program that gives the known answers.
        terms: The terms of its answer.
    """
    known = question.known
    used = [repr(leaf.value) for leaf in leaves(program) if leaf.kind == "constant"]
    guessed = math.fsum(known[value].cost if value in known else 0.1 for value in used)
    tools = list(dict.fromkeys(call.tool for call in program.calls))
    results = _results(terms)
    ties = [
        question.fit.tie(known[repr(source.value)].context, call.tool, name)
        for call in program.calls
        for name, source in call.args
        if source.kind == "constant" and repr(source.value) in known
    ]
    return (
        _CALL * len(program.calls)
        + _UNUSED * unused(question, program)
        + _GUESSED * guessed
        - _FITTING * math.fsum(question.fit.tools[tool] for tool in tools)
        - _TIED * math.fsum(ties)
        + _REPEATED * (len(program.calls) - len(tools))
        + _ALIKE * math.fsum(question.fit.alike(*pair) for pair in itertools.combinations(tools, 2))
        + _STILL * sum(all(value == term.values[0] for value in term.values) for term in results)
        + _IDLE * sum(term.idle for term in results)
        + _DISORDER * _disorder(question, used)
        - _SHARED * (sum(len(program_of(term.source).calls) for term in terms) - len(program.calls))
    )


def unused(question: Question, program: Program) -> float:
    """The weight of the inputs and named constants that a program does not use."""
    ends = leaves(program)
    used = {repr(part) for leaf in ends if leaf.kind == "constant" for part in parts_of(leaf.value)}
    named = {name for value in used if value in question.known for name in question.known[value].names}
    missing = len(set(question.cases[0]) - {leaf.name for leaf in ends if leaf.kind == "input"})
    return 1.5 * missing + math.fsum(part.weight for part in question.named if repr(part.value) not in named)


def _programs(search: Search) -> Iterator[tuple[Program, Sequence[Term]]]:
    """The programs of the terms: one for each term that gives the answer, and for each choice of a term for each field.

    An answer without a call is left out, because an execution must call a tool.
    """

    def promise(term: Term) -> float:
        return term.size - search.uses.weight(term.uses) - term.score

    for term in sorted(search.solutions[""], key=promise)[:MOST]:
        yield program_of(term.source), [term]
    names = [name for name in search.solutions if name]
    most = int(MOST ** (1 / max(1, len(names))))
    choices = [sorted(search.solutions[name], key=promise)[:most] for name in names]
    combined = itertools.chain(_of_one_call(search, names), itertools.product(*choices)) if names else ()
    for chosen in combined:
        sources = (term.source for term in chosen)
        program = program_of(Source("object", fields=tuple(zip(names, sources, strict=True))))
        if program.calls:
            yield program, chosen


def _of_one_call(search: Search, names: Sequence[str]) -> Iterator[Sequence[Term]]:
    """The terms of the fields of the answer, for each call whose result has all of them."""
    places = [{id(term.source.call): term for term in search.solutions[name] if term.source.path} for name in names]
    for call in places[0]:
        if all(call in place for place in places):
            yield [place[call] for place in places]


def _results(terms: Sequence[Term]) -> list[Term]:
    """The results of all calls in the terms, each once."""
    every = (term for one in terms for term in (one, *one.inside))
    return list({id(term.source.call): term for term in every if term.source.call and not term.source.path}.values())


def _disorder(question: Question, used: Sequence[str]) -> int:
    """The number of pairs of named constants that the program uses in another order than the text."""
    places = {repr(part.value): place for place, part in enumerate(question.named)}
    order = [places[value] for value in used if value in places]
    return sum(1 for one, other in itertools.combinations(order, 2) if one > other)
