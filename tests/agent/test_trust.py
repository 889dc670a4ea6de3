"""Trust in the workspace: what a repository brings for the agent counts where somebody vouches for it, and a no holds."""

import asyncio
import os

import pytest
from scripting import DONE, FIX, KINDS, call, result, results, step, types

from outrider.testing.editor.answers import Dismiss, Fail, Late, Never, Reply
from outrider.testing.editor.wire_client import RpcError

TITLES = ("Trust this workspace", "Stay read-only")
UNSAID = {"trusted": None}
READ = call("read_file", path="src/x.py", called="read")


@pytest.fixture
def told(workspace):
    (workspace / "AGENTS.md").write_text("Write no comments.\n")
    return workspace


@pytest.fixture
def home(workspace):
    folder = workspace.parent / f"{workspace.name}.home" / "config" / "outrider"
    folder.mkdir(parents=True)
    return folder


async def instructions(editor):
    """Whether the model was told what stands in AGENTS.md."""
    shown = await editor.command("outrider.prompt", {"sessionId": editor.events[-1]["sessionId"]})
    return "Write no comments." in shown["messages"][0]["text"]


def person(trust, else_="Allow once"):
    """Answers the question of trust so, and all others with a yes."""
    return lambda question: trust if question.titles[0] in TITLES else else_


# --- a folder that nobody vouches for ------------------------------------------------------------------------


@pytest.mark.parametrize("profile", KINDS)
async def test_a_client_that_says_nothing_of_trust_gets_its_approvals_and_no_further_question(
    profile, begin, workspace
):
    editor = await begin(profile, [step(FIX), DONE], UNSAID, answers=["Allow once"])
    editor.open("tariff.py")
    done = await editor.run("Go.")
    assert not any(set(question.titles) == set(TITLES) for question in editor.questions)
    if editor.questions:  # some cannot ask: their approvals wait
        (question,) = editor.questions
        assert "Allow once" in question.titles
        assert (done["outcome"], result(editor)[0]) == ("completed", "ok")


async def test_promise_13_what_a_new_repository_tells_its_agents_is_left_out_until_the_person_says_so(
    begin, told
):
    editor = await begin("stock", [DONE, DONE], UNSAID, answers=["Stay read-only"])
    await editor.run("Go.")
    (question,) = editor.questions
    assert set(question.titles) == set(TITLES)
    assert str(told) in question.message
    assert "AGENTS.md" in question.message
    assert not await instructions(editor)


async def test_a_yes_holds_at_once_and_in_other_servers(begin, told, home):
    editor = await begin("stock", [DONE], UNSAID, answers=["Trust this workspace"])
    await editor.run("Go.")
    assert await instructions(editor)
    assert str(told.resolve()) in (home / "trust.toml").read_text()
    assert not (told / ".outrider").exists()
    other = await begin("stock", [DONE], UNSAID)
    await other.run("Go.")
    assert other.questions == []
    assert await instructions(other)


async def test_promise_6_who_stays_read_only_changes_and_runs_nothing_there_in_any_server(begin, told):
    run = call("run_command", command="touch made", called="run")
    settings = {**UNSAID, "permissionMode": "full"}
    editor = await begin("stock", [step(FIX, run), DONE], settings, answers=person("Stay read-only"))
    await editor.run("Go.")
    assert {status for status, _ in results(editor).values()} == {"denied"}
    assert len(editor.questions) == 1
    # A no beats the yes of a client, as long as it is not taken back.
    settings = {"trusted": True, "permissionMode": "full"}
    other = await begin("stock", [step(FIX, run), DONE, step(FIX), DONE], settings)
    await other.run("Go.")
    assert {status for status, _ in results(other).values()} == {"denied"}
    assert not (told / "made").exists()
    await other.command("outrider.trust", {"action": "forget", "folder": str(told)})
    await other.run("Again.")
    assert result(other, 2)[0] == "ok"


async def test_the_clients_no_beats_what_was_said_before(begin, told):
    first = await begin("stock", [DONE], UNSAID, answers=["Trust this workspace"])
    await first.run("Go.")
    other = await begin("stock", [step(FIX), DONE], {"trusted": False, "permissionMode": "full"})
    await other.run("Go.")
    assert result(other)[0] == "denied"
    assert not await instructions(other)


@pytest.mark.parametrize("answer", [Dismiss(), Fail(), Reply({}), Reply({"title": "Yes"})])
async def test_no_answer_is_no_yes_and_holds_nobody_up(answer, begin, told):
    editor = await begin("stock", [step(FIX), DONE, DONE], UNSAID, answers=person(answer))
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert not await instructions(editor)
    assert result(editor)[0] == "ok"
    assert any("outrider trust add" in one.text for one in editor.said)
    # It is asked once; the question stays open in code actions.
    await editor.run("Again.", sessionId=editor.events[0]["sessionId"])
    assert sum(set(question.titles) == set(TITLES) for question in editor.questions) == 1


async def test_the_question_is_answered_by_a_code_action_for_the_next_turn(begin, told):
    editor = await begin("stock", [DONE, DONE], UNSAID, answers=[Dismiss()])
    editor.open("tariff.py")
    await editor.run("Go.")
    assert not await instructions(editor)
    titles = [action["title"] for action in await editor.code_actions("tariff.py")]
    (wanted,) = [title for title in titles if title.startswith("Outrider: Trust this workspace — ")]
    await editor.take_action(wanted)
    await asyncio.wait_for(trusted(editor, told), 10)
    await editor.run("Again.", sessionId=editor.events[0]["sessionId"])
    assert await instructions(editor)


async def test_what_was_answered_in_another_window_is_not_offered_any_more(begin, told):
    here = await begin("stock", [DONE, DONE], UNSAID, answers=[Dismiss()])
    await here.run("Go.")
    there = await begin("stock", [DONE], UNSAID, answers=["Trust this workspace"])
    await there.run("Go.")
    await here.run("Again.", sessionId=here.events[0]["sessionId"])
    assert await instructions(here)
    titles = [action["title"] for action in await here.code_actions("README.md")]
    assert not any("Trust this workspace" in title for title in titles)


async def trusted(editor, folder):
    """Wait until the workspace counts as trusted."""
    while (await editor.command("outrider.trust"))["workspace"][0]["trust"] != "trusted":
        pass


async def test_the_question_is_seen_in_the_status_and_answered_by_command(begin, told):
    editor = await begin("stock", [DONE], UNSAID, answers=lambda _: Never())
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.question()
    (session,) = (await editor.command("outrider.status"))["sessions"]
    (item,) = session["open"]
    assert (item["kind"], item["turnId"], tuple(item["options"])) == ("question", started["turnId"], TITLES)
    with pytest.raises(RpcError, match="takes one of"):
        await editor.command("outrider.answer", {"id": item["id"], "answer": "Yes"})
    await editor.command("outrider.answer", {"id": item["id"], "answer": "Trust this workspace"})
    await editor.wait_turn(started["turnId"])
    assert await instructions(editor)


async def test_a_turn_that_is_cancelled_while_it_is_asked_asks_again(begin, told):
    editor = await begin("stock", [DONE], UNSAID, answers=lambda _: Never())
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.question()
    done = await editor.command("outrider.cancel", {"turnId": started["turnId"]})
    assert done["outcome"] == "cancelled"
    editor.answers = person("Trust this workspace")
    await editor.run("Again.")
    assert await instructions(editor)


async def test_instructions_further_down_are_asked_about_when_they_are_found(begin, workspace):
    (workspace / "src").mkdir()
    (workspace / "src" / "x.py").write_text("x\n")
    (workspace / "src" / "AGENTS.md").write_text("Write no comments.\n")
    editor = await begin("stock", [step(READ), DONE], UNSAID, answers=["Trust this workspace"])
    await editor.run("Go.")
    (question,) = editor.questions
    assert "src/AGENTS.md" in question.message
    assert "instructions.found" in types(editor)


# --- modes ---------------------------------------------------------------------------------------------------


async def test_a_wide_mode_of_the_settings_file_does_not_hold_in_a_folder_nobody_vouches_for(
    begin, workspace, home
):
    (home / "settings.toml").write_text('permissionMode = "full"\n')
    editor = await begin("stock", [step(FIX), DONE], UNSAID, answers=[Dismiss(), "Reject"])
    await editor.run("Go.")
    asked, approval = editor.questions
    assert "full" in asked.message
    assert "Reject" in approval.titles
    assert result(editor)[0] == "denied"


async def test_it_holds_where_the_person_trusts(begin, workspace, home):
    (home / "settings.toml").write_text('permissionMode = "full"\n')
    editor = await begin("stock", [DONE, step(FIX), DONE], UNSAID, answers=["Trust this workspace"])
    await editor.run("Go.")
    await editor.run("Again.", sessionId=editor.events[0]["sessionId"])
    assert len(editor.questions) == 1
    assert result(editor)[0] == "ok"


async def test_a_mode_that_the_client_names_is_meant_for_this_workspace(begin):
    editor = await begin("stock", [step(FIX), DONE], {**UNSAID, "permissionMode": "full"})
    await editor.run("Go.")
    assert editor.questions == []
    assert result(editor)[0] == "ok"


# --- the file ------------------------------------------------------------------------------------------------


async def test_a_yes_to_a_folder_covers_those_below_only_if_that_was_said(begin, told):
    editor = await begin("stock", [DONE, DONE], UNSAID, answers=[Dismiss()])
    above = str(told.parent)
    await editor.command("outrider.trust", {"action": "trust", "folder": above})
    assert (await editor.command("outrider.trust"))["workspace"][0]["trust"] == "unknown"
    done = await editor.command("outrider.trust", {"action": "trust", "folder": above, "below": True})
    assert done["workspace"] == [{"path": str(told), "trust": "trusted"}]
    assert [(one["path"], one["below"]) for one in done["folders"]] == [(os.path.realpath(above), True)]
    await editor.run("Go.")
    assert editor.questions == []
    assert await instructions(editor)


async def test_a_folder_is_known_by_its_real_path(begin, told, workspace):
    link = workspace.parent / f"{workspace.name}.link"
    link.symlink_to(workspace)
    editor = await begin("stock", [DONE], UNSAID, folders=[link])
    await editor.command("outrider.trust", {"action": "trust", "folder": str(workspace)})
    await editor.run("Go.")
    assert editor.questions == []
    assert await instructions(editor)


async def test_a_damaged_file_closes_and_the_message_names_the_line(begin, told, home):
    (home / "trust.toml").write_text('[[folder]]\npath = "/x\n')
    editor = await begin("stock", [step(FIX), DONE], {"permissionMode": "full"})
    await editor.run("Go.")
    assert result(editor)[0] == "denied"
    assert any("trust.toml, line 2" in one.text for one in editor.said)
    with pytest.raises(RpcError, match="it is not changed"):
        await editor.command("outrider.trust", {"action": "trust", "folder": str(told)})


@pytest.mark.parametrize(
    "text",
    [
        "folder = 1",
        "[[folder]]\npath = 'x'\ntrust = 'trusted'",
        "[[folder]]\npath = '/x'\ntrust = 'yes'",
        "[[folder]]\npath = '/x'\ntrust = 'read-only'\nbelow = true",
        "[[folder]]\npath = '/x'\ntrust = 'trusted'\nuntil = 1",
        "other = 1",
    ],
)
async def test_what_cannot_stand_in_the_file_closes_it(text, begin, home):
    (home / "trust.toml").write_text(text)
    editor = await begin("stock", [step(FIX), DONE], {"permissionMode": "full"})
    await editor.run("Go.")
    assert result(editor)[0] == "denied"


async def test_what_stands_in_the_file_stays_when_something_is_added(begin, workspace, home):
    (home / "trust.toml").write_text('# Mine.\n[[folder]]\npath = "/x"\ntrust = "read-only" # keep\n')
    editor = await begin("stock", [], UNSAID)
    await editor.command("outrider.trust", {"action": "read-only", "folder": str(workspace)})
    await editor.command("outrider.trust", {"action": "trust", "folder": str(workspace)})
    done = await editor.command("outrider.trust")
    assert [(one["path"], one["trust"]) for one in done["folders"]] == [
        ("/x", "read-only"),
        (str(workspace.resolve()), "trusted"),
    ]
    assert "# Mine." in (home / "trust.toml").read_text()
    assert "# keep" in (home / "trust.toml").read_text()


async def test_a_no_that_is_said_elsewhere_holds_from_the_next_call_on(begin, workspace):
    second = call("edit_file", path="README.md", old="Counts", new="Says", called="second")
    editor = await begin("stock", [step(FIX), step(second), DONE], {"permissionMode": "ask"})

    other = await begin("stock", [], UNSAID)

    editor.answers = lambda _: Never()
    started = await editor.command("outrider.run", {"prompt": "Go."})
    question = await editor.question()
    await other.command("outrider.trust", {"action": "read-only", "folder": str(workspace)})
    editor.answer_late(question, "Allow once")
    await editor.wait_turn(started["turnId"])
    assert {status for status, _ in results(editor).values()} == {"denied"}


# --- several folders -----------------------------------------------------------------------------------------


async def test_of_several_folders_each_is_asked_about_and_the_least_trusted_says_what_may_happen(
    begin, told, workspace
):
    second = workspace.parent / f"{workspace.name}.second"
    second.mkdir()
    (second / "AGENTS.md").write_text("Sing.\n")
    fix = call("edit_file", path=f"{workspace.name}/tariff.py", old="hours * 3", new="hours * 2")

    def answers(question):
        return "Stay read-only" if str(second) in question.message.splitlines()[0] else "Trust this workspace"

    editor = await begin("stock", [step(fix), DONE], UNSAID, folders=[workspace, second], answers=answers)
    await editor.run("Go.")
    assert len(editor.questions) == 2
    shown = await editor.command("outrider.prompt", {"sessionId": editor.events[-1]["sessionId"]})
    assert "Write no comments." in shown["messages"][0]["text"]
    assert "Sing." not in shown["messages"][0]["text"]
    assert result(editor)[0] == "denied"


@pytest.mark.parametrize("is_refused", [True, False])
async def test_a_folder_that_comes_while_something_is_asked_counts_before_it_is_done(
    begin, workspace, home, is_refused
):
    second = workspace.parent / f"{workspace.name}.second"
    second.mkdir()
    if is_refused:
        (home / "trust.toml").write_text(f'[[folder]]\npath = "{second.resolve()}"\ntrust = "read-only"\n')

    def answers(_question):
        added = [{"uri": second.as_uri(), "name": "second"}]
        editor.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": added, "removed": []}})
        return "Allow once"

    fix = call("run_command", command="touch made", called="fix")
    editor = await begin("stock", [step(fix), DONE], UNSAID, answers=answers)
    await editor.run("Go.")
    status, content = result(editor)
    assert status == ("denied" if is_refused else "ok"), content
    assert (workspace / "made").exists() is not is_refused


async def test_a_folder_that_goes_while_something_is_asked_is_outside_when_it_is_done(begin, workspace):
    second = workspace.parent / f"{workspace.name}.second"
    second.mkdir()
    (second / "a.txt").write_text("one\n")

    def answers(question):
        if len(editor.questions) > 1:
            return "Reject"
        gone = [{"uri": second.as_uri(), "name": second.name}]
        editor.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": gone}})
        return "Allow for this session"

    write = call("write_file", path=f"{second.name}/b.txt", content="x", called="write")
    editor = await begin("stock", [step(write), DONE], folders=[workspace, second], answers=answers)
    await editor.run("Go.")
    assert result(editor)[0] != "ok"
    assert not (second / "b.txt").exists()


async def test_rules_of_the_repository_that_tighten_count_without_trust(begin, workspace):
    (workspace / ".outrider").mkdir()
    (workspace / ".outrider" / "rules.toml").write_text(
        '[[rule]]\ndecision = "deny"\ntool = "edit"\npath = "tariff.py"\n'
    )
    editor = await begin("stock", [step(FIX), DONE], {**UNSAID, "permissionMode": "full"})
    await editor.run("Go.")
    assert result(editor)[0] == "denied"


async def test_a_client_that_asks_by_itself_is_given_the_question(begin, told):
    editor = await begin("asks", [DONE], UNSAID, answers=["Trust this workspace"])
    await editor.run("Go.")
    (question,) = editor.questions
    assert question.item["kind"] == "question"
    assert await instructions(editor)


async def test_a_client_that_asks_by_itself_and_does_not_answer_holds_nobody_up(begin, told):
    settings = {**UNSAID, "limits": {"askSeconds": 0.05}}
    editor = await begin("asks", [DONE, DONE], settings, answers=lambda _: Late("Trust this workspace"))
    await editor.run("Go.")
    assert not await instructions(editor)
    editor.answer_late(editor.questions[0])
    await asyncio.wait_for(trusted(editor, told), 10)
    await editor.run("Again.", sessionId=editor.events[0]["sessionId"])
    assert await instructions(editor)
