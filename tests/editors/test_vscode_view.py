"""The session view of VS Code: by keyboard, by screen reader, in every theme, with odd and with very long sessions."""

import pytest

from editors.parking import BEFORE, IN_THE_WORKBENCH, WHOLE_TASK, Begin, asked, chord, edit, give
from editors.workbench import plain, slowness

pytestmark = IN_THE_WORKBENCH


@pytest.mark.thorough
def test_writing_from_right_to_left_and_very_long_lines(begin: Begin) -> None:
    contrast = {"workbench.colorTheme": "Default High Contrast Light"}
    long = "x" * 20_000
    turns = [
        {
            "text": f"שלום, זה הקובץ.\n\n{long}",
            "tool_calls": [{"name": "read_file", "input": {"path": "signs.txt"}}],
        },
        {
            "tool_calls": [
                {
                    "name": "write_file",
                    "input": {"path": "signs.txt", "content": f"כניסה\n{long}y\n"},
                }
            ]
        },
        {"text": "Done."},
    ]
    with begin(turns, settings=contrast) as bench:
        (bench.folder / "signs.txt").write_text(f"יציאה\n{long}\n", encoding="utf-8")
        bench.open("signs.txt")
        give(bench, "תקן את השלט")
        asked(bench, "Edit signs.txt (+2 −2)")
        sizes = "root => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        wide, seen = bench.view.locator("#root").evaluate(sizes)
        assert wide <= seen
        runs = "all => all.map(one => getComputedStyle(one).direction)"
        # A long line is shown in parts.
        assert bench.view.locator(".entry.answer p").evaluate_all(runs) == ["rtl", *["ltr"] * 4]
        bench.until(bench.lenses, "the lenses at the lines")
        bench.shot("long-lines")
        bench.focus_editor()
        chord(bench, "y")
        bench.until(lambda: "כניסה" in bench.text(), "the edit")


def test_a_question_is_answered_in_the_view_by_keyboard(begin: Begin) -> None:
    asks = {"question": "Which currency?", "options": ["Euro", "Franc"]}
    turns = [
        {
            "text": "Slowly. " * 40,
            "chunk": 8,
            "delay": 0.1,
            "tool_calls": [{"name": "ask_user", "input": asks}],
        },
        edit("* 3", "* 2") | {"expect": {"messages_contain": ["in whole coins", "Krone"]}},
        {"text": "Done."},
    ]
    with begin(turns) as bench:
        chord(bench, "v")
        box = bench.view.locator("#task")
        bench.until(lambda: box.evaluate("box => box === document.activeElement"), "the keyboard in the view")
        bench.page.keyboard.type("Give it a currency")
        bench.page.keyboard.press("Control+Enter")
        bench.until(lambda: "Slowly." in bench.view_text(), "the text as it comes")
        bench.page.keyboard.type("in whole coins")
        bench.page.keyboard.press("Control+Enter")
        bench.until(lambda: "You said: in whole coins" in bench.view_text(), "what was said to the turn")
        asked(bench, "Which currency?")
        bench.view.locator(".card .note").press("Shift+Tab")
        bench.view.locator(".card .note").fill("Krone")
        bench.view.locator(".card .note").press("Enter")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.view.locator(".card").press("r")
        bench.until(lambda: "Rejected: Edit tariff.py" in bench.view_text(), "the answer")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        assert (bench.folder / "tariff.py").read_text(encoding="utf-8") == BEFORE


COUNT = """
import time
from pathlib import Path

print("begun", flush=True)
for number, name in enumerate(["first", "second", "third"], 1):
    while not Path(name).exists():
        time.sleep(0.02)
    for line in range(100 * number, 100 * number + 100):
        print("line", line, flush=True)
"""
"""Prints a hundred lines more as soon as a file is there."""


def test_each_key_of_the_view_does_what_the_page_says(begin: Begin) -> None:
    asks = {"question": "Which currency?", "options": ["Euro", "Franc"]}
    turns = [
        {"tool_calls": [{"name": "read_file", "input": {"path": "tariff.py"}}]},
        {"tool_calls": [{"name": "ask_user", "input": asks}]},
        edit("* 3", "* 2") | {"expect": {"last_message_contains": "Franc"}},
        edit("* 2", "* 4", "second"),
        edit("* 4", "* 5", "third"),
        {"tool_calls": [{"name": "run_command", "input": {"command": "python3 count.py"}}]},
        {"text": "Done."},
    ]
    with begin(turns) as bench:
        (bench.folder / "count.py").write_text(COUNT, encoding="utf-8")
        give(bench, "Give it a currency")
        asked(bench, "Which currency?")
        card = bench.view.locator(".card")

        # Through the steps, and one of them folded open.
        feed = bench.view.locator("#feed")
        feed.focus()
        focused = lambda: plain(bench.view.locator("body").evaluate(FOCUSED))  # noqa: E731
        for key, step in (
            ("k", "ask_user Which currency?, running"),
            ("k", "read_file tariff.py, done"),
            ("ArrowUp", "Task: Give it a currency"),
            ("k", "Task: Give it a currency"),
            ("j", "read_file tariff.py, done"),
            ("ArrowDown", "ask_user Which currency?, running"),
            ("Home", "Task: Give it a currency"),
            ("End", "ask_user Which currency?, running"),
            ("ArrowUp", "read_file tariff.py, done"),
        ):
            bench.page.keyboard.press(key)
            assert focused() == step, key
        bench.page.keyboard.press("Enter")
        assert bench.view.locator("details[open] pre.output").count() == 1
        bench.page.keyboard.press("Enter")
        assert bench.view.locator("details[open] pre.output").count() == 0

        # Through what is asked.
        card.press("2")
        bench.until(lambda: "You answered: Franc" in bench.view_text(), "the answer by its digit")
        asked(bench, "Edit tariff.py (+1 −1)")
        card.press("d")
        bench.page.locator(".tab.active", has_text="tariff.py (proposed)").wait_for()
        card.press("a")
        bench.until(lambda: bench.view_text().count("Allowed: Edit tariff.py") == 1, "the yes by its key")
        bench.until(lambda: card.count() == 1, "the second question")
        asked(bench, "Edit tariff.py (+1 −1)")
        card.press("s")
        bench.until(
            lambda: "Allowed for this session: Edit tariff.py" in bench.view_text(), "the yes for the session"
        )
        asked(bench, "Run `python3 count.py` in the workspace, ")
        assert "Allowed: Edit tariff.py" in bench.view_text()

        # What is read of a command stays in sight while it prints on, and who is at its end goes along.
        card.press("w")
        always = bench.page.locator(".quick-input-list .monaco-list-row", has_text="Always in this workspace")
        always.first.wait_for()
        bench.read()
        always.first.click()
        call = feed.locator(".entry.call", has_text="run_command")
        # A command that runs is folded open by itself.
        call.locator("summary").focus()
        output = call.locator("pre.output")
        at_end = "pre => pre.scrollHeight - pre.scrollTop - pre.clientHeight < 4 && pre.scrollTop > 0"
        (bench.folder / "first").touch()
        bench.until(lambda: "line 199" in output.inner_text(), "more output than has room")
        assert output.evaluate(at_end)
        assert call.locator("summary").evaluate("one => one === document.activeElement")
        output.evaluate("pre => { pre.scrollTop = 20; }")
        (bench.folder / "second").touch()
        bench.until(lambda: "line 299" in output.inner_text(), "more of it")
        assert output.evaluate("pre => pre.scrollTop") == 20
        (bench.folder / "third").touch()
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        said = bench.view.locator("[role=status].unseen")
        bench.until(lambda: said.inner_text().startswith("Completed: "), "the end, said")


THEMES = {
    "vscode-dark": "Default Dark Modern",
    "vscode-light": "Default Light Modern",
    "vscode-high-contrast": "Default High Contrast",
    "vscode-high-contrast-light": "Default High Contrast Light",
}

CONTRAST = """
() => {
    const page = getComputedStyle(document.body).getPropertyValue("--vscode-sideBar-background").trim();
    const base = page.slice(1).match(/../g).slice(0, 3).map(two => parseInt(two, 16));
    const parts = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const light = ([r, g, b]) => [r, g, b]
        .map(one => one / 255)
        .map(one => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
        .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
    const over = ([r, g, b, a = 1], under) => [r, g, b].map((one, at) => one * a + under[at] * (1 - a));
    const behind = element => {
        const own = parts(getComputedStyle(element).backgroundColor);
        const under = element.parentElement ? behind(element.parentElement) : base;
        return own.length ? over(own, under) : under;
    };
    const bad = [];
    for (const element of document.querySelectorAll("#root *")) {
        const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        if (!own || !element.checkVisibility() || element.closest(".unseen")) continue;
        const back = behind(element);
        const [one, other] = [light(over(parts(getComputedStyle(element).color), back)), light(back)];
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (contrast < (element.matches(".sign") ? 3 : 4.5)) bad.push(`${element.className || element.tagName} ${element.innerText}: ${contrast}`);
    }
    return bad;
}
"""
"""What of the view is hard to see on its background, by the rules of WCAG for text and for signs."""

FOCUSED = """
() => {
    const element = document.activeElement;
    return element.getAttribute("aria-label") || element.innerText || element.tagName;
}
"""


@pytest.mark.thorough
def test_a_key_that_is_held_down_decides_once_and_the_view_has_the_keyboard_when_it_is_called(
    begin: Begin,
) -> None:
    both = {"tool_calls": edit("* 3", "* 2", "one")["tool_calls"] + edit("* 2", "* 4", "two")["tool_calls"]}
    with begin([both, {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        first = bench.view.locator(".card").get_attribute("data-id")
        bench.view.locator(".card .buttons button").first.focus()
        keyboard = bench.page.keyboard
        keyboard.down("a")
        second = bench.view.locator(f".card:not([data-id='{first}'])")
        second.locator(".buttons button").first.focus()
        keyboard.down("a")
        keyboard.up("a")
        keyboard.press("r")
        bench.until(lambda: "Done." in bench.view_text(), "the answer")
        assert bench.text() == BEFORE.replace("* 3", "* 2")

        keyboard.press("Control+Shift+e")
        bench.until(
            lambda: bench.page.locator(".explorer-folders-view").is_visible(), "the files in its place"
        )
        chord(bench, "v")
        task = bench.view.locator("#task")
        bench.until(
            lambda: task.evaluate("one => one === document.activeElement && document.hasFocus()"), "it"
        )
        keyboard.type("Next")
        bench.until(lambda: task.input_value() == "Next", "what is typed")


AT_ONCE = """
body => new MutationObserver(() => {
    for (const card of body.querySelectorAll(".card:not([data-tried])")) {
        card.dataset.tried = "";
        card.querySelector(".buttons .primary").click();
        card.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
    }
}).observe(body, { childList: true, subtree: true })
"""


@pytest.mark.thorough
def test_what_has_just_appeared_takes_no_yes(begin: Begin) -> None:
    with begin([edit("* 3", "* 2"), {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        chord(bench, "v")
        bench.view.locator("body").evaluate(AT_ONCE)
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        assert bench.view.locator(".card[data-tried]").count() == 1
        assert bench.text() == BEFORE
        bench.view.locator(".card .buttons .primary").click()
        bench.until(lambda: "Done." in bench.view_text(), "the answer")
        assert bench.text() == BEFORE.replace("* 3", "* 2")


@pytest.mark.thorough
def test_a_late_click_on_a_message_changes_nothing_and_says_so(begin: Begin) -> None:
    slowly = {"text": "Slowly. " * 40, "chunk": 8, "delay": 0.1} | edit("* 3", "* 2")
    with begin([slowly, {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        bench.until(lambda: "Slowly." in bench.view_text(), "the text as it comes")
        bench.page.keyboard.press("Control+b")
        bench.until(lambda: any("Edit tariff.py (+1 −1)" in one for one in bench.toasts()), "the message")
        bench.read()
        bench.focus_editor()
        chord(bench, "y")
        bench.until(lambda: bench.text() == BEFORE.replace("* 3", "* 2"), "the edit")
        bench.click_toast("Reject")
        bench.until(
            lambda: any(
                "already answered, so “Reject” changes nothing" in plain(one) for one in bench.toasts()
            ),
            "that it came late",
        )


def test_the_view_can_be_read_in_every_theme_by_a_screen_reader_and_by_keyboard(begin: Begin) -> None:
    with begin(WHOLE_TASK) as bench:
        bench.open("tariff.py")
        give(bench, "Make the price what its docstring says")
        asked(bench, "Edit tariff.py (+2 −1)")
        bench.until(bench.lenses, "the lenses at the lines")
        bad = {}
        for kind, theme in THEMES.items():
            if bench.theme() != kind:
                bench.change_setting("workbench.colorTheme", theme)
            bench.until(lambda kind=kind: bench.theme() == kind, theme)
            asked(bench, "Edit tariff.py (+2 −1)")
            bench.until(bench.lenses, "the lenses at the lines")
            bench.shot(kind)
            if found := bench.view.locator("body").evaluate(CONTRAST):
                bad[theme] = found
        assert not bad

        tree = bench.view.locator("#root").aria_snapshot()
        for said in (
            'heading "Make the price what its docstring says" [level=1]',
            'toolbar "Session"',
            "listitem: Correct the price (in progress)",
            'feed "Steps"',
            'article "write_file tariff.py, waiting"',
            'region "Outrider needs you: Edit tariff.py (+2 −1)"',
            'form "Give a task"',
            'button "Permission mode: ask"',
            'status: "Outrider needs you: Edit tariff.py (+2 −1)"',
        ):
            assert said in tree, tree
        chord(bench, "v")
        box = bench.view.locator("#task")
        bench.until(lambda: box.evaluate("box => box === document.activeElement"), "the keyboard in the view")

        def tabbed(key: str, last: str) -> list[str]:
            order: list[str] = []
            while last not in order and len(order) < 30:
                bench.page.keyboard.press(key)
                order.append(plain(bench.view.locator("body").evaluate(FOCUSED)))
            return order

        assert "Permission mode: ask" in tabbed("Tab", "Stop")
        box.focus()
        order = tabbed("Shift+Tab", "Undo turn")
        for name in (
            "A note for the model, with your decision",
            "Review…",
            "Reject",
            "Allow once",
            "The proposed change",
            "Steps",
            "Undo turn",
        ):
            assert name in order, order
            del order[: order.index(name) + 1]


LAG = """
() => {
    window.lag = 0;
    let last = performance.now();
    setInterval(() => {
        const now = performance.now();
        window.lag = Math.max(window.lag, now - last);
        last = now;
    }, 20);
}
"""
"""Counts for how long the page of the view answered nothing."""


@pytest.mark.thorough
def test_a_session_of_100_000_lines_can_be_looked_through_while_it_runs(begin: Begin) -> None:
    lines = "".join(f"line {number}\n\n" for number in range(100_000))
    # What needs no process of its own: the steps come faster than a model could ask for them.
    reads = [
        {
            "name": "read_file",
            "input": {"path": "many.txt", "start_line": line, "end_line": line},
            "id": f"c{line}",
        }
        for line in range(1, 1701)
    ]
    steps = [{"tool_calls": reads[at : at + 50], "delay": 0} for at in range(0, len(reads), 50)]
    turns = [*steps, {"text": lines, "chunk": 5_000, "delay": 0.05}]
    many = {"outrider.limits": {"steps": 100, "toolCalls": 2000}}
    with begin(turns, settings=many, alone=True) as bench:
        (bench.folder / "many.txt").write_text("a line\n" * 1700, encoding="utf-8")
        bench.command("Outrider: Show Session View")
        bench.view.locator("#root").evaluate(LAG)
        give(bench, "Go on and on")
        bench.view.locator('.entry.answer[aria-busy="true"]').wait_for(timeout=120_000)
        bench.view.locator("#task").fill("I can write meanwhile")
        bench.shot("long-running")
        bench.view.locator(".entry.end").wait_for(timeout=120_000)
        newer = bench.view.get_by_role("button", name="New ↓")
        bench.until(newer.is_hidden, "the end, which is followed")
        bench.shot("long")
        feed = bench.view.locator("#feed")
        entries = feed.locator(".entry")
        assert feed.evaluate("() => window.lag") < 1500 * slowness()
        assert feed.evaluate("() => performance.memory.usedJSHeapSize") < 400e6
        assert max(process.memory_info().rss for process in bench.extension_hosts()) < 800e6
        assert bench.view.locator("#task").input_value() == "I can write meanwhile"
        assert entries.count() == 1500

        # Back to the first step and on to the last one, and what is in sight stays there.
        scroller = bench.view.locator("#scroller")
        first = entries.first
        key = first.get_attribute("data-key")
        above = (
            "entry => entry.getBoundingClientRect().top"
            " - document.querySelector('#scroller').getBoundingClientRect().top"
        )
        scroller.evaluate("scroller => { scroller.scrollTop = 0; }")
        task = bench.view.locator(".entry.task")
        task.wait_for()
        again = feed.locator(f'[data-key="{key}"]')
        # It was the uppermost one, and what comes above it must not move it out of sight.
        height = scroller.evaluate("scroller => scroller.clientHeight")
        bench.until(lambda: 0 <= again.evaluate(above) < height, "the step in sight")
        assert entries.count() == 1500
        bench.shot("long-earlier")
        bench.view.get_by_role("button", name="New ↓").click()
        bench.view.locator(".entry.end").wait_for()
        assert task.count() == 0

        # A view that was hidden is loaded anew, from nothing to the end of the session.
        bench.page.keyboard.press("Control+b")
        bench.until(lambda: bench.page.locator(".part.sidebar").is_hidden(), "no side bar")
        bench.command("Outrider: Show Session View")
        bench.view.locator(".entry.end").wait_for()
        opened = bench.view.locator("body").evaluate("() => performance.now()")
        assert opened < 2000 * slowness()
        assert bench.view.locator("#task").input_value() == "I can write meanwhile"


def test_custom_commands_are_completed_and_called(begin: Begin) -> None:
    neat = {"text": "Done.", "expect": {"messages_contain": ["Tidy up the tariff."]}}
    with begin([neat]) as bench:
        folder = bench.folder / ".claude" / "commands"
        folder.mkdir(parents=True)
        (folder / "tidy.md").write_text(
            "---\ndescription: Make it neat\n---\nTidy up $ARGUMENTS.\n", encoding="utf-8"
        )
        chord(bench, "v")
        box = bench.view.locator("#task")
        bench.until(lambda: box.evaluate("box => box === document.activeElement"), "the keyboard in the view")
        bench.page.keyboard.type("/ti")
        bench.until(lambda: bench.view.get_by_role("option", name="Make it neat").count() == 1, "the command")
        bench.shot("custom-command")
        bench.page.keyboard.press("Enter")
        bench.until(lambda: box.input_value() == "/tidy ", "its name in the text")
        bench.page.keyboard.type("the tariff")
        bench.page.keyboard.press("Control+Enter")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
