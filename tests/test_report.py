"""The report: what stands in the file, that it needs nothing else, and that a reader can find and read every case."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait
from test_svg import edges_in, edges_of
from tiny import NUMBERS, UNSOLVABLE, answer, called, tiny_benchmark

from experiments import figures
from experiments.analyses import analyse
from experiments.casebook import marked, pack, unpack
from experiments.folder import Run, Stages
from experiments.loading import Loaded, load
from experiments.record import CaseRecord, ParseCounts, Score, StageUsage, TaskFacts
from experiments.report import MOST_BYTES, run_names, write_report
from flowmind.api.solving import Solution
from flowmind.base.errors import InputError
from flowmind.build.derivation import Derivation
from flowmind.trace.events import Called, Origin, Planned, Trace, Turn
from flowmind.trace.task import Example, Task
from flowmind.workflow.checking import Problem
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import Observation, ToolCall

NASTY = '</script><script>window.taken=1</script><img src=x onerror="window.taken=1"><!-- \'"&amp; ]]>'
LONG = "loooong" * 400
WORKFLOW = Workflow.model_validate(
    {
        "name": f"made {NASTY}",
        "inputs": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        "nodes": [
            {"id": "start", "kind": "start"},
            {"id": "more", "kind": "condition", "expr": "n > 0"},
            {"id": "less", "kind": "tool", "tool": "subtract", "args": {"first": {"var": "n"}}, "output": "n"},
            {"id": "end", "kind": "end", "output": {"value": NASTY}},
        ],
        "edges": [
            {"from": "start", "to": "more"},
            {"from": "more", "to": "less", "when": True},
            {"from": "less", "to": "more", "bound": 9},
            {"from": "more", "to": "end", "when": False},
        ],
    }
)


def task(id: str, category: str = "odd ones", difficulty: str = "medium") -> Task:
    inputs = {"type": "object", "properties": {"n": {"type": "integer", "description": NASTY}}, "required": ["n"]}
    examples = (Example(input={"n": 1}, output=NASTY),)
    query = f"Read this: {NASTY} {LONG}"
    return Task(id=id, category=category, difficulty=difficulty, query=query, inputs=inputs, tools=("add", "own_tool"),
                examples=examples)  # fmt: skip


def turn(text: str, parse: Any = "clean", said: int | None = 12) -> Turn:
    return Turn(text=text, parse=parse, input_tokens=345 if said is not None else None, output_tokens=said, seconds=1.5)


def solution() -> Solution:
    """A plan, a reply that cannot be read, a call of a tool with an odd name, a failed call, an end."""
    steps = (
        Planned(analysis="First think.", steps=("Do one thing.", NASTY), turn=0),
        Called(call=ToolCall(tool=NASTY, args={"a": LONG}), observation=Observation(value=NASTY), reasoning=NASTY,
                 phase=1, turn=2, origins={"a": Origin(kind="unexplained")}),
        Called(call=ToolCall(tool="add", args={}), observation=Observation.failed("tool_error", "it broke"), turn=3),
    )  # fmt: skip
    turns = (turn("{}"), turn(NASTY, "reprompted"), turn("two", "recovered"), turn("three"), turn("the end", said=None))
    gave = Origin(kind="output", step=0)
    execute = Trace(inputs={"n": 3}, events=steps, stop="finish", answer=NASTY, origin=gave, turns=turns)
    built = Called(call=ToolCall(tool="add_end_node", args={"output": "n"}),
                     observation=Observation(value="Added.\nGraph:\n- start"), turn=0)  # fmt: skip
    summary = Trace(events=(built,), stop="failures", turns=(turn("build", "failed"),))
    problem = Problem(code="missing_edge", where="less", message=f"nothing comes after {NASTY}")
    return Solution(traces=(execute,), summary=summary, workflow=WORKFLOW, problems=(problem,))


def record(id: str, **fields: Any) -> CaseRecord:
    scores = (
        Score(passed=True, input={"n": 1}, expected=[1], actual=[1.0]),
        Score(passed=False, input={"n": 2}, expected={"total": 10, "who": "Ann", "on": [1, 2]},
              actual={"total": 10, "who": "Anna", "on": [1]}),
        Score(passed=False, input={"n": NASTY}, expected=NASTY, error=f"tool_error: {NASTY}"),
    )  # fmt: skip
    given: dict[str, Any] = {
        "category": "odd ones", "difficulty": "medium", "task": TaskFacts(words=5, tools=2, examples=1),
        "tests": scores, "failure_mode": "both_partial", "parse": ParseCounts(clean=3, reprompted=1, failed=1),
        "execute": StageUsage(turns=5, input_tokens=None, output_tokens=None, seconds=7.5, stop=("finish",)),
        "summarize": StageUsage(turns=1, input_tokens=345, output_tokens=12, seconds=1.5, stop=("failures",)),
        "problems": (f"less: nothing comes after {NASTY} [missing_edge]",),
        "derivation": Derivation(summarizer="guided", executions=3, built_from=2, examples=3, draft_right=1, right=2,
                                 verified=1, rounds=1, mends=("execute", "question"), asked=1,
                                 open=(f"when does {NASTY} follow?",), idle=("n", "m"), unsettled=("m",)),
        "started_at": 1_700_000_000.0, "seconds": 9.0, "exec_complete": True,
    }  # fmt: skip
    return CaseRecord.model_validate({"id": id, **given, **fields})


def begin(folder: Path, model: str, mode: str, **settings: Any) -> Run:
    run = Run(folder)
    servers = {"model": {"model": NASTY, "engine": "vLLM 0.33"}}
    run.begin({"settings": {"model": model, "mode": mode, "seed": 0, **settings},
               "benchmark": {"name": "made, seed 0"}, "servers": servers, "python": "3.11.7",
               "packages": {"pydantic": "2.14.3"}, "git": "abc1234"})  # fmt: skip
    return run


def made_run(folder: Path, model: str = NASTY, mode: str = "es-pp") -> Path:
    """A run with what is hard to show: every kind of step, texts that look like markup, an error."""
    run = begin(folder, model, mode)
    for id in ("odd_one", "odd_two"):
        run.keep_case(task(id), solution())
        run.keep_record(record(id))
    run.keep_record(record(f"lost{NASTY}", error=f"no answer {NASTY}", failure_mode="empty", tests=()))
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of the search model on the tiny benchmark, and one made by hand."""
    base = tmp_path_factory.mktemp("runs")
    bench = tiny_benchmark(base / "bench", UNSOLVABLE)
    for mode in ("es-pe", "react"):
        words = ("exp", "--model", "search", "--mode", mode, "--bench", bench, "--out", base / mode)
        assert called(*words).returncode == 0
    return [base / "es-pe", base / "react", made_run(base / "made")]


@pytest.fixture(scope="module")
def report(folders: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "report.html"
    size = write_report(load(folders), out, title=f"A title {NASTY}")
    assert size == out.stat().st_size
    return out


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
        if tag not in ("meta", "link", "input", "img", "br"):
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


def test_summary_and_tables_read_without_a_script(report: Path, folders: list[Path]) -> None:
    page = page_of(report)
    assert page.all("h1") == [f"A title {NASTY}"]
    [summary] = page.all("section", id="summary")
    assert "3 runs, 19 cases of 11 tasks of tiny, seed 0 and made, seed 0." in summary
    assert "search is not a language model" in summary
    assert "search (no LLM) es-pe passes 75.0 % (6/8) [41, 93] of its cases" in " ".join(summary.split())
    assert "1 case ended with an error of the model's endpoint." in summary
    assert "the difference is not significant" in summary
    tables = analyse(load(folders))
    assert len(tables) > 12
    for table in tables:
        [section] = page.all("section", id=f"table-{table.key}")
        assert table.title in section and table.says.replace("`", "") in section
        for row in table.rows:
            assert all(cell.removeprefix("paper: ") in section for cell in row), row


def test_the_papers_rows_are_told_apart(report: Path, folders: list[Path]) -> None:
    [table] = analyse(load(folders), ["table1"])
    theirs = [row for row in table.rows if row[0].startswith("paper: ")]
    text = report.read_text(encoding="utf-8")
    section = text[text.index('id="table-table1"') : text.index('id="table-compared"')]
    assert section.count('<tr class="paper">') == section.count('<span class="tag">paper</span>') == len(theirs) > 0
    assert "paper: " not in section


def test_only_the_analyses_asked_for_are_shown(folders: list[Path], tmp_path: Path) -> None:
    write_report(load(folders[:1]), tmp_path / "r.html", analyses=["table7", "table1"])
    page = page_of(tmp_path / "r.html")
    shown = [about["id"] for tag, about in page.elements if tag == "section" and about.get("class") == "table"]
    assert shown == ["table-table7", "table-table1"]
    assert page.all("h1") == ["FlowMind report"]


def test_the_runs_head_says_what_they_were_made_of(report: Path) -> None:
    [runs] = page_of(report).all("section", id="runs")
    words = " ".join(runs.split())
    shown = "made, seed 0 · 3 cases, 1 of them failed by the endpoint · 2023-11-14 22:13 to 22:13 UTC"
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
    assert (execute["name"], execute["stop"], execute["input"]) == ("Execute", "finish", '{"n": 3}')
    assert execute["answer"] == json.dumps(NASTY)
    assert [one[0] for one in execute["turns"]] == ["clean", "reprompted", "recovered", "clean", "clean"]
    assert execute["turns"][1] == ["reprompted", 345, 12, 1.5, NASTY]
    assert execute["turns"][4][1:3] == [None, None]
    plan, call, failed = execute["steps"]
    assert plan == {"turn": 0, "analysis": "First think.", "plan": ["Do one thing.", NASTY]}
    assert (call["tool"], call["reasoning"], call["value"], call["turn"]) == (NASTY, NASTY, json.dumps(NASTY), 2)
    assert call["origins"] == [["a", "unexplained", 1]] and "origins" not in failed
    assert execute["origin"] == [f"step 1 ({NASTY})"] and "origin" not in summarize
    assert (failed["tool"], failed["error"], failed["args"]) == ("add", "tool_error: it broke", "{}")
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
    assert failed["actual"] == ['{"total": 10, "who": "Ann', "a", '", "on": [1]}']
    assert failed["expected"] == ['{"total": 10, "who": "Ann", "on": [1, ', "2", "]}"]
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
        ("abcd", "abXd", ['"ab', "c", 'd"']),
        ("ab", "aab", ['"ab"']),
        ("aab", "ab", ['"a', "a", 'b"']),
        ([1, 2, 3], [1, 5, 3], ["[1, ", "2", ", 3]"]),
        ([1, 2], [1], ["[1, ", "2", "]"]),
        ({"a": 1, "b": 2}, {"b": 2}, ["{", '"a": 1', ', "b": 2}']),
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
    assert len(book_of(report)["tasks"]) == 8 + 3


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


@pytest.mark.parametrize("name", ["jinja2", "matplotlib"])
def test_without_the_extra_one_line_says_what_to_install(
    name: str, folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
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


# The figures


def test_figures_say_in_words_what_they_show(folders: list[Path]) -> None:
    drawn = {drawing.key: drawing for drawing in figures.draw(load(folders))}
    assert set(drawn) == {"rates", "failures", "difficulty", "tokens"}
    assert (
        "search (no LLM) es-pe: cases passed 75.0 (6/8) [41, 93], tests passed 75.0 (18/24) [55, 88]"
        in drawn["rates"].alt
    )
    assert "hard 75.0 (3/4)" in drawn["difficulty"].alt
    assert "search (no LLM) react: passed 75.0, execution only, no graph" in drawn["failures"].alt
    assert "summarize 12.0" in drawn["tokens"].alt


def test_figures_without_tokens_leave_them_out(folders: list[Path]) -> None:
    assert [drawing.key for drawing in figures.draw(load(folders[:1]))] == ["rates", "failures", "difficulty"]


def test_the_papers_rates_stand_beside_the_same_model_and_mode(tmp_path: Path) -> None:
    run = begin(tmp_path / "run", "qwen3-8b", "es-pe")
    run.keep_record(record("one"))
    [rates] = [drawing for drawing in figures.draw(load([run.folder])) if drawing.key == "rates"]
    assert "paper, qwen3-8b es-pe: 21.3" in rates.alt and "Crosses are the paper's" in rates.says


def test_figures_take_their_colours_from_the_page(folders: list[Path]) -> None:
    for drawing in figures.draw(load(folders)):
        root = ElementTree.fromstring(drawing.svg)
        assert all("style" not in element.attrib for element in root.iter())
        for element in root.iter():
            for side in ("fill", "stroke"):
                colour = element.get(side, "none")
                assert colour == "none" or f'[{side}="{colour}"]' in figures.STYLE, (drawing.key, element.tag, colour)
        texts = {"".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")}
        assert "search (no LLM)" in " ".join(texts)


@pytest.mark.parametrize("model", ["$x_1$ \\alpha", "<b>&amp;", "模型 😀", "m" * 90])
def test_figures_take_any_name(model: str, tmp_path: Path) -> None:
    run = begin(tmp_path / "run", model, "es-pe")
    run.keep_record(record("one"))
    for drawing in figures.draw(load([run.folder])):
        texts = "".join(ElementTree.fromstring(drawing.svg).itertext())
        assert model.split()[0][:15] in texts


# In a browser

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
DESK, PHONE = (1280, 900), (390, 844)


@pytest.fixture(scope="module")
def chromium() -> Iterator[WebDriver]:
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no chromium with chromedriver here (Debian: apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(DRIVER))
    yield driver
    driver.quit()


class Reader:
    """Someone who reads the report."""

    def __init__(self, driver: WebDriver, report: Path) -> None:
        self.driver = driver
        self.address = report.as_uri()

    def open(self, hash: str = "", size: tuple[int, int] = DESK, scheme: str = "light") -> None:
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get("about:blank")
        self.driver.get(self.address + hash)
        self.until(lambda: self.find("html[data-ready]"))

    def until(self, condition: Any) -> None:
        WebDriverWait(self.driver, 30).until(lambda _: condition())

    def find(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        [found] = self.find(selector)
        return found

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(script, *given)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.run("return document.activeElement").send_keys(key)

    def choose(self, name: str, text: str) -> None:
        Select(self.one(f"#{name}")).select_by_visible_text(text)

    @property
    def hash(self) -> str:
        return self.run("return decodeURIComponent(location.hash)")

    @property
    def rows(self) -> list[str]:
        """The ids of the cases in the list."""
        return self.run("return [...document.querySelectorAll('#list .id')].map(one => one.textContent)")

    @property
    def focused(self) -> str:
        return self.run("return document.activeElement.textContent")

    @property
    def shown(self) -> str:
        """The id of the case that is open, or nothing."""
        return self.run("const h = document.querySelector('#case h3'); return h ? h.lastChild.textContent : ''")

    @property
    def wide(self) -> bool:
        """Whether the page is wider than the window."""
        return self.run("return document.documentElement.scrollWidth > document.documentElement.clientWidth")


@pytest.fixture
def reader(chromium: WebDriver, report: Path) -> Iterator[Reader]:
    chromium.get_log("browser")
    yield Reader(chromium, report)
    assert chromium.get_log("browser") == []


def test_a_click_opens_a_case_and_the_way_back_closes_it(reader: Reader) -> None:
    reader.open()
    assert reader.one("#count").text == "19 of 19 cases, 12 of them passed"
    assert reader.one("#cut").text.startswith("Texts of more than 4,000 characters are cut")
    assert len(reader.rows) == 19 and not reader.one("#case").is_displayed()
    reader.find("#list a")[2].click()
    assert reader.shown == reader.rows[2]
    assert reader.hash == f"#cases&case={reader.rows[2]}&at=0"
    added, factor = NUMBERS[reader.rows[2]]
    text = reader.one("#case").text
    assert f"Add {added} to n, then multiply the sum by {factor}." in text
    assert "Tests: 3 of 3 passed" in text and str(answer(reader.rows[2], 7_731_000)) in text
    reader.driver.back()
    reader.until(lambda: not reader.shown)
    assert not reader.one("#case").is_displayed()
    reader.driver.forward()
    reader.until(lambda: reader.shown)
    reader.one("#case .close").click()
    assert reader.shown == "" and reader.hash == "#cases"


def test_a_case_shows_all_that_happened(reader: Reader) -> None:
    reader.open("#cases&case=odd_one&at=2")
    text = reader.one("#case").text
    stages = (
        "Execute: 5 turns",
        "Summarize: 1 turn",
        "stopped: too many failed calls",
        "First think.",
        "Do one thing.",
    )
    turns = (
        "step 2 of the plan",
        "reprompted",
        "345 in, 12 out · 1.5 s",
        "tokens not reported",
        "it broke",
        "graph tool",
        "a: unexplained ⚠ in the head",
        f"answer from\nstep 1 ({NASTY})",
        "first 1, in the end 2 of 3 solved, 1 of them not built from",
        f"when does {NASTY} follow?",
    )
    for said in (*stages, *turns, "Tests: 1 of 3 passed", "✓ Test 1 passed", "✗ Test 2 failed", NASTY):
        assert said in text, said
    facts = reader.one("#case header .facts").text
    for said in ("failed: both partial or failed", "medium · odd ones", "execution complete: yes", "graph sound: no",
                 "execute: tokens not reported", "summarize: 12 tokens out", "9.0 s"):  # fmt: skip
        assert said in facts, said
    assert NASTY in reader.run("return document.querySelector('#case .turns li:nth-child(2) details pre').textContent")
    assert not reader.find("#case .turns li:nth-child(3) details[open]")
    reader.find("#case .turns li:nth-child(3) summary")[0].click()
    assert reader.find("#case .turns li:nth-child(3) details[open] pre")[0].text == "two"
    assert [mark.text for mark in reader.find("#case mark")] == ["2", "a"]
    assert reader.find("#case mark")[0].value_of_css_property("text-decoration-line") == "underline"
    [workflow] = [part for part in reader.find("#case section") if part.text.startswith("Workflow")]
    workflow.find_element(By.TAG_NAME, "summary").click()
    assert "- less: n = subtract(first=n) -> more" in workflow.text
    assert reader.run("return window.taken") is None


def test_the_drawing_on_the_screen_has_the_edges_of_the_workflow(reader: Reader, folders: list[Path]) -> None:
    reader.open("#cases&case=odd_two&at=2")
    ends = reader.run(
        "return [...document.querySelectorAll('#case svg .edge')].map(e => ['from', 'to', 'when', 'bound']"
        ".map(name => e.getAttribute('data-' + name)))"
    )
    workflow = Run(folders[2]).workflow("odd_two")
    assert workflow is not None and Counter(map(tuple, ends)) == edges_of(workflow)
    boxes = [element.rect for element in reader.find("#case svg .node .shape")]
    assert len(boxes) == 4 and all(box["width"] > 40 and box["height"] > 20 for box in boxes)
    inner = reader.run(
        """return [...document.querySelectorAll("#case svg .node")].every((node) => {
            const box = node.querySelector(".shape").getBoundingClientRect();
            return [...node.querySelectorAll("text")].map((text) => text.getBoundingClientRect()).every((text) =>
                text.left >= box.left - 1 && text.right <= box.right + 1
                && text.top >= box.top - 1 && text.bottom <= box.bottom + 1);
        })"""
    )
    assert inner, "texts stay in their boxes"


def test_filters_and_search_narrow_the_list_and_stand_in_the_address(reader: Reader) -> None:
    reader.open()
    reader.choose("run", "search (no LLM) es-pe")
    assert len(reader.rows) == 8 and reader.hash == "#cases&run=0"
    reader.choose("category", "adding")
    assert reader.rows == ["task_0", "task_1", "task_2", "task_3"]
    reader.choose("difficulty", "hard")
    assert reader.rows == ["task_0", "task_2"]
    reader.choose("difficulty", "all")
    reader.choose("outcome", "failed, in any way")
    assert reader.rows == ["task_3"]
    assert reader.one("#count").text == "1 of 19 cases, 0 of them passed"
    reader.one("#clear").click()
    assert (
        len(reader.rows) == 19
        and reader.hash == "#cases"
        and Select(reader.one("#run")).first_selected_option.text == "all"
    )
    reader.choose("outcome", "error of the endpoint")
    assert reader.rows == [f"lost{NASTY}"]
    reader.choose("outcome", "all")
    _, factor = NUMBERS["task_5"]
    reader.one("#q").send_keys(f"multiply BY {factor}.")
    assert set(reader.rows) == {"task_5"} and reader.hash == f"#cases&q=multiply+BY+{factor}."
    reader.one("#q").clear()
    reader.one("#q").send_keys("task_6")
    assert reader.rows == ["task_6", "task_6"]
    reader.driver.refresh()
    reader.until(lambda: reader.find("html[data-ready]"))
    assert reader.rows == ["task_6", "task_6"] and reader.one("#q").get_property("value") == "task_6"


def test_a_link_opens_what_it_names(reader: Reader) -> None:
    reader.open("#cases&q=task&run=1&outcome=none&sort=id&case=task_4&at=1")
    assert reader.shown == "task_4" and "search (no LLM) react" in reader.one("#case header .facts").text
    assert reader.rows == ["task_0", "task_1", "task_2", "task_4", "task_5", "task_7"]
    assert reader.one("#list a[aria-current]").text.startswith("✓\ntask_4")
    reader.open("#cases&case=nothing&at=7&outcome=nonsense")
    assert reader.shown == "" and reader.rows == []


LEVELS = {"easy": 0, "medium": 1, "hard": 2}
FATES = [*figures.OUTCOMES, "error"]
ORDERS: dict[str, Any] = {
    "as run": lambda one, about: 0,
    "by id": lambda one, about: (one["id"], one["run"]),
    "by difficulty": lambda one, about: LEVELS[about["difficulty"]],
    "by outcome": lambda one, about: FATES.index(one["outcome"]),
    "by output tokens, most first": lambda one, about: 0 if one["tokens"][0][1] == 0 else 1,
    "by time, longest first": lambda one, about: -one["seconds"],
}


@pytest.mark.parametrize("order", ORDERS)
def test_sorting(reader: Reader, report: Path, order: str) -> None:
    reader.open("#cases&sort=seconds" if order == "as run" else "")
    reader.choose("sort", order)
    book = book_of(report)
    wanted = sorted(book["cases"], key=lambda one: ORDERS[order](one, book["tasks"][one["task"]]))
    links = reader.run("return [...document.querySelectorAll('#list a')].map(a => a.hash)")
    found = [(given["case"][0], int(given["at"][0])) for given in (parse_qs(link) for link in links)]
    assert found == [(one["id"], one["run"]) for one in wanted]


def test_all_of_it_by_keyboard(reader: Reader) -> None:
    reader.open()
    reader.press("/")
    assert reader.run("return document.activeElement.id") == "q"
    reader.press("task_1", Keys.ENTER)
    assert reader.rows == ["task_1", "task_1"] and "task_1" in reader.focused and not reader.shown
    reader.press("j")
    assert "react" in reader.focused
    reader.press("k", Keys.ARROW_DOWN, Keys.ARROW_UP)
    assert "es-pe" in reader.focused
    outline = reader.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    reader.press(Keys.ENTER)
    assert reader.shown == "task_1" and "task_1" in reader.focused
    assert "es-pe" in reader.one("#case header .facts").text
    reader.press("l")
    assert "react" in reader.one("#case header .facts").text and "at=1" in reader.hash
    reader.press(Keys.ARROW_LEFT)
    assert "es-pe" in reader.one("#case header .facts").text
    reader.press("j")
    assert "react" in reader.one("#case header .facts").text
    reader.press(Keys.ESCAPE)
    assert reader.shown == "" and "react" in reader.focused and reader.rows == ["task_1", "task_1"]
    reader.press("/")
    reader.press(Keys.ESCAPE)
    assert "es-pe" in reader.focused
    reader.press("?")
    assert reader.one("#help").is_displayed()
    reader.press("j")
    assert reader.one("#help").is_displayed() and not reader.shown
    reader.press(Keys.ESCAPE)
    reader.until(lambda: not reader.one("#help").is_displayed())


def test_typing_in_the_search_moves_nothing(reader: Reader) -> None:
    reader.open()
    reader.press("/", "jk?l")
    assert reader.one("#q").get_property("value") == "jk?l" and not reader.one("#help").is_displayed()


def test_the_same_case_in_the_other_run_is_a_click_away(reader: Reader) -> None:
    reader.open("#cases&q=task&case=task_2&at=0")
    links = reader.find("#case .beside a")
    assert [link.get_attribute("aria-current") for link in links] == ["true", None]
    links[1].click()
    reader.until(lambda: "at=1" in reader.hash)
    assert reader.shown == "task_2" and "q=task" in reader.hash
    assert reader.find("#case .beside a")[1].get_attribute("aria-current") == "true"
    reader.open("#cases&case=odd_one&at=2")
    assert reader.find("#case .beside a") == []


def luminance(colour: str) -> float:
    parts = [float(part) / 255 for part in re.findall(r"[\d.]+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_are_readable_in_both_schemes(reader: Reader, scheme: str) -> None:
    reader.open("#cases&case=odd_one&at=2", scheme=scheme)
    ground = reader.one("body").value_of_css_property("background-color")
    assert (luminance(ground) < 0.1) == (scheme == "dark")
    grounds = [ground, reader.find("pre")[0].value_of_css_property("background-color")]
    texts = ("body", "#summary a", ".note", ".paper td", "summary", "dt", "#count", "#case header .facts", "#case mark")
    for selector in (*texts, ".mark.failed", ".tag.clean", ".tag.failed", ".tag.reprompted"):
        colour = reader.find(selector)[0].value_of_css_property("color")
        assert all(contrast(colour, ground) >= 4.5 for ground in grounds), selector
    node = reader.find("#case svg .node")[1]
    box, text = (node.find_element(By.CSS_SELECTOR, selector) for selector in (".shape", "text"))
    assert contrast(text.value_of_css_property("fill"), box.value_of_css_property("fill")) >= 4.5
    assert contrast(reader.find("#case svg .edge path")[0].value_of_css_property("stroke"), ground) >= 4.5
    for figure in reader.find(".figure svg"):
        colours = {text.value_of_css_property("fill") for text in figure.find_elements(By.CSS_SELECTOR, "text")}
        assert any(contrast(colour, ground) >= 4.5 for colour in colours)
        lines = figure.find_elements(By.CSS_SELECTOR, "path[stroke], use[fill], path[fill]")
        assert any(contrast(line.value_of_css_property("stroke"), ground) >= 3 for line in lines if
                   line.value_of_css_property("stroke") != "none")  # fmt: skip


@pytest.mark.parametrize("hash", ["", "#cases&case=odd_one&at=2", "#cases&case=task_0&at=0", "#cases&q=task"])
def test_on_a_phone_the_page_is_one_column_and_never_scrolls_sideways(reader: Reader, hash: str) -> None:
    reader.open(hash, PHONE)
    reader.run("for (const one of document.querySelectorAll('details')) one.open = true")
    assert not reader.wide
    outside = reader.run(
        "return [...document.querySelectorAll('.scroll, pre, #case, figure, .row, #filter, input, select, button')]"
        ".filter(one => one.checkVisibility()).map(one => [one.className, one.getBoundingClientRect()])"
        ".filter(([, box]) => box.left < 0 || box.right > 390)"
    )
    assert outside == []
    table = reader.find(".table .scroll")[0]
    assert reader.run("return arguments[0].scrollWidth > arguments[0].clientWidth", table), "it scrolls in its box"
    assert reader.one("#list").is_displayed() == (not reader.shown)


@pytest.mark.parametrize("size", [DESK, (320, 600), (1000, 700), (2200, 1200)])
def test_no_window_scrolls_sideways(reader: Reader, size: tuple[int, int]) -> None:
    reader.open("#cases&case=odd_one&at=2", size)
    assert not reader.wide
    assert reader.one("#case").rect["width"] > 250


def test_every_control_has_a_name_and_headings_follow_one_another(reader: Reader) -> None:
    reader.open("#cases&case=odd_one&at=2")
    for control in reader.find("main :is(input, select, button, a[href], summary, [role])"):
        assert control.accessible_name or control.get_attribute("role") in ("alert", "status"), control.get_attribute(
            "outerHTML"
        )
    levels = reader.run("return [...document.querySelectorAll('h1,h2,h3,h4,h5')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1 and all(later <= level + 1 for level, later in pairwise(levels))
    assert reader.one("#count").get_attribute("role") == "status"
    figures_ = reader.find(".figure[role=img]")
    assert len(figures_) == 4 and all(len(str(figure.get_attribute("aria-label"))) > 100 for figure in figures_)
    assert reader.find("#list a .mark")[0].get_attribute("aria-hidden") == "true"


def test_tab_goes_from_the_top_to_the_cases_and_through_them(reader: Reader) -> None:
    reader.open()
    reader.press(Keys.TAB)
    assert reader.focused == "Skip to the cases"
    reader.press(Keys.ENTER, Keys.TAB)
    assert reader.run("return document.activeElement.id") == "q"
    passed: list[str] = []
    while "row" not in passed:
        reader.press(Keys.TAB)
        passed.append(reader.run("return document.activeElement.id || document.activeElement.className"))
    assert passed == ["run", "category", "difficulty", "outcome", "sort", "clear", "keys", "row"]


class Serving(ThreadingHTTPServer):
    """Serves a folder and remembers what was asked for."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                asked.append(self.path)

        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(folder)))


def test_nothing_is_asked_of_the_network(chromium: WebDriver, report: Path) -> None:
    server = Serving(report.parent)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        reader = Reader(chromium, report)
        reader.address = f"http://127.0.0.1:{server.server_address[1]}/{report.name}"
        reader.open("#cases&case=odd_one&at=2")
        assert reader.shown == "odd_one"
        assert server.asked == [f"/{report.name}"]
        names = reader.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
        assert names == []
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def test_the_policy_holds_in_the_browser(chromium: WebDriver, report: Path) -> None:
    reader = Reader(chromium, report)
    reader.open()
    reader.run(
        "const s = document.createElement('script'); s.textContent = 'window.sneaked = 1'; document.body.append(s);"
        "const d = document.createElement('div'); d.innerHTML = '<b onclick=\"window.sneaked = 2\">x</b>';"
        "document.body.append(d); d.firstChild.click()"
    )
    assert reader.run("return window.sneaked") is None
    told = chromium.execute_async_script(
        "const done = arguments[0]; fetch('http://127.0.0.1:9/').then(() => done('sent'), () => done('refused'))"
    )
    assert told == "refused"
    messages = " ".join(entry["message"] for entry in chromium.get_log("browser"))
    assert messages.count("Content Security Policy") >= 3


def test_without_scripts_the_rest_still_reads(chromium: WebDriver, report: Path) -> None:
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        chromium.get("about:blank")
        chromium.get(report.as_uri())
        text = chromium.find_element(By.TAG_NAME, "body").text
        assert "Main results (table 1)" in text and "The case browser needs JavaScript" in text
        assert "Add 2 to n" not in text
        assert not chromium.find_element(By.ID, "browser").is_displayed()
    finally:
        chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_a_browser_that_cannot_unpack_says_so(chromium: WebDriver, report: Path) -> None:
    script = {"source": "delete window.DecompressionStream"}
    added = chromium.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)
    try:
        reader = Reader(chromium, report)
        chromium.get("about:blank")
        chromium.get(report.as_uri())
        reader.until(lambda: reader.one("#trouble").is_displayed())
        assert "DecompressionStream is not defined" in reader.one("#trouble").text
        assert "Main results (table 1)" in reader.one("body").text
    finally:
        chromium.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def test_a_browser_that_refuses_so_many_addresses_is_followed_all_the_same(reader: Reader) -> None:
    reader.open()
    reader.run(
        "history.replaceState = history.pushState = () => { throw new DOMException('too many', 'SecurityError') }"
    )
    reader.choose("run", "search (no LLM) es-pe")
    assert len(reader.rows) == 8 and reader.hash == ""
    reader.press(Keys.ESCAPE, "j")
    assert reader.rows[1] in reader.focused
