"""Users that a language model plays: one that words an agenda's texts, and one that is free within a prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from flowmind.dialogue.users import prompts
from flowmind.dialogue.users.agenda import AgendaUser
from flowmind.dialogue.users.goals import goals_after
from flowmind.dialogue.users.renderings import spoken, values_of_kind
from flowmind.dialogue.users.user_state import Agenda, user_texts
from flowmind.protocols import ChatModel, ChatRequest, Message, Utterance
from flowmind.trace.events import Act, Said, Trace
from flowmind.trace.scenario import CONFIRMED, Goal, Scenario, Session
from flowmind.trace.telling import tells

MARKER = "[END]"
"""What a free user writes when it has everything."""
_STYLES = {
    "brief": "very short, a few words or a single sentence, no small talk",
    "plain": "one or two plain, friendly sentences",
    "talkative": "chatty and warm, two or three sentences",
}
_WORDS = {"brief": 25, "plain": 45, "talkative": 80}
"""The most words of a reworded text."""
_MOST_TOKENS = 300
_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_SPEAKER = re.compile(r"^(?:user|customer|me|person|message)\s*:\s*", re.IGNORECASE)
_YES = re.compile(
    r"\b(?:yes|yeah|yep|yup|sure|ok|okay|correct|right|please do|go ahead|absolutely|certainly|agreed?)\b",
    re.IGNORECASE,
)
_NO = re.compile(
    r"\b(?:no|nope|not|don't|do not|won't|wouldn't|rather|wrong|stop|leave it|never mind)\b", re.IGNORECASE
)
_NO_MATTER = re.compile(r"\bno (?:problem|worries|questions?|changes?|hurry)\b", re.IGNORECASE)


class _Played:
    """A model in the place of a user.

    Args:
        model: The model.
        seed: Of its sampling.
        temperature: Of its sampling.
        trial: The number of the repetition of the session; replies are not shared between repetitions.
    """

    def __init__(self, model: ChatModel, seed: int | None = None, temperature: float = 0.0, trial: int = 0) -> None:
        self._model = model
        self._seed = seed
        self._temperature = temperature
        self._trial = trial

    async def _completed(self, messages: Sequence[Message]) -> str:
        request = ChatRequest(
            messages=tuple(messages),
            max_tokens=_MOST_TOKENS,
            temperature=self._temperature,
            seed=self._seed,
            rollout=self._trial,
        )
        return _cleaned((await self._model.complete(request)).text)


class WordedUser(_Played):
    """An agenda decides what is said; a model words it.

    Texts of interventions stay as they are. A wording that loses a value, adds a value, turns a yes into a no or is too
    long is dropped for the agenda's own.

    Args:
        agenda: The user that decides.
        model: The model that words.
        seed: Of the model's sampling.
        temperature: Of the model's sampling.
        trial: The number of the repetition of the session.
    """

    name = "worded"

    def __init__(
        self, agenda: AgendaUser, model: ChatModel, seed: int | None = None, temperature: float = 0.0, trial: int = 0
    ) -> None:
        super().__init__(model, seed, temperature, trial)
        self.agenda = agenda

    async def reply(self, trace: Trace) -> Utterance:
        """The agenda's next text in the model's words.

        Raises:
            ModelFailure: If the model failed.
            ModelUnavailable: If the model cannot serve at all.
        """
        utterance = self.agenda.says(trace)
        if utterance.intervention is not None:
            return utterance
        profile = self.agenda.session.profile
        spoken_before = [event.text for event in trace.events if isinstance(event, Said) and event.role == "agent"]
        prompt = prompts.render(
            "worded_user",
            persona=profile.persona,
            style=_STYLES[profile.style],
            agent=spoken_before[-1] if spoken_before else "",
            message=utterance.text,
            words=_WORDS[profile.style],
        )
        text = await self._completed([Message(role="user", content=prompt)])
        keeps = _keeps(text, utterance, _WORDS[profile.style])
        return utterance.model_copy(update={"text": text}) if keeps else utterance


class FreeUser(_Played):
    """A model plays the user, with the profile and the goals as its prompt.

    It ends the session by writing `MARKER`; with a request for consent before it, the marker is ignored. Interventions
    are instructions for one text; a text that loses a value of theirs is replaced by their own. The acts of its texts
    are read from them.

    Args:
        session: The session.
        scenarios: By id, those of the session's goals among them.
        model: The model.
        oow: Whether it carries out the session's interventions.
        seed: Of the model's sampling.
        temperature: Of the model's sampling.
        trial: The number of the repetition of the session.
    """

    name = "free"

    def __init__(
        self,
        session: Session,
        scenarios: Mapping[str, Scenario],
        model: ChatModel,
        oow: bool = False,
        seed: int | None = None,
        temperature: float = 0.0,
        trial: int = 0,
    ) -> None:
        super().__init__(model, seed, temperature, trial)
        self.session = session
        self.scenarios = scenarios
        self._agenda = AgendaUser(session, scenarios, seed or 0, oow)

    async def reply(self, trace: Trace) -> Utterance:
        """The model's next text.

        Raises:
            ModelFailure: If the model failed.
            ModelUnavailable: If the model cannot serve at all.
        """
        agenda = self._agenda.agenda(trace) if user_texts(trace.events) else None
        number = self._agenda.due_intervention(agenda) if agenda else None
        messages = self._messages(trace, agenda.fired if agenda else 0)
        if agenda and number is not None:
            return await self._intervenes(messages, agenda, number)
        reply = await self._completed(messages)
        over = MARKER in reply and agenda is not None and not (agenda.heard.consent and not agenda.finished)
        text = " ".join(reply.replace(MARKER, " ").split())
        if not text:
            return self._agenda.says(trace)
        return Utterance(text=text, acts=self._acts(text, agenda, over), over=over)

    async def _intervenes(self, messages: list[Message], agenda: Agenda, number: int) -> Utterance:
        own = self._agenda.carries_out(agenda, number)
        instruction = prompts.render("free_user_intervention", text=own.text)
        last = messages[-1]
        messages[-1] = last.model_copy(update={"content": f"{last.content}\n\n({instruction})"})
        text = (await self._completed(messages)).replace(MARKER, "").strip()
        values = [act.value for act in own.acts if act.value is not None]
        kept = text != "" and all(tells(text, value) for value in values)
        return own.model_copy(update={"text": text}) if kept else own

    def _messages(self, trace: Trace, fired: int) -> list[Message]:
        profile = self.session.profile
        goals = [standing.goal for standing in goals_after(self.session, fired) if not standing.dropped]
        system = prompts.render(
            "free_user",
            persona=profile.persona,
            style=_STYLES[profile.style],
            details=f"{profile.details}\n" if profile.details else "",
            goals="\n".join(self._described(number, goal) for number, goal in enumerate(goals, 1)),
            marker=MARKER,
        )
        messages = [
            Message(role="system", content=system),
            Message(role="user", content="(The agent is there. Begin.)"),
        ]
        for event in trace.events:
            if isinstance(event, Said) and event.role != "system":
                messages.append(Message(role="assistant" if event.role == "user" else "user", content=event.text))
        return messages

    def _described(self, number: int, goal: Goal) -> str:
        scenario = self.scenarios[goal.scenario]
        lines = [
            f"   - {words.label}: {'you do not have one' if goal.slots.get(slot) is None else spoken(goal.slots[slot])}"
            for slot, words in scenario.slots.items()
            if slot in goal.slots
        ]
        agrees = goal.slots.get(CONFIRMED, True)
        consent = (
            "If the agent asks for your agreement and every value is right, you agree."
            if agrees
            else "If the agent asks for your agreement, you decline in the end: you only wanted to know what there is."
        )
        opening = scenario.opens[0] if scenario.opens else scenario.title
        return prompts.render(
            "free_user_goal",
            number=number,
            title=scenario.title,
            opening=opening,
            values="\n".join(lines),
            consent=consent,
        )

    def _acts(self, text: str, agenda: Agenda | None, over: bool) -> tuple[Act, ...]:
        """The acts that a text of the model shows."""
        if agenda is None:
            goal = self.session.goals[0]
            opening = Act(kind="open", scenario=goal.scenario)
            return (opening, *_informs(text, self.scenarios[goal.scenario], goal))
        acts: list[Act] = []
        scenario, goal = agenda.scenario, agenda.goals[agenda.number].goal
        if over:
            return (Act(kind="bye", scenario=scenario.id),)
        if agenda.finished and agenda.number + 1 < len(agenda.goals):
            goal = agenda.goals[agenda.number + 1].goal
            scenario = self.scenarios[goal.scenario]
            acts.append(Act(kind="open", scenario=scenario.id))
        elif agenda.heard.consent and (_YES.search(text) or _NO.search(text)):
            refuses = _NO.search(_NO_MATTER.sub("", text)) is not None
            acts.append(Act(kind="deny" if refuses else "affirm", scenario=scenario.id))
        acts += _informs(text, scenario, goal)
        return tuple(acts) or (Act(kind="other", scenario=scenario.id),)


def _informs(text: str, scenario: Scenario, goal: Goal) -> list[Act]:
    """The slots whose values a text tells."""
    return [
        Act(kind="inform", slot=slot, value=goal.slots[slot], scenario=scenario.id)
        for slot in scenario.slots
        if goal.slots.get(slot) is not None and tells(text, goal.slots[slot])
    ]


def _keeps(text: str, utterance: Utterance, words: int) -> bool:
    """Whether a wording says what it should, and no more."""
    if not text or len(text.split()) > words:
        return False
    if not all(tells(text, act.value) for act in utterance.acts if act.value is not None):
        return False
    kinds = {act.kind for act in utterance.acts}
    if "affirm" in kinds and (_NO.search(text) or not _YES.search(text)):
        return False
    if "deny" in kinds and not _NO.search(text):
        return False
    if "request" in kinds and "?" not in text:
        return False
    added = {token for token in values_of_kind(text, "code") if not tells(utterance.text, token)}
    return not added and not set(values_of_kind(text, "number")) - set(values_of_kind(utterance.text, "number"))


def _cleaned(text: str) -> str:
    """A reply without thoughts, the speaker's name and quotes around it."""
    bare = _THOUGHTS.sub("", text).rpartition("</think>")[2]  # some chat templates open the thinking in the prompt
    text = _SPEAKER.sub("", bare.strip())
    quoted = len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]
    return text[1:-1].strip() if quoted else text
