"""Units, number bases, number formats and matrices."""

import math
from typing import Literal


def celsius_to_fahrenheit(degrees: float) -> float:
    """Convert a temperature from degrees Celsius to degrees Fahrenheit.

    Args:
        degrees: The temperature in degrees Celsius; absolute zero is not checked.

    Returns:
        degrees * 9 / 5 + 32, always a float, not rounded.

    Raises:
        ValueError: If the result is too large for a float.

    Examples:
        >>> celsius_to_fahrenheit(100)
        212.0
        >>> celsius_to_fahrenheit(-40)
        -40.0
        >>> celsius_to_fahrenheit(0)
        32.0
    """
    result = degrees * 9 / 5 + 32
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def fahrenheit_to_celsius(degrees: float) -> float:
    """Convert a temperature from degrees Fahrenheit to degrees Celsius.

    Args:
        degrees: The temperature in degrees Fahrenheit; absolute zero is not checked.

    Returns:
        (degrees - 32) * 5 / 9, always a float, not rounded.

    Raises:
        ValueError: If the result is too large for a float.

    Examples:
        >>> fahrenheit_to_celsius(212)
        100.0
        >>> fahrenheit_to_celsius(-40)
        -40.0
        >>> fahrenheit_to_celsius(32)
        0.0
    """
    result = (degrees - 32) * 5 / 9
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def convert_length(
    value: float,
    from_unit: Literal["mm", "cm", "m", "km", "inch", "foot", "yard", "mile"],
    to_unit: Literal["mm", "cm", "m", "km", "inch", "foot", "yard", "mile"],
) -> float:
    """Convert a length from one unit to another.

    An inch is exactly 25.4 mm, a foot 12 inches, a yard 3 feet, a mile 1760 yards. The sign stays.

    Args:
        value: The length in from_unit.
        from_unit: The unit of value.
        to_unit: The unit of the result; it may be the same.

    Returns:
        The length in to_unit, always a float, not rounded.

    Raises:
        ValueError: If a unit is unknown, or the result is too large for a float.

    Examples:
        >>> convert_length(1.5, "km", "m")
        1500.0
        >>> convert_length(1, "foot", "cm")
        30.48
        >>> convert_length(3520, "yard", "mile")
        2.0
        >>> convert_length(0, "mm", "mm")
        0.0
    """
    tenths_of_mm = {
        "mm": 10,
        "cm": 100,
        "m": 10_000,
        "km": 10_000_000,
        "inch": 254,
        "foot": 3_048,
        "yard": 9_144,
        "mile": 16_093_440,
    }
    if from_unit not in tenths_of_mm or to_unit not in tenths_of_mm:
        raise ValueError("unknown unit of length")
    result = value * tenths_of_mm[from_unit] / tenths_of_mm[to_unit]
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def integer_to_base(number: int, base: int) -> str:
    """Write a whole number in another number base.

    Digits above 9 are the lowercase letters a to z. There is no prefix; a negative number starts with "-".

    Args:
        number: The whole number.
        base: The base, 2 (binary) to 36.

    Returns:
        The digits, the most significant first; "0" for zero.

    Raises:
        ValueError: If base is not between 2 and 36.

    Examples:
        >>> integer_to_base(10, 2)
        '1010'
        >>> integer_to_base(-255, 16)
        '-ff'
        >>> integer_to_base(0, 8)
        '0'
    """
    if not 2 <= base <= 36:
        raise ValueError("base must be between 2 and 36")
    rest = abs(number)
    text = ""
    while rest or not text:
        rest, digit = divmod(rest, base)
        text = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + text
    return f"-{text}" if number < 0 else text


def format_fixed_decimals(value: float, decimals: int) -> str:
    """Write a number with exactly so many decimals, filling up with zeros.

    Rounds to the nearest, an exact half of the stored binary number going to the even digit; round first
    for another kind. No thousands separators; a result of zero has no minus sign.

    Args:
        value: The number to write.
        decimals: How many decimals, 0 to 15; 0 leaves out the decimal point.

    Returns:
        The text, with a point as decimal mark.

    Raises:
        ValueError: If decimals is not between 0 and 15.

    Examples:
        >>> format_fixed_decimals(3, 2)
        '3.00'
        >>> format_fixed_decimals(-2.71828, 3)
        '-2.718'
        >>> format_fixed_decimals(2.5, 0)
        '2'
        >>> format_fixed_decimals(-0.001, 2)
        '0.00'
    """
    if not 0 <= decimals <= 15:
        raise ValueError("decimals must be between 0 and 15")
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def format_with_thousands(number: int) -> str:
    """Write a whole number with a comma between groups of three digits.

    Args:
        number: The whole number.

    Returns:
        The text; numbers of up to three digits have no comma, negative ones start with "-".

    Examples:
        >>> format_with_thousands(1234567)
        '1,234,567'
        >>> format_with_thousands(-1000)
        '-1,000'
        >>> format_with_thousands(999)
        '999'
    """
    return f"{number:,d}"


def transpose_matrix(matrix: list[list[float]]) -> list[list[float]]:
    """Swap the rows and columns of a matrix of numbers.

    Args:
        matrix: The rows, all equally long; no rows, or only empty ones, give an empty list.

    Returns:
        The columns of the matrix as rows, from left to right.

    Raises:
        ValueError: If the rows differ in length.

    Examples:
        >>> transpose_matrix([[1, 2, 3], [4, 5, 6]])
        [[1, 4], [2, 5], [3, 6]]
        >>> transpose_matrix([[7, 8]])
        [[7], [8]]
        >>> transpose_matrix([])
        []
    """
    if any(len(row) != len(matrix[0]) for row in matrix):
        raise ValueError("all rows must be equally long")
    width = len(matrix[0]) if matrix else 0
    return [[row[position] for row in matrix] for position in range(width)]


def multiply_matrices(left: list[list[float]], right: list[list[float]]) -> list[list[float]]:
    """Multiply two matrices, rows of the left one by columns of the right one.

    The order matters. This is the matrix product, not the product entry by entry.

    Args:
        left: Rows of the left matrix, all equally long; at least one row and column.
        right: Rows of the right matrix, all equally long; as many rows as left has columns.

    Returns:
        The product, with as many rows as left and columns as right; whole if all entries are integers.

    Raises:
        ValueError: If a matrix is empty or its rows differ in length, or the two do not fit, or the result is
            too large for a float.

    Examples:
        >>> multiply_matrices([[1, 2], [3, 4]], [[5, 6], [7, 8]])
        [[19, 22], [43, 50]]
        >>> multiply_matrices([[1, 2, 3]], [[4], [5], [6]])
        [[32]]
        >>> multiply_matrices([[0.5]], [[4]])
        [[2.0]]
    """
    if not left or not left[0] or not right or not right[0]:
        raise ValueError("the matrices must not be empty")
    if any(len(row) != len(right) for row in left) or any(len(row) != len(right[0]) for row in right):
        raise ValueError("the matrices do not fit together")

    def entry(row: list[float], position: int) -> float:
        terms = [factor * other[position] for factor, other in zip(row, right, strict=True)]
        if all(isinstance(term, int) for term in terms):
            return sum(terms)
        try:
            result = math.fsum(terms)
        except (OverflowError, ValueError) as error:
            raise ValueError("an entry is too large") from error
        if not math.isfinite(result):
            raise ValueError("an entry is too large")
        return result

    return [[entry(row, position) for position in range(len(right[0]))] for row in left]
