"""An agent that a person could have written: it asks in several styles, and reads a simulated user's acts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from flowbench_synth.dialogue.blueprint import RoleBlueprint, ScenarioBlueprint
from flowmind.dialogue.users.agenda import AgendaUser
from flowmind.dialogue.users.renderings import spoken
from flowmind.trace.events import Called, Event, Said, Trace
from flowmind.trace.scenario import CONFIRMED, OUTCOME, Scenario
from flowmind.workflow.document import Assign, Condition, End, ObjectOf, ToolNode, Var
from flowmind.workflow.expressions import evaluate, names
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.spec import ToolCall

_ASKS = (
    "Could you please tell me the {label}?",
    "Sure, I can help with that! What is the **{label}**?",
    "Thanks. I'll also need your {label}.",
    "Great! And the {label}, please?",
    "May I have the {label}, please?",
)
_ASKS_SEVERAL = (
    "I'd be happy to help! To get started, please provide the following details:\n\n{bullets}\n\nThank you!",
    "Of course. Could you share the {first} and the {second}?",
    "To proceed I'll need:\n{bullets}",
)
_PROPOSES = (
    "Here is what I have:\n\n{lines}\n\nShall I go ahead?",
    "Just to confirm:\n{lines}\nIs that correct?",
    "I have everything I need.\n{lines}\n\nWould you like me to proceed? (yes/no)",
)
_TELLS = (
    "All done! ✅\n{lines}\n\nIs there anything else I can help you with?",
    "Here is the result.\n{lines}",
    "Thank you for your patience. {lines}\nLet me know if you need anything else.",
)


def scenario_of(role: RoleBlueprint, blueprint: ScenarioBlueprint) -> Scenario:
    return Scenario(
        id=blueprint.id,
        domain=role.domain,
        role=role.id,
        title=blueprint.title,
        background=role.background,
        opens=tuple(blueprint.opens),
        cancels=tuple(blueprint.cancels),
        tools=tuple(sorted(blueprint.workflow.tool_names)),
        database=role.id,
        time=role.time,
        slots={name: slot.words for name, slot in blueprint.slots.items()},
        facts=dict(blueprint.facts),
        workflow=blueprint.workflow,
    )


class Clerk:
    """Follows the workflow of the scenario that the user named last.

    Args:
        forgets: Whether it leaves out the facts at first.
        mistaken: A slot of which it proposes a wrong value until the user corrects it.
    """

    def __init__(
        self,
        scenarios: Mapping[str, Scenario],
        environment: Environment,
        seed: int = 0,
        forgets: bool = False,
        mistaken: Mapping[str, Any] | None = None,
    ) -> None:
        self._scenarios = scenarios
        self._environment = environment
        self._random = Random(seed)
        self._forgets = forgets
        self._mistaken = dict(mistaken or {})

    async def works(self, events: Sequence[Event]) -> list[Event]:
        """What it does until it has said something."""
        done: list[Event] = []
        acts = [act for event in events if isinstance(event, Said) for act in event.acts]
        opened = max(index for index, act in enumerate(acts) if act.kind == "open")
        scenario = self._scenarios[acts[opened].scenario]
        if acts[-1].kind == "cancel":
            return [Said(role="agent", text="No problem, I have stopped that. Can I do anything else for you?")]
        values: dict[str, Any] = {}
        for act in acts[opened:]:
            if act.kind in ("inform", "correct", "unknown"):
                values[act.slot] = act.value
                if act.kind == "correct":
                    values.pop(CONFIRMED, None)
                    self._mistaken.pop(act.slot, None)
            if act.kind in ("affirm", "deny"):
                values[CONFIRMED] = act.kind == "affirm"
        after = {(edge.source, edge.when): edge.target for edge in scenario.workflow.edges}
        node: Any = scenario.workflow.nodes[0]
        while True:
            branch = None
            if isinstance(node, ToolNode):
                inputs = scenario.workflow.input_names
                used = [binding.var for binding in node.args.values() if isinstance(binding, Var)]
                needed = [name for name in used if name in inputs]
                missing = [name for name in needed if name not in values]
                if missing:
                    return [*done, self._says(self._asks(scenario, missing, values))]
                args = {name: _bound(binding, values) for name, binding in node.args.items()}
                call = ToolCall(tool=node.tool, args=args)
                earlier = [event for event in events if isinstance(event, Called) and event.call == call]
                if not earlier:
                    earlier = [Called(call=call, observation=await self._environment.call(call))]
                    done += earlier
                values[node.output] = earlier[-1].observation.value
            if isinstance(node, Condition):
                if CONFIRMED in names(node.expr) and CONFIRMED not in values:
                    proposal = {name: self._mistaken.get(name, value) for name, value in values["proposal"].items()}
                    missing = [name for name in proposal if name not in values]
                    if missing:
                        return [*done, self._says(self._asks(scenario, missing, values))]
                    return [*done, self._says(self._proposes(scenario, proposal))]
                branch = bool(evaluate(node.expr, values))
            if isinstance(node, Assign):
                assert isinstance(node.value, ObjectOf)
                parts = {name: part.var for name, part in node.value.object.items() if isinstance(part, Var)}
                values[node.output] = {name: values.get(var) for name, var in parts.items()}
            if isinstance(node, End):
                return [*done, self._says(self._tells(scenario, node, values))]
            node = scenario.workflow.by_id[after[(node.id, branch)]]

    def _asks(self, scenario: Scenario, missing: Sequence[str], values: Mapping[str, Any]) -> str:
        labels = [scenario.slots[name].label for name in missing]
        rest = [words.label for name, words in scenario.slots.items() if name not in values]
        if len(rest) > 1 and self._random.random() < 0.5:
            bullets = "\n".join(f"- **{label.capitalize()}**" for label in rest)
            return self._random.choice(_ASKS_SEVERAL).format(bullets=bullets, first=rest[0], second=rest[1])
        return self._random.choice(_ASKS).format(label=labels[0])

    def _proposes(self, scenario: Scenario, proposal: Mapping[str, Any]) -> str:
        lines = [f"- {scenario.slots[name].label}: {value}" for name, value in proposal.items() if value is not None]
        return self._random.choice(_PROPOSES).format(lines="\n".join(lines))

    def _tells(self, scenario: Scenario, end: End, values: Mapping[str, Any]) -> str:
        assert isinstance(end.output, ObjectOf)
        if self._forgets:
            self._forgets = False
            return "Your request has been taken care of."
        lines: list[str] = []
        for name, binding in end.output.object.items():
            if name != OUTCOME and isinstance(binding, Var):
                value = _bound(binding, values)
                lines.append(f"The {scenario.facts[name].label} is {spoken(value)}.")
        return self._random.choice(_TELLS).format(lines=" ".join(lines))

    def _says(self, text: str) -> Said:
        return Said(role="agent", text=text)


def _bound(binding: Any, values: Mapping[str, Any]) -> Any:
    if not isinstance(binding, Var):
        return binding.value
    value: Any = values.get(binding.var)
    for key in binding.path:
        value = value[key]
    return value


def hold(user: AgendaUser, clerk: Clerk, most: int = 30) -> tuple[list[Event], bool]:
    """The events of a session, and whether the user ended it."""
    events: list[Event] = []
    for _ in range(most):
        utterance = user.says(Trace(events=tuple(events), stop="turns"))
        events.append(Said(role="user", text=utterance.text, acts=utterance.acts, intervention=utterance.intervention))
        if utterance.over:
            return events, True
        events += asyncio.run(clerk.works(events))
    return events, False
