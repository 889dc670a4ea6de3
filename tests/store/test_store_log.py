"""Appending, flushing, publishing and reading."""

import asyncio
import logging
import os
import sqlite3
import stat
import threading
import zlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outrider.ports.events import LoggedEvent
from outrider.ports.model import content_hash
from outrider.store.log import SessionRow, Store, StoreProblem, StoreReadError
from outrider.store.schema import FILE_NAME, LANDMARKS, TURN_BEGINS, open_writer


def event(seq: int, session_id: str = "ses_1", *, type_: str = "plan.updated", **data: Any) -> LoggedEvent:
    return LoggedEvent(seq, f"2026-01-01T00:00:{seq % 60:02d}.000Z", session_id, None, type_, data)


async def opened(state: Path) -> Store:
    store = await Store.open(state)
    assert isinstance(store, Store), store
    return store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store, None]:
    store = await opened(tmp_path / "state")
    yield store
    await store.close()


class Outsider:
    """Holds the write lock of the database, as another process would in the middle of a transaction."""

    def __init__(self, state: Path) -> None:
        self.connection = sqlite3.connect(state / FILE_NAME, isolation_level=None)

    def __enter__(self) -> sqlite3.Connection:
        self.connection.execute("BEGIN IMMEDIATE")
        return self.connection

    def __exit__(self, *_: object) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self.connection.close()


async def test_events_come_back_as_they_went_in(store: Store, tmp_path: Path) -> None:
    events = [
        event(seq, text=f"text {seq} é 漢", nested={"list": [1, None, 2.5, True]}) for seq in range(1, 21)
    ]
    for one in events:
        store.append(one)
    assert await store.flush() is None
    assert await store.events("ses_1") == events
    assert await store.events("ses_1", 18) == events[17:]
    assert await store.events("ses_1", 5, 2) == events[4:6]
    assert await store.events("ses_1", 21) == []
    assert await store.last_seq("ses_1") == 20
    assert await store.close() is None
    again = await opened(tmp_path / "state")
    assert await again.events("ses_1") == events
    await again.close()


async def test_nothing_is_seen_before_it_is_committed(store: Store, tmp_path: Path) -> None:
    heard: list[int] = []
    store.subscribe(lambda one: heard.append(one.seq))
    with Outsider(tmp_path / "state") as outsider:
        for seq in (1, 2, 3):
            store.append(event(seq))
        flushed = asyncio.ensure_future(store.flush())
        assert await store.events("ses_1") == []
        assert not flushed.done()
        assert heard == []
        outsider.execute("ROLLBACK")
        assert await flushed is None
    assert heard == [1, 2, 3]


async def test_a_flush_returns_after_the_listeners_heard(store: Store) -> None:
    heard: list[tuple[str, int]] = []
    on_loop: set[bool] = set()
    main = threading.get_ident()

    def listen(one: LoggedEvent) -> None:
        on_loop.add(threading.get_ident() == main)
        heard.append((one.session_id, one.seq))

    store.subscribe(listen)
    for seq in range(1, 601):
        store.append(event(seq, "ses_a"))
        store.append(event(seq, "ses_b"))
    assert await store.flush() is None
    assert [seq for session, seq in heard if session == "ses_a"] == list(range(1, 601))
    assert [seq for session, seq in heard if session == "ses_b"] == list(range(1, 601))
    assert on_loop == {True}


async def test_what_comes_together_is_committed_together(store: Store, tmp_path: Path) -> None:
    with Outsider(tmp_path / "state") as outsider:
        for seq in range(1, 101):
            store.append(event(seq))
        flushed = asyncio.ensure_future(store.flush())
        await store.events("ses_1")
        outsider.execute("ROLLBACK")
        assert await flushed is None
    # One frame per page and commit: a hundred commits of their own would be hundreds of frames.
    assert (tmp_path / "state" / f"{FILE_NAME}-wal").stat().st_size < 100 * 4096


async def test_a_listener_that_fails_disturbs_nobody(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[int] = []

    def fail(_: LoggedEvent) -> None:
        raise RuntimeError("broken listener")

    store.subscribe(fail)
    end = store.subscribe(lambda one: heard.append(one.seq))
    with caplog.at_level(logging.ERROR):
        store.append(event(1))
        assert await store.flush() is None
    assert heard == [1]
    assert "broken listener" in caplog.text
    end()
    end()
    store.append(event(2))
    assert await store.flush() is None
    assert heard == [1]


@pytest.mark.parametrize("seq", [-1, 0, 2, 3, 5])
async def test_a_gap_or_repeat_is_refused_at_once(store: Store, seq: int) -> None:
    for good in (1, 2, 3):
        store.append(event(good))
    with pytest.raises(ValueError, match="where 4 is next"):
        store.append(event(seq))
    store.append(event(4))
    assert await store.flush() is None
    assert await store.last_seq("ses_1") == 4


@pytest.mark.parametrize("data", [{"x": float("nan")}, {"x": b"bytes"}, {"x": object()}])
async def test_data_that_is_not_json_is_refused_at_once(store: Store, data: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        store.append(event(1, **data))
    store.append(event(1))
    assert await store.flush() is None


async def test_a_session_goes_on_where_the_file_ends(tmp_path: Path) -> None:
    first = await opened(tmp_path)
    for seq in (1, 2, 3):
        first.append(event(seq))
    await first.close()
    second = await opened(tmp_path)
    assert len(await second.events("ses_1", 2, 1)) == 1
    second.append(event(4))
    assert await second.flush() is None
    assert [one.seq for one in await second.events("ses_1")] == [1, 2, 3, 4]
    await second.close()


async def test_a_session_that_another_store_wrote_to_is_refused_and_the_others_go_on(tmp_path: Path) -> None:
    ours, theirs = await opened(tmp_path), await opened(tmp_path)
    theirs.append(event(1, "ses_1", by="them"))
    assert await theirs.flush() is None
    heard: list[str] = []
    ours.subscribe(lambda one: heard.append(one.session_id))
    ours.append(event(1, "ses_1", by="us"))
    ours.append(event(2, "ses_1", by="us"))
    ours.append(event(1, "ses_2"))
    problem = await ours.flush()
    assert isinstance(problem, StoreProblem)
    assert problem.reason == "locked"
    assert heard == ["ses_2"]
    with pytest.raises(ValueError, match="another process"):
        ours.append(event(3, "ses_1"))
    assert await ours.flush() is None
    assert [one.data for one in await ours.events("ses_1")] == [{"by": "them"}]
    await ours.close()
    await theirs.close()


async def test_a_cancelled_flush_leaves_the_store_working(store: Store, tmp_path: Path) -> None:
    with Outsider(tmp_path / "state") as outsider:
        store.append(event(1))
        flushed = asyncio.ensure_future(store.flush())
        await asyncio.sleep(0)
        flushed.cancel()
        outsider.execute("ROLLBACK")
    assert await store.flush() is None
    assert await store.last_seq("ses_1") == 1


async def test_a_durable_flush_syncs_even_what_was_committed_before(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "state" / f"{FILE_NAME}-wal"
    store.append(event(1))
    assert await store.flush() is None
    size = log.stat().st_size
    assert await store.flush(durable=True) is None
    assert (
        log.stat().st_size == size + 4096 + 24
    )  # one frame: a commit that changes nothing would sync nothing
    assert await store.flush(durable=True) is None
    assert log.stat().st_size == size + 4096 + 24  # and there was nothing left to sync


async def test_only_a_durable_flush_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []

    def open_traced(path: Path) -> sqlite3.Connection | StoreProblem:
        connection = open_writer(path)
        assert isinstance(connection, sqlite3.Connection)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr("outrider.store.log.open_writer", open_traced)
    store = await opened(tmp_path)
    levels: list[str] = []
    committed_at = ""
    for seq, durable in enumerate((False, True, True, False), start=1):
        store.append(event(seq))
        assert await store.flush(durable=durable) is None
        # The level in force at the last commit: the flush may have come after the commit of its event.
        level = "NORMAL"
        for statement in statements:
            if statement.startswith("PRAGMA synchronous"):
                level = statement.rpartition(" ")[2]
            elif statement == "COMMIT":
                committed_at = level
        levels.append(committed_at)
    await store.close()
    assert levels == ["NORMAL", "FULL", "FULL", "NORMAL"]


async def test_blobs_are_stored_once_and_come_back(store: Store, tmp_path: Path) -> None:
    contents = [os.urandom(3000), b"", b"text " * 10_000]
    named = {content_hash(content): content for content in contents}
    store.append(event(1), blobs=named)
    store.append(event(2), blobs=named)
    assert await store.flush() is None
    missing = content_hash(b"never stored")
    assert await store.blobs([*named, missing, "\ud800", *named]) == named
    assert await store.blob(missing) is None
    assert await store.blob(content_hash(b"")) == b""
    assert await store.blobs([]) == {}
    assert len(await store.blobs([content_hash(b"%d" % n) for n in range(1200)] + list(named))) == 3
    with sqlite3.connect(tmp_path / "state" / FILE_NAME) as connection:
        assert connection.execute("SELECT count(*), sum(length(content)) < 5000 FROM blobs").fetchone() == (
            3,
            1,
        )
    connection.close()


async def test_the_file_grows_linearly(tmp_path: Path) -> None:
    sizes: list[int] = []
    for count in (1000, 4000):
        store = await opened(tmp_path / str(count))
        message = {content_hash(b"m" * 500): b"m" * 500}
        for seq in range(1, count + 1):
            store.append(event(seq, content="x" * 100), blobs=message)
        assert await store.flush() is None
        await store.close()
        sizes.append((tmp_path / str(count) / FILE_NAME).stat().st_size)
    assert sizes[1] < 4.2 * sizes[0]


@given(
    session_id=st.text(st.characters(codec="utf-8"), max_size=300),
    data=st.dictionaries(
        st.text(),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=5,
        ),
    ),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_session_id_and_any_json_survive(
    session_id: str, data: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def round_trip() -> None:
        store = await opened(tmp_path_factory.mktemp("state"))
        one = LoggedEvent(1, "", session_id, "turn\0", "type", data)
        store.append(one)
        assert await store.flush() is None
        assert await store.events(session_id) == [one]
        await store.close()

    asyncio.run(round_trip())


async def test_lone_surrogates_in_data_survive_and_in_ids_are_refused(store: Store) -> None:
    one = event(1, text="half \ud83d of a pair", **{"key\udc00": "漢"})
    store.append(one)
    assert await store.flush() is None
    assert await store.events("ses_1") == [one]
    with pytest.raises(ValueError, match="lone surrogates"):
        store.append(event(1, "ses_\ud800"))
    assert await store.events("ses_\ud800") == []
    assert await store.last_seq("ses_\ud800") == 0
    assert await store.find_turn("turn_\ud800") is None


async def test_folder_and_files_are_the_owners_alone(tmp_path: Path) -> None:
    state = tmp_path / "a" / "state"
    before = os.umask(0)
    try:
        store = await opened(state)
        store.append(event(1))
        lock = store.lock("ses_1")
        assert lock is not None
        assert await store.flush() is None
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [state, *state.rglob("*")]}
        lock.release()
        await store.close()
    finally:
        os.umask(before)
    assert modes.pop("state") == modes.pop("locks") == 0o700
    assert set(modes) == {FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", "ses_1.lock"}
    assert set(modes.values()) == {0o600}


async def test_a_file_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    await (await opened(tmp_path)).close()
    (tmp_path / FILE_NAME).chmod(0o644)
    await (await opened(tmp_path)).close()
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


async def test_sessions_are_listed_from_their_events(store: Store) -> None:
    def put(seq: int, session_id: str, ts: str, turn_id: str | None, type_: str, **data: Any) -> None:
        store.append(LoggedEvent(seq, ts, session_id, turn_id, type_, data))

    put(1, "ses_a", "10", None, "session.started", folders=["file:///w"], permissionMode="ask")
    put(2, "ses_a", "11", "turn_1", "turn.started", prompt="Fix  the\nbug " + "x" * 100)
    put(3, "ses_a", "12", "turn_2", "turn.queued", prompt="Second")
    put(4, "ses_a", "13", "turn_1", "turn.parked", open=[])
    put(5, "ses_a", "14", "turn_2", "turn.finished", outcome="cancelled")
    put(1, "ses_b", "20", None, "session.started", folders=[])
    put(1, "ses_c", "03", None, "session.started", folders=["file:///w"], permissionMode="ask")
    put(2, "ses_c", "05", None, "session.forked", fromSessionId="ses_a", fromSeq=1)
    put(3, "ses_c", "06", "turn_3", "turn.queued", prompt="Later")
    put(1, "ses_d", "01", None, "session.started", folders=["file:///x"])
    put(2, "ses_d", "02", "turn_4", "turn.started", prompt="Go")
    put(3, "ses_d", "03", "turn_4", "turn.finished", outcome="completed")
    put(4, "ses_d", "04", "turn_5", "turn.started", prompt="Go on")
    put(5, "ses_d", "04", "turn_5", "turn.parked", open=[])
    put(6, "ses_d", "04", "turn_5", "turn.resumed", id="open_1")
    put(7, "ses_d", "04", None, "session.restored", folders=["file:///y"])
    assert await store.flush() is None
    title = "Fix the bug " + "x" * 67 + "…"
    assert await store.sessions() == [
        SessionRow("ses_b", "20", "20", 1),
        SessionRow("ses_a", "10", "14", 5, title, 1, ("file:///w",), "turn_1", "parked"),
        SessionRow("ses_c", "05", "06", 3, "Later", 0, ("file:///w",), "turn_3", "queued", "ses_a"),
        SessionRow("ses_d", "01", "04", 7, "Go", 2, ("file:///y",), "turn_5", "running"),
    ]
    assert await store.find_turn("turn_2") == "ses_a"
    assert await store.find_turn("turn_4") == "ses_d"
    assert await store.find_turn("turn_9") is None


async def test_a_title_names_a_session_in_a_log_of_before_too(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    store.append(LoggedEvent(1, "10", "ses_a", None, "session.started", {"folders": []}))
    store.append(LoggedEvent(2, "11", "ses_a", "turn_1", "turn.started", {"prompt": "Fix the bug"}))
    await store.close()
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("DROP INDEX namings")
    connection.close()
    store = await opened(tmp_path)
    assert await store.last_seq("ses_a") == 2
    store.append(LoggedEvent(3, "12", "ses_a", "turn_1", "session.titled", {"model": "a/b", "title": "Bug"}))
    store.append(
        LoggedEvent(4, "13", "ses_a", "turn_1", "session.titled", {"model": "a/b", "reason": "auth"})
    )
    assert await store.flush() is None
    assert [row.title for row in await store.sessions()] == ["Bug"]
    await store.close()


async def test_listing_and_finding_use_their_indexes(store: Store, tmp_path: Path) -> None:
    queries = (
        f"SELECT data FROM events INDEXED BY landmarks WHERE {LANDMARKS} ORDER BY session_id, seq",
        f"SELECT session_id FROM events WHERE turn_id = 'x' AND {TURN_BEGINS} LIMIT 1",
    )
    connection = sqlite3.connect(tmp_path / "state" / FILE_NAME)
    plans = [str(connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()) for query in queries]
    connection.close()
    assert "INDEX landmarks" in plans[0]
    assert "TEMP B-TREE" not in plans[0]
    assert "INDEX turn_begins" in plans[1]


async def test_a_closed_store_takes_nothing_more(store: Store) -> None:
    store.append(event(1))
    assert await store.close() is None
    with pytest.raises(ValueError, match="closed"):
        store.append(event(2))
    assert await store.close() is None


async def test_closing_writes_what_was_appended_and_leaves_one_file(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    heard: list[int] = []
    store.subscribe(lambda one: heard.append(one.seq))
    for seq in range(1, 1001):
        store.append(event(seq))
    assert await store.close() is None
    assert heard == list(range(1, 1001))
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


async def test_damaged_rows_are_told(store: Store, tmp_path: Path) -> None:
    digest = content_hash(b"content")
    for seq in range(1, 4):
        store.append(event(seq), blobs={digest: b"content"})
    assert await store.flush() is None
    connection = sqlite3.connect(tmp_path / "state" / FILE_NAME, isolation_level=None)
    connection.execute("UPDATE events SET data = '{\"cut' WHERE seq = 3")
    connection.execute("UPDATE blobs SET content = x'00'")
    for read in (store.events("ses_1"), store.blob(digest)):
        with pytest.raises(StoreReadError, match=r"outrider-2\.sqlite3 is damaged") as raised:
            await read
        assert raised.value.problem.reason == "damaged"
    other = zlib.compress(b"other content")
    connection.execute("UPDATE blobs SET content = ?", (other,))
    with pytest.raises(StoreReadError, match="not what was stored"):
        await store.blob(digest)
    connection.execute("DELETE FROM events WHERE seq = 2")
    connection.close()
    with pytest.raises(StoreReadError, match="missing"):
        await store.events("ses_1")


async def test_others_have_their_turn_while_listeners_take_long(tmp_path: Path) -> None:
    store = await opened(tmp_path / "state")
    loop, turns, seen = asyncio.get_running_loop(), 0, list[tuple[int, int]]()

    def turn() -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(turn)

    def slow(one: LoggedEvent) -> None:
        seen.append((one.seq, turns))
        began = loop.time()
        while loop.time() < began + 0.01:
            pass

    store.subscribe(slow)
    loop.call_soon(turn)
    for seq in range(1, 6):
        store.append(event(seq))
    assert await store.flush() is None
    assert [seq for seq, _ in seen] == [1, 2, 3, 4, 5]
    assert len({turned for _, turned in seen}) == 5
    # What is committed is told of before the store is closed.
    for seq in range(6, 9):
        store.append(event(seq))
    assert await store.close() is None
    assert [seq for seq, _ in seen] == list(range(1, 9))
