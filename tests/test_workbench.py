"""WorkBench's records, where they are at hand: real runs of an agent, read as traces."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from workbench import Instance, WorkBench, placements, slots_of, workbench
from workbench_tools import Office

from flowmind.build.induction.features import DATA_KEY, features
from flowmind.build.induction.induce import induce, request_of
from flowmind.build.induction.inductions import straight
from flowmind.build.induction.reading import read
from flowmind.build.induction.runs import run_of
from flowmind.build.induction.scopes import Context, Scope
from flowmind.run.doubt import Guard
from flowmind.run.running import prepare, run_batch
from flowmind.trace.events import Called, Trace
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow
from tools_registry.specs.schema import JSONSchema, json_equal
from tools_registry.words import with_words


@pytest.fixture(scope="module")
def bench() -> WorkBench:
    return workbench()


@pytest.fixture(scope="module")
def office(bench: WorkBench) -> Office:
    return Office(bench.specs, bench.data)


def test_slots_are_read_off_a_query_whatever_the_case() -> None:
    template = "{name} is late. Move {name}'s {what} to {day}"
    assert list(placements(template, "raj is late. move Raj's open tasks to Friday")) == [
        {"name": "raj", "what": "open tasks", "day": "Friday"}
    ]
    assert list(placements(template, "raj is late. Move amir's open tasks to Friday")) == []


def test_slots_side_by_side_are_split_by_what_other_queries_say_clearly() -> None:
    beside, apart = "Was {metric} {side} than {limit}?", "Plot {metric} if it was {side} than {limit}"
    queries = [(beside, "Was total visits more than 3?"), (apart, "Plot total visits if it was more than 2")]
    records = [{"chosen_template": template, "query": query} for template, query in queries]
    clear = {"metric": "total visits", "side": "more"}
    assert slots_of(records) == [{**clear, "limit": "3"}, {**clear, "limit": "2"}]
    assert slots_of(records[:1]) == [None]


def test_every_query_has_its_slots(bench: WorkBench) -> None:
    assert len(bench.instances) == 400
    assert [instance.id for instance in bench.instances if instance.slots is None] == []
    metrics = {
        slots["natural_language_metric"]
        for one in bench.instances
        if "natural_language_metric" in (slots := one.slots or {})
    }
    assert metrics == {"total visits", "engaged users", "average session duration"}


def test_every_golden_call_fits_its_tool(bench: WorkBench) -> None:
    steps = [step for instance in bench.instances for step in instance.gold]
    assert len(steps) == 551
    assert {bench.specs[step.call.tool].effect for step in steps} == {"write"}
    assert [problem for step in steps if (problem := bench.specs[step.call.tool].check(step.call.args))] == []


def test_runs_of_gpt_4_become_traces(bench: WorkBench) -> None:
    runs = [instance.run for instance in bench.instances if instance.run is not None]
    assert len(runs) == 387, "13 were not recorded whole"
    for run in runs:
        assert run.ok
        assert Trace.model_validate(run.dump()) == run
        assert [bench.specs[step.call.tool].check(step.call.args) for step in run.calls] == [None] * len(run.events)
    directory = [step for run in runs for step in run.calls if step.call.tool == "company_directory_find_email_address"]
    assert ["luis.ortiz@atlas.com"] in [step.observation.value for step in directory], "an array of NumPy is a list"


def test_most_templates_have_several_right_runs(bench: WorkBench) -> None:
    right = {
        template: sum(instance.correct and instance.run is not None for instance in found)
        for template, found in bench.templates.items()
    }
    assert (len(right), sum(right.values())) == (40, 202)
    assert sum(count >= 2 for count in right.values()) == 35


def test_tools_that_change_nothing_are_read_only(bench: WorkBench) -> None:
    reads = {name for name, spec in bench.specs.items() if spec.effect == "read"}
    assert len(bench.specs) == 27
    assert all(any(word in name for word in ("_get_", "_search_", "_find_", "_count")) for name in reads)
    assert not any(word in name for name in reads for word in ("create", "update", "delete", "send", "reply", "add_"))


def test_the_reading_tools_give_what_they_gave_gpt_4(bench: WorkBench, office: Office) -> None:
    compared: Counter[str] = Counter()
    for instance in bench.instances:
        for step in _before_changes(instance.run.calls if instance.run else (), office):
            assert json_equal(asyncio.run(office.call(step.call)).value, step.observation.value), step.call
            compared[step.call.tool] += 1
    assert (len(compared), compared.total()) == (len(office.reading), 470)


def _before_changes(steps: Sequence[Called], office: Office) -> list[Called]:
    """The calls before the first one that may have changed something."""
    writes = [place for place, step in enumerate(steps) if office.specs[step.call.tool].effect == "write"]
    return list(steps[: writes[0] if writes else None])


def test_a_key_that_is_data_is_dear() -> None:
    visits = [Scope({"counts": {"2023-11-26": day, "total": day}}, trace, trace) for trace, day in enumerate((4, 7))]
    bits = {one.text: one.bits for one in features(Context(read("")), visits)}
    assert bits["counts['2023-11-26']"] == pytest.approx(bits["counts['total']"] + DATA_KEY)


# What is learned from a template's first right runs, on its other instances

SHOWN = 3
"""Runs that are shown at most."""


FEW = 8
"""Templates that are learned with rivals."""


@pytest.mark.slow
def test_rivals_doubt_wrong_changes_more_often_than_right_ones(bench: WorkBench, office: Office) -> None:
    count: Counter[tuple[str, bool]] = Counter()
    for template, instances in list(_learnable(bench).items())[:FEW]:
        shown = [(one, trace) for one in instances if (trace := one.shown(bench.specs))][:SHOWN]
        traces = [trace for _, trace in shown]
        workflow = induce(request_of(traces, bench.specs, _inputs(traces[0]), template))[0].workflow
        if check(workflow, office.specs):
            continue
        guard = Guard(prepare(workflow, office), office)
        for one in _others(instances, [one for one, _ in shown]):
            ran = asyncio.run(guard.arun(dict(one.slots or {}), office, ending="watch"))
            right = _right(_changes(ran.trace.calls, office) if ran.error is None else None, one)
            count["in doubt" if ran.disagreement is not None else "agreed", right] += 1
    print(count)
    wrong, right = (
        count["in doubt", kind] / (count["in doubt", kind] + count["agreed", kind]) for kind in (False, True)
    )
    assert wrong > right, count


def _learnable(bench: WorkBench) -> dict[str, tuple[Instance, ...]]:
    """The templates with two right runs or more."""
    return {
        template: instances
        for template, instances in bench.templates.items()
        if sum(one.shown(bench.specs) is not None for one in instances) >= 2
    }


@pytest.mark.slow
def test_induced_workflows_carry_over_better_than_replay(bench: WorkBench, office: Office) -> None:
    """A workflow for each template with two right runs or more; an instance is right if all its changes are.

    Instances that need no change are counted apart: a workflow that does nothing is right on them.
    """
    count: Counter[str] = Counter()
    behind: list[str] = []
    for template, instances in _learnable(bench).items():
        shown = [(one, trace) for one in instances if (trace := one.shown(bench.specs))][:SHOWN]
        traces = [trace for _, trace in shown]
        held_out = _others(instances, [one for one, _ in shown])
        inputs = _inputs(traces[0])
        induced = _made(induce(request_of(traces, bench.specs, inputs, template))[0].workflow, held_out, office)
        replays = [_made(straight(run_of(one, 0), inputs, "replay", template), held_out, office) for one in traces]
        count["templates"] += 1
        for instance, by_induction, by_replay in zip(held_out, induced, replays[0], strict=True):
            kind = "" if instance.gold else ", no change needed"
            count[f"instances{kind}"] += 1
            count[f"induced{kind}"] += _right(by_induction, instance)
            count[f"replayed{kind}"] += _right(by_replay, instance)
            count[f"induced, ends in an error{kind}"] += by_induction is None
            count[f"replayed, ends in an error{kind}"] += by_replay is None
        scores = [sum(map(_right, made, held_out)) for made in (induced, *replays)]
        count["induced, of all"] += scores[0]
        count["replayed, of all, the trace that turns out best"] += max(scores[1:])
        if scores[0] < scores[1]:
            behind.append(template)
    print("", *(f"{number:4} {name}" for name, number in count.items()), "replay is ahead:", *behind, sep="\n")
    assert (count["templates"], count["instances"], count["instances, no change needed"]) == (35, 204, 32)
    assert count["induced"] >= 120
    assert count["induced"] >= count["replayed"] + 40
    assert count["induced, of all"] >= count["replayed, of all, the trace that turns out best"]
    assert len(behind) <= 3


def _inputs(trace: Trace) -> JSONSchema:
    """A template's slots: texts."""
    names = sorted(trace.inputs)
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def _others(instances: Sequence[Instance], shown: Sequence[Instance]) -> list[Instance]:
    """The instances with other slots than those shown, each filling once."""
    seen = [one.slots for one in shown]
    found: list[Instance] = []
    for one in instances:
        if one.slots not in seen:
            seen.append(one.slots)
            found.append(one)
    return found


def _made(workflow: Workflow, instances: Sequence[Instance], office: Office) -> list[list[Any] | None]:
    """The calls that change something, of each instance; None where the workflow fails or is not sound."""
    if check(workflow, office.specs):
        return [None] * len(instances)
    ran = run_batch(workflow, [dict(one.slots or {}) for one in instances], office)
    return [_changes(trace.calls, office) if trace.ok else None for trace in ran]


def _changes(steps: Sequence[Called], office: Office) -> list[Any]:
    specs = with_words(office.specs, [one.call.tool for one in steps])
    return [[one.call.tool, one.call.args] for one in steps if specs[one.call.tool].effect == "write"]


def _right(made: list[Any] | None, instance: Instance) -> bool:
    """Whether the calls are the golden ones, in their order."""
    return made is not None and json_equal(made, [[one.call.tool, one.call.args] for one in instance.gold])
