"""`flowmind procedures`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, write_text
from flowmind.base.outputs import require_folder

if TYPE_CHECKING:
    from experiments.dialogue.learning import Learned


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    parser.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN",
        help="folder of a run of `flowmind dialogue`; its successful sessions with one goal and without interventions "
        "are read",
    )  # fmt: skip
    parser.add_argument(
        "--data", type=Path, default=Path("dialogues"), metavar="DIR",
        help="the dialogue benchmark with the scenarios and their tools (default dialogues)",
    )  # fmt: skip
    parser.add_argument(
        "--sessions", type=int, default=20, metavar="N", help="most sessions for each scenario (default 20)"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder to write the workflows to, <scenario>.json"
    )


def run(options: argparse.Namespace) -> int:
    """Writes the procedures and prints how they compare; returns 1 if one differs or could not be learned."""
    import tqdm

    from experiments.dialogue.learning import learn, sessions_of
    from experiments.dialogue.sources import read_built

    require_folder("--out", options.out)
    if options.sessions < 1:
        raise InputError(f"--sessions {options.sessions}: give 1 or more")
    data = read_built(options.data, references=False).data
    sessions = sessions_of(options.runs, data)
    if not sessions:
        raise InputError(f"{options.runs[0]}: no successful session with one goal and without interventions in it")
    rows: list[Learned] = []
    bar = tqdm.tqdm(learn(sessions, data, options.sessions), total=len(sessions), file=sys.stderr, leave=False)
    for learned in bar:
        rows.append(learned)
        if learned.workflow is not None:
            write_text(options.out / f"{learned.scenario}.json", learned.workflow.to_json())
    for learned in rows:
        if not learned.same:
            print(f"{learned.scenario}: {_difference(learned)}")
    same, solved = sum(learned.same for learned in rows), sum(learned.solved for learned in rows)
    lines = [dump_json(_row(learned)) for learned in rows]
    write_text(options.out / "learned.jsonl", "".join(f"{line}\n" for line in lines))
    print(
        f"{len(rows)} scenarios, at most {options.sessions} sessions each: {same} have the tools and preconditions of "
        f"the scenario's own procedure, {solved} give the calls and answers of all their sessions"
    )
    print(options.out)
    return 0 if same == len(rows) else 1


def _row(learned: Learned) -> dict[str, Any]:
    """A line of `learned.jsonl`."""
    return {
        "scenario": learned.scenario,
        "sessions": learned.sessions,
        "same": learned.same,
        "solved": learned.solved,
        "missing": learned.missing,
        "added": learned.added,
        "problem": learned.problem,
        "notes": learned.notes,
    }


def _difference(learned: Learned) -> str:
    if learned.problem:
        return f"no procedure from {learned.sessions} sessions: {learned.problem}"
    parts = [*(f"lacks {part}" for part in learned.missing), *(f"has also {part}" for part in learned.added)]
    return f"from {learned.sessions} sessions: {', '.join(parts)}"
