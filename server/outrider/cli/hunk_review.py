"""A review of an edit at the keyboard: its changes one after the other, each taken, left out or put in other words."""

import asyncio
import os
import shlex
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final, cast

from outrider.cli.diffs import diff_lines
from outrider.cli.terminal import one_line, visible

Data = dict[str, Any]

REVIEW_KEY: Final = "r"
_WAYS: Final = "y take it, n leave it out, e edit it, a take it and all others, q back"


@dataclass(frozen=True, slots=True)
class ReviewedChange:
    """One hunk of an edit that waits for a yes."""

    id: str
    path: str
    operation: str
    hunk: Data | None
    """Its lines; None for what has none, such as a renaming."""
    to: str = ""

    @property
    def title(self) -> str:
        """What it does, and where."""
        path = one_line(self.path)
        match self.operation:
            case "rename":
                return f"rename {path} to {one_line(self.to)}"
            case "create" | "delete":
                return f"{self.operation} {path}"
            case _:
                return f"{path} line {self.hunk['line'] if self.hunk else 1}"

    @property
    def may_be_edited(self) -> bool:
        """Whether it puts lines in, which may be others."""
        return self.hunk is not None and self.operation not in {"delete", "rename"}


def changes_of(proposed: Sequence[Data]) -> list[ReviewedChange]:
    """The hunks of what was proposed together, in order.

    Args:
        proposed: The data of each `edit.proposed`.
    """
    found: list[ReviewedChange] = []
    for data in proposed:
        hunks = cast("list[Data | None]", data.get("hunks") or [None])
        operation = str(data.get("operation", "edit"))
        for number, hunk in enumerate(hunks, start=1):
            name, to = f"{data['changeId']}#{number}", str(data.get("to", ""))
            found.append(ReviewedChange(name, str(data["path"]), operation, hunk, to))
    return found


@dataclass(slots=True)
class HunkReview:
    """One review."""

    changes: Sequence[ReviewedChange]
    say: Callable[[str, str], None]
    """Shows a line in a style."""
    ask: Callable[[str], Awaitable[str | None]]
    """Shows a text and gives the line that is typed then, None at the end of the input."""

    async def decide(self) -> list[Data] | None:
        """Go through all changes; gives the `review` of an answer, None where the person went back."""
        decided: list[Data] = []
        for number, change in enumerate(self.changes, start=1):
            self.say(f"  change {number} of {len(self.changes)}: {change.title}", "bold")
            for line in diff_lines([change.hunk])[1:] if change.hunk else []:
                self.say(f"    {visible(line)}", {"+": "green", "-": "red"}.get(line[:1], ""))
            one = await self._decide(change)
            if one is None:
                return None
            if one == "all":
                return [
                    *decided,
                    *({"id": rest.id, "decision": "take"} for rest in self.changes[number - 1 :]),
                ]
            decided.append(cast("Data", one))
        return decided

    async def _decide(self, change: ReviewedChange) -> Data | str | None:
        while True:
            typed = await self.ask(f"  {_WAYS}: ")
            match (typed or "").strip().lower():
                case "y":
                    return {"id": change.id, "decision": "take"}
                case "n":
                    reason = ((await self.ask("  why not? Enter for no reason: ")) or "").strip()
                    return {"id": change.id, "decision": "reject"} | ({"reason": reason} if reason else {})
                case "a":
                    return "all"
                case "e":
                    if (text := await self._edited(change)) is not None:
                        return {"id": change.id, "decision": "take", "text": text}
                case "" | "q":
                    return None
                case other:
                    self.say(f"  “{visible(other)}” is none of them", "yellow")

    async def _edited(self, change: ReviewedChange) -> str | None:
        """The lines that it puts in, as the person wrote them in their own editor; None where they did not."""
        if change.hunk is None or not change.may_be_edited:
            self.say("  there are no lines to edit: y or n", "yellow")
            return None
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor:
            self.say("  no editor is known: neither VISUAL nor EDITOR is set", "yellow")
            return None
        with tempfile.TemporaryDirectory() as folder:
            # With the name, so that the editor knows the language.
            file = Path(folder, PurePath(change.path).name)
            await asyncio.to_thread(_write, file, str(change.hunk["added"]))
            try:
                editing = await asyncio.create_subprocess_exec(*shlex.split(editor), str(file))
                code = await editing.wait()
                text = await asyncio.to_thread(_read, file)
            except (OSError, ValueError) as problem:
                self.say(f"  {visible(editor)} could not be used: {problem}", "yellow")
                return None
        if code:
            self.say(f"  {visible(editor)} ended with {code}, so nothing was changed", "yellow")
            return None
        if text == change.hunk["added"]:  # whoever leaves an editor without saving has not said yes
            self.say("  nothing was changed in it: y takes it as it is", "yellow")
            return None
        return text


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="")


def _read(file: Path) -> str:
    return file.read_bytes().decode("utf-8")
