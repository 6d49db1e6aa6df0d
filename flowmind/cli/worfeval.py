"""`flowmind worfeval`: scores pairs of predicted and gold workflow graphs in a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, read_lines, validate
from flowmind.evaluation.encoder import SentenceEncoder, sentence_encoder
from flowmind.evaluation.worfeval import (
    ZERO,
    Definition,
    Matrix,
    PairScore,
    Similarity,
    StepGraph,
    bag_of_words,
    score,
)
from flowmind.formats.node_edge import parse, parse_as_published
from tools_registry.specs.spec import Record

Source = Literal["stored", "bow", "encoder"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    parser.add_argument(
        "pairs", type=Path, metavar="PAIRS.jsonl", help="JSON Lines file of pairs of gold and predicted graphs"
    )
    add_scoring(parser, get_args(Source))


def add_scoring(parser: argparse.ArgumentParser, sources: Iterable[str]) -> None:
    """Adds the flags for the comparison of graphs.

    Args:
        parser: The parser.
        sources: The values of `--similarity`.
    """
    parser.add_argument(
        "--definition", default="paper", choices=get_args(Definition),
        help="definition of the scores: that of the WorFBench paper, or that of its published code (default paper)",
    )  # fmt: skip
    parser.add_argument(
        "--similarity", default="bow", choices=sources,
        help="similarity of steps: by common words (bow), by a sentence encoder, or stored in each row (default bow)",
    )  # fmt: skip
    parser.add_argument("--encoder", help="name or folder of the sentence encoder (default all-mpnet-base-v2)")


def run(options: argparse.Namespace) -> int:
    """Prints the scores of each pair, and the means to standard error."""
    _require_encoder(options)
    pairs = malformed = 0
    totals = {"chain": 0.0, "graph": 0.0}
    for scored in score_file(options.pairs, options.definition, options.similarity, options.encoder):
        print(dump_json({"id": scored.id, **scored.score.model_dump(mode="json")}))
        pairs += 1
        malformed += scored.malformed
        for name in totals:
            part = getattr(scored.score, name)
            totals[name] += part.f1 if part is not None else 0.0
    if not pairs:
        raise InputError(f"{options.pairs}: no pair in it; give JSON Lines with gold_text and pred_text, or graphs")
    means = ", ".join(f"mean {name} f1 {total / pairs:.4f}" for name, total in totals.items())
    print(f"{pairs} pairs, {means}; {malformed} malformed predictions count 0", file=sys.stderr)
    return 0


def _require_encoder(options: argparse.Namespace) -> None:
    """Refuses the name of an encoder that would not be used.

    Raises:
        InputError: If `--encoder` is passed without `--similarity encoder`.
    """
    if options.encoder is not None and options.similarity != "encoder":
        raise InputError("--encoder: it is used with --similarity encoder only")


class PairRow(BaseModel):
    """A row of the file: two graphs, as objects or as Node/Edge text. Other fields are ignored."""

    pair_id: str | None = None
    id: str | None = None
    gold_graph: dict[str, Any] | None = None
    pred_graph: dict[str, Any] | None = None
    gold_text: str | None = None
    pred_text: str | None = None
    similarity_minilm: tuple[tuple[float, ...], ...] | None = None
    """Stored similarities: a row for each predicted node and a column for each gold node."""


class Scored(Record):
    """The scores of a pair."""

    id: str | None
    score: PairScore
    malformed: bool = False
    """Whether the prediction cannot be read; it then scores zero."""


def score_file(path: Path, definition: Definition, source: Source, encoder: str | None = None) -> Iterator[Scored]:
    """Scores the pairs of a file.

    Args:
        path: A JSON Lines file of `PairRow` objects.
        definition: `paper` or `reference`.
        source: The similarity of steps: `stored` in the rows, `bow` (common words), or `encoder`.
        encoder: The name or folder of the sentence encoder.

    Raises:
        InputError: If a row, its gold graph or its similarities are not valid; the message has the file and the row.
    """
    similarity = {"bow": bag_of_words}.get(source) or (sentence_encoder(encoder) if source == "encoder" else None)
    rows: Iterable[PairRow] = read_lines(path, PairRow)
    if isinstance(similarity, SentenceEncoder):  # embedding all texts at once is several times faster
        rows = list(rows)
        similarity.learn(text for row in rows for text in _texts(row, definition))
    for number, row in enumerate(rows, 1):
        try:
            yield _scored(row, definition, similarity)
        except ValueError as error:
            raise InputError(f"{path}, pair {number}: {error}") from None


def _scored(row: PairRow, definition: Definition, similarity: Similarity | None) -> Scored:
    name = row.pair_id or row.id
    try:
        gold = _graph(row.gold_graph, row.gold_text, definition)
    except ValueError as error:
        raise ValueError(f"gold: {error}") from None
    try:
        predicted = _graph(row.pred_graph, row.pred_text, definition)
    except ValueError as error:
        return Scored(id=name, score=PairScore(chain=ZERO, graph=ZERO, error=f"prediction: {error}"), malformed=True)
    stored = row.similarity_minilm
    matrix: Matrix | None = stored if similarity is None else similarity(predicted.nodes, gold.nodes)
    if matrix is None:
        raise ValueError("the row has no similarity_minilm; use --similarity bow or encoder")
    return Scored(id=name, score=score(predicted, gold, matrix, definition))


def _texts(row: PairRow, definition: Definition) -> Iterator[str]:
    """The steps of both graphs; a graph that cannot be read has no steps."""
    for graph, text in ((row.gold_graph, row.gold_text), (row.pred_graph, row.pred_text)):
        try:
            yield from _graph(graph, text, definition).nodes
        except ValueError:
            continue


def _graph(graph: dict[str, Any] | None, text: str | None, definition: Definition) -> StepGraph:
    if graph is not None:
        return validate(StepGraph, graph)
    if text is None:
        raise ValueError("the row has neither a graph nor a text")
    read = parse(text) if definition == "paper" else parse_as_published(text)
    return StepGraph(nodes=read.nodes, edges=read.edges)
