"""The report of `build` on a workflow that was derived or verified."""

from __future__ import annotations

from tools_registry.specs.spec import Record


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
    """The repairs in order: `execute`, `negation`, `candidate`, `question`, `edit`, `probe`."""
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
    source: str = "agent"
    """`gold` if gold traces were used instead of executions."""

    @property
    def whole(self) -> bool:
        """Whether every example is solved."""
        return self.right == self.examples
