"""Sortedness, cyclic order and the order of dependent tasks."""

import itertools
from typing import Any


def is_sorted_ascending(values: list[float]) -> bool:
    """Tell whether numbers never decrease from left to right.

    Equal neighbors are allowed; `is_strictly_ascending` rejects them. A list of fewer than two numbers
    gives True.

    Args:
        values: The numbers to examine.

    Returns:
        True if every number is at least the one before it, otherwise False.

    Examples:
        >>> is_sorted_ascending([1, 2, 2, 5])
        True
        >>> is_sorted_ascending([1, 3, 2])
        False
        >>> is_sorted_ascending([])
        True
    """
    return all(before <= after for before, after in itertools.pairwise(values))


def is_strictly_ascending(values: list[float]) -> bool:
    """Tell whether numbers strictly increase from left to right.

    Equal neighbors give False; `is_sorted_ascending` allows them. A list of fewer than two numbers
    gives True.

    Args:
        values: The numbers to examine.

    Returns:
        True if every number is greater than the one before it, otherwise False.

    Examples:
        >>> is_strictly_ascending([1, 2, 5])
        True
        >>> is_strictly_ascending([1, 2, 2, 5])
        False
        >>> is_strictly_ascending([7])
        True
    """
    return all(before < after for before, after in itertools.pairwise(values))


def count_inversions(values: list[float]) -> int:
    """Count the pairs of positions, adjacent or not, whose numbers are in the wrong order.

    A pair counts if the earlier number is strictly greater than the later one; equal numbers never
    count. A list sorted ascending gives 0.

    Args:
        values: The numbers to examine.

    Returns:
        The number of out-of-order pairs.

    Examples:
        >>> count_inversions([3, 1, 2])
        2
        >>> count_inversions([3, 2, 1])
        3
        >>> count_inversions([1, 1])
        0
    """
    return sum(1 for index, early in enumerate(values) for late in values[index + 1 :] if early > late)


def swap_first_inversion(values: list[float]) -> list[float]:
    """Swap the leftmost adjacent pair of numbers that is out of ascending order.

    One swap per call: repeating it sorts the list. Equal neighbors are in order. A list that is
    already sorted ascending comes back unchanged.

    Args:
        values: The numbers to improve by one swap.

    Returns:
        A new list with at most one adjacent pair swapped.

    Examples:
        >>> swap_first_inversion([1, 3, 2, 0])
        [1, 2, 3, 0]
        >>> swap_first_inversion([5, 4])
        [4, 5]
        >>> swap_first_inversion([1, 1, 2])
        [1, 1, 2]
    """
    for index in range(len(values) - 1):
        if values[index] > values[index + 1]:
            return [*values[:index], values[index + 1], values[index], *values[index + 2 :]]
    return list(values)


def next_in_cycle(items: list[Any], current: Any) -> Any:
    """Return the item that follows a given item, going from the last back to the first.

    If the given item occurs several times, its first occurrence counts. In a list of one item the item
    follows itself.

    Args:
        items: The items in cyclic order.
        current: The item whose follower is wanted.

    Returns:
        The following item.

    Raises:
        ValueError: If current is not in items.

    Examples:
        >>> next_in_cycle(["red", "green", "amber"], "red")
        'green'
        >>> next_in_cycle(["red", "green", "amber"], "amber")
        'red'
        >>> next_in_cycle([7], 7)
        7
    """
    if current not in items:
        raise ValueError("current is not in items")
    return items[(items.index(current) + 1) % len(items)]


def ready_tasks(dependencies: dict[str, list[str]], done: list[str]) -> list[str]:
    """List the unfinished tasks whose prerequisites are all done.

    Only the keys of `dependencies` are tasks. A task with no prerequisites is ready at once. Tasks
    already done are left out, and ready tasks do not count as done for one another.

    Args:
        dependencies: For each task, the names that must be done before it.
        done: The names already done.

    Returns:
        The ready tasks in alphabetical order; an empty list if nothing can start.

    Examples:
        >>> ready_tasks({"wash": [], "dry": ["wash"], "fold": ["dry"]}, ["wash"])
        ['dry']
        >>> ready_tasks({"b": [], "a": []}, [])
        ['a', 'b']
        >>> ready_tasks({"x": ["y"], "y": ["x"]}, [])
        []
    """
    return sorted(
        task
        for task, prerequisites in dependencies.items()
        if task not in done and all(name in done for name in prerequisites)
    )


def topological_order(dependencies: dict[str, list[str]]) -> list[str]:
    """Order all tasks so that each comes after its prerequisites.

    Whenever several tasks could come next, the alphabetically first one is taken. No tasks give an
    empty list.

    Args:
        dependencies: For each task, the tasks that must come before it; every prerequisite must itself
            be a key.

    Returns:
        All tasks in a valid order.

    Raises:
        ValueError: If a prerequisite is not a key, or the dependencies form a cycle.

    Examples:
        >>> topological_order({"serve": ["cook"], "cook": ["shop"], "shop": []})
        ['shop', 'cook', 'serve']
        >>> topological_order({"c": [], "b": ["c"], "a": []})
        ['a', 'c', 'b']
        >>> topological_order({})
        []
    """
    if any(name not in dependencies for names in dependencies.values() for name in names):
        raise ValueError("every prerequisite must be a task")
    order = list[str]()
    while len(order) < len(dependencies):
        ready = [
            task for task, names in dependencies.items() if task not in order and all(name in order for name in names)
        ]
        if not ready:
            raise ValueError("the dependencies form a cycle")
        order.append(min(ready))
    return order
