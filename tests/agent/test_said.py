"""What the server says by itself, because a stock client would not show it."""

import pytest
from scripting import DONE, FIX, step

from outrider.testing.editor.wire_client import RpcError


def shown(editor):
    return [said.text for said in editor.said if said.shown]


async def test_what_an_undo_leaves_as_it_is_is_said(begin):
    editor = await begin("stock", [step(FIX), DONE], answers=["Allow once"])
    editor.open("tariff.py")
    await editor.run("Correct the price.")
    editor.type("tariff.py", "hours * 7", replace="hours * 2")
    editor.settle()
    result = await editor.command("outrider.undo", {})
    assert [conflict["path"] for conflict in result["conflicts"]] == ["tariff.py"]
    assert any(text.startswith("Outrider left unchanged: tariff.py, line 3: ") for text in shown(editor))


@pytest.mark.parametrize("events", [False, True])
async def test_an_undo_that_finds_nothing_to_do_says_so_where_nobody_looks_at_its_result(events, begin):
    editor = await begin("stock", [step(FIX), DONE], {"events": events}, answers=["Allow once"])
    editor.open("tariff.py")
    await editor.run("Correct the price.")
    editor.type("tariff.py", "hours * 3", replace="hours * 2")
    editor.settle()
    undone = await editor.command("outrider.undo", {"sessionId": editor.session_id})
    assert not any(undone.values())
    assert ("Outrider: there was nothing to undo." in shown(editor)) == (not events)


async def test_an_undo_of_what_is_undone_says_of_what(begin):
    editor = await begin("stock", [step(FIX), DONE], answers=["Allow once"])
    await editor.run("Correct the price.")
    with pytest.raises(RpcError, match=r"nothing to redo: no change of ses_1 is undone"):
        await editor.command("outrider.redo", {"sessionId": editor.session_id})
    await editor.command("outrider.undo", {})
    with pytest.raises(RpcError, match=r"nothing to undo: no change of ses_1 is in place"):
        await editor.command("outrider.undo", {"sessionId": editor.session_id})


@pytest.mark.parametrize(
    ("profile", "events", "is_said"),
    [
        ("helix-25.07", False, True),
        ("kate", False, True),
        ("stock", False, True),
        ("stock", True, False),
        ("eglot", False, False),
        ("neovim-0.11", False, False),
    ],
)
async def test_why_a_command_was_not_done_is_said_where_the_client_does_not_show_it(
    profile, events, is_said, begin
):
    editor = await begin(profile, [DONE], {"events": events})
    with pytest.raises(RpcError):
        await editor.command("outrider.run", {"prompt": "Go.", "sessionId": "ses_none"})
    with pytest.raises(RpcError):
        await editor.command("outrider.run", {"promt": "Go."})
    wrong = "Outrider: outrider.run: prompt: Field required; promt: there is no such key"
    assert shown(editor) == (["Outrider: there is no session 'ses_none'", wrong] if is_said else [])


async def test_an_action_that_is_delivered_twice_is_not_refused_aloud(begin):
    editor = await begin("helix-25.07", [DONE], {"events": False})
    await editor.command("outrider.run", {"prompt": "Go.", "draft": "1"})
    with pytest.raises(RpcError):
        await editor.command("outrider.run", {"prompt": "Go.", "draft": "1"})
    assert not any("sent" in text for text in shown(editor))


async def test_a_turn_that_waits_says_so(begin):
    editor = await begin("answers-null", [step(FIX), DONE])
    assert (await editor.run("Correct the price."))["outcome"] == "needs_input"
    assert shown(editor) == ["Outrider is waiting for you: “Edit tariff.py (+1 −1)”. Code actions answer it."]
    titles = [action["title"] for action in await editor.code_actions("tariff.py")]
    assert titles[0] == "Outrider: Allow once — Edit tariff.py (+1 −1)"


async def test_where_nothing_can_be_shown_what_is_waited_for_is_said_in_full(begin):
    editor = await begin("kate-22.12", [step(FIX), DONE])
    editor.open("tariff.py")
    assert (await editor.run("Correct the price."))["outcome"] == "needs_input"
    (said,) = shown(editor)
    assert said.startswith(
        "Outrider is waiting for you: “Edit tariff.py (+1 −1)”. Code actions answer it.\n---"
    )
    assert "\n-    return hours * 3\n+    return hours * 2" in said


@pytest.mark.parametrize(("profile", "is_said"), [("vim-lsp", True), ("stock", False)])
async def test_a_document_that_cannot_be_shown_is_named(profile, is_said, begin):
    editor = await begin(profile, [DONE])
    await editor.command("outrider.open", {"what": "task"})
    assert ("Outrider: open .outrider/task.md: write your text there." in shown(editor)) == is_said


async def test_a_model_that_cannot_be_had_is_said_at_the_start(begin):
    editor = await begin("stock", [DONE], {"model": "nobody/nothing"})
    await editor.command("outrider.status", {})
    assert any("nobody" in text for text in shown(editor)), shown(editor)


async def test_every_wrong_param_is_named(begin):
    editor = await begin("stock", [DONE])
    with pytest.raises(RpcError) as refused:
        await editor.command("outrider.run", {"promt": "x"})
    assert "prompt: " in str(refused.value)
    assert "promt: there is no such key" in str(refused.value)
