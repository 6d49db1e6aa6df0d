"""What the embedded model reads from a task's words, and the shapes of programs that it finds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from flowmind.api.solving import solve
from flowmind.build.settings import Settings
from flowmind.llm.search.constants import constants, entries, named
from flowmind.llm.search.model import SearchModel
from flowmind.llm.search.thinking import Thinker
from flowmind.run.running import run_batch
from flowmind.trace.task import Example, Task
from tools_registry.sandbox.environments import LocalSandbox, ToolSource

SOURCE = '''
from flowmind import tool

@tool(effect="read")
def total(numbers: list[float]) -> float:
    """Add up numbers."""
    return sum(numbers)

@tool(effect="read")
def fee(amount: float, thresholds: list[float], percents: list[float]) -> float:
    """Give the fee on an amount, at the percentage of the highest threshold that it reaches.

    Args:
        amount: The amount.
        thresholds: Where each percentage begins, ascending from 0.
        percents: The percentages.
    """
    best = 0.0
    for i in range(len(thresholds)):
        if amount >= thresholds[i]:
            best = percents[i]
    return amount * best / 100

@tool(effect="read")
def minus(first: float, second: float) -> float:
    """Subtract a number from another one."""
    return first - second

@tool(effect="read")
def won(games: list[list[str]], player: str) -> int:
    """Count the games that a player won.

    Args:
        games: The games, each as [winner, loser].
        player: The player.
    """
    return len([game for game in games if game[0] == player])

@tool(effect="read")
def lost(games: list[list[str]], player: str) -> int:
    """Count the games that a player lost.

    Args:
        games: The games, each as [winner, loser].
        player: The player.
    """
    return len([game for game in games if game[1] == player])

@tool(effect="read")
def add_field(records: list[dict], first: str, second: str, target: str) -> list[dict]:
    """Add a field that holds the product of two number fields.

    Args:
        records: The records.
        first: Name of the first number field.
        second: Name of the second number field.
        target: Name of the field for the product.
    """
    return [{**record, target: record[first] * record[second]} for record in records]

@tool(effect="read")
def largest_record(records: list[dict], field: str) -> dict:
    """Give the record with the largest number in a field.

    Args:
        records: The records.
        field: Name of the number field.
    """
    return max(records, key=lambda record: record[field])

@tool(effect="read")
def fill(template: str, values: dict) -> str:
    """Fill in a template.

    Args:
        template: The text with placeholders in braces.
        values: The values by name.
    """
    for name in values:
        template = template.replace("{" + name + "}", str(values[name]))
    return template
'''
SOURCES = ToolSource.parse_all(SOURCE)


@pytest.fixture(scope="module")
def tools() -> Iterator[LocalSandbox]:
    with LocalSandbox(SOURCES) as sandbox:
        yield sandbox


def learned(query: str, pairs: Sequence[tuple[dict[str, Any], Any]], given: dict[str, Any], tools: LocalSandbox) -> Any:
    """The answer on a new input of the workflow that `search` makes for a task with the examples `pairs`."""
    schema: dict[str, Any] = {"type": "object", "properties": {name: {} for name in given}, "required": list(given)}
    examples = tuple(Example(input=shown, output=answer) for shown, answer in pairs)
    task = Task(id="task", query=query, inputs=schema, examples=examples)
    solution = asyncio.run(solve(task, tools, SearchModel(Thinker(tools.values)), Settings(mode="es-pe")))
    assert solution.workflow is not None
    (trace,) = run_batch(solution.workflow, [given], tools)
    return trace.answer


def test_a_result_that_two_calls_need_is_worked_out_once(tools: LocalSandbox) -> None:
    query = (
        "Of the takings the market keeps 10 percent once they reach 100 euros, and 25 percent instead once they reach "
        "400 euros. What is left?"
    )
    sums = {120.0: 108.0, 420.0: 315.0, 90.0: 90.0, 100.0: 90.0}
    pairs = [({"takings": [paid - 20, 20.0]}, left) for paid, left in sums.items()]
    assert learned(query, pairs, {"takings": [150.0, 50.0]}, tools) == 180


def test_a_name_that_the_task_takes_from_the_data_is_a_constant(tools: LocalSandbox) -> None:
    query = "A game won counts one point, a game lost minus one. How many points does Felix have?"
    pairs = [
        ({"games": [["Felix", "Ada"], ["Felix", "Bo"], ["Ada", "Felix"], ["Ada", "Bo"]]}, 1),
        ({"games": [["Felix", "Ada"], ["Felix", "Bo"], ["Felix", "Cleo"], ["Bo", "Ada"]]}, 3),
    ]
    assert learned(query, pairs, {"games": [["Ada", "Felix"], ["Bo", "Felix"]]}, tools) == -2


def test_a_field_that_the_task_does_not_name_is_given_a_name(tools: LocalSandbox) -> None:
    query = "Which order has the largest bill, that is pieces times cents? Give its name as 'name'."
    orders = [
        [{"name": "a", "pieces": 3, "cents": 5}, {"name": "b", "pieces": 2, "cents": 9}],
        [{"name": "c", "pieces": 9, "cents": 2}, {"name": "d", "pieces": 1, "cents": 15}],
        [{"name": "e", "pieces": 2, "cents": 4}, {"name": "f", "pieces": 3, "cents": 3}],
    ]
    pairs = [({"orders": orders[0]}, {"name": "b"}), ({"orders": orders[1]}, {"name": "c"})]
    assert learned(query, pairs, {"orders": orders[2]}, tools) == {"name": "f"}


def test_a_quoted_text_that_answers_are_like_becomes_a_template(tools: LocalSandbox) -> None:
    query = "Add up the weights and write them as 'To load: N kg', where N is the sum."
    pairs = [({"weights": [3, 4]}, "To load: 7 kg"), ({"weights": [10, 2, 2]}, "To load: 14 kg")]
    assert learned(query, pairs, {"weights": [1, 1]}, tools) == "To load: 2 kg"


def test_numbers_of_one_unit_are_a_list_perhaps_from_nothing_on() -> None:
    text = "It takes 12 percent up to 500 euros, and 25 percent from 2000 euros on."
    found = [constant.value for constant in constants(text, [], [], named(text, []))]
    assert [12, 25] in found
    assert [0, 500, 2000] in found


def test_what_only_illustrates_weighs_little() -> None:
    text = "Multiply by 7. For example, 30 becomes 210 (on 2 lines)."
    weights = {part.value: part.weight for part in named(text, [])}
    assert weights[7] == 1
    assert max(weights[30], weights[210]) < 0.5
    assert weights[2] < 1


def test_entries_are_texts_of_the_data_and_not_its_sentences() -> None:
    cases = [{"games": [["Felix", "a long sentence of the data, not a name"]], "stock": {"Mill": 3, "unit": 1}}]
    assert entries(cases) == ["Felix", "Mill"]
