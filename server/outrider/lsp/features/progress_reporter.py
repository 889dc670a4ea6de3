"""Shows the events of the sessions with standard means: progress while a turn runs, a message when it ends."""

import asyncio
import math
import re
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from outrider.agent.interaction.inbox import shortened
from outrider.agent.interaction.plan_document import START
from outrider.agent.interaction.quoting import short
from outrider.agent.service.notices import Notices, call_in_words, retry_in_words
from outrider.agent.session.session import Refused, Session
from outrider.agent.session.sessions import Sessions
from outrider.agent.state.turn_state import UNKNOWN
from outrider.lsp.editor import ClientEditor
from outrider.lsp.features.progress import ProgressFactory, Stretch, Token
from outrider.ports.events import LoggedEvent
from outrider.ports.patterns import SPACE, Match, linear
from outrider.store.problem import StoreReadError
from outrider_protocol import logged

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+")
_ITEM = re.compile(r"^(\s*)[-*+]\s+")
_INLINE = linear(
    "unmarked.inline",
    rf"`(?P<code>[^`\n]+)`|\*\*(?P<bold>[^*{SPACE}](?:[^*\n]*[^*{SPACE}])?)\*\*"
    rf"|\[(?P<link>[^][\n]+)\]\((?:[^(){SPACE}]|\([^(){SPACE}]*\))+\)",
)
"""An address has at most one level of brackets, as in `Mercury_(planet)`. So a search ends at the second opening bracket, however
many there are in a line. A bound such as `{1,1000}` would do as well, but RE2 repeats what it bounds, which takes 2 MB."""


def unmarked(text: str) -> str:
    """The words of a text: fences, headings, bold, code and links lose their marks, and what stands in code stays.

    Args:
        text: Markdown, or what a model took for it.
    """
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if line.lstrip().startswith(fence):
                fence = ""
            else:
                lines.append(line)
        elif mark is not None:
            fence = mark[1]
        else:
            lines.append(_INLINE.sub(_inner, _ITEM.sub(r"\1• ", _HEADING.sub("", line, count=1), count=1)))
    return "\n".join(lines)


def _inner(found: Match) -> str:
    return found["code"] or _INLINE.sub(_inner, found["bold"] or found["link"])


TITLE = "Outrider"
MESSAGE_LENGTH = 400
"""Characters of a summary that are put in a message; the whole goes to the log of the client, and into the task document."""
LOOKED_AT = 4_000
"""Characters of a summary in which those of the message are."""
WHERE_ALL_IS = " (all of it is in the task document: take the code action “write a task…”)"


@dataclass(slots=True)
class _Running:
    prompt: str
    stretches: list[Stretch]
    """Our own, and those of requests that wait for the turn."""
    steps: int = 0
    tokens: int = 0
    estimated: bool = False
    """Whether some of them were counted by nobody."""
    cost: float | None = None
    changed: set[str] = field(default_factory=set[str])
    """The files that it changed."""


class Reporter:
    """Follows the committed events. It never steers anything but by the user's click on Cancel."""

    def __init__(
        self,
        editor: ClientEditor,
        progress: ProgressFactory,
        sessions: Sessions,
        gets_events: Callable[[], bool],
    ) -> None:
        """Report to `editor` and `progress`; a cancel there goes to `sessions`. What is in events is not said beside them."""
        self._editor = editor
        self._progress = progress
        self._sessions = sessions
        self._notices = Notices(sessions, lambda _, level, text: editor.say(level, text), gets_events)
        self._turns: dict[str, _Running] = {}
        self._prompts: dict[str, str] = {}
        self._in_auto: set[str] = set()
        """Turns that run in permission mode `auto`, which asks nothing before what can be undone: what they changed is reviewed at their end."""
        self._plans: dict[str, str] = {}
        """The plan documents that turns wrote."""
        self._tasks: set[asyncio.Task[Any]] = set()
        sessions.on_unwritten_end = lambda turn_id: self._end(turn_id, "failed")

    def on_event(self, event: LoggedEvent) -> None:
        """Show one event."""
        self._notices.on_event(event)
        turn_id = event.turn_id
        match event.type:
            case "turn.queued" if turn_id:
                self._prompts[turn_id] = event.data["prompt"]
            case "turn.started" if turn_id:
                settings = event.data.get("settings")
                self._prompts[turn_id] = event.data["prompt"]
                if settings and settings["permissionMode"] == "auto":
                    self._in_auto.add(turn_id)
                self._begin(turn_id)
            case "session.restored" if turn := event.data.get("turnId"):
                session = self._sessions.get(event.session_id)
                if isinstance(session, Session):
                    self._prompts[turn] = session.turns[turn].prompt
                    if event.data["permissionMode"] == "auto":
                        self._in_auto.add(turn)
                    self._begin(turn)
            case "turn.parked" if turn_id:
                item = event.data["open"][0]
                title = short(item.get("summary") or item["title"], MESSAGE_LENGTH)
                self._end(turn_id, f"needs you: {title}")
                why = " The editor gave no result;" if item["kind"] == "tool" else ""
                answer = "code actions answer it." if why else "Code actions answer it."
                if not self._editor.takes_actions:
                    answer = ""  # a program, which says so in its own words
                # A yes to what was never seen would be none.
                detail = "" if self._editor.can_show_items else f"\n{shortened(item['detail'])}".rstrip()
                self._editor.say("info", f"Outrider is waiting for you: “{title}”.{why} {answer}{detail}")
            case "turn.resumed" if turn_id:
                self._begin(turn_id)
            case "model.responded" if turn_id and (running := self._turns.get(turn_id)):
                usage = event.data.get("usage", UNKNOWN)
                running.steps += event.data["purpose"] == "main"
                running.tokens += usage["inputTokens"] + usage["outputTokens"]
                running.estimated = running.estimated or bool(usage.get("estimated"))
                if (cost := usage.get("cost")) is not None:
                    running.cost = (running.cost or 0) + cost
                self._report(turn_id, "")
            case "model.retried" if turn_id and turn_id in self._turns and event.data.get("wait"):
                self._spawn(self._count_down(event.session_id, turn_id, event.data))
            case "tool.requested" if turn_id:
                self._report(turn_id, call_in_words(event.data))
            case "edit.applied" | "edit.merged" | "workspace.changed" if (
                turn_id and "callId" in event.data and (running := self._turns.get(turn_id))
            ):
                running.changed.add(event.data["path"])
            case "tool.finished" if recalled := event.data.get("recalled"):
                question, answer = (short(recalled[key], MESSAGE_LENGTH) for key in ("question", "answer"))
                self._editor.say("info", f"Outrider: “{question}” is answered as before: {answer}")
            case "plan.written" if turn_id:
                self._plans[turn_id] = event.data["path"]
            case "turn.finished" if turn_id:
                running = self._turns.get(turn_id)
                self._finish(turn_id, event.data)
                if running is not None and running.changed and turn_id in self._in_auto:
                    self._spawn(self._show_changes(turn_id, len(running.changed)))
                self._in_auto.discard(turn_id)
                if (plan := self._plans.pop(turn_id, None)) is not None:
                    self._spawn(self._show_plan(plan))
            case _:
                pass

    def _begin(self, turn_id: str) -> None:
        if turn_id in self._turns:
            return
        prompt = self._prompts.get(turn_id, "")
        stretch = self._progress.begin(TITLE, short(prompt, 60), lambda: self._cancel(turn_id))
        self._turns[turn_id] = _Running(prompt, [stretch])

    @contextmanager
    def also(self, token: Token, turn_id: str) -> Generator[None, None, None]:
        """Show the turn under the `workDoneToken` of a request too, while the request lasts."""
        running = self._turns.get(turn_id)
        if running is None:
            yield
            return
        stretch = self._progress.adopt(token, TITLE, short(running.prompt, 60), lambda: self._cancel(turn_id))
        running.stretches.append(stretch)
        try:
            yield
        finally:
            stretch.end()
            running.stretches.remove(stretch)

    def _cancel(self, turn_id: str) -> None:
        self._spawn(self._sessions.cancel(turn_id, "cancelled in the editor's progress"))

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _report(self, turn_id: str, what: str) -> None:
        if running := self._turns.get(turn_id):
            spent = f"step {running.steps}"
            about = "~" if running.estimated else ""
            spent += f", {about}{running.tokens} tokens" if running.tokens else ""
            spent += f", {running.cost:.4f}" if running.cost is not None else ""
            for stretch in running.stretches:
                stretch.report(f"{what} ({spent})" if what else spent)

    async def _count_down(self, session_id: str, turn_id: str, data: logged.ModelRetried) -> None:
        """Show how long it takes until a model is asked again, second by second, until it is."""
        left = data.get("wait")
        while left is not None and (running := self._turns.get(turn_id)):
            self._report(turn_id, retry_in_words(data, math.ceil(left)))
            await self._progress.pause(running.stretches[0], min(left, 1.0))
            session = self._sessions.get(session_id)
            left = session.retry_in if isinstance(session, Session) else None
        self._report(turn_id, "")

    async def _show_changes(self, turn_id: str, files: int) -> None:
        """Show what a turn changed without a question, hunk by hunk, to leave some of it out."""
        try:
            path = await self._sessions.changes_paper(turn_id)
        except StoreReadError as error:
            path = error.problem.message
        if isinstance(path, Refused):
            return  # it is undone already
        if isinstance(path, str):
            self._editor.say("warning", f"Outrider: the changes cannot be shown: {path}")
            return
        await self._editor.show(path.as_uri())
        how = (
            "each change can be kept or undone"
            if self._editor.takes_actions
            else "they are listed; `outrider changes` shows them, and `outrider undo` takes them back"
        )
        self._editor.say(
            "info",
            f"Outrider changed {files} file{'s' * (files > 1)}. In {path.parent.name}/{path.name} {how}.",
        )

    async def _show_plan(self, path: str) -> None:
        """Show the document of a plan, and say how it is started."""
        await self._editor.show(self._sessions.uri_of(path))
        if not self._editor.takes_actions:
            return  # a program, which says so in its own words
        self._editor.say(
            "info",
            f"Outrider wrote the plan {path}. Change what you like there, then take its code action “Outrider: {START}”.",
        )

    def _end(self, turn_id: str, message: str) -> None:
        if running := self._turns.pop(turn_id, None):
            for stretch in running.stretches:
                stretch.end(message)

    def _finish(self, turn_id: str, data: logged.TurnFinished) -> None:
        self._end(turn_id, data["outcome"])
        prompt = short(self._prompts.pop(turn_id, ""), 60)
        summary = data["summary"] or data["reason"]
        words = " ".join(unmarked(summary[:LOOKED_AT]).split())
        said = f"Outrider, {data['outcome'].replace('_', ' ')}: {short(words, MESSAGE_LENGTH)}"
        if len(words) > MESSAGE_LENGTH or len(summary) > LOOKED_AT:
            said += WHERE_ALL_IS
        if data["outcome"] == "completed" and (line := data.get("done", {}).get("line")):
            said += f" ({line})"
        self._editor.say("log", f"“{prompt}” {data['outcome']} ({data['reason']}):\n{summary}")
        match data["outcome"]:
            case "completed":
                self._editor.say("info", said)
            case "failed":
                self._editor.say("error", said)
            case _:
                self._editor.say("warning", said)
