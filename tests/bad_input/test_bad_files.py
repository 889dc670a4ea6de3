"""Files no tool should choke on: through a whole server, each with its result, none of them for long."""

import os
from pathlib import Path

import pytest

from outrider.testing.scenario import scripted, start_session

TOOLS = {"permissionMode": "full"}


async def results(workspace, *calls, settings=None, before=None, **how):
    """Let the model make the calls, one by one; gives their results in order."""
    turns = [
        {"tool_calls": [{"name": name, "input": given, "id": f"c_{number}"}]} for number, (name, given) in enumerate(calls)
    ]  # fmt: skip
    model = scripted(workspace, [*turns, {"text": "Done."}])
    async with start_session("stock", workspace, model, settings or TOOLS, **how) as editor:
        if before is not None:
            before(editor)
        result = await editor.run("Look")
        assert result["outcome"] == "completed", result
        finished = {event["data"]["callId"]: event["data"] for event in editor.events_of("tool.finished")}
        assert len(finished) == len(calls)
        return [finished[f"c_{number}"] for number in range(len(calls))]


def write(workspace, name, content):
    (workspace / name).write_bytes(content)
    return name


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x7fELF\0\0\0\0", "binary"),
        (b"caf\xe9\n", "UTF-8"),
        (b"\xff\xfet\0e\0x\0t", "UTF-16"),
        ("text\n".encode("utf-32"), "binary"),
        ("text\n".encode("utf-16-le"), "binary"),
    ],
)  # fmt: skip
async def test_what_is_no_text_is_refused_and_left_alone(workspace, content, said):
    name = write(workspace, "odd.txt", content)
    read, edited, written, found = await results(
        workspace,
        ("read_file", {"path": name}),
        ("edit_file", {"path": name, "old": "e", "new": "f"}),
        ("write_file", {"path": name, "content": "new", "overwrite": True}),
        ("search", {"pattern": "price"}),
    )
    for result in (read, edited, written):
        assert result["status"] == "error"
        assert said in result["content"]
        assert name in result["content"]
    assert found["status"] == "ok"
    assert "tariff.py" in found["content"]
    assert (workspace / name).read_bytes() == content


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\n", "a", "A", b"A\r\nb\r\n"),
        (b"a\nb", "b", "B", b"a\nB"),
        (b"a\n\x0cb\x0b\n\x1c", "b", "B", b"a\n\x0cB\x0b\n\x1c"),
        ("a\u2028b\u2029\u0085c\n".encode(), "b", "B", "a\u2028B\u2029\u0085c\n".encode()),
        (b"\xef\xbb\xbfa\n", "a", "A", b"\xef\xbb\xbfA\n"),
        (b"a\rb\r", "a", "A", b"A\rb\r"),
        (b"a\r\nb\nc\r", "b", "B", b"a\r\nB\nc\r"),
        ("\ufeffa\r\nb\n𝄞".encode("utf-16-le"), "b", "Bé", "\ufeffa\r\nBé\n𝄞".encode("utf-16-le")),
        ("\ufeffa\u2028b".encode("utf-16-be"), "b", "𝄞", "\ufeffa\u2028𝄞".encode("utf-16-be")),
        ("e\u0301 𝄞 \u202e\n".encode(), "𝄞", "x", "e\u0301 x \u202e\n".encode()),
        (b"", "x", "y", None),
    ],
)
async def test_an_edit_of_a_closed_file_changes_what_it_says_and_not_a_byte_more(
    workspace, before, old, new, after
):
    name = write(workspace, "odd.txt", before)
    read, edited = await results(
        workspace, ("read_file", {"path": name}), ("edit_file", {"path": name, "old": old, "new": new})
    )
    assert read["status"] == "ok"
    assert edited["status"] == ("ok" if after is not None else "error"), edited
    assert (workspace / name).read_bytes() == (before if after is None else after)


async def test_a_file_that_is_too_big_comes_in_parts_and_is_never_edited(workspace):
    lines = [f"line {number} " + "x" * 100 for number in range(1, 120_001)]
    content = "\n".join(lines).encode()
    name = write(workspace, "big.log", content)
    first, middle, last, past, *others = await results(
        workspace,
        ("read_file", {"path": name}),
        ("read_file", {"path": name, "start_line": 60_000, "end_line": 60_001}),
        ("read_file", {"path": name, "start_line": 119_999}),
        ("read_file", {"path": name, "start_line": 120_001}),
        ("edit_file", {"path": name, "old": "line 7 ", "new": "f"}),
        ("write_file", {"path": name, "content": "new", "overwrite": True}),
        ("delete_file", {"path": name}),
        ("rename_file", {"from": name, "to": "other.log"}),
    )
    assert f"too big: {len(content)} bytes" in first["content"]
    assert f"     1\t{lines[0]}\n" in first["content"]
    assert "continue with start_line=" in first["content"]
    assert f" 60000\t{lines[59_999]}\n 60001\t{lines[60_000]}\n[more lines follow" in middle["content"]
    assert last["content"].endswith(f"119999\t{lines[-2]}\n120000\t{lines[-1]}")
    assert (past["status"], "has 120000 lines" in past["content"]) == ("error", True)
    for result in others:
        assert result["status"] == "error"
        assert "too big" in result["content"]
    assert (workspace / name).read_bytes() == content


async def test_a_big_file_that_is_no_text_is_not_read_either(workspace):
    write(workspace, "binary", b"x" * (11 * 1024 * 1024) + b"\0")
    write(workspace, "latin.txt", b"line\n" * (3 * 1024 * 1024) + b"\xe9\n")
    binary, latin = await results(
        workspace,
        ("read_file", {"path": "binary"}),
        ("read_file", {"path": "latin.txt", "start_line": 3 * 1024 * 1024}),
    )
    assert (binary["status"], latin["status"]) == ("error", "error")
    assert "binary" in binary["content"]
    assert "is not UTF-8" in latin["content"]


async def test_a_folder_is_not_edited_as_a_file(workspace):
    (edited,) = await results(workspace, ("edit_file", {"path": "tests", "old": "a", "new": "b"}))
    assert edited["status"] == "error"
    assert "tests is a folder" in edited["content"]


async def test_links_lead_nowhere_outside_and_cycles_end(workspace, tmp_path):
    outside = tmp_path / "elsewhere.txt"
    outside.write_text("price of the secret\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inner.txt").write_text("price inside\n")
    (workspace / "link.txt").symlink_to(outside)
    (workspace / "folder").symlink_to(tmp_path / "folder")
    (workspace / "self").symlink_to("self")
    (workspace / "up").symlink_to(".")
    (workspace / "gone").symlink_to(tmp_path / "nothing")
    calls = [
        ("read_file", {"path": path})
        for path in ("link.txt", "folder/inner.txt", "self", "gone", "up/up/self")
    ]
    edits = [
        ("edit_file", {"path": "link.txt", "old": "secret", "new": "x"}),
        ("write_file", {"path": "folder/new.txt", "content": "x"}),
        ("write_file", {"path": "link.txt", "content": "x", "overwrite": True}),
        ("write_file", {"path": "gone", "content": "x"}),
        ("delete_file", {"path": "link.txt"}),
    ]
    last = [
        ("search", {"pattern": "price"}),
        ("list_files", {"path": "."}),
        ("find_files", {"pattern": "*.txt"}),
    ]
    settings = {"permissionMode": "auto-edit"}
    found = await results(workspace, *calls, *edits, *last, settings=settings, answers=lambda _: "Reject")
    for result in found[: len(calls) + len(edits)]:
        assert result["status"] in {"error", "denied"}, result
        assert "secret" not in result["content"]
    assert outside.read_text() == "price of the secret\n"
    assert not (tmp_path / "nothing").exists()
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["inner.txt"]
    searched, listed, names = found[-3:]
    assert [result["status"] for result in (searched, listed, names)] == ["ok"] * 3
    assert "secret" not in searched["content"]
    assert "inside" not in searched["content"]
    assert "inner" not in names["content"]


async def test_what_is_no_file_is_never_waited_for(workspace):
    os.mkfifo(workspace / "fifo")
    os.mkfifo(workspace / "AGENTS.md")
    calls = [
        call
        for path in ("fifo", "/dev/zero", "/dev/stdin", "/dev/tty", "/proc/self/mem", "tests")
        for call in (
            ("read_file", {"path": path}),
            ("edit_file", {"path": path, "old": "a", "new": "b"}),
            ("write_file", {"path": path, "content": "b", "overwrite": True}),
        )
    ]
    last = [
        ("search", {"pattern": "price"}),
        ("search", {"pattern": "x", "path": "fifo"}),
        ("list_files", {"path": "."}),
    ]
    found = await results(workspace, *calls, *last)
    for (name, given), result in zip(calls, found, strict=False):
        assert result["status"] in {"error", "denied"}, (name, given, result)
    assert "fifo" in found[-1]["content"]


HOSTILE = [
    "new\nline.txt",
    "tab\t.txt",
    "esc\x1b[31m.txt",
    "-rf",
    "--",
    " ",
    "a b'c\"d.txt",
    "%41.txt",
    "#?.txt",
    "…\u202e.txt",
]


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_name_is_a_name(workspace, name):
    write(workspace, name, b"price here\n")
    read, edited, listed, found, searched, removed = await results(
        workspace,
        ("read_file", {"path": name}),
        ("edit_file", {"path": name, "old": "here", "new": "there"}),
        ("list_files", {"path": "."}),
        ("find_files", {"pattern": "*"}),
        ("search", {"pattern": "there"}),
        ("delete_file", {"path": name}),
    )
    if name.strip():
        assert (read["status"], edited["status"], removed["status"]) == ("ok", "ok", "ok"), (
            read,
            edited,
            removed,
        )
        assert not (workspace / name).exists()
    assert (listed["status"], found["status"], searched["status"]) == ("ok", "ok", "ok")


async def test_names_that_cannot_be(workspace):
    paths = ["x" * 300, "a/" * 3000 + "b", "nul\0.txt", "\ud800.txt", "", "/", "..", "../..", "file:///", "untitled:", "http://x/y", "file://elsewhere/x"]  # fmt: skip
    calls = [("read_file", {"path": path}) for path in paths]
    calls += [("write_file", {"path": path, "content": "x"}) for path in paths]
    settings = {"permissionMode": "auto-edit"}
    for result in await results(workspace, *calls, settings=settings, answers=lambda _: "Reject"):
        assert result["status"] in {"error", "denied"}, result
        assert len(result["content"]) < 40_000
    assert not list(workspace.parent.glob("x"))


async def test_names_that_are_no_unicode(workspace):
    Path(os.fsdecode(os.fsencode(workspace) + b"/caf\xe9.txt")).write_text("price\n")
    listed, found, searched = await results(
        workspace,
        ("list_files", {"path": "."}),
        ("find_files", {"pattern": "*.txt"}),
        ("search", {"pattern": "price"}),
    )
    assert [result["status"] for result in (listed, found, searched)] == ["ok"] * 3
    assert "tests/test_tariff.py" in searched["content"]


async def test_a_workspace_that_vanishes_in_the_middle(workspace, tmp_path):
    def vanish(question):
        workspace.rename(tmp_path / "elsewhere")
        return "Allow once"

    calls = [
        ("edit_file", {"path": "README.md", "old": "Parking", "new": "Tariffs"}),
        ("read_file", {"path": "tariff.py"}),
        ("list_files", {"path": "."}),
        ("find_files", {"pattern": "*"}),
        ("search", {"pattern": "price"}),
    ]
    found = await results(workspace, *calls, settings={"permissionMode": "ask"}, answers=vanish)
    for result in found:
        assert result["status"] == "error", result
        assert str(workspace) in result["content"] or "workspace" in result["content"], result
    assert not workspace.exists()
    assert "Parking" in (tmp_path / "elsewhere" / "README.md").read_text()


async def test_a_command_in_a_workspace_that_is_gone(workspace, tmp_path):
    def vanish(editor):
        workspace.rename(tmp_path / "elsewhere")

    calls = [("run_command", {"command": "true"}), ("write_file", {"path": "new.txt", "content": "x"})]
    command, written = await results(workspace, *calls, before=vanish)
    assert command["status"] == "error"
    assert written["status"] == "error", written
    assert not workspace.exists(), "a workspace that is gone was made again"


async def test_a_pattern_that_explodes_does_not(workspace):
    calls = [
        ("search", {"pattern": "price", "glob": "{a,b}" * 40}),
        ("find_files", {"pattern": "{a,b}" * 40}),
        ("find_files", {"pattern": "*" * 5000}),
        ("search", {"pattern": "(" * 5000}),
        ("search", {"pattern": "(a{1000}){1000}"}),
        ("search", {"pattern": "\\p{"}),
        ("search", {"pattern": "nul\0"}),
    ]
    for (name, given), result in zip(calls, await results(workspace, *calls), strict=True):
        assert result["status"] in {"ok", "error"}, (name, given)
        assert "because of an error in Outrider" not in result["content"], (given, result)
