"""WorkBench's tools for tests: the reading ones over its tables, the others say that it is done and change nothing.

That is enough to see which calls a workflow makes: none of its golden answers reads what it changed before. The
tables are the world as it is before each query, so that every recorded call before a run's first change can be
compared with what the tool gives here.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from flowmind.workflow.program import Outcome, Program, load, run_brief, run_case
from tools_registry.sandbox.environment import DEFAULT_BUDGET
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec
from tools_registry.specs.values import CaseError, copy_json

Row = dict[str, str | None]
MOST = 5
"""Records that a search gives."""


class Office:
    """The tools, as a sandbox.

    Args:
        specs: The tools' specs.
        folder: WorkBench's `data`.
    """

    def __init__(self, specs: Mapping[str, ToolSpec], folder: Path) -> None:
        self.specs = specs
        self._events = _table(folder / "processed" / "calendar_events.csv")
        self._customers = _table(folder / "processed" / "customer_relationship_manager_data.csv")
        self._emails = _table(folder / "processed" / "emails.csv")
        self._emails.sort(key=lambda row: str(row["sent_datetime"]), reverse=True)
        self._tasks = _table(folder / "processed" / "project_tasks.csv")
        self._visits = _table(folder / "processed" / "analytics_data.csv")
        self._visits.sort(key=lambda row: str(row["date_of_visit"]))
        self._people = (folder / "raw" / "email_addresses.csv").read_text(encoding="utf-8").split()
        self.reading: dict[str, Callable[[dict[str, str]], Any]] = {
            "calendar_search_events": self._find_events,
            "company_directory_find_email_address": lambda args: [
                one for one in self._people if _has(one, args["name"])
            ],
            "customer_relationship_manager_search_customers": self._find_customers,
            "email_search_emails": self._find_emails,
            "project_management_search_tasks": lambda args: [row for row in self._tasks if _fits(row, args)],
            "analytics_engaged_users_count": self._by_day(lambda row: row["user_engaged"] == "True"),
            "analytics_get_average_session_duration": self._durations,
            "analytics_total_visits_count": self._by_day(lambda row: True),
            "analytics_traffic_source_count": lambda args: self._by_day(
                lambda row: args.get("traffic_source") in (None, row["traffic_source"])
            )(args),
        }
        """The reading tools that the recorded runs call, by name: what each gives for arguments without nulls."""

    awaited: Collection[str] = ()

    async def call(self, call: ToolCall) -> Observation:
        """Calls one tool."""
        try:
            return Observation(value=self._answer(call.tool, call.args))
        except CaseError as error:
            return Observation.failed(error.type, error.message)

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Runs a compiled workflow in this process."""
        run = load(program.source, program.constants)
        if program.signatures:
            pairs = zip(program.tools, program.signatures, strict=True)
            named = [partial(self._named, name, names) for name, names in pairs]
            return [run_brief(run, inputs, named, budget) for inputs in cases]
        return [
            run_case(run, inputs, [partial(self._answer, name) for name in program.tools], budget) for inputs in cases
        ]

    def _named(self, name: str, names: Sequence[str], *values: Any) -> Any:
        return self._answer(name, dict(zip(names, values, strict=True)))

    def _answer(self, name: str, args: Mapping[str, Any]) -> Any:
        if self.specs[name].effect == "write":
            return "Done."
        given = {key: value for key, value in args.items() if value is not None}
        if name not in self.reading or not given:
            raise CaseError("tool_error", f"{name} is not called like this in any recorded run: {given}")
        return copy_json(self.reading[name](given))

    def _find_events(self, args: Mapping[str, str]) -> Any:
        found = [
            row
            for row in self._events
            if any(_has(row[name], args.get("query", "")) for name in ("event_name", "participant_email"))
            and _between(row["event_start"], args.get("time_min"), args.get("time_max"))
        ]
        return found[:MOST] or "No events found."

    def _find_emails(self, args: Mapping[str, str]) -> Any:
        found = [
            row
            for row in self._emails
            if all(
                _has(f"{row['subject']} {row['body']} {row['sender/recipient']}", word)
                for word in args.get("query", "").split()
            )
            and _between(str(row["sent_datetime"])[:10], args.get("date_min"), args.get("date_max"))
        ]
        return found[:MOST] or "No emails found."

    def _find_customers(self, args: Mapping[str, str]) -> Any:
        bounds = {name for name in args if name.endswith(("_min", "_max"))}
        found = [
            row
            for row in self._customers
            if _fits(row, {name: value for name, value in args.items() if name not in bounds})
            and all(
                _between(row[name], args.get(f"{name}_min"), args.get(f"{name}_max"))
                for name in ("last_contact_date", "follow_up_by")
            )
        ]
        return found[:MOST]

    def _days(self, args: Mapping[str, str]) -> dict[str, list[Row]]:
        """The visits of each day that has any."""
        found: dict[str, list[Row]] = {}
        for row in self._visits:
            if _between(row["date_of_visit"], args.get("time_min"), args.get("time_max")):
                found.setdefault(str(row["date_of_visit"]), []).append(row)
        return found

    def _by_day(self, counts: Callable[[Row], bool]) -> Callable[[dict[str, str]], Any]:
        return lambda args: {day: sum(map(counts, rows)) for day, rows in self._days(args).items()}

    def _durations(self, args: Mapping[str, str]) -> Any:
        return {
            day: sum(int(str(row["session_duration_seconds"])) for row in rows) / len(rows)
            for day, rows in self._days(args).items()
        }


def _table(path: Path) -> list[Row]:
    """A table; an empty cell is None."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: cell or None for name, cell in row.items()} for row in csv.DictReader(file)]


def _has(text: str | None, part: str) -> bool:
    return part.casefold() in (text or "").casefold()


def _fits(row: Row, args: Mapping[str, str]) -> bool:
    return all(_has(row[name], value) for name, value in args.items())


def _between(value: str | None, least: str | None, most: str | None) -> bool:
    """Whether a date, or a time, lies in a range; both ends count."""
    held = value or ""
    return (least is None or held >= least) and (most is None or "" < held <= most)
