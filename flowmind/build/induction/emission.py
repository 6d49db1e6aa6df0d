"""Emission: a structured program becomes a workflow document."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from flowmind.build.induction.gathering import Gathered, Round, of_graph, of_map, rewritten
from flowmind.build.induction.induction import Request
from flowmind.build.induction.program import Block, CallStep, DoWhile, ForEach, If, Return, Slot, StructuredProgram
from flowmind.build.induction.pruning import without_dead, without_known
from flowmind.build.induction.scopes import Candidate, PureCall
from flowmind.build.induction.spelling import (
    RESERVED,
    assigned,
    binding_of,
    fields_of,
    free_name,
    parsed,
    plural,
    reads_in,
    reads_in_slot,
    reads_of,
    renamed,
    slots,
    texts_of,
    variable_of,
)
from flowmind.workflow.document import (
    Assign,
    Binding,
    BodyStep,
    Condition,
    Edge,
    End,
    ListOf,
    Literal_,
    Map,
    Node,
    ObjectOf,
    Start,
    ToolNode,
    Var,
    Workflow,
)

BOUND = 1_000
"""The most rounds of a loop that is repeated until a condition holds."""
Exit = tuple[str, bool | None]
"""A node and its arm, from which an edge still has to lead on."""


@dataclass(frozen=True)
class Spot:
    """The place of a slot in a workflow."""

    slot: Slot
    node: str
    field: str
    """As in `Evidence.field`."""
    omitted: bool = False
    """Whether the conditions under which an argument is left out stand there."""
    text: str = ""
    """The expression that stands there, over the variables of the workflow; empty if nothing explains the slot."""

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The expressions that may stand there."""
        return self.slot.omitted if self.omitted else self.slot.candidates

    @property
    def id(self) -> str:
        """As in `Place.id`."""
        return self.node if self.field == "expr" else f"{self.node}.{self.field}"

    @property
    def kind(self) -> Literal["condition", "value"]:
        """As in `Place.kind`."""
        return "condition" if self.field in ("expr", "where") else "value"


@dataclass(frozen=True)
class Emitted:
    """A workflow, and where the slots of its program stand."""

    workflow: Workflow
    spots: tuple[Spot, ...]


def emit(program: StructuredProgram, request: Request) -> Workflow:
    """The workflow of a program, without evidence."""
    return emitted(program, request).workflow


def emitted(program: StructuredProgram, request: Request) -> Emitted:
    """The workflow of a program with the places of its slots.

    At each slot the likeliest candidate stands; None where there is none.
    """
    return _Writer(program.body, request).write()


class _Known(NamedTuple):
    """A variable that holds the value of an expression or of a pure call."""

    name: str
    reads: frozenset[str]
    """The variables that the expression reads."""


class _Writer:
    """Writes one workflow.

    Args:
        body: The program.
        request: Has the inputs and the name.
    """

    def __init__(self, body: Block, request: Request) -> None:
        self.body = body
        self.request = request
        self.inputs = list(request.inputs.get("properties", {}))
        self.nodes: list[Node] = [Start(id="start")]
        self.edges: list[Edge] = []
        self.exits: Sequence[Exit] = [("start", None)]
        self.spots: list[Spot] = []
        self.read = reads_in(body)
        self.taken = {*self.inputs, *map(variable_of, self.inputs), *assigned(body), *self.read, *RESERVED}
        self.ids = {"start"}
        self.calls = set(assigned(body))
        """The ids that calls take."""
        self.known: dict[str, _Known] = {}
        """The variables that hold the values of expressions, by text, and of pure calls."""
        self.pure: dict[str, str] = {}
        """The pure call of each variable that one sets."""
        self.gathered: dict[str, Gathered] = {}
        """What loops keep, by the variable of their rows."""
        self.plans: dict[int, Gathered] = {}
        """The same by loop."""
        self.readers: dict[str, list[tuple[ForEach | DoWhile, set[int]]]] = {}
        """For each variable of rows the loops that set it, and the slots that read it after them."""
        self.maps: set[int] = set()
        """The loops that are maps."""
        self.local: list[BodyStep] | None = None
        """The steps of the body of the map that is being written."""
        self._plan(body, (), frozenset(map(variable_of, self.inputs)))

    def write(self) -> Emitted:
        """The workflow."""
        for name in self.inputs:
            if variable_of(name) != name:
                self._add(Assign(id=self._id(f"set_{name}"), value=Var(var=name), output=variable_of(name)))
        self._block(self.body)
        if self.exits:
            self._add(End(id=self._id("end"), output=Literal_(value=None)))
        decided = {spot.node for spot in self.spots}
        nodes, edges = without_dead(*without_known(self.nodes, self.edges, decided))
        workflow = Workflow(name=self.request.name, inputs=self.request.inputs, nodes=tuple(nodes), edges=tuple(edges))
        ids = {node.id for node in nodes}
        return Emitted(workflow, tuple(spot for spot in self.spots if spot.node in ids))

    # What loops keep

    def _plan(self, block: Block, after: Sequence[Block], stable: frozenset[str]) -> None:
        """Decides what each loop of a block keeps; outer loops first, because their updates read inner ones.

        Args:
            block: The block.
            after: The blocks that may run after it.
            stable: The variables that are set before it and never again.
        """
        for place, step in enumerate(block):
            rest = (block[place + 1 :], *after)
            match step:
                case If():
                    self._plan(step.then, rest, stable)
                    self._plan(step.otherwise, rest, stable)
                case ForEach() | DoWhile():
                    self._plan_loop(step, rest, stable)
                    self._plan(step.body, ((step,), *rest), stable)
                case _:
                    pass
            stable |= {name for name in assigned((step,)) if assigned_once(self.body, name)}

    def _plan_loop(self, loop: ForEach | DoWhile, after: Sequence[Block], stable: frozenset[str]) -> None:
        found = [text for block in ((loop,), *after) for slot in slots(block) for text in texts_of(slot)]
        found += [
            text for known in self.plans.values() for kept in known.kept for text in (kept.update, kept.condition)
        ]
        found += [known.collected for known in self.plans.values()]
        readers = [text for text in dict.fromkeys(found) if text and loop.rows in reads_of(text)]
        view = Round(loop.rows, _of_round(loop), stable, readers, self._fresh)
        if isinstance(loop, ForEach) and self._is_map(loop):
            self.maps.add(id(loop))
            last = loop.body[-1]
            plan = of_map(view, last.output if isinstance(last, CallStep) else loop.item)
        else:
            plan = of_graph(view)
        self.plans[id(loop)] = self.gathered[loop.rows] = plan
        reading = {id(slot) for block in after for slot in slots(block) if loop.rows in reads_in_slot(slot)}
        others = self.readers.setdefault(loop.rows, [])
        if any(reading & other for _, other in others):  # both arms of a branch have a loop with these rows
            for other in (loop, *(other for other, _ in others)):
                self.plans[id(other)].keep_rows(other.rows, _of_round(other))
        others.append((loop, reading))

    def _is_map(self, loop: ForEach) -> bool:
        """Whether each round only calls tools, and reads nothing of other rounds."""
        calls = [step for step in loop.body if isinstance(step, CallStep)]
        if (
            len(calls) < len(loop.body)
            or not calls
            or loop.stop is not None
            or loop.states
            or (loop.where and loop.where.candidates[0].before)
        ):
            return False
        later = {loop.rows, loop.index, *(call.output for call in calls)}
        if loop.where and later & reads_of(loop.where.candidates[0].text):
            return False
        for call in calls:
            if later & reads_in((call,)) or any(slot.omitted for slot in call.args.values()):
                return False
            later.discard(call.output)
        outside = _outside_of_maps(self.body)
        inside = [loop.item, *(call.output for call in calls)]
        return len(set(inside)) == len(inside) and not {*outside, *self.inputs} & set(inside)

    # Names and nodes

    def _fresh(self, wish: str) -> str:
        name = free_name(wish, self.taken)
        self.taken.add(name)
        return name

    def _id(self, base: str, of_call: bool = False) -> str:
        name, number = base[:56], 1
        while name in self.ids or (name in self.calls and not of_call):
            number += 1
            name = f"{base[:56]}_{number}"
        self.ids.add(name)
        return name

    def _add(self, node: Node) -> None:
        for source, arm in self.exits:
            self._link(source, node.id, arm)
        self.nodes.append(node)
        self.exits = [] if isinstance(node, End) else [(node.id, None)]
        if isinstance(node, ToolNode | Assign | Map):
            self._forget([node.output])

    def _link(self, source: str, target: str, arm: bool | None = None, bound: int | None = None) -> None:
        self.edges.append(Edge.model_validate({"from": source, "to": target, "when": arm, "bound": bound}))

    def _step(self, node: BodyStep) -> None:
        """Adds a call or an assignment, to the body of a map if one is being written."""
        if self.local is None:
            self._add(node)
        else:
            self.local.append(node)
            self._forget([node.output])

    def _forget(self, names: Iterable[str]) -> None:
        gone = set(names)
        self.known = {key: known for key, known in self.known.items() if not gone & {known.name, *known.reads}}

    def _set(self, name: str, value: Any) -> None:
        self._add(Assign(id=self._id(f"set_{name}"), value=Literal_(value=value), output=name))

    # Expressions

    def _text(self, text: str, before: Sequence[PureCall] = ()) -> str:
        """An expression as it stands in the workflow, after the pure calls that it needs."""
        table = self._table()
        changed: dict[str, str] = {}
        for call in before:
            args = tuple((name, renamed(rewritten(arg, table), changed)) for name, arg in call.args)
            changed[call.output] = self._pure(call, args)
        text = rewritten(text, table)
        return renamed(text, {old: new for old, new in changed.items() if old != new})

    def _table(self) -> dict[str, str]:
        return {old: new for gathered in self.gathered.values() for old, new in gathered.rewritten.items()}

    def _pure(self, call: PureCall, args: tuple[tuple[str, str], ...]) -> str:
        key = repr([call.tool, *args])
        if key in self.known:
            return self.known[key].name
        shared = self.local is None and self.pure.setdefault(call.output, key) == key
        name = call.output if shared else self._fresh(call.output)
        self.pure[name] = key
        made = {field: self._value(parsed(text), field) for field, text in args}
        self._step(ToolNode(id=self._id(name, of_call=True), tool=call.tool, args=made, output=name))
        self.known[key] = _Known(name, frozenset[str]().union(*(reads_of(text) for _, text in args)))
        return name

    def _slot(self, slot: Slot, hint: str) -> Binding:
        """The binding of a value."""
        if not slot.candidates:
            return Literal_(value=None)
        first = slot.candidates[0]
        return self._value(parsed(self._text(first.text, first.before)), hint)

    def _value(self, node: ast.expr, hint: str) -> Binding:
        if (binding := binding_of(node)) is not None:
            return binding
        if isinstance(node, ast.Dict) and (fields := fields_of(node)):
            return ObjectOf(object={key: self._value(part, key) for key, part in fields.items()})
        if isinstance(node, ast.List):
            return ListOf(list=tuple(self._value(part, hint) for part in node.elts))
        text = ast.unparse(node)
        if text not in self.known:
            name = self._fresh(hint)
            self._step(Assign(id=self._id(f"set_{name}"), expr=text, output=name))
            self.known[text] = _Known(name, reads_of(text))
        return Var(var=self.known[text].name)

    def _spot(self, slot: Slot, node: str, field: str, omitted: bool = False) -> None:
        group = slot.omitted if omitted else slot.candidates
        text = rewritten(group[0].text, self._table()) if group else ""
        self.spots.append(Spot(slot, node, field, omitted, text))

    def _decide(self, slot: Slot, base: str, omitted: bool = False) -> str:
        """Adds a condition; its exits are not set."""
        group = slot.omitted if omitted else slot.candidates
        text = self._text(group[0].text, group[0].before) if group else "True"
        node = Condition(id=self._id(base), expr=text)
        self._add(node)
        self._spot(slot, node.id, "expr", omitted)
        self.exits = []
        return node.id

    # Steps

    def _block(self, block: Block) -> None:
        for step in block:
            if not self.exits:
                return
            match step:
                case CallStep():
                    self._call(step)
                case If():
                    self._branch(step)
                case ForEach() if id(step) in self.maps:
                    self._map(step)
                case ForEach():
                    self._for_each(step)
                case DoWhile():
                    self._do_while(step)
                case Return(value=value):
                    node = self._id("end")
                    self._add(End(id=node, output=self._slot(value, "answer")))
                    self._spot(value, node, "output")

    def _call(self, step: CallStep) -> None:
        always = {name: slot for name, slot in step.args.items() if not slot.omitted}
        given = {name: self._slot(slot, name) for name, slot in always.items()}
        self._give(step, given, [name for name in step.args if name not in always])

    def _give(self, step: CallStep, given: dict[str, Binding], optional: Sequence[str]) -> None:
        """Adds a call, or a branch between calls with and without some of the optional arguments."""
        if not optional:
            node = self._id(step.output, of_call=True)
            args = {name: given[name] for name in step.args if name in given}
            self._step(ToolNode(id=node, tool=step.tool, args=args, output=step.output))
            known = {(id(spot.slot), spot.omitted) for spot in self.spots}
            for name in args:
                if (id(step.args[name]), False) not in known:
                    self._spot(step.args[name], node, name)
            return
        first = step.args[optional[0]].omitted[0]
        together = [name for name in optional if step.args[name].omitted[0].text == first.text]
        rest = [name for name in optional if name not in together]
        condition = self._decide(step.args[optional[0]], "if", omitted=True)
        known = self.known
        self.exits = [(condition, True)]
        self._give(step, given, rest)
        leaving, self.exits, self.known = self.exits, [(condition, False)], known
        self._give(step, given | {name: self._slot(step.args[name], name) for name in together}, rest)
        self.exits = [*leaving, *self.exits]
        self.known = known
        self._forget([step.output])

    def _branch(self, step: If) -> None:
        condition = self._decide(step.condition, "if")
        known, gathered = self.known, dict(self.gathered)
        leaving: list[Exit] = []
        after: list[dict[str, _Known]] = []
        then, otherwise = self._lasting(step.then), self._lasting(step.otherwise)
        for arm, block, others in ((True, step.then, otherwise), (False, step.otherwise, then)):
            self.exits, self.known = [(condition, arm)], known
            self._block(block)
            if self.exits:
                for name in others:
                    if name not in (then if arm else otherwise):
                        self._set(name, None)
                after.append(self.known)
            leaving += self.exits
        self.exits = leaving
        self.gathered = gathered | self.gathered
        common = after[0].items() if after else ()
        self.known = {key: known for key, known in common if all(one.get(key) == known for one in after)}

    def _lasting(self, block: Block) -> list[str]:
        return [name for name in _lasting(block, self.plans) if name]

    # Loops

    def _map(self, loop: ForEach) -> None:
        plan = self.plans[id(loop)]
        self.gathered[loop.rows] = plan
        over = self._slot(loop.source, loop.rows)
        where = None
        if loop.where is not None:
            where = self._text(loop.where.candidates[0].text)
        output = plan.names[0] if plan.kept else loop.rows
        node = self._id(f"map_{output}")
        known, self.known, self.local = self.known, dict(self.known), []
        for call in loop.body:
            assert isinstance(call, CallStep)
            args = {name: self._slot(slot, name) for name, slot in call.args.items()}
            step = ToolNode(id=self._id(call.output, of_call=True), tool=call.tool, args=args, output=call.output)
            self._step(step)
            for name, slot in call.args.items():
                self._spot(slot, node, f"{step.id}.{name}")
        collect = self._value(parsed(plan.collected), "element")
        steps, self.local, self.known = self.local, None, known
        self._add(
            Map(id=node, over=over, item=loop.item, where=where, body=tuple(steps), collect=collect, output=output)
        )
        self._spot(loop.source, node, "over")
        if loop.where is not None:
            self._spot(loop.where, node, "where")

    def _begin(self, loop: ForEach | DoWhile) -> dict[str, _Known]:
        """Sets what a loop changes to its first values; gives the expressions that are known in it and after it."""
        plan = self.plans[id(loop)]
        self.gathered[loop.rows] = plan
        for state in loop.states:
            self._state(state.name, state.start)
        for name in self._lasting(loop.body):
            self._set(name, None)
        for kept in plan.kept:
            self._set(kept.name, kept.initial)
        if loop.index in self.read:
            self._set(loop.index, 0)
        self._forget(assigned((loop,)))
        return dict(self.known)

    def _state(self, name: str, slot: Slot) -> None:
        """Sets a state to a value."""
        first = slot.candidates[0]
        tree = parsed(self._text(first.text, first.before))
        binding = binding_of(tree)
        value: dict[str, Any] = {"expr": ast.unparse(tree)} if binding is None else {"value": binding}
        node = self._id(f"set_{name}")
        self._add(Assign(id=node, output=name, **value))
        self._spot(slot, node, "value")

    def _carry(self, loop: ForEach | DoWhile) -> None:
        """Adds what a round changes, as far as the test after it sees it."""
        for state in loop.states:
            if self.exits:
                self._state(state.name, state.update)

    def _keep(self, loop: ForEach | DoWhile) -> None:
        """Adds what a round changes."""
        for kept in self.plans[id(loop)].kept:
            skipped: list[Exit] = []
            if kept.condition:
                node = self._id("if")
                self._add(Condition(id=node, expr=self._text(kept.condition)))
                self.exits, skipped = [(node, True)], [(node, False)]
            self._add(Assign(id=self._id(f"set_{kept.name}"), expr=self._text(kept.update), output=kept.name))
            self.exits = [*self.exits, *skipped]

    def _test(self, loop: ForEach | DoWhile, slot: Slot, base: str, goes_on: bool) -> Sequence[Exit]:
        """Adds the condition at the end of a round and what the round changes; gives the exits that leave the loop."""
        reads_rows = any(loop.rows in reads_of(text) for text in texts_of(slot))
        if not reads_rows:
            self._keep(loop)
        condition = self._decide(slot, base)
        self.exits = [(condition, not goes_on)]
        if reads_rows:  # there the condition does not see the round that ends
            known = self.known
            self._keep(loop)
            leaving, self.exits, self.known = self.exits, [(condition, goes_on)], known
            self._keep(loop)
            return leaving
        leaving, self.exits = self.exits, [(condition, goes_on)]
        return leaving

    def _back(self, head: int, bound: int | None = None) -> None:
        for source, arm in self.exits:
            self._link(source, self.nodes[head].id, arm, bound)
        self.exits = []

    def _for_each(self, loop: ForEach) -> None:
        over = self._source(loop)
        if loop.stopped:
            self._set(loop.stopped, False)
        known = self._begin(loop)
        counts = loop.index in self.read
        counter = loop.index if counts and loop.where is None else self._fresh("i")
        if counter != loop.index:
            self._set(counter, 0)
        head = len(self.nodes)
        test = Condition(id=self._id("while"), expr=f"{counter} < len({over})")
        self._add(test)
        self._spot(loop.source, test.id, "over")
        self.exits = [(test.id, True)]
        self._add(Assign(id=self._id(f"set_{loop.item}"), expr=f"{over}[{counter}]", output=loop.item))
        leaving: list[Exit] = [(test.id, False)]
        if counter != loop.index:
            self._count(counter)
        if loop.where is not None:
            where = self._decide(loop.where, "if")
            self.exits = [(where, False)]
            self._back(head)
            self.exits = [(where, True)]
        self._block(loop.body)
        self._carry(loop)
        if self.exits and loop.stop is not None:
            stopping = self._test(loop, loop.stop, "if", goes_on=False)
            going, self.exits = self.exits, stopping
            if loop.stopped:
                self._set(loop.stopped, True)
            leaving += self.exits
            self.exits = going
        elif self.exits:
            self._keep(loop)
        if self.exits and counts:
            self._count(loop.index)
        self._back(head)
        self.exits = leaving
        self.known = known
        self._forget(assigned((loop,)))

    def _source(self, loop: ForEach) -> str:
        """The list of a loop as an expression whose value does not change in the loop."""
        first = loop.source.candidates[0]
        tree = parsed(self._text(first.text, first.before))
        text = ast.unparse(tree)
        binding = binding_of(tree)
        if isinstance(binding, Var) and not reads_of(text) & {*assigned((loop,)), *self.plans[id(loop)].names}:
            return text
        name = self._fresh(plural(loop.item))
        field: dict[str, Any] = {"expr": text} if binding is None else {"value": binding}
        self._add(Assign(id=self._id(f"set_{name}"), output=name, **field))
        return name

    def _count(self, counter: str) -> None:
        self._add(Assign(id=self._id(f"set_{counter}"), expr=f"{counter} + 1", output=counter))

    def _do_while(self, loop: DoWhile) -> None:
        known = self._begin(loop)
        head = len(self.nodes)
        if loop.first:
            test = self._decide(loop.again, "while")
            self.exits = [(test, True)]
            self._block(loop.body)
            self._carry(loop)
            self._keep(loop)
            if loop.index in self.read:
                self._count(loop.index)
            self._back(head, BOUND)
            self.exits, self.known = [(test, False)], known
            self._forget(assigned((loop,)))
            return
        self._block(loop.body)
        self._carry(loop)
        if self.exits:
            leaving = self._test(loop, loop.again, "again", goes_on=True)
            if loop.index in self.read:
                self._count(loop.index)
            self._back(head, BOUND)
            self.exits = leaving


def _lasting(block: Block, plans: dict[int, Gathered] | None = None) -> list[str]:
    """The variables that a block sets and that are set after it.

    Args:
        block: The block.
        plans: What loops keep; without them, their rows count.
    """
    found: list[str] = []
    for step in block:
        match step:
            case CallStep(output=name):
                found.append(name)
            case If(then=then, otherwise=otherwise):
                found += [*_lasting(then, plans), *_lasting(otherwise, plans)]
            case ForEach():
                found += [*_rows(step, plans), step.stopped, *(state.name for state in step.states)]
            case DoWhile():
                inside = [] if step.first else _lasting(step.body, plans)
                found += [*inside, *_rows(step, plans), *(state.name for state in step.states)]
            case Return():
                pass
    return [name for name in dict.fromkeys(found) if name]


def _rows(loop: ForEach | DoWhile, plans: dict[int, Gathered] | None) -> list[str]:
    return [loop.rows] if plans is None or id(loop) not in plans else plans[id(loop)].names


def _of_round(loop: ForEach | DoWhile) -> list[str]:
    """The variables of a round that its row has."""
    return [*([loop.item] if isinstance(loop, ForEach) else []), *_lasting(loop.body)]


def _outside_of_maps(block: Block) -> list[str]:
    """The variables that steps set, except in loops that only make calls."""
    found: list[str] = []
    for step in block:
        match step:
            case If(then=then, otherwise=otherwise):
                found += [*_outside_of_maps(then), *_outside_of_maps(otherwise)]
            case ForEach(body=body) if all(isinstance(inner, CallStep) for inner in body):
                found.append(step.rows)
            case ForEach():
                found += [step.item, step.index, step.rows, step.stopped, *_outside_of_maps(step.body)]
                found += [state.name for state in step.states]
            case DoWhile():
                found += [step.index, step.rows, *_outside_of_maps(step.body)]
                found += [state.name for state in step.states]
            case _:
                found += assigned((step,))
    return found


def assigned_once(block: Block, name: str) -> bool:
    """Whether a single call sets a variable."""
    return sum(_sets(block, name)) == 1


def _sets(block: Block, name: str) -> Iterable[int]:
    for step in block:
        match step:
            case CallStep(output=output):
                yield output == name
            case If(then=then, otherwise=otherwise):
                yield from _sets((*then, *otherwise), name)
            case ForEach():
                yield name in (step.item, step.index, step.rows, step.stopped)
                yield from (2 * (state.name == name) for state in step.states)
                yield from _sets(step.body, name)
            case DoWhile():
                yield name in (step.index, step.rows)
                yield from (2 * (state.name == name) for state in step.states)
                yield from _sets(step.body, name)
            case Return():
                pass
