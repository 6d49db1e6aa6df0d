"""Percentages of numbers and changes in percent."""

import math


def percent_of(percent: float, whole: float) -> float:
    """Give the amount that a percentage of a number makes, such as 15 percent of 80.

    Only the part is given; use `increase_by_percent` for the whole plus the part. Any sign is allowed, and
    percentages above 100 too.

    Args:
        percent: The percentage, 15 meaning 15 percent.
        whole: The number that counts as 100 percent.

    Returns:
        whole * percent / 100, as a float, not rounded.

    Raises:
        ValueError: If the result is too large for a float.

    Examples:
        >>> percent_of(15, 80)
        12.0
        >>> percent_of(150, 10)
        15.0
        >>> percent_of(0, 42)
        0.0
    """
    result = whole * percent / 100
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def percent_change(old: float, new: float) -> float:
    """Give the change from an old to a new number as a percentage of the old number.

    A rise is positive, a fall negative. A negative old number counts with its absolute value, so the sign
    always tells the direction.

    Args:
        old: The starting number, which counts as 100 percent; not zero.
        new: The number it became.

    Returns:
        (new - old) * 100 / |old|, as a float, 25.0 meaning 25 percent; not rounded.

    Raises:
        ValueError: If old is zero, or the result is too large for a float.

    Examples:
        >>> percent_change(80, 100)
        25.0
        >>> percent_change(100, 80)
        -20.0
        >>> percent_change(-50, -25)
        50.0
    """
    if old == 0:
        raise ValueError("old must not be zero")
    result = (new - old) * 100 / abs(old)
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def increase_by_percent(value: float, percent: float) -> float:
    """Make a number larger by a percentage of itself.

    A negative percentage makes it smaller: -100 gives zero, below that the sign flips. Percentages are not
    limited; `apply_discount_percent` subtracts instead and allows 0 to 100 only.

    Args:
        value: The number to change.
        percent: The percentage to add, 20 meaning 20 percent.

    Returns:
        value * (100 + percent) / 100, as a float, not rounded.

    Raises:
        ValueError: If the result is too large for a float.

    Examples:
        >>> increase_by_percent(50, 20)
        60.0
        >>> increase_by_percent(200, -25)
        150.0
        >>> increase_by_percent(80, 0)
        80.0
    """
    result = value * (100 + percent) / 100
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result
