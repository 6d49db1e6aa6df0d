"""The tools of a shared drive: files, links, transcriptions, notes."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_folder_files(db: dict[str, Any], folder_id: str) -> dict[str, Any]:
    """List the files of a folder.

    Args:
        folder_id: Id of the folder.

    Returns:
        `folder_id`, `files`: for each `id`, `name`, `folder_id`, `owner` (null if the person has left), `media` with
        `minutes` and `language` (null if unknown), `link`: null without a public link, otherwise an object of `access`
        (`view`, `comment` or `edit`) and `expires_on` (a day, null if it never does).
    """
    files = [row for row in db["files"].values() if row["folder_id"] == folder_id]
    return {"db": db, "result": {"folder_id": folder_id, "files": files}}


@tool(effect="read")
def get_drive_file(db: dict[str, Any], file_id: str) -> dict[str, Any]:
    """Get what is known of a file.

    Args:
        file_id: Id of the file.

    Returns:
        The file: `id`, `name`, `folder_id`, `owner` (null if the person has left), `media` with `minutes` and
        `language` (null if unknown), `link` (null without a public link).
    """
    return {"db": db, "result": db["files"][file_id]}


@tool(effect="write")
def start_transcription(db: dict[str, Any], file_id: str, language: str) -> dict[str, Any]:
    """Start to transcribe a recording.

    Args:
        file_id: Id of the file.
        language: Two letters, such as `fr`.

    Returns:
        `job_id`, `state`: `waiting`.
    """
    db["counter"] += 1
    id = f"JOB{db['counter']}"
    db["jobs"][id] = {"id": id, "file_id": file_id, "language": language, "cancelled": False}
    return {"db": db, "result": {"job_id": id, "state": "waiting"}}


@tool(effect="read")
def get_transcription(db: dict[str, Any], job_id: str) -> dict[str, Any]:
    """Ask how a transcription is going.

    Args:
        job_id: Id of the job.

    Returns:
        `job_id`, `state` (`waiting`, `working`, `ready` or `failed`), `text` (null unless it is ready), `problem` (null
        unless it failed).
    """
    db["clock"]["asked"] += 1
    work = db["engine"][db["jobs"][job_id]["file_id"]]
    left = work["asked"] - db["clock"]["asked"]
    state = work["outcome"] if left <= 0 else "working" if left < 3 else "waiting"
    return {
        "db": db,
        "result": {
            "job_id": job_id,
            "state": state,
            "text": work["text"] if state == "ready" else None,
            "problem": work["problem"] if state == "failed" else None,
        },
    }


@tool(effect="write")
def cancel_transcription(db: dict[str, Any], job_id: str) -> dict[str, Any]:
    """Cancel a transcription.

    Args:
        job_id: Id of the job.

    Returns:
        `job_id`, `cancelled`.
    """
    db["jobs"][job_id]["cancelled"] = True
    return {"db": db, "result": {"job_id": job_id, "cancelled": True}}


@tool(effect="write")
def create_note(db: dict[str, Any], folder_id: str, title: str, body: str) -> dict[str, Any]:
    """Create a note in a folder.

    Args:
        folder_id: Id of the folder.
        title: The title.
        body: The text.

    Returns:
        `note_id`, `folder_id`.
    """
    db["counter"] += 4
    id = f"N{db['counter']}"
    db["notes"][id] = {"id": id, "folder_id": folder_id, "title": title, "body": body}
    return {"db": db, "result": {"note_id": id, "folder_id": folder_id}}
