"""The ports of a replay but for models and tools: each says what the tape says, and does nothing."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final

from outrider.agent.context.compaction import STEERING
from outrider.agent.customization.hook_forms import form_of
from outrider.agent.customization.hooks import Hook, HookRun, ListedHooks
from outrider.agent.interaction.plan_document import Plan, PlanProblem, Step
from outrider.agent.services import CommandsHere
from outrider.agent.workspace_file import ChecksHere
from outrider.ports.editor import Applied, EditorTraits, SaveWay, Unanswered
from outrider.ports.ids import IdKind
from outrider.ports.model import Image, Message, ToolCall
from outrider.ports.text import Snapshot, one_line
from outrider.replay.tape import LoggedEvent, Recorded, Tape
from outrider.tools.context import Judged
from outrider.tools.edit.review import untold
from outrider.workspace.documents.overlay import OnDisk, ReadProblem
from outrider.workspace.edits.apply import PART_STAYS
from outrider.workspace.edits.change import Change, NotWritten, Written
from outrider.workspace.edits.cut_off import CutOff
from outrider.workspace.paths import Folder, Located
from outrider.workspace.watch.snapshot import Count
from outrider.workspace.watch.staleness import Moved
from outrider_protocol import REJECT, REVIEW
from outrider_protocol.events import Context, Mode, Verdict
from outrider_protocol.settings import HookPoint, Settings

_AN_EVENT: Final = 1e-6
_LATE: Final = 1e9
"""Seconds."""


class RecordedClock(Recorded):
    """The time of the log."""

    def now(self) -> datetime:
        """The time of the next event."""
        return datetime.fromisoformat((self._tape.next or self._tape.events[-1]).ts)

    def monotonic(self) -> float:
        """Hardly later with each event, and very late where the next one says that time was up: the wall clock of the log may have jumped."""
        coming = self._tape.next
        is_up = coming and coming.type == "budget.exhausted" and coming.data["limit"] == "limits.seconds"
        return _LATE if is_up else self._tape.position * _AN_EVENT

    async def sleep(self, seconds: float) -> None:
        """Do not wait."""
        await asyncio.sleep(0)

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncGenerator[None, None]:
        """A time-out that is up where a request was broken off in the log, and nobody cancelled its turn."""
        try:
            yield
        except asyncio.CancelledError:
            if self._tape.is_cancelled:
                raise
            raise TimeoutError from None


class RecordedIds(Recorded):
    """The ids of the log, each where it was made."""

    _FIELDS: Final[Mapping[str, str]] = {
        "msg": "messageId", "chg": "changeId", "open": "id", "pend": "pendingId", "job": "jobId",
    }  # fmt: skip

    def new(self, kind: IdKind) -> str:
        """The id of that kind that comes next and was not there before. Asking twice gives it twice."""
        known = {name for event in self._tape.behind() for name in event.names()}
        found = (event.data.get(self._FIELDS.get(kind, "")) for event in self._tape.ahead())
        return next((name for name in found if name is not None and name not in known), f"{kind}_unrecorded")


_TELL_SETTINGS: Final = frozenset({"session.started", "session.restored", "turn.started", "settings.changed"})


def recorded_settings(tape: Tape) -> Settings:
    """The settings that hold now, as far as events up to the next one tell of them."""

    def latest(key: str, otherwise: Any) -> Any:
        for event in tape.behind(tape.position + 1):
            # A task has limits of its own.
            told = event.data.get("settings", {}) if event.type == "turn.started" else event.data
            if key in told and event.type in _TELL_SETTINGS:
                return told[key]
        return otherwise

    told = {"permissionMode": latest("permissionMode", "ask"), "limits": latest("limits", {})}
    told["autonomy"] = latest("autonomy", "balanced")
    off = {"enabled": False}
    fixed = {"trusted": True, "repositoryMap": off, "languageServers": {"*": off}}
    settings = Settings.from_wire({**told, **fixed})
    return settings.model_copy(update={"tools": tape.client_tools(tape.position + 1)})


class RecordedMessages(Recorded):
    """The first messages of a turn, as they were sent."""

    async def system(self, mode: Mode, trusts: object, commands: CommandsHere, *, in_short: bool) -> Message:
        """The system message of the next request."""
        await self._tape.reached(self._tape.next)
        found = (message for message in self._sent() if message.role == "system")
        return next(found, Message("system", ""))

    async def task(
        self, prompt: str, context: Context | None, commands: CommandsHere, before: Sequence[Message] = ()
    ) -> Message:
        """The message of the next request that brings the task."""
        found = (one for one in reversed(self._sent()) if one.role == "user" and one.text.startswith(prompt))
        return next(found, Message("user", prompt))

    async def steering(self, text: str) -> tuple[Message, list[tuple[Image, bytes]]]:
        """The message of the next request that brings it."""
        plain = Message("user", f"{STEERING}{text}")
        return next((message for message in self._sent() if message.text == plain.text), plain), []

    async def images(self, prompt: str, context: Context | None) -> list[tuple[Image, bytes]]:
        """None: they are named by the message that brings the task."""
        return []

    async def instructions_of(self, folder: Folder) -> str | None:
        """None: they are in the system message."""
        return None

    async def instructions_near(self, paths: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
        """None: what was found is let in like everything that came from outside."""
        return {}

    async def instructions_about(self, paths: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
        """None, for the same reason."""
        return {}

    def _sent(self) -> list[Message]:
        """The messages that the next event names; where it trims some, first and last as they were before."""
        for event in self._tape.ahead():
            if event.data.get("messages") and event.data.get("purpose", "main") in {"main", "summary"}:
                given, messages = event.data.get("given", []), self._tape.messages(event)
                return [self._tape.message(digest) for digest in [*given, *messages, *given]]
        return []


class RecordedVerdicts(Recorded):
    """What language servers said of edits. Its words are in the texts of the events that have it."""

    async def before(self, call: ToolCall, changes: Sequence[Change]) -> Judged | None:
        """What the next approval of a call says that its edit would do."""
        return self._of(self._tape.first_ahead("approval.requested", callId=call.id), "trial")

    async def after(self, call: ToolCall, done: Sequence[tuple[Change, Written]]) -> Judged | None:
        """What the result of a call says that its edit did."""
        return self._of(self._tape.first_ahead("tool.finished", callId=call.id), "verdict")

    async def tell(self) -> None:
        """What became known later is let in like everything that came from outside."""

    async def settle(self) -> None:
        """Wait until that is let in."""
        await self._tape.reached(self._tape.next)

    async def end(self) -> None:
        """Nothing runs."""

    @staticmethod
    def _of(event: LoggedEvent | None, key: str) -> Judged | None:
        if event is None or key not in event.data:
            return None
        return Judged(Verdict.from_wire(event.data[key]), "")


class RecordedChecks(Recorded):
    """The checks of the workspace's settings, as far as they were run."""

    async def look(self, session_id: str, turn_id: str, seconds: float) -> ChecksHere:
        """Those that are run next."""
        coming = self._tape.first_ahead("verify.started", "turn.phase", "turn.finished")
        if coming is None or coming.type != "verify.started":
            return ChecksHere()
        run = tuple(one["command"] for one in coming.data["calls"])
        return ChecksHere(run, tuple(coming.data.get("ignored", ())))


class RecordedHooks(Recorded):
    """The hooks that ran."""

    found = None
    any = True

    async def look(self, session_id: str, turn_id: str, seconds: float) -> None:
        """Nothing is looked for."""

    async def withheld(self, folder: Folder | None = None) -> list[str]:
        """A log has none."""
        return []

    async def listed(self) -> ListedHooks:
        """A log has none to list."""
        return ListedHooks()

    async def at(self, point: HookPoint, tool: str, given: Mapping[str, Any], cwd: str) -> list[HookRun]:
        """Those that ran at this point."""
        coming = self._tape.first_ahead(
            "hook.started",
            "tool.requested",
            "turn.phase",
            "model.requested",
            "turn.finished",
            "tool.finished",
        )
        if coming is None or coming.type != "hook.started":
            return []
        data = coming.data
        if data["on"] != point or data.get("callId") != given.get("callId"):
            return []
        return [
            HookRun(
                one["command"],
                Hook(
                    point,
                    one["hook"],
                    None,
                    one.get("refuses", False),
                    form_of(one["command"]),
                    seconds=one.get("seconds"),
                ),
            )
            for one in data["calls"]
        ]

    def ended(self, runs: Sequence[HookRun]) -> None:
        """Nothing follows from it."""


class RecordedPlans(Recorded):
    """The documents of plans, where they were written."""

    async def write(self, plan: Plan, before: str | None) -> str | PlanProblem:
        """The path of the one that is written next; why none is."""
        coming = self._tape.next
        if coming is None or coming.type != "plan.written":
            return PlanProblem(
                _UNWRITTEN if coming is None else _why_unwritten(coming.data.get("content", ""))
            )
        return coming.data["path"]

    async def read(self, uri: str) -> tuple[str, Plan] | PlanProblem:
        """None is read: a task that began with one says all of it."""
        return PlanProblem(_UNWRITTEN)

    async def steps_of(self, path: str) -> Sequence[Step] | None:
        """Those that are in the plan afterwards."""
        coming = self._tape.next
        if coming is None or coming.type != "plan.updated":
            return None
        return [Step(one["text"], one["status"] == "done") for one in coming.data["items"]]


_UNWRITTEN: Final = "it was not written"


def _why_unwritten(content: str) -> str:
    """Why a plan could not be written, as the result of its call says."""
    return content.removeprefix("The plan could not be written: ").removesuffix(". Give it in your answer.")


class RecordedEditor(Recorded):
    """An editor whose user answers when the log says so, and in other ways than through its questions."""

    @property
    def traits(self) -> EditorTraits:
        """What it could do, as far as the next question shows."""
        coming = self._tape.next
        options = coming.data["options"] if coming and coming.type == "approval.requested" else [REVIEW]
        asked = self._tape.first_ahead("approval.requested")
        return EditorTraits(
            can_apply_edits=False,
            can_show_documents=REVIEW in options,
            settle_seconds=0,
            debounce_seconds=0,
            reject_first=options[:1] == [REJECT],
            asks_together=asked is not None and "group" in asked.data,
        )

    async def _left(self, *_: Any, **__: Any) -> Unanswered:
        """A question or a call is left where its turn parks; until then it may be answered in another way."""
        await self._tape.parked()
        return Unanswered("dismissed")

    async def _unsupported(self, *_: Any, **__: Any) -> Unanswered:
        return Unanswered("unsupported")

    async def _not_applied(self, *_: Any, **__: Any) -> Applied:
        return Applied(claimed=False)

    async def _no(self, *_: Any, **__: Any) -> bool:
        return False

    ask = call_tool = _left
    ask_item = language = _unsupported
    apply = operate = _not_applied
    catch_up = show = _no

    async def save(self, way: SaveWay, versions: Mapping[str, int]) -> Mapping[str, str]:
        """What came of it is in the log."""
        return {}

    def say(self, level: str, text: str) -> None:
        """It has no screen."""


_AFTER_LOOK: Final = frozenset({
    "model.requested", "budget.exhausted", "turn.phase", "turn.finished",
    "context.pruned", "context.compacted", "context.trimmed",
})  # fmt: skip
"""What a turn does after it has looked around."""
_NOW: Final = "\nThe text is now:\n"


class RecordedFiles(Recorded):
    """The files that a session itself reads, watches and changes: what became of a change is what the log says."""

    # --- watching and reading --------------------------------------------------------------------------------

    async def moved(self, expected: Mapping[str, str | None]) -> Sequence[Moved]:
        """None, after all that came in during the look was let in: that tells of them."""
        await self._tape.reached(self._tape.first_ahead(*_AFTER_LOOK))
        await self._tape.reached(self._tape.next)
        return []

    async def count(self) -> Count:
        """None are looked at."""
        return Count(0, {})

    async def changed_since(self, before: Count) -> Sequence[str]:
        """None, after all that came in during the look was let in: that tells of them."""
        await self._tape.reached(
            next((one for one in self._tape.ahead() if one.type != "workspace.changed"), None)
        )
        return []

    async def changed_after(self, seconds: float, now: Count) -> Sequence[str]:
        """The same."""
        return await self.changed_since(now)

    async def ignored(self, paths: Sequence[str]) -> Sequence[str]:
        """Those that the next event names."""
        await self._tape.reached(self._tape.next)
        coming = self._tape.next
        return coming.data["paths"] if coming is not None and coming.type == "workspace.ignored" else []

    def note(self, path: str, located: Located, text: str, digest: str) -> None:
        """Nothing is watched."""

    def hash_of(self, path: str, text: str) -> str | None:
        """Not known."""

    async def read(self, located: Located) -> Snapshot | ReadProblem:
        """The text where a change of a call is taken back, as that change says; nothing else is read."""
        coming = next((one for one in self._tape.ahead() if one.type.startswith("edit.")), None)
        if coming is not None and coming.type == "edit.rejected":
            return ReadProblem("unreadable", coming.data["reason"])  # why it was not taken back
        text = self._tape.text(coming.data.get("before")) if coming is not None else None
        if text is None:
            return ReadProblem("not_found", f"{located.display} does not exist")
        return Snapshot(located.uri, located.display, text, "disk")

    async def on_disk_all(self, files: Sequence[Located]) -> list[OnDisk | None]:
        """None is there."""
        return [None for _ in files]

    async def document_of(self, located: Located) -> None:
        """None is open."""

    # --- changing --------------------------------------------------------------------------------------------

    async def write_all(self, wanted: Sequence[Change], label: str) -> Sequence[Written | NotWritten]:
        """What became of the changes that are being applied."""
        return [await self._written(change) for change in wanted]

    async def remove_folders(self, folders: Sequence[Located]) -> None:
        """There are none."""

    async def became(self, change: CutOff) -> Written | NotWritten:
        """What became of a change that was cut off, as it was found then."""
        settled = self._settled(changeId=change.change_id)
        if settled is not None and settled.type != "edit.rejected":
            return self._in_place(settled, change.before, change.planned)
        reason = settled.data["reason"] if settled is not None else ""
        is_altered = reason.startswith(("found changed", "found altered"))  # the latter in older logs
        return NotWritten("altered" if is_altered else "not_applied", reason)

    async def _written(self, change: Change) -> Written | NotWritten:
        settled = self._settled(path=change.located.display)
        await self._tape.reached(settled)
        if settled is None or settled.type == "edit.rejected":
            return self._rejected(change, settled) if settled else NotWritten("failed", "")
        return self._in_place(settled, change.before, change.after)

    def _settled(self, **data: str) -> LoggedEvent | None:
        return self._tape.first_ahead("edit.applied", "edit.merged", "edit.rejected", **data)

    def _in_place(self, settled: LoggedEvent, before_it: str | None, planned: str | None) -> Written:
        tape, data = self._tape, settled.data
        before, after = tape.text(data.get("before")), tape.text(data.get("after"))
        in_part = settled.type == "edit.applied" and after != planned
        return Written(
            data.get("where", "buffer"),
            after,
            merged=settled.type == "edit.merged",
            made_folder=data.get("madeFolder"),
            without=before if in_part or before != before_it else None,
            stays=data.get("stays", PART_STAYS if in_part else ""),
        )

    def _rejected(self, change: Change, settled: LoggedEvent) -> NotWritten:
        """Why a change did not happen, and whether it is worked out again: what comes after it tells."""
        reason, change_id = settled.data["reason"], settled.data["changeId"]
        begun = next((e for e in self._tape.behind() if e.data.get("changeId") == change_id), None)
        after = [e for e in self._tape.ahead() if e.data.get("callId") == settled.data.get("callId", "")][1:]
        undoes = begun.data.get("undoes") if begun is not None else None
        if undoes is not None:
            again = next((e for e in after if e.type in {"edit.applying", "edit.rejected"}), None)
            is_again = again is not None and again.data.get("undoes", undoes) == undoes
            return NotWritten("changed" if is_again else "failed", reason)
        new = {"edit.proposed", "edit.applying"}
        ended = (
            e for e in after if not e.type.startswith("edit.") or (e.type in new and "undoes" not in e.data)
        )
        content = next((one.data.get("content", "") for one in ended), "")
        if not content.startswith(f"{one_line(change.located.display)} was not changed: {reason}"):
            return NotWritten("changed", reason)
        return NotWritten("failed", reason, untold(content).partition(_NOW)[2] or None)
