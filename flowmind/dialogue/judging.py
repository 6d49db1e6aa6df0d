"""A model as judge of sessions and turns. It is an option: success by state and facts needs none.

FlowBench (section 4) and FlowAgent (section 5) judge by GPT-4. The prompts here are our own. The judge sees the
procedure as text, whatever format the agent saw, and does not see the gold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from flowmind.base.files import parse_json
from flowmind.dialogue.prompting import blocks_of
from flowmind.dialogue.users.goals import goals_after
from flowmind.protocols import ChatModel, ChatRequest, Message
from flowmind.trace.events import Called, Event, Refused, Said
from flowmind.trace.scenario import Reference, Scenario, Session
from tools_registry.specs.spec import Record, ToolSpec

V = TypeVar("V")
_ATTEMPTS = 2
_SYSTEM = (
    "You assess conversations between a user and an agent that works with tools. You are strict: what the agent only "
    "promised is not done, and what it made up is worth nothing. Answer with one JSON object and nothing else."
)
_SESSION = """\
The agent follows this procedure:

{procedures}

The user wants this:

{goals}

The conversation, with the agent's tool calls and their results:

{conversation}

Assess for each wish of the user whether it was met: the agent did everything that the procedure asks for with the
user's values, and told the user the result. A wish that the user gave up is not listed and does not count.

Answer: {{"reason": "one or two sentences", "wishes": [{{"done": true or false, "progress": 0 to 100}}, ...], \
"success": true or false}}
There is one entry for each of the {count} wishes, in their order. `success` is true if all wishes were met and \
nothing was changed that the user did not want."""
_TURN = """\
The agent follows this procedure:

{procedures}

The conversation so far:

{conversation}

A good next step of the agent would be:

{gold}

The agent's next step was:

{given}

How good is the agent's next step, compared with the good one: does it do or say the same, does it fit the procedure, is
it true, is it clear to the user? Other words for the same are as good.

Answer: {{"reason": "one sentence", "score": 0 to 10}}
10 means as good as the good step, 0 means wrong or harmful."""
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


class SessionVerdict(Record):
    """A judge's verdict on a session."""

    success: bool
    progress: float
    """In percent: the mean over the user's wishes."""
    reason: str = ""


class TurnVerdict(Record):
    """A judge's verdict on a turn."""

    score: float
    """From 0 to 10 (the response score of FlowBench)."""
    reason: str = ""


class Judge:
    """Judges sessions and turns.

    Args:
        model: The judging model.
        scenarios: The scenarios, by id.
        specs: The tools, without the parameter `db`.
        seed: Passed to the model.
    """

    def __init__(
        self,
        model: ChatModel,
        scenarios: Mapping[str, Scenario],
        specs: Mapping[str, ToolSpec],
        seed: int | None = None,
    ) -> None:
        self._model = model
        self._scenarios = scenarios
        self._specs = specs
        self._seed = seed

    async def session(self, session: Session, fired: int, events: Sequence[Event]) -> SessionVerdict | None:
        """The verdict on a session; None if the judge's replies cannot be read, or the user has no wish left.

        Args:
            session: The session.
            fired: The number of interventions that the user carried out.
            events: What was said and called.

        Raises:
            ModelFailure: If the model failed.
        """
        wishes = [goal.goal for goal in goals_after(session, fired) if not goal.dropped]
        if not wishes:
            return None
        listed = "\n".join(
            f"{number}. {self._scenarios[wish.scenario].title}: {_json(wish.slots)}"
            for number, wish in enumerate(wishes, 1)
        )
        prompt = _SESSION.format(
            procedures=self._procedures([wish.scenario for wish in wishes]),
            goals=listed,
            conversation=conversation(events),
            count=len(wishes),
        )
        return await self._ask(prompt, partial(_session_verdict, count=len(wishes)))

    async def turn(self, session: Session, reference: Reference, given: str) -> TurnVerdict | None:
        """The verdict on a turn; None if the judge's replies cannot be read.

        Args:
            session: The session of the reference.
            reference: The conversation before the turn, and the gold turn.
            given: The agent's turn, as text.

        Raises:
            ModelFailure: If the model failed.
        """
        gold = shown_call(reference.call.tool, reference.call.args) if reference.call else reference.text
        prompt = _TURN.format(
            procedures=self._procedures(session.scenarios),
            conversation=conversation(reference.events),
            gold=gold,
            given=given or "(nothing that could be read)",
        )
        return await self._ask(prompt, _turn_verdict)

    def _procedures(self, ids: Sequence[str]) -> str:
        scenarios = [self._scenarios[id] for id in dict.fromkeys(ids)]
        return "\n\n".join(f"{row.title}\n{blocks_of(row.workflow, self._specs, 'text')}" for row in scenarios)

    async def _ask(self, prompt: str, read: Callable[[dict[str, Any]], V]) -> V | None:
        """The verdict that a reply gives; the judge is asked again once."""
        messages = [Message(role="system", content=_SYSTEM), Message(role="user", content=prompt)]
        for _ in range(_ATTEMPTS):
            reply = await self._model.complete(ChatRequest(messages=tuple(messages), max_tokens=512, seed=self._seed))
            try:
                return read(_object(reply.text))
            except ValueError as error:
                again = f"This cannot be read: {error}. Answer with the JSON object alone."
                messages += [Message(role="assistant", content=reply.text), Message(role="user", content=again)]
        return None


def conversation(events: Sequence[Event]) -> str:
    """A session as text, a line for each event; refused calls are left out, because they had no effect."""
    lines: list[str] = []
    for event in events:
        match event:
            case Said(role="user" | "agent", text=text):
                lines.append(f"{event.role.capitalize()}: {text}")
            case Called(call=call, observation=observation):
                result = (
                    _json(observation.value) if observation.error is None else f"error: {observation.error.message}"
                )
                lines.append(f"Agent calls {shown_call(call.tool, call.args)} -> {result}")
            case Refused() | _:
                pass
    return "\n".join(lines)


def shown_call(tool: str, args: Mapping[str, Any]) -> str:
    """A call as text: `book(day="monday")`."""
    return f"{tool}({', '.join(f'{name}={_json(value)}' for name, value in args.items())})"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _object(text: str) -> dict[str, Any]:
    match = _OBJECT.search(text.rpartition("</think>")[2])
    if match is None:
        raise ValueError("there is no JSON object")
    value: Any = parse_json(match[0])
    return cast("dict[str, Any]", value)


def _session_verdict(row: dict[str, Any], count: int) -> SessionVerdict:
    wishes = row.get("wishes")
    if not isinstance(wishes, list) or len(cast("list[Any]", wishes)) != count:
        raise ValueError(f"`wishes` is not a list of {count}")
    if not isinstance(row.get("success"), bool):
        raise ValueError("`success` is neither true nor false")
    progress = [_number(wish, "progress", 100) for wish in cast("list[Any]", wishes)]
    return SessionVerdict(
        success=row["success"], progress=round(sum(progress) / count, 2), reason=str(row.get("reason", ""))
    )


def _turn_verdict(row: dict[str, Any]) -> TurnVerdict:
    return TurnVerdict(score=_number(row, "score", 10), reason=str(row.get("reason", "")))


def _number(row: Any, name: str, most: float) -> float:
    value: Any = cast("dict[str, Any]", row).get(name) if isinstance(row, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError(f"`{name}` is not a number from 0 to {most:g}")
    return float(value)
