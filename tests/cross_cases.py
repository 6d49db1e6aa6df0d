"""Tools that try to leave state behind for later cases, made from known ways to do so, and a check of the later cases.

`python tests/cross_cases.py N` makes N of them and checks each under every combination of layers and isolation.
"""

import argparse
import random
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple, get_args

import tqdm

from tools_registry.sandbox.environments import Limits, LocalSandbox, ToolSource, WorkerPool
from tools_registry.sandbox.language import policy
from tools_registry.sandbox.workers import Isolating
from tools_registry.specs.spec import ToolSpec

LIMITS = Limits(seconds=2)
TARGETS = (
    "math.sqrt", "math.floor", "math.pi", "json.dumps", "json.loads", "re.sub", "re.compile", "statistics.mean",
    "decimal.Decimal", "random.Random", "random.choice", "collections.Counter", "collections.deque", "copy.deepcopy",
    "functools.reduce", "itertools.chain", "operator.add", "datetime.date", "string.Template", "string.capwords",
    "textwrap.wrap", "heapq.nsmallest", "bisect.bisect", "base64.b64encode", "hashlib.sha256", "enum.Enum",
    "fractions.Fraction", "calendar.monthrange", "dataclasses.replace", "typing.NamedTuple", "unicodedata.name",
)  # fmt: skip
VALUES = ("lambda *a, **k: 'PWNED'", "'PWNED'", "None", "3", "type('X', (), {})", "print", "[]", "property(str)")
OWN = (
    ("seen.append({n})\nout.append(len(seen))", "seen = []"),
    ("global total\ntotal = total + {n}\nout.append(total)", "total = 0"),
    ("out.append(keep({n}))", "def keep(n, acc=[]):\n    acc.append(n)\n    return sum(acc)"),
    (
        "out.append(count({n}))\nout.append(count.cache_info().hits)",
        "@functools.lru_cache\ndef count(n):\n    return n + 1",
    ),
    (
        "Kept.values.append({n})\nKept.last = {n}\nout.append([len(Kept.values), getattr(Kept, 'last', None)])",
        "class Kept:\n    values = []",
    ),
    ("Kind.A.note = {n}\nout.append(str(getattr(Kind.A, 'note', 0)))", "class Kind(enum.Enum):\n    A = 1"),
    ("Kind._value2member_map_[{n}] = Kind.A\nout.append(len(Kind))", "class Kind(enum.Enum):\n    A = 1\n    B = 2"),
    ("out.append([next(numbers), next(numbers)])", "numbers = itertools.count({n})"),
    (
        "out.append(next(opened))",
        "def numbers():\n    try:\n        yield {n}\n        yield 7\n    finally:\n        math.sqrt = 'PWNED'\n"
        "opened = numbers()",
    ),
    ("late = Late()\ndel late\nout.append('gone')", "class Late:\n    def __del__(self):\n        {target} = {value}"),
    (
        "loop = Loop()\nloop.me = loop\nout.append({n})",
        "class Loop:\n    def __del__(self):\n        {target} = {value}",
    ),
    ("Box.size = {n}\nout.append(Box().size)", "@dataclasses.dataclass\nclass Box:\n    size: int = 1"),
    ("helper.note = out.append(getattr(helper, 'note', {n}))", "def helper():\n    return 1"),
    ("helper.__defaults__ = ({n},)\nout.append(helper())", "def helper(n=0):\n    return n"),
    ("out.append(round(random.random(), 9) if {n} > 10 else random.seed({n}))", ""),
    ("random.seed({n})\nout.append(random.randint(0, 10 ** 6))", ""),
    ("out.append([re.sub('a{n}|%d' % i, 'x', 'a{n}') for i in range(600)][-1])", ""),
    (
        "with decimal.localcontext() as context:\n    context.prec = {n}\n    out.append(str(decimal.Decimal(1) / 7))",
        "",
    ),
    ("context = decimal.localcontext()\ncontext.__enter__().prec = {n}\nout.append(str(decimal.Decimal(1) / 7))", ""),
    ("decimal.getcontext().prec = {n}\nout.append(str(decimal.Decimal(1) / 7))", ""),
    ("decimal.setcontext(decimal.Context(prec={n}, rounding=decimal.ROUND_UP))", ""),
    ("decimal.DefaultContext.prec = {n}", ""),
    ("decimal.getcontext().traps[decimal.Inexact] = True", ""),
    ("string.Template.delimiter = '%'\nout.append(string.Template('%x').substitute(x={n}))", ""),
    ("calendar.setfirstweekday({n} % 7)\nout.append(calendar.monthcalendar(2024, 2)[0])", ""),
    (
        "out.append(re.escape(Word.A))",
        "class Word(str, enum.Enum):\n    A = 'a'\n    def translate(self, table):\n        table[98] = 'PWNED'\n"
        "        return ''",
    ),
    (
        "Word.A.translate = lambda table: table.update({98: 'PWNED'})\nout.append(re.escape(Word.A))",
        "class Mixed:\n    pass\nclass Word(Mixed, str, enum.Enum):\n    A = 'a'",
    ),
    (
        "out.append(re.escape(Word.A))",
        "class Mixed:\n    def translate(self, table):\n        table[98] = 'PWNED'\n        return ''\n"
        "class Word(Mixed, str, enum.Enum):\n    A = 'a'",
    ),
    (
        "out.append([re.sub('a+', Word.A, 'caat'), re.findall('x', 'axa', Flag.A)])",
        "class Same:\n    def __eq__(self, other):\n        return True\n    def __hash__(self):\n        return {n}\n"
        "class Word(Same, str, enum.Enum):\n    A = 'PWNED'\nclass Flag(Same, int, enum.Enum):\n    A = 2",
    ),
    (
        "class Local(abc.ABC):\n    run = keep\nout.append(Local().run({n}))\nabc.abstractmethod(keep)",
        "def keep(self, n):\n    return n",
    ),
)
"""Ways to keep state in the tool itself or in a module: the statements, and what they need at the top level."""
HOST = (
    "{target} = {value}",
    "setattr({module}, '{name}', {value})",
    "del {target}",
    "vars({module})['{name}'] = {value}",
    "{module}.__dict__.update({name}={value})",
    "{target}.__defaults__ = ({n},)",
    "{target}.__kwdefaults__ = {'cls': {value}}",
    "{target}.__code__ = (lambda *a, **k: 'PWNED').__code__",
    "object.__setattr__({module}, '{name}', {value})",
    "type({module}).__setattr__({module}, '{name}', {value})",
    "Fields.__init__({module}, {'{name}': {value}})",
    "Fields.__init__({target}, {value})",
    "Names.__init__({target}, {value})",
    "re.error.__init__({target}, 'm', {value})",
    "re.error.__init__({module}, 'm', 'x')",
    "collections.Counter.copy({target})",
    "collections.Counter.update({module}, {name}={n})",
    "copy.copy(Reduced({target}, {'__kwdefaults__': {'cls': {value}}}))",
    "copy.deepcopy(Reduced({module}, {'{name}': {value}}))",
    "functools.partial.__setstate__({target}, (print, (), {}, {}))",
    "functools.update_wrapper({target}, Fields)",
    "functools.wraps(Fields)({target})",
    "collections.OrderedDict.__init__({module}.__dict__, {name}={n})",
    "abc.ABCMeta.register(collections.abc.Sized, int)",
    "collections.abc.Sized.register(int)",
    "json.JSONEncoder.default = {value}",
    "json.encoder.ESCAPE_DCT['a'] = 'PWNED'",
    "copy._deepcopy_dispatch[list] = {value}",
    "re._cache.clear(); re._cache2.clear()",
    "re._compile = {value}",
    "enum.Enum.__str__ = {value}",
    "statistics.NormalDist.mean = property(lambda s: {n})",
    "dataclasses.Field.__init__ = {value}",
    "typing.Protocol._root = Fields",
    "__builtins__['len'] = {value}",
    "collections.Counter.most_common = {value}",
    "collections.UserDict.get = {value}",
    "datetime.timezone.utc.note = {n}",
    "random._inst.seed({n})",
    "random.Random.random = {value}",
    "fractions.Fraction._numerator = {n}",
    "contextlib.ExitStack().push({value}).__enter__()",
    "itertools.chain.from_iterable = {value}",
    "heapq.merge = heapq.nsmallest",
    "import builtins; builtins.sorted = {value}",
    "import sys; sys.modules['{module}'] = {value}",
    "import sys; sys.setrecursionlimit({n} + 60)",
    "import sys; sys.set_int_max_str_digits(640)",
    "import sys; sys.settrace(lambda *a: None)",
    "import sys; sys.path.insert(0, '/tmp')",
    "import gc; gc.callbacks.append(lambda *a: setattr(math, 'pi', {n}))",
    "import gc; [setattr(x, 'value_bytes', {n}) for x in gc.get_objects() if type(x).__name__ == 'Server']",
    "import gc; [x._tools.clear() for x in gc.get_objects() if type(x).__name__ == 'ToolSet']",
    "import gc; [x._shared.update(tool=print, later=print) for x in gc.get_objects() if type(x).__name__ == 'ToolSet']",
    "import tools_registry.sandbox.worker as w; w._call = lambda tools, name, args: ['PWNED', None]",
    "import tools_registry.sandbox.worker as w; w.Server._calls = lambda self, request: '[[\"PWNED\",null]]'",
    "import tools_registry.sandbox.worker as w; w._dumps = lambda value: '[[\"PWNED\",null]]'",
    "import tools_registry.sandbox.worker as w; w._write = lambda body, write=w._write: write(b'[[\"PWNED\",null]]')",
    "import tools_registry.specs.values as v; v.clean = lambda value, depth=0: 'PWNED'",
    "import tools_registry.sandbox.language.policy as p; p.compile_tools = p.compile_bare",
    "import tools_registry.sandbox.language.policy as p; p.begin_case = {value}; p.FACADES.clear()",
    "import tools_registry.sandbox.language.guards as g; g.BUILTINS['len'] = lambda x: 'PWNED'",
    "import os; body = b'[[\"PWNED\",null]]'; os.write(0, len(body).to_bytes(4, 'big') + body)",
    "import os; body = b'[[\"PWNED\",null]]'; os.write(0, (len(body).to_bytes(8, 'big') + body) * {n})",
    "import os; os.write(0, b'\\xff' * {n})",
    "import os; os.close(0)",
    "import os; os._exit({n})",
    "import os; os.environ['TZ'] = 'X'; os.umask(0)",
    "import os; os.chdir('/'); open('planted', 'w').write('PWNED')",
    "import os; os.fork()",
    "import os; os.dup2(0, {n} + 3)",
    "import signal; signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0)",
    "import signal, os; os.kill(os.getppid(), signal.SIGTERM)",
    "import threading; threading.Timer(0.01, lambda: setattr(math, 'pi', {n})).start()",
    "import atexit; atexit.register(print, {n})",
    "import weakref; weakref.finalize(Fields, setattr, math, 'pi', {n})",
    "import locale; locale.setlocale(locale.LC_ALL, 'C')",
    "import warnings; warnings.simplefilter('error')",
    "import ctypes; ctypes.c_long.from_address(id(7) + 24).value = {n}",
    "import copyreg; copyreg.dispatch_table[dict] = {value}",
    "import mmap; mmap.mmap(-1, 100).write(b'PWNED')",
)
"""Statements that change the worker itself. Most are refused by the language layer; without it, all run."""
_IMPORTS = sorted({target.partition(".")[0] for target in TARGETS} | {"abc", "contextlib", "collections.abc"})
_HEAD = "\n".join(f"import {name}" for name in _IMPORTS)
_CLASSES = (
    """
class Reduced:
    def __init__(self, target, state):
        self.target = target
        self.state = state
    def __reduce_ex__(self, protocol):
        return (lambda: self.target), (), (None, self.state)
class Fields:
    def __init__(self, fields):
        for name in fields:
            setattr(self, name, fields[name])
class Names:
    def __init__(self, value):
        self._names = value
""",
    """
def Reduced(target, state):
    return target
@dataclasses.dataclass
class Fields:
    __dict__: object
@dataclasses.dataclass
class Names:
    _names: object
""",
    """
def Reduced(target, state):
    return target
@dataclasses.dataclass
class Fields:
    names: object
@dataclasses.dataclass
class Names:
    fields: object
""",
)
"""Classes whose methods are called with a foreign `self`; the first that the language layer accepts is used."""
LATER = f"""{_HEAD}

class Color(enum.Enum):
    RED = 1

@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: list = dataclasses.field(default_factory=list)

def tool(n):
    out = [math.sqrt(16), math.floor(2.5), math.pi, json.dumps({{"a": [n, 2.5, None]}}), json.loads('{{"b": [1]}}')]
    out += [re.sub("a+", "b", "caat"), re.compile("x").findall("axa"), statistics.mean([1, 2, 4])]
    out += [str(decimal.Decimal(1) / 7), random.Random(n).random(), random.Random(n).choice("abc")]
    out += [sorted(collections.Counter("abca").items()), collections.Counter("aab").most_common(1)]
    out += [list(collections.deque([1, 2], 1)), copy.deepcopy([1, [2]]), functools.reduce(operator.add, [1, 2, 3])]
    out += [list(itertools.chain([1], "a")), datetime.date(2024, 2, 3).isoformat()]
    out += [string.Template("$x").substitute(x=1), string.capwords("a b"), textwrap.wrap("a b c", 3)]
    out += [heapq.nsmallest(1, [2, 1]), bisect.bisect([1, 2], 1), base64.b64encode(b"a").decode()]
    out += [hashlib.sha256(b"a").hexdigest(), str(fractions.Fraction(2, 4)), calendar.monthrange(2024, 2)[1]]
    out += [calendar.monthcalendar(2024, 2)[0], unicodedata.name("a"), Color.RED.name, len(Color), str(Color(1))]
    out += [repr(dataclasses.replace(Point(1), x=2)), Point(1) < Point(2), len("abc"), sorted("ba")]
    out += [re.escape("a.b"), re.sub("a+", "b", "caat"), re.findall("x", "axa", re.I)]
    out += [isinstance(3, collections.abc.Sized), 7 * 3, str(10 ** 30), hash("a") == hash("a")]
    return out
"""


class Plant(NamedTuple):
    """A tool that tries to leave state behind, for each state of the language layer."""

    name: str
    guarded: str
    """The source without the statements that the language layer refuses."""
    bare: str


def plants(count: int, seed: int = 20) -> Iterator[Plant]:
    """`count` tools, each a composition of one to four ways with targets and values. Always the same."""
    rng = random.Random(seed)
    for number in range(count):
        parts: list[tuple[str, str]] = []
        size = rng.choice((1, 2, 2, 3, 4))
        while len(parts) < size:
            target, value, n = rng.choice(TARGETS), rng.choice(VALUES), str(rng.randrange(1, 30))
            module, _, name = target.rpartition(".")
            where = {"target": target, "module": module, "name": name, "value": value, "n": n}
            if len(parts) % 2 == 0 or rng.random() < 0.3:
                parts.append(("", _filled(rng.choice(HOST), where)))
            else:
                body, top = rng.choice(OWN)
                parts.append((_filled(top, where), _filled(body, where)))
        yield Plant(f"plant {number}", _source(parts, guarded=True), _source(parts, guarded=False))


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _source(parts: Sequence[tuple[str, str]], guarded: bool) -> str:
    if not guarded:  # an unseeded number is a new one in each process
        return _tool(_CLASSES[0], [(top, body.replace("random.random()", "0")) for top, body in parts])
    classes = next(text for text in _CLASSES if _compiles(_tool(text, ())))
    return _tool(classes, [part for part in parts if _compiles(_tool(classes, [part]))])


def _tool(classes: str, parts: Sequence[tuple[str, str]]) -> str:
    steps: list[str] = []
    for _, body in parts:
        text = textwrap.indent(body.removeprefix("global total\n"), "    ")
        steps.append(f"try:\n{text}\nexcept Exception as error:\n    out.append(type(error).__name__)")
    head = "global total\n" if any(body.startswith("global") for _, body in parts) else ""
    body = textwrap.indent("\n".join([f"{head}out = []", *steps, "return out"]), "    ")
    return "\n".join([_HEAD, classes, *dict.fromkeys(top for top, _ in parts), f"def tool(n):\n{body}\n"])


@cache
def _compiles(source: str) -> bool:
    try:
        policy.compile_tools(source, "tool")
    except policy.RefusedSource:
        return False
    return True


class Calls(NamedTuple):
    """Two tools named `tool`: one that tries to leave state behind, and one whose result must not show it."""

    first: str
    first_args: dict[str, Any]
    later: str
    later_args: dict[str, Any]

    @property
    def same_set(self) -> dict[str, str]:
        return {"tool": self.first, "later": re.sub(r"\btool\b", "later", self.later)}


Mode = tuple[frozenset[str], Isolating]
"""Layers that are off, and what gets a process."""
MODES: tuple[Mode, ...] = tuple(
    (without, isolating) for without in (frozenset[str](), frozenset({"language"})) for isolating in get_args(Isolating)
)


def calls_of(plant: Plant, mode: Mode) -> Calls:
    return Calls(plant.bare if mode[0] else plant.guarded, {"n": 3}, LATER, {"n": 3})


def wrong(calls: Calls, mode: Mode) -> str:
    """The later cases that differ from the same case alone, as text; empty if there is none.

    The later case is checked in another tool set, and in the same one unless the language layer is off and all calls of
    the set share a process. In the same set, the first tool is also called again; without the language layer its own
    results are not compared, because it can give any.
    """
    bare, expected = bool(mode[0]), alone(calls, mode)
    with _pool(mode) as pool:
        begun = _results(pool, calls.same_set, [("tool", calls.first_args)])[0]
        other = _results(pool, {"tool": calls.later}, [("tool", calls.later_args)])[0]
    seen = {"another set": (other, expected)}
    if mode != (frozenset({"language"}), "batch"):
        again, later, last = in_the_same_set(calls, mode)
        seen["the same set"] = (later, expected if later == expected else alone_in_its_set(calls, mode))
        if not bare:
            seen |= {"the same tool": (again, begun), "the same tool, later,": (last, begun)}
    differing = {which: pair for which, pair in seen.items() if pair[0] != pair[1]}
    return "; ".join(f"{which} gave {got!r:.400}, alone {value!r:.400}" for which, (got, value) in differing.items())


def in_the_same_set(calls: Calls, mode: Mode) -> list[Any]:
    """The results of the first tool, the later one and the first again, as tools of one set."""
    first, later = ("tool", calls.first_args), ("later", calls.later_args)
    with _pool(mode) as pool:
        return _results(pool, calls.same_set, [first, later, first])


def alone(calls: Calls, mode: Mode) -> Any:
    """The result of the later tool in a new process."""
    return _alone(calls.later, tuple(calls.later_args.items()), mode[0])


def alone_in_its_set(calls: Calls, mode: Mode) -> Any:
    """The result of the later tool in a new process that also has the first tool, which is not called."""
    with _pool(mode) as pool:
        return _results(pool, calls.same_set, [("later", calls.later_args)])[0]


@cache
def _alone(source: str, args: tuple[tuple[str, Any], ...], without: frozenset[str]) -> Any:
    with _pool((without, "batch")) as pool:
        return _results(pool, {"tool": source}, [("tool", dict(args))])[0]


def _pool(mode: Mode) -> WorkerPool:
    return WorkerPool(1, LIMITS, mode[0], mode[1], "none")


def _results(pool: WorkerPool, sources: dict[str, str], calls: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
    """The value or error of each call, one request each."""
    spec = {"type": "object"}
    tools = [ToolSource(spec=ToolSpec(name=name, parameters=spec), source=source) for name, source in sources.items()]
    sandbox = LocalSandbox(tools, pool)
    return [sandbox.values([call])[0] for call in calls]


def main() -> int:
    """Checks N compositions under every mode; returns 1 if a later case differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=20)
    options = parser.parse_args()
    failures: Counter[str] = Counter()
    made = list(plants(options.count, options.seed))
    work = [(plant, mode) for plant in made for mode in MODES]

    def check(item: tuple[Plant, Mode]) -> tuple[str, str, str]:
        plant, mode = item
        return plant.name, f"language {'off' if mode[0] else 'on'}, {mode[1]}", wrong(calls_of(plant, mode), mode)

    with ThreadPoolExecutor(2) as threads:
        for name, mode, why in tqdm.tqdm(threads.map(check, work), total=len(work), disable=None):
            failures[mode] += bool(why)
            if why:
                print(f"{name} ({mode}): {why}")
    steps = Counter(plant.guarded.count("    try:\n") for plant in made)
    print(f"{len(made)} plants, statements left under the language layer: {dict(sorted(steps.items()))}")
    for mode, count in failures.items():
        print(f"{mode}: {count} of {len(made)} later cases differ")
    return 1 if failures.total() else 0


if __name__ == "__main__":
    sys.exit(main())
