"""Reading what models write instead of the JSON object they were asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flowmind.agents.replies import Plan, Unreadable, read_action, read_plan
from tools_registry.specs.spec import ToolCall

ADD = '{"reasoning": "sum", "action": "add", "action_input": {"a": 1, "b": 2}}'
ADDED = ToolCall(tool="add", args={"a": 1, "b": 2})


@pytest.mark.parametrize("text", [ADD, f"\n  {ADD}\n", ADD.replace(": ", " :\n")])
def test_the_asked_form_is_clean(text: str) -> None:
    found, how = read_action(text)
    assert (found.call, found.reasoning, how) == (ADDED, "sum", "clean")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"```json\n{ADD}\n```", id="code fence"),
        pytest.param(f"Let me add {{a}} and {{b}} first.\n{ADD}\nThat should {{do}}.", id="prose with braces"),
        pytest.param(f"<think>maybe {ADD.replace('add', 'multiply')}</think>\n{ADD}", id="thinking before it"),
        pytest.param(f"{ADD}\n{ADD.replace('add', 'multiply')}", id="two objects, the first counts"),
        pytest.param(f'{{"note": "no action"}} {ADD}', id="another object before it"),
        pytest.param(f"[{ADD}]", id="an array around it"),
        pytest.param(f"\ufeff{ADD}", id="byte order mark"),
        pytest.param(f"<tool_call>{ADD}</tool_call>", id="tags around it"),
        pytest.param(ADD.replace("2}}", "2,},}"), id="trailing commas"),
        pytest.param(ADD.replace('"', "'"), id="single quotes"),
        pytest.param(ADD.replace("2}}", "2} // both numbers\n}"), id="a comment in it"),
        pytest.param(ADD.replace('"a"', "a").replace('"b"', "b"), id="keys without quotes"),
        pytest.param(ADD.removesuffix("}}"), id="cut off before the closing braces"),
    ],
)
def test_a_damaged_action_is_recovered(text: str) -> None:
    found, how = read_action(text)
    assert (found.call, found.reasoning, how) == (ADDED, "sum", "recovered")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"name": "add", "arguments": {"a": 1, "b": 2}}', id="function call"),
        pytest.param('{"name": "add", "arguments": "{\\"a\\": 1, \\"b\\": 2}"}', id="arguments as text"),
        pytest.param('{"action": "add", "action_input": "{\\"a\\": 1, \\"b\\": 2}"}', id="input as text"),
        pytest.param('{"action": "add", "a": 1, "b": 2}', id="fields beside the action"),
        pytest.param('{"thought": "sum", "action": "add", "args": {"a": 1, "b": 2}}', id="other words"),
    ],
)
def test_other_shapes_of_a_call_are_recovered(text: str) -> None:
    found, how = read_action(text)
    assert (found.call, how) == (ADDED, "recovered")


@pytest.mark.parametrize(
    ("text", "args", "how"),
    [
        ('{"action": "f", "action_input": {"s": "a } b { c \\" }"}}', {"s": 'a } b { c " }'}, "clean"),
        ('so: {"action": "f", "action_input": {"s": "a } b { c"}} }', {"s": "a } b { c"}, "recovered"),
        (
            "{'action': 'f', 'action_input': {'x': True, 'y': None, 't': \"it's\"}}",
            {"x": True, "y": None, "t": "it's"},
            "recovered",
        ),
        ('{"action": "f", "action_input": {"t": "two\nlines"}}', {"t": "two\nlines"}, "recovered"),
        ('{"action": "f", "action_input": null}', {}, "recovered"),
        ('{"action": "f", "action_input": {"t": "cut in the mid', {"t": "cut in the mid"}, "recovered"),
        ('{"action": "add", "name": "Ann"}', {"name": "Ann"}, "recovered"),
        (f'{{"action": "f", "action_input": {{"t": "{"x" * 90_000}"}}}}', {"t": "x" * 90_000}, "clean"),
    ],
    ids=["braces", "braces in prose", "python", "newline", "null", "cut text", "a field called name", "long"],
)
def test_arguments_come_through_whole(text: str, args: dict[str, Any], how: str) -> None:
    found, read_as = read_action(text)
    assert (found.call.args, read_as) == (args, how)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I add 1 and 2, which gives 3.",
        "Action: add\nAction Input: 1, 2",
        "{}",
        '{"reasoning": "no action", "action_input": {"a": 1}}',
        '{"action": "", "action_input": {}}',
        '{"action": 7, "action_input": {}}',
        '{"action": "add", "action_input": [1, 2]}',
        '{"action": "add", "action_input": "1 and 2"}',
        f"<think>{ADD}",
        "[1, 2, 3]",
        "null",
        ADD.replace('"sum"', f'"{"s" * 100_000}"'),
    ],
)
def test_what_holds_no_action_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        read_action(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{" * 3_000, id="open braces"),
        pytest.param('{"a":' * 20_000, id="an object without end"),
        pytest.param(f"{'[' * 3_000}{{", id="open brackets"),
        pytest.param(f'{{"action": "f", "action_input": {{"x": {"[" * 5_000}{"]" * 5_000}}}}}', id="deep brackets"),
    ],
)
def test_bottomless_nesting_is_unreadable_like_anything_else(text: str) -> None:
    with pytest.raises(Unreadable):
        read_action(text)


@pytest.mark.parametrize(
    "given",
    ["NaN", "-Infinity", "1e999", '"\\ud83d"', "{1, 2}", "b'raw'", "(1, 2)", "1+2j", "{1: 2}"],
)
@pytest.mark.parametrize("form", ['{"action": "f", "action_input": {"x": %s}}', "{'action': 'f', 'args': {'x': %s}}"])
def test_whatever_is_read_is_strict_json(form: str, given: str) -> None:
    try:
        args = read_action(form % given)[0].call.args
    except Unreadable:
        return
    written = json.dumps(args, allow_nan=False, ensure_ascii=False).encode()
    assert json.loads(written) == args


def test_an_object_whose_keys_are_numbers_is_repaired() -> None:
    found, how = read_action("{'action': 'f', 'action_input': {1: 2}}")
    assert (found.call.args, how) == ({"1": 2}, "recovered")


def test_a_reason_that_is_no_text_is_kept_as_json() -> None:
    found, _ = read_action('{"reasoning": ["first", 2], "action": "add", "action_input": {"a": 1, "b": 2}}')
    assert json.loads(found.reasoning) == ["first", 2]


@pytest.mark.parametrize(
    ("text", "plan", "how"),
    [
        ('{"analysis": "two", "steps": ["add", "double"]}', Plan("two", ("add", "double")), "clean"),
        ('```\n{"analysis": "two", "steps": ["add"]}\n```', Plan("two", ("add",)), "recovered"),
        ('{"plan": ["add"]}', Plan("", ("add",)), "recovered"),
        ('{"steps": [{"step": "add"}, {"description": "double"}]}', Plan("", ("add", "double")), "recovered"),
        ('{"analysis": "a", "steps": ["add", "double"', Plan("a", ("add", "double")), "recovered"),
        ('{"analysis": null, "steps": ["add"]}', Plan("", ("add",)), "clean"),
    ],
    ids=["asked form", "fence", "other word", "steps as objects", "cut off", "no analysis"],
)
def test_plans_are_read_in_the_same_stages(text: str, plan: Plan, how: str) -> None:
    assert read_plan(text) == (plan, how)


@pytest.mark.parametrize(
    "text", ['{"steps": []}', '{"steps": "add, then double"}', '["add"]', "1. add\n2. double", ADD]
)
def test_what_holds_no_steps_is_no_plan(text: str) -> None:
    with pytest.raises(Unreadable):
        read_plan(text)


def test_what_stands_before_a_closing_tag_is_thought() -> None:
    thoughts = 'I could call {"action": "wrong", "action_input": {}} now.'
    action, how = read_action(f'{thoughts}</think>{{"action": "right", "action_input": {{}}}}')
    assert (action.call.tool, how) == ("right", "recovered")
    with pytest.raises(Unreadable):
        read_action(f"{thoughts}</think>I do not know.")
