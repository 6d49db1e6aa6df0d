"""The tools of a staff directory: employees, profiles, offices, service requests."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def find_employee(db: dict[str, Any], email: str) -> dict[str, Any]:
    """Find the employee with a work e-mail address.

    Args:
        email: The address.

    Returns:
        `employee_id`, `name`; both null if nobody has this address.
    """
    for row in db["employees"].values():
        if row["email"] == email:
            return {"db": db, "result": {"employee_id": row["id"], "name": row["name"]}}
    return {"db": db, "result": {"employee_id": None, "name": None}}


@tool(effect="read")
def get_employee(db: dict[str, Any], employee_id: str) -> dict[str, Any]:
    """Get an employee.

    Args:
        employee_id: Id of the employee, such as E-412.

    Returns:
        The employee: `id`, `name`, `email`, `job` with `title`, `level` and `manager_id`, `office_id`, `cost_centre`,
        `hired_on`.
    """
    return {"db": db, "result": db["employees"][employee_id]}


@tool(effect="read")
def get_badge(db: dict[str, Any], badge: str) -> dict[str, Any]:
    """Get the badge with a number.

    Args:
        badge: Number on the badge.

    Returns:
        `badge`, `holder` with `employee_id` and `kind`, `valid_until`.
    """
    return {"db": db, "result": db["badges"][badge]}


@tool(effect="read")
def get_private_profile(db: dict[str, Any], employee_id: str) -> dict[str, Any]:
    """Get the private profile of an employee.

    Args:
        employee_id: Id of the employee.

    Returns:
        `employee_id`, `home` with `city`, `emergency` with `contacts`: a list with `name`, `relation` and `phone` each,
        the first to be called first; `allergies` (may be null).
    """
    return {"db": db, "result": db["profiles"][employee_id]}


@tool(effect="read")
def get_office(db: dict[str, Any], office_id: str) -> dict[str, Any]:
    """Get an office.

    Args:
        office_id: Id of the office.

    Returns:
        `id`, `city`, `desk` with `queue` and `lead_id` of the service desk, `phone`.
    """
    return {"db": db, "result": db["offices"][office_id]}


@tool(effect="read")
def list_reports(db: dict[str, Any], manager_id: str) -> dict[str, Any]:
    """List the employees who report to a manager.

    Args:
        manager_id: Id of the manager.

    Returns:
        `employees` with `id` and `name` each, by id.
    """
    rows = [row for row in db["employees"].values() if row["job"]["manager_id"] == manager_id]
    rows.sort(key=lambda row: row["id"])
    return {"db": db, "result": {"employees": [{"id": row["id"], "name": row["name"]} for row in rows]}}


@tool(effect="write")
def open_request(db: dict[str, Any], queue: str, item: str, for_employee: str, cost_centre: str) -> dict[str, Any]:
    """Open a request at a service desk.

    Args:
        queue: Queue of the desk.
        item: What is wanted.
        for_employee: Id of the employee who gets it.
        cost_centre: The cost centre that pays.

    Returns:
        `request` with `id` and `state`.
    """
    db["next_request"] += 7
    request_id = f"REQ-{db['next_request']}"
    db["requests"][request_id] = {
        "queue": queue, "item": item, "for_employee": for_employee, "cost_centre": cost_centre,
    }  # fmt: skip
    return {"db": db, "result": {"request": {"id": request_id, "state": "open"}}}
