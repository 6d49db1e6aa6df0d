"""The dataset card of a built dialogue benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowbench_synth.dialogue.audit import MUTANTS, TRIVIAL

CANARY = "flowbench_dialogue canary 0b8f5c9a-6f37-4a0e-9a0f-2d1c6e5b7a18"
_TEXT = """\
# flowbench_dialogue, seed {seed}

A benchmark for agents that follow a procedure in conversation. It was built by
`flowbench_synth dialogue build --seed {seed}` (version {version}, revision {revision}). The same seed and revision give
the same files. Another seed gives other databases, users, goals and events.
{missing}
## Composition

{composition}

The domains, roles and scenarios, and the number of sessions in each domain, are those of FlowBench (tables 2, 6 and 8).
Procedures, databases, tools and sentences are new. A single session has one goal; a cross session has goals of two or
three scenarios of one role. {personas} personas occur in {profiles} profiles.

## Files

| file | contents |
| --- | --- |
| `scenarios.jsonl`, `workflows/` | the scenarios: role, time, words of slots and facts; the procedure as a workflow |
| `tools.jsonl`, `tool_sources.jsonl` | the tools with their sources; each takes and returns the state `db` |
| `databases.jsonl` | the states at the start: one for each session, and one for each role |
| `sessions.jsonl` | the users, their goals, and what they do outside the procedure |
| `gold.jsonl` | for the evaluator: calls, outcome, facts and end state, for each number of events carried out |
| `references.jsonl` | turns of reference sessions, for evaluation turn by turn |
| `manifest.json` | seed, version, revision, sha256 of each file, statistics, audit of each session |

## Success

A session succeeds if the end state equals that of the gold and each goal's facts were told after its last call. No
model judges.

## Outside the procedure

Each session has two forms: the in-workflow form, and the out-of-workflow form with the events below (FlowAgent, section
5.2). They are drawn with the benchmark and are the same for all methods.

{interventions}

## Audit

`flowbench_synth dialogue check` repeats the audit. The gold of each session is computed twice, by two processes, and is
equal. No facts stand in what the agent reads or the user says, and who knows the facts of one session knows those of no
other session of the scenario. Each end of each workflow is reached. Mutants are small wrong versions of a gold: another
row of the end state, another fact or one less, another call, one less or one twice. A mutant is killed if it does not
succeed, or if its calls are not those of the gold.

{audit}

Agents that know nothing, and the sessions that they solve: {trivial}.

## Knowledge

The procedure of each scenario is written as text, code, flowchart and PDL. PDL and code are read back and run; the runs
equal those of the workflow, at every end. All four name every tool, parameter, slot, constant and outcome.
{certified}

## References

{references}

## Known limits

- The sessions are synthetic and in English.
- Each workflow is acyclic; a further request is a further goal.
- A user without a model speaks in sentences made from templates.

## Licence and citation

Apache-2.0. No record describes a real person or company. Cite it as: flowbench_dialogue, seed {seed}, revision
{revision}, of the FlowMind project, after FlowBench and FlowAgent.

Do not train on this benchmark. The following string identifies it in training data: {canary}
"""


def card(manifest: Mapping[str, Any]) -> str:
    """The dataset card as Markdown."""
    statistics = manifest["statistics"]
    lacking = "".join(f"\nIncomplete: {line}.\n" for line in manifest["missing"])
    rows = manifest["knowledge"]
    sound = sum(not row["problems"] for row in rows)
    return _TEXT.format(
        seed=manifest["seed"],
        version=manifest["version"],
        revision=manifest["revision"],
        missing=lacking,
        composition=composition_table(statistics),
        personas=statistics["personas"],
        profiles=statistics["profiles"],
        interventions=interventions_table(statistics),
        audit=mutants_table(manifest["audit"]),
        trivial=", ".join(f"{name} {count}" for name, count in solved_by(manifest["audit"]).items()),
        certified=f"Certified: {sound} of {len(rows)} scenarios.",
        references=_references(manifest.get("references")),
        canary=CANARY,
    )


def composition_table(statistics: Mapping[str, Any]) -> str:
    """Counts by domain, as a Markdown table."""
    lines = [
        "| | roles | scenarios | single | cross | goals | calls for a goal (average) | sessions that write |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    keys = ("roles", "scenarios", "single", "cross", "goals", "calls_avg", "writing")
    for name, group in {**statistics["by_domain"], "all": statistics["all"]}.items():
        lines.append(f"| {name} | {' | '.join(str(group[key]) for key in keys)} |")
    return "\n".join(lines)


def interventions_table(statistics: Mapping[str, Any]) -> str:
    """The number of events by type, as a Markdown table."""
    lines = ["| type | events |", "| --- | --- |"]
    for kind, subtypes in statistics["interventions"].items():
        named = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in subtypes.items())
        lines.append(f"| {kind.replace('_', ' ')} | {named} |")
    return "\n".join(lines)


def mutants_table(audits: Sequence[Mapping[str, Any]]) -> str:
    """The killed mutants by kind, as a Markdown table."""
    lines = ["| mutants of | number | killed % | without the calls % |", "| --- | --- | --- | --- |"]
    for kind in MUTANTS:
        rows = [audit["mutants"][kind] for audit in audits if kind in audit["mutants"]]
        total, killed, alone = (sum(row[key] for row in rows) for key in ("mutants", "killed", "by_success"))
        shares = [f"{100 * part / total:.1f}" if total else "-" for part in (killed, alone)]
        lines.append(f"| {kind} | {total} | {' | '.join(shares)} |")
    return "\n".join(lines)


def solved_by(audits: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """For each agent that knows nothing the number of sessions that it solves."""
    return {name: sum(audit["trivial"].get(name, False) for audit in audits) for name in TRIVIAL}


def _references(counts: Mapping[str, Any] | None) -> str:
    if not counts:
        return "This build has no references."
    return (
        f"{counts['turns']} turns of {counts['sessions']} reference sessions, in both forms, by the embedded agent "
        "`follow` with the agenda user. Neither is a language model."
    )
