"""`python -m experiments.drift`: measures guarded workflows on streams of requests, and what becomes of changes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from experiments.drift.answering import About
from experiments.drift.changes import KINDS, Kind
from experiments.drift.office import OfficeBench, TemplateStreams, office_summary
from experiments.drift.serving import Plan, TaskStreams
from experiments.drift.summing import summary_of
from experiments.drift.tasks import read_tasks, spread
from experiments.folder import RunFolder
from experiments.progress import CaseBar, shown
from experiments.record import Kept
from flowmind.base.errors import FlowMindError, InputError
from flowmind.base.processes import HelperEnded, Helpers
from flowmind.base.texts import one_line, shown_output
from tools_registry.sandbox.errors import SandboxUnavailable

R = TypeVar("R", bound=Kept)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 measured; 2 bad usage or input; 130 interrupted, with what was measured before kept."""
    options = _parser().parse_args(arguments)
    try:
        print(_streams(options) if options.bench is not None else _office(options))
    except (FlowMindError, SandboxUnavailable, HelperEnded) as error:
        print(f"drift: {one_line(str(error))}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"drift: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as error:
        print(f"drift: {error if error.args else 'interrupted'}", file=sys.stderr)
        return 130
    return 0


def _streams(options: argparse.Namespace) -> str:
    """The tables of the streams of a benchmark."""
    plan = Plan(
        kinds=_kinds(options.drift),
        guards=tuple(options.guards),
        requests=options.requests,
        audit=options.audit,
        patience=options.patience,
    )
    tasks = {task.id: task for task in read_tasks(options.bench, options.control_flow, options.split, options.limit)}
    settings = {**plan.model_dump(mode="json"), "control_flow": options.control_flow, "split": options.split}
    work = Work("drift", settings, options.bench, "experiments.drift.answering", About(options.bench, plan))
    return work.done(options, tasks, TaskStreams, summary_of)


def _office(options: argparse.Namespace) -> str:
    """The table of the WorkBench stream."""
    for name in ("control_flow", "split", "drift", "guards", "audit", "requests", "patience"):
        if getattr(options, name) != _parser().get_default(name):
            raise InputError(f"--{name.replace('_', '-')} belongs to --bench, not to --workbench")
    templates = OfficeBench(options.workbench).templates
    chosen = spread(templates, options.limit)
    work = Work("workbench", {}, options.workbench, "experiments.drift.office", options.workbench)
    return work.done(options, {template: template for template in chosen}, TemplateStreams, office_summary)


class Work(NamedTuple):
    """What other processes answer.

    The records are kept in a folder as they come, so that an interrupted command goes on where it was.
    """

    mode: str
    settings: dict[str, Any]
    source: Path
    module: str
    about: Any

    def done(
        self,
        options: argparse.Namespace,
        questions: Mapping[str, Any],
        kind: type[R],
        summarize: Callable[[Sequence[R]], Any],
    ) -> str:
        """Asks the questions whose records the folder does not have; returns the tables of all.

        Args:
            options: The folder, the limit, and the number of processes.
            questions: The questions by id.
            kind: The kind of a record.
            summarize: Makes the tables.
        """
        folder = RunFolder(options.out, kind, free=("limit",))
        manifest = {
            "settings": {"model": "gold", "mode": self.mode, **self.settings, "limit": options.limit},
            "benchmark": {"name": str(self.source.resolve())},
        }
        with folder.locked():
            folder.begin(manifest)
            known = folder.records()
            missing = [question for id, question in questions.items() if id not in known]
            with shown(CaseBar(self.mode, len(questions), "task")) as bar:
                bar.begin(self.mode, len(questions), len(questions) - len(missing))
                for record in self._answers(missing, options.processes):
                    folder.keep_record(record)
                    bar.step(record.id)
            records = folder.records()
            folder.put_in_order(dict.fromkeys([*questions, *records]))
            summary = summarize([records[id] for id in questions])
            folder.write_summary(summary, summary.text())
        return summary.text()

    def _answers(self, questions: Sequence[Any], processes: int) -> Iterator[Any]:
        """The answers, in the order in which they come."""
        with Helpers(self.module, self.about, processes) as helpers, ThreadPoolExecutor(processes) as threads:
            waiting = [threads.submit(helpers.ask, question) for question in questions]
            try:
                for done in as_completed(waiting):
                    yield done.result()
            except BaseException:
                helpers.close()
                threads.shutdown(cancel_futures=True)
                raise


def _kinds(names: Sequence[str]) -> tuple[Kind, ...]:
    """The kinds of change; a stream without a change is always among them, because the others are compared with it."""
    return tuple(kind for kind in KINDS if kind == "none" or "all" in names or kind in names)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.drift",
        description="Measure guarded workflows on streams of requests, whose world may change at half time.",
    )
    add = parser.add_argument
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--bench", type=Path, metavar="DIR", help="folder of a built benchmark, or of the suite api")
    source.add_argument("--workbench", type=Path, metavar="DIR", help="folder of the WorkBench records")
    add("--out", type=Path, required=True, metavar="DIR", help="folder of the results; the same command goes on in it")
    add("--control-flow", nargs="+", default=[], metavar="FLOW", help="only tasks with one of these control flows")
    add("--split", choices=("tune", "report"), default="", help="only this half of the suite api")
    add("--limit", type=_positive, metavar="N", help="only N tasks, spread evenly over all")
    add("--requests", type=_several, default=24, metavar="N", help="requests of a stream, from 4 (default 24)")
    add(
        "--drift",
        nargs="+",
        choices=("all", *KINDS),
        default=["none"],
        metavar="KIND",
        help="changes at half time: all, or some of " + ", ".join(KINDS),
    )
    add(
        "--guards",
        nargs="+",
        choices=("all", "none"),
        default=["all", "none"],
        help="with guards, without, or both (default)",
    )
    add(
        "--audit",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="share of the answers that the agent works again (default 0)",
    )
    add(
        "--patience",
        type=_positive,
        default=60,
        metavar="SECONDS",
        help="processor time after which a stream derives no more versions (default 60)",
    )
    add("--processes", type=_positive, default=2, metavar="N", help="tasks at the same time (default 2)")
    return parser


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


def _several(text: str) -> int:
    if not text.isdigit() or int(text) < 4:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 4")
    return int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share between 0 and 1")
    return value


if __name__ == "__main__":
    with shown_output():
        code = main()
    sys.exit(code)
