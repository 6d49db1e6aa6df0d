"""`flowmind.jit`: a decorator for a function that an agent answers."""

from __future__ import annotations

import functools
import inspect
import time
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from flowmind.api.runnable import environment_of, tool_list, wait_for
from flowmind.base.errors import InputError
from flowmind.jit.deriving import Derived
from flowmind.jit.engine import Engine, Given, Serving, Wait, Work, promote
from flowmind.jit.guards import Limits
from flowmind.jit.settings import Derive, Mode, Promotion, settings_of
from flowmind.jit.stats import Stats, explained, stats_of
from flowmind.jit.store import IN_MEMORY, Store
from flowmind.jit.versions import VersionRecord, chosen_version
from flowmind.recording.boundary import finished, original
from flowmind.run.wrappers import Ask
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.functions import spec_of, to_json
from tools_registry.sandbox.idempotency import is_async
from tools_registry.specs.schema import JSONSchema
from tools_registry.specs.spec import SpecError
from tools_registry.specs.values import CaseError

_ONE = object()
"""The owner of the tools of a function, which has one set of them."""


def jit(
    tools: Any,
    *,
    query: str = "",
    store: str | Path | Store = IN_MEMORY,
    mode: Mode = "shadow",
    name: str = "",
    request: str = "",
    derive: Derive = "process",
    guards: str | Sequence[str] = "all",
    promotion: Promotion | None = None,
    audit: float = 0.05,
    after_write: str = "stop",
    approve: Ask | Mapping[str, Ask] | None = None,
    max_age: float | None = None,
    limits: Limits | None = None,
    most_traces: int = 24,
    keep_days: float | None = None,
    redact: Sequence[str] = (),
    now: Callable[[], float] = time.time,
) -> Callable[[Callable[..., Any]], Handle]:
    """Learns a workflow from what an agent does, and lets it answer in place of the agent.

        tools = flowmind.recorded([find, refund])
        agent = build_my_agent(tools)

        @flowmind.jit(tools, query="Refund a late order.", store="flows.db", mode="shadow")
        def handle(order_id: str) -> dict:
            return agent(order_id)

    The function may be async, and may be a method. Its signature is the schema of the inputs.

    Args:
        tools: The recorded tools that the agent calls: a list, or a dict by name. For a method also a function of the
            object that returns them.
        query: The task in words. It ranks constants and conditions, and names the constants that a write may have.
        store: The file of versions and runs, or a `Store`; by default one in memory.
        mode: How far it goes. `off`: the agent answers, and nothing is recorded. `record`: executions are recorded.
            `shadow`: versions are derived and rehearsed on the agent's calls; the agent answers. `live`: a promoted
            version answers. `frozen`: it answers alone, and `NeedsAgent` is raised where it does not.
        name: The name in the store; by default the function's.
        request: The parameter with a request in prose. Versions then read their inputs off requests of one phrasing.
        derive: Where versions are derived: in another `process`, `now` in the calling thread, or `never`.
        guards: The guards that are on: `all`, `none`, or their names (`flowmind.jit.GUARDS`).
        promotion: When a version goes live by itself.
        audit: The share of the answers of a live version that the agent works again.
        after_write: What happens if a guard stops a version after a write. `stop`: `Stopped` is raised. `handover`: the
            agent goes on over the journal of the run.
        approve: Decides about the writes of an agent that goes on: a function of the call and the spec, sync or async,
            that returns True or the reason for a refusal; or such functions by tool.
        max_age: The age in seconds from which on a version does not answer.
        limits: The limits of a run.
        most_traces: The number of executions that a version is derived from, the latest ones.
        keep_days: Delete runs that are older, when the handle is made.
        redact: Regular expressions of texts that are replaced before anything is stored, besides usual keys.
        now: The clock of `max_age`.

    Raises:
        InputError: If an argument makes no sense, a tool is not recorded, or the function cannot have a schema.
    """
    if callable(tools) and original(tools) is None and is_function_of_tools(tools):
        provider: Callable[[Any], Any] | None = tools
    elif not tools:
        raise InputError("jit: give the recorded tools of the agent: jit(flowmind.recorded([find, refund]), …)")
    else:
        provider = None
    if not isinstance(cast(Any, query), str):
        raise InputError(f"query: give the task in words, not {type(query).__name__}")
    if isinstance(redact, str):
        raise InputError("redact: give a list of regular expressions")
    if isinstance(store, Store) and redact:
        raise InputError("redact: the store has its own; give it to Store(path, redact=[...])")
    opened = store if isinstance(store, Store) else Store(store, redact)
    settings = settings_of(
        mode, derive, after_write, approve, audit, Promotion() if promotion is None else promotion, guards,
        Limits() if limits is None else limits, max_age, most_traces, keep_days, opened.redact, now,
        request,
    )  # fmt: skip

    def decorate(function: Callable[..., Any]) -> Handle:
        if not callable(cast(Any, function)) or isinstance(function, Handle | type):
            raise InputError(f"jit: decorate a function or a method, not {function!r:.80}")
        toolset = _Toolset(tools if provider is None else None, provider)

        def engine(environment: Environment, inputs: JSONSchema) -> Engine:
            return Engine(name or function.__name__, query, inputs, environment.specs, opened, settings)

        return Handle(function, toolset, engine, request)

    return decorate


def is_function_of_tools(tools: Any) -> bool:
    """Whether `tools` is a function of an object, as `lambda self: self.tools`."""
    if isinstance(tools, type) or not inspect.isfunction(tools):
        return False
    parameters = list(inspect.signature(tools).parameters.values())
    return len(parameters) == 1 and parameters[0].name == "self"


class _Toolset:
    """The tools of a handle, as an environment without the recorder. A method may have other tools for each object."""

    def __init__(self, tools: Any, provider: Callable[[Any], Any] | None) -> None:
        self._provider = provider
        self._shared = None if provider is not None else _unrecorded(tools)
        self._by_owner: weakref.WeakKeyDictionary[Any, Environment] = weakref.WeakKeyDictionary()

    def of(self, owner: Any) -> Environment:
        """The tools of an object; of a function without one."""
        if self._shared is not None:
            return self._shared
        assert self._provider is not None
        if owner is _ONE:
            raise InputError("jit: tools is a function of an object, and the decorated function is no method")
        known = self._by_owner.get(owner)
        if known is None:
            known = self._by_owner[owner] = _unrecorded(self._provider(owner))
        return known


def _unrecorded(tools: Any) -> Environment:
    """The functions behind recorded tools.

    Raises:
        InputError: If one of them is not recorded.
    """
    functions: list[Any] = []
    for tool in tool_list(tools):
        inner = original(tool)
        if inner is None:
            raise InputError(
                f"jit: the tool {getattr(tool, '__name__', type(tool).__name__)!r} is not recorded; make "
                "tools = flowmind.recorded([...]), and build the agent with them"
            )
        functions.append(inner)
    return environment_of(functions)


class Handle:
    """A function that an agent answers, or a workflow that was learnt from it. Make it with `flowmind.jit`."""

    def __init__(
        self,
        function: Callable[..., Any],
        tools: _Toolset,
        engine: Callable[[Environment, JSONSchema], Engine],
        request: str = "",
    ) -> None:
        functools.update_wrapper(self, function)
        self.__name__ = function.__name__
        self._function = function
        self._tools = tools
        self._make = engine
        self._engine: Engine | None = None
        self._is_method = next(iter(inspect.signature(function).parameters), "") in ("self", "cls")
        try:
            spec = spec_of(functools.partial(function, None) if self._is_method else function)
        except SpecError as error:
            raise InputError(f"jit: {error}") from None
        if request and spec.parameters.get("properties", {}).get(request, {}).get("type") != "string":
            raise InputError(f"request: {function.__name__} has no parameter {request!r} that is a text")
        self.inputs: JSONSchema = spec.parameters
        """JSON Schema of the inputs, from the signature."""
        self.is_async = is_async(function)
        """Whether a call returns an awaitable."""
        if not self._is_method:
            self._engine = self._engine_for(_ONE)

    def _engine_for(self, owner: Any) -> Engine:
        if self._engine is None:
            self._engine = self._make(self._tools.of(owner), self.inputs)
        return self._engine

    @property
    def engine(self) -> Engine:
        """What serves the requests.

        Raises:
            InputError: If the handle is a method whose tools belong to an object that was not used yet.
        """
        return self._engine_for(_ONE)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else BoundHandle(self, owner)

    def __call__(self, *given: Any, **named: Any) -> Any:
        """The answer, from the live version if its guards hold, else from the agent; of an async function an awaitable.

        Raises:
            NeedsAgent: If the agent is needed and `mode` is `frozen`.
            Stopped: If a run does not go on after a write.
        """
        return self._called(_ONE, None, given, named)

    async def acall(self, *given: Any, **named: Any) -> Any:
        """The answer, as from a call. The event loop is not blocked while async tools wait."""
        return await self._acalled(_ONE, None, given, named)

    def once(self, run: str, /, *given: Any, **named: Any) -> Any:
        """The answer of the run with this id.

        A run that was answered gives its answer again. One that was interrupted is resumed: no write is repeated.

        Args:
            run: The id, which you choose, such as `order-17`.
            given: The positional arguments of the function.
            named: The arguments of the function that are passed by name.

        Raises:
            InputError: If the id belongs to other inputs.
            NeedsAgent: As for a call.
            RunBusy: If the run is under way elsewhere.
            Stopped: If the run does not go on after a write.
        """
        return self._called(_ONE, run, given, named)

    async def aonce(self, run: str, /, *given: Any, **named: Any) -> Any:
        """The answer, as from `once`."""
        return await self._acalled(_ONE, run, given, named)

    def _called(self, owner: Any, run: str | None, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if self.is_async:
            return self._acalled(owner, run, given, named)
        environment = self._tools.of(owner)
        work = functools.partial(self._function, *(() if owner is _ONE else (owner,)), *given, **named)
        serving = self._serving(owner, run, given, named)
        must_wait = bool(environment.awaited)
        return self._typed(_driven(serving, work, wait_for if must_wait else finished))

    async def _acalled(self, owner: Any, run: str | None, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        work = functools.partial(self._function, *(() if owner is _ONE else (owner,)), *given, **named)
        return self._typed(await _adriven(self._serving(owner, run, given, named), work))

    def _serving(self, owner: Any, run: str | None, given: tuple[Any, ...], named: dict[str, Any]) -> Serving:
        inputs = self._inputs_of(owner, given, named)
        return self._engine_for(owner).serve(inputs, self._tools.of(owner), run)

    def _inputs_of(self, owner: Any, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """The arguments as JSON, with defaults.

        Raises:
            InputError: If an argument is no JSON.
            TypeError: If the arguments do not fit the signature, as the function raises it.
        """
        bound = inspect.signature(self._function).bind(*(() if owner is _ONE else (owner,)), *given, **named)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        if owner is not _ONE:
            arguments.pop(next(iter(arguments)))
        try:
            return to_json(arguments)
        except CaseError as error:
            raise InputError(f"{self._function.__name__}: the arguments are no JSON: {error.message}") from None

    def _typed(self, answer: Any) -> Any:
        """The answer of a workflow in the type that the function returns; that of the agent unchanged."""
        if not isinstance(answer, Given):
            return answer
        try:
            return answer.answer if self._result is None else self._result.validate_python(answer.answer)
        except ValidationError:
            return answer.answer

    @functools.cached_property
    def _result(self) -> TypeAdapter[Any] | None:
        try:
            annotation = inspect.signature(self._function, eval_str=True).return_annotation
            return None if annotation in (inspect.Signature.empty, Any, None) else TypeAdapter(annotation)
        except Exception:  # pydantic raises several unrelated classes here
            return None

    # What it has learnt

    @property
    def version(self) -> VersionRecord | None:
        """The live version; without one, the one in shadow."""
        version = self.engine.live or self.engine.candidate
        return None if version is None else version.record

    @property
    def versions(self) -> list[VersionRecord]:
        """All versions, in the order in which they were derived, retired ones included."""
        return self.engine.store.versions(self.engine.name)

    @property
    def store(self) -> Store:
        """The store."""
        return self.engine.store

    def stats(self) -> Stats:
        """Hits, fallbacks, agreement and savings so far."""
        return stats_of(self.store, self.engine.name)

    def explain(self, run: str) -> str:
        """What became of a run, in lines.

        Raises:
            InputError: If there is no such run.
        """
        return explained(self.store, run)

    def promote(self, version: str = "", *, by: str) -> VersionRecord:
        """Makes a version live, also one that writes.

        Args:
            version: Its id, or the beginning of it; by default the one in shadow.
            by: Who answers for it.

        Raises:
            InputError: If there is no such version, or `by` is empty.
        """
        if not by.strip():
            raise InputError("promote: say who answers for the version: promote(by=NAME)")
        record = chosen_version(self.versions, version, self.engine.name)
        promote(self.store, record, by)
        return chosen_version(self.versions, record.id, self.engine.name)

    def retire(self, version: str = "", *, reason: str = "") -> None:
        """Takes a version out of use; by default the live one.

        Raises:
            InputError: If there is no such version.
        """
        record = chosen_version(self.versions, version, self.engine.name, ("live", "shadow"))
        self.store.move(record, "retired", reason=reason or "retired by hand")

    def derive(self) -> Derived | None:
        """Derives a version now, in this thread; None if there are too few executions."""
        return self.engine.learner.derive_now()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for a derivation in another process; false if it takes longer."""
        return self.engine.learner.wait(seconds)

    def close(self) -> None:
        """Ends the process that derives. The store stays open."""
        self.engine.learner.close()

    def __repr__(self) -> str:
        return f"<jit {self.__name__}: {self.stats().line()}>" if self._engine is not None else "<jit method>"


class BoundHandle:
    """A handle of an object's method."""

    def __init__(self, handle: Handle, owner: Any) -> None:
        self._handle = handle
        self._owner = owner

    def __call__(self, *given: Any, **named: Any) -> Any:
        """The answer; see `Handle`."""
        return self._handle._called(self._owner, None, given, named)  # pyright: ignore[reportPrivateUsage]

    async def acall(self, *given: Any, **named: Any) -> Any:
        """The answer, as from a call."""
        return await self._handle._acalled(self._owner, None, given, named)  # pyright: ignore[reportPrivateUsage]

    def once(self, run: str, /, *given: Any, **named: Any) -> Any:
        """The answer of the run with this id; see `Handle.once`."""
        return self._handle._called(self._owner, run, given, named)  # pyright: ignore[reportPrivateUsage]

    async def aonce(self, run: str, /, *given: Any, **named: Any) -> Any:
        """The answer, as from `once`."""
        return await self._handle._acalled(self._owner, run, given, named)  # pyright: ignore[reportPrivateUsage]

    def __getattr__(self, name: str) -> Any:
        self._handle._engine_for(self._owner)  # pyright: ignore[reportPrivateUsage]
        return getattr(self._handle, name)


def _driven(serving: Serving, work: Callable[[], Any], wait: Callable[[Any], Any]) -> Any:
    """Does what an engine asks for, and returns its answer."""
    try:
        asked = next(serving)
        while True:
            try:
                result = wait(asked.what) if isinstance(asked, Wait) else work()
            except BaseException as error:
                asked = serving.throw(error)
            else:
                asked = serving.send(result)
    except StopIteration as end:
        return end.value


async def _adriven(serving: Serving, work: Callable[[], Awaitable[Any] | Any]) -> Any:
    """The same in an event loop."""
    try:
        asked = next(serving)
        while True:
            try:
                result = await asked.what if isinstance(asked, Wait) else work()
                if isinstance(asked, Work) and inspect.isawaitable(result):
                    result = await result
            except BaseException as error:
                asked = serving.throw(error)
            else:
                asked = serving.send(result)
    except StopIteration as end:
        return end.value
