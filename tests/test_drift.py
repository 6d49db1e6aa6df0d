"""Streams of requests for guarded workflows: without a change, with each change at half time, and the command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from experiments.drift.__main__ import main
from experiments.drift.changes import KINDS, Change, Kind, atoms, takes
from experiments.drift.serving import Plan, Served, Stream, TaskStreams, repeated, streams_of
from experiments.drift.summing import noticed_after, summary_of
from experiments.drift.tasks import StreamTask, has_flow, spread
from experiments.drift.worlds import Request, World
from flowbench_synth.api.blueprint import Family
from flowbench_synth.api.builder import build
from flowbench_synth.api.families.lookups import COPY_ADDRESS, TRACKING_LINK
from flowbench_synth.api.families.totals import CHECK_CLAIM
from flowmind.trace.task import Example, Task
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import ToolCall, ToolSpec
from tools_registry.specs.values import CaseError

ROOT = Path(__file__).resolve().parents[1]
INPUTS: dict[str, Any] = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
QUERY = "Refund the total of an order that is late. Say thanks to the customer in the end."
ORDERS = {
    f"o-{number}": {"id": f"o-{number}", "late": number % 2 == 0, "total": 10 + 3 * number, "buyer": f"c-{number}"}
    for number in range(20)
}


def spec(name: str, effect: str, *parameters: str) -> ToolSpec:
    fields = {"properties": {one: {"type": "integer" if one == "cents" else "string"} for one in parameters}}
    schema = {"type": "object", **fields, "required": list(parameters), "additionalProperties": False}
    return ToolSpec.model_validate(
        {"name": name, "description": "", "parameters": schema, "returns": {}, "effect": effect}
    )


class Shop:
    """Orders that are found and refunded."""

    def __init__(self) -> None:
        specs = (
            spec("find_order", "read", "order_id"),
            spec("refund", "write", "order_id", "cents"),
            spec("thank", "write", "buyer"),
        )
        self.specs = {one.name: one for one in specs}

    def begin(self, request: Request) -> None:
        """Nothing is kept from one request to the next."""

    def call(self, name: str, args: dict[str, Any]) -> Any:
        if name != "find_order":
            return "done"
        if args["order_id"] not in ORDERS:
            raise CaseError("tool_error", "there is no such order")
        return dict(ORDERS[args["order_id"]])


def gold() -> Workflow:
    found, asked = {"var": "order"}, {"order_id": {"var": "order_id"}}
    buyer = {"buyer": {**found, "path": ["buyer"]}}
    nodes: list[dict[str, Any]] = [
        {"id": "start", "kind": "start"},
        {"id": "find", "kind": "tool", "tool": "find_order", "args": asked, "output": "order"},
        {"id": "late", "kind": "condition", "expr": "order['late']"},
        {
            "id": "refund", "kind": "tool", "tool": "refund", "output": "refunded",
            "args": {**asked, "cents": {**found, "path": ["total"]}},
        },
        {"id": "thank", "kind": "tool", "tool": "thank", "args": buyer, "output": "said"},
        {"id": "end", "kind": "end", "output": {**found, "path": ["total"]}},
    ]  # fmt: skip
    edges: list[dict[str, Any]] = [
        {"from": "start", "to": "find"}, {"from": "find", "to": "late"},
        {"from": "late", "to": "refund", "when": True}, {"from": "late", "to": "thank", "when": False},
        {"from": "refund", "to": "thank"}, {"from": "thank", "to": "end"},
    ]  # fmt: skip
    return Workflow.model_validate({"inputs": INPUTS, "nodes": nodes, "edges": edges})


def shop_task() -> StreamTask:
    ids = ["o-2", "o-4", "o-1", "o-3", *(f"o-{number}" for number in range(5, 17))]
    examples = tuple(Example(input={"order_id": id}, output=ORDERS[id]["total"]) for id in ids[:2])
    task = Task(
        id="shop", control_flow="branch", query=QUERY, inputs=INPUTS, tools=tuple(Shop().specs), examples=examples
    )
    # a state, so that no other inputs are made
    return StreamTask(task, gold(), (), tuple(Request({"order_id": id}, {}) for id in ids))


def served(kind: Kind, guards: str = "all", audit: float = 0.0) -> tuple[Stream, Stream]:
    """The stream of the shop with a change, and the one without."""
    kinds: tuple[Kind, ...] = ("none", kind) if kind != "none" else ("none",)
    plan = Plan(kinds=kinds, guards=(guards,), requests=16, audit=audit)
    record = streams_of(shop_task(), World(Shop()), plan)
    by_kind = {stream.kind: stream for stream in record.streams}
    assert kind in by_kind, f"no change of the kind {kind} matters to the shop"
    return by_kind[kind], by_kind["none"]


def wrong(stream: Stream) -> int:
    return sum(one.right is False for one in stream.served)


def hits(stream: Stream) -> int:
    return sum(one.kind == "hit" for one in stream.served)


def test_without_a_change_most_requests_are_hits_and_none_is_wrong() -> None:
    stream, _ = served("none")
    assert len(stream.served) == 16
    assert [one.kind for one in stream.served[:2]] == ["agent", "agent"]
    assert wrong(stream) == 0
    assert hits(stream) >= 9
    assert not any(one.repeated for one in stream.served)
    assert stream.half == 16


@pytest.mark.parametrize("kind", ["renamed", "retyped"])
def test_a_changed_field_is_noticed_at_once_and_no_answer_is_wrong(kind: Kind) -> None:
    stream, plain = served(kind)
    assert stream.was_live
    assert noticed_after(stream, plain) == 1
    assert stream.served[stream.half].guard in ("shape", "error")
    assert wrong(stream) == 0


def test_a_new_field_costs_no_hit() -> None:
    stream, plain = served("added")
    assert wrong(stream) == 0
    assert hits(stream) >= hits(plain) - 1


def test_a_renamed_tool_is_noticed_before_any_call() -> None:
    stream, plain = served("tool")
    first = stream.served[stream.half]
    assert (first.kind, first.guard) == ("fallback", "tools")
    assert noticed_after(stream, plain) == 1
    assert wrong(stream) == 0


@pytest.mark.parametrize("kind", ["scaled", pytest.param("procedure", marks=pytest.mark.slow)])
def test_audits_notice_what_guards_cannot(kind: Kind) -> None:
    audited, plain = served(kind, audit=1.0)
    count = noticed_after(audited, plain)
    assert count is not None and count <= 4
    unaudited, plain = served(kind)
    assert wrong(unaudited) > wrong(audited)


def test_no_write_is_repeated_after_a_failure() -> None:
    stream, _ = served("failure")
    later = stream.served[stream.half :]
    assert any(one.kind == "stopped" for one in later)
    assert not any(one.repeated for one in later)
    assert wrong(stream) == 0


def test_the_first_half_is_the_same_with_every_change() -> None:
    record = streams_of(shop_task(), World(Shop()), Plan(kinds=KINDS, guards=("all",), requests=10))
    halves = {stream.served[: stream.half] for stream in record.streams}
    assert len(halves) == 1
    assert {stream.kind for stream in record.streams} | set(record.skipped) == set(KINDS)


RECORD = {
    "id": "a",
    "total": 5,
    "price": 21.24,
    "open": True,
    "none": None,
    "lines": [{"sku": "s", "count": 3}, {"sku": "t"}],
}


def test_an_agent_understands_a_changed_result_as_it_was() -> None:
    changed = 0
    for kind in ("renamed", "retyped", "scaled"):
        for path, value in atoms(RECORD):
            if takes(kind, path, value):
                change = Change(kind, "find", path)
                done = change.done("find", RECORD)
                assert done != RECORD
                assert change.undone("find", done) == RECORD
                assert change.done("other", RECORD) == RECORD
                changed += 1
    assert changed > 10


def test_a_number_is_multiplied_exactly() -> None:
    change = Change("scaled", "find", ("lines", "[]", "count"))
    assert change.done("find", RECORD)["lines"] == [{"sku": "s", "count": 300}, {"sku": "t"}]
    assert Change("scaled", "find", ("price",)).done("find", RECORD)["price"] == 2124.0


def test_writes_count_as_repeated_above_what_the_agent_makes() -> None:
    refund, thank = ToolCall(tool="refund", args={"id": 1}), ToolCall(tool="thank")
    assert repeated([refund, thank], [refund]) == 0
    assert repeated([refund, refund], [refund]) == 1
    assert repeated([refund, refund], [refund, refund]) == 0
    assert repeated([thank, thank, thank], []) == 2


def test_tasks_are_spread_and_chosen_by_control_flow() -> None:
    assert spread(range(10), 3) == [0, 3, 6]
    assert spread(range(2), 5) == [0, 1]
    task = Task(id="t", query="", inputs=INPUTS, control_flow="branch+iteration")
    assert has_flow(task, []) and has_flow(task, ["branch"]) and has_flow(task, ["branch+iteration"])
    assert not has_flow(task, ["linear"])


def row(kind: Kind, guards: str, kinds: str, half: int) -> Stream:
    """A stream from letters: `+` a hit, `w` a wrong one, `!` one that an audit contradicts, `f` a fallback."""
    outcomes = {
        "+": Served(kind="hit", right=True), "w": Served(kind="hit", right=False), "a": Served(kind="agent"),
        "!": Served(kind="hit", right=False, audit=False), "f": Served(kind="fallback", guard="shape"),
    }  # fmt: skip
    line = tuple(outcomes[letter] for letter in kinds)
    return Stream(kind=kind, change="", guards=guards, served=line, half=half, was_live=True, seconds=0, was_slow=False)


def test_the_tables_count_hits_wrong_answers_and_requests_until_noticed() -> None:
    first = TaskStreams(
        id="one",
        control_flow="linear",
        streams=(row("none", "all", "aa+f++++", 4), row("scaled", "all", "aa+fww!f", 4)),
    )
    second = TaskStreams(
        id="two",
        control_flow="branch",
        streams=(row("none", "all", "aa++++++", 4), row("scaled", "all", "aa++wwww", 4)),
    )
    summary = summary_of([first, second])
    by_flow = {one.group: one for one in summary.flows}
    assert (by_flow["all"].hits.count, by_flow["all"].hits.of) == (11, 16)
    assert by_flow["linear"].fallbacks == {"shape": 1}
    (scaled,) = [one for one in summary.changes if one.group == "scaled"]
    assert (scaled.wrong.count, scaled.wrong.of) == (7, 7)
    assert scaled.hits_before is not None and scaled.hits_before.count == 8
    assert scaled.soon is not None and (scaled.soon.count, scaled.soon.of) == (1, 2)
    assert scaled.until_noticed == 3
    assert "| scaled | guards | 2 |" in summary.text()


# The command


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drift") / "api"
    build(0, path, quiet=True, chosen=[Family("small", "a few tasks", (TRACKING_LINK, COPY_ADDRESS, CHECK_CLAIM))])
    return path


def command(suite: Path, out: Path, *more: str) -> list[str]:
    return ["--bench", str(suite), "--out", str(out), "--requests", "6", "--guards", "all", "--processes", "1", *more]


@pytest.mark.slow
def test_the_command_goes_on_where_it_was(suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(command(suite, out, "--limit", "1")) == 0
    first = (out / "records.jsonl").read_text()
    assert len(first.splitlines()) == 1
    assert main(command(suite, out, "--limit", "3")) == 0
    assert (out / "records.jsonl").read_text().startswith(first)  # with its durations: it was not served again
    shown = capsys.readouterr().out
    assert "wrong among accepted" in shown and "3 tasks." in shown
    assert (out / "summary.md").read_text() in shown
    assert json.loads((out / "summary.json").read_text())["tasks"] == 3
    assert main(command(suite, out, "--audit", "0.5")) == 2
    assert "holds another run" in capsys.readouterr().err


@pytest.mark.slow
def test_an_interrupted_command_keeps_what_was_measured(suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "experiments.drift", *command(suite, out, "--requests", "24")]
    process = subprocess.Popen(line, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    records = out / "records.jsonl"
    while not (records.exists() and records.read_text()) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    kept = records.read_text()
    if process.returncode == 0:
        pytest.skip("the command had ended before it could be interrupted")
    assert process.returncode == 130
    assert "the same command goes on from there" in errors
    assert main(command(suite, out, "--requests", "24")) == 0
    assert kept.splitlines()[0] in records.read_text()
    assert len(records.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--bench", "nowhere", "--out", "{}"], "no such file"),
        (["--bench", "{suite}", "--out", "{}", "--control-flow", "spiral"], "control flows with one: "),
        (["--bench", "{suite}", "--out", "{suite}/manifest.json"], "manifest.json"),
        (["--workbench", "{suite}", "--out", "{}"], "queries.jsonl"),
        (["--workbench", "{suite}", "--out", "{}", "--audit", "0.5"], "--audit belongs to --bench"),
    ],
)
def test_bad_input_is_said_in_one_line(
    arguments: list[str], said: str, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = [one.replace("{suite}", str(suite)).replace("{}", str(tmp_path / "out")) for one in arguments]
    assert main(filled) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("drift: ") and error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["--out", "x"], ["--bench", "x"], ["--bench", "x", "--workbench", "y", "--out", "z"],
        ["--bench", "x", "--out", "y", "--limit", "0"], ["--bench", "x", "--out", "y", "--requests", "3"],
        ["--bench", "x", "--out", "y", "--audit", "2"], ["--bench", "x", "--out", "y", "--audit", "nan"],
        ["--bench", "x", "--out", "y", "--drift", "rust"], ["--bench", "x", "--out", "y", "--guards", "some"],
        ["--bench", "x", "--out", "y", "--processes", "0"],
    ],
)  # fmt: skip
def test_bad_usage_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_the_office_stream_makes_no_write_in_rehearsals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = os.environ.get("FLOWMIND_FIXTURES")
    folder = (Path(held) if held else ROOT.parent / "shared" / "fixtures") / "workbench"
    if not (folder / "queries.jsonl").exists():
        pytest.skip("the WorkBench records are not here (FLOWMIND_FIXTURES names the folder that has workbench/)")
    assert main(["--workbench", str(folder), "--out", str(tmp_path / "out"), "--limit", "2", "--processes", "1"]) == 0
    assert "writes of rehearsals" in capsys.readouterr().out
    rows = json.loads((tmp_path / "out" / "summary.json").read_text())["rows"]
    assert len(rows) == 4
    assert all(one["rehearsed_writes"] == 0 for one in rows)
    assert rows[0]["hits"]["count"] > rows[-1]["hits"]["count"] > 0
