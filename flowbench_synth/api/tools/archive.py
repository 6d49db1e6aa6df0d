"""The tools of an archive of documents: folders, listed in numbered pages."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_documents(db: dict[str, Any], folder_id: str, page: int) -> dict[str, Any]:
    """List the documents of a folder in the order of their ids, three on a page.

    Args:
        folder_id: Id of the folder.
        page: Number of the page, from 1.

    Returns:
        `documents` with `id`, `title`, `size_kb`, `owner` with `id` and `name`, and `archived_on` (null while in use);
        `page`; `pages`, the number of pages, at least 1.
    """
    rows = [row for row in db["documents"].values() if row["folder_id"] == folder_id]
    rows.sort(key=lambda row: row["id"])
    pages = max(1, (len(rows) + 2) // 3)
    if not 1 <= page <= pages:
        raise ValueError(f"there is no page {page}; the folder has {pages}")
    fields = ("id", "title", "size_kb", "owner", "archived_on")
    documents = [{field: row[field] for field in fields} for row in rows[3 * page - 3 : 3 * page]]
    return {"db": db, "result": {"documents": documents, "page": page, "pages": pages}}


@tool(effect="read")
def get_folder(db: dict[str, Any], folder_id: str) -> dict[str, Any]:
    """Get a folder by its id.

    Args:
        folder_id: Id of the folder.

    Returns:
        The folder: `id`, `name`, `quota_kb`, `retention` with `days` (null if nothing is ever archived) and `contact`.
    """
    return {"db": db, "result": db["folders"][folder_id]}


@tool(effect="write")
def archive_document(db: dict[str, Any], document_id: str, archived_on: str) -> dict[str, Any]:
    """Archive a document.

    Args:
        document_id: Id of the document.
        archived_on: The day, as YYYY-MM-DD.

    Returns:
        `document_id`, `archived_on`.
    """
    db["documents"][document_id]["archived_on"] = archived_on
    return {"db": db, "result": {"document_id": document_id, "archived_on": archived_on}}
