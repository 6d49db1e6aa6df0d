"""Pre-decision control: a model whose requests end with the advice of controllers."""

from __future__ import annotations

from collections.abc import Sequence

from flowmind.dialogue.session import DialogueEnvironment
from flowmind.protocols import Adviser, ChatModel, ChatRequest, Message, Reply


class Advised:
    """A model that is told before each decision what the procedure asks for now.

    The advice stands at the end of the request's last message and is not kept in the conversation. The session keeps
    the advice of each reply.

    Args:
        model: The model.
        environment: The session that the model's agent works in.
        advisers: They advise, in this order.
    """

    def __init__(self, model: ChatModel, environment: DialogueEnvironment, advisers: Sequence[Adviser]) -> None:
        self._model = model
        self._environment = environment
        self._advisers = tuple(advisers)

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    async def complete(self, request: ChatRequest) -> Reply:
        """Answers a conversation with the advice added."""
        trace = self._environment.so_far
        advice = "\n".join(filter(None, (adviser.advise(trace) for adviser in self._advisers)))
        reply = await self._model.complete(with_advice(request, advice))
        if reply.finish != "context":  # such a reply is no turn
            self._environment.advice.append(advice)
        return reply

    async def aclose(self) -> None:
        """Closes the connections of the model."""
        await self._model.aclose()


def with_advice(request: ChatRequest, advice: str) -> ChatRequest:
    """A request whose last message ends with the advice, on a line of its own after `Advice: `."""
    if not advice:
        return request
    *before, last = request.messages
    message = Message(role=last.role, content=f"{last.content}\n\nAdvice: {advice}")
    return request.model_copy(update={"messages": (*before, message)})
