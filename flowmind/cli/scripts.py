"""Scripted conversations as tests: texts of a user, with what must happen before the agent has replied to each.

[[test]]
name = "books a room"

[[test.turn]]
user = "A room in Bonn, please. Yes, please book it."
called = ["find", {tool = "book", args = {city = "Bonn"}}]
not_called = ["cancel"]
told = ["R-17"]
refused_by = ["consent"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from flowmind.api.dialogues import DialogueAgent
from flowmind.base.errors import InputError, ModelFailure
from flowmind.base.files import dump_json, read_text, validate
from flowmind.base.texts import did_you_mean, one_line
from flowmind.trace.events import Called, Event, Refused, Said, Trace
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import Record

_MOST_BYTES = 1_000_000
_SHOWN = 200


class Call(Record):
    """A call to expect."""

    tool: str
    args: dict[str, Any] = Field(default_factory=dict)
    """Arguments that the call must have; it may have others."""

    def __str__(self) -> str:
        return self.tool + (f" with {dump_json(self.args)}" if self.args else "")


class Expected(Record):
    """What must happen."""

    called: tuple[str | Call, ...] = ()
    """Calls that must be made, in this order; others may come between."""
    not_called: tuple[str | Call, ...] = ()
    """Calls that must not be made."""
    told: tuple[str, ...] = ()
    """Texts that the agent's texts must contain, in any case of letters."""
    refused_by: tuple[str, ...] = ()
    """Controllers each of which must refuse an action."""


class ScriptTurn(Expected):
    """A text of the user, and what must happen before the agent has replied to it."""

    user: str


class ScriptTest(Expected):
    """A conversation, and what must happen in all of it."""

    name: str
    turn: tuple[ScriptTurn, ...] = Field(min_length=1)


class Script(Record):
    """Conversations to hold, each in a session of its own."""

    test: tuple[ScriptTest, ...] = Field(min_length=1)


def read_script(path: Path, tools: Sequence[str], controllers: Sequence[str]) -> Script:
    """Reads a script.

    Args:
        path: A TOML file.
        tools: The tools that it may name.
        controllers: The controllers that it may name.

    Raises:
        InputError: With the place and what would be right.
    """
    text = read_text(path, _MOST_BYTES)
    try:
        script = validate(Script, tomllib.loads(text))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {one_line(str(error))}") from None
    for test in script.test:
        for expected in (test, *test.turn):
            for kind, names, known in (
                ("tool", [_call(row).tool for row in (*expected.called, *expected.not_called)], tools),
                ("controller", expected.refused_by, controllers),
            ):
                if unknown := [name for name in names if name not in known]:
                    near = did_you_mean(unknown[0], known)
                    listed = ", ".join(known) or "none"
                    raise InputError(
                        f"{path}: test {test.name!r}: there is no {kind} {unknown[0]!r}{near}; known: {listed}"
                    )
    return script


def run_test(agent: DialogueAgent, test: ScriptTest) -> tuple[list[str], Trace]:
    """Holds a conversation of a script.

    Returns:
        What did not happen as expected, a line each, and the trace.

    Raises:
        ModelUnavailable: If the model cannot serve at all.
    """
    failures: list[str] = []
    with agent.session() as session:
        for number, turn in enumerate(test.turn, 1):
            if session.over:
                failures.append(f"turn {number}: the session had ended ({session.trace.stop})")
                break
            before = len(session.trace.events)
            try:
                session.say(turn.user)
            except ModelFailure as error:
                failures.append(f"turn {number}: {error}")
                break
            failures += [f"turn {number}: {line}" for line in unmet(turn, session.trace.events[before:])]
        events = session.trace.events
    failures += unmet(test, events)
    return failures, session.trace


def unmet(expected: Expected, events: Sequence[Event]) -> Iterator[str]:
    """What did not happen as expected, a line each."""
    calls = [event for event in events if isinstance(event, Called)]
    made = f"called: {', '.join(_short(made.call.tool, made.call.args) for made in calls) or 'nothing'}"
    rest = iter(calls)
    for row in map(_call, expected.called):
        if not any(_fits(row, made_call) for made_call in rest):
            yield f"expected a call of {row}; {made}"
            break
    for row in map(_call, expected.not_called):
        if any(_fits(row, made_call) for made_call in calls):
            yield f"expected no call of {row}; {made}"
    said = [event.text for event in events if isinstance(event, Said) and event.role == "agent"]
    for text in expected.told:
        if not any(text.casefold() in other.casefold() for other in said):
            yield f"expected the agent to tell {text!r}; it said: {one_line(' '.join(said))[:_SHOWN] or 'nothing'}"
    refusals = [event for event in events if isinstance(event, Refused)]
    for name in expected.refused_by:
        if not any(name in event.by.split(", ") for event in refusals):
            by = "; ".join(f"{event.call.tool} by {event.by}" for event in refusals) or "nothing"
            yield f"expected a refusal by {name}; refused: {by}"


def _call(row: str | Call) -> Call:
    return Call(tool=row) if isinstance(row, str) else row


def _fits(expected: Call, made: Called) -> bool:
    args = made.call.args
    same = all(name in args and json_equal(args[name], value) for name, value in expected.args.items())
    return made.call.tool == expected.tool and same


def _short(tool: str, args: Mapping[str, Any]) -> str:
    return f"{tool}({', '.join(f'{name}={dump_json(value)[:40]}' for name, value in args.items())})"
