"""Derive facts from rules, follow state machines and narrow down candidates."""

from typing import Any


def apply_rules_once(facts: list[str], rules: list[dict[str, Any]]) -> list[str]:
    """Add the conclusions of all rules whose premises are already among the facts, in one round.

    A rule is {"if": [premise, ...], "then": conclusion}; an empty "if" always applies. Premises are
    checked against the given facts only, so a conclusion drawn in this round takes effect in the next
    call. Repeated facts are dropped; if nothing new follows, the facts come back.

    Args:
        facts: The known facts, matched case-sensitively.
        rules: The rules to apply.

    Returns:
        The distinct facts in their given order, then the new conclusions in rule order.

    Raises:
        ValueError: If a rule lacks "if" or "then".

    Examples:
        >>> apply_rules_once(["rain"], [{"if": ["rain"], "then": "wet"}, {"if": ["wet"], "then": "slippery"}])
        ['rain', 'wet']
        >>> apply_rules_once(["a"], [{"if": ["a", "b"], "then": "c"}])
        ['a']
        >>> apply_rules_once([], [{"if": [], "then": "start"}])
        ['start']
    """
    if any("if" not in rule or "then" not in rule for rule in rules):
        raise ValueError('every rule needs "if" and "then"')
    conclusions = [rule["then"] for rule in rules if all(premise in facts for premise in rule["if"])]
    return list(dict.fromkeys([*facts, *conclusions]))


def derive_all_facts(facts: list[str], rules: list[dict[str, Any]]) -> list[str]:
    """Apply rules round after round until no new fact follows.

    A rule is {"if": [premise, ...], "then": conclusion}; an empty "if" always applies. This is
    `apply_rules_once` repeated to the end, so conclusions may serve as premises of further rules.

    Args:
        facts: The known facts, matched case-sensitively; repeats are dropped.
        rules: The rules to apply.

    Returns:
        The distinct facts in their given order, then the conclusions by round and in rule order.

    Raises:
        ValueError: If a rule lacks "if" or "then".

    Examples:
        >>> derive_all_facts(["rain"], [{"if": ["wet"], "then": "slippery"}, {"if": ["rain"], "then": "wet"}])
        ['rain', 'wet', 'slippery']
        >>> derive_all_facts(["a"], [{"if": ["a", "b"], "then": "c"}])
        ['a']
        >>> derive_all_facts([], [])
        []
    """
    if any("if" not in rule or "then" not in rule for rule in rules):
        raise ValueError('every rule needs "if" and "then"')
    known = list(dict.fromkeys(facts))
    while True:
        conclusions = [rule["then"] for rule in rules if all(premise in known for premise in rule["if"])]
        extended = list(dict.fromkeys([*known, *conclusions]))
        if len(extended) == len(known):
            return known
        known = extended


def find_contradictions(facts: list[str]) -> list[str]:
    """List the facts that occur together with their denial.

    The denial of a fact is the same text with "not " in front (lower case, one space); matching is
    case-sensitive. An empty list means the facts are consistent in this sense.

    Args:
        facts: The facts, affirmed or denied.

    Returns:
        Each contradicted fact once, without the leading "not ", in alphabetical order.

    Examples:
        >>> find_contradictions(["wet", "cold", "not wet"])
        ['wet']
        >>> find_contradictions(["not b", "b", "a", "not a", "a"])
        ['a', 'b']
        >>> find_contradictions(["wet", "not Wet"])
        []
    """
    return sorted({fact for fact in facts if f"not {fact}" in facts})


def next_state(transitions: dict[str, dict[str, str]], state: str, event: str) -> str:
    """Return the state that a state machine enters when an event happens in a given state.

    One step only. An event the state does not list is an error, not a stay in the same state.

    Args:
        transitions: For each state, the new state for each event it accepts.
        state: The current state.
        event: The event that happens.

    Returns:
        The new state, which may equal the current one.

    Raises:
        ValueError: If the state is unknown or does not accept the event.

    Examples:
        >>> next_state({"locked": {"coin": "open"}, "open": {"push": "locked"}}, "locked", "coin")
        'open'
        >>> next_state({"locked": {"coin": "open"}, "open": {"push": "locked"}}, "open", "push")
        'locked'
        >>> next_state({"locked": {"push": "locked"}}, "locked", "push")
        'locked'
    """
    if state not in transitions:
        raise ValueError("unknown state")
    if event not in transitions[state]:
        raise ValueError("the state does not accept the event")
    return transitions[state][event]


def eliminate_settled_values(candidates: dict[str, list[str]]) -> dict[str, list[str]]:
    """Remove each value that is the only candidate of one name from all other names, in one round.

    Names count as settled only if they have a single candidate before the round, so names settled by
    this round take effect in the next call. If nothing can be removed, the result equals the input.

    Args:
        candidates: For each name, its possible values without repeats.

    Returns:
        The same names with the remaining candidates in their given order.

    Raises:
        ValueError: If a name has no candidate before or after the round (two names settled on the same
            value, for instance).

    Examples:
        >>> eliminate_settled_values({"ann": ["cat"], "bob": ["cat", "dog"], "cy": ["dog", "owl", "cat"]})
        {'ann': ['cat'], 'bob': ['dog'], 'cy': ['dog', 'owl']}
        >>> eliminate_settled_values({"x": ["1", "2"], "y": ["2", "1"]})
        {'x': ['1', '2'], 'y': ['2', '1']}
        >>> eliminate_settled_values({})
        {}
    """
    settled = {name: values[0] for name, values in candidates.items() if len(values) == 1}
    reduced = {
        name: [value for value in values if all(other == name or taken != value for other, taken in settled.items())]
        for name, values in candidates.items()
    }
    if any(not values for values in reduced.values()):
        raise ValueError("a name has no candidate left")
    return reduced


def all_settled(candidates: dict[str, list[str]]) -> bool:
    """Tell whether every name has exactly one candidate value.

    A name with no candidate, or with several, gives False. No names give True. It is not checked
    whether two names share a value.

    Args:
        candidates: For each name, its possible values without repeats.

    Returns:
        True if each list holds exactly one value, otherwise False.

    Examples:
        >>> all_settled({"ann": ["cat"], "bob": ["dog"]})
        True
        >>> all_settled({"ann": ["cat"], "bob": ["dog", "owl"]})
        False
        >>> all_settled({"ann": []})
        False
        >>> all_settled({})
        True
    """
    return all(len(values) == 1 for values in candidates.values())
