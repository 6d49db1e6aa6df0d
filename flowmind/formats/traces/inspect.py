"""Logs of Inspect, `.eval` archives and JSON, read with the package inspect-ai."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.formats.conversation import BAD_ARGUMENTS, Conversation, fields_of, observation_of
from flowmind.formats.traces.containers import Container
from flowmind.formats.traces.imported import Imported, Reader
from flowmind.formats.traces.parts import Row, at, finished, specs_of
from flowmind.trace.events import Source, StopReason
from tools_registry.specs.spec import Observation
from tools_registry.specs.values import CaseError, clean

_LIMITS: dict[str, StopReason] = {
    "context": "context", "token": "tokens", "cost": "tokens", "time": "seconds", "working": "seconds",
}  # fmt: skip
_RIGHT: dict[Any, bool] = {"C": True, "I": False, 1: True, 0: False}


def _recognises(document: Any) -> bool:
    if isinstance(document, Container):
        return document.kind == "zip"
    fields = fields_of(document)
    return "eval" in fields and bool({"samples", "plan", "status"} & fields.keys())


def _read(document: Any) -> Iterator[Imported]:
    log = _log(document)
    if not log.samples:
        raise ValueError("the log has no samples; write logs with log_samples")
    names: dict[str, str] = {}
    source = Source(
        format="inspect", version=str(log.version), agent=log.eval.solver or log.eval.task, model=log.eval.model
    )
    for sample in log.samples:
        with at(f"sample {sample.id}, epoch {sample.epoch}"):
            yield _imported(sample, source.model_copy(update={"id": f"{sample.id}/{sample.epoch}"}), names)


def _log(document: Any) -> Any:
    """The log with its attachments.

    Raises:
        InputError: If the package is missing.
        ValueError: If the log cannot be read.
    """
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise InputError(
            f"logs of Inspect are read with inspect-ai: pip install 'flowmind-es[inspect]' ({error})"
        ) from None
    binary = isinstance(document, Container)
    data = document.data if binary else dump_json(document).encode()
    try:
        return read_eval_log(io.BytesIO(data), resolve_attachments=True, format="eval" if binary else "json")
    except Exception as error:  # the package raises many kinds for a log that is damaged
        problem = " ".join(str(error).split())[:300]
        raise ValueError(f"inspect-ai cannot read the log: {type(error).__name__}: {problem}") from None


def _imported(sample: Any, source: Source, names: dict[str, str]) -> Imported:
    reading = _Messages(names, lossy=True)
    for number, message in enumerate(sample.messages, 1):
        with at(f"message {number}"):
            reading.message(message)
    if sample.error is not None:
        reading.stop = "error"
    elif sample.limit is not None:
        reading.stop = _LIMITS.get(sample.limit.type, "failures")
    lost: list[str] = []
    tools: dict[str, Any] = {}
    for event in sample.events:
        if event.event == "model":
            tools |= {tool.name: tool.model_dump(exclude_none=True) for tool in event.tools}
        elif event.event == "tool" and event.working_time is not None:
            reading.took(event.id, event.working_time)
        elif event.event in ("subtask", "interrupt", "branch"):
            lost.append(f"an event of the kind {event.event!r}")
    if sample.store:
        lost.append("the store")
    inputs = _inputs(sample.metadata, lost)
    specs = specs_of([*tools.values()], lost)
    return finished(reading, source, inputs, specs=specs, lost=lost, success=_success(sample.scores, lost))


def _inputs(metadata: Mapping[str, Any], lost: list[str]) -> Row | None:
    """The flat fields of the metadata; None if there are none."""
    flat: Row = {}
    for name, value in metadata.items():
        try:
            if isinstance(value, dict):
                lost.append(f"the metadata {name!r}, which are an object")
            else:
                flat[name] = clean(value)
        except CaseError:
            lost.append(f"the metadata {name!r}, which are not JSON")
    return flat or None


def _success(scores: Mapping[str, Any] | None, lost: list[str]) -> bool | None:
    """The mark of success of a sample with one score that says right or wrong."""
    values = [score.value for score in (scores or {}).values()]
    if len(values) == 1 and isinstance(values[0], str | int | float) and values[0] in _RIGHT:
        return _RIGHT[values[0]]
    if values:
        lost.append(f"the scores {', '.join(scores or ())}")
    return None


class _Messages(Conversation):
    """The messages of a sample."""

    def message(self, message: Any) -> None:
        """Reads the next message."""
        content = message.content if isinstance(message.content, str) else [
            part.model_dump(exclude_none=True) for part in message.content
        ]  # fmt: skip
        match message.role:
            case "assistant":
                self.reply(anew=True)
                self.content("assistant", content)
                for call in message.tool_calls or ():
                    if call.type not in (None, "function") and call.parse_error is None:
                        self.called(call.id, call.function, {"input": dump_json(call.arguments)})
                    else:
                        self.called(call.id, call.function, [call.arguments] if call.parse_error else call.arguments)
            case "tool":
                self.answered(message.tool_call_id, message.function, _observation(message, content))
            case role:
                self.hear(role, content)

    def block(self, role: str, block: Row) -> None:
        """Reads a part of a message that is no text."""
        if block.get("type") == "reasoning":
            self.think("" if block.get("redacted") else str(block.get("reasoning") or ""))
        else:
            super().block(role, block)


def _observation(message: Any, content: Any) -> Observation:
    if message.error is None:
        return observation_of(content)
    type = BAD_ARGUMENTS if message.error.type == "parsing" else message.error.type
    return Observation.failed(type, message.error.message)


INSPECT = Reader("logs of Inspect (.eval, JSON)", _recognises, _read)
