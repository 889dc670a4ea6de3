"""The user of a scenario: functions of a test that decide approvals and answer questions of the model.

What they say goes into the editor's dialog where there is one, as the profile handles it, and else through the command
`outrider.answer`, as a code action would. What a dialog has swallowed is never said a second time.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

import outrider_protocol as names
from outrider.testing.editor.answers import Answer, Dismiss, Never, Question, Wrong
from outrider.testing.editor.fake_editor import FakeEditor

Object = dict[str, Any]

_YES: Final = (names.ALLOW_ONCE, names.SAVE_AND_CONTINUE, names.PUT_BACK)
_NO: Final = (names.REJECT, names.SAVE_CANCEL, names.KEEP)
_DECISIONS: Final = {
    names.ALLOW_ONCE: "allow_once",
    names.RUN_OUTSIDE: "allow_once",
    names.ALLOW_SESSION: "allow_session",
    names.ALWAYS_ALLOW: "allow_always",
    names.REJECT: "reject",
    names.PUT_BACK: "put_back",
    names.KEEP: "keep",
}
_ASKS: Final = frozenset({"approval.requested", "question.asked", "tool.asked"})
_ENDS: Final = frozenset({"approval.resolved", "question.answered", "tool.answered"})
_BESIDES: Final = frozenset({names.REVIEW, names.ANSWER_IN_DOCUMENT})
"""Titles of a dialog that look at the item in a document instead of answering it."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A no, with what the model is told besides."""

    note: str


@dataclass(frozen=True, slots=True)
class Review:
    """A yes to parts of an edit: what is decided about hunks, as `outrider.answer` takes it; the others are taken."""

    hunks: Sequence[Mapping[str, Any]]
    """Each with the `id` of a hunk and a `decision`, `take` or `reject`; with it perhaps a `reason` or a `text`."""
    note: str | None = None


@dataclass(frozen=True, slots=True)
class OpenItem:
    """What waits for the user's answer."""

    kind: Literal["approval", "question", "dialog", "tool"]
    """`question`: one of the model; `dialog`: one of the server itself, such as whether to save before a command;
    `tool`: a call of a tool of the editor that has no result."""
    title: str
    """What is asked, in a line; the whole message of a dialog."""
    detail: str
    """The diff of an edit, or what else has to be known."""
    options: tuple[str, ...]
    """The titles that answer it."""
    editor: FakeEditor = field(repr=False)
    """The editor it is asked in: there the user can type while the question is open."""
    id: str | None = None
    """For `outrider.answer`; None for a dialog that is no open item of a session."""
    allow_free_form: bool = False
    """Whether any text answers it."""
    tool: str | None = None
    """The tool of the call that waits."""
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The arguments of that call."""
    hunks: tuple[str, ...] = ()
    """The ids of the hunks of an edit, for a `Review`."""


Decision = bool | str | Reject | Review | None
"""True is `Allow once` (or the yes of a dialog, or `Put back`), False is `Reject` (or `Keep`), a text is a title; None leaves it open."""
OnConfirmation = Callable[[OpenItem], Decision | Awaitable[Decision]]
OnUserQuestion = Callable[[OpenItem], str | Awaitable[str | None] | None]


def open_item(editor: FakeEditor, wire: Mapping[str, Any]) -> OpenItem:
    """An item as it stands in the result of `outrider.wait`, or in the data of the event that asked it."""
    requested = editor.events_of("tool.requested")
    call = next((one["data"] for one in requested if one["data"]["callId"] == wire.get("callId")), Object())
    given = call.get("input")
    return OpenItem(
        kind=_kind(wire, of_the_model=call.get("name") == "ask_user"),
        title=wire["question"] if "question" in wire else wire["title"],
        detail=wire.get("detail", ""),
        options=tuple(wire.get("options", ())),
        editor=editor,
        id=wire["id"],
        allow_free_form=wire.get("allowFreeForm", False),
        tool=call.get("name"),
        input=cast("Object", given) if isinstance(given, dict) else {},
        hunks=tuple(_hunks(editor, wire["id"])),
    )


def _hunks(editor: FakeEditor, item_id: str) -> Iterator[str]:
    asked = (one["data"] for one in editor.events_of("approval.requested") if one["data"]["id"] == item_id)
    changes = next(asked, Object()).get("changeIds", ())
    for event in editor.events_of("edit.proposed"):
        if (change := event["data"]["changeId"]) in changes:
            yield from (f"{change}#{number}" for number in range(1, max(1, len(event["data"]["hunks"])) + 1))


def asked(editor: FakeEditor, turn_id: str | None) -> list[Object]:
    """The data of the events of a turn that asked for an answer, as far as there is none."""
    events = [event for event in editor.events if event.get("turnId") == turn_id]
    over = {event["data"].get("id") for event in events if event["type"] in _ENDS}
    done = {event["data"]["callId"] for event in events if event["type"] == "tool.finished"}
    return [
        event["data"]
        | ({"kind": "tool", "title": event["data"]["name"]} if event["type"] == "tool.asked" else {})
        for event in events
        if event["type"] in _ASKS
        and event["data"]["id"] not in over
        and event["data"].get("callId") not in done
    ]


def _kind(
    wire: Mapping[str, Any], *, of_the_model: bool
) -> Literal["approval", "question", "dialog", "tool"]:
    # An event says by what it holds what an item of `outrider.wait` says by its kind.
    if wire.get("kind") == "tool":
        return "tool"
    if wire.get("kind") == "approval" or "digest" in wire:
        return "approval"
    return "question" if of_the_model else "dialog"


def title_of(item: OpenItem, said: object) -> str | None:
    """The option that says it; None where it is another text, or nothing.

    Raises:
        ValueError: It is no answer to this item.
    """
    match said:
        case None:
            return None
        case Reject() | Review() if item.kind == "approval":
            return None
        case bool() if item.kind != "question":
            wanted = _YES if said else _NO
            if title := next((title for title in item.options if title in wanted), None):
                return title
        case str() if said in item.options:
            return said
        case str() if item.allow_free_form:
            return None
        case _:
            pass
    raise ValueError(f"{said!r} does not answer {item.title!r}; it takes one of {list(item.options)}")


def answer_params(item: OpenItem, said: bool | str | Reject | Review | Wrong) -> Object:
    """The params of `outrider.answer` that say it.

    Args:
        item: Anything but a dialog without an id.
        said: For an approval a decision, its title, `Reject` or `Review`; for a question the answer; for a tool its result.

    Raises:
        ValueError: It is no answer to this item.
    """
    if item.kind == "tool" and isinstance(said, str | Wrong):
        return {"id": item.id, **({"answer": said} if isinstance(said, str) else {"error": said.content})}
    title = title_of(item, said)
    if isinstance(said, Reject):
        return {"id": item.id, "decision": "reject", "note": said.note}
    if isinstance(said, Review):
        note = {} if said.note is None else {"note": said.note}
        return {"id": item.id, "decision": "allow_once", **note, "review": [dict(one) for one in said.hunks]}
    if item.kind == "approval":
        return {"id": item.id, "decision": _DECISIONS[str(title)]}
    return {"id": item.id, "answer": said if title is None else title}


class Decider:
    """Answers what an editor is asked, with the functions of a test."""

    def __init__(
        self,
        editor: FakeEditor,
        on_confirmation: OnConfirmation | None,
        on_user_question: OnUserQuestion | None,
    ) -> None:
        """Sit down at an editor; without a function that kind of item is left without an answer."""
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Fails when one of the functions raises, or says what is no answer."""
        self._editor = editor
        self._on_confirmation = on_confirmation
        self._on_user_question = on_user_question
        self._met: set[str] = set()
        """Ids of items that were asked in a dialog, or answered by command."""
        self._thinking: set[asyncio.Task[bool]] = set()
        editor.answers = self._asked

    async def settle(self, waiting: Sequence[Object]) -> bool:
        """Answer the open items of a parked turn, as far as they are this user's to answer.

        Args:
            waiting: The key `open` of `outrider.wait`.

        Returns:
            Whether one was answered, so that the turn goes on.
        """
        for wire in waiting:
            if wire["id"] not in self._met and wire["kind"] != "tool":
                self._met.add(wire["id"])
                self._think(self._answer_by_command(open_item(self._editor, wire)))
        answered = any(await asyncio.gather(*self._thinking))
        return answered or any(self._is_resolved(wire["id"]) for wire in waiting)

    async def leave(self) -> None:
        """Answer nothing any more."""
        for task in self._thinking:
            task.cancel()
        await asyncio.gather(*self._thinking, return_exceptions=True)
        if not self.failed.cancel():
            self.failed.exception()  # whoever waited has it

    # --- dialogs ---------------------------------------------------------------------------------------------

    def _asked(self, question: Question) -> Answer:
        if items := self._group_of(question):
            self._met.update(item.id for item in items if item.id is not None)
            self._think(self._answer_each(items, question))
            return Never()
        item = self._item_of(question)
        if item.id is not None:
            self._met.add(item.id)
        try:
            said = self._says(item)
            if not inspect.isawaitable(said) and (title := title_of(item, said)) in question.titles:
                return str(title)
        except Exception as problem:  # noqa: BLE001 - the test gets it, not the editor
            self._fail(problem)
            return Never()
        if said is None:
            return Dismiss()
        self._think(self._answer_later(item, question, said))
        return Never()

    async def _answer_later(self, item: OpenItem, question: Question, said: object) -> bool:
        """Say what came too late for the dialog's handler, or what no button of the dialog says."""
        decided = cast("Decision", await said if inspect.isawaitable(said) else said)
        title = title_of(item, decided)
        if title is None:
            if isinstance(decided, Reject | Review | str):
                return await self._command(item, decided)
            if not question.answered and self._editor.profile.forced_answer is None:
                self._editor.answer_late(question, Dismiss())
            return False
        if question.answered or question.replaced or self._editor.profile.forced_answer is not None:
            return False  # the editor did something else with the dialog
        self._editor.answer_late(question, title)
        if (item_id := item.id) is not None:
            await self._editor.wait_for(lambda: self._is_resolved(item_id), f"end of {item.title!r}")
        return True

    def _group_of(self, question: Question) -> list[OpenItem]:
        """The edits that one question is about."""
        if not any(names.approves(title) and title not in names.APPROVING for title in question.titles):
            return []
        waiting = [
            event["data"]
            for event in self._editor.events_of("approval.requested")
            if "group" in event["data"] and not self._is_resolved(event["data"]["id"])
        ]
        latest = waiting[-1]["group"] if waiting else None
        return [open_item(self._editor, data) for data in waiting if data["group"] == latest]

    async def _answer_each(self, items: Sequence[OpenItem], question: Question) -> bool:
        """Answer the edits that one question is about, each by itself; what is left open leaves the question."""
        answered = [await self._answer_by_command(item) for item in items]
        if not all(answered) and not question.answered and self._editor.profile.forced_answer is None:
            self._editor.answer_late(question, Dismiss())
        return any(answered)

    def _item_of(self, question: Question) -> OpenItem:
        titles = set(question.titles) - _BESIDES
        for event in reversed(self._editor.events):
            if event["type"] in ("approval.requested", "question.asked"):
                item = open_item(self._editor, event["data"])
                if titles <= set(item.options) and not self._is_resolved(event["data"]["id"]):
                    return item
        return OpenItem("dialog", question.message, "", question.titles, self._editor)

    # --- items -----------------------------------------------------------------------------------------------

    def _is_resolved(self, item_id: str) -> bool:
        ends = self._editor.events_of("approval.resolved") + self._editor.events_of("question.answered")
        return any(event["data"]["id"] == item_id for event in ends)

    def _says(self, item: OpenItem) -> object:
        ask = self._on_user_question if item.kind == "question" else self._on_confirmation
        return ask(item) if ask is not None else None

    async def _answer_by_command(self, item: OpenItem) -> bool:
        given = self._says(item)
        decided = cast("Decision", await given if inspect.isawaitable(given) else given)
        title = title_of(item, decided)
        said = decided if title is None and isinstance(decided, Reject | Review | str) else title
        return said is not None and await self._command(item, said)

    async def _command(self, item: OpenItem, said: str | Reject | Review) -> bool:
        await self._editor.command(names.ANSWER, answer_params(item, said))
        return True

    def _think(self, thought: Coroutine[Any, Any, bool]) -> None:
        task = asyncio.create_task(thought)
        self._thinking.add(task)
        task.add_done_callback(self._thought)

    def _thought(self, task: "asyncio.Task[bool]") -> None:
        self._thinking.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._fail(problem)

    def _fail(self, problem: BaseException) -> None:
        if not self.failed.done():
            self.failed.set_exception(problem)
