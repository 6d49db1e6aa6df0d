"""An OpenAI-compatible server whose answers are prepared, faults included."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from flowmind.base.files import dump_json
from flowmind.llm.testing import completion


class Fault:
    """The answer of a server to one request.

    Args:
        status, body, headers: The response.
        delay: Seconds before the answer.
        cut: Announce the whole body, send half of it, and close the connection.
        chunked: Send the body in chunks without its length; with `cut`, the last chunk is missing.
        drop: Close the connection without an answer.
    """

    def __init__(
        self,
        status: int = 200,
        body: str | bytes = "",
        headers: dict[str, str] | None = None,
        delay: float = 0.0,
        cut: bool = False,
        chunked: bool = False,
        drop: bool = False,
    ) -> None:
        self.status = status
        self.body = body if isinstance(body, bytes) else body.encode()
        self.headers = headers or {}
        self.delay = delay
        self.cut = cut
        self.chunked = chunked
        self.drop = drop

    def wire(self) -> bytes:
        """The bytes of the body that are sent."""
        sent = self.body[: len(self.body) // 2] if self.cut else self.body
        if not self.chunked:
            return sent
        return b"%x\r\n%s\r\n" % (len(sent), sent) + (b"" if self.cut else b"0\r\n\r\n")


class _Listener(ThreadingHTTPServer):
    request_queue_size = 128
    """Connections that may wait to be accepted; with Python's default of 5, one of 64 at once can be a second late."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client may leave before its answer
            super().handle_error(request, client_address)


class FaultyServer:
    """An OpenAI-compatible server on loopback whose answers a function determines.

    Args:
        answer: Called with the number of the request, from 0, and its body; returns a fault, or the text of a reply.
        models: The models that the server lists.
        owner: The text in the field `owned_by` of each; None for none.
    """

    def __init__(
        self,
        answer: Callable[[int, dict[str, Any]], Fault | str],
        models: tuple[str, ...] = ("m",),
        owner: str | None = None,
    ) -> None:
        self.requests: list[dict[str, Any]] = []
        """The bodies of the requests for completions."""
        self.heads: list[tuple[str, dict[str, str]]] = []
        """The target and the headers of each, names in lower case."""
        self.connections = 0
        self._answer = answer
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._http = _Listener(("127.0.0.1", 0), self._handler(models, owner))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def decide(self, body: dict[str, Any], target: str = "", headers: dict[str, str] | None = None) -> Fault:
        """The answer to a request."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
            self.heads.append((target, headers or {}))
        made = self._answer(number, body)
        if isinstance(made, Fault):
            return made
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return Fault(body=completion(made, usage), headers={"Content-Type": "application/json"})

    def _handler(self, models: tuple[str, ...], owner: str | None) -> type[BaseHTTPRequestHandler]:
        server = self
        owned = {} if owner is None else {"owned_by": owner}

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # otherwise each answer waits 40 ms for the acknowledgement of its head

            def setup(self) -> None:
                super().setup()
                with server._lock:
                    server.connections += 1

            def do_GET(self) -> None:
                listed = dump_json({"object": "list", "data": [{"id": name} | owned for name in models]})
                self.send(Fault(body=listed, headers={"Content-Type": "application/json"}))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.send(server.decide(body, self.path, headers))

            def send(self, fault: Fault) -> None:
                if server._stopping.wait(fault.delay) if fault.delay else False:
                    return
                if fault.cut or fault.drop:
                    self.close_connection = True
                if fault.drop:
                    return
                self.send_response(fault.status)
                size = ("Transfer-Encoding", "chunked") if fault.chunked else ("Content-Length", str(len(fault.body)))
                headers = {"Content-Type": "application/json"} | fault.headers | dict([size])
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(fault.wire())

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler
