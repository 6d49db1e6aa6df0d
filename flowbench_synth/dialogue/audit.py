"""The audit of a session: its gold repeats, agents that know nothing fail, and wrong results are told from the gold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from pydantic import Field

from flowbench_synth.dialogue.golds import NoGold, session_golds
from flowbench_synth.dialogue.prompts import said_values
from flowbench_synth.dialogue.world import World, place_of
from flowmind.base.files import dump_json
from flowmind.evaluation.dialogue import SessionScore, score_session, standing
from flowmind.trace.events import Called, Event, Said, Trace
from flowmind.trace.scenario import Gold, Session, SessionGold, StateChange, state_changes
from flowmind.trace.telling import tells
from flowmind.workflow.document import End, Workflow
from tools_registry.sandbox.stateful import state_digest
from tools_registry.specs.spec import Observation, Record, ToolCall, ToolSpec

TRIVIAL = ("nothing", "refusal", "echo", "constant")
"""The agents that know nothing: `nothing` says and calls nothing, `refusal` says that it cannot help, `echo` says again
what the user says, `constant` tells what the users of other sessions with the same scenario are told."""
MUTANTS = ("state", "facts", "calls")
KILLED = 95.0
"""The percentage of the mutants that must be told from the gold."""
_NO = "I am sorry, but I cannot help you with that."


class Kills(Record):
    """The mutants of one kind."""

    mutants: int = 0
    killed: int = 0
    by_success: int = 0
    """Those that already lose the success of the session; the others lose calls of the gold, or make more."""


class SessionAudit(Record):
    """The audit of one session."""

    id: str
    problems: tuple[str, ...] = ()
    trivial: dict[str, bool] = Field(default_factory=dict[str, bool])
    """For each agent that knows nothing whether it succeeds."""
    mutants: dict[str, Kills] = Field(default_factory=dict[str, Kills])
    survivors: tuple[str, ...] = ()


class Audited(NamedTuple):
    """A session to audit."""

    session: Session
    database: dict[str, Any]
    gold: SessionGold


def audit_role(
    sessions: Sequence[Audited],
    workflows: Mapping[str, Workflow],
    world: World,
    specs: Mapping[str, ToolSpec],
) -> list[SessionAudit]:
    """Audits the sessions of a role.

    Args:
        sessions: The sessions.
        workflows: The workflows of the role's scenarios.
        world: The role's tools, other workers than those that made the golds.
        specs: The specs of the tools, without the state.
    """
    told: dict[str, list[tuple[str, str]]] = {}
    for item in sessions:
        for goal in standing(item.gold.golds[0]):
            told.setdefault(goal.scenario, []).append((item.session.id, _telling(goal.facts)))
    return [_Auditor(item, workflows, world, specs, told).audit() for item in sessions]


def unsound(audits: Sequence[SessionAudit]) -> list[str]:
    """The problems of audited sessions, one line each."""
    problems = [f"{audit.id}: {problem}" for audit in audits for problem in audit.problems]
    total = sum(kills.mutants for audit in audits for kills in audit.mutants.values())
    killed = sum(kills.killed for audit in audits for kills in audit.mutants.values())
    if 100 * killed < KILLED * total:
        problems.append(f"{killed} of {total} mutants are told from the golds, at least {KILLED:g} % are wanted")
    return problems


def unreached(workflows: Mapping[str, Workflow], golds: Iterable[SessionGold]) -> list[str]:
    """The ends at which no goal arrives without interventions, one line each."""
    reached = {(goal.scenario, goal.outcome) for gold in golds for goal in gold.golds[0].goals}
    return [
        f"{name}: no session arrives at {node.id!r}"
        for name, workflow in workflows.items()
        for node in workflow.nodes
        if isinstance(node, End) and (name, node.id) not in reached
    ]


def _telling(facts: Mapping[str, Any]) -> str:
    """A text that tells facts."""
    return " ".join(f"{name}: {_spoken(value)}." for name, value in facts.items())


def _spoken(value: Any) -> str:
    return ", ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else str(value)


class _Auditor:
    def __init__(
        self,
        item: Audited,
        workflows: Mapping[str, Workflow],
        world: World,
        specs: Mapping[str, ToolSpec],
        told: Mapping[str, Sequence[tuple[str, str]]],
    ) -> None:
        self._session, self._start, self._gold = item
        self._workflows = workflows
        self._world = world
        self._specs = specs
        self._told = told
        self._start_digest = state_digest(self._start)

    def audit(self) -> SessionAudit:
        """The audit of the session."""
        try:
            again = session_golds(self._session, self._workflows, self._start, self._world)
        except NoGold as error:
            return SessionAudit(id=self._session.id, problems=(f"its gold cannot be computed: {error}",))
        problems = [] if again == self._gold else [_difference(self._gold, again)]
        solved = {name: any(self._succeeds(text) for text in self._texts(name)) for name in TRIVIAL}
        problems += [f"an agent that knows nothing succeeds ({name})" for name, succeeds in solved.items() if succeeds]
        kills: dict[str, Kills] = {}
        survivors: list[str] = []
        if again == self._gold:
            problems += self._replays()
            for kind in MUTANTS:
                results = list(self._mutants(kind))
                survivors += [f"{kind}: {what}" for what, score in results if not _kills(score)]
                kills[kind] = Kills(
                    mutants=len(results),
                    killed=sum(_kills(score) for _, score in results),
                    by_success=sum(not score.success for _, score in results),
                )
        return SessionAudit(
            id=self._session.id,
            problems=tuple(problems),
            trivial=solved,
            mutants=kills,
            survivors=tuple(survivors),
        )

    # Agents that know nothing

    def _texts(self, name: str) -> Iterator[str]:
        """What an agent says all the time; for `constant` each of its constants."""
        match name:
            case "nothing":
                yield ""
            case "refusal":
                yield _NO
            case "echo":
                yield said_values(self._session)
            case _:
                told = [pair for name in self._session.scenarios for pair in self._told.get(name, ())]
                yield from (text for owner, text in told if owner != self._session.id)

    def _succeeds(self, text: str) -> bool:
        """Whether the text tells all facts of a gold that leaves the state as it is; stricter than a score, which also
        wants facts to be told after the calls."""
        return any(
            gold.digest == self._start_digest
            and all(tells(text, value) for goal in standing(gold) for value in goal.facts.values())
            for gold in self._gold.golds
        )

    # The gold itself

    def _replays(self) -> Iterator[str]:
        for fired, gold in enumerate(self._gold.golds):
            score = self._score(gold, fired, [goal.calls for goal in gold.goals], gold.digest, gold.changes)
            if not score.success or score.calls.f1 not in (None, 100.0):
                yield f"the gold of {fired} interventions does not succeed when it is replayed"

    def _score(
        self,
        gold: Gold,
        fired: int,
        calls: Sequence[Sequence[ToolCall]],
        digest: str,
        changes: Sequence[StateChange],
        texts: Mapping[int, str] | None = None,
    ) -> SessionScore:
        """The score of a session in which these calls are made and the facts told, or other texts said for goals."""
        events: list[Event] = [Said(role="user", text="Hello.")]
        events += [Said(role="user", text="Hm.", intervention=number) for number in range(fired)]
        for index, goal in enumerate(gold.goals):
            if not goal.dropped:
                events += [Called(call=call, observation=Observation()) for call in calls[index]]
                text = (texts or {}).get(index, _telling(goal.facts))
                events += [Said(role="agent", text=text or "Done.")]
        return score_session(Trace(events=tuple(events), stop="finish"), self._gold, digest, changes, self._specs)

    # Mutants

    def _mutants(self, kind: str) -> Iterator[tuple[str, SessionScore]]:
        """Wrong versions of the last gold, each with its score."""
        fired = len(self._gold.golds) - 1
        gold = self._gold.golds[fired]
        calls = [goal.calls for goal in gold.goals]
        match kind:
            case "state":
                for what, state in self._states(gold):
                    changes = state_changes(self._start, state)
                    yield what, self._score(gold, fired, calls, state_digest(state), changes)
            case "facts":
                for index, what, facts in _wrong_facts(gold):
                    texts = {index: _telling(facts)}
                    yield what, self._score(gold, fired, calls, gold.digest, gold.changes, texts)
            case _:
                for index, what, changed in self._wrong_calls(gold):
                    made = [*calls[:index], changed, *calls[index + 1 :]]
                    digest, changes = self._effect(gold, made)
                    yield what, self._score(gold, fired, made, digest, changes)

    def _effect(self, gold: Gold, calls: Sequence[Sequence[ToolCall]]) -> tuple[str, Sequence[StateChange]]:
        """The digest of the state after calls, and the rows that differ; reads are not made."""
        writes = [call for group in calls for call in group if self._specs[call.tool].effect == "write"]
        right = [call for goal in gold.goals for call in goal.calls if self._specs[call.tool].effect == "write"]
        if writes == right:
            return gold.digest, gold.changes
        place = self._world.after(writes, place_of(self._start))
        return place.digest, state_changes(self._start, place.state)

    def _states(self, gold: Gold) -> Iterator[tuple[str, dict[str, Any]]]:
        """End states that differ from the gold's in one row."""
        end = _applied(self._start, gold.changes)
        for change in gold.changes:
            where = f"{change.table} {change.key}".strip()
            yield f"{where} as it was", _applied(end, [change.model_copy(update={"after": change.before})])
            row = _fields(change.after)
            for name, value in row.items():
                changed = change.model_copy(update={"after": {**row, name: _other(value)}})
                yield f"{where}: another {name}", _applied(end, [changed])
        for table, rows in end.items():
            if isinstance(rows, dict):
                yield f"{table}: a row too many", {**end, table: {**rows, "no such key": {}}}

    def _wrong_calls(self, gold: Gold) -> Iterator[tuple[int, str, tuple[ToolCall, ...]]]:
        """The calls of a goal with one left out, made twice if it writes, or with another argument."""
        for index, goal in enumerate(gold.goals):
            for at, call in enumerate(goal.calls):
                rest = goal.calls[:at], goal.calls[at + 1 :]
                yield index, f"{call.tool} left out", (*rest[0], *rest[1])
                if self._specs[call.tool].effect == "write":
                    yield index, f"{call.tool} twice", (*rest[0], call, call, *rest[1])
                for name, value in call.args.items():
                    changed = call.model_copy(update={"args": {**call.args, name: _other(value)}})
                    yield index, f"{call.tool} with another {name}", (*rest[0], changed, *rest[1])


def _fields(row: Any) -> dict[str, Any]:
    """The fields of a row; none if it is a plain value."""
    return cast("dict[str, Any]", row) if isinstance(row, dict) else {}


def _kills(score: SessionScore) -> bool:
    return not score.success or score.calls.f1 not in (None, 100.0)


def _wrong_facts(gold: Gold) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for index, goal in enumerate(gold.goals):
        for name, value in goal.facts.items():
            rest = {other: fact for other, fact in goal.facts.items() if other != name}
            yield index, f"{goal.scenario}: no {name}", rest
            yield index, f"{goal.scenario}: another {name}", {**rest, name: _other(value)}


def _other(value: Any) -> Any:
    """A value of the same type that differs."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case list():
            return cast("list[Any]", value)[:-1] if value else ["other"]
        case str() if value and value[-1].isalnum():
            return value[:-1] + ("7" if value[-1] != "7" else "8")
        case str():
            return f"{value}x"
        case _:
            return "other"


def _applied(state: Mapping[str, Any], changes: Sequence[StateChange]) -> dict[str, Any]:
    """A state with its changed rows as they are after the changes."""
    made: dict[str, Any] = dict(state)
    for change in changes:
        if not change.key:
            made[change.table] = change.after
            continue
        rows = {**made.get(change.table, {}), change.key: change.after}
        made[change.table] = {key: row for key, row in rows.items() if row is not None}
    return made


def _difference(gold: SessionGold, again: SessionGold) -> str:
    """The first field in which two golds differ."""
    for fired, (first, second) in enumerate(zip(gold.golds, again.golds, strict=False)):
        for one, other in zip(first.goals, second.goals, strict=False):
            for field in ("scenario", "calls", "outcome", "facts", "dropped"):
                if getattr(one, field) != getattr(other, field):
                    values = [
                        dump_json(one.model_dump(mode="json")[field]),
                        dump_json(other.model_dump(mode="json")[field]),
                    ]
                    return (
                        f"its gold of {fired} interventions has {field} {values[0][:120]} for {one.scenario}, a run "
                        f"gives {values[1][:120]}"
                    )
        if first.digest != second.digest:
            return f"its gold of {fired} interventions has the digest {first.digest}, a run gives {second.digest}"
        if first != second:
            return f"its gold of {fired} interventions has other changes of the state than a run gives"
    return f"it has {len(gold.golds)} golds, and {len(again.golds)} are right"
