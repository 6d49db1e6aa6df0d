"""Emission: a plan becomes a workflow. Loops that only map a list become `map` nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowmind.build.induction.conditions import negated
from flowmind.build.induction.control_flow import ALL, END, START, VISITS, Key, index_name, inside, tool_of
from flowmind.build.induction.loops import Edge
from flowmind.build.induction.planning import Plan, Set
from flowmind.workflow.document import (
    Assign,
    Binding,
    Condition,
    End,
    Literal_,
    Map,
    Node,
    Start,
    ToolNode,
    Var,
    Workflow,
    bindings,
    reads,
)
from flowmind.workflow.document import Edge as Link
from flowmind.workflow.expressions import names as names_in
from tools_registry.specs.schema import JSONSchema

_PATH = re.compile(r"([A-Za-z]\w*)((?:\[(?:'[^']*'|\d+)\])*)")
_STAY = (re.compile(r"(\w+) < len\((?P<list>.+)\)"), re.compile(r"len\((?P<list>.+)\) > (\w+)"))
_LEAVE = (
    re.compile(r"(\w+) >= len\((?P<list>.+)\)"),
    re.compile(r"len\((?P<list>.+)\) <= (\w+)"),
    re.compile(r"len\((?P<list>.+)\) == (\w+)"),
)


@dataclass(frozen=True)
class _Loop:
    """A loop that is a map."""

    nodes: frozenset[str]
    """All nodes that the map replaces, including the assignments of initial values."""
    test: str
    """The condition node of the loop."""
    after: str
    """The node that follows the loop."""
    map: Map


def with_maps(workflow: Workflow) -> Workflow:
    """The workflow with a map node in place of every loop that only maps a list."""
    while (loop := next(_loops(workflow), None)) is not None:
        workflow = _replaced(workflow, loop)
    return workflow


def _replaced(workflow: Workflow, loop: _Loop) -> Workflow:
    nodes = [
        loop.map if node.id == loop.test else node
        for node in workflow.nodes
        if node.id == loop.test or node.id not in loop.nodes
    ]
    edges = [edge for edge in workflow.edges if edge.source not in loop.nodes]
    edges = [
        edge.model_copy(update={"target": loop.map.id}) if edge.target in loop.nodes else edge
        for edge in sorted(edges, key=lambda edge: edge.target in loop.nodes)
    ]
    out = Link.model_validate({"from": loop.map.id, "to": loop.after})
    return workflow.model_copy(update={"nodes": tuple(nodes), "edges": (*edges, out)})


def _loops(workflow: Workflow) -> Iterator[_Loop]:
    for node in workflow.nodes:
        if isinstance(node, Condition) and (loop := _loop_of(workflow, node)) is not None:
            yield loop


def _test(expr: str) -> tuple[str, str, bool] | None:
    """The counter, the list and the continuing arm of a loop's test."""
    for patterns, arm in ((_STAY, True), (_LEAVE, False)):
        for pattern in patterns:
            if (match := pattern.fullmatch(expr)) is not None:
                counter = next(part for part in match.groups() if part != match["list"])
                return counter, match["list"], arm
    return None


def _way(workflow: Workflow, node: str, arm: bool | None) -> str | None:
    return next((edge.target for edge in workflow.after(node) if edge.when == arm), None)


def _loop_of(workflow: Workflow, test: Condition) -> _Loop | None:
    """The map that a loop is equal to; None if the loop does more."""
    if (parts := _test(test.expr)) is None:
        return None
    counter, listed, stay = parts
    over = _var(listed)
    inside, after = _way(workflow, test.id, stay), _way(workflow, test.id, not stay)
    if over is None or inside is None or after is None:
        return None
    where, chain = "", _chain(workflow, inside, test.id)
    choice = workflow.by_id[inside]
    skipped: list[str] = []
    if isinstance(choice, Condition):
        ways = {arm: _way(workflow, choice.id, arm) for arm in (True, False)}
        chains = {arm: _chain(workflow, way, test.id) if way else None for arm, way in ways.items()}
        idle = next((arm for arm, nodes in chains.items() if nodes is not None and _idle(nodes, counter, listed)), None)
        if idle is None:
            return None
        chain = chains[not idle]
        skipped = [choice.id, *(node.id for node in chains[idle] or [])]
        where = negated(choice.expr) if idle else choice.expr
    if chain is None or len(chain) < 3:
        return None
    first, *body, last = chain
    if not (isinstance(first, Assign) and first.expr == f"{listed}[{counter}]" and _steps(last, counter)):
        return None
    before = _assignments_before(workflow, test.id, {node.id for node in chain} | set(skipped), counter)
    gathered = [node for node in body if isinstance(node, Assign) and _appends(node)]
    if before is None or len(gathered) != 1 or gathered[0].output not in before[1]:
        return None
    result = gathered[0]
    name = _free(workflow, f"map_{result.output}"[:56])
    node = _map(name, over, first.output, where.replace(f"{listed}[{counter}]", first.output), body, result)
    own = [test.id, *(node.id for node in chain), *skipped, before[0][counter], before[0][result.output]]
    if node is None or not _closed(workflow, node, own, {counter, *(step.output for step in node.body)}):
        return None
    return _Loop(frozenset(own), test.id, after, node)


def _chain(workflow: Workflow, begin: str, end: str) -> list[Node] | None:
    """The nodes from one to another, if there is a single path of calls and assignments."""
    nodes: list[Node] = []
    here: str | None = begin
    while here is not None and here != end:
        node = workflow.by_id[here]
        if not isinstance(node, ToolNode | Assign) or node in nodes:
            return None
        nodes.append(node)
        here = _way(workflow, here, None)
    return nodes if here == end else None


def _appends(node: Assign) -> bool:
    return (node.expr or "").startswith(f"{node.output} + [")


def _free(workflow: Workflow, name: str) -> str:
    """An id that no node has."""
    return name if name not in workflow.by_id else f"{name}_{len(workflow.nodes)}"


def _steps(node: Node, counter: str) -> bool:
    return isinstance(node, Assign) and node.output == counter and node.expr == f"{counter} + 1"


def _idle(chain: list[Node], counter: str, listed: str) -> bool:
    """Whether a round only goes on to the next element."""
    return all(_steps(node, counter) or getattr(node, "expr", None) == f"{listed}[{counter}]" for node in chain)


def _assignments_before(
    workflow: Workflow, test: str, loop: set[str], counter: str
) -> tuple[dict[str, str], set[str]] | None:
    """The assignments right before a loop by variable, and those of them that set an empty list."""
    sources = [edge.source for edge in workflow.edges if edge.target == test and edge.source not in loop]
    if len(sources) != 1:
        return None
    nodes: dict[str, str] = {}
    empty: set[str] = set()
    here: str | None = sources[0]
    while here is not None:
        node = workflow.by_id[here]
        into = [edge for edge in workflow.edges if edge.target == here]
        if not isinstance(node, Assign) or node.value is None or len(workflow.after(here)) != 1:
            break
        nodes.setdefault(node.output, here)
        if isinstance(node.value, Literal_) and node.value.value == []:
            empty.add(node.output)
        here = into[0].source if len(into) == 1 else None
    begins = workflow.by_id.get(nodes.get(counter, ""))
    return (nodes, empty) if isinstance(begins, Assign) and begins.value == Literal_(value=0) else None


def _map(name: str, over: Var, item: str, where: str, body: list[Node], result: Assign) -> Map | None:
    """The map node; None if a step reads a variable that only a later step sets, as an accumulation does."""
    steps = [node for node in body if isinstance(node, ToolNode | Assign) and node is not result]
    collected = (result.expr or "")[len(result.output) + 4 : -1]
    collect = _var(collected)
    if collect is None:
        element = f"{result.output}_item"
        steps.append(Assign(id=element, expr=collected, output=element))
        collect = Var(var=element)
    outputs = [step.output for step in steps]
    if any(_read_by(step) & {*outputs[place:], result.output} for place, step in enumerate(steps)):
        return None
    last = body[-1]
    overwritten = last is not result and isinstance(last, ToolNode | Assign) and last.output in reads(collect)
    if len(set(outputs)) < len(outputs) or overwritten:
        return None
    return Map(
        id=name, over=over, item=item, where=where or None, body=tuple(steps), collect=collect, output=result.output
    )


def _read_by(node: Node) -> set[str]:
    """The variables that a node reads."""
    names = {name for binding in bindings(node) for name in reads(binding)}
    expr: Any = getattr(node, "expr", None) or getattr(node, "where", None)
    return names | (set(names_in(expr)) if expr else set())


def _closed(workflow: Workflow, node: Map, own: Sequence[str], outputs: set[str]) -> bool:
    """Whether no node outside the loop reads or sets a variable that a round sets."""
    outside = [other for other in workflow.nodes if other.id not in own]
    read = set[str]().union(*(_read_by(other) for other in outside))
    for other in outside:
        if isinstance(other, Map):
            read |= set[str]().union(*(_read_by(step) for step in other.body)) | set(reads(other.collect))
    others = {other.output for other in outside if isinstance(other, ToolNode | Assign | Map)}
    private = {node.item, *outputs}
    return not private & (read | others) and node.item not in workflow.input_names


def _var(text: str) -> Var | None:
    """A variable or a path into it."""
    match = _PATH.fullmatch(text)
    if match is None:
        return None
    path = [part[1:-1] if part.startswith("'") else int(part) for part in re.findall(r"\[('[^']*'|\d+)\]", match[2])]
    return Var(var=match[1], path=tuple(path))


_LATER = "later"
"""Placeholder for the first node of a junction without a decision, until that node exists."""
Exit = tuple[str, bool | None]
"""A node and its arm."""


class Emitter:
    """Writes one workflow.

    Args:
        plan: The plan.
        inputs: JSON Schema of the inputs.
        name: The workflow's name.
        choice: The expression of a condition, by place and number; by default the likeliest candidate.
    """

    def __init__(
        self, plan: Plan, inputs: JSONSchema, name: str, choice: Mapping[tuple[Key, int], str] | None = None
    ) -> None:
        self.plan = plan
        self.inputs = inputs
        self.name = name
        self.choice = choice or {}
        self.nodes: list[Node] = [Start(id="start")]
        self.links: list[Link] = []
        self.where: dict[str, Key] = {"start": START}
        """The place of each node."""
        self.arms: dict[str, tuple[Key, int]] = {}
        """For each condition node its place, and the number of its condition there."""
        self.walk = plan.bound.walk
        self.layout = self.walk.layout
        self.edges = self.layout.edges()
        self._entries: dict[Key, str] = {}
        self._used = self._read_names()

    def write(self) -> Workflow:
        """The workflow."""
        begin: Exit = ("start", None)
        for name in sorted(self._used):
            if name.startswith(VISITS):
                begin = self._assign(begin, Set(name, Literal_(value=0)), START)
            elif name.startswith(ALL):
                begin = self._assign(begin, Set(name, Literal_(value=[])), START)
        self._leave(START, begin)
        workflow = Workflow(name=self.name, inputs=self.inputs, nodes=tuple(self.nodes), edges=tuple(self.links))
        return with_maps(workflow)

    def _read_names(self) -> set[str]:
        """The variables that something reads; counters and elements that nothing reads are not set."""
        names: set[str] = set()
        sets = [
            assignment
            for part in (self.plan.before, self.plan.on_way, self.plan.entering)
            for assignments in part.values()
            for assignment in assignments
        ]
        for assignment in sets:
            names |= _names(assignment)
        for args in self.plan.args.values():
            for binding in args.values():
                names |= set(reads(binding))
        if self.plan.answer is not None:
            names |= set(reads(self.plan.answer))
        for key, decision in self.plan.decisions.items():
            for number in range(len(decision.ways)):
                names |= set(names_in(self._condition(key, number)))
        for lists in self.walk.lists.values():
            names |= {listed for name, listed in lists.items() if name in names}
        return names

    def _condition(self, key: Key, number: int) -> str:
        candidates = self.plan.decisions[key].ways[number][0]
        expr = self.choice.get((key, number)) or (candidates[0].expr if candidates else "True")
        if key[0] == "loop":  # elements are set behind the test
            index = index_name(self.layout, key[1])
            for name, listed in self.walk.lists[key[1]].items():
                expr = re.sub(rf"\b{name}\b", lambda _, listed=listed: f"{listed}[{index}]", expr)
        return expr

    def _id(self, base: str) -> str:
        ids = {node.id for node in self.nodes}
        name, number = base, 1
        while name in ids:
            number += 1
            name = f"{base}_{number}"
        return name

    def _add(self, source: Exit | None, node: Node, key: Key) -> Exit:
        self.nodes.append(node)
        self.where[node.id] = key
        if source is not None:
            self._link(source, node.id)
        return node.id, None

    def _link(self, source: Exit, target: str) -> None:
        self.links.append(Link.model_validate({"from": source[0], "to": target, "when": source[1]}))

    def _assign(self, source: Exit | None, assignment: Set, key: Key) -> Exit:
        value = {"expr": assignment.expr} if assignment.binding is None else {"value": assignment.binding}
        fields: dict[str, Any] = {"id": self._id(f"set_{assignment.name}"[:60]), "output": assignment.name, **value}
        return self._add(source, Assign(**fields), key)

    def _go(self, source: Exit, edge: Edge) -> None:
        """Adds the edge from one place to the next, with the assignments on the way."""
        key = edge[1]
        if edge[0][0] == "loop" and inside(key, edge[0][1]):
            index = index_name(self.layout, edge[0][1])
            for name, listed in self.walk.lists[edge[0][1]].items():
                if name in self._used:
                    source = self._assign(source, Set(name, None, f"{listed}[{index}]"), key)
        for assignment in self._ordered(self.plan.on_way.get(edge, [])):
            source = self._assign(source, assignment, key)
        if key[0] == "loop":
            index = index_name(self.layout, key[1])
            entering = not inside(edge[0], key[1])
            if entering:
                for assignment in self.plan.entering.get(key[1], ()):
                    source = self._assign(source, assignment, key)
            if self._counts(key[1]):
                step = Set(index, Literal_(value=0)) if entering else Set(index, None, f"{index} + 1")
                source = self._assign(source, step, key)
        if key in self._entries:
            self._link(source, self._entries[key])
        else:
            self._enter(key, source)

    def _counts(self, loop: str) -> bool:
        index = index_name(self.layout, loop)
        return index in self._used or any(name in self._used for name in self.walk.lists[loop])

    def _ordered(self, sets: list[Set]) -> list[Set]:
        """The assignments in an order in which each variable is read before it is overwritten."""
        rest, ordered = list(sets), list[Set]()
        while rest:
            free = [
                assignment for assignment in rest
                if not any(assignment.name in _names(other) for other in rest if other is not assignment)
            ]  # fmt: skip
            chosen = (free or rest)[0]
            ordered.append(chosen)
            rest.remove(chosen)
        return ordered

    def _enter(self, key: Key, source: Exit) -> None:
        """Writes a place on its first visit, and everything after it."""
        before = len(self.nodes)
        for assignment in self.plan.before.get(key, ()):
            source = self._assign(source, assignment, key)
        if key == END:
            answer: Binding = self.plan.answer if self.plan.answer is not None else Literal_(value=None)
            self._add(source, End(id=self._id("end"), output=answer), key)
            self._entries[key] = self.nodes[before].id
            return
        if key[0] == "site":
            name = self.walk.names[key]
            node = ToolNode(id=self._id(name), tool=tool_of(key[2]), args=self.plan.args[key], output=name)
            source = self._add(source, node, key)
            self._entries[key] = self.nodes[before].id
            if f"{VISITS}{name}" in self._used:
                source = self._assign(source, Set(f"{VISITS}{name}", None, f"{VISITS}{name} + 1"), key)
            if f"{ALL}{name}" in self._used:
                source = self._assign(source, Set(f"{ALL}{name}", None, f"{ALL}{name} + [{name}]"), key)
        elif key[0] == "loop":
            self._enter_loop(key, source)
            return
        self._leave(key, source)

    def _enter_loop(self, key: Key, source: Exit) -> None:
        """The entry of a junction: its own node if it decides, else the first node behind it."""
        if key not in self.plan.decisions:
            way = self.edges[key][0]
            placed = len(self.nodes)
            count = len(self.links)
            self._entries[key] = _LATER
            self._go(source, (key, way))
            first = self.nodes[placed].id if len(self.nodes) > placed else self.links[count].target
            self._entries[key] = first
            self.links = [
                link if link.target != _LATER else link.model_copy(update={"target": first}) for link in self.links
            ]
            return
        self._leave(key, source)

    def _leave(self, key: Key, source: Exit) -> None:
        decision = self.plan.decisions.get(key)
        if decision is None:
            for way in self.edges.get(key, [])[:1]:
                self._go(source, (key, way))
            return
        for number, (_, way) in enumerate(decision.ways):
            node = Condition(id=self._id("if" if key[0] != "loop" else "while"), expr=self._condition(key, number))
            self.arms[node.id] = (key, number)
            source = self._add(source, node, key)
            if number == 0 and key[0] == "loop":
                self._entries[key] = node.id
            self._go((node.id, True), (key, way))
            source = (node.id, False)
        self._go(source, (key, decision.last))


def _names(made: Set) -> set[str]:
    return set(reads(made.binding)) if made.binding is not None else set(names_in(made.expr))
