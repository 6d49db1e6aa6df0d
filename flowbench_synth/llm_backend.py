"""The benchmark with a model as its source: the model writes tools and tasks, and executes the tasks.

The stages are those of the FlowMind paper (appendix B.3). A task is kept only if the workflow that was built from the
model's trace gives the answer of that trace, and if the model does not pass the tests without tools.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, cast

import tqdm

from flowbench_synth.audit import audit_task, solved_by_search
from flowbench_synth.builder import Constructed, write
from flowbench_synth.composition import slots_for
from flowbench_synth.features import control_flow, tool_calls
from flowbench_synth.instance import NAME, BuildError, Gold, Instance, Stage, stage, stage_table
from flowbench_synth.quality import check_tools
from flowbench_synth.tasks import answer_schema, cover, covered
from flowmind.agents.replies import Unreadable, read_object
from flowmind.api.solving import solve
from flowmind.base.errors import ModelFailure
from flowmind.base.files import dump_json
from flowmind.build.settings import Settings
from flowmind.evaluation.executions import is_complete
from flowmind.llm.choosing import model_named
from flowmind.protocols import ChatModel, ChatRequest, Message
from flowmind.run.running import run, run_batch
from flowmind.trace.task import Example, Task
from flowmind.workflow.document import Workflow
from tools_registry.catalog import CatalogTool, Category, tools_in
from tools_registry.sandbox.environments import LocalSandbox, WorkerPool
from tools_registry.sandbox.isolation import Level
from tools_registry.sandbox.workers import Isolating
from tools_registry.specs.schema import SchemaError, json_equal, validator

BATCH = 4
"""Tools per request."""
SHOWN = 8
"""Tools that the prompt for a task lists, and that the task offers."""
LEAST = 6
"""The fewest different inputs of a task: two examples and four tests."""
_PROMPTS = Path(__file__).parent / "prompts"
_LEVELS = {"linear": "easy", "branch": "medium", "iteration": "medium", "branch+iteration": "hard"}
_THEMES: dict[str, str] = {
    "mathematical_computation": "computing with numbers: money, measures, digits, statistics, rounding",
    "data_processing": "lists and records: choosing, sorting, grouping, joining, dates",
    "string_manipulation": "texts: searching, splitting, replacing, formatting, cleaning",
    "logical_reasoning": "truth values, sets, rules, orderings, constraints",
}


class Dropped(Exception):
    """A candidate is dropped; the message is the reason."""


def build_with_model(
    name: str,
    seed: int,
    out: Path,
    size: int,
    categories: Sequence[Category],
    tools_each: int,
    isolation: Isolating = "case",
    require: Level = "kernel",
) -> dict[str, Any]:
    """Writes a benchmark with the tools and tasks of a model, and returns its manifest.

    Args:
        name: The model, as for experiments.
        seed: The seed for the choice of tools for a task, and for the model's sampling.
        out: The folder.
        size: The number of tasks to write; dropped tasks are not replaced.
        categories: The categories.
        tools_each: The number of tools to write for each category.
        isolation: A process for each case, because the model writes the tools; or for each batch of cases.
        require: The least isolation of the workers.

    Raises:
        BuildError: If no instance passed all stages; the message has the reports of the stages.
        ModelUnavailable: If the model cannot be reached.
    """
    with (
        WorkerPool(2, isolation=isolation, require=require) as first,
        WorkerPool(1, isolation=isolation, require=require) as second,
        WorkerPool(1, require=require) as trying,
    ):
        model = model_named(name, LocalSandbox([], first))
        writer = _Writer(model, seed, (first, second), trying)
        return asyncio.run(_closing(model, writer.build(out, size, categories, tools_each)))


async def _closing(model: ChatModel, work: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """The result of the work; the connections of the model are closed after it."""
    try:
        return await work
    finally:
        await model.aclose()


class _Writer:
    def __init__(
        self, model: ChatModel, seed: int, pools: tuple[WorkerPool, WorkerPool], trying: WorkerPool | None = None
    ) -> None:
        self.model = model
        self.seed = seed
        self.pools = pools
        self.trying = trying
        """The workers of the trial calls of `search`, whose results are no score."""

    async def build(self, out: Path, size: int, categories: Sequence[Category], tools_each: int) -> dict[str, Any]:
        """Runs the four stages and returns the manifest."""
        tools, unread = await self.write_tools(categories, tools_each)
        sound, poor = check_tools(tools, self.pools)
        stages = [
            stage("tool synthesis", "tools", len(tools), unread),
            stage("tool quality checks", "tools", len(sound), poor),
        ]
        slots = slots_for(size, categories)
        instances: list[tuple[Instance, str]] = []
        lost: list[tuple[str, str]] = []

        async def work(number: int, category: Category) -> None:
            label = f"{category} {number}"
            try:
                instances.append((await self.write_instance(number, category, sound), label))
            except Dropped as reason:
                lost.append((label, str(reason)))
            except ModelFailure:
                lost.append((label, "the model gave no reply"))

        await _with_bar("tasks", [partial(work, number, category) for number, category in enumerate(slots, 1)])
        instances.sort(key=lambda item: item[0].task.id)
        stages.append(stage("task and workflow synthesis", "tasks", len(instances), sorted(lost)))
        passed: list[Constructed] = []
        failed: list[tuple[str, str]] = []
        for instance, label in instances:
            result, reason = await asyncio.to_thread(self.audited, instance, sound)
            if reason is None and await self.solved_without_tools(instance):
                reason = "solved as well without tools"
            if reason is None:
                passed.append(result)
            else:
                failed.append((label, reason))
        stages.append(stage("instance filtering", "instances", len(passed), failed))
        if not passed:
            raise BuildError(f"no instance passed all stages\n{_report(stages)}")
        return write(out, self.seed, f"llm ({self.model.name})", passed, sound, stages)

    async def ask(self, *messages: tuple[str, str], max_tokens: int = 2_048, seed: int = 0) -> str:
        """The model's reply to a conversation of (role, content)."""
        request = ChatRequest(
            messages=tuple(Message.model_validate({"role": role, "content": text}) for role, text in messages),
            max_tokens=max_tokens,
            temperature=0.7,
            seed=self.seed + seed,
        )
        return (await self.model.complete(request)).text

    # Stage 1

    async def write_tools(
        self, categories: Sequence[Category], each: int
    ) -> tuple[list[CatalogTool], list[tuple[str, str]]]:
        """The candidates for tools, and the parts of the replies that are no tool, with the reason."""
        tools: list[CatalogTool] = []
        lost: list[tuple[str, str]] = []

        async def work(category: Category, number: int, count: int) -> None:
            ask = f"Write {count} functions for {_THEMES[category]}. Make them different from one another. "
            ask += "End each docstring with three examples, each a line with >>> and a line with its result."
            known = ", ".join(tool.spec.name for tool in tools if tool.category == category)
            ask += f" There are already: {known}." if known else ""
            example = ("Write 1 function for prices.", _prompt("write_tools_example"))
            try:
                text = await self.ask(
                    ("system", _prompt("write_tools")), ("user", example[0]), ("assistant", example[1]), ("user", ask),
                    seed=number,
                )  # fmt: skip
            except ModelFailure:
                lost.append((category, "the model gave no reply"))
                return
            for tool in tools_in(_code(text), category, "written"):
                if isinstance(tool, CatalogTool):
                    tools.append(tool)
                else:
                    lost.append(tool)

        rounds = [min(BATCH, each - start) for start in range(0, each, BATCH)]
        jobs = [
            partial(work, category, number, count) for category in categories for number, count in enumerate(rounds)
        ]
        await _with_bar("tools", jobs, at_once=1)
        return tools, lost

    # Stage 3

    async def write_instance(self, number: int, category: Category, tools: Sequence[CatalogTool]) -> Instance:
        """A task that the model wrote and solved, with the answers of the workflow built from its trace.

        Raises:
            Dropped: With the reason.
        """
        rng = Random(f"{NAME}/{self.seed}/{category}/{number}")
        mine = [tool for tool in tools if tool.category == category]
        if len(mine) < 2:
            raise Dropped("fewer than two tools of the category are left")
        offered = rng.sample(mine, min(SHOWN, len(mine)))
        task, cases = await self.write_task(number, category, offered)
        box = LocalSandbox(offered, self.pools[0])
        worked = task.model_copy(update={"examples": (Example(input=cases[0], output=None),)})
        solution = await solve(worked, box, self.model, Settings(mode="es-react", seed=self.seed))
        if not any(map(is_complete, solution.traces)):
            raise Dropped("the model did not finish its own task")
        if solution.workflow is None or not solution.graph_valid:
            raise Dropped("no sound workflow came of its trace")
        trace = solution.traces[0]
        replayed = run(solution.workflow, cases[0], box)
        if not replayed.ok or not json_equal(replayed.answer, trace.answer):
            raise Dropped("its trace does not replay")
        if len(tool_calls(solution.workflow)) < 2:
            raise Dropped("a single call solves it")
        return self.cut(task, cases, solution.workflow, box)

    async def write_task(
        self, number: int, category: Category, offered: Sequence[CatalogTool]
    ) -> tuple[Task, list[dict[str, Any]]]:
        """A task without examples, and its inputs.

        Raises:
            Dropped: With the reason.
        """
        documents = "\n".join(tool.spec.document() for tool in offered)
        text = await self.ask(
            ("system", _prompt("write_task")), ("user", f"Tools:\n{documents}\n\nWrite a task."), seed=number
        )
        try:
            raw = read_object(text, "query", "inputs", "cases")
        except Unreadable:
            raise Dropped("the reply holds no task") from None
        try:
            properties = cast(dict[str, Any], raw["inputs"])
            schema: dict[str, Any] = {"type": "object", "properties": properties, "required": list(properties)}
            schema["additionalProperties"] = False
            fits = validator(schema)
            task = Task(
                id=f"llm_{category.partition('_')[0]}_{number:03}",
                category=category,
                query=str(raw["query"]),
                inputs=schema,
                tools=tuple(tool.spec.name for tool in offered),
            )
        except (SchemaError, ValueError, TypeError, AttributeError):
            raise Dropped("the inputs are not described as asked") from None
        entries = cast(list[Any], raw["cases"]) if isinstance(raw["cases"], list) else []
        cases = {dump_json(case): cast(dict[str, Any], case) for case in entries if fits(case) is None}
        if len(cases) < LEAST:
            raise Dropped(f"fewer than {LEAST} different inputs that fit")
        return task, list(cases.values())

    def cut(self, task: Task, cases: Sequence[dict[str, Any]], workflow: Workflow, box: LocalSandbox) -> Instance:
        """An instance whose examples and tests are inputs that the workflow answers.

        Raises:
            Dropped: If there are too few of them.
        """
        traces = run_batch(workflow, cases, box)
        good = [(case, trace) for case, trace in zip(cases, traces, strict=True) if trace.ok]
        if len(good) < LEAST:
            raise Dropped(f"the workflow answers fewer than {LEAST} inputs")
        cases, traces = [case for case, _ in good], [trace for _, trace in good]
        coverage = covered(workflow, (cases, traces), box)
        example_indexes = cover(range(len(cases)), traces, coverage.parts, 2)
        others = [index for index in range(len(cases)) if index not in example_indexes]
        shape = control_flow(workflow)
        examples, tests = (
            tuple(Example(input=cases[index], output=traces[index].answer) for index in chosen)
            for chosen in (example_indexes, cover(others, traces, coverage.parts, 5))
        )
        task = task.model_copy(
            update={
                "difficulty": _LEVELS[shape],
                "control_flow": shape,
                "output": answer_schema([trace.answer for trace in traces]),
                "examples": examples,
            }
        )
        workflow = workflow.model_copy(update={"name": task.id})
        gold = Gold(id=task.id, workflow=workflow.dump(), trace=traces[example_indexes[0]].dump())
        return Instance(task=task, tests=tests, gold=gold)

    # Stage 4

    def audited(self, instance: Instance, tools: Sequence[CatalogTool]) -> tuple[Constructed, str | None]:
        """An instance with its audit, and the first problem of the audit."""
        known = {tool.spec.name: tool for tool in tools}
        workflow = Workflow.model_validate(instance.gold.workflow)
        audit = audit_task(instance.task, instance.tests, workflow, known, self.pools, sized=False)
        if audit.problems:
            return Constructed(instance, audit, (), False), re.sub(r"'[^']*'|\d+", "…", audit.problems[0])
        solved = solved_by_search(instance.task, instance.tests, known, self.pools[0], self.trying)
        return Constructed(instance, audit, (), solved), None

    async def solved_without_tools(self, instance: Instance) -> bool:
        """Whether the model answers every test correctly without tools."""
        for test in instance.tests:
            text = f"{instance.task.text()}\n\nInput: {dump_json(test.input)}"
            try:
                reply = await self.ask(("system", _prompt("answer_plain")), ("user", text), max_tokens=512)
                if not json_equal(read_object(reply, "answer")["answer"], test.output):
                    return False
            except (Unreadable, ModelFailure):
                return False
        return True


async def _with_bar(what: str, jobs: Sequence[Callable[[], Awaitable[None]]], at_once: int = 4) -> None:
    gate = asyncio.Semaphore(at_once)
    with tqdm.tqdm(total=len(jobs), desc=f"writing {what}", unit=what.rstrip("s")) as bar:

        async def work(job: Callable[[], Awaitable[None]]) -> None:
            async with gate:
                await job()
            bar.update()

        await asyncio.gather(*map(work, jobs))


def _report(stages: Sequence[Stage]) -> str:
    notes = [f"- {report.stage}: {note}" for report in stages for note in report.notes]
    return "\n".join([stage_table(stages), *notes])


def _prompt(name: str) -> str:
    return (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip()


def _code(text: str) -> str:
    """The code in a reply: its code blocks, or the whole reply."""
    blocks = re.findall(r"```(?:python|py)?\n(.*?)(?:```|\Z)", text, flags=re.DOTALL)
    return "\n".join(blocks) if blocks else text
