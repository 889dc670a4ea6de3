"""Models in the tests of editors take their time, as real ones do: an answer that is there at once hides what an editor does late."""

import json
import os
from typing import Any

SECONDS = float(os.environ.get("OUTRIDER_PACE", "0.05"))
"""How long the model waits before each piece of an answer."""
PIECES = 3
READING = 0.4
"""How long a user reads a question, in seconds: a yes within 0.3 s of it is asked for again."""


def script(turns: list[dict[str, Any]] | tuple[dict[str, Any], ...], **more: Any) -> str:
    """A script for the model, in JSON. Turns that say how fast they come are as they are; `more` is what else it has."""
    return json.dumps({"turns": [_paced(turn) for turn in turns], **more})


def _paced(turn: dict[str, Any]) -> dict[str, Any]:
    if "delay" in turn or "chunk" in turn:
        return turn
    longest = max(len(turn.get("text", "")), len(turn.get("reasoning", "")))
    return {"delay": SECONDS, "chunk": longest // PIECES + 1, **turn}
