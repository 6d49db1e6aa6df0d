"""What a secret looks like: the names of fields that hold one, and the forms of keys. Texts are kept without them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, cast

from flowmind.base.errors import InputError

MARK = "..."
"""The text in place of a secret."""
_NAME = re.compile(
    r"(?:api[_-]?key|password|passwd|passphrase|secret|private[_-]?key|credentials?"
    r"|(?:access|auth|refresh|bearer|session|id)[_-]?token)$|^(?:proxy[_-])?authorization$|^(?:set-)?cookie$",
    re.IGNORECASE,
)
"""Names of fields that hold a secret. `token` and `key` alone do not: they are pages and entries, too."""
_KEYS = (
    r"\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}",
    r"\b(?:gh[opusr]|github_pat|glpat|hf|npm|pypi|xox[abeprs])[_-][A-Za-z0-9_-]{16,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_-]{35}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    r"(?<=Bearer )[A-Za-z0-9._~+/=-]{16,}",
    r"(?<=Basic )[A-Za-z0-9+/=]{16,}",
    r"(?<=://)[^\s/:@'\"<>]*:[^\s/@'\"<>]+(?=@)",
    r"(?i:(?<=password=)|(?<=passwd=)|(?<=secret=)|(?<=api_key=)|(?<=apikey=)|(?<=access_token=))[^\s&'\",;]+",
)
"""The forms of keys that services give out, of keys in headers and URLs, and of passwords in URLs."""


_PATTERNS = [re.compile(pattern) for pattern in _KEYS]
_HINTS = ("-", "_", "akia", "asia", "aiza", "eyj", "bearer ", "basic ", "://", "=")
"""What a text with a key has, in small letters; texts that have none of it are not searched any further."""


class Redaction:
    """Removes secrets from JSON values.

    Args:
        patterns: Regular expressions of further texts to remove.
        mark: Makes the text that stands in place of a secret; by default `MARK`.

    Raises:
        InputError: If a pattern is not a regular expression, or matches the empty text.
    """

    def __init__(self, patterns: Iterable[str] = (), mark: Callable[[str], str] = lambda _: MARK) -> None:
        found: list[re.Pattern[str]] = []
        for pattern in patterns:
            try:
                found.append(re.compile(pattern))
            except (re.error, RecursionError, OverflowError) as error:
                raise InputError(f"{pattern!r} is not a regular expression: {error}") from None
            if found[-1].match(""):
                raise InputError(f"{pattern!r} matches the empty text; give an expression that matches a secret")
        self._patterns = found
        self._mark = mark

    def text(self, text: str) -> str:
        """The text with a mark in place of each secret."""
        plain = text.lower()
        for pattern in (*self._patterns, *(_PATTERNS if any(hint in plain for hint in _HINTS) else ())):
            text = pattern.sub(lambda match: self._mark(match.group()), text)
        return text

    def value(self, value: Any) -> Any:
        """The JSON value with a mark in place of secrets, in texts, keys, and fields that hold secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in cast(list[Any], value)]
        if isinstance(value, dict):
            return {self.text(key): self._field(key, item) for key, item in cast(dict[str, Any], value).items()}
        return value

    def _field(self, name: str, value: Any) -> Any:
        return self._mark(value) if isinstance(value, str) and value and _NAME.search(name) else self.value(value)
