"""A dialogue as `follow` understands it: the goals of the user, their slots, and what was asked, proposed and told."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any, cast

from flowmind.base.errors import InputError
from flowmind.dialogue.following.phrases import (
    breaks_rules,
    closes,
    comes_first,
    complains,
    gives_up,
    insists,
    is_done,
    moves_on,
    says_goodbye,
    starts_goal,
    yes_or_no,
)
from flowmind.dialogue.following.phrasing import asks_consent
from flowmind.dialogue.following.requests import Conversation, Knowledge
from flowmind.dialogue.following.slots import Slot
from flowmind.dialogue.following.understanding import Understood, understand
from flowmind.dialogue.following.values import stems
from flowmind.dialogue.procedures.due import Due, due
from flowmind.dialogue.procedures.procedure import Procedure, procedure_of
from flowmind.dialogue.session import FREE_ANSWERS
from flowmind.formats.catalog import FORMATS
from flowmind.formats.flowbench_reader import from_flowbench_code
from flowmind.trace.events import Called, Event, Refused, Said
from flowmind.trace.scenario import CONFIRMED
from flowmind.trace.telling import tells
from flowmind.workflow.document import ToolNode, Var, Workflow
from tools_registry.specs.spec import ToolSpec

_PLAIN = frozenset(stems("need want like help please have can could would tell know give make this that with"))
_VALUE = 0.3
"""What a value of a slot speaks for a procedure that has the slot."""
_FORM = 2.0
"""What a code with the form of a slot's speaks for it."""
_COMMON = 0.25
"""The least difference of two procedures, in weights of words, that decides between them."""


@dataclass(frozen=True)
class Topic:
    """What a user can want: a procedure that the prompt tells, or the tools alone."""

    title: str
    procedure: Procedure | None
    """None if the prompt tells no procedure that can be read."""
    slots: Mapping[str, Mapping[str, Any]]
    """The schemas of the slots by name, without that of consent."""
    words: Mapping[str, float]
    """The stems of the words that tell what it is about, with weights."""


@dataclass
class Goal:
    """Something that the user wants."""

    topic: Topic
    known: dict[str, Any] = field(default_factory=dict[str, Any])
    calls: list[Called] = field(default_factory=list[Called])
    """The calls since the goal was begun or reopened."""
    earlier: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    """Values that were replaced, by slot."""
    told: Due | None = None
    """The answer that was told, and its facts."""
    dropped: bool = False
    texts: list[str] = field(default_factory=list[str])
    """What the user said about it."""
    lacking: set[str] = field(default_factory=set[str])
    """Slots for which the user has no value, though they need one."""

    @property
    def open(self) -> bool:
        """Whether there is something left to do."""
        return self.told is None and not self.dropped

    def due(self) -> tuple[Due, ...]:
        """What the procedure asks for now; empty without a procedure."""
        return due(self.topic.procedure, self.known, self.calls) if self.topic.procedure is not None else ()


@dataclass
class Heard:
    """What the last text of the user was."""

    text: str = ""
    opened: bool = False
    changed: tuple[str, ...] = ()
    """The slots that it gave or changed."""
    consent: bool | None = None
    invalid: str = ""
    gave_up: bool = False
    complained: bool = False
    restated: bool = False
    """Whether it repeated values that were understood already."""
    closed: bool = False
    added: Topic | None = None
    """What the user wants besides."""


class Talk:
    """The state of a dialogue after some events.

    Args:
        topics: What the user can want.
        today: The day of the dialogue.
    """

    def __init__(self, topics: Sequence[Topic], today: date | None) -> None:
        self.topics = topics
        self.today = today
        self.goals: list[Goal] = []
        self.waiting: list[Topic] = []
        """What the user wants afterwards."""
        self.unplaced: list[str] = []
        """What the user said before it was clear what it is about."""
        self.asked: tuple[str, ...] = ()
        self.proposed = False
        self.heard = Heard()
        self.said = ""
        """All texts of the agent so far."""
        self.fresh: list[Called] = []
        """The calls since the agent's last text."""
        self.last: Event | None = None
        self.refusals = 0
        """The refusals and failures in a row, up to now."""
        self._weights = _weights(topics)

    @property
    def goal(self) -> Goal | None:
        """What is worked on, or was worked on last."""
        return self.goals[-1] if self.goals else None

    def take(self, event: Event) -> None:
        """Takes in an event."""
        self.last = event
        failed = isinstance(event, Refused) or (isinstance(event, Called) and not event.observation.ok)
        self.refusals = self.refusals + 1 if failed else 0
        match event:
            case Said(role="user"):
                self.hear(event.text)
            case Said():
                self.say(event)
            case Called():
                self.fresh.append(event)
                if self.goal is not None:
                    self.goal.calls.append(event)
            case _:
                pass

    def say(self, said: Said) -> None:
        """Takes in a text of the agent: what it asks, proposes and tells."""
        self.said += "\n" + said.text
        self.fresh = []
        self.proposed = asks_consent(said.text)
        goal = self.goal
        self.asked = () if self.proposed or goal is None else asked_in(said.text, goal.topic)
        if goal is None or not goal.open or said.answer in FREE_ANSWERS:
            return
        if goal.topic.procedure is None:
            goal.told = Due(kind="answer", node="") if not self.asked and not self.proposed and goal.calls else None
            return
        ends = [step for step in goal.due() if step.kind == "answer"]
        for step in ends:
            if said.answer == step.answer or all(tells(said.text, value) for value in step.facts.values()):
                goal.told = step
                goal.calls = []

    def hear(self, text: str) -> None:
        """Takes in a text of the user."""
        self.heard = Heard(text)
        goal = self.goal
        if goal is None or not goal.open:
            self.after(text)
            return
        if says_goodbye(text):
            goal.dropped = self.heard.closed = True
            return
        other = self.other(text, goal)
        read = self.read(text, goal)
        if all(value is None for value in read.values.values()) and (meant := self.meant(text, goal)) is not None:
            self.goals.pop()
            self.begin(meant, " ".join((*goal.texts, text)))
            return
        if gives_up(text) and not self.proposed and all(value is None for value in read.values.values()):
            goal.dropped = self.heard.gave_up = True
            return
        turns = comes_first(text) or (moves_on(text) and is_done(text)) or other in self.waiting
        decided = self.proposed and _decides(text) and not moves_on(text)
        if other is not None and not read.values and not decided:
            if turns or not (goal.known or goal.calls):
                goal.dropped = True
                self.begin(other, text)
            else:
                self.waiting.append(other)
                self.heard.added = other
            return
        self.learn(goal, read, text)

    def after(self, text: str) -> None:
        """Takes in a text of the user when nothing is open: something new, a correction, or the end."""
        goal = self.goal
        topic = (self.remaining(text) if moves_on(text) else None) or self.best(text) or self.remaining(text)
        if goal is None:
            text = " ".join((*self.unplaced, text))
            self.unplaced = [] if topic is not None else [text]
        read = self.read(text, goal) if goal is not None else Understood({}, {})
        changed = goal is not None and any(
            name in goal.known and goal.known[name] != value for name, value in read.values.items()
        )
        if goal is not None and topic in (None, goal.topic) and changed and not _again(text):
            goal.told, goal.dropped = None, False
            self.learn(goal, read, text)
        elif goal is not None and goal.known.get(CONFIRMED) is False and insists(text) and not moves_on(text):
            goal.told, goal.dropped = None, False
            del goal.known[CONFIRMED]
        elif goal is not None and closes(text) and not starts_goal(text):
            self.heard.closed = True
        elif topic is not None and (goal is None or topic is not goal.topic or starts_goal(text)):
            self.begin(topic, text)

    def meant(self, text: str, goal: Goal) -> Topic | None:
        """The only other topic that has the slots of which a text gives values."""
        if goal.topic.procedure is None:
            return None
        least = _FORM if goal.calls else 0.0
        fitting = [
            topic
            for topic in self.topics
            if topic is not goal.topic
            and any(
                name not in goal.topic.slots and (Slot(name, topic.slots[name]).fits(str(value)) or 0.0) >= least
                for name, value in self.values(topic, text).items()
            )
        ]
        return fitting[0] if len(fitting) == 1 else None

    def values(self, topic: Topic, text: str) -> dict[str, Any]:
        """The values that a text gives for the slots of a topic."""
        return understand(text, topic.slots, (), {}, self.today).values

    def remaining(self, text: str) -> Topic | None:
        """The likeliest topic that the user has not had, if a text begins something new.

        At the beginning it is what all texts so far are about.
        """
        if self.goal is None:
            return self.best(" ".join((*self.unplaced, text)), at_last=bool(self.unplaced))
        left = [topic for topic in self.topics if all(goal.topic is not topic for goal in self.goals)]
        if not left or not starts_goal(text):
            return None
        return max(left, key=lambda topic: self.score(topic, text))

    def begin(self, topic: Topic, text: str) -> None:
        """Begins a goal with what a text says about it."""
        goal = Goal(topic)
        self.goals.append(goal)
        self.waiting = [other for other in self.waiting if other is not topic]
        self.asked, self.proposed = (), False
        self.heard.opened = True
        self.learn(goal, self.read(text, goal), text)

    def read(self, text: str, goal: Goal) -> Understood:
        """What a text says about the slots of a goal."""
        offered = [word for made in goal.calls for word in _texts(made.observation.value)]
        return understand(text, goal.topic.slots, self.asked, goal.known, self.today, offered)

    def learn(self, goal: Goal, read: Understood, text: str) -> None:
        """Takes over the values that a text gives, or the consent."""
        goal.texts.append(text)
        slots = {name: Slot(name, schema) for name, schema in goal.topic.slots.items()}
        given = {name: value for name, value in read.values.items() if value is not None or slots[name].nullable}
        changed = {name: value for name, value in given.items() if name not in goal.known or goal.known[name] != value}
        taken_back = [name for name in read.rejected if name in goal.known]
        goal.lacking |= {name for name in read.values if name not in given}
        self.heard.changed = tuple(changed)
        self.heard.invalid = read.invalid
        if changed or taken_back:
            for name in (*changed, *taken_back):
                if name in goal.known:
                    goal.earlier.setdefault(name, []).append(goal.known[name])
            goal.known.update(changed)
            for name in (*taken_back, CONFIRMED):
                goal.known.pop(name, None)
        elif self.proposed:
            self.heard.restated = bool(read.values)
            self.heard.complained = complains(text) or (bool(read.values) and yes_or_no(text) is False)
            unclear = self.heard.complained or breaks_rules(text)
            self.heard.consent = None if unclear else yes_or_no(text)
            if self.heard.consent is None and gives_up(text):
                self.heard.consent = False
            if self.heard.consent is not None:
                goal.known[CONFIRMED] = self.heard.consent

    def best(self, text: str, at_last: bool = False) -> Topic | None:
        """What a text is about; the only topic if there is one, None if no topic stands out.

        Args:
            text: The text.
            at_last: Whether to take the likeliest topic even so, because the user was asked already.
        """
        if len(self.topics) == 1:
            return self.topics[0]
        rated = sorted(((self.score(topic, text), -k) for k, topic in enumerate(self.topics)), reverse=True)
        clear = rated[0][0] > 0 and rated[0][0] - rated[1][0] >= _COMMON
        return self.topics[-rated[0][1]] if clear or (at_last and self.goal is None) else None

    def other(self, text: str, goal: Goal) -> Topic | None:
        """Another topic that a text names clearly."""
        if len(self.topics) < 2 or not starts_goal(text):
            return None
        if moves_on(text):
            return self.remaining(text)
        best = self.best(text)
        if best is None or best is goal.topic:
            return None
        return best if self.score(best, text) >= 2 * self.score(goal.topic, text) else None

    def score(self, topic: Topic, text: str) -> float:
        """How far the words of a text are those of a topic."""
        words = sum(self._weights[word] * topic.words[word] for word in set(stems(text)) if word in topic.words)
        for name, value in self.values(topic, text).items():
            if not all(name in other.slots for other in self.topics):
                words += _FORM if (Slot(name, topic.slots[name]).fits(str(value)) or 0) > 0 else _VALUE
        return words


def _decides(text: str) -> bool:
    return yes_or_no(text) is not None


def _again(text: str) -> bool:
    return any(word in f" {text.lower()} " for word in (" another ", " one more ", " second ", " also ", " further "))


def _weights(topics: Sequence[Topic]) -> dict[str, float]:
    """The weight of each word: more if fewer topics have it."""
    counts: dict[str, int] = {}
    for topic in topics:
        for word in topic.words:
            counts[word] = counts.get(word, 0) + 1
    return {word: math.log((1 + len(topics)) / count) for word, count in counts.items()}


def _texts(value: Any) -> list[str]:
    """The texts in a result."""
    if isinstance(value, str):
        return [value] if len(value) <= 80 else []
    if isinstance(value, dict):
        return [word for part in cast("dict[str, Any]", value).values() for word in _texts(part)]
    return [word for part in cast("list[Any]", value) for word in _texts(part)] if isinstance(value, list) else []


def asked_in(text: str, topic: Topic) -> tuple[str, ...]:
    """The slots that a text asks for: those whose descriptions stand in it, else the one that a question names best."""
    lowered = text.lower()
    slots = {name: Slot(name, schema) for name, schema in topic.slots.items()}
    whole = [name for name, slot in slots.items() if slot.description.lower() in lowered]
    questions = [part for part in text.split("?")[:-1] if part.strip()]
    if whole or not questions:
        return tuple(whole) if "?" in text else ()
    words = set(stems(questions[-1].rsplit(".", 1)[-1]))
    rated = [(sum(weight for word, weight in slot.cues.items() if word in words), name) for name, slot in slots.items()]
    rated.sort(reverse=True)
    return (rated[0][1],) if rated and rated[0][0] >= 1 else ()


def topics_of(conversation: Conversation, specs: Mapping[str, ToolSpec]) -> tuple[Topic, ...]:
    """The procedures of a prompt that can be read; the tools alone if there is none.

    Args:
        conversation: The request.
        specs: The business tools.
    """
    topics = [topic for known in conversation.knowledge if (topic := _topic(known, specs)) is not None]
    if topics:
        return tuple(topics)
    slots: dict[str, Mapping[str, Any]] = {}
    for spec in specs.values():
        for name, schema in spec.parameters.get("properties", {}).items():
            slots.setdefault(name, schema)
    return (Topic("", None, slots, {}),)


def _topic(known: Knowledge, specs: Mapping[str, ToolSpec]) -> Topic | None:
    workflow = next((made for form, text in known.texts if (made := _workflow(form, text)) is not None), None)
    if workflow is None:
        return None
    typed = {
        name: {**_parameter(workflow, name, specs), **schema}
        for name, schema in workflow.inputs.get("properties", {}).items()
        if name != CONFIRMED
    }
    return Topic(known.title, procedure_of(workflow, specs), typed, _words(known.title, workflow, typed, specs))


def _words(
    title: str, workflow: Workflow, slots: Mapping[str, Mapping[str, Any]], specs: Mapping[str, ToolSpec]
) -> dict[str, float]:
    """The words of a procedure: those of its title count most, then those of its description, its tools, its slots."""
    notes = " ".join(f"{name} {schema.get('description', '')}" for name, schema in slots.items())
    tools = " ".join(f"{tool} {specs[tool].description}" for tool in workflow.tool_names if tool in specs)
    parts = ((notes, 0.5), (tools, 0.7), (workflow.description, 1.0), (f"{title} {workflow.name}", 1.5))
    return {word: weight for text, weight in parts for word in stems(text) if len(word) > 2 and word not in _PLAIN}


@lru_cache(maxsize=256)
def _workflow(form: str, text: str) -> Workflow | None:
    """The workflow of a text as PDL or as code; None for another format, and for a text that is not exact."""
    importer = {"pdl": FORMATS["pdl"].importer, "code": from_flowbench_code}.get(form)
    try:
        return importer(text) if importer is not None else None
    except InputError:
        return None


def _parameter(workflow: Workflow, slot: str, specs: Mapping[str, ToolSpec]) -> Mapping[str, Any]:
    """The schema of the parameter that takes a slot, for slots without a type, such as those of code."""
    for node in workflow.nodes:
        if isinstance(node, ToolNode) and node.tool in specs:
            for name, binding in node.args.items():
                if binding == Var(var=slot):
                    field: dict[str, Any] = specs[node.tool].parameters.get("properties", {}).get(name, {})
                    return {key: part for key, part in field.items() if key != "description"}
    return {}
