"""Whether a change was made for a place that somebody else changed: the rule, and what it promises of any texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.workspace.text.merge import merge
from outrider.workspace.watch.read_state import Clash, carried_over, clash

LINES = st.lists(st.sampled_from("abcde"), max_size=8).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


def text(lines):
    return "".join(f"{line}\n" for line in lines)


def test_changes_of_the_same_line_clash():
    assert clash(text("abc"), text("axc"), text("ayc")) == Clash(1, 2)


def test_changes_of_neighbouring_lines_do_not():
    assert clash(text("abc"), text("xbc"), text("xyc")) is None


def test_an_insertion_into_what_was_put_in_clashes():
    assert clash(text("ad"), text("abcd"), text("abxcd")) == Clash(1, 3)


def test_two_insertions_at_the_place_of_a_deletion_clash():
    assert clash(text("abc"), text("ac"), text("axc")) == Clash(1, 1)


def test_taking_back_what_somebody_else_wrote_clashes():
    assert clash(text("ac"), text("abc"), text("ac")) == Clash(1, 2)


def test_an_end_that_the_last_line_got_or_lost_is_no_change_of_it():
    assert clash("a\nb", "a\nb\n", "a\nB\n") is None
    assert clash("a\nb", "a\nb\n", "a\nB") == Clash(1, 2)
    assert clash("a\nb\n", "a\nb", "a\nB") is None
    assert clash("a\nb", "a\nb\nc\n", "a\nB\nc\n") is None
    assert clash("a\nb", "a\nx\n", "a\nB\n") == Clash(1, 2)


@pytest.mark.parametrize(
    ("seen", "now", "after_line", "expected"),
    [
        ("abcd", "xyabcd", 3, 5),  # lines above
        ("abcd", "cd", 3, 1),
        ("abcd", "abcdxy", 3, 3),  # lines below
        ("abcd", "xbcdy", 2, 2),
        ("abcd", "abxycd", 3, 5),  # next to a line that was put in
        ("abcd", "abxd", 3, 3),  # after a line that was replaced
        ("abcd", "abxyd", 3, 4),
        ("abcd", "abcxy", 3, 3),  # before one
        ("abcd", "xabcd", 0, Clash(0, 1)),  # where lines were put in
        ("abcd", "abcxd", 3, Clash(3, 4)),
        ("abcd", "abcdx", 4, Clash(4, 5)),
        ("abcd", "abd", 3, Clash(2, 2)),  # at lines that were taken out
        ("abcd", "abd", 2, Clash(2, 2)),
        ("abcd", "axyd", 2, Clash(1, 3)),  # in the middle of lines that were replaced
        ("abcd", "abcdxy", 5, Clash(6, 6)),  # a line that the seen text does not have
        ("abcd", "abcd", 5, 5),
    ],
)
def test_a_line_of_the_seen_text_is_carried_over(seen, now, after_line, expected):
    assert carried_over(text(seen), text(now), after_line) == expected


def test_the_end_of_the_last_line_does_not_move_the_place():
    assert carried_over("a\nb", "x\na\nb\n", 2) == 3
    assert carried_over("a\nb", "a\nb\nc", 2) == Clash(2, 3)


@given(LINES, LINES, st.data())
def test_a_line_that_is_carried_over_is_one_of_the_text(seen, now, data):
    at = carried_over(seen, now, data.draw(st.integers(0, len(seen) // 2)))
    assert isinstance(at, Clash) or 0 <= at <= len(now) // 2


@given(LINES, LINES)
def test_where_nobody_else_changed_anything_nothing_clashes(now, after):
    assert clash(now, now, after) is None


@given(LINES, LINES)
def test_a_change_of_nothing_clashes_with_nothing(seen, now):
    assert clash(seen, now, now) is None


@given(LINES, LINES)
def test_a_whole_file_that_was_written_for_the_seen_text_clashes(seen, now):
    if seen != now:
        assert clash(seen, now, seen) is not None


@given(LINES, LINES, LINES)
def test_what_does_not_clash_is_a_change_of_the_seen_text_too(seen, now, after):
    if clash(seen, now, after) is None:
        assert merge(now, seen, after).conflicts == ()


@st.composite
def changed(draw, lines, mark):
    """The lines with some taken out and others, which are nowhere else, put in."""
    result = []
    for number, line in enumerate([*lines, ""]):
        result += [f"{mark}{number}.{count}\n" for count in range(draw(st.integers(0, 2)))]
        if line and draw(st.integers(0, 2)):
            result.append(line)
    return result


@given(st.data())
def test_promise_4_no_line_that_somebody_else_wrote_is_lost_and_none_they_took_out_comes_back(data):
    seen = [f"line {number}\n" for number in range(data.draw(st.integers(0, 6)))]
    now = data.draw(changed(seen, "person "))
    base = data.draw(st.sampled_from([now, seen]))
    after = data.draw(changed(base, "agent "))
    if clash("".join(seen), "".join(now), "".join(after)) is None:
        assert {line for line in now if line.startswith("person")} <= set(after)
        assert not (set(seen) - set(now)) & set(after)
