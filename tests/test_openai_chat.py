"""The OpenAI-compatible client and the search for its server, over a real server that misbehaves."""

from __future__ import annotations

import asyncio
import base64
import gc
import gzip
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import forked
import pytest
from tiny import tiny_benchmark

from flowmind.base.errors import ModelFailure, ModelUnavailable
from flowmind.llm.faulty_server import Fault, FaultyServer
from flowmind.llm.limiting import AdaptiveLimit, Limit
from flowmind.llm.models import reach
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.llm.testing import completion
from flowmind.protocols import Brief, ChatRequest, Episode, Message, Reply
from tools_registry.sandbox.functions import spec_of
from tools_registry.specs.spec import ToolCall, ToolSpec

HELLO = ChatRequest(messages=(Message(role="system", content="Be brief."), Message(role="user", content="Hi")))
FINE = Reply(text="fine", input_tokens=10, output_tokens=5)

Answer = Callable[[int, dict[str, Any]], Fault | str]


def ask(answer: Answer | Fault, request: ChatRequest = HELLO, **options: Any) -> tuple[Reply, int]:
    """A reply, and how many requests it took."""
    settings: dict[str, Any] = {"timeout": 5.0, "deadline": 20.0, "attempts": 3, "backoff": 0.001, **options}

    async def converse(url: str) -> Reply:
        chat = OpenAIChat("m", url, "key", **settings)
        try:
            return await chat.complete(request)
        finally:
            await chat.aclose()

    with FaultyServer(answer if callable(answer) else lambda number, body: answer) as server:
        try:
            return asyncio.run(converse(server.url)), len(server.requests)
        except (ModelFailure, ModelUnavailable) as error:
            error.add_note(f"{len(server.requests)} requests")
            raise


def refused(answer: Answer | Fault, kind: type[Exception], match: str, **options: Any) -> int:
    """How many requests it took to fail with this error."""
    with pytest.raises(kind, match=match) as caught:
        ask(answer, **options)
    return int(caught.value.__notes__[-1].split()[0])


def first(fault: Fault) -> Answer:
    """The fault for the first request, a good reply after it."""
    return lambda number, body: fault if number == 0 else "fine"


def changed(message: dict[str, Any] | None = None, **fields: Any) -> Fault:
    """A good completion with some of its fields changed."""
    body = json.loads(completion("hello", {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}))
    body["choices"][0]["message"] |= message or {}
    return Fault(body=json.dumps(body | fields))


def sent(request: ChatRequest, model: str = "m", **options: Any) -> dict[str, Any]:
    """The body that a request becomes."""

    async def converse(url: str) -> None:
        chat = OpenAIChat(model, url, "key", **options)
        await chat.complete(request)
        await chat.aclose()

    with FaultyServer(lambda number, body: "fine") as server:
        asyncio.run(converse(server.url))
        return server.requests[0]


def test_a_good_reply_comes_with_its_usage() -> None:
    assert ask(lambda number, body: "fine") == (FINE, 1)


def test_the_episode_of_a_request_is_not_sent() -> None:
    episode = Episode(brief=Brief(stage="execute", task="Hi", query="Say hello."))
    assert sent(HELLO.model_copy(update={"episode": episode})) == sent(HELLO)


def test_a_request_carries_messages_limits_and_seed() -> None:
    request = HELLO.model_copy(update={"stop": ("\nObservation",), "max_tokens": 9, "seed": 4, "temperature": 0.5})
    assert sent(request) == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "max_tokens": 9,
        "temperature": 0.5,
        "stop": ["\nObservation"],
        "seed": 4,
    }


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(429, '{"error": {"message": "slow down"}}', {"Retry-After": "0.01"}), id="429 seconds"),
        pytest.param(Fault(429, "", {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), id="429 past date"),
        pytest.param(Fault(429, "", {"Retry-After": "soon"}), id="429 nonsense"),
        pytest.param(Fault(408), id="408"),
        pytest.param(Fault(500, "boom"), id="500"),
        pytest.param(Fault(503, "<html>down</html>", {"Content-Type": "text/html"}), id="503 page"),
        pytest.param(Fault(body=completion("hello"), cut=True), id="cut body"),
        pytest.param(Fault(body=completion("hello"), cut=True, chunked=True), id="cut stream"),
        pytest.param(Fault(drop=True), id="dropped connection"),
        pytest.param(Fault(body="hello", headers={"Content-Encoding": "gzip"}), id="no gzip"),
        pytest.param(Fault(307, headers={"Location": "http://127.0.0.1:1/"}), id="dead end"),
        pytest.param(Fault(body='{"id": "c", "choi'), id="invalid JSON"),
        pytest.param(Fault(), id="empty body"),
        pytest.param(Fault(body="<html>hello</html>", headers={"Content-Type": "text/html"}), id="200 page"),
        pytest.param(Fault(body='{"error": {"message": "overloaded", "code": 500}}'), id="200 error"),
        pytest.param(changed(choices=[]), id="no choices"),
    ],
)
def test_what_passes_is_tried_again(fault: Fault) -> None:
    assert ask(first(fault)) == (FINE, 2)


@pytest.mark.parametrize(
    "body",
    [
        changed(choices=None),
        changed(choices="hello"),
        changed(choices={"0": "hello"}),
        changed(choices=[None]),
        changed(choices=["hello"]),
        changed(choices=[{}]),
        changed(choices=[{"message": "hello"}]),
        changed({"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]}),
        changed({"content": ["he", "llo"]}),
        Fault(body="[]"),
        Fault(body="null"),
        Fault(body=b'{"choices": "\xff"}'),
    ],
    ids=[
        "null", "text", "object", "null choice", "text choice", "empty choice", "text message", "odd call",
        "odd content", "array", "null body", "no utf-8",
    ],
)  # fmt: skip
def test_a_body_of_any_shape_is_a_reply_or_a_failure(body: Fault) -> None:
    try:
        reply, _ = ask(body, attempts=2)
    except ModelFailure:
        return
    assert (reply.text, reply.output_tokens) == ("hello", 3)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(body=completion("hello", {"prompt_tokens": 7, "completion_tokens": 3}), chunked=True),
        Fault(
            body=gzip.compress(completion("hello", {"prompt_tokens": 7, "completion_tokens": 3}).encode()),
            headers={"Content-Encoding": "gzip"},
        ),
        Fault(
            body=completion("hello", {"prompt_tokens": 7, "completion_tokens": 3}),
            headers={"Content-Type": "text/plain; charset=latin-1"},
        ),
    ],
    ids=["chunked", "gzip", "odd type"],
)
def test_a_completion_is_read_however_it_is_sent(fault: Fault) -> None:
    assert ask(fault) == (Reply(text="hello", input_tokens=7, output_tokens=3), 1)


def test_a_redirect_is_followed() -> None:
    def answer(number: int, body: dict[str, Any]) -> Fault | str:
        return Fault(307, headers={"Location": "/elsewhere"}) if number == 0 else "fine"

    assert ask(answer, attempts=1) == (FINE, 2)


@pytest.mark.parametrize("fault", [Fault(500, "boom"), Fault(body="not json"), Fault(429)])
def test_a_fault_that_stays_is_a_failure_after_all_attempts(fault: Fault) -> None:
    assert refused(fault, ModelFailure, "m failed 4 times", attempts=4) == 4


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_wrong_request_is_not_tried_again(status: int) -> None:
    body = '{"error": {"message": "too long"}}'
    assert refused(Fault(status, body), ModelFailure, f"HTTP {status}.*too long") == 1


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
        "Requested tokens (9034) exceed context window of 8192",
        "the request exceeds the available context size, try increasing it",
    ],
)
def test_a_request_that_is_longer_than_the_context_is_answered_so(message: str) -> None:
    reply, requests = ask(first(Fault(400, json.dumps({"error": {"message": message}}))))
    assert (reply, requests) == (Reply(text=message, finish="context"), 1)


@pytest.mark.parametrize(("status", "reason"), [(401, "API key"), (403, "API key"), (404, "no such model")])
def test_a_server_that_cannot_serve_at_all_is_unavailable(status: int, reason: str) -> None:
    assert refused(Fault(status, "{}"), ModelUnavailable, reason) == 1


REFUSED = """
import asyncio, sys
from flowmind import ChatRequest, ExecuteSummarize, Message, ModelUnavailable, OpenAIChat

def double(n: int) -> int:
    '''Double a number.'''
    return 2 * n

async def four_at_once(model):
    request = ChatRequest(messages=(Message(role="user", content="Hi"),))
    return await asyncio.gather(*(model.complete(request) for _ in range(4)))

model = OpenAIChat("m", base_url=sys.argv[1])
for ask in (
    lambda: asyncio.run(four_at_once(model)),
    lambda: ExecuteSummarize([double], model).run("Double n.", [({"n": 1}, 2)]),
):
    try:
        ask()
    except ModelUnavailable as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (401, "m: the server refuses the API key (HTTP 401: sorry, ...); set OPENAI_API_KEY"),
        (
            404,
            "m: the server knows no such model or path (HTTP 404: sorry, ...); "
            "check the model's name and the base URL ",
        ),
    ],
)
def test_a_refusal_is_one_line_and_leaves_no_other_output(status: int, line: str, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    environment["OPENAI_API_KEY"] = "a-secret"
    (tmp_path / "refused_twice.py").write_text(REFUSED)
    command = ("flowmind.cli", "exp", "--model", "m", "--limit", "4", "--concurrency", "4", "--out")
    with FaultyServer(lambda number, body: Fault(status, '{"error": {"message": "sorry, a-secret"}}')) as server:
        script, run = (
            forked.run(*words, env=environment, cwd=tmp_path)
            for words in (
                ("refused_twice", server.url),
                (*command, tmp_path / "run", "--bench", tiny_benchmark(tmp_path / "bench"), "--base-url", server.url),
            )
        )
        assert all(headers["authorization"] == "Bearer a-secret" for _, headers in server.heads)
        line += server.url if status == 404 else ""
    assert (script.stdout.decode().splitlines(), script.stderr) == ([line, line], b"")
    assert (run.returncode, run.stdout) == (2, b"")
    told = run.stderr.decode()
    assert told.splitlines()[-1].startswith(f"flowmind: {line}; {tmp_path}/run keeps what is complete, ")
    assert "Traceback" not in told and "never retrieved" not in told


def test_a_wait_that_goes_past_the_deadline_is_not_waited_for() -> None:
    late = "failed once, with HTTP 429.*; the server asks to wait 50 s; the time of a reply ends after 20 s"
    assert refused(Fault(429, "", {"Retry-After": "50"}), ModelFailure, late, deadline=20.0) == 1


def test_a_fault_that_stays_is_named_with_what_the_server_said_on_one_line() -> None:
    fault = Fault(500, '{"error": {"message": "out of\\nmemory"}}')
    refused(fault, ModelFailure, "failed 2 times, last with HTTP 500: out of memory", attempts=2)
    refused(Fault(drop=True), ModelFailure, "last with ServerDisconnectedError: ", attempts=2)
    refused(Fault(delay=60.0), ModelFailure, "last with no reply within 0.1 s", attempts=2, timeout=0.1)


def test_a_stalled_server_runs_into_the_timeout() -> None:
    assert ask(first(Fault(delay=60.0)), timeout=0.2) == (FINE, 2)


def test_the_deadline_ends_a_request_in_the_middle_of_an_attempt() -> None:
    assert refused(Fault(delay=60.0), ModelFailure, "no reply from m within 0.2 s", deadline=0.2) == 1


def test_a_refused_connection_is_a_failure() -> None:
    async def converse() -> None:
        chat = OpenAIChat("m", f"http://127.0.0.1:{closed_port()}/v1", "key", attempts=2, backoff=0.001)
        with pytest.raises(ModelFailure, match="failed 2 times"):
            await chat.complete(HELLO)
        await chat.aclose()

    asyncio.run(converse())


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None}, ""),
        ({"content": [{"type": "text", "text": "he"}, {"type": "text", "text": "llo"}]}, "hello"),
        ({"content": [{"type": "text", "text": None}]}, ""),
        ({"content": "  {} \n"}, "  {} \n"),
    ],
    ids=["null", "parts", "null part", "spaces kept"],
)
def test_content_becomes_text(message: dict[str, Any], text: str) -> None:
    assert ask(changed(message))[0] == Reply(text=text, input_tokens=7, output_tokens=3)


def test_half_an_emoji_in_a_reply_becomes_text_that_can_be_written() -> None:
    reply, _ = ask(changed({"content": "half \ud83d"}))
    assert reply.text.encode("utf-8").startswith(b"half ")


@pytest.mark.parametrize(
    "usage",
    [None, "many", {"prompt_tokens": -1, "completion_tokens": -5}, {"completion_tokens": "3"}, {}],
)
def test_usage_that_is_missing_or_nonsense_is_not_reported(usage: Any) -> None:
    assert ask(changed(usage=usage))[0] == Reply(text="hello", input_tokens=None, output_tokens=None)


def test_a_reply_that_was_cut_off_says_so() -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "he"}, "finish_reason": "length"}
    assert ask(changed(choices=[choice]))[0].finish == "length"


def test_no_more_requests_are_open_at_once_than_allowed() -> None:
    lock, pair = threading.Lock(), threading.Barrier(2, timeout=20.0)
    open_now = 0
    most = 0

    def answer(number: int, body: dict[str, Any]) -> str:
        nonlocal open_now, most
        with lock:
            open_now += 1
            most = max(most, open_now)
        pair.wait()
        threading.Event().wait(0.03)
        with lock:
            open_now -= 1
        return str(number)

    async def converse(url: str) -> list[Reply]:
        chat = OpenAIChat("m", url, "key", concurrency=2)
        replies = await asyncio.gather(*(chat.complete(HELLO) for _ in range(6)))
        await chat.aclose()
        return replies

    with FaultyServer(answer) as server:
        replies = asyncio.run(converse(server.url))
    assert sorted(reply.text for reply in replies) == ["0", "1", "2", "3", "4", "5"]
    assert most == 2


def test_one_client_serves_two_event_loops_one_after_the_other() -> None:
    complaints: list[str] = []

    async def converse(chat: OpenAIChat) -> Reply:
        handler = asyncio.get_running_loop().set_exception_handler
        handler(lambda loop, context: complaints.append(context["message"]))
        reply = await chat.complete(HELLO)
        await chat.aclose()
        gc.collect()
        return reply

    with FaultyServer(lambda number, body: "fine") as server:
        chat = OpenAIChat("m", server.url, "key", attempts=1)
        assert [asyncio.run(converse(chat)) for _ in range(2)] == [FINE, FINE]
    assert complaints == []


def test_a_client_needs_no_closing_where_its_event_loop_ends() -> None:
    complaints: list[str] = []

    async def converse(chat: OpenAIChat) -> Reply:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context["message"]))
        return await chat.complete(HELLO)

    with FaultyServer(lambda number, body: "fine") as server:
        chat = OpenAIChat("m", server.url, "key", attempts=1)
        assert [asyncio.run(converse(chat)) for _ in range(2)] == [FINE, FINE]
        del chat
        gc.collect()
    assert complaints == []


async def say(url: str | None, times: int = 1, **options: Any) -> OpenAIChat:
    """Asks one after the other."""
    chat = OpenAIChat("m", url, attempts=1, **options)
    for _ in range(times):
        await chat.complete(HELLO)
    await chat.aclose()
    return chat


def test_connections_are_kept_between_requests() -> None:
    with FaultyServer(lambda number, body: "fine") as server:
        asyncio.run(say(server.url, 5, api_key="key"))
        assert (len(server.requests), server.connections) == (5, 1)


def test_sixty_four_requests_are_open_at_once() -> None:
    meeting = threading.Barrier(64, timeout=30.0)

    def answer(number: int, body: dict[str, Any]) -> str:
        meeting.wait()
        return "fine"

    async def converse(url: str) -> list[Reply]:
        chat = OpenAIChat("m", url, "key", concurrency=64, attempts=1)
        replies = await asyncio.gather(*(chat.complete(HELLO) for _ in range(64)))
        await chat.aclose()
        return replies

    with FaultyServer(answer) as server:
        assert asyncio.run(converse(server.url)) == [FINE] * 64


@pytest.mark.parametrize("fault", [Fault(429), Fault(503), Fault(drop=True), Fault(delay=60.0)])
def test_an_adaptive_limit_hears_of_overload(fault: Fault) -> None:
    limit = AdaptiveLimit(start=8)
    assert ask(first(fault), concurrency=limit, timeout=0.3) == (FINE, 2)
    assert (limit.current, limit.in_flight) == (4, 0)


@pytest.mark.parametrize("fault", [Fault(500), Fault(body="not json"), changed(choices=[])])
def test_an_adaptive_limit_does_not_mind_other_faults(fault: Fault) -> None:
    limit = AdaptiveLimit(start=8)
    assert ask(first(fault), concurrency=limit) == (FINE, 2)
    assert limit.current == 8


def test_an_adaptive_limit_lets_more_requests_in_while_that_helps() -> None:
    async def converse(url: str) -> None:
        chat = OpenAIChat("m", url, "key", concurrency=limit)
        await asyncio.gather(*(chat.complete(HELLO) for _ in range(40)))
        await chat.aclose()

    ticks = iter(range(1_000))
    limit = AdaptiveLimit(start=2, most=8, clock=lambda: float(next(ticks)))
    with FaultyServer(lambda number, body: "fine") as server:
        asyncio.run(converse(server.url))
        assert len(server.requests) == 40
    assert limit.current == 4


def test_two_clients_may_share_a_limit() -> None:
    limit = Limit(1)
    together = threading.Lock()

    def answer(number: int, body: dict[str, Any]) -> str:
        assert together.acquire(blocking=False)
        threading.Event().wait(0.01)
        together.release()
        return "fine"

    async def converse(url: str) -> list[Reply]:
        chats = [OpenAIChat("m", url, "key", concurrency=limit, attempts=1) for _ in range(2)]
        replies = await asyncio.gather(*(chat.complete(HELLO) for chat in chats * 3))
        await asyncio.gather(*(chat.aclose() for chat in chats))
        return replies

    with FaultyServer(answer) as server:
        assert asyncio.run(converse(server.url)) == [FINE] * 6


def test_address_key_and_organisation_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Team: blue\nX-Cost: 7")
    with FaultyServer(lambda number, body: "fine") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        asyncio.run(say(None))
        ((target, headers),) = server.heads
    assert target == "/v1/chat/completions"
    wanted = {
        "authorization": "Bearer from-env", "openai-organization": "org", "openai-project": "project",
        "x-team": "blue", "x-cost": "7", "content-type": "application/json", "user-agent": "flowmind",
    }  # fmt: skip
    assert {name: headers.get(name) for name in wanted} == wanted
    assert [name for name in headers if name.startswith("x-stainless")] == []


def test_an_argument_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    with FaultyServer(lambda number, body: "fine") as server:
        asyncio.run(say(f"{server.url}/", api_key="given"))
        ((target, headers),) = server.heads
    assert (target, headers["authorization"]) == ("/v1/chat/completions", "Bearer given")


def test_without_a_key_the_model_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_ADMIN_KEY", raising=False)
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        asyncio.run(say(None))


def test_a_server_at_an_address_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with FaultyServer(lambda number, body: "fine") as server:
        asyncio.run(say(server.url))
        assert len(server.heads) == 1


def test_a_password_in_the_address_goes_before_the_key() -> None:
    with FaultyServer(lambda number, body: "fine") as server:
        asyncio.run(say(server.url.replace("http://", "http://me:secret@"), api_key="key"))
        ((_, headers),) = server.heads
    assert headers["authorization"] == f"Basic {base64.b64encode(b'me:secret').decode()}"


def test_the_key_goes_before_netrc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with FaultyServer(lambda number, body: "fine") as server:
        asyncio.run(say(server.url, api_key="key"))
        ((_, headers),) = server.heads
    assert headers["authorization"] == "Bearer key"


@pytest.mark.parametrize("variable", ["http_proxy", "all_proxy"])
def test_the_proxy_of_the_environment_is_used_but_where_it_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with FaultyServer(lambda number, body: "fine") as server:
        monkeypatch.setenv(variable, server.url.removesuffix("/v1"))
        asyncio.run(say("http://models.invalid/v1", api_key="key"))
        target, headers = server.heads[0]
        assert target == "http://models.invalid/v1/chat/completions"
        assert headers["authorization"] == "Bearer key"
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        asyncio.run(say(server.url, api_key="key"))
        assert server.heads[1][0] == "/v1/chat/completions"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_a_server_without_a_trusted_certificate_is_refused(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = ["-nodes", "-keyout", key, "-out", certificate, "-days", "1", "-subj", "/CN=localhost"]
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", *words]
    subprocess.run(make, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def converse() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append(await reader.read(1))
            writer.close()

        asked: list[bytes] = []
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        async with server:
            with pytest.raises(ModelFailure, match="self-signed certificate"):
                await say(f"https://127.0.0.1:{port}/v1", api_key="key")
        assert asked == []

    asyncio.run(converse())


def double(n: int) -> int:
    """Double a number.

    Args:
        n: The number.
    """
    return 2 * n


DOUBLE: ToolSpec = spec_of(double)
WORK = HELLO.model_copy(update={"reply": "action", "tools": (DOUBLE,)})


def test_without_switches_neither_tools_nor_a_form_are_sent() -> None:
    assert {"tools", "response_format"} & set(sent(WORK)) == set()


@pytest.mark.parametrize("mode", ["object", "schema", "object-schema"])
@pytest.mark.parametrize(
    ("reply", "fields"),
    [("action", {"reasoning", "action", "action_input"}), ("plan", {"analysis", "steps"})],
)
def test_json_mode_asks_for_the_form_of_the_reply(mode: Any, reply: Any, fields: set[str]) -> None:
    form = sent(WORK.model_copy(update={"reply": reply}), json_mode=mode)["response_format"]
    assert form["type"] == ("json_schema" if mode == "schema" else "json_object")
    held = {
        "object": None,
        "schema": form.get("json_schema", {}).get("schema"),
        "object-schema": form.get("schema"),
    }
    if held[mode] is None:
        assert form == {"type": "json_object"}
    else:
        assert (set(held[mode]["properties"]), set(held[mode]["required"])) == (fields, fields)


def test_json_mode_leaves_plain_text_alone() -> None:
    assert "response_format" not in sent(HELLO, json_mode="schema")


def test_native_tools_send_the_schemas_and_a_finish_of_its_own() -> None:
    tools = sent(WORK, native_tools=True)["tools"]
    assert tools[0] == DOUBLE.openai()
    assert [tool["function"]["name"] for tool in tools] == ["double", "finish"]
    assert tools[1]["function"]["parameters"]["required"] == ["answer"]


def test_native_tools_do_not_touch_a_plan() -> None:
    assert "tools" not in sent(WORK.model_copy(update={"reply": "plan"}), native_tools=True)


def test_native_calls_are_read_and_broken_arguments_left_out() -> None:
    good = {"id": "1", "type": "function", "function": {"name": "double", "arguments": '{"n": 2}'}}
    broken = {"id": "2", "type": "function", "function": {"name": "double", "arguments": '{"n": '}}
    reply, _ = ask(changed({"content": None, "tool_calls": [broken, good]}), WORK, native_tools=True)
    assert (reply.text, reply.calls) == ("", (ToolCall(tool="double", args={"n": 2}),))


def closed_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


@contextmanager
def listing(status: int, body: str) -> Iterator[str]:
    """A server that answers every GET alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


def silent(number: int, body: dict[str, Any]) -> str:
    raise AssertionError("only the list of models is asked for")


def test_a_model_is_found_under_its_own_name_or_under_what_its_server_calls_it() -> None:
    with FaultyServer(silent, models=("other", "Qwen/Qwen3-8B")) as server:
        found = reach("qwen3-8b", f"{server.url}/")
        assert (found.info.name, found.served_name, found.base_url) == (
            "qwen3-8b",
            "Qwen/Qwen3-8B",
            server.url,
        )
        assert reach("other", server.url).served_name == "other"


def test_a_client_at_an_endpoint_bears_the_models_name_and_asks_for_the_servers() -> None:
    async def converse(chat: OpenAIChat) -> None:
        await chat.complete(HELLO)
        await chat.aclose()

    with FaultyServer(lambda number, body: "fine", models=("Qwen/Qwen3-8B",)) as server:
        chat = OpenAIChat.at(reach("qwen3-8b", server.url))
        asyncio.run(converse(chat))
        body = server.requests[0]
    assert (chat.name, body["model"]) == ("qwen3-8b", "Qwen/Qwen3-8B")
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


def test_a_reasoning_model_gets_neither_temperature_nor_stop() -> None:
    body = sent(HELLO.model_copy(update={"stop": ("\nObservation",), "max_tokens": 9}), "gpt-5")
    assert body["max_completion_tokens"] == 9
    assert {"max_tokens", "temperature", "stop"} & set(body) == set()


def test_a_wrong_name_is_answered_with_the_names_that_are_served() -> None:
    with (
        FaultyServer(silent, models=("llama-a", "llama-b")) as server,
        pytest.raises(ModelUnavailable, match="serves llama-a, llama-b"),
    ):
        reach("llama", server.url)


@pytest.mark.parametrize(("name", "advice"), [("qwen3-8b", "vllm serve Qwen/Qwen3-8B"), ("mine", "OPENAI_BASE_URL")])
def test_a_closed_port_is_one_line_that_says_how_to_reach_the_model(name: str, advice: str) -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    with pytest.raises(ModelUnavailable, match=advice) as caught:
        reach(name, url)
    assert url in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_refuses_the_key_is_named(status: int) -> None:
    with (
        listing(status, "{}") as url,
        pytest.raises(ModelUnavailable, match=f"refuses the OPENAI_API_KEY .{status}"),
    ):
        reach("mine", url)


def test_a_server_without_a_list_of_models_is_taken_at_its_word() -> None:
    with listing(404, "not found") as url:
        assert reach("mine", url).served_name == "mine"


@pytest.mark.parametrize("body", ["<html>", "", "[]", "null", '{"data": null}', '{"data": 3}'])
def test_a_page_that_is_no_list_of_models_makes_no_traceback(body: str) -> None:
    with listing(200, body) as url:
        try:
            assert reach("mine", url).served_name == "mine"
        except ModelUnavailable as error:
            assert url in str(error)


def test_the_address_of_an_unknown_model_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelUnavailable, match="set OPENAI_BASE_URL"):
        reach("mine")
    with FaultyServer(silent, models=("mine",)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert reach("mine").base_url == server.url


def test_openai_itself_is_not_asked_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        reach("gpt-4.1")
