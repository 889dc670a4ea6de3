"""The commands of VS Code that the other tests do not come by: each is given, and what comes of it is looked at."""

import json
import re
import sys
from pathlib import Path

import pytest

from editors.parking import BEFORE, IN_THE_WORKBENCH, Begin, asked, edit, give
from editors.workbench import EXTENSION, Workbench, plain

pytestmark = IN_THE_WORKBENCH


def _choose(bench: Workbench, command: str, row: str) -> str:
    """Give a command that lists something, take a row, and give back what was listed."""
    bench.command(command)
    rows = bench.page.locator(".quick-input-list .monaco-list-row")
    wanted = rows.filter(has_text=row).first
    wanted.wait_for()
    listed = plain("\n".join(rows.all_inner_texts()))
    if row == "Allow once":
        bench.read()
    wanted.click()
    return listed


def _send(bench: Workbench, text: str) -> None:
    box = bench.view.locator("#task")
    box.fill(text)
    box.press("Control+Enter")


def test_a_model_is_chosen_and_a_task_that_is_refused_is_not_lost(begin: Begin) -> None:
    known = {
        "outrider.providers": {"my": {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:9/v1"}},
        "outrider.models": {"my/b": {"contextWindow": 32_000, "price": {"input": 0.5, "output": 2}}},
    }
    with begin([{"text": "Done."}], settings=known, alone=True) as bench:
        bench.until(lambda: "· ask" in bench.status(), "the server")
        bench.command("Outrider: Choose Model…")
        rows = bench.page.locator(".quick-input-list .monaco-list-row")
        bench.until(lambda: rows.filter(has_text="provider my").count(), "who cannot be reached")
        bench.shot("models")
        assert "my/b" in plain(rows.filter(has_text="32k tokens · 0.5 in, 2 out").first.inner_text())
        rows.filter(has_text="my/b").first.click()
        bench.until(lambda: "· b ·" in bench.status(), "the model in the status bar")
        _choose(bench, "Outrider: Choose Model…", "Another…")
        bench.type_input("nobody/knows")
        bench.until(lambda: "· knows ·" in bench.status(), "the model that was written")

        bench.command("Outrider: Show Session View")
        _send(bench, "Two an hour")
        bench.until(lambda: "Not sent: " in bench.view_text(), "that it is refused")
        assert "names an unknown provider" in plain(bench.view_text())
        assert bench.view.locator("#task").input_value() == "Two an hour"
        bench.shot("refused")
        _choose(bench, "Outrider: Choose Model…", "The one of the settings")
        bench.until(lambda: "· script.json ·" in bench.status(), "the model of the settings")
        bench.view.locator("#task").press("Control+Enter")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        assert bench.view.locator("#task").input_value() == ""
        assert "Not sent" not in bench.view_text()

        listed = _choose(bench, "Outrider: Permissions", "Change the permission mode")
        assert "Asks before every edit and every command" in listed
        rows.filter(has_text="auto-edit").first.click()
        bench.until(lambda: "· auto-edit" in bench.status(), "the mode in the status bar")
        bench.command("Outrider: Show Log")
        # What is in it cannot be seen here: code-server writes logs with a native part that is not installed.
        bench.page.locator(".part.panel select").first.wait_for()
        chosen = "select => select.selectedOptions[0].text"
        bench.until(
            lambda: bench.page.locator(".part.panel select").first.evaluate(chosen) == "Outrider", "the log"
        )
        assert _shadowed(bench) == set()


def _shadowed(bench: Workbench) -> set[str]:
    """The keys of the editor that a key of the extension takes away, but for those in a list of the extension's own."""
    bench.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    bench.command("Preferences: Open Default Keyboard Shortcuts (JSON)")
    bench.page.locator(".tab.active").filter(has_text="keybindings").wait_for()
    bench.until(lambda: bench.text().strip(), "the keys")
    bench.focus_editor()
    bench.page.keyboard.press("Control+a")
    bench.page.keyboard.press("Control+c")
    copied: str = bench.until(
        lambda: (
            text
            if "outrider.client.undo" in (text := bench.page.evaluate("navigator.clipboard.readText()"))
            else None
        ),
        "the keys, copied",
    )
    listed = re.sub(r"^\s*//.*$", "", copied, flags=re.MULTILINE)
    keys = json.loads(listed[: listed.rindex("]") + 1])
    package = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    rows = [
        row
        for row in package["contributes"]["keybindings"]
        if not row.get("when", "").startswith("focusedView == outrider.")
    ]
    ours = {row["key"].split()[0] for row in rows}
    assert ours <= {row["key"].split()[0] for row in keys if row["command"].startswith("outrider.")}
    theirs = {row["key"].split()[0] for row in keys if not row["command"].startswith("outrider.")}
    return ours & theirs


def test_a_turn_is_planned_steered_answered_taken_back_and_gone_on_with_by_commands(begin: Begin) -> None:
    slowly = {"text": "Slowly. " * 40, "chunk": 8, "delay": 0.1}
    turns = [
        {
            "text": "It says what parking costs.",
            "expect": {"messages_contain": ["exploring turn", "What is this?"]},
        },
        {
            "text": "First the price.",
            "expect": {"messages_contain": ["planning turn", "How would you do it?"]},
        },
        slowly | edit("* 3", "* 2") | {"expect": {"messages_contain": ["Make it two", "return hours * 3"]}},
        edit("* 2", "* 4", "again") | {"expect": {"messages_contain": "in whole coins"}},
        edit("* 4", "* 5", "third"),
        edit("* 5", "* 4", "fourth"),
        {"text": "In coins."},
    ]
    with begin(turns) as bench:
        bench.open("tariff.py")
        for command, prompt, answer in (
            ("Explore… (Read-Only)", "What is this?", "It says what parking costs."),
            ("Plan… (Read-Only)", "How would you do it?", "First the price."),
        ):
            bench.command(f"Outrider: {command}")
            bench.type_input(prompt)
            bench.until(lambda answer=answer: answer in bench.view_text(), answer)
        bench.until(
            lambda: "Completed" in bench.view_text() and "running" not in bench.view_text(), "the end"
        )

        bench.focus_editor()
        bench.to_line(6)
        bench.page.keyboard.press("Shift+End")
        bench.command("Outrider: Run on Selection…")
        bench.type_input("Make it two")
        bench.until(lambda: "Slowly." in bench.view_text(), "the text as it comes")
        bench.command("Outrider: Steer the Running Turn…")
        bench.type_input("in whole coins")
        bench.until(lambda: "You said: in whole coins" in bench.view_text(), "what was said to the turn")

        # Who does not see the view is asked in a message.
        bench.page.keyboard.press("Control+b")
        bench.until(lambda: "needs you" in bench.status(), "the status bar that calls")
        bench.until(lambda: any("Edit tariff.py (+1 −1)" in one for one in bench.toasts()), "the message")
        bench.shot("message")
        bench.click_toast("Allow once")
        bench.until(lambda: bench.text() == BEFORE.replace("* 3", "* 2"), "the first edit")

        bench.command("Outrider: Show Session View")
        asked(bench, "Edit tariff.py (+1 −1)")
        assert "Reject" in _choose(bench, "Outrider: Answer Pending…", "Allow once")
        bench.until(lambda: bench.text() == BEFORE.replace("* 3", "* 4"), "the second edit")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.command("Outrider: Allow for This Session")
        bench.until(lambda: "In coins." in bench.view_text(), "the answer")
        wanted = BEFORE.replace("* 3", "* 4")
        bench.until(lambda: bench.text() == wanted, "the edit")
        bench.command("Outrider: Undo Turn")
        bench.until(lambda: bench.text() == BEFORE, "the undo")
        bench.command("Outrider: Redo Turn")
        bench.until(lambda: bench.text() == wanted, "the redo")

        bench.command("Outrider: New Session")
        bench.until(lambda: "In coins." not in bench.view_text(), "an empty view")
        bench.command("Outrider: Restart the Server")
        bench.until(lambda: "· ask" in bench.status(), "the server")
        assert "completed" in _choose(bench, "Outrider: Resume…", "What is this?")
        bench.until(lambda: "In coins." in bench.view_text(), "the session")


@pytest.mark.thorough
def test_a_plan_is_changed_and_started_and_what_its_check_says_is_a_problem_at_the_line(begin: Begin) -> None:
    plan = {
        "goal": "Fix the price",
        "steps": ["Change the factor", "Tell everybody"],
        "checks": ["python3 -B -c \"import ast; ast.parse(open('tariff.py').read(), 'tariff.py')\""],
    }
    slowly = {"text": "Slowly. " * 40, "chunk": 8, "delay": 0.1}
    turns = [
        {"tool_calls": [{"name": "write_plan", "input": plan, "id": "plan"}]},
        {"text": "There it is."},
        edit("* 3", "* (", "break") | {"expect": {"messages_contain": "Change the factor"}},
        {"text": "Done."},
        slowly | edit("* (", "* 2", "mend"),
        {"text": "Mended."},
    ]
    with begin(turns, settings={"outrider.permissionMode": "full"}) as bench:
        bench.open("tariff.py")
        bench.command("Outrider: Plan… (Read-Only)")
        bench.type_input("fix the price")
        bench.until(lambda: "There it is." in bench.view_text(), "the plan")
        document = bench.folder / ".outrider/plans/fix-the-price.md"
        text = document.read_text(encoding="utf-8")
        document.write_text(
            "".join(line for line in text.splitlines(keepends=True) if "Tell everybody" not in line),
            encoding="utf-8",
        )
        # It was opened when it was written.
        bench.page.locator(".tab.active").filter(has_text="fix-the-price.md").wait_for()
        bench.command("Outrider: Start This Plan")
        problems = bench.page.locator("#status\\.problems")
        bench.until(lambda: plain(problems.inner_text()).split()[:1] == ["1"], "the failure of the check")
        bench.shot("check-failed")
        bench.until(lambda: "Mended." in bench.view_text(), "the end")
        bench.until(lambda: plain(problems.inner_text()).split()[:1] == ["0"], "that it is gone")
        bench.until(lambda: "checked: " in plain(bench.view_text()), "the evidence")
        assert "Tell everybody" not in plain(bench.view_text()).rpartition("There it is.")[2]


@pytest.mark.thorough
def test_what_is_connected_is_shown_with_its_state_and_started_again(begin: Begin) -> None:
    odd = {
        "command": sys.executable,
        "args": ["-u", str(Path(__file__).parents[1] / "mcp" / "odd_server.py")],
    }
    old = {"type": "sse", "url": "https://mcp.example/sse"}
    settings = {"outrider.mcpServers": {"odd": odd, "old": old}}
    with begin([{"text": "Done."}], settings=settings) as bench:
        bench.open("tariff.py")
        bench.command("Outrider: Show What Is Connected")
        rows = bench.page.locator(".tree-explorer-viewlet-tree-view .monaco-list-row")

        def shown(*texts: str) -> bool:
            return any(all(text in row for text in texts) for row in map(plain, rows.all_inner_texts()))

        bench.until(lambda: shown("old", "sse is not supported"), "the server that is not taken")
        give(bench, "Look")
        bench.until(lambda: "Done." in bench.view_text(), "the end")
        bench.command("Outrider: Show What Is Connected")
        bench.until(lambda: shown("odd", "running"), "the server that runs")
        row = rows.filter(has_text="running").first
        row.hover()
        row.get_by_label("Restart This Server").click()
        bench.until(lambda: shown("odd", "running"), "the server again")
        bench.shot("connected")
