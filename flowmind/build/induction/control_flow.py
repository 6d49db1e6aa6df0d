"""Control flow: layouts assign calls to sites, and say where loops begin and end.

A layout gives each run a path of events: `start`, visits to sites and to the junctions of loops, `end`. A site is named
by tool and occurrence within a part of the run: before a loop, in one round of it, or behind it. Several layouts fit
the same runs; the right one leaves the least unexplained. A walk adds the variables at each event: inputs, results so
far, counters and elements of loops.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import groupby, pairwise, product, takewhile
from typing import Any, NamedTuple, cast

from flowmind.trace.events import Trace
from flowmind.workflow.graph_tools import GRAPH_TOOLS

Key = tuple[str, ...]
START: Key = ("start",)
END: Key = ("end",)
MAX_LAYOUTS = 120
EARLY = ":"
"""Marks the names of sites on paths that diverge before their tools differ."""


class Unset:
    """The value of an unset variable."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"  # unpickles as the constant


UNSET = Unset()


@dataclass(frozen=True)
class Call:
    """A successful call."""

    tool: str
    args: dict[str, Any]
    value: Any
    place: int
    """The place in `Trace.calls`, from 0."""


@dataclass(frozen=True)
class Run:
    """One trace."""

    inputs: dict[str, Any]
    calls: tuple[Call, ...]
    answer: Any
    """UNSET if the trace has none."""
    number: int
    """The number of the trace, from 0."""
    steps: int = 0
    """The number of the trace's calls, including failed ones."""
    forms: frozenset[str] = frozenset()
    """Tools that are called with different sets of arguments. Each set counts as a tool of its own."""

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The tools in order of the calls; names of tools in `forms` include the arguments."""
        return tuple(
            f"{call.tool}({','.join(sorted(call.args))})" if call.tool in self.forms else call.tool
            for call in self.calls
        )


def tool_of(label: str) -> str:
    """The name of the tool of a label in `Run.tools`."""
    return label.partition("(")[0]


def with_forms(runs: Sequence[Run]) -> list[Run]:
    """The runs with `forms` set."""
    names: dict[str, set[frozenset[str]]] = {}
    for run in runs:
        for call in run.calls:
            names.setdefault(call.tool, set()).add(frozenset(call.args))
    forms = frozenset(tool for tool, kinds in names.items() if len(kinds) > 1)
    return [replace(run, forms=forms) for run in runs] if forms else list(runs)


def run_of(trace: Trace, number: int) -> Run:
    """The successful business calls of a trace."""
    calls = tuple(
        Call(step.call.tool, step.call.args, step.observation.value, place)
        for place, step in enumerate(trace.calls)
        if step.observation.ok and step.call.tool not in GRAPH_TOOLS
    )
    return Run(trace.inputs, calls, trace.answer if trace.executed else UNSET, number, len(trace.calls))


@dataclass(frozen=True)
class Event:
    """A visit to a site by a call, or to a junction."""

    key: Key
    call: int | None = None
    """The index in the run's calls."""


@dataclass
class Layout:
    """One path of events per run."""

    paths: list[list[Event]]
    loops: tuple[str, ...] = ()
    """Names of the loops; a loop's junction is `("loop", name)`, its sites begin with its name."""

    @property
    def sites(self) -> list[Key]:
        """The sites, in the order of their first visits."""
        keys = (event.key for path in self.paths for event in path if event.call is not None)
        return list(dict.fromkeys(keys))

    @property
    def early(self) -> bool:
        """Whether paths diverge before their tools differ."""
        return any(EARLY in key[3] for key in self.sites)

    def edges(self) -> dict[Key, list[Key]]:
        """For each place the places that follow it, in the order of their first visits."""
        ways: dict[Key, dict[Key, None]] = {}
        for path in self.paths:
            for event, following in pairwise(path):
                ways.setdefault(event.key, {})[following.key] = None
        return {key: list(targets) for key, targets in ways.items()}


def junction(loop: str) -> Key:
    """The place where a round of a loop begins or the loop ends."""
    return ("loop", loop)


Span = tuple[int, int, int]
"""A part of a run: its number, begin and end."""


class Header(NamedTuple):
    """The calls with which a round of a loop begins."""

    tools: frozenset[str]
    """A call of one of these tools."""
    twice: bool = False
    """Two consecutive calls of the tool; a single call stands elsewhere in the round."""
    ahead: bool = False
    """The call before one of the tool; its tool is called elsewhere in the round too."""
    led_by: str = ""
    """Any number of consecutive calls of this tool, then the call: a loop that gathers what the call reads."""

    @property
    def name(self) -> str:
        """The name of the loop."""
        before = "before " if self.ahead else f"{self.led_by}*+" if self.led_by else ""
        return before + "+".join(sorted(self.tools) * (2 if self.twice else 1))


def layouts(runs: Sequence[Run]) -> Iterator[Layout]:
    """The layouts of runs, each once; the one without loops first."""
    spans = [(number, 0, len(run.calls)) for number, run in enumerate(runs)]
    seen: set[tuple[tuple[Event, ...], ...]] = set()
    for count, (parts, loops) in enumerate(_part_layouts(runs, spans, "", 2)):
        if count > 40 * MAX_LAYOUTS or len(seen) > MAX_LAYOUTS:
            return
        paths = [[Event(START), *part, Event(END)] for part in parts]
        if not _acyclic(paths):
            continue
        key = tuple(map(tuple, paths))
        if key not in seen:
            seen.add(key)
            yield Layout(paths, loops)


def _acyclic(paths: Sequence[Sequence[Event]]) -> bool:
    """Whether every cycle goes through a junction."""
    before: dict[Key, set[Key]] = {}
    for path in paths:
        for event, following in pairwise(path):
            if following.key[0] != "loop":
                before.setdefault(following.key, set()).add(event.key)
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        return False
    return True


Parts = tuple[list[list[Event]], tuple[str, ...]]


def _part_layouts(runs: Sequence[Run], spans: Sequence[Span], region: str, depth: int) -> Iterator[Parts]:
    """The layouts of parts of runs: without a loop, and with each possible loop."""
    yield _straight(runs, spans, region), ()
    if _several(runs, spans):
        if "/" in region:  # in a round of a loop, as the heads below
            yield _straight(runs, spans, region, apart=1), ()
        yield _straight(runs, spans, region, apart=0), ()
    if depth == 0:
        return
    yield from _in_turn([_begun_by(runs, spans, region, header, depth) for header in _headers(runs, spans)])


def _begun_by(runs: Sequence[Run], spans: Sequence[Span], region: str, header: Header, depth: int) -> Iterator[Parts]:
    """The layouts with a loop whose rounds begin with this header."""
    for ends in _loop_ends(runs, spans, header):
        yield from _looped(runs, spans, region, header, ends, depth)


def _in_turn(ways: Sequence[Iterator[Parts]]) -> Iterator[Parts]:
    """One layout of each kind in rotation, so that the first header does not use up the limit."""
    unfinished = deque(ways)
    while unfinished:
        way = unfinished.popleft()
        if (part := next(way, None)) is not None:
            yield part
            unfinished.append(way)


def _straight(runs: Sequence[Run], spans: Sequence[Span], region: str, apart: int | None = None) -> list[list[Event]]:
    """The calls of parts of runs without loops.

    Args:
        apart: Diverging paths stay separate to the end, and diverge this many calls before their tools differ. None:
            they join in calls of the same tool.
    """
    ways: dict[tuple[str, ...], int] = {}
    paths: list[list[Event]] = []
    for number, begin, end in spans:
        counts: dict[str, int] = {}
        path: list[Event] = []
        tools = runs[number].tools[begin:end]
        for place, tool in enumerate(tools, begin):
            counts[tool] = counts.get(tool, 0) + 1
            name = str(counts[tool])
            if apart is not None:
                way = ways.setdefault(tools[: place - begin + (2 * apart)], len(ways))
                name = f"{name}{EARLY if apart else '.'}{way}"
            path.append(Event(("site", region, tool, name), place))
        paths.append(path)
    return paths


def _several(runs: Sequence[Run], spans: Sequence[Span]) -> bool:
    """Whether the parts of runs call different tools."""
    return len({runs[number].tools[begin:end] for number, begin, end in spans}) > 1


def _headers(runs: Sequence[Run], spans: Sequence[Span]) -> list[Header]:
    """The headers of possible loops: tools that some run calls more than once, in the order of their first calls.

    Rounds may also begin with either of two tools, with two calls of one, with the call before one, or with any number
    of calls of one tool before a call of another.
    """
    first: dict[str, int] = {}
    often: dict[str, int] = {}
    for number, begin, end in spans:
        tools = runs[number].tools[begin:end]
        for place, tool in enumerate(tools):
            first[tool] = min(first.get(tool, place), place)
        for tool in set(tools):
            often[tool] = max(often.get(tool, 0), tools.count(tool))
    repeated = sorted((tool for tool, count in often.items() if count > 1), key=lambda tool: (first[tool], tool))
    single = [Header(frozenset([tool])) for tool in repeated]
    double = [Header(frozenset([tool]), True) for tool in repeated]
    double = [header for header in double if max(len(_header_places(runs, span, header)) for span in spans) > 1]
    ahead = [Header(frozenset([tool]), ahead=True) for tool in repeated[:4] if _led(runs, spans, tool)]
    rows = [Header(frozenset([tool]), led_by=row) for tool in repeated[:4] for row in _rows(runs, spans, tool)]
    pairs = [Header(frozenset(pair)) for pair in product(repeated[:4], [*first][:6]) if pair[0] != pair[1]]
    return [*rows, *single, *double, *ahead, *list(dict.fromkeys(pairs))[:6]]


def _led(runs: Sequence[Run], spans: Sequence[Span], tool: str) -> bool:
    """Whether each call of a tool follows a call of the same other tool, which is called elsewhere too."""
    leading: set[str] = set()
    elsewhere: set[str] = set()
    for number, begin, end in spans:
        tools = runs[number].tools[begin:end]
        if tools[:1] == (tool,):
            return False
        for name, following in pairwise((*tools, "")):
            (leading if following == tool else elsewhere).add(name)
    return len(leading) == 1 and tool not in leading and leading <= elsewhere


def _rows(runs: Sequence[Run], spans: Sequence[Span], tool: str) -> list[str]:
    """The tools that are called only before `tool`, sometimes several times and sometimes not at all."""
    lengths: dict[str, set[int]] = {}
    calls = 0
    for number, begin, end in spans:
        tools = runs[number].tools[begin:end]
        calls += tools.count(tool)
        for leader, group in groupby(enumerate(tools), lambda pair: pair[1]):
            places = [place for place, _ in group]
            followed = places[-1] + 1 < len(tools) and tools[places[-1] + 1] == tool
            lengths.setdefault(leader, set()).add(len(places) if followed else -1)
    return [
        leader for leader, sizes in lengths.items()
        if leader != tool and -1 not in sizes and max(sizes) > 1 and _times(runs, spans, leader, tool) < calls
    ]  # fmt: skip


def _times(runs: Sequence[Run], spans: Sequence[Span], first: str, second: str) -> int:
    """The number of calls of one tool directly before a call of another."""
    parts = (runs[number].tools[begin:end] for number, begin, end in spans)
    return sum(pair == (first, second) for tools in parts for pair in pairwise(tools))


def _header_places(runs: Sequence[Run], span: Span, header: Header) -> list[int]:
    """The places at which rounds with this header begin."""
    number, begin, end = span
    tools = runs[number].tools
    places = [place for place in range(begin, end) if tools[place] in header.tools]
    if header.ahead:
        return [place - 1 for place in places]
    if header.led_by:
        return [_row_begin(tools, place, begin, header.led_by) for place in places]
    if not header.twice:
        return places
    return [place for place in places if place + 1 in places and place - 1 not in places]


def _row_begin(tools: Sequence[str], place: int, begin: int, row: str) -> int:
    """The begin of the consecutive calls of a tool that end at a place; the place itself if there are none."""
    while place > begin and tools[place - 1] == row:
        place -= 1
    return place


def _loop_ends(runs: Sequence[Run], spans: Sequence[Span], header: Header) -> Iterator[list[int | None]]:
    """The end of the loop in each run, None for runs that do not enter it. Each combination once."""
    placed = [_header_places(runs, span, header) for span in spans]
    entered = [(runs[span[0]].tools, span, places) for span, places in zip(spans, placed, strict=True) if places]
    body = {tool for tools, _, places in entered for tool in tools[places[0] : places[-1] + 1]}
    behind = {tool for tools, (_, _, end), places in entered for tool in tools[places[-1] + 1 : end]}
    last = {tools[place - 1] for tools, _, places in entered for place in places[1:]}

    def before(tools: Collection[str]) -> Callable[[Sequence[str], range], int | None]:
        return lambda calls, after: next((place for place in after if calls[place] in tools), None)

    def behind_last(calls: Sequence[str], after: range) -> int | None:
        return next((place + 1 for place in reversed(after) if calls[place] in last), None)

    # the loop ends before a tool that is called only behind it, after the call that ends the other rounds, with the
    # run, or before one of the tools that are called behind it
    rules = [before(behind - body), behind_last, before(()), *(before([tool]) for tool in sorted(behind))]
    rules += [before({tool} | (behind - body)) for tool in sorted(behind & body)]
    seen: set[tuple[int | None, ...]] = set()
    for rule in rules:
        ends: list[int | None] = []
        for (number, _, end), places in zip(spans, placed, strict=True):
            leaving = rule(runs[number].tools, range(places[-1] + 1, end)) if places else None
            ends.append(end if places and leaving is None else leaving)
        if tuple(ends) not in seen:
            seen.add(tuple(ends))
            yield ends


def _looped(
    runs: Sequence[Run], spans: Sequence[Span], region: str, header: Header, ends: Sequence[int | None], depth: int
) -> Iterator[Parts]:
    """The layouts with a loop that ends at these places."""
    name = f"{region}{header.name}/"
    before: list[Span] = []
    rounds: list[list[Span]] = []
    after: list[Span] = []
    placed = [_header_places(runs, span, header) for span in spans]
    leading = [runs[span[0]].tools[span[1] : places[0]] for span, places in zip(spans, placed, strict=True) if places]
    for (number, begin, end), places, stop in zip(spans, placed, ends, strict=True):
        if stop is None:
            split = begin + _common_prefix(runs[number].tools[begin:end], leading)
            before.append((number, begin, split))
            rounds.append([])
            after.append((number, split, end))
            continue
        before.append((number, begin, places[0]))
        rounds.append([(number, first, last) for first, last in pairwise([*places, stop])])
        after.append((number, stop, end))
    if max(map(len, rounds)) < 2:
        return
    every = [span for spans_ in rounds for span in spans_]
    heads = [_straight(runs, before, f"{region}<")]
    if region and _several(runs, before):
        heads.append(_straight(runs, before, f"{region}<", apart=1))
    for body, inner in _part_layouts(runs, every, name, depth - 1):
        laps = iter(body)
        laps_of_runs = [[next(laps) for _ in spans_] for spans_ in rounds]
        final = {lap[-1].key for run_laps in laps_of_runs for lap in run_laps[:-1] if lap}
        middle: list[list[Event]] = []
        for run_laps in laps_of_runs:
            path: list[Event] = []
            for lap in run_laps:
                path += [Event(junction(name)), *lap]
            if not run_laps or (run_laps[-1] and run_laps[-1][-1].key in final):
                path.append(Event(junction(name)))
            middle.append(path)
        for tail, later in _part_layouts(runs, after, f"{region}>", depth - 1 if region == "" else 0):
            for head in heads:
                paths = [[*begin, *loop, *end] for begin, loop, end in zip(head, middle, tail, strict=True)]
                yield paths, (name, *inner, *later)


def _common_prefix(tools: Sequence[str], leading: Sequence[Sequence[str]]) -> int:
    """The number of calls before the loop, in a run that does not enter it."""
    prefixes = (takewhile(lambda pair: pair[0] == pair[1], zip(tools, other, strict=False)) for other in leading)
    return max((len(list(prefix)) for prefix in prefixes), default=0)


VISITS = "visits_to_"
"""Prefix of variables that count the visits of a site in a loop."""
ELEMENT = "element_of_"
"""Prefix of variables with a round's element of a list."""
LATER = f"{ELEMENT}later_"
"""Prefix of variables with a round's element of a list without its first element."""
ALL = "all_of_"
"""Prefix of variables with all results of a site in a loop, for a later loop."""
ROUND = "round_no"
"""Prefix of variables that count the rounds of a loop, from 0."""


@dataclass(frozen=True)
class Sample:
    """A visit: the number of the run, and the event in its path."""

    run: int
    event: int


@dataclass
class Walk:
    """A layout with the variables at every event."""

    runs: Sequence[Run]
    layout: Layout
    names: dict[Key, str]
    """The variable that each site sets."""
    lists: dict[str, dict[str, str]]
    """For each loop its element variables, with the expression of the list."""
    before: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    after: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    visits: dict[Key, list[Sample]] = field(default_factory=dict[Key, list[Sample]])

    def key(self, sample: Sample) -> Key:
        """The place."""
        return self.layout.paths[sample.run][sample.event].key

    def target(self, sample: Sample) -> Key:
        """The place that follows."""
        return self.layout.paths[sample.run][sample.event + 1].key

    def call(self, sample: Sample) -> Call:
        """The call of a visit to a site."""
        index = self.layout.paths[sample.run][sample.event].call
        assert index is not None, "only sites have calls"
        return self.runs[sample.run].calls[index]

    def previous(self, sample: Sample) -> Sample:
        """The visit before."""
        return Sample(sample.run, sample.event - 1)


def index_name(layout: Layout, loop: str) -> str:
    """The variable that counts the rounds of a loop, from 0."""
    place = layout.loops.index(loop)
    return ROUND if place == 0 else f"{ROUND}_{place + 1}"


def walk(runs: Sequence[Run], layout: Layout, taken: Sequence[str]) -> Walk:
    """Computes the variables along all paths.

    Args:
        runs, layout: The runs and their layout.
        taken: Names of inputs.
    """
    names = _site_names(layout, taken)
    result = Walk(runs, layout, names, {loop: {} for loop in layout.loops})
    for number, path in enumerate(layout.paths):
        run = runs[number]
        env: dict[str, Any] = dict(run.inputs)
        for key in layout.sites:
            if key[1].endswith("/"):
                env[f"{VISITS}{names[key]}"] = 0
        rounds: dict[str, int] = {}
        results: dict[str, list[Any]] = {f"{ALL}{names[key]}": [] for key in layout.sites if key[1].endswith("/")}
        elements: dict[str, dict[str, list[Any]]] = {}
        befores: list[dict[str, Any]] = []
        afters: list[dict[str, Any]] = []
        for place, event in enumerate(path):
            befores.append(env)
            result.visits.setdefault(event.key, []).append(Sample(number, place))
            if event.key[0] == "loop":
                env = dict(env)
                _begin_round(result, event.key[1], env, rounds, elements, path[place - 1].key, results)
            elif event.call is not None:
                env = dict(env)
                env[names[event.key]] = run.calls[event.call].value
                if (every := f"{ALL}{names[event.key]}") in results:
                    results[every].append(run.calls[event.call].value)
                if (count := f"{VISITS}{names[event.key]}") in env:
                    env[count] += 1
            afters.append(env)
        result.before.append(befores)
        result.after.append(afters)
    return result


def _begin_round(
    result: Walk,
    loop: str,
    env: dict[str, Any],
    rounds: dict[str, int],
    elements: dict[str, dict[str, list[Any]]],
    came_from: Key,
    results: dict[str, list[Any]],
) -> None:
    """Passes a junction: begins the next round, or the first one if the loop is entered."""
    entered = not inside(came_from, loop)
    rounds[loop] = 0 if entered else rounds[loop] + 1
    index = index_name(result.layout, loop)
    if entered:
        elements[loop] = {}
        env.update({name: list(value) for name, value in results.items() if value})
        for expr, value in [*(lists := _lists_in(env)), *_without_first(lists, result.runs[0].inputs)]:
            prefix = LATER if expr.endswith("[1:]") else ELEMENT
            name = prefix + re.sub(r"\W+", "_", expr.removeprefix(ELEMENT).removesuffix("[1:]")).strip("_")[:40]
            if result.layout.loops.index(loop):
                name = f"{name}_{result.layout.loops.index(loop) + 1}"
            elements[loop][name] = value
            result.lists[loop][name] = expr
    env[index] = rounds[loop]
    for name, value in elements[loop].items():
        env[name] = value[rounds[loop]] if rounds[loop] < len(value) else UNSET
        if env[name] is UNSET:
            del env[name]


def inside(key: Key, loop: str) -> bool:
    """Whether a place belongs to a loop, its own junction included."""
    return len(key) > 1 and key[1].startswith(loop)


def _lists_in(env: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    """The lists that a loop may iterate over."""
    lists: list[tuple[str, list[Any]]] = []
    for name, value in env.items():
        if isinstance(value, list):
            lists.append((name, cast(list[Any], value)))
        elif isinstance(value, dict):
            for key, part in cast(dict[str, Any], value).items():
                if isinstance(part, list):
                    lists.append((f"{name}[{key!r}]", cast(list[Any], part)))
    return lists[:12]


def _without_first(lists: Sequence[tuple[str, list[Any]]], inputs: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    """The input lists without their first element, which may be handled before the loop."""
    return [(f"{name}[1:]", value[1:]) for name, value in lists if name in inputs]


def _site_names(layout: Layout, taken: Sequence[str]) -> dict[Key, str]:
    used = set(taken)
    names: dict[Key, str] = {}
    for key in layout.sites:
        base = re.sub(r"\W", "_", tool_of(key[2]))[:40]
        reserved = base.startswith((VISITS, ELEMENT, ROUND, ALL))
        name = base if base[:1].isalpha() and not reserved else f"r_{base}"
        if name in used or name in _RESERVED:
            number = next(number for number in range(2, 10_000) if f"{name}_{number}" not in used)
            name = f"{name}_{number}"
        used.add(name)
        names[key] = name
    return names


_RESERVED = frozenset(
    ["and", "or", "not", "in", "is", "if", "else", "for", "len", "max", "min", "sum", "sorted", "round"]
)
