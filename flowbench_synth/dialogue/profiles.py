"""The users of the dialogue benchmark: personas, how much they say at a time, and further details."""

from __future__ import annotations

from random import Random
from typing import get_args

from flowmind.trace.scenario import Profile

PERSONAS = (
    "A night nurse who calls before she goes to bed and wants to be done quickly.",
    "A retired bus driver with plenty of time, who is polite to everybody.",
    "A student in her first flat, who does such a thing for the first time.",
    "A father of twins who is interrupted again and again.",
    "A carpenter who calls from a noisy building site.",
    "An accountant who likes every figure to be exact.",
    "A violin teacher who writes things down while she listens.",
    "A cook on a short break between two shifts.",
    "A lorry driver at a rest stop, with a weak connection.",
    "A grandmother whose grandson showed her how to use the chat.",
    "A young engineer who expects everything to work at once.",
    "A librarian who speaks softly and reads every word.",
    "A farmer who calls from the field and has his papers at home.",
    "A shop owner who has a customer waiting.",
    "A translator who minds how sentences are put.",
    "A gardener who does not trust computers much.",
    "A pilot on leave, used to short and clear messages.",
    "A pensioner who was a judge and asks for reasons.",
    "A mother of three who does this while she cooks.",
    "A photographer who travels a lot and mixes up days.",
    "A caretaker of a large building who knows every form by heart.",
    "A cyclist who had a small accident last month and is careful now.",
    "A journalist close to a deadline.",
    "A widower who used to leave such things to his wife.",
    "A football coach with a loud and friendly manner.",
    "A chemist who answers exactly what she is asked.",
    "A tailor who thinks aloud.",
    "A newcomer to the town who does not know its streets yet.",
    "A school secretary who handles twenty such matters a day.",
    "A painter who forgets where she has put her notes.",
    "A fisherman who gets up at three and calls early.",
    "A bank clerk on her day off.",
    "A dog sitter who is out for a walk with four dogs.",
    "A project manager between two meetings.",
    "A baker who is tired at this time of the day.",
    "A physiotherapist who is patient with everyone.",
    "A theatre prompter who notices every slip.",
    "An apprentice who acts for his boss and must not make a mistake.",
    "A beekeeper who tells stories on the side.",
    "A marathon runner who hates to wait.",
    "A midwife who may be called away at any moment.",
    "A collector of stamps who loves order.",
    "A taxi driver who types at red lights.",
    "A geologist back from three months abroad.",
    "A hairdresser with wet hands and a phone on loudspeaker.",
    "A piano tuner who hears poorly on the phone.",
    "A childminder whose group is asleep right now.",
    "A locksmith who wants to know the price of everything first.",
)
DETAILS = (
    "Has all papers at hand.",
    "Looks things up only when asked for them.",
    "Has used the service once before.",
    "Has never used the service.",
    "Was sent here by a neighbour.",
    "Is in a good mood today.",
    "Is a little annoyed because the line was busy.",
    "Wants a number or a name to write down at the end.",
    "Repeats important things to be sure.",
    "Thanks the other side often.",
    "Does not like small talk.",
    "Likes to know what happens next.",
)


def profile(random: Random) -> Profile:
    """A user, drawn."""
    styles = get_args(Profile.model_fields["style"].annotation)
    return Profile(persona=random.choice(PERSONAS), style=random.choice(styles), details=random.choice(DETAILS))
