"""Writes an evaluation in the format of Every Eval Ever, schema 0.3.0: one aggregate, and a line for each sample.

A sample is a case: an agent's execution with its calls, and the score of the workflow that was made from it. The
functions take plain mappings, in the form of the files of a run's folder.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from flowmind import __version__
from flowmind.base.files import dump_json, parse_json
from flowmind.formats.openai_messages import messages_of_trace
from flowmind.trace.events import Trace

SCHEMA = "0.3.0"
RATES = {
    "case_pass_rate": "cases that pass all held-out tests",
    "exec_complete": "cases with a complete execution by the agent",
    "exec_correct": "cases whose execution gave the expected answer",
    "graph_valid": "cases with a workflow that passes the checks",
}
"""The rates that are written, with what they count. The samples are those of the first."""


class Model(NamedTuple):
    """The model that was evaluated."""

    name: str
    id: str
    """`developer/name`."""
    deployment: str = "unknown"
    """`self_deployed`, `externally_managed` or `unknown`."""
    availability: str = "unknown"
    """`open_weights`, `closed_weights` or `unknown`."""


class Case(NamedTuple):
    """One case of the run."""

    record: Mapping[str, Any]
    """Its line of `records.jsonl`."""
    query: str = ""
    """The text of its task."""
    trace: Trace | None = None
    """An execution by the agent."""


@dataclass(frozen=True)
class Evaluation:
    """The files of an evaluation."""

    folder: str
    """Where they belong: `data/BENCHMARK/DEVELOPER/MODEL`."""
    name: str
    """The name of the aggregate without `.json`."""
    aggregate: dict[str, Any]
    samples: str
    """The content of `NAME_samples.jsonl`."""


def to_every_eval(
    manifest: Mapping[str, Any],
    cases: Iterable[Case],
    rates: Mapping[str, Mapping[str, Any]],
    model: Model,
    organization: str = "unknown",
) -> Evaluation:
    """An evaluation of a model on a benchmark.

    The same run gives the same bytes. Cases that ended with an error of the infrastructure are no samples, as in the
    rates.

    Args:
        manifest: `manifest.json` of the run.
        cases: Its cases.
        rates: Of each rate `percent`, `count`, `of`, `low` and `high` (95 %, in percent), as in `summary.json`.
        model: The model.
        organization: Who ran the evaluation.
    """
    done = [case for case in cases if case.record.get("error") is None]
    settings, benchmark = manifest["settings"], manifest["benchmark"]
    began = min((float(case.record.get("started_at") or 0) for case in done), default=0.0)
    ended = max((float(case.record.get("started_at") or 0) + _seconds(case.record) for case in done), default=0.0)
    evaluation = f"{benchmark['name']}/{model.id}/{ended:.0f}"
    name = _uuid(dump_json([evaluation, dict(settings), dict(benchmark), [case.record.get("id") for case in done]]))
    folder = "/".join(["data", _component(benchmark["name"]), *map(_component, _split(model.id))])
    lines = [dump_json(_sample(case, evaluation, benchmark["name"], model)) + "\n" for case in done]
    samples = "".join(lines)
    aggregate = {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation,
        "evaluation_timestamp": _moment(began),
        "retrieved_timestamp": f"{ended:.0f}",
        "source_metadata": {
            "source_name": "FlowMind",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "flowmind-es",
            "version": str(manifest.get("packages", {}).get("flowmind-es") or __version__),
        },
        "model_info": {
            "name": model.name,
            "id": model.id,
            "developer": _split(model.id)[0],
            "additional_details": {"deployment_type": model.deployment, "model_availability": model.availability},
        },
        "evaluation_results": [
            _result(name, rates[name], benchmark, settings, _moment(began)) for name in RATES if name in rates
        ],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": f"{folder}/{name}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(samples.encode()).hexdigest(),
            "total_rows": len(done),
        },
    }
    return Evaluation(folder, name, aggregate, samples)


def _result(
    name: str, rate: Mapping[str, Any], benchmark: Mapping[str, Any], settings: Mapping[str, Any], moment: str
) -> dict[str, Any]:
    """One rate, as a share of 1."""
    interval = {"lower": rate["low"] / 100, "upper": rate["high"] / 100, "confidence_level": 0.95, "method": "wilson"}
    hashes = {f"sha256 of {file}": str(digest) for file, digest in benchmark.get("sha256", {}).items()}
    temperature = settings.get("temperature")
    return {
        "evaluation_result_id": name,
        "evaluation_name": benchmark["name"],
        "evaluation_timestamp": moment,
        "source_data": {"dataset_name": benchmark["name"], "source_type": "other", "additional_details": hashes},
        "metric_config": {
            "evaluation_description": RATES[name],
            "metric_id": f"flowmind.{name}",
            "metric_name": name,
            "metric_kind": "pass_rate",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": {
            "score": rate["count"] / rate["of"] if rate["of"] else 0.0,
            "details": {"count": str(rate["count"]), "of": str(rate["of"])},
            "uncertainty": {"confidence_interval": interval, "num_samples": rate["of"]},
        },
        "generation_config": {
            "generation_args": {"temperature": temperature} if isinstance(temperature, int | float) else {},
            "additional_details": _texts(settings),
        },
    }


def _sample(case: Case, evaluation: str, benchmark: str, model: Model) -> dict[str, Any]:
    record = case.record
    tests: Sequence[Mapping[str, Any]] = record.get("tests") or ()
    passed = bool(record.get("scores", {}).get("passed", {}).get("value"))
    reference = [dump_json(test.get("expected")) for test in tests]
    messages = _messages(case)
    answers = []
    if case.trace is not None and case.trace.executed:
        value = {"extracted_value": dump_json(case.trace.answer), "extraction_method": "exact_match"}
        answers = [
            {"turn_idx": len(messages) - 1, "source": "messages[turn_idx].content", **value, "is_terminal": True}
        ]
    return {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation,
        "model_id": model.id,
        "evaluation_name": benchmark,
        "evaluation_result_id": next(iter(RATES)),
        "sample_id": record["id"],
        "sample_hash": hashlib.sha256("".join([case.query, *reference]).encode()).hexdigest(),
        "interaction_type": "agentic",
        "input": {"raw": case.query, "reference": reference},
        "output": None,
        "messages": messages,
        "answer_attribution": answers,
        "evaluation": {
            "score": float(passed),
            "is_correct": passed,
            "num_turns": len(messages),
            "tool_calls_count": sum(len(message.get("tool_calls") or ()) for message in messages),
        },
        "token_usage": _tokens(record),
        "performance": {"latency_ms": 1_000 * _seconds(record)},
        "metadata": {
            **_texts({key: record.get(key) for key in ("category", "difficulty", "failure_mode")}),
            "tests": str(len(tests)),
            "tests_passed": str(sum(bool(test.get("passed")) for test in tests)),
        },
    }


def _messages(case: Case) -> list[dict[str, Any]]:
    """The task, and what the agent did."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": case.query}]
    if case.trace is not None:
        messages[0]["content"] += f"\n{dump_json(case.trace.inputs)}" if case.trace.inputs else ""
        messages += map(_message, messages_of_trace(case.trace))
        if case.trace.executed:
            messages.append({"role": "assistant", "content": dump_json(case.trace.answer)})
    return [{"turn_idx": number, **message} for number, message in enumerate(messages)]


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of chat completions as Every Eval Ever has it: arguments are texts, ids of calls are listed."""
    written: dict[str, Any] = {"role": message["role"], "content": message.get("content")}
    if message.get("reasoning_content"):
        written["reasoning_trace"] = message["reasoning_content"]
    if message.get("tool_calls"):
        written["tool_calls"] = [_call(call) for call in message["tool_calls"]]
    if message.get("tool_call_id"):
        written["tool_call_id"] = [message["tool_call_id"]]
    return written


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    try:
        arguments = parse_json(function["arguments"])
    except ValueError:
        arguments = {"unreadable": function["arguments"]}
    return {"id": call["id"], "name": function["name"], "arguments": _texts(arguments)}


def _tokens(record: Mapping[str, Any]) -> dict[str, int] | None:
    """The tokens of all stages; None if the server did not report some."""
    stages: list[Mapping[str, int | None]] = [record.get(stage) or {} for stage in ("execute", "summarize")]
    sums = {"input_tokens": 0, "output_tokens": 0}
    for name in sums:
        for stage in stages:
            if (tokens := stage.get(name, 0)) is None:
                return None
            sums[name] += tokens
    return {**sums, "total_tokens": sum(sums.values())}


def _seconds(record: Mapping[str, Any]) -> float:
    return float(record.get("seconds") or 0)


def _texts(fields: Mapping[str, Any]) -> dict[str, str]:
    """The fields as texts, without those that are null."""
    return {
        name: value if isinstance(value, str) else dump_json(value)
        for name, value in fields.items()
        if value is not None
    }


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _split(id: str) -> list[str]:
    developer, _, name = id.partition("/")
    return [developer, name.replace("/", "_")] if name else ["unknown", developer]


def _component(text: str) -> str:
    """A text as a name of a folder on every system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._ ") or "unknown"


def _uuid(text: str) -> str:
    """An id in the form of a UUID of version 4 that depends on a text alone."""
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))
