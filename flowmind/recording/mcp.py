"""An MCP proxy over stdio that records the calls of tools, in the form `flowmind/mcp-log@1`.

The proxy starts the server and passes every message on as it is, in both directions, so that all of MCP works through
it, in every version. It adds two tools, with which a client tells where a case begins and ends. docs/recording.md
describes the form of the log.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from types import FrameType
from typing import IO, Any, Literal, cast

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, parse_json, write_all
from flowmind.base.secrets import Redaction
from flowmind.llm.processes import end
from flowmind.recording.lines import LineFile
from flowmind.recording.replies import Fields, fields, objects

SCHEMA = "flowmind/mcp-log@1"
BEGIN, END = "begin_case", "end_case"
CASE_TOOLS: tuple[Fields, ...] = (
    {
        "name": BEGIN,
        "description": "Tells the recorder that a case begins. Call it once, before any other tool.",
        "inputSchema": {
            "type": "object",
            "properties": {"inputs": {"type": "object", "description": "The inputs of the case, by name."}},
            "required": ["inputs"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": END,
        "description": "Tells the recorder that the case ends. Call it once, after all other tools.",
        "inputSchema": {
            "type": "object",
            "properties": {"answer": {"description": "The answer of the case: any JSON value."}},
            "required": ["answer"],
        },
        "annotations": {"readOnlyHint": True},
    },
)
"""The tools that the proxy adds to those of the server."""
_STEPS = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0))
"""The signals that end a server which does not end when its standard input closes, each with seconds to wait."""
_GRACE = 2.0
"""Seconds that a server has to end after its standard input has closed."""


@dataclass
class _Open:
    """A call that waits for its result."""

    number: int
    case: str
    turn: int
    tool: str
    arguments: Fields
    began: float = field(default_factory=time.monotonic)


class Log:
    """Writes the log of one session. Its methods may be called in several threads.

    Args:
        file: Takes the lines.
        redaction: Acts on every text before it is written.
        report: Takes a line about a problem.
    """

    def __init__(self, file: LineFile, redaction: Redaction, report: Callable[[str], None]) -> None:
        self.session = uuid.uuid4().hex[:12]
        self.calls = self.cases = 0
        """The numbers of calls that were answered, and of cases that were begun."""
        self._file = file
        self._redaction = redaction
        self._report = report
        self._lock = threading.RLock()
        self._case = self.session
        self._numbers = 0
        self._turns: dict[str, int] = {}
        self._open: dict[Any, _Open] = {}
        self._server: Fields = {"name": "", "version": ""}
        self._tools: list[Fields] = []
        self._lent: list[Fields] | None = None
        """The tools as the last `session` line has them; None if there is none yet."""

    def server(self, info: Fields) -> None:
        """Notes what a server says of itself."""
        with self._lock:
            self._server = {key: str(info.get(key, "")) for key in ("name", "version")}

    def tools(self, tools: Sequence[Fields], more: bool) -> None:
        """Notes a page of the server's tools; `more` if it is not the first."""
        with self._lock:
            self._tools = [*(self._tools if more else ()), *tools]

    def begin_case(self, inputs: Fields) -> str:
        """Begins a case and returns its name."""
        with self._lock:
            self.cases += 1
            self._case = f"{self.session}-{self.cases}"
            self._write("case", {"case": self._case, "inputs": inputs})
            return self._case

    def end_case(self, answer: Any) -> bool:
        """Ends the case; False if none was begun."""
        with self._lock:
            if self._case == self.session:
                return False
            self._write("end", {"case": self._case, "answer": answer})
            self._case = self.session
            return True

    def requested(self, key: Any, tool: str, arguments: Fields) -> None:
        """Notes the request of a call; `key` is the id of the request."""
        with self._lock:
            self._numbers += 1
            waiting = [call.turn for call in self._open.values() if call.case == self._case]
            turn = max(waiting) if waiting else self._turns.get(self._case, -1) + 1
            self._turns[self._case] = turn
            self._open[key] = _Open(self._numbers, self._case, turn, tool, arguments)

    def answered(self, key: Any, result: Any = None, error: Fields | None = None) -> None:
        """Writes the line of a call."""
        with self._lock:
            call = self._open.pop(key)
            self.calls += 1
            self._write(
                "call",
                {
                    "case": call.case, "id": f"{self.session}-call-{call.number}", "number": call.number,
                    "turn": call.turn, "tool": call.tool, "arguments": call.arguments, "result": result,
                    "error": error, "seconds": round(time.monotonic() - call.began, 6),
                },
            )  # fmt: skip

    def repeated(self, key: Any) -> None:
        """Forgets a call that the server wants to be requested again, with more input."""
        with self._lock:
            if self._open.pop(key).number == self._numbers:
                self._numbers -= 1

    def waits(self, key: Any) -> bool:
        """Whether a call waits for its result."""
        with self._lock:
            return key in self._open

    def definition(self, tool: str) -> Fields:
        """The definition of a tool, as the server has listed it."""
        with self._lock:
            return next((known for known in self._tools if known.get("name") == tool), Fields())

    def tool(self, key: Any) -> str:
        """The tool of a call that waits for its result."""
        with self._lock:
            return self._open[key].tool

    def close(self) -> None:
        """Writes the lines of the calls that have no result."""
        error = {"type": "no_result", "message": "the session ended before the answer"}
        with self._lock:
            for key in list(self._open):
                self.answered(key, error=error)

    def _write(self, kind: str, row: Fields) -> None:
        """Writes a line, after the line of the session if the tools are new."""
        try:
            if self._lent != self._tools:
                head: Fields = {"schema": SCHEMA, "server": self._server, "tools": self._tools}
                self._line("session", head)
                self._lent = self._tools
            self._line(kind, row)
        except (OSError, RecursionError) as error:
            self._report(f"{self._file.path}: a line cannot be written: {getattr(error, 'strerror', None) or error}")

    def _line(self, kind: str, row: Fields) -> None:
        self._file.write({"kind": kind, "session": self.session, **self._redaction.value(row)})


class Relay:
    """Passes messages on between a client and a server, and tells a log of the calls.

    Args:
        log: The log.
        to_client: Takes the messages for the client.
        hide: Whether the tools that begin and end a case are not listed. They may be called nevertheless.
    """

    def __init__(self, log: Log, to_client: FileIO, hide: bool = False) -> None:
        self.unread = 0
        """The number of lines that are no JSON; they were passed on."""
        self._log = log
        self._to_client = to_client
        self._hide = hide
        self._listings: dict[Any, bool] = {}
        """By the id of a request for the tools whether it asks for a further page."""
        self._own = {BEGIN, END}
        self._writing = threading.Lock()

    def from_client(self, line: bytes) -> bytes | None:
        """Reads a line of the client and returns it; None if it was for the proxy, which has answered it."""
        messages = self._messages(line)
        for message in messages:
            method, id, params = message.get("method"), message.get("id"), fields(message.get("params"))
            if method == "tools/list":
                self._listings[id] = params.get("cursor") is not None
            elif method == "notifications/cancelled" and self._log.waits(params.get("requestId")):
                self._log.answered(
                    params["requestId"], error={"type": "no_result", "message": "the client cancelled it"}
                )
            elif method == "tools/call" and params.get("name") in self._own and len(messages) == 1:
                self._answer(id, *self._marked(params["name"], fields(params.get("arguments"))))
                return None
            elif method == "tools/call":
                self._log.requested(id, str(params.get("name")), fields(params.get("arguments")))
        return line

    def from_server(self, line: bytes) -> None:
        """Reads a line of the server and passes it on."""
        changed = False
        messages = self._messages(line)
        for message in messages:
            if "method" not in message and "id" in message:
                changed |= self._replied(message["id"], message)
        if changed:
            line = dump_json(messages if line.lstrip().startswith(b"[") else messages[0]).encode() + b"\n"
        self._send(line)

    def _replied(self, id: Any, message: Fields) -> bool:
        """Reads a response; returns whether it was changed, which only a list of tools is."""
        result = fields(message.get("result"))
        stamp = fields(fields(result.get("_meta")).get("io.modelcontextprotocol/serverInfo"))
        if info := fields(result.get("serverInfo")) or stamp:
            self._log.server(info)
        if id in self._listings and "result" in message:
            return self._listed(result, self._listings.pop(id))
        if self._log.waits(id):
            self._called(id, message, result)
        return False

    def _listed(self, result: Fields, more: bool) -> bool:
        tools = objects(result.get("tools"))
        self._log.tools(tools, more)
        self._own -= {tool.get("name") for tool in tools}  # the server's own tools of these names are not hidden
        if self._hide or result.get("nextCursor") is not None:
            return False
        result["tools"] = [*tools, *(tool for tool in CASE_TOOLS if tool["name"] in self._own)]
        return True

    def _called(self, id: Any, message: Fields, result: Fields) -> None:
        if "error" in message:
            text = str(fields(message["error"]).get("message", ""))
            self._log.answered(id, error={"type": "protocol_error", "message": text})
        elif result.get("resultType", "complete") == "input_required":
            self._log.repeated(id)
        elif result.get("isError") is True:
            self._log.answered(id, error={"type": "tool_error", "message": _text(result)})
        else:
            self._log.answered(id, value_of(result, self._log.definition(self._log.tool(id))))

    def _marked(self, tool: str, arguments: Fields) -> tuple[str, bool]:
        """Begins or ends a case; returns a text for the client and whether it is an error."""
        if tool == BEGIN:
            if not isinstance(inputs := arguments.get("inputs"), dict):
                return "inputs: give an object with the inputs of the case", True
            return f"case {self._log.begin_case(cast(Fields, inputs))} begins", False
        if "answer" not in arguments:
            return "answer: give the answer of the case", True
        ended = self._log.end_case(arguments["answer"])
        return ("the case ends", False) if ended else (f"no case has begun; call {BEGIN} first", True)

    def _answer(self, id: Any, text: str, error: bool) -> None:
        result: Fields = {"content": [{"type": "text", "text": text}], "isError": error, "resultType": "complete"}
        self._send(dump_json({"jsonrpc": "2.0", "id": id, "result": result}).encode() + b"\n")

    def _messages(self, line: bytes) -> list[Fields]:
        """The messages in a line, which is one, or a list of them."""
        try:
            value = parse_json(line.decode())
        except ValueError:
            self.unread += bool(line.strip())
            return []
        messages = objects(value if isinstance(value, list) else [value])
        return [message for message in messages if isinstance(message.get("id"), str | int | None)]

    def _send(self, line: bytes) -> None:
        with self._writing:
            write_all(self._to_client, line)


def value_of(result: Fields, definition: Fields) -> Any:
    """The value of a tool's result; docs/recording.md says which.

    Args:
        result: The result of `tools/call`.
        definition: The definition of the tool; empty if it is not known.
    """
    structured: Any = result.get("structuredContent")
    if structured is not None:
        properties = list(fields(fields(definition.get("outputSchema")).get("properties")))
        lone = list(fields(structured)) == ["result"] and properties in ([], ["result"])
        return structured["result"] if lone else structured
    parts = objects(result.get("content"))
    if len(parts) != 1 or parts[0].get("type") != "text":
        return parts or None
    text = str(parts[0].get("text", ""))
    try:
        return parse_json(text)
    except ValueError:
        return text


def _text(result: Fields) -> str:
    """The texts of a result's content."""
    return "\n".join(str(part["text"]) for part in objects(result.get("content")) if "text" in part)


def record_mcp(
    command: Sequence[str], out: Path, redaction: Redaction, report: Callable[[str], None], hide: bool = False
) -> Log:
    """Runs an MCP server between standard input and output, until one of them ends or the process is interrupted.

    Args:
        command: The command of the server.
        out: The file that lines are appended to. Several proxies may append to one file.
        redaction: Acts on every text before it is written.
        report: Takes a line about what is recorded, and lines about problems.
        hide: Whether the tools that begin and end a case are not listed. They may be called nevertheless.

    Raises:
        InputError: If the command is not found, the file cannot be written or has something else, or the server ends
            with an error.
    """
    if shutil.which(command[0]) is None:
        raise InputError(f"{command[0]}: no such command; give the command of an MCP server after --")
    with LineFile(out, lambda row: fields(row).get("schema") == SCHEMA, "an MCP log", shared=True) as file:
        log = Log(file, redaction, report)
        try:
            server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            raise InputError(f"{command[0]}: it cannot be started: {error.strerror}") from None
        report(f"recording the calls of {command[0]} to {out}")
        relay = Relay(log, FileIO(os.dup(1), "w"), hide)
        try:
            ended_by = _relay(server, relay)
        finally:
            end(server.pid, _STEPS)
            log.close()
        if relay.unread:
            report(f"{relay.unread} lines that are no JSON were passed on")
    if (code := server.wait()) and ended_by == "server":
        raise InputError(f"{command[0]}: the server ended with code {code}; {log.calls} calls are recorded in {out}")
    return log


_Ended = Literal["client", "server", "signal"]


def _relay(server: subprocess.Popen[bytes], relay: Relay) -> _Ended:
    """Passes messages on until the client or the server closes its end, or SIGINT or SIGTERM arrives; returns which.

    The threads may still wait for a message then. They read from files of their own, since Python cannot exit while a
    thread reads from `sys.stdin`.
    """
    assert server.stdin is not None and server.stdout is not None
    ended: queue.SimpleQueue[_Ended] = queue.SimpleQueue()  # signal handlers may put into it
    from_client = os.fdopen(os.dup(0), "rb")

    def upwards(to_server: IO[bytes]) -> None:
        with contextlib.suppress(OSError):
            for line in from_client:
                if (passed := relay.from_client(line)) is not None:
                    to_server.write(passed)
                    to_server.flush()
        with contextlib.suppress(OSError):
            to_server.close()
        ended.put("client")

    def downwards(from_server: IO[bytes]) -> None:
        with contextlib.suppress(OSError):
            for line in from_server:
                relay.from_server(line)
        ended.put("server")

    def interrupted(number: int, frame: FrameType | None) -> None:
        ended.put("signal")

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, interrupted) for number in numbers]
    try:
        threading.Thread(target=downwards, args=(server.stdout,), daemon=True).start()
        threading.Thread(target=upwards, args=(server.stdin,), daemon=True).start()
        first = ended.get()
        if first == "client":
            with contextlib.suppress(queue.Empty):
                ended.get(timeout=_GRACE)
        return first
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
