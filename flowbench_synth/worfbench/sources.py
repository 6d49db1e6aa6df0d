"""Reads the traces of `--from`: benchmarks, dialogue benchmarks, runs, and recordings of any format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, cast

import tqdm
from pydantic import BaseModel

from flowbench_synth.dialogue.golds import path_of
from flowbench_synth.dialogue.world import World, place_of, world_of
from flowbench_synth.worfbench.cases import TracedCase, TraceSource, task_text
from flowmind.base import checksums as store
from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, read_lines, read_text, validate
from flowmind.dialogue.users.wording import Wording, joined
from flowmind.formats.tool_schema import specs_of_openai_tools, specs_of_traces
from flowmind.formats.traces import read
from flowmind.trace.events import Called, Event, Said, Trace
from flowmind.trace.scenario import CONFIRMED, DialogueData, Session
from flowmind.trace.task import Task
from tools_registry import catalog
from tools_registry.sandbox.files import tools_of_file
from tools_registry.sandbox.isolation import Level
from tools_registry.sandbox.stateful import without_state
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import SpecError, ToolSpec

FAILED = "it is marked as failed"


class _GoldRow(BaseModel):
    id: str
    trace: Trace


class _KeptCase(BaseModel):
    """A case's file under `traces/` of a run."""

    task: Task
    traces: tuple[Trace, ...] = ()


def read_source(
    name: str, path: Path, given: Mapping[str, ToolSpec], seed: int, require: Level = "kernel", quiet: bool = False
) -> TraceSource:
    """The traces of a folder or file.

    Args:
        name: The name of the source.
        path: The folder of a benchmark, of a dialogue benchmark or of a run, or a file of recordings.
        given: Tools that the user gave; they are preferred to those that recordings describe.
        seed: The seed of the wordings of a user's requests.
        require: The least isolation of the processes that run the tools of a dialogue benchmark.
        quiet: Whether no progress is shown.

    Raises:
        InputError: If it cannot be read.
    """
    if not path.exists():
        raise InputError(f"--from {path}: there is no such file or folder")
    if not path.is_dir():
        return _recordings(name, path, given)
    if (path / "scenarios.jsonl").exists():
        return _dialogues(name, path, seed, require, quiet)
    if (path / "instances.jsonl").exists():
        return _benchmark(name, path)
    if (path / "records.jsonl").exists() and (path / "traces").is_dir():
        return _run(name, path, given)
    raise InputError(
        f"--from {path}: this folder is no benchmark (instances.jsonl), no dialogue benchmark (scenarios.jsonl) and no "
        "run (records.jsonl and traces)"
    )


def read_given_tools(path: Path | None) -> dict[str, ToolSpec]:
    """The specs of `--tools`: a Python file, JSON definitions, or the `tools.jsonl` of a benchmark.

    Raises:
        InputError: If the file cannot be read, or has no tools.
    """
    if path is None:
        return {}
    if path.suffix == ".jsonl":
        return {spec.name: without_state(spec) for spec in read_lines(path, ToolSpec)}
    text = read_text(path)
    try:
        if path.suffix != ".json":
            return {tool.spec.name: without_state(tool.spec) for tool in tools_of_file(text)}
        value = parse_json(text)
        rows = cast(list[Any], value) if isinstance(value, list) else []
        if not rows or not all(isinstance(row, dict) for row in rows):
            raise InputError("a list of definitions in the format of OpenAI, Anthropic or MCP is needed")
        return specs_of_openai_tools(rows)
    except (SpecError, InputError, ValueError) as error:
        raise InputError(f"--tools {path}: {error}") from None


def _benchmark(name: str, path: Path) -> TraceSource:
    specs = {spec.name: without_state(spec) for spec in read_lines(path / "tools.jsonl", ToolSpec)}
    tasks = {task.id: task for task in read_lines(path / "instances.jsonl", Task)}
    source = TraceSource(name, str(path), specs=specs)
    for row in read_lines(path / "gold.jsonl", _GoldRow):
        if row.id not in tasks:
            raise InputError(f"{path / 'gold.jsonl'}: {row.id!r} is not in instances.jsonl")
        task = tasks[row.id]
        _require_specs(path, task, specs)
        source.cases.append(_of_task(task, row.id, f"gold.jsonl: {row.id}", row.trace))
    return source


def _require_specs(path: Path, task: Task, specs: Mapping[str, ToolSpec]) -> None:
    if missing := [tool for tool in task.tools if tool not in specs]:
        raise InputError(f"{path / 'tools.jsonl'}: the tool {missing[0]!r} of {task.id!r} is missing")


def _of_task(task: Task, id: str, place: str, trace: Trace) -> TracedCase:
    return TracedCase(id=id, place=place, task=task_text(task.query, trace.inputs), trace=trace, tools=task.tools)


def _run(name: str, path: Path, given: Mapping[str, ToolSpec]) -> TraceSource:
    source = TraceSource(name, str(path))
    known = {**catalog.specs(), **given}
    for file in sorted((path / "traces").glob("*.json")):
        document = store.read_document(file, "run the case again")
        try:
            case = validate(_KeptCase, document)
        except ValueError as error:
            raise InputError(f"{file}: {error}") from None
        inferred = specs_of_traces(case.traces)
        for number, trace in enumerate(case.traces, 1):
            id = case.task.id if len(case.traces) == 1 else f"{case.task.id}.{number}"
            right = {True: "", False: FAILED, None: "it has no answer"}[_is_right(case.task, trace)]
            if right:
                source.lost.append((id, right))
                continue
            source.specs |= {tool: known[tool] for tool in case.task.tools if tool in known}
            source.specs |= {tool: spec for tool, spec in inferred.items() if tool not in source.specs}
            made = _of_task(case.task, id, f"traces/{file.name}, trace {number}", trace)
            offered = tuple(tool for tool in case.task.tools if tool in source.specs)
            source.cases.append(made.model_copy(update={"tools": offered}))
    if not source.cases and not source.lost:
        raise InputError(f"--from {path}: no traces of cases in the folder 'traces'")
    return source


def _is_right(task: Task, trace: Trace) -> bool | None:
    """Whether an execution gave the answer of the example that it worked on; None if it gave none.

    The trace of an input without an example counts as right.
    """
    if not trace.executed:
        return None
    expected = [example.output for example in task.examples if json_equal(example.input, trace.inputs)]
    return not expected or json_equal(expected[0], trace.answer)


def _recordings(name: str, path: Path, given: Mapping[str, ToolSpec]) -> TraceSource:
    imported = read(path)
    source = TraceSource(name, str(path))
    inferred = specs_of_traces(one.trace for one in imported)
    ids: dict[str, int] = {}
    for number, one in enumerate(imported, 1):
        trace = one.trace
        recorded = trace.source.id if trace.source and trace.source.id else str(number)
        ids[recorded] = ids.get(recorded, 0) + 1
        id = recorded if ids[recorded] == 1 else f"{recorded}.{ids[recorded]}"
        called = list(dict.fromkeys(call.call.tool for call in trace.calls if call.observation.ok))
        specs = {**one.specs, **given}
        source.specs |= specs or {}
        source.specs |= {tool: inferred[tool] for tool in called if tool not in source.specs}
        if trace.success is False:
            source.lost.append((id, FAILED))
            continue
        texts = _texts_before_last_call(trace) or ([trace.source.request] if trace.source else [])
        task = task_text("\n".join(texts), trace.inputs if one.given else {}) if any(texts) else ""
        tools = tuple(dict.fromkeys([*specs, *called]))
        source.cases.append(TracedCase(id=id, place=f"trace {number}", task=task, trace=trace, tools=tools))
    return source


def _texts_before_last_call(trace: Trace) -> list[str]:
    """What users said before the last successful call."""
    calls = [place for place, event in enumerate(trace.events) if isinstance(event, Called) and event.observation.ok]
    before = trace.events[: calls[-1]] if calls else ()
    return [event.text for event in before if isinstance(event, Said) and event.role == "user"]


def _dialogues(name: str, path: Path, seed: int, require: Level, quiet: bool) -> TraceSource:
    """The sessions of a dialogue benchmark in their in-workflow form; their goals are run on their databases."""
    data = DialogueData.load(path)
    tools = {tool for scenario in data.scenarios.values() for tool in scenario.tools}
    source = TraceSource(name, str(path), specs=data.specs_of(sorted(tools)))
    with world_of(list(data.tools.values()), require=require) as world:
        for session in tqdm.tqdm(data.sessions.values(), desc="running", unit="session", disable=quiet or None):
            random = Random(f"{seed}/{session.id}")
            source.cases.append(_of_session(session, data, world, random))
    return source


def _of_session(session: Session, data: DialogueData, world: World, random: Random) -> TracedCase:
    place = place_of(data.start(session))
    events: list[Event] = []
    inputs: dict[str, Any] = {}
    texts: list[str] = []
    wording = Wording("plain", random)
    for number, goal in enumerate(session.goals):
        scenario = data.scenarios[goal.scenario]
        trace, place = world.run(scenario.workflow, goal.slots, place)
        if not trace.ok:
            raise InputError(f"{session.id}: the workflow of {goal.scenario!r} fails on the goal of the session")
        events += trace.calls
        path = path_of(scenario.workflow, goal.slots, trace)
        says = [wording.opens(scenario, first=number == 0)]
        for slot in path.slots:
            key = slot if slot not in inputs or json_equal(inputs[slot], goal.slots[slot]) else f"{slot}_{number + 1}"
            inputs[key] = goal.slots[slot]
            says.append(wording.informs(scenario.slots[slot], goal.slots[slot], sole=False, asked=False))
        if path.consent:
            says.append(_CONSENT[bool(goal.slots[CONFIRMED])])
        texts.append(joined(says))
    trace = Trace(inputs=inputs, events=tuple(events), stop="finish")
    offered = dict.fromkeys(tool for name in session.scenarios for tool in data.scenarios[name].tools)
    return TracedCase(
        id=session.id, place=f"session {session.id}", task="\n".join(texts), trace=trace, tools=tuple(offered)
    )


_CONSENT = {True: "If that is possible, please do it right away.", False: "Do not book or change anything yet."}


def names_of(paths: Iterable[str]) -> Sequence[tuple[str, Path]]:
    """The names and paths of `--from`: `NAME=PATH`, or a path, whose last part is the name.

    The gold file of a benchmark stands for its folder.

    Raises:
        InputError: If two sources have the same name.
    """
    named: dict[str, Path] = {}
    for text in paths:
        name, sign, rest = text.partition("=")
        path = Path(rest if sign and rest else text)
        if path.name == "gold.jsonl" and (path.parent / "instances.jsonl").exists():
            path = path.parent
        if not (sign and rest):
            name = path.resolve().name.removesuffix(".gz")
            name = name.rpartition(".")[0] or name if not path.is_dir() else name
        if not name or name in named:
            raise InputError(f"--from {text}: give each source another name, as in NAME={path}")
        named[name] = path
    return list(named.items())
