"""Procedures learned from the sessions of runs, beside the procedures that the sessions were made for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from flowmind.api.summarizing import summarize
from flowmind.base.errors import InputError, InvalidWorkflow
from flowmind.base.files import parse_json, read_text
from flowmind.dialogue.executions import executions_of
from flowmind.trace.events import Said, Trace
from flowmind.trace.scenario import DialogueData
from flowmind.workflow.document import ToolNode, Workflow
from flowmind.workflow.preconditions import preconditions


@dataclass(frozen=True)
class Learned:
    """The procedure that was learned for a scenario."""

    scenario: str
    sessions: int
    """The number of sessions that it comes from."""
    workflow: Workflow | None
    solved: bool = False
    """Whether it gives the calls and answers of all these sessions."""
    problem: str = ""
    """The reason if there is no workflow."""
    missing: tuple[str, ...] = ()
    """Tools of the scenario, and direct preconditions `a -> b` between its tools, that the workflow lacks."""
    added: tuple[str, ...] = ()
    """Those that the workflow has and the scenario's own procedure has not."""
    notes: tuple[str, ...] = field(default=())

    @property
    def same(self) -> bool:
        """Whether tools and preconditions are those of the scenario's own procedure."""
        return self.workflow is not None and not self.missing and not self.added


def sessions_of(folders: Sequence[Path], data: DialogueData) -> dict[str, list[tuple[str, Trace]]]:
    """The successful sessions of runs with one goal and without interventions: by scenario, with the end of each.

    What only a simulation knows is left out: the acts of the user and the names of answers.

    Raises:
        InputError: If a folder holds no sessions, or one cannot be read.
    """
    found: dict[str, list[tuple[str, Trace]]] = defaultdict(list)
    for folder in folders:
        paths = sorted((folder / "traces").glob("*.json"))
        if not paths:
            raise InputError(f"{folder}: no session in it (no file in traces); name the folder of a run")
        for path in paths:
            try:
                body = cast("dict[str, Any]", parse_json(read_text(path)))
                goals, gold = body["session"]["goals"], body["gold"]["goals"]
                trace = Trace.model_validate(body["trace"])
                success = body["record"]["score"]["success"]
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(f"{path}: no session can be read from it: {error}") from None
            fired = any(isinstance(event, Said) and event.intervention is not None for event in trace.events)
            if len(goals) == 1 and success and not fired and goals[0]["scenario"] in data.scenarios:
                found[goals[0]["scenario"]].append((gold[0]["outcome"], _overheard(trace)))
    return found


def _overheard(trace: Trace) -> Trace:
    events = [
        event.model_copy(update={"acts": (), "answer": ""}) if isinstance(event, Said) else event
        for event in trace.events
    ]
    return trace.model_copy(update={"events": tuple(events)})


def learn(sessions: Mapping[str, Sequence[tuple[str, Trace]]], data: DialogueData, most: int) -> Iterator[Learned]:
    """Learns the procedure of each scenario from at most `most` sessions, of each end in turn."""
    for id, scenario in data.scenarios.items():
        chosen = _in_turn(sessions.get(id, ()), most)
        if chosen:
            yield _learned(id, scenario.workflow, chosen, data)


def _in_turn(sessions: Sequence[tuple[str, Trace]], most: int) -> list[Trace]:
    by_end: dict[str, list[Trace]] = defaultdict(list)
    for end, trace in sessions:
        by_end[end].append(trace)
    longest = max(map(len, by_end.values()), default=0)
    return [traces[number] for number in range(longest) for traces in by_end.values() if number < len(traces)][:most]


def _learned(id: str, own: Workflow, traces: Sequence[Trace], data: DialogueData) -> Learned:
    specs = data.specs_of(data.scenarios[id].tools)
    notes = tuple(executions_of(traces, specs).notes)
    try:
        result = summarize(traces, list(specs.values()), query=own.description, name=id, dialogues=True)
        workflow = result.document
    except (InputError, InvalidWorkflow) as error:
        return Learned(id, len(traces), None, problem=str(error), notes=notes)
    ours, theirs = _graph(own), _graph(workflow)
    return Learned(
        id,
        len(traces),
        workflow,
        solved=result.solved,
        missing=tuple(sorted(ours - theirs)),
        added=tuple(sorted(theirs - ours)),
        notes=notes,
    )


def _graph(workflow: Workflow) -> set[str]:
    """The tools of a workflow, and the direct preconditions between them."""
    tools = {node.tool for node in workflow.nodes if isinstance(node, ToolNode)}
    needs = preconditions(workflow)
    return tools | {f"{tool} -> {other}" for tool in tools for other in needs.get(tool, ())}
