"""The inbox of a session: what waits for the user (approvals, questions) or for a tool of the client.

An item is asked in the editor and stays open until somebody answers it, through whichever channel; the first
answer wins. No answer is never a yes, and never a result.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import ValidationError

from outrider.agent.state.record import Record
from outrider.agent.state.turn_state import same_words
from outrider.permissions.policy.rules import with_script
from outrider.ports.editor import Answered, Editor, ItemReply, ToolAnswer, ToolRequest, Unanswered
from outrider.ports.model import ToolCall
from outrider.ports.text import cut_lines, spelled_out, spelled_out_for_a_yes
from outrider.processes import Capture
from outrider.tools.context import Action, Approval
from outrider.tools.edit.review import applied
from outrider.workspace.edits.review import Review, ReviewProblem
from outrider_protocol import (
    ALLOW_ONCE,
    ALLOW_SESSION,
    ALWAYS_ALLOW,
    ALWAYS_BACK,
    ALWAYS_EVERYWHERE,
    ALWAYS_HERE,
    ANSWER_IN_DOCUMENT,
    DECISIONS,
    KEEP,
    PUT_BACK,
    REJECT,
    REVIEW,
    RUN_OUTSIDE,
    allow_all,
    approves,
)  # fmt: skip
from outrider_protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    Decision,
    EventData,
    InputField,
    Open,
    QuestionAnswered,
    QuestionAsked,
    ReviewedHunk,
    RulePattern,
    Scope,
    ToolAnswered,
    ToolAsked,
)  # fmt: skip
from outrider_protocol.requests import AskReply
from outrider_protocol.settings import Limits

MESSAGE_CHARACTERS = 2000
"""Characters of an item beyond which it can be looked at in a document."""
MESSAGE_LINES = 24
"""Lines of an item's detail that are put in the message; the rest is in its document."""
ASKED_ANEW = "Your review no longer fits the current text, so Outrider asks about the whole edit again."
CHANGED_SINCE_ASKED = (
    "The change is different from the one you were first asked about, so this question replaces that one."
)
CHANGED_SINCE_ALLOWED = "The change is different from the one you allowed, so Outrider asks again."
WHY_AGAIN = (ASKED_ANEW, CHANGED_SINCE_ASKED, CHANGED_SINCE_ALLOWED)
"""Lines of a message that depend on what was asked before, and not on what it is about."""

SCOPES: Final[dict[str, Scope]] = {ALWAYS_HERE: "workspace", ALWAYS_EVERYWHERE: "everywhere"}


@dataclass(frozen=True, slots=True)
class SavedRules:
    """The file of the user's rules, as an approval adds to it."""

    path: str
    """For the user."""
    save: Callable[[Open, Scope], Coroutine[Any, Any, None]]
    """Saves the rules of an approval that was always allowed."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What a yes is asked for."""

    call_id: str
    action: Action
    change_ids: Sequence[str] = ()
    """The ids under which the changes of an edit were proposed."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked."""

    text: str
    options: Sequence[str]
    free_form: bool
    """Whether any text is an answer."""
    detail: str = ""
    """What the options mean, and what else there is to know."""
    fields: Sequence[InputField] = ()
    """The values that an MCP server wants."""
    url: str | None = None
    """The page that it wants opened."""


FROM_ANYBODY: Final = (
    "over TCP without a token nothing can be allowed, undone or deleted, because any program on this machine could connect: start "
    "the server with --tcp-token-file, or use standard input and output"
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an answer is not taken."""

    reason: Literal["unknown_id", "already_resolved", "invalid", "no_token"]
    message: str


def decision_title(decision: Decision) -> str:
    """The button that stands for a decision."""
    return next(title for title, value in DECISIONS.items() if value == decision)


def yes_and_no(options: Sequence[str]) -> tuple[str, str]:
    """The buttons of an approval that let it happen this once, or that prevent it.

    Args:
        options: All its buttons. “Put back” stands first: it is what an untouched workspace needs.
    """
    if PUT_BACK in options:
        return PUT_BACK, KEEP
    return RUN_OUTSIDE if RUN_OUTSIDE in options else ALLOW_ONCE, REJECT


def rule_told(rule: RulePattern) -> str:
    """A rule in words."""
    if rule.command is not None:
        script = f" {with_script(rule.script)}" if rule.script is not None else ""
        return f"{rule.tool} “{rule.command}{'' if rule.exact else ' …'}”{script}"
    return " ".join(part for part in (rule.tool, rule.path, rule.host) if part is not None)


def is_long(detail: str) -> bool:
    """Whether the detail of an item is more than a message shows."""
    return detail.count("\n") > MESSAGE_LINES or len(detail) > MESSAGE_CHARACTERS


def shortened(detail: str) -> str:
    """As much of the detail of an item as fits into a message."""
    if not is_long(detail):
        return detail.rstrip("\n")
    lines = detail.splitlines()
    shown = cut_lines(lines)[:MESSAGE_LINES]
    more = len(lines) - len(shown)
    return "\n".join([*shown, f"… {more} further lines"] if more else shown)


logger = logging.getLogger(__name__)

Channel = Literal["message", "command", "action", "document", "client"]
Way = Literal["decision", "answer", "error"]
"""What an answer says it is."""
MARK_BYTES = 80
"""Room for the mark of what is missing."""

_TAKES: dict[str, tuple[Way, ...]] = {
    "approval": ("decision",),
    "question": ("answer",),
    "tool": ("answer", "error"),
}


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    """The title of a decision, the answer to a question, or what a tool gave."""
    note: str | None = None
    is_error: bool = False
    """Of a tool: whether it went wrong."""
    scope: Scope | None = None
    """Of `Always allow…`: where its rules hold."""
    review: Review | None = None
    """Of an approval: what was decided about single hunks."""
    digest: str | None = None
    """Of what is allowed then."""


@dataclass(slots=True)
class _Waiting:
    item: Open
    answer: "asyncio.Future[_Answer]"
    most_bytes: int | None = None
    """Of a tool: what is kept of its result."""
    left: bool = False
    """Whether the editor gave no answer."""
    action: Action | None = None
    """Of an approval: what it is for."""
    below: str = ""
    """Why it is asked again, which a question about it says at its end."""


class Inbox:
    """The open items of one session."""

    def __init__(
        self,
        record: Record,
        editor: Editor,
        *,
        show: Callable[[Open], Coroutine[Any, Any, str | None]],
        on_asked: Callable[[], None],
        on_parked: Callable[[Sequence[Open]], None],
        on_answered: Callable[[Open], None],
        watch: Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"],
        rules: SavedRules,
    ) -> None:
        """Make an empty inbox.

        Args:
            record: The session's log.
            editor: Where items are asked.
            show: Opens the document of an item and gives its URI, None if it cannot be shown.
            on_asked: Told when an item can be answered.
            on_parked: Told when nothing is left that the editor could answer: all that is open stays so.
            on_answered: Told when an item is answered.
            watch: Starts a supervised background task.
            rules: Where the rules of an approval that was always allowed are saved.
        """
        self._record = record
        self._editor = editor
        self._show = show
        self._on_asked = on_asked
        self._on_parked = on_parked
        self._on_answered = on_answered
        self._watch = watch
        self._rules = rules
        self._waiting: dict[str, _Waiting] = {}

    async def approve(self, item_id: str, turn_id: str, asking: Asking, seconds: float) -> Approval:
        """Ask for a yes, and give the explicit answer; a no that was given before a restart still holds."""
        waiting = self._requested(item_id, turn_id, asking)
        if isinstance(waiting, Approval):
            return waiting
        answer = await self._settle(waiting, self._ask_in_editor(waiting, seconds))
        return await self._approval(waiting, answer)

    async def approve_together(
        self, new_id: Callable[[], str], turn_id: str, askings: Sequence[Asking], seconds: float
    ) -> list[Approval]:
        """Ask for a yes to several edits at once; each is an item of its own, which can be answered by itself too.

        Args:
            new_id: Gives the id of an item.
            turn_id: The turn.
            askings: What a yes is asked for.
            seconds: How long the question holds the editor.
        """
        opened: list[_Waiting | Approval] = []
        # What was asked before a restart keeps its group, and what is asked anew joins it.
        known = (self._pending(asking.call_id, "approval") for asking in askings)
        group = next((item.group for item in known if item is not None and item.group), None)
        for asking in askings:
            item_id = new_id()
            group = group or item_id
            opened.append(self._requested(item_id, turn_id, asking, group))
        waiting = [one for one in opened if isinstance(one, _Waiting)]
        task = self._watch(self._ask_about_all(waiting, seconds))
        try:
            answers = {one.item.id: await one.answer for one in waiting}
        finally:
            task.cancel()
            for one in waiting:
                one.answer.cancel()
                self._waiting.pop(one.item.id, None)
        return [
            one if isinstance(one, Approval) else await self._approval(one, answers[one.item.id])
            for one in opened
        ]

    def _requested(
        self, item_id: str, turn_id: str, asking: Asking, group: str | None = None
    ) -> "_Waiting | Approval":
        """Open the item that asks for a yes; a no that was given before a restart is an answer already."""
        action, call_id = asking.action, asking.call_id
        turn = self._record.state.turns[turn_id]
        if (call := turn.calls.get(call_id)) and call.rejected and call.rejected[0] == action.digest:
            return Approval("reject", *call.rejected[1:])
        known, below = self._pending(call_id, "approval"), ""
        if known is not None and self._record.state.digests.get(known.id) == action.digest:
            item = _without_choice(known)
        else:
            if known is not None:
                self._supersede(known, item_id, turn_id)
                below = f"\n{CHANGED_SINCE_ASKED}"
            requested = ApprovalRequested(
                id=item_id,
                call_id=call_id,
                digest=action.digest,
                title=spelled_out_for_a_yes(action.title),
                summary=spelled_out_for_a_yes(action.summary) or None,
                detail=spelled_out_for_a_yes(action.detail),
                options=self._options(asking),
                grant=action.access.grant,
                change_ids=list(asking.change_ids) or None,
                reviewed=action.as_reviewed or None,
                always=list(action.always) or None,
                group=group,
                trial=action.trial,
            )
            if call and call.reviews and not action.as_reviewed:
                below = f"\n{ASKED_ANEW}"
            elif (
                call
                and call.approved not in {None, action.digest}
                and not (action.leaves_sandbox or action.amid_call)
            ):
                below = f"\n{CHANGED_SINCE_ALLOWED}"
            self._record.append(requested, turn_id=turn_id)
            item = self._record.state.open[item_id]
        waiting = self._wait_for(item)
        waiting.action, waiting.below = action, below
        return waiting

    async def _approval(self, waiting: "_Waiting", answer: "_Answer") -> Approval:
        if answer.scope is not None:
            await self._rules.save(waiting.item, answer.scope)
        return Approval(DECISIONS[answer.text], answer.note, answer.review)

    def _options(self, asking: Asking) -> list[str]:
        action = asking.action
        is_cut = action.is_folded or is_long(f"{action.title}\n{action.detail}")
        reviewable = bool(action.changes) or is_cut
        look = [REVIEW] if reviewable and self._editor.traits.can_show_documents else []
        if action.puts_back:
            return [PUT_BACK, *look, KEEP]
        can_grant = bool(action.access.grant) and not action.leaves_sandbox
        return [
            *([REJECT] if self._reject_first else []),
            RUN_OUTSIDE if action.leaves_sandbox else ALLOW_ONCE,
            *([ALLOW_SESSION] if can_grant else []),
            *([ALWAYS_ALLOW] if action.always else []),
            *look,
            *([] if self._reject_first else [REJECT]),
        ]

    async def ask(self, item_id: str, turn_id: str, call_id: str, question: Question, seconds: float) -> str:
        """Ask a question, and give the answer."""
        text = self.as_shown(question.text)
        known = self._pending(call_id, "question")
        if known is None or known.title != text:
            asked = QuestionAsked(
                id=item_id,
                call_id=call_id,
                question=text,
                detail=self.as_shown(question.detail) or None,
                options=[spelled_out(option) for option in question.options],
                allow_free_form=question.free_form,
                fields=list(question.fields) or None,
                url=question.url,
            )
            self._record.append(asked, turn_id=turn_id)
            known = self._record.state.open[item_id]
        waiting = self._wait_for(known)
        return (await self._settle(waiting, self._ask_in_editor(waiting, seconds))).text

    def as_shown(self, text: str) -> str:
        """A text of the model as the user sees it: with nothing hidden, and no secret."""
        return self._record.masking.without_secrets(spelled_out(text))

    async def call(
        self,
        item_id: str,
        turn_id: str,
        call: ToolCall,
        given: Mapping[str, Any],
        limits: Limits,
        *,
        durable: bool,
    ) -> ToolAnswer:
        """Have the client run a call, and give its result.

        Args:
            item_id: The id of the item, unless the call was asked before this process.
            turn_id: The turn.
            call: The call.
            given: Its arguments.
            limits: How long the client may take before the turn parks, and how much of the result is kept.
            durable: Whether the item must be on disk before the client is asked.
        """
        known = self._pending(call.id, "tool")
        if known is None:
            self._record.append(ToolAsked(id=item_id, call_id=call.id, name=call.name), turn_id=turn_id)
        item = known or self._record.state.open[item_id]
        request = ToolRequest(
            session_id=self._record.state.session_id,
            turn_id=turn_id,
            call_id=call.id,
            id=item.id,
            name=call.name,
            input=given,
            again=known is not None,
        )
        waiting = self._wait_for(item, limits.output_bytes)
        asking = self._ask_client(waiting, request, limits.ask_seconds, durable=durable)
        answer = await self._settle(waiting, asking)
        return ToolAnswer(answer.text, answer.is_error)

    def answer(
        self,
        item_id: str,
        way: Way,
        text: str,
        note: str | None,
        channel: Channel,
        review: Sequence[ReviewedHunk] = (),
        scope: Scope | None = None,
        *,
        together: bool = False,
    ) -> Refusal | None:
        """Take an answer: a decision's title for an approval, a text for the others. None: it was taken.

        Args:
            item_id: The open item.
            way: What the answer says it is.
            text: The title, or the text.
            note: What is said about it.
            channel: How it came.
            review: For an edit: what is decided about single hunks.
            scope: Where the rules of `Always allow…` shall hold; None means in this workspace.
            together: Whether it answers all open edits of the item's group.
        """
        waiting = self._waiting.get(item_id)
        if waiting is None:
            return Refusal("unknown_id", f"there is no open item {item_id!r}")
        if waiting.answer.done():
            return Refusal("already_resolved", f"{item_id} was already answered")
        members = self._group_of(waiting) if together else [waiting]
        if together and text not in {ALLOW_ONCE, REJECT}:
            return Refusal("invalid", f"{item_id}: edits are answered together by allow_once or reject")
        answers: list[tuple[_Waiting, _Answer]] = []
        for number, member in enumerate(members):
            ids = self._changes_of(member)
            others = [one for rest in members[number + 1 :] for one in self._changes_of(rest)]
            # What belongs to none of them is wrong in the first.
            mine = [
                one
                for one in review
                if (change := one.id.rpartition("#")[0]) in ids or (number == 0 and change not in others)
            ]
            answer = self._checked(member, way, text, note, mine if together else review, scope)
            if isinstance(answer, Refusal):
                return answer
            answers.append((member, answer))
        for member, answer in answers:
            self._resolve(member, answer, channel)
        return None

    def _group_of(self, waiting: "_Waiting") -> list["_Waiting"]:
        """The items that are asked about together with one, itself included."""
        group = waiting.item.group
        return [one for one in self._still_open if one is waiting or (group and one.item.group == group)]

    def _changes_of(self, waiting: "_Waiting") -> Sequence[str]:
        """The ids of the changes that an item is about."""
        call = self._record.state.turns[waiting.item.turn_id].calls.get(waiting.item.call_id or "")
        return call.asked_for if call is not None else ()

    def _checked(
        self,
        waiting: "_Waiting",
        way: Way,
        text: str,
        note: str | None,
        review: Sequence[ReviewedHunk],
        scope: Scope | None,
    ) -> "_Answer | Refusal":
        """The answer that was given, or why it is none."""
        item, item_id = waiting.item, waiting.item.id
        if item.kind == "approval" and not self._editor.traits.takes_approvals:
            return Refusal("no_token", FROM_ANYBODY)
        if way == "decision" and text == ALLOW_ONCE and RUN_OUTSIDE in item.options:
            text = RUN_OUTSIDE
        if way not in _TAKES[item.kind]:
            return Refusal("invalid", f"{item_id} takes {' or '.join(_TAKES[item.kind])}")
        if item.kind == "approval" and (text not in DECISIONS or text not in item.options):
            return Refusal("invalid", f"{item_id} takes one of {', '.join(item.options)}")
        if item.kind == "question":
            text = next((one for one in item.options if same_words(one) == same_words(text)), text)
        if item.kind == "question" and not item.allow_free_form and text not in item.options:
            return Refusal("invalid", f"{item_id} takes one of {', '.join(item.options)}")
        always = (scope or "workspace") if text == ALWAYS_ALLOW and item.kind == "approval" else None
        answer = _Answer(text, note, way == "error", always)
        return self._reviewed(waiting, text, note, review) if review else answer

    def _reviewed(
        self, waiting: _Waiting, title: str, note: str | None, decided: Sequence[ReviewedHunk]
    ) -> _Answer | Refusal:
        """The answer that a review is, or why it is none."""
        item, action = waiting.item, waiting.action
        call = self._record.state.turns[item.turn_id].calls.get(item.call_id or "")
        if action is None or call is None or not action.changes:
            return Refusal("invalid", f"{item.id} is not an edit; there is nothing to review")
        if title in {ALLOW_SESSION, ALWAYS_ALLOW}:
            return Refusal(
                "invalid",
                f"{item.id}: a review applies to this edit only, so its decision must be allow_once",
            )
        review = Review.read(call.proposed, decided, rejected=title == REJECT)
        if isinstance(review, ReviewProblem):
            return Refusal("invalid", f"{item.id}: {review.message}")
        if title == REJECT or review.takes_nothing:
            return _Answer(REJECT, note, review=review)
        amended = applied(review, action)
        if amended is None:
            return Refusal(
                "invalid", f"{item.id}: the review rejects all of the edit; reject the edit instead"
            )
        changed = amended.changes != action.changes
        return _Answer(title, note, review=review, digest=amended.digest if changed else None)

    @property
    def open(self) -> list[Open]:
        """The items that wait for an answer now."""
        return [waiting.item for waiting in self._still_open]

    def as_asked(self, items: Iterable[Open]) -> list[Open]:
        """Items of the log as they are asked now: another editor may not offer all that they were asked with."""
        asked = {item.id: item for item in self.open}
        return [asked.get(item.id, item) for item in items]

    @property
    def for_user(self) -> list[Open]:
        """Those of them that a user can do something about: not what the client is at work on."""
        return [waiting.item for waiting in self._still_open if waiting.left or waiting.item.kind != "tool"]

    @property
    def _still_open(self) -> list[_Waiting]:
        return [waiting for waiting in self._waiting.values() if not waiting.answer.done()]

    @property
    def _reject_first(self) -> bool:
        return self._editor.traits.reject_first

    def _pending(self, call_id: str, kind: Literal["approval", "question", "tool"]) -> Open | None:
        """The item of a call that was open before this process: it keeps its identity."""
        items = self._record.state.open.values()
        return next((item for item in items if item.call_id == call_id and item.kind == kind), None)

    def _supersede(self, item: Open, instead: str, turn_id: str) -> None:
        self._record.append(
            ApprovalResolved(
                id=item.id,
                call_id=item.call_id or "",
                decision="reject",
                by="rule",
                rule="what was asked has changed",
                instead=instead,
            ),
            turn_id=turn_id,
        )

    def _wait_for(self, item: Open, most_bytes: int | None = None) -> _Waiting:
        waiting = _Waiting(item, asyncio.get_running_loop().create_future(), most_bytes)
        self._waiting[item.id] = waiting
        self._on_asked()
        return waiting

    async def _settle(self, waiting: _Waiting, asking: Coroutine[Any, Any, None]) -> _Answer:
        task = self._watch(asking)
        try:
            return await waiting.answer
        finally:
            task.cancel()
            del self._waiting[waiting.item.id]

    def _resolve(self, waiting: _Waiting, answer: _Answer, channel: Channel) -> None:
        """Take the first answer: it is recorded at once, and whoever waits for it goes on."""
        item = waiting.item
        if waiting.most_bytes is not None:
            answer = _Answer(_cut(answer.text, waiting.most_bytes), is_error=answer.is_error)
        self._record.append(_resolved(item, answer, channel), turn_id=item.turn_id)
        waiting.answer.set_result(answer)
        self._on_answered(item)
        self._park_if_nothing_moves()

    async def _ask_in_editor(self, waiting: _Waiting, seconds: float) -> None:
        if problem := await self._record.settled():
            self._editor.say("error", f"Outrider cannot write its log: {problem}")
        item = waiting.item
        if item.kind == "approval" and not self._editor.traits.takes_approvals:
            self._park(waiting)
            return
        if self._editor.traits.takes_items and await self._ask_client_for(waiting, seconds):
            return
        titles = list(item.options)
        if item.kind == "question" and item.allow_free_form and self._editor.traits.can_show_documents:
            titles.append(ANSWER_IN_DOCUMENT)
        below = "".join(f"\n{text}" for text in _told_of_options(waiting).values())
        if not titles:
            self._park(waiting)
            return
        while True:
            answer = await self._editor.ask(
                f"{item.summary or item.title}\n{shortened(item.detail)}{waiting.below}{below}".strip(),
                titles,
                seconds=seconds,
                late=lambda title: self._take_late(waiting, title),
                still_open=lambda: not waiting.answer.done(),
            )
            if waiting.answer.done():
                if isinstance(answer, Answered):
                    self._take_late(waiting, answer.title)
                return
            if not isinstance(answer, Answered):
                self._park(waiting)
                return
            if answer.title == REVIEW:
                if await self._show(item) and self._editor.traits.questions_cover:
                    self._park(waiting)  # it is answered in the document, which the question would only hide
                    return
                titles.remove(REVIEW)
                continue
            if answer.title == ALWAYS_ALLOW:
                if await self._ask_where(waiting, seconds):
                    continue
                return
            if answer.title == ANSWER_IN_DOCUMENT:
                await self._show(item)
                self._park(waiting)
                return
            self._take(waiting, answer.title)
            return

    async def _ask_about_all(self, waiting: Sequence[_Waiting], seconds: float) -> None:
        """Ask for a yes to several edits: the client for all items at once, else in one question for all of them.

        Those that are answered in other ways meanwhile are left out of the question's answer.
        """
        if problem := await self._record.settled():
            self._editor.say("error", f"Outrider cannot write its log: {problem}")
        traits = self._editor.traits
        if traits.takes_items and traits.takes_approvals:
            asked = await asyncio.gather(*(self._ask_client_while_open(one, seconds) for one in waiting))
            waiting = [one for one, is_asked in zip(waiting, asked, strict=True) if not is_asked]
        if not waiting:
            return
        can_look = traits.can_show_documents
        while left := [one for one in waiting if not one.answer.done()]:
            titles = [allow_all(len(left)), *([REVIEW] if can_look else []), REJECT]
            if self._reject_first:
                titles = [REJECT, *titles[:-1]]
            told = "\n".join(
                f"{one.item.summary or one.item.title}\n{one.item.detail}{one.below}".strip() for one in left
            )
            answer: Answered | Unanswered = Unanswered("unsupported")
            if self._editor.traits.takes_approvals:
                answer = await self._editor.ask(
                    f"{len(left)} edits in one step:\n{shortened(told)}",
                    titles,
                    seconds=seconds,
                    late=lambda title: self._take_all(waiting, title),
                    still_open=lambda: any(not one.answer.done() for one in waiting),
                )
            if isinstance(answer, Answered) and answer.title == REVIEW:
                can_look = False
                shown = await self._show(left[0].item)
                if not (shown and self._editor.traits.questions_cover):
                    continue
            elif isinstance(answer, Answered):
                self._take_all(waiting, answer.title)
                return
            for one in waiting:
                if not one.answer.done():
                    self._park(one)
            return

    def _take_all(self, waiting: Sequence[_Waiting], title: str) -> None:
        """Take the answer to a question about several edits, for those that have none yet."""
        if title == REVIEW:
            return
        left = [one for one in waiting if not one.answer.done()]
        for one in left:
            self._resolve(one, _Answer(ALLOW_ONCE if approves(title) else REJECT), "message")
        if not left:
            self._take_late(waiting[0], title)

    async def _ask_client_while_open(self, waiting: _Waiting, seconds: float) -> bool:
        """Have the client put one of several items before the user, and take it down as soon as it is answered in another way."""
        asking = asyncio.ensure_future(self._ask_client_for(waiting, seconds))
        try:
            await asyncio.wait([asking, waiting.answer], return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else True
        finally:
            asking.cancel()

    async def _ask_client_for(self, waiting: _Waiting, seconds: float) -> bool:
        """Have the client put an item before the user; False: it cannot, so it is asked as everywhere."""
        item = waiting.item
        shown = item.model_copy(update={"detail": f"{item.detail}{waiting.below}"})
        reply = await self._editor.ask_item(
            self._record.state.session_id,
            shown.to_wire(),
            seconds=seconds,
            overdue=lambda: self._park(waiting),
            told=_told_of_options(waiting),
        )
        if waiting.answer.done():
            return True
        if isinstance(reply, Unanswered) and reply.why == "unsupported":
            return False
        problem = self._take_reply(item, reply.value) if isinstance(reply, ItemReply) else ""
        if problem:
            self._editor.say("warning", f"“{item.summary or item.title}” stays open: {problem}")
        if problem is not None:
            self._park(waiting)
        return True

    def _take_reply(self, item: Open, value: Any) -> str | None:
        """Take what a client answered; why it is not taken, else None."""
        try:
            reply = AskReply.from_wire(value)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "all of it"
            return f"the client's answer is invalid: {where}: {first['msg']}"
        way: Way = "answer" if reply.decision is None else "decision"
        text = (reply.answer or "") if reply.decision is None else decision_title(reply.decision)
        refusal = self.answer(item.id, way, text, reply.note, "client", reply.review or (), reply.scope)
        return None if refusal is None else f"the client's answer was refused: {refusal.message}"

    async def _ask_where(self, waiting: _Waiting, seconds: float) -> bool:
        """Show exactly the rules that would be saved, and ask where they shall hold; True goes back to the item."""
        rules = "\n".join(f"- allow {rule_told(rule)}" for rule in waiting.item.always or ())
        answer = await self._editor.ask(
            f"{ALWAYS_ALLOW}\nFor: {waiting.item.summary or waiting.item.title}\nThis is saved in {self._rules.path}:\n{spelled_out_for_a_yes(rules)}",
            [ALWAYS_HERE, ALWAYS_EVERYWHERE, ALWAYS_BACK],
            seconds=seconds,
            late=lambda title: self._take_always(waiting, title),
            still_open=lambda: not waiting.answer.done(),
        )
        if waiting.answer.done():
            return False
        if not isinstance(answer, Answered):
            self._park(waiting)
            return False
        self._take_always(waiting, answer.title)
        return not waiting.answer.done()

    def _take_always(self, waiting: _Waiting, title: str) -> None:
        if not waiting.answer.done() and (scope := SCOPES.get(title)):
            self._resolve(waiting, _Answer(ALWAYS_ALLOW, scope=scope), "message")

    async def _ask_client(
        self, waiting: _Waiting, request: ToolRequest, seconds: float, *, durable: bool
    ) -> None:
        problem = await self._record.settled(durable=durable)
        if waiting.answer.done():
            return
        if problem:
            waiting.answer.set_result(_Answer(f"Nothing was done: {problem}", is_error=True))
            return
        answer = await self._editor.call_tool(request, seconds=seconds, overdue=lambda: self._park(waiting))
        if isinstance(answer, Unanswered):
            self._park(waiting)
        elif not waiting.answer.done():
            self._resolve(waiting, _Answer(answer.content, is_error=answer.is_error), "client")

    def _park(self, waiting: _Waiting) -> None:
        waiting.left = True
        self._park_if_nothing_moves()

    def _park_if_nothing_moves(self) -> None:
        """Calls of client tools wait at the same time: the turn parks when the last of them has no answer."""
        waiting = self._still_open
        if waiting and all(one.left for one in waiting):
            self._on_parked([one.item for one in waiting])

    def _take_late(self, waiting: _Waiting, title: str) -> None:
        """Take an answer that nobody waited for any more, unless another one came first: that one counts."""
        if not waiting.answer.done():
            self._take(waiting, title)
            return
        item, first = waiting.item, waiting.answer.result() if not waiting.answer.cancelled() else None
        about = (item.summary or item.title).partition("\n")[0]
        given = f"“{first.text}” was already answered" if first is not None else "is no longer open"
        logger.info("“%s” to %s came too late and has no effect", title, item.id)
        self._editor.say("info", f"Outrider: your “{title}” had no effect: {given}. {about}")

    def _take(self, waiting: _Waiting, title: str) -> None:
        if not waiting.answer.done() and title not in {REVIEW, ANSWER_IN_DOCUMENT, ALWAYS_ALLOW}:
            self._resolve(waiting, _Answer(title), "message")


def _told_of_options(waiting: _Waiting) -> Mapping[str, str]:
    """What a question says of its options below what it is about, by their titles: what a yes for the session covers."""
    covers = waiting.action.covers if waiting.action is not None else ""
    if not covers or ALLOW_SESSION not in waiting.item.options:
        return {}
    return {ALLOW_SESSION: f"“{ALLOW_SESSION}” covers {spelled_out_for_a_yes(covers)}."}


def _without_choice(item: Open) -> Open:
    """An item with the titles there are now: version 0.1 offered to choose among hunks in the editor."""
    return item.model_copy(
        update={"options": [title for title in item.options if title in DECISIONS or title == REVIEW]}
    )


def _resolved(item: Open, answer: _Answer, channel: Channel) -> EventData:
    match item.kind:
        case "approval":
            return ApprovalResolved(
                id=item.id,
                call_id=item.call_id or "",
                decision=DECISIONS[answer.text],
                by="person",
                channel=channel,
                scope=answer.scope,
                note=answer.note,
                review=list(answer.review.decided.values()) if answer.review is not None else None,
                digest=answer.digest,
            )
        case "question":
            return QuestionAnswered(id=item.id, call_id=item.call_id, answer=answer.text, channel=channel)
        case "tool":
            return ToolAnswered(
                id=item.id,
                call_id=item.call_id or "",
                status="error" if answer.is_error else "ok",
                content=answer.text,
                channel=channel,
            )


def _cut(content: str, most_bytes: int) -> str:
    """A content of `most_bytes` at most, the mark of what is missing included: cut again, it stays the same."""
    encoded = content.encode("utf-8", "replace")
    capture = Capture(most_bytes if len(encoded) <= most_bytes else most_bytes - MARK_BYTES)
    capture.feed(encoded)
    return capture.text()
