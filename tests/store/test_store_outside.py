"""Death, damage, full disks and other processes."""

import asyncio
import itertools
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from outrider.ports.events import LoggedEvent
from outrider.ports.model import content_hash
from outrider.store.log import Store, StoreProblem, StoreReadError
from outrider.store.schema import FILE_NAME, SCHEMA_VERSION, open_writer

CHILD = Path(__file__).with_name("store_child.py")


@contextmanager
def start(program: str, state: Path, *arguments: str) -> Generator[subprocess.Popen[str], None, None]:
    """A process that runs `program` of `store_child`, and does not outlive the block."""
    command = [sys.executable, str(CHILD), program, str(state), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def event(seq: int, session_id: str = "ses_1", text: str = "") -> LoggedEvent:
    data = {"n": seq, "text": text}
    return LoggedEvent(seq, "2026-01-01T00:00:00.000Z", session_id, None, "plan.updated", data)


async def opened(state: Path) -> Store:
    store = await Store.open(state)
    assert isinstance(store, Store), store
    return store


async def refused(state: Path) -> StoreProblem:
    problem = await Store.open(state)
    assert isinstance(problem, StoreProblem)
    return problem


async def filled(state: Path, events: int = 2000) -> None:
    store = await opened(state)
    for seq in range(1, events + 1):
        store.append(event(seq))
    assert await store.close() is None


async def test_a_kill_loses_nothing_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(5)
    for _ in range(15):
        acknowledged = 0
        with start("append_for_ever", tmp_path) as child:
            assert child.stdout is not None
            for line in itertools.islice(child.stdout, chance.randrange(1, 60)):
                acknowledged = int(line)
            child.kill()
            # A last line may be cut off by the kill.
            acknowledged = max([acknowledged, *(int(line) for line in child.stdout if line.endswith("\n"))])
        store = await opened(tmp_path)
        events = await store.events("ses_killed")
        assert len(events) >= acknowledged > 0
        blobs = await store_blobs(tmp_path)
        assert blobs == {f"{one.seq:032d}" for one in events}
        await store.close()
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


async def store_blobs(state: Path) -> set[str]:
    connection = sqlite3.connect(state / FILE_NAME)
    digests = {digest for (digest,) in connection.execute("SELECT digest FROM blobs")}
    connection.close()
    return digests


async def test_processes_create_and_write_one_log_at_the_same_time(tmp_path: Path) -> None:
    with ExitStack() as running:
        children = [
            running.enter_context(start("append_many", tmp_path / "state", f"ses_{n}")) for n in range(3)
        ]
        for child in children:
            output, _ = await asyncio.to_thread(child.communicate)
            assert output == "done\n"
            assert child.returncode == 0
    store = await opened(tmp_path / "state")
    for n in range(3):
        assert len(await store.events(f"ses_{n}")) == 300
    await store.close()


async def test_stores_of_one_process_create_one_log_at_the_same_time(tmp_path: Path) -> None:
    for attempt in range(10):
        state = tmp_path / str(attempt)
        stores = await asyncio.gather(*(opened(state) for _ in range(6)))
        for n, store in enumerate(stores):
            store.append(event(1, f"ses_{n}"))
        assert await asyncio.gather(*(store.flush() for store in stores)) == [None] * 6
        assert len(await stores[0].sessions()) == 6
        await asyncio.gather(*(store.close() for store in stores))


async def test_a_log_that_is_created_while_it_is_looked_at_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / FILE_NAME
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchone()  # how far the other process has come
    assert path.stat().st_size > 0
    created: list[str] = []
    real_connect = sqlite3.connect

    def create_between(statement: str) -> None:
        if statement == "PRAGMA user_version" and not created:
            created.append(statement)  # before the call, which looks at the file too
            other = open_writer(path)
            assert isinstance(other, sqlite3.Connection)
            other.close()

    def connect(database: str, **options: Any) -> sqlite3.Connection:
        connection = real_connect(database, **options)
        if database.endswith("mode=ro"):
            connection.set_trace_callback(create_between)
        return connection

    monkeypatch.setattr("outrider.store.schema.sqlite3.connect", connect)
    store = await opened(tmp_path)
    assert created
    await store.close()


async def test_creating_is_tried_again_while_another_process_is_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / FILE_NAME).touch(0o600)
    other = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if other.in_transaction:
            other.execute("ROLLBACK")

    monkeypatch.setattr("outrider.store.schema.time.sleep", wait)
    store = await opened(tmp_path)
    assert waits
    other.close()
    await store.close()


async def test_a_lock_is_held_once_and_freed_by_death(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    with start("hold_lock", tmp_path) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        assert store.lock("ses_1") is None
        other = store.lock("ses_2")
        assert other is not None
        assert store.lock("ses_2") is None
        other.release()
        other.release()
    lock = store.lock("ses_1")
    assert lock is not None
    lock.release()
    again = store.lock("ses_1")
    assert again is not None
    again.release()
    await store.close()


HOSTILE = [
    "../../escape",
    "/etc/passwd",
    "a/b",
    "..",
    ".",
    "",
    "nul\0",
    "x" * 5000,
    "\ud800",
    "Ses_1",
    "ses_1",
    "a\nb",
]


async def test_no_session_id_leaves_the_folder_of_locks(tmp_path: Path) -> None:
    store = await opened(tmp_path / "state")
    locks = [store.lock(session_id) for session_id in HOSTILE]
    assert None not in locks
    assert [store.lock(session_id) for session_id in HOSTILE] == [None] * len(HOSTILE)
    names = [path.name.lower() for path in (tmp_path / "state" / "locks").iterdir()]
    assert len(set(names)) == len(HOSTILE)
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    for lock in locks:
        assert lock is not None
        lock.release()
    await store.close()


async def test_a_lock_that_cannot_be_made_is_not_given(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await opened(tmp_path)
    (tmp_path / "locks").write_text("in the way")
    assert store.lock("ses_1") is None
    assert "Could not lock" in caplog.text
    await store.close()


@pytest.mark.parametrize(
    "content",
    [b"not a database", b"\0" * 8192, b"SQLite format 3\0" + b"\xff" * 5000, b"SQLite format 3\0"],
    ids=["text", "zeros", "bad header", "header only"],
)
async def test_a_file_that_is_no_database_is_set_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    for number in (1, 2):  # the second time nothing is in the way
        store = await opened(tmp_path)
        assert (store.notice is not None) is (number == 1)
        assert store.notice is None or str(aside(tmp_path)) in store.notice
        assert len(await store.sessions()) == number - 1
        store.append(event(1, session_id=f"ses_{number}"))
        assert await store.close() is None
    assert aside(tmp_path).read_bytes() == content


def aside(folder: Path, number: int = 1) -> Path:
    """Where a damaged log is put."""
    return folder / FILE_NAME.replace(".sqlite3", f"-damaged-{number}.sqlite3")


async def test_a_truncated_file_is_set_aside_and_what_can_be_read_of_it_is_kept(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    for session in ("ses_1", "ses_2"):
        for seq in range(1, 200):
            store.append(event(seq, session_id=session, text="x" * 500))
    assert await store.close() is None
    content = (tmp_path / FILE_NAME).read_bytes()[:-8192]
    (tmp_path / FILE_NAME).write_bytes(content)
    store = await opened(tmp_path)
    assert store.notice is not None
    assert "2 sessions" in store.notice
    read = {session: await store.events(session) for session in ("ses_1", "ses_2")}
    assert len(read["ses_1"]) == 199
    assert 100 < len(read["ses_2"]) <= 199
    last = len(read["ses_2"])
    assert [one.seq for one in read["ses_2"]] == list(range(1, last + 1))
    store.append(event(last + 1, session_id="ses_2"))
    assert await store.close() is None
    assert aside(tmp_path).read_bytes() == content


@pytest.mark.parametrize("seed", range(10))
async def test_whatever_is_damaged_each_session_is_read_up_to_there(tmp_path: Path, seed: int) -> None:
    """Pages at random are overwritten: what is read is what was written, without a gap, and it is said."""
    chance = random.Random(seed)
    store = await opened(tmp_path)
    contents = {content_hash(b"%d" % number): b"%d" % number for number in range(300)}
    for number in range(1, 60):
        for session in range(10):
            digest = content_hash(b"%d" % (number * session % 300))
            one = event(number, session_id=f"ses_{session}", text=f"{session} {number} " + "x" * 300)
            store.append(one, blobs={digest: contents[digest]})
    assert await store.close() is None
    path = tmp_path / FILE_NAME
    pages = path.stat().st_size // 4096
    with path.open("r+b") as file:
        for _ in range(3):
            file.seek(4096 * chance.randrange(1, pages) + chance.choice([0, 500, 2000]))
            file.write(chance.randbytes(400))
    damaged = path.read_bytes()
    store = await opened(tmp_path)
    store.append(event(1, session_id="ses_new"))
    assert await store.flush() is None
    if store.notice is not None:
        assert aside(tmp_path).read_bytes() == damaged, "nothing is written into a damaged log"
    for session in range(10):
        with suppress(StoreReadError):  # of a row in which only letters are others
            events = await store.events(f"ses_{session}")
            assert [one.seq for one in events] == list(range(1, len(events) + 1))
    assert await store.close() is None
    store = await opened(tmp_path)
    assert store.notice is None, "what was made of it is whole"
    await store.close()


async def test_a_damaged_content_leaves_the_others_readable(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    contents = {content_hash(b"%d" % number): b"%d" % number for number in range(20)}
    for seq, (digest, content) in enumerate(contents.items(), 1):
        store.append(event(seq), blobs={digest: content})
    assert await store.flush() is None
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE blobs SET content = 'x' WHERE id = 7")
    with pytest.raises(StoreReadError):
        await store.blobs(contents)
    assert len(await store.blobs(contents, readable=True)) == 19
    await store.close()


async def test_an_emptied_file_beside_its_log_is_set_aside(tmp_path: Path) -> None:
    store = await opened(tmp_path / "live")
    store.append(event(1))
    assert await store.flush() is None
    log = tmp_path / f"{FILE_NAME}-wal"
    shutil.copy(tmp_path / "live" / f"{FILE_NAME}-wal", log)
    await store.close()
    (tmp_path / FILE_NAME).touch()
    content = log.read_bytes()
    store = await opened(tmp_path)
    assert store.notice is not None
    await store.close()
    assert aside(tmp_path).with_name(f"{aside(tmp_path).name}-wal").read_bytes() == content


async def test_a_database_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("CREATE TABLE notes (text)")
    connection.commit()
    connection.close()
    content = (tmp_path / FILE_NAME).read_bytes()
    problem = await refused(tmp_path)
    assert problem.reason == "foreign"
    assert "not a log of Outrider" in problem.message
    assert (tmp_path / FILE_NAME).read_bytes() == content


async def test_a_newer_log_is_left_alone(tmp_path: Path) -> None:
    await filled(tmp_path, 3)
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    content = (tmp_path / FILE_NAME).read_bytes()
    problem = await refused(tmp_path)
    assert problem.reason == "newer"
    assert f"version {SCHEMA_VERSION + 1}" in problem.message
    assert (tmp_path / FILE_NAME).read_bytes() == content


async def test_a_state_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for state in (tmp_path / "file", tmp_path / "file" / "below"):
        problem = await refused(state)
        assert problem.reason == "unwritable"
        assert str(state) in problem.message
    (tmp_path / "state" / FILE_NAME).mkdir(parents=True)
    assert (await refused(tmp_path / "state")).reason == "unwritable"


async def test_a_log_that_is_removed_while_in_use_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await opened(tmp_path / "state")
    store.append(event(1))
    assert await store.flush() is None
    (tmp_path / "state").rename(tmp_path / "moved")
    store.append(event(2))
    for _ in range(3):
        problem = await store.flush()
        assert problem is not None
        assert problem.reason == "unwritable"
    assert len(caplog.records) == 1  # the log of the program is told once, not at each try
    (tmp_path / "moved").rename(tmp_path / "state")
    assert await store.flush() is None
    assert await store.last_seq("ses_1") == 2
    (tmp_path / "state").rename(tmp_path / "moved")
    store.append(event(3))
    problem = await store.close()
    assert problem is not None
    assert problem.reason == "unwritable"


async def test_a_full_disk_keeps_the_events_until_there_is_room(tmp_path: Path) -> None:
    with start("fill_disk", tmp_path) as child:
        output, _ = await asyncio.to_thread(child.communicate)
    assert output == "done\n"
    assert child.returncode == 0
