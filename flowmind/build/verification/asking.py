"""Asks a model for what the traces leave open: one condition at a time, with the variables that it may speak of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from flowmind.agents import prompts
from flowmind.agents.replies import Unreadable, read_object
from flowmind.base.errors import ModelFailure
from flowmind.base.files import dump_json, parse_json
from flowmind.build.induction.conditions import negated
from flowmind.build.induction.inducing import Induced
from flowmind.build.induction.planning import Decision
from flowmind.build.induction.structure import Key
from flowmind.build.induction.telling import tell
from flowmind.build.induction.walking import ALL, VISITS
from flowmind.build.verification.candidates import Best, with_conditions
from flowmind.build.verification.work import Work
from flowmind.protocols import ChatRequest, Message, Reply
from flowmind.trace.events import Turn
from flowmind.workflow.expressions import ExpressionError
from flowmind.workflow.expressions import names as names_in


async def ask(work: Work, best: Best) -> Best:
    """Asks for the conditions that the traces leave open; an answer is taken if it agrees with them."""
    if best.draft is None:
        return best
    draft = best.draft
    for place, decision in draft.plan.decisions.items():
        for number, (found, _) in enumerate(decision.ways):
            if len(found) == 1 or (found and found[1].cost - found[0].cost > OPEN):
                continue
            expr = await _question(work, draft, place, decision, number)
            if expr is None:
                continue
            for option in (expr, negated(expr)):
                choice = {**work.answers, (place, number): option}
                changed = await with_conditions(work, draft, choice, "question")
                if changed is not None and changed.rank <= best.rank:
                    work.answers = choice
                    work.mends.append("question")
                    changed.first = best.first
                    best = changed
                    break
    return best


HIDDEN = (ALL, VISITS)
"""Variables that a question does not list."""
RECORDS = 3
"""Visits of each kind that a question shows."""
REPLY_TOKENS = 120
OPEN = 1.5
"""How much dearer the second condition may be for the first one to be asked about."""


async def _question(work: Work, draft: Induced, place: Key, decision: Decision, number: int) -> str | None:
    """Asks a model for one condition; None if the answer cannot be used."""
    text, names = _asked(draft, place, decision, number)
    found = await reply_to(work, "ask_condition", f"Task:\n{work.task.query.strip()}\n\n{text}", ("expr",))
    expr = str(found["expr"]) if found is not None else ""
    try:
        return expr if expr and set(names_in(expr)) <= set(names) else None
    except ExpressionError:
        return None


async def reply_to(work: Work, prompt: str, text: str, keys: tuple[str, ...]) -> dict[str, Any] | None:
    """Asks a model one question.

    Args:
        work: Keeps the reply, with how it was read.
        prompt: The name of the conversation that comes before.
        text: The question.
        keys: What the reply's object has.

    Returns:
        The object; None if the reply has none, if no model may be asked, if a limit of the case is reached, or if the
        endpoint failed, which ends all asking (`work.failure`).
    """
    if work.model is None or not work.may_ask:
        return None
    request = ChatRequest(
        messages=(*prompts.conversation(prompt), Message(role="user", content=text)),
        reply="text",
        max_tokens=REPLY_TOKENS,
        temperature=work.settings.temperature,
        seed=work.settings.seed,
    )
    work.asked += 1
    try:
        reply = await work.model.complete(request)
    except ModelFailure as error:
        work.failure = str(error)
        return None
    found, parse = _read(reply, keys)
    work.turns.append(
        Turn(
            text=reply.text,
            parse=parse,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            seconds=round(reply.seconds or 0.0, 3),
        )
    )
    return found


def _asked(draft: Induced, place: Key, decision: Decision, number: int) -> tuple[str, list[str]]:
    """The question about a condition, over a few visits of both kinds, and the variables that it lists."""
    walk = draft.plan.bound.walk
    way = decision.ways[number][1]
    before = {earlier for _, earlier in decision.ways[:number]}
    visits = [
        (row, target)
        for row, target in zip(draft.scope(place), map(walk.target, decision.samples), strict=True)
        if target not in before
    ]
    sides = [[visit for visit in visits if (visit[1] == way) is wanted] for wanted in (True, False)]
    shown = [visit for side in sides for visit in side[:RECORDS]]
    rows = [row for row, _ in shown]
    lines = listed(rows)
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if not name.startswith(HIDDEN)]
    count = len(sides[0][:RECORDS])
    yes, no = (", ".join(map(str, numbers)) for numbers in (range(1, count + 1), range(count + 1, len(shown) + 1)))
    other = tell(sides[1][0][1] if sides[1] else decision.last)
    step = f"The step: {tell(way)} in record {yes}; record {no} goes on with {other}."
    asked = f"Under which condition does {tell(way)} follow?"
    return "\n".join(["Variables and their values in the records:", *lines, step, asked]), names


def listed(rows: Sequence[Mapping[str, Any]], results: Mapping[str, str] | None = None) -> list[str]:
    """The variables with their values in some rows, a line for each.

    Args:
        rows: Variables and their values.
        results: The tools that some of them are results of.
    """
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if not name.startswith(HIDDEN)]
    tools = {name: f" (result of {tool})" for name, tool in (results or {}).items()}
    return [
        f"- {name}{tools.get(name, '')}: {' | '.join(_short(row[name]) if name in row else '-' for row in rows)}"
        for name in names
    ]


def _read(reply: Reply, keys: tuple[str, ...]) -> tuple[dict[str, Any] | None, Literal["clean", "recovered", "failed"]]:
    """The object of a reply, if there is one, and how it was read. A reply that was cut off has none."""
    if reply.finish != "stop":
        return None, "failed"
    try:
        found = read_object(reply.text, *keys)
    except Unreadable:
        return None, "failed"
    try:
        return found, "clean" if isinstance(parse_json(reply.text), dict) else "recovered"
    except ValueError:
        return found, "recovered"


def _short(value: Any) -> str:
    text = dump_json(value)
    return text if len(text) <= 160 else f"{text[:160]}…"
