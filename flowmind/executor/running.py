"""Runs a workflow on inputs, through a sandbox, without a language model (but for `llm` nodes), to a `Trace`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from flowmind.checking import check
from flowmind.errors import InvalidWorkflow
from flowmind.executor.compiler import compile_workflow, needs_model
from flowmind.protocols import ChatModel, ChatRequest, Message
from flowmind.trace import Trace
from flowmind.workflow import Assign, Condition, LLMNode, Map, Node, ToolNode, Workflow
from tools_registry.program import Outcome, Program, StepError, failed, load
from tools_registry.runtime import CaseError, clean, copy_json
from tools_registry.sandbox import DEFAULT_BUDGET, FunctionSandbox, LocalSandbox, Sandbox
from tools_registry.schema import Validator, validator
from tools_registry.spec import ToolCall, ToolError, ToolSpec


def require_sound(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> None:
    """Refuses a workflow that does not pass `check`.

    Raises:
        InvalidWorkflow: With all problems.
    """
    if problems := check(workflow, specs):
        raise InvalidWorkflow("; ".join(str(problem) for problem in problems))


_SOUND: WeakKeyDictionary[Sandbox, set[str]] = WeakKeyDictionary()
"""The documents that are known to be sound, for each sandbox: checking one takes longer than running it."""


def _require_sound(workflow: Workflow, sandbox: Sandbox) -> None:
    known = _SOUND.setdefault(sandbox, set())
    if workflow.document not in known:
        require_sound(workflow, sandbox.specs)
        if len(known) >= 1_000:
            known.clear()
        known.add(workflow.document)


def run(workflow: Workflow, inputs: dict[str, Any], sandbox: Sandbox, budget: int = DEFAULT_BUDGET) -> Trace:
    """Runs a workflow on one case. Equal inputs give an equal trace.

    Raises:
        InvalidWorkflow: If the workflow does not pass `check`, or needs `arun`.
    """
    return run_batch(workflow, [inputs], sandbox, budget)[0]


def run_batch(
    workflow: Workflow, cases: Sequence[dict[str, Any]], sandbox: Sandbox, budget: int = DEFAULT_BUDGET
) -> list[Trace]:
    """Runs a workflow on several cases in one round trip; an error of a case is in its trace.

    Raises:
        InvalidWorkflow: If the workflow does not pass `check`, or needs `arun`.
    """
    _require_sound(workflow, sandbox)
    if needs_waiting(workflow, sandbox):
        raise InvalidWorkflow("the workflow has llm nodes or async tools: run it with `arun`")
    program = compile_workflow(workflow)
    fits = validator(workflow.inputs)
    admitted = [_admitted(fits, inputs) for inputs in cases]
    sound = [inputs for inputs in admitted if not isinstance(inputs, Trace)]
    ran = zip(sound, sandbox.run(program, sound, budget), strict=True)
    own = not isinstance(sandbox, LocalSandbox)
    return [case if isinstance(case, Trace) else _trace(workflow, program, *next(ran), own) for case in admitted]


async def arun(
    workflow: Workflow,
    inputs: dict[str, Any],
    sandbox: Sandbox,
    model: ChatModel | None = None,
    budget: int = DEFAULT_BUDGET,
) -> Trace:
    """Runs a workflow whose tools are async or that asks a model; the others too.

    Raises:
        InvalidWorkflow: If the workflow does not pass `check`, or has `llm` nodes and there is no model.
    """
    _require_sound(workflow, sandbox)
    if needs_model(workflow) and model is None:
        raise InvalidWorkflow("the workflow has llm nodes: a model is needed to run it")
    admitted = _admitted(validator(workflow.inputs), inputs)
    if isinstance(admitted, Trace):
        return admitted
    program = compile_workflow(workflow, asynchronous=True)
    steps: list[list[Any]] = []
    scope = load(program.source, program.constants)
    scope.__globals__["llm"] = _asker(model)
    tools = [_caller(sandbox, name) for name in program.tools]

    def log(step: Sequence[Any]) -> None:
        steps.append(list(step))

    try:
        outcome = Outcome(await scope(admitted, tools, budget, log), None, steps)
    except StepError as stop:
        outcome = failed(stop, steps)
    return _trace(workflow, program, admitted, outcome, own=True)


def needs_waiting(workflow: Workflow, sandbox: Sandbox) -> bool:
    """Whether a workflow can only be run by `arun`."""
    awaited = sandbox.awaited if isinstance(sandbox, FunctionSandbox) else frozenset[str]()
    return needs_model(workflow) or bool(awaited & set(compile_workflow(workflow, asynchronous=True).tools))


def _caller(sandbox: Sandbox, name: str) -> Callable[[dict[str, Any]], Awaitable[Any]]:
    async def call(args: dict[str, Any]) -> Any:
        observation = await sandbox.call(ToolCall(tool=name, args=args))
        if observation.error is not None:
            raise CaseError(observation.error.type, observation.error.message)
        return observation.value

    return call


def _asker(model: ChatModel | None) -> Callable[[str, dict[str, Any]], Awaitable[str]]:
    async def ask(prompt: str, args: dict[str, Any]) -> str:
        assert model is not None
        content = prompt.format(**args)
        reply = await model.complete(ChatRequest(messages=(Message(role="user", content=content),)))
        return reply.text

    return ask


def _admitted(fits: Validator, inputs: dict[str, Any]) -> dict[str, Any] | Trace:
    """The inputs of a case as JSON values, or its trace, if they do not fit the workflow."""
    cleaned: dict[str, Any] = {}
    try:
        cleaned = clean(inputs)
        problem = fits(cleaned)
    except CaseError as error:
        problem = error.message
    if problem is None:
        return cleaned
    return Trace(inputs={}, stop="error", error=ToolError(type="invalid_input", message=problem))


def _trace(workflow: Workflow, program: Program, inputs: dict[str, Any], outcome: Outcome, own: bool) -> Trace:
    """The trace of an outcome. All its records are made in one validation, which costs a tenth of one for each.

    Args:
        workflow, program, inputs: What was run, on what.
        outcome: What came of it.
        own: The values are those that tools of this process hold, too, and must be copied.
    """
    error = {"type": outcome.error[0], "message": outcome.error[1]} if outcome.error else None
    last = len(outcome.steps) - 1 if error else -1
    copy = copy_json if own else _same
    nodes: list[tuple[Any, str]] = [(_node(workflow, label), label) for label in program.labels]
    steps: list[dict[str, Any]] = []
    for index, (number, args, value) in enumerate(outcome.steps):
        node, label = nodes[int(number)]
        steps.append(_step(node, label, copy(args), copy(value), error if index == last else None))
    stop = "error" if error else "finish"
    made: dict[str, Any] = {
        "inputs": copy_json(inputs),
        "steps": steps,
        "stop": stop,
        "answer": outcome.answer,
        "error": error,
    }
    return Trace.model_validate(made)


def _same(value: Any) -> Any:
    return value


def _node(workflow: Workflow, label: str) -> Node | ToolNode:
    """The node of a label; in a map's body the step of `map.step`."""
    node = workflow.by_id.get(label)
    if node is None:
        outer, _, inner = label.partition(".")
        holder = workflow.by_id[outer]
        assert isinstance(holder, Map)
        node = next(step for step in holder.body if step.id == inner)
    return node


def _step(node: Any, label: str, args: dict[str, Any] | None, value: Any, error: Any) -> dict[str, Any]:
    """A step as a value that a `Step` is read from."""
    if error is not None and args is None:
        return {"kind": "failed", "node": label, "error": error}
    if isinstance(node, Condition):
        return {"kind": "condition", "node": label, "expr": node.expr, "value": value}
    if isinstance(node, Assign | Map):
        return {"kind": "assign", "node": label, "output": node.output, "value": value}
    if isinstance(node, LLMNode):
        prompt = node.prompt.format(**(args or {}))
        return {"kind": "llm", "node": label, "prompt": prompt, "value": value or ""}
    call = {"tool": node.tool, "args": args or {}}
    return {
        "kind": "tool",
        "node": label,
        "call": call,
        "observation": {"value": None if error else value, "error": error},
    }
