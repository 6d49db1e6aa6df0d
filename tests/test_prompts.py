"""The prompts: their worked examples are conversations that real agents and sandboxes have again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from flowmind.agents import prompts
from flowmind.agents.plan_execute import PlanExecuteAgent
from flowmind.agents.react import ReActAgent
from flowmind.agents.replies import read_action, read_object, read_plan
from flowmind.agents.turns import Budget
from flowmind.base.files import parse_json
from flowmind.build.brief import execute_brief, summarize_brief
from flowmind.build.brief import without_example as shown
from flowmind.build.draft import DraftEnvironment, Joint
from flowmind.llm.testing import ScriptedChat, plan
from flowmind.protocols import Brief, Message, Stage
from flowmind.trace.events import Trace
from flowmind.trace.task import Example, Task
from flowmind.workflow.expressions import evaluate
from tools_registry import catalog
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.environments import FunctionEnvironment

FOLDER = Path(prompts.__file__).parent
CONVERSATIONS = sorted(
    path.stem
    for path in FOLDER.glob("*.txt")
    if "=== system" in path.read_text("utf-8") and not path.stem.startswith(("worfbench", "ask_", "dialogue", "chain_"))
)
PLANS = [name for name in CONVERSATIONS if name.endswith("_plan")]
ACTIONS = [name for name in CONVERSATIONS if not name.endswith("_plan")]


def word_count(text: str) -> int:
    """Count the words of a text, separated by whitespace."""
    return len(text.split())


def keep_words(text: str, count: int) -> str:
    """Keep the first words of a text."""
    return " ".join(text.split()[:count])


def upper_case(text: str) -> str:
    """Write a text in capital letters."""
    return text.upper()


def add_fee(cents: int, fee: int) -> int:
    """Add a fee to a price in cents."""
    return cents + fee


def with_unit(value: int, unit: str) -> str:
    """Write a number and a unit with a space between them."""
    return f"{value} {unit}"


def halve(value: int) -> int:
    """Divide a number by two and drop the rest."""
    return value // 2


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (word_count, keep_words, upper_case, add_fee, with_unit, halve)
}


def examples(name: str) -> list[list[Message]]:
    """The worked examples of a conversation, each from the message that sets its task."""
    found: list[list[Message]] = []
    for part in prompts.conversation(name)[1:]:
        if part.role == "user" and "Task:\n" in part.content:
            found.append([])
        found[-1].append(part)
    return found


WORKED = [(name, number) for name in CONVERSATIONS for number in range(len(examples(name)))]


def business(opening: str) -> FunctionEnvironment:
    """The tools that an opening message documents."""
    return FunctionEnvironment([FUNCTIONS[name] for name in re.findall(r"^(\w+)\(.*\) ->", opening, re.MULTILINE)])


def task_of(opening: str) -> Task:
    """The task that an opening message states; the worked example comes first, with null for its answer."""
    query = opening.split("Task:\n")[1].split("\n\nInputs:")[0]
    fields = re.findall(r"^- (\w+) \((\w+)\): (.*)$", opening, re.MULTILINE)
    properties = {name: {"type": kind, "description": note} for name, kind, note in fields}
    other = re.search(r"^Input: (.*)\nOutput: (.*)$", opening, re.MULTILINE)
    worked = re.search(r"^Work on this input: (.*)$", opening, re.MULTILINE)
    traced = re.search(r"^Trace 1.*\nInput: (.*)$", opening, re.MULTILINE)
    given = worked or traced
    assert other and given
    return Task(
        id="worked",
        query=query,
        inputs={"type": "object", "properties": properties, "required": list(properties)},
        examples=(
            Example(input=parse_json(given[1]), output=None),
            Example(input=parse_json(other[1]), output=parse_json(other[2])),
        ),
    )


def world(name: str, opening: str) -> Environment:
    """The sandbox of a conversation's stage."""
    tools = business(opening)
    draft = DraftEnvironment(tools.specs, task_of(opening).inputs)
    if name.startswith("summarize"):
        return draft
    return Joint(tools, draft) if name.startswith("single") else tools


def had_again(name: str, parts: Sequence[Message]) -> tuple[Trace, list[Message]]:
    """The trace and the messages that a worked example gives when its replies go to a real agent."""
    stage, opening = name.partition("_")[0], parts[0].content
    replies = [part.content for part in parts if part.role == "assistant"]
    brief: dict[str, Any] = {"stage": stage, "task": opening, "references": name.endswith("_refs")}
    if brief["references"]:
        brief["inputs"] = task_of(opening).examples[0].input
    if "\n\nPlan:\n" in opening:
        task, _, rest = opening.partition("\n\nPlan:\n")
        steps = re.findall(r"^\d+\. (.*)$", rest.partition("\n\n")[0], re.MULTILINE)
        brief["task"] = task
        replies.insert(0, plan(*steps))
        agent_kind: type[ReActAgent | PlanExecuteAgent] = PlanExecuteAgent
    else:
        agent_kind = ReActAgent
    chat = ScriptedChat(replies)
    trace = asyncio.run(agent_kind(chat).execute(Brief(**brief), world(name, opening)))
    last = chat.requests[-1].messages
    return trace, list(last[len(last) - len(parts) + 1 :])


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_user_and_assistant_alternate_after_the_system_part(name: str) -> None:
    roles = [part.role for part in prompts.conversation(name)]
    assert roles == ["system"] + ["user", "assistant"] * (len(roles) // 2)
    assert len(roles) >= 3


@pytest.mark.parametrize("name", ACTIONS)
def test_every_action_in_a_worked_example_has_the_asked_form(name: str) -> None:
    said = [part.content for part in prompts.conversation(name) if part.role == "assistant"]
    assert [read_action(text)[1] for text in said] == ["clean"] * len(said)


@pytest.mark.parametrize("name", PLANS)
def test_every_plan_in_a_worked_example_has_the_asked_form(name: str) -> None:
    said = [part.content for part in prompts.conversation(name) if part.role == "assistant"]
    assert [read_plan(text)[1] for text in said] == ["clean"] * len(said)


@pytest.mark.parametrize(("name", "number"), [pair for pair in WORKED if pair[0] in ACTIONS])
def test_a_real_agent_has_the_worked_example_word_for_word(name: str, number: int) -> None:
    parts = examples(name)[number]
    trace, messages = had_again(name, parts)
    assert trace.stop == "finish"
    assert all(step.observation.ok for step in trace.calls)
    assert messages == parts[:-1]


@pytest.mark.parametrize(("name", "number"), [pair for pair in WORKED if not pair[0].startswith("summarize")])
def test_an_executor_s_worked_example_is_set_as_a_real_task_is(name: str, number: int) -> None:
    opening = examples(name)[number][0].content
    real = execute_brief(task_of(opening), 0, business(opening).specs).task
    assert opening.partition("\n\nPlan:\n")[0] == real


@pytest.mark.parametrize(("name", "number"), [pair for pair in WORKED if pair[0].startswith("summarize")])
def test_a_summarizer_s_worked_example_shows_a_real_trace(name: str, number: int) -> None:
    opening = examples(name)[number][0].content
    task, tools = task_of(opening), business(opening)
    calls = re.findall(r"^\d+\. (\w+)\((\{.*\})\) -> ", opening, re.MULTILINE)
    replies = [f'{{"reasoning":"","action":"{tool}","action_input":{args}}}' for tool, args in calls]
    answer = re.findall(r"^Answer: (.*)$", opening, re.MULTILINE)[-1]
    replies.append(f'{{"reasoning":"","action":"finish","action_input":{{"answer":{answer}}}}}')
    brief = execute_brief(task, 0, tools.specs)
    trace = asyncio.run(ReActAgent(ScriptedChat(replies)).execute(brief, tools))
    real = summarize_brief(shown(task, 0), [trace], tools.specs).task
    assert opening.partition("\n\nPlan:\n")[0] == real


@pytest.mark.parametrize("number", [0, 1])
def test_a_worked_choice_is_one_of_the_behaviours(number: int) -> None:
    parts = examples("ask_choice")[number]
    assert re.search(r"^The case: .* = ", parts[0].content, re.MULTILINE)
    numbers = re.findall(r"^(\d): .* is called$", parts[0].content, re.MULTILINE)
    choice = read_object(parts[1].content, "choice")["choice"]
    assert str(choice) in numbers and numbers == ["1", "2"]


def test_a_worked_question_about_a_way_reads_the_result_and_holds_in_no_record() -> None:
    for parts in examples("ask_arm"):
        rows = re.findall(r"^- (\w+)(?: \(.*\))?: (.*)$", parts[0].content, re.MULTILINE)
        columns = {name: [parse_json(text) for text in values.split(" | ")] for name, values in rows}
        unread = re.search(r"Nothing reads the result of (\w+)", parts[0].content)
        answers = re.search(r"^The answers: (.*)$", parts[0].content, re.MULTILINE)
        assert unread is not None and answers is not None and unread[1] in columns
        reply = read_object(parts[1].content, "expr", "answer")
        if not reply["expr"]:
            assert reply["answer"] == "" and "otherwise" not in parts[0].content
            continue
        assert unread[1] in reply["expr"]
        for record, told in enumerate(answers[1].split(" | ")):
            env = {name: values[record] for name, values in columns.items()}
            assert evaluate(reply["expr"], env) is False
            assert evaluate(reply["answer"], env).keys() == parse_json(told).keys()


def test_a_worked_expression_gives_the_values_of_its_records() -> None:
    for parts in examples("ask_value"):
        rows = re.findall(r"^- (\w+): (.*)$", parts[0].content, re.MULTILINE)
        columns = {name: [parse_json(text) for text in values.split(" | ")] for name, values in rows}
        values = re.search(r"^The values of [\w.]+: (.*)$", parts[0].content, re.MULTILINE)
        assert values is not None
        expr = read_object(parts[1].content, "expr")["expr"]
        for record, value in enumerate(values[1].split(" | ")):
            assert evaluate(expr, {name: own[record] for name, own in columns.items()}) == parse_json(value)


def test_the_last_worked_example_of_each_conversation_is_a_line_with_a_constant() -> None:
    for name in ("summarize_react", "summarize_build", "single_react", "single_step"):
        calls = [read_action(part.content)[0].call for part in examples(name)[-1] if part.role == "assistant"]
        edits = [call for call in calls if call.tool.startswith("add_")]
        nodes = [call for call in edits if call.tool == "add_function_node"]
        assert {call.tool for call in edits} <= {"add_function_node", "add_end_node", "add_fee"}
        assert any(not isinstance(value, str) for node in nodes for value in node.args["args"].values())


def test_no_tool_of_a_worked_example_is_in_the_catalog() -> None:
    named = {
        tool
        for name in CONVERSATIONS
        for parts in examples(name)
        for tool in re.findall(r"^(\w+)\(.*\) ->", parts[0].content, re.MULTILINE)
    }
    assert {"add_fee", "with_unit"} <= named <= set(FUNCTIONS)
    assert named & set(catalog.load()) == set()


@pytest.mark.parametrize("stage", ["execute", "summarize", "single"])
@pytest.mark.parametrize("kind", [ReActAgent, PlanExecuteAgent])
def test_what_is_sent_has_no_field_left_to_fill(stage: Stage, kind: type[ReActAgent | PlanExecuteAgent]) -> None:
    chat = ScriptedChat([plan("Halve it."), *["no"] * 6])
    brief = Brief(stage=stage, task="Task:\nHalve 4.")
    asyncio.run(kind(chat, Budget(turns=3)).execute(brief, FunctionEnvironment([halve])))
    sent = [message.content for request in chat.requests for message in request.messages]
    assert len(chat.requests) == 3
    assert [content for content in sent if "$" in content] == []


def test_a_prompt_without_a_value_for_a_field_is_refused() -> None:
    with pytest.raises(KeyError, match="reason"):
        prompts.render("unreadable_action")


def test_a_value_with_a_dollar_sign_comes_through() -> None:
    assert "costs $5 and $reason" in prompts.render("unreadable_action", reason="costs $5 and $reason")


def test_messages_of_a_request_are_those_of_the_conversation_file() -> None:
    chat = ScriptedChat(['{"action": "finish", "action_input": {"answer": null}}'])
    asyncio.run(ReActAgent(chat).execute(Brief(stage="execute", task="Task:\nHalve 4."), FunctionEnvironment([halve])))
    first = prompts.conversation("execute_react")
    assert chat.requests[0].messages == (*first, Message(role="user", content="Task:\nHalve 4."))
