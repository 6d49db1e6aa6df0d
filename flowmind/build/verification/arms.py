"""Asks a model for a way that no trace took, where a call whose result nothing reads hints at one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from flowmind.base.files import dump_json
from flowmind.build.induction.emitting import Emitter
from flowmind.build.induction.planning import simulate
from flowmind.build.induction.telling import questions
from flowmind.build.verification.asking import HIDDEN, RECORDS, listed, reply_to
from flowmind.build.verification.candidates import Best
from flowmind.build.verification.work import Work
from flowmind.workflow.checking import check
from flowmind.workflow.document import Assign, Condition, Edge, End, Evidence, ToolNode, Var, Workflow
from flowmind.workflow.expressions import ExpressionError, evaluate
from flowmind.workflow.expressions import names as names_in
from tools_registry.specs.values import CaseError

READ = "no trace goes this way: a model read it in the task"


async def ask_arms(work: Work, best: Best) -> Best:
    """Asks, for each call whose result nothing reads, when it decides and what the answer is then.

    No example can show that an answer is right. It is taken if its condition reads that result and holds at none of
    the traces' visits, if what it gives there has the form of the examples' answers, and if no more examples fail.
    """
    if best.draft is None or best.emitter is None:
        return best
    found = await _whole(work, best) if best.draft.plan.left_out else best
    for node in _unread(work, found):
        assert found.emitter is not None
        rows = _visits(found.emitter, node)
        reply = await _question(work, node, rows)
        if reply is None or not _fits(work, node, rows, *reply):
            continue
        changed = _with_arm(found.workflow, node, *reply)
        if changed is None or check(changed, work.environment.specs):
            continue
        failures = await work.failures(changed)
        if len(failures) <= len(best.failures):
            work.mends.append("question")
            found = replace(found, workflow=changed, failures=failures, read=(*found.read, node.id))
            best = found
    return best


async def _whole(work: Work, best: Best) -> Best:
    """The likeliest draft that leaves out no call and solves as many examples; as it was, if there is none."""
    for draft in await work.drafts(best.loops or None):
        if draft.sound and not draft.plan.left_out:
            failures = await work.failures(draft.workflow)
            if len(failures) <= len(best.failures):
                return replace(best, workflow=draft.workflow, failures=failures, draft=draft, emitter=draft.emitter)
    return best


def _unread(work: Work, best: Best) -> list[ToolNode]:
    """The calls whose results nothing reads."""
    assert best.emitter is not None
    workflow = best.workflow
    asked = list(questions(best.emitter, workflow, work.writing(workflow)))
    nodes = [workflow.by_id.get(one.node) for one in asked if one.kind == "arm"]
    return [node for node in nodes if isinstance(node, ToolNode)]


def _visits(emitter: Emitter, node: ToolNode) -> list[Mapping[str, Any]]:
    """The variables after each visit of a node."""
    _, after = simulate(emitter.plan)
    return [after[one.run][one.event] for one in emitter.plan.bound.walk.visits[emitter.where[node.id]]]


async def _question(work: Work, node: ToolNode, rows: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """The condition and the answer, as expressions; None if the model names no such case."""
    lines = listed(rows[:RECORDS], {node.output: node.tool})
    answers = [dump_json(example.output) for example in work.task.examples[:RECORDS]]
    text = [
        f"Task:\n{work.task.query.strip()}",
        "",
        "Variables and their values in the records:",
        *lines,
        f"The answers: {' | '.join(answers)}",
        f"Nothing reads the result of {node.output}. In which case does it decide, and what is the answer then?",
    ]
    found = await reply_to(work, "ask_arm", "\n".join(text), ("expr", "answer"))
    if found is None or not all(isinstance(one, str) and one.strip() for one in found.values()):
        return None
    return found["expr"], found["answer"]


def _fits(work: Work, node: ToolNode, rows: Sequence[Mapping[str, Any]], expr: str, answer: str) -> bool:
    """Whether the condition reads the result and holds at no visit, and the answer has the form of the examples'."""
    names = {name for name in rows[0] if not name.startswith(HIDDEN) and all(name in row for row in rows)}
    forms = [_form(example.output) for example in work.task.examples]
    try:
        if node.output not in names_in(expr) or not {*names_in(expr), *names_in(answer)} <= names:
            return False
        if any(evaluate(expr, row) is not False for row in rows):
            return False
        return all(_form(evaluate(answer, row)) in forms for row in rows)
    except (ExpressionError, CaseError):
        return False


def _form(value: Any) -> tuple[Any, ...]:
    """What an answer looks like: an object with these keys, a list, a text, a number, a truth value or nothing."""
    if isinstance(value, dict):
        return "object", *sorted(cast(dict[str, Any], value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ("number",)
    return (type(value).__name__,)


def _with_arm(workflow: Workflow, node: ToolNode, expr: str, answer: str) -> Workflow | None:
    """The workflow with a condition right behind a node that leads to an end of its own."""
    ways = [edge for edge in workflow.edges if edge.source == node.id]
    if len(ways) != 1:
        return None
    taken = {*workflow.by_id, *(one.output for one in workflow.nodes if isinstance(one, ToolNode | Assign))}
    asks, made, end = (_free(name, taken) for name in (f"if_{node.id}", "read_answer", "end_read"))
    nodes = (
        Condition(id=asks, expr=expr),
        Assign(id=f"set_{made}", expr=answer, output=made),
        End(id=end, output=Var(var=made)),
    )
    edges = (
        Edge.model_validate({"from": node.id, "to": asks}),
        Edge.model_validate({"from": asks, "to": f"set_{made}", "when": True}),
        Edge.model_validate({"from": asks, "to": ways[0].target, "when": False, "bound": ways[0].bound}),
        Edge.model_validate({"from": f"set_{made}", "to": end}),
    )
    told = Evidence(node=asks, field="expr", guess=READ), Evidence(node=end, field="output", guess=READ)
    kept = [edge for edge in workflow.edges if edge is not ways[0]]
    return workflow.model_copy(
        update={"nodes": (*workflow.nodes, *nodes), "edges": (*kept, *edges), "evidence": (*workflow.evidence, *told)}
    )


def _free(name: str, taken: set[str]) -> str:
    number, found = 1, name
    while found in taken or f"set_{found}" in taken:
        number += 1
        found = f"{name}_{number}"
    return found
