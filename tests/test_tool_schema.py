"""Workflows as tools: what the OpenAI API and the Model Context Protocol take, checked by their own rules."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from reference_interpreter import Document, call, compute, condition, each, end, sketch
from test_random_workflows import SPECS, Maker

from flowmind import tool
from flowmind.formats.fidelity import Export
from flowmind.formats.tool_schema import output_schema, to_mcp_tool, to_openai_tool, tool_name
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.functions import spec_of
from tools_registry.specs.spec import ToolSpec


@tool(effect="read")
def area(width: float, height: float) -> float:
    """An area."""
    return width * height


@tool(effect="read")
def names(count: int) -> list[str]:
    """Some names."""
    return ["a"] * count


@tool(effect="write")
def keep(value: int) -> int:
    """Writes something down."""
    return value


TOOLS: dict[str, ToolSpec] = {spec.name: spec for spec in map(spec_of, (area, names, keep))}

# The `Tool` of the protocol's schema (revision 2025-11-25), as far as these tools use it.
OBJECT: dict[str, Any] = {"type": "object", "properties": {"type": {"const": "object"}}, "required": ["type"]}
MCP_TOOL = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$"},
        "title": {"type": "string"},
        "description": {"type": "string"},
        "inputSchema": OBJECT,
        "outputSchema": OBJECT,
        "annotations": {
            "type": "object",
            "properties": {"readOnlyHint": {"type": "boolean"}},
            "additionalProperties": False,
        },
    },
    "required": ["name", "inputSchema"],
    "additionalProperties": False,
}


def flow(document: Document, **more: Any) -> Workflow:
    return Workflow.model_validate(document | more)


def openai_tool(workflow: Workflow, specs: dict[str, ToolSpec] = TOOLS) -> tuple[dict[str, Any], Export]:
    export = to_openai_tool(workflow, specs)
    found = json.loads(export.text)
    assert found.keys() == {"type", "function"}
    assert found["type"] == "function"
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", found["function"]["name"])
    assert found["function"].keys() - {"strict"} == {"name", "description", "parameters"}
    return found["function"], export


def mcp_tool(workflow: Workflow, specs: dict[str, ToolSpec] = TOOLS) -> tuple[dict[str, Any], Export]:
    export = to_mcp_tool(workflow, specs)
    found = json.loads(export.text)
    Draft202012Validator(MCP_TOOL).validate(found)
    for field in ("inputSchema", "outputSchema"):
        Draft202012Validator.check_schema(found.get(field, {}))
    return found, export


ROOM = sketch(
    [call("area", "area", width="width", height=2.5), compute("big", "area > 20"),
     end({"object": {"area": {"var": "area"}, "big": {"var": "big"}, "unit": {"value": "m2"}}})],
    "start area big end", width={"type": "number", "description": "Metres."},
)  # fmt: skip
ROOM["inputs"]["additionalProperties"] = False
ROOM |= {"name": "room_size", "description": "How large is a room?"}


def test_a_function_of_the_openai_api() -> None:
    function, export = openai_tool(flow(ROOM))
    assert function == {
        "name": "room_size",
        "description": "How large is a room?",
        "strict": True,
        "parameters": ROOM["inputs"],
    }
    assert export.fidelity.kept == ("name", "description", "inputs")
    assert export.fidelity.approximated == ()
    assert [note.part for note in export.fidelity.lost] == [
        "start", "area", "big", "end", "start -> area", "area -> big", "big -> end", "output",
    ]  # fmt: skip


def test_a_tool_of_the_protocol() -> None:
    found, export = mcp_tool(flow(ROOM))
    assert found == {
        "name": "room_size",
        "title": "room size",
        "description": "How large is a room?",
        "inputSchema": ROOM["inputs"],
        "outputSchema": {
            "type": "object",
            "properties": {"area": {"type": "number"}, "big": {"type": "boolean"}, "unit": {"type": "string"}},
            "required": ["area", "big", "unit"],
        },
        "annotations": {"readOnlyHint": True},
    }
    assert [note.part for note in export.fidelity.approximated] == ["output"]


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ({"type": "integer", "default": 3}, "inputs.n has 'default'"),
        ({}, "inputs.n has no type"),
        ({"type": "array"}, "inputs.n[] has no type"),
        ({"type": "array", "items": {"type": "object"}}, "inputs.n[] may have other fields"),
        ({"type": ["object", "null"], "additionalProperties": {"type": "string"}}, "inputs.n may have other fields"),
        ({"anyOf": [{"type": "string"}, {"examples": [1], "type": "integer"}]}, "inputs.n has 'examples'"),
    ],
)
def test_what_strict_mode_does_not_take_is_noted_and_strict_is_left_out(part: Any, says: str) -> None:
    document = sketch([end("n")], "start end", n=part)
    document["inputs"]["additionalProperties"] = False
    function, export = openai_tool(flow(document))
    assert "strict" not in function
    assert function["parameters"] == document["inputs"]
    assert [note.part for note in export.fidelity.approximated] == ["inputs"]
    assert export.fidelity.approximated[0].note.endswith(f": {says}")


def test_optional_inputs_and_open_objects_are_not_strict() -> None:
    document = sketch([end("n")], "start end", n="integer", m="string")
    document["inputs"]["required"] = ["n"]
    _, export = openai_tool(flow(document))
    note = export.fidelity.approximated[0].note
    assert "inputs may have other fields; inputs need not have m" in note


def test_unions_enums_references_and_bounds_are_strict() -> None:
    tree = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}},
            "required": ["next"], "additionalProperties": False}  # fmt: skip
    document = sketch(
        [end("n")], "start end", n={"$ref": "#/$defs/tree"}, m={"enum": ["a", "b"]},
        k={"type": ["integer", "null"], "minimum": 0}, xs={"type": "array", "items": {"type": "number"}, "minItems": 1},
    )  # fmt: skip
    document["inputs"] |= {"additionalProperties": False, "$defs": {"tree": tree}}
    assert openai_tool(flow(document))[0]["strict"] is True


NAMES = {
    "mean of evens": "mean_of_evens", "Élan vital!": "Elan_vital", "a.b/c": "a_b_c", "": "workflow", "日本": "workflow",
    "x" * 90: "x" * 64, "-a-": "-a-", "__a__": "a",
}  # fmt: skip


@pytest.mark.parametrize(("name", "written"), NAMES.items())
def test_names_are_written_in_the_letters_that_are_allowed(name: str, written: str) -> None:
    assert tool_name(name) == written
    document = sketch([end({"value": 0})], "start end")
    assert openai_tool(flow(document, name=name))[0]["name"] == written
    found, export = mcp_tool(flow(document, name=name))
    assert found["name"] == written
    assert ("name" in export.fidelity.kept) == (name == written)


def test_a_tool_that_writes_or_is_not_known_makes_the_workflow_one_that_may_write() -> None:
    writing = flow(sketch([call("a", "keep", value="n"), end("a")], "start a end", n="integer"))
    assert mcp_tool(writing)[0]["annotations"] == {"readOnlyHint": False}
    assert "annotations" not in mcp_tool(writing, {})[0]
    mapped = flow(sketch([each("m", "xs", "x", "y", call("y", "keep", value="x")), end("m")], "start m end",
                         xs={"type": "array"}))  # fmt: skip
    assert mcp_tool(mapped)[0]["annotations"] == {"readOnlyHint": False}


STRINGS = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("nodes", "path", "schema"),
    [
        ([call("a", "names", count="n"), end("a")], "start a end", STRINGS),
        ([call("a", "names", count="n"), end({"var": "a", "path": [0]})], "start a end", {"type": "string"}),
        ([call("a", "names", count="n"), compute("b", "len(a) + n"), end("b")], "start a b end", {"type": "number"}),
        ([each("m", "xs", "x", {"list": [{"var": "x"}]}), end("m")], "start m end",
         {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}),
        ([end({"value": {"a": [1, 2.5], "b": None}})], "start end",
         {"type": "object", "required": ["a", "b"],
          "properties": {"a": {"type": "array", "items": {"type": "number"}}, "b": {"type": "null"}}}),
        ([call("a", "area", width="n", height="n"), compute("b", "a if n else 'x'"), end("b")], "start a b end", {}),
    ],
)  # fmt: skip
def test_the_schema_of_the_answer(nodes: list[Document], path: str, schema: Any) -> None:
    document = sketch(nodes, path, n="integer", xs={"type": "array", "items": {"type": "boolean"}})
    assert output_schema(flow(document), TOOLS) == schema
    found, export = mcp_tool(flow(document))
    assert ("outputSchema" in found) == (schema.get("type") == "object")
    assert ("output" in [note.part for note in export.fidelity.lost]) == ("outputSchema" not in found)


def test_several_ends_have_what_they_share() -> None:
    document = sketch(
        [condition("c", "n > 0"), end({"object": {"n": {"var": "n"}, "why": {"value": "plus"}}}, "plus"),
         end({"value": {"n": 0}}, "minus")],
        "start c.true plus", "c.false minus", n="integer",
    )  # fmt: skip
    assert mcp_tool(flow(document))[0]["outputSchema"] == {
        "type": "object",
        "properties": {"n": {"type": "number"}},
        "required": ["n"],
    }


def test_every_random_workflow_is_a_tool() -> None:
    for seed in range(30):
        workflow = flow(Maker(Random(seed), False).document())
        assert "strict" not in openai_tool(workflow, SPECS)[0]
        assert mcp_tool(workflow, SPECS)[0]["annotations"] == {"readOnlyHint": True}
