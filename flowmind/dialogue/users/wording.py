"""What a simulated user says: acts in English, chosen from several wordings by a seed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import Any, Literal

from flowmind.dialogue.users.renderings import spoken
from flowmind.trace.scenario import FactWords, Scenario, SlotWords

Style = Literal["brief", "plain", "talkative"]

_GREETING = re.compile(r"^(?:hello|hi|hey|good (?:morning|afternoon|evening|day))(?: there)?\s*[,.!]\s*", re.IGNORECASE)
_LEANS_ON_QUESTION = re.compile(
    r"^(?:(?:it|that|this|the day)(?:'s| is| was| should be| would be)\b|(?:on|at|in|for|an?)\s|I am \{value\}"
    r"|\{value\})",
    re.IGNORECASE,
)
"""A sentence such as `It is {value}.`, which is clear only as the answer to a question for its slot."""
_PLURAL = re.compile(r"\b(?:are|were) \{value\}|\{value\} (?:[a-z]+s|people|children)\b")
"""A sentence that is not said of one."""

_AFFIRMS = {
    "brief": ("Yes.", "Yes, please.", "Yes, go ahead."),
    "plain": ("Yes, please go ahead.", "Yes, that is right. Please do it.", "Yes, please do."),
    "talkative": (
        "Yes, that is all correct. Please go ahead.",
        "Yes, that sounds good, please do it.",
        "Yes, please, that would be great.",
    ),
}
_DECLINES = {
    "brief": ("No, thanks.", "No.", "No, please don't."),
    "plain": (
        "No, thank you, I don't want to do it now.",
        "No, I would rather not.",
        "No, please leave it for now.",
    ),
    "talkative": (
        "No, thank you. I have thought about it, and I would rather not do it now.",
        "Hmm, no, please don't. I want to think about it first.",
        "No, let's leave it for now, but thank you for your help.",
    ),
}
_DENIES = {
    "brief": ("No.", "Not quite."),
    "plain": ("No, that is not quite right.", "No, not like that.", "Sorry, that is not what I meant."),
    "talkative": (
        "Hmm, no, there is a mistake in that.",
        "No, I think something got mixed up there.",
        "Sorry, but that is not quite right yet.",
    ),
}
_CORRECTIONS = ("The {label} should be {value}.", "The {label} has to be {value}.", "The {label} is {value}.")
_MISSPOKE = (
    "Sorry, I got that wrong: the {label} is {value}.",
    "I have to correct myself, the {label} is {value}.",
    "I was wrong just now, sorry. The {label} is {value}.",
)
_AGAIN = ("I think I said that already.", "I told you that before.", "I did mention that.")
_UNKNOWN = ("I do not know, sorry.", "I'm afraid I don't know that.", "I can't tell you, sorry, I do not know.")
_UNKNOWN_SLOT = (
    "I don't know the {label}, sorry.",
    "As for the {label}, I do not know.",
    "I'm afraid I don't know the {label}.",
)
_REQUESTS = ("What is the {label}?", "Could you tell me the {label}?", "And the {label}?")
_REQUESTS_AGAIN = (
    "Sorry, I still need the {label}. What is it?",
    "I did not get the {label} yet. Could you tell me?",
    "Could you please give me the {label}?",
)
_REQUESTS_EXACT = (
    "Could you give me the {label} exactly as it is in your system, please?",
    "Could you write the {label} just as your system has it?",
)
_POKES = {
    "brief": ("So?", "Can you do it?", "What now?"),
    "plain": (
        "That is all I have. Can you do it?",
        "So what do we do now?",
        "Is there anything you still need from me?",
        "Can you take it from here?",
    ),
    "talkative": (
        "I think you have everything from me now. Could you take care of it?",
        "So, how do we go on from here?",
        "Is there anything else you need from me for that?",
    ),
}
_NOT_DONE = ("We are not done yet.", "Wait, that is not finished yet.", "But this is not done yet.")
_STILL_AGREES = ("I do want it. Please go ahead.", "I did not say no. Yes, please do it.", "Please do it, I agree.")
_NOT_NOW = ("That can wait. Let us finish the first thing before.", "One after the other, please. That comes later.")
_NOT_THAT = ("No, this is about something else now.", "That is not what I mean, this is about another thing.")
_WAITS = {
    "brief": ("Okay.", "Sure."),
    "plain": ("Sure, take your time.", "All right, thanks.", "Okay, I'll wait."),
    "talkative": ("Sure, take your time, I am not in a hurry.", "All right, thank you for looking into it."),
}
_ACCEPTS = ("Yes, please.", "Yes, please do.", "Sure, please do that.")
_DECLINES_OFFER = ("No, thank you.", "No, thanks.", "No, thanks a lot.")
_SURE = ("Sure.", "Of course.", "Sure, no problem.", "Yes, sure.")
_ALSO = ("There is one more thing.", "Then there is something else.", "One more thing, please.")
_ANNOUNCED = ("Now to the other thing.", "Then there is the other thing that I mentioned.", "Now for my other request.")
_THANKS = {
    "brief": ("Thanks.",),
    "plain": ("Thank you.", "Thanks a lot.", "Great, thank you."),
    "talkative": (
        "Thank you very much for that.",
        "Great, that helps me a lot, thank you.",
        "Perfect, thanks so much.",
    ),
}
_BYES = {
    "brief": ("That's all. Bye.", "Bye.", "Goodbye."),
    "plain": ("That is all I needed. Goodbye.", "That was everything. Goodbye.", "That's all. Have a good day, bye."),
    "talkative": (
        "That was everything for today. Have a nice day, goodbye!",
        "I have everything I need now. All the best, and goodbye!",
    ),
}
_GIVES_UP = {
    "brief": ("I'll try again later. Bye.",),
    "plain": (
        "I think we are not getting anywhere. I'll try again another time. Goodbye.",
        "I have to go now, I will try again later. Goodbye.",
    ),
    "talkative": (
        "I don't think we are getting any further here, so I will try again another time. Thanks anyway, goodbye.",
        "I'm sorry, but I have to go now. Maybe it works better another time. Goodbye.",
    ),
}
_LEAVES = {
    "brief": ("Okay, bye.", "Fine. Bye."),
    "plain": ("All right, thank you. Goodbye.", "Good, thanks. That is all then, goodbye."),
    "talkative": ("All right, thank you for your patience. Have a nice day, goodbye!",),
}


class Wording:
    """The sentences of one text.

    Args:
        style: How much the user says.
        random: Chooses among wordings.
        said: The earlier texts of the user. A sentence in them is not said again while there is another one.
    """

    def __init__(self, style: Style, random: Random, said: Sequence[str] = ()) -> None:
        self._style: Style = style
        self._random = random
        self._said = said

    def opens(self, scenario: Scenario, first: bool, announced: bool = False) -> str:
        """Names a goal; a later one without greeting.

        Args:
            scenario: Of the goal.
            first: Whether the session begins with it.
            announced: Whether the user spoke of it before.
        """
        sentence = self._pick(scenario.opens or (f"Hello, this is about: {scenario.title}.",))
        if first:
            return sentence
        lead = self._pick(_ANNOUNCED if announced else _ALSO)
        return f"{lead} {_capitalized(_GREETING.sub('', sentence))}"

    def states_aim(self, scenario: Scenario, titled: bool) -> str:
        """Names the goal again, in other words; by its title if the agent has used it."""
        if titled:
            return f"{scenario.title}, please."
        sentences = [_capitalized(_GREETING.sub("", sentence)) for sentence in scenario.opens]
        return self._pick(sentences or (f"It is about this: {scenario.title}.",))

    def informs(self, words: SlotWords, value: Any, sole: bool, asked: bool, again: bool = False) -> str:
        """Gives the value of a slot.

        Args:
            words: The words of the slot.
            value: Its value.
            sole: Whether this is the only slot that the text answers.
            asked: Whether the agent asked for it.
            again: Whether the user gave the value before.
        """
        text = spoken(value)
        alone = sole and asked
        if self._style == "brief":
            return text if alone else f"{_capitalized(words.label)}: {text}."
        leaning = () if alone else tuple(filter(_LEANS_ON_QUESTION.search, words.says))
        plural = tuple(filter(_PLURAL.search, words.says)) if value == 1 else ()
        sentences = [sentence for sentence in words.says if sentence not in (*leaning, *plural)]
        sentence = self._pick(sentences or ("The {label} is {value}.",), label=words.label, value=text)
        return f"{sentence} {self._pick(_AGAIN)}" if again else sentence

    def corrects(self, words: SlotWords, value: Any) -> str:
        """Gives another value than the agent has."""
        if self._style == "brief":
            return f"{_capitalized(words.label)}: {spoken(value)}."
        return self._pick(_CORRECTIONS, label=words.label, value=spoken(value))

    def takes_back(self, words: SlotWords, value: Any) -> str:
        """Gives another value than the user said before."""
        if self._style == "brief":
            return f"Sorry, wrong. {_capitalized(words.label)}: {spoken(value)}."
        return self._pick(_MISSPOKE, label=words.label, value=spoken(value))

    def unknown(self, words: SlotWords | None, sole: bool) -> str:
        """Has no value."""
        if sole or words is None:
            return "I do not know." if self._style == "brief" else self._pick(_UNKNOWN)
        if self._style == "brief":
            return f"{_capitalized(words.label)}: I do not know."
        return self._pick(_UNKNOWN_SLOT, label=words.label)

    def requests(self, words: FactWords, times: int, inexact: bool) -> str:
        """Asks for a fact.

        Args:
            words: The words of the fact.
            times: How often the user asked for it before.
            inexact: Whether the agent told it in another form.
        """
        if inexact:
            return self._pick(_REQUESTS_EXACT, label=words.label)
        if times:
            return self._pick(_REQUESTS_AGAIN, label=words.label)
        return self._pick(words.asks or _REQUESTS[:2], label=words.label)

    def affirms(self) -> str:
        """Agrees to a proposal."""
        return self._of(_AFFIRMS)

    def declines(self) -> str:
        """Does not want what is proposed."""
        return self._of(_DECLINES)

    def denies(self) -> str:
        """Says that a proposal is wrong."""
        return self._of(_DENIES)

    def accepts(self) -> str:
        """Welcomes an offer that is no proposal."""
        return "Yes." if self._style == "brief" else self._pick(_ACCEPTS)

    def declines_offer(self) -> str:
        """Does not take an offer after everything is done."""
        return self._pick(_DECLINES_OFFER)

    def sure(self) -> str:
        """A friendly word before an answer, or none."""
        chance = {"brief": 0.0, "plain": 0.2, "talkative": 0.6}[self._style]
        return self._pick(_SURE) if self.chance(chance) else ""

    def chance(self, rate: float) -> bool:
        """Whether something happens that happens at a rate."""
        return self._random.random() < rate

    def pokes(self) -> str:
        """Wants the agent to go on."""
        return self._of(_POKES)

    def is_not_done(self) -> str:
        """Objects to an agent that takes the goal for finished."""
        return self._pick(_NOT_DONE)

    def still_agrees(self) -> str:
        """Agrees to a proposal that the agent has dropped."""
        return self._pick(_STILL_AGREES)

    def keeps_apart(self, later: bool) -> str:
        """Does not want to speak of another goal: one that comes later, or one from before."""
        return self._pick(_NOT_NOW if later else _NOT_THAT)

    def waits(self) -> str:
        """Gives the agent time."""
        return self._of(_WAITS)

    def thanks(self) -> str:
        """Thanks for what was told."""
        return self._of(_THANKS)

    def says_goodbye(self) -> str:
        """Ends a session in which everything was done."""
        return self._of(_BYES)

    def leaves(self) -> str:
        """Ends a session after a goal was given up."""
        return self._of(_LEAVES)

    def gives_up(self) -> str:
        """Ends a session that does not get on."""
        return self._of(_GIVES_UP)

    def _of(self, table: Mapping[str, Sequence[str]]) -> str:
        return self._pick(table[self._style])

    def _pick(self, sentences: Sequence[str], **values: str) -> str:
        filled = [_filled(sentence, values) for sentence in sentences]
        fresh = [sentence for sentence in filled if not any(sentence in text for text in self._said)]
        return self._random.choice(fresh or filled)


def joined(sentences: Collection[str]) -> str:
    """Sentences as one text."""
    return " ".join(sentence for sentence in sentences if sentence)


def _filled(sentence: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        article = r"\1n" if value[:1].casefold() in ("a", "e", "i", "o") else r"\1"
        sentence = re.sub(rf"\b([Aa]) (?=\{{{name}\}})", f"{article} ", sentence).replace(f"{{{name}}}", value)
    return sentence


def _capitalized(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
