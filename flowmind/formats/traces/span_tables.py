"""The table for spans that came over OTLP: each span is read by the attributes that it has.

One trace may have spans of several instrumentations, such as a root of Langfuse around an agent of pydantic-ai.
"""

from __future__ import annotations

from flowmind.formats.traces.genai import GENAI_SPANS
from flowmind.formats.traces.langfuse import LANGFUSE_SPANS
from flowmind.formats.traces.langfuse import TYPE as LANGFUSE_TYPE
from flowmind.formats.traces.mlflow import MLFLOW_SPANS
from flowmind.formats.traces.mlflow import TYPE as MLFLOW_TYPE
from flowmind.formats.traces.openinference_spans import KIND, OPENINFERENCE_SPANS
from flowmind.formats.traces.spans import Span, Table

_TABLES = {KIND: OPENINFERENCE_SPANS, MLFLOW_TYPE: MLFLOW_SPANS, LANGFUSE_TYPE: LANGFUSE_SPANS}
"""The tables by the attribute that says what a span is; without one, the GenAI conventions hold."""


def table_of(span: Span) -> Table:
    """The table for a span that came over OTLP."""
    return next((table for name, table in _TABLES.items() if name in span.attributes), GENAI_SPANS)
