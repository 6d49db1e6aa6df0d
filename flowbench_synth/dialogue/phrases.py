"""What users say when they leave the procedure: sentences with the words of a scenario.

Fields: `{label}` is the label of a slot, `{value}` its new or true value, `{part}` the beginning of it, `{wrong}` a
value that it cannot have, `{fact}` the label of a fact, `{wish}` a first sentence of another goal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

DETAIL = (
    "Actually, let us change the {label}: make it {value}.",
    "Sorry, I have changed my mind: the {label} should be {value}.",
    "Hold on, the {label} has to be {value} instead.",
    "Oh, before I forget: {value} is better for me as the {label}.",
    "I am afraid that I told you the wrong {label}. The right {label} is {value}.",
    "One correction, please. The {label} is {value}.",
)
BACK_AND_CHANGE = (
    "Could we go back a step? I would rather have {value} as the {label}.",
    "Wait, back to the {label}, please: {value} would be better.",
    "Let us return to the {label} for a moment. I want {value} now.",
    "Can you go back and put {value} for the {label}?",
)
BACK = (
    "Could we go back to the {label} for a moment? I want to be sure that you have {value}.",
    "Wait, one step back: you did note {value} as the {label}, did you?",
    "Let me go back to the {label}. It is {value}, as I said.",
    "Before we go on, can you look at the {label} again? It should say {value}.",
)
REFUSE = (
    "No, wait. I have changed my mind, please do not do it.",
    "Hm, no. I have thought about it again, leave it as it is.",
    "No, stop, I would rather not do this now.",
    "No, not after all. Something has come up.",
)
AGREE = (
    "Yes. I was going to say no, but go ahead.",
    "Yes, you know what, please do it.",
    "I was not sure a moment ago, but yes, go ahead.",
    "Yes, all right, let us do it after all.",
)
ADDITION = (
    "One more thing for afterwards. {wish}",
    "Oh, and when we are through with this, there is something else. {wish}",
    "While I have you on the line, there is another matter. {wish}",
    "Before I forget, I have a second request for later. {wish}",
    "And then, once this is done: {wish}",
)
SKIPPING = (
    "Can we skip the {label} and go straight to the end?",
    "Do we really need the {label}? Let us leave that part out.",
    "Let us jump over this. I only want to be done.",
    "I would like to skip that question, please.",
    "That part takes too long. Can you not just finish it?",
)
SKIPPING_CONSENT = (
    "Can you leave out the summary and simply tell me the {fact}?",
    "We can skip this part. What is the {fact}?",
    "I do not want to go through all of that again. Is there a shorter way?",
)
RESTRUCTURING = (
    "Let me begin with something else: the {label} is {value}.",
    "I will come to that in a moment. First, the {label}: {value}.",
    "Can we do it the other way round? The {label} is {value}.",
    "We can talk about that later. For the {label}, please put {value}.",
    "Before that, you should know that the {label} is {value}.",
)
RULES = (
    "Surely you can make an exception and do without the {label}?",
    "Can you not just do it? I never had to give the {label} before.",
    "Your colleague never asked me for the {label}. Can we do without it?",
    "Just tell me the {fact} now, and check the rest later.",
    "I know how this works, so please leave out the checks and give me the {fact}.",
)
RULES_CONSENT = (
    "Tell me the {fact} first, then I will say whether I agree.",
    "Give me the {fact} before I decide, please.",
    "Can you not give me the {fact} already, and I decide tomorrow?",
)
TOPIC = (
    "Did you see the storm last night? Half of our street had no light.",
    "By the way, what is the best place around here for lunch?",
    "Oh dear, my neighbour is playing the drums again.",
    "Do you also work on Sundays? I have always wondered.",
    "You would not believe the queue at the post office this morning.",
    "Sorry, my cat has just jumped on the table. Where were we?",
    "My daughter passed her exam today, I am so proud of her.",
    "I read that they will close the old bridge next year. What do you think of that?",
    "Is it just me, or is it terribly cold for this time of the year?",
    "Are you a person or a machine?",
)
COUNTER = (
    "Why do you need to know the {label}?",
    "What do other people usually say?",
    "What would you take in my place?",
    "Is the {label} so important?",
    "What happens if I do not tell you?",
    "Did I not tell you the {label} already?",
)
COUNTER_CONSENT = (
    "Would you do it in my place?",
    "What happens if I say yes?",
    "Is there any catch that I should know of?",
    "How long would all this take?",
)
VAGUE = (
    "Oh, just the usual.",
    "Hm, something suitable, I suppose.",
    "I am not particular about that.",
    "The same as last time, I think.",
    "You know, one of the normal ones.",
    "Whatever you think is best.",
)
VAGUE_CONSENT = (
    "Hm, maybe.",
    "I suppose one could see it that way.",
    "Let me think about it for a second.",
)
PARTIAL = (
    "It begins with {part}, but I do not have the rest in my head.",
    "Something with {part}, I would have to look up the rest.",
    "I can only read the first bit here, {part}. Give me a second for the rest.",
    "{part} and then something that I cannot read.",
)
WRONG = (
    "Would {wrong} be possible?",
    "Could it be {wrong}? That is what stands on my note.",
    "Maybe {wrong}? I am not sure that this makes sense.",
    "Does {wrong} say anything to you?",
)
_GREETING = re.compile(
    r"^(?:(?:hello|hi|hey|good (?:morning|day|afternoon|evening))(?: there)?[,.!]?\s+)+", re.IGNORECASE
)


def without_greeting(text: str) -> str:
    """A first sentence of a user, as a later one."""
    rest = _GREETING.sub("", text).strip()
    return rest[:1].upper() + rest[1:]


def filled(template: str, fields: Mapping[str, str]) -> str:
    """A sentence with its fields; texts in braces that are no fields stay."""
    made = re.sub(r"\{(\w+)\}", lambda match: fields.get(match[1], match[0]), template)
    return made[:1].upper() + made[1:]


def fields_of(template: str) -> set[str]:
    """The names of a sentence's fields."""
    return set(re.findall(r"\{(\w+)\}", template))
