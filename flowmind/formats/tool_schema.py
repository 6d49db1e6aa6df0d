"""Workflows as tools that a model can call: a function of the OpenAI API, a tool of the Model Context Protocol.

Both say what goes in and what the workflow is for; what it does is not part of a tool's schema, so nodes and edges
are lost by design. The name is written in the letters that both allow: `[a-zA-Z0-9_-]`, at most 64. (MCP, revision
2026-07-28, section "Tool Names", asks for at most 128 and has the dot as well; models behind MCP hosts do not.)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, cast

from flowmind.base.files import dump_json
from flowmind.formats.fidelity import Export, Fidelity, Note
from flowmind.formats.pycode import Code, Names, require_sound
from flowmind.formats.pyexpr import ANY, Type, join, kind, type_of_input
from flowmind.workflow.document import BodyStep, End, LLMNode, Map, Node, ToolNode, Workflow
from tools_registry.specs.schema import JSONSchema
from tools_registry.specs.spec import ToolSpec

MOST_LETTERS = 64
_JSON_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_NO_STRICT = ("default", "examples", "$schema", "$id")
_BODY = "a tool's schema says what goes in and what comes out, not what happens between"


def to_openai_tool(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Export:
    """A workflow as an element of `tools` of the OpenAI API, as JSON.

    `strict` is set where the inputs' schema is one that strict mode takes: closed objects of which all fields are
    required, a type everywhere, no defaults.

    Raises:
        InvalidWorkflow: If the workflow does not pass `check`.
    """
    require_sound(workflow, specs)
    function: dict[str, Any] = {"name": tool_name(workflow.name), "description": _described(workflow)}
    against = list(dict.fromkeys(_against_strict(workflow.inputs, "inputs")))
    if not against:
        function["strict"] = True
    function["parameters"] = workflow.inputs
    notes = _renamed(workflow)
    if against:
        notes.append(Note(part="inputs", note=f"not strict, so that a model may miss them: {'; '.join(against)}"))
    lost = [*_body(workflow), Note(part="output", note="a function of the API has no schema of its result")]
    return _export({"type": "function", "function": function}, notes, lost)


def to_mcp_tool(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Export:
    """A workflow as a tool of the Model Context Protocol, as JSON: an element of the answer to `tools/list`.

    `readOnlyHint` is true if no tool of the workflow writes. The schema of the answer is what constants and the
    tools' promises say; it is given if the answer is an object, the only kind that revisions before 2026-07-28 take.

    Raises:
        InvalidWorkflow: If the workflow does not pass `check`.
    """
    require_sound(workflow, specs)
    reads = all(name in specs and specs[name].effect == "read" for name in workflow.tool_names)
    tool: dict[str, Any] = {"name": tool_name(workflow.name), "title": workflow.name.replace("_", " ")}
    tool |= {"description": _described(workflow), "inputSchema": workflow.inputs}
    notes, lost = _renamed(workflow), _body(workflow)
    output = output_schema(workflow, specs)
    if output.get("type") == "object":
        tool["outputSchema"] = output
        notes.append(Note(part="output", note="as constants and the tools' promises have it; nothing checks results"))
    elif output:
        lost.append(Note(part="output", note="only objects have a schema in MCP before revision 2026-07-28"))
    else:
        lost.append(Note(part="output", note="its type is not known"))
    tool["annotations"] = {"readOnlyHint": reads}
    return _export(tool, notes, lost)


def tool_name(name: str) -> str:
    """A name in the letters that tools may have: `Mean of évens` becomes `Mean_of_evens`."""
    letters = unicodedata.normalize("NFKD", name)
    plain = "".join(character for character in letters if not unicodedata.combining(character))
    found = re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_")[:MOST_LETTERS]
    return found or "workflow"


def output_schema(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> JSONSchema:
    """What is known of the answer: from the inputs' schema, constants, and what the tools promise; `{}` is anything."""
    code = _Promised(workflow, specs)
    found: Type | None = None
    for node in workflow.nodes:
        if isinstance(node, End):
            type = code.type_of(node.output) or ANY
            found = type if found is None else join(found, type)
    return _schema(found or ANY)


class _Promised(Code):
    """What is known of variables if tools keep their promises."""

    def __init__(self, workflow: Workflow, specs: Mapping[str, ToolSpec]) -> None:
        self.specs = specs
        super().__init__(workflow, Names([]))

    def given(self, step: Node | BodyStep) -> Iterator[tuple[str, Type]]:
        """The variables that a step sets, with what is known of them."""
        match step:
            case ToolNode(tool=tool, output=output) if tool in self.specs:
                yield output, type_of_input(self.specs[tool].returns, whole=True)
            case Map(collect=collect, output=output):
                for name, type in super().given(step):
                    if name != output:
                        yield name, type
                if (type := self.type_of(collect)) is not None:
                    yield output, {"type": "array", "items": type}
            case LLMNode(output=output):
                yield output, {"type": "string"}
            case _:
                yield from super().given(step)


def _schema(type: Type) -> JSONSchema:
    """A type as a JSON schema."""
    name = kind(type)
    if name not in _JSON_TYPES:
        return {}
    found: JSONSchema = {"type": name}
    if name == "array" and (items := _schema(type.get("items", ANY))):
        found["items"] = items
    if name == "object" and type.get("properties"):
        found["properties"] = {key: _schema(part) for key, part in type["properties"].items()}
        if required := [key for key in type.get("required", ()) if key in found["properties"]]:
            found["required"] = required
    return found


def _against_strict(schema: Any, where: str) -> Iterator[str]:
    """What of a schema the strict mode of the OpenAI API does not take."""
    if not isinstance(schema, dict):
        yield f"{where} has no type"
        return
    fields = cast(JSONSchema, schema)
    yield from (f"{where} has {key!r}" for key in _NO_STRICT if key in fields)
    if not {"type", "enum", "const", "anyOf", "$ref"} & fields.keys():
        yield f"{where} has no type"
    names = fields.get("type", [])
    if "object" in (names if isinstance(names, list) else [names]):
        properties: dict[str, Any] = fields.get("properties", {})
        if fields.get("additionalProperties", True) is not False:
            yield f"{where} may have other fields"
        if optional := [name for name in properties if name not in fields.get("required", [])]:
            yield f"{where} need not have {', '.join(optional)}"
        for name, part in properties.items():
            yield from _against_strict(part, f"{where}.{name}")
    if "items" in fields:
        yield from _against_strict(fields["items"], f"{where}[]")
    elif "array" in (names if isinstance(names, list) else [names]):
        yield f"{where}[] has no type"
    for option in fields.get("anyOf", []):
        yield from _against_strict(option, where)
    for name, part in fields.get("$defs", {}).items():
        yield from _against_strict(part, f"{where}.$defs.{name}")


def _described(workflow: Workflow) -> str:
    return workflow.description.strip() or f"The workflow {workflow.name}."


def _renamed(workflow: Workflow) -> list[Note]:
    name = tool_name(workflow.name)
    return [] if name == workflow.name else [Note(part="name", note=f"written {name!r}")]


def _body(workflow: Workflow) -> list[Note]:
    parts = [*(node.id for node in workflow.nodes), *(edge.label for edge in workflow.edges)]
    return [Note(part=part, note=_BODY) for part in parts]


def _export(document: dict[str, Any], notes: list[Note], lost: list[Note]) -> Export:
    noted = {note.part for note in notes}
    kept = tuple(part for part in ("name", "description", "inputs") if part not in noted)
    return Export(
        dump_json(document, indent=2) + "\n", Fidelity(kept=kept, approximated=tuple(notes), lost=tuple(lost))
    )
