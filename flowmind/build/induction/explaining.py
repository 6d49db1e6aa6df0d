"""The origins of a trace's values, as the workflow that was induced from the traces has them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence

from flowmind.build.induction.binding import Slot
from flowmind.build.induction.planning import Plan
from flowmind.build.induction.runs import UNSET
from flowmind.build.induction.structure import END
from flowmind.build.induction.terms import Term, is_number
from flowmind.build.induction.walking import Sample
from flowmind.trace.events import Called, Event, Origin, Trace
from flowmind.trace.origins import has_holes
from flowmind.workflow.document import Var

CONSTANT = ("literal", "text")


def with_plan(traces: Sequence[Trace], plan: Plan) -> tuple[Trace, ...]:
    """Traces with origins, corrected by the plan of a workflow that reproduces them.

    The values of single traces do not show everything. An argument that no input and no result equals may be
    computed from them, such as `name.title()`; an answer that is the same in all traces may be gathered by a loop.
    If the plan explains such a value, its origin becomes the plan's: an input, an output, or `computed`. An expression
    with a number that the text does not name, such as `3 * total`, may fit by chance and explains nothing.

    Args:
        traces: Those that the plan was made from, by the numbers of its runs, with the origins of `with_origins`.
        plan: Of the workflow.
    """
    arguments: dict[int, dict[int, dict[str, Origin]]] = defaultdict(lambda: defaultdict(dict))
    walk = plan.bound.walk
    for key, slots in plan.bound.slots.items():
        for sample in walk.visits[key]:
            run = walk.runs[sample.run]
            place = run.calls[walk.layout.paths[sample.run][sample.event].call or 0].place
            for name, slot in slots.items():
                origin = traces[run.number].calls[place].origins.get(name)
                if origin is not None:
                    arguments[run.number][place][name] = _corrected(origin, slot, plan, sample)
    answers: dict[int, Origin] = {}
    for sample in walk.visits.get(END, ()) if plan.bound.answer is not None else ():
        run = walk.runs[sample.run]
        origin = traces[run.number].origin
        if origin is not None and plan.bound.answer is not None and run.answer is not UNSET:
            answers[run.number] = _corrected(origin, plan.bound.answer, plan, sample)
    return tuple(
        _with(trace, arguments[number], answers.get(number, trace.origin)) for number, trace in enumerate(traces)
    )


def _with(trace: Trace, arguments: dict[int, dict[str, Origin]], answer: Origin | None) -> Trace:
    events: list[Event] = []
    place = 0
    for event in trace.events:
        if isinstance(event, Called):
            if place in arguments:
                event = event.model_copy(update={"origins": event.origins | arguments[place]})
            place += 1
        events.append(event)
    return trace.model_copy(update={"events": tuple(events), "origin": answer})


def _corrected(origin: Origin, slot: Slot, plan: Plan, sample: Sample) -> Origin:
    """The plan's origin of a value that is unexplained, or taken for a constant that the plan reads from a variable."""
    if not slot.explained or any(_invents(term, plan) for term in _terms(slot)):
        return origin
    parts = _parts(slot)
    if origin.kind == "made" and parts is not None and parts.keys() == origin.parts.keys():
        corrected = {key: _corrected(part, parts[key], plan, sample) for key, part in origin.parts.items()}
        return origin.model_copy(update={"parts": corrected})
    constant = origin.kind in CONSTANT and bool(slot.used())
    return _origin(slot, plan, sample) if constant or has_holes(origin) else origin


def _terms(slot: Slot) -> list[Term]:
    """The likeliest terms of a slot and its parts."""
    inner = [*(part for _, part in slot.ways), *(slot.part or {}).values(), *(slot.listed or ())]
    inner += [slot.collected[2]] if slot.collected is not None else []
    own = [*slot.terms[:1], *(slot.kept.terms if slot.kept is not None else ())]
    return [*own, *(term for part in inner for term in _terms(part))]


def _invents(term: Term, plan: Plan) -> bool:
    """Whether a term computes with a number other than 0 and 1 that the text does not name."""
    if term.binding is not None:
        return False
    constants = [node.value for node in ast.walk(ast.parse(term.expr, mode="eval")) if isinstance(node, ast.Constant)]
    return any(is_number(value) and value not in (0, 1) and not plan.bound.binder.said(value) for value in constants)


def _parts(slot: Slot) -> dict[str, Slot] | None:
    if slot.part is not None:
        return dict(slot.part)
    return {str(place): part for place, part in enumerate(slot.listed)} if slot.listed is not None else None


def _origin(slot: Slot, plan: Plan, sample: Sample) -> Origin:
    parts = _parts(slot)
    if parts is not None:
        return Origin(kind="made", parts={key: _origin(part, plan, sample) for key, part in parts.items()})
    if slot.terms:
        return _term_origin(slot.terms[0], plan, sample)
    if slot.collected is not None:
        inner = slot.collected[2]
        each = inner.terms[0].expr if inner.terms else "a value"
        return Origin(kind="computed", expr=f"{each} of each round of a loop")
    reads = ", ".join(sorted(slot.used())) or "constants"
    return Origin(kind="computed", expr=f"set from {reads}, depending on the way taken")


def _term_origin(term: Term, plan: Plan, sample: Sample) -> Origin:
    if not term.uses:
        return Origin(kind="literal")
    if isinstance(term.binding, Var):
        walk = plan.bound.walk
        run, path = walk.runs[sample.run], walk.layout.paths[sample.run]
        name, steps = term.binding.var, term.binding.path
        if name in run.inputs:
            return Origin(kind="input", name=name, path=steps)
        for event in reversed(path[: sample.event]):
            if event.call is not None and walk.names[event.key] == name:
                return Origin(kind="output", step=run.calls[event.call].place, path=steps)
        if name in (initial := dict(term.initial)):
            return _term_origin(initial[name], plan, sample)
    return Origin(kind="computed", expr=term.expr)
