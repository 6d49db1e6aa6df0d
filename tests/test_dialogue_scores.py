"""Scores of sessions, computed by hand: calls, facts, success, progress, failures, intervals."""

from __future__ import annotations

from typing import Any

import pytest

from flowmind.evaluation.dialogue import (
    Counts,
    SessionScore,
    match_calls,
    pass_hat,
    recoveries,
    score_session,
    tells,
    turns_of,
)
from flowmind.evaluation.failures import common_subsequence, failure_class
from flowmind.evaluation.statistics import kappa, ratio
from flowmind.trace.events import Act, Called, Event, Refused, Said, Trace
from flowmind.trace.scenario import GoalGold, Gold, SessionGold, StateChange
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec


def spec(name: str, **fields: dict[str, Any]) -> ToolSpec:
    required = [key for key, field in fields.items() if "default" not in field]
    return ToolSpec(name=name, parameters={"type": "object", "properties": fields, "required": required})


TEXT = {"type": "string"}
SPECS = {
    tool.name: tool
    for tool in (
        spec("find", place=TEXT, radius={"type": "integer", "default": 5}),
        spec("book", place=TEXT, day=TEXT),
        spec("drop", place=TEXT),
    )
}
FIND = ToolCall(tool="find", args={"place": "Oslo"})
BOOK = ToolCall(tool="book", args={"place": "Oslo", "day": "monday"})
ROW = StateChange(table="bookings", key="B7", after={"place": "Oslo"})
BOOKED = GoalGold(scenario="trip", calls=(FIND, BOOK), outcome="booked", facts={"reference": "B7", "price": 2300})
GIVEN_UP = GoalGold(scenario="trip", calls=(), outcome="", facts={}, dropped=True)
GOLD = SessionGold(
    id="s",
    golds=(
        Gold(goals=(BOOKED,), digest="after", changes=(ROW,)),
        Gold(goals=(GIVEN_UP,), digest="before", changes=()),
    ),
)


def called(call: ToolCall, value: Any = None, error: str = "") -> Called:
    observation = Observation.failed(error, "no") if error else Observation(value=value)
    return Called(call=call, observation=observation)


def agent(text: str, answer: str = "") -> Said:
    return Said(role="agent", text=text, answer=answer)


def user(text: str, *acts: Act, intervention: int | None = None) -> Said:
    return Said(role="user", text=text, acts=acts, intervention=intervention)


def trace(*events: Event, stop: Any = "finish") -> Trace:
    return Trace(events=events, stop=stop)


def scored(*events: Event, digest: str = "after", changes: tuple[StateChange, ...] = (ROW,)) -> SessionScore:
    return score_session(trace(*events), GOLD, digest, changes, SPECS)


RIGHT = (user("Oslo, please"), called(FIND), called(BOOK), agent("Your reference is B7, it costs 2,300 crowns."))


def test_a_right_session_meets_every_check() -> None:
    score = scored(*RIGHT)
    assert score.success and (score.met, score.checks, score.turns) == (3, 3, 3)
    assert score.calls == Counts(matched=2, given=2, gold=2) and score.calls.f1 == 100


def test_facts_count_after_the_last_call_of_their_goal_only() -> None:
    score = scored(called(FIND), agent("B7 costs 2300"), called(BOOK), agent("Reference B7."))
    assert not score.success and score.untold == ("trip.price",) and (score.met, score.checks) == (2, 3)


def test_success_needs_the_state_of_the_gold() -> None:
    score = scored(*RIGHT, digest="other", changes=(ROW.model_copy(update={"after": {"place": "Rome"}}),))
    assert not score.success and not score.same_state and (score.met, score.checks) == (2, 3)


def test_a_fact_without_its_call_is_not_told() -> None:
    score = scored(agent("Your reference is B7, it costs 2300."), digest="before", changes=())
    assert score.untold == ("trip.reference", "trip.price") and score.met == 0
    assert score.calls.precision is None and score.calls.recall == 0 and score.calls.f1 == 0


def test_the_gold_follows_the_interventions_that_were_carried_out() -> None:
    score = scored(user("Forget it", intervention=0), agent("Very well."), digest="before", changes=())
    assert score.success and score.fired == 1 and score.checks == 0 and score.calls.f1 is None
    with pytest.raises(ValueError, match="2 interventions"):
        scored(user("a", intervention=0), user("b", intervention=1))


def test_calls_match_one_to_one_with_defaults_and_without_case() -> None:
    given = [
        ToolCall(tool="find", args={"place": " oslo ", "radius": 5.0}),
        FIND,
        ToolCall(tool="find", args={"place": "Os"}),
    ]
    assert match_calls(given, [FIND], SPECS) == Counts(matched=1, given=3, gold=1)
    assert match_calls([ToolCall(tool="find", args={"place": "Oslo", "radius": None})], [FIND], SPECS).matched == 1
    assert match_calls([ToolCall(tool="book", args={"place": "Oslo", "day": True})], [BOOK], SPECS).matched == 0


def test_refused_calls_are_proposed_and_not_executed() -> None:
    score = scored(Refused(call=BOOK, by="path", reason="find first"), *RIGHT)
    assert (score.calls.given, score.proposed, score.turns) == (2, 3, 3)
    assert turns_of(trace(Refused(call=BOOK, by="path", reason="no"))) == 0


@pytest.mark.parametrize(
    ("text", "value", "told"),
    [
        ("It costs 2,300 crowns.", 2300, True),
        ("It costs 2300.00.", 2300, True),
        ("It costs 12300.", 2300, False),
        ("Version 1.5 it is", 5, False),
        ("Reference b7!", "B7", True),
        ("Reference B77", "B7", False),
        ("At 10:30:15", "10:30", False),
        ("Free: 08:00, 09:30.", ["08:00", "09:30"], True),
        ("Free: 08:00.", ["08:00", "09:30"], False),
        ("There are none.", [], True),
        ("Free: 08:00.", [], False),
        ("harbour  hospital", "Harbour Hospital", True),
        ("Yes, it is open.", True, True),
        ("No.", True, False),
        ("", "", False),
    ],
)
def test_a_value_is_told_in_whole_tokens(text: str, value: Any, told: bool) -> None:
    assert tells(text, value) is told


def failure(*events: Event, stop: Any = "turns", digest: str = "other") -> str | None:
    run = trace(*events, stop=stop)
    score = score_session(run, GOLD, digest, (ROW,) if digest == "after" else (), SPECS)
    return failure_class(run, GOLD.golds[score.fired], score, SPECS, {"book", "drop"})


OTHER_DAY = ToolCall(tool="book", args={"place": "Oslo", "day": "friday"})
DROP = ToolCall(tool="drop", args={"place": "Oslo"})


def test_each_failed_session_has_one_class() -> None:
    assert failure(*RIGHT, digest="after") is None
    assert failure(called(FIND), agent("Done.")) == "missing_step"
    assert failure(called(FIND), called(BOOK), agent("Done."), digest="after") == "missing_step"
    assert failure(called(BOOK), called(FIND), agent("B7 2300")) == "sequence"
    assert failure(called(FIND), called(OTHER_DAY)) == "tool_usage"
    assert failure(called(FIND), called(ToolCall(tool="bok"), error="unknown_tool")) == "tool_usage"
    assert failure(called(FIND), stop="unparsed") == "tool_usage"
    assert failure(called(FIND), called(DROP)) == "transition"
    assert failure(*RIGHT, called(DROP)) == "transition"
    assert failure(called(FIND), called(BOOK), agent("None left", answer="sold_out"), digest="after") == "transition"
    assert failure(*RIGHT) == "other"


def test_the_longest_common_subsequence_begins_early() -> None:
    assert common_subsequence("abcd", "xbad") == [(1, 1), (3, 3)]
    assert common_subsequence("ab", "") == []
    assert common_subsequence("aa", "aaa") == [(0, 0), (1, 1)]


def test_pass_hat_k_is_the_chance_that_k_executions_succeed() -> None:
    assert pass_hat([4, 2, 0], 4, 1) == pytest.approx(50)
    assert pass_hat([4, 2, 0], 4, 2) == pytest.approx(100 * (1 + 1 / 6) / 3)
    assert pass_hat([4, 2, 0], 4, 4) == pytest.approx(100 / 3)
    assert pass_hat([], 4, 1) is None and pass_hat([1], 1, 2) is None


def test_recovery_is_a_licensed_call_or_an_answered_text_within_two_turns() -> None:
    late = (
        user("Rome instead", intervention=0),
        agent("Oslo?"),
        user("Pardon?"),
        agent("Hm."),
        user("?"),
        called(FIND),
    )
    assert recoveries(late, {5: True}) == [False]
    assert recoveries((user("Rome", intervention=0), called(BOOK), called(FIND)), {1: False, 2: True}) == [True]
    asked = (user("Well", intervention=0), agent("Which day?"), user("monday", Act(kind="inform", slot="day")))
    assert recoveries(asked, {}) == [True]
    assert recoveries(RIGHT, {1: True}) == []


def test_the_bootstrap_draws_groups_and_repeats_itself() -> None:
    groups = [(2, 4), (4, 4), (0, 2)]
    share = ratio(groups)
    assert share is not None and share.percent == 60 and share.low == 0 and share.high == 100 and share.groups == 3
    assert ratio(groups) == share and ratio([(0, 0)]) is None and ratio([]) is None
    alone = ratio([(1, 4)])
    assert alone is not None and (alone.low, alone.high) == (25, 25)


def test_kappa_is_agreement_beyond_chance() -> None:
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    assert kappa(pairs) == pytest.approx(0.4)
    assert kappa([(True, True)] * 3) is None and kappa([]) is None
