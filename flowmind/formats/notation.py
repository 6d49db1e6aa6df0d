"""Bindings as text that can be read back: `order.items[0].price`, `0.2`, `"x"`, `[a, 1]`, `{total: t, "a b": 2}`.

A bare word is a variable; `.name`, `["any key"]` and `[0]` behind it are a path. Everything else is JSON, in which a
variable may take the place of any value. `true`, `false` and `null` are constants, never variables. Errors have the
column, counted in characters from 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from flowmind.base.files import dump_json
from flowmind.workflow.document import Binding, ListOf, Literal_, ObjectOf, Var
from tools_registry.specs.values import CaseError, clean

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SPACE = re.compile(r"\s*")
_INDEX = re.compile(r"\[\s*(-?[0-9]{1,18})\s*\]")
_HIDDEN = re.compile(r"(\\*)([\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff])")
_MAX_NAME = 64
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None}
_MAX_DEPTH = 60


class Misread(ValueError):
    """The text is not a binding."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(f"column {at + 1}: {message}")
        self.message = message
        self.at = at


def shortened(text: str, most: int) -> str:
    """A text of at most some characters; the last of a longer one is `…`."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def outside_quotes(text: str) -> Iterator[tuple[int, str]]:
    """The characters outside of quotes, with their places; at the end the quote that is not closed."""
    quote, escaped = "", False
    for at, character in enumerate(text):
        if quote and (escaped or character == "\\"):
            escaped = not escaped
        elif quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        else:
            yield at, character
    if quote:
        yield len(text), quote


def escaped(text: str) -> str:
    """A text whose constants hold nothing that YAML, UTF-8 or an editor takes for more than a letter: no ends of lines,
    no changes of direction, no halves of pairs. JSON and expressions have the same escape for these."""

    def escape(hidden: re.Match[str]) -> str:
        # A backslash before it would make the escape plain text.
        more = "\\" if len(hidden[1]) % 2 else ""
        return f"{hidden[1]}{more}\\u{ord(hidden[2]):04x}"

    return _HIDDEN.sub(escape, text)


def write_binding(
    binding: Binding, variable: Callable[[Var], str] | None = None, key: Callable[[str], str] | None = None
) -> str:
    """A binding as text; `read_binding` gives an equal one back.

    Args:
        binding: The binding.
        variable: How another language writes a variable with its path.
        key: How another language writes the key of an object.

    Raises:
        ValueError: If a variable is named like a constant of JSON.
    """
    match binding:
        case Var():
            return (variable or _variable)(binding)
        case Literal_(value=value):
            return dump_json(value)
        case ListOf(list=parts):
            return f"[{', '.join(write_binding(part, variable, key) for part in parts)}]"
        case ObjectOf(object=fields):
            parts = [f"{(key or _key)(name)}: {write_binding(part, variable, key)}" for name, part in fields.items()]
            return f"{{{', '.join(parts)}}}"


def _variable(binding: Var) -> str:
    if binding.var in _CONSTANTS:
        raise ValueError(f"a variable named {binding.var!r} reads as a constant")
    return binding.var + "".join(map(_step, binding.path))


def _step(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if _WORD.fullmatch(part) else f"[{dump_json(part)}]"


def _key(name: str) -> str:
    return name if _WORD.fullmatch(name) else dump_json(name)


def read_binding(text: str) -> Binding:
    """Reads a binding. A list or object without a variable in it is one constant.

    Raises:
        Misread: If the text is not a binding, with the column.
    """
    reader = Reader(text)
    binding = reader.binding()
    reader.end()
    return binding


class Reader:
    """Reads bindings from a text, one after the other."""

    def __init__(self, text: str, at: int = 0) -> None:
        self.text = text
        self.at = at
        self.depth = 0

    def skip(self) -> None:
        """Skips white space."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        self.skip()
        return self.text[self.at : self.at + 1]

    def take(self, wanted: str) -> None:
        """Consumes a text.

        Raises:
            Misread: If the text does not come next.
        """
        self.skip()
        if not self.text.startswith(wanted, self.at):
            raise Misread(f"expected {wanted!r}, found {self.text[self.at : self.at + 20]!r}", self.at)
        self.at += len(wanted)

    def taken(self, wanted: str) -> bool:
        """Consumes a text if it comes next, and returns whether it did."""
        self.skip()
        matches = self.text.startswith(wanted, self.at)
        self.at += len(wanted) if matches else 0
        return matches

    def word(self) -> str:
        """Reads a name.

        Raises:
            Misread: If no name comes next.
        """
        self.skip()
        match = _WORD.match(self.text, self.at)
        if match is None:
            raise Misread(f"expected a name, found {self.text[self.at : self.at + 20]!r}", self.at)
        self.at = match.end()
        return match[0]

    def end(self) -> None:
        """Checks that the end of the text is reached.

        Raises:
            Misread: If more text follows.
        """
        if self.peek():
            raise Misread(f"unexpected {self.text[self.at : self.at + 20]!r}", self.at)

    def arguments(self, closing: str = ")") -> dict[str, Binding]:
        """Reads `name=binding, …` up to a closing text, and consumes that.

        Raises:
            Misread: If the text has another form, or a name comes twice.
        """
        bindings: dict[str, Binding] = {}
        while not self.taken(closing):
            if bindings:
                self.take(",")
            self.skip()
            begins = self.at
            name = self.word()
            if name in bindings:
                raise Misread(f"{name!r} comes twice", begins)
            self.take("=")
            bindings[name] = self.binding()
        return bindings

    def binding(self) -> Binding:
        """Reads a binding.

        Raises:
            Misread: If no binding comes next.
        """
        self.skip()
        begins = self.at
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise Misread("nests too deeply", begins)
        binding = self._binding()
        self.depth -= 1
        return binding

    def _binding(self) -> Binding:
        match self.peek():
            case "[":
                return self._list()
            case "{":
                return self._object()
            case character if character.isascii() and character.isalpha() and not self._at_constant():
                return self._variable()
            case _:
                return Literal_(value=self.constant())

    def _at_constant(self) -> bool:
        match = _WORD.match(self.text, self.at)
        return match is not None and match[0] in _CONSTANTS

    def _list(self) -> Binding:
        self.take("[")
        parts: list[Binding] = []
        while not self.taken("]"):
            if parts:
                self.take(",")
            parts.append(self.binding())
        values = [part.value for part in parts if isinstance(part, Literal_)]
        return Literal_(value=values) if len(values) == len(parts) else ListOf(list=tuple(parts))

    def _object(self) -> Binding:
        self.take("{")
        fields: dict[str, Binding] = {}
        while not self.taken("}"):
            if fields:
                self.take(",")
            self.skip()
            begins = self.at
            quoted = self.peek() == '"'
            name = self.constant() if quoted else self.word()
            if name in fields:
                raise Misread(f"{name!r} comes twice", begins)
            self.take(":")
            fields[name] = self.binding()
        values = {name: part.value for name, part in fields.items() if isinstance(part, Literal_)}
        return Literal_(value=values) if len(values) == len(fields) else ObjectOf(object=fields)

    def _variable(self) -> Binding:
        begins = self.at
        name = self.word()
        if len(name) > _MAX_NAME:
            raise Misread(f"a name of {len(name)} characters, at most {_MAX_NAME} are allowed", begins)
        path: list[str | int] = []
        while True:
            if self.text.startswith(".", self.at):
                self.at += 1
                path.append(self.word())
            elif match := _INDEX.match(self.text, self.at):
                self.at = match.end()
                path.append(int(match[1]))
            elif self.text.startswith('["', self.at):
                self.at += 1
                path.append(self.constant())
                self.take("]")
            else:
                return Var(var=name, path=tuple(path))

    def constant(self) -> Any:
        """Reads a JSON value within the limits of values.

        Raises:
            Misread: If no value comes next.
        """
        self.skip()
        try:
            value, end = json.JSONDecoder().raw_decode(self.text, self.at)
            value = clean(value)
        except (ValueError, RecursionError):
            raise Misread(f"expected a value, found {self.text[self.at : self.at + 20]!r}", self.at) from None
        except CaseError as error:
            raise Misread(error.message, self.at) from None
        self.at = end
        return value
