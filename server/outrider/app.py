"""Composition: reads settings, files and environment once, and builds the house. The only place that reads them."""

import asyncio
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import platformdirs

from outrider import __version__
from outrider.agent import papers
from outrider.agent.prompt import Briefing
from outrider.agent.recording import Recordings
from outrider.agent.renames import Renames
from outrider.agent.services import Services
from outrider.agent.sessions import Sessions
from outrider.agent.state import SessionState
from outrider.agent.task_document.keeper import TaskDocument
from outrider.agent.trust import Situation, WorkspaceTrust
from outrider.models.catalog import Catalog, ModelProblem
from outrider.models.proxies import proxy_for
from outrider.models.routing.choose import named
from outrider.models.routing.latency import Pace
from outrider.models.routing.profile import Profile
from outrider.models.routing.refusals import FILE as REFUSALS
from outrider.models.routing.refusals import Refusals
from outrider.models.survey import LOCAL_SERVERS, Offer, Surveyed, offers
from outrider.permissions.decide import narrowest
from outrider.permissions.guarded import Guarded
from outrider.permissions.ledger import LEDGER, Ledger
from outrider.permissions.secret_files import is_secret_file
from outrider.permissions.trust import TRUST, TrustFile
from outrider.ports.clock import Clock, SteppingClock, SystemClock
from outrider.ports.editor import Editor
from outrider.ports.events import FrameListener
from outrider.ports.ids import Ids, RandomIds, SequentialIds
from outrider.ports.outside import ClientStart, Outside
from outrider.ports.secrets import EnvironmentSecrets
from outrider.processes import Supervisor, can_run_commands
from outrider.processes.sandbox import Sandbox
from outrider.settings import Layered, from_layers, narrowed, read_user_file
from outrider.store.log import Store
from outrider.store.machine_key import machine_key
from outrider.store.problem import StoreProblem, StoreReadError
from outrider.store.retention import Retention
from outrider.store.schema import FILE_NAME
from outrider.tools.all import own_tools
from outrider.tools.client import handed_tools
from outrider.tools.git.history import GitHistory
from outrider.workspace.census import Census
from outrider.workspace.choosing import Choosing
from outrider.workspace.documents import DocumentStore
from outrider.workspace.editing import Editing
from outrider.workspace.held import HeldFiles, Publisher
from outrider.workspace.overlay import Overlay
from outrider.workspace.paths import Folders, folders_of
from outrider.workspace.repository_map.repository_map import RepositoryMap, Rooms
from outrider.workspace.search import Search, find_ripgrep
from outrider.workspace.sightings import Sightings
from outrider_protocol.events import Open
from outrider_protocol.settings import PermissionMode, Settings, Tiers

_SESSIONS_MEASURED = 10
"""Of how many sessions, the latest, the speed of models is looked up."""


def surroundings() -> Outside:
    """What this process finds around itself."""
    return Outside(
        env=dict(os.environ),
        state_dir=platformdirs.user_state_path("outrider"),
        user_settings=platformdirs.user_config_path("outrider") / "settings.toml",
        cache_dir=platformdirs.user_cache_path("outrider"),
        host=platform.node(),
    )


@dataclass(slots=True)
class App:
    """The house, standing."""

    services: Services
    sessions: Sessions
    renames: Renames
    outside: Outside
    base: Settings
    """The settings without what the workspace says."""
    said: Settings
    """The settings, without what trust in the workspace does to them."""
    mode_is_said: bool
    """Whether the client or the command line named the permission mode."""
    current: Settings
    """The settings that hold now."""
    held: HeldFiles
    """What other processes hold open unsaved."""
    publisher: Publisher
    maps: RepositoryMap
    retention: Retention | None
    recordings: Recordings
    task_document: TaskDocument
    messages: tuple[str, ...] = ()
    """What has to be said about the settings."""

    def configure(self, values: Mapping[str, Any] | None) -> tuple[str, ...]:
        """Take over what `workspace/configuration` says; gives what has to be said about it."""
        layered = narrowed(self.base, values or {}, is_refused=self.services.trust.is_refused)
        self.said = layered.settings
        self.go_by_trust()
        return layered.messages

    def go_by_trust(self) -> None:
        """Take over what trust in the workspace does to the settings."""
        before, widest = self.current, self.services.trust.widest(self.said.permission_mode)
        self.current = self.said.model_copy(update={"permission_mode": widest})
        for session in self.sessions.running:
            session.settings_changed(before.permission_mode, widest)
        self.services.choosing.look_again()

    async def model_problem(self) -> str | None:
        """Why the model that is set cannot be had, None if it can."""
        if self.current.tiers != Tiers():
            settings = self.current
            model = await self.services.catalog.open_tiers(settings.tiers, settings.model, settings.routing)
        else:
            model = await self.services.catalog.open(self.current.model)
        if isinstance(model, ModelProblem):
            return model.message
        await model.close()
        return None

    def set_folders(self, folders: tuple[tuple[str, str], ...]) -> None:
        """Take over other workspace folders."""
        services = self.services
        services.folders = folders_of(folders)
        (
            services.overlay,
            services.editing,
            services.search,
            services.sightings,
            services.census,
        ) = _views(
            services.folders,
            services.documents,
            services.editor,
            services.supervisor,
            services.deadlines,
            self.outside,
            self.held,
            services.guarded,
            _state_dir(self.base, self.outside),
        )
        services.briefing = Briefing(services.folders, services.overlay, services.documents, services.guarded)
        paths = [folder.path for folder in services.folders.folders]
        services.ledger.set_folders(paths)
        services.guarded.set_folders(paths)
        self.go_by_trust()

    async def close(self, reason: str) -> None:
        """Let go of everything: turns, processes, connections, and the log last."""
        await self.renames.close()
        await self.sessions.close(reason)
        await self.task_document.close()
        await self.recordings.close()
        await self.services.trust.close()
        await self.publisher.close()
        await self.maps.close()
        if self.retention is not None:
            await self.retention.close()
        await self.services.ledger.write_hits()
        await self.services.sandbox.close()
        await self.services.supervisor.close()
        await self.services.catalog.close()
        await self.services.store.close()


async def start(
    client: ClientStart,
    editor: Editor,
    documents: DocumentStore,
    outside: Outside | None,
    on_frame: FrameListener,
) -> App | StoreProblem:
    """Build the house.

    Args:
        client: What the client said in `initialize`.
        editor: The editor at the other end.
        documents: The open documents, already kept in step by the LSP room.
        outside: The surroundings; None reads those of this process.
        on_frame: Where live text goes.
    """
    around = outside or await asyncio.to_thread(surroundings)
    layered = await _settings(client, around)
    settings, mode_is_said = layered.settings, _names_a_mode(client, around)
    if client.widest is not None:
        widest = cast("PermissionMode", client.widest)
        settings = settings.model_copy(
            update={"permission_mode": narrowest(settings.permission_mode, widest)}
        )
    clock, ids = _time_and_names(settings, around)
    store = await Store.open(_state_dir(settings, around))
    if isinstance(store, StoreProblem):
        return store
    if settings.testing is not None:
        await _go_on_counting(store, clock, ids)
    folders = folders_of(client.folders)
    deadlines = around.clock or SystemClock()
    supervisor = Supervisor(deadlines)
    held = HeldFiles(_state_dir(settings, around) / "held")
    guarded = Guarded([folder.path for folder in folders.folders])
    overlay, editing, search, sightings, census = _views(
        folders, documents, editor, supervisor, deadlines, around, held, guarded, _state_dir(settings, around)
    )
    root = folders.folders[0].path if folders.folders else None
    catalog = await _catalog(settings, around, root, clock, ids)
    maps = RepositoryMap(
        lambda: Rooms(app.services.folders, app.services.search),
        documents,
        supervisor,
        deadlines,
        around.cache_dir,
        around.env,
        leaves_out=_left_out(_state_dir(settings, around), guarded),
        before_listing=guarded.refresh,
        tell=lambda text: editor.say("warning", f"Outrider: {text}"),
    )
    tools = own_tools(
        with_commands=can_run_commands(), with_diagnostics=editor.traits.tells_diagnostics
    ).with_others(handed_tools(settings.tools))
    ledger = Ledger(
        around.user_settings.with_name(LEDGER),
        [folder.path for folder in folders.folders],
        deadlines,
        lambda text: editor.say("warning", f"Outrider: {text}"),
        own_tools().names | tools.names,
    )

    def changed_trust() -> None:
        app.go_by_trust()

    trust = WorkspaceTrust(
        TrustFile(
            around.user_settings.with_name(TRUST),
            deadlines,
            lambda text: editor.say("warning", f"Outrider: {text}"),
        ),
        editor,
        lambda: Situation(services.folders, app.said, app.mode_is_said),
        changed_trust,
    )
    services = Services(
        clock=clock,
        deadlines=deadlines,
        ids=ids,
        store=store,
        editor=editor,
        documents=documents,
        folders=folders,
        overlay=overlay,
        editing=editing,
        choosing=Choosing(documents, editor, deadlines),
        search=search,
        sightings=sightings,
        census=census,
        briefing=Briefing(folders, overlay, documents, guarded),
        maps=maps,
        supervisor=supervisor,
        git_history=GitHistory(supervisor, deadlines),
        sandbox=Sandbox(supervisor, deadlines, [_state_dir(settings, around), around.user_settings.parent]),
        ledger=ledger,
        guarded=guarded,
        trust=trust,
        catalog=catalog,
        tools=tools,
        env=around.env,
        host=around.host,
        machine_key=await asyncio.to_thread(machine_key, _state_dir(settings, around)),
        settings=lambda: app.current,
        on_frame=on_frame,
        version=__version__,
    )

    if settings.draws_maps:
        maps.begin_soon()

    async def show(item: Open) -> str | None:
        if item.kind == "approval":
            edit = await app.sessions.under_review(item.id)
            path = await papers.review_paper(app.services.folders, item, edit)
        else:
            path = await papers.answer_paper(app.services.folders, item)
        if isinstance(path, str):
            editor.say("warning", f"Outrider: {path}")
            return None
        uri = path.as_uri()
        return uri if await editor.show(uri, take_focus=True) else None

    async def unsaved() -> tuple[str, ...]:
        return await app.services.overlay.unsaved()

    publisher = Publisher(held, documents, unsaved, SystemClock())
    sessions = Sessions(services, show)
    app = App(
        services,
        sessions,
        Renames(services, sessions.follow),
        around,
        settings,
        settings,
        mode_is_said,
        settings,
        held,
        publisher,
        maps,
        # Counted time says nothing of how old a session is.
        Retention(store, SystemClock(), settings.store, lambda text: editor.say("info", f"Outrider: {text}"))
        if settings.testing is None
        else None,
        Recordings(
            services, _state_dir(settings, around), lambda text: editor.say("warning", f"Outrider: {text}")
        ),
        TaskDocument(services, sessions, SystemClock()),
        layered.messages,
    )
    trust.on_asked = app.task_document.look
    await trust.file.refresh()
    app.go_by_trust()
    return app


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a model that the settings name."""

    model: str
    profile: Profile
    pace: Pace | None
    """How fast it was lately, by the log."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Which models there are."""

    settings: Settings
    surveyed: list[Surveyed]
    """The configured providers."""
    offers: list[Offer]
    """What could be configured, where nothing is."""
    known: list[Known]
    messages: tuple[str, ...]
    """What is wrong with the settings."""
    file: Path
    """Where the person's settings stand."""


async def survey(around: Outside, options: Mapping[str, Any]) -> Survey:
    """Which models there are, without a house.

    Args:
        around: The surroundings.
        options: Settings as a client would give them.
    """
    layered = await _settings(ClientStart(options, ()), around)
    settings, clock = layered.settings, around.clock or SystemClock()
    catalog = await _catalog(settings, around, None, clock, around.ids or RandomIds())
    known_ones = named(settings)
    try:
        surveyed = await catalog.survey(known_ones)
    finally:
        await catalog.close()
    paces = await _paces(_state_dir(settings, around))
    known = [Known(one, catalog.profile(one), paces.get(one)) for one in known_ones]
    found = [] if surveyed else await offers(around.env, clock, LOCAL_SERVERS)
    return Survey(settings, surveyed, found, known, layered.messages, around.user_settings)


async def _paces(state_dir: Path) -> dict[str, Pace]:
    """How fast models were in the latest sessions of the log; nothing where there is none, or it cannot be read."""
    if not await asyncio.to_thread((state_dir / FILE_NAME).exists):
        return {}
    store = await Store.open(state_dir)
    if isinstance(store, StoreProblem):
        return {}
    paces: dict[str, Pace] = {}
    try:
        for row in (await store.sessions())[:_SESSIONS_MEASURED]:
            state = SessionState(row.session_id)
            for event in await store.events(row.session_id):
                state.apply(event)
            paces = {**state.paces, **paces}
    except StoreReadError:
        pass
    finally:
        await store.close()
    return paces


async def _catalog(settings: Settings, around: Outside, root: Path | None, clock: Clock, ids: Ids) -> Catalog:
    refusals = Refusals(_state_dir(settings, around) / REFUSALS, SystemClock())
    await refusals.load()
    return Catalog(
        settings.providers,
        settings.models,
        root=root,
        clock=clock,
        ids=ids,
        secrets=EnvironmentSecrets(around.env),
        proxy_for=lambda url: proxy_for(url, around.env),
        ca_file=around.env.get("SSL_CERT_FILE"),
        refusals=refusals,
    )


async def _settings(client: ClientStart, around: Outside) -> Layered:
    user, problem = await asyncio.to_thread(read_user_file, around.user_settings)
    layered = from_layers(
        (str(around.user_settings), user),
        ("initializationOptions", client.options),
        ("command line", around.command_line),
    )
    settings, messages = layered.settings, list(layered.messages)
    if problem:
        messages.insert(0, problem)
    if settings.testing is not None and not (settings.model or "").startswith(("scripted:", "recorded:")):
        messages.append("testing: only possible with a scripted or recorded model; it is ignored")
        settings = settings.model_copy(update={"testing": None})
    return replace(layered, settings=settings, messages=tuple(messages))


def _names_a_mode(client: ClientStart, around: Outside) -> bool:
    """Whether the permission mode is one for this client, not the one of the person's file for all of them."""
    layers = from_layers(("initializationOptions", client.options), ("command line", around.command_line))
    return "permission_mode" in layers.settings.model_fields_set


def _state_dir(settings: Settings, around: Outside) -> Path:
    return Path(settings.state_dir).expanduser() if settings.state_dir else around.state_dir


def _time_and_names(settings: Settings, around: Outside) -> tuple[Clock, Ids]:
    testing = settings.testing
    clock: Clock = around.clock or SystemClock()
    ids: Ids = around.ids or RandomIds()
    if testing is not None and testing.clock is not None and around.clock is None:
        clock = SteppingClock(testing.clock.start, timedelta(milliseconds=testing.clock.step_ms))
    if testing is not None and testing.ids is not None and around.ids is None:
        ids = SequentialIds()
    return clock, ids


async def _go_on_counting(store: Store, clock: Clock, ids: Ids) -> None:
    """Let fixed time and counted ids go on where the log stands: another process may have written it."""
    try:
        events = [event for row in await store.sessions() for event in await store.events(row.session_id)]
    except StoreReadError:
        return  # whatever is asked of a damaged log says so
    for event in events:
        if isinstance(ids, SequentialIds):
            for name in event.names():
                ids.used(name)
        if isinstance(clock, SteppingClock):
            clock.reach(datetime.fromisoformat(event.ts))


def _views(
    folders: Folders,
    documents: DocumentStore,
    editor: Editor,
    supervisor: Supervisor,
    clock: Clock,
    around: Outside,
    held: HeldFiles,
    guarded: Guarded,
    state_dir: Path,
) -> tuple[Overlay, Editing, Search, Sightings, Census]:
    overlay = Overlay(folders, documents)
    search = Search(
        folders,
        documents,
        overlay,
        supervisor,
        clock,
        find_ripgrep(around.env.get("PATH")),
        lambda names: guarded.why_shut(names) is not None,
    )
    return (
        overlay,
        Editing(overlay, documents, editor, clock, held),
        search,
        Sightings(folders, overlay, documents, clock),
        Census(search, clock, _shut(guarded), _own(state_dir)),
    )


def _left_out(state_dir: Path, guarded: Guarded) -> Callable[[str], bool]:
    """What is not listed: what is shut, and our own log, wherever it is."""
    is_shut, is_own = _shut(guarded), _own(state_dir)
    return lambda path: is_shut(path) or is_own(path)


def _shut(guarded: Guarded) -> Callable[[str], bool]:
    """Which files are shut."""
    return lambda path: is_secret_file(path) or guarded.why_ignored(path) is not None


def _own(state_dir: Path) -> Callable[[str], bool]:
    """Which paths are those of our own log; of folders where they end with a slash."""
    own = f"{state_dir.absolute()}/"
    return lambda path: path.startswith(own)
