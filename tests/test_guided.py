"""Agents that are given a workflow: knowledge from workflows, the chain agent, the modes of `flowmind exp`."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tiny import NUMBERS, Done, Row, answer, called, files, records, summary, task_in, tiny_benchmark, told_last

from experiments.analyses import analyse
from experiments.grid import Grid, cells
from experiments.knowledge import read_knowledge
from experiments.loading import Loaded
from experiments.naming import folder_name, variant_of
from experiments.options import Experiment, RunOptions
from flowmind.agents import prompts
from flowmind.agents.chain import ChainAgent
from flowmind.agents.turns import Budget
from flowmind.api.solving import ExecuteSummarize, solve
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.build.brief import chain_brief
from flowmind.build.executions import Guide
from flowmind.build.settings import BUILDING, GUIDED, MODES, Settings
from flowmind.evaluation.calls import call_accuracy
from flowmind.evaluation.retrieval import Retriever
from flowmind.evaluation.worfeval import bag_of_words
from flowmind.formats.knowledge import knowledge_from, knowledge_of
from flowmind.llm.faulty_server import Fault, FaultyServer
from flowmind.llm.search.model import SearchModel
from flowmind.llm.search.thinking import Thinker
from flowmind.llm.testing import ScriptedChat, action
from flowmind.protocols import ChatRequest, Knowledge, Reply
from flowmind.trace.events import Planned, Trace
from flowmind.trace.task import Example, Task
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.callables import tool
from tools_registry.sandbox.environments import FunctionEnvironment
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.specs.spec import ToolCall, ToolSource

SOURCE = '''
from flowmind import tool

@tool(effect="read")
def double(n: int) -> int:
    """Double a whole number."""
    return 2 * n

@tool(effect="read")
def square(n: int) -> int:
    """Multiply a whole number by itself."""
    return n * n

@tool(effect="read")
def total(numbers: list[int]) -> int:
    """Add up a list of numbers."""
    return sum(numbers)
'''
FIND = Retriever(bag_of_words)
TASK = Task(
    id="sums",
    query="Add the double of n and its square.",
    inputs={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    tools=("double", "square", "total"),
    examples=(
        Example(input={"n": 3}, output=15),
        Example(input={"n": 5}, output=35),
        Example(input={"n": 2}, output=8),
    ),
)


def workflow(*nodes: Row, edges: Sequence[tuple[str, str] | tuple[str, str, bool]] = ()) -> Workflow:
    """A workflow of n; by default its nodes follow one another."""
    every = [{"id": "start", "kind": "start"}, *nodes]
    pairs = edges or [(one["id"], other["id"]) for one, other in itertools.pairwise(every)]
    listed = [{"from": one, "to": other, **({"when": more[0]} if more else {})} for one, other, *more in pairs]
    return Workflow.model_validate({"name": "sums", "inputs": TASK.inputs, "nodes": every, "edges": listed})


def call(id: str, name: str, **args: Any) -> Row:
    return {"id": id, "kind": "tool", "tool": name, "args": args, "output": id}


SUMS = workflow(
    call("twice", "double", n={"var": "n"}),
    call("squared", "square", n={"var": "n"}),
    call("sum", "total", numbers={"list": [{"var": "twice"}, {"var": "squared"}]}),
    {"id": "end", "kind": "end", "output": {"var": "sum"}},
)


@pytest.fixture(scope="module")
def tools() -> Iterator[LocalSandbox]:
    with LocalSandbox(ToolSource.parse_all(SOURCE)) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def known(tools: LocalSandbox) -> Knowledge:
    return knowledge_of(SUMS, tools.specs)


# Workflows as knowledge


def test_steps_name_no_tool_and_have_the_dependencies_of_their_values(known: Knowledge) -> None:
    assert known.text == (
        "Node:\n1: Double a whole number, with n = n. Call the result twice.\n"
        "2: Multiply a whole number by itself, with n = n. Call the result squared.\n"
        "3: Add up a list of numbers, with numbers = the list of twice and squared. Call the result sum.\n"
        "Edge: (START,1) (START,2) (1,3) (2,3) (3,END)"
    )
    assert [step.tools for step in known.steps] == [("double",), ("square",), ("total",)]
    assert known.edges == ((0, 2), (1, 2))


def test_a_step_that_may_change_something_stands_between_those_before_and_after_it(tools: LocalSandbox) -> None:
    unsure = {**tools.specs, "square": tools.specs["square"].model_copy(update={"effect": "unknown"})}
    assert knowledge_of(SUMS, unsure).edges == ((0, 1), (1, 2))


def test_values_that_pass_through_assignments_are_dependencies(tools: LocalSandbox) -> None:
    passed = workflow(
        call("twice", "double", n={"var": "n"}),
        {"id": "more", "kind": "assign", "expr": "twice + 1", "output": "more"},
        call("squared", "square", n={"var": "more"}),
        {"id": "end", "kind": "end", "output": {"var": "squared"}},
    )
    assert knowledge_of(passed, tools.specs).edges == ((0, 1),)


def test_with_conditions_the_edges_are_those_of_the_order(tools: LocalSandbox) -> None:
    either = workflow(
        {"id": "big", "kind": "condition", "expr": "n > 3"},
        {**call("one", "double", n={"var": "n"}), "output": "result"},
        {**call("other", "square", n={"var": "n"}), "output": "result"},
        call("sum", "total", numbers={"list": [{"var": "result"}]}),
        {"id": "end", "kind": "end", "output": {"var": "sum"}},
        edges=[
            ("start", "big"), ("big", "one", True), ("big", "other", False), ("one", "sum"), ("other", "sum"),
            ("sum", "end"),
        ],
    )  # fmt: skip
    assert knowledge_of(either, tools.specs).edges == ((0, 2), (1, 2))


def test_other_formats_are_those_of_convert(tools: LocalSandbox) -> None:
    told = knowledge_of(SUMS, tools.specs, "text")
    assert "1. Double a whole number (double with n = n). Call the result twice." in told.text
    assert told.steps == knowledge_of(SUMS, tools.specs).steps


def test_steps_of_a_model_are_put_in_topological_order() -> None:
    known = knowledge_from(["last", "first\nof all", "middle"], [(1, 2), (2, 0), (1, 0), (1, 2)])
    assert [step.text for step in known.steps] == ["first of all", "middle", "last"]
    assert known.edges == ((0, 1), (0, 2), (1, 2))
    assert known.text.endswith("Edge: (START,1) (1,2) (1,3) (2,3) (3,END)")
    for texts, edges, problem in ((["a", "b"], [(0, 1), (1, 0)], "cycle"), ([], [], "no step"), (["a"], [(0, 1)], "1")):
        with pytest.raises(ValueError, match=problem):
            knowledge_from(texts, edges)


# Retrieval and accuracy


def test_the_most_similar_tool_comes_first_and_equal_ones_in_their_order(tools: LocalSandbox) -> None:
    specs = list(tools.specs.values())
    assert next(spec.name for spec in FIND.ranked("Multiply the whole number by itself", specs)) == "square"
    assert FIND.ranked("nothing alike", specs) == specs
    assert FIND.ranked("nothing", []) == []


@pytest.mark.parametrize(
    ("made", "gold", "accuracy"),
    [
        ("a1 b2", "b2 a1", (1.0, 1.0)),
        ("a1 b3", "a1 b2", (0.5, 1.0)),
        ("a1", "a1 b2", (0.5, 0.5)),
        ("a1 a1 a1 a1", "a1 a2", (0.25, 0.5)),
        ("c1", "a1", (0.0, 0.0)),
        ("", "a1", (0.0, 0.0)),
        ("", "", (1.0, 1.0)),
    ],
)
def test_calls_are_compared_as_multisets(made: str, gold: str, accuracy: tuple[float, float]) -> None:
    def calls(text: str) -> list[ToolCall]:
        return [ToolCall(tool=word[0], args={"x": int(word[1])}) for word in text.split()]

    assert call_accuracy(calls(made), calls(gold)) == accuracy


def test_arguments_are_equal_as_json_values() -> None:
    one = ToolCall(tool="a", args={"x": 1.0, "y": [{"k": 2, "l": 3}]})
    same = ToolCall(tool="a", args={"y": [{"l": 3.0, "k": 2}], "x": 1})
    assert call_accuracy([one], [same]).calls == 1.0
    assert call_accuracy([one], [ToolCall(tool="a", args={"x": True, "y": [{"k": 2, "l": 3}]})]).calls == 0.0


# The agent


SCRIPT = [
    "Double 3.", action("double", n=3), "Square 3.", action("square", n=3), "Both.", action("total", numbers=[6, 9]),
    action("finish", answer=15),
]  # fmt: skip


def worked(
    chat: Any, known: Knowledge, environment: Any, parallel: bool = False, budget: Budget | None = None
) -> Trace:
    agent = ChainAgent(FIND, parallel, chat, budget)
    return asyncio.run(agent.execute(chain_brief(TASK, 0, known), environment))


def test_each_step_is_a_thought_and_a_call_of_the_tool_that_was_found(known: Knowledge, tools: LocalSandbox) -> None:
    chat = ScriptedChat(SCRIPT)
    trace = worked(chat, known, tools)
    assert (trace.stop, trace.answer) == ("finish", 15)
    assert [event.call.tool for event in trace.calls] == ["double", "square", "total"]
    assert [(event.phase, event.turn) for event in trace.calls] == [(0, 1), (1, 3), (2, 5)]
    assert [turn.step for turn in trace.turns] == [1, 1, 2, 2, 3, 3, 0]
    assert isinstance(trace.events[0], Planned) and trace.events[0].steps == tuple(step.text for step in known.steps)
    assert [request.reply for request in chat.requests] == ["text", "action"] * 3 + ["action"]
    shown = [{spec.name for spec in request.tools} for request in chat.requests]
    assert shown == [{"double"}, {"double"}, {"square"}, {"square"}, {"total"}, {"total"}, set()]
    begin = len(prompts.conversation("chain_step"))
    for request in chat.requests[1:6:2]:
        texts = "\n".join(message.content for message in request.messages[begin:])
        (offered,) = (spec.name for spec in request.tools)
        assert {name for name in tools.specs if f"{name}(" in texts} == {offered}


def test_a_step_sees_the_results_of_those_that_it_needs_and_no_others(known: Knowledge, tools: LocalSandbox) -> None:
    chat = ScriptedChat(SCRIPT)
    worked(chat, known, tools)
    second, third = (chat.requests[number].messages[-1].content for number in (2, 4))
    assert "Results so far: none" in second
    assert "Step 1 (Double a whole number, with n = n. Call the result twice.): 6" in third and "): 9" in third
    assert "15" not in third, "the answer of the example that it works on is not shown"


def test_the_worked_examples_are_what_the_agent_sends() -> None:
    def keep_words(text: str, count: int) -> str:
        """Keep the first words of a text."""
        return " ".join(text.split()[:count])

    def upper_case(text: str) -> str:
        """Write a text in capital letters."""
        return text.upper()

    task = Task(
        id="note",
        query="A note is cut to its first words: as many as the number says. The result is written in capital letters.",
        inputs={
            "type": "object",
            "properties": {
                "note": {"type": "string", "description": "The note."},
                "number": {"type": "integer", "description": "How many words to keep."},
            },
            "required": ["note", "number"],
        },
        examples=(
            Example(input={"note": "bring milk and bread home", "number": 3}, output="BRING MILK AND"),
            Example(input={"note": "call Ann today", "number": 2}, output="CALL ANN"),
        ),
    )
    nodes = (
        call("short", "keep_words", text={"var": "note"}, count={"var": "number"}),
        call("loud", "upper_case", text={"var": "short"}),
        {"id": "end", "kind": "end", "output": {"var": "loud"}},
    )
    own = workflow(*nodes).model_copy(update={"inputs": task.inputs})
    environment = FunctionEnvironment([keep_words, upper_case])
    step, end = prompts.conversation("chain_step"), prompts.conversation("chain_answer")
    cut = action("keep_words", text="bring milk and bread home", count=3)
    chat = ScriptedChat(["Cut it.", cut, step[2].content, step[4].content, end[2].content])
    agent = ChainAgent(FIND, False, chat)
    known = knowledge_of(own, environment.specs)
    trace = asyncio.run(agent.execute(chain_brief(task, 0, known), environment))
    assert trace.answer == "BRING MILK AND"
    assert list(chat.requests[3].messages[len(step) :]) == list(step[1:4])
    assert list(chat.requests[4].messages[len(end) :]) == [end[1]]


def test_a_step_that_is_not_needed_makes_no_call(known: Knowledge, tools: LocalSandbox) -> None:
    chat = ScriptedChat(
        ["Double 3.", action("double", n=3), "No.", action("skip"), "Add.", action("total", numbers=[6]),
         action("finish", answer=6)]
    )  # fmt: skip
    trace = worked(chat, known, tools)
    assert [event.call.tool for event in trace.calls] == ["double", "total"]
    assert "squared.): not needed" in chat.requests[4].messages[-1].content


def test_a_call_that_fails_or_names_another_tool_is_corrected(known: Knowledge, tools: LocalSandbox) -> None:
    chat = ScriptedChat([SCRIPT[0], action("square", n=3), action("double", m=3), *SCRIPT[1:]])
    trace = worked(chat, known, tools)
    assert [event.observation.ok for event in trace.calls] == [False, False, True, True, True]
    errors = [event.observation.error for event in trace.calls[:2]]
    assert [error.type for error in errors if error] == ["unknown_tool", "invalid_arguments"]
    assert "Correct form: double(n: integer) -> integer" in chat.requests[3].messages[-1].content
    assert trace.answer == 15


def test_a_step_that_fails_ends_the_stage(known: Knowledge, tools: LocalSandbox) -> None:
    bad = action("square", m=1)
    trace = worked(ScriptedChat([*SCRIPT[:3], bad, bad]), known, tools, budget=Budget(failures=2))
    assert (trace.stop, trace.answer, len(trace.calls), len(trace.turns)) == ("failures", None, 3, 5)
    trace = worked(ScriptedChat(SCRIPT[:4]), known, tools, budget=Budget(turns=4))
    assert (trace.stop, len(trace.calls), len(trace.turns)) == ("turns", 2, 4)


class Answering:
    """A model whose replies depend on the request alone; it counts the requests that are in flight.

    Args:
        meet: The number of requests of first steps that wait for one another.
    """

    name = "answering"

    def __init__(self, meet: int = 1) -> None:
        self.requests: list[ChatRequest] = []
        self.most = 0
        self._flying = 0
        self._meeting = asyncio.Barrier(meet)

    async def complete(self, request: ChatRequest) -> Reply:
        self.requests.append(request)
        self._flying += 1
        self.most = max(self.most, self._flying)
        text = request.messages[-1].content
        if "First the thought" in text and "so far: none" in text:
            await asyncio.wait_for(self._meeting.wait(), 20)
        await asyncio.sleep(0)
        self._flying -= 1
        if request.reply == "text":
            return Reply(text=f"About step {text.count('Step')}.", output_tokens=1)
        if not request.tools:
            return Reply(text=action("finish", answer=15), output_tokens=1)
        n = {"double": {"n": 3}, "square": {"n": 3}, "total": {"numbers": [6, 9]}}[request.tools[0].name]
        return Reply(text=action(request.tools[0].name, **n), output_tokens=1)

    async def aclose(self) -> None:
        pass


def timeless(trace: Trace) -> Trace:
    turns = tuple(turn.model_copy(update={"seconds": 0.0}) for turn in trace.turns)
    return trace.model_copy(update={"turns": turns})


def sent(chat: Answering) -> set[str]:
    return {request.model_dump_json() for request in chat.requests}


def test_steps_without_a_dependency_are_worked_on_at_the_same_time(known: Knowledge, tools: LocalSandbox) -> None:
    alone, together = Answering(), Answering(meet=2)
    one_by_one = worked(alone, known, tools)
    parallel = worked(together, known, tools, parallel=True)
    assert (alone.most, together.most) == (1, 2)
    assert timeless(parallel) == timeless(one_by_one)
    assert sent(together) == sent(alone)


def test_a_call_that_may_change_something_overlaps_with_no_step(known: Knowledge) -> None:
    log: list[str] = []

    @tool(effect="read")
    def double(n: int) -> int:
        """Double a whole number."""
        log.append("double")
        return 2 * n

    @tool(effect="write")
    def square(n: int) -> int:
        """Multiply a whole number by itself."""
        log.append("square")
        return n * n

    @tool(effect="read")
    def total(numbers: list[int]) -> int:
        """Add up a list of numbers."""
        log.append("total")
        return sum(numbers)

    chat = Answering()
    trace = worked(chat, known, FunctionEnvironment([double, square, total]), parallel=True)
    assert (trace.answer, chat.most, log) == (15, 1, ["double", "square", "total"])


def test_after_a_failed_step_only_steps_that_do_not_need_it_go_on(known: Knowledge, tools: LocalSandbox) -> None:
    class Failing(Answering):
        async def complete(self, request: ChatRequest) -> Reply:
            reply = await super().complete(request)
            doubles = request.reply == "action" and [spec.name for spec in request.tools] == ["double"]
            return Reply(text=action("double", m=1)) if doubles else reply

    trace = worked(Failing(meet=2), known, tools, parallel=True, budget=Budget(failures=2))
    assert (trace.stop, [event.call.tool for event in trace.calls]) == ("failures", ["double", "double", "square"])


# The pipeline


def test_modes_that_execute_only_build_nothing() -> None:
    assert GUIDED == ("react+workflow", "react+chain", "react+chain+parallel")
    assert (*BUILDING, *GUIDED) == tuple(MODES)
    with pytest.raises(InputError, match="executes only and builds no workflow"):
        ExecuteSummarize(ToolSource.parse_all(SOURCE), mode="react+workflow")


@pytest.mark.parametrize("settings", [{"traces": "gold"}, {"summarizer": "plan"}, {"verify": 1}, {"probe": 1}])
def test_they_have_no_second_stage(settings: Row, tools: LocalSandbox) -> None:
    with pytest.raises(InputError, match="has one stage"):
        asyncio.run(solve(TASK, tools, ScriptedChat([]), Settings(mode="react+workflow", **settings)))


def test_react_is_given_the_workflow_with_its_task(known: Knowledge, tools: LocalSandbox) -> None:
    script = [
        action("double", n=3),
        action("square", n=3),
        action("total", numbers=[6, 9]),
        action("finish", answer=15),
    ]
    told, plain = ScriptedChat(script), ScriptedChat(script)
    for chat, guide in ((told, Guide(known)), (plain, Guide())):
        solution = asyncio.run(solve(TASK, tools, chat, Settings(mode="react+workflow"), guide=guide))
        assert (solution.workflow, solution.summary, solution.worked) == (None, None, (0,))
        assert {spec.name for spec in chat.requests[0].tools} == set(TASK.tools)
    last = told.requests[0].messages[-1].content
    assert known.text in last and last.endswith('Work on this input: {"n":3}')
    assert last.replace(prompts.render("knowledge", workflow=known.text) + "\n\n", "") == (
        plain.requests[0].messages[-1].content
    )


def test_without_a_workflow_the_chain_is_react(tools: LocalSandbox) -> None:
    chat = ScriptedChat([action("double", n=3), action("finish", answer=6)])
    asyncio.run(solve(TASK, tools, chat, Settings(mode="react+chain"), guide=Guide(None, FIND)))
    assert {spec.name for spec in chat.requests[0].tools} == set(TASK.tools)


@pytest.mark.parametrize("mode", GUIDED)
def test_the_embedded_model_tries_the_tools_of_the_workflow_first(mode: str, tools: LocalSandbox) -> None:
    tried: set[str] = set()
    extra = SOURCE.replace("double", "triple").replace("square", "cube").replace("total", "mean")

    def probe(calls: Sequence[tuple[str, dict[str, Any]]]) -> Any:
        tried.update(name for name, _ in calls)
        return more.values(calls)

    line = workflow(
        call("twice", "double", n={"var": "n"}),
        call("squared", "square", n={"var": "twice"}),
        {"id": "end", "kind": "end", "output": {"var": "squared"}},
    )
    examples = tuple(Example(input={"n": n}, output=4 * n * n) for n in (3, 5, 2))
    task = TASK.model_copy(update={"query": "Square the double of n.", "examples": examples})
    with LocalSandbox([*ToolSource.parse_all(SOURCE), *ToolSource.parse_all(extra)]) as more:
        known = knowledge_of(line, more.specs)
        for guide, expected in (
            (Guide(known, FIND), {"double", "square"}),
            (Guide(), {"double", "square", "triple", "cube"}),
        ):
            tried.clear()
            model = SearchModel(Thinker(probe))
            (trace,) = asyncio.run(solve(task, more, model, Settings(mode=mode), guide=guide)).traces
            assert (trace.answer, [event.call.tool for event in trace.calls]) == (36, ["double", "square"])
            assert tried == expected


# The command


def gold_of(id: str) -> Row:
    added, factor = NUMBERS[id]
    return {
        "inputs": TASK.inputs,
        "nodes": [
            {"id": "start", "kind": "start"},
            call("sum", "add", first={"var": "n"}, second={"value": added}),
            call("product", "multiply", first={"var": "sum"}, second={"value": factor}),
            {"id": "end", "kind": "end", "output": {"var": "product"}},
        ],
        "edges": [{"from": "start", "to": "sum"}, {"from": "sum", "to": "product"}, {"from": "product", "to": "end"}],
    }


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tiny_benchmark(tmp_path_factory.mktemp("guided") / "bench")
    rows = [{"id": id, "workflow": gold_of(id)} for id in NUMBERS if id != "task_5"]
    (folder / "gold.jsonl").write_text("".join(dump_json(row) + "\n" for row in rows))
    return folder


def capable(number: int, body: Row) -> Fault | str:
    """A model that can do the tasks; asked for a call, it calls the tool that it is shown."""
    last = body["messages"][-1]["content"]
    if "First the thought." in last:
        return "The number is known."
    id = task_in(body)
    added, factor = NUMBERS[id]
    text = "\n".join(m["content"] for m in body["messages"] if "Add " in m["content"] or m["role"] == "user")
    n = int(re.findall(r'^Work on this input: \{"n":(\d+)\}$', text, re.MULTILINE)[-1])
    calls = {
        "add": action("add", first=n, second=added), "multiply": action("multiply", first=n + added, second=factor),
        "finish": action("finish", answer=answer(id, n)),
    }  # fmt: skip
    if "The tool for this step:" in last:
        return calls[re.findall(r"^(\w+)\(.*\) ->", last, re.MULTILINE)[0]]
    if "Give the answer." in last:
        return calls["finish"]
    at = max(index for index, message in enumerate(body["messages"]) if "Task:\n" in message["content"])
    return list(calls.values())[sum(message["role"] == "assistant" for message in body["messages"][at:])]


def asked(server: FaultyServer, bench: Path, out: Path, mode: str, *more: object) -> Done:
    words = ("exp", "--model", "m", "--mode", mode, "--base-url", server.url, "--limit", 4, "--pick", "first")
    return called(*words, "--concurrency", 1, "--bench", bench, "--out", out, *more)


@pytest.fixture(scope="module")
def runs(bench: Path) -> dict[str, Path]:
    """Runs of four cases, one of which has no gold workflow."""
    folder = bench.parent / "runs"
    with FaultyServer(capable) as server:
        for name, mode, *more in (
            ("none", "react+workflow"),
            ("gold", "react+workflow", "--knowledge", "gold"),
            ("chain", "react+chain", "--knowledge", "gold"),
            ("parallel", "react+chain+parallel", "--knowledge", "gold"),
        ):
            assert asked(server, bench, folder / name, mode, *more).returncode == 0
    return {path.name: path for path in folder.iterdir()}


def test_a_run_counts_executions_and_the_cases_with_a_workflow(runs: dict[str, Path]) -> None:
    found = {name: summary(run) for name, run in runs.items()}
    for name, told in found.items():
        assert (told["cases"], told["exec_correct"], told["tests"], told["solved"]) == (4, 100.0, 0, None)
        assert (told["scores"]["call_accuracy"]["mean"], told["failure_modes"]) == (1.0, {"none": 4}), name
    informed = {name: told["scores"]["informed"]["mean"] for name, told in found.items()}
    assert informed == {"none": 0.0, "gold": 0.75, "chain": 0.75, "parallel": 0.75}
    assert {name: told["variant"] for name, told in found.items()} == {
        "none": "no workflow", "gold": "gold workflows", "chain": "gold workflows", "parallel": "gold workflows"
    }  # fmt: skip
    assert [row["execute"]["turns"] for row in records(runs["gold"])] == [3, 3, 3, 3]
    assert sorted(row["execute"]["turns"] for row in records(runs["chain"])) == [3, 5, 5, 5]


def test_a_record_has_the_retrieval_and_the_times_of_the_steps(runs: dict[str, Path]) -> None:
    by_id = {row["id"]: row["guide"] for row in records(runs["chain"])}
    assert by_id["task_5"] is None
    told = by_id["task_0"]
    assert (told["steps"], told["retrievable"], told["first"], told["third"]) == (2, 2, 2, 2)
    assert len(told["seconds"]) == 3 and told["path"] == pytest.approx(sum(told["seconds"]), abs=0.002)
    assert records(runs["gold"])[0]["guide"]["seconds"] == []


def test_a_replay_needs_neither_the_model_nor_the_source_of_the_workflows(
    runs: dict[str, Path], bench: Path, tmp_path: Path
) -> None:
    bare = shutil.copytree(bench, tmp_path / "bench")
    for name in ("gold", "chain", "parallel"):
        assert called("exp", "--replay", runs[name], "--bench", bare, "--out", tmp_path / name).returncode == 0
        assert (tmp_path / name / "records.jsonl").read_bytes() == (runs[name] / "records.jsonl").read_bytes()
        assert files(tmp_path / name / "traces") == files(runs[name] / "traces")
        assert (tmp_path / name / "knowledge.json").exists()


def test_steps_in_parallel_make_the_requests_of_steps_one_by_one(
    runs: dict[str, Path], bench: Path, tmp_path: Path
) -> None:
    out = tmp_path / "again"
    with FaultyServer(capable) as server:
        done = asked(server, bench, out, "react+chain+parallel", "--knowledge", "gold", "--reuse", runs["chain"])
        assert (done.returncode, server.requests) == (0, [])
        assert asked(server, bench, out, "react+chain+parallel", "--knowledge", "gold").returncode == 0
        assert server.requests == []
        other = asked(server, bench, out, "react+chain+parallel", "--knowledge", runs["gold"])
        assert (other.returncode, told_last(other)) == (
            2, f"flowmind: --knowledge {runs['gold']}: there is no sound workflow of any task"
        )  # fmt: skip
    traces = [files(folder / "traces") for folder in (runs["chain"], out)]
    assert traces[0] == traces[1]


def test_the_workflows_of_a_finished_run_are_knowledge(bench: Path, tmp_path: Path) -> None:
    source = tmp_path / "induced"
    words = ("exp", "--mode", "induction", "--traces", "gold", "--bench", bench, "--out", source)
    gold = list((bench / "gold.jsonl").read_text().splitlines())
    other = shutil.copytree(bench, tmp_path / "bench")
    (other / "gold.jsonl").write_text("".join(f"{row}\n" for row in gold) + dump_json(
        {"id": "task_5", "workflow": gold_of("task_5")}) + "\n")  # fmt: skip
    assert (
        called(*(other if word is bench else word for word in words), "--limit", 2, "--pick", "first").returncode == 0
    )
    with FaultyServer(capable) as server:
        done = asked(server, other, tmp_path / "run", "react+chain", "--knowledge", source)
    assert done.returncode == 0
    scores = summary(tmp_path / "run")["scores"]
    assert (scores["informed"]["mean"], summary(tmp_path / "run")["variant"]) == (0.5, "workflows of induced")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["settings"]["knowledge"] == "induced" and len(manifest["settings"]["knowledge_sha256"]) == 64


def test_steps_that_a_model_wrote_on_worfbench_rows_are_knowledge(bench: Path, tmp_path: Path) -> None:
    good = "Node:\n1: Multiply the sum\n2: Add two numbers\nEdge: (START,2) (2,1) (1,END)"
    rows = [
        {"id": id, "source": "own", "task": f"row {id[-6:]}", "tools_marker": "T:", "tools_text": "add", "gold": good}
        for id in ("own_task_0", "task_1", "task_4")
    ]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("".join(dump_json(row) + "\n" for row in rows))

    def written(number: int, body: Row) -> str:
        cycle = "Node:\n1: a\n2: b\nEdge: (START,1) (1,2) (2,1) (2,END)"
        return {"task_0": good, "task_1": cycle, "task_4": "no"}[body["messages"][-1]["content"].split("row ")[1][:6]]

    with FaultyServer(written) as server:
        words = ("worfbench", tmp_path / "rows.jsonl", "--model", "m", "--base-url", server.url)
        assert called(*words, "--out", tmp_path / "worf").returncode == 0
    with FaultyServer(capable) as server:
        done = asked(server, bench, tmp_path / "run", "react+chain", "--knowledge", tmp_path / "worf")
        assert done.returncode == 0
        refused = asked(
            server, bench, tmp_path / "x", "react+workflow", "--knowledge", tmp_path / "worf",
            "--knowledge-format", "python",
        )  # fmt: skip
    assert refused.returncode == 2 and "steps in words, for node-edge only" in refused.stderr
    told = {row["id"]: row["guide"] for row in records(tmp_path / "run")}
    assert {id: facts and facts["steps"] for id, facts in told.items()} == {
        "task_0": 2, "task_4": None, "task_1": None, "task_5": None
    }  # fmt: skip
    kept = json.loads((tmp_path / "run" / "knowledge.json").read_text())["knowledge"]
    assert [step["text"] for step in kept["task_0"]["steps"]] == ["Add two numbers", "Multiply the sum"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ("--mode", "es-pe", "--knowledge", "gold"),
            "--knowledge gold: mode 'es-pe' takes no workflow; react+workflow",
        ),
        (("--mode", "react+chain"), "mode 'react+chain' works through the steps of a workflow: give --knowledge gold"),
        (("--mode", "react+chain", "--knowledge", "nowhere"), "nowhere: no run in it"),
        (
            ("--mode", "react+workflow", "--knowledge-format", "svg"),
            "--knowledge-format: 'svg' is none of node-edge",
        ),
        (("--mode", "react+chain", "--knowledge", "gold", "--encoder", "x"), "--encoder: it is used with --similarity"),
        (("--mode", "react+workflow", "--traces", "gold"), "mode 'react+workflow' has one stage"),
    ],
)
def test_what_does_not_fit_is_one_line(words: tuple[str, ...], problem: str, bench: Path, tmp_path: Path) -> None:
    done = called("exp", "--bench", bench, "--out", tmp_path / "run", *words)
    assert done.returncode == 2 and problem in told_last(done)
    assert not (tmp_path / "run").exists()


def test_a_run_on_another_benchmark_is_refused(runs: dict[str, Path], bench: Path, tmp_path: Path) -> None:
    other = shutil.copytree(bench, tmp_path / "other")
    manifest = json.loads((other / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps({**manifest, "seed": 7}))
    words = ("exp", "--mode", "react+workflow", "--knowledge", runs["none"], "--bench", other, "--out", tmp_path / "x")
    done = called(*words)
    assert done.returncode == 2 and "a run on another benchmark, tiny, seed 0" in told_last(done)


def test_a_benchmark_without_gold_workflows_has_no_gold_knowledge(tmp_path: Path) -> None:
    done = called(
        "exp", "--bench", tiny_benchmark(tmp_path / "bench"), "--mode", "react+chain", "--knowledge", "gold", "--out",
        tmp_path / "run",
    )  # fmt: skip
    assert (done.returncode, told_last(done)) == (
        2, "flowmind: --knowledge gold: there is no sound workflow of any task"
    )  # fmt: skip


# Tables and grids


def test_the_tables_compare_with_react_without_a_workflow(runs: dict[str, Path]) -> None:
    loaded = [Loaded.read(runs[name]) for name in ("none", "gold", "chain", "parallel")]
    tables = {table.key: table for table in analyse(loaded)}
    assert set(tables) == {"worfbench_table3_table4", "worfbench_figure5", "retrieval", "worfbench_figure6"}
    first, second, *_ = tables["worfbench_table3_table4"].rows
    assert (first[0], first[-3:]) == ("m react+workflow (no workflow)", ("–", "–", "–"))
    assert second[1:6] == ("4", "3", "100.0 (4/4) [51, 100]", "3.0", "30.0") and second[-3:] == ("0", "0", "1.000")
    figure5 = {row[0]: row[3:6] for row in tables["worfbench_figure5"].rows}
    assert figure5["m react+chain (gold workflows)"] == ("100.0 [100.0, 100.0]", "1.00", "100.0 [100.0, 100.0]")
    assert next(row[1:] for row in tables["retrieval"].rows) == (
        "3", "6", "100.0 (6/6) [61, 100]", "100.0 (6/6) [61, 100]"
    )  # fmt: skip
    own = [row for row in tables["worfbench_figure6"].rows if not row[0].startswith("paper")]
    assert [row[1] for row in own] == ["3", "3"] and [row[-1] for row in own] == ["0.0", "0.0"]


def test_the_report_has_runs_that_execute_only(runs: dict[str, Path], tmp_path: Path) -> None:
    done = called("report", runs["none"], runs["chain"], "--out", tmp_path / "report.html")
    assert done.returncode == 0
    page = (tmp_path / "report.html").read_text()
    assert "Workflows as prior knowledge" in page and "Main results (table 1)" not in page


def test_folders_are_named_after_the_source() -> None:
    plain = {"model": "m", "mode": "react+workflow", "seed": 0}
    assert folder_name(plain) == "m-react+workflow-none"
    own = {**plain, "knowledge": "runs/m-es-react", "knowledge_format": "python"}
    assert folder_name(own) == "m-react+workflow-m-es-react-python"
    assert variant_of(own) == "workflows of m-es-react, as python"
    assert folder_name({**plain, "mode": "es-pe", "knowledge": "none"}) == "m-es-pe"


def test_a_grid_has_runs_that_work_by_the_workflows_of_runs_before_them(bench: Path, tmp_path: Path) -> None:
    whole = shutil.copytree(bench, tmp_path / "bench")
    with (whole / "gold.jsonl").open("a") as rows:
        rows.write(dump_json({"id": "task_5", "workflow": gold_of("task_5")}) + "\n")
    grid = tmp_path / "grid.toml"
    text = 'title = "t"\nanalyses = ["retrieval"]\nmodels = ["search"]\nlimit = 2\npick = "first"\n[runs.own]\n'
    text += 'mode = "induction"\ntraces = "gold"\n[runs.told]\nmode = "react+workflow"\nknowledge = "own"\n'
    grid.write_text(text)
    done = called("exp", "--config", grid, "--bench", whole, "--out", tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "runs").iterdir()}
    assert names == {"search-induction-gold-first2", "search-react+workflow-search-induction-gold-first2-first2"}
    told = summary(tmp_path / "runs" / "search-react+workflow-search-induction-gold-first2-first2")
    assert (told["exec_correct"], told["scores"]["informed"]["mean"]) == (100.0, 1.0)
    report = called("report", "--config", grid, "--root", tmp_path / "runs", "--tables")
    assert "| search (no LLM) react+workflow (workflows of search-induction-gold-first2) | 2 | 4 |" in report.stdout


def test_a_part_of_a_grid_keeps_the_runs_that_it_needs() -> None:
    runs = {
        "own": Experiment(mode="induction", traces="gold"),
        "built": Experiment(mode="es-react"),
        "told": Experiment(mode="react+workflow", knowledge="own"),
    }
    part = Grid(title="t", models=("m",), runs=runs).part(modes=["react+workflow"])
    names = [cell.name for cell in cells(part, RunOptions())]
    assert names == ["m-induction-gold", "m-react+workflow-m-induction-gold"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "modes: give modes, with or without variants, or runs"),
        ('modes = ["react"]\n[runs.a]\nmode = "react"', "give modes, with or without variants, or runs"),
        ("[runs.a]\nrollouts = 2", "a: a run needs a mode"),
        ('[runs.gold]\nmode = "react"', "gold: this name is a value of knowledge"),
        ('[runs.a]\nmode = "react"\nseed = 2', "'seed' is set by 'seeds'"),
        ('[runs.a]\nmode = "react"\nnowledge = "gold"', "runs.a.nowledge: there is no such setting; did you mean"),
    ],
)
def test_a_bad_grid_of_runs_is_one_line(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(f'title = "t"\nmodels = ["search"]\n{text}\n')
    done = called("exp", "--config", tmp_path / "grid.toml", "--out", tmp_path)
    assert done.returncode == 2 and problem in told_last(done)


def test_unsound_workflows_are_left_out(bench: Path, tools: LocalSandbox) -> None:
    sources = {source.spec.name: source for source in ToolSource.parse_all(SOURCE)}
    broken = SUMS.model_copy(update={"edges": SUMS.edges[:-1]})
    options = RunOptions(knowledge="gold")
    assert list(read_knowledge(options, [TASK], sources, {"sums": SUMS}, None)) == ["sums"]
    with pytest.raises(InputError, match="no sound workflow"):
        read_knowledge(options, [TASK], sources, {"sums": broken}, None)
