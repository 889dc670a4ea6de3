"""The ledger: the user's rules in their configuration folder, and what the workspaces' own files add to them.

It is read again whenever one of the files has changed, so that every server goes by the same rules. Writing is atomic
and under a lock. A file that cannot be read closes: nobody knows then what it forbids.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from outrider.permissions.policy.commands import Command, Part
from outrider.permissions.policy.decide import Access
from outrider.permissions.policy.own_file import Stamp, locked, replace_text, stamp
from outrider.permissions.policy.rules import RUN, Rule, covers_host, holds, problem_of, unknown_tool
from outrider.permissions.policy.rules_file import (
    RulesFile,
    parse_rules,
    read_rules,
    with_ends,
    with_hits,
    with_rules,
    without_rule,
)
from outrider.permissions.policy.ruling import Ruling, named_parts, ruling_on
from outrider.permissions.shell.reading import read_command
from outrider.ports.addresses import host_name
from outrider.ports.clock import Clock
from outrider_protocol.choices import Effect, PermissionMode

LEDGER: Final = "rules.toml"
WORKSPACE_RULES: Final = Path(".outrider") / "rules.toml"
_MEANS: Final = {
    True: "Until this is fixed, Outrider only reads",
    False: "Until this is fixed, Outrider asks before every edit and command",
}
"""What it means that a file cannot be read: the user's own, and one of a workspace."""


@dataclass(frozen=True, slots=True)
class LedgerProblem:
    """Why the ledger was not changed."""

    message: str
    reason: Literal["cannot_write", "invalid", "unknown_id"] = "cannot_write"


class Ledger:
    """The rules that hold in some workspace folders."""

    def __init__(
        self,
        path: Path,
        folders: Sequence[Path],
        clock: Clock,
        say: Callable[[str], None],
        tools: Collection[str] | None = None,
    ) -> None:
        """Make a ledger that has not been read yet: `refresh` reads it.

        Args:
            path: The user's file.
            folders: The workspace folders.
            clock: Tells when a rule ends, and when one was made.
            say: Tells the user about what is wrong in a file, once.
            tools: The names of all tools. None: they are not known, so that a rule may be about any.
        """
        self._tools = tools
        self.path = path
        self._clock = clock
        self._say = say
        self._files: dict[Path, RulesFile] = {}
        self._seen: dict[Path, Stamp | None] = {}
        self._said: set[str] = set()
        self._hits: Counter[str] = Counter()
        self._folders: tuple[Path, ...] = ()
        self.set_folders(folders)

    def set_folders(self, folders: Sequence[Path]) -> None:
        """Take over other workspace folders."""
        self._folders = tuple(folders)
        self._files = {path: file for path, file in self._files.items() if path == self.path}
        self._seen = {path: seen for path, seen in self._seen.items() if path == self.path}

    @property
    def problem(self) -> str | None:
        """Why the user's file cannot be read."""
        return self._files[self.path].problem if self.path in self._files else None

    @property
    def all_problems(self) -> list[tuple[str, bool]]:
        """What is wrong in which file, with what that means; and whether the file is the user's own."""
        return [
            (f"{file.problem}. {_MEANS[file.path == self.path]}", file.path == self.path)
            for file in self._files.values()
            if file.problem is not None
        ]

    @property
    def rules(self) -> list[Rule]:
        """The rules that hold now, the user's first."""
        now, folders = self._clock.now(), self._names
        return [rule for file in self._files.values() for rule in file.rules if holds(rule, folders, now)]

    @property
    def all_rules(self) -> list[tuple[Rule, Path]]:
        """Every rule of the files, those that ended or are about other folders too, and where each stands."""
        return [(rule, file.path) for file in self._files.values() for rule in file.rules]

    def about_nothing(self, rule: Rule) -> str | None:
        """Why a rule is about no tool there is, None if it is about one."""
        return None if self._tools is None else unknown_tool(rule, self._tools)

    @property
    def all_about_nothing(self) -> list[str]:
        """Which rules are about no tool there is, and in which files they stand."""
        return [text for file in self._files.values() for text in self._about_nothing(file)]

    def _about_nothing(self, file: RulesFile) -> list[str]:
        whys = [(rule, self.about_nothing(rule)) for rule in file.rules]
        return [f"{file.path}: “{rule.text}” does nothing: {why}" for rule, why in whys if why is not None]

    @property
    def _names(self) -> list[str]:
        return [name for folder in self._folders for name in {str(folder), os.path.realpath(folder)}]

    # --- deciding ------------------------------------------------------------------------------------------------

    def ruling(self, tool: str, access: Access, mode: PermissionMode) -> Ruling | None:
        """What the rules say of an access; None where they leave it to the mode."""
        if access.effect in {"edit", "execute"} and (unknown := self._unknown()):
            return unknown
        return ruling_on(tool, access, self.rules, mode)

    def why_closed(self, host: str) -> str | None:
        """Why no command may go to a host that settings open: a rule denies it or wants a question first; None where none does."""
        if (unknown := self._unknown()) is not None:
            return unknown.reason
        for rule in self.rules:
            if rule.host is None or rule.decision == "allow" or rule.tool not in {RUN, "execute", "*"}:
                continue
            below = "*." if rule.host.startswith("*.") else ""
            named = host_name(
                rule.host.removeprefix(below)
            )  # as hosts are compared here, whatever way it is written
            if covers_host(rule if named is None else replace(rule, host=f"{below}{named}"), (host,)):
                return f"rule: {rule.text}"
        return None

    def closes(self, tool: str, effect: Effect) -> bool:
        """Whether a rule denies or asks about a tool that nobody is asked about each time, of one host or all: then it is not there."""
        return self._unknown() is not None or any(
            rule.decision != "allow"
            and rule.tool in {tool, "*", effect}
            and rule.command is None
            and rule.path is None
            for rule in self.rules
        )

    def parts(self, command: Command, mode: PermissionMode) -> list[Part]:
        """The parts of a command line, each judged by itself."""
        parts = named_parts(command, self.rules, mode)
        if (unknown := self._unknown()) is None:
            return parts
        return [
            part if part.decision == "deny" else Part(part.program, unknown.verdict, unknown.reason)
            for part in parts
        ]

    def _unknown(self) -> Ruling | None:
        """What holds while a file of rules cannot be read; None where all can."""
        for file in self._files.values():
            if file.problem is not None:
                mine = file.path == self.path
                return Ruling("deny" if mine else "ask", f"the rules cannot be known: {file.problem}")
        return None

    # --- reading -------------------------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Read what has changed, and count in the file what was decided since."""
        await asyncio.to_thread(self.refresh_now)

    def refresh_now(self) -> bool:
        """The same for a thread; gives whether anything has changed. Blocks."""
        changed = False
        for path, folder in self._places():
            seen = stamp(path)
            if path in self._files and self._seen.get(path) == seen:
                continue
            file = read_rules(
                path, may_allow=folder is None, workspace=None if folder is None else str(folder)
            )
            self._files[path], self._seen[path] = file, seen
            self._tell(file)
            changed = True
        return changed

    def _places(self) -> list[tuple[Path, Path | None]]:
        return [(self.path, None), *((folder / WORKSPACE_RULES, folder) for folder in self._folders)]

    def _tell(self, file: RulesFile) -> None:
        problem = f"{file.problem}. {_MEANS[file.path == self.path]}"
        for text in (*file.messages, *self._about_nothing(file), *([problem] if file.problem else ())):
            if text not in self._said:
                self._said.add(text)
                self._say(text)

    # --- changing ------------------------------------------------------------------------------------------------

    async def add(self, rules: Sequence[Rule]) -> list[Rule] | LedgerProblem:
        """Write further rules into the user's file; gives them as they stand there.

        The same rule is not written twice: what is there holds from now on until what the new one says.
        """
        return await asyncio.to_thread(self._add, rules)

    async def remove(self, rule_id: str) -> Rule | LedgerProblem:
        """Take a rule out of the user's file."""
        return await asyncio.to_thread(self._remove, rule_id)

    async def create(self) -> LedgerProblem | None:
        """Make the user's file, with nothing but its heading, so that it can be opened."""
        return await asyncio.to_thread(self._write, lambda text, _: with_rules(text, ()))

    def _add(self, rules: Sequence[Rule]) -> list[Rule] | LedgerProblem:
        for rule in rules:
            if problem := problem_of(rule) or self._problem_of_new(rule):
                return LedgerProblem(f"“{rule.text}” cannot be a rule: {problem}", "invalid")
        added = [replace(rule, added=rule.added or self._clock.now()) for rule in rules]

        def change(text: str, there: Sequence[Rule]) -> str:
            known = {rule.id for rule in there}
            text = with_ends(text, {rule.id: rule.expires for rule in added})
            return with_rules(text, [rule for rule in added if rule.id not in known])

        return self._write(change) or added

    def has_ended(self, rule: Rule) -> bool:
        """Whether the time of a rule is over."""
        return rule.expires is not None and rule.expires <= self._clock.now()

    def _problem_of_new(self, rule: Rule) -> str | None:
        """Why a rule would never be about anything, so that whoever adds it would trust it for nothing."""
        if why := self.about_nothing(rule):
            return why
        if self.has_ended(rule):
            return "it has already expired"
        programs = read_command(rule.command).programs if rule.command else ()
        if len([program for program in programs if not program.through]) > 1:
            return "its command has several programs; a rule covers one"
        return None

    def _remove(self, rule_id: str) -> Rule | LedgerProblem:
        found: list[Rule] = []

        def change(text: str, there: Sequence[Rule]) -> str | None:
            found.extend(rule for rule in there if rule.id == rule_id)
            return without_rule(text, rule_id)

        problem = self._write(change)
        if not found:
            return problem or LedgerProblem(f"there is no rule {rule_id} in {self.path}", "unknown_id")
        return problem or found[0]

    def count(self, ids: Sequence[str]) -> None:
        """Take note that rules decided: `write_hits` writes it down."""
        self._hits.update(ids)

    async def write_hits(self) -> None:
        """Write down how often rules decided. That it fails does not matter to anybody: it is only a count."""
        await asyncio.to_thread(self._write_hits)

    def _write_hits(self) -> None:
        hits, self._hits = self._hits, Counter()
        if hits and self.path.exists():
            self._write(lambda text, _: with_hits(text, hits))

    def _write(self, change: Callable[[str, Sequence[Rule]], str | None]) -> LedgerProblem | None:
        """Change the user's file: read it, change its text, put it in place. Blocks."""
        try:
            with locked(self.path):
                if self.path.exists() and not self.path.is_file():  # a pipe would never end
                    return LedgerProblem(f"the rules are not changed: {self.path} is not a rules file")
                text = self.path.read_bytes().decode("utf-8") if self.path.exists() else ""
                file = parse_rules(self.path, text, may_allow=True)
                if file.problem is not None:
                    return LedgerProblem(f"the rules are not changed: {file.problem}")
                changed = change(text, file.rules)
                if changed is not None and changed != text:
                    after = parse_rules(self.path, changed, may_allow=True)
                    if after.problem is not None:  # such as rules that stand in a list of their own
                        return LedgerProblem(
                            f"the rules are not changed, because that would damage them: {after.problem}"
                        )
                    replace_text(self.path, changed)
        except (OSError, UnicodeDecodeError) as error:
            return LedgerProblem(f"{self.path} cannot be written: {error}")
        self._seen.pop(self.path, None)
        self.refresh_now()
        return None
