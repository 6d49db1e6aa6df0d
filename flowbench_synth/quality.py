"""Stage 2, tool quality checks: documentation, names, the policy, and examples that hold in two workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tools_registry.catalog import CatalogTool
from tools_registry.sandbox.environments import LocalSandbox, WorkerPool
from tools_registry.sandbox.language.policy import RefusedSource, compile_tools
from tools_registry.specs.schema import json_equal

LEAST_EXAMPLES = 3


def check_tools(
    tools: Sequence[CatalogTool], pools: tuple[WorkerPool, WorkerPool]
) -> tuple[list[CatalogTool], list[tuple[str, str]]]:
    """The tools that pass the checks, and the names of the others with the reason.

    Args:
        tools: The candidates. Of tools with equal names or descriptions the first is kept.
        pools: Two sets of workers; the results of a tool must be equal in both.
    """
    dropped: list[tuple[str, str]] = []
    named: dict[str, CatalogTool] = {}
    described: set[str] = set()
    for tool in tools:
        reason = _static(tool)
        if reason is None and tool.spec.name in named:
            reason = "the name is taken"
        if reason is None and tool.spec.description in described:
            reason = "another tool has the same description"
        if reason is not None:
            dropped.append((tool.spec.name, reason))
            continue
        named[tool.spec.name] = tool
        described.add(tool.spec.description)
    sound: list[CatalogTool] = []
    for tool, reason in _examples(list(named.values()), pools):
        if reason is None:
            sound.append(tool)
        else:
            dropped.append((tool.spec.name, reason))
    return sound, dropped


def _static(tool: CatalogTool) -> str | None:
    """The first fault of a tool; None if it has none."""
    spec = tool.spec
    if not spec.description:
        return "no description"
    if not spec.returns.get("description"):
        return "the result is not described"
    if any(not field.get("description") for field in spec.parameters["properties"].values()):
        return "a parameter is not described"
    if len(tool.examples) < LEAST_EXAMPLES:
        return f"fewer than {LEAST_EXAMPLES} examples"
    if any(spec.check(example.args) is not None for example in tool.examples):
        return "an example does not fit the parameters"
    try:
        compile_tools(tool.source, spec.name)
    except RefusedSource:
        return "the source is refused by the policy"
    return None


def _examples(
    tools: Sequence[CatalogTool], pools: tuple[WorkerPool, WorkerPool]
) -> Iterable[tuple[CatalogTool, str | None]]:
    """Each tool with the fault that its examples show, if any. All examples run in one batch in each pool."""
    calls = [(tool.spec.name, example.args) for tool in tools for example in tool.examples]
    first, second = (iter(LocalSandbox(tools, pool).values(calls)) for pool in pools)
    for tool in tools:
        reason: str | None = None
        for example in tool.examples:
            (value, error), again = next(first), next(second)
            if error is not None or not json_equal(value, example.result):
                reason = reason or "an example does not hold"
            elif again != (value, error):
                reason = "two workers give different results"
        yield tool, reason
