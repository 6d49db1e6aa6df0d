"""The prompts of models that play a user, one text file each."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template

_HERE = Path(__file__).parent


def render(name: str, **values: object) -> str:
    """The text of a prompt with its `$name` fields filled in.

    Raises:
        KeyError: If a field has no value.
    """
    return Template(_text(name)).substitute({key: str(value) for key, value in values.items()})


@cache
def _text(name: str) -> str:
    return (_HERE / f"{name}.txt").read_text(encoding="utf-8").strip()
