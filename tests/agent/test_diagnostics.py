"""The tool `diagnostics`: what all language servers of the editor report, asked of a client that said it can tell."""

import pytest
from scripting import DONE, call, result, step

from outrider.testing.editor.profiles import BAD_LENDING

LOOK = call("diagnostics", called="look")
LOOK_AT_TARIFF = call("diagnostics", path="tariff.py", called="look")
FULL = {"permissionMode": "full"}


def problem(line, message, *, column=0, **more):
    """A diagnostic as LSP has it."""
    place = {"line": line, "character": column}
    return {"range": {"start": place, "end": place}, "message": message, "severity": 1, **more}


async def looked(editor):
    """The result of the one call of a turn."""
    await editor.run("Look.")
    return result(editor)


async def test_the_problems_of_all_servers_reach_the_model_the_worst_first(begin):
    editor = await begin("lends", [step(LOOK), DONE])
    editor.open("tariff.py")
    editor.problems = {
        "tariff.py": [
            problem(2, "too\n  dear", severity=2, source="prices", code="P1"),
            problem(0, "no type", column=4, source="types", code=7),
        ],
        "README.md": [problem(0, "a typo", severity=4)],
    }
    assert await looked(editor) == (
        "ok",
        "tariff.py:1:5: error: no type [types 7]\ntariff.py:3:1: warning: too dear [prices P1]\nREADME.md:1: hint: a typo",
    )
    assert [(asked.method, asked.uris) for asked in editor.language_requests] == [
        ("workspace/diagnostic", [])
    ]
    assert editor.questions == []


async def test_a_file_is_asked_for_as_the_client_spells_it(begin):
    editor = await begin("lends", [step(LOOK_AT_TARIFF), DONE])
    editor.open("tariff.py")
    editor.problems = {"tariff.py": [problem(2, "dear")], "README.md": [problem(0, "a typo")]}
    assert await looked(editor) == ("ok", "tariff.py:3:1: error: dear")
    (asked,) = editor.language_requests
    assert (asked.method, asked.uris) == ("textDocument/diagnostic", [editor.desk.uri("tariff.py")])
    assert asked.params == {"textDocument": {"uri": editor.desk.uri("tariff.py")}}


async def test_columns_are_characters_whatever_the_client_counts(begin, workspace):
    (workspace / "a.txt").write_text("😀😀 héllo\n")
    editor = await begin("lends", [step(call("diagnostics", path="a.txt")), DONE])
    editor.open("a.txt")
    editor.problems = {"a.txt": [problem(0, "odd", column=5)]}
    assert await looked(editor) == ("ok", "a.txt:1:4: error: odd")


async def test_no_problems_are_said_to_be_none(begin):
    editor = await begin("lends", [step(LOOK), step(LOOK_AT_TARIFF), DONE])
    await editor.run("Look.")
    assert result(editor) == ("ok", "The editor reports no problems.")
    assert result(editor, 1) == ("ok", "The editor reports no problems in tariff.py.")


async def test_a_client_that_did_not_name_the_extension_is_not_asked(begin):
    expect = {"tools": ["read_file", "list_files", "find_files", "search", "edit_file", "apply_patch"]}
    editor = await begin("lends", [step(LOOK), DONE], {"extensions": ["ask"]})
    assert "No language server was found" in (await looked(editor))[1]
    assert editor.language_requests == []
    (asked, _) = editor.events_of("model.requested")
    assert asked["data"]["tools"][: len(expect["tools"])] == expect["tools"]


REASONS = {
    "never-answers-language": "the editor did not answer in 0.2 s",
    "answers-language-garbage": "the editor's answer cannot be used",
    "answers-language-error": "the editor's answer cannot be used",
    "lends-old-answers": "there is no answer about the present text",
}


async def test_an_editor_that_forgot_the_request_is_taken_for_one_that_does_not_tell(begin):
    editor = await begin("has-no-language", [step(LOOK), DONE])
    assert (await looked(editor))[0] == "error"


@pytest.mark.parametrize("profile", REASONS)
async def test_what_is_no_answer_is_never_taken_for_no_problems(profile, begin, monkeypatch):
    monkeypatch.setattr("outrider.language.lent.SECONDS", 0.2)
    editor = await begin(profile, [step(LOOK_AT_TARIFF), DONE])
    editor.open("tariff.py")
    said = f"Could not get diagnostics: {REASONS[profile]}."
    assert await looked(editor) == ("error", said)


def test_every_client_that_does_not_tell_is_tried():
    assert {str(one) for one in BAD_LENDING} == {*REASONS, "has-no-language"}


async def test_a_late_answer_does_no_harm(begin, monkeypatch):
    monkeypatch.setattr("outrider.language.lent.SECONDS", 0.2)
    editor = await begin("never-answers-language", [step(LOOK), DONE, step(LOOK), DONE])
    await looked(editor)
    (asked,) = editor.language_requests
    assert asked.withdrawn
    editor.problems = {"tariff.py": [problem(2, "dear")]}
    editor.lend(asked)
    await editor.run("Again.")
    assert result(editor, 1)[0] == "error"
    assert not [said for said in editor.said if said.level < 3]


async def test_promise_9_a_cancel_takes_the_request_back(begin):
    editor = await begin("never-answers-language", [step(LOOK), DONE])
    started = await editor.command("outrider.run", {"prompt": "Look."})
    await editor.wait_for(lambda: editor.language_requests, "the request")
    await editor.command("outrider.cancel", {"turnId": started["turnId"]})
    await editor.wait_turn(started["turnId"])
    assert result(editor)[0] == "cancelled"
    await editor.wait_for(lambda: editor.language_requests[0].withdrawn, "the withdrawal")


BAD_ITEMS = [
    None, 7, "text", {}, {"message": "no range"}, problem(-1, "above"), problem(True, "no number"),
    problem(2**40, "too far"), problem(0, None), problem(0, ["list"]), {**problem(0, "x"), "range": []},
]  # fmt: skip


async def test_what_has_not_the_shape_is_left_out_one_by_one(begin):
    editor = await begin("lends", [step(LOOK), DONE])
    odd = problem(9**9, "past the end", severity="high", source=["a"], code={"value": 1})
    marked = problem(0, {"kind": "markdown", "value": "**bold**"}, severity=99, source=" ", code=True)
    editor.problems = {"tariff.py": [*BAD_ITEMS, odd, marked]}
    editor.open("tariff.py")
    assert await looked(editor) == (
        "ok",
        "tariff.py:1:1: error: **bold**\ntariff.py:387420490:1: error: past the end",
    )


async def test_what_is_told_is_bounded(begin):
    editor = await begin("lends", [step(LOOK), DONE])
    long = problem(0, "x" * 5000)
    editor.problems = {"tariff.py": [long, *[problem(line, "x") for line in range(1, 300)]]}
    status, content = await looked(editor)
    lines = content.splitlines()
    assert status == "ok"
    assert len(lines) == 201
    assert len(lines[0]) < 450
    assert lines[-1] == "[100 more, less severe; pass a path to see one file]"


async def test_what_is_outside_is_left_out_and_of_what_is_shut_only_the_path_is_told(begin, workspace):
    (workspace / ".env").write_text("TOKEN=1\n")
    (workspace.parent / "outside.py").write_text("")
    editor = await begin("lends", [step(LOOK), DONE])
    outside = (workspace.parent / "outside.py").as_uri()
    editor.problems = {
        ".env": [problem(0, "TOKEN=1 is short")],
        outside: [problem(0, "outside")],
        "untitled:Note": [problem(0, "of a note")],
        ".outrider/task.md": [problem(0, "of our own")],
    }
    status, content = await looked(editor)
    assert status == "ok"
    assert "TOKEN" not in content
    assert "outside" not in content
    assert "our own" not in content
    assert "[.env has problems but is a secret file; pass its path to ask the user]" in content


async def test_a_file_that_is_shut_is_asked_about(begin, workspace):
    (workspace / ".env").write_text("TOKEN=1\n")
    editor = await begin("lends", [step(call("diagnostics", path=".env")), DONE], answers=["Reject"])
    editor.problems = {".env": [problem(0, "TOKEN=1 is short")]}
    assert (await looked(editor))[0] == "denied"
    assert editor.questions[0].message.startswith("Read the diagnostics of .env")
    assert editor.language_requests == []


async def test_promise_6_a_read_only_turn_can_look(begin):
    editor = await begin("lends", [step(LOOK), DONE], {"permissionMode": "read-only"})
    editor.problems = {"tariff.py": [problem(2, "dear")]}
    assert await looked(editor) == ("ok", "tariff.py:3: error: dear")
