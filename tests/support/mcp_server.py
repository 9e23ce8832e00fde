"""A real MCP server over stdio, for tests; its tools return rows, items, and an error."""

from typing import Any

try:
    from mcp.server import MCPServer
except ImportError:
    # Releases before 2.0 of the package.
    from mcp.server.fastmcp import FastMCP as MCPServer
server = MCPServer("ads")


@server.tool()
def list_rows(count: int) -> dict[str, Any]:
    """Lists that many rows of a report."""
    return {"account": "a1", "rows": [{"id": n, "name": f"campaign {n}", "clicks": n * 3} for n in range(count)]}


@server.tool()
def list_items(count: int) -> list[dict[str, Any]]:
    """Lists that many items, one content part each."""
    return [{"id": n, "clicks": n * 3} for n in range(count)]


@server.tool()
def fail(reason: str) -> dict[str, Any]:
    """Fails."""
    raise ValueError(reason)


if __name__ == "__main__":
    server.run()
