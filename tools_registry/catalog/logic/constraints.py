"""Interval conflicts and capacity limits."""


def intervals_overlap(first: list[float], second: list[float]) -> bool:
    """Tell whether two intervals share a stretch of positive length.

    Intervals that merely touch, one ending where the other starts, give False, and an interval of zero
    length overlaps nothing; `intervals_share_point` accepts both.

    Args:
        first: One interval as [start, end].
        second: The other interval as [start, end].

    Returns:
        True if the later start is strictly before the earlier end, otherwise False.

    Raises:
        ValueError: If an interval is not two numbers or its start is after its end.

    Examples:
        >>> intervals_overlap([9, 11], [10, 12])
        True
        >>> intervals_overlap([9, 10], [10, 12])
        False
        >>> intervals_overlap([5, 5], [1, 9])
        False
    """
    if any(len(interval) != 2 or interval[0] > interval[1] for interval in [first, second]):
        raise ValueError("every interval must be [start, end] with start not after end")
    return max(first[0], second[0]) < min(first[1], second[1])


def intervals_share_point(first: list[float], second: list[float]) -> bool:
    """Tell whether two intervals, both ends included, have at least one point in common.

    Intervals that merely touch, one ending where the other starts, give True; `intervals_overlap`
    demands more than a single common point.

    Args:
        first: One interval as [start, end].
        second: The other interval as [start, end].

    Returns:
        True if the later start is not after the earlier end, otherwise False.

    Raises:
        ValueError: If an interval is not two numbers or its start is after its end.

    Examples:
        >>> intervals_share_point([9, 11], [10, 12])
        True
        >>> intervals_share_point([9, 10], [10, 12])
        True
        >>> intervals_share_point([1, 2], [3, 4])
        False
    """
    if any(len(interval) != 2 or interval[0] > interval[1] for interval in [first, second]):
        raise ValueError("every interval must be [start, end] with start not after end")
    return max(first[0], second[0]) <= min(first[1], second[1])


def overlapping_pairs(intervals: list[list[float]]) -> list[list[int]]:
    """List the index pairs of intervals that share a stretch of positive length.

    Indexes count from 0. Intervals that merely touch do not overlap, and an interval of zero length
    overlaps nothing. Fewer than two intervals give an empty list.

    Args:
        intervals: The intervals, each as [start, end].

    Returns:
        Pairs [i, j] with i < j, ordered by i and then by j.

    Raises:
        ValueError: If an interval is not two numbers or its start is after its end.

    Examples:
        >>> overlapping_pairs([[1, 4], [3, 6], [5, 8]])
        [[0, 1], [1, 2]]
        >>> overlapping_pairs([[1, 3], [3, 5]])
        []
        >>> overlapping_pairs([])
        []
    """
    if any(len(interval) != 2 or interval[0] > interval[1] for interval in intervals):
        raise ValueError("every interval must be [start, end] with start not after end")
    return [
        [early, late]
        for early in range(len(intervals))
        for late in range(early + 1, len(intervals))
        if max(intervals[early][0], intervals[late][0]) < min(intervals[early][1], intervals[late][1])
    ]


def take_until_full(sizes: list[float], capacity: float) -> list[float]:
    """Take sizes from the front of a list and stop at the first that no longer fits.

    A running total equal to the capacity still fits. Everything after the first misfit is left out,
    even sizes that would fit; `take_those_that_fit` skips the misfit and goes on.

    Args:
        sizes: The sizes in order of arrival.
        capacity: The largest total allowed.

    Returns:
        The taken sizes, a leading part of the list; empty if the first does not fit.

    Raises:
        ValueError: If a size or the capacity is negative.

    Examples:
        >>> take_until_full([4, 3, 5, 1], 8)
        [4, 3]
        >>> take_until_full([4, 4, 0], 8)
        [4, 4, 0]
        >>> take_until_full([9, 1], 8)
        []
    """
    if capacity < 0 or any(size < 0 for size in sizes):
        raise ValueError("sizes and capacity must not be negative")
    taken = list[float]()
    for size in sizes:
        if sum(taken) + size > capacity:
            break
        taken.append(size)
    return taken


def take_those_that_fit(sizes: list[float], capacity: float) -> list[float]:
    """Go through sizes in order and take each that still fits, skipping those that do not.

    A running total equal to the capacity still fits. Skipped sizes use no capacity, and the choice is
    greedy, not optimal; `take_until_full` stops at the first misfit instead.

    Args:
        sizes: The sizes in order of arrival.
        capacity: The largest total allowed.

    Returns:
        The taken sizes in their original order; empty if none fits.

    Raises:
        ValueError: If a size or the capacity is negative.

    Examples:
        >>> take_those_that_fit([4, 3, 5, 1], 8)
        [4, 3, 1]
        >>> take_those_that_fit([9, 1], 8)
        [1]
        >>> take_those_that_fit([], 8)
        []
    """
    if capacity < 0 or any(size < 0 for size in sizes):
        raise ValueError("sizes and capacity must not be negative")
    taken = list[float]()
    for size in sizes:
        if sum(taken) + size <= capacity:
            taken.append(size)
    return taken
