"""Runs of a workflow as workflows of DBOS: many processes, queues, recovery, SQLite or Postgres.

    DBOS(config={"name": "refunds", "system_database_url": "postgresql://…"})
    refund = DurableWorkflow(workflow, [find, refund])      # before DBOS.launch()
    DBOS.launch()                                           # takes up interrupted runs
    answer = await refund.acall({"order": 17}, run="order-17")

A call of a tool is a step of DBOS. Steps are made *at least* once, so each write has a step before it that notes the
intent: a write whose intent an earlier execution of the run has noted is settled, and not simply repeated.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from flowmind.api.runnable import Inputs, OnDoubt, RunnableWorkflow, Tools, environment_of, identity
from flowmind.base.errors import FlowMindError, InputError, OutcomeUnknown, RunConflict
from flowmind.run.compiler import needs_model
from flowmind.run.journal import require_run_id
from flowmind.run.journaled import UNCERTAIN, Settling, canonical, digest
from flowmind.run.wrappers import Approved, Wrapper
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.functions import to_json
from tools_registry.sandbox.idempotency import keyed
from tools_registry.specs.spec import Observation, ToolCall

try:
    from dbos import DBOS, SetWorkflowID
except ModuleNotFoundError as error:
    raise InputError("durable runs need the extra: pip install 'flowmind-es[durable]'") from error


class DurableWorkflow:
    """A workflow whose runs DBOS keeps, with the arguments and errors of `RunnableWorkflow`.

    Make it before `DBOS.launch()`. An interrupted run is taken up where the version of its workflow is made.

    Raises:
        InputError: If the workflow has `llm` nodes, which no step keeps.
    """

    def __init__(self, workflow: Workflow, tools: Tools | Environment, *, on_doubt: OnDoubt = "raise") -> None:
        environment = environment_of(tools)
        RunnableWorkflow(workflow, environment, on_doubt=on_doubt)  # says now what is wrong
        if needs_model(workflow):
            raise InputError(f"{workflow.name}: a durable workflow cannot have llm nodes")
        name = f"flowmind {identity(workflow)}"

        @DBOS.workflow(name=name)
        async def made(inputs: dict[str, Any]) -> Any:
            steps = _Steps(environment, name, str(DBOS.workflow_id))
            return to_json(await RunnableWorkflow(workflow, steps, on_doubt=on_doubt).acall(inputs))

        self.workflow, self.function = workflow, made
        """The DBOS workflow, which takes the inputs with all defaults; to enqueue or schedule it."""

    async def acall(self, inputs: Inputs, *, run: str) -> Any:
        """The answer. A run with the same id is not made again: its answer, or its error, is given again.

        Raises:
            CaseFailed, Doubt, OutcomeUnknown: As `RunnableWorkflow`.
            RunConflict: If the id belongs to a run of another workflow, or with other inputs.
        """
        require_run_id(run)
        given: dict[str, Any] = to_json({**self.workflow.input_defaults, **inputs})
        try:
            with SetWorkflowID(run):
                handle = await DBOS.start_workflow_async(self.function, given)
        except Exception as error:
            raise RunConflict(f"run {run!r} cannot be begun: {error}") if _is_of_dbos(error) else error from None
        known = (await handle.get_status()).input
        if known is None or canonical(known["args"]) != canonical([given]):
            raise RunConflict(f"run {run!r} has other inputs")
        return await handle.get_result()


class _Steps(Wrapper):
    """Makes each call as a step of the DBOS workflow that is running."""

    def __init__(self, inner: Environment, workflow: str, run: str) -> None:
        self._approval = inner if isinstance(inner, Approved) else None
        super().__init__(inner.inner if isinstance(inner, Approved) else inner)
        self._workflow, self._run, self._execution, self._calls = workflow, run, uuid.uuid4().hex, 0

    async def call(self, call: ToolCall) -> Observation:
        self._calls += 1
        try:
            if self._approval and (refused := await _step(f"approve {call.tool}", self._approval.refusal, call)):
                return refused
            if call.tool not in self.specs or self.specs[call.tool].effect == "read":
                return await _step(call.tool, self.inner.call, call)
            intent = await _step(f"begin {call.tool}", lambda: self._execution)
            return await _step(call.tool, self._write, call, digest([self._workflow, self._run, self._calls]), intent)
        except Exception as error:
            raise FlowMindError(f"run {self._run!r}: {error}") if _is_of_dbos(error) else error from None

    async def _write(self, call: ToolCall, key: str, intent: str) -> Observation:
        if intent != self._execution:
            try:
                happened = await Settling(self.inner).settled(call, key)
            except LookupError as error:
                raise OutcomeUnknown(self._run, call, f"the process ended during the call and {error}") from None
            if happened is not None:
                return Observation(value=happened.value)
        with keyed(key):
            observation = await self.inner.call(call)
        if observation.error is not None and observation.error.type in UNCERTAIN:
            raise OutcomeUnknown(self._run, call, f"it ended in {observation.error.type}")
        return observation


async def _step(name: str, function: Callable[..., Any], *args: Any) -> Any:
    return await DBOS.run_step_async({"name": name}, function, *args)


def _is_of_dbos(error: Exception) -> bool:
    return type(error).__module__.startswith("dbos.")
