"""The catalog: every tool documented, distinct, and right on its own examples."""

from collections import Counter

import pytest

from tools_registry import catalog
from tools_registry.sandbox.environments import LocalSandbox
from tools_registry.specs.schema import json_equal

TOOLS = catalog.load()


def test_the_catalog_has_its_tools() -> None:
    assert len(TOOLS) == 358
    assert Counter(tool.category for tool in TOOLS.values()) == {
        "mathematical_computation": 88,
        "data_processing": 97,
        "string_manipulation": 114,
        "logical_reasoning": 59,
    }


def test_every_tool_gives_what_its_examples_say() -> None:
    examples = [(name, example) for name, tool in TOOLS.items() for example in tool.examples]
    with LocalSandbox(list(TOOLS.values())) as sandbox:
        results = sandbox.values([(name, example.args) for name, example in examples])
    wrong = [
        (name, example.args, value, error)
        for (name, example), (value, error) in zip(examples, results, strict=True)
        if error is not None or not json_equal(value, example.result)
    ]
    assert wrong == []


def test_every_tool_has_at_least_three_examples() -> None:
    assert [name for name, tool in TOOLS.items() if len(tool.examples) < 3] == []


def test_every_tool_parameter_and_result_is_documented() -> None:
    undocumented = [
        (name, part)
        for name, tool in TOOLS.items()
        for part, note in {
            "tool": tool.spec.description,
            "result": tool.spec.returns.get("description"),
            **{key: field.get("description") for key, field in tool.spec.parameters["properties"].items()},
        }.items()
        if not note
    ]
    assert undocumented == []


def test_no_two_tools_have_the_same_description() -> None:
    named = Counter(tool.spec.description for tool in TOOLS.values())
    assert [text for text, count in named.items() if count > 1] == []


def test_every_example_fits_the_schema_of_its_tool() -> None:
    misfits = [
        (name, problem)
        for name, tool in TOOLS.items()
        for example in tool.examples
        if (problem := tool.spec.check(example.args)) is not None
    ]
    assert misfits == []


def test_a_tool_is_found_by_its_name() -> None:
    tool = TOOLS["add_days"]
    assert (tool.category, tool.theme) == ("data_processing", "dates")
    assert tool.spec == catalog.specs()["add_days"]
    assert tool.spec.signature() == "add_days(date: string, days: integer) -> string"
    assert tool.examples[0] == catalog.Example(args={"date": "2024-01-30", "days": 3}, result="2024-02-02")
    assert len(catalog.specs()) == len(TOOLS)
    with pytest.raises(KeyError):
        TOOLS["add_weekends"]


def test_the_source_of_a_tool_stands_alone() -> None:
    source = TOOLS["add_days"].source
    assert source.startswith("import datetime\n")
    assert source.count("def ") == 1
    assert "Move a date" not in source
