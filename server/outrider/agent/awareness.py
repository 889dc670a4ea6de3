"""Tells the model what others changed in the files it has seen, before it goes on.

Each change is recorded first, with the words in which the model is told, so that the log has the input. It is told
once: from then on the text of now is the one that the model has seen.
"""

import asyncio
from collections.abc import Mapping

from outrider.agent.record import Record
from outrider.agent.services import Services
from outrider.permissions.secret_files import is_secret_file
from outrider.ports.model import content_hash
from outrider.tools.changes import encode, wire_hunks
from outrider.tools.context import SeenText
from outrider.tools.told import telling, telling_without
from outrider.workspace.merge import merge
from outrider.workspace.overlay import is_alike
from outrider.workspace.seen import Sight
from outrider.workspace.sightings import Moved
from outrider_protocol.events import WorkspaceChanged


async def look_around(services: Services, record: Record, turn_id: str) -> None:
    """Record what others changed in the files that the model has seen.

    Args:
        services: The house.
        record: The session's log.
        turn_id: The turn that is about to ask the model.
    """
    record.let_in()
    seen = record.state.seen
    sights = {
        path: sight for path in seen if (sight := seen.get(path)) is not None and not is_secret_file(path)
    }
    # After a change of its own in a text it had not seen, there is something to tell in any case.
    expected = {path: "" if sight.own else sight.hash for path, sight in sights.items()}
    moved = await services.sightings.moved(expected)
    found: list[tuple[WorkspaceChanged, dict[str, bytes]]] = []
    for one in moved:
        known = await seen_text(services, record, sights[one.path])
        if known is None or not is_alike(known.text, one.text) or one.why_not:
            found.append(await _event(record, one, known))
    # All at once, so that nothing else comes between them.
    for event, blobs in found:
        if seen.get(event.path) is sights[event.path]:
            record.append(event, turn_id=turn_id, blobs=blobs)


async def seen_text(
    services: Services, record: Record, sight: Sight, at_hand: Mapping[str, str] | None = None
) -> SeenText | None:
    """What the model has seen of a file, with its own changes since; None: the log does not hold it any more."""
    wanted = {digest for pair in ((sight.hash,), *sight.own) for digest in pair if digest is not None}
    texts = dict(at_hand or {})
    if missing := wanted - texts.keys():
        await record.settled()
        blobs = await services.store.blobs(missing)
        texts |= {digest: blob.decode("utf-8", "surrogatepass") for digest, blob in blobs.items()}
    if sight.hash is not None and sight.hash not in texts:
        return None
    text = None if sight.hash is None else texts[sight.hash]

    def with_own() -> str | None:
        result = text
        for before, after in sight.own:
            if result is not None and before in texts and after in texts:
                result = merge(texts[before], result, texts[after]).text
        return result

    if not sight.own or text is None:
        return SeenText(text, sight.whole)
    return SeenText(await asyncio.to_thread(with_own), sight.whole)


async def _event(
    record: Record, moved: Moved, known: SeenText | None
) -> tuple[WorkspaceChanged, dict[str, bytes]]:
    by = "undo" if _taken_back(record, moved) else moved.where
    was = known.text if known is not None else None
    told = (
        await asyncio.to_thread(telling, moved.path, was, moved.text, by, moved.why_not)
        if known is not None
        else telling_without(moved.path, by)
    )
    blobs: dict[str, bytes] = {}
    hashes: list[str | None] = []
    for text in (was, moved.text):
        encoded = None if text is None else encode(text)
        hashes.append(None if encoded is None else content_hash(encoded))
        if encoded is not None:
            blobs[content_hash(encoded)] = encoded
    hunks = await asyncio.to_thread(wire_hunks, was or "", moved.text or "") if told.compared else []
    event = WorkspaceChanged(
        path=moved.path,
        hunks=hunks,
        before=hashes[0],
        after=hashes[1],
        by=by,
        told=told.text,
        whole=None if told.whole else False,
    )
    return event, blobs


def _taken_back(record: Record, moved: Moved) -> bool:
    """Whether the latest change of the session in that file was an undo or redo, and left this text."""
    for change in reversed(record.state.journal.changes()):
        if moved.path in {change.path, change.to}:
            return change.undoes is not None and change.after == moved.hash
    return False
