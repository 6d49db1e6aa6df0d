"""Runs that derive and verify workflows: their names, and what they gain, cost and lose, from records alone."""

from __future__ import annotations

import json
import re
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from reference_interpreter import Document, call, condition, end, sketch
from test_analyses import BASE, ours, record, run, theirs
from tiny import NUMBERS, Row, called, summary, tiny_benchmark

from experiments.analyses import ANALYSES, analyse
from experiments.casebook import derivation_lines, read_cases
from experiments.commands.choosing import installed_grids
from experiments.folder import Run
from experiments.grid import Grid, cells
from experiments.loading import Loaded, load
from experiments.metrics import Summary
from experiments.record import StageUsage
from experiments.verified import loss_of
from flowmind.base.errors import InputError
from flowmind.build.derivation import Derivation
from flowmind.build.settings import Settings
from flowmind.evaluation.statistics import holm

LIMIT = 8
"""What the branching task calls large, and its text does not say."""


def straight(id: str) -> Document:
    added, factor = NUMBERS[id]
    nodes = [call("s", "add", first="n", second=added), call("p", "multiply", first="s", second=factor), end("p")]
    return sketch(nodes, "start s p end", n="integer")


def branching_benchmark(folder: Path) -> Path:
    """The tiny benchmark with gold workflows, and a task whose examples do not show where its condition cuts."""
    bench = tiny_benchmark(folder)
    ways = call("s", "multiply", "r", first="n", second=3), call("l", "add", "r", first="n", second=7)
    nodes = [condition("c", f"n < {LIMIT}"), *ways, end("r")]
    gold = sketch(nodes, "start c.true s end", "c.false l end", n="integer")

    def pairs(*inputs: int) -> list[Row]:
        return [{"input": {"n": n}, "output": n * 3 if n < LIMIT else n + 7} for n in inputs]

    first = json.loads((bench / "instances.jsonl").read_text().splitlines()[0])
    query = "A small number is multiplied by 3, to a large one 7 is added."
    task = {**first, "id": "branch", "control_flow": "conditional", "query": query, "examples": pairs(4, 25)}
    rows: dict[str, list[Row]] = {
        "instances.jsonl": [task],
        "tests.jsonl": [{"id": "branch", "tests": pairs(5, 6, 7, 8, 9, 10, 24)}],
        "gold.jsonl": [{"id": "branch", "workflow": gold}, *({"id": id, "workflow": straight(id)} for id in NUMBERS)],
    }
    for name, more in rows.items():
        with (bench / name).open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in more)
    return bench


@pytest.fixture(scope="module")
def derived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which two modes were run on gold traces, without saying where to."""
    folder = tmp_path_factory.mktemp("derived")
    bench = branching_benchmark(folder / "bench")
    with chdir(folder):
        for mode in ("induction", "replay"):
            done = called("exp", "--bench", bench, "--mode", mode, "--traces", "gold", "--concurrency", 2)
            assert done.returncode == 0, done.stderr
            assert re.search(rf"(^| ){mode}\b", done.stdout, re.MULTILINE) and "/9 " in done.stdout
            assert "executed nothing" in done.stdout
    return folder / "runs"


# Names


@pytest.mark.parametrize(
    ("mode", "settings", "variant", "cell"),
    [
        ("induction", {"traces": "gold"}, "gold traces", "m-induction-gold"),
        ("es-react+verify", {"traces": "gold", "probe": 8}, "gold traces, probe 8", "m-es-react+verify-gold-probe8"),
        ("es-pe", {"summarizer": "guided"}, "summarizer guided", "m-es-pe-guided"),
        ("es-pe", {"summarizer": "plan", "verify": 0}, "", "m-es-pe"),
        ("es-pe+verify", {"verify": 3, "summarizer": "guided"}, "", "m-es-pe+verify"),
        ("es-pe+verify", {"verify": 5, "rollouts": 2}, "verify 5, 2 rollouts", "m-es-pe+verify-verify5"),
    ],
)
def test_what_departs_from_a_mode_is_in_labels_and_folders(
    mode: str, settings: dict[str, Any], variant: str, cell: str
) -> None:
    loaded = run(mode, **settings)
    assert loaded.variant == variant
    assert loaded.label == (f"m {mode} ({variant})" if variant else f"m {mode}")
    grid = Grid.model_validate({"title": "t", "models": ["m"], "modes": [mode], "settings": settings})
    [made] = cells(grid, BASE)
    assert made.name == cell
    assert {name: getattr(made.settings, name) for name in settings} == settings


def test_folders_and_summaries_bear_the_variant(derived: Path) -> None:
    assert sorted(path.name for path in derived.iterdir()) == ["search-induction-gold", "search-replay-gold"]
    folder = derived / "search-induction-gold"
    assert (summary(folder)["mode"], summary(folder)["variant"]) == ("induction", "gold traces")
    assert "| induction (gold traces) | 9 |" in (folder / "summary.md").read_text()
    assert [run.label for run in load([derived])] == [
        "search (no LLM) induction (gold traces)",
        "search (no LLM) replay (gold traces)",
    ]
    names = [cell.name for cell in cells(Grid.read(installed_grids()["verified_gold"]), BASE)]
    assert names == ["search-induction-gold", "search-replay-gold"]


def test_a_summary_from_before_variants_is_read(derived: Path) -> None:
    held = json.loads((derived / "search-induction-gold" / "summary.json").read_text())
    del held["variant"]
    assert Summary.model_validate(held).variant == ""


def test_a_run_from_before_these_settings_goes_on(tmp_path: Path) -> None:
    later = ("summarizer", "verify", "probe", "traces")
    now = {"model": "m", **Settings().model_dump(mode="json")}
    held = {"settings": {key: now[key] for key in now if key not in later}, "benchmark": {"name": "b"}}
    Run(tmp_path).begin(held)
    Run(tmp_path).begin({**held, "settings": now})
    with pytest.raises(InputError, match="settings: probe was 0, is 2"):
        Run(tmp_path).begin({**held, "settings": {**now, "probe": 2}})


def test_gold_traces_are_never_put_beside_the_papers_modes() -> None:
    plain = run("es-pe", record("a", False))
    gold = run("es-pe", record("a", True), traces="gold")
    other = run("es-pe", record("a", True), summarizer="guided")
    for key in ("table9", "table15"):
        assert [row[0] for row in ours(ANALYSES[key]([plain, gold, other]))] == ["m es-pe"]
    found = ANALYSES["table1"]([plain, gold])
    assert found is not None
    assert found.says == "es-pe passes 0 of 1 cases." and "executed nothing" in found.notes[-1]
    assert [row[:2] for row in ours(ANALYSES["against"]([plain, gold, other]))] == [
        ("m es-pe (summarizer guided)", "m es-pe")
    ]


# A real run


def test_a_guessed_condition_is_where_the_case_was_lost(derived: Path) -> None:
    induced, replayed = load([derived])
    rows = {row[0]: row[1:] for row in ours(ANALYSES["losses"]([induced, replayed]))}
    guess = "right on all examples, tests fail: a condition was a guess"
    assert rows[induced.label] == (guess, "1", "11.1 (1/9) [2, 44]", "branch")
    assert rows[replayed.label][0] == "draft wrong on the examples, not mended"
    assert "branch" in rows[replayed.label][3].split(", ")
    split = {row[:2]: row[2:] for row in ours(ANALYSES["quadrants"]([induced, replayed]))}
    assert split[induced.label, "examples, in the end"] == ("9", "0", "0", "0", "100.0 (9/9) [70, 100]")
    assert split[induced.label, "held-out tests"] == ("8", "1", "0", "0", "88.9 (8/9) [56, 98]")
    assert split[replayed.label, "examples, first draft"] == split[replayed.label, "examples, in the end"]
    warned = {row[1]: row[2:6] for row in ours(ANALYSES["checks"]([induced]))}
    assert warned["a condition is a guess"] == ("9", "1", "100.0 (1/1) [21, 100]", "0.0 (0/8) [0, 32]")
    assert warned["an example is not solved"] == ("9", "0", "–", "11.1 (1/9) [2, 44]")
    assert ANALYSES["breakeven"]([induced]) is None, "nothing was executed that could be cheaper"


def test_a_report_tells_how_each_workflow_was_derived(derived: Path) -> None:
    cases = {case.record.id: case for case in read_cases(load([derived / "search-induction-gold"]))}
    found = cases["branch"].record.derivation
    assert found is not None
    told = {name: lines for name, *lines in derivation_lines(found)}
    assert told["how"] == ["by induction, no model asked"]
    assert (told["from"], told["examples"]) == (["2 of 2 gold traces"], ["2 of 2 solved"])
    [question] = told["open"]
    assert question.startswith("when is it that ")
    lines = cases["branch"].lines
    at = next(place for place, line in enumerate(lines) if ": if " in line)
    assert lines[at + 1].startswith("    expr: ") and "(a guess: " in lines[at + 1]
    sums = next(place for place, line in enumerate(cases["task_0"].lines) if "= add(" in line)
    assert cases["task_0"].lines[sums + 1] == "    first: 1.1 2.1 3.1"


# By hand


def how(**fields: Any) -> Derivation:
    return Derivation.model_validate({"summarizer": "guided", "examples": 3, "draft_right": 3, "right": 3, **fields})


def used(execute: int | None, summarize: int | None, runs: int = 1, seconds: float = 4.0) -> dict[str, Any]:
    """Stages with these output tokens, ten times as many input tokens, and seconds."""
    stages = {"execute": (execute, ("finish",) * runs), "summarize": (summarize, ())}
    return {
        name: StageUsage(
            input_tokens=None if said is None else 10 * said, output_tokens=said, seconds=seconds, stop=stop
        )
        for name, (said, stop) in stages.items()
    }


OPEN = "when does the end follow, rather than another round?"
SOUND: dict[str, Any] = {"exec_correct": True, "graph_valid": True}
VERIFIED = run(
    "es-react+verify",
    record("a", True, derivation=how(draft_right=1, mends=("execute",), asked=2), **used(60, 20, 3), seconds=10.0),
    record("b", True, derivation=how(), **used(40, 0), seconds=6.0),
    record("c", False, derivation=how(open=(OPEN,), guesses=1), **SOUND, **used(50, 30), seconds=8.0),
    record("d", False, derivation=how(open=("what is by of scale?",), leaked=("n1.by: 7",)), **SOUND),
    record("e", False, derivation=how(draft_right=1, right=2, mends=("edit",)), **SOUND),
    record("f", False, derivation=how(draft_right=0, right=0), exec_correct=True),
    record("g", False, derivation=how(draft_right=0, right=0)),
    record("h", False, error="HTTP 500"),
)


def test_each_lost_case_is_lost_in_one_place() -> None:
    agent = run("es-pe", record("a", False, exec_correct=True, graph_valid=True), record("b", True))
    rows = ours(ANALYSES["losses"]([VERIFIED, agent]))
    assert [row[1:3] + row[4:] for row in rows] == [
        ("executed wrong", "1", "g"),
        ("executed right, no sound draft", "1", "f"),
        ("draft wrong on the examples, not mended", "1", "e"),
        ("right on all examples, tests fail: a condition was a guess", "1", "c"),
        ("right on all examples, tests fail: no condition was open", "1", "d"),
        ("not tried to its end (infrastructure)", "1", "h"),
        ("sound, tests fail: never run on the examples", "1", "a"),
    ]
    assert rows[0][3] == "14.3 (1/7) [3, 51]" and rows[5][3] == "–"
    assert loss_of(agent.records[1]) is None
    again = run("es-pe", record("a", False), seed=1), run("es-pe", record("a", False), seed=2)
    assert ours(ANALYSES["losses"](again))[0][2:] == ("2", "100.0 (2/2) [34, 100]", "a (×2)")
    assert ANALYSES["losses"]([run("es-pe", record("b", True))]) is None


def test_right_executions_and_right_workflows() -> None:
    table = ANALYSES["quadrants"]([VERIFIED])
    assert [row[1:] for row in ours(table)] == [
        ("examples, first draft", "3", "3", "0", "1", "50.0 (3/6) [19, 81]"),
        ("examples, in the end", "4", "2", "0", "1", "66.7 (4/6) [30, 90]"),
        ("held-out tests", "2", "4", "0", "1", "33.3 (2/6) [10, 70]"),
    ]
    assert theirs(table) == [("paper: qwen3-8b es-react", "its graph", "44", "71", "3", "82", "38.3 (44/115)")]


def test_costs_and_when_a_workflow_pays() -> None:
    some = Loaded(VERIFIED.folder, VERIFIED.settings, VERIFIED.everything[:3])
    # Output tokens 80, 40 and 80; right are the first two.
    assert ours(ANALYSES["costs"]([some])) == [
        ("m es-react+verify", "3", "2", "67", "667", "8.0", "8.0", "100", "1000", "12.0", "1.67", "2")
    ]
    # An execution of a: 60 / 3 = 20 tokens, so 4 runs; of b: 40, so 1. All 200 tokens over two workflows are 100 each,
    # over 30 an execution. Seconds: 8 / (4 / 3) = 6 and 8 / 4 = 2; 24 / 2 over 8 / 3.
    assert ours(ANALYSES["breakeven"]([some])) == [("m es-react+verify", "2", "2.5", "2.5", "4.0", "3.3", "3.3", "4.5")]
    unknown = run("es-pe", record("a", True, **used(None, 4, seconds=0.0)))
    assert ours(ANALYSES["costs"]([unknown]))[0][3:5] == ("–", "–")
    assert ANALYSES["breakeven"]([unknown, run("pe", record("a", True, **used(5, 0)))]) is None


def test_warnings_are_counted_with_the_workflows_that_fail() -> None:
    rows = {row[1]: row[2:] for row in ours(ANALYSES["checks"]([VERIFIED]))}
    assert rows["a constant leaked from an example"] == (
        "5", "1", "100.0 (1/1) [21, 100]", "50.0 (2/4) [15, 85]", "0.41 [-0.74, 0.95]",
    )  # fmt: skip
    assert rows["an input never changes the output"][1:] == ("0", "–", "60.0 (3/5) [23, 88]", "–")
    assert ANALYSES["checks"]([run("es-pe", record("a", True))]) is None


def test_every_mode_is_compared_with_es_pe_on_the_same_cases() -> None:
    few = [record(f"a{number}", False) for number in range(9)], [record(f"a{number}", True) for number in range(9)]
    base, better = run("es-pe", *few[0]), run("es-pe+verify", *few[1])
    equal, other = run("react", *few[0][:2]), run("es-pe", *few[1], model="other")
    assert ours(ANALYSES["against"]([base, better, equal, other])) == [
        ("m es-pe+verify", "m es-pe", "9", "9", "0", "0", "0", "+100.0", "0.004", "0.008"),
        ("m react", "m es-pe", "2", "0", "0", "0", "2", "+0.0", "1.000", "1.000"),
    ]
    assert ANALYSES["against"]([better, equal]) is None, "there is no es-pe"
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_the_tables_fit_their_heads() -> None:
    found = analyse([VERIFIED])
    assert {"quadrants", "losses", "costs", "breakeven", "checks"} <= {table.key for table in found}
    assert all(len(row) == len(table.head) for table in found for row in table.rows)
