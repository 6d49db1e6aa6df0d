"""WorkBench's records, where they are at hand: real runs of an agent, read as traces."""

from __future__ import annotations

import pytest
from workbench import WorkBench, placements, slots_of, workbench

from flowmind.trace import Trace


@pytest.fixture(scope="module")
def bench() -> WorkBench:
    return workbench()


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
        assert [bench.specs[step.call.tool].check(step.call.args) for step in run.tool_steps] == [None] * len(run.steps)
    directory = [
        step for run in runs for step in run.tool_steps if step.call.tool == "company_directory_find_email_address"
    ]
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
