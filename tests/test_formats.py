"""A workflow as a flowchart and as text: every node and edge once, whatever the texts in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference_interpreter import Document, call, compute, condition, each, end, sketch

from flowmind.cli.main import main
from flowmind.formats.catalog import FORMATS
from flowmind.formats.labels import write_label
from flowmind.formats.mermaid import from_mermaid, to_mermaid
from flowmind.workflow.describing import describe
from flowmind.workflow.document import Evidence, Workflow

ASK = {"id": "ask", "kind": "llm", "prompt": "Is {n} much?", "args": {"n": {"var": "n"}}, "output": "said"}
EVERYTHING = sketch(
    [
        call("sum", "add", a="n", b=2, c={"var": "o", "path": ["rows", 0, "price"]}),
        condition("big", "sum > 3"),
        compute("twice", "sum * 2"),
        {"id": "none", "kind": "assign", "value": {"value": None}, "output": "twice"},
        each("list", "l", "x", {"list": [{"var": "x"}, {"var": "y"}]}, compute("s", "x + 1", "y"), where="x > n"),
        ASK,
        end({"object": {"said": {"var": "said"}, "list": {"var": "list"}}}),
        end({"value": "no"}, "subgraph"),
    ],
    "start sum big", "big.true twice list ask end", "big.false none subgraph",
    n="integer", l="array", o="object",
)  # fmt: skip


def workflow(document: Document) -> Workflow:
    return Workflow.model_validate(document)


def drawn(flow: Workflow) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """The labels and the edges of a flowchart; every line must be one or the other, or a comment."""
    head, *lines, last = to_mermaid(flow, {}).text.split("\n")
    assert (head, last) == ("flowchart TD", "")
    labels: dict[str, str] = {}
    edges: list[tuple[str, str, str]] = []
    for line in lines:
        if re.match("    %% flowmind .*}$", line):
            continue
        if found := re.fullmatch(r"    (\w+) -->(?:\|(true|false)\|)? (\w+)", line):
            edges.append((found[1], found[2] or "", found[3]))
            continue
        found = re.fullmatch(r'    (\w+)(?:\[|\(|\(\[|{|\[\[|>)"([^"]*)"(?:\]|\)|\]\)|}|\]\])', line)
        assert found is not None, line
        assert found[1] not in labels
        labels[found[1]] = found[2]
    return labels, edges


def plain(label: str) -> str:
    """A label as Mermaid shows it."""
    names = {"quot": '"', "lt": "<", "gt": ">", "amp": "&"}
    return re.sub(r"#(\w+);", lambda found: names.get(found[1]) or chr(int(found[1])), label)


def in_one_line(text: str) -> str:
    return " ".join("".join(one if one.isprintable() or one.isalnum() else " " for one in text).split())


def test_a_flowchart() -> None:
    document = sketch(
        [condition("any", "n > 0"), compute("half", "n / 2"), end("half"), end({"value": 0}, "zero")],
        "start any", "any.true half end", "any.false zero", n="number",
    )  # fmt: skip
    assert [line for line in to_mermaid(workflow(document), {}).text.split("\n") if "%%" not in line] == [
        "flowchart TD",
        '    start(["inputs: n"])',
        '    any{"n #gt; 0"}',
        '    half("half = n / 2")',
        '    end_(["end: half"])',
        '    zero(["end: 0"])',
        "    start --> any",
        "    any -->|true| half",
        "    half --> end_",
        "    any -->|false| zero",
        "",
    ]


def test_a_flowchart_has_every_node_and_every_edge_once() -> None:
    flow = workflow(EVERYTHING)
    labels, edges = drawn(flow)
    assert list(labels) == ["start", "sum", "big", "twice", "none", "list", "ask", "end_", "subgraph_"]
    assert [plain(label) for label in labels.values()] == [write_label(node, flow.input_names) for node in flow.nodes]
    names = dict(zip((node.id for node in flow.nodes), labels, strict=True))
    assert edges == [
        (names[edge.source], {None: "", True: "true", False: "false"}[edge.when], names[edge.target])
        for edge in flow.edges
    ]


def test_each_kind_of_node_has_a_shape() -> None:
    shapes = dict(re.findall(r'^    (\w+)([\[({>]+)"', to_mermaid(workflow(EVERYTHING), {}).text, re.MULTILINE))
    assert shapes == {
        "start": "([", "sum": "[", "big": "{", "twice": "(", "none": "(", "list": "[[", "ask": ">", "end_": "([",
        "subgraph_": "([",
    }  # fmt: skip


HARMFUL = [
    'say "hi"',
    "a[0] {b} (c)",
    "one\ntwo",
    "end",
    "#quot;",
    "`*bold*`",
    "<b>x</b>",
    "a --> b",
    "|x|",
    ";",
    "%% x",
]


@pytest.mark.parametrize("text", HARMFUL)
def test_texts_do_no_harm_to_a_flowchart(text: str) -> None:
    document = sketch(
        [{**ASK, "prompt": text}, condition("c", f"n == {text!r}"), end({"value": {text: [text]}})],
        "start ask c", "c.true end", "c.false end", n="string",
    )  # fmt: skip
    flow = workflow(document)
    labels, edges = drawn(flow)
    shown = [in_one_line(write_label(node, flow.input_names)) for node in flow.nodes]
    assert [in_one_line(plain(label)) for label in labels.values()] == shown
    assert len(edges) == 4
    assert from_mermaid(to_mermaid(flow, {}).text) == flow


@settings(max_examples=60, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(), st.text())
def test_any_text_at_all_stays_inside_its_label(prompt: str, value: str) -> None:
    flow = workflow(sketch([{**ASK, "prompt": prompt}, end({"value": value})], "start ask end"))
    labels, _ = drawn(flow)
    shown = [in_one_line(write_label(node, flow.input_names)) for node in flow.nodes]
    assert [in_one_line(plain(label)) for label in labels.values()] == shown
    assert from_mermaid(to_mermaid(flow, {}).text) == flow


def test_a_tool_name_with_a_line_break_does_no_harm() -> None:
    flow = workflow(sketch([call("a", "one\ntwo"), end("a")], "start a end"))
    assert drawn(flow)[0]["a"] == "a = one two()"
    assert from_mermaid(to_mermaid(flow, {}).text) == flow


def test_a_workflow_as_text() -> None:
    assert describe(workflow(EVERYTHING)) == [
        "- start: inputs n, l, o -> sum",
        "- sum: sum = add(a=n, b=2, c=o.rows[0].price) -> big",
        "- big: if sum > 3 -> true: twice, false: none",
        "- twice: twice = sum * 2 -> list",
        "- none: twice = null -> subgraph",
        "- list: list = for x in l if x > n: y = x + 1 collect [x, y] -> ask",
        "- ask: said = llm('Is {n} much?') -> end",
        "- end: end with {said: said, list: list}",
        '- subgraph: end with "no"',
    ]


def test_a_start_without_inputs_and_a_fork_as_text() -> None:
    assert describe(workflow(sketch([compute("a", "1"), end("a")], "start a end", "start end"))) == [
        "- start: no inputs -> a, end",
        "- a: a = 1 -> end",
        "- end: end with a",
    ]


def written(folder: Path, document: Any) -> str:
    path = folder / "workflow.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def test_the_command_line_converts_to_both_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flow, path = workflow(EVERYTHING), written(tmp_path, EVERYTHING)
    assert main(["convert", path, "--to", "mermaid"]) == 0
    assert capsys.readouterr().out == to_mermaid(flow, {}).text
    assert main(["convert", path, "--to", "json", "--out", str(tmp_path / "again.json")]) == 0
    assert (tmp_path / "again.json").read_text(encoding="utf-8") == flow.to_json()


UNSOUND = {
    "an edge to nowhere": sketch([end({"value": 0})], "start end", "end ghost"),
    "no start": {**sketch([end({"value": 0})]), "nodes": [end({"value": 0})]},
    "no nodes": {**sketch([]), "nodes": []},
}


@pytest.mark.parametrize("document", UNSOUND.values(), ids=UNSOUND)
@pytest.mark.parametrize("command", [["show"], ["convert", "--to", "mermaid"], ["convert", "--to", "json"]])
def test_an_unsound_workflow_is_shown_or_refused_without_a_traceback(
    tmp_path: Path, document: Document, command: list[str]
) -> None:
    assert main([command[0], written(tmp_path, document), *command[1:]]) in (0, 1, 2)


def test_every_format_writes_a_branch_with_evidence_whether_it_can_read_it_back_or_not() -> None:
    branch = workflow(
        sketch(
            [
                condition("if", "n > 1"),
                call("more", "add", "m", a="n", b=1),
                call("less", "add", "m", a="n", b=2),
                end("m"),
            ],
            "start if", "if.true more end", "if.false less end", n="integer",
        )
    )  # fmt: skip
    derived = branch.model_copy(update={"evidence": (Evidence(node="if", field="expr", steps=((1, 1),)),)})
    for name, form in FORMATS.items():
        assert form.export(derived, {}).text == form.export(branch, {}).text or name == "json"


def test_evidence_that_a_format_cannot_hold_is_reported_as_lost() -> None:
    plain = Workflow.model_validate(
        {
            "inputs": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            "nodes": [
                {"id": "start", "kind": "start"},
                {"id": "more", "kind": "assign", "expr": "n + 1", "output": "m"},
                {"id": "end", "kind": "end", "output": {"var": "m"}},
            ],
            "edges": [{"from": "start", "to": "more"}, {"from": "more", "to": "end"}],
        }
    )
    derived = plain.model_copy(update={"evidence": (Evidence(node="more", field="expr", steps=((1, 2),)),)})

    def lost(workflow: Workflow) -> set[str]:
        told = {name: FORMATS[name].export(workflow, {}).fidelity.lost for name in ("json", "python", "text", "pdl")}
        return {name for name, notes in told.items() if "evidence" in [note.part for note in notes]}

    assert lost(plain) == set()
    assert lost(derived) == {"python", "text", "pdl"}
