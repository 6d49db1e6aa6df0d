"""Cases of a workflow with untrusted tools: in FlowMind's worker, in monty, in LangGraph with restricted tools."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from experiments.bench import workflows
from experiments.bench.measuring import Bench, Contender, Goal, Sample, loop
from flowmind.run.running import run_batch, run_many
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.language import policy
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.sandbox.workers import Isolating, WorkerPool
from tools_registry.specs.schema import validator
from tools_registry.specs.spec import ToolSource
from tools_registry.specs.values import call_checked

SOURCE = '''def increase(x: int) -> int:
    """Adds one.

    Args:
        x: A number.
    """
    return x + 1
'''
CASES = 100
INPUTS = [{"x": number} for number in range(CASES)]
ANSWERS = [number + workflows.NODES for number in range(CASES)]
OURS, RECORDS, EACH, MONTY, MONTY_AT_ONCE, LANGGRAPH = (
    "FlowMind, 100 cases a round trip, results kept for the trace", "FlowMind, the same, every trace made",
    "FlowMind, a process for each case", "monty, one feed a case", "monty, all cases in one feed",
    "langgraph, restricted tools in process",
)  # fmt: skip
MONTY_CODE = "\n".join(
    [SOURCE, "def flow(x: int) -> int:", *["    x = increase(x)"] * workflows.NODES, "    return x", ""]
)


def _right(answers: list[Any]) -> bool:
    return answers == ANSWERS


@contextmanager
def ours(work: Callable[[Workflow, LocalSandbox], list[Any]], isolation: Isolating = "batch") -> Generator[Sample]:
    """Samples work in a worker that is already running, or in a worker for each case."""
    pool = WorkerPool(1, isolation=isolation, require="none")
    sandbox = LocalSandbox([ToolSource.parse(SOURCE)], pool)
    with pool, loop(partial(work, workflows.linear(), sandbox), _right) as sample:
        yield sample


def as_answers(workflow: Workflow, sandbox: LocalSandbox) -> list[Any]:
    """As an evaluation runs cases: inputs and arguments are checked, results are kept for the trace."""
    return [ran.answer for ran in run_many(workflow, INPUTS, sandbox)]


def as_records(workflow: Workflow, sandbox: LocalSandbox) -> list[Any]:
    """The same, with a `Trace` of every case."""
    return [trace.answer for trace in run_batch(workflow, INPUTS, sandbox)]


@contextmanager
def monty(at_once: bool) -> Generator[Sample]:
    """Samples cases in a worker of monty that has the functions already."""
    library: Any = import_module("pydantic_monty")
    with library.Monty() as pool, pool.checkout() as session:
        session.feed_run(MONTY_CODE)

        def each() -> list[Any]:
            return [session.feed_run("flow(x)", inputs=case) for case in INPUTS]

        def all_of_them() -> list[Any]:
            return session.feed_run("[flow(x) for x in xs]", inputs={"xs": [case["x"] for case in INPUTS]})

        with loop(all_of_them if at_once else each, _right) as sample:
            yield sample


def langgraph() -> AbstractContextManager[Sample]:
    """Samples a LangGraph graph that calls a tool compiled under FlowMind's policy, with checked arguments."""
    scope = policy.namespace()
    exec(policy.compile_tools(SOURCE, "increase").code, scope)
    check = validator(ToolSource.parse(SOURCE).spec.parameters)

    def increase(x: int) -> int:
        return call_checked(scope["increase"], check, {"x": x})

    graph = workflows.langgraph_of(workflows.linear(), {"increase": increase})
    return loop(lambda: [graph.invoke(case)["x"] for case in INPUTS], _right)


def benches() -> tuple[Bench, ...]:
    """One benchmark."""
    contenders = (
        Contender(OURS, partial(ours, as_answers)),
        Contender(RECORDS, partial(ours, as_records)),
        Contender(EACH, partial(ours, as_answers, "case")),
        Contender(MONTY, partial(monty, False), ("pydantic_monty",)),
        Contender(MONTY_AT_ONCE, partial(monty, True), ("pydantic_monty",)),
        Contender(LANGGRAPH, langgraph, ("langgraph",)),
    )
    goals = (
        Goal(OURS, MONTY, "faster", 8.0),
        Goal(OURS, LANGGRAPH, "faster", 300.0),
        Goal(OURS, "", "within", 5.0),
        Goal(EACH, "", "within", 5_000.0),
    )
    title = "Sandboxed cases of a workflow of 10 calls"
    return (Bench("sandbox", title, "µs", "a case", contenders, goals, CASES),)
