"""Runs WorFBench: a model writes the workflow of each row, one record a row, resumed by the same command."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from experiments.driver import at, drive, kept_in, require_answers
from experiments.folder import RunFolder
from experiments.progress import CaseBar, shown, typed_command
from experiments.provenance import surroundings
from experiments.shards import checked, dealt, place, shard_named
from experiments.worfbench.asking import Asking, judge
from experiments.worfbench.recording import RowRecord
from experiments.worfbench.rows import Data, Row, choose, read_rows
from experiments.worfbench.summing import Facts, Summary, summarize, tables
from flowmind.base.errors import FlowMindError, InputError, ModelFailure
from flowmind.evaluation.encoder import DEFAULT, SentenceEncoder, sentence_encoder
from flowmind.evaluation.worfeval import Definition, Similarity, bag_of_words
from flowmind.llm.fingerprints import fingerprint
from flowmind.llm.limiting import AdaptiveLimit, Limit
from flowmind.llm.models import find, reach
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.maps.local import LocalMap
from flowmind.maps.sending import run_to_end
from flowmind.protocols import ChatModel, Emit
from tools_registry.sandbox.closing import Closing
from tools_registry.specs.spec import Record

_PACKAGES = ("flowmind-es", "networkx", "openai", "pydantic", "sentence-transformers", "torch")


class Options(Record):
    """The settings of a run."""

    model: str
    data: Path
    asking: Asking = Asking()
    definition: Definition = "paper"
    similarity: Literal["bow", "encoder"] = "bow"
    encoder: str | None = None
    limit: int | None = Field(default=None, ge=1)
    sources: tuple[str, ...] = ()
    base_url: str | None = None
    shard: str | None = None
    """The part of the rows that is worked on, `K/N`; None for all."""
    concurrency: int | Literal["auto"] = "auto"
    """The number of rows at the same time; `auto` adapts it to the throughput of the server."""
    timeout: float = Field(default=600.0, gt=0)

    @field_validator("shard")
    @classmethod
    def _of_a_shard(cls, shard: str | None) -> str | None:
        return checked(shard)

    @property
    def measure(self) -> str:
        """The measure of similarity: `bow`, or the encoder's name."""
        return self.encoder or DEFAULT if self.similarity == "encoder" else "bow"

    def settings(self) -> dict[str, Any]:
        """The settings that identify a run, without location and concurrency."""
        mode = "worfbench-gold-chain" if self.asking.gold_chain else "worfbench"
        chosen = self.model_dump(mode="json", include={"model", "definition", "limit", "sources"})
        asking = self.asking.model_dump(mode="json")
        return {"mode": mode, **chosen, **asking, "similarity": self.measure, "prompt": self.asking.fingerprint}


@dataclass(frozen=True)
class Materials:
    """The rows and the similarity of a run, loaded before the model is asked."""

    data: Data
    rows: tuple[Row, ...]
    similar: Similarity


def prepare(options: Options) -> Materials:
    """Reads the rows and loads the encoder.

    Raises:
        InputError: If the model does not write text, the data cannot be used, or the encoder cannot be loaded.
    """
    if find(options.model).kind == "embedded":
        raise InputError(f"--model {options.model}: it is not a language model; name a model that is served")
    if options.encoder is not None and options.similarity != "encoder":
        raise InputError("--encoder: it is used with --similarity encoder only")
    data = read_rows(options.data, options.definition)
    rows = tuple(dealt(choose(data, options.sources, options.limit), shard_named(options.shard)))
    return Materials(data, rows, sentence_encoder(options.encoder) if options.similarity == "encoder" else bag_of_words)


class RowServices(Closing):
    """The services that evaluate rows: the model and the measure of similarity.

    Args:
        model: The model that writes the workflows.
        asking: The settings of the requests.
        definition: The definition of the scores.
        similar: The similarity of two texts.
    """

    def __init__(self, model: ChatModel, asking: Asking, definition: Definition, similar: Similarity) -> None:
        self.model = model
        self.asking = asking
        self.definition: Definition = definition
        self.similar = similar
        self.scoring = asyncio.Lock()

    def close(self) -> None:
        """Does nothing: the connections of the model belong to the event loop."""


async def evaluate(row: Row, services: RowServices, emit: Emit | None = None) -> RowRecord:
    """Asks the model for the workflow of a row, and scores the reply."""
    begun, clock = time.time(), time.monotonic()
    error, reply = None, None
    try:
        reply = await services.model.complete(services.asking.request(row))
    except ModelFailure as failure:
        error = str(failure)
    seconds = round(time.monotonic() - clock, 3)
    record = RowRecord(
        id=row.id, error=error, source=row.source, held_out=row.held_out, gold_graph=row.gold,
        started_at=round(begun, 3), seconds=seconds,
    )  # fmt: skip
    if reply is None:
        return record
    async with services.scoring:  # in a thread: an encoder takes long enough for other replies to time out
        judged = await asyncio.to_thread(judge, reply, row, services.asking, services.definition, services.similar)
    return record.model_copy(
        update={
            "pred_graph": judged.predicted,
            "pred_text": reply.text,
            "malformed": judged.malformed,
            "chain": judged.chain,
            "graph": judged.graph,
            "finish": reply.finish,
            "input_tokens": reply.input_tokens,
            "output_tokens": reply.output_tokens,
        }
    )


def run(options: Options, materials: Materials, out: Path) -> Summary:
    """Asks the model for the remaining rows of a run and writes its summary.

    Raises:
        InputError: If the folder holds another run.
        ModelUnavailable: If the model cannot be reached; completed rows are kept.
    """
    shard = shard_named(options.shard)
    folder = RunFolder(place(out, shard), RowRecord)
    with folder.locked():
        endpoint = reach(options.model, options.base_url)
        limit = AdaptiveLimit() if options.concurrency == "auto" else Limit(options.concurrency)
        model = OpenAIChat.at(endpoint, concurrency=limit, timeout=options.timeout, deadline=options.timeout)
        manifest = _manifest(options, materials.data, fingerprint(endpoint.base_url, endpoint.served_name))
        if shard is not None:
            manifest |= shard.manifest((row.id for row in materials.rows), typed_command())
        folder.begin(manifest)
        services = RowServices(model, options.asking, options.definition, materials.similar)
        with shown(CaseBar(unit="row")) as bar:
            try:
                with kept_in(folder.folder):
                    run_to_end(_work(folder, options, materials, services, limit, bar, endpoint.base_url))
            except BaseException:
                with suppress(FlowMindError, OSError):  # the error that ended the work is the one to report
                    _settle(folder, options, materials)
                raise
        summary = _settle(folder, options, materials)
    with kept_in(folder.folder):
        errors = [record.error for record in folder.records().values()]
        require_answers(at(options.model, [endpoint.base_url]), summary.rows, errors, "row")
    return summary


async def _work(
    folder: RunFolder[RowRecord],
    options: Options,
    materials: Materials,
    services: RowServices,
    limit: Limit,
    bar: CaseBar,
    url: str,
) -> None:
    """Asks for the rows that have no record yet."""
    rows, records = materials.rows, folder.records()
    scored = [record for row in rows if (record := records.get(row.id)) is not None and record.error is None]
    done = {record.id for record in scored}
    todo = [row for row in rows if row.id not in done]
    if isinstance(materials.similar, SentenceEncoder):
        materials.similar.learn(text for row in todo for text in row.gold.nodes)
    local: LocalMap[Row, RowRecord] = LocalMap(evaluate, services, limit)

    async def ask(row: Row) -> RowRecord:
        return await local.evaluate(row, lambda _: None)

    lost = 0
    bar.begin(options.model, len(rows), len(done))

    def keep(row: Row, record: RowRecord, running: int) -> None:
        nonlocal lost
        folder.keep_record(record)
        if record.error is None:
            scored.append(record)
        else:
            lost += 1
        bar.step(_progress(scored, lost, running))

    try:
        await drive(todo, lambda: local.at_once, ask, keep, at(options.model, [url]))
    finally:
        await services.model.aclose()


def _progress(scored: Sequence[RowRecord], lost: int, running: int) -> str:
    graph = sum(record.graph.f1 for record in scored if record.graph) / max(1, len(scored))
    parts = [f"F1 graph={100 * graph:.1f}", f"malformed={sum(record.malformed is not None for record in scored)}"]
    return ", ".join([*parts, *([f"lost={lost}"] if lost else []), f"at once={running}"])


def _manifest(options: Options, data: Data, server: dict[str, Any]) -> dict[str, Any]:
    return {
        "settings": options.settings(),
        "benchmark": {"name": data.name, "sha256": data.sha256},
        "servers": {"model": server},
        **surroundings(_PACKAGES),
    }


def _settle(folder: RunFolder[RowRecord], options: Options, materials: Materials) -> Summary:
    """Puts the records in the order of the rows and writes the summary: equal runs leave equal files."""
    folder.put_in_order(row.id for row in materials.rows)
    return summarize_rows(folder.folder)


def summarize_rows(path: Path) -> Summary:
    """Computes the summary of a run again from its records, and writes `summary.json` and `summary.md`.

    Raises:
        InputError: If the folder holds no run on WorFBench.
    """
    folder = RunFolder(path, RowRecord)
    settings, data = folder.manifest["settings"], folder.manifest["benchmark"]["name"]
    names = ("model", "gold_chain", "definition", "temperature")
    facts = Facts(**{name: settings[name] for name in names}, data=data, encoder=settings["similarity"])
    summary = summarize(list(folder.records().values()), facts)
    folder.write_summary(summary, tables(summary))
    return summary
