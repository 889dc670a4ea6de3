"""The texts of files in the log: each version costs what changed, and comes back whole."""

import asyncio
import random
import sqlite3
import time
import zlib
from collections.abc import AsyncGenerator
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.ports.clock import SteppingClock
from outrider.ports.events import LoggedEvent
from outrider.ports.model import content_hash
from outrider.store import blobs, retention
from outrider.store.delta import difference, patched
from outrider.store.log import Store, StoreReadError
from outrider.store.retention import Retention, give_up_old_texts
from outrider.store.schema import FILE_NAME
from outrider_protocol.settings import StoreSettings

LINES = st.lists(
    st.sampled_from(
        [b"a\n", b"b\n", b"{\n", b"\n", b"c\r\n", b"d\r", b"longer line\n", "é\n".encode(), b"\xff\0"]
    ),
    max_size=30,
).map(b"".join)


async def opened(state: Path) -> Store:
    store = await Store.open(state)
    assert isinstance(store, Store), store
    return store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store, None]:
    store = await opened(tmp_path / "state")
    yield store
    await store.close()


class Typing:
    """A session that changes texts of files."""

    def __init__(self, store: Store, session_id: str = "ses_1", day: int = 1) -> None:
        self._store = store
        self._session_id = session_id
        self._ts = f"2026-01-{day:02d}T00:00:00.000Z"
        self._seq = 0
        self.texts: dict[str, bytes] = {}
        self.event("session.started", folders=["file:///w"])

    def event(self, type_: str, contents: dict[str, bytes] | None = None, **data: Any) -> None:
        self._seq += 1
        event = LoggedEvent(self._seq, self._ts, self._session_id, None, type_, data)
        self._store.append(event, blobs=contents or {})

    def change(self, before: bytes | None, after: bytes | None, path: str = "a.py") -> None:
        """A change as the agent records it."""
        texts = {"before": before, "after": after}
        named = {key: content_hash(text) for key, text in texts.items() if text is not None}
        contents = {named[key]: text for key, text in texts.items() if text is not None}
        self.texts.update(contents)
        for type_ in ("edit.proposed", "edit.applying", "edit.applied"):
            self.event(type_, contents, path=path, **named)

    async def come_back(self) -> bool:
        assert await self._store.flush() is None
        one_by_one = {digest: await self._store.blob(digest) for digest in self.texts}
        return await self._store.blobs(self.texts) == self.texts == one_by_one


@given(LINES, LINES)
def test_a_difference_brings_the_other_content(old: bytes, new: bytes) -> None:
    assert patched(old, difference(old, new)) == new
    assert difference(old, old) == b""


@pytest.mark.timeout(20)
@pytest.mark.parametrize("end", [b"\r", b"%\r", b"\r\n", b"\n", b"\x0c"])
def test_a_difference_of_lines_with_any_ends_comes_to_its_end(end: bytes) -> None:
    old = b"".join(b"%d" % number + end for number in range(40)) + b"done\n"
    for number in range(40):
        for new in (old.replace(b"%d" % number + end, b"new" + end), old.replace(b"%d" % number + end, b"")):
            assert patched(old, difference(old, new)) == new
            assert patched(new, difference(new, old)) == old


@given(LINES, st.binary(max_size=60) | LINES.map(lambda new: difference(b"another\n" * 9, new)))
def test_what_is_no_difference_is_told_or_gives_something_else(old: bytes, delta: bytes) -> None:
    with suppress(ValueError):
        assert isinstance(patched(old, delta), bytes)


@pytest.mark.parametrize("repeating", [False, True])
def test_a_difference_in_many_places_is_small(repeating: bool) -> None:
    old = [f"{'    return' if repeating and n % 4 else n}\n".encode() for n in range(20_000)]
    new = [b"changed\n" if n % 500 == 7 else line for n, line in enumerate(old) if n % 999]
    assert len(difference(b"".join(old), b"".join(new))) < 6000


def sized(state: Path) -> int:
    """Bytes of all contents and of what is kept about them, page by page."""
    with closing(sqlite3.connect(state / FILE_NAME)) as connection:
        connection.execute("DROP INDEX landmarks")
        connection.execute("DROP INDEX turn_begins")
        connection.execute("DROP TABLE events")
        connection.commit()
        connection.execute("VACUUM")
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        return pages * size


@pytest.mark.parametrize("edits", [100, 1100])
async def test_texts_take_the_first_one_and_then_the_hunks(tmp_path: Path, edits: int) -> None:
    rng, store = random.Random(4), await opened(tmp_path)
    session = Typing(store)
    lines = [f"    value_{n} = compute({rng.random()}, {n % 7})\n".encode() for n in range(20_000)]
    text = b"".join(lines)
    first = len(zlib.compress(text, 1))
    hunks = compressed = 0
    for number in range(edits):
        before = text
        for at in {rng.randrange(20_000) // 2 * 2 for _ in range(rng.choice([1, 1, 1, 3]))}:
            removed, lines[at] = lines[at], f"    value_{at} = changed({number}, {rng.random()})\n".encode()
            hunks += 1
            compressed += len(zlib.compress(removed + lines[at], 1))
        text = b"".join(lines)
        session.change(before, text)
        session.texts.clear()  # they would be a gigabyte
        if number % 10 == 0:
            assert await store.flush() is None
    assert await store.flush() is None
    began = time.perf_counter()
    assert await store.blob(content_hash(text)) == text
    assert time.perf_counter() - began < 2
    await store.close()
    size = sized(tmp_path)
    assert size <= 1.1 * (first + compressed) + 200 * hunks


async def test_versions_of_many_texts_come_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs, "MOST_DELTAS", 5)
    rng, session = random.Random(1), Typing(store)
    now: dict[str, bytes] = {}
    for number in range(200):
        path = rng.choice(["a", "b"])
        lines = now.get(path, b"".join(b"line %d\n" % n for n in range(40))).splitlines(keepends=True)
        lines[rng.randrange(len(lines))] = b"changed %d\n" % number
        if rng.random() < 0.2:  # somebody else writes in between
            lines.insert(0, b"mine %d\n" % number)
        after = b"".join(lines)
        session.change(now.get(path), after, path)
        now[path] = after
    assert await session.come_back()


async def test_a_chain_ends_and_what_has_nothing_in_common_is_whole(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "MOST_DELTAS", 3)
    session = Typing(store)
    text = b"".join(b"line %d\n" % n for n in range(100))
    for number in range(8):
        session.change(text, text + b"more %d\n" % number)
        text += b"more %d\n" % number
    session.change(text, b"all new\n" * 9)
    session.event("workspace.changed", {content_hash(b"x"): b"x"}, path="a.py", after=content_hash(b"x"))
    assert await session.come_back()
    with closing(sqlite3.connect(tmp_path / "state" / FILE_NAME)) as connection:
        depths = [depth for (depth,) in connection.execute("SELECT depth FROM blobs ORDER BY id")]
    assert depths == [0, 1, 2, 3, 0, 1, 2, 3, 0, 0, 0]


async def read_anew(state: Path, digest: str) -> bytes | None:
    other = await opened(state)
    try:
        return await other.blob(digest)
    finally:
        await other.close()


async def test_a_text_whose_first_one_is_damaged_is_told_and_nothing_stops(
    store: Store, tmp_path: Path
) -> None:
    session = Typing(store)
    first, second, third = (b"line\n" * 50 + b"%d\n" % n for n in range(3))
    session.change(first, second)
    assert await session.come_back()
    with closing(sqlite3.connect(tmp_path / "state" / FILE_NAME)) as connection, connection:
        connection.execute(
            "UPDATE blobs SET content = ? WHERE depth = 0", (zlib.compress(b"LINE\n" * 50 + b"0\n"),)
        )
    with pytest.raises(StoreReadError, match="not what was stored"):
        await read_anew(tmp_path / "state", content_hash(second))
    session.event("edit.applying", {content_hash(third): third}, path="a.py", after=content_hash(third))
    assert await store.flush() is None
    with closing(sqlite3.connect(tmp_path / "state" / FILE_NAME)) as connection, connection:
        connection.execute("DELETE FROM blobs WHERE depth = 0")
    with pytest.raises(StoreReadError, match="the text is missing that others are changes of"):
        await read_anew(tmp_path / "state", content_hash(second))
    session.change(third, first)
    assert await store.flush() is None
    assert await read_anew(tmp_path / "state", content_hash(first)) == first
    with closing(sqlite3.connect(tmp_path / "state" / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE blobs SET base = id WHERE base IS NOT NULL")
    with pytest.raises(StoreReadError, match="change of a later one"):
        await read_anew(tmp_path / "state", content_hash(second))


async def test_a_content_that_is_a_text_and_a_message_stays_one(store: Store) -> None:
    session = Typing(store)
    session.change(None, b"said\n")
    session.event("model.requested", {content_hash(b"said\n"): b"said\n"})
    assert await session.come_back()


# --- how long they are kept ----------------------------------------------------------------------------------


NOW = datetime.fromisoformat("2026-02-01T00:00:00+00:00")


async def filled(store: Store, count: int) -> list[Typing]:
    """Sessions, the first one the oldest, each with 60 texts of two files that share nothing with another session."""
    sessions: list[Typing] = []
    for number in range(1, count + 1):
        session = Typing(store, f"ses_{number}", number)
        for path in ("a", "b"):
            text = random.Random(f"{number}{path}").randbytes(20_000).hex().encode()
            for version in range(30):
                session.change(text, text + b"%d\n" % version, path)
                text += b"%d\n" % version
        sessions.append(session)
    assert await store.flush() is None
    return sessions


async def kept(store: Store, sessions: list[Typing]) -> list[int]:
    return [len(await store.blobs(one.texts)) for one in sessions]


async def test_the_oldest_sessions_lose_their_texts_until_the_log_is_small_enough(
    store: Store, tmp_path: Path
) -> None:
    sessions = await filled(store, 5)
    everything = await kept(store, sessions)
    size = await store.texts_size()
    with sqlite3.connect(tmp_path / "state" / FILE_NAME) as looking:
        (pages,), (bytes_of_page,) = (
            looking.execute(f"PRAGMA {one}").fetchone() for one in ("page_count", "page_size")
        )
    looking.close()
    events = await store.events("ses_1")
    await give_up_old_texts(store, NOW, StoreSettings(max_bytes=size))
    assert await kept(store, sessions) == everything
    await give_up_old_texts(store, NOW, StoreSettings(max_bytes=size * 3 // 4))
    left = await kept(store, sessions)
    assert left == sorted(left)
    assert (left[0], left[-1]) == (0, everything[-1])
    assert await store.texts_size() <= size * 3 // 4
    await store.close()
    assert (tmp_path / "state" / FILE_NAME).stat().st_size <= pages * bytes_of_page * 9 // 10, (
        "the room is given back"
    )
    again = await opened(tmp_path / "state")
    assert await again.events("ses_1") == events
    await again.close()


async def test_one_run_does_a_bounded_piece_of_work(store: Store) -> None:
    sessions = await filled(store, 3)
    everything = await kept(store, sessions)
    await give_up_old_texts(store, NOW, StoreSettings(max_bytes=0), pieces=1)
    assert await kept(store, sessions) != [0, 0, 0]
    assert (await kept(store, sessions))[1:] == everything[1:]
    await give_up_old_texts(store, NOW, StoreSettings(max_bytes=0))
    assert await kept(store, sessions) == [0, 0, 0]


async def test_a_session_that_is_open_or_parked_loses_nothing(store: Store) -> None:
    sessions = await filled(store, 3)
    everything = await kept(store, sessions)
    sessions[0].event("turn.started", prompt="x")
    sessions[0].event("turn.parked", open=[])
    assert await store.flush() is None
    lock = store.lock("ses_2")
    assert lock is not None
    await give_up_old_texts(store, NOW.replace(year=2027), StoreSettings(max_bytes=0))
    assert await kept(store, sessions) == [*everything[:2], 0]
    lock.release()


async def test_after_some_months_texts_go_whatever_room_there_is(store: Store) -> None:
    sessions = await filled(store, 3)
    everything = await kept(store, sessions)
    then = datetime.fromisoformat("2026-01-02T00:00:01+00:00") + timedelta(days=9)
    assert await give_up_old_texts(store, then, StoreSettings(keep_days=11)) == []
    assert await kept(store, sessions) == everything
    await give_up_old_texts(store, then, StoreSettings(keep_days=9))
    assert await kept(store, sessions) == [0, 0, everything[2]]


async def test_what_cannot_be_given_up_does_not_count(store: Store) -> None:
    (session,) = await filled(store, 1)
    size = await store.texts_size()
    everything = await kept(store, [session])
    talk = random.Random(1).randbytes(200_000)
    session.event("model.requested", {content_hash(talk): talk})
    assert await store.flush() is None
    assert await store.texts_size() == size
    assert await give_up_old_texts(store, NOW, StoreSettings(max_bytes=size)) == []
    assert await kept(store, [session]) == everything
    assert await give_up_old_texts(store, NOW, StoreSettings(max_bytes=size - 1)) == ["ses_1"]


async def test_what_is_used_elsewhere_stays(store: Store) -> None:
    old, new = Typing(store, "ses_old", 1), Typing(store, "ses_new", 2)
    first, second, third = (b"line\n" * 100 + b"%d\n" % number for number in range(3))
    old.change(first, second)
    new.change(second, third)
    said = {content_hash(first[:9]): first[:9]}
    old.change(first[:9], first)
    new.event("model.requested", said)
    assert await store.flush() is None
    lock = store.lock("ses_new")
    await give_up_old_texts(store, NOW, StoreSettings(max_bytes=0))
    assert lock is not None
    assert await new.come_back()
    assert await store.blobs(said) == said
    new.change(third, first)
    assert await new.come_back()


async def test_it_is_looked_in_the_background_and_ends_with_the_store(store: Store) -> None:
    (session,) = await filled(store, 1)
    clock = SteppingClock(NOW.replace(year=2027))
    told: list[str] = []
    running = Retention(store, clock, StoreSettings(keep_days=36_500, max_bytes=0), told.append)
    for _ in range(1000):
        if not await store.blobs(session.texts):
            break
    else:
        pytest.fail("nothing was given up")
    for number in range(2, 4):
        more = Typing(store, f"ses_{number}", number)
        more.change(b"one\n", b"two\n")
        assert await store.flush() is None
        for _ in range(1000):
            if not await store.blobs(more.texts):
                break
    await running.close()
    assert session.texts
    (said,) = told
    assert "reached the limit of 0 bytes (store.maxBytes)" in said
    assert said.endswith("can no longer be undone: ses_1.")


async def test_a_clock_that_is_put_years_forward_makes_no_session_old(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = await filled(store, 2)
    everything = await kept(store, sessions)

    class Jumping(SteppingClock):
        read = 0

        def now(self) -> datetime:
            self.read += 1
            return super().now() + timedelta(days=3650 * (self.read > 1))

    rounds, looked = [], asyncio.Event()

    async def counted(*given: Any) -> list[str]:
        went = await give_up_old_texts(*given)
        rounds.append(given[1])
        if len(rounds) == 3:
            looked.set()
        return went

    monkeypatch.setattr(retention, "give_up_old_texts", counted)
    started = datetime.fromisoformat("2026-01-03T00:00:00+00:00")
    running = Retention(store, Jumping(started), StoreSettings(keep_days=9), print)
    await asyncio.wait_for(looked.wait(), 20)
    await running.close()
    assert max(rounds) < started + timedelta(days=1)
    assert await kept(store, sessions) == everything
