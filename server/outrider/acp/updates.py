"""What a session does, as the client shows it: each event and each piece of live text becomes a `session/update`.

A session that is loaded is told from its log in the same way, with the texts that were live then.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    Cost,
    FileEditToolCallContent,
    PlanEntry,
    PlanEntryStatus,
    SessionInfoUpdate,
    TerminalToolCallContent,
    TextContentBlock,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    ToolKind,
    UsageUpdate,
    UserMessageChunk,
)

from outrider.acp.capabilities import as_object
from outrider.acp.client import Client
from outrider.acp.questions import Subject, ToolContent, text_content
from outrider.agent.interaction.quoting import code_block, short
from outrider.agent.service.notices import call_in_words, retry_in_words
from outrider.models.searches import searches_in_words
from outrider.ports.events import LoggedEvent, StreamFrame
from outrider.ports.text import visible
from outrider.transport.frames import FrameSender
from outrider_protocol import logged

KINDS: Final[Mapping[str, ToolKind]] = {
    "read_file": "read",
    "list_files": "search",
    "find_files": "search",
    "search": "search",
    "diagnostics": "read",
    "edit_file": "edit",
    "apply_patch": "edit",
    "insert_lines": "edit",
    "write_file": "edit",
    "delete_file": "delete",
    "rename_file": "move",
    "run_command": "execute",
    "fetch_url": "fetch",
    "web_search": "fetch",
}
"""What kind of call each tool makes; of others nothing is known."""
_UNTOLD: Final = frozenset({"update_plan"})
"""Tools whose calls are shown as what they do."""
_SHOWN_OF_RESULT: Final = 20_000
"""Characters of a tool's result that the client gets."""
_SHOWN_OF_OUTPUT: Final = 16_000
"""Characters of a running command's output, the last ones, that a client without terminals gets."""
OUTPUT_SECONDS: Final = 0.3
"""How often such a client gets them anew: each time all of them."""
TITLE_CHARACTERS: Final = 80
CURRENCY: Final = "USD"
"""ACP wants one. Prices are plain numbers in the settings; providers bill in this."""

_STATUS: Final[Mapping[str, PlanEntryStatus]] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "done": "completed",
}


@dataclass(slots=True)
class _Call:
    """A tool call, as it was shown."""

    subject: Subject
    name: str
    output: str = ""
    """What it has printed, the last of it."""
    diffs: list[ToolContent] = field(default_factory=list[ToolContent])
    flushing: asyncio.TimerHandle | None = None


class Updates:
    """The updates of one session."""

    def __init__(
        self, client: Client, session_id: str, place_of: Callable[[str], str | None], root: str
    ) -> None:
        """Begin with nothing told.

        Args:
            client: Who is told.
            session_id: The session.
            place_of: The absolute path of a file, by how it is written.
            root: The first workspace folder, in which commands run.
        """
        self._client = client
        self._session_id = session_id
        self._place_of = place_of
        self._root = root
        self._frames = FrameSender(self._text, client.outgoing)
        self._calls: dict[str, _Call] = {}
        self._window = 0
        self._cost: float | None = 0.0
        self._titled = False
        self._steering: dict[str, str] = {}
        """Texts of the user that the model has not got yet."""
        self._notes = 0
        self.is_replay = False
        """Whether the events are those of a log, so that texts come whole and what the user said is told, too."""

    def subject_of(self, call_id: str) -> Subject | None:
        """How a call was shown."""
        call = self._calls.get(call_id)
        return None if call is None else call.subject

    def on_frame(self, frame: StreamFrame) -> None:
        """Tell a piece of live text."""
        self._frames.send(frame)

    def note(self, text: str) -> None:
        """Tell the user something that the model did not say."""
        self._frames.flush()
        self._notes += 1
        quoted = "\n".join(f"> {line}" for line in text.splitlines())
        self._say("agent", f"\n\n{quoted}\n\n", f"note_{self._notes}")

    def say(self, text: str) -> None:
        """Answer the user in the agent's place."""
        self._notes += 1
        self._say("agent", text, f"note_{self._notes}")

    def on_event(self, event: LoggedEvent) -> None:
        """Tell an event."""
        self._frames.flush()
        match event.type:
            case "turn.started":
                self._user_said(event.data["prompt"], event.turn_id or "")
                if not self._titled:
                    self._title(short(event.data["prompt"], TITLE_CHARACTERS))
            case "steering.received":
                self._steering[event.data["pendingId"]] = event.data["text"]
            case "session.titled" | "session.renamed" if title := event.data.get("title"):
                self._title(title)
            case "model.requested" if event.data["purpose"] == "main":
                self._window = event.data.get("contextWindow", self._window)
                for pending_id in event.data["steering"]:
                    self._user_said(self._steering.pop(pending_id, ""), pending_id)
            case "model.responded":
                self._responded(event.data)
            case "model.reset" if not self.is_replay:
                self.note(f"The text above was withdrawn ({event.data['reason']}). The model begins anew.")
            case "model.retried" if (wait := event.data.get("wait")) and not self.is_replay:
                self._say("thought", f"\n{retry_in_words(event.data, wait)}\n", event.data["messageId"])
            case "plan.updated":
                self._plan(event.data["items"])
            case "turn.finished":
                self._turn_finished(event.data)
            case _:
                self._of_call(event)

    def _of_call(self, event: LoggedEvent) -> None:
        match event.type:
            case "tool.requested":
                self._requested(event.data)
            case "tool.started":
                self._progress(event.data["callId"], "in_progress")
            case "edit.applied" | "edit.merged" if call := self._calls.get(event.data.get("callId", "")):
                call.diffs += self._diffs(event.data)
            case "tool.finished":
                self._finished(event.data)
            case _:
                pass

    def close(self) -> None:
        """Tell nothing any more."""
        for call in self._calls.values():
            if call.flushing is not None:
                call.flushing.cancel()

    # --- texts --------------------------------------------------------------------------------------------------

    def _text(self, frame: StreamFrame, text: str) -> None:
        match frame.kind:
            case "text":
                self._say("agent", text, frame.source_id)
            case "reasoning":
                self._say("thought", text, frame.source_id)
            case "output":
                self._output(frame.source_id, text)

    def _say(self, who: Literal["agent", "thought", "user"], text: str, message_id: str) -> None:
        content = TextContentBlock(type="text", text=visible(text))
        match who:
            case "agent":
                chunk = AgentMessageChunk(
                    session_update="agent_message_chunk", content=content, message_id=message_id
                )
            case "thought":
                chunk = AgentThoughtChunk(
                    session_update="agent_thought_chunk", content=content, message_id=message_id
                )
            case "user":
                chunk = UserMessageChunk(
                    session_update="user_message_chunk", content=content, message_id=message_id
                )
        self._client.update(self._session_id, chunk)

    def _user_said(self, text: str, message_id: str) -> None:
        if self.is_replay:  # else the client shows what it sends
            self._say("user", text, message_id)

    def _responded(self, data: logged.ModelResponded) -> None:
        for line in searches_in_words(data):
            self._say("thought", f"\n{line}\n", data["messageId"])
        if self.is_replay and data["purpose"] == "main":
            if reasoning := data.get("reasoning"):
                self._say("thought", reasoning, data["messageId"])
            if data["text"]:
                self._say("agent", data["text"], data["messageId"])
        usage = data.get("usage")
        if usage is None:
            return
        cost = usage.get("cost")
        self._cost = None if cost is None or self._cost is None else self._cost + cost
        if data["purpose"] == "main" and self._window:
            told = UsageUpdate(
                session_update="usage_update",
                used=usage["inputTokens"] + usage["outputTokens"],
                size=self._window,
                cost=Cost(amount=self._cost, currency=CURRENCY) if self._cost else None,
            )
            self._client.update(self._session_id, told)

    def _title(self, title: str) -> None:
        self._titled = True
        info = SessionInfoUpdate(session_update="session_info_update", title=visible(title))
        self._client.update(self._session_id, info)

    def _plan(self, items: Iterable[logged.PlanItem]) -> None:
        entries = [
            PlanEntry(content=visible(item["text"]), priority="medium", status=_STATUS[item["status"]])
            for item in items
        ]
        self._client.update(self._session_id, AgentPlanUpdate(session_update="plan", entries=entries))

    def _turn_finished(self, data: logged.TurnFinished) -> None:
        done = data.get("done")
        if data["outcome"] == "completed" and done is not None and done["line"]:
            self.note(done["line"])
        elif data["outcome"] == "budget_exhausted" and not self.is_replay:
            self.note(f"A limit was reached: {data['reason']}.")

    # --- tool calls ---------------------------------------------------------------------------------------------

    def _requested(self, data: logged.ToolRequested) -> None:
        name, call_id = data["name"], data["callId"]
        if name in _UNTOLD:
            return
        given = as_object(data["input"])
        kind: ToolKind = KINDS.get(name, "other")
        subject = Subject(call_id, visible(call_in_words(data)), kind, (), self._locations(given))
        self._calls[call_id] = _Call(subject, name)
        in_terminal = name == "run_command" and self._client.can.shows_terminals
        start = ToolCallStart(
            session_update="tool_call",
            tool_call_id=call_id,
            title=subject.title,
            kind=subject.kind,
            status="pending",
            locations=list(subject.locations) or None,
            raw_input=given,
            content=[TerminalToolCallContent(type="terminal", terminal_id=call_id)] if in_terminal else None,
            # Zed: a terminal that only shows what it is told.
            field_meta={"terminal_info": {"terminal_id": call_id, "cwd": self._root}}
            if in_terminal
            else None,
        )
        self._client.update(self._session_id, start)

    def _locations(self, given: Mapping[str, Any]) -> list[ToolCallLocation]:
        path, line = given.get("path", given.get("from")), given.get("start_line")
        place = self._place_of(path) if isinstance(path, str) and path else None
        if place is None:
            return []
        is_line = isinstance(line, int) and not isinstance(line, bool) and line > 0
        return [ToolCallLocation(path=place, line=line if is_line else None)]

    def _output(self, call_id: str, text: str) -> None:
        call = self._calls.get(call_id)
        if call is None:
            return
        if self._client.can.shows_terminals:
            self._progress(call_id, None, meta={"terminal_output": {"terminal_id": call_id, "data": text}})
            return
        call.output = (call.output + text)[-_SHOWN_OF_OUTPUT:]
        if call.flushing is None:
            loop = asyncio.get_running_loop()
            call.flushing = loop.call_later(OUTPUT_SECONDS, self._show_output, call_id)

    def _show_output(self, call_id: str) -> None:
        call = self._calls.get(call_id)
        if call is not None:
            call.flushing = None
            self._progress(call_id, None, [text_content(code_block(visible(call.output)))])

    def _finished(self, data: logged.ToolFinished) -> None:
        call_id = data["callId"]
        call = self._calls.pop(call_id, None)
        if call is None:
            return
        if call.flushing is not None:
            call.flushing.cancel()
        status: ToolCallStatus = "completed" if data["status"] == "ok" else "failed"
        recalled = data.get("recalled")
        text = visible(f"Answered as before: {recalled['answer']}" if recalled else data["content"])
        shown = (
            text
            if len(text) <= _SHOWN_OF_RESULT
            else f"{text[:_SHOWN_OF_RESULT]}\n… {len(text) - _SHOWN_OF_RESULT} further characters"
        )
        content: list[ToolContent] = [*call.diffs]
        meta: dict[str, Any] | None = None
        if call.name == "run_command" and self._client.can.shows_terminals:
            content.append(TerminalToolCallContent(type="terminal", terminal_id=call_id))
            ran = data.get("ran")
            code = ran.get("exitCode") if ran is not None else None
            # Of a command that checks nothing the log has no code.
            ended = {"exit_code": code if code is not None else int(status == "failed"), "signal": None}
            meta = {"terminal_exit": {"terminal_id": call_id, **ended}}
            if self.is_replay:
                meta["terminal_output"] = {"terminal_id": call_id, "data": shown}
        elif not call.diffs or status == "failed":
            content.append(text_content(code_block(shown)))
        self._progress(call_id, status, content, meta)

    def _progress(
        self,
        call_id: str,
        status: ToolCallStatus | None,
        content: list[ToolContent] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        if status == "in_progress" and call_id not in self._calls:
            return
        progress = ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=call_id,
            status=status,
            content=content,
            field_meta=meta,
        )
        self._client.update(self._session_id, progress)

    def _diffs(self, data: "logged.EditApplied | logged.EditMerged") -> list[ToolContent]:
        path = self._place_of(data["path"])
        if path is None or data["operation"] == "rename":
            return []
        is_new = data["operation"] == "create"
        return [
            FileEditToolCallContent(
                type="diff", path=path, old_text=None if is_new else hunk["removed"], new_text=hunk["added"]
            )
            for hunk in data["hunks"]
        ]
