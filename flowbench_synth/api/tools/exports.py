"""The tools of a data warehouse: exports and imports that take a while."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="write")
def start_export(db: dict[str, Any], dataset_id: str, format: str) -> dict[str, Any]:
    """Start an export of a dataset. It runs on its own.

    Args:
        dataset_id: Id of the dataset.
        format: The format: csv, xlsx or parquet.

    Returns:
        `export_id`, `status` (queued).
    """
    dataset = db["datasets"][dataset_id]
    db["export_number"] += 1
    export_id = f"EXP-{db['export_number']}"
    error = dataset["errors"].get(format)
    db["exports"][export_id] = {"dataset_id": dataset_id, "format": format, "error": error, "cancelled": False}
    return {"db": db, "result": {"export_id": export_id, "status": "queued"}}


@tool(effect="read")
def get_export(db: dict[str, Any], export_id: str) -> dict[str, Any]:
    """Get the state of an export.

    Args:
        export_id: Id of the export.

    Returns:
        The export: `id`, `status` (queued, running, done, failed or cancelled), `progress` in percent, `file` with
        `url` and `size_kb` (null until it is done), `error` with `code` and `message` (null unless it failed).
    """
    row = db["exports"][export_id]
    dataset = db["datasets"][row["dataset_id"]]
    checks = db["clock"].get(export_id, 0) + 1
    db["clock"][export_id] = checks
    over = checks >= dataset["checks"]
    status = "queued" if 3 * checks < dataset["checks"] else "running"
    file = None
    if row["cancelled"]:
        status = "cancelled"
    elif over and row["error"] is not None:
        status = "failed"
    elif over:
        status = "done"
        url = f"https://files.example/{dataset['slug']}/{export_id}.{row['format']}"
        file = {"url": url, "size_kb": dataset["rows"] // 7}
    progress = 100 if over else 100 * checks // dataset["checks"]
    error = row["error"] if status == "failed" else None
    result = {"id": export_id, "status": status, "progress": progress, "file": file, "error": error}
    return {"db": db, "result": result}


@tool(effect="write")
def cancel_export(db: dict[str, Any], export_id: str) -> dict[str, Any]:
    """Cancel an export that is not over.

    Args:
        export_id: Id of the export.

    Returns:
        `export_id`, `status`.
    """
    db["exports"][export_id]["cancelled"] = True
    return {"db": db, "result": {"export_id": export_id, "status": "cancelled"}}


@tool(effect="read")
def get_import(db: dict[str, Any], import_id: str) -> dict[str, Any]:
    """Get the state of an import.

    Args:
        import_id: Id of the import.

    Returns:
        The import: `id`, `state` (running, complete or failed), `progress` with `percent` and `rows`, `source` with
        `name` and `rejected_rows` (null until the first rows are read).
    """
    row = db["imports"][import_id]
    checks = db["clock"].get(import_id, 0) + 1
    db["clock"][import_id] = checks
    percent = row["percents"][min(checks, len(row["percents"])) - 1]
    state = "complete" if percent == 100 else "running"
    if checks >= len(row["percents"]) and percent < 100:
        state = "failed"
    rejected = None if percent == 0 else row["rows"] * percent // 5_000
    progress = {"percent": percent, "rows": row["rows"] * percent // 100}
    source = {"name": row["name"], "rejected_rows": rejected}
    return {"db": db, "result": {"id": import_id, "state": state, "progress": progress, "source": source}}
