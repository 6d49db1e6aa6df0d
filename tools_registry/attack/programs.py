"""Programs in the language of tools, composed of what an inventory lists.

A program has imports, definitions of classes and functions that report what they are given, and attempts. An attempt is
an expression or the body of a function. The names `attempt` and `note` are given to the program by `rounds`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from tools_registry.attack.corpus import mutated
from tools_registry.attack.inventory import TEXT, Form, Inventory, head
from tools_registry.sandbox.language import policy
from tools_registry.sandbox.language.rewriting import METHOD_DUNDERS

ATTEMPTS = 150
"""Attempts in a program."""
_FROM_CORPUS = 0.5
"""The part of the attempts that come from a corpus, if there is one."""
_CLASSES = 4
"""Classes of each kind in a program."""
_ATOMS = ("0", "1", "-1", "2.5", "''", "'a'", TEXT, "b'a'", "None", "True", "[]", "{}", "()", "{1}", "...")
_BINARY = ("+", "-", "*", "/", "//", "%", "@", "&", "|", "^", "==", "<", ">=", "in", "is", "and", "or")
_SHOWN = (
    "str({0})", "repr({0})", "ascii({0})", "format({0})", "'%s' % ({0},)", "'%(x)r' % dict(x={0})", "TEXT % ({0},)",
    "f'{{({0})}}'", "f'{{({0})!r}}'", "f'{{({0})!a:>9}}'", "'{{}}'.format({0})", "'{{0!r}}'.format({0})",
    "'{{x}}'.format_map(dict(x={0}))", "TO_TEXT({0})", "list(map(str, [{0}]))", "b'%a' % ({0},)", "hash({0})",
    "str([{0}])", "sorted([{0}, plain], key=TO_TEXT)", "[].index({0})", "dict().pop({0})", "hash(({0},))", "id({0})",
    "TEXT.replace('%', {0})", "max([{0}, 1], key=repr)", "int({0})", "getattr({0}, 'x')", "TO_TEXT.join('', [{0}])",
    "TO_TEXT.format('{{}}', {0})", "{{}}[{0}]", "[1][{0}]", "set().remove({0})", "{0} + 1", "{0}[0]", "{0}()",
)  # fmt: skip
_HOOKS = """
    getattr set_name get set delete del copy deepcopy missing instancecheck mro_entries class_getitem prepare fspath
    await getnewargs_ex setstate length_hint slots match_args wrapped closure globals kwdefaults
"""
_SPECIAL = sorted(
    {name for kind in (type, object, dict, int, Exception, property) for name in dir(kind) if name[:2] == "__"}
    | {f"__{name}__" for name in _HOOKS.split()}
)
_MAKERS = (
    "setattr({1}, '{0}', {2})", "enum.Enum('E', {{'A': 1, '{0}': {2}}}).A",
    "enum.Enum('E', {{'A': 1, '{0}': property({2})}}).A", "enum.StrEnum('E', {{'A': TEXT, '{0}': {2}}}).A",
    "collections.namedtuple('N', 'x {0}')", "collections.namedtuple('N', ['x', '{0}'], rename=True)",
    "collections.namedtuple('N', 'x', defaults=({2},), module={2})(1)", "delattr({1}, '{0}')", "vars({1})",
    "getattr({1}, '{0}')", "operator.attrgetter('{0}')({1})", "operator.attrgetter('x.{0}')({1})",
    "operator.methodcaller('{0}', {2})({1})", "dataclasses.replace({1}, **{{'{0}': {2}}})",
    "type({1})('T', (), {{'{0}': {2}}})", "typing.NamedTuple('N', [('{0}', int)])", "hasattr({1}, '{0}')",
    "dataclasses.make_dataclass('D', ['{0}'])({2})", "typing.TypedDict('D', {{'{0}': int}})", "{1}.__dict__",
)  # fmt: skip
"""Ways to define, set or read a name that stands in a text: name, owner, value."""
_BODIES = (
    "with {0} as x:\n        note('with', x)\n        1 / 0", "with {2} as x:\n        raise ValueError(x)",
    "for x in {0}:\n        note('for', x)\n        break", "x = {0}\n    x {1}= {0}\n    return x",
    "try:\n        {0}\n        raise {0}\n    except Exception as e:\n        return e.args, str(e), repr(e)",
    "try:\n        raise {0} from {0}\n    except Exception as e:\n        return e",
    "x = {0}\n    x.{3} = {0}\n    return x", "x = {0}\n    x[{0}] = {0}\n    return x",
    "x = {0}\n    x[{0}] {1}= {0}\n    return x", "x = {0}\n    del x.{3}\n    return x",
    "x = {0}\n    del x[{0}]\n    return x", "a, *b = {0}\n    return a, b",
    "match {0}:\n        case [x, *y]:\n            return x, y\n"
    "        case {{'a': x, **y}}:\n            return x, y\n"
    "        case str(x) | int(x):\n            return x",
    "def inner():\n        with {2}:\n            yield 1\n        yield 2\n"
    "    g = inner()\n    next(g)\n    g.close()\n    return g",
    "def inner():\n        try:\n            yield {0}\n        except Exception as e:\n            yield e\n"
    "    g = inner()\n    return next(g), g.send({0})",
    "def inner():\n        x = yield from {0}\n        return x\n    return [*inner()]",
    "@{4}\n    def inner(*a, **k):\n        return note('inner', a, k)\n    return inner, inner({0})",
    "@contextlib.contextmanager\n    def inner():\n        try:\n            yield {0}\n        finally:\n"
    "            note('left')\n    with inner() as x:\n        return x, inner({0})",
    "@{4}\n    class Inner:\n        x: int = 1\n    return Inner, Inner()",
    "class Inner:\n        @{4}\n        def x(*a, **k):\n            return note('x', a, k)\n"
    "    return Inner().x, Inner.x, Inner().x()",
    "class Inner({5}):\n        def __init__(self, *a):\n            super().__init__(*a)\n"
    "    return Inner, Inner({0})",
    "class Inner({5}, {5}):\n        x = {0}\n    return Inner, Inner()",
    "class Inner:\n        {6} = {4}\n    return Inner()",
    "class Inner({5}):\n        def {6}(self, *a):\n            return super().{6}(*a)\n    return Inner().{6}({0})",
    "x = {0}\n    x.{3} {1}= {0}\n    return x", "x = [{0}, {0}]\n    x.sort(key={4})\n    return x",
    "x = [*map({4}, [{0}], [{0}])]\n    return x", "return {{**{0}}}, [*{0}]",
    "return (lambda *a, **k: (a, k))(*{0}, **{0})",
    "x = ({0}, {0})\n    return x[0] < x[1], x[0] == x[1], x[0] in x[1], x[0] is x[1]", "return {0}[{0}:{0}:{0}]",
)  # fmt: skip
"""Statements: value, operator, instance of an own class, attribute, callable, class, special method."""
_CALLS = (
    "{0}({1})", "{0}({1}, {2})", "{0}({1}, {2}, {3})", "{0}('a', {1})", "{0}(TEXT, {1})", "{0}({1}, 1)", "{0}(x={1})",
    "{0}({{'x': {1}}})", "{0}([{1}, {2}])", "{0}(*{1})", "{0}(**{1})", "{0}({1}, **{{'x': {2}}})", "{0}({1})({2})",
    "{0}(plain, [{1}])", "next(iter({0}({1})))", "{0}(({1}, {2}))", "{0}()({1})", "{0}(x={1})({2})",
    "{0}([({1}, {2})])",
)  # fmt: skip


class Program(NamedTuple):
    """The source of a program in parts, so that parts can be left out."""

    head: str
    definitions: tuple[str, ...]
    attempts: tuple[str, ...]
    """Expressions, or functions `def STEPS():`."""

    def source(self) -> str:
        """The source in the language of tools."""
        return "".join(self.parts())

    def parts(self) -> list[str]:
        """The source: the head, a part for each definition and each attempt, and no calls."""
        steps = [
            attempt.replace("STEPS", f"steps{number}", 1)
            if attempt.startswith("def ")
            else f"def steps{number}():\n    return {attempt}\n"
            for number, attempt in enumerate(self.attempts)
        ]
        return [self.head, *self.definitions, *steps]


class Composer:
    """Composes programs.

    Args:
        inventory: What can be reached.
        random: The source of choices.
        attacks: Sources of attacks to change.
    """

    def __init__(self, inventory: Inventory, random: Random, attacks: tuple[str, ...] = ()) -> None:
        self.random = random
        self.inventory = inventory
        self.attacks = attacks
        self.head = f"{head(inventory.modules)}TEXT = {TEXT}\nTO_TEXT = str\n"
        self.callables = list(inventory.callables)
        self.classes = [name for name, value in inventory.callables.items() if isinstance(value, type)]
        self.samples = list(inventory.samples.values())
        self.hot = [text for kind, text in inventory.samples.items() if kind not in policy.METHODS]
        self.fields = {kind: _fields(kind) for kind in inventory.samples}
        self.attributes = sorted({name for names in self.fields.values() for name in names})
        self.special = [*_SPECIAL, *sorted({name for form in inventory.forms for name in vars(form.kind)})]
        self.own: list[str] = []
        self.made: list[tuple[str, Form]] = []
        self._swept = self._sweep()

    def program(self) -> Program:
        """A new program: half of its attempts come from the systematic sweep, while it lasts."""
        plain = (
            "def plain(*values, **named):\n    return note('plain', values, named)\n"
            "def made():\n    try:\n        yield note('made')\n    finally:\n        note('closed')\n"
        )
        self.own = ["plain", "(lambda *a, **k: a)", "made()", "object()"]
        self.made = []
        definitions = [plain, *(self._class(f"K{number}") for number in range(_CLASSES))]
        attempts: list[str] = []
        for number in range(_CLASSES):
            text, tries = self._foreign_data(f"D{number}")
            definitions.append(text)
            attempts += tries
        while len(attempts) < ATTEMPTS:
            attempts += [text for text in (next(self._swept, ""), self._attempt()) if text]
        return Program(self.head, tuple(definitions), tuple(attempts))

    def _pick(self, options: Any) -> Any:
        return options[self.random.randrange(len(options))]

    def _sweep(self) -> Iterator[str]:
        """Each callable in each form of call, in random order."""
        pairs = [(name, call) for name in self.callables for call in _CALLS]
        pairs += [
            (name, f"{{0}}({{1}}, {key}={{2}})") for name, keys in self.inventory.keywords.items() for key in keys
        ]
        pairs += [("", text.replace("{0}", "{1}")) for text in _SHOWN for _ in range(40)]
        self.random.shuffle(pairs)
        for name, call in pairs:
            yield call.format(f"({name})", self._hot(), self._hot(), self._hot())

    def _hot(self) -> str:
        """A value that a careless function could take for another, or show."""
        roll = self.random.random()
        if roll < 0.5:
            return self._pick(self.own)
        return self._pick(self.hot) if roll < 0.8 else self._pick(self.classes)

    def _foreign_data(self, name: str) -> tuple[str, list[str]]:
        """A dataclass with a field that a foreign value has, and its methods called with that value."""
        kind = self._pick([kind for kind, fields in self.fields.items() if fields])
        value, field = self.inventory.samples[kind], self._pick(self.fields[kind])
        options = self._pick(("", "(order=True)", "(frozen=True)", "(unsafe_hash=True)"))
        text = f"@dataclasses.dataclass{options}\nclass {name}:\n    {field}: object\n"
        method = self._pick([*sorted(METHOD_DUNDERS), "_replace", "_asdict"])
        calls = (
            "{2}.__init__({0}, plain)", "{2}.__init__({0}, dict(a=plain))", "{2}.__repr__({0})", "{2}.__eq__({0}, {0})",
            "{2}.__lt__({0}, {0})", "{2}.__hash__({0})", "dataclasses.asdict({0})", "dataclasses.replace({0})",
            "{2}.{1}({0})", "dataclasses.astuple({2}({0}))", "copy.copy({2}({0}))", "copy.deepcopy({2}({0}))",
        )  # fmt: skip
        return text, [call.format(value, method, name) for call in calls]

    def _class(self, name: str) -> str:
        form = self._pick(self.inventory.forms)
        self.made.append((name, form))
        text = form.template.format(name)
        if "class " in text:
            for method in self.random.sample(sorted(METHOD_DUNDERS), self.random.randint(0, 6)):
                text += f"\n    def {method}(self, *values, **named):\n        return note('{method}', values, named)"
            if self.random.random() < 0.3:
                text += (
                    "\n    def __enter__(self):\n        return self"
                    "\n    def __exit__(self, *values):\n        return note('__exit__', values)"
                )
            if self.random.random() < 0.1:
                text += f"\n    {self._pick(self.special)} = {self._value(0)}"
        self.own += [name, form.member.format(name), f"{name}({self._value(0)})"]
        return text + "\n"

    def _attempt(self) -> str:
        roll = self.random.random()
        if self.attacks and self.random.random() < _FROM_CORPUS:
            body = mutated(self.attacks, self.random, self._hot, [*self.attributes, *self.special])
            return f"def STEPS():\n{textwrap.indent(body, '    ')}\n"
        if roll < 0.30:
            return self._steps()
        if roll < 0.50:
            return self._foreign()
        if roll < 0.60:
            return self._pick(_SHOWN).format(self._value(1))
        if roll < 0.75:
            text = self._pick(_MAKERS).format(self._pick(self.special), self._hot(), self._hot())
            return text if self.random.random() < 0.6 else f"({text}).{self._pick(self.attributes)}"
        return self._value(3)

    def _foreign(self) -> str:
        """A method read from a class and called with a foreign `self`."""
        name, form = self._pick(self.made)
        method = self._pick(form.readable or ("__init__",))
        rest = "".join(f", {self._hot()}" for _ in range(self._pick((0, 0, 1, 1, 2, 3))))
        return f"{name}.{method}({self._hot()}{rest})"

    def _steps(self) -> str:
        fields = self._pick(_BODIES)
        member = self._pick([form.member.format(name) for name, form in self.made])
        values = iter(lambda: self._value(1), None)
        text = fields.replace("{0}", "\0").format(
            "", self._pick(_BINARY[:10]), member, self._pick(self.attributes), self._pick(self.callables),
            self._pick([*self.classes, *(name for name, _ in self.made)]), self._pick(sorted(METHOD_DUNDERS)),
        )  # fmt: skip
        while "\0" in text:
            text = text.replace("\0", next(values), 1)
        return f"def STEPS():\n    {text}\n"

    def _value(self, depth: int) -> str:
        roll = self.random.random()
        if depth <= 0:
            return self._hot() if roll < 0.6 else self._pick((self._pick(_ATOMS), self._pick(self.samples)))
        if roll < 0.2:
            return self._pick(self.own)
        if roll < 0.55:
            call = self._pick(_CALLS)
            return call.format(f"({self._pick(self.callables)})", *(self._value(depth - 1) for _ in range(3)))
        if roll < 0.65:
            return f"({self._value(depth - 1)}).{self._pick(self.attributes)}"
        if roll < 0.75:
            return f"({self._value(depth - 1)} {self._pick(_BINARY)} {self._value(depth - 1)})"
        if roll < 0.85:
            return self._pick((
                "[{0}, {1}]", "({0},)", "[x for x in {0}]", "[*{0}]", "next(iter({0}))", "({0})[{1}]", "type({0})",
                "-({0})",
                "(lambda *a, **k: a)(*{0})", "sorted({0}, key={1})", "({0} if {1} else {1})", "isinstance({0}, {1})",
                "copy.copy({0})", "copy.deepcopy({0})", "functools.reduce({0}, {1})", "json.dumps([{0}], default={1})",
            )).format(self._value(depth - 1), self._value(depth - 1))  # fmt: skip
        return self._pick(self.samples)


def _fields(kind: type) -> list[str]:
    """The attributes and slots of the instances of a type, without special ones."""
    slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ()) or ()]
    names = {name for name in [*dir(kind), *slots] if type(name) is str and name.isidentifier()}
    return sorted(name for name in names if name[:2] != "__" and not name.endswith("_"))
