"""Draws what users do outside the procedure (FlowAgent, section 5.2): triggers, changes of goals, texts.

A change of a goal comes before its write: it waits for a question for a slot or for consent, or for the user's second
text. It is drawn so that the goal then takes other calls or has another outcome. A goal is given up only if another one
stays, because a session without a goal would be solved by doing nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from flowbench_synth.dialogue import phrases
from flowbench_synth.dialogue.blueprint import ScenarioBlueprint
from flowbench_synth.dialogue.golds import NoGold, Path, Run, as_before, drawn_goal, run_goals
from flowbench_synth.dialogue.world import World
from flowmind.dialogue.users.goals import concerned, goals_after
from flowmind.trace.scenario import CONFIRMED, OOW_TYPES, Change, Goal, Intervention, Session, Trigger

TYPE_OF = {subtype: kind for kind, subtypes in OOW_TYPES.items() for subtype in subtypes}
"""The type of each subtype."""
_TRIES = 8
"""The candidates of a subtype that are tried."""
_TWICE = 0.5
"""The share of sessions for which a second intervention is tried."""
_CONSENT, _TOLD = 100.0, 200.0
"""The positions of consent and of the result, behind all questions."""


class Candidate(NamedTuple):
    """An intervention that may be drawn."""

    trigger: Trigger
    position: float
    """Where in the procedure it takes place, to put two of them in order."""
    text: str
    change: Change | None = None


class Scene(NamedTuple):
    """The goal that an intervention is about, and what is known about it."""

    scenario: ScenarioBlueprint
    slots: Mapping[str, Any]
    path: Path
    facts: Sequence[str]
    """The labels of the facts that the user is told at the end."""
    state: dict[str, Any]
    """The state before the goal."""
    last_state: dict[str, Any]
    """The state after all goals."""
    first: bool
    """Whether it is the first goal that the user works on."""
    goals: Sequence[Goal]
    """All goals of the user."""
    scenarios: Mapping[str, ScenarioBlueprint]
    """The scenarios of the role."""
    random: Random

    def label(self, slot: str) -> str:
        """The label of a slot."""
        return self.scenario.slots[slot].label


Drawer = Callable[[Scene], Candidate | None]


class Draft(NamedTuple):
    """A session with the interventions drawn so far."""

    session: Session
    run: Run
    extra: int
    """The turns that the interventions cost."""
    position: float


class Drawing(NamedTuple):
    """What interventions of a role are drawn from."""

    scenarios: Mapping[str, ScenarioBlueprint]
    database: Mapping[str, Any]
    world: World
    drawn: Counter[str]
    """How often each subtype was drawn for the role."""

    def run(self, session: Session, fired: int) -> Run:
        """The run of the goals after a number of interventions.

        Raises:
            NoGold: If a goal has no gold.
        """
        workflows = {name: scenario.workflow for name, scenario in self.scenarios.items()}
        return run_goals(goals_after(session, fired), workflows, self.database, self.world)


def with_interventions(session: Session, run: Run, drawing: Drawing, random: Random) -> Session:
    """A session with one or two interventions.

    Raises:
        NoGold: If none fits into the turns of the session.
    """
    draft = Draft(session, run, 0, 0.0)
    for number in range(2 if random.random() < _TWICE else 1):
        order = sorted(TYPE_OF, key=lambda subtype: (drawing.drawn[subtype], random.random()))
        used = {item.subtype for item in draft.session.interventions}
        longer = next(
            (made for name in order if name not in used and (made := _drawn(name, draft, drawing, random))), None
        )
        if longer is None:
            if number == 0:
                raise NoGold("no intervention fits into the session")
            break
        draft = longer
    return draft.session


def _drawn(subtype: str, draft: Draft, drawing: Drawing, random: Random) -> Draft | None:
    """The draft with an intervention of this subtype; None if none of some candidates fits."""
    number = len(draft.session.interventions)
    standing = [index for index, path in enumerate(draft.run.paths) if path]
    for _ in range(_TRIES):
        target = random.choice(standing)
        candidate = _DRAWERS[subtype](_scene(draft, target, standing[0], drawing, random))
        if candidate is None or candidate.position <= draft.position:
            continue
        intervention = Intervention(
            trigger=candidate.trigger,
            type=TYPE_OF[subtype],  # pyright: ignore[reportArgumentType]
            subtype=subtype,
            change=candidate.change,
            text=candidate.text,
        )
        interventions = (*draft.session.interventions, intervention)
        session = draft.session.model_copy(update={"interventions": interventions})
        if concerned(session, number) != target:
            continue
        longer = _fitting(draft, session, candidate, target, drawing)
        if longer is not None:
            return longer
    return None


def _fitting(draft: Draft, session: Session, candidate: Candidate, target: int, drawing: Drawing) -> Draft | None:
    """The draft with a session that is one intervention longer; None if it takes too many turns or changes nothing."""
    change = candidate.change
    extra = draft.extra + 1
    run = draft.run
    if change is not None:
        try:
            run = drawing.run(session, len(session.interventions))
        except NoGold:
            return None
        before, after = draft.run.gold.goals[target], run.gold.goals[target]
        path = draft.run.paths[target]
        assert path is not None
        if change.slots:
            if (before.calls, before.outcome) == (after.calls, after.outcome):
                return None
            extra += 1 + sum(call not in after.calls for call in before.calls)
        if change.cancel:
            extra += path.turns
    if not any(run.paths) or sum(path.turns for path in run.paths if path) + extra > session.max_turns:
        return None
    return Draft(session, run, extra, candidate.position)


def _scene(draft: Draft, target: int, first: int, drawing: Drawing, random: Random) -> Scene:
    goals = goals_after(draft.session, len(draft.session.interventions))
    goal, gold, path = goals[target].goal, draft.run.gold.goals[target], draft.run.paths[target]
    assert path is not None
    scenario = drawing.scenarios[goal.scenario]
    return Scene(
        scenario=scenario,
        slots=goal.slots,
        path=path,
        facts=[scenario.facts[name].label for name in gold.facts],
        state=draft.run.states[target],
        last_state=draft.run.states[-1],
        first=target == first,
        goals=[item.goal for item in goals],
        scenarios=drawing.scenarios,
        random=random,
    )


# Triggers


def _asked(scene: Scene, slot: str) -> tuple[Trigger, float]:
    return Trigger(on="asked", name=slot), 1.0 + scene.path.slots.index(slot)


def _consent() -> tuple[Trigger, float]:
    return Trigger(on="consent"), _CONSENT


def _before_the_end(scene: Scene) -> tuple[Trigger, float] | None:
    """A moment before any write of the goal."""
    ways = [_asked(scene, slot) for slot in scene.path.slots]
    ways += [_consent()] * 2 if scene.path.consent else []
    ways += [(Trigger(on="turn", turn=2), 0.5)] if scene.first else []
    return scene.random.choice(ways) if ways else None


# Intent switching


def _new_value(scene: Scene, changed: str) -> Any:
    """Another value of a slot, as another user could have it; None if none was drawn."""
    ends = list(scene.scenario.ends)
    for _ in range(4):
        try:
            goal = drawn_goal(scene.scenario, scene.random.choice(ends), scene.state, scene.random)
        except NoGold:
            continue
        value = goal.slots[changed]
        if value is not None and value != scene.slots[changed]:
            return value
    return None


def _change(scene: Scene, templates: Sequence[str]) -> Candidate | None:
    """Another value for a slot that was given, at a later question or when consent is asked."""
    later = [(slot, *_asked(scene, slot)) for slot in scene.path.slots[1:]]
    if scene.path.consent:
        later += [("", *_consent())] * 2
    if not later:
        return None
    slot, trigger, position = scene.random.choice(later)
    given = scene.path.slots[: scene.path.slots.index(slot)] if slot else scene.path.slots
    changed = scene.random.choice([name for name in given if not isinstance(scene.slots[name], bool)] or [""])
    value = _new_value(scene, changed) if changed else None
    if value is None:
        return None
    text = _text(scene, templates, label=scene.label(changed), value=str(value))
    return Candidate(trigger, position, text, Change(slots={changed: value}))


def _detail(scene: Scene) -> Candidate | None:
    return _change(scene, phrases.DETAIL)


def _confirmation(scene: Scene) -> Candidate | None:
    if not scene.path.consent:
        return None
    agrees = bool(scene.slots[CONFIRMED])
    text = _text(scene, phrases.REFUSE if agrees else phrases.AGREE)
    return Candidate(*_consent(), text, Change(slots={CONFIRMED: not agrees}))


def _cancellation(scene: Scene) -> Candidate | None:
    moment = _before_the_end(scene)
    if moment is None or not scene.first:
        return None
    return Candidate(*moment, scene.random.choice(scene.scenario.cancels), Change(cancel=True))


def _addition(scene: Scene) -> Candidate | None:
    taken = {goal.scenario for goal in scene.goals}
    others = [scenario for name, scenario in scene.scenarios.items() if name not in taken]
    if not others:
        return None
    scenario = scene.random.choice(others)
    try:
        goal = drawn_goal(scenario, scene.random.choice(list(scenario.ends)), scene.last_state, scene.random)
    except NoGold:
        return None
    moment = _before_the_end(scene)
    if moment is None or scene.random.random() < 0.25:
        moment = Trigger(on="told"), _TOLD
    wish = phrases.without_greeting(scene.random.choice(scenario.opens))
    return Candidate(
        *moment, _text(scene, phrases.ADDITION, wish=wish), Change(add=as_before(scene.scenarios, goal, scene.goals))
    )


# Procedure jumping


def _at_question(
    scene: Scene,
    templates: Sequence[str],
    at_consent: Sequence[str] = (),
    slots: Sequence[str] | None = None,
    **fields: str,
) -> Candidate | None:
    """A text in answer to a question for one of the slots (by default any), or for consent."""
    places = list(scene.path.slots if slots is None else slots)
    if at_consent and scene.path.consent and (not places or scene.random.random() < 0.3):
        return Candidate(*_consent(), _text(scene, at_consent, **fields))
    if not places:
        return None
    slot = scene.random.choice(places)
    return Candidate(*_asked(scene, slot), _text(scene, templates, **{"label": scene.label(slot), **fields}))


def _skipping(scene: Scene) -> Candidate | None:
    return _at_question(scene, phrases.SKIPPING, phrases.SKIPPING_CONSENT, fact=_fact(scene))


def _restructuring(scene: Scene) -> Candidate | None:
    """The value of a later slot instead of the one that was asked for."""
    if len(scene.path.slots) < 2:
        return None
    at = scene.random.randrange(len(scene.path.slots) - 1)
    other = scene.random.choice(scene.path.slots[at + 1 :])
    fields = {"label": scene.label(other), "value": str(scene.slots[other])}
    return _at_question(scene, phrases.RESTRUCTURING, slots=[scene.path.slots[at]], **fields)


def _returning(scene: Scene) -> Candidate | None:
    """Back to a slot that was given, with another value or the same."""
    if scene.random.random() < 0.5:
        return _change(scene, phrases.BACK_AND_CHANGE)
    if len(scene.path.slots) < 2:
        return None
    at = scene.random.randrange(1, len(scene.path.slots))
    earlier = scene.random.choice(scene.path.slots[:at])
    fields = {"label": scene.label(earlier), "value": str(scene.slots[earlier])}
    return _at_question(scene, phrases.BACK, slots=[scene.path.slots[at]], **fields)


def _rule_ignoring(scene: Scene) -> Candidate | None:
    return _at_question(scene, phrases.RULES, phrases.RULES_CONSENT, fact=_fact(scene))


# Irrelevant answering


def _topic_shift(scene: Scene) -> Candidate | None:
    if scene.first and scene.random.random() < 0.3:
        turn = scene.random.choice((2, 3))
        return Candidate(Trigger(on="turn", turn=turn), turn - 1.5, _text(scene, phrases.TOPIC))
    return _at_question(scene, phrases.TOPIC, phrases.TOPIC)


def _counterquestion(scene: Scene) -> Candidate | None:
    return _at_question(scene, phrases.COUNTER, phrases.COUNTER_CONSENT)


def _vague(scene: Scene) -> Candidate | None:
    return _at_question(scene, phrases.VAGUE, phrases.VAGUE_CONSENT)


def _partial(scene: Scene) -> Candidate | None:
    """The beginning of a value."""
    parts = {slot: _beginning(scene.slots[slot]) for slot in scene.path.slots if not _values(scene, slot)}
    slots = [slot for slot, part in parts.items() if part]
    if not slots:
        return None
    slot = scene.random.choice(slots)
    return _at_question(scene, phrases.PARTIAL, slots=[slot], part=parts[slot])


def _wrong_value(scene: Scene) -> Candidate | None:
    """A value that the slot cannot have."""
    wrongs = {slot: _impossible(scene.slots[slot], _values(scene, slot), scene.random) for slot in scene.path.slots}
    slots = [slot for slot, wrong in wrongs.items() if wrong]
    if not slots:
        return None
    slot = scene.random.choice(slots)
    return _at_question(scene, phrases.WRONG, slots=[slot], wrong=wrongs[slot])


def _values(scene: Scene, slot: str) -> list[Any]:
    return scene.scenario.slots[slot].schema.get("enum", [])


def _beginning(value: Any) -> str:
    """The first words of a text, or the first half of a word; empty if it is too short."""
    if not isinstance(value, str) or len(value) < 5:
        return ""
    words = value.split()
    return " ".join(words[: len(words) // 2]) if len(words) > 1 else value[: len(value) // 2].rstrip("-/.:@")


def _impossible(value: Any, values: Sequence[Any], random: Random) -> str:
    """A value that cannot be right, such as the day 45 of a month; empty if there is none."""
    if values:
        return random.choice(("the green one", "half of each", "both of them", "the one in the middle"))
    if isinstance(value, int) and not isinstance(value, bool):
        return f"minus {random.randint(2, 9)}"
    text = str(value)
    if re.fullmatch(r"\d{4}-\d\d-\d\d.*", text):
        return f"{text[:4]}-{random.randint(13, 19)}-{random.randint(32, 49)}"
    if re.fullmatch(r"\d\d:\d\d", text):
        return f"{random.randint(25, 39)}:{text[3:]}"
    digits = re.search(r"\d{3,}", text)
    return text[: digits.start() + 1] if digits else ""


# Texts


def _fact(scene: Scene) -> str:
    return scene.random.choice(scene.facts)


def _text(scene: Scene, templates: Sequence[str], **fields: str) -> str:
    """One of the sentences whose fields are known."""
    fitting = [template for template in templates if phrases.fields_of(template) <= fields.keys()]
    return phrases.filled(scene.random.choice(fitting), fields)


_DRAWERS: dict[str, Drawer] = {
    "detail": _detail,
    "confirmation": _confirmation,
    "cancellation": _cancellation,
    "addition": _addition,
    "skipping": _skipping,
    "restructuring": _restructuring,
    "returning": _returning,
    "rule_ignoring": _rule_ignoring,
    "topic_shift": _topic_shift,
    "counterquestion": _counterquestion,
    "vague": _vague,
    "partial": _partial,
    "wrong_value": _wrong_value,
}
