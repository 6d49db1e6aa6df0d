"""Tests of features: what a condition may ask of one value, or of two.

Each test is added to a `Table` with the set of scopes where it holds. A test never fails: where a feature has no value,
guards stand in front of it, and it does not hold.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from flowmind.build.induction.bits import NODE, TEXT, constant_bits, is_number, number_bits
from flowmind.build.induction.features import computed, features, lengths
from flowmind.build.induction.guards import Test, guards_of
from flowmind.build.induction.reading import Side
from flowmind.build.induction.runs import UNSET
from flowmind.build.induction.scopes import Context, Feature, Scope
from flowmind.build.induction.tables import OPPOSITE, Condition, Table, bit_set

CONTAINS = 3.0
"""The bits of the choice to look into a text or a list."""
SAID_AFFIX = -1.0
"""The bits of a test of the beginning or the end of a text, beside those of a test of any part of it, where the task's
text has a word for that."""
OTHER_AFFIX = 2.0
"""The same where it has no such word."""
MARKED = 3.5
"""The bits of a text that calls have as an argument."""
ORDER = 2.0
"""The bits of the choice of a comparison."""
OTHER_SIDE = 7.0
"""The bits of a limit on the other side than the one that the text's phrase names."""
EITHER_SIDE = 1.0
"""The bits of the choice between `<` and `<=` where no phrase decides."""
ZERO = 1.0
"""The bits of 0 as a limit."""
NO_PHRASE = 2.0
"""The bits of a number of the text as a limit where no comparing phrase is around it."""
UNNAMED_LIMIT = 4.0
"""The bits of a limit that the text does not name, beside its length."""
NUMBER_SINGLED_OUT = 5.0
"""The bits of a test for one of many numbers, or for one that the text does not name."""
EQUAL_NUMBERS = 3.0
"""The bits of a test whether two numbers are equal, which fractions seldom are."""
LENGTHS = 4.0
"""A test of two lengths."""
FLAG = 1.0
"""The most that a variable costs that tells whether something is so."""
NAMED_FIELD = 3.0
"""The most that a field costs whose value the text names."""
_VALUES = 12
"""A feature with more values is compared with those only that the text names."""
COMPARABLE = ("str", "number", "date", "list")
"""The kinds of features that are compared with others."""
COMPARED = 45
"""The number of features that are compared with each other."""
UNNAMED_KEY = 6.0
"""The bits of reading a field in a condition whose key the task's text does not name, beside those of the path; half of
them if it names half of the words of the key."""
NEGATION = 8.0
"""The bits of skipping the elements with one value of a text, where the sentence that names it has no negation."""
HALF_OF_A_PAIR = 6.0
"""The bits of a test for one value that the text joins to another one by "or"."""
ROUNDS = 12.0
"""The bits of a limit of the number of rounds that the text does not name: most likely it memorises the traces."""
CERTAIN_ELEMENT = 4.0
"""The bits of reading the first or last element in a condition where the text has no ordinal."""
_KEY = re.compile(r"(?:\[|\.get\()'(.+?)'[\])]")
_INCLUSIVE = re.compile(
    r"\b(?:at (?:least|most)|no (?:more|less|fewer|later|earlier) than|up to|reach\w*|minimum|maximum"
    r"|not (?:exceed|below|above|under|over|before|after)"
    r"|or (?:more|less|fewer|later|earlier|higher|lower|above|below|equal))\b"
)
"""Phrases that put the limit itself on a side."""
_AFFIXES = {
    "startswith": re.compile(r"\b(?:begin|start|prefix|lead)"),
    "endswith": re.compile(r"\b(?:end|suffix|finish|extension)"),
}
"""Tests of an affix, with the words that speak of it."""
_INDEX = re.compile(r"\[-?\d+\]")
_INDEX_OF = re.compile(r"(?<![\w.'\"])([A-Za-z_]\w*)(?:\[[^\[\]]*\])*?\[-?\d+\]")
_ROUND = re.compile(r"\bindex(?:_\d+)?\b")
"""The number of a round of a loop."""
_COUNT = re.compile(r"index(?:_\d+)? \+ 1")
"""The number of rounds with this one."""
_DATE = re.compile(r"\d{4}-\d\d(-\d\d|$)")
_Found = Iterator[tuple[Condition, int]]


class Subject(NamedTuple):
    """A feature that conditions may read."""

    feature: Feature
    kind: str
    """`bool`, `number`, `date`, `str`, `list`, `dict`; empty if its values are of several kinds, or all null."""
    guards: tuple[Test, ...]
    """What must hold for it to have a value."""
    safe: tuple[Test, ...]
    """What must hold for it to have one that is not null."""
    some: int
    """The scopes where it has one that is not null."""
    values: tuple[Any, ...]
    """None also where it has no value."""
    varied: bool
    """Whether it has different values."""

    def spread(self, owners: Sequence[int], bits: float) -> Subject:
        """The same at the elements of lists.

        Args:
            owners: For each element the place of its scope.
            bits: More bits for reading a variable around the list.
        """
        values = tuple([self.values[owner] for owner in owners])
        some = bit_set(value is not None for value in values)
        feature = self.feature._replace(bits=self.feature.bits + bits)
        return self._replace(feature=feature, some=some, values=values)

    def condition(self, bits: float, text: str, opposite: str, null: bool = False) -> Condition:
        """A test of it.

        Args:
            bits: Beside those of the feature.
            text: The test; `{}` is the feature.
            opposite: The opposite.
            null: Whether the test may be done on null.
        """
        test = Test(text.format(self.feature.text), opposite.format(self.feature.text))
        tests = (*(self.guards if null else self.safe), test)
        return Condition(self.feature.bits + bits, tests, "and", self.feature.before)


def plain_features(context: Context, scopes: Sequence[Scope]) -> list[Feature]:
    """Paths and lengths, the cheapest first."""
    return sorted([*features(context, scopes), *lengths(context, scopes)], key=lambda feature: feature.bits)


def counted_rounds(found: Sequence[Feature]) -> list[Feature]:
    """The numbers of the rounds of loops, counted from 1."""
    return [
        computed(feature.bits + 1.0, f"{feature.text} + 1", [value + 1 for value in feature.values])
        for feature in found
        if _ROUND.fullmatch(feature.text) and all(map(is_number, feature.values))
    ]


def subjects(context: Context, found: Sequence[Feature]) -> list[Subject]:
    """The features that guards make safe."""
    known = {feature.text: feature for feature in found}
    fields = Counter(feature.text.rpartition("[")[0] for feature in found if feature.text.endswith("]"))
    made: list[Subject] = []
    for feature in found:
        guards = guards_of(feature, known)
        if guards is not None:
            bits = feature.bits + _strangeness(context, feature.text, fields[feature.text.rpartition("[")[0]])
            if feature.text.isidentifier() and all(isinstance(value, bool) for value in feature.values):
                bits = min(bits, FLAG)
            feature = feature._replace(bits=bits)
            null = any(value is None for value in feature.values)
            own = (Test(f"{feature.text} is not None", f"{feature.text} is None"),) if null else ()
            values = tuple([None if value is UNSET else value for value in feature.values])
            some = bit_set(value is not None for value in values)
            varied = len(set(feature.keys)) > 1
            made.append(Subject(feature, _kind(values), guards, (*guards, *own), some, values, varied))
    return made


def _strangeness(context: Context, text: str, fields: int) -> float:
    """The bits that a feature costs in a condition beside those of its path.

    A text that names an object may mean any of its `fields`; that of a result names what is looked at in any case.
    """
    if " for " in text or not context.reading.words:
        return 0.0
    keys, unnamed = _KEY.findall(text), 0.0
    if keys:
        root = text.partition("[")[0]
        owner = keys[-2] if len(keys) - (root in context.rows) > 1 else root if fields == 1 else ""
        unnamed = UNNAMED_KEY * (1.0 - context.reading.names_key(keys[-1]))
        if owner:
            unnamed = min(unnamed, UNNAMED_KEY * (1.0 - context.reading.names_key(owner)) + math.log2(max(fields, 1)))
    return unnamed + (CERTAIN_ELEMENT if has_index(text) and not context.reading.ordinal else 0.0)


def has_index(text: str) -> bool:
    """Whether an expression reads a certain element of a list."""
    return _INDEX.search(text) is not None


def has_index_beside(text: str, item: str) -> bool:
    """Whether an expression reads a certain element of a list in another variable than one."""
    return any(found[1] != item for found in _INDEX_OF.finditer(text))


def _kind(values: Sequence[Any]) -> str:
    types: set[type] = {type(value) for value in values if value is not None}
    if types == {str}:
        return "date" if all(value is None or _DATE.match(value) for value in values) else "str"
    if types and types <= {int, float}:
        return "number"
    return types.pop().__name__ if len(types) == 1 else ""


def add_tests(context: Context, table: Table, found: Sequence[Subject], scopes: Sequence[Scope]) -> None:
    """Adds the tests of single features."""
    for subject in found:
        if subject.varied:
            context.effort += 1 + table.size // 4
            for condition, holds in _tests(context, table, subject, scopes):
                table.add(condition, holds)


def _tests(context: Context, table: Table, subject: Subject, scopes: Sequence[Scope]) -> _Found:
    feature, kind = subject.feature, subject.kind
    if subject.some != table.full:
        yield Condition(feature.bits + NODE, subject.safe, "and", feature.before), subject.some
    if kind in ("bool", "list", "str", "dict"):
        yield (
            subject.condition(NODE + (-1 if kind == "bool" else 1), "{}", "not {}", null=True),
            bit_set(subject.values),
        )
    if not kind:
        yield from _types(subject)
    if kind in ("str", "number", "date"):
        yield from _equalities(context, subject, scopes, table.of_elements)
    if kind == "number":
        yield from _limits(context, subject, context.reading.limits)
    if kind == "date":
        yield from _limits(context, subject, [text for text in context.reading.quoted if _DATE.match(text)])
    if kind == "str":
        yield from _words(context, subject)
    if kind == "list":
        yield from _elements(context, subject)


def _types(subject: Subject) -> _Found:
    """Whether it is a list, a text or an object, where its values are of several kinds."""
    for kind in (list, str, dict):
        holds = bit_set(isinstance(value, kind) for value in subject.feature.values)
        text = f"isinstance({{}}, {kind.__name__})"
        yield subject.condition(NODE + 1, text, f"not {text}", null=True), holds


def _equalities(context: Context, subject: Subject, scopes: Sequence[Scope], of_elements: bool) -> _Found:
    """Equality with one constant, or with one of a few that the text names."""
    feature = subject.feature
    places: dict[Any, list[int]] = {}
    for place, value in enumerate(subject.values):
        if value is not None:
            places.setdefault(value, []).append(place)
    named: list[tuple[float, str, int]] = []
    traces = {scopes[place].trace for own in places.values() for place in own}
    category = TEXT + math.log2(len(places) or 1) if len(places) < len(traces) else math.inf
    cheap = 0.0 if has_index(feature.text) else min(feature.bits, NAMED_FIELD) - feature.bits
    for value, own in places.items():
        names = context.reading.names(value) if isinstance(value, str) else value in context.reading.limits
        if not names and (len(places) > _VALUES or isinstance(value, float) or _COUNT.fullmatch(feature.text)):
            continue
        unnamed = not names and isinstance(value, int) and value not in (0, 1)
        rounds = ROUNDS if unnamed and _ROUND.search(feature.text) else 0.0
        bits = NODE + (
            number_bits(float(value)) if unnamed else constant_bits(context, value, [scopes[at] for at in own])
        )
        if isinstance(value, str):  # values that traces share are kinds of cases, not names of single ones
            bits = min(bits, NODE + category)
        bits += rounds + (cheap if names and isinstance(value, str) else 0.0)
        bits += NUMBER_SINGLED_OUT if is_number(value) and (len(places) > 3 or not names) else 0.0
        if isinstance(value, int | float) and "at" not in context.reading.sides.get(value, ("at",)):
            bits += OTHER_SIDE
        elif names and is_number(value) and value not in context.reading.sides:
            bits += NO_PHRASE
        holds = sum(1 << place for place in own)
        joined = context.reading.beside(value) if names and isinstance(value, str) else ()
        alone = bits + (HALF_OF_A_PAIR if joined else 0.0)
        only = of_elements and isinstance(value, str) and not context.reading.negates(value)
        condition = subject.condition(alone, f"{{}} == {_braced(value)}", f"{{}} != {_braced(value)}", null=True)
        yield condition._replace(negation=NEGATION if only else OPPOSITE), holds
        if names and isinstance(value, str):
            named.append((bits - NODE - cheap, value, holds))
            if beside := [word for word in joined if word not in places]:
                listed = _braced([value, *beside])
                yield subject.condition(bits - 0.5, f"{{}} in {listed}", f"{{}} not in {listed}", null=True), holds
    for size in (2, 3):
        for parts in itertools.combinations(named[:6], size):
            listed = _braced([value for _, value, _ in parts])
            bits = cheap + CONTAINS + sum(own for own, _, _ in parts)
            condition = subject.condition(bits, f"{{}} in {listed}", f"{{}} not in {listed}", null=True)
            yield condition, sum(holds for _, _, holds in parts)


def _braced(value: Any) -> str:
    """A constant in a text that is formatted."""
    return repr(value).replace("{", "{{").replace("}", "}}")


def _limits(context: Context, subject: Subject, named: Sequence[Any]) -> _Found:
    """Comparisons with a constant in each gap between values: one of the text if one lies there."""
    places: dict[Any, int] = {}
    for place, value in enumerate(subject.values):
        if value is not None:
            places[value] = places.get(value, 0) | 1 << place
    values = sorted(places)
    above = [0]
    for value in reversed(values):
        above.insert(0, above[0] | places[value])
    text = subject.feature.text
    rounds = _ROUND.search(text) is not None
    counted = _ROUND.fullmatch(text) is not None or _COUNT.fullmatch(text) is not None
    unnamed = UNNAMED_LIMIT + (ROUNDS if rounds else 0.0)
    passed = any(text == one.text for one in context.totals)
    for limit, own in _limits_between(context, values, named, bool(subject.safe), unnamed).items():
        sides: frozenset[Side] = frozenset(context.reading.sides.get(limit, ()))
        if counted and limit in named and limit > 1:  # rounds or repetitions: they end at the limit or behind it
            own += min(subject.feature.bits, NAMED_FIELD) - subject.feature.bits
            sides = frozenset()
        elif _COUNT.fullmatch(text):
            continue  # the same as a limit of the number of the round
        if passed and limit == 0:  # a call that passes a computed number on is made for more than nothing
            sides = frozenset(["above"])
        for word, opposite, first, side in ((">", "<=", bisect_right, "above"), (">=", "<", bisect_left, "below")):
            bits = ORDER + own + (ROUNDS if limit == 1 and rounds and not sides else 0.0)
            bits += 0.0 if side in sides else OTHER_SIDE if sides else EITHER_SIDE
            holds = above[first(values, limit)]
            less, more = f"{{}} {opposite} {limit!r}", f"{{}} {word} {limit!r}"
            yield subject.condition(bits, more, less), holds
            if subject.safe:  # null is on neither side
                yield subject.condition(bits, less, more), subject.some & ~holds


def _limits_between(
    context: Context, values: Sequence[Any], named: Sequence[Any], null: bool, unnamed: float
) -> dict[Any, float]:
    """The constants in the gaps, with their bits; `unnamed` are those of the choice of one that the text lacks."""
    limits: dict[Any, float] = {}
    if all(isinstance(value, int) for value in values):
        named = [limit for limit in named if limit not in context.reading.shares]
    for low, high in itertools.pairwise(values):
        inside = [limit for limit in named if low <= limit <= high]
        for limit in inside:
            limits[limit] = constant_bits(context, limit) + (0.0 if limit in context.reading.sides else NO_PHRASE)
        for limit in [] if inside else _simple(low, high):
            limits[limit] = unnamed + _round_bits(context, limit)
    if is_number(values[0]) and (values[0] <= 0 <= values[-1] or null):
        limits[0] = ZERO
    return limits


def _simple(low: Any, high: Any) -> list[Any]:
    """Constants in a gap without one of the text: its ends, and the roundest number between them."""
    if not is_number(low):
        return [low, high]
    for size in (10_000, 1_000, 500, 100, 50, 25, 10, 5, 1):
        limit = int(high // size * size)
        if low < limit <= high:
            return list(dict.fromkeys((limit, low, high)))
    return [low, high]


def _round_bits(context: Context, limit: Any) -> float:
    """The bits of a limit; a zero at its end costs one."""
    zeros = 0
    if not is_number(limit):
        return constant_bits(context, limit)
    while limit and limit % 10 == 0:
        limit, zeros = limit // 10, zeros + 1
    return number_bits(limit) + zeros


def _words(context: Context, subject: Subject) -> _Found:
    """Whether a text contains one that the task's text quotes, or a word of it, also at its beginning or its end."""
    texts = [value or "" for value in subject.values]
    spoken = any(" " in text or "@" in text for text in texts)
    words = dict.fromkeys(word for text in texts for word in re.findall(r"[A-Za-z]{3,}", text)) if spoken else ()
    named = [word for word in words if context.reading.names(word)][:40]
    said = [method for method, words_of_it in _AFFIXES.items() if words_of_it.search(context.reading.text.lower())]
    for part in dict.fromkeys([*filter(None, context.reading.quoted), *named, *context.marks]):
        if not spoken and not any(part in text != part for text in texts):
            continue  # nothing but equality
        bits = CONTAINS + min(constant_bits(context, part), MARKED if part in context.marks else math.inf)
        exact, lower = _braced(part), _braced(part.lower())
        yield (
            subject.condition(bits, f"{exact} in {{}}", f"{exact} not in {{}}"),
            bit_set(part in text for text in texts),
        )
        for method in _AFFIXES if part in context.reading.quoted else ():
            more = SAID_AFFIX if method in said else OTHER_AFFIX
            test = f"{{}}.{method}({exact})"
            yield (
                subject.condition(bits + more, test, f"not {test}"),
                bit_set(getattr(text, method)(part) for text in texts),
            )
        if not re.search(r"[A-Za-z]", part):
            continue
        condition = subject.condition(bits + 1, f"{lower} in {{}}.lower()", f"{lower} not in {{}}.lower()")
        yield condition, bit_set(part.lower() in text.lower() for text in texts)


def _elements(context: Context, subject: Subject) -> _Found:
    """Whether a list contains a text that the task's text names."""
    lists: list[list[Any]] = [value or [] for value in subject.values]
    for part in dict.fromkeys(part for values in lists for part in values if isinstance(part, str)):
        if context.reading.names(part):
            condition = subject.condition(
                CONTAINS + constant_bits(context, part), f"{_braced(part)} in {{}}", f"{_braced(part)} not in {{}}"
            )
            yield condition, bit_set(part in values for values in lists)


def add_comparisons(context: Context, table: Table, pairs: Iterable[tuple[Subject, Subject]]) -> None:
    """Adds the tests of two features, at least one of which has different values."""
    inclusive = _INCLUSIVE.search(context.reading.text.lower()) is not None
    for left, right in pairs:
        if (not left.varied and not right.varied) or _has_term(left, right) or _has_term(right, left):
            continue
        kinds = {left.kind, right.kind}
        if len(kinds) == 1 and left.kind in ("str", "number", "date") and not _of_other_kinds(left, right):
            context.effort += 1 + table.size // 4
            _compare(context, table, left, right, inclusive)
        elif kinds in ({"list", "str"}, {"list", "number"}, {"list", "date"}):
            context.effort += 1 + table.size // 4
            part, whole = (right, left) if left.kind == "list" else (left, right)
            pairs_of = zip(part.values, whole.values, strict=True)
            holds = bit_set([one is not None and own is not None and one in own for one, own in pairs_of])
            _add_two(table, CONTAINS, part, whole, "in", "not in", holds)


def _has_term(whole: Subject, part: Subject) -> bool:
    """Whether one of two is computed from the other one."""
    text, other = whole.feature.text, part.feature.text
    return text.startswith((f"{other} - ", f"{other} + ", f"{other} * ")) or text.endswith(
        (f" - {other}", f" + {other}", f" * {other}")
    )


def _of_other_kinds(left: Subject, right: Subject) -> bool:
    """Whether one of two numbers is a length, and the other a total of fields or one with fractions."""
    for one, other in ((left, right), (right, left)):
        if one.feature.text.startswith("len("):
            total = (
                other.feature.text.startswith(("sum(", "max(", "min(", "round("))
                and "(1 for " not in other.feature.text
            )
            if total or any(isinstance(value, float) and not value.is_integer() for value in other.values):
                return True
    return False


_SAME, _MORE = str.maketrans("<=>-", "0100"), str.maketrans("<=>-", "0010")


_TERM = re.compile(r"(^\+| [+-] )([^ ()*/]+)(?=$| [+-] )")
_SWAPPED: dict[Side, Side] = {"above": "below", "below": "above", "at": "at"}


def _side(context: Context, left: Subject, right: Subject) -> Side | Literal["none"] | None:
    """The side on which the task's text puts the right one, of two that are compared.

    With the rounds of a loop that go on both sides are as likely; `none` if they count away from the limit.
    """
    sides = _sides_of(context, right)
    sides.update(_SWAPPED[side] for side in _sides_of(context, left))
    side = sides.pop() if len(sides) == 1 else None
    rounds = {_UP[sign.strip() == "-"] for sign, _ in _rounds_of(right)}
    rounds |= {_UP[sign.strip() == "+"] for sign, _ in _rounds_of(left)}
    return side if not rounds else "none" if side in ("above", "below") and side not in rounds else None


_UP: tuple[Side, Side] = ("below", "above")


def _rounds_of(subject: Subject) -> list[tuple[str, str]]:
    text = subject.feature.text
    return [term for term in _TERM.findall("+" + text) if _ROUND.fullmatch(term[1])] if "index" in text else []


def _sides_of(context: Context, subject: Subject) -> set[Side]:
    """The sides on which the text puts the terms of a sum or difference."""
    memo = ("sides", subject.feature.text)
    if memo not in context.memo:
        sides: set[Side] = set()
        for sign, term in _TERM.findall("+" + subject.feature.text):
            own: list[Side | None] = [context.reading.side_of(name) for name in _names_of(term)]
            known: list[Side] = [side for side in own if side is not None]
            for side in known[:1]:
                sides.add(_SWAPPED[side] if sign.strip() == "-" else side)
        context.memo[memo] = frozenset(sides)
    return set(context.memo[memo])


def _names_of(text: str) -> list[str]:
    """The key of a field and its variable; none for what is computed."""
    if "(" in text.replace(".get(", "") or " " in text:
        return []
    return [*_KEY.findall(text)[-1:], text.partition("[")[0].partition(".")[0]]


def _compare(context: Context, table: Table, left: Subject, right: Subject, inclusive: bool) -> None:
    signs = "".join([
        "-" if one is None or two is None else "=" if one == two else ">" if one > two else "<"
        for one, two in zip(left.values, right.values, strict=True)
    ])[::-1]  # fmt: skip
    same, more = int("0" + signs.translate(_SAME), 2), int("0" + signs.translate(_MORE), 2)
    equal = EQUAL_NUMBERS if left.kind == "number" else 0.0
    lengths = LENGTHS if left.feature.text.startswith("len(") and right.feature.text.startswith("len(") else 0.0
    _add_two(table, NODE + equal + lengths, left, right, "==", "!=", same)
    if left.kind == "str":
        _affixes(context, table, left, right, same)
        _affixes(context, table, right, left, same)
        return
    some = left.some & right.some
    side = _side(context, left, right)
    for word, opposite, holds, own in ((">", "<=", more, "above"), ("<", ">=", some & ~(more | same), "below")):
        bits = ORDER + lengths + (0.0 if own == side else OTHER_SIDE if side else EITHER_SIDE)
        _add_two(table, bits, left, right, word, opposite, holds)
        if inclusive or left.safe or right.safe:  # null is on neither side
            _add_two(table, bits + (0.0 if inclusive else OPPOSITE), left, right, opposite, word, some & ~holds)


def _affixes(context: Context, table: Table, left: Subject, right: Subject, same: int) -> None:
    """Adds whether a text begins or ends with another one, or contains it, also beside a sign between them."""
    pairs = list(zip(left.values, right.values, strict=True))
    inside = [one is not None and bool(two) and two in one for one, two in pairs]
    if not any(inside) or bit_set(inside) in (same, table.full):
        return
    longer = [(one, two) for (one, two), own in zip(pairs, inside, strict=True) if own and one != two]
    text, other = left.feature.text, right.feature.text
    ends = [one.removesuffix(two)[-1:] for one, two in longer if one.endswith(two)]
    starts = [one.removeprefix(two)[:1] for one, two in longer if one.startswith(two)]
    tests = [("", f"{other} in {text}", f"{other} not in {text}", inside)]
    for method, beside in (("endswith", ends), ("startswith", starts)):
        for sign in dict.fromkeys(["", *sorted(sign for sign in set(beside) if not sign.isalnum())]):
            part = f"{sign!r} + {other}" if method == "endswith" else f"{other} + {sign!r}"
            test = f"{text}.{method}({part if sign else other})"
            wanted = [
                own and getattr(one, method)(sign + two if method == "endswith" else two + sign)
                for (one, two), own in zip(pairs, inside, strict=True)
            ]
            tests.append((sign, test, f"not {test}", wanted))
    before = tuple(dict.fromkeys((*left.feature.before, *right.feature.before)))
    for sign, test, opposite, wanted in tests:
        holds = bit_set(wanted)
        if holds in (0, same, table.full):
            continue
        bits = CONTAINS + left.feature.bits + right.feature.bits
        bits += (-1.0 if sign in context.reading.quoted else 1.0) if sign else 0.0
        guards = (*left.safe, *right.safe, Test(test, opposite))
        table.add(Condition(bits, tuple(dict.fromkeys(guards)), "and", before), holds)


def _add_two(table: Table, bits: float, left: Subject, right: Subject, word: str, opposite: str, holds: int) -> None:
    if holds in (0, table.full):
        return
    text, other = left.feature.text, right.feature.text
    tests = (*left.safe, *right.safe, Test(f"{text} {word} {other}", f"{text} {opposite} {other}"))
    before = tuple(dict.fromkeys((*left.feature.before, *right.feature.before)))
    bits += left.feature.bits + right.feature.bits
    table.add(Condition(bits, tuple(dict.fromkeys(tests)), "and", before), holds)
