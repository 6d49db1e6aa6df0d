"""The job files in examples/cluster: what they run is run here as the cluster would run it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_architecture import ROOT
from test_robustness import left
from tiny import called, environment, tiny_benchmark, typed

from experiments.shards import Shard, shards_in
from flowmind.cli.main import parse

ECHO = 'printf "%s\\n" "$@"'
CLUSTER = ROOT / "examples" / "cluster"
SLURM = CLUSTER / "slurm" / "shards.sbatch"
Run = subprocess.CompletedProcess[str]


def ran(*words: object, **variables: str) -> Run:
    told = {**environment(), **variables}
    return subprocess.run([*map(str, words)], env=told, capture_output=True, text=True, check=False)


def path_with(folder: Path, script: str) -> str:
    """A search path whose program `flowmind` is a script."""
    program = folder / "bin" / "flowmind"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"{program.parent}{os.pathsep}{os.environ['PATH']}"


def directive(name: str) -> str:
    match = re.search(rf"^#SBATCH --{name}=(.*)$", SLURM.read_text(), re.MULTILINE)
    assert match
    return match[1]


def test_the_slurm_array_has_a_task_for_each_shard() -> None:
    _, _, last = directive("array").partition("1-")
    assert f"\nSHARDS={last}\n" in SLURM.read_text()
    assert ran("bash", "-n", SLURM).returncode == 0


def test_the_slurm_script_passes_its_arguments_and_its_number(tmp_path: Path) -> None:
    path = path_with(tmp_path, ECHO)
    done = ran("bash", SLURM, "--limit", 5, "--reuse", "a b", PATH=path, SLURM_ARRAY_TASK_ID="3")
    options = parse(done.stdout.splitlines())
    assert (options.shard, options.limit, options.reuse) == ("3/8", 5, [Path("a b")])
    assert (options.bench, options.out, options.model) == (Path("bench"), Path("runs/cluster"), "search")


@pytest.mark.slow
def test_three_tasks_of_the_slurm_array_and_a_merge_are_a_run(tmp_path: Path) -> None:
    bench, runs = tiny_benchmark(tmp_path / "bench"), tmp_path / "runs"
    script = tmp_path / "shards.sbatch"
    script.write_text(SLURM.read_text().replace("SHARDS=8", "SHARDS=3"))
    flowmind = shlex.join([sys.executable, "-m", "flowmind.cli"])
    told = {
        **environment(),
        "PATH": path_with(tmp_path, f'exec {flowmind} "$@"'),
        "OUT": str(runs),
        "BENCH": str(bench),
    }
    for number in ("1", "2", "3"):
        done = ran("bash", script, "--limit", 4, SLURM_ARRAY_TASK_ID=number, **told)
        assert done.returncode == 0, done.stderr
    assert list(shards_in(runs)) == [Shard(number=number, of=3) for number in (1, 2, 3)]
    assert typed("merge", runs).returncode == 0
    words = ("exp", "--bench", bench, "--model", "search", "--mode", "es-pe", "--limit", 4, "--out", tmp_path / "one")
    assert called(*words).returncode == 0
    assert left(runs) == left(tmp_path / "one")


def job(name: str) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((CLUSTER / "kubernetes" / name).read_text())


def test_the_kubernetes_job_has_an_index_for_each_shard_and_valid_flags(tmp_path: Path) -> None:
    document = job("shards.yaml")
    spec, pod = document["spec"], document["spec"]["template"]["spec"]
    assert (document["kind"], spec["completionMode"], pod["restartPolicy"]) == ("Job", "Indexed", "Never")
    container = pod["containers"][0]
    path = path_with(tmp_path, ECHO)
    for index in range(spec["completions"]):
        words = (*container["command"], *container["args"])
        done = ran(*words, PATH=path, JOB_COMPLETION_INDEX=str(index), MODEL="qwen3-8b")
        options = parse(done.stdout.splitlines())
        assert options.shard == f"{index + 1}/{spec['completions']}"
        assert options.out == Path("/data/runs/cluster") and options.model == "qwen3-8b"


def test_the_kubernetes_merge_reads_what_the_shards_write() -> None:
    pods = [job(name)["spec"]["template"]["spec"] for name in ("shards.yaml", "merge.yaml")]
    assert pods[0]["volumes"] == pods[1]["volumes"]
    assert pods[0]["containers"][0]["volumeMounts"] == pods[1]["containers"][0]["volumeMounts"]
    program, *words = pods[1]["containers"][0]["command"]
    assert program == "flowmind" and parse(words).folder == Path("/data/runs/cluster")
