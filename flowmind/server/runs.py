"""The runs of one workflow in a server: each is begun once, outlives its request, and is taken up after a crash."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from flowmind.api.runnable import RunnableWorkflow, identity
from flowmind.base.errors import CaseFailed, Doubt, FlowMindError, InputError, OutcomeUnknown, RunConflict
from flowmind.base.texts import one_line
from flowmind.protocols import ChatModel
from flowmind.run.journal import Journal, require_run_id
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.spec import ToolSpec

_THREADS = 32
"""The most runs of sync functions at a time. Further runs wait."""
_LOG = logging.getLogger("flowmind.server")


class Reply(NamedTuple):
    """The reply to a request."""

    status: int
    """The HTTP status."""
    body: dict[str, Any]
    """`run`, `state`, and `answer` or `error`."""

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return self.status == 200


class Runs:
    """The runs of a workflow.

    A workflow of sync functions runs in threads, so that a function that waits does not stop the others. A workflow
    with async functions runs in the server's event loop.

    Args:
        workflow: The workflow.
        environment: Its tools.
        journal: The journal of its runs.
        model: The model of `llm` nodes.

    Raises:
        InvalidWorkflow: If the workflow does not pass `check` with these tools.
    """

    def __init__(
        self, workflow: Workflow, environment: Environment, journal: Journal, model: ChatModel | None = None
    ) -> None:
        self.workflow = workflow
        self.journal = journal
        self.identity = identity(workflow)
        self.version = self.identity.rpartition("@")[2]
        """The beginning of the workflow's digest."""
        self.specs: Mapping[str, ToolSpec] = {
            name: spec for name, spec in environment.specs.items() if name in workflow.tool_names
        }
        """The tools that the workflow calls."""
        self._runnable = RunnableWorkflow(workflow, environment, model, journal=journal)
        blocking = hasattr(environment, "functions") and not set(environment.awaited) & self.specs.keys()
        self._threads = ThreadPoolExecutor(_THREADS, "run") if blocking and model is None else None
        self._tasks: dict[str, tuple[dict[str, Any], asyncio.Task[Reply]]] = {}

    async def reply(self, inputs: dict[str, Any], run: str | None = None) -> Reply:
        """Runs the workflow. The run goes on if the caller is cancelled.

        Args:
            inputs: The inputs.
            run: The id of the run; by default a new one.
        """
        run = uuid.uuid4().hex if run is None else run
        inputs = {**self.workflow.input_defaults, **inputs}
        known, task = self._tasks.get(run, (inputs, None))
        if known != inputs:
            return _refused(409, run, "conflict", f"run {run!r} is under way with other inputs")
        return await asyncio.shield(task or self._begun(inputs, run))

    def known(self, run: str) -> Reply:
        """The state of a run in the journal."""
        try:
            row = self.journal.get(run)
        except FlowMindError as error:
            return _refused(500, run, "open", str(error))
        if row is None or row.workflow != self.identity:
            return Reply(404, {"error": f"there is no run {run!r}"})
        body: dict[str, Any] = {"run": run, "state": row.state}
        if row.state == "finished":
            body["answer"] = row.answer
        if row.error is not None:
            body["error"] = one_line(f"{row.error.type}: {row.error.message}")
        return Reply(200, body)

    def resume(self) -> None:
        """Takes up the runs that were interrupted."""
        for row in self.journal.runs("open"):
            if row.workflow == self.identity and row.run not in self._tasks:
                self._begun(row.inputs, row.run)

    async def drain(self) -> None:
        """Waits until no run is under way."""
        while self._tasks:
            await asyncio.wait([task for _, task in self._tasks.values()])

    def _begun(self, inputs: dict[str, Any], run: str) -> asyncio.Task[Reply]:
        task = asyncio.create_task(self._run(inputs, run))
        self._tasks[run] = inputs, task
        task.add_done_callback(lambda _: self._tasks.pop(run))
        return task

    async def _run(self, inputs: dict[str, Any], run: str) -> Reply:
        try:
            require_run_id(run)
            if self._threads is None:
                answer = await self._runnable.acall(inputs, run=run)
            else:
                work = partial(self._runnable, inputs, run=run)
                answer = await asyncio.get_running_loop().run_in_executor(self._threads, work)
            return Reply(200, {"run": run, "state": "finished", "answer": answer})
        except CaseFailed as failure:
            state = "invalid" if failure.type == "invalid_input" else "failed"
            return _refused(422, run, state, str(failure))
        except Doubt as doubt:
            return _refused(409, run, "doubt", str(doubt), lines=[one_line(line) for line in doubt.lines])
        except OutcomeUnknown as unknown:
            return _refused(409, run, "unknown", str(unknown))
        except RunConflict as conflict:
            return _refused(409, run, "conflict", str(conflict))
        except InputError as error:
            return _refused(400, run, "invalid", str(error))
        except FlowMindError as error:
            return _refused(500, run, "open", str(error))
        except Exception:
            _LOG.exception("run %r ended in an unexpected error", run)
            return _refused(500, run, "open", "the server failed; its log says more")


def _refused(status: int, run: str, state: str, error: str, **more: Any) -> Reply:
    return Reply(status, {"run": run, "state": state, "error": one_line(error), **more})
