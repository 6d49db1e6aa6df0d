"""`summarize`: traces that one has already → a workflow, with what in it is evidence and what is a guess.

    from flowmind import summarize

    found = summarize("traces.jsonl", tools=[...])
    print(found.report())
    found.workflow({...})

Nothing of it asks a model, unless one is given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from flowmind.api.runnable import RunnableWorkflow
from flowmind.api.tasks import Shown, make_task
from flowmind.api.tools import Tool, environment_of
from flowmind.base.errors import InputError, InvalidWorkflow
from flowmind.base.files import dump_json, write_text
from flowmind.base.waiting import wait_for
from flowmind.build.building import Built, build
from flowmind.build.settings import Settings
from flowmind.formats.openai_messages import read_trace, read_traces
from flowmind.formats.tool_schema import specs_of_openai_tools, specs_of_traces
from flowmind.llm.choosing import model_named
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.protocols import ChatModel
from flowmind.run.running import arun, needs_waiting, run_batch
from flowmind.trace.events import Trace
from flowmind.trace.origins import unexplained
from flowmind.trace.recorded import Recorded
from flowmind.trace.task import Example
from flowmind.workflow.document import Condition, End, Evidence, ToolNode, Workflow, show_binding
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.schema import JSONSchema, json_equal
from tools_registry.specs.spec import ToolCall, ToolSpec

Given = Trace | Sequence[Mapping[str, Any]] | Mapping[str, Any]
"""A trace; the messages of a conversation; or an object with `messages` and, if need be, `inputs` and `answer`."""
Described = Tool | ToolSpec | Mapping[str, Any]
"""A tool, or the description of one: a spec, or a definition as OpenAI's `tools` have it."""
Checked = Literal["run", "recorded"]

ROUNDS = 1
"""Of mending: no more traces can be had, so that a second one would change nothing."""
_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_SHOWN = 100


@dataclass(frozen=True)
class Summarized:
    """What `summarize` gives. Traces are numbered from 1, as they were given."""

    name: str
    total: int
    """Traces that were given."""
    reproduced: tuple[int, ...]
    """The traces whose inputs give their answers."""
    checked: Checked
    """How that was found out: `run`: the tools were run; `recorded`: on what the traces recorded, as the tools change
    something or are not here."""
    evidence: tuple[Evidence, ...] = ()
    """The steps that show each argument, each condition and the answer, also in the document."""
    questions: tuple[str, ...] = ()
    """What the traces leave open."""
    guesses: tuple[str, ...] = ()
    """What is no more than a guess, and why; what somebody worked out without a tool."""
    missed: tuple[str, ...] = ()
    """The traces and examples that the workflow does not reproduce, and what it does instead."""
    notes: tuple[str, ...] = ()
    """What was left out, and what was not checked."""
    found: Workflow | None = None
    problem: str = ""
    """Why there is no workflow, if there is none."""
    sandbox: Environment | None = None
    """Its tools, if they can be run."""
    model: ChatModel | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a sound workflow."""
        return self.found is not None

    @property
    def document(self) -> Workflow:
        """The workflow.

        Raises:
            InvalidWorkflow: If no sound one was found; the message says why.
        """
        if self.found is None:
            raise InvalidWorkflow(self.problem)
        return self.found

    @property
    def workflow(self) -> RunnableWorkflow:
        """The workflow, ready to be called.

        Raises:
            InvalidWorkflow: If no sound one was found, or its tools are not here.
        """
        document = self.document
        if self.sandbox is None:
            raise InvalidWorkflow(
                f"{self.name}: its tools are not here; save it, and load it with them by RunnableWorkflow.load"
            )
        return RunnableWorkflow(document, self.sandbox, self.model)

    def save(self, path: str | Path) -> None:
        """Writes the workflow's document, evidence included.

        Raises:
            InvalidWorkflow: If there is none.
        """
        write_text(Path(path), self.document.to_json())

    def report(self) -> str:
        """Evidence, guesses, open questions and the check, a line each."""
        how = "its tools were run" if self.checked == "run" else "on what the traces recorded"
        lines = [*self._shown()]
        lines += [f"guess: {line}" for line in self.guesses]
        lines += [f"question: {line}" for line in self.questions]
        lines += [f"missed: {line}" for line in self.missed]
        lines += [f"note: {line}" for line in self.notes]
        lines += [f"checked: {len(self.reproduced)} of {self.total} traces give their answers ({how})"]
        return "\n".join(lines)

    def _shown(self) -> list[str]:
        lines: list[str] = []
        for one in self.evidence:
            if not one.guess and self.found is not None:
                traces = len({trace for trace, _ in one.steps})
                lines.append(f"evidence: {_part(self.found, one)}: {traces} of {self.total} traces")
        return lines


def summarize(
    traces: Sequence[Given] | str | Path,
    tools: Sequence[Described] | None = None,
    *,
    query: str = "",
    inputs: JSONSchema | None = None,
    examples: Sequence[Shown] = (),
    name: str = "workflow",
    model: str | ChatModel | None = None,
    sandbox: Environment | None = None,
) -> Summarized:
    """Turns traces of one task into a workflow, without a model unless one is given.

    The workflow is checked on the traces themselves: the inputs of each must give its answer. Tools that change
    something (`effect="write"`) are never called for that; they answer with what the traces recorded, and so do tools
    that are not here. A workflow that leaves out a recorded call of such a tool does not reproduce the trace.

    Args:
        traces: Traces, conversations in OpenAI's form (their inputs beside them: `{"inputs": {...}, "messages":
            [...]}`), or a file of them, as `flowmind.formats.openai_messages.read_traces` reads it.
        tools: Functions of one's own or tool sources, which are run; or specs, or definitions in OpenAI's form, which
            can only be checked; without any, specs are read off the traces.
        query: The task in words. It ranks constants and conditions.
        inputs: JSON Schema of the inputs; without it, one is read off the traces.
        examples: More pairs of input and answer to check on, if the tools may be run.
        name: The workflow's name.
        model: Who is asked for conditions that the traces leave open; a name or any `ChatModel`.
        sandbox: Where the tools run, if not where `environment_of` has them; `tools` are not needed then.

    Raises:
        InputError: If the traces cannot be read, none has an answer, several have no inputs, they call a tool that is
            not among the tools, or an input is no name that a workflow can use.
        ModelUnavailable: If the named model cannot be reached.
    """
    given = read_traces(Path(traces)) if isinstance(traces, str | Path) else _traces(traces)
    return wait_for(_summarized(given, tools, query, inputs, examples, name, model, sandbox))


async def _summarized(
    given: Sequence[Trace],
    tools: Sequence[Described] | None,
    query: str,
    inputs: JSONSchema | None,
    examples: Sequence[Shown],
    name: str,
    model: str | ChatModel | None,
    sandbox: Environment | None,
) -> Summarized:
    kept, notes = _usable(given)
    chosen = [given[number] for number in kept]
    toolbox = _toolbox(given, tools, sandbox)
    shown = [Example(input=trace.inputs, output=trace.answer) for trace in chosen]
    more: list[Example] = []
    if examples and toolbox.runs:
        more = list(make_task(query, examples, inputs).examples)
    elif examples:
        notes.append(f"the examples were not tried: {toolbox.why}")
    task = make_task(query, [*shown, *more], inputs, name)
    asked = model_named(model, toolbox.sandbox) if isinstance(model, str) else model
    try:
        built = await build(
            chosen,
            toolbox.sandbox,
            "induction" if asked is None else "guided",
            task=task,
            settings=Settings(mode="induction", verify=ROUNDS),
            model=asked,
        )
    finally:
        if isinstance(asked, OpenAIChat):
            await asked.aclose()
    if not toolbox.runs:
        notes.append(f"no tool was run: {toolbox.why}")
    story = _Story(given, kept, chosen, toolbox, built)
    return await story.told(name, notes, more, asked)


def _traces(given: Sequence[Given]) -> list[Trace]:
    """Traces of what was passed."""
    first = given[0] if given else None
    if isinstance(first, Mapping) and not {"messages", "events", "steps", "stop"} & first.keys():
        given = [cast(Sequence[Mapping[str, Any]], given)]
    made: list[Trace] = []
    for number, one in enumerate(given, 1):
        try:
            made.append(
                one if isinstance(one, Trace) else read_trace(dict(one) if isinstance(one, Mapping) else [*one])
            )
        except (InputError, ValueError) as error:
            raise InputError(f"trace {number}: {error}") from None
    if not made:
        raise InputError("give at least one trace")
    return made


def _usable(given: Sequence[Trace]) -> tuple[list[int], list[str]]:
    """The places of the traces that a workflow can come from, and what is left out.

    Raises:
        InputError: If there is none, several have no inputs, or an input has a name that no variable can have.
    """
    kept: list[int] = []
    notes: list[str] = []
    seen: dict[str, int] = {}
    for number, trace in enumerate(given):
        key = json.dumps(trace.inputs, sort_keys=True)
        if not trace.executed:
            notes.append(f"trace {number + 1} is left out: it has no answer (it ended by {trace.stop!r})")
        elif key not in seen:
            seen[key] = number
            kept.append(number)
        elif not trace.inputs:
            raise InputError(
                f"traces {seen[key] + 1} and {number + 1} do not say what they worked on; give the inputs beside the "
                'messages: {"inputs": {"n": 1}, "messages": [...]}'
            )
        elif not json_equal(given[seen[key]].answer, trace.answer):
            notes.append(
                f"trace {number + 1} is left out: it has the inputs of trace {seen[key] + 1}, and another answer"
            )
        else:
            notes.append(f"trace {number + 1} has inputs and answer of trace {seen[key] + 1}, and adds nothing")
    if not kept:
        raise InputError(f"none of the {len(given)} traces came to an answer; a workflow comes from those that did")
    for number in kept:
        for key in given[number].inputs:
            if not _VARIABLE.fullmatch(key):
                raise InputError(f"trace {number + 1}: input {key!r} cannot be a variable; rename it to letters and _")
    return kept, notes


@dataclass(frozen=True)
class _Toolbox:
    """The tools of a workflow, and where it is tried."""

    sandbox: Environment
    """Where it is tried."""
    own: Environment | None
    """Where it will run."""
    why: str = ""
    """Why it is tried on what the traces recorded, if it is."""

    @property
    def runs(self) -> bool:
        """Whether it is tried with the tools themselves."""
        return not self.why


def _toolbox(given: Sequence[Trace], tools: Sequence[Described] | None, sandbox: Environment | None) -> _Toolbox:
    called = {step.call.tool for trace in given for step in trace.calls if step.observation.ok} - set(GRAPH_TOOLS)
    own: Environment | None = sandbox
    sure = True
    if sandbox is not None:
        specs = sandbox.specs
    elif not tools:
        specs = {name: spec for name, spec in specs_of_traces(given).items() if name not in GRAPH_TOOLS}
        sure = False
    else:
        described = [cast(ToolSpec | Mapping[str, Any], tool) for tool in tools if isinstance(tool, ToolSpec | Mapping)]
        if described and len(described) < len(tools):
            raise InputError("give either tools that can be run or descriptions of them, not both")
        if described:
            specs, sure = _specs(described)
        else:
            own = environment_of(cast(Sequence[Tool], tools))
            specs = own.specs
    if missing := sorted(called - specs.keys()):
        raise InputError(f"the traces call {missing[0]!r}, which is not among the tools: {', '.join(specs) or 'none'}")
    writing = sorted(name for name in called if specs[name].effect == "write")
    if own is not None and not writing:
        return _Toolbox(own, own)
    why = f"{', '.join(writing)} would change something" if own is not None else "the tools are not here"
    return _Toolbox(Recorded(specs, [one for one in given if one.executed], writing if sure else ()), own, why)


def _specs(described: Sequence[ToolSpec | Mapping[str, Any]]) -> tuple[dict[str, ToolSpec], bool]:
    """The specs by name, and whether their effects were said by somebody."""
    plain = [spec for spec in described if isinstance(spec, ToolSpec)]
    defined = specs_of_openai_tools([tool for tool in described if isinstance(tool, Mapping)])
    specs = {spec.name: spec for spec in plain} | defined
    if len(specs) < len(described):
        raise InputError("two tools have one name; names are unique")
    return specs, not defined


@dataclass(frozen=True)
class _Story:
    """What came out, told."""

    given: Sequence[Trace]
    kept: Sequence[int]
    chosen: Sequence[Trace]
    toolbox: _Toolbox
    built: Built

    async def told(
        self, name: str, notes: Sequence[str], examples: Sequence[Example], model: ChatModel | None
    ) -> Summarized:
        workflow = None if self.built.problems else self.built.workflow
        checked: Checked = "run" if self.toolbox.runs else "recorded"
        if workflow is None:
            told = tuple(self._heads())
            reason = f"{name}: no sound workflow gives these traces{': ' if told else ''}{'; '.join(told[:3])}"
            return Summarized(name, len(self.given), (), checked, guesses=told, notes=tuple(notes), problem=reason)
        evidence = tuple(self._renumbered(one) for one in workflow.evidence)
        workflow = workflow.model_copy(update={"evidence": evidence})
        runs = await _run(workflow, [trace.inputs for trace in self.chosen], self.toolbox.sandbox)
        tried = await _run(workflow, [example.input for example in examples], self.toolbox.sandbox)
        pairs = list(zip(self.kept, self.chosen, runs, strict=True))
        missed = [
            f"trace {number + 1}: {line}" for number, trace, own in pairs if (line := _differs(own, trace.answer))
        ]
        missed += [
            f"example {number}: {line}"
            for number, (example, own) in enumerate(zip(examples, tried, strict=True), 1)
            if (line := _differs(own, example.output))
        ]
        derivation = self.built.derivation
        return Summarized(
            name=name,
            total=len(self.given),
            reproduced=tuple(number + 1 for number, trace, own in pairs if not _differs(own, trace.answer)),
            checked=checked,
            evidence=evidence,
            questions=derivation.open if derivation else (),
            guesses=(*self._guesses(workflow), *self._heads()),
            missed=tuple(missed),
            notes=(*notes, *self._left_out(pairs)),
            found=workflow,
            sandbox=self.toolbox.own,
            model=model,
        )

    def _renumbered(self, one: Evidence) -> Evidence:
        """Evidence with the numbers of the traces as they were given."""
        steps = tuple((self.kept[trace - 1] + 1, step) for trace, step in one.steps if trace <= len(self.kept))
        return one.model_copy(update={"steps": steps})

    def _guesses(self, workflow: Workflow) -> list[str]:
        lines = [f"{_part(workflow, one)}: {one.guess}" for one in workflow.evidence if one.guess]
        if self.built.derivation is not None:
            lines += [
                f"{line} is taken for a constant, and is an input of a trace" for line in self.built.derivation.leaked
            ]
            if self.toolbox.runs:
                lines += [f"input {line} never changes the answer" for line in self.built.derivation.idle]
        return lines

    def _heads(self) -> list[str]:
        """What was worked out without a tool."""
        return [
            f"trace {number + 1}: {line}"
            for number, trace in zip(self.kept, self.built.traces, strict=False)
            for line in unexplained(trace)
        ]

    def _left_out(self, pairs: Sequence[tuple[int, Trace, Trace]]) -> list[str]:
        """The recorded calls that the workflow does not make."""
        lines: list[str] = []
        for number, trace, own in pairs:
            left = [step.call for step in trace.calls if step.observation.ok]
            for call in (step.call for step in own.calls):
                place = next((place for place, one in enumerate(left) if _same(one, call)), None)
                if place is not None:
                    left.pop(place)
            if own.error is None and left:
                more = f", and {len(left) - 1} more" if len(left) > 1 else ""
                shown = _short(f"{left[0].tool}({dump_json(left[0].args)})")
                lines.append(f"trace {number + 1}: the workflow does not make the call {shown}{more}")
        return lines


async def _run(workflow: Workflow, cases: Sequence[dict[str, Any]], sandbox: Environment) -> list[Trace]:
    if needs_waiting(workflow, sandbox):
        return [await arun(workflow, case, sandbox) for case in cases]
    return run_batch(workflow, cases, sandbox)


def _differs(own: Trace, answer: Any) -> str:
    """What a run does instead of giving this answer; empty if it gives it."""
    if own.error is not None:
        return f"it ends in {own.error.type}: {own.error.message}"
    return "" if json_equal(own.answer, answer) else f"it gives {_short(own.answer)}, right is {_short(answer)}"


def _same(one: ToolCall, other: ToolCall) -> bool:
    return one.tool == other.tool and json_equal(one.args, other.args)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else dump_json(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _part(workflow: Workflow, one: Evidence) -> str:
    """A part of a workflow, for a reader."""
    match workflow.by_id.get(one.node):
        case ToolNode(args=args) if one.field in args:
            return f"{one.node}.{one.field} = {_short(show_binding(args[one.field]))}"
        case Condition(expr=expr):
            return f"{one.node}: {_short(expr)}"
        case End(output=output):
            return f"the answer = {_short(show_binding(output))}"
        case _:
            return f"{one.node}.{one.field}"
