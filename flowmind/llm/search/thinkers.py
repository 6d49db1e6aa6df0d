"""Processes that think for `search`: its thinking is Python from end to end, of which a process does one at a time."""

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
    """Processes that think, each in a sandbox of its own. One starts when it is first needed.

    Args:
        tools: What conversations may offer.
        count: How many processes.
        budget: Calls that one search may try.
    """

    def __init__(self, tools: Sequence[ToolSource], count: int, budget: int = BUDGET) -> None:
        super().__init__(__name__, (list(tools), budget), count)

    def program(self, brief: Brief, business: Mapping[str, ToolSpec]) -> Program | None:
        """As `Thinker.program`, in one of the processes; waits while all of them think.

        Raises:
            ModelFailure: If the process has ended.
            RuntimeError: If the thinking raised something.
        """
        try:
            return self.ask((brief, dict(business)))
        except HelperEnded as ended:
            raise ModelFailure(f"search: a process that thinks has ended ({ended})") from None


@contextmanager
def _prepared(about: tuple[list[ToolSource], int]) -> Generator[Callable[[Any], Program | None]]:
    tools, budget = about
    with LocalSandbox(tools) as sandbox:
        thinker = Thinker(sandbox.values, budget)
        yield lambda question: thinker.program(*question)


def main() -> None:
    """Thinks about what comes in by standard input, until it is closed."""
    answer_questions(_prepared)
