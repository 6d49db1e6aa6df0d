"""Guarded workflows: a function that an agent answers, and a workflow answers once it has learnt how.

    @flowmind.jit(tools, query="Refund a late order.", store="flows.db", mode="shadow")
    def handle(order_id: str) -> dict:
        return agent(order_id)

The package is named like the decorator, so it can be called itself.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowmind.jit.engine import Engine
    from flowmind.jit.guards import GUARDS, Limits
    from flowmind.jit.handle import Handle, jit
    from flowmind.jit.outcomes import NeedsAgent, Stopped
    from flowmind.jit.settings import Promotion
    from flowmind.jit.stats import Stats
    from flowmind.jit.store import Store
    from flowmind.jit.versions import VersionRecord

_HOMES = {
    "Engine": "engine", "GUARDS": "guards", "Handle": "handle", "Limits": "guards", "NeedsAgent": "outcomes",
    "Promotion": "settings", "Stats": "stats", "Stopped": "outcomes", "Store": "store", "VersionRecord": "versions",
    "jit": "handle",
}  # fmt: skip
__all__ = [
    "GUARDS", "Engine", "Handle", "Limits", "NeedsAgent", "Promotion", "Stats", "Stopped", "Store", "VersionRecord",
    "jit",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'flowmind.jit' has no attribute {name!r}")
    return getattr(importlib.import_module(f"flowmind.jit.{_HOMES[name]}"), name)


class _Callable(ModuleType):
    """A module that is called as its function `jit`."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.jit(*given, **named)


sys.modules[__name__].__class__ = _Callable
