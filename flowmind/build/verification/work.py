"""What one derivation has at hand: executions, what they came to, and the examples to try a workflow on."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from flowmind.agents.turns import Budget
from flowmind.base.errors import ModelFailure
from flowmind.base.files import dump_json
from flowmind.build.executions import Execution, Executions, budget_left, within_limits
from flowmind.build.induction.inducing import Given, Induced, Inducer, Loops, drafts_in_thread
from flowmind.build.induction.reading import Reading
from flowmind.build.induction.runs import Run, run_of
from flowmind.build.induction.structure import Key
from flowmind.build.settings import Settings
from flowmind.evaluation.executions import is_complete
from flowmind.protocols import ChatModel
from flowmind.run.running import Ran, arun, needs_waiting, run_many
from flowmind.trace.events import Trace, Turn
from flowmind.trace.origins import has_holes, with_origins
from flowmind.trace.recorded import Recorded
from flowmind.trace.task import Task
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environment import DEFAULT_BUDGET, Environment
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import Record, ToolError

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
    """The building of one workflow: the traces, the examples to try it on, and whom to ask."""

    task: Task
    environment: Environment
    settings: Settings = field(default_factory=Settings)
    model: ChatModel | None = None
    """Answers questions, builds and edits; None if no model may be asked."""
    executions: Executions | None = None
    """Makes more traces; None if there are no more than those given."""
    reading: Reading = field(default_factory=Reading)
    inducer: Inducer = drafts_in_thread
    traces: list[Trace] = field(default_factory=list[Trace])
    worked: list[int] = field(default_factory=list[int])
    """The example that each trace worked on; -1 for a probe."""
    informed: set[int] = field(default_factory=set[int])
    """Traces of executions that were shown the right answer."""
    spare: set[int] = field(default_factory=set[int])
    """Traces of probes that nothing is derived from: workflows are only tried on them."""
    failed: set[int] = field(default_factory=set[int])
    """Traces of probes without an answer: they are kept for their cost."""
    turns: list[Turn] = field(default_factory=list[Turn])
    """The replies to questions."""
    edits: list[Trace] = field(default_factory=list[Trace])
    """Traces of an agent that built or changed the graph."""
    mends: list[str] = field(default_factory=list[str])
    asked: int = 0
    failure: str | None = None
    """The failure of the model's endpoint, if there was one: it is not asked again."""
    built_from: int = 0
    answers: dict[tuple[Key, int], str] = field(default_factory=dict[tuple[Key, int], str])

    @property
    def trusted(self) -> bool:
        """Whether executions are right and cost nothing."""
        return self.executions is not None and self.executions.trusted

    async def execute(self, example: int, before: Trace | None = None) -> None:
        """Executes an example.

        Args:
            example: Its number.
            before: An earlier execution that was wrong: the agent is shown it, with the right answer.
        """
        assert self.executions is not None
        before = None if self.trusted else before
        if before is not None:
            self.informed.add(len(self.traces))
        inputs = self.task.examples[example].input
        execution = Execution(inputs, len(self.traces), example, before, self.spent)
        self.traces.append(await self.executions.execute(execution))
        self.worked.append(example)

    async def probe(self, inputs: dict[str, Any]) -> bool:
        """Executes an input that is no example, so that there is no reference answer. False if it has no answer."""
        assert self.executions is not None
        execution = Execution(inputs, len(self.traces), None, None, self.spent, self.budget)
        trace = await self.executions.execute(execution)
        done = self.completed(trace)
        if done or trace.turns:
            (self.spare if done else self.failed).add(len(self.traces))
            self.traces.append(trace)
            self.worked.append(-1)
        return done

    def completed(self, trace: Trace) -> bool:
        """Whether an execution came to an answer; one of an agent only if it called a tool."""
        return is_complete(trace) or (self.trusted and trace.ok)

    @property
    def budget(self) -> int:
        """Steps of a run. A workflow has a few nodes for each call."""
        longest = max((len(trace.calls) for trace in self.traces), default=0)
        return min(DEFAULT_BUDGET, LONGER * (longest + LONGER))

    @property
    def spent(self) -> list[Turn]:
        """The model's replies so far, in executions, edits and answers to questions."""
        return [turn for trace in (*self.traces, *self.edits) for turn in trace.turns] + self.turns

    def left(self, budget: Budget) -> Budget:
        """A budget within what is left of the case's limits."""
        return budget_left(budget, self.settings, self.spent)

    @property
    def may_ask(self) -> bool:
        """Whether a model may be asked: there is one, and the case's limits are not reached."""
        return self.model is not None and self.failure is None and within_limits(self.settings, self.spent)

    @property
    def may_execute(self) -> bool:
        """Whether one more execution may be made."""
        return self.executions is not None and self.executions.allows(self.spent)

    def right(self, place: int) -> bool:
        """Whether a trace came to the example's answer; a probe's is taken at its word.

        Who was told the answer has to come to it by tools: to repeat it is no execution.
        """
        trace, example = self.traces[place], self.worked[place]
        if example < 0:
            return place not in self.failed
        if not trace.executed or not json_equal(trace.answer, self.task.examples[example].output):
            return False
        if place not in self.informed:
            return True
        origin = with_origins([trace], self.task.query)[0].origin
        return origin is not None and not has_holes(origin)

    def counts(self, place: int) -> bool:
        """Whether a trace can be right about its example: it may not just repeat an answer that it was shown."""
        return place not in self.informed or self.right(place)

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
        specs = dict(self.environment.specs)
        return await self.inducer(Given(self.runs(), specs, self.task.inputs, self.reading, self.task.id, among))

    async def run_on(self, workflow: Workflow, cases: Sequence[dict[str, Any]]) -> list[Trace]:
        """Runs a sound workflow; one with tools that change something on what the traces recorded of them."""
        return [one.trace if isinstance(one, Ran) else one for one in await self.ran(workflow, cases)]

    async def ran(self, workflow: Workflow, cases: Sequence[dict[str, Any]]) -> Sequence[Ran | Trace]:
        """The same, for those who look at answers and errors only: traces are made when they are looked at."""
        environment = self.environment
        if writing := self.writing(workflow):
            environment = Recorded(self.environment.specs, self.traces, writing)
        if needs_waiting(workflow, environment):
            return [await self._awaited(workflow, case, environment) for case in cases]
        return await asyncio.to_thread(run_many, workflow, cases, environment, self.budget)

    async def _awaited(self, workflow: Workflow, case: dict[str, Any], environment: Environment) -> Trace:
        try:
            return await arun(workflow, case, environment, self.model, self.budget)
        except ModelFailure as failure:
            self.failure = str(failure)
            return Trace(inputs=case, stop="error", error=ToolError(type="model_error", message=str(failure)))

    def writing(self, workflow: Workflow) -> set[str]:
        """The tools of a workflow that change something."""
        return {name for name in workflow.tool_names if self.environment.specs[name].effect == "write"}

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
