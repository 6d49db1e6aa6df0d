"""The tools of `summarize`: functions and sources that can be called, or descriptions that cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from flowmind.api.runnable import environment_of, require_distinct, require_environment, tool_list
from flowmind.base.errors import InputError
from flowmind.formats.tool_schema import specs_of_openai_tools, specs_of_traces
from flowmind.trace.events import Trace
from flowmind.trace.recorded import Recorded
from flowmind.workflow.graph_tools import GRAPH_TOOLS
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.spec import ToolSpec, untried, untried_line

Definition = ToolSpec | Mapping[str, Any]
"""The description of a tool: a spec, or a definition in the form of OpenAI, Anthropic or MCP."""
NOT_PASSED = "the tools were not passed"


@dataclass(frozen=True)
class Toolbox:
    """The tools of a workflow."""

    trial: Environment
    """The environment of the check."""
    own: Environment | None
    """The environment of the finished workflow, if its tools can be called."""
    reason: str = ""
    """Why the check uses recorded results; empty if it calls all tools."""

    @property
    def runs(self) -> bool:
        """Whether the check calls all tools."""
        return not self.reason


def toolbox_of(traces: Sequence[Trace], tools: Any, environment: Environment | None) -> Toolbox:
    called = {step.call.tool for trace in traces for step in trace.calls if step.observation.ok} - set(GRAPH_TOOLS)
    specs: Mapping[str, ToolSpec]
    own = None if environment is None else require_environment(environment)
    if own is None and tools:
        listed = [_definition(tool) for tool in ([tools] if _is_definition(tools) else tool_list(tools))]
        described = [cast(Definition, tool) for tool in listed if isinstance(tool, ToolSpec | Mapping)]
        if described and len(described) < len(listed):
            raise InputError("tools: give either tools that can be run or descriptions of tools, not both")
        specs = _specs(described) if described else {}
        own = None if described else environment_of(listed)
    else:
        specs = {name: spec for name, spec in specs_of_traces(traces).items() if name not in GRAPH_TOOLS}
    specs = specs if own is None else own.specs
    if missing := sorted(called - specs.keys()):
        raise InputError(f"the traces call {missing[0]!r}, which is not among the tools: {', '.join(specs) or 'none'}")
    unmarked = untried({name: specs[name] for name in sorted(called)})
    if own is not None:
        return Toolbox(own, own, untried_line({name: specs[name] for name in unmarked}, "recorded results were used"))
    return Toolbox(Recorded(specs, [trace for trace in traces if trace.executed], unmarked), None, NOT_PASSED)


def _is_definition(tools: Any) -> bool:
    """Whether a mapping is the definition of one tool and not a dict of tools by name."""
    return isinstance(tools, Mapping) and any(
        isinstance(cast(Mapping[str, Any], tools).get(key), str) for key in ("name", "type")
    )


def _definition(tool: Any) -> Any:
    """A tool object of MCP without a function as its definition; other tools unchanged."""
    described = any(isinstance(getattr(tool, key, None), Mapping) for key in ("inputSchema", "input_schema"))
    return tool.model_dump(by_alias=True) if described and hasattr(tool, "model_dump") else tool


def _specs(described: Sequence[Definition]) -> dict[str, ToolSpec]:
    """The specs by name."""
    defined = specs_of_openai_tools([tool for tool in described if isinstance(tool, Mapping)])
    specs = [*(spec for spec in described if isinstance(spec, ToolSpec)), *defined.values()]
    require_distinct([spec.name for spec in specs])
    return {spec.name: spec for spec in specs}
