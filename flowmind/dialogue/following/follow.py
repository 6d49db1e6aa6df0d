"""The embedded model `follow`: it talks to a user and does what the procedure of the prompt asks for.

It is no language model. It reads procedures in PDL and as code. With knowledge in another format, or without any, it
calls each tool whose arguments it has, in the order of the tools, and asks for missing arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from flowmind.dialogue.following.phrases import breaks_rules, is_question
from flowmind.dialogue.following.phrasing import MORE, findings, label_of, listed, proposal, question, told
from flowmind.dialogue.following.requests import action_in, read_request
from flowmind.dialogue.following.slots import Slot
from flowmind.dialogue.following.talk import Goal, Talk, Topic, topics_of
from flowmind.dialogue.following.values import stems
from flowmind.dialogue.procedures.due import Due, due
from flowmind.dialogue.session import RESPOND
from flowmind.protocols import ChatRequest, Reply
from flowmind.trace.events import Called, Refused, Said
from flowmind.trace.scenario import CONFIRMED
from flowmind.workflow.graph_tools import FINISH
from tools_registry.specs.schema import json_equal
from tools_registry.specs.spec import ToolCall, ToolSpec

_OWN = (RESPOND, FINISH, "handoff")
_RETRIES = 2
"""How often a failed call is made again."""


class Step(NamedTuple):
    """A decision."""

    why: str
    call: ToolCall


class FollowModel:
    """The embedded model `follow`: a function of the messages and the tools of a request."""

    name = "follow"

    async def complete(self, request: ChatRequest) -> Reply:
        """Decides the next action of a dialogue."""
        return reply(Follower(request).step())

    async def aclose(self) -> None:
        """Does nothing."""


def reply(step: Step) -> Reply:
    """A decision as the reply of a model."""
    action = {"reasoning": step.why, "action": step.call.tool, "action_input": step.call.args}
    return Reply(text=json.dumps(action, ensure_ascii=False))


class Follower:
    """A request, read, and the decision that follows from it."""

    def __init__(self, request: ChatRequest) -> None:
        self.specs: dict[str, ToolSpec] = {spec.name: spec for spec in request.tools if spec.name not in _OWN}
        self.conversation = read_request(request)
        self.talk = Talk(topics_of(self.conversation, self.specs), self.conversation.today)
        for event in self.conversation.events:
            self.talk.take(event)

    def step(self) -> Step:
        """The next action."""
        step = self.own_step()
        last = self.talk.last
        if isinstance(last, Refused) and same_call(step.call, last.call):
            return self.mended(last) or step
        return step

    def own_step(self) -> Step:
        """What is due by the procedure."""
        talk, goal = self.talk, self.talk.goal
        if goal is None:
            return say("I do not know yet what the user wants.", self.which())
        if goal.dropped:
            return self.closing("The user gave it up.", "All right, I leave it. " if talk.heard.gave_up else "")
        if not goal.open:
            return self.afterwards(goal)
        step = self.due_step(goal)
        return step._replace(call=self.opened(step.call, goal)) if step.call.tool == RESPOND else step

    def mended(self, refused: Refused) -> Step | None:
        """What the reason of a refusal says instead."""
        action = action_in(refused.reason)
        if action is None or same_call(action, refused.call) or action.tool not in (*self.specs, *_OWN):
            return None
        if action.tool in self.specs and self.specs[action.tool].check(action.args) is not None:
            return None
        return Step("The feedback says so.", action)

    def which(self) -> str:
        titles = [topic.title for topic in self.talk.topics if topic.title]
        return f"What can I do for you: {listed(titles)}?" if len(titles) > 1 else "Hello! What can I do for you?"

    def afterwards(self, goal: Goal) -> Step:
        """After an answer: a fact once more, what waits, or the end."""
        talk = self.talk
        if talk.heard.closed:
            return self.closing("The user wants nothing more.", "")
        if facts := self.wanted(talk.heard.text):
            return say("The user asks for a fact again.", f"{told(facts)} {MORE}")
        return self.closing("Nothing is open.", "")

    def closing(self, why: str, before: str) -> Step:
        """What waits, or the end."""
        if self.talk.waiting:
            topic = self.talk.waiting[0]
            return say(why, f"{before}You also wanted this: {topic.title}. Shall we do that now?")
        if self.talk.heard.closed:
            return say(why, f"{before}You are welcome. Goodbye!")
        return say(why, f"{before}{MORE}")

    def wanted(self, text: str) -> dict[str, Any]:
        """The facts told before that a text asks for; all of the last answer if it is a question about none of them."""
        facts = {name: value for goal in self.talk.goals if goal.told for name, value in goal.told.facts.items()}
        if self.talk.goal is not None and self.talk.goal.open:
            facts |= {
                name: part
                for made in self.talk.goal.calls
                for name, part in findings(made.observation.value, "").items()
            }
        words = {word for word in stems(text) if len(word) > 2}
        named = {name: value for name, value in facts.items() if words & set(stems(name))}
        last = self.talk.goal.told.facts if self.talk.goal and self.talk.goal.told else {}
        return named or (dict(last) if is_question(text) else {})

    def due_step(self, goal: Goal) -> Step:
        """What the procedure asks for now."""
        if goal.topic.procedure is None:
            return self.without_procedure(goal)
        steps = goal.due()
        if not steps:
            return say("The procedure does not go on from here.", f"I am afraid that I cannot go on with this. {MORE}")
        step = min(steps, key=lambda one: (bool(one.missing), one.kind == "answer"))
        if step.missing:
            return self.ask(goal, step)
        if step.kind == "answer":
            return self.answer(step)
        return self.call(ToolCall(tool=step.tool, args=step.args), f"{step.node} is due.")

    def call(self, call: ToolCall, why: str) -> Step:
        """A call; if it failed several times, a word about it."""
        last = self.talk.last
        failed = isinstance(last, Called) and not last.observation.ok and last.call == call
        if failed and self.talk.refusals > _RETRIES:
            return say(
                "The call does not work.", "I am afraid that this does not work at the moment. Shall I try again?"
            )
        return Step(why, call)

    def ask(self, goal: Goal, step: Due) -> Step:
        """A question for a slot, or for consent."""
        slot = step.missing[0]
        if slot == CONFIRMED:
            return self.propose(goal)
        return say(f"The procedure needs {slot}.", self.question(goal.topic, slot, goal))

    def question(self, topic: Topic, slot: str, goal: Goal) -> str:
        schema = topic.slots.get(slot, {})
        asked = question(slot, Slot(slot, schema).description, schema)
        return f"I need it to go on. {asked}" if slot in goal.lacking and slot in self.talk.asked else asked

    def propose(self, goal: Goal) -> Step:
        """A proposal with all values of the write, and a question for consent."""
        if self.talk.heard.complained and not self.talk.heard.restated:
            return say("The user says that a value is wrong.", "I am sorry. Which of the values should I change?")
        assert goal.topic.procedure is not None
        after = due(goal.topic.procedure, {**goal.known, CONFIRMED: True}, goal.calls)
        write = next((step for step in after if step.kind == "call"), None)
        values = write.args if write is not None else goal.known
        return say("The user must agree.", proposal(self.purpose(write.tool if write else ""), values))

    def purpose(self, tool: str) -> str:
        """What a tool does, in a few words."""
        spec = self.specs.get(tool)
        first = re.split(r"[,;:.\n]|\s(?:or|so that)\s", spec.description)[0] if spec is not None else ""
        what = first or label_of(tool) or "what you asked for"
        return what[:1].lower() + what[1:]

    def answer(self, step: Due) -> Step:
        """The answer with its facts."""
        text = f"{told(step.facts) or 'That is done.'} {MORE}"
        return Step(
            f"The answer {step.answer} is due.", ToolCall(tool=RESPOND, args={"text": text, "answer": step.answer})
        )

    def opened(self, call: ToolCall, goal: Goal) -> ToolCall:
        """A text with a first sentence that takes up what the user said, and what was found."""
        heard = self.talk.heard
        before: list[str] = []
        if isinstance(self.talk.last, Said):
            if heard.added is not None:
                before.append("I will come to that afterwards.")
            elif heard.invalid and self.talk.asked and not self.lacks(goal) and not breaks_rules(heard.text):
                before.append(self.misfit(heard.invalid, goal))
            elif not heard.opened and not heard.changed and heard.consent is None and not heard.complained:
                before.append(self.aside(heard.text))
        if not call.args.get("answer"):
            for made in self.talk.fresh:
                before.append(told(findings(made.observation.value, self.talk.said)))
        text = " ".join(part for part in (*before, str(call.args["text"])) if part)
        return call.model_copy(update={"args": {**call.args, "text": text}})

    def lacks(self, goal: Goal) -> bool:
        """Whether the user has no value for what was asked."""
        return any(name in goal.lacking for name in self.talk.asked)

    def misfit(self, text: str, goal: Goal) -> str:
        return f"I am afraid that I cannot use “{text}” here." if goal.topic.slots.get(self.talk.asked[0]) else ""

    def aside(self, text: str) -> str:
        """A brief word on something that does not belong to the step."""
        if facts := self.wanted(text):
            return told(facts)
        if breaks_rules(text):
            return "I am afraid that I cannot leave out a step."
        return "I cannot help with that here." if is_question(text) else "I see."

    def without_procedure(self, goal: Goal) -> Step:
        """Any tool whose arguments are known, in the order of the tools; else a question for an argument."""
        made = {call.call.tool for call in goal.calls if call.observation.ok}
        open_tools = [spec for spec in self.specs.values() if spec.name not in made]
        for spec in open_tools:
            if all(name in goal.known for name in spec.required):
                args = {name: goal.known[name] for name in spec.names if name in goal.known}
                if spec.effect == "write" and not goal.known.get(CONFIRMED):
                    if goal.known.get(CONFIRMED) is False:
                        continue
                    return say("The user must agree.", proposal(self.purpose(spec.name), args))
                return self.call(ToolCall(tool=spec.name, args=args), "Its arguments are known.")
        for spec in open_tools:
            missing = [name for name in spec.required if name not in goal.known and name not in goal.lacking]
            if missing and not any(name in goal.lacking for name in spec.required):
                return say(f"{spec.name} needs {missing[0]}.", self.question(goal.topic, missing[0], goal))
        facts = dict(_fields(goal.calls))
        return say("Every tool was called that could be.", f"{told(facts)} {MORE}".strip())


def _fields(calls: list[Called]) -> Iterator[tuple[str, Any]]:
    for call in calls:
        value: Any = call.observation.value
        if isinstance(value, Mapping):
            fields = cast("Mapping[str, Any]", value)
            yield from ((name, part) for name, part in fields.items() if part is not None)


def say(why: str, text: str) -> Step:
    """A text to the user."""
    return Step(why, ToolCall(tool=RESPOND, args={"text": text.strip()}))


def same_call(one: ToolCall, other: ToolCall) -> bool:
    """Whether two calls are equal."""
    return one.tool == other.tool and json_equal(one.args, other.args)
