"""What is written after a review is the text with just the hunks that were taken, in the words that were put in."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from outrider.workspace.edits.change import Change
from outrider.workspace.edits.review import LineHunk, Review, ReviewProblem, fitted
from outrider.workspace.paths import Located
from outrider.workspace.text.diff import line_hunks
from outrider.workspace.text.lines import split_lines
from outrider_protocol.events import ReviewedHunk

PLACE = Located("a.txt", "file:///w/a.txt", Path("/w/a.txt"), Path("/w/a.txt"), inside=True, own=False)
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def texts(draw):
    """Two texts of few different lines, so that hunks are alike, and the line end of both."""
    end = draw(ENDS)
    lines = st.lists(st.sampled_from(["a", "b", "c", "", "\f", "é\u2028"]), max_size=12)
    before, after = (end.join(draw(lines)) + draw(st.sampled_from(["", end])) for _ in range(2))
    return before, after, end


def proposed(before, after, operation="edit"):
    hunks = [{"line": h.line, "removed": h.removed, "added": h.added} for h in line_hunks(before, after)]
    return {"changeId": "chg_1", "path": "a.txt", "operation": operation, "hunks": hunks}


def spliced(before, hunks, chosen):
    """The text with the chosen words of each hunk, put together from the back."""
    lines = split_lines(before)
    for hunk, words in reversed(list(zip(hunks, chosen, strict=True))):
        first = hunk.line - 1
        lines[first : first + len(split_lines(hunk.removed))] = [words]
    return "".join(lines)


@given(texts(), st.data())
def test_just_the_hunks_that_were_taken_are_written(pair, data):
    before, after, end = pair
    hunks = line_hunks(before, after)
    decided, chosen = [], []
    for number, hunk in enumerate(hunks, 1):
        way = data.draw(st.sampled_from(["unnamed", "take", "reject", "text"]))
        words = {"unnamed": hunk.added, "take": hunk.added, "reject": hunk.removed}.get(way)
        text = None
        if words is None:
            lines = data.draw(st.lists(st.sampled_from(["x", "", "a"]), max_size=3))
            text = "".join(line + data.draw(ENDS) for line in lines)
            words = "".join(line + end for line in lines)
            if not any(end in part for part in (hunk.removed, hunk.added, before)):
                words = words.replace("\r\n", "\n") if "\r\n" not in before else words
        chosen.append(words)
        if way != "unnamed":
            decision = "reject" if way == "reject" else "take"
            decided.append(ReviewedHunk(id=f"chg_1#{number}", decision=decision, text=text))
    review = Review.read([proposed(before, after)], decided)
    assert isinstance(review, Review)
    change = Change("edit", PLACE, None, before, after)
    left = review.amended([("chg_1", change)])
    wanted = spliced(before, hunks, chosen)
    if review.takes_nothing or wanted == before:
        assert left == []
    else:
        assert left is not None
        ((_, amended),) = left
        assert amended.before == before
        assert amended.after == wanted


@given(texts(), texts())
def test_a_review_of_other_hunks_does_not_fit(pair, other):
    review = Review.read([proposed(*pair[:2])], [])
    assert isinstance(review, Review)
    change = Change("edit", PLACE, None, other[0], other[1])
    fits = [(h.removed, h.added) for h in line_hunks(*other[:2])] == [
        (h.removed, h.added) for h in line_hunks(*pair[:2])
    ]
    assert (review.amended([("chg_1", change)]) is not None) == fits


def test_line_ends_are_those_of_the_place():
    hunk = LineHunk(1, "a\r\n", "b\r\n")
    assert fitted("x\ny", hunk, "", is_last=False) == "x\r\ny\r\n"
    assert fitted("x", hunk, "", is_last=True) == "x\r\n"
    assert fitted("x", LineHunk(1, "a", "b"), "", is_last=True) == "x"
    assert fitted("x", LineHunk(1, "a", "b"), "q\r\n", is_last=False) == "x\r\n"
    assert fitted("", hunk, "", is_last=False) == ""
    assert fitted("x\\1\n", LineHunk(1, "", "b"), "", is_last=True) == "x\\1\n"


def test_what_is_told_is_bounded():
    before = "".join(f"{number}\n\n" for number in range(300))
    after = before.replace("\n\n", f"{'x' * 200}\n\n")
    hunks = line_hunks(before, after)
    decided = [
        ReviewedHunk(id=f"chg_1#{number}", decision="reject", reason="no")
        for number in range(1, len(hunks) + 1)
    ]
    review = Review.read([proposed(before, after)], decided, "All of it.")
    assert isinstance(review, Review)
    told = review.told()
    assert len(told) < 40_000
    assert told.count("- rejected: ") == len(hunks)
    assert told.endswith("- the user said: All of it.")


def test_an_empty_file_that_is_created_is_one_hunk():
    review = Review.read(
        [proposed("", "", "create")], [ReviewedHunk(id="chg_1#1", decision="take", text="mine")]
    )
    assert isinstance(review, Review)
    ((_, change),) = review.amended([("chg_1", Change("create", PLACE, None, None, ""))]) or []
    assert change.after == "mine"
    no = Review.read([proposed("", "", "create")], [ReviewedHunk(id="chg_1#1", decision="reject")])
    assert isinstance(no, Review)
    assert no.takes_nothing
    assert isinstance(
        Review.read([proposed("", "", "create")], [ReviewedHunk(id="chg_1#2", decision="reject")]),
        ReviewProblem,
    )
