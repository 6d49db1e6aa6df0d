"""Texts for people: safe for a terminal, on one line, and with the nearest of several names."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

MAX_LINE = 1_000
"""The most characters of an error's line."""
_PASSWORD = re.compile(r"(?<=://)[^\s'\"<>]*@")
_KEY = re.compile(r"([?&][\w-]*(?:key|token|secret|password|auth|sig)[\w-]*=)[^\s&'\"]+", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""A text with its control characters escaped, except line feeds and tabs: `\u001b[2J`.

    A terminal would execute them: clear the screen, move the cursor, or reverse the direction of the text. JSON and
    Python read the escape as the character, so documents keep their meaning.
    """
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class _Shown:
    """A text stream that shows control characters instead of sending them.

    Args:
        stream: The stream.
        bars: Whether progress bars are written to it: each of their texts begins with a carriage return.
    """

    def __init__(self, stream: Any, bars: bool) -> None:
        self.stream = stream
        self._bars = bars

    def write(self, text: str) -> int:
        """Writes a text; returns its length."""
        start = int(self._bars and text.startswith("\r"))
        self.stream.write(text[:start] + printable(text[start:]))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def shown_output() -> Generator[None]:
    """Within the block, standard output and error show control characters instead of sending them.

    Texts of tools, models, servers and documents cannot command the terminal then, whoever prints them. After a defect
    the streams stay as they are, for its traceback.
    """
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Shown(sys.stdout, False), _Shown(sys.stderr, True)
    try:
        yield
    except SystemExit:
        sys.stdout, sys.stderr = streams
        raise
    sys.stdout, sys.stderr = streams


def print_dim(text: str) -> None:
    """Prints a line, dimly if standard output is a terminal. Control characters of the text are shown."""
    stream = sys.stdout.stream if isinstance(sys.stdout, _Shown) else sys.stdout
    if stream.isatty():
        stream.write(f"\033[2m{printable(text)}\033[0m\n")
    else:
        print(text)


def one_line(text: str) -> str:
    """A message as one printable line of at most `MAX_LINE` characters, without the passwords and keys in its URLs."""
    line = printable(without_secrets(" ".join(text.split("\n")).replace("\t", " ")))
    return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 1]}…"


def without_secrets(text: str) -> str:
    """A text without the passwords and keys in its URLs."""
    return _PASSWORD.sub("***@", _KEY.sub(r"\1***", text))


def nearest(word: str, names: Iterable[str], most: int = 1) -> list[str]:
    """The names that are most similar to a word, the nearest first; none if no name is similar."""
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(name.lstrip("-"), name)
    return [plain[close] for close in difflib.get_close_matches(word.lstrip("-"), list(plain), n=most, cutoff=0.6)]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """`; did you mean NAME?` with the nearest name; empty if no name is similar."""
    return f"; did you mean {close[0]}?" if (close := nearest(word, names)) else ""
