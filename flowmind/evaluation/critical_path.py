"""The critical path: the time that the calls of a trace take if calls without dependencies run at the same time.

Source: WorFBench, section 4.2 ("Parallel Planning Steps", figure 6): the nodes of a workflow graph are weighted with
their measured times, and the longest path from start to end is the time of a parallel execution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flowmind.trace.events import Origin, Trace


def critical_path(durations: Sequence[float], edges: Iterable[tuple[int, int]]) -> float:
    """The length of the longest path of a graph.

    Args:
        durations: The time of each step, in seconds.
        edges: Dependencies as pairs of indices from 0: the second step begins after the first has ended.

    Returns:
        Seconds; 0.0 without steps.

    Raises:
        ValueError: If the dependencies have a cycle, or an edge names a step that does not exist.
    """
    after: list[set[int]] = [set() for _ in durations]
    for source, target in edges:
        if not (0 <= source < len(durations) and 0 <= target < len(durations)):
            raise ValueError(f"edge ({source}, {target}): there are {len(durations)} steps, counted from 0")
        after[source].add(target)
    waiting = [0] * len(durations)
    for targets in after:
        for target in targets:
            waiting[target] += 1
    begins = [0.0] * len(durations)
    ready = [step for step, count in enumerate(waiting) if not count]
    longest, done = 0.0, 0
    while ready:
        step = ready.pop()
        done += 1
        ends = begins[step] + durations[step]
        longest = max(longest, ends)
        for target in after[step]:
            begins[target] = max(begins[target], ends)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    if done < len(durations):
        raise ValueError("the dependencies between the steps have a cycle")
    return longest


def seconds_of(trace: Trace) -> list[float]:
    """The measured time of each call of a trace, in seconds.

    Raises:
        ValueError: If a call has none.
    """
    seconds = [call.seconds for call in trace.calls]
    measured = [time for time in seconds if time is not None]
    if len(measured) < len(seconds):
        raise ValueError(f"call {seconds.index(None) + 1} has no measured time")
    return measured


def dependencies(trace: Trace) -> set[tuple[int, int]]:
    """The dependencies between the calls of a trace that follow from the origins of their arguments.

    Args:
        trace: With origins, as `with_origins` or the agent gave them. Origins that were computed come before stated
            ones. An argument with an origin that does not name its calls (`computed`, `unexplained`) adds none.

    Returns:
        Pairs of indices in `Trace.calls`, for `critical_path`.
    """
    return {
        (source, index)
        for index, call in enumerate(trace.calls)
        for origin in {**call.stated, **call.origins}.values()
        for source in _sources(origin)
        if source < index
    }


def _sources(origin: Origin) -> Iterator[int]:
    if origin.kind == "output" and origin.step is not None:
        yield origin.step
    for part in origin.parts.values():
        yield from _sources(part)
