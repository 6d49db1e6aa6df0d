"""Tools that keep the records whose field meets a condition."""

from typing import Any


def keep_where_equal(records: list[dict[str, Any]], field: str, value: Any) -> list[dict[str, Any]]:
    """Keep the records whose field equals a value.

    Text is case-sensitive, 3 equals 3.0 and True equals 1. Records without the field are left out.

    Args:
        records: The records to filter.
        field: Name of the field to compare.
        value: The value wanted; None keeps records that store None.

    Returns:
        The matching records, in their original order.

    Examples:
        >>> keep_where_equal([{"c": "red"}, {"c": "blue"}], "c", "red")
        [{'c': 'red'}]
        >>> keep_where_equal([{"c": "Red"}, {"d": 1}], "c", "red")
        []
        >>> keep_where_equal([{"n": 1}, {"n": 2}, {"n": 1.0}], "n", 1)
        [{'n': 1}, {'n': 1.0}]
    """
    return [record for record in records if field in record and record[field] == value]


def keep_where_not_equal(records: list[dict[str, Any]], field: str, value: Any) -> list[dict[str, Any]]:
    """Keep the records whose field differs from a value.

    Text is case-sensitive, 3 equals 3.0 and True equals 1. Records without the field are kept.

    Args:
        records: The records to filter.
        field: Name of the field to compare.
        value: The unwanted value.

    Returns:
        The records that do not match, in their original order.

    Examples:
        >>> keep_where_not_equal([{"c": "red"}, {"c": "blue"}], "c", "red")
        [{'c': 'blue'}]
        >>> keep_where_not_equal([{"c": "Red"}, {"d": 1}], "c", "red")
        [{'c': 'Red'}, {'d': 1}]
        >>> keep_where_not_equal([], "c", "red")
        []
    """
    return [record for record in records if field not in record or record[field] != value]


def keep_where_equal_ignoring_case(records: list[dict[str, Any]], field: str, text: str) -> list[dict[str, Any]]:
    """Keep the records whose text field equals a text, upper and lower case being the same.

    Spaces still matter. Records without the field, or with something other than text there, are left out.

    Args:
        records: The records to filter.
        field: Name of the field to compare.
        text: The text wanted, in any case.

    Returns:
        The matching records, in their original order.

    Examples:
        >>> keep_where_equal_ignoring_case([{"c": "Red"}, {"c": "blue"}], "c", "rED")
        [{'c': 'Red'}]
        >>> keep_where_equal_ignoring_case([{"c": " red"}, {"c": "RED"}], "c", "red")
        [{'c': 'RED'}]
        >>> keep_where_equal_ignoring_case([{"c": 5}, {"d": "5"}], "c", "5")
        []
    """
    wanted = text.casefold()
    found = [record for record in records if isinstance(record.get(field), str)]
    return [record for record in found if record[field].casefold() == wanted]


def keep_where_above(records: list[dict[str, Any]], field: str, threshold: float) -> list[dict[str, Any]]:
    """Keep the records whose number is strictly greater than a threshold.

    A number equal to the threshold is left out. So are records that lack the field or hold None there.

    Args:
        records: The records to filter.
        field: Name of the number field.
        threshold: The limit, itself excluded.

    Returns:
        The matching records, in their original order.

    Raises:
        ValueError: If the field holds something that is neither a number nor None (booleans included).

    Examples:
        >>> keep_where_above([{"n": 4}, {"n": 5}, {"n": 6}], "n", 5)
        [{'n': 6}]
        >>> keep_where_above([{"n": None}, {"m": 9}, {"n": 5.5}], "n", 5)
        [{'n': 5.5}]
        >>> keep_where_above([], "n", 5)
        []
    """
    present = [record for record in records if record.get(field) is not None]
    if any(isinstance(r[field], bool) or not isinstance(r[field], (int, float)) for r in present):
        raise ValueError(f"field {field!r} must hold numbers")
    return [record for record in present if record[field] > threshold]


def keep_where_at_least(records: list[dict[str, Any]], field: str, threshold: float) -> list[dict[str, Any]]:
    """Keep the records whose number is greater than or equal to a threshold.

    A number equal to the threshold is kept. Records that lack the field or hold None there are left out.

    Args:
        records: The records to filter.
        field: Name of the number field.
        threshold: The limit, itself included.

    Returns:
        The matching records, in their original order.

    Raises:
        ValueError: If the field holds something that is neither a number nor None (booleans included).

    Examples:
        >>> keep_where_at_least([{"n": 4}, {"n": 5}, {"n": 6}], "n", 5)
        [{'n': 5}, {'n': 6}]
        >>> keep_where_at_least([{"n": None}, {"m": 9}, {"n": 5.0}], "n", 5)
        [{'n': 5.0}]
        >>> keep_where_at_least([], "n", 5)
        []
    """
    present = [record for record in records if record.get(field) is not None]
    if any(isinstance(r[field], bool) or not isinstance(r[field], (int, float)) for r in present):
        raise ValueError(f"field {field!r} must hold numbers")
    return [record for record in present if record[field] >= threshold]


def keep_where_below(records: list[dict[str, Any]], field: str, threshold: float) -> list[dict[str, Any]]:
    """Keep the records whose number is strictly less than a threshold.

    A number equal to the threshold is left out. So are records that lack the field or hold None there.

    Args:
        records: The records to filter.
        field: Name of the number field.
        threshold: The limit, itself excluded.

    Returns:
        The matching records, in their original order.

    Raises:
        ValueError: If the field holds something that is neither a number nor None (booleans included).

    Examples:
        >>> keep_where_below([{"n": 4}, {"n": 5}, {"n": 6}], "n", 5)
        [{'n': 4}]
        >>> keep_where_below([{"n": None}, {"m": 1}, {"n": -2}], "n", 0)
        [{'n': -2}]
        >>> keep_where_below([], "n", 5)
        []
    """
    present = [record for record in records if record.get(field) is not None]
    if any(isinstance(r[field], bool) or not isinstance(r[field], (int, float)) for r in present):
        raise ValueError(f"field {field!r} must hold numbers")
    return [record for record in present if record[field] < threshold]


def keep_where_at_most(records: list[dict[str, Any]], field: str, threshold: float) -> list[dict[str, Any]]:
    """Keep the records whose number is less than or equal to a threshold.

    A number equal to the threshold is kept. Records that lack the field or hold None there are left out.

    Args:
        records: The records to filter.
        field: Name of the number field.
        threshold: The limit, itself included.

    Returns:
        The matching records, in their original order.

    Raises:
        ValueError: If the field holds something that is neither a number nor None (booleans included).

    Examples:
        >>> keep_where_at_most([{"n": 4}, {"n": 5}, {"n": 6}], "n", 5)
        [{'n': 4}, {'n': 5}]
        >>> keep_where_at_most([{"n": None}, {"m": 1}, {"n": 0}], "n", 0)
        [{'n': 0}]
        >>> keep_where_at_most([], "n", 5)
        []
    """
    present = [record for record in records if record.get(field) is not None]
    if any(isinstance(r[field], bool) or not isinstance(r[field], (int, float)) for r in present):
        raise ValueError(f"field {field!r} must hold numbers")
    return [record for record in present if record[field] <= threshold]


def keep_where_between(records: list[dict[str, Any]], field: str, low: float, high: float) -> list[dict[str, Any]]:
    """Keep the records whose number lies in the range from low to high, both ends included.

    Records that lack the field or hold None there are left out.

    Args:
        records: The records to filter.
        field: Name of the number field.
        low: Lower end of the range, included.
        high: Upper end of the range, included.

    Returns:
        The matching records, in their original order.

    Raises:
        ValueError: If low is greater than high, or the field holds something that is neither a number
            nor None (booleans included).

    Examples:
        >>> keep_where_between([{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}], "n", 2, 3)
        [{'n': 2}, {'n': 3}]
        >>> keep_where_between([{"n": None}, {"m": 2}, {"n": 2.5}], "n", 2, 3)
        [{'n': 2.5}]
        >>> keep_where_between([{"n": 2}, {"n": 3}], "n", 2, 2)
        [{'n': 2}]
    """
    if low > high:
        raise ValueError("low must not be greater than high")
    present = [record for record in records if record.get(field) is not None]
    if any(isinstance(r[field], bool) or not isinstance(r[field], (int, float)) for r in present):
        raise ValueError(f"field {field!r} must hold numbers")
    return [record for record in present if low <= record[field] <= high]


def keep_where_in(records: list[dict[str, Any]], field: str, choices: list[Any]) -> list[dict[str, Any]]:
    """Keep the records whose field equals any one of several values.

    Text is case-sensitive, 3 equals 3.0 and True equals 1. Records without the field are left out, and
    an empty list of choices keeps nothing.

    Args:
        records: The records to filter.
        field: Name of the field to compare.
        choices: The accepted values.

    Returns:
        The matching records, in their original order.

    Examples:
        >>> keep_where_in([{"c": "a"}, {"c": "b"}, {"c": "c"}], "c", ["c", "a"])
        [{'c': 'a'}, {'c': 'c'}]
        >>> keep_where_in([{"c": "A"}, {"d": "a"}], "c", ["a"])
        []
        >>> keep_where_in([{"c": "a"}], "c", [])
        []
    """
    return [record for record in records if field in record and record[field] in choices]


def keep_where_present(records: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    """Keep the records that have a field with a value other than None.

    0, False, empty text and empty lists count as present.

    Args:
        records: The records to filter.
        field: Name of the field to look for.

    Returns:
        The records with a value there, in their original order.

    Examples:
        >>> keep_where_present([{"a": 1}, {"b": 2}], "a")
        [{'a': 1}]
        >>> keep_where_present([{"a": 0}, {"a": ""}, {"a": None}], "a")
        [{'a': 0}, {'a': ''}]
        >>> keep_where_present([], "a")
        []
    """
    return [record for record in records if record.get(field) is not None]


def keep_where_missing(records: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    """Keep the records that lack a field or hold None there.

    0, False, empty text and empty lists do not count as missing.

    Args:
        records: The records to filter.
        field: Name of the field to look for.

    Returns:
        The records without a value there, in their original order.

    Examples:
        >>> keep_where_missing([{"a": 1}, {"b": 2}], "a")
        [{'b': 2}]
        >>> keep_where_missing([{"a": 0}, {"a": ""}, {"a": None}], "a")
        [{'a': None}]
        >>> keep_where_missing([], "a")
        []
    """
    return [record for record in records if record.get(field) is None]
