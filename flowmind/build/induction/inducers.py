"""Runs induction in separate processes, because the search is pure Python and holds the interpreter lock."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

from flowmind.base.processes import HelperEnded, Helpers, answer_questions
from flowmind.build.induction.inducing import Given, Induced, drafts


class Inducers(Helpers):
    """Processes that induce workflows. One starts when it is first needed.

    Args:
        count: How many processes.
    """

    def __init__(self, count: int) -> None:
        super().__init__(__name__, None, count)
        # threads of our own: who waits for a process must not keep the loop's others from running tools
        self._threads = ThreadPoolExecutor(count)

    async def drafts(self, given: Given) -> list[Induced]:
        """As `inducing.drafts`, in one of the processes.

        Raises:
            RuntimeError: If the process has ended, or the induction raised something.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self.ask, given)
        except HelperEnded as ended:
            raise RuntimeError(f"induction: its process has ended ({ended})") from None

    def close(self) -> None:
        """Kills the processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        super().close()
        self._threads.shutdown()


def main() -> None:
    """Runs the inductions that arrive on standard input until it is closed."""
    answer_questions(lambda _: nullcontext(lambda given, _: drafts(given)))
