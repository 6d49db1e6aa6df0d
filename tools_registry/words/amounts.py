"""Amounts and identifiers inside of a text."""

from __future__ import annotations

import re

_AMOUNT = re.compile(r"(-?)[$€£]? ?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)? ?(k|m|thousand|million)?\b")
_SCALES = {"k": 1_000, "thousand": 1_000, "m": 1_000_000, "million": 1_000_000}
_ID = re.compile(r"#[A-Za-z0-9][\w-]*|\b[A-Za-z]{1,6}[-_]?\d[\w-]*|\b\d{3,}\b")


def read_amount(text: str) -> int | float:
    """Read the amount in a text: a number with a currency or a unit.

    Reads "$1,200.50", "30 kg", "1.5k EUR" and "2 million". The text has exactly one number.

    Args:
        text: The text.

    Returns:
        The number.

    Raises:
        ValueError: If the text has no number, or several.
    """
    found = list(_AMOUNT.finditer(text.lower()))
    if len(found) != 1:
        raise ValueError(f"{text!r} has {len(found)} numbers, not one")
    sign, whole, part, scale = found[0].groups()
    number = float(f"{sign}{whole.replace(',', '')}{part or ''}") * _SCALES.get(scale or "", 1)
    number = round(number, 9)
    return int(number) if number == int(number) else number


def extract_id(text: str) -> str:
    """Find the identifier in a text, such as "A-1042" in "my order #A-1042 is late".

    Args:
        text: A text with exactly one identifier: letters and digits, `#` and digits, or three digits or more.

    Returns:
        The identifier, without `#`.

    Raises:
        ValueError: If there is none, or there are several.
    """
    found = list(dict.fromkeys(match.lstrip("#") for match in _ID.findall(text)))
    if len(found) != 1:
        raise ValueError(f"{text!r} has {len(found)} identifiers, not one")
    return found[0]
