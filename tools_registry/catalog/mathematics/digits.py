"""Decimal digits of whole numbers."""


def digits_of(number: int) -> list[int]:
    """List the decimal digits of a whole number from left to right.

    The sign is ignored, and 0 has the single digit 0.

    Args:
        number: The whole number.

    Returns:
        The digits, each 0 to 9, the most significant first.

    Examples:
        >>> digits_of(407)
        [4, 0, 7]
        >>> digits_of(-25)
        [2, 5]
        >>> digits_of(0)
        [0]
    """
    return [int(digit) for digit in str(abs(number))]


def digit_sum(number: int) -> int:
    """Add up the decimal digits of a whole number once.

    The sign is ignored. The sum may have several digits itself; repeat the step for the digital root.

    Args:
        number: The whole number.

    Returns:
        The sum of the digits.

    Examples:
        >>> digit_sum(493)
        16
        >>> digit_sum(-12)
        3
        >>> digit_sum(0)
        0
    """
    return sum(int(digit) for digit in str(abs(number)))


def reverse_digits(number: int) -> int:
    """Read the decimal digits of a whole number backwards, keeping its sign.

    Zeros at the end vanish, because they come to the front: 120 gives 21.

    Args:
        number: The whole number.

    Returns:
        The number with its digits in opposite order.

    Examples:
        >>> reverse_digits(123)
        321
        >>> reverse_digits(-45)
        -54
        >>> reverse_digits(120)
        21
    """
    size = int(str(abs(number))[::-1])
    return -size if number < 0 else size
