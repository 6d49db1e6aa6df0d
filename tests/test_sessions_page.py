"""The report on dialogues: its tables, its files, and its page of sessions in Chromium."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from report_runs import NASTY, make_folders
from selenium.webdriver.remote.webdriver import WebDriver
from test_report_page import DESK, PHONE, Reader, chromium
from tiny_dialogue import RESULTS, SCHEDULE, goal, session, write

from experiments.dialogue.kept_procedures import PROCEDURES
from experiments.dialogue.options import DialogueOptions
from experiments.dialogue.pages import MOST_BYTES, write_page
from experiments.dialogue.running import replay_dialogues, run_dialogues
from experiments.progress import CaseBar
from flowmind.base.checksums import read_document, write_document
from flowmind.cli.main import main
from flowmind.dialogue.following.follow import FollowModel
from flowmind.llm.testing import action
from flowmind.protocols import ChatRequest, Reply
from flowmind.trace.events import Said
from flowmind.trace.scenario import Intervention, Reference, Trigger

__all__ = ["chromium"]
BOOKED = goal(SCHEDULE, "appointment_booked")
ASIDE = Intervention(
    trigger=Trigger(on="turn", turn=2), type="irrelevant_answering", subtype="topic_shift", text=f"By the way: {NASTY}"
)
LATE = ASIDE.model_copy(update={"trigger": Trigger(on="turn", turn=14), "text": "It is late."})
SESSIONS = [
    session("booked", BOOKED, interventions=[ASIDE]),
    session("both", goal(RESULTS, "result_pending"), goal(SCHEDULE, "no_free_time", 2), interventions=[LATE]),
    session("unknown_hospital", goal(SCHEDULE, "hospital_not_listed"), interventions=[LATE]),
]


class Hasty:
    """An agent that books before it asks, in the sessions about an appointment; then it follows the procedure."""

    name = "follow"

    def __init__(self) -> None:
        self.inner = FollowModel()

    async def complete(self, request: ChatRequest) -> Reply:
        task = request.messages[-1].content
        if "Procedure: Schedule a Medical Consultation" in task:
            args = {name: value for name, value in BOOKED.slots.items() if name != "confirmed"}
            return Reply(text=action("book_consultation", **args), input_tokens=1, output_tokens=1)
        return await self.inner.complete(request)

    async def aclose(self) -> None:
        await self.inner.aclose()


def held(data: Path, out: Path, **settings: Any) -> Path:
    options = DialogueOptions.model_validate({"data": str(data), "oow": True, **settings})
    run_dialogues(options, out, CaseBar(), models={"agent": Hasty()})
    return out


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("dialogues") / "tiny", SESSIONS)


@pytest.fixture(scope="module")
def folders(data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("runs")
    return [held(data, root / name, method=method) for name, method in (("kept", "flowagent+"), ("free", "react"))]


@pytest.fixture(scope="module")
def page(folders: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report.html"
    size = write_page(folders, out)
    assert size == out.stat().st_size < MOST_BYTES
    return out


@pytest.fixture
def reader(chromium: WebDriver, page: Path) -> Iterator[Reader]:
    chromium.get_log("browser")
    yield Reader(chromium, page)
    assert chromium.get_log("browser") == []


def listed(reader: Reader) -> list[str]:
    return [button.text for button in reader.find("#list .id")]


def nodes(reader: Reader) -> dict[str, set[str]]:
    """The nodes of the drawing by the class that they have in the step in view."""
    kinds = ("passed", "due", "wrong")
    return {
        kind: {node.get_attribute("data-node") or "" for node in reader.find(f"#procedure [data-node].{kind}")}
        for kind in kinds
    }


def step_in_view(reader: Reader) -> int:
    return int(reader.one('.step[aria-current="step"]').get_attribute("data-step") or -1)


# The page


def test_a_refusal_is_struck_and_says_by_whom_why_and_what_came_instead(reader: Reader) -> None:
    reader.open("#0/booked/0")
    refused = reader.find(".step.refused")[0]
    assert reader.style(".step.refused .what", "text-decoration-line") == "line-through"
    text = refused.text
    assert re.search(r"refused by .*\bpath\b", text) and "book_consultation(" in text
    assert "comes first" in refused.find_element("css selector", ".reason").text
    follows = reader.run("return shown.steps.slice(shown.steps.findIndex(s => s.lane === 'refused') + 1)[0]")
    beginning = f"{follows['tool']}(" if follows["lane"] == "world" else follows["text"][:40]
    assert f"Then: {beginning}" in text
    refused.click()
    verdicts = reader.one("#detail dl").text
    assert "repetition\nallowed" in verdicts and "path\n" in verdicts and "comes first" in verdicts
    marked = nodes(reader)
    assert marked["wrong"] and marked["due"] and not marked["passed"] and not marked["wrong"] & marked["due"]
    assert "1 refused" in reader.one("#session").text and "violation" not in reader.one("#session").text


def test_a_violation_is_flagged_where_nothing_refuses(reader: Reader) -> None:
    reader.open("#1/booked/0")
    assert reader.find(".step.refused") == [] and reader.find(".advice") == []
    card = reader.find(".step.violation")[0]
    assert card.text.startswith("violation: the procedure does not allow this call here\nbook_consultation(")
    card.click()
    assert len(nodes(reader)["wrong"]) == 1


def test_advice_stands_in_the_margin_and_interventions_are_flagged(reader: Reader) -> None:
    reader.open("#0/booked/0")
    notes = reader.find(".advice")
    assert notes and "Advice" in notes[0].text
    assert not notes[0].find_element("css selector", "p").is_displayed()
    notes[0].find_element("css selector", "summary").click()
    assert "Due now" in notes[0].find_element("css selector", "p").text
    [flagged] = reader.find(".step.intervention")
    assert "out of workflow: irrelevant answering, topic shift" in flagged.text and NASTY in flagged.text


def test_texts_stay_texts(reader: Reader, page: Path) -> None:
    reader.open("#0/booked/0")
    assert NASTY in reader.one("#session").text
    assert reader.run("return window.taken") is None and reader.find("#session img, #session script") == []
    reader.run(
        "const s = document.createElement('script'); s.textContent = 'window.taken = 1'; document.body.append(s)"
    )
    assert reader.run("return window.taken") is None
    log = reader.driver.get_log("browser")
    assert log and all("Content Security Policy" in line["message"] for line in log)
    assert page.read_text().count("<script") == 2 and "http" not in page.read_text().replace("http-equiv", "").replace(
        "http://www.w3.org/", ""
    )


def test_the_nodes_follow_the_step_in_view(reader: Reader) -> None:
    reader.open("#0/booked/0")
    first = nodes(reader)
    assert first["due"] and not first["passed"]
    titles = reader.find("#procedure h3")
    assert [title.text for title in titles] != [""]
    calls = reader.find(".step.world")
    calls[0].click()
    after = nodes(reader)
    assert after["passed"] == first["due"] and after["due"] and after["due"] != first["due"]
    assert f"Passed: {', '.join(after['passed'])} · Due: " in reader.one("#detail .nodes").text
    calls[-1].click()
    assert after["passed"] < nodes(reader)["passed"]
    [*_, told] = [card for card in reader.find(".step.agent") if "answer:" in card.text]
    told.click()
    assert "appointment_booked" in "".join(nodes(reader)["passed"]), "the end is passed too"


def test_each_goal_has_its_procedure(reader: Reader) -> None:
    reader.open("#0/both/0")
    assert [goal.text.split(":")[0] for goal in reader.find(".goal")] == ["Goal 1", "Goal 2"]
    shown: list[str] = []
    for card in reader.find(".step"):
        card.click()
        shown.append(reader.one("#procedure h3").text)
    assert len(set(shown)) == 2


def test_sessions_are_filtered_and_found(reader: Reader) -> None:
    reader.open()
    assert len(listed(reader)) == 6 and reader.one("#count").text.startswith("6 of 6 sessions, ")
    every = [row.id for row in SESSIONS]
    for kind, expected, run in (
        ("with a refusal", every, "0"),
        ("with a violation", every, "1"),
        ("with an out-of-workflow event", ["booked", "booked"], "1"),
    ):
        reader.choose("show", kind)
        reader.until(lambda wanted=expected: listed(reader) == wanted)
        assert reader.hash.startswith(f"#{run}/"), kind
    reader.choose("show", "all sessions")
    reader.until(lambda: len(listed(reader)) == 6)
    reader.run("$('run').value = '1'; $('run').dispatchEvent(new Event('input'))")
    assert len(listed(reader)) == 3 and reader.hash.startswith("#1/")
    reader.one("#find").send_keys("By the way")
    assert listed(reader) == ["booked"]
    reader.one("#find").send_keys("x")
    assert listed(reader) == [] and reader.one("#session").text == "No session fits."
    assert reader.find("#procedure svg") == []


def test_the_keyboard_is_enough(reader: Reader) -> None:
    reader.open("#0/booked/0")
    reader.press("j")
    assert step_in_view(reader) == 0 and reader.run("return document.activeElement.dataset.step") == "0"
    reader.press("j", "j", "k", "\ue015")
    assert step_in_view(reader) == 2 and reader.hash == "#0/booked/2"
    assert reader.run("return document.querySelectorAll('.step[tabindex=\"0\"]').length") == 1
    assert reader.style('.step[aria-current="step"]', "outline-style") == "solid"
    reader.press("n")
    assert reader.hash == "#0/both/0" and reader.focused == "both"
    reader.press("p", "/")
    assert reader.run("return document.activeElement.id") == "find"
    reader.press("\ue00c")
    assert reader.run("return document.activeElement.id") != "find"
    reader.run("document.querySelector('#list button').focus()")
    reader.press("\ue015", "\ue015", "\ue013")
    assert reader.hash == "#0/both/0"
    assert reader.run("return document.activeElement.querySelector('.id').textContent") == "both"


def test_the_state_is_compared_with_what_it_should_be(reader: Reader) -> None:
    reader.open("#0/booked/0")
    state = reader.one("details.state")
    assert state.text.startswith("State: ") and "as it should be" in state.text
    assert not state.get_attribute("open")
    state.find_element("css selector", "summary").click()
    row = reader.find(".changes tbody tr")[0]
    assert row.text.startswith("✓ ") and "new: " in state.text
    reader.open("#0/unknown_hospital/0")
    assert reader.one(".state").text == "State: nothing changed, and nothing should."
    reader.open("#1/unknown_hospital/0")
    state = reader.one(".state")
    if "nothing changed" not in state.text:
        assert "not as it should be" in state.text and state.get_attribute("open")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits_the_window_and_can_be_read(size: tuple[int, int], scheme: str, reader: Reader) -> None:
    reader.open("#0/booked/0", size, scheme)
    assert not reader.wide
    lefts = reader.run(
        "return ['user', 'agent', 'world'].map(n => document.querySelector('.step.' + n).getBoundingClientRect().x)"
    )
    assert lefts[0] < lefts[1] and (lefts[1] < lefts[2]) is (size == DESK)
    assert reader.find(".step .lane")[0].is_displayed() is (size == PHONE)
    assert reader.one("#procedure").is_displayed() is (size == DESK)
    for selector in (".step.refused .reason", ".step.refused .what", ".step.user", ".advice", ".step .flag"):
        assert contrast(reader, selector) >= 4.5, selector


def contrast(reader: Reader, selector: str) -> float:
    """The contrast of a text with its ground, as WCAG defines it."""
    return reader.run(
        """
        const pixel = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
        const light = (colours) => {
          for (const colour of colours) { pixel.fillStyle = colour; pixel.fillRect(0, 0, 1, 1); }
          const [r, g, b] = [...pixel.getImageData(0, 0, 1, 1).data].map(v => v / 255)
            .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
          return .2126 * r + .7152 * g + .0722 * b;
        };
        const grounds = [];
        const text = document.querySelector(arguments[0]);
        for (let e = text; e; e = e.parentElement) grounds.unshift(getComputedStyle(e).backgroundColor);
        const ground = light(grounds), ink = light([...grounds, getComputedStyle(text).color]);
        return (Math.max(ground, ink) + .05) / (Math.min(ground, ink) + .05);
        """,
        selector,
    )


def test_the_tables_name_the_user_and_what_is_no_language_model(reader: Reader) -> None:
    reader.open()
    text = reader.one("#tables").text
    assert "Data: tiny, build " in text and "Simulated user: agenda." in text
    assert "follow (no LLM), flowagent+" in text and "not what a language model does" in text
    rows = reader.find("#tables tbody tr")
    assert len(rows) == 2 and "(3/3)" in rows[0].text and "[" in rows[0].text


# The files


def report(*words: object) -> int:
    return main(["report", *map(str, words)])


def test_the_command_prints_the_tables_and_writes_the_page(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shutil.copytree(folders[0], tmp_path / "run")
    assert report(run) == 0
    out = capsys.readouterr().out
    assert "wrongly refused %" in out and f"{run / 'report.html'} (" in out
    first = (run / "report.html").read_bytes()
    assert report(run) == 0 and (run / "report.html").read_bytes() == first
    (run / "report.html").unlink()
    capsys.readouterr()
    assert report("--tables", run) == 0 and "success %" in capsys.readouterr().out
    assert not (run / "report.html").exists()


def test_other_runs_have_their_report_and_a_link(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "runs"
    root.mkdir()
    make_folders(root)
    shutil.copytree(folders[0], root / "talk")
    assert report(root) == 0
    main_page, sessions = (root / "report.html").read_text(), (root / "sessions.html").read_text()
    assert '<a href="sessions.html">Sessions</a>' in main_page and '<a href="report.html">Other runs</a>' in sessions
    assert report(root, "--out", root / "sessions.html") == 2
    assert "give another file" in capsys.readouterr().err


def test_no_table_mixes_users_or_builds(folders: list[Path], data: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "tiny", SESSIONS[:1])
    second = held(other, tmp_path / "second", method="react")
    write_page([*folders, second], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert len(set(re.findall(r"Data: tiny, build (\w+)\.", text))) == 2


def test_runs_of_turns_have_tables_only(data: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(data, tmp_path / "data")
    said = Said(role="user", text="Hello, I would like to make an appointment.")
    row = Reference(id="r", session="booked", oow=True, events=(said,), text="Which hospital?")
    (copy / "references.jsonl").write_text(row.model_dump_json() + "\n")
    run = held(copy, tmp_path / "run", level="turn")
    write_page([run], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "Runs of turns" in text and "<script" not in text and 'id="list"' not in text


def test_a_run_without_an_answer_has_no_sessions(folders: list[Path], tmp_path: Path) -> None:
    run = shutil.copytree(folders[0], tmp_path / "run")
    rows = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    lost = [{"error": "the server does not answer", **without(row, "crc", "error", "score")} for row in rows]
    (run / "records.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in lost))
    write_page([run], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "3 sessions or turns had no answer from a model&#39;s endpoint" in text and "<script" not in text


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def test_a_run_keeps_its_procedures_and_writes_them_again(folders: list[Path], data: Path, tmp_path: Path) -> None:
    run = shutil.copytree(folders[0], tmp_path / "run")
    kept = (run / PROCEDURES).read_bytes()
    (run / PROCEDURES).unlink()
    write_page([run], tmp_path / "page.html")
    assert "no procedure is drawn" in (tmp_path / "page.html").read_text()
    replay_dialogues(run, run, DialogueOptions(data=str(data)), CaseBar())
    assert (run / PROCEDURES).read_bytes() == kept


def test_damage_is_one_line(folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, change, said in (
        ("traces/booked.json", None, "no such file, but the run has a record of this session"),
        ("traces/booked.json", {"trace": {"events": []}}, "no session can be read from it"),
        (PROCEDURES, {"procedures": {"x": {}}}, "no procedures can be read from it"),
        ("records.jsonl", {"id": "booked"}, "records.jsonl, line 1"),
        ("manifest.json", {"settings": {}}, "manifest.json"),
    ):
        run = shutil.copytree(folders[0], tmp_path / "run")
        damage(run / name, change)
        assert report(run) == 2
        err = capsys.readouterr().err
        assert said in err and err.count("\n") == 1, err
        shutil.rmtree(run)


def damage(path: Path, change: Mapping[str, Any] | None) -> None:
    if change is None:
        path.unlink()
    elif path.suffix == ".jsonl":
        path.write_text(json.dumps(change) + "\n")
    else:
        body = {**read_document(path, ""), **change} if path.name == "manifest.json" else dict(change)
        write_document(path, body, "trace")
