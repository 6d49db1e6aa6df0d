"""Rows of WorFBench from traces: what a build holds, what its filters take away, and that no damage goes unnoticed."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tiny import called, environment
from tiny_dialogue import RESULTS, SCHEDULE, goal, session, write

from experiments.worfbench.rows import read_rows
from flowbench_synth.cli import main
from flowbench_synth.worfbench.chains import chain_of, in_words, successful, without_names
from flowbench_synth.worfbench.faults import FAULTS, faults_of
from flowbench_synth.worfbench.graphs import Edge, count_orders, first_order, is_connected, off_path, reduced, with_ends
from flowbench_synth.worfbench.retrieval import distractors, document_of, read_tools_text, retrieved, tools_text
from flowmind.base import checksums as store
from flowmind.base.files import dump_json
from flowmind.evaluation.worfeval import bag_of_words
from flowmind.formats.node_edge import parse, to_text
from flowmind.formats.worfbench_rows import read_row, read_stored_rows
from flowmind.llm.faulty_server import Fault, FaultyServer
from flowmind.trace.events import Called, Trace
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec

Row = dict[str, Any]

# Traces of a shop


def spec(name: str, about: str, effect: str, *parameters: str) -> ToolSpec:
    properties = {parameter: {"type": "string"} for parameter in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return ToolSpec.model_validate({"name": name, "description": about, "parameters": schema, "effect": effect})


SPECS = {
    one.name: one
    for one in (
        spec("get_order", "Get an order by its number.", "read", "order"),
        spec("get_customer", "Look up the account of a customer.", "read", "customer"),
        spec("refund_order", "Pay the price of an order back to a card.", "write", "order", "card"),
        spec("send_mail", "Write a mail to an address.", "write", "address", "text"),
        spec("list_stores", "List all stores in a town.", "read", "town"),
        spec("weather_today", "Tell the weather of a town today.", "read", "town"),
    )
}


def event(tool: str, value: Any, **args: Any) -> Called:
    return Called(call=ToolCall(tool=tool, args=args), observation=Observation(value=value))


def refund(order: str, success: bool | None = None) -> Row:
    """A conversation that pays an order back and tells the customer."""
    customer, card, mail = f"C-{order}", f"card {order} of Ada", f"ada{order}@example.org"
    calls: list[tuple[str, Row, Any]] = [
        ("get_order", {"order": order}, {"customer": customer, "price": 40}),
        ("list_stores", {"town": "Turin"}, [f"store of {order}"]),
        ("get_customer", {"customer": customer}, {"card": card, "mail": mail}),
        ("refund_order", {"order": order, "card": card}, {"done": f"refund {order} is paid"}),
        ("send_mail", {"address": mail, "text": f"refund {order} is paid"}, {"sent": True}),
    ]
    return recorded(f"refund{order}", f"Pay order {order} back, tell me, and name the stores in Turin.", calls, success)


def recorded(id: str, request: str, calls: Sequence[tuple[str, Row, Any]], success: bool | None = None) -> Row:
    """A conversation in the format of chat completions."""
    messages: list[Row] = [{"role": "user", "content": request}]
    for number, (tool, args, value) in enumerate(calls):
        called = {"name": tool, "arguments": json.dumps(args)}
        messages.append(
            {"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": called}]}
        )
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(value)})
    messages.append({"role": "assistant", "content": "It is done."})
    return {"id": id, "messages": messages, **({} if success is None else {"success": success})}


def lines(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(dump_json(row) + "\n" for row in rows))
    return path


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def ran(*words: object) -> tuple[int, str, str]:
    """The command in this process."""
    out, told = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(told):
        code = main(["worfbench", *map(str, words)])
    return code, out.getvalue(), told.getvalue()


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([one.mcp() for one in SPECS.values()]))
    return path


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return lines(tmp_path / "shop.jsonl", [refund(str(number)) for number in range(4100, 4110)])


@pytest.fixture
def built(shop: Path, tools: Path, tmp_path: Path) -> Path:
    out = tmp_path / "built"
    code, _, told = ran("build", "--from", shop, "--tools", tools, "--out", out, "--quiet")
    assert (code, told) == (0, "")
    return out


# Graphs


def test_the_smallest_number_is_taken_first() -> None:
    assert first_order(4, [(0, 1), (1, 3), (1, 2), (2, 4), (3, 4), (4, 5)]) == [1, 2, 3, 4]
    assert first_order(3, [(3, 1)]) == [2, 3, 1]
    assert first_order(3, [(1, 2), (2, 3), (3, 2)]) == [1]


@pytest.mark.parametrize("seed", range(12))
def test_orders_and_reductions_are_those_of_brute_force(seed: int) -> None:
    random = Random(seed)
    count = random.randint(1, 6)
    pairs = [(one, other) for one in range(1, count + 1) for other in range(one + 1, count + 1)]
    edges = [pair for pair in pairs if random.random() < 0.4]
    orders = [
        order
        for order in itertools.permutations(range(1, count + 1))
        if all(order.index(one) < order.index(other) for one, other in edges)
    ]
    assert count_orders(count, edges, 10_000) == len(orders)
    assert count_orders(count, edges, 3) == min(3, len(orders))
    assert tuple(first_order(count, edges)) == min(orders)
    kept = reduced(count, edges)
    assert count_orders(count, kept, 10_000) == len(orders)
    for edge in kept:
        assert count_orders(count, [other for other in kept if other != edge], 10_000) > len(orders)
    whole = with_ends(count, kept)
    assert off_path(count, whole) == [] and is_connected(count, whole)


# Rules


def test_a_step_waits_for_what_it_reads_and_for_writes() -> None:
    calls = [
        event("get_order", {"customer": "C-881"}, order="4100"),
        event("list_stores", ["Via Po 7"], town="Turin"),
        event("get_customer", {"card": "card of Ada"}, customer="C-881"),
        event("refund_order", {"paid": 40}, order="4100", card="card of Ada"),
        event("get_order", {"customer": "C-881", "paid": True}, order="4100"),
    ]
    chain = chain_of(Trace(events=tuple(calls), stop="finish"), "Refund order 4100 in Turin.", SPECS, "write")
    assert chain.edges == ((0, 1), (0, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 6))
    assert chain.reasons == {"1,3": "reads", "2,4": "write", "3,4": "reads", "4,5": "write"}
    assert chain.steps[:4] == (
        'Get an order by its number, with order = "4100"',
        'List all stores in a town, with town = "Turin"',
        "Look up the account of a customer, with customer = customer from step 1",
        'Pay the price of an order back to a card, with order = "4100" and card = card from step 3',
    )


def test_without_writes_only_what_is_read_is_waited_for() -> None:
    calls = [event("list_stores", ["Via Po 7"], town="Turin"), event("weather_today", "rain", town="Turin")]
    trace = Trace(events=tuple(calls), stop="finish")
    assert chain_of(trace, "Stores and weather in Turin", SPECS, "write").edges == ((0, 1), (0, 2), (1, 3), (2, 3))
    unmarked = {name: one.model_copy(update={"effect": "unknown"}) for name, one in SPECS.items()}
    assert chain_of(trace, "Stores and weather in Turin", unmarked, "write").edges == ((0, 1), (1, 2), (2, 3))
    assert chain_of(trace, "Stores and weather in Turin", unmarked, "read").edges == ((0, 1), (0, 2), (1, 3), (2, 3))


def test_a_value_of_unknown_origin_may_come_from_any_result_before() -> None:
    calls = [event("list_stores", ["Via Po 7"], town="Turin"), event("weather_today", "rain", town="Moncalieri Est")]
    trace = Trace(events=tuple(calls), stop="finish")
    chain = chain_of(trace, "What is the weather at the stores of Turin?", SPECS, "write")
    assert chain.reasons == {"1,2": "unknown origin"}
    assert chain.steps[1] == "Tell the weather of a town today, with town = a value that is worked out"
    told = chain_of(trace, "Stores in Turin, and the weather in moncalieri est?", SPECS, "write")
    assert told.reasons == {} and told.steps[1].endswith('town = "Moncalieri Est"')


def test_failed_calls_graph_tools_and_repeated_reads_are_no_steps() -> None:
    failed = Called(call=ToolCall(tool="get_order"), observation=Observation.failed("tool_error", "no"))
    one, other = event("get_order", {"a": 1}, order="7"), event("get_order", {"a": 2}, order="7")
    write = event("refund_order", {}, order="7", card="c")
    graph = event("add_end_node", {}, output="x")
    trace = Trace(events=(failed, one, one, graph, other, write, one), stop="finish")
    kept, repeated = successful(trace, SPECS, "write")
    assert (list(kept.calls), repeated) == ([one, other, write, one], 1)


def test_no_step_has_the_name_of_a_tool(built: Path) -> None:
    rows = [row for part in ("train", "test") for row in rows_of(built / f"{part}.jsonl")]
    assert len(rows) == 10
    assert not [name for row in rows for name in SPECS if name in row["gold"]]
    assert in_words("getUserDetails") == in_words("get_user_details") == "get user details"
    assert (
        without_names("Call `get_order()` before sendMail. It is a mail")
        == "Call get order before send mail. It is a mail"
    )


# Retrieval


def test_a_step_retrieves_its_tool_and_distractors_are_like_the_task() -> None:
    names = distractors("Tell me the weather of today", ["get_order"], SPECS, 2, bag_of_words)
    assert names[0] == "weather_today" and len(names) == 2 and "get_order" not in names
    assert distractors("anything", list(SPECS), SPECS, 3, bag_of_words) == []
    tools = {name: document_of(one) for name, one in SPECS.items()}
    assert retrieved(["Get the order number 7", "Write a mail"], tools, bag_of_words) == ["get_order", "send_mail"]


def test_the_tools_of_a_row_can_be_read_back_in_every_form() -> None:
    text = tools_text(SPECS.values())
    assert read_tools_text(text) == {name: document_of(one) for name, one in SPECS.items()}
    published = (
        "[{'name': 'find', 'description': 'Find it', 'parameters': {'type': 'object', 'properties': {'key': {}}}}]"
    )
    assert read_tools_text(published) == {"find": "find. Find it. key"}
    assert read_tools_text("[{'api_name': 'getIt', 'api_description': 'Get', 'parameters': {'a': 1}}]") == {
        "getIt": "get it. Get. a"
    }
    assert read_tools_text("1. go to {recep}") == read_tools_text("{'VQA(a)': 'b'}") == {}


# Builds


def test_a_build_is_read_by_the_benchmark_and_repeated_byte_for_byte(built: Path, shop: Path, tools: Path) -> None:
    for part, count in (("train", 8), ("test", 2)):
        for definition in ("paper", "reference"):
            rows = read_rows(built / f"{part}.jsonl", definition).rows
            assert len(rows) == count
            assert {row.gold.edges for row in rows} == {((0, 1), (0, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 6))}
    again = built.with_name("again")
    code, out, _ = ran("build", "--from", shop, "--tools", tools, "--out", again)
    assert code == 0 and out.endswith(f"{again}: 8 training rows, 2 test rows\n")
    assert "| retrieval | 10 | 0 | 0.00 | 15.36 | – |" in out
    for path in built.iterdir():
        assert (again / path.name).read_bytes() == path.read_bytes()
    ran("build", "--from", shop, "--tools", tools, "--out", again, "--seed", 1)
    ids = [{row["id"] for row in rows_of(folder / "test.jsonl")} for folder in (built, again)]
    assert ids[0] != ids[1]
    assert ran("check", built)[0] == ran("check", again)[0] == 0


def test_each_filter_says_what_it_took_away(tools: Path, tmp_path: Path) -> None:
    order = ("get_order", {"order": "77"}, {"customer": "C-9"})
    twice = [("send_mail", {"address": "a@b.org", "text": "hello"}, {"sent": number}) for number in range(2)]
    blurred = spec("fetch_order_of_shop", "Get an order by its number", "read", "order").mcp()
    tools.write_text(json.dumps([*json.loads(tools.read_text()), blurred]))
    rows = [
        refund("4100"),
        refund("4101", success=False),
        recorded("single", "Get order 77", [order]),
        recorded("silent", "", [order, ("weather_today", {"town": "Turin"}, "rain")]),
        recorded("equal", "Mail hello to a@b.org twice", twice),
        recorded(
            "pair",
            "Get order (1,2), then mail (1,2) to a@b.org",
            [
                ("get_order", {"order": "(1,2)"}, {"customer": "C-9"}),
                ("send_mail", {"address": "a@b.org", "text": "(1,2)"}, {"sent": 1}),
            ],
        ),
        recorded("lost", "Get order 77 twice", [order, ("fetch_order_of_shop", {"order": "78"}, {"customer": "C-4"})]),
    ]
    out = tmp_path / "out"
    traces = lines(tmp_path / "traces.jsonl", rows)
    assert ran("build", "--from", f"shop={traces}", "--tools", tools, "--out", out, "--test-share", 0)[0] == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert {report["filter"]: report["reasons"] for report in manifest["filters"] if report["lost"]} == {
        "traces": {"it is marked as failed": 1, "fewer than 2 successful calls": 1, "the trace states no task": 1},
        "retrieval": {"a step does not retrieve its own tool": 1},
        "quality control": {"two steps have the same text": 1, "an edge stands among the steps": 1},
    }
    assert manifest["filters"][2]["examples"] == [
        "shop_lost: a step does not retrieve its own tool (step 2 retrieves get_order, not fetch_order_of_shop)"
    ]
    assert [report["given"] for report in manifest["filters"]] == [7, 4, 4, 3, 3, 1]
    assert [row["id"] for row in rows_of(out / "train.jsonl")] == ["shop_refund4100"]


def test_sources_are_balanced_split_and_held_out(shop: Path, tools: Path, tmp_path: Path) -> None:
    other = lines(tmp_path / "other.jsonl", [refund(str(number)) for number in range(5100, 5106)])
    out = tmp_path / "out"
    words = ("build", "--from", shop, "--from", f"far={other}", "--tools", tools, "--out", out, "--per-source", 5)
    assert ran(*words, "--held-out", "far", "--test-share", 0.4, "--quiet")[0] == 0
    train, test = (rows_of(out / f"{part}.jsonl") for part in ("train", "test"))
    assert [row["source"] for row in train] == ["shop"] * 3
    assert sorted((row["source"], row["held_out"]) for row in test) == [("far", True)] * 5 + [("shop", False)] * 2
    assert [row.held_out for row in read_rows(out / "test.jsonl", "paper").rows] == [row["held_out"] for row in test]
    assert ran("check", out)[0] == 0
    found = json.loads(ran("stats", out, "--json")[1])
    assert (found["rows"], found["held_out"], found["parts"]) == (10, 5, {"train": 3, "test": 7})
    assert {name: cell["group"] for name, cell in found["sources"].items()} == {"shop": "other", "far": "held_out"}


def test_rows_with_the_same_task_are_in_the_same_part(tools: Path, tmp_path: Path) -> None:
    rows = [refund("4100") | {"id": f"a{number}"} for number in range(5)] + [refund("4200")]
    out = tmp_path / "out"
    traces = lines(tmp_path / "t.jsonl", rows)
    assert ran("build", "--from", traces, "--tools", tools, "--out", out, "--test-share", 0.5, "--quiet")[0] == 0
    for part in ("train", "test"):
        assert {len({row["task"] for row in rows_of(out / f"{part}.jsonl")})} <= {0, 1}


def gold_row(id: str, query: str, calls: Sequence[Called], inputs: Row) -> tuple[Row, Row]:
    trace = Trace(inputs=inputs, events=tuple(calls), stop="finish", answer=calls[-1].observation.value)
    properties = {name: {"type": "string"} for name in inputs}
    task = {"id": id, "query": query, "inputs": {"type": "object", "properties": properties}, "tools": [*SPECS]}
    example = {"input": inputs, "output": trace.answer}
    return {**task, "examples": [example]}, {"id": id, "trace": trace.dump()}


def test_a_benchmark_and_a_run_are_sources(tmp_path: Path) -> None:
    calls = [event("get_order", {"customer": "C-12"}, order="12"), event("get_customer", {"a": "b"}, customer="C-12")]
    task, gold = gold_row("pay_back", "Who bought the order?", calls, {"order": "12"})
    bench, run = tmp_path / "bench", tmp_path / "run"
    (run / "traces").mkdir(parents=True)
    bench.mkdir()
    lines(bench / "instances.jsonl", [task])
    lines(bench / "gold.jsonl", [gold])
    lines(bench / "tools.jsonl", [one.model_dump(mode="json") for one in SPECS.values()])
    (bench / "manifest.json").write_text("{}")
    wrong = {**gold["trace"], "answer": "something else"}
    cut = {**gold["trace"], "stop": "turns"}
    store.write_document(
        run / "traces" / "pay_back.json", {"task": task, "traces": [gold["trace"], wrong, cut]}, "trace"
    )
    lines(run / "records.jsonl", [{"id": "pay_back"}])
    out = tmp_path / "out"
    words = ("build", "--from", bench / "gold.jsonl", "--from", run, "--tools", bench / "tools.jsonl", "--out", out)
    code, said, told = ran(*words, "--test-share", 0)
    assert (code, told) == (0, "")
    assert "it is marked as failed (1); it has no answer (1)" in said
    rows = rows_of(out / "train.jsonl")
    assert [row["id"] for row in rows] == ["bench_pay_back", "run_pay_back.1"]
    assert {row["task"] for row in rows} == {'Who bought the order?\n\nInputs:\n- order: "12"'}
    assert len({row["gold"] for row in rows}) == 1 and parse(rows[0]["gold"]).edges == ((0, 1), (1, 2), (2, 3))
    places = [row["place"] for row in rows_of(out / "calls.jsonl")]
    assert places == ["gold.jsonl: pay_back", "traces/pay_back.json, trace 1"]
    assert ran("check", out)[0] == 0


def test_the_sessions_of_a_dialogue_benchmark_are_a_source(tmp_path: Path) -> None:
    sessions = [
        session("one", goal(SCHEDULE, "appointment_booked")),
        session("two", goal(SCHEDULE, "appointment_booked", 3), goal(RESULTS, "report_sent", 4)),
    ]
    folder = write(tmp_path / "dialogues", sessions)
    out = tmp_path / "out"
    code, _, told = ran("build", "--from", folder, "--out", out, "--require-isolation", "none")
    assert code == 0, told
    golds = {row["id"]: row["golds"][0]["goals"] for row in rows_of(folder / "gold.jsonl")}
    records = rows_of(out / "calls.jsonl")
    assert records
    for record in records:
        of_session = golds[record["place"].removeprefix("session ")]
        calls = [call for gold in of_session for call in gold["calls"]]
        assert [made["call"] for made in record["trace"]["events"]] == calls
    assert ran("check", out)[0] == 0


def test_a_model_that_knows_the_gold_gets_everything_right_on_built_rows(built: Path, tmp_path: Path) -> None:
    golds = {row["task"]: row["gold"] for row in rows_of(built / "train.jsonl")}

    def answer(number: int, body: Row) -> str:
        asked = str(body["messages"][-1]["content"])
        return next(gold for task, gold in golds.items() if task in asked)

    with FaultyServer(answer) as server:
        words = (
            "worfbench",
            built / "train.jsonl",
            "--model",
            "m",
            "--base-url",
            server.url,
            "--out",
            tmp_path / "run",
        )
        assert called(*words).returncode == 0
    found = json.loads((tmp_path / "run" / "summary.json").read_text())["sources"]["shop"]
    assert (found["rows"], found["f1_chain"]["mean"], found["f1_graph"]["mean"]) == (8, 100.0, 100.0)


# Checks

FINE = "Node:\n1: get the order\n2: look up the customer\n3: pay it back\nEdge: (START,1) (START,2) (1,3) (2,3) (3,END)"


def reduced_row(gold: str, **other: Any) -> Row:
    return {
        "id": "row", "source": "toolbench", "task": "Pay order 7 back.", "tools_marker": "api_list:",
        "tools_text": "[{'name': 'get'}]", "gold": gold, **other,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("codes", "row"),
    [
        ("", reduced_row(FINE)),
        ("", reduced_row(FINE.replace("Edge:", "Graph:\nEdge:"))),
        ("empty_task", reduced_row(FINE, task=" ")),
        ("empty_tools", reduced_row(FINE, tools_text="")),
        ("format", reduced_row("First get the order.")),
        ("format", reduced_row("Node:\nEdge: (START,END)")),
        ("format", reduced_row("Node:\n1: a\n2: b\nEdge: none")),
        ("numbering", reduced_row(FINE.replace("3:", "4:").replace("3)", "4)").replace("(3,", "(4,"))),
        ("numbering unknown_step off_path not_connected", reduced_row(FINE.replace("\n3:", "\n4:"))),
        ("edge_among_steps other_text", reduced_row(FINE.replace("\nEdge:", "\nfirst (START,1)\nEdge:"))),
        ("other_text", reduced_row(FINE + "\nThis order does the task.")),
        ("equal_steps", reduced_row(FINE.replace("look up the customer", "Get  the order"))),
        ("unknown_step", reduced_row(FINE + " (3,7)")),
        ("wrong_end", reduced_row(FINE + " (END,1)")),
        ("duplicate_edge", reduced_row(FINE + " (1,3)")),
        ("size", reduced_row("Node:\n1: get the order\nEdge: (START,1) (1,END)")),
        ("cycle off_path", reduced_row(FINE.replace("(1,3)", "(1,3) (3,1)").replace("(3,END)", "(2,END)"))),
        ("cycle", reduced_row(FINE + " (3,1)")),
        ("not_connected off_path", reduced_row(FINE.replace("(START,2) ", "").replace("(2,3) ", ""))),
        ("off_path", reduced_row(FINE.replace("(START,2) ", ""))),
        ("order", reduced_row(f"{FINE.partition('Edge:')[0]}Edge: (START,1) (START,3) (1,END) (3,2) (2,END)")),
        ("format", {"id": "row", "source": "os"}),
    ],
)  # fmt: skip
def test_faults_are_found_in_both_forms(codes: str, row: Row, tmp_path: Path) -> None:
    code, out, _ = ran("check", lines(tmp_path / "rows.jsonl", [row]), "--json")
    assert (sorted(json.loads(out)["faults"]), code) == (sorted(codes.split()), 1 if codes else 0)
    if "gold" not in row or "empty" in codes:
        return
    user = f"Now it's your turn.\nTask: {row['task']}\n{row['tools_marker']}{row['tools_text']}"
    turns = [{"role": "user", "content": user}, {"role": "assistant", "content": row["gold"]}]
    published = {"id": "row", "source": "toolbench", "conversations": turns}
    packed = tmp_path / "rows.json.gz"
    packed.write_bytes(gzip.compress(json.dumps([published]).encode()))
    assert sorted(json.loads(ran("check", packed, "--json")[1])["faults"]) == sorted(codes.split())
    stored = read_row(published)
    assert not isinstance(stored, ValueError)
    assert (stored.task, stored.tools) == ("Pay order 7 back.", "[{'name': 'get'}]")


def test_a_check_counts_ids_and_says_what_is_wrong(tmp_path: Path) -> None:
    rows = [reduced_row(FINE), reduced_row(FINE), reduced_row(FINE + " (1,3)", id="b"), reduced_row(FINE, id="c")]
    path = lines(tmp_path / "rows.jsonl", rows)
    with path.open("a") as file:
        file.write("{\n")
    code, out, told = ran("check", path)
    assert (code, told) == (1, "")
    assert out.splitlines()[:3] == [
        f"format: 1 ({FAULTS['format']}): rows.jsonl, row 5",
        f"duplicate_id: 1 ({FAULTS['duplicate_id']}): row",
        f"duplicate_edge: 1 ({FAULTS['duplicate_edge']}): b",
    ]
    assert out.splitlines()[-1] == f"{path}: 5 rows, 3 faulty"


def mutants(steps: Sequence[str], edges: Sequence[Edge]) -> list[str]:
    """Golds that are damaged: an edge dropped, turned round or led elsewhere, a step dropped, renumbered or moved."""
    count = len(steps)
    made: list[tuple[Sequence[str], Sequence[Edge]]] = []
    for place, (one, other) in enumerate(edges):
        rest = [*edges[:place], *edges[place + 1 :]]
        ends = [(other, one), *((one, end) for end in range(1, count + 2)), *((end, other) for end in range(count + 1))]
        made += [(steps, rest), *((steps, [*rest, edge]) for edge in ends if edge != (one, other))]
    for place in range(count):
        shorter = [*steps[:place], *steps[place + 1 :]]
        number = place + 1
        led = {(a, b) for a, x in edges if x == number for y, b in edges if y == number}
        left = {edge for edge in edges if number not in edge} | led
        made.append((shorter, sorted((a - (a > number), b - (b > number)) for a, b in left)))
        if place + 1 < count:
            made.append(([*steps[:place], steps[place + 1], steps[place], *steps[place + 2 :]], edges))
    golds = [to_text(("START", *texts, "END"), pairs) for texts, pairs in made]
    whole = to_text(("START", *steps, "END"), edges)
    for number, step in enumerate(steps, 1):
        golds += [whole.replace(f"\n{number}: {step}", ""), whole.replace(f"\n{number}: ", f"\n{count + 1}: ")]
    same = sorted(set(edges))
    return [gold for gold in golds if not (gold.count(":") == whole.count(":") and _same(gold, steps, same))]


def _same(gold: str, steps: Sequence[str], edges: Sequence[Edge]) -> bool:
    try:
        graph = parse(gold)
    except ValueError:
        return False
    return graph.issues == () and graph.nodes[1:-1] == tuple(steps) and sorted(graph.edges) == edges


def test_every_damage_of_a_built_row_is_found(tools: Path, tmp_path: Path) -> None:
    traces, built = lines(tmp_path / "t.jsonl", [refund("4100")]), tmp_path / "built"
    assert ran("build", "--from", traces, "--tools", tools, "--out", built, "--test-share", 1, "--quiet")[0] == 0
    (row,) = rows_of(built / "test.jsonl")
    graph = parse(row["gold"])
    damaged = mutants(graph.nodes[1:-1], graph.edges)
    assert len(damaged) > 80
    alone = 0
    copies = [row | {"gold": gold} for gold in damaged]
    for copy in copies:
        lines(built / "test.jsonl", [copy])
        code, out, _ = ran("check", built, "--json")
        assert (code, [*json.loads(out)["about"]]) == (1, [row["id"]]), copy["gold"]
        stored = read_row(copy)
        assert not isinstance(stored, ValueError)
        alone += bool(faults_of(stored)[1])
    assert 0.5 * len(damaged) < alone < len(damaged)  # some damage leaves a sound graph, which only the calls refute


@pytest.mark.parametrize(
    ("code", "edit"),
    [
        ("no_row", lambda rows: rows[1:]),
        ("no_record", lambda rows: [*rows, rows[0] | {"id": "stranger"}]),
        ("other_task", lambda rows: [rows[0] | {"task": "Do something else."}, *rows[1:]]),
        ("other_task", lambda rows: [rows[0] | {"source": "other"}, *rows[1:]]),
        ("other_task", lambda rows: [rows[0] | {"tools_text": "[{\"name\": \"get_order\"}]"}, *rows[1:]]),
        ("other_steps", lambda rows: [rows[0] | {"gold": rows[0]["gold"].replace("Turin", "Rome")}, *rows[1:]]),
        ("duplicate_id", lambda rows: [rows[0], *rows]),
    ],
)  # fmt: skip
def test_a_built_folder_is_held_against_its_calls(
    code: str, edit: Callable[[list[Row]], list[Row]], built: Path
) -> None:
    path = built / "train.jsonl"
    lines(path, edit(rows_of(path)))
    exit_code, out, _ = ran("check", built, "--json")
    assert exit_code == 1 and code in json.loads(out)["faults"]


def test_statistics_are_those_of_the_rows(tmp_path: Path) -> None:
    parallel = "Node:\n1: a\n2: b\n3: c\nEdge: " + " ".join(f"(START,{n}) ({n},END)" for n in (1, 2, 3))
    chain = "Node:\n1: a\n2: b\nEdge: (START,1) (1,2) (2,END)"
    rows = [
        reduced_row(parallel, id="p"), reduced_row(chain, id="q", source="lumos"),
        reduced_row(chain, id="r", source="seal_tools"), reduced_row("none", id="s"),
    ]  # fmt: skip
    path = lines(tmp_path / "rows.jsonl", rows)
    found = json.loads(ran("stats", path, "--json")[1])
    assert (found["rows"], found["unread"], found["held_out"]) == (3, 1, 1)
    assert found["steps"] == {"2": 2, "3": 1}
    assert found["orders"] == {"5": 66.67, "10": 100.0, "20": 100.0, "50": 100.0, "100": 100.0}
    assert found["sources"]["toolbench"] == {
        "group": "function_call", "rows": 1, "steps_mean": 3.0, "steps_most": 3, "edges_mean": 6.0, "chains": 0.0
    }  # fmt: skip
    assert {name: cell["rows"] for name, cell in found["groups"].items()} == {
        "function_call": 1, "problem_solving": 1, "held_out": 1
    }  # fmt: skip
    assert (found["sources"]["seal_tools"]["group"], found["all"]["chains"]) == ("held_out", 66.67)
    assert "| 5 | 66.67 | 86.39 |" in ran("stats", path)[1]


# A model


def writing(number: int, body: Row) -> str:
    """What a model says: a sentence for each call, and edges in a line."""
    asked = str(body["messages"][-1]["content"])
    if "Write the edges" in asked:
        return "Edge: (START,1) (START,2) (1,3) (2,4) (3,4) (4,5) (5,END)"
    tool = asked.rpartition("Action: ")[2].split()[0]
    said = {
        "get_order": "Get the order by its number",
        "list_stores": "1. List the stores in the town of Turin",
        "get_customer": "Look up the account of the customer",
        "refund_order": "Pay the price of the order back to the card",
        "send_mail": "<think>An address.</think>\nWrite a mail to the address of the customer",
    }
    return said[tool]


def model_words(server: FaultyServer, traces: Path, tools: Path, out: Path) -> tuple[object, ...]:
    asked = ("--backend", "llm", "--model", "m", "--base-url", server.url, "--concurrency", 1, "--quiet")
    return ("build", "--from", traces, "--tools", tools, "--out", out, "--test-share", 0, *asked)


def test_a_model_writes_steps_and_edges_and_is_not_asked_twice(tools: Path, tmp_path: Path) -> None:
    traces, out = lines(tmp_path / "t.jsonl", [refund("4100")]), tmp_path / "out"
    with FaultyServer(writing) as server:
        words = model_words(server, traces, tools, out)
        assert ran(*words)[0] == 0
        assert len(server.requests) == 6
        first = {path.name: path.read_bytes() for path in out.iterdir()}
        assert ran(*words)[0] == 0
        assert len(server.requests) == 6
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first
    graph = parse(rows_of(out / "train.jsonl")[0]["gold"])
    assert graph.nodes[2:6:3] == ("List the stores in the town of Turin", "Write a mail to the address of the customer")
    assert graph.edges == ((0, 1), (0, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 6))
    asked = server.requests[1]["messages"]
    assert [message["role"] for message in asked] == ["system", *("user", "assistant") * 2, "user"]
    assert asked[-1]["content"].endswith(
        'Action: list_stores {"town":"Turin"}\nObservation: ["store of 4100"]\n\nWrite the subtask of call 2.'
    )
    assert ran("check", out)[0] == 0
    row = rows_of(out / "train.jsonl")[0]
    lines(out / "train.jsonl", [row | {"gold": row["gold"].replace("(2,4)", "(2,3)")}])
    assert "other_edges" in ran("check", out)[1]


def test_a_sentence_with_the_name_of_a_tool_is_asked_for_again(tools: Path, tmp_path: Path) -> None:
    def answer(number: int, body: Row) -> str:
        asked = str(body["messages"][-1]["content"])
        if asked.startswith("This names the function"):
            assert "Write the subtask of call 1" in asked
            return "Get the order by its number"
        said = writing(number, body)
        return "Call get_order" if said == "Get the order by its number" else said

    out = tmp_path / "out"
    with FaultyServer(answer) as server:
        assert ran(*model_words(server, lines(tmp_path / "t.jsonl", [refund("4100")]), tools, out))[0] == 0
        assert len(server.requests) == 7
    assert "1: Get the order by its number\n" in rows_of(out / "train.jsonl")[0]["gold"]


@pytest.mark.parametrize(
    ("reply", "lost", "reason"),
    [
        ("Edge: (START,2) (2,1) (1,3) (3,4) (4,5) (5,END)", "topological order", FAULTS["order"]),
        ("Edge: (START,1) (1,2) (2,3) (3,2) (3,4) (4,5) (5,END)", "topological order", FAULTS["cycle"]),
        ("Edge: (START,1) (1,3) (3,4) (4,5) (5,END)", "quality control", FAULTS["not_connected"]),
        ("Edge: (START,1) (1,9)", "edges", "the edges cannot be read: edge (1,9) names step 9, which is not"),
        ("I cannot say.", "edges", "the edges cannot be read: no edge such as (START,1) behind 'Edge:'"),
    ],
)
def test_what_a_model_gets_wrong_is_lost_to_the_right_filter(
    reply: str, lost: str, reason: str, tools: Path, tmp_path: Path
) -> None:
    def answer(number: int, body: Row) -> str:
        about = str(body["messages"][-1]["content"])
        return reply if "Write the edges" in about and "4101" in about else writing(number, body)

    out = tmp_path / "out"
    with FaultyServer(answer) as server:
        traces = lines(tmp_path / "t.jsonl", [refund("4100"), refund("4101")])
        assert ran(*model_words(server, traces, tools, out))[0] == 0
    reports = json.loads((out / "manifest.json").read_text())["filters"]
    assert {report["filter"]: report["reasons"] for report in reports if report["lost"]} == {lost: {reason: 1}}


def test_what_an_endpoint_fails_is_asked_again_by_the_same_command(tools: Path, tmp_path: Path) -> None:
    working = False

    def answer(number: int, body: Row) -> Fault | str:
        about = str(body["messages"][-1]["content"])
        return writing(number, body) if working or "4101" not in about else Fault(400, "no")

    out, traces = tmp_path / "out", lines(tmp_path / "t.jsonl", [refund("4100"), refund("4101")])
    with FaultyServer(answer) as server:
        words = model_words(server, traces, tools, out)
        code, _, told = ran(*words)
        assert (code, told) == (
            1,
            "flowbench_synth: 1 traces have no reply of the model; the same command asks again\n",
        )
        assert [row["id"] for row in rows_of(out / "train.jsonl")] == ["t_refund4100"]
        before, working = len(server.requests), True
        assert ran(*words)[0] == 0
        assert len(server.requests) == before + 6
    assert [row["id"] for row in rows_of(out / "train.jsonl")] == ["t_refund4100", "t_refund4101"]


def test_an_endpoint_that_stops_answering_ends_the_build_and_nothing_is_lost(tools: Path, tmp_path: Path) -> None:
    out, traces = tmp_path / "out", lines(tmp_path / "t.jsonl", [refund(str(number)) for number in range(4100, 4110)])
    with FaultyServer(lambda number, body: writing(number, body) if number < 8 else Fault(400, "no")) as server:
        code, _, told = ran(*model_words(server, traces, tools, out))
        assert code == 2 and "5 requests in a row were not answered" in told and told.count("\n") == 1
        assert len(server.requests) == 13
    with FaultyServer(writing) as server:
        assert ran(*model_words(server, traces, tools, out))[0] == 0
        assert len(server.requests) == 10 * 6 - 8


@pytest.mark.slow
def test_a_killed_build_repeats_no_request(tools: Path, tmp_path: Path) -> None:
    out, traces = tmp_path / "out", lines(tmp_path / "t.jsonl", [refund(str(number)) for number in range(4100, 4103)])
    reached, released = threading.Event(), threading.Event()

    def answer(number: int, body: Row) -> str:
        if number == 7:
            reached.set()
            released.wait(60)
        return writing(number, body)

    with FaultyServer(answer) as server:
        words = [*map(str, model_words(server, traces, tools, out))]
        command = [sys.executable, "-m", "flowbench_synth", "worfbench", *words]
        with subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL) as process:
            assert reached.wait(60)
            process.kill()
        released.set()
        assert ran(*words)[0] == 0
        assert len(server.requests) == 3 * 6 + 1  # the one that was on its way
    assert [row["id"] for row in rows_of(out / "train.jsonl")] == ["t_refund4100", "t_refund4101", "t_refund4102"]


# Bad input


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--from", "nowhere"), "--from nowhere: there is no such file or folder"),
        (("--from", "."), "--from .: this folder is no benchmark"),
        (("--from", "shop.jsonl", "--from", "x/shop.jsonl"), "give each source another name, as in NAME=x/shop.jsonl"),
        (("--from", "shop.jsonl", "--held-out", "far"), "--held-out far: it is none of the sources, which are shop"),
        (("--from", "shop.jsonl", "--test-share", "2"), "--test-share 2.0: give a number from 0 to 1"),
        (("--from", "shop.jsonl", "--per-source", "0"), "--per-source 0: give a number from 1 on"),
        (("--from", "shop.jsonl", "--distractors", "-1"), "--distractors -1: give a number from 0 on"),
        (("--from", "shop.jsonl", "--model", "m"), "--model needs --backend llm"),
        (("--from", "shop.jsonl", "--backend", "llm"), "--backend llm needs --model"),
        (("--from", "shop.jsonl", "--backend", "llm", "--model", "search"), "it is not a language model"),
        (("--from", "shop.jsonl", "--encoder", "e"), "--encoder: it is used with --similarity encoder only"),
        (("--from", "shop.jsonl", "--tools", "tools.txt.json"), "--tools tools.txt.json: "),
        (("--from", "empty.jsonl"), "empty.jsonl"),
        (("--from", "shop.jsonl", "--out", "shop.jsonl"), "--out shop.jsonl: this is a file"),
    ],
)
def test_a_build_that_cannot_be_made_is_one_line(
    words: Sequence[str], problem: str, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.parent)
    Path("empty.jsonl").write_text("")
    Path("tools.txt.json").write_text("{}")
    code, out, told = ran("build", *words)
    assert (code, out, told.count("\n")) == (2, "", 1)
    assert problem in told


def test_two_traces_with_one_id_are_refused(tools: Path, tmp_path: Path) -> None:
    first = lines(tmp_path / "x.jsonl", [refund("4100") | {"id": "y_z"}])
    second = lines(tmp_path / "x_y.jsonl", [refund("4100") | {"id": "z"}])
    code, _, told = ran("build", "--from", first, "--from", second, "--tools", tools, "--out", tmp_path / "out")
    assert (code, told) == (
        2, "flowbench_synth: --from: two traces have the id 'x_y_z'; give the sources other names, as in NAME=PATH\n"
    )  # fmt: skip


@pytest.mark.parametrize("command", ["check", "stats"])
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "no row in it"),
        (b"\x1f\x8bnothing", "the gzip archive is damaged"),
        (b"\xff\xfe", "not UTF-8 text"),
        (b"[1", "Expecting"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(command: str, content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    code, out, told = ran(command, path)
    assert (code, out, told.count("\n")) == (2, "", 1) and problem in told
    assert ran(command, tmp_path)[0] == 2
    assert ran(command, tmp_path / "nothing")[0] == 2


# The published rows


def fixture(name: str) -> Path:
    held = os.environ.get("FLOWMIND_FIXTURES")
    folder = Path(held) if held else Path(__file__).parents[2] / "shared" / "fixtures"
    if not (folder / "worfbench" / name).exists():
        pytest.skip("the published rows are not here (FLOWMIND_FIXTURES names the folder that has worfbench/)")
    return folder / "worfbench" / name


def test_the_known_faults_of_published_rows_are_found() -> None:
    rows = [row for row in read_stored_rows(fixture("reduced.jsonl.gz")).entries if not isinstance(row, ValueError)]
    found = {row.id: {fault.code for fault in faults_of(row)[1]} for row in rows}
    parsed = gzip.decompress(fixture("gold_parsed.jsonl.gz").read_bytes()).decode().splitlines()
    known = {row["id"]: row["issues"] for row in map(json.loads, parsed)}
    assert len(found) == len(known) == 1108

    def issue(name: str) -> set[str]:
        return {id for id, issues in known.items() if name in issues}

    def fault(code: str) -> set[str]:
        return {id for id, codes in found.items() if code in codes}

    assert fault("not_connected") == issue("not_connected")
    assert fault("numbering") == issue("numbering_not_1..n")
    assert fault("equal_steps") == issue("duplicate_node_text")
    assert fault("other_text") >= issue("edge_like_text_inside_node_lines_or_no_Edge_marker")
    assert len([id for id, codes in found.items() if codes]) == 72
