"""Serves a stream by a guarded workflow, and notes what became of each request."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from experiments.drift.changes import UNCHANGED, Change, Kind
from experiments.drift.tasks import StreamTask, chosen_change, stream
from experiments.drift.worlds import (
    Agent,
    AgentFailed,
    Expected,
    Fault,
    Outcome,
    Request,
    World,
    as_function,
    same_writes,
)
from experiments.record import Kept
from flowmind.base.files import dump_json
from flowmind.jit.deriving import FEWEST
from flowmind.jit.handle import jit
from flowmind.jit.outcomes import Stopped
from flowmind.jit.settings import Derive, Promotion
from flowmind.jit.store import Store
from flowmind.recording.boundary import recorded
from flowmind.workflow.document import Workflow
from tools_registry.specs.schema import JSONSchema, json_equal
from tools_registry.specs.spec import Record, ToolCall, ToolSpec
from tools_registry.specs.values import copy_json

AT_ONCE = Promotion(runs=0, by="experiment")
"""Versions go live without rehearsals, so that the guards alone are measured."""


class Served(Record):
    """What became of a request."""

    kind: str
    """The kind of the run, as `RunRecord.kind`."""
    guard: str = ""
    """The guard that stopped the workflow."""
    right: bool | None = None
    """Whether an answer of the workflow is right, with its writes."""
    audit: bool | None = None
    """What an audit showed; None if there was none."""
    repeated: int = 0
    """The writes that were made more often than the agent makes them."""


class Subject(NamedTuple):
    """What a workflow is about."""

    name: str
    query: str
    inputs: JSONSchema


class Stream(Record):
    """A stream that was served."""

    kind: Kind
    change: str
    guards: str
    served: tuple[Served, ...]
    half: int
    """The number of requests before the change."""
    was_live: bool
    """Whether a version was live at half time."""
    seconds: float
    """The duration of the derivations, in seconds of the processor."""
    was_slow: bool
    """Whether derivations took so long that versions were not derived any more."""


class TaskStreams(Kept):
    """The streams of a task."""

    control_flow: str
    streams: tuple[Stream, ...]
    skipped: tuple[Kind, ...] = ()
    """The changes that do not matter to the task."""
    seconds: float = 0.0


class Service:
    """A guarded workflow over a world.

    Args:
        task: The name, the text and the inputs of the task.
        world: Its tools.
        agent: Makes the agent of the recorded tools. The agent takes the inputs and returns the answer.
        store: The file of the store.
        guards: `all` or `none`.
        promotion: When versions go live.
        audit: The share of the answers that the agent works again.
        derive: Where versions are derived.
    """

    def __init__(
        self,
        task: Subject,
        world: World,
        agent: Callable[[Sequence[Callable[..., Any]]], Callable[[dict[str, Any]], Any]],
        store: Path,
        guards: str,
        promotion: Promotion,
        audit: float = 0.0,
        derive: Derive = "now",
    ) -> None:
        self._name = task.name
        self._world = world
        self._store = Store(store)
        tools = recorded(world.functions())
        answer = as_function(
            ToolSpec(name="answer", description=task.query, parameters=task.inputs, returns={}), agent(tools)
        )
        self._handle = jit(
            tools, query=task.query, store=self._store, mode="live", name=task.name, derive=derive, guards=guards,
            promotion=promotion, audit=audit,
        )(answer)  # fmt: skip

    @property
    def is_live(self) -> bool:
        """Whether a version answers."""
        return self._handle.engine.live is not None

    def serve(self, request: Request, expected: Expected, fault: Fault = "") -> Served:
        """Serves a request.

        Args:
            request: The request.
            expected: What the agent does with it if no call fails.
            fault: How calls fail.
        """
        self._world.begin(request, fault)
        answer: Any = None
        with suppress(AgentFailed, Stopped):
            answer = self._handle(**copy_json(request.inputs))
        run = self._store.runs(self._name, 1)[0]
        made = tuple(self._world.written)
        right = json_equal(answer, expected.answer) and same_writes(made, expected.written)
        return Served(
            kind=run.kind,
            guard=run.guard or "",
            right=right if run.kind == "hit" else None,
            audit=self._audit(run.id),
            repeated=repeated(made, expected.written),
        )

    def _audit(self, run: str) -> bool | None:
        with self._store.reading() as database:
            row = database.execute("select right from audits where run = ?", (run,)).fetchone()
        return None if row is None or row[0] is None else bool(row[0])

    def close(self) -> None:
        """Closes the store."""
        self._handle.close()
        self._store.close()


def repeated(made: Sequence[ToolCall], expected: Sequence[ToolCall]) -> int:
    """The writes that were made again: more than once, and more often than expected."""
    counts = [Counter(f"{call.tool} {dump_json(call.args)}" for call in calls) for calls in (made, expected)]
    return sum(max(0, count - max(1, counts[1][write])) for write, count in counts[0].items())


class Plan(Record):
    """How streams are served."""

    kinds: tuple[Kind, ...] = ("none",)
    """The changes at half time."""
    guards: tuple[str, ...] = ("all", "none")
    requests: int = 24
    """The requests of a stream."""
    audit: float = 0.0
    """The share of the answers that the agent works again."""
    patience: float = 60.0
    """The seconds of the processor after which a stream derives no more versions."""


def streams_of(task: StreamTask, world: World, plan: Plan) -> TaskStreams:
    """Serves the streams of a task: with each kind of change, under each setting of the guards.

    Streams share what they have in common: the first requests, which the agent answers, and the first half. Where they
    part, the process is as if started anew, with the same store.

    Args:
        task: The task.
        world: Its tools.
        plan: The changes and the settings.
    """
    began = time.perf_counter()
    requests = stream(task, world, plan.requests)
    half = len(requests) if plan.kinds == ("none",) else len(requests) // 2
    opening, early, later = requests[:FEWEST], requests[FEWEST:half], requests[half:]
    changes: dict[Kind, tuple[Change, Workflow] | None] = {
        kind: chosen_change(kind, task, world, later) for kind in plan.kinds
    }
    streams: list[Stream] = []
    with tempfile.TemporaryDirectory(prefix="flowmind-drift-") as folder:
        path = Path(folder) / "opening.db"
        opened = _part(task, task.gold, world, path, plan, "all", opening, 0.0)
        for guards in plan.guards:
            half_way = _copied(path, guards)
            before = _part(task, task.gold, world, half_way, plan, guards, early, opened.seconds)
            for kind, chosen in changes.items():
                if chosen is None:
                    continue
                world.change, workflow = chosen
                end = _copied(half_way, f"{guards}-{kind}")
                after = _part(task, workflow, world, end, plan, guards, later, before.seconds)
                world.change = UNCHANGED
                streams.append(
                    Stream(
                        kind=kind,
                        change=str(chosen[0]),
                        guards=guards,
                        served=opened.served + before.served + after.served,
                        half=half,
                        was_live=before.is_live,
                        seconds=round(after.seconds, 1),
                        was_slow=after.seconds > plan.patience,
                    )
                )
    return TaskStreams(
        id=task.id,
        control_flow=task.task.control_flow,
        streams=tuple(streams),
        skipped=tuple(kind for kind, chosen in changes.items() if chosen is None),
        seconds=round(time.perf_counter() - began, 1),
    )


def _copied(path: Path, name: str) -> Path:
    """A copy of a store that is closed."""
    return Path(shutil.copyfile(path, path.with_name(f"{name}.db")))


class _Part(NamedTuple):
    """A part of a stream that was served."""

    served: tuple[Served, ...]
    is_live: bool
    seconds: float


def _part(
    task: StreamTask,
    workflow: Workflow,
    world: World,
    store: Path,
    plan: Plan,
    guards: str,
    requests: Sequence[Request],
    seconds: float,
) -> _Part:
    """Serves requests by a service of its own over a store.

    Args:
        task, world, store, plan, guards: What is served, and how.
        workflow: What the agent does.
        requests: The requests.
        seconds: The seconds of the processor that the stream has taken before.
    """
    subject = Subject(task.id, task.task.query, task.task.inputs)
    alone = Agent(workflow, world)

    def service(derive: Derive) -> Service:
        agent: Callable[[Sequence[Callable[..., Any]]], Any] = lambda tools: Agent(workflow, world, tools).answer  # noqa: E731
        return Service(subject, world, agent, store, guards, AT_ONCE, plan.audit, derive)

    served: list[Served] = []
    learns = seconds <= plan.patience
    serving = service("now" if learns else "never")
    for request in requests:
        outcome = alone.outcome(request)
        fault = _fault(outcome, world) if world.change.kind == "failure" else ""
        began = time.process_time()
        served.append(serving.serve(request, outcome.expected, fault))
        seconds += time.process_time() - began
        if learns and seconds > plan.patience:
            learns = False
            serving.close()
            serving = service("never")
    live = serving.is_live
    serving.close()
    return _Part(tuple(served), live, seconds)


def _fault(outcome: Outcome, world: World) -> Fault:
    """How calls fail after the write of a request: those that follow, or the write itself if none follows."""
    writes = [world.specs[step.call.tool].effect == "write" for step in outcome.trace.calls]
    if True not in writes:
        return ""
    return "lost" if writes.index(True) == len(writes) - 1 else "after"
