"""A command whose server was killed: in mode `auto` the copies of the files from before it are there still."""

import asyncio
import json
from typing import Any, cast

from outrider.ports.model import ToolCall
from outrider.tools.context import ToolContext
from outrider.tools.registry import interrupted
from outrider.tools.run_command import put_back
from outrider.tools.run_command.effects import left_behind
from outrider.tools.run_command.put_back import named


async def settle(call: ToolCall, context: ToolContext, /, *, may_ask: bool) -> str | None:
    """Say that a command was cut off, and offer to put back what is not as it was before it.

    Args:
        call: The call, whose effect had begun.
        context: Its turn.
        may_ask: Whether the user can be asked now.

    Returns:
        What the result of the call says; None where that waits until the user can be asked.
    """
    command = _command(call)
    told = interrupted(f"`{command}`" if command else call.name)
    kept = await context.workspace.census.lost(context.log.turn_id, call.id)
    if kept is None:
        return told
    if not may_ask:
        return None
    lost, forget = kept
    found = await asyncio.to_thread(left_behind, context.workspace.folders, lost)
    said = await put_back.offer(context, call, command, found, cut_off=True)
    await context.log.settled()
    await asyncio.to_thread(forget)
    return f"{told} [not as before it: {named(found)}; {'; '.join(said)}]" if found else told


def _command(call: ToolCall) -> str:
    try:
        given: Any = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return ""
    command = cast("dict[str, Any]", given).get("command") if isinstance(given, dict) else None
    return command.strip() if isinstance(command, str) else ""
