"""An agent with graph tools builds a workflow from the traces, or changes one that fails on examples."""

from __future__ import annotations

from typing import Literal

from flowmind.agents.turns import Budget
from flowmind.build.brief import summarize_brief
from flowmind.build.draft import DraftEnvironment
from flowmind.build.stages import make_agent, select_traces, shown
from flowmind.build.verification.candidates import Best
from flowmind.build.verification.work import Work
from flowmind.workflow.checking import check

EDIT_TURNS = 8
_ASKED = "Build the workflow."


async def build(work: Work, who: Literal["react", "plan"]) -> Best | None:
    """The workflow that an agent builds from the traces, as it would without verification."""
    chosen = select_traces(work.task, work.traces, work.settings)
    if not chosen:
        return None
    draft = _draft(work)
    brief = summarize_brief(shown(work.task, 0), chosen, work.business.specs)
    budget = work.left(work.settings.summarize_budget)
    agent = make_agent("p" if who == "plan" else "r", work.summarizer, budget, work.settings, 0)
    work.edits.append(await agent.execute(brief, draft))
    work.built_from = len(chosen)
    if draft.workflow is None or check(draft.workflow, work.business.specs):
        return None
    failures = await work.failures(draft.workflow)
    return Best(draft.workflow, failures, first=len(work.task.examples) - len(failures))


async def edit(work: Work, best: Best) -> Best:
    """Lets an agent change the graph, with the counter-examples; a change that solves no more of them is dropped."""
    draft = _draft(work)
    draft.begin(best.workflow)
    right = [trace for place, trace in enumerate(work.traces) if work.right(place)]
    brief = summarize_brief(work.task, right[:2], work.business.specs)
    told = [
        brief.task.removesuffix(_ASKED).rstrip(),
        "",
        "This workflow was derived from the traces:",
        draft.state(),
        "",
        *(failure.tell() for failure in best.failures[:2]),
        "Change the graph so that these come out right, with as few calls as you can, then finish.",
    ]
    budget = work.left(Budget(turns=EDIT_TURNS))
    agent = make_agent("r", work.summarizer, budget, work.settings, 0)
    work.edits.append(await agent.execute(brief.model_copy(update={"task": "\n".join(told)}), draft))
    edited = draft.workflow
    if edited is None or check(edited, work.business.specs):
        return best
    failures = await work.failures(edited)
    if len(failures) >= len(best.failures):
        return best
    work.mends.append("edit")
    return Best(edited, failures, first=best.first)


def _draft(work: Work) -> DraftEnvironment:
    cases = [trace.inputs for trace in work.traces]
    return DraftEnvironment(work.business.specs, work.task.inputs, work.task.id, cases, work.task.query)
