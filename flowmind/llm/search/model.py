"""`SearchModel`: the `ChatModel` whose thinking is a search, and whose words are the protocol's."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from flowmind.files import dump_json
from flowmind.graph_tools import FINISH, GRAPH_TOOLS
from flowmind.llm.search.constants import constants, entries, named
from flowmind.llm.search.matching import Fit
from flowmind.llm.search.program import Call, Program, Source
from flowmind.llm.search.ranking import best
from flowmind.llm.search.reading import Exchange, Reading, read
from flowmind.llm.search.synthesis import Probe, Question, Search
from flowmind.protocols import ChatRequest, Reply
from tools_registry.schema import json_equal, type_of
from tools_registry.spec import ToolSpec

BUDGET = 60_000
"""Calls that one search may try, about: what it does with less is that share of what it does with all of it."""
Said = tuple[str, str, dict[str, Any]]
"""Reasoning, action, action input."""


class SearchModel:
    """The embedded default. It is no language model, and every table says so.

    Args:
        probe: Tries calls in a sandbox of its own; it is asked only for tools that the conversation offers.
        budget: Calls that one search may try.
    """

    name = "search"

    def __init__(self, probe: Probe, budget: int = BUDGET) -> None:
        self._probe = probe
        self._budget = budget
        self._known: dict[str, Program | None] = {}

    async def complete(self, request: ChatRequest) -> Reply:
        """Answers a conversation in the protocol that it asks for; plain text questions have no answer."""
        if request.reply == "text":
            return Reply(text="The search model answers tasks with examples only.", input_tokens=0, output_tokens=0)
        reading = read(request.messages)
        business = {spec.name: spec for spec in request.tools if spec.name not in GRAPH_TOOLS}
        graph = {spec.name: spec for spec in request.tools if spec.name in GRAPH_TOOLS}
        program = await asyncio.to_thread(self._program, reading, business)
        if request.reply == "plan":
            text = _plan(program, bool(business), bool(graph))
        else:
            reasoning, action, given = _act(reading, program, business, graph)
            text = dump_json({"reasoning": reasoning, "action": action, "action_input": given})
        return Reply(text=text, input_tokens=0, output_tokens=0)

    def _program(self, reading: Reading, business: Mapping[str, ToolSpec]) -> Program | None:
        key = f"{','.join(business)}\n{reading.opening}"
        if key not in self._known:
            self._known[key] = self._from_trace(reading) if reading.trace else self._from_examples(reading, business)
        return self._known[key]

    def _from_examples(self, reading: Reading, business: Mapping[str, ToolSpec]) -> Program | None:
        if not reading.examples or reading.working is None or not business:
            return None
        search = Search(question(reading, business, self._budget / BUDGET), self._probe)
        search.run()
        return best(search)

    def _from_trace(self, reading: Reading) -> Program | None:
        """The program of a trace: each argument comes from a value that equals it.

        Where several do, those that give the other examples too are taken.
        """
        given = reading.traced
        if given is None:
            return None
        first: Program | None = None
        for program in itertools.islice(_readings(reading, given), _READINGS):
            first = first or program
            if all(json_equal(self._run(program, case), wanted) for case, wanted in reading.examples):
                return program
        return first

    def _run(self, program: Program, given: dict[str, Any]) -> Any:
        """The answer of a program on an input; None where a call fails."""
        results: list[Any] = []
        for call in program.calls:
            try:
                args = {name: _resolve(source, program, given, results) for name, source in call.args}
            except (KeyError, TypeError):
                return None
            ((value, error),) = self._probe([(call.tool, args)])
            if error is not None:
                return None
            results.append(value)
        try:
            return _resolve(program.answer, program, given, results)
        except (KeyError, TypeError):
            return None


def question(reading: Reading, business: Mapping[str, ToolSpec], effort: float) -> Question:
    """What a search for a task has to find, from what a conversation says."""
    assert reading.working is not None
    cases = [*(given for given, _ in reading.examples), reading.working]
    outputs = [wanted for _, wanted in reading.examples]
    query = reading.text.split("\n\nInputs:")[0]
    said = named(query, entries(cases))
    return Question(
        specs=business,
        cases=cases,
        outputs=outputs,
        constants=constants(reading.text, cases, outputs, said),
        named=said,
        fit=Fit(query, business),
        effort=effort * _share(len(business)),
    )


_FEW_TOOLS = 6
"""With fewer tools there are fewer sequences to try."""
_MANY_TOOLS = 10
"""With more tools the effort shrinks by their cube: it would cover next to nothing of the sequences of three or
four calls."""


def _share(tools: int) -> float:
    """The share of the usual effort for a number of tools."""
    return min(1.0, tools / _FEW_TOOLS) ** 2 * min(1.0, _MANY_TOOLS / max(1, tools)) ** 3


_READINGS = 64
"""Ways to read a trace that are tried on the other examples."""


def _readings(reading: Reading, given: dict[str, Any]) -> Iterator[Program]:
    """The programs that a trace can stand for, the likeliest first."""
    cases = [case for case, _ in reading.examples]
    said = [part.value for part in named(reading.text.split("\n\nInputs:")[0], entries(cases))]

    def build(index: int, calls: tuple[Call, ...]) -> Iterator[Program]:
        if index == len(reading.trace):
            for answer in _answers(reading, given, calls):
                yield Program(calls, answer)
            return
        exchange = reading.trace[index]
        choices = [_origins(value, given, reading.trace, calls, said) for value in exchange.args.values()]
        for chosen in itertools.product(*choices):
            call = Call(exchange.tool, tuple(zip(exchange.args, chosen, strict=True)))
            yield from build(index + 1, (*calls, call))

    return build(0, ())


def _answers(reading: Reading, given: dict[str, Any], calls: tuple[Call, ...]) -> list[Source]:
    """Where the answer of a trace comes from: a result, or an object of results and inputs."""
    whole = [source for source in _origins(reading.answer, given, reading.trace, calls, []) if source.kind == "call"]
    answer = reading.answer
    if whole or not isinstance(answer, dict):
        return whole
    fields = cast(dict[str, Any], answer)
    choices = [_origins(value, given, reading.trace, calls, [])[:2] for value in fields.values()]
    return [Source("object", fields=tuple(zip(fields, chosen, strict=True))) for chosen in itertools.product(*choices)]


def _origins(
    value: Any, given: dict[str, Any], trace: Sequence[Exchange], calls: Sequence[Call], named: Sequence[Any]
) -> list[Source]:
    """Where a value of a trace can come from: the latest results first, then inputs, then the text.

    A number that the text names is likelier a constant than an input that happens to equal it.
    """
    found = [
        Source("call", call=call, path=path)
        for call, exchange in reversed(list(zip(calls, trace, strict=False)))
        for path, part in _parts(exchange.value)
        if json_equal(part, value)
    ]
    inputs = [
        Source("input", name, path=path)
        for name, whole in given.items()
        for path, part in _parts(whole)
        if json_equal(part, value)
    ]
    kind = type_of(value)
    if kind is list and not found and 1 < len(value) <= 4:
        parts = [_origins(part, given, trace, calls, named)[0] for part in value]
        if any(part.kind == "call" for part in parts):
            found = [Source("list", fields=tuple((str(at), part) for at, part in enumerate(parts)))]
    if kind is dict and not found and 0 < len(value) <= 4:
        fields = {name: _origins(part, given, trace, calls, named)[0] for name, part in value.items()}
        if any(part.kind == "call" for part in fields.values()):
            found = [Source("object", fields=tuple(fields.items()))]
    constant = [Source("constant", value=value)]
    said = kind in (int, float) and any(json_equal(value, part) for part in named)
    return [*found, *constant, *inputs] if said else [*found, *inputs, *constant]


def _parts(value: Any) -> list[tuple[tuple[str, ...], Any]]:
    """A value, and the fields of an object."""
    if not isinstance(value, dict):
        return [((), value)]
    fields = cast(dict[str, Any], value)
    return [((), fields), *(((name,), part) for name, part in fields.items())]


def _plan(program: Program | None, acts: bool, builds: bool) -> str:
    if program is None:
        return dump_json({"analysis": "No sequence of calls was found.", "steps": ["Give up."]})
    steps = [f"Call {call.tool} on {', '.join(_words(source) for _, source in call.args)}." for call in program.calls]
    build = [f"Add a node for {call.tool}." for call in program.calls]
    analysis = f"A sequence of {len(program.calls)} calls gives every example."
    if acts and builds:
        return dump_json({"analysis": analysis, "steps": [*steps, "Build the workflow and give the answer."]})
    return dump_json({"analysis": analysis, "steps": steps if acts else [*build, "End with the last result."]})


def _words(source: Source) -> str:
    path = "".join(f".{part}" for part in source.path)
    if source.kind == "constant":
        return dump_json(source.value)
    if source.kind in ("list", "object"):
        return " and ".join(_words(part) for _, part in source.fields)
    return f"the input {source.name}{path}" if source.kind == "input" else f"the result of {_tool(source)}{path}"


def _tool(source: Source) -> str:
    return source.call.tool if source.call else ""


def _act(
    reading: Reading, program: Program | None, business: Mapping[str, ToolSpec], graph: Mapping[str, ToolSpec]
) -> Said:
    """The next action: the business calls first, then the graph, then the end."""
    done = [exchange for exchange in reading.exchanges if exchange.ok]
    results = [exchange.value for exchange in done if exchange.tool in business]
    built = sum(1 for exchange in done if exchange.tool in graph)
    if program is None:
        return _give_up(reading, business, graph)
    if business and len(results) < len(program.calls):
        if reading.phase and reading.phase[0] <= len(results):
            return "This step is done.", FINISH, {"answer": results[-1]}
        call = program.calls[len(results)]
        args = {name: _resolve(source, program, reading.working or {}, results) for name, source in call.args}
        return (
            f"Step {len(results) + 1} of {len(program.calls)} of the sequence that was found.",
            call.tool,
            args,
        )
    if business and reading.phase and reading.phase[0] < reading.phase[1]:
        return "This step is done.", FINISH, {"answer": results[-1]}
    if graph and built < len(program.calls) + 1:
        return _edit(program, built)
    if not business:
        return "The graph is complete.", FINISH, {}
    return (
        "All calls are done.",
        FINISH,
        {"answer": _resolve(program.answer, program, reading.working or {}, results)},
    )


def _give_up(reading: Reading, business: Mapping[str, ToolSpec], graph: Mapping[str, ToolSpec]) -> Said:
    if business:
        return "No sequence of calls was found that gives the examples.", FINISH, {"answer": None}
    return "There is no finished trace to build from.", FINISH, {}


def _resolve(source: Source, program: Program, given: dict[str, Any], results: list[Any]) -> Any:
    match source.kind:
        case "constant":
            return source.value
        case "input":
            value = given[source.name]
        case "object":
            return {name: _resolve(part, program, given, results) for name, part in source.fields}
        case "list":
            return [_resolve(part, program, given, results) for _, part in source.fields]
        case _:
            assert source.call is not None
            value = results[program.calls.index(source.call)]
    for part in source.path:
        value = value[part]
    return value


def _edit(program: Program, built: int) -> Said:
    """The graph tool call that adds the next node."""
    if built == len(program.calls):
        given = {"output": _binding(program.answer, program), "after": f"n{built}"}
        return "The last result is the answer.", "add_end_node", given
    call = program.calls[built]
    args = {name: _binding(source, program) for name, source in call.args}
    after = f"n{built}" if built else "start"
    given = {"tool": call.tool, "args": args, "output": f"r{built + 1}", "after": after}
    return f"Call {built + 1} of the trace.", "add_function_node", given


def _binding(source: Source, program: Program) -> dict[str, Any]:
    match source.kind:
        case "constant":
            return {"value": source.value}
        case "object":
            return {"object": {name: _binding(part, program) for name, part in source.fields}}
        case "list":
            return {"list": [_binding(part, program) for _, part in source.fields]}
        case "input":
            name = source.name
        case _:
            assert source.call is not None
            name = f"r{program.calls.index(source.call) + 1}"
    return {"var": name, "path": list(source.path)} if source.path else {"var": name}
