"""The library as a user holds it: functions of one's own, a task with examples, a workflow to keep."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flowmind
from flowmind import (
    CaseFailed,
    ChatRequest,
    Example,
    ExecuteSummarize,
    InputError,
    InvalidWorkflow,
    ModelUnavailable,
    OpenAIChat,
    Reply,
    RunnableWorkflow,
    Settings,
    Task,
    ToolSource,
    tool,
)
from flowmind.llm.faulty_server import FaultyServer
from flowmind.llm.testing import ScriptedChat, action, plan
from flowmind.trace.events import Called
from flowmind.trace.task import infer_inputs


@tool(effect="read")
def total(numbers: list[float]) -> float:
    """Add up numbers."""
    return sum(numbers)


@tool(effect="read")
def with_tax(price: float, percent: float) -> float:
    """Add a tax to a price.

    Args:
        price: The price without tax.
        percent: The tax in percent.
    """
    return price * (100 + percent) / 100


@tool(effect="read")
def as_price(value: float, currency: str) -> str:
    """Write a value with two decimals, and its currency."""
    return f"{value:.2f} {currency}"


SHOP = [total, with_tax, as_price]
QUERY = "Add up the prices, add 20 percent of tax, and write the result in 'EUR'."
EXAMPLES = [
    ({"prices": [10, 5]}, "18.00 EUR"),
    ({"prices": [2.5]}, "3.00 EUR"),
    ({"prices": [1, 1, 8]}, "12.00 EUR"),
]


def test_three_functions_and_three_examples_become_a_workflow() -> None:
    result = ExecuteSummarize(tools=SHOP, model="search").run(QUERY, EXAMPLES)
    assert result.ok and result.problems == ()
    assert result.workflow({"prices": [100]}) == "120.00 EUR"
    assert [[step.call.tool for step in trace.calls] for trace in result.traces] == [["total", "with_tax", "as_price"]]
    usage = result.usage
    assert (usage["execute_tokens"], usage["summarize_tokens"]) == (0, 0)
    assert usage["execute_turns"] > 3 and usage["summarize_turns"] > 4


def test_a_workflow_that_was_saved_and_loaded_gives_equal_answers_and_traces(tmp_path: Path) -> None:
    made = ExecuteSummarize(SHOP).run(QUERY, EXAMPLES).workflow
    made.save(tmp_path / "price.json")
    loaded = RunnableWorkflow.load(tmp_path / "price.json", tools=SHOP)
    assert loaded.workflow == made.workflow
    for prices in ([100], [0.1, 0.2], []):
        assert loaded({"prices": prices}) == made({"prices": prices})
        assert loaded.trace({"prices": prices}) == made.trace({"prices": prices})
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "price.json").read_bytes()


def test_a_workflow_is_refused_with_tools_that_do_not_fit_it(tmp_path: Path) -> None:
    ExecuteSummarize(SHOP).run(QUERY, EXAMPLES).workflow.save(tmp_path / "price.json")
    with pytest.raises(InvalidWorkflow, match="with_tax"):
        RunnableWorkflow.load(tmp_path / "price.json", tools=[total, as_price])
    (tmp_path / "other.json").write_text('{"inputs": {"type": "object"}, "nodes": 3}')
    with pytest.raises(InputError, match=r"other\.json: nodes: "):
        RunnableWorkflow.load(tmp_path / "other.json", tools=SHOP)
    with pytest.raises(InputError, match=r"none\.json: no such file"):
        RunnableWorkflow.load(tmp_path / "none.json", tools=SHOP)


def test_a_case_that_fails_raises_its_error_and_its_trace_keeps_it() -> None:
    @tool(effect="read")
    def divide(a: float, b: float) -> float:
        """Divide a by b."""
        return a / b

    workflow = ExecuteSummarize([divide]).run("Divide a by b.", [({"a": 6, "b": 3}, 2), ({"a": 5, "b": 2}, 2.5)])
    with pytest.raises(CaseFailed, match="division by zero") as caught:
        workflow.workflow({"a": 1, "b": 0})
    assert caught.value.type == "tool_error"
    trace = workflow.workflow.trace({"a": 1, "b": 0})
    assert trace.stop == "error"
    assert isinstance(trace.events[-1], Called)
    assert trace.events[-1].call.args == {"a": 1, "b": 0}
    with pytest.raises(CaseFailed, match="invalid_input"):
        workflow.workflow({"a": 1})


async def fetch_rate(currency: str) -> float:
    """Fetch the rate of a currency."""
    await asyncio.sleep(0)
    return {"EUR": 1.0, "NOK": 11.5}[currency]


def convert(amount: float, rate: float) -> float:
    """Convert an amount at a rate."""
    return amount * rate


CONVERSION = [
    action("fetch_rate", currency="NOK"),
    action("convert", amount=2, rate=11.5),
    action("finish", answer=23.0),
]


def node(tool_: str, output: str, **args: Any) -> str:
    given = {"tool": tool_, "args": args, "output": output}
    return flowmind.base.files.dump_json({"reasoning": "", "action": "add_function_node", "action_input": given})


BUILDING = [
    node("fetch_rate", "rate", currency="currency"),
    node("convert", "converted", amount="amount", rate="rate"),
    action("add_end_node", output="converted"),
    action("finish"),
]
CONVERSION_EXAMPLES = [({"amount": 2, "currency": "NOK"}, 23.0)]


def test_async_tools_work_in_a_task_and_in_its_workflow() -> None:
    chat = ScriptedChat([*CONVERSION, *BUILDING])
    result = ExecuteSummarize([fetch_rate, convert], chat, "es-rr").run("Convert.", CONVERSION_EXAMPLES)
    assert result.traces[0].answer == 23.0
    workflow = result.workflow
    assert workflow({"amount": 3, "currency": "EUR"}) == 3.0
    assert asyncio.run(workflow.acall({"amount": 3, "currency": "NOK"})) == 34.5
    with pytest.raises(CaseFailed, match="KeyError"):
        workflow({"amount": 3, "currency": "XXX"})


def test_everything_works_inside_a_running_event_loop() -> None:
    async def notebook() -> list[Any]:
        chat = ScriptedChat([*CONVERSION, *BUILDING])
        result = ExecuteSummarize([fetch_rate, convert], chat, "es-rr").run("Convert.", CONVERSION_EXAMPLES)
        shop = await ExecuteSummarize(SHOP).arun(QUERY, EXAMPLES)
        euros = {"amount": 3, "currency": "EUR"}
        return [
            result.workflow(euros),
            await result.workflow.acall(euros),
            shop.workflow({"prices": [100]}),
            await shop.workflow.acall({"prices": [100]}),
        ]

    assert asyncio.run(notebook()) == [3.0, 3.0, "120.00 EUR", "120.00 EUR"]


def test_an_error_inside_a_running_event_loop_reaches_the_caller() -> None:
    async def notebook() -> None:
        chat = ScriptedChat([ModelUnavailable("no such model")])
        ExecuteSummarize(SHOP, chat, "es-rr").run(QUERY, EXAMPLES)

    with pytest.raises(ModelUnavailable, match="no such model"):
        asyncio.run(notebook())


class Echo:
    """A user's own model, which gives up. It has no connections, and so no `aclose`."""

    name = "echo"

    def __init__(self) -> None:
        self.asked: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> Reply:
        self.asked.append(request)
        return Reply(text=action("finish", answer=None), output_tokens=4)


def test_a_model_of_ones_own_is_asked_with_the_settings_given() -> None:
    model = Echo()
    settings = Settings(rollouts=2, seed=7, temperature=0.5, trace_selection="all_success")
    result = ExecuteSummarize(SHOP, model, "es-rr", settings).run(QUERY, EXAMPLES)
    assert [(request.seed, request.temperature) for request in model.asked] == [(7, 0.5), (8, 0.5)]
    assert (result.ok, result.usage["execute_tokens"]) == (False, 8)
    with pytest.raises(InvalidWorkflow, match=r"no workflow was built .*finish, finish"):
        _ = result.workflow


def test_runs_with_one_client_leave_no_connection_open(recwarn: pytest.WarningsRecorder) -> None:
    warnings.simplefilter("always")
    with FaultyServer(lambda number, body: action("finish", answer=None)) as server:
        solver = ExecuteSummarize(SHOP, OpenAIChat("m", server.url, "key"), "es-rr")
        assert [solver.run(QUERY, EXAMPLES).ok for _ in range(2)] == [False, False]
        del solver
        gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


def test_an_unsound_workflow_is_refused_with_its_problems() -> None:
    half = [
        action("total", numbers=[10, 5]),
        node("total", "sum", numbers="prices"),
        action("finish", answer=1),
    ]
    result = ExecuteSummarize(SHOP, ScriptedChat(half), "react").run(QUERY, EXAMPLES)
    assert not result.ok
    with pytest.raises(InvalidWorkflow, match="no_end"):
        _ = result.workflow


def test_tool_sources_run_in_the_sandbox() -> None:
    source = (
        'from flowmind import tool\n\n@tool(effect="read")\n'
        'def shout(text: str) -> str:\n    """Write a text in capitals."""\n    return text.upper()\n'
    )
    solver = ExecuteSummarize([ToolSource.parse(source)])
    result = solver.run("Write the text in capitals.", [({"text": "a"}, "A"), ({"text": "bc"}, "BC")])
    assert result.workflow({"text": "deep"}) == "DEEP"
    escape = "def shout(text: str) -> str:\n    import os\n    return os.getcwd()\n"
    chat = ScriptedChat([action("shout", text="a"), action("finish", answer=None), action("finish")] * 2)
    trace = ExecuteSummarize([ToolSource.parse(escape)], chat, "react").run("Shout.", [({"text": "a"}, "A")]).traces[0]
    assert [step.observation.ok for step in trace.calls] == [False]


def test_tools_that_write_are_not_tried_by_search() -> None:
    written: list[float] = []

    @tool(effect="write")
    def book(amount: float) -> float:
        """Book an amount."""
        written.append(amount)
        return amount * 2

    result = ExecuteSummarize([book]).run("Book the amount.", [({"amount": 1}, 2), ({"amount": 2}, 4)])
    assert (result.ok, written) == (False, [])


def test_a_tool_that_writes_is_called_once_by_the_agent_and_once_by_each_run() -> None:
    written: list[float] = []

    @tool(effect="write", name="enter")
    def book(amount: float) -> float:
        """Book an amount."""
        written.append(amount)
        return amount

    chat = ScriptedChat(
        [
            action("enter", amount=1),
            action("finish", answer=1),
            node("enter", "booked", amount="amount"),
            action("add_end_node", output="booked"),
            action("finish"),
        ]
    )
    workflow = ExecuteSummarize([book], chat, "es-rr").run("Book.", [({"amount": 1}, 1)]).workflow
    assert written == [1]
    assert (workflow({"amount": 5}), written) == (5, [1, 5])


@dataclasses.dataclass
class Point:
    x: int
    y: int


def test_functions_may_take_and_give_types_of_their_own() -> None:
    @tool(effect="read")
    def shift(point: Point, by: int) -> Point:
        """Move a point along both axes."""
        return Point(point.x + by, point.y + by)

    examples = [
        ({"point": {"x": 1, "y": 2}, "by": 3}, {"x": 4, "y": 5}),
        ({"point": {"x": 0, "y": 9}, "by": 7}, {"x": 7, "y": 16}),
    ]
    workflow = ExecuteSummarize([shift]).run("Move the point along both axes.", examples).workflow
    assert workflow({"point": {"x": 30, "y": 40}, "by": -1}) == {"x": 29, "y": 39}


def test_a_whole_task_or_examples_as_records_are_taken_too() -> None:
    examples = [Example(input=given, output=wanted) for given, wanted in EXAMPLES]
    inputs = infer_inputs(examples)
    task = Task(id="shop", query=QUERY, inputs=inputs, examples=tuple(examples))
    solver = ExecuteSummarize(SHOP)
    assert solver.run(task).workflow.workflow.name == "shop"
    assert solver.run(QUERY, examples).workflow({"prices": [5]}) == "6.00 EUR"


@pytest.mark.parametrize(
    ("inputs", "properties", "required"),
    [
        ([{"a": 1}, {"a": 2}], {"a": {"type": "integer"}}, ["a"]),
        ([{"a": 1}, {"a": 2.5}], {"a": {"type": "number"}}, ["a"]),
        ([{"a": 1}, {"a": "x"}], {"a": {"type": ["integer", "string"]}}, ["a"]),
        ([{"a": True, "b": None}, {"a": False}], {"a": {"type": "boolean"}, "b": {"type": "null"}}, ["a"]),
        ([{"a": [1]}, {"b": {}}], {"a": {"type": "array"}, "b": {"type": "object"}}, []),
        ([{}], {}, []),
    ],
)
def test_inputs_are_read_off_examples(
    inputs: list[dict[str, Any]], properties: dict[str, Any], required: list[str]
) -> None:
    found = infer_inputs([Example(input=given, output=None) for given in inputs])
    assert found == {"type": "object", "properties": properties, "required": required}


def starred(*numbers: float) -> float:
    """Add up numbers."""
    return sum(numbers)


def untyped(connection: Callable[[], int]) -> int:
    """Call."""
    return connection()


def other_total() -> Callable[..., Any]:
    @tool(effect="read")
    def total(text: str) -> str:
        """Something else."""
        return text

    return total


SOURCE = ToolSource.parse("def f(n: int) -> int:\n    return n\n")


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([], "give at least one function"),
        ([total, SOURCE], "give one kind only"),
        ([starred], "'starred'.*'numbers' must be passed by its name"),
        ([untyped], "'untyped'"),
        ([total, with_tax, other_total()], "'total'"),
        ([SOURCE, SOURCE], "'f'"),
    ],
    ids=["none", "mixed", "star", "no type", "same name", "same source name"],
)
def test_what_cannot_be_a_tool_is_refused_by_name(tools: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ExecuteSummarize(tools)


def test_a_tool_with_the_name_of_a_graph_tool_is_refused() -> None:
    def finish(n: int) -> int:
        """Finish."""
        return n

    with pytest.raises(InputError, match="'finish'"):
        ExecuteSummarize([finish]).run("Finish.", [({"n": 1}, 1)])


def test_a_task_needs_an_example_and_examples_that_fit() -> None:
    solver = ExecuteSummarize(SHOP)
    with pytest.raises(InputError, match="at least one example"):
        solver.run(QUERY)
    text = {"type": "object", "properties": {"prices": {"type": "string"}}, "required": ["prices"]}
    with pytest.raises(InputError, match=r"example 1 .*prices"):
        solver.run(QUERY, EXAMPLES, inputs=text)
    with pytest.raises(InputError, match="pattern"):
        solver.run(QUERY, EXAMPLES, inputs={"type": "object", "properties": {"p": {"pattern": "x"}}})


def test_a_mode_or_model_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InputError, match="mode 'es-xx' is none of"):
        ExecuteSummarize(SHOP, mode="es-xx")
    with pytest.raises(ModelUnavailable, match="OPENAI_BASE_URL"):
        ExecuteSummarize(SHOP, model="nobody")


def test_the_plan_of_a_planning_mode_is_in_the_trace() -> None:
    chat = ScriptedChat([plan("Give up.", analysis="hopeless"), action("finish", answer=None)] * 2)
    settings = Settings(trace_selection="all_success")
    trace = ExecuteSummarize(SHOP, chat, "es-pe", settings).run(QUERY, EXAMPLES).traces[0]
    assert [(step.kind, getattr(step, "analysis", "")) for step in trace.events] == [("planned", "hopeless")]


def test_every_public_name_is_there() -> None:
    assert [name for name in flowmind.__all__ if getattr(flowmind, name, None) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = flowmind.Nothing
