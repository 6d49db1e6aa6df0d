"""Shared tests: two filters of one list may have a test in common that the traces show in one of them only.

"A sample is due if it was drawn before the day and its order is closed. Dispose of those that are due; list those that
are due but on hold": if each closed sample of the traces that nobody holds is old, nothing shows that the first filter
tests the day as well. The same filter with the test of the other one is a rival.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flowmind.build.induction.program import Block, DoWhile, ForEach, If, Slot
from flowmind.build.induction.spelling import normal, parsed, renamed, slots


class _Filter(NamedTuple):
    source: str
    item: str
    tests: tuple[str, ...]


def stronger(slot: Slot, block: Block) -> Iterator[str]:
    """The likeliest expression of a slot with one more test in a filter, which another filter of the list has.

    Args:
        slot: The slot.
        block: The program, with the slot.
    """
    loops = list(_loops(block))
    others = [_of_loop(loop) for loop in loops if loop.where is not slot]
    others += [one for other in slots(block) if other.candidates for one in _of_text(other.candidates[0].text)]
    own = next((loop for loop in loops if loop.where is slot), None)
    text = slot.candidates[0].text
    if own is not None:
        filter_ = _of_loop(own)
        for test in _missing(filter_, others):
            yield " and ".join(_enclosed(part) for part in (*filter_.tests, test))
        return
    for number, filter_ in enumerate(_of_text(text)):
        for test in _missing(filter_, others) if filter_.tests else ():
            yield _with_test(text, number, test)


def _loops(block: Block) -> Iterator[ForEach]:
    for step in block:
        match step:
            case ForEach(body=body):
                yield step
                yield from _loops(body)
            case DoWhile(body=body):
                yield from _loops(body)
            case If(then=then, otherwise=otherwise):
                yield from (*_loops(then), *_loops(otherwise))
            case _:
                pass


def _of_loop(loop: ForEach) -> _Filter:
    source = loop.source.candidates[0].text if loop.source.candidates else ""
    where = loop.where.candidates[0].text if loop.where and loop.where.candidates else "True"
    return _Filter(source, loop.item, _tests(parsed(where)))


def _of_text(text: str) -> list[_Filter]:
    """The filters of an expression."""
    return [
        _Filter(ast.unparse(part.iter), part.target.id, tuple(test for own in part.ifs for test in _tests(own)))
        for part in _generators(parsed(text))
        if isinstance(part.target, ast.Name)
    ]


def _generators(tree: ast.expr) -> Iterator[ast.comprehension]:
    return (
        node for node in ast.walk(tree) if isinstance(node, ast.comprehension) and isinstance(node.target, ast.Name)
    )


def _tests(node: ast.expr) -> tuple[str, ...]:
    """The conditions that are joined by `and`."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return tuple(test for part in node.values for test in _tests(part))
    return () if isinstance(node, ast.Constant) else (ast.unparse(node),)


def _missing(filter_: _Filter, others: list[_Filter]) -> list[str]:
    """The tests of other filters of the same list that a filter does not have, nor their opposites."""
    known = {normal(test) for test in filter_.tests}
    known |= {normal(f"not ({test})") for test in filter_.tests}
    found: dict[str, None] = {}
    for other in others:
        if other.source == filter_.source:
            found |= {renamed(test, {other.item: filter_.item}): None for test in other.tests}
    return [test for test in found if normal(test) not in known]


def _with_test(text: str, number: int, test: str) -> str:
    """An expression with one more test in one of its filters."""
    tree = parsed(text)
    list(_generators(tree))[number].ifs.append(parsed(test))
    return ast.unparse(tree)


def _enclosed(test: str) -> str:
    return f"({test})" if isinstance(parsed(test), ast.BoolOp | ast.IfExp) else test
