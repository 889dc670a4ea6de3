"""Code lenses at what a session changed: for clients that show them, as cheap as code actions."""

import pytest
from scripting import DONE, FIX, KINDS, call, step

from outrider.testing.editor.profiles import PROFILES

FULL = {"permissionMode": "full"}
UNDO, REDO = "Outrider: undo this change", "Outrider: redo this change"
WORDS = call("edit_file", path="tariff.py", old="Two for", new="Both for", called="words")


def shown(lenses):
    return [(lens["range"]["start"]["line"], lens["command"]["title"]) for lens in lenses]


async def press(editor, lens):
    params = {key: lens["command"][key] for key in ("command", "arguments")}
    return await editor.request("workspace/executeCommand", params)


@pytest.mark.parametrize("profile", KINDS)
async def test_each_change_has_a_lens_that_takes_it_back_and_one_that_brings_it_back(profile, begin):
    editor = await begin(profile, [step(WORDS), step(FIX), DONE], FULL)
    await editor.run("Go.")
    editor.open("tariff.py")
    lenses = await editor.code_lenses("tariff.py")
    if "codeLens" not in PROFILES[profile].capabilities.get("textDocument", {}):
        assert "codeLensProvider" not in editor.server["capabilities"]
        return
    assert shown(lenses) == [(1, UNDO), (2, UNDO)]
    undone = await press(editor, lenses[1])
    assert undone["undone"] == [{"path": "tariff.py", "hunks": 1}]
    lenses = await editor.code_lenses("tariff.py")
    assert shown(lenses) == [(1, UNDO), (2, REDO)]
    editor.type("tariff.py", "# mine\n", at=(0, 0))
    lenses = await editor.code_lenses("tariff.py")
    assert shown(lenses) == [(2, UNDO), (3, REDO)]
    await press(editor, lenses[1])
    assert shown(await editor.code_lenses("tariff.py")) == [(2, UNDO), (3, UNDO)]
    assert await editor.code_lenses("README.md") == []


async def test_what_the_person_wrote_over_has_no_lens(begin):
    editor = await begin("vscode", [step(FIX), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    editor.type("tariff.py", "    return 7\n", replace="    return hours * 2\n")
    assert await editor.code_lenses("tariff.py") == []


async def test_the_client_is_told_that_lenses_are_old_where_it_can_be(begin):
    editor = await begin("vscode", [step(FIX), DONE], FULL)
    editor.open("tariff.py")
    assert await editor.code_lenses("tariff.py") == []
    await editor.run("Go.")
    await editor.wait_for(lambda: editor.lens_refreshes >= 1, "a refresh")
    before = editor.lens_refreshes
    await editor.command("outrider.undo", {})
    await editor.wait_for(lambda: editor.lens_refreshes > before, "a refresh after the undo")


async def test_a_client_that_shows_none_is_not_told(begin):
    editor = await begin("vscode", [step(FIX), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    await editor.command("outrider.undo", {})
    assert editor.lens_refreshes == 0


@pytest.mark.parametrize("where", ["options", "configuration"])
async def test_the_setting_turns_them_off(where, begin):
    off = {"codeLens": False}
    editor = await begin("vscode", [step(FIX), DONE], {**FULL, **(off if where == "options" else {})})
    editor.open("tariff.py")
    await editor.run("Go.")
    if where == "configuration":
        assert shown(await editor.code_lenses("tariff.py")) == [(2, UNDO)]
        before = editor.lens_refreshes
        editor.configure(off)
        await editor.wait_for(lambda: editor.lens_refreshes > before, "a refresh")
    assert await editor.code_lenses("tariff.py") == []
    if where == "options":
        assert editor.lens_refreshes == 0
