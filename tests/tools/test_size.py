"""One result of a tool: its head and its tail stay, and what is missing is told."""

from hypothesis import given
from hypothesis import strategies as some

from outrider.tools.size import SLACK, shortened


def test_whole_lines_of_both_ends_stay_and_it_says_how_many_are_missing():
    text = "\n".join(f"line {number}" for number in range(2_000))
    cut = shortened(text, 4_000)
    head, mark, rest = cut.partition("\n[… ")
    assert head.startswith("line 0\nline 1\n")
    kept = [line for line in cut.split("\n") if line.startswith("line ")]
    assert kept[-1] == "line 1999"
    assert set(kept) < set(text.split("\n"))
    assert mark
    assert f"[{2_000 - len(kept)} lines are left out in the middle" in rest


@given(some.text(max_size=6_000), some.integers(1, 3_000))
def test_no_text_is_longer_than_its_limit_and_what_is_said(text, limit):
    cut = shortened(text, limit)
    size = len(text.encode("utf-8", "surrogatepass"))
    assert cut == text if size <= limit + SLACK else len(cut.encode("utf-8", "surrogatepass")) <= limit + 400
