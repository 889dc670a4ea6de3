"""What a person is asked holds no sign that a terminal acts on, that cannot be seen, or that turns the writing around."""

import re

import pytest
from scripting import DONE, call, step

from outrider.testing.answers import Never

HIDING = "\x1b[2J\u202e\u200b\x9b"
SIGNS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]")
SPELLED = "\\u001b[2J\\u202e\\u200b\\u009b"


@pytest.mark.parametrize("profile", ["stock", "bare", "helix-25.01", "answers-never"])
async def test_nothing_hides_in_what_a_person_is_asked(begin, workspace, profile):
    """In the message, its buttons, the open items and their documents alike: a client may show any of them."""
    calls = [
        step(call("run_command", command=f"echo {HIDING} a")),
        step(call("write_file", path="a\u202etxt.b", content=f"{HIDING}\n")),
        step(call("ask_user", question=f"Which{HIDING}?", options=[f"one{HIDING}", "two"])),
        DONE,
    ]
    editor = await begin(profile, calls, {"limits": {"askSeconds": 0.05}}, answers=lambda _: Never())
    ended = await editor.run("Go on")
    kinds = []
    while ended["outcome"] == "needs_input":
        (item,) = ended["open"]
        kinds.append(item["kind"])
        shown = "".join([item["title"], item["detail"], *item["options"]])
        assert SPELLED in shown
        assert not SIGNS.search(shown)
        said = {"answer": f"one{SPELLED}"} if item["kind"] == "question" else {"decision": "reject"}
        await editor.command("outrider.answer", {"id": item["id"], **said})
        ended = await editor.wait_turn(ended["turnId"])
    assert kinds == ["approval", "approval", "question"]
    for question in editor.questions:
        assert not SIGNS.search("".join([question.message, *question.titles]))


async def test_nothing_hides_in_a_message_about_a_file_of_the_repository(begin, workspace):
    (workspace / ".outrider").mkdir()
    rule = '[[rule]]\ndecision = "allow"\ntool = "run_command"\ncommand = "git\\u001b[2J\\u202e\\u200b\\u009b x"\n'
    (workspace / ".outrider/rules.toml").write_text(rule)
    editor = await begin("stock", [step(call("list_files")), DONE])
    await editor.run("Go on")
    said = [
        one.message["params"]["message"]
        for one in editor.messages
        if one.message.get("method") == "window/showMessage"
    ]
    assert any("git\\x1b[2J\\u202e\\u200b\\x9b x" in text for text in said)
    assert not SIGNS.search("".join(said))
