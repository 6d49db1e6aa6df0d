"""The benchmark: what a build holds, that it can be repeated, and that nothing changed in it goes unnoticed."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from reference_interpreter import compute as node
from reference_interpreter import condition, end, sketch

from flowbench_synth.builder import FILES, all_blueprints, make_instance
from flowbench_synth.cli import main
from flowbench_synth.coverage import signature, tool_calls
from flowbench_synth.flow import (
    answer,
    call,
    compute,
    each,
    flow,
    let,
    listing,
    loop_while,
    record,
    repeat_while,
    var,
    when,
)  # fmt: skip
from flowbench_synth.structure import control_flow
from flowmind.checking import check
from flowmind.executor.running import run
from flowmind.task import Benchmark
from flowmind.trace import Trace
from flowmind.workflow import Workflow
from tools_registry import catalog
from tools_registry.sandbox import FunctionSandbox, LocalSandbox, WorkerPool

Rows = list[dict[str, Any]]
CATEGORIES = ["mathematical_computation", "data_processing", "string_manipulation", "logical_reasoning"]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The benchmark of seed 0, built once even if several processes run the tests."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (base / "benchmark.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (base / "benchmark").exists():
            assert main(["build", "--seed", "0", "--out", str(base / "building")]) == 0
            (base / "building").rename(base / "benchmark")
    return base / "benchmark"


def rows(folder: Path, name: str) -> Rows:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").split("\n") if line]


# What a build holds


def test_a_build_has_its_files_and_their_hashes(built: Path) -> None:
    assert {path.name for path in built.iterdir()} == {*FILES, "manifest.json", "README.md"}
    manifest = json.loads((built / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["seed"] == 0
    assert manifest["sha256"] == {name: hashlib.sha256((built / name).read_bytes()).hexdigest() for name in FILES}


def test_every_category_has_tasks_of_every_difficulty(built: Path) -> None:
    tasks = rows(built, "instances")
    assert len(tasks) >= 32
    assert len({task["id"] for task in tasks}) == len(tasks)
    assert all(count >= 8 for count in Counter(task["category"] for task in tasks).values())
    assert {(task["category"], task["difficulty"]) for task in tasks} == {
        (category, difficulty) for category in CATEGORIES for difficulty in ("easy", "medium", "hard")
    }


def test_difficulty_is_the_control_flow_and_the_number_of_tools(built: Path) -> None:
    kinds = {"easy": {"linear"}, "medium": {"branch", "iteration"}, "hard": {"branch+iteration"}}
    sizes = {"easy": range(7, 10), "medium": range(18, 21), "hard": range(28, 31)}
    for task in rows(built, "instances"):
        assert task["control_flow"] in kinds[task["difficulty"]], task["id"]
        assert len(task["tools"]) in sizes[task["difficulty"]], task["id"]
        assert len(set(task["tools"])) == len(task["tools"])


def test_every_task_has_two_or_three_examples_and_five_other_tests(built: Path) -> None:
    tests = {row["id"]: row["tests"] for row in rows(built, "tests")}
    for task in rows(built, "instances"):
        shown = [json.dumps(example["input"], sort_keys=True) for example in task["examples"]]
        held = [json.dumps(test["input"], sort_keys=True) for test in tests[task["id"]]]
        assert (len(shown) in (2, 3), len(held)) == (True, 5), task["id"]
        assert len({*shown, *held}) == len(shown) + len(held), task["id"]
        assert len({json.dumps(test["output"]) for test in tests[task["id"]]}) > 1, task["id"]


def test_no_text_names_a_tool(built: Path) -> None:
    names = [name for name in catalog.load() if "_" in name]
    assert len(names) > 100
    for task in rows(built, "instances"):
        words = set(re.findall(r"\w+", task["query"]))
        assert words.isdisjoint(names), task["id"]


def test_every_gold_workflow_is_sound_and_needs_only_what_is_offered(built: Path) -> None:
    gold = {row["id"]: row for row in rows(built, "gold")}
    specs = {row["name"]: row for row in rows(built, "tools")}
    assert specs == {name: catalog.specs()[name].model_dump(mode="json") for name in specs}
    for task in rows(built, "instances"):
        offered = {name: catalog.specs()[name] for name in task["tools"]}
        workflow = Workflow.model_validate(gold[task["id"]]["workflow"])
        assert set(offered) <= set(specs)
        assert check(workflow, offered) == []
        assert control_flow(workflow) == task["control_flow"]
        assert workflow.inputs == task["inputs"]


def test_the_trace_of_a_gold_workflow_is_its_run_on_the_first_example(built: Path) -> None:
    tasks = {task["id"]: task for task in rows(built, "instances")}
    with WorkerPool(1) as pool:
        for row in rows(built, "gold")[::8]:
            workflow = Workflow.model_validate(row["workflow"])
            sandbox = LocalSandbox([catalog.load()[name] for name in tasks[row["id"]]["tools"]], pool)
            trace = run(workflow, tasks[row["id"]]["examples"][0]["input"], sandbox)
            assert Trace.model_validate(row["trace"]) == trace


def test_the_statistics_count_what_is_there(built: Path) -> None:
    tasks = rows(built, "instances")
    statistics = json.loads((built / "manifest.json").read_text(encoding="utf-8"))["statistics"]
    assert statistics["all"]["instances"] == len(tasks)
    assert statistics["all"]["tests"] == 5 * len(tasks)
    assert statistics["all"]["examples"] == sum(len(task["examples"]) for task in tasks)
    assert statistics["tools"] == len(rows(built, "tools")) == len({name for task in tasks for name in task["tools"]})
    for group, field in (("by_category", "category"), ("by_difficulty", "difficulty")):
        counts = Counter(task[field] for task in tasks)
        assert {name: one["instances"] for name, one in statistics[group].items()} == counts


def test_stats_prints_the_statistics(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", str(built)]) == 0
    manifest = json.loads((built / "manifest.json").read_text(encoding="utf-8"))
    assert json.loads(capsys.readouterr().out) == manifest["statistics"]


def test_the_benchmark_is_read_as_tasks_with_tests(built: Path) -> None:
    benchmark = Benchmark.load(built)
    assert [task.id for task in benchmark.tasks] == [row["id"] for row in rows(built, "instances")]
    assert set(benchmark.tests) == {task.id for task in benchmark.tasks}


# The same again


def quick() -> list[str]:
    """A task of each category."""
    easy = [blueprint for blueprint in all_blueprints() if blueprint.difficulty == "easy"]
    return [next(blueprint.id for blueprint in easy if blueprint.category == name) for name in CATEGORIES]


AGAIN = """
import sys
from flowbench_synth.builder import all_blueprints, make_instance
from flowmind.files import dump_json
from tools_registry.sandbox import WorkerPool
with WorkerPool(1) as pool:
    for blueprint in all_blueprints():
        if blueprint.id in sys.argv[1:]:
            made = make_instance(blueprint, 0, pool)
            print(dump_json([made.task.model_dump(mode="json"), made.gold.model_dump(mode="json")]))
"""


def test_another_process_makes_the_same_instances(built: Path) -> None:
    again = subprocess.run(
        [sys.executable, "-c", AGAIN, *quick()],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    made = [json.loads(line) for line in again.stdout.split("\n") if line]
    tasks = [task for task in rows(built, "instances") if task["id"] in quick()]
    gold = [row for row in rows(built, "gold") if row["id"] in quick()]
    assert json.dumps(made) == json.dumps([list(pair) for pair in zip(tasks, gold, strict=True)])


def test_another_seed_makes_other_instances(built: Path) -> None:
    tasks = {task["id"]: task for task in rows(built, "instances")}
    with WorkerPool(1) as pool:
        for blueprint in all_blueprints():
            if blueprint.id in quick():
                other = make_instance(blueprint, 1, pool).task.model_dump(mode="json")
                assert other["examples"] != tasks[blueprint.id]["examples"]
                assert other["tools"] != tasks[blueprint.id]["tools"]


# Nothing goes unnoticed


@pytest.fixture
def small(built: Path, tmp_path: Path) -> Path:
    """A sound benchmark of one task of each category."""
    folder = tmp_path / "bench"
    folder.mkdir()
    for name in FILES:
        kept = [row for row in rows(built, name.removesuffix(".jsonl")) if row.get("id", quick()[0]) in quick()]
        (folder / name).write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept), encoding="utf-8"
        )
    shutil.copy(built / "manifest.json", folder)
    sign(folder)
    return folder


def sign(folder: Path) -> None:
    """Writes the hashes of the files as they are into the manifest."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["sha256"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def change(folder: Path, name: str, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edits the first record of a file and signs the folder again."""
    first, *others = rows(folder, name)
    edit(first)
    (folder / f"{name}.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in (first, *others)), encoding="utf-8"
    )
    sign(folder)


def audited(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, problems and error of `flowbench_synth check`."""
    capsys.readouterr()
    code = main(["check", str(folder)])
    seen = capsys.readouterr()
    errors = [line for line in seen.err.split("\n") if line.startswith("flowbench_synth:")]
    return code, seen.out.replace(str(folder), "BENCH"), "\n".join(errors)


def test_the_built_benchmark_is_sound(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audited(built, capsys) == (0, "BENCH: sound\n", "")


def test_a_part_of_it_is_sound(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audited(small, capsys) == (0, "BENCH: sound\n", "")


CHANGES: dict[str, tuple[str, Callable[[dict[str, Any]], object], str]] = {
    "a golden answer": ("tests", lambda row: row["tests"][2].update(output="else"), "test 3: gold gives"),
    "the answer of an example": ("instances", lambda row: row["examples"][1].update(output="else"), "example 2: gold"),
    "the control flow": ("instances", lambda row: row.update(control_flow="branch"), "control flow is linear"),
    "the difficulty": ("instances", lambda row: row.update(difficulty="hard"), "hard tasks have 28 to 30"),
    "the tools": ("instances", lambda row: row.update(tools=row["tools"][:0]), "there is no tool"),
    "the id of a gold workflow": ("gold", lambda row: row.update(id="other"), "there is no gold workflow"),
    "a node of a gold workflow": ("gold", lambda row: row["workflow"]["nodes"].pop(), "gold: "),
    "a field of a gold workflow": ("gold", lambda row: row["workflow"].update(more=1), "is no workflow: more"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "edit", "problem"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_found_even_if_the_hashes_fit(
    small: Path, capsys: pytest.CaptureFixture[str], name: str, edit: Callable[[dict[str, Any]], object], problem: str
) -> None:
    change(small, name, edit)
    code, problems, _ = audited(small, capsys)
    assert code == 1
    assert problem in problems


def test_tests_that_tell_too_much_or_too_little_are_found(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = rows(small, "instances")[0]["examples"][0]
    change(small, "tests", lambda row: row.update(tests=[example] * 5))
    code, problems, _ = audited(small, capsys)
    assert code == 1
    assert "a test's input equals an example's" in problems
    assert "all tests have one answer" in problems


BYTES: dict[str, Callable[[bytes], bytes]] = {
    "a letter": lambda data: data.replace(b"e", b"a", 1),
    "a blank": lambda data: data.replace(b": ", b":  ", 1),
    "an empty line at the end": lambda data: data + b"\n",
    "line endings": lambda data: data.replace(b"\n", b"\r\n"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
}


@pytest.mark.parametrize("edit", BYTES.values(), ids=BYTES)
def test_a_changed_byte_is_found(
    small: Path, capsys: pytest.CaptureFixture[str], edit: Callable[[bytes], bytes]
) -> None:
    path = small / "tools.jsonl"
    path.write_bytes(edit(path.read_bytes()))
    code, problems, _ = audited(small, capsys)
    assert (code, problems.split("\n")[0]) == (
        1,
        "tools.jsonl: the file is not the one that was built (its sha256 differs)",
    )


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
def test_a_missing_file_is_named(small: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (small / name).unlink()
    assert audited(small, capsys) == (2, "", f"flowbench_synth: {small / name}: no such file")


MANIFESTS = ["", "[]", "{}", '{"sha256": null}', '{"sha256": {}, "sha256": {}}']


@pytest.mark.parametrize("text", MANIFESTS)
@pytest.mark.parametrize("command", ["check", "stats"])
def test_a_manifest_that_is_none_is_one_line_and_exit_code_2(
    small: Path, capsys: pytest.CaptureFixture[str], text: str, command: str
) -> None:
    (small / "manifest.json").write_text(text, encoding="utf-8")
    assert main([command, str(small)]) == 2
    assert capsys.readouterr().err.startswith(f"flowbench_synth: {small / 'manifest.json'}: ")


def test_a_record_that_cannot_be_read_is_named_with_its_line(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = small / "instances.jsonl"
    path.write_text(path.read_text(encoding="utf-8") + '{"id": "more"}\n', encoding="utf-8")
    sign(small)
    code, _, error = audited(small, capsys)
    assert (code, error.startswith(f"flowbench_synth: {path}, line 5: query: Field required")) == (2, True)


# Writing a gold workflow down

NUMBERS = {"type": "array", "items": {"type": "number"}}


def test_nested_steps_become_nodes_and_edges() -> None:
    made = flow(
        "mean_of_evens",
        {"numbers": NUMBERS},
        [
            call("evens", "filter_even", items=var("numbers")),
            when("len(evens) > 0", [call("result", "mean", items=var("evens"))], [let("result", 0)]),
            answer("result"),
        ],
        "The mean of the even numbers.",
    )
    assert made.dump() == {
        "schema": "flowmind/workflow@1",
        "name": "mean_of_evens",
        "description": "The mean of the even numbers.",
        "inputs": {
            "type": "object",
            "properties": {"numbers": NUMBERS},
            "required": ["numbers"],
            "additionalProperties": False,
        },
        "nodes": [
            {"id": "start", "kind": "start"},
            {
                "id": "evens", "kind": "tool", "tool": "filter_even", "args": {"items": {"var": "numbers"}},
                "output": "evens",
            },
            {"id": "check", "kind": "condition", "expr": "len(evens) > 0"},
            {"id": "result", "kind": "tool", "tool": "mean", "args": {"items": {"var": "evens"}}, "output": "result"},
            {"id": "set_result", "kind": "assign", "value": {"value": 0}, "output": "result"},
            {"id": "end", "kind": "end", "output": {"var": "result"}},
        ],
        "edges": [
            {"from": "start", "to": "evens"},
            {"from": "evens", "to": "check"},
            {"from": "check", "to": "result", "when": True},
            {"from": "check", "to": "set_result", "when": False},
            {"from": "result", "to": "end"},
            {"from": "set_result", "to": "end"},
        ],
    }  # fmt: skip


def double(a: int) -> int:
    """Doubles a number."""
    return 2 * a


@pytest.fixture
def here() -> Iterator[FunctionSandbox]:
    yield FunctionSandbox([double])


def solved(steps: list[Any], inputs: dict[str, Any], sandbox: FunctionSandbox) -> Any:
    schema = {name: {"type": "array" if isinstance(value, list) else "integer"} for name, value in inputs.items()}
    trace = run(flow("task", schema, steps), inputs, sandbox)
    assert trace.ok, trace.error
    return trace.answer


def test_loops_maps_templates_and_early_answers_run_as_written(here: FunctionSandbox) -> None:
    doubling = [call("n", "double", a=var("n"))]
    assert solved([loop_while("n < 10", doubling), answer("n")], {"n": 20}, here) == 20
    assert solved([repeat_while("n < 10", doubling), answer("n")], {"n": 20}, here) == 40
    pairs = each("out", "xs", "x", [call("y", "double", a=var("x"))], listing(var("x"), var("y")), where="x > 1")
    assert solved([pairs, answer(record(all=var("out"), one=1))], {"xs": [1, 2, 3]}, here) == {
        "all": [[2, 4], [3, 6]],
        "one": 1,
    }
    early = [when("n > 5", [answer("n")]), compute("n", "n + 1"), answer("n")]
    assert [solved(early, {"n": n}, here) for n in (7, 3)] == [7, 4]
    nested = [
        compute("i", "0"),
        loop_while("i < n", [repeat_while("i % 3 != 0", [compute("i", "i + 1")]), compute("i", "i + 1")]),
        answer("i"),
    ]
    assert solved(nested, {"n": 5}, here) == 7


def test_every_path_needs_an_answer() -> None:
    with pytest.raises(ValueError, match="flow 'open': a path ends without an answer"):
        flow("open", {"n": {"type": "integer"}}, [when("n > 0", [answer("n")])])


STEP = compute("n", "n - 1")
FLOWS: dict[str, tuple[list[Any], str]] = {
    "nothing but calls": ([STEP, call("d", "double", a=var("n"))], "linear"),
    "one branch": ([when("n > 0", [STEP])], "branch"),
    "a branch in a branch": ([when("n > 0", [when("n > 1", [STEP])])], "branch"),
    "a loop tested before": ([loop_while("n > 0", [STEP])], "iteration"),
    "a loop tested after": ([repeat_while("n > 0", [STEP])], "iteration"),
    "a loop in a loop": ([loop_while("n > 0", [STEP, loop_while("n > 5", [STEP])])], "iteration"),
    "a map": ([each("m", listing(1), "x", [], "x")], "iteration"),
    "a map with a filter": ([each("m", listing(1), "x", [], "x", where="x > n")], "iteration"),
    "a branch in a loop": ([loop_while("n > 0", [when("n > 3", [STEP], [STEP])])], "branch+iteration"),
    "a branch before a loop": ([when("n > 3", [STEP]), loop_while("n > 0", [STEP])], "branch+iteration"),
    "a branch and a map": ([when("n > 3", [STEP]), each("m", listing(1), "x", [], "x")], "branch+iteration"),
}


@pytest.mark.parametrize(("steps", "kind"), FLOWS.values(), ids=FLOWS)
def test_what_kind_of_program_a_workflow_is(steps: list[Any], kind: str) -> None:
    assert control_flow(flow("task", {"n": {"type": "integer"}}, [*steps, answer("n")])) == kind


def test_a_condition_that_leaves_a_loop_belongs_to_it_wherever_it_stands() -> None:
    nodes = [node("a", "n"), condition("c", "n > 0"), node("b", "n"), end("n")]
    document = sketch(nodes, "start a c", "c.true b a", "c.false end", n="integer")
    assert control_flow(Workflow.model_validate(document)) == "iteration"


def test_a_fork_is_linear() -> None:
    document = sketch([node("a", "n"), node("b", "n"), end("n")], "start a end", "start b end", n="integer")
    assert control_flow(Workflow.model_validate(document)) == "linear"


def test_what_a_run_covers(here: FunctionSandbox) -> None:
    steps = [
        loop_while("n < 3", [call("n", "double", a=var("n"))]),
        each("m", "xs", "x", [call("y", "double", a=var("x"))], "y"),
        answer("m"),
    ]
    made = flow("task", {"n": {"type": "integer"}, "xs": {"type": "array"}}, steps)
    assert [call_.tool for call_ in tool_calls(made)] == ["double", "double"]
    assert signature(run(made, {"n": 1, "xs": [5]}, here)) == {
        ("arm", "more", True), ("arm", "more", False), ("runs", "n", "many"), ("runs", "m.y", "one"),
        ("runs", "m", "one"), ("list", "m", 1),
    }  # fmt: skip
    assert signature(run(made, {"n": 9, "xs": []}, here)) == {
        ("arm", "more", False), ("runs", "m", "one"), ("list", "m", 0),
    }  # fmt: skip
