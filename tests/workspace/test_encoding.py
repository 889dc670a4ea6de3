"""The bytes of closed files: an edit changes those of its hunk, and taking it back gives the first ones back."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.ports.text import Snapshot
from outrider.workspace.documents.documents import DocumentStore
from outrider.workspace.documents.overlay import Overlay
from outrider.workspace.edits.apply import Editing
from outrider.workspace.edits.change import Change, Written
from outrider.workspace.paths import Folder, Folders, Located
from outrider.workspace.text.encoding import BOM, Decoded, NoText, decode, encode, encoding_of

CODECS = ["utf-8", "utf-16-le", "utf-16-be"]
PIECES = ["a", "é", "𝄞", "\n", "\r\n", "\r", "\x0c", "\u2028", "\x85", "e\u0301", " ", "x = 1\n", BOM]


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, str, str, str, str]:
    """An encoding, what stands before an edit, the text it replaces, the new one, and what stands after it."""
    text = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
    codec = draw(st.sampled_from(CODECS))
    mark = BOM if codec != "utf-8" or draw(st.booleans()) else ""
    return codec, mark + draw(text), draw(text), draw(text), draw(text)


@given(edits())
def test_an_edit_changes_the_bytes_of_its_hunk_and_undoing_it_gives_the_first_ones_back(
    edit: tuple[str, str, str, str, str],
) -> None:
    codec, head, old, new, tail = edit
    content = (head + old + tail).encode(codec)

    async def play(root: Path) -> None:
        path = root / "odd.txt"
        path.write_bytes(content)
        folders, documents = Folders([Folder("work", root.as_uri(), root)]), DocumentStore()
        overlay = Overlay(folders, documents)
        # Nothing is open, so there is nobody to ask.
        editing = Editing(overlay, documents, None, None)  # type: ignore[arg-type]
        located = folders.locate_now("odd.txt")
        assert isinstance(located, Located)
        read = await overlay.read(located)
        assert isinstance(read, Snapshot)
        assert read.text == head + old + tail
        after = head + new + tail
        done = await editing.write(Change("edit", located, None, read.text, after), "")
        assert isinstance(done, Written)
        assert path.read_bytes() == head.encode(codec) + new.encode(codec) + tail.encode(codec)
        done = await editing.write(Change("edit", located, None, after, read.text), "")
        assert isinstance(done, Written)
        assert path.read_bytes() == content
        gone = Change("delete", located, None, read.text, None)
        assert isinstance(await editing.write(gone, ""), Written)
        back = Change("create", located, None, None, read.text, read.encoding)
        assert isinstance(await editing.write(back, ""), Written)
        assert path.read_bytes() == content

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder).resolve()))


@given(st.binary(max_size=40), st.sampled_from([b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"]))
def test_what_is_read_goes_back_to_the_byte(content: bytes, mark: bytes) -> None:
    decoded = decode(mark + content)
    if isinstance(decoded, Decoded):
        assert encode(decoded.text, decoded.encoding) == mark + content
        assert "\0" not in decoded.text
    else:
        assert decoded.message


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (b"one\ncaf\xe9\n", "encoding", "line 2"),
        (b"\xff\xfea\0\n\0\x00\xd8", "encoding", "UTF-16 (line 2)"),
        (b"\xfe\xff\0a\0", "encoding", "UTF-16 (line 1)"),
        (b"a\0b", "binary", "NUL"),
        (b"\xff\xfe\0\0a\0\0\0", "binary", "NUL"),
        ("text".encode("utf-16-le"), "binary", "NUL"),
        (b"\x89PNG\r\n\0\xff", "binary", "NUL"),
    ],
)
def test_what_is_no_text_is_said(content: bytes, kind: str, said: str) -> None:
    found = decode(content)
    assert isinstance(found, NoText)
    assert found.kind == kind
    assert said in found.message


def test_utf_16_is_never_written_without_the_mark_it_is_known_by() -> None:
    for codec in ("utf-16-le", "utf-16-be"):
        assert encoding_of(encode("a", codec)) == codec
        assert encode("a", codec) == encode(BOM + "a", codec)


async def test_an_open_utf_16_file_is_the_same_text(desk: Any) -> None:
    desk.write("a.txt", "\ufeffone\r\ntwo\r\n".encode("utf-16-be"))
    desk.open("a.txt", "one\r\ntwo\r\n")
    read = await desk.overlay.read(desk.at("a.txt"))
    assert (read.source, read.unsaved, read.encoding) == ("buffer", False, "utf-16-be")
