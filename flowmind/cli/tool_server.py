"""Serves the operations of an OpenAPI document that `to_openapi` wrote: a workflow's tools, the nodes that Arazzo
cannot compute, and what carries variables to where several ways meet. Of a run only the latter are kept.

The server listens on this machine alone, and answers only requests that say so in `Host` and bring JSON, which a page
in a browser cannot send across.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from urllib.parse import unquote

from pydantic import ValidationError

from flowmind.base.errors import FlowMindError, InputError
from flowmind.base.files import dump_json, parse_json
from flowmind.formats.openapi import to_openapi, tools_of
from flowmind.protocols import ChatModel
from flowmind.run.running import arun, needs_waiting, run
from flowmind.workflow.checking import node_reads
from flowmind.workflow.document import Condition, Edge, End, Literal_, Node, Start, Var, Workflow
from tools_registry.sandbox.environment import Environment
from tools_registry.specs.schema import JSONSchema, SchemaError, Validator, validator
from tools_registry.specs.spec import Record, ToolCall
from tools_registry.specs.values import CaseError, clean

R = TypeVar("R", bound=Record)
HOST = "127.0.0.1"
MAX_RUNS = 10_000
MAX_BODY = 10_000_000
"""Bytes of a request."""
_ANYTHING: JSONSchema = {}


class Refused(Exception):
    """A request that gets no result."""

    def __init__(self, status: int, type: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.type = type


class Operations:
    """What the server can be asked to do, as functions of the body of a request.

    Args:
        workflow: A workflow that passes `check`.
        sandbox: The tools.
        model: For `llm` nodes.
    """

    def __init__(self, workflow: Workflow, sandbox: Environment, model: ChatModel | None = None) -> None:
        self.workflow = workflow
        self.sandbox = sandbox
        self.model = model
        self.runs = Runs()
        self.alone = {node.id: _alone(node) for node in workflow.nodes if not isinstance(node, Start)}
        self.fits = validator(workflow.inputs)
        self.results = {name: _promise(sandbox.specs[name].returns) for name in tools_of(workflow)}

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What a request gives.

        Raises:
            Refused: If it fails, or there is no such operation.
        """
        match path.removeprefix("/").split("/"):
            case ["tools", name]:
                return {"result": self.called(unquote(name), body)}
            case ["nodes", name]:
                return {"result": self.computed(unquote(name), body)}
            case ["flow", "start"]:
                return self.started(body)
            case ["flow", "hand-over"]:
                self.runs.hand_over(_read(HandOver, body))
                return {}
            case ["flow", "take-up"]:
                return {"values": self.runs.take_up(_read(TakeUp, body))}
            case ["flow", "answer"] if "answer" in body:
                return {"result": body["answer"]}
            case ["flow", "stop"]:
                raise Refused(422, "no_way_on", "no way leads on from here")
            case _:
                raise Refused(404, "not_found", f"there is no operation {path!r}, or its body is another one")

    def called(self, tool: str, args: dict[str, Any]) -> Any:
        """The result of a tool. One that does not fit what the tool promises fails: a reader may go by the promise."""
        if tool not in self.results:
            raise Refused(404, "unknown_tool", f"the workflow calls no tool {tool!r}")
        observation = asyncio.run(self.sandbox.call(ToolCall(tool=tool, args=args)))
        if observation.error is not None:
            raise Refused(422, observation.error.type, observation.error.message)
        if (problem := self.results[tool](observation.value)) is not None:
            raise Refused(500, "bad_result", f"{tool} did not give what it promises: {problem}")
        return observation.value

    def computed(self, name: str, values: dict[str, Any]) -> Any:
        """What a node gives for the variables it reads: the value that it sets, whether it holds, or the answer."""
        alone = self.alone.get(name)
        if alone is None:
            raise Refused(404, "not_found", f"there is no node {name!r} to compute")
        try:
            if needs_waiting(alone, self.sandbox):
                trace = asyncio.run(arun(alone, values, self.sandbox, self.model))
            else:
                trace = run(alone, values, self.sandbox)
        except FlowMindError as error:
            raise Refused(501, "not_possible", str(error)) from None
        if trace.error is not None:
            raise Refused(422, trace.error.type, trace.error.message)
        return trace.answer

    def started(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Begins a run, if the inputs fit, which are given back."""
        if (problem := self.fits(inputs)) is not None:
            raise Refused(422, "invalid_input", problem)
        return {"run": self.runs.begin(), "inputs": inputs}


def _promise(schema: JSONSchema) -> Validator:
    """The check of a tool's results; none if its schema is outside the subset that is checked here."""
    try:
        return validator(schema)
    except SchemaError:
        return lambda _: None


def _read(kind: type[R], body: dict[str, Any]) -> R:
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        raise Refused(422, "invalid_arguments", f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _alone(node: Node) -> Workflow:
    """A workflow that computes one node; its inputs are the variables that the node reads."""
    names = sorted(node_reads(node))
    inputs: JSONSchema = {"type": "object", "properties": dict.fromkeys(names, _ANYTHING), "required": names}
    begin, done, other = [name for name in ("begin", "done", "not_done", "ahead") if name != node.id][:3]
    edges = [Edge.model_validate({"from": begin, "to": node.id})]
    if isinstance(node, End):
        return Workflow(inputs=inputs, nodes=(Start(id=begin), node), edges=tuple(edges))
    if isinstance(node, Condition):
        edges += [
            Edge.model_validate({"from": node.id, "to": target, "when": when})
            for target, when in ((done, True), (other, False))
        ]
        ends = (End(id=done, output=Literal_(value=True)), End(id=other, output=Literal_(value=False)))
        return Workflow(inputs=inputs, nodes=(Start(id=begin), node, *ends), edges=tuple(edges))
    assert not isinstance(node, Start)
    edges.append(Edge.model_validate({"from": node.id, "to": done}))
    end = End(id=done, output=Var(var=node.output))
    return Workflow(inputs=inputs, nodes=(Start(id=begin), node, end), edges=tuple(edges))


class Again(Record):
    """The next round of a loop begins."""

    loop: str
    bound: int


class HandOver(Record):
    """What a run hands over from one step to another."""

    run: str
    values: dict[str, Any]
    """The variables that are needed from there on."""
    again: Again | None = None
    afresh: tuple[str, ...] = ()
    """Loops that count from zero."""


class TakeUp(Record):
    """Asks for what was handed over last."""

    run: str


class _Run:
    """What is kept of a run."""

    def __init__(self) -> None:
        self.values: dict[str, Any] | None = None
        self.rounds: dict[str, int] = {}


class Runs:
    """The runs that are under way, the youngest ones."""

    def __init__(self, size: int = MAX_RUNS) -> None:
        self.size = size
        self._runs: dict[str, _Run] = {}
        self._lock = threading.Lock()

    def begin(self) -> str:
        """The name of a new run; the oldest is forgotten if there are too many."""
        name = secrets.token_hex(8)
        with self._lock:
            self._runs[name] = _Run()
            if len(self._runs) > self.size:
                del self._runs[next(iter(self._runs))]
        return name

    def hand_over(self, body: HandOver) -> None:
        """Keeps variables of a run, and counts the rounds of its loops.

        Raises:
            Refused: If a loop has had all its rounds, or there is no such run.
        """
        run = self._run(body.run)
        if body.again is not None:
            loop, bound = body.again.loop, body.again.bound
            run.rounds[loop] = run.rounds.get(loop, 0) + 1
            if run.rounds[loop] > bound:
                raise Refused(422, "iteration_limit", f"the loop {loop} ran more than {bound} rounds")
        for loop in body.afresh:
            run.rounds.pop(loop, None)
        run.values = body.values

    def take_up(self, body: TakeUp) -> dict[str, Any]:
        """The variables of a run that were handed over last, once.

        Raises:
            Refused: If there are none, or there is no such run.
        """
        run = self._run(body.run)
        if run.values is None:
            raise Refused(422, "nothing_there", "no step has handed anything over")
        values, run.values = run.values, None
        return values

    def _run(self, name: str) -> _Run:
        with self._lock:
            run = self._runs.get(name)
        if run is None:
            raise Refused(422, "unknown_run", f"there is no run {name!r}, or it has been forgotten")
        return run


class ToolServer:
    """Serves the operations of a workflow until it is closed; a context manager.

    Args:
        workflow: A workflow that passes `check`.
        sandbox: The tools.
        model: For `llm` nodes.
        port: Of 127.0.0.1; 0 takes a free one.

    Raises:
        InputError: If the port is taken.
    """

    def __init__(self, workflow: Workflow, sandbox: Environment, model: ChatModel | None = None, port: int = 0) -> None:
        self.operations = Operations(workflow, sandbox, model)
        self.workflow = workflow
        try:
            self._server = ThreadingHTTPServer((HOST, port), _Handler)
        except OSError as error:
            raise InputError(f"port {port} of {HOST} cannot be used: {error.strerror or error}") from None
        self._server.daemon_threads = True
        cast(Any, self._server).ours = self
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where the server is: `http://127.0.0.1:8017`."""
        return f"http://{HOST}:{self._server.server_port}"

    @cached_property
    def document(self) -> str:
        """The OpenAPI document, with this server's address."""
        return to_openapi(self.workflow, self.operations.sandbox.specs, self.url).text

    def serve(self) -> None:
        """Serves in this thread until it is interrupted."""
        self._server.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        """Stops serving."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        ours: ToolServer = cast(Any, self.server).ours
        if self.path == "/openapi.json":
            self.reply(200, ours.document)
        else:
            self.fail(Refused(404, "not_found", "GET /openapi.json, or POST to an operation"))

    def do_POST(self) -> None:
        ours: ToolServer = cast(Any, self.server).ours
        try:
            self.reply(200, dump_json(ours.operations.answer(self.path, self.body())))
        except Refused as refused:
            self.fail(refused)

    def body(self) -> dict[str, Any]:
        """The JSON object that a request brings."""
        if (self.headers.get("Host") or "").rpartition(":")[0] not in (HOST, "localhost"):
            raise Refused(403, "refused", f"this server is {HOST} only")
        if self.headers.get_content_type() != "application/json":
            raise Refused(415, "refused", "the body must be application/json")
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            raise Refused(413, "too_large", f"a body of at most {MAX_BODY} bytes, with its Content-Length")
        try:
            value = clean(parse_json(self.rfile.read(int(length)).decode() or "{}"))
        except (ValueError, CaseError) as error:
            raise Refused(400, "bad_json", str(error)) from None
        if not isinstance(value, dict):
            raise Refused(400, "bad_json", "the body must be an object")
        return cast(dict[str, Any], value)

    def fail(self, refused: Refused) -> None:
        self.reply(refused.status, dump_json({"error": refused.type, "message": str(refused)}))

    def reply(self, status: int, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """A workflow's calls are in its runner's own log."""
