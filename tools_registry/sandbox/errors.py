"""What stands against tools running at all. Light: command lines import it to say it in one line."""

from __future__ import annotations


class SandboxUnavailable(Exception):
    """No worker can be started here; the message says what stands against it."""
