"""The audit of the sandbox, with real rows for every way in which a row can fail."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools_registry.sandbox import audit
from tools_registry.sandbox.audit import Auditor, Report, Row
from tools_registry.sandbox.workers import Limits

BLOCKED = ["blocked-at-compile", "blocked-at-run", "killed-by-limit"]


def row(source: str, **fields: Any) -> dict[str, Any]:
    """A row about the tool `tool(canary)`, by default an attack."""
    plain: dict[str, Any] = {
        "id": "row", "surface": "tool", "kind": "file", "severity": "escape", "source": source,
        "args": {"canary": "$CANARY"}, "accept": BLOCKED, "note": "not read",
    }  # fmt: skip
    return plain | fields


def tool(body: str, head: str = "") -> str:
    return f"{head}\ndef tool(canary):\n    {body}\n"


RIGHT = [
    row(tool("return open(canary).read()"), id="file"),
    row(tool("return ().__class__"), id="attribute", kind="escape"),
    row(tool("while True: pass"), id="loop", kind="cpu", check="must-not-hang"),
    row(tool("return 'PWNED' if seen.append(1) or len(seen) > 1 else 'first'", "seen = []"), id="state", kind="state",
        accept=["allowed"], check="second-case"),
    row(tool("math.pi = 4", "import math"), id="patch", kind="state", check="second-case",
        source2="import math\ndef tool(canary):\n    return math.floor(math.pi)"),
    row(tool("return random.random()", "import random"), id="random", kind="determinism", accept=["allowed"],
        check="same-across-workers"),
    row("def tool(items):\n    items.sort()\n    return items", id="arguments", kind="state", accept=["allowed"],
        args={"items": [2, 1]}, check="args-unchanged"),
    row(tool("return {'a': float('inf')}"), id="json", kind="boundary", check="result-must-be-strict-json"),
    row("def tool(n):\n    return [n, n / 2]", id="benign", kind="benign", severity="benign", args={"n": 4},
        accept=["allowed"], want=[4, 2.0]),
    row("n > 3 and 'a' in tags", id="condition", surface="expr", kind="benign", severity="benign",
        args={"n": 4, "tags": ["a"]}, accept=["allowed"], want=True),
    row("n.__class__", id="condition-attribute", surface="expr", kind="escape", args={"n": 4}),
    row("n // 0", id="condition-error", surface="expr", kind="escape", args={"n": 4}),
]  # fmt: skip
WRONG = {
    "gave 'PWNED yes'": row(tool("return 'PWNED yes'"), accept=["allowed"]),
    "gave the secret of the canary file": row("def tool(x):\n    return x", args={"x": "SECRET"}, accept=["allowed"]),
    "outcome allowed, gave 'no'": row(tool("return 'no'")),
    "gave [4.0], expected [4]": row("def tool():\n    return [4.0]", args={}, severity="benign", want=[4]),
    "gave True, expected 1": row("1 == 1", surface="expr", args={}, severity="benign", want=1),
    "refused: tool 'tool': Line 3: \"__class__\"": row(tool("return ().__class__"), severity="benign", want=1),
}


@pytest.fixture(scope="module")
def auditor() -> Iterator[Auditor]:
    made = Auditor(Limits(seconds=0.5), lanes=2)
    yield made
    made.close()


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return path


def test_rows_that_do_as_they_must_pass(auditor: Auditor, tmp_path: Path) -> None:
    path = written(tmp_path, *RIGHT)
    report = audit.audit(path, audit.read(path), auditor, quiet=True)
    assert [(result.id, result.why) for result in report.results if not result.passed] == []
    assert {result.id: result.outcome for result in report.results} == {
        "file": "blocked-at-run", "attribute": "blocked-at-compile", "loop": "killed-by-limit", "state": "allowed",
        "patch": "blocked-at-run", "random": "allowed", "arguments": "allowed", "json": "blocked-at-run",
        "benign": "allowed", "condition": "allowed", "condition-attribute": "blocked-at-compile",
        "condition-error": "blocked-at-run",
    }  # fmt: skip
    assert report.leaks == ()
    assert report.passed
    text = audit.table(report)
    assert "10 of 10 attacks stopped, 2 of 2 benign rows right" in text
    assert "escape       escape                       3      3  2 blocked-at-compile, 1 blocked-at-run" in text
    assert json.loads(audit.as_json(report))["summary"] == {
        "passed": True, "attacks": 10, "attacks_stopped": 10, "benign": 2, "benign_right": 2,
    }  # fmt: skip


@pytest.mark.parametrize("why", WRONG)
def test_a_row_that_does_not_is_named_with_its_reason(why: str, auditor: Auditor) -> None:
    source = json.dumps(WRONG[why]).replace("SECRET", auditor.secret)
    result = auditor.run(
        Row.model_validate({name: part for name, part in json.loads(source).items() if name != "note"})
    )
    assert not result.passed
    assert result.why.startswith(why)
    assert result.canary == ("secret" in why)


def test_a_check_that_fails_is_named(monkeypatch: pytest.MonkeyPatch, auditor: Auditor) -> None:
    """Simulates what the sandbox prevents: changed arguments, and results that differ between workers."""
    calls: list[int] = []

    def observe(self: Auditor, lane: object, source: str, args: dict[str, Any]) -> audit.Observation:
        calls.append(1)
        args["canary"] = "changed"
        return audit.Observation(value=float("nan") if "nan" in source else f"{len(calls)}")

    monkeypatch.setattr(Auditor, "_call", observe)

    def why(check: str, source: str = "") -> str:
        made = row(tool(source), accept=["allowed"], check=check)
        return auditor.run(Row.model_validate({name: part for name, part in made.items() if name != "note"})).why

    assert why("args-unchanged") == "the caller's arguments were changed"
    assert why("same-across-workers") == "two workers gave '3' and '4'"
    assert why("second-case") == "the second case gave '6', alone '7'"
    assert why("result-must-be-strict-json", "nan") == "the result is not strict JSON: nan is not a JSON number"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: not JSON: "),
        ("[]", "line 1: a row must be an object"),
        (json.dumps(row("", surface="shell")), "line 1: surface: 'shell' is not one of tool, expr"),
        (json.dumps(row("", check="maybe")), "line 1: check: 'maybe' is not one of second-case, "),
        (json.dumps({"id": "a"}), "line 1: surface: the field is missing"),
        (json.dumps(row("", args=3)), "line 1: args: "),
        ("", "has no rows"),
    ],
)
def test_a_bad_file_is_one_clear_line(
    line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    assert audit.main([str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert message in said
    assert said.count("\n") == 1


def test_a_missing_file_and_an_unknown_kind_are_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit.main([str(tmp_path / "none.jsonl")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert audit.main([str(written(tmp_path, *RIGHT)), "--only", "nothing"]) == 2
    assert "no row has the kind or id 'nothing'" in capsys.readouterr().err


def test_the_command_says_by_its_exit_status_what_came(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, *RIGHT, row(tool("return 'PWNED'"), id="bad", accept=["allowed"]))
    assert audit.main([str(path), "--only", "benign", "--json", "--pool", "1"]) == 0
    assert len(json.loads(capsys.readouterr().out)["results"]) == 2
    assert audit.main([str(path), "--only", "bad", "--pool", "1"]) == 1
    assert "bad (file): gave 'PWNED'" in capsys.readouterr().out


def test_without_the_language_the_process_still_stops_files_and_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(
        tmp_path,
        row(tool("return 'PWNED ' + open(canary).read()"), id="read"),
        row(tool("return 'PWNED %d' % os.fork()", "import os"), id="fork", kind="fork"),
        row(tool("return 'PWNED' + str(socket.socket())", "import socket"), id="socket", kind="network"),
        row("'PWNED ' + open(canary).read()", id="condition", surface="expr"),
        row(tool("return os.path.join('a', 'b')", "import os"), id="plain", severity="benign", want="a/b"),
    )
    assert audit.main([str(path), "--without", "language", "--pool", "1"]) == 0
    said = capsys.readouterr().out
    assert "the secret was returned by no row" in said
    assert "file: 2 of 2 stopped" in said
    assert "fork: 1 of 1 stopped" in said
    assert "network: 1 of 1 stopped" in said


def test_without_the_process_layer_the_report_says_what_stays_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, row(tool("return 'PWNED ' + open(canary).read()")))
    assert audit.main([str(path), "--without", "process", "--pool", "1"]) == 0
    assert "only the language layer protects: " in capsys.readouterr().out


def test_what_a_run_leaves_behind_makes_it_fail() -> None:
    report = Report(
        file="rows.jsonl", without=(), isolation={}, results=(), growth_mb=21.0,
        leaks=("1 file descriptors are still open",),
    )  # fmt: skip
    assert not report.passed
    assert "left behind: 1 file descriptors are still open" in audit.table(report)


def test_open_files_and_ended_children_are_found() -> None:
    resources = audit.Resources()
    assert list(resources.leaks()) == []
    reader, writer = os.pipe()
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert list(resources.leaks()) == ["2 file descriptors are still open", "1 ended processes were not reaped"]
    finally:
        child.wait()
        os.close(reader)
        os.close(writer)
