"""The parent of the workers: a small process that has all modules loaded and forks workers in a few milliseconds.

`tools_registry.sandbox.zygotes` starts it with one end of a socket pair as standard input. It isolates itself and then
answers requests of one line of JSON each. `{"start": {...}, "stop": PID}` carries the socket of the new worker and
returns its process id; the worker PID, if it is not 0, is killed. `{"stop": PID}` returns the exit status of a worker.
The zygote neither runs nor compiles tools. When the socket closes, the owner has ended, and the zygote kills the
workers and ends too. It imports nothing heavy.
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
"""Processor time of a worker over its whole life. The owner replaces the worker earlier."""
_PRELOADED = (encodings.ascii, encodings.cp1252, encodings.latin_1, encodings.utf_8_sig, encodings.utf_16)
"""Loaded early, because codecs such as that of `"text".encode("latin-1")` cannot be loaded without files."""


def main(bare: bool) -> None:
    """Serves requests until the owner ends.

    Args:
        bare: Skip isolation by the kernel, so that workers have limits only. For audits.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    del sys.breakpointhook  # not an escape, but tools do not need it
    policy.self_test()
    control = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)
    layers = addresses() | ({"kernel": "off: disabled"} if bare else confine.enter())
    if not bare:
        sys.path.clear()  # the files cannot be read any more
    gc.collect()
    gc.freeze()
    _Zygote(control, bare, layers).serve()


class _Zygote:
    def __init__(self, control: socket.socket, bare: bool, layers: confine.Layers) -> None:
        self._control = control
        self._bare = bare
        self._layers = layers
        self._children: set[int] = set()

    def serve(self) -> None:
        self._answer(0)
        os.dup2(1, 2)
        while True:
            data, sockets, _, _ = socket.recv_fds(self._control, 1 << 16, 1)
            if not data:
                break
            request: dict[str, Any] = json.loads(data)
            if "start" in request:
                self._kill(request["stop"])
                self._answer(self._start(request["start"], *sockets))
                self._reap(request["stop"])
            else:
                self._kill(request["stop"])
                self._answer(self._reap(request["stop"]))
        for child in tuple(self._children):
            self._kill(child)
            self._reap(child)

    def _answer(self, answer: int) -> None:
        self._control.sendall(b"%s\n" % json.dumps(answer).encode())

    def _start(self, options: dict[str, int], connection: int) -> int:
        parent = os.getpid()
        child = os.fork()
        if child:
            os.close(connection)
            self._children.add(child)
            return child
        try:
            self._control.close()
            os.dup2(connection, 0)
            os.closerange(3, 1 << 10)
            if self._bare:
                layers = confine.limit(options["memory_mb"], CPU_SECONDS)
            else:
                layers = confine.lock(options["memory_mb"], CPU_SECONDS, parent)
            worker.main(options["value_bytes"], bool(options["language"]), {**self._layers, **layers})
            os._exit(0)
        finally:
            os._exit(1)

    def _kill(self, child: int) -> None:
        if child in self._children:
            os.kill(child, signal.SIGKILL)

    def _reap(self, child: int) -> int:
        """The exit status of a child that was killed; 0 if there is no such child."""
        if child not in self._children:
            return 0
        self._children.discard(child)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    main(bare=sys.argv[1] == "bare")
