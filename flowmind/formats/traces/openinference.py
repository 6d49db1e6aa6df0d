"""Reads spans with the attributes of OpenInference, which Phoenix stores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flowmind.formats.traces.imported import Imported, Reader
from flowmind.formats.traces.openinference_spans import KIND
from flowmind.formats.traces.otlp_document import is_spans, keys_of, spans_of
from flowmind.formats.traces.span_tables import table_of
from flowmind.formats.traces.spans import traces_of_spans


def _recognises(value: Any) -> bool:
    return is_spans(value) and KIND in keys_of(value)


def _read(value: Any) -> Iterator[Imported]:
    return traces_of_spans(spans_of(value), table_of)


OPENINFERENCE = Reader("OpenInference (Phoenix)", _recognises, _read)
"""Reads spans in the forms of OTLP that have the attributes of OpenInference."""
