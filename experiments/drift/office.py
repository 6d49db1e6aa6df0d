"""The WorkBench stream: right runs of GPT-4 are the agent, and the office of the tests answers their calls."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from experiments.drift.serving import AT_ONCE, Served, Service, Subject
from experiments.drift.summing import SETTINGS
from experiments.drift.worlds import AgentFailed, Expected, Request, World
from experiments.record import Kept
from experiments.tables import markdown, shown
from flowmind.base.errors import InputError
from flowmind.base.processes import answer_questions
from flowmind.evaluation.statistics import Rate, rate
from flowmind.jit.guards import GUARDS
from flowmind.jit.settings import Promotion
from flowmind.recording.boundary import finished
from flowmind.trace.events import Trace
from tools_registry.specs.spec import Record, ToolCall, ToolSpec
from tools_registry.specs.values import CaseError

FEWEST = 2
"""The right runs that a template needs."""
AGREED = 2
"""The rehearsals that a version in shadow must agree on first. After a disagreement it takes four."""
_SHADOW = Promotion(runs=AGREED, lower=0.34, by="experiment")
_FILES = ("queries.jsonl", "gold_execution.jsonl", "agent_runs_gpt-4.jsonl", "tool_specs.json")


class OfficeStream(Record):
    """The requests of a template, under one setting."""

    guards: str
    shadow: bool
    served: tuple[Served, ...]
    rehearsed_writes: int
    """The writes in the office that are neither the agent's nor those of a version that was live."""


class TemplateStreams(Kept):
    """The streams of a template."""

    streams: tuple[OfficeStream, ...]


class OfficeRow(Record):
    """All streams under one setting."""

    guards: str
    shadow: bool
    requests: int
    hits: Rate
    wrong: Rate
    """The answers of a workflow with other writes than the golden ones, or in another order."""
    by_agent: int
    failed: int
    """The requests that the workflow did not answer, and of which there is no right run of the agent."""
    stopped: int
    fallbacks: dict[str, int]
    rehearsed_writes: int


class OfficeSummary(Record):
    """The table of the WorkBench stream."""

    templates: int
    rows: tuple[OfficeRow, ...]

    def text(self) -> str:
        """The table in Markdown."""
        guards = [guard for guard in GUARDS if any(guard in row.fallbacks for row in self.rows)]
        head = (
            "", "", "requests", "hits", "wrong among accepted", "agent", "no right run", "stopped",
            "writes of rehearsals", *guards,
        )  # fmt: skip
        cells = [
            (
                SETTINGS[row.guards], "shadow first" if row.shadow else "", str(row.requests), shown(row.hits),
                shown(row.wrong), str(row.by_agent), str(row.failed), str(row.stopped), str(row.rehearsed_writes),
                *(str(row.fallbacks.get(guard, 0)) for guard in guards),
            )
            for row in self.rows
        ]  # fmt: skip
        return f"{self.templates} templates.\n\n{markdown(head, cells)}\n"


class OfficeTools:
    """The office, as the tools of a world.

    Args:
        office: The office of the tests.
    """

    def __init__(self, office: Any) -> None:
        self._office = office
        self.specs: Mapping[str, ToolSpec] = office.specs

    def begin(self, request: Request) -> None:
        """Nothing: calls do not change the office."""

    def call(self, name: str, args: dict[str, Any]) -> Any:
        """The result of a call.

        Raises:
            CaseError: If the office does not know the call.
        """
        observation = finished(self._office.call(ToolCall(tool=name, args=args)))
        if observation.error is not None:
            raise CaseError(observation.error.type, observation.error.message)
        return observation.value


class _Case(NamedTuple):
    """A query of a template."""

    inputs: dict[str, str]
    gold: tuple[ToolCall, ...]
    run: Trace | None
    """What the agent does, if there is a right run."""


class OfficeBench:
    """The records of WorkBench.

    Args:
        folder: Their folder.

    Raises:
        InputError: If they are not there, or this is no checkout with its tests.
    """

    def __init__(self, folder: Path) -> None:
        if missing := [name for name in _FILES if not (folder / name).is_file()]:
            raise InputError(
                f"--workbench: {folder} has no file {missing[0]}; give the folder of the WorkBench records"
            )
        tests = Path(__file__).resolve().parents[2] / "tests"
        if not (tests / "workbench.py").is_file():
            raise InputError("--workbench: the office is in the folder tests of a checkout, which is not here")
        sys.path.insert(0, str(tests))
        try:
            self._bench: Any = importlib.import_module("workbench").read_workbench(folder)
            self._office: Any = importlib.import_module("workbench_tools").Office(self._bench.specs, self._bench.data)
        finally:
            sys.path.remove(str(tests))

    @property
    def templates(self) -> list[str]:
        """The templates with enough right runs."""
        return [
            template
            for template in self._bench.templates
            if sum(case.run is not None for case in self._cases(template)) >= FEWEST
        ]

    def _cases(self, template: str) -> list[_Case]:
        """The queries of a template whose slots are known; of equal ones the first."""
        found: dict[str, _Case] = {}
        for instance in self._bench.templates[template]:
            if instance.slots is not None:
                gold = tuple(step.call for step in instance.gold)
                found.setdefault(str(instance.slots), _Case(instance.slots, gold, instance.shown(self._bench.specs)))
        return list(found.values())

    def streams(self, template: str) -> TemplateStreams:
        """Serves the queries of a template, under each setting."""
        cases = self._cases(template)
        settings = [(guards, shadow) for shadow in (False, True) for guards in ("none", "all")]
        return TemplateStreams(
            id=template, streams=tuple(self._stream(template, cases, guards, shadow) for guards, shadow in settings)
        )

    def _stream(self, template: str, cases: Sequence[_Case], guards: str, shadow: bool) -> OfficeStream:
        names = list(cases[0].inputs)
        fields = {name: {"type": "string"} for name in names}
        inputs = {"type": "object", "properties": fields, "required": names, "additionalProperties": False}
        world = World(OfficeTools(self._office))
        served: list[Served] = []
        stray = 0
        with tempfile.TemporaryDirectory(prefix="flowmind-drift-") as folder:
            agent = _Replayed(world, cases)
            service = Service(
                Subject("workbench", template, inputs), world, agent.over, Path(folder) / "flows.db", guards,
                _SHADOW if shadow else AT_ONCE,
            )  # fmt: skip
            for case in cases:
                agent.writes = 0
                one = service.serve(Request(dict(case.inputs)), Expected(None, case.gold))
                served.append(one)
                if one.kind in ("agent", "fallback", "failed"):
                    stray += len(world.written) - agent.writes
            service.close()
        return OfficeStream(guards=guards, shadow=shadow, served=tuple(served), rehearsed_writes=stray)


class _Replayed:
    """An agent that does what was recorded.

    Args:
        world: The world.
        cases: The queries, with the right runs.
    """

    def __init__(self, world: World, cases: Sequence[_Case]) -> None:
        self._specs = world.specs
        self._runs = {str(case.inputs): case.run for case in cases}
        self.writes = 0
        """The writes that it has made."""

    def over(self, tools: Sequence[Callable[..., Any]]) -> Callable[[dict[str, Any]], Any]:
        """The agent with recorded tools."""
        by_name = dict(zip(self._specs, tools, strict=True))

        def answer(inputs: dict[str, Any]) -> Any:
            run = self._runs[str(inputs)]
            if run is None:
                raise AgentFailed("there is no right run")
            for step in run.calls:
                if step.observation.ok:
                    self.writes += self._specs[step.call.tool].effect == "write"
                    by_name[step.call.tool](**step.call.args)

        return answer


def office_summary(records: Sequence[TemplateStreams]) -> OfficeSummary:
    """The table of the streams of templates."""
    groups: dict[tuple[bool, str], list[OfficeStream]] = {}
    for record in records:
        for stream in record.streams:
            groups.setdefault((stream.shadow, stream.guards), []).append(stream)
    rows: list[OfficeRow] = []
    for (shadow, guards), streams in groups.items():
        served = [one for stream in streams for one in stream.served]
        hits = [one for one in served if one.kind == "hit"]
        kinds = Counter(one.kind for one in served)
        rows.append(
            OfficeRow(
                guards=guards,
                shadow=shadow,
                requests=len(served),
                hits=rate(len(hits), len(served)),
                wrong=rate(sum(not one.right for one in hits), len(hits)),
                by_agent=kinds["agent"] + kinds["fallback"],
                failed=kinds["failed"],
                stopped=kinds["stopped"],
                fallbacks=dict(Counter(one.guard for one in served if one.guard)),
                rehearsed_writes=sum(stream.rehearsed_writes for stream in streams),
            )
        )
    return OfficeSummary(templates=len(records), rows=tuple(rows))


@contextmanager
def _prepared(folder: Path) -> Generator[Callable[[str, Callable[[Any], None]], TemplateStreams]]:
    bench = OfficeBench(folder)
    yield lambda template, _: bench.streams(template)


def main() -> None:
    """Answers templates from standard input, as a helper process."""
    answer_questions(_prepared)
