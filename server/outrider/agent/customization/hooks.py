"""Hooks: commands of the user and of trusted workspaces that run at certain points of a session.

A hook is a command like any other: it goes through the executor, so that a turn that only reads runs none that could change something, and
what it changes can be undone. It can refuse a call, have it asked about, change its arguments and add text for the model. It can never allow.
"""

import asyncio
import hashlib
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, cast

from outrider.agent.customization.files import Files, Found, Place
from outrider.agent.trust import WorkspaceTrust
from outrider.agent.workspace_file import WorkspaceFiles
from outrider.permissions.policy.decide import Access
from outrider.permissions.policy.ruling import Ruling
from outrider.permissions.policy.trust import NamedCommand
from outrider.ports.patterns import Pattern, PatternError, built, linear
from outrider.ports.text import visible
from outrider_protocol.settings import HookPoint, HookSettings, Settings

PLACES: Final = (Place(".claude", "settings.json", "claude", is_one=True),)
_NOT_TAKEN: Final = (
    Place(".gemini", "settings.json", is_one=True),
    Place(".copilot", "hooks.json", is_one=True),
    Place(".github/hooks", ".json"),
)
"""Files of other agents whose hooks have a form that is not read; a message says so."""
LONGEST_VALUE: Final = 2_000
"""Characters of one value that a hook is given."""
MOST_GIVEN: Final = 30_000
"""Characters of all that it is given."""
MOST_TOLD: Final = 4_000
"""Characters that one hook tells the model."""
REFUSED_EXIT: Final = 2
"""The exit code that refuses, as in other agents."""
MOST_WORDS: Final = 200
"""Words of a hook's command that are looked at for scripts."""
MOST_TRIED: Final = 1000
"""Places of an output at which a JSON object is looked for in vain."""
_WORD: Final = linear("hook.word", r"[^\s\"'`;|&()<>=${}]+")
_BEGIN: Final = linear("hook.begin-of-json", r"(?m)^[ \t]*\{")
_OF_CLAUDE: Final = "export CLAUDE_PROJECT_DIR="

_POINTS: Final[Mapping[str, HookPoint]] = {
    "SessionStart": "sessionStart", "UserPromptSubmit": "turnStart", "PreToolUse": "beforeTool", "PostToolUse": "afterTool",
    "Stop": "turnEnd", "SessionEnd": "sessionEnd",
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
    scripts: Mapping[str, str] = field(default_factory=dict[str, str])
    """The digests of the workspace's files that its command names, as they were when the user was asked."""
    matcher: Pattern | None = None
    """Of Claude Code: a pattern of the names that its tools have there."""

    @property
    def shown(self) -> str:
        """What it runs and when, for the user."""
        return (
            self.named.shown.removeprefix("hook ") if self.named is not None else f"{self.on}: {self.command}"
        )

    def is_about(self, tool: str) -> bool:
        """Whether it runs for calls of a tool."""
        if self.matcher is None:
            return self.tools is None or tool in self.tools
        names = [tool, f"mcp__{tool}", *(name for name, own in _NAMES.items() if tool in own)]
        return any(self.matcher.search(name) for name in names)


def form_of(line: str) -> Literal["own", "claude"]:
    """Whose form a hook has whose whole line is known."""
    return "claude" if line.startswith(_OF_CLAUDE) else "own"


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


@dataclass(frozen=True, slots=True)
class ListedHooks:
    """What hooks there are, in words."""

    running: Sequence[str] = ()
    waiting: Sequence[str] = ()
    """Those that the user did not allow."""
    problems: Sequence[str] = ()
    """What is not taken of the files of workspaces."""
    withheld: Sequence[str] = ()
    """The files with hooks in workspace folders that are not trusted."""


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
        self._ending: set[str] = set()
        """Those at the end of a session, which are jobs."""

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self._all)

    async def look(self, session_id: str, turn_id: str, seconds: float) -> None:
        """Find out which hooks there are; the user is asked about new ones of a workspace, for some seconds."""
        mine, brought, _ = await self._found()
        named = [one.named for one in brought if one.named is not None]
        allowed: Sequence[NamedCommand] = ()
        if named:
            allowed = await self._trust.allowed(named, session_id, turn_id, seconds)
        self._all = (*mine, *(one for one in brought if one.named in allowed))

    async def listed(self) -> ListedHooks:
        """What there is, for the user; nobody is asked, and what runs stays as it is."""
        mine, brought, problems = await self._found()
        yes = [one for one in brought if one.named is not None and self._trust.is_allowed(one.named)]
        files = await self.found.of_workspace(PLACES, trusted=False) if self.found is not None else []
        made = await asyncio.to_thread(lambda: [(file.path, _brought([], [file])[0]) for file in files])
        return ListedHooks(
            running=[one.shown for one in (*mine, *yes)],
            waiting=[one.shown for one in brought if one not in yes],
            problems=problems,
            withheld=[path for path, hooks in made if hooks],
        )

    async def _found(self) -> tuple[list[Hook], list[Hook], list[str]]:
        """The user's, those of trusted workspaces, and what of those is not taken."""
        mine = [_of_settings(one, None) for one in self._settings().hooks]
        own = [(hook, one.real) for one in await self._files.read() for hook in one.settings.hooks]
        files = await self.found.of_workspace((*PLACES, *_NOT_TAKEN)) if self.found is not None else []
        return mine, *await asyncio.to_thread(_brought, own, files)

    async def at(self, point: HookPoint, tool: str, given: Mapping[str, Any], cwd: str) -> list[HookRun]:
        """The hooks of a point, with what they are given.

        Args:
            point: The point.
            tool: The tool whose call it is about; empty for none.
            given: What is told of it, as JSON takes it.
            cwd: The first workspace folder.
        """
        hooks = [hook for hook in self._all if hook.on == point and (not tool or hook.is_about(tool))]
        same = await asyncio.to_thread(lambda: [_is_same(hook) for hook in hooks])
        found = [
            HookRun(_line(hook, given, cwd) if is_same else _CHANGED, hook)
            for hook, is_same in zip(hooks, same, strict=True)
        ]
        (self._ending if point == "sessionEnd" else self._running).update(one.line for one in found)
        return found

    def ended(self, runs: Sequence[HookRun]) -> None:
        """They came to their end: the same line is a command like any other again."""
        lines = {one.line for one in runs}
        self._running -= lines
        self._ending -= lines

    def ruling(self, access: Access) -> Ruling | None:
        """That hooks which run now need no question; None for any other command."""
        lines = self._ending if access.is_job else self._running
        if access.command is None or access.command.line.source not in lines:
            return None
        return Ruling("allow", "you allowed this hook", ("hook",), names_files=True)


def _of_settings(said: HookSettings, folder: str | None) -> Hook:
    shown = f"hook {said.on}: {said.command}"
    scripts = _scripts(said.command, Path(folder)) if folder else {}
    return Hook(
        on=said.on,
        command=said.command,
        tools=frozenset(said.tools) if said.tools else None,
        refuses_on_failure=said.on_failure == "refuse",
        named=_named(folder, shown, said.to_wire(), scripts) if folder else None,
        scripts=scripts,
    )


def _named(folder: str, shown: str, said: Any, scripts: Mapping[str, str]) -> NamedCommand:
    """A hook as the user is asked about it: all that its block says, and the scripts of the workspace that it names."""
    whole = {"said": said, "scripts": dict(scripts)} if scripts else said
    return NamedCommand.of(folder, "hooks", shown, whole)


def _scripts(command: str, folder: Path) -> dict[str, str]:
    """The digests of the workspace's files that a command names, however it names their folder. Blocks."""
    found: dict[str, str] = {}
    for match in islice(_WORD.finditer(command), MOST_WORDS):
        parts = Path(match[0] or "").parts
        for first in range(len(parts)):
            path = folder.joinpath(*parts[first:]) if parts[first] != "/" else Path(*parts)
            with suppress(OSError, ValueError):
                if path.is_file() and path.resolve().is_relative_to(folder):
                    with path.open("rb") as file:
                        found[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
                    break
    return found


_CHANGED: Final = (
    "echo 'its script changed since you allowed it: you are asked again with the next task' >&2; exit 1"
)
"""What runs in the place of a hook that is not the one that was allowed."""


def _is_same(hook: Hook) -> bool:
    """Whether the scripts of a hook are those that the user allowed. Blocks."""
    return hook.named is None or _scripts(hook.command, Path(hook.named.folder)) == hook.scripts


def _brought(own: Sequence[tuple[HookSettings, str]], files: Sequence[Found]) -> tuple[list[Hook], list[str]]:
    """The hooks of workspaces, and what of their files is not taken. Blocks."""
    hooks, problems = [_of_settings(said, real) for said, real in own], list[str]()
    for file in files:
        if file.folder is None:
            continue
        try:
            given: Any = json.loads(file.text)
        except (ValueError, RecursionError) as error:
            if file.place in PLACES:
                problems.append(f"{file.path}: is not valid JSON ({str(error)[:100]}); its hooks are ignored")
            continue
        block: Any = cast("dict[str, Any]", given).get("hooks") if isinstance(given, dict) else None
        if file.place in PLACES:
            made, wrong = _of_claude(block, str(file.folder.path.resolve()))
            hooks += made
            problems += [f"{file.path}: {text}" for text in wrong]
        elif block:
            problems.append(
                f"{file.path}: hooks of this form are not taken; write them as `hooks` of .outrider/settings.toml"
            )
    return hooks, problems


def _of_claude(block: Any, folder: str) -> tuple[list[Hook], list[str]]:
    """The hooks of a `settings.json` of Claude Code, and which of them are left out."""
    hooks, problems = list[Hook](), list[str]()
    for event, groups in cast("dict[str, Any]", block).items() if isinstance(block, dict) else ():
        point = _POINTS.get(event)
        if point is None:
            problems.append(f"hooks.{event}: there is no such point here; ignored")
            continue
        for group in cast("list[Any]", groups) if isinstance(groups, list) else ():
            told = cast("dict[str, Any]", group) if isinstance(group, dict) else {}
            matcher = str(told.get("matcher") or "*")
            pattern = _pattern(matcher)
            # There it names which start is meant; one that goes on, or is compacted, has none here.
            if point == "sessionStart" and isinstance(pattern, Pattern) and not pattern.search("startup"):
                continue
            listed: Any = told.get("hooks")
            for one in cast("list[Any]", listed) if isinstance(listed, list) else ():
                command: Any = cast("dict[str, Any]", one).get("command") if isinstance(one, dict) else None
                if not isinstance(command, str):
                    problems.append(f"hooks.{event}: only hooks that are a command are run; one is ignored")
                elif isinstance(pattern, str):
                    problems.append(
                        f"hooks.{event}: the matcher {matcher} cannot be read ({pattern}); ignored"
                    )
                else:
                    scripts = _scripts(command, Path(folder))
                    shown = f"hook {point} ({matcher}): {command}"
                    named = _named(folder, shown, [event, matcher, command], scripts)
                    hooks.append(Hook(point, command, None, False, "claude", named, scripts, pattern))
    return hooks, problems


def _pattern(matcher: str) -> Pattern | str | None:
    """A matcher of Claude Code, which has to fit a whole name; None where it fits all, a text says what is wrong with it."""
    parts = [part.strip() for part in matcher.split("|")]
    if {"*", ".*", ""} & {*parts}:
        return None
    try:
        return built(f"^(?:{'|'.join(parts)})$")
    except PatternError as error:
        return str(error)


def _line(hook: Hook, given: Mapping[str, Any], cwd: str) -> str:
    """The command line of a hook: its input comes through a pipe, and so is part of what is logged."""
    told = _as_claude(hook.on, given, cwd) if hook.form == "claude" else {"on": hook.on, **given}
    text = json.dumps(_short(told), ensure_ascii=True)
    if len(text) > MOST_GIVEN:
        text = json.dumps({"on": hook.on, "tooLong": True})
    before = f"{_OF_CLAUDE}{shlex.quote(cwd)}; " if hook.form == "claude" else ""
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
    told |= {key: given[key] for key in ("prompt", "reason") if key in given}
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
        if text := said.get("text") or more.get("additionalContext") or _plain(hook, one, said):
            told.append(f"[{name} says:]\n{_cut(str(text))}")
    return Outcome(refused, asks, arguments, tuple(told))


def _plain(hook: Hook, came: Came, said: Mapping[str, Any]) -> str:
    """What a hook of Claude Code prints at the start of a session or turn, which is for the model there."""
    is_start = hook.form == "claude" and hook.on in {"sessionStart", "turnStart"}
    return came.content.strip() if is_start and came.status == "ok" and not said else ""


def _said(content: str) -> dict[str, Any]:
    """The last JSON object of an output that begins a line, over however many lines it goes."""
    read, last, at, failed = json.JSONDecoder().raw_decode, dict[str, Any](), 0, 0
    for match in _BEGIN.finditer(content):
        if match.start() < at or failed == MOST_TRIED:
            continue
        try:
            found, at = read(content, match.start() + len(match[0] or "") - 1)
            last = cast("dict[str, Any]", found)
        except (ValueError, RecursionError):
            failed += 1
    return last


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MOST_TOLD else f"{text[:MOST_TOLD]}…"
