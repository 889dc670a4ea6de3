from hypothesis import given
from hypothesis import strategies as st

from outrider.workspace.text.encoding import NoText, Part, part_of
from outrider.workspace.text.lines import split_lines

TEXTS = st.lists(
    st.sampled_from(["a", "bcd", "é", "𝄞", "\n", "\r\n", "\r", "\u2028", "\x0c", "\x85"]), max_size=30
).map("".join)
FAR = 10**9


@given(
    TEXTS,
    st.integers(1, 7),
    st.integers(1, 9),
    st.none() | st.integers(1, 9),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_a_part_is_a_stretch_of_the_lines_however_the_bytes_come(
    text: str, size: int, first: int, last: int | None, codec: str
) -> None:
    content = text.encode(codec)
    chunks = [content[at : at + max(4, size)] for at in range(0, len(content), max(4, size))]
    part = part_of(chunks, first, last, 3, FAR)
    assert isinstance(part, Part)
    # The mark that a content begins with is not shown.
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    wanted = lines[first - 1 : last] if last is None or last >= first else []
    assert part.lines == [line[:3] for line in wanted]
    assert part.cut == {at: len(line) - 3 for at, line in enumerate(wanted) if len(line) > 3}
    assert part.more == (last is not None and last < len(lines))


def test_no_more_is_taken_than_is_needed() -> None:
    def chunks():
        yield b"one\ntwo\nthree\n"
        raise AssertionError("the rest of the file was read")

    part = part_of(chunks(), 1, 2, 100, FAR)
    assert isinstance(part, Part)
    assert (part.lines, part.more) == (["one", "two"], True)
    part = part_of(chunks(), 1, None, 100, 5)
    assert isinstance(part, Part)
    assert (part.lines, part.more) == (["one"], True)


def test_a_line_without_end_is_not_kept() -> None:
    part = part_of((b"x" * 1000 for _ in range(1000)), 1, None, 10, 100)
    assert isinstance(part, Part)
    assert (part.lines, part.cut, part.seen) == (["x" * 10], {0: 999_990}, 1)


def test_what_is_no_text_is_said() -> None:
    for chunks, kind, said in (
        ([b"a\n", b"b\0"], "binary", "NUL"),
        ([b"a\n", b"b\n\xe9\n"], "encoding", "UTF-8"),
        ([b"a\n", b"\xc3"], "encoding", "line 2"),
    ):
        found = part_of(chunks, 1, None, 10, 100)
        assert isinstance(found, NoText)
        assert found.kind == kind
        assert said in found.message
