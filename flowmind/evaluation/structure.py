"""White-box evaluation: how much of a gold workflow a candidate has, and whether the two do the same.

Source: FlowMind, appendix C.1 (normalization, structural congruence, behavioural equivalence, path sufficiency). The
paper gives no formulas; those used here, and what they rely on, stand in `docs/decisions/0009-structure-scores.md`.

Matching: nodes match if their *keys* are equal, one to one.

- A call (of a tool, also in the body of a map, or of a model): the tool, and for each argument where its value comes
  from: a constant, an input or a path into it, the result of a tool (by the tool's name), an expression over these.
- A condition: its truth in normal form, or the opposite, over sources in the same way.
- A calculation (an assignment of an expression), the list, filter and result of a map, the answer of an end: likewise.
- An assignment that renames, reads a path or composes values is not a node: its readers have its source instead.

Sources look one calculation deep and through no call, so that one wrong argument costs one node and not all after it.
Edges match by the keys of both ends: one leads from a node to each node that reads its value. Branches match as a
condition with an arm and the key of a node that this arm decides on. So scores of 1 are no equivalence.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from flowmind.base.errors import InputError
from flowmind.evaluation.equivalence import LockStep, Paths, paths, same_paths
from flowmind.evaluation.normal_form import BEGIN, Reader, Steps, Terms, controls, parsed
from flowmind.evaluation.worfeval import ZERO, Part, part
from flowmind.workflow.checking import check, node_reads
from flowmind.workflow.document import (
    Assign,
    Binding,
    Condition,
    End,
    LLMNode,
    Map,
    Node,
    Start,
    ToolNode,
    Workflow,
)
from tools_registry.specs.spec import Record, ToolSpec

WHOLE = Part(precision=1.0, recall=1.0, f1=1.0)
MAX_DIFF = 40
"""Lines of a diff."""


class PathScore(Record):
    """Path sufficiency: paths are compared by what is decided, called and answered on them, loops taken at most once.

    If `cut`, one of the workflows has more paths than were looked at, and all numbers are about those.
    """

    gold: int
    candidate: int
    covered: int
    """Gold paths that the candidate has."""
    spurious: int
    """Candidate paths that gold has not."""
    cut: bool = False

    @property
    def coverage(self) -> float:
        """The share of gold's paths that the candidate has."""
        return self.covered / self.gold if self.gold else 0.0

    @property
    def spurious_share(self) -> float:
        """The share of the candidate's paths that gold has not."""
        return self.spurious / self.candidate if self.candidate else 0.0


class StructureScore(Record):
    """A candidate against gold; all parts are 0 if the candidate does not pass `check`, and `problem` says why."""

    nodes: Part
    tools: Part
    """By the names of the called tools alone, with their number."""
    edges: Part
    branches: Part
    equivalent: bool
    """The two give the same answers: sufficient, not complete."""
    difference: str = ""
    """The first difference in behaviour, if they are not known to be equivalent."""
    paths: PathScore
    diff: tuple[str, ...] = ()
    """Lines `- gold only: …`, `+ candidate only: …`, `~ differs: …`."""
    problem: str | None = None


def compare(candidate: Workflow, gold: Workflow, specs: Mapping[str, ToolSpec] | None = None) -> StructureScore:
    """Compares two workflows by their form.

    Args:
        candidate, gold: Documents; a candidate that does not pass `check` scores zero.
        specs: The tools, if they are known: a default then equals the same argument written out, and calls of tools
            that change something keep their order. Without them every tool is taken for a function of its arguments.

    Raises:
        InputError: If gold does not pass `check`.
    """
    if problems := check(gold, specs or _stand_ins(gold)):
        raise InputError(f"the gold workflow {gold.name!r} is not sound: {problems[0]}")
    if problems := check(candidate, specs or _stand_ins(candidate)):
        return _failed(gold, f"the candidate is not sound: {problems[0]}")
    terms = Terms(gold.inputs)
    ours, theirs = (Steps(workflow, terms, specs or {}) for workflow in (candidate, gold))
    mine, wanted = _Outline(ours), _Outline(theirs)
    ways, gold_ways = paths(ours), paths(theirs)
    difference = _inputs(candidate, gold) or LockStep(ours, theirs).difference()
    equivalent = not difference or (not _inputs(candidate, gold) and same_paths(ways, gold_ways))
    return StructureScore(
        nodes=_part(mine.nodes.elements(), wanted.nodes.elements()),
        tools=_part(mine.tools, wanted.tools),
        edges=_part(mine.edges, wanted.edges),
        branches=_part(mine.branches, wanted.branches),
        equivalent=equivalent,
        difference="" if equivalent else difference,
        paths=_paths(ways, gold_ways),
        diff=tuple(_diff(mine, wanted)),
    )


def _stand_ins(workflow: Workflow) -> dict[str, ToolSpec]:
    """Specs that admit any call, so that `check` judges the form alone."""
    return {name: ToolSpec(name=name, parameters={"type": "object"}) for name in workflow.tool_names}


def _failed(gold: Workflow, problem: str) -> StructureScore:
    ways = paths(Steps(gold, Terms(gold.inputs), {}))
    return StructureScore(
        nodes=ZERO,
        tools=ZERO,
        edges=ZERO,
        branches=ZERO,
        equivalent=False,
        difference=problem,
        paths=PathScore(gold=len({path.shown for path in ways.paths}), candidate=0, covered=0, spurious=0),
        problem=problem,
    )


def _inputs(candidate: Workflow, gold: Workflow) -> str:
    ours, theirs = (
        [name for name in workflow.input_names if name in workflow.inputs.get("required", [])]
        for workflow in (candidate, gold)
    )
    if sorted(ours) == sorted(theirs):
        return ""
    return f"gold takes the inputs {', '.join(theirs) or 'none'}, the candidate {', '.join(ours) or 'none'}"


def _part(candidate: Iterable[Hashable], gold: Iterable[Hashable]) -> Part:
    """Precision, recall and F1 of two multisets; 1 if both are empty."""
    ours, theirs = Counter(candidate), Counter(gold)
    return part((ours & theirs).total(), ours.total(), theirs.total()) if ours or theirs else WHOLE


def _paths(candidate: Paths, gold: Paths) -> PathScore:
    ours, theirs = ({path.shown for path in found.paths} for found in (candidate, gold))
    return PathScore(
        gold=len(theirs),
        candidate=len(ours),
        covered=len(ours & theirs),
        spurious=len(ours - theirs),
        cut=candidate.cut or gold.cut,
    )


# Outlines


class Item(NamedTuple):
    """A node as it is matched."""

    what: str
    """The tool, or the kind of node."""
    key: int
    """A term over sources."""


class _Outline:
    """The nodes, edges and branches of a workflow by their keys."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.terms = steps.terms
        self.workflow = steps.workflow
        self.reach = _reaching(steps)
        self.items: dict[str, Item] = {}
        self.tools: list[str] = []
        self.edges: list[tuple[int, int]] = []
        self.polarity: dict[str, bool] = {}
        for node in self.workflow.nodes:
            if not isinstance(node, Start) and not _plumbing(node):
                self.items[node.id] = self._item(node)
        body = [item for node in self.workflow.nodes if isinstance(node, Map) for item in self._body(node)]
        for node in self.workflow.nodes:
            if node.id in self.items:
                found = {one for name in node_reads(node) for one in self._producers(node.id, name, frozenset())}
                self.edges += [(self.items[one].key, self.items[node.id].key) for one in sorted(found)]
        self.nodes: Counter[Item] = Counter([*self.items.values(), *body])
        self.branches = list(self._branches())

    def _item(self, node: Node) -> Item:
        reader = self._reader(node.id, node_reads(node), 1, frozenset())
        match node:
            case ToolNode() | LLMNode():
                return self._call(node, reader)
            case Condition(expr=expr):
                truth = reader.truth(expr)
                opposite = self.terms.negated(truth)
                self.polarity[node.id] = truth < opposite
                return Item("condition", min(truth, opposite))
            case Assign(expr=str(expr)):
                return Item("calculation", reader.expression(expr))
            case Map():
                return self._map(node, reader)
            case End(output=output):
                return Item("end", self.terms.make("answer", None, (self.terms.json(reader.binding(output)),)))
            case _:
                raise AssertionError(f"a {node.kind} node is no item")

    def _call(self, node: ToolNode | LLMNode, reader: Reader) -> Item:
        what = node.tool if isinstance(node, ToolNode) else "llm"
        self.tools.append(what)
        args = self.steps.arguments(node, reader)
        subject = what if isinstance(node, ToolNode) else node.prompt
        return Item(what, self.terms.make("call", (subject, tuple(args)), args.values()))

    def _map(self, node: Map, reader: Reader) -> Item:
        inner = self._inside(node, reader)
        where = [inner.truth(node.where)] if node.where is not None else []
        scope = {**inner.scope, **{step.output: self._result(step) for step in node.body}}
        collect = Reader(self.terms, scope, 1).binding(node.collect)
        return Item("map", self.terms.make("each", None, (reader.binding(node.over), *where, collect)))

    def _inside(self, node: Map, reader: Reader) -> Reader:
        element = self.terms.make("element", None, (reader.binding(node.over),))
        return Reader(self.terms, {**reader.scope, node.item: element}, 1)

    def _result(self, step: ToolNode | Assign) -> int:
        if isinstance(step, ToolNode):
            return self.terms.make("result", step.tool)
        return self.terms.make("source", "a calculation")

    def _body(self, node: Map) -> Iterator[Item]:
        reader = self._inside(node, self._reader(node.id, node_reads(node), 1, frozenset()))
        scope = dict(reader.scope)
        for step in node.body:
            inner = Reader(self.terms, scope, 1)
            if isinstance(step, ToolNode):
                yield self._call(step, inner)
                scope[step.output] = self._result(step)
            else:
                scope[step.output] = _assigned(step, inner)
                if not _plumbing(step):
                    yield Item("calculation", scope[step.output])

    def _reader(self, at: str, names: Iterable[str], depth: int, seen: frozenset[str]) -> Reader:
        return Reader(self.terms, {name: self._source(at, name, depth, seen) for name in sorted(names)})

    def _source(self, at: str, name: str, depth: int, seen: frozenset[str]) -> int:
        """The source of a variable's value: the terms of all definitions that reach the node."""
        ways = sorted(self.reach[at].get(name, ()))  # terms are numbered as they are met
        found = {self._defined(self.workflow.by_id[one], name, depth, seen) for one in ways}
        return found.pop() if len(found) == 1 else self.terms.make("either", None, sorted(found))

    def _defined(self, node: Node, name: str, depth: int, seen: frozenset[str]) -> int:
        terms = self.terms
        match node:
            case Start():
                return terms.make("input", name)
            case ToolNode(tool=tool):
                return terms.make("result", tool)
            case Assign() if node.id in seen or (depth == 0 and not _plumbing(node)):
                return terms.make("source", "a calculation")
            case Assign():
                deeper = depth if _plumbing(node) else depth - 1
                return _assigned(node, self._reader(node.id, node_reads(node), deeper, seen | {node.id}))
            case _:
                return terms.make("result", node.kind)

    def _producers(self, at: str, name: str, seen: frozenset[str]) -> Iterator[str]:
        """The nodes whose value a variable has, through assignments that only rename."""
        for one in self.reach[at].get(name, frozenset()) - seen:
            node = self.workflow.by_id[one]
            if _plumbing(node):
                for inner in node_reads(node):
                    yield from self._producers(one, inner, seen | {one})
            elif one in self.items:
                yield one

    def _branches(self) -> Iterator[tuple[int, bool, int]]:
        for name, arms in controls(self.workflow, self.steps.shape).items():
            if name in self.items:
                for condition, arm in arms:
                    value = arm is self.polarity[condition]
                    yield self.items[condition].key, value, self.items[name].key


def _assigned(node: Assign, reader: Reader) -> int:
    return reader.expression(node.expr) if node.expr is not None else reader.binding(cast(Binding, node.value))


def _plumbing(node: Node | ToolNode | Assign) -> bool:
    """Whether a node only hands values on."""
    if not isinstance(node, Assign):
        return False
    return node.expr is None or isinstance(parsed(node.expr), ast.Name | ast.Constant)


def _reaching(steps: Steps) -> dict[str, dict[str, frozenset[str]]]:
    """For each node and variable the nodes whose value it may have there."""
    workflow, order = steps.workflow, steps.shape.order
    start = steps.ways[BEGIN].target
    found: dict[str, dict[str, frozenset[str]]] = {name: {} for name in steps.shape.reached}
    todo, seen = [start], {start}
    while todo:
        name = todo.pop()
        node = workflow.by_id[name]
        leaving = dict(found[name])
        if isinstance(node, Start):
            leaving |= {given: frozenset({name}) for given in workflow.input_names}
        elif not isinstance(node, Condition | End):
            leaving[node.output] = frozenset({name})
        for target in order.successors(name):
            entering = found[target]
            merged = entering | {key: entering.get(key, frozenset()) | defs for key, defs in leaving.items()}
            if merged != entering or target not in seen:
                found[target] = merged
                seen.add(target)
                todo.append(target)
    return found


# Words


def _diff(candidate: _Outline, gold: _Outline) -> Iterator[str]:
    show = gold.terms.show
    missing, extra = gold.nodes - candidate.nodes, candidate.nodes - gold.nodes
    lines: list[str] = []
    left: dict[str, list[str]] = defaultdict(list)
    for item in extra.elements():
        left[item.what].append(show(item.key))
    for item in missing.elements():
        if left[item.what]:
            lines.append(f"~ differs: {item.what}: gold {show(item.key)}, candidate {left[item.what].pop(0)}")
        else:
            lines.append(f"- gold only: {_named(item.what, show(item.key))}")
    for what, texts in left.items():
        lines += [f"+ candidate only: {_named(what, text)}" for text in texts]
    common = {item.key for item in (gold.nodes & candidate.nodes)}
    lines += _branch_lines("- gold only", gold, candidate, common)
    lines += _branch_lines("+ candidate only", candidate, gold, common)
    yield from lines[:MAX_DIFF]
    if len(lines) > MAX_DIFF:
        yield f"… {len(lines) - MAX_DIFF} more"


def _named(what: str, text: str) -> str:
    return f"{what} {text}" if what in ("condition", "calculation", "end") else text


def _branch_lines(head: str, one: _Outline, other: _Outline, common: set[int]) -> Sequence[str]:
    """The branches that one has alone, of nodes that both have."""
    show = one.terms.show
    return [
        f"{head}: {show(node)} only if {show(condition)} is {str(value).lower()}"
        for condition, value, node in (Counter(one.branches) - Counter(other.branches)).elements()
        if node in common and condition in common
    ]
