"""The server's side of the map: starts the child, tells it of files and open texts, and asks it. Reads no file itself.

What goes wrong with the child is said once, and from then on there is no map: nothing else depends on it.
"""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from outrider.ports.clock import Clock
from outrider.ports.maps import Focus
from outrider.processes import Supervisor, can_run_commands
from outrider.workspace.child import Child, ChildLostError
from outrider.workspace.documents.documents import DocumentStore
from outrider.workspace.paths import Folders, path_of
from outrider.workspace.repository_map.graph import Ranked
from outrider.workspace.repository_map.kept import KEPT_BYTES, Kept
from outrider.workspace.repository_map.tags import Definition, tongue_of
from outrider.workspace.search import Search, SearchProblem

MOST_FILES: Final = 20_000
"""Files that are looked at; of more, those that lie least deep."""
LONGEST_TEXT: Final = 256 * 1024
"""Characters of an open text that is told of."""
ANSWER_SECONDS: Final = 300.0
"""How long the child may take for one request; the first one of a big workspace on a slow disk takes longest."""
KEPT_SECONDS: Final = 0.5
"""How long the first request may wait for what is kept of an earlier map."""
SOON_SECONDS: Final = 2.0
"""After which a server counts as one that stays."""

_PROGRAM: Final = "outrider.workspace.repository_map.child"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rooms:
    """What the map is drawn of, as it is now: all of it changes with the workspace folders."""

    folders: Folders
    search: Search
    documents: DocumentStore
    """The open documents."""


class RepositoryMap:
    """Draws maps of one workspace; see `outrider.ports.maps.Maps`."""

    def __init__(
        self,
        rooms: Callable[[], Rooms],
        supervisor: Supervisor,
        clock: Clock,
        cache_dir: Path | None,
        env: Mapping[str, str],
        *,
        leaves_out: Callable[[str], bool],
        before_listing: Callable[[], Awaitable[None]],
        tell: Callable[[str], None],
    ) -> None:
        """Draw maps; nothing is started before one is wanted.

        Args:
            rooms: Which files there are, and which are open.
            supervisor: Starts the child.
            clock: Times what waits for it.
            cache_dir: Where it keeps what it read; None: nowhere.
            env: The environment, of which it gets what the interpreter needs to start.
            leaves_out: Which paths it is never told of.
            before_listing: Brings `leaves_out` up to date.
            tell: Tells the user what went wrong.
        """
        self._rooms = rooms
        self._supervisor = supervisor
        self._clock = clock
        self._cache_dir = cache_dir
        self._env = env
        self._leaves_out = leaves_out
        self._before_listing = before_listing
        self._tell = tell
        self._child: Child | None = None
        self._roots: tuple[Path, ...] | None = None
        """The folders whose files the child knows."""
        self._listed: dict[str, str] = {}
        self._told: dict[str, int] = {}
        """The versions of the open texts that the child knows."""
        self._is_lost = not can_run_commands()
        self._asking = asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None
        self._soon: asyncio.TimerHandle | None = None

    async def draw(self, focus: Focus, size: int, fewest: int = 0) -> list[str] | None:
        """See `Maps.draw`. Files that appeared since the latest look are not in it yet."""
        at_hand = dict.fromkeys([*focus.open, *focus.read, *focus.edited])
        if self._roots != self._roots_now():
            self.look_again()
            if self._looking is not None:
                # It goes on for the next one, also when nobody waits for this map any more.
                await asyncio.wait([self._looking])
        async with self._asking:
            if self._is_lost or self._roots != self._roots_now():
                return None
            try:
                await self._tell_texts()
                if len(self._listed) < fewest:
                    return None
                listed = {path: self._listed[path] for path in at_hand if path in self._listed}
                if listed:
                    await self._ask("update", files=listed)
                answer = await self._ask("map", focus=asdict(focus), size=size)
            except ChildLostError as problem:
                await self._lose(str(problem))
                return None
        return answer["blocks"]

    async def kept(self, focus: Focus, size: int, fewest: int = 0) -> list[str] | None:
        """See `Maps.kept`. Nothing is started for it, and it is waited for a moment at most."""
        kept = self._kept()
        if kept is None or self._is_lost:
            return None
        try:
            async with self._clock.timeout(KEPT_SECONDS):
                await self._before_listing()
                return await asyncio.to_thread(kept.load, focus, size, fewest, self._leaves_out)
        except TimeoutError:
            return None

    def _kept(self) -> Kept | None:
        roots = self._roots_now()
        return Kept(self._cache_file(roots, "json")) if self._cache_dir is not None and roots else None

    def _cache_file(self, roots: Sequence[Path], end: str) -> Path:
        name = hashlib.sha256("\0".join(map(str, roots)).encode("utf-8", "surrogateescape"))
        return (self._cache_dir or Path()) / "maps" / f"{name.hexdigest()[:32]}.{end}"

    def look_again(self) -> None:
        """See `Maps.look_again`. Starts the child, if it does not run."""
        if not self._is_lost and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look(), name="look at the files for the map")

    def begin_soon(self) -> None:
        """Have the first map be ready before it is wanted, but leave what asks only for a moment alone."""
        self._soon = asyncio.get_running_loop().call_later(SOON_SECONDS, self.look_again)

    async def close(self) -> None:
        """Let go of the child."""
        self._is_lost = True
        if self._soon is not None:
            self._soon.cancel()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])
        await self._let_go()

    async def _look(self) -> None:
        """Have the child know the files of the workspace as they are."""
        roots = self._roots_now()
        async with self._asking:
            try:
                if self._child is None or self._roots != roots:
                    await self._let_go()
                    if not roots:
                        return
                    self._child = await Child.start(self._supervisor, self._clock, _PROGRAM, self._env)
                    if self._cache_dir is not None:
                        await self._ask("open", cache=str(self._cache_file(roots, "sqlite")))
                await self._list()
                self._roots = roots
                if (kept := self._kept()) is not None and self._listed:
                    answer = await self._ask("map", focus=asdict(Focus()), size=KEPT_BYTES)
                    await asyncio.to_thread(kept.save, answer["blocks"], self._listed, len(self._listed))
            except ChildLostError as problem:
                await self._lose(str(problem))

    def _roots_now(self) -> tuple[Path, ...]:
        return tuple(folder.path for folder in self._rooms().folders.folders)

    async def _list(self) -> None:
        """Tell the child which files there are; it reads those that it does not know."""
        rooms = self._rooms()
        await self._before_listing()
        found = await rooms.search.files(installed=False)
        if isinstance(found, SearchProblem):
            _log.info("The repository map has no files: %s", found.message)
            return
        self._listed = await asyncio.to_thread(self._shown, found.paths, rooms.folders)
        await self._ask("refresh", files=self._listed)

    def _shown(self, paths: Sequence[str], folders: Folders) -> dict[str, str]:
        """The files that the child is told of, by the paths that are shown."""
        wanted = [path for path in paths if tongue_of(path) is not None and not self._leaves_out(path)]
        if len(wanted) > MOST_FILES:
            wanted = sorted(wanted, key=lambda path: (path.count("/"), path))[:MOST_FILES]
        tops = sorted(
            (
                (f"{folder.path}/".replace("//", "/"), f"{folder.name}/" if len(folders.folders) > 1 else "")
                for folder in folders.folders
            ),
            key=lambda top: -len(top[0]),
        )
        return {
            next(name + path[len(top) :] for top, name in tops if path.startswith(top)): path
            for path in wanted
            if any(path.startswith(top) for top, _ in tops)
        }

    async def _tell_texts(self) -> None:
        """Tell the child of what is open and changed since. Texts of files that are not listed are none of its business."""
        rooms = self._rooms()
        texts: dict[str, str | None] = {}
        versions: dict[str, int] = {}
        for document in rooms.documents.all():
            path = path_of(document.uri)
            shown = rooms.folders.display_of(document.uri) if path is not None else ""
            if shown not in self._listed or document.outdated or len(document.text) > LONGEST_TEXT:
                continue
            versions[shown] = document.version
            if self._told.get(shown) != document.version:
                texts[shown] = document.text
        for shown in self._told.keys() - versions.keys():
            texts[shown] = None
        if texts:
            await self._ask("texts", texts=texts)
        self._told = versions

    async def _ask(self, do: str, **values: Any) -> dict[str, Any]:
        """Have the child do something, and wait for its answer.

        Raises:
            ChildLostError: There is none.
        """
        if self._child is None:
            raise ChildLostError("it does not run")
        return await self._child.ask(do, ANSWER_SECONDS, **values)

    async def _lose(self, why: str) -> None:
        """Do without, from here on."""
        if self._is_lost:
            return
        self._is_lost = True
        await self._let_go()
        self._tell(f"The repository map is no longer available ({why}); everything else continues to work.")

    async def _let_go(self) -> None:
        child, self._child = self._child, None
        self._roots, self._listed, self._told = None, {}, {}
        if child is not None:
            await child.end()


_SHORT_KINDS: Final[Mapping[str, str]] = {"method": "", "property": ""}
"""Kinds that go without saying, inside of what holds them."""


def blocks_of(
    ranked: Sequence[Ranked], definitions: Mapping[str, Sequence[Definition]], size: int
) -> list[str]:
    """The map, in one block of lines for each file; the file with the most important name comes first.

    Args:
        ranked: Definitions, the most important first.
        definitions: All definitions of each file, by path.
        size: The most bytes of all blocks together.
    """
    # Each definition makes the text longer, so the most that fit are found by halving.
    fits, too_many = 0, len(ranked) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if _size(_rendered(ranked[:middle], definitions)) <= size:
            fits = middle
        else:
            too_many = middle
    return _rendered(ranked[:fits], definitions)


def visible(text: str) -> str:
    """A name with everything in it that does not print, or that could pass for the end of a line, spelled out."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text
    )


def _size(blocks: Sequence[str]) -> int:
    return sum(len(block.encode("utf-8", "replace")) + 1 for block in blocks)


def _rendered(ranked: Sequence[Ranked], definitions: Mapping[str, Sequence[Definition]]) -> list[str]:
    wanted: dict[str, set[int]] = {}
    for one in ranked:
        numbers = wanted.setdefault(one.path, set())
        at: int | None = one.number
        while at is not None:  # what holds it is its heading
            numbers.add(at)
            at = definitions[one.path][at].within
    return [_block(path, definitions[path], numbers) for path, numbers in wanted.items()]


def _block(path: str, definitions: Sequence[Definition], numbers: set[int]) -> str:
    lines = [visible(path)]
    held: dict[int, list[int]] = {}
    for number in sorted(numbers):
        top = _top(definitions, number)
        held.setdefault(top, []).extend([number] if number != top else [])
    for top, inner in held.items():
        one = definitions[top]
        members = ", ".join(_member(definitions[number]) for number in inner)
        shown = visible(one.name + one.signature)
        lines.append(f"  {one.kind} {shown} {one.line}{': ' if members else ''}{members}")
    return "\n".join(lines)


def _top(definitions: Sequence[Definition], number: int) -> int:
    while (within := definitions[number].within) is not None:
        number = within
    return number


def _member(one: Definition) -> str:
    kind = _SHORT_KINDS.get(one.kind, f"{one.kind} ")
    return f"{kind}{visible(one.name + one.signature)} {one.line}"
