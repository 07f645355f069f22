"""A server of FastMCP: `fastmcp_server.py stdio|http PORT`."""

import sys
from dataclasses import dataclass

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.types import File, Image

server = FastMCP("fast", version="1.0")


@dataclass
class Weight:
    grams: float
    is_heavy: bool


@server.tool
def weigh(item: str) -> Weight:
    """Weigh an item"""
    return Weight(grams=len(item) * 100.0, is_heavy=len(item) > 5)


@server.tool
def refuse(item: str) -> str:
    """Refuse an item"""
    raise ToolError(f"There is no {item}")


@server.tool
def photograph() -> list:
    """Take a picture of the scales"""
    return ["Here.", Image(data=b"\x89PNG\r\n\x1a\n", format="png")]


@server.tool
def report() -> File:
    """Write a report, as a file"""
    return File(data=b"%PDF-1.7", format="pdf", name="report")


@server.tool
async def calibrate(steps: int, ctx: Context) -> str:
    """Calibrate the scales, with progress"""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "calibrated"


if sys.argv[1] == "stdio":
    server.run("stdio", show_banner=False)
else:
    server.run("http", port=int(sys.argv[2]), show_banner=False)
