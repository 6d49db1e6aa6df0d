"""WorkBench for tests: queries by template, their slots, the golden calls, and recorded runs of GPT-4 as traces."""

from __future__ import annotations

import ast
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flowmind.trace.events import Called, StopReason, Trace
from tools_registry.specs.spec import Effect, Observation, ToolCall, ToolSpec, tool_identifier

Row = dict[str, Any]
READING = ("get", "search", "find", "total", "engaged", "traffic")
"""The first words of the names of tools that change nothing, for tools that no golden answer calls."""


@dataclass(frozen=True)
class Instance:
    """A query."""

    id: str
    query: str
    slots: dict[str, str] | None
    """What its template's slots are filled with, as written in the query; None if the text does not say clearly."""
    gold: tuple[Called, ...]
    """The golden calls: those that change something. Empty where the query's condition does not hold."""
    run: Trace | None
    """What GPT-4 did on it, its inputs the slots; None if the record cannot be read."""
    correct: bool
    """Whether that run left the world as the golden calls do."""
    phrasing: str = ""
    """The template that the query is an instance of."""

    def shown(self, specs: Mapping[str, ToolSpec]) -> Trace | None:
        """GPT-4's run as an example of how the task is done, if it is one.

        That is a right run whose record holds all that was done: the calls that changed something are the golden ones,
        in any order (some records of right runs lack steps). Calls that a tool refused in words are failed ones; nobody
        asked for an answer, so that it is null.
        """
        if self.run is None or not self.correct:
            return None
        steps = tuple(_failed(step) if _refused(step) else step for step in self.run.calls)
        done = [step for step in steps if step.observation.ok and specs[step.call.tool].effect == "write"]
        if sorted(map(_as_text, done)) != sorted(map(_as_text, self.gold)):
            return None
        return Trace(inputs=self.run.inputs, events=steps, stop="finish")


@dataclass(frozen=True)
class WorkBench:
    """The fixtures as a whole."""

    templates: dict[str, tuple[Instance, ...]]
    """By base template: the same task with other slots, asked in other words."""
    specs: dict[str, ToolSpec]
    data: Path
    """The folder of its tables."""

    @property
    def instances(self) -> tuple[Instance, ...]:
        """All of them."""
        return tuple(instance for found in self.templates.values() for instance in found)


def workbench() -> WorkBench:
    """The fixtures, where they are at hand; else the test is skipped."""
    held = os.environ.get("FLOWMIND_FIXTURES")
    folder = (Path(held) if held else Path(__file__).resolve().parents[2] / "shared" / "fixtures") / "workbench"
    if not (folder / "queries.jsonl").exists():
        pytest.skip("the WorkBench records are not here (FLOWMIND_FIXTURES names the folder that has workbench/)")
    return read_workbench(folder)


def read_workbench(folder: Path) -> WorkBench:
    """The fixtures in a folder."""
    queries, golds, runs = (
        _rows(folder / name) for name in ("queries.jsonl", "gold_execution.jsonl", "agent_runs_gpt-4.jsonl")
    )
    specs = _specs(json.loads((folder / "tool_specs.json").read_text(encoding="utf-8")), golds)
    gold_of = {row["fixture_id"]: row for row in golds}
    run_of = {row["fixture_id"]: row for row in runs}
    found: dict[str, list[Instance]] = {}
    for query, slots in zip(queries, slots_of([row["record"] for row in queries]), strict=True):
        id, record = query["fixture_id"], query["record"]
        gold = tuple(_gold_step(step, specs) for step in gold_of[id]["steps"])
        run = run_of[id]
        correct = run["reference"]["is_correct"]
        made = Instance(id, record["query"], slots, gold, _run(run, slots or {}), correct, record["chosen_template"])
        found.setdefault(record["base_template"], []).append(made)
    return WorkBench({template: tuple(instances) for template, instances in found.items()}, specs, folder / "data")


def slots_of(records: Sequence[Mapping[str, str]]) -> list[dict[str, str] | None]:
    """What the slots of each query's `chosen_template` are filled with.

    Where two slots stand side by side, a text can be split in several ways; then that split counts whose doubtful parts
    are all known from queries that leave no choice, if there is exactly one.
    """
    splits = [list(placements(record["chosen_template"].strip(), record["query"].strip())) for record in records]
    known = {(name, text.casefold()) for found in splits if len(found) == 1 for name, text in found[0].items()}
    return [_clear(found, known) for found in splits]


def _clear(found: Sequence[dict[str, str]], known: set[tuple[str, str]]) -> dict[str, str] | None:
    if len(found) > 1:
        doubtful = [name for name in found[0] if len({one[name] for one in found}) > 1]
        found = [one for one in found if all((name, one[name].casefold()) in known for name in doubtful)]
    return found[0] if len(found) == 1 else None


def placements(template: str, text: str) -> Iterator[dict[str, str]]:
    """All ways to fill a template's `{slots}` so that it reads as the text, whatever the case of the letters.

    A slot that stands twice is filled with the same words; a filling neither begins nor ends with a space.
    """
    parts = [part for part in re.split(r"(\{\w+\})", template) if part]

    def fill(number: int, at: int, filled: dict[str, str]) -> Iterator[dict[str, str]]:
        if number == len(parts):
            if at == len(text):
                yield dict(filled)
            return
        name = parts[number][1:-1] if re.fullmatch(r"\{\w+\}", parts[number]) else None
        word = parts[number] if name is None else filled.get(name)
        if word is not None:
            if text[at : at + len(word)].casefold() == word.casefold():
                yield from fill(number + 1, at + len(word), filled)
            return
        assert name is not None
        for end in range(at + 1, len(text) + 1):
            if (value := text[at:end]) == value.strip():
                yield from fill(number + 1, end, {**filled, name: value})

    return fill(0, 0, {})


def _as_text(step: Called) -> str:
    return json.dumps([step.call.tool, step.call.args], sort_keys=True)


def _refused(step: Called) -> bool:
    value = step.observation.value
    return isinstance(value, str) and re.search(r" not (valid|provided)\.|must be one of", value) is not None


def _failed(step: Called) -> Called:
    return step.model_copy(update={"observation": Observation.failed("refused", step.observation.value)})


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _specs(tools: Sequence[Row], golds: Iterable[Row]) -> dict[str, ToolSpec]:
    """The tools; those write after whose golden calls the tables of their domain are changed."""
    called: Counter[str] = Counter()
    writers: set[str] = set()
    for gold in golds:
        for step in gold["steps"]:
            name = step["tool"]
            called[name] += 1
            if any(table.startswith(name.partition(".")[0]) for table in gold["state_diff"]):
                writers.add(name)
    found: dict[str, ToolSpec] = {}
    for tool in tools:
        name, doc = tool["name"], tool["doc"]
        verb = name.partition(".")[2].partition("_")[0]
        writes = name in writers if called[name] else verb not in READING
        effect: Effect = "write" if writes else "read"
        about = doc.partition("\n\n")[0]
        spec = ToolSpec(name=tool_identifier(name), description=about, parameters=_parameters(tool), effect=effect)
        found[spec.name] = spec
    return found


def _parameters(tool: Row) -> Row:
    """Parameters from a docstring of NumPy's style: `name : str, optional` and an indented description.

    All of them are texts. To those that are optional null is the same as nothing.
    """
    fields: Row = {}
    required: list[str] = []
    for name in tool["parameters"]:
        said = re.search(rf"^{name}\s*:\s*str(, optional)?.*\n\s+(.*)", tool["doc"], re.MULTILINE)
        assert said is not None, f"{tool['name']} does not describe {name!r}"
        fields[name] = {"type": ["string", "null"] if said[1] else "string", "description": said[2]}
        required += [] if said[1] else [name]
    return {"type": "object", "properties": fields, "required": required, "additionalProperties": False}


def _gold_step(step: Row, specs: Mapping[str, ToolSpec]) -> Called:
    tool = tool_identifier(step["tool"])
    args = dict(zip(specs[tool].names, step["args"], strict=False)) | step["kwargs"]
    return Called(call=ToolCall(tool=tool, args=args), observation=Observation(value=step["result"]))


def _run(row: Row, slots: dict[str, str]) -> Trace | None:
    """A recorded run as a trace; None if it was not recorded whole."""
    read = (row["steps"], row["final_output"]) if "steps" in row else _printed(row["full_response_unparsed"])
    if read is None:
        return None
    steps, answer = read
    made = [
        Called(
            call=ToolCall(tool=tool_identifier(step["tool"]), args=step["tool_input"]),
            observation=Observation(value=step["observation"]),
            turn=number,
        )
        for number, step in enumerate(steps)
    ]
    stop: StopReason = "turns" if str(answer).startswith("Agent stopped due to") else "finish"
    return Trace(inputs=slots, events=tuple(made), stop=stop, answer=answer if stop == "finish" else None)


def _printed(text: str) -> tuple[list[Row], Any] | None:
    """Steps and output of a run that was kept as Python printed it, arrays of NumPy as lists."""
    try:
        said = _literal(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return None
    steps = [{**action, "observation": seen} for action, seen in said["intermediate_steps"]]
    return steps, said["output"]


def _literal(node: ast.expr) -> Any:
    """A printed value: literals, `array([…], dtype=object)`, `AgentAction(tool=…, …)` as an object, `nan` as None.

    Raises:
        ValueError: If there is anything else in it.
    """
    match node:
        case ast.Call(func=ast.Name(id="array"), args=[elements]):
            return _literal(elements)
        case ast.Call(func=ast.Name(id="AgentAction"), keywords=fields):
            return {field.arg: _literal(field.value) for field in fields if field.arg is not None}
        case ast.Name(id="nan"):
            return None
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_literal(element) for element in elements]
        case ast.Dict(keys=keys, values=values):
            return {_literal(key): _literal(value) for key, value in zip(keys, values, strict=True) if key is not None}
        case _:
            value = ast.literal_eval(node)
            return None if isinstance(value, float) and not math.isfinite(value) else value
