"""Repetitions that test their condition first.

A repetition whose condition asks for a variable that has a first value before the loop is written as `while`: the
variable gets that value, and the condition is tested before the first round too, so that there may be no round.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from flowmind.build.induction.program import Block, CallStep, DoWhile, If, Slot, Step, StructuredProgram
from flowmind.build.induction.scopes import Candidate
from flowmind.build.induction.spelling import assigned, changed, reads_of

_CARRIED = re.compile(r"(?P<name>\w+) if (?P<other>\w+) is not None else (?P<start>.+)")


def tested_first(program: StructuredProgram, gathers: bool = False) -> StructuredProgram:
    """A program whose repetitions test their condition first where they can.

    Args:
        program: The program. It stays as it is if no repetition can.
        gathers: Whether a call is assumed to extend its own last result, at first an empty list, where its argument is
            computed of the rounds alone. Whether that holds must be tested.
    """
    body = program.body
    for loop in _loops(body):
        changes = _changes(loop, gathers)
        if changes is not None:
            found, text_after = changes
            body = _replaced(body, loop, found, text_after)
    return program if body is program.body else replace(program, body=body)


def _loops(block: Block) -> list[DoWhile]:
    """The repetitions of a block that are in no other loop."""
    found: list[DoWhile] = []
    for step in block:
        if isinstance(step, DoWhile):
            found.append(step)
        elif isinstance(step, If):
            found += [*_loops(step.then), *_loops(step.otherwise)]
    return found


def _changes(loop: DoWhile, gathers: bool) -> tuple[DoWhile, Callable[[str], str]] | None:
    names = [step.output for step in loop.body if isinstance(step, CallStep)]
    inside = {*assigned((loop,)), loop.rows, loop.index}
    last = {f"{loop.rows}[-1][{name!r}]": name for name in names}

    def plain(text: str) -> str:
        for old, new in last.items():
            text = text.replace(old, new)
        return text

    starts: dict[str, Slot] = {}
    body: list[Step] = []
    ahead = set(names)
    for step in loop.body:
        if isinstance(step, CallStep):
            args = {name: _carried(slot, plain, ahead, inside, starts) for name, slot in step.args.items()}
            for name, slot in args.items():
                if gathers and step.output not in starts and slot.candidates and _of_rounds(slot, loop):
                    starts[step.output] = replace(slot, candidates=(Candidate(slot.bits, "[]"),))
                    args[name] = replace(slot, candidates=(Candidate(slot.bits, step.output),))
            step = CallStep(step.tool, step.output, args)
            ahead.discard(step.output)
        body.append(step)
    tests = [made for made in loop.again.candidates if reads_of(made.text) & inside <= set(starts) and not made.before]
    if not starts or not tests or not reads_of(tests[0].text) & set(starts):
        return None
    again = Slot(tuple(tests), loop.again.steps)
    return replace(loop, body=tuple(body), again=again, starts=starts), plain


def _of_rounds(slot: Slot, loop: DoWhile) -> bool:
    first = slot.candidates[0]
    return not first.before and reads_of(first.text).intersection(assigned((loop,))) == frozenset({loop.rows})


def _carried(
    slot: Slot, plain: Callable[[str], str], ahead: set[str], inside: set[str], starts: dict[str, Slot]
) -> Slot:
    """A slot that reads a variable of the round before, or its first value, as one that reads the variable."""
    for made in slot.candidates:
        match = _CARRIED.fullmatch(plain(made.text))
        if match is None or match["name"] not in ahead or match["other"] not in inside or made.before:
            continue
        start = match["start"]
        try:
            outside = not reads_of(start) & inside
        except SyntaxError:
            continue
        if outside:
            known = starts.setdefault(match["name"], Slot((Candidate(made.bits, start),), slot.steps))
            if known.candidates[0].text == start:
                return replace(slot, candidates=(Candidate(made.bits, match["name"]),))
    return slot


def _replaced(block: Block, loop: DoWhile, other: DoWhile, plain: Callable[[str], str]) -> Block:
    """A block with another loop; what follows reads its variables instead of its last row."""

    def rewritten(slot: Slot) -> Slot:
        made = tuple(one._replace(text=plain(one.text)) for one in slot.candidates)
        return slot if made == slot.candidates else replace(slot, candidates=made)

    done: list[Step] = []
    behind = False
    for step in block:
        if step is loop:
            done.append(other)
            behind = True
        elif behind:
            done += changed((step,), rewritten)
        elif isinstance(step, If) and any(one is loop for one in _loops((step,))):
            then, otherwise = (_replaced(arm, loop, other, plain) for arm in (step.then, step.otherwise))
            done.append(If(step.condition, then, otherwise))
            behind = True
        else:
            done.append(step)
    return tuple(done)
