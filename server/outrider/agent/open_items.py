"""What is asked of the person and what they may say to it, as values and in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from outrider.permissions.rules import with_script
from outrider.ports.text import cut_lines
from outrider.tools.context import Action
from outrider_protocol import (
    ALLOW_ONCE,
    ALLOW_SESSION,
    ALWAYS_ALLOW,
    ALWAYS_EVERYWHERE,
    ALWAYS_HERE,
    CHOOSE,
    REJECT,
    RUN_OUTSIDE,
)  # fmt: skip
from outrider_protocol.events import Decision, RulePattern, Scope

MESSAGE_CHARACTERS = 2000
"""Characters of an item beyond which it can be looked at in a document."""
MESSAGE_LINES = 24
"""Lines of an item's detail that are put in the message; the rest is in its document."""
ASKED_ANEW = "Your review does not fit the text as it is now, so all of it is asked anew."
CHANGED_SINCE_ASKED = "What it would do has changed since you were asked first, so this is asked instead."
CHANGED_SINCE_ALLOWED = "What it would do has changed since you allowed it, so it is asked again."
WHY_AGAIN = (ASKED_ANEW, CHANGED_SINCE_ASKED, CHANGED_SINCE_ALLOWED)
"""Lines of a message that depend on what was asked before, and not on what it is about."""

DECISIONS: Final[dict[str, Decision]] = {
    ALLOW_ONCE: "allow_once",
    RUN_OUTSIDE: "allow_once",
    ALLOW_SESSION: "allow_session",
    ALWAYS_ALLOW: "allow_always",
    CHOOSE: "choose",
    REJECT: "reject",
}
SCOPES: Final[dict[str, Scope]] = {ALWAYS_HERE: "workspace", ALWAYS_EVERYWHERE: "everywhere"}


@dataclass(frozen=True, slots=True)
class Asking:
    """What a yes is asked for."""

    call_id: str
    action: Action
    change_ids: Sequence[str] = ()
    """The ids under which the changes of an edit were proposed."""
    can_choose: bool = False
    """Whether the person can choose among its hunks in the editor."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an answer is not taken."""

    reason: Literal["unknown_id", "already_resolved", "invalid"]
    message: str


def decision_title(decision: Decision) -> str:
    """The button that stands for a decision."""
    return next(title for title, value in DECISIONS.items() if value == decision)


def rule_told(rule: RulePattern) -> str:
    """A rule in words."""
    if rule.command is not None:
        script = f" {with_script(rule.script)}" if rule.script is not None else ""
        return f"{rule.tool} “{rule.command}{'' if rule.exact else ' …'}”{script}"
    return " ".join(part for part in (rule.tool, rule.path, rule.host) if part is not None)


def is_long(detail: str) -> bool:
    """Whether the detail of an item is more than a message shows."""
    return detail.count("\n") > MESSAGE_LINES or len(detail) > MESSAGE_CHARACTERS


def shortened(detail: str) -> str:
    """As much of the detail of an item as fits into a message."""
    if not is_long(detail):
        return detail.rstrip("\n")
    lines = detail.splitlines()
    shown = cut_lines(lines)[:MESSAGE_LINES]
    more = len(lines) - len(shown)
    return "\n".join([*shown, f"… {more} further lines"] if more else shown)
