"""Basic arithmetic on two or three numbers."""

import math


def add(first: float, second: float) -> float:
    """Add two numbers.

    Two integers give an exact integer, otherwise the sum is a float, not rounded any further.

    Args:
        first: The first number.
        second: The second number.

    Returns:
        The sum first + second.

    Raises:
        ValueError: If the sum is too large for a float.

    Examples:
        >>> add(2, 3)
        5
        >>> add(-4, 1.5)
        -2.5
        >>> add(0, 0)
        0
    """
    result = first + second
    if abs(result) == math.inf:
        raise ValueError("the sum is too large")
    return result


def subtract(first: float, second: float) -> float:
    """Take the second number away from the first, keeping the sign.

    The result is negative when second is the larger one. Two integers give an exact integer.

    Args:
        first: The number to subtract from.
        second: The number taken away.

    Returns:
        The difference first - second.

    Raises:
        ValueError: If the difference is too large for a float.

    Examples:
        >>> subtract(10, 4)
        6
        >>> subtract(4, 10)
        -6
        >>> subtract(2.5, 2.5)
        0.0
    """
    result = first - second
    if abs(result) == math.inf:
        raise ValueError("the difference is too large")
    return result


def absolute_difference(first: float, second: float) -> float:
    """Give the distance between two numbers, which is never negative.

    The order of the two numbers does not matter. Two integers give an exact integer.

    Args:
        first: One number.
        second: The other number.

    Returns:
        The larger number minus the smaller one; 0 when they are equal.

    Raises:
        ValueError: If the difference is too large for a float.

    Examples:
        >>> absolute_difference(4, 10)
        6
        >>> absolute_difference(10, 4)
        6
        >>> absolute_difference(-1.5, 1)
        2.5
        >>> absolute_difference(7, 7)
        0
    """
    result = abs(first - second)
    if result == math.inf:
        raise ValueError("the difference is too large")
    return result


def multiply(first: float, second: float) -> float:
    """Multiply two numbers.

    Two integers give an exact integer, otherwise the product is a float, not rounded any further.

    Args:
        first: The first factor.
        second: The second factor.

    Returns:
        The product first * second.

    Raises:
        ValueError: If the product is too large for a float.

    Examples:
        >>> multiply(6, 7)
        42
        >>> multiply(-3, 0.5)
        -1.5
        >>> multiply(0, 99)
        0
    """
    result = first * second
    if abs(result) == math.inf:
        raise ValueError("the product is too large")
    return result


def divide(dividend: float, divisor: float) -> float:
    """Divide two numbers exactly, fraction included.

    The result is always a float, even when the division leaves nothing over. Nothing is rounded.

    Args:
        dividend: The number to divide.
        divisor: The number to divide by; not zero.

    Returns:
        The quotient dividend / divisor.

    Raises:
        ValueError: If divisor is zero, or the quotient is too large for a float.

    Examples:
        >>> divide(7, 2)
        3.5
        >>> divide(6, 3)
        2.0
        >>> divide(-1, 4)
        -0.25
        >>> divide(0, 5)
        0.0
    """
    if divisor == 0:
        raise ValueError("divisor must not be zero")
    result = dividend / divisor
    if abs(result) == math.inf:
        raise ValueError("the quotient is too large")
    return result


def floor_divide(dividend: int, divisor: int) -> int:
    """Divide two whole numbers and round the quotient down, towards minus infinity.

    Differs from `divide_toward_zero` only when exactly one number is negative and something is left over:
    -7 by 2 gives -4 here.

    Args:
        dividend: The whole number to divide.
        divisor: The whole number to divide by; not zero.

    Returns:
        The largest whole number that is not above the exact quotient.

    Raises:
        ValueError: If divisor is zero.

    Examples:
        >>> floor_divide(7, 2)
        3
        >>> floor_divide(-7, 2)
        -4
        >>> floor_divide(-8, 2)
        -4
    """
    if divisor == 0:
        raise ValueError("divisor must not be zero")
    return dividend // divisor


def divide_toward_zero(dividend: int, divisor: int) -> int:
    """Divide two whole numbers and drop the fraction of the quotient, rounding towards zero.

    Differs from `floor_divide` only when exactly one number is negative and something is left over:
    -7 by 2 gives -3 here.

    Args:
        dividend: The whole number to divide.
        divisor: The whole number to divide by; not zero.

    Returns:
        The exact quotient without its fraction.

    Raises:
        ValueError: If divisor is zero.

    Examples:
        >>> divide_toward_zero(7, 2)
        3
        >>> divide_toward_zero(-7, 2)
        -3
        >>> divide_toward_zero(1, -2)
        0
    """
    if divisor == 0:
        raise ValueError("divisor must not be zero")
    size = abs(dividend) // abs(divisor)
    return size if (dividend < 0) == (divisor < 0) else -size


def remainder(dividend: int, divisor: int) -> int:
    """Give what is left over after `floor_divide` of two whole numbers.

    The result is zero or has the sign of divisor, so a positive divisor always gives 0 to divisor - 1,
    for negative dividends too.

    Args:
        dividend: The whole number to divide.
        divisor: The whole number to divide by; not zero.

    Returns:
        dividend minus divisor times the rounded-down quotient.

    Raises:
        ValueError: If divisor is zero.

    Examples:
        >>> remainder(7, 3)
        1
        >>> remainder(-7, 3)
        2
        >>> remainder(7, -3)
        -2
        >>> remainder(6, 3)
        0
    """
    if divisor == 0:
        raise ValueError("divisor must not be zero")
    return dividend % divisor


def power(base: float, exponent: float) -> float:
    """Raise a number to a power.

    An integer base with an integer exponent of at least 0 gives an exact integer; everything else gives a
    float. Exponent 0 gives 1, for base 0 too. An exponent of 0.5 gives the square root.

    Args:
        base: The number to raise.
        exponent: The power; it may be negative or fractional.

    Returns:
        base to the power of exponent.

    Raises:
        ValueError: If base is zero and exponent negative, if base is negative and exponent has a fraction,
            or if the result is above about 1.8e308 in size.

    Examples:
        >>> power(2, 10)
        1024
        >>> power(2, -1)
        0.5
        >>> power(9, 0.5)
        3.0
        >>> power(0, 0)
        1
    """
    if base == 0 and exponent < 0:
        raise ValueError("zero has no negative power")
    if base < 0 and exponent != math.floor(exponent):
        raise ValueError("a negative base needs a whole exponent")
    try:
        rough = math.pow(base, exponent)
    except OverflowError as error:
        raise ValueError("the power is too large") from error
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        return base**exponent
    return rough


def clamp(value: float, low: float, high: float) -> float:
    """Limit a number to the closed range from low to high.

    Numbers below the range give `low`, numbers above it give `high`, others come back unchanged.

    Args:
        value: The number to limit.
        low: Lower end of the range, inclusive.
        high: Upper end of the range, inclusive.

    Returns:
        The limited number.

    Raises:
        ValueError: If low is greater than high.

    Examples:
        >>> clamp(5, 0, 3)
        3
        >>> clamp(-1, 0, 3)
        0
        >>> clamp(2.5, 0, 3)
        2.5
    """
    if low > high:
        raise ValueError("low must not be greater than high")
    return max(low, min(high, value))
