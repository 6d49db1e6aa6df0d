"""Records runs of agents: at the tools, from OpenTelemetry, and between an agent and its model or MCP server."""
