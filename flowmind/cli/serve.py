"""`flowmind serve`."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path

from flowmind.base.errors import InputError, ModelUnavailable
from flowmind.base.outputs import require_file
from flowmind.cli.flags import add_flags
from flowmind.llm.serve_command import ServeOptions, command
from flowmind.llm.serving import Server, missing

_SETTINGS = ("port", "max_model_len", "thinking", "dtype", "gpu_memory_utilization", "device", "wait")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    parser.usage = "flowmind serve MODEL [options] [-- FLAG ...]"
    parser.add_argument("model", metavar="MODEL", help="a known name such as qwen3-8b, a folder, or a name of the hub")
    extra = parser.add_argument("extra", nargs="+", metavar="FLAG", default=(), help="flags for vLLM, after --")
    extra.required = False  # nargs="*" would match nothing before the options, and then refuse what follows --
    names = ("--served-name", "--served-model-name")
    parser.add_argument(*names, help="name of the model in requests; by default MODEL, or MODEL-thinking")
    add_flags(parser, ServeOptions, *_SETTINGS)
    parser.add_argument("--log", type=Path, metavar="FILE", help="write the output of vLLM to this file")
    parser.add_argument("--dry-run", action="store_true", help="print the command and exit")


def run(options: argparse.Namespace) -> int:
    """Serves until Ctrl-C or until the server ends."""
    require_file("--log", options.log)
    if options.served_name is not None and not re.fullmatch(r"\S+", options.served_name):
        raise InputError(f"--served-name {options.served_name!r}: give a name without spaces")
    if options.extra and not options.extra[0].startswith("-"):
        raise InputError(f"{options.extra[0]!r}: serve takes one model; put flags for vLLM after --")
    settings = {name: value for name, value in vars(options).items() if name in _SETTINGS}
    chosen = ServeOptions.of(options.model, options.served_name, extra=tuple(options.extra), **settings)
    if options.dry_run:
        print(shlex.join(command(chosen)))
        return 0
    if (lacks := missing(options.model, chosen.device)) is not None:
        raise ModelUnavailable(lacks)
    with Server(chosen, log=options.log, report=_report) as server:
        print(f"OPENAI_BASE_URL={server.base_url}\nOPENAI_API_KEY=none", flush=True)
        example = f"OPENAI_BASE_URL={server.base_url} flowmind exp --model {chosen.served_name}"
        _report(f"in another shell: {example}\nCtrl-C stops the server")
        return server.wait()


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
