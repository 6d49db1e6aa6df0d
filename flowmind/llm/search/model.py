"""`SearchModel`: the `ChatModel` whose thinking is a search, and whose words are the protocol's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from flowmind.base.files import dump_json
from flowmind.llm.search.program import Program, Source, resolve
from flowmind.llm.search.reading import Reading, read
from flowmind.protocols import ChatRequest, Reply
from flowmind.workflow.graph_tools import FINISH, GRAPH_TOOLS
from tools_registry.specs.spec import ToolSpec

Said = tuple[str, str, dict[str, Any]]
"""Reasoning, action, action input."""


class Thinks(Protocol):
    """Where the thinking is done: `Thinker` or `Thinkers`. It is called from several threads."""

    def program(self, reading: Reading, business: Mapping[str, ToolSpec]) -> Program | None:
        """The program for what a conversation says, with the tools that it offers; None if none was found."""
        ...


class SearchModel:
    """The embedded default. It is no language model, and every table says so.

    Args:
        thinker: Thinks, in a sandbox of its own.
    """

    name = "search"

    def __init__(self, thinker: Thinks) -> None:
        self._thinker = thinker
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
            self._known[key] = self._thinker.program(reading, business)
        return self._known[key]


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
        args = {name: resolve(source, program, reading.working or {}, results) for name, source in call.args}
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
        {"answer": resolve(program.answer, program, reading.working or {}, results)},
    )


def _give_up(reading: Reading, business: Mapping[str, ToolSpec], graph: Mapping[str, ToolSpec]) -> Said:
    if business:
        return "No sequence of calls was found that gives the examples.", FINISH, {"answer": None}
    return "There is no finished trace to build from.", FINISH, {}


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
