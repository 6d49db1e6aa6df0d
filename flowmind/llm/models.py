"""The models by name, and where each is reached. No heavy import: the command line asks this before all else."""

from __future__ import annotations

import http.client
import json
import os
import socket
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Literal, cast

from pydantic import Field

from flowmind.base.errors import ModelUnavailable
from tools_registry.specs.spec import Record

LOCAL_URL = "http://127.0.0.1:8000/v1"
OPENAI_URL = "https://api.openai.com/v1"


class ModelInfo(Record):
    """A known model."""

    name: str
    kind: Literal["embedded", "vllm", "openai", "endpoint"]
    served_as: tuple[str, ...] = ()
    """Names under which a server may list it."""
    note: str = ""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Fields added to each request."""
    reasoning: bool = False
    """Takes `max_completion_tokens`, and neither temperature nor a stop string."""


_NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}
KNOWN: dict[str, ModelInfo] = {
    info.name: info
    for info in (
        ModelInfo(name="search", kind="embedded", note="no language model: an offline search for tool sequences"),
        *(
            ModelInfo(
                name=f"qwen3-{size}",
                kind="vllm",
                served_as=(f"Qwen/Qwen3-{size.upper()}",),
                note=f"vllm serve Qwen/Qwen3-{size.upper()} --served-model-name qwen3-{size}",
                extra_body=_NO_THINKING,
            )
            for size in ("8b", "14b", "32b")
        ),
        ModelInfo(name="gpt-4.1", kind="openai", note="OpenAI API, needs OPENAI_API_KEY"),
        ModelInfo(name="gpt-5", kind="openai", note="OpenAI API, needs OPENAI_API_KEY", reasoning=True),
    )
}


class Family(Record):
    """What a server must be told of models of one kind."""

    names: str
    """A regular expression for names of such models, in lower case."""
    types: tuple[str, ...]
    """What `model_type` says in their config.json."""
    tool_parser: str
    """How vLLM reads their tool calls."""
    reasoning_parser: str | None = None
    """How it reads their thinking; models with one have a switch, `enable_thinking` of the chat template."""
    context: int
    """Tokens of a conversation that they were made for."""


FAMILIES = (
    Family(
        names=r"qwen3-\d",
        types=("qwen3", "qwen3_moe"),
        tool_parser="hermes",
        reasoning_parser="qwen3",
        context=32768,
    ),
    Family(names=r"qwen2\.5-(coder-)?\d", types=("qwen2",), tool_parser="hermes", context=32768),
)


class Endpoint(Record):
    """Where a model answers, and what it is called there."""

    info: ModelInfo
    base_url: str
    served_name: str
    api_key: str


def find(name: str) -> ModelInfo:
    """A known model, or an unknown one that is taken as it is to `OPENAI_BASE_URL`."""
    return KNOWN.get(name) or ModelInfo(name=name, kind="endpoint")


def reach(name: str, base_url: str | None = None, timeout: float = 2.0) -> Endpoint:
    """Finds the server of a model and asks it for its list of models, before anything else starts.

    Raises:
        ModelUnavailable: One line that says how to reach it.
    """
    info = find(name)
    url = (base_url or os.environ.get("OPENAI_BASE_URL") or _default_url(info)).rstrip("/")
    key = os.environ.get("OPENAI_API_KEY", "")
    if not key and url == OPENAI_URL:
        raise ModelUnavailable(f"model {name!r} needs OPENAI_API_KEY (or OPENAI_BASE_URL of another server)")
    try:
        listed = _list(url, key, timeout)
    except urllib.error.HTTPError as error:
        if error.code in (401, 403):
            raise ModelUnavailable(f"model {name!r}: {url} refuses the OPENAI_API_KEY ({error.code})") from None
        listed = []
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise ModelUnavailable(f"model {name!r}: nothing answers at {url} ({reason}); {_advice(info)}") from None
    for served in (name, *info.served_as):
        if served in listed or not listed:
            return Endpoint(info=info, base_url=url, served_name=served, api_key=key or "none")
    raise ModelUnavailable(f"model {name!r}: {url} serves {', '.join(listed[:5])}; pass one of these as the model")


def _default_url(info: ModelInfo) -> str:
    if info.kind == "endpoint":
        message = f"model {info.name!r} is not known: set OPENAI_BASE_URL to the server that has it"
        raise ModelUnavailable(message + "; `flowmind models` lists the known ones")
    return OPENAI_URL if info.kind == "openai" else LOCAL_URL


def _advice(info: ModelInfo) -> str:
    if info.kind == "vllm":
        return f"start one with `flowmind serve {info.name}` ({info.note}), or set OPENAI_BASE_URL"
    return "check OPENAI_BASE_URL"


_BUSY = 120.0
"""Seconds for the reply of a server that takes connections: some answer one request after the other."""


def _list(url: str, key: str, timeout: float) -> list[str]:
    """The models that a server lists. A server that is there may be busy, so its reply has more time."""
    parts = urllib.parse.urlsplit(url)
    near = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.hostname and (near or parts.scheme not in urllib.request.getproxies()):
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname, port), timeout).close()
    request = urllib.request.Request(f"{url}/models", headers={"Authorization": f"Bearer {key or 'none'}"})
    ask = urllib.request.build_opener(urllib.request.ProxyHandler({})).open if near else urllib.request.urlopen
    with ask(request, timeout=_BUSY) as response:
        body = json.loads(response.read(1_000_000))
    listed = cast(dict[str, Any], body).get("data") if isinstance(body, dict) else None
    entries = cast(list[Any], listed) if isinstance(listed, list) else []
    known = [cast(dict[str, Any], entry) for entry in entries if isinstance(entry, dict)]
    return [str(entry["id"]) for entry in known if "id" in entry]
