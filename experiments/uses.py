"""What workflows are good for (WorFBench, section 4): tables 3 and 4, figures 5 and 6, and the retrieval of tools.

The paper's values come from other tasks (ALFWorld, WebShop, StableToolBench), so only the direction of a difference can
be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from experiments.loading import Cases, Loaded, Test, grouped, having
from experiments.record import CaseRecord, GuideFacts
from experiments.tables import PAPER, Analysis, Column, Table, Value, size, table
from experiments.verdicts import compare
from experiments.worfbench.summing import published
from flowmind.evaluation.statistics import Mean, Rate, mean_of, rate

_RIGHT = having(exec_correct=True)
_LINEAR = "linear"
_SETS = {"alfworld_seen": "ALFWorld, seen", "alfworld_unseen": "ALFWorld, unseen", "webshop": "WebShop"}


def _executing(runs: Sequence[Loaded]) -> list[Loaded]:
    """The runs that are compared: those that execute only, and ReAct that builds in the same stage."""
    return [run for run in runs if not run.builds or run.mode == "react"]


def _guided(runs: Sequence[Loaded]) -> list[Cases]:
    return grouped([run for run in runs if not run.builds])


def _baseline(runs: Sequence[Loaded], model: str) -> Cases | None:
    """The runs of a model in which ReAct executed without a workflow."""
    own = [run for run in runs if run.model == model and run.mode == "react+workflow"]
    cells = grouped([run for run in own if "knowledge" not in run.settings])
    return cells[0] if cells else None


def _facts(cases: Cases) -> list[GuideFacts]:
    return [record.guide for record in cases.records if record.guide is not None]


def _mean(cases: Cases, count: Callable[[CaseRecord], int | None]) -> float | None:
    """The mean over the cases; None if a value is not known."""
    values = [value for record in cases.records if (value := count(record)) is not None]
    return fmean(values) if values and len(values) == len(cases.records) else None


def _score(name: str, test: Test = lambda record: True) -> Callable[[Cases], Mean | None]:
    """The mean of a score in percent, over the cases that have it and pass a test."""

    def mean(cases: Cases) -> Mean | None:
        values = [100 * record.scores[name].value for record in cases.where(test).records if name in record.scores]
        return mean_of(values) if values else None

    return mean


_REPLIES = Column("replies a case", lambda cases: _mean(cases, lambda record: record.execute.turns))
_INPUT = Column("input tokens a case", lambda cases: _mean(cases, lambda record: record.execute.input_tokens), "", 0)
_OUTPUT = Column("output tokens a case", lambda cases: _mean(cases, lambda record: record.execute.output_tokens), "", 0)
_CORRECT = Column("exec correct", lambda cases: cases.rate(_RIGHT))


def prior_knowledge(runs: Sequence[Loaded]) -> Table | None:
    """Tables 3 and 4: right executions and replies with a workflow as prior knowledge, against none."""
    columns = (
        size(),
        Column("with a workflow", lambda cases: cases.count(lambda record: record.holds("informed"))),
        _CORRECT, _REPLIES, _INPUT, _OUTPUT,
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    for cell in grouped(_executing(runs)):
        base = _baseline(runs, cell.runs[0].model)
        test = compare(cell.records, base.records, _RIGHT) if base is not None and base.label != cell.label else None
        told = (test.first_only, test.second_only, f"{test.p:.3f}") if test is not None and test.cases else ("–",) * 3
        rows.append((cell.label, *(column.value(cell) for column in columns), *told))
    if not rows:
        return None
    head = ("run", *(column.title for column in columns), "only this", "only without workflow", "p (exact)")
    for row, steps in zip(published()["table3"]["rows"], published()["table4"]["rows"], strict=True):
        for key, words in _SETS.items():
            for place, given in enumerate(("", " + workflow")):
                name = f"{PAPER}{row['model']}{given}, {words}"
                rows.append((name, "–", "–", f"{row[key][place]:.2f}", f"{steps[key][place]:.2f}", *["–"] * 5))
    says = (
        "Only the execution counts: no workflow is built, except by `react`, which builds in the same stage with both "
        "kinds of tools. A run is compared with `react+workflow` without a workflow on the same cases (exact McNemar "
        "test on exec correct; p is not corrected for the number of runs). Cases without a sound workflow in the "
        "source run without one. The paper's values are success rates (WebShop: rewards) and planning steps of "
        "other tasks."
    )
    return table(
        "worfbench_table3_table4", "Workflows as prior knowledge (WorFBench, tables 3 and 4)", head, rows, says
    )


def _relative(name: str, runs: Sequence[Loaded]) -> Callable[[Cases], Value]:
    """A score as a share of that of the baseline."""

    def share(cases: Cases) -> Value:
        base = _baseline(runs, cases.runs[0].model)
        own, theirs = _score(name)(cases), _score(name)(base) if base is not None else None
        return own.mean / theirs.mean if own is not None and theirs is not None and theirs.mean else None

    return share


def _is_linear(record: CaseRecord) -> bool:
    return record.task.control_flow == _LINEAR


def call_accuracies(runs: Sequence[Loaded]) -> Table | None:
    """Figure 5: the accuracy of calls, with a workflow as chain of thought."""
    columns = (
        size(),
        Column("with a workflow", lambda cases: cases.count(lambda record: record.holds("informed"))),
        Column("call accuracy", _score("call_accuracy")),
        Column("against ReAct without workflow", _relative("call_accuracy", runs), digits=2),
        Column("tool accuracy", _score("tool_accuracy")),
        Column("call accuracy, linear tasks", _score("call_accuracy", _is_linear)),
        _CORRECT, _REPLIES, _INPUT, _OUTPUT,
    )  # fmt: skip
    says = (
        "Call accuracy: the calls that equal a call of the gold workflow on the same input (tool and arguments, as "
        "multisets), divided by the greater number of calls; means in percent with 95 % intervals (Student's t). An "
        "agent that gets the right answer with other calls is counted as wrong. A chain has no loops and makes at "
        "most one call a step. The paper's figure 5 has no numbers in its text."
    )
    return Analysis(
        "worfbench_figure5", "Workflows as chain of thought (WorFBench, figure 5)", columns, says, cases=_guided
    )(runs)


def _found(field: str) -> Callable[[Cases], Rate]:
    return lambda cases: rate(
        sum(getattr(facts, field) for facts in _facts(cases)), sum(facts.retrievable for facts in _facts(cases))
    )


RETRIEVAL = Analysis(
    "retrieval", "Tools found by the steps of workflows, without a model",
    (
        Column("workflows", lambda cases: len(_facts(cases))),
        Column("steps", lambda cases: sum(facts.steps for facts in _facts(cases))),
        Column("top 1", _found("first")),
        Column("top 3", _found("third")),
    ),
    "The share of steps whose own tool is the most similar one of the task's tools, or among the three most similar. "
    "Only steps that call one tool and say which are counted. Steps of FlowMind's workflows take their words from the "
    "descriptions of their tools, so their rates are an upper limit for steps in other words.",
    cases=lambda runs: [cell for cell in _guided(runs) if _facts(cell)],
)  # fmt: skip


def _timed(cases: Cases) -> list[tuple[float, float, float]]:
    """For each case whose steps all ended: its seconds, the sum of the times of its steps, and their critical path."""
    facts = [(record.seconds, record.guide) for record in cases.records if record.guide and record.guide.seconds]
    return [(seconds, sum(guide.seconds), guide.path) for seconds, guide in facts]


def _seconds(place: int) -> Callable[[Cases], float | None]:
    return lambda cases: fmean(times[place] for times in _timed(cases)) if _timed(cases) else None


def _reduction(cases: Cases) -> float | None:
    one_by_one, path = _seconds(1)(cases), _seconds(2)(cases)
    return max(0.0, 100 * (1 - path / one_by_one)) if one_by_one and path is not None else None


def _their_times() -> list[tuple[str, dict[str, Any]]]:
    names = {"linear": "sum", "parallel": "path", "reduction": "less"}
    rows = zip(published()["figure6"]["rows"], ("one test set", "another test set"), strict=True)
    return [(f"ToolLlama, {name}", {key: f"{row[own]:.2f}" for own, key in names.items()}) for row, name in rows]


FIGURE6 = Analysis(
    "worfbench_figure6", "Parallel steps (WorFBench, figure 6)",
    (
        Column("cases", lambda cases: len(_timed(cases))),
        Column("seconds a case, measured", _seconds(0), digits=2),
        Column("sum of the steps", _seconds(1), "sum", 2),
        Column("critical path", _seconds(2), "path", 2),
        Column("less, %", _reduction, "less"),
    ),
    "Cases in which every step ended. The time of a step is that of its replies, including the time that a busy server "
    "lets them wait; tools take milliseconds. The critical path is computed from these times and the dependencies of "
    "the steps. The measured seconds of a run in parallel can be compared with those of a run without only if both "
    "had the server for themselves (`--concurrency 1`).",
    cases=lambda runs: [cell for cell in _guided(runs) if _timed(cell)],
    paper=_their_times(),
)  # fmt: skip

ANALYSES: dict[str, Callable[[Sequence[Loaded]], Table | None]] = {
    "worfbench_table3_table4": prior_knowledge,
    "worfbench_figure5": call_accuracies,
    "retrieval": RETRIEVAL,
    "worfbench_figure6": FIGURE6,
}
