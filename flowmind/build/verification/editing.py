"""An agent with graph tools changes a workflow that fails on examples."""

from __future__ import annotations

from flowmind.agents.turns import Budget
from flowmind.build.brief import summarize_brief
from flowmind.build.draft import DraftEnvironment
from flowmind.build.executions import make_agent
from flowmind.build.verification.candidates import Best
from flowmind.build.verification.work import Work
from flowmind.workflow.checking import check

EDIT_TURNS = 8
_ASKED = "Build the workflow."


async def edit(work: Work, best: Best) -> Best:
    """Lets an agent change the graph, with the counter-examples; a change that solves no more of them is dropped."""
    draft = _draft(work)
    draft.begin(best.workflow)
    right = [trace for place, trace in enumerate(work.traces) if work.right(place)]
    brief = summarize_brief(work.task, right[:2], work.environment.specs)
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
    assert work.model is not None, "an edit needs a model"
    agent = make_agent("r", work.model, budget, work.settings, 0)
    work.edits.append(await agent.execute(brief.model_copy(update={"task": "\n".join(told)}), draft))
    edited = draft.workflow
    if edited is None or check(edited, work.environment.specs):
        return best
    failures = await work.failures(edited)
    if len(failures) >= len(best.failures):
        return best
    work.mends.append("edit")
    return Best(edited, failures, first=best.first)


def _draft(work: Work) -> DraftEnvironment:
    cases = [trace.inputs for trace in work.traces]
    return DraftEnvironment(work.environment.specs, work.task.inputs, work.task.id, cases, work.task.query)
