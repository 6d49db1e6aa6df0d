"""Evaluators fill the scores of a record; one that a stranger writes is a class and a line in the table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tiny import called, records, tiny_benchmark

from experiments.record import CaseRecord
from flowmind.evaluation import evaluators
from flowmind.evaluation.evaluators import (
    EVALUATORS,
    ExampleEvaluator,
    ExecutionEvaluator,
    GraphEvaluator,
    HeldOutEvaluator,
)
from flowmind.protocols import Evaluation
from flowmind.trace.events import Called, Trace
from flowmind.trace.outcome import CaseOutcome
from flowmind.trace.task import Example, Task
from flowmind.workflow.checking import Problem
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import Observation, ToolCall


class DistinctTools:
    """The number of different tools in a workflow."""

    def evaluate(self, outcome: CaseOutcome) -> Mapping[str, Evaluation]:
        if outcome.workflow is None:
            return {}
        names = outcome.workflow.tool_names
        return {"distinct_tools": Evaluation(value=len(names), reason=", ".join(sorted(names)))}


def test_a_new_evaluator_reaches_records_summary_and_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EVALUATORS, "tools", DistinctTools())
    bench, run = tiny_benchmark(tmp_path / "bench", ("task_3",)), tmp_path / "run"
    done = called("exp", "--bench", bench, "--out", run, "--mode", "es-rr")
    assert done.returncode == 0
    scores = {row["id"]: row["scores"].get("distinct_tools") for row in records(run)}
    assert scores.pop("task_3") is None
    assert list(scores.values()) == [{"value": 2.0, "reason": "add, multiply"}] * 7
    summary = json.loads((run / "summary.json").read_text())
    assert summary["scores"] == {"distinct_tools": {"mean": 2.0, "low": 2.0, "high": 2.0, "of": 7}}
    line = "search es-rr: means of further scores with 95 % intervals: distinct_tools 2.00 [2.00, 2.00]."
    assert line in done.stdout and line in (run / "summary.md").read_text()


TASK = Task(
    id="t",
    query="Double n.",
    inputs={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    examples=(Example(input={"n": 1}, output=2), Example(input={"n": 2}, output=4)),
)


def execution(answer: int, stop: str = "finish") -> Trace:
    event = Called(call=ToolCall(tool="double", args={"n": 1}), observation=Observation(value=answer))
    return Trace.model_validate({"events": [event], "stop": stop, "answer": answer})


def values(scores: Mapping[str, Evaluation]) -> dict[str, float]:
    return {name: score.value for name, score in scores.items()}


@pytest.mark.parametrize(
    ("executions", "worked", "complete", "correct"),
    [
        ((execution(2),), (), 1.0, 1.0),
        ((execution(4),), (), 1.0, 0.0),
        ((execution(4),), (1,), 1.0, 1.0),
        ((execution(2),), (-1,), 1.0, 0.0),
        ((execution(9), execution(4)), (), 1.0, 1.0),
        ((execution(2, "turns"),), (), 0.0, 0.0),
        ((), (), 0.0, 0.0),
    ],
)
def test_an_execution_is_correct_if_it_gives_the_answer_of_the_example_it_worked_on(
    executions: tuple[Trace, ...], worked: tuple[int, ...], complete: float, correct: float
) -> None:
    scores = ExecutionEvaluator().evaluate(CaseOutcome(task=TASK, executions=executions, worked=worked))
    assert values(scores) == {"exec_complete": complete, "exec_correct": correct, "mti": 0.0}


WORKFLOW = Workflow.model_validate(
    {
        "inputs": TASK.inputs,
        "nodes": [{"id": "start", "kind": "start"}, {"id": "end", "kind": "end", "output": {"var": "n"}}],
        "edges": [{"from": "start", "to": "end"}],
    }
)


def test_a_graph_is_valid_if_it_is_there_and_sound() -> None:
    problem = Problem(code="dead_node", message="no", where="x")
    outcomes = [CaseOutcome(task=TASK), CaseOutcome(task=TASK, workflow=WORKFLOW)]
    outcomes.append(CaseOutcome(task=TASK, workflow=WORKFLOW, problems=(problem,)))
    assert [values(GraphEvaluator().evaluate(one))["graph_valid"] for one in outcomes] == [0.0, 1.0, 0.0]


def test_a_case_is_solved_if_its_workflow_is_right_on_every_example() -> None:
    whole = CaseOutcome(task=TASK, workflow=WORKFLOW, example_runs=(execution(2), execution(4)))
    assert ExampleEvaluator().evaluate(whole) == {"solved": Evaluation(value=1.0)}
    half = whole.model_copy(update={"example_runs": (execution(2), execution(5))})
    assert ExampleEvaluator().evaluate(half) == {"solved": Evaluation(value=0.0, reason="1 of 2 examples failed")}
    assert values(ExampleEvaluator().evaluate(CaseOutcome(task=TASK))) == {"solved": 0.0}
    assert ExampleEvaluator().evaluate(whole.model_copy(update={"example_runs": ()})) == {}, "it asks a model"


def test_a_case_passes_if_every_test_does() -> None:
    runs = (execution(2), execution(4))
    judged = HeldOutEvaluator().evaluate(CaseOutcome(task=TASK, tests=TASK.examples, runs=runs))
    assert judged == {"passed": Evaluation(value=1.0)}
    judged = HeldOutEvaluator().evaluate(CaseOutcome(task=TASK, tests=TASK.examples, runs=runs[::-1]))
    assert judged == {"passed": Evaluation(value=0.0, reason="2 of 2 tests failed")}
    assert values(HeldOutEvaluator().evaluate(CaseOutcome(task=TASK, tests=TASK.examples))) == {"passed": 0.0}


def test_records_of_version_1_are_read() -> None:
    old = {"id": "a", "exec_complete": True, "exec_correct": False, "graph_valid": True, "passed": False, "mti": None}
    record = CaseRecord.model_validate(old)
    assert (record.exec_complete, record.exec_correct, record.graph_valid, record.passed, record.mti) == (
        True, False, True, False, None,
    )  # fmt: skip
    assert CaseRecord.model_validate({**old, "mti": "interleaved"}).mti == "interleaved"
    assert CaseRecord.model_validate_json(record.model_dump_json()) == record


def test_every_evaluator_of_the_table_names_its_scores_in_its_docstring() -> None:
    for evaluator in evaluators.EVALUATORS.values():
        documented = type(evaluator).__doc__ or ""
        assert all(f"{name}:" in documented for name in evaluator.evaluate(CaseOutcome(task=TASK)))
