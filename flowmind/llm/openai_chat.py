"""A client for OpenAI-compatible servers such as vLLM.

The openai package determines the address and the headers of requests, so that its arguments and environment variables
have their usual meaning. aiohttp sends the requests, which takes a tenth of the time (docs/decisions/0007). No other
module of the library imports the two packages.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
import urllib.parse
from collections.abc import AsyncGenerator
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from flowmind.base.errors import ModelFailure, ModelUnavailable, ServerFailed
from flowmind.llm.limiting import Limit
from flowmind.llm.models import Endpoint, ModelInfo, find, proxy_of, shown_url
from flowmind.llm.redaction import Redactor, redactor
from flowmind.llm.waiting import Waits
from flowmind.protocols import ChatRequest, Reply
from flowmind.workflow.graph_tools import FINISH
from tools_registry.specs.spec import ToolCall
from tools_registry.specs.values import CaseError, clean

if TYPE_CHECKING:
    import aiohttp

JsonMode = Literal["off", "object", "schema", "object-schema"]
"""`object`: any JSON object; `schema`: OpenAI's json_schema; `object-schema`: llama.cpp's json_object with a schema."""

_FORMS: dict[str, dict[str, Any]] = {
    "action": {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string"},
            "action": {"type": "string"},
            "action_input": {"type": "object"},
        },
        "required": ["reasoning", "action", "action_input"],
    },
    "plan": {
        "type": "object",
        "properties": {
            "analysis": {"type": "string"},
            "steps": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["analysis", "steps"],
    },
}
_RETRIED = {408, 409, 425, 429}
_OVERLOADED = {408, 429, 503, 504}
_TOO_LONG = {400, 413}
_CONTEXT = re.compile(r"context (?:length|window|size)", re.IGNORECASE)
"""Matches the messages of OpenAI, vLLM and both servers of llama.cpp for a request that exceeds the context."""
_MAX_BODY = 10_000_000
_IDLE = 4.0
"""Seconds that an idle connection is kept; uvicorn, the server of vLLM, closes its end after 5."""


class _Setback(NamedTuple):
    """A failed attempt that may be repeated."""

    problem: str
    wait: float | None = None
    """Seconds to wait, if the server sent `Retry-After`."""
    limited: bool = False
    """Whether the server has refused the request because there were too many."""


class _Address(NamedTuple):
    """The URL of requests, their headers, and the proxy."""

    url: str
    headers: dict[str, str]
    proxy: str | None


class _Open(NamedTuple):
    """The connections of an event loop, and the generator that closes them."""

    loop: asyncio.AbstractEventLoop
    holder: AsyncGenerator[aiohttp.ClientSession]
    session: aiohttp.ClientSession


class OpenAIChat:
    """A model behind an OpenAI-compatible server.

    Args:
        model: The name of the model on the server.
        base_url: The address of the server; by default `OPENAI_BASE_URL`, or the API of OpenAI.
        api_key: The key; by default `OPENAI_API_KEY`. It may be absent if there is a `base_url`.
        concurrency: Requests in flight: a number, or a limit that may adapt or be shared with other clients.
        timeout: Seconds for one attempt.
        deadline: Seconds for a request with all its attempts.
        attempts: Attempts for a request. It is repeated after 408, 409, 425, 429, 5xx, timeouts, broken connections
            and bodies that are no completion, with exponential backoff or after the time in `Retry-After`.
        json_mode: Ask the server to constrain replies. It is meant for ablations: small models answer worse with it.
        native_tools: Send tool schemas and read native tool calls.
        name: The name in tables; by default `model`.
        info: Properties of the model; by default those of the known model of that name.
        backoff: Seconds before the second attempt; they double with each attempt.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        concurrency: int | Limit = 8,
        timeout: float = 120.0,
        deadline: float = 600.0,
        attempts: int = 6,
        json_mode: JsonMode = "off",
        native_tools: bool = False,
        name: str | None = None,
        info: ModelInfo | None = None,
        backoff: float = 0.5,
    ) -> None:
        self.name = name or model
        self.limit = concurrency if isinstance(concurrency, Limit) else Limit(concurrency)
        """The limit on requests in flight."""
        self._model = model
        self._info = info or find(model)
        self._json_mode: JsonMode = json_mode
        self._native_tools = native_tools
        self._timeout = timeout
        self._deadline = deadline
        self._attempts = attempts
        self._backoff = backoff
        self._jitter = random.Random(0)
        self._waits = Waits(self.name)
        self._answered = False
        self._base_url, self._api_key = base_url, api_key
        self._open: _Open | None = None

    @classmethod
    def at(cls, endpoint: Endpoint, **options: Any) -> OpenAIChat:
        """A client for an endpoint that `models.reach` returned."""
        return cls(
            endpoint.served_name,
            endpoint.base_url,
            endpoint.api_key,
            name=endpoint.info.name,
            info=endpoint.info,
            **options,
        )

    async def complete(self, request: ChatRequest, attempts: int | None = None) -> Reply:
        """Answers a conversation.

        Args:
            request: The conversation.
            attempts: Attempts for this request, if not those of the client.

        Raises:
            ServerFailed: If all attempts failed, or its deadline passed.
            ModelFailure: If the request is invalid.
            ModelUnavailable: If the server has no such model or refuses the key.
        """
        body = json.dumps(self._body(request)).encode()
        last, attempt, late = _Setback("no attempt"), 0, ""
        attempts = attempts or self._attempts
        async with self.limit:
            ends = time.monotonic() + self._deadline
            for attempt in range(1, attempts + 1):
                result = await self._attempt(body, ends - time.monotonic(), attempt > 1)
                if isinstance(result, Reply):
                    return result
                last = result
                pause = self._pause(attempt) if last.wait is None else min(last.wait, 60.0)
                if attempt == attempts:
                    break
                if time.monotonic() + pause > ends:
                    asked = f"; the server asks to wait {last.wait:g} s" if last.wait is not None else ""
                    late = f"{asked}; the time of a reply ends after {self._deadline:g} s"
                    break
                self._waits.before_retry(last.problem, pause, last.limited)
                await asyncio.sleep(pause)
        times = "once, with" if attempt == 1 else f"{attempt} times, last with"
        raise ServerFailed(f"{self.name} failed {times} {last.problem[:300]}{late}")

    async def _attempt(self, body: bytes, left: float, again: bool) -> Reply | _Setback:
        """Sends a request once, or once more, with `left` seconds until its deadline."""
        import aiohttp  # takes 150 ms to import, so it is imported for the first request

        session = await self._session()
        mark = self.limit.began()
        try:
            with self._waits.watched():
                async with (
                    asyncio.timeout(min(self._timeout, left)),
                    session.post(self._address.url, data=body, proxy=self._address.proxy) as response,
                ):
                    content = await _body_of(response)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            self.limit.ended(mark, overloaded=True)
            if isinstance(error, aiohttp.ClientError) or not isinstance(error, TimeoutError):
                return _Setback(self._secrets.text(f"{type(error).__name__}: {error}"))
            if left > self._timeout:
                return _Setback(f"no reply within {self._timeout:g} s")
            raise ServerFailed(f"no reply from {self.name} within {self._deadline:g} s") from None
        self._waits.heard()
        self.limit.ended(mark, overloaded=response.status in _OVERLOADED)
        if response.status in _TOO_LONG and _CONTEXT.search(message := self._secrets.text(_message(content))):
            return Reply(text=message[:300], finish="context")
        if not 200 <= response.status < 300:
            return self._status(response.status, content, response.headers.get("retry-after"))
        try:
            reply = _reply(content, self._secrets)
        except ValueError as error:
            return self._no_completion(content, error, again)
        self._answered = True
        return reply

    async def _session(self) -> aiohttp.ClientSession:
        """The connections of this event loop; connections of another loop cannot be used."""
        loop = asyncio.get_running_loop()
        if self._open is None or self._open.loop is not loop:
            holder = _connections(self._address.headers, connect=min(10.0, self._timeout))
            self._open = _Open(loop, holder, await anext(holder))
        return self._open.session

    @cached_property
    def _address(self) -> _Address:
        import openai  # takes half a second to import

        try:
            return _address(self._base_url, self._api_key)
        except openai.OpenAIError as error:
            raise ModelUnavailable(f"{self.name}: {error}") from None

    @cached_property
    def _secrets(self) -> Redactor:
        """Removes the key, and the passwords of the server and of the proxy."""
        base_url = self._base_url or os.environ.get("OPENAI_BASE_URL")
        return redactor(self._address.headers, base_url, self._address.url, self._address.proxy)

    async def aclose(self) -> None:
        """Closes the connections of this event loop."""
        if self._open is not None and self._open.loop is asyncio.get_running_loop():
            connections, self._open = self._open, None
            await connections.holder.aclose()

    def _pause(self, attempt: int) -> float:
        return min(20.0, self._backoff * 2 ** (attempt - 1)) * self._jitter.uniform(0.8, 1.2)

    def _status(self, code: int, content: bytes, retry_after: str | None) -> _Setback:
        """The failed attempt, if it may be repeated.

        Raises:
            ModelUnavailable: If the server refuses the key or knows no such model.
            ModelFailure: If the request is invalid.
        """
        words = self._secrets.text(_message(content))
        text = f"HTTP {code}: {words[:300]}" if words.strip("{}") else f"HTTP {code}"
        if code in (401, 403):
            raise ModelUnavailable(f"{self.name}: the server refuses the API key ({text}); set OPENAI_API_KEY")
        if code == 404:
            url = shown_url(self._address.url.removesuffix("/chat/completions"))
            advice = f"check the model's name and the base URL {url}"
            raise ModelUnavailable(f"{self.name}: the server knows no such model or path ({text}); {advice}")
        if code not in _RETRIED and code < 500:
            raise ModelFailure(f"{self.name}: {text}")
        return _Setback(text, _retry_after(retry_after), code == 429)

    def _no_completion(self, content: bytes, error: ValueError, again: bool) -> _Setback:
        """The failed attempt, if it may be repeated.

        Raises:
            ModelUnavailable: If it is a page again, and no completion has ever come: this is not the model's server.
        """
        if content.lstrip()[:1] != b"<":
            return _Setback(f"a body that is no completion: {error}")
        page = f"a page instead of a completion ({self._secrets.text(_message(content))[:60]!r})"
        if again and not self._answered:
            raise ModelUnavailable(
                f"{self.name}: {shown_url(self._address.url)} answers with {page}; check the base URL"
            )
        return _Setback(page)

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        }
        if self._info.reasoning:
            body["max_completion_tokens"] = request.max_tokens
        else:
            body |= {"max_tokens": request.max_tokens, "temperature": request.temperature}
            if request.stop:
                body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        if self._native_tools and request.reply == "action":
            body["tools"] = _native(request)
        elif (form := _FORMS.get(request.reply)) and self._json_mode != "off":
            body["response_format"] = _response_format(self._json_mode, form, request.reply)
        return body | self._info.extra_body


def _address(base_url: str | None, api_key: str | None) -> _Address:
    """The address as the openai package determines it from the arguments and its environment variables.

    A key is optional if there is a `base_url`.

    Raises:
        OpenAIError: If there is neither a key nor a base URL.
    """
    import openai

    if base_url or os.environ.get("OPENAI_BASE_URL"):
        api_key = api_key or os.environ.get("OPENAI_API_KEY") or "none"
    with openai.OpenAI(base_url=base_url, api_key=api_key, default_headers={"User-Agent": "flowmind"}) as client:
        url = f"{client.base_url}chat/completions"
        sent = {**client.auth_headers, **client.default_headers}
    headers = {name.lower(): value for name, value in sent.items() if isinstance(value, str)}
    headers = {name: value for name, value in headers.items() if not name.startswith("x-stainless-")}
    if urllib.parse.urlsplit(url).username is not None:  # a password in the address replaces the key
        headers.pop("authorization", None)
    return _Address(url, headers, proxy_of(url))


async def _body_of(response: aiohttp.ClientResponse) -> bytes:
    """The body of a response.

    Raises:
        ValueError: If it has more than `_MAX_BODY` bytes; the rest is not read.
    """
    try:
        await response.content.readexactly(_MAX_BODY + 1)
    except asyncio.IncompleteReadError as whole:
        return whole.partial
    response.close()
    raise ValueError(f"a body of more than {_MAX_BODY} bytes")


async def _connections(headers: dict[str, str], connect: float) -> AsyncGenerator[aiohttp.ClientSession]:
    """Yields a session and closes it afterwards.

    `asyncio.run` closes the generators that began in its event loop, so a client used within it needs no `aclose`.
    """
    import aiohttp

    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE),
        headers=headers,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect),
    ) as session:
        yield session


def _native(request: ChatRequest) -> list[dict[str, Any]]:
    tools = [spec.openai() for spec in request.tools]
    if all(spec.name != FINISH for spec in request.tools):
        answer: dict[str, Any] = {"type": "object", "properties": {"answer": {}}, "required": ["answer"]}
        about: dict[str, Any] = {"name": FINISH, "description": "End with the answer.", "parameters": answer}
        tools.append({"type": "function", "function": about})
    return tools


def _response_format(mode: JsonMode, form: dict[str, Any], name: str) -> dict[str, Any]:
    if mode == "schema":
        return {"type": "json_schema", "json_schema": {"name": name, "schema": form}}
    return {"type": "json_object"} if mode == "object" else {"type": "json_object", "schema": form}


def _reply(body: bytes, secrets: Redactor) -> Reply:
    """The reply in the body of a completion, without secrets. Parts of a wrong type are left out.

    Raises:
        ValueError: If there is no message; some servers answer an error with status 200.
    """
    try:
        completion = json.loads(body)
    except RecursionError:
        raise ValueError("the reply nests too deeply") from None
    choice = _at(_at(completion, "choices"), 0)
    message = _at(choice, "message")
    if not isinstance(message, dict):
        raise ValueError(f"no message in it: {secrets.text(body.decode(errors='replace'))[:200]}")
    usage = _at(completion, "usage")
    return Reply(
        text=secrets.text(_content(_at(message, "content"), secrets)),
        calls=tuple(_calls(secrets.value(_at(message, "tool_calls")))),
        input_tokens=_count(_at(usage, "prompt_tokens")),
        output_tokens=_count(_at(usage, "completion_tokens")),
        finish="length" if _at(choice, "finish_reason") == "length" else "stop",
    )


def _message(body: bytes) -> str:
    """The message in the body of an error, on one line; of a page, its title."""
    try:
        message = _at(_at(json.loads(body), "error"), "message")
    except (ValueError, RecursionError):
        title = re.search(rb"<title>(.*?)</title>", body, re.IGNORECASE | re.DOTALL)
        message = title[1].decode(errors="replace") if title else None
    return " ".join(message.split()) if isinstance(message, str) else _line(body, _MAX_BODY)


def _line(body: bytes, most: int) -> str:
    """The beginning of a body, on one line."""
    return " ".join(body.decode(errors="replace").split())[:most]


def _at(value: Any, key: str | int) -> Any:
    """The value at a key or an index; None if there is none."""
    if isinstance(value, dict) and isinstance(key, str):
        return cast(dict[str, Any], value).get(key)
    if isinstance(value, list) and isinstance(key, int) and len(cast(list[Any], value)) > key:
        return cast(list[Any], value)[key]
    return None


def _content(content: Any, secrets: Redactor) -> str:
    """The content as text: the texts of its parts, with `?` for lone surrogates."""
    if isinstance(content, list):
        texts = [part if isinstance(part, str) else _at(part, "text") for part in cast(list[Any], content)]
        content = "".join(text for text in texts if isinstance(text, str))
    if content is None:
        return ""
    if not isinstance(content, str):
        raise ValueError(f"the reply's content is no text: {secrets.text(str(content))[:100]}")
    return content.encode("utf-8", "replace").decode()


def _count(tokens: Any) -> int | None:
    """A token count as reported; None if it is no plausible count."""
    return tokens if type(tokens) is int and 0 <= tokens < 10_000_000 else None


def _calls(raw: Any) -> list[ToolCall]:
    """The native tool calls; a call without a name or with arguments that are no JSON object is left out."""
    calls: list[ToolCall] = []
    for call in cast(list[Any], raw) if isinstance(raw, list) else []:
        name, raw_args = _at(_at(call, "function"), "name"), _at(_at(call, "function"), "arguments")
        try:
            args = clean(json.loads(raw_args) if isinstance(raw_args, str) and raw_args else raw_args or {})
        except (ValueError, CaseError, RecursionError):
            continue
        if isinstance(args, dict) and isinstance(name, str) and name:
            calls.append(ToolCall(tool=name, args=cast(dict[str, Any], args)))
    return calls


def _retry_after(header: str | None) -> float | None:
    """The seconds in a `Retry-After` header, which has a number or a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None
