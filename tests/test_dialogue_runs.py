"""Runs of dialogues over real tools: their files, resuming, replaying, lending, models as users and judges, grids."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import forked
import pytest
from tiny_dialogue import RESULTS, SCHEDULE, goal, session, write
from tiny_recorded import write_sgd, write_star

from experiments.commands.dialogue import add_arguments
from experiments.dialogue.grid import DialogueGrid, cells, folder_name
from experiments.dialogue.installed import installed_grids
from experiments.dialogue.options import DialogueOptions
from experiments.dialogue.papers import paper_table
from experiments.dialogue.running import DialogueFolder, replay_dialogues, run_dialogues, summarize_dialogues
from experiments.dialogue.sources import in_turn, read_materials
from experiments.dialogue.tables import TABLES, DialogueRun, made_tables
from experiments.progress import CaseBar
from flowmind.base.errors import InputError, ModelFailure, ModelUnavailable
from flowmind.cli.main import main, parse
from flowmind.dialogue.following.follow import FollowModel
from flowmind.dialogue.users.model_user import MARKER
from flowmind.dialogue.users.spotting import hear
from flowmind.evaluation.dialogue import Counts, score_session
from flowmind.formats.sgd import read_sgd
from flowmind.formats.star import read_star
from flowmind.llm.testing import action
from flowmind.protocols import ChatModel, ChatRequest, Reply
from flowmind.trace.events import Called, Said, Trace
from flowmind.trace.recorded_dialogues import world_of
from flowmind.trace.scenario import DialogueData, Reference, state_changes

ENDS = ("appointment_booked", "not_booked", "no_free_time", "hospital_not_listed")
SESSIONS = [
    *(session(f"s_{end}", goal(SCHEDULE, end)) for end in ENDS),
    session("r_sent", goal(RESULTS, "report_sent")),
    session("both", goal(RESULTS, "result_pending"), goal(SCHEDULE, "no_free_time", 2)),
]
FIXTURES = Path(__file__).resolve().parents[2] / "shared" / "fixtures"
KEYS = (
    "suite", "method", "format", "user", "oow", "sessions", "success_rate", "task_progress", "tool_f1", "parameter_f1",
    "violations", "sessions_with_violation", "stopped_rate", "wrongly_refused_rate", "turns", "by_domain", "intervals",
)  # fmt: skip


class Counted:
    """A model that counts its requests, and fails at those that it is told to."""

    def __init__(self, inner: ChatModel, failing: range = range(0)) -> None:
        self.inner = inner
        self.failing = failing
        self.requests: list[ChatRequest] = []

    @property
    def name(self) -> str:
        return self.inner.name

    async def complete(self, request: ChatRequest) -> Reply:
        self.requests.append(request)
        if len(self.requests) in self.failing:
            raise ModelFailure("the server does not answer")
        return await self.inner.complete(request)

    async def aclose(self) -> None:
        await self.inner.aclose()


class Always:
    """A model with one reply."""

    name = "always"

    def __init__(self, text: str) -> None:
        self.text = text

    async def complete(self, request: ChatRequest) -> Reply:
        return Reply(text=self.text, input_tokens=1, output_tokens=1)

    async def aclose(self) -> None:
        pass


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("dialogues") / "tiny", SESSIONS)


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A complete run of `follow`."""
    out = tmp_path_factory.mktemp("runs") / "follow"
    run_dialogues(options(data), out, CaseBar(), models={"agent": FollowModel()})
    yield out


def options(data: Path, **settings: Any) -> DialogueOptions:
    return DialogueOptions(data=str(data), **settings)


def records(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if k not in ("started_at", "seconds", "crc")} for line in lines]


def summary(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text())


def test_a_run_leaves_records_traces_and_a_summary(whole: Path) -> None:
    made = summary(whole)
    assert made.keys() >= {*KEYS} and made["suite"] == "dialogue" and made["user"] == "agenda" and made["sessions"] == 6
    assert made["violations"] == 0 and made["stopped_rate"] is None and made["parameter_f1"] is None
    assert made["by_domain"]["Personal Assistant"]["sessions"] == 6
    assert made["intervals"]["success_rate"]["of"] == 6
    trace = json.loads((whole / "traces" / "s_appointment_booked.json").read_text())
    kinds = {event["kind"] for event in trace["trace"]["events"]}
    assert kinds == {"said", "called"} and trace["gold"]["goals"][0]["outcome"] == "appointment_booked"
    assert "follow" in (whole / "summary.md").read_text()


def test_a_replay_asks_nothing_and_gives_equal_files(whole: Path, data: Path, tmp_path: Path) -> None:
    replay_dialogues(whole, tmp_path / "again", options(data), CaseBar())
    for name in ("records.jsonl", "summary.json", "summary.md"):
        assert (tmp_path / "again" / name).read_bytes() == (whole / name).read_bytes()
    for path in (whole / "traces").iterdir():
        assert (tmp_path / "again" / "traces" / path.name).read_bytes() == path.read_bytes()


def test_a_run_goes_on_without_repeating_a_request(whole: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "part"
    shutil.copytree(whole, out)
    lines = (out / "records.jsonl").read_text().splitlines(keepends=True)
    (out / "records.jsonl").write_text("".join(lines[:2]))
    last = out / "exchanges" / f"{json.loads(lines[-1])['id']}.jsonl"
    kept = last.read_text().splitlines(keepends=True)
    last.write_text("".join(kept[:3]) + kept[3][:20])
    agent = Counted(FollowModel())
    run_dialogues(options(data), out, CaseBar(), models={"agent": agent})
    assert len(agent.requests) == len(kept) - 1 - 3  # without the line of the end
    assert records(out) == records(whole) and summary(out) == summary(whole)


def test_another_run_lends_its_replies(whole: Path, data: Path, tmp_path: Path) -> None:
    agent = Counted(FollowModel())
    run_dialogues(options(data, reuse=(whole,), limit=4), tmp_path / "lent", CaseBar(), models={"agent": agent})
    assert agent.requests == [] and len(records(tmp_path / "lent")) == 4


def test_a_lost_session_is_in_no_metric_and_is_held_again(data: Path, tmp_path: Path) -> None:
    agent = Counted(FollowModel(), failing=range(1, 3))  # the first attempt and the second one
    chosen = options(data, limit=1)
    out = tmp_path / "lost"
    with pytest.raises(ModelUnavailable, match="does not answer"):
        run_dialogues(chosen, out, CaseBar(), models={"agent": agent})
    assert summary(out)["sessions"] == 0 and summary(out)["lost"] == 1 and summary(out)["success_rate"] is None
    run_dialogues(chosen, out, CaseBar(), models={"agent": FollowModel()})
    assert summary(out)["sessions"] == 1 and summary(out)["lost"] == 0


def test_a_folder_holds_one_run_and_grows(whole: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "grows"
    for limit in (2, 4):
        run_dialogues(options(data, limit=limit), out, CaseBar(), models={"agent": FollowModel()})
        assert summary(out)["sessions"] == limit
    with pytest.raises(InputError, match="--limit 3"):
        run_dialogues(options(data, limit=3), out, CaseBar(), models={"agent": FollowModel()})
    with pytest.raises(InputError, match="another run"):
        run_dialogues(options(data, method="react"), out, CaseBar(), models={"agent": FollowModel()})
    assert [row for row in records(whole) if row["id"] in {line["id"] for line in records(out)}] == records(out)


@pytest.mark.slow
def test_processes_give_the_records_that_one_process_gives(whole: Path, data: Path, tmp_path: Path) -> None:
    words = ["dialogue", "--data", data, "--trials", "3", "--concurrency", "2", "--out", tmp_path / "many"]
    assert main([str(word) for word in words]) == 0
    made = records(tmp_path / "many")
    assert len(made) == 18 and [row for row in made if row["trial"] == 0] == records(whole)
    assert summary(tmp_path / "many")["pass_k"].keys() == {"1", "2", "3"}


def test_a_silent_agent_does_nothing_and_scores_nothing(data: Path, tmp_path: Path) -> None:
    run_dialogues(options(data), tmp_path / "n", CaseBar(), models={"agent": Always(action("finish"))})
    made = summary(tmp_path / "n")
    assert made["success_rate"] == 0 and made["task_progress"] == 0 and made["tool_precision"] is None
    assert made["failures"] == {"missing_step": 6}


def test_an_agent_that_writes_at_once_is_stopped(data: Path, tmp_path: Path) -> None:
    args = {**goal(SCHEDULE, "appointment_booked").slots}
    args.pop("confirmed")
    hasty = Always(action("book_consultation", **args))
    for method, violated in (("react", True), ("flowagent+", False)):
        out = tmp_path / method.strip("+")
        run_dialogues(options(data, method=method, limit=1), out, CaseBar(), models={"agent": hasty})
        made = summary(out)
        assert (made["violations"] > 0) is violated and made["success_rate"] == 0
        assert made["stopped_rate"] == (0 if violated else 100)
    assert made["refusals"]["path"] > 0


def test_a_judge_has_columns_of_its_own(data: Path, tmp_path: Path) -> None:
    verdict = json.dumps({"reason": "x", "wishes": [{"done": True, "progress": 50}], "success": True})
    judge = Counted(Always(verdict))
    chosen = options(data, scope="single", judge="always")
    models = {"agent": FollowModel(), "judge": judge}
    run_dialogues(chosen, tmp_path / "j", CaseBar(), models=models)
    made = summary(tmp_path / "j")
    assert made["judged"]["judged"] == 5 and made["judged"]["success_rate"] == 100
    assert (made["judged"]["task_progress"] == 50 and made["judged"]["kappa"] is None) or made["success_rate"] < 100
    assert len(judge.requests) == 5 and "```text" in judge.requests[0].messages[-1].content
    replay_dialogues(tmp_path / "j", tmp_path / "again", options(data), CaseBar())
    assert (tmp_path / "again" / "records.jsonl").read_bytes() == (tmp_path / "j" / "records.jsonl").read_bytes()
    keys = [table.key for table in made_tables(["compliance"], [DialogueRun.read(tmp_path / "j")])]
    assert keys == ["compliance", "judged"]


def test_tools_fail_at_a_rate_that_the_seed_fixes(data: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run_dialogues(options(data, fail_tools=0.5), tmp_path / name, CaseBar(), models={"agent": FollowModel()})
    assert records(tmp_path / "one") == records(tmp_path / "two")
    trace = (tmp_path / "one" / "traces" / "s_appointment_booked.json").read_text()
    assert "unavailable" in trace


def test_other_procedures_replace_those_that_the_agent_is_given(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "procedures"
    folder.mkdir()
    shutil.copy(data / "workflows" / f"{SCHEDULE}.json", folder)
    chosen = options(data, procedures=folder, limit=1)
    made = run_dialogues(chosen, tmp_path / "p", CaseBar(), models={"agent": FollowModel()})
    assert made.procedures is not None and made.procedures.startswith("procedures ")
    with pytest.raises(InputError, match="give the same folder"):
        replay_dialogues(tmp_path / "p", tmp_path / "q", options(data), CaseBar())
    shutil.copy(data / "workflows" / f"{SCHEDULE}.json", folder / "other.json")
    with pytest.raises(InputError, match="no scenario of the data"):
        read_materials(chosen)


@pytest.mark.parametrize(
    "faults",
    [
        ("mid-exchange:3", "mid-record:2"),
        pytest.param(
            ("mid-manifest", "before-record", "mid-trace:2", "after-end:2", "mid-summary"), marks=pytest.mark.slow
        ),
    ],
)
def test_a_killed_run_loses_nothing(faults: tuple[str, ...], whole: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "k"
    words = ["flowmind", "dialogue", "--data", data, "--out", out, "--concurrency", "1"]
    for fault in faults:
        killed = forked.run(*words, env={**os.environ, "FLOWMIND_FAULT": fault})
        assert killed.returncode == -9, (fault, killed.stderr)
    assert forked.run(*words, env=os.environ).returncode == 0
    assert records(out) == records(whole) and summary(out) == summary(whole)
    for path in (out / "exchanges").iterdir():
        keys = [line["key"] for line in map(json.loads, path.read_text().splitlines()) if "key" in line]
        assert len(keys) == len({*keys}) and keys


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--data", "nowhere"], "no dialogue benchmark in this folder"),
        (["--data", "moon:x"], "there is no such source"),
        (["--method", "magic"], "--method"),
        (["--controllers", "paths"], "--controllers: unknown controller 'paths'"),
        (["--stages", "during"], "--stages: unknown stage 'during'"),
        (["--user", "free"], "--user-model: a free user needs a model"),
        (["--user-model", "m"], "--user-model: an agenda user needs no model"),
        (["--model", "search"], "--model search: it does not"),
        (["--judge", "follow"], "--judge follow"),
        (["--config", "complience"], "did you mean compliance"),
        (["--replay", "nowhere"], "no run in it"),
        (["--replay", "x", "--model", "follow"], "--model: --replay takes the settings of the run"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], line: str, data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    given = words if "--data" in words or "--replay" in words else [*words, "--data", str(data)]
    try:
        code = main(["dialogue", *given])
    except SystemExit as stop:
        code = int(stop.code or 0)
    said = capsys.readouterr().err.strip()
    assert code == 2 and line in said and "Traceback" not in said


def test_the_installed_grids_can_be_read_and_have_known_tables() -> None:
    grids = installed_grids()
    assert {"compliance", "compliance_embedded", "passk", "flowagent_table3_embedded"} <= grids.keys()
    for path in grids.values():
        grid = DialogueGrid.read(path)
        names = [name for name, _ in cells(grid, DialogueOptions())]
        assert len(names) == len({*names}) and names and {*grid.tables} <= TABLES.keys()
        if path.stem.endswith("_embedded"):
            assert {model.partition(":")[0] for model in grid.models} <= {"follow", "slips"}


def test_a_grid_runs_and_prints_its_tables(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = tmp_path / "g.toml"
    grid.write_text(
        'suite = "dialogue"\ntitle = "G"\ntables = ["compliance", "compared", "flowbench_table4"]\n'
        'models = ["slips:1"]\n[runs.one]\nmethod = "react"\nformat = "pdl"\n[runs.two]\nmethod = "flowagent+"\n'
    )
    words = ["dialogue", "--config", grid, "--data", data, "--limit", "3", "--out", tmp_path / "runs"]
    assert main([str(word) for word in words]) == 0
    out = capsys.readouterr().out
    assert "### Violations by controllers" in out and "slips:1 (no LLM) | flowagent+" in out
    assert "FlowBench, table 4" in out and "User: agenda." in out and "### Paper" in out
    assert (tmp_path / "runs" / "g.md").exists() and (tmp_path / "runs" / "slips1-react-pdl-limit3").is_dir()
    assert main([str(word) for word in [*words, "--method", "react"]]) == 2
    assert "--method: the grid sets method itself" in capsys.readouterr().err


def test_no_table_mixes_users_or_builds(whole: Path) -> None:
    run = DialogueRun.read(whole)
    other = DialogueRun(run.folder, {**run.settings, "user": "free", "user_model": "m"}, run.data, run.everything)
    built = DialogueRun(run.folder, run.settings, {**run.data, "name": "other"}, run.everything)
    tables = [
        table for table in made_tables(["flowagent_table3"], [run, other, built]) if table.key == "flowagent_table3"
    ]
    assert len(tables) == 3 and {len(table.rows) for table in tables} == {1}
    assert ["free (m)" in table.says for table in tables] == [False, True, False]


def test_the_papers_values_stand_in_tables_of_their_own() -> None:
    table = paper_table("flowagent_table3")
    assert table is not None and table.rows[3][:5] == ("GPT-4o", "flowagent", "67.7", "85.1", "80.6")
    assert paper_table("compliance") is None
    for key in TABLES:
        if (table := paper_table(key)) is not None:
            assert all(len(row) == len(table.head) for row in table.rows)


def test_names_and_orders() -> None:
    assert folder_name(DialogueOptions(model="slips:0.3", oow=True, limit=4)) == "slips0.3-flowagent+-pdl-oow-limit4"
    assert folder_name(DialogueOptions(controllers="path", stages="post")) == "follow-flowagent+-pdl-path-post"
    assert in_turn(["a1", "a2", "b1", "c1"], ["a", "a", "b", "c"]) == ["a1", "b1", "c1", "a2"]


def test_every_setting_has_a_flag() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    flags = {action.dest for action in parser._actions}
    assert {*DialogueOptions.model_fields} <= flags
    assert parse(["dialogue", "--oow"]).oow is True


def test_a_summary_is_made_again_from_the_records(whole: Path) -> None:
    before = (whole / "summary.json").read_bytes()
    (whole / "summary.json").unlink()
    summarize_dialogues(whole)
    assert (whole / "summary.json").read_bytes() == before
    assert DialogueFolder(whole, "session").records().keys() == {row["id"] for row in records(whole)}


def test_models_play_users_and_their_replies_are_kept(data: Path, tmp_path: Path) -> None:
    for user, text in (("worded", "Well, hello there."), ("free", f"I have to go. {MARKER}")):
        out, player = tmp_path / user, Counted(Always(text))
        chosen = options(data, user=user, user_model="always", limit=2)
        made = run_dialogues(chosen, out, CaseBar(), models={"agent": FollowModel(), "user": player})
        assert made.user == f"{user} (always)" and made.sessions == 2 and player.requests
        replay_dialogues(out, tmp_path / f"{user}_again", options(data), CaseBar())
        assert (tmp_path / f"{user}_again" / "records.jsonl").read_bytes() == (out / "records.jsonl").read_bytes()


def test_a_user_s_model_that_fails_loses_the_session(data: Path, tmp_path: Path) -> None:
    player = Counted(Always("Hello."), failing=range(1, 3))
    chosen = options(data, user="worded", user_model="always", limit=1)
    with pytest.raises(ModelUnavailable, match="does not answer"):
        run_dialogues(chosen, tmp_path / "u", CaseBar(), models={"agent": FollowModel(), "user": player})


def test_the_gold_turn_passes_and_another_one_does_not(data: Path, tmp_path: Path) -> None:
    copied = tmp_path / "data"
    shutil.copytree(data, copied)
    chosen: dict[str, Any] = {"method": "react", "format": "pdl"}
    run_dialogues(options(copied, **chosen), tmp_path / "s", CaseBar(), models={"agent": FollowModel()})
    rows = [row for id in ("s_appointment_booked", "r_sent") for row in references(tmp_path / "s", id, copied)]
    (copied / "references.jsonl").write_text("".join(f"{row.model_dump_json()}\n" for row in rows))
    made = run_dialogues(
        options(copied, level="turn", **chosen), tmp_path / "gold", CaseBar(), models={"agent": FollowModel()}
    )
    assert made.sessions == len(rows) > 10 and made.user == "recorded"
    assert (made.success_rate, made.tool_f1, made.parameter_f1, made.violations) == (100, 100, 100, None)
    booked, wrong = goal(SCHEDULE, "appointment_booked", 5), Always(action("find_hospital", hospital="Elmwood Clinic"))
    made = run_dialogues(
        options(copied, level="turn", **chosen), tmp_path / "wrong", CaseBar(), models={"agent": wrong}
    )
    assert made.success_rate == 0 and made.tool_f1 == 0
    hasty = Always(action("book_consultation", **{k: v for k, v in booked.slots.items() if k != "confirmed"}))
    kept = run_dialogues(
        options(copied, level="turn", method="flowagent+"), tmp_path / "kept", CaseBar(), models={"agent": hasty}
    )
    assert kept.success_rate == 0 and sum(row["refused"] for row in records(tmp_path / "kept")) > 0
    judge = Always(json.dumps({"reason": "x", "score": 7}))
    judged = run_dialogues(
        options(copied, level="turn", judge="always", limit=3, **chosen), tmp_path / "judged", CaseBar(),
        models={"agent": FollowModel(), "judge": judge},
    )  # fmt: skip
    assert judged.judged is not None and judged.judged.response_score == 7 and judged.judged.success_rate is None


def references(run: Path, id: str, data: Path) -> list[Reference]:
    """The turns of a session as references."""
    loaded = DialogueData.load(data)
    scenario = loaded.scenarios[loaded.sessions[id].goals[0].scenario]
    events = Trace.model_validate(json.loads((run / "traces" / f"{id}.json").read_text())["trace"]).events
    rows: list[Reference] = []
    for place, event in enumerate(events):
        shared: dict[str, Any] = {"id": f"{id}.{place}", "session": id, "oow": False, "events": events[:place]}
        if isinstance(event, Called):
            rows.append(Reference(**shared, call=event.call))
        elif isinstance(event, Said) and event.role == "agent":
            heard = hear(event.text, scenario, {})
            rows.append(Reference(**shared, text=event.text, asks=heard.asked))
    return rows


@pytest.mark.parametrize(
    ("name", "read", "count", "calls"), [("star", read_star, 130, 334), ("sgd", read_sgd, 123, 360)]
)
def test_recorded_dialogues_score_all_as_they_were_held(name: str, read: Any, count: int, calls: int) -> None:
    folder = FIXTURES / name
    if not folder.exists():
        pytest.skip(f"the dialogues of {name} are not on this machine")
    source = read(folder)
    total, right = Counts(), 0
    for id, events in source.data.recordings.items():
        row = source.data.sessions[id]
        world = world_of(source.data, row)
        assert world is not None
        for event in events:
            if isinstance(event, Called):
                asyncio.run(world.call(event.call))
        changes = state_changes(source.data.start(row), world.state)
        score = score_session(
            Trace(events=events, stop="finish"), source.golds[id], world.digest, changes, source.data.specs
        )
        total, right = total + score.calls, right + score.success
    assert right == len(source.data.recordings) == count
    assert total == Counts(matched=calls, given=calls, gold=calls)


@pytest.mark.parametrize("name", ["star", "sgd"])
def test_recorded_dialogues_are_held_without_verdicts_of_the_oracle(name: str, tmp_path: Path) -> None:
    if not (FIXTURES / name).exists():
        pytest.skip(f"the dialogues of {name} are not on this machine")
    chosen = DialogueOptions(data=f"{name}:{FIXTURES / name}", limit=3)
    made = run_dialogues(chosen, tmp_path / "s", CaseBar(), models={"agent": FollowModel()})
    assert made.sessions == 3 and made.violations is None and made.stopped_rate is None
    turn = chosen.model_copy(update={"level": "turn"})
    assert run_dialogues(turn, tmp_path / "t", CaseBar(), models={"agent": FollowModel()}).sessions == 3
    replay_dialogues(tmp_path / "t", tmp_path / "u", chosen, CaseBar())
    assert (tmp_path / "t" / "records.jsonl").read_bytes() == (tmp_path / "u" / "records.jsonl").read_bytes()


def test_report_prints_the_tables_of_dialogues(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(whole)]) == 0
    assert "follow, flowagent+, pdl; in workflow; user: agenda" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "make", "call"), [("sgd", write_sgd, 2), ("star", write_star, 2)])
def test_dialogues_of_our_own_in_published_formats(name: str, make: Any, call: int, tmp_path: Path) -> None:
    chosen = DialogueOptions(data=f"{name}:{make(tmp_path / 'data')}", method="react", format="pdl")
    materials = read_materials(chosen.model_copy(update={"level": "turn"}))
    assert sum(row.call is not None for row in materials.references) == call
    made = run_dialogues(chosen, tmp_path / "s", CaseBar(), models={"agent": FollowModel()})
    assert made.sessions == 2 and made.violations is None
    assert "violations" not in (tmp_path / "s" / "summary.md").read_text()
    assert made.success_rate == 100 and made.tool_f1 == 100, records(tmp_path / "s")
    turn = chosen.model_copy(update={"level": "turn"})
    gold = {row.id: row for row in materials.references}
    made = run_dialogues(turn, tmp_path / "t", CaseBar(), models={"agent": FollowModel()})
    assert made.sessions == sum(not row.oow for row in gold.values())


def test_every_table_of_sessions_is_made(whole: Path) -> None:
    run = DialogueRun.read(whole)
    keys = [key for key, (_, level, _) in TABLES.items() if level == "session"]
    made = {table.key: table for table in made_tables(keys, [run])}
    for key in {*keys} - {"compared", "passk", "flowagent_table4", "flowagent_figure5"}:
        assert made[key].rows and all(len(row) == len(made[key].head) for row in made[key].rows), key
    assert [row[:3] for row in made["flowbench_table2"].rows][-1] == ("all", "1", "2")
    turns = sum(record["score"]["turns"] for record in records(whole))
    assert made["flowagent_table1"].rows[0][1:6] == ("2", "6", str(turns), "1", "7")
