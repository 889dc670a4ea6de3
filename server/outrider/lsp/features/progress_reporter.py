"""Shows the events of the sessions with standard means: progress while a turn runs, a message when it ends."""

import asyncio
import math
import re
from collections.abc import Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from outrider.agent.interaction.inbox import shortened
from outrider.agent.session.session import Session
from outrider.agent.session.sessions import Sessions
from outrider.agent.state.turn_state import UNKNOWN
from outrider.lsp.editor import ClientEditor
from outrider.lsp.features.progress import ProgressFactory, Stretch, Token
from outrider.models.text_tools.formats import handed_on
from outrider.ports.events import LoggedEvent
from outrider.ports.model import ToolSpec
from outrider.ports.patterns import SPACE, Match, linear
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
EVIDENCE = {
    "unverified": " (unverified: nothing was run after the last change)",
    "check_failed": " (the last command after the last change failed)",
}
"""What a message adds about the way a completed turn was checked."""
MESSAGE_LENGTH = 400
"""Characters of a summary that are put in a message; the whole goes to the log of the client, and into the task document."""
LOOKED_AT = 4_000
"""Characters of a summary in which those of the message are."""
MESSAGE_OF_PROVIDER = 80
"""Characters of what a provider said that are put in the progress."""
WHERE_ALL_IS = " (all of it is in the task document: take the code action “write a task…”)"

LONGEST_READ = 4_000
"""Characters of an answer that is looked through for calls: one that is a call is not long."""


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
    limit: float | None = None
    """What it may cost."""
    model: str = ""
    """The one that was asked last."""
    offered: tuple[ToolSpec, ...] = ()
    """The tools that it was offered."""


class Reporter:
    """Follows the committed events. It never steers anything but by the user's click on Cancel."""

    def __init__(self, editor: ClientEditor, progress: ProgressFactory, sessions: Sessions) -> None:
        """Report to `editor` and `progress`; a cancel there goes to `sessions`."""
        self._editor = editor
        self._progress = progress
        self._sessions = sessions
        self._turns: dict[str, _Running] = {}
        self._prompts: dict[str, str] = {}
        self._limits: dict[str, float | None] = {}
        """What each turn that runs or waits may cost."""
        self._unpriced: set[str] = set()
        """Models of whose cost it was said that it is not known."""
        self._unread: set[str] = set()
        """Models of which it was said that their calls were not read."""
        self._tasks: set[asyncio.Task[Any]] = set()
        sessions.on_unwritten_end = lambda turn_id: self._end(turn_id, "failed")

    def on_event(self, event: LoggedEvent) -> None:
        """Show one event."""
        turn_id = event.turn_id
        match event.type:
            case "turn.queued" if turn_id:
                self._prompts[turn_id] = event.data["prompt"]
            case "turn.started" if turn_id:
                settings = event.data.get("settings")
                self._prompts[turn_id] = event.data["prompt"]
                self._limits[turn_id] = _cost_limit(settings and settings["limits"], event.data.get("limits"))
                self._begin(turn_id)
            case "session.restored" if turn := event.data.get("turnId"):
                session = self._sessions.get(event.session_id)
                if isinstance(session, Session):
                    self._prompts[turn] = session.turns[turn].prompt
                    self._limits[turn] = _cost_limit(event.data.get("limits"), session.turns[turn].limits)
                    self._begin(turn)
            case "turn.parked" if turn_id:
                item = event.data["open"][0]
                title = _short(item.get("summary") or item["title"], MESSAGE_LENGTH)
                self._end(turn_id, f"needs you: {title}")
                why = " The editor gave no result;" if item["kind"] == "tool" else ""
                answer = "code actions answer it." if why else "Code actions answer it."
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
                elif running.limit is not None:
                    self._warn_of_cost(running.model, running.limit)
                if not event.data["toolCalls"]:
                    self._look_for_calls(running, event.data["text"])
                self._report(turn_id, "")
            case "model.requested" if turn_id and (running := self._turns.get(turn_id)):
                running.model = event.data["model"]
                running.offered = tuple(ToolSpec(name, "", {}) for name in event.data["tools"])
            case "model.fellBack" if turn_id and (running := self._turns.get(turn_id)):
                running.model = event.data["to"]
            case "model.retried" if turn_id and turn_id in self._turns and event.data.get("wait"):
                self._spawn(self._count_down(event.session_id, turn_id, event.data))
            case "model.limited":
                self._editor.say("warning", f"Outrider: {event.data['message']}.")
            case "tool.requested" if turn_id:
                self._report(turn_id, _of_call(event.data))
            case "sandbox.absent":
                self._editor.say(
                    "warning",
                    f"Outrider runs the commands of this session without a sandbox. {event.data['reason']}",
                )
            case "turn.finished" if turn_id:
                self._finish(turn_id, event.data)
            case "error":
                self._editor.say("error", f"Outrider: {event.data['message']}")
            case _:
                pass

    def _begin(self, turn_id: str) -> None:
        if turn_id in self._turns:
            return
        prompt = self._prompts.get(turn_id, "")
        stretch = self._progress.begin(TITLE, _short(prompt, 60), lambda: self._cancel(turn_id))
        self._turns[turn_id] = _Running(prompt, [stretch], limit=self._limits.get(turn_id))

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
        most = f" of {attempts}" if (attempts := data.get("attempts")) else ""
        said = f": {_short(message, MESSAGE_OF_PROVIDER)}" if (message := data.get("message")) else ""
        left = data.get("wait")
        while left is not None and (running := self._turns.get(turn_id)):
            seconds = math.ceil(left)
            self._report(turn_id, f"attempt {data['attempt']}{most} in {seconds} s ({data['reason']}{said})")
            await self._progress.pause(running.stretches[0], min(left, 1.0))
            session = self._sessions.get(session_id)
            left = session.retry_in if isinstance(session, Session) else None
        self._report(turn_id, "")

    def _warn_of_cost(self, model: str, limit: float) -> None:
        """Say once of a model that a limit does not count what it costs."""
        if model not in self._unpriced:
            self._unpriced.add(model)
            self._editor.say(
                "warning",
                f"Outrider: the price of {model} is unknown, so `limits.cost` ({limit:g}) ignores it. "
                f'Set `models."{model}".price`, or a limit of tokens.',
            )

    def _look_for_calls(self, running: _Running, text: str) -> None:
        if running.model in self._unread or len(text) > LONGEST_READ:
            return
        if any(tool.name in text for tool in running.offered):
            self._spawn(self._warn_of_calls(running.model, running.offered, text))

    async def _warn_of_calls(self, model: str, offered: Sequence[ToolSpec], text: str) -> None:
        """Say once of a model that it writes calls in another way than they are read."""
        # All formats may be tried, which takes tens of milliseconds.
        form = await asyncio.to_thread(handed_on, text, offered)
        if form and model not in self._unread:
            self._unread.add(model)
            self._editor.say(
                "warning",
                f"Outrider: {model} wrote a tool call in the format {form}, which was not run. "
                f'Set `models."{model}".toolFormat = "{form}"` to have such calls run.',
            )

    def _end(self, turn_id: str, message: str) -> None:
        if running := self._turns.pop(turn_id, None):
            for stretch in running.stretches:
                stretch.end(message)

    def _finish(self, turn_id: str, data: logged.TurnFinished) -> None:
        self._end(turn_id, data["outcome"])
        self._limits.pop(turn_id, None)
        prompt = _short(self._prompts.pop(turn_id, ""), 60)
        summary = data["summary"] or data["reason"]
        words = " ".join(unmarked(summary[:LOOKED_AT]).split())
        said = f"Outrider, {data['outcome'].replace('_', ' ')}: {_short(words, MESSAGE_LENGTH)}"
        if len(words) > MESSAGE_LENGTH or len(summary) > LOOKED_AT:
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


def _cost_limit(settings: logged.Limits | None, task: Mapping[str, Any] | None) -> float | None:
    """What a turn may cost, by the settings of its time unless the task says something else."""
    if task and "cost" in task:
        return task["cost"]
    return settings.get("cost") if settings else None


def _of_call(data: logged.ToolRequested) -> str:
    given = cast("dict[str, Any]", data["input"]) if isinstance(data["input"], dict) else {}
    for key in ("path", "command", "pattern", "from", "question"):
        if isinstance(value := given.get(key), str):
            return f"{data['name']} {_short(value, 50)}"
    return data["name"]


def _short(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
