"""`SearchModel`: the `ChatModel` that finds its answers by search."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from flowmind.base.files import dump_json
from flowmind.llm.search.program import Program, Source, resolve
from flowmind.llm.search.trials import LOOP
from flowmind.protocols import Brief, ChatRequest, Episode, Reply
from flowmind.trace.events import Called
from flowmind.trace.references import escape
from flowmind.workflow.graph_tools import FINISH, GRAPH_TOOLS
from tools_registry.specs.spec import ToolSpec, untried_line

ActionFields = tuple[str, str, dict[str, Any]]
"""Reasoning, action, action input."""


class Thinks(Protocol):
    """Finds programs: `Thinker` or `Thinkers`. It is called from several threads."""

    def program(self, brief: Brief, business: Mapping[str, ToolSpec]) -> Program | None:
        """The program for a brief, with the business tools of the request; None if none was found."""
        ...


class SearchModel:
    """The embedded default model. It is not a language model, and every table says so.

    It reads the `episode` of a request and never its messages.

    Args:
        thinker: Finds programs, in a sandbox of its own.
    """

    name = "search"

    def __init__(self, thinker: Thinks) -> None:
        self._thinker = thinker
        self._known: dict[str, Program | None] = {}

    async def complete(self, request: ChatRequest) -> Reply:
        """Answers in the form that the request asks for; a request without an episode gets one line of text."""
        episode = request.episode
        if episode is not None and episode.among and request.reply == "text":
            return Reply(text="", input_tokens=0, output_tokens=0)  # it has no thought about a step
        if episode is None or request.reply == "text":
            return Reply(text="The search model answers tasks with examples only.", input_tokens=0, output_tokens=0)
        business = {spec.name: spec for spec in request.tools if spec.name not in GRAPH_TOOLS}
        graph = {spec.name: spec for spec in request.tools if spec.name in GRAPH_TOOLS}
        LOOP.set(asyncio.get_running_loop())
        every = {spec.name: spec for spec in episode.among} or business
        program = await asyncio.to_thread(self._program, episode.brief, every)
        first = not episode.events and not episode.plan
        note = _note(business) if first else ""
        if request.reply == "plan":
            text = _plan(program, bool(business), bool(graph), note)
        else:
            step = _step(episode, program, business) if episode.among else None
            reasoning, action, args = step or _act(episode, program, business, graph)
            args = escape(args) if episode.brief.references else args
            text = dump_json({"reasoning": reasoning + note, "action": action, "action_input": args})
        return Reply(text=text, input_tokens=0, output_tokens=0)

    async def aclose(self) -> None:
        """Does nothing: there is no connection."""

    def _program(self, brief: Brief, business: Mapping[str, ToolSpec]) -> Program | None:
        question = brief.model_dump_json(exclude={"stage", "task", "references", "must_build"})
        key = "\n".join([question, *(spec.model_dump_json() for spec in business.values())])
        if key not in self._known:
            self._known[key] = self._thinker.program(brief, business)
        return self._known[key]


def _note(business: Mapping[str, ToolSpec]) -> str:
    """The tools that were not tried, as a sentence at the end of the first reply of a stage."""
    line = untried_line(business)
    return f" {line[0].upper()}{line[1:]}." if line else ""


def _plan(program: Program | None, acts: bool, builds: bool, note: str = "") -> str:
    """A plan with a step for each call to make (`acts`), or for each node to add (`builds`)."""
    if program is None:
        return dump_json({"analysis": f"No sequence of calls was found.{note}", "steps": ["Give up."]})
    steps = [f"Call {call.tool} on {', '.join(_words(source) for _, source in call.args)}." for call in program.calls]
    build = [f"Add a node for {call.tool}." for call in program.calls]
    analysis = f"A sequence of {len(program.calls)} calls gives every example.{note}"
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
    episode: Episode, program: Program | None, business: Mapping[str, ToolSpec], graph: Mapping[str, ToolSpec]
) -> ActionFields:
    """The next action: the business calls first, then the graph, then the end."""
    if program is None:
        return _give_up(business)
    done = [event for event in episode.events if isinstance(event, Called) and event.observation.ok]
    results = [event.observation.value for event in done if event.call.tool in business]
    built = sum(1 for event in done if event.call.tool in graph)
    if business and len(results) < len(program.calls):
        if episode.plan and episode.phase < len(results):
            return "This step is done.", FINISH, {"answer": results[-1]}
        call = program.calls[len(results)]
        args = {name: resolve(source, program, episode.brief.inputs, results) for name, source in call.args}
        return f"Step {len(results) + 1} of {len(program.calls)} of the sequence that was found.", call.tool, args
    if business and episode.phase + 1 < len(episode.plan):
        return "This step is done.", FINISH, {"answer": results[-1]}
    if graph and built < len(program.calls) + 1:
        return _edit(program, built)
    if not business:
        return "The graph is complete.", FINISH, {}
    answer = resolve(program.answer, program, episode.brief.inputs, results)
    return "All calls are done.", FINISH, {"answer": answer}


def _step(episode: Episode, program: Program | None, offered: Mapping[str, ToolSpec]) -> ActionFields:
    """The call of the tool that is offered for a step, or the answer if none is.

    The first call of the program that uses the tool and has not been made. Calls may have been made in another order.
    """
    if program is None:
        return _give_up(offered)
    results: dict[int, Any] = {}
    todo = [*range(len(program.calls))]
    for event in episode.events:
        if isinstance(event, Called) and event.observation.ok:
            made = next((place for place in todo if program.calls[place].tool == event.call.tool), None)
            if made is not None:
                results[made] = event.observation.value
                todo.remove(made)
    try:
        if not offered:
            answer = None if todo else resolve(program.answer, program, episode.brief.inputs, results)
            return "All steps are done.", FINISH, {"answer": answer}
        place = next(place for place in todo if program.calls[place].tool in offered)
        call = program.calls[place]
        args = {name: resolve(source, program, episode.brief.inputs, results) for name, source in call.args}
        return f"Call {place + 1} of {len(program.calls)} of the sequence that was found.", call.tool, args
    except (StopIteration, KeyError, TypeError):
        return "The sequence that was found has no such call now.", FINISH, {"answer": None}


def _give_up(business: Mapping[str, ToolSpec]) -> ActionFields:
    if business:
        return "No sequence of calls was found that gives the examples.", FINISH, {"answer": None}
    return "There is no finished trace to build from.", FINISH, {}


def _edit(program: Program, built: int) -> ActionFields:
    """The graph tool call that adds the next node, after `built` successful ones."""
    if built == len(program.calls):
        args = {"output": _binding(program.answer, program), "after": f"n{built}"}
        return "The last result is the answer.", "add_end_node", args
    call = program.calls[built]
    args = {name: _binding(source, program) for name, source in call.args}
    after = f"n{built}" if built else "start"
    node = {"tool": call.tool, "args": args, "output": f"r{built + 1}", "after": after}
    return f"Call {built + 1} of the trace.", "add_function_node", node


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
