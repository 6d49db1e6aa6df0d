"""The standing attack: a short round on the sandbox as it is, and the oracles on holes that are made for the test."""

from __future__ import annotations

import dataclasses
import inspect
import json
import random
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools_registry.attack import __main__ as command
from tools_registry.attack import corpus
from tools_registry.attack.inventory import Inventory, enumerate_all
from tools_registry.attack.oracles import Hit
from tools_registry.attack.outside import Frame, OwnerAttack, ProcessAttack
from tools_registry.attack.programs import Composer, Program
from tools_registry.attack.rounds import Runner
from tools_registry.attack.shrinking import Finding, shrink
from tools_registry.sandbox.language import policy


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    policy.preload()
    return enumerate_all()


def program(*attempts: str, definitions: tuple[str, ...] = (), modules: str = "") -> Program:
    return Program(modules, definitions, attempts)


def hits(inventory: Inventory, *attempts: str, **parts: Any) -> list[tuple[int, str]]:
    return [(number, hit.oracle) for number, hit in Runner(inventory).run(program(*attempts, **parts)).hits]


def test_the_inventory_lists_what_the_policy_offers(inventory: Inventory) -> None:
    assert set(policy.FACADES) <= set(inventory.modules)
    assert {"len", "json.dumps", "collections.Counter", "collections.Counter.fromkeys"} <= set(inventory.callables)
    assert {list, dict, type(iter([])), types.FunctionType} <= set(inventory.values)
    assert inventory.keywords["json.loads"]
    templates = " ".join(form.template for form in inventory.forms)
    assert "dataclass" in templates and "enum.Enum" in templates and "NamedTuple" in templates


def test_programs_of_a_seed_are_the_same_and_most_compile(inventory: Inventory) -> None:
    first, second = (Composer(inventory, random.Random("3")).program() for _ in range(2))
    assert first == second
    refused, raised, ran, _ = Runner(inventory).run(first).counts
    assert refused < 0.1 * len(first.attempts)
    assert raised and ran


def test_ordinary_code_is_no_finding(inventory: Inventory) -> None:
    attempts = ("len([1])", "[plain, {1: plain}]", "plain", "hash('a')", "0x7fff12345678 + 1", "str(2 ** 70)")
    assert hits(inventory, *attempts, definitions=("def plain(*a):\n    return a\n",)) == []


LEAKED: dict[str, tuple[Callable[[], Any], str]] = {
    "a frame": (inspect.currentframe, "host object"),
    "a module": (lambda: sys, "host object"),
    "a metaclass": (lambda: type, "host object"),
    "a host function": (lambda: dataclasses.asdict.__globals__["_asdict_inner"], "host function"),
    "the names of a module": (lambda: vars(json), "host container"),
    "the names of a class": (lambda: vars(json.JSONDecoder), "host container"),
    "the end of a generator": (lambda: GeneratorExit, "host class"),
    "an address": (lambda: id(json), "address"),
    "an address in a text": (lambda: repr(json.dumps), "address"),
    "inside a list": (lambda: [[sys]], "host object"),
}


def test_an_oracle_tells_what_tool_code_must_not_hold(inventory: Inventory, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (leak, _) in enumerate(LEAKED.values()):
        monkeypatch.setitem(policy.BUILTINS, f"leak{number}", leak)
    attempts = [f"leak{number}()" for number in range(len(LEAKED))]
    assert hits(inventory, *attempts, "1") == [(n, oracle) for n, (_, oracle) in enumerate(LEAKED.values())]


def test_a_change_of_the_host_is_a_finding_and_a_later_case_sees_it(
    inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(policy.BUILTINS, "change", lambda: setattr(json.dumps, "__kwdefaults__", {"default": str}))
    found = Runner(inventory).run(program("change()")).hits
    assert (-1, Hit("changed state", "json.dumps")) in found
    assert "later case" in {hit.oracle for _, hit in found}


def test_a_result_that_depends_on_addresses_is_a_finding(inventory: Inventory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(policy.BUILTINS, "place", lambda: id(object()) % 1_000_003)
    runner, some = Runner(inventory), program("place()", "1")
    assert [number for number, _ in runner.differences(some, runner.run(some, shift=False))] == [0]


def test_an_attempt_that_kills_its_process_costs_only_itself(
    inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(policy.BUILTINS, "crash", lambda: __import__("ctypes").string_at(0))
    monkeypatch.setitem(policy.BUILTINS, "leak", lambda: sys)
    assert hits(inventory, "1", "crash()", "leak()") == [(1, "crash"), (2, "host object")]


def leak_of(value: object) -> object:
    return sys


@pytest.mark.slow
def test_a_finding_is_shrunk(inventory: Inventory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(policy.BUILTINS, "leak", leak_of)
    definitions = ("def plain():\n    return 1\n", "def other():\n    return 2\n")
    some = program("len([])", "[plain(), (leak(other() + 3), 7), str(5)]", definitions=definitions)
    runner = Runner(inventory)
    hit = next(hit for number, hit in runner.run(some).hits if number == 1)
    finding = shrink(runner, some, 1, hit, deadline=float("inf"))
    assert finding.source == "def steps0():\n    return leak(0)\n"
    assert finding.root == "host object: module sys · leak"


def test_an_honest_reply_is_accepted_and_others_are_judged() -> None:
    owner = OwnerAttack(random.Random(1))
    try:
        assert owner.judge(Frame(b"[[1,null]]"), run=False) is None
        assert owner.judge(Frame(b"[[", b"[],", 400_000, b"0],null]]"), run=False) is None
        for _ in range(25):
            owner.attempt(lambda hit, primitive, source: pytest.fail(f"{hit} {primitive} {source}"))
    finally:
        owner.close()


def test_a_captured_worker_reaches_nothing() -> None:
    process = ProcessAttack(random.Random(1))
    try:
        if process.reason:
            pytest.skip(process.reason)
        calls = process.attempt(lambda hit, primitive, source: pytest.fail(f"{hit} {primitive} {source}"))
        assert calls > 0
    finally:
        process.close()


@pytest.mark.slow
def test_the_command_reports_what_it_enumerated_and_tried(tmp_path: Path) -> None:
    out = tmp_path / "findings.jsonl"
    words = [sys.executable, "-m", "tools_registry.attack", "--seconds", "4", "--workers", "1", "--out", str(out)]
    done = subprocess.run(words, capture_output=True, text=True)
    text = done.stdout
    assert (done.returncode, out.read_text(encoding="utf-8")) == (0, ""), text + done.stderr
    assert re.search(r"enumerated: \d+ modules, \d+ callables", text)
    assert re.search(r"tried: \d+ programs, [1-9]\d* compositions", text)
    assert text.rstrip().endswith("findings: 0 roots")


def test_findings_are_grouped_by_root() -> None:
    tally = command.Tally()
    assert tally.add(Finding("address", "in a text", "str", "def steps0():\n    return str(len)\n"))
    assert not tally.add(Finding("address", "in a text", "str", "def steps0():\n    return str(abs)\n"))
    assert tally.add(Finding("address", "in a text", "repr", "def steps0():\n    return repr(abs)\n"))


@pytest.mark.parametrize("arguments", [["--seconds", "0"], ["--workers", "0"], ["--seconds", "a"]])
def test_arguments_that_cannot_be_used(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(arguments)
    assert stopped.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_attacks_of_a_corpus_are_changed(tmp_path: Path, inventory: Inventory) -> None:
    source = "import math\ndef tool(path):\n    return math.sqrt(len(path))\n"
    row: dict[str, object] = {
        "id": "a",
        "surface": "tool",
        "kind": "k",
        "severity": "escape",
        "source": source,
        "args": {},
        "accept": [],
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    attacks = corpus.read(path)
    assert attacks == (source,)
    composer = Composer(inventory, random.Random("1"), attacks)
    made = [text for text in composer.program().attempts if "def tool(path)" in text]
    assert len(made) > 10 and len(set(made)) > 5
    refused, _, ran, _ = Runner(inventory).run(program(*made, modules=composer.head)).counts
    assert ran > 0 and refused < len(made) / 2


def test_files_that_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--seconds", "1", "--out", str(tmp_path / "none" / "out.jsonl")]) == 2
    assert "none" in capsys.readouterr().err
    assert command.main(["--seconds", "1", "--corpus", str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err
