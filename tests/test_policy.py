"""The policy for tool source: ordinary code runs as in CPython, everything else is a typed error."""

import abc
import builtins
import contextlib
import copy
import decimal
import functools
import gc
import json
import operator
import os
import random
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from tools_registry.sandbox.environments import Limits, LocalSandbox, ToolSource, WorkerPool
from tools_registry.sandbox.language import facades, gate, guards, policy, rewriting
from tools_registry.sandbox.language.policy import FACADES, RefusedSource, ToolCode, compile_tools, self_test
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec

ANY_ARGUMENTS = {"type": "object"}


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(1) as workers:
        yield workers


def call(pool: WorkerPool, source: str, **args: Any) -> Observation:
    spec = ToolSpec(name="tool", parameters=ANY_ARGUMENTS)
    sandbox = LocalSandbox([ToolSource(spec=spec, source=source)], pool)
    return sandbox.calls([ToolCall(tool="tool", args=args)])[0]


class Snippet(NamedTuple):
    name: str
    source: str
    args: dict[str, Any]


ORDINARY = [
    Snippet(
        "augmented assignment on items",
        """
def tool(words):
    counts = {}
    grid = [[0] * 2 for _ in range(2)]
    for word in words:
        counts.setdefault(word, 0)
        counts[word] += 1
        grid[len(word) % 2][0] -= len(word)
    counts["total"] = 2
    counts["total"] **= 5
    counts["total"] //= 3
    return [counts, grid]
""",
        {"words": ["a", "bb", "a"]},
    ),
    Snippet(
        "augmented assignment evaluates its place once",
        """
def tool(items):
    seen = []
    def place():
        seen.append(len(seen))
        return 0
    items[place()] += 10
    items[place() : 2] += [7]
    return [items, seen]
""",
        {"items": [1, 2, 3]},
    ),
    Snippet(
        "augmented assignment on slices",
        """
def tool(items):
    items[1:3] += [9, 9]
    items[::2] += []
    items[-1:] *= 2
    return items
""",
        {"items": [3, 2, 1]},
    ),
    Snippet(
        "augmented assignment with every operator",
        """
def tool(n):
    text = "ab"
    text += "c"
    text *= 2
    n |= 1
    n <<= 4
    n ^= 3
    n &= 0xFF
    n >>= 1
    n %= 50
    part = n
    part /= 4
    tags = {1, 2}
    tags |= {3}
    tags -= {1}
    return [text, n, part, sorted(tags)]
""",
        {"n": 6},
    ),
    Snippet(
        "a class with attributes that change",
        """
class Account:
    interest = 0.5

    def __init__(self, balance=0):
        self.balance = balance
        self.log = {}

    def deposit(self, amount):
        self.balance += amount
        self.log["deposits"] = self.log.get("deposits", 0) + 1
        self.log["deposits"] += 1
        return self

    def __eq__(self, other):
        return self.balance == other.balance

    def __lt__(self, other):
        return self.balance < other.balance


def tool(n):
    account = Account(n).deposit(5).deposit(2.5)
    account.owner = "Ann"
    poorest = min(Account(3), account)
    return [
        account.balance, account.log, account.owner, account == Account(n + 7.5), poorest.balance,
        account.interest,
    ]
""",
        {"n": 1},
    ),
    Snippet(
        "inheritance, properties, static and class methods",
        """
class Shape:
    def area(self):
        raise NotImplementedError("area")

    @property
    def double(self):
        return 2 * self.area()

    @staticmethod
    def unit():
        return 1

    @classmethod
    def of(cls, *sides):
        return cls(*sides)


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2


def tool(side):
    square = Square.of(side)
    try:
        Shape().area()
    except NotImplementedError as error:
        reason = str(error)
    return [square.double, Square.unit(), isinstance(square, Shape), isinstance(3, Shape), reason]
""",
        {"side": 3},
    ),
    Snippet(
        "a linked list",
        """
class Node:
    def __init__(self, value, following=None):
        self.value = value
        self.following = following


def tool(values):
    head = None
    for value in reversed(values):
        head = Node(value, head)
    head.following.value *= 10
    found = []
    while head:
        found.append(head.value)
        head = head.following
    return found
""",
        {"values": [1, 2, 3]},
    ),
    Snippet(
        "comprehensions",
        """
def tool(rows):
    squares = {row["n"]: row["n"] ** 2 for row in rows if row["n"] % 2}
    pairs = [(a, b) for a in range(3) for b in "xy" if a != 1]
    distinct = sorted({len(row["name"]) for row in rows})
    nested = [[cell * 2 for cell in line] for line in [[1, 2], [3]]]
    unpacked = [f"{name}{n}" for name, n in [("a", 1), ("b", 2)]]
    deep = [a + b + c for a, (b, c) in [(1, (2, 3))]]
    return [list(squares.items()), pairs, distinct, nested, unpacked, deep, sum(row["n"] for row in rows)]
""",
        {"rows": [{"n": 1, "name": "ab"}, {"n": 2, "name": "c"}, {"n": 3, "name": "de"}]},
    ),
    Snippet(
        "f-strings with formats",
        """
def tool(name, amount):
    width = 12
    parts = f"{name!r:>{width}}|{amount:.2f}|{1234567:,}|{0.256:.1%}|{255:#06x}|"
    return parts + f"{name:^8}|{amount=}|{{}}|{3:+d}"
""",
        {"name": "Zoë", "amount": 2.675},
    ),
    Snippet(
        "format and percent",
        """
def tool(name, amount):
    return [
        "{:>8}|{who}|{:<5}".format(amount, 3, who=name), "{1}-{0}-{1!r}".format("a", "b"),
        "{:{}}|{:,.1f}".format("x", 4, 12345.678), "{{{}}}".format(name),
        "%s has %03d items (%.1f%%)" % (name, 7, amount), "%(name)s" % {"name": name},
        format(amount, "08.3f"),
    ]
""",
        {"name": "Ann", "amount": 2.5},
    ),
    Snippet(
        "annotations",
        """
from __future__ import annotations

from typing import Any, Optional


def tool(values: list[float], scale: Optional[float] = None, *rest: int, **more: Any) -> dict[str,
    list[float]]:
    \"\"\"Scales values.\"\"\"
    result: dict[str, list[float]] = {}
    factor: float = scale or 2
    unused: int
    for value in values:
        result.setdefault("values", []).append(value * factor)
    return result
""",
        {"values": [1.5, 2.0]},
    ),
    Snippet(
        "type aliases",
        """
from typing import Dict, List

Vector = List[float]
Table = Dict[str, Vector]


def tool(values: Vector) -> Table:
    return {"values": values}
""",
        {"values": [1.5]},
    ),
    Snippet(
        "typed dictionaries",
        """
from typing import TypedDict


class Row(TypedDict):
    name: str


def tool(name: str) -> Row:
    row: Row = {"name": name}
    return row
""",
        {"name": "Ann"},
    ),
    Snippet(
        "nested functions and closures",
        """
def tool(n):
    count = 0
    steps = []

    def step(by=1):
        nonlocal count
        count += by
        steps.append(count)
        return count

    def adder(base):
        return lambda value: value + base

    step()
    step(by=n)
    adders = [adder(base) for base in range(3)]
    return [count, steps, [add(10) for add in adders]]
""",
        {"n": 5},
    ),
    Snippet(
        "recursion with a memo",
        """
def tool(n):
    memo = {}

    def fib(k):
        if k in memo:
            return memo[k]
        memo[k] = k if k < 2 else fib(k - 1) + fib(k - 2)
        return memo[k]

    return fib(n)
""",
        {"n": 60},
    ),
    Snippet(
        "helpers and constants at top level",
        """
LIMITS = {"low": 2, "high": 30}
PRIMES: list[int] = []


def is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def tool(low=LIMITS["low"], high=LIMITS["high"]):
    PRIMES.extend(n for n in range(low, high) if is_prime(n))
    return PRIMES
""",
        {"high": 20},
    ),
    Snippet(
        "sorting with keys",
        """
def tool(rows):
    ordered = sorted(rows, key=lambda row: (-row["n"], row["name"]))
    rows.sort(key=lambda row: row["name"].lower(), reverse=True)
    best = max({"a": 1, "b": 3}.items(), key=lambda pair: pair[1])
    scores = {"x": 2, "y": 5}
    return [
        ordered[:2], [row["name"] for row in rows], best, max(scores, key=scores.get),
        sorted("bAc", key=str.lower),
    ]
""",
        {"rows": [{"n": 1, "name": "b"}, {"n": 2, "name": "C"}, {"n": 2, "name": "a"}]},
    ),
    Snippet(
        "generators",
        """
def numbers(limit):
    n = 0
    while n < limit:
        received = yield n
        n += 1


def both(*parts):
    for part in parts:
        yield from part
    return None


def tool(limit):
    lazy = (n * n for n in numbers(limit))
    first = next(lazy)
    return [
        first, next(lazy, None), list(lazy), next(lazy, "done"), list(both(numbers(2), "ab")),
        sum(numbers(4)),
    ]
""",
        {"limit": 4},
    ),
    Snippet(
        "try, except, else, finally",
        """
def tool(values):
    log = []

    def number(text):
        try:
            value = int(text)
        except (ValueError, TypeError) as error:
            log.append(str(error))
            return None
        else:
            log.append("ok")
            return 10 / value
        finally:
            log.append("done")

    results = []
    for value in values:
        try:
            results.append(number(value))
        except ZeroDivisionError:
            results.append("zero")
    try:
        {}["key"]
    except KeyError as error:
        log += [str(error), error.args[0], repr(error)]
    return [results, log]
""",
        {"values": ["5", "x", None, "0"]},
    ),
    Snippet(
        "own exceptions",
        """
class Refused(ValueError):
    pass


class TooPoor(Refused):
    def __init__(self, missing):
        self.missing = missing


def tool(balance):
    try:
        try:
            raise TooPoor(12 - balance)
        except Refused as error:
            kept = error
            raise Refused("no money", error.missing) from error
    except Refused as error:
        return [error.args, kept.missing, isinstance(kept, ValueError)]
""",
        {"balance": 5},
    ),
    Snippet(
        "star-args",
        """
def total(*numbers, scale=1, **more):
    return [sum(numbers) * scale, sorted(more)]


def ordered(a, /, b, *, c=3):
    return [a, b, c]


def tool(items, options):
    first, *middle, last = items
    merged = {**options, "extra": [*items, *"ab"]}
    show = lambda *args, k=1, **kwargs: [len(args), k, kwargs]
    return [
        total(*items, **options), ordered(1, *[2], c=5), first, middle, last, merged,
        show(1, 2, k=3, z=1),
    ]
""",
        {"items": [1, 2, 3], "options": {"scale": 2, "note": "x"}},
    ),
    Snippet(
        "unpacking and swapping",
        """
def tool(pairs):
    a, b = 1, 2
    a, b = b, a
    (c, d), e = (3, 4), 5
    x = y = []
    x.append(1)
    found = []
    for index, (key, value) in enumerate(pairs, start=1):
        found.append([index, key, value])
    return [a, b, c, d, e, y, found, [list(column) for column in zip(*pairs)]]
""",
        {"pairs": [["k", 1], ["l", 2]]},
    ),
    Snippet(
        "walrus",
        """
def tool(items):
    if (n := len(items)) > 2:
        return [n, [half for item in items if (half := item // 2) > 0]]
    while (last := items.pop()) and items:
        pass
    return last
""",
        {"items": [1, 4, 6]},
    ),
    Snippet(
        "match",
        """
def shape(value):
    match value:
        case {"kind": "circle", "r": radius}:
            return ["circle", radius]
        case {"kind": kind, **rest} if rest:
            return [kind, rest]
        case [first, _, *others]:
            return ["list", first, others]
        case 1 | 2:
            return "small"
        case -1 | "minus":
            return "negative"
        case None | True:
            return "flag"
        case number if number == 7:
            return "seven"
        case other:
            return ["other", other]


def tool(values):
    return [shape(value) for value in values]
""",
        {"values": [{"kind": "circle", "r": 2}, {"kind": "box", "a": 1}, [1, 2, 3], 2, -1, "minus",
        None, 7, "x", [1]]},
    ),
    Snippet(
        "loops with else, break, continue",
        """
def tool(limit):
    found = []
    for n in range(2, limit):
        for d in range(2, n):
            if n % d == 0:
                break
        else:
            found.append(n)
            continue
    i = 0
    while True:
        i += 3
        if i > limit:
            break
    else:
        i = -1
    for found_last in found:
        pass
    del found[0]
    assert found, "none"
    return [found, i, found_last]
""",
        {"limit": 12},
    ),
    Snippet(
        "conditions",
        """
def tool(a, b):
    return [
        a if a > b else b, 0 < a <= 5 < b, not a, a and b, a or b, None is None, a is not None,
        a in [1, 2], "x" not in "abc", isinstance(a, (int, float)), isinstance(b, int | str),
        type(a) is int, bool([]) == False, ~a, -a,
    ]
""",
        {"a": 2, "b": 9},
    ),
    Snippet(
        "printing changes nothing",
        """
def tool(n):
    print("debug", n, sep="-")
    return n
""",
        {"n": 3},
    ),
    Snippet(
        "math",
        """
import math as m
from math import sqrt as root


def tool(n):
    return [
        root(n), m.floor(2.7), m.gcd(12, 18), m.isclose(0.1 + 0.2, 0.3), m.factorial(10), m.hypot(3, 4),
        m.log2(8), m.inf > n, m.prod([1, 2, 3]), m.comb(5, 2), round(m.pi, 4), m.fsum([0.1] * 10),
        divmod(7, 2), pow(3, 4, 5),
    ]
""",
        {"n": 2.25},
    ),
    Snippet(
        "statistics",
        """
import statistics
from statistics import mean, median


def tool(values):
    return [
        mean(values), median(values), statistics.mode([1, 1, 2]), statistics.stdev(values),
        statistics.pvariance(values), statistics.quantiles(values, n=4), statistics.multimode("aabb"),
        statistics.fmean(values),
    ]
""",
        {"values": [1, 2, 3, 4, 10]},
    ),
    Snippet(
        "a regression line",
        """
import statistics


def tool(x, y):
    slope, intercept = statistics.linear_regression(x, y)
    line = statistics.linear_regression(x, y)
    return [slope, intercept, line.slope, line.intercept]
""",
        {"x": [1, 2, 3], "y": [2, 4, 7]},
    ),
    Snippet(
        "regular expressions",
        r"""
import re

DATE = re.compile(r"(?P<year>\d{4})-(?P<month>\d\d)")


def tool(text):
    match = DATE.search(text)
    return [
        match["year"], match.group(2), match.groupdict(), match.span(),
        re.sub(r"\d", lambda m: str(9 - int(m.group())), text),
        [found.start() for found in re.finditer("1", text)], re.split(r"[-, ]+", text),
        re.findall(r"[A-Z]\w+", text, re.ASCII), bool(re.fullmatch("x", text, flags=re.I | re.M)),
        DATE.sub(r"\g<month>/\1", text), re.match("z", text) is None,
    ]
""",
        {"text": "On 2024-11-05, Ann paid 12"},
    ),
    Snippet(
        "json",
        """
import json


def tool(text):
    data = json.loads(text)
    data["n"] += 1
    try:
        json.loads("{")
    except json.JSONDecodeError as error:
        reason = str(error)
    return [data, json.dumps(data, sort_keys=True, indent=1), json.dumps([1.0, None, "é"]), reason]
""",
        {"text": '{"n": 1, "b": [true, null]}'},
    ),
    Snippet(
        "dates",
        """
from datetime import date, datetime, timedelta, timezone


def tool(day):
    d = date.fromisoformat(day)
    moment = datetime.combine(d, datetime.min.time()).replace(hour=13, minute=5)
    return [
        (d + timedelta(days=30)).isoformat(), (date(2024, 12, 25) - d).days, d.weekday(),
        d.isocalendar().week, d.isocalendar()[1], moment.isoformat(),
        (moment - datetime(2024, 1, 1)).total_seconds(), moment.date() == d,
        d.replace(day=1).isoformat(), moment.replace(tzinfo=timezone.utc).isoformat(), d < date.max,
        d.toordinal(), str(timedelta(hours=30)), d.year, moment.hour,
    ]
""",
        {"day": "2024-02-29"},
    ),
    Snippet(
        "dates read by a pattern",
        """
from datetime import datetime


def tool(text):
    try:
        datetime.strptime(text, "%d.%m.%Y")
    except ValueError as error:
        reason = str(error)
    return [
        datetime.strptime(text, "%Y-%m-%d %H:%M").isoformat(),
        datetime.strptime(text[:10], "%Y-%m-%d").date().isoformat(), reason,
    ]
""",
        {"text": "2024-03-01 13:45"},
    ),
    Snippet(
        "dates written by a pattern",
        """
from datetime import date, datetime


def tool(text):
    moment = datetime.fromisoformat(text)
    return [moment.strftime("%d.%m.%Y %I:%M %p"), f"{moment:%A, %d %B}", date(2024, 1, 5).strftime("%j")]
""",
        {"text": "2024-03-01T13:45:00"},
    ),
    Snippet(
        "the day of the year",
        """
from datetime import date


def tool(day):
    return date.fromisoformat(day).timetuple().tm_yday
""",
        {"day": "2024-03-01"},
    ),
    Snippet(
        "itertools",
        """
import itertools
import operator
from itertools import groupby


def tool(rows):
    key = operator.itemgetter("k")
    groups = {k: [row["n"] for row in group] for k, group in groupby(sorted(rows, key=key), key=key)}
    return [
        groups, list(itertools.accumulate([1, 2, 3], operator.mul)), list(itertools.pairwise("abc")),
        list(itertools.chain.from_iterable([[1], [2, 3]])), list(itertools.product("ab", [1])),
        list(itertools.islice(itertools.count(5), 3)), list(itertools.combinations("abc", 2)),
        list(itertools.zip_longest([1], "ab", fillvalue=0)), list(itertools.starmap(pow, [(2, 3)])),
        [next(twin) for twin in itertools.tee("xy")],
        list(itertools.takewhile(lambda n: n < 3, [1, 2, 5])),
    ]
""",
        {"rows": [{"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "a", "n": 3}]},
    ),
    Snippet(
        "collections",
        """
from collections import Counter, OrderedDict, defaultdict, deque


def tool(words):
    groups = defaultdict(list)
    for word in words:
        groups[word[0]].append(word)
    groups["z"] += ["zoo"]
    counts = Counter("".join(words))
    counts["a"] += 10
    counts.update("bb")
    queue = deque(words, maxlen=3)
    queue.appendleft("x")
    queue.rotate(1)
    queue[0] += "!"
    order = OrderedDict(a=1, b=2)
    order.move_to_end("a")
    return [
        groups, counts.most_common(2), counts["none"], counts + Counter(a=1), list(queue),
        queue.popleft(), order, sorted(Counter(aa=2).elements()), list(reversed(order)),
    ]
""",
        {"words": ["ab", "ca", "ad"]},
    ),
    Snippet(
        "functools",
        """
from functools import cmp_to_key, lru_cache, partial, reduce


@lru_cache(maxsize=None)
def ways(n, steps=(1, 2)):
    if n < 0:
        return 0
    return 1 if n == 0 else sum(ways(n - step) for step in steps)


def tool(n):
    half = partial(pow, 2, mod=7)
    by_length = cmp_to_key(lambda a, b: len(a) - len(b))
    return [
        ways(n), reduce(lambda a, b: a * b, range(1, 6), 1), half(10),
        sorted(["ccc", "a", "bb"], key=by_length),
    ]
""",
        {"n": 40},
    ),
    Snippet(
        "a cached function with named arguments",
        """
from functools import lru_cache


@lru_cache
def area(width, height=1):
    return width * height


def tool(n):
    return [area(n, height=3), area(width=n), area(n, height=3)]
""",
        {"n": 4},
    ),
    Snippet(
        "shallow copies",
        """
import copy


def tool(rows):
    other = copy.copy(rows)
    other[0].append(5)
    other.append("new")
    tags = {1, 2}
    more = copy.copy(tags)
    more.add(3)
    return [rows, other, sorted(tags), sorted(more)]
""",
        {"rows": [[1], 2]},
    ),
    Snippet(
        "deep copies",
        """
import copy
from collections import defaultdict


class Box:
    def __init__(self, items):
        self.items = items


def tool(rows):
    groups = defaultdict(list)
    groups["a"].append({1})
    other = copy.deepcopy(groups)
    other["a"][0].add(2)
    box = Box([1])
    twin = copy.deepcopy(box)
    twin.items.append(2)
    same = copy.deepcopy(rows)
    same[0].append(9)
    return [sorted(groups["a"][0]), sorted(other["a"][0]), box.items, twin.items, rows, same]
""",
        {"rows": [[1], 2]},
    ),
    Snippet(
        "exact numbers",
        """
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction


def tool(text):
    price = Decimal(text).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
    share = Fraction(1, 3) + Fraction("1/6")
    return [
        str(price), float(price * 3), share.numerator, share.denominator, str(share),
        str(Decimal(1) / 3), price.as_tuple().digits,
    ]
""",
        {"text": "2.675"},
    ),
    Snippet(
        "heaps and bisection",
        """
import bisect
import heapq


def tool(values):
    heap = []
    for value in values:
        heapq.heappush(heap, value)
    ordered = sorted(values)
    bisect.insort(ordered, 4)
    return [
        heapq.heappop(heap), heapq.nlargest(2, values), ordered, bisect.bisect_left(ordered, 4),
        list(heapq.merge([1, 4], [2])),
    ]
""",
        {"values": [5, 1, 8]},
    ),
    Snippet(
        "text",
        """
import string
import textwrap
import unicodedata


def tool(text):
    header, *body = [line.split(",") for line in text.splitlines()]
    plain = "".join(c for c in unicodedata.normalize("NFD", "Zoë") if unicodedata.category(c) != "Mn")
    table = str.maketrans("abc", "xyz", string.punctuation)
    return [
        [dict(zip(header, row, strict=True)) for row in body], plain, "c!ab".translate(table),
        "".join(map(str.upper, "ab")), textwrap.fill("a bb ccc dddd", 6),
        "a-b_c".replace("-", "_").split("_"), " x ".strip().center(5, "*"), "abc"[::-1],
        "Hello".encode().hex(), bytes([104, 105]).decode(), ord("a"), chr(8364), "{:08b}".format(5),
        int("ff", 16), bin(5), "b" in "abc", string.ascii_lowercase[:3], "ß".casefold(),
        "a,b,,c".partition(","), "x=1;y=2".rsplit(";", 1), "%".join(["a", "b"]), repr("q'"),
    ]
""",
        {"text": "a,b\n1,2\n3,4"},
    ),
    Snippet(
        "sets and ranges",
        """
def tool(a, b):
    left, right = set(a), frozenset(b)
    return [
        sorted(left & right), sorted(left.symmetric_difference(right)), left <= {1, 2, 3},
        left.isdisjoint([9]), list(range(10, 0, -3)), 5 in range(6), list(reversed(range(3))),
        len(range(0, 10, 4)), list(map(lambda x, y: x * y, a, b)), list(filter(None, [0, 1, "", "x"])),
        any(x > 2 for x in a), all([]), min(a, default=0), max([], default=-1),
        list(enumerate("ab", 1)), sum([[1], [2]], []), list({}.fromkeys(a, 0)), {1: "a"}.get(2, "none"),
        {"a": 1} | {"b": 2}, list({"a": 1}.items())[0], dict([["k", 1]]), sorted(a, reverse=True),
    ]
""",
        {"a": [1, 2, 3], "b": [2, 3, 4]},
    ),
]  # fmt: skip


@pytest.mark.parametrize("snippet", ORDINARY, ids=lambda snippet: snippet.name)
def test_ordinary_code_gives_what_cpython_gives(snippet: Snippet, pool: WorkerPool) -> None:
    scope: dict[str, Any] = {}
    exec(compile(snippet.source, "<plain>", "exec", dont_inherit=True), scope)
    plain = json.loads(json.dumps(scope["tool"](**copy.deepcopy(snippet.args))))
    seen = call(pool, snippet.source, **snippet.args)
    assert (seen.value, seen.error) == (plain, None)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
        ("return {}['total']", "KeyError: key 'total' (string) is missing"),
        ("return int('x')", "ValueError: invalid literal for int() with base 10: 'x'"),
        ("raise ValueError('no such customer')", "ValueError: no such customer"),
        ("raise ValueError", "ValueError"),
        ("assert 1 > 2, 'order'", "AssertionError: order"),
        ("return missing", "NameError: name 'missing' is not defined"),
        ("return tool()", "RecursionError: the call nests too deeply"),
        ("raise ValueError('x' * 9999)", "ValueError: " + "x" * 488),
    ],
)
def test_an_exception_is_a_tool_error_with_its_message(body: str, message: str, pool: WorkerPool) -> None:
    assert call(pool, f"def tool():\n    {body}") == Observation.failed("tool_error", message)


def test_a_message_that_is_no_text_does_not_end_the_worker(pool: WorkerPool) -> None:
    seen = call(pool, "def tool():\n    raise ValueError(chr(0xD800))")
    assert seen.error is not None
    assert seen.error.type == "tool_error"


REFUSED_WHEN_COMPILED = [
    "def tool():\n    return ().__class__.__base__.__subclasses__()",
    "def tool():\n    return tool.__globals__",
    "def tool():\n    return (lambda: 0).__code__",
    "def tool():\n    return (n for n in [1]).gi_frame",
    "def tool():\n    return [].append.__self__",
    "def tool():\n    return __builtins__",
    "def tool():\n    return __import__('os')",
    "def tool():\n    return exec('1')",
    "def tool():\n    return eval('1')",
    "def tool(_getattr_=None):\n    return 1",
    "def tool(_write_=None, /):\n    return 1",
    "def _getiter_(x):\n    return x\ndef tool():\n    return 1",
    "def tool():\n    match 1:\n        case int(real=x):\n            return 1",
    "def tool():\n    try:\n        return 1\n    except* ValueError:\n        pass",
    "async def tool():\n    return 1",
    "from math import *\ndef tool():\n    return sqrt(4)",
    "class A:\n    __slots__ = ()\ndef tool():\n    return 1",
    "class A:\n    def __getattribute__(self, name):\n        return 1\ndef tool():\n    return 1",
    "for n in range(3):\n    print(n)\ndef tool():\n    return 1",
    "while True:\n    pass\ndef tool():\n    return 1",
    "print('loaded')\ndef tool():\n    return 1",
    "if True:\n    def tool():\n        return 1",
    "with open('x') as f:\n    pass\ndef tool():\n    return 1",
    "n = 1\nn += 1\ndef tool():\n    return n",
    "def tool(:\n    return 1",
    "def tool():\n    return '\0'",
    "def tool():\n    return '\ud800'",
    "def tool():\n    return 1\n#" + "x" * 32_000,
    "def tool():\n    return " + "(" * 61 + "1" + ")" * 61,
    "def tool():\n    return " + "[" * 5_000,
    "def tool():\n    return [" + "1, " * 6_000 + "]",
    "def tool():\n    return " + "9" * 5_000,
    "def tool():\n    return " + " + ".join(["1"] * 1_500),
    "def tool():\n    return " + "not " * 900 + "True",
    "def tool(n):\n    return n" + ".real" * 900,
    "def tool(n):\n    return " + "lambda: " * 500 + "1",
]


@pytest.mark.parametrize("source", REFUSED_WHEN_COMPILED, ids=lambda text: ascii(text[:60]))
def test_source_outside_the_policy_is_refused(source: str) -> None:
    with pytest.raises(RefusedSource):
        compile_tools(source)


def test_a_refusal_names_the_line() -> None:
    with pytest.raises(RefusedSource, match="Line 3"):
        compile_tools("def tool(x):\n    y = x\n    return y.__class__")
    with pytest.raises(RefusedSource, match="line 2: While at top level"):
        compile_tools("x = 1\nwhile x:\n    pass")


def test_refused_source_is_an_error_of_the_call(pool: WorkerPool) -> None:
    seen = call(pool, "def tool():\n    return ().__class__")
    assert seen.error is not None
    assert (seen.value, seen.error.type) == (None, "refused")
    assert "__class__" in seen.error.message


@pytest.mark.parametrize("module", ["os", "sys", "subprocess", "socket", "time", "pathlib", "builtins", "inspect"])
def test_a_module_that_is_not_listed_cannot_be_imported(module: str, pool: WorkerPool) -> None:
    at_top = call(pool, f"import {module}\ndef tool():\n    return 'imported'")
    inside = call(pool, f"def tool():\n    import {module} as m\n    return 'imported'")
    assert at_top.error is not None
    assert at_top.error.type == "refused"
    assert inside.error is not None
    assert inside.error.type in ("refused", "tool_error")


@pytest.mark.parametrize(
    "body",
    [
        "import statistics\n    return str(statistics.sys)",
        "import json\n    return str(json.codecs)",
        "import re\n    return str(re.enum)",
        "import string\n    return str(string.Formatter)",
        "from statistics import sys\n    return str(sys)",
        "import os.path\n    return str(os)",
        "from . import secret\n    return str(secret)",
        "import math\n    math.sqrt = len",
        "import math\n    math.sqrt += 1",
        "import math\n    del math.sqrt",
        "import json\n    json.dumps.keys = 1",
        "return open('/etc/hostname').read()",
        "return input()",
        "return str(globals())",
        "return str(vars(tool))",
        "return dir([])",
        "return getattr([], '__class__')",
        "return id(1)",
        "return '{0.__class__}'.format(1)",
        "return '{0._real}'.format(1)",
        "return '{x[0].append}'.format(x=[[1]])",
        "return '{:{0.to_bytes}}'.format(1)",
        "return '{0.imag_}'.format_map({'0': 1})",
        "return str.format('{0.real}', 1)",
        "return ''.join(map(str.format, ['{0.real}'], [1]))",
        "return (n for n in [1]).gi_code",
        "return [].copy.name",
        "match 1:\n        case tool.real:\n            return 1",
        "int.real = 1",
        "(1, 2)[0] = 3",
        "'abc'[0] = 'x'",
        "class A(dict):\n        pass\n    return len(A())",
        "class A(str):\n        pass\n    return A('x')",
        "class A(type(1)):\n        pass\n    return A(1) + 1",
        "return type(int)('A', (str,), {})('x') + 'y'",
        "raise SystemExit('bye')",
        "raise KeyboardInterrupt",
    ],
)  # fmt: skip
def test_what_a_tool_cannot_reach_is_a_typed_error(body: str, pool: WorkerPool) -> None:
    seen = call(pool, f"def tool():\n    {body}\n")
    assert seen.value is None
    assert seen.error is not None
    assert seen.error.type in ("tool_error", "refused")


def test_an_exception_does_not_lead_to_frames(pool: WorkerPool) -> None:
    source = """
def tool():
    try:
        [].missing
    except AttributeError as error:
        return error.obj
"""
    seen = call(pool, source)
    assert seen.error is not None
    assert "offers no attribute 'obj'" in seen.error.message


STATEFUL = {
    "mutable default": "def tool(seen=[]):\n    seen.append(1)\n    return len(seen)",
    "mutable keyword default": "def tool(*, seen={}):\n    seen[len(seen)] = 1\n    return len(seen)",
    "global counter": "n = 0\ndef tool():\n    global n\n    n += 1\n    return n",
    "global made by the call": (
        "def tool():\n    global n\n    try:\n        n += 1\n    except NameError:\n        n = 1\n    return n"
    ),
    "list at top level": "seen = []\ndef tool():\n    seen.append(1)\n    return len(seen)",
    "class attribute": "class K:\n    seen = []\ndef tool():\n    K.seen.append(1)\n    return len(K.seen)",
    "closure": (
        "def make():\n    n = 0\n    def step():\n        nonlocal n\n        n += 1\n        return n\n"
        "    return step\nstep = make()\ndef tool():\n    return step()"
    ),
    "iterator at top level": "import itertools\nn = itertools.count(1)\ndef tool():\n    return next(n)",
    "cached list": (
        "from functools import lru_cache\n@lru_cache\ndef seen():\n    return []\n"
        "def tool():\n    seen().append(1)\n    return len(seen())"
    ),
    "default of a helper": (
        "def step(seen=[]):\n    seen.append(1)\n    return len(seen)\ndef tool():\n    return step()"
    ),
    "default of a lambda": ("step = lambda seen=[]: seen.append(1) or len(seen)\ndef tool():\n    return step()"),
}


@pytest.mark.parametrize("source", STATEFUL.values(), ids=STATEFUL.keys())
def test_no_state_leaks_from_one_case_to_the_next(source: str, pool: WorkerPool) -> None:
    sandbox = LocalSandbox([ToolSource(spec=ToolSpec(name="tool", parameters=ANY_ARGUMENTS), source=source)], pool)
    assert sandbox.calls([ToolCall(tool="tool")] * 3) == [Observation(value=1)] * 3
    assert sandbox.calls([ToolCall(tool="tool")]) == [Observation(value=1)]


def test_a_cache_serves_within_a_case(pool: WorkerPool) -> None:
    source = """
from functools import cache

calls = []

@cache
def slow(n):
    calls.append(n)
    return n

def tool():
    return [slow(1), slow(1), slow(2), len(calls)]
"""
    assert call(pool, source).value == [1, 1, 2, 2]


def test_nothing_at_top_level_can_change_in_stateless_source() -> None:
    assert compile_tools("import math\ndef tool(n=1):\n    return math.sqrt(n)").stateless
    assert not compile_tools("seen = []\ndef tool():\n    return seen").stateless
    assert not compile_tools("def tool(seen=[]):\n    return seen").stateless


def test_a_facade_cannot_be_changed_even_without_guards() -> None:
    facade = cast(Any, FACADES["math"])
    with pytest.raises(AttributeError):
        facade.pi = 3
    with pytest.raises(AttributeError):
        del facade.pi
    assert facade.sqrt(4) == 2
    with pytest.raises(AttributeError, match="module 'math' offers no '__dict__'"):
        _ = facade.__dict__


def test_the_guards_prove_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    self_test()
    monkeypatch.setitem(policy.GUARDS, "_write_", same)
    with pytest.raises(RuntimeError, match="the tool policy is off: 'own_write' went through"):
        self_test()
    monkeypatch.undo()
    monkeypatch.setattr(rewriting.Rewriter, "check_name", same)
    with pytest.raises(RuntimeError, match=r"the tool policy is off: .* compiles"):
        self_test()


def test_the_clock_stands_still(pool: WorkerPool) -> None:
    source = """
from datetime import date, datetime, timezone

def tool():
    return [
        datetime.now().isoformat(), datetime.utcnow().isoformat(), date.today().isoformat(),
        datetime.now(timezone.utc).isoformat(), datetime(2025, 1, 1).timestamp(),
        datetime.fromtimestamp(0).isoformat(), date.fromtimestamp(86400).isoformat(),
        datetime(2025, 1, 1).astimezone().isoformat(),
    ]
"""
    midnight = "2025-01-01T00:00:00"
    assert call(pool, source).value == [
        midnight, midnight, "2025-01-01", f"{midnight}+00:00", 1735689600.0, "1970-01-01T00:00:00", "1970-01-02",
        f"{midnight}+00:00",
    ]  # fmt: skip


def test_random_numbers_are_those_of_a_fixed_seed(pool: WorkerPool) -> None:
    source = "import random\ndef tool():\n    return [random.random(), random.Random().random(), random.randint(1, 99)]"
    plain = random.Random(0)
    wanted = [plain.random(), random.Random(0).random(), plain.randint(1, 99)]
    assert call(pool, source).value == wanted
    assert call(pool, source + "\n").value == wanted


def test_what_a_tool_prints_goes_nowhere(pool: WorkerPool) -> None:
    assert call(pool, "def tool():\n    return print('a', 1, sep='-')") == Observation(value=None)


def test_a_namespace_without_policy_is_plain_python() -> None:
    scope = policy.bare_namespace()
    exec(policy.compile_bare("import os\ndef tool():\n    return os.sep.__class__").code, scope)
    assert scope["tool"]() is str
    with pytest.raises(RefusedSource, match="does not parse"):
        policy.compile_bare("def tool(:")


def test_facades_hold_nothing_that_can_change() -> None:
    changing = [
        (title, name)
        for title, facade in FACADES.items()
        for name, value in names_of(facade).items()
        if isinstance(value, list | dict | set | bytearray) or type(value) is type(abc)
    ]
    assert changing == []


def test_a_finally_in_a_finally_in_a_finally_is_refused() -> None:
    lines = ["def tool():"]
    for depth in range(1, 7):
        lines += ["    " * depth + "try:", "    " * (depth + 1) + "pass", "    " * depth + "finally:"]
    with pytest.raises(RefusedSource, match="`finally` is nested deeper than 4"):
        compile_tools("\n".join([*lines, "    " * 7 + "pass"]))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import os\ndef tool():\n    return 1", "tools cannot import 'os'; tools have no files"),
        ("import numpy as np\ndef tool():\n    return 1", "use lists, math and statistics"),
        ("import requests\ndef tool():\n    return 1", "tools have no network"),
        ("import uuid\ndef tool():\n    return 1", "use a counter or hashlib.sha256 of the data"),
        ("from time import time\ndef tool():\n    return 1", "the clock is not available"),
        ("from json import load\ndef tool():\n    return 1", "module 'json' offers no 'load' to tools; use json.loads"),
        ("from math import square\ndef tool():\n    return 1", "module 'math' offers no 'square' to tools"),
        ("def tool():\n    return eval('1')", "eval: tools cannot run text as code"),
        (
            "class A:\n    def __getattr__(self, name):\n        return 1\ndef tool():\n    return 1",
            "define properties",
        ),
        ("class A(metaclass=type):\n    pass\ndef tool():\n    return 1", "inherit from abc.ABC"),
        ("def tool(x):\n    return x.__mro__", '"__mro__" is not available to tools; use issubclass'),
    ],
)
def test_a_refusal_says_what_to_write_instead(source: str, reason: str) -> None:
    with pytest.raises(RefusedSource, match=re.escape(reason)):
        compile_tools(source)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return open('x')", "NameError: name 'open' is not defined in tools: tools have no files"),
        ("return input()", "NameError: name 'input' is not defined in tools: use the arguments of the function"),
        ("import os\n    return 1", "ImportError: tools cannot import 'os'; tools have no files"),
        ("import random\n    return random.SystemRandom()", "'SystemRandom' to tools; use random, which has a fixed"),
    ],
)
def test_an_error_says_what_to_write_instead(body: str, message: str, pool: WorkerPool) -> None:
    seen = call(pool, f"def tool():\n    {body}")
    assert seen.error is not None
    assert message in seen.error.message


def test_an_error_while_a_tool_is_defined_is_named(pool: WorkerPool) -> None:
    seen = call(pool, "import math\nLIMIT = math.sqrt(-1)\ndef tool():\n    return LIMIT")
    message = "tool 'tool' while it is defined: ValueError: math domain error"
    assert seen == Observation.failed("refused", message)


def test_the_message_of_an_error_has_no_address(pool: WorkerPool) -> None:
    seen = call(pool, "def tool():\n    return [].index(tool)")
    assert seen == Observation.failed("tool_error", "ValueError: <function tool> is not in list")


def test_texts_of_the_caller_are_never_refused(pool: WorkerPool) -> None:
    text = "<function f at 0x7f0000000000> failed"
    source = (
        "from string import Template\ndef tool(text):\n"
        "    made = '%s' % text\n    made %= ()\n"
        "    return [f'{text}!', str(text), '{}'.format(text), made, Template('$t').substitute(t=text), '%s' % (text,)]"
    )
    assert call(pool, source, text=text).value == [f"{text}!", *[text] * 5]


def test_the_context_of_decimals_is_new_in_each_case() -> None:
    policy.begin_case()
    decimal.getcontext().prec = 3
    policy.begin_case()
    assert decimal.getcontext().prec == 28


def test_methods_read_through_a_class_work_on_its_instances(pool: WorkerPool) -> None:
    source = """
from collections import Counter
from dataclasses import dataclass, replace
from enum import Enum, Flag, IntEnum, auto


class Money:
    def __init__(self, n):
        self.n = n

    def __add__(self, other):
        return Money(self.n + (other.n if isinstance(other, Money) else other))

    __radd__ = __add__


class Tip(Money):
    def __init__(self, n):
        Money.__init__(self, n * 2)


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0

    def __post_init__(self):
        object.__setattr__(self, "y", self.y + 1)


class Level(IntEnum):
    LOW = auto()
    HIGH = auto()


class Kind(str, Enum):
    A = "a"

    @classmethod
    def _missing_(cls, value):
        return cls.A


class Flags(Flag):
    R = auto()
    W = auto()


def tool(words):
    Color = Enum("Color", "RED GREEN")
    return [
        sum([Money(1), Tip(2)]).n, list(map(str.lower, words)), Counter.most_common(Counter(words), 1),
        Point.__repr__(Point(1)), str(replace(Point(1), x=5)), Level.HIGH > 1, f"{Level.LOW:03d}", Kind("zzz").value,
        Color.GREEN.value, [c.name for c in Color], list(Level.__members__), (Flags.R | Flags.W).value,
        type(Kind.A).__name__, tool.__name__, {str: "text"}[type("")], isinstance(1, str | int),
    ]
"""
    scope: dict[str, Any] = {}
    exec(compile(source, "<plain>", "exec", dont_inherit=True), scope)
    plain = json.loads(json.dumps(scope["tool"](["B", "a", "B"])))
    assert call(pool, source, words=["B", "a", "B"]).value == plain


def test_a_pattern_reads_the_attributes_of_the_tools_own_classes(pool: WorkerPool) -> None:
    source = """
from dataclasses import dataclass


@dataclass
class Circle:
    radius: float


@dataclass
class Box:
    width: float
    height: float


def tool(sizes):
    areas = []
    for shape in [*(Circle(n) for n in sizes), Box(2, 3), ValueError("x"), "text"]:
        match shape:
            case Circle(radius=n) if n > 1:
                areas.append(n * n)
            case Box(w, h):
                areas.append(w * h)
            case ValueError() | str():
                areas.append(type(shape).__name__)
            case _:
                areas.append(None)
    return areas
"""
    assert call(pool, source, sizes=[1, 2]).value == [None, 4, 6, "ValueError", "str"]


@pytest.mark.parametrize("corpus", ["attacks.dev.jsonl", "attacks.2.jsonl"])
def test_no_attack_of_a_corpus_gets_through(corpus: str) -> None:
    root = os.environ.get("FLOWMIND_FIXTURES") or Path(__file__).parents[1].parent / "shared" / "fixtures"
    path = Path(root) / "sandbox" / corpus
    if not path.exists():
        pytest.skip(f"no fixtures: neither FLOWMIND_FIXTURES nor ../shared/fixtures has sandbox/{corpus}")
    rows = [row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()) if row["surface"] == "tool"]
    kinds = ("escape", "isolation", "determinism")
    attacks = [
        row for row in rows if row["severity"] in kinds and row["kind"] not in ("signal", "walrus-comprehension")
    ]
    through: list[str] = []
    with WorkerPool(1, Limits(seconds=1)) as workers:
        for row in attacks:
            seen = [call(workers, row["source"], **row["args"])]
            if row.get("check") == "second-case":
                seen.append(call(workers, row.get("source2") or row["source"], **row["args"]))
            if any(isinstance(result.value, str) and result.value.startswith("PWNED") for result in seen):
                through.append(row["id"])
    assert len(attacks) > 15
    assert through == []


# Attacks, and what happens to them where a guard is gone.


class Attack(NamedTuple):
    name: str
    kind: str
    marks: frozenset[str]
    source: str


def read_attacks() -> Iterator[Attack]:
    for path in sorted((Path(__file__).parent / "tool_attacks").glob("*.txt")):
        for part in path.read_text(encoding="utf-8").split("### ")[1:]:
            head, _, source = part.partition("\n")
            name, kind, *marks = head.split()
            yield Attack(name, kind, frozenset(marks), source)


ATTACKS = {attack.name: attack for attack in read_attacks()}
Tool = Callable[[], Any]


def load(code: ToolCode) -> Tool:
    policy.begin_case()
    scope = policy.namespace()
    exec(code.code, scope)
    return cast(Tool, scope["tool"])


def worked(attack: Attack) -> bool:
    """Runs an attack in this process, as a worker would: a later case shares what stateless source shares."""
    with decimal.localcontext():
        found = _worked(attack)
        if "decimal" in attack.source:
            gc.collect()  # ends generators that hold a context of their own
        return found


def _worked(attack: Attack) -> bool:
    try:
        code = compile_tools(attack.source)
        tool = load(code)
        if "second" in attack.marks:
            with contextlib.suppress(Exception):
                tool()
            policy.begin_case()
            tool = tool if code.stateless else load(code)
        value = tool()
    except Exception:  # whatever a guard raises, the attack has not worked
        return False
    shows = "address" in attack.marks and " at 0x" in str(value)
    return isinstance(value, str) and (value.startswith("PWNED") or shows)


def test_attacks_have_names_of_their_own() -> None:
    assert len(ATTACKS) == len(list(read_attacks())) >= 180


def test_no_attack_works() -> None:
    assert [attack.name for attack in ATTACKS.values() if worked(attack)] == []


def same(value: Any, *rest: Any) -> Any:
    return value


def names_of(facade: Any) -> dict[str, Any]:
    read: Any = type(facade).__getattribute__
    return read.__closure__[read.__code__.co_freevars.index("names")].cell_contents


def raw_abstract(function: Any) -> Any:
    function.__isabstractmethod__ = True
    return function


class RawConstant:
    def __init__(self, owner: Any, name: str) -> None:
        self.value = getattr(owner, name)


def unseeded() -> guards.Facade:
    return guards.facade("random", {"random": random.random, "Random": random.Random})


def name_of(kind: Any) -> str:
    return kind.__name__


def update_of(owner: Any) -> Any:
    return owner.__dict__.update


def format_of(text: Any) -> Any:
    return text.format


def format_map_of(text: Any) -> Any:
    return text.format_map


def ignoring(pattern: Any) -> Any:
    return same


def suppressing(make: Any) -> Any:
    return lambda: contextlib.suppress(Exception)


def yes(node: Any) -> bool:
    return True


def no(node: Any) -> bool:
    return False


def nothing() -> None:
    return None


let_in: Any = rewriting.Rewriter.node_contents_visit
"""Visits a node as if it were allowed."""
CHANGES: list[tuple[str, Any, str, Any, str]] = [
    ("attributes", policy.GUARDS, "_getattr_", getattr, "error-name"),
    ("attributes written", policy.GUARDS, "_write_", same, "attribute-of-a-function"),
    ("augmented", policy.GUARDS, "_augment_", same, "error-object-by-augmented-assignment"),
    ("patterns", policy.GUARDS, "_constant_", RawConstant, "match-value-of-an-error"),
    ("str", policy.BUILTINS, "str", str, "address-of-a-function"),
    ("f-strings", policy.GUARDS, "_shown_", same, "address-in-an-f-string"),
    ("percent", policy.GUARDS, "_percent_", operator.mod, "address-by-percent"),
    ("update", policy.GUARDS, "_update_", update_of, "special-name-through-instance-update"),
    ("metaclass", policy.GUARDS, "__metaclass__", type, "int-subclass"),
    ("getattr", policy.BUILTINS, "getattr", getattr, "getattr-built-name"),
    ("hasattr", policy.BUILTINS, "hasattr", hasattr, "hasattr-as-oracle"),
    ("setattr", policy.BUILTINS, "setattr", setattr, "setattr-dunder"),
    ("delattr", policy.BUILTINS, "delattr", same, "delattr-of-a-module"),
    ("vars", policy.BUILTINS, "vars", vars, "dict-of-own-class"),
    ("type", policy.BUILTINS, "type", type, "type-of-a-function"),
    ("hash", policy.BUILTINS, "hash", hash, "hash-of-a-function"),
    ("format", policy.BUILTINS, "format", format, "address-by-the-builtin-format"),
    ("repr", policy.BUILTINS, "repr", repr, "address-in-a-container"),
    ("ascii", policy.BUILTINS, "ascii", ascii, "address-of-an-iterator"),
    ("str.format", guards.WRAPPED[str], "format", format_of, "format-walk"),
    ("str.format_map", guards.WRAPPED[str], "format_map", format_map_of, "format-map-walk"),
    ("attrgetter", names_of(FACADES["operator"]), "attrgetter", operator.attrgetter, "attrgetter"),
    ("methodcaller", names_of(FACADES["operator"]), "methodcaller", operator.methodcaller, "methodcaller"),
    ("wraps", names_of(FACADES["functools"]), "wraps", functools.wraps, "wraps-writes-to-what-it-is-given"),
    ("ordering", names_of(FACADES["functools"]), "total_ordering", same, "total-ordering-on-the-library"),
    ("textwrap", names_of(FACADES["textwrap"]), "wrap", textwrap.wrap, "text-lookalike-in-the-library"),
    ("abstractmethod", names_of(FACADES["abc"]), "abstractmethod", same, "abstract-mark-on-a-library-function"),
    ("contextmanager", names_of(FACADES["contextlib"]), "contextmanager", suppressing,
     "generator-lookalike-in-the-library"),
    ("import", policy, "_import", builtins.__import__, "module-in-a-function"),
    ("decimals", policy, "begin_case", nothing, "decimal-context"),
    ("random", facades, "random_facade", unseeded, "random-state"),
    ("stateless", gate, "is_stateless", yes, "default-list"),
    ("managers", policy.GUARDS, "_manager_", same, "exit-gets-a-traceback"),
    ("top level", gate, "_check_top", same, "call-at-top-level"),
    ("names", rewriting.Rewriter, "check_name", same, "guard-as-a-parameter"),
    ("class patterns", policy.GUARDS, "_matchable_", same, "match-class-attribute"),
    ("except*", rewriting.Rewriter, "visit_TryStar", let_in, "except-star"),
    ("async", rewriting.Rewriter, "visit_AsyncFunctionDef", let_in, "async-function-inside"),
]  # fmt: skip
MUTATIONS = {name: change for name, *change in CHANGES}


@pytest.mark.parametrize("name", MUTATIONS)
def test_without_a_guard_an_attack_works(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, key, instead, attack = MUTATIONS[name]
    if isinstance(place, dict):
        monkeypatch.setitem(cast(dict[str, Any], place), key, instead)
    else:
        monkeypatch.setattr(place, key, instead)
    assert worked(ATTACKS[attack])
