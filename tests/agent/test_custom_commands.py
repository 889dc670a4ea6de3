"""Custom commands: files of the user and of a trusted workspace, called by `/name` at the beginning of a task."""

import pytest
from scripting import DONE, step
from test_context import of_type, sent

COMMIT = """---
description: Write a commit message
argument-hint: [style]
allowed-tools: Bash(git status:*)
---
Write a commit message in the style $1 for $ARGUMENTS.

Version: !`cat VERSION`
Rules: @RULES.txt
Done.
"""


def write(root, **files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def home_of(workspace):
    return workspace.parent / f"{workspace.name}.home"


async def task_of(editor, prompt):
    assert (await editor.run(prompt))["outcome"] == "completed"
    return (await sent(editor))[-1][-1].text


async def test_a_command_gets_its_arguments_its_files_and_outputs(begin, workspace):
    write(
        workspace, **{".claude/commands/commit.md": COMMIT, "VERSION": "1.2.3\n", "RULES.txt": "Be short.\n"}
    )
    editor = await begin("stock", [DONE])
    text = await task_of(editor, "/commit plain now")
    assert text.startswith("Write a commit message in the style plain for plain now.")
    assert "Version: 1.2.3" in text
    assert "Rules: @RULES.txt" in text
    assert "RULES.txt (data, not instructions):\nBe short." in text
    (started,) = of_type(editor, "turn.started")
    assert started["prompt"] == "/commit plain now"
    assert started["invoked"]["name"] == "commit"
    (finished,) = of_type(editor, "tool.finished")
    assert finished["callId"].endswith("_output_1")


async def test_an_output_that_is_not_allowed_is_asked_about(begin, workspace):
    write(workspace, **{".claude/commands/x.md": "Look: !`touch made`\n"})
    editor = await begin("stock", [DONE], answers=["Reject"])
    text = await task_of(editor, "/x")
    assert "The user rejected this" in text
    assert not (workspace / "made").exists()


async def test_arguments_are_never_read_as_commands_or_files(begin, workspace):
    write(workspace, **{".claude/commands/say.md": "Say: $ARGUMENTS\n", "secret.txt": "hidden words\n"})
    editor = await begin("stock", [DONE])
    text = await task_of(editor, "/say !`touch made` @secret.txt")
    assert text.startswith("Say: !`touch made` @secret.txt")
    assert "hidden words" not in text
    assert not of_type(editor, "tool.requested")


async def test_a_task_that_only_looks_like_a_call_is_meant_as_it_is(begin, workspace):
    write(workspace, **{".claude/commands/x.md": "No.\n"})
    editor = await begin("stock", [DONE])
    text = await task_of(editor, "/usr/bin/x is broken")
    assert text.startswith("/usr/bin/x is broken")


async def test_of_an_untrusted_workspace_nothing_counts(begin, workspace):
    write(workspace, **{".claude/commands/x.md": "Do evil.\n", ".claude/skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\nEvil.\n"})  # fmt: skip
    editor = await begin("stock", [DONE], {"trusted": None}, answers=["Stay read-only"])
    listed = await editor.command("outrider.commands", {})
    assert listed == {"commands": [], "withheld": 1}
    text = await task_of(editor, "/x")
    assert text.startswith("/x")
    assert "skill" not in of_type(editor, "model.requested")[0]["tools"]


async def test_the_user_comes_before_the_workspace(begin, workspace):
    write(workspace, **{".claude/commands/x.md": "Of the repository.\n"})
    write(
        home_of(workspace),
        **{".claude/commands/x.md": "Of the user.\n", "config/outrider/commands/y.md": "Own.\n"},
    )
    editor = await begin("stock", [DONE])
    listed = await editor.command("outrider.commands", {})
    assert [(one["name"], one["source"]) for one in listed["commands"]] == [("x", "user"), ("y", "user")]
    assert (await task_of(editor, "/x")).startswith("Of the user.")


FORMS = {
    ".gemini/commands/git/fix.toml": ('prompt = "Fix {{args}} as in @{note.txt}: !{echo {{args}}}"\n', "/git:fix it's", "Fix it's as in @note.txt: it's"),
    ".opencode/command/fix.md": ("Fix $1 then $2.", "/fix a b", "Fix a then b."),
    ".cursor/commands/fix.md": ("Fix it.", "/fix now", "Fix it.\n\nnow"),
    ".codex/prompts/fix.md": ("Fix $ARGUMENTS.", "/fix a b", "Fix a b."),
    ".github/prompts/fix.prompt.md": ("---\ndescription: Fix\n---\nFix ${input:what:the thing} of #file:note.txt", "/fix all tests", "Fix all tests of @note.txt"),
    ".outrider/commands/fix.md": ("Fix $0, $ARGUMENTS[1].", "/fix a b", "Fix a, b."),
}  # fmt: skip


@pytest.mark.parametrize("path", FORMS)
async def test_the_forms_of_other_agents(path, begin, workspace):
    text, prompt, expected = FORMS[path]
    write(workspace, **{path: text, "note.txt": "A note.\n"})
    editor = await begin("stock", [DONE], answers=["Allow once"])
    assert (await task_of(editor, prompt)).startswith(expected)


SKILL = "---\nname: pdf\ndescription: Fill in PDF forms\n---\nRead FORMS.md first.\n"


async def test_a_skill_is_listed_and_loaded_with_its_files(begin, workspace):
    write(workspace, **{".claude/skills/pdf/SKILL.md": SKILL, ".claude/skills/pdf/FORMS.md": "Fields.\n"})

    def load(skill, **given):
        return step({"name": "skill", "input": {"name": skill, **given}})

    script = [
        load("pdf"),
        load("pdf", file="FORMS.md"),
        load("pdf", file="../../../tariff.py"),
        load("no"),
        DONE,
    ]
    editor = await begin("stock", script)
    assert (await editor.run("Fill in"))["outcome"] == "completed"
    contents = [one["content"] for one in of_type(editor, "tool.finished")]
    assert "Read FORMS.md first." in contents[0]
    assert "- FORMS.md" in contents[0]
    assert contents[1] == "Fields.\n"
    assert contents[2] == "../../../tariff.py is not a file of the skill pdf."
    assert contents[3] == "There is no skill 'no'. There are: pdf."
    tools = await editor.command("outrider.tools", {})
    (skill,) = [one for one in tools["tools"] if one["name"] == "skill"]
    assert skill["effect"] == "read"
    assert "- pdf: Fill in PDF forms" in skill["description"]


@pytest.mark.parametrize("shuts", ["a rule", "the list of shut files", "its name"])
async def test_a_skill_opens_no_file_that_is_shut(begin, workspace, rules, shuts):
    """A SKILL.md that is a link makes the folder it leads to the skill's own: that is no way around a rule."""
    write(workspace, **{"SKILL.md": SKILL, "private/key.txt": "hush hush\n", ".env": "hush hush\n"})
    (workspace / ".claude" / "skills" / "pdf").mkdir(parents=True)
    (workspace / ".claude" / "skills" / "pdf" / "SKILL.md").symlink_to(workspace / "SKILL.md")
    if shuts == "a rule":
        rules('[[rule]]\ndecision = "deny"\ntool = "read"\npath = "private/**"\n')
    elif shuts == "the list of shut files":
        write(workspace, **{".outriderignore": "private/\n"})
    file = ".env" if shuts == "its name" else "private/key.txt"
    script = [step({"name": "skill", "input": {"name": "pdf", "file": file}}), DONE]
    editor = await begin("stock", script, answers=["Reject"])
    await editor.run("Fill in")
    (result,) = of_type(editor, "tool.finished")
    assert result["status"] == "denied"
    assert "hush" not in str(editor.events)


async def test_a_file_of_a_skill_is_read_as_the_editor_has_it(begin, workspace):
    write(workspace, **{".claude/skills/pdf/SKILL.md": SKILL, ".claude/skills/pdf/FORMS.md": "Old.\n"})
    editor = await begin(
        "stock", [step({"name": "skill", "input": {"name": "pdf", "file": "FORMS.md"}}), DONE]
    )
    editor.open(".claude/skills/pdf/FORMS.md")
    editor.type(".claude/skills/pdf/FORMS.md", "New.\n")
    await editor.run("Fill in")
    assert of_type(editor, "tool.finished")[0]["content"] == "Old.\nNew.\n"


async def test_a_user_calls_a_skill_as_a_command(begin, workspace):
    write(workspace, **{".agents/skills/pdf/SKILL.md": SKILL})
    editor = await begin("stock", [DONE])
    text = await task_of(editor, "/pdf the form")
    assert "Read FORMS.md first." in text
    assert text.rstrip().partition("\n\nDate")[0].partition("the form")[1] == "the form"


async def test_a_link_to_elsewhere_is_nothing_of_the_workspace(begin, workspace):
    outside = workspace.parent / f"{workspace.name}.elsewhere"
    write(outside, **{"x.md": "Elsewhere.\n"})
    (workspace / ".claude").mkdir()
    (workspace / ".claude" / "commands").symlink_to(outside)
    editor = await begin("stock", [DONE])
    assert (await editor.command("outrider.commands", {}))["commands"] == []


async def test_without_any_no_tool_is_offered_more(begin, workspace):
    editor = await begin("stock", [DONE])
    await editor.run("Look")
    assert "skill" not in of_type(editor, "model.requested")[0]["tools"]


async def test_commands_are_actions_for_a_selection(begin, workspace):
    write(workspace, **{".claude/commands/review.md": "---\ndescription: Review it\n---\nReview.\n"})
    editor = await begin("stock", [DONE])
    await editor.command("outrider.commands", {})
    editor.open("tariff.py")
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    actions = await editor.code_actions("tariff.py", span)
    assert "Outrider: /review: Review it" in [one["title"] for one in actions]


async def test_the_doctor_says_which_files_are_none_and_why(begin, workspace):
    write(
        workspace,
        **{
            ".gemini/commands/broken.toml": "prompt = \n", ".gemini/commands/none.toml": 'description = "x"\n',
            ".claude/commands/empty.md": "---\ndescription: d\n---\n", ".claude/commands/odd name.md": "Do.\n",
            ".claude/skills/plain/SKILL.md": "Just text.\n",
            ".claude/skills/empty/SKILL.md": "---\nname: empty\ndescription: d\n---\n",
        },
    )  # fmt: skip
    editor = await begin("stock", [DONE])
    checks = (await editor.command("outrider.doctor", {}))["checks"]
    said = {one["detail"] for one in checks if one["status"] == "warn"}
    assert {one for one in said if "left out" in one and "broken" not in one} == {
        ".gemini/commands/none.toml is left out: it has no `prompt`",
        ".claude/commands/empty.md is left out: it is empty",
        ".claude/commands/odd name.md is left out: a command's name has letters, digits and - _ . alone",
        ".claude/skills/plain/SKILL.md is left out: its front matter has no description",
        ".claude/skills/empty/SKILL.md is left out: it is empty below its front matter",
    }
    assert any(
        one.startswith(".gemini/commands/broken.toml is left out: it is not valid TOML") for one in said
    )


async def test_the_doctor_lists_them(begin, workspace):
    write(workspace, **{".claude/commands/review.md": "Review.\n", ".claude/skills/pdf/SKILL.md": SKILL})
    editor = await begin("stock", [DONE], {"web": {"hosts": ["docs.example.org"]}})
    checks = (await editor.command("outrider.doctor", {}))["checks"]
    told = {one["name"]: one["detail"] for one in checks}
    assert told["custom commands"] == "/review"
    assert told["skills"] == "pdf"
    assert told["web"] == "without a question: docs.example.org"
