"""Globs match as in fnmatch, in git and in the rules, and take no more than linear time."""

import fnmatch
import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from outrider.ports.globs import MOST_LINES, IgnoreRules, name_glob, path_glob

_PATHS = st.text(alphabet="ab/.é\n-]", min_size=1, max_size=12)


@given(glob=st.text(alphabet="ab*?[]!-./é\\", max_size=10), name=_PATHS)
def test_a_glob_of_names_is_that_of_fnmatch(glob: str, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert bool(name_glob(glob).fullmatch(name)) == fnmatch.fnmatchcase(name, glob)


@given(
    lines=st.lists(st.text(alphabet="ab*?!/.[]^", min_size=1, max_size=8), max_size=6),
    path=st.text(alphabet="ab/", min_size=1, max_size=9).map(
        lambda path: re.sub("/+", "/", path).strip("/") or "a"
    ),
)
def test_the_lines_of_an_ignore_file_mean_what_pathspec_says(lines: list[str], path: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = GitIgnoreSpec.from_lines(lines, backend="simple").match_file(path)
        except (ValueError, re.error):
            return
    try:
        rules = IgnoreRules(lines)
    except ValueError:
        assert any("[" in line for line in lines)  # a class that RE2 does not take; then all is ignored
        return
    assert rules.matches(path) == expected


@pytest.mark.parametrize(
    ("line", "path", "expected"),
    [
        ("*.env", "a\nb/c.env", True),
        ("*.env", "a\udcff.env", True),
        ("[[:alpha:]]x", "ax", True),
        ("é*", "été", True),
        ("build/", "build/x", True),
        ("build/", "build", False),
    ],
)
def test_odd_names_are_ignored_like_others(line: str, path: str, expected: bool) -> None:
    assert IgnoreRules([line]).matches(path) is expected


def test_more_rules_than_one_pass_takes_are_one_list() -> None:
    rules = IgnoreRules([f"name{number}" for number in range(350)] + ["!name7", "!name340"])
    assert [rules.matches(f"x/name{number}") for number in (0, 7, 120, 340, 349)] == [
        True,
        False,
        True,
        False,
        True,
    ]


def test_too_many_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="more than"):
        IgnoreRules(["a"] * (MOST_LINES + 1))


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("src/**/*.py", "src/a/b/c.py", True),
        ("src/**/*.py", "src/c.py", True),
        ("src/*.py", "src/a/c.py", False),
        ("a?c", "a/c", False),
        ("**", "a/\n/b", True),
        ("a.c", "abc", False),
        ("É", "é", False),
    ],
)
def test_a_glob_of_paths_keeps_to_names(glob: str, path: str, expected: bool) -> None:
    assert bool(path_glob(glob).fullmatch(path)) is expected
    assert path_glob(glob.upper(), ignore_case=True).fullmatch(path.lower()) or not expected
