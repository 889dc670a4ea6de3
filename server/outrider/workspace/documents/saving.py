"""Having the client save documents. Only what it does counts: a `didSave`, or the buffer's text on disk."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from outrider.ports.clock import Clock
from outrider.ports.editor import Editor, SaveWay
from outrider.workspace.documents.documents import Document, DocumentStore
from outrider.workspace.documents.overlay import Overlay

UNPROVEN = "the editor did not confirm the save, and the file on disk has other text"


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one way to have documents saved."""

    way: SaveWay
    saved: tuple[str, ...]
    """URIs of the documents that are saved now."""
    failed: Mapping[str, str]
    """By URI why the others are not."""


async def have_saved(
    uris: Sequence[str], overlay: Overlay, documents: DocumentStore, editor: Editor, clock: Clock
) -> list[Tried]:
    """Have the client save documents, in all its ways until nothing is left.

    Args:
        uris: The documents.
        overlay: Says which differ from the disk.
        documents: The open documents.
        editor: The client.
        clock: Counts how long a save may take to show.

    Returns:
        What was tried; nothing where the client cannot be asked to save.
    """
    tried: list[Tried] = []
    waiting = list(uris)
    for way, fewest in editor.traits.save_ways:
        there = {uri: found for uri in waiting if (found := documents.get(uri)) is not None}
        if len(there) < max(fewest, 1):
            continue
        refused = await editor.save(way, {uri: document.version for uri, document in there.items()})
        seconds = editor.traits.settle_seconds
        unsaved = await _unsaved(there, refused, seconds, overlay, documents, clock)
        failed = {uri: refused.get(uri, UNPROVEN) for uri in there if uri in unsaved}
        tried.append(Tried(way, tuple(uri for uri in there if uri not in unsaved), failed))
        waiting = list(failed)
    return tried


async def _unsaved(
    there: Mapping[str, Document],
    refused: Mapping[str, str],
    seconds: float,
    overlay: Overlay,
    documents: DocumentStore,
    clock: Clock,
) -> set[str]:
    """Which of these documents are not saved; what the client does not deny gets some time to show."""

    def is_settled(uri: str) -> bool:
        now = documents.get(uri)
        return now is None or now.saves > there[uri].saves

    unsaved = set(await overlay.unsaved())
    awaited = [uri for uri in there if uri in unsaved and uri not in refused and not is_settled(uri)]
    await asyncio.gather(
        *(documents.until(uri, lambda _, uri=uri: is_settled(uri), clock, seconds) for uri in awaited)
    )
    if awaited:
        unsaved = set(await overlay.unsaved())
    return {uri for uri in there if uri in unsaved and not is_settled(uri)}


Wanted = Callable[[Document | None], bool]


async def told_of_edit(
    editor: Editor, documents: DocumentStore, clock: Clock, uri: str, wanted: Wanted
) -> bool:
    """Wait until the editor has told of an edit that it says it made.

    Args:
        editor: The editor. One that tells of it only after the next key is given one by the user, who is asked for it.
        documents: Where its changes arrive.
        clock: Counts the time.
        uri: The document.
        wanted: Whether a text of it is the one that is waited for; None stands for no document.

    Returns:
        Whether it came.
    """
    await editor.catch_up([uri])
    if await documents.until(uri, wanted, clock, editor.traits.settle_seconds):
        return True
    if not editor.traits.tells_at_next_key_seconds:
        return False
    editor.say("info", "Outrider: press any key, so that the editor reports the edit it made.")
    return await documents.until(uri, wanted, clock, editor.traits.tells_at_next_key_seconds)
