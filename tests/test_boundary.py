"""Calls of recorded functions: what a case records, under the frameworks of agents, in threads and in tasks."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any, cast

import pytest
from pydantic import BaseModel

import flowmind
from flowmind import InputError, Trace, tool
from flowmind.recording.boundary import Case, original
from tools_registry.sandbox.functions import FunctionEnvironment, spec_of


@tool(effect="read")
def stock(sku: str) -> dict[str, Any]:
    """Find the stock of an item.

    Args:
        sku: The item.
    """
    return {"count": 3, "sku": sku}


@tool(effect="write")
def ship(sku: str, count: int = 1) -> str:
    """Ship an item.

    Args:
        sku: The item.
        count: How many.
    """
    if count > 5:
        raise ValueError("too many")
    return f"shipped {count} {sku}"


@tool(effect="read")
async def price(sku: str) -> float:
    """Find the price of an item."""
    await asyncio.sleep(0)
    return 2.5 * len(sku)


class Order(BaseModel):
    sku: str
    due: date


class Shop:
    def __init__(self) -> None:
        self.orders: list[Order] = []

    @tool(effect="write", name="order_item")
    def order(self, sku: str, due: date) -> Order:
        """Order an item."""
        self.orders.append(Order(sku=sku, due=due))
        return self.orders[-1]

    @flowmind.recorded
    def count(self) -> int:
        """Count the orders."""
        return len(self.orders)


ONE: Any = lambda: 1  # noqa: E731
EXPECTED = [("stock", {"sku": "a"}), ("stock", {"sku": "b"}), ("ship", {"sku": "a", "count": 2})]


def calls(case: Case) -> list[tuple[str, dict[str, Any]]]:
    return [(event.call.tool, event.call.args) for event in case.trace.calls]


def values(case: Case) -> list[Any]:
    return [event.observation.value for event in case.trace.calls]


def test_a_recorded_function_is_the_same_tool() -> None:
    for function in (stock, ship, price, Shop().order, functools.partial(ship, count=2)):
        copy = flowmind.recorded(function)
        assert inspect.signature(copy) == inspect.signature(function)
        assert spec_of(copy) == spec_of(function)
        assert inspect.iscoroutinefunction(copy) == inspect.iscoroutinefunction(function)
        assert original(copy) == function
        assert flowmind.recorded(copy) is copy
    assert flowmind.recorded([stock])[0]("a") == flowmind.recorded({"stock": stock})["stock"](sku="a") == stock("a")


def test_a_case_records_calls_values_and_failures() -> None:
    find, send = flowmind.recorded([stock, ship])
    find("outside")
    with flowmind.case({"sku": "a", "due": date(2025, 4, 1)}) as case:
        find("a")
        send("a", count=2)
        with pytest.raises(ValueError, match="too many"):
            send("a", 9)
        with pytest.raises(TypeError):
            send(wrong=1)
        case.answer = {"due": date(2025, 4, 2)}
    trace = case.trace
    assert trace.inputs == {"sku": "a", "due": "2025-04-01"}
    assert (trace.stop, trace.answer) == ("finish", {"due": "2025-04-02"})
    assert calls(case) == [
        ("stock", {"sku": "a"}),
        ("ship", {"sku": "a", "count": 2}),
        ("ship", {"sku": "a", "count": 9}),
        ("ship", {"wrong": 1}),
    ]
    assert values(case)[:2] == [{"count": 3, "sku": "a"}, "shipped 2 a"]
    errors = [event.observation.error for event in trace.calls]
    assert [error and error.type for error in errors] == [None, None, "tool_error", "tool_error"]
    assert errors[2] is not None and errors[2].message == "ValueError: too many"
    assert all(event.seconds is not None for event in trace.calls)
    assert (case.seconds or 0) > 0
    assert case.lost == ()
    assert Case.current() is None


def test_a_case_that_raises_ends_in_an_error() -> None:
    with pytest.raises(RuntimeError), flowmind.case({}) as case:
        raise RuntimeError("the model does not answer")
    assert case.trace.stop == "error"
    assert case.trace.error is not None and case.trace.error.message == "RuntimeError: the model does not answer"


def test_values_are_kept_as_they_were() -> None:
    @flowmind.recorded
    def add(items: list[int], more: int) -> list[int]:
        items.append(more)
        return items

    with flowmind.case() as case:
        given = [1]
        add(given, 2).append(3)
        given.clear()
    assert calls(case) == [("add", {"items": [1], "more": 2})]
    assert values(case) == [[1, 2]]


def test_results_go_through_json_as_in_an_environment() -> None:
    shop = Shop()
    order = flowmind.recorded(shop.order)
    with flowmind.case() as case:
        assert isinstance(order("a", date(2025, 4, 1)), Order)
        shop.count()
    assert calls(case) == [("order_item", {"sku": "a", "due": "2025-04-01"}), ("count", {})]
    assert values(case) == [{"sku": "a", "due": "2025-04-01"}, 1]
    (outcome,) = FunctionEnvironment([order]).values([("order_item", {"sku": "a", "due": "2025-04-01"})])
    assert outcome[1] == ("refused", "tool 'order_item' is not tried")

    @flowmind.recorded
    def odd(kind: str) -> Any:
        return {"object": object(), "iterator": iter([1, 2])}[kind]

    with flowmind.case() as case:
        odd("object")
        assert [*odd("iterator")] == [1, 2]
    assert [event.observation.error and event.observation.error.type for event in case.trace.calls] == ["not_json"] * 2


def test_what_a_tool_calls_itself_is_its_own_work() -> None:
    find = flowmind.recorded(stock)

    @flowmind.recorded
    def total(skus: list[str]) -> int:
        return sum(find(sku)["count"] for sku in skus)

    with flowmind.case() as case:
        assert total(["a", "b"]) == 6
    assert [name for name, _ in calls(case)] == ["total"]
    assert case.lost == ()


def test_tasks_and_threads_record_into_their_case() -> None:
    find, cost = flowmind.recorded([stock, price])

    async def one(number: int) -> Case:
        with flowmind.case({"number": number}) as case:
            names = [f"{number}-{place}" for place in range(5)]
            waits = [asyncio.to_thread(find, name) for name in names]
            await asyncio.gather(*waits, *(cost(name) for name in names))
        return case

    async def every() -> list[Case]:
        return await asyncio.gather(*(one(number) for number in range(8)))

    for case in asyncio.run(every()):
        own = [f"{case.inputs['number']}-{place}" for place in range(5)]
        assert sorted(args["sku"] for _, args in calls(case)) == sorted([*own, *own])
        assert case.lost == ()


def test_a_thread_without_the_context_makes_the_case_incomplete() -> None:
    find = flowmind.recorded(stock)
    with ThreadPoolExecutor(1) as pool, flowmind.case() as case:
        pool.submit(contextvars.copy_context().run, find, "a").result()
        assert case.lost == ()
        pool.submit(find, "b").result()
    assert calls(case) == [("stock", {"sku": "a"})]
    assert len(case.lost) == 1 and "contextvars.copy_context().run" in case.lost[0]


def test_a_call_that_outlives_its_case_is_told() -> None:
    go = threading.Event()
    begun = threading.Event()

    @flowmind.recorded
    def slow() -> int:
        begun.set()
        go.wait(30)
        return 1

    with flowmind.case() as case:
        thread = threading.Thread(target=contextvars.copy_context().run, args=(slow,))
        thread.start()
        begun.wait(30)
    late = threading.Thread(target=contextvars.copy_context().run, args=(slow,))
    (call,) = case.trace.calls
    assert call.observation.error is not None and call.observation.error.type == "no_result"
    go.set()
    thread.join()
    late.start()
    late.join()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: flowmind.case(cast(Any, [1])), "case: give the inputs by name"),
        (lambda: flowmind.case({"sku": object()}), "case: the inputs are no JSON"),
        (lambda: flowmind.recorded([stock, stock]), "two tools have the name 'stock'"),
        (lambda: flowmind.recorded(cast(list[Any], ["stock"])), "cannot be a tool"),
        (lambda: flowmind.recorded([functools.partial(ONE)]), "a lambda has no name"),
        (lambda: flowmind.recorded([numbers]), "yields its results"),
    ],
)
def test_bad_arguments_are_one_line(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert message in str(caught.value) and "\n" not in str(caught.value)


def numbers() -> Iterator[int]:
    yield 1


def test_a_case_cannot_be_used_twice() -> None:
    with flowmind.case() as case:
        case.answer = object()
    with pytest.raises(InputError, match="has begun before"), case:
        pass
    with pytest.raises(InputError, match="the answer is no JSON"):
        _ = case.trace


def test_langchain_agents_record_as_they_are() -> None:
    agents = pytest.importorskip("langchain.agents")
    models = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    messages = pytest.importorskip("langchain_core.messages")

    class Fake(models.GenericFakeChatModel):
        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

    def wish(*wishes: tuple[str, dict[str, Any]]) -> Any:
        return messages.AIMessage(
            "",
            tool_calls=[{"name": name, "args": args, "id": f"c{place}"} for place, (name, args) in enumerate(wishes)],
        )

    model = Fake(messages=iter([wish(*EXPECTED[:2]), wish(EXPECTED[2]), messages.AIMessage("done")]))
    agent = agents.create_agent(model, flowmind.recorded([stock, ship]))
    with flowmind.case({"sku": "a"}) as case:
        case.answer = agent.invoke({"messages": [("user", "ship 2 a")]})["messages"][-1].content
    assert sorted(map(repr, calls(case)[:2])) == sorted(map(repr, EXPECTED[:2]))  # two threads
    assert calls(case)[2] == EXPECTED[2]
    assert (case.trace.answer, case.lost) == ("done", ())


def test_pydantic_ai_agents_record_as_they_are() -> None:
    library = pytest.importorskip("pydantic_ai")
    parts = pytest.importorskip("pydantic_ai.messages")
    functions = pytest.importorskip("pydantic_ai.models.function")

    def wish(*wishes: tuple[str, dict[str, Any]]) -> Any:
        return parts.ModelResponse(parts=[parts.ToolCallPart(name, args) for name, args in wishes])

    replies = iter([wish(*EXPECTED[:2]), wish(EXPECTED[2]), parts.ModelResponse(parts=[parts.TextPart("done")])])

    def reply(*_: Any) -> Any:
        return next(replies)

    agent = library.Agent(functions.FunctionModel(reply), tools=flowmind.recorded([stock, ship]))
    with flowmind.case({"sku": "a"}) as case:
        case.answer = asyncio.run(agent.run("ship 2 a")).output
    assert sorted(map(repr, calls(case)[:2])) == sorted(map(repr, EXPECTED[:2]))
    assert calls(case)[2] == EXPECTED[2]
    assert (case.trace.answer, case.lost) == ("done", ())


def test_openai_agents_record_as_they_are() -> None:
    library = pytest.importorskip("agents")
    items = pytest.importorskip("agents.items")
    usage = pytest.importorskip("agents.usage")
    responses = pytest.importorskip("openai.types.responses")
    library.set_tracing_disabled(True)

    def wish(*wishes: tuple[str, dict[str, Any]]) -> list[Any]:
        return [
            responses.ResponseFunctionToolCall(
                type="function_call", call_id=f"{name}{place}", name=name, arguments=json.dumps(args)
            )
            for place, (name, args) in enumerate(wishes)
        ]

    text = responses.ResponseOutputText(type="output_text", text="done", annotations=[])
    last = responses.ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
    replies: Iterator[list[Any]] = iter([wish(*EXPECTED[:2]), wish(EXPECTED[2]), [last]])

    class Fake(library.Model):
        async def get_response(self, *_: Any, **__: Any) -> Any:
            return items.ModelResponse(output=next(replies), usage=usage.Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    tools = [library.function_tool(function) for function in flowmind.recorded([stock, ship])]
    with flowmind.case({"sku": "a"}) as case:
        case.answer = asyncio.run(
            library.Runner.run(library.Agent(name="a", tools=tools, model=Fake()), "go")
        ).final_output
    assert sorted(map(repr, calls(case)[:2])) == sorted(map(repr, EXPECTED[:2]))
    assert calls(case)[2] == EXPECTED[2]
    assert (case.trace.answer, case.lost) == ("done", ())


def test_recorded_traces_become_a_workflow() -> None:
    find, send = flowmind.recorded([stock, ship])
    traces: list[Trace] = []
    for sku in ("a", "bb"):
        with flowmind.case({"sku": sku}) as case:
            case.answer = send(sku, find(sku)["count"])
        traces.append(case.trace)
    result = flowmind.summarize(traces, [find, send], query="Ship all of an item.")
    assert result.workflow(sku="ccc") == "shipped 3 ccc"
