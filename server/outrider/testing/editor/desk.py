"""The fake editor's desk: its open buffers, the files under them, and workspace edits applied to both.

It acts as the profile says and reports what happened; it sends nothing.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from outrider.testing.editor.buffers import Buffer, PositionEncoding, read_form
from outrider.testing.editor.profiles import Profile

Object = dict[str, Any]

INTERNAL_ERROR = -32603


@dataclass(slots=True)
class EditOutcome:
    """What became of a workspace edit."""

    applied: bool = True
    """What the editor will claim."""
    reason: str | None = None
    error: str | None = None
    """Text of a JSON-RPC error to answer with, instead of a result."""
    opened: list[Buffer] = field(default_factory=list[Buffer])
    """Buffers that the edit opened, in order."""
    closed: list[str] = field(default_factory=list[str])
    """URIs of buffers that the edit closed."""
    renamed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Old and new URI of each file that it renamed."""


class Desk:
    """Buffers by URI."""

    def __init__(self, profile: Profile, root: Path) -> None:
        """An empty desk; relative paths are meant from `root`."""
        self.profile = profile
        self.root = root
        self.encoding: PositionEncoding = "utf-16"
        self.buffers: dict[str, Buffer] = {}
        self.created: dict[int, list[Path]] = {}
        """Files that workspace edits created, by the number of the edit."""

    def uri(self, name: str | Path) -> str:
        """The URI of a path, of `untitled:NAME`, or of what is a URI already."""
        if isinstance(name, str) and name.startswith(("untitled:", "file:")):
            return name
        return (self.root / name).as_uri()

    def buffer(self, name: str | Path) -> Buffer:
        """The open buffer of that name. Raises KeyError with the names that are open."""
        try:
            return self.buffers[self.uri(name)]
        except KeyError:
            raise KeyError(f"{name} is not open; open are {sorted(self.buffers)}") from None

    def load(self, uri: str, *, by_edit: bool = False) -> Buffer:
        """Open a file in a new buffer; a file that does not exist is an empty, unsaved one."""
        path = path_of(uri)
        buffer = self.new_buffer(uri, path, "")
        buffer.opened_by_edit = by_edit
        if path is not None and path.is_file():
            buffer.text, buffer.form = read_form(path.read_bytes(), self.profile.line_ends)
            buffer.saved = buffer.text
        return buffer

    def new_buffer(self, uri: str, path: Path | None, text: str) -> Buffer:
        """Put a new buffer on the desk."""
        buffer = Buffer(
            uri=uri,
            path=path,
            text=text,
            version=self.profile.first_version,
            encoding=self.encoding,
            line_ends=self.profile.line_ends,
            keeps_final_newline=self.profile.keeps_final_newline,
            adds_line_at_end=self.profile.adds_line_at_end,
        )
        self.buffers[uri] = buffer
        return buffer

    def save(self, buffer: Buffer) -> None:
        """Write a buffer to its file."""
        if buffer.path is None:
            raise ValueError(f"{buffer.uri} has no file")
        text = buffer.text
        if text and not text.endswith("\n") and self.profile.final_newline != "as_is":
            text += buffer.form.line_end
            if self.profile.final_newline == "buffer":
                buffer.replace_text(text)
        buffer.path.parent.mkdir(parents=True, exist_ok=True)
        buffer.path.write_bytes(buffer.form.to_bytes(text))
        buffer.saved = buffer.text

    def apply(self, edit: Object, group: int) -> EditOutcome:
        """Apply a `WorkspaceEdit`, each document in one undo step of that group number."""
        outcome = EditOutcome()
        changes = _changes(edit)
        refused = self._refused(changes)
        if refused is not None:
            return refused
        for change in changes:
            if "kind" in change:
                if self.profile.resource_operations == "apply":
                    problem = self._operate(change, group, outcome)
                    if problem is not None:
                        outcome.applied, outcome.reason = False, problem
                        return outcome
                continue
            document = change["textDocument"]
            uri, version = document["uri"], document.get("version")
            buffer = self.buffers.get(uri)
            if buffer is None:
                buffer = self.load(uri, by_edit=True)
                outcome.opened.append(buffer)
            elif self._is_stale(buffer, version) and self.profile.stale == "skip_and_claim":
                continue
            buffer.apply(change["edits"], group)
        return outcome

    def refused(self, edit: Object) -> EditOutcome | None:
        """How an edit is refused as it stands; None: it is not."""
        return self._refused(_changes(edit))

    def undo_group(self, group: int, besides: Buffer) -> list[Buffer]:
        """Take a workspace edit back in the other buffers, and the files it created; gives the ones changed."""
        changed = [
            buffer
            for buffer in self.buffers.values()
            if buffer is not besides and buffer.undo_steps and buffer.undo_steps[-1].group == group
        ]
        for buffer in changed:
            buffer.undo()
        for path in self.created.get(group, []):
            path.unlink(missing_ok=True)
        return changed

    def redo_group(self, group: int, besides: Buffer) -> list[Buffer]:
        """Do a workspace edit again in the other buffers that still hold it; gives the ones changed."""
        changed = [
            buffer
            for buffer in self.buffers.values()
            if buffer is not besides and buffer.redo_steps and buffer.redo_steps[-1].group == group
        ]
        for buffer in changed:
            buffer.redo()
        for path in self.created.get(group, []):
            path.touch()
        return changed

    def _is_stale(self, buffer: Buffer, version: int | None) -> bool:
        if version is None or (version == 0 and not self.profile.checks_version_zero):
            return False
        return buffer.version != version

    def _refused(self, changes: list[Object]) -> EditOutcome | None:
        if self.profile.resource_operations == "error" and any("kind" in change for change in changes):
            return EditOutcome(applied=False, error="Internal error")
        for change in changes:
            document = change.get("textDocument", {})
            buffer = self.buffers.get(document.get("uri", ""))
            version = document.get("version")
            if buffer is None or not self._is_stale(buffer, version):
                continue
            if self.profile.stale == "refuse":
                return EditOutcome(applied=False, reason="document has changed")
            if self.profile.stale == "error":
                problem = f"Edits on `{buffer.uri}' require version {version}, you have {buffer.version}"
                return EditOutcome(applied=False, error=problem)
        return None

    def _operate(self, change: Object, group: int, outcome: EditOutcome) -> str | None:
        options = cast("Object", change.get("options") or {})
        path = path_of(change.get("uri") or change["newUri"])
        if path is None:
            return "not a file"
        exists = path.exists()
        match change["kind"]:
            case "create":
                truncates = options.get("overwrite") or (self.profile.create_truncates and not options)
                if exists and options.get("ignoreIfExists") and not options.get("overwrite"):
                    return None
                if exists and not truncates:
                    return f"{path.name} exists"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"")
                if not exists:
                    self.created.setdefault(group, []).append(path)
            case "rename":
                return self._rename(change, options, outcome)
            case "delete":
                if not exists:
                    return None if options.get("ignoreIfNotExists") else f"{path.name} does not exist"
                path.unlink()
                self._close(change["uri"], outcome)
            case kind:
                return f"unknown operation {kind}"
        return None

    def _rename(self, change: Object, options: Object, outcome: EditOutcome) -> str | None:
        old, new = path_of(change["oldUri"]), path_of(change["newUri"])
        if old is None or new is None or not old.exists():
            return f"{change['oldUri']} does not exist"
        if new.exists() and not options.get("overwrite"):
            return None if options.get("ignoreIfExists") else f"{new.name} exists"
        new.parent.mkdir(parents=True, exist_ok=True)
        old.rename(new)
        outcome.renamed.append((change["oldUri"], change["newUri"]))
        moved = self._close(change["oldUri"], outcome)
        if moved is not None:
            buffer = self.load(change["newUri"])
            buffer.replace_text(moved.text)
            if self.profile.final_newline == "disk":
                self.save(buffer)  # such editors write a file to rename it
            outcome.opened.append(buffer)
        return None

    def rename(self, old: Path, new: Path) -> EditOutcome:
        """Rename a file, or a folder, as the user does it: what is open there is open at the new place then."""
        outcome = EditOutcome(renamed=[(old.as_uri(), new.as_uri())])
        new.parent.mkdir(parents=True, exist_ok=True)
        old.rename(new)
        for buffer in list(self.buffers.values()):
            if buffer.path is not None and buffer.path.is_relative_to(old):
                self._close(buffer.uri, outcome)
                moved = self.load((new / buffer.path.relative_to(old)).as_uri())
                moved.text = buffer.text
                outcome.opened.append(moved)
        return outcome

    def _close(self, uri: str, outcome: EditOutcome) -> Buffer | None:
        buffer = self.buffers.pop(uri, None)
        if buffer is not None:
            outcome.closed.append(uri)
        return buffer


def path_of(uri: str) -> Path | None:
    """The path of a `file:` URI, None for any other one."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def targets(edit: Object) -> list[str]:
    """URIs of the documents whose text a `WorkspaceEdit` changes."""
    return [change["textDocument"]["uri"] for change in _changes(edit) if "textDocument" in change]


def first_edit_only(edit: Object) -> Object:
    """A `WorkspaceEdit` with the first text edit of `edit` and nothing else."""
    for change in _changes(edit):
        if change.get("edits"):
            return {"documentChanges": [{**change, "edits": change["edits"][:1]}]}
    return {"documentChanges": []}


def _changes(edit: Object) -> list[Object]:
    if "documentChanges" in edit:
        return cast("list[Object]", edit["documentChanges"])
    return [
        {"textDocument": {"uri": uri}, "edits": edits}
        for uri, edits in cast("Object", edit.get("changes") or {}).items()
    ]
