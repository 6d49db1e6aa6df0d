"""The tools of a school: courses, enrolments, students."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def list_enrolments(db: dict[str, Any], course_id: str) -> dict[str, Any]:
    """List the enrolments in a course.

    Args:
        course_id: Id of the course.

    Returns:
        `enrolments` with `student_id`, `points` (one number for each test so far), `left_on` (null while enrolled).
    """
    rows = [row for _, row in sorted(db["enrolments"].items()) if row["course_id"] == course_id]
    enrolments = [{field: row[field] for field in ("student_id", "points", "left_on")} for row in rows]
    return {"db": db, "result": {"enrolments": enrolments}}


@tool(effect="read")
def get_student(db: dict[str, Any], student_id: str) -> dict[str, Any]:
    """Get a student by id.

    Args:
        student_id: Id of the student.

    Returns:
        The student: `id`, `name` with `first` and `last`, `form`, `guardian` with `email` (null for adults).
    """
    return {"db": db, "result": {"id": student_id, **db["students"][student_id]}}


@tool(effect="write")
def add_points(db: dict[str, Any], course_id: str, student_id: str, points: int) -> dict[str, Any]:
    """Add the points of a test to a student's enrolment.

    Args:
        course_id: Id of the course.
        student_id: Id of the student.
        points: The points.

    Returns:
        `points`, all points so far.
    """
    for row in db["enrolments"].values():
        if (row["student_id"], row["course_id"]) == (student_id, course_id):
            row["points"].append(points)
            return {"db": db, "result": {"points": row["points"]}}
    raise ValueError(f"{student_id} is not in the course {course_id}")


@tool(effect="read")
def students_of_form(db: dict[str, Any], form: str) -> dict[str, Any]:
    """List the students of a form.

    Args:
        form: The form, such as 9b.

    Returns:
        `student_ids`.
    """
    return {
        "db": db,
        "result": {"student_ids": [id for id, row in sorted(db["students"].items()) if row["form"] == form]},
    }
