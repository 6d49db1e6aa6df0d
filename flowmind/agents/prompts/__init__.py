"""The prompts: one text file each, in our own words, and the worked examples as conversations.

A conversation file holds the system prompt and worked examples as real user and assistant turns:

    === system
    …
    === user
    …
    === assistant
    …
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from string import Template
from typing import Literal, NamedTuple

_HERE = Path(__file__).parent


class Part(NamedTuple):
    """One message of a conversation file."""

    role: Literal["system", "user", "assistant"]
    content: str


def render(name: str, **values: object) -> str:
    """The text of a prompt with its `$name` fields filled in.

    Raises:
        KeyError: If a field has no value.
    """
    return Template(_text(name)).substitute({key: str(value) for key, value in values.items()})


@cache
def conversation(name: str) -> tuple[Part, ...]:
    """A conversation file: its system prompt, then the worked examples."""
    parts = re.split(r"^=== (system|user|assistant)\n", _text(name), flags=re.MULTILINE)[1:]
    found: list[Part] = []
    for role, content in zip(parts[::2], parts[1::2], strict=True):
        assert role in ("system", "user", "assistant")
        found.append(Part(role, content.strip()))
    return tuple(found)


@cache
def _text(name: str) -> str:
    return (_HERE / f"{name}.txt").read_text(encoding="utf-8").strip()
