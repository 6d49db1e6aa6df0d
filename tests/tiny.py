"""A benchmark of eight tasks, a model that can do them, and the command as a user types it."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import forked

from flowmind.api.solving import Solution
from flowmind.base.files import dump_json
from flowmind.cli import main as cli
from flowmind.evaluation.evaluators import ExecutionEvaluator
from flowmind.llm.faulty_server import FaultyServer
from flowmind.trace.outcome import CaseOutcome
from flowmind.trace.task import Task

Done = subprocess.CompletedProcess[str]
Row = dict[str, Any]

# Add a number, multiply by another: (added, factor) of each task, by its id.
NUMBERS = {f"task_{number}": (number + 2, 2 * number + 3) for number in range(8)}
UNSOLVABLE = ("task_3", "task_6")
"""Their answers are what the text says and something wild."""
FIRST_TEST = 7_731_000
"""Inputs of held-out tests are as large as no other number is."""


def answer(id: str, n: int) -> int:
    added, factor = NUMBERS[id]
    return (n + added) * factor


def tiny_benchmark(folder: Path, unsolvable: tuple[str, ...] = ()) -> Path:
    """Eight tasks of two categories, with three tests each."""
    tasks: list[Row] = []
    tests: list[Row] = []
    for number, (id, (added, factor)) in enumerate(NUMBERS.items()):
        wild = 7_919 if id in unsolvable else 0
        shown = [{"input": {"n": n}, "output": answer(id, n) + wild * n * n % 1_009} for n in (4, 11, 25)]
        held = [
            {"input": {"n": n}, "output": answer(id, n) + wild * n * n % 1_009}
            for n in range(FIRST_TEST, FIRST_TEST + 3)
        ]
        query = f"Add {added} to n, then multiply the sum by {factor}."
        tasks.append(
            {
                "id": id,
                "category": "adding" if number < 4 else "multiplying",
                "difficulty": "easy" if number % 2 else "hard",
                "control_flow": "linear",
                "query": query,
                "inputs": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
                "tools": ["add", "multiply"],
                "examples": shown,
            }
        )
        tests.append({"id": id, "tests": held})
    folder.mkdir(parents=True)
    for name, rows in (("instances.jsonl", tasks), ("tests.jsonl", tests)):
        (folder / name).write_text("".join(dump_json(row) + "\n" for row in rows))
    manifest = {"name": "tiny", "seed": 0, "sha256": {"instances.jsonl": "0" * 64}}
    (folder / "manifest.json").write_text(dump_json(manifest))
    return folder


ORDER = ["task_0", "task_4", "task_1", "task_5"]
"""The first four: the categories in turn."""


def judged(solution: Solution, task: Task) -> SimpleNamespace:
    """The scores of the executions of a task; `mti` is the kind, or None."""
    scores = ExecutionEvaluator().evaluate(CaseOutcome(task=task, executions=solution.traces, worked=solution.worked))
    flags = {name: score.value == 1.0 for name, score in scores.items()}
    return SimpleNamespace(**{**flags, "mti": scores["mti"].reason or None})


def task_in(body: Row) -> str:
    """The task that a request is about."""
    text = [message["content"] for message in body["messages"] if "Task:\n" in message["content"]][-1]
    pair = re.search(r"Add (\d+) to n, then multiply the sum by (\d+)", text)
    assert pair
    return next(id for id, numbers in NUMBERS.items() if numbers == (int(pair[1]), int(pair[2])))


def capable(body: Row) -> str:
    """What a capable model says in the mode es-rr."""
    messages = body["messages"]
    at = max(index for index, message in enumerate(messages) if "Task:\n" in message["content"])
    turn = sum(message["role"] == "assistant" for message in messages[at:])
    added, factor = NUMBERS[task_in(body)]
    given = re.findall(r"^Work on this input: \{\"n\":(\d+)\}$", messages[at]["content"], re.MULTILINE)
    if given:
        n = int(given[-1])
        script: list[tuple[str, Row]] = [
            ("add", {"first": n, "second": added}),
            ("multiply", {"first": n + added, "second": factor}),
            ("finish", {"answer": (n + added) * factor}),
        ]
    else:
        sums = {"tool": "add", "args": {"first": "n", "second": added}, "output": "sum"}
        product = {"tool": "multiply", "args": {"first": "sum", "second": factor}, "output": "product"}
        script = [
            ("add_function_node", sums),
            ("add_function_node", product),
            ("add_end_node", {"output": "product"}),
            ("finish", {}),
        ]
    action, args = script[turn]
    return dump_json({"reasoning": "", "action": action, "action_input": args})


def executing(body: Row) -> bool:
    return "\nWork on this input: " in [m["content"] for m in body["messages"] if "Task:\n" in m["content"]][-1]


def called(*words: object) -> Done:
    """The command in this process; a traceback would come out as the exception."""
    out, told = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(told):
        code = cli.main([*map(str, words)])
    return Done(words, code, out.getvalue(), told.getvalue())


def environment() -> dict[str, str]:
    steering = ("FLOWMIND_", "OPENAI_")
    return {name: value for name, value in os.environ.items() if not name.startswith(steering)}


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "flowmind.cli", *map(str, words)]


def typed(*words: object) -> Done:
    """The command in a process of its own; whatever happens, no traceback reaches the user."""
    done = forked.run("flowmind.cli", *words, env=environment())
    told = done.stderr.decode()
    assert "Traceback" not in told, told
    return Done(done.args, done.returncode, done.stdout.decode(), told)


def with_server(server: FaultyServer | str, bench: Path, out: Path, *more: object) -> tuple[object, ...]:
    """The words of a run of four cases that asks a server, or a URL."""
    url = server if isinstance(server, str) else server.url
    words = ("exp", "--model", "m", "--mode", "es-rr", "--base-url", url, "--concurrency", "1")
    return (*words, "--limit", 4, "--pick", "first", "--bench", bench, "--out", out, *more)


def records(run: Path) -> list[Row]:
    """The records without their checksums."""
    rows = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "crc"} for row in rows]


def summary(run: Path) -> Row:
    """The summary without what may differ from run to run."""
    found = json.loads((run / "summary.json").read_text())
    found.pop("wall_s")
    return found


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def told_last(done: Done) -> str:
    """The last line on stderr, after the progress bar."""
    return done.stderr.splitlines()[-1]
