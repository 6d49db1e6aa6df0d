"""Controllers: they advise an agent before a decision, and refuse actions that a procedure does not allow.

`dependencies`, `repetition` and `length` are those of FlowAgent (section 4.2). `path` reads the arguments and results
of calls, too. `consent` and `grounding` read the texts of the user and the results. No controller reads the acts of a
simulated user. A text of the agent is checked as a call of `respond`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from flowmind.base.errors import InputError
from flowmind.dialogue.procedures.consent import consent, made_before, to_tell, untold
from flowmind.dialogue.procedures.due import Approach, Due, Walk, approach, episodes, progress, user_texts
from flowmind.dialogue.procedures.grounding import Sources
from flowmind.dialogue.procedures.guidance import MOST_WORDS, Setting, action, fitted, possible, proposal, saying
from flowmind.dialogue.procedures.procedure import ALWAYS, RESPOND, Procedure
from flowmind.protocols import Controller, Verdict
from flowmind.trace.events import Called, Event, Said, Trace
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import ToolCall, ToolSpec

MOST_CALLS = 5
"""The most calls of an agent between two texts of the user."""
_FEW_TURNS = 3
_REASON_WORDS = 34
_REACH_WORDS = 20
"""The most words on what is out of reach, if `path` says what is due."""
_NOT_MADE = ("invalid_arguments", "unknown_tool")
"""Errors of calls that reach no tool and are no turns."""
_ALLOWED = Verdict(allowed=True)


def _refused(*sentences: str) -> Verdict:
    return Verdict(allowed=False, reason=" ".join(filter(None, sentences)))


def _answer(given: ToolCall) -> str:
    """The answer that a text names; empty if it names none, or one that is always allowed."""
    name = str(given.args.get("answer") or "").strip()
    for prefix in ("ANSWER.", "ANSWER_"):
        name = name.removeprefix(prefix)
    return "" if name.removesuffix("()") in ALWAYS else name.removesuffix("()")


def _this_turn(events: Sequence[Event]) -> list[Called]:
    """The calls since the user last said something."""
    last = takewhile(lambda event: not (isinstance(event, Said) and event.role == "user"), reversed(events))
    return [event for event in last if isinstance(event, Called)][::-1]


class Dependencies:
    """Refuses calls and answers with a precondition that was never called successfully, by name."""

    name = "dependencies"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def check(self, action: ToolCall, trace: Trace) -> Verdict:
        """Whether all preconditions were called, in one of the procedures that have the tool or the answer."""
        done = _succeeded(trace.events)
        name = _answer(action) if action.tool == RESPOND else action.tool
        lacking = self._lacking(name, done, answer=action.tool == RESPOND)
        if not lacking or not all(lacking):
            return _ALLOWED
        subject = f"The answer {name!r}" if action.tool == RESPOND else name
        reason = f"{subject} needs {', '.join(lacking[0])} first."
        if "path" in self._setting.names:
            return _refused(reason)
        sources = Sources(self._setting.given, trace.events)
        items = [self._call(tool, action, sources) for tool in self._open(lacking[0], done)]
        return _refused(reason, fitted("Possible now:", items, _REASON_WORDS))

    def advise(self, trace: Trace) -> str:
        """The tools and answers out of reach, by what they lack."""
        done = _succeeded(trace.events)
        groups: dict[tuple[str, ...], list[str]] = {}
        for answer in (False, True):
            for name in dict.fromkeys(
                name for procedure in self._setting.procedures for name in _needs(procedure, answer)
            ):
                lacking = self._lacking(name, done, answer)
                if lacking and all(lacking):
                    groups.setdefault(lacking[0], []).append(f"answer {name}" if answer else name)
        items = [f"{', '.join(names)} (without {', '.join(needed)})" for needed, names in groups.items()]
        return fitted("Out of reach:", items, _REACH_WORDS if "path" in self._setting.names else MOST_WORDS)

    def _lacking(self, name: str, done: frozenset[str], answer: bool) -> list[tuple[str, ...]]:
        """For each procedure that has a tool or an answer, the preconditions that were not called."""
        needs = [_needs(procedure, answer) for procedure in self._setting.procedures]
        return [tuple(tool for tool in needed[name] if tool not in done) for needed in needs if name in needed]

    def _open(self, names: Sequence[str], done: frozenset[str]) -> list[str]:
        """The tools to call first for some tools: those of their preconditions that lack nothing."""
        first: list[str] = []
        todo, seen = list(names), set(names)
        while todo:
            name = todo.pop(0)
            lacking = self._lacking(name, done, answer=False)
            needed = lacking[0] if lacking and all(lacking) else ()
            if not needed:
                first.append(name)
            todo += [tool for tool in needed if tool not in seen]
            seen |= {*needed}
        return first

    def _call(self, tool: str, refused: ToolCall, sources: Sources) -> str:
        """A call with the arguments of the refused one that it also takes and that somebody gave."""
        spec = self._setting.specs.get(tool)
        shared = {name: refused.args[name] for name in (spec.names if spec else ()) if name in refused.args}
        args = {name: value for name, value in shared.items() if sources.gives(value, spec, name)}
        missing = [name for name in (spec.required if spec else ()) if name not in args]
        return action(tool, args) + (f" with {', '.join(missing)} from the user" if missing else "")


def _needs(procedure: Procedure, answer: bool) -> dict[str, tuple[str, ...]]:
    return procedure.answers if answer else procedure.apis


def _succeeded(events: Sequence[Event]) -> frozenset[str]:
    return frozenset(event.call.tool for event in events if isinstance(event, Called) and event.observation.ok)


class Repetition:
    """Refuses a call that succeeded since the user last spoke, unless a write came in between."""

    name = "repetition"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def check(self, action: ToolCall, trace: Trace) -> Verdict:
        """Whether the call is a new one in this turn of the user."""
        if action.tool == RESPOND:
            return _ALLOWED
        for made in reversed(_this_turn(trace.events)):
            if not made.observation.ok:
                continue
            if made.call.tool == action.tool and json_equal(self._args(made.call), self._args(action)):
                return _refused(f"{action.tool} was called with these arguments just now; use its result.")
            if made.call.tool in self._setting.writes:
                break
        return _ALLOWED

    def _args(self, call: ToolCall) -> dict[str, Any]:
        spec = self._setting.specs.get(call.tool)
        fields: dict[str, Any] = spec.parameters.get("properties", {}) if spec is not None else {}
        return {**{name: field["default"] for name, field in fields.items() if "default" in field}, **call.args}


class Length:
    """Says when a session nears its end, and refuses many calls without a text to the user."""

    name = "length"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def check(self, action: ToolCall, trace: Trace) -> Verdict:
        """Whether fewer than five calls were made since the user last spoke."""
        if action.tool == RESPOND or len(_this_turn(trace.events)) < MOST_CALLS:
            return _ALLOWED
        reason = f"{MOST_CALLS} calls were made since the user last spoke; answer the user first."
        if "path" in self._setting.names:
            return _refused(reason)
        return _refused(reason, f"Possible now: {saying('One moment, please, I am still looking this up.')}.")

    def advise(self, trace: Trace) -> str:
        """The turns that are left, if they are few."""
        turns = sum(
            event.role == "agent"
            if isinstance(event, Said)
            else isinstance(event, Called)
            and (event.observation.error is None or event.observation.error.type not in _NOT_MADE)
            for event in trace.events
        )
        left = self._setting.max_turns - turns
        return f"{left} {'turn is' if left == 1 else 'turns are'} left." if left <= _FEW_TURNS else ""


class Path:
    """Refuses calls and answers to which the procedure does not lead here, with the call's own values."""

    name = "path"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self.notes: tuple[str, ...] = tuple(
            f"path is off for {procedure.name!r}: {procedure.obstacle or 'its workflow is not known'}"
            for procedure in setting.procedures
            if not procedure.walkable
        )
        """The procedures that it cannot enforce, each with the reason."""

    def check(self, action: ToolCall, trace: Trace) -> Verdict:
        """Whether one of the procedures that have the tool, or the answer, leads to it."""
        if action.tool == RESPOND:
            return self._answer(_answer(action), trace)
        procedures = self._setting.having(action.tool)
        if not procedures or not all(procedure.walkable for procedure in procedures):
            return _ALLOWED
        said = user_texts(trace.events)
        tries: list[tuple[Procedure, Approach]] = []
        for procedure in procedures:
            near = approach(procedure, action, episodes(procedure, trace.events)[-1], said)
            if near.reached and not near.repeated:
                return _ALLOWED
            tries.append((procedure, near))
        procedure, near = max(tries, key=lambda tried: (tried[1].reached, len(tried[1].walk.calls)))
        items = possible(self._setting, trace.events, procedure, near.walk)
        return _refused(f"{action.tool}: {_why(action, near)}.", fitted("Possible now:", items, _REASON_WORDS))

    def advise(self, trace: Trace) -> str:
        """What is due, those procedures first that were begun."""
        begun: list[str] = []
        others: list[str] = []
        most = MOST_WORDS - 3 - (_REACH_WORDS if "dependencies" in self._setting.names else 0)
        for procedure in self._walkable():
            *before, calls = episodes(procedure, trace.events)
            walked = progress(procedure, calls)
            where = f" in {procedure.name}" if len(self._setting.procedures) > 1 else ""
            head = f"For a further request{where}:" if before and not walked.calls else f"Due now{where}:"
            text = fitted(head, possible(self._setting, trace.events, procedure, walked), most)
            (begun if walked.calls else others).append(text)
        lines: list[str] = []
        for text in (*begun, *others):
            if len(" ".join((*lines, text)).split()) <= most:
                lines.append(text)
        return " ".join(filter(None, lines))

    def _answer(self, name: str, trace: Trace) -> Verdict:
        procedures = [procedure for procedure in self._setting.procedures if name in procedure.answers]
        if not name or not procedures or not all(procedure.walkable for procedure in procedures):
            return _ALLOWED
        now: list[tuple[Procedure, Walk]] = []
        for procedure in procedures:
            recent = episodes(procedure, trace.events)[-2:]  # an answer may be told again
            walks = [progress(procedure, calls) for calls in recent]
            if any(step.answer == name for walked in walks for step in walked.due):
                return _ALLOWED
            now.append((procedure, walks[-1]))
        procedure, walked = max(now, key=lambda tried: len(tried[1].calls))
        items = possible(self._setting, trace.events, procedure, walked)
        return _refused(f"The answer {name!r} is not due.", fitted("Possible now:", items, _REASON_WORDS))

    def _walkable(self) -> Iterator[Procedure]:
        return (procedure for procedure in self._setting.procedures if procedure.walkable)


def _why(refused: ToolCall, near: Approach) -> str:
    """Why a procedure does not lead to a call, in a few words."""
    if near.repeated:
        return "it was made already"
    steps = near.walk.due
    if any(step.tool == refused.tool for step in steps):
        return "the procedure calls it with other arguments here"
    return next(map(_first, steps), "the procedure does not come to it here")


def _first(step: Due) -> str:
    match step.kind:
        case "call":
            return f"{step.tool} comes first"
        case "ask":
            return f"the user is asked for {', '.join(step.missing)} first"
        case "answer":
            return f"the procedure ends with the answer {step.answer!r} here"


class Consent:
    """Refuses a write whose values the user was not told since they changed, has not replied to, or has denied."""

    name = "consent"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._others = (Path(setting), Grounding(setting))

    def check(self, action: ToolCall, trace: Trace) -> Verdict:
        """Whether the agent has told the values of a write, and the user has spoken since."""
        if action.tool not in self._setting.writes:
            return _ALLOWED
        spec = self._setting.specs.get(action.tool)
        values = to_tell(self._setting.procedures, action)
        sign = consent(action, values, trace.events, spec)
        if sign == "agreed" or (sign == "replied" and not made_before(action, trace.events)):
            return _ALLOWED
        if sign == "replied":
            return _refused(f"{action.tool}: the same was done before, and the user has not agreed to do it again.")
        if sign == "denied":
            return _refused(f"{action.tool}: the user did not agree to it.")
        missing = untold(action, values, trace.events, spec)
        told = f"the user was not told {', '.join(missing)}" if missing else "the user has not replied to the proposal"
        reason = f"{action.tool}: {told}."
        if not all(other.check(action, trace).allowed for other in self._others):  # it cannot be proposed yet
            return _refused(reason)
        return _refused(reason, fitted("Possible now:", [proposal(values)], _REASON_WORDS))


class Grounding:
    """Refuses values that nobody gave, in the arguments of writes and, as codes, in texts."""

    name = "grounding"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def check(self, action: ToolCall, trace: Trace) -> Verdict:
        """Whether a text of the user, a result or the knowledge contains the values."""
        sources = Sources(self._setting.given, trace.events)
        if action.tool == RESPOND:
            codes = sources.invented_codes(str(action.args.get("text") or ""))
            if not codes:
                return _ALLOWED
            return _refused(f"No user, result or procedure gave {', '.join(codes[:3])}; say only what was given.")
        if action.tool not in self._setting.writes:
            return _ALLOWED
        spec = self._setting.specs.get(action.tool)
        names = [name for name, value in action.args.items() if not sources.gives(value, spec, name)]
        if not names:
            return _ALLOWED
        return _refused(f"{action.tool}: no user or result gave {', '.join(names)}; ask the user.")


Make = Callable[[Setting], Controller]
CONTROLLERS: dict[str, Make] = {
    "dependencies": Dependencies,
    "repetition": Repetition,
    "length": Length,
    "path": Path,
    "consent": Consent,
    "grounding": Grounding,
}
"""By name, in the order in which they check an action."""


def make_controllers(
    names: Sequence[str],
    procedures: Sequence[Procedure],
    specs: Mapping[str, ToolSpec],
    knowledge: str,
    max_turns: int,
) -> tuple[Controller, ...]:
    """The controllers of a session. Those that advise also have `advise(trace)`.

    Args:
        names: Names of `CONTROLLERS`.
        procedures: The procedures of the session. An action is allowed if one that has the tool allows it.
        specs: The business tools.
        knowledge: What else the agent was given: the task, its procedures, the role.
        max_turns: The most accepted actions of the session.

    Raises:
        InputError: If a name is unknown.
    """
    for name in names:
        if name not in CONTROLLERS:
            raise InputError(f"unknown controller {name!r}; take one of: {', '.join(CONTROLLERS)}")
    setting = Setting(tuple(procedures), specs, knowledge, max_turns, tuple(names))
    return tuple(CONTROLLERS[name](setting) for name in CONTROLLERS if name in names)
