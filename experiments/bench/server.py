"""An HTTP server that answers every completion immediately with the same reply: `python -m experiments.bench.server`.

It prints its port and stops when its standard input is closed. It parses only the length of a request, so that it is
faster than every client.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Generator

from flowmind.llm.testing import action, completion

REPLY = action("double", "Twice twenty-one is what is asked for, so I call the tool.", n=21)
_BODY = completion(REPLY, {"prompt_tokens": 400, "completion_tokens": 30, "total_tokens": 430}).encode()
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)


class Instant(asyncio.Protocol):
    """A connection; each request is answered when its body is complete."""

    def __init__(self) -> None:
        self._read = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._read += data
        while (end := self._read.find(b"\r\n\r\n")) >= 0:
            head = self._read[:end].lower()
            size = end + 4 + int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
            if len(self._read) < size:
                return
            self._read = self._read[size:]
            self._transport.write(_ANSWER)


async def serve() -> None:
    """Serves until standard input is closed."""
    server = await asyncio.get_running_loop().create_server(Instant, "127.0.0.1", 0, backlog=256)
    async with server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)


@contextlib.contextmanager
def instant_server() -> Generator[str]:
    """Starts the server in another process and yields its base URL."""
    command = [sys.executable, "-m", "experiments.bench.server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        process.stdin.close()


if __name__ == "__main__":
    asyncio.run(serve())
