"""What the rules say of an access. Deny beats ask beats allow; what they leave open the mode decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from outrider.permissions.policy.commands import Command, Decision, Part, parts_of
from outrider.permissions.policy.rules import ANY_SCRIPT, RUN, Rule, covers_host, covers_path
from outrider_protocol.choices import Effect, PermissionMode


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the rules decided."""

    verdict: Decision
    reason: str
    ids: tuple[str, ...] = ()
    """The rules that decided it."""
    rule: str | None = None
    """The first of them, in words."""
    names_files: bool = False
    """Whether each of them names one file, or all the words of a command, so that nothing was meant but that."""


def _ruling(verdict: Decision, rules: Sequence[Rule], reason: str | None = None) -> Ruling:
    found = tuple(dict.fromkeys(rules))
    told = "; ".join(rule.text for rule in found)
    names = all(
        rule.is_exact or (rule.path is not None and not set(rule.path) & set("*?[")) for rule in found
    )
    return Ruling(verdict, reason or f"rule: {told}", tuple(rule.id for rule in found), found[0].text, names)


class Subject(Protocol):
    """What rules look at of an access."""

    @property
    def effect(self) -> Effect:
        """What it does."""
        ...

    @property
    def paths(self) -> Sequence[Sequence[str]]:
        """The files it is about, each by all its names."""
        ...

    @property
    def hosts(self) -> Sequence[str]:
        """The machines it reaches."""
        ...

    @property
    def command(self) -> Command | None:
        """The command line it runs."""
        ...

    @property
    def definition(self) -> str:
        """Of a tool of an MCP server: the SHA-256 of its definition."""
        ...


def ruling_on(tool: str, subject: Subject, rules: Sequence[Rule], mode: PermissionMode) -> Ruling | None:
    """What the rules say of an access; None where they leave it to the mode.

    Args:
        tool: The tool's name.
        subject: What it is about.
        rules: The rules that hold.
        mode: The permission mode.
    """
    about = [rule for rule in rules if rule.tool in {tool, "*", subject.effect}]
    if subject.command is not None:
        return _on_command(subject.command, [rule for rule in about if rule.path is None], mode)
    about = [rule for rule in about if rule.command is None and covers_host(rule, subject.hosts)]
    # A tool that its server has changed since is another one.
    about = [rule for rule in about if rule.script in {None, ANY_SCRIPT, subject.definition}]
    for decision in ("deny", "ask"):
        for rule in about:
            if rule.decision == decision and (
                rule.path is None or any(covers_path(rule, names) for names in subject.paths)
            ):
                return _ruling(decision, [rule])
    allowing = (
        [_allowing(about, names) for names in subject.paths] if subject.paths else [_allowing(about, ())]
    )
    found = [rule for rule in allowing if rule is not None]
    if found and len(found) == len(allowing):
        return _ruling("allow", found)
    return None


def _allowing(rules: Sequence[Rule], names: Sequence[str]) -> Rule | None:
    for rule in rules:
        if rule.decision == "allow" and (covers_path(rule, names) if names else rule.path is None):
            return rule
    return None


def _on_command(command: Command, rules: Sequence[Rule], mode: PermissionMode) -> Ruling | None:
    parts = parts_of(command, rules, mode)
    for decision in ("deny", "ask"):
        for part in parts:
            if part.rule is not None and part.decision == decision:
                return _ruling(decision, [part.rule])
    forbidding = [rule for rule in rules if rule.decision != "allow"]
    is_known = not command.line.problems and all(
        program.unresolved is None for program in command.line.programs
    )
    if forbidding and not is_known:
        return _ruling("ask", forbidding[:1], "it is not certain that no rule covers it")
    deciding = [part.rule for part in parts if part.rule is not None]
    if deciding and is_known and all(part.decision == "allow" for part in parts):
        return _ruling("allow", deciding)
    return None


def named_parts(command: Command, rules: Sequence[Rule], mode: PermissionMode) -> list[Part]:
    """The parts of a command line, each as it is decided about: none may do more than what decides about the whole lets it."""
    about = [rule for rule in rules if rule.tool in {RUN, "*", "execute"} and rule.path is None]
    parts = zip(parts_of(command, about, mode), command.reads, strict=True)
    forbids = any(rule.decision != "allow" for rule in about)
    return [
        _in_the_whole(part, why, command.hidden_of(number), forbids, command, mode)
        for number, (part, why) in enumerate(parts)
    ]


def _in_the_whole(
    part: Part, why: str | None, shut: str | None, forbids: bool, command: Command, mode: PermissionMode
) -> Part:
    problem = next(iter(command.line.problems), None)
    if mode == "read-only" and part.decision != "deny" and (unsure := problem or why):
        return Part(part.program, "deny", f"the session is read-only: {unsure}")
    if part.decision != "allow":
        return part
    if shut is not None and not (part.rule is not None and part.rule.is_exact):
        return Part(part.program, "ask", shut)
    if forbids and (problem or part.program.unresolved):
        return Part(part.program, "ask", "it is not certain that no rule covers it")
    return part
