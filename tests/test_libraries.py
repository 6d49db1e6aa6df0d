"""One task of three tools, with the tools of each library as they are, solved by the embedded model."""

from __future__ import annotations

import asyncio
import functools
import importlib
import json
import types
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from flowmind import ExecuteSummarize, RunnableWorkflow, check, tool
from tools_registry.sandbox.functions import spec_of, specs_of
from tools_registry.specs.spec import untried

QUERY = "Add up the prices, add 19 percent of tax, and write the amount in 'EUR'."
EXAMPLES: list[tuple[dict[str, Any], str]] = [
    ({"prices": [100, 50]}, "178.50 EUR"),
    ({"prices": [20]}, "23.80 EUR"),
    ({"prices": [1, 2, 3]}, "7.14 EUR"),
]


def total(numbers: list[float]) -> float:
    """Add up numbers.

    Args:
        numbers: The numbers.
    """
    return sum(numbers)


def with_tax(price: float, percent: float) -> float:
    """Add a tax to a price.

    Args:
        price: The price without tax.
        percent: The tax in percent of the price.
    """
    return price * (100 + percent) / 100


def as_price(value: float, currency: str) -> str:
    """Write an amount with two decimals and its currency.

    Args:
        value: The amount.
        currency: The currency, such as EUR.
    """
    return f"{value:.2f} {currency}"


FUNCTIONS = (total, with_tax, as_price)
reading = tool(effect="read")


def renamed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a function, so that a mark on one does not reach the others."""
    copy = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    copy.__annotations__ = dict(function.__annotations__)
    copy.__doc__, copy.__module__ = function.__doc__, function.__module__
    return copy


def needed(name: str) -> Any:
    """A library; the test is skipped without it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"{name} is not installed: {error}")


def plain() -> Sequence[Any]:
    return [reading(renamed(function)) for function in FUNCTIONS]


def asynchronous() -> Sequence[Any]:
    def waiting(function: Callable[..., Any]) -> Any:
        @reading
        @functools.wraps(function)
        async def wait(*args: Any, **named: Any) -> Any:
            await asyncio.sleep(0)
            return function(*args, **named)

        return wait

    return [waiting(function) for function in FUNCTIONS]


class Shop:
    """The tools as methods."""

    total = staticmethod(renamed(total))

    @tool(effect="read")
    def with_tax(self, price: float, percent: float) -> float:
        """Add a tax to a price.

        Args:
            price: The price without tax.
            percent: The tax in percent of the price.
        """
        return with_tax(price, percent)

    def as_price(self, value: float, currency: str) -> str:
        """Write an amount with two decimals and its currency.

        Args:
            value: The amount.
            currency: The currency, such as EUR.
        """
        return as_price(value, currency)


def methods() -> Sequence[Any]:
    shop = Shop()
    return [reading(shop.total), shop.with_tax, reading(shop.as_price)]


def partials() -> Sequence[Any]:
    def priced(value: float, currency: str, places: int) -> str:
        """Write an amount with decimals and its currency.

        Args:
            value: The amount.
            currency: The currency, such as EUR.
        """
        return f"{value:.{places}f} {currency}"

    return [*plain()[:2], reading(functools.partial(priced, places=2))]


def langchain_functions() -> Sequence[Any]:
    """LangChain's decorator around a marked function."""
    tools = needed("langchain_core.tools")
    return [tools.tool(reading(renamed(function))) for function in FUNCTIONS]


def langchain_objects() -> Sequence[Any]:
    """Tool objects of LangChain: structured ones, a class, and one whose arguments only its JSON Schema shows."""
    tools = needed("langchain_core.tools")

    class WithTax(tools.BaseTool):
        name: str = "with_tax"
        description: str = "Add a tax to a price."

        def _run(self, price: float, percent: float, run_manager: Any = None) -> float:
            return with_tax(price, percent)

    fields = {"value": {"type": "number", "description": "The amount."}, "currency": {"type": "string"}}
    schema = {"title": "as_price", "type": "object", "properties": fields, "required": ["value", "currency"]}

    async def priced(**fields: Any) -> tuple[str, None]:
        return as_price(**fields), None

    remote = tools.StructuredTool(
        name="as_price", description="Write an amount with two decimals and its currency.", args_schema=schema,
        coroutine=priced, response_format="content_and_artifact",
    )  # fmt: skip
    made = [tools.StructuredTool.from_function(renamed(total)), WithTax(), remote]
    return [reading(each) for each in made]


def pydantic_ai() -> Sequence[Any]:
    library = needed("pydantic_ai")
    schema = library.Tool(renamed(as_price)).function_schema.json_schema
    remote = library.Tool.from_schema(
        lambda **fields: as_price(**fields), "as_price", "Write an amount with two decimals and its currency.", schema
    )
    return [library.Tool(reading(renamed(total))), reading(library.Tool(renamed(with_tax))), reading(remote)]


def openai_agents() -> Sequence[Any]:
    """Tools of the OpenAI Agents SDK: of functions, and one that has only `on_invoke_tool`."""
    library = needed("agents")

    async def invoke(context: Any, text: str) -> str:
        assert context.tool_name == "as_price"
        return as_price(**json.loads(text))

    schema = library.function_tool(renamed(as_price)).params_json_schema
    remote = library.FunctionTool(
        name="as_price", description="Write an amount with two decimals and its currency.",
        params_json_schema=schema, on_invoke_tool=invoke,
    )  # fmt: skip
    tools = [library.function_tool(renamed(total)), library.function_tool(reading(renamed(with_tax))), remote]
    return [reading(tools[0]), tools[1], reading(tools[2])]


def mcp_server() -> Sequence[Any]:
    """The tools of an MCP server, which are marked by their annotations."""
    needed("mcp")
    hint = importlib.import_module("mcp_types").ToolAnnotations(read_only_hint=True)
    tools = importlib.import_module("mcp.server.mcpserver.tools.base")
    return [tools.Tool.from_function(renamed(function), annotations=hint) for function in FUNCTIONS]


SHOPS: dict[str, Callable[[], Sequence[Any]]] = {
    "functions": plain,
    "async functions": asynchronous,
    "methods": methods,
    "partials": partials,
    "LangChain, functions": langchain_functions,
    "LangChain, objects": langchain_objects,
    "pydantic-ai": pydantic_ai,
    "OpenAI Agents SDK": openai_agents,
    "MCP server": mcp_server,
}


@pytest.mark.parametrize("library", SHOPS)
def test_the_same_task_is_solved_with_the_tools_of_each_library(library: str) -> None:
    tools = SHOPS[library]()
    assert untried(specs_of(tools)) == {}
    result = ExecuteSummarize(tools, model="search").run(QUERY, EXAMPLES)
    workflow = result.workflow
    assert workflow({"prices": [10, 30]}) == "47.60 EUR"
    again = RunnableWorkflow(workflow.workflow, {spec_of(each).name: each for each in tools})
    assert again(prices=[200]) == "238.00 EUR"
    assert check(workflow.workflow, tools) == []
