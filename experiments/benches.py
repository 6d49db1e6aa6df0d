"""The benchmark of a run: a folder that exists, or the default one, which is built at its first use."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from flowmind.base.errors import InputError
from flowmind.base.folders import locked

DEFAULT = Path("bench")
"""The folder of the benchmark that is built when it does not exist."""
BUILD = ("-m", "flowbench_synth.cli", "build", "--seed", "0")
"""The arguments of Python that build it."""
SUITE_API = Path("api")
"""The folder of the suite `api`, which is built when it does not exist as well."""


def require_benchmark(folder: Path) -> None:
    """Requires that a folder holds a benchmark, or can become the default one.

    Raises:
        InputError: If it does not; the line says how to build one.
    """
    if not is_missing(folder) and not (folder / "instances.jsonl").exists():
        raise InputError(f"--bench {folder}: no benchmark in this folder, which has other files; give another --bench")
    if is_missing(folder) and folder not in (DEFAULT, SUITE_API):
        command = shlex.join(["flowbench_synth", "build", "--out", str(folder)])
        raise InputError(
            f"--bench {folder}: no benchmark in this folder; build it with `{command}`, or leave --bench out: "
            f"{DEFAULT} is built at its first use"
        )


def ensure_benchmark(folder: Path) -> None:
    """Builds a default benchmark if its folder is missing or empty; shows the progress on standard error.

    It is built in a folder beside it, which gets its name when it is complete.

    Raises:
        InputError: As `require_benchmark`, or if it cannot be built.
    """
    require_benchmark(folder)
    arguments = (*BUILD, "--suite", "api") if folder == SUITE_API else BUILD
    build_once(folder, arguments, f"flowmind: {folder}: building the benchmark, once (about a minute)")


def build_once(folder: Path, arguments: Sequence[str], line: str) -> None:
    """Builds a benchmark if its folder is missing or empty.

    It is built in a folder beside it, which gets its name when it is complete.

    Args:
        folder: The folder.
        arguments: The arguments of Python that build it; `--out` is added.
        line: Printed on standard error before it is built.

    Raises:
        InputError: If it cannot be built.
    """
    if not is_missing(folder):
        return
    building, lock = (folder.with_name(f".{folder.name}.{word}") for word in ("building", "lock"))
    with locked(folder.parent, lock.name, wait=True) as above:  # another process may build it now
        try:
            if is_missing(folder):
                if building.is_symlink():
                    above.remove(building.name)
                shutil.rmtree(building, ignore_errors=True)  # what a killed process left
                _build(building, arguments, line)
                building.rename(folder)
        finally:
            above.remove(lock.name)


def is_missing(folder: Path) -> bool:
    """Whether a folder does not exist or is empty."""
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def _build(folder: Path, arguments: Sequence[str], line: str) -> None:
    # -P: a folder of the same name in the working directory is not the package
    command = [sys.executable, "-P", *arguments, "--out", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            print(line, file=sys.stderr, flush=True)
            code = process.wait()
        except BaseException:  # such as Ctrl-C: it has workers, and its folder is not used
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if code != 0:
        raise InputError(f"the benchmark cannot be built: `{shlex.join(command)}` ended with {code}")
