from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.models.http.sse import SseSplitter


def split(pieces: list[bytes]) -> list[bytes]:
    splitter = SseSplitter()
    return [data for piece in pieces for data in splitter.feed(piece)] + splitter.finish()


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({min(place, len(stream)) for place in places} | {0, len(stream)})
    return [stream[start:end] for start, end in pairwise(ends)]


def test_only_data_comes_out():
    stream = b': hello\n\nevent: message\nid: 1\ndata: {"a":1}\nretry: 5\n\ndata:{"b":2}\n\ndata\n\n'
    assert split([stream]) == [b'{"a":1}', b'{"b":2}', b""]


@pytest.mark.parametrize(
    ("event", "data"),
    [
        (b'event: delta\ndata: {"a":1}', [b'{"type":"delta","a":1}']),
        (b"event: stop\ndata: { }", [b'{"type":"stop" }']),
        (b'event: delta\ndata: {"type":"b"}', [b'{"type":"delta","type":"b"}']),
        (b"event: delta\ndata: [1]", [b"[1]"]),
        (b'event: "\ndata: {}', [b"{}"]),
        (b"event: ping\ndata: hello", []),
        (b'event: a\ndata: {"n":1}\nevent: b\ndata: {}', [b'{"type":"a","n":1}', b'{"type":"b"}']),
    ],
)
def test_the_name_of_an_event_is_the_type_of_its_data(event, data):
    assert split([event + b"\n\n"]) == data
    assert split([bytes([byte]) for byte in event]) == data


def test_lines_of_one_event_are_joined():
    assert split([b"data: one\ndata: two\ndata:\n\n"]) == [b"one\ntwo\n"]


def test_every_line_end_of_the_standard_counts():
    assert split([b"data: 1\r\n\r\ndata: 2\r\rdata: 3\n\ndata: 4\r\n\n"]) == [b"1", b"2", b"3", b"4"]


def test_an_event_without_its_empty_line_is_given_at_the_end():
    splitter = SseSplitter()
    assert splitter.feed(b"data: a\n\ndata: b") == [b"a"]
    assert splitter.pending == len(b"data: b")
    assert splitter.finish() == [b"b"]


def test_a_byte_order_mark_is_no_part_of_the_first_field():
    stream = b"\xef\xbb\xbfdata: a\n\n"
    assert split([stream]) == split([bytes([byte]) for byte in stream]) == [b"a"]


def test_an_event_is_given_with_its_last_byte():
    stream = b"data: a\r\n\r\n"
    splitter = SseSplitter()
    given_at = [n for n, byte in enumerate(stream) if splitter.feed(bytes([byte]))]
    # The second carriage return already ends the empty line.
    assert given_at == [len(stream) - 2]


@given(
    st.lists(
        st.sampled_from([b"data", b":", b" ", b"\n", b"\r", b"\r\n", b"x", b"\xef\xbb\xbf", b"\xc3", b"\n\n"])
    ),
    st.lists(st.integers(0, 60)),
)
def test_the_pieces_do_not_matter(parts: list[bytes], places: list[int]):
    stream = b"".join(parts)
    assert split(cut(stream, places)) == split([stream])
