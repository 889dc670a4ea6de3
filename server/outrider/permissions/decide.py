"""May this happen? A pure function of what is asked for, the mode, the rules, and what the person granted before.

Deny beats ask beats allow, and whatever is not known is asked. Nothing in the workspace can widen it.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from outrider.permissions.commands import Command
from outrider.permissions.guarded import Guard
from outrider.permissions.ruling import Ruling
from outrider_protocol.settings import Effect, PermissionMode

Verdict = Literal["allow", "ask", "deny"]

ENDS_OWN = "it only ends what this session started"
"""Why that is allowed."""

_WIDTH: dict[PermissionMode, int] = {"read-only": 0, "ask": 1, "auto-edit": 2, "full": 3}


@dataclass(frozen=True, slots=True)
class Access:
    """What a call wants to do."""

    effect: Effect
    inside: bool = True
    """Whether it stays inside the workspace folders (by real path)."""
    grant: str | None = None
    """The key of the session grant that would cover it; None: no grant can."""
    paths: Sequence[Sequence[str]] = ()
    """The files it is about, each by all its names: its place in the workspace, its real path."""
    hosts: Sequence[str] = ()
    """The machines it reaches."""
    command: Command | None = None
    """The command line it runs."""
    ends_own: bool = False
    """Whether all it does is end what this session started."""

    @property
    def only_reads(self) -> bool:
        """Whether it is a command that only reads, inside the workspace."""
        return self.inside and self.command is not None and self.command.only_reads


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, why, and by what."""

    verdict: Verdict
    reason: str
    by: Literal["mode", "rule"] = "mode"
    rules: tuple[str, ...] = ()
    """Ids of the rules that decided it."""
    warning: str = ""
    """What the person should know before they say yes."""


def narrowest(*modes: PermissionMode) -> PermissionMode:
    """The narrowest of the modes that hold at once."""
    return min(modes, key=_WIDTH.__getitem__)


def decide(
    access: Access,
    mode: PermissionMode,
    grants: AbstractSet[str],
    ruling: Ruling | None = None,
    guard: Guard | None = None,
) -> Judgement:
    """Judge one access.

    Args:
        access: What the call wants.
        mode: The permission mode that holds.
        grants: Keys of what the person allowed for this session.
        ruling: What the rules say of it; None where they say nothing.
        guard: Why it wants an explicit yes, None where it does not.
    """
    if access.effect == "ask":
        return Judgement("allow", "asking the person changes nothing")
    if ruling is not None and ruling.verdict == "deny":
        return Judgement("deny", ruling.reason, "rule", ruling.ids)
    if mode == "read-only" and access.effect != "read" and not access.only_reads:
        return Judgement("deny", f"the session is read-only: no {access.effect} is possible")
    if ruling is not None and ruling.verdict == "ask":
        return Judgement("ask", ruling.reason, "rule", ruling.ids, guard.reason if guard else "")
    if guard is None and access.command is not None and access.command.shut is not None:
        guard = Guard("shut", access.command.shut)
    if guard is not None and not _is_settled(guard, access, mode, grants, ruling):
        return Judgement("ask", guard.reason, warning=guard.reason)
    if access.ends_own:
        return Judgement("allow", ENDS_OWN)
    if access.grant is not None and access.grant in grants:
        return Judgement("allow", "allowed for this session", by="rule")
    is_named = ruling is not None and ruling.names_files
    if access.effect == "read" and access.inside and not is_named:
        return Judgement("allow", "reading inside the workspace")
    if ruling is not None and (access.inside or access.command is None):  # a command elsewhere is another one
        return Judgement("allow", ruling.reason, "rule", ruling.ids)
    if mode == "full":
        return Judgement("allow", "the permission mode is full")
    if mode == "auto-edit" and access.effect == "edit" and access.inside:
        return Judgement("allow", "the permission mode allows edits inside the workspace")
    if mode in {"auto-edit", "read-only"} and access.only_reads:
        return Judgement("allow", "the command only reads, inside the workspace")
    if not access.inside:
        return Judgement("ask", "it is outside the workspace")
    return Judgement("ask", f"the permission mode is {mode}")


def _is_settled(
    guard: Guard, access: Access, mode: PermissionMode, grants: AbstractSet[str], ruling: Ruling | None
) -> bool:
    """Whether the person said yes to just that already, or to every file of that kind."""
    if access.grant in grants or (ruling is not None and ruling.names_files):
        return True
    return guard.kind == "protected" and (mode == "full" or ruling is not None)
