"""What a developer must mend is raised as one of these; what a model can mend is an observation."""

from __future__ import annotations


class FlowMindError(Exception):
    """The base: one line that says what is wrong, where, and what would be right."""


class InputError(FlowMindError):
    """A file, a flag or a value from outside is not usable. The command line exits with 2."""


class InvalidWorkflow(FlowMindError):
    """A workflow does not pass `check`; the message lists the problems."""


class ModelUnavailable(FlowMindError):
    """A model cannot be reached or refuses to serve; the message says how to reach it."""


class ModelFailure(FlowMindError):
    """A model's endpoint failed on one request, after retries. Never a wrong answer of the model."""


class CaseFailed(FlowMindError):
    """A workflow ended in an error on one input.

    Args:
        type: The type of the error, such as `tool_error`.
        message: What happened.
        node: The id of the node that failed; empty if none did.
    """

    def __init__(self, type: str, message: str, node: str = "") -> None:
        super().__init__(f"{type}: {message}")
        self.type = type
        self.node = node


class Terminated(BaseException):
    """SIGTERM came; like `KeyboardInterrupt` it passes whoever handles errors. The command line exits with 143."""
