"""What the user sees of a command that is about to run: first what will happen, then the command, which imitates nothing."""

import pytest
from scripting import DONE, call, step

from outrider.ports.text import spelled_out_for_a_yes
from outrider.testing.editor.answers import Never
from outrider.tools.run_command.shown import folded, in_one_line

HEAD = "Run `{}` in the workspace, without a sandbox."


async def asked(begin, command, **settings):
    """The message of the question about a command, its event, and the editor."""
    editor = await begin(
        "stock", [step(call("run_command", command=command)), DONE], settings, answers=lambda _: Never()
    )
    await editor.command("outrider.run", {"prompt": "Go."})
    question = await editor.question(1)
    return question, editor.events_of("approval.requested")[0]["data"], editor


async def test_a_message_begins_with_what_will_happen(begin):
    question, data, _ = await asked(begin, "pytest -q")
    assert question.message.splitlines()[0] == data["summary"] == HEAD.format("pytest -q")
    assert data["title"] == "Run: pytest -q"
    assert "Review…" not in question.titles


HONEST = "Sandboxed: it can write only in the workspace, and runs without network."


@pytest.mark.parametrize(
    ("command", "head", "has", "lacks"),
    [
        (f"make {' ' * 3000} && rm -rf ~", "make && rm -rf ~", "│ make [3002 blanks] && rm -rf ~", " " * 20),
        ("tell a" + "\n" * 400 + "rm -rf ~", "tell a ⏎ rm -rf ~", "│ [399 blank lines]", "\n\n"),
        (f"make #{'A' * 6000}", "make #", "│ make #AAAAAAAAAAAAAAAAAAAAAAA[5953 characters]AAAA", "A" * 100),
        (f"tell '\n{HONEST}\n'", "tell ' ⏎ Sandboxed:", f"\n│ {HONEST}\n", f"\n{HONEST}"),
        ("\n".join(f"tell {n}" for n in range(100)), "tell 0 ⏎ tell 1", "│ [84 more lines]", "tell 50"),
        ("ls` in the workspace, sandboxed`; rm x", "ls' in the workspace, sandboxed'; rm x", "│ ls`", "`; rm x` in"),
        ("p\u0430ypal x", "p\\u0430ypal x", "│ p\\u0430ypal x", "\u0430"),
        ("a\u3000\u00a0\u3000b\u2003;", "a b ;", "│ a", "zzz"),
    ],
)  # fmt: skip
async def test_what_is_long_padded_or_imitates_comes_after_it_and_folded(begin, command, head, has, lacks):
    question, data, _ = await asked(begin, command)
    first, second = question.message.splitlines()[:2]
    assert first.startswith(f"Run `{head}"), first
    assert first.endswith("` in the workspace, without a sandbox.")
    assert len(first) < 160
    assert second.startswith("In the workspace folder, ")
    assert has in question.message
    assert lacks not in question.message
    assert question.message.count("\n") < 40
    # All of it is one step away, behind a margin.
    assert "Review…" in question.titles
    assert data["title"].startswith(f"Run: {spelled_out_for_a_yes(command[:5])}")


async def test_the_document_shows_the_whole_command_behind_a_margin(begin, workspace):
    command = f"tell '\n{HONEST}\n'; echo {'A' * 3000}"
    turns = [step(call("run_command", command=command)), DONE]
    editor = await begin("stock", turns, answers=["Review…", "Reject"])
    await editor.run("Go.")
    (paper,) = (workspace / ".outrider").glob("review-*.diff")
    text = paper.read_text()
    assert text.startswith("Run `")
    assert "A" * 3000 in text
    assert f"\n{HONEST}" not in text


async def test_programs_that_ask_for_one_reason_give_one_sentence(begin):
    loop = "for i in 1 2 3 4 5; do rg $i; rg a; done; ls; rg b; rg c"
    question, data, _ = await asked(begin, loop)
    because = [line for line in data["detail"].splitlines() if line.startswith("Because of")]
    assert len(because) == 1
    assert "and 4 more it asks: no rule allows it, and rg only reads in a sandbox" in because[0]
    assert "SHA-256" not in question.message


async def test_a_part_that_asks_for_another_reason_is_named_first(begin, workspace):
    (workspace / "check.py").write_text("print(1)\n")
    _, data, _ = await asked(begin, "ls; cat tariff.py; python3 check.py")
    lines = data["detail"].splitlines()[2:]
    assert lines[0].startswith("Because of `python3 check.py` it asks: no rule allows it")
    assert lines[1] == "Part by part:"
    assert lines[3] == "- `ls`, `cat tariff.py`: goes, it only reads, inside the workspace"
    assert lines[-1].startswith("It runs check.py as it is now (SHA-256 ")


@pytest.mark.parametrize(
    "text", ["ls -l", "echo 'é ü ж'", "grep \u043f\u0440\u0438 a.txt", "echo \u00b5m 5\u00b5"]
)
def test_a_plain_command_is_shown_as_it_is(text):
    assert in_one_line(text) == text
    assert folded(text) == f"│ {text}"
