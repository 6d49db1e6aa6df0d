"""What works on this machine, for `flowmind doctor`."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import sys

from flowmind.base.errors import ModelUnavailable
from flowmind.llm import serving
from flowmind.llm.models import LOCAL_URL, reach
from tools_registry import catalog
from tools_registry.sandbox import isolation
from tools_registry.sandbox.environments import LocalSandbox, WorkerPool
from tools_registry.sandbox.errors import SandboxUnavailable
from tools_registry.specs.spec import Record, ToolCall


class Finding(Record):
    """One thing that was looked at."""

    what: str
    ok: bool
    note: str
    needed: bool = True
    """Whether FlowMind cannot do without it."""


def diagnose() -> list[Finding]:
    """Looks at Python, the sandbox, the packages, and the endpoints."""
    version = platform.python_version()
    findings = [
        Finding(what="python", ok=sys.version_info >= (3, 11), note=f"{version} on {platform.system()}"),
        Finding(what="processors", ok=True, note=str(os.cpu_count())),
        *_sandbox(),
    ]
    for name in ("langgraph", "openai", "networkx", "RestrictedPython"):
        there = importlib.util.find_spec(name) is not None
        findings.append(Finding(what=name, ok=there, note="installed" if there else "reinstall flowmind-es"))
    return [*findings, *_optional()]


def _sandbox() -> list[Finding]:
    tool = catalog.load()["add"]
    example = tool.examples[0]
    try:
        with WorkerPool(1) as pool:
            seen = asyncio.run(LocalSandbox([tool], pool).call(ToolCall(tool="add", args=example.args)))
            found = isolation.measure(pool)
    except SandboxUnavailable as error:
        return [Finding(what="sandbox", ok=False, note=str(error))]
    right = seen.ok and seen.value == example.result
    note = f"a tool ran in a worker; isolation: {found.level}" if right else str(seen.error)
    return [
        Finding(what="sandbox", ok=right, note=note),
        *(
            Finding(what=f"  {name}", ok=state.startswith("on"), note=state, needed=False)
            for name, state in found.layers.items()
        ),
    ]


def _optional() -> list[Finding]:
    vllm = importlib.util.find_spec("vllm") is not None
    gpu = serving.gpu_found()
    url = os.environ.get("OPENAI_BASE_URL", LOCAL_URL)
    try:
        reach("any", url, timeout=1.0)
        answers, note = True, f"{url} answers"
    except ModelUnavailable as error:
        answers = "serves" in str(error)
        note = str(error).removeprefix("model 'any': ")
    return [
        Finding(
            what="vllm",
            ok=vllm,
            note=_versions() if vllm else "pip install 'flowmind-es[vllm]'",
            needed=False,
        ),
        Finding(what="gpu", ok=gpu, note="; ".join(serving.gpus()) or "found" if gpu else "none found", needed=False),
        Finding(what="endpoint", ok=answers, note=note, needed=False),
    ]


def _versions() -> str:
    """The versions of the packages that serve."""
    found = serving.versions()
    return ", ".join(f"{name} {found[name]}" for name in found if name != "python") or "installed"
