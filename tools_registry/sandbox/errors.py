"""The error of a sandbox that cannot start. Imports nothing, because the commands import it to catch the error."""

from __future__ import annotations


class SandboxUnavailable(Exception):
    """No worker can be started on this machine, or none that is isolated enough.

    Args:
        lack: What is missing.
        ways: What the user can do; part of the message.
    """

    def __init__(self, lack: str, ways: str = "") -> None:
        super().__init__(f"{lack}; {ways}" if ways else lack)
        self.lack = lack
