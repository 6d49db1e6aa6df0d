"""Records every exchange with a model as JSON Lines, and answers repeated requests from the record."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from flowmind.base import checksums as store
from flowmind.base.errors import InputError, ModelFailure
from flowmind.protocols import ChatModel, ChatRequest, Emit, Message, Reply


class Timing(BaseModel):
    """The start of a case in seconds since the epoch, and its duration in seconds."""

    started_at: float
    seconds: float


class _Line(BaseModel):
    """The fields of a line that are read."""

    key: str = ""
    reply: Reply | None = None
    error: str | None = None
    case: Timing | None = None


class Stored(BaseModel):
    """The content of a file of exchanges: replies and failures by the keys of their requests."""

    replies: dict[str, Reply] = Field(default_factory=dict[str, Reply])
    errors: dict[str, str] = Field(default_factory=dict[str, str])
    timing: Timing | None = None

    @classmethod
    def read(cls, path: Path) -> Stored:
        """The content of a file without a torn last line; empty if there is no file.

        Raises:
            InputError: If a line is damaged.
        """
        stored = cls()
        for line in store.read(path, _Line):
            stored.timing = line.case or stored.timing
            if line.reply is not None:
                stored.replies[line.key] = line.reply
            elif line.error is not None:
                stored.errors[line.key] = line.error
        return stored


class Exchanges:
    """The exchanges of one case, one line each. A request that the file answers is not sent to the model.

    The key of a reply is a digest of the subject and the request, including its rollout but not its episode, which
    repeats the messages. A conversation grows by a few messages a turn. A line therefore holds the number of messages
    that it shares with the line before (`keep`) and the messages after these (`messages`).

    Args:
        stored: The exchanges of this case so far.
        lent: Exchanges of other runs that may answer as well.
        replay: Never ask: a request without a reply is an error of the files, and a failure that was recorded fails
            again.
        emit: Takes each new exchange, to keep it.
        name: The name of the case's file, for errors.
        clock: Seconds.
    """

    def __init__(
        self,
        stored: Stored | None = None,
        lent: Sequence[Stored] = (),
        replay: bool = False,
        emit: Emit | None = None,
        name: str = "exchanges",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stored = stored or Stored()
        self._replies = dict(self._stored.replies)
        self._lent = lent
        self._replay = replay
        self._emit = emit
        self._name = name
        self._clock = clock
        self._last: tuple[Message, ...] = ()

    def of(self, model: ChatModel, subject: str = "") -> RecordedChat:
        """A model whose exchanges are recorded here.

        Args:
            model: The model that is asked.
            subject: Other settings that its replies depend on, for example JSON mode.
        """
        return RecordedChat(model, f"{model.name}\n{subject}", self)

    async def answer(self, model: ChatModel, key: str, request: ChatRequest) -> Reply:
        """The recorded reply, or a new reply of the model, which is recorded.

        Raises:
            ModelFailure: If the model fails, or, on replay, if it failed then.
            InputError: On replay, if there is no recorded answer.
        """
        if key in self._replies:
            return self._replies[key]
        for other in self._lent:
            if key in other.replies:
                return self._keep(key, request, other.replies[key])
        if self._replay:
            if key in self._stored.errors:
                raise ModelFailure(self._stored.errors[key])
            raise InputError(f"{self._name}: no reply to a request of this run; the run or the benchmark has changed")
        begun = self._clock()
        try:
            reply = await model.complete(request)
        except ModelFailure as error:
            self._write(key, request, {"error": str(error)})
            raise
        seconds = round(self._clock() - begun, 3)
        return self._keep(key, request, reply.model_copy(update={"seconds": seconds}))

    def _keep(self, key: str, request: ChatRequest, reply: Reply) -> Reply:
        self._replies[key] = reply
        self._write(key, request, {"reply": reply.model_dump(mode="json")})
        return reply

    def _write(self, key: str, request: ChatRequest, outcome: dict[str, Any]) -> None:
        if self._replay or self._emit is None:
            return
        keep = 0
        for old, new in zip(self._last, request.messages, strict=False):
            if old != new:
                break
            keep += 1
        self._last = request.messages
        line = {
            "key": key,
            "keep": keep,
            "messages": [message.model_dump() for message in request.messages[keep:]],
            "tools": [spec.name for spec in request.tools],
            "settings": request.model_dump(mode="json", exclude={"messages", "tools"}),
            **outcome,
        }
        self._emit(line)


def exchange_file(path: Path, root: Path | None = None) -> Stored:
    """The exchanges in a case's file, made ready for more: its folder exists, and a torn last line is cut off.

    Args:
        path: The file.
        root: The folder below which no link is followed, here and in the next two functions; by default the file's.

    Raises:
        InputError: If a line is damaged, or the file cannot be written.
    """
    store.cut_torn_line(path, root)
    return Stored.read(path)


def keep_exchange(path: Path, line: dict[str, Any], root: Path | None = None) -> None:
    """Adds a line of `Exchanges` to the case's file.

    Raises:
        InputError: If it cannot be written.
    """
    store.append(path, line, "exchange", root=root)


def end_case(path: Path, timing: Timing, root: Path | None = None) -> None:
    """Notes in the case's file that the case is over, and its times.

    Raises:
        InputError: If it cannot be written.
    """
    store.append(path, {"case": timing.model_dump()}, "end", sync=True, root=root)


class RecordedChat:
    """A model whose exchanges are recorded."""

    def __init__(self, model: ChatModel, subject: str, exchanges: Exchanges) -> None:
        self.name = model.name
        self._model = model
        self._subject = subject
        self._exchanges = exchanges

    async def complete(self, request: ChatRequest) -> Reply:
        """As `Exchanges.answer`."""
        return await self._exchanges.answer(self._model, self._key(request), request)

    async def aclose(self) -> None:
        """Closes the connections of the model."""
        await self._model.aclose()

    def _key(self, request: ChatRequest) -> str:
        whole = f"{self._subject}\n{request.model_dump_json()}"
        return hashlib.sha256(whole.encode()).hexdigest()[:32]
