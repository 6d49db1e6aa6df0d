"""Annotations to schemas, schemas to validators, and JSON equality."""

import ast
from fractions import Fraction
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools_registry.specs.schema import (
    SchemaError,
    check_schema,
    from_annotation,
    json_equal,
    type_label,
    validator,
)

REPEATABLE = settings(deadline=None, derandomize=True, database=None)

atoms = st.sampled_from([None, True, False, 0, 1, 2, -1, 0.0, 1.0, 0.5, 2**53 + 1, float(2**53), "", "a", "1"])
json_values = st.recursive(
    atoms,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


def schema_of(annotation: str) -> dict[str, Any]:
    return from_annotation(ast.parse(annotation, mode="eval").body)


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        ("int", {"type": "integer"}),
        ("float", {"type": "number"}),
        ("None", {"type": "null"}),
        ("Any", {}),
        ("list", {"type": "array"}),
        ("list[int]", {"type": "array", "items": {"type": "integer"}}),
        ("List[Any]", {"type": "array", "items": {}}),
        ("dict", {"type": "object"}),
        ("dict[str, bool]", {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (
            "dict[str, list[str]]",
            {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
        ),
        ("Literal['asc', 'desc']", {"enum": ["asc", "desc"]}),
        ("Literal[1, -1, None, True]", {"enum": [1, -1, None, True]}),
        ("Optional[str]", {"type": ["string", "null"]}),
        ("int | str", {"type": ["integer", "string"]}),
        ("int | int", {"type": ["integer"]}),
        ("int | float | str", {"type": ["integer", "number", "string"]}),
        ("Optional[Union[int, str]]", {"type": ["integer", "string", "null"]}),
        ("int | Any", {}),
        ("list[int] | None", {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}),
        (
            "Union[int, list, Literal['a']]",
            {"anyOf": [{"type": "integer"}, {"type": "array"}, {"enum": ["a"]}]},
        ),
        ("'list[float]'", {"type": "array", "items": {"type": "number"}}),
    ],
)
def test_an_annotation_has_a_schema(annotation: str, schema: dict[str, Any]) -> None:
    assert schema_of(annotation) == schema


def test_no_annotation_is_any_value() -> None:
    assert from_annotation(None) == {}


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ("complex", "'complex' has no JSON type"),
        ("tuple[int, int]", "tuple"),
        ("set[int]", "set"),
        ("typing.List[int]", "typing.List"),
        ("dict[int, str]", "keys of a JSON object are strings"),
        ("dict[str]", "dict"),
        ("list[int, str]", "list"),
        ("lambda: int", "lambda"),
        ("list[print(1)]", "print"),
    ],
)
def test_an_annotation_without_a_json_type_is_refused(annotation: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        schema_of(annotation)


@pytest.mark.parametrize(
    "annotation",
    ["Literal[b'x']", "Literal[...]", "Literal[name]", "'list['", " | ".join(["int"] * 1_500)],
    ids=lambda text: text[:24],
)
def test_an_annotation_that_cannot_be_read_is_refused_too(annotation: str) -> None:
    with pytest.raises(SchemaError):
        schema_of(annotation)


@pytest.mark.parametrize(
    "schema",
    [
        "string",
        [],
        None,
        False,
        {"type": "text"},
        {"type": []},
        {"type": ["string", 3]},
        {"type": [["string"]]},
        {"pattern": "^a"},
        {"minLength": 1},
        {"uniqueItems": True},
        {"oneOf": [{"type": "string"}]},
        {"not": {}},
        {"properties": {"a": {"exclusiveMinimum": 0}}},
        {"properties": []},
        {"required": "a"},
        {"required": [1]},
        {"additionalProperties": "no"},
        {"items": [{"type": "string"}]},
        {"enum": "ab"},
        {"anyOf": []},
        {"minimum": "1"},
        {"maxItems": True},
        {"$ref": "#/$defs/Missing"},
        {"$ref": "https://example.org/other.json"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"format": "date", "pattern": "x"}}},
        {"$ref": "#/$defs/A", "pattern": "x", "$defs": {"A": {}}},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
    ],
    ids=str,
)
def test_a_schema_outside_the_subset_is_refused_when_it_is_loaded(schema: Any) -> None:
    with pytest.raises(SchemaError):
        check_schema(schema)


def test_a_refusal_says_where() -> None:
    with pytest.raises(SchemaError, match=r"schema\.rows\.items\.name: keyword 'pattern' is outside"):
        check_schema({"properties": {"rows": {"items": {"properties": {"name": {"pattern": "a"}}}}}})


def test_a_schema_nested_without_end_is_refused() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(5_000):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SchemaError, match="nested deeper"):
        check_schema(schema)


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "integer"}, "a", "expected integer, got 'a' (string)"),
        ({"type": "integer"}, True, "expected integer, got True (boolean)"),
        ({"type": "integer"}, 1.5, "expected integer, got 1.5 (number)"),
        ({"type": "integer"}, 5.0, None),
        ({"type": "number"}, float("nan"), "expected number, got nan (number)"),
        ({"type": ["string", "null"]}, 3, "expected string or null, got 3 (integer)"),
        ({"enum": ["asc", "desc"]}, "up", "expected 'asc' (string) or 'desc' (string), got 'up' (string)"),
        ({"const": 1}, True, "expected 1 (integer), got True (boolean)"),
        ({"minimum": 0}, -1, "minimum is 0, got -1 (integer)"),
        ({"maximum": 9}, 9.5, "maximum is 9, got 9.5 (number)"),
        ({"minimum": 0, "maximum": 9}, 9, None),
        ({"minimum": 0, "maximum": 9}, 0, None),
        ({"minItems": 1, "maxItems": 1}, [5], None),
        ({"minItems": 1}, [], "minItems is 1, got [] (array)"),
        ({"maxItems": 1}, [1, 2], "maxItems is 1, got [1, 2] (array)"),
        ({"items": {"type": "string"}}, ["a", 2], "[1]: expected string, got 2 (integer)"),
        ({"required": ["name"]}, {}, "field 'name' is missing"),
        (
            {"properties": {"a": {}, "b": {}}, "additionalProperties": False},
            {"c": 1},
            "field 'c' is not known; known: a, b",
        ),
        (
            {"properties": {"rows": {"items": {"properties": {"n": {"type": "integer"}}}}}},
            {"rows": [{"n": 1}, {"n": "x"}]},
            "rows[1]: n: expected integer, got 'x' (string)",
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            3,
            "expected string, got 3 (integer); or expected null, got 3 (integer)",
        ),
    ],
    ids=str,
)
def test_a_problem_says_where_and_why(schema: Any, value: Any, problem: str | None) -> None:
    assert validator(schema)(value) == problem


def test_a_long_value_is_cut_in_the_message() -> None:
    problem = validator({"type": "integer"})("x" * 10_000)
    assert problem is not None
    assert len(problem) < 150
    assert problem.endswith("… (string)")


def test_a_schema_may_refer_to_itself() -> None:
    tree = {
        "$defs": {
            "Tree": {
                "type": "object",
                "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
                "required": ["kids"],
            }
        },
        "$ref": "#/$defs/Tree",
    }
    check = validator(tree)
    assert check({"kids": [{"kids": []}, {"kids": [{"kids": []}]}]}) is None
    assert check({"kids": [{"kids": []}, {}]}) == "kids[1]: field 'kids' is missing"


def test_a_constraint_beside_a_reference_holds() -> None:
    schema = {"$defs": {"Row": {"type": "array"}}, "$ref": "#/$defs/Row", "minItems": 2}
    assert validator(schema)([]) == "minItems is 2, got [] (array)"


def test_notes_do_not_constrain() -> None:
    schema = {"title": "T", "description": "d", "default": 1, "examples": [2], "format": "date"}
    assert validator(schema)("anything") is None


schemas = st.recursive(
    st.one_of(
        st.just({}),
        st.sampled_from(["integer", "number", "string", "boolean", "null", "array", "object"]).map(
            lambda name: {"type": name}
        ),
        st.just({"type": ["string", "integer"]}),
        st.lists(json_values, min_size=1, max_size=3).map(lambda options: {"enum": options}),
        json_values.map(lambda value: {"const": value}),
        st.fixed_dictionaries({}, optional={key: st.integers(0, 2) for key in ("minimum", "maximum")}),
        st.fixed_dictionaries({}, optional={key: st.integers(0, 2) for key in ("minItems", "maxItems")}),
    ),
    lambda inner: st.one_of(
        st.builds(lambda item: {"items": item}, inner),
        st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=2)),
        st.fixed_dictionaries(
            {"properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2)},
            optional={
                "required": st.lists(st.sampled_from("ab"), unique=True),
                "additionalProperties": st.booleans() | inner,
            },
        ),
    ),
    max_leaves=4,
)


@settings(REPEATABLE, max_examples=400)
@given(schema=schemas, value=json_values)
def test_on_the_subset_a_value_fits_as_the_jsonschema_library_has_it(schema: Any, value: Any) -> None:
    fits = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (validator(schema)(value) is None) == fits


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (0, -0.0, True),
        (0.1 + 0.2, 0.3, False),
        (2**53 + 1, float(2**53), False),
        (True, 1, False),
        (0, False, False),
        (True, True, True),
        (None, None, True),
        (None, 0, False),
        (None, False, False),
        ("1", 1, False),
        ("", [], False),
        ([], {}, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ([1.0, [2]], [1, [2.0]], True),
        ([[True]], [[1]], False),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, True),
        ({"a": None}, {}, False),
        ({"a": [{"b": True}]}, {"a": [{"b": 1}]}, False),
    ],
)
def test_json_equality(left: Any, right: Any, equal: bool) -> None:
    assert json_equal(left, right) is equal
    assert json_equal(right, left) is equal


def canonical(value: Any) -> Any:
    """A hashable form that is the same for equal JSON values, and for no others."""
    match value:
        case bool() | str() | None:
            return type(value), value
        case int() | float():
            return "number", Fraction(value)
        case list():
            return "list", tuple(map(canonical, value))
        case _:
            return "object", frozenset((key, canonical(item)) for key, item in value.items())


@settings(REPEATABLE, max_examples=400)
@given(left=json_values, right=json_values)
def test_json_equality_is_equality_of_canonical_forms(left: Any, right: Any) -> None:
    assert json_equal(left, right) == (canonical(left) == canonical(right))


@pytest.mark.parametrize(
    ("schema", "label"),
    [
        ({}, "any"),
        ({"type": "array", "items": {"type": "number"}}, "list[number]"),
        ({"type": "array"}, "list"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"enum": ["asc", "desc"]}, "'asc' | 'desc'"),
        ({"type": "object"}, "object"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "object of integer"),
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}, "{a: string, b: any}"),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, "list | null"),
    ],
    ids=str,
)
def test_a_schema_has_a_short_label(schema: Any, label: str) -> None:
    assert type_label(schema) == label
