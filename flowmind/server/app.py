"""A workflow as an ASGI app: `POST /run`, `GET /runs/{run}`, an MCP tool at `/mcp`, `/openapi.json` and `/healthz`."""

from __future__ import annotations

import hmac
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from flowmind.base.files import dump_json, parse_json
from flowmind.server.openapi import openapi
from flowmind.server.runs import Reply, Runs
from tools_registry.specs.spec import tool_identifier

MAX_BODY = 1_000_000
"""The largest body of a request in bytes."""
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
RUN_META = "flowmind/run"
"""The key of `_meta` with the id of the run, in a call of the MCP tool and in its result."""


def workflow_app(runs: Runs, token: str = "", most: int = MAX_BODY) -> ASGIApp:
    """The app. Its lifespan takes up interrupted runs at the start, and waits for runs under way at the end.

    Args:
        runs: The workflow and its journal.
        token: What requests must have as `Authorization: Bearer TOKEN`. Without a token only requests to a loopback
            address are answered.
        most: The largest body of a request in bytes.
    """
    document = openapi(runs.workflow, runs.version, bool(token))

    async def run(request: Request) -> JSONResponse:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _problem(400, "send the inputs as JSON, with Content-Type: application/json")
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > most:
                return _problem(413, f"the body has more than {most} bytes")
        try:
            inputs = parse_json(body.decode())
        except ValueError as error:
            return _problem(400, f"the body is not JSON: {error}")
        if not isinstance(inputs, dict):
            return _problem(400, 'the body is not a JSON object with the inputs, such as {"n": 1}')
        given = cast(dict[str, Any], inputs)
        return _response(await runs.reply(given, _unquoted(request.headers.get("idempotency-key"))))

    async def known(request: Request) -> JSONResponse:
        return _response(runs.known(request.path_params["run"]))

    async def described(request: Request) -> JSONResponse:
        return JSONResponse(document)

    async def healthy(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    app = mcp_server(runs).streamable_http_app(
        json_response=True,
        stateless_http=True,
        max_request_body_size=most,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # `_Door` has it
        custom_starlette_routes=[
            Route("/run", run, methods=["POST"]),
            Route("/runs/{run:path}", known, methods=["GET"]),
            Route("/openapi.json", described, methods=["GET"]),
            Route("/healthz", healthy, methods=["GET"]),
        ],
    )
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(whole: Starlette) -> AsyncGenerator[Any]:
        async with inner(whole) as state:
            runs.resume()
            try:
                yield state
            finally:
                await runs.drain()

    app.router.lifespan_context = lifespan
    return _Door(app, token)


def mcp_server(runs: Runs) -> Server[Any]:
    """The MCP server with one tool: the workflow."""
    name = tool_identifier(runs.workflow.name)
    output: dict[str, Any] = {"type": "object", "properties": {"answer": {}}, "required": ["answer"]}
    offered = types.Tool(
        name=name,
        description=runs.workflow.description or f"Runs the workflow {runs.workflow.name}.",
        input_schema=runs.workflow.inputs,
        output_schema=output,
        annotations=_hints({spec.effect for spec in runs.specs.values()}),
    )

    async def listed(context: ServerRequestContext[Any], params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[offered])

    async def called(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name != name:
            return _tool_result(Reply(404, {"error": f"there is no tool {params.name!r}; the tool is {name!r}"}))
        run = dict(params.meta or {}).get(RUN_META)
        return _tool_result(await runs.reply(params.arguments or {}, None if run is None else str(run)))

    return Server(name, version=runs.version, on_list_tools=listed, on_call_tool=called)


def _tool_result(reply: Reply) -> types.CallToolResult:
    meta = {RUN_META: reply.body["run"]} if "run" in reply.body else None
    answer = {"answer": reply.body["answer"]} if reply.ok else None
    text = dump_json(answer) if reply.ok else "\n".join([reply.body["error"], *reply.body.get("lines", ())])
    content: list[types.ContentBlock] = [types.TextContent(text=text)]
    return types.CallToolResult(content=content, structured_content=answer, is_error=not reply.ok, _meta=meta)


def _hints(effects: set[str]) -> types.ToolAnnotations | None:
    """What a client may know of the effects; None if nobody has said what the tools do."""
    if "write" in effects:
        return types.ToolAnnotations(read_only_hint=False)
    return None if "unknown" in effects else types.ToolAnnotations(read_only_hint=True)


class _Door:
    """Refuses requests without the token. Without a token it refuses those that a page in a browser may have sent."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope["path"], Headers(scope=scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, path: str, headers: Headers) -> JSONResponse | None:
        if not self._token:
            names = [urlsplit(f"//{headers.get('host', '')}").hostname]
            names += [urlsplit(headers["origin"]).hostname] if "origin" in headers else []
            return None if LOOPBACK.issuperset(names) else _problem(403, "only this machine is served without a token")
        given = headers.get("authorization", "").encode()
        if path == "/healthz" or hmac.compare_digest(given, b"Bearer " + self._token):
            return None
        refusal = _problem(401, "send the token, with Authorization: Bearer TOKEN")
        refusal.headers["www-authenticate"] = "Bearer"
        return refusal


def _unquoted(key: str | None) -> str | None:
    """The value of a header that may be a quoted text."""
    return key[1:-1] if key is not None and len(key) > 1 and key[0] == key[-1] == '"' else key


def _problem(status: int, error: str) -> JSONResponse:
    return JSONResponse({"error": error}, status)


def _response(reply: Reply) -> JSONResponse:
    return JSONResponse(reply.body, reply.status)
