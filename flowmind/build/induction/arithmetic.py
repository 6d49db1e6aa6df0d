"""Numbers computed of up to four terms, by tables of the values that a term must have.

All pairs of terms stand in a table under their values at a few visits. For a number that three or four terms give, the
value that a pair must have follows from the other terms; it is looked up. Numbers that were rounded are looked up by an
interval at one visit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from heapq import nsmallest

from flowmind.build.induction.bits import UNROUNDED, number_bits
from flowmind.build.induction.features import ATOM, enclosed
from flowmind.build.induction.number_terms import (
    EXACT,
    FEWER_TERMS,
    FINE,
    MOST_FOUND,
    MOST_TERMS,
    NOISE,
    OPERATION,
    ROUNDINGS,
    Rounding,
    Table,
    Term,
    Vector,
    combined,
    equal,
    idle,
    is_whole,
    operate,
    rounded_key,
    table_of,
)
from flowmind.build.induction.scopes import Candidate, Context, Scope


def compute(
    context: Context, scopes: Sequence[Scope], values: Sequence[float], rich: bool, deep: bool, least: float
) -> list[Candidate]:
    """The expressions of two to four terms that give a number at each visit.

    Args:
        context: The search.
        scopes: The visits.
        values: The number at each visit.
        rich: Whether sums and counts over lists are terms.
        deep: Whether many terms are tried, and expressions of four.
        least: The bits of the best explanation so far: only cheaper ones, and those that are little dearer, count.
    """
    target = tuple(map(float, values))
    distinct = {rounded_key([value])[0]: value for value in target}
    budget = min(least + 8.0, sum(map(number_bits, distinct.values())) + 4.0)
    table = table_of(context, scopes, rich, MOST_TERMS if deep else FEWER_TERMS)
    found = [*_single(table, target, values), *_offsets(context, table, target)]
    digits = context.reading.digits
    for rounding in (EXACT, *_likely_roundings(values, digits)):
        if rounding is EXACT:
            found += _exact_two(table, target)
        elif not found:
            found += _rounded(context, table, target, rounding, len(distinct) > 1)
    if rich and not found and len(distinct) > 2 and context.siblings:
        for rounding in _likely_roundings(values, digits):
            found += found or _rounded_four(context, table, target, rounding)
    if len(distinct) > 1 and (not found or min(found)[0] > 30):
        found += _exact_three(context, table, target)
    if not found and len(distinct) > 1:
        found += _capped(context, table, target)
        if not found and len(distinct) > 2 and deep and not rich:
            found += _exact_four(context, table, target)
    return _best(table, _tidy(found, values, digits), budget)


def _best(table: Table, found: Sequence[Candidate], budget: float) -> list[Candidate]:
    """The likeliest, and the same with other terms of the same values."""
    near = sorted(candidate for candidate in found if candidate.bits <= budget)[:MOST_FOUND]
    more: list[Candidate] = []
    for candidate in near[:4]:
        for place, others in table.alternatives.items():
            own = table.terms[place]
            whole = re.compile(rf"(?<![\w'\]]){re.escape(own.text)}(?![\w\[.(])")
            if own.text in candidate.text and whole.search(candidate.text):
                for other in others[:2]:
                    text = whole.sub(enclosed(other.text, ATOM).replace("\\", r"\\"), candidate.text)
                    before = (*candidate.before, *other.before)
                    more.append(Candidate(candidate.bits + other.bits - own.bits, text, before))
    best = {candidate.text: candidate for candidate in sorted([*near, *more], reverse=True)}
    return sorted(best.values())[: 2 * MOST_FOUND]


def _tidy(found: Sequence[tuple[float, Term]], values: Sequence[float], digits: int | None) -> list[Candidate]:
    """Candidates of the terms. A result is rounded to the digits that the task's text asks for; and the noise of floats
    in one that the traces show in cents is rounded off."""
    fractions = any(isinstance(value, float) for value in values)
    clean = fractions and all(round(value, 2) == value for value in values)
    asked = fractions and digits is not None and all(round(value, digits) == value for value in values)
    result: list[Candidate] = []
    for bits, term in found:
        noisy = clean and any(own != value for own, value in zip(term.values, values, strict=True))
        exact = not term.text.startswith("round(")
        if exact and asked and " " in term.text:
            result.append(
                Candidate(bits, f"round({term.text}, {digits})" if digits else f"round({term.text})", term.before)
            )
            bits += UNROUNDED
        text = f"round({term.text}, 2)" if noisy and exact else term.text
        result.append(Candidate(bits, text, term.before))
    return result


# Matching.


def _matches(term: Term | None, target: Vector, rounding: Rounding = EXACT) -> bool:
    if term is None:
        return False
    try:
        return all(equal(rounding.function(own), value) for own, value in zip(term.values, target, strict=True))
    except (OverflowError, ValueError):
        return False


def _likely_roundings(values: Sequence[float], digits: int | None) -> Iterator[Rounding]:
    if all(isinstance(value, int) for value in values):
        yield ROUNDINGS["whole"]
        yield ROUNDINGS["floor"]
        yield ROUNDINGS["ceiling"]
    elif all(round(value, 2) == value for value in values):
        tenths = all(round(value, 1) == value for value in values)
        yield from [ROUNDINGS["tenths"]] if tenths and digits in (None, 1) else []
        yield ROUNDINGS["cents"]


def _rounded_term(term: Term, rounding: Rounding) -> Term:
    values = tuple(rounding.function(value) for value in term.values)
    if rounding is ROUNDINGS["floor"] and term.text.count(" / ") == 1 and _ends_in_division(term.text):
        return Term(term.bits, term.text.replace(" / ", " // "), values, term.before)
    return Term(term.bits + rounding.bits, rounding.pattern.replace("{}", term.text), values, term.before)


def _ends_in_division(text: str) -> bool:
    """Whether a division is the last operation of an expression."""
    left, _, right = text.partition(" / ")
    return left.count("(") == left.count(")") and right.count("(") == right.count(")") and " + " not in right


def _single(table: Table, target: Vector, values: Sequence[float]) -> Iterator[tuple[float, Term]]:
    """A computed term alone, and roundings of terms."""
    for term in table.terms:
        if term.constant:
            continue
        if _matches(term, target):
            yield term.bits + 1.0, term
        for name in ("whole", "cents", "tenths", "floor", "ceiling"):
            rounding = ROUNDINGS[name]
            if not _matches(term, target) and _matches(term, target, rounding):
                done = _rounded_term(term, rounding)
                yield done.bits + 1.0, done


def _offsets(context: Context, table: Table, target: Vector) -> Iterator[tuple[float, Term]]:
    """A term plus, or times, a number that nothing names."""
    if len({rounded_key([value]) for value in target}) < 2:
        return
    for term in table.terms:
        if term.constant or len({rounded_key([value]) for value in term.values}) < 2:
            continue
        for op, inverse in (("+", "-"), ("*", "/")):
            needed = operate(inverse, target, term.values)
            if needed is None or not all(equal(value, needed[0]) for value in needed):
                continue
            number = round(needed[0], 6)
            number = int(number) if number == int(number) else number
            if number in (0, 1) or number in context.reading.numbers:
                continue
            negative = op == "+" and number < 0
            constant = Term(number_bits(number), repr(-number if negative else number), (), (), True)
            constant = constant._replace(values=(float(-number if negative else number),) * len(target))
            done = combined("-" if negative else op, term, constant)
            if _matches(done, target) and done is not None:
                yield done.bits, done


_INVERSES: tuple[tuple[str, bool, str, bool], ...] = (
    ("+", True, "-", False),
    ("-", True, "+", False),
    ("-", False, "-", True),
    ("*", True, "/", False),
    ("/", True, "*", False),
    ("/", False, "/", True),
)
"""Operation, whether the unknown is its left side, the operation that gives the unknown of the target and the known
side, and whether the known side is that operation's left side."""


def _needed(target: Vector, known: Vector) -> Iterator[tuple[str, bool, Vector]]:
    """For each operation the values that the unknown side must have."""
    for op, left, inverse, swapped in _INVERSES:
        values = operate(inverse, known, target) if swapped else operate(inverse, target, known)
        if values is not None:
            yield op, left, values


def _exact_two(table: Table, target: Vector) -> Iterator[tuple[float, Term]]:
    for pair in table.by_values.get(rounded_key(table.at_shown(target)), ()):
        values = table.values_of(pair)
        if values is not None and all(map(equal, values, target)) and (term := table.term_of(pair)) is not None:
            yield pair.bits, term


def _exact_three(context: Context, table: Table, target: Vector) -> Iterator[tuple[float, Term]]:
    context.effort += 6 * len(table.terms)
    for known in table.terms:
        for op, left, values in _needed(target, known.values):
            if not idle(op, known, known):
                for pair in table.by_values.get(rounded_key(table.at_shown(values)), ()):
                    own = table.values_of(pair)
                    if own is not None and all(map(equal, own, values)):
                        yield from _outer(op, left, table.term_of(pair), known, target)


def _undone(inner: Term, known: Term) -> bool:
    """Whether the outer operation may undo the inner one: `a + b - b`."""
    return not known.constant and known.text in inner.text


def _exact_four(context: Context, table: Table, target: Vector) -> Iterator[tuple[float, Term]]:
    """Two pairs, or a pair and two more terms: looked up by the value at one visit first."""
    goal = table.at_shown(target)[0]
    first = table.by_first()
    cheap = nsmallest(600, table.pairs)
    few = sorted(table.terms, key=lambda term: term.bits)[:16]
    context.effort += 6 * len(cheap) + 36 * len(few) ** 2
    for known in cheap:
        for op, left, (value,) in _needed((goal,), known.values[:1]):
            for pair in first.get(round(value, 6) + 0.0, ())[:4]:
                results = operate(op, *((pair.values, known.values) if left else (known.values, pair.values)))
                if results is not None and equal(results[-1], target[table.shown[-1]]):
                    yield from _outer(op, left, table.term_of(pair), table.term_of(known), target)
    for last in few:
        for op, left, (value,) in _needed((goal,), last.values[:1]):
            for third in few:
                for op2, left2, (inner,) in _needed((value,), third.values[:1]):
                    for pair in first.get(round(inner, 6) + 0.0, ())[:4]:
                        for _, term in _outer(op2, left2, table.term_of(pair), third):
                            yield from _outer(op, left, term, last, target)


def _outer(
    op: str, left: bool, inner: Term | None, known: Term | None, target: Vector | None = None
) -> Iterator[tuple[float, Term]]:
    """The operation of two terms, if it gives the target."""
    if inner is not None and known is not None and not _undone(inner, known):
        term = combined(op, inner, known) if left else combined(op, known, inner)
        if term is not None and (target is None or _matches(term, target)):
            yield term.bits, term


def _rounded(
    context: Context, table: Table, target: Vector, rounding: Rounding, thorough: bool
) -> Iterator[tuple[float, Term]]:
    """Pairs, and pairs with a third term, whose rounded values are the target."""
    shown = table.at_shown(target)
    visit = max(range(len(shown)), key=lambda place: abs(shown[place]))
    low, high = shown[visit] - rounding.below - NOISE, shown[visit] + rounding.above + NOISE
    for pair in table.within(visit, low, high):
        term = table.term_of(pair)
        if is_whole(pair.values) and rounding is not ROUNDINGS["floor"]:
            continue
        if _fits(pair.values, shown, rounding) and term is not None and _matches(term, target, rounding):
            done = _rounded_term(term, rounding)
            yield done.bits, done
    if not thorough or rounding.below + rounding.above > FINE * max(1.0, abs(shown[visit])):
        return
    for known in sorted(table.terms, key=lambda term: term.bits)[:30]:
        own = table.at_shown(known.values)
        for op, left, inverse, swapped in _INVERSES:
            sides = [operate(inverse, *((own, ends) if swapped else (ends, own))) for ends in _ends(shown, rounding)]
            if sides[0] is None or sides[1] is None:
                continue
            bounds = sorted((sides[0][visit], sides[1][visit]))
            context.effort += 1
            for pair in table.within(visit, *bounds):
                result = operate(op, *((pair.values, own) if left else (own, pair.values)))
                if result is None or is_whole(result) or not _fits(result, shown, rounding):
                    continue
                for _, term in _outer(op, left, table.term_of(pair), known):
                    if _matches(term, target, rounding):
                        done = _rounded_term(term, rounding)
                        yield done.bits, done


def _rounded_four(context: Context, table: Table, target: Vector, rounding: Rounding) -> Iterator[tuple[float, Term]]:
    """`(a + b * n) * c` and `(a - b + b * n) * c` with a number n of the text: a higher rate beyond a limit."""
    constants = [term for term in table.terms if term.constant]
    plain = sorted((term for term in table.terms if not term.constant), key=lambda term: term.bits)[:FEWER_TERMS]
    context.effort += len(constants) * len(plain) ** 4
    for last in plain:
        needed = operate("/", target, last.values)
        if needed is None:
            continue
        share = [(rounding.below + NOISE) / max(abs(value), NOISE) for value in last.values]
        for number in constants:
            for two in plain:
                part = combined("*", two, number)
                rest = operate("-", needed, part.values) if part is not None else None
                if part is None or rest is None:
                    continue
                for one in plain:
                    for less in (None, *plain):
                        whole = one if less is None else combined("-", one, less)
                        if whole is None or any(
                            abs(own - value) > near for own, value, near in zip(whole.values, rest, share, strict=True)
                        ):
                            continue
                        inner = combined("+", whole, part)
                        term = combined("*", inner, last) if inner is not None else None
                        if _matches(term, target, rounding) and term is not None:
                            done = _rounded_term(term, rounding)
                            yield done.bits, done


def _ends(shown: Vector, rounding: Rounding) -> tuple[Vector, Vector]:
    return (
        tuple([value - rounding.below - NOISE for value in shown]),
        tuple([value + rounding.above + NOISE for value in shown]),
    )


def _fits(values: Vector, shown: Vector, rounding: Rounding) -> bool:
    return all(
        value - rounding.below - NOISE <= own <= value + rounding.above + NOISE
        for own, value in zip(values, shown, strict=True)
    )


def _capped(context: Context, table: Table, target: Vector) -> Iterator[tuple[float, Term]]:
    """`min` or `max` of a term and a number that the visits reach at least once."""
    zero = Term(3.0, "0", (0.0,) * len(target), (), True)
    for cap in [*sorted(table.terms, key=lambda term: term.bits)[:20], zero]:
        reached = [equal(own, value) for own, value in zip(cap.values, target, strict=True)]
        if all(reached) or not any(reached):
            continue
        for function, beyond in (("min", max), ("max", min)):
            if any(not equal(beyond(own, value), own) for own, value in zip(cap.values, target, strict=True)):
                continue
            for term in _free_of(context, table, target, reached)[:3]:
                values = tuple(map(min if function == "min" else max, term.values, cap.values))
                done = Term(
                    term.bits + cap.bits + OPERATION + 1, f"{function}({term.text}, {cap.text})", values, term.before
                )
                if _matches(done, target):
                    yield done.bits, done


def _free_of(context: Context, table: Table, target: Vector, reached: Sequence[bool]) -> list[Term]:
    """The terms that give the target where a cap is not reached, with their values at all visits."""
    free = [place for place, capped in enumerate(reached) if not capped]
    found: list[Term] = []
    for term in table.terms:
        if not term.constant and all(equal(term.values[place], target[place]) for place in free):
            found.append(term)
    shown = [at for at, place in enumerate(table.shown) if not reached[place]]
    wanted = table.at_shown(target)
    for pair in table.pairs if shown and not found else ():
        if all(equal(pair.values[at], wanted[at]) for at in shown):
            term = table.term_of(pair)
            if term is not None and all(equal(term.values[place], target[place]) for place in free):
                found.append(term)
    context.effort += len(table.pairs)
    return sorted(found, key=lambda term: term.bits)
