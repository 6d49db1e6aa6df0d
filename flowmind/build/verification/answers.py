"""Answers of a person to questions that the traces leave open."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.build.induction.control_flow import UNSET, Key
from flowmind.build.induction.emission import Emitter
from flowmind.build.induction.evidence import Question, questions, tell
from flowmind.build.induction.planning import Plan, resolve, simulate
from flowmind.build.induction.search import Induced
from flowmind.build.induction.terms import Term, is_number
from flowmind.build.verification.repair import HIDDEN
from flowmind.build.verification.trials import Best, Work, with_conditions
from flowmind.trace.origins import short
from flowmind.workflow.document import Evidence, show_binding
from flowmind.workflow.expressions import ExpressionError, evaluate
from flowmind.workflow.expressions import names as names_in
from tools_registry.specs.spec import Record
from tools_registry.specs.values import CaseError

COMPARED = 9
"""Candidates that are compared on one input."""
_ROWS = 400
"""Combinations of values on which candidates are compared."""
_NUMBER = re.compile(r"(?<![\w.'\"])-?\d+(?:\.\d+)?(?![\w.'\"])")
Row = dict[str, Any]


class Illustration(Record):
    """The effect of each candidate of a question on one combination of values on which they differ."""

    values: dict[str, Any]
    """The variables that the candidates read."""
    effects: tuple[str, ...]
    """The next step, or the value, for each of the first candidates."""


def id_of(part: Evidence) -> str:
    """The id of the question about a part of a workflow."""
    return part.node if part.field == "expr" else f"{part.node}.{part.field}"


async def answered(work: Work, best: Best, answers: Mapping[str, str]) -> Best:
    """The workflow with the answers of a person; answers to questions that it does not leave open are ignored.

    Raises:
        InputError: If an answer cannot be used, or contradicts the traces.
    """
    used: set[str] = set()
    while True:
        question = next(
            (one for one in _open(work, best) if one.id in answers and one.id not in used and one.kind != "arm"), None
        )
        if question is None or best.draft is None or best.emitter is None:
            return replace(best, answered=best.answered | used)
        used.add(question.id)
        answer = answers[question.id].strip()
        changed = await _with_answer(work, best.draft, best.emitter, question, answer)
        if changed is None or changed.rank > best.rank:
            raise InputError(f"{question.id}: the answer {answer!r} contradicts the traces{_where(changed)}")
        changed.first, changed.loops = best.first, best.loops
        best = changed


def _where(changed: Best | None) -> str:
    """An example that an answer makes wrong."""
    if changed is None or not changed.failures:
        return ""
    failure = changed.failures[0]
    return f": for {short(failure.input)} the right answer is {short(failure.expected)}"


def _open(work: Work, best: Best) -> Iterator[Question]:
    if best.emitter is not None:
        yield from questions(best.emitter, best.workflow, work.unmarked(best.workflow))


async def _with_answer(work: Work, draft: Induced, emitter: Emitter, question: Question, answer: str) -> Best | None:
    if question.kind == "condition":
        place, number = emitter.arms[question.node]
        _require_condition(question, answer, draft.scope(place))
        work.answers = {**work.answers, (place, number): answer}
        return await with_conditions(work, draft, work.answers, "")
    key, name = _slot_of(emitter, question)
    term = next((term for term in _terms(draft.plan, key, name) if _shown(term) == answer), None)
    if term is None or term.initial or term.binding is None:
        choices = " | ".join(question.candidates) or "more traces"
        raise InputError(f"{question.id}: the answer {answer!r} is none of the choices: {choices}")
    args = {**draft.plan.args, key: {**draft.plan.args.get(key, {}), name: term.binding}}
    return await with_conditions(work, replace(draft, plan=replace(draft.plan, args=args)), work.answers, "")


def _slot_of(emitter: Emitter, question: Question) -> tuple[Key, str]:
    return emitter.where[question.node], question.id.removeprefix(f"{question.node}.")


def _terms(plan: Plan, key: Key, name: str) -> Sequence[Term]:
    slot = plan.bound.slots.get(key, {}).get(name)
    return slot.terms if slot is not None else ()


def _shown(term: Term) -> str:
    return show_binding(term.binding) if term.binding is not None else ""


def _require_condition(question: Question, answer: str, rows: Sequence[Row]) -> None:
    """Refuses an answer that is not a condition over the variables at its place.

    Raises:
        InputError: With the variables.
    """
    try:
        unknown = names_in(answer) - {name for row in rows for name in row}
    except ExpressionError as error:
        raise InputError(f"{question.id}: the answer {answer!r} is not a condition: {error}") from None
    if unknown:
        known = ", ".join(sorted({name for row in rows for name in row if not name.startswith(HIDDEN)}))
        raise InputError(f"{question.id}: there is no variable {min(unknown)!r} here; there are {known}")


def illustrate(emitter: Emitter, question: Question) -> Illustration | None:
    """The values on which most of the first candidates of a question differ, with what each does there.

    The values are combined from those of the traces, and from numbers next to those of the candidates. No tool is
    called. None if no combination tells two candidates apart.
    """
    candidates = question.candidates[:COMPARED]
    befores, afters = simulate(emitter.plan)
    effects_of: list[Callable[[Row], str]] = []
    if question.kind == "condition":
        place, number = emitter.arms[question.node]
        decision = emitter.plan.decisions[place]
        rows = [afters[sample.run][sample.event] for sample in decision.samples]
        ways = {"true": tell(decision.ways[number][1]), "false": tell(decision.last)}
        effects_of += [partial(_way, expr, ways) for expr in candidates]
        used = frozenset[str]().union(*map(names_in, candidates))
    elif question.kind == "value" and len(candidates) > 1:
        key, name = _slot_of(emitter, question)
        rows = [befores[sample.run][sample.event] for sample in emitter.plan.bound.walk.visits[key]]
        terms = [term for term in _terms(emitter.plan, key, name) if _shown(term) in candidates][: len(candidates)]
        effects_of += [partial(_value, term) for term in terms]
        used = frozenset[str]().union(*(term.uses for term in terms))
    else:
        return None
    best: Illustration | None = None
    for row in islice(_mixed(rows, used, candidates), _ROWS):
        effects = tuple(effect_of(row) for effect_of in effects_of)
        if best is None or len({*effects}) > len({*best.effects}):
            best = Illustration(values={name: row[name] for name in row if name in used}, effects=effects)
    return best if best is not None and len({*best.effects}) > 1 else None


def _way(expr: str, ways: Mapping[str, str], row: Row) -> str:
    """The next step if a condition decides."""
    try:
        return ways.get(dump_json(evaluate(expr, row)), "an error")
    except (CaseError, ExpressionError):
        return "an error"


def _value(term: Term, row: Row) -> str:
    """The value of a term."""
    value = resolve(term.binding, row) if term.binding is not None else UNSET
    return "no value" if value is UNSET else short(value)


def _mixed(rows: Sequence[Row], used: frozenset[str], candidates: Sequence[str]) -> Iterator[Row]:
    """The rows, and rows with one value of another row or a number next to one of the candidates."""
    limits = {float(text) for expr in candidates for text in _NUMBER.findall(expr)}
    near = [int(limit + off) if limit == int(limit) else limit + off for limit in sorted(limits) for off in (0, -1, 1)]
    for row in rows:
        for name in sorted(used & row.keys()):
            for other in rows:
                if name in other:
                    yield {**row, name: other[name]}
    for row in rows:
        for name in sorted(used & row.keys()):
            if is_number(row[name]):
                yield from ({**row, name: number} for number in near)
