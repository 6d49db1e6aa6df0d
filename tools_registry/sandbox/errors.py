"""The error of a sandbox that cannot start. Imports nothing, because the commands import it to catch the error."""

from __future__ import annotations


class SandboxUnavailable(Exception):
    """No worker can be started on this machine; the message says why."""
