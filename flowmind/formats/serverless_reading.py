"""Reads tasks of the Serverless Workflow DSL, written here or elsewhere."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

from flowmind.base.errors import InputError
from flowmind.base.files import validate
from flowmind.formats.jq import NoJq, from_jq, read_place
from flowmind.formats.serverless_tasks import MARK, OWN_CALLS, Task, TaskWriter, kinds_of, named, same
from flowmind.workflow import expressions
from flowmind.workflow.document import (
    Assign,
    Binding,
    Condition,
    Edge,
    End,
    ListOf,
    Literal_,
    Node,
    ObjectOf,
    Start,
    ToolNode,
    Var,
    Workflow,
    reads,
)
from tools_registry.specs.schema import SchemaError, check_schema
from tools_registry.specs.spec import Record

_EXPRESSION = re.compile(r"\s*\$\{(.*)\}\s*", re.DOTALL)
_KEEP = re.compile(r"\s*\$context\s*\+\s*\{\s*\"?([A-Za-z][A-Za-z0-9_]*)\"?\s*:\s*\.\s*\}\s*")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class _One(Record):
    """A workflow of one node, as far as its fields are concerned."""

    node: Node


class TaskReader:
    """Reads tasks one by one: by their metadata where these still fit, else by what they do."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        head = self.table(document["document"], "document")
        if not str(head.get("dsl", "")).startswith("1."):
            raise InputError(f"document/dsl: {head.get('dsl')!r}; version 1 of the DSL is read, such as '1.0.0'")
        self.keys(document, "line 1", {"document", "input", "do"})
        given = self.table(document.get("input", {}), "input")
        self.keys(given, "input", {"schema"})
        schema = self.table(given.get("schema", {}), "input/schema")
        self.keys(schema, "input/schema", {"document", "format"})
        self.inputs = self.table(schema.get("document", {"type": "object"}), "input/schema/document")
        metadata = head.get("metadata")
        about = cast(dict[str, Any], metadata).get(MARK) if isinstance(metadata, dict) else None
        self.about = cast(dict[str, Any], about) if isinstance(about, dict) else {}
        self.title, self.summary = self.naming(head)
        self.tasks = self.task_list(document["do"], "do")
        try:
            check_schema(self.inputs)
        except SchemaError as error:
            raise InputError(f"input/schema/document: {error}") from None
        noted = tuple(node for _, task in self.tasks if (node := self.noted(task)) is not None)
        self.kinds = kinds_of(Workflow(inputs=self.inputs, nodes=noted))
        self.nodes: list[Node] = []
        self.edges: list[dict[str, Any]] = []
        self.entry: dict[str, str] = {}
        self.ways: list[tuple[str, bool | None, str, str]] = []
        """Node, arm, place and directive of each way out."""
        self.shown_inputs: list[str] = []

    def naming(self, head: dict[str, Any]) -> tuple[str, str]:
        """Name and description: those of the metadata where title and summary still are theirs."""
        name, text = self.about.get("name"), self.about.get("description")
        if isinstance(name, str) and isinstance(text, str):
            said = named(name, text)
            if all(head.get(key) == said.get(key) for key in ("name", "title", "summary")):
                return name, text
        return str(head.get("title", head.get("name", "workflow"))), str(head.get("summary", ""))

    def table(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InputError(f"{where}: expected an object")
        return cast(dict[str, Any], value)

    def keys(self, value: dict[str, Any], where: str, known: set[str]) -> None:
        if unknown := sorted(value.keys() - known):
            raise InputError(
                f"{where}: {unknown[0]!r} is outside of what is read; known here: {', '.join(sorted(known))}"
            )

    def task_list(self, value: Any, where: str) -> list[tuple[str, Task]]:
        if not isinstance(value, list) or not value:
            raise InputError(f"{where}: expected a list of tasks")
        found: list[tuple[str, Task]] = []
        for index, item in enumerate(cast(list[Any], value)):
            one = self.table(item, f"{where}/{index}")
            if len(one) != 1:
                raise InputError(f"{where}/{index}: expected one task under its name")
            ((name, task),) = one.items()
            if name in dict(found):
                raise InputError(f"{where}/{index}: a second task {name!r}; the name of a task is its own")
            found.append((name, self.table(task, f"{where}/{index}/{name}")))
        return found

    def workflow(self) -> Workflow:
        for index, (name, task) in enumerate(self.tasks):
            where = f"do/{index}/{name}"
            following = self.tasks[index + 1][0] if index + 1 < len(self.tasks) else "end"
            if index == 0 and not self.begins(where, name, task):
                self.nodes.append(Start(id=self.fresh("start")))
                self.ways.append((self.nodes[0].id, None, where, name))
            if index > 0 or name not in self.entry:
                self.task(where, name, task, following)
            elif "then" in task:
                self.ways.append((self.entry[name], None, where, self.directive(task, where, following)))
            else:
                self.ways.append((self.entry[name], None, where, following))
        self.connect()
        fields: dict[str, Any] = self.inputs.get("properties", {})
        missing = [name for name in self.shown_inputs if name not in fields]
        inputs: dict[str, Any] = self.inputs
        if missing:
            properties: dict[str, Any] = {**fields, **{name: {} for name in missing}}
            required = [*self.inputs.get("required", []), *missing]
            inputs = {**self.inputs, "type": "object", "properties": properties, "required": required}
        body: dict[str, Any] = {"name": self.title, "description": self.summary, "inputs": inputs, "nodes": self.nodes}
        try:
            return validate(Workflow, {**body, "edges": self.edges})
        except ValueError as error:
            raise InputError(f"line 1: {error}") from None

    def begins(self, where: str, name: str, task: Task) -> bool:
        """Reads a first task that keeps the inputs, and says whether it is one."""
        value = task.get("set")
        export = self.inner(self.table(task.get("export", {}), where).get("as"))
        if not isinstance(value, dict) or export not in (".", "$context + .", "{}"):
            return False
        fields = cast(dict[str, Any], value)
        places = {key: read_place(self.inner(part) or "") for key, part in fields.items()}
        if export != "{}" and any(found != ("", (key,)) for key, found in places.items()):
            return False
        self.keys(task, where, {"set", "export", "then", "metadata"})
        self.shown_inputs = [] if export == "{}" else list(fields)
        note = self.noted(task)
        node = Start(id=note.id if isinstance(note, Start) else self.fresh(name))
        self.nodes.append(node)
        self.entry[name] = node.id
        return True

    def fresh(self, name: str) -> str:
        """An id that no node has yet."""
        stem = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60]
        stem = stem if re.match(r"[A-Za-z0-9_]", stem) else f"n{stem}"
        taken = {node.id for node in self.nodes}
        return next(one for one in _numbered(stem) if one not in taken)

    def noted(self, task: Task) -> Node | None:
        """The node that a task's metadata tell of."""
        metadata = task.get("metadata")
        note = cast(dict[str, Any], metadata).get(MARK) if isinstance(metadata, dict) else None
        try:
            return validate(_One, {"node": note}).node if note is not None else None
        except ValueError:
            return None

    def unchanged(self, task: Task, node: Node) -> bool:
        """Whether a task does what its metadata tell."""
        writer = TaskWriter(Workflow(inputs=self.inputs, nodes=(node,)))
        writer.kinds = self.kinds
        alone = writer.body(node)
        said = {key: part for key, part in task.items() if key not in ("then", "metadata")}
        return same(_without_ways(alone), _without_ways(said))

    def task(self, where: str, name: str, task: Task, following: str) -> None:
        node = self.noted(task)
        if node is not None and not isinstance(node, Start) and self.unchanged(task, node):
            if any(other.id == node.id for other in self.nodes):
                raise InputError(f"{where}: its metadata name the node {node.id!r} a second time")
            self.nodes.append(node)
            self.entry[name] = node.id
            if isinstance(node, Condition):
                self.cases(where, task, following, [node.id])
            elif not isinstance(node, End):
                self.ways.append((node.id, None, where, self.directive(task, where, following)))
            elif self.directive(task, where, following) != "end":
                raise InputError(f"{where}/then: an end leads nowhere; 'end' would be right")
            return
        kind = next((key for key in ("call", "set", "switch") if key in task), None)
        if kind is None:
            known = "call, set and switch"
            raise InputError(
                f"{where}: {', '.join(sorted(task)) or 'nothing'}: tasks of this kind are not read; {known} are"
            )
        if kind == "switch":
            self.switch(where, name, task, following)
        else:
            self.step(where, name, task, following, self.directive(task, where, following))

    def directive(self, task: Task, where: str, following: str) -> str:
        then = task.get("then", "continue")
        if not isinstance(then, str):
            raise InputError(f"{where}/then: expected the name of a task, 'continue' or 'end'")
        return following if then == "continue" else "end" if then == "exit" else then

    def switch(self, where: str, name: str, task: Task, following: str) -> None:
        self.keys(task, where, {"switch", "then", "metadata"})
        ids: list[str] = []
        cases = self.task_list(task["switch"], f"{where}/switch")
        for index, (label, case) in enumerate(cases):
            if "when" not in case:
                continue
            place = f"{where}/switch/{index}/{label}/when"
            expr, kind = self.read_jq(case["when"], place)
            if kind != "bool":
                message = "a bare value is true for another reason in jq; compare it, as in .x == true or .x > 0"
                raise InputError(f"{place}: {message}")
            ids.append(self.fresh(name))
            self.nodes.append(Condition(id=ids[-1], expr=_bare(expr)))
        if not ids:
            raise InputError(f"{where}/switch: no case has a 'when'")
        self.entry[name] = ids[0]
        self.cases(where, task, following, ids)

    def cases(self, where: str, task: Task, following: str, ids: list[str]) -> None:
        """The ways out of a switch, whose cases are conditions one after the other."""
        cases = self.task_list(task["switch"], f"{where}/switch")
        other = self.directive(task, where, following)
        rest = list(ids)
        for index, (label, case) in enumerate(cases):
            place = f"{where}/switch/{index}/{label}"
            self.keys(case, place, {"when", "then"})
            if "when" in case:
                self.ways.append((rest.pop(0), True, place, self.directive(case, place, following)))
            else:
                other = self.directive(case, place, following)
        for one, after in pairwise(ids):
            self.edges.append({"from": one, "to": after, "when": False})
        self.ways.append((ids[-1], False, where, other))

    def step(self, where: str, name: str, task: Task, following: str, then: str) -> None:
        """A call, or data that are set."""
        export = self.inner(self.table(task.get("export", {}), f"{where}/export").get("as"))
        if "set" in task and then == "end" and "export" not in task:
            self.end(where, name, task)
            return
        self.keys(task, where, {"call", "with", "set", "export", "then", "metadata"})
        nodes: list[Node] = []
        if "call" in task:
            kept = _KEEP.fullmatch(export or "")
            if kept is None:
                message = "what a call gives is to be kept by ${ $context + { name: . } }"
                raise InputError(f"{where}/export/as: {message}")
            tool = task["call"]
            if not isinstance(tool, str) or tool in OWN_CALLS:
                raise InputError(f"{where}/call: {tool!r}: calls of functions by their names are read")
            args = self.table(task.get("with", {}), f"{where}/with")
            bound = {key: self.binding(part, f"{where}/with/{key}") for key, part in args.items()}
            nodes.append(ToolNode(id=self.fresh(name), tool=tool, args=bound, output=kept[1]))
        else:
            if export != "$context + .":
                raise InputError(f"{where}/export/as: what is set is to be kept by ${{ $context + . }}")
            nodes += self.assigns(where, name, self.table(task["set"], f"{where}/set"))
        self.entry[name] = nodes[0].id
        self.nodes += nodes
        for one, other in pairwise(nodes):
            self.edges.append({"from": one.id, "to": other.id})
        if then == "end":
            raise InputError(f"{where}/then: the last task sets the answer: 'set', no 'export', 'then: end'")
        self.ways.append((nodes[-1].id, None, where, then))

    def assigns(self, where: str, name: str, fields: dict[str, Any]) -> Iterator[Assign]:
        written: set[str] = set()
        for key, value in fields.items():
            place = f"{where}/set/{key}"
            if not _NAME.fullmatch(key):
                raise InputError(f"{place}: {key!r} names no variable; letters, digits and '_' are allowed")
            found = self.value(value, place)
            stem = name if len(fields) == 1 else f"{name}_{key}"
            node = Assign(id=self.fresh(stem), output=key, **found)
            if used := written & _reads(node):
                raise InputError(f"{place}: reads {min(used)!r}, which the same task sets; set it in a task of its own")
            written.add(key)
            yield node

    def end(self, where: str, name: str, task: Task) -> None:
        self.keys(task, where, {"set", "output", "then", "metadata"})
        fields = self.table(task["set"], f"{where}/set")
        bound = {key: self.binding(part, f"{where}/set/{key}") for key, part in fields.items()}
        output = self.table(task.get("output", {}), f"{where}/output").get("as")
        answer: Binding = ObjectOf(object=bound)
        if all(isinstance(part, Literal_) for part in bound.values()):
            answer = Literal_(value={key: part.value for key, part in bound.items() if isinstance(part, Literal_)})
        if output is not None:
            found = read_place(self.inner(output) or "")
            if found is None or found[0] or len(found[1]) != 1 or found[1][0] not in bound:
                raise InputError(f"{where}/output/as: expected one of the values that are set, such as ${{ .answer }}")
            answer = bound[str(found[1][0])]
        note = self.noted(task)
        node = End(id=note.id if isinstance(note, End) else self.fresh(name), output=answer)
        self.nodes.append(node)
        self.entry[name] = node.id

    def inner(self, value: Any) -> str | None:
        """The jq of a runtime expression; None if a value is none."""
        found = _EXPRESSION.fullmatch(value) if isinstance(value, str) else None
        return found[1].strip() if found else None

    def value(self, value: Any, where: str) -> dict[str, Any]:
        """What an assign sets: a binding, or an expression."""
        jq = self.inner(value)
        if jq is None or read_place(jq) is not None:
            return {"value": self.binding(value, where)}
        return {"expr": _bare(self.read_jq(value, where)[0])}

    def binding(self, value: Any, where: str) -> Binding:
        """Data with runtime expressions in it: paths into variables."""
        if isinstance(value, list):
            parts = [self.binding(part, f"{where}/{index}") for index, part in enumerate(cast(list[Any], value))]
            values = [part.value for part in parts if isinstance(part, Literal_)]
            return Literal_(value=values) if len(values) == len(parts) else ListOf(list=tuple(parts))
        if isinstance(value, dict):
            fields = {key: self.binding(part, f"{where}/{key}") for key, part in cast(dict[str, Any], value).items()}
            constants = {key: part.value for key, part in fields.items() if isinstance(part, Literal_)}
            return Literal_(value=constants) if len(constants) == len(fields) else ObjectOf(object=fields)
        jq = self.inner(value)
        if jq is None:
            if isinstance(value, str) and "${" in value:
                raise InputError(f"{where}: text with an expression inside it; write one expression for all of it")
            return Literal_(value=value)
        if jq.startswith('"') and "\\(" not in jq.replace("\\\\", ""):
            try:
                return Literal_(value=json.loads(jq))
            except ValueError:
                pass
        return self.variable(jq, where)

    def variable(self, jq: str, where: str) -> Var:
        found = read_place(jq)
        root, steps = found if found else ("", ())
        if root == "$workflow" and steps[:1] == ("input",):
            name, path = steps[1:2], steps[2:]
            if name and isinstance(name[0], str):
                self.shown_inputs += [name[0]] if name[0] not in self.shown_inputs else []
        else:
            name, path = (steps[:1] if root == "$context" else ()), steps[1:]
        if not name or not isinstance(name[0], str) or not _NAME.fullmatch(name[0]):
            message = "is no path into the context or the input, such as $context.order.total or $workflow.input.n"
            raise InputError(f"{where}: {jq!r} {message}")
        if root == "$workflow" and any(name[0] in self.set_by(task) for _, task in self.tasks[1:]):
            raise InputError(f"{where}: {jq!r}: a task sets {name[0]!r}, too; give that variable another name")
        return Var(var=name[0], path=path)

    def set_by(self, task: Task) -> set[str]:
        """The variables that a task may set."""
        export = task.get("export")
        kept = (
            _KEEP.fullmatch(self.inner(cast(dict[str, Any], export).get("as")) or "")
            if isinstance(export, dict)
            else None
        )
        fields: Any = task.get("set", {})
        return {*(fields if isinstance(fields, dict) else ()), *([kept[1]] if kept else ())}

    def read_jq(self, value: Any, where: str) -> tuple[str, str]:
        text = self.inner(value) or value
        if not isinstance(text, str):
            raise InputError(f"{where}: expected a runtime expression, such as ${{ $context.n > 3 }}")

        def name_of(jq: str) -> str:
            var = self.variable(jq, where)
            return var.var + "".join(f"[{part!r}]" for part in var.path)

        try:
            return from_jq(text, name_of)
        except NoJq as error:
            raise InputError(f"{where}: {text.strip()!r}: {error}") from None

    def connect(self) -> None:
        bounds: dict[tuple[str, str, bool | None], int] = {}
        for known in self.about.get("edges", ()):
            try:
                edge = Edge.model_validate(known)
            except ValueError:
                continue
            if edge.bound is not None:
                bounds[edge.source, edge.target, edge.when] = edge.bound
        for source, when, where, then in self.ways:
            if then == "end":
                raise InputError(f"{where}: ends without an answer; lead it to a last task that sets it")
            if then not in self.entry:
                raise InputError(f"{where}/then: there is no task {then!r}")
            target = self.entry[then]
            edge = {"from": source, "to": target} | ({} if when is None else {"when": when})
            bound = bounds.get((source, target, when))
            self.edges.append(edge | ({} if bound is None else {"bound": bound}))


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    yield from (f"{stem}_{number}" for number in range(2, 1_000_000))


def _bare(expr: str) -> str:
    """An expression without the brackets around the whole of it."""
    inner = expr[1:-1]
    try:
        same = expr.startswith("(") and ast.dump(expressions.parse(inner)) == ast.dump(expressions.parse(expr))
    except expressions.ExpressionError:
        return expr
    return inner if same else expr


def _reads(node: Assign) -> set[str]:
    names: set[str] = set() if node.expr is None else set(expressions.names(node.expr))
    return names | set(reads(node.value))


def _without_ways(task: Task) -> Task:
    """A task without where it leads."""
    if not isinstance(task.get("switch"), list):
        return task
    cases = cast(list[Any], task["switch"])
    tests = [
        case.get("when") for item in cases if isinstance(item, dict) for case in cast(dict[str, Any], item).values()
    ]
    return {**task, "switch": tests}
