"""`python -m experiments.bench.scaling RUN`: what a driver costs, and when it is the bottleneck of many workers.

The costs are measured on the cases of a run: the time in which the driver keeps an exchange, and a finished case, and
in which shards are merged. Then workers are simulated that work on cases and send all exchanges to one driver.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from experiments.bench.server import instant_server
from experiments.folder import Run, Stages
from experiments.merging import merge
from experiments.record import CaseRecord
from experiments.shards import Shard
from flowmind.api.solving import Solution
from flowmind.base.errors import InputError
from flowmind.llm.openai_chat import OpenAIChat
from flowmind.llm.recorded import Timing, end_case, keep_exchange
from flowmind.protocols import ChatRequest, Message
from flowmind.workflow.document import Workflow

WORKERS = (10, 100, 300, 1_000)
CASES = ((1.0, 5), (1.0, 40), (10.0, 5), (10.0, 40), (60.0, 5), (60.0, 40))
"""Seconds and exchanges of a case."""
SHARDS = 4
AT_ONCE = (64, 1_000)
"""Requests in flight."""


class Stored(NamedTuple):
    """What a case of a run has left."""

    id: str
    record: CaseRecord
    stages: Stages
    workflow: Workflow | None
    exchanges: list[dict[str, Any]]
    bytes: int

    @classmethod
    def read(cls, run: Run, record: CaseRecord) -> Stored:
        """The case of a record."""
        lines = [json.loads(line) for line in run.exchanges(record.id).read_text().splitlines()]
        exchanges = [{key: value for key, value in line.items() if key != "crc"} for line in lines if "key" in line]
        files = [path for path in run.folder.glob("*/*") if path.stem == record.id]
        size = sum(path.stat().st_size for path in files) + len(record.model_dump_json())
        return cls(record.id, record, run.stages(record.id), run.workflow(record.id), exchanges, size)

    def keep_exchanges(self, run: Run) -> None:
        """Writes the exchanges as the driver does."""
        for line in self.exchanges:
            keep_exchange(run.exchanges(self.id), line, run.folder)

    def keep_case(self, run: Run, id: str) -> None:
        """Writes all other files of the case as the driver does, as those of another case if it has another id."""
        end_case(run.exchanges(id), Timing(started_at=self.record.started_at, seconds=self.record.seconds), run.folder)
        assert self.stages.task is not None
        solution = Solution(traces=self.stages.traces, summary=self.stages.summary, workflow=self.workflow)
        tests = [trace for trace in self.stages.tests if trace is not None]
        run.keep_case(self.stages.task.model_copy(update={"id": id}), solution, tests)
        run.keep_record(self.record.model_copy(update={"id": id}))


class Cost(NamedTuple):
    """Seconds that something takes: all, and those of the processor."""

    seconds: float
    busy: float

    def of(self, count: int) -> Cost:
        """The cost of one of several."""
        return Cost(self.seconds / count, self.busy / count)

    def __str__(self) -> str:
        return f"{1_000 * self.seconds:.2f} ms ({1_000 * self.busy:.2f} ms of a core)"


def timed(work: Callable[[], object]) -> Cost:
    """The cost of a piece of work."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


class Costs(NamedTuple):
    """What a driver costs."""

    exchange: Cost
    case: Cost
    """The end of a case: its trace, its workflow and its record, on the disk."""
    merge: Cost
    """The merge of the shards of a run, a case."""
    bytes: float
    """The bytes of a case."""
    exchanges: float
    """The exchanges of a case."""


def measure(source: Path, rounds: int) -> Costs:
    """Measures a driver on the cases of a run; medians over rounds.

    Raises:
        InputError: If the folder holds no run with finished cases.
    """
    run = Run(source)
    cases = [Stored.read(run, record) for record in run.records().values() if record.error is None]
    cases = [case for case in cases if case.stages.task is not None]
    if not any(case.exchanges for case in cases):
        raise InputError(f"{source}: no finished case with exchanges in it")
    exchanges = sum(len(case.exchanges) for case in cases)
    measured: list[tuple[Cost, Cost, Cost]] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=source.parent) as folder:
            place = Run(Path(folder) / "run")
            for case in cases:
                place.exchanges(case.id).parent.mkdir(parents=True, exist_ok=True)
            sent = timed(partial(_each, cases, lambda case, run: case.keep_exchanges(run), place))
            kept = timed(partial(_each, cases, lambda case, run: case.keep_case(run, case.id), place))
            joined = _merged(Path(folder) / "parts", run, cases)
            measured.append((sent.of(exchanges), kept.of(len(cases)), joined))
    sent, kept, joined = (sorted(costs)[rounds // 2] for costs in zip(*measured, strict=True))
    return Costs(sent, kept, joined, sum(case.bytes for case in cases) / len(cases), exchanges / len(cases))


def _each(cases: Sequence[Stored], keep: Callable[[Stored, Run], None], run: Run) -> None:
    for case in cases:
        keep(case, run)


def _merged(out: Path, run: Run, cases: Sequence[Stored], copies: int = 20) -> Cost:
    """The cost of the merge of a case, for a run that has each case several times under other ids."""
    ids = [f"{case.id}.{copy}" for copy in range(copies) for case in cases]
    for shard in (Shard(number=number, of=SHARDS) for number in range(1, SHARDS + 1)):
        part = Run(out / shard.name)
        part.begin({**run.manifest, **shard.manifest(shard.part(ids), "flowmind exp")})
        for place, id in enumerate(ids):
            if id in shard.part(ids):
                case = cases[place % len(cases)]
                part.exchanges(id).parent.mkdir(exist_ok=True)
                shutil.copyfile(run.exchanges(case.id), part.exchanges(id))
                case.keep_case(part, id)
        part.put_in_order(shard.part(ids))
    return timed(lambda: merge(out)).of(len(ids))


def client(at_once: int, count: int = 2_000) -> Cost:
    """The cost of a request for the client of a server that answers immediately, with many requests in flight."""
    request = ChatRequest(messages=(Message(role="user", content="x" * 4_000),))

    async def ask(url: str) -> Cost:
        chat = OpenAIChat("m", url, "key", concurrency=at_once)
        await chat.complete(request)

        wall, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(chat.complete(request) for _ in range(count)))
        cost = Cost(time.perf_counter() - wall, time.process_time() - cpu)
        await chat.aclose()
        return cost.of(count)

    with instant_server() as url:
        return asyncio.run(ask(url))


class Outcome(NamedTuple):
    """A simulated run."""

    utilisation: float
    """The share of the time in which the driver works."""
    queue: float
    """The mean number of messages that wait for the driver."""
    longest: float
    """The longest wait of a message in seconds."""
    share: float
    """The finished cases as a share of those that workers with a driver that costs nothing finish."""


def simulate(workers: int, seconds: float, exchanges: int, exchange: float, case: float, seed: int = 0) -> Outcome:
    """Simulates workers and one driver, which works on one message at a time in the order of their arrival.

    A worker sends its exchanges spread over the case and goes on; it waits until the end of the case is kept and then
    has the next case. Cases take 0.5 to 1.5 times their mean. Workers begin at random times within one case.

    Args:
        workers: The number of workers.
        seconds: The mean time of a case.
        exchanges: The exchanges of a case.
        exchange, case: Seconds in which the driver keeps an exchange, and the end of a case.
        seed: The seed of all times.
    """
    chance = random.Random(seed)
    horizon = max(4, 2_000 // workers) * max(seconds, workers * (exchanges * exchange + case))
    warm = horizon / 2
    free = waited = worked = longest = 0.0
    finished = 0

    def pause() -> float:
        return seconds * chance.uniform(0.5, 1.5) / (exchanges + 1)

    events = [(chance.uniform(0, seconds), number, exchanges, pause()) for number in range(workers)]
    heapq.heapify(events)
    while events and events[0][0] < horizon:
        now, number, left, step = heapq.heappop(events)
        begun = max(now, free)
        free = begun + (exchange if left else case)
        worked += max(0.0, min(free, horizon) - max(begun, warm))
        finished += not left and warm <= free < horizon
        if now >= warm:
            waited += begun - now
            longest = max(longest, begun - now)
        if left:
            heapq.heappush(events, (now + step, number, left - 1, step))
        else:
            step = pause()
            heapq.heappush(events, (free + step, number, exchanges, step))
    measured = horizon - warm
    return Outcome(worked / measured, waited / measured, longest, finished * seconds / workers / measured)


def table(exchange: float, case: float, workers: Sequence[int] = WORKERS) -> str:
    """The simulations of all cases and numbers of workers, as Markdown."""
    lines = [
        "| s a case | exchanges | saturated at | workers | driver busy | messages waiting | longest wait | speed |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for seconds, exchanges in CASES:
        limit = seconds / (exchanges * exchange + case)
        for count in workers:
            outcome = simulate(count, seconds, exchanges, exchange, case)
            lines.append(
                f"| {seconds:g} | {exchanges} | {limit:,.0f} workers | {count:,} | {outcome.utilisation:.0%} | "
                f"{outcome.queue:,.1f} | {outcome.longest:.2f} s | {outcome.share:.0%} |"
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, unless both costs are given, and prints the simulations."""
    parser = argparse.ArgumentParser(prog="python -m experiments.bench.scaling", description=__doc__)
    parser.add_argument(
        "run", type=Path, nargs="?", help="folder of a run whose cases are kept again, in a folder beside it"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of the measurement (default 5)")
    parser.add_argument("--exchange-ms", type=float, help="milliseconds for an exchange, instead of the measured ones")
    parser.add_argument(
        "--case-ms", type=float, help="milliseconds for the end of a case, instead of the measured ones"
    )
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS, help="numbers of workers")
    options = parser.parse_args(arguments)
    exchange, case = options.exchange_ms, options.case_ms
    try:
        if options.run is not None:
            print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            costs = measure(options.run, options.rounds)
            print(f"an exchange: {costs.exchange}, {1 / costs.exchange.seconds:,.0f} a second")
            print(f"the end of a case: {costs.case}, {1 / costs.case.seconds:,.0f} a second")
            print(f"a case: {costs.exchanges:.1f} exchanges, {costs.bytes:,.0f} bytes")
            print(f"merge, a case: {costs.merge}, {1_000 * costs.merge.seconds:.1f} s for 1,000")
            for at_once in AT_ONCE:
                print(f"a request, {at_once} in flight: {client(at_once)}")
            exchange, case = exchange or 1_000 * costs.exchange.seconds, case or 1_000 * costs.case.seconds
    except InputError as error:
        print(f"scaling: {error}", file=sys.stderr)
        return 2
    if exchange is None or case is None:
        parser.error("give the folder of a run, or --exchange-ms and --case-ms")
    print()
    print(table(exchange / 1_000, case / 1_000, options.workers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
