"""Inputs that fit a task: near its examples, at the numbers of its text, and between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from random import Random
from typing import Any, cast

from flowmind.base.files import dump_json
from flowmind.trace.constants import read_text
from flowmind.trace.task import Task
from tools_registry.specs.schema import validator

MOST = 400
EXCHANGED = 0.25
"""Probability of copying a value from another case."""
_DAYS = 366
"""Days between two dates of an input at most, if a number of the text gives them."""
LONG = 12
"""Maximum length of a list whose length is a number of the text."""


def inputs_like(task: Task, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Inputs that fit the task's schema, none of them an example's.

    Three kinds alternate. An example's input in which one text or number is replaced by one from elsewhere in the
    examples or the task, or by a number next to it, or one date by another that lies such a number of days from a date
    of the input. An input in which all numbers of a list lie on one side of a number from the task, or in which a list
    repeats another input's value, sometimes as often as such a number. An input with a changed value, possibly on top
    of earlier changes: a list shortened, emptied, reordered, with repeated or similar elements, or with all numbers
    shifted; a text with words added or removed.
    """
    random = Random(f"{seed}/{task.id}")
    fits = validator(task.inputs)
    cases = [example.input for example in task.examples]
    seen = {dump_json(case) for case in cases}
    named = dict.fromkeys(constant.value for constant in read_text(task.query).constants)
    numbers = [value for value in named if isinstance(value, int)]
    texts = _texts(cases) + _texts([example.output for example in task.examples])
    texts += [value for value in named if isinstance(value, str)]
    texts = list(dict.fromkeys(texts))
    single = [change for case in cases for change in _exchanges(case, numbers, texts, random)]
    near = list(dict.fromkeys(number + off for number in numbers for off in (0, -1, 1)))
    single += [change for case in cases for change in _dated(case, near)]
    bounded = [
        change for case in cases for limit in near for side in (min, max) for change in _bounded(case, limit, side)
    ]
    bounded += [change for case in cases for change in _all_alike(case, cases, near)]
    for queue in (single, bounded):
        random.shuffle(queue)
    changed = [*cases]
    for turn in range(MOST):
        if turn % 4 == 3 and bounded:
            case = bounded.pop()
        elif turn % 2 and single:
            case = single.pop()
        else:
            case = dict(random.choice(cases if random.random() < 0.6 else changed))
            for _ in range(random.choice((1, 1, 2))):
                name = random.choice(sorted(case))
                others = [other[name] for other in cases if name in other]
                if random.random() < EXCHANGED:
                    case[name] = random.choice(others)
                else:
                    case[name] = _changed(case[name], others, numbers, texts, random)
        key = dump_json(case)
        if key not in seen and fits(case) is None:
            seen.add(key)
            changed.append(case)
            yield case


def _exchanges(value: Any, numbers: Sequence[int], texts: Sequence[str], random: Random) -> Iterator[Any]:
    """The value with one text or number in it replaced."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        near = {number + off for number in numbers for off in (-1, 0, 1)} | {value - 1, value + 1}
        yield from random.sample(sorted(near), min(6, len(near)))
    elif isinstance(value, str):
        yield from random.sample(texts, min(4, len(texts)))
    elif isinstance(value, list):
        items = cast(list[Any], value)
        for place in random.sample(range(len(items)), min(4, len(items))):
            for part in _exchanges(items[place], numbers, texts, random):
                yield [*items[:place], part, *items[place + 1 :]]
    elif isinstance(value, dict):
        for key, part in cast(dict[str, Any], value).items():
            for other in _exchanges(part, numbers, texts, random):
                yield {**value, key: other}


def _dated(case: dict[str, Any], offsets: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The input with one date replaced: by a date of the same input, or one that is some days before or after it."""
    dates = {text: parsed for text in _texts(case) if (parsed := _date(text)) is not None}
    days = dict.fromkeys([0, *(sign * offset for offset in offsets if 0 < offset <= _DAYS for sign in (1, -1))])
    for old in dates:
        for base in dates.values():
            for offset in days:
                yield _replaced(case, old, (base + timedelta(days=offset)).isoformat())


def _date(text: str) -> date | None:
    try:
        found = date.fromisoformat(text) if len(text) == len("2024-05-01") else None
    except ValueError:
        return None
    return found if found is not None and 1 < found.year < 9998 else None


def _replaced(value: Any, old: str, new: str) -> Any:
    """The value with another text in place of one."""
    if isinstance(value, dict):
        return {key: _replaced(part, old, new) for key, part in cast(dict[str, Any], value).items()}
    if isinstance(value, list):
        return [_replaced(part, old, new) for part in cast(list[Any], value)]
    return new if value == old else value


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = list(cast(dict[str, Any], value).values()) if isinstance(value, dict) else value
    if not isinstance(parts, list):
        return []
    return [text for part in cast(list[Any], parts) for text in _texts(part)]


def _changed(value: Any, others: Sequence[Any], numbers: Sequence[int], texts: Sequence[str], random: Random) -> Any:
    """The value with a small change."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        near = [number + off for number in numbers for off in (-1, 0, 1)]
        return random.choice([*near, value + 1, value - 1, 2 * value, value // 2, 0, *_numbers(others)])
    if isinstance(value, float):
        return random.choice([*map(float, numbers), value + 0.5, value - 0.5, 2 * value, *_numbers(others)])
    if isinstance(value, str):
        mixed = "".join(random.sample(value, len(value)))
        other = random.choice([*texts, value])
        several = [f"{value} {other}", f"{other} {value}", *_reworded(value, other, random)]
        several.append(f" {value} ".replace(" ", "  "))
        return random.choice([*texts, "", value.upper(), value[: len(value) // 2], mixed, *several])
    if isinstance(value, list):
        return _list_changed(cast(list[Any], value), others, numbers, texts, random)
    fields = dict(cast(dict[str, Any], value)) if isinstance(value, dict) else {}
    if fields:
        key = random.choice(sorted(fields))
        return {**fields, key: _changed(fields[key], [], numbers, texts, random)}
    return cast(Any, value)


def _reworded(value: str, other: str, random: Random) -> list[str]:
    """The text with one word less, and with another text between two of its words."""
    words = value.split(" ")
    if len(words) < 2:
        return []
    place = random.randrange(len(words))
    return [
        " ".join([*words[:place], *words[place + 1 :]]),
        " ".join([*words[:place], other, *words[place:]]),
    ]


def _numbers(others: Sequence[Any]) -> list[Any]:
    return [other for other in others if is_number(other)]


def _list_changed(
    value: list[Any], others: Sequence[Any], numbers: Sequence[int], texts: Sequence[str], random: Random
) -> list[Any]:
    pool = [part for other in others if isinstance(other, list) for part in cast(list[Any], other)]
    kind = random.choice(("less", "more", "change", "change", "order", "empty", "few", "shift", "repeat", "nearly"))
    items = list(value)
    if kind == "less" and items:
        items.pop(random.randrange(len(items)))
    elif kind == "more" and (pool or texts):
        items.insert(random.randint(0, len(items)), random.choice(pool or texts))
    elif kind == "change" and items:
        place = random.randrange(len(items))
        items[place] = _changed(items[place], pool, numbers, texts, random)
    elif kind == "order":
        random.shuffle(items)
    elif kind == "few":
        items = items[: random.randint(1, 3)]
    elif kind == "empty":
        items = []
    elif kind == "shift":
        by = random.choice((-50, -20, -5, -1, 1, 5, 20, 50))
        items = [_shifted(part, by) for part in items]
    elif kind == "repeat" and items:
        part = random.choice(items)
        items = [part if random.random() < 0.5 else item for item in items]
    elif kind == "nearly" and items:
        part = random.choice(items)
        items = [_respelt(part, random) if random.random() < 0.7 else item for item in items]
    return items


def _respelt(value: Any, random: Random) -> Any:
    """The value with up to half of the characters of its texts replaced."""
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {key: _respelt(part, random) for key, part in fields.items()}
    if not isinstance(value, str) or not value:
        return value
    letters = list(value)
    for place in random.sample(range(len(letters)), random.randint(1, max(1, len(letters) // 2))):
        letters[place] = random.choice("aeinorstxz")
    return "".join(letters)


def _all_alike(
    case: Mapping[str, Any], cases: Sequence[Mapping[str, Any]], sizes: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """The input with a list that repeats the value of another input, at its own length or one of `sizes`."""
    single = [value for value in case.values() if not isinstance(value, list | dict)]
    for name, items in case.items():
        if not isinstance(items, list):
            continue
        lists = (other_case.get(name) for other_case in cases)
        parts = [part for other_case in lists if isinstance(other_case, list) for part in cast(list[Any], other_case)]
        lengths = dict.fromkeys([len(cast(list[Any], items)), *(size for size in sizes if 0 < size <= LONG)])
        for value in single:
            if parts and all(type(part) is type(value) for part in parts):
                yield from ({**case, name: [value] * length} for length in lengths)


def _bounded(value: Any, limit: int, nearer: Callable[[Any, int], Any]) -> Iterator[Any]:
    """The value with the numbers of a list, or of one field of its elements, on one side of a limit."""
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        for key, part in fields.items():
            yield from ({**fields, key: other} for other in _bounded(part, limit, nearer))
    if not isinstance(value, list):
        return
    parts = cast(list[Any], value)
    if any(map(is_number, parts)):
        yield [nearer(part, limit) if is_number(part) else part for part in parts]
    records = [cast(dict[str, Any], part) for part in parts if isinstance(part, dict)]
    if len(records) < len(parts):
        return
    for key in dict.fromkeys(key for record in records for key in record):
        if any(is_number(record.get(key)) for record in records):
            yield [
                {**record, key: nearer(record[key], limit)} if is_number(record.get(key)) else record
                for record in records
            ]


def _shifted(value: Any, by: int) -> Any:
    """The value with all its numbers shifted."""
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {key: _shifted(part, by) for key, part in fields.items()}
    return value + by if is_number(value) else value


def is_number(value: Any) -> bool:
    """Whether a value is a number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)
