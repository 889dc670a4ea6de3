"""What is renamed in the editor, which the client tells: sessions that know the file follow it to its new path.

Only what the client says counts. A document that closes while another one opens, or a file that goes while another one
comes, is no rename: nothing is guessed. And a rename widens nothing: a permission is for the path that it was given for.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outrider.agent.services import Services
from outrider.agent.state.record import Record
from outrider.agent.state.state import SessionState
from outrider.ports.text import one_line
from outrider.workspace.history.journal import Journal
from outrider.workspace.paths import Located, path_of
from outrider_protocol.events import RenamedFile, WorkspaceRenamed

log = logging.getLogger(__name__)

SETTLE_SECONDS = 2.0
"""How long what a user asks for waits for a rename of before: an undo that asks them holds a rename up."""


@dataclass(frozen=True, slots=True)
class Known:
    """A file that a session knows."""

    path: str
    place: str | None
    """Its real path; None where the log does not tell."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """A file or a folder of the workspace that has another path now."""

    path: str
    to: str
    old: Path
    new: Path
    place: str
    """The real path that it had; if it is a link, its own and not where it leads."""
    to_place: str
    is_folder: bool
    is_link: bool

    def links(self, known: Sequence[Known]) -> dict[str, str]:
        """Where files lead now that a session may have reached by links, by the paths that they had. Blocks.

        Args:
            known: Files as the session knows them.
        """
        rests = {one.path: below(one.path, self.path) for one in known if one.place is not None}
        return {
            path: os.path.realpath(f"{self.new}{rest}") for path, rest in rests.items() if rest is not None
        }

    def follow(self, known: Known, links: Mapping[str, str]) -> RenamedFile | None:
        """Where a file is that was there, or below; None for any other one.

        Args:
            known: The file as a session knows it.
            links: What `links` gave.
        """
        rest = None if known.place is None or self.is_link else below(known.place, self.place)
        if rest is not None:
            return _renamed(known, f"{self.to}{rest}", f"{self.to_place}{rest}")
        rest = below(known.path, self.path)
        if rest is None:
            return None
        if known.place is None:
            return RenamedFile(path=known.path, to=f"{self.to}{rest}")
        # It was reached by a link, which has another name now; or it is a file of another folder, with the same path there.
        is_same = links.get(known.path) == known.place
        return _renamed(known, f"{self.to}{rest}", known.place) if is_same else None


def _renamed(known: Known, to: str, to_place: str) -> RenamedFile:
    return RenamedFile(path=known.path, to=to, place=known.place, to_place=to_place)


def below(path: str, top: str) -> str | None:
    """What of a path comes after one that it is, or lies below; None: it does neither."""
    return path[len(top) :] if path == top or path.startswith(f"{top}/") else None


async def renamed_in_workspace(services: Services, old_uri: str, new_uri: str) -> Renamed | None:
    """What the client says was renamed, if that is of the workspace and there; None where nobody has to follow it.

    Args:
        services: The house.
        old_uri: Where it was.
        new_uri: Where it is.
    """
    if path_of(old_uri) is None or path_of(new_uri) is None:
        return None
    old, new = await services.workspace.folders.locate_all([old_uri, new_uri])
    if not isinstance(old, Located) or not isinstance(new, Located) or old.path is None or new.path is None:
        return None
    if not (old.inside and new.inside) or old.own or new.own or old.path == new.path:
        return None
    return await asyncio.to_thread(_look, old.display, old.path, new.display, new.path)


def _look(path: str, old: Path, to: str, new: Path) -> Renamed | None:
    if not os.path.lexists(new):
        return None
    return Renamed(path, to, old, new, _place(old), _place(new), new.is_dir(), new.is_symlink())


def _place(path: Path) -> str:
    return str(Path(os.path.realpath(path.parent), path.name))


def known_files(state: SessionState) -> list[Known]:
    """The files that a session changed and that are there by its log, that its model has seen, or is about to change."""
    there = files_there(state.journal)
    seen = [path for path in state.seen if (sight := state.seen.get(path)) and sight.expected is not None]
    others = dict.fromkeys([*seen, *_proposed(state)])
    known = {one.path: one for one in there}
    return [*there, *(Known(path, None) for path in others if path not in known)]


def _proposed(state: SessionState) -> list[str]:
    """The files for which a change is proposed and waits for its answer."""
    calls = state.turn.calls if state.turn is not None else {}
    waiting = [calls.get(item.call_id or "") for item in state.open.values() if item.kind == "approval"]
    return [data["path"] for call in waiting if call is not None for data in call.proposed]


def files_there(journal: Journal) -> list[Known]:
    """The files that a session changed, where they are by its log alone."""
    there: dict[str, Known] = {}
    for one in journal.records:
        if one.state != "applied":
            continue
        was = there.pop(one.place or one.path, None)
        if one.operation == "rename" and (was is not None or not one.by_user):
            there[one.to_place or one.to or one.path] = Known(one.to or one.path, one.to_place)
        elif one.operation in {"edit", "create"}:
            there[one.place or one.path] = Known(one.path, one.place)
    left = [one for one in [*journal.lasting(), *journal.modes()] if one.mode is not None]
    paths = {journal.path_now(one.path, one.number) for one in left} - {one.path for one in there.values()}
    return [*there.values(), *(Known(path, journal.place_of(path)) for path in sorted(paths))]


def event_of(state: SessionState, renamed: Renamed, links: Mapping[str, str]) -> WorkspaceRenamed | None:
    """The event of a rename in one session; None where it knows none of the files there.

    Args:
        state: The session now.
        renamed: What was renamed.
        links: Where its files lead, as `Renamed.links` found it.
    """
    # An editor tells also of what it renames for the agent. Where the log takes that in, the file is at its new path already.
    found = (renamed.follow(one, links) for one in known_files(state))
    files = [one for one in found if one is not None]
    if not files:
        return None
    places = [_with_needed_places(state.journal, one) for one in files]
    return WorkspaceRenamed(path=renamed.path, to=renamed.to, files=places, told=_telling(renamed))


def _with_needed_places(journal: Journal, file: RenamedFile) -> RenamedFile:
    place = None if file.place == journal.place_of(file.path) else file.place
    to_place = None if file.to_place == journal.place_of(file.to) else file.to_place
    return RenamedFile(path=file.path, to=file.to, place=place, to_place=to_place)


def _telling(renamed: Renamed) -> str:
    path, to = one_line(renamed.path), one_line(renamed.to)
    if renamed.is_folder:
        return f"The folder {path} is now named {to}: it was renamed in the editor with everything in it. Use the new paths."
    return f"{path} is now named {to}: it was renamed in the editor. Use the new path."


def stale_proposals(state: SessionState, files: Sequence[RenamedFile]) -> list[RenamedFile]:
    """The files among those that have another path now for which a change is proposed and waits for its answer."""
    proposed = set(_proposed(state))
    return [one for one in files if one.path in proposed]


class Following:
    """Has one session follow what is renamed."""

    def __init__(self, services: Services, record: Record, touched: dict[str, int]) -> None:
        """Begin.

        Args:
            services: The house.
            record: The session's log.
            touched: The session's own changes of buffers: URI → how often it had been saved at that time.
        """
        self._services = services
        self._record = record
        self._touched = touched

    async def follow(self, renamed: Renamed) -> None:
        """Record a rename, if the session knows the file, as soon as the log can take it."""
        links = await asyncio.to_thread(renamed.links, known_files(self._record.state))
        self._record.bring(lambda: self._event(renamed, links))

    def _event(self, renamed: Renamed, links: Mapping[str, str]) -> WorkspaceRenamed | None:
        state = self._record.state
        event = event_of(state, renamed, links)
        if event is not None:
            self._move_buffers(renamed)
            for one in stale_proposals(state, event.files):
                path, to = one_line(one.path), one_line(one.to)
                said = f"{path} is now named {to}, so the proposed change no longer applies: answer it, and the agent proposes it again."
                self._services.runtime.editor.say("warning", said)
        return event

    def _move_buffers(self, renamed: Renamed) -> None:
        """What the agent changed in a document and nobody saved is in the document of the new path."""
        for uri in list(self._touched):
            path = path_of(uri)
            if path is not None and (rest := below(str(path), str(renamed.old))) is not None:
                now = Path(f"{renamed.new}{rest}").as_uri()
                document = self._services.workspace.documents.get(now)
                del self._touched[uri]
                self._touched[now] = 0 if document is None else document.saves


class Renames:
    """What the client tells of, one after the other."""

    def __init__(self, services: Services, follow: Callable[[Renamed], Coroutine[Any, Any, None]]) -> None:
        """Begin; `follow` has the sessions follow a rename."""
        self._services = services
        self._follow = follow
        self._latest: asyncio.Task[None] | None = None

    def take_in(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Follow what the client says was renamed, in this order: the old URI and the new one of each."""
        self._latest = asyncio.get_running_loop().create_task(self._take_in(self._latest, pairs))

    async def _take_in(self, before: asyncio.Task[None] | None, pairs: Sequence[tuple[str, str]]) -> None:
        if before is not None:
            await asyncio.wait([before])
        for old, new in pairs:
            try:
                renamed = await renamed_in_workspace(self._services, old, new)
                if renamed is not None:
                    await self._follow(renamed)
            except Exception:
                log.exception("a rename could not be followed")

    async def settled(self) -> None:
        """Wait until what the client told of up to now is followed, for a while."""
        if self._latest is not None:
            await asyncio.wait([self._latest], timeout=SETTLE_SECONDS)

    async def close(self) -> None:
        """Let go of it."""
        if self._latest is not None:
            self._latest.cancel()
            await asyncio.wait([self._latest])
