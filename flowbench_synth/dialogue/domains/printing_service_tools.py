"""The tools of the printing service."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def estimate_print(db: dict[str, Any], document: str, copies: int, paper: str) -> dict[str, Any]:
    """Estimate a print job and look for a printer that has the paper.

    Args:
        document: File name of the document in the print folder.
        copies: Number of copies.
        paper: Paper format: A5, A4 or A3.

    Returns:
        `state`: `ready`, `no_paper` or `no_file`; `printer` and `cents` of the job if it is ready, `refill` time if
        the paper is out, `folder` that was searched if there is no such file.
    """
    pages = db["documents"].get(document)
    result: dict[str, Any] = {"state": "no_file", "printer": None, "cents": None, "refill": None, "folder": None}
    if pages is None:
        result["folder"] = f"share-{sum(place * ord(letter) for place, letter in enumerate(document, 7)) % 80 + 10}"
        return {"db": db, "result": result}
    sheets = pages * copies
    printers = [name for name, row in sorted(db["printers"].items()) if row["paper"].get(paper, 0) >= sheets]
    if not printers:
        result["state"] = "no_paper"
        result["refill"] = f"{(sheets % 7) + 11:02}:{(len(document) * 7) % 60:02}"
        return {"db": db, "result": result}
    result["state"] = "ready"
    result["printer"] = printers[sheets % len(printers)]
    result["cents"] = sheets * db["prices"][paper]
    return {"db": db, "result": result}


@tool(effect="write")
def reserve_paper(db: dict[str, Any], document: str, copies: int, paper: str, account: str) -> dict[str, Any]:
    """Charge a print job to an account and reserve the paper.

    Args:
        document: File name of the document.
        copies: Number of copies.
        paper: Paper format.
        account: Number of the print account, such as PA-55.

    Returns:
        `charge`: the number of the charge.
    """
    serial = db["serial"] + 9
    charge = f"CH{serial * 13 % 9000 + 1000}"
    db["serial"] = serial
    db["charges"][charge] = {"account": account, "cents": db["documents"][document] * copies * db["prices"][paper]}
    return {"db": db, "result": {"charge": charge}}


@tool(effect="write")
def queue_print(db: dict[str, Any], document: str, copies: int, paper: str, account: str) -> dict[str, Any]:
    """Put a job into the queue, after its paper was reserved.

    Args:
        document: File name of the document.
        copies: Number of copies.
        paper: Paper format.
        account: Number of the print account.

    Returns:
        `job` number; `pin` to enter at the printer.
    """
    serial = db["serial"] + 5
    job = f"JOB{serial * 31 % 9000 + 1000}"
    db["serial"] = serial
    db["jobs"][job] = {"document": document, "copies": copies, "paper": paper, "account": account, "state": "waiting"}
    return {"db": db, "result": {"job": job, "pin": f"{serial * 77 % 9000 + 1000}"}}


@tool(effect="read")
def find_job(db: dict[str, Any], job: str) -> dict[str, Any]:
    """Look up the state of a print job.

    Args:
        job: Number of the job, such as JOB4711.

    Returns:
        `state`: `printed`, `waiting`, `jammed` or `unknown`; `tray` if it is printed, `position` if it waits,
        `fault` code if it is jammed, `log` number if it is unknown.
    """
    row = db["jobs"].get(job)
    result: dict[str, Any] = {"state": "unknown", "tray": None, "position": None, "fault": None, "log": None}
    if row is None:
        result["log"] = f"LOG{sum(place * ord(letter) for place, letter in enumerate(job, 7)) * 19 % 900 + 100}"
    else:
        result["state"] = row["state"]
        field = {"printed": "tray", "waiting": "position", "jammed": "fault"}[row["state"]]
        result[field] = row["detail"]
    return {"db": db, "result": result}


@tool(effect="write")
def subscribe_job(db: dict[str, Any], job: str, phone: str) -> dict[str, Any]:
    """Send a text message when a job is printed.

    Args:
        job: Number of the job.
        phone: Phone number for the message.

    Returns:
        `notice`: the number of the notification.
    """
    notice = f"N{sum(place * ord(letter) for place, letter in enumerate(job + phone, 7)) * 23 % 9000 + 1000}"
    db["notices"][notice] = {"job": job, "phone": phone}
    return {"db": db, "result": {"notice": notice}}
