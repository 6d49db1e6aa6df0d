"""The controllers of a session, from the procedures of its scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowmind.dialogue.procedures.controllers import make_controllers
from flowmind.dialogue.procedures.procedure import procedure_of
from flowmind.protocols import Controller
from flowmind.trace.scenario import Scenario
from tools_registry.specs.spec import ToolSpec


def controllers_of(
    names: Sequence[str],
    scenarios: Sequence[Scenario],
    specs: Mapping[str, ToolSpec],
    knowledge: str,
    max_turns: int,
) -> Sequence[Controller]:
    """The controllers of a session with some scenarios; see `make_controllers`."""
    procedures = [procedure_of(scenario.workflow, specs) for scenario in scenarios]
    return make_controllers(names, procedures, specs, knowledge, max_turns)
