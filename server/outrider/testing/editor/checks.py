"""Checks of everything that passes between an editor and the server, against LSP 3.17 and Outrider's contract.

`Watch` only looks: it is shown each message in the order of the wire and keeps what is wrong as sentences. It
never answers and never changes anything.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from pydantic import ValidationError

import outrider_protocol as names
from outrider.ports.events import Logged, LoggedEvent, from_wire
from outrider_protocol import logged
from outrider_protocol.commands import COMMANDS
from outrider_protocol.events import EVENT_TYPES
from outrider_protocol.notifications import Event, Frame, Left
from outrider_protocol.requests import AskParams, LanguageParams, SaveParams, ToolParams

Object = dict[str, Any]

_BEFORE_INITIALIZED: Final = frozenset(
    {"window/showMessage", "window/logMessage", "telemetry/event", "window/showMessageRequest"}
)
"""What a server may send before it has answered `initialize` (LSP 3.17, "Initialize Request")."""

_NEEDS: Final[Mapping[str, str]] = {
    "workspace/applyEdit": "workspace.applyEdit",
    "workspace/configuration": "workspace.configuration",
    "workspace/workspaceFolders": "workspace.workspaceFolders",
    "window/workDoneProgress/create": "window.workDoneProgress",
    "window/showDocument": "window.showDocument.support",
    "workspace/codeLens/refresh": "workspace.codeLens.refreshSupport",
    "workspace/diagnostic/refresh": "workspace.diagnostics.refreshSupport",
}
"""Requests of a server that need a capability of the client."""

# JSON that is quoted, not ours: a model's arguments and other servers' diagnostics may hold null.
_QUOTED: Final = frozenset({"input", "diagnostics", "inputSchema"})


def capability(capabilities: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path of the capabilities, None where there is none."""
    value: Any = capabilities
    for key in path.split("."):
        value = cast("Object", value).get(key) if isinstance(value, dict) else None
    return value


class Watch:
    """Looks at one connection. `violations` are the rules that were broken."""

    def __init__(self, capabilities: Mapping[str, Any], options: Mapping[str, Any], *, lenient_edits: bool):
        """Watch a connection of a client with these capabilities.

        Args:
            capabilities: What the client says in `initialize`.
            options: Its `initializationOptions`.
            lenient_edits: Whether `documentChanges` are fine without the capability (Neovim).
        """
        self.violations: list[str] = []
        self._capabilities = capabilities
        self._events_wanted = options.get("events") is True
        self._lenient_edits = lenient_edits
        self._tools = {tool.get("name") for tool in cast("list[Object]", options.get("tools") or [])}
        self._tools_asked: set[str] = set()
        self._asks = names.ASK_EXTENSION in cast("list[Any]", options.get("extensions") or [])
        self._lends = names.LANGUAGE_EXTENSION in cast("list[Any]", options.get("extensions") or [])
        self._saves = names.SAVE_EXTENSION in cast("list[Any]", options.get("extensions") or [])
        self._sent: dict[int | str, Object] = {}
        self._received: set[int | str] = set()
        self._ever_received: set[int | str] = set()
        self._initialized = False
        self._shut_down = False
        self._progress: dict[int | str, str] = {}
        self._creating: dict[int | str, int | str] = {}
        self._last_seq: dict[str, int] = {}
        self._started_here: set[str] = set()
        self._whole_sessions: set[str] = set()
        self._calls: dict[str, dict[str, int]] = defaultdict(dict)
        self._finished_turns: set[str] = set()
        self._streams: dict[tuple[str, str, str], str] = {}

    # --- what the client sends -------------------------------------------------------------------------------

    def sent(self, message: Object) -> None:
        """Look at a message to the server."""
        method = message.get("method")
        if isinstance(method, str) and "id" in message:
            self._sent[message["id"]] = message
            params = message.get("params")
            if isinstance(params, dict) and "workDoneToken" in params:
                self._progress[cast("Object", params)["workDoneToken"]] = "created"
        elif method is None:
            number = message.get("id")
            self._received.discard(cast("int | str", number))
            token = self._creating.pop(cast("int | str", number), None)
            if token is not None:
                self._progress[token] = "refused" if "error" in message else "created"

    # --- what the server sends -------------------------------------------------------------------------------

    def received(self, message: Object) -> None:
        """Look at a message from the server."""
        if message.get("jsonrpc") != "2.0":
            self._wrong(message, "no “jsonrpc”: “2.0”")
        match message:
            case {"method": str(method), "id": number}:
                self._request(method, number, message)
            case {"method": str(method)}:
                self._notification(method, message)
            case {"id": number}:
                self._response(number, message)
            case _:
                self._wrong(message, "neither request nor notification nor response")

    def unanswered(self) -> list[str]:
        """Requests of the client that never got a response."""
        return [str(message["method"]) for message in self._sent.values()]

    def _wrong(self, message: Object, problem: str) -> None:
        what = message.get("method") or f"response to {message.get('id')!r}"
        self.violations.append(f"{what}: {problem}")

    def _request(self, method: str, number: Any, message: Object) -> None:
        params = cast("Object", message.get("params") or {})
        if not isinstance(number, int | str) or isinstance(number, bool):
            self._wrong(message, f"the id {number!r} is neither a number nor a string")
            return
        if number in self._received:
            self._wrong(message, f"the id {number!r} is used by a request that is still open")
        self._received.add(number)
        self._ever_received.add(number)
        self._check_moment(method, message)
        if self._shut_down:
            self._wrong(message, "sent after the answer to shutdown")
        needed = _NEEDS.get(method)
        if needed is not None and not capability(self._capabilities, needed):
            self._wrong(message, f"the client does not advertise {needed}")
        match method:
            case "workspace/applyEdit":
                self._workspace_edit(message, cast("Object", params.get("edit") or {}))
            case "window/workDoneProgress/create":
                token = params.get("token")
                if not isinstance(token, int | str):
                    self._wrong(message, f"no token: {token!r}")
                elif token in self._progress:
                    self._wrong(message, f"the token {token!r} was used before")
                else:
                    self._progress[token] = "creating"
                    self._creating[number] = token
            case "window/showMessageRequest":
                self._question(message, params)
            case names.TOOL_REQUEST:
                self._tool_call(message, params)
            case names.ASK_REQUEST:
                self._item(message, params)
            case names.LANGUAGE_REQUEST:
                self._language(message, params)
            case names.SAVE_REQUEST:
                self._save(message, params)
            case _:
                pass

    def _question(self, message: Object, params: Object) -> None:
        titles = [action.get("title") for action in cast("list[Object]", params.get("actions") or [])]
        if len(set(titles)) != len(titles):
            self._wrong(message, f"two actions have the same title: {titles}")
        if any(not isinstance(title, str) or not title for title in titles):
            self._wrong(message, f"an action has no title: {titles}")
        if params.get("type") not in (1, 2, 3, 4):
            self._wrong(message, f"no message type: {params.get('type')!r}")

    def _item(self, message: Object, params: Object) -> None:
        self._check_nulls(message, params)
        try:
            asked = AskParams.from_wire(params)
        except ValidationError as problem:
            self._wrong(message, str(problem))
            return
        if not self._asks:
            self._wrong(message, "the client did not name the extension `ask`")
        if asked.item.kind == "tool":
            self._wrong(message, "a tool's call is nothing for the user")

    def _tool_call(self, message: Object, params: Object) -> None:
        self._check_nulls(message, params)
        try:
            call = ToolParams.from_wire(params)
        except ValidationError as problem:
            self._wrong(message, str(problem))
            return
        if self._tools and call.name not in self._tools:
            self._wrong(message, f"the client registered no tool {call.name!r}")
        if call.id in self._tools_asked:
            self._wrong(message, f"{call.id} was asked before on this connection")
        self._tools_asked.add(call.id)

    def _language(self, message: Object, params: Object) -> None:
        if not self._lends:
            self._wrong(message, f"the client does not name the extension {names.LANGUAGE_EXTENSION!r}")
        try:
            LanguageParams.from_wire(params)
        except ValidationError as problem:
            self._wrong(message, str(problem))

    def _save(self, message: Object, params: Object) -> None:
        if not self._saves:
            self._wrong(message, f"the client does not name the extension {names.SAVE_EXTENSION!r}")
        try:
            SaveParams.from_wire(params)
        except ValidationError as problem:
            self._wrong(message, str(problem))

    def _workspace_edit(self, message: Object, edit: Object) -> None:
        edit_capabilities: Object = capability(self._capabilities, "workspace.workspaceEdit") or {}
        operations: list[str] = edit_capabilities.get("resourceOperations") or []
        changes = cast("list[Object]", edit.get("documentChanges") or [])
        if changes and not (edit_capabilities.get("documentChanges") or self._lenient_edits):
            self._wrong(message, "the client does not advertise workspaceEdit.documentChanges")
        if changes and edit.get("changes"):
            self._wrong(message, "both changes and documentChanges")
        annotations = cast("Object", edit.get("changeAnnotations") or {})
        if annotations and not edit_capabilities.get("changeAnnotationSupport"):
            self._wrong(message, "the client does not advertise changeAnnotationSupport")
        for name, annotation in annotations.items():
            if not annotation.get("label"):
                self._wrong(message, f"the annotation {name!r} has no label")
        named = {one.get("annotationId") for _, edits in _text_edits(edit) for one in edits}
        if unused := sorted(annotations.keys() - named):
            self._wrong(message, f"no edit has the annotations {', '.join(unused)}")
        for change in changes:
            kind = change.get("kind")
            if kind is not None and kind not in operations:
                self._wrong(message, f"the client does not advertise the resource operation {kind}")
            for text_edit in cast("list[Object]", change.get("edits") or []):
                annotation = text_edit.get("annotationId")
                if annotation is not None and annotation not in annotations:
                    self._wrong(message, f"no annotation {annotation!r} in changeAnnotations")
        for uri, edits in _text_edits(edit):
            problem = _overlap(edits)
            if problem is not None:
                self._wrong(message, f"{uri}: {problem}")

    def _notification(self, method: str, message: Object) -> None:
        params: Any = message.get("params") or {}
        self._check_moment(method, message)
        match method:
            case "$/progress":
                self._check_progress(message, params)
            case names.EVENT_NOTIFICATION:
                self._check_event(message, params)
            case names.STREAM_NOTIFICATION:
                self._check_frame(message, params)
            case names.LEFT_NOTIFICATION:
                self._check_left(message, params)
            case "$/cancelRequest":
                # One that was answered a moment ago is fine: the two cross on the wire.
                if params.get("id") not in self._ever_received:
                    self._wrong(message, f"there never was a request {params.get('id')!r}")
            case _ if method.startswith("outrider/"):
                self._wrong(message, "not a notification of the contract")
            case _:
                pass

    def _check_moment(self, method: str, message: Object) -> None:
        if not self._initialized and method not in _BEFORE_INITIALIZED:
            self._wrong(message, "sent before the answer to initialize")

    def _check_progress(self, message: Object, params: Object) -> None:
        token, value = params.get("token"), cast("Object", params.get("value") or {})
        state = self._progress.get(cast("int | str", token))
        kind = value.get("kind")
        wanted = {"begin": "created", "report": "begun", "end": "begun"}.get(str(kind))
        if wanted is None:
            self._wrong(message, f"no kind of progress: {kind!r}")
        elif state != wanted:
            self._wrong(message, f"{kind} for the token {token!r}, which is {state or 'unknown'}")
        else:
            self._progress[cast("int | str", token)] = "ended" if kind == "end" else "begun"
        if kind == "begin" and not value.get("title"):
            self._wrong(message, "begin without a title")
        if "percentage" in value:
            self._wrong(message, "a percentage: VS Code then drops every report without one")

    def _check_event(self, message: Object, params: Object) -> None:
        if not self._events_wanted:
            self._wrong(message, "the client did not ask for events")
        self._check_nulls(message, params)
        try:
            event = Event.model_validate(params)
            data_type = EVENT_TYPES.get(event.type)
            if data_type is None:
                self._wrong(message, f"not an event type of the contract: {event.type}")
            else:
                data_type.model_validate(event.data)
        except ValidationError as problem:
            self._wrong(message, f"{params.get('type')}: {problem}")
            return
        last = self._last_seq.get(event.session_id)
        if last is None and event.session_id in self._started_here:
            last = 0
        if last is not None and event.seq != last + 1:
            self._wrong(message, f"{event.session_id}: seq {event.seq} after {last}")
        if last is None and event.type == "session.started" and event.seq != 1:
            self._wrong(message, f"{event.session_id}: session.started has seq {event.seq}")
        if event.seq == 1:
            self._whole_sessions.add(event.session_id)
        self._last_seq[event.session_id] = event.seq
        self._follow(message, from_wire(cast("logged.WireEvent", params)))

    def _follow(self, message: Object, event: LoggedEvent) -> None:
        turn = event.turn_id or ""
        if turn in self._finished_turns and event.type.startswith(("turn.", "tool.", "model.", "approval.")):
            self._wrong(message, f"{event.type} of {turn} after its turn.finished")
        match event.type:
            case "tool.requested":
                self._calls[turn].setdefault(event.data["callId"], 0)
            case "tool.finished":
                calls = self._calls[turn]
                if event.data["callId"] not in calls and event.session_id in self._whole_sessions:
                    self._wrong(message, f"tool.finished for {event.data['callId']}, which nobody requested")
                calls[event.data["callId"]] = calls.get(event.data["callId"], 0) + 1
                if calls[event.data["callId"]] > 1:
                    self._wrong(message, f"a second tool.finished for {event.data['callId']}")
            case "turn.finished":
                self._finished_turns.add(turn)
                for call, results in self._calls[turn].items():
                    if results == 0:
                        self._wrong(message, f"{turn} finished and its call {call} has no result")
            case "model.responded":
                self._check_stream(message, event, "text", event.data["text"])
                self._check_stream(message, event, "reasoning", event.data.get("reasoning", ""))
            case "model.reset":
                for kind in ("text", "reasoning"):
                    self._streams.pop((event.session_id, event.data["messageId"], kind), None)
            case _:
                pass

    def _check_stream(
        self, message: Object, event: Logged[logged.ModelResponded], kind: str, whole: str
    ) -> None:
        streamed = self._streams.get((event.session_id, event.data["messageId"], kind))
        if streamed is not None and streamed != whole:
            self._wrong(message, f"the frames of {event.data['messageId']} join to another {kind}")

    def _check_left(self, message: Object, params: Object) -> None:
        if not self._events_wanted:
            self._wrong(message, "the client did not ask for events")
        try:
            Left.model_validate(params)
        except ValidationError as problem:
            self._wrong(message, str(problem))

    def _check_frame(self, message: Object, params: Object) -> None:
        if not self._events_wanted:
            self._wrong(message, "the client did not ask for events")
        self._check_nulls(message, params)
        try:
            frame = Frame.model_validate(params)
        except ValidationError as problem:
            self._wrong(message, str(problem))
            return
        source = frame.message_id or frame.call_id
        if source is None or (frame.message_id and frame.call_id):
            self._wrong(message, "needs either messageId or callId")
            return
        key = (frame.session_id, source, frame.kind)
        so_far = self._streams.get(key, "")
        if frame.offset != len(so_far):
            self._wrong(
                message, f"{source} {frame.kind}: offset {frame.offset} after {len(so_far)} characters"
            )
        self._streams[key] = so_far + frame.text

    def _response(self, number: Any, message: Object) -> None:
        request = self._sent.pop(number, None)
        if request is None:
            if number is not None:
                self._wrong(message, "nobody asked that")
            return
        if ("result" in message) == ("error" in message):
            self._wrong(message, f"{request['method']}: needs either result or error")
            return
        method = request["method"]
        if method == "initialize":
            self._initialized = True
            self._check_encoding(message)
        elif method == "shutdown" and "result" in message:
            self._shut_down = True
        elif method == "workspace/executeCommand":
            self._check_command(request, message)

    def _check_encoding(self, message: Object) -> None:
        chosen = capability(message, "result.capabilities.positionEncoding")
        offered: list[str] = capability(self._capabilities, "general.positionEncodings") or ["utf-16"]
        if chosen is not None and chosen not in offered:
            self._wrong(message, f"initialize: the position encoding {chosen} was not offered: {offered}")

    def _check_command(self, request: Object, message: Object) -> None:
        name = request["params"]["command"]
        if "error" in message:
            error = cast("Object", message["error"])
            data = error.get("data")
            if not isinstance(error.get("code"), int) or not isinstance(error.get("message"), str):
                self._wrong(message, f"{name}: an error without code or message")
            if isinstance(data, dict) and "traceback" in data:
                self._wrong(message, f"{name}: an error shows a traceback")
            return
        command = COMMANDS.get(name)
        if command is None:
            return
        self._check_nulls(message, message.get("result"))
        try:
            command.result.model_validate(message.get("result"))
        except ValidationError as problem:
            self._wrong(message, f"{name}: {problem}")
            return
        result = cast("Object", message["result"])
        if name in (names.RUN, names.EXPLORE) and self._events_wanted:
            asked = cast("list[Object]", request["params"].get("arguments") or [{}])[0]
            if "sessionId" not in asked:
                self._started_here.add(result["sessionId"])
        if name == names.EVENTS and not result["more"]:
            session = cast("list[Object]", request["params"]["arguments"])[0]["sessionId"]
            seen = self._last_seq.get(session, 0)
            if seen >= result["nextSeq"]:
                self._wrong(message, f"{name}: event {seen} was sent before the answer that lacks it")

    def _check_nulls(self, message: Object, value: Any) -> None:
        for path in _nulls(value, ""):
            self._wrong(message, f"null at {path or 'the top'}")


def _nulls(value: Any, path: str) -> Iterator[str]:
    match value:
        case None:
            yield path
        case dict():
            for key, item in cast("Object", value).items():
                if key not in _QUOTED:
                    yield from _nulls(item, f"{path}.{key}")
        case list():
            for number, item in enumerate(cast("list[Any]", value)):
                yield from _nulls(item, f"{path}[{number}]")
        case _:
            pass


def _text_edits(edit: Object) -> Iterator[tuple[str, list[Object]]]:
    yield from cast("Object", edit.get("changes") or {}).items()
    for change in cast("list[Object]", edit.get("documentChanges") or []):
        if "edits" in change:
            yield change["textDocument"]["uri"], change["edits"]


def _overlap(edits: list[Object]) -> str | None:
    def place(position: Object) -> tuple[int, int]:
        return position["line"], position["character"]

    spans = sorted((place(edit["range"]["start"]), place(edit["range"]["end"])) for edit in edits)
    for start, end in spans:
        if end < start:
            return f"an edit ends at {end} before it starts at {start}"
    for (_, end), (start, _) in itertools.pairwise(spans):
        if start < end:
            return f"two edits overlap at {start}"
    return None
