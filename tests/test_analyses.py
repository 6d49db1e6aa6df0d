"""The analyses on hand-made records, against values worked out by hand; the paper's values stand beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments import paper
from experiments.analyses import ANALYSES, analyse, compare
from experiments.commands.choosing import installed_grids
from experiments.grid import Grid, cells, folders
from experiments.loading import Loaded
from experiments.options import RunOptions
from experiments.record import CallCounts, CaseRecord, Score, StageUsage, TaskFacts
from experiments.tables import Table, shown
from flowmind.base.errors import InputError
from flowmind.evaluation.statistics import rate

BASE = RunOptions(model="search", bench=Path("bench"))


def record(id: str, passed: bool, **fields: Any) -> CaseRecord:
    flags = fields.pop("tests", (passed, passed))
    made: dict[str, Any] = {
        "category": "logical_reasoning" if id < "c" else "data_processing",
        "difficulty": "easy" if id < "c" else "hard",
        "exec_complete": passed,
        "exec_correct": passed,
        "graph_valid": passed,
        "integrity": "complete" if passed else "incomplete",
        "failure_mode": "none" if passed else "both_partial",
        "task": TaskFacts(control_flow="linear", words=len(id) * 10, tools=8, examples=2),
    }
    tests = tuple(Score(passed=flag) for flag in flags)
    return CaseRecord(id=id, tests=tests, passed=passed, **{**made, **fields})


def run(mode: str, *records: CaseRecord, model: str = "m", seed: int = 0, **settings: Any) -> Loaded:
    held = {"model": model, "mode": mode, "seed": seed, "rollouts": 1, "trace_selection": "all", **settings}
    return Loaded(Path(f"runs/{model}-{mode}-{seed}"), held, records)


def ours(table: Table | None) -> list[tuple[str, ...]]:
    assert table is not None
    return [row for row in table.rows if not row[0].startswith("paper: ")]


def theirs(table: Table | None) -> list[tuple[str, ...]]:
    assert table is not None
    return [row for row in table.rows if row[0].startswith("paper: ")]


LOST = record("d", False, error="HTTP 500")
REACT = run(
    "react",
    record("a", True, calls=CallCounts(business=3, graph=2)),
    record("b", False, exec_complete=True, failure_mode="exec_only", mti="interrupted", tests=(True, False)),
    record("c", False, mti="interleaved"),
    LOST,
)
STAGED = run(
    "es-rr",
    record("a", True, execute=StageUsage(output_tokens=30), summarize=StageUsage(output_tokens=10), seconds=1800.0),
    record("b", True, execute=StageUsage(output_tokens=50), summarize=StageUsage(output_tokens=20), seconds=1800.0),
    record("c", True, execute=StageUsage(output_tokens=70), summarize=StageUsage(output_tokens=30), seconds=3600.0),
    record("d", False, execute=StageUsage(output_tokens=90), graph_valid=True, failure_mode="graph_only"),
)


def test_the_main_results_leave_out_what_the_infrastructure_failed() -> None:
    table = ANALYSES["table1"]([REACT, STAGED])
    assert ours(table) == [
        ("m react", "3", "33.3 (1/3) [6, 79]", "50.0 (3/6) [19, 81]", "66.7 (2/3) [21, 94]", "33.3 (1/3) [6, 79]",
         "33.3 (1/3) [6, 79]", "1"),
        ("m es-react", "4", "75.0 (3/4) [30, 95]", "75.0 (6/8) [41, 93]", "75.0 (3/4) [30, 95]",
         "100.0 (4/4) [51, 100]", "75.0 (3/4) [30, 95]", "0"),
    ]  # fmt: skip
    assert ("paper: qwen3-8b es-pe", "141", "21.3", "25.9", "88.7", "87.2", "78.7", "–") in theirs(table)
    assert len(theirs(table)) == len(paper.rows("table1_main"))


def test_a_rate_is_rounded_once() -> None:
    assert shown(rate(10, 117)) == "8.5 (10/117) [5, 15]"  # 8.547 %: 8.55 in a summary, and no 8.6 made of that


def test_a_lead_is_called_significant_or_not() -> None:
    table = ANALYSES["table1"]([REACT, STAGED])
    assert table is not None
    assert (
        table.says == "es-react passes the most cases, 3 of 4; the difference to react is not significant (p = 0.50)."
    )
    many = [record(f"a{number}", True) for number in range(9)], [record(f"a{number}", False) for number in range(9)]
    clear = ANALYSES["table1"]([run("es-pe", *many[0]), run("pe", *many[1])])
    assert clear is not None
    assert clear.says == "es-pe passes the most cases, 9 of 9; significantly more than pe (p = 0.004)."


def test_a_tie_is_called_a_tie() -> None:
    table = ANALYSES["table6"]([run("pe", record("a", True)), run("es-pe", record("a", True))])
    assert table is not None
    assert table.says == "All 2 runs pass the same share of cases: 1 of 1 each."


def test_modes_are_compared_on_the_cases_that_both_have_tried() -> None:
    found = compare(REACT.records, STAGED.records)
    assert (found.cases, found.first_only, found.second_only, found.both) == (3, 0, 2, 1)
    assert ours(ANALYSES["compared"]([REACT, STAGED])) == [("m react", "m es-react", "3", "0", "2", "1", "0", "0.500")]
    assert ANALYSES["compared"]([REACT]) is None


def test_runs_that_differ_in_their_seed_are_one_cell() -> None:
    held = [run("es-pe", record("a", True), record("b", number > 0), seed=number) for number in range(3)]
    assert [row[:2] for row in ours(ANALYSES["table6"](held))] == [("m es-pe", "5")]
    assert ours(ANALYSES["seeds"](held)) == [("m es-pe", "0, 1, 2", "83.3 [11.6, 155.1]", "83.3 [11.6, 155.1]")]
    assert ANALYSES["seeds"]([REACT, STAGED]) is None


def test_mixing_and_its_failures() -> None:
    table = ANALYSES["table2"]([REACT, STAGED])
    assert [row[:4] for row in ours(table)] == [("m react", "3", "1", "2"), ("m es-react", "4", "4", "0")]
    assert theirs(table)[1] == ("paper: qwen3-8b pe", "200", "182", "18", "9.0")
    assert ours(ANALYSES["figure4"]([REACT])) == [
        ("m react", "interleaved", "1", "100.0 (1/1) [21, 100]"),
        ("m react", "interrupted", "1", "100.0 (1/1) [21, 100]"),
        ("m react", "clean", "1", "0.0 (0/1) [0, 79]"),
    ]


def test_the_composition_counts_each_case_once() -> None:
    rows = ours(ANALYSES["table3"]([REACT, STAGED]))
    assert rows == [
        ("logical reasoning", "2", "4", "4", "59"),
        ("data processing", "2", "4", "4", "97"),
        ("all", "4", "8", "8", "156"),
    ]
    assert ours(ANALYSES["table4"]([REACT]))[0] == ("easy", "2", "8 to 8", "8.0", "linear")
    assert ours(ANALYSES["figure6"]([REACT])) == [("easy", "2", "10.0", "8.0"), ("hard", "2", "10.0", "8.0")]


def test_passing_by_category_and_difficulty() -> None:
    table = ANALYSES["table7"]([REACT])
    assert table is not None
    assert table.head == ("run", "logical reasoning", "data processing", "easy", "hard")
    assert ours(table) == [
        ("m react", "50.0 (1/2) [9, 91]", "0.0 (0/1) [0, 79]", "50.0 (1/2) [9, 91]", "0.0 (0/1) [0, 79]")
    ]
    assert theirs(table)[2] == ("paper: qwen3-8b es-react", "7.4", "48.8", "–", "–")


def test_quadrants_and_integrity() -> None:
    quadrants = {row[1:3]: row[3:] for row in ours(ANALYSES["table8"]([STAGED]))}
    assert quadrants == {
        ("yes", "yes"): ("3", "100.0 (6/6) [61, 100]"),
        ("yes", "no"): ("0", "–"),
        ("no", "yes"): ("1", "0.0 (0/2) [0, 66]"),
        ("no", "no"): ("0", "–"),
    }
    by_kind = {row[1]: row[2:] for row in ours(ANALYSES["figure5"]([STAGED]))}
    assert by_kind["trace complete, without an error"] == ("3", "100.0 (3/3) [44, 100]")
    assert by_kind["trace not complete"] == ("1", "0.0 (0/1) [0, 79]")


def test_tokens_by_stage_and_by_outcome() -> None:
    assert ours(ANALYSES["table10"]([STAGED])) == [("m es-react", "60", "15", "75")]
    assert ours(ANALYSES["table12"]([STAGED])) == [("m es-react", "3", "70", "1", "90")]
    unknown = run("es-pe", record("a", True, execute=StageUsage(output_tokens=None)))
    assert ours(ANALYSES["table10"]([unknown])) == [("m es-pe", "–", "0", "–")]


def test_what_failed_cases_lack() -> None:
    assert ours(ANALYSES["table11"]([REACT])) == [
        ("m react", "2", "50.0 (1/2) [9, 91]", "0.0 (0/2) [0, 66]", "50.0 (1/2) [9, 91]", "0.0 (0/2) [0, 66]")
    ]


def test_a_case_on_which_the_modes_differ() -> None:
    single = run("pe", record("a", False, calls=CallCounts(graph=9)), record("b", False, calls=CallCounts(graph=4)))
    staged = run("es-pe", record("a", True, calls=CallCounts(business=3, graph=5)), record("b", True))
    assert ours(ANALYSES["table13"]([single, staged])) == [
        ("m pe", "a", "0", "9", "0", "0.0 (0/2) [0, 66]"),
        ("m es-pe", "a", "3", "5", "0", "100.0 (2/2) [34, 100]"),
    ]
    assert ANALYSES["table13"]([staged]) is None


def test_selections_of_traces_and_single_passes_are_kept_apart() -> None:
    three = run("es-pe", record("a", True), rollouts=3, trace_selection="all_success")
    once = run("es-pe", record("a", False))
    assert [row[0] for row in ours(ANALYSES["table14"]([three, once]))] == ["m es-pe (all_success)"]
    assert ours(ANALYSES["table15"]([three, once])) == [("m es-pe", "0.0 (0/2) [0, 66]")]
    assert three.label == "m es-pe (3 rollouts, all_success)"


def test_hours_are_those_of_all_cases() -> None:
    assert ours(ANALYSES["table16"]([STAGED, REACT])) == [("m", "8", "2.00")]
    assert ours(ANALYSES["table17"]([STAGED])) == [("m es-react", "4", "2.00")]


def test_a_search_model_is_labelled() -> None:
    table = ANALYSES["table1"]([run("es-pe", record("a", True), model="search")])
    assert ours(table)[0][0] == "search (no LLM) es-pe"


def test_all_of_them_are_made_at_once_where_there_is_something_to_show() -> None:
    found = analyse([REACT])
    keys = {table.key for table in found}
    assert keys >= {"table1", "table2", "table3", "table11", "figure5"}
    assert not keys & {"table13", "table14", "compared", "seeds"}
    assert all(len(row) == len(table.head) for table in found for row in table.rows)
    assert all(table.says for table in found)
    assert [table.key for table in analyse([REACT], ["table9", "table1"])] == ["table9", "table1"]
    assert "### Main results (table 1)\n\n| run | cases |" in found[0].markdown()


# Grids


@pytest.mark.parametrize("path", sorted(installed_grids().values()), ids=lambda path: path.stem)
def test_every_configuration_is_a_grid_with_its_own_folders(path: Path) -> None:
    grid = Grid.read(path)
    names = [cell.name for cell in cells(grid, BASE)]
    every = len(grid.runs) or len(grid.modes) * max(1, len(grid.variants))
    size = len(grid.models) * len(grid.seeds) * every
    assert len(set(names)) == len(names) == size
    assert grid.analyses


def test_every_table_and_figure_of_the_paper_has_a_configuration() -> None:
    named = {name for path in installed_grids().values() for name in Grid.read(path).analyses}
    wanted = {f"table{number}" for number in range(1, 18)} | {f"figure{number}" for number in range(3, 7)}
    assert wanted <= named


def test_a_plain_run_of_a_grid_has_the_folder_of_the_command() -> None:
    grid = Grid(title="t", models=("search", "org/m"), modes=("es-pe",), seeds=(0, 2))
    assert [path.name for path in folders(grid, BASE, Path("runs"))] == [
        "search-es-pe",
        "search-es-pe-seed2",
        "org_m-es-pe",
        "org_m-es-pe-seed2",
    ]
    assert [cell.name for cell in cells(grid.part(["search"], limit=8), BASE)] == [
        "search-es-pe-spread8",
        "search-es-pe-seed2-spread8",
    ]


def test_variants_are_set_over_the_common_settings(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(
        'title = "t"\nmodels = ["m"]\nmodes = ["es-rr"]\n[settings]\nrollouts = 3\nmax_turns = 7\n'
        '[variants.free]\n[variants.json]\njson_mode = "object"\nmax_turns = 9\n'
    )
    free, json = cells(Grid.read(path), BASE)
    assert (free.name, json.name) == ("m-es-rr-free", "m-es-rr-json")
    assert (free.options.json_mode, json.options.json_mode) == ("off", "object")
    assert (free.settings.execute_budget.turns, json.settings.summarize_budget.turns) == (7, 9)
    assert (free.settings.rollouts, json.settings.rollouts) == (3, 3)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('title = "t"\nmodels = []\nmodes = ["pe"]', "models: "),
        ('title = "t"\nmodels = ["m"]\nmodes = ["p"]', "modes.0: "),
        ('title = "t"\nmodels = ["m"]\nmodes = ["pe"]\nseed = 1', "seed: "),
        ('title = "t"\nmodels = ["m"]\nmodes = ["pe"]\nanalyses = ["table99"]', "'table99' is none of table1, "),
        ('title = "t"\nmodels = ["m"]\nmodes = ["pe"]\n[variants.a]\njson = 1', "variants.a.json: "),
        ("title = t", "line 1"),
    ],
)
def test_a_configuration_with_a_mistake_is_named(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        Grid.read(path)
    assert str(path) in str(caught.value) and problem in str(caught.value)


def test_a_part_that_the_grid_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="--model: 'x' is not in the grid, which has m"):
        Grid(title="t", models=("m",), modes=("pe",)).part(["x"])


def test_a_run_names_the_settings_in_which_it_is_no_plain_one() -> None:
    assert run("pe").label == "m pe"
    assert run("pe", sandbox="local", rollouts=1).variant == ""
    other = run("pe", sandbox="monty", rollouts=3, json_mode="object")
    assert other.label == "m pe (3 rollouts, JSON mode object, tools in monty)"
