"""Searching and transforming lists of numbers."""

import itertools
import math


def largest(numbers: list[float]) -> float:
    """Give the largest number of a list, sign respected.

    Args:
        numbers: The numbers in any order; at least one.

    Returns:
        The largest number.

    Raises:
        ValueError: If the list is empty.

    Examples:
        >>> largest([3, 8, 5])
        8
        >>> largest([-3, -8.5])
        -3
        >>> largest([4])
        4
    """
    if not numbers:
        raise ValueError("numbers must not be empty")
    return max(numbers)


def smallest(numbers: list[float]) -> float:
    """Give the smallest number of a list, sign respected.

    Args:
        numbers: The numbers in any order; at least one.

    Returns:
        The smallest number.

    Raises:
        ValueError: If the list is empty.

    Examples:
        >>> smallest([3, 8, 5])
        3
        >>> smallest([-3, -8.5])
        -8.5
        >>> smallest([4])
        4
    """
    if not numbers:
        raise ValueError("numbers must not be empty")
    return min(numbers)


def index_of_largest_first(numbers: list[float]) -> int:
    """Give the position of the largest number, its first occurrence if it occurs repeatedly.

    Args:
        numbers: The numbers; at least one.

    Returns:
        The position, counted from 0.

    Raises:
        ValueError: If the list is empty.

    Examples:
        >>> index_of_largest_first([1, 9, 4])
        1
        >>> index_of_largest_first([7, 2, 7])
        0
        >>> index_of_largest_first([5])
        0
    """
    if not numbers:
        raise ValueError("numbers must not be empty")
    return numbers.index(max(numbers))


def index_of_largest_last(numbers: list[float]) -> int:
    """Give the position of the largest number, its last occurrence if it occurs repeatedly.

    Args:
        numbers: The numbers; at least one.

    Returns:
        The position, counted from 0.

    Raises:
        ValueError: If the list is empty.

    Examples:
        >>> index_of_largest_last([1, 9, 4])
        1
        >>> index_of_largest_last([7, 2, 7])
        2
        >>> index_of_largest_last([5])
        0
    """
    if not numbers:
        raise ValueError("numbers must not be empty")
    return len(numbers) - 1 - numbers[::-1].index(max(numbers))


def cumulative_sums(numbers: list[float]) -> list[float]:
    """Give the running totals of a list: at each position the sum of all numbers up to and including it.

    The result is as long as the list; floats are added from left to right.

    Args:
        numbers: The numbers; an empty list gives an empty list.

    Returns:
        The running totals.

    Raises:
        ValueError: If a total is too large for a float.

    Examples:
        >>> cumulative_sums([1, 2, 3])
        [1, 3, 6]
        >>> cumulative_sums([5, -5, 0.5])
        [5, 0, 0.5]
        >>> cumulative_sums([])
        []
    """
    totals = list(itertools.accumulate(numbers))
    if any(abs(total) == math.inf for total in totals):
        raise ValueError("a total is too large")
    return totals


def running_products(numbers: list[float]) -> list[float]:
    """Give the running products of a list: at each position the product of all numbers so far.

    The number at the position is included, and the result is as long as the list.

    Args:
        numbers: The numbers; an empty list gives an empty list.

    Returns:
        The running products.

    Raises:
        ValueError: If a product is too large for a float.

    Examples:
        >>> running_products([2, 3, 4])
        [2, 6, 24]
        >>> running_products([5, 0, 7])
        [5, 0, 0]
        >>> running_products([])
        []
    """

    def times(product: float, number: float) -> float:
        return product * number

    products = list(itertools.accumulate(numbers, times))
    if any(abs(product) == math.inf for product in products):
        raise ValueError("a product is too large")
    return products


def consecutive_differences(numbers: list[float]) -> list[float]:
    """Give the step from each number to the next one: the later number minus the earlier one.

    The result is one shorter than the list.

    Args:
        numbers: The numbers; fewer than two give an empty list.

    Returns:
        The differences, negative where the list falls.

    Raises:
        ValueError: If the result is too large for a float.

    Examples:
        >>> consecutive_differences([1, 4, 2])
        [3, -2]
        >>> consecutive_differences([5, 5])
        [0]
        >>> consecutive_differences([7])
        []
    """
    result = [later - earlier for earlier, later in itertools.pairwise(numbers)]
    if not all(math.isfinite(number) for number in result):
        raise ValueError("a result is too large")
    return result


def scale_each(numbers: list[float], factor: float) -> list[float]:
    """Multiply each number of a list by the same factor.

    Args:
        numbers: The numbers; an empty list gives an empty list.
        factor: The factor; it may be zero or negative.

    Returns:
        The products, in the order of the numbers.

    Raises:
        ValueError: If a product is too large for a float.

    Examples:
        >>> scale_each([1, 2, 3], 10)
        [10, 20, 30]
        >>> scale_each([4, -6], 0.5)
        [2.0, -3.0]
        >>> scale_each([], 3)
        []
    """
    products = [number * factor for number in numbers]
    if any(abs(product) == math.inf for product in products):
        raise ValueError("a product is too large")
    return products


def normalize_min_max(numbers: list[float]) -> list[float]:
    """Map a list to the range 0 to 1, its smallest number to 0.0 and its largest to 1.0.

    Each number becomes (number - smallest) / (largest - smallest). If all are equal, all become 0.0.

    Args:
        numbers: The numbers; an empty list gives an empty list.

    Returns:
        The mapped numbers, floats in the order of the list.

    Raises:
        ValueError: If the spread of the numbers is too large for a float.

    Examples:
        >>> normalize_min_max([10, 20, 15])
        [0.0, 1.0, 0.5]
        >>> normalize_min_max([4, 4])
        [0.0, 0.0]
        >>> normalize_min_max([])
        []
    """
    if not numbers:
        return []
    low = min(numbers)
    spread = max(numbers) - low
    if spread == math.inf:
        raise ValueError("the numbers are too far apart")
    return [(number - low) / spread if spread else 0.0 for number in numbers]


def normalize_to_sum(numbers: list[float]) -> list[float]:
    """Divide each number by the sum of all, so that the results are shares that add up to 1.

    Negative numbers are allowed and give negative shares.

    Args:
        numbers: The numbers; an empty list gives an empty list.

    Returns:
        The shares, floats in the order of the list.

    Raises:
        ValueError: If the list is not empty and its sum is zero, or the result is too large for a float.

    Examples:
        >>> normalize_to_sum([1, 1, 2])
        [0.25, 0.25, 0.5]
        >>> normalize_to_sum([5])
        [1.0]
        >>> normalize_to_sum([])
        []
    """
    try:
        total = math.fsum(numbers)
    except OverflowError as error:
        raise ValueError("the sum of the numbers is too large") from error
    if numbers and total == 0:
        raise ValueError("the sum of the numbers must not be zero")
    result = [number / total for number in numbers]
    if not all(math.isfinite(number) for number in result):
        raise ValueError("a result is too large")
    return result
