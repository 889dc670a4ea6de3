"""Sessions of a test, run again from their logs."""

import gzip
import hashlib
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from everyday import is_thorough
from outrider import __version__
from outrider.replay.play import Replayed, play
from outrider.store.exported import contents_named
from outrider.store.log import Store
from outrider.store.schema import FILE_NAME
from outrider_protocol.export import Export
from outrider_protocol.notifications import Event


class KEPT:
    """Where all processes of a test run keep the sessions that their tests recorded."""

    folder = None


TOLD_APART = frozenset({"decision", "kind", "mode", "name", "outcome", "phase", "status", "tool"})
"""Keys of event data whose values decide what the loop does; of others it counts whether they are there."""


async def exports_of(state_dir):
    """Every session of a log, as it is."""
    store = await Store.open(state_dir)
    try:
        return [await export_of(store, row.session_id) for row in await store.sessions()]
    finally:
        await store.close()


async def export_of(store, session_id):
    events = await store.events(session_id)
    blobs = await store.blobs({one.hash for event in events for one in contents_named(event)})
    return Export(
        program=__version__,
        session_id=session_id,
        events=[
            Event(seq=e.seq, ts=e.ts, session_id=e.session_id, turn_id=e.turn_id, type=e.type, data=e.data)
            for e in events
        ],
        contents={digest: blob.decode("utf-8", "surrogatepass") for digest, blob in blobs.items()},
    )


async def keep_sessions(state_dir):
    """Keep the sessions of a log for the test that replays them (`replay/test_all_sessions.py`).

    The first session of each shape is kept: what another editor did in the same way needs the same inputs. Under
    `--hypothesis-profile=search` all are.
    """
    name = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    every = is_thorough()
    paths = {}
    for session_id, shape in shapes_of(state_dir).items():
        key = repr((shape, name if every else ""))
        path = KEPT.folder / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}.json.gz"
        if not path.exists():
            paths[session_id] = path
    # Most are known by now, and to open a log as its owner does costs a tenth of a whole session.
    for export in await exports_of(state_dir) if paths else []:
        if (path := paths.get(export.session_id)) is None:
            continue
        text = json.dumps({"test": name, "export": export.to_wire()}).encode("utf-8", "surrogatepass")
        KEPT.folder.mkdir(parents=True, exist_ok=True)
        path.with_suffix(f".{os.getpid()}").write_bytes(gzip.compress(text, 1))
        path.with_suffix(f".{os.getpid()}").rename(path)


def shapes_of(state_dir):
    """The shape of every session of a log that nobody has open, by its id."""
    path, shapes = Path(state_dir).absolute() / FILE_NAME, {}
    if not path.exists():
        return shapes
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        for session_id, kind, data in connection.execute(
            "SELECT session_id, type, data FROM events ORDER BY session_id, seq"
        ):
            shapes.setdefault(session_id, []).append((kind, shape_of(json.loads(data))))
    return shapes


def shape_of(value, key=""):
    """Event data without the texts and numbers that decide nothing."""
    if isinstance(value, dict):
        return tuple((name, shape_of(one, name)) for name, one in sorted(value.items()))
    if isinstance(value, list):
        return tuple(dict.fromkeys(shape_of(one, key) for one in value))
    return value if key in TOLD_APART or isinstance(value, bool) else type(value).__name__


async def replay_sessions(state_dir):
    """Replay every session of a log now, for a test that changed the loop."""
    for export in await exports_of(state_dir):
        assert difference_of(await play(export), export) is None


def difference_of(replayed, export):
    """What a replay says, in words; None where it came to the end of the log."""
    assert isinstance(replayed, Replayed), replayed
    if (difference := replayed.difference) is None:
        return None
    return (
        f"event {difference.seq} of {export.session_id}\n"
        f"log:    {json.dumps(difference.expected, ensure_ascii=False)}\n"
        f"replay: {json.dumps(difference.got, ensure_ascii=False)}\n"
        f"before: {[(event.seq, event.type) for event in export.events[: difference.seq][-12:]]}"
    )
