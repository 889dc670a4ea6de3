"""A file that the user renames in the editor, which tells it: the session follows it to its new path."""

import asyncio

import pytest
from file_steps import delete, edit, rename, run, write
from scripting import DONE, call, result, step

from outrider.agent.changes import renames
from outrider.testing.editor.answers import Never
from outrider.testing.scenario import scripted, start_session

FULL = {"permissionMode": "full"}
TEN = "".join(f"line {number}\n" for number in range(1, 11))
NEW = TEN.replace("line 2\n", "LINE 2\n")
EDIT = edit("a.txt", "line 2\n", "LINE 2\n")
TELLING = ["stock", "vscode", "helix-25.07"]


def renamed(editor):
    return [event["data"] for event in editor.events_of("workspace.renamed")]


def told(editor, number=-1):
    """What the model was told, and nobody said, with one of its requests."""
    return [one["data"]["told"] for one in editor.events if "told" in one["data"]]


@pytest.fixture
async def edited(begin, workspace):
    """A session that changed a line of `a.txt`."""

    async def start(profile="stock", more=(), *, opened=True, read=False):
        (workspace / "a.txt").write_text(TEN)
        first = [step(call("read_file", path="a.txt"))] if read else []
        editor = await begin(profile, [*first, EDIT, DONE, *more], FULL)
        if opened:
            editor.open("a.txt")
        await editor.run("Go.")
        return editor

    return start


async def follow(editor, path, to, *, count=1):
    before = len(renamed(editor))
    editor.rename(path, to)
    await editor.wait_for(lambda: len(renamed(editor)) == before + count, "the rename in the log")
    return renamed(editor)[-1]


@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
@pytest.mark.parametrize("profile", TELLING)
async def test_an_undo_finds_the_file_at_its_new_path(profile, opened, edited, workspace):
    editor = await edited(profile, opened=opened)
    if opened:
        editor.save_all()
    data = await follow(editor, "a.txt", "b.txt")
    assert (data["path"], data["to"], data["files"]) == ("a.txt", "b.txt", [{"path": "a.txt", "to": "b.txt"}])
    (change,) = (await editor.command("outrider.changes", {}))["changes"]
    assert (change["path"], change["hunks"][0]["state"], change["undoable"]) == ("b.txt", "applied", True)
    patch = await editor.command("outrider.changes", {"format": "patch"})
    assert "a/b.txt" in patch["patch"]
    assert "a.txt" not in patch["patch"].replace("/b.txt", "")
    assert "leftOut" not in patch
    undone = await editor.command("outrider.undo", {})
    assert (undone["undone"], undone["conflicts"]) == ([{"path": "b.txt", "hunks": 1}], [])
    text = editor.text("b.txt") if opened else (workspace / "b.txt").read_text()
    assert text == TEN
    assert not (workspace / "a.txt").exists()
    await editor.command("outrider.redo", {})
    assert (editor.text("b.txt") if opened else (workspace / "b.txt").read_text()) == NEW


async def test_what_the_person_wrote_before_and_after_stays(edited):
    editor = await edited()
    editor.type("a.txt", "before\n", at=(0, 0))
    await follow(editor, "a.txt", "b.txt")
    editor.type("b.txt", "after\n")
    await editor.command("outrider.undo", {})
    assert editor.text("b.txt") == f"before\n{TEN}after\n"


async def test_a_client_that_tells_nothing_is_not_guessed_at(edited, workspace):
    editor = await edited("neovim-0.11")
    editor.save_all()
    editor.rename("a.txt", "b.txt")
    undone = await editor.command("outrider.undo", {})
    assert renamed(editor) == []
    assert undone["undone"] == []
    assert (workspace / "b.txt").read_text() == NEW


async def test_the_model_is_told_before_its_next_step_and_may_go_on_at_once(edited, workspace):
    whole = call("write_file", path="b.txt", content="all new\n", overwrite=True)
    editor = await edited(more=[step(whole), DONE], opened=False, read=True)
    data = await follow(editor, "a.txt", "b.txt")
    await editor.run("Go on.", sessionId=editor.session_id)
    assert data["told"] == "a.txt is now named b.txt: it was renamed in the editor. Use the new path."
    assert told(editor) == [data["told"]], "and not that the one is gone and the other one came"
    assert result(editor, 2)[0] == "ok", "it is the text that it has read"
    await editor.command("outrider.undo", {"scope": "session"})
    assert (workspace / "b.txt").read_text() == TEN


async def test_a_folder_takes_its_files_along(begin, workspace):
    (workspace / "src" / "deep").mkdir(parents=True)
    for name in ["one.txt", "deep/two.txt"]:
        (workspace / "src" / name).write_text(TEN)
    (workspace / "srcs.txt").write_text(TEN)
    turns = [
        edit(f"{name}", "line 2\n", "LINE 2\n") for name in ["src/one.txt", "src/deep/two.txt", "srcs.txt"]
    ]
    editor = await begin("vscode", [*turns, write("src/new.txt", "new\n"), DONE], FULL)
    await editor.run("Go.")
    data = await follow(editor, "src", "lib")
    assert sorted((one["path"], one["to"]) for one in data["files"]) == [
        ("src/deep/two.txt", "lib/deep/two.txt"),
        ("src/new.txt", "lib/new.txt"),
        ("src/one.txt", "lib/one.txt"),
    ]
    assert data["told"].startswith("The folder src is now named lib")
    undone = await editor.command("outrider.undo", {})
    assert sorted(one["path"] for one in undone["undone"]) == [
        "lib/deep/two.txt", "lib/new.txt", "lib/one.txt", "srcs.txt",
    ]  # fmt: skip
    assert undone["notUndoable"] == undone["conflicts"] == []
    assert (
        (workspace / "lib" / "one.txt").read_text()
        == (workspace / "lib" / "deep" / "two.txt").read_text()
        == TEN
    )
    assert not (workspace / "lib" / "new.txt").exists()
    assert not (workspace / "src").exists()


@pytest.mark.parametrize("profile", ["vscode", "helix-25.07"])
async def test_what_the_agent_renames_itself_is_told_by_the_editor_and_counts_once(profile, begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    editor = await begin(profile, [rename("a.txt", "b.txt"), DONE], FULL)
    editor.open("a.txt")
    await editor.run("Go.")
    assert [m for m in editor.messages if m.message.get("method") == "workspace/didRenameFiles"]
    await editor.command("outrider.undo", {})
    assert renamed(editor) == []
    assert told(editor) == []
    assert (workspace / "a.txt").exists()
    assert not (workspace / "b.txt").exists()


async def test_the_name_of_the_person_stays_where_the_agent_had_renamed_the_file(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    editor = await begin("stock", [EDIT, rename("a.txt", "b.txt"), DONE], FULL)
    await editor.run("Go.")
    await follow(editor, "b.txt", "c.txt")
    undone = await editor.command("outrider.undo", {})
    assert (workspace / "c.txt").read_text() == TEN
    assert [one["reason"] for one in undone["notUndoable"]] == ["it is now named c.txt"]


async def test_a_rename_of_the_agent_after_one_of_the_person_is_taken_back_to_that(edited, workspace):
    editor = await edited(more=[rename("b.txt", "c.txt"), DONE], opened=False)
    await follow(editor, "a.txt", "b.txt")
    await editor.run("Go on.", sessionId=editor.session_id)
    await editor.command("outrider.undo", {"scope": "session"})
    assert (workspace / "b.txt").read_text() == TEN
    assert not (workspace / "c.txt").exists()


async def test_a_new_file_is_taken_away_at_its_new_path_and_comes_back_there(begin, workspace):
    editor = await begin("stock", [write("a.txt", "new\n"), DONE], FULL)
    await editor.run("Go.")
    await follow(editor, "a.txt", "sub/b.txt")
    await editor.command("outrider.undo", {})
    assert not (workspace / "sub" / "b.txt").exists()
    await editor.command("outrider.redo", {})
    assert (workspace / "sub" / "b.txt").read_text() == "new\n"
    assert not (workspace / "a.txt").exists()


async def test_another_file_with_the_path_of_a_deleted_one_takes_nothing_of_it_along(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    editor = await begin("stock", [delete("a.txt"), DONE], FULL)
    await editor.run("Go.")
    (workspace / "a.txt").write_text("mine\n")
    editor.rename("a.txt", "b.txt")
    await editor.command("outrider.undo", {})
    assert renamed(editor) == []
    assert (workspace / "a.txt").read_text() == TEN
    assert (workspace / "b.txt").read_text() == "mine\n"


async def test_what_the_model_read_of_another_file_with_that_path_is_not_the_deleted_one(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    read = step(call("read_file", path="a.txt"))
    editor = await begin("stock", [delete("a.txt"), DONE, read, DONE], FULL)
    await editor.run("Go.")
    (workspace / "a.txt").write_text("mine\n")
    await editor.run("Read.", sessionId=editor.session_id)
    await follow(editor, "a.txt", "b.txt")
    await editor.command("outrider.undo", {"scope": "session"})
    assert (workspace / "a.txt").read_text() == TEN
    assert (workspace / "b.txt").read_text() == "mine\n"


async def test_an_undo_waits_until_what_was_renamed_before_it_is_followed(edited, workspace, monkeypatch):
    editor = await edited(opened=False)
    gate, look = asyncio.Event(), renames.renamed_in_workspace

    async def slow(*given):
        await gate.wait()
        return await look(*given)

    monkeypatch.setattr(renames, "renamed_in_workspace", slow)
    editor.rename("a.txt", "b.txt")
    undoing = asyncio.create_task(editor.command("outrider.undo", {}))
    for _ in range(100):  # more than an undo that does not wait would take
        await editor.command("outrider.status", {})
    gate.set()
    assert [one["path"] for one in (await undoing)["undone"]] == ["b.txt"]
    assert (workspace / "b.txt").read_text() == TEN


# --- an open proposal --------------------------------------------------------------------------------------------


async def asked(editor, count=1):
    """The question that is on the screen."""
    await editor.wait_for(lambda: len(editor.questions) == count, f"question {count}")
    return editor.questions[-1]


@pytest.mark.parametrize("profile", TELLING)
async def test_a_proposal_for_it_that_is_open_is_told_to_be_stale_and_changes_nothing(
    profile, begin, workspace
):
    (workspace / "a.txt").write_text(TEN)
    script = [EDIT, edit("b.txt", "line 2\n", "LINE 2\n"), DONE]
    editor = await begin(profile, script, answers=[Never(), "Allow once"])
    editor.open("a.txt")
    started = await editor.command("outrider.run", {"prompt": "Go."})
    question = await asked(editor)
    await follow(editor, "a.txt", "b.txt")
    assert [said.text for said in editor.said if said.shown] == [
        "a.txt is now named b.txt, so the proposed change no longer applies: answer it, and the agent proposes it again."
    ]
    editor.answer_late(question, "Allow once")
    await editor.wait_turn(started["turnId"])
    status, said = result(editor)
    assert (status, "a.txt" in said) == ("error", True)
    assert not (workspace / "a.txt").exists(), "what was approved was another file"
    assert len(editor.questions) == 2, "a yes to the old path is none to the new one"
    assert editor.text("b.txt") == NEW


async def test_allowed_for_this_session_is_for_the_path_that_it_was_given_for(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    script = [EDIT, DONE, edit("b.txt", "line 5\n", "LINE 5\n"), DONE]
    editor = await begin("stock", script, answers=["Allow for this session", "Reject"])
    await editor.run("Go.")
    await follow(editor, "a.txt", "b.txt")
    await editor.run("Go on.", sessionId=editor.session_id)
    assert len(editor.questions) == 2
    assert (workspace / "b.txt").read_text() == NEW


# --- what is no rename of the workspace --------------------------------------------------------------------------


def tell(editor, *pairs):
    files = [{"oldUri": old, "newUri": new} for old, new in pairs]
    editor.notify("workspace/didRenameFiles", {"files": files})


async def test_what_is_outside_or_not_there_is_not_followed(edited, workspace, tmp_path):
    editor = await edited(opened=False)
    inside, outside = workspace / "a.txt", tmp_path / "elsewhere.txt"
    outside.write_text(NEW)
    (workspace / "link.txt").symlink_to(outside)
    (workspace / ".outrider").mkdir(exist_ok=True)
    (workspace / ".outrider" / "a.txt").write_text(NEW)
    (workspace / "b.txt").write_text("another\n")
    old = inside.as_uri()
    tell(
        editor,
        (old, outside.as_uri()),
        (old, (workspace / "link.txt").as_uri()),
        (old, (workspace / ".outrider" / "a.txt").as_uri()),
        (old, (workspace / "nothing.txt").as_uri()),
        (old, f"{workspace.as_uri()}/../elsewhere.txt"),
        (old, old),
        (outside.as_uri(), old),
        (old, "untitled:b.txt"),
        (old, "vscode-remote://there/b.txt"),
        (old, "file://other-machine/b.txt"),
        (old, "file:///%00"),
        ("", ""),
    )
    undone = await editor.command("outrider.undo", {})
    assert undone["undone"] == [{"path": "a.txt", "hunks": 1}]
    assert renamed(editor) == []
    assert (workspace / "a.txt").read_text() == TEN
    assert outside.read_text() == NEW


@pytest.mark.parametrize(
    "params", [None, [], {}, {"files": None}, {"files": [{}]}, {"files": [{"oldUri": 1, "newUri": None}]}]
)
async def test_params_that_make_no_sense_are_ignored(params, edited, workspace):
    editor = await edited(opened=False)
    editor.notify("workspace/didRenameFiles", params)
    await follow(editor, "a.txt", "b.txt")
    await editor.command("outrider.undo", {})
    assert (workspace / "b.txt").read_text() == TEN


async def test_several_are_followed_in_their_order(edited, workspace):
    editor = await edited(opened=False)
    (workspace / "a.txt").rename(workspace / "c.txt")
    a, b, c = ((workspace / name).as_uri() for name in ["a.txt", "b.txt", "c.txt"])
    (workspace / "b.txt").write_text("for a moment\n")
    tell(editor, (a, b), (b, c))
    undone = await editor.command("outrider.undo", {})
    assert [one["path"] for one in undone["undone"]] == ["c.txt"]
    assert (workspace / "c.txt").read_text() == TEN
    assert (workspace / "b.txt").read_text() == "for a moment\n"


async def test_a_link_that_is_renamed_leads_to_the_same_file(begin, workspace):
    (workspace / "real.txt").write_text(TEN)
    (workspace / "a.txt").symlink_to("real.txt")
    editor = await begin("stock", [EDIT, DONE], FULL)
    await editor.run("Go.")
    await follow(editor, "a.txt", "b.txt")
    undone = await editor.command("outrider.undo", {})
    assert [one["path"] for one in undone["undone"]] == ["b.txt"], (undone, renamed(editor))
    assert (workspace / "real.txt").read_text() == TEN
    assert (workspace / "b.txt").is_symlink()


async def test_a_file_that_a_session_reached_by_a_link_is_followed(begin, workspace):
    (workspace / "real.txt").write_text(TEN)
    (workspace / "a.txt").symlink_to("real.txt")
    editor = await begin("stock", [EDIT, DONE], FULL)
    await editor.run("Go.")
    await follow(editor, "real.txt", "other.txt")
    undone = await editor.command("outrider.undo", {})
    assert [one["path"] for one in undone["undone"]] == ["other.txt"]
    assert (workspace / "other.txt").read_text() == TEN


# --- sessions that are not open ----------------------------------------------------------------------------------


async def log_of(editor, session_id):
    return (await editor.command("outrider.events", {"sessionId": session_id}))["events"]


@pytest.fixture
async def two(edited, begin, workspace):
    """A session at rest that changed `a.txt`, and a later one, that changed `z.txt`, in an editor that runs."""
    first = await edited(opened=False)
    await first.shut_down()
    (workspace / "z.txt").write_text(TEN)
    later = [edit("z.txt", f"line {number}\n", f"LINE {number}\n") for number in range(1, 9)]
    second = await begin("stock", [*later, DONE], FULL)
    await second.run("Go.")
    return first.session_id, second


async def test_a_session_at_rest_follows_and_is_not_the_latest_one_for_that(two, workspace):
    first, editor = two
    before = await editor.command("outrider.sessions", {})
    editor.rename("a.txt", "b.txt")
    latest = await editor.command("outrider.undo", {})
    assert [one["path"] for one in latest["undone"]] == ["z.txt"]
    await editor.command("outrider.redo", {})
    after = await editor.command("outrider.sessions", {})
    assert [one["sessionId"] for one in after["sessions"]] == [one["sessionId"] for one in before["sessions"]]
    log = await log_of(editor, first)
    assert [event["type"] for event in log[-2:]] == ["session.closed", "workspace.renamed"]
    changes = await editor.command("outrider.changes", {"sessionId": first})
    assert [one["path"] for one in changes["changes"]] == ["b.txt"]
    await editor.command("outrider.undo", {"sessionId": first})
    assert (workspace / "b.txt").read_text() == TEN


async def test_a_session_at_rest_that_knows_nothing_of_it_is_left_alone(two, workspace):
    first, editor = two
    length = len(await log_of(editor, first))
    editor.rename("z.txt", "a.txt.old")
    await editor.command("outrider.undo", {})
    assert (workspace / "a.txt.old").read_text() == TEN
    assert len(await log_of(editor, first)) == length


async def test_a_session_that_another_process_runs_is_not_followed_there(edited, begin, workspace):
    ask = step(call("ask_user", question="On?", options=["Yes"]))
    (workspace / "a.txt").write_text(TEN)
    first = await begin("stock", [EDIT, ask, DONE], FULL, answers=[Never()])
    started = await first.command("outrider.run", {"prompt": "Go."})
    await asked(first)
    (workspace / "z.txt").write_text(TEN)
    second = await begin("stock", [edit("z.txt", "line 2\n", "LINE 2\n"), DONE], FULL)
    await second.run("Go.")
    second.rename("a.txt", "b.txt")
    await second.command("outrider.undo", {})
    assert renamed(first) == renamed(second) == []
    assert "workspace.renamed" not in [event["type"] for event in await log_of(second, started["sessionId"])]


async def test_an_idle_session_of_another_process_is_followed(edited, begin, workspace):
    first = await edited(opened=False)
    model = scripted(workspace, [DONE], name="other")
    async with start_session("stock", workspace, model, FULL) as second:
        await second.run("Go.")
        second.rename("a.txt", "b.txt")
        (change,) = (await second.command("outrider.changes", {"sessionId": first.session_id}))["changes"]
        assert change["path"] == "b.txt"
    undone = await first.command("outrider.undo", {"sessionId": first.session_id})
    assert [one["path"] for one in undone["undone"]] == ["b.txt"]


async def test_a_turn_that_rests_follows_and_goes_on_at_the_new_path(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    ask = step(call("ask_user", question="On?", options=["Yes"]))
    script = [EDIT, ask, edit("b.txt", "line 5\n", "LINE 5\n"), DONE]
    first = await begin("stock", script, FULL, answers=[Never()])
    started = await first.command("outrider.run", {"prompt": "Go."})
    await asked(first)
    await first.shut_down()
    model = scripted(workspace, script, name="again")
    async with start_session("stock", workspace, model, FULL, answers=lambda _: "Yes") as editor:
        editor.rename("a.txt", "b.txt")
        given = {"sessionId": first.session_id or started["sessionId"]}
        (change,) = (await editor.command("outrider.changes", given))["changes"]
        assert change["path"] == "b.txt"
        log = await log_of(editor, given["sessionId"])
        assert [event["type"] for event in log[-2:]] == ["session.closed", "workspace.renamed"]
        assert editor.events == [], "a client takes who tells of a session for the one that runs it"
        await editor.command("outrider.resume", given)
        assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
        await editor.command("outrider.undo", {**given, "scope": "session"})
        log = await log_of(editor, given["sessionId"])
    assert [event["data"]["status"] for event in log if event["type"] == "tool.finished"] == ["ok"] * 3
    assert "workspace.changed" not in [event["type"] for event in log]
    assert (workspace / "b.txt").read_text() == TEN


# --- while a turn runs -------------------------------------------------------------------------------------------


async def test_a_rename_in_the_middle_of_a_command_is_told_with_the_next_request(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    wait = run("until test -e go; do sleep 0.05; done")
    editor = await begin("stock", [EDIT, wait, edit("b.txt", "line 5\n", "LINE 5\n"), DONE], FULL)
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.event("tool.started", count=2)
    editor.rename("a.txt", "b.txt")
    await editor.command("outrider.changes", {})
    (workspace / "go").touch()
    await editor.wait_turn(started["turnId"])
    ended, asked_for = (
        editor.events_of("tool.finished")[1]["seq"],
        editor.events_of("model.requested")[2]["seq"],
    )
    (event,) = editor.events_of("workspace.renamed")
    assert ended < event["seq"] < asked_for, "neither where no replay can let it in, nor a step too late"
    assert told(editor) == [event["data"]["told"]]
    assert result(editor, 2)[0] == "ok"
    await editor.command("outrider.undo", {"scope": "session"})
    assert (workspace / "b.txt").read_text() == TEN
