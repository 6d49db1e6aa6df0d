"""Serverless Workflow: equal documents come back, changed and foreign ones are read, or refused with the place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from random import Random
from typing import Any

import pytest
from reference_interpreter import Document, call, compute, condition, each, end, sketch
from test_mermaid import SPECIAL
from test_random_workflows import SOURCES, Maker, cases

from flowbench_synth.serverless import run_document
from flowmind.formats.fidelity import Note
from flowmind.formats.jq import NoJq, to_jq
from flowmind.formats.serverless import to_serverless
from flowmind.run.running import run_batch
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environments import LocalSandbox
from tools_registry.specs.schema import json_equal


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with LocalSandbox(SOURCES) as made:
        yield made


def written(document: Document) -> Document:
    return json.loads(to_serverless(Workflow.model_validate(document), {}).text)


def tasks(document: Document) -> dict[str, Document]:
    """The tasks by their names, without metadata."""
    return {
        name: {key: part for key, part in task.items() if key != "metadata"}
        for item in document["do"]
        for name, task in item.items()
    }


def test_a_document() -> None:
    document = sketch(
        [call("evens", "filter_even", items="numbers"), condition("any", "len(evens) > 0"),
         compute("half", "n / 2"), each("m", "evens", "x", "x", where="x > n"), end("m"), end({"value": 0}, "zero")],
        "start evens any.true half m end", "any.false zero", numbers="array", n="number",
    )  # fmt: skip
    found = written({**document, "name": "Mean of evens", "description": "Halves."})
    head = {key: part for key, part in found["document"].items() if key != "metadata"}
    assert head == {
        "dsl": "1.0.0", "namespace": "flowmind", "name": "mean-of-evens", "title": "Mean of evens",
        "summary": "Halves.", "version": "1.0.0",
    }  # fmt: skip
    assert found["input"] == {"schema": {"document": document["inputs"]}}
    keep = "${{ $context + {{{0}: {1}}} }}".format
    collected = {"set": {"collected": "${ $x }"}, "export": {"as": keep("_m", "($context._m + [.collected])")}}
    assert tasks(found) == {
        "start": {
            "set": {"numbers": "${ .numbers }", "n": "${ .n }"}, "export": {"as": "${ . }"}, "then": "evens"
        },
        "evens": {
            "call": "filter_even", "with": {"items": "${ $context.numbers }"}, "export": {"as": keep("evens", ".")},
            "then": "any",
        },
        "any": {
            "switch": [
                {"true": {"when": "${ ($context.evens | length) > 0 }", "then": "half"}}, {"false": {"then": "zero"}}
            ]
        },
        "half": {"set": {"half": "${ $context.n / 2 }"}, "export": {"as": "${ $context + . }"}, "then": "m"},
        "m": {
            "do": [
                {"begin": {"set": {"begun": True}, "export": {"as": keep("_m", "[]")}}},
                {"each": {
                    "for": {"each": "x", "in": "${ $context.evens }"},
                    "do": [{"round": {"if": "${ $x > $context.n }", "do": [{"collect": collected}]}}],
                }},
            ],
            "export": {"as": keep("m", "$context._m")}, "then": "end-task",
        },
        "end-task": {"set": {"answer": "${ $context.m }"}, "output": {"as": "${ .answer }"}, "then": "end"},
        "zero": {"set": {"answer": 0}, "output": {"as": "${ .answer }"}, "then": "end"},
    }  # fmt: skip


@pytest.mark.parametrize("document", SPECIAL.values(), ids=SPECIAL)
def test_every_part_is_in_the_fidelity_report(document: Document) -> None:
    workflow = Workflow.model_validate(document)
    fidelity = to_serverless(workflow, {}).fidelity
    reported = [*fidelity.kept, *(note.part for note in (*fidelity.approximated, *fidelity.lost))]
    parts = {node.id for node in workflow.nodes} | {edge.label for edge in workflow.edges}
    assert set(reported) == parts | {"name", "description", "inputs"}


@pytest.mark.skipif(find_spec("jq") is None, reason="the package jq is not installed")
def test_random_workflows_run_the_same_by_another_interpreter(sandbox: LocalSandbox) -> None:
    functions = {name: partial(_call, sandbox, name) for name in sandbox.specs}
    compared = 0
    for seed in range(60):
        rng = Random(seed)
        workflow = Workflow.model_validate(Maker(rng, bool(seed % 2)).document())
        export = to_serverless(workflow, {})
        if export.fidelity.lost:
            continue
        for inputs, trace in zip(runs := cases(rng), run_batch(workflow, runs, sandbox), strict=True):
            if trace.ok:
                answer = run_document(json.loads(export.text), functions, json.loads(json.dumps(inputs)))
                assert json_equal(answer, trace.answer), (seed, inputs)
                compared += 1
    assert compared > 50


def _call(sandbox: LocalSandbox, tool: str, /, **args: Any) -> Any:
    [(value, error)] = sandbox.values([(tool, args)])
    assert error is None, error
    return value


def test_what_is_not_exact_is_said() -> None:
    document = sketch(
        [compute("i", "0"), condition("more", "i < n"), compute("j", "i + 1", "i"), compute("r", "round(x, 1)"),
         compute("t", "s.title()"), call("http", "http"), end("t")],
        "start i more.true j more:5", "more.false r t http end", n="integer", x="number", s="string",
    )  # fmt: skip
    fidelity = to_serverless(Workflow.model_validate(document), {}).fidelity
    assert fidelity.approximated == (
        Note(part="j -> more", note="a runtime does not stop this loop after 5 rounds"),
        Note(part="r", note="'round(x, 1)': round() to decimals works on the decimal digits here, on the binary number "
             "in jq"),
        Note(part="http", note="the DSL has a call of this name, which takes other arguments"),
    )  # fmt: skip
    message = "'s.title()': .title() with these arguments has no form in jq; the task fails in another runtime"
    assert fidelity.lost == (Note(part="t", note=message),)


def test_forked_paths_stand_one_after_the_other() -> None:
    document = sketch(
        [compute("a", "1"), compute("b", "2"), compute("c", "3"), end({"list": [{"var": "a"}, {"var": "b"}]})],
        "start a end", "start b c end", "start end",
    )  # fmt: skip
    found = {name: task["then"] for name, task in tasks(written(document)).items()}
    assert found == {"start": "a", "a": "b", "b": "c", "c": "end-task", "end-task": "end"}


@pytest.mark.skipif(find_spec("jq") is None, reason="the package jq is not installed")
def test_text_that_looks_like_an_expression_stays_text() -> None:
    value = ["${ .n }", {"k": 'a "${x}" \\(b)'}]
    document = written(sketch([end({"value": value})], "start end"))
    assert run_document(document, {}, {}) == value


PLACES: dict[str, str] = {name: f"$context.{name}" for name in ("n", "k", "xs", "s", "o", "f")}
KINDS = {"n": "integer", "k": "integer", "xs": "array", "s": "string", "o": "object", "f": "boolean"}


@pytest.mark.parametrize(
    ("expr", "jq"),
    [
        ("n + 2*k", "$context.n + (2 * $context.k)"),
        ("-n", "-($context.n)"),
        ("n ** 2", "pow($context.n; 2)"),
        ("len(xs) > 0", "($context.xs | length) > 0"),
        ("0 < n < k", "(0 < $context.n) and ($context.n < $context.k)"),
        ("s == \"it's\"", '$context.s == "it\'s"'),
        ("xs[-1]", "$context.xs[-1]"),
        ("xs[1:]", "$context.xs[1:]"),
        ("o['a b']['if'].get('k', 0)",
         'if ($context.o["a b"]["if"] | has("k")) then $context.o["a b"]["if"]["k"] else 0 end'),
        ("sum(x > k for x in xs)", "([$context.xs[] as $__x | (if ($__x > $context.k) then 1 else 0 end)] | add // 0)"),
        ("any(x > k for x in xs)", "any($context.xs[] as $__x | ($__x > $context.k); .)"),
        ("[x for x in xs if x != n]",
         "[$context.xs[] as $__x | if ($__x != $context.n) then $__x else empty end]"),
        ("n if f else k", "if $context.f then $context.n else $context.k end"),
        ("xs and n", "$context.xs as $_1 | if $_1 != [] then $context.n else $_1 end"),
        ("not s", '($context.s != "") | not'),
        ("round(n / 3)", "($context.n / 3) | rint"),
        ("s.replace('a', 'b')", '$context.s | split("a") | join("b")'),
        ("isinstance(o, dict)", '$context.o | type == "object"'),
        ("{'a': [n, None, True]}", '{"a": [$context.n, null, true]}'),
    ],
)  # fmt: skip
def test_expressions_in_jq(expr: str, jq: str) -> None:
    assert to_jq(expr, PLACES, KINDS).text == jq


def test_helpers_stand_before_an_expression_that_needs_them() -> None:
    text = to_jq("n // k + n % k", PLACES, KINDS).text
    head, _, rest = text.rpartition("end; ")
    assert [part.split("(")[0] for part in head.split("def ")[1:]] == ["py_mod", "py_floordiv"]
    assert rest == "py_floordiv($context.n; $context.k) + py_mod($context.n; $context.k)"


@pytest.mark.parametrize("expr", ["s.title()", "xs[::2]", "s.split('')", "{1: 2}", "s.rfind('a')", "int(s, 2)", "x +"])
def test_expressions_without_a_form_in_jq(expr: str) -> None:
    with pytest.raises(NoJq):
        to_jq(expr, PLACES, KINDS)
