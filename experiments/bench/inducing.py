"""How time and memory of induction grow with the calls of a trace, and with the number of traces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from random import Random
from typing import Any

from experiments.bench.growth import Cost, peak, seconds
from experiments.bench.measuring import Bench, Contender, Goal, Sample, Unit
from flowmind.build.induction.induce import induce_in_thread, request_of
from flowmind.trace.events import Called, Trace
from tools_registry.sandbox.callables import tool
from tools_registry.sandbox.functions import specs_of
from tools_registry.specs.spec import Observation, ToolCall

CALLS = (5, 10, 50, 200)
TRACES = (2, 5, 10, 50)
INPUTS = {
    "type": "object",
    "properties": {"customer": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["customer", "limit"],
}
QUERY = (
    "Add up the cents of the customer's paid orders. If the sum is above the limit, send a reminder; otherwise answer "
    "with the sum."
)


@tool(effect="read")
def list_orders(customer: str) -> list[dict[str, Any]]:
    """The orders of a customer.

    Args:
        customer: The customer's id.
    """
    raise NotImplementedError(customer)


@tool(effect="read")
def get_order(order: str) -> dict[str, Any]:
    """An order.

    Args:
        order: Its id.
    """
    raise NotImplementedError(order)


@tool(effect="write")
def remind(customer: str, cents: int) -> str:
    """Send a reminder.

    Args:
        customer: The customer's id.
        cents: The sum.
    """
    raise NotImplementedError(customer, cents)


def trace_of(calls: int, number: int) -> Trace:
    """An execution with a number of calls: the list of orders, each order, and in every second trace a reminder."""
    random = Random(f"{calls}/{number}")
    reminded = number % 2 == 1
    customer = f"C{random.randint(1000, 9999)}"
    orders = [
        {"id": f"O{place}{random.randint(100, 999)}", "status": random.choice(["paid", "open"]),
         "cents": 10 * random.randint(10, 999), "note": random.choice([None, "gift"])}
        for place in range(max(calls - 1 - reminded, 1))
    ]  # fmt: skip
    total = sum(int(str(order["cents"])) for order in orders if order["status"] == "paid")
    limit = max(total + (-50 if reminded else 50), 0)
    listed = [{"id": order["id"], "when": f"2026-0{1 + place % 9}-11"} for place, order in enumerate(orders)]
    made: list[tuple[str, dict[str, Any], Any]] = [
        ("list_orders", {"customer": customer}, listed),
        *(("get_order", {"order": order["id"]}, order) for order in orders),
    ]
    if reminded and total > limit:
        made.append(("remind", {"customer": customer, "cents": total}, f"M{random.randint(100, 999)}"))
    return Trace(
        inputs={"customer": customer, "limit": limit},
        events=tuple(
            Called(call=ToolCall(tool=name, args=args), observation=Observation(value=value))
            for name, args, value in made
        ),
        stop="finish",
        answer=made[-1][2] if made[-1][0] == "remind" else total,
    )


@contextmanager
def induced(calls: int, traces: int, cost: Cost) -> Generator[Sample]:
    """Samples the induction from a number of traces with a number of calls each."""
    specs = specs_of([list_orders, get_order, remind])
    request = request_of([trace_of(calls, number) for number in range(traces)], specs, INPUTS, QUERY)

    def sample(times: int) -> float:
        def work() -> None:
            for _ in range(times):
                asyncio.run(induce_in_thread(request))

        return cost(work)

    yield sample


def _bench(
    name: str, title: str, unit: Unit, noun: str, sizes: Sequence[int], bound: float,
    open_: Callable[[int, Cost], AbstractContextManager[Sample]],
) -> Bench:  # fmt: skip
    cost = peak if unit == "KB" else seconds
    contenders = [Contender(f"{size} {noun}s", partial(open_, size, cost), size=size) for size in sizes]
    goal = Goal(contenders[-1].name, contenders[0].name, "slower", bound)
    return Bench(name, title, unit, f"a {noun}", tuple(contenders), (goal,), rounds=3)


def benches(calls: Sequence[int] = CALLS, traces: Sequence[int] = TRACES) -> tuple[Bench, ...]:
    """Time and memory: five traces of 5 to 200 calls, and 2 to 50 traces of ten calls."""
    of_calls, of_traces = "Induction from five traces", "Induction from traces of ten calls"

    def by_calls(size: int, cost: Cost) -> AbstractContextManager[Sample]:
        return induced(size, 5, cost)

    def by_traces(size: int, cost: Cost) -> AbstractContextManager[Sample]:
        return induced(10, size, cost)

    return (
        _bench("induction-calls", of_calls, "ms", "call", calls, 3, by_calls),
        _bench("induction-calls-memory", of_calls, "KB", "call", calls, 3, by_calls),
        _bench("induction-traces", of_traces, "ms", "trace", traces, 3, by_traces),
        _bench("induction-traces-memory", of_traces, "KB", "trace", traces, 3, by_traces),
    )
