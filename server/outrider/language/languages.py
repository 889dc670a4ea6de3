"""The language servers of a workspace: which there are, who serves a file, when they start and end.

The one thing of this package that others use. Whatever is asked, an answer or a reason comes within a time limit.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, cast

from outrider.language.answers import SECONDS, Answers, Offer
from outrider.language.connection import Failure, Said
from outrider.language.finding import Program, chosen, languages_of, programs_in, rows_of
from outrider.language.judging import Judge
from outrider.language.lent import UNSERVED, LentServers
from outrider.language.positions import path_of
from outrider.language.problems import RANK
from outrider.language.server import Launch, Server
from outrider.language.table import LANGUAGES, kind_of, language_of
from outrider.ports.clock import Clock
from outrider.ports.editor import Editor, Reported, Severity
from outrider.ports.language import CodeAction, NewFile, ServerStatus, Sources, Touched, Unknown, Verdict
from outrider_protocol.settings import LanguageServerSettings

IDLE_SECONDS: Final = 900.0
"""How long a server may be asked nothing."""
MOST_MEMORY: Final = 4 * 1024**3
"""Bytes that a server and all it started may have."""
JUDGE_SECONDS: Final = 30.0
"""How long the judgement of an edit goes on after nobody waits for it any more."""
_PROBLEMS_SECONDS: Final = 10.0
"""How long the problems are waited for that actions are about."""
_LOOK_SECONDS: Final = 10.0
"""How often servers are looked at."""
_KNOWN_SECONDS: Final = 60.0
"""How long it is believed which servers there are."""
_LENDS_SECONDS: Final = 2.0
"""How long the editor may take to say whether it serves a language."""
_MOST_LENDERS: Final = 10
_UNTRUSTED: Final = "the folder is not trusted; `outrider trust add` there says that it is"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Here:
    """What there is for a folder."""

    programs: Sequence[Program]
    languages: frozenset[str]
    missing: Mapping[str, str]
    """For each language without a server how to get one, also for those that it has no files of."""
    wanted: frozenset[str]
    """The languages that a server may be used for."""
    marked: frozenset[str]
    """The languages that it has files of, and a file that says it is a project of them."""
    at: float


@dataclass(frozen=True, slots=True)
class _Lender:
    """Whether the editor serves a language."""

    serves: bool
    names: tuple[str, ...]
    """Who does it."""
    at: float


@dataclass(slots=True)
class Check:
    """An edit that is being judged, by each server for itself."""

    running: dict[str, asyncio.Task[Verdict | None]]
    is_current: Callable[[Verdict], bool]
    """Whether what a verdict is about is still there."""
    linters: frozenset[str]
    """Those of the servers that look at one file alone."""
    _told: set[str] = field(default_factory=set[str])
    _outdated: set[str] = field(default_factory=set[str])
    """The servers whose verdict was about texts that are gone."""

    async def within(self, seconds: float, clock: Clock) -> Verdict | None:
        """What is known after so many seconds at the latest, of servers that were not told of yet; None where that is nothing."""
        left = [task for name, task in self.running.items() if name not in self._told]
        with suppress(TimeoutError):
            async with clock.timeout(seconds):
                await asyncio.gather(*map(asyncio.shield, left))
        verdicts: list[Verdict] = []
        for name, task in self.running.items():
            if name not in self._told and task.done() and (verdict := task.result()) is not None:
                self._told.add(name)
                if self.is_current(verdict):
                    verdicts.append(verdict)
                else:
                    self._outdated.add(name)
        return _together(verdicts) if verdicts else None

    @property
    def waits_for(self) -> list[str]:
        """The servers that may still come to a verdict."""
        return [name for name, task in self.running.items() if not task.done()]

    @property
    def silent(self) -> list[str]:
        """The servers that came to no verdict, or to one about texts that are gone."""
        ended = {name: task for name, task in self.running.items() if task.done() and not task.cancelled()}
        return [name for name, task in ended.items() if task.result() is None or name in self._outdated]

    @property
    def linted_by(self) -> list[str]:
        """The servers that came to a verdict, where none of them looks at more than one file."""
        judged = self._told - self._outdated
        return sorted(judged) if judged <= self.linters else []

    async def end(self) -> None:
        """Stop judging."""
        for task in self.running.values():
            task.cancel()
        await asyncio.gather(*self.running.values(), return_exceptions=True)


class Languages:
    """The servers of one workspace. Nothing is looked for, and none is started, before somebody asks."""

    def __init__(
        self,
        sources: Sources,
        launch: Launch,
        clock: Clock,
        editor: Editor,
        *,
        settings: Callable[[], Mapping[str, LanguageServerSettings]],
        search_path: str,
        is_confined: Callable[[], bool],
    ) -> None:
        """Get ready.

        Args:
            sources: The texts of the workspace.
            launch: Starts a server.
            clock: Times what waits for servers.
            editor: Has servers of its own.
            settings: What is set about them.
            search_path: The `PATH`.
            is_confined: Whether a sandbox holds the servers.
        """
        self._is_confined = is_confined
        self.sources, self.clock, self.editor = sources, clock, editor
        self._launch, self._settings, self._search_path = launch, settings, search_path
        self._here: dict[Path, _Here] = {}
        self._servers: dict[tuple[object, Path], Server] = {}
        self._judges: dict[Server, Judge] = {}
        self._missed: dict[tuple[Path, str], str] = {}
        """A file for each language of a folder that somebody asked about and that has no server."""
        self._lenders: dict[str, _Lender] = {}
        self._watching: asyncio.Task[None] | None = None
        self._judging: set[asyncio.Task[Verdict | None]] = set()
        self._looking = asyncio.Lock()
        self._looks: set[asyncio.Task[None]] = set()
        self._closed = False

    # --- which there are -------------------------------------------------------------------------------------

    @property
    def _lends(self) -> bool:
        """Whether the editor's own servers can be asked."""
        return self.editor.traits.lends_language

    async def is_there(self) -> bool:
        """Whether anybody can be asked: the editor lends its servers, or one can be started for a language of the workspace."""
        if self._lends:
            return True
        for folder in self.sources.folders:
            here = await self._look(folder)
            if any(chosen(here.programs, language) for language in here.languages):
                return True
        return False

    async def servers_for(self, uri: str) -> list[Server]:
        """The servers of a file, the one that knows the code first. None where nobody trusts its folder."""
        language, folder = language_of(uri), self._folder_of(uri)
        if language is None or folder is None or self._closed:
            return []
        if folder not in self.sources.folders:
            self._missed.setdefault((folder, language), uri)
            return []
        programs = self._chosen(await self._look(folder), folder, language)
        if not any(one.row.role == "types" for one in programs):
            self._missed.setdefault((folder, language), uri)
        return [self._server(one, folder) for one in programs]

    def _folder_of(self, uri: str) -> Path | None:
        """The workspace folder of a file, trusted or not."""
        path = path_of(uri)
        having = [one for one in self._all_folders if path is not None and path.is_relative_to(one)]
        return max(having, key=lambda one: len(one.parts), default=None)

    @property
    def _all_folders(self) -> Sequence[Path]:
        return [*self.sources.folders, *self.sources.untrusted]

    def _chosen(self, here: _Here, folder: Path, language: str) -> list[Program]:
        """The servers of a language. Where one has failed for good, the next best takes its place."""
        failed = [
            key for (key, at), server in self._servers.items() if at == folder and server.state == "failed"
        ]
        return chosen(here.programs, language, failed)

    async def answers_for(self, uri: str, method: str) -> Answers | Unknown:
        """Whom to ask about a file: the editor's servers where it lends them, and else one of ours; a reason where there is nobody.

        Args:
            uri: The file.
            method: What is to be asked.
        """
        if self._lends:
            return Answers(self._lent(), self.sources, partial(self._own, uri))
        server = await self._own(uri, method)
        return server if isinstance(server, Unknown) else Answers(server, self.sources)

    async def _own(self, uri: str, method: str) -> Server | Unknown:
        """A server of ours that can do something for a file."""
        why, names = "", list[str]()
        tried = set[Server]()
        # Where one has failed for good, there is another one the next time.
        while servers := [one for one in await self.servers_for(uri) if one not in tried]:
            for server in servers:
                tried.add(server)
                names.append(server.row.name)
                if problem := await server.ready():
                    why = why or problem
                elif server.can(method):
                    return server
        if not tried:
            return Unknown(await self.why_nobody(uri), nobody=True)
        return Unknown(why or f"no language server of this file can do that ({', '.join(names)})")

    def _lent(self) -> LentServers:
        return LentServers(self.editor, self.sources, self._served)

    def _served(self, uri: str, by: Sequence[str] | None) -> None:
        """Note whether the editor serves the language of a file, and who does it."""
        kind = kind_of(uri)
        before = self._lenders[kind].names if by is not None and kind in self._lenders else ()
        names = tuple(dict.fromkeys([*(by or ()), *before]))[:_MOST_LENDERS]
        self._lenders[kind] = _Lender(by is not None, names, self.clock.monotonic())

    async def lends(self, uri: str) -> bool:
        """Whether the editor serves the language of a file, as far as it is known or can be asked now."""
        if not self._lends:
            return False
        known = self._lenders.get(kind_of(uri))
        if known is None or self.clock.monotonic() - known.at > _KNOWN_SECONDS:
            return not isinstance(await self._lent().problems(uri, _LENDS_SECONDS), Failure)
        return known.serves

    async def status(self) -> list[ServerStatus]:
        """Every server that runs, could be started or is missing, for each folder."""
        lent = await self._lent_status()
        found: list[ServerStatus | Server] = [*lent]
        for folder in self.sources.folders:
            here = await self._look(folder)
            for language in sorted(here.languages):
                found += [self._server(one, folder) for one in self._chosen(here, folder, language)]
                if language in here.missing and all(language != one.name for one in lent):
                    missing = here.missing[language]
                    found.append(ServerStatus(language, str(folder), "missing", detail=missing))
            found += [
                one for (_, at), one in self._servers.items() if at == folder and one.state != "available"
            ]
        await asyncio.gather(*(server.measure() for server in self._servers.values() if server.is_up))
        return [one if isinstance(one, ServerStatus) else one.status() for one in dict.fromkeys(found)]

    async def _lent_status(self) -> list[ServerStatus]:
        """The languages that the editor serves: what was seen, and what it says of those that are open."""
        if not self._lends:
            return []
        one_of_each = {kind_of(one.uri): one.uri for one in self.sources.open()}
        await asyncio.gather(*map(self.lends, list(one_of_each.values())[:_MOST_LENDERS]))
        return [
            ServerStatus(language, "", "lent", detail=", ".join(one.names))
            for language, one in sorted(self._lenders.items())
            if one.serves
        ]

    async def _look(self, folder: Path) -> _Here:
        known, now = self._here.get(folder), self.clock.monotonic()
        if known is not None and now - known.at < _KNOWN_SECONDS:
            return known
        settings = dict(self._settings())
        rows = rows_of(settings)
        endings = (await self.sources.extensions()).get(folder, frozenset())

        def look() -> _Here:
            programs = programs_in(folder, rows, settings, self._search_path)
            languages = languages_of(folder, endings, rows)
            types = [row for row in rows if row.enabled and row.role == "types"]
            wanted = frozenset(language for row in types for language in row.languages)
            missing = {
                language: ", ".join(f"{row.name} ({row.get})" for row in types if language in row.languages)
                for language in wanted
                if not any(one.row.role == "types" for one in chosen(programs, language))
            }
            has_files = {LANGUAGES[ending] for ending in endings if ending in LANGUAGES}
            marked = {
                language
                for row in types
                if any((folder / marker).exists() for marker in row.markers)
                for language in has_files.intersection(row.languages)
            }
            return _Here(programs, frozenset(languages), missing, wanted, frozenset(marked), now)

        self._here[folder] = here = await asyncio.to_thread(look)
        return here

    async def lacking(self) -> list[str]:
        """What the user should know once of languages without a server; after a colon what to do.

        A language counts where it has a project with files, and where somebody asked; not where the editor serves it.
        """
        said = [
            f"there is no language server for {language}: install one of {here.missing[language]}"
            for folder, here, language in await self._unserved()
            if folder not in self.sources.untrusted and language in here.missing
        ]
        return list(dict.fromkeys(said))

    async def undecided(self) -> list[str]:
        """The same of folders in which servers would run if somebody had said that they are trusted."""
        said = [
            f"no language server runs in {folder}: {_UNTRUSTED}"
            for folder, _, _ in await self._unserved()
            if folder in self.sources.untrusted
        ]
        return list(dict.fromkeys(said))

    async def _unserved(self) -> list[tuple[Path, _Here, str]]:
        """The languages that count and that the editor does not serve, with their folders."""
        found: list[tuple[Path, _Here, str]] = []
        for folder in self._all_folders:
            if self.sources.untrusted.get(folder) == "refused":
                continue
            here = await self._look(folder)
            for language in sorted(here.wanted):
                asked = self._missed.get((folder, language))
                if asked is None and (self._lends or language not in here.marked):
                    continue
                if asked is not None and await self.lends(asked):
                    continue
                found.append((folder, here, language))
        return found

    async def withheld(self) -> list[str]:
        """The folders with code in which no server runs, since they are not trusted; after a colon what to do."""
        return [
            f"no language server runs in {folder}: {_UNTRUSTED}"
            for folder in self.sources.untrusted
            if (here := await self._look(folder)).languages & here.wanted
        ]

    async def why_nobody(self, uri: str) -> str:
        """Why no server of ours serves a file, and how to get one.

        Args:
            uri: The file.
        """
        language, folder = language_of(uri), self._folder_of(uri)
        if language is None:
            return "no language server is known for files of this kind"
        if folder is None:
            return "language servers run in workspace folders only"
        if folder in self.sources.untrusted:
            return f"no language server runs here: {_UNTRUSTED}"
        how = (await self._look(folder)).missing.get(language)
        return f"no language server for {language} was found" + (f"; install one of {how}" if how else "")

    def _server(self, program: Program, folder: Path) -> Server:
        key = (program.key, folder)
        if key not in self._servers:
            server = Server(program, folder, self.sources, self._launch, self.clock, self._look_at_disk)
            self._servers[key] = server
            self._judges[server] = Judge(server)
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), name="watch the language servers")
        return self._servers[key]

    # --- problems and verdicts -------------------------------------------------------------------------------

    async def shown(self, uri: str | None) -> list[Reported] | Unknown:
        """What the editor reports of a file, or of all.

        Args:
            uri: The file.
        """
        said = await self._lent().problems(uri, SECONDS)
        return Unknown(said.message, said.code == UNSERVED) if isinstance(said, Failure) else said

    async def problems(
        self, uris: Sequence[str], seconds: float, *, start: Literal["all", "unlent"] = "all"
    ) -> tuple[list[Reported], list[str]]:
        """The problems of files as they are now, by servers of ours, and for each without a verdict on all of them in time why.

        Args:
            uris: The files.
            seconds: How long it may take.
            start: Which servers are started: all, or only those of files that the editor does not serve.
        """
        by_server: dict[Server, list[str]] = {}
        for uri in uris:
            servers = await self.servers_for(uri)
            if start == "unlent" and not all(one.is_up for one in servers) and await self.lends(uri):
                servers = [one for one in servers if one.is_up]
            for server in servers:
                by_server.setdefault(server, []).append(uri)
        found: list[Reported] = []
        late: list[str] = []
        said = await asyncio.gather(
            *(self._problems(server, own, seconds) for server, own in by_server.items())
        )
        for server, problems in zip(by_server, said, strict=True):
            if len(problems) < len(by_server[server]):
                is_down = server.state in {"ended", "failed"}
                late.append(f"{server.row.name} ({server.last_error})" if is_down else server.row.name)
            found += [one for items in problems.values() for one in items]
        return found, late

    async def _problems(self, server: Server, uris: list[str], seconds: float) -> dict[str, list[Reported]]:
        end = self.clock.monotonic() + seconds
        try:
            async with self.clock.timeout(seconds):
                if await server.ready():
                    return {}
                async with server.its_turn():
                    await server.show_workspace(uris)
                    return await server.problems(uris, end - self.clock.monotonic())
        except TimeoutError:
            return {}

    async def judge(
        self, touched: Sequence[Touched], *, is_trial: bool, least: Severity = "error"
    ) -> Check | None:
        """Begin to judge an edit; None where no server serves a file of it.

        Args:
            touched: The files that it changes.
            is_trial: Whether it is not made yet.
            least: The least severity that counts.
        """
        servers = list(
            dict.fromkeys([server for one in touched for server in await self.servers_for(one.uri)])
        )
        servers = [one for one in servers if one.row.way != "disk" and one.state != "failed"]
        if not servers:
            return None

        async def judged(server: Server) -> Verdict | None:
            if await server.ready():
                return None
            return await self._judges[server].judge(touched, JUDGE_SECONDS, is_trial=is_trial, least=least)

        running: dict[str, asyncio.Task[Verdict | None]] = {}
        for server in servers:
            task = asyncio.create_task(_safe(judged(server)), name=f"judge an edit with {server.row.name}")
            running[server.row.name] = task
            self._judging.add(task)
            task.add_done_callback(self._judging.discard)
        linters = frozenset(one.row.name for one in servers if one.row.role != "types")
        return Check(running, self.is_current, linters)

    def is_current(self, verdict: Verdict) -> bool:
        """Whether the open documents still have the texts that a verdict is about."""
        return all(verdict.about.get(one.uri, one.text) == one.text for one in self.sources.open())

    async def offered(
        self, uri: str, lines: tuple[int, int], only: str | None
    ) -> list[tuple[Offer, CodeAction, Any]] | Unknown:
        """What the servers of a file offer to do at some lines, each with who offers it and what that says of it.

        Args:
            uri: The file.
            lines: The first and the last line, from 0.
            only: The only kind that is wanted, such as `quickfix`.
        """
        if self._lends:
            lent = self._lent()
            problems = await lent.raw(uri)
            said = await Answers(lent, self.sources).actions(uri, lines, problems, only)
            if not isinstance(said, Unknown):
                # What is only a command would do something that nobody has looked at.
                return [one for one in said if one[2].get("edit") or not one[2].get("command")]
            if not said.nobody:
                return said
        await self.problems([uri], _PROBLEMS_SECONDS)
        found: list[tuple[Offer, CodeAction, Any]] | None = None
        why = Unknown("no language server serves it")
        for server in await self.servers_for(uri):
            if (problem := await server.ready()) is not None:
                why = Unknown(problem)
                continue
            said = await Answers(server, self.sources).actions(uri, lines, server.raw(uri), only)
            if isinstance(said, Unknown):
                why = said
            else:
                found = [*(found or []), *said]
        return why if found is None else found

    async def resolved(self, offer: Offer, action: Any) -> list[NewFile] | Unknown:
        """The texts that an action leads to.

        One that has no edit runs a command of a server of ours, which then asks to apply one: only where a sandbox keeps it from
        doing more. The editor is never asked to run one.
        """
        asked, given, saids = offer.asked, cast("dict[str, Any]", action), [offer.said]
        if given.get("edit") is None and (not isinstance(asked, Server) or _resolves(asked)):
            said = await asked.ask("codeAction/resolve", action, SECONDS)
            if isinstance(said, Failure):
                if not isinstance(asked, Server):
                    return Unknown(said.message)
            else:
                result: Any = said.result
                given = cast("dict[str, Any]", result) if isinstance(result, dict) else given
                saids = [said, offer.said]
        if given.get("edit") is not None:
            return await Answers(asked, self.sources).edited(given["edit"], *saids)
        if not isinstance(asked, Server):
            return Unknown("the editor says nothing about what it changes")
        return await self._done(asked, given, saids)

    async def _done(
        self, server: Server, given: Mapping[str, Any], saids: Sequence[Said]
    ) -> list[NewFile] | Unknown:
        """What the command of an action changes."""
        command = given.get("command")
        command = given if isinstance(command, str) else command
        if not isinstance(command, dict):
            return Unknown("the language server says nothing about what it changes")
        if not self._is_confined():
            return Unknown(
                "it runs a command of the language server, and no sandbox keeps that from changing files"
            )
        said = await server.edits_of(cast("dict[str, Any]", command), SECONDS)
        if isinstance(said, Unknown):
            return said
        return await Answers(server, self.sources).edited(said.result, said, *saids)

    def changed_on_disk(self, paths: Mapping[str, int]) -> None:
        """Take note of files that were made, changed or deleted (LSP 3.17, "FileChangeType"): those of which somebody here knows."""
        self._changed({Path(path).as_uri(): kind for path, kind in paths.items()})

    def _changed(self, changes: Mapping[str, int]) -> None:
        for server in self._servers.values():
            server.files_changed(changes)

    async def _look_at_disk(self, uris: Collection[str]) -> None:
        """Find the files that anybody changed on disk, and tell every server.

        Args:
            uris: Files that are looked at themselves.
        """

        async def look() -> None:
            async with self._looking:
                if changes := await self.sources.changes(uris):
                    self._changed(changes)

        # Who stops waiting must not take along what is found.
        task = asyncio.create_task(look(), name="look what changed on disk")
        self._looks.add(task)
        task.add_done_callback(self._looks.discard)
        await asyncio.shield(task)

    # --- life ------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End all servers."""
        self._closed = True
        judging = [*self._judging]
        for task in [*judging, *([self._watching] if self._watching is not None else [])]:
            task.cancel()
        await asyncio.gather(*judging, *self._looks, return_exceptions=True)
        if self._watching is not None:
            await asyncio.wait({self._watching})
        await self.rest()

    async def rest(self) -> None:
        """End all servers, as nobody works any more. They start again when somebody asks."""
        await asyncio.gather(*(server.close() for server in self._servers.values()))

    async def restart(self, name: str) -> bool:
        """Restart the servers with this name at their next request. False if there is none.

        Args:
            name: The name, as `status` has it.
        """
        await self.status()
        named = [server for server in self._servers.values() if server.row.name == name]
        await asyncio.gather(*(server.restart() for server in named))
        return bool(named)

    async def _watch(self) -> None:
        while True:
            await self.clock.sleep(_LOOK_SECONDS)
            for server in list(self._servers.values()):
                if not server.is_up:
                    continue
                memory = await server.measure()
                if memory is not None and memory > MOST_MEMORY:
                    await server.close(f"it was ended because it used {memory >> 20} MB of memory")
                elif server.folder not in self.sources.folders:
                    await server.close("its folder is not trusted any more")
                elif self.clock.monotonic() - server.used_at > IDLE_SECONDS and not server.turn.locked():
                    await server.close()


def _resolves(server: Server) -> bool:
    provider = server.provider("textDocument/codeAction")
    return isinstance(provider, dict) and bool(cast("dict[str, Any]", provider).get("resolveProvider"))


async def _safe(work: Awaitable[Verdict | None]) -> Verdict | None:
    """What comes of a judgement; nothing where it fails, since no edit depends on it."""
    try:
        return await work
    except Exception:
        log.exception("an edit could not be judged")
        return None


def _together(verdicts: Sequence[Verdict]) -> Verdict:
    """What several servers say."""
    about: dict[str, str] = {}
    for one in verdicts:
        about.update(one.about)

    def order(one: Reported) -> tuple[int, str, int]:
        return RANK[one.severity], one.uri, one.start.line

    introduced = sorted((one for verdict in verdicts for one in verdict.introduced), key=order)
    return Verdict(
        introduced,
        sorted((one for verdict in verdicts for one in verdict.fixed), key=order),
        about,
        max(one.unjudged for one in verdicts),
        max(one.unfollowed for one in verdicts),
    )
