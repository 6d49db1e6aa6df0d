"""Where a run's model answers: at an endpoint that is there, or at a server that is started for the run."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

from flowmind.base.errors import ModelUnavailable
from flowmind.llm.models import find, reach
from flowmind.llm.serve_command import ServeOptions
from flowmind.llm.serving import Server, missing


@contextmanager
def served(model: str, *urls: str | None) -> Generator[str | None]:
    """Makes sure that a model answers for as long as the block lasts; a server that is started for it ends with it.

    Args:
        model: Its name.
        urls: Where it is said to answer, for each role; None where nothing is said.

    Yields:
        Where the model answers, if a server was started; else None: where it was said to.

    Raises:
        ModelUnavailable: If it does not, and no server can be started here; one line that says what is missing.
    """
    if find(model).kind == "embedded":
        yield None
        return
    try:
        for url in dict.fromkeys(urls):
            reach(model, url)
    except ModelUnavailable as error:
        if not _ours(model, *urls):
            raise
        if (lacking := missing(model)) is not None:
            raise ModelUnavailable(f"{str(error).partition(';')[0]}; {lacking}") from None
        with Server(ServeOptions.of(model, port=0), report=_tell) as server:
            yield server.base_url
        return
    yield None


def startable(model: str, url: str | None) -> bool:
    """Whether a model needs no endpoint that is there already: it is embedded, or can be served on this machine."""
    if find(model).kind == "embedded":
        return True
    if not _ours(model, url):
        return False
    return missing(model) is None


def _ours(model: str, *urls: str | None) -> bool:
    """Whether it is for us to start a server: vLLM has the model, and nobody has said where it answers."""
    return find(model).kind == "vllm" and not any(urls) and not os.environ.get("OPENAI_BASE_URL")


def _tell(line: str) -> None:
    print(f"flowmind: {line}", file=sys.stderr)
