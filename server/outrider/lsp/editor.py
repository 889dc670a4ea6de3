"""The editor at the other end, as the agent sees it: `ports.editor.Editor` over the protocol."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, cast, get_args

from lsprotocol import types

from outrider.lsp.profile import ClientProfile
from outrider.lsp.protocol import LspProtocol, NoReply
from outrider.ports.editor import (
    Answered,
    Applied,
    DocumentEdit,
    EditorTraits,
    Encoding,
    FileOperation,
    ItemReply,
    Lent,
    SaveWay,
    ToolAnswer,
    ToolRequest,
    Unanswered,
    Unserved,
)  # fmt: skip
from outrider.ports.events import LoggedEvent, StreamFrame, wire_text
from outrider.ports.text import Place, PlacedEdit, visible
from outrider.transport.connection import Outgoing
from outrider.transport.frames import FrameSender
from outrider.workspace.paths import path_of
from outrider_protocol import (
    ASK_REQUEST,
    EVENT_NOTIFICATION,
    LANGUAGE_REQUEST,
    LEFT_NOTIFICATION,
    SAVE_REQUEST,
    STREAM_NOTIFICATION,
    TOOL_REQUEST,
    approves,
)
from outrider_protocol.notifications import Left

logger = logging.getLogger(__name__)

APPLY_SECONDS: Final = 10.0
SHOW_SECONDS: Final = 5.0
CATCH_UP_SECONDS: Final = 2.0
SAVE_SECONDS: Final = 10.0

_FIRST_ANSWER: Final = "Only the first answer can be chosen here; the others are code actions."

_ASKED_AGAIN: Final = "(Asked again: the first answer came too quickly.)"
TIMES_TOO_EARLY: Final = 5
"""How often a question is asked where each yes comes too early, as with a key that is held down."""

_LEVELS: Final = {"error": 1, "warning": 2, "info": 3, "log": 4}
"""LSP 3.17, "MessageType"."""
TOLD_BACK_SECONDS = 5
"""How long after a rename was asked for the client may tell of it: later it is the user's, made once more by hand."""


class ClientEditor:
    """One client. It never takes anything but a title that was offered for an answer.

    A question that was answered elsewhere is withdrawn by `$/cancelRequest`, for clients that can take it down. One that
    nobody answered in time is not: a late click still answers it.
    """

    def __init__(
        self,
        protocol: LspProtocol,
        profile: ClientProfile,
        outgoing: Outgoing,
        *,
        takes_approvals: bool = True,
    ) -> None:
        """Speak with the client of `profile`; `takes_approvals` says whether its answers to approvals count."""
        self._traits = replace(profile.traits, takes_approvals=takes_approvals)
        self._protocol = protocol
        self._profile = profile
        self._frames = FrameSender(self._send_frame, outgoing)
        self._question = asyncio.Lock()
        self._edit = asyncio.Lock()
        self._can_ask = True
        self._can_catch_up = profile.tells_with_answers
        self._own_renames: dict[tuple[Path | None, Path | None], float] = {}
        """Renames that the client was asked for, and until when it may tell of them."""
        self._lenses_are_old = False
        self._refreshing: asyncio.Task[None] | None = None

    @property
    def traits(self) -> EditorTraits:
        """What it can do."""
        return self._traits

    @property
    def takes_actions(self) -> bool:
        """Whether the user can take code actions."""
        return self._profile.code_actions

    @property
    def can_show_items(self) -> bool:
        """Whether the user can see what an open item is about, in a question or in a document."""
        return self._can_ask or self.traits.can_show_documents

    async def ask(
        self,
        message: str,
        titles: Sequence[str],
        *,
        seconds: float,
        late: Callable[[str], None] | None = None,
        still_open: Callable[[], bool] | None = None,
    ) -> Answered | Unanswered:
        """Ask the user to choose; see `ports.editor.Editor.ask`. Source: LSP 3.17, "ShowMessageRequest"."""
        async with self._question:
            if still_open is not None and not still_open():
                return Unanswered("closed")
            if not self._can_ask:
                return Unanswered("unsupported")
            if self._profile.takes_first_answer and len(titles) > 1:
                message = f"{message}\n{_FIRST_ANSWER}"
            for again in range(TIMES_TOO_EARLY):
                asked = asyncio.get_running_loop().time()
                params = {
                    "type": _LEVELS["info"],
                    "message": f"{message}\n{_ASKED_AGAIN}" if again else message,
                    "actions": [{"title": title} for title in titles],
                }
                reply = await self._protocol.request(
                    types.WINDOW_SHOW_MESSAGE_REQUEST,
                    params,
                    seconds=seconds,
                    late=_late(titles, late),
                    withdraw="cancelled",
                )
                if isinstance(reply, NoReply):
                    self._can_ask = reply.why != "unsupported"
                    return Unanswered(reply.why)
                answer = _answer(reply.result, titles)
                took = asyncio.get_running_loop().time() - asked
                if not self._is_too_early(answer, took):
                    return answer
                logger.info("“%s” came %d ms after its question and was ignored", answer, took * 1000)
            return Unanswered("dismissed")

    def _is_too_early(self, answer: Answered | Unanswered, took: float) -> bool:
        """Whether a yes can only come of a key that was pressed before the question took the keyboard."""
        return isinstance(answer, Answered) and approves(answer.title) and took < self._profile.reads_seconds

    async def call_tool(
        self, request: ToolRequest, *, seconds: float, overdue: Callable[[], None]
    ) -> ToolAnswer | Unanswered:
        """Have the client run a tool; see `ports.editor.Editor.call_tool`."""
        params = {
            "sessionId": request.session_id,
            "turnId": request.turn_id,
            "callId": request.call_id,
            "id": request.id,
            "name": request.name,
            "input": request.input,
            **({"again": True} if request.again else {}),
        }
        reply = await self._protocol.long_request(TOOL_REQUEST, params, seconds=seconds, overdue=overdue)
        if isinstance(reply, NoReply):
            logger.info("%s was not run by the client: %s", request.name, reply.message)
            return Unanswered(reply.why)
        return _tool_answer(reply.result)

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
        # It offers all of them.
        detail = "\n".join([str(item.get("detail", "")), *told.values()])
        params = {"sessionId": session_id, "item": {**item, "detail": detail} if told else item}
        reply = await self._protocol.long_request(ASK_REQUEST, params, seconds=seconds, overdue=overdue)
        if isinstance(reply, NoReply):
            return Unanswered(reply.why)
        return Unanswered("dismissed") if reply.result in (None, {}) else ItemReply(reply.result)

    async def apply(self, label: str, edits: Sequence[DocumentEdit]) -> Applied:
        """Ask the client to change open documents; see `ports.editor.Editor.apply`."""
        if not self.traits.can_apply_edits:
            return Applied(False, "the client cannot apply edits")
        return await self._apply({"label": label, "edit": self._workspace_edit(edits)}, APPLY_SECONDS)

    async def catch_up(self, uris: Sequence[str]) -> bool:
        """Have the client tell what it holds back; see `ports.editor.Editor.catch_up`."""
        if not self._can_catch_up:
            return False
        params = {"type": _LEVELS["log"], "message": ""}
        reply = await self._protocol.request(
            types.WINDOW_SHOW_MESSAGE_REQUEST, params, seconds=CATCH_UP_SECONDS, late=self._caught_up
        )
        if isinstance(reply, NoReply):
            # Where questions are switched off none is ever answered: it is not waited for again.
            self._can_catch_up = False
            return False
        return True

    def _caught_up(self, _answer: Any) -> None:
        self._can_catch_up = True

    async def operate(self, label: str, operation: FileOperation) -> Applied:
        """Ask the client to rename or delete a file; see `ports.editor.Editor.operate`."""
        if operation.to:
            until = asyncio.get_running_loop().time() + APPLY_SECONDS + TOLD_BACK_SECONDS
            self._own_renames[path_of(operation.uri), path_of(operation.to)] = until
        return await self._apply({"label": label, "edit": _file_edit(operation)}, APPLY_SECONDS)

    def is_own_rename(self, old_uri: str, new_uri: str) -> bool:
        """Whether a rename that the client tells of is one that it was asked for here, and not the user's: VS Code tells of both.

        Args:
            old_uri: The file before.
            new_uri: The file now.

        Returns:
            True once for each rename that `operate` asked for lately.
        """
        until = self._own_renames.pop((path_of(old_uri), path_of(new_uri)), None)
        return until is not None and asyncio.get_running_loop().time() < until

    async def save(self, way: SaveWay, versions: Mapping[str, int]) -> Mapping[str, str]:
        """Ask the client to save open documents; see `ports.editor.Editor.save`."""
        if way == "refactoring":
            return await self._save_as_refactoring(versions)
        reply = await self._protocol.request(SAVE_REQUEST, {"uris": list(versions)}, seconds=SAVE_SECONDS)
        if isinstance(reply, NoReply):
            return dict.fromkeys(versions, reply.message)
        failed = _reasons(_field(reply.result, "failed"))
        saved = _texts(_field(reply.result, "saved"))
        return {uri: failed.get(uri, "the editor gave no reason") for uri in versions if uri not in saved}

    async def _save_as_refactoring(self, versions: Mapping[str, int]) -> Mapping[str, str]:
        """Have nothing changed in documents by an edit of the kind that the client saves (LSP 3.18)."""
        top = Place(0, 0)
        nothing = [
            DocumentEdit(uri, version, [PlacedEdit(top, top, "")]) for uri, version in versions.items()
        ]
        params = {"label": "Save", "edit": self._workspace_edit(nothing), "metadata": {"isRefactoring": True}}
        applied = await self._apply(params, SAVE_SECONDS)
        return (
            {} if applied.claimed else dict.fromkeys(versions, applied.reason or "the editor did not save it")
        )

    async def _apply(self, params: Mapping[str, Any], seconds: float) -> Applied:
        async with self._edit:
            reply = await self._protocol.request(types.WORKSPACE_APPLY_EDIT, params, seconds=seconds)
        if isinstance(reply, NoReply):
            return Applied(False, reply.message)
        return _applied(reply.result)

    async def language(
        self, method: str, params: Mapping[str, Any], uris: Sequence[str], *, seconds: float
    ) -> Lent | Unserved | Unanswered:
        """Ask the language servers and linters of the editor; see `ports.editor.Editor.language`."""
        if not self.traits.lends_language:
            return Unanswered("unsupported")
        asked = {"method": method, "params": params, "uris": list(uris), "encoding": self.traits.encoding}
        reply = await self._protocol.request(LANGUAGE_REQUEST, asked, seconds=seconds, withdraw="always")
        if isinstance(reply, NoReply):
            logger.info("the editor did not answer %s: %s", method, reply.message)
            return Unanswered(reply.why)
        return _lent(reply.result, self.traits.encoding)

    async def show(self, uri: str, *, take_focus: bool = False, external: bool = False) -> bool:
        """Show a document, or a page in the browser (`external`); False if the client cannot or did not answer."""
        if not self.traits.can_show_documents:
            return False
        reply = await self._protocol.request(
            types.WINDOW_SHOW_DOCUMENT,
            {"uri": uri, "takeFocus": take_focus, **({"external": True} if external else {})},
            seconds=SHOW_SECONDS,
        )
        return not isinstance(reply, NoReply) and _field(reply.result, "success") is True

    def say(self, level: Literal["error", "warning", "info", "log"], text: str) -> None:
        """Tell the user: a message, or a line of the log for `log`. Nothing hides in it."""
        method = types.WINDOW_LOG_MESSAGE if level == "log" else types.WINDOW_SHOW_MESSAGE
        self._protocol.notify(method, {"type": _LEVELS[level], "message": visible(text)})

    def refresh_lenses(self) -> None:
        """Have the client ask for code lenses again, once for all that happens until it has answered."""
        if not (self._profile.code_lenses and self._profile.refreshes_lenses):
            return
        self._lenses_are_old = True
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh_lenses())

    async def _refresh_lenses(self) -> None:
        while self._lenses_are_old:
            self._lenses_are_old = False
            reply = await self._protocol.request(
                types.WORKSPACE_CODE_LENS_REFRESH, None, seconds=SHOW_SECONDS
            )
            if isinstance(reply, NoReply):
                return

    def publish_diagnostics(self, uri: str, diagnostics: Sequence[Mapping[str, Any]]) -> None:
        """Have the client show these diagnostics of a document, in place of those it was sent before."""
        params = {"uri": uri, "diagnostics": list(diagnostics)}
        self._protocol.notify(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)

    def publish_event(self, event: LoggedEvent) -> None:
        """Send `outrider/event`, after all live text that came before it."""
        self._frames.flush()
        self._protocol.notify_in_json(EVENT_NOTIFICATION, wire_text(event))

    def publish_left(self, left: Left) -> None:
        """Send `outrider/left`, after all that was told of the session."""
        self._frames.flush()
        self._protocol.notify(LEFT_NOTIFICATION, left.to_wire())

    def publish_frame(self, frame: StreamFrame) -> None:
        """Send `outrider/stream`, at once or merged with others while the client does not keep up."""
        self._frames.send(frame)

    def _send_frame(self, frame: StreamFrame, text: str) -> None:
        source = "callId" if frame.kind == "output" else "messageId"
        self._protocol.notify(
            STREAM_NOTIFICATION,
            {
                "sessionId": frame.session_id,
                "turnId": frame.turn_id,
                source: frame.source_id,
                "kind": frame.kind,
                "offset": frame.offset,
                "text": text,
            },
        )

    def _workspace_edit(self, edits: Sequence[DocumentEdit]) -> dict[str, Any]:
        if not self._profile.document_changes:
            return {"changes": {edit.uri: _text_edits(edit) for edit in edits}}
        return {
            "documentChanges": [
                {"textDocument": {"uri": edit.uri, "version": edit.version}, "edits": _text_edits(edit)}
                for edit in edits
            ]
        }


def _answer(result: Any, titles: Sequence[str]) -> Answered | Unanswered:
    # Closing a question is null nearly everywhere and `{}` in Kate.
    if result is None or result == {}:
        return Unanswered("dismissed")
    title = _field(result, "title")
    if not isinstance(title, str):
        return Unanswered("error")
    return Answered(title) if title in titles else Unanswered("unknown_title")


def _applied(result: Any) -> Applied:
    reason = _field(result, "failureReason")
    claimed = _field(result, "applied") is True
    return Applied(claimed, reason if isinstance(reason, str) and reason else None)


def _tool_answer(result: Any) -> ToolAnswer | Unanswered:
    if result is None:
        return Unanswered("dismissed")
    content, is_error = _field(result, "content"), _field(result, "isError")
    if not isinstance(content, str) or not isinstance(is_error, bool | None):
        return Unanswered("error")
    return ToolAnswer(content, is_error is True)


def _lent(result: Any, encoding: Encoding) -> Lent | Unserved | Unanswered:
    """An answer, where it has the shape."""
    why, said_in, versions = (_field(result, key) for key in ("unserved", "encoding", "versions"))
    if isinstance(why, str):
        return Unserved(why)
    has_result = isinstance(result, dict) and "result" in result
    if not has_result or said_in not in (None, *get_args(Encoding)) or not isinstance(versions, dict | None):
        return Unanswered("error")
    by = sorted(_texts(_field(result, "by")))
    given = cast("dict[str, Any]", versions or {})
    known = {uri: number for uri, number in given.items() if isinstance(number, int)}
    return Lent(_field(result, "result"), said_in or encoding, by, known)


def _file_edit(operation: FileOperation) -> dict[str, Any]:
    """The operation with all its options, behind an edit that changes nothing: where the version is old, neither is done."""
    guard: dict[str, Any] = {
        "textDocument": {"uri": operation.uri, "version": operation.version},
        "edits": [],
    }
    if operation.kind == "delete":
        options = {"recursive": False, "ignoreIfNotExists": False}
        done = {"kind": "delete", "uri": operation.uri, "options": options}
    else:
        options = {"overwrite": False, "ignoreIfExists": False}
        done = {"kind": "rename", "oldUri": operation.uri, "newUri": operation.to, "options": options}
    return {"documentChanges": [guard, done]}


def _reasons(failed: Any) -> dict[str, str]:
    """By URI why a document was not saved, as far as the client's answer has the shape."""
    items = cast("list[Any]", failed) if isinstance(failed, list) else []
    pairs = [(_field(item, "uri"), _field(item, "reason")) for item in items]
    return {uri: reason for uri, reason in pairs if isinstance(uri, str) and isinstance(reason, str)}


def _texts(value: Any) -> set[str]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return {item for item in items if isinstance(item, str)}


def _late(titles: Sequence[str], told: Callable[[str], None] | None) -> Callable[[Any], None] | None:
    if told is None:
        return None

    def came(result: Any) -> None:
        if isinstance(answer := _answer(result, titles), Answered):
            told(answer.title)

    return came


def _text_edits(edit: DocumentEdit) -> list[dict[str, Any]]:
    return [
        {"range": {"start": _position(placed.start), "end": _position(placed.end)}, "newText": placed.new}
        for placed in edit.edits
    ]


def _position(place: Place) -> dict[str, int]:
    return {"line": place.line, "character": place.character}


def _field(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
