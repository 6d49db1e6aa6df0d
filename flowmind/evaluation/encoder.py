"""Similarities of steps by a sentence encoder, as in the WorFBench paper (extra `worfeval`)."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Any, cast

from flowmind.base.errors import InputError
from flowmind.evaluation.worfeval import Matrix

DEFAULT = "sentence-transformers/all-mpnet-base-v2"
"""The encoder of the paper (section 2.4)."""
_BATCH = 64


class SentenceEncoder:
    """The similarity of two texts: the cosine of their embeddings, or 0 if it is negative.

    Each text is embedded once. Embedding in batches is several times faster, so call `learn` with all texts first.

    Args:
        model: A `SentenceTransformer`.
        name: The name in tables.
    """

    def __init__(self, model: Any, name: str) -> None:
        self.name = name
        self._model = model
        self._known: dict[str, Any] = {}

    def learn(self, texts: Iterable[str]) -> None:
        """Embeds new texts in batches."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            made = self._model.encode(new, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False)
            self._known.update(zip(new, made, strict=True))

    def __call__(self, predicted: Sequence[str], gold: Sequence[str]) -> Matrix:
        """The similarities: a row for each predicted text and a column for each gold text."""
        self.learn((*predicted, *gold))
        known = self._known
        return [[max(0.0, float(known[row] @ known[column])) for column in gold] for row in predicted]


def sentence_encoder(name: str | None = None) -> SentenceEncoder:
    """A sentence encoder. It runs on the GPU if torch finds one, else on the CPU.

    Args:
        name: A model of the Hugging Face hub, or its folder; by default that of the paper.

    Raises:
        InputError: If sentence-transformers is not installed, or the model cannot be loaded.
    """
    try:
        library = cast(Any, importlib.import_module("sentence_transformers"))
        torch = cast(Any, importlib.import_module("torch"))
    except ImportError:
        raise InputError("--similarity encoder needs the extra: pip install 'flowmind-es[worfeval]'") from None
    name = name or DEFAULT
    try:
        model = library.SentenceTransformer(name, device="cuda" if torch.cuda.is_available() else "cpu")
    except (OSError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"--encoder {name}: {first}") from None
    return SentenceEncoder(model, name)
