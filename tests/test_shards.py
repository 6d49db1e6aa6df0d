"""Shards: parts of a run on several machines, and `flowmind merge`, which makes them the run of one process."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from test_dialogue_runs import SESSIONS
from test_picking import TASKS
from test_robustness import left
from test_worfbench import GOLD, reduced
from test_worfbench import capable as plans
from tiny import (
    ORDER,
    Row,
    called,
    capable,
    command,
    environment,
    records,
    task_in,
    tiny_benchmark,
    told_last,
    with_server,
)
from tiny_dialogue import write

from experiments.folder import Run
from experiments.merging import merge
from experiments.picking import choose, in_order
from experiments.shards import Shard, shards_in
from flowmind.base import checksums as store
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.base.folders import LOCK, locked, sweep
from flowmind.llm.faulty_server import Fault, FaultyServer

OF = 3
SHARDS = [Shard(number=number, of=OF) for number in range(1, OF + 1)]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_benchmark(tmp_path_factory.mktemp("tiny") / "bench")


@pytest.fixture(scope="module")
def whole(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four cases in one process."""
    run = tmp_path_factory.mktemp("whole") / "run"
    with FaultyServer(lambda number, body: capable(body)) as server:
        assert called(*with_server(server, bench, run)).returncode == 0
    return run


@pytest.fixture(scope="module")
def worked(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shards of the same run, not merged."""
    run = tmp_path_factory.mktemp("worked") / "run"
    with FaultyServer(lambda number, body: capable(body)) as server:
        for shard in SHARDS:
            done = called(*with_server(server, bench, run, "--shard", shard))
            assert done.returncode == 0 and done.stdout.endswith(f"{run}/{shard.name}/summary.json\n")
        assert len(server.requests) == 7 * 4
    return run


@pytest.fixture
def run(worked: Path, tmp_path: Path) -> Path:
    """The three shards in a folder that a test may change."""
    return shutil.copytree(worked, tmp_path / "run")


def everything(folder: Path) -> dict[str, bytes]:
    """The bytes of all files of a run without those of its shards."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.name != LOCK)
    return {str(path): (folder / path).read_bytes() for path in paths if Shard.in_folder(Path(path.parts[0])) is None}


def cut(run: Path, out: Path, of: int) -> None:
    """Cuts the folder of a run into shards, each of which has the bytes that the run has."""
    manifest, rows, ids = Run(run).manifest, Run(run).records(), [row["id"] for row in records(run)]
    for shard in (Shard(number=number, of=of) for number in range(1, of + 1)):
        part = Run(out / shard.name)
        cases = shard.part(ids)
        part.begin({**manifest, **shard.manifest(cases, "flowmind exp")})
        part.write_records(rows[id] for id in cases)
        for path in run.glob("*/*"):
            if path.stem in cases:
                (part.folder / path.parent.name).mkdir(exist_ok=True)
                shutil.copyfile(path, part.folder / path.parent.name / path.name)


def refused(folder: Path) -> str:
    """The only line of a merge that is refused, without the program's name; nothing in the folder was changed."""
    before = everything(folder)
    done = called("merge", folder)
    assert done.returncode == 2 and done.stdout == "" and everything(folder) == before
    return told_last(done).removeprefix("flowmind: ")


# Dealing


@pytest.mark.parametrize("seed", range(20))
def test_shards_are_disjoint_cover_the_run_and_are_even(seed: int) -> None:
    random = Random(seed)
    of, limit = random.randint(1, 12), random.choice([None, *range(1, len(TASKS) + 1)])
    order, folder = in_order(TASKS, "spread"), Path("run")
    parts = [choose(order, (), limit, folder, Shard(number=number, of=of)) for number in range(1, of + 1)]
    dealt = [task.id for part in parts for task in part]
    assert sorted(dealt) == sorted(task.id for task in choose(order, (), limit, folder))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert parts == [choose(order, (), limit, folder, Shard(number=number, of=of)) for number in range(1, of + 1)]


def test_each_shard_has_about_the_shares_of_the_benchmark() -> None:
    parts = [Shard(number=number, of=4).part(in_order(TASKS, "spread")) for number in range(1, 5)]
    for name in ("category", "difficulty", "control_flow"):
        for value, count in Counter(getattr(task, name) for task in TASKS).items():
            own = [sum(getattr(task, name) == value for task in part) for part in parts]
            assert max(abs(number - count / 4) for number in own) < 3, (name, value, own)


def test_a_higher_limit_adds_tasks_to_shards_and_a_lower_one_is_refused() -> None:
    order, shard, folder = in_order(TASKS, "spread"), Shard(number=2, of=3), Path("run")
    few, more = (choose(order, (), limit, folder, shard) for limit in (10, 20))
    assert [task for task in more if task in few] == few and len(few) == 3 and len(more) == 7
    recorded = {task.id for task in more}
    with pytest.raises(InputError, match="--limit 10: run has 7 cases already; give --limit 20 or more"):
        choose(order, recorded, 10, folder, shard)
    assert {task.id for task in choose(order, recorded, 20, folder, shard)} == recorded


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "3/", "/3", "a/b", "1/3/3", "-1/3", "1.0/3", "1/1000000", ""])
def test_a_shard_that_is_none_is_refused(text: str, bench: Path, tmp_path: Path) -> None:
    done = called("exp", "--bench", bench, "--out", tmp_path, f"--shard={text}")
    assert done.returncode == 2 and done.stderr.startswith("flowmind: --shard: ") and "such as 2/8" in done.stderr
    assert list(tmp_path.iterdir()) == []


# Merging


def test_merged_shards_are_the_run_of_one_process(worked: Path, whole: Path, run: Path, bench: Path) -> None:
    done = called("merge", run)
    assert done.returncode == 0 and done.stdout.endswith(f"{run}/summary.json\n")
    assert left(run) == left(whole)
    assert (run / "manifest.json").read_bytes() == (whole / "manifest.json").read_bytes()
    assert [row["id"] for row in records(run)] == ORDER
    for shard in SHARDS:
        assert everything(run / shard.name) == everything(worked / shard.name)
    merged = everything(run)
    assert called("merge", run).returncode == 0 and everything(run) == merged
    assert called("exp", "--replay", run, "--bench", bench, "--out", run.with_name("again")).returncode == 0
    again = everything(run.with_name("again"))
    assert again == {name: data for name, data in merged.items() if not name.startswith("exchanges/")}
    with FaultyServer(lambda number, body: capable(body)) as server:
        assert called(*with_server(server, bench, run)).returncode == 0
        assert server.requests == [] and everything(run) == merged
    assert called("report", run.parent / "again", run, "--tables").returncode == 0


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_a_run_that_is_cut_into_shards_has_its_bytes_again(of: int, whole: Path, tmp_path: Path) -> None:
    cut(whole, tmp_path, of)
    assert len(shards_in(tmp_path)) == of
    assert called("merge", tmp_path).returncode == 0
    assert everything(tmp_path) == everything(whole)


def test_a_run_grows_in_its_shards(run: Path, bench: Path, tmp_path: Path) -> None:
    assert called("merge", run).returncode == 0
    first = left(run)
    with FaultyServer(lambda number, body: capable(body)) as server:
        for shard in SHARDS:
            assert called(*with_server(server, bench, run, "--shard", shard, "--limit", 8)).returncode == 0
        assert len(server.requests) == 7 * 4
        assert called(*with_server(server, bench, tmp_path / "eight", "--limit", 8)).returncode == 0
    assert left(run) == first
    assert called("merge", run).returncode == 0
    assert left(run) == left(tmp_path / "eight")
    assert (run / "manifest.json").read_bytes() == (tmp_path / "eight" / "manifest.json").read_bytes()


def test_the_shard_may_be_set_in_the_environment(bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer(lambda number, body: capable(body)) as server:
        for shard, ids in (("1/8", ORDER[:1]), ("8/8", [])):
            monkeypatch.setenv("FLOWMIND_SHARD", shard)
            assert called(*with_server(server, bench, tmp_path)).returncode == 0
            assert [row["id"] for row in records(tmp_path / Shard.read(shard).name)] == ids


def test_a_shard_of_every_run_of_a_grid(bench: Path, tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text('title = "two"\nmodels = ["m"]\nmodes = ["es-rr"]\nseeds = [0, 1]\nlimit = 2\npick = "first"')
    with FaultyServer(lambda number, body: capable(body)) as server:
        for of in ("", "1/2", "2/2"):
            out = tmp_path / ("parts" if of else "one")
            words = ("exp", "--config", grid, "--bench", bench, "--base-url", server.url, "--out", out)
            done = called(*words, *(("--shard", of) if of else ()))
            assert done.returncode == 0
            assert not of or done.stdout.endswith(f"after all shards: flowmind merge {out}\n")
    assert called("report", tmp_path / "parts").returncode == 2
    assert called("merge", tmp_path / "parts").returncode == 0
    runs = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(runs) == 2 and runs == sorted(path.name for path in (tmp_path / "parts").iterdir())
    for name in runs:
        assert left(tmp_path / "parts" / name) == left(tmp_path / "one" / name)
    shutil.rmtree(tmp_path / "parts" / runs[0] / "shard-2-of-2")
    done = called("merge", tmp_path / "parts")
    assert done.returncode == 2 and "1 of 2 shards missing: 2/2" in told_last(done)
    assert f"{tmp_path / 'parts' / runs[1]}/summary.json" in done.stdout


def test_a_case_that_is_finished_in_the_merged_run_stays(bench: Path, tmp_path: Path) -> None:
    sick = True

    def answer(number: int, body: Row) -> Fault | str:
        return Fault(400, "no") if sick and task_in(body) == ORDER[1] else capable(body)

    with FaultyServer(answer) as server:
        for number in (1, 2):
            done = called(*with_server(server, bench, tmp_path, "--shard", f"{number}/2"))
            assert done.returncode == number - 1
        assert called("merge", tmp_path).returncode == 1
        assert [row["error"] is None for row in records(tmp_path)] == [True, False, True, True]
        sick = False
        assert called(*with_server(server, bench, tmp_path)).returncode == 0
        finished = everything(tmp_path)
        assert called("merge", tmp_path).returncode == 0 and everything(tmp_path) == finished
        assert called(*with_server(server, bench, tmp_path, "--shard", "2/2")).returncode == 0
    assert f"a record that is not the one of its shard ({ORDER[1]!r})" in refused(tmp_path)


# What cannot be merged


def test_folders_without_shards(tmp_path: Path, whole: Path) -> None:
    for folder in (tmp_path, tmp_path / "none", whole):
        assert refused(folder).startswith(f"{folder}: no shards in it")
    (tmp_path / "shard-1-of-2").mkdir()
    assert refused(tmp_path) == f"{tmp_path}: no shard has begun"


def test_a_missing_shard_is_named_with_its_command(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultyServer(lambda number, body: capable(body)) as server:
        url = server.url.replace("://", "://user:secret@")
        words = [*map(str, with_server(server, bench, tmp_path, "--shard", "2/3"))]
        monkeypatch.setattr(sys, "argv", ["flowmind", *(url if word == server.url else word for word in words)])
        assert called(*words).returncode == 0
    line, shown = refused(tmp_path), server.url.replace("://", "://***@")
    assert line.startswith(f"{tmp_path}: 2 of 3 shards missing: 1/3, 3/3; make the first with `")
    assert line.endswith(f" --out {tmp_path} --shard 1/3`") and "secret" not in line
    assert f" exp --model m --mode es-rr --base-url {shown} " in line
    assert "secret" not in (tmp_path / "shard-2-of-3" / "manifest.json").read_text()


def test_a_missing_case_is_named(run: Path) -> None:
    path = run / "shard-1-of-3" / "records.jsonl"
    path.write_text(path.read_text().splitlines(keepends=True)[0] + "half a line")
    assert refused(run).startswith(f"{path.parent}: 1 of 2 cases missing: {ORDER[3]!r}; make them with `")


def test_another_setting_is_named_with_both_values(run: Path, bench: Path) -> None:
    shutil.rmtree(run / "shard-2-of-3")
    with FaultyServer(lambda number, body: capable(body)) as server:
        assert called(*with_server(server, bench, run, "--shard", "2/3", "--seed", 7)).returncode == 0
    line = refused(run)
    assert line == (
        f"{run / 'shard-2-of-3'} is no part of the same run as {run / 'shard-1-of-3'}: settings.seed is 7 instead of 0"
    )


def changed(folder: Path, **fields: object) -> None:
    """Changes the manifest of a shard."""
    path = folder / "manifest.json"
    store.write_document(path, {**store.read_document(path, ""), **fields}, "manifest")


def test_other_packages_are_refused_and_other_machines_are_noted(run: Path) -> None:
    server = {"execute": {"server_version": "2"}}
    changed(run / "shard-3-of-3", platform="Plan 9", servers=server)
    assert called("merge", run).returncode == 0
    assert Run(run).manifest["shards"] == {"3/3": {"platform": "Plan 9", "servers": server}}
    changed(run / "shard-3-of-3", python="2.7", git="abc")
    assert 'python is "2.7" instead of' in refused(run) and '; git is "abc" instead of' in refused(run)


def test_a_case_that_is_there_twice_is_named(run: Path) -> None:
    dealt = Run(run / "shard-2-of-3").manifest["dealt"]
    changed(run / "shard-2-of-3", dealt={**dealt, "cases": [*dealt["cases"], ORDER[0]]})
    assert refused(run) == f"{run / 'shard-2-of-3'}: {ORDER[0]!r} is a case of {run / 'shard-1-of-3'} as well"


def renamed(run: Path) -> str:
    (run / "shard-2-of-3").rename(run / "shard-2-of-4")
    return f"{run}: shards of 3 and of 4 parts"


def swapped(run: Path) -> str:
    shutil.rmtree(run / "shard-2-of-3")
    shutil.copytree(run / "shard-1-of-3", run / "shard-2-of-3")
    return f"{run / 'shard-2-of-3'}: its manifest is that of 1/3, not of 2/3"


def damaged(run: Path) -> str:
    path = run / "shard-2-of-3" / "exchanges" / f"{ORDER[1]}.jsonl"
    path.write_text(path.read_text().replace("Add", "Sub", 1))
    return f"{path}, line 1: its checksum does not match"


def damaged_record(run: Path) -> str:
    path = run / "shard-2-of-3" / "records.jsonl"
    path.write_text(path.read_text().replace("true", "false", 1))
    return f"{path}, line 1: its checksum does not match"


def foreign(run: Path) -> str:
    path = run / "shard-2-of-3" / "records.jsonl"
    path.write_text(path.read_text() + (run / "shard-1-of-3" / "records.jsonl").read_text())
    return f"{path}: {ORDER[0]!r}, {ORDER[3]!r} belong to no case of this shard"


def another(run: Path) -> str:
    assert called("merge", run).returncode == 0
    changed(run, benchmark={"name": "other", "sha256": {}})
    return f"{run}: the folder holds another run (benchmark: name was"


def without_a_shard(run: Path) -> str:
    assert called("merge", run).returncode == 0
    path = run / "records.jsonl"
    store.append(path, {**records(run)[0], "id": "foreign"}, "record")
    return f"{path}: a record of a case that no shard has ('foreign')"


@pytest.mark.parametrize(
    "change", [renamed, swapped, damaged, damaged_record, foreign, another, without_a_shard], ids=lambda f: f.__name__
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(change: Callable[[Path], str], run: Path) -> None:
    expected = change(run)
    assert refused(run).startswith(expected)


def test_a_link_in_a_shard_is_refused(run: Path, tmp_path: Path) -> None:
    path = run / "shard-2-of-3" / "traces" / f"{ORDER[1]}.json"
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    done = called("merge", run)
    assert done.returncode == 2 and f"{path}: this is a symbolic link" in told_last(done)
    assert not (run / "manifest.json").exists()


def test_a_shard_that_is_worked_on_is_not_merged(run: Path) -> None:
    with locked(run / "shard-2-of-3", LOCK):
        assert refused(run) == f"{run / 'shard-2-of-3'}: another process is running in this folder"


def test_a_shard_is_not_the_folder_of_a_whole_run(run: Path, bench: Path) -> None:
    with FaultyServer(lambda number, body: capable(body)) as server:
        done = called(*with_server(server, bench, run / "shard-1-of-3"))
    assert done.returncode == 2 and "the folder holds shard 1/3, not a whole run" in told_last(done)


def test_unfinished_files_of_a_shard_that_another_process_writes_are_left_alone(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "traces", tmp_path / "shard-1-of-2", tmp_path / "shard-1-of-2" / "traces"):
        folder.mkdir(exist_ok=True)
        (folder / ".a.json.7.part").touch()
    (tmp_path / "shard-1-of-2" / LOCK).touch()
    sweep(tmp_path)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.part")) == [
        "shard-1-of-2/.a.json.7.part",
        "shard-1-of-2/traces/.a.json.7.part",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["mid-order", "before-manifest", "mid-manifest", "mid-summary"])
def test_a_merge_that_is_killed_leaves_nothing_half(fault: str, run: Path, tmp_path: Path) -> None:
    told = {**environment(), "FLOWMIND_FAULT": fault}
    done = subprocess.run(command("merge", run), capture_output=True, env=told, check=False)
    assert done.returncode == -9
    assert (run / "manifest.json").exists() == (fault == "mid-summary")
    copy = shutil.copytree(run, tmp_path / "copy")
    for name in everything(run):
        (copy / name).unlink()
    merge(run)
    merge(copy)
    assert everything(run) == everything(copy)


# Other suites


def test_shards_of_a_run_on_worfbench(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(dump_json(reduced(id)) + "\n" for id in GOLD))
    with FaultyServer(plans) as server:
        words = ("worfbench", data, "--model", "m", "--base-url", server.url, "--limit", 7, "--concurrency", 1, "--out")
        assert called(*words, tmp_path / "one").returncode == 0
        for shard in SHARDS:
            assert called(*words, tmp_path / "parts", "--shard", shard).returncode == 0
    assert called("merge", tmp_path / "parts").returncode == 0
    assert _worfbench(tmp_path / "parts") == _worfbench(tmp_path / "one")


def _worfbench(run: Path) -> list[object]:
    kept = [{key: value for key, value in row.items() if key not in ("started_at", "seconds")} for row in records(run)]
    return [kept, (run / "manifest.json").read_bytes(), re.sub(r"[^|]*\|\n", "\n", (run / "summary.md").read_text())]


@pytest.mark.slow
def test_shards_of_a_run_of_dialogues(tmp_path: Path) -> None:
    data = write(tmp_path / "data", SESSIONS)
    words = ("dialogue", "--data", data, "--model", "follow", "--limit", 5, "--concurrency", 1, "--out")
    assert called(*words, tmp_path / "one").returncode == 0
    for shard in SHARDS[:2]:
        assert called(*words, tmp_path / "parts", "--shard", f"{shard.number}/2").returncode == 0
    assert called("merge", tmp_path / "parts").returncode == 0
    assert left_of_dialogues(tmp_path / "parts") == left_of_dialogues(tmp_path / "one")
    done = called(*words[:-3], "--limit", 2, "--out", tmp_path / "parts", "--shard", "1/2")
    assert done.returncode == 2 and "in other shards with this limit" in told_last(done)


def left_of_dialogues(run: Path) -> list[object]:
    times = ("started_at", "seconds", "crc")
    kept = [{key: value for key, value in row.items() if key not in times} for row in records(run)]
    names = sorted(
        str(path.relative_to(run)) for path in run.glob("*/*") if path.parent.name in ("traces", "exchanges")
    )
    summary = {key: value for key, value in json.loads((run / "summary.json").read_text()).items() if key not in times}
    return [kept, names, summary, (run / "manifest.json").read_bytes(), (run / "procedures.json").read_bytes()]
