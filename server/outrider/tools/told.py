"""What the model is told of a change that it did not make: a short diff, or the advice to read the file again. Pure."""

from dataclasses import dataclass
from typing import Literal

from outrider.ports.text import one_line
from outrider.ports.visible import visible
from outrider.workspace.diff import unified
from outrider.workspace.encoding import apart

MOST_CHARACTERS = 3000
"""Of a diff that is told."""
MOST_COMPARED = 1_000_000
"""Characters of the biggest text that is compared; comparing more takes too long for what it tells."""

By = Literal["editor", "disk", "command", "undo"]

_WAYS: dict[By, str] = {
    "editor": "in the editor",
    "disk": "on the disk, by another program",
    "command": "by the command",
    "undo": "by an undo that the person asked for",
}


@dataclass(frozen=True, slots=True)
class Telling:
    """What is said."""

    text: str
    whole: bool
    """Whether it says all of it."""
    compared: bool
    """Whether the texts are small enough to be compared."""


def telling(
    path: str, before: str | None, after: str | None, by: By, why_not: str = "", command: str = ""
) -> Telling:
    """Say what changed between the text that the model knows and the text of now.

    Args:
        path: The file.
        before: The text that it knows; None: there was none.
        after: The text of now; None: there is none.
        by: Who changed it.
        why_not: Why there is no text, if the file is there all the same.
        command: Which command, as it is shown.
    """
    way = f"{_WAYS[by]} `{command}`" if command else _WAYS[by]
    if after is None:
        told = f"changed {way} and cannot be read any more: {why_not}" if why_not else f"deleted {way}"
        return Telling(
            f"[{one_line(path)} was {told}.]", whole=True, compared=len(before or "") <= MOST_COMPARED
        )
    before, after = before and apart(before)[1], apart(after)[1]
    compared = len(before or "") <= MOST_COMPARED and len(after) <= MOST_COMPARED
    verb = "created" if before is None else "changed"
    diff = unified(before or "", after, path, context=2) if compared else ""
    if not diff and compared and before is None:
        return Telling(f"[{one_line(path)} was created {way}. It is empty.]", whole=True, compared=True)
    if not diff or len(diff) > MOST_CHARACTERS:
        return Telling(_too_much(path, verb, way), whole=False, compared=compared)
    told = f"[{one_line(path)} was {verb} {way} since you last saw it:]\n{diff}"
    return Telling(visible(told), whole=True, compared=compared)


def telling_without(path: str, by: By) -> Telling:
    """Say that a text changed, where it is not known any more what the model knows of it."""
    return Telling(_too_much(path, "changed", _WAYS[by]), whole=False, compared=False)


def _too_much(path: str, verb: str, way: str) -> str:
    return (
        f"[{one_line(path)} was {verb} {way} since you last saw it. That is too much to show: read it again before you "
        "rely on it.]"
    )
