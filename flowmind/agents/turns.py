"""What both agents do in a turn: ask the model, read its reply, call the tool, answer with an observation."""

from __future__ import annotations

import difflib
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, cast

from flowmind.agents import prompts
from flowmind.agents.replies import Action, How, Plan, Unreadable, read_action, read_plan
from flowmind.base.errors import ModelFailure
from flowmind.base.files import dump_json
from flowmind.protocols import Brief, ChatModel, ChatRequest, Episode, Message, Reply
from flowmind.trace.events import Called, Event, Planned, Refused, StopReason, Trace, Turn
from flowmind.workflow.graph_tools import FINISH, GRAPH_TOOLS
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.schema import validator
from tools_registry.specs.spec import Observation, Record, ToolCall, ToolError

STOP = ("\nObservation",)
"""Where a reply ends, so that no model writes the observation itself."""
T = TypeVar("T")


class Budget(Record):
    """What a stage may use. A budget that ends is a stop reason; nothing that was reached is lost."""

    turns: int = 30
    """Replies of the model, corrected ones included."""
    failures: int = 5
    """Failed calls in a row."""
    identical: int = 2
    """Times that one graph tool call fails in the same words."""
    repeats: int = 4
    """Times that one business tool is called in a row with the same arguments."""
    reprompts: int = 5
    """Corrective prompts for one unreadable reply."""
    reply_tokens: int = 1_024
    """Output tokens of one reply."""
    output_tokens: int | None = None
    """Output tokens of the stage."""
    seconds: float | None = None
    """Seconds that the stage waits for the model; the reply that is being waited for is let finish."""


@dataclass
class World:
    """The collaborators of a running graph."""

    model: ChatModel
    sandbox: Environment
    brief: Brief
    budget: Budget
    seed: int | None = None
    temperature: float = 0.0
    rollout: int = 0
    clock: Callable[[], float] = time.monotonic


class State(TypedDict):
    """What a graph's nodes hand on."""

    messages: list[Message]
    steps: list[Event]
    turns: list[Turn]
    pending: Action | None
    plan: list[str]
    phase: int
    results: list[Any]
    failures: int
    repeated: int
    nudged: bool
    asked_to_build: bool
    stop: StopReason | None
    answer: Any
    error: ToolError | None


def fresh(messages: list[Message]) -> State:
    """The state at the start of a stage."""
    return State(
        messages=messages, steps=[], turns=[], pending=None, plan=[], phase=0, results=[], failures=0, repeated=0,
        nudged=False, asked_to_build=False, stop=None, answer=None, error=None,
    )  # fmt: skip


def opening(name: str, task: str) -> list[Message]:
    """System prompt and worked examples of a conversation file, then the task."""
    parts = [
        Message(role=part.role, content=part.content.replace("$graph_tools", prompts.render("graph_tools")))
        for part in prompts.conversation(name)
    ]
    return [*parts, Message(role="user", content=task)]


def trace_of(state: State, brief: Brief) -> Trace:
    """The trace of a stage that has ended."""
    return Trace(
        inputs=brief.inputs,
        events=tuple(state["steps"]),
        stop=state["stop"] or "turns",
        answer=state["answer"],
        handed_in=state["asked_to_build"],
        error=state["error"],
        turns=tuple(state["turns"]),
    )


async def think(state: State, world: World) -> dict[str, Any]:
    """Asks the model for the next action."""
    found, update = await _ask(state, world, "action", read_action, state["messages"])
    return {**update, "pending": found}


async def lay_out(state: State, world: World, messages: list[Message]) -> dict[str, Any]:
    """Asks the model for a plan; one that names a tool that is not there is sent back once."""
    found, update = await _ask(state, world, "plan", _plan_reader(world), messages)
    if found is None:
        return update
    turns = cast(list[Turn], update["turns"])
    step = Planned(analysis=found.analysis, steps=found.steps, turn=len(turns) - 1)
    return {**update, "plan": list(found.steps), "steps": [*state["steps"], step]}


class _SentBack(Unreadable):
    """A reply that can be read, but not be used; the text says what to do."""


_NAME = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")


def _plan_reader(world: World) -> Callable[[str], tuple[Plan, How]]:
    sent_back = False

    def read(text: str) -> tuple[Plan, How]:
        nonlocal sent_back
        found, how = read_plan(text)
        if world.brief.stage == "execute" and not sent_back and (unknown := _unknown_tool(found, world)):
            sent_back = True
            hint = prompts.render("unknown_tool_plan", tool=unknown, tools=", ".join(world.sandbox.specs))
            raise _SentBack(hint)
        return found, how

    return read


def _unknown_tool(plan: Plan, world: World) -> str | None:
    """The first name in a plan's steps that looks like a tool's but is none.

    What the task itself names is an input or a field, unless it stands in backticks: so documentation names
    neighbours that may not be there.
    """
    task = re.sub(r"`\w+`", " ", world.brief.task)
    names = (name for step in plan.steps for name in _NAME.findall(step))
    return next((name for name in names if name not in world.sandbox.specs and name not in task), None)


async def _ask(
    state: State,
    world: World,
    form: str,
    read: Callable[[str], tuple[T, How]],
    messages: list[Message],
) -> tuple[T | None, dict[str, Any]]:
    """A reply that can be read, after at most `reprompts` corrections; else None and a reason to stop.

    The corrections are not kept in the conversation: a model imitates what it reads.
    """
    turns = list(state["turns"])
    correction: list[Message] = []
    for attempt in range(world.budget.reprompts + 1):
        if (stop := _spent(turns, world)) is not None:
            return None, {"turns": turns, "stop": stop}
        begun = world.clock()
        try:
            reply = await world.model.complete(_request(state, world, form, [*messages, *correction]))
        except ModelFailure as error:
            failure = ToolError(type="model_error", message=str(error))
            return None, {"turns": turns, "stop": "model_error", "error": failure}
        if reply.finish == "context":
            full = ToolError(type="context", message=reply.text)
            return None, {"turns": turns, "stop": "context", "error": full}
        seconds = world.clock() - begun if reply.seconds is None else reply.seconds
        try:
            found, how = read(_text(reply))
            if reply.finish == "length" and how != "clean":
                raise Unreadable("the reply was cut off")
        except Unreadable as error:
            last = attempt == world.budget.reprompts
            turns.append(_turn(reply, "failed" if last else "reprompted", seconds))
            reason = "the reply was cut off; be brief" if reply.finish == "length" else str(error)
            asked = isinstance(error, _SentBack)
            hint = str(error) if asked else prompts.render(f"unreadable_{form}", reason=reason)
            said = [Message(role="assistant", content=reply.text[:2_000])] if reply.text.strip() else []
            correction = [*said, Message(role="user", content=hint)]
            continue
        turns.append(_turn(reply, how, seconds))
        return found, {"turns": turns}
    return None, {"turns": turns, "stop": "unparsed"}


def _request(state: State, world: World, form: str, messages: list[Message]) -> ChatRequest:
    merged: list[Message] = []
    for message in messages:
        if merged and merged[-1].role == message.role:
            content = f"{merged[-1].content}\n\n{message.content}"
            merged[-1] = Message(role=message.role, content=content)
        else:
            merged.append(message)
    return ChatRequest(
        messages=tuple(merged),
        tools=tuple(world.sandbox.specs.values()),
        reply="plan" if form == "plan" else "action",
        stop=STOP,
        max_tokens=world.budget.reply_tokens,
        temperature=world.temperature,
        seed=world.seed,
        rollout=world.rollout,
        episode=Episode(
            brief=world.brief,
            events=tuple(state["steps"]),
            plan=tuple(state["plan"]),
            phase=state["phase"],
        ),
    )


def _text(reply: Reply) -> str:
    """A reply's text; a native tool call is read as the action that it stands for."""
    if reply.calls:
        call = reply.calls[0]
        return dump_json({"reasoning": reply.text, "action": call.tool, "action_input": call.args})
    return reply.text


def _turn(reply: Reply, parse: Any, seconds: float) -> Turn:
    return Turn(
        text=_text(reply),
        parse=parse,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        seconds=round(seconds, 3),
    )


def _spent(turns: list[Turn], world: World) -> StopReason | None:
    budget = world.budget
    if len(turns) >= budget.turns:
        return "turns"
    if budget.output_tokens is not None:
        used = sum(turn.output_tokens or 0 for turn in turns)
        if used >= budget.output_tokens:
            return "tokens"
    if budget.seconds is not None and sum(turn.seconds for turn in turns) >= budget.seconds:
        return "seconds"
    return None


async def act(state: State, world: World) -> dict[str, Any]:
    """Carries out the pending action and answers it with an observation."""
    action = state["pending"]
    assert action is not None
    if action.call.tool == FINISH and FINISH not in world.sandbox.specs:
        return finish(state, world, action)
    observation = await world.sandbox.call(action.call)
    step = _event(action, observation, state)
    update: dict[str, Any] = {"steps": [*state["steps"], step], "pending": None}
    if observation.ok:
        if action.call.tool == FINISH:
            return {**update, "stop": "finish"}
        text = f"Observation: {_show(observation.value)}"
        again = 1 + _again(state["steps"], step) if _reads(world, action.call) else 1
        if again > 1:
            text += "\nYou have made this call before, and its result stays the same. Take the next step, or finish."
        update |= {"failures": 0, "repeated": 0, "messages": _answered(state, action, text)}
        if again >= world.budget.repeats:
            error = ToolError(type="repeated", message=f"the same call {again} times in a row")
            return {**update, "stop": "failures", "error": error}
        return update
    failures = state["failures"] + 1
    repeated = 1 + (state["repeated"] if _same_failure(state["steps"], step) else 0)
    stop = failures >= world.budget.failures or (action.call.tool in GRAPH_TOOLS and repeated >= world.budget.identical)
    text = _failure(action.call, observation, failures, world)
    update |= {"failures": failures, "repeated": repeated, "messages": _answered(state, action, text)}
    return {**update, "stop": "failures", "error": observation.error} if stop else update


def _event(action: Action, observation: Observation, state: State) -> Called | Refused:
    common = {"reasoning": action.reasoning, "phase": state["phase"], "turn": len(state["turns"]) - 1}
    if observation.refused_by and observation.error is not None:
        reason = observation.error.message
        return Refused.model_validate({"call": action.call, "by": observation.refused_by, "reason": reason, **common})
    return Called.model_validate({"call": action.call, "observation": observation, **common})


def _reads(world: World, call: ToolCall) -> bool:
    return call.tool not in GRAPH_TOOLS and world.sandbox.specs[call.tool].effect == "read"


def _again(steps: list[Event], step: Called | Refused) -> int:
    """How many of the last steps made the same call."""
    count = 0
    for before in reversed(steps):
        if not isinstance(before, Called) or before.call != step.call or before.phase != step.phase:
            break
        count += 1
    return count


def _same_failure(steps: list[Event], step: Called | Refused) -> bool:
    last = steps[-1] if steps else None
    failed = isinstance(last, Refused) or (isinstance(last, Called) and not last.observation.ok)
    return failed and isinstance(last, Called | Refused) and last.call == step.call


def finish(state: State, world: World, action: Action) -> dict[str, Any]:
    """Ends the stage with an answer, or says once what should come before."""
    given = action.call.args
    answer = given.get("answer", next(iter(given.values())) if len(given) == 1 else None)
    if answer is None and not state["nudged"] and _has_just_failed(state):
        text = "Observation: error: null is no result. The call before failed: make another one, then finish."
        return {"nudged": True, "pending": None, "messages": _answered(state, action, text)}
    worked = any(
        isinstance(step, Called) and step.observation.ok and step.call.tool not in GRAPH_TOOLS
        for step in state["steps"]
    )
    if not worked and not state["nudged"] and answer is not None:
        text = "Observation: error: no tool has been used yet. Compute the answer with the tools, then finish."
        return {"nudged": True, "pending": None, "messages": _answered(state, action, text)}
    built = any(
        isinstance(step, Called) and step.observation.ok and step.call.tool in GRAPH_TOOLS for step in state["steps"]
    )
    answer = _typed(answer, world.brief)
    if world.brief.must_build and not built and not state["asked_to_build"]:
        text = prompts.render("build_now")
        asked = {"asked_to_build": True, "pending": None, "messages": _answered(state, action, text)}
        return {**asked, "answer": answer}
    if state["asked_to_build"]:
        answer = state["answer"]
    return {"stop": "finish", "answer": answer, "pending": None}


def _has_just_failed(state: State) -> bool:
    """Whether the last call failed, in this step of the plan."""
    last = state["steps"][-1] if state["steps"] else None
    return isinstance(last, Called) and not last.observation.ok and last.phase == state["phase"]


def _typed(answer: Any, brief: Brief) -> Any:
    """An answer given as text where the task wants another type, read as JSON."""
    if isinstance(answer, str) and brief.output:
        fits = validator(brief.output)
        if fits(answer) is not None:
            try:
                read = json.loads(answer)
            except ValueError:
                return answer
            return read if fits(read) is None else answer
    return answer


def _answered(state: State, action: Action, text: str) -> list[Message]:
    said = {"reasoning": action.reasoning, "action": action.call.tool, "action_input": action.call.args}
    return [
        *state["messages"],
        Message(role="assistant", content=dump_json(said)),
        Message(role="user", content=text),
    ]


def _show(value: Any) -> str:
    return value if isinstance(value, str) and "\n" in value else dump_json(value)


def _failure(call: ToolCall, observation: Observation, failures: int, world: World) -> str:
    """The answer to a failed call: the error, the correct signature, and how often in a row it failed."""
    error = observation.error
    assert error is not None
    specs = world.sandbox.specs
    if call.tool in GRAPH_TOOLS or FINISH in specs:
        return f"Observation: error: {error.message}"
    if call.tool not in specs:
        close = difflib.get_close_matches(call.tool, list(specs), n=3, cutoff=0.4)
        form = f"Tools with similar names: {', '.join(close)}." if close else f"The tools are: {', '.join(specs)}."
    else:
        form = f"Correct form: {specs[call.tool].document()}"
    return prompts.render(
        "tool_error",
        tool=call.tool,
        args=dump_json(call.args),
        error=f"{error.type}: {error.message}",
        form=form,
        count=failures,
        most=world.budget.failures,
    )
