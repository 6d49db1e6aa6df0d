"""Removes keys and passwords from what servers send: a server may repeat them in replies and errors."""

from __future__ import annotations

import base64
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from flowmind.base.secrets import MARK

_SHORTEST = 6
"""Shorter secrets are not searched for: they are parts of words."""
_PLACEHOLDERS = {"dummy-key", "lm-studio", "no-key", "not-needed", "ollama", "sk-no-key-required"}
"""Keys that are none: servers without keys are given them."""
_ESCAPE = re.compile(
    r"\\*(?:\\u00([0-9a-f]{2})|\\x([0-9a-f]{2})|%([0-9a-f]{2})|&#x0*([0-9a-f]{1,2});)|&#0*([0-9]{1,3});|\\+",
    re.IGNORECASE,
)
"""A character as JSON, Python, URLs or HTML escape it; JSON inside of JSON doubles the backslashes."""
_SECRET_NAME = re.compile("auth|key|token|secret|cookie|password|sig", re.IGNORECASE)


class Redactor:
    """Replaces secrets in texts: as they are, in base64, and with characters escaped as in JSON, Python, URLs or HTML.

    Args:
        secrets: The secrets; those of fewer than 6 characters, and usual placeholders, are left out.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        known = {secret for secret in secrets if len(secret) >= _SHORTEST and secret.lower() not in _PLACEHOLDERS}
        self._forms = {_ESCAPE.sub(_unescaped, form) for secret in known for form in _forms(secret)}

    def text(self, text: str) -> str:
        """The text with `MARK` for each secret."""
        plain = _ESCAPE.sub(_unescaped, text)
        if not any(form in plain for form in self._forms):
            return text
        places = list(_places(text))
        matches = [match for form in self._forms for match in re.finditer(re.escape(form), plain)]
        parts, end = list[str](), 0
        for first, last in sorted((places[match.start()][0], places[match.end() - 1][1]) for match in matches):
            parts += [text[end:first], MARK] if first >= end else []
            end = max(end, last)
        return "".join([*parts, text[end:]])

    def value(self, value: Any) -> Any:
        """The JSON value with `MARK` for each secret in its texts and keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in cast(list[Any], value)]
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in cast(dict[str, Any], value).items()}
        return value


def redactor(headers: Mapping[str, str], *urls: str | None) -> Redactor:
    """The redactor for the secrets of requests: in their headers, and in the URLs of the server and of the proxy."""
    values = [value for name, value in headers.items() if _SECRET_NAME.search(name)]
    in_urls = (secret for url in urls if url for secret in _in_url(url))
    return Redactor([*(value.partition(" ")[2] or value for value in values), *in_urls])


def _in_url(url: str) -> Iterator[str]:
    """The password of a URL, or a user without one, and the secret values of its query; encoded and decoded."""
    user_info = (re.search(r"://(.*)@", url) or ["", ""])[1]
    user, colon, password = user_info.partition(":")
    pairs = (pair.partition("=") for pair in url.partition("?")[2].partition("#")[0].split("&"))
    values = (value for name, _, value in pairs if _SECRET_NAME.search(name))
    for secret in (user_info, password if colon else user, *values):
        yield from (secret, urllib.parse.unquote(secret), urllib.parse.unquote_plus(secret))


def _forms(secret: str) -> Iterator[str]:
    """The secret, and its digits in base64 of any text around it: one form for each place in a group of three."""
    yield secret
    data = secret.encode()
    for shift in range(3):
        digits = base64.b64encode(bytes(shift) + data).decode()
        inside = digits[-(-8 * shift // 6) : 8 * (shift + len(data)) // 6]
        yield from (inside, inside.translate(str.maketrans("+/", "-_")))


def _unescaped(match: re.Match[str]) -> str:
    """The character of an escape; none for backslashes alone."""
    hexadecimal = match[1] or match[2] or match[3] or match[4]
    return chr(int(hexadecimal, 16)) if hexadecimal else chr(int(match[5])) if match[5] else ""


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Where each character of the text without escapes begins and ends in the text."""
    end = 0
    for match in _ESCAPE.finditer(text):
        yield from ((place, place + 1) for place in range(end, match.start()))
        end = match.end()
        if _unescaped(match):
            yield match.span()
    yield from ((place, place + 1) for place in range(end, len(text)))
