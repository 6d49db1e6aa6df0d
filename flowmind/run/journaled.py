"""The environment of a journaled run: it answers the calls that the journal has, and notes the others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from flowmind.base.errors import InputError, OutcomeUnknown
from flowmind.base.files import dump_json
from flowmind.run.wrappers import Approved, Wrapper
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.idempotency import keyed
from tools_registry.specs.marks import Happened
from tools_registry.specs.spec import Observation, ToolCall, ToolError

if TYPE_CHECKING:
    from flowmind.run.journal import JournaledRun

CallState = Literal["intent", "done", "failed", "unknown"]
"""`intent`: it was begun. `done`, `failed`: it has a value, or an error. `unknown`: it may have happened."""
_UNCERTAIN = frozenset({"timeout", "memory", "crash"})
"""Errors of a write that do not say whether it happened."""
_SHOWN = 200


class JournaledCall(NamedTuple):
    """A call of a run."""

    seq: int
    """Its place in the run, from 0."""
    tool: str
    args: dict[str, Any]
    key: str
    """The idempotency key of a write; empty for a read."""
    state: CallState
    value: Any = None
    error: ToolError | None = None
    write: bool = False
    """Whether the tool is not marked `read`."""
    aside: bool = False
    """Whether only rivals of the workflow made it. Such calls are counted apart."""

    @property
    def call(self) -> ToolCall:
        """The tool and the arguments."""
        return ToolCall(tool=self.tool, args=self.args)


class Tape:
    """The calls that the journal has of a run, and the place of the next one."""

    def __init__(self, calls: Iterable[JournaledCall]) -> None:
        self._calls = {call.seq: call for call in calls}
        self._last = max(self._calls, default=-1)
        self._next = 0

    def take(self, run: str, call: ToolCall) -> tuple[int, JournaledCall | None]:
        """The place of a call that the run makes now, and what the journal has of it.

        Raises:
            InputError: If the run made another call at this place before.
        """
        seq, known = self._next, self._calls.get(self._next)
        if known is not None and canonical([call.tool, call.args]) != canonical([known.tool, known.args]):
            raise InputError(
                f"run {run!r}: its call {seq + 1} was {_said(known.call)} and would now be {_said(call)}; a run is "
                "resumed with the workflow and the tools that it began with"
            )
        self._next += 1
        return seq, known

    @property
    def ended(self) -> bool:
        """Whether the journal has no further call."""
        return self._next > self._last


class Journaled(Wrapper):
    """The tools of one run. Make it with `JournaledRun.environment`.

    A call that the journal has is answered from it. There are two exceptions. A read that failed at the end of the run
    is made again. A write that failed there, or whose outcome is unknown, is settled by the tool's `verify` function,
    or made again if the tool is idempotent.

    Args:
        inner: The tools.
        run: The run.
        tape: The calls that the journal has.
        beside: Those that only rivals of the workflow make. None in an environment that makes these calls.
    """

    def __init__(self, inner: Environment, run: JournaledRun, tape: Tape, beside: Tape | None = None) -> None:
        super().__init__(inner)
        self._run = run
        self._tape = tape
        self._beside = beside
        self._settling = _settling(inner)

    def fork(self) -> Environment:
        """The environment of calls that only rivals of the workflow make."""
        copy = getattr(self.inner, "fork", None)
        return Journaled(self.inner if copy is None else copy(), self._run, self._beside or self._tape)

    async def call(self, call: ToolCall) -> Observation:
        """Answers a call from the journal, or makes it and notes it.

        Raises:
            InputError: If the run made another call at this place before.
            OutcomeUnknown: If it is not known whether a write happened.
        """
        seq, known = self._tape.take(self._run.run, call)
        if known is not None and (observation := await self._replayed(known)) is not None:
            return observation
        write = call.tool in self.specs and self.specs[call.tool].effect != "read"
        key = digest([self._run.workflow, self._run.run, seq]) if write else ""
        aside = self._beside is None
        return await self._made(JournaledCall(seq, call.tool, call.args, key, "intent", write=write, aside=aside))

    async def _replayed(self, known: JournaledCall) -> Observation | None:
        """The observation of a call that the journal has; None if the call must be made again."""
        if known.state == "done":
            return Observation(value=known.value)
        if known.state == "failed":
            failed = Observation(error=known.error)
            if not self._tape.ended:
                return failed
            if not known.write or (known.error is not None and known.error.type == "refused"):
                return None
        else:
            failed = None
        try:
            happened = await self._verified(known)
        except LookupError as error:
            if known.tool in getattr(self._settling, "idempotent", ()):
                return None
            if failed is not None:
                return failed
            self._run.note(known._replace(state="unknown"))
            raise OutcomeUnknown(self._run.run, known.call, f"the run ended during the call and {error}") from error
        if happened is None:
            return None
        self._run.note(known._replace(state="done", value=happened.value, error=None))
        return Observation(value=happened.value)

    async def _verified(self, known: JournaledCall) -> Happened | None:
        if self._settling is None:
            raise LookupError(f"{known.tool} has no verify function")
        with keyed(known.key):
            return await self._settling.verified(known.call)

    async def _made(self, begun: JournaledCall) -> Observation:
        inner, observation = self.inner, None
        if begun.write and isinstance(inner, Approved):  # a person may think for hours, and nothing is begun yet
            observation = await inner.refusal(begun.call)
            inner = inner.inner
        if observation is None:
            if begun.write:
                self._run.note(begun)
            with keyed(begun.key or None):
                observation = await inner.call(begun.call)
        error = observation.error
        if begun.write and error is not None and error.type in _UNCERTAIN:
            self._run.note(begun._replace(state="unknown"))
            raise OutcomeUnknown(self._run.run, begun.call, f"it ended in {error.type}: {error.message}")
        self._run.note(begun._replace(state="failed" if error else "done", value=observation.value, error=error))
        return observation


class _Settling(Protocol):
    """Functions that know more of their writes; see `FunctionEnvironment`."""

    idempotent: Collection[str]

    async def verified(self, call: ToolCall) -> Happened | None: ...


def _settling(environment: Environment) -> _Settling | None:
    """The functions inside the wrappers; None if the tools are no functions."""
    inside: Any = environment
    while not hasattr(inside, "verified") and hasattr(inside, "inner"):
        inside = inside.inner
    return inside if hasattr(inside, "verified") else None


def canonical(value: Any) -> str:
    """A JSON value as text, equal for equal values."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """The SHA-256 digest of a JSON value, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def _said(call: ToolCall) -> str:
    arguments = ", ".join(f"{name}={dump_json(value)}" for name, value in call.args.items())
    return f"{call.tool}({arguments:.{_SHOWN}})"
