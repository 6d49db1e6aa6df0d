"""An agent that works through the steps of a given workflow (WorFBench, section 4.1, "Workflow as CoT Augmentation").

For each step the model writes a thought, the tool that is most similar to the step is chosen without the model, and the
model fills in the arguments with only this tool's documentation in view. In the end it gives the answer.

A step sees the results of the steps that it depends on, and no others. Its requests therefore do not depend on whether
other steps are worked on at the same time (section 4.2, "Parallel Planning Steps").
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypedDict, cast

from flowmind.agents import prompts
from flowmind.agents.react import GraphAgent, go_on, loop
from flowmind.agents.turns import State, World, act, fresh, opening, reflect, trace_of
from flowmind.base.files import dump_json
from flowmind.protocols import Brief, Knowledge, Message
from flowmind.trace.events import Called, Event, Planned, Trace, Turn
from flowmind.workflow.graph_tools import FINISH
from flowmind.workflow.program import Outcome, Program
from tools_registry.sandbox.environment import DEFAULT_BUDGET, Environment
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

SKIP = "skip"
"""The action of a model that a step needs no call."""
Retrieve = Callable[[str, Sequence[ToolSpec]], ToolSpec]
"""Chooses from a list of tools the one that fits a step in words."""


class _Shown:
    """An environment of which only some tools are shown and can be called."""

    def __init__(self, inner: Environment, *tools: str) -> None:
        self._inner = inner
        self.specs: Mapping[str, ToolSpec] = {name: inner.specs[name] for name in tools}

    @property
    def awaited(self) -> Collection[str]:
        """All tools: no compiled workflow is run here."""
        return frozenset(self.specs)

    async def call(self, call: ToolCall) -> Observation:
        """Passes a call of a tool that is shown on."""
        if call.tool not in self.specs:
            return Observation.failed("unknown_tool", f"{call.tool!r} is not the tool of this step")
        return await self._inner.call(call)

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs programs that call no tool."""
        return self._inner.run(program, cases, budget)


@dataclass(frozen=True, kw_only=True)
class _Chain(World):
    """The world of an agent that works through steps."""

    knowledge: Knowledge
    tools: tuple[ToolSpec, ...]
    """The tool of each step."""
    parallel: bool


class _Steps(TypedDict):
    """The state of the graph: the states in which the steps ended, in their order, and then that of the answer."""

    done: list[State]
    end: State


async def _work(state: _Steps, runtime: Runtime[_Chain]) -> dict[str, Any]:
    """Works on all steps."""
    chain = runtime.context
    ended: dict[int, State] = {}
    before = _before(chain.knowledge, chain.tools if chain.parallel else None)

    async def work(number: int) -> bool:
        ended[number] = await _step(chain, number, ended, before[number])
        return ended[number]["stop"] == "finish"

    await _in_order(before, work)
    return {"done": [ended[number] for number in sorted(ended)]}


async def _in_order(before: Sequence[Collection[int]], work: Callable[[int], Awaitable[bool]]) -> None:
    """Works on each step as soon as those before it have ended; not if one of them has failed."""
    tasks: list[asyncio.Task[bool]] = []

    async def run(number: int) -> bool:
        earlier = [await tasks[one] for one in sorted(before[number])]
        return all(earlier) and await work(number)

    tasks += [asyncio.create_task(run(number)) for number in range(len(before))]
    try:
        await asyncio.gather(*tasks)
    finally:  # after an error: no step goes on, and the errors of all are taken
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _before(knowledge: Knowledge, tools: Sequence[ToolSpec] | None) -> list[set[int]]:
    """For each step all steps that must have ended before it begins.

    Args:
        knowledge: The steps and their dependencies.
        tools: The tool of each step, if steps may be worked on at the same time: a step whose tool is not marked `read`
            waits for all steps before it, and all steps after it wait for it. None if the steps follow one another.
    """
    if tools is None:
        return [set(range(number)) for number in range(len(knowledge.steps))]
    before = ancestors(knowledge)
    for number, tool in enumerate(tools):
        if tool.effect != "read":
            before[number] = set(range(number))
            for later in range(number + 1, len(tools)):
                before[later] |= {number, *before[number]}
    return before


def ancestors(knowledge: Knowledge) -> list[set[int]]:
    """For each step all steps that it depends on, directly or by way of others."""
    every: list[set[int]] = []
    for number in range(len(knowledge.steps)):
        direct = {one for one, other in knowledge.edges if other == number}
        every.append(direct.union(*(every[one] for one in direct)))
    return every


async def _step(chain: _Chain, number: int, ended: Mapping[int, State], before: Collection[int]) -> State:
    """Works on a step: a thought, then a call of its tool.

    The replies of the steps that had to end before it count against the limits of the stage.
    """
    needed = {one: ended[one] for one in sorted(ancestors(chain.knowledge)[number])}
    step, tool = chain.knowledge.steps[number].text, chain.tools[number]
    task = f"{_so_far(chain, needed)}\n\nNow do step {number + 1}: {step}\nFirst the thought."
    begun = fresh(opening("chain_step", task))
    begun["steps"] = [event for state in needed.values() for event in state["steps"]]
    begun["turns"] = [turn for one in sorted(before) for turn in ended[one]["turns"]]
    begun["phase"] = number
    shown = replace(chain, sandbox=_Shown(chain.sandbox, tool.name), among=tuple(chain.sandbox.specs.values()))
    state = await _run(_step_graph(), begun, shown)
    turns = [turn.model_copy(update={"step": number + 1}) for turn in state["turns"][len(begun["turns"]) :]]
    events = [_later(event, -len(begun["turns"])) for event in state["steps"][len(begun["steps"]) :]]
    return cast(State, {**state, "turns": turns, "steps": events})


def _so_far(chain: _Chain, done: Mapping[int, State]) -> str:
    """The task, and the results of steps."""
    lines = [chain.brief.task, "", "Results so far:"]
    for number, state in done.items():
        calls = [event for event in state["steps"] if isinstance(event, Called) and event.observation.ok]
        result = dump_json(calls[-1].observation.value) if calls else "not needed"
        lines.append(f"Step {number + 1} ({chain.knowledge.steps[number].text}): {result}")
    return "\n".join(lines if done else [*lines[:-1], "Results so far: none"])


def _choose(state: State, runtime: Runtime[World]) -> dict[str, Any]:
    """Shows the tool of the step."""
    (tool,) = runtime.context.sandbox.specs.values()
    shown = Message(role="user", content=prompts.render("chain_tool", tool=tool.document()))
    return {"messages": [*state["messages"], shown]}


async def _make(state: State, runtime: Runtime[World]) -> dict[str, Any]:
    """Makes the call; the step ends with a call that succeeds, or if the model says that it needs none."""
    action = state["pending"]
    assert action is not None
    if action.call.tool in (SKIP, FINISH) and action.call.tool not in runtime.context.sandbox.specs:
        return {"pending": None, "stop": "finish"}
    update = await act(state, runtime)
    last = update["steps"][-1] if "steps" in update else None
    return {**update, "stop": "finish"} if isinstance(last, Called) and last.observation.ok else update


async def _answer(state: _Steps, runtime: Runtime[_Chain]) -> dict[str, Any]:
    """Asks for the answer when all steps have ended; a step that failed ends the stage as it ended."""
    chain, events, turns = runtime.context, list[Event](), list[Turn]()
    for done in state["done"]:
        events += [_later(event, len(turns)) for event in done["steps"]]
        turns += done["turns"]
    failed = next((done for done in state["done"] if done["stop"] != "finish"), None)
    plan = Planned(steps=tuple(step.text for step in chain.knowledge.steps))
    if failed is not None:
        return {"end": {**failed, "steps": [plan, *events], "turns": turns, "answer": None}}
    task = f"{_so_far(chain, dict(enumerate(state['done'])))}\n\nGive the answer."
    begun = fresh(opening("chain_answer", task))
    begun["steps"], begun["turns"], begun["phase"] = [plan, *events], turns, len(chain.tools)
    shown = replace(chain, sandbox=_Shown(chain.sandbox), among=tuple(chain.sandbox.specs.values()))
    return {"end": await _run(_answer_graph(), begun, shown)}


def _later(event: Event, turns: int) -> Event:
    """An event with a reply that has `turns` more replies before it."""
    return event.model_copy(update={"turn": (getattr(event, "turn", None) or 0) + turns})


async def _run(graph: Any, state: State, world: World) -> State:
    config = {"recursion_limit": 10 * world.budget.turns + 100}
    return cast(State, await graph.ainvoke(state, context=world, config=config))


@cache
def _step_graph() -> Any:
    graph = loop(_make).add_node("reflect", reflect).add_node("choose", _choose).add_edge("choose", "think")
    go_on(graph, "reflect", "choose")
    return graph.set_entry_point("reflect").compile()


@cache
def _answer_graph() -> Any:
    return loop(act).set_entry_point("think").compile()


@cache
def _graph() -> Any:
    from langgraph.graph import StateGraph  # pyright: ignore[reportMissingTypeStubs]

    graph = cast(Any, StateGraph(_Steps, context_schema=_Chain))
    graph.add_node("work", _work)
    graph.add_node("answer", _answer)
    return graph.add_edge("work", "answer").set_entry_point("work").set_finish_point("answer").compile()


class ChainAgent(GraphAgent):
    """An agent that works through the steps of the workflow that its brief has.

    Args:
        retrieve: Chooses the tool of a step.
        parallel: Whether steps that do not depend on one another are worked on at the same time.
        others: As for every agent: the model, the budget, seed, temperature, rollout.
    """

    def __init__(self, retrieve: Retrieve, parallel: bool, *others: Any) -> None:
        super().__init__(*others)
        self._retrieve = retrieve
        self._parallel = parallel

    async def execute(self, brief: Brief, sandbox: Environment) -> Trace:
        """Works through the steps, and gives the answer.

        The events of the trace are in the order of the steps, however they overlapped. Its stop reason is `finish`, or
        the reason why the first step that failed did so.
        """
        knowledge, specs = brief.knowledge, list(sandbox.specs.values())
        assert knowledge is not None and specs, "the agent needs a workflow and tools"
        tools = tuple(self._retrieve(step.text, specs) for step in knowledge.steps)
        world = self._world(sandbox, brief)
        chain = _Chain(**vars(world), knowledge=knowledge, tools=tools, parallel=self._parallel)
        config = {"recursion_limit": 100}
        state = await _graph().ainvoke({"done": []}, context=chain, config=config)
        return trace_of(state["end"], brief)
