"""A planning turn writes a document; the user changes it and starts it, with its steps in the plan and its checks as checks."""

import json

import pytest
from scripting import DONE, FIX, KINDS, call, results, step

from outrider.cli.main import main
from outrider.testing.editor.wire_client import RpcError

AUTO = {"permissionMode": "full"}
CHECK = "grep -q 'hours \\* 2' tariff.py"
ASK = call("ask_user", question="Which factor?", options=["2", "3"], called="ask")
WRITE = call(
    "write_plan",
    goal="Halve the price",
    steps=["Change the factor in tariff.py", "Say it in README.md"],
    files=["tariff.py: price()"],
    checks=[CHECK],
    called="write",
)
PLANNED = {"text": "The plan is written."}
PATH = ".outrider/plans/halve-the-price.md"


def written(editor):
    return [one["data"] for one in editor.events_of("plan.written")]


async def planned(begin, profile="stock", turns=(), **more):
    """An editor in which a planning turn asked and wrote its document."""
    editor = await begin(profile, [step(ASK), step(WRITE), PLANNED, *turns], AUTO, answers=["2"], **more)
    done = await editor.run("Make it cheaper.", mode="plan")
    if done["outcome"] == "needs_input":
        await editor.command("outrider.answer", {"id": done["open"][0]["id"], "answer": "2"})
        done = await editor.wait_turn()
    assert done["outcome"] == "completed"
    return editor


@pytest.mark.parametrize("profile", KINDS)
async def test_a_plan_is_written_edited_started_and_followed(profile, begin, workspace):
    follow = call(
        "update_plan", items=[{"text": "Change the factor to 2", "status": "done"}], called="follow"
    )
    turns = [step(FIX), step(follow), DONE]
    editor = await planned(begin, profile, turns)
    (plan,) = written(editor)
    assert (plan["path"], plan["brief"]) == (PATH, ["Which factor? 2"])
    text = (workspace / PATH).read_text()
    for part in (
        "## Goal\n\n> Halve the price",
        "- Which factor? 2",
        "- [ ] Say it in README.md",
        f"- `{CHECK}`",
    ):
        assert part in text
    changed = text.replace("Change the factor in tariff.py", "Change the factor to 2").replace(
        "- [ ] Say it in README.md\n", ""
    )
    editor.open(PATH)
    editor.type(PATH, changed, replace=text)
    titles = [one["title"] for one in await editor.code_actions(PATH)]
    assert "Outrider: start this plan (1 step)" in titles
    await editor.take_action("Outrider: start this plan (1 step)")
    await editor.wait_for(lambda: len(editor.events_of("turn.finished")) == 2, "the plan is carried out")
    started = editor.events_of("turn.started")[1]
    assert started["data"]["mode"] == "agent"
    assert started["data"]["checks"] == [CHECK]
    assert "1. Change the factor to 2" in started["data"]["prompt"]
    assert started["sessionId"] == editor.events_of("turn.started")[0]["sessionId"]
    first, last = editor.events_of("plan.updated")
    assert first["data"]["items"] == [{"text": "Change the factor to 2", "status": "pending"}]
    assert last["data"]["items"][0]["status"] == "done"
    finished = editor.events_of("turn.finished")[1]["data"]
    assert finished["done"]["line"] == f"checked: `{CHECK}`"


async def test_the_document_is_shown_and_how_it_is_started_is_said(begin):
    editor = await planned(begin)
    await editor.wait_for(lambda: editor.shown, "the plan is shown")
    assert editor.shown[-1]["uri"].endswith(PATH)
    assert any(f"Outrider wrote the plan {PATH}." in one.text for one in editor.said)


def test_the_command_line_says_once_how_to_start_it_and_nothing_of_code_actions(tmp_path, capfd):
    script = {"turns": [step(WRITE), PLANNED]}
    (tmp_path / "script.json").write_text(json.dumps(script))
    arguments = ["run", "Go.", "-C", str(tmp_path), "--model", "scripted:script.json", "--mode", "plan"]
    assert main([*arguments, "--state-dir", str(tmp_path / "state")]) == 0
    said = capfd.readouterr()
    assert "outrider run --plan" in " ".join(said.out.split())
    assert "code action" not in said.out + said.err


async def test_a_failed_check_of_the_plan_goes_back_and_ends_visibly(begin):
    editor = await planned(
        begin, turns=[step(call("write_file", path="a.txt", content="x", called="w")), DONE, DONE]
    )
    started = await editor.command("outrider.plan", {"uri": (editor.root / PATH).as_uri()})
    done = await editor.wait_turn(started["turnId"])
    assert (done["outcome"], done["reason"]) == ("completed", "check_failed")
    assert done["done"]["openItems"] == ["Change the factor in tariff.py", "Say it in README.md"]


async def test_a_plan_that_is_written_again_replaces_its_document_unless_the_user_changed_that(
    begin, workspace
):
    other = call("write_plan", goal="Halve the price", steps=["Only this"], called="other")
    third = call("write_plan", goal="Halve the price", steps=["Or this"], called="third")
    editor = await begin("stock", [step(WRITE), step(other), PLANNED, step(third), PLANNED], AUTO)
    await editor.run("Plan.", mode="plan")
    assert [one["path"] for one in written(editor)] == [PATH, PATH]
    assert "Only this" in (workspace / PATH).read_text()
    (workspace / PATH).write_text("## Steps\n- mine\n")
    await editor.run("Plan again.", mode="plan", sessionId=editor.session_id)
    assert (workspace / PATH).read_text() == "## Steps\n- mine\n"
    assert written(editor)[2]["path"] == ".outrider/plans/halve-the-price-2.md"
    assert "halve-the-price-2.md" in (workspace / ".outrider/plans/halve-the-price-2.md").read_text()


async def test_an_answer_with_a_list_becomes_a_document_where_the_model_wrote_none(begin, workspace):
    editor = await begin("stock", [{"text": "I would:\n\n1. Look\n2. Leap\n"}], AUTO)
    await editor.run("Plan the jump.", mode="plan")
    (plan,) = written(editor)
    assert (plan["goal"], plan["steps"]) == ("Plan the jump.", ["Look", "Leap"])
    line = editor.events_of("turn.finished")[0]["data"]["done"]["line"]
    assert line == f"wrote a plan: {plan['path']}"
    assert "> I would:" in (workspace / plan["path"]).read_text()


async def test_a_model_that_wrote_none_is_told_once(begin):
    told = {**step(WRITE), "expect": {"last_message_contains": "write the plan with `write_plan`"}}
    editor = await begin(
        "stock", [{"text": "First this."}, told, PLANNED], AUTO, script={"purposes": {"reminder": []}}
    )
    await editor.run("Plan.", mode="plan")
    assert len(written(editor)) == 1


async def test_what_a_planning_turn_comes_to_is_its_document_and_no_check_that_did_not_run(begin):
    editor = await begin("stock", [step(WRITE), PLANNED], {**AUTO, "verify": ["true"]})
    done = await editor.run("Plan.", mode="plan")
    assert done["done"]["line"] == f"wrote a plan: {PATH}"


async def test_an_answer_to_a_question_is_no_plan(begin, workspace):
    editor = await begin("stock", [{"text": "It costs two for each hour."}], AUTO)
    done = await editor.run("What does it cost?", mode="plan")
    assert not written(editor)
    assert done["done"]["line"] == "no plan was written"
    assert any("(no plan was written)" in one.text for one in editor.said)
    assert not (workspace / ".outrider").exists()


NONSENSE = {
    "no heading": ("asdf\n", "it has no heading “## Steps”"),
    "no step": ("## Steps\n\nwords\n", "there is no step under “## Steps”"),
    "a check in words": ("## Steps\n- a\n## Checks\n- `pytest` and look\n", "is not clear"),
    "binary": ("\x00\x01", "it has no heading “## Steps”"),
}


@pytest.mark.parametrize("case", NONSENSE)
async def test_a_document_that_is_no_plan_any_more_says_what_is_missing(case, begin, workspace):
    text, said = NONSENSE[case]
    editor = await planned(begin)
    (workspace / PATH).write_bytes(text.encode())
    with pytest.raises(RpcError, match=said) as raised:
        await editor.command("outrider.plan", {"uri": (workspace / PATH).as_uri()})
    assert raised.value.data == {"reason": "invalid"}
    editor.type(PATH, text, replace=editor.text(PATH))
    actions = [one["title"] for one in await editor.code_actions(PATH)]
    assert any(title.startswith("Outrider: start this plan: not yet, ") for title in actions)
    assert len(editor.events_of("turn.started")) == 1


async def test_a_document_that_is_gone_or_elsewhere_is_named(begin, workspace):
    editor = await planned(begin)
    (workspace / PATH).unlink()
    for uri, said in (
        ((workspace / PATH).as_uri(), f"{PATH} does not exist"),
        ((workspace.parent / "x.md").as_uri(), "x.md is no file of the workspace"),
        ("untitled:plan", "is no file of the workspace"),
        ("http://example.com/x.md", "is not a file on this machine"),
    ):
        with pytest.raises(RpcError, match=said):
            await editor.command("outrider.plan", {"uri": uri})


async def test_a_link_to_another_file_is_not_followed(begin, workspace):
    editor = await planned(begin)
    (workspace.parent / "elsewhere.md").write_text("## Steps\n- steal\n")
    (workspace / PATH).unlink()
    (workspace / PATH).symlink_to(workspace.parent / "elsewhere.md")
    with pytest.raises(RpcError, match=r"is no file of the workspace|cannot be read|is a link"):
        await editor.command("outrider.plan", {"uri": (workspace / PATH).as_uri()})


async def test_checks_of_a_plan_ask_as_all_commands_do(begin, workspace):
    (workspace / ".outrider" / "plans").mkdir(parents=True)
    (workspace / PATH).write_text("## Steps\n- a\n## Checks\n- `touch ran`\n")
    editor = await begin("stock", [step(FIX), DONE], answers=["Allow once", "Reject"])
    started = await editor.command("outrider.plan", {"uri": (workspace / PATH).as_uri()})
    await editor.wait_turn(started["turnId"])
    assert not (workspace / "ran").exists()
    assert [status for status, _ in results(editor).values()] == ["ok", "denied"]


async def test_where_the_document_cannot_be_written_the_model_is_told(begin, workspace):
    (workspace / ".outrider").write_text("in the way")
    editor = await begin("stock", [step(WRITE), PLANNED], AUTO)
    await editor.run("Plan.", mode="plan")
    assert results(editor)["write"][0] == "error"
    assert "The plan could not be written: " in results(editor)["write"][1]


async def test_only_a_planning_turn_is_offered_the_tool(begin):
    editor = await begin("stock", [DONE])
    for mode, offered in (("plan", True), ("agent", False), ("explore", False)):
        tools = (await editor.command("outrider.tools", {"mode": mode}))["tools"]
        assert ("write_plan" in [one["name"] for one in tools]) is offered


STEPS = ["Change the factor in tariff.py", "Say it in README.md"]


def plan_of(editor, number=-1):
    return [(one["text"], one["status"]) for one in editor.events_of("plan.updated")[number]["data"]["items"]]


async def follow(editor):
    """Start the plan, and wait for its end."""
    started = await editor.command("outrider.plan", {"uri": (editor.root / PATH).as_uri()})
    return await editor.wait_turn(started["turnId"])


def update(*items, called):
    given = [{"text": text, "status": status} for text, status in items]
    return step(call("update_plan", items=given, called=called))


async def test_a_step_of_the_user_stays_in_the_plan_and_the_model_is_told(begin):
    own = update(("Look", "done"), ("say it in  readme.md", "in_progress"), called="own")
    word_for_word = update((STEPS[0], "done"), (STEPS[1], "done"), called="both")
    editor = await planned(begin, turns=[step(FIX), own, word_for_word, DONE])
    await follow(editor)
    assert plan_of(editor, -2) == [
        (STEPS[0], "pending"), ("Look", "done"), ("say it in  readme.md", "in_progress"),
    ]  # fmt: skip
    told = results(editor)
    assert told["own"][1].startswith("The plan has 3 items, 1 of them done.\n[Your plan leaves out steps")
    assert told["own"][1].endswith(f"]\n- {STEPS[0]} (pending)")
    assert told["both"] == ("ok", "The plan has 2 items, 2 of them done.")


async def test_the_steps_of_a_turn_that_goes_on_stay_too(begin):
    turns = [step(FIX), update(("Look", "done"), called="own"), DONE, DONE]
    editor = await planned(begin, turns=turns, script={"purposes": {"summary": [{"text": "Half."}]}})
    started = await editor.command(
        "outrider.plan", {"uri": (editor.root / PATH).as_uri(), "limits": {"steps": 1}}
    )
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "budget_exhausted"
    going = await editor.command("outrider.continue", {"sessionId": editor.session_id})
    await editor.wait_turn(going["turnId"])
    assert [text for text, _ in plan_of(editor)] == [*STEPS, "Look"]


async def test_a_step_that_the_user_writes_into_the_document_meanwhile_comes_into_the_plan(begin, workspace):
    ask = step(call("ask_user", question="Is it right?", options=["Yes", "No"], called="right"))
    both = update((STEPS[0], "done"), (STEPS[1], "pending"), called="both")
    editor = await planned(begin, turns=[step(FIX), ask, both, DONE, DONE])

    def write(_):
        path = workspace / PATH
        path.write_text(path.read_text().replace(f"- [ ] {STEPS[1]}", f"- [ ] Tell Ann\n- [ ] {STEPS[1]}"))
        return "Yes"

    editor.answers = write
    await follow(editor)
    assert plan_of(editor) == [(STEPS[0], "done"), ("Tell Ann", "pending"), (STEPS[1], "pending")]
    assert "- Tell Ann (pending)" in results(editor)["both"][1]


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("profile", KINDS)
async def test_what_is_done_is_ticked_off_in_the_document(profile, is_open, begin, workspace):
    first = update((STEPS[0], "done"), (STEPS[1], "in_progress"), called="first")
    both = update((STEPS[0], "done"), (STEPS[1], "done"), called="both")
    editor = await planned(begin, profile, [step(FIX), first, both, DONE])
    before = (workspace / PATH).read_text()
    text = f"{before}\nMine, and it stays.\n"
    if (workspace / PATH).as_uri() in editor.desk.buffers:
        editor.close(PATH)
    (workspace / PATH).write_text(before if is_open else text)
    if is_open:
        editor.open(PATH)
        editor.type(PATH, text, replace=before)
    done = await follow(editor)
    assert done["reason"] == "checked"
    wanted = text.replace("- [ ] ", "- [x] ")
    if is_open:
        takes_edits = "bare" not in editor.profile.name
        await editor.wait_for(
            lambda: editor.text(PATH) == (wanted if takes_edits else text), "both are ticked off"
        )
    else:
        await editor.wait_for(lambda: (workspace / PATH).read_text() == wanted, "both are ticked off")
    assert not editor.events_of("workspace.changed")


GONE = {"deleted": None, "nonsense": "asdf\n", "other steps": "## Steps\n- [ ] Mine\n"}


@pytest.mark.parametrize("case", GONE)
async def test_a_document_that_is_no_longer_the_plan_is_left_as_it_is(case, begin, workspace):
    ask = step(call("ask_user", question="Is it right?", options=["Yes", "No"], called="right"))
    both = update((STEPS[0], "done"), (STEPS[1], "done"), called="both")
    editor = await planned(begin, turns=[step(FIX), ask, both, DONE, DONE])

    def change(_):
        (workspace / PATH).unlink()
        if GONE[case] is not None:
            (workspace / PATH).write_text(GONE[case])
        return "Yes"

    editor.answers = change
    assert (await follow(editor))["outcome"] == "completed"
    await editor.stop()
    assert (
        not (workspace / PATH).exists()
        if GONE[case] is None
        else (workspace / PATH).read_text() == GONE[case]
    )


async def test_no_other_file_is_ticked_off(begin, workspace):
    text = f"## Steps\n- [ ] {STEPS[0]}\n- [ ] {STEPS[1]}\n"
    (workspace / "elsewhere.md").write_text(text)
    plans = workspace / ".outrider" / "plans"
    plans.mkdir(parents=True)
    (plans / "link.md").symlink_to(workspace / "elsewhere.md")
    both = update((STEPS[0], "done"), (STEPS[1], "done"), called="both")
    editor = await begin("stock", [both, DONE, both, DONE], AUTO)
    for path in ("elsewhere.md", ".outrider/plans/link.md"):
        started = await editor.command("outrider.run", {"prompt": "Go.", "planDocument": path, "plan": []})
        await editor.wait_turn(started["turnId"])
    await editor.stop()
    assert (workspace / "elsewhere.md").read_text() == text
