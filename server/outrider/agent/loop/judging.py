"""Has language servers judge the edits of a turn: before one is asked for, after it was made, and what comes later.

No edit fails because of that, and none waits for longer than its limit. What a server says is an input: it is in the event of the approval,
in the result of the call, or in an event of its own.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from outrider.agent.state.record import Record
from outrider.language.languages import Check, Languages
from outrider.ports import language
from outrider.ports.clock import Clock
from outrider.ports.language import Touched
from outrider.ports.model import ToolCall
from outrider.tools.context import Judged
from outrider.tools.edit.verdicts import (
    Heard,
    for_model,
    for_user,
    held_back,
    on_wire,
    problem_on_wire,
    told_later,
)
from outrider.workspace.edits.change import Change, Written
from outrider.workspace.paths import Folders
from outrider.workspace.text.diff import LineHunk, line_hunks
from outrider.workspace.text.lines import split_lines
from outrider_protocol.events import Problem, Verdict, VerdictFound
from outrider_protocol.settings import Settings

QUESTION_SECONDS: Final = 1.5
"""How long a question waits for what the edit would do."""
RESULT_SECONDS: Final = 2.0
"""How long the result of an edit waits for what it did."""
REQUEST_SECONDS: Final = 3.0
"""How long the next request waits for a verdict that is still missing."""
SETTLE_SECONDS: Final = 3.0
"""How long the end of a turn waits to know which errors are left."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """An edit that is still being judged."""

    check: Check
    touched: list[Touched]
    promised: set[str]
    """The servers of which the model was told that they are still at work."""


def _heard(check: Check) -> Heard:
    return Heard(check.waits_for, check.silent, check.linted_by)


class Judging:
    """Judges the edits of one turn."""

    def __init__(
        self,
        languages: Languages,
        folders: Callable[[], Folders],
        settings: Callable[[], Settings],
        clock: Clock,
        record: Record,
        turn_id: str | None,
    ) -> None:
        """Begin with nothing.

        Args:
            languages: The language servers.
            folders: The workspace folders as they are now.
            settings: The settings as they hold now.
            clock: Times what waits for servers.
            record: The session's log.
            turn_id: The turn; None for an undo, which nobody judges.
        """
        self._languages, self._folders, self._settings, self._clock = languages, folders, settings, clock
        self._record, self._turn_id = record, turn_id
        self._pending: list[_Pending] = []
        """Edits of which not all is known yet."""
        self._slow: set[str] = set()
        """Servers that a request has waited for in vain: the next one does not."""

    async def before(self, call: ToolCall, changes: Sequence[Change]) -> Judged | None:
        """What the edit of a call would do, for as long as a question may wait."""
        wanted = self._settings().trial_diagnostics
        if wanted == "off" or self._turn_id is None:
            return None
        touched = [one for change in changes if (one := _touched(change, change.after)) is not None]
        check = await self._languages.judge(
            touched, is_trial=True, least="warning" if wanted == "all" else "error"
        )
        if check is None:
            return None
        try:
            found = await check.within(QUESTION_SECONDS, self._clock)
            heard = _heard(check)
        finally:
            await check.end()
        verdict = self._on_wire(found, heard)
        told = for_user(verdict, heard)
        if verdict is None:
            return Judged(None, told) if told else None
        may_hold = not self._record.state.turns[self._turn_id].held_back
        return Judged(verdict, told, held_back(verdict) if verdict.introduced and may_hold else "")

    async def after(self, call: ToolCall, done: Sequence[tuple[Change, Written]]) -> Judged | None:
        """What an edit that was made did; what is not known in time is told before the next request."""
        if self._turn_id is None:
            return None
        touched = [one for change, written in done if (one := _touched(change, written.after)) is not None]
        if not touched:
            return None
        check = await self._languages.judge(
            await self._with_earlier(touched), is_trial=False, least="warning"
        )
        if check is None:
            return None
        found = await check.within(RESULT_SECONDS, self._clock)
        heard = _heard(check)
        if heard.waits_for:
            self._pending.append(_Pending(check, touched, set(heard.waits_for)))
        verdict = self._on_wire(found, heard)
        told = for_model(verdict, heard)
        return Judged(verdict, told) if told else None

    async def tell(self) -> None:
        """Record what has become known of edits since their results were given."""
        pending, self._pending = self._pending, []
        for one in pending:
            found = await one.check.within(0 if one.promised <= self._slow else REQUEST_SECONDS, self._clock)
            heard = _heard(one.check)
            self._slow = (self._slow - one.promised) | set(heard.waits_for)
            came = one.promised - set(heard.waits_for)
            # Who was said to be still at work, and comes to nothing, is told too.
            silent = sorted(came & set(heard.silent))
            if found is not None or silent:
                verdict = on_wire(found or language.Verdict(), self._folders().display_of, silent)
                await self._found(verdict, told_later(verdict))
            if heard.waits_for:
                self._pending.append(replace(one, promised=set(heard.waits_for)))

    async def settle(self) -> None:
        """Look again whether the errors are still there that edits brought: what repaired them may not have been judged."""
        if self._turn_id is None or not (left := self._record.state.turns[self._turn_id].evidence.left):
            return
        await self.tell()
        folders = self._folders()
        paths = {one["path"]: folders.straight(one["path"]) for one in left}
        uris = {Path(place).as_uri(): path for path, place in paths.items() if place is not None}
        found, late = await self._languages.problems(list(uris), SETTLE_SECONDS)
        if late:
            return
        there = {
            (one.path, one.message)
            for one in (problem_on_wire(problem, folders.display_of) for problem in found)
        }
        gone = [Problem.from_wire(one) for one in left if (one["path"], one["message"]) not in there]
        if gone:
            await self._found(Verdict(fixed=gone, fixed_count=len(gone)), None)

    async def end(self) -> None:
        """Stop judging."""
        pending, self._pending = self._pending, []
        await asyncio.gather(*(one.check.end() for one in pending))

    async def _with_earlier(self, touched: Sequence[Touched]) -> list[Touched]:
        """An edit together with those before it that are still being judged: what is known of these would be about texts that are gone."""
        earlier = [one for pending in self._pending for one in pending.touched]
        await self.end()
        files = {one.uri: one for one in reversed(earlier)}
        for one in touched:
            known = files.get(one.uri)
            if known is not None:
                lines = await asyncio.to_thread(_lines, known.before or "", one.after or "")
                one = replace(known, after=one.after, lines=lines)  # noqa: PLW2901 - the same file
            files[one.uri] = one
        return list(files.values())

    def _on_wire(self, found: language.Verdict | None, heard: Heard) -> Verdict | None:
        missing = [*heard.waits_for, *heard.silent]
        return None if found is None else on_wire(found, self._folders().display_of, missing)

    async def _found(self, verdict: Verdict, told: str | None) -> None:
        if told is not None:
            await self._record.masking.look(told)
        self._record.append(VerdictFound(verdict=verdict, told=told), turn_id=self._turn_id)


def _touched(change: Change, after: str | None) -> Touched | None:
    """An edit of one file, as servers are shown it; None for what only names or removes one."""
    if change.operation not in {"edit", "create"} or change.located.path is None:
        return None
    return Touched(change.located.uri, change.before, after, _of_hunks(change.difference.hunks))


def _lines(before: str, after: str) -> list[range]:
    return _of_hunks(line_hunks(before, after))


def _of_hunks(hunks: Sequence[LineHunk]) -> list[range]:
    """The lines of the text before that change, from 0."""
    return [range(one.line - 1, one.line - 1 + len(split_lines(one.removed))) for one in hunks]
