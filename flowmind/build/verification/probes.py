"""Probes: generated inputs are executed where candidate workflows disagree, and the workflow is derived again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from random import Random
from typing import Any, cast

from flowmind.base.files import dump_json
from flowmind.build.induction.planning import variants
from flowmind.build.induction.terms import is_number
from flowmind.build.induction.wording import Reading
from flowmind.build.verification.trials import Best, Work, choose, with_conditions
from flowmind.trace.events import Trace
from flowmind.trace.task import Task
from flowmind.workflow.document import ToolNode, Workflow
from tools_registry.specs.schema import validator

MOST = 400
EXCHANGED = 0.25
"""Probability of copying a value from another case."""
LONG = 12
"""Maximum length of a list whose length is a number of the text."""


def inputs_like(task: Task, reading: Reading, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Inputs that fit the task's schema, none of them an example's.

    Three kinds alternate. An example's input in which one text or number is replaced by one from elsewhere in the
    examples or the task, or by a number next to it. An input in which all numbers of a list lie on one side of a number
    from the task, or in which a list repeats another input's value, sometimes as often as such a number. An input with
    a changed value, possibly on top of earlier changes: a list shortened, emptied, reordered, with repeated or similar
    elements, or with all numbers shifted; a text with words added or removed.
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
    near = list(dict.fromkeys(number + off for number in numbers for off in (0, -1, 1)))
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


TRIED = 150
"""Inputs that are looked at for a disagreement."""
RIVALS = 10
"""Candidates that are compared, the workflow itself included."""
EQUAL = 2
"""Of them with another condition in the same place."""
LOOKED_AT = 8
"""Candidates of a condition that are tried to find these."""
ENOUGH = 16
"""Traces from which a workflow is derived at most; more of them seldom show anything new."""
CALLS = 120
"""Calls in all these traces at most: the search takes longer with each."""
PATIENCE = 3
"""Derivations without a gain after which the workflow stays as it is."""


async def probe(work: Work, best: Best | None, most: int) -> Best | None:
    """Executes generated inputs, and derives the workflow again from those that it does not solve, one at a time.

    An agent executes only inputs on which candidates disagree, because its executions cost and may be wrong. Gold
    traces are right and cost nothing: inputs on which candidates disagree alternate with any inputs, because any input
    may take an arm that no example took.

    Args:
        work: The task and its traces.
        best: The workflow so far.
        most: Maximum number of executions.
    """
    cases = list(inputs_like(work.task, work.reading, work.settings.seed))
    split = 0 if not work.trusted else len(cases) - min(TRIED, len(cases) // 2)
    dispute = _Dispute(work, cases[split : split + TRIED])
    remaining = chain(cases[:split], dispute.rest() if work.trusted else ())
    done = 0
    while done < most:
        begun = done
        batch = list(islice(remaining, (most - done + 1) // 2))
        for inputs in batch:
            done += await _executed(work, inputs)
        if work.trusted:
            best = await _derived_again(work, best)
        while (
            best is not None and done < most and work.may_execute and (inputs := await dispute.next(best)) is not None
        ):
            if await _executed(work, inputs):
                done += 1
                best = await _derived_again(work, best)
        if not work.trusted or best is None or (done == begun and not batch):
            break
    return best


async def _executed(work: Work, inputs: dict[str, Any]) -> bool:
    """Executes an input; False if it has no answer."""
    if not await work.probe(inputs):
        return False
    work.mends.append("probe")
    return True


async def _derived_again(work: Work, best: Best | None) -> Best | None:
    """The workflow, derived again from one more probe that it does not solve, as long as that solves more."""
    if best is not None:
        best.missed = await work.missed(best.workflow)
    vain = 0
    while vain < (PATIENCE if best is not None else PATIENCE + 1) and (best is None or best.missed):
        unsolved = work.spare.intersection(best.missed) if best is not None else work.spare
        if not unsolved or work.built_from >= ENOUGH or sum(len(run.calls) for run in work.runs()) > CALLS:
            break
        # the shortest trace shows what is missing most clearly; without a gain, longer ones are added
        ordered = sorted(unsolved, key=lambda place: (len(work.traces[place].calls), place))
        work.spare.difference_update(ordered[: vain + 1])
        candidate = await choose(work, best)
        vain += 1
        if candidate is not None and (best is None or candidate.rank < best.rank):
            candidate.first = best.first if best is not None else 0
            best = candidate
            vain = 0
    return best


class _Dispute:
    """The answers of candidates on generated inputs; each candidate is run once on each input."""

    def __init__(self, work: Work, cases: Sequence[dict[str, Any]]) -> None:
        self._work, self._cases = work, list(cases)
        self._answers: dict[str, list[str]] = {}
        self._used: set[int] = set()
        self._seen: set[str] = set()

    async def next(self, best: Best) -> dict[str, Any] | None:
        """The first input on which the candidates give several answers, or with a new value; None if there is none.

        Each input is returned once.
        """
        rows = [await self._on_all(rival) for rival in await _rivals(self._work, best)]
        for place, (values, *answers) in enumerate(zip(await self._new(best), *rows, strict=True)):
            if place not in self._used and (values or len({*answers}) > 1):
                self._used.add(place)
                self._seen |= values
                return self._cases[place]
        return None

    def rest(self) -> Iterator[dict[str, Any]]:
        """The inputs that were not returned yet."""
        for place, case in enumerate(self._cases):
            if place not in self._used:
                self._used.add(place)
                yield case

    async def _new(self, best: Best) -> list[set[str]]:
        """For each input the new values of results that nothing in the workflow reads.

        A value is new if no trace has it on the same path. A call whose result is not read most likely serves a
        condition that the traces do not show yet.
        """
        waiting = best.draft.plan.waiting if best.draft is not None else frozenset[str]()
        calls = [node for node in best.workflow.nodes if isinstance(node, ToolNode)]
        names = {node.id: node.output for node in calls if node.output in waiting}
        if not names:
            return [set() for _ in self._cases]
        runs = await self._work.run_on(best.workflow, [trace.inputs for trace in self._work.traces])
        known = {value for run in runs for value in _values(run, names)} | self._seen
        return [
            {*_values(run, names)} - known if run.error is None else set()
            for run in await self._work.run_on(best.workflow, self._cases)
        ]

    async def _on_all(self, workflow: Workflow) -> list[str]:
        key = workflow.model_dump_json()
        if key not in self._answers:
            runs = await self._work.ran(workflow, self._cases)
            self._answers[key] = [dump_json(run.answer) if run.error is None else "error" for run in runs]
        return self._answers[key]


def _values(run: Trace, names: Mapping[str, str]) -> Iterator[str]:
    """The results of calls of some nodes, with the path that the run took."""
    way = " ".join(dict.fromkeys(step.node or "" for step in run.calls))
    for step in run.calls:
        if (name := names.get(step.node or "")) is not None:
            yield f"{name}: {dump_json(step.observation.value)} on {way}"


async def _rivals(work: Work, best: Best) -> list[Workflow]:
    """The workflow, and those with another condition or value in one place that solve as many examples."""
    rivals = [best.workflow]
    if best.draft is None:
        return rivals
    for place, decision in best.draft.plan.decisions.items():
        for number, (candidates, _) in enumerate(decision.ways):
            equal = 0
            for candidate in candidates[1:LOOKED_AT]:
                changed = await with_conditions(work, best.draft, {**work.answers, (place, number): candidate.expr}, "")
                if changed is not None and changed.rank <= best.rank:
                    rivals.append(changed.workflow)
                    equal += 1
                if equal == EQUAL:
                    break
    for plan in variants(best.draft.plan):
        if len(rivals) >= RIVALS:
            break
        changed = await with_conditions(work, replace(best.draft, plan=plan), work.answers, "")
        if changed is not None and changed.rank <= best.rank:
            rivals.append(changed.workflow)
    return rivals[:RIVALS]
