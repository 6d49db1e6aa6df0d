"""Structured programs become workflows that pass `check`, say no more than needed, and run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flowmind.build.induction.emission import emit
from flowmind.build.induction.induction import Request
from flowmind.build.induction.program import Block, CallStep, DoWhile, ForEach, If, Return, Slot, StructuredProgram
from flowmind.build.induction.scopes import Candidate, PureCall
from flowmind.run.running import run
from flowmind.workflow.checking import check
from flowmind.workflow.document import Map, Workflow, show_binding
from tools_registry.sandbox.callables import tool
from tools_registry.sandbox.environments import FunctionEnvironment

PAGES = {None: (["a", "b"], "p2"), "p2": (["c"], "p3"), "p3": ([], None)}
ORDERS = {
    "a": {"id": "a", "cents": 100, "status": "open", "lines": [{"sku": "x", "count": 2}, {"sku": "y", "count": 1}]},
    "b": {"id": "b", "cents": 250, "status": "shipped", "lines": []},
    "c": {"id": "c", "cents": 40, "status": "open", "lines": [{"sku": "x", "count": 5}]},
}


@tool(effect="read")
def get_order(id: str) -> dict[str, Any]:
    """An order."""
    return ORDERS[id]


@tool(effect="read")
def list_orders(cursor: str = "") -> dict[str, Any]:
    """A page of the ids of orders."""
    ids, following = PAGES[cursor or None]
    return {"ids": ids, "next": following}


@tool(effect="read")
def price(sku: str, count: int = 1) -> int:
    """The price of goods."""
    return {"x": 10, "y": 30}[sku] * count


@tool(effect="write")
def refund(id: str, cents: int) -> dict[str, Any]:
    """Pays back."""
    return {"id": f"r-{id}", "cents": cents}


@tool(effect="read")
def shout(text: str) -> str:
    """The text in upper case."""
    return text.upper()


TOOLS = FunctionEnvironment([get_order, list_orders, price, refund, shout])


def slot(*texts: str, omitted: str = "", before: tuple[PureCall, ...] = ()) -> Slot:
    left_out = (Candidate(1.0, omitted),) if omitted else ()
    return Slot(tuple(Candidate(float(k), text, before) for k, text in enumerate(texts)), ((1, 1), (2, 1)), left_out)


def call(tool: str, output: str, **args: str | Slot) -> CallStep:
    return CallStep(tool, output, {name: arg if isinstance(arg, Slot) else slot(arg) for name, arg in args.items()})


def answer(text: str) -> Return:
    return Return(slot(text))


def request(*inputs: str) -> Request:
    schema = {"type": "object", "properties": {name: {} for name in inputs}, "required": list(inputs)}
    return Request((), TOOLS.specs, schema, "", "shop")


def emitted(body: Block, *inputs: str) -> Workflow:
    workflow = emit(StructuredProgram(body, 0.0), request(*inputs))
    assert check(workflow, TOOLS) == []
    return workflow


def result(workflow: Workflow, **inputs: Any) -> Any:
    trace = run(workflow, inputs, TOOLS)
    assert trace.error is None, trace.error
    return trace.answer


def kinds(workflow: Workflow) -> list[str]:
    return [node.kind for node in workflow.nodes]


def test_paths_and_records_become_bindings_and_expressions_assignments() -> None:
    body = (
        call("get_order", "order", id="id"),
        call("refund", "refund", id="order['id']", cents="order['cents'] * 2 - fee"),
        answer("{'refund': refund['id'], 'twice': order['cents'] * 2 - fee, 'codes': [id, 1]}"),
    )
    workflow = emitted(body, "id", "fee")
    assert kinds(workflow) == ["start", "tool", "assign", "tool", "end"]
    assert [node.output for node in workflow.nodes if node.kind == "assign"] == ["cents"]
    assert result(workflow, id="a", fee=10) == {"refund": "r-a", "twice": 190, "codes": ["a", 1]}


def test_an_assignment_is_not_shared_after_its_variables_have_changed() -> None:
    body = (
        call("price", "cost", sku="sku", count="n + 1"),
        DoWhile(
            (call("price", "cost", sku="sku", count="(0 if cost is None else cost) + 1"),), slot("cost < 60"), "rows"
        ),
        answer("[cost, n + 1]"),
    )
    assert result(emitted(body, "sku", "n"), sku="x", n=1) == [110, 2]


def test_a_pure_call_stands_before_its_reader_and_is_shared() -> None:
    loud = PureCall("shout", (("text", "order['status']"),), "loud")
    other = PureCall("shout", (("text", "order['id'] + '!'"),), "loud")
    body = (
        call("get_order", "order", id="id"),
        call("price", "cost", sku=slot("'x' if loud == 'OPEN' else 'y'", before=(loud,))),
        Return(slot("[loud, cost]", before=(loud,))),
    )
    assert kinds(emitted(body, "id")).count("tool") == 3
    assert result(emitted(body, "id"), id="a") == ["OPEN", 10]
    both = (*body[:2], Return(slot("loud + str(cost)", before=(other,))))
    assert result(emitted(both, "id"), id="a") == "A!10"


@pytest.mark.parametrize(("id", "expected"), [("a", "r-a"), ("b", None)])
def test_a_variable_of_one_arm_is_null_on_the_other(id: str, expected: str | None) -> None:
    body = (
        call("get_order", "order", id="id"),
        If(slot("order['status'] == 'open'"), (call("refund", "refund", id="id", cents="1"),), ()),
        answer("refund['id'] if refund is not None else None"),
    )
    assert result(emitted(body, "id"), id=id) == expected


def test_nulls_that_nothing_reads_are_left_out() -> None:
    body = (
        call("get_order", "order", id="id"),
        If(slot("order['status'] == 'open'"), (call("refund", "refund", id="id", cents="1"),), ()),
        answer("order['id']"),
    )
    assert kinds(emitted(body, "id")) == ["start", "tool", "condition", "tool", "end"]


def test_early_returns_are_ends_and_nothing_follows_them() -> None:
    body = (
        call("get_order", "order", id="id"),
        If(slot("order['status'] == 'open'"), (answer("'open'"),), (answer("order['status']"),)),
        answer("1"),
    )
    workflow = emitted(body, "id")
    assert kinds(workflow).count("end") == 2
    assert [result(workflow, id=id) for id in "ab"] == ["open", "shipped"]


def for_each(source: str, item: str, body: Block, **more: Any) -> ForEach:
    return ForEach(slot(source), item, body, more.pop("rows", "rows"), **more)


def test_a_loop_of_calls_is_a_map_that_collects_what_is_read() -> None:
    loop = for_each("ids", "id", (call("get_order", "order", id="id"),), where=slot("id != skipped"))
    body = (loop, answer("[row['order']['cents'] for row in rows]"))
    workflow = emitted(body, "ids", "skipped")
    assert kinds(workflow) == ["start", "map", "end"]
    (made,) = (node for node in workflow.nodes if isinstance(node, Map))
    assert (made.output, made.where) == ("cents_list" if made.output != "cents" else "cents", "id != skipped")
    assert result(workflow, ids=["a", "b", "c"], skipped="b") == [100, 40]


def test_a_map_collects_objects_if_several_values_are_read() -> None:
    loop = for_each("ids", "id", (call("get_order", "order", id="id"),))
    body = (loop, answer("[row['id'] for row in rows if row['order']['status'] == 'open']"))
    assert result(emitted(body, "ids"), ids=["a", "b", "c"]) == ["a", "c"]


def test_a_map_whose_rounds_are_only_counted() -> None:
    loop = for_each("ids", "id", (call("refund", "refund", id="id", cents="1"),))
    workflow = emitted((loop, answer("len(rows)")), "ids")
    assert [show_binding(node.collect) for node in workflow.nodes if isinstance(node, Map)] == ["refund"]
    assert result(workflow, ids=["a", "c"]) == 2


def test_a_map_sums() -> None:
    loop = for_each("ids", "id", (call("get_order", "order", id="id"),))
    body = (loop, answer("{'sum': sum(row['order']['cents'] for row in rows), 'count': len(rows)}"))
    workflow = emitted(body, "ids")
    assert "map" in kinds(workflow)
    assert result(workflow, ids=["a", "c"]) == {"sum": 140, "count": 2}


def test_two_branches_with_loops_of_the_same_names() -> None:
    def arm(tool: str) -> Block:
        return (for_each("ids", "id", (call(tool, "thing", id="id", **({"cents": "1"} if tool == "refund" else {})),)),)

    both = (If(slot("pay"), arm("refund"), arm("get_order")), answer("[row['thing']['id'] for row in rows]"))
    workflow = emitted(both, "pay", "ids")
    assert [result(workflow, pay=pay, ids=["a"]) for pay in (True, False)] == [["r-a"], ["a"]]
    told = "[row['thing']['cents'] for row in rows]"
    each = (If(slot("pay"), (*arm("refund"), answer(told)), (*arm("get_order"), answer(told))),)
    workflow = emitted(each, "pay", "ids")
    assert [result(workflow, pay=pay, ids=["a"]) for pay in (True, False)] == [[1], [100]]
    assert [show_binding(node.collect) for node in workflow.nodes if isinstance(node, Map)] == ["thing.cents"] * 2


def test_a_loop_with_a_branch_is_a_graph_with_one_counter() -> None:
    inner = If(slot("order['status'] == 'open'"), (call("refund", "refund", id="id", cents="order['cents']"),), ())
    loop = for_each("ids", "id", (call("get_order", "order", id="id"), inner))
    body = (loop, answer("[row['refund']['id'] for row in rows if row['refund'] is not None]"))
    workflow = emitted(body, "ids")
    assert result(workflow, ids=["a", "b", "c"]) == ["r-a", "r-c"]
    assert kinds(workflow).count("condition") == 2
    assert "rows" not in {getattr(node, "output", "") for node in workflow.nodes}


def test_what_nothing_reads_of_a_loop_is_not_kept() -> None:
    inner = If(slot("id != 'b'"), (call("refund", "refund", id="id", cents="1"),), ())
    workflow = emitted((for_each("ids", "id", (inner,), index="index"), answer("'done'")), "ids")
    assert {node.output for node in workflow.nodes if node.kind == "assign"} == {"i", "id"}


def test_a_loop_that_ends_early() -> None:
    loop = for_each(
        "ids",
        "id",
        (call("get_order", "order", id="id"),),
        where=slot("id != 'a'"),
        index="index",
        stop=slot("order['status'] == 'open' and index > 0"),
        stopped="stopped",
    )
    body = (loop, answer("{'stopped': stopped, 'ids': [row['id'] for row in rows]}"))
    workflow = emitted(body, "ids")
    assert result(workflow, ids=["a", "b", "c", "b"]) == {"stopped": True, "ids": ["b", "c"]}
    assert result(workflow, ids=["a", "b"]) == {"stopped": False, "ids": ["b"]}


def test_a_condition_that_stops_a_loop_reads_the_rounds_before() -> None:
    inner = If(slot("True"), (call("get_order", "order", id="id"),), ())
    loop = for_each("ids", "id", (inner,), stop=slot("len(rows) >= 1"))
    assert result(emitted((loop, answer("[row['id'] for row in rows]")), "ids"), ids=["a", "b", "c"]) == ["a", "b"]


def test_pages_with_an_optional_cursor() -> None:
    cursor = slot("page['next']", omitted="page is None")
    loop = DoWhile((call("list_orders", "page", cursor=cursor),), slot("page['next'] is not None"), "rounds", "index")
    body = (loop, answer("sum((row['page']['ids'] for row in rounds), [])"))
    workflow = emitted(body)
    assert result(workflow) == ["a", "b", "c"]
    assert [edge.bound for edge in workflow.edges if edge.bound] == [1_000]
    counted = (loop, answer("[len(rounds), len([row for row in rounds if row['page']['ids']]), rounds[-1]['page']]"))
    assert result(emitted(counted)) == [3, 2, {"ids": [], "next": None}]


def test_a_return_inside_of_a_loop() -> None:
    inner = (call("get_order", "order", id="id"), If(slot("order['cents'] > 200"), (answer("id"),), ()))
    body = (for_each("ids", "id", inner), answer("None"))
    workflow = emitted(body, "ids")
    assert [result(workflow, ids=ids) for ids in (["a", "b", "c"], ["a"])] == ["b", None]


def test_nested_loops_keep_what_is_read() -> None:
    lines = for_each("order['lines']", "line", (call("price", "cost", sku="line['sku'] + ''"),), rows="line_rows")
    loop = for_each("ids", "id", (call("get_order", "order", id="id"), lines))
    body = (loop, answer("[sum([one['cost'] for one in row['line_rows']]) for row in rows]"))
    assert result(emitted(body, "ids"), ids=["a", "b", "c"]) == [40, 0, 10]
    joined = (loop, answer("[{'id': row['id'], 'n': len(row['line_rows'])} for row in rows]"))
    assert result(emitted(joined, "ids"), ids=["a", "b"]) == [{"id": "a", "n": 2}, {"id": "b", "n": 0}]


def test_a_loop_over_a_list_that_its_body_overwrites() -> None:
    inner = (If(slot("True"), (call("list_orders", "page", cursor="'p2'"),), ()),)
    body = (call("list_orders", "page"), for_each("page['ids']", "id", inner), answer("1"))
    assert result(emitted(body)) == 1


def test_a_round_reads_the_variables_of_the_round_before() -> None:
    count = slot("(0 if cost is None else cost) + 1")
    loop = for_each("skus", "sku", (call("price", "cost", sku="sku", count=count),))
    body = (loop, answer("[row['cost'] for row in rows]"))
    workflow = emitted(body, "skus")
    assert "map" not in kinds(workflow)
    assert result(workflow, skus=["x", "y"]) == [10, 330]


def test_a_document_is_the_same_each_time() -> None:
    loop = for_each("ids", "id", (call("get_order", "order", id="id"),))
    body = (loop, answer("[row['order']['cents'] for row in rows]"))
    assert json.dumps(emitted(body, "ids").dump()) == json.dumps(emitted(body, "ids").dump())
