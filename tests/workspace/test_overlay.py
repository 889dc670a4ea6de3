import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outrider.ports.text import Snapshot
from outrider.workspace.documents.overlay import SIZE_LIMIT, Entry, Listing, ReadProblem


async def kind(desk: Any, name: str) -> str:
    found = await desk.overlay.read(desk.at(name))
    assert isinstance(found, ReadProblem), found
    assert found.message
    return found.kind


async def test_the_open_buffer_comes_before_the_disk(desk: Any) -> None:
    desk.write("a.py", "on disk\n")
    assert await desk.overlay.read(desk.at("a.py")) == Snapshot(
        desk.at("a.py").uri, "a.py", "on disk\n", "disk"
    )
    uri = desk.open("a.py", "typed\n", version=3)
    assert await desk.overlay.read(desk.at("a.py")) == Snapshot(
        uri, "a.py", "typed\n", "buffer", version=3, unsaved=True
    )
    desk.documents.close(uri)
    assert (await desk.overlay.read(desk.at("a.py"))).text == "on disk\n"


async def test_a_buffer_is_found_by_any_path_to_its_file(desk: Any) -> None:
    desk.write("real/a.py", "on disk\n")
    (desk.root / "link").symlink_to("real")
    uri = desk.open("link/a.py", "typed\n")
    for name in ("link/a.py", "real/a.py", "link/../real/a.py"):
        found = await desk.overlay.read(desk.at(name))
        assert (found.text, found.uri) == ("typed\n", uri)
        document = await desk.overlay.document_of(desk.at(name))
        assert document is not None


@pytest.mark.parametrize(
    "content", ["\ufeffa\r\nb\x0c\u2028c\r\n", "no newline", "", "a\rb\nc\r\n", "\x85\u2029\v\x1c\n"]
)
async def test_texts_come_byte_for_byte(desk: Any, content: str) -> None:
    desk.write("a.txt", content)
    assert (await desk.overlay.read(desk.at("a.txt"))).text == content


@pytest.mark.parametrize(
    ("on_disk", "buffer", "unsaved"),
    [
        ("a\n", "a\n", False),
        ("\ufeffa\n", "a\n", False),
        ("a\r\n", "a\n", False),
        ("\ufeffa\r\n", "a\n", False),
        ("a\n", "a", True),
        ("a\n", "a\r\n", True),
        (None, "", False),
        (None, "x", True),
        (b"caf\xe9", "café", True),
    ],
)
async def test_unsaved_is_what_differs_from_the_disk(
    desk: Any, on_disk: str | bytes | None, buffer: str, unsaved: bool
) -> None:
    if on_disk is not None:
        desk.write("a.txt", on_disk)
    uri = desk.open("a.txt", buffer)
    assert (await desk.overlay.read(desk.at("a.txt"))).unsaved == unsaved
    assert await desk.overlay.unsaved() == ((uri,) if unsaved else ())


@pytest.mark.parametrize(
    ("text", "read_only"), [("a\r\nb\n", True), ("a\rb", True), ("a\r\n", False), ("a\n", False)]
)
async def test_line_ends_that_editors_change_make_a_document_read_only(
    desk: Any, text: str, read_only: bool
) -> None:
    desk.write("a.txt", text)
    assert (await desk.overlay.read(desk.at("a.txt"))).read_only is None
    desk.open("a.txt")
    assert ((await desk.overlay.read(desk.at("a.txt"))).read_only is not None) == read_only


async def test_what_is_no_text_is_said(desk: Any, make_desk: Callable[..., Any]) -> None:
    desk.write("binary", b"a\0b")
    desk.write("latin.txt", b"one\ncaf\xe9\n")
    desk.write("utf16.txt", "text\0".encode("utf-16"))
    desk.write("half.txt", b"\xff\xfea\0\n\0\0\xd8b\0")
    desk.write("utf32.txt", "text".encode("utf-32"))
    desk.write("sub/x", "")
    desk.write(".outrider/task.md", "ours")
    with desk.write("big", "").open("wb") as big:
        big.truncate(SIZE_LIMIT + 1)
    os.mkfifo(desk.root / "fifo")
    (desk.root / "loop").symlink_to("loop")
    (desk.root / "dangling").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(desk.root / "socket"))
    for name, expected in (
        ("binary", "binary"),
        ("latin.txt", "encoding"),
        ("utf16.txt", "binary"),
        ("half.txt", "encoding"),
        ("utf32.txt", "binary"),
        ("sub", "directory"),
        (".", "directory"),
        (".outrider/task.md", "own"),
        ("big", "too_big"),
        ("fifo", "unreadable"),
        ("socket", "unreadable"),
        ("loop", "vanished"),
        ("dangling", "not_found"),
        ("gone", "not_found"),
        ("binary/below", "not_found"),
        ("untitled:U", "not_found"),
    ):
        assert await kind(desk, name) == expected, name
    assert "line 2" in (await desk.overlay.read(desk.at("latin.txt"))).message


async def test_our_own_folder_is_not_read_even_from_a_buffer(desk: Any) -> None:
    desk.open(".outrider/task.md", "ours")
    assert await kind(desk, ".outrider/task.md") == "own"
    assert await desk.overlay.unsaved() == ()


async def test_a_link_swapped_in_after_locating_is_not_followed(desk: Any, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").write_text("secret")
    desk.write("sub/a.py", "mine")
    file, folder = desk.at("sub/a.py"), desk.at("sub")
    (desk.root / "sub" / "a.py").unlink()
    (desk.root / "sub" / "a.py").symlink_to(tmp_path / "outside" / "a.py")
    assert isinstance(await desk.overlay.read(file), ReadProblem)
    (desk.root / "sub").rename(desk.root / "was")
    (desk.root / "sub").symlink_to(tmp_path / "outside")
    assert isinstance(await desk.overlay.read(file), ReadProblem)
    assert isinstance(await desk.overlay.list_directory(folder, 10), ReadProblem)


async def test_a_vanished_workspace_folder_is_named(desk: Any) -> None:
    desk.write("a.py", "")
    located, top = desk.at("a.py"), desk.at(".")
    desk.root.rename(desk.root.with_name("moved"))
    assert (await desk.overlay.read(located)).kind == "vanished"
    assert (await desk.overlay.list_directory(top, 10)).kind == "vanished"


async def test_a_listing_shows_buffers_and_links_and_hides_what_is_nobodys_business(desk: Any) -> None:
    for name in ("b.py", "a.py", "sub/x.py", ".git/config", ".outrider/task.md", ".env"):
        desk.write(name, "x")
    (desk.root / "up").symlink_to("..")
    os.mkfifo(desk.root / "pipe")
    desk.open("a.py", "typed")
    desk.open("new.py", "typed")
    desk.open("sub/new.py", "typed")
    desk.open("untitled:U", "typed")
    listing = await desk.overlay.list_directory(desk.at("."), 100)
    assert listing == Listing(
        ".",
        (
            Entry(".env", "file"),
            Entry("a.py", "file", unsaved=True),
            Entry("b.py", "file"),
            Entry("new.py", "file", unsaved=True),
            Entry("pipe", "other"),
            Entry("sub", "directory"),
            Entry("untitled:U", "file", unsaved=True),
            Entry("up", "link", target=".."),
        ),
    )
    assert listing.render().splitlines()[-3:] == ["sub/", "untitled:U [unsaved buffer]", "up -> .."]
    below = await desk.overlay.list_directory(desk.at("sub"), 1)
    assert below == Listing("sub", (Entry("new.py", "file", unsaved=True),), truncated=True)
    assert "first 1 entries" in below.render()
    assert (await desk.overlay.list_directory(desk.at("a.py"), 1)).kind == "unreadable"
    assert (await desk.overlay.list_directory(desk.at(".outrider"), 1)).kind == "own"
    assert (await desk.overlay.list_directory(desk.at("nowhere"), 1)).kind == "not_found"


async def test_the_top_of_several_folders_lists_their_names(make_desk: Callable[..., Any]) -> None:
    desk = make_desk("app", "lib")
    listing = await desk.overlay.list_directory(desk.at("."), 10)
    assert listing.render() == "app/\nlib/"
    assert await kind(desk, ".") == "directory"
