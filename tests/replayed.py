"""Sessions of a test, run again from their logs."""

import json

from outrider import __version__
from outrider.replay.play import Replayed, play
from outrider.store.exported import contents_named
from outrider.store.log import Store
from outrider_protocol.export import Export
from outrider_protocol.notifications import Event


async def exports_of(state_dir):
    """Every session of a log, as it is."""
    store = await Store.open(state_dir)
    try:
        return [await export_of(store, row.session_id) for row in await store.sessions()]
    finally:
        await store.close()


async def export_of(store, session_id):
    events = await store.events(session_id)
    blobs = await store.blobs(
        {one.hash for event in events for one in contents_named(event.type, event.data)}
    )
    return Export(
        program=__version__,
        session_id=session_id,
        events=[
            Event(seq=e.seq, ts=e.ts, session_id=e.session_id, turn_id=e.turn_id, type=e.type, data=e.data)
            for e in events
        ],
        contents={digest: blob.decode("utf-8", "surrogatepass") for digest, blob in blobs.items()},
    )


async def assert_replays(state_dir):
    """Raise AssertionError at the first event of any session that a replay does not give again."""
    for export in await exports_of(state_dir):
        replayed = await play(export)
        assert isinstance(replayed, Replayed), replayed
        difference = replayed.difference
        assert difference is None, (
            f"event {difference.seq} of {export.session_id}\n"
            f"log:    {json.dumps(difference.expected, ensure_ascii=False)}\n"
            f"replay: {json.dumps(difference.got, ensure_ascii=False)}\n"
            f"before: {[(event.seq, event.type) for event in export.events[: difference.seq][-12:]]}"
        )
