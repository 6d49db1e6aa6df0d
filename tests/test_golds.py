"""Records hold how far a workflow resembles gold, and the report says whether that goes with passing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reference_interpreter import call, end, sketch
from test_analyses import ours, record, run
from tiny import called, records, tiny_benchmark

from experiments.analyses import ANALYSES
from experiments.golds import read_golds
from experiments.record import StructureFacts
from flowmind.base.errors import InputError


def gold(added: int, factor: int) -> dict[str, object]:
    return sketch(
        [call("s", "add", first="n", second=added), call("p", "multiply", first="s", second=factor), end("p")],
        "start s p end", n="integer",
    )  # fmt: skip


def test_every_workflow_of_a_run_is_compared_with_gold(tmp_path: Path) -> None:
    bench = tiny_benchmark(tmp_path / "bench")
    rows = [{"id": "task_0", "workflow": gold(2, 3)}, {"id": "task_1", "workflow": gold(99, 5)}]
    (bench / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    called("exp", "--bench", bench, "--out", tmp_path / "run", "--limit", 8)
    found = {row["id"]: row for row in records(tmp_path / "run")}
    right, wrong = found["task_0"]["structure"], found["task_1"]["structure"]
    assert (right["nodes"], right["edges"], right["equivalent"], right["diff"]) == (1.0, 1.0, True, [])
    assert (wrong["tools"], wrong["equivalent"]) == (1.0, False)
    assert 0 < wrong["nodes"] < 1 and any("99" in line for line in wrong["diff"])
    assert found["task_2"]["structure"] is None, "no gold workflow, nothing to compare with"


def test_a_gold_file_with_a_mistake_is_named_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text('{"id": "a", "workflow": {"nodes": []}}\n')
    with pytest.raises(InputError, match=r"gold\.jsonl, line 1: workflow\.inputs"):
        read_golds(tmp_path)
    assert read_golds(tmp_path / "nothing") == {}


def test_structure_and_passing_are_correlated_over_the_cases_that_have_a_workflow() -> None:
    facts = [StructureFacts(nodes=value, tools=1.0) for value in (1.0, 1.0, 0.5, 0.0)]
    held = [record(id, one.nodes > 0.6, structure=one) for id, one in zip("abcd", facts, strict=True)]
    rows = ours(ANALYSES["structures"]([run("es-pe", *held, record("e", True))]))
    # Nodes 1, 1, ½, 0 with passing 1, 1, 0, 0: r = 0.9045; Fisher's interval of four pairs is wide.
    assert rows[0] == ("m es-pe", "nodes", "4", "62.5", "0.90 [-0.43, 1.00]", "0.0 (0/4) [0, 49]")
    assert rows[1] == ("m es-pe", "tools", "4", "100.0", "–", "0.0 (0/4) [0, 49]")
    assert ANALYSES["structures"]([run("es-pe", record("a", True))]) is None
