"""May this happen? A pure function of what is asked for, the mode, the rules, and what the user granted before.

Deny beats ask beats allow, and whatever is not known is asked. Nothing in the workspace can widen it.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from outrider.permissions.policy.commands import Command
from outrider.permissions.policy.protected_files import Guard
from outrider.permissions.policy.ruling import Ruling
from outrider_protocol.choices import PERMISSION_MODES, Effect, PermissionMode

Verdict = Literal["allow", "ask", "deny"]

ENDS_OWN = "it only stops what this session started"
"""Why that is allowed."""

ONLY_READS = "the command only reads, inside the workspace"
"""Why that is allowed."""

UNSANDBOXED = "unsandboxed"
"""Key of the grant that commands of the session run without a sandbox where there is none."""

CAN_BE_UNDONE = "the permission mode allows commands that can be undone"
"""Why that is allowed."""

_WIDTH: dict[PermissionMode, int] = {mode: width for width, mode in enumerate(PERMISSION_MODES)}


@dataclass(frozen=True, slots=True)
class NoSandbox:
    """That a command runs without a sandbox."""

    reason: str
    """Why, in one sentence."""
    chosen: bool
    """Whether the user turned it off; else there is none here."""
    lost: bool = False
    """Whether commands ran in one before, and it works no more."""


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
    definition: str = ""
    """Of a tool of an MCP server: the SHA-256 of its definition. A rule can hold for that alone."""
    cwd: str = ""
    """The real path of the folder where it runs."""
    ends_own: bool = False
    """Whether all it does is end what this session started."""
    writes_secret: str = ""
    """What it writes that the user wants to see before, in words: a secret that they gave, in a place of the model's choice."""
    asks: str = ""
    """Why the user is asked each time, whatever mode and rules allow; empty where these decide."""
    no_sandbox: NoSandbox | None = None
    """Of a command: that it would run without a sandbox; None where it is confined."""
    leaves: str = ""
    """What of its sandbox a command is to leave, because the model asks for it, in words; empty where it does not."""
    is_job: bool = False
    """Whether it is a background job, which runs on when its turn has ended."""

    can_be_undone: bool = False
    """Of a command: whether it can change nothing but the workspace, whose files were copied before."""
    why_no_copy: str = ""
    """Of one that is not so for that reason alone: why there is no copy."""

    @property
    def only_reads(self) -> bool:
        """Whether it is a command that only reads, inside the workspace, and ends with its turn."""
        reads = self.command is not None and self.command.only_reads
        return reads and self.inside and not self.leaves and not self.is_job


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, why, and by what."""

    verdict: Verdict
    reason: str
    by: Literal["mode", "rule"] = "mode"
    rules: tuple[str, ...] = ()
    """Ids of the rules that decided it."""
    warning: str = ""
    """What the user should know before they say yes."""
    leaves_sandbox: bool = False
    """Whether what it asks about is that commands run without a sandbox."""


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
        grants: Keys of what the user allowed for this session.
        ruling: What the rules say of it; None where they say nothing.
        guard: Why it wants an explicit yes, None where it does not.
    """
    if access.effect == "ask":
        return Judgement("allow", "asking the user changes nothing")
    if ruling is not None and ruling.verdict == "deny":
        return Judgement("deny", ruling.reason, "rule", ruling.ids)
    if mode == "read-only" and access.effect != "read" and not access.only_reads:
        what = "background job" if access.is_job else access.effect
        return Judgement("deny", f"the session is read-only: no {what} is possible")
    if access.writes_secret:
        return Judgement("ask", access.writes_secret, warning=access.writes_secret)
    if ruling is not None and ruling.verdict == "ask":
        return Judgement("ask", ruling.reason, "rule", ruling.ids, guard.reason if guard else "")
    if guard is None and access.command is not None and access.command.shut is not None:
        guard = Guard("shut", access.command.shut)
    if access.leaves:
        return Judgement("ask", access.leaves, warning=guard.reason if guard else "")
    if guard is not None and not _is_settled(guard, access, mode, grants, ruling):
        return Judgement("ask", guard.reason, warning=guard.reason)
    if access.asks:
        return Judgement("ask", access.asks)
    return _by_rules_and_mode(access, mode, grants, ruling)


def _by_rules_and_mode(
    access: Access, mode: PermissionMode, grants: AbstractSet[str], ruling: Ruling | None
) -> Judgement:
    """Judge an access that nothing forbids, and for which no explicit yes is wanted whatever the mode is."""
    if access.ends_own:
        return Judgement("allow", ENDS_OWN)
    if access.no_sandbox is not None and access.no_sandbox.lost and UNSANDBOXED not in grants:
        # What was allowed so far was allowed in it.
        return Judgement("ask", "the sandbox does not work any more", leaves_sandbox=True)
    if access.grant is not None and access.grant in grants:
        return Judgement("allow", "allowed for this session", by="rule")
    is_named = ruling is not None and ruling.names_files
    if access.effect == "read" and access.inside and not is_named:
        return Judgement("allow", "reading inside the workspace")
    if ruling is not None and (access.inside or access.command is None):  # a command elsewhere is another one
        return Judgement("allow", ruling.reason, "rule", ruling.ids)
    if access.only_reads:
        return Judgement("allow", ONLY_READS)
    if mode == "full":
        if access.no_sandbox is not None and not access.no_sandbox.chosen and UNSANDBOXED not in grants:
            reason = "the permission mode is full, and there is no sandbox here"
            return Judgement("ask", reason, leaves_sandbox=True)
        return Judgement("allow", "the permission mode is full")
    if mode == "auto" and access.can_be_undone and access.inside:
        return Judgement("allow", CAN_BE_UNDONE)
    if mode in {"auto-edit", "auto"} and access.effect == "edit" and access.inside:
        return Judgement("allow", "the permission mode allows edits inside the workspace")
    if not access.inside:
        return Judgement("ask", "it is outside the workspace")
    return Judgement("ask", f"the permission mode is {mode}")


def _is_settled(
    guard: Guard, access: Access, mode: PermissionMode, grants: AbstractSet[str], ruling: Ruling | None
) -> bool:
    """Whether the user said yes to just that already, or to every file of that kind."""
    if access.grant in grants or (ruling is not None and ruling.names_files):
        return True
    return guard.kind == "protected" and (mode == "full" or ruling is not None)
