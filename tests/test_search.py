"""The embedded model: what it finds, that it finds it again, and that it gives up honestly."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import pytest
from tiny import judged

from flowmind.agents import prompts
from flowmind.agents.replies import read_action, read_plan
from flowmind.api.solving import Solution, solve
from flowmind.build import brief as brief_module
from flowmind.build.brief import execute_brief
from flowmind.build.settings import BUILDING, Mode, Settings
from flowmind.llm.search.model import SearchModel
from flowmind.llm.search.thinking import Thinker
from flowmind.protocols import ChatRequest, Message, Reply
from flowmind.run.running import run_batch
from flowmind.trace.task import Example, Task
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry.sandbox.environments import LocalSandbox, ToolSource

SOURCE = '''
from flowmind import tool

@tool(effect="read")
def total(numbers: list[float]) -> float:
    """Add up numbers."""
    return sum(numbers)

@tool(effect="read")
def scale(value: float, factor: float) -> float:
    """Multiply a value by a factor."""
    return value * factor

@tool(effect="read")
def keep_above(numbers: list[float], limit: float) -> list[float]:
    """Keep the numbers that are above a limit."""
    return [n for n in numbers if n > limit]

@tool(effect="read")
def label(value: float, unit: str) -> str:
    """Write a value and its unit."""
    return f"{value:g} {unit}"

@tool(effect="read")
def count(items: list[float]) -> int:
    """Count the items of a list."""
    return len(items)

@tool(effect="read")
def capitals(text: str) -> str:
    """Write a text in capital letters."""
    return text.upper()
'''
SOURCES = ToolSource.parse_all(SOURCE)
NUMBERS = {"numbers": {"type": "array", "items": {"type": "number"}}}


def task(query: str, answer: Callable[..., Any], inputs: Sequence[dict[str, Any]], fields: dict[str, Any]) -> Task:
    return Task(
        id="task",
        query=query,
        inputs={"type": "object", "properties": fields, "required": list(fields)},
        examples=tuple(Example(input=given, output=answer(*given.values())) for given in inputs),
    )


def on_numbers(query: str, answer: Callable[[list[float]], Any]) -> Task:
    lists = ([3, 8, 12, 1], [7, 5, 20], [6, 9, 4])
    return task(query, answer, [{"numbers": numbers} for numbers in lists], NUMBERS)


def above_five(numbers: list[float]) -> list[float]:
    return [number for number in numbers if number > 5]


TWO = on_numbers("Add up the numbers and multiply the sum by 3.", lambda numbers: sum(numbers) * 3)
THREE = on_numbers(
    "Keep the numbers above 5, add them up and show the sum with the unit 'kg'.",
    lambda numbers: f"{sum(above_five(numbers))} kg",
)
FOUR = on_numbers(
    "Keep the numbers above 5, add them up, multiply the sum by 3 and show it with the unit 'kg'.",
    lambda numbers: f"{3 * sum(above_five(numbers))} kg",
)
RECORD = on_numbers(
    "Give the sum of the numbers above 5 as 'total' and how many of these there are as 'count'.",
    lambda numbers: {"total": sum(above_five(numbers)), "count": len(above_five(numbers))},
)
SORTING = on_numbers("Sort the numbers.", sorted)


@pytest.fixture(scope="module")
def tools() -> Iterator[LocalSandbox]:
    with LocalSandbox(SOURCES) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def model(tools: LocalSandbox) -> SearchModel:
    """One for all modes: what it has thought about a task, it need not think again."""
    return SearchModel(Thinker(tools.values))


def solved(wanted: Task, tools: LocalSandbox, mode: Mode = "es-pe", model: SearchModel | None = None) -> Solution:
    return asyncio.run(solve(wanted, tools, model or SearchModel(Thinker(tools.values)), Settings(mode=mode)))


def answers(solution: Solution, tools: LocalSandbox, inputs: Sequence[dict[str, Any]]) -> list[Any]:
    assert solution.workflow is not None
    return [trace.answer for trace in run_batch(solution.workflow, inputs, tools)]


@pytest.mark.parametrize("mode", BUILDING)
@pytest.mark.parametrize(
    ("wanted", "calls", "new"),
    [
        pytest.param(TWO, ["total", "scale"], [9, 64.5], id="two calls"),
        pytest.param(THREE, ["keep_above", "total", "label"], ["0 kg", "21.5 kg"], id="three calls"),
        pytest.param(FOUR, ["keep_above", "total", "scale", "label"], ["0 kg", "64.5 kg"], id="four calls"),
    ],
)
def test_a_line_of_calls_is_found_in_every_mode(
    wanted: Task, calls: list[str], new: list[Any], mode: Mode, tools: LocalSandbox, model: SearchModel
) -> None:
    solution = solved(wanted, tools, mode, model)
    used = [step.call.tool for step in solution.traces[0].calls if step.call.tool not in GRAPH_TOOLS]
    assert used == calls
    assert (judged(solution, wanted).exec_correct, solution.graph_valid, judged(solution, wanted).mti) == (
        True,
        True,
        None,
    )
    assert answers(solution, tools, [{"numbers": [1, 2]}, {"numbers": [10, 11.5]}]) == new


def test_an_answer_that_is_a_record_is_put_together_from_its_fields(tools: LocalSandbox) -> None:
    solution = solved(RECORD, tools)
    assert (judged(solution, RECORD).exec_correct, solution.graph_valid) == (True, True)
    new = [{"numbers": [1, 2]}, {"numbers": [10, 11.5]}]
    assert answers(solution, tools, new) == [{"total": 0, "count": 0}, {"total": 21.5, "count": 2}]


def test_a_number_of_the_task_stays_a_constant_where_an_input_happens_to_equal_it(
    tools: LocalSandbox,
) -> None:
    wanted = task(
        "Multiply the value by 3.",
        lambda value: value * 3,
        [{"value": 3}, {"value": 4}, {"value": 5}],
        {"value": {"type": "number"}},
    )
    assert answers(solved(wanted, tools), tools, [{"value": 10}]) == [30]


@pytest.mark.parametrize("mode", ["react", "es-pp"])
def test_a_record_that_could_be_copied_from_the_input_ends_like_any_other_task(mode: Mode, tools: LocalSandbox) -> None:
    pairs = [{"a": 1, "b": 2}, {"a": 5, "b": 0}, {"a": 7, "b": 7}]
    fields = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    wanted = task("Swap both numbers.", lambda a, b: {"a": b, "b": a}, pairs, fields)
    assert [trace.stop for trace in solved(wanted, tools, mode).traces] == ["finish"]


def test_two_runs_are_equal(tools: LocalSandbox) -> None:
    first, second = solved(FOUR, tools, "es-pp"), solved(FOUR, tools, "es-pp")
    assert first.workflow == second.workflow
    assert [turn.text for turn in first.traces[0].turns] == [turn.text for turn in second.traces[0].turns]
    assert first.traces[0].events == second.traces[0].events


@pytest.mark.parametrize("mode", BUILDING)
def test_a_task_that_no_calls_solve_is_given_up_without_an_answer(
    mode: Mode, tools: LocalSandbox, model: SearchModel
) -> None:
    solution = solved(SORTING, tools, mode, model)
    assert solution.traces[0].answer is None
    assert solution.traces[0].calls == ()
    assert (judged(solution, SORTING).exec_complete, solution.graph_valid, solution.workflow) == (False, False, None)


class Watched:
    """The search model, and everything that it was asked and said and tried."""

    name = "search"

    def __init__(self, tools: LocalSandbox) -> None:
        self.exchanges: list[tuple[ChatRequest, Reply]] = []
        self.tried: set[str] = set()
        self._tools = tools
        self._model = SearchModel(Thinker(self._try))

    def _try(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        self.tried |= {name for name, _ in calls}
        return self._tools.values(calls)

    async def complete(self, request: ChatRequest) -> Reply:
        reply = await self._model.complete(request)
        self.exchanges.append((request, reply))
        return reply

    async def aclose(self) -> None:
        pass


def test_no_call_is_tried_twice(tools: LocalSandbox) -> None:
    tried: list[str] = []

    def probe(calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        tried.extend(json.dumps(call) for call in calls)
        return tools.values(calls)

    assert Thinker(probe).program(execute_brief(FOUR, 0, tools.specs), tools.specs) is not None
    assert len(tried) == len(set(tried)) > 1_000


@pytest.mark.parametrize("mode", BUILDING)
def test_it_calls_and_tries_only_what_it_is_offered(mode: Mode, tools: LocalSandbox) -> None:
    shortcut = 'def answer(numbers: list[float]) -> str:\n    """Add up, multiply, show."""\n    return "45 kg"'
    with LocalSandbox([*SOURCES, ToolSource.parse(shortcut)]) as thinking:
        model = Watched(thinking)
        solution = asyncio.run(solve(THREE, tools, model, Settings(mode=mode)))
    assert judged(solution, THREE).exec_correct
    assert model.tried <= set(tools.specs)
    assert len(model.tried) > 2
    for request, reply in model.exchanges:
        if request.reply == "action":
            action, how = read_action(reply.text)
            assert action.call.tool in {"finish", *(spec.name for spec in request.tools)}
        else:
            how = read_plan(reply.text)[1]
        assert (how, reply.output_tokens) == ("clean", 0)


@pytest.mark.parametrize("mode", ["react", "es-rr", "es-pp"])
def test_values_that_the_prompt_cuts_are_read_whole(mode: Mode, tools: LocalSandbox) -> None:
    texts = ["long " * 600, "short", "middle"]
    inputs = [{"text": text} for text in texts]
    wanted = task("Write the text in capital letters.", str.upper, inputs, {"text": {"type": "string"}})
    solution = solved(wanted, tools, mode)
    assert judged(solution, wanted).exec_correct
    assert answers(solution, tools, [{"text": "new"}]) == ["NEW"]


class Silenced:
    """The search model, asked with other words in every message."""

    name = "search"

    def __init__(self, model: SearchModel) -> None:
        self._model = model

    async def complete(self, request: ChatRequest) -> Reply:
        messages = tuple(message.model_copy(update={"content": "bla"}) for message in request.messages)
        return await self._model.complete(request.model_copy(update={"messages": messages}))

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("mode", BUILDING)
def test_the_words_of_messages_are_not_read(mode: Mode, tools: LocalSandbox, model: SearchModel) -> None:
    told = asyncio.run(solve(THREE, tools, Silenced(model), Settings(mode=mode)))
    assert told.workflow is not None
    assert told.workflow == solved(THREE, tools, mode, model).workflow


def reworded(text: str) -> str:
    """A prompt in other words; the marks of its parts and the names of its fields stay."""
    lines = (line if line.startswith("=== ") else re.sub(r"(?<![$\w])\w+", "word", line) for line in text.splitlines())
    return "\n".join(lines)


@pytest.mark.parametrize("mode", ["es-react", "es-pe", "react", "es-pe+verify"])
def test_prompts_may_be_reworded(mode: Mode, tools: LocalSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    read_prompt, text_of, show = prompts._text, Task.text, brief_module.show_trace
    asked = Watched(tools)
    with monkeypatch.context() as patch:
        prompts.conversation.cache_clear()
        patch.setattr(prompts, "_text", lambda name: reworded(read_prompt(name)))
        patch.setattr(Task, "text", lambda self: reworded(text_of(self)))
        patch.setattr(brief_module, "show_trace", lambda *args: list(map(reworded, show(*args))))
        solution = asyncio.run(solve(THREE, tools, asked, Settings(mode=mode)))
    prompts.conversation.cache_clear()
    sent = "\n".join(message.content for request, _ in asked.exchanges for message in request.messages)
    assert not re.search(r"Task:|Examples:|Inputs:|Input: |Trace 1|Answer: |Now do step", sent)
    assert judged(solution, THREE).exec_correct
    assert solution.workflow == solved(THREE, tools, mode).workflow


@pytest.mark.parametrize("reply", ["action", "plan", "text"])
def test_a_request_without_an_episode_has_one_clear_answer(
    reply: Literal["action", "plan", "text"], model: SearchModel
) -> None:
    request = ChatRequest(messages=(Message(role="user", content="Task:\nDouble 4."),), reply=reply)
    assert "examples only" in asyncio.run(model.complete(request)).text


@pytest.mark.parametrize(
    "remark",
    [
        "For instance:\nInput: {numbers}\nOutput: three times their sum",
        "Work on this input: {numbers}",
        "Trace 1 (finished) is what you leave behind.",
        "Task:\nadd and multiply.",
        "Now do step 7 of 9: nothing.",
        "Inputs:\n\nInputs:\n- numbers",
        "Examples:\nInput: {}\nOutput: 1",
    ],
)
def test_a_task_may_use_the_words_of_the_prompts(remark: str, tools: LocalSandbox) -> None:
    solution = solved(TWO.model_copy(update={"query": f"{TWO.query}\n\n{remark}"}), tools)
    assert answers(solution, tools, [{"numbers": [10, 11.5]}]) == [64.5]


RELEVANCE = """
from flowmind.llm.search.matching import Fit
from tools_registry import catalog
whole = catalog.specs()
specs = {name: whole[name] for name in list(whole)[::6]}
print(Fit(" ".join(spec.description for spec in list(specs.values())[::7]), specs).tools)
"""


def test_every_process_finds_the_same_tools_relevant() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", RELEVANCE],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
