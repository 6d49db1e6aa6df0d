"""Ordinary tool functions return the same values and types in the sandbox as in plain Python."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tools_registry import catalog
from tools_registry.sandbox.environments import LocalSandbox, ToolSource
from tools_registry.sandbox.workers import WorkerPool
from tools_registry.specs.schema import type_of
from tools_registry.specs.spec import ToolSpec
from tools_registry.specs.values import CaseError, clean, describe

FOLDER = Path(__file__).parent / "tool_functions"
SHARE = 0.98
"""The share of functions that must return the same. The README of the folder describes their format."""


class Function(NamedTuple):
    name: str
    source: str
    calls: list[dict[str, Any]]


def written() -> Iterator[Function]:
    """The functions that were written for this test."""
    for path in sorted(FOLDER.glob("*.txt")):
        for part in path.read_text(encoding="utf-8").split("### ")[1:]:
            name, _, rest = part.partition("\n")
            lines = rest.splitlines(keepends=True)
            args = [line.removeprefix("# args: ") for line in lines if line.startswith("# args: ")]
            source = "".join(line for line in lines if not line.startswith("# args: "))
            yield Function(name, source, [json.loads(line) for line in args])


def from_catalog() -> Iterator[Function]:
    """The tools of the catalog, with the arguments of their examples, under the name `tool`."""
    for name, found in catalog.load().items():
        source = found.source.replace(f"def {name}(", "def tool(", 1)
        yield Function(name, source, [example.args for example in found.examples])


def plainly(function: Function, args: dict[str, Any]) -> Any:
    """The result of a function in plain Python: a JSON value, or its exception as text."""
    scope: dict[str, Any] = {"__name__": "tool"}
    exec(compile(function.source, f"<{function.name}>", "exec", dont_inherit=True), scope)
    try:
        return clean(scope["tool"](**copy.deepcopy(args)))
    except Exception as error:
        return describe(error)


def same(left: Any, right: Any) -> bool:
    if type_of(left) is not type_of(right):
        return False
    if type_of(left) is list:
        return len(left) == len(right) and all(map(same, left, right))
    if type_of(left) is dict:
        return list(left) == list(right) and all(same(left[name], right[name]) for name in left)
    return left == right


def differing(functions: list[Function], pool: WorkerPool) -> list[str]:
    """The functions that return something else in the sandbox, with the difference."""
    names = [f"f{index}" for index in range(len(functions))]
    tools = [
        ToolSource(
            spec=ToolSpec(name=name, parameters={"type": "object"}),
            source=function.source.replace("def tool(", f"def {name}(", 1),
        )
        for name, function in zip(names, functions, strict=True)
    ]
    calls = [(name, args) for name, function in zip(names, functions, strict=True) for args in function.calls]
    seen = iter(LocalSandbox(tools, pool).values(calls))
    wrong: list[str] = []
    for function in functions:
        for args in function.calls:
            value, error = next(seen)
            got = value if error is None else error[1]
            try:
                wanted = plainly(function, args)
            except CaseError as problem:
                wanted = problem.message
            if not same(got, wanted):
                wrong.append(f"{function.name}: {got!r} instead of {wanted!r}")
                break
    return wrong


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(1) as workers:
        yield workers


WRITTEN = list(written())


def test_there_are_enough_functions() -> None:
    assert len(WRITTEN) >= 60
    assert all(function.calls for function in WRITTEN)


@pytest.mark.parametrize("functions", [WRITTEN, list(from_catalog())], ids=["written", "catalog"])
def test_ordinary_functions_give_what_they_give_in_plain_python(functions: list[Function], pool: WorkerPool) -> None:
    wrong = differing(functions, pool)
    assert len(wrong) <= (1 - SHARE) * len(functions), "\n".join(wrong)
    assert wrong == []


def test_functions_made_for_this_test_are_valid_python() -> None:
    broken = [
        (function.name, got)
        for function in WRITTEN
        for args in function.calls
        if isinstance(got := plainly(function, args), str) and "Error" in got and "ValueError: unknown" not in got
    ]
    assert broken == []
