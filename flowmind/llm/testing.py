"""Fakes for tests: a model with prepared replies, and the bodies of replies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flowmind.base.files import dump_json
from flowmind.protocols import ChatRequest, Reply


def action(tool: str, reasoning: str = "", /, **args: Any) -> str:
    """A reply that calls a tool."""
    return dump_json({"reasoning": reasoning, "action": tool, "action_input": args})


def plan(*steps: str, analysis: str = "") -> str:
    """A reply that is a plan."""
    return dump_json({"analysis": analysis, "steps": list(steps)})


class ScriptedChat:
    """A model that gives prepared replies in order and keeps the requests.

    Raises:
        AssertionError: If there are more requests than replies.
    """

    name = "scripted"

    def __init__(self, replies: Iterable[str | Reply | Exception]) -> None:
        self.replies = list(replies)
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> Reply:
        """The next reply; an exception in the script is raised."""
        self.requests.append(request)
        assert len(self.requests) <= len(self.replies), f"the script has no reply number {len(self.requests)}"
        reply = self.replies[len(self.requests) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Reply) else Reply(text=reply, input_tokens=1, output_tokens=len(reply) // 4)

    async def aclose(self) -> None:
        """Does nothing: there is no connection."""


def completion(text: str, usage: dict[str, int] | None = None) -> str:
    """The body of a chat completion."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body: dict[str, Any] = {
        "id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice],
    }  # fmt: skip
    if usage is not None:
        body["usage"] = usage
    return dump_json(body)
