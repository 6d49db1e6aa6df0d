"""A compiled workflow as the sandbox sees it, and how one is run: the same few lines in worker and host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flowmind.workflow.expression_runtime import HELPERS
from tools_registry.specs.values import ATOMS, CaseError, clean, copy_json, describe, follow

Tool = Callable[..., Any]
"""Takes an arguments object, or the arguments that a signature names in their order; gives a strict JSON value,
raises `CaseError`."""


class Program(NamedTuple):
    """A workflow as Python source that this project generated, with its constants apart from it.

    `source` defines `run(inputs, tools, budget, log)`. It calls `tools[i](args)` for the i-th name of `tools`,
    and reports each step as `log((node, args, value))`, where `node` is an index into `labels`. A *brief* program
    has signatures: it calls `tools[i](*values)`, and reports only what tools gave, as `log(value)`.
    """

    source: str
    constants: list[Any]
    tools: tuple[str, ...]
    labels: tuple[str, ...]
    signatures: tuple[tuple[str, ...], ...] = ()
    """Of a brief program: for each tool the names of the arguments that it is given, in their order."""


class Outcome(NamedTuple):
    """What a program did with one case: an answer or an error, and what it reported, in order."""

    answer: Any
    error: tuple[str, str] | None
    """The error's type and message."""
    steps: list[Any]
    """`[node, args, value]`; of a failing step the value is None, and the error is the outcome's. Of a brief program
    what its tools gave."""
    at: int = -1
    """The node that failed, an index into the program's labels; -1 if none did."""
    cause: BaseException | None = None
    """The exception behind the error, if it was raised in this process."""


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
        "atoms": ATOMS,
        "fail": fail,
        "Exception": Exception,
        "type": type,
        "list": list,
        **HELPERS,
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
        case = CaseError("tool_error" if calling else "expression_error", describe(error))
        case.__cause__ = error
        error = case
    return StepError(at if calling else ~at, args if calling else None, error)


def run_case(run: Run, inputs: dict[str, Any], tools: Sequence[Tool], budget: int) -> Outcome:
    """Runs one case of a loaded program; an error of the case is part of the outcome, never raised."""
    steps: list[Any] = []
    try:
        return Outcome(run(inputs, tools, budget, steps.append), None, steps)
    except StepError as stop:
        return failed(stop, steps)


def run_brief(run: Run, inputs: dict[str, Any], tools: Sequence[Tool], budget: int) -> Outcome:
    """As `run_case`, for a brief program."""
    values: list[Any] = []
    try:
        return Outcome(run(inputs, tools, budget, values.append), None, values)
    except StepError as stop:
        return Outcome(None, (stop.error.type, stop.error.message), values, stop.at, stop.error.__cause__)


def replay(run: Run, tools: int, inputs: dict[str, Any], outcome: Outcome, budget: int) -> list[Any]:
    """The steps of a case that a brief program has run, as the full program reports them.

    Args:
        run: The full program of the same workflow.
        tools: How many tools it has; they answer with what the tools have given before.
        inputs, outcome, budget: Of the brief run. One that was ended from outside (`at` is -1) has no steps.
    """
    if outcome.error is not None and outcome.at < 0:
        return []
    given = iter(outcome.steps)

    def answer(args: dict[str, Any]) -> Any:
        for value in given:
            return value
        raise CaseError(*(outcome.error or ("crash", "the run has no such call")))

    again = run_case(run, inputs, [answer] * tools, budget)
    if again.at != outcome.at:  # an expression that failed there for want of memory need not fail here
        return [*again.steps[: len(outcome.steps)], [outcome.at, None, None]]
    return again.steps


def failed(stop: StepError, steps: list[Any]) -> Outcome:
    """The outcome of a case that stopped at a node."""
    steps.append([stop.at, stop.args_at, None])
    return Outcome(None, (stop.error.type, stop.error.message), steps, stop.at, stop.error.__cause__)
