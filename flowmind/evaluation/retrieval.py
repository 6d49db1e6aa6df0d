"""The retrieval of tools: which tools of a list are most similar to a step in words (WorFBench, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence

from flowmind.evaluation.worfeval import Similarity
from tools_registry.specs.spec import ToolSpec


class Retriever:
    """Ranks the tools of a list by the similarity of their names and first lines of description to a text.

    Args:
        similar: The similarity of two texts: `bag_of_words`, or a `SentenceEncoder`.
    """

    def __init__(self, similar: Similarity) -> None:
        self._similar = similar

    def ranked(self, text: str, specs: Sequence[ToolSpec]) -> list[ToolSpec]:
        """The tools, the most similar first; equally similar ones in the order of the list."""
        if not specs:
            return []
        (row,) = self._similar([text], [_text(spec) for spec in specs])
        return [specs[place] for place in sorted(range(len(specs)), key=lambda place: -row[place])]

    def __call__(self, text: str, specs: Sequence[ToolSpec]) -> ToolSpec:
        """The most similar tool of a list that is not empty."""
        return self.ranked(text, specs)[0]


def _text(spec: ToolSpec) -> str:
    return f"{spec.name.replace('_', ' ')}: {spec.description.partition(chr(10))[0]}"
