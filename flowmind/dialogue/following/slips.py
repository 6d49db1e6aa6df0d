"""The embedded model `slips:R`: `follow` that makes a mistake in a share R of its decisions.

It shows what controllers prevent. After a refusal it makes no mistake and does what the feedback says.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.dialogue.following.follow import Follower, Step, reply, same_call
from flowmind.dialogue.following.phrasing import MORE, told
from flowmind.dialogue.following.talk import Goal
from flowmind.dialogue.procedures.due import due
from flowmind.dialogue.session import RESPOND
from flowmind.protocols import ChatRequest, Reply
from flowmind.trace.events import Called, Refused
from flowmind.trace.scenario import CONFIRMED
from flowmind.workflow.document import ToolNode, Var
from flowmind.workflow.graph import Digraph
from tools_registry.specs.spec import ToolCall


def slips_model(name: str) -> SlipsModel:
    """The model `slips:R` of a rate R.

    Raises:
        InputError: If R is no number from 0 to 1.
    """
    text = name.removeprefix("slips:")
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise InputError(f"model {name!r}: {text!r} is no rate; give a number from 0 to 1, as in slips:0.3")
    return SlipsModel(rate)


class SlipsModel:
    """The embedded model `slips:R`: a function of the request and a seed.

    Args:
        rate: The share of decisions with a mistake, from 0 to 1.
        seed: Draws the mistakes, with the conversation and the seed of the request.
    """

    def __init__(self, rate: float, seed: int = 0) -> None:
        self.rate = rate
        self.name = f"slips:{rate:g}"
        self._seed = seed

    async def complete(self, request: ChatRequest) -> Reply:
        """Decides the next action of a dialogue, wrongly at the rate."""
        follower = Follower(request)
        right = follower.step()
        drawn = random.Random(self._key(follower, request))
        if isinstance(follower.talk.last, Refused) or drawn.random() >= self.rate:
            return reply(right)
        return reply(next(_slips(follower, right, drawn), right))

    async def aclose(self) -> None:
        """Does nothing."""

    def _key(self, follower: Follower, request: ChatRequest) -> str:
        """The conversation without the knowledge and the advice, so that methods are compared on the same mistakes."""
        events = [event.model_dump(mode="json") for event in follower.conversation.events]
        text = dump_json([events, request.seed, request.rollout, self._seed])
        return hashlib.sha256(text.encode()).hexdigest()


def _slips(follower: Follower, right: Step, drawn: random.Random) -> Iterator[Step]:
    """The mistakes that are possible now, in an order that is drawn."""
    goal = follower.talk.goal
    if goal is None or goal.topic.procedure is None:
        return
    order = sorted(_KINDS, key=lambda kind: drawn.random() / _KINDS[kind])
    for kind in order:
        step = kind(follower, goal, drawn)
        if step is not None and not same_call(step.call, right.call):
            yield step


def _call(follower: Follower, goal: Goal, tool: str, drawn: random.Random) -> ToolCall:
    """A call of a tool with the values that are known, and made-up ones for the others."""
    assert goal.topic.procedure is not None
    node = goal.topic.procedure.nodes[tool][0]
    args: dict[str, Any] = {}
    for name, binding in node.args.items():
        slot = binding.var if isinstance(binding, Var) and not binding.path else ""
        fields: dict[str, Any] = follower.specs[tool].parameters.get("properties", {}) if tool in follower.specs else {}
        schema: dict[str, Any] = fields.get(name, {})
        args[name] = (
            goal.known[slot] if slot in goal.known else _made_up({**schema, **goal.topic.slots.get(slot, {})}, drawn)
        )
    return ToolCall(tool=tool, args=args)


def _made_up(schema: Mapping[str, Any], drawn: random.Random) -> Any:
    """A value that nobody gave."""
    members = [value for value in schema.get("enum", ()) if value is not None]
    if members:
        return drawn.choice(members)
    kinds: Any = schema.get("type", "string")
    if "integer" in kinds or "number" in kinds:
        return drawn.randint(1, 9)
    return True if "boolean" in kinds else f"X{drawn.randint(10_000, 99_999)}"


def _later(goal: Goal) -> list[str]:
    """The tools of the procedure behind the step that is due."""
    procedure = goal.topic.procedure
    assert procedure is not None and procedure.workflow is not None
    workflow = procedure.workflow
    steps = goal.due()
    if not steps:
        return []
    graph = Digraph((node.id for node in workflow.nodes), ((edge.source, edge.target) for edge in workflow.edges))
    after = graph.descendants(steps[0].node) - {steps[0].node}
    return [node.tool for node in workflow.nodes if isinstance(node, ToolNode) and node.id in after]


def _skip(follower: Follower, goal: Goal, drawn: random.Random) -> Step | None:
    """A later call, before the step that is due."""
    tools = _later(goal) if goal.open else []
    if not tools:
        return None
    assert goal.topic.procedure is not None
    writes = [tool for tool in tools if tool in goal.topic.procedure.writes]
    return Step("A later step.", _call(follower, goal, drawn.choice([*tools, *writes, *writes]), drawn))


def _repeat(follower: Follower, goal: Goal, drawn: random.Random) -> Step | None:
    """The last call once more."""
    calls = [event for event in follower.conversation.events if isinstance(event, Called) and event.observation.ok]
    return Step("Once more.", calls[-1].call) if calls else None


def _stale(follower: Follower, goal: Goal, drawn: random.Random) -> Step | None:
    """A call with a value that the user has taken back."""
    earlier = [(slot, value) for slot, values in goal.earlier.items() for value in values]
    assert goal.topic.procedure is not None
    if not earlier:
        return None
    slot, value = drawn.choice(earlier)
    tools = [
        tool
        for tool, nodes in goal.topic.procedure.nodes.items()
        if any(Var(var=slot) in node.args.values() for node in nodes)
    ]
    if not tools:
        return None
    before = Goal(goal.topic, {**goal.known, slot: value})
    return Step("An earlier value.", _call(follower, before, drawn.choice(tools), drawn))


def _other_arm(follower: Follower, goal: Goal, drawn: random.Random) -> Step | None:
    """An answer of the procedure that is not due, with what is known of its facts."""
    assert goal.topic.procedure is not None
    steps = goal.due()
    now = {step.answer for step in steps}
    answers = [name for name in goal.topic.procedure.answers if name not in now]
    if not goal.open or not answers or not goal.calls:
        return None
    return _answer(drawn.choice(answers), {})


def _unasked(follower: Follower, goal: Goal, drawn: random.Random) -> Step | None:
    """A write that the user has not agreed to."""
    assert goal.topic.procedure is not None
    known = {**goal.known, CONFIRMED: True}
    step = next(iter(due(goal.topic.procedure, known, goal.calls)), None) if goal.open else None
    if step is None or step.tool not in goal.topic.procedure.writes or CONFIRMED in goal.known:
        return None
    return Step("No need to ask.", _call(follower, goal, step.tool, drawn))


def _invent(follower: Follower, goal: Goal, drawn: random.Random) -> Step | None:
    """A write with a value that nobody gave, or an answer with a reference that no tool returned."""
    assert goal.topic.procedure is not None
    step = next(iter(goal.due()), None) if goal.open else None
    if step is None:
        return None
    if step.tool in goal.topic.procedure.writes and not step.missing:
        name = drawn.choice(sorted(step.args))
        return Step("A value that will do.", ToolCall(tool=step.tool, args={**step.args, name: _made_up({}, drawn)}))
    answers = list(goal.topic.procedure.answers)
    return _answer(drawn.choice(answers), {"reference": f"X{drawn.randint(10_000, 99_999)}"}) if answers else None


def _answer(name: str, facts: dict[str, Any]) -> Step:
    text = f"{told(facts) or 'That is done.'} {MORE}"
    return Step("That is the answer.", ToolCall(tool=RESPOND, args={"text": text, "answer": name}))


_KINDS: dict[Callable[[Follower, Goal, random.Random], Step | None], float] = {
    _skip: 3.0,
    _unasked: 3.0,
    _stale: 2.0,
    _repeat: 1.0,
    _other_arm: 1.0,
    _invent: 1.0,
}
"""The kinds of mistakes, with weights."""
