"""Comparisons of two or three values that answer with a boolean."""

from typing import Any


def is_greater(left: float, right: float) -> bool:
    """Tell whether the first number is strictly greater than the second.

    Equal numbers give False; use `is_at_least` to accept equality.

    Args:
        left: The number being tested.
        right: The number it is compared with.

    Returns:
        True if left > right, otherwise False.

    Examples:
        >>> is_greater(5, 3)
        True
        >>> is_greater(3, 3)
        False
        >>> is_greater(-2, -1.5)
        False
    """
    return left > right


def is_at_least(left: float, right: float) -> bool:
    """Tell whether the first number is greater than or equal to the second.

    Equal numbers give True; use `is_greater` to reject equality.

    Args:
        left: The number being tested.
        right: The lowest number that passes.

    Returns:
        True if left >= right, otherwise False.

    Examples:
        >>> is_at_least(5, 3)
        True
        >>> is_at_least(3, 3.0)
        True
        >>> is_at_least(-2, -1)
        False
    """
    return left >= right


def is_less(left: float, right: float) -> bool:
    """Tell whether the first number is strictly less than the second.

    Equal numbers give False; use `is_at_most` to accept equality.

    Args:
        left: The number being tested.
        right: The number it is compared with.

    Returns:
        True if left < right, otherwise False.

    Examples:
        >>> is_less(2, 7)
        True
        >>> is_less(7, 7)
        False
        >>> is_less(0, -0.5)
        False
    """
    return left < right


def is_at_most(left: float, right: float) -> bool:
    """Tell whether the first number is less than or equal to the second.

    Equal numbers give True; use `is_less` to reject equality.

    Args:
        left: The number being tested.
        right: The highest number that passes.

    Returns:
        True if left <= right, otherwise False.

    Examples:
        >>> is_at_most(2, 7)
        True
        >>> is_at_most(7, 7)
        True
        >>> is_at_most(0, -0.5)
        False
    """
    return left <= right


def equals(left: Any, right: Any) -> bool:
    """Tell whether two values of any type are equal.

    Numbers compare by value (2 equals 2.0; True counts as 1 and False as 0), text is case-sensitive,
    lists must agree item by item in the same order, and dictionaries ignore the order of their keys.
    Text never equals a number.

    Args:
        left: The first value.
        right: The second value.

    Returns:
        True if the values are equal, otherwise False.

    Examples:
        >>> equals(2, 2.0)
        True
        >>> equals("Red", "red")
        False
        >>> equals([1, 2], [2, 1])
        False
        >>> equals({"a": 1, "b": None}, {"b": None, "a": 1})
        True
    """
    return bool(left == right)


def is_between_inclusive(value: float, low: float, high: float) -> bool:
    """Tell whether a number lies in a range whose two ends both belong to it.

    A number equal to `low` or to `high` gives True; use `is_between_exclusive` to leave the ends out.

    Args:
        value: The number being tested.
        low: Lower end of the range, included.
        high: Upper end of the range, included.

    Returns:
        True if low <= value <= high, otherwise False.

    Raises:
        ValueError: If low is greater than high.

    Examples:
        >>> is_between_inclusive(5, 1, 10)
        True
        >>> is_between_inclusive(10, 1, 10)
        True
        >>> is_between_inclusive(0.9, 1, 10)
        False
    """
    if low > high:
        raise ValueError("low must not be greater than high")
    return low <= value <= high


def is_between_exclusive(value: float, low: float, high: float) -> bool:
    """Tell whether a number lies strictly inside a range, both ends left out.

    A number equal to `low` or to `high` gives False, so equal ends always give False; use
    `is_between_inclusive` to accept the ends.

    Args:
        value: The number being tested.
        low: Lower end of the range, excluded.
        high: Upper end of the range, excluded.

    Returns:
        True if low < value < high, otherwise False.

    Raises:
        ValueError: If low is greater than high.

    Examples:
        >>> is_between_exclusive(5, 1, 10)
        True
        >>> is_between_exclusive(10, 1, 10)
        False
        >>> is_between_exclusive(4, 4, 4)
        False
    """
    if low > high:
        raise ValueError("low must not be greater than high")
    return low < value < high


def is_within_tolerance(left: float, right: float, tolerance: float) -> bool:
    """Tell whether two numbers differ by no more than an absolute tolerance.

    A difference of exactly `tolerance` gives True, and the order of the two numbers does not matter.

    Args:
        left: The first number.
        right: The second number.
        tolerance: The largest accepted absolute difference; 0 demands equality.

    Returns:
        True if the distance between the numbers is at most tolerance, otherwise False.

    Raises:
        ValueError: If tolerance is negative.

    Examples:
        >>> is_within_tolerance(10, 12, 3)
        True
        >>> is_within_tolerance(12, 10, 2)
        True
        >>> is_within_tolerance(1.5, 1.0, 0)
        False
    """
    if tolerance < 0:
        raise ValueError("tolerance must not be negative")
    return abs(left - right) <= tolerance


def is_one_of(value: Any, options: list[Any]) -> bool:
    """Tell whether a value equals at least one item of a list.

    Equality is that of `equals`: text is case-sensitive, 2 equals 2.0, True counts as 1. An empty list
    gives False.

    Args:
        value: The value to look for.
        options: The accepted values.

    Returns:
        True if some option equals the value, otherwise False.

    Examples:
        >>> is_one_of("b", ["a", "b", "c"])
        True
        >>> is_one_of("B", ["a", "b", "c"])
        False
        >>> is_one_of(3, [])
        False
    """
    return value in options
