"""Support: the steps that show each part of an induced workflow, its guesses, and what it may not pass on."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from flowmind.build.induction.bits import is_identifier
from flowmind.build.induction.emission import Emitted, Spot
from flowmind.build.induction.induction import Hole, Request
from flowmind.build.induction.program import Block, CallStep, DoWhile, ForEach, If, Slot
from flowmind.build.induction.reading import Reading
from flowmind.build.induction.runs import Run
from flowmind.build.induction.scopes import Candidate, canonical
from flowmind.build.induction.spelling import calls_in, parsed, slots
from flowmind.trace.origins import UNSOURCED, short
from flowmind.workflow.document import Evidence
from tools_registry.specs.spec import ToolSpec

CHOSEN = "several expressions agree with the traces: a person's or a model's answer chose this one"


def evidence(
    emitted: Emitted, request: Request, reading: Reading, close: Mapping[str, int] | None = None
) -> tuple[Evidence, ...]:
    """The steps that show each argument, each condition and the answer, and which of them are guesses.

    Args:
        emitted: The workflow.
        request: That of the search.
        reading: The task's text.
        close: For ids of places the number of other expressions that are about as likely.
    """
    return tuple(
        Evidence(
            node=spot.node,
            field=spot.field,
            steps=spot.slot.steps,
            guess=_guess(spot, request, reading, (close or {}).get(spot.id, 0)),
        )
        for spot in emitted.spots
    )


def _guess(spot: Spot, request: Request, reading: Reading, close: int) -> str:
    """The reason why a part is a guess; empty if it is not."""
    count = len({trace for trace, _ in spot.slot.steps})
    if spot.id in request.chosen:
        return CHOSEN
    if not spot.candidates:
        return "nothing in the traces explains it"
    if spot.kind == "value" and count == 1 and len(request.runs) > 1:
        return "only one trace shows it"
    if (
        spot.kind == "value"
        and count == 1
        and not all(is_named(one, reading) for one in constants_in(spot.candidates[0]))
    ):
        return "one trace alone shows this constant, and the text does not name it"
    return (
        f"{close + 1} {spot.kind if spot.kind == 'condition' else 'expression'}s agree with the traces" if close else ""
    )


def holes(emitted: Emitted) -> tuple[Hole, ...]:
    """The places that nothing explains."""
    return tuple(Hole(spot.id, spot.slot.records) for spot in emitted.spots if not spot.candidates)


def refused(body: Block, request: Request, reading: Reading) -> tuple[str, ...]:
    """A line for each value that a tool which may change something would get, or that decides about its call, and that
    is taken from one trace.

    An argument of such a tool is refused if nothing explains it, or if it has a constant that only one trace shows and
    the text does not name. A constant anywhere before the last such call, or of a test anywhere, is refused if the text
    does not name it and it is an identifier of one trace: a text with a digit that only this trace has.
    """
    writing = {name for name, spec in request.specs.items() if spec.effect != "read"}
    last = max((place for place, step in enumerate(body) if _calls(step, writing)), default=-1)
    lines: dict[str, None] = {}
    for tool, name, slot in _arguments(body):
        if tool in writing:
            for value in _guessed(slot, tool, name, request, reading):
                lines[f"{tool}, {name}: {short(value)} {UNSOURCED}"] = None
    own = [_texts_of_run(run) for run in request.runs]
    before = set(map(id, slots(body[: last + 1])))
    for slot in slots(body):
        for candidate in (*slot.candidates[:1], *slot.omitted[:1]):
            kept = [] if id(slot) in before else constants_in(candidate)
            for value in constants_in(candidate, tests=True):
                if isinstance(value, str) and is_identifier(value) and value not in kept and not reading.names(value):
                    traces = [run.number + 1 for run, texts in zip(request.runs, own, strict=True) if value in texts]
                    if len(traces) == 1:
                        lines[f"{candidate.text}: {short(value)} occurs in trace {traces[0]} only"] = None
    return tuple(lines)


def _calls(step: Any, tools: Collection[str]) -> bool:
    return any(call.tool in tools for call in calls_in((step,)))


def _arguments(block: Block) -> Iterator[tuple[str, str, Slot]]:
    for call in calls_in(block):
        yield from ((call.tool, name, slot) for name, slot in call.args.items())


def _guessed(slot: Slot, tool: str, name: str, request: Request, reading: Reading) -> Iterator[Any]:
    """The values of an argument that are guesses: only one trace passes them to the tool."""
    passed = _passed(slot, name, request)
    if not slot.candidates:
        yield from passed.values()
        return
    for value in constants_in(slot.candidates[0]):
        if not is_named(value, reading):
            having = {trace for (trace, _), whole in passed.items() if _has(whole, value)}
            having |= {run.number + 1 for run in request.runs for call in run.calls if call.tool == tool and (
                canonical(call.args.get(name)) == canonical(value)
            )}  # fmt: skip
            shown = having or {trace for trace, _ in passed}
            if len(shown) == 1:
                yield value


def memorised(spot: Spot, request: Request, reading: Reading) -> Iterator[tuple[Any, str]]:
    """The numbers, and the texts with digits, in a value that come from few traces and that the text does not name.

    A number up to 10 comes from one trace, others from one or two, but not from all. Each is given with an expression
    that has another value in its place.
    """
    if spot.kind == "condition" or not spot.candidates:
        return
    passed = _passed(spot.slot, spot.field.rpartition(".")[2], request)
    tree = parsed(spot.candidates[0].text)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or is_named(node.value, reading) or not _is_data(node.value):
            continue
        value: Any = node.value
        small = isinstance(value, int) and abs(value) <= 10
        few = 1 if small else min(2, len(request.runs) - 1)
        if 1 <= len({trace for (trace, _), whole in passed.items() if _has(whole, value)}) <= few:
            node.value = f"{value}?" if isinstance(value, str) else value + 1
            yield value, ast.unparse(tree)
            node.value = value


def _is_data(value: Any) -> bool:
    return any(map(str.isdigit, value)) if isinstance(value, str) else isinstance(value, int | float)


def _passed(slot: Slot, name: str, request: Request) -> dict[tuple[int, int], Any]:
    """The values of an argument, or of the answer, by trace and step."""
    found = {
        (run.number + 1, call.place + 1): call.args[name]
        for run in request.runs
        for call in run.calls
        if name in call.args
    }
    found |= {(run.number + 1, run.steps + 1): run.answer for run in request.runs if name == "output"}
    return {step: found[step] for step in slot.steps if step in found}


def _has(whole: Any, part: Any) -> bool:
    if canonical(whole) == canonical(part):
        return True
    if isinstance(whole, str) and isinstance(part, str):
        return part in whole
    return any(_has(inner, part) for inner in _parts(whole))


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast(dict[str, Any], value).values())
    return cast(list[Any], value) if isinstance(value, list) else []


def _texts_of_run(run: Run) -> frozenset[str]:
    """The texts in the inputs and results of a run."""
    found: set[str] = set()
    waiting: list[Any] = [run.inputs, *(call.value for call in run.calls)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.add(value)
        waiting += _parts(value)
    return frozenset(found)


def is_named(value: Any, reading: Reading) -> bool:
    """Whether the text names a constant and all its parts, or it is too common to be a guess."""
    if isinstance(value, list | dict):
        return all(is_named(part, reading) for part in _parts(value))
    common = value is None or isinstance(value, bool) or value in (0, 1, "")
    return common or reading.names(value)


def constants_in(candidate: Candidate, tests: bool = False) -> list[Any]:
    """The constants of an expression and of the pure calls before it, without keys, indices and arguments of methods.

    Args:
        candidate: The expression.
        tests: Whether the constants that a comparison reads count too.
    """
    texts = [candidate.text, *(text for call in candidate.before for _, text in call.args)]
    return [value for text in texts for value in _constants(parsed(text), tests)]


def _constants(node: ast.AST, tests: bool) -> Iterator[Any]:
    match node:
        case ast.Constant(value=value):
            yield value
        case ast.Subscript(value=owner):
            yield from _constants(owner, tests)
        case ast.Dict(values=values):
            for part in values:
                yield from _constants(part, tests)
        case ast.Call(func=ast.Attribute(value=owner)):
            yield from _constants(owner, tests)
        case ast.Call(func=ast.Name(id="round"), args=[first, *_]):
            yield from _constants(first, tests)
        case ast.Compare() if not tests:
            pass
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _constants(child, tests)


def effects(specs: Mapping[str, ToolSpec]) -> frozenset[str]:
    """The tools that may change something."""
    return frozenset(name for name, spec in specs.items() if spec.effect != "read")


def outline(block: Block) -> str:
    """A program in a line, without its values: `get_order; if: refund; for each: price`."""
    return "; ".join(filter(None, map(_outlined, block))) or "nothing"


def _outlined(step: Any) -> str:
    match step:
        case CallStep(tool=tool):
            return tool
        case If(then=then, otherwise=otherwise):
            return f"if ({outline(then)}) else ({outline(otherwise)})"
        case ForEach(body=body, source=source):
            over = source.candidates[0].text if source.candidates else "a list"
            return f"for each of {over} ({outline(body)})"
        case DoWhile(body=body):
            return f"repeat ({outline(body)})"
        case _:
            return "answer"
