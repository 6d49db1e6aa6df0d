"""The oracle of licensed calls, on sessions written by hand over the real tools of a role."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tiny_dialogue import DATABASE, RESULTS, ROLE, SCHEDULE, data_of, goal, session

from flowmind.dialogue.licensing import CallVerdict, Oracle, count_compliance
from flowmind.trace.events import Act, Called, Event, Refused, Said
from flowmind.trace.scenario import Change, Intervention, Session, Trigger
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.sandbox.stateful import StatefulEnvironment
from tools_registry.specs.spec import Observation, ToolCall

WRITES = {"book_consultation", "release_report"}


@pytest.fixture(scope="module")
def inner() -> Iterator[LocalSandbox]:
    with LocalSandbox(ROLE.tools) as sandbox:
        yield sandbox


BOOKED = goal(SCHEDULE, "appointment_booked")
PLACE = BOOKED.slots
SENT = goal(RESULTS, "report_sent")


def call(tool: str, **args: Any) -> ToolCall:
    return ToolCall(tool=tool, args=args)


def hospital(**changes: Any) -> ToolCall:
    return call("find_hospital", hospital={**PLACE, **changes}["hospital"])


def slots(**changes: Any) -> ToolCall:
    place = {**PLACE, **changes}
    return call("find_slots", **{name: place[name] for name in ("hospital", "department", "date")})


def book(**changes: Any) -> ToolCall:
    place = {**PLACE, **changes}
    return call(
        "book_consultation", **{name: place[name] for name in ("hospital", "department", "date", "time", "patient")}
    )


def say(text: str = "Shall I go ahead?") -> Said:
    return Said(role="agent", text=text)


def judged(inner: LocalSandbox, row: Session, steps: Sequence[Event | ToolCall]) -> tuple[list[bool], list[Event]]:
    """Whether each call is licensed; calls are made on the tools."""

    async def run() -> tuple[list[bool], list[Event]]:
        world, events = StatefulEnvironment(inner, DATABASE), list[Event]()
        for step in steps:
            if isinstance(step, ToolCall):
                events.append(Called(call=step, observation=await world.call(step)))
            else:
                events.append(step)
        oracle = Oracle(data_of([row]).scenarios, inner)
        verdicts = await oracle.judge(row, DATABASE, events)
        return [verdict.licensed for verdict in verdicts], events

    return asyncio.run(run())


def licensed(inner: LocalSandbox, row: Session, *steps: Event | ToolCall) -> list[bool]:
    return judged(inner, row, steps)[0]


ONE = session("one", BOOKED)


def test_the_procedure_is_licensed(inner: LocalSandbox) -> None:
    assert licensed(inner, ONE, hospital(), slots(), say(), book()) == [True, True, True]


def test_a_skipped_step_is_a_violation(inner: LocalSandbox) -> None:
    assert licensed(inner, ONE, slots(), book()) == [False, False]
    assert licensed(inner, ONE, hospital(), book()) == [True, False]


def test_a_step_made_for_other_values_does_not_count(inner: LocalSandbox) -> None:
    other = next(name for name in DATABASE["hospitals"] if name != PLACE["hospital"])
    assert licensed(inner, ONE, hospital(hospital=other), slots()) == [True, False]
    assert licensed(inner, ONE, hospital(), slots(), hospital(hospital=other), book(hospital=other))[-1] is False


def test_a_write_is_made_once_in_an_episode(inner: LocalSandbox) -> None:
    assert licensed(inner, ONE, hospital(), slots(), book(), book(time="07:15")) == [True, True, True, False]


def test_a_read_may_be_repeated(inner: LocalSandbox) -> None:
    assert licensed(inner, ONE, hospital(), hospital(), slots(), slots()) == [True] * 4


def test_a_write_in_an_excluded_arm_is_a_violation(inner: LocalSandbox) -> None:
    full = goal(SCHEDULE, "no_free_time")
    row = session("full", full)
    steps = (hospital(**full.slots), slots(**full.slots), book(**{**full.slots, "time": "09:00"}))
    assert licensed(inner, row, *steps) == [True, True, False]


def test_an_answer_ends_the_episode(inner: LocalSandbox) -> None:
    row = session("two", BOOKED, goal(SCHEDULE, "appointment_booked", 1))
    again = row.goals[1].slots
    done = (hospital(), slots(), say(), book())
    assert licensed(inner, row, *done, say("Booked."), book(**again))[-1] is False
    assert (
        licensed(inner, row, *done, say("Booked."), hospital(**again), slots(**again), book(**again))[-3:] == [True] * 3
    )
    assert licensed(inner, row, *done, hospital(**again), slots(**again), book(**again))[-1] is False


def test_a_text_before_the_answer_does_not_end_the_episode(inner: LocalSandbox) -> None:
    assert licensed(inner, ONE, hospital(), say("Which day?"), slots(), say(), say(), book()) == [True] * 3


def test_the_user_s_new_values_are_the_current_ones(inner: LocalSandbox) -> None:
    days = DATABASE["hospitals"][PLACE["hospital"]]["departments"][PLACE["department"]]
    date = next(day for day in days if day != PLACE["date"])
    change = Intervention(
        trigger=Trigger(on="consent"), type="intent_switching", subtype="detail",
        change=Change(slots={"date": date}), text=f"Make it {date}.",
    )  # fmt: skip
    row = session("changed", BOOKED, interventions=[change])
    switch = Said(role="user", text=change.text, intervention=0)
    assert licensed(inner, row, hospital(), slots(), say(), switch, book(date=date))[-1] is False
    assert licensed(inner, row, hospital(), slots(), say(), switch, slots(date=date))[-1] is True


def test_each_scenario_of_a_session_may_license_a_call(inner: LocalSandbox) -> None:
    row = session("both", BOOKED, SENT)
    results = call("find_results", **{name: SENT.slots[name] for name in ("patient", "examination")})
    release = call("release_report", **{name: SENT.slots[name] for name in ("patient", "examination", "clinic")})
    steps = (hospital(), slots(), say(), book(), say("Booked."), results, say(), release)
    assert licensed(inner, row, *steps) == [True] * 5
    assert licensed(inner, row, release, results) == [False, True]


def test_calls_that_reach_no_tool_have_no_verdict(inner: LocalSandbox) -> None:
    missing = Called(call=call("book_room"), observation=Observation.failed("unknown_tool", "none"))
    invalid = Called(call=call("find_slots"), observation=Observation.failed("invalid_arguments", "hospital"))
    assert licensed(inner, ONE, missing, invalid, hospital()) == [True]


def test_a_failed_call_is_not_held(inner: LocalSandbox) -> None:
    failed = Called(call=hospital(), observation=Observation.failed("tool_error", "out of order"))
    assert licensed(inner, ONE, failed, slots()) == [True, False]


def test_the_counts_of_a_session(inner: LocalSandbox) -> None:
    steps = (
        Refused(call=book(), by="consent, path", reason="find the free times first"),
        Refused(call=hospital(), by="grounding", reason="nobody said so"),
        Refused(call=hospital(), by="repetition, dependencies", reason="again"),
        hospital(),
        slots(),
        Said(role="user", text="Yes", acts=(Act(kind="affirm"),)),
        book(),
        say("Your reference is XY9999."),
        Said(role="user", text="Thanks", acts=(Act(kind="thank"),)),
        book(),
    )  # fmt: skip
    flags, events = judged(inner, ONE, steps)
    assert flags == [False, True, True, True, True, True, False]
    verdicts = asyncio.run(Oracle(data_of([ONE]).scenarios, inner).judge(ONE, DATABASE, events))
    counts = count_compliance(events, verdicts, WRITES, given=str(DATABASE) + str(PLACE))
    assert (counts.executed, counts.violations, counts.unlicensed, counts.stopped) == (4, 1, 2, 1)
    assert (counts.licensed, counts.wrongly_refused) == (5, 1)
    assert (counts.unconsented, counts.invented) == (1, 1)


@pytest.mark.parametrize(
    ("acts", "count"),
    [(("affirm",), 0), (("affirm", "correct"), 2), (("deny",), 2), (("other",), 2), ((), 2)],
)
def test_a_consent_covers_the_writes_up_to_the_next_text(acts: tuple[Any, ...], count: int) -> None:
    opened = Said(role="user", text="Hello", acts=(Act(kind="open"),))
    said = Said(role="user", text="Well", acts=tuple(Act(kind=kind) for kind in acts))
    made = Called(call=book(), observation=Observation(value={}))
    assert count_compliance((opened, said, made, made), (), WRITES).unconsented == count
    later = Said(role="user", text="And now?", acts=(Act(kind="request"),))
    assert count_compliance((opened, said, later, made), (), WRITES).unconsented == count // 2
    assert count_compliance((opened, said, made, later, made), (), WRITES).unconsented == 1 + count // 2


def test_consent_is_unknown_without_acts() -> None:
    events = (Called(call=book(), observation=Observation(value={})),)
    verdicts = (CallVerdict(event=0, licensed=True, executed=True),)
    assert count_compliance(events, verdicts, WRITES).unconsented is None
