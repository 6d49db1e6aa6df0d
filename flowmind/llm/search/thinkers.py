"""Processes in which `search` looks for programs. The search is pure Python, so one process runs one at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from flowmind.base.errors import ModelFailure
from flowmind.base.processes import HelperEnded, Helpers, answer_questions
from flowmind.llm.search.program import Program
from flowmind.llm.search.thinking import BUDGET, Thinker
from flowmind.protocols import Brief
from tools_registry.sandbox.environments import LocalSandbox, ToolSource
from tools_registry.specs.spec import ToolSpec


class Thinkers(Helpers):
    """Processes with a `Thinker` and a sandbox each. A process starts when it is first needed.

    Args:
        tools: The tools that requests may offer.
        count: The number of processes.
        budget: The number of calls that one search may try.
    """

    def __init__(self, tools: Sequence[ToolSource], count: int, budget: int = BUDGET) -> None:
        super().__init__(__name__, (list(tools), budget), count)

    def program(self, brief: Brief, business: Mapping[str, ToolSpec]) -> Program | None:
        """Returns the result of `Thinker.program` in one of the processes; waits while all of them are busy.

        Raises:
            ModelFailure: If the process ended.
            RuntimeError: If the search raised an exception.
        """
        try:
            return self.ask((brief, dict(business)))
        except HelperEnded as ended:
            raise ModelFailure(f"search: a process that thinks has ended ({ended})") from None


@contextmanager
def _prepared(setup: tuple[list[ToolSource], int]) -> Generator[Callable[[Any], Program | None]]:
    tools, budget = setup
    with LocalSandbox(tools) as sandbox:
        thinker = Thinker(sandbox.values, budget)
        yield lambda question: thinker.program(*question)


def main() -> None:
    """Answers the questions on standard input until it is closed."""
    answer_questions(_prepared)
