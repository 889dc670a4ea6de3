"""What a user is asked holds no sign that a terminal acts on, that cannot be seen, or that turns the writing around."""

import re
import unicodedata

import pytest
from scripting import DONE, call, result, step

from outrider.ports.text import spelled_out, spelled_out_for_a_yes, visible
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


INKLESS = "\u2800\u3164\uffa0\u115f\u1160\u17b4\u17b5\u034f\U00013441\U00013442\U0001d159"
LIKE_A_BLANK = [
    sign
    for sign in map(chr, range(0x110000))
    if unicodedata.category(sign) in {"Cc", "Cf", "Zs", "Zl", "Zp"} or sign in INKLESS
    if sign not in " \t\n"
]


def test_a_yes_is_about_no_sign_that_is_nothing_or_a_blank_to_the_eye():
    for text in ("rm{}-rf", "é{}é"):
        assert [sign for sign in LIKE_A_BLANK if sign in spelled_out_for_a_yes(text.format(sign))] == []


async def test_another_blank_is_spelled_out_in_an_edit_and_stays_in_the_names_that_the_model_uses(
    begin, workspace
):
    name, text = "Screenshot 3.04\u202fPM.txt", "if\u00a0a:\u3000\u2800\n"
    calls = [step(call("write_file", path=name, content=text)), step(call("list_files")), DONE]
    editor = await begin("stock", calls, answers=lambda _: "Allow once")
    await editor.run("Go on")
    (asked,) = editor.events_of("approval.requested")
    assert asked["data"]["title"] == "Create Screenshot 3.04\\u202fPM.txt (+1)"
    assert "+if\\xa0a:\\u3000\\u2800" in asked["data"]["detail"]
    (question,) = editor.questions
    assert not {"\u202f", "\u00a0", "\u3000", "\u2800"} & set(question.message)
    assert name in result(editor, 1)[1].splitlines()
    assert (workspace / name).read_text() == text
