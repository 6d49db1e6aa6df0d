"""The worker process: runs tools and compiled workflows for `LocalSandbox`, one request at a time.

Requests and replies are frames of `tools_registry.sandbox.frames`. The operations are `tools` (sources and parameter
schemas of a named tool set), `calls` (independent calls) and `run` (a program and its cases). The worker is forked by
`tools_registry.sandbox.zygote` and imports nothing heavy.
"""

from __future__ import annotations

import gc
import json
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

from flowmind.workflow.program import Outcome, load, run_brief, run_case
from tools_registry.sandbox.frames import HEADER
from tools_registry.sandbox.language import policy
from tools_registry.specs.schema import Validator, validator
from tools_registry.specs.values import CaseError, by_position, call_checked

_dumps = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False).encode


class ToolSet:
    """The tools of one sandbox. Each tool is compiled at its first use."""

    def __init__(self, tools: dict[str, dict[str, Any]], language: bool) -> None:
        self._tools = tools
        self._compile: Callable[[str, str], policy.ToolCode] = policy.compile_tools if language else policy.compile_bare
        self._namespace: Callable[[], dict[str, Any]] = policy.namespace if language else policy.bare_namespace
        self._compiled: dict[str, policy.ToolCode] = {}
        self._checks: dict[str, Validator] = {}
        self._shared: dict[str, Callable[..., Any]] = {}
        self._scopes: dict[str, list[Callable[..., Any]]] = {}

    def tool(self, name: str) -> Callable[[dict[str, Any]], Any]:
        """A tool for one case, in a fresh namespace unless its source cannot keep state.

        Raises:
            CaseError: `unknown_tool`, or `refused` by the policy.
        """
        return self._checked(name, self._function(name))

    def scope(self, names: Sequence[str], signatures: Sequence[Sequence[str]]) -> list[Callable[..., Any]]:
        """The tools of a program for one case. With signatures, each takes its arguments by position.

        Raises:
            CaseError: As `tool`.
        """
        key = json.dumps([names, signatures])
        if key in self._scopes:
            return self._scopes[key]
        functions = {name: self._function(name) for name in names}
        if signatures:
            tools = [
                by_position(
                    functions[name], self._checked(name, functions[name]), self._tools[name]["parameters"], signature
                )
                for name, signature in zip(names, signatures, strict=True)
            ]
        else:
            tools = [self._checked(name, functions[name]) for name in names]
        if self.are_shared(names):
            self._scopes[key] = tools
        return tools

    def are_shared(self, names: Sequence[str]) -> bool:
        """Whether all these tools have been defined and can be shared by any number of cases."""
        return all(name in self._shared for name in names)

    def _checked(self, name: str, function: Callable[..., Any]) -> Callable[[dict[str, Any]], Any]:
        check = self._checks[name]
        return lambda args: call_checked(function, check, args)

    def _function(self, name: str) -> Callable[..., Any]:
        if name not in self._tools:
            raise CaseError("unknown_tool", f"there is no tool {name!r}")
        return self._shared.get(name) or self._define(name)

    def _define(self, name: str) -> Callable[..., Any]:
        tool = self._tools[name]
        if name not in self._compiled:
            try:
                self._compiled[name] = self._compile(tool["source"], name)
            except policy.RefusedSource as error:
                raise CaseError("refused", f"tool {name!r}: {error}") from None
            self._checks[name] = validator(tool["parameters"])
        code, stateless = self._compiled[name]
        scope = self._namespace()
        try:
            exec(code, scope)
            function = scope[name]
        except Exception as error:
            raise CaseError("refused", f"tool {name!r}: {type(error).__name__} while it is defined") from None
        if stateless:
            self._shared[name] = function
        return function


class Server:
    """Answers the requests of the owner."""

    def __init__(self, value_bytes: int, language: bool) -> None:
        self.value_bytes = value_bytes
        self.language = language
        self.sets: dict[str, ToolSet] = {}
        self.programs: dict[str, Any] = {}

    def answer(self, request: dict[str, Any]) -> str:
        """The reply to a request, as JSON text."""
        match request["op"]:
            case "tools":
                self.sets[request["set"]] = ToolSet(request["tools"], self.language)
                return "[]"
            case "calls":
                return self._calls(request)
            case "run":
                return self._run(request)
            case operation:
                raise ValueError(f"unknown operation {operation!r}")

    def _calls(self, request: dict[str, Any]) -> str:
        tools = self.sets[request["set"]]
        results = [_call(tools, name, args) for name, args in request["calls"]]
        text = _dumps(results)
        if len(text) <= self.value_bytes:
            return text
        refusal = [None, ["too_large", f"the result has over {self.value_bytes} characters"]]
        return _dumps([result if len(_dumps(result[0])) <= self.value_bytes else refusal for result in results])

    def _run(self, request: dict[str, Any]) -> str:
        tools = self.sets[request["set"]]
        key = request["program"]
        if key not in self.programs:
            self.programs[key] = load(request["source"], request["constants"])
        run, names, signatures = self.programs[key], request["tools"], request["signatures"]
        execute = run_brief if signatures else run_case
        outcomes: list[tuple[Any, ...]] = []
        shared: list[Callable[..., Any]] | None = None
        for inputs in request["cases"]:
            _tidy()
            try:
                scope = shared or tools.scope(names, signatures)
                shared = scope if tools.are_shared(names) else None
                outcomes.append(execute(run, inputs, scope, request["budget"])[:4])
            except CaseError as error:
                outcomes.append(Outcome(None, (error.type, error.message), [])[:4])
        text, maximum = _dumps(outcomes), 4 * self.value_bytes
        if len(text) <= maximum:
            return text
        refusal = Outcome(None, ("too_large", "answer and trace of the case are too large"), [])[:4]
        return _dumps([outcome if len(_dumps(outcome)) <= maximum else refusal for outcome in outcomes])


def _call(tools: ToolSet, name: str, args: dict[str, Any]) -> list[Any]:
    """`[value, None]`, or `[None, [type, message]]` of an error."""
    _tidy()
    try:
        return [tools.tool(name)(args), None]
    except CaseError as error:
        return [None, [error.type, error.message]]


_GARBAGE = 20_000
"""Number of new objects after which garbage is collected."""


def _tidy() -> None:
    """Collects garbage between two cases. During a case, a finalizer could be code of an earlier case."""
    if gc.get_count()[0] > _GARBAGE:
        gc.collect()


class _OwnerIsGone(Exception):
    pass


def _read(size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        if not (part := os.read(0, min(size, 1 << 20))):
            raise _OwnerIsGone
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(body: bytes) -> None:
    view = memoryview(len(body).to_bytes(HEADER, "big") + body)
    while view:
        view = view[os.write(0, view) :]


def main(value_bytes: int, language: bool, layers: dict[str, str]) -> None:
    """Serves requests from the socket at standard input until the owner closes it.

    Garbage is collected between cases only. The alarm ends the process if a request exceeds its deadline and the owner
    no longer exists. Its default action also works inside loops in C, where a Python handler would not run.

    Args:
        value_bytes: The maximum number of characters of a result.
        language: Whether the policy is on; it is off for audits only.
        layers: The isolation of this process, sent to the owner first.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    gc.disable()
    server = Server(value_bytes, language)
    _write(_dumps(layers).encode())
    while True:
        try:
            request = json.loads(_read(int.from_bytes(_read(HEADER), "big")))
        except _OwnerIsGone:
            return
        signal.setitimer(signal.ITIMER_REAL, request["seconds"] + 1.0)
        try:
            reply = server.answer(request).encode()
        except MemoryError:
            reply = b'{"memory":true}'
        _write(reply)
        signal.setitimer(signal.ITIMER_REAL, 0)
