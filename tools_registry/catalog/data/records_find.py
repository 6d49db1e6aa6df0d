"""Tools that search inside record fields, find a single record, or count the matches."""

from typing import Any


def keep_where_text_contains(records: list[dict[str, Any]], field: str, part: str) -> list[dict[str, Any]]:
    """Keep the records whose text field contains a piece of text.

    Case-sensitive. An empty piece is contained in every text. Records without the field, or with something
    other than text there, are left out.

    Args:
        records: The records to filter.
        field: Name of the text field.
        part: The piece of text to look for.

    Returns:
        The matching records, in their original order.

    Examples:
        >>> keep_where_text_contains([{"t": "green tea"}, {"t": "coffee"}], "t", "tea")
        [{'t': 'green tea'}]
        >>> keep_where_text_contains([{"t": "Tea"}, {"t": "steam"}], "t", "tea")
        [{'t': 'steam'}]
        >>> keep_where_text_contains([{"t": ["tea"]}, {"u": "tea"}], "t", "tea")
        []
    """
    found = [record for record in records if isinstance(record.get(field), str)]
    return [record for record in found if part in record[field]]


def keep_where_list_contains(records: list[dict[str, Any]], field: str, item: Any) -> list[dict[str, Any]]:
    """Keep the records whose list field has a given item.

    Text items must match whole and in case, 3 equals 3.0 and True equals 1. Records without the field, or
    with something other than a list there, are left out.

    Args:
        records: The records to filter.
        field: Name of the list field.
        item: The item to look for.

    Returns:
        The matching records, in their original order.

    Examples:
        >>> keep_where_list_contains([{"tags": ["a", "b"]}, {"tags": ["c"]}], "tags", "b")
        [{'tags': ['a', 'b']}]
        >>> keep_where_list_contains([{"tags": ["ab"]}, {"tags": []}], "tags", "a")
        []
        >>> keep_where_list_contains([{"tags": "a"}, {"x": ["a"]}], "tags", "a")
        []
    """
    found = [record for record in records if isinstance(record.get(field), list)]
    return [record for record in found if item in record[field]]


def find_first_where_equal(records: list[dict[str, Any]], field: str, value: Any) -> dict[str, Any]:
    """Find the first record whose field equals a value.

    Text is case-sensitive, 3 equals 3.0 and True equals 1. Records without the field never match.

    Args:
        records: The records to search, from the start.
        field: Name of the field to compare.
        value: The value wanted.

    Returns:
        The matching record nearest the start.

    Raises:
        ValueError: If no record matches.

    Examples:
        >>> find_first_where_equal([{"id": 1, "n": "x"}, {"id": 2, "n": "y"}], "id", 2)
        {'id': 2, 'n': 'y'}
        >>> find_first_where_equal([{"c": "a", "n": 1}, {"c": "a", "n": 2}], "c", "a")
        {'c': 'a', 'n': 1}
        >>> find_first_where_equal([{"d": "a"}, {"c": "A"}, {"c": "a"}], "c", "a")
        {'c': 'a'}
    """
    for record in records:
        if field in record and record[field] == value:
            return record
    raise ValueError(f"no record has this value in field {field!r}")


def find_last_where_equal(records: list[dict[str, Any]], field: str, value: Any) -> dict[str, Any]:
    """Find the last record whose field equals a value.

    Text is case-sensitive, 3 equals 3.0 and True equals 1. Records without the field never match.

    Args:
        records: The records to search, from the end.
        field: Name of the field to compare.
        value: The value wanted.

    Returns:
        The matching record nearest the end.

    Raises:
        ValueError: If no record matches.

    Examples:
        >>> find_last_where_equal([{"id": 1, "n": "x"}, {"id": 2, "n": "y"}], "id", 1)
        {'id': 1, 'n': 'x'}
        >>> find_last_where_equal([{"c": "a", "n": 1}, {"c": "a", "n": 2}], "c", "a")
        {'c': 'a', 'n': 2}
        >>> find_last_where_equal([{"c": "a"}, {"c": "A"}, {"d": "a"}], "c", "a")
        {'c': 'a'}
    """
    for record in reversed(records):
        if field in record and record[field] == value:
            return record
    raise ValueError(f"no record has this value in field {field!r}")


def find_first_where_above(records: list[dict[str, Any]], field: str, threshold: float) -> dict[str, Any]:
    """Find the first record whose number is strictly greater than a threshold.

    A number equal to the threshold does not match. Records that lack the field or hold None there are
    passed over.

    Args:
        records: The records to search, from the start.
        field: Name of the number field.
        threshold: The limit, itself excluded.

    Returns:
        The matching record nearest the start.

    Raises:
        ValueError: If no record matches, or a value reached during the search is neither a number nor None
            (booleans included).

    Examples:
        >>> find_first_where_above([{"n": 2}, {"n": 7}, {"n": 9}], "n", 5)
        {'n': 7}
        >>> find_first_where_above([{"n": 5}, {"n": 5.1}], "n", 5)
        {'n': 5.1}
        >>> find_first_where_above([{"m": 8}, {"n": None}, {"n": 6}], "n", 5)
        {'n': 6}
    """
    for record in records:
        number = record.get(field)
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise ValueError(f"field {field!r} must hold numbers")
        if number > threshold:
            return record
    raise ValueError(f"no record is above the threshold in field {field!r}")


def count_where_equal(records: list[dict[str, Any]], field: str, value: Any) -> int:
    """Count the records whose field equals a value.

    Text is case-sensitive, 3 equals 3.0 and True equals 1. Records without the field do not count.

    Args:
        records: The records to look at.
        field: Name of the field to compare.
        value: The value wanted.

    Returns:
        The number of matching records; 0 if there are none.

    Examples:
        >>> count_where_equal([{"c": "a"}, {"c": "b"}, {"c": "a"}], "c", "a")
        2
        >>> count_where_equal([{"c": "A"}, {"d": "a"}], "c", "a")
        0
        >>> count_where_equal([], "c", "a")
        0
    """
    return sum(1 for record in records if field in record and record[field] == value)


def count_where_above(records: list[dict[str, Any]], field: str, threshold: float) -> int:
    """Count the records whose number is strictly greater than a threshold.

    A number equal to the threshold does not count. Nor do records that lack the field or hold None there.

    Args:
        records: The records to look at.
        field: Name of the number field.
        threshold: The limit, itself excluded.

    Returns:
        The number of matching records; 0 if there are none.

    Raises:
        ValueError: If the field holds something that is neither a number nor None (booleans included).

    Examples:
        >>> count_where_above([{"n": 4}, {"n": 5}, {"n": 6}], "n", 5)
        1
        >>> count_where_above([{"n": None}, {"m": 9}], "n", 5)
        0
        >>> count_where_above([], "n", 5)
        0
    """
    numbers = [record[field] for record in records if record.get(field) is not None]
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in numbers):
        raise ValueError(f"field {field!r} must hold numbers")
    return sum(1 for number in numbers if number > threshold)


def count_where_at_least(records: list[dict[str, Any]], field: str, threshold: float) -> int:
    """Count the records whose number is greater than or equal to a threshold.

    A number equal to the threshold counts. Records that lack the field or hold None there do not count.

    Args:
        records: The records to look at.
        field: Name of the number field.
        threshold: The limit, itself included.

    Returns:
        The number of matching records; 0 if there are none.

    Raises:
        ValueError: If the field holds something that is neither a number nor None (booleans included).

    Examples:
        >>> count_where_at_least([{"n": 4}, {"n": 5}, {"n": 6}], "n", 5)
        2
        >>> count_where_at_least([{"n": None}, {"m": 9}], "n", 5)
        0
        >>> count_where_at_least([], "n", 5)
        0
    """
    numbers = [record[field] for record in records if record.get(field) is not None]
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in numbers):
        raise ValueError(f"field {field!r} must hold numbers")
    return sum(1 for number in numbers if number >= threshold)
