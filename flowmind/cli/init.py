"""`flowmind init`."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from flowmind.base.errors import InputError
from flowmind.base.files import read_bytes, write_all
from flowmind.base.folders import opened
from tools_registry.sandbox.proposing import Proposal, proposals
from tools_registry.specs.marking import parse, with_marks
from tools_registry.specs.marks import Effect, SpecError

_ANSWERS: Mapping[str, Effect] = {"r": "read", "read": "read", "w": "write", "write": "write"}
_MOST_BYTES = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    parser.add_argument("tools", type=Path, metavar="TOOLS", help="Python file with functions")
    parser.add_argument("--yes", action="store_true", help="accept every proposal, without asking")


def run(options: argparse.Namespace) -> int:
    """Lists the functions with their marks, and writes the marks that are accepted; 1 if a function has none."""
    path: Path = options.tools
    data = read_bytes(path, _MOST_BYTES)
    try:
        found = proposals(parse(data))
        _require_functions(found)
        _list(found)
        todo = [proposal for proposal in found if not _is_marked(proposal)]
        effects = _accepted(todo, options.yes)
        if effects:
            _write(path, with_marks(data, effects))
    except SpecError as error:
        raise InputError(f"{path}: {error}") from None
    return _report(path, todo, effects)


def _require_functions(found: Sequence[Proposal]) -> None:
    if not found:
        raise SpecError("the file defines no function at top level")


def _is_marked(proposal: Proposal) -> bool:
    return proposal.present is not None and proposal.present.effect != "unknown"


def _list(found: Sequence[Proposal]) -> None:
    """Prints a line for each function: its name, its mark, the proposed mark, and the reason."""
    width = max(8, *(len(proposal.node.name) for proposal in found))
    print(f"{'function':<{width}}  {'mark':<8}  {'proposed':<8}  reason")
    for proposal in found:
        present = proposal.present.effect if proposal.present is not None and _is_marked(proposal) else "none"
        proposed = "-" if _is_marked(proposal) else proposal.effect
        reason = "" if present == proposal.effect else proposal.reason
        print(f"{proposal.node.name:<{width}}  {present:<8}  {proposed:<8}  {reason}".rstrip())


def _accepted(todo: Sequence[Proposal], everything: bool) -> dict[str, Effect]:
    """The marks to write, by the names of functions."""
    if everything:
        return {proposal.node.name: proposal.effect for proposal in todo}
    if not todo or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return {}
    print("\nOnly tools that read are called on trial. Press Enter to accept; r for read, w for write, s to skip.")
    effects: dict[str, Effect] = {}
    for proposal in todo:
        try:
            effect = _ask(proposal)
        except EOFError:
            print()
            break
        if effect is not None:
            effects[proposal.node.name] = effect
    return effects


def _ask(proposal: Proposal) -> Effect | None:
    """The answer for one function; None to leave it without a mark."""
    while True:
        answer = input(f"{proposal.node.name} [{proposal.effect}]: ").strip().lower()
        if not answer:
            return proposal.effect
        if answer in ("s", "skip"):
            return None
        if answer in _ANSWERS:
            return _ANSWERS[answer]
        print("answer r, w or s, or press Enter")


def _write(path: Path, data: bytes) -> None:
    """Writes the file atomically; its mode stays the same, and a link stays a link.

    Raises:
        InputError: If it cannot be written.
    """
    target = path.resolve()
    try:
        with opened(target.parent) as folder, folder.replacing(target.name) as file:
            write_all(file, data)
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
    except OSError as error:
        raise InputError(f"{path}: it cannot be written: {error.strerror}") from None


def _report(path: Path, todo: Sequence[Proposal], effects: Mapping[str, Effect]) -> int:
    left = [proposal.node.name for proposal in todo if proposal.node.name not in effects]
    if effects:
        count = "1 function" if len(effects) == 1 else f"{len(effects)} functions"
        print(f"{path}: {count} marked")
    if left and not effects:
        print(
            f"flowmind: nothing was written; run `flowmind init {path}` in a terminal to answer, or with --yes to "
            "accept the proposals",
            file=sys.stderr,
        )
    elif not todo:
        print(f"{path}: every function is marked")
    return 1 if left else 0
