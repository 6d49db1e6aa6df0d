"""Tools that choose, rename, fill or compute the fields of records."""

import math
from typing import Any


def pluck_field(records: list[dict[str, Any]], field: str) -> list[Any]:
    """List the values of one field, one for each record.

    Repeats and None values are kept. An empty list gives an empty list.

    Args:
        records: The records to read.
        field: Name of the field, which every record must have.

    Returns:
        The values, in record order.

    Raises:
        ValueError: If a record lacks the field.

    Examples:
        >>> pluck_field([{"n": 3}, {"n": 1}, {"n": 3}], "n")
        [3, 1, 3]
        >>> pluck_field([{"n": "a", "m": 0}, {"n": None}], "n")
        ['a', None]
        >>> pluck_field([], "n")
        []
    """
    if any(field not in record for record in records):
        raise ValueError(f"every record must have field {field!r}")
    return [record[field] for record in records]


def pluck_field_or_default(records: list[dict[str, Any]], field: str, default: Any) -> list[Any]:
    """List the values of one field, with a default in place of each absent field.

    A field that holds None is not absent: it gives None.

    Args:
        records: The records to read.
        field: Name of the field.
        default: The value to give for a record without the field.

    Returns:
        One value for each record, in record order.

    Examples:
        >>> pluck_field_or_default([{"n": 3}, {"m": 1}], "n", 0)
        [3, 0]
        >>> pluck_field_or_default([{"n": None}, {}], "n", "?")
        [None, '?']
        >>> pluck_field_or_default([], "n", 0)
        []
    """
    return [record.get(field, default) for record in records]


def select_fields(records: list[dict[str, Any]], fields: list[str]) -> list[dict[str, Any]]:
    """Reduce every record to the listed fields.

    Fields come in the listed order; a field that a record lacks is skipped for that record.

    Args:
        records: The records to reduce.
        fields: Names of the fields to keep.

    Returns:
        As many records as given, each with the listed fields only.

    Examples:
        >>> select_fields([{"a": 1, "b": 2, "c": 3}], ["c", "a"])
        [{'c': 3, 'a': 1}]
        >>> select_fields([{"a": 1}, {"b": 2}], ["a"])
        [{'a': 1}, {}]
        >>> select_fields([{"a": 1}], [])
        [{}]
    """
    return [{name: record[name] for name in fields if name in record} for record in records]


def drop_fields(records: list[dict[str, Any]], fields: list[str]) -> list[dict[str, Any]]:
    """Remove the listed fields from every record.

    Names that a record does not have are ignored. The other fields keep their order.

    Args:
        records: The records to reduce.
        fields: Names of the fields to remove.

    Returns:
        As many records as given, each without the listed fields.

    Examples:
        >>> drop_fields([{"a": 1, "b": 2, "c": 3}], ["c", "a"])
        [{'b': 2}]
        >>> drop_fields([{"a": 1}, {"b": 2}], ["a", "x"])
        [{}, {'b': 2}]
        >>> drop_fields([{"a": 1}], [])
        [{'a': 1}]
    """
    return [{name: value for name, value in record.items() if name not in fields} for record in records]


def rename_field(records: list[dict[str, Any]], old: str, new: str) -> list[dict[str, Any]]:
    """Give a field another name in every record.

    The field keeps its place among the others. Records without the old name come back unchanged.

    Args:
        records: The records to change.
        old: Present name of the field.
        new: Name to give it.

    Returns:
        The records with the field renamed.

    Raises:
        ValueError: If a record has both names and they differ.

    Examples:
        >>> rename_field([{"a": 1, "b": 2}], "a", "x")
        [{'x': 1, 'b': 2}]
        >>> rename_field([{"b": 2}, {"x": 3}], "a", "x")
        [{'b': 2}, {'x': 3}]
        >>> rename_field([{"a": 1}], "a", "a")
        [{'a': 1}]
    """
    if old != new and any(old in record and new in record for record in records):
        raise ValueError(f"a record already has field {new!r}")
    return [{new if name == old else name: value for name, value in record.items()} for record in records]


def fill_missing_field(records: list[dict[str, Any]], field: str, value: Any) -> list[dict[str, Any]]:
    """Set a field in the records that lack it or hold None there.

    Other values stay, 0, False and empty text included. A field that was absent is added at the end.

    Args:
        records: The records to complete.
        field: Name of the field to fill.
        value: The value to put in.

    Returns:
        All the records, each with the field.

    Examples:
        >>> fill_missing_field([{"a": 1, "n": 5}, {"a": 2}], "n", 0)
        [{'a': 1, 'n': 5}, {'a': 2, 'n': 0}]
        >>> fill_missing_field([{"n": None}, {"n": ""}], "n", "none")
        [{'n': 'none'}, {'n': ''}]
        >>> fill_missing_field([], "n", 0)
        []
    """
    return [{**record, field: value} if record.get(field) is None else record for record in records]


def set_field_where_equal(
    records: list[dict[str, Any]], match_field: str, match_value: Any, field: str, value: Any
) -> list[dict[str, Any]]:
    """Set a field in every record whose match field equals a value; leave the others as they are.

    Text is case-sensitive, 3 equals 3.0 and True equals 1. Records without the match field never match. A
    field that was absent is added at the end.

    Args:
        records: The records to update.
        match_field: Name of the field that decides.
        match_value: The value it must equal.
        field: Name of the field to set.
        value: The value to set.

    Returns:
        All the records, in their original order.

    Examples:
        >>> set_field_where_equal([{"id": 1, "s": "new"}, {"id": 2, "s": "new"}], "id", 2, "s", "done")
        [{'id': 1, 's': 'new'}, {'id': 2, 's': 'done'}]
        >>> set_field_where_equal([{"c": "a"}, {"c": "a"}], "c", "a", "n", 1)
        [{'c': 'a', 'n': 1}, {'c': 'a', 'n': 1}]
        >>> set_field_where_equal([{"c": "A"}, {"d": "a"}], "c", "a", "n", 1)
        [{'c': 'A'}, {'d': 'a'}]
    """
    return [
        {**record, field: value} if match_field in record and record[match_field] == match_value else record
        for record in records
    ]


def add_sum_field(records: list[dict[str, Any]], first: str, second: str, target: str) -> list[dict[str, Any]]:
    """Add to every record a field holding the sum of two of its number fields.

    An existing target field is overwritten.

    Args:
        records: The records to extend.
        first: Name of the first number field.
        second: Name of the second number field.
        target: Name of the field for the sum, first + second.

    Returns:
        The records with the target field.

    Raises:
        ValueError: If either field is absent or not a number (booleans are not), or a sum is too large.

    Examples:
        >>> add_sum_field([{"a": 2, "b": 3}], "a", "b", "sum")
        [{'a': 2, 'b': 3, 'sum': 5}]
        >>> add_sum_field([{"a": 2, "b": -2.5}], "a", "b", "a")
        [{'a': -0.5, 'b': -2.5}]
        >>> add_sum_field([], "a", "b", "sum")
        []
    """
    pair = [record.get(name) for record in records for name in (first, second)]
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in pair):
        raise ValueError(f"fields {first!r} and {second!r} must hold numbers")
    result = [{**record, target: record[first] + record[second]} for record in records]
    if any(abs(record[target]) == math.inf for record in result):
        raise ValueError("a sum is too large")
    return result


def add_difference_field(records: list[dict[str, Any]], first: str, second: str, target: str) -> list[dict[str, Any]]:
    """Add to every record a field holding one number field minus another.

    The result is negative where the second is larger. An existing target field is overwritten.

    Args:
        records: The records to extend.
        first: Name of the number field to subtract from.
        second: Name of the number field to subtract.
        target: Name of the field for the difference, first - second.

    Returns:
        The records with the target field.

    Raises:
        ValueError: If either field is absent or not a number (booleans are not), or a difference is too
            large.

    Examples:
        >>> add_difference_field([{"a": 7, "b": 3}], "a", "b", "gap")
        [{'a': 7, 'b': 3, 'gap': 4}]
        >>> add_difference_field([{"a": 1, "b": 3}], "a", "b", "b")
        [{'a': 1, 'b': -2}]
        >>> add_difference_field([], "a", "b", "gap")
        []
    """
    pair = [record.get(name) for record in records for name in (first, second)]
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in pair):
        raise ValueError(f"fields {first!r} and {second!r} must hold numbers")
    result = [{**record, target: record[first] - record[second]} for record in records]
    if any(abs(record[target]) == math.inf for record in result):
        raise ValueError("a difference is too large")
    return result


def add_product_field(records: list[dict[str, Any]], first: str, second: str, target: str) -> list[dict[str, Any]]:
    """Add to every record a field holding the product of two of its number fields.

    An existing target field is overwritten.

    Args:
        records: The records to extend.
        first: Name of the first number field.
        second: Name of the second number field.
        target: Name of the field for the product, first * second.

    Returns:
        The records with the target field.

    Raises:
        ValueError: If either field is absent or not a number (booleans are not), or a product is too large.

    Examples:
        >>> add_product_field([{"price": 4, "qty": 3}], "price", "qty", "cost")
        [{'price': 4, 'qty': 3, 'cost': 12}]
        >>> add_product_field([{"a": 0.5, "b": -2}], "a", "b", "b")
        [{'a': 0.5, 'b': -1.0}]
        >>> add_product_field([], "a", "b", "c")
        []
    """
    pair = [record.get(name) for record in records for name in (first, second)]
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in pair):
        raise ValueError(f"fields {first!r} and {second!r} must hold numbers")
    result = [{**record, target: record[first] * record[second]} for record in records]
    if any(abs(record[target]) == math.inf for record in result):
        raise ValueError("a product is too large")
    return result
