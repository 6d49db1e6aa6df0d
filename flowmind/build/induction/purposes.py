"""Purposes: an expression is likelier than a slightly shorter one if it alone reads a result, or alone has a number
that the task's text names."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from flowmind.build.induction.bits import is_number
from flowmind.build.induction.program import Block, Slot, StructuredProgram
from flowmind.build.induction.scopes import Candidate
from flowmind.build.induction.spelling import calls_in, changed, parsed, reads_in, reads_in_slot, reads_of, slots

PURPOSE = 6.0
"""The bits of a result that nothing reads."""
SMALL = 2
"""Texts name smaller numbers for other reasons: "the first one"."""
MENTION = 8.0
"""The bits of a number that the task's text names and the program does not have."""


def with_purposes(program: StructuredProgram, reading: Collection[str]) -> StructuredProgram:
    """A program in which results are read that nothing read, where an expression of at most `PURPOSE` more bits does.

    Args:
        program: The program.
        reading: The tools that only read.
    """
    for name in _results(program.body, reading):
        if name in reads_in(program.body):
            continue
        found: list[tuple[float, int]] = []
        wanted: list[frozenset[str]] = []
        for place, slot in enumerate(slots(program.body)):
            alone = [one for one in reads_in_slot(slot) if _readers(program.body, one) == 1]
            wanted.append(frozenset({name, *alone}))
            for made in slot.candidates[1:]:
                more = made.bits - slot.candidates[0].bits
                if more <= PURPOSE and not made.before and wanted[-1] <= reads_of(made.text):
                    found.append((more, place))
        if found:
            chosen = list(slots(program.body))[min(found)[1]]
            reads = wanted[min(found)[1]]

            def ordered(slot: Slot, chosen: Slot = chosen, reads: frozenset[str] = reads) -> Slot:
                if slot is not chosen:
                    return slot
                made = [
                    one if reads <= reads_of(one.text) else one._replace(bits=one.bits + PURPOSE)
                    for one in slot.candidates
                ]
                return replace(slot, candidates=tuple(sorted(made, key=lambda one: one.bits)))

            program = replace(program, body=changed(program.body, ordered))
    return program


def idle(program: StructuredProgram, reading: Collection[str]) -> list[str]:
    """The results of tools that only read, which nothing reads."""
    read = reads_in(program.body)
    return [name for name in _results(program.body, reading) if name not in read]


def with_numbers(program: StructuredProgram, limits: Collection[int | float]) -> StructuredProgram:
    """A program that has the numbers of the task's text, where an expression of at most `MENTION` more bits has one.

    Args:
        program: The program.
        limits: The numbers.
    """
    for number in (each for each in limits if abs(each) > SMALL):
        tops = [_numbers(slot.candidates[0]) if slot.candidates else frozenset[Any]() for slot in slots(program.body)]
        if any(number in own for own in tops):
            continue
        found: list[tuple[float, int]] = []
        for place, slot in enumerate(slots(program.body)):
            kept = tops[place].intersection(limits)
            for made in slot.candidates[1:]:
                more = made.bits - slot.candidates[0].bits
                if more <= MENTION and kept | {number} <= _numbers(made):
                    found.append((more, place))
        if found:
            chosen = list(slots(program.body))[min(found)[1]]

            def ordered(slot: Slot, chosen: Slot = chosen, number: float = number) -> Slot:
                if slot is not chosen:
                    return slot
                made = [
                    one if number in _numbers(one) else one._replace(bits=one.bits + MENTION) for one in slot.candidates
                ]
                return replace(slot, candidates=tuple(sorted(made, key=lambda one: one.bits)))

            program = replace(program, body=changed(program.body, ordered))
    return program


def _numbers(candidate: Candidate) -> frozenset[Any]:
    """The numbers in an expression."""
    nodes = ast.walk(parsed(candidate.text))
    found = {node.value for node in nodes if isinstance(node, ast.Constant) and is_number(node.value)}
    return frozenset(found)


def _readers(block: Block, name: str) -> int:
    return sum(name in reads_in_slot(slot) for slot in slots(block))


def _results(block: Block, reading: Collection[str]) -> list[str]:
    """The results of calls of tools that only read, each once."""
    return list(dict.fromkeys(call.output for call in calls_in(block) if call.tool in reading))
