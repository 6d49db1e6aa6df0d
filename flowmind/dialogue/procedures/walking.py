"""The walk through a procedure along the calls of an episode, which tells what is due."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, cast

from pydantic import Field

from flowmind.dialogue.procedures.procedure import Procedure, answer_name
from flowmind.dialogue.procedures.shown import counted, latest
from flowmind.trace.events import Called
from flowmind.trace.scenario import OUTCOME
from flowmind.workflow.document import (
    Assign,
    Binding,
    Condition,
    End,
    ListOf,
    Literal_,
    Node,
    ObjectOf,
    Start,
    ToolNode,
    Var,
    reads,
)
from flowmind.workflow.expressions import ExpressionError, evaluate, names
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import Record
from tools_registry.specs.values import CaseError
from tools_registry.specs.values import follow as at_path

_MOST_STATES = 2_000
"""The most states of a walk. Only many conditions on unknown slots in a row come near."""


class Due(Record):
    """A step that a procedure asks for now."""

    kind: Literal["call", "ask", "answer"]
    """`call`: a call, once its missing slots are known. `ask`: a question to the user. `answer`: an end."""
    node: str
    """The node of the workflow."""
    tool: str = ""
    args: dict[str, Any] = Field(default_factory=dict)
    """The arguments that are known."""
    missing: tuple[str, ...] = ()
    """The slots to ask the user for."""
    answer: str = ""
    """The name of the answer."""
    facts: dict[str, Any] = Field(default_factory=dict)
    """What the answer tells, by name: values from the results of calls."""


@dataclass(frozen=True)
class State:
    """A state of a walk."""

    values: dict[str, Any]
    """The variables that are known."""
    written: int = -1
    """The index of the last write that the walk has passed."""
    writes: frozenset[int] = frozenset()
    """The indices of all writes that it has passed."""
    assumed: tuple[tuple[str, bool], ...] = field(default=(), compare=False)
    """The conditions on unknown slots that it has passed, with the arm that it took."""


@dataclass
class Walk:
    """A walk through a procedure: the steps that are due, and the states in which it came to tools and ends."""

    procedure: Procedure
    calls: tuple[Called, ...]
    """The successful calls of the episode to tools of the procedure."""
    infer: bool
    steps: list[tuple[Due, State]] = field(default_factory=list[tuple[Due, State]])
    """The steps that are due, with the states in which they are."""
    visits: list[tuple[ToolNode, State]] = field(default_factory=list[tuple[ToolNode, State]])
    states: int = 0

    @property
    def due(self) -> tuple[Due, ...]:
        """The steps that are due, each once."""
        steps: list[Due] = []
        for step, _ in self.steps:
            if step not in steps:
                steps.append(step)
        return tuple(steps)

    def go(self, node: str, state: State, stop: str | None = None) -> list[State]:
        """Walks from a node; returns the states in which the walk arrives at `stop`."""
        arrived: list[State] = []
        todo, seen = [(node, state)], dict[str, list[State]]()
        while todo:
            name, state = todo.pop()
            if name == stop:
                arrived.append(state)
                continue
            before = seen.setdefault(name, [])
            if state in before or self.states >= _MOST_STATES:
                continue
            before.append(state)
            self.states += 1
            todo += reversed(list(self.step(name, state)))
        return arrived

    def step(self, name: str, state: State) -> Iterator[tuple[str, State]]:
        """The nodes that the walk comes to after a node, with the states."""
        assert self.procedure.workflow is not None
        node: Node = self.procedure.workflow.by_id[name]
        edges = self.procedure.workflow.after(name)
        if isinstance(node, Condition):
            arms = self.arms(node, state)
            for value in arms:
                after = state if len(arms) == 1 else replace(state, assumed=(*state.assumed, (node.expr, value)))
                yield from ((edge.target, after) for edge in edges if edge.when == value)
            return
        fork = self.procedure.forks.get(name)
        for after in self.passed(node, state):
            if fork is None:
                yield from ((edge.target, after) for edge in edges[:1])
            elif fork.join is not None:
                yield from ((fork.join, joined) for joined in self.forked(fork.heads, fork.join, after))

    def forked(self, heads: Sequence[str], join: str, state: State) -> list[State]:
        """The states at the join of a fork. Each path begins in the same state; they set different variables."""
        ends = [self.go(head, state, join) for head in heads]
        joined = [state]
        for arrivals in ends:
            joined = [_merged(state, one, other) for one in joined for other in arrivals][:_MOST_STATES]
        return joined

    def arms(self, node: Condition, state: State) -> Sequence[bool]:
        """The arms of a condition that the walk takes: both if slots decide that are not known."""
        unknown = [name for name in _names(node.expr) if name not in state.values]
        if not unknown:
            try:
                return (bool(_evaluated(node.expr, state.values)),)
            except (CaseError, ExpressionError):
                return ()
        decided = _decided(node.expr, state.values)
        if decided is not None:
            return (decided,)
        if self.infer:
            return (True, False)
        self.ask(node, state, unknown)
        return ()

    def passed(self, node: Node, state: State) -> Iterator[State]:
        """The state after a node other than a condition; none if it is due."""
        match node:
            case Start():
                yield state
            case Assign():
                yield from self.assigned(node, state)
            case ToolNode():
                self.visits.append((node, state))
                after = self.called(node, state)
                if after is None:
                    self.call(node, state)
                else:
                    yield after
            case End():
                answer, facts = answer_name(node), _facts(node, state.values)
                self.steps.append((Due(kind="answer", node=node.id, answer=answer, facts=facts), state))
            case _:
                raise AssertionError(f"{node.id}: such nodes are an obstacle")

    def assigned(self, node: Assign, state: State) -> Iterator[State]:
        needed = _names(node.expr) if node.expr is not None else list(dict.fromkeys(reads(node.value)))
        unknown = [name for name in needed if name not in state.values]
        if unknown and not self.infer:
            self.ask(node, state, unknown)
            return
        values = {name: value for name, value in state.values.items() if name != node.output}
        if not unknown:
            try:
                values[node.output] = (
                    _evaluated(node.expr, state.values)
                    if node.expr is not None
                    else value_of(cast(Binding, node.value), state.values)
                )
            except (CaseError, ExpressionError):
                return
        yield replace(state, values=values)

    def called(self, node: ToolNode, state: State) -> State | None:
        """The state after the latest call that agrees with a node; None if there is none."""
        writes = node.tool in self.procedure.writes
        last, written = (len(self.calls), {}) if writes else self.first_write(node, state)
        known = {**written, **state.values} if self.infer else state.values
        later = range(state.written + 1, last)
        for index in later if writes and self.infer else reversed(later):  # another node may have made the next write
            made = self.calls[index]
            if made.call.tool != node.tool:
                continue
            slots = agreed(node, made.call.args, known, self.procedure.defaults.get(node.tool, {}), self.infer)
            if slots is None:
                continue
            values = {**known, **slots, node.output: made.observation.value}
            if writes:
                return replace(state, values=values, written=index, writes=state.writes | {index})
            return replace(state, values=values)
        return None

    def first_write(self, node: ToolNode, state: State) -> tuple[int, dict[str, Any]]:
        """The first write after a read that agrees with the state: its index and the slots that it gives.

        A read that was made after the write saw another state of the world.
        """
        for index in range(state.written + 1, len(self.calls)):
            made = self.calls[index].call
            for write in self.procedure.later_writes[node.id]:
                if write.tool != made.tool:
                    continue
                given = agreed(write, made.args, state.values, self.procedure.defaults.get(write.tool, {}), True)
                if given is not None:
                    return index, {name: value for name, value in given.items() if name in self.procedure.slots}
        return len(self.calls), {}

    def call(self, node: ToolNode, state: State) -> None:
        """A call is due."""
        values = {**latest(self.procedure, self.calls), **state.values} if self.infer else state.values
        args, missing = dict[str, Any](), list[str]()
        for name, binding in node.args.items():
            unknown = [name for name in reads(binding) if name not in values]
            if unknown:
                missing += unknown
                continue
            try:
                args[name] = value_of(binding, values)
            except CaseError:
                return
        unique = tuple(dict.fromkeys(missing))
        self.steps.append((Due(kind="call", node=node.id, tool=node.tool, args=args, missing=unique), state))

    def ask(self, node: Condition | Assign, state: State, unknown: Sequence[str]) -> None:
        """A question is due."""
        order = self.procedure.slots
        missing = tuple(name for name in order if name in unknown)
        if missing:
            self.steps.append((Due(kind="ask", node=node.id, missing=missing), state))


def walk(procedure: Procedure, values: Mapping[str, Any], calls: Sequence[Called], infer: bool) -> Walk:
    """Walks through a procedure that can be walked, from its start.

    Args:
        procedure: The procedure.
        values: The slots that are known.
        calls: The calls of an episode.
        infer: Take other slots from the calls; at a condition on unknown slots take both arms.
    """
    assert procedure.workflow is not None
    walked = Walk(procedure, counted(procedure, calls), infer)
    start = next(node.id for node in procedure.workflow.nodes if isinstance(node, Start))
    walked.go(start, State(dict(values)))
    return walked


def agreed(
    node: ToolNode, args: Mapping[str, Any], values: Mapping[str, Any], defaults: Mapping[str, Any], infer: bool
) -> dict[str, Any] | None:
    """The variables that the arguments of a call give at a node; None if they disagree with the known values.

    Args:
        node: The node.
        args: The arguments of the call.
        values: The variables that are known.
        defaults: The defaults of the tool's parameters.
        infer: Whether an unknown variable takes the argument as its value; else the call disagrees.
    """
    slots: dict[str, Any] = {}
    for name in dict.fromkeys((*node.args, *args)):
        if name not in args and name not in defaults:
            return None
        value = args[name] if name in args else defaults[name]
        if name not in node.args:
            if name not in defaults or not json_equal(value, defaults[name]):
                return None
        elif not _agrees(node.args[name], value, {**values, **slots}, slots, infer):
            return None
    return slots


def _agrees(binding: Binding, value: Any, values: Mapping[str, Any], slots: dict[str, Any], infer: bool) -> bool:
    """Whether a binding can have a value; adds the variables that then have a value to `slots`."""
    match binding:
        case Literal_(value=constant):
            return json_equal(constant, value)
        case Var(var=name, path=path) if name in values:
            try:
                return json_equal(at_path(values[name], path), value)
            except CaseError:
                return False
        case Var(var=name, path=path):
            if infer and not path:
                slots[name] = value
            return infer
        case ListOf(list=parts):
            items = cast("list[Any]", value) if isinstance(value, list) else None
            return (
                items is not None
                and len(items) == len(parts)
                and all(
                    _agrees(part, item, {**values, **slots}, slots, infer)
                    for part, item in zip(parts, items, strict=True)
                )
            )
        case ObjectOf(object=fields):
            given = cast("dict[str, Any]", value) if isinstance(value, dict) else None
            return (
                given is not None
                and given.keys() == fields.keys()
                and all(_agrees(part, given[key], {**values, **slots}, slots, infer) for key, part in fields.items())
            )


def value_of(binding: Binding, values: Mapping[str, Any]) -> Any:
    """The value of a binding whose variables are known.

    Raises:
        CaseError: If a path leads nowhere.
    """
    match binding:
        case Literal_(value=value):
            return value
        case Var(var=name, path=path):
            return at_path(values[name], path)
        case ListOf(list=parts):
            return [value_of(part, values) for part in parts]
        case ObjectOf(object=fields):
            return {key: value_of(part, values) for key, part in fields.items()}


@lru_cache(maxsize=1_000)
def _names(expr: str) -> tuple[str, ...]:
    return tuple(sorted(names(expr)))


def _decided(expr: str, values: Mapping[str, Any]) -> bool | None:
    """What a known side of `and` or `or` decides alone."""
    sides, decisive = _sides(expr)
    for side in sides:
        if all(name in values for name in _names(side)):
            try:
                if bool(_evaluated(side, values)) is decisive:
                    return decisive
            except (CaseError, ExpressionError):
                return None
    return None


@lru_cache(maxsize=1024)
def _sides(expr: str) -> tuple[tuple[str, ...], bool]:
    """The sides of `and` and `or`, and the value of one side that decides."""
    node = ast.parse(expr, mode="eval").body
    if not isinstance(node, ast.BoolOp):
        return (), False
    return tuple(map(ast.unparse, node.values)), isinstance(node.op, ast.Or)


def _evaluated(expr: str, values: Mapping[str, Any]) -> Any:
    """The value of an expression. Walks evaluate the same expressions many times, so recent values are cached."""
    return _value(expr, json.dumps({name: values[name] for name in _names(expr)}))


@lru_cache(maxsize=5_000)
def _value(expr: str, values: str) -> Any:
    return evaluate(expr, json.loads(values))


def _facts(node: End, values: Mapping[str, Any]) -> dict[str, Any]:
    fields = node.output.object if isinstance(node.output, ObjectOf) else {"answer": node.output}
    facts: dict[str, Any] = {}
    for name, binding in fields.items():
        if name == OUTCOME or isinstance(binding, Literal_) or any(part not in values for part in reads(binding)):
            continue
        try:
            facts[name] = value_of(binding, values)
        except CaseError:
            continue
    return facts


def _merged(base: State, one: State, other: State) -> State:
    """The state after two paths of a fork that began in the state `base`."""
    set_by_other = {
        name: value for name, value in other.values.items() if name not in base.values or base.values[name] is not value
    }
    return State(
        {**one.values, **set_by_other},
        max(one.written, other.written),
        one.writes | other.writes,
        (*one.assumed, *other.assumed[len(base.assumed) :]),
    )
