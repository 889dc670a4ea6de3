"""Hooks: commands of the user and of trusted workspaces that run at certain points of a session.

A hook is a command like any other: it goes through the executor, so that a turn that only reads runs none that could change something, and
what it changes can be undone. It can refuse a call, have it asked about, change its arguments and add text for the model. It can never allow.
"""

import asyncio
import hashlib
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

from outrider.agent.customization.files import Files, Found, Place, read_json
from outrider.agent.customization.hook_forms import FORMS, Form, FormName, entries, forms_of, ours
from outrider.agent.trust import WorkspaceTrust
from outrider.agent.workspace_file import WorkspaceFiles
from outrider.permissions.policy.decide import Access
from outrider.permissions.policy.ruling import Ruling
from outrider.permissions.policy.trust import NamedCommand
from outrider.ports.clock import Clock
from outrider.ports.patterns import Pattern, linear
from outrider.ports.text import visible
from outrider.tools.run_command.pipes import CODES_OF_PIPE
from outrider.workspace.paths import Folder
from outrider_protocol.settings import HookPoint, HookSettings, Settings

PLACES: Final = (
    Place(".claude", "settings.json", "claude", is_one=True),
    Place(".claude", "settings.local.json", "claude", is_one=True),
    Place(".gemini", "settings.json", "gemini", is_one=True),
    Place(".github/hooks", ".json", "copilot", is_flat=True),
    Place(".github/copilot", "settings.json", "copilot", is_one=True),
    Place(".github/copilot", "settings.local.json", "copilot", is_one=True),
)
LONGEST_VALUE: Final = 2_000
"""Characters of one value that a hook is given."""
MOST_GIVEN: Final = 30_000
"""Characters of all that it is given."""
MOST_TOLD: Final = 4_000
"""Characters that one hook tells the model."""
REFUSED_EXIT: Final = 2
"""The exit code that refuses, as in other agents."""
SHOWN_CHARACTERS: Final = 80
"""Of a hook's command in a sentence."""
MOST_WORDS: Final = 200
"""Words of a hook's command that are looked at for scripts."""
MOST_FOLDERS: Final = 8
"""Folders that it names, in which files of it are looked for, too."""
MOST_TRIED: Final = 1000
"""Places of an output at which a JSON object is looked for in vain."""
_WORD: Final = linear("hook.word", r"[^\s\"'`;|&()<>=${}]+")
_CHANGES: Final = ("arguments", "updatedInput", "tool_input", "modifiedArgs")
"""Where an answer has changed arguments: ours, that of Claude Code, of Gemini CLI and of Copilot."""
_BEGIN: Final = linear("hook.begin-of-json", r"(?m)^[ \t]*\{")


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook."""

    on: HookPoint
    command: str
    tools: frozenset[str] | None
    """The tools whose calls it is about; None: all."""
    refuses_on_failure: bool = False
    form: FormName = "own"
    named: NamedCommand | None = None
    """As the user is asked about it; None for their own."""
    scripts: Mapping[str, str] = field(default_factory=dict[str, str])
    """The digests of the workspace's files that its command names, as they were when the user was asked."""
    matcher: Pattern | None = None
    """Of another agent: a pattern of the names that its tools have there."""
    written: Form | None = None
    """Of another agent: how it is written."""
    seconds: float | None = None
    """Its time-out; None for that of all commands."""

    @property
    def shown(self) -> str:
        """What it runs and when, for the user."""
        return (
            self.named.shown.removeprefix("hook ") if self.named is not None else f"{self.on}: {self.command}"
        )

    def is_about(self, tool: str) -> bool:
        """Whether it runs for calls of a tool."""
        if self.matcher is None or self.written is None:
            return self.tools is None or tool in self.tools
        return any(self.matcher.search(name) for name in self.written.names(tool))


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
    """Those that the user was not asked about, or not since they changed."""
    refused: Sequence[str] = ()
    """Those that the user said no to."""
    problems: Sequence[str] = ()
    """What is not taken of the files of workspaces."""


class Hooks:
    """The hooks of one house."""

    def __init__(
        self, settings: Callable[[], Settings], files: WorkspaceFiles, trust: WorkspaceTrust, clock: Clock
    ) -> None:
        """Begin with none; `look` finds out which there are."""
        self._settings = settings
        self._clock = clock
        self._files = files
        self.found: Files | None = None
        """Looks for those of other agents; set once the files of the workspace can be looked for."""
        self._trust = trust
        self._all: tuple[Hook, ...] = ()
        self._running: dict[str, HookPoint] = {}
        """The lines of those that run now, with their points; those at the end of a session are jobs."""

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
        said = [(one.shown, self._trust.is_allowed(one.named)) for one in brought if one.named is not None]
        return ListedHooks(
            running=[*(one.shown for one in mine), *(shown for shown, yes in said if yes)],
            waiting=[shown for shown, yes in said if yes is None],
            refused=[shown for shown, yes in said if yes is False],
            problems=problems,
        )

    async def withheld(self, folder: Folder | None = None) -> list[str]:
        """The files with hooks in workspace folders that are not trusted, or in one of them."""
        files = await self.found.withheld(PLACES, folder) if self.found is not None else []
        return await asyncio.to_thread(lambda: [one.path for one in files if _brought([], [one])[0]])

    async def _found(self) -> tuple[list[Hook], list[Hook], list[str]]:
        """The user's, those of trusted workspaces, and what of those is not taken."""
        mine = [_of_settings(one, None) for one in self._settings().hooks]
        own = [(hook, one.real) for one in await self._files.read() for hook in one.settings.hooks]
        files = await self.found.of_workspace(PLACES) if self.found is not None else []
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
            HookRun(_line(hook, given, cwd, self._clock.now()) if is_same else _CHANGED, hook)
            for hook, is_same in zip(hooks, same, strict=True)
        ]
        self._running |= {one.line: point for one in found}
        return found

    def ended(self, runs: Sequence[HookRun]) -> None:
        """They came to their end: the same line is a command like any other again."""
        for one in runs:
            self._running.pop(one.line, None)

    def acts_alone(self, line: str) -> bool:
        """Whether a command is a hook that runs now and is given nothing of a model: what it does is what the user allowed."""
        return self._running.get(line) in {"sessionStart", "turnStart", "turnEnd", "sessionEnd"}

    def ruling(self, access: Access) -> Ruling | None:
        """That hooks which run now need no question; None for any other command."""
        point = None if access.command is None else self._running.get(access.command.line.source)
        if point is None or access.is_job is not (point == "sessionEnd"):
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
    words = [
        match[0] or ""
        for match in islice(_WORD.finditer(command), MOST_WORDS)
        if not _is_output(command, match.start())
    ]
    found: dict[str, str] = {}
    # A command may go into a folder before it names a file of it.
    for base in (folder, *islice(_within(words, folder, Path.is_dir), MOST_FOLDERS)):
        for path in _within(words, base, Path.is_file):
            with suppress(OSError, ValueError):
                if str(path) not in found and path.resolve().is_relative_to(folder):
                    with path.open("rb") as file:
                        found[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _is_output(command: str, at: int) -> bool:
    """Whether a place of a command is in the name of a file that it writes (`> log`): what is in there decides nothing."""
    begin = at
    while begin and command[begin - 1] not in " \t\n;|&()<>":
        begin -= 1
    before = command[:begin].rstrip(" \t")
    return before.endswith(">") and not before.endswith("<>")


def _within(words: Sequence[str], base: Path, fits: Callable[[Path], bool]) -> Iterator[Path]:
    """What some words name in a folder, whatever stands before it. Blocks."""
    for word in words:
        parts = Path(word).parts
        for first in range(len(parts)):
            path = base.joinpath(*parts[first:]) if parts[first] != "/" else Path(*parts)
            with suppress(OSError, ValueError):
                if path != base and fits(path):
                    yield path
                    break


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
            given = read_json(file.text)
        except (ValueError, RecursionError) as error:
            problems.append(f"{file.path}: is not valid JSON ({str(error)[:100]}); its hooks are ignored")
            continue
        if not isinstance(given, dict):
            continue
        made, wrong = _of_file(
            cast("dict[str, Any]", given), FORMS[file.place.form], str(file.folder.path.resolve())
        )
        hooks += made
        problems += [f"{file.path}: {text}" for text in wrong]
    alone: dict[NamedCommand | None, Hook] = {}
    for hook in hooks:  # what two files say alike runs once
        alone.setdefault(hook.named, hook)
    return list(alone.values()), problems


def _of_file(file: Mapping[str, Any], forms: Sequence[Form], folder: str) -> tuple[list[Hook], list[str]]:
    """The hooks of a file of another agent, and which of them are left out."""
    block = file.get("hooks")
    if not isinstance(block, dict):
        return [], []
    if any(form.is_off(file) for form in forms):
        return [], ["its hooks are turned off there"]
    hooks, problems = list[Hook](), list[str]()
    for event, groups in cast("dict[str, Any]", block).items():
        form = next((one for one in forms if event in one.points), None)
        if not isinstance(groups, list) or f"hooks.{event}" in forms[0].off_by_name:
            continue  # a switch, and no point
        if form is None:
            problems.append(f"hooks.{visible(event[:60])}: there is no such point here; ignored")
            continue
        off = form.turned_off(file)
        for matcher, said in entries(cast("list[Any]", groups)):
            if str(said.get("name") or said.get("command")) in off:
                continue
            made = _of_entry(form, event, matcher, said, folder)
            if isinstance(made, str):
                problems.append(f"hooks.{event}: {made}")
            elif made is not None:
                hooks.append(made)
    return hooks, problems


def _of_entry(
    form: Form, event: str, matcher: str, said: Mapping[str, Any], folder: str
) -> Hook | str | None:
    """One hook of another agent; None where it is for another start of a session, a text says what is wrong with it."""
    point, pattern, command = form.points[event], form.pattern(matcher), form.command(said)
    # There it names which start is meant; one that goes on, or is compacted, has none here.
    if point == "sessionStart" and isinstance(pattern, Pattern) and not pattern.search("startup"):
        return None
    if command is None:
        return "only hooks that are a command of this system are run; one is ignored"
    if isinstance(pattern, str):
        return f"the matcher {visible(matcher)} cannot be read ({pattern}); ignored"
    scripts, seconds = _scripts(command, Path(folder)), form.limit(said)
    whole = [event, matcher, command]
    if form.name != "claude" or seconds is not None:
        whole += [form.name, seconds]
    named = _named(folder, f"hook {point} ({matcher}): {command}", whole, scripts)
    return Hook(point, command, None, False, form.name, named, scripts, pattern, form, seconds)


def _line(hook: Hook, given: Mapping[str, Any], cwd: str, now: datetime) -> str:
    """The command line of a hook: its input comes through a pipe, and so is part of what is logged."""
    short = {key: _short(value) for key, value in given.items()}
    form = hook.written
    told = {"on": hook.on, **short} if form is None else form.given(hook.on, short, cwd, now)
    text = json.dumps(told, ensure_ascii=True)
    if len(text) > MOST_GIVEN:
        text = json.dumps({"on": hook.on, "tooLong": True})
    before = "" if form is None else form.setup(cwd)
    return f"{before}printf %s {shlex.quote(text)} | {{ {hook.command}\n}}"


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}…"
    if isinstance(value, Mapping):
        return {key: _short(one) for key, one in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_short(one) for one in cast("list[Any]", value)[:100]]
    return value


def decided(came: Sequence[tuple[Hook, Came]], tool: str = "") -> Outcome:
    """What hooks decided together: a refusal beats a question, and what one changed the next one's changes come over. Pure.

    Args:
        came: The hooks with what came of each.
        tool: The tool whose call they are about; empty for none.
    """
    refused, asks, told = "", "", list[str]()
    arguments: dict[str, Any] | None = None
    for hook, one in came:
        said = _said(one.content)
        name = f"the hook {quoted(hook.command)}"
        inner: Any = said.get("hookSpecificOutput")
        # Copilot answers without a block of its own for the event.
        more = {**said, **cast("dict[str, Any]", inner)} if isinstance(inner, dict) else said
        decision = str(more.get("permissionDecision") or said.get("decision") or "")
        why = str(more.get("permissionDecisionReason") or said.get("reason") or "")
        stops = said.get("continue") is False
        if stops:  # the turn: at its end that is no refusal, whatever else is said
            decision, why = "refuse", why or str(said.get("stopReason") or "")
        if stops and hook.on == "turnEnd":
            decision = ""
        elif _refuses(hook, one):
            decision, why = "refuse", why or _own_words(one) or f"exit code {one.exit_code}"
        elif one.status != "ok":
            if hook.refuses_on_failure:
                decision, why = "refuse", f"it failed: {_of_one(one.content)}"
            else:
                told.append(f"[{name} failed: {_cut(_of_one(one.content))}]")
        if decision in {"refuse", "deny", "block"}:
            # All that keeps a turn from its end is told at once.
            if not refused or hook.on == "turnEnd":
                refused = f"{refused}\n\n{name} refused it: {_cut(why)}".lstrip()
            if hook.on == "afterTool":  # it is done; the model is to hear what is wrong with it
                told.append(f"[{name} says:]\n{_cut(why)}")
        elif decision == "ask":
            asks = asks or f"{name} wants you to decide: {_cut(why)}"
        changed: Any = next((more[key] for key in _CHANGES if isinstance(more.get(key), dict)), None)
        if changed is not None:
            arguments = {**(arguments or {}), **ours(hook.form, tool, changed)}
        if text := said.get("text") or more.get("additionalContext") or _plain(hook, one, said):
            told.append(f"[{name} says:]\n{_cut(str(text))}")
    return Outcome(refused, asks, arguments, tuple(told))


def quoted(command: str) -> str:
    """The command of a hook in a sentence."""
    is_cut = len(command) > SHOWN_CHARACTERS
    return f"`{visible(command[:SHOWN_CHARACTERS])}{'…' if is_cut else ''}`"


def _own_words(came: Came) -> str:
    """What a hook printed, without what is said there of its exit code."""
    before, _, last = _of_one(came.content).rpartition("\n")
    code = f"[exit code {came.exit_code}"
    if last == f"{code}]":
        return before.rstrip()
    noted = last.removeprefix(f"{code}; ")
    return f"{before}\n{last if noted == last else f'[{noted}'}".strip()


def _of_one(content: str) -> str:
    """What came of a hook, without the exit codes of the pipe that its input comes through."""
    *lines, last = content.rstrip().split("\n")
    if lines and lines[-1].startswith(CODES_OF_PIPE):
        lines = "\n".join(lines[:-1]).rstrip().split("\n")
    return "\n".join([*lines, last]).strip()


def _refuses(hook: Hook, came: Came) -> bool:
    """Whether its exit code refuses."""
    strict = any(hook.on in form.strict for form in forms_of(hook.form))
    return bool(came.exit_code) if strict else came.exit_code == REFUSED_EXIT


def _plain(hook: Hook, came: Came, said: Mapping[str, Any]) -> str:
    """What a hook prints at the start of a session or turn, where that is for the model."""
    is_told = any(hook.on in form.prints for form in forms_of(hook.form))
    return _own_words(came) if is_told and came.status == "ok" and not said else ""


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
    """What a hook says. JSON has signs in it that its output did not show."""
    text = visible(text.strip())
    return text if len(text) <= MOST_TOLD else f"{text[:MOST_TOLD]}…"
