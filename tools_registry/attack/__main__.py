"""The command of the standing attack.

    python -m tools_registry.attack --seconds N [--workers N] [--seed N] [--corpus ROWS.jsonl] [--out FINDINGS.jsonl]

Exit status: 0 if nothing was reported, 1 if something was, 2 if the arguments cannot be used.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import random
import selectors
import signal
import sys
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

import tqdm

from tools_registry.attack import corpus
from tools_registry.attack.inventory import Inventory, enumerate_all
from tools_registry.attack.oracles import Hit
from tools_registry.attack.outside import OwnerAttack, ProcessAttack
from tools_registry.attack.programs import Composer, Program
from tools_registry.attack.rounds import COUNTERS, Runner
from tools_registry.attack.shrinking import Finding, primitive, shrink
from tools_registry.sandbox.audit import AuditError
from tools_registry.sandbox.errors import SandboxUnavailable
from tools_registry.sandbox.language import policy

_TWIN = 8
"""One program of so many runs twice, with objects at different addresses."""
_LINES = 40
"""Lines of a source that are printed."""
_SHRINKING = 0.3
"""The part of the time that is for shrinking."""


class Tally:
    """The counts and findings of all workers."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(("programs", *COUNTERS), 0)
        self.findings: dict[str, list[Finding]] = {}
        self.hits: dict[str, int] = {}
        self.replies = self.system_calls = 0
        self.no_process = ""

    @property
    def compositions(self) -> int:
        """Attempts that were composed."""
        return sum(self.counts.values()) - self.counts["programs"]

    def add(self, finding: Finding) -> bool:
        """Adds a finding; whether its root is new."""
        group = self.findings.setdefault(finding.root, [])
        group.append(finding)
        return len(group) == 1

    def text(self, inventory: Inventory, seconds: float) -> str:
        """The report: the shortest source of each root, and the counts."""
        lines: list[str] = []
        for root, findings in sorted(self.findings.items()):
            shortest = min(findings, key=lambda finding: len(finding.source))
            source = shortest.source.splitlines()
            lines += [
                f"{root} ({shortest.detail}, {len(findings)} times)",
                *(f"    {line}" for line in source[:_LINES]),
            ]
            lines += [f"    ... {len(source) - _LINES} more lines", ""] if len(source) > _LINES else [""]
        lines += [
            f"enumerated: {inventory.line()}",
            f"tried: {self.counts['programs']} programs, {self.compositions} compositions in {seconds:.0f} s "
            f"({self.compositions / max(seconds, 0.1):.0f} a second): "
            + ", ".join(f"{self.counts[name]} {name}" for name in COUNTERS),
            f"to the owner: {self.replies} mutated replies; of a captured worker: "
            + (f"none, because {self.no_process}" if self.no_process else f"{self.system_calls} calls to the system"),
            f"oracles: {', '.join(f'{name} {count}' for name, count in sorted(self.hits.items())) or 'silent'}",
            f"findings: {len(self.findings)} roots",
        ]
        return "\n".join(lines)


def _attack_outside(seed: str, deadline: float, tell: Callable[..., None]) -> None:
    """Attacks the owner and the process, by turns."""

    def report(hit: Hit, primitive: str, source: str) -> None:
        tell("hit", hit.oracle)
        tell("finding", *hit, primitive, source)

    rng = random.Random(seed)
    owner, process = OwnerAttack(rng), ProcessAttack(rng)
    try:
        while time.monotonic() < deadline:
            owner.attempt(report)
            tell("outside", 1, 0 if process.reason else process.attempt(report), process.reason)
    finally:
        owner.close()
        process.close()


class _Team:
    """The work of one process: composes and runs programs, and shrinks what an oracle reports."""

    def __init__(self, composer: Composer, runner: Runner, tell: Callable[..., None]) -> None:
        self._composer = composer
        self._runner = runner
        self._tell = tell
        self._known: set[tuple[str, ...]] = set()
        self._pending: dict[str, deque[tuple[Program, int, Hit]]] = {}
        self._number = 0

    def work(self, seconds: float) -> None:
        """Works for some seconds; a part of them is for shrinking."""
        begun = time.monotonic()
        shrinking = 0.0
        self._compose()
        while (now := time.monotonic()) < begun + seconds * (1.0 - _SHRINKING * bool(self._pending) / 2):
            if self._pending and shrinking < (now - begun) * _SHRINKING:
                self._shrink(begun + seconds)
                shrinking += time.monotonic() - now
            else:
                self._compose()
        while self._pending:
            self._shrink(begun + seconds)

    def _compose(self) -> None:
        program = self._composer.program()
        self._number += 1
        twin = self._number % _TWIN == 0
        outcome = self._runner.run(program, shift=False if twin else None)
        self._tell("counts", 1, *outcome.counts)
        differences = self._runner.differences(program, outcome) if twin else ()
        for place, hit in (*outcome.hits, *differences):
            self._tell("hit", hit.oracle)
            key = (hit.oracle, primitive(program.attempts[place]) if place >= 0 else hit.detail)
            if key not in self._known:
                self._known.add(key)
                self._pending.setdefault(hit.oracle, deque()).append((program, place, hit))

    def _shrink(self, deadline: float) -> None:
        """Shrinks the oldest of one oracle; the next oracle is next."""
        oracle = next(iter(self._pending))
        waiting = self._pending.pop(oracle)
        program, place, hit = waiting.popleft()
        finding = shrink(self._runner, program, place, hit, deadline)
        self._tell("finding", *finding)
        if waiting and time.monotonic() < deadline:
            self._pending[oracle] = waiting


def _fork(work: Callable[[Callable[..., None]], None]) -> tuple[int, int]:
    """Runs work in a child; returns its process id and the pipe of what it tells."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    try:
        os.close(reader)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        work(lambda *row: _write(writer, f"{row!r}\n".encode("utf-8", "backslashreplace")))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _write(writer: int, data: bytes) -> None:
    while data:
        data = data[os.write(writer, data) :]


def _listen(readers: Sequence[int], tally: Tally, show: Callable[[Finding], None], bar: Any) -> None:
    selector = selectors.DefaultSelector()
    waiting = dict.fromkeys(readers, b"")
    for reader in readers:
        selector.register(reader, selectors.EVENT_READ)
    while waiting:
        for key, _ in selector.select():
            part = os.read(key.fd, 1 << 16)
            *lines, waiting[key.fd] = (waiting[key.fd] + part).split(b"\n")
            for what, *row in (ast.literal_eval(line.decode()) for line in lines):
                if what == "counts":
                    for name, count in zip(tally.counts, row, strict=True):
                        tally.counts[name] += count
                    bar.update(sum(row[1:]))
                elif what == "hit":
                    tally.hits[row[0]] = tally.hits.get(row[0], 0) + 1
                elif what == "outside":
                    tally.replies, tally.system_calls = tally.replies + row[0], tally.system_calls + row[1]
                    tally.no_process = row[2]
                elif tally.add(finding := Finding(*row)):
                    show(finding)
            if not part:
                selector.unregister(key.fd)
                os.close(key.fd)
                del waiting[key.fd]


def attack(options: argparse.Namespace, attacks: tuple[str, ...], out: TextIO) -> int:
    """Runs the attack; prints the report and returns the exit status."""
    warnings.simplefilter("ignore", SyntaxWarning)
    policy.preload()
    inventory = enumerate_all()
    runner = Runner(inventory)
    gc.freeze()  # children would copy what a collection touches
    begun = time.monotonic()
    deadline = begun + options.seconds
    tally = Tally()

    def show(finding: Finding) -> None:
        out.write(f"{json.dumps({'root': finding.root, **finding._asdict()})}\n")
        out.flush()

    children = [
        _fork(
            lambda tell, index=index: _Team(
                Composer(inventory, random.Random(f"{options.seed}/{index}"), attacks), runner, tell
            ).work(deadline - time.monotonic())
        )
        for index in range(options.workers)
    ]
    children.append(_fork(lambda tell: _attack_outside(options.seed, deadline, tell)))
    with tqdm.tqdm(desc="attack", unit=" compositions", disable=None) as bar:
        try:
            _listen([reader for _, reader in children], tally, show, bar)
        except KeyboardInterrupt:
            for child, _ in children:
                os.kill(child, signal.SIGKILL)
        finally:
            gc.unfreeze()
    failed = [child for child, _ in children if os.waitpid(child, 0)[1] not in (0, signal.SIGKILL)]
    print(tally.text(inventory, time.monotonic() - begun))
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(children)} processes of the attack failed")
    return 1 if tally.findings else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools_registry.attack", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="duration (default: 60)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: the cores)")
    parser.add_argument("--seed", default="0", help="seed of the compositions (default: 0)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="append each finding to this file as a JSON object")
    parser.add_argument("--corpus", type=Path, metavar="ROWS", help="a file of the audit whose attacks are changed too")
    options = parser.parse_args(arguments)
    if options.seconds <= 0 or options.workers < 1:
        parser.error("--seconds and --workers must be greater than 0")
    try:
        with (options.out or Path(os.devnull)).open("a", encoding="utf-8") as out:
            return attack(options, corpus.read(options.corpus) if options.corpus else (), out)
    except (OSError, AuditError, SandboxUnavailable) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
