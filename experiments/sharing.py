"""Writes the evaluation of a run in the format of Every Eval Ever."""

from __future__ import annotations

import re
from pathlib import Path

from experiments.folder import Run
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, write_text
from flowmind.formats.exports.every_eval import Case, Model, to_every_eval
from flowmind.llm.models import find

_HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9._-]+")
_DEPLOYMENTS = {"embedded": "self_deployed", "vllm": "self_deployed", "openai": "externally_managed"}
_AVAILABILITY = {"embedded": "open_weights", "vllm": "open_weights", "openai": "closed_weights"}


def share_run(folder: Path, out: Path, organization: str = "unknown") -> Path:
    """Writes the aggregate and the samples of a run.

    Args:
        folder: The folder of a run on the benchmark.
        out: The folder that gets `data/BENCHMARK/DEVELOPER/MODEL/`.
        organization: Who ran the evaluation.

    Returns:
        The aggregate. The samples are beside it, in `UUID_samples.jsonl`.

    Raises:
        InputError: If the folder holds no run with a finished case, or a file cannot be written.
    """
    run = Run(folder)
    summary, records = run.summarize(), run.records()
    cases: list[Case] = []
    for id, record in sorted(records.items()):
        stages = run.stages(id)
        query = stages.task.query if stages.task else ""
        cases.append(Case(record.model_dump(mode="json"), query, next(iter(stages.traces), None)))
    if not summary.cases:
        raise InputError(f"{folder}: no case of this run is finished; `flowmind exp` goes on with it")
    rates = {name: rate.model_dump() for name, rate in summary.intervals.items()}
    shared = to_every_eval(run.manifest, cases, rates, _model(summary.model), organization)
    path = out / shared.folder / f"{shared.name}.json"
    try:
        write_text(path, dump_json(shared.aggregate, indent=2) + "\n")
        write_text(path.with_name(f"{shared.name}_samples.jsonl"), shared.samples)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    return path


def _model(name: str) -> Model:
    """A model by the name of its developer and its own, as far as they are known."""
    info = find(name)
    served = next((served for served in (name, *info.served_as) if _HUB_NAME.fullmatch(served)), "")
    developer = {"embedded": "flowmind", "openai": "openai"}.get(info.kind, "unknown")
    return Model(
        name,
        served or f"{developer}/{re.sub(r'[^A-Za-z0-9._-]+', '_', name)}",
        _DEPLOYMENTS.get(info.kind, "unknown"),
        _AVAILABILITY.get(info.kind, "unknown"),
    )
