"""Scores of a session: its trace and its end state against its gold. No model judges.

Sources: FlowBench (section 4 and appendix B.3) for the matching of calls, success and progress; FlowAgent (section 5)
for tool names. Success differs from both papers: it compares states and looks for facts, instead of asking a judge.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import comb
from typing import Any, TypeGuard, cast

from flowmind.trace.events import Called, Event, Refused, Said, Trace
from flowmind.trace.scenario import GoalGold, Gold, SessionGold, StateChange
from flowmind.trace.telling import tells
from tools_registry.specs.spec import Record, ToolCall, ToolSpec

NOT_MADE = ("unknown_tool", "invalid_arguments", "over")
"""The errors of calls that never reached a tool."""
SESSION_TOOLS = ("respond", "finish", "handoff")
"""The tools of a session itself. Their calls are no business calls."""


class Counts(Record):
    """Sums behind a precision, a recall and an F1 score."""

    matched: int = 0
    given: int = 0
    """What was done."""
    gold: int = 0
    """What should have been done."""

    def __add__(self, other: Counts) -> Counts:
        return Counts(matched=self.matched + other.matched, given=self.given + other.given, gold=self.gold + other.gold)

    @property
    def precision(self) -> float | None:
        """In percent; None if nothing was done."""
        return 100 * self.matched / self.given if self.given else None

    @property
    def recall(self) -> float | None:
        """In percent; None if nothing should have been done."""
        return 100 * self.matched / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """In percent; None if nothing was done and nothing should have been."""
        total = self.given + self.gold
        return 200 * self.matched / total if total else None


class SessionScore(Record):
    """The scores of one session."""

    fired: int
    """The number of interventions that the user carried out."""
    success: bool
    """Whether the end state is that of the gold, and each goal's facts were told after its last call."""
    same_state: bool
    met: int
    """Checks that hold; see `checks`."""
    checks: int
    """The rows that the gold changes, and the facts that the user must be told."""
    untold: tuple[str, ...] = ()
    """The facts that were not told, as `<scenario>.<name>`."""
    calls: Counts
    """Executed calls against those of the gold, by tool and arguments."""
    proposed: int
    """Executed calls, refused calls, and calls that reached no tool."""
    names: Counts
    """The tools that were called against those of the gold, each once."""
    turns: int
    """Accepted actions of the agent: texts and executed calls."""


def score_session(
    trace: Trace, gold: SessionGold, digest: str, changes: Sequence[StateChange], specs: Mapping[str, ToolSpec]
) -> SessionScore:
    """Scores a session.

    Args:
        trace: What was said and called.
        gold: The golds of the session; the one for the interventions that were carried out counts.
        digest: The digest of the end state.
        changes: The rows that differ between the start and the end of the session.
        specs: The tools, without the parameter `db`.

    Raises:
        ValueError: If the trace carries out more interventions than the session has.
    """
    fired = interventions_of(trace)
    if fired >= len(gold.golds):
        raise ValueError(
            f"{gold.id}: {fired} interventions were carried out, and the session has {len(gold.golds) - 1}"
        )
    right = gold.golds[fired]
    untold = [f"{goal.scenario}.{name}" for goal in standing(right) for name in untold_facts(trace.events, goal, specs)]
    facts = sum(len(goal.facts) for goal in standing(right))
    rows = {(change.table, change.key): change.after for change in changes}
    kept = sum(
        (change.table, change.key) in rows and rows[change.table, change.key] == change.after
        for change in right.changes
    )
    executed = [event.call for event in trace.events if is_made(event)]
    wanted = gold_calls(right)
    return SessionScore(
        fired=fired,
        success=digest == right.digest and not untold,
        same_state=digest == right.digest,
        met=kept + facts - len(untold),
        checks=len(right.changes) + facts,
        untold=tuple(untold),
        calls=match_calls(executed, wanted, specs),
        proposed=sum(map(is_proposed, trace.events)),
        names=match_sets({call.tool for call in executed}, {call.tool for call in wanted}),
        turns=turns_of(trace),
    )


def standing(gold: Gold) -> tuple[GoalGold, ...]:
    """The goals that the user did not give up."""
    return tuple(goal for goal in gold.goals if not goal.dropped)


def gold_calls(gold: Gold) -> list[ToolCall]:
    """The calls of all goals, in order."""
    return [call for goal in standing(gold) for call in goal.calls]


def interventions_of(trace: Trace) -> int:
    """The number of interventions that the user carried out."""
    return len({event.intervention for event in trace.events if isinstance(event, Said)} - {None})


def turns_of(trace: Trace) -> int:
    """The number of accepted actions of the agent: texts and executed calls."""
    return sum(is_action(event) for event in trace.events)


def is_action(event: Event) -> bool:
    """Whether an event is an accepted action of the agent: a text, or a call that reached its tool."""
    return is_made(event) or (isinstance(event, Said) and event.role == "agent")


def is_made(event: Event) -> TypeGuard[Called]:
    """Whether an event is a business call that reached its tool."""
    if not isinstance(event, Called) or event.call.tool in SESSION_TOOLS:
        return False
    return event.observation.error is None or event.observation.error.type not in NOT_MADE


def is_proposed(event: Event) -> bool:
    """Whether an event is a business call, made or not."""
    return isinstance(event, Called | Refused) and event.call.tool not in SESSION_TOOLS


# Calls


def call_key(call: ToolCall, spec: ToolSpec | None) -> str:
    """The text that equal calls share: texts trimmed and casefolded, 1.0 as 1, None as an argument that is not given.

    An argument that is not given has the default of its parameter.
    """
    fields: dict[str, dict[str, Any]] = spec.parameters.get("properties", {}) if spec else {}
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    given = {name: value for name, value in call.args.items() if value is not None}
    args = {name: _plain(value) for name, value in {**defaults, **given}.items() if value is not None}
    return json.dumps([call.tool, args], sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip().casefold()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in cast("list[Any]", value)]
    return value


def match_calls(given: Iterable[ToolCall], gold: Iterable[ToolCall], specs: Mapping[str, ToolSpec]) -> Counts:
    """The largest one-to-one matching of equal calls."""
    done = Counter(call_key(call, specs.get(call.tool)) for call in given)
    wanted = Counter(call_key(call, specs.get(call.tool)) for call in gold)
    return Counts(matched=(done & wanted).total(), given=done.total(), gold=wanted.total())


def match_sets(given: Collection[Any], gold: Collection[Any]) -> Counts:
    """The members that two sets share."""
    return Counts(matched=len({*given} & {*gold}), given=len({*given}), gold=len({*gold}))


# Facts


def untold_facts(events: Sequence[Event], goal: GoalGold, specs: Mapping[str, ToolSpec]) -> list[str]:
    """The facts of a goal that the agent did not tell after the goal's last call."""
    begin = 0
    if goal.calls:
        last = call_key(goal.calls[-1], specs.get(goal.calls[-1].tool))
        places = [
            place
            for place, event in enumerate(events)
            if isinstance(event, Called) and call_key(event.call, specs.get(event.call.tool)) == last
        ]
        if not places:
            return list(goal.facts)
        begin = places[0]
    texts = [event.text for event in events[begin:] if isinstance(event, Said) and event.role == "agent"]
    return [name for name, value in goal.facts.items() if not any(tells(text, value) for text in texts)]


# Several executions, and interventions


def pass_hat(successes: Sequence[int], trials: int, k: int) -> float | None:
    """pass^k in percent: the chance that k executions of a session all succeed, the mean over sessions.

    Source: τ-bench (Yao et al., 2024): the mean of C(c, k) / C(n, k).

    Args:
        successes: For each session, the number of successful executions.
        trials: The number of executions of each session.
        k: From 1 to `trials`.
    """
    if not successes or not 1 <= k <= trials:
        return None
    return 100 * sum(comb(count, k) / comb(trials, k) for count in successes) / len(successes)


_ANSWERS = ("inform", "correct", "affirm", "deny", "unknown")


def recoveries(events: Sequence[Event], licensed: Mapping[int, bool], within: int = 2) -> list[bool]:
    """For each intervention that was carried out, whether the agent came back to the goal within two turns.

    A turn comes back if it is a licensed call, or a text that the user answers for the goal: gives or corrects a value,
    agrees, or refuses.

    Args:
        events: The session.
        licensed: By the index of a call's event, whether it was licensed.
        within: The number of turns.
    """
    return [
        _recovered(events, place, licensed, within)
        for place, event in enumerate(events)
        if isinstance(event, Said) and event.intervention is not None
    ]


def _recovered(events: Sequence[Event], place: int, licensed: Mapping[int, bool], within: int) -> bool:
    turns = [later for later in range(place + 1, len(events)) if is_action(events[later])][:within]
    return any(licensed.get(turn, False) or _answered(events, turn) for turn in turns)


def _answered(events: Sequence[Event], turn: int) -> bool:
    following = next((event for event in events[turn + 1 :] if isinstance(event, Said)), None)
    if following is None or following.role != "user" or not isinstance(events[turn], Said):
        return False
    return any(act.kind in _ANSWERS for act in following.acts)
