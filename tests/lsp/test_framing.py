"""The base protocol, whatever pieces it comes in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.ports.framing import MOST_BODY, FrameReader, FramingProblem, framed


def read(*pieces, strict=False):
    reader = FrameReader(strict=strict)
    return [item for piece in pieces for item in reader.feed(piece)], reader


@given(st.lists(st.binary(max_size=200), max_size=6), st.randoms())
def test_bodies_survive_any_cutting(bodies, random):
    stream = b"".join(framed(body) for body in bodies)
    pieces, at = [], 0
    while at < len(stream):
        size = random.randint(1, 40)
        pieces.append(stream[at : at + size])
        at += size
    found, reader = read(*pieces)
    assert found == bodies
    assert reader.at_end() is None


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\n", b"content-length: 2\r\n", b"CONTENT-LENGTH:2\r\n", b"Content-Length : 2\r\n",
        b"Content-Length: 2\n", b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n",
        b"X-More: of this\r\nContent-Length: 2\r\nx-other: 1\r\n", b"\r\n\r\nContent-Length: 2\r\n",
        b"Content-Length: 02\r\n", b"Content-Length: 2\r\nX-Content-Length: 5\r\n",
    ],
)  # fmt: skip
def test_headers_of_any_case_and_kind(header):
    assert read(header + b"\r\n{}")[0] == [b"{}"]


def test_the_length_counts_bytes():
    assert read(framed("ü𝄞".encode()) + framed(b"{}"))[0] == ["ü𝄞".encode(), b"{}"]


@pytest.mark.parametrize(
    "noise",
    [
        b"hello\n", b"Traceback (most recent call last)\r\n", b"Content-Length: -5\r\n\r\n",
        b"Content-Length: many\r\n\r\n", b"Content-Length:\r\n\r\n", b"\xff\xfe\x00\r\n", b"x" * 200_000 + b"\n",
        b"x" * 200_000, b"noise without an end ", b"noise", b"Content-Length: " + b"9" * 30 + b"\r\n\r\n",
    ],
)  # fmt: skip
def test_noise_between_messages_is_told_and_passed_over(noise):
    found, reader = read(framed(b"{}"), noise, framed(b"[]"))
    assert [item for item in found if isinstance(item, bytes)] == [b"{}", b"[]"]
    assert any(isinstance(item, FramingProblem) for item in found)
    assert not reader.broken


def test_a_message_that_is_too_large_is_left_out():
    reader = FrameReader()
    (problem,) = reader.feed(b"Content-Length: %d\r\n\r\n" % (MOST_BODY + 3))
    assert str(MOST_BODY) in problem.text
    chunk = bytes(1 << 20)
    for _ in range(MOST_BODY >> 20):
        assert reader.feed(chunk) == []
    assert reader.feed(b"abc" + framed(b"{}")) == [b"{}"]


@pytest.mark.parametrize(
    "rest", [b"Content-Le", b"Content-Length: 5\r\n\r\n", b"Content-Length: 5\r\n\r\nab"]
)
def test_a_stream_that_ends_inside_a_message_is_told(rest):
    assert isinstance(read(framed(b"{}") + rest)[1].at_end(), FramingProblem)


@pytest.mark.parametrize(
    "start",
    [
        b"POST / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\n", b"Host: localhost\r\n", b"\r\n", b"{}\n", b"x" * 100_000,
        b"Content-Length: 2\r\nOrigin: http://example.org\r\n", b"Content-Length: x\r\n",
    ],
)  # fmt: skip
def test_a_strict_stream_breaks_at_the_first_thing_that_is_no_header(start):
    found, reader = read(start + b"Content-Length: 2\r\n\r\n{}", strict=True)
    assert reader.broken
    assert not [item for item in found if isinstance(item, bytes)]
    assert reader.feed(framed(b"{}")) == []


def test_a_strict_stream_takes_the_two_headers():
    assert read(b"content-type: x\r\nContent-Length: 2\r\n\r\n{}", strict=True)[0] == [b"{}"]


@given(
    st.lists(st.binary(max_size=80) | st.sampled_from([b"\r\n", b"\n", b"Content-Length: 3\r\n\r\n"])),
    st.booleans(),
)
def test_no_bytes_raise(pieces, strict):
    read(*pieces, strict=strict)
