"""Phrases of English: what surrounds a value in a sentence, and sentences that give none.

A list has a pattern a line.
"""

from __future__ import annotations

import re


def _any(lines: str) -> str:
    """One pattern for the patterns of a list."""
    return f"(?:{'|'.join(line.strip() for line in lines.strip().splitlines())})"


def _words(lines: str) -> re.Pattern[str]:
    """Finds a pattern of a list that begins at the beginning of a word."""
    return re.compile(rf"(?<!\w){_any(lines)}", re.IGNORECASE)


_INTERJECTION = _any(r"""
    o+h?|um+|uh+|er+m?|hm+|ah|jeez|gosh|hi|hello|hey
    no problem|as i (?:said|told you|mentioned)|like i said
    well|ok|okay|sure|yes|yeah|yep|yup|no|nope|right|alright|all right|of course|certainly|absolutely
    great|good|perfect|fine|thanks|thank you|please|sorry|apologies|my mistake|my bad
    so|actually|and|but|then|now|still|indeed|again|also|maybe|perhaps|probably|just|only|if possible
    let me see|let's see|you know(?: what)?|in that case|on second thoughts?
    i (?:think|guess|believe|suppose)
""")
_INTERJECTIONS = re.compile(rf"(?:{_INTERJECTION}\b[\s,.;:!…-]*)+", re.IGNORECASE)
_VERB = _any(r"""
    (?:go|come|fly|travel|send(?: it)?|change(?: it)?|speak|listen)(?: to| on)?
    (?:stay|eat|arrive)(?: at| on)?
    (?:sign up|enrol|look|apply)(?: for| in)?
    (?:know|ask|talk) about
    meet(?: with)?|make(?: it)?|leave(?: on)?
    see|book|have|visit|use|take|reserve|choose|pick|get|order|buy|be|request|report|rent|hire|put|add|arrange|prepare
    say|bring|join|study
""")
_BE = r"(?:'s|'d be|'ll be| is| was| are| were| would be| should be| will be| might be)"
_FRAMES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:how|what) about\s+",
        rf"(?:it|that|this|these|they|there|here){_BE}\s+(?:(?:called|named|about|under|for|in|at|on|me,)\s+)?",
        r"(?:someone|somebody|something)\s+(?:in|for|from|called|named)\s+",
        r"its\s+(?=\S)",
        rf"(?:my|the|our|his|her|your)\s+(?:[\w'-]+\s+){{0,5}}?[\w'-]+{_BE}\s+(?:(?:called|named)\s+)?",
        r"(?:i|we)(?: am|'m| are|'re)\s+(?:(?:called|looking for|interested in|thinking of|going to|at|in|on)\s+)?",
        r"(?:i|we)(?:'d like| would like| want| need| have| wish) to \w+ (?=(?:a|an|the|my|our)\b)",
        rf"(?:i|we)(?:'d| would|'ll| will)?\s*(?:like|want|need|prefer|love|wish|hope)(?:\s+to\s+{_VERB})?\s+",
        rf"(?:i|we)(?:'d| would|'ll| will| can| could)\s+(?:rather\s+)?{_VERB}(?:\s+(?:for|with))?\s+",
        r"(?:i|we) (?:have|had|chose|choose|use|take|took|mean|meant|say|said|bought|booked|ordered|got)\s+",
        rf"(?:can|could|may|might) (?:i|we|you) (?:please )?{_VERB}\s+",
        r"(?:make|change|set|switch|move|correct|update)\s+(?:it|that|this)\s+(?:to\s+|for\s+|be\s+)?",
        r"(?:make|change|set|switch|move|correct|update)\s+(?:the|my|our)\s+(?:[\w'-]+\s+){1,5}?(?:to|into)\s+",
        r"(?:let's|let us)\s+(?:say|make it|take|go with|go for|do|have|try|use)\s+",
        r"(?:take|use|try|call|put(?: me)?(?: down)?(?: for)?|give me|go (?:with|for)|send it to|book|note)\s+",
        r"(?:for|at|on|in|to|from|with|about|under|by|via|because of|due to|called|named)\s+",
        r"(?:something like|around|roughly|approximately|somewhere near|near)\s+",
    )
)
_TRAILING = _any(r"""
    please|thanks|thank you(?: very much)?|instead|then|again|actually|this time|one
    if (?:that is |that's )?(?:possible|ok|okay|all right|available)
    (?:would|will) (?:be (?:fine|great|good|nice|perfect|best|ideal|okay)|suit me|do|work)(?: best| fine| well)?
    (?:is|are) (?:good|fine|ok|okay|great|perfect|best|what i (?:want|need))
    (?:works|suits (?:me|us))(?: best| well| fine)?|sounds good
    (?:for|with) (?:me|us)|i (?:think|guess|believe)
    (?:as|like) i (?:said|told you|mentioned)
    is hosting|is the host|(?:is|was) (?:it|the name|my name)
""")
_TRAIL = re.compile(rf"(?:[\s,]+{_TRAILING})+$", re.IGNORECASE)


def bare(sentence: str, article: bool = False) -> str:
    """A sentence without the words around its value: `I would like to go to Rome, please.` gives `Rome`.

    Args:
        sentence: The sentence.
        article: Whether an article before the value is kept.
    """
    text, before = plain(sentence).rstrip(".!?;, "), ""
    while text != before:
        before = text
        for pattern in (_INTERJECTIONS, *_FRAMES):
            match = pattern.match(text)
            if match is not None and match.end() < len(text):
                text = text[match.end() :]
    text = "" if _INTERJECTIONS.fullmatch(text) else _TRAIL.sub("", text) or text
    return (text if article else re.sub(r"^(?:the|a|an)\s+(?=[a-z])", "", text)).strip(' .,!?"“”')


def plain(text: str) -> str:
    """A text with straight apostrophes."""
    return text.replace("’", "'").strip()


_NONE = _words(r"""
    (?:i|we) (?:really |just )?(?:do not|don't|can't|cannot|couldn't) (?:know|have|remember|recall|mind|care|need)\b
    (?:i|we) (?:can't|cannot) (?:say|tell)\b
    (?:i|we) have (?:no|none)\b
    (?:i|we) (?:have not|haven't) got
    i (?:can't|cannot)$
    no (?:idea|clue|preferences?|particular|specific)\b
    (?:i )?forgot\b
    (?:it )?(?:doesn't|does not) matter
    don't mind
    (?:any|either|whichever|whatever)(?: one)?(?: is| would be)? (?:fine|ok|okay|good|works|will do)
    nothing (?:special|particular|else)|none\b|not any\b|not applicable|n/a\b
    (?:no|nope|nothing|any|skip|skip it)\W*(?:thanks|thank you|not really)?\W*$
""")  # fmt: skip


def has_none(sentence: str) -> bool:
    """Whether a sentence says that the user has no value."""
    text = plain(sentence).strip(" .!")
    match = _NONE.search(text)
    return match is not None and (match.end() < len(text) or match.start() == 0 or len(match.group()) > 4)


_DIGRESSION = re.compile(
    r"\W*"
    + _any(r"""
    by the way|btw|before (?:that|we|i)|first|speaking of|incidentally|out of curiosity|that reminds|good question
    hold on|hang on|wait|one (?:moment|second|sec)|just a|let me (?:think|check|look|see|find)
    did you|have you|do you|are you|(?:can|could) you tell|i was wondering|i wonder|you must
    what a |nice |lovely |funny|haha|lol\b|sorry, (?:my|the)\b
    (?:(?:i am|i'm|we are) )?(?:not (?:really |quite |so |entirely )?(?:sure|certain)|unsure)
    hard to say|(?:it|that) depends
    something |some ?time|whenever|maybe |perhaps |surprise me|up to you|you (?:choose|decide|pick)
    (?:oh, |just )*(?:the )?(?:usual|same as)\b
    (?:why|what|how|when|who|where|which)\b
    """),
    re.IGNORECASE,
)


def is_digression(sentence: str) -> bool:
    """Whether a sentence does not answer a question: a counterquestion, another topic, or something vague."""
    text = plain(sentence)
    return not re.match(r"\W*(?:how|what) about\b", text, re.IGNORECASE) and _DIGRESSION.match(text) is not None


def is_partial(sentence: str) -> bool:
    """Whether a sentence gives only a part of a value."""
    parts = r"\b(?:(?:begins?|starts?) with|first (?:bit|part|few|digits?|letters?)|(?:cannot|can't) read)\b"
    return re.search(parts, plain(sentence), re.IGNORECASE) is not None


def is_question(sentence: str) -> bool:
    """Whether a sentence asks something; `How about …?` and `Could I …?` propose a value."""
    text = plain(sentence)
    if re.match(r"\W*(?:(?:how|what) about\b|(?:could|can|may|might) (?:i|we|you)\b)", text, re.IGNORECASE):
        return False
    return text.endswith("?") and len(text.split()) > 2


_NEGATION = re.compile(
    _any(r"""
    \b(?:not|never|no|no longer|without|except)
    n't(?: want| be)?
    \b(?:instead|rather|other)(?: of| than)
    \b(?:change|switch)(?: it| that)? from
    """)
    + r"\s+(?:(?:the|a|an|on|at|in|for|to|it|is|be|was|with|any|my|of)\s+)*[\"'“]?$",
    re.IGNORECASE,
)


def negated(sentence: str, at: int) -> bool:
    """Whether the value that begins at a place of a sentence is taken back there: `not X`, `instead of X`."""
    return _NEGATION.search(sentence[:at].replace("’", "'")) is not None


_AGREES = _words(r"""
    (?:yes+|yeah|yep|yup|sure|ok|okay|of course|absolutely|certainly|definitely|indeed|correct|right|exactly)\b
    (?:perfect|agreed?|confirm(?:ed)?|fine|proceed|please do|go ahead|go for it|by all means|why not)\b
    (?:do|book|send|submit|order|reserve|cancel|place|make|file|register) (?:it|this|that|so|them)\b
    (?:sounds?|looks?) (?:good|great|fine|right)\b
    (?:works for me|that works|let's do)\b
    be (?:nice|great|lovely|good|fine|wonderful|perfect)\b
    i (?:would|do|am|have|did)\b(?! not)
""")
_REFUSES = _words(r"""
    (?:no|nope|nah|not|never ?mind|stop|rather not|leave it|forget|hold off|drop it|cancel that|without|against)\b
    (?:don't|do not|won't|doesn't|isn't|haven't)\b
    (?:wrong|incorrect|changed? my mind)\b
""")
_NO_REFUSAL = _words(r"(?:no problem|why not|no objections?|no doubt|don't worry|not at all|can't wait)\b")
_AT_ONCE = re.compile(r"\W*(?:yes|yeah|yep|sure|ok|okay|absolutely|of course|correct|right)\b", re.IGNORECASE)
_QUESTION = re.compile(r"[^.!?]*\?")
_FORBIDS = _words(r"(?:don't|do not|not) (?:do|book|send|go|want|make|place|submit|proceed|confirm)\b")


def yes_or_no(text: str) -> bool | None:
    """Whether a text agrees or refuses; None if it does neither."""
    text = _NO_REFUSAL.sub("yes", plain(text))
    if _AT_ONCE.match(text) is None:
        text = _QUESTION.sub("", text)
    agrees, refuses = _AGREES.search(text) is not None, _REFUSES.search(text) is not None
    if agrees and refuses and _AT_ONCE.match(text):
        return _FORBIDS.search(text) is None
    return False if refuses else True if agrees else None


def insists(text: str) -> bool:
    """Whether the user wants what was not done."""
    return re.search(r"\b(?:go ahead|do it|please do|i agree|i do want)\b", plain(text), re.IGNORECASE) is not None


_CORRECTS = re.compile(
    r"^\W*no\b|\b(?:actually|make (?:it|that)|change|switch|move|meant|correct(?:ion)?|wrong|wait|sorry)\b",
    re.IGNORECASE,
)
_PREFERS = re.compile(r"\b(?:instead|rather)\b", re.IGNORECASE)
_REPAIR = re.compile(
    r"[,.…!/\s]+(?:i mean|no,? wait|o+h? wait|or rather|scratch that|correction|no,? sorry|sorry,? no)\b[,:.…/\s]*",
    re.IGNORECASE,
)


def corrects(sentence: str, strictly: bool = False) -> bool:
    """Whether a sentence may replace something that was said before.

    Args:
        sentence: The sentence.
        strictly: Whether `instead` and `rather` alone do not count.
    """
    return _CORRECTS.search(sentence) is not None or (not strictly and _PREFERS.search(sentence) is not None)


def repaired(sentence: str) -> list[str]:
    """A sentence in pieces where the speaker corrects himself; a later piece counts more."""
    return [piece for piece in _REPAIR.split(sentence) if piece.strip(" .,!?")]


_GIVES_UP = _words(r"""
    never ?mind\b|sorry to (?:bother|have bothered)\b|(?:has|have) (?:been )?(?:solved|sorted|settled|resolved)\b
    forget (?:about )?(?:it|that|this|the|my|all|everything)\b
    no longer (?:need|want|interested)\b|(?:do not|don't) bother\b
    (?:no|not) [\w ]{1,30}\bafter all\b|leave [\w ]{1,30} as (?:it|they)\b
    (?:don't|do not|doesn't|does not) (?:need|want|have to|matter)\b.*\b(?:any ?more|after all|now)\b
    cancel (?:that|this|it|everything|the (?:whole|request))\b
    (?:leave|drop|skip) (?:it|that|this|the \w+)(?: (?:for now|then|altogether))?[.!]?$
    let's (?:leave|drop|stop|forget)\b
    changed my mind\b.*\b(?:don't|do not|leave|forget|stop)\b
""")
_CLOSES = _words(r"""
    (?:good ?bye|bye|see you)\b
    that(?:'s| is| was| will be| would be) (?:all|everything|it)\b
    nothing else\b|have a (?:nice|good|great)\b|all i (?:need|want)ed\b
    (?:no|nope|no,? thanks?|no,? thank you|thanks?|thank you)\b[^?]{0,40}$
""")
_COMPLAINS = _words(r"(?:wrong|incorrect|not (?:quite |entirely )?(?:right|correct)|mistake|mixed up)\b")
_BREAKS = _words(r"""
    (?:skip|ignore|bypass|override|make an exception|straight away|right away|don't bother)\b
    without (?:check|ask|verif|look|confirm)\w*
    just (?:do|book|send|confirm|register|go|give|tell|make)\b
    no need to (?:check|ask|look|verify)\b|(?:shorter|quicker|faster) way\b
""")
_STARTS = _words(r"""
    (?:i|we)(?:'d| would| also| still)* (?:like|need|want|have to|wish)\b
    (?:can|could|would) (?:you|i|we)\b|please help\b|something else\b
    (?:another|one more|second|further|as well|too|also|next|new)\b
    (?:i'm|i am) (?:looking|calling|here|writing)\b
""")
_FIRST = _words(r"(?:instead|rather|first|before (?:that|we))\b")
_MOVES_ON = _words(r"(?:(?:something|anything) else|one more thing|(?:an)?other (?:thing|question|matter))\b")
_LATER = _words(
    r"(?:when we are|once (?:this|that|we)|after(?:wards|\s+(?:this|that))|later|as well|too|also|besides)\b"
)


def gives_up(text: str) -> bool:
    """Whether the user drops what is being worked on."""
    return _GIVES_UP.search(plain(text)) is not None


def closes(text: str) -> bool:
    """Whether the user wants nothing more."""
    return _CLOSES.search(plain(text)) is not None


def says_goodbye(text: str) -> bool:
    """Whether a short text ends the conversation."""
    return len(text.split()) <= 6 and re.search(r"\b(?:good ?bye|bye|see you)\b", text, re.IGNORECASE) is not None


def complains(text: str) -> bool:
    """Whether the user says that something is wrong."""
    return _COMPLAINS.search(plain(text)) is not None


def breaks_rules(text: str) -> bool:
    """Whether the user asks to leave out a step."""
    return _BREAKS.search(plain(text)) is not None


def starts_goal(text: str) -> bool:
    """Whether the user may want something new."""
    return _STARTS.search(plain(text)) is not None


def comes_first(text: str) -> bool:
    """Whether the user wants something else before, or in the place of, what is being worked on."""
    return _FIRST.search(plain(text)) is not None


def moves_on(text: str) -> bool:
    """Whether the user turns to something else, now."""
    return _MOVES_ON.search(plain(text)) is not None and _LATER.search(plain(text)) is None


def is_done(text: str) -> bool:
    """Whether a text begins as after something that is finished."""
    return (
        re.match(r"\W*(?:all right|alright|ok|okay|fine|great|good|perfect|thanks|thank)\b", text, re.IGNORECASE)
        is not None
    )
