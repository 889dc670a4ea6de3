"""The client as the agent sees it: `ports.editor.Editor` over ACP, for one session.

A client says nothing of what is open in it. Where it offers its file system, it is asked for the text of a file before
that is read or changed. What it has unsaved becomes an open document, and edits of it are written by the client.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from acp.schema import ReadTextFileRequest, WriteTextFileRequest

from outrider.acp.capabilities import as_object
from outrider.acp.client import Client, NoReply
from outrider.acp.questions import Questions, open_of
from outrider.ports.editor import (
    Answered,
    Applied,
    DocumentEdit,
    EditorTraits,
    FileOperation,
    ItemReply,
    SaveWay,
    ToolAnswer,
    ToolRequest,
    Unanswered,
)  # fmt: skip
from outrider.ports.text import visible
from outrider.workspace.disk.disk import DiskProblem, read_bytes
from outrider.workspace.documents.documents import ContentChange, DocumentStore
from outrider.workspace.documents.overlay import SIZE_LIMIT, as_seen, same_text
from outrider.workspace.paths import path_of
from outrider.workspace.text.encoding import NoText, decode
from outrider.workspace.text.lines import offset_of

logger = logging.getLogger(__name__)

READ_FILE: Final = "fs/read_text_file"
WRITE_FILE: Final = "fs/write_text_file"
READ_SECONDS: Final = 5.0
WRITE_SECONDS: Final = 10.0
SETTLE_SECONDS: Final = 1.0
"""How long a client may take to show a text that it says it wrote: it may format what it saves."""
MOST_AT_ONCE: Final = 8
"""Files that a client is asked for at the same time."""

Level = Literal["error", "warning", "info", "log"]


class ClientEditor:
    """One client, for one session."""

    def __init__(self, client: Client, documents: DocumentStore, say: Callable[[Level, str], None]) -> None:
        """Begin with nothing open.

        Args:
            client: The client.
            documents: Where what the client has unsaved is open.
            say: Tells the user something.
        """
        self._client = client
        self._documents = documents
        self._say = say
        self._reads = client.can.reads_files
        """Whether it is asked for texts: not any more where it has shown that it cannot give any."""
        self._shown: dict[str, str] = {}
        """By URI the text as the client gave it last: it may show other line ends than the document has."""
        self._session_id = ""
        self._questions: Questions | None = None
        self.asking: set[str] = set()
        """The open items that the client has before its user."""
        self.on_left: Callable[[], None] = lambda: None
        """Told when the client gave no answer to an open item."""
        self._traits = EditorTraits(
            can_apply_edits=client.can.reads_files and client.can.writes_files,
            can_show_documents=False,
            settle_seconds=SETTLE_SECONDS,
            debounce_seconds=0.0,
            takes_items=True,
            tells_when_asked=client.can.reads_files,
            tells_saves=False,
        )

    def connect(self, session_id: str, questions: Questions) -> None:
        """Say which session it is for."""
        self._session_id, self._questions = session_id, questions

    @property
    def traits(self) -> EditorTraits:
        """What it can do."""
        return self._traits

    # --- questions ----------------------------------------------------------------------------------------------

    async def ask(
        self,
        message: str,
        titles: Sequence[str],
        *,
        seconds: float,
        late: Callable[[str], None] | None = None,
        still_open: Callable[[], bool] | None = None,
    ) -> Answered | Unanswered:
        """Ask the user to choose; see `ports.editor.Editor.ask`. The answer is waited for as long as it takes."""
        if self._questions is None:
            return Unanswered("unsupported")
        if still_open is not None and not still_open():
            return Unanswered("closed")
        return await self._questions.titles(message, titles, seconds=seconds, overdue=_nothing)

    async def ask_item(
        self,
        session_id: str,
        item: Mapping[str, Any],
        *,
        seconds: float,
        overdue: Callable[[], None],
        told: Mapping[str, str] = MappingProxyType({}),
    ) -> ItemReply | Unanswered:
        """Have the client put an open item before the user; see `ports.editor.Editor.ask_item`."""
        shown = open_of(item)
        if self._questions is None or shown is None:
            return Unanswered("error")
        self.asking.add(shown.id)
        reply: ItemReply | Unanswered = Unanswered("closed")
        try:
            reply = await self._questions.item(shown, seconds=seconds, overdue=overdue, told=told)
        finally:
            self.asking.discard(shown.id)
            if isinstance(reply, Unanswered):
                # The turn is parked in between.
                asyncio.get_running_loop().call_soon(self.on_left)
        # Nothing else can ask here.
        return Unanswered("error") if isinstance(reply, Unanswered) and reply.why == "unsupported" else reply

    # --- documents ----------------------------------------------------------------------------------------------

    async def catch_up(self, uris: Sequence[str]) -> bool:
        """Have the client tell what it has of some files; see `ports.editor.Editor.catch_up`."""
        if not self._reads:
            return False
        at_once = asyncio.Semaphore(MOST_AT_ONCE)

        async def one(uri: str) -> None:
            async with at_once:
                await self._tell(uri)

        await asyncio.gather(*(one(uri) for uri in dict.fromkeys(uris)))
        return True

    async def _tell(self, uri: str) -> None:
        path = path_of(uri)
        if path is None:
            return
        request = ReadTextFileRequest(session_id=self._session_id, path=str(path))
        reply = await self._client.request(READ_FILE, request, seconds=READ_SECONDS)
        if isinstance(reply, NoReply) and reply.why in {"unsupported", "timeout"} and self._reads:
            self._reads = False
            why = "it does not know the request" if reply.why == "unsupported" else "it did not answer"
            self._say("warning", f"Outrider cannot see what is unsaved in the editor: {why} ({READ_FILE}).")
        text = None if isinstance(reply, NoReply) else as_object(reply.result).get("content")
        disk = await asyncio.to_thread(_text_on_disk, str(path))
        # codecompanion gives no text for a file that is not there: taken as open, none could ever be made.
        if not isinstance(text, str) or len(text) > SIZE_LIMIT or (disk is None and not text):
            self._shown.pop(uri, None)
            self._documents.close(uri)
            return
        self._shown[uri] = text
        text = text if disk is None else _as_meant(text, disk)
        document = self._documents.get(uri)
        if document is None:
            self._documents.open(uri, "", 1, text)
        elif document.text != text:
            self._documents.change(uri, document.version + 1, [ContentChange(None, None, text)])

    async def apply(self, label: str, edits: Sequence[DocumentEdit]) -> Applied:
        """Have the client write files with an edit in them; see `ports.editor.Editor.apply`.

        The client replaces the whole text and takes no version. So its text is looked at once more just before.
        """
        for edit in edits:
            document, path = self._documents.get(edit.uri), path_of(edit.uri)
            if not self.traits.can_apply_edits or document is None or path is None:
                return Applied(False, "the client cannot apply edits")
            await self._tell(edit.uri)
            now = self._documents.get(edit.uri)
            if now is None or now.version != edit.version or now.text != document.text:
                return Applied(False, "the text changed")
            content = as_seen(self._edited(now.text, edit), self._shown.get(edit.uri, now.text))
            request = WriteTextFileRequest(session_id=self._session_id, path=str(path), content=content)
            reply = await self._client.request(WRITE_FILE, request, seconds=WRITE_SECONDS)
            if isinstance(reply, NoReply):
                return Applied(False, reply.message)
        return Applied(True)

    def _edited(self, text: str, edit: DocumentEdit) -> str:
        encoding = self._documents.encoding
        parts, at = list[str](), 0
        for one in sorted(edit.edits, key=lambda one: (one.start.line, one.start.character)):
            start, end = offset_of(text, one.start, encoding), offset_of(text, one.end, encoding)
            parts += [text[at:start], one.new]
            at = end
        return "".join([*parts, text[at:]])

    # --- what a client of ACP has no way for --------------------------------------------------------------------

    async def call_tool(
        self, request: ToolRequest, *, seconds: float, overdue: Callable[[], None]
    ) -> ToolAnswer | Unanswered:
        """No client registers tools here."""
        return Unanswered("unsupported")

    async def operate(self, label: str, operation: FileOperation) -> Applied:
        """Files are renamed and deleted on disk."""
        return Applied(False, "the client cannot do that")

    async def save(self, way: SaveWay, versions: Mapping[str, int]) -> Mapping[str, str]:
        """There is no request for it."""
        return dict.fromkeys(versions, "the client cannot be asked to save")

    async def language(
        self, method: str, params: Mapping[str, Any], uris: Sequence[str], *, seconds: float
    ) -> Unanswered:
        """There is no request for them."""
        return Unanswered("unsupported")

    async def show(self, uri: str, *, take_focus: bool = False, external: bool = False) -> bool:
        """There is no request for it."""
        return False

    def say(self, level: Level, text: str) -> None:
        """Tell the user, as soon as a turn runs: clients show nothing between turns. Nothing hides in it."""
        self._say(level, visible(text))


def _as_meant(text: str, disk: str) -> str:
    """What a client has of a file, without what only its way of giving texts makes different from the file.

    Some show other line ends, and some leave out the last one (avante joins lines).
    """
    if disk.endswith("\n") and text and not text.endswith(("\n", "\r")):
        text += "\n"
    return disk if same_text(text, disk) else text


def _text_on_disk(path: str) -> str | None:
    """The text of a file; None where there is none. Blocks."""
    content = read_bytes(Path(path), SIZE_LIMIT)
    decoded = None if isinstance(content, DiskProblem) else decode(content)
    return None if decoded is None or isinstance(decoded, NoText) else decoded.text


def _nothing() -> None:
    pass
