"""Scores a file of predicted and gold workflow graphs by WorFEval, a line for each pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from flowmind.base.errors import InputError
from flowmind.base.files import read_lines, validate
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


class PairRow(BaseModel):
    """A line of a file of pairs: two graphs, as objects or as Node/Edge text. Other fields are left alone."""

    pair_id: str | None = None
    id: str | None = None
    gold_graph: dict[str, Any] | None = None
    pred_graph: dict[str, Any] | None = None
    gold_text: str | None = None
    pred_text: str | None = None
    similarity_minilm: tuple[tuple[float, ...], ...] | None = None
    """Similarities that are stored with the pair: a row for each predicted node, a column for each gold node."""


class Scored(Record):
    """What became of a pair."""

    id: str | None
    score: PairScore
    malformed: bool = False
    """The prediction cannot be read: it scores zero."""


def score_file(path: Path, definition: Definition, source: Source, encoder: str | None = None) -> Iterator[Scored]:
    """Scores the pairs of a file, one after the other.

    Args:
        path: JSON Lines, each a `PairRow`.
        definition: `paper` or `reference`.
        source: Where similarities come from: `stored` in the rows, `bow` from words, `encoder` from a model.
        encoder: The sentence encoder's name or folder.

    Raises:
        InputError: If a row, its gold graph or its similarities cannot be used, with file and line.
    """
    similar = {"bow": bag_of_words}.get(source) or (sentence_encoder(encoder) if source == "encoder" else None)
    rows: Iterable[PairRow] = read_lines(path, PairRow)
    if isinstance(similar, SentenceEncoder):  # embedding all texts at once takes a fraction of the time
        rows = list(rows)
        similar.learn(text for row in rows for text in _texts(row, definition))
    for number, row in enumerate(rows, 1):
        try:
            yield _scored(row, definition, similar)
        except ValueError as error:
            raise InputError(f"{path}, pair {number}: {error}") from None


def _scored(row: PairRow, definition: Definition, similar: Similarity | None) -> Scored:
    name = row.pair_id or row.id
    try:
        gold = _graph(row.gold_graph, row.gold_text, definition)
    except ValueError as error:
        raise ValueError(f"gold: {error}") from None
    try:
        predicted = _graph(row.pred_graph, row.pred_text, definition)
    except ValueError as error:
        return Scored(id=name, score=PairScore(chain=ZERO, graph=ZERO, error=f"prediction: {error}"), malformed=True)
    found: Matrix | None = row.similarity_minilm if similar is None else similar(predicted.nodes, gold.nodes)
    if found is None:
        raise ValueError("no similarity_minilm is stored with it; use --similarity bow or encoder")
    return Scored(id=name, score=score(predicted, gold, found, definition))


def _texts(row: PairRow, definition: Definition) -> Iterator[str]:
    """The steps of both graphs; of one that cannot be read, none."""
    for graph, text in ((row.gold_graph, row.gold_text), (row.pred_graph, row.pred_text)):
        try:
            yield from _graph(graph, text, definition).nodes
        except ValueError:
            continue


def _graph(graph: dict[str, Any] | None, text: str | None, definition: Definition) -> StepGraph:
    if graph is not None:
        return validate(StepGraph, graph)
    if text is None:
        raise ValueError("neither a graph nor a text is given")
    read = parse(text) if definition == "paper" else parse_as_published(text)
    return StepGraph(nodes=read.nodes, edges=read.edges)
