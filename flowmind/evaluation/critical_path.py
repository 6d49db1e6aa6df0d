"""How long a workflow takes one step after the other, and how long if all that may run at once does.

Source: Qiao et al., ICLR 2025 (WorFBench), section 4.2: the parallel time is the longest path from the start to the
end, where every node counts with the time that it took in serial execution.

What may run at once: a call waits for the calls whose results it reads (through assignments, which take no time of
their own unless they are given one), and for the conditions that decide whether it is done at all, with what these
read. It waits for nothing else: not for what merely stands before it, and not at a join. The elements of a map are
independent of one another; what reads the map's result waits for all of them. Tools are taken for functions of their
arguments, but calls of tools whose spec says that they write wait for all calls before them, and all later ones for
them. Branches and loops are what a run of the workflow did: a trace unrolls them, each round a step of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from flowmind.base.errors import InputError
from flowmind.evaluation.normal_form import controls
from flowmind.trace.events import Asked, Assigned, Called, Evaluated, Trace
from flowmind.workflow.checking import node_reads
from flowmind.workflow.document import Assign, Condition, End, LLMNode, Map, Node, Start, ToolNode, Workflow, reads
from flowmind.workflow.graph import analyse
from tools_registry.specs.spec import Record, ToolSpec

_TIMED = (ToolNode, LLMNode)


class CriticalPath(Record):
    """Serial against parallel time, in seconds."""

    serial_s: float
    parallel_s: float
    path: tuple[str, ...]
    """The steps on the longest path that take time, in order: ids of nodes, in a map's body `map.step`."""

    @property
    def speedup(self) -> float:
        """How many times faster; 1 if nothing takes time."""
        return self.serial_s / self.parallel_s if self.parallel_s else 1.0


def critical_path(
    workflow: Workflow,
    durations: Mapping[str, float],
    trace: Trace | None = None,
    specs: Mapping[str, ToolSpec] | None = None,
) -> CriticalPath:
    """The longest path through a workflow whose steps take the given times.

    Args:
        workflow: It passes `check`.
        durations: Seconds of each tool and llm node, in a map's body under `map.step`; others take none unless given.
            Without a trace a map whose body calls tools has one duration for all its elements, under its own id.
        trace: A successful run of the workflow. A workflow with conditions needs one.
        specs: Which tools write; without them none does.

    Raises:
        InputError: If a duration is missing or negative, or the trace is needed, or not one of this workflow.
    """
    if bad := [name for name, seconds in durations.items() if not 0 <= seconds < float("inf")]:
        raise InputError(f"the duration of {bad[0]!r} is {durations[bad[0]]}; it must be a number of seconds from 0 on")
    writers = {name for name, spec in (specs or {}).items() if spec.effect == "write"}
    schedule = _Schedule(workflow, durations, writers)
    if trace is not None:
        schedule.replay(trace)
    elif branching := [node.id for node in workflow.nodes if isinstance(node, Condition)]:
        raise InputError(f"condition {branching[0]!r} may go either way: give the trace of a run of the workflow")
    else:
        schedule.lay_out()
    return schedule.result()


class _Schedule:
    """Steps with the earliest time at which each is done; a step is known by its number."""

    def __init__(self, workflow: Workflow, durations: Mapping[str, float], writers: set[str]) -> None:
        self.workflow = workflow
        self.durations = durations
        self.writers = writers
        self.shape = analyse(workflow)
        self.controls = controls(workflow, self.shape)
        self.labels: list[str] = []
        self.seconds: list[float] = []
        self.done: list[float] = []
        self.after: list[int | None] = []
        """The step that each one waited for longest."""
        self.values: dict[str, int] = {}
        """The step that has set each variable."""
        self.decided: dict[str, int] = {}
        """The latest step of each condition."""
        self.barrier: int | None = None
        """The latest call that writes."""
        self.since: list[int] = []
        """The calls since then."""

    def add(self, label: str, needs: Iterable[int], must: bool = False) -> int:
        """A step that begins when the steps that it needs are done."""
        if must and label not in self.durations:
            raise InputError(f"there is no duration for {label!r}")
        waited = max(needs, key=lambda step: self.done[step], default=None)
        begins = 0.0 if waited is None else self.done[waited]
        self.labels.append(label)
        self.seconds.append(self.durations.get(label, 0.0))
        self.done.append(begins + self.seconds[-1])
        self.after.append(waited)
        return len(self.labels) - 1

    def call(self, label: str, tool: str | None, needs: set[int]) -> int:
        """A call of a tool or a model."""
        if self.barrier is not None:
            needs = needs | {self.barrier}
        step = self.add(label, sorted(needs | set(self.since) if tool in self.writers else needs), must=True)
        if tool in self.writers:
            self.barrier, self.since = step, []
        else:
            self.since.append(step)
        return step

    def needs(self, node: Node, names: Iterable[str] | None = None) -> set[int]:
        """The steps that a node waits for: those of its variables and of the conditions that decide on it."""
        read = node_reads(node) if names is None else names
        values = {self.values[name] for name in read if name in self.values}
        return values | {self.decided[name] for name, _ in self.controls[node.id] if name in self.decided}

    def perform(self, node: Node) -> None:
        """A node that is no map with calls."""
        match node:
            case Start():
                self.values.update(dict.fromkeys(self.workflow.input_names, self.add(node.id, ())))
            case ToolNode() | LLMNode():
                tool = node.tool if isinstance(node, ToolNode) else None
                self.values[node.output] = self.call(node.id, tool, self.needs(node))
            case Condition():
                self.decided[node.id] = self.add(node.id, sorted(self.needs(node)))
            case End():
                self.add(node.id, sorted(self.needs(node)))
            case _:
                self.values[node.output] = self.add(node.id, sorted(self.needs(node)))

    # Without a trace

    def lay_out(self) -> None:
        """All nodes, in the order of execution."""
        at: str | None = self.shape.start
        while at is not None:
            node = self.workflow.by_id[at]
            called = [step.tool for step in node.body if isinstance(step, ToolNode)] if isinstance(node, Map) else []
            if isinstance(node, Map) and called:
                writer = next((tool for tool in called if tool in self.writers), called[0])
                self.values[node.output] = self.call(node.id, writer, self.needs(node))
            else:
                self.perform(node)
            at = next(iter(self.shape.order.successors(at)), None)

    # With one

    def replay(self, trace: Trace) -> None:
        """The steps of a run, in their order."""
        if not trace.ok:
            raise InputError(f"the trace stopped by {trace.stop}; a run that came to its end is needed")
        assert self.shape.start is not None
        self.perform(self.workflow.by_id[self.shape.start])
        inside: list[str] = []
        for label in [_label(step) for step in trace.events]:
            outer, _, inner = label.partition(".")
            node = self.workflow.by_id.get(outer)
            if node is None or isinstance(node, Start | End) or bool(inner) > isinstance(node, Map):
                raise InputError(f"the trace has a step of {label!r}, which is no step of this workflow")
            if inner:
                inside.append(inner)
            elif isinstance(node, Map):
                self._map(node, inside)
                inside = []
            else:
                self.perform(node)

    def _map(self, node: Map, steps: Sequence[str]) -> None:
        """A map whose body did these steps: element for element, independent of one another."""
        body = {step.id: step for step in node.body}
        entered = self.needs(node)
        listed = self.needs(node, reads(node.over))
        local: dict[str, int] = {}
        last: set[int] = set()
        for number, name in enumerate(steps):
            step = body.get(name)
            if step is None or name != node.body[number % len(node.body)].id:
                raise InputError(f"the trace has a step of '{node.id}.{name}' where the map {node.id!r} has another")
            if number % len(node.body) == 0:
                local = {}
            own = {local[read] for read in node_reads(step) if read in local}
            outer = self.needs(node, node_reads(step) - set(local))
            local[step.output] = self._inner(node, step, own | outer | listed)
            last.add(local[step.output])
        self.values[node.output] = self.add(node.id, sorted(entered | last))

    def _inner(self, node: Map, step: ToolNode | Assign, needs: set[int]) -> int:
        label = f"{node.id}.{step.id}"
        return self.call(label, step.tool, needs) if isinstance(step, ToolNode) else self.add(label, sorted(needs))

    def result(self) -> CriticalPath:
        """The longest path to any step: a run is over when all its calls are."""
        at: int | None = max(range(len(self.done)), key=lambda step: self.done[step])
        parallel = self.done[at]
        path: list[str] = []
        while at is not None:
            if self.seconds[at]:
                path.append(self.labels[at])
            at = self.after[at]
        return CriticalPath(serial_s=sum(self.seconds), parallel_s=parallel, path=tuple(reversed(path)))


def _label(step: object) -> str:
    if isinstance(step, Called | Evaluated | Assigned | Asked) and step.node is not None:
        return step.node
    raise InputError("the trace is no run of a workflow: it has steps without a node")


def tool_seconds(traces: Iterable[Trace]) -> dict[str, float]:
    """For each tool the mean seconds of the turns in which agents called it: thinking, calling and the reply.

    Raises:
        InputError: If no tool call has a turn with measured seconds.
    """
    found: dict[str, list[float]] = {}
    for trace in traces:
        for step in trace.calls:
            if step.turn is not None and step.turn < len(trace.turns) and trace.turns[step.turn].seconds > 0:
                found.setdefault(step.call.tool, []).append(trace.turns[step.turn].seconds)
    if not found:
        raise InputError("the traces have no tool call with the seconds of its turn; give durations by hand")
    return {tool: fmean(seconds) for tool, seconds in found.items()}


def node_durations(workflow: Workflow, seconds: Mapping[str, float]) -> dict[str, float]:
    """The durations of a workflow's calls from those of its tools, as `critical_path` takes them.

    Args:
        workflow: The document.
        seconds: For each tool the seconds of a call; for `llm` nodes under `llm`.

    Raises:
        InputError: If a tool of the workflow is missing.
    """
    found: dict[str, float] = {}
    for node in workflow.nodes:
        steps = [(f"{node.id}.{step.id}", step) for step in node.body] if isinstance(node, Map) else [(node.id, node)]
        for label, step in steps:
            if isinstance(step, _TIMED):
                tool = step.tool if isinstance(step, ToolNode) else "llm"
                if tool not in seconds:
                    raise InputError(f"there are no seconds for {tool!r}, which node {label!r} calls")
                found[label] = seconds[tool]
    return found
