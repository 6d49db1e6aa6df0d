"""Arazzo descriptions and OpenAPI documents of workflows: read strictly, they do what a run of the workflow does."""

from __future__ import annotations

import http.client
import json
import logging
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from test_random_workflows import SOURCES, SPECS, Maker, cases

from flowmind.base.errors import InputError
from flowmind.cli.tool_server import MAX_BODY, Operations, Refused, Runs, TakeUp, ToolServer
from flowmind.formats.arazzo import START, to_arazzo, workflow_id
from flowmind.formats.openapi import to_openapi
from flowmind.llm.testing import ScriptedChat
from flowmind.run.running import run
from flowmind.workflow.document import Workflow
from tools_registry.sandbox.environments import LocalSandbox, ToolSource
from tools_registry.specs.schema import json_equal

Document = dict[str, Any]
Call = Callable[[str, Any], tuple[int, Any]]
"""A path and a body to a status and an answer."""

TOOLS = '''
def mean(numbers: list[float]) -> float:
    """The mean."""
    return sum(numbers) / len(numbers)

def evens(numbers: list[int]) -> list[int]:
    """The even ones."""
    return [number for number in numbers if number % 2 == 0]

def greet(name: str, loud: bool = False) -> dict:
    """Greets."""
    return {"text": name.upper() if loud else name, "parts": [name, [len(name)]], "0": "zero"}

def shout(text: str) -> str:
    """Shouts."""
    return text + "!"

def same(value):
    """Gives it back."""
    return value

def lies() -> int:
    """Promises a number."""
    return "no number"
'''
NUMBERS = {"numbers": {"type": "array", "items": {"type": "integer"}}}
INTEGER, TEXT = {"type": "integer"}, {"type": "string"}


def workflow(inputs: Document, nodes: list[Document], edges: list[str], bound: int | None = None) -> Workflow:
    """A workflow; edges are written `a>b`, `a+b` (true), `a~b` (false) and `a<b` (back, with the bound)."""
    made: list[Document] = []
    for edge in edges:
        source, sign, target = re.split(r"([>+<~])", edge)
        arm = {"when": sign == "+"} if sign in "+~" else {}
        made.append({"from": source, "to": target, **arm, **({"bound": bound} if sign == "<" and bound else {})})
    schema = {"type": "object", "properties": inputs, "required": list(inputs)}
    start = {"id": "start", "kind": "start"}
    return Workflow.model_validate({"name": "a test", "inputs": schema, "nodes": [start, *nodes], "edges": made})


def tool(id: str, name: str, output: str, /, **args: Document) -> Document:
    return {"id": id, "kind": "tool", "tool": name, "args": args, "output": output}


def end(id: str, output: Document) -> Document:
    return {"id": id, "kind": "end", "output": output}


def var(name: str, *path: str | int) -> Document:
    return {"var": name, "path": list(path)} if path else {"var": name}


LINE = workflow(
    {"name": TEXT},
    [
        tool("hello", "greet", "greeting", name=var("name"), loud={"value": True}),
        tool("call-out", "shout", "result", text=var("greeting", "text")),
        end("end", var("result")),
    ],
    ["start>hello", "hello>call-out", "call-out>end"],
)
BRANCH = workflow(
    NUMBERS,
    [
        tool("evens", "evens", "even", numbers=var("numbers")),
        {"id": "any", "kind": "condition", "expr": "len(even) > 0"},
        tool("mean", "mean", "result", numbers=var("even")),
        {"id": "zero", "kind": "assign", "value": {"value": 0}, "output": "result"},
        end("end", {"object": {"result": var("result"), "of": var("even")}}),
    ],
    ["start>evens", "evens>any", "any+mean", "any~zero", "mean>end", "zero>end"],
)
LIMITS = workflow(
    {"n": INTEGER, "m": INTEGER, "on": {"type": "boolean"}},
    [
        {"id": "check", "kind": "condition", "expr": "not (n > 3 and m <= 1) or not on"},
        {"id": "twice", "kind": "condition", "expr": "0 < n < m"},
        end("a", {"list": [var("n"), {"value": "a"}]}),
        end("b", {"value": {"b": None}}),
        end("c", var("m")),
    ],
    ["start>check", "check+twice", "check~c", "twice+a", "twice~b"],
)
LOOP = workflow(
    {"n": INTEGER},
    [
        {"id": "zero", "kind": "assign", "value": {"value": 0}, "output": "i"},
        {"id": "none", "kind": "assign", "value": {"value": []}, "output": "seen"},
        {"id": "more", "kind": "condition", "expr": "i < n"},
        {"id": "odd", "kind": "condition", "expr": "i % 2 == 1"},
        {"id": "keep", "kind": "assign", "expr": "seen + [i]", "output": "seen"},
        {"id": "next", "kind": "assign", "expr": "i + 1", "output": "i"},
        end("end", var("seen")),
    ],
    ["start>zero", "zero>none", "none>more", "more+odd", "odd+keep", "odd~next", "keep>next", "next<more", "more~end"],
    bound=5,
)
MAP = workflow(
    NUMBERS,
    [
        {
            "id": "each", "kind": "map", "over": var("numbers"), "item": "x", "where": "x > 0", "output": "means",
            "body": [tool("m", "mean", "y", numbers={"list": [var("x"), {"value": 0}]})], "collect": var("y"),
        },
        end("end", var("means")),
    ],
    ["start>each", "each>end"],
)  # fmt: skip
FORK = workflow(
    {"name": TEXT, "n": INTEGER},
    [
        tool("one", "shout", "a", text=var("name")),
        {"id": "two", "kind": "assign", "expr": "n * n", "output": "b"},
        tool("both", "same", "c", value={"object": {"a": var("a"), "b": var("b")}}),
        end("end", var("c")),
    ],
    ["start>one", "start>two", "one>both", "two>both", "both>end"],
)
PATHS = workflow(
    {"name": TEXT, "list": {"type": "array", "items": TEXT}},
    [
        tool("hello", "greet", "greeting", name=var("list", 1)),
        tool("dollar", "same", "price", value={"value": "$5 {$inputs.name}"}),
        tool("deep", "same", "deep", value=var("greeting", "parts", 1, 0)),
        tool("last", "shout", "last", text=var("list", -1)),
        end("end", {"list": [var("price"), var("deep"), var("last"), var("greeting", "0")]}),
    ],
    ["start>hello", "hello>dollar", "dollar>deep", "deep>last", "last>end"],
)
MADE: dict[str, tuple[Workflow, list[Document]]] = {
    "line": (LINE, [{"name": "Ann"}, {"name": ""}, {"name": 3}, {}]),
    "branch": (BRANCH, [{"numbers": numbers} for numbers in ([1, 2, 4], [1], [], ["x"])]),
    "limits": (LIMITS, [{"n": n, "m": m, "on": on} for n in (-2, 1, 4) for m in (-1, 2, 9) for on in (True, False)]),
    "loop": (LOOP, [{"n": n} for n in (-1, 0, 1, 4, 5, 6)]),
    "map": (MAP, [{"numbers": numbers} for numbers in ([2, -1, 5], [])]),
    "fork": (FORK, [{"name": "x", "n": 4}]),
    "paths": (PATHS, [{"name": "n", "list": part} for part in (["a", "b", "c"], ["a"], [])]),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LocalSandbox]:
    with LocalSandbox(ToolSource.parse_all(TOOLS)) as made:
        yield made


@pytest.fixture(scope="module")
def random_sandbox() -> Iterator[LocalSandbox]:
    with LocalSandbox(SOURCES) as made:
        yield made


class FailedRun(Exception):
    """A workflow of a description ended in failure."""


class Reader:
    """Runs a description to the letter: an expression that names nothing is an error."""

    def __init__(self, description: str, openapi: str, call: Call) -> None:
        (self.workflow,) = json.loads(description)["workflows"]
        self.steps: list[Document] = self.workflow["steps"]
        self.place = {step["stepId"]: index for index, step in enumerate(self.steps)}
        paths: Document = json.loads(openapi)["paths"]
        self.paths = {item["post"]["operationId"]: path for path, item in paths.items()}
        self.call = call

    def run(self, inputs: Document) -> Any:
        known: Document = {f"$inputs.{name}": value for name, value in inputs.items()}
        at: int | None = 0
        while at is not None:
            at = self.step(self.steps[at], known)
        return known[self.workflow["outputs"]["answer"]]

    def step(self, step: Document, known: Document) -> int | None:
        body = self.filled(step["requestBody"]["payload"], known)
        status, answer = self.call(self.paths[step["operationId"]], body)
        if status != 200:
            raise FailedRun(answer)
        for name, source in step.get("outputs", {}).items():
            known[f"$steps.{step['stepId']}.outputs.{name}"] = self.found(answer, source)
        for action in step.get("onSuccess", [{"type": "goto", "stepId": None}]):
            if all(self.met(criterion["condition"], known) for criterion in action.get("criteria", ())):
                if action["type"] == "end":
                    return None
                return self.place[step["stepId"]] + 1 if action["stepId"] is None else self.place[action["stepId"]]
        raise AssertionError("no action applies")

    def found(self, answer: Any, source: str) -> Any:
        begin, pointer = source.split("#/")
        assert begin == "$response.body"
        for part in pointer.split("/"):
            try:
                answer = answer[int(part)] if isinstance(answer, list) else answer[part.replace("~1", "/")]
            except (LookupError, TypeError, ValueError):
                return None
        return answer

    def filled(self, payload: Any, known: Document) -> Any:
        match payload:
            case str() if payload.startswith("$"):
                if payload not in known:
                    raise FailedRun(f"{payload} names nothing")
                return known[payload]
            case list():
                return [self.filled(part, known) for part in payload]
            case dict():
                return {name: self.filled(part, known) for name, part in payload.items()}
            case _:
                return payload

    def met(self, condition: str, known: Document) -> bool:
        text = re.sub(r"\$[\w.]+", lambda match: repr(known[match[0]]), condition)
        for sign, word in (("&&", "and"), ("||", "or"), ("true", "True"), ("false", "False")):
            text = text.replace(sign, word)
        return eval(text)


def over_http(server: ToolServer) -> Call:
    def call(path: str, body: Any) -> tuple[int, Any]:
        return post(server, path, json.dumps(body).encode())

    return call


def post(server: ToolServer, path: str, body: bytes, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json"} | headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def directly(operations: Operations) -> Call:
    def call(path: str, body: Any) -> tuple[int, Any]:
        try:
            return 200, json.loads(json.dumps(operations.answer(path, body)))
        except Refused as refused:
            return refused.status, str(refused)

    return call


def read(reader: Reader, inputs: Document) -> tuple[str, Any]:
    try:
        return "answer", reader.run(inputs)
    except FailedRun:
        return "failed", None


def ran(made: Workflow, inputs: Document, sandbox: LocalSandbox) -> tuple[str, Any]:
    trace = run(made, inputs, sandbox)
    return ("failed", None) if trace.error else ("answer", trace.answer)


@pytest.mark.parametrize("name", MADE)
def test_read_to_the_letter_over_http_a_description_does_what_the_workflow_does(
    name: str, sandbox: LocalSandbox
) -> None:
    made, inputs = MADE[name]
    with ToolServer(made, sandbox) as server:
        reader = Reader(to_arazzo(made, sandbox.specs).text, server.document, over_http(server))
        outcomes = [read(reader, case) for case in inputs]
    assert outcomes == [ran(made, case, sandbox) for case in inputs]
    assert "answer" in {kind for kind, _ in outcomes}


@pytest.mark.parametrize("chunk", range(4))
def test_random_workflows_with_loops_forks_and_joins_do_the_same_as_descriptions(
    random_sandbox: LocalSandbox, chunk: int
) -> None:
    for seed in range(8 * chunk, 8 * chunk + 8):
        rng = Random(seed)
        made = Workflow.model_validate(Maker(rng, seed % 2 == 0).document())
        operations = Operations(made, random_sandbox)
        openapi = to_openapi(made, SPECS).text
        reader = Reader(to_arazzo(made, SPECS).text, openapi, directly(operations))
        for case in cases(rng)[:2]:
            ours, theirs = ran(made, case, random_sandbox), read(reader, case)
            assert ours[0] == theirs[0] and json_equal(ours[1], theirs[1]), f"seed {seed}, {case}"


def expressions_in(value: Any) -> list[str]:
    match value:
        case str():
            return re.findall(r"\$(?:steps|inputs)\.[\w.-]+", value)
        case list():
            return [found for part in value for found in expressions_in(part)]
        case dict():
            return [found for part in value.values() for found in expressions_in(part)]
        case _:
            return []


def schemas_of(openapi: Document) -> Iterator[Document]:
    for item in openapi["paths"].values():
        yield item["post"]["requestBody"]["content"]["application/json"]["schema"]
        yield from (answer["content"]["application/json"]["schema"] for answer in item["post"]["responses"].values())
    yield from openapi["components"]["schemas"].values()


@lru_cache
def documents() -> list[tuple[Workflow, Document, Document]]:
    specs = {tool.spec.name: tool.spec for tool in ToolSource.parse_all(TOOLS)} | SPECS
    made = [workflow for workflow, _ in MADE.values()]
    made += [Workflow.model_validate(Maker(Random(seed), True).document()) for seed in range(8)]
    return [(one, json.loads(to_arazzo(one, specs).text), json.loads(to_openapi(one, specs).text)) for one in made]


def test_every_name_in_the_documents_names_something() -> None:
    for made, arazzo, openapi in documents():
        (written,) = arazzo["workflows"]
        steps = written["steps"]
        ids = [step["stepId"] for step in steps]
        assert len(set(ids)) == len(ids)
        operations = {item["post"]["operationId"]: item["post"] for item in openapi["paths"].values()}
        assert {step["operationId"] for step in steps} <= operations.keys()
        outputs = {f"$steps.{step['stepId']}.outputs.{name}" for step in steps for name in step.get("outputs", ())}
        named = set(expressions_in(written))
        assert named <= outputs | {f"$inputs.{name}" for name in made.input_names}
        for step in steps:
            body = operations[step["operationId"]]["requestBody"]["content"]["application/json"]["schema"]
            assert set(step["requestBody"]["payload"]) <= set(body.get("properties", ()))
            assert {action["stepId"] for action in step.get("onSuccess", ()) if "stepId" in action} <= set(ids)
            assert step["successCriteria"] == [{"condition": "$statusCode == 200"}]


def test_a_step_that_may_go_two_ways_goes_to_the_failing_step_if_neither_is_meant() -> None:
    for _, arazzo, _ in documents():
        for step in arazzo["workflows"][0]["steps"]:
            actions = step.get("onSuccess", [])
            if any("criteria" in action for action in actions):
                assert actions[-1] == {"name": "to_stop", "type": "goto", "stepId": "stop"}


def test_the_schemas_of_the_openapi_document_are_json_schemas_whose_references_lead_somewhere() -> None:
    seen: set[str] = set()
    for _, _, openapi in documents():
        for text in {json.dumps(schema) for schema in schemas_of(openapi)} - seen:
            Draft202012Validator.check_schema(json.loads(text))
            seen.add(text)
        assert "$defs" not in json.dumps(openapi)
        for name in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(openapi)):
            assert name in openapi["components"]["schemas"]


def test_the_openapi_document_is_valid_to_its_specification() -> None:
    validator = pytest.importorskip("openapi_spec_validator", reason="openapi-spec-validator is not installed")
    for _, _, openapi in documents():
        validator.validate(openapi)


def test_calls_are_plain_and_what_arazzo_cannot_do_is_said(sandbox: LocalSandbox) -> None:
    assert to_arazzo(LINE, sandbox.specs).fidelity.exact
    limits = to_arazzo(LIMITS, sandbox.specs).fidelity
    assert {"check", "twice"} <= set(limits.kept)
    loop = to_arazzo(LOOP, sandbox.specs).fidelity
    assert loop.kept == ("start", "zero", "none", "end")
    assert {note.part for note in loop.approximated} == {"more", "odd", "keep", "next", "next -> more"}
    paths = {note.part: note.note for note in to_arazzo(PATHS, sandbox.specs).fidelity.approximated}
    assert paths.keys() == {"dollar", "deep", "last", "end"}
    assert "reads as an expression" in paths["dollar"]
    assert "takes null" in paths["deep"]
    assert "from the end" in paths["last"]


def test_texts_are_not_compared_by_arazzo_which_takes_a_for_upper_case_a(sandbox: LocalSandbox) -> None:
    made = workflow(
        {"name": TEXT},
        [
            {"id": "is", "kind": "condition", "expr": "name == 'a'"},
            end("yes", {"value": 1}),
            end("no", {"value": 2}),
        ],
        ["start>is", "is+yes", "is~no"],
    )
    assert "is" in {note.part for note in to_arazzo(made, sandbox.specs).fidelity.approximated}


def test_only_a_sound_workflow_is_written(sandbox: LocalSandbox) -> None:
    broken = LINE.model_copy(update={"edges": LINE.edges[:-1]})
    with pytest.raises(InputError, match=r"passes check.*call-out"):
        to_arazzo(broken, sandbox.specs)
    with pytest.raises(InputError, match="passes check"):
        to_openapi(broken, sandbox.specs)


def test_tools_without_a_spec_are_called_with_what_needs_no_spec() -> None:
    steps = json.loads(to_arazzo(LINE, {}).text)["workflows"][0]["steps"]
    assert [step["operationId"] for step in steps] == [START, "greet", "node-call-out", "flow-stop"]


def test_references_of_tools_lead_to_the_documents_own_schemas(sandbox: LocalSandbox) -> None:
    point = {"type": "object", "properties": {"x": INTEGER, "next": {"$ref": "#/$defs/Point"}}}
    parameters = {"type": "object", "properties": {"text": {"$ref": "#/$defs/Point"}}, "$defs": {"Point": point}}
    spec = sandbox.specs["shout"].model_copy(update={"parameters": parameters})
    openapi = json.loads(to_openapi(LINE, {**sandbox.specs, "shout": spec}).text)
    body = openapi["paths"]["/tools/shout"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["properties"]["text"] == {"$ref": "#/components/schemas/shout_Point"}
    assert openapi["components"]["schemas"]["shout_Point"]["properties"]["next"] == body["properties"]["text"]


def test_a_node_that_asks_a_model_needs_a_server_with_one(sandbox: LocalSandbox) -> None:
    ask = {"id": "ask", "kind": "llm", "prompt": "Who is {who}?", "args": {"who": var("name")}, "output": "said"}
    made = workflow({"name": TEXT}, [ask, end("end", var("said"))], ["start>ask", "ask>end"])
    text = to_arazzo(made, sandbox.specs).text
    with ToolServer(made, sandbox, ScriptedChat(["a friend"])) as server:
        assert Reader(text, server.document, over_http(server)).run({"name": "Ann"}) == "a friend"
    with ToolServer(made, sandbox) as server:
        status, answer = post(server, "/nodes/ask", b'{"name": "Ann"}')
    assert (status, answer["error"]) == (501, "not_possible")


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "error"),
    [
        ("/tools/greet", b'{"name": 3}', {}, 422, "invalid_arguments"),
        ("/tools/greet", b"{}", {}, 422, "invalid_arguments"),
        ("/tools/mean", b'{"numbers": []}', {}, 404, "unknown_tool"),
        ("/tools/lies", b"{}", {}, 404, "unknown_tool"),
        ("/tools/greet", b'{"name": NaN}', {}, 400, "bad_json"),
        ("/tools/greet", b"[]", {}, 400, "bad_json"),
        ("/tools/greet", b"", {}, 422, "invalid_arguments"),
        ("/tools/greet", b"\xff", {}, 400, "bad_json"),
        ("/tools/greet", b'{"name": "x"}', {"Content-Type": "text/plain"}, 415, "refused"),
        ("/tools/greet", b'{"name": "x"}', {"Host": "example.org:80"}, 403, "refused"),
        ("/tools/greet", b"", {"Content-Length": str(MAX_BODY + 1)}, 413, "too_large"),
        ("/nodes/start", b"{}", {}, 404, "not_found"),
        ("/nodes/none", b"{}", {}, 404, "not_found"),
        ("/nodes/call-out", b"{}", {}, 422, "invalid_input"),
        ("/flow/start", b'{"name": 3}', {}, 422, "invalid_input"),
        ("/flow/take-up", b'{"run": "none"}', {}, 422, "unknown_run"),
        ("/flow/hand-over", b'{"run": 3}', {}, 422, "invalid_arguments"),
        ("/flow/answer", b"{}", {}, 404, "not_found"),
        ("/flow/stop", b"{}", {}, 422, "no_way_on"),
        ("/elsewhere", b"{}", {}, 404, "not_found"),
    ],
)
def test_what_the_server_does_not_do_is_an_error_with_a_type(
    sandbox: LocalSandbox, path: str, body: bytes, headers: dict[str, str], status: int, error: str
) -> None:
    with ToolServer(LINE, sandbox) as server:
        answer = post(server, path, body, **headers)
    assert (answer[0], answer[1]["error"]) == (status, error)


def test_a_result_that_breaks_the_tools_promise_is_no_result(sandbox: LocalSandbox) -> None:
    made = workflow({}, [tool("lie", "lies", "n"), end("end", var("n"))], ["start>lie", "lie>end"])
    with ToolServer(made, sandbox) as server:
        status, answer = post(server, "/tools/lies", b"{}")
    assert (status, answer["error"]) == (500, "bad_result")


def test_a_taken_port_is_one_line(sandbox: LocalSandbox) -> None:
    with ToolServer(LINE, sandbox) as server, pytest.raises(InputError, match="cannot be used"):
        ToolServer(LINE, sandbox, port=int(server.url.rpartition(":")[2]))


def test_runs_that_are_too_many_are_forgotten() -> None:
    runs = Runs(size=2)
    first, second, third = runs.begin(), runs.begin(), runs.begin()
    with pytest.raises(Refused, match="forgotten"):
        runs.take_up(TakeUp(run=first))
    for name in (second, third):
        with pytest.raises(Refused, match="no step has handed"):
            runs.take_up(TakeUp(run=name))


def by_runner(folder: Path, made: Workflow, sandbox: LocalSandbox, inputs: list[Document]) -> list[tuple[str, Any]]:
    """What Jentic's runner makes of a workflow's documents."""
    runner = pytest.importorskip("arazzo_runner", reason="arazzo-runner is not installed")
    logging.getLogger("arazzo-runner").setLevel(logging.CRITICAL)
    with ToolServer(made, sandbox) as server:
        (folder / "w.arazzo.json").write_text(to_arazzo(made, sandbox.specs).text, encoding="utf-8")
        (folder / "tools.openapi.json").write_text(server.document, encoding="utf-8")
        reading = runner.ArazzoRunner.from_arazzo_path(str(folder / "w.arazzo.json"))
        found = [reading.execute_workflow(workflow_id(made), case) for case in inputs]
    done = [str(result.status) == "workflow_complete" for result in found]
    return [
        ("answer", one.outputs["answer"]) if well else ("failed", None) for one, well in zip(found, done, strict=True)
    ]


# arazzo-runner 0.9.6 evaluates a value that begins with $, as one in "paths" does, once more.
@pytest.mark.parametrize("name", sorted(MADE.keys() - {"paths"}))
def test_an_independent_runner_comes_to_the_same_answers(name: str, sandbox: LocalSandbox, tmp_path: Path) -> None:
    made, inputs = MADE[name]
    assert by_runner(tmp_path, made, sandbox, inputs) == [ran(made, case, sandbox) for case in inputs]


def test_an_independent_runner_comes_to_the_same_answers_on_random_workflows(
    random_sandbox: LocalSandbox, tmp_path: Path
) -> None:
    for seed in range(4):
        rng = Random(seed)
        made = Workflow.model_validate(Maker(rng, True).document())
        inputs = cases(rng)[:2]
        assert by_runner(tmp_path, made, random_sandbox, inputs) == [ran(made, one, random_sandbox) for one in inputs]
