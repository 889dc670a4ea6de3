"""May this happen? A pure function of what is asked for, the mode, and what the person granted before.

Deny beats ask beats allow, and whatever is not known is asked. Nothing in the workspace takes part in it.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from outrider_protocol.settings import Effect, PermissionMode

Verdict = Literal["allow", "ask", "deny"]

_WIDTH: dict[PermissionMode, int] = {"read-only": 0, "ask": 1, "auto-edit": 2, "full": 3}


@dataclass(frozen=True, slots=True)
class Access:
    """What a call wants to do."""

    effect: Effect
    inside: bool = True
    """Whether it stays inside the workspace folders (by real path)."""
    grant: str | None = None
    """The key of the session grant that would cover it; None: no grant can."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, why, and by what."""

    verdict: Verdict
    reason: str
    by: Literal["mode", "rule"] = "mode"


def narrowest(*modes: PermissionMode) -> PermissionMode:
    """The narrowest of the modes that hold at once."""
    return min(modes, key=_WIDTH.__getitem__)


def decide(access: Access, mode: PermissionMode, grants: AbstractSet[str]) -> Judgement:
    """Judge one access.

    Args:
        access: What the call wants.
        mode: The permission mode that holds.
        grants: Keys of what the person allowed for this session.
    """
    if access.effect == "ask":
        return Judgement("allow", "asking the person changes nothing")
    if access.effect == "read" and access.inside:
        return Judgement("allow", "reading inside the workspace")
    if mode == "read-only" and access.effect != "read":
        return Judgement("deny", f"the session is read-only: no {access.effect} is possible")
    if access.grant is not None and access.grant in grants:
        return Judgement("allow", "allowed for this session", by="rule")
    if mode == "full":
        return Judgement("allow", "the permission mode is full")
    if mode == "auto-edit" and access.effect == "edit" and access.inside:
        return Judgement("allow", "the permission mode allows edits inside the workspace")
    if not access.inside:
        return Judgement("ask", "it is outside the workspace")
    return Judgement("ask", f"the permission mode is {mode}")
