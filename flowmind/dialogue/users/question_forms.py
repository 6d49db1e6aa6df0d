"""The forms in which an agent asks a person: for a value, for consent, for patience, for anything else."""

from __future__ import annotations

import re

_LOOK_UP = "(?:check|look|search|find|see|verify|show|list|explain|tell|try|help|assist|ask|know|get|have|call)"
_OFFERED = "(?:check|look|search|find|see|verify|show|list|explain|try)"
_GO_AHEAD = (
    "(?:go ahead|proceed|continue|move forward|book|reserve|confirm|order|buy|purchase|place|submit|send|cancel"
    "|finali[sz]e|complete|schedule|process|make|register|file|pay|issue|carry|do (?:so|that|it|this))"
)
_FINE = "(?:right|correct|correctly|ok|okay|fine|good|accurate|alright|all right|in order|acceptable|suitable)"
_GIVE = (
    "(?:provide|share|tell|give|let|specify|enter|confirm|send|state|supply|choose|select|pick|indicate|mention"
    "|include|type|add|name|verify|advise|list|describe|clarify|note|fill)"
)
_LEAD_IN = (
    "(?:(?:ok|okay|sure|great|thanks|thank you|perfect|certainly|of course|and|so|now|also|then|first|next|finally"
    "|lastly|alright)[,!.:]?\\s+)*"
)


def _any(*forms: str) -> re.Pattern[str]:
    return re.compile("|".join(forms), re.IGNORECASE)


_INVERTED = _any(
    rf"^{_LEAD_IN}(?:what|which|who|whom|whose)\b",
    rf"^{_LEAD_IN}how (?:many|much|long|old|big|should|would)\b",
    rf"^{_LEAD_IN}(?:at|on|for|to|in|from|under) (?:what|which|whom)\b",
    rf"^{_LEAD_IN}(?:may|might|can|could|shall|should) (?:i|we|you)\b",
    rf"^{_LEAD_IN}(?:would|will|do|did|have|are) you\b",
    rf"^{_LEAD_IN}is (?:it|that|this|there)\b",
)
_REQUEST = _any(
    rf"\b(?:please|kindly|just)\s+(?:(?:also|then|now)\s+)?{_GIVE}\b",
    r"^\s*(?:provide|tell|specify|enter|choose|select|pick|share|give|send)\b",
    r"\b(?:let|tell|give|send|advise|remind) (?:me|us)\b",
    r"\b(?:share|provide)\b.{0,40}\bwith (?:me|us)\b",
    r"\b(?:i|we)(?:'ll|'d| will| would| do| still| also| just| first| only| then| now)*"
    r" (?:need|require|ask for|have to know|must know|like to (?:know|have|ask)|want to know)\b",
    r"\b(?:i|we)(?:'m|'re| am| are)(?: still| only| just)? (?:missing|lacking|waiting for|looking for)\b",
    r"\b(?:need|require)s? (?:your|the|a few|some|to know|from you|more)\b",
    r"\b(?:still|yet) (?:needed|missing|required|to come|open)\b",
    r"\b(?:is|are) (?:still |also )?(?:needed|required|missing)\b",
    r"\b(?:what's|what is) (?:left|missing)\b",
    r"\b(?:missing|required|needed|following) (?:information|info|details?|data|items?|fields?|points?)\b",
    r"\byour .{0,40},? please\b",
    r"\b(?:could|can|would|will|if) you (?:\w+ ){0,2}" + _GIVE + r"\b",
    r"\bmay i (?:have|ask|know|get)\b",
    r"\bmind (?:telling|sharing|giving)\b",
    r"\b(?:i|we) (?:wonder|was wondering|am wondering)\b",
    r"\b(?:once|as soon as|after|when|until) (?:i|we)(?:'ve)? (?:have|know|get|receive) (?:your|the|this|these)\b",
    r"\b(?:once|as soon as) you(?:'ve| have)? (?:tell|told|share|shared|give|given|provide|provided|send|sent)\b",
)
_CONSENT = _any(
    rf"\b(?:shall|should) (?:i|we)\b(?! (?:\w+ )?{_LOOK_UP}\b)",
    rf"\b(?:can|may|could) (?:i|we) (?:(?:now|then|please|just) )?{_GO_AHEAD}\b",
    rf"\b(?:would you like|do you want|did you want|want|would you prefer) (?:me|us) to (?!(?:\w+ )?{_LOOK_UP}\b)",
    r"\b(?:would you like|do you want|do you wish|are you ready|ready|happy|okay|ok|fine|comfortable|good)"
    rf"(?: for (?:me|us))? to (?:now )?{_GO_AHEAD}\b",
    rf"\b(?:is|are|was|were|do|does|did)\b[^.?!]{{0,90}}\b{_FINE}\b[^.?!\w]*"
    r"(?:(?:for|to|with) you|so far|like (?:this|that)|as (?:is|listed|shown|stated)|or\b[^.?!]*)?[^.?!\w]*\?",
    rf"\b(?:sounds?|looks?) (?:all )?{_FINE}\b[^.!?]*\?",
    rf"(?:^|[,.;:–—-]\s*)(?:all )?(?:{_FINE}|agreed|yes or no|deal|yes)\s*\?",
    r"\b(?:does|do|will|would) (?:that|this|it|these|those|everything|all of this)(?: all)? (?:work|suit|fit|match)\b",
    r"\b(?:do|can|could|would|will|please|kindly|to|if|once|just|until)(?: you)?(?: please| kindly| just)? "
    r"(?:confirm|agree|approve|consent|authori[sz]e)\b",
    r"^\s*(?:confirm|confirming|to confirm|to be clear|just to be sure)\b",
    r"\b(?:verify|check|review|confirm) (?:the following|that|these|this|those|if|whether|everything|all|below)\b",
    r"\b(?:how|what) about\b",
    r"\bwhat do you (?:think|say)\b",
    r"\b(?:reply|say|answer|respond|type)\b[^.?!]{0,30}\b(?:yes|confirm|ok|okay|go ahead)\b",
    r"\b(?:yes|y) ?/ ?(?:no|n)\b",
    r"\byour (?:explicit |final )?(?:permission|consent|approval|confirmation|go-ahead|okay|ok|agreement)\b",
    r"\b(?:give me|say|just) the (?:go-ahead|word|green light)\b",
    r"\blet me know (?:if|whether|that)\b[^.?!]{0,60}"
    rf"\b(?:{_FINE}|go ahead|proceed|works?|agree|happy)\b",
    r"\bif (?:that|this|it|everything|all)(?:'s| is| looks| sounds| works)\b[^.?!]{0,40}"
    r"\b(?:i'll|(?:i|we) (?:will|can))\b",
    r"\bis it (?:ok|okay|alright|all right|fine) (?:if|to|for)\b",
    r"\bmind if i\b(?! ask)",
    r"\b(?:go ahead|proceed|move forward|finali[sz]e|(?:book|submit|place|order) (?:it|this|that))\b[^.?!]*\?",
    r"\bif you (?:like|wish|want|agree|are happy)\b[^.?!]{0,20}\b(?:i'll|i will|i can|we'll|we can)\b",
)
_WH_CLAUSE = re.compile(r"\b(?:what|which|when|where|who|whom|whose|how)\b[^,.;:?!]*$", re.IGNORECASE)
_OFFER = _any(
    rf"\b(?:shall|should|may|can|could) (?:i|we) (?:\w+ )?{_OFFERED}\b",
    rf"\b(?:would you like|do you want|want) (?:me|us) to (?:\w+ )?{_OFFERED}\b",
)
_MORE = _any(
    r"\b(?:any(?:thing)?|something|what) (?:else|more)\b",
    r"\bother (?:questions?|requests?|way|matter|things?)\b",
    r"\b(?:further|additional) (?:assistance|help|questions?|support|requests?)\b",
    r"\belse (?:i|we) can\b",
)
_AIM = _any(
    r"\bhow (?:can|may|could) (?:i|we) (?:help|assist|be of)\b",
    r"\bwhat (?:can|may|could) (?:i|we) (?:do|help|assist)\b",
    r"\b(?:can|may|could) (?:i|we) (?:help|assist)\b",
    r"\bwhat (?:would you like|do you want|do you need|are you looking)(?: me)?(?: help)?(?: to do| done| for| with)?"
    r"(?: today| now)?\s*(?:\?|:|$)",
    r"\bwhat (?:brings you|is it about|is this about|are you calling about|is your (?:request|question|concern))\b",
    r"\bwhat (?:kind|type|sort) of (?:help|assistance|request|service)\b",
    r"\bwhich of (?:these|the following|our) (?:services|procedures|requests|things)\b",
    r"\bwhich (?:service|procedure|request)\b",
)
_PATIENCE = _any(
    r"\b(?:one|just a|a) (?:moment|second|minute|sec)\b",
    r"\blet me (?:(?:just|quickly|now|first) )?(?:check|look|see|find|search|verify|pull|get|process|book|do)\b",
    r"\b(?:wait|hold on|hang on|bear with me)\b",
    r"\bi(?:'ll| will)(?: now| just)? (?:check|look|search|verify|get back|pull|process)\b",
    r"\bi(?:'m| am)(?: now| just)? (?:checking|looking|searching|verifying|processing)\b",
)


def asks(sentence: str) -> bool:
    """Whether a sentence asks the user for something."""
    sentence = sentence.strip(" \t\"'")
    return sentence.endswith("?") or any(form.search(sentence) for form in (_INVERTED, _REQUEST, _CONSENT))


def asks_consent(sentence: str) -> bool:
    """Whether a sentence asks to go ahead, or whether something is right.

    `At what time should I book it?` asks for a value.
    """
    return any(not _WH_CLAUSE.search(sentence[: form.start()]) for form in _CONSENT.finditer(sentence))


def offers_to_look_up(sentence: str) -> bool:
    """Whether a sentence offers to look something up, which needs no consent."""
    return _OFFER.search(sentence) is not None


def asks_for_more(sentence: str) -> bool:
    """Whether a sentence asks if there is anything else."""
    return _MORE.search(sentence) is not None


def asks_for_aim(sentence: str) -> bool:
    """Whether a sentence asks what the user wants at all."""
    return _AIM.search(sentence) is not None


def asks_patience(text: str) -> bool:
    """Whether a text asks the user to wait."""
    return _PATIENCE.search(text) is not None
