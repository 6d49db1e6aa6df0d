"""Tools that read, change and merge dictionaries."""

import math
from typing import Any


def get_entry(mapping: dict[str, Any], key: str) -> Any:
    """Read the value stored under a key, which must be there.

    Keys are case-sensitive. A stored None comes back as None.

    Args:
        mapping: The dictionary to read.
        key: The key to look up.

    Returns:
        The value.

    Raises:
        ValueError: If the key is absent.

    Examples:
        >>> get_entry({"a": 1, "b": 2}, "b")
        2
        >>> get_entry({"a": [1, 2]}, "a")
        [1, 2]
        >>> get_entry({"a": ""}, "a")
        ''
    """
    if key not in mapping:
        raise ValueError(f"key {key!r} is absent")
    return mapping[key]


def get_entry_or_default(mapping: dict[str, Any], key: str, default: Any) -> Any:
    """Read the value stored under a key, or give a default if the key is absent.

    Keys are case-sensitive. A stored None comes back as None, not as the default.

    Args:
        mapping: The dictionary to read.
        key: The key to look up.
        default: The value to give if the key is absent.

    Returns:
        The stored value or the default.

    Examples:
        >>> get_entry_or_default({"a": 1}, "a", 0)
        1
        >>> get_entry_or_default({"a": 1}, "A", 0)
        0
        >>> get_entry_or_default({}, "a", "none")
        'none'
    """
    return mapping.get(key, default)


def set_entry(mapping: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Store a value under a key, replacing any value already there.

    A replaced key keeps its place; a new key goes to the end.

    Args:
        mapping: The dictionary to start from.
        key: The key to set.
        value: The value to store.

    Returns:
        A new dictionary with the entry.

    Examples:
        >>> set_entry({"a": 1}, "b", 2)
        {'a': 1, 'b': 2}
        >>> set_entry({"a": 1, "b": 2}, "a", None)
        {'a': None, 'b': 2}
        >>> set_entry({}, "a", [1])
        {'a': [1]}
    """
    return {**mapping, key: value}


def remove_entry(mapping: dict[str, Any], key: str) -> dict[str, Any]:
    """Remove a key and its value from a dictionary.

    Keys are case-sensitive. If the key is absent, the dictionary comes back unchanged.

    Args:
        mapping: The dictionary to start from.
        key: The key to remove.

    Returns:
        A new dictionary without the key.

    Examples:
        >>> remove_entry({"a": 1, "b": 2}, "a")
        {'b': 2}
        >>> remove_entry({"a": 1}, "A")
        {'a': 1}
        >>> remove_entry({}, "a")
        {}
    """
    return {name: value for name, value in mapping.items() if name != key}


def increment_entry(mapping: dict[str, Any], key: str, amount: float) -> dict[str, Any]:
    """Add an amount to the number stored under a key.

    An absent key starts from 0 and goes to the end. A negative amount subtracts.

    Args:
        mapping: The dictionary to start from.
        key: The key whose number changes.
        amount: The amount to add.

    Returns:
        A new dictionary with the changed number.

    Raises:
        ValueError: If the stored value is not a number (booleans and None are not), or the result is too
            large.

    Examples:
        >>> increment_entry({"a": 1, "b": 5}, "a", 2)
        {'a': 3, 'b': 5}
        >>> increment_entry({"a": 1}, "b", 0.5)
        {'a': 1, 'b': 0.5}
        >>> increment_entry({"a": 1}, "a", -3)
        {'a': -2}
    """
    number = mapping.get(key, 0)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise ValueError(f"the value under {key!r} must be a number")
    if abs(number + amount) == math.inf:
        raise ValueError("the result is too large")
    return {**mapping, key: number + amount}


def merge_dicts_keep_first(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Merge two dictionaries, the first one winning where both have a key.

    Values that are dictionaries are not merged further. A first value of None also wins.

    Args:
        first: The dictionary that wins.
        second: The dictionary that supplies the keys absent from the first.

    Returns:
        A new dictionary: keys of the first, then the further keys of the second.

    Examples:
        >>> merge_dicts_keep_first({"a": 1}, {"b": 2})
        {'a': 1, 'b': 2}
        >>> merge_dicts_keep_first({"a": 1, "b": None}, {"b": 2, "a": 3, "c": 4})
        {'a': 1, 'b': None, 'c': 4}
        >>> merge_dicts_keep_first({}, {})
        {}
    """
    return {**first, **{key: value for key, value in second.items() if key not in first}}


def merge_dicts_keep_last(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Merge two dictionaries, the second one winning where both have a key.

    Values that are dictionaries are not merged further. A second value of None also wins.

    Args:
        first: The dictionary to start from.
        second: The dictionary that wins.

    Returns:
        A new dictionary: keys of the first, then the further keys of the second.

    Examples:
        >>> merge_dicts_keep_last({"a": 1}, {"b": 2})
        {'a': 1, 'b': 2}
        >>> merge_dicts_keep_last({"a": 1, "b": 5}, {"b": None, "a": 3, "c": 4})
        {'a': 3, 'b': None, 'c': 4}
        >>> merge_dicts_keep_last({}, {})
        {}
    """
    return {**first, **second}


def key_with_largest_value(mapping: dict[str, float]) -> str:
    """Find the key whose number is the largest.

    Where several keys share the largest number, the first of them in the dictionary is given.

    Args:
        mapping: Keys with numbers, at least one.

    Returns:
        The key.

    Raises:
        ValueError: If the dictionary is empty.

    Examples:
        >>> key_with_largest_value({"a": 3, "b": 8, "c": 5})
        'b'
        >>> key_with_largest_value({"y": 8, "x": 8})
        'y'
        >>> key_with_largest_value({"a": -2, "b": -0.5})
        'b'
    """
    if not mapping:
        raise ValueError("the dictionary must not be empty")
    return max(mapping, key=lambda key: mapping[key])


def key_with_smallest_value(mapping: dict[str, float]) -> str:
    """Find the key whose number is the smallest.

    Where several keys share the smallest number, the first of them in the dictionary is given.

    Args:
        mapping: Keys with numbers, at least one.

    Returns:
        The key.

    Raises:
        ValueError: If the dictionary is empty.

    Examples:
        >>> key_with_smallest_value({"a": 3, "b": 8, "c": 5})
        'a'
        >>> key_with_smallest_value({"y": 3, "x": 3})
        'y'
        >>> key_with_smallest_value({"a": -2, "b": -0.5})
        'a'
    """
    if not mapping:
        raise ValueError("the dictionary must not be empty")
    return min(mapping, key=lambda key: mapping[key])


def entries_to_records(mapping: dict[str, Any], key_field: str, value_field: str) -> list[dict[str, Any]]:
    """Turn each entry of a dictionary into a record with the key in one field and the value in another.

    An empty dictionary gives an empty list.

    Args:
        mapping: The dictionary to turn into records.
        key_field: Name of the field for the key.
        value_field: Name of the field for the value, different from key_field.

    Returns:
        One record for each entry, in dictionary order.

    Raises:
        ValueError: If key_field and value_field are the same.

    Examples:
        >>> entries_to_records({"a": 3, "b": 1}, "name", "count")
        [{'name': 'a', 'count': 3}, {'name': 'b', 'count': 1}]
        >>> entries_to_records({"a": None}, "k", "v")
        [{'k': 'a', 'v': None}]
        >>> entries_to_records({}, "k", "v")
        []
    """
    if key_field == value_field:
        raise ValueError("key_field and value_field must differ")
    return [{key_field: key, value_field: value} for key, value in mapping.items()]
