"""Tools as models write them give in the sandbox what they give in plain Python, or an error with a hint."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tools_registry.sandbox.environments import LocalSandbox, ToolSource
from tools_registry.sandbox.workers import WorkerPool
from tools_registry.specs.spec import ToolSpec

FOLDER = Path(__file__).parent / "ordinary"
SHARE = 0.98
"""The share of tools that must give the same."""
HINT = re.compile(r"; \S+ \S+")
"""What a refusal says after the reason: what to write instead."""
_PLAINLY = """
import contextlib, io, json, sys
for name, source, calls in json.load(sys.stdin):
    replies = []
    for args in calls:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                scope = {"__name__": "tool"}
                module = sys.modules["tool"] = type(sys)("tool")
                module.__dict__.update(scope)
                exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)
                replies.append([json.dumps(module.__dict__[name](**args)), None])
        except Exception as error:
            replies.append([None, type(error).__name__])
    print(json.dumps(replies))
"""


class Tool(NamedTuple):
    name: str
    source: str
    calls: list[dict[str, Any]]


class Difference(NamedTuple):
    name: str
    wanted: str
    message: str
    """The error in the sandbox, or the other value."""

    def __str__(self) -> str:
        return f"{self.name}: {self.message} instead of {self.wanted}"


def read(folder: Path) -> Iterator[Tool]:
    """The tools of a folder. Its README describes the format."""
    for path in sorted(folder.glob("*.txt")):
        for part in f"\n{path.read_text(encoding='utf-8')}".split("\n### ")[1:]:
            name, _, rest = part.partition("\n")
            lines = rest.splitlines(keepends=True)
            calls = [json.loads(line.removeprefix("# args: ")) for line in lines if line.startswith("# args: ")]
            yield Tool(name, "".join(line for line in lines if not line.startswith("# args: ")), calls)


def plainly(tools: list[Tool]) -> list[list[tuple[str | None, str | None]]]:
    """The replies of each tool in a plain Python: (JSON, None) or (None, type of the error) for each call."""
    done = subprocess.run(
        [sys.executable, "-c", _PLAINLY], input=json.dumps(tools), capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def in_sandbox(tools: list[Tool], pool: WorkerPool) -> Iterator[list[tuple[Any, tuple[str, str] | None]]]:
    """The replies of each tool in the sandbox: (value, None) or (None, error) for each call."""
    sources = [
        ToolSource(spec=ToolSpec(name=tool.name, parameters={"type": "object"}), source=tool.source) for tool in tools
    ]
    replies = iter(LocalSandbox(sources, pool).values([(tool.name, args) for tool in tools for args in tool.calls]))
    for tool in tools:
        yield [next(replies) for _ in tool.calls]


def differences(tools: list[Tool], pool: WorkerPool) -> list[Difference]:
    """The tools that do not give what they give in plain Python, each with its first difference."""
    result: list[Difference] = []
    for tool, wanted, given in zip(tools, plainly(tools), in_sandbox(tools, pool), strict=True):
        for (text, problem), (value, error) in zip(wanted, given, strict=True):
            message = error[1] if error else json.dumps(value)
            right = message.split(":")[0] == problem if error else text == message
            if not right:
                result.append(Difference(tool.name, text or str(problem), message))
                break
    return result


@cache
def tools_written() -> list[Tool]:
    return list(read(FOLDER))


@pytest.fixture(scope="module")
def differing() -> list[Difference]:
    with WorkerPool(1) as pool:
        return differences(tools_written(), pool)


def test_tools_give_what_they_give_in_plain_python(differing: list[Difference]) -> None:
    assert len(differing) <= (1 - SHARE) * len(tools_written()), "\n".join(map(str, differing))


def test_a_tool_that_is_refused_is_told_what_to_write(differing: list[Difference]) -> None:
    assert [str(difference) for difference in differing if not HINT.search(difference.message)] == []


def test_a_difference_is_named() -> None:
    wrong = Tool("wrong", "import sys\n\n\ndef wrong(n):\n    return sys.maxsize + n\n", [{"n": 1}])
    right = Tool("right", "def right(n):\n    return {n: str(n) for n in [n]}[n]\n", [{"n": 1}])
    with WorkerPool(1) as pool:
        (difference,) = differences([right, wrong], pool)
    assert difference.name == "wrong"
    assert difference.wanted == str(sys.maxsize + 1)
    assert "sys" in difference.message
