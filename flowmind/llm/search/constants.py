"""The constants that a program may use: numbers, quoted texts, field names, texts of the inputs, and lists of these."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from flowmind.llm.search.matching import words
from flowmind.trace.constants import Constant as TextConstant
from flowmind.trace.constants import Text, read_text

_SMALL = (0, 0.5, 1)
"""Numbers whose words often have another meaning, such as "one" and "once"."""
_ILLUSTRATIVE = {"third": 3, "last": -1, "final": -1, "whole": 0}
"""Other words that sometimes stand for a number."""
_SIGNS = {
    "comma": ",", "commas": ",", "hyphen": "-", "hyphens": "-", "dash": "-", "dashes": "-", "space": " ",
    "spaces": " ", "semicolon": ";", "semicolons": ";", "colon": ":", "slash": "/", "underscore": "_",
    "underscores": "_", "period": ".", "dot": ".", "dots": ".", "asterisk": "*", "asterisks": "*", "pipe": "|",
    "hash": "#", "stop": ".", "zero": "0", "zeros": "0", "feed": "\n", "feeds": "\n", "newline": "\n",
}  # fmt: skip
_USUAL: tuple[Any, ...] = (0, 1, 2, 10, 100, "", " ", ", ", ",", "-")
NEW_FIELDS = ("new_1", "new_2")
"""Names of fields that a call adds and the task does not name."""
HOLE = "part"
"""The placeholder in a template made of a quoted text."""
_BRACKETED = re.compile(r"\[(-?\d+(?:\.\d+)?(?:, ?-?\d+(?:\.\d+)?)+)\]")
_FOR_EXAMPLE = re.compile(r"for (?:example|instance)|such as|e\.g\.|as in|becomes?\b|\bso '|\blike '|=")
_AROUND = 40
"""Characters before and after a number that count as its context."""


@dataclass(frozen=True)
class Constant:
    """A value that a program may use."""

    value: Any
    cost: float
    """The prior cost, from 0; higher means less likely."""
    kind: str
    """`number`, `text`, `entry`, `field`, `sign`, `list` or `usual`."""
    names: tuple[str, ...] = ()
    """The `repr` of each named constant in it."""
    context: tuple[str, ...] = ()
    """The stems of the words around it in the text."""


@dataclass(frozen=True)
class Named:
    """A number or text that the task names."""

    value: Any
    weight: float
    """The penalty for a program that does not use it; it is small for an illustration."""
    context: tuple[str, ...]
    unit: str
    """The word after a number."""
    spelled: bool = False
    """Whether it is a number in words."""


def named(text: str, entries: Sequence[str]) -> list[Named]:
    """The numbers, quoted texts and given entries in a task's text, each once.

    Args:
        text: The text.
        entries: Texts of the inputs that the task may name.
    """
    constants: dict[str, Named] = {}

    def add(value: Any, start: int, end: int) -> None:
        sentence = text[max(text.rfind(". ", 0, start), text.rfind("(", 0, start), 0) : end]
        clause = re.split(r"[.;:,()](?:\s|$)", text[start:])[0]
        plain = not _FOR_EXAMPLE.search(sentence) and not _FOR_EXAMPLE.search(clause) and value not in (0, 1, -1)
        weight = 1.0 if plain else 0.2
        if text.count("(", 0, start) > text.count(")", 0, start):
            weight *= 0.6
        if isinstance(value, str) and value not in entries:
            weight *= 0.6
        after = text[end : end + _AROUND]
        around = (
            re.split(r"[.;:](?:\s|$)", text[max(0, start - _AROUND) : start])[-1],
            re.split(r"[.;:](?:\s|$)", after)[0],
        )
        unit = re.match(r"[ -]?(%|[A-Za-z]+)", after)
        old = constants.get(repr(value))
        context = tuple(words(" ".join(around).replace("%", " percent ")))
        constants[repr(value)] = Named(
            value,
            max(weight, old.weight) if old else weight,
            (*old.context, *context) if old else context,
            old.unit if old else unit[1].lower().rstrip("s").replace("%", "percent") if unit else "",
        )

    read = read_text(text)
    spelled = [constant for constant in read.constants if constant.kind == "words" and constant.value not in _SMALL]
    for constant in _of_kind(read, "quoted"):
        add(constant.value, constant.start, constant.end)
    blank = _without_quotes(read)
    for entry in entries:
        if match := re.search(rf"\b{re.escape(entry)}\b", blank):
            add(entry, *match.span())
    for constant in _of_kind(read, "digits"):
        add(constant.value, constant.start, constant.end)
    for constant in spelled:
        if repr(constant.value) not in constants:
            add(constant.value, constant.start, constant.end)
            constants[repr(constant.value)] = replace(constants[repr(constant.value)], weight=0.2, spelled=True)
    return list(constants.values())


def _of_kind(text: Text, kind: str) -> list[TextConstant]:
    return [constant for constant in text.constants if constant.kind == kind]


def _without_quotes(text: Text) -> str:
    """The text with its quoted texts replaced by spaces."""
    blank = text.text
    for quoted in _of_kind(text, "quoted"):
        blank = blank[: quoted.start] + " " * (quoted.end - quoted.start) + blank[quoted.end :]
    return blank


def _illustrative(text: Text) -> list[tuple[int, int, Any]]:
    """The words of the text that may stand for a number: start, end and number."""
    small = [
        (constant.start, constant.end, constant.value)
        for constant in _of_kind(text, "words")
        if constant.value in _SMALL
    ]
    words = re.finditer(r"[a-z]+", text.text.lower())
    other = [(*match.span(), _ILLUSTRATIVE[match[0]]) for match in words if match[0] in _ILLUSTRATIVE]
    return sorted([*small, *other])


def constants(
    text: str, cases: Sequence[dict[str, Any]], outputs: Sequence[Any], names: Sequence[Named]
) -> list[Constant]:
    """The constants for a task, each value once, with its likeliest kind."""
    by_key: dict[str, Constant] = {}

    def add(value: Any, cost: float, kind: str, of: Sequence[Named] = (), context: Sequence[str] = ()) -> None:
        around = tuple(context) or tuple(itertools.chain.from_iterable(part.context for part in of))
        by_key.setdefault(repr(value), Constant(value, cost, kind, tuple(repr(part.value) for part in of), around))

    fields = field_names(cases, text)
    lower = set(re.findall(r"[a-z]+", text.lower()))
    for name in names:
        add(name.value, 0.05, "text" if isinstance(name.value, str) else "number", [name])
    for name in names:
        if name.unit == "percent" and not isinstance(name.value, str):
            add(name.value / 100, 0.15, "number", [name])
    for value in _inside([{"": output} for output in outputs]):
        keys = list(cast(dict[str, Any], value)) if isinstance(value, dict) else []
        if len(keys) > 1 and set(keys) <= set(fields):
            add(keys, 0.05, "fields")
        elif set(keys) & set(fields):
            for key in keys:
                if key not in fields:
                    add(key, 0.05, "new")
    for value, of in _lists(text, names):
        add(value, 0.15, "list", of)
    for name in fields:
        in_text = set(re.findall(r"[a-z]+", name.lower())) & (lower | {word + "s" for word in lower})
        add(name, 0.05 if in_text else 0.15, "field")
    for start, end, value in _illustrative(read_text(text)):
        add(value, 0.2, "number", context=words(text[max(0, start - _AROUND) : end + _AROUND]))
    for name in names:
        if isinstance(name.value, int) and name.value > 0:
            add(-name.value, 0.3, "number", [name])
        if isinstance(name.value, str):
            for sign in re.findall(r"(?<=\w)[^\w\s](?=\w)", name.value):
                add(sign, 0.15, "sign")
    for word in sorted(lower & set(_SIGNS)):
        add(_SIGNS[word], 0.15, "sign")
    for template, name in _templates(names, outputs):
        add(template, 0.05, "text", [name])
    for value in _USUAL:
        add(value, 0.5, "usual")
    for value in NEW_FIELDS:
        add(value, 0.1, "new")
    return list(by_key.values())


def _lists(text: str, names: Sequence[Named]) -> Iterator[tuple[Any, list[Named]]]:
    """Lists and objects of the constants in a text, with the named constants in them.

    These are lists in brackets; the quoted texts; the numbers of one unit, also with 0 before them; two to four
    consecutive numbers, also sorted; pairs of quoted texts as an object.
    """
    numbers = [name for name in names if not isinstance(name.value, str) and not name.spelled][:8]
    texts = [name for name in names if isinstance(name.value, str)]
    for match in _BRACKETED.finditer(text):
        value = [float(part) if "." in part else int(part) for part in match[1].split(",")]
        yield value, [name for name in numbers if name.value in value]
    units = {name.unit: [number for number in numbers if number.unit == name.unit] for name in numbers}
    for same in units.values():
        if len(same) > 1:
            values = [name.value for name in same]
            yield values, same
            yield [0, *values], same
    if len(texts) > 1:
        yield [name.value for name in texts], texts
        for start in range(len(texts)):
            for length in (2, 3):
                run = texts[start : start + length]
                if len(run) == length < len(texts):
                    yield [name.value for name in run], run
    if len(texts) in (2, 4, 6):
        pairs = zip(texts[::2], texts[1::2], strict=True)
        yield {key.value: other.value for key, other in pairs}, texts
    for length in (2, 3, 4):
        for start in range(len(numbers) - length + 1):
            run = numbers[start : start + length]
            values = [name.value for name in run]
            yield values, run
            yield sorted(values), run


def _templates(names: Sequence[Named], outputs: Sequence[Any]) -> Iterator[tuple[str, Named]]:
    """Quoted texts that begin and end as all answers do, with a placeholder for the word in between."""
    answers = [output.split(" ") for output in outputs if isinstance(output, str)]
    for name in names:
        if isinstance(name.value, str) and answers and len(answers) == len(outputs):
            parts = name.value.split(" ")
            before = min(_common(parts, answer) for answer in answers)
            after = min(_common(parts[::-1], answer[::-1]) for answer in answers)
            if before + after == len(parts) - 1:
                yield " ".join([*parts[:before], f"{{{HOLE}}}", *parts[len(parts) - after :]]), name


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the common prefix of two lists of words."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def field_names(cases: Sequence[dict[str, Any]], text: str) -> list[str]:
    """The keys of objects in the inputs, and the texts of each list that the task quotes in full, such as a header."""
    names: dict[str, None] = {}
    for value in _inside(cases):
        if isinstance(value, dict):
            names |= dict.fromkeys(cast(dict[str, Any], value))
        elif isinstance(value, list) and value and all(f"'{part}'" in text for part in cast(list[Any], value)):
            names |= dict.fromkeys(cast(list[str], value))
    return list(names)[:24]


def entries(cases: Sequence[dict[str, Any]]) -> list[str]:
    """The texts in the inputs that may be names: texts of one to four words, and capitalised keys."""
    texts: dict[str, None] = {}
    for value in _inside(cases):
        if isinstance(value, str) and 2 < len(value) < 40 and value.count(" ") < 4:
            texts[value] = None
        if isinstance(value, dict):
            texts |= {key: None for key in cast(dict[str, Any], value) if len(key) > 2 and key[0].isupper()}
    return list(texts)


def _inside(cases: Sequence[dict[str, Any]]) -> Iterator[Any]:
    """The values of the inputs and their parts; of a list the first twelve items."""
    stack: list[Any] = [value for case in reversed(cases) for value in reversed(case.values())]
    while stack:
        value = stack.pop()
        yield value
        if isinstance(value, dict):
            stack += reversed(list(cast(dict[str, Any], value).values()))
        elif isinstance(value, list):
            stack += reversed(cast(list[Any], value)[:12])
