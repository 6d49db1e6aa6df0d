"""`flowmind record`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from flowmind.base.errors import InputError
from flowmind.base.outputs import require_file
from flowmind.base.secrets import Redaction

_WHAT = ("otlp", "openai", "mcp")
_PORTS = {"otlp": 4318, "openai": 8790}
_EPILOG = """\
what is recorded:
  otlp    an agent that is instrumented with OpenTelemetry sends its traces here
  openai  an agent calls its model through a proxy: OpenAI's API, or a server that is compatible
  mcp     an agent calls tools of an MCP server, which CMD starts, over standard input and output

other examples:
  flowmind record otlp --out spans.jsonl
  flowmind record mcp --out calls.jsonl -- python server.py

Servers listen on this machine only. Ctrl-C or SIGTERM ends a recording; a killed one loses nothing that was answered.
"""


class _Patterns(argparse.Action):
    """A flag that may be given several times."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        setattr(namespace, self.dest, [*getattr(namespace, self.dest, ()), values])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    parser.usage = "flowmind record {otlp,openai,mcp} --out FILE [options] [-- CMD ARG ...]"
    parser.epilog = _EPILOG
    parser.add_argument("what", choices=_WHAT, metavar="WHAT", help="what is recorded: otlp, openai or mcp")
    command = parser.add_argument(
        "cmd", nargs="+", metavar="CMD", default=(), help="mcp: the command of the server, after --"
    )
    command.required = False  # nargs="*" would match nothing before the options, and then refuse what follows --
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="JSON Lines; an existing recording is continued"
    )
    parser.add_argument(
        "--upstream", metavar="URL", help="openai: base URL of the server that requests are passed on to"
    )
    parser.add_argument(
        "--port", type=int, metavar="N",
        help="otlp and openai: port to listen on, 0 for any (default 4318 for otlp, 8790 for openai)",
    )  # fmt: skip
    parser.add_argument(
        "--redact", action=_Patterns, default=(), metavar="REGEX",
        help="store [redacted] in place of what matches; may be repeated. Well-known kinds of keys are never stored",
    )  # fmt: skip
    parser.add_argument(
        "--answer-tool", metavar="NAME",
        help="openai: the tool that the agent ends with; its arguments in the last reply are the answer",
    )  # fmt: skip
    parser.add_argument(
        "--hide-case-tools", action="store_true",
        help="mcp: do not list the tools begin_case and end_case; a client may call them nevertheless",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Records until the process is interrupted or terminated, or the MCP client ends."""
    what: str = options.what
    _require_fitting(options)
    require_file("--out", options.out)
    redaction = _redaction(options.redact)
    port = _PORTS.get(what, 0) if options.port is None else options.port
    if not 0 <= port <= 65_535:
        raise InputError(f"--port {port}: give a port from 1 to 65535, or 0 for any that is free")
    if what == "otlp":
        return _record_otlp(options.out, port, redaction)
    if what == "openai":
        return _record_openai(options, port, redaction)
    return _record_mcp(options, redaction)


def _redaction(patterns: Any) -> Redaction:
    """The redaction of `--redact`, which is one text if it comes from the environment."""
    try:
        return Redaction([patterns] if isinstance(patterns, str) else patterns)
    except InputError as error:
        raise InputError(f"--redact: {error}") from None


def _require_fitting(options: argparse.Namespace) -> None:
    """Refuses flags that do not belong to what is recorded.

    Raises:
        InputError: If a flag is missing, or belongs to another kind of recording.
    """
    what, given = options.what, options.explicit
    wrong = {
        "--upstream": ("openai",), "--port": ("otlp", "openai"), "--answer-tool": ("openai",),
        "--hide-case-tools": ("mcp",),
    }  # fmt: skip
    for flag, kinds in wrong.items():
        if flag.lstrip("-").replace("-", "_") in given and what not in kinds:
            raise InputError(f"{flag}: record {what} does not take it; it belongs to record {' and '.join(kinds)}")
    if what == "openai" and options.upstream is None:
        raise InputError("--upstream: missing; give the base URL of a server, such as https://api.openai.com/v1")
    if what == "mcp" and not options.cmd:
        raise InputError("CMD: missing; give the command of an MCP server after --")
    if what != "mcp" and options.cmd:
        raise InputError(f"{options.cmd[0]!r}: record {what} starts no command")


def _record_otlp(out: Path, port: int, redaction: Redaction) -> int:
    from flowmind.recording.otlp import record_otlp

    counts = asyncio.run(record_otlp(out, port, redaction, _report))
    more = f"; rejected {_count(counts.rejected, 'span')}" if counts.rejected else ""
    more += f"; dropped {_count(counts.dropped, 'request')} with metrics or logs" if counts.dropped else ""
    _report(f"recorded {_count(counts.spans, 'span')} of {_count(counts.traces, 'trace')} in {out}{more}")
    return 0


def _record_openai(options: argparse.Namespace, port: int, redaction: Redaction) -> int:
    from flowmind.recording.openai_proxy import record_openai

    out: Path = options.out
    recorded = asyncio.run(record_openai(options.upstream, out, port, redaction, _report, options.answer_tool))
    _report(f"{out} has {_count(recorded.conversations, 'conversation')}")
    if recorded.unknown:
        _report(f"not recorded: {_count(recorded.unknown, 'request')} that follow replies from before the recording")
    if recorded.unread:
        _report(f"not recorded: {_count(recorded.unread, 'request')} whose body has no conversation that can be read")
    return 0


def _record_mcp(options: argparse.Namespace, redaction: Redaction) -> int:
    from flowmind.recording.mcp import record_mcp

    log = record_mcp(options.cmd, options.out, redaction, _report, options.hide_case_tools)
    cases = f" in {_count(log.cases, 'case')}" if log.cases else ""
    _report(f"recorded {_count(log.calls, 'call')}{cases} in {options.out}")
    return 0


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _report(line: str) -> None:
    print(f"flowmind record: {line}", file=sys.stderr, flush=True)
