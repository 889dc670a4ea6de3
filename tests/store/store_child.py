"""Programs that the store's tests run as processes of their own, by name, with the state folder as argument."""

import asyncio
import resource
import sys
from pathlib import Path

from outrider.ports.events import LoggedEvent
from outrider.store.log import Store


def _event(seq: int, session_id: str) -> LoggedEvent:
    return LoggedEvent(
        seq, "2026-01-01T00:00:00.000Z", session_id, None, "tool.finished", {"content": "x" * 200}
    )


async def _open(state: Path) -> Store:
    store = await Store.open(state)
    assert isinstance(store, Store), store
    return store


async def append_for_ever(state: Path) -> None:
    """Append and flush until killed; print each seq once it is acknowledged."""
    store = await _open(state)
    seq = await store.last_seq("ses_killed")
    while True:
        for _ in range(seq % 7 + 1):
            seq += 1
            store.append(_event(seq, "ses_killed"), blobs={f"{seq:032d}": b"blob %d" % seq})
        assert await store.flush(durable=seq % 5 == 0) is None
        print(seq, flush=True)


async def append_many(state: Path) -> None:
    """Append 300 events to a session of this process alone, each flushed."""
    store = await _open(state)
    for seq in range(1, 301):
        store.append(_event(seq, sys.argv[3]))
        assert await store.flush() is None
    assert await store.close() is None
    print("done", flush=True)


async def hold_lock(state: Path) -> None:
    """Hold the lock of a session until killed."""
    store = await _open(state)
    lock = store.lock("ses_1")
    assert lock is not None
    print("held", flush=True)
    await asyncio.Event().wait()
    lock.release()


async def fill_disk(state: Path) -> None:
    """Meet a full disk (no file may grow), then get room again."""
    store = await _open(state)
    published: list[int] = []
    store.subscribe(lambda event: published.append(event.seq))
    store.append(_event(1, "ses_1"))
    assert await store.flush() is None
    limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = max(file.stat().st_size for file in state.iterdir() if file.is_file())
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    for seq in range(2, 402):
        store.append(_event(seq, "ses_1"))
    problem = await store.flush(durable=True)
    assert problem is not None
    assert problem.reason == "unwritable", problem
    assert "outrider-2.sqlite3" in problem.message
    committed = len(await store.events("ses_1"))
    assert published == list(range(1, committed + 1))
    assert committed < 401
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    assert await store.flush(durable=True) is None
    assert published == list(range(1, 402))
    assert [event.seq for event in await store.events("ses_1")] == published
    assert await store.close() is None
    print("done", flush=True)


if __name__ == "__main__":
    programs = {p.__name__: p for p in (append_for_ever, append_many, hold_lock, fill_disk)}
    asyncio.run(programs[sys.argv[1]](Path(sys.argv[2])))
