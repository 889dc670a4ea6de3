"""Which hunks of a change are in a text, where somebody may have taken any of them."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from outrider.ports.text import Hunk
from outrider.workspace.change import Change
from outrider.workspace.diff import apply_hunks
from outrider.workspace.paths import Located
from outrider.workspace.taken import hunks_of, numbers_in, taken_in

LINES = "".join(f"line {number}\n" for number in range(1, 31))
PLANNED = (
    LINES.replace("line 5\n", "LINE 5\n").replace("line 15\n", "").replace("line 25\n", "line 25\nmore\n")
)


def change_of(before, after):
    located = Located("a.txt", "file:///a.txt", Path("/a.txt"), Path("/a.txt"), inside=True, own=False)
    return Change("edit", located, None, before, after)


def texts():
    """Texts of few different lines, so that hunks look like each other; the last line may lack its end."""
    line = st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "d"])
    return st.lists(line, max_size=12).map("".join)


@given(texts(), texts(), st.data())
def test_any_selection_is_found_so_that_it_gives_the_text(before, after, data):
    hunks = hunks_of(change_of(before, after))
    assert apply_hunks(before, hunks) == after
    chosen = data.draw(st.sets(st.integers(1, len(hunks)))) if hunks else set()
    text = apply_hunks(before, [hunk for number, hunk in enumerate(hunks, 1) if number in chosen])
    numbers = numbers_in(before, hunks, text)
    assert numbers is not None
    assert apply_hunks(before, [hunks[number - 1] for number in numbers]) == text
    taken = taken_in(before, hunks, text)
    assert (taken is None) == (text == before or not numbers)


@given(texts(), texts(), texts())
def test_no_other_text_is_taken_for_a_selection(before, after, text):
    hunks = hunks_of(change_of(before, after))
    numbers = numbers_in(before, hunks, text)
    if numbers is not None:
        assert apply_hunks(before, [hunks[number - 1] for number in numbers]) == text


def test_what_somebody_typed_besides_stays_theirs():
    hunks = hunks_of(change_of(LINES, PLANNED))
    typed = "typed\n" + LINES
    taken = taken_in(LINES, hunks, typed.replace("line 5\n", "LINE 5\n").replace("line 15\n", ""))
    assert taken is not None
    assert (taken.numbers, taken.without) == ((1, 2), typed)


def test_what_was_typed_alone_is_nothing():
    hunks = hunks_of(change_of(LINES, PLANNED))
    assert taken_in(LINES, hunks, LINES) is None
    assert taken_in(LINES, hunks, LINES.replace("line 5\n", "line five\n")) is None
    assert taken_in(LINES, hunks, "typed\n" + LINES) is None


def test_ways_beyond_number_are_given_up():
    """Among lines that repeat there may be as many ways to read a text as there are selections."""
    before = "x\n" * 24
    hunks = [Hunk(4 * number, 4 * number, "", "x\n" * 2**number) for number in range(12)]
    assert numbers_in(before, hunks[:9], before + "x\n" * 5) == (1, 3)
    assert numbers_in(before, hunks, before + "x\n" * 4000) is None
