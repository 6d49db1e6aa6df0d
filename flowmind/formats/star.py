"""Reads STAR (Mosig et al., 2020): recorded dialogues between a user and a wizard who follows a task's graph.

An API whose input has `RequestType` becomes two tools, one that checks and one that books. A task's graph and its API
become a workflow: the API's inputs are the slots; the graph's outcome labels become conditions on results.
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from flowmind.base.errors import InputError
from flowmind.base.files import parse_json, read_text
from flowmind.trace.events import Called, Event, Said
from flowmind.trace.recorded_dialogues import RecordedDialogue, RecordedDialogues, read_rows, recorded_data
from flowmind.trace.scenario import (
    CONFIRMED,
    OUTCOME,
    FactWords,
    Goal,
    Intervention,
    Profile,
    Scenario,
    Session,
    SlotWords,
    Trigger,
)
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec

_REQUEST = "RequestType"
_CHECK, _BOOK = "check", "book"
_STATUS = re.compile(r"(Message|Confirmation|\w*Status)")
_NEGATIVE = ("navailable", "conflict", "booked at", "Failed", "failed", "unable", "must provide", "Error", "cannot")
"""Parts of status texts by which the published simulator reports that something is not possible."""
_TURNS = {"single": 30, "cross": 60}
"""The most turns of a session: people take more of them than the simulated users."""


class _Api(NamedTuple):
    """An API and its tools."""

    name: str
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    required: set[str]
    graph: dict[str, str]

    @property
    def books(self) -> bool:
        """Whether it checks and books."""
        return any(field["Name"] == _REQUEST for field in self.inputs)

    @property
    def acts(self) -> bool:
        """Whether a call changes something: all that it returns is a status, and the graph knows its failure."""
        return "query_failure" in self.graph and all(_STATUS.fullmatch(field["Name"]) for field in self.outputs)

    @property
    def slots(self) -> list[dict[str, Any]]:
        """The inputs that a user can give."""
        return [field for field in self.inputs if field["Name"] != _REQUEST]

    def tool(self, request: str) -> str:
        """The name of the tool for a request."""
        return f"{self.name}_{_BOOK if request == 'Book' else _CHECK}" if self.books else self.name

    def specs(self) -> Iterator[ToolSpec]:
        """The tools."""
        properties = {field["Name"]: {"description": _described(field)} for field in self.slots}
        names = [field["Name"] for field in self.slots]
        parameters = {
            "type": "object",
            "properties": properties,
            "required": [name for name in names if name in self.required],
            "additionalProperties": False,
        }
        title = self.name.replace("_", " ")
        common: dict[str, Any] = {"parameters": parameters}
        if self.books:
            checks = f"Look whether this is possible: {title}."
            yield ToolSpec(name=self.tool("Check"), description=checks, effect="read", **common)
            yield ToolSpec(name=self.tool("Book"), description=f"Carry this out: {title}.", effect="write", **common)
        else:
            effect = "write" if self.acts else "read"
            yield ToolSpec(name=self.name, description=f"{title.capitalize()}.", effect=effect, **common)


def _described(field: Mapping[str, Any]) -> str:
    label = str(field.get("ReadableName") or field["Name"]).lower()
    categories = field.get("Categories")
    return (
        f"{label}: one of {', '.join(map(str, cast('list[Any]', categories)))}"
        if isinstance(categories, list)
        else label
    )


def read_star(folder: Path, split: str = "") -> RecordedDialogues:
    """Reads a folder with `dialogues.jsonl.gz` or `dialogues.jsonl`, and `tasks` and `apis` in it or in its `shared`.

    Args:
        folder: The folder.
        split: The part of the dialogues to read, if `index.jsonl` names parts.

    Raises:
        InputError: If a file is missing or cannot be read.
    """
    shared = folder / "shared" if (folder / "shared" / "tasks").is_dir() else folder
    rows = read_rows(folder, "DialogueID", split)
    apis = {path.stem: _api(shared, path) for path in sorted((shared / "apis" / "apis").glob("*.json"))}
    if not apis:
        raise InputError(f"{shared / 'apis' / 'apis'}: no description of an API in it")
    openings: dict[str, list[str]] = defaultdict(list)
    results: dict[str, list[Any]] = defaultdict(list)
    dialogues = [_dialogue(row, apis, openings, results) for row in rows]
    specs = {spec.name: spec for api in apis.values() for spec in api.specs()}
    used = {scenario for dialogue in dialogues for scenario in dialogue.session.scenarios}
    scenarios = {name: _scenario(apis[name], openings[name], results) for name in apis if name in used}
    return recorded_data(f"star-{split}" if split else "star", scenarios, specs, dialogues)


def _api(shared: Path, path: Path) -> _Api:
    body = cast("dict[str, Any]", parse_json(read_text(path)))
    task = shared / "tasks" / path.stem / f"{path.stem}.json"
    graph = (
        cast("dict[str, Any]", parse_json(read_text(task)))["graph"] if task.exists() else cast("dict[str, str]", {})
    )
    return _Api(path.stem, body["input"], body["output"], set(body.get("required", [])), graph)


# Dialogues


def _dialogue(
    row: Mapping[str, Any],
    apis: Mapping[str, _Api],
    openings: dict[str, list[str]],
    results: dict[str, list[Any]],
) -> RecordedDialogue:
    events: list[Event] = []
    interventions: list[Intervention] = []
    answers: dict[str, str] = {}
    tasks = [part["Task"] for part in row["Scenario"]["WizardCapabilities"] if part["Task"] in apis]
    made: list[str] = []
    instructed, call, unanswered = False, None, ""
    for event in row["Events"]:
        match event["Agent"], event["Action"]:
            case "User", "utter":
                number = len(interventions) if instructed and any(_is_agent(said) for said in events) else None
                events.append(Said(role="user", text=event["Text"], intervention=number))
                if number is not None:
                    interventions.append(_intervention(events, event["Text"]))
                instructed = False
            case "UserGuide", "instruct":
                instructed = True
            case "Wizard", "pick_suggestion" | "utter" if event.get("Text"):
                label = event.get("ActionLabel", "")
                events.append(Said(role="agent", text=event["Text"], answer=label))
                if unanswered:
                    answers[unanswered], unanswered = label, ""
            case "Wizard", "query" if event["APIName"] in apis:
                call = _call(event, apis[event["APIName"]])
                made.append(event["APIName"])
                unanswered = event["APIName"]
            case "KnowledgeBase", "return_item" if call is not None:
                item = cast("dict[str, Any]", event.get("Item") or {})
                value = {key: part for key, part in item.items() if key != "APIName"} or None
                events.append(Called(call=call, observation=Observation(value=value)))
                results[call.tool].append(value)
                call = None
            case _:
                pass
    tasks = list(dict.fromkeys([*(task for task in tasks if task in made), *made])) or tasks
    for task in tasks[:1]:
        first = next((said.text for said in events if isinstance(said, Said) and len(said.text.split()) > 3), "")
        openings[task] += [first] if first and first not in openings[task] else []
    goals = tuple(Goal(scenario=task, slots=_values(apis[task], events)) for task in tasks)
    session = Session(
        id=f"star-{row['DialogueID']}",
        profile=Profile(persona=str(row["Scenario"].get("UserTask", "")), style="plain"),
        goals=goals,
        interventions=tuple(interventions),
        max_turns=_TURNS["single" if len(goals) == 1 else "cross"],
    )
    return RecordedDialogue(session=session, events=tuple(events), answers=answers)


def _is_agent(event: Event) -> bool:
    return isinstance(event, Said) and event.role == "agent"


def _intervention(events: Sequence[Event], text: str) -> Intervention:
    """A text of a user who was told to leave the procedure. The kind of departure is not recorded."""
    turn = sum(isinstance(event, Said) and event.role == "user" for event in events)
    return Intervention(
        trigger=Trigger(on="turn", turn=turn), type="irrelevant_answering", subtype="topic_shift", text=text
    )


def _call(event: Mapping[str, Any], api: _Api) -> ToolCall:
    args: dict[str, Any] = {}
    request = ""
    for constraint in event["Constraints"]:
        for name, text in constraint.items():
            if name == _REQUEST:
                request = str(_constraint(text))
            else:
                args[name] = _constraint(text)
    return ToolCall(tool=api.tool(request), args=args)


_OPERATOR = re.compile(r"api\.(is_)?(\w+)\((.*)\)", re.DOTALL)


def _constraint(text: object) -> Any:
    """The value of a constraint; of another operator than equality an object `{operator: value}`."""
    if not isinstance(text, str):
        return text
    operator = _OPERATOR.fullmatch(text.strip())
    body = operator[3] if operator else text
    try:
        value: Any = ast.literal_eval(body)
    except (ValueError, SyntaxError):
        value = body.strip().strip('"')
    value = list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value
    return value if operator is None or operator[2] == "equal_to" else {operator[2]: value}


def _values(api: _Api, events: Iterable[Event]) -> dict[str, Any]:
    """The values of the slots: those of the last call that has them, and consent if something was booked."""
    values: dict[str, Any] = {field["Name"]: None for field in api.slots}
    wrote = False
    for event in events:
        if isinstance(event, Called) and event.call.tool in (api.name, api.tool("Check"), api.tool("Book")):
            values |= event.call.args
            wrote = wrote or event.call.tool == api.tool("Book")
    return {**values, CONFIRMED: wrote} if api.books else values


# Scenarios


def _scenario(api: _Api, openings: Sequence[str], results: Mapping[str, Sequence[Any]]) -> Scenario:
    title = api.name.replace("_", " ")
    names = {
        name for tool in (api.name, api.tool("Check"), api.tool("Book")) for name in _fields(results.get(tool, ()))
    }
    return Scenario(
        id=api.name,
        domain=api.name.partition("_")[0],
        role=api.name.partition("_")[0],
        title=title.capitalize(),
        background=f"You help users with this: {title}.",
        opens=tuple(openings[:5]) or (f"I need help with this: {title}.",),
        workflow=Workflow.model_validate(_workflow(api, results)),
        tools=tuple(dict.fromkeys(spec.name for spec in api.specs())),
        database="",
        time="2020-01-06 09:00",
        slots={field["Name"]: SlotWords(label=_label(field)) for field in api.slots},
        facts={name: FactWords(label=_spaced(name)) for name in sorted(names)},
    )


def _fields(values: Iterable[Any]) -> set[str]:
    return {name for value in values if isinstance(value, dict) for name in cast("dict[str, Any]", value)}


def _label(field: Mapping[str, Any]) -> str:
    return str(field.get("ReadableName") or _spaced(field["Name"])).lower()


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def _workflow(api: _Api, results: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The graph of a task as a workflow document."""
    slots: dict[str, Any] = {field["Name"]: {"description": _described(field)} for field in api.slots}
    args = {name: {"var": name} for name in slots}
    nodes: list[dict[str, Any]] = [{"id": "start", "kind": "start"}]
    edges: list[dict[str, Any]] = []
    after: tuple[str, bool | None] = ("start", None)

    def add(node: dict[str, Any], arm: tuple[str, bool | None]) -> None:
        nodes.append(node)
        edges.append({"from": arm[0], "to": node["id"]} | ({} if arm[1] is None else {"when": arm[1]}))

    def end(outcome: str, result: str, arm: tuple[str, bool | None]) -> None:
        output = {"object": {OUTCOME: {"value": outcome}, "result": {"var": result}}}
        add({"id": outcome, "kind": "end", "output": output}, arm)

    if api.books:
        check, book = api.tool("Check"), api.tool("Book")
        add({"id": "check", "kind": "tool", "tool": check, "args": args, "output": "checked"}, after)
        add(
            {"id": "possible", "kind": "condition", "expr": _possible("checked", results.get(check, ()))},
            ("check", None),
        )
        end("not_possible", "checked", ("possible", False))
        add({"id": "proposal", "kind": "assign", "value": {"object": args}, "output": "proposal"}, ("possible", True))
        add({"id": "consent", "kind": "condition", "expr": CONFIRMED}, ("proposal", None))
        end("not_wanted", "checked", ("consent", False))
        add({"id": "book", "kind": "tool", "tool": book, "args": args, "output": "booked"}, ("consent", True))
        add({"id": "success", "kind": "condition", "expr": _possible("booked", results.get(book, ()))}, ("book", None))
        end("succeeded", "booked", ("success", True))
        end("failed", "booked", ("success", False))
        slots[CONFIRMED] = {"type": "boolean", "description": "whether the user agrees to the proposal"}
    else:
        add({"id": "call", "kind": "tool", "tool": api.name, "args": args, "output": "result"}, after)
        if "query_failure" in api.graph:
            test = _possible("result", results.get(api.name, ()))
            add({"id": "success", "kind": "condition", "expr": test}, ("call", None))
            end("succeeded", "result", ("success", True))
            end("failed", "result", ("success", False))
        else:
            end("informed", "result", ("call", None))
    inputs = {"type": "object", "properties": slots, "required": list(slots), "additionalProperties": False}
    title = api.name.replace("_", " ").capitalize()
    return {
        "schema": "flowmind/workflow@1",
        "name": api.name,
        "description": f"{title}.",
        "inputs": inputs,
        "nodes": nodes,
        "edges": edges,
    }


def _possible(variable: str, values: Sequence[Any]) -> str:
    """An expression: the result exists, and its status, if it has one, is none of those that report a failure."""
    fields = sorted(name for name in _fields(values) if _STATUS.fullmatch(name))
    rows = [cast("dict[str, Any]", value) for value in values if isinstance(value, dict)]
    texts = [str(row.get(name, "")) for row in rows for name in fields]
    parts = [part for part in _NEGATIVE if any(part in text for text in texts)]
    tests = [f"{json.dumps(part)} not in str({variable})" for part in parts]
    return " and ".join([f"{variable} is not None", *tests])
