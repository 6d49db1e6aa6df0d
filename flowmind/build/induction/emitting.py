"""Writes a plan as a workflow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flowmind.build.induction.binding import Edge
from flowmind.build.induction.mapping import with_maps
from flowmind.build.induction.planning import Plan, Set
from flowmind.build.induction.runs import tool_of
from flowmind.build.induction.structure import END, START, Key
from flowmind.build.induction.walking import ALL, VISITS, index_name, inside
from flowmind.workflow.document import Assign, Binding, Condition, End, Literal_, Node, Start, ToolNode, Workflow, reads
from flowmind.workflow.document import Edge as Link
from flowmind.workflow.expressions import names as names_in
from tools_registry.specs.schema import JSONSchema

_LATER = "later"
"""Placeholder for the first node of a junction without a decision, until that node exists."""
Exit = tuple[str, bool | None]
"""A node and its arm."""


class Emitter:
    """Writes one workflow.

    Args:
        made: The plan.
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
            names |= (
                set(reads(assignment.binding)) if assignment.binding is not None else set(names_in(assignment.expr))
            )
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
        taken = {node.id for node in self.nodes}
        name, number = base, 1
        while name in taken:
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
        fields: dict[str, Any] = {"id": self._id(f"set_{assignment.name}"[:60]), "output": assignment.name}
        if assignment.binding is not None:
            fields["value"] = assignment.binding
        else:
            fields["expr"] = assignment.expr
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
        left, found = list(sets), list[Set]()
        while left:
            free = [one for one in left if not any(one.name in _names(other) for other in left if other is not one)]
            chosen = (free or left)[0]
            found.append(chosen)
            left.remove(chosen)
        return found

    def _enter(self, key: Key, source: Exit) -> None:
        """Writes a place on its first visit, and everything after it."""
        before = len(self.nodes)
        for one in self.plan.before.get(key, ()):
            source = self._assign(source, one, key)
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
