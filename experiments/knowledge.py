"""The workflows that the agents of a run are given: gold workflows, or those of a finished run.

A run keeps them in its folder, so that it can be replayed without their source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from experiments.folder import Run, RunFolder
from experiments.loading import worfbench_runs
from experiments.options import GOLD, NO_KNOWLEDGE, RunOptions
from experiments.worfbench.recording import RowRecord
from flowmind.base.checksums import read_document, write_document
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.build.settings import GUIDED, MODES, Settings
from flowmind.evaluation.worfeval import StepGraph
from flowmind.formats.knowledge import NODE_EDGE, knowledge_from, knowledge_of
from flowmind.protocols import Knowledge
from flowmind.trace.task import Task
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import ToolSource

FILE = "knowledge.json"
Known = dict[str, Knowledge]
"""The workflows by task; tasks without a sound workflow are left out."""
_Kept = TypeAdapter(Known)


def require_knowledge(options: RunOptions, settings: Settings) -> None:
    """Refuses a workflow that the mode does not read, and a mode that lacks its workflow.

    Raises:
        InputError: With what would be right.
    """
    if settings.mode not in GUIDED:
        if options.knowledge != NO_KNOWLEDGE:
            raise InputError(
                f"--knowledge {options.knowledge}: mode {settings.mode!r} takes no workflow; {', '.join(GUIDED)} do"
            )
    elif MODES[settings.mode].execute == "c" and options.knowledge == NO_KNOWLEDGE:
        raise InputError(
            f"mode {settings.mode!r} works through the steps of a workflow: give --knowledge {GOLD}, or the folder of "
            "a run with workflows"
        )


def read_knowledge(
    options: RunOptions,
    tasks: Iterable[Task],
    tools: Mapping[str, ToolSource],
    golds: Mapping[str, Workflow],
    benchmark: object,
) -> Known:
    """The workflows that `--knowledge` names.

    Args:
        options: The source and the format.
        tasks: All tasks of the benchmark.
        tools: All tools of the benchmark.
        golds: Its gold workflows.
        benchmark: What the manifest of a run says of the benchmark.

    Raises:
        InputError: If there is no such run, it is of another benchmark, or it has no sound workflow of any task.
    """
    source = options.knowledge
    if source == NO_KNOWLEDGE:
        return {}
    if source == GOLD:
        known = _of_workflows(golds.get, options.knowledge_format, tasks, tools)
    elif worfbench_runs([Path(source)]):
        if options.knowledge_format != NODE_EDGE:
            raise InputError(f"--knowledge {source}: a run on WorFBench has steps in words, for {NODE_EDGE} only")
        known = _of_rows(RunFolder(Path(source), RowRecord).records(), tasks)
    else:
        run = Run(Path(source))
        if run.manifest["benchmark"] != benchmark:
            raise InputError(f"--knowledge {source}: a run on another benchmark, {run.manifest['benchmark']['name']}")
        known = _of_workflows(run.workflow, options.knowledge_format, tasks, tools)
    if not known:
        raise InputError(f"--knowledge {source}: there is no sound workflow of any task")
    return known


def _of_workflows(
    workflow_of: Callable[[str], Workflow | None],
    format: str,
    tasks: Iterable[Task],
    tools: Mapping[str, ToolSource],
) -> Known:
    known: Known = {}
    for task in tasks:
        specs = {name: tools[name].spec for name in task.tools}
        workflow = workflow_of(task.id)
        if workflow is None or check(workflow, specs):
            continue
        try:
            knowledge = knowledge_of(workflow, specs, format)
        except InputError:  # the format has no form for this workflow
            continue
        if knowledge.steps:
            known[task.id] = knowledge
    return known


def _of_rows(rows: Mapping[str, RowRecord], tasks: Iterable[Task]) -> Known:
    known: Known = {}
    by_task = {row.id.removeprefix(f"{row.source}_"): row for row in rows.values()}
    for task in tasks:
        row = rows.get(task.id) or by_task.get(task.id)
        graph = row.pred_graph if row is not None else None
        try:
            known |= {} if graph is None else {task.id: _of_graph(graph)}
        except ValueError:  # a cycle, or no step
            continue
    return known


def _of_graph(graph: StepGraph) -> Knowledge:
    last = len(graph.nodes) - 1
    inner = [(one - 1, other - 1) for one, other in graph.edges if 0 < one < last and 0 < other < last]
    return knowledge_from(graph.nodes[1:-1], inner)


def digest_of(known: Known) -> str:
    """A digest of the workflows, which tells runs with other workflows apart."""
    return hashlib.sha256(dump_json(_Kept.dump_python(known, mode="json")).encode()).hexdigest()


def keep_knowledge(folder: Path, known: Known) -> None:
    """Writes the workflows to the folder of a run, unless it has them."""
    if known and not (folder / FILE).exists():
        body = {"knowledge": _Kept.dump_python(known, mode="json")}
        write_document(folder / FILE, body, "manifest", root=folder)


def kept_knowledge(folder: Path) -> Known:
    """The workflows that a run keeps; none if its agents were given none.

    Raises:
        InputError: If the file is damaged.
    """
    path, remedy = folder / FILE, "remove the file; the command of the run writes it again"
    if not path.exists():
        return {}
    try:
        return _Kept.validate_python(read_document(path, remedy)["knowledge"])
    except (ValidationError, KeyError, TypeError):
        raise InputError(f"{path}: no workflows can be read from it; {remedy}") from None
