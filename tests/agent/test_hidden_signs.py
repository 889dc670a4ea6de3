"""What a user is asked holds no sign that a terminal acts on, that cannot be seen, or that turns the writing around."""

import re

import pytest
from scripting import DONE, call, step

from outrider.ports.text import spelled_out, visible
from outrider.testing.editor.answers import Never

HIDING = "\x1b[2J\u202e\u200b\x9b\u3164\U000e0041é\u200dé\ufe0f\ufe0f"
SIGNS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u115f\u200b-\u200f\u202a-\u202e\u3164\U000e0000-\U000e0fff]|\ufe0f\ufe0f"
)
SPELLED = "\\x1b[2J\\u202e\\u200b\\x9b\\u3164\\U000e0041é\\u200dé\ufe0f\\ufe0f"


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


@pytest.mark.parametrize(
    ("text", "shown", "strictly"),
    [
        ("a\tb\nc\r\n", "a\tb\nc\r\n", "a\tb\nc\\r\n"),
        ("a\rb", "a\\rb", "a\\rb"),
        ("\U000e0041\U000e01ef", "\\U000e0041\\U000e01ef", "\\U000e0041\\U000e01ef"),
        ("\u3164\u115f\U0001d173", "\\u3164\\u115f\\U0001d173", "\\u3164\\u115f\\U0001d173"),
        ("👩\u200d🚀 1\ufe0f\u20e3 ☎\ufe0f", "👩\u200d🚀 1\ufe0f\u20e3 ☎\ufe0f", "👩\\u200d🚀 1\ufe0f\u20e3 ☎\ufe0f"),
        ("☎\ufe0f\ufe00\ufe01", "☎\ufe0f\\ufe00\\ufe01", "☎\ufe0f\\ufe00\\ufe01"),
        ("rm\ufe0f \ufe01x", "rm\\ufe0f \\ufe01x", "rm\\ufe0f \\ufe01x"),
    ],
)  # fmt: skip
def test_what_cannot_be_seen_is_spelled_out(text, shown, strictly):
    assert visible(text) == shown
    assert spelled_out(text) == strictly
