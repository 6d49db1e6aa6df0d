"""`Solution`: what solving a task gives. `Result`: the same for a user, with the check on the examples and a report."""

from __future__ import annotations

from flowmind.api.reporting import (
    MARK,
    REPAIR,
    Judged,
    Verdict,
    contradiction_lines,
    derivation_lines,
    evidence_lines,
    execution_lines,
    forecast_lines,
    guess_lines,
    no_workflow,
    problem_lines,
    several,
    signature,
)
from flowmind.api.runnable import RunnableWorkflow
from flowmind.base.errors import InvalidWorkflow
from flowmind.build.derivation import Derivation
from flowmind.build.verification.guesses import ALLOW, unsupported
from flowmind.protocols import ChatModel
from flowmind.run.examples import check_examples
from flowmind.trace.events import Trace
from flowmind.trace.recorded import UNMARKED
from flowmind.trace.task import Task
from flowmind.workflow.checking import Problem
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.spec import Record, untried_line


class Solution(Record):
    """The result of solving a task."""

    traces: tuple[Trace, ...]
    """The traces of the execute stage, one for each rollout; in a single-stage mode the trace of that stage."""
    summary: Trace | None = None
    """The trace of the summarize stage."""
    workflow: Workflow | None = None
    """The workflow, sound or not."""
    problems: tuple[Problem, ...] = ()
    """The problems that `check` finds in the workflow."""
    coerced: int = 0
    """The values in calls of graph tools that were not read literally."""
    worked: tuple[int, ...] = ()
    """For each trace the index of its example; -1 if it has none, or only repeats a given answer."""
    derivation: Derivation | None = None
    """How the workflow was derived; None if an agent alone built it."""
    failure: str | None = None
    """The failure of the model's endpoint outside an agent's stage; the workflow was built without that reply."""
    unsound: tuple[Problem, ...] = ()
    """Why there is no workflow: the problems of the likeliest draft."""
    refused: tuple[str, ...] = ()
    """Why there is no workflow: the values that tools which may change something would be given by a guess."""
    needed: tuple[str, ...] = ()
    """If there is no workflow: the traces that are missing, where that is known."""

    @property
    def graph_valid(self) -> bool:
        """Whether a workflow was produced and passes `check`."""
        return self.workflow is not None and not self.problems


class Result(Judged):
    """The result of `ExecuteSummarize.run`. `print(result)` prints its report."""

    def __init__(
        self, task: Task, solution: Solution, verdict: Verdict, environment: Environment, model: ChatModel
    ) -> None:
        self.solution = solution
        self.verdict = verdict
        self._task = task
        self._environment = environment
        self._model = model

    def __repr__(self) -> str:
        return f"<Result: {self._summary()}>"

    def __str__(self) -> str:
        return self.report()

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The executions."""
        return self.solution.traces

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the workflow; empty if it is sound, or if there is none."""
        return self.solution.problems

    @property
    def usage(self) -> dict[str, int]:
        """Model replies and output tokens, by stage."""
        summary = self.solution.summary
        return {
            "execute_turns": sum(len(trace.turns) for trace in self.traces),
            "execute_tokens": sum(trace.output_tokens for trace in self.traces),
            "summarize_turns": len(summary.turns) if summary else 0,
            "summarize_tokens": summary.output_tokens if summary else 0,
        }

    @property
    def derivation(self) -> Derivation | None:
        """How the workflow was derived and verified; None if an agent alone built it."""
        return self.solution.derivation

    @property
    def workflow(self) -> RunnableWorkflow:
        """The workflow, ready to be called. It is sound, but right on every example only if `solved`.

        Raises:
            InvalidWorkflow: If there is none, or it does not pass `check`; the message says why.
        """
        if self.solution.workflow is None:
            raise InvalidWorkflow(self._summary())
        return RunnableWorkflow(self.solution.workflow, self._environment, self._model)

    def report(self) -> str:
        """The result in lines: the verdict, failing examples, guesses, open questions, and the executions."""
        solution, workflow, derivation = self.solution, self.solution.workflow, self.solution.derivation
        searched = self._model.name == "search"
        unsound = "no workflow was built" if workflow is None else "the workflow is not sound"
        lines = [self.verdict.headline(unsound), *self.verdict.lines(), *problem_lines(solution.problems)]
        lines += contradiction_lines(self._task.examples)
        if any(UNMARKED in check.not_checked for check in self.failures):
            lines.append(f"next: {MARK}, or execute every example (rollouts={len(self._task.examples)})")
        if derivation is None and any(not check.not_checked for check in self.failures):
            lines.append(f"next: {REPAIR}")
        if workflow is None:
            lines += several("refused", [f"{line}. {ALLOW}" for line in solution.refused])
            lines += several("why", [f"the likeliest draft is not sound: {problem}" for problem in solution.unsound])
            lines += several("needed", solution.needed)
            if not solution.refused:
                lines += no_workflow(self.traces, searched, self._environment.specs, len(self._task.examples))
        else:
            forecast = self.verdict.forecast
            lines += forecast_lines(forecast) if forecast is not None else ()
            lines += several("guess", [*guess_lines(workflow), *(derivation_lines(derivation) if derivation else ())])
            lines += several("question", derivation.open if derivation else ())
            if searched and (untried := untried_line(self._environment.specs)):
                lines.append(untried)
        if solution.failure:
            lines.append(f"note: the model's endpoint failed: {solution.failure}")
        lines += execution_lines(self.traces)
        if workflow is not None and derivation is not None and derivation.mends:
            lines.append(
                f"verify: {derivation.draft_right} of {derivation.examples} examples at first, {derivation.right} in "
                f"the end ({', '.join(derivation.mends)})"
            )
        if workflow is not None:
            lines += evidence_lines(workflow, len(self.traces))
            lines.append(f"workflow: {signature(workflow)}")
        return "\n".join(lines)

    def _summary(self) -> str:
        workflow = self.solution.workflow
        if workflow is None:
            stops = ", ".join(trace.stop for trace in self.traces)
            refused = "; ".join(self.solution.refused)
            return f"no workflow was built ({refused or f'the execution ended by: {stops}'})"
        state = self.verdict.headline() if self.sound else f"{len(self.problems)} problems"
        return f"workflow {workflow.name!r}, {len(workflow.nodes)} nodes, {state}"


async def verdict_on(task: Task, solution: Solution, environment: Environment, model: ChatModel) -> Verdict:
    """The verdict on a solution: its workflow is run on the examples."""
    workflow = solution.workflow
    if workflow is None or solution.problems:
        return Verdict(sound=False)
    checks = await check_examples(workflow, task.examples, environment, solution.traces, model)
    guesses = unsupported(workflow, environment.specs, task.query, solution.traces, task.examples)
    forecast = solution.derivation.forecast if solution.derivation is not None else None
    return Verdict(sound=True, checks=tuple(check for check, _ in checks), unsupported=guesses, forecast=forecast)
