"""The search for programs: calls, branches and loops are found, and the workflows are right on other inputs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from flowmind.build.induction.induce import Inducers, induce, programs_of
from flowmind.build.induction.induction import Induction, Request
from flowmind.build.induction.program import DoWhile, ForEach, If
from flowmind.build.induction.runs import Call, Run
from flowmind.run.compiler import compile_workflow
from flowmind.workflow.document import Workflow
from flowmind.workflow.program import load, run_case
from tools_registry.specs.spec import ToolSpec

ORDERS = {
    f"O{number}": {
        "id": f"O{number}",
        "customer": f"C{number % 3}",
        "total": number * 37 % 400,
        "status": ("open", "paid", "shipped")[number * 7 % 3],
        "lines": [{"sku": f"S{number * 5 + line}", "count": (number + line) % 4 + 1} for line in range(number % 4)],
    }
    for number in range(1, 40)
}
STOCK = {
    f"S{number}": {"sku": f"S{number}", "name": f"article {number}", "left": number * 13 % 9} for number in range(220)
}
WRITING = ("remind", "reorder")
World = Callable[[str, dict[str, Any]], Any]


def answer_of(tool: str, args: dict[str, Any]) -> Any:
    match tool:
        case "get_order":
            return ORDERS[args["order_id"]]
        case "get_stock":
            return STOCK[args["sku"]]
        case "remind":
            return {"sent": True, "reminder": f"R-{args['order_id']}"}
        case "reorder":
            return {"po": f"PO-{args['sku']}-{args['count']}"}
        case "list_orders":
            listed = [order for order in ORDERS.values() if order["status"] == args["status"]]
            start = int(args["cursor"][1:]) if args.get("cursor") else 0
            page = [{"id": order["id"], "total": order["total"]} for order in listed[start : start + 4]]
            return {"orders": page, "next": f"p{start + 4}" if start + 4 < len(listed) else None}
        case _:
            return {"time": "12:00"}


PARAMETERS = {
    "get_order": ["order_id"],
    "get_stock": ["sku"],
    "remind": ["order_id", "text"],
    "reorder": ["sku", "count"],
    "list_orders": ["status"],
    "clock": [],
}
SPECS = {
    name: ToolSpec(
        name=name,
        parameters={
            "type": "object",
            "properties": {field: {} for field in [*required, *(["cursor"] if name == "list_orders" else [])]},
            "required": required,
        },
        effect="write" if name in WRITING else "read",
    )
    for name, required in PARAMETERS.items()
}


def linear(call: World, order_id: str) -> Any:
    order = call("get_order", {"order_id": order_id})
    call("remind", {"order_id": order["id"], "text": f"Order {order['id']} of {order['customer']}"})
    return order["total"]


def branch(call: World, order_id: str) -> Any:
    order = call("get_order", {"order_id": order_id})
    if order["status"] == "paid":
        return call("remind", {"order_id": order_id, "text": "paid"})["reminder"]
    return order["status"]


def each(call: World, order_id: str) -> Any:
    made: list[Any] = []
    for line in call("get_order", {"order_id": order_id})["lines"]:
        if call("get_stock", {"sku": line["sku"]})["left"] < 4:
            made.append(call("reorder", {"sku": line["sku"], "count": line["count"]})["po"])
    return made


def early(call: World, order_id: str) -> Any:
    for line in call("get_order", {"order_id": order_id})["lines"]:
        stock = call("get_stock", {"sku": line["sku"]})
        if stock["left"] < 4:
            return stock["name"]
    return "all in stock"


def pages(call: World, status: str) -> Any:
    page = call("list_orders", {"status": status})
    orders = page["orders"]
    while page["next"] is not None:
        page = call("list_orders", {"status": status, "cursor": page["next"]})
        orders = orders + page["orders"]
    return [order["id"] for order in orders if order["total"] > 200]


QUERIES = {
    linear: "Remind the customer of the order with the text 'Order <id> of <customer>'; answer the total.",
    branch: "If the order is paid, remind with the text 'paid' and answer the reminder; otherwise answer its status.",
    each: "For each line of the order whose article has fewer than 4 left reorder its count; answer the orders.",
    early: "Answer the name of the first article of the order with fewer than 4 left, or 'all in stock'.",
    pages: "Answer the ids of all orders with the status that have a total over 200, from all pages.",
}
Task = Callable[..., Any]


def run_of_task(task: Task, inputs: dict[str, Any], number: int = 0) -> Run:
    calls: list[Call] = []

    def call(tool: str, args: dict[str, Any]) -> Any:
        value = answer_of(tool, args)
        calls.append(Call(tool, args, value, len(calls)))
        return value

    answer = task(call, **inputs)
    return Run(inputs, tuple(calls), answer, number, len(calls))


def request_of(task: Task, *values: str) -> Request:
    name = "status" if task is pages else "order_id"
    runs = [run_of_task(task, {name: value}, number) for number, value in enumerate(values)]
    inputs = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    return Request(runs, SPECS, inputs, QUERIES[task], task.__name__)


def induced(task: Task, *values: str) -> Induction:
    found = induce(request_of(task, *values))
    assert found, "no workflow"
    assert found[0].sound, (found[0].problems, found[0].refused)
    return found[0]


def execute(workflow: Workflow, inputs: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The answer, and the calls that write."""
    written: list[Any] = []
    program = compile_workflow(workflow)

    def tool(name: str) -> Callable[[dict[str, Any]], Any]:
        def call(args: dict[str, Any]) -> Any:
            if name in WRITING:
                written.append((name, args))
            return answer_of(name, args)

        return call

    tools = [tool(name) for name in program.tools]
    outcome = run_case(load(program.source, program.constants), inputs, tools, 10_000)
    assert outcome.error is None, outcome.error
    return outcome.answer, written


def is_right(task: Task, workflow: Workflow, inputs: dict[str, Any]) -> bool:
    gold = run_of_task(task, inputs)
    writes = [(call.tool, call.args) for call in gold.calls if call.tool in WRITING]
    return execute(workflow, inputs) == (gold.answer, writes)


TRAINING = ("O3", "O7", "O10", "O14", "O18", "O23", "O27")
OTHERS = [{"order_id": f"O{number}"} for number in range(1, 40) if f"O{number}" not in TRAINING]


@pytest.mark.parametrize("task", [linear, branch, each])
def test_other_inputs(task: Task) -> None:
    workflow = induced(task, *TRAINING).workflow
    wrong = [inputs for inputs in OTHERS if not is_right(task, workflow, inputs)]
    assert not wrong


def test_a_loop_that_ends_early_stops_at_the_deciding_call() -> None:
    request = request_of(early, "O8", *TRAINING)
    body = programs_of(request)[0].body
    loop = next(step for step in body if isinstance(step, ForEach))
    assert loop.stop is not None
    workflow = induced(early, "O8", *TRAINING).workflow
    assert sum(is_right(early, workflow, inputs) for inputs in OTHERS) >= 0.8 * len(OTHERS)


def test_pages_are_a_repetition_that_reads_the_cursor_of_the_round_before() -> None:
    request = request_of(pages, "open", "paid")
    loop = programs_of(request)[0].body[0]
    assert isinstance(loop, DoWhile)
    assert is_right(pages, induced(pages, "open", "paid").workflow, {"status": "shipped"})


def test_a_branch_joins_or_ends_in_each_arm() -> None:
    body = programs_of(request_of(branch, *TRAINING))[0].body
    assert any(isinstance(step, If) for step in body)


def with_clock(run: Run) -> Run:
    calls = (Call("clock", {}, {"time": f"12:0{run.number}"}, 0), *run.calls)
    return Run(run.inputs, calls, run.answer, run.number, run.steps + 1)


def test_an_unnecessary_call_of_one_run_is_left_out() -> None:
    request = request_of(linear, "O3", "O7", "O10", "O14")
    runs = [with_clock(run) if run.number == 1 else run for run in request.runs]
    found = induce(Request(runs, request.specs, request.inputs, request.query, request.name))[0]
    assert found.left_out == ("clock",)
    assert "clock" not in found.workflow.tool_names
    assert is_right(linear, found.workflow, {"order_id": "O20"})


def test_equal_requests_give_equal_bytes() -> None:
    first, second = induced(each, *TRAINING), induced(each, *TRAINING)
    assert first.workflow.document == second.workflow.document


def test_excluded_documents_do_not_come_again() -> None:
    request = request_of(each, *TRAINING)
    first = induce(request)[0].workflow
    excluded = Request(request.runs, SPECS, request.inputs, request.query, request.name, excluded=[first.document])
    bare = first.model_copy(update={"evidence": (), "rivals": ()})
    others = [found.workflow.model_copy(update={"evidence": (), "rivals": ()}) for found in induce(excluded)]
    assert all(other.document != bare.document for other in others) or not induce(excluded)[0].sound


def test_without_runs_there_is_no_workflow() -> None:
    assert induce(Request([], SPECS, {"type": "object", "properties": {}}, "", "none")) == []


def test_processes_give_the_same_workflow() -> None:
    request = request_of(branch, *TRAINING)
    inducers = Inducers(1)
    try:
        found = asyncio.run(inducers.induce(request))
    finally:
        inducers.close()
    assert found[0].workflow.document == induce(request)[0].workflow.document
