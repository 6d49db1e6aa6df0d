"""One task of three tools, with the tools of each library as they are, solved by the embedded model."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
import functools
import importlib
import json
import os
import subprocess
import sys
import types
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel

from flowmind import ExecuteSummarize, InputError, RunnableWorkflow, check, mcp_tools, summarize, tool
from flowmind.trace.events import Called, Trace
from tools_registry.sandbox.functions import FunctionEnvironment, spec_of, specs_of
from tools_registry.specs.schema import validator
from tools_registry.specs.spec import Observation, SpecError, ToolCall, untried

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
    needed("mcp_types")
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


# A session with an MCP server


def server(hints: bool) -> Any:
    needed("mcp_types")
    made = importlib.import_module("mcp.server.mcpserver").MCPServer("shop")
    hint = importlib.import_module("mcp_types").ToolAnnotations(read_only_hint=True) if hints else None
    for function in FUNCTIONS:
        made.tool(annotations=hint)(renamed(function))

    @made.tool(name="orders.find-all")
    def find_all(text: str) -> dict[str, int]:
        """Find orders."""
        if text == "none":
            raise ValueError("there are no orders")
        return {text: 1}

    @made.tool(structured_output=False)
    def said(text: str) -> Any:
        """Say something."""
        return text

    return made


@pytest.mark.parametrize(("low", "hints"), [(False, True), (True, False)], ids=["Client", "ClientSession"])
def test_the_tools_of_an_mcp_session_solve_the_task(low: bool, hints: bool) -> None:
    shop = server(hints)
    client_of = importlib.import_module("mcp").Client

    async def solve() -> None:
        async with client_of(shop) as client:
            reads = () if hints else ("total", "with_tax", "as_price")
            tools = await mcp_tools(client.session if low else client, reads)
            assert untried(tools.specs) == {"orders_find_all": "not marked", "said": "not marked"}
            assert tools.specs["total"].parameters["required"] == ["numbers"]
            result = await ExecuteSummarize(tools).arun(QUERY, EXAMPLES)
            assert await result.workflow.acall(prices=[10, 30]) == "47.60 EUR"
            assert check(result.workflow.workflow, tools) == []

    asyncio.run(solve())


def test_results_of_an_mcp_session_are_values_or_errors() -> None:
    shop = server(False)
    client_of = importlib.import_module("mcp").Client
    calls = [
        ("orders_find_all", {"text": "A"}, {"A": 1}),
        ("orders_find_all", {"text": "none"}, "tool_error"),
        ("orders_find_all", {"n": 1}, "invalid_arguments"),
        ("lost", {}, "unknown_tool"),
        ("said", {"text": "plain words"}, "plain words"),
        ("said", {"text": "[1, 2]"}, [1, 2]),
        ("total", {"numbers": [1, 2]}, 3.0),
    ]

    async def observed() -> list[Any]:
        async with client_of(shop) as client:
            tools = await mcp_tools(client)
            with pytest.raises(InputError, match="reads: the server has no tool 'nope'; it has total, with_tax"):
                await mcp_tools(client, reads=["nope"])
            made = [await tools.call(ToolCall(tool=name, args=args)) for name, args, _ in calls]
            return [step.value if step.error is None else step.error.type for step in made]

    assert asyncio.run(observed()) == [wanted for _, _, wanted in calls]


# What is taken, and what is refused


@reading
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


@reading
def half(n: int) -> float:
    """Halve a number."""
    return n / 2


def doubled(n: int) -> Trace:
    made = Called(call=ToolCall(tool="double", args={"n": n}), observation=Observation(value=2 * n))
    return Trace(inputs={"n": n}, events=(made,), stop="finish", answer=2 * n)


TRACES = [doubled(n) for n in (1, 2, 5)]
WORKFLOW = summarize(TRACES, double, query="Double the number.").document
FORMS: dict[str, Any] = {
    "one": double,
    "a list": [double, half],
    "a tuple": (double, half),
    "a dict": {"double": double, "half": half},
    "an environment": FunctionEnvironment([double, half]),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_door_takes_one_tool_a_list_or_a_dict(form: str, tmp_path: Any) -> None:
    tools = FORMS[form]
    path = tmp_path / "double.json"
    RunnableWorkflow(WORKFLOW, tools).save(path)
    assert RunnableWorkflow.load(path, tools)(n=4) == 8
    assert check(WORKFLOW, tools) == []
    given = {"environment": tools} if form == "an environment" else {"tools": tools}
    solver = ExecuteSummarize(**given)
    assert solver.run("Double the number.", [({"n": 1}, 2), ({"n": 4}, 8)]).workflow(n=5) == 10
    assert summarize(TRACES, **given, query="Double the number.").workflow(n=3) == 6
    if form != "an environment":
        assert RunnableWorkflow(WORKFLOW, double).to_langgraph(tools).invoke({"n": 6})["answer"] == 12


class Silent:
    name = "silent"
    description = ""


def many(*numbers: int) -> int:
    return sum(numbers)


def packed(n: int) -> bytes:
    return bytes([n])


def missing(n: Missing) -> int:  # noqa: F821  # pyright: ignore
    return 0


def injected(n: int, context: RunContextWrapper[int]) -> int:  # noqa: F821  # pyright: ignore
    return n


NO_TOOLS: dict[str, tuple[Any, str]] = {
    "a number": (
        3,
        "3 cannot be a tool; give a function, or a tool of LangChain, pydantic-ai, ",
    ),
    "a text": ("double", "'double' cannot be a tool"),
    "a set": ({"double"}, "{'double'} cannot be a tool"),
    "None": (None, "None cannot be a tool"),
    "a lambda": (lambda n: n, "a lambda has no name; define the tool with def"),
    "an object with a name": (Silent(), "tool 'silent' has no function to call"),
    "spread arguments": (many, "tool 'many': parameter 'numbers' must be passed by its name"),
    "bytes": (packed, "tool 'packed': it returns bytes, which are no JSON value; return text, such as base64"),
    "an unknown annotation": (missing, "tool 'missing': its annotations cannot be read: name 'Missing' is not defined"),
    "a context": (
        types.SimpleNamespace(name="injected", description="", func=injected),
        "tool 'injected': 'context' is passed by its library; give a function without it",
    ),
}


@pytest.mark.parametrize("name", NO_TOOLS)
def test_what_cannot_be_a_tool_is_one_line_at_every_door(name: str) -> None:
    thing, message = NO_TOOLS[name]
    doors: list[Callable[[Any], Any]] = [
        ExecuteSummarize,
        lambda tools: RunnableWorkflow(WORKFLOW, tools),
        lambda tools: RunnableWorkflow(WORKFLOW, double).to_langgraph(tools),
        lambda tools: summarize(TRACES, tools),
        functools.partial(check, WORKFLOW),
        FunctionEnvironment,
    ]
    for door in doors:
        with pytest.raises(InputError) as caught:
            door([thing])
        assert str(caught.value).startswith(message) and "\n" not in str(caught.value)
    with pytest.raises(SpecError):
        spec_of(thing)


def with_context(library: str) -> Any:
    """A tool whose function takes what its library passes."""
    if library == "LangChain":
        tools = needed("langchain_core.tools")

        def kept(n: int, user: str) -> int:
            """Keep a number."""
            return n

        kept.__annotations__["user"] = Annotated[str, tools.InjectedToolArg]
        return tools.tool(kept)

    def noted(context: Any, n: int) -> int:
        """Note a number."""
        return n

    if library == "pydantic-ai":
        noted.__annotations__["context"] = needed("pydantic_ai").RunContext[int]
        return importlib.import_module("pydantic_ai").Tool(noted)
    if library == "OpenAI Agents SDK":
        noted.__annotations__["context"] = needed("agents").RunContextWrapper[int]
        return importlib.import_module("agents").function_tool(noted)
    needed("mcp_types")
    noted.__annotations__["context"] = importlib.import_module("mcp.server.mcpserver").Context
    return importlib.import_module("mcp.server.mcpserver.tools.base").Tool.from_function(noted)


@pytest.mark.parametrize("library", ["LangChain", "pydantic-ai", "OpenAI Agents SDK", "MCP server"])
def test_a_tool_that_takes_the_context_of_its_library_is_refused(library: str) -> None:
    with pytest.raises(InputError, match=r"is passed by its library|takes the context of a run"):
        ExecuteSummarize(with_context(library))


@pytest.mark.parametrize(
    ("form", "hints", "effect"),
    [
        ("server", {"read_only_hint": True}, "read"),
        ("server", {"read_only_hint": False}, "write"),
        ("server", {"destructive_hint": True}, "write"),
        ("server", {"read_only_hint": True, "destructive_hint": True}, "write"),
        ("server", {"idempotent_hint": True}, "unknown"),
        ("server", None, "unknown"),
        ("definition", {"readOnlyHint": True}, "read"),
        ("definition", {"destructiveHint": True}, "write"),
        ("definition", None, "unknown"),
    ],
)
def test_annotations_of_mcp_are_marks(form: Literal["server", "definition"], hints: Any, effect: str) -> None:
    from flowmind.formats.tool_schema import specs_of_openai_tools

    if form == "definition":
        definition = {"name": "double", "inputSchema": {"type": "object"}, "annotations": hints}
        assert specs_of_openai_tools([definition])["double"].effect == effect
        return
    needed("mcp_types")
    annotations = hints and importlib.import_module("mcp_types").ToolAnnotations(**hints)
    made = importlib.import_module("mcp.server.mcpserver.tools.base").Tool.from_function(
        renamed(half), annotations=annotations
    )
    assert spec_of(made).effect == effect
    assert spec_of(reading(made)).effect == "read", "a mark of one's own counts more"


def test_a_mark_of_an_object_counts_more_than_that_of_its_function() -> None:
    inner = tool(effect="write", name="inner")(renamed(double))
    outer = tool(effect="read")(functools.partial(inner))
    assert (spec_of(outer).name, spec_of(outer).effect) == ("inner", "read")
    assert spec_of(functools.partial(inner)).effect == "write"


def test_a_marked_method_belongs_to_its_object() -> None:
    shop, other = Shop(), Shop()
    marked = reading(shop.as_price)
    assert spec_of(marked).effect == "read"
    assert spec_of(other.as_price).effect == "unknown"


class Static:
    @tool(effect="read")
    @staticmethod
    def inside(n: int) -> int:
        """The mark stands outside."""
        return n

    @tool(effect="write", name="made")
    @classmethod
    def of_class(cls, n: int) -> int:
        """The same for a method of the class."""
        return n + len(cls.__name__)


def test_a_mark_around_a_static_or_class_method_is_kept() -> None:
    specs = [spec_of(Static.inside), spec_of(Static().inside), spec_of(Static.of_class)]
    assert [(spec.name, spec.effect) for spec in specs] == [("inside", "read"), ("inside", "read"), ("made", "write")]


def test_a_mark_without_parentheses_is_one_line() -> None:
    with pytest.raises(InputError, match=r'write the mark with parentheses, as @tool\(effect="read"\)'):
        tool(double)


# Results


def test_sets_are_sorted_lists_wherever_they_are() -> None:
    script = """
import asyncio, dataclasses, json
from pydantic import BaseModel
from tools_registry.sandbox.functions import FunctionEnvironment
from tools_registry.specs.spec import ToolCall

class Tags(BaseModel):
    names: set[str]
    inner: list[frozenset[int]]

@dataclasses.dataclass
class Box:
    tags: Tags
    more: dict[str, set[str]]

WORDS = {"pear", "fig", "apple", "kiwi", "plum"}

def boxed(n: int) -> Box:
    return Box(Tags(names=WORDS, inner=[frozenset({30, 4, 100})]), {"a": WORDS})

def mixed(n: int) -> set:
    return {"b", 2, ("c", 1)}

environment = FunctionEnvironment([boxed, mixed])
calls = [ToolCall(tool=name, args={"n": 1}) for name in environment.specs]
print(json.dumps([asyncio.run(environment.call(call)).value for call in calls]))
"""
    words = ["apple", "fig", "kiwi", "pear", "plum"]
    wanted = [{"tags": {"names": words, "inner": [[4, 30, 100]]}, "more": {"a": words}}, ["b", 2, ["c", 1]]]
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        assert json.loads(done.stdout) == wanted, done.stderr


class Colour(enum.Enum):
    RED = "red"


class Line(BaseModel):
    at: datetime.date
    price: Decimal


@dataclasses.dataclass
class Order:
    id: UUID
    lines: list[Line]
    size: tuple[int, str]


DAY = datetime.date(2024, 2, 29)
ID = UUID("12345678-1234-5678-1234-567812345678")
RESULTS: dict[str, tuple[Any, Any, Any, Any]] = {
    "date": (datetime.date, DAY, "2024-02-29", {"type": "string", "format": "date"}),
    "datetime": (
        datetime.datetime, datetime.datetime(2024, 2, 29, 12, 30), "2024-02-29T12:30:00",
        {"type": "string", "format": "date-time"},
    ),
    "decimal": (Decimal, Decimal("1.50"), "1.50", {"type": "string"}),
    "uuid": (UUID, ID, str(ID), {"type": "string", "format": "uuid"}),
    "enum": (Colour, Colour.RED, "red", {"enum": ["red"], "type": "string"}),
    "set": (set[int], {3, 1}, [1, 3], {"type": "array", "items": {"type": "integer"}}),
    "frozenset": (frozenset[str], frozenset("ba"), ["a", "b"], {"type": "array", "items": {"type": "string"}}),
    "tuple": (tuple[int, str], (1, "a"), [1, "a"], {"type": "array", "minItems": 2, "maxItems": 2}),
    "model": (Line, Line(at=DAY, price=Decimal("2.10")), {"at": "2024-02-29", "price": "2.10"}, None),
    "dataclass": (
        Order, Order(ID, [Line(at=DAY, price=Decimal(1))], (2, "b")),
        {"id": str(ID), "lines": [{"at": "2024-02-29", "price": "1"}], "size": [2, "b"]}, None,
    ),
    "any": (Any, {"when": DAY, "tags": {"b", "a"}}, {"when": "2024-02-29", "tags": ["a", "b"]}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_a_json_form_and_a_schema(name: str) -> None:
    annotation, result, value, schema = RESULTS[name]

    def give(n: int) -> Any:
        return result

    give.__annotations__["return"] = annotation
    environment = FunctionEnvironment([give])
    assert asyncio.run(environment.call(ToolCall(tool="give", args={"n": 1}))) == Observation(value=value)
    returns = environment.specs["give"].returns
    assert schema is None or returns == schema
    assert validator(returns)(value) is None


def test_numbers_and_arrays_of_numpy_are_json() -> None:
    numpy = needed("numpy")

    def stats(n: int) -> Any:
        return {"sum": numpy.int64(n), "mean": numpy.float64(n), "all": numpy.arange(n), "odd": {numpy.int64(3), 1}}

    observation = asyncio.run(FunctionEnvironment([stats]).call(ToolCall(tool="stats", args={"n": 3})))
    assert observation == Observation(value={"sum": 3, "mean": 3.0, "all": [0, 1, 2], "odd": [1, 3]})


@pytest.mark.parametrize("result", [b"x", {"a": [b"x"]}, (bytearray(b"x"),), {"a": {b"x"}}])
def test_bytes_in_a_result_are_refused_with_what_would_be_right(result: Any) -> None:
    def give(n: int) -> Any:
        return result

    observation = asyncio.run(FunctionEnvironment([give]).call(ToolCall(tool="give", args={"n": 1})))
    assert observation == Observation.failed("not_json", "bytes are no JSON value; return text, such as base64")
