"""What the log of a vLLM server says went wrong."""

from __future__ import annotations

import os
import re
from pathlib import Path


def tail(log: Path, size: int = 100_000) -> str:
    """The end of a log, at most so many bytes."""
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - size))
        return file.read().decode(errors="replace")


def _lines(text: str) -> list[str]:
    """The lines of a log that say something, without colours and without vLLM's stamp."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).replace("\r", "\n")
    stamp = r"(\(\w+( pid=\d+)?\) *)?((ERROR|WARNING|INFO|DEBUG|CRITICAL) \d\d-\d\d [\d:]+ \[\S+?\] *)?"
    lines = [re.sub(f"^{stamp}", "", line).strip() for line in plain.split("\n")]
    return [line for line in lines if re.search(r"\w", line)]


def last_line(log: Path) -> str:
    """The last line that says something, cut to 200 characters."""
    return next(reversed(_lines(tail(log, 4000))), "nothing said yet")[:200]


_ERROR = re.compile(r"^([\w.]*(Error|Exception|Interrupt)\b|.*\berror:)")
_WRAPPER = re.compile("Engine core initialization failed|See root cause above|EngineDeadError")


def cause(text: str) -> str:
    """What a log says went wrong: its last error that does not point to another, or its last three lines."""
    lines = _lines(text)
    errors = [at for at, line in enumerate(lines) if _ERROR.match(line) and not _WRAPPER.search(line)]
    at = errors[-1] if errors else -3
    return " | ".join(lines[at:][:3])[:600] or "it said nothing"
