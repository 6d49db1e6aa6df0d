"""Several servers of one model: each case has its own, another one when that fails, and its own again."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_robustness import left
from tiny import NUMBERS, Row, called, capable, records, task_in, tiny_benchmark, told_last

from experiments.options import RunOptions
from experiments.services import Services
from flowmind.base.errors import InputError, ModelFailure, ModelUnavailable
from flowmind.llm.faulty_server import Fault, FaultyServer
from flowmind.llm.limiting import AdaptiveLimit, JointLimit, Limit
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.llm.replicas import Replicas, order_of, reach_all, require_equal
from flowmind.protocols import ChatRequest, Message

CASES = [f"case_{number}" for number in range(2_000)]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_benchmark(tmp_path_factory.mktemp("tiny") / "bench")


@pytest.fixture(scope="module")
def alone(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one server."""
    run = tmp_path_factory.mktemp("alone") / "run"
    with FaultyServer(lambda number, body: capable(body)) as server:
        assert called(*words(bench, run, server)).returncode == 0
    return run


def words(bench: Path, run: Path, *servers: FaultyServer) -> list[object]:
    urls = [word for server in servers for word in ("--base-url", server.url)]
    return ["exp", "--model", "m", "--mode", "es-rr", *urls, "--bench", bench, "--out", run]


def request(text: str) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", content=text),))


@contextmanager
def serving(count: int, answer: Callable[[int, Row], Fault | str]) -> Generator[list[FaultyServer]]:
    with ExitStack() as stack:
        yield [stack.enter_context(FaultyServer(answer)) for _ in range(count)]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def client(server: FaultyServer) -> OpenAIChat:
    return OpenAIChat("m", server.url, "none", concurrency=AdaptiveLimit(), backoff=0.001, timeout=5)


# Hashing


def test_servers_have_equal_shares_and_few_cases_move() -> None:
    urls = [f"http://node{number}:8000/v1" for number in range(8)]
    first = {case: order_of(case, urls)[0] for case in CASES}
    share = len(CASES) / len(urls)
    assert all(0.8 * share < count < 1.2 * share for count in Counter(first.values()).values())
    more = {case: order_of(case, [*urls, "http://new:8000/v1"])[0] for case in CASES}
    moved = [case for case in CASES if more[case] != first[case]]
    assert {more[case] for case in moved} == {"http://new:8000/v1"}
    assert 0.8 < len(moved) / (len(CASES) / 9) < 1.2
    fewer = {case: order_of(case, urls[1:])[0] for case in CASES}
    moved = [case for case in CASES if fewer[case] != first[case]]
    assert {first[case] for case in moved} == {urls[0]}
    assert all(fewer[case] == order_of(case, urls)[1] for case in moved)
    taken = Counter(fewer[case] for case in moved)
    assert len(taken) == 7 and max(taken.values()) < 2 * len(moved) / 7
    assert all(order_of(case, urls[::-1]) == order_of(case, urls) for case in CASES[:50])


# Requests


def test_requests_of_a_case_have_one_server_and_go_on_elsewhere_while_it_fails() -> None:
    broken: set[str] = set()
    clock = Clock()

    with ExitStack() as stack:
        servers: dict[str, FaultyServer] = {}
        for name in "abc":

            def answer(number: int, body: Row, name: str = name) -> Fault | str:
                return Fault(503, "busy") if name in broken else name

            server = stack.enter_context(FaultyServer(answer))
            servers[server.url] = server
        names = dict(zip(servers, "abc", strict=True))

        async def conversation() -> None:
            replicas = Replicas({url: client(server) for url, server in servers.items()}, clock)
            homes = {case: [names[url] for url in order_of(case, list(servers))] for case in CASES[:30]}

            async def asked(case: str) -> str:
                return (await replicas.of(case).complete(request(case))).text

            for case, (home, *_) in homes.items():
                assert [await asked(case), await asked(case)] == [home, home]
            broken.add("a")
            before = len(servers[next(iter(servers))].requests)
            for case, order in homes.items():
                assert await asked(case) == next(name for name in order if name != "a")
            assert (
                len(servers[next(iter(servers))].requests) == before + 3
            )  # one request found out, with three attempts
            clock.now = 5.0
            case = next(case for case, order in homes.items() if order[0] == "a")
            await asyncio.gather(*(asked(case) for _ in range(5)))
            assert len(servers[next(iter(servers))].requests) == before + 4  # one request tried it again, once
            broken.clear()
            assert await asked(case) != "a"
            clock.now = 15.0
            assert await asked(case) == "a"
            assert {case: await asked(case) for case in homes} == {case: order[0] for case, order in homes.items()}
            await replicas.aclose()

        asyncio.run(conversation())


def test_a_request_fails_when_all_servers_fail_and_the_last_has_all_attempts() -> None:
    with serving(3, lambda number, body: Fault(500, "broken")) as servers:

        async def ask() -> None:
            replicas = Replicas({server.url: client(server) for server in servers})
            with pytest.raises(ModelFailure, match="m failed 6 times, last with HTTP 500: broken"):
                await replicas.of("case").complete(request("?"))
            assert sorted(len(server.requests) for server in servers) == [3, 3, 6]
            with pytest.raises(ModelFailure, match="m failed 6 times"):
                await replicas.of("case").complete(request("?"))
            assert sorted(len(server.requests) for server in servers) == [4, 4, 12]
            await replicas.aclose()

        asyncio.run(ask())


def test_an_invalid_request_is_not_sent_to_every_server_but_a_refused_key_is() -> None:
    status = 400
    with serving(2, lambda number, body: Fault(status, '{"error": {"message": "no"}}')) as servers:

        async def ask(error: type[Exception]) -> int:
            replicas = Replicas({server.url: client(server) for server in servers})
            with pytest.raises(error):
                await replicas.of("case").complete(request("?"))
            await replicas.aclose()
            return sum(len(server.requests) for server in servers)

        assert asyncio.run(ask(ModelFailure)) == 1
        status = 401
        assert asyncio.run(ask(ModelUnavailable)) == 3


# Reaching


def test_servers_that_do_not_answer_at_first_are_named_and_asked_later(caplog: pytest.LogCaptureFixture) -> None:
    gone = "http://127.0.0.1:9/v1"
    with FaultyServer(lambda number, body: "") as server:
        places = reach_all("m", [gone, server.url])
        assert [place.base_url for place in places] == [gone, server.url]
        assert "nothing answers at http://127.0.0.1:9/v1" in caplog.text and "work on its cases" in caplog.text
        with pytest.raises(ModelUnavailable, match=r"nothing answers at http://127\.0\.0\.1:9/v1"):
            reach_all("m", [gone])
        with pytest.raises(ModelUnavailable, match="nor does any of 2 servers answer"):
            reach_all("m", [gone, "http://127.0.0.1:10/v1"])
        with (
            FaultyServer(lambda number, body: "", models=("other",)) as other,
            pytest.raises(ModelUnavailable, match="serves other"),
        ):
            reach_all("m", [server.url, other.url])


def test_servers_of_different_versions_are_refused() -> None:
    same = {"http://a/v1": {"server_version": "1", "model": "x"}, "http://b/v1": {"server_version": "1"}}
    require_equal(same)
    with pytest.raises(InputError, match="--base-url: http://a/v1 has server_version '1', http://c/v1 has '2'; give"):
        require_equal({**same, "http://c/v1": {"server_version": "2"}})


def test_each_server_has_a_limit_of_its_own() -> None:
    urls = ("http://a/v1", "http://b/v1", "http://c/v1")
    auto, fixed = (Services(RunOptions(model="m", base_url=urls, concurrency=at), {}).limit for at in ("auto", 5))
    assert isinstance(auto, JointLimit) and len({id(limit) for limit in auto.limits}) == 3
    assert (auto.current, fixed.current, type(fixed)) == (12, 5, Limit)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("http://a", ("http://a",)),
        ("http://a, http://b", ("http://a", "http://b")),
        (["http://a", "http://b,http://c"], ("http://a", "http://b", "http://c")),
        (None, ()),
    ],
)
def test_urls_are_repeated_or_separated_by_commas(given: Any, read: tuple[str, ...]) -> None:
    options = RunOptions(model="m", base_url=given, summarize_base_url="http://s")  # type: ignore[arg-type]
    assert options.base_url == read
    assert options.urls == {"execute": read or (None,), "summarize": ("http://s",)}


# Runs


def test_a_run_on_three_servers_is_the_run_on_one(
    bench: Path, alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(3, lambda number, body: capable(body)) as servers:
        assert called(*words(bench, tmp_path / "run", *servers)).returncode == 0
        asked = [{task_in(body) for body in server.requests} for server in servers]
        monkeypatch.setenv("FLOWMIND_BASE_URL", ",".join(server.url for server in servers))
        assert called(*words(bench, tmp_path / "run")).returncode == 0
    urls = [server.url for server in servers]
    assert asked == [{id for id in NUMBERS if order_of(id, urls)[0] == url} for url in urls]
    assert sum(len(server.requests) for server in servers) == 7 * 8
    assert left(tmp_path / "run") == left(alone)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["servers"]["execute"] == {"replicas": [{"served_name": "m"}] * 3}
    assert json.loads((alone / "manifest.json").read_text())["servers"]["execute"] == {"served_name": "m"}


@pytest.mark.slow
def test_a_killed_server_loses_no_case_and_no_reply_is_paid_twice(bench: Path, alone: Path, tmp_path: Path) -> None:
    paid: Counter[str] = Counter()
    dead = threading.Event()
    killed = ""

    def answer(name: str, number: int, body: Row) -> Fault | str:
        nonlocal killed
        if number == 9 and not killed:
            killed = name
            dead.set()
        if dead.is_set() and name == killed:
            return Fault(drop=True)
        paid[json.dumps(body["messages"])] += 1
        return capable(body)

    with ExitStack() as stack:
        servers = [
            stack.enter_context(FaultyServer(lambda number, body, name=name: answer(name, number, body)))
            for name in "abc"
        ]
        done = called(*words(bench, tmp_path / "run", *servers))
    assert done.returncode == 0 and killed
    assert left(tmp_path / "run") == left(alone)
    assert len(paid) == sum(paid.values()) == 7 * 8
    assert all(row["error"] is None for row in records(tmp_path / "run"))
    assert "does not serve" in done.stderr


def test_a_run_ends_when_all_servers_are_gone(bench: Path, tmp_path: Path) -> None:
    with serving(2, lambda number, body: Fault(401, "who?")) as servers:
        done = called(*words(bench, tmp_path / "run", *servers))
    assert done.returncode == 2 and "refuses the API key" in told_last(done)
    done = called(*words(bench, tmp_path / "run", *servers))
    assert done.returncode == 2 and "nor does any of 2 servers answer" in told_last(done)


def test_the_doctor_asks_every_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer(lambda number, body: "") as server:
        monkeypatch.setenv("FLOWMIND_BASE_URL", f"{server.url}, http://127.0.0.1:9/v1")
        lines = [line for line in called("doctor").stdout.splitlines() if "endpoint" in line]
    assert len(lines) == 2
    assert f"{server.url} serves m" in lines[0] and "nothing answers at http://127.0.0.1:9/v1" in lines[1]
