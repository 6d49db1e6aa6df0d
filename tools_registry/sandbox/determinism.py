"""Equal calls give equal results: in any worker, in any order of work, whatever the hash seed of the process.

`python -m tools_registry.sandbox.determinism` makes calls of the catalog's tools out of their examples, runs them
twice, on one worker and on two, under three hash seeds, and compares.
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
from typing import Any

from tools_registry import catalog
from tools_registry.sandbox.environments import LocalSandbox, WorkerPool
from tools_registry.specs.schema import type_of

Call = tuple[str, dict[str, Any]]
_BATCH = 100
_SEEDS = ("0", "1", "4294967295")


def calls(count: int) -> list[Call]:
    """That many calls: the examples of the catalog's tools, and variations of them; always the same."""
    examples = [(name, example.args) for name, tool in catalog.load().items() for example in tool.examples]
    rng = random.Random(20)
    made: list[Call] = list(examples[:count])
    while len(made) < count:
        name, args = rng.choice(examples)
        made.append((name, _varied(args, rng)))
    return made


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


def results(todo: Sequence[Call], workers: int) -> list[str]:
    """What each call gives, value or error, as text; a batch goes to whichever worker is free."""
    batches = [todo[start : start + _BATCH] for start in range(0, len(todo), _BATCH)]
    with WorkerPool(workers) as pool, ThreadPoolExecutor(workers) as threads:
        sandbox = LocalSandbox(list(catalog.load().values()), pool)
        return [json.dumps(one) for batch in threads.map(sandbox.values, batches) for one in batch]


def _runs(count: int) -> Iterator[tuple[str, list[str]]]:
    todo = calls(count)
    for label, workers in (("one worker", 1), ("one worker, again", 1), ("two workers", 2)):
        yield label, results(todo, workers)


def _in_a_process(count: int, seed: str) -> dict[str, list[str]]:
    """The runs of a process of its own, which has that hash seed."""
    done = subprocess.run(
        [sys.executable, "-m", "tools_registry.sandbox.determinism", "--cases", str(count), "--inner"],
        env={**os.environ, "PYTHONHASHSEED": seed},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main() -> int:
    """The command; 0 if all runs are equal, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tools_registry.sandbox.determinism", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, metavar="N", help="calls of a run (default 10000)")
    parser.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inner:
        json.dump(dict(_runs(options.cases)), sys.stdout)
        return 0
    todo = calls(options.cases)
    first: list[str] | None = None
    differ = 0
    for seed in _SEEDS:
        for label, found in _in_a_process(options.cases, seed).items():
            first = first or found
            wrong = [place for place, pair in enumerate(zip(first, found, strict=True)) if pair[0] != pair[1]]
            digest = hashlib.sha256("\n".join(found).encode()).hexdigest()[:16]
            print(f"hash seed {seed:>10}  {label:<17}  {len(found)} calls  {digest}  {len(wrong)} differ")
            for place in wrong[:3]:
                print(f"  {todo[place][0]} {json.dumps(todo[place][1])}: {first[place]} and {found[place]}")
            differ += len(wrong)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
