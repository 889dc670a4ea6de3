"""Shows the events of the sessions with standard means: progress while a turn runs, a message when it ends."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from outrider.agent.inbox import shortened
from outrider.agent.session import Session
from outrider.agent.sessions import Sessions
from outrider.lsp.editor import ClientEditor
from outrider.lsp.progress import ProgressFactory, Stretch, Token
from outrider.ports.events import LoggedEvent

TITLE = "Outrider"
EVIDENCE = {
    "unverified": " (unverified: nothing was run after the last change)",
    "check_failed": " (the last command after the last change failed)",
}
"""What a message adds about the way a completed turn was checked."""
MESSAGE_LENGTH = 400
"""Characters of a summary that are put in a message; the whole goes to the log of the client, and into the task document."""
WHERE_ALL_IS = " (all of it is in the task document: take the code action “write a task…”)"


@dataclass(slots=True)
class _Running:
    prompt: str
    stretches: list[Stretch]
    """Our own, and those of requests that wait for the turn."""
    steps: int = 0
    tokens: int = 0
    cost: float | None = None


class Reporter:
    """Follows the committed events. It never steers anything but by the person's click on Cancel."""

    def __init__(self, editor: ClientEditor, progress: ProgressFactory, sessions: Sessions) -> None:
        """Report to `editor` and `progress`; a cancel there goes to `sessions`."""
        self._editor = editor
        self._progress = progress
        self._sessions = sessions
        self._turns: dict[str, _Running] = {}
        self._prompts: dict[str, str] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def on_event(self, event: LoggedEvent) -> None:
        """Show one event."""
        turn_id, data = event.turn_id, event.data
        match event.type:
            case "turn.queued" if turn_id:
                self._prompts[turn_id] = data["prompt"]
            case "turn.started" if turn_id:
                self._prompts[turn_id] = data["prompt"]
                self._begin(turn_id)
            case "session.restored" if turn := data.get("turnId"):
                session = self._sessions.get(event.session_id)
                if isinstance(session, Session):
                    self._prompts[turn] = session.turns[turn].prompt
                    self._begin(turn)
            case "turn.parked" if turn_id:
                item = data["open"][0]
                title = _short(item["title"], MESSAGE_LENGTH)
                self._end(turn_id, f"needs you: {title}")
                why = " The editor gave no result;" if item["kind"] == "tool" else ""
                answer = "code actions answer it." if why else "Code actions answer it."
                # A yes to what was never seen would be none.
                detail = "" if self._editor.can_show_items else f"\n{shortened(item['detail'])}".rstrip()
                self._editor.say("info", f"Outrider waits for you: “{title}”.{why} {answer}{detail}")
            case "turn.resumed" if turn_id:
                self._begin(turn_id)
            case "model.responded" if turn_id and (running := self._turns.get(turn_id)):
                usage = data.get("usage", {})
                running.steps += data.get("purpose") == "main"
                running.tokens += usage.get("inputTokens", 0) + usage.get("outputTokens", 0)
                if (cost := usage.get("cost")) is not None:
                    running.cost = (running.cost or 0) + cost
                self._report(turn_id, "")
            case "tool.requested" if turn_id:
                self._report(turn_id, _of_call(data))
            case "turn.finished" if turn_id:
                self._finish(turn_id, data)
            case "error":
                self._editor.say("error", f"Outrider: {data['message']}")
            case _:
                pass

    def _begin(self, turn_id: str) -> None:
        if turn_id in self._turns:
            return
        prompt = self._prompts.get(turn_id, "")
        stretch = self._progress.begin(TITLE, _short(prompt, 60), lambda: self._cancel(turn_id))
        self._turns[turn_id] = _Running(prompt, [stretch])

    @contextmanager
    def also(self, token: Token, turn_id: str) -> Generator[None, None, None]:
        """Show the turn under the `workDoneToken` of a request too, while the request lasts."""
        running = self._turns.get(turn_id)
        if running is None:
            yield
            return
        stretch = self._progress.adopt(
            token, TITLE, _short(running.prompt, 60), lambda: self._cancel(turn_id)
        )
        running.stretches.append(stretch)
        try:
            yield
        finally:
            stretch.end()
            running.stretches.remove(stretch)

    def _cancel(self, turn_id: str) -> None:
        cancelling = self._sessions.cancel(turn_id, "cancelled in the editor's progress")
        task = asyncio.get_running_loop().create_task(cancelling)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _report(self, turn_id: str, what: str) -> None:
        if running := self._turns.get(turn_id):
            spent = f"step {running.steps}"
            spent += f", {running.tokens} tokens" if running.tokens else ""
            spent += f", {running.cost:.4f}" if running.cost is not None else ""
            for stretch in running.stretches:
                stretch.report(f"{what} ({spent})" if what else spent)

    def _end(self, turn_id: str, message: str) -> None:
        if running := self._turns.pop(turn_id, None):
            for stretch in running.stretches:
                stretch.end(message)

    def _finish(self, turn_id: str, data: dict[str, Any]) -> None:
        self._end(turn_id, data["outcome"])
        prompt = _short(self._prompts.pop(turn_id, ""), 60)
        summary = data["summary"] or data["reason"]
        said = f"Outrider, {data['outcome'].replace('_', ' ')}: {_short(summary, MESSAGE_LENGTH)}"
        if len(" ".join(summary.split())) > MESSAGE_LENGTH:
            said += WHERE_ALL_IS
        if data["outcome"] == "completed":
            said += EVIDENCE.get(data["reason"], "")
        self._editor.say("log", f"“{prompt}” {data['outcome']} ({data['reason']}):\n{summary}")
        match data["outcome"]:
            case "completed":
                self._editor.say("info", said)
            case "failed":
                self._editor.say("error", said)
            case _:
                self._editor.say("warning", said)


def _of_call(data: dict[str, Any]) -> str:
    given = cast("dict[str, Any]", data["input"]) if isinstance(data["input"], dict) else {}
    for key in ("path", "command", "pattern", "from", "question"):
        if isinstance(value := given.get(key), str):
            return f"{data['name']} {_short(value, 50)}"
    return str(data["name"])


def _short(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
