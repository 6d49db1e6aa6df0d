"""Running a workflow of trivial tools: plain Python, FlowMind's compiled function, LangGraph."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from itertools import pairwise
from typing import Any, TypedDict

from experiments.bench.measuring import Bench, Contender, Goal, Sample, loop
from flowmind.api.runnable import RunnableWorkflow
from flowmind.run.compiler import compile_workflow
from flowmind.run.running import require_sound
from flowmind.workflow.document import Workflow
from flowmind.workflow.program import Outcome, Tool, load, replay, run_brief
from tools_registry.sandbox.environment import DEFAULT_BUDGET
from tools_registry.sandbox.functions import FunctionEnvironment

NODES = 10
ROUNDS = 100
PLAIN, OURS, STEPS, CALLED, LANGGRAPH = (
    "plain Python", "FlowMind, step budget, results kept for the trace", "FlowMind, the same, every step made",
    "RunnableWorkflow, inputs and arguments checked", "langgraph invoke",
)  # fmt: skip
GOALS = (
    Goal(OURS, PLAIN, "slower", 3.0),
    Goal(OURS, LANGGRAPH, "faster", 1_000.0),
    Goal(CALLED, LANGGRAPH, "faster", 50.0),
)


class State(TypedDict):
    """The state of a LangGraph graph."""

    x: int


def increase(x: int) -> int:
    """Adds one.

    Args:
        x: A number.
    """
    return x + 1


def halve(x: int) -> int:
    """Halves.

    Args:
        x: A number.
    """
    return x // 2


def triple(x: int) -> int:
    """Triples.

    Args:
        x: A number.
    """
    return 3 * x


FUNCTIONS = (increase, halve, triple)
TOOLS: dict[str, Tool] = {"increase": increase, "halve": halve, "triple": triple}
"""The same functions as a compiled workflow calls them, unchecked."""


def draw(calls: dict[str, str], conditions: dict[str, str], *paths: str) -> Workflow:
    """A workflow over one variable `x`, which each of its calls reads and writes.

    Args:
        calls: Node id to tool.
        conditions: Node id to expression.
        paths: Node ids in order; `more.true` is an arm of a condition.
    """
    edges: list[dict[str, Any]] = []
    for path in paths:
        for before, after in pairwise(path.split()):
            source, _, arm = before.partition(".")
            edges.append({"from": source, "to": after.partition(".")[0], "when": arm == "true" if arm else None})
    read = {"x": {"var": "x"}}
    nodes: list[dict[str, Any]] = [
        {"id": "start", "kind": "start"},
        *({"id": id, "kind": "tool", "tool": tool, "args": read, "output": "x"} for id, tool in calls.items()),
        *({"id": id, "kind": "condition", "expr": expr} for id, expr in conditions.items()),
        {"id": "end", "kind": "end", "output": {"var": "x"}},
    ]
    inputs = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    workflow = Workflow.model_validate({"inputs": inputs, "nodes": nodes, "edges": edges})
    require_sound(workflow, FunctionEnvironment(FUNCTIONS).specs)
    return workflow


def linear() -> Workflow:
    """Ten calls, one after the other."""
    return chain(NODES)


def chain(size: int) -> Workflow:
    """So many calls, one after the other."""
    names = [f"n{number}" for number in range(size)]
    return draw(dict.fromkeys(names, "increase"), {}, " ".join(["start", *names, "end"]))


def branching() -> Workflow:
    """A call, a condition, a call on either arm, and one after them."""
    calls = {"first": "increase", "half": "halve", "thrice": "triple", "last": "increase"}
    return draw(calls, {"even": "x % 2 == 0"}, "start first even.true half last end", "even.false thrice last")


def looping() -> Workflow:
    """A call as long as a condition holds."""
    return draw({"up": "increase"}, {"more": f"x < {ROUNDS}"}, "start more.true up more", "more.false end")


def plain_linear(x: int) -> int:
    """`linear` in Python."""
    x = increase(x)
    x = increase(x)
    x = increase(x)
    x = increase(x)
    x = increase(x)
    x = increase(x)
    x = increase(x)
    x = increase(x)
    x = increase(x)
    return increase(x)


def plain_branching(x: int) -> int:
    """`branching` in Python."""
    x = increase(x)
    x = halve(x) if x % 2 == 0 else triple(x)
    return increase(x)


def plain_looping(x: int) -> int:
    """`looping` in Python."""
    while x < ROUNDS:
        x = increase(x)
    return x


def ours(workflow: Workflow, answer: int, steps: bool) -> AbstractContextManager[Sample]:
    """The compiled function of a workflow, with its budget and what the tools gave, and all steps if they are asked
    for."""
    program, full = compile_workflow(workflow, brief=True), compile_workflow(workflow)
    brief, compiled = load(program.source, program.constants), load(full.source, full.constants)
    tools = [TOOLS[name] for name in program.tools]
    inputs = {"x": 0}

    def with_steps() -> Outcome:
        outcome = run_brief(brief, inputs, tools, DEFAULT_BUDGET)
        return outcome._replace(steps=replay(compiled, len(full.tools), inputs, outcome, DEFAULT_BUDGET))

    work = with_steps if steps else partial(run_brief, brief, inputs, tools, DEFAULT_BUDGET)
    return loop(work, lambda outcome: outcome.answer == answer and outcome.error is None and len(outcome.steps) > 1)


def called(workflow: Workflow, answer: int) -> AbstractContextManager[Sample]:
    """What a user calls: a workflow with own functions, inputs and arguments checked; no trace is looked at."""
    runnable = RunnableWorkflow(workflow, FUNCTIONS)
    return loop(partial(runnable, {"x": 0}), lambda result: result == answer)


def plain(function: Callable[[int], int], answer: int) -> AbstractContextManager[Sample]:
    """A plain function."""
    return loop(partial(function, 0), lambda result: result == answer)


def _node(function: Callable[[int], int]) -> Callable[[State], State]:
    return lambda state: {"x": function(state["x"])}


def langgraph_linear(function: Callable[[int], int] = increase) -> Any:
    """`linear` as a LangGraph graph."""
    from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]

    graph: Any = StateGraph(State)
    names = [f"n{number}" for number in range(NODES)]
    for name in names:
        graph.add_node(name, _node(function))
    for before, after in pairwise([START, *names, END]):
        graph.add_edge(before, after)
    return graph.compile()


def langgraph_branching() -> Any:
    """`branching` as a LangGraph graph."""
    from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]

    def arm(state: State) -> str:
        return "half" if state["x"] % 2 == 0 else "thrice"

    graph: Any = StateGraph(State)
    for name, function in {"first": increase, "half": halve, "thrice": triple, "last": increase}.items():
        graph.add_node(name, _node(function))
    graph.add_edge(START, "first")
    graph.add_conditional_edges("first", arm, ["half", "thrice"])
    graph.add_edge("half", "last")
    graph.add_edge("thrice", "last")
    graph.add_edge("last", END)
    return graph.compile()


def langgraph_looping() -> Any:
    """`looping` as a LangGraph graph."""
    from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]

    def more(state: State) -> str:
        return "up" if state["x"] < ROUNDS else END

    graph: Any = StateGraph(State)
    graph.add_node("up", _node(increase))
    graph.add_conditional_edges(START, more, ["up", END])
    graph.add_conditional_edges("up", more, ["up", END])
    return graph.compile()


def langgraph(build: Callable[[], Any], answer: int) -> AbstractContextManager[Sample]:
    """A LangGraph graph."""
    work = partial(build().invoke, {"x": 0}, {"recursion_limit": 10 * ROUNDS})
    return loop(work, lambda state: state["x"] == answer)


def _bench(
    name: str, title: str, each: str, size: int, workflow: Workflow, function: Any, graph: Any, answer: int
) -> Bench:
    contenders = (
        Contender(PLAIN, partial(plain, function, answer)),
        Contender(OURS, partial(ours, workflow, answer, False)),
        Contender(STEPS, partial(ours, workflow, answer, True)),
        Contender(CALLED, partial(called, workflow, answer)),
        Contender(LANGGRAPH, partial(langgraph, graph, answer), ("langgraph",)),
    )
    return Bench(name, title, "µs", each, contenders, GOALS, size)


def benches() -> tuple[Bench, ...]:
    """Three shapes of workflow."""
    return (
        _bench("linear", "A workflow of 10 calls", "a node", NODES, linear(), plain_linear, langgraph_linear, NODES),
        _bench("branch", "A workflow with a branch", "a run", 1, branching(), plain_branching, langgraph_branching, 4),
        _bench(
            "loop", "A workflow with a loop of 100 rounds", "a round", ROUNDS, looping(), plain_looping,
            langgraph_looping, ROUNDS,
        ),
    )  # fmt: skip
