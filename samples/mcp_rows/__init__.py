"""Capping the tools of an MCP server."""
