"""Runs that DBOS keeps, on SQLite: real processes that are killed and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import forked
import pytest
from journal_process import ANSWER, WRITES, lines

from flowmind import InputError, Workflow
from flowmind.server.durable import DurableWorkflow
from tools_registry.sandbox.functions import FunctionEnvironment

ROOT = Path(__file__).resolve().parents[1]


def process(folder: Path, point: str = "none", part: int = 0, mark: str = "none") -> tuple[int, Any]:
    """The exit code of a process, and the outcomes of its calls."""
    done = forked.run("durable_process", folder, point, part, mark, cwd=ROOT / "tests", env=os.environ)
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr.decode()


def parts(folder: Path) -> list[str]:
    return [line.split()[1] for line in lines(folder / "effects")]


def test_a_run_is_made_once_and_belongs_to_its_inputs_and_its_workflow(tmp_path: Path) -> None:
    code, outcomes = process(tmp_path)
    assert code == 0, outcomes
    assert outcomes[:5] == [{"answer": ANSWER}] * 5
    assert [outcome["error"] for outcome in outcomes[5:]] == ["RunConflict", "RunConflict", "CaseFailed", "InputError"]
    assert outcomes[5]["message"] == "run 'r' has other inputs"
    assert outcomes[6]["message"].startswith("run 'r' cannot be begun: ")
    assert parts(tmp_path) == [str(part) for part in range(WRITES)]
    keys = {line.split()[3] for line in lines(tmp_path / "effects")}
    assert len(keys) == WRITES


@pytest.mark.parametrize(
    "point", ["in", *(pytest.param(point, marks=pytest.mark.slow) for point in ("before", "begun", "after"))]
)
def test_no_write_is_repeated_after_a_kill(tmp_path: Path, point: str) -> None:
    code, _ = process(tmp_path, point, 2)
    assert code == -signal.SIGKILL
    for _ in range(2):
        code, outcomes = process(tmp_path)
        assert code == 0, outcomes
        if point in ("begun", "in"):
            assert [outcome["error"] for outcome in outcomes[:5]] == ["OutcomeUnknown"] * 5
            assert "run 'r': the outcome of the write pay is not known" in outcomes[0]["message"]
            assert parts(tmp_path) == ["0", "1", "2"][: 2 + (point == "in")]
        else:
            assert outcomes[:5] == [{"answer": ANSWER}] * 5
            assert parts(tmp_path) == [str(part) for part in range(WRITES)]


@pytest.mark.slow
@pytest.mark.parametrize("point", ["begun", "in"])
def test_verify_settles_a_write_after_a_kill(tmp_path: Path, point: str) -> None:
    assert process(tmp_path, point, 2, "verify")[0] == -signal.SIGKILL
    code, outcomes = process(tmp_path, mark="verify")
    assert code == 0, outcomes
    assert outcomes[:5] == [{"answer": ANSWER}] * 5
    assert parts(tmp_path) == [str(part) for part in range(WRITES)]


def test_llm_nodes_are_refused() -> None:
    ask = {"id": "ask", "kind": "llm", "prompt": "Go on.", "output": "said"}
    nodes = [{"id": "start", "kind": "start"}, ask, {"id": "end", "kind": "end", "output": {"var": "said"}}]
    edges = [{"from": "start", "to": "ask"}, {"from": "ask", "to": "end"}]
    document = {"name": "asks", "inputs": {"type": "object", "properties": {}}, "nodes": nodes, "edges": edges}
    with pytest.raises(InputError, match="asks: a durable workflow cannot have llm nodes"):
        DurableWorkflow(Workflow.model_validate(document), FunctionEnvironment([]))


def test_a_missing_extra_is_named() -> None:
    code = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "dbos":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from flowmind import InputError
try:
    import flowmind.server.durable
except InputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "durable runs need the extra: pip install 'flowmind-es[durable]'\n"
