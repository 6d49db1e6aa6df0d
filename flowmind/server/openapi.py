"""The OpenAPI document of a served workflow."""

from __future__ import annotations

import re
from typing import Any, cast

from flowmind.workflow.document import Workflow

_ERRORS = {
    "400": ("The body is not a JSON object, or the key cannot be the id of a run.", "Error"),
    "409": ("The run ended in doubt, a write may have happened, or the key belongs to another run.", "Run"),
    "413": ("The body is too large.", "Error"),
    "422": ("The inputs do not fit their schema, or the run ended in an error.", "Run"),
    "500": ("The server failed.", "Run"),
}
_DEFINED = "#/$defs/"
_TEXT = {"type": "string"}


def openapi(workflow: Workflow, version: str, token: bool) -> dict[str, Any]:
    """The OpenAPI 3.1 document.

    Args:
        workflow: The workflow.
        version: Its version.
        token: Whether requests need a bearer token.
    """
    inputs = {name: _moved(part) for name, part in workflow.inputs.items() if name != "$defs"}
    parts = {_part(name): _moved(part) for name, part in workflow.inputs.get("$defs", {}).items()}
    run: dict[str, Any] = {
        "type": "object",
        "properties": {
            "run": {**_TEXT, "description": "The id of the run."},
            "state": {"enum": ["open", "finished", "failed", "invalid", "doubt", "unknown", "conflict"]},
            "answer": {"description": "The answer of a finished run."},
            "error": {**_TEXT, "description": "Why there is no answer, in one line."},
            "lines": {"type": "array", "items": _TEXT, "description": "What the programs that disagree would do."},
        },
        "required": ["run", "state"],
    }
    error = {"type": "object", "properties": {"error": _TEXT}, "required": ["error"]}
    key: dict[str, Any] = {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "The id of the run. Requests with one key are one run, also after a restart of the server.",
        "schema": {**_TEXT, "minLength": 1, "maxLength": 200},
    }
    path = {"name": "run", "in": "path", "required": True, "schema": _TEXT, "description": "The id of the run."}
    shared = {"401": _reply("The token is missing or wrong.", "Error")} if token else {}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": workflow.name, "version": version, "description": workflow.description},
        "paths": {
            "/run": {
                "post": {
                    "operationId": "run",
                    "summary": "Run the workflow.",
                    "parameters": [key],
                    "requestBody": {"required": True, "content": _json("Inputs")},
                    "responses": {
                        "200": _reply("The answer.", "Run"),
                        **{status: _reply(*reply) for status, reply in _ERRORS.items()},
                        **shared,
                    },
                }
            },
            "/runs/{run}": {
                "get": {
                    "operationId": "get_run",
                    "summary": "The state of a run.",
                    "parameters": [path],
                    "responses": {
                        "200": _reply("The run.", "Run"),
                        "404": _reply("There is no such run.", "Error"),
                        **shared,
                    },
                }
            },
            "/healthz": {
                "get": {
                    "operationId": "health",
                    "summary": "Whether the server works.",
                    "security": [],
                    "responses": {"200": {"description": "It works."}},
                }
            },
        },
        "components": {"schemas": {"Inputs": inputs, **parts, "Run": run, "Error": error}},
    }
    if token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _part(name: str) -> str:
    """The name of a component for a schema in the `$defs` of the inputs."""
    return "Inputs." + re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)


def _moved(schema: Any) -> Any:
    """A schema whose references to `$defs` name components."""
    if isinstance(schema, list):
        return [_moved(part) for part in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    moved = {name: _moved(part) for name, part in cast(dict[str, Any], schema).items()}
    if isinstance(target := moved.get("$ref"), str) and target.startswith(_DEFINED):
        moved["$ref"] = f"#/components/schemas/{_part(target.removeprefix(_DEFINED))}"
    return moved


def _json(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}


def _reply(text: str, schema: str) -> dict[str, Any]:
    return {"description": text, "content": _json(schema)}
