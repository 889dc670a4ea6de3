"""Which text of which file the model has last seen, folded from the events of a session.

A pure projection. It keeps hashes and not texts, so that it survives a restart and costs nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from outrider.ports.events import LoggedEvent
from outrider.workspace.text.diff import changed_ranges, ended_lines, has_end
from outrider.workspace.text.lines import split_lines
from outrider_protocol import logged


@dataclass(frozen=True, slots=True)
class Sight:
    """What the model knows of one file."""

    hash: str | None
    """Content hash of the text it has last seen; None: it knows that there is none."""
    own: tuple[tuple[str | None, str | None], ...] = ()
    """Its own changes since of a text that it had not seen, as the texts before and after each."""
    whole: bool = True
    """Whether it has that text; else it knows only that the file was changed."""

    @property
    def expected(self) -> str | None:
        """Content hash of the text that is there if nobody else has changed the file."""
        return self.own[-1][1] if self.own else self.hash


class Seen:
    """What the model has seen, by path; what it saw last comes last."""

    def __init__(self) -> None:
        self._sights: dict[str, Sight] = {}
        self._planned: dict[str, str | None] = {}
        """The text that each change on its way is to leave."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._sights)

    def copy(self) -> "Seen":
        """What it knows now, which later events do not change."""
        other = Seen()
        other._sights, other._planned = dict(self._sights), dict(self._planned)
        return other

    def get(self, path: str) -> Sight | None:
        """What it knows of a file; None where it has never seen it."""
        return self._sights.get(path)

    def apply(self, event: LoggedEvent) -> None:
        """Fold one event; those of other types change nothing."""
        match event.type:
            case "tool.finished":
                for one in event.data.get("read", ()):
                    self._put(one["path"], Sight(one["hash"]))
            case "workspace.changed" if not event.data.get("unshown"):
                if (known := self._sights.get(path := event.data["path"])) is not None:
                    whole = known.whole and event.data.get("whole", True)
                    self._put(path, Sight(event.data.get("after"), whole=whole))
            case "workspace.renamed":
                for one in event.data["files"]:
                    self._moved(one["path"], one["to"])
            case "edit.applying" if "callId" in event.data:
                self._planned[event.data["changeId"]] = event.data.get("after")
            case "edit.rejected":
                self._planned.pop(event.data["changeId"], None)
            case "edit.applied" if "callId" in event.data:
                self._planned.pop(event.data["changeId"], None)
                self._changed(event.data, event.data.get("after"))
            case "edit.merged" if "callId" in event.data:
                # What somebody typed while it was applied is in `after`, and nothing that the model knows of.
                planned = self._planned.pop(event.data["changeId"], event.data.get("after"))
                self._changed(event.data, planned)
            case _:
                pass

    def _changed(self, data: logged.EditApplied | logged.EditMerged, after: str | None) -> None:
        path, before, sight = data["path"], data.get("before"), self._sights.get(data["path"])
        match data["operation"]:
            case "create":
                self._put(path, Sight(after))
            case "delete":
                self._put(path, Sight(None))
            case "rename" if sight is not None:
                self._put(path, Sight(None))
                self._put(data.get("to", path), sight)
            case "edit" if sight is not None:
                changed = (
                    replace(sight, hash=after)
                    if before == sight.expected and not sight.own
                    else replace(sight, own=(*sight.own, (before, after)))
                )
                self._put(path, changed)
            case "edit":
                self._put(path, Sight(after, whole=False))
            case _:
                pass

    def _moved(self, path: str, to: str) -> None:
        # What it knows to be gone is not what has another path now.
        if (sight := self._sights.get(path)) is not None and sight.expected is not None:
            self._put(path, Sight(None))
            self._put(to, sight)

    def _put(self, path: str, sight: Sight) -> None:
        self._sights.pop(path, None)
        self._sights[path] = sight


@dataclass(frozen=True, slots=True)
class Clash:
    """Lines `start:end` of the text as it is now, from 0, that both changed."""

    start: int
    end: int


def clash(seen: str, now: str, after: str) -> Clash | None:
    """The first place of `now` that the change from `now` to `after` and the one from `seen` to `now` have in common.

    Changes of whole lines are compared. Those that only touch have nothing in common, and neither have an insertion
    and a change right beside it; two insertions at one point have. That the last line got an end, or lost it, is no
    change of that line.

    Args:
        seen: The text for which the change was made.
        now: The text for which it was worked out.
        after: The text that it leaves.
    """
    was, lines, becomes = ended_lines(seen, now, after)
    # Both are worked out from `now`, so that taking exactly the other change back is found among lines that moved.
    others = [(one.start, one.end) for one in changed_ranges(lines, was)]
    for change in changed_ranges(lines, becomes):
        for start, end in others:
            if (start < change.end and change.start < end) or (start, end) == (change.start, change.end):
                return Clash(min(start, change.start), max(end, change.end))
    if lines and has_end(now) not in {has_end(seen), has_end(after)}:
        return Clash(len(lines) - 1, len(lines))
    return None


def carried_over(seen: str, now: str, after_line: int) -> int | Clash:
    """The line of `now` after which comes what was meant to come after a line of `seen`.

    A replaced line right beside the place does not change it; lines put in or taken out there do, as for `clash`.

    Args:
        seen: The text whose lines were counted.
        now: The text as it is.
        after_line: A line of `seen`, from 1; 0 for the top.

    Returns:
        That line, from 1, or the place that was changed. A line that `seen` does not have is at the end of `now`.
    """
    # Whether a line has an end makes no difference to what comes after it.
    lines = [line.rstrip("\r\n") for line in split_lines(now)]
    counted = [line.rstrip("\r\n") for line in split_lines(seen)]
    if lines == counted:
        return after_line
    if after_line > len(counted):
        return Clash(len(lines), len(lines))
    moved = 0
    for other in changed_ranges(lines, counted):
        start, end = other.new_start, other.new_end
        if end < after_line:
            moved = other.end - end
        elif start <= after_line:
            replaced = start < end and other.start < other.end
            if not replaced or start < after_line < end:
                return Clash(other.start, other.end)
            return other.end if after_line == end else other.start
    return after_line + moved
