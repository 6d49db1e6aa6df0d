"""Measures of doubt, against values worked out by hand: outcomes, risk against coverage, calibration, their tables."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from experiments import figures
from experiments.analyses import ANALYSES
from experiments.loading import Loaded
from experiments.record import CaseRecord, Score
from experiments.testing import run_tests, score_of
from flowmind import Workflow, tool
from flowmind.build.derivation import Derivation, Forecast, Prediction
from flowmind.evaluation.coverage import Point, Unseen, area, calibration, coverage_at, curve, outcomes
from flowmind.trace.task import Example
from tools_registry.sandbox.functions import FunctionEnvironment

RIGHT = Unseen(right=True, answered=True)
WRONG = Unseen(answered=True)
FAILED = Unseen()


def doubted(bits: float, right: bool = False) -> Unseen:
    return Unseen(right=right, answered=True, bits=bits)


def test_an_input_is_right_in_doubt_failed_or_silently_wrong() -> None:
    write = Unseen(answered=True, bits=2.0, wrong_write=True, wrong_write_alone=True)
    crash = Unseen(wrong_write=True, wrong_write_alone=True)
    every = [RIGHT, RIGHT, WRONG, FAILED, doubted(1.0), doubted(1.0, right=True), write, crash]
    assert outcomes(every) == {"right": 2, "doubt": 2, "failed": 1, "wrong": 3}
    assert sum(one.wrong_write for one in every) == 2


def test_the_curve_begins_with_all_rivals_and_ends_without_any() -> None:
    # confidence: no rival disagrees, 8 bits (twice), 2 bits; two inputs without an answer
    every = [RIGHT, RIGHT, WRONG, doubted(8.0, right=True), doubted(8.0), doubted(2.0), FAILED, FAILED]
    points = curve(every)
    assert points == (
        Point(coverage=3 / 8, risk=1 / 3, bits=None),
        Point(coverage=5 / 8, risk=2 / 5, bits=8.0),
        Point(coverage=6 / 8, risk=3 / 6, bits=2.0),
    )
    by_hand = (3 / 8 * 1 / 3 + 2 / 8 * (1 / 3 + 2 / 5) / 2 + 1 / 8 * (2 / 5 + 3 / 6) / 2) / (6 / 8)
    assert area(points) == pytest.approx(by_hand)
    assert coverage_at(points, 0.4) == 5 / 8
    assert coverage_at(points, 0.01) == 0.0


def test_a_wrong_write_before_an_error_is_a_risk() -> None:
    assert curve([RIGHT, Unseen(wrong_write=True, wrong_write_alone=True)]) == (
        Point(coverage=1.0, risk=0.5, bits=None),
    )
    assert curve([FAILED]) == ()
    assert area(()) == 0.0


def test_rivals_that_disagree_on_the_wrong_inputs_make_a_better_curve_than_others() -> None:
    telling = curve([RIGHT, RIGHT, doubted(1.0), doubted(1.0)])
    misleading = curve([doubted(1.0, right=True), doubted(1.0, right=True), WRONG, WRONG])
    assert area(telling) < area(curve([RIGHT, RIGHT, WRONG, WRONG])) < area(misleading)


def test_calibration_compares_what_was_predicted_with_what_came() -> None:
    rows = calibration(
        [(5, 5, [RIGHT]), (5, 5, [RIGHT, WRONG]), (3, 5, [RIGHT, doubted(1.0)]), (0, 5, [WRONG]), (0, 0, [RIGHT])]
    )
    assert [(row.name, row.workflows, row.right.count, row.silent.count) for row in rows] == [
        ("all", 2, 1, 1),
        ("some", 1, 0, 0),
        ("none", 1, 0, 1),
    ]


# Runs on tests


@tool(effect="read")
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


def doubling(expr: str) -> Workflow:
    return Workflow.model_validate(
        {
            "inputs": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            "nodes": [
                {"id": "start", "kind": "start"},
                {"id": "two", "kind": "tool", "tool": "double", "args": {"n": {"var": "n"}}, "output": "m"},
                {"id": "more", "kind": "assign", "expr": expr, "output": "m"},
                {"id": "end", "kind": "end", "output": {"var": "m"}},
            ],
            "edges": [{"from": "start", "to": "two"}, {"from": "two", "to": "more"}, {"from": "more", "to": "end"}],
        }
    )


TESTS = (Example(input={"n": 1}, output=2), Example(input={"n": 20}, output=0), Example(input={"n": 30}, output=60))


def scores(workflow: Workflow) -> list[Score]:
    runs = asyncio.run(run_tests(workflow, [test.input for test in TESTS], FunctionEnvironment([double])))
    return [score_of(run, test) for run, test in zip(runs, TESTS, strict=True)]


def test_a_test_is_right_wrong_or_in_doubt() -> None:
    main = doubling("m")
    rivals = (
        main.rival_of(doubling("m if m < 50 else 1"), "more", "a limit of 50", 6.0),
        main.rival_of(doubling("m if m < 30 else 0"), "more", "a limit of 30", 3.0),
    )
    first, second, third = scores(main.model_copy(update={"rivals": rivals}))
    assert (first.passed, first.error, first.unseen.outcome) == (True, None, "right")
    assert (second.passed, second.actual, second.unseen.outcome) == (False, None, "doubt")
    assert second.error == "doubt: the answer 40 or the answer 0; place `more`"
    assert (third.passed, third.unseen.right, third.unseen.bits) == (False, True, 3.0)
    alone = scores(main)
    assert [score.unseen.outcome for score in alone] == ["right", "wrong", "right"]
    assert [score.compared for score in alone] == [None] * 3


# Tables


def record(id: str, category: str, *tests: Unseen, predicted: int = 2) -> CaseRecord:
    forecast = Forecast(predictions=tuple(Prediction(number=n + 1, right=n < predicted) for n in range(2)))
    passed = all(test.outcome == "right" for test in tests)
    fields: dict[str, Any] = {"passed": passed, "graph_valid": True}
    made = tuple(Score(passed=test.outcome == "right", compared=test) for test in tests)
    derivation = Derivation(summarizer="induction", examples=2, draft_right=2, right=2, forecast=forecast)
    return CaseRecord(id=id, category=category, tests=made, derivation=derivation, **fields)


RUN = Loaded(
    Path("runs/m"),
    {"model": "m", "mode": "induction", "rollouts": 1, "trace_selection": "all"},
    (
        record("a", "linear", RIGHT, RIGHT),
        record("b", "polling", RIGHT, doubted(4.0)),
        record("c", "polling", WRONG, predicted=0),
    ),
)


def test_the_tables_of_doubt() -> None:
    table = ANALYSES["doubt"]([RUN])
    assert table is not None
    rows = [tuple(cell.partition(" [")[0] for cell in row[1:]) for row in table.rows]
    assert rows == [
        ("all", "3", "33.3 (1/3)", "5", "60.0 (3/5)", "20.0 (1/5)", "0.0 (0/5)", "20.0 (1/5)", "0"),
        ("linear", "1", "100.0 (1/1)", "2", "100.0 (2/2)", "0.0 (0/2)", "0.0 (0/2)", "0.0 (0/2)", "0"),
        ("polling", "2", "0.0 (0/2)", "3", "33.3 (1/3)", "33.3 (1/3)", "0.0 (0/3)", "33.3 (1/3)", "0"),
    ]
    curves = ANALYSES["risk_coverage"]([RUN])
    assert curves is not None
    # 4 of 5 answered, 1 of 4 wrong; then 5 of 5, 2 wrong
    assert curves.rows[0][1:] == ("5", "80.0", "25.0", "100.0", "40.0", "26.5", "0.0", "0.0")
    foretold = ANALYSES["calibration"]([RUN])
    assert foretold is not None
    assert [row[1:3] for row in foretold.rows] == [("all", "2"), ("none", "1")]


def test_the_figure_of_the_curves_is_a_drawing_with_a_line_for_each_run() -> None:
    drawing = figures.curves({"one < two": curve([RIGHT, doubted(1.0)]), "none": ()})
    root = ElementTree.fromstring(drawing)
    assert len([part for part in root if part.tag == "circle"]) == 1
    assert any(part.text == "one < two" for part in root)
