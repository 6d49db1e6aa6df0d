"""What a tool promises: specs of one's own functions and of untrusted source."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, ValidationError

from flowmind import tool
from tools_registry.sandbox.functions import FunctionEnvironment, spec_of
from tools_registry.specs.spec import Observation, SpecError, ToolCall, ToolSource, ToolSpec


def spec_from_source(source: str, name: str | None = None) -> ToolSpec:
    return ToolSource.parse(source, name).spec


def search_orders(customer: str, limit: int = 10, order: Literal["asc", "desc"] = "asc") -> list[str]:
    """Finds the orders of a customer.

    Sorted by number.

    Args:
        customer: The customer's name.
        limit: How many at most.

    Returns:
        The order numbers.

    Raises:
        KeyError: If there is nobody.
    """
    return [customer][:limit] if order else []


def test_the_spec_of_a_function_is_its_signature_and_docstring() -> None:
    assert spec_of(search_orders) == ToolSpec(
        name="search_orders",
        description="Finds the orders of a customer.\nSorted by number.\nError: If there is nobody.",
        parameters={
            "type": "object",
            "properties": {
                "customer": {"type": "string", "description": "The customer's name."},
                "limit": {"type": "integer", "default": 10, "description": "How many at most."},
                "order": {"type": "string", "enum": ["asc", "desc"], "default": "asc"},
            },
            "required": ["customer"],
            "additionalProperties": False,
        },
        returns={"type": "array", "items": {"type": "string"}, "description": "The order numbers."},
        effect="unknown",
    )


def google(price: float, rate: float = 0.2) -> float:
    """Adds the tax to a price.

    Args:
        price: The net price.
        rate: The tax rate.

    Returns:
        The gross price.
    """
    return price * (1 + rate)


def numpy(price: float, rate: float = 0.2) -> float:
    """Adds the tax to a price.

    Parameters
    ----------
    price : float
        The net price.
    rate : float, optional
        The tax rate.

    Returns
    -------
    float
        The gross price.
    """
    return price * (1 + rate)


def sphinx(price: float, rate: float = 0.2) -> float:
    """Adds the tax to a price.

    :param price: The net price.
    :param rate: The tax rate.
    :returns: The gross price.
    """
    return price * (1 + rate)


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_any_common_docstring_style_is_read(function: Callable[..., float]) -> None:
    assert spec_of(function).document() == (
        f"{function.__name__}(price: number, rate: number = 0.2) -> number\n"
        "    Adds the tax to a price.\n"
        "    - price: The net price.\n"
        "    - rate: The tax rate.\n"
        "    Returns: The gross price."
    )


def test_a_function_without_hints_and_docstring_takes_anything() -> None:
    def bare(value, *, key=None):
        return value

    spec = spec_of(bare)
    assert spec.parameters == {
        "type": "object",
        "properties": {"value": {}, "key": {"default": None}},
        "required": ["value"],
        "additionalProperties": False,
    }
    assert (spec.description, spec.returns) == ("", {})


def test_an_optional_parameter_takes_null() -> None:
    def find(name: str | None = None) -> int | None:
        return None

    check = spec_of(find).check
    assert check({}) is None
    assert check({"name": None}) is None
    assert check({"name": "Ann"}) is None
    assert check({"name": 3}) is not None


class Line(BaseModel):
    title: str
    count: int = 1


class Order(BaseModel):
    lines: list[Line]
    note: str | None = None


@dataclass
class Point:
    x: float
    y: float = 0.0


def test_a_model_or_dataclass_is_an_object_with_its_fields() -> None:
    def place(line: Line, at: Point) -> None:
        """Places a line."""

    check = spec_of(place).check
    assert check({"line": {"title": "tea"}, "at": {"x": 1, "y": 2.5}}) is None
    assert check({"line": {"count": 2}, "at": {"x": 1}}) == "line: field 'title' is missing"
    assert check({"line": {"title": "tea"}, "at": {"x": "1"}}) == "at: x: expected number, got '1' (string)"


def test_a_field_that_is_called_title_keeps_its_type() -> None:
    def place(line: Line) -> None:
        """Places a line."""

    assert spec_of(place).check({"line": {"title": 3}}) == "line: title: expected string, got 3 (integer)"


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (list[Line], [{"title": "tea"}], [{"count": 1}]),
        (Order, {"lines": [{"title": "tea"}]}, {"lines": [{"count": 1}]}),
        (dict[str, Point], {"home": {"x": 1}}, {"home": {"y": 1}}),
    ],
    ids=["list of models", "model of models", "object of dataclasses"],
)
def test_models_inside_others_are_checked(annotation: Any, good: Any, bad: Any) -> None:
    def place(what: Any) -> None:
        """Places something."""

    place.__annotations__["what"] = annotation
    check = spec_of(place).check
    assert check({"what": good}) is None
    assert check({"what": bad}) is not None


def test_a_default_that_is_no_json_value_is_shown_as_one() -> None:
    def book(day: date = date(2024, 1, 2), at: Point = Point(1.5)) -> None:  # noqa: B008
        """Books a day."""

    fields = spec_of(book).openai()["function"]["parameters"]["properties"]
    assert json.loads(json.dumps(fields["day"]["default"])) == "2024-01-02"
    assert json.loads(json.dumps(fields["at"]["default"])) == {"x": 1.5, "y": 0.0}


def test_a_tool_says_that_it_writes() -> None:
    @tool(effect="write", name="book_room")
    def book(room: int) -> bool:
        """Books a room."""
        return room > 0

    spec = spec_of(book)
    assert (spec.name, spec.effect) == ("book_room", "write")
    assert book(3) is True
    assert spec.mcp() == {
        "name": "book_room",
        "description": "Books a room.",
        "inputSchema": {
            "type": "object",
            "properties": {"room": {"type": "integer"}},
            "required": ["room"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": False},
    }


def test_the_openai_view() -> None:
    def ping(host: str) -> bool:
        """Tells whether a host answers.

        Args:
            host: Its name.
        """
        return bool(host)

    assert spec_of(ping).openai() == {
        "type": "function",
        "function": {
            "name": "ping",
            "description": "Tells whether a host answers.",
            "parameters": {
                "type": "object",
                "properties": {"host": {"type": "string", "description": "Its name."}},
                "required": ["host"],
                "additionalProperties": False,
            },
        },
    }


def spread(*values: int) -> int:
    return sum(values)


def named(**values: int) -> int:
    return sum(values.values())


def positional(value: int, /) -> int:
    return value


def opened(file: "open") -> int:
    return 0


def unknown(value: "Missing") -> int:  # noqa: F821
    return 0


def misspelt(day: "date.nope") -> int:
    return 0


def torn(day: "list[") -> int:  # noqa: F722
    return 0


@pytest.mark.parametrize("function", [spread, named, positional, opened, unknown, misspelt, torn])
def test_a_function_that_cannot_be_a_tool_is_named(function: Callable[..., Any]) -> None:
    with pytest.raises(SpecError, match=f"tool '{function.__name__}'"):
        spec_of(function)


@pytest.mark.parametrize(
    ("annotation", "good", "bad", "schema"),
    [
        (set[int], [3, 1], ["x"], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, str], [1, "a"], ["a", 1], {"type": "array", "minItems": 2, "maxItems": 2}),
        (Annotated[int, Field(gt=0)], 1, 0, {"type": "integer"}),
        (Annotated[str, Field(min_length=2)], "ab", "a", {"type": "string"}),
        (Decimal, "1.50", "x", {"anyOf": [{"type": "number"}, {"type": "string"}]}),
        (UUID, "12345678-1234-5678-1234-567812345678", "12", {"type": "string", "format": "uuid"}),
    ],
    ids=["set", "tuple", "bound", "length", "decimal", "uuid"],
)
def test_what_the_schema_subset_does_not_say_is_checked_when_the_tool_is_called(
    annotation: Any, good: Any, bad: Any, schema: Any
) -> None:
    def take(value: Any) -> str:
        return type(value).__name__

    take.__annotations__["value"] = annotation
    environment = FunctionEnvironment([take])
    assert environment.specs["take"].parameters["properties"]["value"] == schema
    assert asyncio.run(environment.call(ToolCall(tool="take", args={"value": good}))).ok
    error = asyncio.run(environment.call(ToolCall(tool="take", args={"value": bad}))).error
    assert error is not None and error.type == "invalid_arguments"


SOURCE = '''
import math

RATE = 0.2


def gross(net: float, rate: float = 0.2, *, digits: "int | None" = None) -> float:
    """Adds the tax.

    Args:
        net: The net price.
        digits: Where to round.

    Returns:
        The gross price.

    Raises:
        ValueError: If the price is negative.
    """
    return net * (1 + rate)


def helper(items: list) -> dict[str, int]:
    return {}
'''


def test_the_spec_of_untrusted_source() -> None:
    assert spec_from_source(SOURCE, "gross") == ToolSpec(
        name="gross",
        description="Adds the tax.\nError: If the price is negative.",
        parameters={
            "type": "object",
            "properties": {
                "net": {"type": "number", "description": "The net price."},
                "rate": {"type": "number", "default": 0.2},
                "digits": {"type": ["integer", "null"], "default": None, "description": "Where to round."},
            },
            "required": ["net"],
            "additionalProperties": False,
        },
        returns={"type": "number", "description": "The gross price."},
    )


def test_the_last_function_of_a_source_is_its_tool() -> None:
    assert spec_from_source(SOURCE).signature() == "helper(items: list) -> object of integer"
    assert [tool.spec.name for tool in ToolSource.parse_all(SOURCE)] == ["gross", "helper"]


@pytest.mark.parametrize(
    "template",
    [
        "{write}\ndef tool(x: int): return x",
        "@{write}\ndef tool(x: int): return x",
        "def tool(x: int = {write}): return x",
        "def tool(x: {write}): return x",
        "def tool(x: 'list[{write}]'): return x",
        "def tool(x: Literal[{write}]): return x",
        "def tool(x: int) -> {write}: return x",
        "class tool_class({write}): pass\ndef tool(x: int): return x",
    ],
)
def test_nothing_of_untrusted_source_is_executed(template: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    source = template.format(write=f'open("{trace}", "w")')
    try:
        assert spec_from_source(source).name == "tool"
    except SpecError as error:
        assert "'tool'" in str(error)
    assert not trace.exists()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "defines no function"),
        ("x = 1", "defines no function"),
        ("class Tool: pass", "defines no function"),
        ("async def tool(): pass", "line 1: 'tool' is async, and the sandbox runs sync functions only"),
        ("def (", "does not parse"),
        ("def tool():\n    return '\0'", "does not parse"),
        ("def tool(): return " + "(" * 500 + ")" * 500, "does not parse"),
        ("def tool(*values): pass", "tool 'tool': parameter 'values' must be passed by its name"),
        ("def tool(**values): pass", "tool 'tool': parameter 'values' must be passed by its name"),
        ("def tool(value, /): pass", "tool 'tool': parameter 'value' must be passed by its name"),
        ("def tool(value: Decimal): pass", "tool 'tool': annotation 'Decimal' has no JSON type"),
        ("def tool(value) -> set: pass", "tool 'tool': annotation 'set' has no JSON type"),
        ("def tool(value=name): pass", "tool 'tool'"),
        ("def tool(value: 'list['): pass", "tool 'tool'"),
        ("def tool(value={[]: 1}): pass", "tool 'tool'"),
        ("def tool(value: " + " | ".join(["int"] * 1500) + "): pass", "tool 'tool'"),
    ],
    ids=lambda text: text[:40],
)
def test_source_without_a_usable_tool_is_refused(source: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        spec_from_source(source)


@pytest.mark.parametrize("default", ["b''", "1e999", "{1, 2}", "...", "2j"])
def test_a_default_in_source_that_is_no_json_value_is_refused(default: str) -> None:
    with pytest.raises(SpecError, match="tool 'tool'"):
        spec_from_source(f"def tool(value={default}): pass")


def test_a_function_that_is_not_there_is_named() -> None:
    with pytest.raises(SpecError, match="defines no function 'net'"):
        spec_from_source(SOURCE, "net")


@pytest.mark.parametrize("section", ["Args:\n        value", "Args:\n\n    Returns:\n        int: five", "Returns:"])
def test_a_careless_docstring_is_no_error(section: str) -> None:
    spec = spec_from_source(f'def tool(value: int):\n    """Counts things.\n\n    {section}\n    """')
    assert spec.names == ("value",)
    assert spec.description.startswith("Counts things.")


def test_arguments_are_checked_against_the_spec() -> None:
    check = spec_of(search_orders).check
    assert check({"customer": "Ann", "limit": 3}) is None
    assert check({}) == "field 'customer' is missing"
    assert check({"customer": "Ann", "size": 3}) == "field 'size' is not known; known: customer, limit, order"
    assert check({"customer": "Ann", "limit": True}) == "limit: expected integer, got True (boolean)"
    assert check({"customer": "Ann", "order": "up"}) is not None


def test_records_refuse_unknown_fields_and_changes() -> None:
    call = ToolCall(tool="ping")
    assert call.args == {}
    with pytest.raises(ValidationError):
        ToolCall.model_validate({"tool": "ping", "arguments": {}})
    with pytest.raises(ValidationError):
        call.tool = "pong"


def test_an_observation_is_a_value_or_an_error() -> None:
    failed = Observation.failed("timeout", "no result within 5 s")
    assert failed.model_dump() == {
        "value": None,
        "error": {"type": "timeout", "message": "no result within 5 s"},
        "refused_by": "",
    }
    assert (failed.ok, Observation(value=None).ok) == (False, True)
