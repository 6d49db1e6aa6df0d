"""Runs a workflow on inputs, through a sandbox, without a language model (but for `llm` nodes), to a `Trace`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from flowmind.checking import check
from flowmind.errors import InvalidWorkflow
from flowmind.executor.compiler import compile_workflow, needs_model
from flowmind.protocols import ChatModel, ChatRequest, Message
from flowmind.trace import AssignStep, ConditionStep, FailedStep, ModelStep, Step, ToolStep, Trace
from flowmind.workflow import Assign, Condition, LLMNode, Map, Workflow
from tools_registry.program import Outcome, Program, StepError, failed, load
from tools_registry.runtime import CaseError, clean, copy_json
from tools_registry.sandbox import DEFAULT_BUDGET, FunctionSandbox, Sandbox
from tools_registry.schema import validator
from tools_registry.spec import Observation, ToolCall, ToolError, ToolSpec


def require_sound(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> None:
    """Refuses a workflow that does not pass `check`.

    Raises:
        InvalidWorkflow: With all problems.
    """
    if problems := check(workflow, specs):
        raise InvalidWorkflow("; ".join(str(problem) for problem in problems))


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
    require_sound(workflow, sandbox.specs)
    if needs_waiting(workflow, sandbox):
        raise InvalidWorkflow("the workflow has llm nodes or async tools: run it with `arun`")
    program = compile_workflow(workflow)
    refused = [_refused(workflow, inputs) for inputs in cases]
    sound = [clean(inputs) for inputs, problem in zip(cases, refused, strict=True) if problem is None]
    ran = zip(sound, sandbox.run(program, sound, budget), strict=True)
    return [problem if problem is not None else _trace(workflow, program, *next(ran)) for problem in refused]


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
    require_sound(workflow, sandbox.specs)
    if needs_model(workflow) and model is None:
        raise InvalidWorkflow("the workflow has llm nodes: a model is needed to run it")
    if (problem := _refused(workflow, inputs)) is not None:
        return problem
    program = compile_workflow(workflow, asynchronous=True)
    inputs = clean(inputs)
    steps: list[list[Any]] = []
    scope = load(program.source, program.constants)
    scope.__globals__["llm"] = _asker(model)
    tools = [_caller(sandbox, name) for name in program.tools]

    def log(step: Sequence[Any]) -> None:
        steps.append(list(step))

    try:
        outcome = Outcome(await scope(inputs, tools, budget, log), None, steps)
    except StepError as stop:
        outcome = failed(stop, steps)
    return _trace(workflow, program, inputs, outcome)


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


def _refused(workflow: Workflow, inputs: dict[str, Any]) -> Trace | None:
    """The trace of a case whose inputs do not fit the workflow."""
    try:
        problem = validator(workflow.inputs)(clean(inputs))
    except CaseError as error:
        problem = error.message
    if problem is None:
        return None
    return Trace(inputs={}, stop="error", error=ToolError(type="invalid_input", message=problem))


def _trace(workflow: Workflow, program: Program, inputs: dict[str, Any], outcome: Outcome) -> Trace:
    error = ToolError(type=outcome.error[0], message=outcome.error[1]) if outcome.error else None
    last = len(outcome.steps) - 1 if error else -1
    steps = tuple(
        _step(
            workflow,
            program.labels[cast(int, number)],
            copy_json(args),
            copy_json(value),
            error if index == last else None,
        )
        for index, (number, args, value) in enumerate(outcome.steps)
    )
    stop = "error" if error else "finish"
    return Trace(inputs=copy_json(inputs), steps=steps, stop=stop, answer=outcome.answer, error=error)


def _step(workflow: Workflow, label: str, args: dict[str, Any] | None, value: Any, error: ToolError | None) -> Step:
    node = workflow.by_id.get(label)
    if node is None:
        outer, _, inner = label.partition(".")
        holder = workflow.by_id[outer]
        assert isinstance(holder, Map)
        node = next(step for step in holder.body if step.id == inner)
    if error is not None and args is None:
        return FailedStep(node=label, error=error)
    if isinstance(node, Condition):
        return ConditionStep(node=label, expr=node.expr, value=value)
    if isinstance(node, Assign | Map):
        return AssignStep(node=label, output=node.output, value=value)
    if isinstance(node, LLMNode):
        return ModelStep(node=label, prompt=node.prompt.format(**(args or {})), value=value or "")
    name = getattr(node, "tool", "")
    observation = Observation(value=value) if error is None else Observation(error=error)
    return ToolStep(node=label, call=ToolCall(tool=name, args=args or {}), observation=observation)
