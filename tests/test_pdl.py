"""PDL: what is written reads back as a workflow that does the same; what cannot be read is refused by its line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from long_tables import one_in
from reference_interpreter import Document, call, compute, condition, each, end, sketch
from test_random_workflows import SOURCES, SPECS, Maker, cases

from flowmind.base.errors import InputError
from flowmind.formats.pdl_document import read_pdl, write_pdl
from flowmind.formats.pdl_reader import from_pdl
from flowmind.formats.pdl_types import read_type, write_type
from flowmind.formats.pdl_writer import to_pdl
from flowmind.llm.testing import ScriptedChat
from flowmind.run.running import Ran, arun, run, run_batch, run_many
from flowmind.trace.events import Trace
from flowmind.workflow.checking import check
from flowmind.workflow.document import Workflow
from flowmind.workflow.nesting import nested
from flowmind.workflow.preconditions import preconditions
from tools_registry.sandbox.environments import LocalSandbox, ToolSource
from tools_registry.specs.schema import JSONSchema

TOOLS = '''
def double(n: int) -> int:
    """Double a number.

    Args:
        n: The number.

    Returns:
        Twice the number.
    """
    return 2 * n

def total(items: list[int]) -> int:
    """Add up all numbers of a list."""
    return sum(items)

def greet(text: str, loud: bool = False) -> str:
    """Greet somebody."""
    return text.upper() if loud else text
'''
TINY = ToolSource.parse_all(TOOLS)
TINY_SPECS = {tool.spec.name: tool.spec for tool in TINY}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with LocalSandbox(SOURCES) as made:
        yield made


@pytest.fixture(scope="module")
def tiny() -> Iterator[LocalSandbox]:
    with LocalSandbox(TINY) as made:
        yield made


def workflow(document: Document) -> Workflow:
    return Workflow.model_validate(document)


def outcome(ran: Ran | Trace) -> tuple[Any, str | None]:
    return ran.answer, ran.error and ran.error.type


def assert_same(one: Workflow, other: Workflow, inputs: list[Document], sandbox: LocalSandbox) -> None:
    ours, theirs = (run_many(made, inputs, sandbox, budget=3_000) for made in (one, other))
    for mine, its in zip(map(outcome, ours), map(outcome, theirs), strict=True):
        assert mine == its or "step_limit" in (mine[1], its[1])


# Written and read back


@pytest.mark.parametrize("chunk", one_in(2, range(4)))
def test_random_workflows_do_the_same_after_a_round_trip(sandbox: LocalSandbox, chunk: int) -> None:
    for seed in range(16 * chunk, 16 * chunk + 16):
        rng = Random(seed)
        first = workflow(Maker(rng, loops_in_forks=seed % 2 == 1).document())
        text, fidelity = to_pdl(first, SPECS)
        second = from_pdl(text)
        assert check(second, SPECS) == [], f"seed {seed}"
        assert (second.name, second.inputs) == (first.name, first.inputs)
        assert_same(first, second, cases(rng), sandbox)
        assert write_pdl(read_pdl(text)) == text
        assert set(fidelity.kept).isdisjoint(note.part for note in fidelity.approximated)
        assert fidelity.lost == ()
        again = to_pdl(second, SPECS).text
        assert read_pdl(again).procedure.count("\n") == read_pdl(text).procedure.count("\n")


def tangled() -> Document:
    """A graph without a nested form: two chains of conditions that cross at every level."""
    nodes: list[Document] = []
    paths = ["start c0"]
    for level in range(24):
        nodes += [condition(f"c{level}", f"n > {level}"), condition(f"d{level}", f"n < {level}")]
        paths += [f"c{level}.{arm} {low}{level + 1}" for arm, low in (("true", "c"), ("false", "d")) if level < 23]
        paths += [f"d{level}.{arm} {low}{level + 1}" for arm, low in (("true", "d"), ("false", "c")) if level < 23]
    paths += ["c23.true one", "c23.false two", "d23.true one", "d23.false n1 two", "c0.false d1"]
    nodes = [node for node in nodes if node["id"] != "d0"]
    paths = [path for path in paths if not path.startswith("d0.")]
    ends = [compute("n1", "n + 1"), end({"value": 1}, "one"), end({"value": 2}, "two")]
    return sketch([*nodes, *ends], *dict.fromkeys(paths), n="integer")


def test_a_graph_without_a_nested_form_becomes_steps_and_jumps(sandbox: LocalSandbox) -> None:
    first = workflow(tangled())
    assert nested(first) is None
    text, fidelity = to_pdl(first, SPECS)
    assert fidelity.exact
    assert "  step c1:\n  if n > 1:\n      goto c2\n  goto d2\n" in text
    assert_same(first, from_pdl(text), [{"n": n} for n in range(-2, 30)], sandbox)


def test_every_random_workflow_can_be_jumps(sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flowmind.formats.pdl_writer.readable", lambda _: None)
    for seed in range(30):
        rng = Random(seed)
        first = workflow(Maker(rng, True).document())
        second = from_pdl(to_pdl(first, SPECS).text)
        assert check(second, SPECS) == []
        assert_same(first, second, cases(rng), sandbox)


EVENS = sketch(
    [
        call("twice", "double", n="n"),
        condition("big", "twice > 10"),
        call("sum", "total", items={"list": [{"var": "n"}, {"var": "twice"}]}),
        end({"object": {"sum": {"var": "sum"}}}, "large"),
        end({"value": 0}, "small"),
    ],
    "start twice big.true sum large", "big.false small",
    n={"type": "integer", "description": "A number: any."},
) | {"name": "sum_if_big", "description": "Adds, if that is worth it."}  # fmt: skip
EVENS_PDL = """\
Name: sum_if_big
Desc: Adds, if that is worth it.
Desc_detail: Needs n; calls double and total.
SLOTs:
- name: n
  desc: "A number: any."
  type: integer
  source: input
- name: twice
  desc: Twice the number.
  type: integer
  source: API.double
- name: sum
  type: integer
  source: API.total
Other_inputs: allowed
APIs:
- name: double
  desc: Double a number.
  request: [n]
  response: [twice]
  precondition: []
- name: total
  desc: Add up all numbers of a list.
  request: [items]
  response: [sum]
  precondition: [double]
ANSWERs:
- name: large
  desc: The answer is sum $sum.
  precondition: [total]
- name: small
  desc: The answer is 0.
  precondition: [double]
Procedure: |
  [twice] = API.double(n=n)
  if twice > 10:
      [sum] = API.total(items=[n, twice])
      ANSWER.large({sum: sum})
  else:
      ANSWER.small(0)
"""


def test_a_document() -> None:
    text, fidelity = to_pdl(workflow(EVENS), TINY_SPECS)
    assert text == EVENS_PDL
    assert fidelity.exact
    assert set(fidelity.kept) >= {"inputs", "twice", "big", "big -> sum (true)"}


def test_a_document_is_a_record() -> None:
    pdl = read_pdl(EVENS_PDL)
    assert [(api.name, api.request, api.precondition) for api in pdl.apis] == [
        ("double", ("n",), ()),
        ("total", ("items",), ("double",)),
    ]
    assert [(answer.name, answer.precondition) for answer in pdl.answers] == [
        ("large", ("total",)),
        ("small", ("double",)),
    ]
    assert [slot.source for slot in pdl.slots] == [("input",), ("API.double",), ("API.total",)]
    assert pdl.procedure.splitlines()[0] == "[twice] = API.double(n=n)"
    assert (pdl.procedure_line, EVENS_PDL.splitlines()[pdl.procedure_line - 1][2:7]) == (36, "[twic")


def test_the_tools_that_are_not_known_are_written_with_what_the_calls_say() -> None:
    pdl = read_pdl(to_pdl(workflow(EVENS), {}).text)
    assert [(api.name, api.desc, api.request) for api in pdl.apis] == [
        ("double", "", ("n",)),
        ("total", "", ("items",)),
    ]


LOOPS = sketch(
    [
        compute("i", "0"),
        condition("more", "i < n"),
        condition("odd", "i % 2 == 1"),
        compute("skip", "i + 1", "i"),
        condition("found", "i * i == n"),
        end("i", "hit"),
        compute("next", "i + 1", "i"),
        end({"value": None}, "none"),
    ],
    "start i more.true odd.true skip more:30", "odd.false found.true hit", "found.false next more:40",
    "more.false none", n="integer",
)  # fmt: skip


def test_each_way_into_the_next_round_keeps_its_bound(sandbox: LocalSandbox) -> None:
    text, fidelity = to_pdl(workflow(LOOPS), {})
    assert (
        read_pdl(text).procedure
        == "\n".join(
            [
                "i = 0",
                "while i < n:",
                "    if i % 2 == 1:",
                "        i = i + 1",
                "        continue, at most 30 rounds",
                "    if i * i == n:",
                "        ANSWER.hit(i)",
                "    i = i + 1",
                "    continue, at most 40 rounds",
                "ANSWER.none(null)",
            ]
        )
        or "else" in text
    )
    assert fidelity.exact
    again = from_pdl(text)
    assert sorted(edge.bound for edge in again.edges if edge.bound) == [30, 40]
    assert_same(workflow(LOOPS), again, [{"n": n} for n in (-1, 0, 4, 15, 16, 60, 61, 62, 63, 90, 6400)], sandbox)


def test_a_bound_that_all_ways_share_stands_behind_the_while() -> None:
    document = sketch(
        [compute("i", "0"), compute("j", "i + 1", "i"), condition("more", "i < n"), end("i")],
        "start i j more.true j:7", "more.false end", n="integer",
    )  # fmt: skip
    text = to_pdl(workflow(document), {}).text
    assert "  while true, at most 7 rounds:\n      i = i + 1\n      if not (i < n):\n          break\n" in text
    assert [edge.bound for edge in from_pdl(text).edges if edge.bound] == [7]


def test_a_map_survives(tiny: LocalSandbox) -> None:
    body = (call("m", "double", n="x"), compute("k", "m + n"), compute("k2", "k * 2", "k"))
    collect = {"object": {"of": {"var": "x"}, "k": {"var": "k"}}}
    document = sketch(
        [each("rows", {"list": [{"var": "n"}, {"value": 5}]}, "x", collect, *body, where="x > 2"), end("rows")],
        "start rows end", n="integer",
    )  # fmt: skip
    text, fidelity = to_pdl(workflow(document), TINY_SPECS)
    assert fidelity.exact
    assert read_pdl(text).procedure == "\n".join(
        [
            "for each x in [n, 5] where x > 2:",
            "    [m] = API.double(n=x)",
            "    k = m + n",
            "    k = k * 2",
            "    collect {of: x, k: k} into rows",
            "ANSWER.end(rows)",
        ]
    )
    second = from_pdl(text)
    assert check(second, TINY_SPECS) == []
    assert_same(workflow(document), second, [{"n": n} for n in (0, 3)], tiny)


def test_a_question_to_the_model_survives(tiny: LocalSandbox) -> None:
    ask = {
        "id": "ask",
        "kind": "llm",
        "prompt": 'Is {n} "much"?\n# yes?',
        "args": {"n": {"var": "n"}},
        "output": "said",
    }
    bare = {"id": "bare", "kind": "llm", "prompt": "Well?", "output": "more"}
    document = sketch([ask, bare, end({"list": [{"var": "said"}, {"var": "more"}]})], "start ask bare end", n="integer")
    first = workflow(document)
    second = from_pdl(to_pdl(first, {}).text)
    assert [node.model_dump(exclude={"id"}) for node in second.nodes] == [
        node.model_dump(exclude={"id"}) for node in first.nodes
    ]
    model = ScriptedChat(["no", "well"])
    trace = asyncio.run(arun(second, {"n": 3}, tiny, model))
    assert trace.answer == ["no", "well"]


def test_forked_paths_stand_one_after_the_other_and_this_is_told(tiny: LocalSandbox) -> None:
    document = sketch(
        [call("a", "double", n="n"), call("b", "double", n=5), call("c", "total", items={"list": [{"var": "a"}]}),
         end({"list": [{"var": "b"}, {"var": "c"}]})],
        "start a c end", "start b end", n="integer",
    )  # fmt: skip
    text, fidelity = to_pdl(workflow(document), TINY_SPECS)
    assert [(note.part, note.note[:18]) for note in fidelity.approximated] == [("start", "its forked paths s")]
    assert read_pdl(text).procedure.splitlines()[:3] == [
        "[a] = API.double(n=n)",
        "[c] = API.total(items=[a])",
        "[b] = API.double(n=5)",
    ]
    assert_same(workflow(document), from_pdl(text), [{"n": 2}], tiny)


def test_what_is_copied_is_told() -> None:
    document = sketch(
        [condition("a", "n > 0"), condition("b", "n > 1"), compute("x", "1", "r"), compute("y", "2", "r"), end("r")],
        "start a.true b.true x end", "b.false y end", "a.false y", n="integer",
    )  # fmt: skip
    fidelity = to_pdl(workflow(document), {}).fidelity
    assert [(note.part, note.note) for note in fidelity.approximated] == [
        ("y", "stands 2 times, once on each way that leads to it")
    ]


@pytest.mark.parametrize(
    ("node", "line"),
    [
        ({"expr": "n"}, "x = n"),
        ({"expr": "rows[0]"}, "x = (rows[0])"),
        ({"expr": "[n, 1]"}, "x = ([n, 1])"),
        ({"expr": "{n: 1}"}, "x = ({n: 1})"),
        ({"expr": "any(v for v in rows)"}, "x = any(v for v in rows)"),
        ({"expr": "'it\\'s # 1'"}, "x = 'it\\'s # 1'"),
        ({"expr": '"a\\tb"'}, 'x = "a\\tb"'),
        ({"expr": '"\\x41"'}, 'x = "\\x41"'),
        ({"expr": " n + 1 "}, "x = n + 1"),
        ({"value": {"value": {"a b": [1, None, True], "t": "x # y"}}}, 'x = {"a b":[1,null,true],"t":"x # y"}'),
        ({"value": {"object": {"n": {"var": "n"}, "a b": {"value": 1}}}}, 'x = {n: n, "a b": 1}'),
        ({"value": {"var": "rows", "path": [0, "a", "b c", -1]}}, 'x = rows[0].a["b c"][-1]'),
    ],
)
def test_bindings_and_expressions_stay_what_they_are(node: Document, line: str) -> None:
    assign = {"id": "x", "kind": "assign", **node, "output": "x"}
    first = workflow(sketch([assign, end("x")], "start x end", n="string", rows="array"))
    text = to_pdl(first, {}).text
    assert read_pdl(text).procedure.splitlines()[0] == line
    (made,) = [one for one in from_pdl(text).nodes if one.kind == "assign"]
    said = made.model_dump(exclude={"id"}, exclude_defaults=True)
    wanted = first.nodes[1].model_dump(exclude={"id"}, exclude_defaults=True)
    if line == "x = n":
        assert said["value"] == {"var": "n"}
    elif line == "x = n + 1":
        assert said["expr"] == "n + 1"
    elif line == 'x = "a\\tb"':
        assert said["value"] == {"value": "a\tb"}
    else:
        assert said == wanted


INPUTS: list[JSONSchema] = [
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {"a": {}, "b": {"type": "integer", "minimum": 1}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"description": "x"}}, "required": ["a"], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"enum": ["x # y", "b"]}}, "additionalProperties": {"type": "integer"}},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "string"}}},
    {"type": "object", "properties": {"a": {"type": ["string", "null"], "default": None}}, "required": []},
    {"type": "object", "properties": {"if": {"type": "array", "items": {"type": "object"}}}, "required": ["if"]},
]


@pytest.mark.parametrize("inputs", INPUTS)
def test_the_schema_of_the_inputs_survives(inputs: JSONSchema) -> None:
    first = workflow(sketch([end({"value": 1})], "start end") | {"inputs": inputs})
    second = from_pdl(to_pdl(first, {}).text)
    assert {"required": [], **second.inputs} == {"required": [], **inputs}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "integer"}, "integer"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "list[string | null]"),
        ({"type": "array"}, "list"),
        ({"type": "object", "additionalProperties": {"type": "array", "items": {}}}, "object of list[any]"),
        ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, "list[integer] | null"),
        (
            {"type": "object", "properties": {"a": {"type": "number"}, "b c": {}}, "required": ["a"]},
            '{a: number, "b c"?: any}',
        ),
        ({"type": "integer", "maximum": 3}, '{"type":"integer","maximum":3}'),
        ({"type": ["array", "string"]}, "list | string"),
        ({"const": 3}, '{"const":3}'),
    ],
)
def test_types_are_short_where_that_says_all(schema: JSONSchema, text: str) -> None:
    assert write_type(schema) == text
    assert read_type(text) == schema


def test_names_that_would_read_as_something_else_are_refused() -> None:
    odd = sketch([compute("x", "1", "null"), end({"value": 1})], "start x end")
    with pytest.raises(InputError, match="named 'null' would be read as a constant"):
        to_pdl(workflow(odd), {})
    with pytest.raises(InputError, match="x: the tool 'a tool' cannot be written"):
        to_pdl(workflow(sketch([call("x", "a tool"), end("x")], "start x end")), {})
    with pytest.raises(InputError, match="x: the argument 'a-b' cannot be written"):
        to_pdl(workflow(sketch([call("x", "t", **{"a-b": 1}), end("x")], "start x end")), {})


def test_variables_may_be_called_like_words_of_the_language(tiny: LocalSandbox) -> None:
    names = ["if", "while", "for", "API", "ANSWER", "LLM", "step", "goto", "collect", "into", "where", "pass", "else"]
    nodes = [call(f"x{place}", "double", name, n="n") for place, name in enumerate(names)]
    collect = {"list": [{"var": "in"}, {"var": "into"}]}
    answer = {"list": [{"var": name} for name in names] + [{"var": "each"}]}
    document = sketch(
        [*nodes, each("each", {"list": [{"var": "where"}]}, "in", collect), end(answer)],
        f"start {' '.join(node['id'] for node in nodes)} each end", n="integer",
    )  # fmt: skip
    second = from_pdl(to_pdl(workflow(document), TINY_SPECS).text)
    assert_same(workflow(document), second, [{"n": 4}], tiny)


# Preconditions


def test_preconditions_are_the_nearest_calls_that_no_run_can_leave_out() -> None:
    document = sketch(
        [call("a", "ta"), condition("c", "a > 0"), call("b", "tb"), call("b2", "tb"), call("d", "td"),
         condition("e", "d > 0"), call("f", "tf"), end("d")],
        "start a c.true b d e.true f end", "c.false b2 d", "e.false end",
    )  # fmt: skip
    assert preconditions(workflow(document)) == {
        "ta": (), "tb": ("ta",), "td": ("tb",), "tf": ("td",), "ANSWER.end": ("td",)
    }  # fmt: skip


def test_all_paths_of_a_fork_come_before_its_join_and_none_before_another() -> None:
    document = sketch(
        [call("a", "ta"), call("b", "tb"), call("c", "tc"), call("d", "td"), end("d")],
        "start a b d end", "a c d",
    )  # fmt: skip
    assert preconditions(workflow(document)) == {
        "ta": (), "tb": ("ta",), "tc": ("ta",), "td": ("tb", "tc"), "ANSWER.end": ("td",)
    }  # fmt: skip


def test_a_map_may_have_no_element_so_its_calls_precede_each_other_only() -> None:
    document = sketch(
        [each("m", "xs", "x", "p", call("p", "tp"), call("q", "tq")), call("r", "tr"), end("r")],
        "start m r end", xs="array",
    )  # fmt: skip
    assert preconditions(workflow(document)) == {"tp": (), "tq": ("tp",), "tr": (), "ANSWER.end": ("tr",)}


# Written by hand

BY_HAND = """\
# How much somebody gets.
Name: by hand
Detailed_desc: "More: here."

Slots:
  - name: n
    type: int
  - name: rows     # one a day
    desc: "the days: all"
    type: list[{price: number, kind?: str}]
  - name: out
    source: procedure

APIs:
  - name: double
    request: [n]
    pre: []
  - name: total
    desc: 'adds: it''s a sum'
    request: [items]
    pre: ['double']

Procedure: |

    count=0   # so far
    best   =  null
    [ twice ] = API.double( [n] )
    prices = []
    for price in rows if price['price'] > 2 and True:
        cents = price['price'] * 100   # "exact"
        collect {value: cents,
                 of: price} into prices
    while true :
        count = count + 1
        if count > 20: # enough
            break
        elif count == twice:
            pass
        elif count % 2 == 0 or false:
            continue
        else :
            best = count
            if not (best < 5): break_ = 1
    ANSWER.done([best, prices])
"""


def test_a_document_written_by_hand(tiny: LocalSandbox) -> None:
    with pytest.raises(InputError) as caught:
        from_pdl(BY_HAND)
    assert str(caught.value) == ("line 43: 'if' begins a block: end the line with ':', and indent what follows")
    second = from_pdl(BY_HAND.replace("if not (best < 5): break_ = 1", "if not (best < 5):\n              break"))
    assert check(second, TINY_SPECS) == []
    rows = [{"price": 1}, {"price": 3, "kind": "x"}]
    trace = run(second, {"n": 4, "rows": rows}, tiny)
    assert trace.answer == [5, [{"value": 300, "of": rows[1]}]]
    assert run(second, {"n": 4}, tiny).error is not None


INNER = "  while n % 3 != 0, at most 2 rounds:\n    n = n + 1\n"
AGAIN = "while n % 3 != 0, at most 2 rounds:\n  n = n + 1\n"
DEEP = "      n = 5\n    n = n + 1\n    if n % 2 == 0:\n      break\n  n = n + 10\n  if n > 20:\n    break\n"


@pytest.mark.parametrize(
    ("procedure", "answers"),
    [
        ("while n>0:\n  n=n - 1\nANSWER.a(n)", {3: 0, -2: -2}),
        ("while not (n <= 0) , at most 5 rounds :\n    n = n - 1\nANSWER.a( n )", {3: 0, 9: "iteration_limit"}),
        (
            "while true:\n  if n < 0:\n    ANSWER.neg(-1)\n  n = n - 2\n  if n == 0:\n    break\nANSWER.a(n)",
            {4: 0, 3: -1},
        ),
        ("if n > 1:\n    ANSWER.a(1)\nif n > 0:\n    ANSWER.a(1)\nANSWER.a(2)", {2: 1, 1: 1, 0: 2}),
        ("if n in [1,\n        2]:\n  n = true\nelse:\n  pass\nANSWER.a(n)", {2: True, 3: 3}),
        (
            "if n == null or n != 3 and not (false):\n  ANSWER.a(\"#\")\nx = 'x' if n else 1\nANSWER.a(x)",
            {2: "#", 3: "x"},
        ),
        ("if not (n > 1) or (n > 5):\n  ANSWER.a(1)\nANSWER.a(0)", {1: 1, 3: 0, 6: 1}),
        ("x = not (n > 1)\nANSWER.a(x)", {1: True, 3: False}),
        ("x = 'a) b'\nif not (x == \"a) b\"):\n  ANSWER.a(1)\ny = (x.find(')') + n)\nANSWER.a(y)", {1: 2}),
        (
            "while n < 10:\n  while n % 3 != 0:\n    n = n + 1\n    if n == 8:\n      break\n  n = n + 1\nANSWER.a(n)",
            {1: 10, 7: 10},
        ),
        (f"while true:\n{INNER}  n = n + 1\n  if n > 10:\n    break\nANSWER.a(n)", {1: 13, 0: 13}),
        (f"while true:\n  while true:\n    while n == 3:\n{DEEP}ANSWER.a(n)", {1: 24, 3: 28}),
        (f"while n > 90:\n  pass\nstep a:\n{AGAIN}if n < 12:\n  n = n + 1\n  goto a\nANSWER.a(n)", {1: 12}),
        ("step top:\nn = n - 1\nif n > 0:\n    goto top, at most 3 rounds\nANSWER.a(n)", {3: 0, 5: "iteration_limit"}),
        ("goto b\nstep a:\nANSWER.a(1)\nstep b:\nif n > 0:\n    goto a\nANSWER.b(2)", {1: 1, 0: 2}),
        ("[s] = API.total(items=[n, 2])\n[s] = API.total([items])\nANSWER.a(s)", {1: "wrong"}),
    ],
)  # fmt: skip
def test_procedures_mean_what_they_say(procedure: str, answers: dict[int, Any], tiny: LocalSandbox) -> None:
    slots = "SLOTs:\n- name: n\n  type: integer\n  source: input\n- name: items\n  type: list\n  required: false\n"
    apis = "APIs:\n- name: total\n  request: [items]\n"
    text = f"Name: x\n{slots}{apis}Procedure: |\n" + "\n".join(f"  {line}" for line in procedure.split("\n"))
    made = from_pdl(text)
    if answers == {1: "wrong"}:
        assert [problem.code for problem in check(made, TINY_SPECS)] == ["undefined_variable"]
        return
    assert check(made, TINY_SPECS) == []
    found = run_batch(made, [{"n": n} for n in answers], tiny)
    assert [trace.error.type if trace.error else trace.answer for trace in found] == list(answers.values())


class Writer:
    """Random procedures that are Python as well, but for their answers."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.loops = 0

    def block(self, depth: int, looped: bool) -> None:
        for _ in range(self.rng.randint(1, 3)):
            kind = self.rng.choice(["set", "set", "if", "while", "leave", "answer"] if depth < 4 else ["set"])
            if kind == "if":
                self.choice(depth, looped)
            elif kind == "while":
                self.loop(depth)
            elif kind == "leave" and looped:
                self.emit(depth, self.rng.choice(["break", "continue"]))
                return
            elif kind == "answer" and depth:
                self.emit(depth, f"ANSWER.a({self.rng.choice(['n', 'm', '[n, m]'])})")
                return
            else:
                self.emit(depth, f"{self.rng.choice('nm')} = {self.number()}")

    def emit(self, depth: int, line: str) -> None:
        self.lines.append("  " * depth + line)

    def number(self) -> str:
        return f"({self.rng.choice('nm')} {self.rng.choice('+-*')} {self.rng.randint(1, 5)}) % 17"

    def test(self) -> str:
        plain = f"{self.rng.choice('nm')} % {self.rng.randint(2, 4)} {self.rng.choice(['==', '>', '!='])} 1"
        return self.rng.choice([plain, plain, f"not ({plain})", f"not (n > 8) or ({plain})"])

    def choice(self, depth: int, looped: bool) -> None:
        self.emit(depth, f"if {self.test()}:")
        self.block(depth + 1, looped)
        while self.rng.random() < 0.3:
            self.emit(depth, f"elif {self.test()}:")
            self.block(depth + 1, looped)
        if self.rng.random() < 0.5:
            self.emit(depth, "else:")
            self.block(depth + 1, looped)

    def loop(self, depth: int) -> None:
        self.loops += 1
        count = f"k{self.loops}"
        self.emit(depth, f"{count} = 0")
        if self.rng.random() < 0.5:
            self.emit(depth, f"while {count} < {self.rng.randint(1, 4)} and ({self.test()}):")
            self.emit(depth + 1, f"{count} = {count} + 1")
        else:
            self.emit(depth, "while True:")
            self.emit(depth + 1, f"{count} = {count} + 1")
            self.emit(depth + 1, f"if {count} > {self.rng.randint(1, 4)}:")
            self.emit(depth + 2, "break")
        self.block(depth + 1, looped=True)

    def procedure(self) -> list[str]:
        self.block(0, looped=False)
        return [*self.lines, "ANSWER.a([n, m])"]


def as_python(lines: list[str]) -> str:
    return "def procedure(n, m):\n" + "\n".join(f"  {line.replace('ANSWER.a', 'return ')}" for line in lines)


def test_a_procedure_does_what_the_same_text_does_in_python(tiny: LocalSandbox) -> None:
    slots = "SLOTs:\n- name: n\n  source: input\n- name: m\n  source: input\n"
    read = 0
    for seed in range(100):
        lines = Writer(Random(seed)).procedure()
        text = f"Name: x\n{slots}Procedure: |\n" + "".join(f"  {line}\n" for line in lines)
        try:
            made = from_pdl(text)
        except InputError as error:
            assert str(error).endswith("is never reached")
            continue
        read += 1
        assert check(made, {}) == []
        scope: dict[str, Any] = {}
        exec(as_python(lines), scope)
        inputs = [{"n": n, "m": m} for n, m in ((0, 1), (5, 5), (7, 2), (16, 3))]
        found = [trace.answer for trace in run_batch(made, inputs, tiny)]
        assert found == [scope["procedure"](**one) for one in inputs], f"seed {seed}"
        again = from_pdl(to_pdl(made, {}).text)
        assert [trace.answer for trace in run_batch(again, inputs, tiny)] == found
    assert read > 40


AT_A_CLINIC = """\
Name: book a visit
Desc: Finds a doctor, and books a visit.
Detailed_desc: If there is none: it says so.
APIs:
- name: find_doctor
request: [town, field]
response: [doctor_found]
precondition: []
- name: book
desc: Books it.
request: [doctor, day]
response: [status]
precondition: [‘find_doctor’]
ANSWERs:
- name: nobody
desc: Sorry, there is nobody in $town. Try "elsewhere", or call us.
- name: booked
desc: You are booked for $day. Anything else?
- name: ask
Procedure: |
[doctor_found] = API.find_doctor([town, field])
if doctor_found == false:
# don't give up
ANSWER.nobody()
else:
book it, with whatever the user says
"""


def test_a_free_document_is_read_as_a_record_and_refused_as_a_workflow() -> None:
    pdl = read_pdl(AT_A_CLINIC)
    assert (pdl.name, pdl.desc_detail) == ("book a visit", "If there is none: it says so.")
    assert [(api.name, api.request, api.response, api.precondition) for api in pdl.apis] == [
        ("find_doctor", ("town", "field"), ("doctor_found",), ()),
        ("book", ("doctor", "day"), ("status",), ("find_doctor",)),
    ]
    assert [answer.name for answer in pdl.answers] == ["nobody", "booked", "ask"]
    assert pdl.answers[0].desc == 'Sorry, there is nobody in $town. Try "elsewhere", or call us.'
    assert pdl.procedure.splitlines()[-1] == "book it, with whatever the user says"
    with pytest.raises(InputError, match="line 22: an indented block must follow"):
        from_pdl(AT_A_CLINIC)


# Refusals


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: the document has no 'Procedure: |'"),
        ("Nam: x", "line 1: unknown key 'Nam'; known: Name, Desc, "),
        ("hello", "line 1: expected a key such as 'Name: ' or 'APIs:', found 'hello'"),
        ("Name: a\nName: b", "line 2: 'Name' comes twice"),
        ("APIs: [a]", "line 1: items stand in the lines below, each as '- name: …'; found '[a]'"),
        ("APIs:\n  name: x", "line 2: expected an item '- name: ', found 'name: x'"),
        ("APIs:\n- desc: x\nProcedure: |\n  x", "line 2: an item needs a name: '- name: …'"),
        ("APIs:\n- name: x\n- name: x\nProcedure: |\n  x", "line 3: the name 'x' comes twice in this list"),
        ("APIs:\n- name: x\n  url: y", "line 3: expected one of the fields name, desc, request, "),
        ("APIs:\n- name: x\n  desc: y\n  desc: z", "line 4: the field 'desc' comes twice in one item"),
        ("APIs:\n- name: x\n  pre: [y z]", "line 3: expected a list of names such as [a, b], found '[y z]'"),
        ("APIs:\n- name: x\n  pre: [y]\nProcedure: |\n  x", "line 2: 'x' has the precondition 'y', but the"),
        ("Name: |x", "line 1: '|' has a meaning in YAML that is not read here"),
        ('Name: "x', "line 1: a text in double quotes is written as in JSON"),
        ("Name: 'it's'", "line 1: a quote is not closed"),
        ("\tName: x", "line 1: indent with spaces, not with tabs"),
        ("Procedure: x", "line 1: the procedure stands in the lines below 'Procedure: |'"),
        ("Procedure: |\n\n  # nothing", "line 2: the procedure is empty; it ends with ANSWER.name(…)"),
        ("Other_inputs: maybe", "line 1: 'Other_inputs' is allowed or refused, not 'maybe'"),
        ("Input_schema: {", "line 1: 'Input_schema' is a JSON Schema in one line: "),
        ("Input_schema: []", "line 1: 'Input_schema' is a JSON Schema in one line: an object"),
        ('Input_schema: {"type": "x"}\nProcedure: |\n  ANSWER.a(1)', "line 3: "),
        ("SLOTs:\n- name: a\n  required: maybe", "line 3: 'required' is true or false, not 'maybe'"),
        (
            "SLOTs:\n- name: a\n  type: integers\nProcedure: |\n  ANSWER.a(1)",
            "line 2: 'integers' is not a type; types are",
        ),
        ("SLOTs:\n- name: a\nProcedure: |\n  a = 1\n  ANSWER.a(a)", "line 2: 'a' is set by the procedure; say"),
    ],
)
def test_what_is_no_document_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        from_pdl(text)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    ("procedure", "problem"),
    [
        ("ask the user", "line 1: 'ask the user' is not a statement; statements are [x] = API.tool(…), "),
        ("x = 1", "line 1: the procedure goes on behind its last line; end it with ANSWER.name(…)"),
        ("x += 1\nANSWER.a(x)", "line 1: write x = x + …"),
        ("[a, b] = API.t()\nANSWER.a(a)", "line 1: a call gives one value: write [result] = API.tool(…), and take"),
        ("a, b = API.t()", "line 1: a call gives one value"),
        ("API.t(x=1)", "line 1: a call gives a value: write [result] = API.tool(…)"),
        ("[a] = b", "line 1: behind [a] = stands a call API.tool(…) or LLM.ask(…), found 'b'"),
        ("a = API.t(1)", "line 1: arguments are written name=value: column 11: expected a name, found '1)'"),
        ("a = API.t(x=1, x=2)", "line 1: arguments are written name=value: column 1"),
        ("a = API.t([x])", "line 1: a list in the place of arguments names parameters in the API's 'request'"),
        ("a = API.t([x, 1])", "line 1: arguments are written name=value"),
        ("a = API.t(x=True)", "line 1: write true, not True"),
        ("a = API.t(x=b + 1)", "line 1: arguments are written name=value: column 15: expected ','"),
        ("a = LLM.ask(b)", "line 1: a question is written LLM.ask("),
        ("a = LLM.ask(3)", "line 1: a question begins with its text in double quotes"),
        ("a = ANSWER.ask('x')", "line 1: a workflow cannot ask the user"),
        ("true = 1", "line 1: 'true' is a constant and cannot be set"),
        ("x = order.total + 1", "line 1: the expression 'order.total + 1': column 1: attributes are not available"),
        ("x = [b for b in c", "line 1: a bracket is opened and not closed"),
        ("x = 1)", "line 1: a bracket is closed that was not opened"),
        ('x = "a', 'line 1: a quote " is opened and not closed'),
        ("x = 1\n  y = 2", "line 2: the indentation fits no block that is open here"),
        ("if x:\n    y = 1\n  z = 2", "line 3: the indentation fits no block that is open here"),
        ("if x\n  y = 1", "line 1: 'if' begins a block: end the line with ':'"),
        ("if x:\ny = 1", "line 1: an indented block must follow; 'pass' does nothing"),
        ("if x = 1:\n  pass", "line 1: the expression 'x = 1': column "),
        ("if x:\n\ty = 1", "line 2: indent with spaces, not with tabs"),
        ("else:\n  y = 1", "line 1: there is no 'if' that this 'else' belongs to"),
        ("while x:\n  pass\nelse:\n  y = 1", "line 3: there is no 'if' that this 'else' belongs to"),
        ("break", "line 1: 'break' stands outside of a loop"),
        ("while true:\n  continue\nANSWER.a(1)", "line 2: nothing stands before this 'continue' in the loop"),
        ("while true:\n  pass\nANSWER.a(1)", "line 1: nothing is done in this loop"),
        ("while true:\n  x = 1\nANSWER.a(1)", "line 3: 'ANSWER.a(1)' is never reached"),
        ("while x, at most 0 rounds:\n  x = 1", "line 1: a bound is a number of rounds from 1 to 1000000"),
        ("ANSWER.a(1)\nx = 2", "line 2: 'x = 2' is never reached"),
        ("ANSWER.a()", "line 1: what is the answer? write ANSWER.a(value)"),
        ("ANSWER.a(x + 1)", "line 1: an answer is written ANSWER.name(value): column 12: expected ')'"),
        ("ANSWER a", "line 1: 'ANSWER a' is not a statement"),
        ("ANSWER.a", "line 1: an answer is written ANSWER.name(value), found 'ANSWER.a'"),
        ("for x in sorted(y):\n  collect x into z", "line 1: expected 'where' or ':', found '(y)'"),
        ("for x in y:\n  z = x", "line 2: 'for each' ends with a line 'collect y into ys'"),
        ("for x in y:\n  if x:\n    pass\n  collect x into z", "line 3: inside 'for each' stand no further blocks"),
        ("for x in y:\n  pass_\n  collect x into z", "line 2: inside 'for each' stand calls, assignments"),
        ("for x in y:\n  a = 1\n    b = 2\n  collect x into z", "line 3: inside 'for each' stand no further blocks"),
        ('for x in y:\n  a = LLM.ask("b")\n  collect x into z', "line 2: the model cannot be asked inside 'for each'"),
        ("for x:\n  pass", "line 1: a map is written 'for each x in list where …:'"),
        ("goto a\n", "line 1: there is no label 'a'; labels are written 'step a:'"),
        ("step a:\nx = 1\nstep a:\nANSWER.a(1)", "line 3: the label 'a' comes twice"),
        ("if x:\n  step a:\n  y = 1", "line 2: labels stand outside of blocks"),
        ("ANSWER.a(1)\nstep a:", "line 2: no statement follows the label 'a'"),
        (f"{'x' * 65} = 1\nANSWER.a(1)", "line 1: output: String should have at most 64 characters"),
        (f"x = {'[' * 90}{']' * 90}", "line 1: the expression "),
    ],
)
def test_a_procedure_that_is_not_exact_is_refused_with_its_line(procedure: str, problem: str) -> None:
    head = "Name: x\nProcedure: |\n"
    with pytest.raises(InputError) as caught:
        from_pdl(head + "\n".join(f"  {line}" for line in procedure.split("\n")))
    line, _, rest = str(caught.value).partition(": ")
    assert f"line {int(line.removeprefix('line ')) - 2}: {rest}".startswith(problem)


def test_calls_and_answers_that_the_document_does_not_list_are_refused() -> None:
    with pytest.raises(InputError, match="line 37: 'douple' is not an API of this document; APIs are double, total"):
        from_pdl(EVENS_PDL.replace("Procedure: |\n", "Procedure: |\n  x = 1\n").replace("API.double(", "API.douple("))
    with pytest.raises(InputError, match="line 41: 'tiny' is not an ANSWER of this document; ANSWERs are large, small"):
        from_pdl(EVENS_PDL.replace("ANSWER.small(", "ANSWER.tiny("))


PIECES = ["", " ", "\n", "(", ")", "[", '"', "'", ":", "=", "#", "x", "  ", ",", "-"]


def test_whatever_a_document_turns_into_by_chance_no_traceback_comes_out() -> None:
    rng = Random(7)
    texts = [EVENS_PDL, BY_HAND, to_pdl(workflow(LOOPS), {}).text]
    refused = 0
    for _ in range(1500):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text))
            cut = rng.choice([0, 0, 1, 1, 5])
            text = (
                text[:at]
                + rng.choice(["", " ", "\n", "(", ")", "[", '"', "'", ":", "=", "#", "x", "  ", ",", "-"])
                + text[at + cut :]
            )
        try:
            from_pdl(text)
        except InputError as error:
            refused += 1
            line, _, _ = str(error).partition(": ")
            assert 1 <= int(line.removeprefix("line ")) <= text.count("\n") + 1
    assert refused > 500


PUBLISHED = """\
Name: Tool library
Desc: Lends tools.
SLOTs:
- name: member
  desc: The number on the card,
    which begins with M.
APIs:
- name: find_member
  request: [member]
  precondition: none
- name: lend
  request:
    - member
    - tool
  precondition: [API_find_member, API.find_member]
ANSWERs:
- name: no such member
  desc: |-
    Sorry.
    There is no such member.
  precondition:
  - find_member
- name: lent
  precondition: ['API_lend', ANSWER_no such member]
PDL: |
  [known] = API.find_member([member])
  if somebody is known: lend it
"""


def test_documents_as_they_were_published_are_read() -> None:
    pdl = read_pdl(PUBLISHED)
    assert pdl.slots[0].desc == "The number on the card, which begins with M."
    assert [(api.name, api.request, api.precondition) for api in pdl.apis] == [
        ("find_member", ("member",), ()),
        ("lend", ("member", "tool"), ("find_member", "find_member")),
    ]
    assert [(answer.name, answer.desc, answer.precondition) for answer in pdl.answers] == [
        ("no such member", "Sorry.\nThere is no such member.", ("find_member",)),
        ("lent", "", ("lend", "no such member")),
    ]
    assert pdl.procedure.splitlines()[0] == "[known] = API.find_member([member])"
    with pytest.raises(InputError, match="line 27: "):
        from_pdl(PUBLISHED)
    bare = PUBLISHED.replace("    - ", "  - ").replace("    which", "      which")
    assert [api.request for api in read_pdl(bare).apis] == [("member",), ("member", "tool")]


def test_answers_with_spaces_survive() -> None:
    pdl = read_pdl(PUBLISHED.replace("no such member", "nobody: here"))
    again = read_pdl(write_pdl(pdl))
    assert [answer.name for answer in again.answers] == ["nobody: here", "lent"]
    with pytest.raises(InputError, match="line 23: 'lent' has the precondition 'ANSWER_no one'"):
        read_pdl(PUBLISHED.replace("ANSWER_no such member", "ANSWER_no one"))
