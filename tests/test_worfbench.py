"""WorFBench from the command line, on rows of our own and against a server on loopback."""

from __future__ import annotations

import gzip
import json
import math
import re
import signal
import threading
from pathlib import Path
from typing import Any

import forked
import pytest
from tiny import Done, Row, called, environment, files, records, told_last, typed

from experiments.worfbench.asking import Asking, judge
from experiments.worfbench.recording import RowRecord
from experiments.worfbench.rows import choose, read_rows
from experiments.worfbench.summing import Facts, known_as, published, summarize
from flowmind.agents.prompts import conversation
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.evaluation.statistics import mean_of
from flowmind.evaluation.worfeval import Part, StepGraph, bag_of_words
from flowmind.formats.node_edge import parse, parse_as_published
from flowmind.formats.worfbench_rows import GROUPS
from flowmind.llm.faulty_server import Fault, FaultyServer
from flowmind.protocols import Reply

# Data

SOURCES = ("toolbench", "lumos", "alfworld", "wikihow", "seal_tools")
JOBS = {"toolbench": "ring", "lumos": "count", "alfworld": "dust", "wikihow": "bake", "seal_tools": "post"}


def chain(*steps: str) -> str:
    listed = "\n".join(f"{number}: {step}" for number, step in enumerate(steps, 1))
    inner = " ".join(f"({number},{number + 1})" for number in range(1, len(steps)))
    return f"Node:\n{listed}\nEdge: (START,1) {inner} ({len(steps)},END)"


def parallel(*steps: str) -> str:
    edges = " ".join(f"(START,{number}) ({number},END)" for number in range(1, len(steps) + 1))
    return f"{chain(*steps).partition('Edge:')[0]}Edge: {edges}"


def steps_of(source: str, number: int) -> tuple[str, ...]:
    return tuple(f"{JOBS[source]} the {thing} of house {number}" for thing in ("bell", "lamp", "door"))


GOLD = {
    f"{source}_{number}": (chain if number else parallel)(*steps_of(source, number))
    for source in SOURCES
    for number in range(2)
}
"""Of each source a row of parallel steps and one of steps one after the other."""
IN_TURN = [f"{source}_{number}" for number in range(2) for source in SOURCES]


def reduced(id: str) -> Row:
    source, _, number = id.rpartition("_")
    return {
        "id": id,
        "source": source,
        "task_type": source,
        "task": f"Task: see to house {number} by {JOBS[source]}ing.",
        "tools_marker": "What you have:",
        "tools_text": "[{'name': 'hand'}]",
        "gold": GOLD[id],
    }


def original(id: str) -> Row:
    row = reduced(id)
    asked = f"Now it's your turn.\n{row['task']}\nOutput:\n\n{row['tools_marker']} {row['tools_text']}"
    turns = {"system": "You plan.", "user": asked, "assistant": row["gold"]}
    said = [{"role": role, "content": content} for role, content in turns.items()]
    return {"source": row["source"], "conversations": said, "target": "graph", "id": id, "category": "eval"}


def written(path: Path, *rows: Row) -> Path:
    path.write_text("".join(dump_json(row) + "\n" for row in rows))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", *map(reduced, GOLD))


def test_rows_are_read_in_either_form_packed_or_not(tmp_path: Path) -> None:
    rows = [reduced(id) for id in GOLD]
    plain = read_rows(written(tmp_path / "rows.jsonl", *rows), "paper")
    assert [row.id for row in plain.rows] == list(GOLD)
    assert plain.rows[0].text == "see to house 0 by ringing.\n\nWhat you have:\n[{'name': 'hand'}]"
    assert plain.rows[0].gold.nodes == ("START", *steps_of("toolbench", 0), "END")
    assert plain.rows[1].gold.edges == ((0, 1), (1, 2), (2, 3), (3, 4))
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress((tmp_path / "rows.jsonl").read_bytes()))
    assert read_rows(packed, "reference") == plain
    array = tmp_path / "graph_eval.json"
    array.write_text(json.dumps([original(id) for id in GOLD], indent=4))
    published_rows = read_rows(array, "paper").rows
    assert [row.model_copy(update={"text": ""}) for row in published_rows] == [
        row.model_copy(update={"text": ""}) for row in plain.rows
    ]
    assert published_rows[0].text == "see to house 0 by ringing.\n\nWhat you have: [{'name': 'hand'}]"


def test_a_gold_that_only_the_published_code_can_read_is_read_as_it_does(tmp_path: Path) -> None:
    chatty = f"{chain('wash', 'dry')}\nIn words:\n1. First wash.\n2. Then dry."
    twice = f"Node:\n1: wash\n2: dry\n1: wash again\n{chain('wash', 'dry').partition(chr(10) * 2)[0][-30:]}"
    with pytest.raises(ValueError, match="stands twice"):
        parse(twice)
    made = [reduced("lumos_0") | {"gold": gold, "id": f"row{number}"} for number, gold in enumerate((chatty, twice))]
    found = read_rows(written(tmp_path / "rows.jsonl", *made), "paper").rows
    assert found[0].gold.nodes == ("START", "wash", "dry", "END")
    assert found[1].gold.nodes == parse_as_published(twice).nodes


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "rows.jsonl: no row in it"),
        ("[1", "rows.jsonl: Expecting"),
        ("[]", "rows.jsonl: no row in it"),
        (dump_json(reduced("lumos_0")) + "\n{", "rows.jsonl, row 2: Expecting"),
        (dump_json(reduced("lumos_0")) + "\n" + dump_json(reduced("lumos_0")), "row 2: the id 'lumos_0' stands twice"),
        ('{"id": "a", "source": "os", "task": "t"}', "row 1: gold: Field required"),
        ('{"id": "a", "source": "os", "task": "t", "gold": "do it"}', "row 1: gold: no step in the text"),
        ('{"id": "a", "source": "os", "conversations": []}', "row 1: conversations: a message of the user"),
        ("7", "row 1: document: "),
        (b"\x1f\x8bnothing", "rows.jsonl: the gzip archive is damaged"),
        (b"\xff\xfe", "rows.jsonl: not UTF-8 text"),
    ],
)
def test_data_that_cannot_be_used_is_one_line(content: str | bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as told:
        read_rows(path, "paper")
    assert problem in str(told.value) and "\n" not in str(told.value)


def test_rows_are_taken_in_turn_from_the_sources(data: Path) -> None:
    read = read_rows(data, "paper")
    assert [row.id for row in choose(read, (), None)] == IN_TURN
    assert [row.id for row in choose(read, ("wikihow", "lumos"), 3)] == ["lumos_0", "wikihow_0", "lumos_1"]
    with pytest.raises(InputError, match="--sources: no row of os; the data has toolbench, lumos, alfworld"):
        choose(read, ("lumos", "os"), None)


# Prompts


def test_worked_examples_are_what_is_asked_for() -> None:
    whole, edges = conversation("worfbench"), conversation("worfbench_gold_chain")
    assert [part.role for part in whole] == [part.role for part in edges]
    assert [part.role for part in whole] == ["system", *("user", "assistant") * 2]
    for shown, given in zip(whole[2::2], edges[1::2], strict=True):
        read = parse(shown.content)
        assert (read.issues, read) == ((), parse_as_published(shown.content))
        steps = shown.content.partition("\nEdge:")[0]
        assert f"\n\n{steps}\n\nWrite the edges of these {len(read.nodes) - 2} steps." in given.content
    for shown, given in zip(whole[2::2], edges[2::2], strict=True):
        assert shown.content.endswith(f"\n{given.content}")
    assert [parse(part.content).edges[:2] for part in whole[2::2]] == [((0, 1), (0, 2)), ((0, 1), (1, 2))]


def test_a_question_has_the_form_of_the_worked_examples(data: Path) -> None:
    row = read_rows(data, "paper").rows[1]
    whole, edges = (Asking(gold_chain=given, seed=3).request(row) for given in (False, True))
    assert whole.messages[-1].content == f"Task:\n{row.text}\n\nWrite the workflow: Node, then Edge."
    listed = "\n".join(f"{number}: {step}" for number, step in enumerate(steps_of("toolbench", 1), 1))
    assert edges.messages[-1].content == f"Task:\n{row.text}\n\nNode:\n{listed}\n\nWrite the edges of these 3 steps."
    assert (whole.seed, whole.stop, whole.max_tokens, len(whole.messages)) == (3, ("\nTask:",), 1024, 6)
    for request in (whole, edges):
        shown = [message.content for message in request.messages if message.role == "user"]
        assert len({content.split("\n")[0] for content in shown}) == 1
        assert len({re.sub(r"\d+", "", content.split("\n")[-1]) for content in shown}) == 1


# Replies


@pytest.mark.parametrize(
    ("text", "chain_f1", "graph_f1", "malformed"),
    [
        (GOLD["toolbench_1"], 1.0, 1.0, None),
        (f"<think>Node: perhaps\nEdge: (1,2)</think>\n\n**Nodes:**{GOLD['toolbench_1'][5:]}", 1.0, 1.0, None),
        (GOLD["toolbench_0"].replace("house 0", "house 1"), 1.0, 2 / 3, None),
        (chain("boil water", "brew tea"), 0.0, 0.0, None),
        ("I am sorry.", 0.0, 0.0, "line 1: no heading 'Node:'"),
        ("<think>It never ends", 0.0, 0.0, "line 1: no heading 'Node:'"),
        (
            GOLD["toolbench_1"].replace("(3,END)", "(4,END)"),
            0.0,
            0.0,
            "line 5: edge (4,END) names step 4, which is not",
        ),
    ],
)
def test_a_reply_is_read_and_scored(
    text: str, chain_f1: float, graph_f1: float, malformed: str | None, data: Path
) -> None:
    row = read_rows(data, "paper").rows[1]
    found = judge(Reply(text=text), row, Asking(), "paper", bag_of_words)
    assert (found.chain.f1, found.graph.f1, found.malformed) == (chain_f1, pytest.approx(graph_f1), malformed)
    assert (found.predicted is None) == (malformed is not None)


@pytest.mark.parametrize("definition", ["paper", "reference"])
def test_with_the_gold_chain_only_edges_are_read(definition: Any, data: Path) -> None:
    row = read_rows(data, definition).rows[1]

    def said(text: str) -> tuple[float, float, bool]:
        found = judge(Reply(text=text), row, Asking(gold_chain=True), definition, bag_of_words)
        return found.chain.f1, found.graph.f1, found.malformed is not None

    assert said("Edge: (START,1) (1,2) (2,3) (3,END)") == (1.0, 1.0, False)
    assert said("(START,1) (1,2) (2,3) (3,END)") == (1.0, 1.0, False)
    assert said(f"Sure (as asked):\n{GOLD['lumos_1']}") == (1.0, 1.0, False)
    assert said("Edge: (START,1) (1,2) (3,END)")[1] < 1.0
    assert said("They follow one another.") == (0.0, 0.0, True)


def test_a_request_that_does_not_fit_is_malformed(data: Path) -> None:
    row = read_rows(data, "paper").rows[0]
    found = judge(Reply(text="too long", finish="context"), row, Asking(), "paper", bag_of_words)
    assert (found.malformed, found.graph.f1) == ("the request is longer than the model's context", 0.0)


# The metrics


def part(f1: float) -> Part:
    return Part(precision=f1, recall=f1, f1=f1)


def record(source: str, number: int, f1: float, **more: Any) -> RowRecord:
    held = {"id": f"{source}_{number}", "source": source, "gold_graph": StepGraph(nodes=("START", "END"))}
    return RowRecord(
        **{
            **held,
            "chain": part(f1),
            "graph": part(f1 / 2),
            "output_tokens": 10,
            "started_at": 0.0,
            "seconds": 2.0,
            **more,
        }
    )


FACTS = Facts(model="m", data="d", gold_chain=False, definition="paper", encoder="bow", temperature=0.5)


def test_groups_are_over_their_rows_and_the_average_is_over_the_groups() -> None:
    scores = {"toolbench": (0.9, 0.7, 0.5), "toolalpaca": (0.1,), "lumos": (0.6, 0.6), "alfworld": (0.2, 0.4)}
    scores |= {"wikihow": (0.0, 0.2), "seal_tools": (1.0, 1.0)}
    made = [record(source, number, f1) for source, row in scores.items() for number, f1 in enumerate(row)]
    found = summarize(made, FACTS)
    means = {name: cell.f1_chain and cell.f1_chain.mean for name, cell in found.groups.items()}
    assert means == {"function_call": 55.0, "problem_solving": 60.0, "embodied": 30.0, "open_grounded": 10.0}
    assert list(found.sources) == ["toolbench", "toolalpaca", "lumos", "alfworld", "wikihow", "seal_tools"]
    assert found.average is not None and found.average.f1_chain is not None and found.average.f1_graph is not None
    assert (found.average.f1_chain.mean, found.average.f1_graph.mean) == (38.75, 19.38)
    assert (found.average.rows, found.rows, found.average.f1_chain.of) == (10, 12, 10)
    raw = [mean_of([100 * f1 for f1 in row]) for row in ((0.9, 0.7, 0.5, 0.1), (0.6, 0.6), (0.2, 0.4), (0.0, 0.2))]
    half = math.hypot(*(mean.high - mean.mean for mean in raw if mean.high is not None)) / 4
    wide = found.groups["open_grounded"].f1_chain
    assert wide is not None and (wide.low, wide.high, raw[-1].high) == (0.0, 100.0, 137.06)
    interval = (found.average.f1_chain.low, found.average.f1_chain.high)
    assert interval == (0.0, pytest.approx(38.75 + half, abs=0.01))


def test_an_average_needs_all_groups_and_what_is_lost_is_in_no_mean() -> None:
    made = [record("toolbench", 0, 0.5), record("lumos", 0, 1.0), record("alfworld", 0, 1.0)]
    assert summarize(made, FACTS).average is None
    lost = record("wikihow", 0, 0.0, chain=None, graph=None, output_tokens=None, error="no answer")
    found = summarize([*made, lost], FACTS)
    assert (found.average, found.rows, found.lost) == (None, 3, 1)
    cell = found.groups["open_grounded"]
    assert (cell.rows, cell.lost, cell.f1_chain, cell.seconds, cell.malformed.of) == (0, 1, None, None, 0)
    whole = summarize([*made, record("wikihow", 1, 0.5, output_tokens=None, malformed="why")], FACTS)
    assert whole.average is not None and whole.average.f1_chain is not None
    assert (whole.average.f1_chain.mean, whole.average.f1_chain.low) == (75.0, None)
    assert (whole.average.output_tokens, whole.average.malformed.count) == (None, 1)


def test_the_papers_averages_are_the_means_of_its_groups() -> None:
    tables = published()
    assert len(tables["table1"]["rows"]) == 19
    for row in tables["table1"]["rows"]:
        for kind in range(2):
            mean = sum(row[name][kind] for name in GROUPS) / 4
            assert mean == pytest.approx(row["average"][kind], abs=0.011), row["model"]
    without = {row["model"]: row for row in tables["table1"]["rows"]}
    for row in tables["table5"]["rows"]:
        assert sum(row[name] for name in GROUPS) / 4 == pytest.approx(row["average"], abs=0.011)
        assert all(row[name] > without[row["model"]][name][1] for name in (*GROUPS, "average"))
    assert {row["model"] for row in tables["table2"]["rows"]} <= without.keys()


def test_a_model_of_the_paper_is_known_by_its_checkpoint() -> None:
    assert known_as("Qwen/Qwen2-7B-Instruct") == known_as("qwen-2-7b") == "Qwen-2-7B"
    assert known_as("qwen3-8b") is None


# The command


def capable(number: int, body: Row) -> str:
    """Gives the gold workflow, or its edges."""
    text = body["messages"][-1]["content"]
    house = re.search(r"see to house (\d) by (\w+)ing", text)
    assert house
    source = next(name for name, job in JOBS.items() if job == house[2])
    gold = GOLD[f"{source}_{house[1]}"]
    return gold[gold.index("Edge:") :] if "Write the edges" in text else gold


def words(server: FaultyServer, data: Path, run: Path, *more: object) -> tuple[object, ...]:
    told = ("worfbench", data, "--model", "m", "--base-url", server.url, "--out", run, "--concurrency", 1)
    return (*told, *more)


def summary(run: Path) -> Row:
    return json.loads((run / "summary.json").read_text())


def test_a_capable_model_has_everything_and_a_finished_run_is_left_as_it_is(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with FaultyServer(capable) as server:
        first = called(*words(server, data, run, "--concurrency", "auto"))
        asked, left = len(server.requests), files(run)
        second = called(*words(server, data, run, "--timeout", 5))
        assert len(server.requests) == asked == 10
    assert (first.returncode, second.returncode, second.stdout) == (0, 0, first.stdout)
    assert files(run) == left
    assert [row["id"] for row in records(run)] == IN_TURN
    found = summary(run)
    assert (found["rows"], found["lost"], found["data"], found["encoder"]) == (10, 0, "rows.jsonl", "bow")
    assert found["average"]["f1_graph"] == {"mean": 100.0, "low": 100.0, "high": 100.0, "of": 8}
    assert (run / "summary.md").read_text() in first.stdout
    assert "| held out: seal_tools | 2 | 100.0 [100, 100] | 100.0 [100, 100] | 0.0 % (0) | 5 |" in first.stdout
    assert "| **m, this run** | 100.00, 100.00 |" in first.stdout and "| GPT-4 | 74.87, 62.11 |" in first.stdout
    for note in ("word counts (bow), the paper's is all-mpnet-base-v2", "other worked examples", "10 rows of the 2146"):
        assert note in first.stdout
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["settings"]["mode"] == "worfbench" and manifest["settings"]["prompt"] == Asking().fingerprint
    assert manifest["benchmark"] == {"name": "rows.jsonl", "sha256": read_rows(data, "paper").sha256}


def test_the_gold_chain_leaves_the_edges_to_the_model(data: Path, tmp_path: Path) -> None:
    with FaultyServer(capable) as server:
        done = called(*words(server, data, tmp_path / "run", "--gold-chain", "--definition", "reference", "--limit", 5))
        shown = [body["messages"][-1]["content"] for body in server.requests]
    assert done.returncode == 0
    assert all("Write the edges of these 3 steps." in text and "Edge:" not in text for text in shown)
    assert [row["pred_graph"] for row in records(tmp_path / "run")] == [
        row["gold_graph"] for row in records(tmp_path / "run")
    ]
    assert "| m | rows | F1 graph | malformed |" in done.stdout
    assert "| **m, this run** | 100.00 |" in done.stdout and "| GPT-4 | 76.97 | 84.19 |" in done.stdout


def test_a_model_of_the_paper_stands_beside_its_values(data: Path, tmp_path: Path) -> None:
    with FaultyServer(capable, models=("Qwen2-7B-Instruct",)) as server:
        told = ("--base-url", server.url, "--out", tmp_path / "run")
        done = called("worfbench", data, "--model", "Qwen2-7B-Instruct", *told)
    assert "| **function call** | 2 | 100.0 [100, 100] | 100.0 [100, 100] | 70.79, 55.50 |" in done.stdout
    assert "| held out: seal_tools | 2 | 100.0 [100, 100] | 100.0 [100, 100] | 92.68, 74.75 |" in done.stdout


def test_malformed_replies_score_zero_and_records_can_be_scored_again(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"

    def answers(number: int, body: Row) -> Fault | str:
        if number == 3:
            return Fault(400, '{"error": {"message": "beyond the context length"}}')
        return "I cannot." if number == 2 else capable(number, body)

    with FaultyServer(answers) as server:
        done = called(*words(server, data, run))
    found = summary(run)
    assert (done.returncode, found["rows"], found["lost"]) == (0, 10, 0)
    assert {name: cell["f1_graph"]["mean"] for name, cell in found["groups"].items()} == {
        "function_call": 100.0,
        "problem_solving": 100.0,
        "embodied": 50.0,
        "open_grounded": 50.0,
    }
    assert found["average"]["f1_chain"]["mean"] == 75.0 and found["average"]["malformed"]["count"] == 2
    again = called("worfeval", run / "records.jsonl")
    assert again.stderr == "10 pairs, mean chain f1 0.8000, mean graph f1 0.8000; 2 malformed predictions count 0\n"


def test_lost_requests_are_counted_apart_and_asked_again(data: Path, tmp_path: Path) -> None:
    run, healed = tmp_path / "run", threading.Event()

    def answers(number: int, body: Row) -> Fault | str:
        sick = "house 0 by dusting" in body["messages"][-1]["content"] and not healed.is_set()
        return Fault(400, '{"error": {"message": "no room"}}') if sick else capable(number, body)

    with FaultyServer(answers) as server:
        first = called(*words(server, data, run))
        told, asked = summary(run), len(server.requests)
        held = {row["id"]: row["error"] for row in records(run) if row["error"]}
        healed.set()
        second = called(*words(server, data, run))
        assert len(server.requests) == asked + 1
    assert (first.returncode, second.returncode) == (0, 0)
    assert list(held) == ["alfworld_0"] and "no room" in held["alfworld_0"]
    assert (told["rows"], told["lost"], told["groups"]["embodied"]["f1_graph"]["mean"]) == (9, 1, 100.0)
    assert "1 more rows have no answer from the model's endpoint" in first.stdout
    assert (summary(run)["rows"], summary(run)["lost"]) == (10, 0)
    assert [row["id"] for row in records(run)] == IN_TURN


def test_an_endpoint_that_is_gone_ends_the_run_in_one_line(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"

    def answers(number: int, body: Row) -> Fault | str:
        return capable(number, body) if number < 3 else Fault(400, '{"error": {"message": "gone"}}')

    with FaultyServer(answers) as server:
        done = called(*words(server, data, run))
    assert (done.returncode, done.stdout) == (2, "")
    assert " failed 5 cases in a row, last with: " in told_last(done)
    assert [row["id"] for row in records(run)] == IN_TURN[:3]
    assert summary(run)["rows"] == 3


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (("--temperature", 0.5), "settings: temperature was 0.0, is 0.5"),
        (("--gold-chain",), 'settings: mode was "worfbench", is "worfbench-gold-chain"'),
        (("--definition", "reference"), 'settings: definition was "paper", is "reference"'),
        (("--limit", 3), "settings: limit was 2, is 3"),
        (("--sources", "toolbench,lumos"), 'settings: sources was [], is ["toolbench","lumos"]'),
    ],
)
def test_other_settings_are_refused_in_the_same_folder(
    flags: tuple[object, ...], problem: str, data: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with FaultyServer(capable) as server:
        assert called(*words(server, data, run, "--limit", 2)).returncode == 0
        left = files(run)
        done = called(*words(server, data, run, "--limit", 2, *flags))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"{run}: the folder holds another run ({problem})" in done.stderr
    assert files(run) == left


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (("--model", "search"), "--model search: it is not a language model"),
        (("--model", "m", "--encoder", "x"), "--encoder: it is used with --similarity encoder only"),
        (("--model", "m", "--limit", "0"), "--limit: Input should be greater than or equal to 1"),
        (("--model", "m", "--reply-tokens", "1"), "--reply-tokens: Input should be greater than or equal to 16"),
        (("--model", "m", "--sources", "os"), "--sources: no row of os"),
        (("--model", "m", "--base-url", "http://127.0.0.1:1/v1"), "model 'm': nothing answers at"),
    ],
)
def test_what_cannot_be_run_is_one_line(flags: tuple[str, ...], problem: str, data: Path, tmp_path: Path) -> None:
    done = called("worfbench", data, "--out", tmp_path / "run", *flags)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert problem in done.stderr
    assert not (tmp_path / "run" / "records.jsonl").exists()


def test_an_interrupted_run_goes_on_where_it_was(data: Path, tmp_path: Path) -> None:
    run, reached, released = tmp_path / "run", threading.Event(), threading.Event()

    def answers(number: int, body: Row) -> str:
        if number == 2:
            reached.set()
            released.wait(60)
        return capable(number, body)

    with FaultyServer(answers) as server:
        told = words(server, data, run)
        process = forked.Popen("flowmind.cli", *told, env=environment())
        try:
            assert reached.wait(60)
            second = called(*told)
            assert told_last(second) == f"flowmind: {run}: another process is running in this folder"
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
        finally:
            released.set()
            process.kill()
            process.close()
        assert (process.returncode, out) == (130, "")
        assert errors.splitlines()[-1].startswith("flowmind: interrupted after 2 of 10 rows; the same command goes on ")
        assert "Traceback" not in errors
        assert [row["id"] for row in records(run)] == IN_TURN[:2]
        with (run / "records.jsonl").open("ab") as file:
            file.write(b'{"id":"torn')
        asked = len(server.requests)
        done: Done = typed(*told)
        assert (done.returncode, len(server.requests) - asked) == (0, 8)
    assert [row["id"] for row in records(run)] == IN_TURN
