"""Which workspace folders the user trusts, and which commands of theirs: a file beside the rules, never in a repository.

A folder is known by its real path, a command by a digest of all that the settings say of it. A no beats a yes, and a file that cannot be read closes: nobody knows then what it refuses.
"""

import asyncio
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, cast

from outrider.permissions.policy.own_file import MOST_BYTES, Stamp, locked, replace_text, stamp
from outrider.ports.clock import Clock
from outrider.ports.text import spelled_out
from outrider.ports.toml import read_toml

TRUST: Final = "trust.toml"
HEADING: Final = (
    "# The workspace folders that are trusted or read-only. Outrider asks again about a folder that you delete here.\n"
    "# `read-only` beats `trusted`; `below = true` trusts the folders below as well. A [[command]] is one that a folder's\n"
    "# `.outrider/settings.toml` names, and whether it may run."
)
SERVER_KEY: Final = "mcpServers."
"""Begins the key of an MCP server."""
MOST_CHANGES: Final = 5
"""Changes since a yes that are kept by name; the first one ends it."""

BELOW: Final = "\n  "
"""Before each further line of a command as it is shown."""

Kept = Literal["trusted", "read-only"]
"""What the user said of a folder."""
Trust = Literal["trusted", "read-only", "unknown"]
"""What is known of a folder."""
_KEYS: Final[Mapping[str, type]] = {"path": str, "trust": str, "below": bool, "added": datetime}
_COMMAND_KEYS: Final[Mapping[str, type]] = {
    "folder": str, "key": str, "shown": str, "digest": str, "allowed": bool, "changed": list, "added": datetime,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Word:
    """What the user said of one folder."""

    path: str
    """Its real path."""
    trust: Kept
    below: bool = False
    """Of a yes: whether it is one to the folders below, too."""
    added: datetime | None = None

    def to_wire(self) -> dict[str, Any]:
        """It as a `FolderTrust`."""
        said: dict[str, Any] = {"path": self.path, "trust": self.trust}
        said |= {"below": True} if self.below else {}
        if self.added:
            said["added"] = self.added.isoformat(timespec="seconds").replace("+00:00", "Z")
        return said


@dataclass(frozen=True, slots=True)
class NamedCommand:
    """A command that the settings of a workspace folder name."""

    folder: str
    """Its real path."""
    key: str
    """The setting: `verify`."""
    shown: str
    """What it runs, for the user: with nothing that hides."""
    digest: str
    """Of all that the settings say of it."""
    runs_unconfined: bool = False
    """Whether it runs what lies in the folder, outside of the sandbox: a yes is to the files as they are then."""

    @property
    def in_a_line(self) -> str:
        """What it runs, for a message of one line."""
        return self.shown.replace(BELOW, "; ")

    @classmethod
    def of(
        cls, folder: str, key: str, shown: str, whole: Any, *, runs_unconfined: bool = False
    ) -> "NamedCommand":
        """A command with the digest of `whole`, which is what the settings say of it, as JSON takes it."""
        said = json.dumps([folder, key, whole], sort_keys=True).encode("utf-8", "surrogatepass")
        return cls(folder, key, spelled_out(shown), hashlib.sha256(said).hexdigest(), runs_unconfined)


@dataclass(frozen=True, slots=True)
class CommandWord:
    """What the user said of one of them."""

    command: NamedCommand
    allowed: bool
    added: datetime | None = None
    changed: tuple[str, ...] = ()
    """Of an MCP server: the first files that Outrider changed since then, in words."""


@dataclass(frozen=True, slots=True)
class TrustProblem:
    """Why the file was not changed."""

    message: str
    reason: Literal["cannot_write", "invalid", "unknown_id"] = "cannot_write"


class TrustFile:
    """What the user said of folders."""

    def __init__(self, path: Path, clock: Clock, say: Callable[[str], None]) -> None:
        """Take a file that has not been read yet: `refresh` reads it.

        Args:
            path: The file.
            clock: Tells when something was said.
            say: Tells the user what is wrong in the file, once.
        """
        self.path = path
        self.words: tuple[Word, ...] = ()
        self.commands: tuple[CommandWord, ...] = ()
        self.problem: str | None = None
        self._clock = clock
        self._say = say
        self._said: str | None = None
        self._seen: Stamp | None = None

    def of(self, folder: str) -> Trust:
        """What is known of a folder.

        Args:
            folder: Its real path.
        """
        if self.problem is not None:
            return "read-only"
        said = {word.trust for word in self.words if word.path == folder or _is_above(word, folder)}
        return "read-only" if "read-only" in said else "trusted" if said else "unknown"

    def allows(self, command: NamedCommand, *, as_it_was: bool = False) -> bool | None:
        """Whether a command of a folder's settings may run; None where the user was not asked, or files changed since then.

        Args:
            command: The command.
            as_it_was: Whether changes of files since then do not count.
        """
        if self.problem is not None:
            return False
        said = [word.allowed for word in self._said_of(command)]
        if said and all(said) and not as_it_was and self.changed_since(command):
            return None
        return all(said) if said else None

    def changed_since(self, command: NamedCommand) -> Sequence[str]:
        """What Outrider changed since a command was allowed whose yes ends with that."""
        words = self._said_of(command) if command.runs_unconfined else ()
        return [name for word in words for name in word.changed]

    def differs_in(self, command: NamedCommand) -> Sequence[str]:
        """In which parts an MCP server is shown otherwise than the one of its name that was allowed last; none where none was."""
        if not command.key.startswith(SERVER_KEY):
            return []
        before = [
            word.command
            for word in self.commands
            if word.allowed and (word.command.folder, word.command.key) == (command.folder, command.key)
        ]
        if not before or self._said_of(command):
            return []
        return _differing(before[-1].shown, command.shown)

    def _said_of(self, command: NamedCommand) -> list[CommandWord]:
        return [
            word
            for word in self.commands
            if (word.command.folder, word.command.digest) == (command.folder, command.digest)
        ]

    async def refresh(self) -> bool:
        """Read the file where it has changed; gives whether it had."""
        return await asyncio.to_thread(self.refresh_now)

    def refresh_now(self) -> bool:
        """The same for a thread. Blocks."""
        seen = stamp(self.path)
        if seen == self._seen:
            return False
        self._seen = seen
        found = _read(self.path)
        self.words, self.commands, self.problem = (
            ((), (), found) if isinstance(found, str) else (*found, None)
        )
        if self.problem is not None and self.problem != self._said:
            self._say(
                f"only reading is possible in folders that the client does not declare trusted: {self.problem}"
            )
        self._said = self.problem
        return True

    async def keep(self, folder: Path, trust: Kept, *, below: bool = False) -> Word | TrustProblem:
        """Write down what the user says of a folder, in place of what they said of it before.

        Args:
            folder: The folder, which is there.
            trust: What they say.
            below: Of a yes: whether it is one to the folders below, too.
        """
        return await asyncio.to_thread(self.keep_now, folder, trust, below=below)

    def keep_now(self, folder: Path, trust: Kept, *, below: bool = False) -> Word | TrustProblem:
        """The same for a thread. Blocks."""
        if below and trust != "trusted":
            return TrustProblem("only `trusted` can include the folders below", "invalid")
        word = Word(os.path.realpath(folder), trust, below, self._clock.now().replace(microsecond=0))
        kept = self._write(word.path, word)
        return kept if isinstance(kept, TrustProblem) else word

    async def keep_commands(
        self, commands: Mapping[NamedCommand, Iterable[str]], *, allowed: bool
    ) -> TrustProblem | None:
        """Write down whether commands of a folder's settings may run, each with what changed after the user was asked."""
        return await asyncio.to_thread(self._keep_commands, commands, allowed=allowed)

    def _keep_commands(
        self, commands: Mapping[NamedCommand, Iterable[str]], *, allowed: bool
    ) -> TrustProblem | None:
        now = self._clock.now().replace(microsecond=0)
        new = [CommandWord(one, allowed, now, tuple(changed)) for one, changed in commands.items()]
        digests = {one.digest for one in commands}
        return self._change(
            "command", lambda table: table.get("digest") in digests, map(_written_command, new)
        )

    def note_changes_now(self, concerns: Callable[[str], bool], names: Sequence[str]) -> TrustProblem | None:
        """Write down with the allowed MCP servers that files changed; only the first few are kept. Blocks.

        Args:
            concerns: Whether a server of a folder may run them.
            names: What changed, in words.
        """

        def with_names(table: Any) -> list[str] | None:
            kept = [str(one) for one in table.get("changed", ())]
            new = list(dict.fromkeys([*kept, *names]))[:MOST_CHANGES]
            is_meant = (
                table.get("allowed") is True
                and str(table.get("key")).startswith(SERVER_KEY)
                and concerns(str(table.get("folder")))
            )
            return new if is_meant and new != kept else None

        def put(document: Any) -> str:
            for table in document.get("command", []):
                if (new := with_names(table)) is not None:
                    table["changed"] = new
            return ""

        self.refresh_now()
        here = [
            {
                "allowed": one.allowed,
                "key": one.command.key,
                "folder": one.command.folder,
                "changed": one.changed,
            }
            for one in self.commands
        ]
        return self._rewrite(put) if any(with_names(one) is not None for one in here) else None

    async def forget(self, folder: Path) -> Word | TrustProblem | None:
        """Take back what the user said of a folder and of the commands in its settings: it is asked again."""
        return await asyncio.to_thread(self.forget_now, folder)

    def forget_now(self, folder: Path) -> Word | TrustProblem | None:
        """The same for a thread; None where only commands of it were said something of. Blocks."""
        path = os.path.realpath(folder)
        had_commands = any(one.command.folder == path for one in self.commands)
        before = self._write(path, None)
        if before is None and not had_commands:
            return TrustProblem(f"{path} is not in the list", "unknown_id")
        return before

    def _write(self, path: str, word: Word | None) -> Word | TrustProblem | None:
        """Put a word in the place of that about a folder; gives the one that was there. Blocks."""
        before = next((one for one in self.words if one.path == path), None)
        new = [_written(word)] if word is not None else []
        if problem := self._change("folder", lambda table: table.get("path") == path, new):
            return problem
        if word is None and (
            problem := self._change("command", lambda table: table.get("folder") == path, ())
        ):
            return problem
        return before

    def _change(self, name: str, goes: Callable[[Any], bool], new: Iterable[str]) -> TrustProblem | None:
        """Take some tables of a name out of the file, and put new ones at its end. Blocks."""

        def put(document: Any) -> str:
            tables: Any = document.get(name, [])
            for number in reversed(range(len(tables))):
                if goes(tables[number]):
                    del tables[number]
            if name in document and not tables:  # an empty list in one line could not be added to
                del document[name]
            return "".join(f"\n\n[[{name}]]\n{table}" for table in new)

        return self._rewrite(put)

    def _rewrite(self, put: Callable[[Any], str]) -> TrustProblem | None:
        """Change the file; `put` changes what it gets, and gives what is added at the end. Blocks."""
        import tomlkit

        try:
            with locked(self.path):
                read = _read(self.path)
                if isinstance(read, str):
                    return TrustProblem(f"it is not changed: {read}")
                text = self.path.read_text("utf-8") if self.path.exists() else f"{HEADING}\n"
                document: Any = tomlkit.parse(text)
                added = put(document)
                replace_text(self.path, f"{tomlkit.dumps(document).rstrip()}{added}\n")
        except (OSError, UnicodeDecodeError) as error:
            return TrustProblem(f"{self.path} cannot be written: {error}")
        self._seen = None
        self.refresh_now()
        return None


def _differing(before: str, now: str) -> list[str]:
    """The parts that are not the same in two servers as they are shown: one a line, with its name before a colon. Pure."""
    (first, *old), (other, *new) = (text.split(BELOW) for text in (before, now))
    parts = ["what it runs or reaches"] if first != other else []
    parts += [line.partition(":")[0] for line in (*new, *old) if (line in new) != (line in old)]
    return list(dict.fromkeys(parts)) or ["what is not shown: a secret, or what of it is taken"]


def _is_above(word: Word, folder: str) -> bool:
    return word.below and folder.startswith(f"{word.path.rstrip('/')}/")


def _read(path: Path) -> tuple[tuple[Word, ...], tuple[CommandWord, ...]] | str:
    """What a file says of folders and of commands, or why it cannot be read. Blocks."""
    text = ""
    try:
        if path.exists() and (not path.is_file() or path.stat().st_size > MOST_BYTES):
            return f"{path} is not a trust file"
        text = path.read_bytes().decode("utf-8")
        values = read_toml(text)
    except FileNotFoundError:
        return (), ()
    except (OSError, UnicodeDecodeError) as error:
        return f"{path} cannot be read: {error}"
    except (ValueError, RecursionError) as error:  # it descends into lists and tables
        place = re.search(r"at line (\d+)", str(error))
        return f"{path}, line {place[1] if place else text.count(chr(10)) + 1}: {error}"
    words: list[Word] = []
    commands: list[CommandWord] = []
    for name in ("folder", "command"):
        given = values.pop(name, [])
        if not isinstance(given, list):
            return f"{path}: expected [[{name}]], got {name!r}"
        for number, value in enumerate(cast("list[Any]", given), start=1):
            word = _word(value) if name == "folder" else _command(value)
            if isinstance(word, str):
                return f"{path}, {name} {number}: {word}"
            if isinstance(word, Word):
                words.append(word)
            else:
                commands.append(word)
    if values:
        return f"{path}: expected [[folder]] or [[command]], got {next(iter(values))!r}"
    return tuple(words), tuple(commands)


def _checked(value: Any, what: str, keys: Mapping[str, type]) -> Mapping[str, Any] | str:
    """A table with no other keys than these, or what is wrong with it."""
    if not isinstance(value, Mapping):
        return f"a {what} must be a table"
    given = cast("Mapping[str, Any]", value)
    for key, one in given.items():
        if key not in keys:
            return f"there is no key {key!r}"
        if not isinstance(one, keys[key]):
            return f"{key} is of the wrong type"
    return given


def _command(value: Any) -> CommandWord | str:
    given = _checked(value, "command", _COMMAND_KEYS)
    if isinstance(given, str):
        return given
    optional = {"added", "changed"}
    if missing := next((key for key in _COMMAND_KEYS if key not in optional and key not in given), None):
        return f"there must be a key {missing!r}"
    named = NamedCommand(*(given[key] for key in ("folder", "key", "shown", "digest")))
    added = given.get("added")
    changed = tuple(str(one) for one in given.get("changed", ()))
    return CommandWord(named, given["allowed"], added.astimezone(UTC) if added else None, changed)


def _word(value: Any) -> Word | str:
    given = _checked(value, "folder", _KEYS)
    if isinstance(given, str):
        return given
    path, trust = given.get("path", ""), given.get("trust")
    if not Path(path).is_absolute():
        return "path must be an absolute path"
    if trust not in {"trusted", "read-only"}:
        return "trust must be trusted or read-only"
    if given.get("below") and trust != "trusted":
        return "below goes with trusted"
    added = given.get("added")
    return Word(path, trust, given.get("below", False), added.astimezone(UTC) if added else None)


def _written(word: Word) -> str:
    import tomlkit

    table = tomlkit.table()
    table.add("path", word.path)
    table.add("trust", word.trust)
    if word.below:
        table.add("below", True)
    if word.added is not None:
        table.add("added", word.added)
    return table.as_string().strip()


def _written_command(word: CommandWord) -> str:
    import tomlkit

    table = tomlkit.table()
    named = word.command
    for key, value in (
        ("folder", named.folder),
        ("key", named.key),
        ("shown", named.shown),
        ("digest", named.digest),
    ):
        table.add(key, value)
    table.add("allowed", word.allowed)
    if word.changed:
        table.add("changed", list(word.changed))
    if word.added is not None:
        table.add("added", word.added)
    return table.as_string().strip()


def least(trusts: Sequence[Trust]) -> Trust:
    """What holds for several folders together: the least of them."""
    if "read-only" in trusts:
        return "read-only"
    return "unknown" if "unknown" in trusts else "trusted"
