"""A model served by vLLM, for as long as it is needed: the command, the process, and what identifies the server.

vLLM is never imported: it is a process behind HTTP on loopback, started as a module of this interpreter.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import importlib.metadata
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NoReturn, Self, cast

from pydantic import Field

from flowmind.errors import InputError, ModelUnavailable
from flowmind.files import dump_json, parse_json, read_model, read_text, validate, write_text
from flowmind.llm import processes
from flowmind.llm.models import FAMILIES, KNOWN, Family
from tools_registry.spec import Record

HOST = "127.0.0.1"
MODULE = "vllm.entrypoints.openai.api_server"
_LOCAL = (HOST, "localhost", "::1")
Device = Literal["gpu", "cpu"]

_RESERVED = ("--model", "--served-model-name", "--host", "--port", "--api-key", "--uds", "--root-path")
"""Flags of vLLM that decide where it answers and as what: not passed through."""


class ServeOptions(Record):
    """How a model is served."""

    model: str
    """A folder (config, tokenizer, weights) or a name on the Hugging Face hub."""
    served_name: str = Field(min_length=1)
    """What requests call it."""
    port: int = Field(default=8000, ge=0, le=65535)
    """Of 127.0.0.1; 0 takes one that is free."""
    max_model_len: int | None = Field(default=None, ge=1)
    """Tokens of a request and its reply; without it, what the model was made for, at most 32768."""
    thinking: bool = False
    """Whether a model that can think before it answers does so."""
    dtype: str | None = None
    """Of weights and activations; without it, what the model's config says."""
    gpu_memory_utilization: float | None = Field(default=None, gt=0, le=1)
    """Share of the GPU's memory; without it, vLLM's default."""
    device: Device = "gpu"
    """`cpu` is for checks with a tiny model, and needs a build of vLLM for it."""
    wait: float = Field(default=1800.0, gt=0)
    """Seconds until the server must be healthy, a first download of the weights included."""
    extra: tuple[str, ...] = ()
    """Further flags for vLLM, as they are."""

    @classmethod
    def of(cls, name: str, served_name: str | None = None, **settings: Any) -> Self:
        """The options for a known model, a folder, or a name on the hub; a setting that is None has its default.

        A model that is served thinking is called `<name>-thinking`, if nothing else is said: requests for the known
        name turn thinking off, and tables should tell the two apart.

        Raises:
            InputError: If that is no model, or a setting is out of range.
        """
        model = _model(name)
        called = served_name or _called(name, model) + ("-thinking" if settings.get("thinking") else "")
        given: dict[str, Any] = {"model": model, "served_name": called, "device": os.environ.get("FLOWMIND_DEVICE")}
        given |= {key: value for key, value in settings.items() if value is not None}
        try:
            options = validate(cls, {key: value for key, value in given.items() if value is not None})
        except ValueError as error:
            field, _, problem = str(error).partition(": ")
            raise InputError(f"--{field.replace('_', '-')}: {problem}") from None
        for flag in options.extra:
            if flag.partition("=")[0].replace("_", "-") in _RESERVED:
                raise InputError(f"{flag}: is set by flowmind itself; see `flowmind serve --help`")
        return options


def _model(name: str) -> str:
    """What vLLM is given for a name."""
    served = {info.name: info.served_as[0] for info in KNOWN.values() if info.kind == "vllm"}
    if name in served:
        return served[name]
    if name not in KNOWN:
        folder = Path(name).expanduser()
        if (folder / "config.json").is_file():
            return str(folder.resolve())
        if folder.is_dir() or name.startswith(("/", "./", "../", "~")):
            raise InputError(f"{name}: no folder of a model: there is no {folder / 'config.json'}")
        if re.fullmatch(r"[\w.-]+/[\w.-]+", name):
            return name
    others = "a folder, or a name such as Qwen/Qwen3-4B"
    raise InputError(f"model {name!r} is not served by vLLM; these are: {', '.join(served)}, {others}")


def _called(name: str, model: str) -> str:
    """What requests call a model if nothing else is said: its folder's name, or the name it was asked for by."""
    return Path(model).name if Path(model).is_absolute() else name


def command(options: ServeOptions) -> list[str]:
    """The command that serves a model with the flags that suit it."""
    family = _family(options.model)
    words = [sys.executable, "-m", MODULE, "--model", options.model, "--served-model-name", options.served_name]
    words += ["--host", HOST, "--port", str(options.port), "--enable-prefix-caching"]
    length = options.max_model_len or _context(options.model, family)
    if length is not None:
        words += ["--max-model-len", str(length)]
    if family is not None:
        words += ["--enable-auto-tool-choice", "--tool-call-parser", family.tool_parser]
    if options.thinking or (family is not None and family.reasoning_parser):
        words += ["--default-chat-template-kwargs", json.dumps({"enable_thinking": options.thinking})]
    if options.thinking and family is not None and family.reasoning_parser:
        words += ["--reasoning-parser", family.reasoning_parser]
    if options.dtype is not None:
        words += ["--dtype", options.dtype]
    if options.gpu_memory_utilization is not None:
        words += ["--gpu-memory-utilization", str(options.gpu_memory_utilization)]
    if options.device == "cpu":
        words.append("--enforce-eager")
    return [*words, *options.extra]


def _family(model: str) -> Family | None:
    """The kind of a model: by the config of a folder, by its name on the hub."""
    if Path(model).is_absolute():
        kind = _config(model).get("model_type")
        return next((family for family in FAMILIES if kind in family.types), None)
    return next((family for family in FAMILIES if re.search(family.names, model.lower())), None)


def _context(model: str, family: Family | None) -> int | None:
    """The tokens that a model of a known kind is given: vLLM refuses more than its config allows."""
    if family is None:
        return None
    allowed = _config(model).get("max_position_embeddings") if Path(model).is_absolute() else None
    return min(family.context, allowed) if isinstance(allowed, int) else family.context


def _config(model: str) -> dict[str, Any]:
    path = Path(model) / "config.json"
    try:
        config = parse_json(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    return cast(dict[str, Any], config) if isinstance(config, dict) else {}


def environment(options: ServeOptions) -> dict[str, str]:
    """The environment of the server: this process's, without a key, usage reports and look-ups that go nowhere.

    vLLM calls programs (ninja) that are installed beside the interpreter, which need not be on the path.
    """
    made = {name: value for name, value in os.environ.items() if name != "VLLM_API_KEY"}
    made["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), made.get("PATH", os.defpath)))
    defaults = {"VLLM_NO_USAGE_STATS": "1"}
    if Path(options.model).is_absolute():
        defaults["HF_HUB_OFFLINE"] = "1"
    if options.device == "cpu":
        defaults["VLLM_CPU_KVCACHE_SPACE"] = "1"
    return defaults | made


# What is here, and what is missing


def missing(model: str, device: Device | None = None, package: bool = True) -> str | None:
    """One line that says what this machine lacks to serve a model; None if nothing. Imports nothing heavy.

    Args:
        model: What it is called in that line.
        device: `cpu` if no GPU is wanted; without it, `FLOWMIND_DEVICE`.
        package: Whether vLLM must be installed already.
    """
    lacks: list[str] = []
    if (device or os.environ.get("FLOWMIND_DEVICE")) != "cpu" and not gpu_found():
        lacks.append("no GPU is found")
    if package and importlib.util.find_spec("vllm") is None:
        lacks.append("vLLM is not installed (pip install 'flowmind-es[vllm]')")
    if not lacks:
        return None
    return f"{model} cannot be served here: {' and '.join(lacks)}; or set OPENAI_BASE_URL to a server that has it"


def gpu_found(dev: Path = Path("/dev")) -> bool:
    """Whether the kernel shows a GPU that vLLM could use: NVIDIA's (also under WSL) or AMD's."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    return any(any(dev.glob(pattern)) for pattern in ("nvidia[0-9]*", "dxg", "kfd"))


def gpus() -> list[str]:
    """Name, memory and driver of each GPU, as nvidia-smi says them; none where it does not answer."""
    asked = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def versions() -> dict[str, str]:
    """The versions of what serves a model, as installed beside this interpreter."""
    found = {"python": sys.version.split()[0]}
    for package in ("vllm", "vllm-cpu", "torch", "transformers"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


# What identifies a server


def fingerprint(base_url: str, served_name: str | None = None) -> dict[str, Any]:
    """What identifies the server behind a URL: all that `flowmind serve` wrote down of it, if it started it on this
    machine, and what the server itself says, whichever it is. Empty where nothing is known; never an error."""
    known: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        parts = urllib.parse.urlsplit(base_url)
        if parts.hostname in _LOCAL and parts.port is not None and (running := _running(parts.port)) is not None:
            known = running.fingerprint
    return known | _told(base_url.rstrip("/"), served_name)


def _told(base_url: str, served_name: str | None) -> dict[str, Any]:
    """What a server says of itself: its version, if it is a vLLM, and its entry for the model."""
    said: dict[str, Any] = {}
    version = _get(f"{base_url.removesuffix('/v1')}/version")
    if isinstance(version, dict):
        said["server_version"] = cast(dict[str, Any], version).get("version")
    listed = _get(f"{base_url}/models", os.environ.get("OPENAI_API_KEY") or "none")
    data = cast(dict[str, Any], listed).get("data") if isinstance(listed, dict) else None
    entries = [cast(dict[str, Any], entry) for entry in cast(list[Any], data or []) if isinstance(entry, dict)]
    named = [entry for entry in entries if entry.get("id") == served_name] or entries
    if len(named) == 1:
        said |= {name: named[0].get(key) for name, key in _ENTRY.items()}
    return {name: value for name, value in said.items() if isinstance(value, str | int)}


_ENTRY = {"served_name": "id", "model": "root", "max_model_len": "max_model_len", "owned_by": "owned_by"}


def _get(url: str, key: str | None = None) -> Any:
    """The JSON at a URL; None whatever goes wrong."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    try:
        with _opener(url).open(request, timeout=10) as response:
            return json.loads(response.read(1_000_000))
    except Exception:  # whatever a stranger's server does, it must not end a run
        return None


def _opener(url: str) -> urllib.request.OpenerDirector:
    """Opens URLs; those of this machine never through a proxy."""
    local = urllib.parse.urlsplit(url).hostname in _LOCAL
    return urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if local else []))


def _folder() -> Path:
    """Where running servers are written down."""
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "flowmind" / "servers"


class _Running(Record):
    """What is written down of a server while it runs."""

    pid: int
    started: str
    """By the kernel's clock: the process id may have been given to another process since."""
    fingerprint: dict[str, Any]


def _running(port: int) -> _Running | None:
    """What was written down of the server on a port, if it still runs."""
    try:
        state = read_model(_folder() / f"{port}.json", _Running)
    except InputError:
        return None
    return state if processes.started(state.pid) == state.started else None


def described(options: ServeOptions, words: Sequence[str]) -> dict[str, Any]:
    """What this side knows of a server that it started with a command."""
    folder = Path(options.model) if Path(options.model).is_absolute() else _snapshot(options)
    settings = ("VLLM_", "CUDA_", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    surroundings = {name: value for name, value in sorted(environment(options).items()) if name.startswith(settings)}
    return {
        "engine": "vllm",
        "versions": versions(),
        "command": list(words[1:]),
        "environment": {name: value for name, value in surroundings.items() if not re.search("KEY|TOKEN", name)},
        "model": options.model,
        "revision": folder.name if folder is not None and folder.parent.name == "snapshots" else None,
        "served_name": options.served_name,
        "thinking": options.thinking,
        "chat_template_sha256": _template_hash(options, folder),
        "device": options.device,
        "gpus": gpus() if options.device == "gpu" else [],
    }


def _snapshot(options: ServeOptions) -> Path | None:
    """The folder of a model of the hub in the local cache, its name being the revision."""
    home = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser()
    repository = cache / f"models--{options.model.replace('/', '--')}"
    revision = _passed(options.extra, "--revision") or "main"
    with contextlib.suppress(OSError):
        revision = (repository / "refs" / revision).read_text().strip()
    folder = repository / "snapshots" / revision
    return folder if folder.is_dir() else None


def _passed(flags: Sequence[str], name: str) -> str | None:
    """The value of a flag among those that were passed through."""
    found = None
    for at, flag in enumerate(flags):
        head, equals, value = flag.partition("=")
        if head.replace("_", "-") == name:
            found = value if equals else (flags[at + 1] if at + 1 < len(flags) else None)
    return found


def _template_hash(options: ServeOptions, folder: Path | None) -> str | None:
    """The sha256 of the chat template: the file that was passed, chat_template.jinja, or the tokenizer's entry."""
    given = _passed(options.extra, "--chat-template")
    files = [Path(given)] if given else [folder / "chat_template.jinja"] if folder is not None else []
    template: Any = None
    for file in files:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            template = file.read_text(encoding="utf-8")
    if template is None and folder is not None and not given:
        with contextlib.suppress(OSError, ValueError):
            template = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8")).get("chat_template")
    if template is None:
        return None
    text = template if isinstance(template, str) else dump_json(template)
    return hashlib.sha256(text.encode()).hexdigest()


# The process


def _quiet(line: str) -> None:
    pass


class Server:
    """A server of a model, from healthy and warm until the end of the block.

        with Server(ServeOptions.of("qwen3-8b", port=0)) as server:
            ...  # requests to server.base_url

    On leaving, on Ctrl-C, SIGTERM or SIGHUP, and even if this process is killed, no process of the server is left.

    Args:
        options: What is served, and how.
        log: The file for the server's output (default: beside the state, `<port>.log`).
        report: Gets a line of progress now and then.
        steps: The signals that end it, and the seconds that each leaves (default: 20 s for SIGINT, 10 s for SIGTERM).

    Raises:
        ModelUnavailable: On entering, if the port is taken, the server dies, is not healthy in time or fails to
            answer: one line with what it said last.
    """

    def __init__(
        self,
        options: ServeOptions,
        *,
        log: Path | None = None,
        report: Callable[[str], None] = _quiet,
        steps: Sequence[tuple[signal.Signals, float]] = processes.STEPS,
    ) -> None:
        self.options = options if options.port else options.model_copy(update={"port": _free_port()})
        self.base_url = f"http://{HOST}:{self.options.port}/v1"
        self.log = log or _folder() / f"{self.options.port}.log"
        self.fingerprint: dict[str, Any] = {}
        """What identifies the server, once it is entered."""
        self._words = command(self.options)
        self._report = report
        self._steps = steps
        self._state = _folder() / f"{self.options.port}.json"
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0
        self._exits = contextlib.ExitStack()

    def __enter__(self) -> Self:
        try:
            self._start()
            self._await_health()
            self._warm_up()
            self._write_down()
        except BaseException:
            self._exits.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    @property
    def pid(self) -> int | None:
        """The server's process, which is also the number of its session."""
        return None if self._process is None else self._process.pid

    def wait(self) -> NoReturn:
        """Waits for as long as the server runs.

        Raises:
            ModelUnavailable: When it has ended by itself.
        """
        assert self._process is not None, "enter the server first"
        self._process.wait()
        raise self._ended()

    def _start(self) -> None:
        """Starts the process; what ends it and what cleans up after it is in `_exits` before it runs."""
        _require_free(self.options.port)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        output = self._exits.enter_context(self.log.open("wb"))
        self._exits.enter_context(_stopping_signals())
        watcher = processes.watcher()
        self._exits.callback(watcher.wait)
        watched = self._exits.enter_context(cast(Any, watcher.stdin))
        self._exits.callback(self._stop)
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            self._words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment(self.options),
            start_new_session=True,
        )
        watched.write(b"%d\n" % self._process.pid)
        watched.flush()
        self._report(f"starting {self.options.model} on port {self.options.port}; log: {self.log}")

    def _stop(self) -> None:
        if self._process is None:
            return
        running = _running(self.options.port)
        if running is not None and running.pid == self._process.pid:
            self._state.unlink(missing_ok=True)
        try:
            processes.end(self._process.pid, self._steps)
        finally:
            self._process.wait()

    def _await_health(self) -> None:
        told = time.monotonic()
        while not self._healthy():
            self._check_running()
            if self._seconds() > self.options.wait:
                seconds = f"{self.options.wait:g} s"
                raise ModelUnavailable(f"{self._name()} is not healthy after {seconds} (--wait): {self._last_words()}")
            if time.monotonic() - told > 15:
                told = time.monotonic()
                self._report(f"still starting after {self._seconds():.0f} s: {_last_line(self.log)}")
            time.sleep(0.1)
        self._report(f"healthy after {self._seconds():.1f} s")

    def _healthy(self) -> bool:
        url = f"http://{HOST}:{self.options.port}/health"
        with contextlib.suppress(OSError, http.client.HTTPException), _opener(url).open(url, timeout=5) as response:
            return response.status == 200
        return False

    def _warm_up(self) -> None:
        """One request, as the experiments send them: the first one compiles, and its reply may differ from later ones
        of the same prompt, which come out of the prefix cache."""
        body: dict[str, Any] = {
            "model": self.options.served_name,
            "messages": [{"role": "user", "content": "Say hello."}],
            "max_tokens": 8,
            "temperature": 0,
        }
        url, began = f"{self.base_url}/chat/completions", time.monotonic()
        request = urllib.request.Request(url, dump_json(body).encode(), {"Content-Type": "application/json"})
        left = max(60.0, self.options.wait - self._seconds())
        try:
            with _opener(url).open(request, timeout=left) as response:
                said = json.loads(response.read())
            said["choices"][0]["message"]
        except urllib.error.HTTPError as error:
            text = " ".join(error.read(2000).decode(errors="replace").split())
            raise ModelUnavailable(f"{self._name()} refuses a warm-up request: HTTP {error.code}: {text}") from None
        except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as error:
            self._check_running()
            raise ModelUnavailable(f"{self._name()} does not answer a warm-up request: {error}") from None
        self._report(f"warmed up in {time.monotonic() - began:.1f} s")

    def _write_down(self) -> None:
        """Takes the fingerprint, and leaves it where `fingerprint` finds it while the server runs."""
        assert self._process is not None
        self.fingerprint = described(self.options, self._words) | _told(self.base_url, self.options.served_name)
        pid = self._process.pid
        state = _Running(pid=pid, started=processes.started(pid) or "", fingerprint=self.fingerprint)
        try:
            write_text(self._state, dump_json(state.model_dump(), indent=1))
        except OSError as error:
            self._report(f"other runs cannot see the fingerprint: {self._state}: {error.strerror}")

    def _check_running(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            raise self._ended()

    def _ended(self) -> ModelUnavailable:
        assert self._process is not None
        code = self._process.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return ModelUnavailable(f"{self._name()} {how} after {self._seconds():.0f} s: {self._last_words()}")

    def _last_words(self) -> str:
        return f"{cause(_tail(self.log))} (log: {self.log})"

    def _name(self) -> str:
        return f"the server of {self.options.served_name!r}"

    def _seconds(self) -> float:
        return time.monotonic() - self._began


@contextlib.contextmanager
def _stopping_signals() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP unwind as Ctrl-C does, where nobody else has a say in them."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    numbers: list[signal.Signals] = []
    if threading.current_thread() is threading.main_thread():
        numbers = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _free_port() -> int:
    with socket.socket() as held:
        held.bind((HOST, 0))
        return held.getsockname()[1]


def _require_free(port: int) -> None:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except OSError as error:
            there = _running(port)
            serves = f"process {there.pid} serves {there.fingerprint.get('served_name')!r} there" if there else None
            problem = serves or error.strerror
            raise ModelUnavailable(f"port {port} is not free ({problem}): stop that, or pass another --port") from None


# What a server said


def _tail(log: Path, size: int = 100_000) -> str:
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - size))
        return file.read().decode(errors="replace")


def _lines(text: str) -> list[str]:
    """The lines of a log that say something, without colours and without vLLM's stamp."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).replace("\r", "\n")
    stamp = r"(\(\w+( pid=\d+)?\) *)?((ERROR|WARNING|INFO|DEBUG|CRITICAL) \d\d-\d\d [\d:]+ \[\S+?\] *)?"
    lines = [re.sub(f"^{stamp}", "", line).strip() for line in plain.split("\n")]
    return [line for line in lines if re.search(r"\w", line)]


def _last_line(log: Path) -> str:
    return next(reversed(_lines(_tail(log, 4000))), "nothing said yet")[:200]


_ERROR = re.compile(r"^([\w.]*(Error|Exception|Interrupt)\b|.*\berror:)")
_WRAPPER = re.compile("Engine core initialization failed|See root cause above|EngineDeadError")


def cause(text: str) -> str:
    """What a log says went wrong: its last error that does not point to another, or its last three lines."""
    lines = _lines(text)
    errors = [at for at, line in enumerate(lines) if _ERROR.match(line) and not _WRAPPER.search(line)]
    at = errors[-1] if errors else -3
    return " | ".join(lines[at:][:3])[:600] or "it said nothing"
