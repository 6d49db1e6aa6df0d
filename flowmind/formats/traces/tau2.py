"""Results of τ²-bench: simulations of an agent and a user, who may have tools of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flowmind.formats.conversation import Conversation, fields_of, observation_of
from flowmind.formats.traces.imported import Imported, Reader
from flowmind.formats.traces.parts import Row, at, finished, label, listed, record, text
from flowmind.trace.events import Source, StopReason

_ENDS: dict[str, StopReason] = {
    "max_steps": "failures", "timeout": "seconds", "too_many_errors": "failures", "agent_error": "model_error",
    "user_error": "model_error", "infrastructure_error": "error", "unexpected_error": "error",
}  # fmt: skip
"""Why a simulation ended that was not finished."""
_USERS_TOOLS = "a call or a result of the simulated user's own tools"


def _recognises(document: Any) -> bool:
    return {"simulations", "tasks"} <= fields_of(document).keys()


def _read(document: Any) -> Iterator[Imported]:
    results = record(document, "the document")
    names: dict[str, str] = {}
    agent = fields_of(fields_of(results.get("info")).get("agent_info"))
    if not listed(results, "simulations"):
        raise ValueError("it has no simulations")
    for number, value in enumerate(listed(results, "simulations"), 1):
        with at(f"simulation {number}"):
            yield _imported(record(value, "it"), agent, names)


def _imported(simulation: Row, agent: Row, names: dict[str, str]) -> Imported:
    reading = _Simulation(names, lossy=True)
    messages = simulation.get("messages")
    if not isinstance(messages, list):
        raise ValueError("it has no list of messages")
    for number, message in enumerate(listed(simulation, "messages"), 1):
        with at(f"message {number}"):
            reading.message(record(message, "it"))
    end = label(simulation, "termination_reason").removeprefix("TerminationReason.").lower()
    reading.stop = _ENDS.get(end)
    source = Source(
        format="tau2", id=label(simulation, "id"), agent=label(agent, "implementation"), model=label(agent, "llm")
    )
    answer = ... if reading.stop else None  # the calls are the answer: a domain is judged by its state
    reward = fields_of(simulation.get("reward_info")).get("reward")
    if reward is not None and (isinstance(reward, bool) or not isinstance(reward, int | float)):
        raise ValueError("its reward is not a number")
    return finished(reading, source, answer=answer, success=None if reward is None else reward >= 1)


class _Simulation(Conversation):
    """The messages of a simulation. What the simulated user does with its own tools is left out."""

    def message(self, message: Row) -> None:
        """Reads the next message; one with several results has a list of them."""
        if "tool_messages" in message:
            for part in listed(message, "tool_messages"):
                self.message(record(part, "a result in it"))
            return
        role = text(message, "role")
        calls = [record(call, "a call in it") for call in listed(message, "tool_calls")]
        content = message.get("content")
        match role:
            case "assistant":
                self.reply(anew=True)
                self.content("assistant", content)
                for call in calls:
                    arguments = record(call.get("arguments"), "the arguments of a call")
                    self.called(text(call, "id"), call.get("name"), arguments)
            case "tool":
                if message.get("requestor") == "user":
                    self.lost[_USERS_TOOLS] += 1
                else:
                    failed = message.get("error") is True
                    self.answered(text(message, "id"), None, observation_of(content, failed))
            case "user" | "system":
                self.lost[_USERS_TOOLS] += len(calls)
                self.hear(role, content)
            case _:
                raise ValueError(f"its role is {role!r}; known are assistant, system, tool and user")

    def lost_lines(self) -> Iterator[str]:
        """What was left out, a line for each kind."""
        self.lost += type(self.lost)()  # drops counts of 0
        return super().lost_lines()


TAU2 = Reader("results of τ²-bench", _recognises, _read)
