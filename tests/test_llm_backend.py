"""The benchmark that a model writes: a real server on loopback says what a capable, or a poor, model would say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flowbench_synth.cli import main
from flowmind.llm.faulty_server import FaultyServer
from flowmind.llm.testing import action

TOOLS = '''Here they are:
```python
def add_fee(cents: int, fee: int) -> int:
    """Add a fee to a price.

    Args:
        cents: The price in cents.
        fee: The fee in cents.

    Returns:
        The sum in cents.

    >>> add_fee(1, 2)
    3
    >>> add_fee(0, 0)
    0
    >>> add_fee(-1, 1)
    0
    """
    return cents + fee


def half_price(price: int) -> int:
    """Halve a price; an odd cent is dropped.

    Args:
        price: The price in cents.

    Returns:
        Half of it, rounded down.

    >>> half_price(5)
    2
    >>> half_price(4)
    2
    >>> half_price(0)
    0
    """
    return price // 2


def wrong(price: int) -> int:
    """Double a price.

    Args:
        price: The price in cents.

    Returns:
        Twice the price.

    >>> wrong(5)
    11
    >>> wrong(4)
    8
    >>> wrong(0)
    0
    """
    return 2 * price
```'''
CASES = [{"ticket": cents} for cents in (100, 251, 90, 1, 333, 77, 45, 620, 18, 5)]
TASK = {
    "query": "A fair takes a booking fee of 30 cents on every ticket, and children then pay half, odd cents dropped. "
    "How many cents does a child pay?",
    "inputs": {"ticket": {"type": "integer", "description": "The ticket's price in cents."}},
    "cases": CASES,
}


def turns(body: dict[str, Any], mark: str) -> int | None:
    """The replies after the last message with this mark; None if there is no such message."""
    messages = body["messages"]
    at = [index for index, message in enumerate(messages) if mark in message["content"]]
    return sum(message["role"] == "assistant" for message in messages[at[-1] :]) if at else None


def capable(number: int, body: dict[str, Any]) -> str:
    said = body["messages"][-1]["content"]
    if re.search(r"Write \d+ functions", said):
        return TOOLS
    if said.endswith("Write a task."):
        return json.dumps(TASK)
    if body["messages"][0]["content"].startswith("Answer the task"):
        return '{"answer": 0}'
    if (done := turns(body, "Build the workflow.")) is not None:
        return [
            action("add_function_node", tool="add_fee", args={"cents": {"var": "ticket"}, "fee": {"value": 30}}),
            action("add_function_node", tool="half_price", args={"price": {"var": "r1"}}),
            action("add_end_node", output={"var": "r2"}),
            action("finish"),
        ][done]
    done = turns(body, "Work on this input")
    assert done is not None, said
    return [
        action("add_fee", cents=100, fee=30),
        action("half_price", price=130),
        action("finish", answer=65),
    ][done]


def answering(**changes: Callable[[str], str | None]) -> Callable[[int, dict[str, Any]], str]:
    """The capable model with one of its replies changed, by what was asked."""

    def answer(number: int, body: dict[str, Any]) -> str:
        said = body["messages"][-1]["content"]
        system = body["messages"][0]["content"]
        for asked, change in changes.items():
            if {
                "tools": bool(re.search(r"Write \d+ functions", said)),
                "task": said.endswith("Write a task."),
                "plain": system.startswith("Answer the task"),
                "work": turns(body, "Work on this input") is not None and turns(body, "Build the workflow.") is None,
                "build": turns(body, "Build the workflow.") is not None,
            }[asked] and (text := change(said)) is not None:
                return text
        return capable(number, body)

    return answer


def built(monkeypatch: pytest.MonkeyPatch, out: Path, answer: Callable[[int, dict[str, Any]], str]) -> int:
    with FaultyServer(answer, models=["m"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        arguments = ["--backend", "llm", "--model", "m", "--size", "1", "--tools", "3"]
        return main(["build", *arguments, "--categories", "mathematical_computation", "--out", str(out)])


def test_what_a_capable_model_writes_is_kept_and_sound(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bench"
    assert built(monkeypatch, out, capable) == 0
    told = capsys.readouterr().out
    assert "| tool quality checks | 3 tools | 2 | an example does not hold (1) |" in told
    assert "| instance filtering | 1 instances | 1 | nothing |" in told
    (task,) = [json.loads(line) for line in (out / "instances.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (task["query"], task["difficulty"], task["control_flow"]) == (TASK["query"], "easy", "linear")
    (held,) = [json.loads(line) for line in (out / "tests.jsonl").read_text(encoding="utf-8").splitlines()]
    for example in (*task["examples"], *held["tests"]):
        assert example["output"] == (example["input"]["ticket"] + 30) // 2
    assert main(["check", str(out)]) == 0
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["backend"] == "llm (m)"


POOR: dict[str, tuple[Callable[[int, dict[str, Any]], str], str]] = {
    "tools that are none": (answering(tools=lambda said: "I cannot."), "fewer than two tools of the category are left"),
    "code that does not parse": (answering(tools=lambda said: "```python\ndef (\n```"), "source: it does not parse"),
    "no task": (answering(task=lambda said: "A fair ..."), "the reply holds no task"),
    "inputs that are no schemas": (
        answering(task=lambda said: json.dumps({**TASK, "inputs": {"ticket": {"type": "coins"}}})),
        "the inputs are not described as asked",
    ),
    "too few inputs": (
        answering(task=lambda said: json.dumps({**TASK, "cases": CASES[:3] * 4})),
        "fewer than 6 different inputs that fit",
    ),
    "a task left unfinished": (
        answering(work=lambda said: action("half_price", price="none")), "the model did not finish its own task",
    ),
    "no workflow": (answering(build=lambda said: action("finish")), "no sound workflow came of its trace"),
    "a wrong answer of its own": (
        answering(work=lambda said: action("finish", answer=7) if said.startswith("Observation: 65") else None),
        "its trace does not replay",
    ),
    "a task that needs no tools": (
        answering(
            plain=lambda said: json.dumps({"answer": (int(re.findall(r'Input: {"ticket":(\d+)}', said)[-1]) + 30) // 2})
        ),
        "solved as well without tools",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "reason"), POOR.values(), ids=POOR)
def test_what_is_not_good_enough_is_dropped_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    answer: Callable[[int, dict[str, Any]], str],
    reason: str,
) -> None:
    assert built(monkeypatch, tmp_path / "bench", answer) == 1
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "bench").exists()


def test_a_model_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--backend", "llm", "--model", "qwen3-8b", "--out", str(tmp_path / "bench")]
    assert main(["build", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1
