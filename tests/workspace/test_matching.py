import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.workspace.matching import MatchProblem, Replaced, replace_exact

TEXT = "def f():\n    return 1\n\n\ndef g():\n    return 1\n"


def test_one_match_is_replaced_literally() -> None:
    assert replace_exact("a.b\n", "a.b", r"\1 $0 \g<0>", replace_all=False) == Replaced("\\1 $0 \\g<0>\n", 1)


def test_several_matches_are_named_by_line() -> None:
    problem = replace_exact(TEXT, "    return 1\n", "", replace_all=False)
    assert isinstance(problem, MatchProblem)
    assert "2 times" in problem.message
    assert "lines 2, 6" in problem.message
    assert replace_exact(TEXT, "return 1", "return 2", replace_all=True) == Replaced(
        TEXT.replace("1", "2"), 2
    )


def test_places_that_overlap_are_several() -> None:
    assert isinstance(replace_exact("}}}\n", "}}", "", replace_all=False), MatchProblem)


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\r\nb\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\n"),
        ("a\r\nb\r\n", "\nb", "\nc", "a\r\nc\r\n"),
        ("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
        ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
        ("a\nb\r\nc\n", "a\nb", "x\ny", "x\ny\r\nc\n"),
        ("a", "a", "b\n", "b\n"),
        ("a\x0cb\u2028c\n", "\x0cb\u2028", "-", "a-c\n"),
    ],
)
def test_line_ends_are_those_of_the_text(text: str, old: str, new: str, after: str) -> None:
    assert replace_exact(text, old, new, replace_all=False) == Replaced(after, 1)


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("def f():\n\treturn 1\n", "only white space differs"),
        ("DEF F():\n    RETURN 1\n", "only upper and lower case"),
        ("     1\tdef f():\n     2\t    return 1", "line numbers"),
        ("def g():\n    return 3\n", "line 2 of old differs: '    return 3'"),
        ("", "empty"),
    ],
)
def test_a_miss_says_what_differs(old: str, hint: str) -> None:
    problem = replace_exact(TEXT, old, "x", replace_all=False)
    assert isinstance(problem, MatchProblem)
    assert hint in problem.message


def test_a_miss_shows_the_nearest_lines_with_their_numbers() -> None:
    text = "".join(f"value_{n} = compute({n})\n" for n in range(20_000))
    problem = replace_exact(text, "value_15000 = compute(15000, 1)\n", "x", replace_all=False)
    assert isinstance(problem, MatchProblem)
    assert " 15001\tvalue_15000 = compute(15000)" in problem.message


@given(st.text(alphabet="ab\n\r"), st.text(alphabet="ab\n\r", min_size=1), st.text(alphabet="ab\n"))
def test_it_never_changes_more_than_it_says(text: str, old: str, new: str) -> None:
    done = replace_exact(text, old, new, replace_all=False)
    if isinstance(done, Replaced):
        assert done.count == 1
        assert abs(len(done.text) - len(text)) <= 2 * (len(old) + len(new))


def test_a_miss_in_odd_texts_is_a_miss() -> None:
    for text in ("", "\n", "x" * 200_000, "😀\n" * 5000):
        assert isinstance(replace_exact(text, "no such text\n???\n", "", replace_all=False), MatchProblem)
        assert isinstance(replace_exact(text, "!!", "", replace_all=True), MatchProblem)
