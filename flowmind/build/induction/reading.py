"""Reads a task's text for induction: the constants that it names, and the comparisons that it makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flowmind.build.induction.wording import Mention, agreement, mentions, stems, word_overlap


@dataclass(frozen=True)
class Reading:
    """The constants, comparisons and word stems of a text."""

    text: str = ""
    named: tuple[Mention, ...] = ()
    spoken: frozenset[str] = frozenset()
    _said: dict[str, float] = field(default_factory=dict[str, float], compare=False)
    _agreed: dict[tuple[str, str, frozenset[str]], float] = field(
        default_factory=dict[tuple[str, str, frozenset[str]], float], compare=False
    )

    @property
    def constants(self) -> Sequence[Any]:
        """The numbers and quoted texts in it."""
        return list(dict.fromkeys(mention.value for mention in self.named))

    def said(self, value: Any) -> float:
        """The degree to which it names a constant: 1, 0, or in between for a text that may be a keyword."""
        key = repr(value)
        if key not in self._said:
            self._said[key] = self._look(value)
        return self._said[key]

    def _look(self, value: Any) -> float:
        if value is None or isinstance(value, bool):
            return 0.0
        if isinstance(value, int | float):
            return (
                1.0
                if any(value == mention.value for mention in self.named if not isinstance(mention.value, str))
                else 0.0
            )
        if isinstance(value, str) and value:
            if any(value == mention.value for mention in self.named):
                return 1.0
            if value.lower() in self.text.lower() and len(value) > 2:
                return 0.9
            return 0.4 if len(value) <= 12 and value.replace("_", "").isalnum() else 0.1
        return 0.0

    def agreement(self, op: str, value: Any, names: Iterable[str]) -> float:
        """The degree to which it makes this comparison with this value, for variables with these names."""
        key = (op, repr(value), frozenset(names))
        if key not in self._agreed:
            self._agreed[key] = self._weigh(op, value, key[2])
        return self._agreed[key]

    def _weigh(self, op: str, value: Any, names: frozenset[str]) -> float:
        agreed = agreement(self.named, op, value)
        if not agreed:
            return 0.0
        around = {stem for mention in self.named if mention.value == value for stem in mention.context}
        return agreed * (0.6 + 0.4 * word_overlap(names, frozenset(around) or self.spoken))


def read(text: str) -> Reading:
    """Reads a task's text."""
    return Reading(text, mentions(text), stems(text))
