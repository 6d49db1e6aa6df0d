"""Executions of a task, which give the traces that a workflow is built from."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from flowmind.agents.chain import ChainAgent, Retrieve
from flowmind.agents.plan_execute import PlanExecuteAgent
from flowmind.agents.react import ReActAgent
from flowmind.agents.turns import Budget
from flowmind.build.brief import again, chain_brief, execute_brief
from flowmind.build.settings import MODES, Settings
from flowmind.protocols import Agent, ChatModel, Knowledge
from flowmind.trace.events import Trace, Turn
from flowmind.trace.task import Task
from tools_registry.sandbox.environment import DEFAULT_BUDGET, Environment
from tools_registry.sandbox.stateful import begun


class Demonstrate(Protocol):
    """Makes the right trace of an input, in at most `budget` steps."""

    def __call__(self, inputs: dict[str, Any], budget: int = DEFAULT_BUDGET) -> Awaitable[Trace]: ...


@dataclass(frozen=True)
class Execution:
    """A request to execute a task once."""

    inputs: dict[str, Any]
    number: int
    """The number of executions of the task before this one."""
    example: int | None = None
    """The example that has these inputs, from 0; None for a probe."""
    before: Trace | None = None
    """A wrong execution of this example. The agent is shown its calls and the right answer."""
    turns: Sequence[Turn] = ()
    """The model's replies for this task so far; they count against the limits of the case."""
    budget: int = DEFAULT_BUDGET
    """Steps that a demonstration may take."""


class Executions(Protocol):
    """Executes a task on inputs."""

    @property
    def trusted(self) -> bool:
        """Whether every trace is right and costs nothing."""
        ...

    def allows(self, turns: Sequence[Turn]) -> bool:
        """Whether the limits of the case allow one more execution after these replies of the model."""
        ...

    async def execute(self, execution: Execution) -> Trace:
        """The trace of one execution."""
        ...


@dataclass(frozen=True)
class Guide:
    """What the agent of a mode that executes only is given."""

    knowledge: Knowledge | None = None
    """The workflow to work by; without one the agent is ReAct."""
    tool_for: Retrieve | None = None
    """Chooses the tool of a step; needed by an agent that works through the steps."""


@dataclass(frozen=True)
class AgentExecutions:
    """An agent executes the task."""

    task: Task
    environment: Environment
    model: ChatModel
    settings: Settings
    trusted: bool = False
    guide: Guide = Guide()
    """What the agent works by, in modes that execute only."""

    def allows(self, turns: Sequence[Turn]) -> bool:
        """Whether a limit of the case is left."""
        return within_limits(self.settings, turns)

    async def execute(self, execution: Execution) -> Trace:
        """The trace that the agent leaves, within the limits of the case."""
        preset, knowledge, tool_for = MODES[self.settings.mode], self.guide.knowledge, self.guide.tool_for
        budget = budget_left(self.settings.execute_budget, self.settings, execution.turns)
        environment = begun(self.environment, execution.inputs)
        if preset.execute == "c" and knowledge is not None and tool_for is not None:
            others = self.model, budget, self.settings.seed + execution.number, self.settings.temperature
            chain = ChainAgent(tool_for, preset.parallel, *others, execution.number)
            return await chain.execute(chain_brief(self.task, execution.example or 0, knowledge), environment)
        probe = execution.example is None
        inputs = execution.inputs if probe else None
        brief = execute_brief(self.task, execution.example or 0, self.environment.specs, inputs, knowledge)
        brief = brief.model_copy(update={"references": preset.references})
        if execution.before is not None and execution.example is not None:
            brief = again(brief, execution.before, self.task.examples[execution.example].output)
        agent = make_agent(preset.execute, self.model, budget, self.settings, execution.number)
        return await agent.execute(brief, environment)


@dataclass(frozen=True)
class Demonstrations:
    """The traces of a workflow that is known to be right are used instead of running the agent."""

    demonstrate: Demonstrate
    trusted: bool = True

    def allows(self, turns: Sequence[Turn]) -> bool:
        """Always: a demonstration costs nothing."""
        return True

    async def execute(self, execution: Execution) -> Trace:
        """The right trace of the inputs."""
        return await self.demonstrate(execution.inputs, execution.budget)


def make_agent(letter: str, model: ChatModel, budget: Budget, settings: Settings, rollout: int) -> Agent:
    """The agent of a stage: `r` for ReAct, `p` for Plan-and-Execute."""
    kind = PlanExecuteAgent if letter == "p" else ReActAgent
    return kind(model, budget, settings.seed + rollout, settings.temperature, rollout)


def budget_left(budget: Budget, settings: Settings, turns: Sequence[Turn]) -> Budget:
    """A stage's budget within what is left of the case's limits.

    Args:
        budget: The stage's own.
        settings: The limits of the case.
        turns: The model's replies for this case so far.
    """
    update: dict[str, Any] = {}
    if settings.turn_limit is not None:
        update["turns"] = min(budget.turns, max(0, settings.turn_limit - len(turns)))
    if settings.token_limit is not None:
        tokens = max(0, settings.token_limit - sum(turn.output_tokens or 0 for turn in turns))
        update["output_tokens"] = tokens if budget.output_tokens is None else min(budget.output_tokens, tokens)
    if settings.time_limit is not None:
        seconds = max(0.0, settings.time_limit - sum(turn.seconds for turn in turns))
        update["seconds"] = seconds if budget.seconds is None else min(budget.seconds, seconds)
    return budget.model_copy(update=update)


def within_limits(settings: Settings, turns: Sequence[Turn]) -> bool:
    """Whether the limits of the case allow one more reply of the model."""
    left = budget_left(Budget(), settings, turns)
    return left.turns > 0 and left.output_tokens != 0 and left.seconds != 0
