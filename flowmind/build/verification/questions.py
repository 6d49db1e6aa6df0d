"""Questions that the traces leave open: a choice between behaviours on values on which rivals differ."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, Literal, cast

from flowmind.base.files import dump_json
from flowmind.build.induction.induction import Alternative, Induction, Place
from flowmind.build.verification.behaviour import behaviours, compared
from flowmind.build.verification.inputs import inputs_like
from flowmind.build.verification.trials import Best
from flowmind.build.verification.visits import MISSING, Row, evaluated, rows_at, tell_way, visits
from flowmind.build.verification.work import Work
from flowmind.run.examples import short
from flowmind.trace.events import Trace
from flowmind.workflow.document import Condition, End, ToolNode, Workflow, variables
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import Record

OR = " | "
"""Separates the expressions of an answer that allows several."""
COMPARED = 9
"""Alternatives that are compared on one input."""
_ROWS = 600
"""Combinations of values on which alternatives are compared."""
_ALIKE = 3
"""From this number of values on, two values that are always equal are one."""
_SHOWN = 80
"""Characters of an expression that a question shows."""
_VALUES = 4
"""Values that a question shows."""
_INPUTS = 40
"""Generated inputs on which alternatives are compared."""
OTHER = "other"
"""A text that none of the alternatives has."""
_Path = tuple[str | int, ...]


class Illustration(Record):
    """The effect of each candidate of a question on values on which they differ."""

    values: dict[str, Any]
    """The parts of variables that the candidates read, or the inputs."""
    effects: tuple[str, ...]
    """What happens then, for each candidate."""

    @property
    def setting(self) -> str:
        """The values as text."""
        return ", ".join(f"{name} = {short(value)}" for name, value in self.values.items())


class Question(Record):
    """A question that the traces leave open."""

    id: str
    """The part of the workflow in question: a condition (`if`), an argument (`discount.percent`), an answer
    (`end.output`), or `structure`."""
    kind: Literal["condition", "value", "structure", "arm"]
    node: str = ""
    """The node in question; empty if there is none."""
    text: str
    candidates: tuple[str, ...] = ()
    """The answers that agree with the traces, the likeliest first: an expression, or several with the same effect on
    the shown values, separated by ` | `."""
    shown: Illustration | None = None
    """Values on which the candidates differ, with the effect of each."""

    @property
    def can_be_answered(self) -> bool:
        """Whether a person can answer it; otherwise only more traces can."""
        return bool(self.candidates)

    def __str__(self) -> str:
        """The question with its first candidates."""
        if self.shown is None:
            return f"{self.text} {OR.join(self.candidates[:3])}".rstrip()
        choices = (
            f"{number} {effect} ({brief(candidate)})"
            for number, (effect, candidate) in enumerate(zip(self.shown.effects, self.candidates, strict=True), 1)
        )
        return f"{self.text} For {self.shown.setting}: {'; '.join(choices)}"


def brief(candidate: str) -> str:
    """A candidate for a reader: its first expression, and how many more there are."""
    first, *more = candidate.split(OR)
    text = first if len(first) <= _SHOWN else f"{first[:_SHOWN]}…"
    return f"{text}, or {len(more)} more" if more else text


async def questions(work: Work, best: Best) -> list[Question]:
    """The questions that the traces leave open about a workflow.

    The values come from the traces: its runs on them are recorded results, combined with each other. Where no
    combination tells alternatives apart, tools that are marked `read` are called on generated inputs.
    """
    induction = best.induction
    if induction is None:
        return []
    found = [_unexplained(best.workflow, id) for id in induction.unexplained]
    runs = [*(await recorded_runs(work, best.workflow)).values()]
    for place in induction.places:
        question = _question(best.workflow, place, runs) or await _by_running(work, best.workflow, place)
        if question is not None:
            found.append(question)
    found += _unread(work, best)
    return [question for question in found if question.kind != "arm" or question.node not in best.read]


async def recorded_runs(work: Work, workflow: Workflow) -> dict[int, Trace]:
    """The runs of a workflow on the inputs of the right traces, by the indexes of those; failed runs are left out."""
    right = [place for place in range(len(work.traces)) if work.right(place)]
    runs = await work.run_on(workflow, [work.traces[place].inputs for place in right])
    return {place: run for place, run in zip(right, runs, strict=True) if run.error is None}


def _unexplained(workflow: Workflow, id: str) -> Question:
    node, _, name = id.partition(".")
    match workflow.by_id.get(node):
        case ToolNode(tool=tool):
            what = f"{name} of {tool}"
        case End() | None:
            what = "the answer"
        case _:
            what = id
    return Question(id=id, kind="value", node=node, text=f"{what}: nothing in the traces explains its values")


def _unread(work: Work, best: Best) -> Iterator[Question]:
    """Questions about calls whose results nothing reads: they may decide a way that no trace shows."""
    assert best.induction is not None
    unmarked = work.unmarked(best.workflow)
    calls = [(node.tool, node.id) for node in unread_calls(best.workflow) if node.tool not in unmarked]
    for tool, node in [*calls, *((tool, "") for tool in best.induction.left_out)]:
        text = f"what was {tool} called for? Nothing reads its result: no trace may show the way that it decides"
        yield Question(id=node or tool, kind="arm", node=node, text=text)


def unread_calls(workflow: Workflow) -> list[ToolNode]:
    """The calls whose results nothing reads."""
    read = variables(workflow)
    return [node for node in workflow.nodes if isinstance(node, ToolNode) and node.output not in read]


def _question(workflow: Workflow, place: Place, runs: Sequence[Trace]) -> Question | None:
    """The question about a condition or a value; None if no combination of values tells its alternatives apart."""
    if place.kind == "structure":
        return None
    node = place.id.partition(".")[0]
    alternatives = place.alternatives[:COMPARED]
    rows = rows_at(workflow, runs, node)
    ends = [row for run in runs for _, row in [*visits(workflow, run)][-1:]]
    best: tuple[Row, _Path, tuple[str, ...]] | None = None
    for row, path in islice(mixed(rows, [one.text for one in alternatives], ends), _ROWS):
        effects = _effects(workflow, place, alternatives, row)
        if effects is not None and (best is None or len({*effects}) > len({*best[2]})):
            best = row, path, effects
    if best is None or len({*best[2]}) < 2:
        return None
    row, changed, effects = best
    paths = dict.fromkeys([changed, *_paths(one.text for one in alternatives)])
    values = {_shown(path): value for path in paths if (value := at(row, path)) is not MISSING}
    known = dict(islice(values.items(), _VALUES))
    return _grouped(place, _asked(workflow, place, row), alternatives, effects, known)


def _grouped(
    place: Place, text: str, alternatives: Sequence[Alternative], effects: Sequence[str], values: Mapping[str, Any]
) -> Question:
    """A question whose candidates are alternatives with the same effect."""
    groups: dict[str, list[str]] = {}
    for alternative, effect in zip(alternatives, effects, strict=True):
        groups.setdefault(effect, []).append(alternative.text)
    return Question(
        id=place.id,
        kind=place.kind,
        node="" if place.kind == "structure" else place.id.partition(".")[0],
        text=text,
        candidates=tuple(OR.join(texts) for texts in groups.values()),
        shown=Illustration(values=dict(values), effects=tuple(groups)),
    )


def _asked(workflow: Workflow, place: Place, row: Row) -> str:
    node, _, name = place.id.partition(".")
    match workflow.by_id.get(node):
        case Condition():
            ways = [tell_way(workflow, node, way) for way in (True, False)]
            if ways[0] == ways[1]:
                ways = [tell_way(workflow, node, way, row) for way in (True, False)]
            return f"when is it that {ways[0]}, rather than that {ways[1]}?"
        case ToolNode(tool=tool):
            return f"what is {name} of {tool}?"
        case _:
            return "what is the answer?"


def _effects(workflow: Workflow, place: Place, alternatives: Sequence[Alternative], row: Row) -> tuple[str, ...] | None:
    """The effect of each alternative; None if one of them has no value."""
    values = [evaluated(one.text, row) for one in alternatives]
    if any(value is MISSING for value in values):
        return None
    if place.kind == "condition":
        if not all(isinstance(value, bool) for value in values):
            return None
        told = {way: tell_way(workflow, place.id.partition(".")[0], way, row) for way in (True, False)}
        if told[True] == told[False]:
            told = {True: "the condition holds", False: "the condition does not hold"}
        return tuple(told[value] for value in values)
    node, _, name = place.id.partition(".")
    name = "the answer" if isinstance(workflow.by_id.get(node), End) else name
    return tuple(f"{name} is {short(value)}" for value in values)


# Combinations of values


def _paths(texts: Iterable[str]) -> Iterator[_Path]:
    """The variables that expressions read, each with the constant keys behind it."""
    for text in texts:
        try:
            tree = ast.parse(text, mode="eval")
        except SyntaxError:
            continue
        inner = {
            id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Subscript) and _key(node) is not None
        }
        for node in ast.walk(tree):
            path = _path(node) if isinstance(node, ast.Name | ast.Subscript) and id(node) not in inner else None
            if path is not None:
                yield path


def _key(node: ast.Subscript) -> str | int | None:
    value = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def _path(node: ast.expr) -> _Path | None:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Subscript) and (key := _key(node)) is not None:
        outer = _path(node.value)
        return None if outer is None else (*outer, key)
    return None


def _shown(path: _Path) -> str:
    return str(path[0]) + "".join(f"[{key!r}]" for key in path[1:])


def at(row: Any, path: _Path) -> Any:
    """The value at a path; MISSING if there is none."""
    for key in path:
        try:
            row = row[key]
        except (KeyError, IndexError, TypeError):
            return MISSING
    return row


def _put(row: Any, path: _Path, value: Any) -> Any:
    """A copy with another value at a path."""
    if not path:
        return value
    copy: Any = list(cast(list[Any], row)) if isinstance(row, list) else dict(cast(dict[str, Any], row))
    copy[path[0]] = _put(copy[path[0]], path[1:], value)
    return copy


def mixed(rows: Sequence[Row], texts: Sequence[str], ends: Sequence[Row]) -> Iterator[tuple[Row, _Path]]:
    """The rows with one value that expressions read replaced, each with the path of this value.

    The values are those of other rows first, then those near the constants of the expressions. Values that are equal
    at the ends of all runs, such as an id and the same id in a result, are replaced together.
    """
    known = [path for path in dict.fromkeys(_paths(texts)) if any(at(row, path) is not MISSING for row in rows)]
    twins = {path: [other for other in known if other != path and _twins(ends, path, other)] for path in known}
    near = _near(texts)
    for sources in ("rows", "constants", "empty"):
        for row in rows:
            for path in known:
                old = at(row, path)
                if old is MISSING:
                    continue
                for value in _others(old, sources, [at(other, path) for other in rows], near):
                    changed = _put(row, path, value)
                    for other in twins[path]:
                        if at(changed, other) is not MISSING:  # it may lie in a value that was replaced
                            changed = _put(changed, other, value)
                    yield changed, path


def _twins(rows: Sequence[Row], path: _Path, other: _Path) -> bool:
    """Whether two values are equal in all rows that have both, and take several values."""
    if path[0] == other[0] and (path[: len(other)] == other or other[: len(path)] == path):
        return False
    pairs = [(at(row, path), at(row, other)) for row in rows]
    both = [(one, two) for one, two in pairs if one is not MISSING and two is not MISSING]
    return len({dump_json(one) for one, _ in both}) >= _ALIKE and all(json_equal(one, two) for one, two in both)


def _others(old: Any, sources: str, values: Sequence[Any], near: Sequence[Any]) -> Iterator[Any]:
    if sources == "rows":
        seen = {dump_json(old)}
        for value in values:
            if value is not MISSING and (key := dump_json(value)) not in seen:
                seen.add(key)
                yield value
    elif sources == "empty":
        yield from (None, 0, "", [])
    elif isinstance(old, bool):
        yield not old
    elif isinstance(old, int | float):
        yield from (value for value in near if not isinstance(value, str))
    elif isinstance(old, str):
        yield from (value for value in (*near, OTHER) if isinstance(value, str))
    elif isinstance(old, list):
        items = cast(list[Any], old)
        yield from (items[:1], items * 2, items[::-1])


def _near(texts: Sequence[str]) -> list[Any]:
    """The constants of expressions, the numbers next to them, and those between two of them."""
    constants: dict[Any, None] = {}
    for text in texts:
        try:
            tree = ast.parse(text, mode="eval")
        except SyntaxError:
            continue
        constants |= {node.value: None for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    numbers = sorted(value for value in constants if isinstance(value, int | float) and not isinstance(value, bool))
    between = [
        (low + high) // 2 if isinstance(low + high, int) else (low + high) / 2 for low, high in pairwise(numbers)
    ]
    near = [number + off for number in numbers for off in (0, -1, 1)]
    return [*dict.fromkeys([*between, *near]), *(value for value in constants if isinstance(value, str))]


async def _by_running(work: Work, workflow: Workflow, place: Place) -> Question | None:
    """The question about a place whose alternatives do different things on a generated input."""
    alternatives = place.alternatives[:COMPARED]
    cases = list(islice(inputs_like(work.task, work.settings.seed), _INPUTS))
    others = [one.workflow for one in alternatives[1:]]
    found = await compared(work, workflow, others, cases)
    for dispute in found.disputes:
        rows = [await behaviours(work, one, [dispute.inputs]) for one in (workflow, *others)]
        done = [row[0] for row in rows if row and row[0] is not None]
        if len(done) == len(alternatives) and len({one.text for one in done}) > 1:
            text = "which way is right?" if place.kind == "structure" else _asked(workflow, place, {})
            return _grouped(place, text, alternatives, [one.text for one in done], dispute.inputs)
    return None


def place_of(induction: Induction, id: str) -> Place | None:
    """The place with an id; `answer` is the place of an answer."""
    for place in induction.places:
        node = place.id.partition(".")[0]
        if place.id == id or (id == "answer" and isinstance(induction.workflow.by_id.get(node), End)):
            return place
    return None
