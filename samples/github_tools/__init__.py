"""The tools of GitHub's MCP server, on demand."""
