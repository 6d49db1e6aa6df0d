"""Guesses in a workflow: constants that no input, no tool result and no text accounts for."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from flowmind.base.files import dump_json
from flowmind.build.verification.inputs import is_number
from flowmind.trace.constants import Text, read_text
from flowmind.trace.events import Trace
from flowmind.trace.origins import UNSOURCED, short
from flowmind.trace.task import Example, Task
from flowmind.workflow.document import (
    Assign,
    Binding,
    Condition,
    End,
    ListOf,
    Literal_,
    Map,
    ObjectOf,
    ToolNode,
    Var,
    Workflow,
)
from flowmind.workflow.graph import Digraph
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import ToolSpec
from tools_registry.words import with_words

SHOWN = 2
"""From this number of traces or examples on, a constant is no guess."""
ALLOW = 'Name the value in the task, or mark the tool with @tool(effect="read") if it changes nothing'
"""The advice if a tool that may change something would get a guess."""


def unsupported(
    workflow: Workflow,
    specs: Mapping[str, ToolSpec],
    query: str,
    traces: Sequence[Trace],
    examples: Sequence[Example],
) -> tuple[str, ...]:
    """A line for each guess that a workflow may not have.

    Args:
        workflow: The workflow.
        specs: Its tools.
        query: The task's text.
        traces: The executions that the workflow comes from.
        examples: The task's examples.
    """
    cases = [case.input for case in examples] + [trace.inputs for trace in traces]
    guesses = (*passed_guesses(workflow, specs, query, traces), *guessed_conditions(workflow, specs, query, cases))
    answer = constant_answer(workflow, query, examples)
    listed = memorised(workflow, query, cases)
    return (*(f"{line}. {ALLOW}" for line in guesses), *listed, *([answer] if answer else []))


def passed_guesses(
    workflow: Workflow, specs: Mapping[str, ToolSpec], query: str, traces: Sequence[Trace]
) -> tuple[str, ...]:
    """A line for each constant that a tool which may change something would get, and that is a guess.

    A constant of the workflow is a guess if the text does not name it and only one trace passes it to this argument. A
    number in an expression is a guess if the text does not name it. Truth values, empty texts, 0 and 1 are none.

    Args:
        workflow: The workflow.
        specs: Its tools; those that are marked `read` may get guesses.
        query: The task's text.
        traces: The executions that the workflow comes from.
    """
    reading = read_text(query)
    lines: dict[str, None] = {}
    for node in _calls(workflow):
        if node.tool not in specs or specs[node.tool].effect == "read":
            continue
        for name, binding in node.args.items():
            for constant, computed in _constants(workflow, binding):
                shown = not computed and _traces_with(constant, node.tool, name, traces) >= SHOWN
                if not shown and not is_named(constant, reading):
                    lines[f"{node.tool}, {name}: {short(constant)} {UNSOURCED}"] = None
    return tuple(lines)


def guessed_conditions(
    workflow: Workflow, specs: Mapping[str, ToolSpec], query: str, cases: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    """A line for each condition that knows a case by its input and decides about a call that may change something.

    Such a condition compares an input with a text that the task does not name and that only one case has: any other
    input takes the other way.

    Args:
        workflow: The workflow.
        specs: Its tools; those that are marked `read` may be called on a guess.
        query: The task's text.
        cases: The inputs of its traces and examples.
    """
    specs = with_words(specs, workflow.tool_names)
    reading, graph = read_text(query), Digraph(edges=((edge.source, edge.target) for edge in workflow.edges))
    changing = {node.id for node in workflow.nodes if any(specs[name].effect != "read" for name in _tools_of(node))}
    lines: list[str] = []
    for node in workflow.nodes:
        if not isinstance(node, Condition):
            continue
        ways = [changing & _reached(graph, edge.target) for edge in workflow.edges if edge.source == node.id]
        if all(way == ways[0] for way in ways):
            continue
        for source, text in _texts_of_inputs(workflow, node.expr):
            if not is_named(text, reading) and _cases_with(source, text, cases) < SHOWN:
                lines.append(f"{node.id}: {source} == {text!r} holds for one case only, and decides about a call")
                break
    return tuple(lines)


def constant_answer(workflow: Workflow, query: str, examples: Sequence[Example]) -> str:
    """A line if the workflow has the same constant as its answer to every input, and at most one example shows it.

    Empty if the answer depends on something, if the text names it, or if it is a truth value, an empty text, 0 or 1.
    """
    outputs: list[Any] = []
    for node in workflow.nodes:
        if isinstance(node, End):
            constants = _answers(workflow, node.output)
            if constants is None:
                return ""
            outputs += constants
    if not outputs or not all(json_equal(outputs[0], output) for output in outputs):
        return ""
    shown = sum(json_equal(example.output, outputs[0]) for example in examples)
    if shown >= SHOWN or is_named(outputs[0], read_text(query)):
        return ""
    return f"the answer is {short(outputs[0])} for every input: it {UNSOURCED}"


def _tools_of(node: object) -> list[str]:
    steps = node.body if isinstance(node, Map) else [node]
    return [step.tool for step in steps if isinstance(step, ToolNode)]


def _reached(graph: Digraph, start: str) -> set[str]:
    reached, waiting = {start}, [start]
    while waiting:
        for target in graph.successors(waiting.pop()):
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def memorised(workflow: Workflow, query: str, cases: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """A line for each expression that lists cases by their inputs.

    It compares inputs with several texts that the task does not name and that one case has each.
    """
    text = read_text(query)
    lines: list[str] = []
    for node in workflow.every_node:
        expr = getattr(node, "expr", None)
        compared = dict.fromkeys(_texts_of_inputs(workflow, expr)) if expr else {}
        unnamed = [(name, value) for name, value in compared if not is_named(value, text)]
        single = [value for name, value in unnamed if _cases_with(name, value, cases) == 1]
        if len(single) >= SHOWN:
            lines.append(f"{node.id}: it lists inputs of the traces: {', '.join(map(repr, single))}")
    return tuple(lines)


def _texts_of_inputs(workflow: Workflow, expr: str) -> Iterator[tuple[str, str]]:
    """The inputs that an expression compares with a text, each with the text."""
    for node in ast.walk(ast.parse(expr, mode="eval")):
        match node:
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant() as one]):
                parts: list[ast.expr] = [one]
            case ast.Compare(left=ast.Name(id=name), comparators=[ast.List(elts=parts) | ast.Tuple(elts=parts)]):
                pass
            case _:
                continue
        values = [part.value for part in parts if isinstance(part, ast.Constant)]
        if name in workflow.bound_inputs:
            yield from ((name, value) for value in values if isinstance(value, str))


def _cases_with(name: str, text: str, cases: Sequence[Mapping[str, Any]]) -> int:
    """The number of different cases with a text as an input."""
    return len({json.dumps(case, sort_keys=True) for case in cases if case.get(name) == text})


def _calls(workflow: Workflow) -> Iterator[ToolNode]:
    for node in workflow.nodes:
        if isinstance(node, ToolNode):
            yield node
        elif isinstance(node, Map):
            yield from (step for step in node.body if isinstance(step, ToolNode))


def _constants(workflow: Workflow, binding: Binding) -> Iterator[tuple[Any, bool]]:
    """The constants that may reach a binding, each with whether an expression computes with it."""
    yield from ((constant, False) for constant in constants_in(binding))
    for node in _assignments(workflow, binding):
        if node.value is not None:
            yield from ((constant, False) for constant in constants_in(node.value))
        elif node.expr is not None:
            yield from _numbers(node.expr)


def _numbers(expr: str) -> Iterator[tuple[Any, bool]]:
    """The numbers that an expression computes with; an expression that is a constant is no computation."""
    tree = ast.parse(expr, mode="eval").body
    if isinstance(tree, ast.Constant):
        yield tree.value, False
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and is_number(node.value):
            yield node.value, True


def _assignments(workflow: Workflow, binding: Binding) -> list[Assign]:
    """The nodes that set a variable which the binding is."""
    if not isinstance(binding, Var):
        return []
    return [node for node in workflow.nodes if isinstance(node, Assign) and node.output == binding.var]


def _answers(workflow: Workflow, binding: Binding) -> list[Any] | None:
    """The constants that an answer may be; None if it may be something else."""
    if isinstance(binding, Literal_):
        return [binding.value]
    if not isinstance(binding, Var) or binding.path or binding.var in workflow.bound_inputs:
        return None
    if any(getattr(node, "output", None) == binding.var and not isinstance(node, Assign) for node in workflow.nodes):
        return None
    constants: list[Any] = []
    for node in _assignments(workflow, binding):
        if not isinstance(node.value, Literal_):
            return None
        constants.append(node.value.value)
    return constants or None


def _traces_with(constant: Any, tool: str, name: str, traces: Sequence[Trace]) -> int:
    """The number of different inputs with a successful call that passes a constant, or a value with it, to an
    argument."""
    having: set[str] = set()
    for trace in traces:
        for step in trace.calls:
            if step.call.tool == tool and step.observation.ok and _contains(step.call.args.get(name), constant):
                having.add(json.dumps(trace.inputs, sort_keys=True))
    return len(having)


def _contains(value: Any, part: Any) -> bool:
    if json_equal(value, part):
        return True
    if isinstance(value, dict):
        return any(_contains(inner, part) for inner in cast(dict[str, Any], value).values())
    return isinstance(value, list) and any(_contains(inner, part) for inner in cast(list[Any], value))


def constants_in(binding: Binding) -> list[Any]:
    """The constants in a binding."""
    match binding:
        case Literal_(value=value):
            return [value]
        case Var():
            return []
        case ListOf(list=parts):
            return [constant for part in parts for constant in constants_in(part)]
        case ObjectOf(object=fields):
            return [constant for part in fields.values() for constant in constants_in(part)]


def is_named(value: Any, text: Text) -> bool:
    """Whether the text names a constant and all its parts, or it is too common to be a guess."""
    if isinstance(value, list | dict):
        parts = cast(dict[str, Any], value).values() if isinstance(value, dict) else cast(list[Any], value)
        return all(is_named(part, text) for part in parts)
    common = value is None or isinstance(value, bool) or value in (0, 1, "")
    return (
        common
        or text.names(value)
        or (isinstance(value, str) and len(value) > 2 and value.lower() in text.text.lower())
    )


# Leaks


def leaks(workflow: Workflow, task: Task) -> tuple[str, ...]:
    """The constants of a workflow that equal a value of an example's input, and that the task does not name.

    An argument may not equal a whole input of any example. A condition, an assignment or an answer may not have a text
    or a number that stands in the inputs of one example only, unless it is a limit. Truth values and the numbers 0, 1
    and 2 are too common to tell.
    """
    text = read_text(task.query)
    whole = [value for example in task.examples for value in example.input.values()]
    parts = [_parts(example.input) for example in task.examples]
    lines: dict[str, None] = {}
    for place, constant, argument in _used(workflow):
        if constant is None or isinstance(constant, bool) or constant in (0, 1, 2, "") or is_named(constant, text):
            continue
        found = any(json_equal(constant, value) for value in whole) if argument else False
        plain = isinstance(constant, str | int | float)
        if found or (not argument and plain and sum(constant in part for part in parts) == 1 < len(parts)):
            lines[f"{place}: {dump_json(constant)}"] = None
    return tuple(lines)


def _parts(value: Any) -> set[Any]:
    """The texts and numbers in a value."""
    if isinstance(value, dict):
        return set[Any]().union(*map(_parts, cast(dict[str, Any], value).values()))
    if isinstance(value, list):
        return set[Any]().union(*map(_parts, cast(list[Any], value)))
    return {value} if isinstance(value, str | int | float) and not isinstance(value, bool) else set()


def _used(workflow: Workflow) -> Iterator[tuple[str, Any, bool]]:
    """The constants of a workflow, each with its place and whether it is a whole argument."""
    for node in workflow.nodes:
        steps = [(f"{node.id}.{step.id}", step) for step in node.body] if isinstance(node, Map) else [(node.id, node)]
        for id, step in steps:
            match step:
                case ToolNode(args=args):
                    for name, binding in args.items():
                        if isinstance(binding, Literal_):
                            yield f"{id}.{name}", binding.value, True
                        else:
                            yield from ((f"{id}.{name}", constant, False) for constant in constants_in(binding))
                case Condition(expr=expr):
                    yield from ((id, constant, False) for constant in _constants_of(expr))
                case Assign(expr=expr, value=value):
                    if value is not None:
                        yield from ((id, constant, False) for constant in constants_in(value))
                    yield from ((id, constant, False) for constant in (_constants_of(expr) if expr else ()))
                case End(output=output):
                    yield from ((id, constant, False) for constant in constants_in(output))
                case _:
                    pass
        if isinstance(node, Map) and node.where:
            yield from ((f"{node.id}.where", constant, False) for constant in _constants_of(node.where))


_ORDER = ast.Lt | ast.LtE | ast.Gt | ast.GtE


def _constants_of(expr: str) -> list[Any]:
    """The texts and numbers in an expression, without keys and limits."""
    tree = ast.parse(expr, mode="eval")
    left_out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            left_out.add(id(node.slice))
        elif isinstance(node, ast.Compare) and any(isinstance(op, _ORDER) for op in node.ops):
            left_out |= {id(part) for part in (node.left, *node.comparators)}
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in left_out]
