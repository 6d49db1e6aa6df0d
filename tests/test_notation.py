"""Bindings as text: what is written is read back equal, and what is no binding is refused with the column."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowmind.formats.notation import Misread, Reader, read_binding, write_binding
from flowmind.workflow.document import Binding, ListOf, Literal_, ObjectOf, Var

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,63}", fullmatch=True).filter(
    lambda name: name not in ("true", "false", "null")
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
STEPS = st.lists(TEXTS | st.integers(-(10**6), 10**6), max_size=3)
VARIABLES = st.builds(lambda name, path: Var(var=name, path=tuple(path)), NAMES, STEPS)


def varied(binding: Binding) -> bool:
    return not isinstance(binding, Literal_)


def holding(inner: st.SearchStrategy[Binding]) -> st.SearchStrategy[Binding]:
    """Lists and objects with a variable in them: without one, they read as one constant."""
    lists = st.lists(inner, min_size=1, max_size=3).filter(lambda parts: any(map(varied, parts)))
    objects = st.dictionaries(TEXTS, inner, min_size=1, max_size=3).filter(
        lambda parts: any(map(varied, parts.values()))
    )
    return lists.map(lambda parts: ListOf(list=tuple(parts))) | objects.map(lambda parts: ObjectOf(object=parts))


CONSTANTS = VALUES.map(lambda value: Literal_(value=value))
BINDINGS: st.SearchStrategy[Binding] = st.recursive(VARIABLES | CONSTANTS, holding, max_leaves=8)


@settings(max_examples=100, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(BINDINGS)
def test_what_is_written_is_read_back_equal(binding: Binding) -> None:
    again = read_binding(write_binding(binding))
    assert again == binding
    assert write_binding(again) == write_binding(binding)


@pytest.mark.parametrize(
    ("text", "binding"),
    [
        ("n", Var(var="n")),
        ("order.items[0].price", Var(var="order", path=("items", 0, "price"))),
        (' xs[ -1 ]["a.b"] ', Var(var="xs", path=(-1, "a.b"))),
        ("null", Literal_(value=None)),
        ("nullable", Var(var="nullable")),
        ("-2.5e3", Literal_(value=-2500.0)),
        ('"say \\"hi\\""', Literal_(value='say "hi"')),
        ("[1, {a: true}]", Literal_(value=[1, {"a": True}])),
        ("[n, 1]", ListOf(list=(Var(var="n"), Literal_(value=1)))),
        ('{total: t, "a b": [x]}', ObjectOf(object={"total": Var(var="t"), "a b": ListOf(list=(Var(var="x"),))})),
    ],
)
def test_bindings_that_people_write(text: str, binding: Binding) -> None:
    assert read_binding(text) == binding


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: expected a value, found ''"),
        ("n +", "column 3: unexpected '+'"),
        ("[n 1]", "column 4: expected ',', found '1]'"),
        ("{a: 1, a: 2}", "column 8: 'a' comes twice"),
        ("{1: 2}", "column 2: expected a name, found '1: 2}'"),
        ("x.0", "column 3: expected a name, found '0'"),
        ("NaN(", "column 4: unexpected '('"),
        ("-Infinity", "column 1: -inf is not a JSON number"),
        ('"\\ud800"', "column 1: a string with a lone surrogate is not JSON"),
        ("x[" + "1" * 5_000 + "]", "column 2: unexpected '[1111111111111111111'"),
        ("a" * 65, "column 1: a name of 65 characters, at most 64 are allowed"),
        ("[" * 61, "column 61: nests too deeply"),
    ],
)
def test_what_is_no_binding_is_refused_with_the_column(text: str, message: str) -> None:
    with pytest.raises(Misread) as refused:
        read_binding(text)
    assert str(refused.value) == message


def test_a_variable_that_reads_as_a_constant_is_not_written() -> None:
    with pytest.raises(ValueError, match="a variable named 'true' reads as a constant"):
        write_binding(Var(var="true"))


@pytest.mark.parametrize(
    ("text", "bound"),
    [(")", {}), ("a=1)", {"a": 1}), (' a = 1 , b="x")', {"a": 1, "b": "x"})],
)
def test_arguments(text: str, bound: dict[str, Any]) -> None:
    assert Reader(text).arguments() == {name: Literal_(value=value) for name, value in bound.items()}


@pytest.mark.parametrize("text", ["a=1, a=2)", "a=1", "a)", "=1)"])
def test_what_are_no_arguments(text: str) -> None:
    with pytest.raises(Misread):
        Reader(text).arguments()
