"""`ExecuteSummarize`: the library's door. One's own functions, a model, a task with examples → a workflow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from flowmind.api.pipeline import Solution, solve
from flowmind.api.sandboxes import require_distinct
from flowmind.base.errors import CaseFailed, InputError, InvalidWorkflow
from flowmind.base.files import read_model, validate, write_text
from flowmind.build.settings import Settings, mode_of
from flowmind.evaluation.record import Derivation
from flowmind.llm.choosing import model_named
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.protocols import ChatModel
from flowmind.run.running import arun, needs_waiting, run
from flowmind.trace.events import Trace
from flowmind.trace.task import Example, Task
from flowmind.workflow.checking import Problem, check
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.environments import FunctionEnvironment, LocalSandbox, ToolSource
from tools_registry.specs.schema import JSONSchema, type_name
from tools_registry.specs.spec import SpecError, spec_of

T = TypeVar("T")
Tool = Callable[..., Any] | ToolSource
Shown = tuple[dict[str, Any], Any] | Example
MOST_ROUNDS = 20
"""Of verification, as `Settings` has it."""


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end, also where an event loop is running already (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    results: list[T] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            results.append(asyncio.run(coroutine))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]


def sandbox_of(tools: Sequence[Tool]) -> FunctionEnvironment | LocalSandbox:
    """A sandbox for one's own functions (trusted, in this process) or for tool sources (untrusted, in workers).

    Raises:
        InputError: If both kinds are mixed, there is none, two bear one name, or a function cannot be a tool.
    """
    functions = [tool for tool in tools if not isinstance(tool, ToolSource)]
    sources = [tool for tool in tools if isinstance(tool, ToolSource)]
    if bool(functions) == bool(sources):
        raise InputError("give tools: either functions of your own, or tool sources, not both")
    try:
        names = [*(spec_of(tool).name for tool in functions), *(tool.spec.name for tool in sources)]
        require_distinct(names)
        return FunctionEnvironment(functions) if functions else LocalSandbox(sources)
    except SpecError as error:
        raise InputError(str(error)) from None


class RunnableWorkflow:
    """A workflow with its tools: call it with inputs, or keep it as a file.

    Raises:
        InvalidWorkflow: If the workflow does not pass `check`.
    """

    def __init__(self, workflow: Workflow, sandbox: Environment, model: ChatModel | None = None) -> None:
        if problems := check(workflow, sandbox.specs):
            raise InvalidWorkflow("; ".join(map(str, problems)))
        self.workflow = workflow
        self._sandbox = sandbox
        self._model = model
        self._waits = needs_waiting(workflow, sandbox)

    @classmethod
    def load(cls, path: str | Path, tools: Sequence[Tool], model: ChatModel | None = None) -> Self:
        """Reads a workflow's file and gives it its tools.

        Raises:
            InputError: If the file is no workflow document.
            InvalidWorkflow: If it does not pass `check` with these tools.
        """
        return cls(read_model(Path(path), Workflow), sandbox_of(tools), model)

    def __call__(self, inputs: Mapping[str, Any]) -> Any:
        """The answer for these inputs.

        Raises:
            CaseFailed: If the workflow ends in an error on them.
        """
        return _answer(self.trace(inputs))

    async def acall(self, inputs: Mapping[str, Any]) -> Any:
        """The answer for these inputs, without blocking the event loop.

        Raises:
            CaseFailed: If the workflow ends in an error on them.
        """
        return _answer(await arun(self.workflow, dict(inputs), self._sandbox, self._model))

    def trace(self, inputs: Mapping[str, Any]) -> Trace:
        """Every step of a run on these inputs, errors included."""
        if self._waits:
            return wait_for(arun(self.workflow, dict(inputs), self._sandbox, self._model))
        return run(self.workflow, dict(inputs), self._sandbox)

    def save(self, path: str | Path) -> None:
        """Writes the workflow's document."""
        write_text(Path(path), self.workflow.to_json())


def _answer(trace: Trace) -> Any:
    if trace.error is not None:
        raise CaseFailed(trace.error.type, trace.error.message)
    return trace.answer


class Result:
    """What `ExecuteSummarize.run` gives."""

    def __init__(self, solution: Solution, sandbox: Environment, model: ChatModel) -> None:
        self.solution = solution
        self._sandbox = sandbox
        self._model = model

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The executions."""
        return self.solution.traces

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the workflow; empty if it is sound, or if there is none."""
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
            ends = ", ".join(trace.stop for trace in self.traces)
            raise InvalidWorkflow(f"no workflow was built (the execution ended by: {ends})")
        return RunnableWorkflow(self.solution.workflow, self._sandbox, self._model)


class ExecuteSummarize:
    """Solves a task once with an agent, then turns what it did into a workflow.

    Args:
        tools: Functions of one's own with type hints and docstrings (sync or async; mark those that change something
            with `@tool(effect="write")`), or tool sources for the sandbox.
        model: A model's name (`"search"` works offline), or any `ChatModel`.
        mode: `es-pe` (default), `es-react`, … as in `flowmind.api.pipeline.MODES`.
        settings: Everything else: rollouts, budgets, seed.
        sandbox: Where the tools run, if not where `sandbox_of` has them.
        verify: The workflow is derived from the traces, run on the examples, and mended where it fails: `True` for the
            mode with `+verify`, a number for as many rounds of it. For `es-react` and `es-pe`. A workflow with tools
            that write runs on what the executions recorded; the executions themselves, one or more of each example,
            do write.

    Raises:
        InputError: If a function cannot be a tool, the mode does not exist or cannot be verified, or a workflow would
            be run on the examples with tools that change something.
        ModelUnavailable: If the named model cannot be reached.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        model: str | ChatModel = "search",
        mode: str = "es-pe",
        settings: Settings | None = None,
        sandbox: Environment | None = None,
        verify: bool | int = False,
    ) -> None:
        self.sandbox = sandbox or sandbox_of(tools)
        self.settings = _verified((settings or Settings()).model_copy(update={"mode": mode_of(mode)}), verify)
        self.model = model_named(model, self.sandbox) if isinstance(model, str) else model

    def run(
        self,
        query: str | Task,
        examples: Sequence[Shown] = (),
        inputs: JSONSchema | None = None,
    ) -> Result:
        """Solves a task; see `arun`."""

        async def once() -> Result:
            try:
                return await self.arun(query, examples, inputs)
            finally:
                if isinstance(self.model, OpenAIChat):
                    await self.model.aclose()

        return wait_for(once())

    async def arun(
        self,
        query: str | Task,
        examples: Sequence[Shown] = (),
        inputs: JSONSchema | None = None,
    ) -> Result:
        """Solves a task.

        Args:
            query: The task in words, or a whole `Task`.
            examples: Pairs of input and output; executing means working one of them.
            inputs: JSON Schema of the inputs; without it, one is read off the examples.

        Raises:
            InputError: If there is no example, or an example does not fit the inputs.
            ModelUnavailable: If the model cannot serve at all.
        """
        task = query if isinstance(query, Task) else make_task(query, examples, inputs)
        solution = await solve(task, self.sandbox, self.model, self.settings)
        return Result(solution, self.sandbox, self.model)


_VERIFIED = {"es-rr": "es-react", "es-pp": "es-pe"}


def _verified(settings: Settings, verify: bool | int) -> Settings:
    """The settings with verification, if it is asked for.

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
        raise InputError(f"verify is {verify!r}; right is True, or a number of rounds from 1 to {MOST_ROUNDS}")
    return settings.model_copy(update={"mode": mode_of(f"{mode}+verify"), "verify": rounds})


def make_task(query: str, examples: Sequence[Shown], inputs: JSONSchema | None = None, id: str = "task") -> Task:
    """A task of one's own.

    Raises:
        InputError: If there is no example, or an example does not fit the inputs.
    """
    if not examples:
        raise InputError("give at least one example: executing means working one through the tools")
    try:
        pairs = [
            example if isinstance(example, Example) else validate(Example, {"input": example[0], "output": example[1]})
            for example in examples
        ]
        fields = {"id": id, "query": query, "inputs": inputs or infer_inputs(pairs), "examples": tuple(pairs)}
        return validate(Task, fields)
    except ValueError as error:
        raise InputError(str(error)) from None


def infer_inputs(examples: Sequence[Example]) -> JSONSchema:
    """The schema of inputs, read off examples: an input that stands in all of them is required."""
    names = list(dict.fromkeys(name for example in examples for name in example.input))
    properties: dict[str, JSONSchema] = {}
    for name in names:
        kinds = sorted({_kind(example.input[name]) for example in examples if name in example.input})
        if "number" in kinds and "integer" in kinds:
            kinds.remove("integer")
        properties[name] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    required = [name for name in names if all(name in example.input for example in examples)]
    return {"type": "object", "properties": properties, "required": required}


def _kind(value: Any) -> str:
    return type_name(value)
