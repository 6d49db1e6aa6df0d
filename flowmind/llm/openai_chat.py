"""The OpenAI-compatible client: vLLM is a base URL.

The openai package says where requests go and what they bear, so that its arguments and environment variables mean here
what they mean everywhere; aiohttp carries them, because that takes a tenth of the time (docs/decisions/0007). In the
library, only this module imports the two.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import random
import re
import time
import urllib.parse
import urllib.request
from collections.abc import AsyncGenerator
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from flowmind.base.errors import ModelFailure, ModelUnavailable
from flowmind.llm.limiting import FixedLimit, Limit
from flowmind.llm.models import Endpoint, ModelInfo, find
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
"""How OpenAI, vLLM and both servers of llama.cpp say that a request does not fit into the model's context."""
_MAX_BODY = 10_000_000
_IDLE = 4.0
"""Seconds that an idle connection is kept: fewer than the 5 after which uvicorn, and so vLLM, closes its end."""


class _Setback(NamedTuple):
    """An attempt that may be made again."""

    problem: str
    wait: float | None = None
    """Seconds that the server asks to wait."""


class _Address(NamedTuple):
    """Where requests go, the headers they bear, and the proxy on the way."""

    url: str
    headers: dict[str, str]
    proxy: str | None


class _Open(NamedTuple):
    """The connections of an event loop, and the generator that closes them."""

    loop: asyncio.AbstractEventLoop
    holder: AsyncGenerator[aiohttp.ClientSession]
    session: aiohttp.ClientSession


class OpenAIChat:
    """A model behind any OpenAI-compatible endpoint.

    Args:
        model: The name that the server knows.
        base_url: Where it answers; without one, `OPENAI_BASE_URL` or OpenAI's own.
        api_key: Without one, `OPENAI_API_KEY`.
        concurrency: Requests at once: a number, or a limit that may adapt or be shared with other clients.
        timeout: Seconds that one attempt may take.
        deadline: Seconds that a request may take with all its attempts.
        attempts: How often a request is tried: on 408, 409, 425, 429, 5xx, timeouts, broken connections and bodies
            that are no completion, with exponential backoff, `Retry-After` heeded.
        json_mode: Ask the server to constrain replies (for ablations; it costs small models their sense).
        native_tools: Send tool schemas and read native tool calls.
        name: What tables call it, if not `model`.
        info: What else is known of the model.
        backoff: Seconds before the second attempt; they double with each.
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
        self.limit = concurrency if isinstance(concurrency, Limit) else FixedLimit(concurrency)
        """What bounds the requests in flight."""
        self._model = model
        self._info = info or find(model)
        self._json_mode: JsonMode = json_mode
        self._native_tools = native_tools
        self._timeout = timeout
        self._deadline = deadline
        self._attempts = attempts
        self._backoff = backoff
        self._jitter = random.Random(0)
        self._base_url, self._api_key = base_url, api_key
        self._open: _Open | None = None

    @classmethod
    def at(cls, endpoint: Endpoint, **options: Any) -> OpenAIChat:
        """A client for an endpoint that `models.reach` has found."""
        return cls(
            endpoint.served_name,
            endpoint.base_url,
            endpoint.api_key,
            name=endpoint.info.name,
            info=endpoint.info,
            **options,
        )

    async def complete(self, request: ChatRequest) -> Reply:
        """Answers a conversation.

        Raises:
            ModelFailure: If the request failed for good, or its deadline passed.
            ModelUnavailable: If the server has no such model or refuses the key.
        """
        body = json.dumps(self._body(request)).encode()
        last, attempt = _Setback("no attempt"), 0
        async with self.limit:
            ends = time.monotonic() + self._deadline
            for attempt in range(1, self._attempts + 1):
                result = await self._attempt(body, ends - time.monotonic())
                if isinstance(result, Reply):
                    return result
                last = result
                pause = self._pause(attempt) if last.wait is None else min(last.wait, 60.0)
                if attempt == self._attempts or time.monotonic() + pause > ends:
                    break
                await asyncio.sleep(pause)
        raise ModelFailure(f"{self.name} failed {attempt} times, last with {last.problem[:300]}")

    async def _attempt(self, body: bytes, left: float) -> Reply | _Setback:
        """Sends a request once, with so many seconds left of its deadline."""
        import aiohttp  # takes 150 ms to load: only a model that is asked loads it

        session = await self._session()
        mark = self.limit.began()
        try:
            async with (
                asyncio.timeout(min(self._timeout, left)),
                session.post(self._address.url, data=body, proxy=self._address.proxy) as response,
            ):
                content = await _body_of(response)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            self.limit.ended(mark, overloaded=True)
            if isinstance(error, aiohttp.ClientError) or not isinstance(error, TimeoutError):
                return _Setback(f"{type(error).__name__}: {error}")
            if left > self._timeout:
                return _Setback(f"no reply within {self._timeout:g} s")
            raise ModelFailure(f"no reply from {self.name} within {self._deadline:g} s") from None
        self.limit.ended(mark, overloaded=response.status in _OVERLOADED)
        if response.status in _TOO_LONG and _CONTEXT.search(said := _message(content)):
            return Reply(text=said[:300], finish="context")
        if not 200 <= response.status < 300:
            return self._status(response.status, content, response.headers.get("retry-after"))
        try:
            return _reply(content)
        except ValueError as error:
            return _Setback(f"a body that is no completion: {error}")

    async def _session(self) -> aiohttp.ClientSession:
        """The connections of this event loop: those of a loop that has ended cannot be used again."""
        loop = asyncio.get_running_loop()
        if self._open is None or self._open.loop is not loop:
            holder = _connections(self._address.headers, connect=min(10.0, self._timeout))
            self._open = _Open(loop, holder, await anext(holder))
        return self._open.session

    @cached_property
    def _address(self) -> _Address:
        import openai  # takes half a second to load

        try:
            return _address(self._base_url, self._api_key)
        except openai.OpenAIError as error:
            raise ModelUnavailable(f"{self.name}: {error}") from None

    async def aclose(self) -> None:
        """Closes the connections of this event loop."""
        if self._open is not None and self._open.loop is asyncio.get_running_loop():
            held, self._open = self._open, None
            await held.holder.aclose()

    def _pause(self, attempt: int) -> float:
        return min(20.0, self._backoff * 2 ** (attempt - 1)) * self._jitter.uniform(0.8, 1.2)

    def _status(self, code: int, content: bytes, retry_after: str | None) -> _Setback:
        """What a status means: try again, this request is wrong, or nothing works."""
        text = f"HTTP {code}: {_message(content)[:300]}"
        if code in (401, 403):
            raise ModelUnavailable(f"{self.name}: the server refuses the API key ({code})")
        if code == 404:
            raise ModelUnavailable(f"{self.name}: the server knows no such model or path ({code})")
        if code not in _RETRIED and code < 500:
            raise ModelFailure(f"{self.name}: {text}")
        return _Setback(text, _retry_after(retry_after))

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
    """Where requests go, as the openai package has it: from the arguments, or its environment variables.

    A server at an address of one's own needs no key.

    Raises:
        OpenAIError: If there is neither a key nor an address.
    """
    import openai

    if base_url or os.environ.get("OPENAI_BASE_URL"):
        api_key = api_key or os.environ.get("OPENAI_API_KEY") or "none"
    with openai.OpenAI(base_url=base_url, api_key=api_key, default_headers={"User-Agent": "flowmind"}) as client:
        url = f"{client.base_url}chat/completions"
        found = {**client.auth_headers, **client.default_headers}
    headers = {name.lower(): value for name, value in found.items() if isinstance(value, str)}
    headers = {name: value for name, value in headers.items() if not name.startswith("x-stainless-")}
    if urllib.parse.urlsplit(url).username is not None:  # the address has a password of its own
        headers.pop("authorization", None)
    return _Address(url, headers, _proxy(url))


def _proxy(url: str) -> str | None:
    """The proxy that the environment names, except to this machine itself.

    aiohttp would find it, too, but also put ~/.netrc before the key.
    """
    parts = urllib.parse.urlsplit(url)
    if _is_here(parts.hostname or "") or urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    named = urllib.request.getproxies()
    return named.get(parts.scheme) or named.get("all")


def _is_here(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _body_of(response: aiohttp.ClientResponse) -> bytes:
    """The body of a response.

    Raises:
        ValueError: If it is longer than any completion; the rest is not waited for.
    """
    try:
        await response.content.readexactly(_MAX_BODY + 1)
    except asyncio.IncompleteReadError as whole:
        return whole.partial
    response.close()
    raise ValueError(f"a body of more than {_MAX_BODY} bytes")


async def _connections(headers: dict[str, str], connect: float) -> AsyncGenerator[aiohttp.ClientSession]:
    """Gives a session and closes it afterwards.

    A generator, because an event loop that ends closes those that began in it: a client needs no `aclose` where
    `asyncio.run` stands around its use.
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


def _reply(body: bytes) -> Reply:
    """The reply in the body of a completion, whatever a server may have put there.

    Raises:
        ValueError: If it is no completion; servers answer 200 with an error object, too.
    """
    try:
        completion = json.loads(body)
    except RecursionError:
        raise ValueError("the reply nests too deeply") from None
    choice = _at(_at(completion, "choices"), 0)
    message = _at(choice, "message")
    if not isinstance(message, dict):
        raise ValueError(f"no message in it: {body[:200].decode(errors='replace')}")
    usage = _at(completion, "usage")
    return Reply(
        text=_content(_at(message, "content")),
        calls=tuple(_calls(_at(message, "tool_calls"))),
        input_tokens=_count(_at(usage, "prompt_tokens")),
        output_tokens=_count(_at(usage, "completion_tokens")),
        finish="length" if _at(choice, "finish_reason") == "length" else "stop",
    )


def _message(body: bytes) -> str:
    """What the body of an error says, on one line."""
    try:
        said = _at(_at(json.loads(body), "error"), "message")
    except (ValueError, RecursionError):
        said = None
    return " ".join((said if isinstance(said, str) else body.decode(errors="replace")).split())


def _at(value: Any, key: str | int) -> Any:
    """What stands at a key or index; None where nothing does."""
    if isinstance(value, dict) and isinstance(key, str):
        return cast(dict[str, Any], value).get(key)
    if isinstance(value, list) and isinstance(key, int) and len(cast(list[Any], value)) > key:
        return cast(list[Any], value)[key]
    return None


def _content(content: Any) -> str:
    """Content as text that can be written: the texts of its parts, halves of surrogate pairs replaced."""
    if isinstance(content, list):
        texts = [part if isinstance(part, str) else _at(part, "text") for part in cast(list[Any], content)]
        content = "".join(text for text in texts if isinstance(text, str))
    if content is None:
        return ""
    if not isinstance(content, str):
        raise ValueError(f"the reply's content is no text: {str(content)[:100]}")
    return content.encode("utf-8", "replace").decode()


def _count(tokens: Any) -> int | None:
    """A token count as reported; nonsense counts as not reported."""
    return tokens if type(tokens) is int and 0 <= tokens < 10_000_000 else None


def _calls(raw: Any) -> list[ToolCall]:
    """Native tool calls; one without a name or whose arguments are no JSON object is left out."""
    found: list[ToolCall] = []
    for call in cast(list[Any], raw) if isinstance(raw, list) else []:
        name, given = _at(_at(call, "function"), "name"), _at(_at(call, "function"), "arguments")
        try:
            args = clean(json.loads(given) if isinstance(given, str) and given else given or {})
        except (ValueError, CaseError, RecursionError):
            continue
        if isinstance(args, dict) and isinstance(name, str) and name:
            found.append(ToolCall(tool=name, args=cast(dict[str, Any], args)))
    return found


def _retry_after(header: str | None) -> float | None:
    """The seconds that a server asks to wait: a number, or a date."""
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
