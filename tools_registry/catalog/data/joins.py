"""Tools that combine two tables of records, or a table and a single record or rows."""

from typing import Any


def inner_join_records(left: list[dict[str, Any]], right: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Join each left record with every right record that has the same key; drop left ones without a match.

    Left fields come first and win where both sides have a field. Records that lack the key or hold None
    there never match. Text keys are case-sensitive.

    Args:
        left: The records that set the order.
        right: The records to join to them.
        key: Name of the field shared by both sides.

    Returns:
        One record for each matching pair, in left order, then right order.

    Examples:
        >>> inner_join_records([{"id": 1, "a": 5}, {"id": 2, "a": 6}], [{"id": 2, "b": 7}], "id")
        [{'id': 2, 'a': 6, 'b': 7}]
        >>> inner_join_records([{"k": "x", "v": 1}], [{"k": "x", "v": 2}, {"k": "x", "w": 3}], "k")
        [{'k': 'x', 'v': 1}, {'k': 'x', 'v': 1, 'w': 3}]
        >>> inner_join_records([{"a": 1}], [{"b": 2}], "id")
        []
    """
    return [
        {**one, **{name: value for name, value in two.items() if name not in one}}
        for one in left
        for two in right
        if one.get(key) is not None and one[key] == two.get(key)
    ]


def left_join_records(left: list[dict[str, Any]], right: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Join each left record with every right record that has the same key; keep left ones without a match.

    A left record without a match comes back unchanged, with no field added. Left fields come first and win
    where both sides have a field. Records that lack the key or hold None there never match. Text keys are
    case-sensitive.

    Args:
        left: The records that set the order, all of them kept.
        right: The records to join to them.
        key: Name of the field shared by both sides.

    Returns:
        One record for each matching pair or unmatched left record, in left order, then right order.

    Examples:
        >>> left_join_records([{"id": 1, "a": 5}, {"id": 2, "a": 6}], [{"id": 2, "b": 7}], "id")
        [{'id': 1, 'a': 5}, {'id': 2, 'a': 6, 'b': 7}]
        >>> left_join_records([{"k": "x", "v": 1}], [{"k": "x", "v": 2}, {"k": "x", "w": 3}], "k")
        [{'k': 'x', 'v': 1}, {'k': 'x', 'v': 1, 'w': 3}]
        >>> left_join_records([{"a": 1}], [], "id")
        [{'a': 1}]
    """
    joined = list[dict[str, Any]]()
    for one in left:
        matches = [two for two in right if one.get(key) is not None and one[key] == two.get(key)]
        for two in matches or [one]:
            joined.append({**one, **{name: value for name, value in two.items() if name not in one}})
    return joined


def semi_join_records(left: list[dict[str, Any]], right: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Keep the left records whose key occurs among the right records, adding no fields.

    A left record comes at most once, however many right records match it. Records that lack the key or
    hold None there never match. Text keys are case-sensitive.

    Args:
        left: The records to filter.
        right: The records that supply the keys.
        key: Name of the field shared by both sides.

    Returns:
        The left records with a match, unchanged and in their original order.

    Examples:
        >>> semi_join_records([{"id": 1}, {"id": 2}], [{"id": 2, "b": 7}], "id")
        [{'id': 2}]
        >>> semi_join_records([{"id": 1}, {"id": 1}], [{"id": 1}, {"id": 1}], "id")
        [{'id': 1}, {'id': 1}]
        >>> semi_join_records([{"id": None}, {"a": 1}], [{"id": None}], "id")
        []
    """
    keys = [record[key] for record in right if record.get(key) is not None]
    return [record for record in left if key in record and record[key] in keys]


def anti_join_records(left: list[dict[str, Any]], right: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Keep the left records whose key does not occur among the right records.

    Records that lack the key or hold None there never match, so such left records are kept. Text keys are
    case-sensitive.

    Args:
        left: The records to filter.
        right: The records that supply the keys.
        key: Name of the field shared by both sides.

    Returns:
        The left records without a match, unchanged and in their original order.

    Examples:
        >>> anti_join_records([{"id": 1}, {"id": 2}], [{"id": 2, "b": 7}], "id")
        [{'id': 1}]
        >>> anti_join_records([{"id": None}, {"a": 1}], [{"id": None}], "id")
        [{'id': None}, {'a': 1}]
        >>> anti_join_records([], [{"id": 1}], "id")
        []
    """
    keys = [record[key] for record in right if record.get(key) is not None]
    return [record for record in left if key not in record or record[key] not in keys]


def upsert_record(records: list[dict[str, Any]], key: str, record: dict[str, Any]) -> list[dict[str, Any]]:
    """Replace the first record that has the same key as a new record, or append the new one.

    The replacement is whole: fields of the old record are not carried over. Later records with the same key
    stay as they are. Text keys are case-sensitive, and None equals None.

    Args:
        records: The records to update.
        key: Name of the field that identifies a record.
        record: The new record, which must have the key field.

    Returns:
        The records with the new one in place of the old, or at the end.

    Raises:
        ValueError: If the new record lacks the key field.

    Examples:
        >>> upsert_record([{"id": 1, "a": 5}, {"id": 2}], "id", {"id": 1, "b": 6})
        [{'id': 1, 'b': 6}, {'id': 2}]
        >>> upsert_record([{"id": 1}], "id", {"id": 3})
        [{'id': 1}, {'id': 3}]
        >>> upsert_record([], "id", {"id": 3})
        [{'id': 3}]
    """
    if key not in record:
        raise ValueError(f"the new record must have field {key!r}")
    for position, present in enumerate(records):
        if key in present and present[key] == record[key]:
            return [*records[:position], record, *records[position + 1 :]]
    return [*records, record]


def append_record(records: list[dict[str, Any]], record: dict[str, Any]) -> list[dict[str, Any]]:
    """Add a record at the end of a list of records.

    Nothing is checked or replaced: an equal record may already be there.

    Args:
        records: The records so far.
        record: The record to add.

    Returns:
        A new list, one record longer.

    Examples:
        >>> append_record([{"id": 1}], {"id": 2})
        [{'id': 1}, {'id': 2}]
        >>> append_record([{"id": 1}], {"id": 1})
        [{'id': 1}, {'id': 1}]
        >>> append_record([], {})
        [{}]
    """
    return [*records, record]


def records_from_rows(header: list[str], rows: list[list[Any]]) -> list[dict[str, Any]]:
    """Turn table rows into records, using the header as field names.

    No rows give an empty list.

    Args:
        header: The field names, one for each column.
        rows: The rows, each with as many cells as the header.

    Returns:
        One record for each row, in row order.

    Raises:
        ValueError: If a name occurs twice in the header, or a row has more or fewer cells than the header.

    Examples:
        >>> records_from_rows(["id", "name"], [[1, "Ann"], [2, "Bob"]])
        [{'id': 1, 'name': 'Ann'}, {'id': 2, 'name': 'Bob'}]
        >>> records_from_rows(["id"], [])
        []
        >>> records_from_rows([], [[]])
        [{}]
    """
    if len(set(header)) != len(header):
        raise ValueError("header names must differ from each other")
    if any(len(row) != len(header) for row in rows):
        raise ValueError("every row must have as many cells as the header")
    return [dict(zip(header, row, strict=True)) for row in rows]


def explode_list_field(records: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    """Repeat each record once for every item of its list field, with that item in the field.

    A record whose list is empty gives no record. Only one level is opened.

    Args:
        records: The records to spread out.
        field: Name of the list field.

    Returns:
        The spread records, in record order, then item order.

    Raises:
        ValueError: If a record lacks the field or holds something other than a list there.

    Examples:
        >>> explode_list_field([{"id": 1, "tag": ["a", "b"]}, {"id": 2, "tag": ["c"]}], "tag")
        [{'id': 1, 'tag': 'a'}, {'id': 1, 'tag': 'b'}, {'id': 2, 'tag': 'c'}]
        >>> explode_list_field([{"id": 1, "tag": []}], "tag")
        []
        >>> explode_list_field([{"tag": [[1, 2], 3]}], "tag")
        [{'tag': [1, 2]}, {'tag': 3}]
    """
    if any(not isinstance(record.get(field), list) for record in records):
        raise ValueError(f"field {field!r} must hold a list in every record")
    return [{**record, field: item} for record in records for item in record[field]]
