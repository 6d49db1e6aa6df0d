"""Workflows as Python: the function gives what a run gives, on every input, and raises where a run fails."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from long_tables import one_in
from reference_interpreter import Document, call, compute, condition, each, end, sketch
from test_random_workflows import FUNCTIONS, SOURCES, SPECS, Maker, cases

from flowmind import tool
from flowmind.base.errors import InvalidWorkflow
from flowmind.formats import python
from flowmind.formats.fidelity import Note
from flowmind.formats.python import PythonWriter, to_function, to_python
from flowmind.llm.testing import ScriptedChat
from flowmind.run.running import arun, run_many
from flowmind.workflow.document import Workflow
from flowmind.workflow.nesting import readable
from tools_registry.sandbox.environments import FunctionEnvironment, LocalSandbox
from tools_registry.specs.schema import json_equal


def same(value: Any) -> Any:
    """Gives what it gets, so that nothing is known of its type."""
    return value


def double(n: int) -> int:
    """Doubles."""
    return 2 * n


def spoil(items: list[int]) -> int:
    """Changes the list that it is given."""
    items.append(99)
    return len(items)


@tool(name="class")
def school_class(n: int) -> list[int]:
    """Has a keyword for a name."""
    return list(range(n))


def pair(n: int) -> Any:
    """Gives a tuple, which becomes a list."""
    return n, {"n": (n,)}


def endless(n: float) -> float:
    """Gives what is no JSON number."""
    return n * 1e308 * 10


TOOLS = {"same": same, "double": double, "spoil": spoil, "class_": school_class, "pair": pair, "endless": endless}
SANDBOX = FunctionEnvironment(list(TOOLS.values()))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with LocalSandbox(SOURCES) as made:
        yield made


def agree(
    document: Document, inputs: Sequence[Document], sandbox: Any = SANDBOX, tools: Any = TOOLS, plain: bool = True
) -> list[Any]:
    """Asserts that the strict function does what a run does; gives what it gave, an error as the error itself.

    Args:
        document: The workflow.
        inputs: The cases.
        sandbox: Where the workflow runs.
        tools: The functions that the sandbox has.
        plain: Whether the clean function must give the same wherever a run gives an answer.
    """
    workflow = Workflow.model_validate(document)
    strict = to_function(workflow, tools, specs=sandbox.specs, strict=True)
    clean = to_function(workflow, tools, specs=sandbox.specs)
    found: list[Any] = []
    for case, ran in zip(inputs, run_many(workflow, inputs, sandbox), strict=True):
        try:
            value = strict(**case)
        except Exception as error:
            assert ran.error is not None, f"{case}: {error!r} where a run gives {ran.answer!r}"
            found.append(error)
            continue
        assert ran.error is None, f"{case}: {value!r} where a run fails: {ran.error}"
        assert json.dumps(value) == json.dumps(ran.answer), case
        if plain:
            assert json_equal(clean(**case), ran.answer), case
        found.append(value)
    return found


@pytest.mark.parametrize("nests", [True, False], ids=["nested", "as states"])
@pytest.mark.parametrize("chunk", one_in(2, range(2)))
def test_random_workflows_give_what_a_run_gives(
    sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch, chunk: int, nests: bool
) -> None:
    if not nests:
        monkeypatch.setattr(python, "readable", lambda workflow: None)
    for seed in range(26 * chunk, 26 * chunk + 26):
        rng = Random(seed)
        agree(Maker(rng, seed % 2 == 1).document(), cases(rng), sandbox, FUNCTIONS)


def test_the_random_workflows_have_nested_forms_and_the_others_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    workflow = Workflow.model_validate(Maker(Random(3), False).document())
    assert readable(workflow) is not None
    whole = to_python(workflow, SPECS, strict=True)
    assert "match " not in whole.text
    assert not {note.part for note in whole.fidelity.approximated} & {edge.label for edge in workflow.edges}
    monkeypatch.setattr(python, "readable", lambda workflow: None)
    states = to_python(workflow, SPECS, strict=True)
    assert "match step" in states.text
    assert {edge.label for edge in workflow.edges} <= {note.part for note in states.fidelity.approximated}


VALUES: list[Any] = [0, 1, -2, 2.5, 1e308, 3**500, True, None, "", "ab", "%d", "2", [], [1, 2], {}, {"a": 1, "b": [2]}]
EXPRESSIONS = [
    "x * y", "x % y", "x + y", "x - y", "x / y", "x // y", "x ** y", "-x", "+x * y", "x * y + x", "x * y == y",
    "x * y > 3", "x * y > x", "x % 2 == 0", "x[0] * 2", "x[y]", "x[-1]", "x['a']", "x[1:]", "x[y:y + 2]", "x[::-1]",
    "x == y", "x in y", "x and y", "not x or y", "x if y else 0", "len(x)", "sum(x)", "max(x)", "max(x, y)",
    "sorted(x)", "sorted(x.items())", "x.items()", "x.keys()", "[k * 2 for k in x]", "[p for p in x.items()]",
    "[p.count(y) for p in x.items()]", "x.count(y)", "x.index(y)", "x.upper()", "x.get('a', y)", "x.split(y)",
    "round(x)", "round(x, 1)", "abs(x)", "int(x)", "float(x)", "str(x)", "isinstance(x, (int, str))", "[x, [y]]",
    "{'a': x, 'b': y}", "{x: y}", "any(x)", "sum(k * 2 for k in x)", "x * 1e308 * 10 > y", "x < y < 3", "x is None",
    "x is not None and y", "1e999", "(x * y) ** 2", "2 ** x", "x ** -1", "x ** 2", "(-8) ** x", "'{}' % x", "'\\ud800'",
    "'x' + x", "[1] + x", "x.replace(y, 'zz')", "x.join(y)", "-(-x)", "not (x == y)", "[c for c in y if c if x]",
    "len([k for k in x if (1 if k else 0)])", "float('nan') == x", "float('inf')", "x.startswith(y)", "min([x])",
]  # fmt: skip


@pytest.mark.parametrize("expr", EXPRESSIONS)
def test_an_expression_of_unknown_values_gives_the_same_or_an_error(expr: str) -> None:
    taken = [call("x", "same", value="p"), call("y", "same", value="q")]
    inputs = [{"p": p, "q": q} for p in VALUES for q in VALUES]
    agree(sketch([*taken, compute("z", expr), end("z")], "start x y z end", p={}, q={}), inputs)
    asked = [*taken, condition("c", expr), end({"value": "yes"}, "yes"), end({"value": "no"}, "no")]
    agree(sketch(asked, "start x y c.true yes", "c.false no", p={}, q={}), inputs)


@pytest.mark.parametrize("kind", ["number", "integer"])
@pytest.mark.parametrize("expr", [expr for expr in EXPRESSIONS if "{" not in expr])
def test_an_expression_of_checked_numbers_gives_the_same_or_an_error(expr: str, kind: str) -> None:
    numbers = [0, 1, -2, 3, 2.0, -0.5, 1e308, 2**70]
    inputs = [{"x": x, "y": y} for x in numbers for y in [*numbers, "2"]]
    agree(sketch([compute("z", expr), end("z")], "start z end", x=kind, y=kind), inputs)


def test_plain_operators_where_the_types_are_known() -> None:
    nodes = [
        compute("i", "0"),
        condition("more", "i < len(rows)"),
        {"id": "price", "kind": "assign", "value": {"var": "rows", "path": [0, "price"]}, "output": "price"},
        compute("worth", "price * 2 > n and i * 3 < 10"),
        compute("j", "i + 1", "i"),
        end("worth"),
        end({"value": None}, "none"),
    ]
    rows = {
        "type": "array",
        "items": {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]},
    }
    document = sketch(nodes, "start i more.true price worth j end", "more.false none", rows=rows, n="integer")
    text = to_python(Workflow.model_validate(document), {}).text
    for line in (
        'price = rows[0]["price"]', "worth = price * 2 > n and i * 3 < 10", "if i < len(rows):", "def workflow(",
        "rows: list[dict[str, Any]], n: int"
    ):  # fmt: skip
        assert line in text
    assert agree(document, [{"rows": [{"price": 4}], "n": 7}, {"rows": [], "n": 1}]) == [True, None]


def test_a_loop_is_a_while_with_its_bound() -> None:
    nodes = [compute("i", "0"), condition("more", "i < n"), compute("j", "i + 1", "i"), end("i")]
    document = sketch(nodes, "start i more.true j more:3", "more.false end", n="integer")
    text = to_python(Workflow.model_validate(document), {}, strict=True).text
    assert "    while i < n:\n        i = i + 1\n        rounds += 1\n        if rounds > 3:\n" in text
    found = agree(document, [{"n": n} for n in (0, 3, 4)])
    assert found[:2] == [0, 3]
    assert str(found[2]) == "the loop at more ran more than 3 rounds"


def test_the_clean_form_of_a_loop_has_its_bound_in_a_comment_and_no_jump_at_its_end() -> None:
    nodes = [compute("i", "0"), condition("more", "i < n"), compute("j", "i + 1", "i"), condition("odd", "i % 2 == 1"),
             call("twice", "double", "k", n="i"), end("i")]  # fmt: skip
    paths = ["start i more.true j odd.true twice more:9", "odd.false more:9", "more.false end"]
    document = sketch(nodes, *paths, n="integer")
    text = to_python(Workflow.model_validate(document), SANDBOX.specs).text
    body = text.partition("    i = 0\n")[2].partition("\n\n\n")[0]
    assert body.splitlines() == [
        "    while i < n:  # at most 9 times",
        "        i = i + 1",
        "        if i % 2 == 1:",
        "            _k = double(n=i)",
        "    return i",
    ]
    assert agree(document, [{"n": n} for n in (0, 5, 9)]) == [0, 5, 9]


def test_nested_loops_count_anew_in_each_round() -> None:
    nodes = [
        compute("i", "0"), compute("sum", "0"), condition("outer", "i < n"), compute("j", "0"),
        condition("inner", "j < i"), compute("k", "sum + i * j", "sum"), compute("l", "j + 1", "j"),
        compute("m", "i + 1", "i"), end("sum"),
    ]  # fmt: skip
    paths = ["start i sum outer.true j inner.true k l inner:4", "inner.false m outer:5", "outer.false end"]
    found = agree(sketch(nodes, *paths, n="integer"), [{"n": n} for n in range(7)])
    assert found[:6] == [0, 0, 0, 2, 11, 35]
    assert isinstance(found[6], RuntimeError)


def test_a_loop_tested_at_its_end_and_one_with_two_back_edges() -> None:
    last = sketch(
        [compute("i", "0"), compute("j", "i + 1", "i"), condition("more", "i < n"), end("i")],
        "start i j more.true j:2", "more.false end", n="integer",
    )  # fmt: skip
    assert agree(last, [{"n": 0}, {"n": 3}])[:2] == [1, 3]
    assert isinstance(agree(last, [{"n": 4}])[0], RuntimeError)
    twice = sketch(
        [compute("i", "0"), condition("more", "i < n"), condition("odd", "i % 2 == 1"), compute("a", "i + 1", "i"),
         compute("b", "i + 3", "i"), end("i")],
        "start i more.true odd.true a more:2", "odd.false b more:2", "more.false end", n="integer",
    )  # fmt: skip
    agree(twice, [{"n": n} for n in range(14)])
    inside = sketch(
        [compute("i", "0"), compute("j", "i + 1", "i"), condition("odd", "i % 2 == 1"), condition("more", "i < n"),
         end("i")],
        "start i j odd.true j:1", "odd.false more.true j:2", "more.false end", n="integer",
    )  # fmt: skip
    assert agree(inside, [{"n": n} for n in range(12)])[:7] == [2, 2, 2, 4, 4, 6, 6]


def test_maps_with_where_body_and_nested_bindings() -> None:
    rows = {"type": "array", "items": {"type": "integer"}}
    document = sketch(
        [each("evens", "xs", "x", "x", where="x % 2 == 0"),
         each("all", "xs", "x", "x"),
         each("deep", "evens", "e", {"object": {"twice": {"var": "t"}, "a b": {"list": [{"var": "e"}]}}},
              call("t", "double", n="e"), compute("u", "t + n"), where="e > 0"),
         call("known", "same", value={"list": [{"var": "deep"}, {"value": {"k": [1, None]}}]}),
         {"id": "at", "kind": "assign", "value": {"var": "known", "path": [0, -1, "a b", 0]}, "output": "at"},
         each("xs2", "xs", "x", {"list": [{"var": "x"}, {"var": "n"}]}, where="(x if n else 0)"),
         end({"object": {"at": {"var": "at"}, "all": {"var": "all"}, "xs2": {"var": "xs2"}}})],
        "start evens all deep known at xs2 end", xs=rows, n="integer",
    )  # fmt: skip
    found = agree(document, [{"xs": [1, 2, 4], "n": 5}, {"xs": [], "n": 0}, {"xs": [2, -4, 0], "n": 0}])
    assert found[0] == {"at": 4, "all": [1, 2, 4], "xs2": [[1, 5], [2, 5], [4, 5]]}
    assert isinstance(found[1], IndexError)
    again = sketch([each("xs", "xs", "x", "y", compute("y", "x + len(xs)")), end("xs")], "start xs end", xs=rows)
    assert agree(again, [{"xs": [1, 2]}]) == [[3, 4]]


@pytest.mark.parametrize("value", ["ab", {"a": 1}, None, 3])
def test_a_map_and_an_index_refuse_what_is_no_list(value: Any) -> None:
    mapped = sketch([call("x", "same", value="p"), each("m", "x", "e", "e"), end("m")], "start x m end", p={})
    assert isinstance(agree(mapped, [{"p": value}])[0], TypeError)
    path = {"id": "at", "kind": "assign", "value": {"var": "x", "path": [0]}, "output": "at"}
    indexed = sketch([call("x", "same", value="p"), path, end("at")], "start x at end", p={})
    assert isinstance(agree(indexed, [{"p": value}])[0], TypeError)


def test_keywords_builtins_and_collisions_are_renamed() -> None:
    names = ["class", "list", "from", "tools", "same", "llm", "l", "sum"]
    nodes = [
        call("max", "same", value="class"),
        compute("len2", "len(list) + sum([k for k in list if k > max])", "len"),
        call("print", "class_", n="len"),
        compute("double", "[double for double in print]"),
        call("again", "double", n="tools"),
        compute("json", "1"),
        end({"list": [{"var": name} for name in ["double", "again", "from", "same", "llm", "l", "sum"]]}),
    ]
    paths = "start max len2 print double again json end"
    kinds = {name: {} for name in names} | {"list": {"type": "array", "items": {"type": "integer"}}}
    document = sketch(nodes, paths, **kinds)
    workflow = Workflow.model_validate({**document, "name": "class"})
    writer = PythonWriter(workflow, SANDBOX.specs, "strict")
    new = writer.parameters
    assert writer.function == "class_"
    assert {name for name in names if new[name] != name} == {"class", "list", "from", "tools", "llm", "sum"}
    case = {"class": 1, "list": [3], "from": 2, "tools": 4, "same": "s", "llm": None, "l": 0, "sum": [1]}
    assert agree(document, [case]) == [[[0, 1, 2, 3], 8, 2, "s", None, 0, [1]]]
    export = to_python(workflow, SANDBOX.specs, strict=True)
    assert [note for note in export.fidelity.approximated if note.part == "names"] == [
        Note(part="names", note="parameters are renamed: class is class_, list is list_, from is from_, "
             "tools is tools_, llm is llm_, sum is sum_")
    ]  # fmt: skip


def test_arguments_and_keys_may_be_called_anything() -> None:
    specs = {"odd": SANDBOX.specs["same"].model_copy(update={"name": "odd", "parameters": {"type": "object"}})}
    args = {"class": {"value": 1}, "a b": {"value": "é\n\"'"}, "x.y": {"var": "n"}}
    node = {"id": "odd", "kind": "tool", "tool": "odd", "args": args, "output": "odd"}
    path = {"id": "p", "kind": "assign", "value": {"var": "odd", "path": ["x.y"]}, "output": "p"}
    workflow = Workflow.model_validate(sketch([node, path, end({"list": [{"var": "odd"}, {"var": "p"}]})],
                                              "start odd p end", n="integer"))  # fmt: skip
    for strict in (False, True):
        function = to_function(workflow, {"odd": lambda **given: given}, specs=specs, strict=strict)
        assert function(n=3) == [{"class": 1, "a b": "é\n\"'", "x.y": 3}, 3]


def test_tools_get_copies_of_what_fits_and_give_plain_json() -> None:
    document = sketch(
        [call("n", "spoil", items="xs"), call("p", "pair", n="n"), end({"list": [{"var": "xs"}, {"var": "p"}]})],
        "start n p end", xs={"type": "array", "items": {"type": "integer"}},
    )  # fmt: skip
    given = {"xs": [1]}
    assert agree(document, [given], plain=False) == [[[1], [2, {"n": [2]}]]]
    assert given == {"xs": [1]}
    wrong = sketch([call("d", "double", n="v"), end("d")], "start d end", v={})
    found = agree(wrong, [{"v": 2}, {"v": "2"}, {"v": 2.5}, {"v": True}])
    assert found[0] == 4
    assert [type(error) for error in found[1:]] == [ValueError] * 3
    huge = sketch([call("d", "endless", n="v"), end({"value": 0})], "start d end", v={})
    assert isinstance(agree(huge, [{"v": 10}])[0], ValueError)


SCHEMAS: list[Any] = [
    {"type": ["integer", "null"]}, {"enum": [1, "a", None, [True]]}, {"const": {"a": 1}}, {"minimum": 0, "maximum": 2},
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2}]},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
    {"type": "object", "additionalProperties": {"type": "array"}}, {"$ref": "#/$defs/tree"}, {"type": "boolean"},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
def test_inputs_are_checked_as_a_run_checks_them(schema: Any) -> None:
    values = [*VALUES, 1.0, [True], [1], [1, 2, 3], ["a"], {"a": 1.0}, {"a": 1, "c": 2}, {"a": []}, [[[]], []], (1,)]
    document = sketch([end("v")], "start end", v=schema)
    tree = {"type": "array", "items": {"$ref": "#/$defs/tree"}}
    document["inputs"] |= {"$defs": {"tree": tree}, "additionalProperties": False}
    found = agree(document, [{"v": value} for value in values], plain=False)
    assert 0 < sum(isinstance(value, ValueError) for value in found) < len(found)


def test_optional_inputs_may_be_left_out() -> None:
    document = sketch([end("n")], "start end", n="integer", m={"type": "string", "description": "Any\nword."})
    document["inputs"]["required"] = ["n"]
    text = to_python(Workflow.model_validate(document), {}).text
    assert "def workflow(n: int, m: str | None = None) -> Any:" in text
    assert "        m: Any word." in text
    assert agree(document, [{"n": 1}, {"n": 1, "m": "x"}]) == [1, 1]
    assert isinstance(agree(document, [{"n": 1, "m": 3}])[0], ValueError)


def test_forks_run_one_path_after_the_other_and_early_ends_return() -> None:
    document = sketch(
        [call("a", "double", n="n"), compute("b", "n + 1"), condition("c", "b > 5"), compute("d", "b * 2", "b"),
         compute("e", "a + b"), condition("big", "e > 20"), end({"value": "big"}, "stop"), end("e")],
        "start a e", "start b c.true d e", "c.false e", "e big.true stop", "big.false end", n="integer",
    )  # fmt: skip
    assert agree(document, [{"n": n} for n in (1, 5, 9)]) == [4, "big", "big"]


def test_a_condition_that_decides_nothing_is_left_out_of_the_clean_form() -> None:
    document = sketch(
        [compute("r", "0"), condition("c", "n > 0"), compute("a", "1", "r"), condition("d", "1 / n > 0"), end("r")],
        "start r c.true a end", "c.false d.true end", "d.false end", n="integer",
    )  # fmt: skip
    assert agree(document, [{"n": 1}, {"n": -1}]) == [1, 0]
    assert isinstance(agree(document, [{"n": 0}])[0], ZeroDivisionError)
    assert "1 / n" not in to_python(Workflow.model_validate(document), {}).text


def test_a_yes_or_no_is_one_return() -> None:
    document = sketch(
        [condition("c", "n and n > 3"), end({"value": True}, "yes"), end({"value": False}, "no")],
        "start c.true yes", "c.false no", n={"type": ["integer", "null"]},
    )  # fmt: skip
    assert agree(document, [{"n": 9}, {"n": 1}, {"n": 0}, {"n": None}]) == [True, False, False, False]
    assert "    return bool(n and n > 3)\n" in to_python(Workflow.model_validate(document), {}).text


PROMPTS = ["Is {n} {{much}}?", 'A "{word}"\n{n}', "plain", "{n}{n}", "back\\slash {word}",
           '"+str(print("{word}"))+"{n}', "it's \"{n}\"", "\x00\u2028 {n}"]  # fmt: skip


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("path", [[], [0]], ids=["a_variable", "a_path"])
def test_a_model_is_asked_the_same(prompt: str, path: list[int]) -> None:
    args = {"n": {"var": "n", "path": path}, "word": {"value": "é"}}
    args |= {"more": {"var": "n", "path": [0, -1]}} if prompt == "plain" else {}
    ask = {"id": "ask", "kind": "llm", "prompt": prompt, "args": args, "output": "said"}
    workflow = Workflow.model_validate(sketch([ask, end("said")], "start ask end", n={"type": "array"}))
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return "yes"

    model = ScriptedChat(["yes"])
    trace = asyncio.run(arun(workflow, {"n": [[1, "a"]]}, SANDBOX, model))
    for strict in (False, True):
        function = to_function(workflow, {}, answer, strict=strict)
        assert function(n=[[1, "a"]]) == trace.answer == "yes"
    assert asked == 2 * [step.prompt for step in trace.events if step.kind == "asked"]


def test_an_unsound_workflow_is_refused() -> None:
    with pytest.raises(InvalidWorkflow, match="variable 'x' is not set"):
        to_python(Workflow.model_validate(sketch([end("x")], "start end")), {})


def test_a_tool_without_a_spec_is_called_unchecked_and_noted() -> None:
    workflow = Workflow.model_validate(sketch([call("a", "free", n="n"), end("a")], "start a end", n={}))
    export = to_python(workflow, {}, strict=True)
    for strict in (False, True):
        assert to_function(workflow, {"free": same_named}, specs={}, strict=strict)(n=[1]) == [1]
    assert Note(part="a", note="the schema of 'free' is not known: its arguments are not checked") in (
        export.fidelity.approximated
    )


def same_named(n: Any) -> Any:
    return n


def test_a_linear_workflow_is_kept_as_a_whole() -> None:
    document = sketch([call("a", "double", n="n"), end("a")], "start a end", n="integer")
    document["inputs"]["additionalProperties"] = False
    export = to_python(Workflow.model_validate(document), SANDBOX.specs, strict=True)
    assert export.fidelity.exact
    assert export.fidelity.kept == ("inputs", "start", "a", "end", "start -> a", "a -> end")


HARMFUL = ['say """hi"""', "back\\slash", 'ends with "', "one\n\n  two\t\x00", "é \ud7ff", '"', ""]


@pytest.mark.parametrize("text", HARMFUL)
def test_texts_do_no_harm(text: str) -> None:
    document = sketch(
        [compute("a", repr(text.replace("\n", " ").replace("\t", " ").replace("\x00", ""))), end({"value": text})],
        "start a end", n={"type": "integer", "description": text}, m={"enum": [text, "b"]},
    )  # fmt: skip
    document |= {"name": text or "x", "description": text}
    assert agree(document, [{"n": 1, "m": text}]) == [text]


def ruff() -> str:
    found = shutil.which("ruff") or str(Path(sys.executable).with_name("ruff"))
    if not Path(found).exists():
        pytest.skip("ruff is not installed")
    return found


LONG = "name == 'a text that is quite long' or name == 'another text' and name != 'the third of the texts' or not name"


def peculiar() -> Iterator[Document]:
    """Workflows with long lines and every kind of node."""
    yield sketch(
        [condition("c", LONG),
         call("x", "same", value={"object": {f"field number {n}": {"value": "word " * n} for n in range(9)}}),
         each("m", {"value": list(range(40))}, "a_rather_long_name_of_an_item",
              {"list": [{"var": "a_rather_long_name_of_an_item"}] * 3}, where="a_rather_long_name_of_an_item > 3"),
         {"id": "ask", "kind": "llm", "prompt": "What of " + "{x} and " * 9, "args": {"x": {"var": "x"}},
          "output": "said"},
         {"id": "ask2", "kind": "llm", "prompt": "What of {x}", "args": {"x": {"var": "x", "path": ["a"]}},
          "output": "said"},
         compute("y", f"[{LONG}, {LONG}]"), compute("s", "said[1:len(said) - 1] + said[:2] + said[::2]"),
         end({"list": [{"var": "m"}, {"var": "y"}, {"var": "s"}]}), end({"value": -1.5}, "other")],
        "start c.true x m ask ask2 y s end", "c.false other",
        name="string", level={"enum": ["a", "b"]}, wide={"enum": [f"option number {n}" for n in range(9)]},
    )  # fmt: skip
    for seed in range(30):
        yield Maker(Random(seed), seed % 2 == 1).document()


@pytest.mark.parametrize("nests", [True, False], ids=["nested", "as states"])
def test_the_code_passes_ruff_and_is_formatted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nests: bool) -> None:
    if not nests:
        monkeypatch.setattr(python, "readable", lambda workflow: None)
    for number, document in enumerate(peculiar()):
        workflow = Workflow.model_validate(document)
        for strict in (False, True):
            text = to_python(workflow, {**SPECS, **SANDBOX.specs}, strict=strict).text
            (tmp_path / f"flow_{number}_{strict}.py").write_text(text, encoding="utf-8")
    # The random expressions compare constants, and variables with themselves; a prompt stays a constant text.
    assert_ruff(tmp_path, "check", "--ignore", "PLR0124,PLR0133,UP032")
    assert_ruff(tmp_path, "format", "--check", "--diff")


def assert_ruff(folder: Path, *words: str) -> None:
    command = [ruff(), words[0], "--isolated", "--no-cache", *words[1:], str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
