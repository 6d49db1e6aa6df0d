"""What a workflow's evidence is worth: each trace predicted from the others, rivals compared, missing traces named."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from reference_interpreter import call, condition, end, sketch

from flowmind import Doubt, ExecuteSummarize, summarize, tool
from flowmind.build.verification.behaviour import behaviours, compared, until_change
from flowmind.build.verification.guesses import leaks, memorised
from flowmind.build.verification.visits import rows_at, tell_way, ways
from flowmind.build.verification.work import Work
from flowmind.llm.testing import ScriptedChat
from flowmind.run.running import run_batch
from flowmind.trace.events import Called, Trace
from flowmind.trace.task import Example, Task
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environments import FunctionEnvironment
from tools_registry.specs.spec import Observation, ToolCall

ORDERS: dict[str, dict[str, Any]] = {
    "A1": {"days": 3, "cents": 700, "status": "paid"},
    "A2": {"days": 50, "cents": 250, "status": "paid"},
    "A3": {"days": 12, "cents": 990, "status": "open"},
    "A4": {"days": 44, "cents": 125, "status": "open"},
    "A5": {"days": 8, "cents": 410, "status": "paid"},
}
CREDITED: list[str] = []


@tool(effect="read")
def get_order(order: str) -> dict[str, Any]:
    """Get an order."""
    return ORDERS[order]


@tool(effect="write")
def credit(order: str, cents: int) -> str:
    """Credit an order."""
    CREDITED.append(order)
    return "done"


SHOP = FunctionEnvironment([get_order, credit])


def done(name: str, value: Any, **args: Any) -> Called:
    return Called(call=ToolCall(tool=name, args=args), observation=Observation(value=value))


def looked_up(order: str) -> Trace:
    found = ORDERS[order]
    return Trace(inputs={"order": order}, events=(done("get_order", found, order=order),), stop="finish",
                 answer=found["cents"])  # fmt: skip


def handled(order: str) -> Trace:
    found = ORDERS[order]
    steps = [done("get_order", found, order=order)]
    if found["days"] <= 30:
        steps.append(done("credit", "done", order=order, cents=found["cents"]))
    answer = "credited" if found["days"] <= 30 else "rejected"
    return Trace(inputs={"order": order}, events=tuple(steps), stop="finish", answer=answer)


def test_what_the_others_show_is_predicted() -> None:
    result = summarize([looked_up(order) for order in ORDERS], [get_order], query="How much is the order?")
    forecast = result.verdict.forecast
    assert forecast is not None and forecast.predicted == len(forecast.predictions) == 5
    assert result.ok and result.report().startswith(
        "solved: predicted 5 of 5, fitted 5 of 5 traces (its tools were run)"
    )
    assert [one.number for one in forecast.predictions] == [1, 2, 3, 4, 5]


def test_without_predictions_the_rivals_are_compared_all_the_same() -> None:
    result = summarize([handled(order) for order in ORDERS], [get_order, credit], predict=False)
    forecast = result.verdict.forecast
    assert forecast is not None and forecast.predictions == () and forecast.rivals == len(result.document.rivals) > 0
    assert "predicted" not in result.report() and "more workflow" in result.report()


def test_one_trace_predicts_nothing_and_the_numbers_are_those_of_all_traces() -> None:
    alone = summarize([looked_up("A1")], [get_order])
    assert alone.verdict.forecast is not None and alone.verdict.forecast.predictions == ()
    traces = [looked_up("A1").model_copy(update={"stop": "turns"}), looked_up("A2"), looked_up("A3")]
    forecast = summarize(traces, [get_order]).verdict.forecast
    assert forecast is not None and [one.number for one in forecast.predictions] == [2, 3]


def test_a_way_that_one_trace_shows_is_weak_and_one_more_trace_is_needed() -> None:
    CREDITED.clear()
    orders = ["A1", "A3", "A5", "A2"]
    result = summarize(
        [handled(order) for order in orders], [get_order, credit], query="Credit what is not over 30 days."
    )
    forecast = result.verdict.forecast
    assert forecast is not None
    assert [(way.trace, way.told) for way in forecast.lone] == [(4, 'the answer is "rejected"')]
    assert 'one more trace in which the answer is "rejected"' in result.needed
    assert 'weak: only trace 4 shows that the answer is "rejected"' in result.report().splitlines()
    assert not forecast.predictions[3].right, "what only this trace shows cannot be predicted"
    assert CREDITED == []


def test_a_workflow_of_which_too_few_traces_are_predicted_may_not_run_unattended() -> None:
    result = summarize([handled(order) for order in ("A1", "A2")], [get_order, credit], query="Credit some orders.")
    assert result.sound and not result.failures and not result.solved
    assert result.verdict.weak and "too few traces were predicted" in result.report().splitlines()[0]
    assert result.document.predicted is not None and result.document.predicted.traces == 2
    with pytest.raises(Doubt):
        result.workflow(order="A1")
    plain = summarize([handled(order) for order in ("A1", "A2")], [get_order, credit], predict=False)
    assert plain.document.predicted is None


def test_answers_are_knowledge_of_the_predictions_too() -> None:
    traces = [handled(order) for order in ORDERS]
    result = summarize(traces, [get_order, credit], answers={"if": "order_result['days'] <= 30"})
    assert result.document.predicted is not None and result.document.predicted.right == len(ORDERS)


def test_without_a_workflow_the_missing_traces_are_named() -> None:
    def refunded(order: str, cents: int) -> Trace:
        return Trace(inputs={"order": order}, events=(done("credit", "done", order=order, cents=cents),), stop="finish",
                     answer="done")  # fmt: skip

    result = summarize([refunded("A1", 731), refunded("A2", 212), refunded("A3", 5012)], [credit])
    assert not result.sound and result.needed
    assert all(line.startswith("two more traces with other values ") for line in result.needed)
    assert f"needed: {result.needed[0]}" in result.report()


# Behaviours

BY_DAYS = sketch(
    [call("found", "get_order", order="order"), condition("recent", "found['days'] < 30"),
     call("paid", "credit", order="order", cents={"var": "found", "path": ["cents"]}), end("paid")],
    "start found recent.true paid end", order="string",
)  # fmt: skip


def by(expr: str, cents: str = "cents") -> Workflow:
    nodes = [
        {"id": "start", "kind": "start"},
        {"id": "found", "kind": "tool", "tool": "get_order", "args": {"order": {"var": "order"}}, "output": "found"},
        {"id": "recent", "kind": "condition", "expr": expr},
        {"id": "paid", "kind": "tool", "tool": "credit", "output": "paid",
         "args": {"order": {"var": "order"}, "cents": {"var": "found", "path": [cents]}}},
        {"id": "yes", "kind": "end", "output": {"value": "credited"}},
        {"id": "no", "kind": "end", "output": {"value": "rejected"}},
    ]  # fmt: skip
    edges = [
        {"from": "start", "to": "found"}, {"from": "found", "to": "recent"},
        {"from": "recent", "to": "paid", "when": True}, {"from": "recent", "to": "no", "when": False},
        {"from": "paid", "to": "yes"},
    ]  # fmt: skip
    inputs = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
    return Workflow.model_validate({"inputs": inputs, "nodes": nodes, "edges": edges})


def work(*orders: str) -> Work:
    examples = tuple(Example(input={"order": order}, output=handled(order).answer) for order in orders)
    task = Task(id="credit", query="Credit it.", inputs=by("True").inputs, examples=examples)
    return Work(task, SHOP, traces=[handled(order) for order in orders], worked=list(range(len(orders))))


def test_a_behaviour_ends_with_the_first_call_that_may_change_something() -> None:
    CREDITED.clear()
    cases = [{"order": order} for order in ("A1", "A2", "none")]
    found = asyncio.run(behaviours(work("A1"), by("found['days'] < 30"), cases))
    assert found is not None and found[2] is None, "an error"
    assert [one and one.text for one in found[:2]] == [
        'credit(order="A1", cents=700) is called',
        'the answer is "rejected"',
    ]
    assert [one and one.tool for one in found[:2]] == ["credit", ""] and CREDITED == []


def test_what_is_left_before_a_write_is_sound() -> None:
    cut = until_change(by("found['days'] < 30"), SHOP.specs)
    assert cut is not None and check(cut, SHOP.specs) == [] and cut.tool_names == ("get_order",)
    assert "yes" not in cut.by_id and "no" in cut.by_id


def test_rivals_that_disagree_are_told_with_the_input() -> None:
    main, rival, wrong = by("found['days'] < 30"), by("found['days'] < 10"), by("found['missing'] < 10")
    cases = [{"order": order} for order in ("A1", "A3", "none")]
    agreement = asyncio.run(compared(work("A1"), main, [rival, wrong], cases))
    assert agreement.compared == 2, "an input on which the workflow fails does not count, nor does a rival that fails"
    (dispute,) = agreement.disputes
    assert str(dispute) == ('for {"order":"A3"}: credit(order="A3", cents=990) is called, or the answer is "rejected"')


def test_rivals_that_disagree_about_a_write_near_the_traces_are_not_solved() -> None:
    """The amount is that of the order or what is given: equal in all traces, and different where inputs are mixed."""

    def given(order: str) -> Trace:
        cents = ORDERS[order]["cents"]
        steps = (done("get_order", ORDERS[order], order=order), done("credit", "done", order=order, cents=cents))
        return Trace(inputs={"order": order, "cents": cents}, events=steps, stop="finish", answer="done")

    CREDITED.clear()
    result = summarize(
        [given(order) for order in ORDERS], [get_order, credit], query="Credit the order.", predict=False
    )
    assert result.sound and not result.failures
    assert any(rival.place == "credit.cents" for rival in result.document.rivals)
    assert not result.ok and result.verdict.disputed
    assert (
        result.report()
        .splitlines()[0]
        .endswith("its rivals disagree on a call that may change something (on the recorded results)")
    )
    assert CREDITED == []


# Ways and rows


def test_ways_and_rows_are_read_off_runs() -> None:
    workflow = by("found['days'] < 30")
    runs = dict(enumerate(run_batch(workflow, [{"order": order} for order in ("A1", "A2", "A4")], SHOP)))
    assert ways(workflow, runs) == {("recent", True): {0}, ("recent", False): {1, 2}}
    assert [row["found"]["days"] for row in rows_at(workflow, [*runs.values()], "recent")] == [3, 50, 44]
    assert rows_at(workflow, [*runs.values()], "no") == [
        {"order": order, "found": ORDERS[order]} for order in ("A2", "A4")
    ]
    assert tell_way(workflow, "recent", True) == "credit is called"
    assert tell_way(workflow, "recent", False) == 'the answer is "rejected"'


# Leaks


@pytest.mark.parametrize(
    ("expr", "leaked"),
    [("order == 'A1'", ('recent: "A1"',)), ("found['status'] == 'paid'", ()), ("found['days'] < 30", ())],
)
def test_a_condition_with_the_input_of_one_example_is_a_leak(expr: str, leaked: tuple[str, ...]) -> None:
    assert leaks(by(expr), work("A1", "A2").task) == leaked


def test_an_expression_that_lists_inputs_is_memorised() -> None:
    cases = [{"order": order} for order in ORDERS]
    assert memorised(by("order == 'A1' or order == 'A3'"), "Credit it.", cases) == (
        "recent: it lists inputs of the traces: 'A1', 'A3'",
    )
    assert memorised(by("order in ['A1', 'A3']"), "Credit it.", cases)
    assert memorised(by("order == 'A1' or order == 'A3'"), "Credit A1 and A3.", cases) == ()
    assert memorised(by("order == 'A1'"), "Credit it.", cases) == (), "one text may be a keyword"


# The door of the library


def test_a_task_that_is_solved_by_induction_has_a_forecast() -> None:
    replies: list[str] = []
    for order in ("A1", "A2", "A3"):
        replies += [
            f'{{"reasoning": "", "action": "get_order", "action_input": {{"order": "{order}"}}}}',
            f'{{"reasoning": "", "action": "finish", "action_input": {{"answer": {ORDERS[order]["cents"]}}}}}',
        ]
    examples = [({"order": order}, ORDERS[order]["cents"]) for order in ("A1", "A2", "A3")]
    for predict in (True, False):
        solver = ExecuteSummarize([get_order], ScriptedChat(replies), "induction", predict=predict)
        result = solver.run("How much is the order?", examples)
        forecast = result.verdict.forecast
        assert result.solved and forecast is not None and len(forecast.predictions) == (3 if predict else 0)
        assert result.report().startswith("solved: predicted 3 of 3, " if predict else "solved: 3 of 3 examples")
