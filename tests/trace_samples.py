"""One run of an agent as each format records it: two calls at once, the second of which fails, then a write."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any, cast

import pytest

Row = dict[str, Any]
REQUEST = "Refund the order A7."
FINAL = "I refunded 500 cents for you."


def _openai_call(id: str, tool: str, args: Row) -> Row:
    return {"id": id, "type": "function", "function": {"name": tool, "arguments": json.dumps(args)}}


OPENAI: list[Row] = [
    {
        "id": "run-1",
        "model": "gpt-5",
        "tools": [
            {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}
        ],
        "messages": [
            {"role": "user", "content": REQUEST},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [_openai_call("c1", "find", {"id": "A7"}), _openai_call("c2", "find", {"id": "A8"})],
            },
            {"role": "tool", "tool_call_id": "c2", "content": "no such order", "status": "error"},
            {"role": "tool", "tool_call_id": "c1", "content": '{"cents": 500}'},
            {"role": "assistant", "content": None, "tool_calls": [_openai_call("c3", "refund", {"cents": 500})]},
            {"role": "tool", "tool_call_id": "c3", "content": "done"},
            {"role": "assistant", "content": FINAL},
        ],
    }
]
ANTHROPIC: Row = {
    "request": {
        "model": "claude-x",
        "system": "Be kind.",
        "max_tokens": 100,
        "tools": [{"name": "find", "description": "Find.", "input_schema": {"type": "object", "properties": {}}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": REQUEST}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Both.", "signature": "s"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "find", "input": {"id": "A7"}},
                    {"type": "tool_use", "id": "c2", "name": "find", "input": {"id": "A8"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c2", "content": "no such order", "is_error": True},
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": '{"cents":500}'}],
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c3", "name": "refund", "input": {"cents": 500}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c3", "content": "done"}]},
        ],
    },
    "response": {
        "id": "msg_9",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": FINAL}],
        "stop_reason": "end_turn",
    },
}


def _session_row(id: str, parent: str | None, role: str, content: Any, reply: str = "") -> Row:
    message = {"role": role, "content": content} | ({"id": reply, "model": "claude-x"} if reply else {})
    return {
        "type": role, "uuid": id, "parentUuid": parent, "isSidechain": False, "sessionId": "s1", "version": "2.0",
        "message": message,
    }  # fmt: skip


def _use(id: str, tool: str, args: Row) -> list[Row]:
    return [{"type": "tool_use", "id": id, "name": tool, "input": args}]


def _tool_result(id: str, content: str, **marks: Any) -> list[Row]:
    return [{"type": "tool_result", "tool_use_id": id, "content": content, **marks}]


CLAUDE_CODE: list[Row] = [
    {"type": "summary", "summary": "Refunds", "leafUuid": "u9"},
    _session_row("u1", None, "user", REQUEST),
    _session_row("u2", "u1", "assistant", [{"type": "text", "text": "I look."}], "m1"),
    _session_row("u3", "u2", "assistant", _use("c1", "find", {"id": "A7"}), "m1"),
    _session_row("u4", "u3", "assistant", _use("c2", "find", {"id": "A8"}), "m1"),
    _session_row("u5", "u3", "user", _tool_result("c1", '{"cents": 500}')),
    _session_row("u6", "u4", "user", _tool_result("c2", "no such order", is_error=True)),
    {**_session_row("x1", "u6", "assistant", [{"type": "text", "text": "A sub-agent."}], "mx"), "isSidechain": True},
    _session_row("y1", "u6", "assistant", [{"type": "text", "text": "An abandoned answer."}], "my"),
    _session_row("u7", "u6", "assistant", _use("c3", "refund", {"cents": 500}), "m2"),
    _session_row("u8", "u7", "user", _tool_result("c3", "done")),
    _session_row("u9", "u8", "assistant", [{"type": "text", "text": FINAL}], "m3"),
]
"""Parallel calls are a row each, and each result follows its own call."""


def _langchain(kind: str, **fields: Any) -> Row:
    return {"type": kind, "data": {"type": kind, **fields}}


LANGCHAIN: list[Row] = [
    _langchain("human", content=REQUEST),
    _langchain(
        "ai",
        content=[{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "c1", "name": "find", "input": {}}],
        tool_calls=[
            {"name": "find", "args": {"id": "A7"}, "id": "c1", "type": "tool_call"},
            {"name": "find", "args": {"id": "A8"}, "id": "c2", "type": "tool_call"},
        ],
        response_metadata={"model_name": "gpt-5", "finish_reason": "tool_calls"},
    ),
    _langchain("tool", content="no such order", tool_call_id="c2", name="find", status="error"),
    _langchain("tool", content='{"cents": 500}', tool_call_id="c1", name="find", status="success"),
    _langchain("ai", content="", tool_calls=[{"name": "refund", "args": {"cents": 500}, "id": "c3"}]),
    _langchain("tool", content="done", tool_call_id="c3", name="refund"),
    _langchain("ai", content=FINAL, tool_calls=[]),
]


def _part(kind: str, **fields: Any) -> Row:
    return {"part_kind": kind, **fields}


def _returned(id: str, tool: str, content: Any, outcome: str = "success") -> Row:
    return _part("tool-return", tool_name=tool, content=content, tool_call_id=id, outcome=outcome)


PYDANTIC_AI: list[Row] = [
    {"kind": "request", "parts": [_part("system-prompt", content="Be kind."), _part("user-prompt", content=REQUEST)]},
    {
        "kind": "response",
        "model_name": "gpt-5",
        "run_id": "run-1",
        "parts": [
            _part("thinking", content="Both."),
            _part("text", content="I look."),
            _part("tool-call", tool_name="find", args={"id": "A7"}, tool_call_id="c1"),
            _part("tool-call", tool_name="find", args='{"id": "A8"}', tool_call_id="c2"),
        ],
    },
    {
        "kind": "request",
        "parts": [
            _part("retry-prompt", tool_name="find", content="no such order", tool_call_id="c2"),
            _returned("c1", "find", {"cents": 500}),
        ],
    },
    {"kind": "response", "parts": [_part("tool-call", tool_name="refund", args={"cents": 500}, tool_call_id="c3")]},
    {"kind": "request", "parts": [_returned("c3", "refund", "done")]},
    {"kind": "response", "parts": [_part("text", content=FINAL)]},
]
ATIF: Row = {
    "schema_version": "ATIF-v1.8",
    "session_id": "run-1",
    "agent": {"name": "clerk", "version": "1", "model_name": "gpt-5"},
    "steps": [
        {"step_id": 1, "source": "user", "message": REQUEST},
        {
            "step_id": 2,
            "source": "agent",
            "message": "I look.",
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "find", "arguments": {"id": "A7"}},
                {"tool_call_id": "c2", "function_name": "find", "arguments": {"id": "A8"}},
            ],
            "observation": {
                "results": [
                    {"source_call_id": "c2", "content": "Error: no such order"},
                    {"source_call_id": "c1", "content": '{"cents": 500}'},
                ]
            },
        },
        {"step_id": 3, "source": "agent", "message": "Copied.", "is_copied_context": True},
        {
            "step_id": 4,
            "source": "agent",
            "message": "",
            "tool_calls": [{"tool_call_id": "c3", "function_name": "refund", "arguments": {"cents": 500}}],
        },
        {"step_id": 5, "source": "system", "message": "", "observation": {"results": [{"content": "done"}]}},
        {"step_id": 6, "source": "agent", "message": FINAL},
    ],
}


def _tau2_call(id: str, tool: str, args: Row, requestor: str = "assistant") -> Row:
    return {"id": id, "name": tool, "arguments": args, "requestor": requestor}


def _tau2_result(id: str, content: str, error: bool = False, requestor: str = "assistant") -> Row:
    return {"id": id, "role": "tool", "content": content, "requestor": requestor, "error": error}


TAU2: Row = {
    "timestamp": "2026-01-01",
    "info": {"agent_info": {"implementation": "llm_agent", "llm": "gpt-5"}},
    "tasks": [{"id": "7"}],
    "simulations": [
        {
            "id": "run-1",
            "task_id": "7",
            "termination_reason": "user_stop",
            "reward_info": {"reward": 1.0},
            "messages": [
                {"role": "user", "content": REQUEST, "tool_calls": None},
                {
                    "role": "assistant",
                    "content": "I look.",
                    "tool_calls": [_tau2_call("c1", "find", {"id": "A7"}), _tau2_call("c2", "find", {"id": "A8"})],
                },
                {
                    "role": "tool",
                    "tool_messages": [_tau2_result("c2", "no such order", True), _tau2_result("c1", '{"cents": 500}')],
                },
                {"role": "assistant", "content": "Restart your phone.", "tool_calls": None},
                {"role": "user", "content": None, "tool_calls": [_tau2_call("p1", "restart", {}, "user")]},
                _tau2_result("p1", "restarted", requestor="user"),
                {"role": "assistant", "content": None, "tool_calls": [_tau2_call("c3", "refund", {"cents": 500})]},
                _tau2_result("c3", "done"),
                {"role": "assistant", "content": FINAL, "tool_calls": None},
            ],
        }
    ],
}
_SERVER = {"name": "shop", "version": "1"}
_TOOLS: list[Row] = [
    {"name": "find", "inputSchema": {"type": "object", "properties": {}}, "annotations": {"readOnlyHint": True}},
    {"name": "refund", "inputSchema": {"type": "object", "properties": {}}, "annotations": {"readOnlyHint": False}},
]


def _mcp_call(number: int, turn: int, tool: str, args: Row, result: Any, error: Row | None = None) -> Row:
    return {
        "kind": "call", "session": "s", "case": "s-1", "id": f"c{number}", "number": number, "turn": turn, "tool": tool,
        "arguments": args, "result": result, "error": error, "seconds": 0.5,
    }  # fmt: skip


MCP_LOG: list[Row] = [
    {"kind": "session", "session": "s", "schema": "flowmind/mcp-log@1", "server": _SERVER, "tools": _TOOLS},
    {"kind": "case", "session": "s", "case": "s-1", "inputs": {"order": "A7"}},
    _mcp_call(2, 0, "find", {"id": "A8"}, None, {"type": "tool_error", "message": "no such order"}),
    _mcp_call(1, 0, "find", {"id": "A7"}, {"cents": 500}),
    _mcp_call(3, 1, "refund", {"cents": 500}, "done"),
    {"kind": "end", "session": "s", "case": "s-1", "answer": 500},
]


def _inspect_call(id: str, tool: str, args: Row) -> Row:
    return {"id": id, "function": tool, "arguments": args, "type": "function"}


def _inspect_result(id: str, tool: str, content: str, error: Row | None = None) -> Row:
    return {"role": "tool", "content": content, "tool_call_id": id, "function": tool} | (
        {"error": error} if error else {}
    )


INSPECT: Row = {
    "version": 2,
    "status": "success",
    "eval": {
        "created": "2026-01-01T00:00:00+00:00", "task": "refunds", "dataset": {}, "model": "mockllm/model",
        "config": {}, "eval_id": "e", "run_id": "r", "task_id": "t",
    },
    "samples": [
        {
            "id": "A7",
            "epoch": 1,
            "input": REQUEST,
            "target": "500",
            "metadata": {"order": "A7", "nested": {"a": 1}},
            "scores": {"match": {"value": "C"}},
            "messages": [
                {"role": "user", "content": REQUEST},
                {
                    "role": "assistant",
                    "content": [{"type": "reasoning", "reasoning": "Both."}, {"type": "text", "text": "I look."}],
                    "tool_calls": [
                        _inspect_call("c1", "find", {"id": "A7"}), _inspect_call("c2", "find", {"id": "A8"}),
                    ],
                },
                _inspect_result("c2", "find", "", {"type": "file_not_found", "message": "no such order"}),
                _inspect_result("c1", "find", '{"cents": 500}'),
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [_inspect_call("c3", "refund", {"cents": 500})],
                },
                _inspect_result("c3", "refund", "done"),
                {"role": "assistant", "content": FINAL},
            ],
        }
    ],
}  # fmt: skip
FLOWMIND: list[Row] = [
    {
        "inputs": {"order": "A7"},
        "stop": "finish",
        "answer": 500,
        "source": {"format": "openai", "id": "run-1"},
        "events": [
            {"kind": "said", "role": "user", "text": REQUEST, "turn": 0},
            {"kind": "said", "role": "agent", "text": "I look.", "turn": 0},
            {"kind": "called", "call": {"tool": "find", "args": {"id": "A7"}}, "observation": {"value": {"cents": 500}},
             "turn": 0, "id": "c1"},
            {"kind": "called", "call": {"tool": "find", "args": {"id": "A8"}}, "turn": 0, "id": "c2",
             "observation": {"error": {"type": "tool_error", "message": "no such order"}}},
            {"kind": "called", "call": {"tool": "refund", "args": {"cents": 500}}, "observation": {"value": "done"},
             "turn": 1, "id": "c3"},
        ],
    }
]  # fmt: skip
SAMPLES: dict[str, tuple[str, Any]] = {
    "flowmind": ("flowmind", FLOWMIND),
    "openai": ("openai", OPENAI),
    "anthropic": ("anthropic", ANTHROPIC),
    "claude-code": ("anthropic", CLAUDE_CODE),
    "langchain": ("langchain", LANGCHAIN),
    "pydantic-ai": ("pydantic-ai", PYDANTIC_AI),
    "inspect": ("inspect", INSPECT),
    "atif": ("atif", ATIF),
    "mcp-log": ("mcp-log", MCP_LOG),
    "tau2": ("tau2", TAU2),
}
"""By name: the format and the document."""
IN_LINES = ("claude-code", "mcp-log")
"""The samples that are JSON Lines."""


def written(path: Path, name: str, document: Any) -> Path:
    """A file with a document of a sample."""
    rows = cast(list[Any], document) if name in IN_LINES and isinstance(document, list) else [document]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def recordings() -> Path:
    """The folder of recordings that others made, where it is at hand; else the test is skipped."""
    held = os.environ.get("FLOWMIND_FIXTURES")
    folder = (Path(held) if held else Path(__file__).resolve().parents[2] / "shared" / "fixtures") / "traces"
    if not folder.is_dir():
        pytest.skip("the recordings are not here (FLOWMIND_FIXTURES names the folder that has traces/)")
    return folder


def checkpoints(path: Path, rows: list[tuple[str, str, str, str, bytes]]) -> Path:
    """A database as LangGraph's SqliteSaver has it.

    Args:
        path: Its file.
        rows: Thread, namespace, id, encoding and checkpoint of each row.
    """
    database = sqlite3.connect(path)
    with database:
        database.execute(
            "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT,"
            " parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB)"
        )
        database.execute("CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT)")
        for thread, space, id, kind, blob in rows:
            database.execute(
                "INSERT INTO checkpoints VALUES (?, ?, ?, NULL, ?, ?, NULL)", (thread, space, id, kind, blob)
            )
    database.close()
    return path
