"""Combine, count and use booleans."""

from typing import Any


def negate(value: bool) -> bool:
    """Turn True into False and False into True.

    Args:
        value: The boolean to flip.

    Returns:
        The opposite boolean.

    Examples:
        >>> negate(True)
        False
        >>> negate(False)
        True
        >>> negate(value=True)
        False
    """
    return not value


def both_true(left: bool, right: bool) -> bool:
    """Combine two booleans with logical AND.

    For a list of any length use `all_true`.

    Args:
        left: The first boolean.
        right: The second boolean.

    Returns:
        True only if both booleans are True.

    Examples:
        >>> both_true(True, True)
        True
        >>> both_true(True, False)
        False
        >>> both_true(False, False)
        False
    """
    return left and right


def either_true(left: bool, right: bool) -> bool:
    """Combine two booleans with inclusive logical OR.

    Two True values give True, which is the one case where `exclusive_or` differs. For a list of any
    length use `any_true`.

    Args:
        left: The first boolean.
        right: The second boolean.

    Returns:
        True if at least one boolean is True.

    Examples:
        >>> either_true(True, False)
        True
        >>> either_true(True, True)
        True
        >>> either_true(False, False)
        False
    """
    return left or right


def exclusive_or(left: bool, right: bool) -> bool:
    """Combine two booleans with exclusive OR: exactly one of them must be True.

    Two True values give False, which is the one case where `either_true` differs.

    Args:
        left: The first boolean.
        right: The second boolean.

    Returns:
        True if the booleans differ, otherwise False.

    Examples:
        >>> exclusive_or(True, False)
        True
        >>> exclusive_or(True, True)
        False
        >>> exclusive_or(False, False)
        False
    """
    return left != right


def implies(premise: bool, conclusion: bool) -> bool:
    """Evaluate the logical implication "if premise then conclusion".

    A False premise always gives True, whatever the conclusion; only a True premise with a False
    conclusion gives False.

    Args:
        premise: The "if" part.
        conclusion: The "then" part.

    Returns:
        False if premise is True and conclusion is False, otherwise True.

    Examples:
        >>> implies(True, True)
        True
        >>> implies(True, False)
        False
        >>> implies(False, False)
        True
    """
    return not premise or conclusion


def all_true(values: list[bool]) -> bool:
    """Tell whether every boolean in a list is True.

    An empty list gives True.

    Args:
        values: The booleans to examine.

    Returns:
        True if no value is False, otherwise False.

    Examples:
        >>> all_true([True, True])
        True
        >>> all_true([True, False, True])
        False
        >>> all_true([])
        True
    """
    return all(values)


def any_true(values: list[bool]) -> bool:
    """Tell whether at least one boolean in a list is True.

    An empty list gives False.

    Args:
        values: The booleans to examine.

    Returns:
        True if some value is True, otherwise False.

    Examples:
        >>> any_true([False, True])
        True
        >>> any_true([False, False])
        False
        >>> any_true([])
        False
    """
    return any(values)


def count_true(values: list[bool]) -> int:
    """Count how many booleans in a list are True.

    An empty list gives 0.

    Args:
        values: The booleans to count.

    Returns:
        The number of True values.

    Examples:
        >>> count_true([True, False, True])
        2
        >>> count_true([False])
        0
        >>> count_true([])
        0
    """
    return sum(1 for value in values if value)


def is_majority_true(values: list[bool]) -> bool:
    """Tell whether strictly more than half of the booleans in a list are True.

    An exact half (a tie) gives False, and so does an empty list.

    Args:
        values: The booleans, one per vote.

    Returns:
        True if the True values outnumber the False values, otherwise False.

    Examples:
        >>> is_majority_true([True, True, False])
        True
        >>> is_majority_true([True, False])
        False
        >>> is_majority_true([])
        False
    """
    return 2 * sum(1 for value in values if value) > len(values)


def choose_value(condition: bool, when_true: Any, when_false: Any) -> Any:
    """Return one of two values depending on a boolean.

    The chosen value comes back unchanged, even if it is None, empty or itself a boolean.

    Args:
        condition: The boolean that decides.
        when_true: The value returned if condition is True.
        when_false: The value returned if condition is False.

    Returns:
        when_true or when_false.

    Examples:
        >>> choose_value(True, "accept", "reject")
        'accept'
        >>> choose_value(False, 10, 2.5)
        2.5
        >>> choose_value(False, [1], [])
        []
    """
    return when_true if condition else when_false
