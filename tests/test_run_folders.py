"""What is in a run's folder, or in a document, leads to no file outside of the folder."""

from __future__ import annotations

import ast
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from test_architecture import PACKAGES, ROOT
from test_durability import files, undisturbed
from tiny import ORDER, called, capable, tiny_benchmark, with_server

from experiments.folder import Run, Stages
from experiments.naming import folder_name
from experiments.record import CaseRecord
from flowmind.base import checksums
from flowmind.base.errors import InputError
from flowmind.base.files import read_bytes, write_text
from flowmind.base.folders import is_name, locked, opened, sweep
from flowmind.llm.faulty_server import FaultyServer

FOREIGN = b'{"key": "kept"}\nhalf a line'
"""The content of a file outside of the run's folder; its last line would be cut off a file of records."""
LINK = "this is a symbolic link, which is not followed"
SPECIAL = "this is not a regular file"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_benchmark(tmp_path_factory.mktemp("tiny") / "bench")


@pytest.fixture(scope="module")
def whole(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two cases that nothing disturbed."""
    return undisturbed(bench, tmp_path_factory.mktemp("whole") / "run", 2)


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "outside" / "foreign.txt"
    path.parent.mkdir()
    path.write_bytes(FOREIGN)
    return path


WRITTEN = [
    ".lock", "records.jsonl", "manifest.json", "summary.json", "summary.md", f"exchanges/{ORDER[0]}.jsonl",
    f"traces/{ORDER[0]}.json", f"workflows/{ORDER[0]}.json",
]  # fmt: skip
"""Every kind of file that a run writes."""


def planted(run: Path, name: str, plant: Callable[[Path], object]) -> Path:
    """Replaces a file of a finished run; without its records the run begins again."""
    (run / "records.jsonl").unlink()
    path = run / name
    path.unlink(missing_ok=True)
    plant(path)
    return path


@pytest.mark.parametrize("name", WRITTEN)
def test_a_link_in_a_run_folder_is_refused(name: str, bench: Path, whole: Path, foreign: Path, tmp_path: Path) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    path = planted(run, name, lambda path: path.symlink_to(foreign))
    with FaultyServer(lambda number, body: capable(body)) as server:
        done = called(*with_server(server, bench, run, "--limit", 2))
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert f"flowmind: {path}: " in done.stderr
    assert foreign.read_bytes() == FOREIGN and list(foreign.parent.iterdir()) == [foreign]


@pytest.mark.parametrize("name", WRITTEN)
def test_a_hard_link_to_a_foreign_file_is_left_alone(name: str, bench: Path, whole: Path, tmp_path: Path) -> None:
    run, copy = shutil.copytree(whole, tmp_path / "run"), tmp_path / "copy"
    (run / "records.jsonl").write_bytes(b"".join((run / "records.jsonl").read_bytes().splitlines(True)[:1]) + b"half")
    os.link(run / name.replace(ORDER[0], ORDER[1]), copy)
    before = copy.read_bytes()
    with FaultyServer(lambda number, body: capable(body)) as server:
        done = called(*with_server(server, bench, run, "--limit", 3))
    assert done.returncode == 0, done.stderr
    assert copy.read_bytes() == before


@pytest.mark.parametrize("name", WRITTEN)
def test_a_pipe_in_a_run_folder_is_refused_at_once(name: str, bench: Path, whole: Path, tmp_path: Path) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    path = planted(run, name, os.mkfifo)
    with FaultyServer(lambda number, body: capable(body)) as server:
        done = called(*with_server(server, bench, run, "--limit", 2))
    assert done.returncode == 2 and f"flowmind: {path}: {SPECIAL}" in done.stderr


@pytest.mark.parametrize("name", ["exchanges", "traces", "workflows"])
def test_a_folder_that_is_a_link_is_refused(name: str, bench: Path, whole: Path, tmp_path: Path) -> None:
    run, outside = shutil.copytree(whole, tmp_path / "run"), tmp_path / "outside"
    shutil.move(run / name, outside)
    before = files(outside)
    planted(run, "records.jsonl", lambda path: (run / name).symlink_to(outside))
    with FaultyServer(lambda number, body: capable(body)) as server:
        done = called(*with_server(server, bench, run, "--limit", 2))
    assert done.returncode == 2 and f"{name}" in done.stderr and LINK in done.stderr
    assert files(outside) == before


def test_a_workflow_is_not_removed_through_a_link(whole: Path, tmp_path: Path) -> None:
    run, outside = shutil.copytree(whole, tmp_path / "run"), tmp_path / "outside"
    shutil.move(run / "workflows", outside)
    (run / "workflows").symlink_to(outside)
    with pytest.raises(OSError, match=LINK), opened(run / "workflows", run) as folder:
        folder.remove(f"{ORDER[0]}.json")
    assert (outside / f"{ORDER[0]}.json").exists()


def test_the_folder_of_a_run_may_be_a_link(bench: Path, whole: Path, tmp_path: Path) -> None:
    run, link = shutil.copytree(whole, tmp_path / "run"), tmp_path / "link"
    link.symlink_to(run)
    with FaultyServer(lambda number, body: capable(body)) as server:
        assert called(*with_server(server, bench, link, "--limit", 3)).returncode == 0
    assert len((run / "records.jsonl").read_bytes().splitlines()) == 3


def test_only_what_a_killed_run_left_is_swept(foreign: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "traces").mkdir(parents=True)
    (run / "elsewhere").symlink_to(foreign.parent)
    unfinished = [run / ".manifest.json.71.part", run / "traces" / ".task.json.71.part"]
    kept = [run / ".film.part", foreign.parent / ".foreign.txt.71.part"]
    for path in (*unfinished, *kept):
        path.write_bytes(b"")
    (run / "traces" / ".other.json.71.part").symlink_to(foreign)
    sweep(run)
    assert not any(map(os.path.lexists, [*unfinished, run / "traces" / ".other.json.71.part"]))
    assert all(path.exists() for path in (*kept, foreign))


def test_a_temporary_name_that_is_a_link_is_not_followed(foreign: Path, tmp_path: Path) -> None:
    (tmp_path / f".out.txt.{os.getpid()}.part").symlink_to(foreign)
    write_text(tmp_path / "out.txt", "new")
    assert (tmp_path / "out.txt").read_text() == "new" and foreign.read_bytes() == FOREIGN


def test_an_output_file_that_is_a_link_or_a_device_is_refused(foreign: Path, tmp_path: Path) -> None:
    workflow = ROOT / "examples" / "refunds" / "workflow.json"
    link, pipe = tmp_path / "link.json", tmp_path / "pipe"
    link.symlink_to(foreign)
    os.mkfifo(pipe)
    for path, problem in ((link, LINK), (pipe, SPECIAL), (Path("/dev/null"), SPECIAL)):
        done = called("convert", workflow, "--to", "json", "--out", path)
        assert (done.returncode, done.stderr) == (2, f"flowmind: --out {path}: {problem}; give another name\n")
        with pytest.raises(OSError, match=problem):
            write_text(path, "x")
    assert foreign.read_bytes() == FOREIGN


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        done = called("check", path)
        assert (done.returncode, done.stderr) == (2, f"flowmind: {path}: {SPECIAL}\n")
        with pytest.raises(InputError, match=SPECIAL):
            list(checksums.read(path, CaseRecord))


def test_an_open_pipe_of_the_process_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"text")
    os.close(writing)
    try:
        assert read_bytes(Path(f"/dev/fd/{reading}")) == b"text"
    finally:
        os.close(reading)


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    with locked(tmp_path / "run", ".lock"), pytest.raises(BlockingIOError), locked(tmp_path / "run", ".lock"):
        pass


# Names


@pytest.mark.parametrize(
    "name", ["a/../../x", "/x", "..", ".", "a\\b", "a\0b", "a\nb", "\x1b[2J", "\u202e", "é" * 101, ""]
)
def test_the_name_of_a_variant_stays_in_the_folder(name: str, bench: Path, tmp_path: Path) -> None:
    assert not is_name(name)
    quoted = ast.unparse(ast.Constant(name)).strip("'").replace("\\x", "\\u00").replace("\\\\", "\\u005c")
    grid = tmp_path / "grid.toml"
    grid.write_text(f'title = "t"\nmodels = ["search"]\nmodes = ["es-pe"]\n[variants."{quoted}"]\nprobe = 1\n')
    done = called("exp", "--config", grid, "--bench", bench, "--out", tmp_path / "deep" / "runs")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"flowmind: {grid}: variants: " in done.stderr and "cannot be the name of a file" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["grid.toml"]


@pytest.mark.parametrize("model", ["../../x", "..", "a\x1bb", "m" * 300])
def test_the_name_of_a_model_stays_in_the_folder(model: str) -> None:
    try:
        name = folder_name({"model": model, "mode": "es-pe", "seed": 0})
    except InputError as error:
        assert "cannot be the name of a file" in str(error)
    else:
        assert is_name(name)


def test_an_id_in_the_records_leads_to_no_file_outside(whole: Path, tmp_path: Path) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    (tmp_path / "x.json").write_text((run / "workflows" / f"{ORDER[0]}.json").read_text())
    for id in ("../../x", str(tmp_path / "x"), "a\0"):
        assert Run(run).workflow(id) is None and Run(run).stages(id) == Stages()
        with pytest.raises(InputError, match="cannot be the name of a file"):
            Run(run).exchanges(id)
        with pytest.raises(InputError, match="cannot be the name of a file"):
            Run(run).keep_report(id, "text")


@pytest.mark.parametrize("name", ["../../secret", "/dev/zero"])
def test_a_benchmark_names_only_its_own_files(name: str, bench: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(bench, tmp_path / "copy")
    (copy / "manifest.json").write_text(f'{{"name": "n", "seed": 0, "sha256": {{"{name}": "0"}}}}')
    done = called("exp", "--bench", copy, "--limit", 1, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert f"{copy / 'manifest.json'}: {name!r} cannot be the name of a file" in done.stderr


# One place


ALLOWED = {
    "flowmind/base/folders.py": "the place",
    "flowmind/base/outputs.py": "a file without a name",
    "flowmind/formats/traces/langchain.py": "a copy of a database, in a temporary folder",
    "experiments/benches.py": "rename and rmtree of the folder that it builds",
    "tools_registry/sandbox/": "the sandbox has its own rules",
    "tools_registry/attack/": "its canary, and a file of findings that a developer names",
}
WRITING = {"write_text", "write_bytes", "unlink", "rename", "rmtree", "touch", "symlink_to", "hardlink_to"}
MODE = re.compile(r"[rwaxbt+]*[wax+][rwaxbt+]*")


def writes(call: ast.Call) -> bool:
    """Whether a call opens a file for writing, or removes or renames one."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    modes = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    opens = name == "open" and any(isinstance(mode, str) and MODE.fullmatch(mode) for mode in modes)
    return opens or (name in WRITING and isinstance(call.func, ast.Attribute))


def test_files_are_written_in_one_place() -> None:
    offending = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(tuple(ALLOWED))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and writes(node)
    ]
    assert offending == []
