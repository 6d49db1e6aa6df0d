"""Induction: the likeliest workflows behind the traces of a task."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, cast

from flowmind.base.processes import HelperEnded, Helpers, answer_questions
from flowmind.build.induction.cursors import atoms
from flowmind.build.induction.induction import Induction, Request
from flowmind.build.induction.inductions import inductions_of
from flowmind.build.induction.noise import readings, saved
from flowmind.build.induction.program import Block, DoWhile, ForEach, If, StructuredProgram
from flowmind.build.induction.purposes import PURPOSE, idle, with_mentions, with_purposes
from flowmind.build.induction.reading import read
from flowmind.build.induction.runs import run_of
from flowmind.build.induction.scopes import Candidate, Context
from flowmind.build.induction.skeleton import programs
from flowmind.build.induction.spelling import (
    aggregates_in,
    of_rounds,
    parsed,
    rows_of,
    slots,
    values_in,
    variables_of,
)
from flowmind.build.induction.support import constants_in
from flowmind.trace.events import Trace
from tools_registry.specs.schema import JSONSchema
from tools_registry.specs.spec import ToolSpec

DEAR = 10.0
"""A condition of more bits is searched again, with the aggregates that explain values."""
NEAR = 1.5
"""Other expressions for a value count, too, up to so many bits above the likeliest, and at most so many."""
MOST_NEAR = 4
SHOWN = 2
"""An aggregate must explain so many values for that."""
DECIDED = 3.0
"""The bits of an aggregate that no value, but a condition shows."""
MARK = 12
"""Longer arguments are no texts that conditions look for."""


def induce(request: Request) -> list[Induction]:
    """The workflows that may have produced the traces of a task: sound ones first, then the likeliest.

    Args:
        request: The traces, the tools, and the task. Without traces there is no workflow.
    """
    context = context_of(request)
    reading = {spec.name for spec in request.specs.values() if spec.effect == "read"}
    shown = [[run.inputs, run.answer, *((call.args, call.value) for call in run.calls)] for run in request.runs]
    names = {name for value in shown for name in _names(value)}
    inputs = variables_of(request.inputs.get("properties", {}))
    likely = [
        with_purposes(with_mentions(program, context.reading, names), reading, inputs)
        for program in programs_of(request, context)
    ]
    found = inductions_of(likely, request, context)
    return sorted(found, key=lambda induction: (not induction.sound, induction.bits))


def _names(value: Any) -> Iterator[str]:
    """The names of fields in a value."""
    if isinstance(value, dict):
        yield from cast(dict[str, Any], value)
    if isinstance(value, dict | list | tuple):
        parts = cast(dict[str, Any], value).values() if isinstance(value, dict) else cast(Sequence[Any], value)
        for part in parts:
            yield from _names(part)


def request_of(
    traces: Sequence[Trace], specs: Mapping[str, ToolSpec], inputs: JSONSchema, query: str = "", name: str = "workflow"
) -> Request:
    """The request for the workflow of some traces.

    Args:
        traces: Executions of the task on different inputs. Failed calls are ignored.
        specs: The tools.
        inputs: JSON Schema of the task's inputs.
        query: The task's text.
        name: The workflow's name.
    """
    return Request([run_of(trace, number) for number, trace in enumerate(traces)], specs, inputs, query, name)


def context_of(request: Request) -> Context:
    """A new context for a search."""
    texts = tuple(frozenset(part for part in atoms(run.inputs) if isinstance(part, str)) for run in request.runs)
    return Context(read(request.query), texts, marks=_marks(request))


def _marks(request: Request) -> tuple[str, ...]:
    """The short texts that are the same argument of all calls of a tool, if there are several calls."""
    shown: dict[tuple[str, str], list[Any]] = {}
    for call in (call for run in request.runs for call in run.calls):
        for name, value in call.args.items():
            shown.setdefault((call.tool, name), []).append(value)
    same = [values[0] for values in shown.values() if len(values) > 1 and all(value == values[0] for value in values)]
    return tuple(dict.fromkeys(value for value in same if isinstance(value, str) and 0 < len(value) <= MARK))


def programs_of(request: Request, context: Context | None = None) -> list[StructuredProgram]:
    """The programs that may be behind the traces, the likeliest first."""
    if not request.runs:
        return []
    context = context or context_of(request)
    found = _programs(request, context)
    explained = bool(found) and all(slot.candidates for slot in slots(found[0].body))
    context.totals = _totals(found[0].body) if explained and _dear(found[0].body) else ()
    if not context.totals:
        return found
    context.memo.clear()
    context.limit = max(context.limit, context.effort + context.limit // 2)
    again = _programs(request, context)
    if context.exhausted or not all(slot.candidates for program in again[:1] for slot in slots(program.body)):
        return sorted([*again, *found], key=lambda program: program.bits)
    return again


def _dear(block: Block) -> bool:
    """Whether a condition is not likely."""
    return any(
        (isinstance(step, If) and (step.condition.bits > DEAR or _dear((*step.then, *step.otherwise))))
        or (isinstance(step, ForEach | DoWhile) and _dear(step.body))
        or (isinstance(step, DoWhile) and step.again.bits > DEAR)
        or (isinstance(step, ForEach) and any(slot and slot.bits > DEAR for slot in (step.where, step.stop)))
        for step in block
    )


def _totals(block: Block) -> tuple[Candidate, ...]:
    """The aggregates, the computed numbers and the lists that explain values in several steps, with likely others.

    What is read of the rows of a loop is said with the variables of a round.
    """
    found: dict[str, Candidate] = {}
    loops = rows_of(block)
    values = set(map(id, values_in(block)))
    for slot in slots(block):
        near = [one for one in slot.candidates if one.bits <= slot.candidates[0].bits + NEAR][:MOST_NEAR]
        for one in near if len(slot.steps) >= SHOWN else ():
            parts = [*aggregates_in(one.text), *(part for rows in loops for part in of_rounds(one.text, rows))]
            if one.text.startswith("[") or (_OPERATION.search(one.text) and not parts and not _is_text(one)):
                parts.append(one.text)
            for part in parts:
                if f"round({part}, 2)" in parts:
                    continue
                known = Candidate(one.bits - near[0].bits + (0.0 if id(slot) in values else DECIDED), part)
                found[part] = min(known, found.get(part, known))
    return tuple(found.values())


_OPERATION = re.compile(r" [-+*/] ")


def _is_text(candidate: Candidate) -> bool:
    """Whether an expression is a condition, or puts a text together."""
    tree = parsed(candidate.text)
    written = any(isinstance(node, ast.Call) and ast.unparse(node.func) == "str" for node in ast.walk(tree))
    return written or isinstance(tree, _TESTS) or any(isinstance(value, str) for value in constants_in(candidate))


_TESTS = (ast.BoolOp, ast.Compare)


def _programs(request: Request, context: Context) -> list[StructuredProgram]:
    writing = {spec.name for spec in request.specs.values() if spec.effect != "read"}
    only_read = {spec.name for spec in request.specs.values() if spec.effect == "read"}
    found: list[StructuredProgram] = []
    runs = [replace(run, inputs=variables_of(run.inputs)) for run in request.runs]
    for reading in readings(runs, writing):
        explained = bool(found) and all(slot.candidates for slot in slots(found[0].body))
        best = found[0] if found else None
        if best and reading.bits >= saved(best.body, reading.tools) and explained and not idle(best, only_read):
            continue
        found += [
            replace(
                program,
                bits=program.bits + reading.bits + PURPOSE * len(idle(program, only_read)),
                left_out=reading.left_out,
            )
            for program in programs(context, reading.runs, request.specs)
        ]
        found.sort(key=lambda program: program.bits)
    return found


Inducer = Callable[[Request], Awaitable[list[Induction]]]
"""Does the same as `induce` without blocking the event loop."""


async def induce_in_thread(request: Request) -> list[Induction]:
    """Runs `induce` in a thread. The event loop continues, but more slowly."""
    return await asyncio.to_thread(induce, request)


class Inducers(Helpers):
    """Processes that induce workflows, because the search is pure Python and holds the interpreter lock.

    A process starts when it is first needed.

    Args:
        count: How many processes.
    """

    def __init__(self, count: int) -> None:
        super().__init__(__name__, None, count)
        # separate threads: a call that waits for a process must not keep the loop's other threads from running tools
        self._threads = ThreadPoolExecutor(count)

    async def induce(self, request: Request) -> list[Induction]:
        """As the function `induce`, in one of the processes.

        Raises:
            RuntimeError: If the process has ended, or the induction raised something.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self.ask, request)
        except HelperEnded as ended:
            raise RuntimeError(f"induction: its process has ended ({ended})") from None

    def close(self) -> None:
        """Kills the processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        super().close()
        self._threads.shutdown()


def main() -> None:
    """Runs the inductions that arrive on standard input until it is closed."""
    answer_questions(lambda _: nullcontext(lambda request, _: induce(request)))
