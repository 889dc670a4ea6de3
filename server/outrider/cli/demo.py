"""`outrider demo`: a bug in a small sample project is found, fixed and verified, in front of the user.

The server, the tools and the tests are the real ones; without `--model` only the model's answers come from a script.
"""

import asyncio
import json
import shlex
import shutil
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

import outrider_protocol as names
from outrider.cli.exits import ExitCode
from outrider.cli.problems import Problems
from outrider.cli.render import Renderer
from outrider.cli.run import Task, run_task
from outrider.cli.terminal import Keyboard, visible

TASK: Final = (
    "A customer who parked for exactly one hour was billed for two. "
    "Find the bug, fix it, and show that the tests pass."
)
AFTER_REJECTION: Final = "the script continues as if you had allowed it; a real model would not"
TEST_SECONDS: Final = 120.0
"""How long the sample's own tests may take."""


async def run_demo(
    options: dict[str, Any], console: Console, keyboard: Keyboard | None, *, keep: bool = False
) -> ExitCode:
    """Play the demo; 0 only if the turn completed and the sample's own tests pass afterwards.

    Args:
        options: `initializationOptions`; without a `model` the script that is shipped plays it.
        console: Where it is shown.
        keyboard: Who answers the approvals; None allows each one, and says so.
        keep: Leave the sample project on disk.
    """
    base = await asyncio.to_thread(_temporary_folder)
    try:
        workspace = base / "parking"
        script = await asyncio.to_thread(lay_out, base, workspace)
        scripted = "model" not in options
        played = {
            "permissionMode": "ask",
            "trusted": True,
            "stateDir": str(base / "state"),
            "sandbox": {"readable": _own_python()},
        } | options
        if scripted:
            played["model"] = f"scripted:{script}"
        _introduce(console, workspace, scripted, keyboard is None)
        task = Task(
            workspace, played, TASK, always=names.ALLOW_ONCE if keyboard is None else None, resumable=False
        )
        renderer = Renderer(console, after_rejection=AFTER_REJECTION if scripted else "")
        ended = await run_task(task, renderer, keyboard)
        passed = await _tests_pass(workspace, console)
        code = ended.code or (ExitCode.COMPLETED if passed else ExitCode.FAILED)
        left = f"is in {workspace}" if keep else "was removed with its session; --keep keeps both"
        console.print(Text(f"The sample project {left}.", style="dim"), soft_wrap=True)
        return ExitCode(code)
    finally:
        if not keep:
            await asyncio.to_thread(shutil.rmtree, base, ignore_errors=True)


def _own_python() -> list[str]:
    """Where this Python lies, which the demo's commands run: it may be a place that the sandbox hides."""
    return [str(Path(prefix).resolve()) for prefix in (sys.prefix, sys.base_prefix)]


def _temporary_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="outrider-demo-")).resolve()


def lay_out(base: Path, workspace: Path) -> Path:
    """Copy sample and script; the commands in them use this interpreter. Gives the script's path."""
    python = shlex.quote(sys.executable)
    shipped = resources.files("outrider.cli")
    with resources.as_file(shipped / "sample") as sample:
        shutil.copytree(sample, workspace, ignore=shutil.ignore_patterns("__pycache__"))
    instructions = workspace / "AGENTS.md"
    instructions.write_text(instructions.read_text("utf-8").replace("{python}", python), "utf-8")
    script = base / "script.json"
    text = (shipped / "demo_script.json").read_text("utf-8")
    script.write_text(text.replace("{python}", json.dumps(python)[1:-1]), "utf-8")
    return script


def _introduce(console: Console, workspace: Path, scripted: bool, alone: bool) -> None:
    text = Text()
    text.append("Task  ", "bold")
    text.append(TASK + "\n\n")
    text.append("A small project with a real bug was created in a temporary folder:\n")
    text.append(f"{visible(str(workspace))}\n", "dim")
    text.append("Server, tools and tests are real. ")
    if scripted:
        text.append("The model's answers come from a script.")
    if alone:
        text.append("\nYou will not be asked: every approval is answered with “Allow once”.")
    console.print(
        Panel(text, title="Outrider demo", title_align="left", box=box.ROUNDED, width=min(console.width, 80))
    )


async def _tests_pass(workspace: Path, console: Console) -> bool:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-B", "-m", "unittest", cwd=workspace,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(TEST_SECONDS):
            _, report = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        Problems().error(f"the sample's tests did not end within {TEST_SECONDS:g} seconds")
        return False
    passed = process.returncode == 0
    last = report.decode("utf-8", "replace").strip().splitlines()
    ran = next((line for line in last if line.startswith("Ran ")), "no test ran").partition(" in ")[0]
    verdict = "they pass" if passed else f"they do not pass ({last[-1] if last else 'no report'})"
    console.print()
    console.print(
        Text(f"The sample's own tests, run again outside Outrider: {ran.lower()}, {verdict}.",
             style="bold green" if passed else "bold red")
    )  # fmt: skip
    return passed
