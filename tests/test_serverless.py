"""Serverless Workflow: equal documents come back, changed and foreign ones are read, or refused with the place."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from reference_interpreter import Document, call, compute, condition, each, end, sketch
from test_formats import EVERYTHING
from test_mermaid import SPECIAL
from test_random_workflows import SOURCES, Maker, cases

from flowmind.base.errors import InputError
from flowmind.formats.fidelity import Note
from flowmind.formats.jq import NoJq, from_jq, read_place, to_jq
from flowmind.formats.serverless import from_serverless, to_serverless
from flowmind.run.running import run_batch
from flowmind.workflow import expressions
from flowmind.workflow.document import Edge, End, Workflow
from tools_registry.sandbox.environments import LocalSandbox


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
def test_a_document_reads_back_as_an_equal_one(document: Document) -> None:
    workflow = Workflow.model_validate(document)
    export = to_serverless(workflow, {})
    assert from_serverless(export.text).to_json() == workflow.to_json()
    said = [*export.fidelity.kept, *(note.part for note in (*export.fidelity.approximated, *export.fidelity.lost))]
    parts = {node.id for node in workflow.nodes} | {edge.label for edge in workflow.edges}
    assert set(said) == parts | {"name", "description", "inputs"}


def test_random_workflows_read_back_equal_and_run_the_same(sandbox: LocalSandbox) -> None:
    for seed in range(60):
        rng = Random(seed)
        workflow = Workflow.model_validate(Maker(rng, bool(seed % 2)).document())
        again = from_serverless(to_serverless(workflow, {}).text)
        assert again.to_json() == workflow.to_json()
        if seed < 5:
            inputs = cases(rng)
            assert run_batch(again, inputs, sandbox) == run_batch(workflow, inputs, sandbox)


def test_a_changed_document_keeps_what_was_not_changed(sandbox: LocalSandbox) -> None:
    for seed in range(30):
        rng = Random(seed)
        workflow = Workflow.model_validate(Maker(rng, False).document())
        document = written(workflow.dump())
        document["document"]["summary"] = "changed"
        again = from_serverless(json.dumps(document))
        assert again.description == "changed"
        assert {node.id: node for node in again.nodes} == {node.id: node for node in workflow.nodes}
        assert {edge.bound for edge in again.edges} == {edge.bound for edge in workflow.edges}
        inputs = cases(rng)
        traces = run_batch(workflow, inputs, sandbox)
        for trace, other in zip(traces, run_batch(again, inputs, sandbox), strict=True):
            assert (trace.events, trace.answer) == (other.events, other.answer)


def test_changed_tasks_are_read_anew() -> None:
    document = written(
        sketch([call("a", "f", "x", n="n"), condition("c", "x // 2 > 1"), end("x"), end({"value": 0}, "zero")],
               "start a c.true end", "c.false zero", n="integer")
    )  # fmt: skip
    by_name = {name: task for item in document["do"] for name, task in item.items()}
    by_name["a"]["with"] = {"n": 7, "more": ["${ $context.n }"]}
    by_name["zero"]["set"] = {"answer": "nothing"}
    assert from_serverless(json.dumps(document)).dump()["nodes"] == [
        {"id": "start", "kind": "start"},
        {"id": "a", "kind": "tool", "tool": "f", "args": {"n": {"value": 7}, "more": {"list": [{"var": "n"}]}},
         "output": "x"},
        {"id": "c", "kind": "condition", "expr": "x // 2 > 1"},
        {"id": "end", "kind": "end", "output": {"var": "x"}},
        {"id": "zero", "kind": "end", "output": {"value": "nothing"}},
    ]  # fmt: skip
    by_name["c"]["switch"][0]["true"]["when"] = "${ $context.x > 5 and ($context.n == 1 | not) }"
    node = from_serverless(json.dumps(document)).by_id["c"]
    assert node.model_dump(exclude_defaults=True) == {"id": "c", "expr": "(x > 5) and (not (n == 1))"}


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


FOREIGN = """
document: {dsl: '1.0.1', namespace: shop, name: order-total, version: '2.1.0', title: Order total}
input:
  schema:
    format: json
    document:
      type: object
      properties:
        order: {type: object}
        member: {type: boolean}
      required: [order, member]
do:
- total:
    call: sumPrices
    with: {items: "${ $workflow.input.order.lines }", currency: "EUR"}
    export: {as: "${ $context + { total: . } }"}
- rate:
    switch:
    - member: {when: "${ $workflow.input.member == true }", then: low}
    - large: {when: "$context.total.amount > 100 and $context.total.amount <= 500", then: low}
    - default: {then: high}
- low:
    set: {rate: 0.1, seen: ["${ $context.total.lines[0] }"]}
    export: {as: "${ $context + . }"}
    then: done
- high:
    set: {rate: "${ ($context.total.amount + 1) * 2 - ($context.total.lines | length) }", seen: []}
    export: {as: "${ $context + . }"}
- done:
    set: {rate: "${ $context.rate }", seen: "${ $context.seen }"}
    then: end
"""


def test_a_foreign_document_in_yaml() -> None:
    pytest.importorskip("yaml")
    amount: Document = {"var": "total", "path": ["lines", 0]}
    expected = sketch(
        [
            call("total", "sumPrices", items={"var": "order", "path": ["lines"]}, currency={"value": "EUR"}),
            condition("rate", "isinstance(member, bool) and member == True"),
            condition("rate_2", "(total['amount'] > 100) and (total['amount'] <= 500)"),
            {"id": "low_rate", "kind": "assign", "value": {"value": 0.1}, "output": "rate"},
            {"id": "low_seen", "kind": "assign", "value": {"list": [amount]}, "output": "seen"},
            compute("high_rate", "((total['amount'] + 1) * 2) - len(total['lines'])", "rate"),
            {"id": "high_seen", "kind": "assign", "value": {"value": []}, "output": "seen"},
            end({"object": {"rate": {"var": "rate"}, "seen": {"var": "seen"}}}, "done"),
        ],
        "start total rate.true low_rate low_seen done", "rate.false rate_2.true low_rate",
        "rate_2.false high_rate high_seen done", order="object", member="boolean",
    )  # fmt: skip
    found = from_serverless(FOREIGN).dump()
    assert found["name"] == "Order total"
    assert {key: found[key] for key in ("inputs", "nodes")} == {key: expected[key] for key in ("inputs", "nodes")}
    assert sorted(found["edges"], key=str) == sorted(expected["edges"], key=str)


def test_yaml_without_pyyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(InputError) as refused:
        from_serverless(FOREIGN)
    message = "line 1: not JSON, and PyYAML, which reads YAML, is not installed; install it or write JSON"
    assert str(refused.value) == message


HEAD: Document = {"dsl": "1.0.0", "namespace": "x", "name": "x", "version": "1.0.0"}
DONE: Document = {"done": {"set": {"answer": 1}, "then": "end"}}
KEEP: Document = {"as": "${ $context + . }"}


def foreign(*items: Document, **more: Any) -> str:
    return json.dumps({"document": HEAD, "do": [*items], **more})


CALL: Document = {"call": "f", "export": {"as": "${ $context + {x: .} }"}}
BAD = {
    "[1]": "line 1: no document of the DSL; it is an object with 'document' and 'do'",
    '{"document": {},\n "do": [}': "line 2: not JSON: Expecting value",
    json.dumps({"document": {**HEAD, "dsl": "0.8"}, "do": [DONE]}):
        "document/dsl: '0.8'; version 1 of the DSL is read, such as '1.0.0'",
    foreign(DONE, timeout={"after": "PT1S"}):
        "line 1: 'timeout' is outside of what is read; known here: do, document, input",
    foreign(): "do: expected a list of tasks",
    foreign({"a": {}, "b": {}}): "do/0: expected one task under its name",
    foreign(DONE, DONE): "do/1: a second task 'done'; the name of a task is its own",
    foreign({"a": {"wait": {"seconds": 1}}}): "do/0/a: wait: tasks of this kind are not read; call, set and switch are",
    foreign({"a": {"call": "http", "with": {}, "export": CALL["export"]}}):
        "do/0/a/call: 'http': calls of functions by their names are read",
    foreign({"a": {"call": "f"}}, DONE): "do/0/a/export/as: what a call gives is to be kept by "
        "${ $context + { name: . } }",
    foreign({"a": {"set": {"x": 1}}}, DONE): "do/0/a/export/as: what is set is to be kept by ${ $context + . }",
    foreign({"a": {**CALL, "if": "${ true }"}}, DONE):
        "do/0/a: 'if' is outside of what is read; known here: call, export, metadata, set, then, with",
    foreign({"a": {**CALL, "with": {"n": "${ .n }"}}}, DONE): "do/0/a/with/n: '.n' is no path into the context or the "
        "input, such as $context.order.total or $workflow.input.n",
    foreign({"a": {**CALL, "with": {"n": "so ${ $context.n }"}}}, DONE):
        "do/0/a/with/n: text with an expression inside it; write one expression for all of it",
    foreign({"a": {**CALL, "then": "b"}}, DONE): "do/0/a/then: there is no task 'b'",
    foreign({"a": {**CALL, "then": "end"}}): "do/0/a/then: the last task sets the answer: 'set', no 'export', "
        "'then: end'",
    foreign({"a": {"switch": [{"c": {"when": "$context.x", "then": "done"}}]}}, DONE):
        "do/0/a/switch/0/c/when: a bare value is true for another reason in jq; compare it, as in .x == true or .x > 0",
    foreign({"a": {"switch": [{"c": {"when": "${ $context.x | test(\"a\") }", "then": "done"}}]}}, DONE):
        "do/0/a/switch/0/c/when: '$context.x | test(\"a\")': '| test' behind 'x' is outside of what is read",
    foreign({"a": {"switch": [{"c": {"then": "done"}}]}}, DONE): "do/0/a/switch: no case has a 'when'",
    foreign({"a": {"set": {"x": 1, "y": "${ $context.x }"}, "export": KEEP}}, DONE):
        "do/0/a/set/y: reads 'x', which the same task sets; set it in a task of its own",
    foreign({"a": {"set": {"a b": 1}, "export": KEEP}}, DONE):
        "do/0/a/set/a b: 'a b' names no variable; letters, digits and '_' are allowed",
    foreign({"a": {"set": {"x": "${ $workflow.input.n }"}, "export": KEEP}},
            {"b": {"set": {"n": 2}, "export": KEEP}}, DONE):
        "do/0/a/set/x: '$workflow.input.n': a task sets 'n', too; give that variable another name",
    foreign({"a": {"set": {"x": 1}, "output": {"as": "${ .y }"}}}):
        "do/0/a/output/as: expected one of the values that are set, such as ${ .answer }",
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD.items())
def test_what_cannot_be_read_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        from_serverless(text)
    assert str(refused.value) == message


def test_edges_and_metadata_that_contradict_the_tasks_are_not_believed() -> None:
    document = written(sketch([compute("a", "1"), compute("b", "2"), end("b")], "start a b end"))
    by_name = {name: task for item in document["do"] for name, task in item.items()}
    by_name["start"]["then"] = "b"
    by_name["b"]["then"] = "a"
    by_name["a"]["then"] = "end-task"
    assert from_serverless(json.dumps(document)).edges == tuple(
        Edge.model_validate({"from": one, "to": other}) for one, other in (("start", "b"), ("a", "end"), ("b", "a"))
    )


def test_text_that_looks_like_an_expression_stays_text() -> None:
    document = sketch([end({"value": ["${ .n }", {"k": 'a "${x}" \\(b)'}]})], "start end")
    changed = written(document)
    changed["document"]["summary"] = "read without metadata"
    for item in changed["do"]:
        for task in item.values():
            del task["metadata"]
    (node,) = (node for node in from_serverless(json.dumps(changed)).nodes if isinstance(node, End))
    assert node.model_dump(mode="json")["output"] == {"value": ["${ .n }", {"k": 'a "${x}" \\(b)'}]}


@pytest.mark.parametrize("seed", range(3))
def test_damaged_documents_are_read_or_refused(seed: int) -> None:
    rng = Random(seed)
    for _ in range(60):
        document = written(EVERYTHING)
        place: Any = document
        while isinstance(place, dict | list) and place:
            keys: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = rng.choice(keys)
            if rng.random() < 0.3 or not isinstance(place[key], dict | list):
                place[key] = rng.choice([None, 0, "", "x", [], {}, "${ . }", ["x"], {"x": 1}])
                break
            place = place[key]
        try:
            assert from_serverless(json.dumps(document)).nodes
        except InputError as error:
            assert "\n" not in str(error)


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


def named(jq: str) -> str:
    found = read_place(jq)
    assert found is not None
    return str(found[1][0])


@pytest.mark.parametrize(
    ("jq", "expr", "check"),
    [
        (".n > 3 and .k != 2", "n > 3 and k != 2", lambda v: v["n"] > 3 and v["k"] != 2),
        ("(.n - 1) * -2 == .k or (.n < 0 | not)", "", lambda v: (v["n"] - 1) * -2 == v["k"] or not v["n"] < 0),
        ('.s == "a\\"b"', "", lambda v: v["s"] == 'a"b'),
        (".f == true", "", lambda v: v["f"] is True),
        (".f != false", "", lambda v: v["f"] is not False),
        (".n == null", "", lambda v: v["n"] is None),
        ("(.s | length) >= 1", "", lambda v: len(v["s"]) >= 1),
    ],
)
def test_jq_in_the_condition_language(jq: str, expr: str, check: Callable[[dict[str, Any]], bool]) -> None:
    text, kind = from_jq(jq, named)
    assert kind == "bool"
    for n in (-1, 0, 1, 2, 4, None) if "null" in jq else (-1, 0, 1, 2, 4):
        for k in (2, 3):
            for values in ({"f": True, "s": 'a"b'}, {"f": False, "s": ""}):
                scope = {**values, "n": n, "k": k}
                assert expressions.evaluate(text, scope) == check(scope)
                assert not expr or expressions.evaluate(expr, scope) == check(scope)


@pytest.mark.parametrize("jq", [".a and .b", ".a | tostring", "if .a then 1 else 2 end", ".a == ", "(.a", '"\\(.a)"',
                                "true + 1", "true < .a", ".a // 1", "1 2", "..", "-.a", "x"])  # fmt: skip
def test_jq_that_is_not_read(jq: str) -> None:
    with pytest.raises(NoJq):
        from_jq(jq, named)
