"""Judge scores and records by thresholds, conditions and decision tables."""

import bisect
import itertools
from typing import Any, Literal


def label_by_lower_bounds(score: float, bounds: list[float], labels: list[str]) -> str:
    """Give a score the label of its band; a score equal to a bound belongs to the band above it.

    The bounds cut the number line into bands, and each band starts at its bound: with bounds [50, 80]
    a score of 50 gets the second label. `label_by_upper_bounds` puts such a score in the band below.

    Args:
        score: The number to label.
        bounds: Cut points in strictly ascending order; may be empty.
        labels: One label per band from lowest to highest, so exactly one more than there are bounds.

    Returns:
        The label of the band that holds the score.

    Raises:
        ValueError: If bounds are not strictly ascending or labels do not number len(bounds) + 1.

    Examples:
        >>> label_by_lower_bounds(65, [50, 80], ["fail", "pass", "merit"])
        'pass'
        >>> label_by_lower_bounds(80, [50, 80], ["fail", "pass", "merit"])
        'merit'
        >>> label_by_lower_bounds(-3, [], ["any"])
        'any'
    """
    if any(low >= high for low, high in itertools.pairwise(bounds)):
        raise ValueError("bounds must be strictly ascending")
    if len(labels) != len(bounds) + 1:
        raise ValueError("labels must be exactly one more than bounds")
    return labels[bisect.bisect_right(bounds, score)]


def label_by_upper_bounds(score: float, bounds: list[float], labels: list[str]) -> str:
    """Give a score the label of its band; a score equal to a bound belongs to the band below it.

    The bounds cut the number line into bands, and each band ends at its bound: with bounds [50, 80]
    a score of 50 gets the first label. `label_by_lower_bounds` puts such a score in the band above.

    Args:
        score: The number to label.
        bounds: Cut points in strictly ascending order; may be empty.
        labels: One label per band from lowest to highest, so exactly one more than there are bounds.

    Returns:
        The label of the band that holds the score.

    Raises:
        ValueError: If bounds are not strictly ascending or labels do not number len(bounds) + 1.

    Examples:
        >>> label_by_upper_bounds(3, [2, 10], ["light", "medium", "heavy"])
        'medium'
        >>> label_by_upper_bounds(10, [2, 10], ["light", "medium", "heavy"])
        'medium'
        >>> label_by_upper_bounds(10.5, [2, 10], ["light", "medium", "heavy"])
        'heavy'
    """
    if any(low >= high for low, high in itertools.pairwise(bounds)):
        raise ValueError("bounds must be strictly ascending")
    if len(labels) != len(bounds) + 1:
        raise ValueError("labels must be exactly one more than bounds")
    return labels[bisect.bisect_left(bounds, score)]


def meets_condition(
    record: dict[str, Any], field: str, operator: Literal["==", "!=", "<", "<=", ">", ">="], value: Any
) -> bool:
    """Evaluate one comparison, field operator value, on a record.

    A record without the field gives False for every operator, "!=" included. The four order operators
    need two numbers or two texts (texts compare by character code, so capitals come first).

    Args:
        record: The record to test.
        field: Name of the field on the left side of the comparison.
        operator: The comparison to make.
        value: The value on the right side of the comparison.

    Returns:
        True if the comparison holds, otherwise False.

    Raises:
        ValueError: If the operator is unknown, or an order operator meets values it cannot order.

    Examples:
        >>> meets_condition({"age": 18}, "age", ">=", 18)
        True
        >>> meets_condition({"age": 18}, "age", ">", 18)
        False
        >>> meets_condition({"city": "Oslo"}, "city", "!=", "Rome")
        True
        >>> meets_condition({}, "city", "!=", "Rome")
        False
    """
    if operator not in ["==", "!=", "<", "<=", ">", ">="]:
        raise ValueError("unknown operator")
    if field not in record:
        return False
    found = record[field]
    if operator == "==":
        return bool(found == value)
    if operator == "!=":
        return bool(found != value)
    numbers = all(isinstance(part, (int, float)) for part in (found, value))
    texts = all(isinstance(part, str) for part in (found, value))
    if not numbers and not texts:
        raise ValueError("order operators need two numbers or two texts")
    sign = (found > value) - (found < value)
    if operator == "<":
        return sign < 0
    if operator == "<=":
        return sign <= 0
    if operator == ">":
        return sign > 0
    return sign >= 0


def matches_all_fields(record: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Tell whether a record holds every expected field with an equal value.

    Other fields of the record are ignored. A missing field gives False, even where None is expected.
    Empty expectations give True.

    Args:
        record: The record to test.
        expected: Field names with the values they must have.

    Returns:
        True if all the expectations are met, otherwise False.

    Examples:
        >>> matches_all_fields({"kind": "cat", "age": 3}, {"kind": "cat"})
        True
        >>> matches_all_fields({"kind": "cat", "age": 3}, {"kind": "cat", "age": 4})
        False
        >>> matches_all_fields({"kind": "cat"}, {"age": None})
        False
        >>> matches_all_fields({}, {})
        True
    """
    return all(field in record and record[field] == value for field, value in expected.items())


def failed_minimums(scores: dict[str, float], minimums: dict[str, float]) -> list[str]:
    """List the names whose score is below the required minimum.

    A score equal to its minimum passes. A name with a minimum but no score fails. Scores without a
    minimum are ignored.

    Args:
        scores: The score reached for each name.
        minimums: The lowest score that passes for each name.

    Returns:
        The failing names in alphabetical order; an empty list if every minimum is met.

    Examples:
        >>> failed_minimums({"math": 4, "art": 7}, {"math": 5, "art": 7})
        ['math']
        >>> failed_minimums({"math": 9}, {"music": 1, "art": 2})
        ['art', 'music']
        >>> failed_minimums({"math": 1}, {})
        []
    """
    return sorted(name for name in minimums if name not in scores or scores[name] < minimums[name])


def first_matching_outcome(record: dict[str, Any], rules: list[dict[str, Any]], default: Any) -> Any:
    """Return the outcome of the first rule of a decision table that matches a record.

    A rule is {"when": {field: value, ...}, "then": outcome} and matches if the record has every listed
    field with an equal value; an empty "when" matches every record. Later rules are not consulted;
    `all_matching_outcomes` collects them all.

    Args:
        record: The record to decide on.
        rules: The rules, tried in order.
        default: The outcome if no rule matches.

    Returns:
        The "then" value of the first matching rule, or default.

    Raises:
        ValueError: If a rule that is tried lacks "when" or "then".

    Examples:
        >>> first_matching_outcome({"vip": True}, [{"when": {"vip": True}, "then": "gold"}], "none")
        'gold'
        >>> first_matching_outcome({"n": 1}, [{"when": {}, "then": "a"}, {"when": {"n": 1}, "then": "b"}], 0)
        'a'
        >>> first_matching_outcome({"n": 1}, [], 0)
        0
    """
    for rule in rules:
        if "when" not in rule or "then" not in rule:
            raise ValueError('every rule needs "when" and "then"')
        if all(field in record and record[field] == value for field, value in rule["when"].items()):
            return rule["then"]
    return default


def all_matching_outcomes(record: dict[str, Any], rules: list[dict[str, Any]]) -> list[Any]:
    """Collect the outcomes of all rules of a decision table that match a record.

    A rule is {"when": {field: value, ...}, "then": outcome} and matches if the record has every listed
    field with an equal value; an empty "when" matches every record. Repeated outcomes are kept.

    Args:
        record: The record to decide on.
        rules: The rules to try.

    Returns:
        The "then" values of the matching rules in rule order; an empty list if none matches.

    Raises:
        ValueError: If a rule lacks "when" or "then".

    Examples:
        >>> all_matching_outcomes({"n": 1}, [{"when": {}, "then": "a"}, {"when": {"n": 1}, "then": "b"}])
        ['a', 'b']
        >>> all_matching_outcomes({"n": 2}, [{"when": {"n": 1}, "then": 5}, {"when": {"n": 2}, "then": 7}])
        [7]
        >>> all_matching_outcomes({"n": 2}, [])
        []
    """
    if any("when" not in rule or "then" not in rule for rule in rules):
        raise ValueError('every rule needs "when" and "then"')
    return [
        rule["then"]
        for rule in rules
        if all(field in record and record[field] == value for field, value in rule["when"].items())
    ]


def award_points(flags: dict[str, bool], points: dict[str, float]) -> float:
    """Add up the points of every criterion whose flag is True.

    A criterion whose flag is False or absent earns nothing, and a True flag without points earns 0.
    Points may be negative. Nothing earned gives 0.

    Args:
        flags: Whether each criterion is met.
        points: The points each criterion is worth.

    Returns:
        The total of the points earned.

    Examples:
        >>> award_points({"resident": True, "student": False}, {"resident": 10, "student": 5})
        10
        >>> award_points({"resident": True, "late": True}, {"resident": 10, "late": -2.5})
        7.5
        >>> award_points({"unknown": True}, {"resident": 10})
        0
    """
    return sum(value for name, value in points.items() if flags.get(name, False))
