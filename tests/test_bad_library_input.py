"""Bad input to the library: an error of FlowMind that says what would be right, never a KeyError or AttributeError."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_inputs import TASK, asking, conversation, workflow, write_files

from flowmind import ExecuteSummarize, RunnableWorkflow, Workflow, check, summarize, tool
from flowmind.base.errors import CaseFailed, FlowMindError, InputError


@tool(effect="read")
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


GOOD = [(example["input"], example["output"]) for example in TASK["examples"]]
SOUND = Workflow.model_validate(workflow())
RUNNABLE = RunnableWorkflow(SOUND, [double])


def solver(**fields: Any) -> ExecuteSummarize:
    return ExecuteSummarize([double], **fields)


def solved(examples: Any, query: Any = "Double the number.", **fields: Any) -> Any:
    return solver().run(query, examples, **fields)


def summed(traces: Any = None, tools: Any = None, **fields: Any) -> Any:
    given: Any = conversation() if traces is None else traces
    return summarize(given, tools or [double], **fields)


def asks(**fields: Any) -> RunnableWorkflow:
    return RunnableWorkflow(Workflow.model_validate(asking()), [double], **fields)


def load(path: Any, tools: Any = (double,)) -> RunnableWorkflow:
    return RunnableWorkflow.load(path, tools)


LIST = "give a list of pairs (input, output) or of dicts with input and output"
A_TOOL = "cannot be a tool; give a function, or a tool of LangChain"
ROWS: dict[str, tuple[Callable[[], Any], str]] = {
    "no tools": (ExecuteSummarize, "tools: give functions or tool sources, or an environment"),
    "an empty list of tools": (lambda: ExecuteSummarize([]), "tools: give at least one function or tool source"),
    "a number as tools": (lambda: ExecuteSummarize(3), A_TOOL),  # type: ignore[arg-type]
    "a file name as tools": (lambda: ExecuteSummarize("tools.py"), A_TOOL),  # type: ignore[arg-type]
    "nothing as a tool": (lambda: ExecuteSummarize([None]), A_TOOL),  # type: ignore[list-item]
    "a list in a list": (lambda: ExecuteSummarize([[double]]), A_TOOL),  # type: ignore[list-item]
    "another key": (lambda: ExecuteSummarize({"x": double}), "the key 'x' has the name 'double'; use its name"),
    "one tool twice": (lambda: ExecuteSummarize([double, double]), "two tools have the name 'double'"),
    "an unknown mode": (lambda: solver(mode="es-px"), "mode 'es-px' is none of react, pe"),
    "no mode": (lambda: solver(mode=None), "mode None is none of react, pe"),
    "an unknown model": (lambda: solver(model="nobody"), "model 'nobody' is not known: set OPENAI_BASE_URL"),
    "a number as model": (lambda: solver(model=3), "model: give a name such as 'search', or a ChatModel, not int"),
    "no model": (lambda: solver(model=None), "or a ChatModel, not NoneType"),
    "a list as settings": (lambda: solver(settings=[1]), "give a Settings object or a dict of its fields, not list"),
    "an unknown setting": (lambda: solver(settings={"rollout": 2}), "did you mean rollouts?"),
    "a setting out of range": (lambda: solver(settings={"rollouts": 0}), "rollouts: Input should be greater"),
    "99 rounds": (lambda: solver(verify=99), "verify is 99; give True, or a number of rounds from 1 to 20"),
    "a text as rounds": (lambda: solver(verify="yes"), "verify is 'yes'; give True, or a number of rounds"),
    "a number that approves": (lambda: solver(approve=3), "approve: give a function of a call and its spec, not int"),
    "a number as environment": (lambda: ExecuteSummarize(environment=3), "environment: give an Environment"),  # type: ignore[arg-type]
    "no examples": (lambda: solved([]), "give at least one example"),
    "a text as examples": (lambda: solved("examples"), LIST),
    "one dict as examples": (lambda: solved({"n": 2}), LIST),
    "a number as examples": (lambda: solved(3), LIST),
    "numbers as examples": (lambda: solved([1, 2]), "example 1: document: Input should be an object; give a pair"),
    "three parts": (lambda: solved([({"n": 1}, 2, 3)]), "example 1: document: Input should be an object; give a pair"),
    "no output": (lambda: solved([{"input": {"n": 1}}]), "example 1: output: Field required; give a pair"),
    "an input that is no dict": (lambda: solved([(1, 2)]), "example 1: input: Input should be a valid dictionary"),
    "an input that is no number": (lambda: solved([({"n": float("nan")}, 2)]), "nan is not a JSON number"),
    "an object as input": (lambda: solved([({"n": object()}, 2)]), "a value of type object is not JSON"),
    "another input": (lambda: solved([*GOOD, ({"text": "a"}, 1)]), "example 3: example 1 has no input 'text'"),
    "no input": (lambda: solved([*GOOD, ({}, 1)]), "example 3: the input 'n' of example 1 is missing"),
    "a name with a space": (lambda: solved([({"my n": 1}, 2)]), "input 'my n' cannot be a variable"),
    "a number as a name": (lambda: solved([({3: 1}, 2)]), "input '3' cannot be a variable"),
    "no query": (lambda: solved(GOOD, None), "query: give the task in words, not NoneType"),
    "bytes as query": (lambda: solved(GOOD, b"Double"), "query: give the task in words, not bytes"),
    "a text as schema": (lambda: solved(GOOD, inputs="n"), "inputs: Input should be a valid dictionary"),
    "an unknown type": (lambda: solved(GOOD, inputs={"type": "strin"}), "type 'strin' is none of array"),
    "a schema of a list": (lambda: solved(GOOD, inputs={"type": "array"}), "example 1 of 'double_number' does not fit"),
    "no trace": (lambda: summed([]), "give at least one trace"),
    "a number as traces": (lambda: summed(3), "traces: give a list of traces or conversations, or a file, not int"),
    "numbers as traces": (lambda: summed([1]), "trace 1: it is no trace and no conversation; give a trace"),
    "an empty conversation": (lambda: summed([[]]), "trace 1: no message is an assistant's"),
    "a missing file": (lambda: summed("missing.json"), "missing.json: no such file"),
    "a folder": (lambda: summed(Path("a_folder")), "a_folder: Is a directory"),
    "a cut conversation": (lambda: summed("cut_talk.json"), "give conversations that end with the assistant's answer"),
    "messages that are none": (lambda: summed({"messages": [3]}), "trace 1: message 1: it is not an object, but int"),
    "calls that are none": (
        lambda: summed({"messages": [{"role": "assistant", "tool_calls": [3]}]}), "a call in it names no function"
    ),
    "inputs that are none": (lambda: summed({**conversation(), "inputs": 3}), "its inputs are integer, not an object"),
    "events that are none": (lambda: summed({"events": 3, "stop": "finish"}), "trace 1: events: Input should be"),
    "other tools": (lambda: summed(tools=[print]), "tool 'print'"),
    "a bad definition": (lambda: summed(tools=[{"name": 3}]), "tool 1: it has no name"),
    "an unknown model for traces": (lambda: summed(model="nobody"), "model 'nobody' is not known"),
    "a number as examples of traces": (lambda: summed(examples=3), LIST),
    "other inputs than the traces": (lambda: summed(examples=[({"m": 3}, 4)]), "example 1 has no input 'm'; it has n"),
    "a number as query": (lambda: summed(query=3), "query: give the task in words, not int"),
    "a path as name": (lambda: summed(name="../x"), "id: String should match pattern"),
    "a number as environment of traces": (lambda: summed(environment=3), "environment: give an Environment"),
    "a missing workflow": (lambda: load("missing.json"), "missing.json: no such file"),
    "a number as file": (lambda: load(3), "path: give the name of a file, not int"),
    "a name with a NUL": (lambda: load("a\0b"), "embedded null byte"),
    "a workflow that is cut": (lambda: load("cut.json"), "cut.json: Expecting ',' delimiter: line 1"),
    "a workflow with a NaN": (lambda: load("nan.json"), "nan.json: NaN is not JSON"),
    "a workflow that is not sound": (lambda: load("unsound.json"), "this node has no out-edge; add an edge"),
    "a workflow without its tools": (lambda: load("good.json", []), "give at least one function or tool source"),
    "a dict as workflow": (lambda: RunnableWorkflow(workflow(), [double]), "workflow: give a Workflow, not dict"),  # type: ignore[arg-type]
    "a name as workflow": (lambda: check("good.json", [double]), "workflow: give a Workflow, not str"),  # type: ignore[arg-type]
    "a number as tools of check": (lambda: check(SOUND, 3), A_TOOL),
    "a text as inputs": (lambda: RUNNABLE("x"), "inputs: give a mapping or keywords, not str"),  # type: ignore[arg-type]
    "a number as cases": (lambda: RUNNABLE.batch(3), "cases: give a list of inputs, not int"),  # type: ignore[arg-type]
    "numbers as cases": (lambda: RUNNABLE.batch([3]), "inputs: give a mapping or keywords, not int"),  # type: ignore[list-item]
    "a folder as file": (lambda: RUNNABLE.save("a_folder"), "a_folder: Is a directory"),
    "a file in a file": (lambda: RUNNABLE.save("a_file/x"), "a_file/x: "),
    "tools of a graph": (lambda: RUNNABLE.to_langgraph(3), A_TOOL),  # type: ignore[arg-type]
    "no model of a graph": (lambda: asks().to_langgraph(), "give `llm`, which answers a prompt with text"),
    "a number as llm": (lambda: asks().to_langgraph(llm=3), "llm: give a function of a prompt, not int"),  # type: ignore[arg-type]
    "no model of a node": (lambda: asks()({"n": 1}), "the workflow has llm nodes: a model is needed"),
    "a number as model of a node": (lambda: asks(model=3), "model: give a ChatModel, not int"),
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    write_files(folder)
    return folder


@pytest.mark.parametrize(("call", "error"), ROWS.values(), ids=ROWS)
def test_bad_input_raises_an_error_in_one_line(
    call: Callable[[], Any], error: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    for name in [name for name in os.environ if name.startswith(("FLOWMIND_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    with pytest.raises(FlowMindError) as caught:
        call()
    assert not isinstance(caught.value, CaseFailed)
    assert error in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("inputs", [{}, {"m": 1}, {"n": "x"}, {"n": float("nan")}, {"n": object()}, {3: 1}])
def test_inputs_that_do_not_fit_fail_the_case(inputs: Any) -> None:
    with pytest.raises(CaseFailed, match="invalid_input"):
        RUNNABLE(inputs)


def test_an_input_error_is_no_failure_of_a_case() -> None:
    assert not issubclass(InputError, CaseFailed)
