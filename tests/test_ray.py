"""Cases in a Ray cluster: what nodes and drivers that die cost, and that the files are those of a run without Ray."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from test_durability import asked, only_what_is_not_stored, stored
from test_robustness import left
from tiny import NUMBERS, Row, called, capable, command, environment, records, tiny_benchmark, with_server

from flowmind.llm.faulty_server import FaultyServer

pytest.importorskip("ray")
CASES, AT_ONCE = 40, 8
STORE = 80_000_000


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    more = {f"task_{number}": (number + 2, 2 * number + 3) for number in range(8, CASES)}
    NUMBERS.update(more)
    yield tiny_benchmark(tmp_path_factory.mktemp("many") / "bench")
    for id in more:
        del NUMBERS[id]


@pytest.fixture(scope="module")
def local(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without Ray."""
    run = tmp_path_factory.mktemp("local") / "run"
    with FaultyServer(lambda number, body: capable(body)) as server:
        assert called(*words(server, bench, run), "--map", "local").returncode == 0
    return run


class Nodes:
    """A cluster on this machine whose nodes can be killed."""

    def __init__(self) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE}
        self._cluster: Any = Cluster(initialize_head=True, head_node_args=head)
        self.address = str(self._cluster.address)

    def add(self) -> Any:
        """A node with one CPU."""
        return self._cluster.add_node(num_cpus=1, object_store_memory=STORE)

    def kill(self, node: Any) -> None:
        """Ends the raylet of a node, and the workers that it has started, as when a machine is lost."""
        raylet = node.all_processes["raylet"][0].process.pid
        workers = children(raylet)
        for pid in (raylet, *workers):
            if alive(pid):
                os.kill(pid, signal.SIGKILL)

    def kill_one_that_works(self, *nodes: Any) -> None:
        """Ends the first of these nodes that has an actor."""
        for node in nodes:
            if any(b"_Evaluating" in command_of(pid) for pid in children(node.all_processes["raylet"][0].process.pid)):
                self.kill(node)
                return
        raise AssertionError("no node has an actor")

    def close(self) -> None:
        self._cluster.shutdown()


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in listed for child in path.read_text().split()]


def command_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes() if alive(pid) else b""


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    handler = signal.getsignal(signal.SIGTERM)
    made = Nodes()
    yield made
    made.close()
    signal.signal(signal.SIGTERM, handler)


def words(server: FaultyServer, bench: Path, run: Path) -> tuple[object, ...]:
    return *with_server(server, bench, run), "--limit", CASES, "--concurrency", AT_ONCE


class Watching:
    """A model that does something at its n-th request, and notes requests whose replies were stored already."""

    def __init__(self, run: Path, at: int, act: Callable[[], object]) -> None:
        self.run, self.at, self.act = run, at, act
        self.seen: set[str] = set()
        self.repeated = 0
        self.acted = False
        self.stored_before: list[str] = []

    def __call__(self, number: int, body: Row) -> str:
        if number == self.at:
            self.act()
            self.acted = True
        request = asked(body)
        if request in self.seen:
            self.repeated += 1
            self.stored_before += {request} & stored(self.run)
        self.seen.add(request)
        time.sleep(0.01)
        return capable(body)


def start(told: tuple[object, ...], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(command(*told), stdout=file, stderr=file, env=environment())


def require_like(run: Path, local: Path) -> None:
    """The run has each record once, and the files of the run without Ray."""
    assert len(records(run)) == len({row["id"] for row in records(run)}) == CASES
    assert left(run) == left(local)


def lose_a_node(nodes: Nodes, bench: Path, local: Path, run: Path) -> None:
    pair = nodes.add(), nodes.add()
    watching = Watching(run, 100, lambda: nodes.kill_one_that_works(*pair))
    with FaultyServer(watching) as server:
        told = (*words(server, bench, run), "--map", "ray", "--ray-address", nodes.address)
        done = start(told, run.with_suffix(".log"))
        assert done.wait(200) == 0, run.with_suffix(".log").read_text()[-2_000:]
    for node in pair:
        nodes.kill(node)
    assert watching.acted and watching.stored_before == []
    assert watching.repeated <= AT_ONCE  # the replies that were under way
    assert "Raylet is terminated" not in run.with_suffix(".log").read_text()
    require_like(run, local)


@pytest.mark.slow
def test_a_node_that_is_lost_costs_only_what_was_under_way(
    nodes: Nodes, bench: Path, local: Path, tmp_path: Path
) -> None:
    lose_a_node(nodes, bench, local, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(5))
def test_it_does_so_every_time(number: int, nodes: Nodes, bench: Path, local: Path, tmp_path: Path) -> None:
    lose_a_node(nodes, bench, local, tmp_path / "run")


@pytest.mark.slow
def test_a_node_that_joins_gets_work(nodes: Nodes, bench: Path, local: Path, tmp_path: Path) -> None:
    run, first, early = tmp_path / "run", nodes.add(), Event()
    watching = Watching(run, 40, early.set)
    with FaultyServer(watching) as server:
        told = (*words(server, bench, run), "--map", "ray", "--ray-address", nodes.address)
        done = start(told, run.with_suffix(".log"))
        assert early.wait(200)
        joined = nodes.add()
        nodes.kill(first)  # what is left can only be done by the node that joined
        assert done.wait(200) == 0, run.with_suffix(".log").read_text()[-2_000:]
    nodes.kill(joined)
    assert watching.stored_before == []
    require_like(run, local)


@pytest.mark.slow
def test_a_driver_that_is_killed_goes_on_where_it_was(bench: Path, local: Path, tmp_path: Path) -> None:
    run, started = tmp_path / "run", list[subprocess.Popen[bytes]]()
    watching = Watching(run, 100, lambda: started[0].kill())
    with FaultyServer(watching) as server:
        told = (*words(server, bench, run), "--map", "ray")
        started.append(start(told, tmp_path / "log"))
        while not (below := descendants(started[0].pid)) and started[0].poll() is None:
            time.sleep(0.1)
        assert started[0].wait(200) == -signal.SIGKILL, (tmp_path / "log").read_text()[-2_000:]
        ends = time.monotonic() + 60
        while any(map(alive, below)) and time.monotonic() < ends:  # the cluster ends with its driver
            time.sleep(0.1)
        assert not any(map(alive, below))
        with only_what_is_not_stored(server, run):
            assert start(told, tmp_path / "log").wait(200) == 0
    require_like(run, local)


def descendants(pid: int) -> list[int]:
    below = children(pid) if alive(pid) else []
    return below + [deeper for child in below if alive(child) for deeper in descendants(child)]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def one_case(bench: Path, run: Path, *more: str) -> list[str]:
    return ["exp", "--bench", str(bench), "--out", str(run), "--limit", "1", "--map", "ray", *more]


def test_a_missing_extra_is_one_line(bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = called(*one_case(bench, tmp_path / "run"))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("flowmind: --map ray needs Ray: pip install 'flowmind-es[ray]'")


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (["--ray-address", "127.0.0.1:1"], "flowmind: --ray-address 127.0.0.1:1: nothing listens there"),
        (["--ray-address", "ray://127.0.0.1:10001"], "flowmind: --ray-address ray://127.0.0.1:10001: give HOST:PORT"),
        (["--sandbox", "both"], "flowmind: --map ray: --sandbox both compares in one process"),
    ],
)
def test_what_cannot_be_is_one_line(more: list[str], line: str, bench: Path, tmp_path: Path) -> None:
    done = called(*one_case(bench, tmp_path / "run", *more))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(line)
