"""A comment, a selection and a command go on in the window's session, unless a new one, or a fork of it, is asked for."""

from scripting import DONE, call, step

COMMENTS = "# outrider: name the tax\nTAX = 3\n# outrider: and now double it\n"


async def titles(editor, line):
    place = {"line": line, "character": 0}
    found = await editor.code_actions("tax.py", {"start": place, "end": place})
    return [one["title"].removeprefix("Outrider: ") for one in found]


async def asked(editor, session_id):
    """What the user said, as the model has it."""
    shown = await editor.command("outrider.prompt", {"sessionId": session_id})
    return [one["text"] for one in shown["messages"] if one["role"] == "user"]


async def take(editor, title):
    started = await editor.take_action(title)
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    return started["sessionId"]


async def begun(begin, workspace, turns):
    (workspace / "tax.py").write_text(COMMENTS)
    editor = await begin("stock", turns)
    editor.open("tax.py")
    return editor


async def test_two_instruction_comments_share_their_memory(begin, workspace):
    editor = await begun(begin, workspace, [DONE, DONE])
    assert [one for one in await titles(editor, 0) if "name the tax" in one] == ["do “name the tax”"]
    first = await take(editor, "Outrider: do “name the tax”")
    await titles(editor, 2)
    assert await take(editor, "Outrider: do “and now double it”") == first
    said = await asked(editor, first)
    assert "name the tax" in said[0]
    assert "and now double it" in said[-1]


async def test_a_new_task_knows_nothing_of_the_one_before(begin, workspace):
    editor = await begun(begin, workspace, [DONE, DONE])
    first = await take(editor, (await titles(editor, 0), "Outrider: do “name the tax”")[1])
    await titles(editor, 2)
    second = await take(editor, "Outrider: as a new task: “and now double it”")
    assert second != first
    assert not any("name the tax" in text for text in await asked(editor, second))


async def test_a_fork_knows_what_was_said_and_leaves_the_other_as_it_was(begin, workspace):
    editor = await begun(begin, workspace, [DONE, DONE])
    first = await take(editor, (await titles(editor, 0), "Outrider: do “name the tax”")[1])
    await titles(editor, 2)
    second = await take(editor, "Outrider: fork from here: “and now double it”")
    assert second != first
    assert any("name the tax" in text for text in await asked(editor, second))
    assert not any("and now double it" in text for text in await asked(editor, first))


async def test_a_selection_and_a_command_go_on_where_the_comment_was(begin, workspace):
    editor = await begun(begin, workspace, [DONE, DONE, DONE])
    first = await take(editor, (await titles(editor, 0), "Outrider: do “name the tax”")[1])
    await editor.code_actions("tax.py", editor.range_of("tax.py", "TAX = 3"))
    assert await take(editor, "Outrider: explain selection") == first
    started = await editor.command("outrider.run", {"prompt": "Thanks.", "continue": True})
    assert started["sessionId"] == first
    await editor.wait_turn(started["turnId"])


async def test_a_spent_budget_goes_on_by_an_action(begin, workspace):
    (workspace / "tax.py").write_text(COMMENTS)
    summary = {"purposes": {"summary": [{"text": "So far so good."}]}}
    editor = await begin("stock", [step(call("read_file", path="tax.py")), DONE], script=summary)
    ended = await editor.run("Look at the tax.", limits={"steps": 1})
    assert ended["outcome"] == "budget_exhausted"
    editor.open("tax.py")
    assert "continue “Look at the tax.”" in await titles(editor, 1)
    assert await take(editor, "Outrider: continue “Look at the tax.”") == editor.session_id
