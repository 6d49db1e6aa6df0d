"""The environments under one name, for modules that need several of them."""

from __future__ import annotations

from tools_registry.sandbox.functions import FunctionEnvironment
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.sandbox.workers import Limits, WorkerPool
from tools_registry.specs.spec import ToolSource

__all__ = ["FunctionEnvironment", "Limits", "LocalSandbox", "ToolSource", "WorkerPool"]
