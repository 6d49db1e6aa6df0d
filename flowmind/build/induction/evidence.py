"""Evidence: the steps that support an induced workflow, its guesses, open questions, and the origins of its values."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal, cast

from flowmind.build.induction.control_flow import END, UNSET, Key, Sample, tool_of
from flowmind.build.induction.emission import Emitter
from flowmind.build.induction.planning import Plan
from flowmind.build.induction.provenance import Slot
from flowmind.build.induction.terms import Term, is_number
from flowmind.build.induction.wording import NAMED, Reading
from flowmind.trace.events import Called, Event, Origin, Trace
from flowmind.trace.origins import UNSOURCED, has_holes, short
from flowmind.workflow.document import (
    Assign,
    Binding,
    Condition,
    End,
    Evidence,
    ListOf,
    Literal_,
    Map,
    ObjectOf,
    ToolNode,
    Var,
    Workflow,
    show_binding,
)
from tools_registry.specs.spec import Record

CHOSEN = "several conditions agree with the traces: a model's answer or the other examples chose this one"
CLOSE = 0.2
"""Extra cost up to which another source of a value is equally likely."""
RIVAL = 1.1
"""Extra cost up to which another condition raises a question."""


class Question(Record):
    """A question that the traces leave open."""

    id: str
    """The part of the workflow in question: a condition (`if`) or an argument (`discount.percent`)."""
    kind: Literal["condition", "arm", "value"]
    node: str
    """The node in question; empty if there is none yet."""
    text: str
    candidates: tuple[str, ...] = ()
    """The answers that agree with the traces, the likeliest first."""

    @property
    def can_be_answered(self) -> bool:
        """Whether a person can answer it; otherwise only more traces can."""
        return bool(self.candidates) or self.kind == "condition"

    def __str__(self) -> str:
        """The question with its first candidates."""
        return f"{self.text} {' | '.join(self.candidates[:3])}" if self.candidates else self.text


def evidence(emitter: Emitter, workflow: Workflow) -> tuple[Evidence, ...]:
    """The steps that show each argument, each condition and the answer."""
    plan = emitter.plan
    lines: list[Evidence] = []
    for node in workflow.nodes:
        for step in node.body if isinstance(node, Map) else ():
            for name, slot in plan.bound.slots.get(emitter.where.get(step.id, ()), {}).items():
                lines.append(_of(plan, node.id, f"{step.id}.{name}", slot))
        key = emitter.where.get(node.id)
        if key is None:
            continue
        if isinstance(node, ToolNode):
            for name, slot in plan.bound.slots.get(key, {}).items():
                lines.append(_of(plan, node.id, name, slot))
        elif isinstance(node, Condition):
            place, number = emitter.arms[node.id]
            decision = plan.decisions[place]
            if (place, number) in emitter.choice:
                steps = _steps(plan, decision.samples)
                lines.append(Evidence(node=node.id, field="expr", steps=steps, guess=CHOSEN))
                continue
            rivals = _rivals(plan, place, number)
            guess = f"{len(rivals)} conditions agree with the traces" if len(rivals) > 1 else ""
            guess = guess or ("" if decision.ways[number][0] else "no condition agrees with the traces")
            guess = guess or _unseen(plan, place, number)
            guess = "; ".join(filter(None, (guess, _listed(plan, place, number))))
            lines.append(Evidence(node=node.id, field="expr", steps=_steps(plan, decision.samples), guess=guess))
        elif isinstance(node, End) and plan.bound.answer is not None:
            lines.append(_of(plan, node.id, "output", plan.bound.answer))
    return tuple(lines)


def _of(plan: Plan, node: str, field: str, slot: Slot) -> Evidence:
    steps = _steps(plan, slot.support)
    runs = len({trace for trace, _ in steps})
    guess = ""
    if not slot.explained:
        guess = "nothing in the traces explains it"
    elif runs == 1 and len(plan.bound.walk.runs) > 1:
        guess = "only one trace shows it"
    elif runs == 1 and not _all_named(slot, plan):
        guess = "one trace alone shows this constant, and the text does not name it"
    elif runs == 1 and len(slot.terms) > 1 and slot.terms[1].cost - slot.terms[0].cost < CLOSE:
        guess = "one trace alone cannot tell its sources apart"
    return Evidence(node=node, field=field, steps=steps, guess=guess)


def _all_named(slot: Slot, plan: Plan) -> bool:
    """Whether the text names all constants in the likeliest source of a slot."""
    bindings = [term.binding for term in slot.likeliest if term.binding is not None]
    constants = [constant for binding in bindings for constant in constants_in(binding)]
    return all(is_named(constant, plan.bound.binder.reading) for constant in constants)


def _steps(plan: Plan, samples: Sequence[Sample]) -> tuple[tuple[int, int], ...]:
    """Trace and step of each visit; for a place without a call, the step before it."""
    walk = plan.bound.walk
    steps: dict[tuple[int, int], None] = {}
    for sample in samples:
        run, path = walk.runs[sample.run], walk.layout.paths[sample.run]
        if path[sample.event].key == END:
            steps[run.number + 1, run.steps + 1] = None
            continue
        calls = [event.call for event in path[: sample.event + 1] if event.call is not None]
        steps[run.number + 1, run.calls[calls[-1]].place + 1 if calls else 0] = None
    return tuple(steps)


def _rivals(plan: Plan, place: Key, number: int) -> list[str]:
    """The conditions that are about as likely as the chosen one."""
    candidates = plan.decisions[place].ways[number][0]
    return [candidate.expr for candidate in candidates if candidate.cost <= candidates[0].cost + RIVAL]


def _listed(plan: Plan, place: Key, number: int) -> str:
    """The doubt about a condition that only lists texts which the task does not name; empty without doubt."""
    candidates = plan.decisions[place].ways[number][0]
    tests = candidates[0].expr.split(" or ") if candidates else []
    values = [match[1] for test in tests if (match := re.fullmatch(r"\w+ == ('[^']*')", test))]
    if len(values) < 2 or len(values) < len(tests):
        return ""
    if all(is_named(ast.literal_eval(value), plan.bound.binder.reading) for value in values):
        return ""
    return "it lists values of the traces, and any other value takes the other way"


def _unseen(plan: Plan, place: Key, number: int) -> str:
    """The doubt about a condition that compares with a number which the text does not name; empty without doubt."""
    decision = plan.decisions[place]
    limit = re.fullmatch(r"(.+) (?:<|<=|>|>=) (-?\d+(?:\.\d+)?)", decision.ways[number][0][0].expr)
    if limit is None or plan.bound.binder.reading.said(float(limit[2])) > 0 or float(limit[2]) == 0:
        return ""
    return f"the traces show no value that sets the limit {limit[2]} apart from others nearby"


def questions(emitter: Emitter, workflow: Workflow, writing: Collection[str] = ()) -> Iterator[Question]:
    """The questions that the traces leave open about a workflow.

    Args:
        emitter, workflow: The derived workflow.
        writing: Tools with side effects, whose results need not be read.
    """
    plan = emitter.plan
    for key, name in plan.open:
        node = next((node for node, place in emitter.where.items() if place == key), "")
        what = "the answer" if key == END else f"{name} of {tool_of(key[2])}"
        id = "answer" if key == END else f"{node or tool_of(key[2])}.{name}"
        yield Question(id=id, kind="value", node=node, text=f"{what}: nothing in the traces explains its values")
    for node, (place, number) in emitter.arms.items():
        if node not in workflow.by_id or not isinstance(workflow.by_id[node], Condition):
            continue
        if (place, number) in emitter.choice:
            continue
        decision = plan.decisions[place]
        candidates, way = decision.ways[number]
        ways = [tell(way), tell(decision.last)]
        if ways[0] == ways[1]:
            ways = [_value_on(workflow, node, branch) or told for branch, told in zip((True, False), ways, strict=True)]
        rivals = _rivals(plan, place, number) if candidates else []
        if len(rivals) == 1 and not _unseen(plan, place, number):
            continue
        yield Question(
            id=node,
            kind="condition",
            node=node,
            text=f"when does {ways[0]} follow, rather than {ways[1]}?",
            candidates=tuple(candidate.expr for candidate in candidates),
        )
    calls = [node for node in workflow.nodes if isinstance(node, ToolNode)]
    unread = [(node.tool, node.id) for node in calls if node.output in plan.waiting]
    for tool, node in [*unread, *((tool, "") for tool in plan.left_out)]:
        if tool not in writing:
            text = f"what was {tool} called for? Nothing reads its result: no trace may show the way that it decides"
            yield Question(id=node or tool, kind="arm", node=node, text=text)
    for call in calls:
        for name, slot in plan.bound.slots.get(emitter.where[call.id], {}).items():
            if len(slot.terms) > 1 and slot.terms[1].cost - slot.terms[0].cost < CLOSE and slot.terms[0].binding:
                sources = tuple(show_binding(term.binding) for term in slot.terms[:4] if term.binding is not None)
                text = f"what is {name} of {call.tool}?"
                yield Question(id=f"{call.id}.{name}", kind="value", node=call.id, text=text, candidates=sources)


def _value_on(workflow: Workflow, node: str, branch: bool) -> str:
    """The value that a branch of a condition sets first; empty if it starts with another node."""
    target = next(edge.target for edge in workflow.leaving[node] if edge.when == branch)
    match workflow.by_id[target]:
        case Assign(value=value, expr=expr):
            return f"the value {expr if value is None else show_binding(value)}"
        case _:
            return ""


def tell(key: Key) -> str:
    """A description of a place."""
    match key[0]:
        case "site":
            return f"the call of {tool_of(key[2])}"
        case "end":
            return "the end"
        case "loop":
            return "another round"
        case "skip":
            return "nothing for this element"
        case _:
            return "the other value"


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


def guesses(plan: Plan, writing: Collection[str]) -> tuple[str, ...]:
    """A line for each value in an argument of a tool that may change something, if the value comes from no input and no
    tool result.

    A constant is a guess if only one trace shows it and the text does not name it. Empty values, truth values, 0 and 1
    are none.

    Args:
        plan: Of the workflow.
        writing: The tools that may change something.
    """
    walk = plan.bound.walk
    lines: list[str] = []
    for key, slots in plan.bound.slots.items():
        for name, slot in slots.items() if tool_of(key[2]) in writing else ():
            runs = _guessing_runs(slot, plan, {sample.run for sample in walk.visits[key]})
            for sample in walk.visits[key]:
                call = walk.call(sample)
                if sample.run in runs and name in call.args:
                    lines.append(f"{call.tool}, {name}: {short(call.args[name])} {UNSOURCED}")
    return tuple(dict.fromkeys(lines))


def _guessing_runs(slot: Slot, plan: Plan, runs: set[int]) -> set[int]:
    """The runs in which a slot has a value that is a guess.

    Args:
        slot: Of an argument, or a part of it.
        plan: Of the workflow.
        runs: The runs that show the slot.
    """
    if slot.inner:
        return set[int]().union(*(_guessing_runs(part, plan, {at.run for at in part.support}) for part in slot.inner))
    if slot.carried is not None:
        shown = slot.carried.shown
        return set[int]().union(*({at.run for at in points} for term, points in shown if _is_guess(term, plan, points)))
    return runs if not slot.terms or _is_guess(slot.terms[0], plan, slot.support) else set()


def _is_guess(term: Term, plan: Plan, support: Sequence[Sample]) -> bool:
    """Whether a term has a constant that only one run shows and the text does not name, or an invented number."""
    constants = constants_in(term.binding) if term.binding is not None else []
    unnamed = not all(is_named(constant, plan.bound.binder.reading) for constant in constants)
    return _invents(term, plan) or (unnamed and len({sample.run for sample in support}) == 1)


def constants_in(binding: Binding) -> list[Any]:
    """The constants in a binding."""
    match binding:
        case Literal_(value=value):
            return [value]
        case Var():
            return []
        case ListOf(list=parts):
            return [constant for part in parts for constant in constants_in(part)]
        case ObjectOf(object=fields):
            return [constant for part in fields.values() for constant in constants_in(part)]


def is_named(value: Any, reading: Reading) -> bool:
    """Whether the text names a constant and all its parts, or it is too common to be a guess."""
    if isinstance(value, list | dict):
        parts = cast(dict[str, Any], value).values() if isinstance(value, dict) else cast(list[Any], value)
        return all(is_named(part, reading) for part in parts)
    common = value is None or isinstance(value, bool) or value in (0, 1, "")
    return common or reading.said(value) >= NAMED


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
    if not slot.explained or any(_invents(term, plan) for term in slot.likeliest):
        return origin
    parts = _parts(slot)
    if origin.kind == "made" and parts is not None and parts.keys() == origin.parts.keys():
        corrected = {key: _corrected(part, parts[key], plan, sample) for key, part in origin.parts.items()}
        return origin.model_copy(update={"parts": corrected})
    constant = origin.kind in CONSTANT and bool(slot.used())
    return _origin(slot, plan, sample) if constant or has_holes(origin) else origin


def _invents(term: Term, plan: Plan) -> bool:
    """Whether a term computes with a number other than 0 and 1 that the text does not name."""
    if term.binding is not None:
        return False
    constants = [node.value for node in ast.walk(ast.parse(term.expr, mode="eval")) if isinstance(node, ast.Constant)]
    return any(
        is_number(value) and value not in (0, 1) and not plan.bound.binder.reading.said(value) for value in constants
    )


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
