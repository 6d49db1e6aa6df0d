"""Keeping the numbers of a list that pass a limit."""


def filter_positive(numbers: list[float]) -> list[float]:
    """Keep the numbers strictly greater than zero, in their order.

    Zero is dropped, unlike in `filter_non_negative`.

    Args:
        numbers: The numbers; an empty list gives an empty list.

    Returns:
        The positive numbers, repeats included.

    Examples:
        >>> filter_positive([3, -1, 0, 2])
        [3, 2]
        >>> filter_positive([-1, 0])
        []
        >>> filter_positive([])
        []
    """
    return [number for number in numbers if number > 0]


def filter_non_negative(numbers: list[float]) -> list[float]:
    """Keep the numbers that are zero or greater, in their order.

    Zero is kept, unlike in `filter_positive`.

    Args:
        numbers: The numbers; an empty list gives an empty list.

    Returns:
        The numbers that are not negative, repeats included.

    Examples:
        >>> filter_non_negative([3, -1, 0, 2])
        [3, 0, 2]
        >>> filter_non_negative([-0.5])
        []
        >>> filter_non_negative([])
        []
    """
    return [number for number in numbers if number >= 0]


def filter_above(numbers: list[float], limit: float) -> list[float]:
    """Keep the numbers strictly greater than a limit, in their order.

    Numbers equal to the limit are dropped, unlike in `filter_at_least`.

    Args:
        numbers: The numbers; an empty list gives an empty list.
        limit: The limit, itself excluded.

    Returns:
        The numbers above the limit, repeats included.

    Examples:
        >>> filter_above([1, 5, 3, 5], 3)
        [5, 5]
        >>> filter_above([1, 2], 2)
        []
        >>> filter_above([], 0)
        []
    """
    return [number for number in numbers if number > limit]


def filter_at_least(numbers: list[float], limit: float) -> list[float]:
    """Keep the numbers greater than or equal to a limit, in their order.

    Numbers equal to the limit are kept, unlike in `filter_above`.

    Args:
        numbers: The numbers; an empty list gives an empty list.
        limit: The limit, itself included.

    Returns:
        The numbers not below the limit, repeats included.

    Examples:
        >>> filter_at_least([1, 5, 3, 5], 3)
        [5, 3, 5]
        >>> filter_at_least([1, 2], 3)
        []
        >>> filter_at_least([], 0)
        []
    """
    return [number for number in numbers if number >= limit]


def filter_below(numbers: list[float], limit: float) -> list[float]:
    """Keep the numbers strictly less than a limit, in their order.

    Numbers equal to the limit are dropped.

    Args:
        numbers: The numbers; an empty list gives an empty list.
        limit: The limit, itself excluded.

    Returns:
        The numbers below the limit, repeats included.

    Examples:
        >>> filter_below([1, 5, 3, 1], 3)
        [1, 1]
        >>> filter_below([2, 3], 2)
        []
        >>> filter_below([], 0)
        []
    """
    return [number for number in numbers if number < limit]
