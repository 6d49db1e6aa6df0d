"""Tools that sort and rank records, pick the extreme ones, or remove duplicates."""

from typing import Any


def sort_records_ascending(records: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    """Sort records by a field, smallest first.

    Records with equal values keep their order. Text sorts by character code, so capitals come before small
    letters; dates written YYYY-MM-DD sort from earliest to latest.

    Args:
        records: The records to sort.
        field: Name of the field to sort by.

    Returns:
        The sorted records.

    Raises:
        ValueError: If the field is not a number in every record or text in every record (booleans and None
            are neither).

    Examples:
        >>> sort_records_ascending([{"n": 3}, {"n": 1}, {"n": 2}], "n")
        [{'n': 1}, {'n': 2}, {'n': 3}]
        >>> sort_records_ascending([{"t": "b"}, {"t": "a", "k": 1}, {"t": "B"}, {"t": "a", "k": 2}], "t")
        [{'t': 'B'}, {'t': 'a', 'k': 1}, {'t': 'a', 'k': 2}, {'t': 'b'}]
        >>> sort_records_ascending([], "n")
        []
    """
    values = [record.get(field) for record in records]
    numeric = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    if not numeric and not all(isinstance(value, str) for value in values):
        raise ValueError(f"field {field!r} must hold only numbers or only text")
    return sorted(records, key=lambda record: record[field])


def sort_records_descending(records: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    """Sort records by a field, largest first.

    Records with equal values keep their order. Text sorts by character code, so small letters come before
    capitals; dates written YYYY-MM-DD sort from latest to earliest.

    Args:
        records: The records to sort.
        field: Name of the field to sort by.

    Returns:
        The sorted records.

    Raises:
        ValueError: If the field is not a number in every record or text in every record (booleans and None
            are neither).

    Examples:
        >>> sort_records_descending([{"n": 3}, {"n": 1}, {"n": 2}], "n")
        [{'n': 3}, {'n': 2}, {'n': 1}]
        >>> sort_records_descending([{"t": "a", "k": 1}, {"t": "b"}, {"t": "a", "k": 2}], "t")
        [{'t': 'b'}, {'t': 'a', 'k': 1}, {'t': 'a', 'k': 2}]
        >>> sort_records_descending([], "n")
        []
    """
    values = [record.get(field) for record in records]
    numeric = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    if not numeric and not all(isinstance(value, str) for value in values):
        raise ValueError(f"field {field!r} must hold only numbers or only text")
    return sorted(records, key=lambda record: record[field], reverse=True)


def sort_records_by_two_fields(records: list[dict[str, Any]], first: str, second: str) -> list[dict[str, Any]]:
    """Sort records by one field and, where that is equal, by a second field, both smallest first.

    Records equal in both fields keep their order. Text sorts by character code, capitals first.

    Args:
        records: The records to sort.
        first: Name of the field that decides first.
        second: Name of the field that breaks ties.

    Returns:
        The sorted records.

    Raises:
        ValueError: If either field is not a number in every record or text in every record (booleans and
            None are neither).

    Examples:
        >>> sort_records_by_two_fields([{"a": 2, "b": 1}, {"a": 1, "b": 9}, {"a": 1, "b": 3}], "a", "b")
        [{'a': 1, 'b': 3}, {'a': 1, 'b': 9}, {'a': 2, 'b': 1}]
        >>> sort_records_by_two_fields([{"a": "y", "b": 1}, {"a": "x", "b": 2}], "a", "b")
        [{'a': 'x', 'b': 2}, {'a': 'y', 'b': 1}]
        >>> sort_records_by_two_fields([], "a", "b")
        []
    """
    for name in (first, second):
        values = [record.get(name) for record in records]
        numeric = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
        if not numeric and not all(isinstance(value, str) for value in values):
            raise ValueError(f"field {name!r} must hold only numbers or only text")
    return sorted(records, key=lambda record: (record[first], record[second]))


def record_with_largest(records: list[dict[str, Any]], field: str) -> dict[str, Any]:
    """Pick the record with the largest number in a field.

    Where several share the largest number, the first of them is picked.

    Args:
        records: The records to choose from, at least one.
        field: Name of the number field.

    Returns:
        The whole record.

    Raises:
        ValueError: If there are no records, or a record has no number in the field (booleans are not
            numbers).

    Examples:
        >>> record_with_largest([{"id": "a", "n": 3}, {"id": "b", "n": 8}, {"id": "c", "n": 5}], "n")
        {'id': 'b', 'n': 8}
        >>> record_with_largest([{"id": "a", "n": 8}, {"id": "b", "n": 8}], "n")
        {'id': 'a', 'n': 8}
        >>> record_with_largest([{"n": -4}, {"n": -1.5}], "n")
        {'n': -1.5}
    """
    if not records:
        raise ValueError("there must be at least one record")
    values = [record.get(field) for record in records]
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in values):
        raise ValueError(f"field {field!r} must hold a number in every record")
    return max(records, key=lambda record: record[field])


def record_with_smallest(records: list[dict[str, Any]], field: str) -> dict[str, Any]:
    """Pick the record with the smallest number in a field.

    Where several share the smallest number, the first of them is picked.

    Args:
        records: The records to choose from, at least one.
        field: Name of the number field.

    Returns:
        The whole record.

    Raises:
        ValueError: If there are no records, or a record has no number in the field (booleans are not
            numbers).

    Examples:
        >>> record_with_smallest([{"id": "a", "n": 3}, {"id": "b", "n": 8}, {"id": "c", "n": 5}], "n")
        {'id': 'a', 'n': 3}
        >>> record_with_smallest([{"id": "a", "n": 8}, {"id": "b", "n": 8}], "n")
        {'id': 'a', 'n': 8}
        >>> record_with_smallest([{"n": -4}, {"n": -1.5}], "n")
        {'n': -4}
    """
    if not records:
        raise ValueError("there must be at least one record")
    values = [record.get(field) for record in records]
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in values):
        raise ValueError(f"field {field!r} must hold a number in every record")
    return min(records, key=lambda record: record[field])


def top_records(records: list[dict[str, Any]], field: str, count: int) -> list[dict[str, Any]]:
    """Take the given count of records with the largest numbers in a field, largest first.

    Records with equal numbers keep their order, and ties at the cut are not extended. If there are fewer
    records than asked for, all come back.

    Args:
        records: The records to choose from.
        field: Name of the number field.
        count: How many records to take, 0 or more.

    Returns:
        At most count records, sorted from largest to smallest.

    Raises:
        ValueError: If count is negative, or a record has no number in the field (booleans are not numbers).

    Examples:
        >>> top_records([{"n": 3}, {"n": 8}, {"n": 5}], "n", 2)
        [{'n': 8}, {'n': 5}]
        >>> top_records([{"id": "a", "n": 8}, {"id": "b", "n": 8}], "n", 1)
        [{'id': 'a', 'n': 8}]
        >>> top_records([{"n": 1}, {"n": 2}], "n", 5)
        [{'n': 2}, {'n': 1}]
    """
    if count < 0:
        raise ValueError("count must not be negative")
    values = [record.get(field) for record in records]
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in values):
        raise ValueError(f"field {field!r} must hold a number in every record")
    return sorted(records, key=lambda record: record[field], reverse=True)[:count]


def dedupe_records_keep_first(records: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    """Keep only the first record for each value of a field.

    Text is case-sensitive, 3 equals 3.0 and True equals 1. None counts as a value like any other.

    Args:
        records: The records to thin out.
        field: Name of the field whose values must not repeat.

    Returns:
        The kept records, in their original order.

    Raises:
        ValueError: If a record lacks the field.

    Examples:
        >>> dedupe_records_keep_first([{"id": 1, "n": 5}, {"id": 2}, {"id": 1, "n": 6}], "id")
        [{'id': 1, 'n': 5}, {'id': 2}]
        >>> dedupe_records_keep_first([{"c": "a"}, {"c": "A"}, {"c": None}, {"c": None}], "c")
        [{'c': 'a'}, {'c': 'A'}, {'c': None}]
        >>> dedupe_records_keep_first([], "id")
        []
    """
    if any(field not in record for record in records):
        raise ValueError(f"every record must have field {field!r}")
    values = [record[field] for record in records]
    return [record for place, record in enumerate(records) if record[field] not in values[:place]]


def dedupe_records_keep_last(records: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    """Keep only the last record for each value of a field.

    A kept record stays at its own place, after any that came before it. Text is case-sensitive, 3 equals
    3.0 and True equals 1. None counts as a value like any other.

    Args:
        records: The records to thin out.
        field: Name of the field whose values must not repeat.

    Returns:
        The kept records, in their original order.

    Raises:
        ValueError: If a record lacks the field.

    Examples:
        >>> dedupe_records_keep_last([{"id": 1, "n": 5}, {"id": 2}, {"id": 1, "n": 6}], "id")
        [{'id': 2}, {'id': 1, 'n': 6}]
        >>> dedupe_records_keep_last([{"c": "a"}, {"c": "A"}, {"c": None}, {"c": None}], "c")
        [{'c': 'a'}, {'c': 'A'}, {'c': None}]
        >>> dedupe_records_keep_last([], "id")
        []
    """
    if any(field not in record for record in records):
        raise ValueError(f"every record must have field {field!r}")
    values = [record[field] for record in records]
    return [record for place, record in enumerate(records) if record[field] not in values[place + 1 :]]


def rank_records_dense(records: list[dict[str, Any]], field: str, target: str) -> list[dict[str, Any]]:
    """Add to each record its rank by a number field, largest is 1, without gaps after ties.

    Equal numbers share a rank and the next lower number gets the next rank: 9, 7, 7, 5 rank 1, 2, 2, 3. An
    existing target field is overwritten.

    Args:
        records: The records to rank.
        field: Name of the number field.
        target: Name of the field for the rank.

    Returns:
        The records in their original order, each with its rank.

    Raises:
        ValueError: If a record has no number in the field (booleans are not numbers).

    Examples:
        >>> rank_records_dense([{"n": 7}, {"n": 9}, {"n": 7}, {"n": 5}], "n", "r")
        [{'n': 7, 'r': 2}, {'n': 9, 'r': 1}, {'n': 7, 'r': 2}, {'n': 5, 'r': 3}]
        >>> rank_records_dense([{"n": 4}, {"n": 4.0}], "n", "n")
        [{'n': 1}, {'n': 1}]
        >>> rank_records_dense([], "n", "r")
        []
    """
    values = [record.get(field) for record in records]
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in values):
        raise ValueError(f"field {field!r} must hold a number in every record")
    levels = sorted({record[field] for record in records}, reverse=True)
    return [{**record, target: levels.index(record[field]) + 1} for record in records]


def rank_records_with_gaps(records: list[dict[str, Any]], field: str, target: str) -> list[dict[str, Any]]:
    """Add to each record its rank by a number field, largest is 1, with gaps after ties.

    The rank is 1 plus the count of records with a larger number: 9, 7, 7, 5 rank 1, 2, 2, 4. An existing
    target field is overwritten.

    Args:
        records: The records to rank.
        field: Name of the number field.
        target: Name of the field for the rank.

    Returns:
        The records in their original order, each with its rank.

    Raises:
        ValueError: If a record has no number in the field (booleans are not numbers).

    Examples:
        >>> rank_records_with_gaps([{"n": 7}, {"n": 9}, {"n": 7}, {"n": 5}], "n", "r")
        [{'n': 7, 'r': 2}, {'n': 9, 'r': 1}, {'n': 7, 'r': 2}, {'n': 5, 'r': 4}]
        >>> rank_records_with_gaps([{"n": 4}, {"n": 4.0}], "n", "n")
        [{'n': 1}, {'n': 1}]
        >>> rank_records_with_gaps([], "n", "r")
        []
    """
    values = [record.get(field) for record in records]
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in values):
        raise ValueError(f"field {field!r} must hold a number in every record")
    levels = sorted([record[field] for record in records], reverse=True)
    return [{**record, target: levels.index(record[field]) + 1} for record in records]
