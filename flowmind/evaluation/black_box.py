"""Black-box evaluation: a workflow is right if it gives the golden answer on held-out inputs (exact match).

Source: FlowMind, section 3.2 and appendix C.2.
"""

from __future__ import annotations

from typing import Any

from flowmind.protocols import Evaluation
from flowmind.trace.events import Trace
from tools_registry.specs.schema import json_equal, show


class ExactMatch:
    """1 if the trace came to its end with the expected answer, else 0."""

    def evaluate(self, trace: Trace, expected: Any) -> Evaluation:
        """The score of one trace."""
        if not trace.ok:
            message = trace.error.message if trace.error else ""
            return Evaluation(name="exact_match", value=0.0, reason=f"stopped by {trace.stop}: {message}")
        if json_equal(trace.answer, expected):
            return Evaluation(name="exact_match", value=1.0)
        reason = f"expected {show(expected)}, got {show(trace.answer)}"
        return Evaluation(name="exact_match", value=0.0, reason=reason)
