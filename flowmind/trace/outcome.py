"""The outcome of a case: everything that evaluators can judge."""

from __future__ import annotations

from flowmind.trace.events import Trace
from flowmind.trace.task import Example, Task
from flowmind.workflow.checking import Problem
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import Record


class CaseOutcome(Record):
    """Everything that one case left, as evaluators see it. It does not say which model or mode produced it."""

    task: Task
    tests: tuple[Example, ...] = ()
    """The held-out tests."""
    executions: tuple[Trace, ...] = ()
    """The traces of the execute stage."""
    worked: tuple[int, ...] = ()
    """For each execution the example that it worked on, from 0; -1 if none, or if the answer had been given to it.
    Empty if execution k worked on example k."""
    summary: Trace | None = None
    """The trace of the summarize stage."""
    workflow: Workflow | None = None
    problems: tuple[Problem, ...] = ()
    """The problems that `check` finds in the workflow."""
    example_runs: tuple[Trace, ...] = ()
    """The runs of a sound workflow on the examples of the task, one for each; empty if it was not run on them."""
    runs: tuple[Trace, ...] = ()
    """The runs of a sound workflow on the tests, one for each; empty if there is no sound workflow."""
    right: tuple[bool, ...] = ()
    """Whether each of these runs is right, if more than the answer counts; empty if the answer decides."""
