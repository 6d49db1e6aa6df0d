"""Similarities of steps by a sentence encoder, as the WorFBench paper has them (extra `worfeval`)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, cast

from flowmind.errors import InputError
from flowmind.evaluation.worfeval import Matrix, Similarity

DEFAULT = "sentence-transformers/all-mpnet-base-v2"
"""The encoder of the paper (section 2.4)."""


def sentence_encoder(name: str | None = None) -> Similarity:
    """A similarity by an encoder: the cosine of two texts' embeddings, never below 0.

    Args:
        name: A model of the Hugging Face hub, or its folder; the paper's by default.

    Raises:
        InputError: If sentence-transformers is not installed, or the model cannot be loaded.
    """
    try:
        library = cast(Any, importlib.import_module("sentence_transformers"))
    except ImportError:
        raise InputError("--similarity encoder needs the extra: pip install 'flowmind-es[worfeval]'") from None
    try:
        model = library.SentenceTransformer(name or DEFAULT, device="cpu")
    except (OSError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"--encoder {name or DEFAULT}: {first}") from None
    known: dict[str, Any] = {}

    def similar(predicted: Sequence[str], gold: Sequence[str]) -> Matrix:
        new = [text for text in dict.fromkeys((*predicted, *gold)) if text not in known]
        if new:
            made = model.encode(new, normalize_embeddings=True, show_progress_bar=False)
            known.update(zip(new, made, strict=True))
        return [[max(0.0, float(known[one] @ known[other])) for other in gold] for one in predicted]

    return similar
