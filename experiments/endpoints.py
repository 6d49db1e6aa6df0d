"""The endpoint of a run's model: an existing server, or a server that is started for the run."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from flowmind.base.errors import ModelUnavailable
from flowmind.llm.models import find
from flowmind.llm.replicas import reach_all
from flowmind.llm.serve_command import ServeOptions
from flowmind.llm.serving import Server, missing


@contextmanager
def served(model: str, *stages: Sequence[str | None]) -> Generator[str | None]:
    """Makes sure that a model answers within the block. A server that is started for it is stopped at the end.

    Args:
        model: The model's name.
        stages: The URLs of its servers for each stage; None for the default.

    Yields:
        The URL of the server that was started; None if no server was started.

    Raises:
        ModelUnavailable: If the model does not answer and no server can be started; the line says what is missing.
    """
    if find(model).kind == "embedded":
        yield None
        return
    try:
        for urls in dict.fromkeys(map(tuple, stages)):
            reach_all(model, urls)
    except ModelUnavailable as error:
        if not _may_start(model, *(url for urls in stages for url in urls)):
            raise
        if (lacking := missing(model)) is not None:
            raise ModelUnavailable(f"{str(error).partition(';')[0]}; {lacking}") from None
        with Server(ServeOptions.of(model, port=0), report=_report) as server:
            yield server.base_url
        return
    yield None


def startable(model: str, url: str | None) -> bool:
    """Whether a model needs no running server: it is embedded, or a server can be started on this machine."""
    if find(model).kind == "embedded":
        return True
    return _may_start(model, url) and missing(model) is None


def _may_start(model: str, *urls: str | None) -> bool:
    """Whether a server may be started: vLLM can serve the model, and no URL is set."""
    return find(model).kind == "vllm" and not any(urls) and not os.environ.get("OPENAI_BASE_URL")


def _report(line: str) -> None:
    print(f"flowmind: {line}", file=sys.stderr)
