"""The parent of the workers: a small process that has everything loaded, and forks a worker in about a millisecond.

It is started by `tools_registry.sandbox.workers` with one end of a socket pair as standard input, locks itself in, and
then answers requests, a line of JSON each: `{"start": {...}}`, which carries the socket of the new worker, with its
process id; `{"stop": PID}` with the status that the worker ended with. It runs no tool. When the socket closes, its
owner is gone: it kills the workers and ends. Imports nothing heavy.
"""

from __future__ import annotations

import encodings.ascii
import encodings.cp1252
import encodings.latin_1
import encodings.utf_8_sig
import encodings.utf_16
import gc
import json
import os
import signal
import socket
import sys
from typing import Any

from tools_registry.sandbox import confine, worker
from tools_registry.sandbox.addresses import addresses
from tools_registry.sandbox.language import policy

CPU_SECONDS = 600
"""Processor time of a worker's whole life; its owner replaces it long before."""
_PRELOADED = (encodings.ascii, encodings.cp1252, encodings.latin_1, encodings.utf_8_sig, encodings.utf_16)
"""Once the files are gone, `"text".encode("latin-1")` could not load its codec."""


def main(bare: bool) -> None:
    """Serves the owner until it is gone.

    Args:
        bare: Leave out all that the kernel offers; workers then have limits only. For audits.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    del sys.breakpointhook  # it would be no one's way out, but is no tool's business
    policy.self_test()
    control = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)
    found = addresses() | ({"kernel": "off: left out"} if bare else confine.enter())
    if not bare:
        sys.path.clear()  # there is nothing to be found there any more
    gc.collect()
    gc.freeze()
    _Zygote(control, bare, found).serve()


class _Zygote:
    def __init__(self, control: socket.socket, bare: bool, found: confine.Found) -> None:
        self._control = control
        self._bare = bare
        self._found = found
        self._children: set[int] = set()

    def serve(self) -> None:
        self._answer(0)
        os.dup2(1, 2)
        while True:
            data, sockets, _, _ = socket.recv_fds(self._control, 1 << 16, 1)
            if not data:
                break
            request: dict[str, Any] = json.loads(data)
            self._answer(self._start(request["start"], *sockets) if "start" in request else self._stop(request["stop"]))
        for child in tuple(self._children):
            self._stop(child)

    def _answer(self, answer: int) -> None:
        self._control.sendall(b"%s\n" % json.dumps(answer).encode())

    def _start(self, options: dict[str, int], given: int) -> int:
        mine = os.getpid()
        child = os.fork()
        if child:
            os.close(given)
            self._children.add(child)
            return child
        try:
            self._control.close()
            os.dup2(given, 0)
            os.closerange(3, 1 << 10)
            if self._bare:
                found = confine.limit(options["memory_mb"], CPU_SECONDS)
            else:
                found = confine.lock(options["memory_mb"], CPU_SECONDS, mine)
            worker.main(options["value_bytes"], bool(options["language"]), {**self._found, **found})
            os._exit(0)
        finally:
            os._exit(1)

    def _stop(self, child: int) -> int:
        if child not in self._children:
            return 0
        os.kill(child, signal.SIGKILL)
        self._children.discard(child)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    main(bare=sys.argv[1] == "bare")
