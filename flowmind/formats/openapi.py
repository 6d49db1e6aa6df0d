"""The operations that the steps of a workflow call, as an OpenAPI 3.1 document: its tools, and what the tool server
(`flowmind.cli.tool_server`) does beside them.

Every operation is a POST with a JSON object, whose answer has the value in `result`. Whatever goes wrong is a status of
4xx or 5xx, with the error's type and a message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from flowmind.base.files import dump_json
from flowmind.formats import arazzo
from flowmind.formats.fidelity import Export, Fidelity
from flowmind.workflow.checking import node_reads
from flowmind.workflow.document import End, Map, Node, ToolNode, Workflow
from tools_registry.specs.schema import JSONSchema
from tools_registry.specs.spec import ToolSpec

VERSION = "3.1.0"
SERVER = "http://127.0.0.1:8017"
"""Where the tool server is unless it is told otherwise."""
_RUN: JSONSchema = {"type": "string", "description": "What the start gave."}
_ANY: JSONSchema = {}
_OBJECT: JSONSchema = {"type": "object"}


def to_openapi(workflow: Workflow, specs: Mapping[str, ToolSpec], server: str = SERVER) -> Export:
    """The OpenAPI document of the operations that `to_arazzo`'s description of a workflow calls, JSON text.

    Args:
        workflow: A workflow that passes `check`; tools without a spec take and give anything.
        specs: The tools that are known.
        server: The address of the tool server.

    Raises:
        InputError: If the workflow does not pass `check`.
    """
    planned = arazzo.plan(workflow, specs)
    tools = {name: specs[name] if name in specs else _unknown(name) for name in tools_of(workflow)}
    schemas: dict[str, JSONSchema] = {"Error": _object({"error": {"type": "string"}, "message": {"type": "string"}})}
    paths = dict(_tool(spec, schemas) for spec in tools.values())
    paths |= dict(_node(workflow, workflow.by_id[name]) for name in planned.computed)
    paths |= {
        path: item for path, item in _flow(workflow, schemas) if item["post"]["operationId"] in planned.operations
    }
    written: dict[str, Any] = {
        "openapi": VERSION,
        "info": {"title": f"Tools of {workflow.name}", "version": "1.0.0"},
        "servers": [{"url": server}],
        "security": [],
        "paths": paths,
        "components": {"schemas": schemas},
    }
    return Export(dump_json(written, indent=1) + "\n", Fidelity(kept=tuple(sorted(tools))))


def tools_of(workflow: Workflow) -> list[str]:
    """The names of the tools that a workflow calls, those of its maps included, each once."""
    found: dict[str, None] = {}
    for node in workflow.nodes:
        for step in node.body if isinstance(node, Map) else (node,):
            if isinstance(step, ToolNode):
                found[step.tool] = None
    return list(found)


def _unknown(name: str) -> ToolSpec:
    return ToolSpec(name=name, parameters=_OBJECT)


def _tool(spec: ToolSpec, schemas: dict[str, JSONSchema]) -> tuple[str, Any]:
    parameters = _without_definitions(spec.parameters, spec.name, schemas)
    returns = _without_definitions(spec.returns, f"{spec.name}_result", schemas)
    return f"/tools/{spec.name}", _post(spec.name, spec.description, parameters, _object({"result": returns}))


def _node(workflow: Workflow, node: Node) -> tuple[str, Any]:
    kinds: dict[str, JSONSchema] = {"condition": {"type": "boolean"}, "map": {"type": "array"}}
    result = kinds.get(node.kind, _ANY)
    body = _object(dict.fromkeys(sorted(node_reads(node)), _ANY))
    about = f"Computes the node {node.id!r} of the workflow: {'the answer' if isinstance(node, End) else node.kind}."
    return f"/nodes/{node.id}", _post(f"{arazzo.NODE}{node.id}", about, body, _object({"result": result}))


def _flow(workflow: Workflow, schemas: dict[str, JSONSchema]) -> Iterator[tuple[str, Any]]:
    """What the tool server does beside tools and nodes."""
    again = _object({"loop": {"type": "string"}, "bound": {"type": "integer"}})
    afresh: JSONSchema = {"type": "array", "items": {"type": "string"}}
    handed: JSONSchema = {
        "type": "object",
        "properties": {"run": _RUN, "values": _OBJECT, "again": again, "afresh": afresh},
        "required": ["run", "values"],
    }
    run, values = _object({"run": _RUN}), _object({"values": _OBJECT})
    inputs = _without_definitions(workflow.inputs, "inputs", schemas)
    begun = _object({"run": _RUN, "inputs": inputs})
    about = {
        arazzo.START: ("Checks the inputs and begins a run.", inputs, begun),
        arazzo.HAND_OVER: ("Keeps variables of a run until they are taken up.", handed, _OBJECT),
        arazzo.TAKE_UP: ("Gives the variables of a run that were handed over last.", run, values),
        arazzo.ANSWER: ("Gives back what it is given.", _object({"answer": _ANY}), _object({"result": _ANY})),
        arazzo.STOP: ("Fails.", _OBJECT, _OBJECT),
    }
    for name, (text, body, answer) in about.items():
        yield f"/flow/{name.removeprefix('flow-')}", _post(name, text, body, answer)


def _post(operation: str, about: str, body: JSONSchema, answer: JSONSchema) -> dict[str, Any]:
    failed = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
    return {
        "post": {
            "operationId": operation,
            "summary": about.partition("\n")[0] or operation,
            "description": about,
            "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
            "responses": {
                "200": {"description": "Done.", "content": {"application/json": {"schema": answer}}},
                "4XX": {"description": "The call failed, or does not fit.", **failed},
                "5XX": {"description": "The server failed, or gave what it does not promise.", **failed},
            },
        }
    }


def _object(fields: Mapping[str, JSONSchema]) -> JSONSchema:
    return {"type": "object", "properties": dict(fields), "required": list(fields)}


def _without_definitions(schema: JSONSchema, owner: str, schemas: dict[str, JSONSchema]) -> JSONSchema:
    """A schema whose definitions stand among the document's, where its references now point to."""
    definitions: dict[str, JSONSchema] = schema.get("$defs", {})
    names = {f"#/$defs/{name}": f"{owner}_{name}" for name in definitions}
    for name, definition in definitions.items():
        schemas[f"{owner}_{name}"] = _pointed(definition, names)
    return _pointed({key: value for key, value in schema.items() if key != "$defs"}, names)


def _pointed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {
            key: f"#/components/schemas/{names[item]}" if key == "$ref" and item in names else _pointed(item, names)
            for key, item in fields.items()
        }
    return [_pointed(item, names) for item in cast(list[Any], value)] if isinstance(value, list) else value
