"""What the model is told after an edit, and what it gets for calls that cannot be meant so."""

import json

import pytest
from scripting import DONE, call, result, step

from outrider.tools.edit.pasted import has_line_numbers
from outrider.workspace.syntax import syntax

FULL = {"permissionMode": "full"}
LONG = "".join(f"line {number}\n" for number in range(1, 201))
BROKEN = call("edit_file", path="tariff.py", old="def price(hours):", new="def price(hours:")


def results_of(editor):
    """Status and content of each result, in order."""
    return [(one["data"]["status"], one["data"]["content"]) for one in editor.events_of("tool.finished")]


# --- the lines as they are now -------------------------------------------------------------------------------


async def test_an_edit_answers_with_the_lines_as_they_are_now(begin, workspace):
    (workspace / "long.txt").write_text(LONG)
    edits = [{"old": "line 50\n", "new": "line fifty\nand more\n"}, {"old": "line 199\n", "new": ""}]
    editor = await begin("stock", [step(call("edit_file", path="long.txt", edits=edits)), DONE], FULL)
    await editor.run("Go.")
    assert result(editor) == (
        "ok",
        (
            "Edited long.txt.\nNow in long.txt:\n"
            "    47\tline 47\n    48\tline 48\n    49\tline 49\n    50\tline fifty\n    51\tand more\n    52\tline 51\n"
            "    53\tline 52\n    54\tline 53\n     …\n   197\tline 196\n   198\tline 197\n   199\tline 198\n   200\tline 200"
        ),
    )


async def test_the_lines_that_are_shown_are_bounded(begin, workspace):
    (workspace / "long.txt").write_text(LONG)
    calls = [
        call("edit_file", path="long.txt", old="0\n", new=f"{'x' * 3000}\n", replace_all=True),
        call("insert_lines", path="long.txt", after_line=100, text="".join(f"new {n}\n" for n in range(100))),
    ]
    editor = await begin("stock", [step(*calls), DONE], FULL)
    await editor.run("Go.")
    (_, everywhere), (_, inserted) = results_of(editor)
    assert everywhere.endswith("\n     … more lines are changed")
    assert len(everywhere.splitlines()) < 50
    assert len(everywhere) < 10_000
    shown = [line.partition("\t")[2] for line in inserted.splitlines()[2:]]
    assert [line for line in shown if line.startswith("new")] == [
        f"new {n}" for n in (0, 1, 2, 3, 96, 97, 98, 99)
    ]


async def test_a_patch_answers_for_each_file(begin, workspace):
    (workspace / "long.txt").write_text(LONG)
    patch = (
        "*** Begin Patch\n*** Update File: tariff.py\n@@\n-    return hours * 3\n+    return (hours * 3\n"
        "*** Update File: long.txt\n@@\n-line 1\n+line one\n*** Add File: new.py\n+def f(:\n+    pass\n*** End Patch"
    )
    editor = await begin("stock", [step(call("apply_patch", patch=patch)), DONE], FULL)
    await editor.run("Go.")
    status, content = result(editor)
    assert status == "ok"
    assert "Now in tariff.py:\n     1\tdef price(hours):\n" in content
    assert "Now in long.txt:\n     1\tline one\n     2\tline 2\n     3\tline 3\n     4\tline 4\n" in content
    assert "New syntax error in tariff.py: line 3 " in content
    assert "New syntax error in new.py: line 1 " in content


# --- syntax errors -------------------------------------------------------------------------------------------


async def test_an_edit_that_breaks_the_syntax_is_said_to_do_so_and_one_that_mends_it_is_not(begin):
    mends = call("edit_file", path="tariff.py", old="def price(hours:", new="def price(hours):")
    editor = await begin("stock", [step(BROKEN), step(mends), DONE], FULL)
    await editor.run("Go.")
    (_, broken), (_, mended) = results_of(editor)
    assert broken.endswith("New syntax error in tariff.py: line 1 cannot be parsed: `def price(hours:`")
    assert "syntax" not in mended


async def test_an_error_that_was_there_before_is_not_news(begin, workspace):
    (workspace / "broken.py").write_text("def f(:\n    pass\n\n\ndef g():\n    return 1\n")
    edits = [("return 1", "return 2"), ("return 2", "return (2]")]
    calls = [step(call("edit_file", path="broken.py", old=old, new=new)) for old, new in edits]
    editor = await begin("stock", [*calls, DONE], FULL)
    await editor.run("Go.")
    (_, same), (_, worse) = results_of(editor)
    assert "syntax" not in same
    assert "New syntax error in broken.py: line 6 cannot be parsed: `return (2]`" in worse


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.js", "function f() {\n  if (x) {\n    y();\n}\n", "is missing in or before `"),
        ("a.ts", "class A {\n  a(): void {\n  }}\n}\n", "line 4 cannot be parsed: `}`"),
        ("a.go", "package a\n\nfunc f( {\n}\n", "New syntax error in a.go"),
        ("a.rs", "fn f() -> {\n}\n", "New syntax error in a.rs"),
        ("a.txt", "if (\n", ""),
        ("a.py", "x = 1\n" * 60_000 + "def f(:\n", ""),
    ],
)
async def test_new_files_are_looked_at_too(name, content, says, begin):
    editor = await begin("stock", [step(call("write_file", path=name, content=content)), DONE], FULL)
    await editor.run("Go.")
    status, told = result(editor)
    assert status == "ok"
    assert (says in told) if says else told == f"Created {name}."


async def test_a_child_that_dies_leaves_edits_as_they_are(begin, monkeypatch):
    monkeypatch.setattr(syntax, "_PROGRAM", "outrider.there_is_no_such_program")
    calls = [
        step(call("write_file", path=f"{n}.py", content="def f(:\n")) for n in range(syntax.MOST_LOST + 2)
    ]
    editor = await begin("stock", [*calls, DONE], FULL)
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert [content for _, content in results_of(editor)] == [f"Created {n}.py." for n in range(len(calls))]


# --- write_file ----------------------------------------------------------------------------------------------

WRITE = call("write_file", path="tariff.py", content="new\n", called="write")
READ = call("read_file", path="tariff.py", called="read")


async def test_a_file_that_was_read_is_replaced_as_a_diff_to_approve(begin):
    editor = await begin("stock", [step(READ), step(WRITE), DONE], answers=["Allow once"])
    await editor.run("Go.")
    assert results_of(editor)[-1] == ("ok", "Edited tariff.py.\nNow in tariff.py:\n     1\tnew")
    assert "-    return hours * 3" in editor.events_of("approval.requested")[0]["data"]["detail"]


async def test_a_file_that_was_not_read_is_not_replaced(begin):
    editor = await begin("stock", [step(WRITE), step(WRITE | {"id": "more"}), DONE])
    await editor.run("Go.")
    assert result(editor) == (
        "error",
        (
            "tariff.py exists, and you have not read its current text, so it was not replaced. Read it with read_file and then "
            "write it again, or change a part of it with edit_file."
        ),
    )
    assert not editor.questions


async def test_what_the_model_wrote_itself_it_may_replace(begin):
    writes = [step(call("write_file", path="new.txt", content=f"{n}\n", called=f"w{n}")) for n in range(2)]
    editor = await begin("stock", [*writes, DONE], FULL)
    await editor.run("Go.")
    assert [status for status, _ in results_of(editor)] == ["ok", "ok"]
    assert editor.disk("new.txt") == "1\n"


# --- search and whole words ----------------------------------------------------------------------------------


async def test_an_error_class_can_be_renamed_with_tools(begin, workspace):
    text = "class HTTPError(Error): pass\n\ndef isHTTPError(x):\n    return isinstance(x, HTTPError)\n"
    (workspace / "errors.py").write_text(text)
    given = {"path": "errors.py", "old": "HTTPError", "new": "KyHTTPError", "whole_words": True}
    rename = call("edit_file", **given, replace_all=True)
    inside = call("edit_file", path="errors.py", old="isinst", new="x", whole_words=True)
    editor = await begin("stock", [step(inside), step(rename), DONE], FULL)
    await editor.run("Go.")
    (refused, why), (status, _) = results_of(editor)
    assert (refused, status) == ("error", "ok")
    assert "old is only in longer words, 1 times" in why
    assert editor.disk("errors.py") == text.replace("HTTPError", "KyHTTPError").replace("isKy", "is")


async def test_search_shows_context_counts_files_and_the_total(begin, workspace):
    for name in ("a.txt", "b.txt"):
        (workspace / name).write_text("".join(f"{n} pin\nother\n" for n in range(150)))
    (workspace / "c.txt").write_text("one\ntwo pin\nthree\nfour\nfive\nsix pin\nseven\n")
    searches = [
        call("search", pattern="pin", glob="c.txt", context=1),
        call("search", pattern="pin", glob="*.txt", show="counts"),
        call("search", pattern="pin", glob="*.txt", show="files"),
        call("search", pattern="pin", glob="*.txt"),
        call("search", pattern="pin", glob="*.txt", context=3),
    ]
    editor = await begin("stock", [step(*searches), DONE], FULL)
    await editor.run("Go.")
    around, counts, files, lines, wide = [content for _, content in results_of(editor)]
    assert around == (
        "c.txt-1- one\nc.txt:2: two pin\nc.txt-3- three\n--\nc.txt-5- five\nc.txt:6: six pin\nc.txt-7- seven"
    )
    assert counts == "a.txt: 150\nb.txt: 150\nc.txt: 2\n[302 matching lines in 3 files]"
    assert files == "a.txt\nb.txt\nc.txt\n[302 matching lines in 3 files]"
    assert lines.splitlines()[-1] == (
        "[200 of 302 matching lines are shown, in 2 of 3 files; narrow the search with path or glob, or see where they are "
        "with show: counts]"
    )
    assert wide.splitlines()[-1].startswith("[50 of 302 matching lines are shown, in 1 of 3 files")


async def test_the_lines_around_a_match_are_those_of_the_buffer(begin):
    editor = await begin("stock", [step(call("search", pattern="price", context=1)), DONE], FULL)
    editor.open("tariff.py")
    editor.type("tariff.py", "# typed\n", at=(0, 0))
    await editor.run("Go.")
    assert "tariff.py-1- # typed\ntariff.py:2: def price(hours):" in result(editor)[1]


# --- calls that cannot be meant so ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"old": "     1\tdef price(hours):\n", "new": "x\n"}, "its lines begin with line numbers"),
        ({"old": "1: def price(hours):\n\n3: return\n", "new": "x\n"}, "Give the text without the numbers"),
        ({"old": "* 3", "new": "* 3"}, "old and new are the same, so nothing would change."),
        ({"old": "def prices(hours):", "new": "x"}, "old was not found. The nearest lines now:\n     1\tdef price(hours):"),
    ],
)  # fmt: skip
async def test_odd_edits_get_clear_answers(given, says, begin):
    editor = await begin("stock", [step(call("edit_file", path="tariff.py", **given)), DONE], FULL)
    await editor.run("Go.")
    status, content = result(editor)
    assert (status, says in content) == ("error", True), content


async def test_the_whole_of_a_huge_file_is_answered_with_its_beginning(begin, workspace):
    with (workspace / "huge.log").open("wb") as file:
        file.write(b"a line of the log\n" * 100)
        file.truncate(100 * 1024 * 1024)
    (workspace / "lines.log").write_text("a line of the log\n" * 700_000)
    calls = [call("read_file", path="lines.log"), call("edit_file", path="lines.log", old="log", new="x")]
    editor = await begin("stock", [step(*calls), DONE], FULL)
    await editor.run("Go.")
    (status, content), (refused, why) = results_of(editor)
    assert status == "ok"
    assert len(content) < 100_000
    assert "continue with start_line=" in content
    assert refused == "error"
    assert "lines.log" in why


async def test_what_is_said_of_an_edit_is_in_the_log(begin):
    editor = await begin("stock", [step(BROKEN), DONE], FULL)
    await editor.run("Go.")
    assert "New syntax error" in json.dumps(editor.events_of("tool.finished")[0])


PASTED = {
    "edit": call("edit_file", path="shop.py", old="SIZE = 1", new="     1\tSIZE = 2\n     2\tCOLOUR = 3"),
    "insert": call("insert_lines", path="shop.py", after_line=1, text="     2\tCOLOUR = 3\n"),
    "create": call("write_file", path="new.py", content="     1\tX = 1\n     2\t\n     3\tY = 2\n"),
    "patch": call(
        "apply_patch",
        patch="*** Begin Patch\n*** Update File: shop.py\n@@\n-SIZE = 1\n+     1\tSIZE = 2\n*** End Patch",
    ),
}


@pytest.mark.parametrize("way", PASTED)
async def test_line_numbers_of_read_file_do_not_get_into_a_file(way, begin, workspace):
    (workspace / "shop.py").write_text("SIZE = 1\n")
    editor = await begin("stock", [step(PASTED[way]), DONE], FULL)
    await editor.run("Go.")
    status, told = result(editor)
    assert (status, "the new lines begin with line numbers" in told) == ("error", True)
    assert (workspace / "shop.py").read_text() == "SIZE = 1\n"
    assert not (workspace / "new.py").exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "1\tone\n2\ttwo\n"),
        ("", "     7\tx\n     9\ty\n"),
        ("     1\told\n", "     1\told\n     2\tnew\n"),
        ("", "     1\tx\nplain\n"),
        ("a\n", ""),
    ],
)
def test_other_columns_of_numbers_are_texts_like_any(before, after):
    assert not has_line_numbers(before, after)
