"""A compiled workflow as the sandbox sees it, and how one is run: the same few lines in worker and host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tools_registry import expressions
from tools_registry.runtime import CaseError, clean, copy_json, describe, follow

Tool = Callable[[dict[str, Any]], Any]
"""Takes an arguments object, gives a strict JSON value, raises `CaseError`."""


class Program(NamedTuple):
    """A workflow as Python source that this project generated, with its constants apart from it.

    `source` defines `run(inputs, tools, budget, log)`. It calls `tools[i](args)` for the i-th name of `tools`,
    and reports each step as `log((node, args, value))`, where `node` is an index into `labels`.
    """

    source: str
    constants: list[Any]
    tools: tuple[str, ...]
    labels: tuple[str, ...]


class Outcome(NamedTuple):
    """What a program did with one case: an answer or an error, and its steps in order."""

    answer: Any
    error: tuple[str, str] | None
    """The error's type and message."""
    steps: list[list[Any]]
    """`[node, args, value]`; of a failing step the value is None, and the error is the outcome's."""
    at: int = -1
    """The node that failed, an index into the program's labels; -1 if none did."""


Run = Callable[[dict[str, Any], Sequence[Tool], int, Callable[[Any], None]], Any]


class StepError(Exception):
    """Carries an error of a case out of a program, with the node it happened at."""

    def __init__(self, at: int, args: dict[str, Any] | None, error: CaseError) -> None:
        super().__init__(error.message)
        self.at = at
        self.args_at = args
        self.error = error


def load(source: str, constants: list[Any]) -> Any:
    """Turns a program's source into its `run` function (a coroutine function if it was generated as one)."""
    scope: dict[str, Any] = {
        "__builtins__": {},
        "K": constants,
        "CaseError": CaseError,
        "StepError": StepError,
        "clean": clean,
        "follow": follow,
        "copy": copy_json,
        "fail": fail,
        "Exception": Exception,
        "type": type,
        "list": list,
        **expressions.HELPERS,
    }
    exec(compile(source, "<workflow>", "exec"), scope)
    return scope["run"]


def fail(at: int, args: dict[str, Any] | None, error: Exception) -> StepError:
    """The error of a node, typed.

    `at` is the node's number while its tool runs, and the number's complement while its bindings and
    expressions are evaluated; `args` belong to the node only in the first case.
    """
    calling = at >= 0
    if not isinstance(error, CaseError):
        error = CaseError("tool_error" if calling else "expression_error", describe(error))
    return StepError(at if calling else ~at, args if calling else None, error)


def run_case(run: Run, inputs: dict[str, Any], tools: Sequence[Tool], budget: int) -> Outcome:
    """Runs one case of a loaded program; an error of the case is part of the outcome, never raised."""
    steps: list[list[Any]] = []
    try:
        return Outcome(run(inputs, tools, budget, steps.append), None, steps)
    except StepError as stop:
        return failed(stop, steps)


def failed(stop: StepError, steps: list[list[Any]]) -> Outcome:
    """The outcome of a case that stopped at a node."""
    steps.append([stop.at, stop.args_at, None])
    return Outcome(None, (stop.error.type, stop.error.message), steps, stop.at)
