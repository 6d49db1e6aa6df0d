"""What one derivation has at hand: executions, what they came to, and the examples to try a workflow on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from flowmind.agents import prompts
from flowmind.agents.turns import Budget
from flowmind.base.files import dump_json
from flowmind.build.induction.inducing import Given, Induced, Inducer, Loops, drafts_in_thread
from flowmind.build.induction.reading import Reading
from flowmind.build.induction.runs import Run, run_of
from flowmind.build.induction.structure import Key
from flowmind.build.settings import Settings, letters_of
from flowmind.build.stages import budget_left, execute_brief, is_complete, make_agent
from flowmind.protocols import Brief, ChatModel
from flowmind.run.running import Ran, arun, needs_waiting, run_many
from flowmind.trace.events import Trace, Turn
from flowmind.trace.origins import has_holes, with_origins
from flowmind.trace.recorded import Recorded
from flowmind.trace.task import Task
from flowmind.workflow.document import Map, ToolNode, Workflow
from tools_registry.sandbox.environment import DEFAULT_BUDGET, Environment
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import Record


class Demonstrate(Protocol):
    """Makes the right trace of an input, in so many steps at most."""

    def __call__(self, inputs: dict[str, Any], budget: int = DEFAULT_BUDGET) -> Awaitable[Trace]: ...


LONGER = 20
"""How many times as many steps as the longest trace a workflow or a probe may take: what takes more does not end."""


class CounterExample(Record):
    """An example that a workflow does not solve."""

    example: int
    """From 0."""
    input: dict[str, Any]
    expected: Any
    actual: Any = None
    error: str = ""
    node: str = ""
    """The first node where the run parts from the trace of that example, if there is one."""

    def tell(self) -> str:
        """The counter-example, for a reader."""
        got = f"failed: {self.error}" if self.error else f"gave {dump_json(self.actual)}"
        place = f" It parts from the trace at node {self.node}." if self.node else ""
        return f"On {dump_json(self.input)} the workflow {got}; right is {dump_json(self.expected)}.{place}"


@dataclass
class Work:
    """The derivation of one workflow."""

    task: Task
    business: Environment
    model: ChatModel
    settings: Settings
    summarizer: ChatModel
    demonstrate: Demonstrate | None = None
    reading: Reading = field(default_factory=Reading)
    inducer: Inducer = drafts_in_thread
    traces: list[Trace] = field(default_factory=list[Trace])
    worked: list[int] = field(default_factory=list[int])
    """The example that each trace worked on; -1 for a probe."""
    told: set[int] = field(default_factory=set[int])
    """Traces of executions that were told what is right."""
    spare: set[int] = field(default_factory=set[int])
    """Traces of probes that nothing is derived from: workflows are only tried on them."""
    failed: set[int] = field(default_factory=set[int])
    """Traces of probes that an agent came to no answer of: they are kept for what they cost."""
    turns: list[Turn] = field(default_factory=list[Turn])
    """Of the questions."""
    edits: list[Trace] = field(default_factory=list[Trace])
    """Of an agent that built or changed the graph."""
    mends: list[str] = field(default_factory=list[str])
    asked: int = 0
    built_from: int = 0
    answers: dict[tuple[Key, int], str] = field(default_factory=dict[tuple[Key, int], str])

    async def execute(self, example: int, before: Trace | None = None) -> None:
        """Works on an example; once more, with what was wrong, if it was worked on before."""
        given = self.task.examples[example]
        if self.demonstrate is not None:
            trace = await self.demonstrate(given.input)
        else:
            brief = execute_brief(self.task, example, self.business.specs)
            if before is not None:
                self.told.add(len(self.traces))
                brief = brief.model_copy(update={"task": f"{brief.task}\n\n{_again(before, given.output)}"})
            trace = await self._agent(brief)
        self.traces.append(trace)
        self.worked.append(example)

    async def probe(self, inputs: dict[str, Any]) -> bool:
        """Executes an input of our own making: nobody knows its answer but who executes it. False if there is none."""
        if self.demonstrate is not None:
            trace = await self.demonstrate(inputs, self.budget)
        else:
            trace = await self._agent(execute_brief(self.task, 0, self.business.specs, inputs))
        done = is_complete(trace) or (self.demonstrate is not None and trace.ok)
        if done or trace.turns:
            (self.spare if done else self.failed).add(len(self.traces))
            self.traces.append(trace)
            self.worked.append(-1)
        return done

    @property
    def budget(self) -> int:
        """Steps of a run. A workflow has a few nodes for each call."""
        longest = max((len(trace.calls) for trace in self.traces), default=0)
        return min(DEFAULT_BUDGET, LONGER * (longest + LONGER))

    def left(self, budget: Budget) -> Budget:
        """A budget within what executions, questions and edits have left of the case's limits."""
        questions = Trace(stop="finish", turns=tuple(self.turns))
        return budget_left(budget, self.settings, [*self.traces, *self.edits, questions])

    @property
    def may_ask(self) -> bool:
        """Whether anything is left of the case's limits."""
        left = self.left(Budget())
        return left.turns > 0 and left.output_tokens != 0 and left.seconds != 0

    @property
    def may_execute(self) -> bool:
        """The same for an execution, if an agent makes it."""
        return self.demonstrate is not None or self.may_ask

    async def _agent(self, brief: Brief) -> Trace:
        letter = letters_of(self.settings.mode)[0]
        budget = self.left(self.settings.execute_budget)
        agent = make_agent(letter, self.model, budget, self.settings, len(self.traces))
        return await agent.execute(brief, self.business)

    def right(self, place: int) -> bool:
        """Whether a trace came to the example's answer; a probe's is taken at its word.

        Who was told the answer has to come to it by tools: to repeat it is no execution.
        """
        trace, example = self.traces[place], self.worked[place]
        if example < 0:
            return place not in self.failed
        if not trace.executed or not json_equal(trace.answer, self.task.examples[example].output):
            return False
        if place not in self.told:
            return True
        origin = with_origins([trace], self.task.query)[0].origin
        return origin is not None and not has_holes(origin)

    def runs(self) -> list[Run]:
        """What is derived from: the right traces, each example once; without any, the calls of wrong ones.

        An example's answer is known, so that a trace whose calls are right may have failed to say so.
        """
        found: dict[str, Run] = {}
        for place, trace in enumerate(self.traces):
            if self.right(place) and place not in self.spare:
                found.setdefault(dump_json(trace.inputs), run_of(trace, place))
        if not found:
            for place in reversed(range(len(self.traces))):
                trace, example = self.traces[place], self.worked[place]
                run = run_of(trace, place)
                if run.calls and example >= 0:
                    known = Run(run.inputs, run.calls, self.task.examples[example].output, place, run.steps)
                    return [known]
        return list(found.values())

    async def drafts(self, among: Collection[Loops] | None = None) -> list[Induced]:
        """The likeliest workflows that `runs` may come from; `among` as for `inducing.plans`."""
        specs = dict(self.business.specs)
        return await self.inducer(Given(self.runs(), specs, self.task.inputs, self.reading, self.task.id, among))

    async def run_on(self, workflow: Workflow, cases: Sequence[dict[str, Any]]) -> list[Trace]:
        """Runs a sound workflow; one with tools that change something on what the traces recorded of them."""
        return [one.trace if isinstance(one, Ran) else one for one in await self.ran(workflow, cases)]

    async def ran(self, workflow: Workflow, cases: Sequence[dict[str, Any]]) -> Sequence[Ran | Trace]:
        """The same, for those who look at answers and errors only: traces are made when they are looked at."""
        sandbox = self.business
        if writing := self.writing(workflow):
            sandbox = Recorded(self.business.specs, self.traces, writing)
        elif needs_waiting(workflow, sandbox):
            return [await arun(workflow, case, sandbox, budget=self.budget) for case in cases]
        return await asyncio.to_thread(run_many, workflow, cases, sandbox, self.budget)

    def writing(self, workflow: Workflow) -> set[str]:
        """The tools of a workflow that change something."""
        called = {node.tool for node in workflow.nodes if isinstance(node, ToolNode)}
        bodies = [step for node in workflow.nodes if isinstance(node, Map) for step in node.body]
        called |= {step.tool for step in bodies if isinstance(step, ToolNode)}
        return {name for name in called if self.business.specs[name].effect == "write"}

    def workflow_turns(self) -> list[Turn]:
        """The replies that the summarizer gave, in all that it was asked."""
        return [*self.turns, *(turn for trace in self.edits for turn in trace.turns)]

    async def failures(self, workflow: Workflow) -> list[CounterExample]:
        """The examples that a sound workflow does not solve."""
        traces = await self.run_on(workflow, [example.input for example in self.task.examples])
        found: list[CounterExample] = []
        for number, (trace, example) in enumerate(zip(traces, self.task.examples, strict=True)):
            if trace.error is None and json_equal(trace.answer, example.output):
                continue
            error = f"{trace.error.type}: {trace.error.message}" if trace.error else ""
            found.append(
                CounterExample(
                    example=number,
                    input=example.input,
                    expected=example.output,
                    actual=trace.answer,
                    error=error,
                    node=self._parting(trace, number),
                )
            )
        return found

    async def missed(self, workflow: Workflow) -> list[int]:
        """The traces of probes to whose answers a sound workflow does not come."""
        places = [place for place, example in enumerate(self.worked) if example < 0 and self.right(place)]
        runs = await self.ran(workflow, [self.traces[place].inputs for place in places])
        return [
            place
            for place, run in zip(places, runs, strict=True)
            if run.error is not None or not json_equal(run.answer, self.traces[place].answer)
        ]

    def _parting(self, run: Trace, example: int) -> str:
        """The first node whose call is not the one that the example's own right trace has at its place."""
        own = next(
            (self.traces[place] for place, number in enumerate(self.worked) if number == example and self.right(place)),
            None,
        )
        if own is None:
            return ""
        calls = [step.call for step in own.calls if step.observation.ok]
        for place, step in enumerate(run.calls):
            if place >= len(calls) or calls[place] != step.call:
                return step.node or ""
        return "end" if len(calls) == len(run.calls) else ""


def _again(trace: Trace, expected: Any) -> str:
    lines = [
        f"{step.call.tool}({dump_json(step.call.args)}) -> "
        + (dump_json(step.observation.value) if step.observation.error is None else "error")
        for step in trace.calls[-12:]
    ]
    answer = dump_json(trace.answer) if trace.executed else "no answer"
    return prompts.render(
        "execute_again", answer=answer, expected=dump_json(expected), calls="\n".join(lines) or "none"
    )
