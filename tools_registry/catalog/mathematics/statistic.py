"""Sums, averages, medians and modes of a list of numbers."""

import math
import statistics
from collections import Counter


def sum_numbers(numbers: list[float]) -> float:
    """Add up all numbers of a list.

    Only integers give an exact integer; with a float among them the sum is a float, rounded once at the end.

    Args:
        numbers: The numbers; an empty list gives 0.

    Returns:
        The sum.

    Raises:
        ValueError: If the result is too large for a float.

    Examples:
        >>> sum_numbers([1, 2, 3])
        6
        >>> sum_numbers([0.5, -2, 1])
        -0.5
        >>> sum_numbers([])
        0
    """
    if all(isinstance(number, int) for number in numbers):
        return sum(numbers)
    try:
        return math.fsum(numbers)
    except OverflowError as error:
        raise ValueError("the result is too large") from error


def mean(numbers: list[float]) -> float:
    """Give the arithmetic mean, the sum divided by the count.

    Args:
        numbers: The numbers; at least one.

    Returns:
        The mean, always a float, not rounded.

    Raises:
        ValueError: If the list is empty, or the result is too large for a float.

    Examples:
        >>> mean([1, 2, 6])
        3.0
        >>> mean([-1, 0.5])
        -0.25
        >>> mean([7])
        7.0
    """
    if not numbers:
        raise ValueError("numbers must not be empty")
    try:
        return math.fsum(numbers) / len(numbers)
    except OverflowError as error:
        raise ValueError("the result is too large") from error


def weighted_mean(numbers: list[float], weights: list[float]) -> float:
    """Give the mean of numbers in which each counts according to its own weight.

    Weights belong to the numbers at the same position and need not add up to 1. Weight 0 ignores a number.

    Args:
        numbers: The numbers; at least one.
        weights: One weight of at least 0 for each number.

    Returns:
        The sum of number * weight divided by the sum of the weights, as a float.

    Raises:
        ValueError: If the lists are empty or differ in length, a weight is negative, or all weights are zero,
            or the result is too large for a float.

    Examples:
        >>> weighted_mean([10, 20], [1, 3])
        17.5
        >>> weighted_mean([1, 2, 3], [1, 1, 1])
        2.0
        >>> weighted_mean([5, 99], [2, 0])
        5.0
    """
    if not numbers or len(numbers) != len(weights):
        raise ValueError("numbers and weights must be as long as each other and not empty")
    if min(weights) < 0 or max(weights) == 0:
        raise ValueError("weights must be at least 0, and one of them above 0")
    products = [number * weight for number, weight in zip(numbers, weights, strict=True)]
    try:
        result = math.fsum(products) / math.fsum(weights)
    except (OverflowError, ValueError) as error:
        raise ValueError("the numbers or weights are too large") from error
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def median(numbers: list[float]) -> float:
    """Give the middle number in order of size, averaging the two middle ones of an even count.

    Args:
        numbers: The numbers in any order; at least one.

    Returns:
        For an odd count the middle number itself; for an even count the mean of the two, as a float.

    Raises:
        ValueError: If the list is empty, or the result is too large for a float.

    Examples:
        >>> median([5, 1, 3])
        3
        >>> median([4, 1, 3, 2])
        2.5
        >>> median([9])
        9
    """
    if not numbers:
        raise ValueError("numbers must not be empty")
    result = statistics.median(numbers)
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def median_low(numbers: list[float]) -> float:
    """Give the middle number in order of size, the smaller of the two middle ones of an even count.

    Always a number of the list, unlike `median`.

    Args:
        numbers: The numbers in any order; at least one.

    Returns:
        The lower median.

    Raises:
        ValueError: If the list is empty.

    Examples:
        >>> median_low([4, 1, 3, 2])
        2
        >>> median_low([5, 1, 3])
        3
        >>> median_low([9])
        9
    """
    if not numbers:
        raise ValueError("numbers must not be empty")
    return sorted(numbers)[(len(numbers) - 1) // 2]


def median_high(numbers: list[float]) -> float:
    """Give the middle number in order of size, the larger of the two middle ones of an even count.

    Always a number of the list, unlike `median`.

    Args:
        numbers: The numbers in any order; at least one.

    Returns:
        The upper median.

    Raises:
        ValueError: If the list is empty.

    Examples:
        >>> median_high([4, 1, 3, 2])
        3
        >>> median_high([5, 1, 3])
        3
        >>> median_high([9])
        9
    """
    if not numbers:
        raise ValueError("numbers must not be empty")
    return sorted(numbers)[len(numbers) // 2]


def first_mode(numbers: list[float]) -> float:
    """Give the most frequent number; among equally frequent ones the one that occurs first in the list.

    1 and 1.0 count as the same number.

    Args:
        numbers: The numbers; at least one.

    Returns:
        The most frequent number.

    Raises:
        ValueError: If the list is empty.

    Examples:
        >>> first_mode([1, 2, 2, 3])
        2
        >>> first_mode([5, 1, 1, 5])
        5
        >>> first_mode([3, 2, 1])
        3
    """
    if not numbers:
        raise ValueError("numbers must not be empty")
    return Counter(numbers).most_common(1)[0][0]


def smallest_mode(numbers: list[float]) -> float:
    """Give the most frequent number; among equally frequent ones the smallest.

    1 and 1.0 count as the same number. The order of the list does not matter.

    Args:
        numbers: The numbers; at least one.

    Returns:
        The most frequent number.

    Raises:
        ValueError: If the list is empty.

    Examples:
        >>> smallest_mode([1, 2, 2, 3])
        2
        >>> smallest_mode([5, 1, 1, 5])
        1
        >>> smallest_mode([3, 2, 1])
        1
    """
    if not numbers:
        raise ValueError("numbers must not be empty")
    return min(statistics.multimode(numbers))
