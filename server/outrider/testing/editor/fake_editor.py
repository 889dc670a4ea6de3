"""The fake editor: a client that treats the server as a real editor would, message by message.

It acts out a `Profile` with plain JSON-RPC dicts, records everything, and checks what the server sends (`Watch`).
It must never smooth over a fault of the server, and never do by itself what a user would have to do.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import outrider_protocol as names
from outrider.testing.editor.answers import Question
from outrider.testing.editor.asked_client import AskedClient
from outrider.testing.editor.buffers import PositionEncoding
from outrider.testing.editor.checks import Watch, capability
from outrider.testing.editor.connections import Connection
from outrider.testing.editor.desk import EditOutcome, first_edit_only, path_of, targets
from outrider.testing.editor.profiles import Profile
from outrider.testing.editor.wire_client import Pending, RpcError

Object = dict[str, Any]

METHOD_NOT_FOUND: Final = -32601
INTERNAL_ERROR: Final = -32603

_WITHIN_A_TURN: Final = ("turn.", "model.", "tool.", "approval.")
"""What no event after the end of its turn begins with."""
_OPTIONS: Final = "initializationOptions: "


@dataclass(frozen=True, slots=True)
class Said:
    """A message for the user, or a line of the log."""

    level: int
    """LSP `MessageType`: 1 error, 2 warning, 3 info, 4 log."""
    text: str
    shown: bool
    """Whether it was shown (`window/showMessage`) or only logged."""


@dataclass(frozen=True, slots=True)
class EditRequest:
    """A `workspace/applyEdit` and the answer to it."""

    label: str
    edit: Object
    answer: Object | None
    """The result; None where there was an error or no answer."""


@dataclass(slots=True)
class Progress:
    """The life of one progress token."""

    begin: Object | None = None
    reports: list[Object] = field(default_factory=list[Object])
    end: Object | None = None

    @property
    def running(self) -> bool:
        """Whether it has begun and not ended."""
        return self.begin is not None and self.end is None


class FakeEditor(AskedClient):
    """An editor with a workspace, a user and a server."""

    def __init__(
        self,
        profile: Profile,
        root: Path,
        *,
        options: Mapping[str, Any] | None = None,
        folders: Sequence[Path] | None = None,
        configuration: Mapping[str, Any] | None = None,
    ) -> None:
        """An editor that has not been started.

        Args:
            profile: Which editor it is.
            root: The folder that relative paths are meant from.
            options: The `initializationOptions`.
            folders: The workspace folders; absent means `root` alone.
            configuration: What the section `outrider` of its configuration holds.
        """
        extensions = [
            *([names.ASK_EXTENSION] if profile.takes_ask else []),
            *([names.LANGUAGE_EXTENSION] if profile.lends else []),
            *([names.SAVE_EXTENSION] if profile.takes_save else []),
        ]
        own: Object = {"extensions": extensions} if extensions else {}
        self.options = {**own, **(options or {})}
        super().__init__(profile, root, _watch(profile, self.options))
        self.folders = list(folders) if folders is not None else [root]
        self.configuration: Mapping[str, Any] | None = configuration
        self.auto_settle = True
        """Whether changes made by an edit are sent by themselves; else `step` and `settle` send them."""
        self.session_id = ""
        """Session of the last `run`."""
        self.turn_id = ""
        """Turn of the last `run`."""

        self.events: list[Object] = []
        self.frames: list[Object] = []
        self.left: list[Object] = []
        """The sessions of other processes that it was told are watched no longer."""
        self.edits: list[EditRequest] = []
        self.progress: dict[int | str, Progress] = {}
        self.shown: list[Object] = []
        self.said: list[Said] = []
        self.diagnostics: dict[str, list[Object]] = {}
        self.registrations: list[Object] = []
        self.actions: list[Object] = []
        """What the last `code_actions` gave."""

        self._edit_groups = 0
        self._typed = 0

    # --- the connection --------------------------------------------------------------------------------------

    async def start(self, connection: Connection) -> None:
        """Reach the server and initialize it."""
        await self.connect(connection)
        self.server = await self.request("initialize", self._initialize_params())
        encoding = capability(self.server, "capabilities.positionEncoding") or "utf-16"
        self.desk.encoding = cast("PositionEncoding", encoding)
        self.notify("initialized", {})
        if self.configuration is not None and not self.profile.pulls_configuration:
            self.configure(self.configuration)
        if self.profile.stops_reading:
            connection.pause_reading()

    async def reconnect(self, connection: Connection) -> None:
        """Go on with another server when the one before is gone: what was open is open, unsaved text and all.

        The records of this editor go on too; questions of the old server are not on the screen any more.

        Raises:
            RuntimeError: The server before is still there.
        """
        if self._connection is not None and self.ended is None:
            raise RuntimeError("the server is still there")
        self._disconnected(_watch(self.profile, self.options))
        self.progress.clear()
        for question in self.questions:
            question.replaced = question.replaced or not question.answered
        await self.start(connection)
        self._open_again()

    @property
    def not_taken(self) -> list[str]:
        """What the server said about `initializationOptions` that it does not take as they are, each once."""
        return list(dict.fromkeys(said.text for said in self.said if _OPTIONS in said.text))

    async def shut_down(self) -> None:
        """Shut the server down as the specification says; rules that it broke are among `watch.violations`."""
        connection = self.connection
        connection.resume_reading()
        if self.server and self.ended is None:
            await self._shut_down(connection)
        else:
            await connection.close()
        if connection.fault is not None:
            self.watch.violations.append(connection.fault)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def stop(self) -> None:
        """Shut the server down.

        Raises:
            AssertionError: The test gave answers that are none, or the server broke rules: all of them are named.
        """
        __tracebackhide__ = True
        await self.shut_down()
        problems = list(self.slips)
        if self.watch.violations:
            problems.append("the server broke rules:\n  " + "\n  ".join(self.watch.violations))
        if problems:
            raise AssertionError("\n".join(problems))

    async def _shut_down(self, connection: Connection) -> None:
        wrong = self.watch.violations
        try:
            await self.request("shutdown")
        except (ConnectionError, RpcError, AssertionError) as problem:
            wrong.append(f"shutdown: {problem}")
        self.notify("exit")
        code = await connection.close()
        if code not in (0, None):
            wrong.append(f"exit: the server ended with code {code}; {self.ended}")
        wrong.extend(f"{method}: the request got no response" for method in self.watch.unanswered())

    # --- requests --------------------------------------------------------------------------------------------

    async def command(
        self,
        name: str,
        argument: Mapping[str, Any] | None = None,
        *,
        token: int | str | None = None,
        seconds: float | None = None,
    ) -> Any:
        """Run a command with one object and give its result.

        Args:
            name: Such as `outrider.run`.
            argument: Its one argument.
            token: A `workDoneToken` of the client's making.
            seconds: Real seconds it may take; None: as long as anything may.

        Raises:
            RpcError: The server answered with an error.
            AssertionError: There was no answer in time.
            ConnectionError: The server is gone.
        """
        __tracebackhide__ = True
        params = _command(name, argument, token)
        return await self.request("workspace/executeCommand", params, seconds=seconds)

    def command_nowait(
        self, name: str, argument: Mapping[str, Any] | None = None, *, token: int | str | None = None
    ) -> Pending:
        """Run a command without waiting for its result."""
        return self.request_nowait("workspace/executeCommand", _command(name, argument, token))

    async def run(self, prompt: str, *, seconds: float | None = None, **params: Any) -> Object:
        """Give a task and wait until its turn is finished or needs an answer.

        Args:
            prompt: The task.
            seconds: Real seconds it may take; None: as long as anything may.
            params: Further params of `outrider.run`, as on the wire.

        Returns:
            The result of `outrider.wait`.
        """
        started = await self.command(names.RUN, {"prompt": prompt, **params})
        self.session_id, self.turn_id = started["sessionId"], started["turnId"]
        return await self.wait_turn(seconds=seconds)

    async def wait_turn(self, turn_id: str | None = None, *, seconds: float | None = None) -> Object:
        """Wait until a turn is finished or needs an answer; absent means the turn of the last `run`."""
        __tracebackhide__ = True
        return await self.command(names.WAIT, {"turnId": turn_id or self.turn_id}, seconds=seconds)

    async def code_actions(
        self,
        path: str | Path,
        span: Object | None = None,
        *,
        diagnostics: Sequence[Object] = (),
        only: Sequence[str] | None = None,
        automatic: bool = False,
    ) -> list[Object]:
        """Ask for the code actions at a place.

        Args:
            path: The document.
            span: An LSP range; absent means the document's start.
            diagnostics: Those at the place.
            only: Kinds that are wanted.
            automatic: Whether the editor asks by itself, as it does when the cursor moves.
        """
        start = {"line": 0, "character": 0}
        context: Object = {"diagnostics": list(diagnostics), "triggerKind": 2 if automatic else 1}
        if only is not None:
            context["only"] = list(only)
        params = {
            "textDocument": {"uri": self.desk.uri(path)},
            "range": span or {"start": start, "end": start},
            "context": context,
        }
        self.actions = cast("list[Object]", await self.request("textDocument/codeAction", params) or [])
        self._check_actions(self.actions, only)
        return self.actions

    async def take_action(self, title: str) -> Any:
        """Take one of the last `code_actions` by its title, or by the only title that begins so.

        Returns:
            The result of its command.
        """
        exact = [action for action in self.actions if action["title"] == title]
        found = exact or [action for action in self.actions if action["title"].startswith(title)]
        if len(found) != 1:
            offered = [action["title"] for action in self.actions]
            raise AssertionError(f"{len(found)} actions are called {title!r}; offered were {offered}")
        (action,) = found
        if "edit" in action:
            self._edit_groups += 1
            self._flush_outcome(self.desk.apply(action["edit"], self._edit_groups))
        command = action.get("command")
        if isinstance(command, dict):
            action = cast("Object", command)
        if not isinstance(action.get("command"), str):
            return None
        advertised: list[str] = capability(self.server, "capabilities.executeCommandProvider.commands") or []
        if action["command"] not in advertised:
            self._violation(f"the code action {title!r} has the command {action['command']}, not advertised")
        params = {"command": action["command"], "arguments": action.get("arguments", [])}
        return await self.request("workspace/executeCommand", params)

    def cancel_progress(self, token: int | str | None = None) -> None:
        """Press Cancel on a progress; absent means the last one that runs."""
        if token is None:
            running = [key for key, progress in self.progress.items() if progress.running]
            if not running:
                raise AssertionError("no progress is running")
            token = running[-1]
        self.notify("window/workDoneProgress/cancel", {"token": token})

    def configure(self, values: Mapping[str, Any] | None) -> None:
        """Change the configuration's section `outrider`, and tell the server."""
        self.configuration = values
        settings = None if self.profile.pulls_configuration else {names.CONFIGURATION_SECTION: values}
        self.notify("workspace/didChangeConfiguration", {"settings": settings})

    def set_folders(self, folders: Sequence[Path]) -> None:
        """Change the workspace folders."""
        added = [folder for folder in folders if folder not in self.folders]
        removed = [folder for folder in self.folders if folder not in folders]
        self.folders = list(folders)
        event = {"added": [_folder(path) for path in added], "removed": [_folder(path) for path in removed]}
        self.notify("workspace/didChangeWorkspaceFolders", {"event": event})

    # --- waiting ---------------------------------------------------------------------------------------------

    async def event(
        self, event_type: str, *, count: int = 1, turn_id: str | None = None, seconds: float | None = None
    ) -> Object:
        """Wait for the `count`-th event of a type, of a turn if one is named; gives it as it was sent."""

        def found() -> Object | None:
            matching = self.events_of(event_type, turn_id=turn_id)
            if len(matching) >= count:
                return matching[count - 1]
            if turn_id is not None and (came := self.came_of(turn_id, event_type)):
                raise AssertionError(f"no {event_type} number {count}: {came}")
            return None

        __tracebackhide__ = True
        return await self.wait_for(found, f"{event_type} number {count}", seconds=seconds)

    def events_of(self, event_type: str, *, turn_id: str | None = None) -> list[Object]:
        """The events of a type that came so far, of a turn if one is named."""
        return [
            event
            for event in self.events
            if event["type"] == event_type and turn_id in (None, event.get("turnId"))
        ]

    def came_of(self, turn_id: str, event_type: str) -> str | None:
        """What came of a turn that has finished, so that no event of a type can come any more; None: it can."""
        types = [event["type"] for event in self.events if event.get("turnId") == turn_id]
        if "turn.finished" not in types or not event_type.startswith(_WITHIN_A_TURN):
            return None
        return f"the turn has finished; its events were {', '.join(dict.fromkeys(types))}"

    async def question(self, count: int = 1, *, seconds: float | None = None) -> Question:
        """Wait for the `count`-th question."""
        await self.wait_for(lambda: len(self.questions) >= count, f"question number {count}", seconds=seconds)
        return self.questions[count - 1]

    # --- edits -----------------------------------------------------------------------------------------------

    def _apply_edit(self, number: int | str, params: Object) -> None:
        edit, label = cast("Object", params["edit"]), str(params.get("label", ""))
        fault = self.profile.fault_of_edit(self._edit_groups)
        self._type_before(edit)
        if fault == "refuses":
            outcome = EditOutcome(applied=False, reason="not now")
        elif fault == "fails":
            outcome = EditOutcome(error="Internal error")
        elif fault == "claims" or not capability(self.profile.capabilities, "workspace.applyEdit"):
            outcome = EditOutcome(applied=fault == "claims")
        else:
            self._edit_groups += 1
            applied = first_edit_only(edit) if fault == "partly" else edit
            outcome = self.desk.apply(applied, self._edit_groups)
        for buffer in outcome.opened:
            self._send_open(buffer, as_on_disk=True)
        if outcome.applied:
            self._save_refactoring(params)
        self._tell_of_edit(number, label, edit, outcome)

    def _tell_of_edit(self, number: int | str, label: str, edit: Object, outcome: EditOutcome) -> None:
        if self.profile.change_before_answer and self.auto_settle:
            self._flush_outcome(outcome)
            self._answer_edit(number, label, edit, outcome)
        else:
            self._answer_edit(number, label, edit, outcome)
            for uri in outcome.closed:
                self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            self._tell_renamed(outcome.renamed)
            for buffer in self.desk.buffers.values():
                if buffer.unsent and buffer.due is None:
                    buffer.due = self.now + self.profile.debounce_seconds
            if self.auto_settle and not self.profile.tells_with_answers:
                self._start(self._settle_soon())

    def _type_before(self, edit: Object) -> None:
        typed = self.profile.types_before_edit
        if typed is None or self._typed >= self.profile.typing_times:
            return
        self._typed += 1
        for uri in targets(edit):
            if uri in self.desk.buffers:
                self.type(uri, typed, at=(0, 0), unsent=True)

    def _answer_edit(self, number: int | str, label: str, edit: Object, outcome: EditOutcome) -> None:
        answer: Object | None = None
        if outcome.error is not None:
            self._respond_error(number, INTERNAL_ERROR, outcome.error)
        elif self.profile.edit_fault != "never_answers":
            answer = {"applied": outcome.applied}
            if outcome.reason is not None:
                answer["failureReason"] = outcome.reason
            self._respond(number, answer)
        self.edits.append(EditRequest(label, edit, answer))

    # --- what comes in ---------------------------------------------------------------------------------------

    def _handle_request(self, number: int | str, method: str, params: Object) -> None:
        match method:
            case "window/showMessageRequest" if self.profile.tells_with_answers and not params.get("actions"):
                if self.auto_settle:
                    self.settle()
                self._respond(number, None)
            case "window/showMessageRequest":
                self._ask(number, params)
            case "workspace/applyEdit":
                self._apply_edit(number, params)
            case "window/workDoneProgress/create":
                if self.profile.answers_create_progress:
                    self._respond(number, None)
            case "window/showDocument":
                self._show(number, params)
            case "workspace/configuration":
                self._respond(number, [self._section(item.get("section")) for item in params["items"]])
            case "workspace/workspaceFolders":
                self._respond(number, [_folder(path) for path in self.folders])
            case names.TOOL_REQUEST if self.tool_answers is not None:
                self._run_tool(number, params)
            case names.ASK_REQUEST if self.profile.takes_ask:
                self._ask_item(number, params)
            case names.LANGUAGE_REQUEST if self.profile.lends:
                self._take_language(number, params)
            case names.SAVE_REQUEST if self.profile.takes_save:
                self._save_for_server(number, params)
            case "client/registerCapability":
                self.registrations.extend(params["registrations"])
                self._respond(number, None)
            case "workspace/codeLens/refresh":
                self.lens_refreshes += 1
                self._respond(number, None)
            case "client/unregisterCapability" | "workspace/diagnostic/refresh":
                self._respond(number, None)
            case _ if self.profile.unknown_request == "null":
                self._respond(number, None)
            case _:
                self._respond_error(number, METHOD_NOT_FOUND, f"Method not found: {method}")

    def _handle_notification(self, method: str, params: Object) -> None:
        match method:
            case names.EVENT_NOTIFICATION:
                self.events.append(params)
            case names.STREAM_NOTIFICATION:
                self.frames.append(params)
            case names.LEFT_NOTIFICATION:
                self.left.append(params)
            case "$/progress":
                self._progress(params["token"], params["value"])
            case "window/showMessage" | "window/logMessage":
                self.said.append(Said(params["type"], params["message"], method == "window/showMessage"))
            case "textDocument/publishDiagnostics":
                self.diagnostics[params["uri"]] = params["diagnostics"]
            case "$/cancelRequest":
                for asked in (*self.questions, *self.tool_calls, *self.language_requests):
                    asked.withdrawn = asked.withdrawn or asked.request_id == params["id"]
            case _:
                pass

    def _progress(self, token: int | str, value: Object) -> None:
        progress = self.progress.setdefault(token, Progress())
        match value.get("kind"):
            case "begin":
                progress.begin = value
            case "report":
                progress.reports.append(value)
            case _:
                progress.end = value

    def _show(self, number: int | str, params: Object) -> None:
        self.shown.append(params)
        path = path_of(params["uri"])
        exists = path is not None and path.is_file()
        if exists and not params.get("external"):
            self.open(params["uri"])
        if self.profile.answers_show_document:
            self._respond(number, {"success": exists or bool(params.get("external"))})

    def _section(self, section: str | None) -> Any:
        if section == names.CONFIGURATION_SECTION and self.configuration is not None:
            return dict(self.configuration)
        return None

    # --- what goes out ---------------------------------------------------------------------------------------

    def _initialize_params(self) -> Object:
        params: Object = {
            "processId": os.getpid(),
            "rootUri": self.folders[0].as_uri() if self.folders else None,
            "capabilities": dict(self.profile.capabilities),
            "initializationOptions": self.options,
            "trace": "off",
            "workspaceFolders": [_folder(path) for path in self.folders] or None,
            **self.profile.extra,
        }
        if self.profile.client_info is not None:
            params["clientInfo"] = dict(self.profile.client_info)
        return params

    def _check_actions(self, actions: Sequence[Object], only: Sequence[str] | None) -> None:
        literals = capability(self.profile.capabilities, "textDocument.codeAction.codeActionLiteralSupport")
        for action in actions:
            if not literals and not isinstance(action.get("command"), str):
                self._violation(f"a code action literal, which the client does not advertise: {action}")
            kind = str(action.get("kind", ""))
            if only and not any(_within(kind, wanted) for wanted in only):
                self._violation(f"the code action {action['title']!r} is {kind!r}, asked was {only}")


def _watch(profile: Profile, options: Mapping[str, Any]) -> Watch:
    lenient = profile.edits_unadvertised_document_changes
    return Watch(profile.capabilities, options, lenient_edits=lenient)


def _command(name: str, argument: Mapping[str, Any] | None, token: int | str | None) -> Object:
    params: Object = {"command": name, "arguments": [dict(argument or {})]}
    return params if token is None else {**params, "workDoneToken": token}


def _within(kind: str, wanted: str) -> bool:
    # LSP 3.17, "CodeActionKind": kinds are a hierarchy of words joined by dots; the empty kind holds all.
    return wanted in ("", kind) or kind.startswith(f"{wanted}.")


def _folder(path: Path) -> Object:
    return {"uri": path.as_uri(), "name": path.name}
