"""`RunnableWorkflow`: a workflow with its tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from flowmind.api.tools import Tool, environment_of
from flowmind.base.errors import CaseFailed, InvalidWorkflow
from flowmind.base.files import read_model, write_text
from flowmind.base.waiting import wait_for
from flowmind.protocols import ChatModel
from flowmind.run.running import arun, needs_waiting, run
from flowmind.trace.events import Trace
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import Environment


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
        return cls(read_model(Path(path), Workflow), environment_of(tools), model)

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
