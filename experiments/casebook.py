"""The data of the report's case browser: the cases of runs as one compressed JSON value; shared values occur once."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.folder import Run, Stages
from experiments.loading import Loaded
from experiments.marking import Marked, as_json, marked
from experiments.record import CaseRecord, Score
from experiments.verdicts import solved, verdict
from experiments.ways import Link, links_of, way_of
from flowmind.build.derivation import Derivation
from flowmind.build.settings import SINGLE
from flowmind.formats.svg import to_svg
from flowmind.trace.events import Called, Event, Origin, Planned, Trace
from flowmind.trace.origins import describe as describe_origin
from flowmind.trace.origins import has_holes
from flowmind.trace.task import Task
from flowmind.workflow.describing import describe
from flowmind.workflow.document import Workflow
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry import catalog
from tools_registry.specs.schema import type_label

_STEPS = 6
"""The most steps that are listed as evidence for a field of a node."""
_WAYS = {
    "induction": "by induction, no model asked",
    "guided": "by induction, a model asked for what the traces leave open",
    "replay": "the calls of one trace in a row",
}
"""How a workflow was derived, by the name of the summarizer."""


@dataclass(frozen=True)
class Case:
    """A case of a run, as it is stored in the run's folder."""

    run: int
    """The index of the run."""
    mode: str
    record: CaseRecord
    stages: Stages
    drawing: str | None
    """The drawing of its workflow, sound or not, as SVG; None if it has no workflow."""
    lines: tuple[str, ...] = ()
    """The workflow as text."""
    links: tuple[Link, ...] = ()
    """The calls that support its nodes."""
    ways: tuple[dict[str, Any] | None, ...] = ()
    """The way of each held-out test through it; None if the run has not kept it."""


def read_cases(runs: Sequence[Loaded]) -> list[Case]:
    """All cases of some runs.

    Raises:
        InputError: If a trace or a workflow cannot be read.
    """
    cases: list[Case] = []
    for index, loaded in enumerate(runs):
        run = Run(loaded.folder)
        run.verify(record.id for record in loaded.everything)
        for record in loaded.everything:
            cases.append(_case(index, loaded.mode, record, run.stages(record.id), run.workflow(record.id)))
    return cases


def _case(index: int, mode: str, record: CaseRecord, stages: Stages, workflow: Workflow | None) -> Case:
    if workflow is None:
        return Case(index, mode, record, stages, None)
    ways = tuple(way_of(workflow, trace) if trace else None for trace in stages.tests)
    links = tuple(links_of(workflow, stages.traces))
    return Case(index, mode, record, stages, to_svg(workflow, styled=False), tuple(lines_of(workflow)), links, ways)


def lines_of(workflow: Workflow) -> list[str]:
    """A workflow as text. Below a node that was derived: the evidence of its fields (`2.1` is trace 2, step 1)."""
    lines: list[str] = []
    for node, line in zip(workflow.nodes, describe(workflow), strict=True):
        lines.append(line)
        for evidence in workflow.evidence:
            if evidence.node == node.id:
                steps = " ".join(f"{trace}.{step}" for trace, step in evidence.steps[:_STEPS])
                more = " …" if len(evidence.steps) > _STEPS else ""
                guess = f" (a guess: {evidence.guess})" if evidence.guess else ""
                lines.append(f"    {evidence.field}: {steps or 'no step'}{more}{guess}")
    return lines


def signatures(runs: Sequence[Loaded], cases: Iterable[Case]) -> dict[str, str]:
    """The signature and summary of each tool of some cases, in one line, if the tools are the catalog's.

    Empty if a benchmark has its own tools: a tool with the same name may do something else.
    """
    if any("tool_sources.jsonl" in Run(run.folder).manifest["benchmark"].get("sha256", {}) for run in runs):
        return {}
    named = {name for case in cases if case.stages.task for name in case.stages.task.tools}
    return {name: catalog.load()[name].spec.headline() for name in named if name in catalog.load()}


def pack(value: Any) -> str:
    """A JSON value as base64 of a zlib stream, which a browser reads with `DecompressionStream("deflate")`."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def casebook(cases: Iterable[Case], runs: Sequence[str], tools: dict[str, str], cut: int) -> dict[str, Any]:
    """The cases as the page's script reads them.

    Args:
        cases: The cases of all runs.
        runs: The name of each run.
        tools: The signature and summary of tools, by name; of other tools only the name is shown.
        cut: The most characters of one text; longer texts are cut and end with a note.
    """
    book = _Book(tools, cut)
    values = [book.case(case) for case in cases]
    shared = {"tasks": book.tasks.values, "tools": book.tools.values, "drawings": book.drawings.values}
    return {"cut": cut, "runs": list(runs), **shared, "cases": values}


class _Shared:
    """Values that are stored once, even if several cases use them."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._indexes: dict[str, int] = {}

    def add(self, value: Any) -> int:
        """The index of a value."""
        index = self._indexes.setdefault(as_json(value), len(self.values))
        if index == len(self.values):
            self.values.append(value)
        return index


class _Book:
    """Writes cases as JSON values."""

    def __init__(self, tools: dict[str, str], cut: int) -> None:
        self.tasks, self.tools, self.drawings = _Shared(), _Shared(), _Shared()
        self._known = tools
        self._most = cut

    def case(self, case: Case) -> dict[str, Any]:
        """A case; empty fields are left out."""
        record = case.record
        values: dict[str, Any] = {
            "run": case.run,
            "id": record.id,
            "task": self.tasks.add(self._task(record, case.stages.task)),
            "outcome": verdict(record).outcome,
            "words": verdict(record).words,
            "error": self._cut(record.error or ""),
            "seconds": record.seconds,
            "tokens": [[stage.input_tokens, stage.output_tokens] for stage in (record.execute, record.summarize)],
            "holds": [name for name in ("exec_complete", "exec_correct", "graph_valid") if getattr(record, name)],
            "solved": solved(record),
            "mixed": record.mti,
            "coerced": record.coerced,
            "tests": [self._test(score) for score in record.tests],
            "stages": self._stages(case),
            "problems": [self._cut(problem) for problem in record.problems],
        }
        if record.derivation is not None:
            values["derived"] = [[name, *map(self._cut, lines)] for name, *lines in derivation_lines(record.derivation)]
        if record.structure is not None:
            facts = record.structure
            values["likeness"] = {
                "scores": [
                    [name, round(100 * getattr(facts, name))] for name in ("nodes", "tools", "edges", "branches")
                ],
                "equivalent": facts.equivalent,
                "paths": [round(100 * facts.covered), round(100 * facts.spurious)],
                "diff": [self._cut(line) for line in facts.diff],
            }
        if case.drawing is not None:
            values["drawing"] = self.drawings.add(case.drawing)
            values["lines"] = [self._cut(line) for line in case.lines]
            values["links"] = [list(link) for link in case.links]
            values["ways"] = list(case.ways)
        return {key: value for key, value in values.items() if value not in (None, "", [])}

    def _task(self, record: CaseRecord, task: Task | None) -> dict[str, Any]:
        """The values that all runs on the task have in common."""
        values: dict[str, Any] = {
            "id": record.id,
            "category": record.category,
            "difficulty": record.difficulty,
            "flow": record.task.control_flow,
            "tests": [[self._value(score.input), self._value(score.expected)] for score in record.tests],
        }
        if task is not None:
            fields = task.inputs.get("properties", {})
            values["query"] = self._cut(task.query)
            values["inputs"] = [self._field(name, fields[name]) for name in fields]
            values["tools"] = [self.tools.add(self._cut(self._known.get(name, name))) for name in task.tools]
            values["examples"] = [
                [self._value(example.input), self._value(example.output)] for example in task.examples
            ]
        return values

    def _field(self, name: str, schema: dict[str, Any]) -> str:
        note = f": {schema['description']}" if schema.get("description") else ""
        return self._cut(f"{name} ({type_label(schema)}){note}")

    def _test(self, score: Score) -> dict[str, Any]:
        """A test; the expected and the actual answer are marked where they differ."""
        if score.passed:
            same = as_json(score.actual) == as_json(score.expected)
            return {"passed": True} if same else {"passed": True, "actual": [self._value(score.actual)]}
        if score.error is not None:
            return {"passed": False, "error": self._cut(score.error)}
        pair = {"expected": marked(score.expected, score.actual), "actual": marked(score.actual, score.expected)}
        return {"passed": False, **{name: self._cut_parts(parts) for name, parts in pair.items()}}

    def _stages(self, case: Case) -> list[dict[str, Any]]:
        traces, summary = case.stages.traces, case.stages.summary
        name = "Single stage" if case.mode in SINGLE else "Execute"
        many = len(traces) > 1
        stages = [
            self._stage(f"{name}, rollout {number}" if many else name, trace) for number, trace in enumerate(traces, 1)
        ]
        return [*stages, *([self._stage("Summarize", summary)] if summary else [])]

    def _stage(self, name: str, trace: Trace) -> dict[str, Any]:
        values: dict[str, Any] = {
            "name": name,
            "stop": trace.stop,
            "turns": [
                [turn.parse, turn.input_tokens, turn.output_tokens, turn.seconds, self._cut(turn.text)]
                for turn in trace.turns
            ],
            "steps": self._steps(trace),
        }
        if trace.inputs:
            values["input"] = [[self._cut(name), self._value(value)] for name, value in trace.inputs.items()]
        if trace.executed and trace.answer is not None:
            values["answer"] = self._value(trace.answer)
            if trace.origin is not None:
                values["origin"] = self._origin(trace.origin, trace, trace.answer)
        if trace.error is not None:
            values["error"] = self._cut(f"{trace.error.type}: {trace.error.message}")
        return values

    def _origin(self, origin: Origin, trace: Trace, value: Any) -> list[Any]:
        """The origin of a value, and a 1 if a part of it comes from no input and no tool result."""
        text = self._cut(describe_origin(origin, trace, value))
        return [text, 1] if has_holes(origin) else [text]

    def _steps(self, trace: Trace) -> list[dict[str, Any]]:
        """The events; calls have their index among the calls."""
        indexes = {id(call): index for index, call in enumerate(trace.calls)}
        steps = [(self._step(event, trace), indexes.get(id(event))) for event in trace.events]
        return [step if index is None else {**step, "call": index} for step, index in steps]

    def _step(self, step: Event, trace: Trace) -> dict[str, Any]:
        if isinstance(step, Planned):
            plan = [self._cut(line) for line in step.steps]
            return {"turn": step.turn, "analysis": self._cut(step.analysis), "plan": plan}
        if isinstance(step, Called):
            values: dict[str, Any] = {
                "turn": step.turn,
                "phase": step.phase,
                "reasoning": self._cut(step.reasoning),
                "graph": step.call.tool in GRAPH_TOOLS,
                "tool": self._cut(step.call.tool),
                "args": [[self._cut(name), self._value(value)] for name, value in step.call.args.items()],
            }
            if step.origins:
                values["origins"] = {
                    self._cut(name): self._origin(origin, trace, step.call.args.get(name))
                    for name, origin in step.origins.items()
                }
            if step.observation.error is not None:
                return {
                    **values,
                    "error": self._cut(f"{step.observation.error.type}: {step.observation.error.message}"),
                }
            return {**values, "value": self._observed(step.observation.value)}
        return {
            "turn": None,
            "note": self._cut(f"{step.kind}: {as_json(step.model_dump(mode='json', exclude={'kind'}))}"),
        }

    def _observed(self, value: Any) -> str:
        """A value as the model saw it: a text of several lines is not quoted."""
        return self._cut(value) if isinstance(value, str) and "\n" in value else self._value(value)

    def _value(self, value: Any) -> str:
        return self._cut(as_json(value))

    def _cut(self, text: str) -> str:
        return text if len(text) <= self._most else f"{text[: self._most]}{_note(self._most, len(text))}"

    def _cut_parts(self, parts: Marked) -> Marked:
        whole, remaining, cut = sum(map(len, parts)), self._most, list[str]()
        for part in parts:
            cut.append(part[:remaining])
            remaining -= len(cut[-1])
        return [*cut, *[""] * (len(cut) % 2), _note(self._most, whole)] if whole > self._most else cut


def derivation_lines(derivation: Derivation) -> list[list[str]]:
    """How a workflow was derived: names, each followed by its lines; a name without a line is left out."""
    executed = _count(derivation.executions, "gold trace" if derivation.source == "gold" else "execution")
    solved = f"{derivation.right} of {derivation.examples} solved"
    if derivation.mends:
        solved = f"first {derivation.draft_right}, in the end {solved}"
    unseen = f", {derivation.verified} of them not built from" if derivation.verified else ""
    read = (name + (" (read all the same)" if name in derivation.unsettled else "") for name in derivation.idle)
    head = _count(derivation.unexplained, "value")
    lines = [
        ["how", _WAYS.get(derivation.summarizer, f"summarizer {derivation.summarizer}")],
        ["from", f"{derivation.built_from} of {executed}" if derivation.built_from else executed],
        ["examples", solved + unseen],
        ["mends", ", ".join(derivation.mends)],
        ["open", *derivation.open],
        ["asked", _count(derivation.asked, "question") if derivation.asked else ""],
        ["leaked", *derivation.leaked],
        ["idle", ", ".join(read)],
        ["in the head", f"{head} worked out without a tool" if derivation.unexplained else ""],
    ]
    return [line for line in lines if any(line[1:])]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _note(most: int, whole: int) -> str:
    return f"… [cut: {most:,} of {whole:,} characters]"
