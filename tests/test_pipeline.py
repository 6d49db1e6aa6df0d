"""Every mode of the pipeline on one small task, with scripted models and a real sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tiny import judged

from flowmind.agents.turns import Budget
from flowmind.api.solving import Solution, solve
from flowmind.base.errors import InputError, ModelFailure
from flowmind.base.files import dump_json
from flowmind.build.settings import BUILDING, MODES, Mode, Settings, mode_of
from flowmind.llm.testing import ScriptedChat, action, plan
from flowmind.protocols import ChatRequest
from flowmind.run.running import run
from flowmind.trace.task import Example, Task
from flowmind.workflow.document import Edge, End, Literal_, Start, ToolNode, Var, Workflow
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry.sandbox.environments import FunctionEnvironment, LocalSandbox, ToolSource

SOURCE = '''
def double(n: int) -> int:
    """Double a number."""
    return 2 * n

def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
'''
TASK = Task(
    id="double_and_one",
    query="Double n and add 1.",
    inputs={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    examples=(
        Example(input={"n": 3}, output=7),
        Example(input={"n": 50}, output=101),
        Example(input={"n": 400}, output=801),
    ),
)


def edit(tool_: str, **args: Any) -> str:
    """A reply that calls a graph tool, some of which have a field named `tool` of their own."""
    return dump_json({"reasoning": "", "action": tool_, "action_input": args})


DOUBLED, ADDED = action("double", n=3), action("add", a=6, b=1)
WORK = [DOUBLED, ADDED]
BUILD = [
    edit("add_function_node", tool="double", args={"n": "n"}, output="twice"),
    edit("add_function_node", tool="add", args={"a": "twice", "b": 1}, output="more"),
    edit("add_end_node", output="more"),
]
DONE, HANDED_IN, GAVE_UP = action("finish", answer=7), action("finish"), action("finish", answer=None)
EXECUTE = {
    "r": [*WORK, DONE],
    "p": [plan("Double.", "Add."), DOUBLED, ADDED, DONE],
}
SUMMARIZE = {"r": [*BUILD, HANDED_IN], "p": [plan("Node double.", "Node add.", "End."), *BUILD, HANDED_IN]}
TWO_STAGES = {
    "es-rr": "rr",
    "es-rp": "rp",
    "es-pr": "pr",
    "es-pp": "pp",
    "es-react": "rr",
    "es-pe": "pp",
}
ONE_STAGE = {
    "react": [*WORK, *BUILD, DONE],
    "enhanced-react": [*WORK, *BUILD, DONE],
    "pe": [plan("Work.", "Build.", "Answer."), *WORK, DONE, *BUILD, DONE, DONE],
}
WORKFLOW = Workflow(
    name="double_and_one",
    inputs=TASK.inputs,
    nodes=(
        Start(id="start"),
        ToolNode(id="n1", tool="double", args={"n": Var(var="n")}, output="twice"),
        ToolNode(id="n2", tool="add", args={"a": Var(var="twice"), "b": Literal_(value=1)}, output="more"),
        End(id="n3", output=Var(var="more")),
    ),
    edges=tuple(
        Edge.model_validate({"from": source, "to": target})
        for source, target in (("start", "n1"), ("n1", "n2"), ("n2", "n3"))
    ),
)
BUSINESS = {"double", "add"}
GRAPH = set(GRAPH_TOOLS)


@pytest.fixture(scope="module")
def tools() -> Iterator[LocalSandbox]:
    with LocalSandbox(ToolSource.parse_all(SOURCE)) as sandbox:
        yield sandbox


def solved(tools: LocalSandbox, chat: ScriptedChat, mode: Mode, task: Task = TASK, **settings: Any) -> Solution:
    return asyncio.run(solve(task, tools, chat, Settings(mode=mode, **settings)))


def offered(requests: Sequence[ChatRequest]) -> list[set[str]]:
    return [{spec.name for spec in request.tools} for request in requests]


def words(requests: Sequence[ChatRequest]) -> str:
    return "\n".join(message.content for request in requests for message in request.messages)


def opening(request: ChatRequest) -> str:
    """The last message that sets a task, after the worked examples."""
    return [message.content for message in request.messages if "Task:\n" in message.content][-1]


def test_the_tables_here_cover_every_mode() -> None:
    derived = {"es-react+verify", "es-pe+verify", "induction", "replay"}  # test_verification.py
    by_name = {f"{mode}+refs{more}" for mode in ("es-react", "es-pe") for more in ("", "+verify")}  # test_refs.py
    assert {*TWO_STAGES, *ONE_STAGE, *derived, *by_name} == set(BUILDING)  # GUIDED: test_guided.py


@pytest.mark.parametrize("mode", TWO_STAGES)
def test_two_stages_execute_and_summarize_each_with_its_own_tools(mode: Mode, tools: LocalSandbox) -> None:
    execute, summarize = EXECUTE[TWO_STAGES[mode][0]], SUMMARIZE[TWO_STAGES[mode][1]]
    chat = ScriptedChat([*execute, *summarize])
    solution = solved(tools, chat, mode)
    assert solution.workflow == WORKFLOW
    assert (judged(solution, TASK).exec_complete, judged(solution, TASK).exec_correct, solution.graph_valid) == (
        True,
        True,
        True,
    )
    assert (judged(solution, TASK).mti, solution.problems) == (None, ())
    assert offered(chat.requests) == [BUSINESS] * len(execute) + [GRAPH] * len(summarize)
    assert [trace.stop for trace in solution.traces] == ["finish"]
    assert solution.summary is not None and solution.summary.stop == "finish"
    assert run(WORKFLOW, {"n": 20}, tools).answer == 41


@pytest.mark.parametrize("mode", ONE_STAGE)
def test_one_stage_has_all_tools_at_once(mode: Mode, tools: LocalSandbox) -> None:
    chat = ScriptedChat(ONE_STAGE[mode])
    solution = solved(tools, chat, mode)
    assert solution.workflow == WORKFLOW
    assert (judged(solution, TASK).exec_complete, judged(solution, TASK).exec_correct, solution.graph_valid) == (
        True,
        True,
        True,
    )
    assert (judged(solution, TASK).mti, solution.summary) == (None, None)
    assert offered(chat.requests) == [(BUSINESS | GRAPH) - {"finish"}] * len(ONE_STAGE[mode])
    assert [step.call.tool for step in solution.traces[0].calls] == [
        "double",
        "add",
        "add_function_node",
        "add_function_node",
        "add_end_node",
    ]


def test_the_summarizer_reads_the_trace_of_the_execution(tools: LocalSandbox) -> None:
    chat = ScriptedChat([DOUBLED, action("add", a=6), ADDED, DONE, *SUMMARIZE["r"]])
    solved(tools, chat, "es-rr")
    told = opening(chat.requests[4])
    assert 'Trace 1 (finished)\nInput: {"n":3}\n1. double({"n":3}) -> 6\n2. add({"a":6}) -> error ' in told
    assert '3. add({"a":6,"b":1}) -> 7\nAnswer: 7' in told
    assert "double(n: integer) -> integer\n    Double a number." in told


def test_calls_that_go_to_and_fro_are_mixed_tool_invocation(tools: LocalSandbox) -> None:
    chat = ScriptedChat([DOUBLED, BUILD[0], ADDED, BUILD[1], BUILD[2], DONE])
    solution = solved(tools, chat, "react")
    assert (judged(solution, TASK).mti, solution.workflow) == ("interleaved", WORKFLOW)


def test_a_graph_call_before_any_business_call_is_front_loaded(tools: LocalSandbox) -> None:
    chat = ScriptedChat([BUILD[0], *WORK, DONE])
    assert judged(solved(tools, chat, "react"), TASK).mti == "front_loaded"


def test_enhanced_react_asks_once_for_the_workflow(tools: LocalSandbox) -> None:
    chat = ScriptedChat([*WORK, DONE, *BUILD, action("finish", answer="built")])
    solution = solved(tools, chat, "enhanced-react")
    assert (solution.workflow, judged(solution, TASK).mti) == (WORKFLOW, None)
    assert solution.traces[0].answer == 7
    asked = [words([request]).count("there is no workflow yet") for request in chat.requests]
    assert asked == [0, 0, 0, 1, 1, 1, 1]
    assert offered(chat.requests)[3] == (BUSINESS | GRAPH) - {"finish"}


def test_enhanced_react_takes_no_for_an_answer(tools: LocalSandbox) -> None:
    solution = solved(tools, ScriptedChat([*WORK, DONE, DONE]), "enhanced-react")
    assert (judged(solution, TASK).exec_correct, solution.workflow, solution.graph_valid) == (True, None, False)


def test_react_does_not_ask_for_the_workflow(tools: LocalSandbox) -> None:
    solution = solved(tools, ScriptedChat([*WORK, DONE]), "react")
    assert (judged(solution, TASK).exec_correct, solution.workflow) == (True, None)


def test_an_execution_that_was_complete_before_the_building_failed_was_not_interrupted(
    tools: LocalSandbox,
) -> None:
    wrong = edit("add_function_node", tool="treble", args={})
    solution = solved(tools, ScriptedChat([*WORK, DONE, wrong, wrong]), "enhanced-react")
    assert solution.traces[0].stop == "failures"
    assert (judged(solution, TASK).mti, judged(solution, TASK).exec_complete, judged(solution, TASK).exec_correct) == (
        None,
        True,
        True,
    )


def test_rollouts_work_the_examples_in_turn_and_show_the_others(tools: LocalSandbox) -> None:
    chat = ScriptedChat([GAVE_UP] * 4 + [HANDED_IN] * 2)
    solution = solved(tools, chat, "es-rr", rollouts=4, seed=10)
    assert [trace.inputs for trace in solution.traces] == [{"n": 3}, {"n": 50}, {"n": 400}, {"n": 3}]
    assert [request.seed for request in chat.requests[:4]] == [10, 11, 12, 13]
    for request, worked in zip(chat.requests[:4], (0, 1, 2, 0), strict=True):
        told = opening(request)
        for number, example in enumerate(TASK.examples):
            assert (f"Output: {example.output}" in told) == (number != worked)
        assert f"Work on this input: {dump_json(TASK.examples[worked].input)}" in told
        assert f"Input: {dump_json(TASK.examples[worked].input)}\nOutput" not in told


@pytest.mark.parametrize("mode", [*TWO_STAGES, *ONE_STAGE])
def test_the_answer_of_the_worked_example_is_told_to_no_stage(mode: Mode, tools: LocalSandbox) -> None:
    """Where one example is worked on; modes that work on several show each of them while another is worked on."""
    task = TASK.model_copy(update={"examples": (Example(input={"n": 3}, output=987654321), *TASK.examples[1:])})
    chat = ScriptedChat([plan("Give up.")] * ("p" in mode) + [GAVE_UP] * 9)
    solved(tools, chat, mode, task, summarize_budget=Budget(turns=1))
    assert len(chat.requests) >= 1
    assert "101" in words(chat.requests)
    assert "987654321" not in words(chat.requests)


FAILED, GOOD = [GAVE_UP], EXECUTE["r"]


@pytest.mark.parametrize(("selection", "shown"), [("all", 2), ("all_success", 1), ("random_success", 1)])
def test_trace_selection_says_what_the_summarizer_reads(selection: Any, shown: int, tools: LocalSandbox) -> None:
    chat = ScriptedChat([*FAILED, *GOOD, *SUMMARIZE["r"]])
    solution = solved(tools, chat, "es-rr", rollouts=2, trace_selection=selection)
    told = opening(chat.requests[4])
    assert ("Trace 1 (" in told, "Trace 2 (" in told) == (True, shown == 2)
    assert '1. double({"n":3}) -> 6' in told
    assert (solution.workflow, len(solution.traces)) == (WORKFLOW, 2)


def test_without_a_successful_trace_nothing_is_summarized(tools: LocalSandbox) -> None:
    chat = ScriptedChat(FAILED * 2)
    solution = solved(tools, chat, "es-rr", rollouts=2, trace_selection="all_success")
    assert (solution.summary, solution.workflow, judged(solution, TASK).exec_complete) == (None, None, False)


def test_one_success_of_many_is_drawn_by_the_seed(tools: LocalSandbox) -> None:
    def drawn(seed: int) -> str:
        script = [[action("double", n=n), action("finish", answer=n)] for n in range(8)]
        chat = ScriptedChat([*(reply for replies in script for reply in replies), HANDED_IN])
        budget = Budget(turns=1)
        solved(
            tools,
            chat,
            "es-rr",
            rollouts=8,
            trace_selection="random_success",
            seed=seed,
            summarize_budget=budget,
        )
        return opening(chat.requests[-1]).split("Answer: ")[1][0]

    draws = [drawn(seed) for seed in range(6)]
    assert draws == [drawn(seed) for seed in range(6)]
    assert len(set(draws)) > 1


def test_a_half_built_graph_is_kept_with_its_problems(tools: LocalSandbox) -> None:
    solution = solved(tools, ScriptedChat([*WORK, BUILD[0], DONE]), "react")
    assert solution.workflow is not None and len(solution.workflow.nodes) == 2
    assert {problem.code for problem in solution.problems} >= {"no_end", "missing_edge"}
    assert (judged(solution, TASK).exec_correct, solution.graph_valid) == (True, False)


def test_values_that_were_read_leniently_are_counted(tools: LocalSandbox) -> None:
    strict = [
        edit("add_function_node", tool="double", args={"n": {"var": "n"}}, output="twice"),
        edit("add_function_node", tool="add", args={"a": {"var": "twice"}, "b": {"value": 1}}, output="more"),
        edit("add_end_node", output={"var": "more"}),
    ]
    assert solved(tools, ScriptedChat([*WORK, *strict, DONE]), "react").coerced == 0
    assert solved(tools, ScriptedChat([*WORK, *BUILD, DONE]), "react").coerced == 4


@pytest.mark.parametrize(
    ("replies", "complete", "correct"),
    [
        ([*WORK, action("finish", answer=7.0)], True, True),
        ([*WORK, action("finish", answer="7")], True, False),
        ([*WORK, action("finish", answer=8)], True, False),
        ([action("add", a=1), *WORK, DONE], True, True),
        ([DONE, DONE], False, False),
        ([action("add", a=1), DONE, DONE], False, False),
        ([*WORK, ModelFailure("HTTP 500")], False, False),
    ],
    ids=["float", "text", "wrong", "after an error", "no call", "no good call", "endpoint"],
)
def test_an_execution_is_complete_by_call_and_finish_and_correct_by_its_answer(
    replies: list[str | Exception], complete: bool, correct: bool, tools: LocalSandbox
) -> None:
    solution = solved(tools, ScriptedChat(replies), "react")
    assert (judged(solution, TASK).exec_complete, judged(solution, TASK).exec_correct) == (complete, correct)


def test_one_good_rollout_of_several_is_enough(tools: LocalSandbox) -> None:
    solution = solved(tools, ScriptedChat([*FAILED, *GOOD, HANDED_IN, HANDED_IN]), "es-rr", rollouts=2)
    assert (judged(solution, TASK).exec_complete, judged(solution, TASK).exec_correct) == (True, False)
    again = [*FAILED, action("double", n=50), action("finish", answer=101), HANDED_IN, HANDED_IN]
    assert judged(solved(tools, ScriptedChat(again), "es-rr", rollouts=2), TASK).exec_correct


def test_each_stage_has_its_own_budget(tools: LocalSandbox) -> None:
    chat = ScriptedChat([DOUBLED, *BUILD[:2]])
    budgets = {"execute_budget": Budget(turns=1), "summarize_budget": Budget(turns=2)}
    solution = solved(tools, chat, "es-rr", **budgets)
    assert [trace.stop for trace in solution.traces] == ["turns"]
    assert solution.summary is not None
    assert (solution.summary.stop, len(solution.summary.turns)) == ("turns", 2)


def test_a_task_without_an_example_is_refused(tools: LocalSandbox) -> None:
    with pytest.raises(InputError, match="'double_and_one' has no example"):
        solved(tools, ScriptedChat([]), "es-rr", TASK.model_copy(update={"examples": ()}))


def test_a_business_tool_with_the_name_of_a_graph_tool_is_refused() -> None:
    def undo(n: int) -> int:
        """Take one off."""
        return n - 1

    with pytest.raises(InputError, match="'undo' has the name of a graph tool"):
        asyncio.run(solve(TASK, FunctionEnvironment([undo]), ScriptedChat([]), Settings()))


def test_a_mode_that_does_not_exist_is_refused_with_those_that_do() -> None:
    assert [mode_of(name) for name in MODES] == list(MODES)
    with pytest.raises(InputError, match="'es' is none of react, pe, enhanced-react, es-rr"):
        mode_of("es")


def test_a_solution_round_trips_through_json(tools: LocalSandbox) -> None:
    solution = solved(tools, ScriptedChat([*EXECUTE["p"], *SUMMARIZE["p"]]), "es-pp")
    assert Solution.model_validate_json(solution.model_dump_json(by_alias=True)) == solution
