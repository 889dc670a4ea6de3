"""Does the steps of a scenario file with a fake editor: each as a person would, each wait bounded."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import outrider_protocol as names
from outrider.testing.editor.checks import capability
from outrider.testing.editor.fake_editor import FakeEditor
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.failures import Failure
from outrider.testing.kill import kill
from outrider.testing.places import Places, holds
from outrider.testing.scenario import connect
from outrider_protocol.scenario import (
    Action,
    Cancel,
    Close,
    Command,
    Configure,
    Connection,
    EditorUndo,
    Occurrence,
    OpenFile,
    ReadLog,
    Rename,
    Reply,
    Restart,
    Run,
    Save,
    Scenario,
    Steer,
    Step,
    Type,
    Undo,
    Until,
    Wait,
    Write,
)

Object = dict[str, Any]

STEPS: Final = "steps"
"""The place of the steps in a file, as against those before an answer."""

WAIT_SECONDS: Final = 30.0
"""Real seconds that one wait of a step may take."""


_ASKING: Final = ("approval.requested", "question.asked")


class Unexpected(Exception):  # noqa: N818 - not an error of the program
    """A step came out differently than it must."""

    def __init__(self, expected: str, actual: str) -> None:
        super().__init__(f"expected {expected}, got {actual}")
        self.expected = expected
        self.actual = actual


class Player:
    """Does steps in one workspace, with one editor, whatever becomes of its servers."""

    def __init__(
        self,
        scenario: Scenario,
        editor: FakeEditor,
        state_dir: Path,
        places: Places,
        fail: Callable[[Failure], None],
        *,
        connection: Connection,
    ) -> None:
        """A player who has not begun.

        Args:
            scenario: What is played.
            editor: With which editor, started.
            state_dir: Where the log of its servers is.
            places: Takes the places of this machine out of what is compared.
            fail: Told what goes wrong.
            connection: How further servers are reached.
        """
        self.sessions: list[str] = []
        """Every session that was begun, in order."""
        self.stopped = False
        """Whether a step failed, so that no further one is done."""
        self.marks: list[int] = []
        """How many events the editor had got when each step was done, those before answers not counted."""
        self._scenario = scenario
        self._editor = editor
        self._state_dir = state_dir
        self._places = places
        self._fail = fail
        self._connection: Connection = connection
        self._item: str | None = None
        self._servers = 1
        self._killed = False
        self._standing = asyncio.Event()
        self._standing.set()

    async def play(self, steps: Sequence[Step], where: str) -> None:
        """Do steps, until one fails; that is told.

        Args:
            steps: What is to be done.
            where: Their place in the file.
        """
        for number, step in enumerate(steps):
            if self.stopped:
                return
            place = f"{where}[{number}] {step.do}"
            try:
                await self._step(step)
            except Unexpected as problem:
                self._stop(Failure(place, problem.expected, problem.actual))
            except RpcError as problem:
                self._stop(Failure(place, "no error", str(problem)))
            except (
                AssertionError,
                ConnectionError,
                TimeoutError,
                ValueError,
                LookupError,
                OSError,
            ) as problem:
                self._stop(Failure(place, "that it can be done", self._places.neutral(str(problem))))
            if where == STEPS:
                self.marks.append(len(self._editor.events))

    async def _step(self, step: Step) -> None:
        editor = self._editor
        match step:
            case Run():
                await self._run(step)
            case Wait():
                await self._wait()
            case Until():
                await self._until(step.event, step.count)
            case Reply():
                await self._reply(step)
            case Steer():
                await self._command(names.STEER, {"sessionId": editor.session_id, "text": step.text})
            case Cancel():
                await self._cancel(step)
            case Action():
                await self._action(step)
            case Command():
                await self._any_command(step)
            case OpenFile():
                editor.open(step.path)
            case Type():
                at = (step.at[0], step.at[1]) if step.at else None
                editor.type(step.path, step.text, at=at, replace=step.replace)
            case Save():
                editor.save_all() if step.path is None else editor.save(step.path)
            case Close():
                editor.close(step.path)
            case Rename():
                editor.rename(step.path, step.to)
            case EditorUndo():
                done = editor.undo(step.path) if step.do == "editor_undo" else editor.redo(step.path)
                if not done:
                    raise Unexpected(f"something to {step.do[7:]} in {step.path}", "nothing")
            case Undo():
                await self._undo(step)
            case Write():
                await asyncio.to_thread(_write, editor.root / step.path, step.text)
            case Configure():
                await self._configure(step.values)
            case Restart():
                await self._restart(step)
            case ReadLog():
                await self._read_log(step.from_seq)

    # --- turns -----------------------------------------------------------------------------------------------

    async def _run(self, step: Run) -> None:
        editor = self._editor
        params: Object = {"prompt": step.prompt, "mode": step.mode}
        if editor.session_id and not step.new_session:
            params["sessionId"] = editor.session_id
        if step.model is not None:
            params["model"] = step.model
        if step.limits is not None:
            params["limits"] = step.limits
        if step.selection is not None:
            if not self._scenario.open:
                raise Unexpected("an open document to select in", "none in `open`")
            path = self._scenario.open[0]
            params["context"] = {
                "selection": {"uri": editor.desk.uri(path), "range": editor.range_of(path, step.selection)}
            }
        self._adopt(await self._command(names.RUN, params))
        if step.wait:
            await self._wait()

    def _adopt(self, result: Any) -> None:
        """Go on with the turn that a command began, if it began one."""
        begun = cast("Object", result) if isinstance(result, dict) else {}
        if "sessionId" in begun and "turnId" in begun and "state" not in begun:
            self._editor.session_id, self._editor.turn_id = begun["sessionId"], begun["turnId"]
            if begun["sessionId"] not in self.sessions:
                self.sessions.append(begun["sessionId"])

    async def _wait(self) -> None:
        while True:
            servers = self._servers
            try:
                await self._editor.wait_turn(seconds=WAIT_SECONDS)
            except (ConnectionError, RpcError):
                # A step before an answer may have taken this server away; the turn goes on with the next one.
                if servers == self._servers:
                    raise
                async with asyncio.timeout(WAIT_SECONDS):
                    await self._standing.wait()
            else:
                return

    async def _until(self, event: Occurrence, count: int) -> None:
        def come() -> Object | None:
            same = [known for known in self._editor.events if known["type"] == event.type]
            fitting = [known for known in same if holds(event.data, self._places.neutral(known["data"]))]
            if len(fitting) >= count:
                return fitting[count - 1]
            if came := self._editor.came_of(self._editor.turn_id, event.type):
                raise Unexpected(what, came)
            return None

        what = f"event {event.type} {event.data or ''}".rstrip() + (f", number {count}" if count > 1 else "")
        found = await self._editor.wait_for(come, what, seconds=WAIT_SECONDS)
        if event.type in _ASKING and self._editor.profile.can_ask:
            await self._asked(found)

    async def _asked(self, event: Object) -> None:
        """Wait until the question of an event is on the screen, or needs no answer any more.

        The event is sent before the question; what a step does next must not depend on which of them is faster.
        """
        editor, data = self._editor, event["data"]
        text = data.get("title") or data.get("question") or ""

        def settled() -> bool:
            later = [known for known in editor.events if known["seq"] > event["seq"]]
            return (
                any(text in question.message or not question.answered for question in editor.questions)
                or any(known["data"].get("id") == data["id"] for known in later)
                or any(known["type"] in ("turn.parked", "turn.finished") for known in later)
            )

        await editor.wait_for(settled, f"question {text!r}", seconds=WAIT_SECONDS)

    async def _reply(self, step: Reply) -> None:
        given = {"decision": step.decision, "answer": step.answer, "error": step.error, "note": step.note}
        params: Object = {name: value for name, value in given.items() if value is not None}
        if step.review is not None:
            params["review"] = [one.to_wire() for one in step.review]
        item = await self._open_item(step.item)
        await self._command(names.ANSWER, {"id": item, **params}, refused=step.refused)

    async def _open_item(self, title: str | None) -> str:
        """The id of the open item that is meant."""
        result = await self._command(names.STATUS, {})
        items = [item for session in result["sessions"] for item in session["open"]]
        fitting = [item for item in items if title is None or title in item["title"]]
        if len(fitting) == 1:
            self._item = fitting[0]["id"]
        if len(fitting) > 1 or self._item is None or (title is not None and not fitting):
            wanted = "one open item" if title is None else f"one open item whose title contains {title!r}"
            raise Unexpected(wanted, f"open are {[item['title'] for item in items]}")
        return self._item

    async def _cancel(self, step: Cancel) -> None:
        editor = self._editor
        if step.by == "progress":
            await editor.wait_for(
                lambda: any(progress.running for progress in editor.progress.values()),
                "progress that runs",
                seconds=WAIT_SECONDS,
            )
            editor.cancel_progress()
            return
        params = {"turnId": editor.turn_id, **({} if step.reason is None else {"reason": step.reason})}
        await self._command(names.CANCEL, params)

    # --- what else a person does -----------------------------------------------------------------------------

    async def _action(self, step: Action) -> None:
        editor = self._editor
        span = editor.range_of(step.path, step.at) if step.at is not None else None
        start = {"line": 0, "character": 0}
        found: list[Object] = []
        if step.diagnostic is not None:
            found = [
                {"range": span or {"start": start, "end": start}, "severity": 1, "message": step.diagnostic}
            ]
        await editor.code_actions(step.path, span, diagnostics=found)
        self._adopt(await editor.take_action(step.title))

    async def _any_command(self, step: Command) -> None:
        ids = {"$session": self._editor.session_id, "$turn": self._editor.turn_id}
        if "$item" in str(step.params):
            ids["$item"] = await self._open_item(None)
        result = await self._command(step.name, _with_ids(step.params, ids), refused=step.refused)
        if step.refused is not None:
            return
        self._adopt(result)
        neutral = self._places.neutral(result)
        if step.result is not None and not holds(step.result, neutral):
            raise Unexpected(f"a result that holds {step.result}", str(neutral))

    async def _undo(self, step: Undo) -> None:
        given = {"sessionId": self._editor.session_id or None, "scope": step.scope, "id": step.id}
        params = {name: value for name, value in given.items() if value is not None}
        await self._command(names.UNDO if step.do == "undo" else names.REDO, params, refused=step.refused)

    async def _configure(self, values: Mapping[str, Any]) -> None:
        editor = self._editor
        asked = _pulls(editor)
        editor.configure(values)
        if editor.profile.pulls_configuration:
            await editor.wait_for(
                lambda: _pulls(editor) > asked, "new look at the configuration", seconds=WAIT_SECONDS
            )
        # What follows must find the new values: the server has taken them over when it answers this.
        await self._command(names.STATUS, {})

    # --- the server ------------------------------------------------------------------------------------------

    async def _restart(self, step: Restart) -> None:
        editor = self._editor
        self._servers += 1
        self._standing.clear()
        try:
            if step.do == "kill":
                self._killed = True
                await kill(editor.connection, self._state_dir)
            else:
                await editor.shut_down()
            await editor.reconnect(connect(self._connection, editor.root))
            if step.resume and editor.session_id:
                await self._command(names.RESUME, {"sessionId": editor.session_id})
        finally:
            self._standing.set()

    async def _read_log(self, first: int) -> None:
        session = self._editor.session_id
        log = await self.log(session, first)
        live = {event["seq"]: event for event in self._editor.events if event["sessionId"] == session}
        for event in log:
            sent = live.get(event["seq"])
            if sent is None and self._killed:
                continue  # committed, and never sent
            if sent != event:
                raise Unexpected(f"event {event['seq']} as it was sent live, {sent}", str(event))

    async def log(self, session_id: str, first: int = 1) -> list[Object]:
        """The log of a session from event `first` on, page by page."""
        events: list[Object] = []
        more = True
        while more:
            page = await self._command(names.EVENTS, {"sessionId": session_id, "fromSeq": first})
            events += page["events"]
            first, more = page["nextSeq"], page["more"]
        return events

    async def _command(self, name: str, params: Mapping[str, Any], *, refused: str | None = None) -> Any:
        try:
            result = await self._editor.command(name, params, seconds=WAIT_SECONDS)
        except RpcError as error:
            if refused is None:
                raise
            if refused not in (capability({"error": error.data}, "error.reason"), str(error.code)):
                raise Unexpected(f"refused: {refused}", str(error)) from None
            return None
        if refused is not None:
            raise Unexpected(f"refused: {refused}", f"done: {self._places.neutral(result)}")
        return result

    def _stop(self, failure: Failure) -> None:
        self.stopped = True
        self._fail(failure)


def _pulls(editor: FakeEditor) -> int:
    return sum(
        traffic.direction == "to editor" and traffic.message.get("method") == "workspace/configuration"
        for traffic in editor.messages
    )


def _with_ids(value: Any, ids: Mapping[str, str]) -> Any:
    match value:
        case str():
            for name, found in ids.items():
                value = value.replace(name, found)
            return value
        case dict():
            return {name: _with_ids(item, ids) for name, item in cast("Object", value).items()}
        case list():
            return [_with_ids(item, ids) for item in cast("list[Any]", value)]
        case _:
            return value


def _write(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
