"""The tools of a personnel department: staff, positions, sites, training courses."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def staff_record(db: dict[str, Any], staff_no: str) -> dict[str, Any]:
    """Get the personnel record of an employee.

    Args:
        staff_no: Staff number, such as P40213.

    Returns:
        The record: `staff_no`, `name`, `unit`, `position_code`, `manager_no` (staff number of the manager), `contract`
        with `starts_on` and `ends_on` (null if it is permanent), `desk` with `site_id`, `room` and `extension`,
        `training` with `budget_left`.
    """
    return {"db": db, "result": db["staff"][staff_no]}


@tool(effect="read")
def position_info(db: dict[str, Any], position_code: str) -> dict[str, Any]:
    """Get a position of the job catalogue.

    Args:
        position_code: Code of the position.

    Returns:
        The position: `code`, `title`, `family`, `grade`.
    """
    return {"db": db, "result": db["positions"][position_code]}


@tool(effect="read")
def site_info(db: dict[str, Any], site_id: str) -> dict[str, Any]:
    """Get a site of the company.

    Args:
        site_id: Id of the site.

    Returns:
        The site: `id`, `address` with `street` and `town`, `reception` with `contact` and `opens_at`.
    """
    return {"db": db, "result": db["sites"][site_id]}


@tool(effect="read")
def course_details(db: dict[str, Any], course_id: str) -> dict[str, Any]:
    """Get a training course.

    Args:
        course_id: Id of the course.

    Returns:
        The course: `id`, `title`, `held_on`, `fee`, `trainer`.
    """
    return {"db": db, "result": db["courses"][course_id]}


@tool(effect="read")
def course_waiting_list(db: dict[str, Any], course_id: str) -> dict[str, Any]:
    """Get the waiting list of a training course.

    Args:
        course_id: Id of the course.

    Returns:
        `course_id` and `entries`, those who wait longest first, each with `staff_no` and `since`.
    """
    return {"db": db, "result": {"course_id": course_id, "entries": db["waiting"][course_id]["entries"]}}


@tool(effect="read")
def absences_of(db: dict[str, Any], staff_no: str) -> dict[str, Any]:
    """Get the planned absences of an employee.

    Args:
        staff_no: Staff number.

    Returns:
        `staff_no` and `absences`, each with `kind`, `first_day` and `last_day` (both days are part of it).
    """
    rows = db["absences"].get(staff_no, {"rows": []})["rows"]
    return {"db": db, "result": {"staff_no": staff_no, "absences": rows}}


@tool(effect="write")
def enrol_staff(db: dict[str, Any], course_id: str, staff_no: str) -> dict[str, Any]:
    """Enrol an employee in a training course and charge the fee to their budget.

    Args:
        course_id: Id of the course.
        staff_no: Staff number.

    Returns:
        `enrolment_no`, `course_id`, `staff_no`.
    """
    db["last_enrolment"] += 1
    number = f"EN{db['last_enrolment']}"
    db["enrolments"][number] = {"course_id": course_id, "staff_no": staff_no}
    return {"db": db, "result": {"enrolment_no": number, "course_id": course_id, "staff_no": staff_no}}
