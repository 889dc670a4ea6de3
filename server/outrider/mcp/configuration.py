"""The configuration of MCP servers, in the form that everybody uses: `{"name": {"command": …}}` or `{"name": {"url": …}}`. Pure.

What a block says of permissions (`autoApprove`, `trust`) counts for nothing here, and a message says so.
"""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

from outrider.ports.patterns import linear

SECONDS: Final = 120.0
"""How long a call may take without progress, where the block says nothing."""
LONGEST_NAME: Final = 40
MOST_WORDS: Final = 200
"""Words of one argument or variable that are looked at for scripts."""
MOST_PARTS: Final = 20
"""Folders of such a word, the last ones."""
MOST_FOLDERS: Final = 10
"""Folders in which they are looked for."""
_NAME: Final = linear("mcp.server-name", r"^[\pL\pN_.-]+$")
_NO_NAME: Final = linear("mcp.no-server-name", r"[^\pL\pN_.-]+")
_WORD: Final = linear("mcp.word", r"[^\s\"'`;,:|&()<>=${}]+")
_VARIABLE: Final = linear("mcp.variable", r"\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}$]*))?\}")
_OTHER: Final = linear("mcp.other-variable", r"\$\{((?:input|command|config):?[^}$]*)\}")
_FOLDER: Final = ("${workspaceFolder}", "${CLAUDE_PROJECT_DIR}", "${workspaceRoot}")
_PERMISSIONS: Final = frozenset(
    {"autoApprove", "alwaysAllow", "autoAllow", "trust", "allowedTools", "default_tools_approval_mode"}
)
_KNOWN: Final = frozenset(
    {
        "type", "transport", "command", "args", "env", "cwd", "url", "httpUrl", "serverUrl", "headers", "http_headers", "timeout",
        "enabled", "disabled", "includeTools", "enabled_tools", "tools", "excludeTools", "disabled_tools", "disabledTools",
        "description", "name", "oauth", "auth", "expand",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OAuth:
    """What a block says of a log-in."""

    client_id: str | None = None
    client_secret_env: str | None = None
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server."""

    name: str
    origin: str
    """Where it is configured, for the user."""
    folder: Path | None = None
    """The real path of the workspace folder that configures it; None where the user does."""
    argv: tuple[str, ...] = ()
    """What is run; empty for a server over HTTP."""
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    oauth: OAuth = OAuth()
    seconds: float = SECONDS
    only: frozenset[str] | None = None
    """The tools that are taken; None for all."""
    without: frozenset[str] = frozenset()
    takes: tuple[str, ...] = ()
    """The variables of the user's environment whose values it gets."""
    said: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """The block as it is written, before anything is put in."""

    @property
    def shown(self) -> str:
        """What it runs or reaches, for the user."""
        what = shlex.join(self.argv) if self.argv else self.url
        return f"{what} (with your {', '.join(self.takes)})" if self.takes else what


def word_for(name: str) -> str:
    """A name by which rules and tools can go, for a server that a program lets its users call what they like."""
    return _NO_NAME.sub("-", name.strip())[:LONGEST_NAME].strip("-")


def read_servers(
    block: Mapping[str, Any],
    origin: str,
    env: Mapping[str, str],
    cwd: Path | None,
    *,
    folder: Path | None = None,
) -> tuple[list[ServerConfig], list[str]]:
    """The servers of a block, and what of it is not taken.

    Args:
        block: `mcpServers`.
        origin: Where it stands.
        env: The user's environment, for `${VARIABLE}`.
        cwd: Where servers run that say nothing else, and what `${workspaceFolder}` stands for.
        folder: The workspace folder whose file it is of; None where it is the user's.
    """
    servers: list[ServerConfig] = []
    problems: list[str] = []
    for name, said in block.items():
        if not isinstance(said, Mapping):
            problems.append(f"{name}: must be an object; this server is ignored")
            continue
        values = cast("Mapping[str, Any]", said)
        reader = _Reader(env, cwd, expands=values.get("expand") is not False)
        made = reader.server(name, values, origin, folder)
        problems += [f"{name}: {text}" for text in reader.problems]
        if isinstance(made, str):
            problems.append(f"{name}: {made}; this server is ignored")
        elif made is not None:
            servers.append(made)
    return servers, problems


class _Reader:
    """Reads one block."""

    def __init__(self, env: Mapping[str, str], cwd: Path | None, *, expands: bool) -> None:
        self._env = env
        self._cwd = cwd
        self._expands = expands
        self._taken: dict[str, None] = {}
        self._missing: str | None = None
        self.problems: list[str] = []

    def server(
        self, name: str, said: Mapping[str, Any], origin: str, folder: Path | None
    ) -> ServerConfig | str | None:
        """The server; None where it is turned off, a text says why it cannot be."""
        if said.get("enabled") is False or said.get("disabled") is True:
            return None
        if len(name) > LONGEST_NAME or not _NAME.search(name):
            return f"its name must have at most {LONGEST_NAME} letters, digits, `_`, `.` and `-`"
        self._tell_what_is_ignored(said)
        url = next(
            (said[key] for key in ("url", "httpUrl", "serverUrl") if isinstance(said.get(key), str)), ""
        )
        if said.get("type") in {"sse", "websocket", "ws"} or said.get("transport") == "sse":
            return f"the transport {said.get('type') or 'sse'} is not supported; use stdio or streamable HTTP"
        command = said.get("command")
        argv = [*_texts(command if isinstance(command, list) else [command]), *_texts(said.get("args"))]
        if bool(url) == bool(argv):
            return "it needs either a command or a url"
        made = ServerConfig(
            name=name,
            origin=origin,
            folder=folder,
            argv=tuple(map(self._filled, argv)),
            env={key: self._filled(value) for key, value in _table(said.get("env")).items()},
            cwd=self._folder(said.get("cwd")),
            url=self._filled(url),
            headers={
                key: self._filled(value)
                for key, value in {**_table(said.get("http_headers")), **_table(said.get("headers"))}.items()
            },
            oauth=_oauth(said.get("oauth")),
            seconds=_seconds(said.get("timeout")),
            only=_only(said),
            without=frozenset(
                one
                for key in ("excludeTools", "disabled_tools", "disabledTools")
                for one in _texts(said.get(key))
            ),
            takes=tuple(self._taken),
            said=said,
        )
        if self._missing is not None:
            return self._missing
        if made.url and (problem := _url_problem(made.url)):
            return problem
        return made

    def _tell_what_is_ignored(self, said: Mapping[str, Any]) -> None:
        if named := sorted(_PERMISSIONS & said.keys()):
            self.problems.append(
                f"{', '.join(named)}: a server cannot allow its own tools; write a rule instead"
            )
        if unknown := sorted(said.keys() - _KNOWN - _PERMISSIONS):
            self.problems.append(f"{', '.join(unknown)}: not taken")

    def _folder(self, said: Any) -> Path | None:
        if not isinstance(said, str) or not said:
            return self._cwd
        path = Path(self._filled(said)).expanduser()
        return path if path.is_absolute() or self._cwd is None else self._cwd / path

    def _filled(self, text: str) -> str:
        """A text with its variables put in, unless the block says that it has none."""
        if not self._expands:
            return text
        for mark in _FOLDER:
            if self._cwd is not None:
                text = text.replace(mark, str(self._cwd))
        if other := _OTHER.search(text):
            self._missing = f"it wants {other[1]}, which only another program can give"
        parts, at = list[str](), 0
        for match in _VARIABLE.finditer(text):
            name, otherwise = match[1] or "", match[2]
            value = self._env.get(name)
            if value is not None:
                self._taken[name] = None
            elif otherwise is None:
                self._missing = f"the variable {name} is not set"
            parts += [text[at : match.start()], value if value is not None else otherwise or ""]
            at = match.end()
        return "".join([*parts, text[at:]])


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list):
        return []
    return [str(one) for one in cast("list[Any]", value) if isinstance(one, str | int | float) and str(one)]


def _table(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    given = cast("Mapping[str, Any]", value)
    return {str(key): str(one) for key, one in given.items() if isinstance(one, str | int | float | bool)}


def _seconds(value: Any) -> float:
    """A time-out, which everybody writes in milliseconds."""
    return min(value / 1000, 3600.0) if isinstance(value, int | float) and value > 0 else SECONDS


def _only(said: Mapping[str, Any]) -> frozenset[str] | None:
    for key in ("includeTools", "enabled_tools", "tools"):
        if (named := _texts(said.get(key))) and "*" not in named:
            return frozenset(named)
    return None


def _oauth(said: Any) -> OAuth:
    if not isinstance(said, Mapping):
        return OAuth()
    given = cast("Mapping[str, Any]", said)
    named, secret, scopes = given.get("clientId"), given.get("clientSecretEnv"), given.get("scopes")
    return OAuth(
        client_id=named if isinstance(named, str) else None,
        client_secret_env=secret if isinstance(secret, str) else None,
        scopes=tuple(scopes.split()) if isinstance(scopes, str) else tuple(_texts(scopes)),
    )


def _url_problem(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "its url cannot be read"
    if parts.scheme not in {"http", "https"} or not host:
        return "its url must begin with https:// or http://"
    if parts.username or parts.password:
        return "its url holds a password; use headers"
    return None


def scripts_of(config: ServerConfig) -> Sequence[Path]:
    """The files of the workspace that a server of it may run: those that its command, arguments and variables name. Blocks.

    A name may stand within a word (`--require=./x.js`) or below a folder that another word names; more files are better than fewer.
    """
    if config.folder is None or config.cwd is None:
        return []
    folder, found = config.folder, dict[Path, None]()
    texts = [*config.argv, *config.env.values()]
    words = [text.removeprefix("file://") for text in texts]
    words += dict.fromkeys(part for text in texts for part in islice(_parts(text), MOST_WORDS))
    bases = dict.fromkeys((config.cwd, folder))
    for word in words:
        for base in [*bases]:
            for path in _within(word, base, folder):
                if path.is_file():
                    found[path] = None
                elif path.is_dir() and len(bases) < MOST_FOLDERS:
                    bases[path] = None
    return list(found)


def _parts(text: str) -> Iterator[str]:
    """The words of a text that may be names."""
    for match in _WORD.finditer(text):
        word = match[0] or ""
        yield word
        if word[0] == "-" and word[1:2].isalpha():  # `-rx.js`
            yield word[2:]


def _within(word: str, base: Path, folder: Path) -> Iterator[Path]:
    """What a word names in a folder of the workspace, whatever stands before it. Blocks."""
    parts = Path(word).parts[-MOST_PARTS:]
    for first in range(len(parts)):
        with suppress(OSError, ValueError):
            path = Path(os.path.realpath(base.joinpath(*parts[first:])))
            if path != folder and path.is_relative_to(folder) and path.exists():
                yield path
                return
