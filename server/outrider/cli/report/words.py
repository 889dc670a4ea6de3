"""How a report says numbers, times and states. Plain texts, no HTML."""

import json
from datetime import UTC, datetime
from typing import Any

from outrider.cli.render import counted
from outrider.cli.report.model import Asked, Tokens, Turn

_OUTCOMES = {
    "completed": "good", "cancelled": "warn", "budget_exhausted": "warn", "failed": "bad", "refused": "bad",
}  # fmt: skip
_STATUSES = {
    "ok": "good",
    "error": "bad",
    "denied": "warn",
    "cancelled": "warn",
    "interrupted": "bad",
    "skipped": "warn",
}
_DECISIONS = {
    "allow_once": "allowed once",
    "allow_session": "allowed for this session",
    "allow_always": "always allowed",
    "choose": "to be chosen in the editor",
    "reject": "rejected",
    "put_back": "put back",
    "keep": "kept",
}
_CHANNELS = {
    "message": "in a message",
    "command": "by a command",
    "action": "by a code action",
    "document": "in a document",
}


def duration(seconds: float) -> str:
    """A stretch of time, as exact as it needs to be."""
    if seconds < 0.0005:
        return "0 s"
    if seconds < 1:
        return f"{seconds:.2f} s" if seconds >= 0.01 else f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min"


def day_and_time(ts: str) -> str:
    """A moment in UTC, to the second; the text itself where it is none."""
    try:
        return datetime.fromisoformat(ts).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError):
        return ts


def time_of_day(ts: str) -> str:
    """The time of a moment in UTC."""
    return day_and_time(ts)[11:19]


def outcome(turn: Turn) -> tuple[str, str]:
    """How a turn ended, in words, and the class of its colour."""
    if turn.outcome is None:
        if turn.queued:
            return "never began", "warn"
        return ("waits for an answer", "warn") if turn.parked else ("did not end", "warn")
    said = turn.outcome.replace("_", " ")
    if turn.outcome == "completed":
        return said + (f" · {turn.verdict}" if turn.verdict else ""), _OUTCOMES["completed"]
    why = f": {turn.reason}" if turn.reason and turn.reason != turn.outcome else ""
    return said + why, _OUTCOMES.get(turn.outcome, "warn")


def status_class(status: str | None) -> str:
    """The class of the colour of a call's status."""
    return _STATUSES.get(status or "", "warn")


def tokens(spent: Tokens) -> str:
    """Tokens of an answer in few words; empty where nothing was counted."""
    if not spent.given and not spent.made:
        return ""
    cached = f" ({spent.cached:,} cached)" if spent.cached else ""
    cost = f", cost {spent.cost:.4f}" if spent.cost is not None else ""
    return f"{'~' if spent.estimated else ''}{spent.given:,} tokens in{cached}, {spent.made:,} out{cost}"


def cost(spent: Tokens) -> str:
    """What answers cost; `unknown` where a provider did not say."""
    if spent.cost is None:
        return "unknown"
    return f"at least {spent.cost:.4f}" if spent.unpriced else f"{spent.cost:.4f}"


def resolution(asked: Asked) -> tuple[str, str]:
    """What became of an approval or a question, in words, and the class of its colour."""
    if asked.resolved_at is None:
        return "not answered", "warn"
    if asked.is_replaced:
        return "withdrawn: the change it asked about was different by then, and was asked about again", "warn"
    what = (
        "answered" if asked.kind == "question" else _DECISIONS.get(asked.decision or "", str(asked.decision))
    )
    channel = _CHANNELS.get(asked.channel or "", "")
    who = {
        "person": f"by the user {channel}".rstrip(),
        "rule": f"by a rule{f' ({asked.rule})' if asked.rule else ''}",
        "mode": "by the permission mode",
    }.get(asked.by or "person", f"by {asked.by}")
    after = sum(last - first for first, last in asked.waited)
    colour = "bad" if asked.decision == "reject" else "good"
    return f"{what} {who}" + (f" after {duration(after)}" if asked.by == "person" else ""), colour


def pretty(value: Any) -> str:
    """The arguments of a call as a user reads them: JSON, unless they are a text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def end(text: str, most_lines: int, most_characters: int) -> str:
    """The last lines of a text."""
    return "\n".join(text.rstrip("\n").split("\n")[-most_lines:])[-most_characters:]


def cut(text: str, most_lines: int, most_characters: int) -> tuple[str, str | None]:
    """The beginning of a text, and what is said of the rest."""
    lines = text.split("\n", most_lines)
    kept = "\n".join(lines[:most_lines])[:most_characters]
    left = len(text) - len(kept)
    if left <= 0:
        return text, None
    if text[len(kept)] == "\n":
        more = counted(text.removesuffix("\n").count("\n", len(kept)), "more line")
    else:
        more = counted(left, "more character")
    return kept, f"{more} left out here; an export of the session has the whole."
