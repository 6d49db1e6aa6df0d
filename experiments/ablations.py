"""What each part of induction earns: `python -m experiments.ablations --bench DIR`, on a suite `api`.

Workflows are induced from gold traces with one production taken away, or one constant halved or doubled, and run on the
tests with their rivals. A part that earns nothing is a candidate for deletion.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import tqdm

from experiments.tables import markdown
from flowmind.base.errors import InputError
from flowmind.build import induction
from flowmind.build.induction.induce import induce
from flowmind.build.induction.induction import Request
from flowmind.build.induction.runs import run_of
from flowmind.run.doubt import Guard
from flowmind.run.running import prepare
from flowmind.trace.stateful import judge, load, opened
from flowmind.workflow.document import Workflow

PACKAGE = "flowmind.build.induction"


class Part(NamedTuple):
    """A part of induction that can be taken away or changed."""

    name: str
    module: str
    attribute: str
    value: Any
    """What stands in its place; of a constant a factor."""


def _nothing(*_: Any, **__: Any) -> list[Any]:
    return []


def _no_functions(_: str) -> dict[str, Any]:
    return {}


def _same(program: Any, *_: Any) -> Any:
    return program


def _unread(_: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.reading").Reading()


PRODUCTIONS = (
    Part("arithmetic", "values", "compute", _nothing),
    Part("aggregates in values", "values", "aggregates", _nothing),
    Part("aggregates in conditions", "conditions", "rival_features", _nothing),
    Part("templates", "values", "compose", _nothing),
    Part("tables of entries", "values", "look_up", _nothing),
    Part("values by conditions", "values", "choose", _nothing),
    Part("functions of texts", "values", "made_of", _no_functions),
    Part("values in words", "values", "_said", _nothing),
    Part("the task's text", "induce", "read", _unread),
    Part("loops over lists", "loops", "over_elements", _nothing),
    Part("repetitions", "loops", "over_repetition", _nothing),
    Part("states of loops", "loops", "carried_by", _nothing),
    Part("purposes", "induce", "with_purposes", _same),
    Part("numbers of the text", "induce", "with_mentions", _same),
    Part("rivals", "inductions", "RIVALS", 0),
)


def constants() -> list[tuple[str, str]]:
    """The constants in bits, as module and name."""
    found: list[tuple[str, str]] = []
    for module in sorted(info.name for info in pkgutil.iter_modules(induction.__path__)):
        own = importlib.import_module(f"{PACKAGE}.{module}")
        text = Path(str(own.__file__)).read_text(encoding="utf-8")
        found += [(module, name) for name in re.findall(r"^([A-Z][A-Z_]+) = \d+\.\d+$", text, re.MULTILINE)]
    return found


def parts(of_constants: bool) -> Iterator[Part | None]:
    """The parts; None stands for the unchanged induction."""
    yield None
    if not of_constants:
        yield from PRODUCTIONS
        return
    for module, name in constants():
        for factor in (0.5, 2.0):
            yield Part(f"{name} x {factor:g}", module, name, factor)


class Score(NamedTuple):
    """A task without a part."""

    right: int = 0
    wrong: int = 0
    doubt: int = 0
    failed: int = 0

    @property
    def full(self) -> bool:
        """Whether all tests are right."""
        return self.right > 0 and self.wrong == self.doubt == self.failed == 0


def measure(bench: Path, task: str, part: Part | None, count: int) -> Score:
    """Induces the workflow of a task from gold traces without a part, and runs it on the tests.

    Args:
        bench: The folder of the suite.
        task: The id of the task.
        part: What is taken away or changed, in this process, from now on.
        count: The number of traces.
    """
    if part is not None:
        _take_away(part)
    return asyncio.run(_measured(bench, task, count))


def _take_away(part: Part) -> None:
    own = importlib.import_module(f"{PACKAGE}.{part.module}")
    old = getattr(own, part.attribute)
    new = part.value if not isinstance(part.value, float) else old * part.value
    for name, module in list(sys.modules.items()):  # other modules import constants and functions by name
        shared = isinstance(part.value, float) and name.startswith(PACKAGE)
        if (module is own or shared) and getattr(module, part.attribute, None) == old:
            setattr(module, part.attribute, new)


async def _measured(bench: Path, task: str, count: int) -> Score:
    with opened(bench) as suite:
        data = next(each for each in suite.tasks if each.id == task)
        runs = [run_of(trace, number) for number, trace in enumerate(data.runs(count))]
        made = induce(Request(runs, data.specs, data.inputs, data.query(), data.id))
        workflow: Workflow | None = next((each.workflow for each in made if each.sound), None)
        if workflow is None:
            return Score(failed=len(data.tests))
        counts = dict.fromkeys(Score._fields, 0)
        for case in data.tests:
            environment = suite.environment(data, case)
            ran = await Guard(prepare(workflow, environment), environment).arun(case.input, environment)
            kind = judge(case, ran.trace, environment.state, data.specs).kind
            doubted = ran.doubted and kind != "wrong_write"
            counts["doubt" if doubted else "wrong" if kind == "wrong_write" else kind] += 1
        return Score(**counts)


def table(rows: Sequence[tuple[str, Sequence[Score]]]) -> str:
    """The scores of each part as Markdown, with the difference in fully right tasks from the first row."""
    lines: list[list[str]] = []
    base = sum(score.full for score in rows[0][1])
    for name, scores in rows:
        full = sum(score.full for score in scores)
        sums = [str(sum(getattr(score, field) for score in scores)) for field in Score._fields]
        lines.append([name, f"{full}/{len(scores)}", f"{full - base:+d}", *sums])
    return markdown(["without", "fully right", "difference", *Score._fields], lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m experiments.ablations", description=(__doc__ or "").split("\n")[2])
    parser.add_argument("--bench", type=Path, required=True, help="folder of a suite api")
    parser.add_argument("--split", choices=("tune", "report"), default="tune", help="half of the tasks")
    parser.add_argument("--traces", type=int, default=5, help="traces of each task")
    parser.add_argument("--constants", action="store_true", help="change constants instead of productions")
    parser.add_argument("--only", default="", help="the part with this name only")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(argv)
    try:
        tasks = [task.id for task in load(options.bench) if task.split == options.split]
    except InputError as error:
        print(f"experiments.ablations: {error}", file=sys.stderr)
        return 2
    chosen = [part for part in parts(options.constants) if part is None or options.only in part.name]
    jobs = [(part, task) for part in chosen for task in tasks]
    call: Callable[..., Any] = measure
    with ProcessPoolExecutor(options.processes, max_tasks_per_child=1) as pool:
        made = [pool.submit(call, options.bench, task, part, options.traces) for part, task in jobs]
        scores = [future.result() for future in tqdm.tqdm(made, unit="task")]
    size = len(tasks)
    named = [
        ("(nothing)" if part is None else part.name, scores[place * size : (place + 1) * size])
        for place, part in enumerate(chosen)
    ]
    print(table(named))
    return 0


if __name__ == "__main__":
    sys.exit(main())
