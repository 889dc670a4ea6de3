"""The fake editor's text: positions, line ends, the undo stack, and what a server makes of its changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_server import TinyServer, text_edit

from outrider.ports.text import Place
from outrider.testing.editor.buffers import Buffer, line_starts, offset_at, position_at, read_form
from outrider.workspace.documents.documents import ContentChange, DocumentStore
from outrider.workspace.text.lines import offset_of, place_of

ENCODINGS = ["utf-8", "utf-16", "utf-32"]
TEXTS = st.text(alphabet=st.sampled_from("ab \t\r\n\f\x0b\x85\u2028é中😀"), max_size=40)


def buffer_of(text, encoding="utf-16", line_ends="keep", **quirks):
    shown, form = read_form(text.encode(), line_ends)
    return Buffer("file:///a.py", None, shown, 1, encoding, line_ends, form, saved=shown, **quirks)


def content_change(change):
    start, end = (Place(**change["range"][side]) for side in ("start", "end"))
    return ContentChange(start, end, change["text"])


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=TEXTS, data=st.data())
def test_a_place_leads_back_to_its_offset(encoding, text, data):
    offset = data.draw(st.integers(0, len(text)))
    back = offset_at(text, position_at(text, offset, encoding), encoding)
    inside_crlf = text[offset - 1 : offset + 1] == "\r\n" and offset > 0
    assert back == (offset - 1 if inside_crlf else offset)


@given(text=TEXTS)
def test_lines_end_only_as_lsp_says(text):
    assert len(line_starts(text)) == 1 + text.replace("\r\n", "\n").replace("\r", "\n").count("\n")


def test_places_beyond_the_text_are_clamped():
    assert offset_at("ab\ncd", {"line": 0, "character": 9}, "utf-16") == 2
    assert offset_at("ab\ncd", {"line": 7, "character": 0}, "utf-16") == 5
    assert offset_at("😀b", {"line": 0, "character": 1}, "utf-16") == 0


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("line_ends", ["keep", "majority", "format", "hidden"])
@given(text=TEXTS, data=st.data())
def test_a_server_that_follows_the_changes_has_the_same_text(encoding, line_ends, text, data):
    buffer = buffer_of(text, encoding, line_ends)
    server = TinyServer(lambda message: None, encoding=encoding)
    server.documents[buffer.uri], server.versions[buffer.uri] = buffer.text, buffer.version
    store = DocumentStore()
    store.encoding = encoding
    store.open(buffer.uri, "python", buffer.version, buffer.text)
    for _ in range(data.draw(st.integers(1, 6))):
        before = buffer.version
        match data.draw(st.sampled_from(["type", "apply", "undo", "redo"])):
            case "type":
                start, end = sorted(data.draw(st.integers(0, len(buffer.text))) for _ in range(2))
                buffer.type(start, end, data.draw(TEXTS))
            case "apply":
                cuts = sorted(data.draw(st.integers(0, len(buffer.text))) for _ in range(4))
                spans = [(cuts[0], cuts[1]), (cuts[2], cuts[3])]
                edits = [
                    {
                        "range": {
                            "start": position_at(buffer.text, start, encoding),
                            "end": position_at(buffer.text, end, encoding),
                        },
                        "newText": data.draw(TEXTS),
                    }
                    for start, end in spans
                ]
                buffer.apply(edits, 1)
            case "undo":
                buffer.undo()
            case _:
                buffer.redo()
        if buffer.unsent and buffer.version > before:
            document = {"uri": buffer.uri, "version": buffer.version}
            server.change({"textDocument": document, "contentChanges": buffer.unsent})
            changes = [content_change(change) for change in buffer.unsent]
            assert store.change(buffer.uri, buffer.version, changes) is None
            buffer.unsent = []
        assert server.documents[buffer.uri] == buffer.text
        assert store.get(buffer.uri).text == buffer.text


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=TEXTS, line=st.integers(0, 6), character=st.integers(0, 12), data=st.data())
def test_the_editor_and_the_server_count_alike(encoding, text, line, character, data):
    place = Place(line, character)
    assert offset_at(text, {"line": line, "character": character}, encoding) == offset_of(
        text, place, encoding
    )
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] != "\r\n" or offset == 0:
        place = place_of(text, offset, encoding)
        assert position_at(text, offset, encoding) == {"line": place.line, "character": place.character}


def test_an_edit_of_many_places_is_one_undo_step():
    buffer = buffer_of("one\ntwo\nthree\n")
    buffer.apply(
        [text_edit((0, 0), (0, 3), "1"), text_edit((2, 0), (2, 5), "3"), text_edit((3, 0), (3, 0), "4\n")], 1
    )
    assert buffer.text == "1\ntwo\n3\n4\n"
    assert buffer.dirty
    assert buffer.version == 2
    buffer.undo()
    assert buffer.text == "one\ntwo\nthree\n"
    assert not buffer.dirty
    buffer.redo()
    assert buffer.text == "1\ntwo\n3\n4\n"
    assert buffer.version == 4
    assert buffer.redo() is None


def test_insertions_at_one_place_keep_their_order():
    buffer = buffer_of("ab")
    buffer.apply([text_edit((0, 1), (0, 1), "1"), text_edit((0, 1), (0, 1), "2")], 1)
    assert buffer.text == "a12b"


def test_typing_after_an_undo_forgets_the_redo():
    buffer = buffer_of("a")
    buffer.type(1, 1, "b")
    buffer.undo()
    buffer.type(1, 1, "c")
    assert buffer.redo() is None


@pytest.mark.parametrize(
    ("line_ends", "content", "shown", "inserted"),
    [
        ("keep", "a\r\nb\n", "a\r\nb\n", "x\na\r\nb\n"),
        ("majority", "a\r\nb\r\nc\n", "a\r\nb\r\nc\r\n", "x\r\na\r\nb\r\nc\r\n"),
        ("format", "a\r\nb\r\n", "a\r\nb\r\n", "x\r\na\r\nb\r\n"),
        ("format", "a\r\nb\n", "a\r\nb\n", "x\na\r\nb\n"),
        ("hidden", "a\r\nb\r\n", "a\nb\n", "x\na\nb\n"),
    ],
)
def test_line_ends_are_treated_as_the_editor_does(line_ends, content, shown, inserted):
    buffer = buffer_of(content, line_ends=line_ends)
    assert buffer.text == shown
    buffer.apply([text_edit((0, 0), (0, 0), "x\n")], 1)
    assert buffer.text == inserted
    assert buffer.form.to_bytes(shown) == (shown if line_ends == "majority" else content).encode()


def test_a_file_that_is_not_utf_8_is_written_back_as_it_was():
    text, form = read_form(b"caf\xe9\n", "keep")
    assert text == "café\n"
    assert form.to_bytes(text) == b"caf\xe9\n"
    text, form = read_form(b"\xef\xbb\xbfa\n", "keep")
    assert text == "a\n"
    assert form.to_bytes(text) == b"\xef\xbb\xbfa\n"


def test_neovim_adds_a_line_where_an_edit_begins_after_the_last_one():
    buffer = buffer_of("a\nb\n", line_ends="format", keeps_final_newline=True, adds_line_at_end=True)
    buffer.apply([text_edit((2, 0), (2, 0), "c\n")], 1)
    assert buffer.text == "a\nb\nc\n\n"
    buffer.undo()
    buffer.apply([text_edit((1, 0), (2, 0), "B")], 2)
    assert buffer.text == "a\nB\n"


def test_a_text_that_stays_as_it_is_keeps_its_version():
    buffer = buffer_of("one\n")
    buffer.replace_text("one\n")
    assert (buffer.version, buffer.unsent) == (1, [])
    buffer.replace_text("two\n")
    assert buffer.version == 2
