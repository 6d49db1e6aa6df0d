"""The report of `build` on a workflow that was derived or verified."""

from __future__ import annotations

from flowmind.workflow.document import Predicted
from tools_registry.specs.spec import Record


class Prediction(Record):
    """A trace that was left out, and predicted by the workflow of the others."""

    number: int
    """The trace, from 1."""
    right: bool
    """Whether that workflow gives the answer of the trace, by its calls of tools that may change something."""
    doubt: bool = False
    """Whether one of its rivals does something else, or there was no workflow."""


class Way(Record):
    """A way out of a condition that one trace shows, or none."""

    told: str
    """What follows on it."""
    trace: int = 0
    """The trace that shows it, from 1; 0 if none does."""


class Forecast(Record):
    """What can be said of a workflow beyond the traces that it was fitted to."""

    predictions: tuple[Prediction, ...] = ()
    """Empty if none were made."""
    rivals: int = 0
    """The number of other workflows that explain the traces."""
    sampled: int = 0
    """The generated inputs on which the workflow was compared with its rivals; 0 if it was not."""
    agreed: int = 0
    """Those on which they do the same, up to the first call that may change something."""
    lone: tuple[Way, ...] = ()
    """The ways that one trace shows, or none."""
    disputed: tuple[str, ...] = ()
    """Combinations of the traces' inputs on which rivals disagree about a call that may change something."""
    needed: tuple[str, ...] = ()
    """Traces that would settle what is open."""

    @property
    def predicted(self) -> int:
        """The number of traces that were predicted right."""
        return sum(one.right for one in self.predictions)

    @property
    def weak(self) -> bool:
        """Whether at most half of the traces were predicted."""
        return bool(self.predictions) and Predicted(right=self.predicted, traces=len(self.predictions)).weak


class Derivation(Record):
    """How a workflow was derived from traces. A workflow that an agent built without verification has none."""

    summarizer: str
    executions: int = 0
    """The number of executions."""
    built_from: int = 0
    """The number of traces that the workflow was induced from."""
    examples: int = 0
    draft_right: int = 0
    """The number of examples that the first sound draft solves."""
    guesses: int = 0
    """Conditions of the workflow for which several candidates agree with the traces, or none does."""
    right: int = 0
    """The number of examples that the final workflow solves."""
    verified: int = 0
    """The number of examples that it solves and was not built from."""
    rounds: int = 0
    """Rounds of verification."""
    mends: tuple[str, ...] = ()
    """The repairs in order: `execute`, `candidate`, `question`, `edit`, `probe`."""
    asked: int = 0
    """The number of questions to a model."""
    open: tuple[str, ...] = ()
    """The questions that the traces do not answer."""
    leaked: tuple[str, ...] = ()
    """Constants of the workflow that equal a value of an example and that the task does not name."""
    idle: tuple[str, ...] = ()
    """Inputs that never change the output."""
    unexplained: int = 0
    """The number of values in the traces that come from no input and no tool result."""
    unsettled: tuple[str, ...] = ()
    """Inputs on which the answer depends by its origin, but which do not change the output."""
    forecast: Forecast | None = None
    """What is predicted; None if the workflow was not induced, or this was not asked for."""
    source: str = "agent"
    """`gold` if gold traces were used instead of executions."""

    @property
    def whole(self) -> bool:
        """Whether every example is solved."""
        return self.right == self.examples
