"""Inputs of our own making: near the examples' and at the limits that the task's text names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, cast

from flowmind.files import dump_json
from flowmind.induction.reading import Reading
from flowmind.task import Task
from tools_registry.schema import validator

MOST = 400
EXCHANGED = 0.25
"""How often a value is taken over from another case."""


def inputs_like(task: Task, reading: Reading, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Inputs that fit the task's schema, none of them an example's.

    In turn: an example's input with one text or number in it exchanged for one that stands elsewhere in the examples
    or in the task, or next to that; and one with a list or a value changed, at times on top of an earlier change: a
    list shortened, emptied, in another order, all its numbers shifted.
    """
    random = Random(f"{seed}/{task.id}")
    fits = validator(task.inputs)
    cases = [example.input for example in task.examples]
    seen = {dump_json(case) for case in cases}
    numbers = [value for value in reading.constants if isinstance(value, int) and not isinstance(value, bool)]
    texts = _texts(cases) + _texts([example.output for example in task.examples])
    texts += [value for value in reading.constants if isinstance(value, str)]
    texts = list(dict.fromkeys(texts))
    single = [change for case in cases for change in _exchanges(case, numbers, texts, random)]
    random.shuffle(single)
    changed = [*cases]
    for turn in range(MOST):
        if turn % 2 and single:
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
    """A value with one text or number in it exchanged."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        near = {number + off for number in numbers for off in (-1, 0, 1)} | {value - 1, value + 1}
        yield from random.sample(sorted(near), min(6, len(near)))
    elif isinstance(value, str):
        yield from random.sample(texts, min(4, len(texts)))
    elif isinstance(value, list):
        held = cast(list[Any], value)
        for place in random.sample(range(len(held)), min(4, len(held))):
            for part in _exchanges(held[place], numbers, texts, random):
                yield [*held[:place], part, *held[place + 1 :]]
    elif isinstance(value, dict):
        for key, part in cast(dict[str, Any], value).items():
            for other in _exchanges(part, numbers, texts, random):
                yield {**value, key: other}


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = list(cast(dict[str, Any], value).values()) if isinstance(value, dict) else value
    if not isinstance(parts, list):
        return []
    return [text for part in cast(list[Any], parts) for text in _texts(part)]


def _changed(value: Any, others: Sequence[Any], numbers: Sequence[int], texts: Sequence[str], random: Random) -> Any:
    """A value, changed a little."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        near = [number + off for number in numbers for off in (-1, 0, 1)]
        return random.choice([*near, value + 1, value - 1, 2 * value, value // 2, 0, *_numbers(others)])
    if isinstance(value, float):
        return random.choice([*map(float, numbers), value + 0.5, value - 0.5, 2 * value, *_numbers(others)])
    if isinstance(value, str):
        mixed = "".join(random.sample(value, len(value)))
        return random.choice([*texts, "", value.upper(), value[: len(value) // 2], mixed])
    if isinstance(value, list):
        return _list_changed(cast(list[Any], value), others, numbers, texts, random)
    held = dict(cast(dict[str, Any], value)) if isinstance(value, dict) else {}
    if held:
        key = random.choice(sorted(held))
        return {**held, key: _changed(held[key], [], numbers, texts, random)}
    return cast(Any, value)


def _numbers(others: Sequence[Any]) -> list[Any]:
    return [other for other in others if isinstance(other, int | float) and not isinstance(other, bool)]


def _list_changed(
    value: list[Any], others: Sequence[Any], numbers: Sequence[int], texts: Sequence[str], random: Random
) -> list[Any]:
    pool = [part for other in others if isinstance(other, list) for part in cast(list[Any], other)]
    kind = random.choice(("less", "more", "change", "change", "order", "empty", "few", "shift"))
    held = list(value)
    if kind == "less" and held:
        held.pop(random.randrange(len(held)))
    elif kind == "more" and (pool or texts):
        held.insert(random.randint(0, len(held)), random.choice(pool or texts))
    elif kind == "change" and held:
        place = random.randrange(len(held))
        held[place] = _changed(held[place], pool, numbers, texts, random)
    elif kind == "order":
        random.shuffle(held)
    elif kind == "few":
        held = held[: random.randint(1, 3)]
    elif kind == "empty":
        held = []
    elif kind == "shift":
        by = random.choice((-50, -20, -5, -1, 1, 5, 20, 50))
        held = [_shifted(part, by) for part in held]
    return held


def _shifted(value: Any, by: int) -> Any:
    """The numbers in a value, all changed by as much."""
    if isinstance(value, dict):
        held = cast(dict[str, Any], value)
        return {key: _shifted(part, by) for key, part in held.items()}
    return value + by if isinstance(value, int | float) and not isinstance(value, bool) else value
