"""A command line as permissions see it: what each of its parts is, and what the rules say of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

from outrider.permissions.policy.rules import ANY_SCRIPT, Rule, covers_host
from outrider.permissions.programs.patterns import (
    Pattern,
    begins,
    beyond,
    fits,
    may_fit,
    pattern_of,
    problem_of_program,
)
from outrider.permissions.shell.builtins import PLAIN
from outrider.permissions.shell.model import CommandLine, Program
from outrider_protocol.choices import PermissionMode

_HOST: Final = re.compile(r"(?<![\w.-])(?:[\w-]+\.)*[\w-]+")
"""What can be the name of a host within a word, such as in `https://ada@example.org:80/x`."""

Decision = Literal["allow", "ask", "deny"]
MOST_OFFERED: Final = 20
"""Rules that an approval offers to keep."""


class Objects(NamedTuple):
    """Words by which git would show any object of a repository, where they do not name commits."""

    number: int
    """Which program of the line has them."""
    folder: str
    """The real path of the folder where it runs."""
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and what was looked up for it."""

    line: CommandLine
    reads: Sequence[str | None]
    """For each program: None if it only reads, inside the workspace, as the line would run; else why that is not known."""
    scripts: dict[str, str] = field(default_factory=dict[str, str])
    """Files of the workspace that it runs: path → hash of the content."""
    ran: Sequence[str | None] = ()
    """For each program: the hash of the file of the workspace that it runs; None for none."""
    closed: Sequence[str | None] = ()
    """For each program: why a file that it names is shut; None for none."""
    reads_confined: Sequence[str | None] = ()
    """The same as `reads` for a run in a read-only sandbox, which hides the files that are shut."""
    met: Sequence[str | None] = ()
    """For each program: why a file is shut to which it comes by itself, where no sandbox hides it; None for none."""
    objects: tuple[Objects, ...] = ()
    """What git must be asked before anybody knows what it would show."""

    @property
    def runs_git(self) -> bool:
        """Whether one of its programs is git."""
        return any(program.name == "git" for program in self.line.programs)

    @property
    def shut(self) -> str | None:
        """Why a file that it shows is a secret file: nothing of that may be seen without an explicit yes."""
        return next(filter(None, map(self.hidden_of, range(len(self.line.programs)))), None)

    def hidden_of(self, number: int) -> str | None:
        """The same for one program of the line."""
        return next(
            (why for known in (self.closed, self.met) for why in known[number : number + 1] if why), None
        )

    @property
    def only_reads(self) -> bool:
        """Whether the whole of it only reads, inside the workspace."""
        return not self.line.problems and bool(self.line.programs) and not any(self.reads)

    @property
    def reads_in_sandbox(self) -> bool:
        """Whether the whole of it is known to only read if a read-only sandbox holds it."""
        is_known = not self.line.problems and bool(self.line.programs)
        return is_known and len(self.reads_confined) > 0 and not any(self.reads_confined)

    def in_sandbox(self) -> "Command":
        """The same as it runs in a read-only sandbox."""
        return replace(self, reads=self.reads_confined, met=())

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The words of the rules that would allow all that does not only read; empty where none can."""
        return tuple(pattern for pattern, _ in self.allowing)

    @property
    def allowing(self) -> tuple[tuple[Pattern, str | None], ...]:
        """The same, each with the hash of the script that it runs. Nobody can judge more than `MOST_OFFERED` at once."""
        if self.line.problems or self.shut is not None:
            return ()
        found: dict[tuple[Pattern, str | None], None] = {}
        for number, (program, why) in enumerate(zip(self.line.programs, self.reads, strict=True)):
            if why is None and program.name in PLAIN:
                continue
            pattern = pattern_of(program)
            if pattern is None:
                return ()
            found[pattern, self.script_of(number)] = None
            if len(found) > MOST_OFFERED:
                return ()
        return tuple(found)

    def script_of(self, number: int) -> str | None:
        """The hash of the file of the workspace that a program of the line runs."""
        return self.ran[number] if number < len(self.ran) else None


class Part(NamedTuple):
    """One program of a command line, judged by itself; a tuple, because there are many of them."""

    program: Program
    decision: Decision
    reason: str
    rule: Rule | None = None

    @property
    def argv(self) -> list[str]:
        """Its name and arguments; one that is not known is as it is written."""
        return [word.source if word.text is None else word.text for word in self.program.argv]


def parts_of(command: Command, rules: Sequence[Rule], mode: PermissionMode) -> list[Part]:
    """Judge each program of a command line.

    Args:
        command: The line.
        rules: The rules that hold, about commands.
        mode: The permission mode.
    """
    problem = next(iter(command.line.problems), None)
    sorted_rules = _Sorted(rules)
    return [
        _part(program, why, problem, sorted_rules, mode, command.script_of(number))
        for number, (program, why) in enumerate(zip(command.line.programs, command.reads, strict=True))
    ]


class _Sorted:
    """Rules in the order in which they count; those that allow, by the program that they name."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.forbidding = [
            (rule, rule.pattern)
            for decision in ("deny", "ask")
            for rule in rules
            if rule.decision == decision
        ]
        self.allowing: dict[str | None, list[tuple[Rule, Pattern]]] = {}
        for rule in sorted(rules, key=lambda rule: not rule.is_exact):  # what says most comes first
            if rule.decision == "allow" and (pattern := rule.pattern) is not None:
                self.allowing.setdefault(pattern.words[0], []).append((rule, pattern))


def _part(
    program: Program,
    why: str | None,
    problem: str | None,
    rules: _Sorted,
    mode: PermissionMode,
    script: str | None,
) -> Part:
    if forbidden := _forbidden(program, rules, may_reach=why is not None):
        return forbidden
    if problem is None and why is None and program.name in PLAIN:
        return Part(program, "allow", "it only affects the command line itself")
    other: Rule | None = None
    narrow: Rule | None = None
    if problem is None and problem_of_program(program) is None:
        for rule, pattern in rules.allowing.get(program.name, ()):
            if fits(pattern, program):
                if rule.script in {script, ANY_SCRIPT}:
                    return Part(program, "allow", f"rule: {rule.text}", rule)
                other = other or rule
            elif begins(pattern, program):
                narrow = narrow or rule
    if problem is None and why is None:
        return Part(program, "allow", "it only reads, inside the workspace")
    if mode == "full":
        return Part(program, "allow", "the permission mode is full")
    if mode == "read-only":
        return Part(
            program, "deny", f"the session is read-only: {problem or why or 'no execute is possible'}"
        )
    if unsure := problem or problem_of_program(program):
        return Part(program, "ask", unsure)
    if other is not None:
        return Part(program, "ask", f"{_why_not(other, script)} (rule: {other.text})")
    if narrow is not None:
        more = [word for word in beyond(program) if word not in (narrow.command or "").split()]
        said = f"its rule does not name {more[0]}" if more else f"its rule covers reading only, and {why}"
        return Part(program, "ask", f"{said} (rule: {narrow.text})")
    return Part(program, "ask", f"no rule allows it, and {why}")


def _forbidden(program: Program, rules: _Sorted, *, may_reach: bool) -> Part | None:
    """What a rule that forbids or asks says of a program; None where none may be about it."""
    for rule, pattern in rules.forbidding:
        if pattern is None or may_fit(pattern, program):
            named = _names_host(rule, program, may_reach=may_reach)
            if named is None:
                continue
            sure = named and (pattern is None or fits_surely(pattern, program))
            return Part(program, rule.decision if sure else "ask", f"rule: {rule.text}", rule)
    return None


def _why_not(rule: Rule, script: str | None) -> str:
    """Why a rule that has the words of a program does not allow it: the script is not the one it is about."""
    if rule.script is None:
        return f"its rule does not say for which script, as with script = {ANY_SCRIPT!r} or a SHA-256"
    if script is None:
        return "the script of its rule is no longer a file of the workspace"
    return "the script changed since its rule was made"


def _names_host(rule: Rule, program: Program, *, may_reach: bool) -> bool | None:
    """Whether a program's words name the host of a rule: False where one that is not known could, None where they do not.

    Args:
        rule: A rule that forbids.
        program: The program. What it reaches without a word of it nobody sees.
        may_reach: Whether it may do more than read in the workspace.
    """
    if rule.host is None:
        return True
    texts = [word.text for word in (*program.argv, *program.reads, *program.writes)]
    if covers_host(rule, [host for text in texts if text is not None for host in _HOST.findall(text)]):
        return True
    return False if may_reach and None in texts else None


def fits_surely(pattern: Pattern, program: Program) -> bool:
    """Whether a forbidding rule is about a program for certain: no word that it wants is still unknown."""
    known = [word for word in program.argv if word.text is not None]
    if program.argv and program.argv[0].text is None:
        return False
    return bool(known) and may_fit(pattern, Program(tuple(known), program.source, through=program.through))
