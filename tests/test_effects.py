"""Only tools that are marked `read` are called on trial; nobody calls an unmarked tool but an agent or a workflow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from flowmind import ExecuteSummarize, InputError, RunnableWorkflow, Trace, summarize, tool
from flowmind.llm.choosing import model_named
from flowmind.llm.testing import ScriptedChat, action
from flowmind.trace.events import Called
from flowmind.trace.recorded import Recorded
from tools_registry import catalog
from tools_registry.sandbox.environments import FunctionEnvironment, ToolSource
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec, untried, untried_line

ORDERS = {"A100": 120.0, "A200": 25.0, "A300": 60.0}
QUERY = "Refund the order."
EXAMPLES = [({"order_id": name}, amount) for name, amount in ORDERS.items()]
CALLS: list[str] = []


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


def issue_refund(order_id: str) -> float:
    """Refund an order and give its amount."""
    CALLS.append(f"refund {order_id}")
    return ORDERS[order_id]


def get_amount(order_id: str) -> float:
    """Give the amount of an order."""
    CALLS.append(f"amount {order_id}")
    return ORDERS[order_id]


@tool(effect="read", name="amount_of")
def get_amount_of(order_id: str) -> float:
    """Give the amount of an order."""
    return ORDERS[order_id]


def refunded(order_id: str) -> Trace:
    made = Called(
        call=ToolCall(tool="issue_refund", args={"order_id": order_id}), observation=Observation(value=ORDERS[order_id])
    )
    return Trace(inputs={"order_id": order_id}, events=(made,), stop="finish", answer=ORDERS[order_id])


def searched(**options: Any) -> None:
    ExecuteSummarize([issue_refund, get_amount], model="search", **options).run(QUERY, EXAMPLES)


def summarized() -> None:
    result = summarize([refunded(name) for name in ORDERS], [issue_refund], query=QUERY)
    assert result.checked == "recorded"


def summarized_with_search() -> None:
    traces = [refunded(name) for name in ORDERS]
    summarize(traces, [issue_refund], query=QUERY, model="search", examples=EXAMPLES)


def probed() -> None:
    with pytest.raises(InputError, match="issue_refund"):
        searched(mode="induction", settings={"probe": 2})


WAYS: dict[str, Callable[[], None]] = {
    "es-pe": lambda: searched(mode="es-pe"),
    "es-react": lambda: searched(mode="es-react"),
    "react": lambda: searched(mode="react"),
    "es-react+verify": lambda: searched(mode="es-react", verify=True),
    "es-pe+verify, 3 rollouts": lambda: searched(mode="es-pe", verify=3, settings={"rollouts": 3}),
    "induction": lambda: searched(mode="induction"),
    "probe": probed,
    "summarize": summarized,
    "summarize with search": summarized_with_search,
}


@pytest.mark.parametrize("way", WAYS)
def test_unmarked_tools_are_never_called_on_trial(way: str) -> None:
    WAYS[way]()
    assert CALLS == []


@pytest.mark.parametrize("verify", [False, True])
def test_an_unmarked_tool_is_called_as_often_as_the_agent_calls_it(verify: bool) -> None:
    node = {"tool": "issue_refund", "args": {"order_id": {"var": "order_id"}}, "output": "paid", "after": "start"}
    replies = [
        action("issue_refund", order_id="A100"),
        action("finish", answer=120.0),
        *([] if verify else [action("add_function_node", **node), action("add_end_node", output="paid", after="n1")]),
        action("finish"),
    ]
    chat = ScriptedChat(replies)
    ExecuteSummarize(issue_refund, chat, "es-react", verify=verify).run(QUERY, EXAMPLES[:1])
    assert CALLS == ["refund A100"]


def test_search_works_with_the_tools_that_are_marked_and_names_the_others() -> None:
    result = ExecuteSummarize([get_amount_of, issue_refund], mode="es-react").run(
        "Give the amount of the order.", EXAMPLES
    )
    assert result.workflow(order_id="A300") == 60.0
    assert not [call for call in CALLS if call.startswith("refund")]
    said = "\n".join(turn.text for trace in result.traces for turn in trace.turns)
    assert said.count("Not tried: issue_refund (not marked); mark a tool that changes nothing") == 1


@pytest.mark.parametrize("mode", ["es-pe", "es-react", "react"])
def test_search_that_finds_nothing_names_the_tools_that_it_did_not_try_once(mode: str) -> None:
    result = ExecuteSummarize([issue_refund], mode=mode).run(QUERY, EXAMPLES)
    said = "\n".join(turn.text for trace in result.traces for turn in trace.turns)
    assert said.count("issue_refund (not marked)") == 1


def test_untried_tools_have_a_reason() -> None:
    @tool(effect="write")
    def send(text: str) -> str:
        return text

    @tool(effect="read")
    async def find(text: str) -> str:
        return text

    specs = FunctionEnvironment([issue_refund, send, find]).specs
    assert untried(specs) == {"issue_refund": "not marked", "send": "it writes"}
    assert untried_line(specs) == (
        "not tried: issue_refund (not marked), send (it writes); "
        'mark a tool that changes nothing with @tool(effect="read")'
    )
    assert untried_line({"find": specs["find"]}) == ""


# Async tools


def test_search_tries_async_tools_in_the_event_loop_of_the_caller() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    @tool(effect="read")
    async def convert(amount: float, rate: float) -> float:
        """Convert an amount at a rate."""
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return amount * rate

    @tool(effect="read")
    def total(amounts: list[float]) -> float:
        """Add up amounts."""
        return sum(amounts)

    examples = [({"amounts": [1, 2], "rate": 2}, 6), ({"amounts": [5, 5], "rate": 3}, 30)]
    query = "Add up the amounts and convert the sum at the rate."

    async def both() -> tuple[Any, asyncio.AbstractEventLoop]:
        result = await ExecuteSummarize([convert, total]).arun(query, examples)
        return result, asyncio.get_running_loop()

    result, loop = asyncio.run(both())
    assert set(loops) == {loop}
    assert result.workflow(amounts=[10, 20], rate=4) == 120
    assert ExecuteSummarize([convert, total]).run(query, examples).workflow(amounts=[1], rate=4) == 4


def test_an_async_tool_that_fails_on_trial_is_an_error_of_the_trial() -> None:
    @tool(effect="read")
    async def look(key: str) -> str:
        raise KeyError(key)

    result = ExecuteSummarize([look]).run("Look it up.", [({"key": "a"}, "b")])
    assert not result.ok


# Where marks come from


def test_tools_without_a_mark_are_of_unknown_effect() -> None:
    source = "def double(n: int) -> int:\n    return 2 * n\n"
    specs = [
        FunctionEnvironment([issue_refund]).specs["issue_refund"],
        FunctionEnvironment([tool()(get_amount)]).specs["get_amount"],
        ToolSource.parse(source).spec,
        ToolSource.parse_all(source)[0].spec,
        ToolSpec.model_validate({"name": "saved", "parameters": {"type": "object"}}),
    ]
    assert {spec.effect for spec in specs} == {"unknown"}


def test_the_tools_of_the_catalog_read() -> None:
    assert {spec.effect for spec in catalog.specs().values()} == {"read"}


def test_a_mark_with_another_effect_is_refused() -> None:
    with pytest.raises(InputError, match=r"tool\(effect='reads'\): the effect is one of read, write, unknown"):
        tool(effect="reads")  # pyright: ignore[reportArgumentType]


def test_recorded_results_answer_trial_calls_of_tools_that_read() -> None:
    spec = FunctionEnvironment([get_amount_of]).specs["amount_of"]
    recorded = Recorded({"issue_refund": spec.model_copy(update={"name": "issue_refund"})}, [refunded("A100")])
    assert recorded.values([("issue_refund", {"order_id": "A100"}), ("issue_refund", {"order_id": "B"})]) == [
        (120.0, None),
        (None, ("not_recorded", 'the trace has no call issue_refund({"order_id":"B"})')),
    ]
    assert model_named("search", recorded).name == "search"
    assert CALLS == []


def test_a_workflow_of_unmarked_tools_runs_as_often_as_its_user_runs_it() -> None:
    result = summarize([refunded(name) for name in ORDERS], [issue_refund], query=QUERY)
    workflow: RunnableWorkflow = result.workflow
    assert (workflow(order_id="A200"), CALLS) == (25.0, ["refund A200"])
