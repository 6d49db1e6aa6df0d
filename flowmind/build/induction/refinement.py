"""Refinement: layouts with places that make no call, such as arms that only set a value and rounds without a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import gt
from typing import Any, cast

from flowmind.build.induction.control_flow import END, UNSET, Event, Key, Layout, Sample, Walk, inside, junction
from flowmind.build.induction.expressions import explain
from flowmind.build.induction.planning import Plan, set_to
from flowmind.build.induction.terms import Pool, Term, all_are, evaluated, same
from tools_registry.specs.schema import json_equal

CUTS = 24
"""Terms tried for the first arm of a value."""


def refined(plan: Plan) -> Iterator[Layout]:
    """Layouts that may explain the open slots of a plan."""
    for loop in plan.loops:
        decision = plan.decisions.get(junction(loop))
        if decision is None or not decision.solved or any(inside(key, loop) for key, _ in plan.open):
            yield from _passed_by(plan.bound.walk, loop)
    for key, name in plan.open:
        if layouts := _arms(plan, key, name):
            yield from layouts
            return


def _arms(plan: Plan, key: Key, name: str) -> list[Layout]:
    """The layouts in which arms set the values of a slot without a single term."""
    walk = plan.bound.walk
    samples = walk.visits[key]
    if key != END:
        return _cut(plan, samples, [walk.call(sample).args.get(name, UNSET) for sample in samples])
    targets = [walk.runs[sample.run].answer for sample in samples]
    if any(target is UNSET for target in targets):
        return []
    if not all_are(dict, targets):
        return _cut(plan, samples, targets)
    for field in targets[0]:
        if all(field in target for target in targets):
            column = [target[field] for target in targets]
            if not plan.bound.binder.explain(samples, column).explained and (layouts := _cut(plan, samples, column)):
                return layouts
    return []


def _cut(plan: Plan, samples: Sequence[Sample], targets: Sequence[Any]) -> list[Layout]:
    """Layouts with an arm for each of the terms that together explain the values.

    If two terms agree at a visit, either arm may have been taken there, and both layouts are returned.
    """
    pool = plan.bound.binder.pool(samples)
    if len(targets) < 2 or explain(pool, targets, 1):
        return []
    everything = frozenset(range(len(targets)))
    pieces = _two(plan, samples, targets, sorted(everything)) or _parted(plan, samples, targets)
    if pieces is None:
        return []
    ways = [pieces]
    if len(pieces) == 2:
        (visits, first), (_, second) = pieces
        agreeing = frozenset(place for place in everything if _gives(second, pool.envs[place], targets[place]))
        if len(agreeing) < len(everything) and agreeing & visits:
            ways.append([(everything - agreeing, first), (agreeing, second)])
    return [_with_arms(plan, samples, [visits for visits, _ in way]) for way in ways]


_LETTERS = "abcdef"
Piece = tuple[frozenset[int], Term]
"""Visits, and the term that explains the value at them."""


def _two(plan: Plan, samples: Sequence[Sample], targets: Sequence[Any], places: Sequence[int]) -> list[Piece] | None:
    """The cheapest two terms that together explain the values at these places."""
    binder = plan.bound.binder
    pool = binder.pool([samples[place] for place in places])
    constants = _constants([targets[place] for place in places], pool)
    best: tuple[float, list[Piece]] | None = None
    count = 0
    for term in sorted([*pool.plain, *constants], key=lambda term: term.cost):
        explained = [place for place, value in zip(places, term.values, strict=True) if same([value], [targets[place]])]
        rest = [place for place in places if place not in explained]
        if not explained or not rest or count > CUTS:
            continue
        count += 1
        others = explain(binder.pool([samples[place] for place in rest]), [targets[place] for place in rest], 1)
        if others and (best is None or term.cost + others[0].cost < best[0]):
            best = (term.cost + others[0].cost, [(frozenset(explained), term), (frozenset(rest), others[0])])
    return best[1] if best else None


def _parted(plan: Plan, samples: Sequence[Sample], targets: Sequence[Any]) -> list[Piece] | None:
    """The cheapest one or two terms for each path to a place, or for each side of a truth value."""
    binder, walk = plan.bound.binder, plan.bound.walk
    flags = [term for term in binder.pool(samples).plain if all_are(bool, term.values)]
    parts: list[tuple[float, Sequence[Any]]] = [(0.0, [walk.key(walk.previous(sample)) for sample in samples])]
    parts += [(flag.cost, flag.values) for flag in flags]
    best: tuple[float, list[Piece]] | None = None
    for cost, sides in parts:
        pieces: list[Piece] = []
        for side in dict.fromkeys(sides):
            places = tuple(place for place, value in enumerate(sides) if value == side)
            whole = explain(binder.pool([samples[place] for place in places]), [targets[place] for place in places], 1)
            split = None if whole else _two(plan, samples, targets, places)
            if not whole and split is None:
                break
            pieces += [(frozenset(places), whole[0])] if whole else split or []
        else:
            cost += sum(term.cost for _, term in pieces)
            if 1 < len(pieces) <= len(_LETTERS) and (best is None or cost < best[0]):
                best = (cost, pieces)
    return best[1] if best else None


def _gives(term: Term, env: Mapping[str, Any], target: Any) -> bool:
    """Whether a term has this value."""
    return same([set_to("", term).value(env)], [target])


def _with_arms(plan: Plan, samples: Sequence[Sample], pieces: Sequence[frozenset[int]]) -> Layout:
    layout = plan.bound.walk.layout
    paths = [list(path) for path in layout.paths]
    number = 1 + sum(key[0] == "arm" for key in layout.edges())
    for place in sorted(range(len(samples)), key=lambda visit: -samples[visit].event):
        sample = samples[place]
        region = layout.paths[sample.run][sample.event].key
        letter = _LETTERS[next(count for count, piece in enumerate(pieces) if place in piece)]
        way = Event(("arm", region[1] if len(region) > 1 else "", f"{number}{letter}"))
        paths[sample.run].insert(sample.event, way)
    return Layout(paths, layout.loops)


def _constants(targets: Sequence[Any], pool: Pool) -> list[Term]:
    """The values themselves as terms, each once."""
    constants: list[Term] = []
    for target in targets:
        if not any(json_equal(target, constant.values[0]) for constant in constants):
            constants.append(Term((target,) * len(targets), pool.price(target)))
    return constants


def _passed_by(walk: Walk, loop: str) -> Iterator[Layout]:
    """Layouts with a round for every element of a list, also for elements that the loop skipped.

    The element of a round with calls is identified by an argument that equals it, or a field of it, in every round.
    """
    rounds = [_rounds(walk, number, loop) for number in range(len(walk.runs))]
    if not any(rounds):
        return
    seen: set[str] = set()
    for name in walk.lists[loop]:
        lists = [_list(walk, number, loop, name) for number in range(len(walk.runs))]
        if not all_are(list, lists) or not any(map(gt, map(len, lists), map(len, rounds))):
            continue
        shown = _shown(walk, rounds, lists)
        if shown is None or repr(shown) in seen:
            continue
        seen.add(repr(shown))
        whole = [list(range(len(elements))) for elements in lists]
        yield _with_rounds(walk, loop, rounds, shown, whole)
        if any(places and len(elements) - 1 > places[-1] for elements, places in zip(lists, shown, strict=True)):
            until = [list(range(places[-1] + 1)) if places else [] for places in shown]
            yield _with_rounds(walk, loop, rounds, shown, until)


def _rounds(walk: Walk, number: int, loop: str) -> list[tuple[int, int]]:
    """The rounds of a loop in a run: places of the path from one junction to the next."""
    path = walk.layout.paths[number]
    marks = [place for place, event in enumerate(path) if event.key == junction(loop)]
    laps: list[tuple[int, int]] = []
    for mark in marks:
        if inside(path[mark + 1].key, loop):
            end = next(
                (
                    place for place in range(mark + 1, len(path))
                    if path[place].key == junction(loop) or not inside(path[place].key, loop)
                ),
                len(path),
            )  # fmt: skip
            laps.append((mark, end))
    return laps


def _list(walk: Walk, number: int, loop: str, name: str) -> Any:
    """The list of a loop's element variable at the entry of the loop; another value if it is no list."""
    path = walk.layout.paths[number]
    entry = next((place for place, event in enumerate(path) if event.key == junction(loop)), None)
    return [] if entry is None else evaluated(walk.lists[loop][name], walk.after[number][entry])


def _shown(
    walk: Walk, rounds: Sequence[Sequence[tuple[int, int]]], lists: Sequence[Sequence[Any]]
) -> list[list[int]] | None:
    """For each run the indices of the elements in its rounds; None if no argument identifies them."""
    options: list[tuple[str, str, tuple[str, ...]]] = []
    for number, laps in enumerate(rounds):
        for begin, end in laps[:1]:
            for event in walk.layout.paths[number][begin:end]:
                if event.call is None:
                    continue
                call = walk.runs[number].calls[event.call]
                for name, value in call.args.items():
                    options += [
                        (call.tool, name, path)
                        for element in lists[number]
                        for path, part in _parts(element)
                        if json_equal(part, value)
                    ]
    for option in dict.fromkeys(options):
        places = [_embedded(walk, number, laps, lists[number], option) for number, laps in enumerate(rounds)]
        if all(run_places is not None for run_places in places):
            return cast(list[list[int]], places)
    return None


def _parts(element: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield (), element
    if isinstance(element, dict):
        for key, value in cast(dict[str, Any], element).items():
            yield (key,), value


def _embedded(
    walk: Walk,
    number: int,
    laps: Sequence[tuple[int, int]],
    elements: Sequence[Any],
    option: tuple[str, str, tuple[str, ...]],
) -> list[int] | None:
    tool, name, path = option
    places: list[int] = []
    place = 0
    for begin, end in laps:
        shown = UNSET
        for event in walk.layout.paths[number][begin:end]:
            if event.call is not None and walk.runs[number].calls[event.call].tool == tool:
                shown = walk.runs[number].calls[event.call].args.get(name, UNSET)
                break
        if shown is UNSET:
            return None
        while place < len(elements) and not any(
            way == path and json_equal(part, shown) for way, part in _parts(elements[place])
        ):
            place += 1
        if place == len(elements):
            return None
        places.append(place)
        place += 1
    return places


def _with_rounds(
    walk: Walk,
    loop: str,
    rounds: Sequence[Sequence[tuple[int, int]]],
    shown: Sequence[Sequence[int]],
    wanted: Sequence[Sequence[int]],
) -> Layout:
    paths: list[list[Event]] = []
    skip = [Event(junction(loop)), Event(("skip", loop))]
    for number, path in enumerate(walk.layout.paths):
        mark = next((place for place, event in enumerate(path) if event.key == junction(loop)), None)
        if mark is None:
            paths.append(list(path))
            continue
        laps = dict(zip(shown[number], rounds[number], strict=True))
        events = list(path[:mark])
        for element in wanted[number]:
            events += path[slice(*laps[element])] if element in laps else skip
        end = rounds[number][-1][1] if rounds[number] else mark
        rest = list(path[end:])
        if not rest or rest[0].key != junction(loop):
            rest.insert(0, Event(junction(loop)))
        paths.append(events + rest)
    return Layout(paths, walk.layout.loops)
