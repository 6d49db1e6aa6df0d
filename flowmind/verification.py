"""Verified summarization: a workflow is derived from traces, run on the task's examples, and mended where it fails.

What the traces determine is derived (`flowmind.induction`); a model is asked only for conditions that they leave open.
The draft is run on the examples, never on tests. What fails is a counter-example, and is mended in the order of what it
costs: another candidate for a condition, another execution, a question, an edit by the graph tools.

Sources: FlowMind, table 8 (115 right executions, 44 right workflows); counter-examples as in inductive synthesis
(Solar-Lezama et al., Combinatorial Sketching, 2006).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from flowmind import prompts
from flowmind.agents.turns import Budget
from flowmind.checking import check
from flowmind.errors import ModelFailure
from flowmind.executor.running import arun, needs_waiting, run_batch
from flowmind.files import dump_json
from flowmind.induction.emitting import Emitter
from flowmind.induction.inducing import Draft, drafts
from flowmind.induction.planning import Decision
from flowmind.induction.probing import inputs_like
from flowmind.induction.reading import Reading, read
from flowmind.induction.replaying import straight
from flowmind.induction.runs import Run, run_of
from flowmind.induction.structure import Key
from flowmind.induction.telling import evidence, questions, tell
from flowmind.induction.walking import ALL, VISITS
from flowmind.protocols import Brief, ChatModel, ChatRequest, Message
from flowmind.provenance import unexplained, with_origins
from flowmind.record import Derivation
from flowmind.replies import Unreadable, read_object
from flowmind.stages import (
    Settings,
    Solution,
    budget_left,
    execute_brief,
    is_complete,
    letters_of,
    make_agent,
    rounds_of,
    solution_of,
    summarizer_of,
)
from flowmind.summarizer.brief import summarize_brief
from flowmind.summarizer.draft import DraftSandbox
from flowmind.task import Task
from flowmind.trace import Trace, Turn
from flowmind.workflow import Literal_, ToolNode, Workflow
from tools_registry.expressions import ExpressionError
from tools_registry.expressions import names as names_in
from tools_registry.sandbox import Sandbox
from tools_registry.schema import json_equal
from tools_registry.spec import Record

Demonstrate = Callable[[dict[str, Any]], Awaitable[Trace]]
"""Makes the right trace of an input."""
ATTEMPTS = 2
"""Executions of one example."""
MENDED = 4
"""Drafts whose conditions are varied."""
VARIED = 5
"""Other candidates of a condition that are tried."""
EDIT_TURNS = 8


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
    business: Sandbox
    model: ChatModel
    settings: Settings
    summarizer: ChatModel
    demonstrate: Demonstrate | None = None
    reading: Reading = field(default_factory=Reading)
    traces: list[Trace] = field(default_factory=list[Trace])
    worked: list[int] = field(default_factory=list[int])
    """The example that each trace worked on; -1 for a probe."""
    turns: list[Turn] = field(default_factory=list[Turn])
    """Of the questions."""
    edits: Trace | None = None
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
                brief = brief.model_copy(update={"task": f"{brief.task}\n\n{_again(before, given.output)}"})
            trace = await self._agent(brief)
        self.traces.append(trace)
        self.worked.append(example)

    async def probe(self, inputs: dict[str, Any]) -> Trace:
        """Executes an input of our own making: nobody knows its answer but who executes it."""
        if self.demonstrate is not None:
            trace = await self.demonstrate(inputs)
        else:
            trace = await self._agent(execute_brief(self.task, 0, self.business.specs, inputs))
        if is_complete(trace) or (self.demonstrate is not None and trace.ok):
            self.traces.append(trace)
            self.worked.append(-1)
        return trace

    async def _agent(self, brief: Brief) -> Trace:
        letter = letters_of(self.settings.mode)[0]
        budget = budget_left(self.settings.execute_budget, self.settings, self.traces)
        agent = make_agent(letter, self.model, budget, self.settings, len(self.traces))
        return await agent.execute(brief, self.business)

    def right(self, place: int) -> bool:
        """Whether a trace came to the example's answer; a probe's is taken at its word."""
        trace, example = self.traces[place], self.worked[place]
        if example < 0:
            return True
        return trace.executed and json_equal(trace.answer, self.task.examples[example].output)

    def runs(self) -> list[Run]:
        """What is derived from: the right traces, each example once; without any, the calls of wrong ones.

        An example's answer is known, so that a trace whose calls are right may have failed to say so.
        """
        found: dict[str, Run] = {}
        for place, trace in enumerate(self.traces):
            if self.right(place):
                found.setdefault(dump_json(trace.inputs), run_of(trace, place))
        if not found:
            for place in reversed(range(len(self.traces))):
                trace, example = self.traces[place], self.worked[place]
                run = run_of(trace, place)
                if run.calls and example >= 0:
                    known = Run(run.inputs, run.calls, self.task.examples[example].output, place, run.steps)
                    return [known]
        return list(found.values())

    async def run_on(self, workflow: Workflow, cases: Sequence[dict[str, Any]]) -> list[Trace]:
        """Runs a sound workflow."""
        if needs_waiting(workflow, self.business):
            return [await arun(workflow, case, self.business) for case in cases]
        return await asyncio.to_thread(run_batch, workflow, cases, self.business)

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

    def _parting(self, run: Trace, example: int) -> str:
        """The first node whose call is not the one that the example's own right trace has at its place."""
        own = next(
            (self.traces[place] for place, number in enumerate(self.worked) if number == example and self.right(place)),
            None,
        )
        if own is None:
            return ""
        calls = [step.call for step in own.tool_steps if step.observation.ok]
        for place, step in enumerate(run.tool_steps):
            if place >= len(calls) or calls[place] != step.call:
                return step.node or ""
        return "end" if len(calls) == len(run.tool_steps) else ""


def _again(trace: Trace, expected: Any) -> str:
    lines = [
        f"{step.call.tool}({dump_json(step.call.args)}) -> "
        + (dump_json(step.observation.value) if step.observation.error is None else "error")
        for step in trace.tool_steps[-12:]
    ]
    answer = dump_json(trace.answer) if trace.executed else "no answer"
    return prompts.render(
        "execute_again", answer=answer, expected=dump_json(expected), calls="\n".join(lines) or "none"
    )


@dataclass
class Best:
    """The workflow that solves most examples so far."""

    draft: Draft
    workflow: Workflow
    emitter: Emitter
    failures: list[CounterExample]
    mend: str = ""


async def derive(
    task: Task,
    business: Sandbox,
    model: ChatModel,
    settings: Settings,
    summarizer: ChatModel,
    demonstrate: Demonstrate | None = None,
) -> Solution:
    """Executes a task's examples and derives the workflow.

    Args:
        task, business, model, settings, summarizer, demonstrate: As for `flowmind.pipeline.solve`.
    """
    gold = demonstrate if settings.traces == "gold" else None
    work = Work(task, business, model, settings, summarizer, gold, read(task.query))
    who, rounds = summarizer_of(settings), rounds_of(settings)
    if who == "replay":
        await work.execute(0)
        runs = [run_of(work.traces[0], 0)] if is_complete(work.traces[0]) or gold else []
        workflow = straight(runs[0], task.inputs, task.id) if runs else None
        return await _closed(work, workflow, who, 0, 0)
    first = 1 if rounds and settings.rollouts == 1 else max(settings.rollouts, len(task.examples))
    for rollout in range(first):
        await work.execute(rollout % len(task.examples))
    best, first_right, used = None, None, 0
    while True:
        found = await _choose(work)
        if found is not None and (best is None or len(found.failures) <= len(best.failures)):
            best = found
        if first_right is None:
            first_right = len(task.examples) - len(found.failures) if found else 0
        if used >= rounds or (best is not None and not best.failures):
            break
        used += 1
        if not await _execute_more(work, best):
            break
    if best is not None and who == "guided":
        best = await _ask(work, best)
    if settings.probe and best is not None:
        best = await _probe(work, best, settings.probe)
    workflow = best.workflow if best else None
    if best is not None and best.failures and who == "guided" and rounds:
        workflow = await _edit(work, best)
    return await _closed(work, workflow, who, first_right, used, best)


async def _closed(
    work: Work, workflow: Workflow | None, who: str, first_right: int, rounds: int, best: Best | None = None
) -> Solution:
    """The solution, with what can be said about the workflow without knowing any answer."""
    task = work.task
    problems = check(workflow, work.business.specs) if workflow is not None else []
    left: tuple[int, ...] = ()
    open_: tuple[str, ...] = ()
    leaked: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    unsettled: tuple[str, ...] = ()
    right = 0
    told = with_origins(work.traces, task.query)
    if workflow is not None and not problems:
        failing = await work.failures(workflow)
        right = len(task.examples) - len(failing)
        if best is not None and workflow is best.workflow:
            workflow = workflow.model_copy(update={"evidence": evidence(best.emitter, workflow)})
            open_ = tuple(question.text for question in questions(best.emitter, workflow))
        leaked = leaks(workflow, task)
        idle, unsettled = await influence(work, workflow)
        built = {example for place, example in enumerate(work.worked) if work.right(place)}
        left = tuple(n for n in range(len(task.examples)) if n not in built and n not in {f.example for f in failing})
    turns = tuple([*work.turns, *(work.edits.turns if work.edits else ())])
    summary = work.edits or (Trace(stop="finish", turns=turns) if turns else None)
    if summary is not None and summary.turns != turns:
        summary = summary.model_copy(update={"turns": turns})
    derivation = Derivation(
        summarizer=who,
        executions=len(work.traces),
        built_from=work.built_from,
        examples=len(task.examples),
        first_right=first_right,
        right=right,
        verified=len(left),
        rounds=rounds,
        mends=tuple(work.mends),
        asked=work.asked,
        open=open_,
        leaked=leaked,
        idle=idle,
        unsettled=unsettled,
        unexplained=sum(len(unexplained(trace)) for trace in told),
        source="gold" if work.demonstrate is not None else "agent",
    )
    return solution_of(task, told, workflow, problems, summary, 0, work.worked, derivation)


async def _choose(work: Work) -> Best | None:
    """The draft that solves most examples, other candidates of its conditions included."""
    runs = work.runs()
    work.built_from = len(runs)
    if not runs:
        return None
    made = await asyncio.to_thread(drafts, runs, work.business.specs, work.task.inputs, work.reading, work.task.id)
    best: Best | None = None
    sound = [draft for draft in made if draft.sound]
    for draft in sound:
        failures = await work.failures(draft.workflow)
        if best is None or len(failures) < len(best.failures):
            best = Best(draft, draft.workflow, draft.emitter, failures)
        if not failures:
            return best
    for draft in sound[:MENDED]:
        if rounds_of(work.settings):
            better = await _vary(work, draft)
            if better is not None and (best is None or len(better.failures) < len(best.failures)):
                best = better
                if not better.failures:
                    break
    if best is not None and best.mend:
        work.mends.append(best.mend)
    return best


async def _vary(work: Work, draft: Draft) -> Best | None:
    """The draft with one condition changed: its negation, or the next candidates."""
    best: Best | None = None
    for place, decision in draft.plan.decisions.items():
        for number, (found, _) in enumerate(decision.ways):
            options = [(f"not ({found[0].expr})", "negation")] if found else []
            options += [(one.expr, "candidate") for one in found[1 : 1 + VARIED]]
            for expr, mend in options:
                changed = await _with(work, draft, {**work.answers, (place, number): expr}, mend)
                if changed is not None and (best is None or len(changed.failures) < len(best.failures)):
                    best = changed
                    if not changed.failures:
                        return best
    return best


async def _with(work: Work, draft: Draft, choice: dict[tuple[Key, int], str], mend: str) -> Best | None:
    """The draft with other conditions; None if it is not sound then."""
    emitter = Emitter(draft.plan, work.task.inputs, work.task.id, choice)
    workflow = emitter.write()
    if check(workflow, work.business.specs):
        return None
    return Best(draft, workflow, emitter, await work.failures(workflow), mend)


async def _execute_more(work: Work, best: Best | None) -> bool:
    """Executes the first example that fails and has no right trace; False if there is none."""
    failing = [failure.example for failure in best.failures] if best else list(range(len(work.task.examples)))
    for attempt in range(ATTEMPTS):
        for example in failing:
            tried = [place for place, number in enumerate(work.worked) if number == example]
            if len(tried) == attempt and not any(work.right(place) for place in tried):
                work.mends.append("execute")
                await work.execute(example, work.traces[tried[-1]] if tried else None)
                return True
    return False


async def _ask(work: Work, best: Best) -> Best:
    """Asks for the conditions that the traces leave open; an answer is taken if it agrees with them."""
    for place, decision in best.draft.plan.decisions.items():
        for number, (found, way) in enumerate(decision.ways):
            if len(found) == 1 or (found and found[1].cost - found[0].cost > OPEN):
                continue
            expr = await _question(work, best, place, decision, way)
            if expr is None:
                continue
            for option in (expr, f"not ({expr})"):
                choice = {**work.answers, (place, number): option}
                changed = await _with(work, best.draft, choice, "question")
                if changed is not None and len(changed.failures) <= len(best.failures):
                    work.answers = choice
                    work.mends.append("question")
                    best = changed
                    break
    return best


HIDDEN = (ALL, VISITS)
"""Variables that a question does not list."""
OPEN = 1.5
"""How much dearer the second condition may be for the first one to be asked about."""


async def _question(work: Work, best: Best, place: Key, decision: Decision, way: Key) -> str | None:
    """Asks a model for one condition; None if the answer cannot be used."""
    plan = best.draft.plan
    walk = plan.bound.walk
    rows = best.draft.scope(place)
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if not name.startswith(HIDDEN)]
    lines: list[str] = []
    for name in names:
        shown = list(dict.fromkeys(_short(row[name]) for row in rows if name in row))[:4]
        lines.append(f"- {name}: {' | '.join(shown)}")
    went = [walk.target(sample) == way for sample in decision.samples]
    other = next((walk.target(one) for one, yes in zip(decision.samples, went, strict=True) if not yes), decision.last)
    text = "\n".join(
        [
            "Task:",
            work.task.query.strip(),
            "",
            "Variables and their values in the records:",
            *lines,
            f"The step: {tell(way)} in some records; others go on with {tell(other)}.",
            f"Under which condition does {tell(way)} follow?",
        ]
    )
    parts = [Message(role=part.role, content=part.content) for part in prompts.conversation("ask_condition")]
    request = ChatRequest(
        messages=(*parts, Message(role="user", content=text)),
        reply="text",
        max_tokens=120,
        temperature=work.settings.temperature,
        seed=work.settings.seed,
    )
    work.asked += 1
    try:
        reply = await work.summarizer.complete(request)
    except ModelFailure:
        return None
    expr, parse = None, "failed"
    try:
        found = read_object(reply.text)
        expr = str(found.get("expr") or "")
        parse = "clean" if _strict(reply.text) else "recovered"
    except Unreadable:
        pass
    work.turns.append(
        Turn(
            text=reply.text,
            parse=cast(Any, parse),
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            seconds=round(reply.seconds or 0.0, 3),
        )
    )
    try:
        return expr if expr and set(names_in(expr)) <= set(names) else None
    except ExpressionError:
        return None


def _strict(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _short(value: Any) -> str:
    text = dump_json(value)
    return text if len(text) <= 160 else f"{text[:160]}…"


async def _probe(work: Work, best: Best, most: int) -> Best:
    """Executes inputs on which drafts disagree, and derives again; what no draft tells apart is tried at random."""
    done = 0
    for inputs in inputs_like(work.task, work.reading, work.settings.seed):
        if done >= most:
            break
        rivals = await _rivals(work, best)
        answers = [dump_json((await work.run_on(one, [inputs]))[0].answer) for one in rivals]
        if len(set(answers)) < 2 and work.demonstrate is None:
            continue
        trace = await work.probe(inputs)
        if not trace.ok:
            continue
        done += 1
        work.mends.append("probe")
        own = (await work.run_on(best.workflow, [inputs]))[0]
        if own.error is None and json_equal(own.answer, trace.answer):
            continue
        found = await _choose(work)
        if found is not None and len(found.failures) <= len(best.failures):
            best = found
    return best


async def _rivals(work: Work, best: Best) -> list[Workflow]:
    """The workflow, and those with the next candidate of one of its conditions."""
    found = [best.workflow]
    for place, decision in best.draft.plan.decisions.items():
        for number, (candidates, _) in enumerate(decision.ways):
            for one in candidates[1:3]:
                changed = await _with(work, best.draft, {**work.answers, (place, number): one.expr}, "")
                if changed is not None and not changed.failures:
                    found.append(changed.workflow)
    return found


async def _edit(work: Work, best: Best) -> Workflow:
    """Lets an agent edit the draft by the graph tools, with the counter-examples; what gets worse is dropped."""
    draft = DraftSandbox(
        work.business.specs, work.task.inputs, work.task.id, [trace.inputs for trace in work.traces], work.task.query
    )
    draft.begin(best.workflow)
    right = [trace for place, trace in enumerate(work.traces) if work.right(place)]
    brief = summarize_brief(work.task, right[:2], work.business.specs)
    told = [
        brief.task.removesuffix("Build the workflow.").rstrip(),
        "",
        "This workflow was derived from the traces:",
        draft.state(),
        "",
        *(failure.tell() for failure in best.failures[:2]),
        "Change the graph so that these come out right, with as few calls as you can, then finish.",
    ]
    budget = budget_left(Budget(turns=EDIT_TURNS), work.settings, work.traces)
    agent = make_agent("r", work.summarizer, budget, work.settings, 0)
    work.edits = await agent.execute(brief.model_copy(update={"task": "\n".join(told)}), draft)
    edited = draft.workflow
    if edited is None or check(edited, work.business.specs):
        return best.workflow
    if len(await work.failures(edited)) < len(best.failures):
        work.mends.append("edit")
        return edited
    return best.workflow


def leaks(workflow: Workflow, task: Task) -> tuple[str, ...]:
    """The constants of a workflow that equal a whole input of an example and that the task does not name.

    Truth values and small whole numbers are too common to tell.
    """
    reading = read(task.query)
    values = [value for example in task.examples for value in example.input.values()]
    found: list[str] = []
    for node in workflow.nodes:
        if not isinstance(node, ToolNode):
            continue
        for name, binding in node.args.items():
            if not isinstance(binding, Literal_) or isinstance(binding.value, bool) or binding.value in (None, 0, 1, 2):
                continue
            named = reading.said(binding.value) >= NAMED if not isinstance(binding.value, list | dict) else False
            if not named and any(json_equal(binding.value, value) for value in values):
                found.append(f"{node.id}.{name}: {dump_json(binding.value)}")
    return tuple(found)


NAMED = 0.9


async def influence(work: Work, workflow: Workflow) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The inputs that never change the output, and those of them that the workflow reads all the same.

    Each input is exchanged with that of another example, and with values near it.
    """
    idle: list[str] = []
    examples = [example.input for example in work.task.examples]
    for name in work.task.inputs.get("properties", {}):
        pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []
        for case in examples:
            for other in examples:
                if name in case and name in other and not json_equal(case[name], other[name]):
                    pairs.append((case, {**case, name: other[name]}))
        if not pairs:
            continue
        cases = [case for pair in pairs for case in pair]
        answers = [
            dump_json(trace.answer) if trace.error is None else "error" for trace in await work.run_on(workflow, cases)
        ]
        if all(one == other for one, other in zip(answers[::2], answers[1::2], strict=True)):
            idle.append(name)
    text = workflow.document
    return tuple(idle), tuple(name for name in idle if text.count(f'"{name}"') > 1)
