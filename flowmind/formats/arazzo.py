"""A workflow as an Arazzo description: steps that call the operations of its tools.

Arazzo (1.1; nothing beyond 1.0 is used) has calls, conditional jumps and expressions that name values, but no variables
and no computing. So a variable is wherever it was last set: an input, or an output of the step that set it. Where
several ways meet (behind a branch, at the head of a loop) each way ends with a step that hands the variables needed
from there on over to the tool server, `flowmind.cli.tool_server`, and one step takes them up again. A loop is a jump
back, and its rounds are counted there. What Arazzo cannot compute is an operation of that server, which computes the
node as an ordinary run does.

Every step goes on only on status 200 and by a criterion that held, or else to `stop`, which fails: a reader that
misunderstands a criterion comes to an error and not to an answer. No step reads an output of one that may not have run.
A step that runs again has to overwrite its outputs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.formats.criteria import criteria, kinds_of
from flowmind.formats.fidelity import Export, Fidelity, Note
from flowmind.workflow.checking import check, node_reads
from flowmind.workflow.document import (
    DEFAULT_BOUND,
    Assign,
    Binding,
    Condition,
    Edge,
    End,
    ListOf,
    Literal_,
    LLMNode,
    Map,
    Node,
    ObjectOf,
    Start,
    ToolNode,
    Var,
    Workflow,
)
from flowmind.workflow.graph import analyse, loop_nodes
from tools_registry.specs.schema import JSONSchema, SchemaError, validator
from tools_registry.specs.spec import ToolSpec

VERSION = "1.1.0"
SOURCE = "./tools.openapi.json"
"""Where the description looks for the OpenAPI document, seen from its own place."""
START, STOP, HAND_OVER, TAKE_UP, ANSWER = "flow-start", "flow-stop", "flow-hand-over", "flow-take-up", "flow-answer"
"""Operations of the tool server that are no tools; no tool can be named so, as a tool's name is an identifier."""
NODE = "node-"
"""`node-x` computes the node x."""

Template = Any
"""A JSON value in which runtime expressions stand for values."""
Step = dict[str, Any]
_END = ""
"""The place behind several ends, where their answers meet; no node is called so."""
_RESULT = "$response.body#/result"
_RUN = {"run": "$response.body#/run"}


@dataclass(frozen=True)
class Plan:
    """The steps of a workflow, and what is needed to run them."""

    steps: tuple[Step, ...]
    answer: str
    """The runtime expression of the answer."""
    computed: tuple[str, ...]
    """The nodes that are operations of the tool server."""
    operations: frozenset[str]
    """All operations that the steps call."""
    fidelity: Fidelity


def to_arazzo(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Export:
    """A workflow as an Arazzo description, JSON text, beside the OpenAPI document that `to_openapi` writes.

    Args:
        workflow: A workflow that passes `check`; tools without a spec are allowed.
        specs: The tools that are known.

    Raises:
        InputError: If the workflow does not pass `check`.
    """
    planned = plan(workflow, specs)
    about = {"summary": workflow.description.partition("\n")[0]} if workflow.description else {}
    written: dict[str, Any] = {
        "arazzo": VERSION,
        "info": {"title": workflow.name, **about, "version": "1.0.0"},
        "sourceDescriptions": [{"name": "tools", "url": SOURCE, "type": "openapi"}],
        "workflows": [
            {
                "workflowId": workflow_id(workflow),
                **({"description": workflow.description} if workflow.description else {}),
                "inputs": workflow.inputs,
                "steps": list(planned.steps),
                "outputs": {"answer": planned.answer},
            }
        ],
    }
    return Export(dump_json(written, indent=1) + "\n", planned.fidelity)


def workflow_id(workflow: Workflow) -> str:
    """The id of the only workflow in a description."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", workflow.name).strip("-") or "workflow"


def plan(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Plan:
    """The steps of a workflow.

    Raises:
        InputError: If the workflow does not pass `check`; unknown tools are no hindrance.
    """
    problems = [problem for problem in check(workflow, specs) if problem.code != "unknown_tool"]
    if problems:
        raise InputError(f"only a workflow that passes check can be written as Arazzo: {problems[0]}")
    return _Planner(workflow, specs).plan()


@dataclass(frozen=True)
class _Place:
    """Where a value is: an input, or an output of a step."""

    expression: str
    """As a runtime expression."""
    step: Step
    """The step that gives it; the start for an input."""
    source: str
    """What of the response it is."""


Env = dict[str, "_Place | Literal_"]


@dataclass(frozen=True)
class _Ahead:
    """A node to come to from a step."""

    name: str
    env: Env
    source: str | None
    """The node before it; None where the step has taken up what was handed over to that node."""
    criteria: tuple[str, ...] = ()


class _Unsaid(Exception):
    """A binding that Arazzo cannot say."""


class _Planner:
    def __init__(self, workflow: Workflow, specs: Mapping[str, ToolSpec]) -> None:
        self.workflow = workflow
        self.specs = specs
        self.flow = analyse(workflow)
        self.order = self.flow.order
        self.back = {(edge.source, edge.target): edge for edge in self.flow.back_edges}
        self.live = _live(workflow, self.order)
        self.schemas = _schemas(workflow, specs)
        self.kinds = kinds_of(workflow, specs)
        self.meets = self.meeting_places()
        self.ends = [node.id for node in workflow.nodes if isinstance(node, End)]
        self.steps: list[Step] = []
        self.names: set[str] = {"stop"}
        self.meetings: dict[str, Step] = {}
        self.computed: dict[str, str] = {}
        self.kept: dict[str, None] = {}
        self.answer = ""
        self.todo: list[tuple[Step, list[_Ahead]]] = []

    def plan(self) -> Plan:
        assert self.flow.start is not None
        required: list[str] = self.workflow.inputs.get("required", [])
        names = [name for name in self.workflow.input_names if name in required]
        begin = self.step(self.flow.start, START, {name: f"$inputs.{name}" for name in names}, dict(_RUN))
        self.run = self.expression(begin, "run")
        env: Env = {name: _Place(f"$inputs.{name}", begin, f"$response.body#/inputs/{name}") for name in names}
        self.kept[self.flow.start] = None
        self.later(begin, [self.ahead(self.flow.start, env)])
        while self.todo:
            step, ahead = self.todo.pop()
            self.steps.append(step)
            if ahead:
                step["onSuccess"] = self.actions(ahead)
        self.steps.append({**self.bare("stop", STOP, {}), "description": "No way leads on from here: the run failed."})
        _leave_out_the_obvious(self.steps)
        operations = frozenset(step["operationId"] for step in self.steps)
        return Plan(tuple(self.steps), self.answer, tuple(self.computed), operations, self.fidelity())

    def fidelity(self) -> Fidelity:
        notes = [Note(part=name, note=note) for name, note in self.computed.items()]
        meets = "several ways meet here: the variables pass through operations of the tool server"
        notes += [Note(part=name, note=meets) for name in self.meetings if name != _END]
        ends = "one of several ends: the answer passes through operations of the tool server"
        notes += [Note(part=name, note=ends) for name in self.ends if len(self.ends) > 1]
        for edge in self.flow.back_edges:
            notes.append(Note(part=edge.label, note="a jump back; the tool server counts the rounds"))
        approximated = {note.part for note in notes}
        kept = [node.id for node in self.workflow.nodes if node.id in self.kept and node.id not in approximated]
        return Fidelity(kept=tuple(kept), approximated=tuple(notes))

    # Steps

    def step(self, name: str, operation: str, payload: Template, outputs: dict[str, str]) -> Step:
        """A step with an id of its own."""
        wanted = re.sub(r"[^A-Za-z0-9_]", "_", name)
        unique, count = wanted, 1
        while unique in self.names:
            count += 1
            unique = f"{wanted}_{count}"
        self.names.add(unique)
        return {**self.bare(unique, operation, payload), **({"outputs": outputs} if outputs else {})}

    def bare(self, name: str, operation: str, payload: Template) -> Step:
        return {
            "stepId": name,
            "operationId": operation,
            "requestBody": {"contentType": "application/json", "payload": payload},
            "successCriteria": [{"condition": "$statusCode == 200"}],
        }

    def expression(self, step: Step, output: str) -> str:
        return f"$steps.{step['stepId']}.outputs.{output}"

    def place(self, step: Step, output: str, source: str = _RESULT) -> _Place:
        return _Place(self.expression(step, output), step, source)

    def later(self, step: Step, ahead: list[_Ahead], last: bool = False) -> None:
        """Notes a step whose actions are still to be written; the last noted comes next, unless it is to come last."""
        self.todo.insert(0 if last else len(self.todo), (step, ahead))

    # Ways on

    def meeting_places(self) -> frozenset[str]:
        """The nodes that several ways lead to, and what stands for the place behind several ends."""
        ways = Counter(target for _, target in self.order.edges)
        for node in self.workflow.nodes:
            if isinstance(node, Condition):
                true, false = self.arms(node, {}, (), ())
                ways[true.name] += true.name == false.name
        return frozenset({_END, *(name for name, count in ways.items() if count > 1)})

    def ahead(self, name: str, env: Env, criteria: tuple[str, ...] = ()) -> _Ahead:
        """What comes after a node that is no condition."""
        (target,) = self.order.successors(name)
        return _Ahead(target, env, name, criteria)

    def arms(self, node: Condition, env: Env, true: tuple[str, ...], false: tuple[str, ...]) -> list[_Ahead]:
        """What comes after a condition, by what must hold."""
        found: list[_Ahead] = []
        for edge in sorted(self.workflow.after(node.id), key=lambda edge: not edge.when):
            target = edge.target
            if (node.id, target) not in self.back:
                target = self.flow.jumps.get((node.id, target), target)
            found.append(_Ahead(target, env, node.id, true if edge.when else false))
        return found

    def actions(self, ahead: list[_Ahead]) -> list[dict[str, Any]]:
        """Where a step goes on to. What Arazzo says without a call is passed on the way."""
        found: list[dict[str, Any]] = []
        made: list[tuple[Step, list[_Ahead]]] = []
        todo = list(reversed(ahead))
        while todo:
            one = todo.pop()
            if one.source is not None and one.name in self.meets:
                found.append(_goto(self.handed_over(one), one.criteria))
                continue
            node = self.workflow.by_id[one.name]
            if (passed := self.passed(node, one)) is not None:
                todo += reversed(passed)
                continue
            if isinstance(node, End) and self.ended(node, one.env):
                found.append(_action("end", {"type": "end"}, one.criteria))
                continue
            following, after = self.called(node, one.env)
            made.append((following, after))
            found.append(_goto(following, one.criteria))
        for following, after in reversed(made):
            self.later(following, after)
        if any("criteria" in action for action in found):
            found.append(_action("to_stop", {"type": "goto", "stepId": "stop"}, ()))
        return found

    def passed(self, node: Node, one: _Ahead) -> list[_Ahead] | None:
        """What comes after a node that needs no call; None for one that does."""
        if isinstance(node, Assign):
            match node.value:
                case Var(var=name, path=()):
                    value = one.env[name]
                case Literal_(value=value) if _plain(value):
                    value = node.value
                case _:
                    return None
            self.kept[node.id] = None
            return [self.ahead(node.id, {**one.env, node.output: value}, one.criteria)]
        if isinstance(node, Condition):
            known = {name: one.env[name] for name in node_reads(node)}
            said = {name: _value(place) for name, place in known.items()}
            if not all(criteria(node.expr, self.kinds, said, holds) for holds in (True, False)):
                return None
            facts = {name: self.fact(name, place) for name, place in known.items()}
            true, false = (criteria(node.expr, self.kinds, facts, holds) for holds in (True, False))
            self.kept[node.id] = None
            return self.arms(node, one.env, (*one.criteria, *true), (*one.criteria, *false))
        return None

    def ended(self, node: End, env: Env) -> bool:
        """Whether the answer of the only end is an expression, and needs no call."""
        value = env[node.output.var] if isinstance(node.output, Var) and not node.output.path else None
        if len(self.ends) > 1 or not isinstance(value, _Place):
            return False
        self.kept[node.id] = None
        self.answer = value.expression
        return True

    def called(self, node: Node, env: Env) -> tuple[Step, list[_Ahead]]:
        """The step of a node, and what comes after it."""
        if isinstance(node, End):
            return self.called_end(node, env)
        if isinstance(node, Condition):
            step = self.computing(node, env, "holds", "Arazzo cannot evaluate the expression")
            held = self.expression(step, "holds")
            return step, self.arms(node, env, (f"{held} == true",), (f"{held} == false",))
        assert not isinstance(node, Start)
        step = self.calling(node, env) if isinstance(node, ToolNode) else None
        step = step or self.computing(node, env, node.output, self.why(node))
        return step, [self.ahead(node.id, {**env, node.output: self.place(step, node.output)})]

    def called_end(self, node: End, env: Env) -> tuple[Step, list[_Ahead]]:
        try:
            step = self.step(node.id, ANSWER, {"answer": self.said(node.output, env)}, {"answer": _RESULT})
            self.kept[node.id] = None
        except _Unsaid as unsaid:
            step = self.computing(node, env, "answer", str(unsaid))
        if len(self.ends) == 1:
            self.answer = self.expression(step, "answer")
            step["onSuccess"] = [_action("end", {"type": "end"}, ())]
            return step, []
        answer: Env = {"answer": self.place(step, "answer")}
        return step, [_Ahead(_END, answer, node.id)]

    def calling(self, node: ToolNode, env: Env) -> Step | None:
        """The call of a tool; None if Arazzo cannot say its arguments."""
        spec = self.specs.get(node.tool)
        parameters: JSONSchema = spec.parameters if spec else {}
        fields: dict[str, JSONSchema] = parameters.get("properties", {})
        definitions: dict[str, JSONSchema] = parameters.get("$defs", {})
        try:
            payload = {
                name: self.argument(binding, env, {**fields.get(name, {}), "$defs": definitions})
                for name, binding in node.args.items()
            }
        except _Unsaid as unsaid:
            self.computed[node.id] = f"computed by an operation of the tool server: {unsaid}"
            return None
        self.kept[node.id] = None
        return self.step(node.id, node.tool, payload, {node.output: _RESULT})

    def computing(self, node: Node, env: Env, output: str, why: str) -> Step:
        """The operation that computes a node."""
        self.computed.setdefault(node.id, f"computed by an operation of the tool server: {why}")
        payload = {name: _value(env[name]) for name in sorted(node_reads(node))}
        return self.step(node.id, f"{NODE}{node.id}", payload, {output: _RESULT})

    def why(self, node: Assign | Map | LLMNode | ToolNode) -> str:
        match node:
            case Map():
                return "Arazzo has no calls over a list"
            case LLMNode():
                return "it asks a language model, which that server must have"
            case Assign(expr=str()):
                return "Arazzo computes nothing"
            case _:
                return "Arazzo cannot say the value exactly"

    # Meetings

    def handed_over(self, one: _Ahead) -> Step:
        """The step that hands the variables over on one way to a meeting."""
        values = {name: _value(one.env[name]) for name in self.live[one.name]}
        payload: dict[str, Any] = {"run": self.run, "values": values}
        edge = self.back.get((one.source or "", one.name))
        afresh = [other.label for other in self.flow.back_edges if other.target == one.name]
        if edge is not None:
            payload["again"] = {"loop": edge.label, "bound": edge.bound or DEFAULT_BOUND}
            afresh = [other.label for other in self.inside(edge)]
        if afresh:
            payload["afresh"] = afresh
        step = self.step(f"{one.source}_to_{one.name or 'end'}", HAND_OVER, payload, {})
        step["onSuccess"] = [_goto(self.meeting(one.name), ())]
        self.steps.append(step)
        return step

    def inside(self, edge: Edge) -> list[Edge]:
        """The loops with the same head that lie inside a loop: each of its rounds counts them anew."""
        nodes = loop_nodes(self.order, edge)
        shared = [other for other in self.flow.back_edges if other.target == edge.target and other != edge]
        return [other for other in shared if loop_nodes(self.order, other) < nodes]

    def meeting(self, name: str) -> Step:
        """The step that takes up what was handed over where several ways meet."""
        if name not in self.meetings:
            outputs = {variable: f"$response.body#/values/{variable}" for variable in self.live[name]}
            step = self.step(f"at_{name or 'end'}", TAKE_UP, {"run": self.run}, outputs)
            env: Env = {variable: self.place(step, variable, outputs[variable]) for variable in outputs}
            self.meetings[name] = step
            if name == _END:
                self.answer = self.expression(step, "answer")
                step["onSuccess"] = [_action("end", {"type": "end"}, ())]
            ahead = [] if name == _END else [_Ahead(name, env, None)]
            self.later(step, ahead, last=True)
        return self.meetings[name]

    # Values

    def argument(self, binding: Binding, env: Env, schema: JSONSchema) -> Template:
        """An argument of a tool. What is missing at a path is null, so the tool must refuse null."""
        if not isinstance(binding, Var) or not binding.path:
            return self.said(binding, env)
        if not _refuses_null(schema):
            raise _Unsaid("what is missing at a path would be null, and the tool takes null")
        place = env[binding.var]
        if isinstance(place, Literal_):
            raise _Unsaid("a path into a constant")
        pointer = _pointer(binding.path, self.schemas.get(binding.var, {}))
        return self.expression(place.step, _output(place.step, binding, place.source + pointer))

    def fact(self, name: str, place: _Place | Literal_) -> Template:
        """A variable for a criterion: not every reader has the inputs there."""
        if isinstance(place, Literal_):
            return place.value
        return self.expression(place.step, _output(place.step, Var(var=name), place.source))

    def said(self, binding: Binding, env: Env) -> Template:
        match binding:
            case Var(var=name, path=()):
                return _value(env[name])
            case Var():
                raise _Unsaid("what is missing at a path would be null")
            case Literal_(value=value):
                if not _plain(value):
                    raise _Unsaid("a text with $ in it reads as an expression")
                return value
            case ListOf(list=parts):
                return [self.said(part, env) for part in parts]
            case ObjectOf(object=fields):
                return {name: self.said(part, env) for name, part in fields.items()}


def _goto(step: Step, criteria: tuple[str, ...]) -> dict[str, Any]:
    return _action(f"to_{step['stepId']}", {"type": "goto", "stepId": step["stepId"]}, criteria)


def _action(name: str, what: dict[str, Any], criteria: tuple[str, ...]) -> dict[str, Any]:
    held = {"criteria": [{"condition": criterion} for criterion in dict.fromkeys(criteria)]} if criteria else {}
    return {"name": name, **what, **held}


def _leave_out_the_obvious(steps: list[Step]) -> None:
    """A step without actions goes on with the next one."""
    for step, following in pairwise(steps):
        match step.get("onSuccess"):
            case [{"type": "goto", "stepId": target, **rest}] if (
                target == following["stepId"] and "criteria" not in rest
            ):
                del step["onSuccess"]
            case _:
                pass


def _value(place: _Place | Literal_) -> Template:
    return place.value if isinstance(place, Literal_) else place.expression


def _plain(value: Any) -> bool:
    """Whether nothing in a constant reads as a runtime expression."""
    match value:
        case str():
            return not value.startswith("$") and "{$" not in value
        case list():
            return all(map(_plain, cast(list[Any], value)))
        case dict():
            return all(map(_plain, cast(dict[str, Any], value).values()))
        case _:
            return True


def _pointer(path: tuple[str | int, ...], schema: JSONSchema) -> str:
    """A path as a JSON Pointer, which does not tell an index from a key of digits: the schema has to."""
    made = ""
    for part in path:
        if isinstance(part, int):
            if part < 0:
                raise _Unsaid("an index counted from the end")
            if schema.get("type") != "array":
                raise _Unsaid("an index into what is not known to be a list")
            schema = schema.get("items", {})
        else:
            if part.isdigit() or part == "-":
                raise _Unsaid("a key that reads as an index")
            schema = schema.get("properties", {}).get(part, {})
        made += "/" + str(part).replace("~", "~0").replace("/", "~1")
    return made


def _output(step: Step, binding: Var, source: str) -> str:
    """The output of a step that holds what is at a path, made if it is not there."""
    outputs: dict[str, str] = step["outputs"]
    for name, known in outputs.items():
        if known == source:
            return name
    name = re.sub(r"[^A-Za-z0-9_]", "_", "_".join(map(str, (binding.var, *binding.path))))
    while name in outputs:
        name += "_"
    outputs[name] = source
    return name


def _refuses_null(schema: JSONSchema) -> bool:
    try:
        return validator(schema)(None) is not None
    except SchemaError:
        return False


def _live(workflow: Workflow, order: Any) -> dict[str, list[str]]:
    """For each node, the variables whose values matter when it is come to."""
    live: dict[str, frozenset[str]] = {name: frozenset() for name in order}
    todo = list(order)
    while todo:
        name = todo.pop()
        node = workflow.by_id[name]
        after = frozenset[str]().union(*(live[target] for target in order.successors(name)))
        written = frozenset[str]() if isinstance(node, Start | Condition | End) else frozenset({node.output})
        now = (after - written) | node_reads(node)
        if now != live[name]:
            live[name] = now
            todo += order.predecessors(name)
    return {**{name: sorted(names) for name, names in live.items()}, _END: ["answer"]}


def _schemas(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> dict[str, JSONSchema]:
    """What is known of each variable that is set in one place only."""
    found: dict[str, list[JSONSchema]] = {
        name: [schema] for name, schema in workflow.inputs.get("properties", {}).items()
    }
    for node in workflow.nodes:
        match node:
            case ToolNode(tool=tool, output=output):
                found.setdefault(output, []).append(specs[tool].returns if tool in specs else {})
            case Start() | Condition() | End():
                pass
            case _:
                found.setdefault(node.output, []).append({})
    return {name: schemas[0] for name, schemas in found.items() if len(schemas) == 1}
