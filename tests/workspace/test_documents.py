import asyncio
import re
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from outrider.ports.clock import SteppingClock, SystemClock
from outrider.ports.text import Place
from outrider.workspace.documents.documents import ContentChange, Document, DocumentStore, uri_key
from outrider.workspace.text.lines import Encoding, Lines, offset_of, place_of, split_lines

URI = "file:///w/a.py"
ALPHABET = "ab \n\r\t\f\v\x1c\x1e\x85\u2028é€😀𝒳"
TEXTS = st.text(alphabet=ALPHABET, max_size=40)
ENCODINGS: st.SearchStrategy[Encoding] = st.sampled_from(["utf-8", "utf-16", "utf-32"])
PLACES = st.builds(Place, st.integers(0, 8), st.integers(0, 14))


def width(character: str, encoding: Encoding) -> int:
    if encoding == "utf-32":
        return 1
    return len(character.encode(encoding + "-le" if encoding == "utf-16" else encoding)) // (
        2 if encoding == "utf-16" else 1
    )


def naive_offset(text: str, place: Place, encoding: Encoding) -> int:
    """Walks through the text, a character at a time."""
    line = index = 0
    while line < place.line:
        if index >= len(text):
            return len(text)
        if text[index : index + 2] == "\r\n":
            index, line = index + 2, line + 1
        else:
            line += text[index] in "\r\n"
            index += 1
    units = 0
    while index < len(text) and text[index] not in "\r\n":
        units += width(text[index], encoding)
        if units > place.character:
            break
        index += 1
    return index


@given(TEXTS, PLACES, ENCODINGS)
def test_an_offset_is_where_a_walk_through_the_text_ends(text: str, place: Place, encoding: Encoding) -> None:
    assert offset_of(text, place, encoding) == naive_offset(text, place, encoding)


@given(TEXTS, st.data(), ENCODINGS)
def test_a_place_leads_back_to_its_offset(text: str, data: st.DataObject, encoding: Encoding) -> None:
    offset = data.draw(st.integers(0, len(text)))
    inside_line_end = text[max(0, offset - 1) : offset + 1] == "\r\n"
    assert naive_offset(text, place_of(text, offset, encoding), encoding) == offset - inside_line_end


@given(TEXTS, st.data(), ENCODINGS)
def test_places_are_the_same_in_whatever_order_they_are_asked_for(
    text: str, data: st.DataObject, encoding: Encoding
) -> None:
    lines = Lines(text)
    for offset in data.draw(st.lists(st.integers(0, len(text)))):
        assert lines.place_of(offset, encoding) == place_of(text, offset, encoding)


@given(TEXTS)
def test_lines_end_only_where_lsp_says(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert [line.rstrip("\r\n") for line in lines] == re.split(r"\r\n|\n|\r", text)[: len(lines)]


@given(TEXTS, st.lists(st.tuples(PLACES, PLACES, TEXTS), max_size=8), ENCODINGS)
def test_changes_in_pieces_give_what_the_client_has(
    text: str, changes: list[tuple[Place, Place, str]], encoding: Encoding
) -> None:
    store = DocumentStore()
    store.encoding = encoding
    store.open(URI, "python", 1, text)
    for version, (one, other, new) in enumerate(changes, start=2):
        start, end = sorted((one, other), key=lambda place: (place.line, place.character))
        first, last = naive_offset(text, start, encoding), naive_offset(text, end, encoding)
        text = text[:first] + new + text[last:]
        assert store.change(URI, version, [ContentChange(start, end, new)]) is None
        assert store.get(URI) == Document(URI, "python", version, text, 0)


def test_halves_of_a_pair_brought_one_by_one_are_one_character() -> None:
    store = DocumentStore()
    store.open(URI, "", 1, "a")
    store.change(URI, 2, [ContentChange(Place(0, 1), Place(0, 1), "\ud83d")])
    store.change(URI, 3, [ContentChange(Place(0, 2), Place(0, 2), "\ude00")])
    document = store.get(URI)
    assert document is not None
    assert document.text == "a😀"


def test_one_notification_is_applied_as_a_whole_or_not_at_all() -> None:
    store = DocumentStore()
    store.open(URI, "", 1, "one\ntwo\n")
    good = ContentChange(Place(0, 0), Place(0, 3), "1")
    for bad in (
        ContentChange(Place(1, 0), Place(0, 0), "x"),
        ContentChange(Place(0, -1), Place(0, 0), "x"),
        ContentChange(Place(0, 0), None, "x"),
    ):
        problem = store.change(URI, 2, [good, bad])
        assert problem is not None
        assert URI in problem
        assert store.get(URI) == Document(URI, "", 1, "one\ntwo\n", 0)
    assert (
        store.change(
            URI, 3, [good, ContentChange(None, None, "all"), ContentChange(Place(0, 3), Place(0, 3), "!")]
        )
        is None
    )
    assert store.get(URI) == Document(URI, "", 3, "all!", 0)


def test_a_change_of_a_closed_document_is_told_and_ignored() -> None:
    store = DocumentStore()
    assert "not open" in (store.change(URI, 1, [ContentChange(None, None, "x")]) or "")
    store.save(URI)
    store.close(URI)
    assert store.all() == ()


def test_spellings_of_one_uri_are_one_document() -> None:
    store = DocumentStore()
    store.open("file:///C%3A/My%20Code/ä.py", "python", 1, "x")
    for spelling in ("file:///c:/My Code/%C3%A4.py", "FILE://localhost/c%3a/My%20Code/ä.py"):
        document = store.get(spelling)
        assert document is not None
        assert document.uri == "file:///C%3A/My%20Code/ä.py"
    assert store.get("file:///c:/my code/ä.py") is None
    assert uri_key("untitled:Untitled-1") != uri_key("file:///Untitled-1")


def test_saves_are_counted_and_may_bring_the_text() -> None:
    store = DocumentStore()
    store.open(URI, "", 4, "x  \n")
    store.save(URI)
    store.save(URI, "x\n")
    assert store.get(URI) == Document(URI, "", 4, "x\n", 2, is_saved=True)


async def test_waiting_sees_every_state_in_between() -> None:
    store = DocumentStore()
    store.open(URI, "", 1, "a")
    waiting = asyncio.create_task(
        store.until(URI, lambda document: document is not None and document.text == "b", SystemClock(), 5)
    )
    await asyncio.sleep(0)
    store.change(URI, 2, [ContentChange(None, None, "b")])
    store.change(URI, 3, [ContentChange(None, None, "c")])
    assert await waiting
    assert await store.until("file:///w/%61.py", lambda document: document is not None, SystemClock(), 5)


async def test_waiting_ends_with_its_time_and_with_a_close() -> None:
    store, clock = DocumentStore(), SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
    store.open(URI, "", 1, "a")
    closed = asyncio.create_task(store.until(URI, lambda document: document is None, clock, 5))
    never = asyncio.create_task(store.until(URI, lambda _: False, clock, 1))
    await asyncio.sleep(0)
    store.close(URI)
    assert await closed
    clock.advance(2)
    assert not await never


def test_listeners_hear_until_they_leave() -> None:
    store = DocumentStore()
    heard: list[str] = []
    leave = store.subscribe(heard.append)
    store.open(URI, "", 1, "a")
    store.change(URI, 2, [ContentChange(None, None, "b")])
    store.save(URI)
    store.close(URI)
    leave()
    leave()
    store.open(URI, "", 1, "a")
    assert heard == [URI] * 4


def test_who_wants_to_hears_between_the_changes_of_one_notification() -> None:
    store = DocumentStore()
    store.open(URI, "", 1, "a")
    texts: list[str] = []
    heard: list[str] = []

    def look(uri: str) -> None:
        document = store.get(uri)
        assert document is not None
        texts.append(document.text)

    leave = store.subscribe(look, between=True)
    store.subscribe(heard.append)
    store.change(URI, 2, [ContentChange(None, None, text) for text in ("b", "c", "d")])
    leave()
    store.change(URI, 3, [ContentChange(None, None, text) for text in ("e", "f")])
    assert (texts, heard) == (["b", "c"], [URI] * 2)
    document = store.get(URI)
    assert document is not None
    assert (document.text, document.version) == ("f", 3)
