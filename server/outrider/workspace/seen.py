"""Which text of which file the model has last seen, folded from the events of a session.

A pure projection. It keeps hashes and not texts, so that it survives a restart and costs nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from outrider.ports.events import LoggedEvent


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

    def get(self, path: str) -> Sight | None:
        """What it knows of a file; None where it has never seen it."""
        return self._sights.get(path)

    def apply(self, event: LoggedEvent) -> None:
        """Fold one event; those of other types change nothing."""
        data = event.data
        match event.type:
            case "tool.finished":
                for one in data.get("read", ()):
                    self._put(one["path"], Sight(one["hash"]))
            case "workspace.changed" if data["path"] in self._sights and not data.get("unshown"):
                whole = self._sights[data["path"]].whole and data.get("whole", True)
                self._put(data["path"], Sight(data.get("after"), whole=whole))
            case "workspace.renamed":
                for one in data["files"]:
                    self._moved(one["path"], one["to"])
            case "edit.applying" if "callId" in data:
                self._planned[data["changeId"]] = data.get("after")
            case "edit.rejected":
                self._planned.pop(data["changeId"], None)
            case "edit.applied" | "edit.merged" if "callId" in data:
                # What somebody typed while it was applied is in `after`, and nothing that the model knows of.
                planned, after = self._planned.pop(data["changeId"], data.get("after")), data.get("after")
                self._changed(data, planned if event.type == "edit.merged" else after)
            case _:
                pass

    def _changed(self, data: dict[str, Any], after: str | None) -> None:
        path, before, sight = data["path"], data.get("before"), self._sights.get(data["path"])
        match data.get("operation", "edit"):
            case "create":
                self._put(path, Sight(after))
            case "delete":
                self._put(path, Sight(None))
            case "rename" if sight is not None:
                self._put(path, Sight(None))
                self._put(data["to"], sight)
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
