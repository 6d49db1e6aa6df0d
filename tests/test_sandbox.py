"""Environments of tools: workers with limits for untrusted source, this process for your own functions."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from flowmind import tool
from tools_registry.sandbox.environments import FunctionEnvironment, Limits, LocalSandbox, ToolSource, WorkerPool
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import Observation, SpecError, ToolCall, ToolSpec

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")

SHOP = """
def price(name: str, count: int = 1) -> float:
    return {"tea": 2.5, "milk": 1.25}[name] * count


def cheapest(names: list[str]) -> str:
    names.sort(key=price)
    return names[0]
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(1) as workers:
        yield workers


@pytest.fixture(scope="module")
def shop(pool: WorkerPool) -> LocalSandbox:
    return LocalSandbox(ToolSource.parse_all(SHOP), pool)


def untyped(source: str, name: str = "tool") -> ToolSource:
    """A tool that takes any arguments."""
    return ToolSource(spec=ToolSpec(name=name, parameters={"type": "object"}), source=source)


def call(pool: WorkerPool, source: str, **args: Any) -> Observation:
    return LocalSandbox([untyped(source)], pool).calls([ToolCall(tool="tool", args=args)])[0]


def error_type(observation: Observation) -> str | None:
    assert observation.value is None or observation.ok
    return observation.error.type if observation.error else None


def test_a_tool_is_called_with_its_arguments_and_defaults(shop: LocalSandbox) -> None:
    assert list(shop.specs) == ["price", "cheapest"]
    assert asyncio.run(shop.call(ToolCall(tool="price", args={"name": "tea"}))) == Observation(value=2.5)
    assert asyncio.run(shop.call(ToolCall(tool="price", args={"name": "tea", "count": 3}))).value == 7.5


def test_independent_calls_go_in_one_batch(shop: LocalSandbox) -> None:
    calls = [
        ToolCall(tool="price", args={"name": "milk"}),
        ToolCall(tool="price", args={"name": "coffee"}),
        ToolCall(tool="prize", args={}),
        ToolCall(tool="price", args={"name": "milk", "count": "2"}),
        ToolCall(tool="cheapest", args={"names": ["tea", "milk"]}),
    ]
    assert shop.calls(calls) == [
        Observation(value=1.25),
        Observation.failed("tool_error", "KeyError: key 'coffee' (string) is missing"),
        Observation.failed("unknown_tool", "there is no tool 'prize'"),
        Observation.failed("invalid_arguments", "count: expected integer, got '2' (string)"),
        Observation(value="milk"),
    ]
    assert shop.calls([]) == []


def test_values_are_the_same_without_records(shop: LocalSandbox) -> None:
    assert shop.values([("price", {"name": "tea"}), ("prize", {})]) == [
        (2.5, None),
        (None, ["unknown_tool", "there is no tool 'prize'"]),
    ]


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({}, "field 'name' is missing"),
        ({"name": "tea", "size": 1}, "field 'size' is not known; known: name, count"),
        ({"name": 3}, "name: expected string, got 3 (integer)"),
        ({"name": "tea", "count": 1.5}, "count: expected integer, got 1.5 (number)"),
        ({"name": "tea", "count": True}, "count: expected integer, got True (boolean)"),
        ({"name": "tea", "count": None}, "count: expected integer, got None (null)"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(args: dict[str, Any], problem: str, shop: LocalSandbox) -> None:
    assert shop.calls([ToolCall(tool="price", args=args)]) == [Observation.failed("invalid_arguments", problem)]


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


NOT_JSON = {
    "nan": float("nan"),
    "infinity": float("inf"),
    "a key that is no string": {1: 2},
    "a lone surrogate": "\ud800",
    "a key with a lone surrogate": {"\ud800": 1},
    "too deep": nested(60),
    "too large an integer": 1 << 1_024,
    "a set": {1},
    "bytes": b"x",
    "an object": object(),
}


@pytest.mark.parametrize("value", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_an_argument_that_is_no_json_value_is_refused(value: Any, pool: WorkerPool) -> None:
    echo = "def tool(value):\n    return value"
    assert error_type(call(pool, echo, value=value)) == "invalid_arguments"


@pytest.mark.parametrize("value", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_an_argument_of_an_own_function_that_is_no_json_value_is_refused_too(value: Any) -> None:
    def echo(value: Any) -> Any:
        return value

    seen = asyncio.run(FunctionEnvironment([echo]).call(ToolCall(tool="echo", args={"value": value})))
    assert error_type(seen) == "invalid_arguments"


@pytest.mark.parametrize(
    ("result", "type"),
    [
        ("float('nan')", "not_json"),
        ("[1, {'a': -float('inf')}]", "not_json"),
        ("{(1, 2): 3}", "not_json"),
        ("{1: 2, '1': 3}", "not_json"),
        ("{None: 2}", "not_json"),
        ("chr(0xD800)", "not_json"),
        ("{chr(0xDFFF): 1}", "not_json"),
        ("{1, 2}", "not_json"),
        ("b'x'", "not_json"),
        ("tool", "not_json"),
        ("(n for n in [1])", "not_json"),
        ("range(3)", "not_json"),
        ("1j", "not_json"),
        ("__import__", "refused"),
        ("2**1024", "too_large"),
        ("-(2**1024)", "too_large"),
        ("'x' * 12_000_000", "too_large"),
        ("[[]] * 600_000", "too_large"),
    ],
)
def test_a_result_that_is_no_json_value_is_a_typed_error(result: str, type: str, pool: WorkerPool) -> None:
    assert error_type(call(pool, f"def tool():\n    return {result}")) == type


def test_a_result_is_too_deep_beyond_fifty_levels(pool: WorkerPool) -> None:
    source = "def tool(depth):\n    x = 1\n    for _ in range(depth):\n        x = [x]\n    return x"
    assert call(pool, source, depth=50) == Observation(value=nested(50))
    assert error_type(call(pool, source, depth=51)) == "not_json"
    assert error_type(call(pool, "def tool():\n    x = []\n    x.append(x)\n    return x")) == "not_json"


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ("(1, (2, 'a'))", [1, [2, "a"]]),
        ("{'b': 1, 'a': [True, None]}", {"b": 1, "a": [True, None]}),
        ("2**1023", 2**1023),
        ("1e308", 1e308),
        ("'Zoë \\U0001F600 \\u2028'", "Zoë \U0001f600 \u2028"),
        ("[1.0, 1, True]", [1.0, 1, True]),
        ("None", None),
        ("{}", {}),
    ],
)
def test_a_json_result_arrives_as_it_is(result: str, value: Any, pool: WorkerPool) -> None:
    seen = call(pool, f"def tool():\n    return {result}")
    assert (repr(seen.value), seen.error) == (repr(value), None)


def test_the_arguments_of_the_caller_do_not_change(pool: WorkerPool) -> None:
    source = "def tool(rows):\n    rows[0]['n'] += 1\n    rows.append(9)\n    return rows"
    rows: list[Any] = [{"n": 1}]
    assert call(pool, source, rows=rows).value == [{"n": 2}, 9]
    assert rows == [{"n": 1}]


def test_tuples_in_arguments_become_lists(pool: WorkerPool) -> None:
    assert call(pool, "def tool(pair):\n    return [pair, pair == [1, 2]]", pair=(1, 2)).value == [
        [1, 2],
        True,
    ]


FOREVER = "def tool():\n    return sum(range(10**12))"
ONE = "def tool():\n    return 1"


@pytest.fixture(scope="module")
def hasty() -> Iterator[WorkerPool]:
    with WorkerPool(1, Limits(seconds=1)) as workers:
        yield workers


@pytest.fixture(scope="module")
def narrow() -> Iterator[WorkerPool]:
    with WorkerPool(1, Limits(memory_mb=200, value_bytes=1_000)) as workers:
        yield workers


def test_a_call_that_hangs_in_c_code_is_ended(hasty: WorkerPool) -> None:
    assert call(hasty, FOREVER) == Observation.failed("timeout", "no result within 1 s")
    assert call(hasty, ONE) == Observation(value=1)


@pytest.mark.parametrize(
    "source",
    [
        "def tool():\n    while True:\n        pass",
        "TOTAL = sum(range(10**12))\ndef tool():\n    return TOTAL",
        "import re\ndef tool():\n    return bool(re.match('(a+)+$', 'a' * 40 + 'b'))",
        "def tool():\n    while 1:\n        try:\n            1 / 0\n        except Exception:\n            pass",
    ],
    ids=["loop", "top level", "regular expression", "swallowed errors"],
)
def test_no_kind_of_endless_work_outlives_its_deadline(source: str, hasty: WorkerPool) -> None:
    assert error_type(call(hasty, source)) == "timeout"


@pytest.mark.parametrize(
    "source",
    [
        "def tool():\n    return len([0] * 10**9)",
        "def tool():\n    return len('x' * 10**9)",
        "def tool():\n    x = 'x'\n    while True:\n        x += x",
    ],
)
def test_a_call_that_floods_memory_is_ended(source: str, narrow: WorkerPool) -> None:
    assert error_type(call(narrow, source)) == "memory"
    assert call(narrow, ONE) == Observation(value=1)


def test_a_result_has_a_size_limit(narrow: WorkerPool) -> None:
    assert call(narrow, "def tool():\n    return 'x' * 300").ok
    assert call(narrow, "def tool():\n    return 'x' * 1000") == Observation.failed(
        "too_large", "the result would take over 2000 bytes of memory"
    )


ORDINARY = {
    "text": "'x' * 999_000",
    "text in another script": "'\u6587' * 330_000",
    "escaped text": "'\\n' * 490_000",
    "integers": "list(range(1000, 1000 + 190_000))",
    "numbers": "[n / 7 for n in range(60_000)]",
    "words": "['word%d' % n for n in range(80_000)]",
    "records": "[{'id': n, 'name': 'item %d' % n, 'price': 1.5} for n in range(22_000)]",
    "one object": "{'key%d' % n: n for n in range(60_000)}",
    "a table": "[[n, n + 1, n + 2] for n in range(55_000)]",
}


@pytest.mark.parametrize("result", ORDINARY.values(), ids=ORDINARY.keys())
def test_ordinary_results_of_a_megabyte_pass(result: str, pool: WorkerPool) -> None:
    seen = call(pool, f"def tool():\n    return {result}")
    assert seen.error is None
    assert len(json.dumps(seen.value, ensure_ascii=False, separators=(",", ":")).encode()) > 900_000


def test_results_that_are_too_large_together_arrive_in_parts(pool: WorkerPool) -> None:
    sandbox = LocalSandbox([untyped("def tool(n):\n    return 'x' * n")], pool)
    sizes = [3_000_000, 10, 3_000_000, 12_000_000, 20, 3_000_000]
    seen = sandbox.values([("tool", {"n": size}) for size in sizes])
    assert [len(value) if value else error[0] for value, error in seen] == [
        3_000_000, 10, 3_000_000, "too_large", 20, 3_000_000,
    ]  # fmt: skip


def test_a_batch_in_which_one_call_hangs_gives_the_others(hasty: WorkerPool) -> None:
    tools = [
        untyped("def double(n):\n    return 2 * n", "double"),
        untyped("def hang():\n    return sum(range(10**12))", "hang"),
    ]
    calls = [
        ToolCall(tool="double", args={"n": 1}),
        ToolCall(tool="hang"),
        ToolCall(tool="double", args={"n": 2}),
    ]
    assert LocalSandbox(tools, hasty).calls(calls) == [
        Observation(value=2),
        Observation.failed("timeout", "no result within 1 s"),
        Observation(value=4),
    ]


def test_calls_wait_for_a_free_worker() -> None:
    source = "def tool(n):\n    return sum(range(n * 10_000))"

    async def all_at_once(sandbox: LocalSandbox) -> list[Observation]:
        calls = [sandbox.call(ToolCall(tool="tool", args={"n": n})) for n in range(12)]
        return await asyncio.gather(*calls)

    with WorkerPool(2) as workers:
        seen = asyncio.run(all_at_once(LocalSandbox([untyped(source)], workers)))
    assert [one.value for one in seen] == [sum(range(n * 10_000)) for n in range(12)]


def test_sandboxes_on_one_pool_keep_their_own_tools(pool: WorkerPool) -> None:
    one, two = (LocalSandbox([untyped(f"def tool():\n    return {n}")], pool) for n in (1, 2))
    seen = [sandbox.calls([ToolCall(tool="tool")])[0].value for sandbox in (one, two, one)]
    assert seen == [1, 2, 1]


def test_a_closed_pool_starts_again_when_it_is_used() -> None:
    with LocalSandbox([untyped(ONE)]) as sandbox:
        assert sandbox.calls([ToolCall(tool="tool")]) == [Observation(value=1)]
        sandbox.close()
        assert sandbox.calls([ToolCall(tool="tool")]) == [Observation(value=1)]


def test_the_order_of_a_set_is_the_same_in_every_worker() -> None:
    source = "def tool():\n    return list({'ab', 'cd', 'ef', 'gh', 'ij', 'kl', 'mn', 'op'})"
    orders: list[Any] = []
    for _ in range(3):
        with WorkerPool(1) as workers:
            orders.append(call(workers, source).value)
    assert orders[0] == orders[1] == orders[2]
    assert sorted(orders[0]) == ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op"]


def test_source_without_a_tool_is_refused_before_any_worker_starts() -> None:
    with pytest.raises(SpecError, match="defines no function 'price'"):
        ToolSource.parse("def prize() -> int:\n    return 1", "price")
    with pytest.raises(SpecError, match="defines no function"):
        ToolSource.parse_all("x = 1")


def test_source_that_does_not_define_its_tool_is_an_error_of_the_call(pool: WorkerPool) -> None:
    assert error_type(call(pool, "def other():\n    return 1")) == "refused"
    assert error_type(call(pool, "def tool():\n    return 1\ndel tool")) == "refused"
    assert error_type(call(pool, "tool = 5")) == "tool_error"


@dataclass
class Room:
    number: int
    booked: date


class Guest(BaseModel):
    name: str
    born: date | None = None


def own(*functions: Callable[..., Any]) -> Callable[..., Observation]:
    """A function that calls one of these functions in a `FunctionEnvironment`."""
    sandbox = FunctionEnvironment(functions)
    return lambda tool, /, **args: asyncio.run(sandbox.call(ToolCall(tool=tool, args=args)))


def test_own_functions_get_what_their_annotations_say_and_give_json() -> None:
    def book(number: int, day: date, guest: Guest, note: str = "") -> dict[str, Any]:
        assert isinstance(guest, Guest)
        return {
            "room": Room(number, day),
            "at": datetime(day.year, 1, 2, 3),
            "guest": guest,
            "tags": (note, 1),
        }

    seen = own(book)("book", number=3, day="2024-05-06", guest={"name": "Ann"}, note="x")
    assert seen == Observation(
        value={
            "room": {"number": 3, "booked": "2024-05-06"},
            "at": "2024-01-02T03:00:00",
            "guest": {"name": "Ann", "born": None},
            "tags": ["x", 1],
        }
    )


def test_coroutine_functions_are_awaited() -> None:
    async def later(day: date) -> date:
        await asyncio.sleep(0)
        return day.replace(day=1)

    assert own(later)("later", day="2024-05-06") == Observation(value="2024-05-01")


def test_the_exceptions_of_own_functions_are_observations() -> None:
    def find(name: str) -> str:
        return {"ann": "Ann"}[name]

    async def fetch(name: str) -> str:
        raise ConnectionError(f"no route to {name}")

    sandbox = own(find, fetch)
    assert sandbox("find", name="ann") == Observation(value="Ann")
    assert sandbox("find", name="bob") == Observation.failed("tool_error", "KeyError: key 'bob' (string) is missing")
    assert sandbox("fetch", name="x") == Observation.failed("tool_error", "ConnectionError: no route to x")
    assert sandbox("find", who="x") == Observation.failed("invalid_arguments", "field 'name' is missing")
    assert sandbox("lose") == Observation.failed("unknown_tool", "there is no tool 'lose'")


def sync_day(day: date) -> str:
    return day.isoformat()


async def async_day(day: date) -> str:
    return day.isoformat()


@pytest.mark.parametrize("function", [sync_day, async_day])
def test_an_argument_that_cannot_be_converted_is_an_invalid_one(function: Callable[..., Any]) -> None:
    name = function.__name__
    seen = own(function)(name, day="tomorrow")
    assert error_type(seen) == "invalid_arguments"
    assert seen.error is not None
    assert seen.error.message.startswith("day: ")


def sync_inner(text: str) -> Guest:
    return Guest.model_validate_json(text)


async def async_inner(text: str) -> Guest:
    return Guest.model_validate_json(text)


@pytest.mark.parametrize("function", [sync_inner, async_inner])
def test_a_validation_error_inside_a_function_is_its_own(function: Callable[..., Any]) -> None:
    sandbox = own(function)
    assert sandbox(function.__name__, text='{"name": "Ann"}').value == {"name": "Ann", "born": None}
    assert error_type(sandbox(function.__name__, text='{"name": 3}')) == "tool_error"


@pytest.mark.parametrize(
    "result",
    [float("nan"), "\ud800", b"\xff", object(), nested(60), 1 << 2_000],
    ids=["nan", "surrogate", "bytes", "object", "deep", "large"],
)
def test_a_result_of_an_own_function_that_is_no_json_value_is_a_typed_error(result: Any) -> None:
    def give() -> Any:
        return result

    assert error_type(own(give)("give")) in ("not_json", "too_large")


def test_own_functions_do_not_change_the_arguments_of_the_caller() -> None:
    def sort(items: Any) -> Any:
        items["list"].sort()
        return items

    items = {"list": [3, 1, 2]}
    assert own(sort)("sort", items=items) == Observation(value={"list": [1, 2, 3]})
    assert items == {"list": [3, 1, 2]}


def test_trying_runs_readers_only() -> None:
    written: list[str] = []

    @tool(effect="write")
    def write(text: str) -> int:
        written.append(text)
        return len(written)

    @tool()
    def unmarked(text: str) -> int:
        written.append(text)
        return len(written)

    @tool(effect="read")
    def read(n: int) -> int:
        return 10 // n

    @tool(effect="read")
    async def later(n: int) -> int:
        return n

    sandbox = FunctionEnvironment([write, unmarked, read, later])
    assert sandbox.values(
        [
            ("write", {"text": "a"}),
            ("unmarked", {"text": "a"}),
            ("later", {"n": 1}),
            ("read", {"n": 5}),
            ("read", {"n": 0}),
            ("read", {"n": "x"}),
            ("lose", {}),
        ]
    ) == [
        (None, ("refused", "tool 'write' is not tried")),
        (None, ("refused", "tool 'unmarked' is not tried")),
        (None, ("refused", "tool 'later' is not tried")),
        (2, None),
        (None, ("tool_error", "ZeroDivisionError: integer division or modulo by zero")),
        (None, ("invalid_arguments", "n: expected integer, got 'x' (string)")),
        (None, ("unknown_tool", "there is no tool 'lose'")),
    ]
    assert written == []
    assert asyncio.run(sandbox.call(ToolCall(tool="write", args={"text": "b"}))) == Observation(value=1)
    assert written == ["b"]


@pytest.fixture(scope="module")
def corpus() -> list[dict[str, Any]]:
    """The tool rows of the attack corpus, if it is available."""
    root = Path(__file__).parents[1].parent / "shared" / "fixtures"
    path = Path(os.environ.get("FLOWMIND_FIXTURES") or root) / "sandbox" / "attacks.dev.jsonl"
    if not path.exists():
        pytest.skip("no fixtures: neither FLOWMIND_FIXTURES nor ../shared/fixtures has sandbox/attacks.dev.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["surface"] == "tool"]


def test_every_benign_row_of_the_corpus_gives_its_value(corpus: list[dict[str, Any]], pool: WorkerPool) -> None:
    later = {"t-benign-44", "t-benign-45"}
    benign = [row for row in corpus if row["kind"] == "benign" and row["id"] not in later]
    seen = {row["id"]: call(pool, row["source"], **row["args"]) for row in benign}
    assert len(benign) > 20
    assert [row["id"] for row in benign if not json_equal(seen[row["id"]].value, row["want"])] == []


def test_no_attack_of_the_corpus_works(corpus: list[dict[str, Any]], tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the canary sang")
    attacks = [row for row in corpus if row["kind"] != "benign"]
    worked: list[str] = []
    with WorkerPool(1, Limits(seconds=0.3)) as workers:
        for row in attacks:
            args = json.loads(json.dumps(row["args"]).replace("$CANARY", str(secret)))
            kept = json.dumps(args)
            seen = [call(workers, row["source"], **args)]
            if row.get("check") == "second-case":
                seen.append(call(workers, row.get("source2") or row["source"], **args))
            text = json.dumps([one.value for one in seen], allow_nan=False)
            if '"PWNED' in text or "canary sang" in text or json.dumps(args) != kept:
                worked.append(row["id"])
        assert call(workers, ONE) == Observation(value=1)
    assert len(attacks) > 100
    assert worked == []


def test_two_workers_answer_the_same(corpus: list[dict[str, Any]]) -> None:
    rows = [row for row in corpus if row.get("check") == "same-across-workers"]
    with WorkerPool(1) as first, WorkerPool(1) as second:
        pairs = {
            row["id"]: [call(workers, row["source"], **row["args"]) for workers in (first, second)] for row in rows
        }
    assert len(rows) > 5
    assert [name for name, (one, other) in pairs.items() if one != other] == []


@pytest.mark.parametrize(
    "source",
    [
        "TABLE = [0] * 4_000_000\ndef tool(n):\n    return n + 0 * len(TABLE)",
        "class Node: pass\ndef tool(n):\n    a = Node()\n    a.me, a.table = a, [0] * 4_000_000\n    return n",
        "def tool(n):\n    ring = [[0] * 4_000_000]\n    ring.append(ring)\n    return n",
    ],
)
def test_the_memory_of_a_case_is_free_for_the_next(source: str) -> None:
    pool = WorkerPool(1, Limits(memory_mb=150))
    with pool, LocalSandbox([untyped(source)], pool) as sandbox:
        assert [sandbox.values([("tool", {"n": n})]) for n in range(8)] == [[(n, None)] for n in range(8)]
        assert sandbox.values([("tool", {"n": n}) for n in range(8)]) == [(n, None) for n in range(8)]


def test_what_a_case_leaves_behind_ends_in_its_own_time() -> None:
    source = """
def endless():
    try:
        yield
    finally:
        while True:
            pass

def tool(n):
    if n == 1:
        ring = [endless()]
        next(ring[0])
        ring.append(ring)
    return n
"""
    pool = WorkerPool(1, Limits(seconds=0.5))
    with pool, LocalSandbox([untyped(source)], pool) as sandbox:
        values = [sandbox.values([("tool", {"n": n})])[0] for n in range(4)]
        assert [value for value, _ in values] == [0, None, 2, 3]
        assert values[1][1] is not None and values[1][1][0] == "timeout"
