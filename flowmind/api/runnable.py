"""`RunnableWorkflow`: a workflow with its tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from flowmind.api.tools import Tools, environment_of
from flowmind.base.errors import CaseFailed, InputError
from flowmind.base.files import read_model, write_text
from flowmind.base.waiting import wait_for
from flowmind.protocols import ChatModel
from flowmind.run.running import Prepared, Ran, arun
from flowmind.trace.events import Trace
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import DEFAULT_BUDGET, Environment

Inputs = Mapping[str, Any]


class RunnableWorkflow:
    """A workflow with its tools: call it with inputs, or keep it as a file.

    Args:
        workflow: The workflow.
        tools: Its tools: functions or tool sources, one, a list or a dict by name; or an environment.
        model: Answers `llm` nodes.

    Raises:
        InputError: If something cannot be a tool.
        InvalidWorkflow: If the workflow does not pass `check`.
    """

    def __init__(self, workflow: Workflow, tools: Tools | Environment, model: ChatModel | None = None) -> None:
        self.workflow = workflow
        self._environment: Environment = environment_of(tools)
        self._prepared = Prepared(workflow, self._environment)
        self._model = model

    @classmethod
    def load(cls, path: str | Path, tools: Tools | Environment, model: ChatModel | None = None) -> Self:
        """Reads a workflow's file.

        Raises:
            InputError: If the file is no workflow document, or something cannot be a tool.
            InvalidWorkflow: If the workflow does not pass `check` with these tools.
        """
        return cls(read_model(Path(path), Workflow), tools, model)

    def __repr__(self) -> str:
        workflow = self.workflow
        inputs, tools = ", ".join(workflow.input_names), ", ".join(workflow.tool_names) or "none"
        return f"<RunnableWorkflow {workflow.name}({inputs}): {len(workflow.nodes)} nodes; tools: {tools}>"

    def _repr_svg_(self) -> str:
        """The drawing that a notebook shows."""
        return import_module("flowmind.formats.svg").to_svg(self.workflow)

    def __call__(self, inputs: Inputs | None = None, /, **named: Any) -> Any:
        """The answer for these inputs, given as a mapping or by name: `workflow({"n": 3})`, `workflow(n=3)`.

        Raises:
            CaseFailed: If the workflow ends in an error on them. `node` names the node; the cause is the exception
                that a function raised.
        """
        if inputs is None or named:
            inputs = {**(inputs or {}), **named}
        if self._prepared.waits:
            return _answer(self.trace(inputs))
        ran = self._prepared.run_one(inputs, self._environment, DEFAULT_BUDGET)
        if ran.error is not None:
            raise _failure(ran)
        return ran.answer

    async def acall(self, inputs: Inputs | None = None, /, **named: Any) -> Any:
        """The answer, without blocking the event loop while tools wait. Raises as a call does."""
        inputs = {**(inputs or {}), **named}
        return _answer(await arun(self.workflow, inputs, self._environment, self._model))

    def invoke(self, inputs: Inputs, config: object = None) -> Any:
        """The answer, as a call gives it. `config` is there for LangChain's sake and is ignored."""
        return self(inputs)

    async def ainvoke(self, inputs: Inputs, config: object = None) -> Any:
        """The answer, as `acall` gives it. `config` is ignored."""
        return await self.acall(inputs)

    def batch(self, cases: Sequence[Inputs], config: object = None, *, return_exceptions: bool = False) -> list[Any]:
        """The answers for several cases, in one round trip to the tools.

        Args:
            cases: The inputs of each case.
            config: Ignored.
            return_exceptions: Give the `CaseFailed` of a failing case in its place instead of raising it.

        Raises:
            CaseFailed: Of the first case that fails.
        """
        if self._prepared.waits:
            return wait_for(self.abatch(cases, return_exceptions=return_exceptions))
        answers: list[Any] = []
        for ran in self._prepared.run(cases, self._environment, DEFAULT_BUDGET):
            if ran.error is None:
                answers.append(ran.answer)
            elif return_exceptions:
                answers.append(_failure(ran))
            else:
                raise _failure(ran)
        return answers

    async def abatch(
        self, cases: Sequence[Inputs], config: object = None, *, return_exceptions: bool = False
    ) -> list[Any]:
        """The answers for several cases, one case after the other; see `batch`."""
        answers: list[Any] = []
        for inputs in cases:
            try:
                answers.append(await self.acall(inputs))
            except CaseFailed as failure:
                if not return_exceptions:
                    raise
                answers.append(failure)
        return answers

    def trace(self, inputs: Inputs) -> Trace:
        """Every step of a run on these inputs, errors included."""
        if self._prepared.waits:
            return wait_for(arun(self.workflow, dict(inputs), self._environment, self._model))
        return self._prepared.run_one(inputs, self._environment, DEFAULT_BUDGET).trace

    def save(self, path: str | Path) -> None:
        """Writes the workflow's document."""
        write_text(Path(path), self.workflow.to_json())

    def to_langgraph(self, tools: Tools | None = None, llm: Callable[[str], str] | None = None) -> Any:
        """The workflow as a compiled LangGraph graph: `to_langgraph().invoke(inputs)["answer"]`.

        Args:
            tools: Functions, as a list or a dict by name; by default the workflow's own.
            llm: Answers a prompt with text, for `llm` nodes.

        Raises:
            InputError: If a tool or the model is missing, or a tool is async or runs in a sandbox.
        """
        environment = self._environment if tools is None else environment_of(tools)
        functions = getattr(environment, "functions", None)
        if functions is None:
            raise InputError("to_langgraph: the tools are not functions of this process; give functions")
        export = import_module("flowmind.formats.langgraph").to_langgraph
        return export(self.workflow, functions, llm, environment.specs)


def _failure(ran: Ran) -> CaseFailed:
    assert ran.error is not None
    failure = CaseFailed(ran.error.type, ran.error.message, ran.node)
    failure.__cause__ = ran.cause
    return failure


def _answer(trace: Trace) -> Any:
    if trace.error is not None:
        last = trace.events[-1] if trace.events else None
        raise CaseFailed(trace.error.type, trace.error.message, getattr(last, "node", None) or "")
    return trace.answer
