"""What the user must be told of a session's events, in every front end: each says it in its own way."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from outrider.agent.interaction.quoting import short
from outrider.agent.session.session import Session
from outrider.agent.session.sessions import Sessions
from outrider.agent.state.turn_state import UNKNOWN
from outrider.models.text_tools.formats import handed_on
from outrider.ports.events import LoggedEvent
from outrider.ports.model import ToolSpec
from outrider_protocol import logged

LONGEST_READ = 4_000
"""Characters of an answer that is looked through for calls: one that is a call is not long."""
MESSAGE_OF_PROVIDER = 80
"""Characters of what a provider said that are shown."""
SHORT_ARGUMENT = 50
"""Characters of a call's argument that are shown."""

Level = Literal["error", "warning"]


@dataclass(slots=True)
class _Turn:
    """What is known of a turn that runs."""

    limit: float | None
    """What it may cost."""
    model: str = ""
    """The one that was asked last."""
    offered: tuple[ToolSpec, ...] = ()
    """The tools that it was offered."""


class Notices:
    """Follows the committed events, and gives what has to be said about them."""

    def __init__(
        self,
        sessions: Sessions,
        say: Callable[[str, Level, str], None],
        gets_events: Callable[[], bool] = lambda: False,
    ) -> None:
        """Begin.

        Args:
            sessions: Where the events come from.
            say: Gets the session's id, and what has to be said.
            gets_events: Whether the client gets the events, and so shows by itself what is in them.
        """
        self._sessions = sessions
        self._say = say
        self._gets_events = gets_events
        self._turns: dict[str, _Turn] = {}
        self._unpriced: set[str] = set()
        """Models of whose cost it was said that it is not known."""
        self._unread: set[str] = set()
        """Models of which it was said that their calls were not read."""
        self._lacking: set[str] = set()
        """What was said of language servers that do not run."""
        self._tasks: set[asyncio.Task[None]] = set()

    def on_event(self, event: LoggedEvent) -> None:
        """Take in one event."""
        match event.type:
            case "model.limited":
                self._say(event.session_id, "warning", f"Outrider: {event.data['message']}.")
            case "sandbox.absent":
                text = f"Outrider runs the commands of this session without a sandbox. {event.data['reason']}"
                self._say(event.session_id, "warning", text)
            case "auto.limited":
                text = (
                    f"Outrider asks about commands as in permission mode auto-edit: {event.data['reason']}."
                )
                self._say(event.session_id, "warning", text)
            case "error" if event.data["code"] == "language_server":
                # Each session has it in its log. Without a language server all goes on, so the user hears it once.
                if event.data["message"] not in self._lacking and not self._gets_events():
                    self._lacking.add(event.data["message"])
                    self._say(event.session_id, "warning", f"Outrider: {event.data['message']}")
            case "error" if event.data["code"] == "untrusted_folder":
                pass  # As it was decided, or left; a message that takes the keys of an editor is no way to ask again.
            case "error":
                self._say(event.session_id, "error", f"Outrider: {event.data['message']}")
            case _:
                self._follow(event, event.turn_id or "")

    def _follow(self, event: LoggedEvent, turn_id: str) -> None:
        match event.type:
            case "turn.started":
                settings = event.data.get("settings")
                self._turns[turn_id] = _Turn(
                    _cost_limit(settings and settings["limits"], event.data.get("limits"))
                )
            case "session.restored" if going_on := event.data.get("turnId"):
                session = self._sessions.get(event.session_id)
                if isinstance(session, Session):
                    own = session.turns[going_on].limits
                    self._turns[going_on] = _Turn(_cost_limit(event.data.get("limits"), own))
            case "model.requested" if turn := self._turns.get(turn_id):
                turn.model = event.data["model"]
                turn.offered = tuple(ToolSpec(name, "", {}) for name in event.data["tools"])
            case "model.fellBack" if turn := self._turns.get(turn_id):
                turn.model = event.data["to"]
            case "model.responded" if turn := self._turns.get(turn_id):
                if event.data.get("usage", UNKNOWN).get("cost") is None and turn.limit is not None:
                    self._warn_of_cost(event.session_id, turn.model, turn.limit)
                if not event.data["toolCalls"]:
                    self._look_for_calls(event.session_id, turn, event.data["text"])
            case "turn.finished":
                self._turns.pop(turn_id, None)
            case _:
                pass

    def _warn_of_cost(self, session_id: str, model: str, limit: float) -> None:
        """Say once of a model that a limit does not count what it costs."""
        if model not in self._unpriced:
            self._unpriced.add(model)
            self._say(
                session_id,
                "warning",
                f"Outrider: the price of {model} is unknown, so `limits.cost` ({limit:g}) ignores it. "
                f'Set `models."{model}".price`, or a limit of tokens.',
            )

    def _look_for_calls(self, session_id: str, turn: _Turn, text: str) -> None:
        if turn.model in self._unread or len(text) > LONGEST_READ:
            return
        if any(tool.name in text for tool in turn.offered):
            self._spawn(self._warn_of_calls(session_id, turn.model, turn.offered, text))

    async def _warn_of_calls(
        self, session_id: str, model: str, offered: Sequence[ToolSpec], text: str
    ) -> None:
        """Say once of a model that it writes calls in another way than they are read."""
        # All formats may be tried, which takes tens of milliseconds.
        form = await asyncio.to_thread(handed_on, text, offered)
        if form and model not in self._unread:
            self._unread.add(model)
            self._say(
                session_id,
                "warning",
                f"Outrider: {model} wrote a tool call in the format {form}, which was not run. "
                f'Set `models."{model}".toolFormat = "{form}"` to have such calls run.',
            )

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _cost_limit(settings: logged.Limits | None, task: Mapping[str, Any] | None) -> float | None:
    """What a turn may cost, by the settings of its time unless the task says something else."""
    if task and "cost" in task:
        return task["cost"]
    return settings.get("cost") if settings else None


def call_in_words(data: logged.ToolRequested) -> str:
    """A tool call in a few words: the tool, and the argument that tells most."""
    given = cast("dict[str, Any]", data["input"]) if isinstance(data["input"], dict) else {}
    for key in ("path", "command", "pattern", "from", "question"):
        if isinstance(value := given.get(key), str):
            return f"{data['name']} {short(value, SHORT_ARGUMENT)}"
    return data["name"]


def retry_in_words(data: logged.ModelRetried, seconds: float) -> str:
    """That a model is asked again, which time, when, and why."""
    most = f" of {attempts}" if (attempts := data.get("attempts")) else ""
    said = f": {short(message, MESSAGE_OF_PROVIDER)}" if (message := data.get("message")) else ""
    return f"attempt {data['attempt']}{most} in {seconds:g} s ({data['reason']}{said})"
