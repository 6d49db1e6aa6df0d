"""Tools that add, remove or move list items, combine lists, or remove repeats."""

from typing import Any


def append_item(items: list[Any], item: Any) -> list[Any]:
    """Add one item at the end of a list.

    A list given as the item is added as a single inner list.

    Args:
        items: The list to extend.
        item: The item to add.

    Returns:
        A new list, one item longer.

    Examples:
        >>> append_item([1, 2], 3)
        [1, 2, 3]
        >>> append_item([1], [2, 3])
        [1, [2, 3]]
        >>> append_item([], "a")
        ['a']
    """
    return [*items, item]


def remove_first_matching_item(items: list[Any], item: Any) -> list[Any]:
    """Remove only the first occurrence of an item from a list.

    A list without the item comes back unchanged. Text is case-sensitive, 3 equals 3.0 and True equals 1.

    Args:
        items: The list to shorten.
        item: The item to remove.

    Returns:
        The remaining items, in order.

    Examples:
        >>> remove_first_matching_item(["a", "b", "a"], "a")
        ['b', 'a']
        >>> remove_first_matching_item(["A", "b"], "a")
        ['A', 'b']
        >>> remove_first_matching_item([], "a")
        []
    """
    if item not in items:
        return items[:]
    place = items.index(item)
    return items[:place] + items[place + 1 :]


def remove_all_matching_items(items: list[Any], item: Any) -> list[Any]:
    """Remove every occurrence of an item from a list.

    A list without the item comes back unchanged. Text is case-sensitive, 3 equals 3.0 and True equals 1.

    Args:
        items: The list to shorten.
        item: The item to remove.

    Returns:
        The remaining items, in order.

    Examples:
        >>> remove_all_matching_items(["a", "b", "a"], "a")
        ['b']
        >>> remove_all_matching_items(["A", "b"], "a")
        ['A', 'b']
        >>> remove_all_matching_items([], "a")
        []
    """
    return [present for present in items if present != item]


def rotate_items_left(items: list[Any], steps: int) -> list[Any]:
    """Move items from the start of a list to its end, one for each step.

    More steps than items go round again; negative steps rotate to the right. An empty list stays empty.

    Args:
        items: The list to rotate.
        steps: How many items to move.

    Returns:
        The rotated list, of the same length.

    Examples:
        >>> rotate_items_left([1, 2, 3, 4], 1)
        [2, 3, 4, 1]
        >>> rotate_items_left([1, 2, 3], -1)
        [3, 1, 2]
        >>> rotate_items_left([1, 2, 3], 4)
        [2, 3, 1]
    """
    shift = steps % len(items) if items else 0
    return items[shift:] + items[:shift]


def flatten_one_level(lists: list[list[Any]]) -> list[Any]:
    """Join the inner lists of a list into one list, opening one level only.

    Empty inner lists add nothing. Lists deeper inside stay lists.

    Args:
        lists: The lists to join, in order.

    Returns:
        The items of all the inner lists.

    Raises:
        ValueError: If an element is not a list.

    Examples:
        >>> flatten_one_level([[1, 2], [3]])
        [1, 2, 3]
        >>> flatten_one_level([[1, [2, 3]], [], [[4]]])
        [1, [2, 3], [4]]
        >>> flatten_one_level([])
        []
    """
    elements = list[Any](lists)
    if any(not isinstance(element, list) for element in elements):
        raise ValueError("every element must be a list")
    return [item for part in lists for item in part]


def zip_lists(first: list[Any], second: list[Any]) -> list[list[Any]]:
    """Pair the items of two lists of equal length, position by position.

    Two empty lists give no pairs.

    Args:
        first: The list that supplies the first item of each pair.
        second: The list that supplies the second item of each pair.

    Returns:
        One two-item list for each position.

    Raises:
        ValueError: If the lists differ in length.

    Examples:
        >>> zip_lists(["a", "b"], [1, 2])
        [['a', 1], ['b', 2]]
        >>> zip_lists([[1]], [None])
        [[[1], None]]
        >>> zip_lists([], [])
        []
    """
    if len(first) != len(second):
        raise ValueError("the lists must have the same length")
    return [[one, two] for one, two in zip(first, second, strict=True)]


def union_lists(first: list[Any], second: list[Any]) -> list[Any]:
    """List the different items that occur in either of two lists, each once.

    Text is case-sensitive, 3 equals 3.0 and True equals 1; of equal items the first met is kept.

    Args:
        first: The list whose items come first.
        second: The list whose further items follow.

    Returns:
        The items without repeats, in order of first appearance.

    Examples:
        >>> union_lists([1, 2], [2, 3])
        [1, 2, 3]
        >>> union_lists(["b", "a", "b"], ["A", "a"])
        ['b', 'a', 'A']
        >>> union_lists([], [])
        []
    """
    both = first + second
    return [item for place, item in enumerate(both) if item not in both[:place]]


def intersect_lists(first: list[Any], second: list[Any]) -> list[Any]:
    """List the different items that occur in both of two lists, each once.

    Text is case-sensitive, 3 equals 3.0 and True equals 1.

    Args:
        first: The list that sets the order.
        second: The list to compare with.

    Returns:
        The common items without repeats, in the order of the first list.

    Examples:
        >>> intersect_lists([1, 2, 3], [3, 1])
        [1, 3]
        >>> intersect_lists(["a", "a", "B"], ["a", "b"])
        ['a']
        >>> intersect_lists([1, 2], [])
        []
    """
    return [item for place, item in enumerate(first) if item in second and item not in first[:place]]


def subtract_lists(first: list[Any], second: list[Any]) -> list[Any]:
    """List the different items of the first list that do not occur in the second, each once.

    Items found only in the second list play no part. Text is case-sensitive, 3 equals 3.0 and True equals 1.

    Args:
        first: The list to take items from.
        second: The list of items to leave out.

    Returns:
        The remaining items without repeats, in the order of the first list.

    Examples:
        >>> subtract_lists([1, 2, 3], [3, 9])
        [1, 2]
        >>> subtract_lists(["a", "a", "B"], ["b"])
        ['a', 'B']
        >>> subtract_lists([1, 2], [2, 1])
        []
    """
    return [item for place, item in enumerate(first) if item not in second and item not in first[:place]]


def dedupe_items_keep_first(items: list[Any]) -> list[Any]:
    """Remove repeated items from a list, keeping the first occurrence of each.

    Text is case-sensitive, 3 equals 3.0 and True equals 1.

    Args:
        items: The list to thin out.

    Returns:
        The kept items, in order of first occurrence.

    Examples:
        >>> dedupe_items_keep_first([3, 1, 3, 2, 1])
        [3, 1, 2]
        >>> dedupe_items_keep_first(["a", "A", ["x"], ["x"]])
        ['a', 'A', ['x']]
        >>> dedupe_items_keep_first([])
        []
    """
    return [item for place, item in enumerate(items) if item not in items[:place]]


def dedupe_items_keep_last(items: list[Any]) -> list[Any]:
    """Remove repeated items from a list, keeping the last occurrence of each.

    Text is case-sensitive, 3 equals 3.0 and True equals 1.

    Args:
        items: The list to thin out.

    Returns:
        The kept items, in order of last occurrence.

    Examples:
        >>> dedupe_items_keep_last([3, 1, 3, 2, 1])
        [3, 2, 1]
        >>> dedupe_items_keep_last(["a", "A", ["x"], ["x"]])
        ['a', 'A', ['x']]
        >>> dedupe_items_keep_last([])
        []
    """
    return [item for place, item in enumerate(items) if item not in items[place + 1 :]]
