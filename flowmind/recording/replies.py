"""Reads the replies of OpenAI-compatible servers, whole or streamed, while they are passed on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

from flowmind.base.files import parse_json

Api = Literal["chat", "responses"]
Fields = dict[str, Any]
_CALLS = ("function_call", "custom_tool_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
MODELS_ITEMS = (*_CALLS, "reasoning")
"""The types of items of the Responses API that a model writes and that have no role."""


class Call(NamedTuple):
    """A call of a tool, as a model writes it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Reply:
    """The reply to a request."""

    items: list[Fields]
    """Messages of chat completions, or items of the Responses API."""
    id: str | None = None
    """The id of a response, which a later request can name as the previous one."""

    @property
    def calls(self) -> list[Call]:
        """Its calls."""
        return [call for item in self.items for call in calls_of(item)]

    @property
    def text(self) -> str:
        """What the model says in it, without its thoughts."""
        return "".join(text_of(item) for item in self.items if item.get("role") == "assistant")

    @property
    def final(self) -> bool:
        """Whether it says something and calls nothing, so that an agent may end with it."""
        return bool(self.text) and not self.calls


def calls_of(item: Fields) -> list[Call]:
    """The calls in a message or item."""
    if item.get("type") in _CALLS:
        written = item.get("arguments", item.get("input"))
        return [Call(str(item.get("call_id")), str(item.get("name")), str(written))]
    calls = [(str(call.get("id")), fields(call.get("function"))) for call in objects(item.get("tool_calls"))]
    return [Call(id, str(function.get("name")), str(function.get("arguments"))) for id, function in calls]


def is_result(item: Fields) -> bool:
    """Whether a message or item is the result of a call."""
    return item.get("role") == "tool" or item.get("type") in _RESULTS


def text_of(item: Fields) -> str:
    """The text of a message or item."""
    content = item.get("content") or item.get("refusal")
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in objects(content))


def objects(value: Any) -> list[Fields]:
    """The objects in a list; none if it is no list."""
    return [item for item in cast(list[Any], value) if isinstance(item, dict)] if isinstance(value, list) else []


def fields(value: Any) -> Fields:
    """An object; an empty one if the value is something else."""
    return cast(Fields, value) if isinstance(value, dict) else {}


def whole_reply(api: Api, body: bytes) -> Reply | None:
    """The reply in the body of a response that is not streamed; None if there is none."""
    try:
        value = fields(parse_json(body.decode()))
    except ValueError:
        return None
    if api == "responses":
        return _of_response(value)
    choices = objects(value.get("choices"))
    message = fields(choices[0].get("message")) if choices else {}
    return Reply([message]) if message else None


def _of_response(response: Fields) -> Reply | None:
    items = objects(response.get("output"))
    id = response.get("id")
    return Reply(items, id if isinstance(id, str) else None) if items else None


class StreamedReply:
    """Assembles a reply from the server-sent events of a stream.

    Args:
        api: The API of the request.
    """

    def __init__(self, api: Api) -> None:
        self.reply: Reply | None = None
        """The reply; None until the stream has said all of it."""
        self._api = api
        self._rest = b""
        self._text: list[str] = []
        self._calls: dict[int, Fields] = {}
        self._items: list[Fields] = []

    def feed(self, chunk: bytes) -> None:
        """Reads the next bytes of the stream."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._event(line[5:].strip())

    def end(self) -> None:
        """Makes the reply of a stream that has ended; not all servers of chat completions send a last event."""
        if self._api == "responses" or self.reply is not None or not (self._text or self._calls):
            return
        message: Fields = {"role": "assistant", "content": "".join(self._text) or None}
        if self._calls:
            message["tool_calls"] = list(self._calls.values())
        self.reply = Reply([message])

    def _event(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.end()
            return
        try:
            event = fields(parse_json(data.decode()))
        except ValueError:
            return
        if self._api == "chat":
            for choice in objects(event.get("choices")):
                if choice.get("index", 0) == 0:
                    self._delta(fields(choice.get("delta")))
        elif event.get("type") == "response.output_item.done":
            self._items.append(fields(event.get("item")))
        elif event.get("type") in ("response.completed", "response.incomplete"):
            response = fields(event.get("response"))
            self.reply = _of_response({**response, "output": response.get("output") or self._items})

    def _delta(self, delta: Fields) -> None:
        for key in ("content", "refusal"):
            if isinstance(delta.get(key), str):
                self._text.append(delta[key])
        for part in objects(delta.get("tool_calls")):
            index = part.get("index")
            call = self._calls.setdefault(
                index if isinstance(index, int) else len(self._calls),
                {"id": None, "type": "function", "function": {"name": "", "arguments": ""}},
            )
            call["id"] = call["id"] or part.get("id")
            for key in ("name", "arguments"):
                call["function"][key] += str(fields(part.get("function")).get(key) or "")
