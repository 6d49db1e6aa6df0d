"""Tools that take parts of a list, locate items in it, or count them."""

import json
from typing import Any


def item_at(items: list[Any], position: int) -> Any:
    """Read the item at a position of a list.

    Positions start at 0; negative positions count from the end, -1 being the last item.

    Args:
        items: The list to read.
        position: The position of the item.

    Returns:
        The item there.

    Raises:
        ValueError: If there is no such position, as always in an empty list.

    Examples:
        >>> item_at(["a", "b", "c"], 0)
        'a'
        >>> item_at(["a", "b", "c"], 2)
        'c'
        >>> item_at(["a", "b", "c"], -1)
        'c'
    """
    if not -len(items) <= position < len(items):
        raise ValueError("the list has no such position")
    return items[position]


def take_first_items(items: list[Any], count: int) -> list[Any]:
    """Keep only the given count of items from the start of a list.

    A list shorter than the count comes back whole.

    Args:
        items: The list to take from.
        count: How many items to keep, 0 or more.

    Returns:
        The kept items, in order.

    Raises:
        ValueError: If count is negative.

    Examples:
        >>> take_first_items([1, 2, 3, 4], 2)
        [1, 2]
        >>> take_first_items([1, 2], 5)
        [1, 2]
        >>> take_first_items([1, 2], 0)
        []
    """
    if count < 0:
        raise ValueError("count must not be negative")
    return items[:count]


def take_last_items(items: list[Any], count: int) -> list[Any]:
    """Keep only the given count of items from the end of a list.

    A list shorter than the count comes back whole. The order is not reversed.

    Args:
        items: The list to take from.
        count: How many items to keep, 0 or more.

    Returns:
        The kept items, in order.

    Raises:
        ValueError: If count is negative.

    Examples:
        >>> take_last_items([1, 2, 3, 4], 2)
        [3, 4]
        >>> take_last_items([1, 2], 5)
        [1, 2]
        >>> take_last_items([1, 2], 0)
        []
    """
    if count < 0:
        raise ValueError("count must not be negative")
    return items[max(0, len(items) - count) :]


def drop_first_items(items: list[Any], count: int) -> list[Any]:
    """Remove the given count of items from the start of a list.

    A list no longer than the count becomes empty.

    Args:
        items: The list to shorten.
        count: How many items to remove, 0 or more.

    Returns:
        The remaining items, in order.

    Raises:
        ValueError: If count is negative.

    Examples:
        >>> drop_first_items([1, 2, 3, 4], 1)
        [2, 3, 4]
        >>> drop_first_items([1, 2], 5)
        []
        >>> drop_first_items([1, 2], 0)
        [1, 2]
    """
    if count < 0:
        raise ValueError("count must not be negative")
    return items[count:]


def slice_items(items: list[Any], start: int, stop: int) -> list[Any]:
    """Take the items from a start position up to, but not including, a stop position.

    Positions start at 0. Positions past the end are cut to the end; a stop not after the start gives an
    empty list.

    Args:
        items: The list to take from.
        start: Position of the first item taken, 0 or more.
        stop: Position just after the last item taken, 0 or more.

    Returns:
        The items in between, in order.

    Raises:
        ValueError: If start or stop is negative.

    Examples:
        >>> slice_items(["a", "b", "c", "d"], 1, 3)
        ['b', 'c']
        >>> slice_items(["a", "b"], 1, 9)
        ['b']
        >>> slice_items(["a", "b"], 1, 1)
        []
    """
    if start < 0 or stop < 0:
        raise ValueError("start and stop must not be negative")
    return items[start:stop]


def position_of_first(items: list[Any], item: Any) -> int:
    """Find the position of the first occurrence of an item, counting from 0.

    Text is case-sensitive, 3 equals 3.0 and True equals 1.

    Args:
        items: The list to search.
        item: The item to look for.

    Returns:
        The smallest position at which the item stands.

    Raises:
        ValueError: If the item is not in the list.

    Examples:
        >>> position_of_first(["a", "b", "a"], "a")
        0
        >>> position_of_first(["A", "b", "a"], "a")
        2
        >>> position_of_first([5, 4.0, 4], 4)
        1
    """
    if item not in items:
        raise ValueError("the item is not in the list")
    return items.index(item)


def position_of_last(items: list[Any], item: Any) -> int:
    """Find the position of the last occurrence of an item, counting from 0 at the start.

    Text is case-sensitive, 3 equals 3.0 and True equals 1.

    Args:
        items: The list to search.
        item: The item to look for.

    Returns:
        The largest position at which the item stands.

    Raises:
        ValueError: If the item is not in the list.

    Examples:
        >>> position_of_last(["a", "b", "a"], "a")
        2
        >>> position_of_last(["a", "b", "A"], "a")
        0
        >>> position_of_last([4, 4.0, 5], 4)
        1
    """
    if item not in items:
        raise ValueError("the item is not in the list")
    return len(items) - 1 - items[::-1].index(item)


def count_item(items: list[Any], item: Any) -> int:
    """Count how many times an item occurs in a list.

    Text is case-sensitive, 3 equals 3.0 and True equals 1. Items inside inner lists do not count.

    Args:
        items: The list to search.
        item: The item to count.

    Returns:
        The number of occurrences; 0 if there are none.

    Examples:
        >>> count_item(["a", "b", "a"], "a")
        2
        >>> count_item(["A", ["a"]], "a")
        0
        >>> count_item([], "a")
        0
    """
    return items.count(item)


def chunk_items(items: list[Any], size: int) -> list[list[Any]]:
    """Cut a list into consecutive pieces of a given size.

    The last piece is shorter if the length does not divide evenly. An empty list gives no pieces.

    Args:
        items: The list to cut.
        size: Items in each piece, 1 or more.

    Returns:
        The pieces, in order.

    Raises:
        ValueError: If size is less than 1.

    Examples:
        >>> chunk_items([1, 2, 3, 4], 2)
        [[1, 2], [3, 4]]
        >>> chunk_items([1, 2, 3], 2)
        [[1, 2], [3]]
        >>> chunk_items([], 2)
        []
    """
    if size < 1:
        raise ValueError("size must be at least 1")
    return [items[start : start + size] for start in range(0, len(items), size)]


def tally_items(items: list[Any]) -> dict[str, int]:
    """Count the occurrences of every different item of a list.

    A text item is the key as it is, case-sensitive; any other item becomes its JSON text (3 gives "3", True
    gives "true", None gives "null").

    Args:
        items: The items to count.

    Returns:
        Item to number of occurrences; keys in order of first appearance.

    Examples:
        >>> tally_items(["b", "a", "b"])
        {'b': 2, 'a': 1}
        >>> tally_items([3, "3", True, None])
        {'3': 2, 'true': 1, 'null': 1}
        >>> tally_items([])
        {}
    """
    counts = dict[str, int]()
    for item in items:
        name = item if isinstance(item, str) else json.dumps(item)
        counts[name] = counts.get(name, 0) + 1
    return counts
