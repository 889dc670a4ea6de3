"""The registry's patterns match like `re`, with offsets in characters, and say what they do not take."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.ports.patterns import DIGIT, SPACE, WORD, PatternError, Subject, built, escaped, linear

_TEXTS = st.text(alphabet="ab_ é中😀\ud800\udcff\n\x1c\u3000९", max_size=700)
# The same in both syntaxes, but for the classes.
_SAME = [
    ("a(b)?", "a(b)?"),
    ("(?P<x>a+)|(?P<y>é)", "(?P<x>a+)|(?P<y>é)"),
    ("(?m)^.*$", "(?m)^.*$"),
    (r"\w+", f"[{WORD}]+"),
    (r"\s+", f"[{SPACE}]+"),
    (r"\d", f"[{DIGIT}]"),
    ("[^a]b", "[^a]b"),
]


@pytest.mark.parametrize(("theirs", "ours"), _SAME)
@given(text=_TEXTS)
def test_a_pattern_matches_like_re(theirs: str, ours: str, text: str) -> None:
    expected = list(re.finditer(theirs, text))
    found = list(built(ours).finditer(text))
    assert [(m.span(), m[0], m.groups(), m.groupdict(), m.lastgroup) for m in found] == [
        (m.span(), m[0], m.groups(), m.groupdict(), m.lastgroup) for m in expected
    ]


@given(text=_TEXTS, start=st.integers(0, 700))
def test_a_search_from_a_place_counts_in_characters(text: str, start: int) -> None:
    ours, theirs = built("[aé]"), re.compile("[aé]")
    for now, then in [
        (ours.search(text, start), theirs.search(text, start)),
        (ours.match(text, start), theirs.match(text, start)),
    ]:
        assert (now and now.span()) == (then and then.span())


@given(text=_TEXTS)
def test_a_subject_knows_its_offsets_both_ways(text: str) -> None:
    subject = Subject(text)
    for character in range(len(text) + 1):
        assert subject.character(subject.byte(character)) == character


@given(text=_TEXTS)
def test_replacing_and_splitting_are_those_of_re(text: str) -> None:
    assert built("a|é+").sub(r"<\1>", text) == re.sub("a|é+", lambda _: r"<\1>", text)
    assert built("a|é+").sub(lambda m: m[0] * 2, text, 2) == re.sub("a|é+", lambda m: m[0] * 2, text, count=2)
    assert built("(a)|\n").split(text) == re.split("(a)|\n", text)
    assert built("(a)|\n").split(text, 1) == re.split("(a)|\n", text, maxsplit=1)


@given(text=st.text(max_size=40))
def test_an_escaped_text_matches_itself_alone(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    assert built(escaped(text)).fullmatch(text)
    assert not built(escaped(text)).fullmatch(text + "x")


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "a{2000}", "(", "\ud800"])
def test_a_pattern_that_is_not_taken_says_why_and_prints_nothing(
    pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PatternError, match="cannot be used"):
        built(pattern)
    assert capfd.readouterr() == ("", "")


def test_two_patterns_cannot_have_one_name() -> None:
    linear("test.one name", "a")
    with pytest.raises(ValueError, match="registered already"):
        linear("test.one name", "b")


def test_the_library_is_loaded_with_the_first_match() -> None:
    subprocess.run(
        [
            sys.executable,
            "-c",
            (
                "import sys; from outrider.ports.patterns import linear; p = linear('x', 'a');"
                "assert 're2' not in sys.modules; assert p.search('ba').start() == 1; assert 're2' in sys.modules"
            ),
        ],
        check=True,
    )
