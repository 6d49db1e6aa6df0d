"""The report: what the file contains, and that it needs nothing else."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
import shutil
import sys
import zlib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest
from report_runs import (
    LONG,
    NASTY,
    WORKFLOW,
    begin,
    made_run,
    make_folders,
    make_report,
    record,
    runs_of_tests,
    solution,
    task,
    turn,
)  # fmt: skip
from test_svg import edges_in, edges_of
from tiny import called

from experiments.analyses import analyse
from experiments.casebook import pack
from experiments.costs import cost
from experiments.folder import Run, RunFolder, Stages
from experiments.loading import Loaded, load
from experiments.marking import marked
from experiments.overview import run_names
from experiments.record import Score, StageUsage
from experiments.report import MOST_BYTES, write_report
from experiments.verdicts import best, verdict
from experiments.ways import links_of, way_of
from experiments.worfbench.recording import RowRecord
from experiments.worfbench.summing import Facts, summarize
from flowmind.api.solving import Solution
from flowmind.base.errors import InputError
from flowmind.evaluation.worfeval import Part, StepGraph
from flowmind.protocols import Evaluation
from flowmind.trace.events import Assigned, Called, Trace
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import Observation, ToolCall


def unpack(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text)))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_folders(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def report(folders: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_report(folders, tmp_path_factory.mktemp("report") / "report.html")


# What stands in the file


class Page(HTMLParser):
    """A page as a browser without scripts reads it: elements, and the text of each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[int] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")
        if tag not in ("meta", "link", "input", "img", "br", "wbr"):
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for place in self._open:
            self.texts[place] += data

    def all(self, tag: str, **wanted: str) -> list[str]:
        """The texts of all elements of a kind."""
        return [
            text
            for (name, attributes), text in zip(self.elements, self.texts, strict=True)
            if name == tag and all(attributes.get(key) == value for key, value in wanted.items())
        ]


def page_of(report: Path) -> Page:
    return Page(report.read_text(encoding="utf-8"))


def book_of(report: Path) -> dict[str, Any]:
    return unpack(page_of(report).all("script", id="data")[0])


def case_of(report: Path, id: str, run: int) -> dict[str, Any]:
    [found] = [one for one in book_of(report)["cases"] if (one["id"], one["run"]) == (id, run)]
    return found


def spaced(text: str) -> str:
    return " ".join(text.split())


def test_summary_and_tables_read_without_a_script(report: Path, folders: list[Path]) -> None:
    page = page_of(report)
    assert page.all("h1") == [f"A title {NASTY}"]
    [summary] = map(spaced, page.all("section", id="summary"))
    assert "3 runs, 20 cases of 12 tasks of tiny, seed 0 and made, seed 0" in summary
    assert "search is not a language model" in summary
    assert "6 /8 75.0 % [41, 93]" in summary.replace("6/8", "6 /8")
    assert "1 case ended with an error of the model's endpoint." in summary
    assert "search (no LLM) es-pe and search (no LLM) react pass the most cases, 6 of 8 each; " in summary
    assert "ran on other cases and cannot be compared." in summary
    tables = analyse(load(folders))
    assert len(tables) > 12
    for table in tables:
        [section] = page.all("details", id=f"table-{table.key}")
        assert table.title in section and table.says.replace("`", "") in section
        for row in table.rows:
            assert all(cell.removeprefix("paper: ") in section for cell in row), row


def test_the_papers_rows_are_told_apart(report: Path, folders: list[Path]) -> None:
    [table] = analyse(load(folders), ["table1"])
    theirs = [row for row in table.rows if row[0].startswith("paper: ")]
    text = report.read_text(encoding="utf-8")
    section = text[text.index('id="table-table1"') : text.index('id="table-compared"')]
    assert section.count('<tr class="paper" data-model="qwen3-') == 12
    assert (
        section.count('<tr class="paper"')
        == section.count(" hidden>")
        == section.count('<span class="tag">paper</span>')
        == len(theirs)
        > 0
    )
    assert "paper: " not in section


def test_only_the_analyses_asked_for_are_shown(folders: list[Path], tmp_path: Path) -> None:
    write_report(load(folders[:1]), tmp_path / "r.html", analyses=["table7", "table1"])
    page = page_of(tmp_path / "r.html")
    shown = [about["id"] for tag, about in page.elements if tag == "details" and about.get("class") == "table"]
    assert shown == ["table-table7", "table-table1"]
    assert page.all("h1") == ["FlowMind report"]


def test_the_runs_head_says_what_they_were_made_of(report: Path) -> None:
    [runs] = page_of(report).all("section", id="runs")
    words = " ".join(runs.split())
    shown = "made, seed 0 · 4 cases, 1 of them failed by the endpoint · 2023-11-14 22:13 to 22:13 UTC"
    for said in (shown, "folder made", "vLLM 0.33", '"pydantic": "2.14.3"', '"git": "abc1234"', '"mode": "es-pp"'):
        assert said in words


def test_the_file_needs_nothing_else(report: Path) -> None:
    page = page_of(report)
    for tag, about in page.elements:
        assert tag not in ("iframe", "object", "embed", "base", "audio", "video")
        for name, value in about.items():
            assert name != "style" and not name.startswith("on"), (tag, name)
            if name in ("href", "src", "action", "srcset", "xlink:href"):
                assert str(value).startswith(("#", "data:,")), (tag, value)
            assert "url(" not in str(value) or str(value).startswith("url(#")
    style = page.all("style")
    assert len(style) == 1 and not re.search(r"url\(|@import|https?:", style[0])


def test_the_policy_allows_the_two_texts_of_the_page_and_nothing_else(report: Path) -> None:
    page = page_of(report)
    [policy] = [str(about["content"]) for tag, about in page.elements if "http-equiv" in about]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    script, style = page.all("script")[-1], page.all("style")[0]
    digest = {text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)}
    assert rules == {
        "default-src": "'none'", "script-src": f"'sha256-{digest[script]}'", "style-src": f"'sha256-{digest[style]}'",
        "img-src": "data:", "base-uri": "'none'", "form-action": "'none'",
    }  # fmt: skip
    order = [tag for tag, about in page.elements if "http-equiv" in about or tag in ("style", "script", "link")]
    assert order[0] == "meta"


def test_no_text_of_a_run_becomes_markup(report: Path) -> None:
    page = page_of(report)
    assert [about.get("id") for tag, about in page.elements if tag == "script"] == ["data", None]
    assert "img" not in {tag for tag, _ in page.elements}
    assert NASTY in "".join(page.texts[0])


def test_names_in_the_page_are_unique(report: Path) -> None:
    ids = Counter(about["id"] for _, about in page_of(report).elements if "id" in about)
    assert ids and set(ids.values()) == {1}


def test_equal_runs_give_equal_bytes(report: Path, folders: list[Path], tmp_path: Path) -> None:
    again = [shutil.copytree(folder, tmp_path / folder.name) for folder in folders]
    write_report(load(again), tmp_path / "again.html", title=f"A title {NASTY}")
    assert (tmp_path / "again.html").read_bytes() == report.read_bytes()


# What the case browser reads


def test_a_case_has_its_task_and_all_that_both_stages_did(report: Path) -> None:
    book, found = book_of(report), case_of(report, "odd_one", 2)
    about = book["tasks"][found["task"]]
    assert about["query"].startswith(f"Read this: {NASTY} looo")
    assert about["inputs"] == [f"n (integer): {NASTY}"]
    tools = [book["tools"][index] for index in about["tools"]]
    assert tools[0].startswith("add(") and tools[1] == "own_tool"
    assert about["examples"] == [['{"n": 1}', json.dumps(NASTY)]]
    execute, summarize = found["stages"]
    assert (execute["name"], execute["stop"], execute["input"]) == ("Execute", "finish", [["n", "3"]])
    assert execute["answer"] == json.dumps(NASTY)
    assert [one[0] for one in execute["turns"]] == ["clean", "reprompted", "recovered", "clean", "clean"]
    assert execute["turns"][1] == ["reprompted", 345, 12, 1.5, NASTY]
    assert execute["turns"][4][1:3] == [None, None]
    plan, call, failed = execute["steps"]
    assert plan == {"turn": 0, "analysis": "First think.", "plan": ["Do one thing.", NASTY]}
    assert (call["tool"], call["reasoning"], call["value"], call["turn"]) == (NASTY, NASTY, json.dumps(NASTY), 2)
    assert call["origins"] == {"a": ["unexplained", 1]} and (call["call"], failed["call"]) == (0, 1)
    assert call["args"] == [["a", json.dumps(LONG)]] and "origins" not in failed
    assert execute["origin"] == [f"step 1 ({NASTY})"] and "origin" not in summarize
    assert (failed["tool"], failed["error"], failed["args"]) == ("add", "tool_error: it broke", [])
    assert (summarize["name"], summarize["stop"]) == ("Summarize", "failures")
    assert summarize["steps"][0]["value"] == "Added.\nGraph:\n- start" and summarize["steps"][0]["graph"]
    assert found["problems"] == [f"less: nothing comes after {NASTY} [missing_edge]"]
    assert found["tokens"] == [[None, None], [345, 12]]
    assert found["derived"] == [
        ["how", "by induction, a model asked for what the traces leave open"],
        ["from", "2 of 3 executions"],
        ["examples", "first 1, in the end 2 of 3 solved, 1 of them not built from"],
        ["mends", "execute, question"],
        ["open", f"when does {NASTY} follow?"],
        ["asked", "1 question"],
        ["idle", "n, m (read all the same)"],
    ]
    assert "derived" not in case_of(report, "task_0", 0)


def test_a_single_stage_is_called_so(report: Path) -> None:
    assert [stage["name"] for stage in case_of(report, "task_0", 1)["stages"]] == ["Single stage"]
    assert [stage["name"] for stage in case_of(report, "task_0", 0)["stages"]] == ["Execute", "Summarize"]


def test_long_texts_are_cut_and_say_so(folders: list[Path], tmp_path: Path) -> None:
    run = begin(tmp_path / "long", "m", "react")
    said = "x" * 5_000
    run.keep_case(task("long"), Solution(traces=(Trace(stop="turns", turns=(turn(said),)),)))
    tests = (Score(passed=False, input={}, expected=[said, 1], actual=[said, 2]),)
    run.keep_record(record("long", tests=tests))
    write_report(load([tmp_path / "long"]), tmp_path / "r.html")
    found = case_of(tmp_path / "r.html", "long", 0)
    assert found["stages"][0]["turns"][0][4] == f"{'x' * 4_000}… [cut: 4,000 of 5,000 characters]"
    assert "".join(found["tests"][0]["actual"]) == f'["{"x" * 3_998}… [cut: 4,000 of 5,007 characters]'


def test_tests_mark_what_differs(report: Path) -> None:
    passed, failed, broken = case_of(report, "odd_one", 2)["tests"]
    assert passed == {"passed": True, "actual": ["[1.0]"]}
    assert failed["actual"] == ['{"total": 10, "who": ', '"Anna"', ', "on": [1]}']
    assert failed["expected"] == ['{"total": 10, "who": ', '"Ann"', ', "on": [1', ", 2", "]}"]
    assert broken == {"passed": False, "error": f"tool_error: {NASTY}"}
    book = book_of(report)
    about = book["tasks"][case_of(report, "odd_one", 2)["task"]]
    assert about["tests"][0] == ['{"n": 1}', "[1]"]


@pytest.mark.parametrize(
    ("value", "other", "told"),
    [
        (1, 1.0, ["1"]),
        (1, 2, ["", "1"]),
        (True, 1, ["", "true"]),
        ("2118.1499", "2118.15", ["", '"2118.1499"']),
        ("pay Ann 12.50 now", "pay Anna 12.50 now", ['"pay ', "Ann", ' 12.50 now"']),
        ("one two three", "one three", ['"one ', "two ", 'three"']),
        ([1, 2, 3], [1, 5, 3], ["[1, ", "2", ", 3]"]),
        ([1, 2, 3], [2, 3], ["[", "1, ", "2, 3]"]),
        ([1, 2], [1], ["[1", ", 2", "]"]),
        ([1, 2], [7, 8], ["", "[1, 2]"]),
        ({"a": 1, "b": 2}, {"b": 2}, ["{", '"a": 1, ', '"b": 2}']),
        ({"a": 1, "b": 2}, {"b": 3, "a": 1}, ['{"a": 1, "b": ', "2", "}"]),
        ({"a": {"b": [None]}}, {"a": {"b": [0]}}, ['{"a": {"b": [', "null", "]}}"]),
        ([], {}, ["", "[]"]),
        (2**70, 2**70 + 1, ["", str(2**70)]),
    ],
)
def test_marks(value: Any, other: Any, told: list[str]) -> None:
    assert marked(value, other) == told


def test_marks_never_change_the_text() -> None:
    rng = Random(5)

    def drawn(depth: int) -> Any:
        kind = rng.randrange(6 if depth else 4)
        if kind == 4:
            return [drawn(depth - 1) for _ in range(rng.randrange(4))]
        if kind == 5:
            return {rng.choice("abc"): drawn(depth - 1) for _ in range(rng.randrange(4))}
        return [rng.randrange(3), rng.choice(["", "x", "xy", 'a"b', "é\n"]), None, rng.random() < 0.5][kind]

    for _ in range(500):
        value, other = drawn(3), drawn(3)
        parts = marked(value, other)
        assert "".join(parts) == json.dumps(value, ensure_ascii=False)
        assert marked(value, copy.deepcopy(value)) == [json.dumps(value, ensure_ascii=False)]


def test_what_was_packed_comes_out_again() -> None:
    value = {"text": f"{NASTY} é 😀 \ud800", "numbers": [2**70, 0.1, None, True]}
    assert unpack(pack(value)) == value
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", pack(value))


def test_workflows_are_drawn_as_they_were_executed(report: Path, folders: list[Path]) -> None:
    book = book_of(report)
    drawn = 0
    for one in book["cases"]:
        workflow = Run(folders[one["run"]]).workflow(one["id"])
        assert (workflow is None) == ("drawing" not in one)
        if workflow is not None:
            drawing = ElementTree.fromstring(book["drawings"][one["drawing"]])
            assert edges_in(drawing) == edges_of(workflow)
            drawn += 1
    assert drawn >= 14
    assert len(book["drawings"]) < drawn


def test_the_same_task_of_several_runs_stands_once(report: Path) -> None:
    assert case_of(report, "task_1", 0)["task"] == case_of(report, "task_1", 1)["task"]
    assert len(book_of(report)["tasks"]) == 8 + 4


@pytest.mark.slow
def test_141_cases_in_four_modes_stay_below_five_megabytes(tmp_path: Path) -> None:
    """With replies of random characters, which do not compress: in each of 564 cases 12 of 1,200."""
    rng, steps = Random(1), solution().traces[0].events
    folders: list[Path] = []
    for mode in ("react", "pe", "es-react", "es-pe"):
        run = begin(tmp_path / mode, "m", mode)
        folders.append(run.folder)
        for name in ("traces", "workflows"):
            (run.folder / name).mkdir()
        ids = [f"case_{number}" for number in range(141)]
        run.write_records(record(id) for id in ids)
        for id in ids:
            turns = tuple(turn(base64.b64encode(rng.randbytes(900)).decode()) for _ in range(12))
            stages = Stages(task=task(id), traces=(Trace(stop="turns", events=steps, turns=turns),))
            (run.folder / "traces" / f"{id}.json").write_text(stages.model_dump_json(), encoding="utf-8")
            (run.folder / "workflows" / f"{id}.json").write_text(WORKFLOW.to_json(), encoding="utf-8")
    size = write_report(load(folders), tmp_path / "r.html")
    assert size < MOST_BYTES
    book = book_of(tmp_path / "r.html")
    assert len(book["cases"]) == 564
    assert 250 <= book["cut"] <= 1_000
    last = book["cases"][563]["stages"][0]["turns"][11][4]
    assert len(last) > book["cut"] and last.endswith(f"… [cut: {book['cut']:,} of 1,200 characters]")


# What the functions refuse


def test_without_the_extra_one_line_says_what_to_install(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(InputError, match=r"^install the extra report: pip install 'flowmind-es\[report\]'$"):
        write_report(load(folders), tmp_path / "r.html")


def test_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run to report on"):
        write_report([], tmp_path / "r.html")


def test_a_damaged_trace_is_named(tmp_path: Path) -> None:
    run = made_run(tmp_path / "made", "m")
    path = run / "traces" / "odd_one.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(str(path))):
        write_report(load([run]), tmp_path / "r.html")


def test_a_run_that_left_only_records_is_shown(tmp_path: Path) -> None:
    run = begin(tmp_path / "bare", "m", "react")
    run.keep_record(record("alone", started_at=0.0))
    write_report(load([run.folder]), tmp_path / "r.html")
    assert "stages" not in case_of(tmp_path / "r.html", "alone", 0)
    assert "not recorded" in page_of(tmp_path / "r.html").all("section", id="runs")[0]


def test_runs_are_told_apart_by_seed_then_folder(tmp_path: Path) -> None:
    def loaded(name: str, **settings: Any) -> Loaded:
        return Loaded(tmp_path / name, {"model": "m", "mode": "react", "seed": 0, **settings}, ())

    assert run_names([loaded("a")]) == ["m react"]
    assert run_names([loaded("a"), loaded("b", seed=1)]) == ["m react, seed 0", "m react, seed 1"]
    assert run_names([loaded("a"), loaded("b")]) == ["m react, seed 0, a", "m react, seed 0, b"]
    twins = run_names([loaded("a"), loaded("a"), loaded("c", mode="pe")])
    assert twins == ["m react, seed 0, a, number 1", "m react, seed 0, a, number 2", "m pe"]


# Outcomes in words


def loaded(
    name: str, passed: int, of: int, *, mode: str = "es-pe", model: str = "m", first: int = 0, **settings: Any
) -> Loaded:
    """A run whose first cases pass."""
    records = [
        record(f"case_{number}", tests=(), scores={"passed": Evaluation(value=float(number - first < passed))})
        for number in range(first, first + of)
    ]
    return Loaded(Path(name), {"model": model, "mode": mode, "seed": 0, **settings}, tuple(records))


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        ([loaded("a", 3, 8)], "es-pe passes 3 of 8 cases."),
        ([loaded("a", 3, 8), loaded("b", 4, 8, seed=1)], "es-pe passes 7 of 16 cases (2 runs)."),
        ([loaded("a", 3, 8), loaded("b", 3, 8, mode="react")], "All 2 runs pass the same share of cases: 3 of 8 each."),
        (
            [loaded("a", 46, 141), loaded("b", 46, 141, mode="react"), loaded("c", 44, 141, mode="pe")],
            "es-pe and react pass the most cases, 46 of 141 each; the difference to pe is not significant (p = 0.50).",
        ),
        (
            [loaded("a", 46, 141), loaded("b", 20, 141, mode="react"), loaded("c", 45, 141, mode="pe")],
            "es-pe passes the most cases, 46 of 141; significantly more than react (p < 0.001); the difference to pe "
            "is not significant (p = 1).",
        ),
        (
            [loaded("a", 6, 8), loaded("b", 30, 40, mode="react", model="n"), loaded("c", 1, 8, first=50, mode="pe")],
            "m es-pe and n react pass the most cases, 6 of 8 and 30 of 40; m pe ran on other cases and cannot be "
            "compared.",
        ),
        (
            [loaded("a", 3, 8), loaded("b", 8, 8, mode="induction", traces="gold")],
            "es-pe passes 3 of 8 cases.",
        ),
        ([loaded("b", 8, 8, traces="gold")], "No run that executed has a completed case."),
        (
            [loaded("a", 3, 8), loaded("b", 3, 8, mode="react"), loaded("c", 8, 8, mode="induction", traces="gold")],
            "Of the runs that executed, all 2 pass the same share of cases: 3 of 8 each.",
        ),
        (
            [loaded("a", 0, 8), loaded("b", 8, 8, mode="react"), loaded("c", 8, 8, mode="induction", traces="gold")],
            "Of the runs that executed, react passes the most cases, 8 of 8; significantly more than es-pe "
            "(p = 0.008).",
        ),
    ],
)  # fmt: skip
def test_the_first_sentence_is_true(runs: list[Loaded], sentence: str) -> None:
    assert best(runs) == sentence


@pytest.mark.parametrize(
    ("fields", "words", "sign"),
    [
        ({"scores": {"graph_valid": Evaluation(value=1.0)}, "problems": ()}, "wrong on held-out tests (2 of 3)", "1"),
        ({"scores": {"graph_valid": Evaluation(value=1.0), "passed": Evaluation(value=1.0)}},
         "passed all 3 held-out tests", "✓"),
        ({}, "workflow not sound", "△"),
        ({"problems": ()}, "no workflow", "–"),
        ({"error": "no answer"}, "error of the endpoint", "!"),
    ],
)  # fmt: skip
def test_an_outcome_contradicts_no_fact_of_the_case(fields: dict[str, Any], words: str, sign: str) -> None:
    """The failure mode of the record is `both_partial` in all of them."""
    found = verdict(record("a", **fields))
    assert (found.words, found.sign) == (words, sign)


def test_a_row_of_the_grid_has_a_cell_for_each_run(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    row = text[text.index('<tr data-id="task_3"') :]
    row = row[: row.index("</tr>")]
    assert 'data-difficulty="easy" data-outcomes="nobody none" data-passes="0"' in row
    assert re.findall(r'class="cell ([^"]*)" aria-label="([^"]*)">(.)', row) == [
        ("none", "A task_3: no workflow", "–"), ("none", "B task_3: no workflow", "–"),
    ]  # fmt: skip
    assert row.count("<td>") == 3
    assert "Add 5 to n, then multiply the sum by 9." in row


# The way of a test


def test_the_way_of_a_test_has_its_nodes_edges_and_values() -> None:
    twice, none, broken = runs_of_tests()
    assert way_of(WORKFLOW, twice) == {
        "nodes": {"start": 1, "more": 3, "less": 2, "end": 1},
        "edges": [[0, 1, "n = 2"], [1, 2, ""], [2, 2, "n = 0"], [3, 1, ""]],
    }
    way = way_of(WORKFLOW, none)
    assert way["nodes"] == {"start": 1, "more": 1, "end": 1}
    assert [edge[:2] for edge in way["edges"]] == [[0, 1], [3, 1]] and way["edges"][0][2].startswith("n = 0, </scr")
    assert len(way["edges"][0][2]) == 34
    failed = way_of(WORKFLOW, broken)
    assert failed == {
        "nodes": {"start": 1, "more": 1, "less": 1}, "edges": [[0, 1, "n = 1"], [1, 1, ""]], "failed": "less",
    }  # fmt: skip


FORK = Workflow.model_validate(
    {
        "inputs": {"type": "object", "properties": {"l": {"type": "array"}}},
        "nodes": [
            {"id": "start", "kind": "start"},
            {"id": "one", "kind": "assign", "value": {"value": 1}, "output": "a"},
            {"id": "each", "kind": "map", "over": {"var": "l"}, "item": "x", "output": "b", "collect": {"var": "y"},
             "body": [{"id": "t", "kind": "tool", "tool": "twist", "args": {"a": {"var": "x"}}, "output": "y"}]},
            {"id": "end", "kind": "end", "output": {"var": "b"}},
        ],
        "edges": [{"from": "start", "to": "one"}, {"from": "start", "to": "each"}, {"from": "one", "to": "end"},
                  {"from": "each", "to": "end"}],
    }
)  # fmt: skip


def test_the_way_takes_every_branch_of_a_fork_and_counts_a_map_once() -> None:
    step = Called(call=ToolCall(tool="twist", args={"a": 1}), observation=Observation(value=2), node="each.t")
    events = (Assigned(node="one", output="a", value=1), step, step, Assigned(node="each", output="b", value=[2, 2]))
    way = way_of(FORK, Trace(inputs={"l": [1, 1]}, events=events, stop="finish"))
    assert way["nodes"] == {"start": 1, "one": 1, "each": 1, "end": 1}
    assert [edge[0] for edge in way["edges"]] == [0, 1, 2, 3] and way["edges"][3][2] == "b = [2, 2]"
    broke = Called(call=step.call, observation=Observation.failed("tool_error", "x"), node="each.t")
    error = broke.observation.error
    way = way_of(FORK, Trace(inputs={"l": [1]}, events=(events[0], broke), stop="error", error=error))
    assert way["failed"] == "each" and "end" not in way["nodes"]


def test_calls_are_linked_by_evidence_or_else_by_tool(report: Path) -> None:
    assert case_of(report, "odd_three", 2)["links"] == [["less", "first", 0, 0, 1]]
    assert case_of(report, "task_0", 0)["links"] == [["n1", "", 0, 0, 0], ["n2", "", 0, 1, 0]]
    call = Called(call=ToolCall(tool="twist"), observation=Observation(value=1))
    other = Called(call=ToolCall(tool="twist"), observation=Observation.failed("tool_error", "x"))
    assert links_of(FORK, [Trace(events=(other, call, call), stop="finish")]) == [
        ("each", "", 0, 1, 0), ("each", "", 0, 2, 0),
    ]  # fmt: skip


def test_a_run_keeps_the_way_of_each_test(report: Path, folders: list[Path], tmp_path: Path) -> None:
    found = case_of(report, "task_0", 0)
    assert [way["edges"][-1][0] for way in found["ways"]] == [len(found["ways"][0]["edges"]) - 1] * 3
    [first, *_] = Run(folders[0]).stages("task_0").tests
    assert first is not None and first.answer == found_answer(found, report)
    run = begin(tmp_path / "long", "m", "es-pe")
    long = Trace(inputs={"n": "x" * 200_000}, stop="finish")
    run.keep_case(task("a"), solution(), [long, runs_of_tests()[1]])
    kept = run.stages("a").tests
    assert kept[0] is None and kept[1] == runs_of_tests()[1]


def found_answer(case: dict[str, Any], report: Path) -> Any:
    return json.loads(book_of(report)["tasks"][case["task"]]["tests"][0][1])


# Cost


def usage(given: int | None, written: int | None, rollouts: int = 1) -> StageUsage:
    return StageUsage(turns=1, input_tokens=given, output_tokens=written, stop=("finish",) * rollouts)


def test_the_cost_of_a_run_is_that_of_all_its_cases() -> None:
    def run(mode: str = "es-pe", model: str = "m", **settings: Any) -> Loaded:
        stages = {"execute": usage(300, 30, 3), "summarize": usage(50, 5)}
        cases = [record("a", **stages), record("b", **stages, scores={"passed": Evaluation(value=1.0)})]
        return Loaded(Path("r"), {"model": model, "mode": mode, "seed": 0, **settings}, tuple(cases))

    made = cost(run())
    assert (made.cases, made.passed, made.build, made.call) == (2, 1, (700, 70), (100, 10))
    assert cost(run("react")).call is None and "single stage" in cost(run("react")).note
    assert "not a language model" in cost(run(model="search")).note
    assert "no agent was run" in cost(run(traces="gold")).note
    unknown = Loaded(Path("r"), {"model": "m", "mode": "es-pe"}, (record("a", execute=usage(None, 3)),))
    assert cost(unknown).build is None and cost(unknown).note == "tokens not recorded"


def worfbench_run(folder: Path) -> Path:
    graph = StepGraph(nodes=("START", "END"))
    run = RunFolder(folder, RowRecord)
    run.begin({"settings": {"model": "m<b>", "mode": "worfbench"}, "benchmark": {"name": "rows"}})
    part = Part(precision=1.0, recall=0.5, f1=2 / 3)
    rows = [
        RowRecord(id=f"r{number}", source="lumos", gold_graph=graph, chain=part, graph=part, started_at=0, seconds=1)
        for number in range(3)
    ]
    for row in rows:
        run.keep_record(row)
    facts = Facts(model="m<b>", data="rows", gold_chain=False, definition="paper", encoder="bow", temperature=0)
    run.write_summary(summarize(rows, facts), "")
    return folder


def test_runs_on_worfbench_have_a_table(folders: list[Path], tmp_path: Path) -> None:
    worf = worfbench_run(tmp_path / "runs" / "worf")
    alone = called("report", worf, "--out", tmp_path / "alone.html")
    assert alone.returncode == 0 and "| problem solving: lumos | 3 |" in alone.stdout
    page = page_of(tmp_path / "alone.html")
    [table] = page.all("section", **{"class": "worfbench"})
    assert "WorFBench: m<b> on rows" in table and "problem solving: lumos" in table
    assert page.all("section", id="cases") == [] and page.all("script") == []
    shutil.copytree(folders[2], tmp_path / "runs" / "made")
    assert called("report", tmp_path / "runs").returncode == 0
    both = page_of(tmp_path / "runs" / "report.html")
    assert len(both.all("section", **{"class": "worfbench"})) == len(both.all("section", id="cases")) == 1
    (worf / "summary.json").unlink()
    done = called("report", worf)
    assert done.returncode == 2 and "the run is not finished" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--limit", "3"), "--limit: this flag needs --config"),
        (("--pick", "first"), "--pick: this flag needs --config"),
        (("--seed", "1"), "--seed: this flag needs --config"),
        (("--root", "x"), "--root: this flag needs --config"),
        (("--out", "."), "--out .: this is a folder"),
        (("--tables", "--out", "x.html"), "--out: --tables writes no file"),
        (("--config", "x.toml"), "--config: give either a grid file or the folders of runs"),
    ],
)
def test_flags_without_effect_are_refused(words: tuple[str, ...], says: str, folders: list[Path]) -> None:
    done = called("report", folders[2], *words)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"flowmind: {says}") and done.stderr.count("\n") == 1
