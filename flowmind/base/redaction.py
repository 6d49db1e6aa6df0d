"""Removes keys, tokens and passwords from what is stored of other programs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

from flowmind.base.errors import InputError

MARK = "[redacted]"
"""The text in place of a secret."""
_START = r"(?<![A-Za-z0-9])"
_KNOWN: dict[tuple[str, ...], str] = {
    ("sk-", "sk_", "rk_", "pk_"): _START
    + r"[srp]k[-_](?=[A-Za-z0-9_-]*[0-9])(?:[A-Za-z0-9]*[-_])*?[A-Za-z0-9]{16,}[A-Za-z0-9_-]*",  # OpenAI, Stripe
    ("gho_", "ghp_", "ghr_", "ghs_", "ghu_"): _START + r"gh[oprsu]_[A-Za-z0-9]{20,}",
    ("github_pat_",): _START + r"github_pat_[A-Za-z0-9_]{20,}",
    ("glpat-",): _START + r"glpat-[A-Za-z0-9_-]{16,}",
    ("hf_",): _START + r"hf_[A-Za-z0-9]{20,}",
    ("xox",): _START + r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    ("AKIA", "ASIA"): _START + r"A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])",
    ("AIza",): _START + r"AIza[A-Za-z0-9_-]{35}",
    ("eyJ",): _START + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # JSON Web Tokens
    ("://",): r"(?<=://)[^\s/'\"<>@:]+:[^\s/'\"<>@]+(?=@)",  # the user and the password of a URL
    ("earer ", "EARER ", "asic ", "ASIC "): r"(?i:(?<=bearer )|(?<=basic ))[A-Za-z0-9._~+/=-]{16,}",
    (" KEY-----",): r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
}
"""The patterns of secrets, by texts of which a secret has one beside or in it: looking for these is fast."""


class Redaction:
    """Replaces what looks like a secret by `MARK`: keys of well-known services, bearer tokens, private keys.

    Args:
        patterns: More regular expressions; what they match is replaced as well.

    Raises:
        InputError: If a pattern is not a regular expression, or matches the empty text.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._known = [(hints, re.compile(pattern, re.DOTALL)) for hints, pattern in _KNOWN.items()]
        self._given = [_checked(pattern) for pattern in patterns]

    def text(self, text: str) -> str:
        """The text without secrets."""
        for hints, pattern in self._known:
            if any(hint in text for hint in hints):
                text = pattern.sub(MARK, text)
        for pattern in self._given:
            text = pattern.sub(MARK, text)
        return text

    def value(self, value: Any) -> Any:
        """The JSON value without secrets in its texts and keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in cast(list[Any], value)]
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in cast(dict[str, Any], value).items()}
        return value


def _checked(pattern: str) -> re.Pattern[str]:
    """A pattern of the user.

    Raises:
        InputError: If it is not a regular expression, or matches the empty text.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise InputError(f"--redact {pattern!r}: this is not a regular expression: {error}") from None
    if compiled.search(""):
        raise InputError(f"--redact {pattern!r}: this matches the empty text; give a pattern of what is to be hidden")
    return compiled
