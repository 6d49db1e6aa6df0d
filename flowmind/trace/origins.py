"""Provenance: the origins of the arguments and the answer of a trace, found by comparing values.

A value may equal several others by chance. Several traces of one task resolve this: calls are aligned by tool and
occurrence, and the origin that explains an argument in most of the aligned calls is chosen.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any, Literal, NamedTuple, cast

from flowmind.trace.constants import read_text
from flowmind.trace.events import Called, Event, Origin, Trace
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry.specs.values import MAX_DEPTH

_INDEXED = 5_000
"""Maximum number of indexed parts of one input or output."""
_CANDIDATES = 64
"""Maximum number of sources compared for one value."""
_MOST_PARTS = 100
"""Maximum length of a list or object that is explained part by part."""
_LONG = 12
"""From this length on, in characters, two texts are hardly equal by chance."""
_SIGN = 3
"""Maximum length of a text without letters and digits that counts as a separator."""
UNSOURCED = "comes from no input and no tool result"
_SHOWN_PARTS = 6
_SHOWN_VALUE = 60
_ABSENT: Any = object()

_Path = tuple[str | int, ...]


def with_origins(traces: Sequence[Trace], query: str = "") -> tuple[Trace, ...]:
    """The traces with the origins of every business call's arguments, and of the answer if the execution ended.

    An origin that the agent stated is taken over if the value is there. Calls of graph tools stay as they are. Equality
    is `json_equal`; a value nested deeper than `MAX_DEPTH` equals nothing.

    Args:
        traces: All traces of one task.
        query: The task's text, which may name constants.
    """
    tracer = _Tracer(traces, query)
    slots: dict[tuple[str, int, str], list[_Place]] = defaultdict(list)
    for number, trace in enumerate(traces):
        for index, step, occurrence in _business(trace):
            for name, value in step.call.args.items():
                place = _Place(number, index, value, step.observation.ok, step.stated.get(name))
                slots[step.call.tool, occurrence, name].append(place)
        if trace.executed:
            slots["", 0, ""].append(_Place(number, len(trace.calls), trace.answer, True, trace.stated))
    found: dict[tuple[int, int], dict[str, Origin]] = defaultdict(dict)
    for (tool, _, name), places in slots.items():
        for place, origin in zip(places, tracer.origins(places, final=not tool), strict=True):
            found[place.trace, place.step][name] = origin
    return tuple(_with_origins(trace, number, found) for number, trace in enumerate(traces))


def describe(origin: Origin, trace: Trace, value: Any = _ABSENT) -> str:
    """An origin as one short text: `input order.items[0]`, `step 2 (mean)`, `text: 7`, `made of [input a, step 1 (f)]`.

    Args:
        origin: Of a value in `trace`.
        trace: Names the steps, which are counted from 1.
        value: The value itself, shown for constants; without it, only the kind is shown.
    """
    match origin.kind:
        case "input":
            return f"input {origin.name}{_dotted(origin.path)}"
        case "output":
            return f"{_step_name(trace, origin.step or 0)}{_dotted(origin.path)}"
        case "text":
            return "text" if value is _ABSENT else f"text: {short(value)}"
        case "literal":
            return "literal" if value is _ABSENT else f"literal {short(value)}"
        case "made":
            return f"made of {_described_parts(origin, trace, value)}"
        case "computed":
            return f"computed: {origin.expr}"
        case "unexplained":
            return "unexplained"


def unexplained(trace: Trace) -> list[str]:
    """A line for each argument, part of an argument, and part of the answer without an origin.

    Args:
        trace: With the origins of `with_origins`.
    """
    lines: list[str] = []
    for index, step in enumerate(trace.calls):
        for name, origin in step.origins.items():
            for path, value in _holes(origin, step.call.args.get(name)):
                place = f"{_step_name(trace, index)}, {name}{_dotted(path)}"
                lines.append(f"{place}: {short(value)} {UNSOURCED}")
    if trace.origin is not None:
        for path, value in _holes(trace.origin, trace.answer):
            lines.append(f"the answer{_dotted(path)}: {short(value)} {UNSOURCED}")
    return lines


def has_holes(origin: Origin) -> bool:
    """Whether the value or a part of it is unexplained."""
    return origin.kind == "unexplained" or any(map(has_holes, origin.parts.values()))


# Descriptions


def _holes(origin: Origin, value: Any, path: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    if origin.kind == "unexplained":
        yield path, value
    for key, part in _children(value):
        if (inner := origin.parts.get(str(key))) is not None:
            yield from _holes(inner, part, (*path, key))


def _described_parts(origin: Origin, trace: Trace, value: Any) -> str:
    values = {str(key): part for key, part in _children(value)}
    listed = isinstance(value, list) or (value is _ABSENT and list(origin.parts) == _numbers(len(origin.parts)))
    texts = [
        f"{'' if listed else f'{key}: '}{_described_part(part, trace, values.get(key, _ABSENT))}"
        for key, part in islice(origin.parts.items(), _SHOWN_PARTS)
    ]
    if rest := list(origin.parts.values())[_SHOWN_PARTS:]:
        texts.append(f"{len(rest)} more{_counted_holes(rest)}")
    return f"[{', '.join(texts)}]" if listed else f"{{{', '.join(texts)}}}"


def _described_part(origin: Origin, trace: Trace, value: Any) -> str:
    if origin.kind != "made":
        return describe(origin, trace, value)
    kind = "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else "made"
    return f"{kind} of {len(origin.parts)}{_counted_holes(list(origin.parts.values()))}"


def _counted_holes(parts: Sequence[Origin]) -> str:
    holes = sum(map(has_holes, parts))
    return f" ({holes} unexplained)" if holes else ""


def _numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def _step_name(trace: Trace, index: int) -> str:
    return f"step {index + 1} ({trace.calls[index].call.tool})"


def _dotted(path: _Path) -> str:
    return "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in path)


def short(value: Any) -> str:
    """A value as JSON, cut if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_VALUE else f"{text[:_SHOWN_VALUE]}…"


def _with_origins(trace: Trace, number: int, found: Mapping[tuple[int, int], dict[str, Origin]]) -> Trace:
    events: list[Event] = []
    index = 0
    for event in trace.events:
        if isinstance(event, Called):
            if event.call.tool not in GRAPH_TOOLS:
                event = event.model_copy(update={"origins": found.get((number, index), {})})
            index += 1
        events.append(event)
    answer = found.get((number, index), {}).get("")
    return trace.model_copy(update={"events": tuple(events), "origin": answer})


def _business(trace: Trace) -> Iterator[tuple[int, Called, int]]:
    """The business calls with their places, and the number of earlier successful calls of the tool: a failed call
    counts as an attempt at the next successful one."""
    succeeded: Counter[str] = Counter()
    for index, step in enumerate(trace.calls):
        if step.call.tool not in GRAPH_TOOLS:
            yield index, step, succeeded[step.call.tool]
            succeeded[step.call.tool] += step.observation.ok


# Values


def _children(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, list):
        return list(enumerate(cast(list[Any], value)))
    if isinstance(value, dict):
        return list(cast(dict[str, Any], value).items())
    return []


def _trivial(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return True
    return value in (0, 1) if isinstance(value, int | float) else not value


def _small(value: Any) -> bool:
    """Whether the value may equal another one by chance."""
    return not _trivial(value) and (isinstance(value, int | float) or (isinstance(value, str) and len(value) < _LONG))


def _is_sign(text: str) -> bool:
    """Whether the text is a separator, a bracket or the like, which is never computed."""
    return len(text) <= _SIGN and not any(map(str.isalnum, text))


class _Ids:
    """Numbers values. Values that are equal as JSON have the same number."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._seen: dict[int, int] = {}
        """The numbers of lists and objects by identity. The traces outlive this table."""

    def of(self, value: Any, depth: int = 0) -> int:
        """The number of a value."""
        if not isinstance(value, list | dict):
            return self._number(("bool", value) if isinstance(value, bool) else value)
        if id(cast(object, value)) not in self._seen:
            self._seen[id(cast(object, value))] = self._number(self._key(value, depth))
        return self._seen[id(cast(object, value))]

    def _key(self, value: Any, depth: int) -> Any:
        if depth >= MAX_DEPTH:
            return object()
        parts = ((key, self.of(part, depth + 1)) for key, part in _children(value))
        return ("list", *(number for _, number in parts)) if isinstance(value, list) else ("dict", frozenset(parts))

    def _number(self, key: Any) -> int:
        return self._known.setdefault(key, len(self._known))


# Sources


class _Source(NamedTuple):
    """An available value: an input, an output, or a part of one."""

    origin: Origin
    shape: tuple[Any, ...]
    """The source in terms that traces share: a producer is identified by tool and occurrence, not by step."""


class _Sources:
    """All values available in a trace."""

    def __init__(self, trace: Trace, ids: _Ids) -> None:
        self.fields: set[str] = set()
        """The keys of the objects in the inputs."""
        self._ids = ids
        self._found: dict[int, list[_Source]] = defaultdict(list)
        for name, value in trace.inputs.items():
            self.fields |= self._add(Origin(kind="input", name=name), ("input", name), value)
        for index, step, occurrence in _business(trace):
            if step.observation.ok:
                self._add(Origin(kind="output", step=index), (step.call.tool, occurrence), step.observation.value)

    def _add(self, root: Origin, producer: tuple[str, str | int], value: Any) -> set[str]:
        """Indexes a value and its parts, outer parts first; returns the keys of its objects."""
        keys: set[str] = set()
        self._ids.of(value)
        waiting: deque[tuple[_Path, Any]] = deque([((), value)])
        room = _INDEXED - 1
        while waiting:
            path, part = waiting.popleft()
            origin = root.model_copy(update={"path": path}) if path else root
            self._found[self._ids.of(part)].append(_Source(origin, (*producer, path)))
            inside = _children(part)[:room] if len(path) < MAX_DEPTH else []
            room -= len(inside)
            waiting.extend(((*path, key), inner) for key, inner in inside)
            keys.update(key for key, _ in inside if isinstance(key, str))
        return keys

    def equal(self, number: int, before: int) -> list[_Source]:
        """The sources of a value before a step: inputs first, then outputs, the latest first."""
        found = [source for source in self._found.get(number, ()) if source.origin.step is None]
        outputs = [source for source in self._found.get(number, ()) if source.origin.step is not None]
        earlier = [source for source in outputs if cast(int, source.origin.step) < before]
        latest = sorted(earlier, key=lambda source: -cast(int, source.origin.step))
        return [*found, *latest][:_CANDIDATES]


# Settling


class _Place(NamedTuple):
    """A value in a trace that needs an origin."""

    trace: int
    step: int
    """Only values from before this step are available."""
    value: Any
    counts: bool
    """Whether it is evidence for the origins of aligned values; false if its call failed."""
    stated: Origin | None = None
    """The origin that the agent stated."""


class _Slot(NamedTuple):
    """Aligned places and their common properties."""

    places: Sequence[_Place]
    ids: Sequence[int]
    sources: Sequence[Sequence[_Source]]
    votes: Mapping[Any, int]
    """The number of places at which each source (by shape) and each value (by number) occurs."""
    constant: int | None
    """The number of the value that is the same at all places."""
    fields: Set[str]
    """The keys of objects in the inputs of all places."""
    final: bool
    """Whether the value is the answer."""


class _Tracer:
    """Finds the origins of values at aligned places."""

    def __init__(self, traces: Sequence[Trace], query: str) -> None:
        self._ids = _Ids()
        self._text = read_text(query)
        self._sources = [_Sources(trace, self._ids) for trace in traces]

    def origins(self, places: Sequence[_Place], final: bool, depth: int = 0) -> list[Origin]:
        """The origin of each value. At most one place per trace counts."""
        slot = self._slot(places, final)
        picked = [self._pick(slot, index) for index in range(len(places))]
        open_ = [index for index, origin in enumerate(picked) if origin is None and _parts(places[index])]
        composed = self._compose(slot, open_, depth) if open_ and depth < MAX_DEPTH else {}
        return [origin or composed.get(index) or Origin(kind="unexplained") for index, origin in enumerate(picked)]

    def _slot(self, places: Sequence[_Place], final: bool) -> _Slot:
        ids = [self._ids.of(place.value) for place in places]
        sources = [self._sources[place.trace].equal(id, place.step) for place, id in zip(places, ids, strict=True)]
        voters = [index for index, place in enumerate(places) if place.counts]
        shapes = (source.shape for index in voters for source in sources[index])
        votes = Counter[Any](ids[index] for index in voters) + Counter[Any](shapes)
        agreed = {ids[index] for index in voters}
        constant = agreed.pop() if len(voters) > 1 and len(agreed) == 1 else None
        known = [self._sources[place.trace].fields for place in places]
        return _Slot(places, ids, sources, votes, constant, set[str].intersection(*known), final)

    def _pick(self, slot: _Slot, index: int) -> Origin | None:
        """The origin of a value as a whole; None if it has none."""
        stated = slot.places[index].stated
        if stated is not None and any(source.origin == stated for source in slot.sources[index]):
            return stated
        if stated is not None and stated.kind == "made" and _parts(slot.places[index]):
            return None
        plain = self._plain(slot, index)
        own = None if plain is None else Origin(kind=plain)
        ranked = [
            ((-slot.votes.get(source.shape, 0), _rank(source.origin, slot.final), len(source.origin.path)), source)
            for source in slot.sources[index]
        ]
        if not ranked:
            return own
        key, best = min(ranked, key=lambda entry: entry[0])
        rank = int(slot.final) if _trivial(slot.places[index].value) else _NAMED
        if own is not None and (-slot.votes.get(slot.ids[index], 0), rank) < key[:2]:
            return own
        return own if -key[0] < 2 and self._by_chance(slot, index) else best.origin

    def _plain(self, slot: _Slot, index: int) -> Literal["text", "literal"] | None:
        """The kind of constant that a value may be; None if it is none."""
        value = slot.places[index].value
        if _trivial(value):
            return "literal"
        if self._text.names(value):
            return "text"
        known = slot.ids[index] == slot.constant or (
            isinstance(value, str) and (value in slot.fields or _is_sign(value))
        )
        return "literal" if known else None

    def _by_chance(self, slot: _Slot, index: int) -> bool:
        """Whether a small value has a source only here, while another trace has a value without one."""
        return _small(slot.places[index].value) and any(
            other.counts and other.trace != slot.places[index].trace and _small(other.value)
            and not slot.sources[number] and self._plain(slot, number) is None
            for number, other in enumerate(slot.places)
        )  # fmt: skip

    def _compose(self, slot: _Slot, asked: Sequence[int], depth: int) -> dict[int, Origin]:
        """The values at some places, explained part by part."""
        parts = [_parts(place) for place in slot.places]
        by_place: dict[int, dict[str, Origin]] = {index: {} for index in asked}
        for key in dict.fromkeys(key for index in asked for key in parts[index]):
            having = [index for index, own in enumerate(parts) if key in own]
            places = [_part_of(slot.places[index], key, parts[index][key]) for index in having]
            for index, origin in zip(having, self.origins(places, slot.final, depth + 1), strict=True):
                if index in by_place:
                    by_place[index][str(key)] = origin
        composed = {index: _folded(own) for index, own in by_place.items()}
        lists = [index for index in asked if isinstance(slot.places[index].value, list)]
        picks = {index: pick for index in lists if (pick := _picks(composed[index]))}
        for index, pick in picks.items():
            others = [number for number, place in enumerate(slot.places) if place.counts and number != index]
            if not (any(picks.get(number) == pick for number in others) if others else len(pick) == 1):
                composed[index] = Origin(kind="unexplained")  # it was filtered or sorted without a tool
        return composed


_NAMED = 4
"""The rank of constants that are not trivial."""


def _rank(origin: Origin, final: bool) -> int:
    """The rank of a source among sources with equal votes: inputs come first, for the answer outputs."""
    if origin.path:
        return 3
    return (2 if final else 1) if origin.step is None else (0 if final else 2)


def _parts(place: _Place) -> dict[str | int, Any]:
    """The parts of a list or object that may be composed; empty if there are too many."""
    parts = _children(place.value)
    return dict(parts) if len(parts) <= _MOST_PARTS else {}


def _part_of(place: _Place, key: str | int, value: Any) -> _Place:
    """The place of a part of a value."""
    return place._replace(value=value, stated=place.stated and place.stated.parts.get(str(key)))


def _folded(parts: dict[str, Origin]) -> Origin:
    """The origin of a list or object, given those of its parts."""
    kinds = {part.kind for part in parts.values()}
    if kinds <= {"literal", "text"}:
        return Origin(kind="text" if "text" in kinds else "literal")
    strong = any(part.kind == "made" or (_sourced(part) and not _is_element(part)) for part in parts.values())
    return Origin(kind="made", parts=parts) if strong or "unexplained" not in kinds else Origin(kind="unexplained")


def _sourced(origin: Origin) -> bool:
    return origin.kind in ("input", "output")


def _is_element(origin: Origin) -> bool:
    """Whether the origin is an element of a list, which may be equal by chance."""
    return bool(origin.path) and isinstance(origin.path[-1], int)


def _picks(origin: Origin) -> tuple[Any, ...]:
    """The indices of the parts, if all of them are elements of one list; empty otherwise."""
    parts = list(origin.parts.values())
    lists = {(part.kind, part.name, part.step, part.path[:-1]) for part in parts}
    return tuple(part.path[-1] for part in parts) if len(lists) == 1 and all(map(_is_element, parts)) else ()
