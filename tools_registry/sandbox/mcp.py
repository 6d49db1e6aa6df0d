"""The tools of an MCP server, called through a client session.

The package `mcp` is not imported: sessions and results are used by their methods and attributes, which have other
names in version 1 (`structuredContent`) than in version 2 (`structured_content`).
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from flowmind.workflow.program import Outcome, Program
from tools_registry.sandbox.environment import DEFAULT_BUDGET
from tools_registry.specs.marks import effect_of_hints
from tools_registry.specs.schema import JSONSchema, within_subset
from tools_registry.specs.spec import (
    Observation,
    SpecError,
    ToolCall,
    ToolSpec,
    admitted,
    reading,
    tool_identifier,
)
from tools_registry.specs.values import CaseError, clean, describe


class SessionEnvironment:
    """The tools of an MCP server. All of them are async: a workflow is called by `acall`, in the session's event loop.

    Args:
        session: A `ClientSession` or a `Client`, connected.
        tools: The tools that it lists.
        reads: The names of tools that change nothing, for servers whose annotations do not say it.

    Raises:
        InputError: If two tools have the same identifier, or `reads` names another tool.
    """

    def __init__(self, session: Any, tools: Sequence[Any], reads: Collection[str] = ()) -> None:
        self._session = session
        self._names: dict[str, str] = {}
        self._wrapped: set[str] = set()
        self.specs: Mapping[str, ToolSpec] = {}
        specs: dict[str, ToolSpec] = {}
        for tool in tools:
            name = tool_identifier(tool.name)
            if name in specs:
                raise SpecError(f"two tools have the name {name!r}: {self._names[name]!r} and {tool.name!r}")
            output = cast(JSONSchema, _field(tool, "output_schema", "outputSchema") or {})
            if list(output.get("properties", {})) == ["result"]:
                self._wrapped.add(name)
                output = {"$defs": output.get("$defs", {}), **output["properties"]["result"]}
            self._names[name] = tool.name
            effect = "read" if tool.name in reads else effect_of_hints(tool.annotations)
            specs[name] = ToolSpec(
                name=name,
                description=tool.description or "",
                parameters=within_subset(_field(tool, "input_schema", "inputSchema") or {"type": "object"}),
                returns=within_subset(output),
                effect=effect,
            )
        if unknown := sorted(set(reads) - set(self._names.values())):
            raise SpecError(f"reads: the server has no tool {unknown[0]!r}; it has {', '.join(self._names.values())}")
        self.specs = specs
        self.overlapping: Collection[str] = reading(specs)
        """The tools that are marked `read`: their calls may run beside others."""

    @property
    def awaited(self) -> Collection[str]:
        """All tools."""
        return frozenset(self.specs)

    async def call(self, call: ToolCall) -> Observation:
        """Calls one tool. A result that the server marks as an error is the error of the observation."""
        try:
            arguments = admitted(self.specs, call.tool, call.args)
            result = await self._session.call_tool(self._names[call.tool], arguments)
            return self._observation(call.tool, result)
        except CaseError as error:
            return Observation.failed(error.type, error.message)
        except Exception as error:
            return Observation.failed("tool_error", describe(error))

    def values(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        """Refuses all calls: only `call` can call the tools."""
        return [(None, ("refused", f"tool {name!r} is async")) for name, _ in calls]

    def run(self, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET) -> list[Outcome]:
        """Fails: only `call` can call the tools."""
        return [Outcome(None, ("refused", "the tools of an MCP server are async"), []) for _ in cases]

    def _observation(self, name: str, result: Any) -> Observation:
        texts = [getattr(block, "text", None) for block in result.content]
        text = "\n".join(filter(None, texts))
        if _field(result, "is_error", "isError"):
            return Observation.failed("tool_error", text or "the server gives no reason")
        value = _field(result, "structured_content", "structuredContent")
        if value is not None:
            wrapped = name in self._wrapped and isinstance(value, dict)
            return Observation(value=clean(cast(Any, value).get("result") if wrapped else value))
        if None in texts:
            raise CaseError("not_json", "the result has content other than text")
        try:
            return Observation(value=clean(json.loads(text)))
        except (ValueError, CaseError):
            return Observation(value=clean(text))


async def mcp_tools(session: Any, reads: Collection[str] = ()) -> SessionEnvironment:
    """The tools of an MCP server, for everything that takes tools.

        async with Client("http://localhost:8000/mcp") as client:
            tools = await mcp_tools(client, reads=["search_orders"])
            result = await ExecuteSummarize(tools).arun(query, examples)

    Args:
        session: A `ClientSession` or a `Client`, connected.
        reads: The names of tools that change nothing, for servers whose annotations do not say it.

    Raises:
        InputError: If two tools have the same identifier, or `reads` names another tool.
    """
    tools: list[Any] = []
    cursor: str | None = None
    while True:
        page = await session.list_tools(**_page(session, cursor))
        tools += page.tools
        cursor = _field(page, "next_cursor", "nextCursor")
        if not cursor:
            return SessionEnvironment(session, tools, reads)


def _page(session: Any, cursor: str | None) -> dict[str, Any]:
    if cursor is None:
        return {}
    if "cursor" in inspect.signature(session.list_tools).parameters:
        return {"cursor": cursor}
    return {"params": importlib.import_module("mcp_types").PaginatedRequestParams(cursor=cursor)}


def _field(record: Any, *names: str) -> Any:
    """The first of these attributes that the record has."""
    return next((getattr(record, name) for name in names if hasattr(record, name)), None)
