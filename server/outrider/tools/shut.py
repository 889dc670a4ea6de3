"""Files that are shut: nothing of them is told before the person said yes to reading them."""

from outrider.tools.context import ToolContext
from outrider.tools.result import ToolResult, error
from outrider.workspace.paths import Located


async def unseen(located: Located, context: ToolContext) -> ToolResult | None:
    """Why a file must not be looked through for an edit, None where it may: what is not found in it would be told.

    Args:
        located: The file.
        context: The turn.
    """
    why = context.why_shut(located.names)
    if why is None or await context.seen(located.display) is not None:
        return None
    return error(f"{located.display} is shut: {why}. Read it first; the person decides about that.")
