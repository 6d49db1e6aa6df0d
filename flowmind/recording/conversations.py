"""Tells from the requests to a model which conversations there are.

A conversation is a sequence of requests that extend one another: the messages of a request begin with those of the one
before. Requests of the Responses API may name the previous response, or the server's conversation, instead.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from flowmind.base.files import dump_json, parse_json
from flowmind.recording.replies import MODELS_ITEMS, Api, Fields, Reply, calls_of, fields, is_result, objects, text_of

_SYSTEM = ("system", "developer")
_VOLATILE = {"id", "status", "type", "name", "annotations", "logprobs", "phase", "refusal", "audio"}
"""Keys of a message that clients add to it or leave out when they repeat it."""
_CACHING = "cache_control"


class _Place(NamedTuple):
    """Where a conversation is looked for."""

    api: Api
    case: str | None
    digest: str
    """Of its items."""


class Request(NamedTuple):
    """A request to a model."""

    api: Api
    model: str
    items: list[Fields]
    """Messages of chat completions, or items of the Responses API."""
    tools: list[Fields]
    previous: str | None = None
    """The id of the response that the items follow."""
    thread: str | None = None
    """The id of the conversation on the server whose items they follow."""
    case: str | None = None
    inputs: Fields | None = None

    @classmethod
    def of(cls, api: Api, body: Fields, case: str | None, inputs: Fields | None) -> Request | None:
        """The request in the body of an HTTP request; None if there is no conversation in it."""
        previous = thread = None
        if api == "chat":
            items = objects(body.get("messages"))
        else:
            given = body.get("input")
            items = [{"role": "user", "content": given}] if isinstance(given, str) else objects(given)
            if isinstance(body.get("instructions"), str):
                items = [{"role": "system", "content": body["instructions"]}, *items]
            previous, thread = body.get("previous_response_id"), body.get("conversation")
            thread = fields(thread).get("id", thread)
        if not items:
            return None
        return cls(
            api, str(body.get("model") or ""), items, objects(body.get("tools")),
            previous if isinstance(previous, str) else None, thread if isinstance(thread, str) else None, case, inputs,
        )  # fmt: skip


@dataclass(eq=False)
class Conversation:
    """A conversation as the last of its requests and the reply to it show it."""

    id: str
    case: str | None
    api: Api
    model: str = ""
    items: list[Fields] = field(default_factory=list[Fields])
    tools: list[Fields] = field(default_factory=list[Fields])
    inputs: Fields | None = None
    reply: Reply | None = None
    waiting: int = 0
    """The number of requests that have no reply yet."""
    line: str = ""
    """The conversation as a line of a file; empty if no reply of the model is known."""

    def write(self, answer_tool: str | None = None) -> bool:
        """Updates the line; returns whether it has changed.

        Args:
            answer_tool: The tool whose arguments in the last reply are the answer.
        """
        final = self.reply is not None and self.reply.final
        messages = [*self.items, *(self.reply.items if self.reply is not None and final else [])]
        replied = any(item.get("role") == "assistant" or item.get("type") == "function_call" for item in messages)
        row: Fields = {"id": self.id, "case": self.case, "api": self.api, "model": self.model, "tools": self.tools}
        if self.inputs is not None:
            row["inputs"] = self.inputs
        row["messages"] = messages
        if self.reply is not None:
            row["reply"] = {"id": self.reply.id, "items": self.reply.items}
            for call in self.reply.calls:
                if call.name == answer_tool:
                    row["answer"] = _json(call.arguments)
        before, self.line = self.line, f"{dump_json(row)}\n" if replied else ""
        return self.line != before

    @classmethod
    def read(cls, row: Fields) -> Conversation:
        """The conversation of a line.

        Raises:
            KeyError: If it is not a line of a recorded conversation.
        """
        reply = fields(row.get("reply"))
        items, said = objects(row["messages"]), objects(reply.get("items"))
        known = Reply(said, reply.get("id")) if said else None
        if known is not None and known.final:
            items = items[: -len(said)]
        return cls(
            row["id"], row["case"], row["api"], row["model"], items, objects(row["tools"]), row.get("inputs"), known,
            line=f"{dump_json(row)}\n",
        )  # fmt: skip


class Turn(NamedTuple):
    """A request in its conversation."""

    conversation: Conversation
    items: list[Fields]
    thread: str | None


class _Answered(NamedTuple):
    """The state of a conversation at one of its replies."""

    conversation: Conversation
    items: list[Fields]
    reply: Reply


class Conversations:
    """The conversations that were begun, in order.

    Args:
        known: Conversations of an earlier recording, which may go on.
        answer_tool: The tool whose arguments in the last reply of a conversation are the answer.
    """

    def __init__(self, known: Iterable[Conversation] = (), answer_tool: str | None = None) -> None:
        self.all: list[Conversation] = []
        self._answer_tool = answer_tool
        self.unknown = 0
        """The number of requests that follow replies from before the recording."""
        self.changes = 0
        """The number of changes to the lines."""
        self._at: defaultdict[_Place, list[Conversation]] = defaultdict(list)
        self._places: dict[Conversation, _Place] = {}
        self._answered: dict[str, _Answered] = {}
        """By the id of a response, or of the server's conversation."""
        self._ids: set[str] = set()
        for conversation in known:
            self._add(conversation)
            self._place(conversation)
            if conversation.reply is not None:
                self._note(Turn(conversation, conversation.items, None), conversation.reply)

    def begin(self, request: Request) -> Turn | None:
        """Places a request in the conversation that it extends, or begins one, which then waits for the reply.

        Returns:
            The turn; None if the request follows a reply that is not known.
        """
        answered = self._answered.get(request.previous or request.thread or "")
        if answered is not None:
            found, request = self._followed(request, answered)
        elif request.previous is None and not _lacks_calls(request.items):
            found = self._extended(request)
        else:
            self.unknown += 1
            return None
        conversation = found or self._new(request)
        conversation.items, conversation.model = request.items, request.model
        conversation.tools = request.tools or conversation.tools
        conversation.inputs = conversation.inputs if request.inputs is None else request.inputs
        conversation.reply = None
        conversation.waiting += 1
        self._place(conversation)
        self.changes += conversation.write(self._answer_tool)
        return Turn(conversation, request.items, request.thread)

    def end(self, turn: Turn, reply: Reply | None) -> None:
        """Notes the reply of a turn; None if there is none, so that the same request again is another try."""
        turn.conversation.waiting -= 1
        if reply is None:
            return
        if turn.conversation.items is turn.items:
            turn.conversation.reply = reply
            self.changes += turn.conversation.write(self._answer_tool)
        self._note(turn, reply)

    def text(self) -> str:
        """All conversations as JSON lines."""
        return "".join(conversation.line for conversation in self.all)

    def _note(self, turn: Turn, reply: Reply) -> None:
        """Notes where a request goes on that names the response, or the server's conversation."""
        answered = _Answered(turn.conversation, [*turn.items, *reply.items], reply)
        self._answered |= {name: answered for name in (reply.id, turn.thread) if name is not None}

    def _followed(self, request: Request, answered: _Answered) -> tuple[Conversation | None, Request]:
        """The conversation that goes on after a reply, and the request with the items before it.

        It is None if the conversation has gone on after this reply already, so that the request begins a branch.
        """
        system, own = _parted(request.items)
        before = _parted(answered.items)[1] if system else answered.items
        request = request._replace(items=[*system, *before, *own])
        last = answered.conversation.reply is answered.reply
        return answered.conversation if last else self._tried(request, _chain(request.items)), request

    def _extended(self, request: Request) -> Conversation | None:
        """The conversation that a request extends or tries again. Of several it is the longest that fits best."""
        chain, own = _chain(request.items), _parted(request.items)[1]
        if (tried := self._tried(request, chain)) is not None:
            return tried
        for count in range(len(chain) - 1, 0, -1):
            there = self._at.get(_Place(request.api, request.case, chain[count - 1]), ())
            alike = [(_likeness(own[count:], one.reply), one) for one in there]
            if any(likeness for likeness, _ in alike):
                return max(alike, key=lambda pair: (pair[0], _same_system(pair[1], request), not pair[1].waiting))[1]
        return None

    def _tried(self, request: Request, chain: Sequence[str]) -> Conversation | None:
        """The conversation whose last request was the same and has failed."""
        there = self._at.get(_Place(request.api, request.case, chain[-1] if chain else ""), ())
        return next((one for one in there if one.reply is None and not one.waiting), None)

    def _new(self, request: Request) -> Conversation:
        stem = request.case or f"conversation-{len(self.all) + 1}"
        numbers = (f"{stem}-{number}" for number in range(2, len(self.all) + 3))
        id = next(name for name in (stem, *numbers) if name not in self._ids)
        conversation = Conversation(id, request.case, request.api)
        self._add(conversation)
        return conversation

    def _add(self, conversation: Conversation) -> None:
        self.all.append(conversation)
        self._ids.add(conversation.id)

    def _place(self, conversation: Conversation) -> None:
        """Puts a conversation where the requests that extend it find it."""
        if (old := self._places.get(conversation)) is not None:
            self._at[old].remove(conversation)
        chain = _chain(conversation.items)
        place = _Place(conversation.api, conversation.case, chain[-1] if chain else "")
        self._at[place].append(conversation)
        self._places[conversation] = place


def _json(text: str) -> Any:
    """The value of a JSON text; the text itself if it is none."""
    try:
        return parse_json(text)
    except ValueError:
        return text


def _likeness(items: Sequence[Fields], reply: Reply | None) -> int:
    """How well the beginning of items repeats a reply: 0 not at all, 2 for certain.

    Clients may trim the reply's text or leave out its thoughts, and may give its calls other ids.
    """
    if reply is None:
        return 1
    said: list[Fields] = []
    for item in items:
        if item.get("role") != "assistant" and item.get("type") not in MODELS_ITEMS:
            break
        said.append(item)
    repeated = Reply(said)
    if reply.calls or repeated.calls:
        same_names = [call.name for call in reply.calls] == [call.name for call in repeated.calls]
        same_ids = {call.id for call in reply.calls} == {call.id for call in repeated.calls}
        return 2 if same_ids else 1 if same_names else 0
    text, own = repeated.text.strip(), reply.text.strip()
    return 2 if said and text == own else 1 if said and (text in own or own in text) else 0


def _lacks_calls(items: Sequence[Fields]) -> bool:
    """Whether there is the result of a call and not the call."""
    calls = {call.id for item in items for call in calls_of(item)}
    results = {str(item.get("tool_call_id", item.get("call_id"))) for item in items if is_result(item)}
    return not results <= calls


def _parted(items: Sequence[Fields]) -> tuple[list[Fields], list[Fields]]:
    """The messages of the system, and the others."""
    system = [item for item in items if item.get("role") in _SYSTEM]
    return system, [item for item in items if item.get("role") not in _SYSTEM]


def _same_system(conversation: Conversation, request: Request) -> bool:
    ours, theirs = (_parted(items)[0] for items in (conversation.items, request.items))
    return list(map(text_of, ours)) == list(map(text_of, theirs))


def _chain(items: Sequence[Fields]) -> list[str]:
    """For each beginning of a list of items its digest. System messages are left out: many contain the time."""
    digests = map(_digest, _parted(items)[1])
    return list(accumulate(digests, lambda before, digest: hashlib.sha256((before + digest).encode()).hexdigest()))


def _digest(item: Fields) -> str:
    """The digest of what a client repeats of an item."""
    kept = {key: value for key, value in item.items() if value and key not in _VOLATILE and key != _CACHING}
    if "content" in kept:
        parts = objects(kept["content"])
        texts = all("text" in part for part in parts)
        kept["content"] = text_of(item) if texts else [{**part, _CACHING: None} for part in parts]
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()
