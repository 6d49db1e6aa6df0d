"""Tools that group records, index them, or add up and average their fields."""

import json
import math
from typing import Any


def group_records_by(records: list[dict[str, Any]], field: str) -> dict[str, list[dict[str, Any]]]:
    """Gather the records that share a field value into groups.

    A text value is the group name as it is, case-sensitive; any other value is named by its JSON text (3
    gives "3", True gives "true", None gives "null").

    Args:
        records: The records to group.
        field: Name of the field to group by.

    Returns:
        Group name to its records in original order; groups in order of first appearance.

    Raises:
        ValueError: If a record lacks the field.

    Examples:
        >>> group_records_by([{"c": "a", "n": 1}, {"c": "b", "n": 2}, {"c": "a", "n": 3}], "c")
        {'a': [{'c': 'a', 'n': 1}, {'c': 'a', 'n': 3}], 'b': [{'c': 'b', 'n': 2}]}
        >>> group_records_by([{"n": 2}, {"n": None}, {"n": "2"}], "n")
        {'2': [{'n': 2}, {'n': '2'}], 'null': [{'n': None}]}
        >>> group_records_by([], "c")
        {}
    """
    groups = dict[str, list[dict[str, Any]]]()
    for record in records:
        if field not in record:
            raise ValueError(f"every record must have field {field!r}")
        value = record[field]
        name = value if isinstance(value, str) else json.dumps(value)
        groups.setdefault(name, []).append(record)
    return groups


def count_records_by(records: list[dict[str, Any]], field: str) -> dict[str, int]:
    """Count the records for each value of a field.

    A text value is the group name as it is, case-sensitive; any other value is named by its JSON text (3
    gives "3", True gives "true", None gives "null").

    Args:
        records: The records to count.
        field: Name of the field to group by.

    Returns:
        Group name to number of records; groups in order of first appearance.

    Raises:
        ValueError: If a record lacks the field.

    Examples:
        >>> count_records_by([{"c": "a"}, {"c": "b"}, {"c": "a"}], "c")
        {'a': 2, 'b': 1}
        >>> count_records_by([{"ok": True}, {"ok": None}, {"ok": True}], "ok")
        {'true': 2, 'null': 1}
        >>> count_records_by([], "c")
        {}
    """
    counts = dict[str, int]()
    for record in records:
        if field not in record:
            raise ValueError(f"every record must have field {field!r}")
        value = record[field]
        name = value if isinstance(value, str) else json.dumps(value)
        counts[name] = counts.get(name, 0) + 1
    return counts


def sum_field_by(records: list[dict[str, Any]], group_field: str, number_field: str) -> dict[str, float]:
    """Add up a number field for each value of a group field.

    A text value is the group name as it is, case-sensitive; any other value is named by its JSON text (3
    gives "3", True gives "true", None gives "null").

    Args:
        records: The records to add up.
        group_field: Name of the field to group by.
        number_field: Name of the field to add up.

    Returns:
        Group name to total; groups in order of first appearance.

    Raises:
        ValueError: If a record lacks a field, its number field holds no number (booleans are not numbers),
            or a total is too large.

    Examples:
        >>> sum_field_by([{"c": "a", "n": 1}, {"c": "b", "n": 2}, {"c": "a", "n": 3}], "c", "n")
        {'a': 4, 'b': 2}
        >>> sum_field_by([{"y": 2024, "n": -1.5}, {"y": 2024, "n": 1.5}], "y", "n")
        {'2024': 0.0}
        >>> sum_field_by([], "c", "n")
        {}
    """
    totals = dict[str, float]()
    for record in records:
        number = record.get(number_field)
        if group_field not in record or isinstance(number, bool) or not isinstance(number, (int, float)):
            raise ValueError(f"every record must have {group_field!r} and a number in {number_field!r}")
        value = record[group_field]
        name = value if isinstance(value, str) else json.dumps(value)
        totals[name] = totals.get(name, 0) + number
    if any(abs(total) == math.inf for total in totals.values()):
        raise ValueError("a total is too large")
    return totals


def mean_field_by(records: list[dict[str, Any]], group_field: str, number_field: str) -> dict[str, float]:
    """Average a number field for each value of a group field.

    The average is not rounded. A text value is the group name as it is, case-sensitive; any other value is
    named by its JSON text (3 gives "3", True gives "true", None gives "null").

    Args:
        records: The records to average.
        group_field: Name of the field to group by.
        number_field: Name of the field to average.

    Returns:
        Group name to arithmetic mean, a float; groups in order of first appearance.

    Raises:
        ValueError: If a record lacks a field, its number field holds no number (booleans are not numbers),
            or a total is too large.

    Examples:
        >>> mean_field_by([{"c": "a", "n": 1}, {"c": "b", "n": 2}, {"c": "a", "n": 4}], "c", "n")
        {'a': 2.5, 'b': 2.0}
        >>> mean_field_by([{"y": 2024, "n": -1}, {"y": 2024, "n": 1}], "y", "n")
        {'2024': 0.0}
        >>> mean_field_by([], "c", "n")
        {}
    """
    numbers = dict[str, list[float]]()
    for record in records:
        number = record.get(number_field)
        if group_field not in record or isinstance(number, bool) or not isinstance(number, (int, float)):
            raise ValueError(f"every record must have {group_field!r} and a number in {number_field!r}")
        value = record[group_field]
        name = value if isinstance(value, str) else json.dumps(value)
        numbers.setdefault(name, []).append(number)
    means = {name: sum(group) / len(group) for name, group in numbers.items()}
    if any(abs(mean) == math.inf for mean in means.values()):
        raise ValueError("a total is too large")
    return means


def index_records_keep_first(records: list[dict[str, Any]], field: str) -> dict[str, dict[str, Any]]:
    """Build a lookup from field value to record, the first record winning where a value repeats.

    A text value is the key as it is, case-sensitive; any other value becomes its JSON text (3 gives "3",
    True gives "true", None gives "null").

    Args:
        records: The records to index.
        field: Name of the field that supplies the keys.

    Returns:
        Key to record; keys in order of first appearance.

    Raises:
        ValueError: If a record lacks the field.

    Examples:
        >>> index_records_keep_first([{"id": "a", "n": 1}, {"id": "b", "n": 2}], "id")
        {'a': {'id': 'a', 'n': 1}, 'b': {'id': 'b', 'n': 2}}
        >>> index_records_keep_first([{"id": 7, "n": 1}, {"id": 7, "n": 2}], "id")
        {'7': {'id': 7, 'n': 1}}
        >>> index_records_keep_first([], "id")
        {}
    """
    index = dict[str, dict[str, Any]]()
    for record in records:
        if field not in record:
            raise ValueError(f"every record must have field {field!r}")
        value = record[field]
        name = value if isinstance(value, str) else json.dumps(value)
        if name not in index:
            index[name] = record
    return index


def index_records_keep_last(records: list[dict[str, Any]], field: str) -> dict[str, dict[str, Any]]:
    """Build a lookup from field value to record, the last record winning where a value repeats.

    A text value is the key as it is, case-sensitive; any other value becomes its JSON text (3 gives "3",
    True gives "true", None gives "null").

    Args:
        records: The records to index.
        field: Name of the field that supplies the keys.

    Returns:
        Key to record; keys in order of first appearance.

    Raises:
        ValueError: If a record lacks the field.

    Examples:
        >>> index_records_keep_last([{"id": "a", "n": 1}, {"id": "b", "n": 2}], "id")
        {'a': {'id': 'a', 'n': 1}, 'b': {'id': 'b', 'n': 2}}
        >>> index_records_keep_last([{"id": 7, "n": 1}, {"id": 7, "n": 2}], "id")
        {'7': {'id': 7, 'n': 2}}
        >>> index_records_keep_last([], "id")
        {}
    """
    index = dict[str, dict[str, Any]]()
    for record in records:
        if field not in record:
            raise ValueError(f"every record must have field {field!r}")
        value = record[field]
        name = value if isinstance(value, str) else json.dumps(value)
        index[name] = record
    return index


def pivot_sum(
    records: list[dict[str, Any]], row_field: str, column_field: str, number_field: str
) -> dict[str, dict[str, float]]:
    """Total a number field for each combination of a row value and a column value.

    Combinations that do not occur are absent, not 0. Text values name rows and columns as they are; any
    other value is named by its JSON text (3 gives "3", True gives "true", None gives "null").

    Args:
        records: The records to total.
        row_field: Name of the field that supplies the outer keys.
        column_field: Name of the field that supplies the inner keys.
        number_field: Name of the field to add up.

    Returns:
        Row name to column name to total; names in order of first appearance.

    Raises:
        ValueError: If a record lacks a field, its number field holds no number (booleans are not numbers),
            or a total is too large.

    Examples:
        >>> pivot_sum([{"r": "x", "c": "p", "n": 1}, {"r": "x", "c": "q", "n": 2}], "r", "c", "n")
        {'x': {'p': 1, 'q': 2}}
        >>> pivot_sum([{"r": 1, "c": "p", "n": 4}, {"r": 1, "c": "p", "n": 5}], "r", "c", "n")
        {'1': {'p': 9}}
        >>> pivot_sum([], "r", "c", "n")
        {}
    """
    table = dict[str, dict[str, float]]()
    for record in records:
        number = record.get(number_field)
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise ValueError(f"field {number_field!r} must hold a number in every record")
        if row_field not in record or column_field not in record:
            raise ValueError(f"every record must have fields {row_field!r} and {column_field!r}")
        labels = [record[row_field], record[column_field]]
        row, column = [label if isinstance(label, str) else json.dumps(label) for label in labels]
        line = table.get(row, {})
        table[row] = {**line, column: line.get(column, 0) + number}
    if any(abs(total) == math.inf for line in table.values() for total in line.values()):
        raise ValueError("a total is too large")
    return table


def sum_of_field(records: list[dict[str, Any]], field: str) -> float:
    """Add up a number field over all records.

    No records give 0.

    Args:
        records: The records to add up.
        field: Name of the number field.

    Returns:
        The total.

    Raises:
        ValueError: If a record lacks the field or holds no number there (booleans are not numbers), or the
            total is too large.

    Examples:
        >>> sum_of_field([{"n": 3}, {"n": 4}], "n")
        7
        >>> sum_of_field([{"n": 1.5}, {"n": -2}], "n")
        -0.5
        >>> sum_of_field([], "n")
        0
    """
    numbers = [record.get(field) for record in records]
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in numbers):
        raise ValueError(f"field {field!r} must hold a number in every record")
    total = sum(record[field] for record in records)
    if abs(total) == math.inf:
        raise ValueError("the total is too large")
    return total


def mean_of_field(records: list[dict[str, Any]], field: str) -> float:
    """Average a number field over all records.

    The arithmetic mean is not rounded and always a float.

    Args:
        records: The records to average, at least one.
        field: Name of the number field.

    Returns:
        The mean.

    Raises:
        ValueError: If there are no records, a record lacks the field or holds no number there (booleans are
            not numbers), or the total is too large.

    Examples:
        >>> mean_of_field([{"n": 3}, {"n": 4}], "n")
        3.5
        >>> mean_of_field([{"n": 1}, {"n": -1}], "n")
        0.0
        >>> mean_of_field([{"n": 6}], "n")
        6.0
    """
    if not records:
        raise ValueError("there must be at least one record")
    numbers = [record.get(field) for record in records]
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in numbers):
        raise ValueError(f"field {field!r} must hold a number in every record")
    mean = sum(record[field] for record in records) / len(records)
    if abs(mean) == math.inf:
        raise ValueError("the total is too large")
    return mean
