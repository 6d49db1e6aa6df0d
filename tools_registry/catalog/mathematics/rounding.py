"""Rounding numbers to decimals, whole numbers, multiples and significant digits."""

import math


def round_half_up(value: float, decimals: int) -> float:
    """Round to a number of decimals, a final half going away from zero.

    Works on the decimal digits as the number is written, so 2.675 to 2 decimals gives 2.68. Differs from
    `round_half_even` only at exact halves: 2.5 gives 3.0 and -2.5 gives -3.0.

    Args:
        value: The number to round.
        decimals: How many decimals to keep, 0 to 15.

    Returns:
        The rounded number, always a float, never -0.0.

    Raises:
        ValueError: If decimals is not between 0 and 15.

    Examples:
        >>> round_half_up(2.675, 2)
        2.68
        >>> round_half_up(-2.5, 0)
        -3.0
        >>> round_half_up(0.5, 0)
        1.0
        >>> round_half_up(7, 2)
        7.0
    """
    if not 0 <= decimals <= 15:
        raise ValueError("decimals must be between 0 and 15")
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    dropped = len(fraction) - int(exponent or "0") - decimals
    if dropped <= 0:
        return float(value) + 0.0
    unit = 10**dropped
    kept, rest = divmod(int(whole + fraction), unit)
    if 2 * rest >= unit:
        kept += 1
    return (kept if value > 0 else -kept) / 10**decimals


def round_half_even(value: float, decimals: int) -> float:
    """Round to a number of decimals, a final half going to the even neighbor (banker's rounding).

    Works on the decimal digits as the number is written, so 2.665 to 2 decimals gives 2.66. Differs from
    `round_half_up` only at exact halves: 2.5 gives 2.0 and 3.5 gives 4.0.

    Args:
        value: The number to round.
        decimals: How many decimals to keep, 0 to 15.

    Returns:
        The rounded number, always a float, never -0.0.

    Raises:
        ValueError: If decimals is not between 0 and 15.

    Examples:
        >>> round_half_even(2.5, 0)
        2.0
        >>> round_half_even(3.5, 0)
        4.0
        >>> round_half_even(2.665, 2)
        2.66
        >>> round_half_even(-0.5, 0)
        0.0
    """
    if not 0 <= decimals <= 15:
        raise ValueError("decimals must be between 0 and 15")
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    dropped = len(fraction) - int(exponent or "0") - decimals
    if dropped <= 0:
        return float(value) + 0.0
    unit = 10**dropped
    kept, rest = divmod(int(whole + fraction), unit)
    if 2 * rest > unit or (2 * rest == unit and kept % 2 == 1):
        kept += 1
    return (kept if value > 0 else -kept) / 10**decimals


def truncate_decimals(value: float, decimals: int) -> float:
    """Cut a number off after some decimals, rounding towards zero.

    Works on the decimal digits as the number is written; whatever follows is dropped, never rounded up.

    Args:
        value: The number to cut.
        decimals: How many decimals to keep, 0 to 15.

    Returns:
        The shortened number, always a float, never -0.0.

    Raises:
        ValueError: If decimals is not between 0 and 15.

    Examples:
        >>> truncate_decimals(2.679, 2)
        2.67
        >>> truncate_decimals(-1.99, 1)
        -1.9
        >>> truncate_decimals(0.29, 2)
        0.29
        >>> truncate_decimals(-0.9, 0)
        0.0
    """
    if not 0 <= decimals <= 15:
        raise ValueError("decimals must be between 0 and 15")
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    dropped = len(fraction) - int(exponent or "0") - decimals
    if dropped <= 0:
        return float(value) + 0.0
    kept = int(whole + fraction) // 10**dropped
    return (kept if value > 0 else -kept) / 10**decimals


def floor_to_integer(value: float) -> int:
    """Round down to a whole number, towards minus infinity.

    Differs from `truncate_to_integer` for negative fractions only: -2.1 gives -3 here.

    Args:
        value: The number to round.

    Returns:
        The largest integer that is not above value.

    Examples:
        >>> floor_to_integer(2.9)
        2
        >>> floor_to_integer(-2.1)
        -3
        >>> floor_to_integer(4)
        4
    """
    return math.floor(value)


def ceil_to_integer(value: float) -> int:
    """Round up to a whole number, towards plus infinity.

    Any fraction, however small, leads to the next integer; whole numbers stay. -2.9 gives -2.

    Args:
        value: The number to round.

    Returns:
        The smallest integer that is not below value.

    Examples:
        >>> ceil_to_integer(2.1)
        3
        >>> ceil_to_integer(-2.9)
        -2
        >>> ceil_to_integer(4)
        4
    """
    return math.ceil(value)


def truncate_to_integer(value: float) -> int:
    """Drop the fraction of a number, rounding towards zero.

    Differs from `floor_to_integer` for negative fractions only: -2.9 gives -2 here.

    Args:
        value: The number to cut.

    Returns:
        The whole part of value, with its sign.

    Examples:
        >>> truncate_to_integer(2.9)
        2
        >>> truncate_to_integer(-2.9)
        -2
        >>> truncate_to_integer(-0.5)
        0
    """
    return math.trunc(value)


def floor_to_multiple(value: float, step: int) -> int:
    """Round down to a multiple of a whole step, towards minus infinity.

    A value that is a multiple already stays.

    Args:
        value: The number to round.
        step: The step, a whole number of at least 1.

    Returns:
        The largest multiple of step that is not above value.

    Raises:
        ValueError: If step is below 1.

    Examples:
        >>> floor_to_multiple(17, 5)
        15
        >>> floor_to_multiple(-1, 5)
        -5
        >>> floor_to_multiple(20, 5)
        20
    """
    if step < 1:
        raise ValueError("step must be at least 1")
    return math.floor(value) // step * step


def ceil_to_multiple(value: float, step: int) -> int:
    """Round up to a multiple of a whole step, towards plus infinity.

    A value that is a multiple already stays.

    Args:
        value: The number to round.
        step: The step, a whole number of at least 1.

    Returns:
        The smallest multiple of step that is not below value.

    Raises:
        ValueError: If step is below 1.

    Examples:
        >>> ceil_to_multiple(16, 5)
        20
        >>> ceil_to_multiple(-4, 5)
        0
        >>> ceil_to_multiple(20, 5)
        20
    """
    if step < 1:
        raise ValueError("step must be at least 1")
    return -(-math.ceil(value) // step) * step


def nearest_multiple(value: float, step: int) -> int:
    """Round to the nearest multiple of a whole step, halfway values going up.

    Up means towards plus infinity, so with step 10 both 15 gives 20 and -15 gives -10.

    Args:
        value: The number to round.
        step: The step, a whole number of at least 1.

    Returns:
        The multiple of step closest to value.

    Raises:
        ValueError: If step is below 1.

    Examples:
        >>> nearest_multiple(14, 10)
        10
        >>> nearest_multiple(15, 10)
        20
        >>> nearest_multiple(-15, 10)
        -10
    """
    if step < 1:
        raise ValueError("step must be at least 1")
    whole = math.floor(value)
    lower = whole // step * step
    above = (whole - lower) + (value - whole)
    return lower if 2 * above < step else lower + step


def round_to_significant_digits(value: float, digits: int) -> float:
    """Round to a number of significant digits, counted from the first digit that is not zero.

    Rounds to the nearest, an exact half of the stored binary number going to the even digit. Zero stays zero.

    Args:
        value: The number to round.
        digits: How many significant digits to keep, 1 to 15.

    Returns:
        The rounded number, always a float.

    Raises:
        ValueError: If digits is not between 1 and 15, or the result is too large for a float.

    Examples:
        >>> round_to_significant_digits(123456, 2)
        120000.0
        >>> round_to_significant_digits(0.004567, 2)
        0.0046
        >>> round_to_significant_digits(0, 3)
        0.0
    """
    if not 1 <= digits <= 15:
        raise ValueError("digits must be between 1 and 15")
    result = float(f"{value:.{digits - 1}e}")
    if abs(result) == math.inf:
        raise ValueError("the result is too large")
    return result
