"""What the log of a vLLM server says went wrong."""

from __future__ import annotations

import os
import re
from itertools import takewhile
from pathlib import Path


def tail(log: Path, size: int = 100_000) -> str:
    """The end of a log, at most so many bytes."""
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - size))
        return file.read().decode(errors="replace")


_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_STAMP = re.compile(r"(\(\w+( pid=\d+)?\) *)?((ERROR|WARNING|INFO|DEBUG|CRITICAL) \d\d-\d\d [\d:]+ \[\S+?\] *)?")
_ERROR = re.compile(r"([\w.]*(Error|Exception|Interrupt)\b|.*\berror:)")
_POINTER = re.compile("root cause|EngineDeadError")
_NEXT = re.compile("Traceback|During handling|The above exception")


def _lines(text: str) -> list[tuple[str, str]]:
    """The lines of a log that say something: vLLM's stamp (process, level, time, place) and the text after it."""
    plain = _COLOUR.sub("", text).replace("\r", "\n").split("\n")
    stamps = [match.group() if (match := _STAMP.match(line)) else "" for line in plain]
    pairs = [(stamp, line[len(stamp) :].strip()) for stamp, line in zip(stamps, plain, strict=True)]
    return [(stamp, said) for stamp, said in pairs if re.search(r"\w", said)]


def last_line(log: Path) -> str:
    """The last line that says something, cut to 200 characters."""
    return next((said[:200] for _, said in reversed(_lines(tail(log, 4000)))), "nothing said yet")


def cause(text: str) -> str:
    """What a log says went wrong: its last error that does not point to another, or its last three lines."""
    lines = _lines(text)
    errors = [at for at, (_, said) in enumerate(lines) if _ERROR.match(said) and not _POINTER.search(said)]
    if errors:
        stamp, _ = lines[errors[-1]]
        more = lines[errors[-1] + 1 :][:2]
        lines = [lines[errors[-1]], *takewhile(lambda line: line[0] == stamp and not _NEXT.match(line[1]), more)]
    return " | ".join(said for _, said in lines[-3:])[:600] or "it said nothing"
