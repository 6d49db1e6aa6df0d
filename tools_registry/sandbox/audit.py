"""The audit of the sandbox: runs a file of attacks and ordinary code, and reports the outcome of each row.

    python -m tools_registry.sandbox.audit ROWS.jsonl [--json] [--only KIND_OR_ID] [--without language|process]

A row is an object with `id`, `surface` (`tool`: `source` defines a function `tool`; `expr`: `source` is a condition),
`kind`, `severity`, `source`, `args`, and `accept`, the outcomes that pass. A benign row has `want`; a row may have a
`check`. The text `$CANARY` in the arguments becomes the path of a file with a secret. An attack has succeeded if the
result begins with PWNED or contains the secret, or if the check fails.

Exit status: 0 if every row passed and nothing leaked, 1 if not, 2 if the file cannot be used.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import queue
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, cast, get_args

import tqdm
from pydantic import ValidationError

from flowmind.workflow import expressions
from flowmind.workflow.program import Program
from tools_registry.sandbox import isolation
from tools_registry.sandbox.environments import LocalSandbox, ToolSource
from tools_registry.sandbox.workers import LAYERS, Limits, SandboxUnavailable, WorkerPool
from tools_registry.specs.schema import type_of
from tools_registry.specs.spec import Observation, Record, ToolCall, ToolSpec
from tools_registry.specs.values import CaseError, clean

Outcome = Literal["blocked-at-compile", "blocked-at-run", "killed-by-limit", "allowed"]
Check = Literal["second-case", "args-unchanged", "same-across-workers", "result-must-be-strict-json", "must-not-hang"]
SYSTEM_KINDS = ("file", "network", "subprocess", "fork", "signal", "thread")
"""Kinds that the process layer stops without the language layer."""
MAX_GROWTH_MB = 20.0
_ANY = {"type": "object"}
_KILLED = {"timeout", "memory", "crash"}
_SLACK = 3.0
"""Seconds beyond the limit within which a row with the check `must-not-hang` must end."""


class AuditError(ValueError):
    """The file of rows cannot be used. The message says where and why."""


class Row(Record):
    """An attack, or ordinary code with the value that it must return."""

    id: str
    surface: Literal["tool", "expr"]
    kind: str
    severity: str
    source: str
    args: dict[str, Any]
    accept: tuple[Outcome, ...]
    check: Check | None = None
    source2: str | None = None
    want: Any = None


class Result(Record):
    """The result of a row."""

    id: str
    surface: str
    kind: str
    severity: str
    outcome: Outcome
    passed: bool
    why: str
    """The reason of a failure; empty for a row that passed."""
    worked: bool
    """Whether the result begins with PWNED or contains the secret."""
    canary: bool
    """Whether the result contains the secret."""
    seconds: float


class Report(Record):
    """The results of a file."""

    file: str
    without: tuple[str, ...]
    isolation: dict[str, str]
    """The layers that the workers reported."""
    results: tuple[Result, ...]
    leaks: tuple[str, ...]
    growth_mb: float | None
    """Growth of this process's memory in megabytes; None if it cannot be measured."""

    @property
    def passed(self) -> bool:
        """Whether every row passed and nothing leaked.

        Without the language layer, only the secret and the rows of `SYSTEM_KINDS` count.
        """
        if "language" in self.without:
            broken = [result for result in attacks_of(self) if result.canary or (result.worked and _is_system(result))]
            return not self.leaks and not broken
        return not self.leaks and all(result.passed for result in self.results)


def attacks_of(report: Report) -> list[Result]:
    """The results of the attacks."""
    return [result for result in report.results if result.severity != "benign"]


def benign_of(report: Report) -> list[Result]:
    """The results of the ordinary rows."""
    return [result for result in report.results if result.severity == "benign"]


def _is_system(result: Result) -> bool:
    return result.kind in SYSTEM_KINDS


def read(path: Path) -> list[Row]:
    """Reads the rows of a file.

    Raises:
        AuditError: If the file is missing or a line is not a row, with the number of the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AuditError(f"{path}: cannot be read: {error}") from None
    rows = [_row(line, f"{path}, line {number}") for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not rows:
        raise AuditError(f"{path}: has no rows")
    return rows


def _row(line: str, where: str) -> Row:
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise AuditError(f"{where}: not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise AuditError(f"{where}: a row must be an object")
    try:
        known = {name: value for name, value in cast(dict[str, Any], fields).items() if name in Row.model_fields}
        return Row.model_validate(known)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise AuditError(f"{where}: {place}: {_problem(place, first)}") from None


def _problem(place: str, error: Any) -> str:
    if error["type"] == "missing":
        return "the field is missing"
    known = {"surface": ("tool", "expr"), "check": get_args(Check)}.get(place.partition(".")[0])
    return f"{error['input']!r} is not one of {', '.join(known)}" if known else str(error["msg"])


class Auditor:
    """Runs rows on several pools of one worker each, which are used for all rows.

    Args:
        limits: The limits of each call.
        lanes: The number of pools, and of rows that run at the same time.
        without: Layers to disable.
    """

    def __init__(self, limits: Limits, lanes: int = 2, without: frozenset[str] = frozenset()) -> None:
        self.limits = limits
        self.without = without
        self.lanes = [WorkerPool(1, limits, without) for _ in range(lanes)]
        self._free: queue.SimpleQueue[WorkerPool] = queue.SimpleQueue()
        for lane in self.lanes:
            self._free.put(lane)
        self._folder = tempfile.TemporaryDirectory(prefix="audit-")
        self.secret = secrets.token_hex(16)
        self._canary = Path(self._folder.name) / "canary"
        self._canary.write_text(self.secret, encoding="utf-8")
        self._canary.parent.chmod(0o755)

    def close(self) -> None:
        """Ends the workers and removes the file with the secret."""
        for lane in self.lanes:
            lane.close()
        self._folder.cleanup()

    def run(self, row: Row) -> Result:
        """Runs a row on the next free pool."""
        lane = self._free.get()
        begun = time.monotonic()
        try:
            outcome, why, worked, canary = self._judge(row, lane)
        finally:
            self._free.put(lane)
        return Result(
            id=row.id, surface=row.surface, kind=row.kind, severity=row.severity, outcome=outcome, passed=not why,
            why=why, worked=worked, canary=canary, seconds=round(time.monotonic() - begun, 3),
        )  # fmt: skip

    def answers(self) -> bool:
        """Whether every pool still works."""
        source = "def tool(n):\n    return n + 1"
        return all(self._call(lane, source, {"n": 1}).value == 2 for lane in self.lanes)

    def _judge(self, row: Row, lane: WorkerPool) -> tuple[Outcome, str, bool, bool]:
        args = self._with_canary(row.args)
        original = copy.deepcopy(args)
        begun = time.monotonic()
        observation = self._observe(row, lane, args)
        seconds = time.monotonic() - begun
        outcome = _outcome(observation)
        canary = self.secret in json.dumps(observation.value, ensure_ascii=False)
        if row.severity == "benign":
            return outcome, _unwanted(row.want, observation), False, canary
        worked = why = self._worked(observation)
        if not why and outcome not in row.accept:
            why = f"outcome {outcome}, gave {_short(observation.value)}"
        match row.check:
            case _ if why:
                pass
            case "second-case":
                why = self._second(row, lane, args)
            case "args-unchanged" if args != original:
                why = "the caller's arguments were changed"
            case "same-across-workers":
                why = self._differs(row.source, args)
            case "result-must-be-strict-json":
                why = self._not_strict(observation)
            case "must-not-hang" if seconds > self.limits.seconds + _SLACK:
                why = f"ended after {seconds:.1f} s"
            case _:
                pass
        return outcome, why, bool(worked), canary

    def _observe(self, row: Row, lane: WorkerPool, args: dict[str, Any]) -> Observation:
        if row.surface == "tool":
            return self._call(lane, row.source, args)
        if "language" in self.without:
            return self._call(lane, f"def tool({', '.join(args)}):\n    return {row.source}", args)
        return self._condition(lane, row.source, args)

    def _call(self, lane: WorkerPool, source: str, args: dict[str, Any]) -> Observation:
        tool = ToolSource(spec=ToolSpec(name="tool", parameters=_ANY), source=source)
        return LocalSandbox([tool], lane).calls([ToolCall(tool="tool", args=args)])[0]

    def _condition(self, lane: WorkerPool, text: str, values: dict[str, Any]) -> Observation:
        """Evaluates a condition as in a workflow: translated in this process, evaluated by the worker."""
        try:
            expression = expressions.translate(text, {name: f"inputs[{name!r}]" for name in values})
        except expressions.ExpressionError as error:
            return Observation.failed("refused", str(error))
        source = (
            "def run(inputs, tools, budget, log):\n    try:\n"
            f"        return clean({expression})\n    except Exception as error:\n        raise fail(~0, None, error)"
        )
        outcome = LocalSandbox([], lane).run(Program(source, [], (), ("condition",)), [values])[0]
        return Observation(value=outcome.answer) if outcome.error is None else Observation.failed(*outcome.error)

    def _with_canary(self, value: Any) -> Any:
        match value:
            case str():
                return value.replace("$CANARY", str(self._canary))
            case list():
                return [self._with_canary(part) for part in cast(list[Any], value)]
            case dict():
                return {name: self._with_canary(part) for name, part in cast(dict[str, Any], value).items()}
            case _:
                return value

    def _worked(self, observation: Observation) -> str:
        if isinstance(observation.value, str) and observation.value.startswith("PWNED"):
            return f"gave {_short(observation.value)}"
        if self.secret in json.dumps(observation.value, ensure_ascii=False):
            return "gave the secret of the canary file"
        return ""

    def _second(self, row: Row, lane: WorkerPool, args: dict[str, Any]) -> str:
        """Compares a second case of this worker with the same case in a new worker."""
        source = row.source2 or row.source
        later = self._call(lane, source, args)
        if why := self._worked(later):
            return f"the second case {why}"
        with WorkerPool(1, self.limits, self.without) as fresh:
            alone = self._call(fresh, source, args)
        return "" if later == alone else f"the second case gave {_short(later.value)}, alone {_short(alone.value)}"

    def _differs(self, source: str, args: dict[str, Any]) -> str:
        observations: list[Observation] = []
        for _ in range(2):
            with WorkerPool(1, self.limits, self.without) as fresh:
                observations.append(self._call(fresh, source, args))
        first, second = observations
        return "" if first == second else f"two workers gave {_short(first.value)} and {_short(second.value)}"

    def _not_strict(self, observation: Observation) -> str:
        try:
            size = len(json.dumps(clean(observation.value), allow_nan=False))
        except (CaseError, ValueError) as error:
            return f"the result is not strict JSON: {error}"
        return "" if size <= self.limits.value_bytes + 2 else f"the result has {size} characters"


def _outcome(observation: Observation) -> Outcome:
    error = observation.error
    if error is None:
        return "allowed"
    if error.type in _KILLED or error.message.startswith("RecursionError"):
        return "killed-by-limit"
    if error.type == "refused" and "while it is defined" not in error.message:
        return "blocked-at-compile"
    return "blocked-at-run"


def _unwanted(want: Any, observation: Observation) -> str:
    if observation.error is not None:
        return f"{observation.error.type}: {observation.error.message}"
    if _same(want, observation.value):
        return ""
    return f"gave {_short(observation.value)}, expected {_short(want)}"


def _same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal in value and type, recursively."""
    if type_of(left) is not type_of(right):
        return False
    if type_of(left) is list:
        return len(left) == len(right) and all(map(_same, left, right))
    if type_of(left) is dict:
        return left.keys() == right.keys() and all(_same(left[name], right[name]) for name in left)
    return left == right


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


# Leaks.


class Resources:
    """Open files, zombie processes, and memory of this process, where /proc shows them."""

    def __init__(self) -> None:
        self.known = Path("/proc/self/statm").exists()
        self.files = self._files()
        self.memory = self._memory()

    def _files(self) -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir()) if self.known else 0

    def _memory(self) -> float:
        if not self.known:
            return 0.0
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def growth(self) -> float | None:
        """Growth of memory in megabytes."""
        return round(self._memory() - self.memory, 1) if self.known else None

    def leaks(self) -> Iterator[str]:
        """The leaks since the beginning, one line each."""
        if not self.known:
            return
        if (more := self._files() - self.files) > 0:
            yield f"{more} file descriptors are still open"
        if zombies := _zombies():
            yield f"{zombies} ended processes were not reaped"
        if (growth := self.growth() or 0.0) > MAX_GROWTH_MB:
            yield f"this process grew by {growth:.1f} MB, at most {MAX_GROWTH_MB:.0f} are allowed"


def _zombies() -> int:
    """The number of zombie processes among the descendants of this process."""
    parents: dict[int, int] = {}
    ended: set[int] = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:2]
        except OSError:
            continue
        parents[int(path.parent.name)] = int(parent)
        if state == "Z":
            ended.add(int(path.parent.name))
    return sum(_is_below(pid, os.getpid(), parents) for pid in ended)


def _is_below(pid: int, top: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == top:
            return True
    return False


# The command.


def audit(path: Path, rows: Sequence[Row], auditor: Auditor, quiet: bool = False) -> Report:
    """Runs rows on all pools and checks for leaks.

    Raises:
        SandboxUnavailable: If no worker can be started.
    """
    if not auditor.answers():
        raise SandboxUnavailable("the sandbox does not run a simple tool")
    layers = isolation.measure(auditor.lanes[0]).layers
    resources = Resources()
    with ThreadPoolExecutor(len(auditor.lanes)) as threads:
        work = threads.map(auditor.run, rows)
        bar = tqdm.tqdm(work, total=len(rows), desc="audit", unit="row", disable=quiet or None)
        results = tuple(bar)
    leaks = ["a worker no longer answers"] if not auditor.answers() else []
    leaks += resources.leaks()
    return Report(
        file=str(path), without=tuple(sorted(auditor.without)), isolation=layers, results=results,
        leaks=tuple(leaks), growth_mb=resources.growth(),
    )  # fmt: skip


def table(report: Report) -> str:
    """The report as text."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in report.results:
        groups.setdefault((result.severity, result.kind), []).append(result)
    lines = [f"{'severity':<12} {'kind':<24} {'rows':>5} {'right':>6}  outcomes"]
    for (severity, kind), results in sorted(groups.items()):
        counts = Counter(result.outcome for result in results)
        outcomes = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        right = sum(result.passed for result in results)
        lines.append(f"{severity:<12} {kind:<24} {len(results):>5} {right:>6}  {outcomes}")
    attacks, benign = attacks_of(report), benign_of(report)
    lines += [
        f"{sum(result.passed for result in attacks)} of {len(attacks)} attacks stopped, "
        f"{sum(result.passed for result in benign)} of {len(benign)} benign rows right",
        *(f"{result.id} ({result.kind}): {result.why}" for result in report.results if not result.passed),
        *(_without(report) if report.without else ()),
        *(f"left behind: {leak}" for leak in report.leaks),
    ]
    if report.growth_mb is not None:
        lines.append(f"memory of this process: {report.growth_mb:+.1f} MB; at most {MAX_GROWTH_MB:.0f} MB are allowed")
    return "\n".join(lines)


def _without(report: Report) -> Iterator[str]:
    """The results of the remaining layers."""
    for name, state in report.isolation.items():
        yield f"layer {name}: {state}"
    if "language" in report.without:
        came_back = [result.id for result in report.results if result.canary]
        yield f"the secret was returned by {', '.join(came_back) or 'no row'}"
        for kind in SYSTEM_KINDS:
            rows = [result for result in attacks_of(report) if result.kind == kind]
            stopped = sum(not result.worked for result in rows)
            open_ = ", ".join(result.id for result in rows if result.worked)
            yield (
                f"{kind}: {stopped} of {len(rows)} stopped{open_ and f'; not {open_}'}" if rows else f"{kind}: no rows"
            )
    if "process" in report.without:
        open_ = [name for name, state in report.isolation.items() if state.startswith("off")]
        yield f"only the language layer protects: {', '.join(open_) or 'nothing'}"


def as_json(report: Report) -> str:
    """The report as a JSON document."""
    attacks, benign = attacks_of(report), benign_of(report)
    summary = {
        "passed": report.passed,
        "attacks": len(attacks),
        "attacks_stopped": sum(result.passed for result in attacks),
        "benign": len(benign),
        "benign_right": sum(result.passed for result in benign),
    }
    return json.dumps({**report.model_dump(mode="json"), "summary": summary}, indent=2)


def _chosen(rows: Sequence[Row], only: Sequence[str]) -> list[Row]:
    chosen = [row for row in rows if not only or row.kind in only or row.id in only]
    if unknown := [name for name in only if not any(name in (row.kind, row.id) for row in rows)]:
        raise AuditError(f"no row has the kind or id {unknown[0]!r}")
    return chosen


def main(arguments: Sequence[str] | None = None, show: Callable[[str], None] = print) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools_registry.sandbox.audit", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("file", type=Path, help="file with rows, one JSON object per line")
    parser.add_argument("--json", action="store_true", help="print a JSON document instead of a table")
    parser.add_argument("--only", action="append", default=[], metavar="KIND_OR_ID", help="run only these rows")
    parser.add_argument("--without", action="append", default=[], choices=sorted(LAYERS), help="disable a layer")
    parser.add_argument("--seconds", type=float, default=1.0, help="time limit of a call (default: 1)")
    parser.add_argument("--pool", type=int, default=2, metavar="N", help="rows that run at the same time (default: 2)")
    options = parser.parse_args(arguments)
    try:
        rows = _chosen(read(options.file), options.only)
        auditor = Auditor(Limits(seconds=options.seconds), max(1, options.pool), frozenset(options.without))
        try:
            report = audit(options.file, rows, auditor)
        finally:
            auditor.close()
    except (AuditError, SandboxUnavailable) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    show(as_json(report) if options.json else table(report))
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
