"""An environment in which a workflow may also call the tools that read values said in words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from flowmind.run.wrappers import overlapping_of
from flowmind.workflow.document import Workflow
from flowmind.workflow.program import Outcome, Program, load, run_brief, run_case
from tools_registry import words
from tools_registry.sandbox.environment import DEFAULT_BUDGET, Environment
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec
from tools_registry.specs.values import CaseError, copy_json


def worded(workflow: Workflow, environment: Environment) -> Environment:
    """An environment that has all tools of a workflow: the environment itself if it needs none of `words`."""
    if any(name in words.FUNCTIONS and name not in environment.specs for name in workflow.tool_names):
        return environment if isinstance(environment, Worded) else Worded(environment)
    return environment


class Worded:
    """The tools of an environment, and those of `tools_registry.words`.

    The tools of the environment are called one at a time; a workflow runs in this process.
    """

    def __init__(self, inner: Environment) -> None:
        self._inner = inner
        self.specs: Mapping[str, ToolSpec] = {**words.specs(), **inner.specs}
        self.awaited: Collection[str] = inner.awaited

    @property
    def overlapping(self) -> Collection[str]:
        """Those of the environment, and those of `tools_registry.words`."""
        return frozenset(overlapping_of(self._inner)) | (self.specs.keys() - self._inner.specs.keys())

    async def call(self, call: ToolCall) -> Observation:
        """Calls one tool."""
        if call.tool in self._inner.specs:
            return await self._inner.call(call)
        return words.observed(call.tool, call.args)

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs a compiled workflow."""
        if getattr(self._inner, "knows_words", False):
            return self._inner.run(program, cases, budget)
        run = load(program.source, program.constants)
        if not program.signatures:
            tools = [partial(self._called, name) for name in program.tools]
            return [run_case(run, inputs, tools, budget) for inputs in cases]
        pairs = zip(program.tools, program.signatures, strict=True)
        named = [self._named(name, parameters) for name, parameters in pairs]
        return [run_brief(run, inputs, named, budget) for inputs in cases]

    def _called(self, name: str, args: dict[str, Any]) -> Any:
        if name not in self._inner.specs:
            return words.value_of(name, args)
        (outcome,) = self._inner.run(call_of(name), (copy_json(args),))
        if outcome.error is None:
            return outcome.answer
        error = CaseError(*outcome.error)
        error.__cause__ = outcome.cause
        raise error

    def _named(self, name: str, parameters: Sequence[str]) -> Callable[..., Any]:
        return lambda *values: self._called(name, dict(zip(parameters, values, strict=True)))


@lru_cache(maxsize=512)
def call_of(tool: str) -> Program:
    """A program that calls one tool with its inputs as arguments."""
    source = (
        "def run(inputs, tools, budget, log):\n"
        "    try:\n"
        "        return tools[0](inputs)\n"
        "    except Exception as error:\n"
        "        raise fail(0, inputs, error) from None\n"
    )
    return Program(source, [], (tool,), (tool,))
