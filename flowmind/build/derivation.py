"""What `build` reports about a workflow that was not built by an agent alone."""

from __future__ import annotations

from tools_registry.specs.spec import Record


class Derivation(Record):
    """How a workflow was derived from traces, where not an agent alone built it."""

    summarizer: str
    executions: int = 0
    """Traces that were made or taken."""
    built_from: int = 0
    """Traces that the workflow was induced from."""
    examples: int = 0
    draft_right: int = 0
    """Examples that the likeliest sound draft of the first derivation solves, as it is."""
    guesses: int = 0
    """Conditions of the workflow for which several candidates agree with the traces, or none does."""
    right: int = 0
    """Examples that the workflow solves in the end."""
    verified: int = 0
    """Examples that it solves and that it was not built from."""
    rounds: int = 0
    """Of mending."""
    mends: tuple[str, ...] = ()
    """What was done: `execute`, `negation`, `candidate`, `question`, `edit`, `probe`."""
    asked: int = 0
    """Questions that a model was asked."""
    open: tuple[str, ...] = ()
    """What is left open: questions that the traces do not answer."""
    leaked: tuple[str, ...] = ()
    """Constants of the workflow that equal a value of a case and that the task does not name."""
    idle: tuple[str, ...] = ()
    """Inputs that never change the output."""
    unexplained: int = 0
    """Values in the traces that were worked out without a tool."""
    unsettled: tuple[str, ...] = ()
    """Inputs that should move the output by their origins, and did not."""
    source: str = "agent"
    """`gold` if gold traces stood for executions."""

    @property
    def whole(self) -> bool:
        """Every example is solved."""
        return self.right == self.examples
