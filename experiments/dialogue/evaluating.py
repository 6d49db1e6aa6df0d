"""`evaluate`: one session or turn, from the user's goals to the record. It writes no file; case and result pickle."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from experiments.dialogue.controlling import controllers_of
from experiments.dialogue.recording import Cost, Judgement, SessionRecord, TurnRecord
from experiments.dialogue.services import DialogueServices
from experiments.dialogue.turns import held_turn
from experiments.record import ParseCounts
from flowmind.base.errors import FlowMindError, ModelFailure
from flowmind.dialogue.holding import SessionResult, hold, scenarios_of
from flowmind.dialogue.judging import shown_call
from flowmind.dialogue.licensing import CallVerdict, count_compliance, writes_of
from flowmind.dialogue.prompting import task_text
from flowmind.evaluation.dialogue import recoveries, score_session
from flowmind.evaluation.failures import failure_class
from flowmind.evaluation.turn_level import score_turn
from flowmind.llm.recorded import Exchanges, Stored, Timing
from flowmind.protocols import ChatModel, Emit
from flowmind.trace.events import Refused, Trace, Turn
from flowmind.trace.scenario import Reference, Session, SessionGold, StateChange, state_changes
from tools_registry.sandbox.errors import SandboxUnavailable


@dataclass(frozen=True)
class DialogueCase:
    """One session, or one turn of a reference session."""

    id: str
    session: Session
    gold: SessionGold
    trial: int = 0
    reference: Reference | None = None
    """The reference of a turn; None for a session."""
    stored: Stored = field(default_factory=Stored)
    """The exchanges with the models in an earlier attempt."""
    lent: tuple[Stored, ...] = ()
    """Exchanges of other runs that may answer as well."""
    replay: bool = False
    """Whether only the stored exchanges may answer."""
    file: str = "exchanges"
    """The name of the file with the stored exchanges, for errors."""


@dataclass(frozen=True)
class DialogueResult:
    """The result of a case."""

    record: SessionRecord | TurnRecord
    document: dict[str, Any] | None = None
    """What `traces/` keeps of a session; None for a turn, or if the infrastructure ended it."""
    traceback: str = ""
    """The traceback of a defect that ended the case."""

    @property
    def error(self) -> str | None:
        """The failure of the infrastructure that ended the case."""
        return self.record.error


async def evaluate(case: DialogueCase, services: DialogueServices, emit: Emit | None = None) -> DialogueResult:
    """Holds a session or a turn and scores it. A failure of the case is written into its record.

    Args:
        case: The case.
        services: Models, users and tools.
        emit: Takes each exchange with a model as soon as it is over.

    Raises:
        FlowMindError: If no other case can be evaluated either.
        SandboxUnavailable: If no worker starts.
    """
    exchanges = Exchanges(case.stored, case.lent, case.replay, emit, name=case.file)
    begun, clock = time.time(), time.monotonic()
    waited = sum(reply.seconds or 0.0 for reply in case.stored.replies.values())
    try:
        result = await (
            _session(case, services, exchanges) if case.reference is None else _turn(case, services, exchanges)
        )
    except ModelFailure as failure:
        result = DialogueResult(failed(case, services, str(failure)))
    except (FlowMindError, SandboxUnavailable):
        raise
    except Exception as error:  # a defect of FlowMind or of a library ends this case, not the run
        message = f"{type(error).__name__}: {error} (see errors/{case.id}.txt)"
        result = DialogueResult(failed(case, services, message), None, traceback.format_exc())
    timing = case.stored.timing if case.replay else None
    if timing is None:
        timing = Timing(started_at=round(begun, 3), seconds=round(time.monotonic() - clock + waited, 3))
    return replace(result, record=result.record.model_copy(update=timing.model_dump()))


def failed(case: DialogueCase, services: DialogueServices, error: str) -> SessionRecord | TurnRecord:
    """The record of a case that the infrastructure ended."""
    shared = _shared(case, services)
    if case.reference is not None:
        return TurnRecord(**shared, fired=case.reference.fired, error=error)
    return SessionRecord(**shared, trial=case.trial, error=error)


def _shared(case: DialogueCase, services: DialogueServices) -> dict[str, Any]:
    """The fields of a record that follow from the case."""
    scenario = services.data.scenarios[case.session.goals[0].scenario]
    return {
        "id": case.id,
        "session": case.session.id,
        "scenario": scenario.id,
        "domain": scenario.domain,
        "role": scenario.role,
        "scope": case.session.scope,
        "oow": services.options.oow,
    }


def _model(role: str, services: DialogueServices, exchanges: Exchanges) -> ChatModel | None:
    model = services.models.get(role)
    return None if model is None else exchanges.of(model, services.subject(role))


# Sessions


async def _session(case: DialogueCase, services: DialogueServices, exchanges: Exchanges) -> DialogueResult:
    options, session, data = services.options, case.session, services.data
    agent = _model("agent", services, exchanges)
    assert agent is not None
    scenarios = scenarios_of(session, data)
    result = await hold(
        session,
        services.followed,
        agent,
        options.kept,
        "",
        services.user(session, scenarios, case.trial, _model("user", services, exchanges)),
        services.tools,
        controllers_of,
        services.remembered,
        options.seed,
        options.temperature,
        case.trial,
        options.fail_tools,
        options.handoff,
    )
    if result.trace.stop == "model_error":
        error = result.trace.error
        raise ModelFailure(error.message if error else "the model failed")
    start = data.start(session)
    verdicts: Sequence[CallVerdict] | None = None
    if session.id not in data.recordings:  # a recorded world cannot run a workflow
        verdicts = await services.oracle.judge(session, start, result.trace.events)
    changes = state_changes(start, result.state)
    record = _scored(case, services, result, verdicts, changes)
    judge = _model("judge", services, exchanges)
    if judge is not None:
        assert record.score is not None
        verdict = await services.judge(judge).session(session, record.score.fired, result.trace.events)
        if verdict is not None:
            judged = Judgement(success=verdict.success, progress=verdict.progress, reason=verdict.reason)
            record = record.model_copy(update={"judged": judged})
    return DialogueResult(record, _document(case, services, result, verdicts, changes, record))


def _scored(
    case: DialogueCase,
    services: DialogueServices,
    result: SessionResult,
    verdicts: Sequence[CallVerdict] | None,
    changes: Sequence[StateChange],
) -> SessionRecord:
    scenarios = scenarios_of(case.session, services.data)
    writes = {tool for scenario in scenarios for tool in writes_of(scenario.workflow, services.specs)}
    specs = {name: services.specs[name] for scenario in scenarios for name in scenario.tools}
    trace, events = result.trace, result.trace.events
    score = score_session(trace, case.gold, result.digest, changes, specs)
    given = task_text(scenarios_of(case.session, services.followed), specs, services.options.kept.format)
    return SessionRecord(
        **_shared(case, services),
        trial=case.trial,
        persona=case.session.profile.persona,
        goals=len(case.session.goals),
        interventions=len(case.session.interventions),
        fired_types=tuple(row.type for row in case.session.interventions[: score.fired]),
        stop=trace.stop,
        cost=_cost(trace.turns),
        score=score,
        compliance=None if verdicts is None else count_compliance(events, verdicts, writes, given),
        failure=failure_class(trace, case.gold.golds[score.fired], score, specs, writes),
        recovered=tuple(recoveries(events, {row.event: row.licensed and row.executed for row in verdicts or ()})),
        refusals=dict(
            sorted(Counter(name for e in events if isinstance(e, Refused) for name in e.by.split(", ")).items())
        ),
    )


def _cost(turns: Sequence[Turn]) -> Cost:
    kinds = [turn.parse for turn in turns]
    return Cost(
        replies=len(turns),
        parse=ParseCounts(**{name: kinds.count(name) for name in ("clean", "recovered", "reprompted", "failed")}),
        input_tokens=_total([turn.input_tokens for turn in turns]),
        output_tokens=_total([turn.output_tokens for turn in turns]),
    )


def _total(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(count or 0 for count in counts)


def _document(
    case: DialogueCase,
    services: DialogueServices,
    result: SessionResult,
    verdicts: Sequence[CallVerdict] | None,
    changes: Sequence[StateChange],
    record: SessionRecord,
) -> dict[str, Any]:
    """The session as its file under `traces/` has it."""
    assert record.score is not None
    return {
        "session": case.session.model_dump(mode="json"),
        "oow": services.options.oow,
        "gold": case.gold.golds[record.score.fired].model_dump(mode="json"),
        "trace": result.trace.dump(),
        "verdicts": [verdict.model_dump(mode="json") for verdict in verdicts or ()],
        "changes": [change.model_dump(mode="json") for change in changes],
        "record": record.model_dump(mode="json", include={"score", "compliance", "failure", "judged", "recovered"}),
    }


# Turns


async def _turn(case: DialogueCase, services: DialogueServices, exchanges: Exchanges) -> DialogueResult:
    reference = case.reference
    assert reference is not None
    agent = _model("agent", services, exchanges)
    assert agent is not None
    trace, reply, refused = await held_turn(case.session, reference, services, agent)
    _require_model(trace)
    specs = {
        name: services.specs[name] for scenario in scenarios_of(case.session, services.data) for name in scenario.tools
    }
    text = shown_call(reply.call.tool, reply.call.args) if reply.call else reply.text
    record = TurnRecord(
        **_shared(case, services),
        fired=reference.fired,
        is_call=reference.call is not None,
        stop=trace.stop,
        cost=_cost(trace.turns),
        score=score_turn(reply, reference, specs, services.options.nodes),
        text=text,
        refused=refused,
    )
    judge = _model("judge", services, exchanges)
    if judge is not None:
        verdict = await services.judge(judge).turn(case.session, reference, text)
        if verdict is not None:
            judged = Judgement(response=verdict.score, reason=verdict.reason)
            record = record.model_copy(update={"judged": judged})
    return DialogueResult(record)


def _require_model(trace: Trace) -> None:
    if trace.stop == "model_error":
        raise ModelFailure(trace.error.message if trace.error else "the model failed")
