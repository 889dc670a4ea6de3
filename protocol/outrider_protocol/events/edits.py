"""Events of changes: proposed, made, merged, taken back, saved, and those of others."""

from typing import Annotated, Literal

from pydantic import StringConstraints

from outrider_protocol.events.base import EventData
from outrider_protocol.wire import Wire

FileMode = Annotated[str, StringConstraints(pattern=r"^[0-7]{3}$")]
"""Permission bits of a file, in octal."""


Operation = Literal["edit", "create", "delete", "rename"]


UndoScope = Literal["hunk", "step", "turn", "session"]


class WireHunk(Wire):
    """One changed stretch of a text: whole lines, `line` being the first one in the text before, from 1."""

    line: int
    removed: str
    added: str


class GoingFolder(Wire):
    """A folder that goes with its last file."""

    path: str
    """Its path in the one that goes, which is `.`."""
    mode: FileMode
    """Its permission bits, in octal."""


class EditEvent(EventData):
    """What all edit events say: which change, by which call, to which path."""

    change_id: str
    call_id: str | None = None
    path: str
    operation: Operation = "edit"
    to: str | None = None
    """The new path of a rename."""
    hunks: list[WireHunk]
    encoding: Literal["utf-16-le", "utf-16-be"] | None = None
    """How the file holds its text, where that is not UTF-8; absent in logs of old for an edit."""
    mode: FileMode | None = None
    """Permission bits, in octal, of the file that is deleted or comes back, where they are not those of any new file; of
    an edit those that it puts back."""
    kept_mode: FileMode | None = None
    """Permission bits, in octal, that an edited file keeps, where they are not those of any new file: it is made again
    with them if somebody deletes it and the edit is taken back."""
    hidden: list[Literal["bom", "crlf"]] | None = None
    """What the file has and the open document, whose text counts here, does not show: a byte order mark, line ends with a
    carriage return."""
    folder: str | None = None
    """The folder that goes with the file, which is its last one."""
    folders: list[GoingFolder] | None = None
    """That folder and those in it, which come back with it."""


class EditProposed(EditEvent):
    """A change was worked out; nothing has happened yet."""

    TYPE = "edit.proposed"
    before: str | None = None
    """Content hash of the text it was worked out for; absent where there is no file."""
    after: str | None = None
    """Content hash of the text it would leave; absent where it would leave no file."""


class EditApplying(EditEvent):
    """A change is about to be written. It is on disk before the change is."""

    TYPE = "edit.applying"
    before: str | None = None
    """Content hash of the text before; absent where the file did not exist."""
    after: str | None = None
    """Content hash of the text after; absent where the file is deleted."""
    undoes: str | None = None
    """The change that this one takes back."""
    undoes_hunks: list[int] | None = None
    """Which of its hunks, as the first change counts them, from 1; absent: all."""
    place: str | None = None
    """The real path of the file, where `path` in the session's folders does not tell it: a link leads there, or the
    folders are others by now. An undo changes no other file."""
    to_place: str | None = None
    """The same of `to`."""
    besides: list[str] | None = None
    """What a file that is deleted has besides its text and its permission bits, and would not come back with: the names
    of its extended attributes, `setuid`, `setgid`, `sticky`."""


class EditApplied(EditEvent):
    """A change is in place, verified by its text."""

    TYPE = "edit.applied"
    before: str | None = None
    after: str | None = None
    undoes: str | None = None
    undoes_hunks: list[int] | None = None
    where: Literal["buffer", "disk"]
    made_folder: str | None = None
    """The topmost folder that was made for the file; an undo takes it away again, if nothing else came into it."""
    stays: str | None = None
    """Why it is not what was planned, but a part of that, or at a wrong place."""


class EditRejected(EditEvent):
    """A change did not happen."""

    TYPE = "edit.rejected"
    reason: str


class EditMerged(EditEvent):
    """A change was put into a text that had moved meanwhile; `after` is what is there now."""

    TYPE = "edit.merged"
    before: str | None = None
    after: str | None = None
    undoes: str | None = None
    undoes_hunks: list[int] | None = None


class UndoRequested(EventData):
    """The person takes changes back, or brings them back; what comes of it follows as `edit.*` events."""

    TYPE = "undo.requested"
    redo: bool = False
    scope: UndoScope
    id: str | None = None


class UndoAsked(EventData):
    """The person was asked about a place that somebody changed since."""

    TYPE = "undo.asked"
    id: str
    """The hunk."""
    path: str
    line: int
    choice: str | None = None
    """The title that was chosen; absent where there was no answer, and the place is left as it is."""


class UndonePath(Wire):
    """What was taken back in one file."""

    path: str
    hunks: int


class Conflict(Wire):
    """What was left as it is, because somebody changed the same place since."""

    path: str
    line: int
    reason: str
    id: str | None = None
    """The hunk."""


class NotUndoable(Wire):
    """What cannot be taken back, and why."""

    what: str
    reason: str


class UndoFinished(EventData):
    """What an undo or a redo did."""

    TYPE = "undo.finished"
    undone: list[UndonePath]
    conflicts: list[Conflict]
    not_undoable: list[NotUndoable]


class WorkspaceChanged(EventData):
    """A file that the session knows was changed by someone else: the person, a formatter, a command."""

    TYPE = "workspace.changed"
    path: str
    hunks: list[WireHunk]
    """Empty where there is no text to compare, or too much of it."""
    before: str | None = None
    """Content hash of the text before; absent where there was none."""
    after: str | None = None
    """Content hash of the text now; absent where there is none: the file is gone, or cannot be read as text."""
    by: Literal["editor", "disk", "command", "undo"] | None = None
    """Where it came from; absent in logs of old."""
    change_id: str | None = None
    """By a command: the change that an undo takes back."""
    call_id: str | None = None
    """By a command: the call."""
    encoding: Literal["utf-16-le", "utf-16-be"] | None = None
    """By a command: how the file held its text; absent for UTF-8."""
    mode: FileMode | None = None
    """By a command: the permission bits, in octal, of a file that it deleted, where they were not those of any new file,
    or of one that has others now."""
    mode_after: FileMode | None = None
    """By a command: the permission bits that the file has now, where it changed them."""
    folder: str | None = None
    """By a command: the topmost folder that went with the file."""
    folders: list[GoingFolder] | None = None
    """By a command: that folder and those in it that lie above the file; they come back with it."""
    made_folder: str | None = None
    """By a command: the topmost folder that came with the file, as for an edit."""
    place: str | None = None
    """By a command: the real path of the file, where `path` in the session's folders does not tell it, as for an edit."""
    unsure: bool | None = None
    """True where it may as well be somebody else's, so that no undo takes it back."""
    unshown: bool | None = None
    """True where the file on the disk was changed and the open buffer, which is what the model sees, was not."""
    told: str | None = None
    """What the model is told of it with the next request; absent where it never saw the file."""
    whole: bool | None = None
    """False where what it is told is not all of it, so that it has to read the file again."""


class TouchedFile(Wire):
    """What a command changed, and which no undo puts back: a file whose text before is not in the log, or no file."""

    path: str
    how: Literal["changed", "created", "deleted", "mode"]
    mode: FileMode | None = None
    """Its permission bits before, in octal; where `how` is `mode`."""
    mode_after: FileMode | None = None
    """Those after."""
    kind: Literal["link", "folder", "shut"] | None = None
    """A symbolic link, a folder, or a file that is shut, which was compared from outside alone; absent for others."""
    to: str | None = None
    """Where a link led before."""


class WorkspaceTouched(EventData):
    """What else a command did to the files of the workspace: no undo can take it back."""

    TYPE = "workspace.touched"
    call_id: str
    """The call of the command."""
    command: str
    """The command, as it is shown."""
    files: list[TouchedFile]
    more: int | None = None
    """How many further files there are."""
    unseen: str | None = None
    """Why it is not known what else it changed; absent where all was looked at."""


class RenamedFile(Wire):
    """A file that has another path, and what a session knows of it goes on there."""

    path: str
    to: str
    place: str | None = None
    """Its real path before, where `path` in the session's folders does not tell it, as for an edit."""
    to_place: str | None = None
    """Its real path now, where `to` does not tell it."""


class WorkspaceRenamed(EventData):
    """A file, or a folder, was renamed or moved in the editor: what the session knows of it follows."""

    TYPE = "workspace.renamed"
    path: str
    to: str
    files: list[RenamedFile]
    """The files that the session knows, of a folder those in it."""
    told: str
    """What the model is told of it with the next request."""


class NotSaved(Wire):
    """A document that the client did not save."""

    path: str
    reason: str


class WorkspaceSaved(EventData):
    """Before a command the client was asked to save what the agent had changed: what is saved, by what is seen."""

    TYPE = "workspace.saved"
    call_id: str
    """The call of the command."""
    by: Literal["extension", "refactoring"]
    """The request `outrider/save`, or an edit marked as a refactoring, after which some clients save."""
    paths: list[str]
    """The documents that are saved now."""
    failed: list[NotSaved] | None = None
    """Those that are not, and why."""
