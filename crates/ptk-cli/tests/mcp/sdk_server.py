"""A server of the official Python SDK: `sdk_server.py stdio|http PORT`."""

import sys

from mcp.server.mcpserver import Context, Image, MCPServer

server = MCPServer("sdk", version="1.0")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers"""
    return a + b


@server.tool()
async def work(ctx: Context, steps: int) -> str:
    """Work in steps, with progress"""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "done"


@server.tool()
def draw() -> Image:
    """Draw a picture"""
    return Image(data=b"\x89PNG\r\n\x1a\n", format="png")


if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    server.run("streamable-http", port=int(sys.argv[2]), json_response="json" in sys.argv)
