"""Names of variables."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection

from flowmind.workflow.expressions import FUNCTIONS, TYPES

_RESERVED = frozenset([*keyword.kwlist, *FUNCTIONS, *TYPES])


def free(base: str, taken: Collection[str]) -> str:
    """The name, with a number if it is taken or has a meaning of its own."""
    if base in _RESERVED:
        base += "_"
    if base not in taken:
        return base
    return next(name for number in range(2, 10_000) if (name := f"{base.rstrip('_')}_{number}") not in taken)


def noun_of(expression: str) -> str:
    """The last name or key in an expression: `orders` for `customer['orders']`."""
    words = re.findall(r"[A-Za-z][A-Za-z0-9_]*", expression.split(" for ")[0])
    return words[-1] if words else "item"


def singular(word: str) -> str:
    """The singular of a noun, in lower case; of another word that and `item`."""
    word = word.lower()
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if re.search(r"(s|x|z|ch|sh)es$", word):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 2:
        return word[:-1]
    return "item" if word == "item" else f"{word}_item"
