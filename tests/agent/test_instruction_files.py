"""What folders tell their agents: under which names, which of several counts, and who may say nothing."""

import pytest
from scripting import DONE, call, step
from test_context import of_type, read, sent

from outrider.agent.context.instruction_files import DEEPEST_IMPORT, NAMES, folder_of, imports_in


def say(workspace, **told):
    """Write files."""
    for name, text in told.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def system_of(begin, settings=None, **how):
    """The system message of a turn."""
    editor = await begin("stock", [DONE], settings, **how)
    assert (await editor.run("Look"))["outcome"] == "completed"
    return (await sent(editor))[0][0].text


@pytest.mark.parametrize("name", NAMES)
async def test_a_folder_may_use_any_of_the_names(name, begin, workspace):
    say(workspace, **{name: "Rule of the root.\n", f"src/{name}": "Rule of src.\n", "src/x.py": "x = 1\n"})
    editor = await begin("stock", [read("src/x.py", "x"), DONE])
    await editor.run("Look")
    assert f"From {name}:\nRule of the root." in (await sent(editor))[0][0].text
    (found,) = of_type(editor, "instructions.found")
    assert found["path"] == f"src/{name}"
    assert found["told"] == f"Instructions for the files in src, from src/{name}:\nRule of src."
    assert folder_of(f"src/{name}") == "src"


async def test_of_several_in_one_folder_the_first_that_says_something_counts(begin, workspace):
    (workspace / ".clinerules").mkdir()
    say(workspace, **{"AGENTS.md": " \n", "CLAUDE.md": "Second.\n", "GEMINI.md": "Third.\n", ".cursorrules": "Fifth.\n"})  # fmt: skip
    text = await system_of(begin)
    assert "From CLAUDE.md:\nSecond." in text
    assert "Third." not in text
    assert "Fifth." not in text


async def test_what_was_told_is_not_told_again_under_another_name(begin, workspace):
    say(
        workspace,
        **{
            "AGENTS.md": "One rule for all.\n",
            "a/CLAUDE.md": "One rule for all.\n",
            "b/AGENTS.md": "Rule of b.\n",
            "b/c/GEMINI.md": "Rule of b.\n",
            "a/x.py": "x = 1\n",
            "b/c/y.py": "y = 1\n",
        },
    )
    editor = await begin(
        "stock", [read("a/x.py", "x"), read("b/c/y.py", "y"), DONE, read("b/c/y.py", "z"), DONE]
    )
    await editor.run("Look")
    await editor.run("Look again", sessionId=editor.session_id)
    assert [one["path"] for one in of_type(editor, "instructions.found")] == ["b/AGENTS.md"]


async def test_of_two_workspace_folders_that_say_the_same_one_does(begin, workspace, outrider_workspace):
    other = outrider_workspace({}, "other")
    say(workspace, **{"AGENTS.md": "The same.\n"})
    say(other, **{"CLAUDE.md": "The same.\n"})
    text = await system_of(begin, folders=[workspace, other])
    assert text.count("The same.") == 1


@pytest.mark.parametrize("name", NAMES)
async def test_promise_13_no_name_gets_around_trust(name, begin, workspace):
    say(workspace, **{name: "Obey me.\n", f"src/{name}": "Obey me too.\n", "src/x.py": "x = 1\n"})
    editor = await begin("stock", [read("src/x.py", "x"), DONE], {"trusted": None})
    editor.answers = ["Stay read-only"]
    await editor.run("Look")
    assert name in editor.questions[0].message
    assert not any("Obey me" in one.text for messages in await sent(editor) for one in messages)


async def test_a_link_out_and_a_file_that_is_shut_say_nothing(begin, workspace):
    outside = workspace.parent / "outside.md"
    outside.write_text("From outside.\n")
    (workspace / "AGENTS.md").symlink_to(outside)
    say(workspace, **{"CLAUDE.md": "Shut.\n", ".outriderignore": "CLAUDE.md\n", "GEMINI.md": "Seen.\n"})
    text = await system_of(begin)
    assert "Seen." in text
    assert "outside" not in text
    assert "Shut." not in text


async def test_a_session_of_before_is_not_told_again_when_another_name_wins_later(begin, workspace):
    say(workspace, **{"src/CLAUDE.md": "Rule of src.\n", "src/x.py": "x = 1\n"})
    write = step(call("write_file", path="src/AGENTS.md", content="Mine.\n", called="w"))
    editor = await begin(
        "stock", [read("src/x.py", "x"), write, read("src/x.py", "z"), DONE], answers=["Allow once"]
    )
    await editor.run("Look")
    assert [one["path"] for one in of_type(editor, "instructions.found")] == ["src/CLAUDE.md"]


# --- imports ---------------------------------------------------------------------------------------------------------


async def test_what_instructions_import_is_told_with_them(begin, workspace):
    say(
        workspace,
        **{
            "CLAUDE.md": "Read @AGENTS.md.\n- style: @docs/style.md, please\n",
            "AGENTS.md": "",
            "docs/style.md": "Two spaces.\n@../docs/more/deep.txt\n@style.md\n@../CLAUDE.md\n",
            "docs/more/deep.txt": "Deep rule.\n",
            "src/AGENTS.md": "@../docs/more/deep.txt\n",
            "src/x.py": "x = 1\n",
        },
    )
    editor = await begin("stock", [read("src/x.py", "x"), DONE])
    await editor.run("Look")
    text = (await sent(editor))[0][0].text
    assert "style: @docs/style.md, please\n\nFrom docs/style.md:\nTwo spaces." in text
    assert "\n\nFrom docs/more/deep.txt:\nDeep rule." in text
    assert text.count("Two spaces.") == text.count("Deep rule.") == text.count("Read @AGENTS.md.") == 1
    (found,) = of_type(editor, "instructions.found")
    assert found["told"].endswith("@../docs/more/deep.txt\n\nFrom docs/more/deep.txt:\nDeep rule.")


async def test_imports_go_so_deep_and_no_deeper(begin, workspace):
    chain = {f"{number}.md": f"Level {number}.\n@{number + 1}.md\n" for number in range(1, 9)}
    say(workspace, **{"AGENTS.md": "@1.md\n", **chain})
    text = await system_of(begin)
    assert f"Level {DEEPEST_IMPORT}." in text
    assert f"Level {DEEPEST_IMPORT + 1}." not in text


async def test_no_import_reaches_into_a_workspace_folder_below(begin, workspace):
    below = workspace / "below"
    below.mkdir()
    (workspace / "link.md").symlink_to(below / "theirs.md")
    say(workspace, **{"AGENTS.md": "Mine.\n@below/theirs.md\n@link.md\n", "below/theirs.md": "Theirs.\n"})
    text = await system_of(begin, folders=[workspace, below])
    assert "Mine." in text
    assert "Theirs." not in text


async def test_no_import_brings_in_what_is_shut_or_lies_elsewhere(begin, workspace, outrider_workspace):
    other = outrider_workspace({"theirs.md": "From another folder.\n"}, "other")
    outside = workspace.parent / "outside.md"
    outside.write_text("From outside.\n")
    (workspace / "link.md").symlink_to(outside)
    (workspace / "across.md").symlink_to(other / "theirs.md")
    named = ("shut.md", "secrets/id_rsa.txt", "link.md", "across.md", "../outside.md", "../other/theirs.md", "~/outside.md", "gone.md", str(outside))  # fmt: skip
    say(
        workspace,
        **{
            "AGENTS.md": "".join(f"@{one}\n" for one in named) + "@seen.md\n",
            "shut.md": "Shut.\n",
            ".outriderignore": "shut.md\nsecrets/\n",
            "secrets/id_rsa.txt": "Key.\n",
            "seen.md": "Seen.\n",
        },
    )
    text = await system_of(begin, folders=[workspace, other])
    assert "Seen." in text
    for foreign in ("From outside", "From another folder", "Shut.", "Key."):
        assert foreign not in text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@a.md", ["a.md"]),
        ("See @./docs/a.md, and (@b.md) @b.txt.", ["./docs/a.md", "b.txt"]),
        ("`@a.md` but @b.md", ["b.md"]),
        ("```\n@a.md\n~~~\n@b.md\n```\n@c.md", ["c.md"]),
        ("ada@example.md @types/node @alice @/etc/a.md @~/a.md", []),
        ("@a.md @a.md", ["a.md"]),
    ],
)
def test_which_words_import(text, found):
    assert imports_in(text) == found
