"""The documents side of the fake editor: opening, typing, saving, undoing, and when the server is told of it.

The server is told as `Profile` says: at once, or when the editor's clock has passed the debounce. The clock stands
still unless it is told to move. Edits and questions of the server are not its business.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from outrider.testing.editor.buffers import Buffer, line_starts, position_at
from outrider.testing.editor.checks import Watch, capability
from outrider.testing.editor.desk import Desk, EditOutcome, targets
from outrider.testing.editor.profiles import Profile
from outrider.testing.editor.wire_client import WireClient

Object = dict[str, Any]

SETTLE_TURNS: Final = 20
"""Turns of the event loop between the answer to an edit and its `didChange`, where the answer goes first."""


_LANGUAGES: Final[Mapping[str, str]] = {
    ".py": "python", ".md": "markdown", ".json": "json", ".js": "javascript", ".toml": "toml", ".lua": "lua",
}  # fmt: skip


class DocumentClient(WireClient):
    """A client with open documents."""

    def __init__(self, profile: Profile, root: Path, watch: Watch) -> None:
        """A client without documents, whose relative paths are meant from `root`."""
        super().__init__(str(profile), watch)
        self.profile = profile
        self.root = root
        self.desk = Desk(profile, root)
        self.server: Object = {}
        """The result of `initialize`."""
        self.active: str | None = None
        """URI of the document that the user opened last."""
        self.now = 0.0
        """The editor's clock, in seconds."""

    def open(self, path: str | Path) -> None:
        """Open a file; one that is open stays as it is."""
        uri = self.active = self.desk.uri(path)
        if uri in self.desk.buffers:
            self.desk.buffers[uri].opened_by_edit = False
            return
        self._send_open(self.desk.load(uri))

    def open_untitled(self, name: str, text: str = "") -> str:
        """Open a new document without a file; gives its URI, `untitled:NAME`."""
        buffer = self.desk.new_buffer(f"untitled:{name}", None, text)
        self._send_open(buffer)
        return buffer.uri

    def type(
        self,
        path: str | Path,
        text: str,
        *,
        at: tuple[int, int] | None = None,
        replace: str | None = None,
        unsent: bool = False,
    ) -> None:
        """Type into an open document, as one undo step.

        Args:
            path: The document.
            text: What is typed.
            at: Line and column, from 0, in characters; absent means the end of the text.
            replace: A text that occurs once and is replaced.
            unsent: Whether a debouncing editor still holds the change back when this returns.
        """
        buffer = self.desk.buffer(path)
        if replace is not None:
            if buffer.text.count(replace) != 1:
                raise ValueError(f"{replace!r} occurs {buffer.text.count(replace)} times in {path}")
            start = buffer.text.index(replace)
            end = start + len(replace)
        elif at is not None:
            start = end = line_starts(buffer.text)[at[0]] + at[1]
        else:
            start = end = len(buffer.text)
        buffer.type(start, end, text)
        self._plan(buffer)
        if not unsent:
            self.settle()

    def range_of(self, path: str | Path, text: str) -> Object:
        """The LSP range of a text that occurs once in an open document."""
        buffer = self.desk.buffer(path)
        if buffer.text.count(text) != 1:
            raise ValueError(f"{text!r} occurs {buffer.text.count(text)} times in {path}")
        start = buffer.text.index(text)
        return {
            "start": position_at(buffer.text, start, buffer.encoding),
            "end": position_at(buffer.text, start + len(text), buffer.encoding),
        }

    def save(self, path: str | Path) -> None:
        """Save an open document."""
        buffer = self.desk.buffer(path)
        formatted = self.profile.formats_on_save
        if formatted is not None and not buffer.text.startswith(formatted):
            buffer.replace_text(formatted + buffer.text)
            self._flush(buffer)
        self.desk.save(buffer)
        self._flush(buffer)
        save = self._sync("save")
        if save is None or save is False:
            return
        params: Object = {"textDocument": {"uri": buffer.uri}}
        if isinstance(save, dict) and cast("Object", save).get("includeText"):
            params["text"] = buffer.text
        self.notify("textDocument/didSave", params)

    def save_all(self) -> None:
        """Save every document that has a file and unsaved text."""
        for buffer in list(self.desk.buffers.values()):
            if buffer.dirty and buffer.path is not None:
                self.save(buffer.uri)

    def reload(self, path: str | Path) -> None:
        """Take over what is on disk now, as editors do with a file that another program changed."""
        old = self.desk.buffer(path)
        self.desk.buffers.pop(old.uri)
        text = self.desk.load(old.uri).text
        self.desk.buffers[old.uri] = old
        old.replace_text(text)
        old.saved = text
        self._flush(old)

    def close(self, path: str | Path) -> None:
        """Close a document; unsaved text is thrown away."""
        buffer = self.desk.buffer(path)
        self._flush(buffer)
        del self.desk.buffers[buffer.uri]
        self.notify("textDocument/didClose", {"textDocument": {"uri": buffer.uri}})

    def rename(self, path: str | Path, to: str | Path) -> None:
        """Rename a file, or a folder, in the editor, which tells the server of it if it tells any."""
        old, new = self.root / path, self.root / to
        for buffer in list(self.desk.buffers.values()):
            self._flush(buffer)
        outcome = self.desk.rename(old, new)
        for uri in outcome.closed:
            self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        for buffer in outcome.opened:
            self._send_open(buffer)
        self._tell_renamed(outcome.renamed)

    def _tell_renamed(self, renamed: Sequence[tuple[str, str]]) -> None:
        wanted = capability(self.server, "capabilities.workspace.fileOperations.didRename")
        if self.profile.tells_renames and wanted and renamed:
            files = [{"oldUri": old, "newUri": new} for old, new in renamed]
            self.notify("workspace/didRenameFiles", {"files": files})

    def undo(self, path: str | Path) -> bool:
        """Take back the last step in a document; False if there is none."""
        buffer = self.desk.buffer(path)
        step = buffer.undo()
        if step is None:
            return False
        others: list[Buffer] = []
        if self.profile.undo_spans_files and step.group is not None:
            others = self.desk.undo_group(step.group, buffer)
        self._flush(buffer)
        for other in others:
            if self.profile.late_changes_after_close and other.opened_by_edit:
                del self.desk.buffers[other.uri]
                self.notify("textDocument/didClose", {"textDocument": {"uri": other.uri}})
        for other in others:
            self._flush(other)
        return True

    def redo(self, path: str | Path) -> bool:
        """Do the step that was last taken back again; False if there is none."""
        buffer = self.desk.buffer(path)
        step = buffer.redo()
        if step is None:
            return False
        self._flush(buffer)
        if self.profile.undo_spans_files and step.group is not None:
            for other in self.desk.redo_group(step.group, buffer):
                self._flush(other)
        return True

    def text(self, path: str | Path) -> str:
        """The text of an open document."""
        return self.desk.buffer(path).text

    def dirty(self, path: str | Path) -> bool:
        """Whether an open document has unsaved text."""
        return self.desk.buffer(path).dirty

    def disk(self, path: str | Path) -> str:
        """The text of a file on disk, its line ends as they are."""
        return (self.root / path).read_bytes().decode("utf-8")

    # --- the editor's clock ----------------------------------------------------------------------------------

    def step(self, seconds: float) -> None:
        """Move the editor's clock, and send the changes whose time has come."""
        self.now += seconds
        for buffer in list(self.desk.buffers.values()):
            if buffer.due is not None and buffer.due <= self.now:
                self._flush(buffer)

    def settle(self) -> None:
        """Move the clock as far as it takes to send every unsent change."""
        due = [buffer.due for buffer in self.desk.buffers.values() if buffer.due is not None]
        if due:
            self.step(max(max(due) - self.now, 0.0))

    def _before_request(self) -> None:
        # Editors send what is unsent before they ask anything.
        self.settle()

    def _plan(self, buffer: Buffer) -> None:
        # As Neovim: the first change waits for the whole debounce, a later one for what is left of it.
        if not buffer.unsent:
            return
        wait = self.profile.debounce_seconds
        if buffer.last_sent is not None:
            wait = max(wait - (self.now - buffer.last_sent), 0.0)
        buffer.due = self.now + wait
        if wait == 0.0:
            self._flush(buffer)

    def _flush(self, buffer: Buffer) -> None:
        changes, buffer.unsent = buffer.unsent, []
        buffer.due = None
        if not changes:
            return
        buffer.last_sent = self.now
        kind = self._sync("change")
        if not kind:
            return
        self.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": buffer.uri, "version": buffer.version},
                "contentChanges": [{"text": buffer.text}] if kind == 1 else changes,
            },
        )

    def _flush_outcome(self, outcome: EditOutcome) -> None:
        for uri in outcome.closed:
            self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        for buffer in list(self.desk.buffers.values()):
            self._flush(buffer)
        self._tell_renamed(outcome.renamed)

    def _open_again(self) -> None:
        for buffer in self.desk.buffers.values():
            buffer.encoding = self.desk.encoding
            buffer.unsent, buffer.due, buffer.last_sent = [], None, None
            self._send_open(buffer)

    async def _settle_soon(self) -> None:
        for _ in range(SETTLE_TURNS):
            await asyncio.sleep(0)
        self.settle()

    def _send_open(self, buffer: Buffer, *, as_on_disk: bool = False) -> None:
        # A buffer that an edit opened was opened with the text of its file, and changed then.
        text = buffer.saved or "" if as_on_disk else buffer.text
        suffix = buffer.path.suffix if buffer.path is not None else Path(buffer.uri).suffix
        if not self._sync("openClose"):
            return
        version = self.profile.first_version if as_on_disk else buffer.version
        document = {
            "uri": buffer.uri,
            "languageId": _LANGUAGES.get(suffix, "plaintext"),
            "version": version,
            "text": text,
        }
        self.notify("textDocument/didOpen", {"textDocument": document})

    def _sync(self, key: str) -> Any:
        options = capability(self.server, "capabilities.textDocumentSync")
        if isinstance(options, int):  # LSP 3.17, "Text Document Synchronization": the old, short form
            return {"change": options, "openClose": True, "save": True}.get(key)
        return capability({"sync": options}, f"sync.{key}")


INTERNAL_ERROR = -32603
METHOD_NOT_FOUND = -32601


@dataclass(slots=True)
class LanguageRequest:
    """An `outrider/language`."""

    request_id: int | str
    method: str
    params: Object
    uris: list[str]
    withdrawn: bool = False
    """Whether the server said that nobody waits any more."""


class UnservedError(Exception):
    """Nobody in the editor does what was asked."""


class LendingClient(DocumentClient):
    """A client whose language servers the server may ask, if its profile lends them."""

    def __init__(self, profile: Profile, root: Path, watch: Watch) -> None:
        """A client that is not connected; see `DocumentClient`."""
        super().__init__(profile, root, watch)
        self.problems: dict[str, list[Object]] = {}
        """By path what other language servers report, as LSP `Diagnostic`s."""
        self.lent: dict[str, Any] = {}
        """By method what the language servers answer: LSP's result, or what gives it for a `LanguageRequest`. That raises
        `UnservedError` where nobody serves the documents, as for every method that is not here."""
        self.lent_by: list[str] = ["house"]
        """Who they are."""
        self.language_requests: list[LanguageRequest] = []

    def lend(self, asked: LanguageRequest) -> None:
        """Answer an `outrider/language` by what is in `problems` and `lent`."""
        old = self.profile.language_fault == "old_versions"
        versions = {
            uri: self.desk.buffers[uri].version - old for uri in asked.uris if uri in self.desk.buffers
        }
        encoding = self.profile.lends_in or self.desk.encoding
        try:
            told = {
                "result": self._found(asked),
                "by": self.lent_by,
                "versions": versions,
                "encoding": encoding,
            }
        except UnservedError as why:
            told = {"unserved": str(why)}
        self._respond(asked.request_id, told)

    def _found(self, asked: LanguageRequest) -> Any:
        by_uri = {self.desk.uri(path): items for path, items in self.problems.items()}
        if asked.method in self.lent:
            answer = self.lent[asked.method]
            return answer(asked) if callable(answer) else answer
        if asked.method == "textDocument/diagnostic":
            return {"kind": "full", "items": by_uri.get(asked.uris[0], [])}
        if asked.method == "workspace/diagnostic":
            return {"items": [{"uri": uri, "kind": "full", "items": items} for uri, items in by_uri.items()]}
        raise UnservedError(f"nobody serves {asked.method}")

    def _take_language(self, number: int | str, params: Object) -> None:
        asked = LanguageRequest(number, params["method"], params["params"], params["uris"])
        self.language_requests.append(asked)
        match self.profile.language_fault:
            case "never_answers":
                pass
            case "garbage":
                self._respond(number, {"result": 7, "versions": "none", "by": 1})
            case "error":
                self._respond_error(number, INTERNAL_ERROR, "the editor cannot tell now")
            case "unknown":
                self._respond_error(number, METHOD_NOT_FOUND, "Method not found: outrider/language")
            case "old_versions" | None:
                self.lend(asked)


class SavingClient(LendingClient):
    """A client that can be asked to save, if its profile can."""

    def __init__(self, profile: Profile, root: Path, watch: Watch) -> None:
        """A client that is not connected; see `DocumentClient`."""
        super().__init__(profile, root, watch)
        self.save_requests: list[list[str]] = []
        """The URIs of each `outrider/save`."""
        self.lens_refreshes = 0
        """How often the server said that code lenses are old."""

    async def code_lenses(self, path: str | Path) -> list[Object]:
        """Ask for the code lenses of a document; none where the server did not offer them."""
        if capability(self.server, "capabilities.codeLensProvider") is None:
            return []
        params = {"textDocument": {"uri": self.desk.uri(path)}}
        return await self.request("textDocument/codeLens", params) or []

    def _save_for_server(self, number: int | str, params: Object) -> None:
        uris: list[str] = params["uris"]
        self.save_requests.append(uris)
        match self.profile.save_fault:
            case "never_answers":
                pass
            case "garbage":
                self._respond(number, [True])
            case "error":
                self._respond_error(number, INTERNAL_ERROR, "the editor cannot save now")
            case "claims":
                self._respond(number, {"saved": uris})
            case "refuses":
                failed = [{"uri": uri, "reason": "it is write-protected"} for uri in uris]
                self._respond(number, {"saved": [], "failed": failed})
            case None:
                there = [uri for uri in uris if uri in self.desk.buffers]
                for uri in there:
                    self.save(uri)
                failed = [{"uri": uri, "reason": "it is not open"} for uri in uris if uri not in there]
                self._respond(number, {"saved": there, **({"failed": failed} if failed else {})})

    def _save_refactoring(self, params: Object) -> None:
        """Save what an edit changed, as VS Code does: only where it is several files, and never the active one."""
        changed = targets(params["edit"])
        is_refactoring = capability(params, "metadata.isRefactoring") is True
        if not (self.profile.saves_refactorings and is_refactoring and len(changed) > 1):
            return
        for uri in changed:
            if uri != self.active and self.desk.buffers[uri].dirty:
                self.save(uri)
