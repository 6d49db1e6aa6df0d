"""`ExecuteSummarize`: functions, a model and a task with examples become a workflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowmind.api.pipeline import Solution, solve
from flowmind.api.runnable import RunnableWorkflow
from flowmind.api.tasks import Shown, make_task, name_of
from flowmind.api.tools import Tools, environment_of
from flowmind.base.errors import InputError, InvalidWorkflow
from flowmind.base.files import validate
from flowmind.base.waiting import wait_for
from flowmind.build.derivation import Derivation
from flowmind.build.settings import Settings, mode_of
from flowmind.llm.choosing import model_named
from flowmind.protocols import ChatModel
from flowmind.run.wrappers import Approved, Ask
from flowmind.trace.events import Trace
from flowmind.trace.task import Task
from flowmind.workflow.checking import Problem
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.schema import JSONSchema

MOST_ROUNDS = 20
"""The most rounds of verification that `Settings` accepts."""


class Result:
    """The result of `ExecuteSummarize.run`."""

    def __init__(self, solution: Solution, environment: Environment, model: ChatModel) -> None:
        self.solution = solution
        self._environment = environment
        self._model = model

    def __repr__(self) -> str:
        return f"<Result: {self._summary()}>"

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The executions."""
        return self.solution.traces

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the workflow; empty if it is sound, or if there is none."""
        return self.solution.problems

    @property
    def usage(self) -> dict[str, int]:
        """Model replies and output tokens, by stage."""
        summary = self.solution.summary
        return {
            "execute_turns": sum(len(trace.turns) for trace in self.traces),
            "execute_tokens": sum(trace.output_tokens for trace in self.traces),
            "summarize_turns": len(summary.turns) if summary else 0,
            "summarize_tokens": summary.output_tokens if summary else 0,
        }

    @property
    def derivation(self) -> Derivation | None:
        """How the workflow was derived and verified; None if an agent alone built it."""
        return self.solution.derivation

    @property
    def ok(self) -> bool:
        """Whether there is a sound workflow."""
        return self.solution.graph_valid

    @property
    def workflow(self) -> RunnableWorkflow:
        """The workflow, ready to be called.

        Raises:
            InvalidWorkflow: If there is none, or it does not pass `check`; the message says why.
        """
        if self.solution.workflow is None:
            raise InvalidWorkflow(self._summary())
        return RunnableWorkflow(self.solution.workflow, self._environment, self._model)

    def _summary(self) -> str:
        workflow = self.solution.workflow
        if workflow is None:
            stops = ", ".join(trace.stop for trace in self.traces)
            return f"no workflow was built (the execution ended by: {stops})"
        state = "sound" if self.ok else f"{len(self.problems)} problems"
        return f"workflow {workflow.name!r}, {len(workflow.nodes)} nodes, {state}"


class ExecuteSummarize:
    """Solves a task with an agent, then turns the traces into a workflow.

    Args:
        tools: Functions with type hints and docstrings, sync or async, or tool sources for the sandbox: one, a list, or
            a dict by name. Mark functions that change something with `@tool(effect="write")`.
        model: The name of a model (`"search"` works offline), or any `ChatModel`.
        mode: The mode, such as `es-pe` (default) or `es-react`.
        settings: All other settings, as `Settings` or a dict of its fields: rollouts, budgets, seed.
        environment: The environment to call the tools in; by default `environment_of(tools)`.
        verify: Derive the workflow from the traces, run it on the examples, and mend it where it fails. `True` selects
            the mode with `+verify`, a number limits the rounds. For `es-react` and `es-pe`. While verifying, tools that
            write are answered from the recorded calls; the executions themselves call them.
        approve: Called as `approve(call, spec)` before each call of a tool that is not marked `effect="read"`; sync or
            async. It allows the call by `True`; `False`, or a text with the reason, refuses it.

    Raises:
        InputError: If something cannot be a tool, or if mode, settings and verification contradict each other.
        ModelUnavailable: If the named model cannot be reached.
    """

    def __init__(
        self,
        tools: Tools | None = None,
        model: str | ChatModel = "search",
        mode: str = "es-pe",
        settings: Settings | Mapping[str, Any] | None = None,
        environment: Environment | None = None,
        verify: bool | int = False,
        approve: Ask | None = None,
    ) -> None:
        if environment is None and tools is None:
            raise InputError("tools: give functions or tool sources, or an environment")
        own: Environment = environment if environment is not None else environment_of(tools or [])
        self.settings = _verified(_settings(settings).model_copy(update={"mode": mode_of(mode)}), verify)
        self.model = model_named(model, own) if isinstance(model, str) else model
        self.environment: Environment = own if approve is None else Approved(own, approve)

    def run(self, query: str | Task, examples: Sequence[Shown] = (), inputs: JSONSchema | None = None) -> Result:
        """Solves a task; see `arun`."""

        async def once() -> Result:
            try:
                return await self.arun(query, examples, inputs)
            finally:
                await self.model.aclose()

        return wait_for(once())

    async def arun(self, query: str | Task, examples: Sequence[Shown] = (), inputs: JSONSchema | None = None) -> Result:
        """Solves a task.

        Args:
            query: The task in words, or a whole `Task`.
            examples: Pairs of input and output, or dicts with `input` and `output`; the agent works on one of them.
            inputs: JSON Schema of the inputs; by default it is inferred from the examples.

        Raises:
            InputError: If there is no example, or an example does not fit the inputs.
            ModelUnavailable: If the model cannot serve at all.
        """
        task = query
        if not isinstance(task, Task):
            task = make_task(task, examples, inputs, name_of(task, self.environment.specs))
        solution = await solve(task, self.environment, self.model, self.settings)
        return Result(solution, self.environment, self.model)


def _settings(settings: Settings | Mapping[str, Any] | None) -> Settings:
    if isinstance(settings, Settings):
        return settings
    try:
        return validate(Settings, dict(settings or {}))
    except ValueError as error:
        raise InputError(f"settings: {error}") from None


_VERIFIED = {"es-rr": "es-react", "es-pp": "es-pe"}


def _verified(settings: Settings, verify: bool | int) -> Settings:
    """The settings with verification.

    Raises:
        InputError: If the mode cannot be verified, or there are too many rounds.
    """
    if verify is False or verify == 0:
        return settings
    mode = _VERIFIED.get(settings.mode, settings.mode).removesuffix("+verify")
    if mode not in _VERIFIED.values():
        raise InputError(f"mode {settings.mode!r} cannot be verified; es-react and es-pe can")
    rounds = settings.verify if verify is True else verify
    if rounds is not None and not 0 <= rounds <= MOST_ROUNDS:
        raise InputError(f"verify is {verify!r}; give True, or a number of rounds from 1 to {MOST_ROUNDS}")
    return settings.model_copy(update={"mode": mode_of(f"{mode}+verify"), "verify": rounds})
