"""ATIF, the Agent Trajectory Interchange Format, versions 1.0 to 1.8."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, cast

from flowmind.formats.conversation import Conversation, fields_of, observation_of
from flowmind.formats.traces.imported import Imported, Reader
from flowmind.formats.traces.parts import Row, at, entries, finished, inputs_of, label, listed, record, specs_of, text
from flowmind.trace.events import Source

_VERSION = re.compile(r"ATIF-v1\.(\d+)")
_SOURCES = {"system": "system", "user": "user"}


def _version(value: Any) -> Any:
    return fields_of(value).get("schema_version")


def _recognises(document: Any) -> bool:
    listed = [entry for _, entry in entries(document, lambda value: False)]
    return any(isinstance(version := _version(entry), str) and version.startswith("ATIF-") for entry in listed)


def _read(document: Any) -> Iterator[Imported]:
    names: dict[str, str] = {}
    for place, entry in entries(document, lambda value: False):
        with at(place):
            yield _imported(record(entry, "it"), names)


def _imported(trajectory: Row, names: dict[str, str]) -> Imported:
    version = text(trajectory, "schema_version")
    if not _VERSION.fullmatch(version):
        raise ValueError(f"its schema_version is {version!r}; ATIF-v1.0 to ATIF-v1.8 can be read")
    agent = record(trajectory.get("agent"), "its agent")
    steps = trajectory.get("steps")
    if not isinstance(steps, list) or not steps:
        raise ValueError("it has no list of steps")
    reading = _Steps(names, lossy=True)
    for number, value in enumerate(cast(list[Any], steps), 1):
        with at(f"step {number}"):
            reading.step(record(value, "it"))
    lost = list[str]()
    specs = specs_of(agent.get("tool_definitions"), lost)
    if trajectory.get("continued_trajectory_ref"):
        lost.append("the continuation of the trajectory, which is another file")
    if listed(trajectory, "subagent_trajectories"):
        lost.append("the steps of sub-agents")
    source = Source(
        format="atif", version=version, id=label(trajectory, "trajectory_id", "session_id"),
        agent=label(agent, "name"), model=label(agent, "model_name"),
    )  # fmt: skip
    extra = fields_of(trajectory.get("extra"))
    return finished(reading, source, inputs_of(extra), extra.get("answer", ...), specs=specs, lost=lost)


class _Steps(Conversation):
    """The steps of a trajectory."""

    def step(self, step: Row) -> None:
        """Reads the next step. A result without an id belongs to the first call that waits for one."""
        source = text(step, "source")
        if step.get("is_copied_context") is True:
            self.lost["a step that repeats the context"] += 1
            return
        calls = [record(call, "a call in it") for call in listed(step, "tool_calls")]
        if source == "agent":
            self.reply(anew=True)
            self.think(label(step, "reasoning_content"))
        elif source not in _SOURCES:
            raise ValueError(f"its source is {source!r}; known are agent, system and user")
        elif calls:
            raise ValueError(f"it has calls, and its source is {source!r}")
        else:
            self.end_reply()
        self.content("assistant" if source == "agent" else source, step.get("message"))
        for call in calls:
            arguments = call.get("arguments")
            if not isinstance(arguments, dict | str):
                raise ValueError("a call in it has no arguments; record the calls with their arguments")
            self.called(text(call, "tool_call_id"), call.get("function_name"), arguments, _seconds(call))
        observation = step.get("observation")
        results = [] if observation is None else listed(record(observation, "its observation"), "results")
        for result in results:
            self._result(source, record(result, "a result in it"))

    def _result(self, source: str, result: Row) -> None:
        waiting, id = self.waiting, result.get("source_call_id")
        if result.get("subagent_trajectory_ref"):
            self.lost["the steps of a sub-agent, which is one call here"] += 1
        if id is None and not waiting and source == "agent":
            raise ValueError("it has a result, and no call waits for one; record what the agent did as tool_calls")
        if id is None and not waiting:
            self.lost["a result that belongs to no call"] += 1
            return
        self.answered(waiting[0] if id is None else id, None, observation_of(result.get("content")))


def _seconds(call: Row) -> float | None:
    """The duration of a call, if its `extra` states when it began and ended."""
    times = fields_of(fields_of(call.get("extra")).get("invocation"))
    begin, end = (_time(times.get(key)) for key in ("start_timestamp", "end_timestamp"))
    return None if begin is None or end is None or end < begin else end - begin


def _time(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else None
    except ValueError:
        return None


ATIF = Reader("ATIF trajectories", _recognises, _read)
