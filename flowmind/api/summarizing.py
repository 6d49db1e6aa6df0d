"""`summarize`: traces of any agent → a workflow, with the evidence for each of its parts.

    from flowmind import summarize

    result = summarize("traces.jsonl", tools=[...])
    print(result.report())
    result.workflow({...})

No model is asked unless one is passed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from flowmind.api.runnable import RunnableWorkflow, Tool, environment_of, require_distinct, tool_list, wait_for
from flowmind.base.errors import InputError, InvalidWorkflow
from flowmind.base.files import dump_json, write_text
from flowmind.build.building import Built, build
from flowmind.build.settings import Settings
from flowmind.formats.openai_messages import read_trace, read_traces
from flowmind.formats.tool_schema import specs_of_openai_tools, specs_of_traces
from flowmind.llm.choosing import close, model_named
from flowmind.protocols import ChatModel
from flowmind.run.running import arun, needs_waiting, run_batch
from flowmind.trace.events import Called, Trace
from flowmind.trace.origins import unexplained
from flowmind.trace.recorded import Recorded
from flowmind.trace.task import Example, ExampleLike, make_task, name_of
from flowmind.workflow.document import Assign, Binding, Condition, End, Evidence, ToolNode, Var, Workflow, show_binding
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.schema import JSONSchema, json_equal
from tools_registry.specs.spec import ToolCall, ToolSpec

TraceLike = Trace | Sequence[Mapping[str, Any]] | Mapping[str, Any]
"""A trace; the messages of a conversation; or an object with `messages` and optionally `inputs` and `answer`."""
Definition = ToolSpec | Mapping[str, Any]
Described = Tool | Definition
"""A tool, or the description of one: a spec, or a definition in the form of OpenAI, Anthropic or MCP."""
Checked = Literal["run", "recorded"]

ROUNDS = 1
"""Rounds of repair. No more traces can be made, so a second round would change nothing."""
_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_SHOWN = 100
_ENTRY = {"messages", "events", "steps", "stop"}
"""Keys of an entry with a trace or a conversation; a mapping without them is a message."""


@dataclass(frozen=True, repr=False)
class Summarized:
    """The result of `summarize`. Traces are numbered from 1, in their order."""

    name: str
    total: int
    """The number of traces."""
    reproduced: tuple[int, ...]
    """The traces whose answers the workflow gives for their inputs."""
    checked: Checked
    """`run`: the workflow was checked with its tools; `recorded`: on the recorded results, because tools write or were
    not passed."""
    questions: tuple[str, ...] = ()
    """Questions that the traces do not answer."""
    guesses: tuple[str, ...] = ()
    """Parts of the workflow with weak evidence, and values that come from no input and no tool result."""
    missed: tuple[str, ...] = ()
    """The traces and examples that the workflow does not reproduce, with what it gives instead."""
    notes: tuple[str, ...] = ()
    """Notes on traces that were ignored and checks that were not made."""
    problem: str = ""
    """The reason if there is no workflow, else empty."""
    _parts: tuple[Workflow, Environment | None, ChatModel | None] | None = None
    """The workflow, the environment with its tools if they can be called, and the model of `llm` nodes."""

    def __repr__(self) -> str:
        if self._parts is None:
            return f"<Summarized: {self.problem}>"
        inputs = ", ".join(self.document.input_names)
        open_points = f"{len(self.guesses)} guesses, {len(self.questions)} questions"
        reproduced = f"{len(self.reproduced)} of {self.total} traces reproduced"
        return f"<Summarized {self.name}({inputs}): {reproduced}; {open_points}>"

    @property
    def ok(self) -> bool:
        """Whether there is a sound workflow."""
        return self._parts is not None

    @property
    def document(self) -> Workflow:
        """The workflow.

        Raises:
            InvalidWorkflow: If there is no sound workflow; the message says why.
        """
        if self._parts is None:
            raise InvalidWorkflow(self.problem)
        return self._parts[0]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The calls that show each argument, each condition and the answer. The document has them too."""
        return self._parts[0].evidence if self._parts else ()

    @property
    def workflow(self) -> RunnableWorkflow:
        """The workflow, ready to be called.

        Raises:
            InvalidWorkflow: If there is no sound workflow, or its tools cannot be called.
        """
        document = self.document
        if self._parts is None or self._parts[1] is None:
            raise InvalidWorkflow(
                f"{self.name}: its tools were not passed; save it, and load it with them by RunnableWorkflow.load"
            )
        return RunnableWorkflow(document, self._parts[1], self._parts[2])

    def save(self, path: str | Path) -> None:
        """Writes the workflow's document with its evidence.

        Raises:
            InvalidWorkflow: If there is no sound workflow.
        """
        write_text(Path(path), self.document.to_json())

    def report(self) -> str:
        """Evidence, guesses, open questions and the result of the check, a line each."""
        how = "its tools were run" if self.checked == "run" else "on the recorded results"
        lines = [
            f"evidence: {_part(self.document, part)}: {len({trace for trace, _ in part.steps})} of {self.total} traces"
            for part in self.evidence
            if not part.guess
        ]
        lines += [f"guess: {line}" for line in self.guesses]
        lines += [f"question: {line}" for line in self.questions]
        lines += [f"missed: {line}" for line in self.missed]
        lines += [f"note: {line}" for line in self.notes]
        return "\n".join([*lines, f"checked: {len(self.reproduced)} of {self.total} traces give their answers ({how})"])


def summarize(
    traces: Sequence[TraceLike] | Trace | str | Path,
    tools: Described | Sequence[Described] | Mapping[str, Any] | None = None,
    *,
    query: str = "",
    inputs: JSONSchema | None = None,
    examples: Sequence[ExampleLike] = (),
    name: str = "",
    model: str | ChatModel | None = None,
    environment: Environment | None = None,
) -> Summarized:
    """Turns traces of one task into a workflow. No model is asked unless one is passed.

    The workflow is checked on the traces: for the inputs of each it must give the answer. Tools that write
    (`effect="write"`) and tools that are not passed are not called: the check uses their recorded results. A workflow
    that leaves out a recorded call of a tool that writes does not reproduce the trace.

    Args:
        traces: Traces, or conversations with their inputs (`{"inputs": {...}, "messages": [...]}`); or a file of them,
            see `flowmind.formats.openai_messages.read_traces`.
        tools: The tools: one, a list or a dict by name. Functions and tool sources are run for the check. Specs and
            definitions in the form of OpenAI, Anthropic or MCP only describe the tools. By default the specs are
            inferred from the traces.
        query: The task in words. It ranks constants and conditions.
        inputs: JSON Schema of the inputs; by default it is inferred from the traces.
        examples: More pairs of input and answer for the check, if the tools may be run.
        name: The name of the workflow; by default it is made from the query and the tools.
        model: The model that decides conditions that the traces leave open: a name or any `ChatModel`.
        environment: The environment that calls the tools, instead of `tools`.

    Raises:
        InputError: If the traces cannot be read, none has an answer, several have no inputs, they call a tool that was
            not passed, or the name of an input cannot be a variable.
        ModelUnavailable: If the named model cannot be reached.
    """
    read = read_traces(Path(traces)) if isinstance(traces, str | Path) else _traces(traces)
    return wait_for(_summarized(read, tools, environment, query, inputs, examples, name, model))


async def _summarized(
    traces: Sequence[Trace],
    tools: Any,
    environment: Environment | None,
    query: str,
    inputs: JSONSchema | None,
    examples: Sequence[ExampleLike],
    name: str,
    model: str | ChatModel | None,
) -> Summarized:
    kept, notes = _usable(traces)
    toolbox = _toolbox(traces, tools, environment)
    name = name or name_of(query, dict.fromkeys(call.call.tool for number in kept for call in traces[number].calls))
    from_traces = [Example(input=traces[number].inputs, output=traces[number].answer) for number in kept]
    more: list[Example] = []
    if examples and toolbox.runs:
        more = list(make_task(query, examples, inputs).examples)
    elif examples:
        notes.append(f"the examples were not tried: {toolbox.reason}")
    task = make_task(query, [*from_traces, *more], inputs, name)
    chosen = model_named(model, toolbox.trial) if isinstance(model, str) else model
    try:
        built = await build(
            [traces[number] for number in kept],
            toolbox.trial,
            "induction" if chosen is None else "guided",
            task=task,
            settings=Settings(mode="induction", verify=ROUNDS),
            model=chosen,
        )
    finally:
        if chosen is not None:
            await close(chosen)
    if not toolbox.runs:
        notes.append(f"no tool was run: {toolbox.reason}")
    return await _Findings(traces, kept, toolbox, built, notes).result(name, more, chosen)


def _traces(traces: Any) -> list[Trace]:
    """The traces of objects in any of their forms."""
    entries: list[Any] = [traces] if isinstance(traces, Trace | Mapping) else [*traces]
    if entries and isinstance(entries[0], Mapping) and not _ENTRY & cast(Mapping[str, Any], entries[0]).keys():
        entries = [entries]
    read: list[Trace] = []
    for number, entry in enumerate(entries, 1):
        try:
            plain = dict(cast(Mapping[str, Any], entry)) if isinstance(entry, Mapping) else entry
            read.append(entry if isinstance(entry, Trace) else read_trace(plain))
        except (InputError, ValueError) as error:
            raise InputError(f"trace {number}: {error}") from None
    if not read:
        raise InputError("give at least one trace")
    return read


def _usable(traces: Sequence[Trace]) -> tuple[list[int], list[str]]:
    """The indices of the traces that a workflow can come from, and notes on the others.

    Raises:
        InputError: If there is none, several have no inputs, or the name of an input cannot be a variable.
    """
    kept: list[int] = []
    notes: list[str] = []
    seen: dict[str, int] = {}
    for number, trace in enumerate(traces):
        key = json.dumps(trace.inputs, sort_keys=True)
        if not trace.executed:
            notes.append(f"trace {number + 1} is left out: it has no answer (it ended by {trace.stop!r})")
        elif key not in seen:
            seen[key] = number
            kept.append(number)
        elif not trace.inputs:
            raise InputError(
                f"traces {seen[key] + 1} and {number + 1} have no inputs; give the inputs beside the "
                'messages: {"inputs": {"n": 1}, "messages": [...]}'
            )
        elif not json_equal(traces[seen[key]].answer, trace.answer):
            notes.append(
                f"trace {number + 1} is left out: it has the inputs of trace {seen[key] + 1}, and another answer"
            )
        else:
            notes.append(f"trace {number + 1} is left out: it has the inputs and the answer of trace {seen[key] + 1}")
    if not kept:
        raise InputError(
            f"none of the {len(traces)} traces has an answer; give conversations that end with the assistant's answer"
        )
    for number in kept:
        for key in traces[number].inputs:
            if not _VARIABLE.fullmatch(key):
                raise InputError(f"trace {number + 1}: input {key!r} cannot be a variable; rename it to letters and _")
    return kept, notes


@dataclass(frozen=True)
class _Toolbox:
    """The tools of a workflow."""

    trial: Environment
    """The environment of the check."""
    own: Environment | None
    """The environment of the finished workflow, if its tools can be called."""
    reason: str = ""
    """Why the check uses recorded results; empty if it runs the tools."""

    @property
    def runs(self) -> bool:
        """Whether the check runs the tools."""
        return not self.reason


def _toolbox(traces: Sequence[Trace], tools: Any, environment: Environment | None) -> _Toolbox:
    called = {step.call.tool for trace in traces for step in trace.calls if step.observation.ok} - set(GRAPH_TOOLS)
    specs: Mapping[str, ToolSpec]
    own, effects_known = environment, True
    if own is None and tools:
        listed = [_definition(tool) for tool in ([tools] if _is_definition(tools) else tool_list(tools))]
        described = [cast(Definition, tool) for tool in listed if isinstance(tool, ToolSpec | Mapping)]
        if described and len(described) < len(listed):
            raise InputError("tools: give either tools that can be run or descriptions of tools, not both")
        specs, effects_known = _specs(described) if described else ({}, True)
        own = None if described else environment_of(listed)
    else:
        specs = {name: spec for name, spec in specs_of_traces(traces).items() if name not in GRAPH_TOOLS}
        effects_known = own is not None
    specs = specs if own is None else own.specs
    if missing := sorted(called - specs.keys()):
        raise InputError(f"the traces call {missing[0]!r}, which is not among the tools: {', '.join(specs) or 'none'}")
    writing = sorted(name for name in called if specs[name].effect == "write")
    if own is not None and not writing:
        return _Toolbox(own, own)
    reason = f"{', '.join(writing)} would change something" if own is not None else "the tools were not passed"
    executed = [trace for trace in traces if trace.executed]
    return _Toolbox(Recorded(specs, executed, writing if effects_known else ()), own, reason)


def _is_definition(tools: Any) -> bool:
    """Whether a mapping is the definition of one tool and not a dict of tools by name."""
    return isinstance(tools, Mapping) and any(
        isinstance(cast(Mapping[str, Any], tools).get(key), str) for key in ("name", "type")
    )


def _definition(tool: Any) -> Any:
    """A tool object of MCP without a function as its definition; other tools unchanged."""
    described = any(isinstance(getattr(tool, key, None), Mapping) for key in ("inputSchema", "input_schema"))
    return tool.model_dump(by_alias=True) if described and hasattr(tool, "model_dump") else tool


def _specs(described: Sequence[Definition]) -> tuple[dict[str, ToolSpec], bool]:
    """The specs by name, and whether their effects are known: definitions do not state them."""
    defined = specs_of_openai_tools([tool for tool in described if isinstance(tool, Mapping)])
    specs = [*(spec for spec in described if isinstance(spec, ToolSpec)), *defined.values()]
    require_distinct([spec.name for spec in specs])
    return {spec.name: spec for spec in specs}, not defined


@dataclass(frozen=True)
class _Findings:
    """The result of a build, described for the user."""

    traces: Sequence[Trace]
    kept: Sequence[int]
    """The indices of the traces that the workflow comes from."""
    toolbox: _Toolbox
    built: Built
    notes: Sequence[str]

    async def result(self, name: str, examples: Sequence[Example], model: ChatModel | None) -> Summarized:
        workflow = None if self.built.problems else self.built.workflow
        checked: Checked = "run" if self.toolbox.runs else "recorded"
        unexplained_values = tuple(self._unexplained())
        if workflow is None:
            refusals = self.built.derivation.open if self.built.derivation else ()
            guesses = (*refusals, *unexplained_values)
            reasons = f": {'; '.join(guesses[:3])}" if guesses else ""
            problem = f"{name}: no sound workflow gives these traces{reasons}"
            return Summarized(
                name, len(self.traces), (), checked, guesses=guesses, notes=(*self.notes,), problem=problem
            )
        workflow = workflow.model_copy(update={"evidence": tuple(map(self._renumbered, workflow.evidence))})
        chosen = [self.traces[number] for number in self.kept]
        runs = await _run(workflow, [trace.inputs for trace in chosen], self.toolbox.trial)
        example_runs = await _run(workflow, [example.input for example in examples], self.toolbox.trial)
        differences = [_difference(run, trace.answer) for run, trace in zip(runs, chosen, strict=True)]
        missed = [f"trace {number + 1}: {line}" for number, line in zip(self.kept, differences, strict=True) if line]
        for number, (example, run) in enumerate(zip(examples, example_runs, strict=True), 1):
            if line := _difference(run, example.output):
                missed.append(f"example {number}: {line}")
        return Summarized(
            name=name,
            total=len(self.traces),
            reproduced=tuple(number + 1 for number, line in zip(self.kept, differences, strict=True) if not line),
            checked=checked,
            questions=self.built.derivation.open if self.built.derivation else (),
            guesses=(*self._guesses(workflow), *unexplained_values),
            missed=tuple(missed),
            notes=(*self.notes, *self._left_out(runs)),
            _parts=(workflow, self.toolbox.own, model),
        )

    def _renumbered(self, evidence: Evidence) -> Evidence:
        """Evidence with the numbers of all traces instead of those that the workflow comes from."""
        steps = tuple((self.kept[trace - 1] + 1, step) for trace, step in evidence.steps if trace <= len(self.kept))
        return evidence.model_copy(update={"steps": steps})

    def _guesses(self, workflow: Workflow) -> Iterator[str]:
        yield from (f"{_part(workflow, part)}: {part.guess}" for part in workflow.evidence if part.guess)
        if self.built.derivation is not None:
            for line in self.built.derivation.leaked:
                yield f"{line} is used as a constant, but is an input of a trace"
            for line in self.built.derivation.idle if self.toolbox.runs else ():
                yield f"input {line} never changes the answer"

    def _unexplained(self) -> Iterator[str]:
        """The values that come from no input and no tool result."""
        for number, trace in zip(self.kept, self.built.traces, strict=False):
            yield from (f"trace {number + 1}: {line}" for line in unexplained(trace))

    def _left_out(self, runs: Sequence[Trace]) -> Iterator[str]:
        """Notes on the recorded calls that the workflow does not make."""
        for number, run in zip(self.kept, runs, strict=True):
            calls = [step.call for step in self.traces[number].calls if step.observation.ok]
            for made in run.calls:
                place = next((place for place, call in enumerate(calls) if _same_call(call, made)), None)
                if place is not None:
                    calls.pop(place)
            if run.error is None and calls:
                more = f", and {len(calls) - 1} more" if len(calls) > 1 else ""
                call = _short(f"{calls[0].tool}({dump_json(calls[0].args)})")
                yield f"trace {number + 1}: the workflow does not make the call {call}{more}"


async def _run(workflow: Workflow, cases: Sequence[dict[str, Any]], environment: Environment) -> list[Trace]:
    if needs_waiting(workflow, environment):
        return [await arun(workflow, case, environment) for case in cases]
    return run_batch(workflow, cases, environment)


def _difference(run: Trace, answer: Any) -> str:
    """How a run differs from the right answer; empty if it gives the answer."""
    if run.error is not None:
        return f"it ends in {run.error.type}: {run.error.message}"
    return "" if json_equal(run.answer, answer) else f"it gives {_short(run.answer)}, right is {_short(answer)}"


def _same_call(call: ToolCall, made: Called) -> bool:
    return call.tool == made.call.tool and json_equal(call.args, made.call.args)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else dump_json(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _part(workflow: Workflow, part: Evidence) -> str:
    """A part of a workflow, for a reader."""
    match workflow.by_id.get(part.node):
        case ToolNode(args=args) if part.field in args:
            return f"{part.node}.{part.field} = {_short(_source(workflow, args[part.field]))}"
        case Condition(expr=expr):
            return f"{part.node}: {_short(expr)}"
        case End(output=output):
            return f"the answer = {_short(_source(workflow, output))}"
        case _:
            return f"{part.node}.{part.field}"


def _source(workflow: Workflow, binding: Binding) -> str:
    """A binding, for a reader; a variable that nodes set is replaced by their results and expressions."""
    if not isinstance(binding, Var) or binding.path or binding.var in workflow.bound_inputs:
        return show_binding(binding)
    sources: list[str] = []
    for node in workflow.nodes:
        if getattr(node, "output", None) != binding.var:
            continue
        if isinstance(node, Assign):
            sources.append(node.expr or (show_binding(node.value) if node.value else ""))
        else:
            sources.append(f"the result of {node.id}")
    return " or ".join(dict.fromkeys(filter(None, sources))) or binding.var
