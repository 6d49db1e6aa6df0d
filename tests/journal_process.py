"""Processes that run a workflow of five writes, and are killed at a point of it. Each write is a line of a file.

The program forks a process for each line that it reads; `Processes` starts it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from flowmind import CaseFailed, FlowMindError, RunnableWorkflow, Workflow, tool

Row = dict[str, Any]
WRITES = 5
PAYMENTS = Workflow.model_validate(
    {
        "name": "payments",
        "inputs": {
            "type": "object",
            "properties": {"order": {"type": "string"}, "parts": {"type": "array", "items": {"type": "integer"}}},
            "required": ["order", "parts"],
        },
        "nodes": [
            {"id": "start", "kind": "start"},
            {
                "id": "each",
                "kind": "map",
                "over": {"var": "parts"},
                "item": "part",
                "body": [
                    {
                        "id": "see",
                        "kind": "tool",
                        "tool": "price",
                        "args": {"part": {"var": "part"}},
                        "output": "cents",
                    },
                    {
                        "id": "pay",
                        "kind": "tool",
                        "tool": "pay",
                        "args": {"order": {"var": "order"}, "part": {"var": "part"}, "cents": {"var": "cents"}},
                        "output": "receipt",
                    },
                    {
                        "id": "saw",
                        "kind": "tool",
                        "tool": "price",
                        "args": {"part": {"var": "part"}},
                        "output": "after",
                    },
                ],
                "collect": {"var": "receipt"},
                "output": "receipts",
            },
            {"id": "end", "kind": "end", "output": {"var": "receipts"}},
        ],
        "edges": [{"from": "start", "to": "each"}, {"from": "each", "to": "end"}],
    }
)
INPUTS = {"order": "o-1", "parts": [*range(WRITES)]}
ANSWER = [f"paid {part}" for part in range(WRITES)]
POINTS = ("before", "begun", "in", "after")
"""Where a process is killed: in the read before a write; in the write before its effect, and after it; in the read
after it."""


class Payments:
    """The tools. Effects are lines of a file, which are on the disk before the tool goes on."""

    def __init__(self, effects: Path, point: str = "", part: int = -1, pause: float = 0.0) -> None:
        self.effects = effects
        self.point = point
        self.part = part
        self.pause = pause
        self.prices = 0

    def reach(self, point: str, part: int) -> None:
        if (point, part) == (self.point, self.part):
            os.kill(os.getpid(), signal.SIGKILL)

    def tools(self) -> list[Any]:
        @tool(effect="read")
        def price(part: int) -> int:
            self.prices += 1
            self.reach("before" if self.prices % 2 else "after", part)
            return 100 * part

        @tool(effect="write")
        def pay(order: str, part: int, cents: int, idempotency_key: str) -> str:
            self.reach("begun", part)
            with self.effects.open("a", encoding="utf-8") as file:
                file.write(f"{order} {part} {cents} {idempotency_key}\n")
                file.flush()
                os.fsync(file.fileno())
            self.reach("in", part)
            return f"paid {part}"

        return [price, pay]


def lines(effects: Path) -> list[str]:
    return effects.read_text(encoding="utf-8").splitlines() if effects.exists() else []


class Processes:
    """Forks a process for each run."""

    def __init__(self) -> None:
        self._forker = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])},
        )

    def start(self, **told: Any) -> int:
        """Starts a run and gives its process id."""
        assert self._forker.stdin and self._forker.stdout
        self._forker.stdin.write(json.dumps(told) + "\n")
        self._forker.stdin.flush()
        return int(self._forker.stdout.readline())

    def wait(self) -> Row:
        """The outcome of the last run that was started."""
        assert self._forker.stdout
        return json.loads(self._forker.stdout.readline())

    def close(self) -> None:
        self._forker.communicate(timeout=60)


def outcome(told: Row) -> Row:
    payments = Payments(Path(told["effects"]), told.get("point", ""), told.get("part", -1))
    try:
        workflow = RunnableWorkflow(PAYMENTS, payments.tools(), journal=told["journal"])
        return {"answer": workflow(INPUTS, run=told["run"])}
    except CaseFailed as failure:
        return {"failed": failure.type}
    except FlowMindError as error:
        return {"error": type(error).__name__, "message": str(error)}


def serve() -> None:
    for line in sys.stdin:
        told = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            os.write(writing, json.dumps(outcome(told)).encode())
            os._exit(0)
        os.close(writing)
        print(child, flush=True)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            text = pipe.read()
        killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        print(json.dumps({"killed": True} if killed else json.loads(text)), flush=True)


if __name__ == "__main__":
    for module in ("asyncio", "flowmind.run.journal"):  # before the forks
        import_module(module)
    serve()
