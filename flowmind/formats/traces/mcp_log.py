"""Logs of MCP sessions, `flowmind/mcp-log@1`, as `flowmind record mcp` writes them; docs/recording.md has the form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flowmind.formats.conversation import fields_of, named_tool
from flowmind.formats.traces.imported import Imported, Reader
from flowmind.formats.traces.parts import Row, at, label, record, rows_of, specs_of, text
from flowmind.trace.events import Called, Source, Trace
from tools_registry.specs.schema import type_name
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec
from tools_registry.specs.values import clean

SCHEMA = "flowmind/mcp-log@1"


def _recognises(document: Any) -> bool:
    return any(str(fields_of(row).get("schema")).startswith("flowmind/mcp-log@") for _, row in rows_of(document))


class _Session:
    """A run of the proxy."""

    def __init__(self, server: Row) -> None:
        self.server = server
        self.specs: dict[str, ToolSpec] = {}
        self.lost: list[str] = []


class _Case:
    """A case: the calls of a session between its begin and its end."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.inputs: Row | None = None
        self.answer: Any = ...
        self.calls: list[tuple[int, Called]] = []


class _Log:
    """The rows of a log that have been read."""

    def __init__(self) -> None:
        self.sessions: dict[str, _Session] = {}
        self.cases: dict[str, _Case] = {}
        self.ids: set[str] = set()
        self.names: dict[str, str] = {}

    def row(self, row: Row) -> None:
        """Reads a row."""
        kind, session = text(row, "kind"), text(row, "session")
        if kind == "session":
            if row.get("schema") != SCHEMA:
                raise ValueError(f"its schema is {row.get('schema')!r}; {SCHEMA!r} can be read")
            known = self.sessions.setdefault(session, _Session(record(row.get("server"), "its server")))
            known.specs |= specs_of(row.get("tools"), known.lost)
            return
        if session not in self.sessions:
            raise ValueError(f"no row before it begins the session {session!r}")
        name = text(row, "case")
        case = self.cases.setdefault(name, _Case(session))
        if case.session != session:
            raise ValueError(f"its case {name!r} belongs to another session")
        match kind:
            case "case":
                if case.inputs is not None:
                    raise ValueError(f"the case {name!r} begins a second time")
                case.inputs = clean(record(row.get("inputs"), "its inputs"))
            case "end":
                if case.answer is not ... or "answer" not in row:
                    raise ValueError(f"the case {name!r} " + ("has no answer" if case.answer is ... else "ends twice"))
                case.answer = clean(row["answer"])
            case "call":
                number = _number(row, "number")
                if any(number == other for other, _ in case.calls):
                    raise ValueError(f"a second call of the case has the number {number}")
                case.calls.append((number, self._call(row)))
            case _:
                raise ValueError(f"its kind is {kind!r}; known are session, case, call and end")

    def _call(self, row: Row) -> Called:
        id, seconds, error = text(row, "id"), row.get("seconds"), row.get("error")
        if id in self.ids:
            raise ValueError(f"two calls have the id {id!r}")
        self.ids.add(id)
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
            raise ValueError(f"its seconds are {type_name(seconds)}, not a number")
        call = ToolCall(
            tool=named_tool(text(row, "tool"), self.names), args=clean(record(row.get("arguments"), "its arguments"))
        )
        if error is not None:
            problem = record(error, "its error")
            observation = Observation.failed(text(problem, "type"), text(problem, "message"))
        elif "result" not in row:
            raise ValueError("it has no result and no error; record the calls with their results")
        else:
            observation = Observation(value=clean(row["result"]))
        return Called(call=call, observation=observation, turn=_number(row, "turn"), id=id, seconds=seconds)

    def imported(self) -> Iterator[Imported]:
        """The cases as traces."""
        for name, case in self.cases.items():
            session = self.sessions[case.session]
            ended = case.answer is not ...
            trace = Trace(
                inputs=case.inputs or {},
                events=tuple(call for _, call in sorted(case.calls, key=lambda pair: pair[0])),
                stop="finish" if ended else "turns",
                answer=case.answer if ended else None,
                source=Source(format="mcp-log", version=SCHEMA, id=name, agent=label(session.server, "name")),
            )
            lost = [] if case.inputs is not None else ["the inputs, which an MCP session does not have by itself"]
            yield Imported(trace, session.specs, (*lost, *session.lost), case.inputs is not None)


def _number(row: Row, key: str) -> int:
    value = row.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"its {key} is not a number from 0")
    return value


def _read(document: Any) -> Iterator[Imported]:
    log = _Log()
    for place, row in rows_of(document):
        with at(place):
            log.row(record(row, "it"))
    yield from log.imported()


MCP_LOG = Reader("logs of MCP sessions, by `flowmind record mcp`", _recognises, _read)
