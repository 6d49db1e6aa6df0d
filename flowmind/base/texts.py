"""Texts for people: safe for a terminal, on one line, and with the nearest of several names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

MAX_LINE = 1_000
"""The most characters of an error's line."""
_PASSWORD = re.compile(r"(?<=://)[^/\s@]+@")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""A text with its control characters escaped, except line feeds and tabs: `\u001b[2J`.

    A terminal would execute them: clear the screen, move the cursor, or reverse the direction of the text. JSON and
    Python read the escape as the character, so documents keep their meaning.
    """
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(text: str) -> str:
    """A message as one printable line of at most `MAX_LINE` characters, without the passwords in its URLs."""
    line = printable(_PASSWORD.sub("***@", " ".join(text.split("\n")).replace("\t", " ")))
    return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 1]}…"


def nearest(word: str, names: Iterable[str], most: int = 1) -> list[str]:
    """The names that are most similar to a word, the nearest first; none if no name is similar."""
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(name.lstrip("-"), name)
    return [plain[close] for close in difflib.get_close_matches(word.lstrip("-"), list(plain), n=most, cutoff=0.6)]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """`; did you mean NAME?` with the nearest name; empty if no name is similar."""
    return f"; did you mean {close[0]}?" if (close := nearest(word, names)) else ""
