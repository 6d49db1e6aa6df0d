"""Worker processes: start, isolation and end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tools_registry.sandbox import isolation, workers, zygotes
from tools_registry.sandbox.environments import Limits, LocalSandbox, ToolSource, WorkerPool
from tools_registry.sandbox.errors import SandboxUnavailable
from tools_registry.sandbox.workers import Worker
from tools_registry.specs.spec import ToolSpec

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")

ONE = "def tool():\n    return 1"
FOREVER = "def tool():\n    return sum(range(10**13))"


def untyped(source: str, name: str = "tool") -> ToolSource:
    """A tool that takes any arguments."""
    return ToolSource(spec=ToolSpec(name=name, parameters={"type": "object"}), source=source)


def value(pool: WorkerPool, source: str, **args: Any) -> Any:
    """The value of a tool, or the type of its error."""
    ((given, error),) = LocalSandbox([untyped(source)], pool).values([("tool", args)])
    return given if error is None else error[0]


def message(pool: WorkerPool, source: str) -> str:
    ((_, error),) = LocalSandbox([untyped(source)], pool).values([("tool", {})])
    assert error is not None
    return error[1]


def pid_of(pool: WorkerPool) -> int:
    with pool.borrow() as worker:
        if worker.pid is None:
            worker.start()
        assert worker.pid is not None
        return worker.pid


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def has_worked(pid: int) -> bool:
    """Whether a process has computed for 50 ms, which takes longer than its start."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]) >= 5


def is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition: Callable[[], bool]) -> bool:
    """Whether a condition becomes true within some seconds."""
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture(scope="module")
def bare() -> Iterator[WorkerPool]:
    """Workers without the language policy, which show what the process layer prevents."""
    with WorkerPool(1, Limits(seconds=2), frozenset({"language"})) as pool:
        yield pool


@pytest.fixture
def locked(bare: WorkerPool) -> WorkerPool:
    found = isolation.measure(bare)
    if "seccomp" in " ".join(found.missing()):
        pytest.skip(f"the kernel offers no filter here: {found.missing()}")
    return bare


@linux_only
def test_a_worker_that_is_killed_is_replaced_once_and_then_it_is_an_error_of_its_call() -> None:
    with LocalSandbox([untyped(FOREVER), untyped("def one():\n    return 1", "one")], pool := WorkerPool(1)) as sandbox:
        assert sandbox.values([("one", {})]) == [(1, None)]
        worker = pid_of(pool)
        zygote = parent_of(worker)
        children = Path(f"/proc/{zygote}/task/{zygote}/children")
        others = set(children.read_text().split())
        with ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(sandbox.values, [("tool", {})])
            assert until(lambda: has_worked(worker))
            os.kill(worker, signal.SIGKILL)
            assert until(lambda: bool(set(children.read_text().split()) - others))
            [replaced] = set(children.read_text().split()) - others
            assert until(lambda: has_worked(int(replaced)))
            os.kill(int(replaced), signal.SIGKILL)
            ((_, error),) = waiting.result()
        assert tuple(error) == ("crash", "the tool worker ended (SIGKILL)")
        assert sandbox.values([("one", {})]) == [(1, None)]
        assert pid_of(pool) != worker
        pool.close()


@linux_only
def test_workers_are_gone_after_close() -> None:
    with WorkerPool(2) as pool:
        sandbox = LocalSandbox([untyped(ONE)], pool)
        with pool.borrow() as first, pool.borrow() as second:
            first.start()
            second.start()
            started = [first.pid, second.pid]
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(sandbox.values, [[("tool", {})]] * 8))
    assert not any(is_running(pid) for pid in started if pid)


@linux_only
def test_a_worker_that_hit_a_limit_is_gone_too() -> None:
    with WorkerPool(1, Limits(seconds=0.5)) as pool:
        worker = pid_of(pool)
        assert value(pool, FOREVER) == "timeout"
        assert not Path(f"/proc/{worker}").exists()


HOST = """
import sys
from tools_registry.sandbox.environments import Limits, LocalSandbox, ToolSource, WorkerPool

pool = WorkerPool(1, Limits(seconds=1))
sandbox = LocalSandbox([ToolSource.parse("def tool(n: int):\\n    return sum(range(n))")], pool)
print(sandbox.values([("tool", {"n": 3})])[0][0])
with pool.borrow() as worker:
    print(worker.pid, flush=True)
sys.stdin.readline()
sandbox.values([("tool", {"n": 10**13})])
"""


@linux_only
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_a_worker_does_not_outlive_its_owner(busy: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        assert host.stdout.readline() == "3\n"
        worker = int(host.stdout.readline())
        zygote = parent_of(worker)
        if busy:
            host.stdin.write("\n")
            host.stdin.flush()
        assert is_running(worker)
        assert is_running(zygote)
        host.kill()
        host.wait()
    assert until(lambda: not is_running(worker) and not is_running(zygote))


@linux_only
def test_a_worker_dies_with_the_process_that_forked_it_and_the_next_one_has_another() -> None:
    with WorkerPool(1) as pool:
        worker = pid_of(pool)
        zygote = parent_of(worker)
        os.kill(zygote, signal.SIGKILL)
        assert until(lambda: not is_running(worker))
        assert value(pool, ONE) == 1
        assert parent_of(pid_of(pool)) != zygote


@linux_only
def test_a_forked_process_has_workers_of_its_own() -> None:
    with WorkerPool(1) as pool:
        assert value(pool, ONE) == 1
        worker = pid_of(pool)
        child = os.fork()
        if not child:
            with WorkerPool(1) as own:
                right = value(own, ONE) == 1 and parent_of(pid_of(own)) != parent_of(worker)
                own.close()
            zygotes.close_all()
            os._exit(0 if right else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert value(pool, ONE) == 1
        assert pid_of(pool) == worker


@linux_only
def test_a_worker_has_an_empty_environment_and_no_descriptors_but_its_socket(bare: WorkerPool) -> None:
    assert value(bare, "import os\ndef tool():\n    return dict(os.environ)") == {}
    entries = Path(f"/proc/{pid_of(bare)}/fd")
    assert {entry.name for entry in entries.iterdir()} == {"0", "1", "2"}
    assert {(entries / name).readlink() for name in "12"} == {Path("/dev/null")}


REACHES = {
    "a file is read": "open(path).read()",
    "a file is written": "open(path, 'w').write('x')",
    "a folder is listed": "os.listdir('/')",
    "a link is made": "os.symlink('x', path + '.link')",
    "the folder changes": "os.chdir('/')",
    "a socket": "socket.socket()",
    "a pair of sockets": "socket.socketpair()",
    "a pipe": "os.pipe()",
    "a process is forked": "os.fork()",
    "a program is run": "os.execv('/bin/true', ['true'])",
    "a program is spawned": "os.posix_spawn('/bin/true', ['true'], {})",
    "a thread": "_thread.start_new_thread(print, ())",
    "the owner is killed": "os.kill(os.getppid(), 9)",
    "another is killed": "os.kill(1, 0)",
    "memory for code": "1 / (ctypes.CDLL(None).mprotect(ctypes.c_void_p(id(path) & ~4095), 4096, 7) + 1)",
    "a descriptor in memory": "os.memfd_create('x')",
    "another user": "os.setuid(0)",
    "more than its limits": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
}


@pytest.mark.parametrize("reach", REACHES.values(), ids=REACHES.keys())
def test_without_the_language_the_kernel_refuses(reach: str, locked: WorkerPool, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("known")
    source = f"import ctypes, os, resource, socket, _thread\ndef tool(path):\n    {reach}\n    return 'reached'"
    assert value(locked, source, path=str(secret)) == "tool_error"
    assert secret.read_text() == "known"


FRAMES = {
    "a frame that is too large": r"b'\xff\xff\xff\xff'",
    "no JSON": r"b'\0\0\0\3abc'",
    "an empty frame": r"b'\0\0\0\0'",
    "not a number": r"b'\0\0\0\3NaN'",
    "a key twice": r"b'\0\0\0\x0d{\"a\":1,\"a\":2}'",
    "too deep": r"b'\0\0\0\xc8' + b'[' * 100 + b']' * 100",
    "half a character": r"b'\0\0\0\x08' + b'\"' + b'\\ud800' + b'\"'",
    "bytes that are no text": r"b'\0\0\0\2\xff\xfe'",
    "too large an integer": r"b'\0\0\1\x90' + b'9' * 400",
    "too few results": r"b'\0\0\0\2[]'",
    "another shape": r"b'\0\0\0\5[1,2]'",
    "a result of another shape": r"b'\0\0\0\6[[\"a\"]'",
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_a_reply_that_no_worker_would_send_is_a_crash_of_that_call(frame: str, bare: WorkerPool) -> None:
    source = f"import os\ndef tool():\n    os.write(0, {frame})\n    os._exit(0)"
    assert value(bare, source) == "crash"
    assert value(bare, ONE) == 1


def test_a_worker_that_ends_without_a_reply_has_failed(bare: WorkerPool) -> None:
    assert message(bare, "import os\ndef tool():\n    os._exit(0)") == "the tool worker ended (exit status 0)"


@linux_only
def test_crashes_leave_no_descriptor_and_no_process_behind(bare: WorkerPool) -> None:
    quit = "import os\ndef tool():\n    os._exit(3)"
    assert value(bare, quit) == "crash"
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(40):
        assert value(bare, quit) == "crash"
    assert len(list(Path("/dev/fd").iterdir())) == before
    zygote = parent_of(pid_of(bare))
    assert Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split() == [str(pid_of(bare))]


def test_a_worker_that_has_worked_long_is_replaced_between_two_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_BUSY_SECONDS", -1.0)
    with WorkerPool(1) as pool:
        assert value(pool, ONE) == 1
        first = pid_of(pool)
        assert value(pool, ONE) == 1
        assert pid_of(pool) != first


def test_where_no_worker_can_start_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zygotes, "_zygotes", {})
    monkeypatch.setattr(zygotes, "_BOOT", "raise SystemExit('no luck today')")
    with WorkerPool(1) as pool, pytest.raises(SandboxUnavailable, match="does not start: no luck today"):
        value(pool, ONE)


def test_a_worker_that_is_too_weak_serves_nothing(bare: WorkerPool) -> None:
    with WorkerPool(1, without=frozenset({"process"})) as pool, pytest.raises(SandboxUnavailable) as error:
        value(pool, ONE)
    assert "isolation 'kernel' is required and this machine gives 'limits'; off: kernel (disabled)" in str(error.value)
    assert "pip install 'flowmind-es[monty]'" in str(error.value)
    assert "--require-isolation none" in str(error.value)
    assert "\n" not in str(error.value)
    with pool.borrow() as worker:
        assert worker.pid is None
    with WorkerPool(1, without=frozenset({"process"}), require="none") as pool:
        assert value(pool, ONE) == 1


def test_workers_keep_their_tool_sets_and_the_longest_idle_one_changes() -> None:
    def process(pool: WorkerPool, number: int) -> int:
        return value(pool, f"import os\ndef tool():\n    {number}\n    return os.getpid()")

    with WorkerPool(2, without=frozenset({"language"}), require="none") as pool:
        first, second = process(pool, 1), process(pool, 2)
        assert first != second
        assert [process(pool, 1), process(pool, 2), process(pool, 1)] == [first, second, first]
        third = process(pool, 3)
        assert third not in (first, second)
        assert [process(pool, 1), process(pool, 3)] == [first, third]
        assert process(pool, 2) not in (first, second, third)


@linux_only
@pytest.mark.parametrize("size", [1, 2])
def test_no_process_of_a_case_is_left(size: int) -> None:
    with WorkerPool(1) as other:
        zygote = parent_of(pid_of(other))
        children = Path(f"/proc/{zygote}/task/{zygote}/children")
        before, descriptors = set(children.read_text().split()), len(list(Path("/dev/fd").iterdir()))
        with WorkerPool(size, isolation="case") as pool:
            sandbox = LocalSandbox([untyped(ONE)], pool)
            assert sandbox.values([("tool", {})] * 12) == [(1, None)] * 12
            assert until(lambda: len(set(children.read_text().split()) - before) <= size)
        assert set(children.read_text().split()) == before
        assert len(list(Path("/dev/fd").iterdir())) == descriptors


def test_an_interrupted_request_leaves_no_reply_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with WorkerPool(1) as pool:
        sandbox = LocalSandbox([untyped("def tool(n):\n    return n")], pool)
        assert sandbox.values([("tool", {"n": 1})]) == [(1, None)]
        with monkeypatch.context() as patched:
            patched.setattr(Worker, "_receive", interrupt)
            with pytest.raises(KeyboardInterrupt):
                sandbox.values([("tool", {"n": 2})])
        assert sandbox.values([("tool", {"n": 3})]) == [(3, None)]


@pytest.mark.parametrize("first", [None, [], {"seccomp": 1}, {"seccomp": ["on"]}, "on"])
def test_a_process_that_reports_no_isolation_serves_nothing(first: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worker, "_receive", lambda *_: first)
    with WorkerPool(1, require="none") as pool, pytest.raises(SandboxUnavailable, match="it reports no isolation"):
        value(pool, ONE)


@pytest.mark.parametrize("answer", [b"{}\n", b"\n", b"1.5\n", b"1 2\n", b"9" * 40, b"true\n", b"12\n34\n"])
def test_an_answer_of_a_zygote_is_one_short_number(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zygotes, "_zygotes", {})
    monkeypatch.setattr(zygotes, "_BOOT", f"import os; os.write(0, {answer!r}); os.read(0, 1)")
    with WorkerPool(1) as pool, pytest.raises(SandboxUnavailable, match="does not start"):
        value(pool, ONE)


def test_an_unknown_layer_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match="no layer walls; layers: language, process"):
        WorkerPool(1, without=frozenset({"walls"}))


def test_isolation_is_measured_and_says_what_is_missing(bare: WorkerPool) -> None:
    with WorkerPool(1) as pool, WorkerPool(1, without=frozenset({"process"}), require="none") as unlocked:
        whole, without_locks, without_policy = map(isolation.measure, (pool, unlocked, bare))
    assert whole.layers["language policy"] == "on"
    assert without_locks.level == "limits"
    assert without_policy.level == ("kernel" if whole.reaches("kernel") else whole.level)
    assert "kernel (disabled)" in without_locks.missing()
    assert without_policy.missing()[0] == "language policy (disabled)"
    assert [whole.reaches(level) for level in isolation.LEVELS] == [
        place <= isolation.LEVELS.index(whole.level) for place in range(4)
    ]
    assert (whole.missing() == []) == (whole.level == "full")


@pytest.mark.parametrize(
    ("off", "level"),
    [
        ([], "full"),
        (["ipc namespace"], "kernel"),
        (["user", "empty root", "network namespace", "ipc namespace"], "kernel"),
        (["landlock", "user", "empty root", "network namespace", "ipc namespace"], "kernel"),
        (["language policy"], "kernel"),
        (["seccomp"], "limits"),
        (["limits"], "none"),
        (["limits", "seccomp"], "none"),
    ],
)
def test_a_level_asks_for_a_lock_on_files_network_and_processes(off: list[str], level: str) -> None:
    names = ["seccomp", "landlock", "user", "limits", "empty root", "network namespace", "ipc namespace"]
    worker = Worker(Limits(), frozenset({"language"}) if "language policy" in off else frozenset())
    worker.layers = {name: "off: for this test" if name in off else "on" for name in names}
    assert isolation.of(worker).level == level
