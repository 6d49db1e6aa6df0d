"""The evidence for an induced workflow, and the questions that the traces leave open."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from flowmind.build.induction.binding import Slot
from flowmind.build.induction.emitting import Emitter
from flowmind.build.induction.planning import Plan
from flowmind.build.induction.runs import tool_of
from flowmind.build.induction.structure import END, Key
from flowmind.build.induction.walking import Sample
from flowmind.workflow.document import Condition, End, Evidence, Map, ToolNode, Workflow, show_binding
from tools_registry.specs.spec import Record

CHOSEN = "several conditions agree with the traces: a model's answer or the other examples chose this one"
CLOSE = 0.2
"""Extra cost up to which another source of a value is equally likely."""
RIVAL = 1.1
"""Extra cost up to which another condition raises a question."""


class Question(Record):
    """A question that the traces leave open."""

    kind: Literal["condition", "arm", "value"]
    node: str
    """The node in question; empty if there is none yet."""
    text: str
    candidates: tuple[str, ...] = ()
    """The answers that agree with the traces, the likeliest first."""

    def tell(self) -> str:
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
    elif runs == 1 and len(slot.terms) > 1 and slot.terms[1].cost - slot.terms[0].cost < CLOSE:
        guess = "one trace alone cannot tell its sources apart"
    return Evidence(node=node, field=field, steps=steps, guess=guess)


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


def _unseen(plan: Plan, place: Key, number: int) -> str:
    """The doubt about a condition that compares with a number which the text does not name; empty without doubt."""
    decision = plan.decisions[place]
    limit = re.fullmatch(r"(.+) (?:<|<=|>|>=) (-?\d+(?:\.\d+)?)", decision.ways[number][0][0].expr)
    if limit is None or plan.bound.binder.said(float(limit[2])) > 0 or float(limit[2]) == 0:
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
        yield Question(kind="value", node=node, text=f"{what}: nothing in the traces explains its values")
    for node, (place, number) in emitter.arms.items():
        if node not in workflow.by_id or not isinstance(workflow.by_id[node], Condition):
            continue
        if (place, number) in emitter.choice:
            continue
        decision = plan.decisions[place]
        candidates, way = decision.ways[number]
        rivals = _rivals(plan, place, number) if candidates else []
        if len(rivals) == 1 and not _unseen(plan, place, number):
            continue
        yield Question(
            kind="condition",
            node=node,
            text=f"when does {tell(way)} follow, rather than {tell(decision.last)}?",
            candidates=tuple(candidate.expr for candidate in candidates),
        )
    calls = [node for node in workflow.nodes if isinstance(node, ToolNode)]
    unread = [(node.tool, node.id) for node in calls if node.output in plan.waiting]
    for tool, node in [*unread, *((tool, "") for tool in plan.left_out)]:
        if tool not in writing:
            text = f"what was {tool} called for? Nothing reads its result: no trace may show the way that it decides"
            yield Question(kind="arm", node=node, text=text)
    for call in calls:
        for name, slot in plan.bound.slots.get(emitter.where[call.id], {}).items():
            if len(slot.terms) > 1 and slot.terms[1].cost - slot.terms[0].cost < CLOSE and slot.terms[0].binding:
                sources = tuple(show_binding(term.binding) for term in slot.terms[:4] if term.binding is not None)
                yield Question(kind="value", node=call.id, text=f"what is {name} of {call.tool}?", candidates=sources)


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
