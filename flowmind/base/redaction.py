"""Removes keys, tokens and passwords from what is stored of other programs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

from flowmind.base.errors import InputError

MARK = "[redacted]"
"""The text in place of a secret."""
_KNOWN = (
    r"(?<![A-Za-z0-9])(?:sk|rk|pk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic, Stripe
    r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{20,}",
    r"(?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{20,}",
    r"(?<![A-Za-z0-9])glpat-[A-Za-z0-9_-]{16,}",
    r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{20,}",
    r"(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])",
    r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}",
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # JSON Web Tokens
    r"(?<=://)[^\s/'\"<>@:]+:[^\s/'\"<>@]+(?=@)",  # the user and the password of a URL
    r"(?i:(?<=bearer )|(?<=basic ))[A-Za-z0-9._~+/=-]{16,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
)


class Redaction:
    """Replaces what looks like a secret by `MARK`: keys of well-known services, bearer tokens, private keys.

    Args:
        patterns: More regular expressions; what they match is replaced as well.

    Raises:
        InputError: If a pattern is not a regular expression, or matches the empty text.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._pattern = re.compile("|".join([*_KNOWN, *map(_checked, patterns)]), re.DOTALL)

    def text(self, text: str) -> str:
        """The text without secrets."""
        return self._pattern.sub(MARK, text)

    def value(self, value: Any) -> Any:
        """The JSON value without secrets in its texts and keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in cast(list[Any], value)]
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in cast(dict[str, Any], value).items()}
        return value


def _checked(pattern: str) -> str:
    """A pattern that can stand beside others.

    Raises:
        InputError: If it is not a regular expression, or matches the empty text.
    """
    try:
        compiled = re.compile(f"(?:{pattern})")
    except re.error as error:
        raise InputError(f"--redact {pattern!r}: this is not a regular expression: {error}") from None
    if compiled.search(""):
        raise InputError(f"--redact {pattern!r}: this matches the empty text; give a pattern of what is to be hidden")
    return compiled.pattern
