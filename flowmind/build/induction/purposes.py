"""Purposes: an expression is likelier than a slightly shorter one if it alone reads a result, or alone has a
constant that the task's text names."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from flowmind.build.induction.bits import is_number
from flowmind.build.induction.chains import in_chain
from flowmind.build.induction.program import Block, DoWhile, ForEach, If, Slot, StructuredProgram
from flowmind.build.induction.reading import Reading
from flowmind.build.induction.scopes import Candidate
from flowmind.build.induction.spelling import calls_in, changed, parsed, reads_in, reads_in_slot, reads_of, slots

PURPOSE = 6.0
"""The bits of a result that nothing reads."""
INPUT = 20.0
"""The most bits that an expression may cost more if it alone reads an input."""
UNREAD_INPUT = 40.0
"""The bits of an input that nothing reads: tasks have none."""
SMALL = 2
"""Texts name smaller numbers for other reasons: "the first one"."""
MENTION = 8.0
"""The bits of a constant that the task's text names and the program does not have."""


def with_purposes(
    program: StructuredProgram, reading: Collection[str], inputs: Collection[str] = ()
) -> StructuredProgram:
    """A program in which results and inputs are read that nothing read, where an expression of few more bits does.

    Args:
        program: The program.
        reading: The tools that only read.
        inputs: The variables of the inputs.
    """
    for name in (*_results(program.body, reading), *inputs):
        if name in reads_in(program.body):
            continue
        most, unread = (INPUT, UNREAD_INPUT) if name in inputs else (PURPOSE, PURPOSE)
        found: list[tuple[float, int]] = []
        wanted: list[frozenset[str]] = []
        for place, slot in enumerate(slots(program.body)):
            alone = [one for one in reads_in_slot(slot) if _readers(program.body, one) == 1]
            wanted.append(frozenset({name, *alone}))
            for made in slot.candidates[1:]:
                more = made.bits - slot.candidates[0].bits
                if more <= most and not made.before and wanted[-1] <= reads_of(made.text):
                    found.append((more, place))
        if found:
            chosen = list(slots(program.body))[min(found)[1]]
            reads = wanted[min(found)[1]]

            def ordered(
                slot: Slot, chosen: Slot = chosen, reads: frozenset[str] = reads, unread: float = unread
            ) -> Slot:
                if slot is not chosen:
                    return slot
                made = [
                    one if reads <= reads_of(one.text) else one._replace(bits=one.bits + unread)
                    for one in slot.candidates
                ]
                return replace(slot, candidates=tuple(sorted(made, key=lambda one: one.bits)))

            program = replace(program, body=changed(program.body, ordered))
    return program


def idle(program: StructuredProgram, reading: Collection[str]) -> list[str]:
    """The results of tools that only read, which nothing reads."""
    read = reads_in(program.body)
    return [name for name in _results(program.body, reading) if name not in read]


def with_mentions(program: StructuredProgram, reading: Reading, names: Collection[str] = ()) -> StructuredProgram:
    """A program that has the constants of the task's text, where an expression of at most `MENTION` more bits has one.

    Each constant that it has nowhere costs as much, and so does each expression without one that stands nowhere else.

    Args:
        program: The program.
        reading: The task's text.
        names: Names of fields and inputs: nothing is looked for that has one.
    """
    wanted = [forms for forms in reading.mentions if any(not is_number(form) or abs(form) > SMALL for form in forms)]
    bits, before = program.bits, _order_bits(program.body, reading)
    for forms in [forms for forms in wanted if not forms & frozenset(names)]:
        tops = [_constants_at(slot) for slot in slots(program.body)]
        if any(_has(own, forms) for own in tops):
            continue
        found: list[tuple[float, int, int]] = []
        for place, slot in enumerate(slots(program.body)):
            kept = [other for other in wanted if _has(tops[place], other)]
            for number, made in enumerate(slot.candidates[1:], 1):
                more = made.bits - slot.candidates[0].bits
                if more <= MENTION and all(_has(_constants_of(made), other) for other in (forms, *kept)):
                    found.append((more, place, number))
        if not found:
            bits += MENTION
            continue
        more, place, number = min(found)
        chosen = list(slots(program.body))[place]
        first = chosen.candidates[number]
        better = replace(chosen, candidates=(first, *(one for one in chosen.candidates if one is not first)))
        program = replace(program, body=_with(program.body, chosen, better))
        bits += more
    bits += _order_bits(program.body, reading) - before
    return replace(program, body=_weighed(program.body, wanted), bits=bits)


def _order_bits(block: Block, reading: Reading) -> float:
    """The bits of the order of conditions."""
    bits = 0.0
    for step in block:
        match step:
            case If(condition=condition, then=then, otherwise=otherwise):
                bits += _order_bits(then, reading) + _order_bits(otherwise, reading)
                after = otherwise[0].condition if otherwise and isinstance(otherwise[0], If) else None
                if after and condition.candidates and after.candidates:
                    bits += in_chain(reading, condition.candidates[0].text, after.candidates[0].text)
            case ForEach(body=body) | DoWhile(body=body):
                bits += _order_bits(body, reading)
            case _:
                pass
    return bits


def _with(block: Block, slot: Slot, other: Slot) -> Block:
    return changed(block, lambda own: other if own is slot else own)


def _weighed(block: Block, wanted: Sequence[frozenset[Any]]) -> Block:
    """A program whose expressions cost more if a constant is missing that only the likeliest one there has."""
    every = list(slots(block))
    having = [[slot for slot in every if _has(_constants_at(slot), forms)] for forms in wanted]
    for slot in every:
        own = [forms for forms, found in zip(wanted, having, strict=True) if len(found) == 1 and found[0] is slot]
        if own and len(slot.candidates) > 1:
            absent = [forms for forms, found in zip(wanted, having, strict=True) if not found]
            first, *others = slot.candidates
            weighed: list[Candidate] = []
            for one in others:
                constants = _constants_of(one)
                lost = sum(not _has(constants, forms) for forms in own) - sum(
                    _has(constants, forms) for forms in absent
                )
                weighed.append(one._replace(bits=max(one.bits, first.bits) + MENTION * max(lost, 0)))
            better = replace(slot, candidates=(first, *sorted(weighed, key=lambda one: one.bits)))
            block = _with(block, slot, better)
    return block


def _has(parts: Collection[Any], forms: Collection[Any]) -> bool:
    return any(
        form in parts or (isinstance(form, str) and any(form in one.text for one in parts if isinstance(one, _Text)))
        for form in forms
    )


class _Text(NamedTuple):
    """A text constant, in which other texts may stand."""

    text: str


def _constants_at(slot: Slot) -> frozenset[Any]:
    """The constants of the likeliest expressions of a slot."""
    return frozenset[Any]().union(*(_constants_of(group[0]) for group in (slot.candidates, slot.omitted) if group))


@lru_cache(maxsize=20_000)
def _constants_of(candidate: Candidate) -> frozenset[Any]:
    """The constants in an expression and in the pure calls before it, also the names of fields and variables."""
    texts = [candidate.text, *(text for call in candidate.before for _, text in call.args)]
    return frozenset(value for text in texts for value in _constants(parsed(text)))


def _constants(node: ast.AST) -> Iterator[Any]:
    match node:
        case ast.Constant(value=str() as text):
            yield _Text(text)
        case ast.Constant(value=value):
            yield value
        case ast.Name(id=name):
            yield name
        case ast.Subscript(value=owner, slice=ast.Constant(value=key)) if not isinstance(owner, ast.Dict):
            yield key if isinstance(key, str) else None
            yield from _constants(owner)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _constants(child)


def _readers(block: Block, name: str) -> int:
    return sum(name in reads_in_slot(slot) for slot in slots(block))


def _results(block: Block, reading: Collection[str]) -> list[str]:
    """The results of calls of tools that only read, each once."""
    return list(dict.fromkeys(call.output for call in calls_in(block) if call.tool in reading))
