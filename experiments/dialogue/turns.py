"""One turn of an agent after the gold beginning of a session.

The beginning is carried out again: the agent's gold actions are replies of a prepared model, the user's texts are the
recorded ones, and the calls are made on the tools. So the agent has the prompt that it would have in a session, and
controllers see what they would see.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from experiments.dialogue.controlling import controllers_of
from experiments.dialogue.services import DialogueServices
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.dialogue.holding import OWN_TOOLS, Talker, scenarios_of
from flowmind.dialogue.prompting import task_text
from flowmind.dialogue.session import RESPOND, DialogueEnvironment
from flowmind.dialogue.users.spotting import hear
from flowmind.evaluation.dialogue import is_action
from flowmind.evaluation.turn_level import TurnReply
from flowmind.protocols import Adviser, ChatModel, ChatRequest, Controller, Reply, Utterance, Verdict
from flowmind.run.wrappers import Only
from flowmind.trace.events import Called, Event, Refused, Said, Trace
from flowmind.trace.recorded_dialogues import world_of
from flowmind.trace.scenario import CONFIRMED, Reference, Scenario, Session
from tools_registry.sandbox.stateful import StatefulEnvironment
from tools_registry.specs.spec import ToolCall

NODE = 'Name the node of the procedure that you are at: add "node" with its id to each JSON object, beside "action".'
"""The sentence that asks for nodes (FlowBench, table 9)."""


class _Prepared:
    """A model that gives prepared replies first, and then asks another model."""

    def __init__(self, model: ChatModel, replies: Sequence[str]) -> None:
        self._model = model
        self._replies = list(replies)

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ChatRequest) -> Reply:
        """The next reply."""
        if self._replies:
            return Reply(text=self._replies.pop(0), input_tokens=0, output_tokens=0)
        return await self._model.complete(request)

    async def aclose(self) -> None:
        """Closes the connections of the model."""
        await self._model.aclose()


class _Recorded:
    """A user whose texts were recorded. After the last one, anything ends the session."""

    name = "recorded"

    def __init__(self, events: Sequence[Event]) -> None:
        self._texts = [event for event in events if isinstance(event, Said) and event.role == "user"]

    async def reply(self, trace: Trace) -> Utterance:
        """The next text."""
        said = sum(isinstance(event, Said) and event.role == "user" for event in trace.events)
        if said >= len(self._texts):
            return Utterance(text="", over=True)
        text = self._texts[said]
        return Utterance(text=text.text, acts=text.acts, intervention=text.intervention)


class _Later:
    """A controller that refuses nothing in the gold beginning."""

    def __init__(self, inner: Controller, begin: int) -> None:
        self._inner = inner
        self._begin = begin

    @property
    def name(self) -> str:
        return self._inner.name

    def check(self, action: ToolCall, trace: Trace) -> Verdict:
        """As the controller, after the beginning."""
        if sum(map(is_action, trace.events)) < self._begin:
            return Verdict(allowed=True)
        return self._inner.check(action, trace)


class _Advising(_Later):
    """A controller that also advises."""

    def advise(self, trace: Trace) -> str:
        """As the controller, after the beginning."""
        if sum(map(is_action, trace.events)) < self._begin:
            return ""
        return cast(Adviser, self._inner).advise(trace)


async def held_turn(
    session: Session, reference: Reference, services: DialogueServices, model: ChatModel
) -> tuple[Trace, TurnReply, int]:
    """The agent's next turn: its trace after the beginning, what the agent did, and how often it was refused.

    Raises:
        InputError: If the beginning cannot be carried out as it is recorded.
    """
    options, data = services.options, services.followed
    scenarios = scenarios_of(session, data)
    names = list(dict.fromkeys(name for scenario in scenarios for name in scenario.tools))
    world = world_of(data, session) or StatefulEnvironment(
        Only(services.tools, names), data.start(session), services.remembered
    )
    user, method = _Recorded(reference.events), options.kept
    empty = DialogueEnvironment(world, user, handoff=options.handoff)
    briefing = task_text(scenarios, empty.specs, method.format, own=OWN_TOOLS)
    if options.nodes:
        briefing = f"{briefing}\n\n{NODE}"
    before = [event for event in reference.events if is_action(event)]
    controllers = [
        (_Advising if hasattr(inner, "advise") else _Later)(inner, len(before))
        for inner in controllers_of(method.controllers, scenarios, world.specs, briefing, session.max_turns)
    ]
    talker = Talker(
        _Prepared(model, [_reply(event) for event in before]), method, controllers, options.seed, options.temperature
    )
    environment = DialogueEnvironment(world, user, talker.refusing, len(before) + 1, options.handoff)
    trace = await talker.talk(environment, briefing, session.max_turns)
    begun = _beginning(reference, trace.events)
    after = trace.events[begun:]
    turns = trace.turns[len(before) :]
    reply = _done(after, scenarios, session, turns[-1].text if turns else "")
    return trace.model_copy(update={"turns": turns}), reply, sum(isinstance(event, Refused) for event in after)


def _reply(event: Event) -> str:
    """The gold action of an event as the reply of a model."""
    if isinstance(event, Called):
        return dump_json({"reasoning": "", "action": event.call.tool, "action_input": event.call.args})
    assert isinstance(event, Said)
    args = {"text": event.text, **({"answer": event.answer} if event.answer else {})}
    return dump_json({"reasoning": "", "action": RESPOND, "action_input": args})


def _beginning(reference: Reference, events: Sequence[Event]) -> int:
    """The number of events of the beginning.

    Raises:
        InputError: If the tools did not answer as it is recorded.
    """
    recorded = [event for event in reference.events if isinstance(event, Said | Called)]
    made = events[: len(recorded)]
    for old, new in zip(recorded, made, strict=False):
        same = isinstance(new, Called) and isinstance(old, Called) and new.observation == old.observation
        if not same and not (isinstance(new, Said) and isinstance(old, Said) and new.text == old.text):
            raise InputError(f"{reference.id}: the tools do not answer as in references.jsonl; build the data again")
    return len(recorded)


def _done(events: Sequence[Event], scenarios: Sequence[Scenario], session: Session, reply: str) -> TurnReply:
    """What the agent did after the beginning: its last accepted action, or the last call that reached no tool."""
    action = next((event for event in events if is_action(event)), None)
    if isinstance(action, Called):
        call = action.call if action.call.tool != RESPOND else None
        return TurnReply(call=call, node=_node(reply))
    if not isinstance(action, Said):
        return TurnReply(node=_node(reply))
    asks: set[str] = set()
    for scenario in scenarios:
        goals = [goal for goal in session.goals if goal.scenario == scenario.id]
        heard = hear(action.text, scenario, goals[0].slots if goals else {})
        asks |= {*heard.asked, *([CONFIRMED] if heard.consent else [])}
    return TurnReply(text=action.text, asks=tuple(sorted(asks)), node=_node(reply))


def _node(reply: str) -> str:
    """The node that a reply names; empty if it names none."""
    start, end = reply.find("{"), reply.rfind("}")
    try:
        value: Any = json.loads(reply[start : end + 1]) if start >= 0 else None
    except (ValueError, RecursionError):
        return ""
    node = cast("dict[str, Any]", value).get("node") if isinstance(value, dict) else None
    return node if isinstance(node, str) else ""
