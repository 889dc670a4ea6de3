"""Edits of one open document by two sessions of one server, at the same moment."""

import asyncio

import pytest
from scripting import DONE, call, results, step

from outrider.testing.scenario import scripted
from outrider.workspace.edits.apply import Editing

FULL = {"permissionMode": "full"}
TEN = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.fixture
def together(monkeypatch):
    """The first two changes begin at once."""
    write, waiting, both_are_there = Editing.write, [], asyncio.Event()

    async def begin_together(self, change, label):
        waiting.append(label)
        if len(waiting) == 2:
            both_are_there.set()
        await asyncio.wait_for(both_are_there.wait(), 5)
        return await write(self, change, label)

    monkeypatch.setattr(Editing, "write", begin_together)


def edit(old, new, called):
    return call("edit_file", path="ten.txt", old=old, new=new, called=called)


@pytest.fixture
def both(begin, workspace, together):
    """Has both edits done; gives the editor."""

    async def run(profile, one, other):
        (workspace / "ten.txt").write_text(TEN)
        editor = await begin(profile, [step(one), DONE], FULL)
        second = scripted(workspace, [step(other), DONE], name="second")
        editor.open("ten.txt")
        turns = [
            await editor.command("outrider.run", {"prompt": "One."}),
            await editor.command("outrider.run", {"prompt": "Other.", "model": second}),
        ]
        for turn in turns:
            await editor.wait_turn(turn["turnId"], seconds=30)
        editor.settle()
        return editor, turns

    return run


PROFILES = ["neovim-0.11", "vim-lsp", "vscode", "debounces"]


@pytest.mark.parametrize("profile", PROFILES)
async def test_promise_4_both_edits_are_in_the_text_where_they_lie_apart(profile, both):
    above = call("insert_lines", path="ten.txt", after_line=1, text="new\n", called="one")
    editor, _ = await both(profile, above, edit("line 8", "L8", "other"))
    assert {status for status, _ in results(editor).values()} == {"ok"}
    assert editor.text("ten.txt") == TEN.replace("line 1\n", "line 1\nnew\n", 1).replace("line 8", "L8")


@pytest.mark.parametrize("profile", PROFILES)
async def test_promise_4_of_two_edits_of_one_place_the_second_is_refused(profile, both):
    editor, _ = await both(profile, edit("line 2", "L2", "one"), edit("line 2", "L2", "other"))
    assert sorted(status for status, _ in results(editor).values()) == ["error", "ok"]
    assert editor.text("ten.txt") == TEN.replace("line 2", "L2")
