"""A change of one file, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from outrider.ports.model import content_hash
from outrider.ports.text import TextEncoding
from outrider.workspace.paths import Located
from outrider.workspace.text.diff import Difference


@dataclass(frozen=True)
class Change:
    """A change of one file, worked out in full. What follows from its texts alone is worked out once."""

    operation: Literal["edit", "create", "delete", "rename"]
    located: Located
    to: Located | None
    """The new place of a rename."""
    before: str | None
    """The text it was worked out for; None: there must be no file."""
    after: str | None
    """The text it leaves, written exactly so; None: no file."""
    encoding: TextEncoding = "utf-8"
    """How a file that it makes, or takes away, holds its text. An edit keeps what it finds."""
    mode: int | None = None
    """Permission bits of such a file, where they are not those of any new one; of an edit those that it puts back."""
    mode_now: int | None = None
    """Those that a file must have for that."""
    folder: Located | None = None
    """The folder that goes with the last file in it: with any other file in it nothing is done."""
    folders: Mapping[str, int] = field(default_factory=dict[str, int])
    """That one, which is `.`, and those in it by their paths there, with their permission bits."""
    under_document: bool = False
    """Whether a file may come to a place of which a document is open: it stays as it is, over the file."""
    hashed: tuple[str, str] | None = None
    """A text and its content hash, where that is known: for a big one it takes milliseconds."""

    @cached_property
    def difference(self) -> Difference:
        """What it changes; no text counts as an empty one."""
        return Difference(self.before or "", self.after or "")

    @cached_property
    def contents(self) -> Mapping[str, tuple[str, bytes]]:
        """The texts `before` and `after`, as far as there are such, each with its content hash and as its blob."""
        texts = {"before": self.before, "after": self.after}
        return {name: self._content(text) for name, text in texts.items() if text is not None}

    def _content(self, text: str) -> tuple[str, bytes]:
        blob = text.encode("utf-8", "surrogatepass")
        # What is worked out of a change may have another text: a hash is believed for its own alone.
        is_known = self.hashed is not None and self.hashed[0] == text
        return self.hashed[1] if self.hashed is not None and is_known else content_hash(blob), blob


@dataclass(frozen=True, slots=True)
class Written:
    """A change that is in place, verified by its text."""

    where: Literal["buffer", "disk"]
    after: str | None
    """The text as it was found."""
    merged: bool
    """Whether it is not the planned one, because somebody typed meanwhile; both are in it.

    Of a file that was taken away with the planned text: what they typed is left in its buffer, unsaved.
    """
    uri: str = ""
    """Of the document that was changed, as the client spells it; empty for the disk."""
    without: str | None = None
    """The text as it was found, but without the change, where that is known and not what the change was worked out for."""
    made_folder: str | None = None
    """The topmost folder of the workspace that was made for the file."""
    stays: str = ""
    """Why only a part of the change is in place, or one at a wrong place, where that is so."""


@dataclass(frozen=True, slots=True)
class NotWritten:
    """A change that did not happen."""

    kind: Literal["changed", "exists", "missing", "not_applied", "altered", "unsupported", "failed"]
    message: str
    current: str | None = None
    """The text as it is now, where that helps."""
