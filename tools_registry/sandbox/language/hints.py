"""Hints for refused source: the names of what tools can use instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

_FILES = "tools have no files; take the text as an argument"
_CLOCK = "the clock is not available; take the time as an argument, or use datetime.now(), which is fixed"
_NETWORK = "tools have no network; take the data as an argument"
_NUMBERS = "use lists, math and statistics"
_RANDOM = "use random, which has a fixed seed"
_CODE = "tools cannot run text as code; write the function, or parse the text with re or json"
_ASYNC = "write ordinary functions; a tool computes one value and does not wait"

MODULES: dict[str, str] = {
    "os": _FILES, "os.path": _FILES, "pathlib": _FILES,
    "sys": "use the arguments of the function", "argparse": "use the arguments of the function",
    "time": _CLOCK, "zoneinfo": "use datetime.timezone(timedelta(hours=n))", "pytz": "use datetime.timezone",
    "uuid": "use a counter or hashlib.sha256 of the data", "secrets": _RANDOM,
    "requests": _NETWORK, "urllib.request": _NETWORK, "socket": _NETWORK,
    "httpx": _NETWORK, "subprocess": "tools cannot start processes; write the function in Python",
    "numpy": _NUMBERS, "pandas": "use lists of dictionaries", "scipy": _NUMBERS, "sympy": "use fractions",
    "asyncio": _ASYNC, "threading": _ASYNC, "concurrent.futures": _ASYNC, "multiprocessing": _ASYNC,
    "pickle": "use json", "inspect": "use isinstance()", "types": "use a class of your own",
    "logging": "return the messages in the result", "warnings": "return the messages in the result",
    "ast": "parse the text with re or json", "pprint": "use json.dumps(value, indent=2)",
    "struct": "use int.from_bytes and int.to_bytes", "array": "use a list",
    "dateutil": "use datetime.datetime.strptime", "pydantic": "use dataclasses", "attr": "use dataclasses",
}  # fmt: skip
"""Hints for modules that tools cannot import."""
PARTS: dict[str, dict[str, str]] = {
    "random": {"SystemRandom": "; " + _RANDOM},
    "functools": {"singledispatchmethod": "; use isinstance()"},
    "decimal": {"setcontext": "; use `with decimal.localcontext() as context: context.prec = ...`"},
    "json": {"load": "; use json.loads(text)", "dump": "; use json.dumps(value)"},
    "collections": {"UserDict": "; keep a dict in an attribute", "UserList": "; keep a list in an attribute"},
    "csv": {"DictWriter": "; use csv.writer and write the header as a row"},
    "typing": {"get_type_hints": "; keep the names and types in a dictionary", "get_args": "; use isinstance()",
               "get_origin": "; use isinstance()"},
    "contextlib": {"redirect_stdout": "; return the text", "ExitStack": "; nest with statements"},
}  # fmt: skip
"""Hints for names that a module does not offer."""
NAMES: dict[str, str] = {
    "open": _FILES, "input": "use the arguments of the function", "eval": _CODE, "exec": _CODE, "compile": _CODE,
    "__import__": "write an import statement", "globals": "use a dictionary of your own",
    "locals": "use a dictionary of your own", "id": "compare with `is`, or number the objects",
    "dir": "use vars() of an object of a class of your own", "breakpoint": "raise an exception",
    "memoryview": "use bytes slices", "exit": "return a value", "quit": "return a value", "help": "return the text",
}  # fmt: skip
"""Hints for builtin names that tools do not have."""
ATTRIBUTES: dict[str, str] = {
    "__getattr__": "define properties", "__getattribute__": "define properties", "__setattr__": "use a property",
    "__slots__": "leave it out", "__module__": "leave it out", "__bases__": "use issubclass()",
    "__mro__": "use issubclass()",
    "__subclasses__": "keep a list of the classes", "__code__": "leave it out",
    "__class_getitem__": "leave it out",
    "__missing__": "use collections.defaultdict, or a method", "__set_name__": "pass the name",
    "__del__": "leave it out",
    "__getstate__": "leave it out", "__setstate__": "leave it out", "__reduce__": "leave it out",
    "__copy__": "write a method `copy`", "__deepcopy__": "write a method `copy`", "__get__": "use a property",
    "__annotations__": "use dataclasses.fields()", "__wrapped__": "keep the function in a variable",
    "__traceback__": "use str(error)", "__sizeof__": "use len()",
    "__await__": _ASYNC, "__aenter__": _ASYNC, "__aiter__": _ASYNC,
}  # fmt: skip
"""Hints for special names that tools cannot use."""


def absent(name: str) -> Callable[..., NoReturn]:
    """The value of a builtin name that tools do not have: calling it says what to write instead."""

    def refuse(*arguments: object, **named: object) -> NoReturn:
        raise NameError(f"name {name!r} is not defined in tools: {NAMES[name]}")

    return refuse


def no_name(module: str, name: str) -> str:
    """The message for a name that a module does not offer."""
    return f"module {module!r} offers no {name!r} to tools{PARTS.get(module, {}).get(name, '')}"
