"""Writes traces in ATIF, the Agent Trajectory Interchange Format of Harbor, version 1.8.

A call of a workflow is a step of the agent without a model (`llm_call_count` is 0). A step of an agent is a turn: its
text, its calls and their results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flowmind import __version__
from flowmind.base.files import dump_json, parse_json
from flowmind.formats.exports.turns import AgentTurn, agent_turns, call_ids, is_workflow
from flowmind.trace.events import Asked, Called, Refused, Trace
from tools_registry.specs.spec import ToolSpec

SCHEMA = "ATIF-v1.8"
_Step = dict[str, Any]


def to_atif(trace: Trace, specs: Mapping[str, ToolSpec] | None = None, name: str = "", id: str = "") -> dict[str, Any]:
    """The trajectory of a run.

    `extra` has what ATIF has no fields for: `inputs`, `answer`, `outcome` and `error`.

    Args:
        trace: The finished run of a workflow (its events name its nodes) or of an agent.
        specs: The tools that were offered.
        name: The name of the workflow or of the agent.
        id: The id of the run; by default that of the recording.
    """
    source, workflow = trace.source, is_workflow(trace)
    ids = call_ids(trace)
    steps = list(_workflow_steps(trace, ids) if workflow else _agent_steps(trace, ids))
    asked = [step for step in steps if step["source"] == "user"]
    if not asked:
        steps.insert(0, {"source": "user", "message": (source and source.request) or dump_json(trace.inputs)})
    agent = {
        "name": name or (source.agent if source else "") or ("workflow" if workflow else "agent"),
        "version": __version__,
        "model_name": source.model if source else "",
        "tool_definitions": [spec.openai() for spec in (specs or {}).values()],
    }
    answer = {"answer": trace.answer} if trace.executed else {}
    error = {"error": trace.error.model_dump()} if trace.error else {}
    extra = {"inputs": trace.inputs, **answer, "outcome": trace.stop, **error}
    document = {
        "schema_version": SCHEMA,
        "session_id": id or (source.id if source else ""),
        "agent": _present(agent),
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
        "final_metrics": None if workflow else _total(trace),
        "extra": extra,
    }
    return _present(document)


def _workflow_steps(trace: Trace, ids: Mapping[int, str]) -> Iterator[_Step]:
    """A step for each call, one for each reply of a model to an `llm` node, and one for the answer."""
    for event in trace.events:
        if isinstance(event, Called | Refused):
            yield {**_calls([event], ids), "source": "agent", "message": "", "llm_call_count": 0}
        elif isinstance(event, Asked):
            yield {"source": "agent", "message": event.value, "llm_call_count": 1, "extra": {"node": event.node}}
    if trace.executed:
        yield {"source": "agent", "message": _written(trace.answer), "llm_call_count": 0}


def _agent_steps(trace: Trace, ids: Mapping[int, str]) -> Iterator[_Step]:
    """The texts of the user and the system, and a step for each turn."""
    turns = agent_turns(trace)
    for number, turn in enumerate(turns, 1):
        for said in turn.before:
            yield {"source": said.role, "message": said.text}
        text = "\n".join(turn.texts)
        if number == len(turns) and not text and not turn.calls and trace.executed:
            text = _written(trace.answer)
        step = {"source": "agent", "message": text, "reasoning_content": "\n".join(turn.thoughts), "llm_call_count": 1}
        yield {**_present(step), "message": text, **_calls(turn.calls, ids), **_metrics(turn)}


def _calls(calls: Sequence[Called | Refused], ids: Mapping[int, str]) -> dict[str, Any]:
    """The calls of a step and their results."""
    if not calls:
        return {}
    written = [
        {
            "tool_call_id": ids[id(event)],
            "function_name": event.call.tool,
            "arguments": event.call.args,
            **_about(event),
        }
        for event in calls
    ]
    results = [{"source_call_id": ids[id(event)], **_result(event)} for event in calls]
    return {"tool_calls": written, "observation": {"results": results}}


def _about(event: Called | Refused) -> dict[str, Any]:
    seconds = event.seconds if isinstance(event, Called) else None
    return _present({"extra": _present({"node": event.node, "seconds": seconds})})


def _result(event: Called | Refused) -> dict[str, Any]:
    if isinstance(event, Refused):
        return {"content": event.reason, "extra": {"error": {"type": "refused", "message": event.reason}}}
    error = event.observation.error
    if error is not None:
        return {"content": error.message, "extra": {"error": error.model_dump()}}
    return {"content": _written(event.observation.value)}


def _metrics(turn: AgentTurn) -> dict[str, Any]:
    reply = turn.reply
    tokens = {"prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens} if reply else {}
    return {"metrics": metrics} if (metrics := _present(tokens)) else {}


def _total(trace: Trace) -> dict[str, Any]:
    """The sums of the tokens that are known."""
    asked = [turn.input_tokens for turn in trace.turns if turn.input_tokens is not None]
    wrote = [turn.output_tokens for turn in trace.turns if turn.output_tokens is not None]
    totals = {"total_prompt_tokens": sum(asked) if asked else None}
    return _present({**totals, "total_completion_tokens": sum(wrote) if wrote else None})


def _written(value: Any) -> str:
    """A value as a text. A text that would be read as another value, such as `"7"`, is written as JSON."""
    if isinstance(value, str):
        try:
            parse_json(value)
        except ValueError:
            return value
    return dump_json(value)


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that have a value; 0 is one."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}
