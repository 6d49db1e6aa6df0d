"""Learns versions from executions: derives them here or in another process, and stores what they are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from flowmind.base.processes import HelperEnded, Helpers
from flowmind.jit.deriving import FEWEST, Derived, Job, derive_safely
from flowmind.jit.knowledge import Knowledge, Step
from flowmind.jit.settings import Settings
from flowmind.jit.store import Store
from flowmind.jit.versions import Version, VersionRecord, version_id
from flowmind.trace.events import Trace
from tools_registry.specs.schema import JSONSchema
from tools_registry.specs.spec import ToolSpec

LEASE = 600.0
"""The seconds after which another process may derive if the one that began does not tell."""


class Learner:
    """Derives the versions of one handle, one at a time.

    Args:
        name, query, inputs, specs: The handle.
        store: The store.
        settings: The settings.
        consider: Called after a version was stored; it may promote it.
    """

    def __init__(
        self,
        name: str,
        query: str,
        inputs: JSONSchema,
        specs: Mapping[str, ToolSpec],
        store: Store,
        settings: Settings,
        consider: Callable[[], None],
    ) -> None:
        self._name, self._query, self._inputs, self._specs = name, query, inputs, specs
        self._store = store
        self._settings = settings
        self._consider = consider
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._helpers: Helpers | None = None
        self.wanted = False
        """Whether there are executions that no version was derived from."""

    def absorb(self, version: Version, steps: Sequence[Step]) -> None:
        """Adds an execution, on which a version does what the agent did, to its evidence."""
        redact = self._store.redact
        plain = [step._replace(value=redact(step.value)) for step in steps]
        with self._store.changing():
            for record in self._store.versions(self._name):
                if record.id == version.id and record.state != "retired":
                    known = record.knowledge.with_steps(plain, version.reading)
                    self._store.put(record.model_copy(update={"knowledge": known}))

    def go_on(self) -> None:
        """Derives a version if one is wanted: at once, in a thread that asks another process, or not at all."""
        if self._settings.derive == "never" or not self.wanted:
            return
        if self._settings.derive == "now":
            self.derive_now(forced=False)
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name=f"flowmind-jit-{self._name}", daemon=True)
                self._thread.start()

    def derive_now(self, forced: bool = True) -> Derived | None:
        """Derives a version in this thread; None if there are too few executions, or if none is wanted by now.

        Args:
            forced: Derive one even if none is wanted.
        """
        with self._lock:
            if not (self.wanted or forced):
                return None
            self.wanted = False
            job = self._job()
            if len(job.traces) < FEWEST:
                return None
            derived = derive_safely(job)
            take(self._store, self._name, derived, self._settings.request)
        self._consider()
        return derived

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the derivation under way; false if it takes longer."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return thread is None or not thread.is_alive()

    def close(self) -> None:
        """Ends the process that derives."""
        if self._helpers is not None:
            self._helpers.close()

    def _work(self) -> None:
        """Derives in another process, until nothing is wanted."""
        while True:
            with self._lock:  # a wish that comes later finds no thread, and starts one
                if not self.wanted:
                    self._thread = None
                    return
                self.wanted = False
            job = self._job()
            if len(job.traces) < FEWEST:
                continue
            if not self._store.lease(self._name, LEASE):  # the next request tries again
                with self._lock:
                    self.wanted = True
                    self._thread = None
                return
            try:
                derived = self._asked(job)
                take(self._store, self._name, derived, self._settings.request)
            finally:
                self._store.release(self._name)
            self._consider()

    def _asked(self, job: Job) -> Derived:
        try:
            if self._helpers is None:
                self._helpers = Helpers("flowmind.jit.deriving", None, 1)
            return self._helpers.ask(job)
        except (HelperEnded, RuntimeError) as error:
            return Derived(problem=f"the process that derives ended: {error}", traces=len(job.traces))

    def _job(self) -> Job:
        job = job_of(self._store, self._name, self._query, self._inputs, self._specs, self._settings.most_traces)
        return job.model_copy(update={"request": self._settings.request})


def job_of(store: Store, handle: str, query: str, inputs: JSONSchema, specs: Mapping[str, ToolSpec], most: int) -> Job:
    """What the next version of a handle is derived from: the latest executions whose calls the present tools take."""

    def fits(trace: Trace) -> bool:
        calls = [step.call for step in trace.calls if step.observation.ok]
        return all(call.tool in specs and specs[call.tool].check(call.args) is None for call in calls)

    fitting = tuple(trace for trace in store.traces(handle, most=most) if fits(trace))
    return Job(handle=handle, query=query, inputs=inputs, specs=dict(specs), traces=fitting)


def take(store: Store, handle: str, derived: Derived, request: str = "") -> VersionRecord | None:
    """Stores what was derived. A version that is known keeps its state; a new one enters shadow."""
    workflow = derived.workflow
    told = {"traces": derived.traces, "seconds": round(derived.seconds, 3)}
    if workflow is None:
        store.log(handle, "not_derived", {**told, "problem": derived.problem})
        return None
    id = version_id(workflow)
    with store.changing():
        records = store.versions(handle)
        known = next((record for record in records if record.id == id and record.state != "retired"), None)
        record = VersionRecord(
            id=id,
            handle=handle,
            state="shadow" if known is None else known.state,
            made=time.time() if known is None else known.made,
            workflow=workflow,
            knowledge=_richer(derived, known),
            template=derived.template,
            request=request,
            seconds=derived.seconds + (0.0 if known is None else known.seconds),
            by="" if known is None else known.by,
        )
        if known is None:
            for other in records:
                if other.state == "shadow":
                    store.move(other, "retired", reason=f"version {id} took its place")
        store.put(record)
        store.log(handle, "derived" if known is None else "confirmed", {"version": id, **told})
    return record


def derive_stored(store: Store, handle: str, most: int = 24) -> tuple[str, VersionRecord | None]:
    """Derives a version of a handle from what its store has.

    Returns:
        The problem, and the version; None if there is none.

    Raises:
        InputError: If there is no such handle.
    """
    query, inputs, specs, request = store.handle(handle)
    known = [ToolSpec.model_validate(spec) for spec in specs]
    job = job_of(store, handle, query, inputs, {spec.name: spec for spec in known}, most)
    job = job.model_copy(update={"request": request})
    if len(job.traces) < FEWEST:
        return f"a version needs {FEWEST} executions, and there are {len(job.traces)}", None
    derived = derive_safely(job)
    return derived.problem, take(store, handle, derived, request)


def _richer(derived: Derived, known: VersionRecord | None) -> Knowledge:
    """The evidence of more executions. A derivation takes the latest executions only."""
    if known is not None and known.knowledge.traces > derived.knowledge.traces:
        return known.knowledge
    return derived.knowledge
