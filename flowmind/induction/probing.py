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


def inputs_like(task: Task, reading: Reading, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Inputs that fit the task's schema, none of them an example's.

    The examples' inputs with one or two values changed: a number to one that the text names or next to it, a text or
    an element to one of another example, a list shortened, emptied, doubled in part, or in another order.
    """
    random = Random(f"{seed}/{task.id}")
    fits = validator(task.inputs)
    cases = [example.input for example in task.examples]
    seen = {dump_json(case) for case in cases}
    numbers = [value for value in reading.constants if isinstance(value, int) and not isinstance(value, bool)]
    texts = _texts(cases) + [value for value in reading.constants if isinstance(value, str)]
    for _ in range(MOST):
        case = dict(random.choice(cases))
        for _ in range(random.choice((1, 1, 2))):
            name = random.choice(sorted(case))
            others = [other[name] for other in cases if name in other]
            case[name] = _changed(case[name], others, numbers, texts, random)
        key = dump_json(case)
        if key not in seen and fits(case) is None:
            seen.add(key)
            yield case


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
        return random.choice([*texts, "", value.upper(), value[: len(value) // 2]])
    if isinstance(value, list):
        return _list_changed(cast(list[Any], value), others, numbers, texts, random)
    if isinstance(value, dict) and value:
        held = dict(cast(dict[str, Any], value))
        key = random.choice(sorted(held))
        held[key] = _changed(held[key], [], numbers, texts, random)
        return held
    return value


def _numbers(others: Sequence[Any]) -> list[Any]:
    return [other for other in others if isinstance(other, int | float) and not isinstance(other, bool)]


def _list_changed(
    value: list[Any], others: Sequence[Any], numbers: Sequence[int], texts: Sequence[str], random: Random
) -> list[Any]:
    pool = [part for other in others if isinstance(other, list) for part in cast(list[Any], other)]
    kind = random.choice(("less", "more", "change", "change", "order", "empty", "few"))
    held = list(value)
    if kind == "less" and held:
        held.pop(random.randrange(len(held)))
    elif kind == "more" and pool:
        held.insert(random.randint(0, len(held)), random.choice(pool))
    elif kind == "change" and held:
        place = random.randrange(len(held))
        held[place] = _changed(held[place], pool, numbers, texts, random)
    elif kind == "order":
        random.shuffle(held)
    elif kind == "few":
        held = held[: random.randint(1, 3)]
    elif kind == "empty":
        held = []
    return held
