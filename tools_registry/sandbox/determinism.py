"""Checks that equal calls give equal results, in any worker and order of work and for any hash seed of the process.

`python -m tools_registry.sandbox.determinism` derives calls of the catalog's tools from their examples, makes them
twice on one worker and once on two, for three hash seeds, and compares the results.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

from tools_registry import catalog
from tools_registry.sandbox.environments import LocalSandbox, WorkerPool
from tools_registry.sandbox.workers import Isolating
from tools_registry.specs.schema import type_of

Call = tuple[str, dict[str, Any]]
_BATCH = 100
_SEEDS = ("0", "1", "4294967295")


def calls(count: int) -> list[Call]:
    """`count` calls: the examples of the catalog's tools, and variations of them. Always the same."""
    examples = [(name, example.args) for name, tool in catalog.load().items() for example in tool.examples]
    rng = random.Random(20)
    chosen: list[Call] = list(examples[:count])
    while len(chosen) < count:
        name, args = rng.choice(examples)
        chosen.append((name, _varied(args, rng)))
    return chosen


def _varied(value: Any, rng: random.Random) -> Any:
    kind = type_of(value)
    if kind is int:
        return value + rng.randint(-3, 3)
    if kind is float:
        return value * rng.choice((0.5, 1.0, 1.1, 3.0))
    if kind is str:
        return rng.choice((value, value.upper(), value[::-1], f"{value} {rng.randint(0, 99)}"))
    if kind is list:
        return rng.sample([_varied(part, rng) for part in value], len(value))
    if kind is dict:
        return {key: _varied(part, rng) for key, part in value.items()}
    return value


def results(tool_calls: Sequence[Call], workers: int, isolation: Isolating = "batch") -> list[str]:
    """The value or error of each call, as JSON. Each batch goes to the next free worker."""
    batches = [tool_calls[start : start + _BATCH] for start in range(0, len(tool_calls), _BATCH)]
    pool = WorkerPool(workers, isolation=isolation, require="none")
    called = {name for name, _ in tool_calls}
    with pool, ThreadPoolExecutor(workers) as threads:
        sandbox = LocalSandbox([tool for name, tool in catalog.load().items() if name in called], pool)
        return [json.dumps(result) for batch in threads.map(sandbox.values, batches) for result in batch]


def _runs(count: int, isolation: Isolating) -> Iterator[tuple[str, list[str]]]:
    tool_calls = calls(count)
    for label, workers in (("one worker", 1), ("one worker, again", 1), ("two workers", 2)):
        yield label, results(tool_calls, workers, isolation)


def _in_a_process(count: int, seed: str, isolation: Isolating) -> dict[str, list[str]]:
    """The runs of a new process with this hash seed."""
    command = [sys.executable, "-m", "tools_registry.sandbox.determinism", "--inner"]
    done = subprocess.run(
        [*command, "--cases", str(count), "--isolation", isolation],
        env={**os.environ, "PYTHONHASHSEED": seed},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main() -> int:
    """Runs the command; returns 0 if all runs are equal, otherwise 1."""
    parser = argparse.ArgumentParser(prog="python -m tools_registry.sandbox.determinism", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, metavar="N", help="calls of a run (default 10000)")
    parser.add_argument("--isolation", choices=get_args(Isolating), default="batch", help="what gets a process")
    parser.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inner:
        json.dump(dict(_runs(options.cases, options.isolation)), sys.stdout)
        return 0
    tool_calls = calls(options.cases)
    expected: list[str] | None = None
    differences = 0
    for seed in _SEEDS:
        for label, values in _in_a_process(options.cases, seed, options.isolation).items():
            expected = expected or values
            pairs = enumerate(zip(expected, values, strict=True))
            wrong = [place for place, (first, value) in pairs if first != value]
            digest = hashlib.sha256("\n".join(values).encode()).hexdigest()[:16]
            print(f"hash seed {seed:>10}  {label:<17}  {len(values)} calls  {digest}  {len(wrong)} differ")
            for place in wrong[:3]:
                name, args = tool_calls[place]
                print(f"  {name} {json.dumps(args)}: {expected[place]} and {values[place]}")
            differences += len(wrong)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
