"""`LocalSandbox`: untrusted tools in worker processes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from flowmind.workflow.program import Outcome, Program
from tools_registry.sandbox.closing import Closing
from tools_registry.sandbox.environment import DEFAULT_BUDGET
from tools_registry.sandbox.workers import Limits, WorkerFailure, WorkerPool
from tools_registry.specs.schema import type_of
from tools_registry.specs.spec import Observation, ToolCall, ToolSource, ToolSpec
from tools_registry.specs.values import CaseError, clean

__all__ = ["Limits", "LocalSandbox", "WorkerPool"]


class LocalSandbox(Closing):
    """Untrusted tools: compiled under the policy and run in worker processes with limits.

    Args:
        tools: The tools' sources.
        pool: The workers; by default the sandbox starts one worker and stops it in `close`.
    """

    awaited: Collection[str] = ()

    def __init__(self, tools: Sequence[ToolSource], pool: WorkerPool | None = None) -> None:
        self.specs: Mapping[str, ToolSpec] = {tool.spec.name: tool.spec for tool in tools}
        self._pool = pool or WorkerPool(1)
        self._own_pool = pool is None
        self._tools = {tool.spec.name: {"source": tool.source, "parameters": tool.spec.parameters} for tool in tools}
        self._set = hashlib.sha256(json.dumps(self._tools, sort_keys=True).encode()).hexdigest()

    async def call(self, call: ToolCall) -> Observation:
        """Calls one tool in a fresh case. An error is part of the observation."""
        import asyncio  # takes 50 ms, and is loaded already if this coroutine runs

        return (await asyncio.to_thread(self.calls, [call]))[0]

    def calls(self, calls: Sequence[ToolCall]) -> list[Observation]:
        """Independent calls in one round trip, each in a fresh case."""
        results = [self._refused(call.args) for call in calls]
        todo = [index for index, result in enumerate(results) if result is None]
        replies = self.values([(calls[index].tool, calls[index].args) for index in todo])
        for index, (value, error) in zip(todo, replies, strict=True):
            results[index] = Observation(value=value) if error is None else Observation.failed(*error)
        return [result for result in results if result is not None]

    def values(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        """Independent calls without records, for large numbers of them. Arguments must be strict JSON.

        Returns:
            (value, None) or (None, (type, message)) for each call.
        """
        return [(value, error) for value, error in self._batch("calls", [list(call) for call in calls], {})]

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs a compiled workflow on cases in one round trip; each case has its own deadline and namespace."""
        key = hashlib.sha256(json.dumps(program).encode()).hexdigest()
        options = {
            "program": key,
            "source": program.source,
            "constants": program.constants,
            "tools": program.tools,
            "signatures": program.signatures,
            "budget": budget,
        }
        outcomes: list[Outcome] = []
        for answer, error, steps, at in self._batch("run", list(cases), options):
            place = at if at < len(program.labels) else -1
            outcomes.append(Outcome(answer, tuple(error) if error else None, steps, place))
        return outcomes

    def close(self) -> None:
        """Stops the sandbox's own worker."""
        if self._own_pool:
            self._pool.close()

    def _refused(self, args: dict[str, Any]) -> Observation | None:
        """The error of arguments that are not JSON."""
        try:
            clean(args)
        except CaseError as error:
            return Observation.failed("invalid_arguments", error.message)
        return None

    def _batch(self, op: str, items: list[Any], options: dict[str, Any], again: bool = True) -> list[Any]:
        """Sends one request for all items. If the worker fails on it, sends one for each item, so that only some fail.

        If the worker was killed from outside, the request is repeated once.
        """
        if not items:
            return []
        field = "calls" if op == "calls" else "cases"
        try:
            with self._pool.borrow() as worker:
                if self._set not in worker.loaded:
                    worker.request({"op": "tools", "set": self._set, "tools": self._tools}, 30.0)
                    worker.loaded.add(self._set)
                reply = worker.request({"op": op, "set": self._set, field: items, **options}, self._pool.limits.seconds)
                if not (type_of(reply) is list and len(reply) == len(items) and all(map(_SHAPES[op], reply))):
                    worker.stop()
                    raise WorkerFailure("crash", "the tool worker sent a reply of another shape")
                return reply
        except WorkerFailure as failure:
            if failure.lost and again:
                return self._batch(op, items, options, again=False)
            if len(items) > 1:
                return [self._batch(op, [item], options)[0] for item in items]
            error = (failure.type, str(failure))
            return [[None, error]] if op == "calls" else [[None, error, [], -1]]


def _is_error(error: Any) -> bool:
    return error is None or (type_of(error) is list and [type(part) for part in error] == [str, str])


def _is_result(reply: Any) -> bool:
    return type_of(reply) is list and len(reply) == 2 and _is_error(reply[1])


def _is_outcome(reply: Any) -> bool:
    if type_of(reply) is not list or len(reply) != 4:
        return False
    _, error, steps, at = reply
    return _is_error(error) and type_of(steps) is list and type_of(at) is int


_SHAPES: dict[str, Callable[[Any], bool]] = {"calls": _is_result, "run": _is_outcome}
"""The shapes of valid replies; the worker is not trusted."""
