"""The project that the tests of VS Code work on, and what a user does there."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from editors.workbench import Windows, Workbench, missing, plain

IN_THE_WORKBENCH = [
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.timeout(240),
    # Playwright runs an event loop of its own in the thread of the test.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

Begin = Callable[..., AbstractContextManager[Workbench]]

BEFORE = '''"""What parking costs."""


def price(hours):
    """Two for each hour begun."""
    return hours * 3


def label(hours):
    return f"{hours} h: {price(hours)}"
'''

AFTER = BEFORE.replace("hours * 3", "hours * 2").replace(
    "def label(hours):\n", 'def label(hours):\n    """How a ticket shows it."""\n'
)

CHECK = 'from tariff import price\n\nassert price(2) == 4\nprint("1 passed")\n'

WHOLE_TASK: list[dict[str, Any]] = [
    {
        "text": "I look at the file first.",
        "reasoning": "The docstring says two, the code says three.",
        "tool_calls": [
            {"name": "read_file", "input": {"path": "tariff.py"}},
            {
                "name": "update_plan",
                "input": {
                    "items": [
                        {"text": "Correct the price", "status": "in_progress"},
                        {"text": "Run the check", "status": "pending"},
                    ]
                },
            },
        ],
        "usage": {"inputTokens": 1200, "outputTokens": 40, "cost": 0.0021},
    },
    {
        "tool_calls": [{"name": "write_file", "input": {"path": "tariff.py", "content": AFTER}}],
        "usage": {"inputTokens": 1500, "outputTokens": 80, "cost": 0.003},
    },
    {
        "tool_calls": [{"name": "run_command", "input": {"command": "python3 check.py"}}],
        "usage": {"inputTokens": 1700, "outputTokens": 20, "cost": 0.003},
    },
    {
        "text": "The price is **two** for each hour now, as its docstring says:\n\n```python\nreturn hours * 2\n```\n\n"
        "- `check.py` passes.",
        "chunk": 12,
        "delay": 0.01,
        "usage": {"inputTokens": 1800, "outputTokens": 60, "cost": 0.004},
    },
]


def beginning(windows: Windows, project: Path) -> Begin:
    """How a test begins: with a window on the project, in which nothing is left of the test before."""

    def begin(turns: list[dict[str, Any]], **options: Any) -> AbstractContextManager[Workbench]:
        project.mkdir(exist_ok=True)
        for left in project.iterdir():
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()
        (project / "tariff.py").write_text(BEFORE, encoding="utf-8")
        (project / "check.py").write_text(CHECK, encoding="utf-8")
        return windows.window(options.pop("workspace", project), turns, **options)

    return begin


def edit(old: str, new: str, call_id: str = "edit") -> dict[str, Any]:
    """An answer of the model that edits tariff.py."""
    given = {"path": "tariff.py", "old": old, "new": new}
    return {"tool_calls": [{"name": "edit_file", "input": given, "id": call_id}]}


def asked(bench: Workbench, title: str) -> None:
    """Wait until the user is asked, in the view too."""
    # What is between backticks is shown as code.
    shown = title.replace("`", "")
    bench.until(lambda: shown in plain(bench.view_text()).replace("`", ""), f"the question “{title}”")
    bench.until(lambda: "needs you" in bench.status(), "the status bar that calls")
    bench.until(lambda: not bench.view.locator(".card.inert").count(), "a card that takes a yes")


def give(bench: Workbench, prompt: str) -> None:
    """Give a task from the command palette."""
    bench.command("Outrider: Run Task…")
    bench.type_input(prompt)


def set_key(bench: Workbench, name: str, key: str) -> None:
    """Give a provider's key."""
    bench.command("Outrider: Set a Provider's Key…")
    bench.type_input(name)
    box = bench.page.locator(".quick-input-widget input[type=password]")
    box.wait_for()
    box.fill(key)
    box.press("Enter")


def chord(bench: Workbench, key: str) -> None:
    """Press the keys of a command."""
    bench.page.keyboard.press("Control+Alt+j")
    bench.page.keyboard.press(key)
