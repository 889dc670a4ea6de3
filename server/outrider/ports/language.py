"""What is known of code, and what those who know it must see of the workspace. `language` finds it out, tools ask for it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from outrider.ports.editor import Reported

Trial = Literal["off", "errors", "all"]
"""Which problems count when an edit is tried before it is asked for: none, errors, or warnings too."""


CREATED, CHANGED, DELETED = 1, 2, 3
"""What can happen to a file on disk (LSP 3.17, "FileChangeType")."""


def merged(before: int | None, now: int) -> int:
    """What became of a file to which two things happened, for who knows of neither."""
    if before == CREATED and now == CHANGED:
        return CREATED
    return CHANGED if before == DELETED and now == CREATED else now


@dataclass(frozen=True, slots=True)
class OpenText:
    """A document that is open in the editor."""

    uri: str
    """As `Path.as_uri` spells it."""
    text: str
    version: int
    name: str
    """Its URI as the editor spells it."""


class Sources(Protocol):
    """The workspace as language servers are shown it: open buffers over the disk."""

    @property
    def folders(self) -> Sequence[Path]:
        """The trusted workspace folders: code of others is not run."""
        ...

    @property
    def untrusted(self) -> Mapping[Path, Literal["undecided", "refused"]]:
        """The other workspace folders, and whether the user has yet to say what they are."""
        ...

    def open(self) -> Sequence[OpenText]:
        """The open documents that are files of the workspace."""
        ...

    async def texts(self, uris: Sequence[str]) -> Mapping[str, str]:
        """The texts of files as the user sees them; those that have none are left out."""
        ...

    async def changes(self, uris: Collection[str] = ()) -> Mapping[str, int]:
        """The files on disk in the trusted folders that anybody changed since the last call. The first call returns none.

        Args:
            uris: Files that are looked at themselves, wherever in these folders they lie.

        Returns:
            URIs, each with what happened (LSP 3.17, "FileChangeType").
        """
        ...

    async def extensions(self) -> Mapping[Path, frozenset[str]]:
        """The endings of the files of each workspace folder, such as `.py`, as far as one short look finds them."""
        ...

    async def mentions(self, text: str, *, whole: bool) -> Sequence[str]:
        """URIs of files that hold a text, or it as a whole word, those that do so most often first."""
        ...


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a file. Columns count characters, from 0."""

    uri: str
    line: int
    column: int
    name: str = field(default="", compare=False)
    """What must stand there; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class Found:
    """A place that was found, with what is there."""

    spot: Spot
    line: str
    """The line's text, without the space around it."""
    name: str = ""
    kind: str = ""
    """`function`, `class` and the like; empty where nobody said."""
    detail: str = ""
    """Its signature or container."""
    depth: int = 0
    """How many named things it lies in."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """What becomes of one file, worked out by a language server."""

    operation: Literal["edit", "create", "delete", "rename"]
    uri: str
    before: str | None
    after: str | None
    to: str = ""
    """The new URI of a rename."""


@dataclass(frozen=True, slots=True)
class CodeAction:
    """Something that a language server offers to do."""

    title: str
    kind: str
    preferred: bool


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why there is no answer; `message` is for the model."""

    message: str
    nobody: bool = False
    """Whether there is nobody to ask."""


@dataclass(frozen=True, slots=True)
class Touched:
    """A file that an edit changes."""

    uri: str
    before: str | None
    """None: there is none."""
    after: str | None
    lines: Sequence[range] = ()
    """The lines of the text before that it changes, from 0."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an edit does to the problems of the files it changes, and of those that refer to them."""

    introduced: Sequence[Reported] = ()
    fixed: Sequence[Reported] = ()
    about: Mapping[str, str] = field(default_factory=dict[str, str])
    """The texts of the workspace that it was found with, by URI."""
    unjudged: int = 0
    """Files that refer to the changed ones and were not looked at: there are too many."""
    unfollowed: int = 0
    """Changed names whose users were not looked for: there are too many."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How a language server is."""

    name: str
    folder: str
    state: Literal["missing", "lent", "available", "starting", "running", "ended", "failed"]
    version: str = ""
    memory: int | None = None
    """Bytes; None where it is not known."""
    detail: str = ""
    """The last error, or how to get it; of what the editor lends who answered."""
