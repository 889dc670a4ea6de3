"""`.outrider/settings.toml`: its checks run where the folder is trusted and the user allowed them, once and for their text."""

import pytest
from scripting import DONE, FIX, call, step

from outrider.testing.editor.answers import Dismiss
from outrider_protocol import ALLOW_COMMANDS, IGNORE_COMMANDS

TRUSTED = {"trusted": True}
CHECK = "grep -q 'hours \\* 2' tariff.py && touch ../ran"
AGAIN = call("write_file", path="note.txt", content="x", called="again")
OTHER = call("write_file", path="other.txt", content="x", called="other")


@pytest.fixture
def names(workspace):
    """Writes the file."""

    def write(text):
        (workspace / ".outrider").mkdir(exist_ok=True)
        (workspace / ".outrider" / "settings.toml").write_text(text)

    return write


def answers(commands, else_="Allow once"):
    return lambda question: commands if ALLOW_COMMANDS in question.titles else else_


async def again(editor):
    await editor.run("Again.", sessionId=editor.events[0]["sessionId"])


def asked(editor):
    return [question.message for question in editor.questions if ALLOW_COMMANDS in question.titles]


def verified(editor):
    return [
        ([call["command"] for call in one["data"]["calls"]], one["data"].get("ignored"))
        for one in editor.events_of("verify.started")
    ]


def decided(editor):
    return [
        (one["data"]["by"], one["data"].get("rule"))
        for one in editor.events_of("approval.resolved")
        if "_check_" in one["data"]["callId"]
    ]


async def test_a_check_is_asked_about_once_and_then_runs_in_every_session_and_server(begin, names, workspace):
    names(f"verify = ['''{CHECK}''']\n")
    turns = [step(FIX), DONE, step(AGAIN), DONE]
    editor = await begin("stock", turns, TRUSTED, answers=answers(ALLOW_COMMANDS))
    await editor.run("Go.")
    (question,) = asked(editor)
    assert CHECK in question
    assert verified(editor) == [([CHECK], None)]
    assert decided(editor) == [("rule", "you allowed this command of .outrider/settings.toml")]
    (finished,) = editor.events_of("turn.finished")
    assert finished["data"]["reason"] == "checked"
    await again(editor)
    other = await begin("stock", [step(OTHER), DONE], TRUSTED, answers=["Allow once"])
    await other.run("And again.")
    assert len(asked(editor)) + len(asked(other)) == 1
    assert verified(other) == [([CHECK], None)]


async def test_another_text_is_another_command(begin, names):
    names("verify = ['true']\n")
    said = iter([ALLOW_COMMANDS, IGNORE_COMMANDS])
    editor = await begin(
        "stock",
        [step(FIX), DONE, step(AGAIN), DONE],
        TRUSTED,
        answers=lambda question: next(said) if ALLOW_COMMANDS in question.titles else "Allow once",
    )
    await editor.run("Go.")
    names("verify = ['true', 'true && rm -rf ~']\n")
    await again(editor)
    first, second = asked(editor)
    assert "rm -rf ~" in second
    assert "rm -rf ~" not in first
    assert "verify in" in second
    assert second.count(": true\n") == 0
    assert verified(editor) == [(["true"], None), (["true"], ["true && rm -rf ~"])]


async def test_what_is_ignored_is_not_asked_about_again_until_the_folder_is_forgotten(
    begin, names, workspace
):
    names("verify = ['touch ran']\n")
    editor = await begin(
        "stock", [step(FIX), DONE, step(AGAIN), DONE], TRUSTED, answers=answers(IGNORE_COMMANDS)
    )
    await editor.run("Go.")
    await again(editor)
    assert len(asked(editor)) == 1
    assert not verified(editor)
    assert not (workspace / "ran").exists()
    await editor.command("outrider.trust", {"action": "trust", "folder": str(workspace)})
    await editor.command("outrider.trust", {"action": "forget", "folder": str(workspace)})
    other = await begin("stock", [step(OTHER), DONE], TRUSTED, answers=answers(ALLOW_COMMANDS))
    await other.run("And again.")
    assert len(asked(other)) == 1


async def test_nothing_of_an_untrusted_folder_is_read_and_the_question_of_trust_says_so(begin, names):
    names("verify = ['touch ran']\n")
    editor = await begin(
        "stock",
        [step(FIX), DONE],
        {"trusted": None},
        answers=lambda question: "Stay read-only" if "Stay read-only" in question.titles else "Allow once",
    )
    await editor.run("Go.")
    (question, *_) = [one.message for one in editor.questions]
    assert "its settings (.outrider/settings.toml) are ignored" in question
    assert not verified(editor)
    assert not asked(editor)


async def test_a_deny_rule_beats_what_was_allowed(begin, names, rules):
    rules('[[rule]]\ndecision = "deny"\ntool = "run_command"\ncommand = "touch"\n')
    names("verify = ['touch ran']\n")
    editor = await begin("stock", [step(FIX), DONE, DONE], TRUSTED, answers=answers(ALLOW_COMMANDS))
    await editor.run("Go.")
    assert [one["data"]["status"] for one in editor.events_of("tool.finished")] == ["ok", "denied"]


async def test_no_answer_runs_nothing_and_the_question_stays_open(begin, names):
    names("verify = ['true']\n")
    editor = await begin(
        "stock",
        [step(FIX), DONE, step(AGAIN), DONE],
        {**TRUSTED, "permissionMode": "auto-edit"},
        answers=[Dismiss()],
    )
    await editor.run("Go.")
    assert not verified(editor)
    (warning,) = [one.text for one in editor.said if "do not run until you allow them: `true`" in one.text]
    assert "To allow them, answer the open question in the editor, or give a task in a terminal" in warning
    actions = [one["title"] for one in await editor.code_actions("tariff.py")]
    assert (
        f"Outrider: {ALLOW_COMMANDS} — The settings of this workspace name commands. May Outrider …"
        in actions
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("verify = 'pytest'\n", "verify: Input should be a valid list; it is ignored"),
        ("permissionMode = 'full'\n", "permissionMode: unknown setting; it is ignored"),
        ("verify = ['", "it is not valid TOML"),
        ("verify = ['']\n", "verify.0: String should have at least 1 character; it is ignored"),
    ],
)
async def test_what_is_wrong_is_said_once_and_the_rest_counts(begin, names, text, said):
    names(text)
    editor = await begin(
        "stock", [step(FIX), DONE, step(AGAIN), DONE], {**TRUSTED, "permissionMode": "auto-edit"}
    )
    await editor.run("Go.")
    await again(editor)
    assert [said in one.text for one in editor.said if "settings.toml" in one.text] == [True]
    assert [one["data"]["outcome"] for one in editor.events_of("turn.finished")] == ["completed"] * 2


async def test_a_link_in_its_place_is_not_followed(begin, workspace):
    (workspace.parent / "elsewhere.toml").write_text("verify = ['true']\n")
    (workspace / ".outrider").mkdir()
    (workspace / ".outrider" / "settings.toml").symlink_to(workspace.parent / "elsewhere.toml")
    editor = await begin("stock", [step(FIX), DONE], {**TRUSTED, "permissionMode": "auto-edit"})
    await editor.run("Go.")
    assert not asked(editor)
    assert len([one for one in editor.said if "settings.toml" in one.text]) == 1
