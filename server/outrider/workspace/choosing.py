"""Has the person choose in the editor which hunks of an edit are made, and finds out by the texts what they chose.

The editor shows the hunks with a box at each, and may do so for hours: it can be asked to take that down, but none is
known that does. So nothing is locked meanwhile, only one such choice is open at a time, and what is applied after nobody
waits for it any more is a change of the person's own, which they are told.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from outrider.ports.clock import Clock
from outrider.ports.editor import Applied, DocumentEdit, Editor, Unanswered
from outrider.ports.text import Hunk
from outrider.workspace.change import Change, NotWritten, Written
from outrider.workspace.diff import split_lines
from outrider.workspace.documents import Document, DocumentStore, uri_key
from outrider.workspace.editing import unfit
from outrider.workspace.landing import places_of
from outrider.workspace.overlay import why_read_only
from outrider.workspace.taken import Taken, hunks_of, numbers_in, taken_in

CHOOSE_SECONDS: Final = 600.0
"""How long the person may take."""
QUIET_SECONDS: Final = 0.2
"""How long nothing more comes of a choice until it counts as the whole of it."""

OFFERED: Final = "shows each change there with a box. Outrider cannot close that: what you apply there takes effect, however late."
"""What is said of the offer where it is made."""

WhyNot = Literal[
    "answered", "unclear", "changed", "closed", "busy", "failed", "late", "forbidden", "cancelled"
]  # fmt: skip

REASONS: Final[Mapping[WhyNot, str]] = {
    "answered": "the person did not choose it in the editor",
    "unclear": "the editor said that what was chosen is applied, but the text does not show what it is",
    "changed": "its text changed before the person chose in the editor",
    "closed": "it was closed before the person chose in the editor",
    "busy": "the editor may still show another choice",
    "failed": "the editor did not let the person choose",
    "late": "nobody chose in the editor for too long",
    "forbidden": "it is not allowed any more",
    "cancelled": "the turn was cancelled before the person chose in the editor",
}
"""Why something is not made, as its event says it."""
_WORST_FIRST: Final[Sequence[WhyNot]] = ("unclear", "changed", "closed", "answered")
STILL_THERE: Final = (
    "Discard what the editor still shows of it: what you apply there is from now on a change of your own, "
    "which Outrider does not take back."
)
OWN_CHANGE: Final = (
    "Outrider: what you have just applied in the editor was no longer waited for. It is a change of your own, "
    "which Outrider does not take back; the editor's undo does."
)


class Stop:
    """Says that nobody waits for a choice any more."""

    def __init__(self, is_allowed: Callable[[], bool]) -> None:
        """A choice that is waited for while `is_allowed`."""
        self.why: WhyNot | None = None
        self.is_allowed = is_allowed
        self._is_said = asyncio.Event()

    def now(self, why: WhyNot) -> None:
        """Wait no longer."""
        self.why = self.why or why
        self._is_said.set()

    async def wait(self) -> None:
        """Wait until that is said."""
        await self._is_said.wait()


@dataclass(frozen=True, slots=True)
class Chosen:
    """What came of a choice."""

    done: Sequence[Written | NotWritten]
    """Of each change; what was left out of one that is written is a no of the person."""
    taken: Sequence[Sequence[int]]
    """Of each change the numbers of the hunks that are in place, from 1."""
    why_not: WhyNot | None
    """Why nothing is in place; None where something is."""


@dataclass(slots=True)
class _Watched:
    """A change that can be chosen, and what of it has been seen in the texts of its document."""

    change: Change
    document: Document
    hunks: Sequence[Hunk]
    found: Taken | None = None
    latest: str = field(init=False)

    def __post_init__(self) -> None:
        self.latest = self.before

    @property
    def before(self) -> str:
        return self.change.before or ""

    @property
    def is_whole(self) -> bool:
        return self.found is not None and len(self.found.numbers) == len(self.hunks)

    def saw(self, text: str) -> None:
        """Take note of a text: a choice comes at once or piece by piece, and not letter by letter."""
        was, self.latest = self.latest, text
        known = () if self.found is None else self.found.numbers
        if text == was or was != (self.before if self.found is None else self.found.text):
            return
        numbers = numbers_in(self.before, self.hunks, text) or ()
        if set(numbers) > set(known):
            self.found = Taken(numbers, text)


class Choosing:
    """The one place that has the person choose in the editor."""

    def __init__(self, documents: DocumentStore, editor: Editor, clock: Clock) -> None:
        """Nothing is shown yet."""
        self._documents = documents
        self._editor = editor
        self._clock = clock
        self._shown: Stop | None = None
        """The choice that the editor shows, or may still show."""
        self._has_failed = False

    @property
    def is_free(self) -> bool:
        """Whether the editor can be asked for a choice now."""
        return self._editor.traits.lets_choose and self._shown is None and not self._has_failed

    def can_offer(self, changes: Sequence[Change], documents: Sequence[Document | None]) -> bool:
        """Whether the person can choose among the hunks of these changes now.

        Args:
            changes: All that would be done.
            documents: The open document of each.
        """
        return (
            self.is_free
            and len({uri_key(change.located.uri) for change in changes}) == len(changes)
            and all(
                document is not None and _fits(change)
                for change, document in zip(changes, documents, strict=True)
            )
            and sum(len(change.difference.hunks) for change in changes) > 1
        )

    def look_again(self) -> None:
        """Look whether what is being chosen from is still allowed: settings have changed."""
        if self._shown is not None and not self._shown.is_allowed():
            self._shown.now("forbidden")

    async def offer(self, wanted: Sequence[tuple[Change, Document | None]], label: str, stop: Stop) -> Chosen:
        """Have the person choose, and wait until they have.

        Args:
            wanted: The changes, each with its open document.
            label: What the editor calls them together.
            stop: Says that nobody waits any more.
        """
        watched = await self._watched(wanted)
        if not stop.is_allowed():
            stop.now("forbidden")
        if stop.why is not None:
            return self._nothing(wanted, stop.why)
        if not self._editor.traits.lets_choose:  # it would apply all of it without a question
            return self._nothing(wanted, "failed")
        if self._shown is not None:
            return self._nothing(wanted, "busy")
        if not isinstance(watched, list):
            return self._nothing(wanted, watched)
        self._shown = stop
        answer = await self._asked(watched, label, stop)
        for one in watched:
            await self._judge(one)
        came = [one.found for one in watched]
        if any(came):
            done = [self._done(one, taken, answer) for one, taken in zip(watched, came, strict=True)]
            return Chosen(done, [taken.numbers if taken else () for taken in came], None)
        if stop.why is not None and isinstance(answer, Applied) and answer.claimed:
            self._editor.say("warning", OWN_CHANGE)  # its text comes when nobody looks for it any more
        why = stop.why or self._why_not(watched, answer)
        return self._nothing(wanted, why, is_shown=self._shown is stop)

    async def _watched(self, wanted: Sequence[tuple[Change, Document | None]]) -> list[_Watched] | WhyNot:
        """The changes, if all their documents have the text that they were worked out for."""
        await self._told()
        watched: list[_Watched] = []
        for change, document in wanted:
            now = document and self._documents.get(document.uri)
            if now is None:
                return "closed"
            if now.text != change.before:
                return "changed"
            watched.append(_Watched(change, now, hunks_of(change)))
        return watched

    async def _asked(
        self, watched: Sequence[_Watched], label: str, stop: Stop
    ) -> Applied | Unanswered | None:
        """Show the choice and wait for the person's; None where nobody waits any more."""
        by_uri = {uri_key(one.document.uri): one for one in watched}
        moved = asyncio.Event()

        def look(uri: str) -> None:
            one, now = by_uri.get(uri_key(uri)), self._documents.get(uri)
            if one is not None and now is not None:
                one.saw(now.text)
                moved.set()

        def late(claimed: bool) -> None:
            self._free(stop)
            if claimed and not any(one.found for one in watched):
                self._editor.say("warning", OWN_CHANGE)

        edits = [self._edit(one) for one in watched]
        unsubscribe = self._documents.subscribe(look)
        asking = asyncio.ensure_future(self._editor.offer(label, edits, seconds=CHOOSE_SECONDS, late=late))
        stopping = asyncio.ensure_future(stop.wait())
        waits: set[asyncio.Future[Any]] = {asking, stopping}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                return None
            answer = await asking
            if answer == Unanswered("timeout"):
                stop.now("late")
                return None
            self._free(stop)
            if isinstance(answer, Applied):
                await self._told()
                if answer.claimed:
                    quiet = asyncio.ensure_future(self._until_quiet(watched, moved))
                    waits.add(quiet)
                    await asyncio.wait({quiet, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return answer
        finally:
            unsubscribe()
            for one in waits:
                one.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _told(self) -> None:
        """Wait until the editor has told what was typed, which a choice would else not meet."""
        if not await self._editor.catch_up() and self._editor.traits.debounce_seconds > 0:
            await self._clock.sleep(self._editor.traits.debounce_seconds)

    async def _until_quiet(self, watched: Sequence[_Watched], moved: asyncio.Event) -> None:
        """Wait for the texts of a choice that the editor says is applied: it may tell them later."""
        traits = self._editor.traits
        quiet = QUIET_SECONDS + traits.debounce_seconds
        # Who types meanwhile does not make it longer.
        until = self._clock.monotonic() + traits.settle_seconds + quiet
        while not all(one.is_whole for one in watched):
            seconds = quiet if any(one.found for one in watched) else traits.settle_seconds
            moved.clear()
            try:
                async with self._clock.timeout(min(seconds, until - self._clock.monotonic())):
                    await moved.wait()
            except TimeoutError:
                return

    def _edit(self, one: _Watched) -> DocumentEdit:
        encoding, shown = self._documents.encoding, one.change.located.shown
        notes = [
            f"{shown} line {hunk.line} (+{len(split_lines(hunk.added))} −{len(split_lines(hunk.removed))})"
            for hunk in one.change.difference.hunks
        ]
        places = places_of(one.before, one.hunks, encoding)
        return DocumentEdit(one.document.uri, one.document.version, places, notes)

    async def _judge(self, one: _Watched) -> None:
        """Find what of a change is in its document."""
        now = self._documents.get(one.document.uri)
        if one.found is None and now is not None and now.text != one.before:
            one.found = await asyncio.to_thread(taken_in, one.before, one.hunks, now.text)

    def _done(
        self, one: _Watched, taken: Taken | None, answer: Applied | Unanswered | None
    ) -> Written | NotWritten:
        if taken is None:
            return NotWritten("not_applied", REASONS[self._why_not_in(one, answer)], self._text_of(one))
        is_whole = len(taken.numbers) == len(one.hunks)
        without = taken.without if is_whole or taken.without is not None else one.before
        is_merged = taken.without is not None
        return Written("buffer", taken.text, merged=is_merged, uri=one.document.uri, without=without)

    def _why_not(self, watched: Sequence[_Watched], answer: Applied | Unanswered | None) -> WhyNot:
        reasons = {self._why_not_in(one, answer) for one in watched}
        if reasons == {"answered"} and isinstance(answer, Unanswered):
            self._has_failed = True
            return "failed"
        return next(why for why in _WORST_FIRST if why in reasons)

    def _why_not_in(self, one: _Watched, answer: Applied | Unanswered | None) -> WhyNot:
        """Why nothing of a change is in its document: it was left out, or the text has become another one."""
        if self._text_of(one) == one.before:
            return "answered"
        if isinstance(answer, Applied) and answer.claimed:
            return "unclear"  # tried again, it could come to stand there twice
        return "closed" if self._text_of(one) is None else "changed"

    def _text_of(self, one: _Watched) -> str | None:
        now = self._documents.get(one.document.uri)
        return now.text if now is not None else None

    def _nothing(
        self, wanted: Sequence[tuple[Change, Document | None]], why: WhyNot, *, is_shown: bool = False
    ) -> Chosen:
        reason = REASONS[why]
        if why != "answered":
            names = ", ".join(change.located.shown for change, _ in wanted)
            further = f" {STILL_THERE}" if is_shown else ""
            self._editor.say("warning", f"Outrider: {names}: {reason}.{further}")
        texts = [document and self._documents.get(document.uri) for _, document in wanted]
        done = [NotWritten("not_applied", reason, now.text if now else None) for now in texts]
        return Chosen(done, [() for _ in wanted], why)

    def _free(self, stop: Stop) -> None:
        if self._shown is stop:
            self._shown = None


def _fits(change: Change) -> bool:
    """Whether a change is one of an open document's text alone, which can be made."""
    return (
        change.operation == "edit"
        and change.mode is None
        and unfit(change) is None
        and why_read_only(change.before or "") is None
        and why_read_only(change.after or "") is None
    )
