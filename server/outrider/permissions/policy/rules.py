"""Rules: what a user, or a workspace, said about what may happen. A rule names a tool and a pattern of its arguments."""

import hashlib
import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final, Literal

from outrider.permissions.programs.patterns import Pattern, too_wide
from outrider.ports.globs import path_glob
from outrider.ports.patterns import PatternError

RuleDecision = Literal["allow", "ask", "deny"]
RUN: Final = "run_command"
SERVER_TOOL: Final = "__"
"""Between the names of an MCP server and of its tool; no other tool has it."""
COMING_AND_GOING: Final = frozenset({"skill", "find_tools", "fetch_url", "web_search", "remember"})
"""Tools that are there only where there is use for them."""
ANY_SCRIPT: Final = "any"
"""What a rule that allows says instead of a hash, where the script may become another one."""
FAMILIES: Final = frozenset({"edit", "read", "execute"})
"""What a tool does, which a rule may say instead of a tool's name."""
_TOOL: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_MEANT: Final = {
    **dict.fromkeys(("bash", "shell", "sh", "command", "run", "exec"), RUN),
    "write": "edit",
    "delete": "delete_file",
}
"""How tools are called elsewhere."""
OWN_EDITS: Final = frozenset({"edit", "edit_file", "write_file", "delete_file", "rename_file"})


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule."""

    decision: RuleDecision
    tool: str
    """A tool's name; `edit`, `read` or `execute` for all of that kind; `*` for every tool."""
    command: str | None = None
    """Of `run_command`: the words that a command begins with."""
    is_exact: bool = False
    """Whether these are all its words."""
    script: str | None = None
    """Of a command that runs a file of the workspace: the SHA-256 of its content, or `any`. Of a tool of an MCP server: the SHA-256 of
    its definition."""
    path: str | None = None
    """A glob over paths: relative to a workspace folder, or absolute."""
    host: str | None = None
    """A host; `*.example.org` means those below it."""
    workspace: str | None = None
    """The folder where it holds; None: everywhere."""
    origin: str = "person"
    """Who made it: `person`, or the file of a workspace."""
    added: datetime | None = None
    expires: datetime | None = None
    hits: int = 0
    """How often it decided."""

    def to_wire(self, wrong: str | None = None) -> dict[str, Any]:
        """The rule as a `RuleInfo`; its text says what is `wrong` with it."""
        said = {
            "id": self.id,
            "decision": self.decision,
            "tool": self.tool,
            "command": self.command,
            "exact": True if self.is_exact else None,
            "script": self.script,
            "path": self.path,
            "host": self.host,
            "scope": "everywhere" if self.workspace is None else "workspace",
            "workspace": self.workspace,
            "origin": self.origin,
            "added": _written(self.added),
            "expires": _written(self.expires),
            "hits": self.hits,
            "text": self.text if wrong is None else f"{self.text} (does nothing: {wrong})",
        }
        return {key: value for key, value in said.items() if value is not None}

    @property
    def id(self) -> str:
        """What it is called: the same rule has the same id, wherever it is read."""
        parts = [self.decision, self.tool, self.command, self.is_exact, self.path, self.host, self.workspace]
        parts += [] if self.script is None else [self.script]
        return f"rule_{hashlib.sha256(repr(parts).encode()).hexdigest()[:10]}"

    @property
    def pattern(self) -> Pattern | None:
        """The words of its command."""
        return None if self.command is None else _pattern(self.command, is_exact=self.is_exact)

    @property
    def text(self) -> str:
        """As a user reads it: `allow run_command “git diff …” in /home/ada/x`."""
        what = [self.decision, self.tool]
        if self.command is not None:
            what.append(f"“{self.command}”" if self.is_exact else f"“{self.command} …”")
        if self.script is not None:
            what.append(with_script(self.script, self.tool))
        what += [named for named in (self.path, self.host) if named is not None]
        what.append("everywhere" if self.workspace is None else f"in {self.workspace}")
        return " ".join(what)


def with_script(script: str, tool: str = RUN) -> str:
    """What a rule says of the script, or of the definition of a tool, for a user."""
    if SERVER_TOOL in tool:
        return "" if script == ANY_SCRIPT else f"as its server defines it now ({script[:16]})"
    return (
        "whatever the script contains"
        if script == ANY_SCRIPT
        else f"with the script as it is ({script[:16]})"
    )


@lru_cache(maxsize=4096)
def _pattern(command: str, *, is_exact: bool) -> Pattern:
    return Pattern(tuple(shlex.split(command)), is_exact)


def _written(time: datetime | None) -> str | None:
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z") if time else None


def unknown_tool(rule: Rule, tools: Collection[str]) -> str | None:
    """Why a rule is about nothing here, None if there is its tool.

    Args:
        rule: The rule.
        tools: The names of all tools.
    """
    if rule.tool in {"*", *FAMILIES, *COMING_AND_GOING} or rule.tool in tools or SERVER_TOOL in rule.tool:
        return None
    meant = _MEANT.get(rule.tool.lower()) or next(
        iter(get_close_matches(rule.tool.lower(), sorted({*tools, *FAMILIES}), n=1)), None
    )
    return f"there is no tool {rule.tool!r}{f', only {meant}' if meant else ''}"


def problem_of(rule: Rule) -> str | None:
    """Why a rule cannot be, None if it can."""
    if rule.tool != "*" and not _TOOL.fullmatch(rule.tool):
        return f"{rule.tool!r} cannot be the name of a tool"
    if rule.command is not None and (problem := _problem_of_command(rule, rule.command)):
        return problem
    if rule.path is not None and (problem := _problem_of_path(rule.path)):
        return problem
    if rule.host is not None and rule.decision == "allow" and rule.tool == RUN:
        return "the hosts that a command contacts cannot be seen from its words, so an allow rule cannot limit it to a host"
    of_server = SERVER_TOOL in rule.tool
    if rule.script is not None and not ((rule.command is not None or of_server) and rule.decision == "allow"):
        return "a script needs a command and the decision allow"
    if rule.script not in {None, ANY_SCRIPT} and not re.fullmatch(r"[0-9a-f]{64}", rule.script or ""):
        return f"its script is neither a SHA-256 nor {ANY_SCRIPT!r}"
    if rule.decision != "allow":
        return None
    if rule.tool == RUN and rule.command is None:
        return f"{RUN} without a command would allow any program"
    if rule.tool in OWN_EDITS and rule.path is None:
        return f"{rule.tool} without a path would allow any edit"
    if rule.tool in {"*", "execute"}:
        return f"{rule.tool} would allow any tool: name one"
    return None


def _problem_of_command(rule: Rule, command: str) -> str | None:
    """Why a rule cannot be about this command, None if it can."""
    if rule.tool not in {RUN, "execute", "*"}:
        return f"a command belongs to {RUN}, not to {rule.tool}"
    try:
        words = shlex.split(command)
    except ValueError as error:
        return f"its command cannot be read: {error}"
    if not words:
        return "its command is empty"
    if set(words[0]) & set("*?"):
        return f"its command must name a program, and {words[0]} is not one"
    return too_wide(words, is_exact=rule.is_exact) if rule.decision == "allow" else None


def holds(rule: Rule, folders: Sequence[str], now: datetime) -> bool:
    """Whether a rule counts in these workspace folders at this time."""
    if rule.expires is not None and rule.expires <= now:
        return False
    return rule.workspace is None or rule.workspace in folders


def _problem_of_path(path: str) -> str | None:
    """Why no file is ever called so: whoever forbids a path that is none takes it for forbidden."""
    parts = path.removeprefix("/").split("/")
    if path.startswith("~") or not {"", ".", ".."}.isdisjoint(parts):
        return f"no file can match {path}: a path is relative to the workspace folder or begins with /, without `.`, `..`, `~` and a / at its end"
    try:
        _path_glob(path, ignore_case=True)
    except PatternError:
        return "its path is too long to match"
    return None


def covers_path(rule: Rule, names: Sequence[str]) -> bool:
    """Whether a rule's glob is about a file.

    Args:
        rule: A rule with a path.
        names: How the file is called: its place in the workspace, its real path, others. A forbidding rule looks at
            each of them without regard to case; an allowing one wants a place in the workspace to be no link.
    """
    if rule.path is None:
        return True
    try:
        glob = _path_glob(rule.path, ignore_case=rule.decision != "allow")
    except PatternError:
        return (
            rule.decision != "allow"
        )  # `problem_of` refuses such a rule; nothing is allowed by one that came past it
    if rule.decision != "allow":
        return any(glob.fullmatch(name) for name in names)
    if len(names) < 2:
        return False
    place, real = names[0], names[1]
    if rule.path.startswith("/"):
        return glob.fullmatch(real) is not None
    return glob.fullmatch(place) is not None and real.endswith(f"/{place}")


_path_glob = lru_cache(maxsize=1024)(path_glob)


def covers_host(rule: Rule, hosts: Sequence[str]) -> bool:
    """Whether a rule is about one of the hosts (forbidding), or about all of them (allowing)."""
    if rule.host is None:
        return True
    wanted = rule.host.lower()
    found = [
        host.lower() == wanted or (wanted.startswith("*.") and host.lower().endswith(wanted[1:]))
        for host in hosts
    ]
    return bool(found) and (all(found) if rule.decision == "allow" else any(found))
