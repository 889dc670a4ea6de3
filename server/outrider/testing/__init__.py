r"""Test agents in editors, without a model or an editor: scripted models, fake editors, scenarios.

    from outrider.testing import call, run_scenario, say

    async def test_the_price_is_corrected():
        run = await run_scenario(
            "Correct the price.",
            [call("edit_file", path="a.py", old="* 3", new="* 2"), say("Done.")],
            workspace={"a.py": "price = hours * 3\n"},
            on_confirmation=lambda item: item.tool == "edit_file",
        )
        assert run.files == {"a.py": "price = hours * 2\n"}

`tests/README.md` is the tutorial. Every message is held against LSP and the wire contract (`checks`), and what was broken
is raised at the end. The names are loaded when they are asked for: importing this module costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from outrider.testing.editor.answers import Dismiss, Fail, Late, Never, Question, Reply, ToolCall, Wrong
    from outrider.testing.editor.connections import InProcess, Stdio
    from outrider.testing.editor.fake_editor import FakeEditor
    from outrider.testing.editor.profiles import EDITORS, HOSTILE, PROFILES, Profile
    from outrider.testing.editor.wire_client import RpcError
    from outrider.testing.invocations import Invocation, read_invocations
    from outrider.testing.open_items import OpenItem, Reject, Review
    from outrider.testing.running import run_explore_scenario, run_scenario
    from outrider.testing.scenario import client_tool, embedded, scripted, start_session
    from outrider.testing.scenario_run import ScenarioRun
    from outrider.testing.script import ScriptedModel, call, say

__all__ = [
    "EDITORS",
    "HOSTILE",
    "PROFILES",
    "Dismiss",
    "Fail",
    "FakeEditor",
    "InProcess",
    "Invocation",
    "Late",
    "Never",
    "OpenItem",
    "Profile",
    "Question",
    "Reject",
    "Reply",
    "Review",
    "RpcError",
    "ScenarioRun",
    "ScriptedModel",
    "Stdio",
    "ToolCall",
    "Wrong",
    "call",
    "client_tool",
    "embedded",
    "read_invocations",
    "run_explore_scenario",
    "run_scenario",
    "say",
    "scripted",
    "start_session",
]

_MODULES: Final = {
    "editor.answers": ("Dismiss", "Fail", "Late", "Never", "Question", "Reply", "ToolCall", "Wrong"),
    "editor.connections": ("InProcess", "Stdio"),
    "editor.fake_editor": ("FakeEditor",),
    "invocations": ("Invocation", "read_invocations"),
    "open_items": ("OpenItem", "Reject", "Review"),
    "editor.profiles": ("EDITORS", "HOSTILE", "PROFILES", "Profile"),
    "running": ("run_explore_scenario", "run_scenario"),
    "scenario": ("client_tool", "embedded", "scripted", "start_session"),
    "scenario_run": ("ScenarioRun",),
    "script": ("ScriptedModel", "call", "say"),
    "editor.wire_client": ("RpcError",),
}
_HOMES: Final = {name: module for module, given in _MODULES.items() for name in given}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
