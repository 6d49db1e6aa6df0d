"""Runs WorFBench: rows asked in parallel, one record a row, resumed by the same command."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import tqdm
from pydantic import Field

from experiments.provenance import surroundings
from experiments.runner import LOST
from experiments.together import Count, run_to_end, work_through
from experiments.worfbench.asking import Asking, judge
from experiments.worfbench.recording import Folder, RowRecord
from experiments.worfbench.rows import Data, Row, choose, read_rows
from experiments.worfbench.summing import Facts, Summary, summarize, tables
from flowmind.base.errors import FlowMindError, InputError, ModelFailure, ModelUnavailable
from flowmind.base.files import dump_json, write_text
from flowmind.evaluation.encoder import DEFAULT, SentenceEncoder, sentence_encoder
from flowmind.evaluation.worfeval import Definition, Similarity, bag_of_words
from flowmind.llm.fingerprints import fingerprint
from flowmind.llm.limiting import AdaptiveLimit, Limit
from flowmind.llm.models import find, reach
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.protocols import ChatModel
from tools_registry.specs.spec import Record

_PACKAGES = ("flowmind-es", "networkx", "openai", "pydantic", "sentence-transformers", "torch")


class Options(Record):
    """What is run."""

    model: str
    data: Path
    asking: Asking = Asking()
    definition: Definition = "paper"
    similarity: Literal["bow", "encoder"] = "bow"
    encoder: str | None = None
    limit: int | None = Field(default=None, ge=1)
    sources: tuple[str, ...] = ()
    base_url: str | None = None
    concurrency: int | Literal["auto"] = "auto"
    """Rows at once; `auto`: as many as bring more throughput."""
    timeout: float = Field(default=600.0, gt=0)

    @property
    def measure(self) -> str:
        """What similarities come from: `bow`, or the encoder's name."""
        return self.encoder or DEFAULT if self.similarity == "encoder" else "bow"

    def settings(self) -> dict[str, Any]:
        """What makes another run: where it runs and how fast is not of it."""
        mode = "worfbench-gold-chain" if self.asking.gold_chain else "worfbench"
        chosen = self.model_dump(mode="json", include={"model", "definition", "limit", "sources"})
        asked = self.asking.model_dump(mode="json")
        return {"mode": mode, **chosen, **asked, "similarity": self.measure, "prompt": self.asking.fingerprint}

    def facts(self, data: str) -> Facts:
        """What the summary says of the run."""
        return Facts(
            model=self.model,
            data=data,
            gold_chain=self.asking.gold_chain,
            definition=self.definition,
            encoder=self.measure,
            temperature=self.asking.temperature,
        )


@dataclass(frozen=True)
class Materials:
    """What a run works on, read and loaded before a model is asked for."""

    data: Data
    rows: tuple[Row, ...]
    similar: Similarity


def prepare(options: Options) -> Materials:
    """Reads the rows and loads the encoder.

    Raises:
        InputError: If the model is none that writes text, the data cannot be used, or the encoder cannot be loaded.
    """
    if find(options.model).kind == "embedded":
        raise InputError(
            f"--model {options.model}: it is no language model and writes no workflow as text; name one that is served"
        )
    if options.encoder is not None and options.similarity != "encoder":
        raise InputError("--encoder: it is used with --similarity encoder only")
    data = read_rows(options.data, options.definition)
    rows = choose(data, options.sources, options.limit)
    return Materials(data, rows, sentence_encoder(options.encoder) if options.similarity == "encoder" else bag_of_words)


def run(options: Options, materials: Materials, out: Path) -> Summary:
    """Asks what is left of a run and writes its summary.

    Raises:
        InputError: If the folder holds another run.
        ModelUnavailable: If the model cannot be reached; what was done is kept.
    """
    folder = Folder(out)
    with folder.run.locked():
        endpoint = reach(options.model, options.base_url)
        limit = AdaptiveLimit() if options.concurrency == "auto" else Limit(options.concurrency)
        model = OpenAIChat.at(endpoint, concurrency=limit, timeout=options.timeout, deadline=options.timeout)
        folder.run.begin(_manifest(options, materials.data, fingerprint(endpoint.base_url, endpoint.served_name)))
        work = _Work(folder, options, materials.similar, model, limit)
        try:
            run_to_end(work.all(materials.rows))
        except BaseException:
            with suppress(FlowMindError, OSError):  # what ended the work is what there is to say
                _settle(folder, options, materials)
            raise
        return _settle(folder, options, materials)


def _manifest(options: Options, data: Data, server: dict[str, Any]) -> dict[str, Any]:
    return {
        "settings": options.settings(),
        "benchmark": {"name": data.name, "sha256": data.sha256},
        "servers": {"model": server},
        **surroundings(_PACKAGES),
    }


def _settle(folder: Folder, options: Options, materials: Materials) -> Summary:
    """Puts the records in the order of the rows and writes the summary: equal runs leave equal files."""
    records = folder.records()
    ordered = [records[row.id] for row in materials.rows if row.id in records]
    folder.put_in_order(ordered)
    summary = summarize(ordered, options.facts(materials.data.name))
    write_text(folder.path / "summary.json", dump_json(summary.model_dump(mode="json"), indent=1) + "\n", "summary")
    write_text(folder.path / "summary.md", tables(summary), "summary")
    return summary


@dataclass
class _Work:
    """The rows of a run, and what they need."""

    folder: Folder
    options: Options
    similar: Similarity
    model: ChatModel
    limit: Limit
    lost: int = 0
    """Rows in a row that the endpoint failed."""
    done: list[RowRecord] = field(default_factory=list[RowRecord])
    scoring: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def all(self, rows: Sequence[Row]) -> None:
        """Asks for what has no record yet, then once more for what the infrastructure failed.

        Raises:
            ModelUnavailable: If the model cannot serve at all, or has failed too many rows one after the other.
        """
        kept = self.folder.records()
        self.done = [record for row in rows if (record := kept.get(row.id)) is not None and record.error is None]
        before = {record.id for record in self.done}
        todo = [row for row in rows if row.id not in before]
        if isinstance(self.similar, SentenceEncoder):
            self.similar.learn(text for row in todo for text in row.gold.nodes)
        with tqdm.tqdm(total=len(rows), initial=len(before), desc=self.options.model, unit="row") as bar:
            try:
                again = await self._pass(todo, bar, last=False)
                await self._pass(again, bar, last=True)
            finally:
                await self.model.aclose()

    async def _pass(self, todo: Sequence[Row], bar: tqdm.tqdm[Any], last: bool) -> list[Row]:
        """Asks for rows, as many at once as the limit says now; gives those that are to be asked again."""
        again: list[Row] = []

        async def one(row: Row, at_once: Count) -> None:
            record = await self._record(row)
            self._count(record)
            if record.error is not None and not last:
                again.append(row)
                return
            self.folder.keep(record)
            self.done.append(record)
            bar.set_postfix_str(self._progress(at_once()), refresh=False)
            bar.update()

        await work_through(todo, self.limit, one)
        return again

    def _count(self, record: RowRecord) -> None:
        """Stops the run when the endpoint is gone: nothing is lost, and the same command goes on."""
        self.lost = self.lost + 1 if record.error is not None else 0
        if self.lost >= LOST:
            raise ModelUnavailable(
                f"{self.model.name} failed {self.lost} rows one after the other, last with: {record.error}; the same "
                "command goes on from here"
            )

    def _progress(self, at_once: int) -> str:
        scored = [record for record in self.done if record.error is None]
        graph = sum(record.graph.f1 for record in scored if record.graph) / max(1, len(scored))
        words = [f"F1 graph={100 * graph:.1f}", f"malformed={sum(record.malformed is not None for record in scored)}"]
        if lost := len(self.done) - len(scored):
            words.append(f"lost={lost}")
        return ", ".join((*words, f"at once={at_once}"))

    async def _record(self, row: Row) -> RowRecord:
        """Asks for a row and scores the reply."""
        begun, clock = time.time(), time.monotonic()
        asking = self.options.asking
        try:
            reply = await self.model.complete(asking.request(row))
        except ModelFailure as error:
            reply, failure = None, str(error)
        else:
            failure = None
        timing = {"started_at": round(begun, 3), "seconds": round(time.monotonic() - clock, 3)}
        held: dict[str, Any] = {"id": row.id, "source": row.source, "gold_graph": row.gold, **timing}
        if reply is None:
            return RowRecord(**held, error=failure)
        async with self.scoring:  # in a thread: an encoder takes long enough for other replies to time out
            judged = await asyncio.to_thread(judge, reply, row, asking, self.options.definition, self.similar)
        return RowRecord(
            **held,
            pred_graph=judged.predicted,
            pred_text=reply.text,
            malformed=judged.malformed,
            chain=judged.chain,
            graph=judged.graph,
            finish=reply.finish,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
        )
