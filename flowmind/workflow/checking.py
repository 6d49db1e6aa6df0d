"""`check`: every problem of a workflow at once, each with a code, the place, and what would mend it.

A workflow that passes cannot raise an undefined-variable or unknown-tool error when it runs.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from string import Formatter
from typing import Any, Literal, cast

from flowmind.base.errors import InputError
from flowmind.workflow import expressions
from flowmind.workflow.document import (
    Assign,
    Binding,
    Condition,
    End,
    ListOf,
    Literal_,
    LLMNode,
    Map,
    Node,
    ObjectOf,
    Start,
    ToolNode,
    Workflow,
    bindings,
    reads,
)
from flowmind.workflow.graph import Flow, analyse
from tools_registry.sandbox.functions import specs_of
from tools_registry.specs.schema import SchemaError, validator
from tools_registry.specs.spec import Record, SpecError, ToolSpec

Code = Literal[
    "no_start", "many_starts", "duplicate_id", "no_end", "end_unreachable", "dangling_edge", "dead_node",
    "start_entered", "end_left", "missing_edge", "bad_branch", "undefined_variable", "unknown_tool",
    "missing_argument", "unknown_argument", "wrong_type", "bad_expression", "bad_prompt", "irreducible_loop",
    "unbounded_loop", "bad_fork", "race", "shadowed_variable", "bad_inputs", "too_large",
]  # fmt: skip


MAX_PROBLEMS = 1_000
MAX_FORKED = 200
"""Paths of all forks together."""
MAX_LOOPS = 100


class Problem(Record):
    """One thing that is wrong with a workflow."""

    code: Code
    where: str
    """The node's id, or the edge as `a -> b`."""
    message: str
    """What is wrong and what would mend it."""
    path: str = ""
    """Where that is in the document, as keys and indexes: `nodes.2`, `edges.0`."""

    def __str__(self) -> str:
        place = f", {self.path}" if self.path else ""
        return f"{self.where}: {self.message} [{self.code}{place}]"


def check(workflow: Workflow, tools: Any) -> list[Problem]:
    """Every problem of a workflow, in the order of its document; an empty list if it is sound.

    Args:
        workflow: The document.
        tools: The tools that it may call: functions or specs, one, a list or a dict by name; or an environment.

    Raises:
        InputError: If something cannot be a tool.
    """
    try:
        specs = specs_of(tools)
    except SpecError as error:
        raise InputError(str(error)) from None
    paths = _paths(workflow)
    problems = dict.fromkeys(islice(_problems(workflow, specs), MAX_PROBLEMS))
    return [problem.model_copy(update={"path": paths.get(problem.where, problem.path)}) for problem in problems]


def _paths(workflow: Workflow) -> dict[str, str]:
    """Where in the document the nodes, the steps of maps and the edges are that problems name."""
    found: dict[str, str] = {}
    for number, node in enumerate(workflow.nodes):
        found.setdefault(node.id, f"nodes.{number}")
        for inner, step in enumerate(node.body if isinstance(node, Map) else ()):
            found.setdefault(f"{node.id}.{step.id}", f"nodes.{number}.body.{inner}")
    for number, edge in enumerate(workflow.edges):
        found.setdefault(edge.label, f"edges.{number}")
        found.setdefault(f"{edge.source} -> {edge.target}", f"edges.{number}")
    return found


def _problems(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Iterator[Problem]:
    breaks = False
    for problem in (*_ids(workflow), *_edges(workflow), *_ends(workflow)):
        breaks = breaks or problem.code in _BREAKS_DATAFLOW
        yield problem
    for node in workflow.nodes:
        yield from _node(node, specs)
    if (extra := _forked(workflow)) is not None:
        yield extra
        return
    shape = analyse(workflow)
    if len(shape.back_edges) > MAX_LOOPS:
        message = f"{len(shape.back_edges)} edges close a loop, at most {MAX_LOOPS} are allowed"
        yield Problem(code="too_large", where=shape.back_edges[MAX_LOOPS].label, message=message)
        return
    yield from _reachability(workflow, shape)
    yield from _loops(shape)
    for fork in shape.forks:
        if fork.problem:
            yield Problem(code="bad_fork", where=fork.node, message=fork.problem)
    yield from _races(workflow, shape)
    if not breaks:
        yield from _dataflow(workflow, shape)


def _forked(workflow: Workflow) -> Problem | None:
    """What is wrong with a workflow that forks too often to be looked at further."""
    paths = 0
    for node in workflow.nodes:
        count = 0 if isinstance(node, Condition) else len(workflow.after(node.id))
        paths += count if count > 1 else 0
        if paths > MAX_FORKED:
            message = f"the workflow forks into more than {MAX_FORKED} paths; put some of them one after the other"
            return Problem(code="too_large", where=node.id, message=message)
    return None


_BREAKS_DATAFLOW = {"no_start", "many_starts", "duplicate_id"}


def _ids(workflow: Workflow) -> Iterator[Problem]:
    for name, count in Counter(node.id for node in workflow.nodes).items():
        if count > 1:
            yield Problem(code="duplicate_id", where=name, message=f"{count} nodes have this id; rename all but one")
    starts = [node for node in workflow.nodes if isinstance(node, Start)]
    if not starts:
        message = 'there is no start node; add {"id": "start", "kind": "start"}'
        yield Problem(code="no_start", where="workflow", message=message)
    for extra in starts[1:]:
        yield Problem(code="many_starts", where=extra.id, message="a second start node; remove it")
    if workflow.inputs.get("type") != "object":
        yield Problem(code="bad_inputs", where="inputs", message='the inputs schema needs "type": "object"')
    for name in workflow.input_names:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
            message = f"input {name!r} cannot be a variable; use ASCII letters, digits and _"
            yield Problem(code="bad_inputs", where="inputs", message=message)
    fields: dict[str, Any] = workflow.inputs.get("properties", {})
    for name, default in workflow.input_defaults.items():
        for problem in _literals(Literal_(value=default), fields[name], workflow.inputs.get("$defs")):
            yield Problem(code="bad_inputs", where="inputs", message=f"the default of input {name!r}: {problem}")


def _edges(workflow: Workflow) -> Iterator[Problem]:
    for edge in workflow.edges:
        for end in (edge.source, edge.target):
            if end not in workflow.by_id:
                message = f"there is no node {end!r}{_suggest(end, workflow.by_id)}; remove the edge or add the node"
                yield Problem(code="dangling_edge", where=edge.label, message=message)
    twice = Counter((edge.source, edge.target, edge.when) for edge in workflow.edges)
    for edge in workflow.edges:
        if twice[edge.source, edge.target, edge.when] > 1:
            yield Problem(code="bad_branch", where=edge.label, message="the edge stands twice; remove one")
    for node in workflow.nodes:
        yield from _out_edges(workflow, node)


def _out_edges(workflow: Workflow, node: Node) -> Iterator[Problem]:
    out = workflow.after(node.id)
    if isinstance(node, Condition):
        for arm in (True, False):
            count = sum(1 for edge in out if edge.when is arm)
            if count != 1:
                word = str(arm).lower()
                message = f"a condition has exactly one edge for {word}, this one has {count}"
                yield Problem(code="bad_branch", where=node.id, message=message)
        if any(edge.when is None for edge in out):
            message = "an edge out of a condition says when it is taken: true or false"
            yield Problem(code="bad_branch", where=node.id, message=message)
        return
    for edge in out:
        if edge.when is not None:
            message = f"only edges out of a condition have a 'when'; {node.id!r} is a {node.kind} node"
            yield Problem(code="bad_branch", where=edge.label, message=message)
    if isinstance(node, End):
        if out:
            yield Problem(code="end_left", where=node.id, message="nothing comes after an end; remove its out-edge")
    elif not out:
        message = "nothing comes after this node; add an edge to the next node or to an end"
        yield Problem(code="missing_edge", where=node.id, message=message)


def _ends(workflow: Workflow) -> Iterator[Problem]:
    if not any(isinstance(node, End) for node in workflow.nodes):
        message = 'there is no end node; add {"id": "end", "kind": "end", "output": {"var": ...}}'
        yield Problem(code="no_end", where="workflow", message=message)
    for edge in workflow.edges:
        if isinstance(workflow.by_id.get(edge.target), Start):
            yield Problem(code="start_entered", where=edge.label, message="no edge leads to the start; remove it")


def _reachability(workflow: Workflow, shape: Flow) -> Iterator[Problem]:
    if shape.start is None:
        return
    ends = any(isinstance(node, End) for node in workflow.nodes)
    for node in workflow.nodes:
        if node.id not in shape.reached:
            message = "the start does not lead here; add an edge to it or remove the node"
            yield Problem(code="dead_node", where=node.id, message=message)
        elif ends and node.id not in shape.leaving:
            message = "no path from here reaches an end; lead it to an end node"
            yield Problem(code="end_unreachable", where=node.id, message=message)


def _loops(shape: Flow) -> Iterator[Problem]:
    for edge in shape.irreducible:
        message = (
            "a jump into the middle of a loop; every way into a loop goes through the node that its back edge enters"
        )
        yield Problem(code="irreducible_loop", where=edge, message=message)
    for edge in shape.unbounded:
        message = "the loop has no way out: it must pass a condition of which one edge leaves it"
        yield Problem(code="unbounded_loop", where=edge, message=message)


def _races(workflow: Workflow, shape: Flow) -> Iterator[Problem]:
    for fork in shape.forks:
        effects = [_effects(workflow, path) for path in fork.paths]
        for index, (_, writes) in enumerate(effects):
            for other, (others_read, others_write) in enumerate(effects):
                if other == index:
                    continue
                for name in sorted(writes & (others_read | (others_write if other > index else frozenset()))):
                    message = (
                        f"forked paths {index + 1} and {other + 1} both use {name!r} and one writes it; "
                        "write another variable or put the paths one after the other"
                    )
                    yield Problem(code="race", where=fork.node, message=message)


def _effects(workflow: Workflow, path: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
    nodes = [workflow.by_id[name] for name in path if name in workflow.by_id]
    used = frozenset(name for node in nodes for name in node_reads(node))
    return used, frozenset(node.output for node in nodes if not isinstance(node, Start | Condition | End))


def node_reads(node: Node) -> frozenset[str]:
    """The variables that a node reads; what cannot be parsed reads nothing."""
    names = {name for binding in bindings(node) for name in reads(binding)}
    if isinstance(node, Condition | Assign) and node.expr is not None:
        names |= _names(node.expr)
    if isinstance(node, Map):
        inner: set[str] = set(reads(node.collect)) | (_names(node.where) if node.where else set())
        for step in node.body:
            inner |= node_reads(step)
        names |= inner - {node.item} - {step.output for step in node.body}
    return frozenset(names)


def _names(expr: str) -> set[str]:
    try:
        return set(expressions.names(expr))
    except expressions.ExpressionError:
        return set()


def _node(node: Node, specs: Mapping[str, ToolSpec]) -> Iterator[Problem]:
    match node:
        case ToolNode():
            yield from _tool(node, node.id, specs)
        case Condition(expr=expr) | Assign(expr=str(expr)):
            yield from _expression(node.id, expr)
        case Map(where=where, body=body):
            if where is not None:
                yield from _expression(node.id, where)
            for step in body:
                if isinstance(step, ToolNode):
                    yield from _tool(step, f"{node.id}.{step.id}", specs)
                elif step.expr is not None:
                    yield from _expression(f"{node.id}.{step.id}", step.expr)
            for name, count in Counter(step.id for step in body).items():
                if count > 1:
                    message = f"{count} steps of the body have this id; rename all but one"
                    yield Problem(code="duplicate_id", where=f"{node.id}.{name}", message=message)
        case LLMNode():
            yield from _prompt(node)
        case _:
            pass


def _expression(where: str, expr: str) -> Iterator[Problem]:
    try:
        expressions.parse(expr)
    except expressions.ExpressionError as error:
        yield Problem(code="bad_expression", where=where, message=f"expression {expr!r}: {error}")


def _prompt(node: LLMNode) -> Iterator[Problem]:
    try:
        parts = list(Formatter().parse(node.prompt))
    except ValueError as error:
        yield Problem(code="bad_prompt", where=node.id, message=f"the prompt cannot be filled in: {error}")
        return
    for _, name, spec, conversion in parts:
        if name is not None and (name not in node.args or spec or conversion):
            known = ", ".join(node.args) or "none given"
            message = f"the prompt's field {name!r} must be the plain name of an argument ({known})"
            yield Problem(code="bad_prompt", where=node.id, message=message)


def _tool(node: ToolNode, where: str, specs: Mapping[str, ToolSpec]) -> Iterator[Problem]:
    spec = specs.get(node.tool)
    if spec is None:
        message = f"there is no tool {node.tool!r}{_suggest(node.tool, specs)}"
        yield Problem(code="unknown_tool", where=where, message=message)
        return
    for name in spec.required:
        if name not in node.args:
            message = f"argument {name!r} of {spec.signature()} is missing"
            yield Problem(code="missing_argument", where=where, message=message)
    fields: dict[str, Any] = spec.parameters.get("properties", {})
    for name, binding in node.args.items():
        if name not in fields:
            if spec.parameters.get("additionalProperties", True) is False:
                message = f"{spec.signature()} has no argument {name!r}{_suggest(name, fields)}"
                yield Problem(code="unknown_argument", where=where, message=message)
            continue
        for problem in _literals(binding, fields[name], spec.parameters.get("$defs")):
            message = f"argument {name!r} of {spec.signature()}: {problem}"
            yield Problem(code="wrong_type", where=where, message=message)


def _literals(binding: Binding, schema: Any, definitions: Any) -> Iterator[str]:
    """What the literals inside a binding have against the schema of their place."""
    if definitions and isinstance(schema, dict):
        schema = {**cast(dict[str, Any], schema), "$defs": definitions}
    match binding:
        case Literal_(value=value):
            try:
                problem = validator(schema)(value)
            except SchemaError:
                return
            if problem is not None:
                yield problem
        case ListOf(list=parts):
            if (problem := _kind_problem("array", [], schema)) is not None:
                yield problem
            for part in parts:
                yield from _literals(part, _option(schema, "array", definitions).get("items", {}), definitions)
        case ObjectOf(object=fields):
            if (problem := _kind_problem("object", {}, schema)) is not None:
                yield problem
                return
            option = _option(schema, "object", definitions)
            yield from _keys(fields, option)
            rest = option.get("additionalProperties", {})
            for name, part in fields.items():
                of_field = option.get("properties", {}).get(name, rest if isinstance(rest, dict) else {})
                yield from _literals(part, of_field, definitions)
        case _:
            pass


def _keys(fields: Collection[str], schema: Any) -> Iterator[str]:
    """The keys that an object lacks, or must not have."""
    known: Collection[str] = schema.get("properties", ())
    for name in schema.get("required", ()):
        if name not in fields:
            yield f"field {name!r} is missing"
    if schema.get("additionalProperties", True) is False:
        for name in fields:
            if name not in known:
                yield f"field {name!r} is not known; known: {', '.join(known) or 'none'}"


def _option(schema: Any, kind: str, definitions: Any) -> Any:
    """The part of a schema that is about values of a kind: of several options the only one, else nothing."""
    schema = _referred(schema, definitions)
    options = [
        option
        for option in (_referred(option, definitions) for option in schema.get("anyOf", [schema]))
        if _kind_problem(kind, [] if kind == "array" else {}, option) is None
    ]
    return options[0] if len(options) == 1 else {}


def _referred(schema: Any, definitions: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a `$ref` points to; a chain of them ends after as many steps as there are definitions."""
    known = definitions or {}
    for _ in known:
        if isinstance(schema, dict) and "$ref" in schema:
            schema = known.get(str(cast(dict[str, Any], schema)["$ref"]).removeprefix("#/$defs/"), {})
    return cast(dict[str, Any], schema) if isinstance(schema, dict) else {}


def _kind_problem(kind: str, sample: Any, schema: Any) -> str | None:
    """What a schema has against every value of a kind."""
    wanted = schema.get("type", kind)
    if kind in ([wanted] if isinstance(wanted, str) else wanted):
        return None
    return validator({"type": wanted})(sample)


def _suggest(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def _dataflow(workflow: Workflow, shape: Flow) -> Iterator[Problem]:
    """Reads of variables that some path to the node has not set."""
    if shape.start is None:
        return
    defined = definitions(workflow, shape)
    for node in workflow.nodes:
        if node.id not in defined:
            continue
        scope = defined[node.id]
        own = frozenset(reads(node.over)) if isinstance(node, Map) else node_reads(node)
        for name in sorted(own - scope):
            known = ", ".join(sorted(scope)) or "none"
            message = f"variable {name!r} is not set on every path to this node; in scope: {known}"
            yield Problem(code="undefined_variable", where=node.id, message=message)
        if isinstance(node, Map):
            yield from _map_scope(node, scope)


def _map_scope(node: Map, scope: frozenset[str]) -> Iterator[Problem]:
    inner = set(scope) | {node.item}
    local = [node.item, *(step.output for step in node.body)]
    for name in local:
        if name in scope:
            message = f"{name!r} is a variable outside the map as well; give the one inside another name"
            yield Problem(code="shadowed_variable", where=node.id, message=message)
    if node.where and (missing := _names(node.where) - inner):
        message = f"variable {sorted(missing)[0]!r} in 'where' is not set; only {node.item!r} and outer variables are"
        yield Problem(code="undefined_variable", where=node.id, message=message)
    for step in node.body:
        for name in sorted(node_reads(step) - inner):
            known = ", ".join(sorted(inner))
            message = f"variable {name!r} is not set before this step; in scope: {known}"
            yield Problem(code="undefined_variable", where=f"{node.id}.{step.id}", message=message)
        inner.add(step.output)
    for name in sorted(set(reads(node.collect)) - inner):
        message = f"variable {name!r} in 'collect' is not set; in scope: {', '.join(sorted(inner))}"
        yield Problem(code="undefined_variable", where=node.id, message=message)


def definitions(workflow: Workflow, shape: Flow | None = None) -> dict[str, frozenset[str]]:
    """For each node that the start reaches, the variables that are set on every path to it."""
    shape = shape or analyse(workflow)
    if shape.start is None:
        return {}
    graph = shape.order
    initial = frozenset(workflow.bound_inputs)
    before: dict[str, frozenset[str] | None] = dict.fromkeys(shape.reached)
    before[shape.start] = frozenset()
    todo = [shape.start]
    while todo:
        name = todo.pop()
        entering = before[name]
        node = workflow.by_id[name]
        assert entering is not None
        leaving = entering | (initial if name == shape.start else _sets(node))
        for target in graph.successors(name):
            old = before[target]
            new = leaving if old is None else old & leaving
            if new != old:
                before[target] = new
                todo.append(target)
    return {name: scope for name, scope in before.items() if scope is not None}


def _sets(node: Node) -> frozenset[str]:
    return frozenset() if isinstance(node, Start | Condition | End) else frozenset({node.output})
