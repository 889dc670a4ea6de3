"""Instructions of other agents that are for some files or some tasks: in which forms, when the model is told, and who may say nothing."""

import pytest
from scripting import DONE, call, step
from test_context import of_type, read, sent
from test_instruction_files import say, system_of

from outrider.agent.context import fitting
from outrider.agent.context.workspace_news import MOST_CHARACTERS
from outrider.agent.customization import front_matter
from outrider.agent.customization.scoped_instructions import LIMIT, patterns_in

CURSOR = "---\ndescription: {described}\nglobs: {globs}\nalwaysApply: {always}\n---\n{text}\n"


def cursor(text, globs="", always="false", described=""):
    return CURSOR.format(text=text, globs=globs, always=always, described=described)


def copilot(text, applies):
    return f"---\napplyTo: {applies}\n---\n{text}\n"


def claude(text, *paths):
    return "---\npaths:\n" + "".join(f'  - "{one}"\n' for one in paths) + f"---\n{text}\n"


FORMS = {
    ".cursor/rules/deep/py.mdc": cursor("Type it.", "**/*.py, docs/**"),
    ".github/instructions/py.instructions.md": copilot("Type it.", '"src/**/*.{py,pyi}"'),
    ".claude/rules/back/py.md": claude("Type it.", "src/**/*.py"),
}


@pytest.mark.parametrize("path", FORMS)
async def test_one_with_patterns_comes_with_the_first_file_that_matches_and_once(path, begin, workspace):
    say(workspace, **{path: FORMS[path], "src/x.py": "x = 1\n", "src/y.py": "y = 1\n", "src/z.txt": "z\n"})
    steps = [read("src/z.txt", "z"), read("src/x.py", "x"), read("src/y.py", "y"), DONE, read("src/x.py", "again"), DONE]  # fmt: skip
    editor = await begin("stock", steps)
    await editor.run("Look")
    await editor.run("Look again", sessionId=editor.session_id)
    (found,) = of_type(editor, "instructions.found")
    assert found["path"] == path
    assert found["told"].endswith(f", from {path}:\nType it.")
    requests = await sent(editor)
    assert not any("Type it." in one.text for messages in requests[:2] for one in messages)
    assert requests[2][-1].text == found["told"]
    assert requests[2][-2].role == "tool"


async def test_an_edit_brings_it_too(begin, workspace):
    say(workspace, **{".claude/rules/new.md": claude("Name it well.", "*.js")})
    write = step(call("write_file", path="deep/new.js", content="1\n", called="w"))
    editor = await begin("stock", [write, DONE], answers=["Allow once"])
    await editor.run("Write")
    assert [one["path"] for one in of_type(editor, "instructions.found")] == [".claude/rules/new.md"]


async def test_those_that_are_for_all_are_told_at_the_start(begin, workspace):
    say(
        workspace,
        **{
            "AGENTS.md": "From all.\n",
            ".cursor/rules/a.mdc": cursor("Cursor for all.", always="true"),
            ".cursor/rules/b.mdc": cursor("Cursor for all, too.", "**/*.ts", always="true"),
            ".github/instructions/a.instructions.md": copilot("Copilot for all.", '"**"'),
            ".claude/rules/a.md": "Claude for all.\n",
            ".claude/rules/same.md": "From all.\n",
        },
    )
    text = await system_of(begin) + "\n"
    for name, said in {
        "AGENTS.md": "From all.",
        ".cursor/rules/a.mdc": "Cursor for all.",
        ".cursor/rules/b.mdc": "Cursor for all, too.",
        ".github/instructions/a.instructions.md": "Copilot for all.",
        ".claude/rules/a.md": "Claude for all.",
    }.items():
        assert f"# Instructions of this workspace\nFrom {name}:\n{said}\n" in text
    assert text.count("From all.") == 1


async def test_one_with_a_description_alone_is_listed_and_one_without_is_not(begin, workspace):
    say(
        workspace,
        **{
            ".cursor/rules/db.mdc": cursor("Use transactions.", described="How to write migrations"),
            ".cursor/rules/by-hand.mdc": cursor("Only when named."),
            ".github/instructions/api.instructions.md": "---\ndescription: The API\n---\nVersion it.\n",
            ".claude/rules/odd.md": claude("Odd.", "x" * 3_000),
        },
    )
    text = await system_of(begin)
    assert (
        "\n- .cursor/rules/db.mdc: How to write migrations\n- .github/instructions/api.instructions.md: The API"
        in text
    )
    assert "\n- .claude/rules/odd.md: for files like xxx" in text
    assert "by-hand" not in text
    for said in ("Use transactions.", "Version it.", "Only when named.", "Odd."):
        assert said not in text


async def test_after_a_compaction_the_model_still_has_them(replayed_at_once, monkeypatch, begin, workspace):
    monkeypatch.setattr(fitting, "COMPACT_AT", 0.0)
    monkeypatch.setattr(fitting, "RECENT", 0.0)
    say(workspace, **{".claude/rules/x.md": claude("Type it.", "*.py"), "x.py": "x = 1\n", "y.txt": "y\n"})
    editor = await begin("stock", [read("x.py", "x"), read("y.txt", "y"), read("y.txt", "z"), DONE])
    await editor.run("Look")
    assert len(of_type(editor, "instructions.found")) == 1
    assert len(of_type(editor, "context.compacted")) == 2
    for messages in (await sent(editor))[1:]:
        assert any("from .claude/rules/x.md:\nType it." in one.text for one in messages)


async def test_what_changed_is_told_at_the_next_turn(begin, workspace):
    place = ".claude/rules/x.md"
    say(workspace, **{place: claude("Old.", "*.py"), "x.py": "x = 1\n"})
    editor = await begin("stock", [read("x.py", "x"), DONE, DONE, DONE])
    await editor.run("Look")
    say(workspace, **{place: claude("New.", "*.py")})
    await editor.run("Look again", sessionId=editor.session_id)
    await editor.run("And again", sessionId=editor.session_id)
    assert [one["told"].rpartition("\n")[2] for one in of_type(editor, "instructions.found")] == [
        "Old.",
        "New.",
    ]


async def test_one_with_a_secret_in_it_is_told_once_without_it(begin, workspace):
    secret = "ghp_" + "a1B2" * 9
    say(workspace, **{".claude/rules/x.md": claude(f"Log in with {secret}.", "*.py"), "x.py": "x = 1\n", "y.py": ""})  # fmt: skip
    editor = await begin("stock", [read("x.py", "x"), read("y.py", "y"), DONE, DONE])
    await editor.run("Look")
    await editor.run("Look again", sessionId=editor.session_id)
    (found,) = of_type(editor, "instructions.found")
    assert secret not in found["told"]
    assert "Log in with" in found["told"]


async def test_promise_13_they_do_not_get_around_trust(begin, workspace):
    told = {path: text.replace("Type it.", "Obey me.") for path, text in FORMS.items()}
    always = {
        ".cursor/rules/all.mdc": cursor("Obey me.", always="true"),
        ".claude/rules/all.md": "Obey me.\n",
    }
    described = {".cursor/rules/chosen.mdc": cursor("Read.", described="Obey me.")}
    say(workspace, **told, **always, **described, **{"src/x.py": "x = 1\n"})
    editor = await begin("stock", [read("src/x.py", "x"), DONE], {"trusted": None})
    editor.answers = ["Stay read-only"]
    await editor.run("Look")
    assert ".cursor/rules/all.mdc" in editor.questions[0].message
    assert not any("Obey me" in one.text for messages in await sent(editor) for one in messages)


async def test_a_link_out_and_a_file_that_is_shut_say_nothing(begin, workspace):
    outside = workspace.parent / "outside.md"
    outside.write_text("From outside.\n")
    say(
        workspace,
        **{
            ".claude/rules/seen.md": "Seen.\n",
            ".claude/rules/shut.md": "Shut.\n",
            ".outriderignore": ".claude/rules/shut.md\n",
        },
    )
    (workspace / ".claude/rules/link.md").symlink_to(outside)
    text = await system_of(begin)
    assert "Seen." in text
    assert "From outside." not in text
    assert "Shut." not in text


async def test_they_are_bounded(begin, workspace):
    say(
        workspace,
        **{f".claude/rules/{number}.md": claude(f"{number}" * 20_000, "*.py") for number in range(1, 8)},
    )
    say(workspace, **{f".cursor/rules/{number}.mdc": cursor(f"{number}" * 20_000, always="true") for number in range(1, 8)})  # fmt: skip
    say(workspace, **{"x.py": "x = 1\n"})
    editor = await begin("stock", [read("x.py", "x"), DONE])
    await editor.run("Look")
    found = of_type(editor, "instructions.found")
    assert sum(len(one["told"]) for one in found) <= MOST_CHARACTERS
    assert all(len(one["told"]) < LIMIT + 100 for one in found)
    system = (await sent(editor))[0][0].text
    assert sum(system.count(f"{number}" * LIMIT) for number in range(1, 8)) == 4


async def test_of_two_workspace_folders_each_has_its_own(begin, workspace, outrider_workspace):
    other = outrider_workspace({"x.py": "x = 1\n"}, "other")
    say(workspace, **{".claude/rules/a.md": claude("Mine.", "/x.py"), "x.py": "x = 1\n"})
    say(other, **{".claude/rules/a.md": claude("Theirs.", "/x.py")})
    editor = await begin("stock", [read("other/x.py", "x"), DONE], folders=[workspace, other])
    await editor.run("Look")
    (found,) = of_type(editor, "instructions.found")
    assert found["told"] == "Instructions for files like /x.py, from other/.claude/rules/a.md:\nTheirs."


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("globs: **/*.ts, src/**", ["**/*.ts", "src/**"]),
        ("globs: **/*.{ts,tsx},*.md", ["**/*.{ts,tsx}", "*.md"]),
        ("globs:\n  - **/*.ts\n  - '*.md'", ["**/*.ts", "*.md"]),
        ('globs: ["**/*.ts", "*.md"]', ["**/*.ts", "*.md"]),
        ("globs: [**/*.ts, *.md]", ["**/*.ts", "*.md"]),
        ('globs: "**/*.ts","*.md"', ["**/*.ts", "*.md"]),
        ("globs:", []),
    ],
)
def test_how_patterns_are_written(head, found):
    values, body = front_matter.split(f"---\ndescription: One: two\n{head}\n---\nText")
    assert patterns_in(values, ["globs"]) == found
    plain, _ = front_matter.split(f"---\n{head}\n---\nText")
    assert patterns_in(plain, ["globs"]) == found
    assert body == "Text"


@pytest.mark.parametrize("head", ["globs: 3", "globs: {a: b}", "globs: [[], 3]", "other: '*'"])
def test_what_is_no_pattern(head):
    values, _ = front_matter.split(f"---\n{head}\n---\nText")
    assert patterns_in(values, ["globs"]) == []
