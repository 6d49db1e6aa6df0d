"""Relations and similarity of two lists seen as sets."""

from typing import Any


def is_subset(part: list[Any], whole: list[Any]) -> bool:
    """Tell whether every item of one list also occurs in another list.

    Order and repeats do not matter: one occurrence in `whole` is enough for any number in `part`. An
    empty `part` gives True. Equal lists give True.

    Args:
        part: The items that must all be present.
        whole: The list they are looked up in.

    Returns:
        True if nothing in part is missing from whole, otherwise False.

    Examples:
        >>> is_subset(["a", "c"], ["a", "b", "c"])
        True
        >>> is_subset([1, 1], [1])
        True
        >>> is_subset([1, 4], [1, 2, 3])
        False
        >>> is_subset([], [])
        True
    """
    return all(item in whole for item in part)


def is_disjoint(left: list[Any], right: list[Any]) -> bool:
    """Tell whether two lists have no item in common.

    If either list is empty the result is True. Text is compared case-sensitively.

    Args:
        left: The first list.
        right: The second list.

    Returns:
        True if no item of left occurs in right, otherwise False.

    Examples:
        >>> is_disjoint([1, 2], [3, 4])
        True
        >>> is_disjoint(["a", "b"], ["b"])
        False
        >>> is_disjoint([], ["x"])
        True
    """
    return all(item not in right for item in left)


def has_same_members(left: list[Any], right: list[Any]) -> bool:
    """Tell whether two lists hold the same distinct items, ignoring order and repeats.

    `is_permutation_of` also demands that every item occur equally often in both lists.

    Args:
        left: The first list.
        right: The second list.

    Returns:
        True if every item of each list occurs in the other, otherwise False.

    Examples:
        >>> has_same_members([1, 2, 2], [2, 1])
        True
        >>> has_same_members(["a"], ["a", "b"])
        False
        >>> has_same_members([], [])
        True
    """
    return all(item in right for item in left) and all(item in left for item in right)


def is_permutation_of(left: list[Any], right: list[Any]) -> bool:
    """Tell whether two lists hold the same items equally often, ignoring order only.

    `has_same_members` also ignores how often an item is repeated.

    Args:
        left: The first list.
        right: The second list.

    Returns:
        True if one list can be reordered into the other, otherwise False.

    Examples:
        >>> is_permutation_of([3, 1, 1], [1, 3, 1])
        True
        >>> is_permutation_of([1, 2, 2], [2, 1])
        False
        >>> is_permutation_of([], [])
        True
    """
    unmatched = list(right)
    for item in left:
        if item not in unmatched:
            return False
        unmatched.remove(item)
    return not unmatched


def jaccard_index(left: list[Any], right: list[Any]) -> float:
    """Measure how alike two lists are: distinct shared items divided by distinct items overall.

    Order and repeats do not matter, and the measure is symmetric. Two empty lists give 1.0. The result
    is not rounded.

    Args:
        left: The first list.
        right: The second list.

    Returns:
        A number from 0.0 (nothing shared) to 1.0 (the same distinct items).

    Examples:
        >>> jaccard_index([1, 2, 3], [2, 3, 4])
        0.5
        >>> jaccard_index(["a", "a"], ["a"])
        1.0
        >>> jaccard_index(["a"], [])
        0.0
        >>> jaccard_index([], [])
        1.0
    """
    joined = left + right
    union = [item for index, item in enumerate(joined) if item not in joined[:index]]
    shared = [item for item in union if item in left and item in right]
    return len(shared) / len(union) if union else 1.0


def coverage_ratio(required: list[Any], available: list[Any]) -> float:
    """Measure the share of distinct required items that are available.

    Unlike `jaccard_index`, extra available items do not lower the result. Repeats do not matter.
    Nothing required gives 1.0. The result is not rounded.

    Args:
        required: The items that are wanted.
        available: The items at hand.

    Returns:
        A number from 0.0 (none available) to 1.0 (all available).

    Examples:
        >>> coverage_ratio(["nut", "bolt"], ["bolt", "glue", "tape"])
        0.5
        >>> coverage_ratio([1, 1, 2, 3, 4], [1])
        0.25
        >>> coverage_ratio([], ["x"])
        1.0
    """
    wanted = [item for index, item in enumerate(required) if item not in required[:index]]
    if not wanted:
        return 1.0
    return sum(1 for item in wanted if item in available) / len(wanted)
