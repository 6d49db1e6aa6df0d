"""The task message of a dialogue agent: role, time, tools and the knowledge of procedures in one of seven formats.

Role: ...
Time: 2026-03-02 09:00

Tools:
find_hospital(hospital: string) -> any
    ...

Procedure: Schedule a Medical Consultation
```pdl
...
```

User: Hello, I need to see a doctor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowmind.dialogue.procedures.procedure import answer_name
from flowmind.formats.catalog import FORMATS as FILE_FORMATS
from flowmind.trace.scenario import OUTCOME, Scenario
from flowmind.workflow.document import End, Literal_, ObjectOf, Workflow
from tools_registry.specs.spec import ToolSpec

FORMATS: dict[str, tuple[str, ...]] = {
    "none": (),
    "names": (),
    "text": ("text",),
    "code": ("code",),
    "flowchart": ("flowchart",),
    "pdl": ("pdl",),
    "ensemble": ("text", "code", "flowchart"),
}
"""The formats of knowledge, each with the formats of its blocks. `none`: tools without a procedure. `names`: also
without descriptions of the tools (FlowBench, table 5). `ensemble`: three formats (FlowBench)."""
_EXPORTERS = {"text": "text", "code": "flowbench-code", "flowchart": "flowbench-flowchart", "pdl": "pdl"}
GIVEN = (
    "What a procedure is given (its inputs, or the parameters of its function) is known to the user only: ask the user "
    "for it when a step needs it."
)
"""The sentence before the knowledge, the same for all formats."""


def knowledge_of(workflow: Workflow, specs: Mapping[str, ToolSpec], format: str) -> str:
    """The knowledge of a workflow that passes `check` in a format, without fences; empty for `none` and `names`.

    Every end returns an object that names its answer in `outcome`, so that all formats name it. The knowledge of
    `ensemble` is three texts, each in its fence.
    """
    parts = FORMATS[format]
    return _exported(workflow, specs, parts[0]) if len(parts) == 1 else blocks_of(workflow, specs, format)


def blocks_of(workflow: Workflow, specs: Mapping[str, ToolSpec], format: str) -> str:
    """The knowledge of a workflow in fenced blocks, whose info strings are the formats."""
    return "\n".join(fenced(_exported(workflow, specs, part), part) for part in FORMATS[format])


def with_outcomes(workflow: Workflow) -> Workflow:
    """The workflow with the name of the answer as the constant `outcome` in the object of every end."""
    nodes = tuple(_with_outcome(node) if isinstance(node, End) else node for node in workflow.nodes)
    return workflow if nodes == workflow.nodes else workflow.model_copy(update={"nodes": nodes})


def _with_outcome(end: End) -> End:
    fields = end.output.object if isinstance(end.output, ObjectOf) else {"answer": end.output}
    if OUTCOME in fields:
        return end
    return end.model_copy(update={"output": ObjectOf(object={OUTCOME: Literal_(value=answer_name(end)), **fields})})


def fenced(text: str, format: str) -> str:
    """A text in a fenced block."""
    return f"```{format}\n{text.strip()}\n```"


def _exported(workflow: Workflow, specs: Mapping[str, ToolSpec], part: str) -> str:
    return FILE_FORMATS[_EXPORTERS[part]].export(with_outcomes(workflow), specs).text


def tools_text(specs: Mapping[str, ToolSpec], format: str, own: Sequence[str] = ()) -> str:
    """The documentation of tools; only their signatures for `names`.

    Args:
        specs: The tools.
        format: The format of the knowledge.
        own: The tools of the session itself, which are always documented.
    """
    bare = format == "names"
    return "\n".join(spec.signature() if bare and name not in own else spec.document() for name, spec in specs.items())


def briefing(background: str, time: str, tools: str, procedures: Sequence[tuple[str, str]]) -> str:
    """The task message up to the user's first text.

    Args:
        background: The work of the role.
        time: The time of the session, or an empty text.
        tools: The documentation of the tools.
        procedures: The title and the fenced blocks of each procedure.
    """
    head = [f"Role: {background}" if background else "Role: You help the user with your tools."]
    head += [f"Time: {time}"] if time else []
    known = [f"Procedure: {title}\n{blocks}" for title, blocks in procedures if blocks]
    parts = ["\n".join(head), f"Tools:\n{tools}", *([GIVEN] if known else []), *known]
    return "\n\n".join(parts)


def task_text(
    scenarios: Sequence[Scenario], specs: Mapping[str, ToolSpec], format: str, first: str = "", own: Sequence[str] = ()
) -> str:
    """The task message of a session.

    Args:
        scenarios: The scenarios whose procedures the agent may need; they share a role.
        specs: The tools, those of the session itself included.
        format: The format of the knowledge.
        first: The user's first text; without it the message ends before `User: `.
        own: The tools of the session itself.
    """
    procedures = [(scenario.title, blocks_of(scenario.workflow, specs, format)) for scenario in scenarios]
    text = briefing(scenarios[0].background, scenarios[0].time, tools_text(specs, format, own), procedures)
    return opened(text, first) if first else text


def opened(briefing: str, first: str) -> str:
    """A briefing followed by the user's first text."""
    return f"{briefing}\n\nUser: {first}"
