"""An OpenAI-compatible proxy that records the conversations which pass through it.

Requests and replies are passed on as they are. The calls and their results are in the requests: each contains the
conversation before it. Of the last reply the text is recorded.
"""

from __future__ import annotations

import asyncio
import urllib.parse
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import aiohttp
from aiohttp import web
from pydantic import RootModel
from yarl import URL

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, parse_json, read_numbered, write_text
from flowmind.base.folders import locked
from flowmind.base.secrets import Redaction
from flowmind.base.texts import without_secrets
from flowmind.llm.models import proxy_of
from flowmind.llm.redaction import redactor
from flowmind.recording.conversations import Conversation, Conversations, Request, Turn
from flowmind.recording.listening import HOST, serve
from flowmind.recording.replies import Api, Reply, StreamedReply, fields, whole_reply

INPUTS, CASE = "X-FlowMind-Inputs", "X-FlowMind-Case"
"""Headers that tell the inputs of the case, a JSON object, and its id. They are not passed on."""
_APIS: dict[str, Api] = {"/chat/completions": "chat", "/responses": "responses"}
_HOP_BY_HOP = {
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
}  # fmt: skip
_NOT_SENT = {*_HOP_BY_HOP, "host", "expect", INPUTS.lower(), CASE.lower()}
_AUTOMATIC = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_MAX_BODY = 64 * 1024 * 1024
"""The most bytes of a request that is recorded, unpacked."""
_IDLE = 4.0
"""Seconds that an idle connection is kept; uvicorn, the server of vLLM, closes its end after 5."""
_CONNECT = 30.0
"""Seconds to connect to the server."""


class _Row(RootModel[dict[str, Any]]):
    """A line of a recording."""


@dataclass
class Recorded:
    """What a proxy recorded."""

    conversations: int
    unknown: int
    """Requests that follow replies from before the recording."""
    unread: int
    """Requests whose body could not be read; they were passed on."""


class _Refused(Exception):
    """A header for the proxy is not usable."""


class _Exchange:
    """A request that is recorded, and its reply.

    Args:
        conversations: The conversations.
        turn: The place of the request.
        clean: Removes secrets from a JSON value.
    """

    def __init__(self, conversations: Conversations, api: Api, turn: Turn, clean: Callable[[Any], Any]) -> None:
        self.api: Api = api
        self._conversations = conversations
        self._turn = turn
        self._clean = clean
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end(None)

    def end(self, reply: Reply | None) -> None:
        """Notes the reply, or that there is none; only the first call counts."""
        if not self._ended:
            self._ended = True
            try:
                known = None if reply is None else Reply(self._clean(reply.items), reply.id)
            except RecursionError:
                known = None
            self._conversations.end(self._turn, known)


class Proxy:
    """Passes requests on to a server and records conversations.

    Args:
        upstream: The base URL of the server, such as `https://api.openai.com/v1`.
        out: The file of conversations.
        redaction: Acts on every text before it is stored.
        report: Takes a line about a problem of the proxy.
        answer_tool: The tool whose arguments in the last reply of a conversation are the answer.

    Raises:
        InputError: If the file exists and is no recording of a proxy.
    """

    def __init__(
        self, upstream: str, out: Path, redaction: Redaction, report: Callable[[str], None], answer_tool: str | None
    ) -> None:
        self.conversations = Conversations(_read(out), answer_tool)
        self.unread = 0
        self._upstream = upstream.rstrip("/")
        self._origin, self.path = _address(self._upstream)
        self._proxy = proxy_of(self._upstream)
        self._out = out
        self._redaction = redaction
        self._report = report
        self._reported = ""
        self._saving = asyncio.Lock()
        self._saved = self.conversations.changes
        self._tasks: set[asyncio.Task[None]] = set()

    def app(self) -> web.Application:
        """The application; it accepts every path."""
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._answer)
        app.cleanup_ctx.append(self._connected)
        return app

    async def save(self) -> None:
        """Writes the conversations as they are now, unless the file has them. A problem is reported."""
        await asyncio.shield(self._start_saving())  # a client that leaves does not interrupt it

    def _start_saving(self) -> asyncio.Task[None]:
        saving = asyncio.create_task(self._save())
        self._tasks.add(saving)
        saving.add_done_callback(self._tasks.discard)
        return saving

    async def _save(self) -> None:
        """Replaces the whole file, so that it is complete at any moment.

        Changes that come while it is written are written together.
        """
        async with self._saving:
            changes = self.conversations.changes
            if changes == self._saved:
                return
            try:
                await asyncio.to_thread(write_text, self._out, self.conversations.text())
            except OSError as error:
                self._say(f"{self._out}: the conversations cannot be written: {error.strerror}; trying again later")
            else:
                self._saved = changes

    @property
    def saved(self) -> bool:
        """Whether the file has the conversations as they are now."""
        return self.conversations.changes == self._saved

    async def _connected(self, _: web.Application) -> AsyncGenerator[None]:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT)
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE)
        async with aiohttp.ClientSession(
            connector=connector, timeout=timeout, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_AUTOMATIC,
        ) as self._client:  # fmt: skip
            yield
        await self.save()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        api: Api | None = next((_APIS[end] for end in _APIS if request.path.endswith(end)), None)
        if api is None or request.method != "POST":
            return await self._forward(request, request.content if request.can_read_body else None)
        body = await request.read()
        try:
            exchange = self._begun(api, request, body)
        except _Refused as error:
            return _error(400, str(error), "invalid_request_error")
        if exchange is None:
            return await self._forward(request, body)
        with exchange:
            self._start_saving()  # while the server works
            return await self._forward(request, body, exchange)

    def _begun(self, api: Api, request: web.Request, body: bytes) -> _Exchange | None:
        """The exchange that a request begins; None if it is not recorded.

        Raises:
            _Refused: If a header for the proxy is not usable.
        """
        clean = self._cleaner(request)
        inputs, case = _inputs(request.headers.get(INPUTS)), request.headers.get(CASE)
        try:
            value: Any = clean(parse_json(_unpacked(body, request.headers.get("Content-Encoding")).decode()))
            found = Request.of(api, fields(value), case, clean(inputs))
        except (ValueError, RecursionError):
            found = None
        if found is None:
            self.unread += 1
            return None
        turn = self.conversations.begin(found)
        return None if turn is None else _Exchange(self.conversations, api, turn, clean)

    def _cleaner(self, request: web.Request) -> Callable[[Any], Any]:
        """A function that removes from a JSON value the keys of a request, and what the redaction knows."""
        keys = redactor(request.headers, self._upstream)
        return lambda value: self._redaction.value(keys.value(value))

    async def _forward(self, request: web.Request, body: Any, exchange: _Exchange | None = None) -> web.StreamResponse:
        target = request.rel_url.raw_path_qs
        base = self._origin if f"{target}/".startswith(f"{self.path}/") else self._upstream
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in _NOT_SENT]
        if exchange is not None:  # the reply is read, so it may not be packed
            headers = [
                *(pair for pair in headers if pair[0].lower() != "accept-encoding"),
                ("Accept-Encoding", "identity"),
            ]
        try:
            async with self._client.request(
                request.method,
                URL(f"{base}{target}", encoded=True),
                headers=headers,
                data=body,
                allow_redirects=False,
                proxy=self._proxy,
            ) as reply:
                self._reported = ""
                chunks = reply.content.iter_any() if exchange is None else self._watched(reply, exchange)
                return await _passed_on(request, reply, chunks)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            problem = f"{without_secrets(self._upstream)} cannot be reached: {reason}"
            self._say(problem)
            return _error(502, f"flowmind record: {problem}", "upstream_unreachable")

    async def _watched(self, response: aiohttp.ClientResponse, exchange: _Exchange) -> AsyncGenerator[bytes]:
        """The body of a response. The reply is in the file before the last part is passed on."""
        readable = response.ok and "Content-Encoding" not in response.headers
        if not readable:
            exchange.end(None)
        if response.content_type != "text/event-stream" or not readable:
            body = await response.read()
            exchange.end(whole_reply(exchange.api, body))
            await self.save()
            yield body
            return
        stream = StreamedReply(exchange.api)
        async for chunk in response.content.iter_any():
            stream.feed(chunk)
            if stream.reply is not None:
                exchange.end(stream.reply)
                await self.save()
            yield chunk
        stream.end()
        exchange.end(stream.reply)
        await self.save()

    def _say(self, problem: str) -> None:
        """Reports a problem once, until something else happens."""
        if problem != self._reported:
            self._reported = problem
            self._report(problem)


async def record_openai(
    upstream: str, out: Path, port: int, redaction: Redaction, report: Callable[[str], None],
    answer_tool: str | None = None,
) -> Recorded:  # fmt: skip
    """Passes requests on to a server, and records conversations, until the process is interrupted or terminated.

    Args:
        upstream: The base URL of the server, such as `https://api.openai.com/v1`.
        out: The file of conversations, a line each. Those of an existing file are kept and may go on.
        port: The port on loopback; 0 for any that is free.
        redaction: Acts on every text before it is stored.
        report: Takes a line that says where the proxy listens, and lines about problems.
        answer_tool: The tool whose arguments in the last reply of a conversation are the answer.

    Raises:
        InputError: If the address or the port is not usable, or the file is not, or another process writes to it.
    """
    _address(upstream)  # before a file is made
    try:
        with locked(out.parent, f".{out.name}.lock"):
            proxy = Proxy(upstream, out, redaction, report, answer_tool)
            shown = without_secrets(upstream)
            await serve(
                proxy.app(),
                port,
                lambda taken: report(
                    f"recording {shown} to {out}; set OPENAI_BASE_URL=http://{HOST}:{taken}{proxy.path}; Ctrl-C ends it"
                ),
                unpack=False,
            )
    except BlockingIOError:
        raise InputError(f"{out}: another process writes to this file; give another name") from None
    if not proxy.saved:
        raise InputError(f"{out}: the last conversations could not be written")
    written = sum(bool(conversation.line) for conversation in proxy.conversations.all)
    return Recorded(written, proxy.conversations.unknown, proxy.unread)


def _read(path: Path) -> Iterable[Conversation]:
    """The conversations of an earlier recording.

    Raises:
        InputError: If the file is no recording of a proxy.
    """
    if not path.exists():
        return
    for number, row in read_numbered(path, _Row):
        try:
            yield Conversation.read(row.root)
        except (KeyError, TypeError):
            raise InputError(
                f"{path}, line {number}: the file exists and this is no recorded conversation; give another name"
            ) from None


def _address(upstream: str) -> tuple[str, str]:
    """The origin and the path of a server's base URL.

    Raises:
        InputError: If it is no URL of HTTP, or has a query.
    """
    try:
        parts = urllib.parse.urlsplit(upstream)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, usable = None, False
    if parts is None or not usable or parts.query or parts.fragment:
        shown = without_secrets(upstream)
        raise InputError(f"--upstream {shown!r}: give the base URL of a server, such as https://api.openai.com/v1")
    return f"{parts.scheme}://{parts.netloc}", parts.path


def _inputs(header: str | None) -> dict[str, Any] | None:
    """The inputs in a header.

    Raises:
        _Refused: If they are not a JSON object.
    """
    if header is None:
        return None
    try:
        value = parse_json(header)
    except ValueError as error:
        raise _Refused(f"the header {INPUTS} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise _Refused(f"the header {INPUTS} is not a JSON object")
    return cast(dict[str, Any], value)


def _unpacked(body: bytes, encoding: str | None) -> bytes:
    """The body of a request.

    Raises:
        ValueError: If its encoding is not known, or it has more than `_MAX_BODY` bytes.
    """
    if encoding in (None, "", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise ValueError(f"the encoding {encoding!r} is not known")
    unpacking = zlib.decompressobj(47)  # gzip or zlib
    try:
        unpacked = unpacking.decompress(body, _MAX_BODY)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if unpacking.unconsumed_tail:
        raise ValueError(f"it has more than {_MAX_BODY} bytes")
    return unpacked


async def _passed_on(
    request: web.Request, reply: aiohttp.ClientResponse, chunks: AsyncIterator[bytes]
) -> web.StreamResponse:
    """Answers with the reply of the server. If that breaks off, so does the answer."""
    response = web.StreamResponse(status=reply.status, reason=reply.reason)
    for name, value in reply.headers.items():
        if name.lower() not in _HOP_BY_HOP:
            response.headers.add(name, value)
    try:
        await response.prepare(request)
        async for chunk in chunks:
            await response.write(chunk)
        await response.write_eof()
    except (aiohttp.ClientError, TimeoutError, OSError):
        if request.transport is not None:
            request.transport.abort()
    return response


def _error(status: int, message: str, kind: str) -> web.Response:
    """An error in the form of OpenAI's API."""
    error = {"message": message, "type": kind, "param": None, "code": None}
    return web.json_response({"error": error}, status=status, dumps=dump_json)
