"""Dates, times, durations and amounts that are said in words, as tools and as parts of induced workflows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from flowmind.build.induction.induce import induce
from flowmind.build.induction.induction import Request
from flowmind.build.induction.reading import read
from flowmind.build.induction.runs import Call, Run
from flowmind.build.induction.scopes import Context, Scope
from flowmind.build.induction.values import explain
from flowmind.run.running import arun, run_batch
from flowmind.workflow.checking import check
from tools_registry import words
from tools_registry.sandbox.functions import FunctionEnvironment
from tools_registry.specs.values import CaseError
from tools_registry.words import value_of

TODAY = "2023-11-30"
"""A Thursday."""


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("December 5", "2023-12-05"),
        ("5 Dec 2024", "2024-12-05"),
        ("Sept 4th", "2023-09-04"),
        ("2023-12-05 10:00:00", "2023-12-05"),
        ("tomorrow", "2023-12-01"),
        ("in 3 days", "2023-12-03"),
        ("two weeks ago", "2023-11-16"),
        ("3 months from now", "2024-02-29"),
        ("Friday", "2023-12-01"),
        ("next Friday", "2023-12-08"),
        ("last Friday", "2023-11-24"),
        ("since Wednesday", "2023-11-29"),
    ],
)
def test_dates_are_read(text: str, date: str) -> None:
    assert value_of("read_date", {"text": text, "today": TODAY}) == date


def test_a_weekday_alone_may_lie_in_the_past() -> None:
    assert value_of("read_date", {"text": "Friday", "today": TODAY, "past": True}) == "2023-11-24"


@pytest.mark.parametrize(
    ("tool", "text", "value"),
    [
        ("read_time", "12", "12:00"),
        ("read_time", "3 pm", "15:00"),
        ("read_time", "9.15am", "09:15"),
        ("read_time", "noon", "12:00"),
        ("read_duration", "1.5 hour", 90),
        ("read_duration", "half an hour", 30),
        ("read_duration", "an hour and a half", 90),
        ("read_duration", "2h 30min", 150),
        ("read_amount", "$1,200.50", 1200.5),
        ("read_amount", "1.5k EUR", 1500),
        ("extract_id", "my order #A-1042 is late", "A-1042"),
    ],
)
def test_times_durations_amounts_and_identifiers_are_read(tool: str, text: str, value: Any) -> None:
    assert value_of(tool, {"text": text}) == value


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("read_time", "25"), ("read_time", "soon"), ("read_duration", "a while"), ("read_amount", "2 of 3"),
        ("extract_id", "no id here"),
    ],
)  # fmt: skip
def test_a_text_without_the_value_is_an_error(tool: str, text: str) -> None:
    with pytest.raises(CaseError, match=repr(text)):
        value_of(tool, {"text": text})


@pytest.mark.parametrize("text", ["may", "12", "", "someday"])
def test_a_text_that_is_no_date_is_an_error(text: str) -> None:
    with pytest.raises(CaseError, match="no date"):
        value_of("read_date", {"text": text, "today": TODAY})


def test_days_and_minutes_are_added() -> None:
    assert value_of("add_days", {"date": "2024-02-28", "days": 2}) == "2024-03-01"
    assert value_of("days_between", {"start": "2024-02-28", "end": "2024-03-01"}) == 2
    assert value_of("add_minutes", {"time": "2023-12-31 23:30:00", "minutes": 45}) == "2024-01-01 00:15:00"
    assert value_of("add_minutes", {"time": "23:30", "minutes": 45}) == "00:15"
    assert value_of("weekday", {"date": TODAY}) == "Thursday"


def test_all_tools_only_read() -> None:
    assert {spec.effect for spec in words.specs().values()} == {"read"}


WHEN = [
    ("December 5", "12", "1.5 hour", "5"),
    ("December 11", "11:30", "half an hour", "3"),
    ("October 19", "9", "2 hours", "10"),
]
DATES = ["2023-12-05", "2023-12-11", "2023-10-19"]


@pytest.mark.parametrize(
    ("values", "tools"),
    [
        (DATES, ["read_date"]),
        ([f"{day} {time}:00" for day, time in zip(DATES, ["12:00", "11:30", "09:00"], strict=True)],
         ["read_date", "read_time"]),
        ([90, 30, 120], ["read_duration"]),
        (["90", "30", "120"], ["read_duration"]),
        (["2023-11-25", "2023-11-27", "2023-11-20"], ["add_days"]),
        (["2023-12-02", "2023-12-08", "2023-10-16"], ["read_date", "add_days"]),
    ],
)  # fmt: skip
def test_values_are_explained_by_what_texts_say(values: list[Any], tools: list[str]) -> None:
    scopes = [
        Scope({"when": when, "at": at, "long": long, "days": days}, number, number)
        for number, (when, at, long, days) in enumerate(WHEN)
    ]
    found = explain(Context(read("Book a meeting.")), scopes, values)
    assert [call.tool for call in found[0].before] == tools


def book(date: str, days: int) -> str:
    """Books a room.

    Args:
        date: The date, as YYYY-MM-DD.
        days: For how many days.
    """
    return f"room on {date} for {days}"


def test_an_induced_workflow_reads_dates_that_no_trace_has() -> None:
    rooms = FunctionEnvironment([book])
    days = {"December 5": ("2023-12-05", 3), "October 19": ("2023-10-19", 1), "June 2": ("2023-06-02", 2)}
    runs: list[Run] = []
    for number, (when, (date, count)) in enumerate(days.items()):
        call = Call("book", {"date": date, "days": count}, book(date, count), 0)
        runs.append(Run({"when": when, "days": count}, (call,), call.value, number, 1))
    inputs = {
        "type": "object",
        "properties": {"when": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["when", "days"],
    }
    made = induce(Request(runs, rooms.specs, inputs, "Book a room.", "room"))[0]
    assert made.sound, (made.problems, made.refused)
    assert check(made.workflow, rooms) == []
    case = {"when": "January 31", "days": 4}
    assert run_batch(made.workflow, [case], rooms)[0].answer == "room on 2023-01-31 for 4"
    assert asyncio.run(arun(made.workflow, case, rooms)).answer == "room on 2023-01-31 for 4"
    failed = run_batch(made.workflow, [{"when": "someday", "days": 4}], rooms)[0]
    assert failed.error is not None
    assert "no date" in failed.error.message
