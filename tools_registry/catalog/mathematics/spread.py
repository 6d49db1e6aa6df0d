"""Ranges, variances, standard deviations and quantiles of a list of numbers."""

import math
import statistics


def value_range(numbers: list[float]) -> float:
    """Give the spread of a list, its largest number minus its smallest.

    Args:
        numbers: The numbers in any order; at least one.

    Returns:
        The spread, never negative; 0 for a single number.

    Raises:
        ValueError: If the list is empty, or the result is too large for a float.

    Examples:
        >>> value_range([3, 9, 4])
        6
        >>> value_range([-1.5, 1])
        2.5
        >>> value_range([8])
        0
    """
    if not numbers:
        raise ValueError("numbers must not be empty")
    result = max(numbers) - min(numbers)
    if result == math.inf:
        raise ValueError("the result is too large")
    return result


def sample_variance(numbers: list[float]) -> float:
    """Give the variance of a sample, squared deviations from the mean divided by count - 1.

    Differs from `population_variance` in the divisor only.

    Args:
        numbers: The numbers; at least two.

    Returns:
        The sample variance, always a float, not rounded.

    Raises:
        ValueError: If there are fewer than two numbers, or the result is too large for a float.

    Examples:
        >>> sample_variance([1, 2, 3])
        1.0
        >>> sample_variance([1, 5])
        8.0
        >>> sample_variance([4, 4, 4])
        0.0
    """
    if len(numbers) < 2:
        raise ValueError("at least two numbers are needed")
    try:
        return float(statistics.variance(numbers))
    except OverflowError as error:
        raise ValueError("the result is too large") from error


def population_variance(numbers: list[float]) -> float:
    """Give the variance of a whole population, squared deviations from the mean divided by count.

    Differs from `sample_variance` in the divisor only.

    Args:
        numbers: The numbers; at least one.

    Returns:
        The population variance, always a float, not rounded; 0.0 for a single number.

    Raises:
        ValueError: If the list is empty, or the result is too large for a float.

    Examples:
        >>> population_variance([1, 5])
        4.0
        >>> population_variance([2, 4, 4, 4, 5, 5, 7, 9])
        4.0
        >>> population_variance([3])
        0.0
    """
    if not numbers:
        raise ValueError("numbers must not be empty")
    try:
        return float(statistics.pvariance(numbers))
    except OverflowError as error:
        raise ValueError("the result is too large") from error


def sample_standard_deviation(numbers: list[float]) -> float:
    """Give the standard deviation of a sample, the square root of its variance with count - 1.

    Differs from `population_standard_deviation` in the divisor only.

    Args:
        numbers: The numbers; at least two.

    Returns:
        The sample standard deviation, always a float, not rounded.

    Raises:
        ValueError: If there are fewer than two numbers, or the result is too large for a float.

    Examples:
        >>> sample_standard_deviation([1, 2, 3])
        1.0
        >>> sample_standard_deviation([1, 3, 5])
        2.0
        >>> sample_standard_deviation([4, 4])
        0.0
    """
    if len(numbers) < 2:
        raise ValueError("at least two numbers are needed")
    try:
        return statistics.stdev(numbers)
    except OverflowError as error:
        raise ValueError("the result is too large") from error


def population_standard_deviation(numbers: list[float]) -> float:
    """Give the standard deviation of a whole population, the square root of its variance with count.

    Differs from `sample_standard_deviation` in the divisor only.

    Args:
        numbers: The numbers; at least one.

    Returns:
        The population standard deviation, always a float, not rounded; 0.0 for a single number.

    Raises:
        ValueError: If the list is empty, or the result is too large for a float.

    Examples:
        >>> population_standard_deviation([1, 5])
        2.0
        >>> population_standard_deviation([2, 4, 4, 4, 5, 5, 7, 9])
        2.0
        >>> population_standard_deviation([3])
        0.0
    """
    if not numbers:
        raise ValueError("numbers must not be empty")
    try:
        return statistics.pstdev(numbers)
    except OverflowError as error:
        raise ValueError("the result is too large") from error


def quantile_linear(numbers: list[float], fraction: float) -> float:
    """Give a quantile, interpolating in a straight line between the two neighboring numbers.

    The quantile lies at position fraction * (count - 1) of the sorted list, counted from 0. Differs from
    `quantile_nearest_rank` in that the result need not be a number of the list.

    Args:
        numbers: The numbers in any order; at least one.
        fraction: The quantile, 0 (smallest) to 1 (largest); 0.5 is the median.

    Returns:
        The interpolated quantile, always a float.

    Raises:
        ValueError: If the list is empty or fraction is not between 0 and 1, or the result is too large for a
            float.

    Examples:
        >>> quantile_linear([10, 20, 30, 40], 0.5)
        25.0
        >>> quantile_linear([40, 10, 30, 20], 0.25)
        17.5
        >>> quantile_linear([10, 20], 1)
        20.0
    """
    if not numbers or not 0 <= fraction <= 1:
        raise ValueError("numbers must not be empty and fraction must be between 0 and 1")
    ordered = sorted(numbers)
    position = fraction * (len(ordered) - 1)
    below = math.floor(position)
    above = math.ceil(position)
    result = float(ordered[below] + (ordered[above] - ordered[below]) * (position - below))
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def quantile_nearest_rank(numbers: list[float], fraction: float) -> float:
    """Give a quantile by nearest rank, so that it is always a number of the list.

    Takes the number at rank fraction * count of the sorted list, counted from 1, a fractional rank (after
    rounding it to 9 decimals) going up to the next one; fraction 0 gives the smallest. Differs from
    `quantile_linear` in that nothing is interpolated.

    Args:
        numbers: The numbers in any order; at least one.
        fraction: The quantile, 0 (smallest) to 1 (largest).

    Returns:
        The smallest number of the list that at least this fraction of the list does not exceed.

    Raises:
        ValueError: If the list is empty or fraction is not between 0 and 1.

    Examples:
        >>> quantile_nearest_rank([10, 20, 30, 40], 0.5)
        20
        >>> quantile_nearest_rank([10, 20, 30, 40], 0.51)
        30
        >>> quantile_nearest_rank([40, 10], 0)
        10
    """
    if not numbers or not 0 <= fraction <= 1:
        raise ValueError("numbers must not be empty and fraction must be between 0 and 1")
    ordered = sorted(numbers)
    return ordered[max(math.ceil(round(fraction * len(ordered), 9)) - 1, 0)]
