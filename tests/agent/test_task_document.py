"""The task document: a whole task in a client that has nothing but documents and code actions."""

from dataclasses import replace

import pytest
from scripting import FIX, call, step

from outrider.testing.profiles import BARE, HELIX_25_01, KATE_22_12, STOCK

PATH = ".outrider/task.md"
MARK = "<!-- Write below this line, then take the code action. -->"
ANSWER = "# Fixed.\n\n" + "It was three, and is two now. " * 60 + "\n\nThat is all."
CHECK = call("run_command", command="cat tariff.py", called="check")
ASK = call("ask_user", question="Which tax?", options=["19", "7"], called="ask")

MUTE = replace(STOCK, name="mute", can_ask=False)
"""It takes edits and asks nothing."""


def head(editor):
    return editor.text(PATH).partition(MARK)[0]


def tail(editor):
    return editor.text(PATH).partition(MARK)[2]


async def has(editor, text):
    """Wait until the document says something."""
    await editor.wait_for(lambda: text in head(editor), f"{text!r} in the task document")


async def take(editor, title, at=None):
    """Take an action of the document, at a text in it, or at its end."""
    lines = editor.text(PATH).split("\n")
    line = next(n for n, one in enumerate(lines) if at in one) if at else len(lines) - 1
    place = {"line": line, "character": 0}
    await editor.code_actions(PATH, {"start": place, "end": place})
    return await editor.take_action(title)


async def opened(editor):
    opening = editor.command_nowait("outrider.open", {})
    await editor.wait_for(lambda: (editor.root / PATH).exists(), "the document")
    await editor.wait_for(lambda: opening.done or editor.shown, "the answer")
    editor.open(PATH)


@pytest.mark.parametrize("profile", [HELIX_25_01, MUTE], ids=str)
async def test_a_whole_task_goes_by_the_document(profile, begin):
    editor = await begin(profile, [step(FIX), step(CHECK), step(ASK), {"text": ANSWER}], {"events": False})
    await opened(editor)
    editor.type(PATH, "Correct the price.\n")
    await take(editor, "Outrider: Send “Correct the price.”")
    await has(editor, "> +    return hours * 2")
    assert tail(editor).strip() == ""
    await take(editor, "Outrider: Allow once", at="Waits for you: approval")
    await has(editor, "> Run: cat tariff.py")
    await take(editor, "Outrider: Allow once", at="Waits for you: approval")
    await has(editor, "- `run_command` `cat tariff.py`: ok")
    print(editor.text(PATH))
    await has(editor, "> Which tax?")
    editor.type(PATH, "what the law says\n")
    await take(editor, "Outrider: answer “what the law says”", at="Waits for you: question")
    await has(editor, "> That is all.")
    for line in ANSWER.splitlines():
        assert f"> {line}".rstrip() in head(editor).split("\n")
    assert "what the law says" not in tail(editor)
    assert "Completed" in head(editor)
    await take(editor, "Outrider: undo turn")
    await has(editor, "taken back “tariff.py”: 1 change")
    print(editor.text(PATH))
    assert editor.disk("tariff.py").endswith("* 3\n")
