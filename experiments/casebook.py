"""What the report's case browser reads: the cases of runs as one compressed value, what is shared standing once."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

from experiments.folder import Run, Stages
from experiments.loading import Loaded
from experiments.record import CaseRecord, Score
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
from tools_registry.specs.schema import json_equal, type_label

Marked = list[str]
"""A text in parts: every second one, from the second on, is marked."""
_STEPS = 6
"""Steps that are named for a part of a workflow."""
_WAYS = {
    "induction": "by induction, no model asked",
    "guided": "by induction, a model asked for what the traces leave open",
    "replay": "the calls of one trace in a row",
}
"""Who derived a workflow, in words."""


@dataclass(frozen=True)
class Case:
    """A case of a run, as its folder has it."""

    run: int
    """The index of the run."""
    mode: str
    record: CaseRecord
    stages: Stages
    drawing: str | None
    """Of its workflow, if it left one; sound or not."""
    lines: tuple[str, ...]
    """The workflow as text."""


def read_cases(runs: Sequence[Loaded]) -> list[Case]:
    """All cases of some runs.

    Raises:
        InputError: If a trace or a workflow cannot be read.
    """
    found: list[Case] = []
    for index, loaded in enumerate(runs):
        run = Run(loaded.folder)
        for record in loaded.everything:
            workflow = run.workflow(record.id)
            drawing, lines = (to_svg(workflow, styled=False), lines_of(workflow)) if workflow else (None, [])
            found.append(Case(index, loaded.mode, record, run.stages(record.id), drawing, tuple(lines)))
    return found


def lines_of(workflow: Workflow) -> list[str]:
    """A workflow as text; under a node that was derived, the steps that show its parts (`2.1`: trace 2, step 1)."""
    lines: list[str] = []
    for node, line in zip(workflow.nodes, describe(workflow), strict=True):
        lines.append(line)
        for one in workflow.evidence:
            if one.node == node.id:
                steps = " ".join(f"{trace}.{step}" for trace, step in one.steps[:_STEPS])
                more = " …" if len(one.steps) > _STEPS else ""
                guess = f" (a guess: {one.guess})" if one.guess else ""
                lines.append(f"    {one.field}: {steps or 'no step'}{more}{guess}")
    return lines


def signatures(runs: Sequence[Loaded], cases: Iterable[Case]) -> dict[str, str]:
    """What the tools of some cases are called with and do, a line each, if they are the catalog's.

    A benchmark may bring tools of its own: then there is none, for a tool of the same name may do something else.
    """
    if any("tool_sources.jsonl" in Run(run.folder).manifest["benchmark"].get("sha256", {}) for run in runs):
        return {}
    named = {name for case in cases if case.stages.task for name in case.stages.task.tools}
    return {name: catalog.load()[name].spec.headline() for name in named if name in catalog.load()}


def pack(value: Any) -> str:
    """A JSON value compressed, as text (base64 of a zlib stream): what `DecompressionStream("deflate")` reads."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpack(text: str) -> Any:
    """What was packed."""
    return json.loads(zlib.decompress(base64.b64decode(text)))


def casebook(cases: Iterable[Case], runs: Sequence[str], tools: dict[str, str], cut: int) -> dict[str, Any]:
    """The cases as the page's script reads them.

    Args:
        cases: Those of all runs.
        runs: The name of each run.
        tools: What tools do, by their names; a tool that is not there stands by its name alone.
        cut: Characters of one text; longer ones are cut, and say so.
    """
    book = _Book(tools, cut)
    told = [book.case(case) for case in cases]
    shared = {"tasks": book.tasks.values, "tools": book.tools.values, "drawings": book.drawings.values}
    return {"cut": cut, "runs": list(runs), **shared, "cases": told}


def marked(value: Any, other: Any) -> Marked:
    """A JSON value as text, with marks where it differs from another one (numbers by value, as answers are judged)."""
    told = [part for part in _parts(value, other) if part[0]]
    parts = [("".join(text for text, _ in group), mark) for mark, group in groupby(told, lambda part: part[1])]
    return [text for text, _ in parts] if not parts[0][1] else ["", *(text for text, _ in parts)]


def _parts(value: Any, other: Any) -> list[tuple[str, bool]]:
    if json_equal(value, other):
        return [(_json(value), False)]
    if isinstance(value, str) and isinstance(other, str):
        return _differing(_json(value), _json(other))
    if isinstance(value, list) and isinstance(other, list):
        mine, theirs = cast(list[Any], value), cast(list[Any], other)
        items = [
            _parts(item, theirs[index]) if index < len(theirs) else [(_json(item), True)]
            for index, item in enumerate(mine)
        ]
        return _joined("[", items, "]")
    if isinstance(value, dict) and isinstance(other, dict):
        held, asked = cast(dict[str, Any], value), cast(dict[str, Any], other)
        fields = [
            [(f"{_json(key)}: ", False), *_parts(item, asked[key])]
            if key in asked
            else [(f"{_json(key)}: {_json(item)}", True)]
            for key, item in held.items()
        ]
        return _joined("{", fields, "}")
    return [(_json(value), True)]


def _joined(open_: str, items: list[list[tuple[str, bool]]], close: str) -> list[tuple[str, bool]]:
    found = [(open_, False)]
    for number, item in enumerate(items):
        found += [(", ", False), *item] if number else item
    return [*found, (close, False)]


def _differing(text: str, other: str) -> list[tuple[str, bool]]:
    """A text with what is not the common beginning and end marked."""
    begin = _alike(text, other)
    middle = len(text) - _alike(text[begin:][::-1], other[begin:][::-1])
    return [(text[:begin], False), (text[begin:middle], True), (text[middle:], False)]


def _alike(text: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    return next(
        (index for index, pair in enumerate(zip(text, other, strict=False)) if pair[0] != pair[1]),
        min(len(text), len(other)),
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class _Shared:
    """Values that stand once, however often they are used."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[str, int] = {}

    def add(self, value: Any) -> int:
        """The place of a value."""
        key = _json(value)
        if key not in self._places:
            self._places[key] = len(self.values)
            self.values.append(value)
        return self._places[key]


class _Book:
    """Tells cases in JSON values."""

    def __init__(self, tools: dict[str, str], cut: int) -> None:
        self.tasks, self.tools, self.drawings = _Shared(), _Shared(), _Shared()
        self._known = tools
        self._most = cut

    def case(self, case: Case) -> dict[str, Any]:
        """A case; empty fields are left out."""
        record = case.record
        told: dict[str, Any] = {
            "run": case.run,
            "id": record.id,
            "task": self.tasks.add(self._task(record, case.stages.task)),
            "outcome": "error" if record.error is not None else record.failure_mode,
            "error": self._cut(record.error or ""),
            "seconds": record.seconds,
            "tokens": [[stage.input_tokens, stage.output_tokens] for stage in (record.execute, record.summarize)],
            "holds": [name for name in ("exec_complete", "exec_correct", "graph_valid") if getattr(record, name)],
            "mixed": record.mti,
            "coerced": record.coerced,
            "tests": [self._test(score) for score in record.tests],
            "stages": self._stages(case),
            "problems": [self._cut(problem) for problem in record.problems],
        }
        if record.derivation is not None:
            told["derived"] = [[name, *map(self._cut, lines)] for name, *lines in derivation_lines(record.derivation)]
        if record.structure is not None:
            facts = record.structure
            told["likeness"] = {
                "scores": [
                    [name, round(100 * getattr(facts, name))] for name in ("nodes", "tools", "edges", "branches")
                ],
                "equivalent": facts.equivalent,
                "paths": [round(100 * facts.covered), round(100 * facts.spurious)],
                "diff": [self._cut(line) for line in facts.diff],
            }
        if case.drawing is not None:
            told["drawing"] = self.drawings.add(case.drawing)
            told["lines"] = [self._cut(line) for line in case.lines]
        return {key: value for key, value in told.items() if value not in (None, "", [])}

    def _task(self, record: CaseRecord, task: Task | None) -> dict[str, Any]:
        """What is the same for all runs that work on the task."""
        told: dict[str, Any] = {
            "id": record.id,
            "category": record.category,
            "difficulty": record.difficulty,
            "flow": record.task.control_flow,
            "tests": [[self._value(score.input), self._value(score.expected)] for score in record.tests],
        }
        if task is not None:
            fields = task.inputs.get("properties", {})
            told["query"] = self._cut(task.query)
            told["inputs"] = [self._field(name, fields[name]) for name in fields]
            told["tools"] = [self.tools.add(self._cut(self._known.get(name, name))) for name in task.tools]
            told["examples"] = [[self._value(one.input), self._value(one.output)] for one in task.examples]
        return told

    def _field(self, name: str, schema: dict[str, Any]) -> str:
        note = f": {schema['description']}" if schema.get("description") else ""
        return self._cut(f"{name} ({type_label(schema)}){note}")

    def _test(self, score: Score) -> dict[str, Any]:
        """A test; what was expected and what came are marked where they differ."""
        if score.passed:
            same = _json(score.actual) == _json(score.expected)
            return {"passed": True} if same else {"passed": True, "actual": [self._value(score.actual)]}
        if score.error is not None:
            return {"passed": False, "error": self._cut(score.error)}
        pair = {"expected": marked(score.expected, score.actual), "actual": marked(score.actual, score.expected)}
        return {"passed": False, **{name: self._cut_parts(parts) for name, parts in pair.items()}}

    def _stages(self, case: Case) -> list[dict[str, Any]]:
        traces, summary = case.stages.traces, case.stages.summary
        name = "Single stage" if case.mode in SINGLE else "Execute"
        many = len(traces) > 1
        told = [
            self._stage(f"{name}, rollout {number}" if many else name, trace) for number, trace in enumerate(traces, 1)
        ]
        return [*told, *([self._stage("Summarize", summary)] if summary else [])]

    def _stage(self, name: str, trace: Trace) -> dict[str, Any]:
        told: dict[str, Any] = {
            "name": name,
            "stop": trace.stop,
            "turns": [
                [turn.parse, turn.input_tokens, turn.output_tokens, turn.seconds, self._cut(turn.text)]
                for turn in trace.turns
            ],
            "steps": [self._step(step, trace) for step in trace.events],
        }
        if trace.inputs:
            told["input"] = self._value(trace.inputs)
        if trace.executed and trace.answer is not None:
            told["answer"] = self._value(trace.answer)
            if trace.origin is not None:
                told["origin"] = self._origin(trace.origin, trace, trace.answer)
        if trace.error is not None:
            told["error"] = self._cut(f"{trace.error.type}: {trace.error.message}")
        return told

    def _origin(self, origin: Origin, trace: Trace, value: Any) -> list[Any]:
        """Where a value came from, and a 1 if it, or a part of it, was worked out in the head."""
        told = self._cut(describe_origin(origin, trace, value))
        return [told, 1] if has_holes(origin) else [told]

    def _step(self, step: Event, trace: Trace) -> dict[str, Any]:
        if isinstance(step, Planned):
            plan = [self._cut(line) for line in step.steps]
            return {"turn": step.turn, "analysis": self._cut(step.analysis), "plan": plan}
        if isinstance(step, Called):
            told: dict[str, Any] = {
                "turn": step.turn,
                "phase": step.phase,
                "reasoning": self._cut(step.reasoning),
                "graph": step.call.tool in GRAPH_TOOLS,
                "tool": self._cut(step.call.tool),
                "args": self._value(step.call.args),
            }
            if step.origins:
                args = step.call.args
                told["origins"] = [
                    [name, *self._origin(origin, trace, args.get(name))] for name, origin in step.origins.items()
                ]
            if step.observation.error is not None:
                return {**told, "error": self._cut(f"{step.observation.error.type}: {step.observation.error.message}")}
            return {**told, "value": self._observed(step.observation.value)}
        return {
            "turn": None,
            "note": self._cut(f"{step.kind}: {_json(step.model_dump(mode='json', exclude={'kind'}))}"),
        }

    def _observed(self, value: Any) -> str:
        """A value as the model was shown it: a text of several lines as it is."""
        return self._cut(value) if isinstance(value, str) and "\n" in value else self._value(value)

    def _value(self, value: Any) -> str:
        return self._cut(_json(value))

    def _cut(self, text: str) -> str:
        return text if len(text) <= self._most else f"{text[: self._most]}{_note(self._most, len(text))}"

    def _cut_parts(self, parts: Marked) -> Marked:
        whole, left, found = sum(map(len, parts)), self._most, list[str]()
        for part in parts:
            found.append(part[:left])
            left -= len(found[-1])
        if whole > self._most:
            found += [""] * (len(found) % 2) + [_note(self._most, whole)]
        return found


def derivation_lines(found: Derivation) -> list[list[str]]:
    """How a workflow was derived: names, each with lines; what there is nothing to say of is left out."""
    executed = _count(found.executions, "gold trace" if found.source == "gold" else "execution")
    solved = f"first {found.draft_right}, in the end {found.right} of {found.examples} solved"
    if not found.mends:
        solved = f"{found.right} of {found.examples} solved"
    unseen = f", {found.verified} of them not built from" if found.verified else ""
    told = [
        ["how", _WAYS.get(found.summarizer, f"summarizer {found.summarizer}")],
        ["from", f"{found.built_from} of {executed}" if found.built_from else executed],
        ["examples", solved + unseen],
        ["mends", ", ".join(found.mends)],
        ["open", *found.open],
        ["asked", _count(found.asked, "question") if found.asked else ""],
        ["leaked", *found.leaked],
        ["idle", ", ".join(name + (" (read all the same)" if name in found.unsettled else "") for name in found.idle)],
        ["in the head", f"{_count(found.unexplained, 'value')} worked out without a tool" if found.unexplained else ""],
    ]
    return [line for line in told if any(line[1:])]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _note(most: int, whole: int) -> str:
    return f"… [cut: {most:,} of {whole:,} characters]"
