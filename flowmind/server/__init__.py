"""Serves a workflow over HTTP and MCP."""
