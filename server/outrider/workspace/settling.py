"""Waits until the editor has told of what happened to a document.

An editor may collect changes before it tells of them, and what it says of an edit proves nothing: only its text does.
"""

from collections.abc import Callable

from outrider.ports.clock import Clock
from outrider.ports.editor import Editor
from outrider.workspace.documents import Document, DocumentStore

Wanted = Callable[[Document | None], bool]


async def told_of_edit(
    editor: Editor, documents: DocumentStore, clock: Clock, uri: str, wanted: Wanted
) -> bool:
    """Wait until the editor has told of an edit that it says it made.

    Args:
        editor: The editor. One that tells of it only after the next key is given one by the person, who is asked for it.
        documents: Where its changes arrive.
        clock: Counts the time.
        uri: The document.
        wanted: Whether a text of it is the one that is waited for; None stands for no document.

    Returns:
        Whether it came.
    """
    await editor.catch_up()
    if await documents.until(uri, wanted, clock, editor.traits.settle_seconds):
        return True
    if not editor.traits.tells_at_next_key_seconds:
        return False
    editor.say("info", "Outrider: press a key, so that the editor tells of an edit that it made.")
    return await documents.until(uri, wanted, clock, editor.traits.tells_at_next_key_seconds)
