"""Models by name."""

from __future__ import annotations

from typing import Any

from flowmind.base.errors import InputError
from flowmind.llm.models import reach
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.llm.search.model import SearchModel
from flowmind.llm.search.thinking import BUDGET, Thinker
from flowmind.llm.search.trials import Prober, Trials
from flowmind.protocols import ChatModel
from tools_registry.sandbox.environment import Environment

AWAITED_BUDGET = 6_000
"""The budget of `search` if some tools are async: their calls often are requests to a server."""


def model_named(name: str, sandbox: Environment, base_url: str | None = None, **options: Any) -> ChatModel:
    """The model of a name.

    Args:
        name: `search`, or a name that a server knows.
        sandbox: The environment in which `search` tries tools that are marked `read`.
        base_url: The address of the server.
        options: Arguments of `OpenAIChat`.

    Raises:
        InputError: If `search` cannot try tools in the sandbox.
        ModelUnavailable: If the server cannot be reached.
    """
    if name != "search":
        return OpenAIChat.at(reach(name, base_url), **options)
    if not isinstance(sandbox, Prober):
        raise InputError("the search model needs a sandbox that it can try tools in")
    waits = any(sandbox.specs[name].effect == "read" for name in sandbox.awaited)
    return SearchModel(Thinker(Trials(sandbox), AWAITED_BUDGET if waits else BUDGET))


def chosen_model(model: Any, sandbox: Environment) -> ChatModel:
    """The model of a name, or a model of one's own unchanged.

    Raises:
        InputError: If it is neither; see `model_named` for the errors of a name.
    """
    if isinstance(model, str):
        return model_named(model, sandbox)
    if not callable(getattr(model, "complete", None)):
        raise InputError(f"model: give a name such as 'search', or a ChatModel, not {type(model).__name__}")
    return model


async def close(model: ChatModel) -> None:
    """Closes the connections of a model; a user's own model may have no `aclose`."""
    if hasattr(model, "aclose"):
        await model.aclose()
