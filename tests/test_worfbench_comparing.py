"""Tables over several runs on WorFBench, on runs whose scores are made by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import called

from experiments.folder import RunFolder
from experiments.worfbench.comparing import comparisons
from experiments.worfbench.recording import RowRecord
from experiments.worfbench.summing import Facts, published, summarize, tables
from flowmind.evaluation.worfeval import Part, StepGraph
from flowmind.formats.worfbench_rows import GROUPS, HELD_OUT

SOURCES = ("toolbench", "lumos", "alfworld", "wikihow", *HELD_OUT)
GOLD = StepGraph(nodes=("START", "a", "b", "END"), edges=((0, 1), (1, 2), (2, 3)))
F1 = Callable[[str, int], float]


def part(f1: float) -> Part:
    return Part(precision=f1, recall=f1, f1=f1)


def run(folder: Path, model: str, graph: F1, gold_chain: bool = False, data: str = "0", lost: str = "") -> Path:
    """A finished run with three rows of each source; F1 of the chain is that of the graph and 0.1 more."""
    records = [
        RowRecord(
            id=f"{source}_{number}", source=source, held_out=source in HELD_OUT, gold_graph=GOLD, pred_graph=GOLD,
            chain=part(graph(source, number) + 0.1), graph=part(graph(source, number)), started_at=0.0, seconds=1.0,
            error="no answer" if f"{source}_{number}" == lost else None,
        )
        for source in SOURCES
        for number in range(3)
    ]  # fmt: skip
    facts = Facts(
        model=model, data="rows.jsonl", gold_chain=gold_chain, definition="paper", encoder="bow", temperature=0
    )
    kept = RunFolder(folder, RowRecord)
    mode = "worfbench-gold-chain" if gold_chain else "worfbench"
    kept.begin({"settings": {"mode": mode, "model": model}, "benchmark": {"name": "rows.jsonl", "sha256": data}})
    kept.write_records(records)
    summary = summarize(records, facts)
    kept.write_summary(summary, tables(summary))
    return folder


def flat(value: float) -> F1:
    return lambda source, number: value


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """A model without and with the gold chain, and a trained one that gains on held-in groups only."""

    def given(source: str, number: int) -> float:
        return 0.5 + 0.1 * number

    def trained(source: str, number: int) -> float:
        return 0.4 if source in HELD_OUT else 0.7

    return [
        run(tmp_path / "plain", "Qwen-2-7B", flat(0.4)),
        run(tmp_path / "given", "Qwen-2-7B", given, gold_chain=True, lost="lumos_2"),
        run(tmp_path / "trained", "own", trained),
    ]


def test_the_gold_chain_is_paired_by_row(runs: list[Path]) -> None:
    table = comparisons(runs)[0]
    rows = {row[0]: row[1:] for row in table.rows}
    assert table.head[-1] == "paper: without, with"
    # differences 0.1, 0.2, 0.3: mean 20, deviation 10, t(2) = 4.3027
    assert rows["function call"][:4] == ("3", "40.0 [40.0, 40.0]", "60.0 [35.2, 84.8]", "+20.0 [-4.8, +44.8]")
    assert rows["problem solving"][0] == "2" and rows["problem solving"][3].startswith("+15.0 [")
    assert rows["held in"][0] == "11" and rows["held in"][3].startswith("+18.8 [")
    assert rows["function call"][4] == "55.50, 79.71" and rows["held in"][4] == "43.69, 62.00"
    assert rows["seal tools"][4] == ""


def test_held_out_sources_stand_beside_the_papers(runs: list[Path]) -> None:
    table = next(table for table in comparisons(runs) if table.key == "worfbench-table2")
    assert table.head == ("model", "held in", "seal tools", "intercodesql", "held in minus held out")
    assert [row[0] for row in table.rows[:2]] == ["Qwen-2-7B (plain)", "own (trained)"]
    assert table.rows[1][1] == "80.0 [80.0, 80.0], 70.0 [70.0, 70.0]"
    assert table.rows[1][4] == "+30.0 [+30.0, +30.0]"
    trained = next(row for row in table.rows if row[0] == "paper: Qwen-2-7B, trained")
    assert trained == ("paper: Qwen-2-7B, trained", "79.35, 70.38", "96.49, 82.82", "62.37, 48.72", "+4.61")


def test_a_gain_is_told_by_group_and_held_out_source(runs: list[Path]) -> None:
    table = next(table for table in comparisons(runs) if table.key == "worfbench-gain-1")
    groups = [name.replace("_", " ") for name in GROUPS]
    assert [row[0] for row in table.rows] == [*groups, "held in", "seal tools", "intercodesql"]
    gains = {row[0]: row[3] for row in table.rows}
    assert gains["held in"] == "+30.0 [+30.0, +30.0]" and gains["intercodesql"] == "+0.0 [+0.0, +0.0]"
    assert "+26.69 held in, +8.07 seal tools, +9.00 intercodesql (Qwen-2-7B, F1 graph)" in table.says


def test_runs_on_other_rows_are_not_compared(runs: list[Path], tmp_path: Path) -> None:
    other = run(tmp_path / "other", "Qwen-2-7B", flat(0.9), data="1")
    assert all("other" not in table.title for table in comparisons([*runs, other]))
    assert [table.key for table in comparisons([runs[1]])] == []
    assert [table.key for table in comparisons([runs[0]])] == ["worfbench-table2"]


def test_sources_of_ones_own_can_be_held_out(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    records = [
        RowRecord(
            id=f"{source}{number}", source=source, held_out=source == "far", gold_graph=GOLD,
            chain=part(f1), graph=part(f1), started_at=0.0, seconds=1.0,
        )
        for source, f1 in (("shop", 0.8), ("bank", 0.6), ("far", 0.3))
        for number in range(2)
    ]  # fmt: skip
    facts = Facts(model="m", data="test.jsonl", gold_chain=False, definition="paper", encoder="bow", temperature=0)
    kept = RunFolder(folder, RowRecord)
    kept.begin({"settings": {"mode": "worfbench", "model": "m"}, "benchmark": {"name": "own", "sha256": "2"}})
    kept.write_records(records)
    summary = summarize(records, facts)
    assert "| held out: far |" in tables(summary) and "| other: shop |" in tables(summary)
    kept.write_summary(summary, tables(summary))
    (table,) = comparisons([folder])
    both = [f"{mean} [{mean}, {mean}], {mean} [{mean}, {mean}]" for mean in ("70.0", "30.0")]
    assert table.rows == (("m (own)", *both, "+40.0 [+40.0, +40.0]"),)


def test_the_report_prints_the_tables(runs: list[Path]) -> None:
    done = called("report", *runs, "--tables")
    assert done.returncode == 0
    for title in (
        "### The gold chain given: Qwen-2-7B on rows.jsonl",
        "### Held-in groups and held-out sources: rows.jsonl",
        "### Gain of own (trained) over Qwen-2-7B (plain)",
    ):
        assert title in done.stdout


def test_the_papers_values_agree_with_one_another() -> None:
    values = published()
    averages = {row["model"]: row["average"] for row in values["table1"]["rows"]}
    assert all(row["held_in"] == averages[row["model"]] for row in values["table2"]["rows"])
    for row in values["table3"]["rows"]:
        assert all(pair[1] > pair[0] for name, pair in row.items() if name != "model")
    assert {row["model"] for row in values["table3"]["rows"]} == {row["model"] for row in values["table4"]["rows"]}
    for row in values["table4"]["rows"]:
        assert all(pair[1] < pair[0] for name, pair in row.items() if name != "model")
    for row in values["figure6"]["rows"]:
        assert 100 * (1 - row["parallel"] / row["linear"]) == pytest.approx(row["reduction"], abs=0.02)
