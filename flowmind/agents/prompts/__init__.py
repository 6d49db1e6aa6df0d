"""The prompts, one text file each, with worked examples as conversations.

A conversation file holds the system prompt and the worked examples as user and assistant messages:

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

from flowmind.protocols import Message

_HERE = Path(__file__).parent


def render(name: str, **values: object) -> str:
    """The text of a prompt with its `$name` fields filled in.

    Raises:
        KeyError: If a field has no value.
    """
    return Template(_text(name)).substitute({key: str(value) for key, value in values.items()})


@cache
def conversation(name: str) -> tuple[Message, ...]:
    """The messages of a conversation file, with the list of graph tools in the place of `$graph_tools`."""
    return read_conversation(_text(name).replace("$graph_tools", _text("graph_tools")))


def read_conversation(text: str) -> tuple[Message, ...]:
    """The messages in the text of a conversation file."""
    parts = re.split(r"^=== (system|user|assistant)\n", text, flags=re.MULTILINE)[1:]
    messages = zip(parts[::2], map(str.strip, parts[1::2]), strict=True)
    return tuple(Message.model_validate({"role": role, "content": content}) for role, content in messages)


@cache
def _text(name: str) -> str:
    return (_HERE / f"{name}.txt").read_text(encoding="utf-8").strip()
