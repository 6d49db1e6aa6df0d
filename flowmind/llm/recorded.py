"""Records every exchange with a model exactly, as JSON Lines beside the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flowmind.errors import ModelFailure
from flowmind.files import dump_json
from flowmind.protocols import ChatModel, ChatRequest, Message, Reply


class Recorded:
    """A model whose requests and replies are appended to a file.

    A conversation grows by a few messages a turn, so a line holds only what differs from the line before: `keep`
    messages of it stay, `messages` follow them.
    """

    def __init__(self, model: ChatModel, path: Path) -> None:
        self.name = model.name
        self._model = model
        self._path = path
        self._last: tuple[Message, ...] = ()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    async def complete(self, request: ChatRequest) -> Reply:
        """Asks the model and records what was said."""
        try:
            reply = await self._model.complete(request)
        except ModelFailure as error:
            self._write(request, {"error": str(error)})
            raise
        self._write(request, {"reply": reply.model_dump(mode="json")})
        return reply

    def _write(self, request: ChatRequest, outcome: dict[str, Any]) -> None:
        keep = 0
        for old, new in zip(self._last, request.messages, strict=False):
            if old != new:
                break
            keep += 1
        self._last = request.messages
        line = {
            "keep": keep,
            "messages": [message.model_dump() for message in request.messages[keep:]],
            "tools": [spec.name for spec in request.tools],
            **request.model_dump(mode="json", exclude={"messages", "tools"}),
            **outcome,
        }
        with self._path.open("a", encoding="utf-8") as file:
            file.write(dump_json(line) + "\n")
