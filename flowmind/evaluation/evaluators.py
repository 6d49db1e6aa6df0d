"""The evaluators of the benchmark, and `EVALUATORS`, the table of those that every case is judged by.

A new metric is a class with a method `evaluate` and a line in the table. Its scores stand in each record and, as means,
in the summary.

Sources: FlowMind, section 3.2 and appendix C.2 (black-box evaluation), section 4.1 (execution and graph).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowmind.evaluation.executions import is_complete, mixed_tool_invocation
from flowmind.protocols import Evaluation, Evaluator
from flowmind.trace.events import Trace
from flowmind.trace.outcome import CaseOutcome
from flowmind.trace.task import Example
from tools_registry.specs.schema import json_equal, show


class ExecutionEvaluator:
    """Judges the executions.

    Scores:
        exec_complete: 1 if an execution called a business tool successfully and ended by `finish`.
        exec_correct: 1 if a complete execution gave the expected output of the example that it worked on.
        mti: 1 if business and graph tools were mixed; the reason is the kind.
    """

    def evaluate(self, outcome: CaseOutcome) -> Mapping[str, Evaluation]:
        """The three scores."""
        complete = [is_complete(trace) for trace in outcome.executions]
        worked = outcome.worked or tuple(range(len(outcome.executions)))
        correct = [
            done and example >= 0 and json_equal(trace.answer, outcome.task.examples[example].output)
            for trace, example, done in zip(outcome.executions, worked, complete, strict=True)
        ]
        kind = next(filter(None, map(mixed_tool_invocation, outcome.executions)), "")
        return {
            "exec_complete": Evaluation.of(any(complete)),
            "exec_correct": Evaluation.of(any(correct)),
            "mti": Evaluation.of(bool(kind), kind),
        }


class GraphEvaluator:
    """Judges the workflow as a graph.

    Scores:
        graph_valid: 1 if there is a workflow and it passes `check`.
    """

    def evaluate(self, outcome: CaseOutcome) -> Mapping[str, Evaluation]:
        """The score."""
        return {"graph_valid": Evaluation.of(outcome.workflow is not None and not outcome.problems)}


class ExampleEvaluator:
    """Judges the workflow by its answers on the examples of the task (exact match).

    Scores:
        solved: 1 if every example gives its answer; absent if a sound workflow was not run on the examples.
    """

    def evaluate(self, outcome: CaseOutcome) -> Mapping[str, Evaluation]:
        """The score."""
        if outcome.workflow is None or outcome.problems:
            return {"solved": Evaluation.of(False)}
        if not outcome.example_runs:
            return {}
        examples = outcome.task.examples
        return {"solved": _all_match(outcome.example_runs, examples, "examples")}


class HeldOutEvaluator:
    """Judges the workflow by its runs on the held-out tests: by the answers (exact match), or as the tests say.

    Scores:
        passed: 1 if every test gives the golden answer, or is right in whatever else counts.
    """

    def evaluate(self, outcome: CaseOutcome) -> Mapping[str, Evaluation]:
        """The score."""
        if not outcome.runs:
            return {"passed": Evaluation.of(False)}
        if outcome.right:
            failures = outcome.right.count(False)
            return {"passed": Evaluation.of(not failures, _failed(failures, len(outcome.right), "tests"))}
        return {"passed": _all_match(outcome.runs, outcome.tests, "tests")}


EVALUATORS: dict[str, Evaluator] = {
    "execution": ExecutionEvaluator(),
    "graph": GraphEvaluator(),
    "examples": ExampleEvaluator(),
    "held_out": HeldOutEvaluator(),
}
"""The evaluators by name."""


def _all_match(runs: Sequence[Trace], cases: Sequence[Example], kind: str) -> Evaluation:
    scores = [exact_match(run, case.output) for run, case in zip(runs, cases, strict=True)]
    failures = sum(score.value < 1.0 for score in scores)
    return Evaluation.of(not failures, _failed(failures, len(scores), kind))


def _failed(failures: int, count: int, kind: str) -> str:
    return f"{failures} of {count} {kind} failed" if failures else ""


def exact_match(trace: Trace, expected: Any) -> Evaluation:
    """1 if the trace ended with the expected answer (JSON equality), else 0."""
    if not trace.ok:
        message = trace.error.message if trace.error else ""
        return Evaluation.of(False, f"stopped by {trace.stop}: {message}")
    if json_equal(trace.answer, expected):
        return Evaluation.of(True)
    return Evaluation.of(False, f"expected {show(expected)}, got {show(trace.answer)}")
