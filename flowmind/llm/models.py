"""The known models, and the servers that answer for them. The command line imports this first, so it is light."""

from __future__ import annotations

import base64
import http.client
import ipaddress
import json
import logging
import os
import re
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Literal, cast

from pydantic import Field

from flowmind.base.errors import ModelUnavailable
from flowmind.llm.redaction import redactor
from tools_registry.specs.spec import Record

_MOST_JSON = 1_000_000
LOCAL_URL = "http://127.0.0.1:8000/v1"
OPENAI_URL = "https://api.openai.com/v1"


class Price(Record):
    """The price of a model in US dollars per million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)

    def of(self, input_tokens: float, output_tokens: float) -> float:
        """The price of some tokens in US dollars."""
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000


class ModelInfo(Record):
    """A known model."""

    name: str
    kind: Literal["embedded", "vllm", "openai", "endpoint"]
    served_as: tuple[str, ...] = ()
    """Names under which a server may list the model."""
    note: str = ""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Fields added to each request."""
    reasoning: bool = False
    """Whether requests use `max_completion_tokens` and have neither a temperature nor stop strings."""
    price: Price | None = None
    """The list price, without discounts for cached input or batches; None if it is not known."""


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
        # the list prices of November 2026
        ModelInfo(
            name="gpt-4.1",
            kind="openai",
            note="OpenAI API, needs OPENAI_API_KEY",
            price=Price(input=2.0, output=8.0),
        ),
        ModelInfo(
            name="gpt-5",
            kind="openai",
            note="OpenAI API, needs OPENAI_API_KEY",
            reasoning=True,
        ),
        ModelInfo(name="follow", kind="embedded", note="no language model: follows a procedure in dialogues"),
        ModelInfo(
            name="slips:0.3",
            kind="embedded",
            note="no language model: `follow` that slips in 30 % of its decisions; any rate from 0 to 1",
        ),
    )
}


class Family(Record):
    """Settings of vLLM for the models of one kind."""

    names: str
    """A regular expression for the names of such models, in lower case."""
    types: tuple[str, ...]
    """Values of `model_type` in their config.json."""
    tool_parser: str
    """The name of vLLM's parser for their tool calls."""
    reasoning_parser: str | None = None
    """The name of vLLM's parser for their thinking, if the chat template has the switch `enable_thinking`."""
    context: int
    """The default context length in tokens."""


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
    """The address of a model: the server, and the model's name there."""

    info: ModelInfo
    base_url: str = Field(repr=False)
    served_name: str
    api_key: str = Field(repr=False)


class NoAnswer(ModelUnavailable):
    """No server answers at an address."""


_SLIPS = re.compile(r"slips:(0|1|0?\.\d+|[01]\.0*)")


def find(name: str) -> ModelInfo:
    """The known model of that name. Any other name is passed as it is to the server at `OPENAI_BASE_URL`."""
    if _SLIPS.fullmatch(name):
        return KNOWN["slips:0.3"].model_copy(update={"name": name})
    return KNOWN.get(name) or ModelInfo(name=name, kind="endpoint")


def reach(name: str, base_url: str | None = None, timeout: float = 2.0) -> Endpoint:
    """Finds the server of a model and checks that it lists the model.

    Args:
        name: A known model, or a name that the server knows.
        base_url: The server's address; by default `OPENAI_BASE_URL`, or the usual address of a known model.
        timeout: Seconds to connect.

    Raises:
        ModelUnavailable: If the server does not answer, refuses the key, or lists other models, or if the model is
            embedded and has no server.
    """
    info = find(name)
    if info.kind == "embedded" and name != "search":
        raise ModelUnavailable(
            f"model {name!r} talks to users and solves no tasks; take `search` or a model of a server"
        )
    url = (base_url or os.environ.get("OPENAI_BASE_URL") or _default_url(info)).rstrip("/")
    key, shown = os.environ.get("OPENAI_API_KEY", ""), shown_url(url)
    if not _is_url(url):
        raise ModelUnavailable(f"model {name!r}: {shown!r} is no URL of a server; give one such as {LOCAL_URL}")
    if not key and url == OPENAI_URL:
        raise ModelUnavailable(f"model {name!r} needs OPENAI_API_KEY (or OPENAI_BASE_URL of another server)")
    secrets = redactor({"authorization": f"Bearer {key}"}, url)
    try:
        _require_listening(url, timeout)
        with _saying(f"model {name!r}: waiting for {shown}, which has not answered yet"):
            listed = [str(entry["id"]) for entry in model_entries(url, key, _BUSY) if "id" in entry]
    except urllib.error.HTTPError as error:
        if error.code in (401, 403):
            raise ModelUnavailable(f"model {name!r}: {shown} refuses the OPENAI_API_KEY ({error.code})") from None
        listed = []
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise ModelUnavailable(
            f"model {name!r}: {shown} answers, but not with JSON as the OpenAI API does; "
            f"the URL of the API often ends in /v1, as in {LOCAL_URL}"
        ) from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = secrets.text(str(getattr(error, "reason", None) or error))
        raise NoAnswer(f"model {name!r}: nothing answers at {shown} ({reason}); {_advice(info)}") from None
    for served in (name, *info.served_as):
        if served in listed or not listed:
            return Endpoint(info=info, base_url=url, served_name=served, api_key=key or "none")
    others = secrets.text(", ".join(listed[:5]))
    raise ModelUnavailable(f"model {name!r}: {shown} serves {others}; pass one of these as the model")


def _is_url(url: str) -> bool:
    """Whether a text is the URL of a server, whose port, if any, is a number."""
    return re.fullmatch(r"https?://([^/\s]*@)?([^/\s:@\[\]]+|\[[^/\s@]+\])(:\d*)?([/?#].*)?", url) is not None


def shown_url(url: str) -> str:
    """A URL without the user, the password and the query, which may be secret."""
    return re.sub(r"(?<=://).*@", "***@", url.partition("?")[0])


def _default_url(info: ModelInfo) -> str:
    if info.kind == "endpoint":
        message = f"model {info.name!r} is not known: set OPENAI_BASE_URL to the server that has it"
        raise ModelUnavailable(message + "; `flowmind models` lists the known ones")
    return OPENAI_URL if info.kind == "openai" else LOCAL_URL


def _advice(info: ModelInfo) -> str:
    if info.kind == "vllm":
        return f"start one with `flowmind serve {info.name}` ({info.note}), or set OPENAI_BASE_URL"
    return "check the base URL (--base-url or OPENAI_BASE_URL)"


_BUSY = 120.0
"""Seconds for the list of models. A server that is busy answers late; one that is absent refuses the connection."""
_LATE = 5.0
"""Seconds without the list of models after which a line says so."""


@contextmanager
def _saying(line: str) -> Generator[None]:
    """Warns on the log if the block takes long."""
    timer = threading.Timer(_LATE, logging.getLogger(__name__).warning, ("%s", line))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _require_listening(url: str, timeout: float) -> None:
    """Connects to a server and closes the connection, unless a proxy stands in between.

    Raises:
        OSError: If the server does not accept the connection in time.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.hostname and (is_here(parts.hostname) or parts.scheme not in urllib.request.getproxies()):
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname, port), timeout).close()


def is_here(host: str | None) -> bool:
    """Whether a host name or an address is this machine's loopback."""
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names; none for this machine.

    aiohttp can read it from the environment, but then it also prefers the password in ~/.netrc to the key.
    """
    parts = urllib.parse.urlsplit(url)
    if is_here(parts.hostname) or urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def opener(url: str) -> urllib.request.OpenerDirector:
    """Opens URLs through the proxies of the environment, but no URL of this machine."""
    here = is_here(urllib.parse.urlsplit(url).hostname)
    return urllib.request.build_opener(_Redirects, *([urllib.request.ProxyHandler({})] if here else []))


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects; the key is not sent to another server."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and request.host != req.host:
            request.remove_header("Authorization")
        return request


def get_json(url: str, timeout: float, key: str | None = None) -> Any:
    """The JSON value at a URL, of at most a million bytes. A password in the URL is sent instead of the key.

    Raises:
        OSError, ValueError, http.client.HTTPException: If there is none in time.
    """
    parts = urllib.parse.urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if at:
        name, _, password = user.partition(":")
        plain = f"{urllib.parse.unquote(name)}:{urllib.parse.unquote(password)}"
        headers = {"Authorization": f"Basic {base64.b64encode(plain.encode()).decode()}"}
    request = urllib.request.Request(parts._replace(netloc=host).geturl(), headers=headers)
    ends, body = time.monotonic() + timeout, b""
    with opener(url).open(request, timeout=timeout) as response:
        while (part := response.read1(_MOST_JSON - len(body))) and len(body) < _MOST_JSON:
            body += part
            if time.monotonic() > ends:
                raise TimeoutError(f"no whole answer within {timeout:g} s")
    return json.loads(body)


def model_entries(url: str, key: str, timeout: float) -> list[dict[str, Any]]:
    """The entries of a server's list of models; none if the answer has another form.

    Raises:
        OSError, ValueError, http.client.HTTPException: If the server gives no JSON.
    """
    body = get_json(f"{url}/models", timeout, key or "none")
    listed = cast(dict[str, Any], body).get("data") if isinstance(body, dict) else None
    entries = cast(list[Any], listed) if isinstance(listed, list) else []
    return [cast(dict[str, Any], entry) for entry in entries if isinstance(entry, dict)]
