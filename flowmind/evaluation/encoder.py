"""Similarities of steps by a sentence encoder, as the WorFBench paper has them (extra `worfeval`)."""

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
    """A similarity by an encoder: the cosine of two texts' embeddings, never below 0.

    Each text is embedded once. Embedding many at once takes a fraction of the time: `learn` all that will be asked for.

    Args:
        model: A `SentenceTransformer`.
        name: What tables call it.
    """

    def __init__(self, model: Any, name: str) -> None:
        self.name = name
        self._model = model
        self._known: dict[str, Any] = {}

    def learn(self, texts: Iterable[str]) -> None:
        """Embeds what is not known yet, in batches of texts of like length."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            made = self._model.encode(new, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False)
            self._known.update(zip(new, made, strict=True))

    def __call__(self, predicted: Sequence[str], gold: Sequence[str]) -> Matrix:
        """The similarities, a row for each predicted text and a column for each gold text."""
        self.learn((*predicted, *gold))
        known = self._known
        return [[max(0.0, float(known[one] @ known[other])) for other in gold] for one in predicted]


def sentence_encoder(name: str | None = None) -> SentenceEncoder:
    """An encoder, on the GPU if torch finds one, else on the processor.

    Args:
        name: A model of the Hugging Face hub, or its folder; the paper's by default.

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
