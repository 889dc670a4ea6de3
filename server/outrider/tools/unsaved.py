"""Unsaved text in open documents that is in the way of a call: the agent's own is saved, anybody else's stays."""

from collections.abc import Awaitable, Callable, Sequence

from outrider.ports.model import ToolCall
from outrider.ports.text import Snapshot
from outrider.tools.context import EditContext, ToolResult, error
from outrider.workspace.paths import Located
from outrider_protocol.events import NotSaved, WorkspaceSaved

UNSAVED = "is open with unsaved changes; they have to be saved first"
"""Why a file can neither be deleted nor renamed."""
OWN_UNSAVED = (
    "is open with unsaved changes of yours, which the editor did not save; the user has to save them first"
)
"""The same, where only the agent changed it."""


async def saved_by_client(uris: Sequence[str], call: ToolCall, context: EditContext) -> bool:
    """Have the client save what it can, without a question: the changes in these buffers were allowed; False if it can save nothing."""
    shown = context.workspace.folders.display_of
    attempts = await context.buffers.have_saved(uris)
    for tried in attempts:
        failed = [NotSaved(path=shown(uri), reason=reason) for uri, reason in tried.failed.items()]
        saved = [shown(uri) for uri in tried.saved]
        context.log.record(WorkspaceSaved(call_id=call.id, by=tried.way, paths=saved, failed=failed or None))
    return bool(attempts)


async def is_own(located: Located, snapshot: Snapshot, context: EditContext) -> bool:
    """Whether all that is unsaved in a document was put there by this session, so that nobody is asked about it."""
    on_disk = await context.workspace.overlay.on_disk(located)
    return on_disk is not None and context.buffers.is_own_work(located.display, on_disk.text, snapshot.text)


def saving(
    files: Sequence[Located], call: ToolCall, context: EditContext
) -> Callable[[], Awaitable[ToolResult | None]] | None:
    """What has these files saved before a call has its effect; None where there are none."""

    async def prepare() -> ToolResult | None:
        documents = [await context.workspace.overlay.document_of(file) for file in files]
        await saved_by_client([one.uri for one in documents if one is not None], call, context)
        unsaved = set(await context.workspace.overlay.unsaved())
        left = [
            file.shown
            for file, one in zip(files, documents, strict=True)
            if one is not None and one.uri in unsaved
        ]
        return error(f"{', '.join(left)} {OWN_UNSAVED}.") if left else None

    return prepare if files else None
