"""The inbox of a session: every approval and question that waits for the person.

An item is asked in the editor and stays open until somebody answers it, through whichever channel; the first
answer wins. No answer is never a yes.
"""

import asyncio
import unicodedata
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from outrider.agent.record import Record
from outrider.ports.editor import Answered, Editor
from outrider.tools.context import Action, Approval
from outrider_protocol import (
    ALLOW_ONCE,
    ALLOW_SESSION,
    ANSWER_IN_DOCUMENT,
    REJECT,
    REVIEW,
)  # fmt: skip
from outrider_protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    Decision,
    Open,
    QuestionAnswered,
    QuestionAsked,
)  # fmt: skip

Channel = Literal["message", "command", "action", "document"]
MESSAGE_CHARACTERS = 2000
"""Characters of an item beyond which it can be looked at in a document."""
MESSAGE_LINES = 24
"""Lines of an item's detail that are put in the message; the rest is in its document."""

_DECISIONS: dict[str, Decision] = {ALLOW_ONCE: "allow_once", ALLOW_SESSION: "allow_session", REJECT: "reject"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an answer is not taken."""

    reason: Literal["unknown_id", "already_resolved", "invalid"]
    message: str


@dataclass(slots=True)
class _Waiting:
    item: Open
    answer: "asyncio.Future[tuple[str, str | None]]"


class Inbox:
    """The open items of one session."""

    def __init__(
        self,
        record: Record,
        editor: Editor,
        *,
        show: Callable[[Open], Coroutine[Any, Any, str | None]],
        on_asked: Callable[[], None],
        on_parked: Callable[[Open], None],
        on_answered: Callable[[Open], None],
        watch: Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"],
    ) -> None:
        """Make an empty inbox.

        Args:
            record: The session's log.
            editor: Where items are asked.
            show: Opens the document of an item and gives its URI, None if it cannot be shown.
            on_asked: Told when an item can be answered.
            on_parked: Told when an item stays without an answer.
            on_answered: Told when an item is answered.
            watch: Starts a supervised background task.
        """
        self._record = record
        self._editor = editor
        self._show = show
        self._on_asked = on_asked
        self._on_parked = on_parked
        self._on_answered = on_answered
        self._watch = watch
        self._waiting: dict[str, _Waiting] = {}

    async def approve(
        self, item_id: str, turn_id: str, call_id: str, action: Action, seconds: float
    ) -> Approval:
        """Ask for a yes, and give the explicit answer; a no that was given before a restart still holds."""
        turn = self._record.state.turns[turn_id]
        if (call := turn.calls.get(call_id)) and call.rejected and call.rejected[0] == action.digest:
            return Approval("reject", call.rejected[1])
        known = self._pending(call_id, "approval")
        if known is not None and self._record.state.digests.get(known.id) == action.digest:
            item = known
        else:
            if known is not None:
                self._supersede(known, turn_id)
            options = [REJECT, ALLOW_ONCE] if self._reject_first else [ALLOW_ONCE]
            options += [ALLOW_SESSION] if action.access.grant else []
            options += (
                [REVIEW]
                if _is_long(f"{action.title}\n{action.detail}") and self._editor.traits.can_show_documents
                else []
            )
            options += [] if self._reject_first else [REJECT]
            requested = ApprovalRequested(
                id=item_id,
                call_id=call_id,
                digest=action.digest,
                title=action.title,
                detail=action.detail,
                options=options,
                grant=action.access.grant,
            )
            self._record.append(requested, turn_id=turn_id)
            item = self._record.state.open[item_id]
        covers = f"\n“{ALLOW_SESSION}” covers {action.covers}." if action.covers else ""
        title, note = await self._settle(item, seconds, covers)
        return Approval(_DECISIONS[title], note)

    async def ask(
        self,
        item_id: str,
        turn_id: str,
        call_id: str,
        question: str,
        options: list[str],
        seconds: float,
        *,
        free_form: bool,
    ) -> str:
        """Ask a question, and give the answer."""
        known = self._pending(call_id, "question")
        if known is None or known.title != question:
            asked = QuestionAsked(
                id=item_id, call_id=call_id, question=question, options=options, allow_free_form=free_form
            )
            self._record.append(asked, turn_id=turn_id)
            known = self._record.state.open[item_id]
        return (await self._settle(known, seconds, ""))[0]

    def answer(
        self, item_id: str, title: str, note: str | None, channel: Channel, *, is_decision: bool
    ) -> Refusal | None:
        """Take an answer: a decision's title for an approval, a text for a question. None: it was taken."""
        waiting = self._waiting.get(item_id)
        if waiting is None:
            return Refusal("unknown_id", f"there is no open item {item_id!r}")
        if waiting.answer.done():
            return Refusal("already_resolved", f"{item_id} was answered already")
        item = waiting.item
        if (item.kind == "approval") != is_decision:
            wanted = "a decision" if item.kind == "approval" else "an answer"
            return Refusal("invalid", f"{item_id} takes {wanted}")
        if item.kind == "approval" and (title not in _DECISIONS or title not in item.options):
            return Refusal("invalid", f"{item_id} takes one of {', '.join(item.options)}")
        if item.kind == "question" and not item.allow_free_form and title not in item.options:
            return Refusal("invalid", f"{item_id} takes one of {', '.join(item.options)}")
        self._resolve(waiting, title, note, channel)
        return None

    @property
    def open(self) -> list[Open]:
        """The items that wait for an answer now."""
        return [waiting.item for waiting in self._waiting.values() if not waiting.answer.done()]

    @property
    def _reject_first(self) -> bool:
        return self._editor.traits.reject_first

    def _pending(self, call_id: str, kind: Literal["approval", "question"]) -> Open | None:
        """The item of a call that was open before this process: it keeps its identity."""
        items = self._record.state.open.values()
        return next((item for item in items if item.call_id == call_id and item.kind == kind), None)

    def _supersede(self, item: Open, turn_id: str) -> None:
        self._record.append(
            ApprovalResolved(
                id=item.id,
                call_id=item.call_id or "",
                decision="reject",
                by="rule",
                rule="what was asked has changed",
            ),
            turn_id=turn_id,
        )

    async def _settle(self, item: Open, seconds: float, covers: str) -> tuple[str, str | None]:
        waiting = _Waiting(item, asyncio.get_running_loop().create_future())
        self._waiting[item.id] = waiting
        self._on_asked()
        asking = self._watch(self._ask_in_editor(waiting, seconds, covers))
        try:
            return await waiting.answer
        finally:
            asking.cancel()
            del self._waiting[item.id]

    def _resolve(self, waiting: _Waiting, title: str, note: str | None, channel: Channel) -> None:
        """Take the first answer: it is recorded at once, and whoever waits for it goes on."""
        item = waiting.item
        resolved = (
            ApprovalResolved(
                id=item.id,
                call_id=item.call_id or "",
                decision=_DECISIONS[title],
                by="person",
                channel=channel,
                note=note,
            )
            if item.kind == "approval"
            else QuestionAnswered(id=item.id, call_id=item.call_id, answer=title, channel=channel)
        )
        self._record.append(resolved, turn_id=item.turn_id)
        self._on_answered(item)
        waiting.answer.set_result((title, note))

    async def _ask_in_editor(self, waiting: _Waiting, seconds: float, covers: str) -> None:
        if problem := await self._record.settled():
            self._editor.say("error", f"Outrider cannot write its log: {problem}")
        item = waiting.item
        titles = list(item.options)
        if item.kind == "question" and item.allow_free_form and self._editor.traits.can_show_documents:
            titles.append(ANSWER_IN_DOCUMENT)
        if not titles:
            self._park(waiting)
            return
        while True:
            answer = await self._editor.ask(
                _visible(f"{item.title}\n{_shortened(item.detail)}{covers}".strip()),
                titles,
                seconds=seconds,
                late=lambda title: self._take(waiting, title),
                still_open=lambda: not waiting.answer.done(),
            )
            if waiting.answer.done():
                return
            if not isinstance(answer, Answered):
                self._park(waiting)
                return
            if answer.title == REVIEW:
                await self._show(item)
                titles.remove(REVIEW)
                continue
            if answer.title == ANSWER_IN_DOCUMENT:
                await self._show(item)
                self._park(waiting)
                return
            self._take(waiting, answer.title)
            return

    def _park(self, waiting: _Waiting) -> None:
        self._on_parked(waiting.item)

    def _take(self, waiting: _Waiting, title: str) -> None:
        if not waiting.answer.done() and title not in {REVIEW, ANSWER_IN_DOCUMENT}:
            self._resolve(waiting, title, None, "message")


def decision_title(decision: Decision) -> str:
    """The button that stands for a decision."""
    return next(title for title, value in _DECISIONS.items() if value == decision)


def _visible(text: str) -> str:
    """A message in which nothing hides: control and direction characters stand as their numbers."""
    return "".join(
        f"\\u{ord(sign):04x}" if sign not in "\n\t" and unicodedata.category(sign) in {"Cc", "Cf"} else sign
        for sign in text
    )


def _is_long(detail: str) -> bool:
    return detail.count("\n") > MESSAGE_LINES or len(detail) > MESSAGE_CHARACTERS


def _shortened(detail: str) -> str:
    lines = detail.splitlines()
    if len(lines) <= MESSAGE_LINES:
        return detail.rstrip("\n")
    return "\n".join([*lines[:MESSAGE_LINES], f"… {len(lines) - MESSAGE_LINES} further lines"])
