"""Hooks: commands of the user and of trusted workspaces that run at certain points of a session.

A hook is a command like any other: it goes through the executor, so that a turn that only reads runs none that could change something, and
what it changes can be undone. It can refuse a call, have it asked about, change its arguments and add text for the model. It can never allow.
"""

import asyncio
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

from outrider.agent.customization.files import Files, Place
from outrider.agent.trust import WorkspaceTrust
from outrider.agent.workspace_file import WorkspaceFiles
from outrider.permissions.policy.decide import Access
from outrider.permissions.policy.ruling import Ruling
from outrider.permissions.policy.trust import NamedCommand
from outrider.ports.text import visible
from outrider_protocol.settings import HookPoint, HookSettings, Settings

PLACES: Final = (Place(".claude", "settings.json", "claude"),)
LONGEST_VALUE: Final = 2_000
"""Characters of one value that a hook is given."""
MOST_GIVEN: Final = 30_000
"""Characters of all that it is given."""
MOST_TOLD: Final = 4_000
"""Characters that one hook tells the model."""
REFUSED_EXIT: Final = 2
"""The exit code that refuses, as in other agents."""

_POINTS: Final[Mapping[str, HookPoint]] = {
    "SessionStart": "sessionStart", "UserPromptSubmit": "turnStart", "PreToolUse": "beforeTool", "PostToolUse": "afterTool",
    "Stop": "turnEnd",
}  # fmt: skip
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "Bash": ("run_command",), "Edit": ("edit_file", "apply_patch", "insert_lines"), "MultiEdit": ("edit_file",), "Write": ("write_file",),
    "Read": ("read_file",), "Grep": ("search",), "Glob": ("find_files",), "LS": ("list_files",), "WebFetch": ("fetch_url",),
    "TodoWrite": ("update_plan",), "NotebookEdit": (), "Task": (), "WebSearch": (),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook."""

    on: HookPoint
    command: str
    tools: frozenset[str] | None
    """The tools whose calls it is about; None: all."""
    refuses_on_failure: bool = False
    form: Literal["own", "claude"] = "own"
    named: NamedCommand | None = None
    """As the user is asked about it; None for their own."""


@dataclass(frozen=True, slots=True)
class HookRun:
    """A hook that is to run now."""

    line: str
    """The command line, with what it is given on its standard input."""
    hook: Hook


@dataclass(frozen=True, slots=True)
class Came:
    """What came of one."""

    status: str
    exit_code: int | None
    content: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What hooks decided together."""

    refused: str = ""
    """Why the call is not made."""
    asks: str = ""
    """Why the user is asked about it."""
    arguments: Mapping[str, Any] | None = None
    """Its arguments as a hook changed them."""
    told: tuple[str, ...] = field(default=())
    """What the model is told."""


class Hooks:
    """The hooks of one house."""

    def __init__(
        self, settings: Callable[[], Settings], files: WorkspaceFiles, trust: WorkspaceTrust
    ) -> None:
        """Begin with none; `look` finds out which there are."""
        self._settings = settings
        self._files = files
        self.found: Files | None = None
        """Looks for those of other agents; set once the files of the workspace can be looked for."""
        self._trust = trust
        self._all: tuple[Hook, ...] = ()
        self._running: set[str] = set()

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self._all)

    async def look(self, session_id: str, turn_id: str, seconds: float) -> None:
        """Find out which hooks there are; the user is asked about new ones of a workspace, for some seconds."""
        mine = [_of_settings(one, None) for one in self._settings().hooks]
        brought = [
            _of_settings(hook, one.real) for one in await self._files.read() for hook in one.settings.hooks
        ]
        for file in await self.found.of_workspace(PLACES) if self.found is not None else ():
            if file.folder is not None:
                real = str(await asyncio.to_thread(file.folder.path.resolve))
                brought += _of_claude(file.text, real)
        named = [one.named for one in brought if one.named is not None]
        allowed: Sequence[NamedCommand] = ()
        if named:
            allowed = await self._trust.allowed(named, session_id, turn_id, seconds)
        self._all = (*mine, *(one for one in brought if one.named in allowed))

    def at(self, point: HookPoint, tool: str, given: Mapping[str, Any], cwd: str) -> list[HookRun]:
        """The hooks of a point, with what they are given.

        Args:
            point: The point.
            tool: The tool whose call it is about; empty for none.
            given: What is told of it, as JSON takes it.
            cwd: The first workspace folder.
        """
        found = [
            HookRun(_line(hook, given, cwd), hook)
            for hook in self._all
            if hook.on == point and (not tool or hook.tools is None or tool in hook.tools)
        ]
        self._running |= {one.line for one in found}
        return found

    def ended(self, runs: Sequence[HookRun]) -> None:
        """They came to their end: the same line is a command like any other again."""
        self._running -= {one.line for one in runs}

    def ruling(self, access: Access) -> Ruling | None:
        """That hooks which run now need no question; None for any other command."""
        if access.command is None or access.is_job or access.command.line.source not in self._running:
            return None
        return Ruling("allow", "you allowed this hook", ("hook",), names_files=True)


def _of_settings(said: HookSettings, folder: str | None) -> Hook:
    named = (
        NamedCommand.of(folder, "hooks", f"hook {said.on}: {said.command}", said.to_wire())
        if folder
        else None
    )
    return Hook(
        on=said.on,
        command=said.command,
        tools=frozenset(said.tools) if said.tools else None,
        refuses_on_failure=said.on_failure == "refuse",
        named=named,
    )


def _of_claude(text: str, folder: str) -> list[Hook]:
    """The hooks of a `settings.json` of Claude Code; those that are no commands, or of other points, are left out."""
    try:
        given: Any = json.loads(text)
    except (ValueError, RecursionError):
        return []
    block: Any = cast("dict[str, Any]", given).get("hooks") if isinstance(given, dict) else None
    hooks: list[Hook] = []
    for event, groups in cast("dict[str, Any]", block).items() if isinstance(block, dict) else ():
        point = _POINTS.get(event)
        for group in cast("list[Any]", groups) if isinstance(groups, list) and point is not None else ():
            if not isinstance(group, dict):
                continue
            told = cast("dict[str, Any]", group)
            matcher = str(told.get("matcher") or "*")
            tools = _tools(matcher)
            # There it names which start is meant; one that goes on, or is compacted, has none here.
            if point == "sessionStart" and tools is not None and "startup" not in tools:
                continue
            for one in cast("list[Any]", told.get("hooks") or []):
                command: Any = cast("dict[str, Any]", one).get("command") if isinstance(one, dict) else None
                if isinstance(command, str) and point is not None:
                    shown = f"hook {point} ({matcher}): {command}"
                    named = NamedCommand.of(folder, "hooks", shown, [event, matcher, command])
                    hooks.append(Hook(point, command, tools, form="claude", named=named))
    return hooks


def _tools(matcher: str) -> frozenset[str] | None:
    """The tools that a matcher of Claude Code names; None for all. What is a pattern besides names no tool that is known."""
    names: set[str] = set()
    for part in matcher.split("|"):
        name = part.strip()
        if name in {"*", ".*", ""}:
            return None
        names |= {*_NAMES.get(name, ()), name.removeprefix("mcp__"), name}
    return frozenset(names)


def _line(hook: Hook, given: Mapping[str, Any], cwd: str) -> str:
    """The command line of a hook: its input comes through a pipe, and so is part of what is logged."""
    told = _as_claude(hook.on, given, cwd) if hook.form == "claude" else {"on": hook.on, **given}
    text = json.dumps(_short(told), ensure_ascii=True)
    if len(text) > MOST_GIVEN:
        text = json.dumps({"on": hook.on, "tooLong": True})
    before = f"export CLAUDE_PROJECT_DIR={shlex.quote(cwd)}; " if hook.form == "claude" else ""
    return f"{before}printf %s {shlex.quote(text)} | {{ {hook.command}\n}}"


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}…"
    if isinstance(value, Mapping):
        return {key: _short(one) for key, one in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_short(one) for one in cast("list[Any]", value)[:100]]
    return value


def _as_claude(point: HookPoint, given: Mapping[str, Any], cwd: str) -> dict[str, Any]:
    event = next(name for name, one in _POINTS.items() if one == point)
    told: dict[str, Any] = {"session_id": given.get("sessionId", ""), "cwd": cwd, "hook_event_name": event}
    if (tool := given.get("tool")) is not None:
        told["tool_name"] = next((name for name, own in _NAMES.items() if tool in own), tool)
        values: Any = given.get("arguments")
        arguments = dict(cast("Mapping[str, Any]", values)) if isinstance(values, Mapping) else {}
        if isinstance(path := arguments.get("path"), str):
            arguments["file_path"] = str(Path(os.path.normpath(Path(cwd) / path)))
        told["tool_input"] = arguments
    if "result" in given:
        told["tool_response"] = given["result"]
    if "prompt" in given:
        told["prompt"] = given["prompt"]
    return told


def decided(came: Sequence[tuple[Hook, Came]]) -> Outcome:
    """What hooks decided together: a refusal beats a question, and what one changed the next one's changes come over. Pure."""
    refused, asks, told = "", "", list[str]()
    arguments: dict[str, Any] | None = None
    for hook, one in came:
        said = _said(one.content)
        name = f"the hook `{visible(hook.command[:80])}`"
        inner: Any = said.get("hookSpecificOutput")
        more = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
        decision = str(more.get("permissionDecision") or said.get("decision") or "")
        why = str(more.get("permissionDecisionReason") or said.get("reason") or "")
        if one.exit_code == REFUSED_EXIT:
            decision, why = "refuse", why or one.content
        elif one.status != "ok":
            if hook.refuses_on_failure:
                decision, why = "refuse", f"it failed: {one.content}"
            else:
                told.append(f"[{name} failed: {_cut(one.content)}]")
        if decision in {"refuse", "deny", "block"}:
            refused = refused or f"{name} refused it: {_cut(why)}"
        elif decision == "ask":
            asks = asks or f"{name} wants you to decide: {_cut(why)}"
        changed: Any = said.get("arguments", more.get("updatedInput"))
        if isinstance(changed, dict):
            arguments = {**(arguments or {}), **cast("dict[str, Any]", changed)}
        if text := said.get("text") or more.get("additionalContext"):
            told.append(f"[{name} says:]\n{_cut(str(text))}")
    return Outcome(refused, asks, arguments, tuple(told))


def _said(content: str) -> dict[str, Any]:
    """The last line of an output that is a JSON object."""
    for line in reversed(content.splitlines()):
        if line.startswith("{"):
            with suppress(ValueError, RecursionError):
                found: Any = json.loads(line)
                if isinstance(found, dict):
                    return cast("dict[str, Any]", found)
    return {}


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MOST_TOLD else f"{text[:MOST_TOLD]}…"
