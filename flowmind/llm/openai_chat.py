"""The OpenAI-compatible client: vLLM is a base URL. The openai package is imported here and nowhere else."""

from __future__ import annotations

import asyncio
import json
import random
import time
from email.utils import parsedate_to_datetime
from typing import Any, Literal, cast

import openai

from flowmind.errors import ModelFailure, ModelUnavailable
from flowmind.graph_tools import FINISH
from flowmind.llm.models import Endpoint, ModelInfo, find
from flowmind.protocols import ChatRequest, Reply
from tools_registry.runtime import CaseError, clean
from tools_registry.spec import ToolCall

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


class OpenAIChat:
    """A model behind any OpenAI-compatible endpoint.

    Args:
        model: The name that the server knows.
        base_url: Where it answers; without one, `OPENAI_BASE_URL` or OpenAI's own.
        api_key: Without one, `OPENAI_API_KEY`.
        concurrency: Requests at once.
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
        concurrency: int = 8,
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
        self._model = model
        self._info = info or find(model)
        self._json_mode: JsonMode = json_mode
        self._native_tools = native_tools
        self._deadline = deadline
        self._attempts = attempts
        self._backoff = backoff
        self._jitter = random.Random(0)
        self._concurrency = concurrency
        self._options: dict[str, Any] = {
            "base_url": base_url,
            "api_key": api_key,
            "max_retries": 0,
            "timeout": openai.Timeout(timeout, connect=min(10.0, timeout)),
        }
        self._retired: list[openai.AsyncOpenAI] = []
        """Clients of event loops that have ended: they can be neither used nor closed, and must not be collected
        while another loop runs."""
        self._open: tuple[asyncio.AbstractEventLoop, openai.AsyncOpenAI, asyncio.Semaphore] | None = None

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
        body = self._body(request)
        client, gate = self._connect()
        attempt, problem = 0, ""
        async with gate:
            ends = time.monotonic() + self._deadline
            for attempt in range(1, self._attempts + 1):
                try:
                    async with asyncio.timeout(max(0.001, ends - time.monotonic())):
                        raw = cast(Any, await client.chat.completions.with_raw_response.create(**body))
                        return _reply(raw.text)
                except openai.APIStatusError as error:
                    problem, wait = self._status(error), _retry_after(error.response.headers.get("retry-after"))
                except TimeoutError:
                    raise ModelFailure(f"no reply from {self.name} within {self._deadline:g} s") from None
                except (openai.OpenAIError, OSError, ValueError) as error:
                    problem, wait = f"{type(error).__name__}: {error}", None
                pause = self._pause(attempt) if wait is None else min(wait, 60.0)
                if attempt == self._attempts or time.monotonic() + pause > ends:
                    break
                await asyncio.sleep(pause)
        raise ModelFailure(f"{self.name} failed {attempt} times, last with {problem[:300]}")

    def _connect(self) -> tuple[openai.AsyncOpenAI, asyncio.Semaphore]:
        """The connections of this event loop: those of a loop that has ended cannot be used again."""
        loop = asyncio.get_running_loop()
        if self._open is None or self._open[0] is not loop:
            try:
                client = openai.AsyncOpenAI(**self._options)
            except openai.OpenAIError as error:
                raise ModelUnavailable(f"{self.name}: {error}") from None
            if self._open is not None:
                self._retired.append(self._open[1])
            self._open = loop, client, asyncio.Semaphore(self._concurrency)
        return self._open[1], self._open[2]

    async def aclose(self) -> None:
        """Closes the connections of this event loop."""
        if self._open is not None and self._open[0] is asyncio.get_running_loop():
            await self._open[1].close()
            self._open = None

    def _pause(self, attempt: int) -> float:
        return min(20.0, self._backoff * 2 ** (attempt - 1)) * self._jitter.uniform(0.8, 1.2)

    def _status(self, error: openai.APIStatusError) -> str:
        """What a status means: try again (the problem is returned), this request is wrong, or nothing works."""
        code = error.status_code
        text = f"HTTP {code}: {str(error)[:300]}"
        if code in (401, 403):
            raise ModelUnavailable(f"{self.name}: the server refuses the API key ({code})") from None
        if code == 404:
            raise ModelUnavailable(f"{self.name}: the server knows no such model or path ({code})") from None
        if code not in _RETRIED and code < 500:
            raise ModelFailure(f"{self.name}: {text}") from None
        return text

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [message.model_dump() for message in request.messages],
        }
        if self._info.reasoning:
            body["max_completion_tokens"] = request.max_tokens
        else:
            body |= {"max_tokens": request.max_tokens, "temperature": request.temperature}
            if request.stop:
                body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        if self._info.extra_body:
            body["extra_body"] = self._info.extra_body
        if self._native_tools and request.reply == "action":
            body["tools"] = _native(request)
        elif (form := _FORMS.get(request.reply)) and self._json_mode != "off":
            body["response_format"] = _response_format(self._json_mode, form, request.reply)
        return body


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


def _reply(body: str) -> Reply:
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
        raise ValueError(f"no message in the reply: {body[:200]}")
    usage = _at(completion, "usage")
    return Reply(
        text=_content(_at(message, "content")),
        calls=tuple(_calls(_at(message, "tool_calls"))),
        input_tokens=_count(_at(usage, "prompt_tokens")),
        output_tokens=_count(_at(usage, "completion_tokens")),
        finish="length" if _at(choice, "finish_reason") == "length" else "stop",
    )


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
