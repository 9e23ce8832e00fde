"""An MCP server over stdio with one tool; `agent.py` starts it."""

from importlib import import_module
from typing import Any

try:
    kind: Any = import_module("mcp.server").MCPServer
except AttributeError:
    # Releases of the package before 2.0.
    kind = import_module("mcp.server.fastmcp").FastMCP


def list_stock() -> dict[str, Any]:
    """Lists what is in stock."""
    return {"items": [{"sku": f"A-{n}", "count": n % 17} for n in range(800)]}


server = kind("stock")
server.tool()(list_stock)

if __name__ == "__main__":
    server.run()
