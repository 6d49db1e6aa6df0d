"""Answers of a person or a model to questions that the traces leave open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flowmind.base.errors import InputError
from flowmind.build.induction.induction import Induction, Place
from flowmind.build.verification.questions import OR, place_of, recorded_runs
from flowmind.build.verification.trials import Best, adopted, tried, with_places
from flowmind.build.verification.visits import rows_at
from flowmind.build.verification.work import Work
from flowmind.trace.origins import short
from flowmind.workflow.checking import check
from flowmind.workflow.document import Condition, Workflow
from flowmind.workflow.expressions import ExpressionError
from flowmind.workflow.expressions import names as names_in


async def answered(work: Work, best: Best, answers: Mapping[str, str]) -> Best:
    """The workflow with the answers of a person; answers to questions that it does not leave open are ignored.

    Raises:
        InputError: If an answer cannot be used, or contradicts the traces.
    """
    used: set[str] = set()
    while best.induction is not None:
        waiting = [id for id in answers if id not in used and place_of(best.induction, id) is not None]
        own = [id for id in answers if id not in used and isinstance(best.workflow.by_id.get(id), Condition)]
        if not (waiting or own):
            break
        id = (waiting or own)[0]
        used.add(id)
        answer = answers[id].strip()
        changed = await with_answer(work, best, id, answer)
        if changed is None or changed.rank > best.rank:
            raise InputError(f"{id}: the answer {answer!r} contradicts the traces{_where(changed)}")
        best = replace(changed, answered=best.answered | {id})
    return best


def _where(changed: Best | None) -> str:
    """An example that an answer makes wrong."""
    if changed is None or not changed.failures:
        return ""
    failure = changed.failures[0]
    return f": for {short(failure.input)} the right answer is {short(failure.expected)}"


async def with_answer(work: Work, best: Best, id: str, answer: str) -> Best | None:
    """The workflow with an answer to one question; None if it is not sound then.

    Args:
        work: The task.
        best: The workflow.
        id: Of the question.
        answer: One or several of the expressions of the place, separated by ` | `: the others are excluded. Or an
            expression of one's own.

    Raises:
        InputError: If the answer is no expression over the variables at this place.
    """
    assert best.induction is not None
    place = place_of(best.induction, id) or Place(id, "condition", ())
    texts = [text.strip() for text in answer.split(OR)]
    known = {one.text: one for one in place.alternatives}
    if all(text in known for text in texts):
        allowed = [known[text] for text in texts]
        ordered = [one for one in place.alternatives if one in allowed]
        if place.kind != "structure":
            work.chosen[place.id] = ordered[0].text
        return await _tried(work, best, adopted(best.induction, place, ordered))
    if place.kind == "structure" or len(texts) > 1:
        raise InputError(f"{id}: the answer {answer!r} is none of the choices: {' ; '.join(known)}")
    await _require_expression(work, best, place, answer)
    if place.kind == "condition":
        induction = _with_condition(best.induction, place, answer)
    else:
        found = [one for one in await work.inductions({**work.chosen, place.id: answer}) if one.sound]
        induction = found[0] if found else None
    if induction is None:
        return None
    changed = await _tried(work, best, induction)
    if changed is not None and changed.rank <= best.rank:
        work.chosen[place.id] = answer
    return changed


async def _tried(work: Work, best: Best, induction: Induction) -> Best | None:
    if check(induction.workflow, work.environment.specs):
        return None
    changed = await tried(work, induction)
    changed.first, changed.answered, changed.read = best.first, best.answered, best.read
    return changed


def _with_condition(induction: Induction, place: Place, expr: str) -> Induction:
    """The induction with another condition in its workflow and in all alternatives of other places."""

    def changed(workflow: Workflow) -> Workflow:
        nodes = (
            node.model_copy(update={"expr": expr}) if isinstance(node, Condition) and node.id == place.id else node
            for node in workflow.nodes
        )
        return workflow.model_copy(update={"nodes": tuple(nodes)})

    places = [
        replace(other, alternatives=tuple(replace(one, workflow=changed(one.workflow)) for one in other.alternatives))
        for other in induction.places
        if other.id != place.id and other.kind != "structure"
    ]
    return with_places(replace(induction, workflow=changed(induction.workflow)), places)


async def _require_expression(work: Work, best: Best, place: Place, answer: str) -> None:
    """Refuses an answer that is not an expression over the variables at its place.

    Raises:
        InputError: With the variables.
    """
    node = place.id.partition(".")[0]
    rows = rows_at(best.workflow, [*(await recorded_runs(work, best.workflow)).values()], node)
    try:
        unknown = names_in(answer) - {name for row in rows for name in row}
    except ExpressionError as error:
        raise InputError(f"{place.id}: the answer {answer!r} is not an expression: {error}") from None
    if unknown and rows:
        known = ", ".join(sorted({name for row in rows for name in row}))
        raise InputError(f"{place.id}: there is no variable {min(unknown)!r} here; there are {known}")
