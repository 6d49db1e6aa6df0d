"""The functions that translated expressions call, in this process and in workers; uses the standard library only.

Values are JSON values, lists of them, or views of an object: exact builtin types. Each operation is bounded by the size
of its result. If operations can multiply, the source counts their steps in a `Fuel`. So an evaluation ends within a few
hundredths of a second. A result beyond a limit is a `CaseError` of type `too_large`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import GeneratorType
from typing import Any

from tools_registry.specs.schema import type_of
from tools_registry.specs.values import CaseError

MAX_INT_BITS = 4_096
MAX_EXPONENT = 64
MAX_DIGITS = 400
MAX_ITERATIONS = 100_000
MAX_LENGTH = 1_000_000
MAX_SEARCH = 10_000_000
"""The product of the lengths of two texts, for methods that compare each character with each."""
MAX_STEPS = 1_000_000

METHODS: dict[type, frozenset[str]] = {
    str: frozenset({
        "lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "startswith", "endswith", "removeprefix",
        "removesuffix", "split", "splitlines", "find", "rfind", "count", "index", "isdigit", "isalpha", "isalnum",
        "isnumeric", "isspace", "isupper", "islower", "istitle", "replace", "join",
    }),
    dict: frozenset({"get", "keys", "values", "items"}),
    list: frozenset({"count", "index"}),
}  # fmt: skip
_EMPTY: dict[str, Any] = {}
_VALUES, _ITEMS = type_of(_EMPTY.values()), type_of(_EMPTY.items())
VIEWS = frozenset({type_of(_EMPTY.keys()), _VALUES, _ITEMS})
_NUMBERS = frozenset({int, float, bool})
_LIGHT = frozenset({int, float, bool, type(None)})
_WIDE = 1 << 64
_INT_BOUND = 1 << MAX_INT_BITS


def _limit(value: Any) -> Any:
    kind = type_of(value)
    if kind is int:
        if not -_INT_BOUND < value < _INT_BOUND:
            raise CaseError("too_large", f"an integer of more than {MAX_INT_BITS} bits")
    elif kind in (str, list, tuple) and len(value) > MAX_LENGTH:
        raise CaseError("too_large", f"a value longer than {MAX_LENGTH}")
    return value


def _add(left: Any, right: Any) -> Any:
    return _limit(left + right)


def _subtract(left: Any, right: Any) -> Any:
    if type(left) in VIEWS:
        raise TypeError("- subtracts numbers only")
    return left - right


def _divide(left: Any, right: Any) -> Any:
    return left / right


def _floor_divide(left: Any, right: Any) -> Any:
    return left // right


def _multiply(left: Any, right: Any) -> Any:
    if type(left) in _NUMBERS and type(right) in _NUMBERS:
        return _limit(left * right)
    raise TypeError("* multiplies numbers only")


def _modulo(left: Any, right: Any) -> Any:
    if type(left) is str:
        raise TypeError("% is the remainder of numbers; it does not format text")
    return left % right


def _power(left: Any, right: Any) -> Any:
    if abs(right) > MAX_EXPONENT:
        raise CaseError("too_large", f"an exponent beyond {MAX_EXPONENT}")
    if type(left) is int and type(right) is int and (left.bit_length() - 1) * right >= MAX_INT_BITS:
        raise CaseError("too_large", f"an integer of more than {MAX_INT_BITS} bits")
    result = left**right
    if type(result) is complex:
        raise ValueError("a negative number to a fractional power is not a real number")
    return _limit(result)


def _held(value: Any) -> Any:
    return value


def _iterate(values: Any) -> Any:
    if len(values) > MAX_ITERATIONS:
        raise CaseError("too_large", f"a comprehension over more than {MAX_ITERATIONS} elements")
    return values


def _method(owner: Any, name: str, *arguments: Any) -> Any:
    kind = type_of(owner)
    if name not in METHODS.get(kind, ()):
        raise TypeError(f"{kind.__name__} has no method {name!r} here")
    return _limit(getattr(owner, name)(*arguments))


def _guarded(owner: Any, name: str, *arguments: Any) -> Any:
    """Calls a method of text whose time or result size depends on its arguments, after a check of these."""
    if type(owner) is str and arguments:
        if name == "join":
            parts: list[Any] = list(arguments[0])
            _fits(sum(len(part) for part in parts if type(part) is str) + len(owner) * max(0, len(parts) - 1))
            arguments = (parts, *arguments[1:])
        elif name == "replace":
            _fits(_replaced(owner, *arguments))
        elif type(arguments[0]) is str and len(owner) * len(arguments[0]) > MAX_SEARCH:
            raise CaseError("too_large", f"{name}: two texts whose lengths multiply to more than {MAX_SEARCH}")
    return _method(owner, name, *arguments)


def _replaced(owner: str, old: Any, new: Any = None, most: Any = -1) -> int:
    """The length of a text after `replace`; 0 for arguments that `replace` refuses."""
    if type(old) is not str or type(new) is not str or not isinstance(most, int):
        return 0
    times = owner.count(old)
    return len(owner) + (times if most < 0 else min(times, most)) * (len(new) - len(old))


def _fits(length: int) -> None:
    if length > MAX_LENGTH:
        raise CaseError("too_large", f"a value longer than {MAX_LENGTH}")


def _size(value: Any, most: int, shift: int) -> int:
    """The number of parts of a value plus its characters divided by 2 ** `shift`; counting stops beyond `most`."""
    total, todo = 1, [value]
    while todo and total <= most:
        part = todo.pop()
        kind = type_of(part)
        if kind is str:
            total += 2 + (len(part) >> shift)
        elif kind is dict:
            total += 10 + 2 * len(part)
            todo += part
            if not {*map(type, part.values())} <= _LIGHT:
                todo += part.values()
        elif kind in (list, tuple) or kind in VIEWS:
            total += 10 + len(part)
            if not {*map(type, part)} <= _LIGHT:
                todo += part
    return total


def _sorted(values: Any) -> list[Any]:
    if hasattr(values, "__len__") and len(values) > MAX_ITERATIONS:
        raise CaseError("too_large", f"sorting more than {MAX_ITERATIONS} elements")
    return sorted(values)


def _sum(values: Any, *start: Any) -> Any:
    if len(start) != 1 or type(start[0]) not in (list, tuple):
        return _limit(sum(values, *start))
    joined: list[Any] = list(start[0])  # the builtin copies the list at each step
    for part in values:
        if type(part) is not type(start[0]):
            raise TypeError(f"can only concatenate {type(start[0]).__name__} to {type(start[0]).__name__}")
        joined += part
        _fits(len(joined))
    return joined if type(start[0]) is list else tuple(joined)


def _round(value: Any, *digits: Any) -> Any:
    if any(type(count) is int and abs(count) > MAX_DIGITS for count in digits):
        raise CaseError("too_large", f"rounding to more than {MAX_DIGITS} digits")
    return round(value, *digits)


def _int(*arguments: Any) -> int:
    return _limit(int(*arguments))


def _str(*arguments: Any) -> str:
    if arguments and type(arguments[0]) not in (str, *_NUMBERS):
        _fits(_size(arguments[0], MAX_LENGTH, 0))
    return _limit(str(*arguments))


class Fuel:
    """The steps that are left to an evaluation. A step is a few hundredths of a microsecond of work."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Subtracts steps.

        Raises:
            CaseError: `too_large` if fewer are left.
        """
        self.left -= steps
        if self.left < 0:
            raise CaseError("too_large", f"an evaluation of more than {MAX_STEPS} steps")

    def over(self, values: Any, steps: int) -> Iterable[Any]:
        """The elements of a loop, each of which costs a number of steps."""
        if type_of(values) is GeneratorType:
            return self._counted(values, steps)
        self.spend(len(_iterate(values)) * steps)
        return values

    def _counted(self, values: Iterable[Any], steps: int) -> Iterator[Any]:
        for value in values:
            self.spend(steps)
            yield value

    def weigh(self, value: Any) -> Any:
        """The value; a step is subtracted for each of its parts."""
        kind = type_of(value)
        if kind is int:
            self.spend(value.bit_length() >> 6)
        elif kind not in _LIGHT and (kind is not str or len(value) >= 32):
            self.spend(_size(value, self.left, 5))
        return value

    def add(self, left: Any, right: Any) -> Any:
        """The sum; a step is subtracted for each of its parts."""
        result = left + right
        return result if type(result) is float else self.weigh(_limit(result))

    def mul(self, left: Any, right: Any) -> Any:
        """The product; steps are subtracted for a long integer."""
        if type(left) in _NUMBERS and type(right) in _NUMBERS:
            result = left * right
            return result if type(result) is float or -_WIDE < result < _WIDE else self.weigh(_limit(result))
        raise TypeError("* multiplies numbers only")

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function; a step is subtracted for each part of its arguments and its result."""
        for argument in arguments:
            self.weigh(argument)
        return self.weigh(function(*arguments))

    def holds(self, value: Any, values: Any) -> bool:
        """Whether `values` contain a value; the comparisons are subtracted."""
        self._compared(value, values)
        return value in values

    def search(self, owner: Any, name: str, *arguments: Any) -> Any:
        """The result of a method that compares its argument with each part of its owner."""
        for argument in arguments[:1]:
            self._compared(argument, owner)
        return _method(owner, name, *arguments)

    def _compared(self, value: Any, values: Any) -> None:
        """Subtracts a comparison with each of `values`; one comparison costs at most the parts of `value`."""
        kind = type_of(values)
        if kind in (str, _ITEMS):
            self.weigh(values if kind is str else value)
        elif kind in (list, tuple, _VALUES):
            self.spend(len(values) * (1 if type(value) in _NUMBERS else 4 * _size(value, self.left, 7)) >> 2)


HELPERS: dict[str, Any] = {
    **{f"x_{function.__name__}": function for function in (isinstance, len, min, max, abs, any, all, float, bool)},
    **{f"t_{kind.__name__}": kind for kind in (int, float, str, bool, list, dict)},
    "x_add": _add,
    "x_sub": _subtract,
    "x_mul": _multiply,
    "x_div": _divide,
    "x_floordiv": _floor_divide,
    "x_mod": _modulo,
    "x_pow": _power,
    "x_sum": _sum,
    "x_round": _round,
    "x_sorted": _sorted,
    "x_str": _str,
    "x_int": _int,
    "x_method": _method,
    "x_guarded": _guarded,
    "x_iter": _iterate,
    "x_held": _held,
    "x_type": type,
    "x_light": _LIGHT,
    "x_fuel": Fuel,
}
"""The names that translated source uses: `x_` for functions, `t_` for the types of `isinstance`."""
