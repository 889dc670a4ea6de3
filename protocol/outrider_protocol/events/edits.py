"""Events of changes: proposed, made, merged, taken back, saved, and those of others."""

from typing import Annotated, Literal

from pydantic import StringConstraints

from outrider_protocol.choices import UndoScope
from outrider_protocol.events.base import EventData
from outrider_protocol.wire import Wire

FileMode = Annotated[str, StringConstraints(pattern=r"^[0-7]{3}$")]
"""Permission bits of a file, in octal."""


Operation = Literal["edit", "create", "delete", "rename"]


class WireHunk(Wire):
    """One changed stretch of a text, in whole lines."""

    line: int
    """The first line in the text before, from 1."""
    removed: str
    """The lines removed."""
    added: str
    """The lines added."""


class GoingFolder(Wire):
    """A folder that is deleted with its last file."""

    path: str
    """Its path within the deleted folder, which is `.`."""
    mode: FileMode
    """Its permission bits, in octal."""


class EditEvent(EventData):
    """The keys of every `edit.*` event."""

    change_id: str
    call_id: str | None = None
    path: str
    operation: Operation = "edit"
    """What is done."""
    to: str | None = None
    """The new path of a rename."""
    hunks: list[WireHunk]
    """The changed lines."""
    encoding: Literal["utf-16-le", "utf-16-be"] | None = None
    """The file's encoding if it is not UTF-8."""
    mode: FileMode | None = None
    """Permission bits, in octal, of a created or deleted file if they are not the usual ones; for an edit those it
    restores."""
    kept_mode: FileMode | None = None
    """Permission bits, in octal, that an edited file keeps, if they are not the usual ones: needed if the file is
    deleted and the edit undone."""
    hidden: list[Literal["bom", "crlf"]] | None = None
    """What the file has and its open document does not show: a byte order mark, CRLF."""
    folder: str | None = None
    """The folder that is deleted with its last file."""
    folders: list[GoingFolder] | None = None
    """That folder and those in it; undo restores them."""


class EditProposed(EditEvent):
    """A change was worked out; nothing has happened yet."""

    TYPE = "edit.proposed"
    before: str | None = None
    """Content hash of the text it is for; absent if there is no file."""
    after: str | None = None
    """Content hash of the text it would leave; absent if none."""


class ChangeEvent(EditEvent):
    """The keys of changes that were begun or made."""

    before: str | None = None
    """Content hash of the text before; absent if there was no file."""
    after: str | None = None
    """Content hash of the text after; absent if the file is deleted."""
    undoes: str | None = None
    """The change that this one undoes."""
    undoes_hunks: list[int] | None = None
    """Which hunks of the first change, from 1; absent: all."""


class EditApplying(ChangeEvent):
    """A change is about to be written.

    This is on disk before the change is. An undo may begin edits of several files before the first has ended.
    """

    TYPE = "edit.applying"
    place: str | None = None
    """The real path, if `path` does not tell it: a link leads there, or the session's folders have changed. An undo
    changes no other file."""
    to_place: str | None = None
    """The same for `to`."""
    besides: list[str] | None = None
    """What a deleted file loses even if restored: extended attributes, `setuid`, `setgid`, `sticky`."""


class EditApplied(ChangeEvent):
    """A change is in place, verified by its text."""

    TYPE = "edit.applied"
    where: Literal["buffer", "disk"]
    """In the open buffer or on disk."""
    made_folder: str | None = None
    """The topmost folder made for the file; an undo deletes it if it is empty."""
    stays: str | None = None
    """Why only a part of it is in place, or at a wrong place."""


class EditRejected(EditEvent):
    """A change did not happen."""

    TYPE = "edit.rejected"
    reason: str
    """Why."""


class EditMerged(ChangeEvent):
    """It is in place together with what others wrote meanwhile; `after` is the text now.

    If the file was deleted or renamed, their text may be left unsaved in its document.
    """

    TYPE = "edit.merged"


class UndoRequested(EventData):
    """Changes are undone or redone; `edit.*` events follow. It belongs to no turn."""

    TYPE = "undo.requested"
    redo: bool = False
    """Whether they are redone."""
    scope: UndoScope
    """How much."""
    id: str | None = None
    """What of that scope; absent: the latest."""


class UndoAsked(EventData):
    """The user was asked about a place that others changed since."""

    TYPE = "undo.asked"
    id: str
    """The hunk."""
    path: str
    line: int
    """Where it is."""
    choice: str | None = None
    """The title chosen; absent without an answer, and the place is left."""


class UndonePath(Wire):
    """What was undone or redone in one file."""

    path: str
    hunks: int
    """How many hunks."""


class Conflict(Wire):
    """What was left because others changed the same place since."""

    path: str
    line: int
    """The place, from 1."""
    reason: str
    """What stood against it."""
    id: str | None = None
    """The hunk."""


class NotUndoable(Wire):
    """What cannot be undone."""

    what: str
    """A file, a command or a job."""
    reason: str
    """Why not."""


class UndoFinished(EventData):
    """What an undo or a redo did."""

    TYPE = "undo.finished"
    undone: list[UndonePath]
    """What was changed."""
    conflicts: list[Conflict]
    """What was left because it was changed afterwards."""
    not_undoable: list[NotUndoable]
    """What cannot be undone."""


class WorkspaceChanged(EventData):
    """A file was changed by others: the user, a formatter, a command.

    It is one that the session knows, or that changed after a check. Of one that the model has not read only the path is told.
    """

    TYPE = "workspace.changed"
    path: str
    hunks: list[WireHunk]
    """Empty if there is no text to compare, or too much of it."""
    before: str | None = None
    """Content hash of the text before; absent if there was none."""
    after: str | None = None
    """Content hash of the text now; absent if the file is gone or is not text."""
    by: Literal["editor", "disk", "command", "undo"] | None = None
    """Where it came from; absent in old logs."""
    change_id: str | None = None
    """By a command: the change to undo."""
    call_id: str | None = None
    """By a command: the call."""
    encoding: Literal["utf-16-le", "utf-16-be"] | None = None
    """By a command: the encoding of the text; absent for UTF-8."""
    mode: FileMode | None = None
    """By a command: the permission bits before, if the file was deleted and they were special, or if they changed."""
    mode_after: FileMode | None = None
    """By a command: the permission bits now, if they changed."""
    folder: str | None = None
    """By a command: the topmost folder that was deleted with the file."""
    folders: list[GoingFolder] | None = None
    """By a command: that folder and those in it above the file; undo restores them."""
    made_folder: str | None = None
    """By a command: the topmost folder that was created with the file."""
    place: str | None = None
    """By a command: the real path, as in `edit.applying`."""
    unsure: bool | None = None
    """True if others may have made the change, so no undo takes it back."""
    unshown: bool | None = None
    """True if the file on disk changed but the open buffer, which the model sees, did not."""
    told: str | None = None
    """What the model gets about it with its next request; absent if it never saw the file."""
    whole: bool | None = None
    """False if that is not all of it, so the model must read the file again."""


class TouchedFile(Wire):
    """Something that a command changed and that no undo restores."""

    path: str
    how: Literal["changed", "created", "deleted", "mode"]
    """What happened to it; `mode`: only its permission bits changed."""
    mode: FileMode | None = None
    """For `mode`: its permission bits before, in octal."""
    mode_after: FileMode | None = None
    """Those after."""
    kind: Literal["link", "folder", "shut"] | None = None
    """A symbolic link, a folder, or a secret file (`shut`), compared by its metadata alone; absent for other files."""
    to: str | None = None
    """Where a link led before."""


class WorkspaceTouched(EventData):
    """What else a command did to files of the workspace; no undo takes it back."""

    TYPE = "workspace.touched"
    call_id: str
    """The call of the command."""
    command: str
    """The command, as shown."""
    files: list[TouchedFile]
    """At most 200."""
    more: int | None = None
    """How many more files there are."""
    unseen: str | None = None
    """Why its other changes are unknown; absent if everything was compared."""


class WorkspaceIgnored(EventData):
    """Files that changed after a check are ignored (by `.gitignore` and the like), so the check still stands."""

    TYPE = "workspace.ignored"
    paths: list[str]
    """The files."""


class RenamedFile(Wire):
    """A file that has a new path."""

    path: str
    to: str
    """Its new path."""
    place: str | None = None
    """Its real path before, as in `edit.applying`."""
    to_place: str | None = None
    """Its real path now."""


class WorkspaceRenamed(EventData):
    """A file or folder was renamed in the editor.

    For a session at rest it is in the log alone, even after `session.closed`.
    """

    TYPE = "workspace.renamed"
    path: str
    to: str
    """Its new path."""
    files: list[RenamedFile]
    """The files that the session knows; for a folder those in it."""
    told: str
    """What the model gets about it with its next request."""


class NotSaved(Wire):
    """A document that the client did not save."""

    path: str
    reason: str
    """Why."""


class WorkspaceSaved(EventData):
    """Before a command the client was asked to save what the agent had changed."""

    TYPE = "workspace.saved"
    call_id: str
    """The call of the command."""
    by: Literal["extension", "refactoring"]
    """The request `outrider/save`, or an edit marked as a refactoring."""
    paths: list[str]
    """Documents saved now."""
    failed: list[NotSaved] | None = None
    """The others."""
