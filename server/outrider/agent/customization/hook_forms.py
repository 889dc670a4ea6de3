"""How the hooks of other agents are written: one model, of which each agent is some tables.

Sources: the hooks references of code.claude.com/docs, geminicli.com/docs and docs.github.com/copilot, as they are in 2026. What Copilot CLI
does beyond its page (its variables, `toolArgs` as text) is as the hooks of public repositories expect it.
"""

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, cast

from outrider.ports.clock import rfc3339
from outrider.ports.patterns import Pattern, PatternError, built, linear
from outrider_protocol.settings import HookPoint

FormName = Literal["own", "claude", "gemini", "copilot"]
Told = Mapping[str, "str | Told"]
"""What a hook is given, by its keys there: each the name of a value, or more of the kind."""

_VARIABLE: Final = linear("hook.variable", r"[A-Za-z_][A-Za-z0-9_]*")
_FILE: Final = {"path": "file_path"}
_EDIT: Final = {"path": "file_path", "old": "old_string", "new": "new_string"}
_CLAUDE_ARGUMENTS: Final = {
    "read_file": _FILE, "write_file": _FILE, "edit_file": _EDIT, "insert_lines": {**_FILE, "text": "new_string"},
}  # fmt: skip
_CLAUDE_TOLD: Final[Told] = {
    "session_id": "session", "cwd": "cwd", "hook_event_name": "event", "source": "start", "tool_name": "tool", "tool_input": "input",
    "tool_response": "result", "prompt": "prompt", "reason": "end",
}  # fmt: skip
_CLAUDE_TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "Bash": ("run_command",), "Edit": ("edit_file", "apply_patch", "insert_lines"), "MultiEdit": ("edit_file",), "Write": ("write_file",),
    "Read": ("read_file",), "Grep": ("search",), "Glob": ("find_files",), "LS": ("list_files",), "WebFetch": ("fetch_url",),
    "TodoWrite": ("update_plan",), "AskUserQuestion": ("ask_user",), "Skill": ("skill",), "NotebookEdit": (), "Task": (), "WebSearch": (),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Form:
    """How one agent writes hooks."""

    name: FormName
    points: Mapping[str, HookPoint]
    tools: Mapping[str, tuple[str, ...]]
    """Its names of tools, with what does the same here; of several for one of ours the first is told."""
    arguments: Mapping[str, Mapping[str, str]]
    """By tools of ours, its names for our arguments."""
    told: Told
    folder_in: tuple[str, ...]
    """Variables with the first workspace folder; the first one is this form's alone."""
    mcp: tuple[str, ...] = ("mcp__{}__{}",)
    """How it calls the tool of a server; the first is told."""
    is_anchored: bool = True
    """Whether a matcher has to fit a whole name."""
    commands: tuple[str, ...] = ("command",)
    """Where the command stands."""
    seconds: Mapping[str, float] = field(default_factory=lambda: {"timeout": 1.0})
    """Where its time-out stands, and how long one of it is."""
    default_seconds: float | None = None
    prints: frozenset[HookPoint] = frozenset()
    """Where what it prints is for the model, if it is no JSON."""
    strict: frozenset[HookPoint] = frozenset()
    """Where any exit code but 0 refuses, and not 2 alone."""
    end: str = "other"
    """Its word for why a session ended: its window or its server was closed."""
    off: tuple[tuple[str, bool], ...] = (("disableAllHooks", True),)
    """Switches in a file, with what turns all its hooks off."""
    off_by_name: tuple[str, ...] = ()
    """Lists of the names of hooks that are turned off."""

    @property
    def mark(self) -> str:
        """What the line of each of its hooks begins with."""
        return f"export {self.folder_in[0]}="

    def setup(self, cwd: str) -> str:
        """What is run before a hook."""
        return f"export {' '.join(f'{name}={shlex.quote(cwd)}' for name in self.folder_in)}; "

    def names(self, tool: str) -> list[str]:
        """What a tool of ours is called there, the name that is told first."""
        server, _, own = tool.partition("__")
        if own:
            return [form.format(server, own) for form in self.mcp]
        return [name for name, same in self.tools.items() if tool in same] or [tool]

    def given(self, point: HookPoint, about: Mapping[str, Any], cwd: str, now: datetime) -> dict[str, Any]:
        """What a hook is given.

        Args:
            point: The point.
            about: What is known of it, as our own hooks get it.
            cwd: The first workspace folder.
            now: The time of day.
        """
        known: dict[str, Any] = {
            "session": about.get("sessionId", ""), "cwd": cwd, "time": rfc3339(now), "milliseconds": int(now.timestamp() * 1000),
            "event": next(name for name, one in self.points.items() if one == point),
            **{key: about[key] for key in ("prompt", "result") if key in about},
        }  # fmt: skip
        if point == "sessionStart":
            known["start"] = "startup"
        if point == "sessionEnd":
            known["end"] = self.end
        if point == "turnEnd":
            known |= {"again": about.get("again", False), "reason": "end_turn"}
        if "result" in about:
            known["outcome"] = "success" if about.get("status", "ok") == "ok" else "failure"
        if (tool := about.get("tool")) is not None:
            known["tool"] = self.names(tool)[0]
            known["input"] = self._arguments(tool, about.get("arguments"), cwd)
            known["input as text"] = json.dumps(known["input"], ensure_ascii=True)
        return _told(self.told, known)

    def _arguments(self, tool: str, values: Any, cwd: str) -> dict[str, Any]:
        given = dict(cast("Mapping[str, Any]", values)) if isinstance(values, Mapping) else {}
        names = self.arguments.get(tool)
        if names is None:
            return given
        if isinstance(path := given.get("path"), str):
            given["path"] = os.path.normpath(Path(cwd) / path)
        return _renamed(given, names)

    def is_off(self, file: Mapping[str, Any]) -> bool:
        """Whether a file turns all its hooks off."""
        return any(_at(file, path) is word for path, word in self.off)

    def turned_off(self, file: Mapping[str, Any]) -> set[str]:
        """The names of the hooks that a file turns off."""
        lists = [
            cast("list[Any]", one) for path in self.off_by_name if isinstance(one := _at(file, path), list)
        ]
        return {str(name) for one in lists for name in one}

    def pattern(self, matcher: str) -> Pattern | str | None:
        """A matcher; None where it fits all, a text says what is wrong with it."""
        parts = [part.strip() for part in matcher.split("|")]
        if {"*", "**", ".*", ""} & {*parts}:
            return None
        try:
            return built(f"^(?:{'|'.join(parts)})$" if self.is_anchored else "|".join(parts))
        except PatternError as error:
            return str(error)

    def limit(self, said: Mapping[str, Any]) -> float | None:
        """The time-out of a hook, in seconds; no less than one, and None for that of all commands."""
        found = ((said.get(key), unit) for key, unit in self.seconds.items())
        lengths = [value * unit for value, unit in found if isinstance(value, int | float) and value > 0]
        return max(lengths[0], 1.0) if lengths else self.default_seconds

    def command(self, said: Mapping[str, Any]) -> str | None:
        """What a hook runs, with the folder and the variables that it wants; None where nothing of it can be run here."""
        if said.get("type", "command") != "command":
            return None
        line = next((one for key in self.commands if isinstance(one := said.get(key), str) and one), None)
        program, words = said.get("exec") or line, said.get("args")
        if isinstance(program, str) and isinstance(words, list):
            line = " ".join(self._word(str(one)) for one in [program, *cast("list[Any]", words)])
        env, folder = said.get("env"), said.get("cwd")
        if line is None or not isinstance(env, dict | None) or not isinstance(folder, str | None):
            return None
        variables = cast("dict[str, Any]", env or {})
        if any(_VARIABLE.fullmatch(name) is None for name in variables):
            return None
        before = [f"export {name}={_expanding(str(value))}; " for name, value in variables.items()]
        if folder not in {None, "", ".", "./"}:
            before.append(f"cd {_expanding(str(folder))} || exit; ")
        return f"{''.join(before)}{line}"

    def _word(self, text: str) -> str:
        """An argument that no shell reads there, but for the variables of the workspace folder."""
        quoted = shlex.quote(text)
        for name in self.folder_in:
            quoted = quoted.replace(f"${{{name}}}", f"'\"${name}\"'")
        return quoted


CLAUDE: Final = Form(
    "claude",
    {"SessionStart": "sessionStart", "UserPromptSubmit": "turnStart", "PreToolUse": "beforeTool", "PostToolUse": "afterTool", "Stop": "turnEnd",
     "SessionEnd": "sessionEnd"},
    _CLAUDE_TOOLS,
    _CLAUDE_ARGUMENTS,
    {**_CLAUDE_TOLD, "stop_hook_active": "again"},
    ("CLAUDE_PROJECT_DIR",),
    prints=frozenset({"sessionStart", "turnStart"}),
)  # fmt: skip
GEMINI: Final = Form(
    "gemini",
    {"SessionStart": "sessionStart", "BeforeAgent": "turnStart", "BeforeTool": "beforeTool", "AfterTool": "afterTool", "AfterAgent": "turnEnd",
     "SessionEnd": "sessionEnd"},
    {
        "run_shell_command": ("run_command",), "replace": ("edit_file", "apply_patch", "insert_lines"), "write_file": ("write_file",),
        "read_file": ("read_file",), "read_many_files": ("read_file",), "grep_search": ("search",), "search_file_content": ("search",),
        "glob": ("find_files",), "list_directory": ("list_files",), "web_fetch": ("fetch_url",), "google_web_search": (),
        "write_todos": ("update_plan",), "save_memory": ("remember",), "ask_user": ("ask_user",), "activate_skill": ("skill",),
    },
    {**_CLAUDE_ARGUMENTS, "list_files": {"path": "dir_path"}},
    {
        **_CLAUDE_TOLD, "timestamp": "time", "stop_hook_active": "again",
        "tool_response": {"llmContent": "result", "returnDisplay": "result"},
    },
    ("GEMINI_PROJECT_DIR", "GEMINI_CWD", "CLAUDE_PROJECT_DIR"),
    mcp=("mcp_{}_{}", "mcp__{}__{}"),
    is_anchored=False,
    seconds={"timeout": 0.001},
    default_seconds=60.0,
    off=(("hooksConfig.enabled", False), ("hooks.enabled", False), ("tools.enableHooks", False)),
    off_by_name=("hooksConfig.disabled", "hooks.disabled"),
)  # fmt: skip
COPILOT: Final = Form(
    "copilot",
    {
        "sessionStart": "sessionStart", "userPromptSubmitted": "turnStart", "preToolUse": "beforeTool", "postToolUse": "afterTool",
        "agentStop": "turnEnd", "sessionEnd": "sessionEnd",
    },
    {
        "bash": ("run_command",), "edit": ("edit_file", "apply_patch", "insert_lines"), "create": ("write_file",), "view": ("read_file", "list_files"),
        "grep": ("search",), "rg": ("search",), "glob": ("find_files",), "web_fetch": ("fetch_url",), "web_search": (), "task": (),
        "ask_user": ("ask_user",), "update_todo": ("update_plan",), "skill": ("skill",),
    },
    {
        "read_file": {}, "list_files": {}, "write_file": {"content": "file_text"}, "edit_file": {"old": "old_str", "new": "new_str"},
        "insert_lines": {"text": "new_str"},
    },
    {
        "sessionId": "session", "timestamp": "milliseconds", "cwd": "cwd", "source": "start", "prompt": "prompt", "toolName": "tool",
        "toolArgs": "input as text", "toolResult": {"resultType": "outcome", "textResultForLlm": "result"}, "stopReason": "reason",
        "stop_hook_active": "again", "reason": "end",
    },
    ("COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
    mcp=("{}-{}",),
    commands=("bash", "command"),
    seconds={"timeoutSec": 1.0, "timeout": 1.0},
    default_seconds=30.0,
    strict=frozenset({"beforeTool"}),
    end="user_exit",
)  # fmt: skip
COPILOT_AS_CLAUDE: Final = replace(
    COPILOT,
    points={key: point for key, point in CLAUDE.points.items() if key not in COPILOT.points},
    tools=_CLAUDE_TOOLS,
    arguments=_CLAUDE_ARGUMENTS,
    told={
        **_CLAUDE_TOLD, "timestamp": "time", "stop_reason": "reason", "stop_hook_active": "again",
        "tool_result": {"result_type": "outcome", "text_result_for_llm": "result"},
    },
    mcp=CLAUDE.mcp,
    commands=("bash", "osx" if sys.platform == "darwin" else "linux", "command"),
)  # fmt: skip
"""As the events of Copilot are written for VS Code, too, in capitals: with the names and the input of Claude Code."""

FORMS: Final[Mapping[str, tuple[Form, ...]]] = {
    "claude": (CLAUDE,),
    "gemini": (GEMINI,),
    "copilot": (COPILOT, COPILOT_AS_CLAUDE),
}
"""The forms of the files of an agent, by its name; the name of an event says which it is."""


def forms_of(name: FormName) -> tuple[Form, ...]:
    """The forms that hooks of that name may have; none for our own."""
    return FORMS.get(name, ())


def form_of(line: str) -> FormName:
    """Whose form a hook has whose whole line is known."""
    for forms in FORMS.values():
        if line.startswith(forms[0].mark):
            return forms[0].name
    return "own"


def ours(name: FormName, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a tool of ours, as a hook of some form wrote them."""
    theirs = {their: own for form in forms_of(name) for own, their in form.arguments.get(tool, {}).items()}
    return _renamed(arguments, theirs)


def entries(groups: Sequence[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The hooks of an event, each with its matcher: in groups that share one, or each by itself."""
    for group in groups:
        said = cast("dict[str, Any]", group) if isinstance(group, dict) else {}
        listed = said.get("hooks")
        for one in cast("list[Any]", listed) if isinstance(listed, list) else [said]:
            hook = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
            yield str(hook.get("matcher") or said.get("matcher") or "*"), hook


def _expanding(text: str) -> str:
    """A word of the shell in which variables are put in, and nothing else."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\`").replace("$(", "\\$(")
    return f'"{quoted}"'


def _told(keys: Told, known: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, name in keys.items():
        if isinstance(name, str):
            if name in known:
                found[key] = known[name]
        elif inner := _told(name, known):
            found[key] = inner
    return found


def _renamed(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Arguments by other names, those in a list of them, too."""
    return {
        names.get(key, key): [
            _renamed(cast("dict[str, Any]", one), names) if isinstance(one, dict) else one
            for one in cast("list[Any]", value)
        ]
        if isinstance(value, list)
        else value
        for key, value in values.items()
    }


def _at(file: Mapping[str, Any], path: str) -> Any:
    value: Any = file
    for part in path.split("."):
        value = cast("dict[str, Any]", value).get(part) if isinstance(value, dict) else None
    return value
