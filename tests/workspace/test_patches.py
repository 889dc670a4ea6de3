import difflib
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from outrider.workspace.text.diff import unified
from outrider.workspace.text.matching.patches import (
    FilePatch,
    Patched,
    PatchProblem,
    Unfit,
    apply_hunks_of_patch,
    parse,
)

TEXT = """\
import os

class A:
    def run(self):
        return 1

class B:
    def run(self):
        return 1
"""


def files(patch: str) -> list[FilePatch]:
    parsed = parse(patch)
    assert not isinstance(parsed, PatchProblem), parsed.message
    return parsed


def unreadable(patch: str) -> str:
    parsed = parse(patch)
    assert isinstance(parsed, PatchProblem), parsed
    return parsed.message


def update(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", "*** Update File: a.py", *lines, "*** End Patch"])


def patched(text: str, patch: str) -> str:
    (file,) = files(patch)
    done = apply_hunks_of_patch(text, file.hunks)
    assert isinstance(done, Patched), done
    return done.text


def unfit(text: str, patch: str) -> tuple[str, ...]:
    (file,) = files(patch)
    done = apply_hunks_of_patch(text, file.hunks)
    assert isinstance(done, Unfit), done
    return done.reasons


# --- the envelope --------------------------------------------------------------------------------------------


def test_an_envelope_with_everything() -> None:
    added, moved, deleted = files(
        "*** Begin Patch\n*** Add File: new.py\n+a\n+\n+b\n\n*** Update File: old.py\n*** Move to: there.py\n"
        "@@ def f():\n x\n-y\n+z\n\n*** Delete File: gone.py\n*** End Patch\n"
    )
    assert added == FilePatch("add", "new.py", content="a\n\nb\n")
    assert (moved.operation, moved.path, moved.to) == ("update", "old.py", "there.py")
    assert [(one.mark, one.line) for one in moved.hunks[0].lines] == [(" ", "x"), ("-", "y"), ("+", "z")]
    assert moved.hunks[0].headers == ("def f():",)
    assert deleted == FilePatch("delete", "gone.py")


@pytest.mark.parametrize("margin", ["  ", "\t", " "])
def test_white_space_around_the_marks_of_an_envelope_is_not_of_them(margin: str) -> None:
    plain = [
        "*** Begin Patch", "*** Update File: a", "*** Move to: b", "@@", " one", "-two", "+2", "*** End of File",
        "*** Add File: c", "+new", "*** Delete File: d", "*** End Patch",
    ]  # fmt: skip
    padded = [f"{margin}{line} \t" if line.startswith("***") else line for line in plain]
    assert parse("\n".join(padded)) == parse("\n".join(plain))
    # Only where the first mark has it: else it is a line of a file that reads so.
    alone = [
        "*** Begin Patch",
        "*** Update File: a",
        "@@",
        " *** End Patch",
        "-two",
        " *** Update File: b",
        "*** End Patch",
    ]
    (file,) = files("\n".join(alone))
    assert file.hunks[0].old == ["*** End Patch", "two", "*** Update File: b"]
    last = ["*** Begin Patch", " *** Update File: a", "-two", f"{margin}*** End Patch "]
    (file,) = files("\n".join(last))
    assert (file.path, file.hunks[0].old) == ("a", ["two"])


def test_a_move_needs_no_hunk() -> None:
    (moved,) = files("*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch")
    assert moved == FilePatch("update", "a", "b")


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        ("", "it contains no file: a patch begins with '*** Begin Patch'"),
        ("hello", "it contains no file"),
        ("*** Begin Patch\n*** Add File: a\n+x", "line 3 of the patch: it ends without '*** End Patch'"),
        (
            "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
            "line 3 of the patch: every line of a new file",
        ),
        ("*** Begin Patch\n*** Add File: \n*** End Patch", "line 2 of the patch: a path is missing"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "line 3 of the patch: a has no hunk"),
        ("*** Begin Patch\n*** Rename File: a\n*** End Patch", "line 2 of the patch: a file must begin here"),
        ("*** Begin Patch\n*** End Patch\nmore", "line 3 of the patch: there is text after"),
        ("*** Begin Patch\n*** End Patch", "it contains no file"),
        (update("@@", " a"), "a hunk changes nothing"),
        (
            update("@@", "!a"),
            "line 4 of the patch: a line of a hunk begins with a space, + or -, not with '!'",
        ),
    ],
)
def test_an_envelope_that_cannot_be_read_says_why(patch: str, says: str) -> None:
    assert says in unreadable(patch)


def test_context_decides() -> None:
    assert (
        patched(
            TEXT, update("@@", " class B:", "     def run(self):", "-        return 1", "+        return 2")
        )
        == (TEXT[::-1].replace("1", "2", 1)[::-1])
    )


def test_a_header_says_which_of_two_places() -> None:
    hunk = ("     def run(self):", "-        return 1", "+        return 2")
    (reason,) = unfit(TEXT, update("@@", *hunk))
    assert reason == (
        "the hunk fits at 2 places; give it more lines around the change, or an @@ line:\n"
        "     4\t    def run(self):\n     8\t    def run(self):"
    )
    after = TEXT[::-1].replace("1", "2", 1)[::-1]
    assert patched(TEXT, update("@@ class B:", *hunk)) == after
    assert patched(TEXT, update("@@ class B", "@@ def run(self):", *hunk[1:])) == after
    assert patched(TEXT, update("@@ class A:", *hunk)) == TEXT.replace("1", "2", 1)
    assert "2 places" in unfit(TEXT, update("@@ class C:", *hunk))[0]


def test_the_end_of_the_file_says_which_of_two_places() -> None:
    assert patched("a\nb\na\n", update("@@", "-a", "+c", "*** End of File")) == "a\nb\nc\n"
    assert patched("a\nb\n", update("@@", "+c", "*** End of File")) == "a\nb\nc\n"
    assert patched("a\nb", update("@@", "+c", "*** End of File")) == "a\nb\nc"


def test_hunks_stand_in_the_order_of_the_file() -> None:
    text = "a\nx\nb\nx\nc\n"
    assert patched(text, update("@@", "-b", "+B", "@@", "-x", "+y")) == "a\nx\nB\ny\nc\n"
    assert patched(text, update("@@", "-c", "+C", "@@", "-a", "+A")) == "A\nx\nb\nx\nC\n"


def test_only_added_lines_need_a_place() -> None:
    assert patched("", update("@@", "+a")) == "a\n"
    assert patched(TEXT, update("@@ class B:", "+    x = 1")) == TEXT.replace(
        "class B:\n", "class B:\n    x = 1\n"
    )
    (file,) = files(update("@@", "+a", "+b"))
    nowhere = apply_hunks_of_patch(TEXT, file.hunks)
    assert isinstance(nowhere, Patched)
    assert nowhere.text == f"{TEXT}a\nb\n"
    assert nowhere.notes == (
        "the hunk only adds lines and has no context: they were added at the end of the file.",
    )
    assert (
        patched(TEXT, update("@@", "-import os", "+import re", "@@", "+a"))
        == TEXT.replace("os", "re") + "a\n"
    )
    assert unfit(TEXT, update("@@ class C:", "+a")) == (
        "the hunk only adds lines; add context lines that show where",
    )
    assert unfit(TEXT, update("@@ def run(self):", "+a"))[0].startswith(
        "the hunk fits below 2 places:\n     4\t"
    )


def test_a_line_that_is_named_above_a_hunk_is_not_cut_in_a_word() -> None:
    text = "def run_all():\n    return 1\n\n\ndef go():\n    return 1\n"
    (reason,) = unfit(text, update("@@ def run", "-    return 1", "+    return 2"))
    assert reason.startswith("the hunk fits at 2 places")
    assert patched(text, update("@@ def run_all", "-    return 1", "+    return 2")) == text.replace(
        "1", "2", 1
    )


def test_a_hunk_with_another_identifier_is_never_placed() -> None:
    (reason,) = unfit("MAX_RETRIES_C = 3\n", update("@@", "-MAX_RETRIES_D = 3", "+MAX_RETRIES_D = 5"))
    assert reason.startswith("the hunk was not found")


def test_every_hunk_that_does_not_fit_is_named() -> None:
    reasons = unfit(
        TEXT, update("@@", "-import sys", "+import re", "@@", "-class A:", "+class X:", "@@", "-q", "+r")
    )
    assert [reason.split(". ")[0] for reason in reasons] == ["hunk 1 was not found", "hunk 3 was not found"]
    assert "     1\timport os" in reasons[0]
    assert "-import sys\n+import os" in reasons[0]


def test_hunks_that_overlap_are_refused() -> None:
    (reason,) = unfit("a\nb\nc\n", update("@@", "-a", " b", "@@", " b", "-c"))
    assert reason == "hunk 2 overlaps another hunk, at line 2"


def test_a_hunk_is_found_in_layers_and_says_so() -> None:
    (file,) = files(
        update("@@", " class B:", " def run(self):", "-    return 1", "+    if self:", "+        return 2")
    )
    text = TEXT.replace("class B:\n    def", "    class B:\n    def").replace("\n", "\r\n")
    done = apply_hunks_of_patch(text, file.hunks)
    assert isinstance(done, Patched)
    (note,) = done.notes
    assert note == (
        "the hunk was found apart from its indentation, which was applied to the new text too. It replaced:\n"
        "     7\t    class B:\n     8\t    def run(self):\n     9\t        return 1"
    )
    assert done.text.endswith(
        "    class B:\r\n    def run(self):\r\n        if self:\r\n            return 2\r\n"
    )


# --- unified diffs -------------------------------------------------------------------------------------------


def test_a_diff_of_several_files() -> None:
    parsed = files(
        "--- plain.txt\t2026-01-01\n+++ plain.txt\t2026-01-02\n@@ -1 +1 @@\n-x\n+y\n"
        "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@ def f\n-a\n+b\n c\n"
        "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n"
        "\\ No newline at end of file\n"
        "diff --git a/g b/g\ndeleted file mode 100644\n--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n"
        "diff --git a/o b/m\nsimilarity index 100%\nrename from o\nrename to m\n"
        "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n"
    )
    assert [(one.operation, one.path, one.to, len(one.hunks)) for one in parsed] == [
        ("update", "plain.txt", None, 1),
        ("update", "x.py", None, 1),
        ("add", "n", None, 0),
        ("delete", "g", None, 1),
        ("update", "o", "m", 0),
        ("add", "e", None, 0),
    ]
    assert parsed[2].content == "n"
    assert parsed[5].content == ""


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        ("@@ -1 +1 @@\n-a\n+b\n", "line 1 of the patch: a hunk without a file"),
        ("--- a/x\n+++ b/x\n", "x has no hunk"),
        ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "it names two files, x and y"),
        ("--- a/x\n+++ b/x\n@@ somewhere @@\n-a\n", "line 3 of the patch: a hunk begins with '@@ -LINE,COUNT"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "a hunk has no lines"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\nb\n", "line 5 of the patch: a line of a hunk begins with a space"),
        ("--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "every line of a new file begins with +"),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "this cannot be done: 'old mode 100644'"),
        ("diff --git a/x b/x\nnew file mode 120000\n", "links cannot be made"),
        ("diff --git a/x b/x\nGIT binary patch\n", "this cannot be done: 'GIT binary patch'"),
        ("diff --git a/x b/y\ncopy from x\ncopy to y\n", "this cannot be done: 'copy from x'"),
        ("diff --git a/x b/x\nindex 1..2\n", "the lines '--- a/FILE' and '+++ b/FILE' are missing"),
    ],
)  # fmt: skip
def test_a_diff_that_cannot_be_read_says_why(patch: str, says: str) -> None:
    assert says in unreadable(patch)


DIFF = "--- a/x\n+++ b/x\n@@ -{} +{} @@\n     def run(self):\n-        return 1\n+        return 2\n"


def test_line_numbers_count_where_all_is_exactly_there() -> None:
    assert patched(TEXT, DIFF.format("8,2", "8,2")) == TEXT[::-1].replace("1", "2", 1)[::-1]
    assert patched(TEXT, DIFF.format("4,2", "4,2")) == TEXT.replace("1", "2", 1)


@pytest.mark.parametrize("stated", ["7,2", "9,2", "1,2", "700,2"])
def test_line_numbers_that_are_wrong_do_not_decide(stated: str) -> None:
    assert "fits at 2 places" in unfit(TEXT, DIFF.format(stated, stated))[0]
    only = TEXT.replace("class A:\n    def run(self):\n        return 1\n", "")
    assert patched(only, DIFF.format(stated, stated)) == only.replace("1", "2")


@pytest.mark.parametrize("counts", ["4,9", "4,1", "4"])
def test_counts_that_are_wrong_do_no_harm(counts: str) -> None:
    diff = DIFF.format(counts, counts) + "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"
    first, second = files(diff)
    assert [len(first.hunks[0].lines), second.path] == [3, "y"]


def test_lines_that_look_like_headers_are_lines_where_the_counts_say_so() -> None:
    text = "-- one\nx\n"
    assert patched(text, "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- one\n+++ two\n x\n") == "++ two\nx\n"


@pytest.mark.parametrize(
    ("text", "body", "after"),
    [
        ("a", "-a\n\\ No newline at end of file\n+a\n", "a\n"),
        ("a\n", "-a\n+a\n\\ No newline at end of file\n", "a"),
        ("a", "-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", "b"),
        ("a", "-a\n+b\n", "b"),
        ("a\r\n", "-a\n+b\n+c\n", "b\r\nc\r\n"),
    ],
)
def test_the_end_of_the_file_is_as_it_is_said(text: str, body: str, after: str) -> None:
    assert patched(text, f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n{body}") == after


def test_names_as_git_quotes_them() -> None:
    (file,) = files('--- "a/\\303\\244 \\"b\\".txt"\n+++ "b/\\303\\244 \\"b\\".txt"\n@@ -1 +1 @@\n-a\n+b\n')
    assert file.path == 'ä "b".txt'


# --- properties ----------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["a", "b", "c", "  a", "", "-- x", "++ x", "@@ -1 +1 @@", "\\ y", "x\x0c\u2028", "*** z"]
)
LINES = st.lists(WORDS, max_size=25)


def as_text(lines: list[str], end: str, *, is_ended: bool) -> str:
    text = "".join(f"{line}{end}" for line in lines)
    return text if is_ended or not lines or not lines[-1] else text.removesuffix(end)


@given(LINES, LINES, st.booleans(), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_a_diff_of_two_texts_leads_from_the_one_to_the_other(
    one: list[str], other: list[str], is_ended: bool, other_is_ended: bool, end: str
) -> None:
    before, after = as_text(one, end, is_ended=is_ended), as_text(other, end, is_ended=other_is_ended)
    # What a text of one line without an end would end its lines with, nobody knows.
    assume(before != after and (end in before or (before and end == "\n")))
    assert patched(before, unified(before, after, "x")) == after


@given(LINES, LINES)
def test_a_diff_of_another_tool_leads_there_too(one: list[str], other: list[str]) -> None:
    before, after = "".join(f"{line}\n" for line in one), "".join(f"{line}\n" for line in other)
    assume(before != after and before and after)
    diff = "".join(difflib.unified_diff(_split(before), _split(after), "a/x", "b/x"))
    assert patched(before, diff) == after


def _split(text: str) -> list[str]:
    return [f"{line}\n" for line in text.split("\n")[:-1]]


@given(st.data())
def test_a_patch_fits_a_text_that_others_edited_elsewhere(data: st.DataObject) -> None:
    lines = [f"line {number} of this text" for number in range(40)]
    before = "".join(f"{line}\n" for line in lines)
    first = data.draw(st.integers(10, 20))
    edited = [*lines[:first], "something new", *lines[first + data.draw(st.integers(0, 5)) :]]
    after = "".join(f"{line}\n" for line in edited)
    above = "".join(f"above {number}\n" for number in range(data.draw(st.integers(0, 20))))
    gone = data.draw(st.integers(0, 6))
    below = data.draw(st.sampled_from(["", "below\n"]))

    def moved(text: str) -> str:
        return above + "".join(text.splitlines(keepends=True)[gone:]) + below

    assert patched(moved(before), unified(before, after, "x")) == moved(after)


@given(LINES, LINES, LINES, LINES)
def test_a_patch_for_a_moved_text_fits_or_is_refused_and_is_never_put_elsewhere(
    one: list[str], other: list[str], above: list[str], below: list[str]
) -> None:
    before, after = "".join(f"{line}\n" for line in one), "".join(f"{line}\n" for line in other)
    over, under = "".join(f"{line}\n" for line in above), "".join(f"{line}\n" for line in below)
    assume(before != after and before)
    (file,) = files(unified(before, after, "x"))
    done = apply_hunks_of_patch(over + before + under, file.hunks)
    if isinstance(done, Patched) and len(file.hunks) == 1:
        old = "\n".join(file.hunks[0].old)
        assert f"\n{old}\n" in f"\n{over}{before}{under}"


def test_what_git_writes_is_read_as_git_reads_it(tmp_path: Path) -> None:
    """Every kind of change at once, made and read by git itself."""
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", str(tmp_path)]

    def run(*arguments: str) -> str:
        return subprocess.run([*git, *arguments], check=True, capture_output=True, text=True).stdout

    run("init", "-q")
    long = "".join(f"line {number}\n" for number in range(30))
    for name, text in {"edit me.txt": long, "gone.txt": "a\nb", "old.txt": long, "ü.txt": "x\n"}.items():
        (tmp_path / name).write_text(text)
    run("add", ".")
    run("commit", "-qm", "before")
    (tmp_path / "edit me.txt").write_text(long.replace("line 3\n", "LINE 3\n").replace("line 25\n", ""))
    (tmp_path / "gone.txt").unlink()
    (tmp_path / "old.txt").rename(tmp_path / "new.txt")
    (tmp_path / "new.txt").write_text(long.replace("line 9\n", "line nine\n"))
    (tmp_path / "ü.txt").write_text("y")
    (tmp_path / "born.txt").write_text("hello\n")
    run("add", "-A")
    parsed = {file.path: file for file in files(run("diff", "--cached", "-M"))}
    assert {name: (file.operation, file.to) for name, file in parsed.items()} == {
        "edit me.txt": ("update", None),
        "gone.txt": ("delete", None),
        "old.txt": ("update", "new.txt"),
        "ü.txt": ("update", None),
        "born.txt": ("add", None),
    }
    assert parsed["born.txt"].content == "hello\n"
    for old, new in {"edit me.txt": "edit me.txt", "old.txt": "new.txt", "ü.txt": "ü.txt"}.items():
        done = apply_hunks_of_patch(run("show", f"HEAD:{old}"), parsed[old].hunks)
        assert done == Patched((tmp_path / new).read_text())
    assert apply_hunks_of_patch("a\nb", parsed["gone.txt"].hunks) == Patched("")


NUMBERED = {
    "plain": ("alpha {0}\nbeta {0}\ngamma {0}\n", "@@\n alpha {0}\n-beta {0}\n+delta {0}\n gamma {0}\n"),
    "headers": (
        "def f{0}():\n    x = 1\n    return x\n",
        "@@ def f{0}():\n-    x = 1\n+    x = 2\n     return x\n",
    ),
    "insertions": ("def f{0}():\n    x = 1\n", "@@ def f{0}():\n+    y = 2\n"),
    "indented": ("  alpha {0}\n  beta {0}\n", "@@\n alpha {0}\n-beta {0}\n+delta {0}\n"),
    "nowhere": ("alpha {0}\nbeta {0}\n", "@@\n alpha {0}\n-no such line\n+delta {0}\n"),
    "anywhere": ("a\nb\nc\n", "@@\n a\n-b\n+d\n c\n"),
    "ends": ("a\n", " *** End Patch\n"),
}


@pytest.mark.usefixtures("young_heap")
@pytest.mark.parametrize("kind", NUMBERED)
def test_many_hunks_take_linear_time(kind: str) -> None:
    line, hunk = NUMBERED[kind]

    def seconds(count: int) -> float:
        text = "".join(line.format(number) for number in range(count))
        body = "@@\n+x\n" + "".join(hunk.format(number) for number in range(count))
        begin = time.process_time()
        files = parse(f"*** Begin Patch\n*** Update File: a\n{body}*** End Patch\n")
        assert isinstance(files, list)
        apply_hunks_of_patch(text, files[0].hunks)
        return time.process_time() - begin

    assert seconds(10_000) < 20 * max(seconds(1_000), 0.02)


def test_of_many_hunks_that_do_not_fit_the_first_ones_are_named() -> None:
    body = "".join(f"@@\n-nowhere {number}\n+x\n" for number in range(500))
    files = parse(f"*** Begin Patch\n*** Update File: a\n{body}*** End Patch\n")
    assert isinstance(files, list)
    done = apply_hunks_of_patch("one\ntwo\n", files[0].hunks)
    assert isinstance(done, Unfit)
    assert done.reasons[0].startswith("hunk 1 was not found. The nearest lines now:")
    assert done.reasons[19] == "hunk 20 was not found"
    assert done.reasons[20:] == ("The 480 hunks after hunk 20 were not checked.",)


def test_hunks_that_fit_at_too_many_places_together_are_refused() -> None:
    """Each of them fits anywhere, in a text and a patch of one line over and over, of a length of its own."""
    text = "a\n" * 200_000
    body = "".join("@@\n" + " a\n" * length + "-a\n" for length in range(200, 400))
    files = parse(f"*** Begin Patch\n*** Update File: a\n{body}*** End Patch\n")
    assert isinstance(files, list)
    done = apply_hunks_of_patch(text, files[0].hunks)
    assert isinstance(done, Unfit)
    assert any("too many places" in reason for reason in done.reasons)
