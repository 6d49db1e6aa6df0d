"""Writes traces as spans of OpenTelemetry, by the GenAI conventions, after a run has ended.

A run of a workflow is a span `invoke_workflow NAME`, one of an agent `invoke_agent NAME`; its calls are its children
`execute_tool TOOL`, and the replies of an agent's model its children `chat`. A trace has durations and no times of day:
the spans follow one another from a given start.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.formats.exports.turns import AgentTurn, agent_turns, call_ids, is_workflow
from flowmind.formats.traces.spans import ANSWER, GUARD, INPUTS, NODE, OUTCOME, RUN, WORKFLOW
from flowmind.trace.events import Called, Trace

SCOPE = "flowmind"
_STEP = 1_000
"""The nanoseconds between spans whose durations are not recorded, so that their order shows."""


@dataclass(frozen=True)
class Run:
    """What a trace does not say about a run."""

    name: str = ""
    """The name of the workflow or of the agent."""
    workflow: str = ""
    """The SHA-256 of the workflow's document; empty for an agent."""
    id: str = ""
    """The id of the run. By default it is derived from the trace."""
    guard: str = ""
    """The guard that stopped the run."""
    start: int | None = None
    """The start of the run in nanoseconds since the epoch; by default the present time."""


def to_otlp(traces: Iterable[Trace], runs: Sequence[Run] = (), content: bool = False) -> dict[str, Any]:
    """The spans of runs as OTLP in JSON, which every receiver takes at `/v1/traces`.

    Equal traces have equal ids, so that a backend recognizes a run that is sent again.

    Args:
        traces: The finished runs.
        runs: What is known about them, in the same order; of missing ones nothing.
        content: Whether inputs, arguments, results, answers, texts and messages of errors are written.
    """
    spans: list[dict[str, Any]] = []
    for number, trace in enumerate(traces):
        run = runs[number] if number < len(runs) else Run()
        seed = f"{number} {run.id or dump_json(trace.dump())}"
        spans += _otlp_spans(_planned(trace, run, content), seed)
    resource = {"attributes": [_attribute("service.name", SCOPE)]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": SCOPE}, "spans": spans}]}]}


def record_spans(trace: Trace, provider: Any, run: Run | None = None, content: bool = False) -> None:
    """Records the spans of a run with a tracer provider of the OpenTelemetry SDK, below the current span.

    Args:
        trace: The finished run.
        provider: A `TracerProvider`.
        run: What is known about the run.
        content: As in `to_otlp`.

    Raises:
        InputError: If `provider` is no tracer provider, or the extra `otel` is missing.
    """
    try:
        from opentelemetry import trace as api
    except ModuleNotFoundError:
        raise InputError("spans need the extra: pip install 'flowmind-es[otel]'") from None
    if not isinstance(provider, api.TracerProvider):
        raise InputError(f"provider: give a TracerProvider of OpenTelemetry, not {type(provider).__name__}")
    tracer = provider.get_tracer(SCOPE)

    def record(plan: _Plan, parent: Any) -> None:
        kind = api.SpanKind.CLIENT if plan.kind == "client" else api.SpanKind.INTERNAL
        span = tracer.start_span(plan.name, parent, kind, plan.attributes, start_time=plan.start)
        if plan.error is not None:
            span.set_status(api.Status(api.StatusCode.ERROR, plan.error or None))
        for child in plan.children:
            record(child, api.set_span_in_context(span))
        span.end(plan.end)

    record(_planned(trace, run or Run(), content), None)


@dataclass
class _Plan:
    """A span that is to be written."""

    name: str
    attributes: dict[str, Any]
    start: int
    end: int
    error: str | None = None
    """The message of its error, which may be empty; None without an error."""
    kind: Literal["internal", "client"] = "internal"
    children: list[_Plan] = field(default_factory=list["_Plan"])


def _planned(trace: Trace, run: Run, content: bool) -> _Plan:
    """The span of a run with its children."""
    workflow = bool(run.workflow) or is_workflow(trace)
    operation = "invoke_workflow" if workflow else "invoke_agent"
    name = run.name or (trace.source.agent if trace.source else "")
    start = time.time_ns() if run.start is None else run.start
    planning = _Planning(trace, run.id or _digest(dump_json(trace.dump()), 16), content, start)
    if workflow:
        planning.calls(trace.calls)
    else:
        planning.replies()
    error = trace.error
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.agent.name": name,
        "gen_ai.workflow.name": name if workflow else "",
        "gen_ai.request.model": planning.model,
        WORKFLOW: run.workflow,
        RUN: planning.run,
        GUARD: run.guard,
        OUTCOME: trace.stop,
        "error.type": error.type if error else "",
    }
    if content:
        attributes[INPUTS] = dump_json(trace.inputs)
        attributes |= {ANSWER: dump_json(trace.answer)} if trace.executed else {}
    return _Plan(
        f"{operation} {name}".rstrip(),
        _present(attributes),
        start,
        planning.now,
        None if error is None else error.message if content else "",
        children=planning.spans,
    )


class _Planning:
    """Lays the spans below that of a run one after another.

    Args:
        trace: The run.
        run: Its id.
        content: Whether the content of messages and calls is written.
        now: The start.
    """

    def __init__(self, trace: Trace, run: str, content: bool, now: int) -> None:
        self.trace = trace
        self.run = run
        self.content = content
        self.now = now
        self.model = trace.source.model if trace.source else ""
        self.spans: list[_Plan] = []
        self.ids = call_ids(trace)

    def replies(self) -> None:
        """The replies of an agent's model, each with the calls that it wrote behind it."""
        results: list[dict[str, Any]] = []
        for turn in agent_turns(self.trace):
            self._reply(turn, results)
            calls = [call for call in turn.calls if isinstance(call, Called)]
            self.calls(calls)
            results = [self._result(call) for call in calls]

    def _reply(self, turn: AgentTurn, results: list[dict[str, Any]]) -> None:
        """A request to the model. It has the messages that are new: the results of the last turn, and texts."""
        reply = turn.reply
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": self.model,
            "gen_ai.usage.input_tokens": reply.input_tokens if reply else None,
            "gen_ai.usage.output_tokens": reply.output_tokens if reply else None,
            RUN: self.run,
        }
        if self.content:
            asked = [*results, *(_message(said.role, [_text(said.text)]) for said in turn.before)]
            attributes["gen_ai.input.messages"] = dump_json(asked)
            attributes["gen_ai.output.messages"] = dump_json([_message("assistant", list(self._parts(turn)))])
        self._add(f"chat {self.model}".rstrip(), attributes, reply.seconds if reply else None, kind="client")

    def calls(self, calls: Iterable[Called]) -> None:
        """The calls of tools."""
        for event in calls:
            error = event.observation.error
            attributes: dict[str, Any] = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": event.call.tool,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.id": self.ids[id(event)],
                NODE: event.node,
                RUN: self.run,
                "error.type": error.type if error else "",
            }
            if self.content:
                attributes["gen_ai.tool.call.arguments"] = dump_json(event.call.args)
                attributes["gen_ai.tool.call.result"] = "" if error else dump_json(event.observation.value)
            message = None if error is None else error.message if self.content else ""
            self._add(f"execute_tool {event.call.tool}", attributes, event.seconds, message)

    def _add(
        self,
        name: str,
        attributes: dict[str, Any],
        seconds: float | None,
        error: str | None = None,
        kind: Literal["internal", "client"] = "internal",
    ) -> None:
        end = self.now + round((seconds or 0) * 1e9)
        self.spans.append(_Plan(name, _present(attributes), self.now, end, error, kind))
        self.now = end + _STEP

    def _parts(self, turn: AgentTurn) -> Iterator[dict[str, Any]]:
        """The parts of a reply: thoughts, text and calls. A refused call reached no tool and is left out."""
        yield from ({"type": "reasoning", "content": thought} for thought in turn.thoughts)
        yield from [_text("\n".join(turn.texts))] if turn.texts else []
        for call in turn.calls:
            if isinstance(call, Called):
                about = {"id": self.ids[id(call)], "name": call.call.tool, "arguments": call.call.args}
                yield {"type": "tool_call", **about}

    def _result(self, call: Called) -> dict[str, Any]:
        error = call.observation.error
        response = call.observation.value if error is None else error.message
        return _message("tool", [{"type": "tool_call_response", "id": self.ids[id(call)], "response": response}])


def _message(role: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": role, "parts": parts}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}


def _present(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes that have a value."""
    return {name: value for name, value in attributes.items() if value not in (None, "")}


def _otlp_spans(root: _Plan, seed: str) -> Iterator[dict[str, Any]]:
    trace, ids = _digest(seed, 16), itertools.count()

    def spans(plan: _Plan, parent: str) -> Iterator[dict[str, Any]]:
        id = _digest(f"{trace} {next(ids)}", 8)
        yield {
            "traceId": trace,
            "spanId": id,
            "parentSpanId": parent,
            "name": plan.name,
            "kind": 3 if plan.kind == "client" else 1,
            "startTimeUnixNano": str(plan.start),
            "endTimeUnixNano": str(plan.end),
            "attributes": [_attribute(name, value) for name, value in plan.attributes.items()],
            "status": {} if plan.error is None else {"code": 2, "message": plan.error},
        }
        for child in plan.children:
            yield from spans(child, id)

    return spans(root, "")


def _attribute(name: str, value: str | int) -> dict[str, Any]:
    typed = {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}
    return {"key": name, "value": typed}


def _digest(text: str, size: int) -> str:
    """An id of so many bytes in hexadecimal, which depends on a text alone."""
    return hashlib.sha256(text.encode()).hexdigest()[: 2 * size]
