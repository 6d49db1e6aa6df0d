"""Serves an aiohttp application on loopback until the process is interrupted or terminated."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
from collections.abc import Callable

from aiohttp import web

from flowmind.base.errors import InputError

HOST = "127.0.0.1"
_GRACE = 2.0
"""Seconds that requests under way have to end in."""


async def serve(app: web.Application, port: int, started: Callable[[int], None], unpack: bool = True) -> None:
    """Serves until SIGINT or SIGTERM. Requests under way then have two seconds; at last the application is cleaned up.

    Args:
        app: The application.
        port: The port on loopback; 0 for any that is free.
        started: Called with the port when requests are accepted.
        unpack: Whether compressed bodies are unpacked.

    Raises:
        InputError: If the port cannot be used.
    """
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # requests that are no HTTP are answered, not told
    runner = web.AppRunner(
        app, access_log=None, shutdown_timeout=_GRACE, auto_decompress=unpack, handler_cancellation=True
    )  # a client that leaves ends its request
    await runner.setup()
    try:
        for number in signals:
            loop.add_signal_handler(number, stopped.set)
        await web.TCPSite(runner, HOST, port).start()
        started(runner.addresses[0][1])
        await stopped.wait()
    except OSError as error:
        problem = "another program uses this port" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
        raise InputError(f"--port {port}: {problem}; give another port, or 0 for any that is free") from None
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
        await runner.cleanup()
