"""The tool `remember`: proposes a line for a file of memory, which every session begins with. The user is asked each time.

A line of memory is told to every later session, so no mode and no rule writes one unasked: a yes is for one line.
"""

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field

from outrider.permissions.policy.decide import Access
from outrider.permissions.policy.own_file import MOST_BYTES, locked, replace_text
from outrider.ports.model import ToolCall
from outrider.ports.text import spelled_out
from outrider.tools.context import Action, ToolContext, ToolResult, error, ok
from outrider.tools.registry import Params, Tool, VaryingTool

NAME: Final = "remember"
LONGEST: Final = 500
"""Characters of a line."""
HEADING: Final = (
    "# Memory\n\nEach session of Outrider is told these lines. Edit and delete them as you like.\n"
)

Scope = Literal["workspace", "user"]


class Line(Params):
    """What to remember."""

    text: str = Field(min_length=1, max_length=LONGEST)
    scope: Scope = "workspace"


def remember_tool(place_of: Callable[[Scope], Path | None]) -> Tool[Any]:
    """The tool.

    Args:
        place_of: The file of a scope; None where there is none.
    """

    async def plan(params: Line, _call: ToolCall, _context: ToolContext) -> Action | ToolResult:
        path, line = place_of(params.scope), " ".join(params.text.split())
        if path is None:
            return error("No folder is open, so there is no memory of a workspace. Use the scope user.")

        async def perform() -> ToolResult:
            try:
                known = await asyncio.to_thread(_add, path, line, may_be_link=params.scope == "user")
            except (OSError, UnicodeError) as problem:
                return error(f"The line was not saved: {problem}")
            return ok(f"It was known already, in {path}." if known else f"Saved in {path}.")

        of = "this workspace" if params.scope == "workspace" else "you, in every workspace"
        key = f"{path}\0{line}"
        return Action(
            access=Access("edit", inside=False, asks=f"every later session about {of} is told it"),
            perform=perform,
            title=f"Remember: {spelled_out(line)}",
            detail=f"This line is added to {path}. Each later session is told it.",
            digest=hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest(),
        )

    told = "Propose a line that later sessions are told, where the user states a lasting preference or fact. They are asked."
    return VaryingTool(NAME, told, "edit", Line, plan)


def _add(path: Path, line: str, *, may_be_link: bool) -> bool:
    """Add a line to a file; whether it was there. Blocks.

    Raises:
        OSError: It cannot be written, or leads elsewhere.
    """
    if not may_be_link and (path.is_symlink() or path.parent.is_symlink()):
        raise OSError(f"{path} is a link")
    with locked(path):
        if path.exists() and path.stat().st_size > MOST_BYTES:
            raise OSError(f"{path} has more than {MOST_BYTES} bytes")
        text = path.read_text("utf-8") if path.exists() else HEADING
        entry = f"- {line}"
        if entry in text.splitlines():
            return True
        replace_text(path, f"{text.rstrip()}\n{entry}\n" if text.strip() else f"{HEADING}{entry}\n")
    return False
