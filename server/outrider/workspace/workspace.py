"""The workspace: its folders, and the ways in which files are looked at and changed there.

A session itself reads, watches and changes files only through `texts`, `watch`, `changes` and `cut_off`. Its tools look
at the workspace in more ways, so that for a replay a log can stand in for these four.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from outrider.ports.clock import Clock
from outrider.ports.editor import Editor
from outrider.ports.text import Snapshot
from outrider.processes import Supervisor
from outrider.workspace.documents.documents import Document, DocumentStore
from outrider.workspace.documents.overlay import OnDisk, Overlay, ReadProblem
from outrider.workspace.documents.unsaved_elsewhere import HeldFiles
from outrider.workspace.edits.apply import Editing
from outrider.workspace.edits.change import Change, NotWritten, Written
from outrider.workspace.edits.cut_off import CutOff, Outcomes
from outrider.workspace.paths import Folders, Located
from outrider.workspace.search import Search
from outrider.workspace.syntax.syntax import Syntax
from outrider.workspace.watch.hidden_files import HiddenFiles
from outrider.workspace.watch.obeyed_files import ObeyedFiles
from outrider.workspace.watch.snapshot import Census, Count
from outrider.workspace.watch.staleness import Moved, Sightings


class Texts(Protocol):
    """Reads files as the user sees them; see `Overlay`."""

    async def read(self, located: Located) -> Snapshot | ReadProblem:
        """The text of a file: of its open document, else of the disk."""
        ...

    async def on_disk_all(self, files: Sequence[Located]) -> list[OnDisk | None]:
        """Several files as they are on disk; None where there is none that can be read as text."""
        ...

    async def document_of(self, located: Located) -> Document | None:
        """The open document of a file."""
        ...


class Changes(Protocol):
    """Changes files; see `Editing`."""

    async def write_all(self, wanted: Sequence[Change], label: str) -> Sequence[Written | NotWritten]:
        """Make changes of different files; gives what became of each."""
        ...

    async def remove_folders(self, folders: Sequence[Located]) -> None:
        """Remove those of the folders that are empty."""
        ...


class CutOffs(Protocol):
    """Finds out what became of changes that were cut off; see `Outcomes`."""

    async def became(self, change: CutOff) -> Written | NotWritten:
        """What became of a change that a process began which has ended since."""
        ...


class Watch(Protocol):
    """Tells which files are not any more as they were seen; see `Sightings`."""

    async def moved(self, expected: Mapping[str, str | None]) -> Sequence[Moved]:
        """The files whose text is another one.

        Args:
            expected: The content hash of each file as it was seen; None for a file that was not there.
        """
        ...

    async def count(self) -> Count:
        """All files as they are now, for `changed_since`."""
        ...

    async def changed_since(self, before: Count) -> Sequence[str]:
        """The paths of unignored files that were made, written or deleted since then, as they are shown; some of very many."""
        ...

    async def changed_after(self, seconds: float, now: Count) -> Sequence[str]:
        """The paths of those that were written or made in the latest `seconds` before `now`, and of folders that lost one."""
        ...

    async def ignored(self, paths: Sequence[str]) -> Sequence[str]:
        """Those of some files that are there and are ignored."""
        ...

    def note(self, path: str, located: Located, text: str, digest: str) -> None:
        """Take note of the text that a change left in an open document, and of its content hash."""
        ...

    def hash_of(self, path: str, text: str) -> str | None:
        """The content hash of the text of an open document, where it is known without computing it."""
        ...


class View:
    """A workspace as it is looked at. What it holds changes when folders are added."""

    folders: Folders
    documents: DocumentStore
    """The open documents."""
    overlay: Overlay
    """The texts, buffers over the disk."""
    search: Search
    census: Census
    """Which files there are."""
    texts: Texts
    watch: Watch
    obeyed: ObeyedFiles
    """The files that programs outside of the sandbox obey."""
    hidden_files: HiddenFiles
    """The files and folders that a read-only sandbox hides."""
    why_hidden: Callable[[Sequence[str]], str | None]
    """Why nothing of a file of these names may be seen without an explicit yes; None where it may."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a workspace needs of the machine that it lies on."""

    supervisor: Supervisor
    """Runs searches."""
    clock: Clock
    """Times what waits for the editor or a process."""
    ripgrep: str | None
    """What `find_ripgrep` found."""
    copies_in: Path
    """Where copies of files are kept, once they are asked for."""


@dataclass(frozen=True, slots=True)
class Judges:
    """What is said of the files of a workspace by their names."""

    obeyed: ObeyedFiles
    """The files that programs obey."""
    hidden_files: HiddenFiles
    """The files that a read-only sandbox hides."""
    why_hidden: Callable[[Sequence[str]], str | None]
    """Why a file is protected from being seen, by all its names."""
    is_shut: Callable[[str], bool]
    """Whether it is, by its path alone."""
    leaves_out: Callable[[str], bool]
    """Which paths are not looked at at all; those of folders end with a slash."""


class Workspace(View):
    """A workspace as it is looked at and changed."""

    editing: Editing
    """How files are changed."""
    syntax: Syntax
    changes: Changes
    cut_off: CutOffs

    def __init__(
        self,
        folders: Folders,
        documents: DocumentStore,
        editor: Editor,
        machine: Machine,
        judges: Judges,
        *,
        held: HeldFiles,
        syntax: Syntax,
    ) -> None:
        """Look at some folders.

        Args:
            folders: The workspace folders.
            documents: The open documents.
            editor: Where changes of open documents are made.
            machine: What the machine gives.
            judges: What is said of files by their names.
            held: What other processes hold open unsaved.
            syntax: Finds the syntax errors that edits bring.
        """
        self.on_command: Callable[[str], Awaitable[None]] = _nobody
        """Told of a command that can change files, before it runs and after it ended."""
        self.documents, self.syntax = documents, syntax
        self.obeyed, self.hidden_files = judges.obeyed, judges.hidden_files
        self.why_hidden = judges.why_hidden
        self._editor, self._machine, self._judges, self._held = editor, machine, judges, held
        self.set_folders(folders)

    def set_folders(self, folders: Folders) -> None:
        """Look at other folders from now on."""
        documents, machine, judges = self.documents, self._machine, self._judges
        self.folders = folders
        asked = self._editor.catch_up if self._editor.traits.tells_when_asked else None
        self.overlay = Overlay(folders, documents, asked)
        self.search = Search(
            folders,
            documents,
            self.overlay,
            machine.supervisor,
            machine.clock,
            machine.ripgrep,
            lambda names: self.why_hidden(names) is not None,
        )
        self.census = Census(
            self.search,
            machine.clock,
            judges.is_shut,
            judges.leaves_out,
            judges.hidden_files.rules,
            machine.copies_in,
        )
        self.texts = self.overlay
        self.watch = Sightings(folders, self.overlay, documents, machine.clock, self.census)
        self.cut_off = Outcomes(folders, self.overlay, documents)
        self.changes = self.editing = Editing(
            self.overlay, documents, self._editor, machine.clock, self._held
        )


async def _nobody(_command: str) -> None:
    """Whom a command is told to where nobody counts."""
