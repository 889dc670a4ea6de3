"""Pieces of canned turns."""

from typing import Any


def finished(outcome: str = "completed", summary: str = "", reason: str | None = None) -> dict[str, Any]:
    usage = {"inputTokens": 1200, "outputTokens": 34}
    return {
        "event": "turn.finished",
        "outcome": outcome,
        "reason": reason or outcome,
        "summary": summary,
        "usage": usage,
    }
