import os
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everyday import is_thorough
from outrider.ports.text import Hunk
from outrider.workspace.history.patch import Side, file_patch
from outrider.workspace.text.diff import apply_hunks, changed_ranges, line_hunks, text_hunks, unified
from outrider.workspace.text.lines import split_lines
from outrider.workspace.text.merge import MergeConflict, Merged, merge

LINES = st.lists(
    st.sampled_from(["a\n", "b\n", "c\n", "d\n", "e\r\n", "\n", "é\u0301x\n", "😀\n", "f\x0cg\n"]),
    max_size=14,
)
TEXTS = st.builds(lambda lines, last: "".join(lines) + last, LINES, st.sampled_from(["", "a", "z"]))
NUMBERED = st.lists(st.integers(0, 9).map(lambda n: f"{n}\n"), max_size=14).map("".join)


@st.composite
def versions(draw: st.DrawFn) -> tuple[str, str, str]:
    """A text and two edited copies."""
    base = [f"line {n}\n" for n in range(draw(st.integers(0, 25)))]

    def edited(name: str) -> str:
        lines = list(base)
        for _ in range(draw(st.integers(0, 3))):
            at = draw(st.integers(0, len(lines)))
            new = [f"{name} {draw(st.integers(0, 5))}\n" for _ in range(draw(st.integers(0, 2)))]
            lines[at : at + draw(st.integers(0, 2))] = new
        return "".join(lines)

    return "".join(base), edited("mine"), edited(draw(st.sampled_from(["mine", "theirs"])))


@given(TEXTS, TEXTS)
def test_hunks_turn_one_text_into_the_other(before: str, after: str) -> None:
    hunks = text_hunks(before, after)
    assert apply_hunks(before, hunks) == after
    assert all(hunk.old != hunk.new for hunk in hunks)
    lines = split_lines(before)
    for hunk in reversed(line_hunks(before, after)):
        first, count = hunk.line - 1, len(split_lines(hunk.removed))
        assert "".join(lines[first : first + count]) == hunk.removed
        lines[first : first + count] = [hunk.added]
    assert "".join(lines) == after


@given(TEXTS, TEXTS)
def test_line_hunks_are_as_few_lines_as_can_be(before: str, after: str) -> None:
    old, new = split_lines(before), split_lines(after)
    lengths = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, one in enumerate(old):
        for j, other in enumerate(new):
            lengths[i + 1][j + 1] = (
                lengths[i][j] + 1 if one == other else max(lengths[i][j + 1], lengths[i + 1][j])
            )
    kept = len(old) - sum(one.end - one.start for one in changed_ranges(old, new))
    assert kept == lengths[-1][-1]


@pytest.mark.parametrize(
    ("before", "after", "hunk"),
    [
        ("x = foo(1)\n", "x = bar(1)\n", Hunk(4, 7, "foo", "bar")),
        ("a\nb\n", "a\nnew\nb\n", Hunk(2, 2, "", "new\n")),
        ("a\r\n", "a\n", Hunk(1, 3, "\r\n", "\n")),
        ("e\u0301\n", "e\n", Hunk(0, 2, "e\u0301", "e")),
        ("👍🏽\n", "👍🏻\n", Hunk(0, 2, "👍🏽", "👍🏻")),
        ("👩\u200d🚀 a\n", "👩\u200d🔬 a\n", Hunk(0, 3, "👩\u200d🚀", "👩\u200d🔬")),
        ("a", "a\n", Hunk(1, 1, "", "\n")),
        ("", "a\n", Hunk(0, 0, "", "a\n")),
    ],
)
def test_a_hunk_is_small_and_cuts_nothing_in_two(before: str, after: str, hunk: Hunk) -> None:
    assert text_hunks(before, after) == [hunk]


def test_hunks_that_do_not_fit_are_not_applied() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        apply_hunks("abc", [Hunk(0, 1, "x", "y")])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kinds", range(6))
def test_texts_with_little_in_common_are_compared_too(seed: int, kinds: int) -> None:
    rng = random.Random(seed)
    words = [f"{n}\n" for n in range(3 ** (kinds + 1))]
    before = "".join(rng.choice(words) for _ in range(1500))
    after = "".join(rng.choice(words) for _ in range(1500))
    assert apply_hunks(before, text_hunks(before, after)) == after


def test_a_big_file_with_many_scattered_changes_keeps_small_hunks() -> None:
    before = [f"line {n}\n" if n % 3 else "    return\n" for n in range(20_000)]
    after = [f"changed {n}\n" if n % 20 == 7 else line for n, line in enumerate(before) if n % 50]
    hunks = line_hunks("".join(before), "".join(after))
    assert sum(len(split_lines(hunk.removed)) for hunk in hunks) < 1500


@given(TEXTS, TEXTS)
def test_a_unified_diff_is_what_patch_understands(before: str, after: str) -> None:
    diff = unified(before, after, "a.txt")
    assert (diff == "") == (before == after)
    if "\r" in before + after or not diff:
        return
    lines = split_lines(before)
    output: list[str] = []
    position, mark = 0, ""
    for line in diff.split("\n")[2:-1]:
        before_mark, mark = mark, line[:1]
        match mark:
            case "@":
                start, _, count = line.split()[1][1:].partition(",")
                first = int(start) - (count != "0")
                output += lines[position:first]
                position = first
            case "\\":
                output[-1:] = [output[-1].removesuffix("\n")] if before_mark == "+" else output[-1:]
            case "+":
                output.append(line[1:] + "\n")
            case _:
                assert lines[position].rstrip("\n") == line[1:]
                position += 1
                output += [lines[position - 1]] if mark == " " else []
    assert "".join([*output, *lines[position:]]) == after


def test_a_unified_diff_reads_as_people_know_it() -> None:
    before = "".join(f"{n}\n" for n in range(1, 31))
    after = before.replace("10\n", "ten\n").replace("25\n", "").replace("30\n", "30")
    assert unified(before, after, "n.txt", context=1) == (
        "--- n.txt\n+++ n.txt\n@@ -9,3 +9,3 @@\n 9\n-10\n+ten\n 11\n@@ -24,3 +24,2 @@\n 24\n-25\n 26\n"
        "@@ -29,2 +28,2 @@\n 29\n-30\n+30\n\\ No newline at end of file\n"
    )


def test_different_places_are_combined_and_the_same_change_is_taken_once() -> None:
    base = "a\nb\nc\nd\ne\n"
    merged = merge(base, "A\nb\nc\nd\nE\n", "a\nb\nC\nd\nE\n")
    assert (merged.text, merged.conflicts) == ("A\nb\nC\nd\nE\n", ())


def test_what_both_changed_stays_mine_and_is_named() -> None:
    merged = merge("a\nb\nc\n", "new\na\nmine\nc\n", "a\ntheirs\nc\n")
    assert merged.text == "new\na\nmine\nc\n"
    assert merged.conflicts == (MergeConflict(3, "b\n", "mine\n", "theirs\n"),)


@given(versions())
def test_a_merge_loses_no_text_and_takes_sides_only_where_it_must(texts: tuple[str, str, str]) -> None:
    base, mine, theirs = texts
    assert merge(base, base, theirs).text == theirs
    assert merge(base, mine, base).text == mine
    assert merge(base, mine, mine).text == mine
    merged, mirrored = merge(base, mine, theirs), merge(base, theirs, mine)
    assert len(merged.conflicts) == len(mirrored.conflicts)
    kept = split_lines(merged.text)
    lost = [line for line in split_lines(mine) if line not in kept and line not in split_lines(base)]
    assert not lost
    if not merged.conflicts:
        assert merged.text == mirrored.text
    for conflict in merged.conflicts:
        first = conflict.line - 1
        assert "".join(kept[first : first + len(split_lines(conflict.mine))]) == conflict.mine
        assert conflict.mine != conflict.theirs


@given(versions(), st.tuples(st.booleans(), st.booleans(), st.booleans()))
def test_the_end_of_the_last_line_is_merged_by_itself(
    texts: tuple[str, str, str], ended: tuple[bool, bool, bool]
) -> None:
    base, mine, theirs = (
        text if is_ended else text.removesuffix("\n") for text, is_ended in zip(texts, ended, strict=True)
    )
    merged, whole = merge(base, mine, theirs), merge(*texts)
    assert len(merged.conflicts) == len(whole.conflicts)
    assert merged.text.removesuffix("\n") == whole.text.removesuffix("\n")
    assert merge(base, base, theirs).text == theirs
    assert merge(base, mine, base).text == mine
    assert merge(base, mine, mine).text == mine
    if base and mine and merged.text and ended[1] != ended[0]:
        assert merged.text.endswith("\n") is ended[1]


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "text"),
    [
        ("a\nb", "a\nb\n", "a\nB", "a\nB\n"),
        ("a\nb\n", "a\nb", "a\nB\n", "a\nB"),
        ("a\nb", "a\nB", "a\nb\n", "a\nB\n"),
        ("b", "b\r\n", "B", "B\r\n"),
        ("a\nb\n", "a\nb\nmine\n", "a", "a\nmine\n"),
        ("", "", "b", "b"),
        ("b", "", "b\nc\n", "c\n"),
    ],
)
def test_an_end_of_the_last_line_is_in_no_ones_way(base: str, mine: str, theirs: str, text: str) -> None:
    assert merge(base, mine, theirs) == Merged(text, ())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("merge")


@settings(max_examples=120, deadline=None)
@given(texts=versions())
def test_it_merges_as_git_does(folder: Path, texts: tuple[str, str, str]) -> None:
    base, mine, theirs = texts
    for name, text in zip(("base", "mine", "theirs"), texts, strict=True):
        (folder / name).write_text(text)
    done = subprocess.run(
        ["git", "merge-file", "-p", "mine", "base", "theirs"], cwd=folder, capture_output=True, check=False
    )
    merged = merge(base, mine, theirs)
    if done.returncode == 0 and not merged.conflicts:
        assert merged.text == done.stdout.decode()


# --- patches, with git as the oracle ---------------------------------------------------------------------------


RAW = st.lists(
    st.sampled_from(
        ["a\n", "b\n", "c\r\n", "\n", "d\r", "\x0c\n", "\u2028\n", "é\n", "-- \n", "+++ x\n", "@@\n", "\\ \n"]
    ),
    max_size=12,
)
RAW_TEXTS = st.builds(lambda lines, last: "".join(lines) + last, RAW, st.sampled_from(["", "a", "z\r"]))
CONTENTS = st.one_of(
    RAW_TEXTS.map(str.encode),
    RAW_TEXTS.map(lambda text: f"\ufeff{text}".encode("utf-16-le")),
    RAW_TEXTS.map(lambda text: f"\ufeff{text}".encode("utf-16-be")),
    RAW_TEXTS.map(lambda text: b"\xef\xbb\xbf" + text.encode()),
    st.sampled_from([b"", b"\0", bytes(range(256)) * 3, b"\xff\xfe", b"a\0b\n", b"a" * 25 + b"\xff" * 28]),
    st.binary(min_size=20, max_size=80),
)
PATHS = ["a.txt", "b c.txt", "ü/d.txt", 'q"q.txt']
STATES = st.none() | st.tuples(CONTENTS, st.booleans())


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(STATES, STATES, st.booleans()), min_size=1, max_size=4))
def test_git_applies_any_patch_and_takes_it_back(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[tuple[bytes, bool] | None, tuple[bytes, bool] | None, bool]],
) -> None:
    root = tmp_path_factory.mktemp("patched")
    patch, wanted, first = "", dict[str, tuple[bytes, bool]](), dict[str, tuple[bytes, bool]]()
    for path, (before, after, moves) in zip(PATHS, changes, strict=False):
        to = f"moved {path}" if moves and before is not None and after is not None else path
        if before is not None:
            first[path] = before
        if after is not None:
            wanted[to] = after
        patch += file_patch(Side(path, *(before or (None,))), Side(to, *(after or (None,))))
    for path, (content, executable) in first.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
        (root / path).chmod(0o755 if executable else 0o644)
    if not patch:
        assert wanted == first
        return
    _apply(root, patch)
    assert _files_in(root) == wanted
    _apply(root, patch, "--reverse")
    assert _files_in(root) == first


def test_a_file_that_came_and_went_is_not_in_the_patch() -> None:
    assert file_patch(Side("a", None), Side("a", None, executable=True)) == ""


def _apply(root: Path, patch: str, *more: str) -> None:
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", *more],
        cwd=root,
        input=patch.encode(),
        capture_output=True,
        env={"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(root.parent), "HOME": str(root)},
        check=False,
    )
    assert done.returncode == 0, (done.stderr.decode(), patch)


def _files_in(root: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), os.access(path, os.X_OK))
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("seed", range(8))
def test_thousands_of_merges_are_as_git_does_them(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    compared = 0
    for number in range(MERGES):
        words = ["}\n", "\n", "    return\n"] if number % 2 else [f"{n}\n" for n in range(60)]
        base = [rng.choice(words) for _ in range(rng.randint(0, 30))]
        mine, theirs = (_changed(rng, base, words, who) for who in ("mine", "theirs"))
        texts = ["".join(one) for one in (mine, base, theirs)]
        if number % 5 == 0:
            texts = [text.replace("\n", "\r\n") for text in texts]
        for name, text in zip(("mine", "base", "theirs"), texts, strict=True):
            (folder / name).write_bytes(text.encode())
        done = subprocess.run(
            ["git", "merge-file", "-p", "mine", "base", "theirs"],
            cwd=folder,
            capture_output=True,
            check=False,
        )
        merged = merge(texts[1], texts[0], texts[2])
        if done.returncode == 0 and not merged.conflicts and (number % 2 == 0):
            compared += 1
            assert merged.text == done.stdout.decode(), texts
        # Where lines repeat, two comparisons may take other ones for the same: nothing of either side may be missing.
        new = [line for line in (*mine, *theirs) if "line of" in line]
        if not merged.conflicts:
            assert all(line.rstrip("\n") in merged.text for line in new), texts
    assert compared > MERGES // 8


MERGES = 300 if is_thorough() else 75
"""With each seed."""


def _changed(rng: random.Random, base: list[str], words: list[str], who: str) -> list[str]:
    lines = list(base)
    for number in range(rng.randint(0, 3)):
        at = rng.randint(0, len(lines))
        new = [rng.choice([f"line of {who} {number}\n", rng.choice(words)]) for _ in range(rng.randint(0, 2))]
        lines[at : at + rng.randint(0, 2)] = new
    return lines
