"""Questions to the user, in the client's own way: requests for permission, and forms where the client has them.

Only an option that was offered is an answer. What the client closes, or answers with anything else, is none.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, Literal

from acp.schema import (
    ContentToolCallContent,
    CreateFormSessionElicitationRequest,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    EnumOption,
    FileEditToolCallContent,
    PermissionOption,
    PermissionOptionKind,
    RequestPermissionRequest,
    TerminalToolCallContent,
    TextContentBlock,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallUpdate,
    ToolKind,
)
from pydantic import ValidationError

from outrider.acp.capabilities import as_object
from outrider.acp.client import Client, NoReply
from outrider.agent.interaction.inbox import WHY_AGAIN, rule_told
from outrider.agent.interaction.quoting import code_block
from outrider.agent.interaction.review_document import UnderReview
from outrider.ports.editor import Answered, ItemReply, Unanswered
from outrider.ports.text import spelled_out
from outrider.workspace.edits.review import Proposed
from outrider.workspace.text.diff import LineHunk
from outrider.workspace.text.lines import split_lines
from outrider_protocol import (
    ALLOW_ONCE,
    ALLOW_SESSION,
    ALWAYS_ALLOW,
    ALWAYS_BACK,
    ALWAYS_EVERYWHERE,
    ALWAYS_HERE,
    DECISIONS,
    DECLINE,
    IGNORE_COMMANDS,
    KEEP_MINE,
    OPEN_BOTH,
    PUT_BACK,
    REJECT,
    REVIEW,
    SAVE_CANCEL,
    STAY_READ_ONLY,
)  # fmt: skip
from outrider_protocol.events import Open

PERMISSION: Final = "session/request_permission"
ELICITATION: Final = "elicitation/create"

BY_HUNK: Final = "Review by hunk…"
REJECT_SAYING_WHY: Final = "Reject, saying why…"
IN_WORDS: Final = "Answer in your own words"
ACCEPT: Final = "Accept this change"
ACCEPT_ALL: Final = "Accept this and all others"
LEAVE_OUT: Final = "Reject this change"
BACK: Final = "Back"
KEEP_THIS: Final = "Keep this change"
KEEP_REST: Final = "Keep this and the rest"
UNDO_THIS: Final = "Undo this change"

_MOST_SHOWN: Final = 256 * 1024
"""Characters of a file up to which its whole text is shown in a diff; of a longer one only the changed lines."""
_CHOICE, _WORDS = "choice", "words"
_KEYS: Final[Mapping[PermissionOptionKind, str]] = {
    "allow_once": "Accept",
    "allow_always": "Always accept",
    "reject_once": "Reject",
}
"""What the keys of a client for kinds mean."""

_LOOKS: Final = frozenset({BY_HUNK, BACK, IN_WORDS, ALWAYS_BACK})
_ALWAYS: Final = frozenset({ALLOW_SESSION, ALWAYS_ALLOW, ALWAYS_EVERYWHERE, ACCEPT_ALL, KEEP_REST})
_HARMLESS: Final = frozenset(
    {
        REJECT,
        REJECT_SAYING_WHY,
        LEAVE_OUT,
        UNDO_THIS,
        PUT_BACK,
        KEEP_MINE,
        OPEN_BOTH,
        SAVE_CANCEL,
        STAY_READ_ONLY,
        DECLINE,
        IGNORE_COMMANDS,
    }
)


def kind_of(title: str) -> PermissionOptionKind:
    """What a client should take an option for. Some have one key for each kind, which takes the first or the last of it.

    So no two options of a kind allow different things at once: `Always allow…` only asks once more. Options that only look
    at something are of the one kind that no client has a key for.
    """
    if title in _LOOKS:
        return "reject_always"
    if title in _ALWAYS:
        return "allow_always"
    return "reject_once" if title in _HARMLESS else "allow_once"


def offered(titles: Sequence[str], answers_by: Literal["option", "kind", "yes"]) -> list[str]:
    """The options that a client's user can take; no key means two things, or more than it says."""
    if answers_by == "option":
        return list(titles)
    keys = ("allow_once", "reject_once") if answers_by == "yes" else tuple(_KEYS)
    first: dict[PermissionOptionKind, str] = {}
    for title in titles:
        if title != ALWAYS_ALLOW and (kind := kind_of(title)) in keys:
            first.setdefault(kind, title)
    return [title for title in titles if title in first.values()]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a question is about, as the client shows it: a tool call."""

    call_id: str
    title: str
    kind: ToolKind = "other"
    content: Sequence[ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent] = ()
    locations: Sequence[ToolCallLocation] = ()


class Questions:
    """The questions of one session."""

    def __init__(
        self,
        client: Client,
        session_id: str,
        *,
        under_review: Callable[[str], Awaitable[UnderReview | None]],
        subject_of: Callable[[str], Subject | None],
        place_of: Callable[[str], str | None],
        say: Callable[[str], None],
    ) -> None:
        """Ask in `client`.

        Args:
            client: The client.
            session_id: The session.
            under_review: The edit that an open item is about.
            subject_of: How a tool call was shown, by its id.
            place_of: The absolute path of a file, by how it is written; None for what is on no disk.
            say: Tells the user something in the conversation.
        """
        self._client = client
        self._session_id = session_id
        self._under_review = under_review
        self._subject_of = subject_of
        self._place_of = place_of
        self._say = say
        self._number = 0

    async def item(
        self, item: Open, *, seconds: float, overdue: Callable[[], None], told: Mapping[str, str]
    ) -> ItemReply | Unanswered:
        """Put an open item before the user, until it is answered; gives an `AskReply` as JSON.

        Args:
            item: The item.
            seconds: How long the client may take before `overdue` is called.
            overdue: Told that there is no answer yet.
            told: What is said of options, by their titles; only of those that the client's user can take.
        """
        if item.kind != "approval":
            return await self._question(item, seconds=seconds, overdue=overdue)
        return await self._approval(item, seconds=seconds, overdue=overdue, told=told)

    async def titles(
        self,
        message: str,
        titles: Sequence[str],
        *,
        seconds: float,
        overdue: Callable[[], None] | None = None,
    ) -> Answered | Unanswered:
        """Ask something that belongs to no tool call; gives one of the titles."""
        title, _, rest = message.partition("\n")
        subject = Subject(self._new_call(), title, content=_text(rest))
        answer = await self._choose(subject, titles, seconds=seconds, overdue=overdue)
        self._ended(subject, answer)
        return answer

    async def hunk(self, title: str, change: Proposed, hunk: LineHunk, titles: Sequence[str]) -> str | None:
        """Ask about one hunk of a change; None without an answer."""
        shown = self._diffs(change, None, [hunk])
        subject = Subject(self._new_call(), title, "edit", shown, self._locations(change, hunk))
        answer = await self._choose(subject, titles, seconds=0, overdue=_nothing)
        self._ended(subject, answer)
        return answer.title if isinstance(answer, Answered) else None

    # --- approvals ----------------------------------------------------------------------------------------------

    async def _approval(
        self, item: Open, *, seconds: float, overdue: Callable[[], None], told: Mapping[str, str]
    ) -> ItemReply | Unanswered:
        edit = await self._under_review(item.id)
        titles = [title for title in item.options if title in DECISIONS and title != REVIEW]
        if edit is not None and sum(len(change.hunks) for change in edit.changes) > 1:
            titles.append(BY_HUNK)
        if self._client.can.takes_forms:
            titles.append(REJECT_SAYING_WHY)
        shown = offered(titles, self._client.can.answers_by)
        subject = self._about(item, edit, [text for title, text in told.items() if title in shown])
        while True:
            answer = await self._choose(subject, titles, seconds=seconds, overdue=overdue)
            if isinstance(answer, Unanswered):
                return answer
            given: Mapping[str, Any] | None
            match answer.title:
                case title if title == ALWAYS_ALLOW:
                    given = await self._where(item, subject)
                case title if title == BY_HUNK and edit is not None:
                    given = await self._by_hunk(edit)
                case title if title == REJECT_SAYING_WHY:
                    given = await self._rejection()
                case title:
                    given = {"decision": DECISIONS[title]}
            if given is not None:
                return ItemReply(given)

    async def _where(self, item: Open, subject: Subject) -> Mapping[str, Any] | None:
        """Show exactly the rules that would be saved, and ask where they shall hold; None goes back."""
        rules = "\n".join(f"- allow {rule_told(rule)}" for rule in item.always or ())
        told = _text(f"These rules would be saved:\n{spelled_out(rules)}")
        asked = Subject(subject.call_id, f"{ALWAYS_ALLOW} {subject.title}", subject.kind, told)
        # One of each kind, so that no key of a client can mean the wider one by mistake.
        answer = await self._choose(
            asked, (ALWAYS_HERE, ALWAYS_EVERYWHERE, ALWAYS_BACK), seconds=0, overdue=_nothing
        )
        if not isinstance(answer, Answered) or answer.title == ALWAYS_BACK:
            return None
        scope = "workspace" if answer.title == ALWAYS_HERE else "everywhere"
        return {"decision": "allow_always", "scope": scope}

    async def _by_hunk(self, edit: UnderReview) -> Mapping[str, Any] | None:
        """Go through the hunks of an edit; None goes back."""
        hunks = [
            (name, change, hunk)
            for change in edit.changes
            for name, hunk in zip(change.ids, change.hunks, strict=True)
        ]
        decided: list[dict[str, Any]] = []
        for number, (name, change, hunk) in enumerate(hunks, 1):
            title = f"Change {number} of {len(hunks)}: {change.where(hunk)}"
            why = (REJECT_SAYING_WHY,) if self._client.can.takes_forms else ()
            chosen = await self.hunk(title, change, hunk, (ACCEPT, ACCEPT_ALL, LEAVE_OUT, *why, BACK))
            match chosen:
                case title if title == ACCEPT:
                    continue
                case title if title == ACCEPT_ALL:
                    break
                case title if title in {LEAVE_OUT, REJECT_SAYING_WHY}:
                    reason = await self._reason() if title == REJECT_SAYING_WHY else ""
                    decided.append(
                        {"id": name, "decision": "reject", **({"reason": reason} if reason else {})}
                    )
                case _:
                    return None
        if len(decided) == len(hunks):
            return {"decision": "reject", "review": decided}
        return {"decision": "allow_once", "review": decided} if decided else {"decision": "allow_once"}

    async def _rejection(self) -> Mapping[str, Any] | None:
        reason = await self._reason()
        if reason is None:
            return None
        return {"decision": "reject", "note": reason} if reason else {"decision": "reject"}

    async def _reason(self) -> str | None:
        """Why something is rejected, which may be empty; None where the user went back."""
        words = await self._form("Why not? The model is told.", None, (), overdue=_nothing)
        return words if isinstance(words, str) else None

    # --- questions ----------------------------------------------------------------------------------------------

    async def _question(
        self, item: Open, *, seconds: float, overdue: Callable[[], None]
    ) -> ItemReply | Unanswered:
        if self._client.can.takes_forms:
            message = "\n".join(part for part in (item.title, item.detail) if part)
            options = item.options
            words = await self._form(
                message, item.call_id, options, words=item.allow_free_form, seconds=seconds, overdue=overdue
            )
            if not (isinstance(words, Unanswered) and words.why == "unsupported"):
                if isinstance(words, Unanswered):
                    return words
                return ItemReply({"answer": words}) if words else Unanswered("dismissed")
        if not item.options or len(offered(item.options, self._client.can.answers_by)) < len(item.options):
            return Unanswered("dismissed")  # the next message of the user is the answer
        subject = self._about(item, None)
        titles = [*item.options, *([IN_WORDS] if item.allow_free_form else [])]
        answer = await self._choose(subject, titles, seconds=seconds, overdue=overdue)
        if subject.call_id != item.call_id:
            self._ended(subject, answer)
        if isinstance(answer, Answered):
            return (
                Unanswered("dismissed") if answer.title == IN_WORDS else ItemReply({"answer": answer.title})
            )
        return answer

    async def _form(
        self,
        message: str,
        call_id: str | None,
        options: Sequence[str],
        *,
        words: bool = True,
        seconds: float = 0,
        overdue: Callable[[], None],
    ) -> str | Unanswered:
        """Have the user choose or write; what they wrote counts before what they chose."""
        fields: dict[str, ElicitationStringPropertySchema] = {}
        if options:
            choices = [EnumOption(const=option, title=option) for option in options]
            fields[_CHOICE] = ElicitationStringPropertySchema(type="string", title="Answer", one_of=choices)
        if words:
            title = "Or in your own words" if options else "Answer"
            fields[_WORDS] = ElicitationStringPropertySchema(type="string", title=title)
        request = CreateFormSessionElicitationRequest(
            session_id=self._session_id,
            tool_call_id=call_id,
            mode="form",
            message=message,
            requested_schema=ElicitationSchema(
                properties=dict(fields), required=[_CHOICE] if options and not words else None
            ),
        )
        reply = await self._client.request(ELICITATION, request, seconds=seconds, overdue=overdue)
        if isinstance(reply, NoReply):
            return Unanswered(reply.why)
        result = as_object(reply.result)
        if result.get("action") != "accept":
            return Unanswered("dismissed")
        content = as_object(result.get("content"))
        written, chosen = content.get(_WORDS), content.get(_CHOICE)
        if words and isinstance(written, str) and written.strip():
            return written.strip()
        if chosen is None and (words or not options):
            return ""
        return chosen if isinstance(chosen, str) and chosen in options else Unanswered("unknown_title")

    # --- asking -------------------------------------------------------------------------------------------------

    async def _choose(
        self,
        subject: Subject,
        titles: Sequence[str],
        *,
        seconds: float,
        overdue: Callable[[], None] | None,
    ) -> Answered | Unanswered:
        titles = offered(titles, self._client.can.answers_by)
        ids = _ids(titles)
        options = [
            PermissionOption(option_id=one, name=title, kind=kind_of(title)) for one, title in ids.items()
        ]
        if self._client.can.answers_by == "kind" and (told := _told(subject, titles)):
            self._say(told)
        call = ToolCallUpdate(
            tool_call_id=subject.call_id,
            title=subject.title,
            kind=subject.kind,
            status="pending",
            content=list(subject.content) or None,
            locations=list(subject.locations) or None,
        )
        request = RequestPermissionRequest(session_id=self._session_id, tool_call=call, options=options)
        reply = await self._client.request(PERMISSION, request, seconds=seconds, overdue=overdue)
        if isinstance(reply, NoReply):
            return Unanswered(reply.why)
        return _chosen(reply.result, ids)

    def _ended(self, subject: Subject, answer: Answered | Unanswered) -> None:
        """A question that is no tool call was shown as one, which would stay open in the client."""
        said = _text(answer.title) if isinstance(answer, Answered) else None
        done = ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=subject.call_id,
            status="completed" if isinstance(answer, Answered) else "failed",
            content=said,
        )
        self._client.update(self._session_id, done)

    def _new_call(self) -> str:
        self._number += 1
        return f"question_{self._number}"

    # --- what is shown ------------------------------------------------------------------------------------------

    def _about(self, item: Open, edit: UnderReview | None, below: Sequence[str] = ()) -> Subject:
        known = self._subject_of(item.call_id) if item.call_id is not None else None
        title = item.summary or item.title
        if edit is not None:
            shown = [
                one
                for change in edit.changes
                for one in self._diffs(change, edit.texts.get(change.change_id))
            ]
            places = [one for change in edit.changes for one in self._locations(change, change.hunks[0])]
            said = "\n".join([*_around_diff(item.detail), *below])
            return Subject(item.call_id or self._new_call(), title, "edit", [*shown, *_text(said)], places)
        text = "\n".join(part for part in (item.title if item.summary else "", item.detail, *below) if part)
        return Subject(
            item.call_id or self._new_call(),
            title,
            known.kind if known is not None else "other",
            _text(text, is_code=item.kind == "approval"),
            known.locations if known is not None else (),
        )

    def _diffs(
        self, change: Proposed, before: str | None, hunks: Sequence[LineHunk] | None = None
    ) -> list[FileEditToolCallContent]:
        """A change as the client shows it: the whole file where that is not too long, else its hunks."""
        path = self._place_of(change.path)
        if path is None or change.operation == "rename":
            return []
        chosen = change.hunks if hunks is None else hunks
        if hunks is None and before is not None and len(before) <= _MOST_SHOWN:
            after = "" if change.operation == "delete" else applied(before, chosen)
            return [_diff(path, None if change.operation == "create" else before, after)]
        return [
            _diff(path, None if change.operation == "create" else one.removed, one.added) for one in chosen
        ]

    def _locations(self, change: Proposed, hunk: LineHunk) -> list[ToolCallLocation]:
        path = self._place_of(change.path)
        return [] if path is None else [ToolCallLocation(path=path, line=hunk.line)]


def applied(text: str, hunks: Sequence[LineHunk]) -> str:
    """A text with hunks of whole lines."""
    lines, parts, at = split_lines(text), list[str](), 0
    for hunk in hunks:
        first = max(hunk.line - 1, at)
        parts += [*lines[at:first], hunk.added]
        at = first + len(split_lines(hunk.removed))
    return "".join([*parts, *lines[at:]])


def _diff(path: str, old: str | None, new: str) -> FileEditToolCallContent:
    return FileEditToolCallContent(type="diff", path=path, old_text=old, new_text=new)


def text_content(text: str) -> ContentToolCallContent:
    """A text in a tool call."""
    return ContentToolCallContent(type="content", content=TextContentBlock(type="text", text=text))


ToolContent = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent


def _text(text: str, *, is_code: bool = False) -> list[ToolContent]:
    return [text_content(code_block(text) if is_code else text)] if text.strip() else []


def _around_diff(detail: str) -> Iterator[str]:
    """What is said of an edit above its diff and below, without the diff, which the client shows in its own way."""
    lines = detail.splitlines()
    yield from takewhile(lambda line: not line.startswith("--- "), lines)
    # Each line of a diff has a sign before it.
    yield from (line for line in lines if line in WHY_AGAIN)


def _ids(titles: Sequence[str]) -> dict[str, str]:
    """The titles by the ids of their options: the kind for the first of each, which is all that avante takes for a yes."""
    found: dict[str, str] = {}
    for title in titles:
        kind = kind_of(title)
        found[kind if kind not in found else f"{kind}_{len(found)}"] = title
    return found


def _told(subject: Subject, titles: Sequence[str]) -> str:
    """What a client does not show that knows only keys: the text of a question, and what the keys stand for."""
    texts = [
        one.content.text
        for one in subject.content
        if isinstance(one, ContentToolCallContent) and isinstance(one.content, TextContentBlock)
    ]
    keys = [f"{_KEYS[kind_of(title)]}: {title}" for title in titles]
    plain = {ALLOW_ONCE, ALLOW_SESSION, REJECT}
    return "\n".join([*texts, *([] if plain.issuperset(titles) else keys)])


def _chosen(result: Any, ids: Mapping[str, str]) -> Answered | Unanswered:
    """ACP, "Requesting Permission": the outcome is an option, or that the turn was cancelled."""
    outcome = as_object(as_object(result).get("outcome"))
    number = outcome.get("optionId")
    match outcome.get("outcome"):
        case "cancelled":
            return Unanswered("dismissed")
        case "selected" if isinstance(number, str):
            title = ids.get(number)
            return Unanswered("unknown_title") if title is None else Answered(title)
        case _:
            return Unanswered("error")


def _nothing() -> None:
    pass


def open_of(item: Mapping[str, Any]) -> Open | None:
    """An open item as it stands on the wire; None where it is none."""
    try:
        return Open.from_wire(dict(item))
    except ValidationError:
        return None
