"""Where loops may stand: which calls belong to which round."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from flowmind.build.induction.cursors import ANSWER, Cursor, Event, Round, atoms, mentions
from flowmind.build.induction.scopes import canonical

Rounds = tuple[tuple[Round, ...], ...]
"""For each cursor the rounds of a loop, in order."""
_DEPTH = 3
_SAMPLE = 5
"""Elements of each list whose fields are looked at."""
_SHORTEST = 3
"""Characters of a text that is looked for inside of texts."""


class Way(NamedTuple):
    """A way to read events as rounds over lists."""

    weakness: int
    """How weak the evidence is: 0 if texts or objects identify the elements, 1 if numbers do, 2 if they are only parts
    of texts."""
    keys: Sequence[Sequence[Any]]
    """For each list what identifies its elements; several may have the same key."""


def over_elements(
    events: Sequence[Sequence[Event]], cursors: Sequence[Cursor], lists: Sequence[Sequence[Any]]
) -> dict[Rounds, Way]:
    """The ways to read the next events of cursors as rounds over lists, whose elements the arguments mention in order.

    Args:
        events: Of each run.
        cursors: Where the loop begins.
        lists: For each cursor its list.
    """
    found: dict[Rounds, Way] = {}
    segments = [events[cursor.trace][cursor.at : cursor.end] for cursor in cursors]
    if max(map(len, lists)) < 2:
        return found
    own = [_own_texts(elements) for elements in lists]
    for path in _fields(lists):
        keys = [[_key(_follow(element, path)) for element in elements] for elements in lists]
        numbers = _are_numbers(keys)
        for inside in (False, True):
            hits = [_hits(segment, column, inside) for segment, column in zip(segments, keys, strict=True)]
            if max(len(set(hit.values())) for hit in hits) == 0:
                continue
            if numbers and not _same_lead(segments, hits):
                continue
            hits = [_followed(segment, texts, hit) for segment, texts, hit in zip(segments, own, hits, strict=True)]
            for ends in _regions(segments, [sorted(hit) for hit in hits]):
                rounds = tuple(
                    _rounds(hit, end, cursor.at) for hit, end, cursor in zip(hits, ends, cursors, strict=True)
                )
                way = Way(2 if inside else int(numbers), keys)
                if rounds not in found or way.weakness < found[rounds].weakness:
                    found[rounds] = way
            break
    return found


def spans(keys: Sequence[Any], rounds: Sequence[Round]) -> tuple[list[int], list[int]]:
    """The elements that the rounds must have, and the others that they may have, by what identifies the elements.

    Empty if the rounds do not go through different elements in their order.
    """
    wanted = [keys[turn.element] for turn in rounds]
    if any(one.element >= other.element for one, other in itertools.pairwise(rounds)):
        return [], []
    first = _embedded(keys, wanted)
    last = [len(keys) - 1 - place for place in reversed(_embedded(keys[::-1], wanted[::-1]))]
    surely = [one for one, other in zip(first, last, strict=True) if one == other]
    may = {
        place
        for one, other, key in zip(first, last, wanted, strict=True)
        for place in range(one, other + 1)
        if keys[place] == key
    }
    return surely, sorted(may.difference(surely))


def _embedded(keys: Sequence[Any], wanted: Sequence[Any]) -> list[int]:
    """The first places of keys in their order."""
    places: list[int] = []
    for key in wanted:
        start = places[-1] + 1 if places else 0
        places.append(next(place for place in range(start, len(keys)) if keys[place] == key))
    return places


def _are_numbers(keys: Sequence[Sequence[Any]]) -> bool:
    known = [key for column in keys for key in column if key is not None]
    return all(not isinstance(key, str) and key[0] == 1 for key in known)


def _same_lead(segments: Sequence[Sequence[Event]], hits: Sequence[dict[int, int]]) -> bool:
    """Whether all rounds begin with calls of one tool. Numbers are often equal by chance."""
    leads = {
        segment[at].tool
        for segment, hit in zip(segments, hits, strict=True)
        for before, (at, element) in zip([-1, *hit.values()], hit.items(), strict=False)
        if element != before
    }
    return len(leads) == 1


def over_repetition(
    events: Sequence[Sequence[Event]], cursors: Sequence[Cursor], tool: str, some: bool = False
) -> list[Rounds]:
    """The ways to read the next events of cursors as rounds that begin with a call of a tool.

    Args:
        events: Of each run.
        cursors: Where the loop begins.
        tool: The tool.
        some: Whether cursors whose next call is another one have no round. Otherwise there is no such loop.
    """
    segments = [events[cursor.trace][cursor.at : cursor.end] for cursor in cursors]
    begins = [bool(segment) and segment[0].tool == tool for segment in segments]
    firsts = [
        [place for place, event in enumerate(segment) if begin and event.tool == tool]
        for begin, segment in zip(begins, segments, strict=True)
    ]
    found: dict[Rounds, None] = {}
    runs = [next((at for at, event in enumerate(segment) if event.tool != tool), len(segment)) for segment in segments]
    for ends in _regions(segments, firsts) + ([runs] if max(runs) > 1 else []):
        rounds = tuple(
            tuple(
                Round(cursor.at + start, cursor.at + stop)
                for start, stop in zip(starts, [*starts, end][1:], strict=True)
            )
            for cursor, starts, end in (
                (cursor, [at for at in first if at < end], end)
                for cursor, first, end in zip(cursors, firsts, ends, strict=True)
            )
        )
        if max(map(len, rounds)) > 1 and (some or all(rounds)):
            found[rounds] = None
    return list(found)


def _fields(lists: Sequence[Sequence[Any]]) -> list[tuple[str, ...]]:
    """The paths to numbers and texts in elements, the shortest first."""
    found: dict[tuple[str, ...], None] = {}

    def walk(value: Any, path: tuple[str, ...]) -> None:
        if isinstance(value, dict) and len(path) < _DEPTH:
            for name, part in cast(dict[str, Any], value).items():
                walk(part, (*path, name))
        if not path or (isinstance(value, str | int | float) and not isinstance(value, bool)):
            found[path] = None

    for elements in lists:
        for element in elements[:_SAMPLE]:
            walk(element, ())
    return sorted(found, key=len)


def _follow(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = cast(dict[str, Any], value).get(name) if isinstance(value, dict) else None
    return value


def _key(value: Any) -> Any:
    """What identifies an element; None if nothing does."""
    if value is None or isinstance(value, bool) or value in ("", [], {}):
        return None
    return canonical(value)


def _hits(segment: Sequence[Event], keys: Sequence[Any], inside: bool) -> dict[int, int]:
    """For the events that mention an element, in order, the index of the element.

    Args:
        segment: Events. The first one must mention an element, otherwise there is no round.
        keys: What identifies the elements.
        inside: Whether a text may be a part of a longer one.
    """
    places: dict[Any, list[int]] = {}
    for index, key in enumerate(keys):
        if key is not None:
            places.setdefault(key, []).append(index)
    hits: dict[int, int] = {}
    current, lead = -1, None
    for at, event in enumerate(segment):
        if event.tool == ANSWER:
            break
        mentioned = [index for key in _mentioned(event, places, inside) for index in places[key]]
        if not mentioned:
            if at == 0:
                break
            continue
        lead = lead or event.tool
        again = event.tool == lead and max(mentioned) > current  # the same call for a later element with this key
        if current in mentioned and not again:
            hits[at] = current
            continue
        later = min((index for index in mentioned if index > current), default=None)
        if later is not None:
            hits[at] = current = later
        elif at == 0:
            break
    return hits


def _own_texts(elements: Sequence[Any]) -> list[set[str]]:
    """The texts in each element that no other one has."""
    texts = [{text for text in atoms(element) if isinstance(text, str)} for element in elements]
    shared = Counter(text for own in texts for text in own)
    return [{text for text in own if shared[text] == 1} for own in texts]


def _followed(segment: Sequence[Event], texts: Sequence[set[str]], hits: dict[int, int]) -> dict[int, int]:
    """Also the events that mention the element of the round by another text of it."""
    found: dict[int, int] = {}
    current: int | None = None
    for at, event in enumerate(segment):
        current = hits.get(at, current)
        named = current is not None and event.tool != ANSWER and not texts[current].isdisjoint(mentions(event))
        if current is not None and (at in hits or named):
            found[at] = current
    return found


def _mentioned(event: Event, places: dict[Any, list[int]], inside: bool) -> Iterator[Any]:
    listed = [set(map(canonical, part)) for part in _lists_in(event.args) if len(part) > 1]
    several = set[Any]().union(*(own for own in listed if len(own.intersection(places)) > 1))
    named = mentions(event) - several  # a list of them belongs to all elements, and not to a round
    if not inside:
        yield from (key for key in named if key in places)
        return
    texts = [text for text in named if isinstance(text, str)]
    for key in places:
        if isinstance(key, str) and len(key) >= _SHORTEST and any(key in text for text in texts):
            yield key


def _lists_in(value: Any) -> Iterator[list[Any]]:
    match value:
        case list():
            yield cast(list[Any], value)
        case dict():
            for part in cast(dict[str, Any], value).values():
                yield from _lists_in(part)
        case _:
            pass


def _regions(segments: Sequence[Sequence[Event]], firsts: Sequence[Sequence[int]]) -> list[list[int]]:
    """For each segment where a loop may end, if its rounds begin at given events.

    The loop goes on while the tools are among those that stand between two such events anywhere; or it ends after the
    last such event.
    """
    tools = {
        segment[at].tool
        for segment, first in zip(segments, firsts, strict=True)
        if first
        for at in range(first[0], first[-1] + 1)
    }
    wide: list[int] = []
    for segment, first in zip(segments, firsts, strict=True):
        end = 0
        if first and first[0] == 0:
            end = next((at for at, event in enumerate(segment) if event.tool not in tools), len(segment))
        wide.append(end)
    tight = [min(end, first[-1] + 1) if first else 0 for end, first in zip(wide, _within(firsts, wide), strict=True)]
    return [wide] if tight == wide else [wide, tight]


def _within(firsts: Sequence[Sequence[int]], ends: Sequence[int]) -> list[list[int]]:
    return [[at for at in first if at < end] for first, end in zip(firsts, ends, strict=True)]


def _rounds(hits: dict[int, int], end: int, base: int) -> tuple[Round, ...]:
    starts: list[tuple[int, int]] = []
    for at in range(end):
        if at in hits and (not starts or starts[-1][1] != hits[at]):
            starts.append((at, hits[at]))
    stops = [*(at for at, _ in starts), end][1:]
    return tuple(Round(base + at, base + stop, element) for (at, element), stop in zip(starts, stops, strict=True))
