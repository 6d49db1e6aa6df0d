"""Random sessions with a slipping agent, and an oracle that runs the workflow: material for tests of controllers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from flowbench_synth.dialogue.blueprint import RoleBlueprint, ScenarioBlueprint
from flowmind.dialogue.procedures.due import due, episode
from flowmind.dialogue.procedures.procedure import RESPOND, Procedure, procedure_of
from flowmind.protocols import Controller
from flowmind.run.running import arun
from flowmind.trace.events import Called, Event, Refused, Said, Trace
from flowmind.trace.scenario import CONFIRMED
from flowmind.workflow.document import ToolNode, Var, Workflow
from flowmind.workflow.program import Outcome, Program
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.sandbox.stateful import Remembered, StatefulEnvironment
from tools_registry.specs.spec import Observation, ToolCall


class Settable:
    """Tools over a state that can be set: one environment, so that a workflow is prepared once."""

    def __init__(self, sandbox: LocalSandbox, remembered: Remembered) -> None:
        self.sandbox, self.remembered = sandbox, remembered
        self.begin({})
        self.specs = self.now.specs

    @property
    def awaited(self) -> Collection[str]:
        return frozenset(self.specs)

    def begin(self, state: Any) -> None:
        self.now = StatefulEnvironment(self.sandbox, state, self.remembered)

    async def call(self, call: ToolCall) -> Observation:
        return await self.now.call(call)

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = 0) -> list[Outcome]:
        raise NotImplementedError


class World:
    """The tools of a role over its database, and runs of its workflows. Results are kept for all sessions."""

    def __init__(self, role: RoleBlueprint) -> None:
        self.role = role
        self.sandbox = LocalSandbox(role.tools)
        self.remembered = Remembered()
        self.runs: dict[str, tuple[list[str], bool]] = {}
        self.settable = Settable(self.sandbox, self.remembered)
        self.specs = self.settable.specs
        self.procedures = {plan.id: procedure_of(plan.workflow, self.specs) for plan in role.scenarios}

    def close(self) -> None:
        self.sandbox.close()

    def at(self, state: Any) -> StatefulEnvironment:
        return StatefulEnvironment(self.sandbox, state, self.remembered)

    async def calls(
        self, workflow: Workflow, inputs: Mapping[str, Any], start: StatefulEnvironment
    ) -> tuple[list[str], bool]:
        """The calls of a run as texts, and whether it came to an end."""
        given = {name: inputs.get(name) for name in workflow.input_names}
        key = json.dumps([workflow.name, start.digest, given], sort_keys=True)
        if key not in self.runs:
            self.settable.begin(start.state)
            trace = await arun(workflow, given, self.settable)
            self.runs[key] = [text_of(made.call) for made in trace.calls], trace.ok
        return self.runs[key]


def text_of(call: ToolCall) -> str:
    return json.dumps([call.tool, call.args], sort_keys=True)


def slots_in(workflow: Workflow, call: ToolCall) -> dict[str, Any]:
    """The slots that a call takes."""
    return {
        binding.var: call.args[name]
        for node in workflow.nodes
        if isinstance(node, ToolNode) and node.tool == call.tool
        for name, binding in node.args.items()
        if isinstance(binding, Var) and not binding.path and binding.var in workflow.input_names and name in call.args
    }


class Oracle:
    """Tells whether a call is licensed, by running the workflow on the state at the start of the episode."""

    def __init__(self, world: World, workflow: Workflow, environment: StatefulEnvironment) -> None:
        self.world, self.workflow = world, workflow
        self.begin(environment)

    def begin(self, environment: StatefulEnvironment) -> None:
        self.start = self.world.at(environment.state)
        self.made: list[ToolCall] = []

    @property
    def given(self) -> dict[str, Any]:
        """The latest values of the slots in the calls of the episode."""
        return {name: value for call in self.made for name, value in slots_in(self.workflow, call).items()}

    async def licenses(self, call: ToolCall, slots: Mapping[str, Any]) -> bool:
        """A slot that the call does not take has the user's value or the latest of the calls."""
        if self.world.specs[call.tool].effect == "write" and any(made.tool == call.tool for made in self.made):
            return False
        text, held = text_of(call), {text_of(made) for made in self.made}
        for given in ({}, self.given):
            inputs = {**slots, **given, **slots_in(self.workflow, call), CONFIRMED: True}
            calls, _ = await self.world.calls(self.workflow, inputs, self.start)
            if text in calls and held >= {*calls[: calls.index(text)]}:
                return True
        return False

    async def answers(self, slots: Mapping[str, Any]) -> bool:
        """Whether an answer is due for the user's values, the latest of the calls, or those of a write."""
        held = {text_of(made) for made in self.made}
        writes = [call for call in self.made if self.world.specs[call.tool].effect == "write"]
        for given in ({}, self.given, *(slots_in(self.workflow, call) for call in writes)):
            calls, ended = await self.world.calls(self.workflow, {**slots, **given, CONFIRMED: True}, self.start)
            if ended and calls and held >= {*calls}:
                return True
        return False


@dataclass
class Counts:
    """What happened in a session."""

    violations: int = 0
    wrongly_refused: int = 0
    stopped: int = 0
    licensed: int = 0
    reasons: list[str] = field(default_factory=list[str])
    finished: bool = False
    events: list[Event] = field(default_factory=list[Event])


class Talk:
    """A session: a user with goals who may change one of them, and an agent that slips.

    Args:
        world: The role.
        plan: The scenario.
        seed: Everything random follows from it.
        slips: The share of decisions in which the agent does something else than what is due.
        controllers: They refuse calls.
    """

    def __init__(
        self, world: World, plan: ScenarioBlueprint, seed: int, slips: float, controllers: Sequence[Controller]
    ) -> None:
        self.world, self.plan, self.random, self.slips = world, plan, Random(seed), slips
        self.controllers = controllers
        database = world.role.database(Random(seed))
        self.environment = world.at(database)
        self.goals = [self.goal(database) for _ in range(self.random.randint(1, 2))]
        self.changed = self.goal(database)
        self.switch_at = self.random.choice([1, 2, 3, 4, 99])
        self.procedure: Procedure = world.procedures[plan.id]
        self.oracle = Oracle(world, plan.workflow, self.environment)
        self.known: dict[str, Any] = {}
        self.seen: list[dict[str, Any]] = []
        self.counts = Counts()
        self.tell()

    def goal(self, database: dict[str, Any]) -> dict[str, Any]:
        end = self.random.choice(sorted(self.plan.ends))
        return {**self.plan.ends[end](self.random, database), CONFIRMED: end not in self.plan.denied}

    def tell(self) -> None:
        """The user says all values of the goal at once; the agent may forget them, and asks again."""
        self.seen.append(self.goals[0])
        told = ". ".join(f"{name}: {value}" for name, value in self.goals[0].items())
        self.counts.events.append(Said(role="user", text=told))

    @property
    def trace(self) -> Trace:
        return Trace(events=tuple(self.counts.events), stop="turns")

    async def hold(self, turns: int = 60) -> Counts:
        for _ in range(turns):
            if not self.goals:
                self.counts.finished = True
                break
            await self.decide()
        return self.counts

    async def decide(self) -> None:
        steps = due(self.procedure, self.known, episode(self.procedure, self.counts.events))
        if self.random.random() < self.slips:
            await self.slip()
        elif steps[0].kind == "answer":
            await self.say("Here is the answer.", steps[0].answer)
            self.goals.pop(0)
            self.known = {}
            if self.goals:
                self.tell()
        elif steps[0].missing:
            asked = steps[0].missing[: self.random.randint(1, 2)]
            await self.say(f"What is the {asked[0]}?", asked=asked)
        else:
            await self.act(ToolCall(tool=steps[0].tool, args=steps[0].args))

    async def slip(self) -> None:
        kind = self.random.choice(["skip", "mix", "repeat", "say", "answer"])
        made = [event.call for event in self.counts.events if isinstance(event, Called)]
        if kind == "say":
            await self.say("One moment, please.")
        elif kind == "answer":
            await self.act(
                ToolCall(tool=RESPOND, args={"text": "…", "answer": self.random.choice(sorted(self.plan.ends))})
            )
        elif kind == "repeat" and made:
            await self.act(self.random.choice(made))
        else:
            node = self.random.choice([node for nodes in self.procedure.nodes.values() for node in nodes])
            sources = [self.goals[0]] if kind == "skip" else self.seen
            args = {
                name: self.random.choice(sources)[binding.var]
                for name, binding in node.args.items()
                if isinstance(binding, Var) and binding.var in self.goals[0]
            }
            await self.act(ToolCall(tool=node.tool, args=args))

    async def say(self, text: str, answer: str = "", asked: Sequence[str] = ()) -> None:
        if await self.oracle.answers(self.goals[0]):
            self.oracle.begin(self.environment)
        self.counts.events.append(Said(role="agent", text=text, answer=answer))
        written = any(
            self.world.specs[event.call.tool].effect == "write"
            for event in self.counts.events
            if isinstance(event, Called)
        )
        spoken = sum(isinstance(event, Said) and event.role == "user" for event in self.counts.events)
        if spoken + 1 == self.switch_at and not written:
            self.goals[0] = self.changed
            self.known = {name: self.changed[name] for name in self.known}
            self.tell()
        self.known |= {name: self.goals[0][name] for name in asked}
        self.counts.events.append(Said(role="user", text="Well."))

    async def act(self, call: ToolCall) -> None:
        verdicts = [(controller.name, controller.check(call, self.trace)) for controller in self.controllers]
        reasons = [verdict.reason for _, verdict in verdicts if not verdict.allowed]
        refused = Refused(
            call=call, by=", ".join(name for name, said in verdicts if not said.allowed), reason=" ".join(reasons)
        )
        self.counts.reasons += [refused.reason] if reasons else []
        if call.tool == RESPOND:
            if reasons:
                self.counts.events.append(refused)
            else:
                await self.say(str(call.args["text"]), str(call.args["answer"]))
            return
        licensed = await self.oracle.licenses(call, self.goals[0])
        self.counts.licensed += licensed
        if reasons:
            self.counts.stopped += not licensed
            self.counts.wrongly_refused += licensed
            self.counts.events.append(refused)
            return
        self.counts.violations += not licensed
        observation = await self.environment.call(call)
        self.counts.events.append(Called(call=call, observation=observation))
        if observation.ok:
            self.oracle.made.append(call)


def sessions(world: World, count: int, slips: float, controllers: Sequence[Controller]) -> Iterator[Counts]:
    """Holds sessions of all scenarios of a role in turn."""
    plans = world.role.scenarios
    for seed in range(count):
        talk = Talk(world, plans[seed % len(plans)], seed, slips, controllers)
        yield asyncio.run(talk.hold())
