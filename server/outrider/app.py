"""Composition: reads settings, files and environment once, and builds the house. The only place that reads them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

from outrider import __version__
from outrider.agent.changes.renames import Renames
from outrider.agent.context.briefing import Briefing
from outrider.agent.customization.commands import CustomCommands
from outrider.agent.customization.files import Files
from outrider.agent.customization.hooks import Hooks
from outrider.agent.customization.memory import Memory
from outrider.agent.customization.scoped_instructions import ScopedInstructions
from outrider.agent.customization.servers import Servers, changed_by_session
from outrider.agent.customization.skills import Skills
from outrider.agent.customization.toolbox import Brought, Toolbox
from outrider.agent.interaction.plan_papers import PlanPapers
from outrider.agent.loop.judging import Judging
from outrider.agent.loop.tool_context import Commands
from outrider.agent.service.export import Recordings
from outrider.agent.service.models import ConfiguredModels
from outrider.agent.service.sources import ServerSources, files_changed, launch
from outrider.agent.services import Policy, Runtime, Services
from outrider.agent.session.sessions import Sessions
from outrider.agent.state.state import SessionState
from outrider.agent.task_document.changes_papers import ChangesPapers
from outrider.agent.task_document.keeper import TaskDocument
from outrider.agent.task_document.plan_ticks import PlanTicks
from outrider.agent.trust import InForce, WorkspaceTrust
from outrider.agent.workspace_file import WorkspaceChecks, WorkspaceFiles
from outrider.language.languages import Languages
from outrider.mcp.around import Around as ServerSurroundings
from outrider.mcp.tokens import Tokens
from outrider.models.catalog import Catalog, ModelProblem, ModelServices
from outrider.models.http.keys import Keys
from outrider.models.http.provider import proxy_for
from outrider.models.routing.choose import named
from outrider.models.routing.profile import Pace, Profile
from outrider.models.routing.refusals import FILE as REFUSALS
from outrider.models.routing.refusals import Refusals
from outrider.models.survey import LOCAL_SERVERS, Offer, Surveyed, offers
from outrider.permissions.policy.decide import Access, narrowest
from outrider.permissions.policy.ledger import LEDGER, Ledger
from outrider.permissions.policy.protected_files import Guarded, may_lead_to_obeyed, meaning_in_commands
from outrider.permissions.policy.ruling import Ruling
from outrider.permissions.policy.trust import TRUST, TrustFile
from outrider.permissions.secrets.secret_files import is_secret_file
from outrider.permissions.shell import tree
from outrider.ports import globs, patterns
from outrider.ports.clock import Clock, SteppingClock, SystemClock
from outrider.ports.editor import Editor
from outrider.ports.events import FrameListener, LoggedEvent, StreamFrame
from outrider.ports.ids import Ids, RandomIds, SequentialIds
from outrider.ports.outside import ClientStart, Outside
from outrider.ports.toml import read_user_file
from outrider.processes import Process, SpawnProblem, Supervisor, can_run_commands, command_environment
from outrider.processes.sandbox import Sandbox
from outrider.settings import Layered, from_layers, narrowed
from outrider.setup.document import SetupDocument
from outrider.setup.keeping import Keeping
from outrider.setup.steps import Setup
from outrider.store.log import Store
from outrider.store.machine_key import machine_key
from outrider.store.problem import StoreProblem, StoreReadError
from outrider.store.retention import Retention
from outrider.store.schema import FILE_NAME
from outrider.surroundings import surroundings
from outrider.tools import client as client_tools
from outrider.tools.all import OF_LANGUAGES, own_tools
from outrider.tools.client import handed_tools
from outrider.tools.run_command.git import named_by_git, user_settings_of_git
from outrider.tools.web import NAME as FETCH
from outrider.tools.web import Web, named_hosts
from outrider.workspace.documents.documents import DocumentStore
from outrider.workspace.documents.unsaved_elsewhere import HeldFiles, Publisher
from outrider.workspace.paths import Folders, folders_of
from outrider.workspace.repository_map.repository_map import RepositoryMap, Rooms
from outrider.workspace.search import find_ripgrep
from outrider.workspace.syntax.syntax import Syntax
from outrider.workspace.watch.hidden_files import HiddenFiles
from outrider.workspace.watch.obeyed_files import ObeyedFiles
from outrider.workspace.workspace import Judges, Machine, Workspace
from outrider_protocol.choices import PermissionMode
from outrider_protocol.settings import BY_TIERS, ProviderSettings, Settings, Tiers

_MOST_OF_COMMAND = 60
"""Characters of a command by which a question names what it changed."""
_SESSIONS_MEASURED = 10
"""Of how many sessions, the latest, the speed of models is looked up."""


@dataclass(slots=True)
class App:
    """The server, composed."""

    services: Services
    settings: InForce
    messages: tuple[str, ...]
    """What has to be said about the settings."""
    sessions: Sessions
    renames: Renames
    task_document: TaskDocument
    changes_papers: ChangesPapers
    setup: Setup
    setup_document: SetupDocument
    own: Settings
    """What the client and the command line set: it counts for more than the user's file."""
    on_frames: list[FrameListener]
    """Who is told of live text."""
    _begun: AsyncExitStack
    """Ends everything else, what was begun last first."""

    def on_close(self, end: Callable[[], Awaitable[None]]) -> None:
        """Have something ended before everything else that is ended after the sessions."""
        self._begun.push_async_callback(end)

    def configure(self, values: Mapping[str, Any] | None) -> tuple[str, ...]:
        """Take over what `workspace/configuration` says; gives what has to be said about it."""
        refused = self.services.policy.trust.is_refused
        layered = narrowed(self.settings.base, values or {}, is_refused=refused)
        self.settings.said = layered.settings
        self.go_by_trust()
        return layered.messages

    def choose_mode(self, mode: PermissionMode) -> None:
        """Take over the permission mode that the user chose in this client; as far as the folder is trusted, it counts at once."""
        settings = self.settings
        settings.base = settings.base.model_copy(update={"permission_mode": mode})
        settings.said = settings.said.model_copy(update={"permission_mode": mode})
        settings.mode_is_said = True
        self.go_by_trust()

    def go_by_trust(self) -> None:
        """Take over what trust in the workspace does to the settings."""
        said, before = self.settings.said, self.settings.now.permission_mode
        widest = self.services.policy.trust.widest(said.permission_mode)
        self.settings.now = said.model_copy(update={"permission_mode": widest})
        for session in self.sessions.running:
            session.settings_changed(before, widest)

    def set_up(self, name: str, provider: ProviderSettings, model: str) -> str | None:
        """Take over what was written into the user's file; gives what stands in the way of it here."""
        settings, update = self.settings, dict[str, Any]()
        if name not in self.own.providers:
            self.services.catalog.set_up(name, provider)
            update["providers"] = {**settings.base.providers, name: provider}
        if self.own.model is None:
            update["model"] = model
        settings.base = settings.base.model_copy(update=update)
        settings.said = settings.said.model_copy(update=update)
        self.go_by_trust()
        if self.own.model not in {None, model}:
            return f"the settings of this editor name {self.own.model}, which stays in use here"
        if name in self.own.providers:
            return f"the settings of this editor say how {name} is reached, and that stays so here"
        if settings.said.tiers != Tiers():
            return f"the setting `tiers` chooses the model of each step; take it out to use {model} for all"
        return None

    @property
    def lacks_model(self) -> bool:
        """Whether no model is set, or one of a provider that there is not."""
        settings = self.settings.now
        return settings.tiers == Tiers() and not self.services.catalog.knows(settings.model)

    @property
    def next_model(self) -> str:
        """What a task gets that names no model, or `tiers`; empty where nothing is set that can be had."""
        settings = self.settings.now
        if settings.tiers != Tiers():
            return BY_TIERS
        return "" if self.lacks_model else (settings.model or "")

    async def model_problem(self) -> str | None:
        """Why the model that is set cannot be had, None if it can."""
        settings, catalog = self.settings.now, self.services.catalog
        if settings.tiers != Tiers():
            model = await catalog.open_tiers(settings.tiers, settings.model, settings.routing)
        else:
            model = await catalog.open(settings.model)
        if isinstance(model, ModelProblem):
            return model.message
        await model.close()
        return None

    def set_folders(self, folders: tuple[tuple[str, str], ...]) -> None:
        """Take over other workspace folders."""
        workspace, policy = self.services.workspace, self.services.policy
        workspace.set_folders(folders_of(folders))
        policy.ledger.set_folders(_paths(workspace.folders))
        policy.guarded.set_folders(_paths(workspace.folders))
        self.go_by_trust()

    async def close(self, reason: str) -> None:
        """Let go of everything: turns, processes, connections, and the log last."""
        await self.renames.close()
        await self.sessions.close(reason)
        await self._begun.aclose()


async def start(
    client: ClientStart,
    editor: Editor,
    documents: DocumentStore,
    outside: Outside | None,
    on_frame: FrameListener,
) -> App | StoreProblem:
    """Compose the server.

    Args:
        client: What the client said in `initialize`.
        editor: The editor at the other end.
        documents: The open documents, already kept in step by the LSP room.
        outside: The surroundings; None reads those of this process.
        on_frame: Where live text goes.
    """
    around, on_frames = outside or await asyncio.to_thread(surroundings), [on_frame]
    if client.options.get("tools"):
        await asyncio.to_thread(client_tools.prepare)
    layered = await _settings(client, around)
    settings = _in_force(layered.settings, client, around)
    async with AsyncExitStack() as begun:
        runtime = await _runtime(settings, around, editor, _to_each(on_frames), begun)
        if isinstance(runtime, StoreProblem):
            return runtime
        folders = folders_of(client.folders)
        guarded, held = Guarded(_paths(folders)), HeldFiles(runtime.state_dir / "held")
        workspace = _workspace(folders, documents, runtime, guarded, held)
        begun.push_async_callback(workspace.syntax.close)
        policy = _policy(runtime, workspace, guarded, settings, around, begun)
        keys = Keys(around.env, runtime.supervisor, around.clock)
        services = await _services(runtime, workspace, policy, around, keys, begun)
        setup = _setup(around, runtime.settings, keys, lambda: _paths(workspace.folders))
        own = _own_settings(client, around)
        app = _app(services, settings, own, setup, layered.messages, held, on_frames, begun)
    await policy.trust.file.refresh()
    app.go_by_trust()
    return app


def _to_each(listeners: Sequence[FrameListener]) -> FrameListener:
    def tell(frame: StreamFrame) -> None:
        for listener in listeners:
            listener(frame)

    return tell


def _in_force(settings: Settings, client: ClientStart, around: Outside) -> InForce:
    """The settings at the start, before anything is known of trust."""
    if client.widest is not None:
        widest = narrowest(settings.permission_mode, cast("PermissionMode", client.widest))
        settings = settings.model_copy(update={"permission_mode": widest})
    return InForce(settings, _names_a_mode(client, around), settings, settings)


async def _runtime(
    settings: InForce, around: Outside, editor: Editor, on_frame: FrameListener, begun: AsyncExitStack
) -> Runtime | StoreProblem:
    clock, ids = _time_and_names(settings.base, around)
    state_dir = _state_dir(settings.base, around)
    store = await Store.open(state_dir)
    if isinstance(store, StoreProblem):
        return store
    begun.push_async_callback(store.close)
    if settings.base.testing is not None:
        await _go_on_counting(store, clock, ids)
    deadlines = around.clock or SystemClock()
    supervisor = Supervisor(deadlines)
    begun.push_async_callback(supervisor.close)
    if around.watched is not None:
        supervisor.watch(around.watched)
    return Runtime(
        clock=clock,
        deadlines=deadlines,
        ids=ids,
        store=store,
        state_dir=state_dir,
        editor=editor,
        supervisor=supervisor,
        env=around.env,
        host=around.host,
        machine_key=await asyncio.to_thread(machine_key, state_dir),
        settings=lambda: settings.now,
        on_frame=on_frame,
        version=__version__,
    )


def _workspace(
    folders: Folders, documents: DocumentStore, runtime: Runtime, guarded: Guarded, held: HeldFiles
) -> Workspace:
    env, home = runtime.env, runtime.env.get("HOME")
    by_git = partial(named_by_git, of_the_user=user_settings_of_git(env), home=Path(home) if home else None)
    return Workspace(
        folders,
        documents,
        runtime.editor,
        Machine(runtime.supervisor, runtime.deadlines, find_ripgrep(env.get("PATH")), runtime.state_dir),
        Judges(
            ObeyedFiles(meaning_in_commands, may_lead_to_obeyed, by_git, guarded.set_other_names),
            HiddenFiles(guarded.why_hidden, guarded.stamps),
            guarded.why_hidden,
            is_shut=_shut(guarded),
            leaves_out=_own(runtime.state_dir),
        ),
        held=held,
        syntax=Syntax(runtime.supervisor, runtime.deadlines, env),
    )


def _policy(
    runtime: Runtime,
    workspace: Workspace,
    guarded: Guarded,
    settings: InForce,
    around: Outside,
    begun: AsyncExitStack,
) -> Policy:
    user_files = around.user_settings.parent
    names = own_tools().names | {tool.name for tool in settings.base.tools}
    folders = _paths(workspace.folders)
    ledger = Ledger(user_files / LEDGER, folders, runtime.deadlines, runtime.warn, names)
    trust = WorkspaceTrust(
        TrustFile(user_files / TRUST, runtime.deadlines, runtime.warn), runtime.editor, workspace, settings
    )
    sandbox = Sandbox(runtime.supervisor, runtime.deadlines, [runtime.state_dir, user_files])
    begun.push_async_callback(sandbox.close)
    begun.push_async_callback(ledger.write_hits)
    begun.push_async_callback(trust.close)
    files = WorkspaceFiles(workspace, trust.trusts, runtime.warn)
    checks = WorkspaceChecks(files, trust, workspace)
    hooks = Hooks(runtime.settings, files, trust, runtime.clock)
    begun.callback(_tell_of_changes(runtime, workspace, trust, hooks))

    def of_web(tool: str, access: Access) -> Ruling | None:
        web = runtime.settings().web
        if tool != FETCH or web is None or not all(named_hosts(web.hosts, one) for one in access.hosts):
            return None
        return Ruling("allow", "the setting web.hosts names the host", ("web.hosts",), names_files=True)

    def ruling(tool: str, access: Access, mode: PermissionMode) -> Ruling | None:
        said = ledger.ruling(tool, access, mode)
        return said or checks.ruling(access) or hooks.ruling(access) or of_web(tool, access)

    return Policy(ledger, ruling, guarded, trust, sandbox, files, checks, hooks)


def _tell_of_changes(
    runtime: Runtime, workspace: Workspace, trust: WorkspaceTrust, hooks: Hooks
) -> Callable[[], None]:
    """Tell the trust what sessions change; gives what ends it."""
    alone: set[str] = set()
    """Jobs that are hooks at the end of a session: no model had to do with them."""

    def heard(event: LoggedEvent) -> None:
        if event.type == "job.started" and "callId" not in event.data:
            alone.add(event.data["jobId"])
        elif event.type == "job.finished" and event.data["jobId"] in alone:
            alone.discard(event.data["jobId"])
        elif event.type == "job.finished":
            trust.note_soon(
                [str(one) for one in _paths(workspace.folders)], [f"what {event.data['jobId']} wrote"]
            )
        elif names := changed_by_session(event):
            places = map(workspace.folders.straight, names)
            trust.note_soon([one for one in places if one is not None], names)

    async def heard_of_command(command: str) -> None:
        if hooks.acts_alone(command):
            return  # what it is seen to change counts all the same
        await trust.note_changes(
            [str(one) for one in _paths(workspace.folders)], [f"what `{_shortened(command)}` wrote"]
        )

    workspace.on_command = heard_of_command
    return runtime.store.subscribe(heard)


def _shortened(command: str) -> str:
    line = (command.strip().splitlines() or [""])[0]
    return line if len(line) <= _MOST_OF_COMMAND else f"{line[: _MOST_OF_COMMAND - 1]}…"


async def _services(
    runtime: Runtime,
    workspace: Workspace,
    policy: Policy,
    around: Outside,
    keys: Keys,
    begun: AsyncExitStack,
) -> Services:
    settings, guarded = runtime.settings(), policy.guarded
    root = next(iter(_paths(workspace.folders)), None)
    catalog = await _catalog(settings, around, root, runtime.clock, runtime.ids, keys, runtime.warn)
    begun.push_async_callback(catalog.close)
    languages = _languages(runtime, workspace, policy, begun)
    tools = own_tools(with_commands=can_run_commands(), leaves_out=partial(_useless, languages))
    maps = _maps(runtime, workspace, guarded, around, begun)
    brought = _brought(runtime, workspace, policy, around, begun)
    return Services(
        runtime=runtime,
        workspace=workspace,
        policy=policy,
        catalog=catalog,
        models=ConfiguredModels(catalog, runtime.settings),
        tools=Toolbox(
            tools.with_others(handed_tools(settings.tools)),
            brought,
            runtime.settings,
            _web(runtime, policy),
        ),
        briefing=_briefing(runtime, workspace, guarded, brought),
        maps=maps,
        brought=brought,
        plans=PlanPapers(workspace),
        languages=languages,
        judges=lambda record, turn_id: Judging(
            languages, lambda: workspace.folders, runtime.settings, runtime.deadlines, record, turn_id
        ),
    )


def _briefing(runtime: Runtime, workspace: Workspace, guarded: Guarded, brought: Brought) -> Briefing:
    """Writes what turns begin with."""
    settings, memory = runtime.settings, brought.memory
    return Briefing(workspace, guarded, settings, runtime.clock, runtime.deadlines, memory, brought.scoped)


def _maps(
    runtime: Runtime, workspace: Workspace, guarded: Guarded, around: Outside, begun: AsyncExitStack
) -> RepositoryMap:
    """Draws maps of the workspace's names."""
    is_shut, is_own = _shut(guarded), _own(runtime.state_dir)
    maps = RepositoryMap(
        lambda: Rooms(workspace.folders, workspace.search, workspace.documents),
        runtime.supervisor,
        runtime.deadlines,
        around.cache_dir,
        around.env,
        leaves_out=lambda path: is_shut(path) or is_own(path),
        before_listing=guarded.refresh,
        tell=runtime.warn,
    )
    begun.push_async_callback(maps.close)
    if runtime.settings().draws_maps:
        maps.begin_soon()
    return maps


def _brought(
    runtime: Runtime, workspace: Workspace, policy: Policy, around: Outside, begun: AsyncExitStack
) -> Brought:
    """What users and workspaces bring along; nothing is read yet."""
    home = around.env.get("HOME")
    files = Files(
        workspace,
        policy.guarded,
        policy.trust.trusts,
        Path(home) if home else None,
        around.user_settings.parent,
    )
    servers = _servers(runtime, workspace, policy, files, around)
    begun.push_async_callback(servers.close)
    skills = Skills(files, enabled=runtime.settings().skills)
    policy.hooks.found = files
    memory = Memory(workspace, policy.trust.trusts, around.user_settings.parent, runtime.settings)
    commands = CustomCommands(files, workspace, policy.guarded, skills.as_commands)
    commands.others = servers
    begun.push_async_callback(commands.close)
    return Brought(commands, skills, servers, policy.hooks, memory, ScopedInstructions(files))


def _servers(
    runtime: Runtime, workspace: Workspace, policy: Policy, files: Files, around: Outside
) -> Servers:
    """The MCP servers. Nothing is started before a turn wants them."""
    env, keys = around.env, {one.api_key_env for one in runtime.settings().providers.values()}

    def show_page(name: str, url: str) -> None:
        async def show() -> None:
            if not await runtime.editor.show(url, take_focus=True, external=True):
                runtime.inform(f"open this page to log in to the MCP server {name}: {url}")

        showing.add(task := asyncio.get_running_loop().create_task(show()))
        task.add_done_callback(showing.discard)

    showing: set[asyncio.Task[None]] = set()
    folders = workspace.folders.folders
    surroundings = ServerSurroundings(
        supervisor=runtime.supervisor,
        clock=runtime.deadlines,
        version=__version__,
        environment=lambda own: {**command_environment(env, (), {key for key in keys if key}), **own},
        folders=lambda: [(folder.name, folder.uri) for folder in workspace.folders.folders],
        proxy_for=lambda url: proxy_for(url, env),
        ca_file=env.get("SSL_CERT_FILE"),
        tokens=Tokens(around.user_settings.parent, keyring=around.clock is None),
        open_page=show_page,
        cwd=folders[0].path if folders else Path(env.get("HOME") or "/"),
        secret=env.get,
        schema_problem=client_tools.schema_problem,
    )
    return Servers(runtime.settings, policy.files, files, policy.trust, surroundings, env)


def _web(runtime: Runtime, policy: Policy) -> Web:
    """How pages are read."""
    env = runtime.env

    def names(host: str) -> bool:
        web = runtime.settings().web
        rules = [rule.host for rule in policy.ledger.rules if rule.decision == "allow" and rule.tool == FETCH]
        return host in {one.lower() for one in [*(web.hosts if web else ()), *rules] if one}

    return Web(
        runtime.supervisor,
        runtime.deadlines,
        env,
        lambda url: proxy_for(url, env),
        env.get("SSL_CERT_FILE"),
        names,
        __version__,
    )


def _languages(runtime: Runtime, workspace: Workspace, policy: Policy, begun: AsyncExitStack) -> Languages:
    """The language servers, none of which is looked for before somebody asks."""

    async def start_server(
        argv: Sequence[str], folder: Path
    ) -> tuple[Process, asyncio.StreamWriter] | SpawnProblem:
        return await launch(Commands(runtime, workspace, policy.sandbox), argv, folder)

    def heard(event: LoggedEvent) -> None:
        paths = {workspace.folders.straight(path): kind for path, kind in files_changed(event)}
        languages.changed_on_disk({path: kind for path, kind in paths.items() if path is not None})

    languages = Languages(
        ServerSources(workspace, policy.trust),
        start_server,
        runtime.deadlines,
        runtime.editor,
        settings=lambda: runtime.settings().servers,
        search_path=runtime.env.get("PATH", ""),
        is_confined=lambda: runtime.settings().sandbox.mode != "off",
    )
    begun.push_async_callback(languages.close)
    begun.callback(runtime.store.subscribe(heard))
    return languages


async def _useless(languages: Languages) -> Collection[str]:
    """The tools that nobody here could answer."""
    if await languages.is_there():
        return ()
    return [tool.name for tool in OF_LANGUAGES]


def _begin_beside(services: Services, settings: InForce, held: HeldFiles, begun: AsyncExitStack) -> None:
    """Begin what goes on beside the sessions: clearing the log, telling what is unsaved, keeping recordings."""
    runtime, workspace = services.runtime, services.workspace

    async def unsaved() -> tuple[str, ...]:  # of the current folders
        return await workspace.overlay.unsaved()

    if settings.base.testing is None:  # counted time says nothing of how old a session is
        retention = Retention(runtime.store, SystemClock(), settings.base.store, runtime.inform)
        begun.push_async_callback(retention.close)
    begun.push_async_callback(Publisher(held, workspace.documents, unsaved, SystemClock()).close)
    begun.push_async_callback(Recordings(services).close)


def _app(
    services: Services,
    settings: InForce,
    own: Settings,
    setup: Setup,
    messages: tuple[str, ...],
    held: HeldFiles,
    on_frames: list[FrameListener],
    begun: AsyncExitStack,
) -> App:
    """Begin the sessions, and what goes on beside them."""
    store, trust = services.runtime.store, services.policy.trust
    _begin_beside(services, settings, held, begun)
    sessions = Sessions(services)
    task_document, changes_papers, setup_document = _documents(services, sessions, setup, begun)
    # What requests need is loaded off their path; whoever needs it before loads it itself.
    loading = asyncio.create_task(asyncio.to_thread(load_for_requests))
    begun.push_async_callback(asyncio.wait, {loading})
    messages += (store.notice,) if store.notice is not None else ()
    renames = Renames(services, sessions.follow)
    app = App(
        services,
        settings,
        messages,
        sessions,
        renames,
        task_document,
        changes_papers,
        setup,
        setup_document,
        own,
        on_frames,
        begun.pop_all(),
    )
    setup.take_up = app.set_up
    trust.on_change, trust.on_asked = app.go_by_trust, task_document.look
    return app


def _documents(
    services: Services, sessions: Sessions, setup: Setup, begun: AsyncExitStack
) -> tuple[TaskDocument, ChangesPapers, SetupDocument]:
    """Begin the documents that are kept up to date."""
    task_document = TaskDocument(services, sessions, SystemClock())
    begun.push_async_callback(task_document.close)
    plan_ticks = PlanTicks(services, sessions, SystemClock())
    services.runtime.store.subscribe(plan_ticks.on_event)
    begun.push_async_callback(plan_ticks.close)
    changes_papers = ChangesPapers(services, sessions, SystemClock())
    services.runtime.store.subscribe(changes_papers.on_event)
    begun.push_async_callback(changes_papers.close)
    setup_document = SetupDocument(services, setup, SystemClock())
    begun.push_async_callback(setup_document.close)
    return task_document, changes_papers, setup_document


def load_for_requests() -> None:
    """Import and compile what a request would otherwise load while the event loop waits. Blocks: for a thread."""
    tree.prepare()
    globs.prepare()
    patterns.prepare()


def _setup(
    around: Outside,
    settings: Callable[[], Settings],
    keys: Keys,
    workspaces: Callable[[], Sequence[Path]],
) -> Setup:
    """Sets up providers and models for the user, in their own files."""
    home = around.env.get("HOME")
    keeping = Keeping(around.user_settings.parent, Path(home) if home else None, workspaces)
    clock, ids = around.clock or SystemClock(), around.ids or RandomIds()
    return Setup(around, settings, keys, clock, ids, LOCAL_SERVERS, keeping)


@asynccontextmanager
async def setup(around: Outside) -> AsyncGenerator[tuple[Setup, tuple[str, ...]]]:
    """Sets up a model, without a house.

    Args:
        around: The surroundings.

    Yields:
        What does the steps, and what is wrong with the settings.
    """
    layered = await _settings(ClientStart({}, ()), around)
    supervisor = Supervisor(around.clock or SystemClock())
    try:
        keys = Keys(around.env, supervisor, around.clock)
        yield _setup(around, lambda: layered.settings, keys, tuple), layered.messages
    finally:
        await supervisor.close()


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
    """Where the user's settings stand."""


async def survey(around: Outside, options: Mapping[str, Any]) -> Survey:
    """Which models there are, without a house.

    Args:
        around: The surroundings.
        options: Settings as a client would give them.
    """
    layered = await _settings(ClientStart(options, ()), around)
    settings, clock = layered.settings, around.clock or SystemClock()
    supervisor = Supervisor(around.clock or SystemClock())
    keys = Keys(around.env, supervisor, around.clock)
    catalog = await _catalog(settings, around, None, clock, around.ids or RandomIds(), keys, lambda _: None)
    known_ones = named(settings)
    try:
        surveyed = await catalog.survey(known_ones)
    finally:
        await catalog.close()
        await supervisor.close()
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


async def _catalog(
    settings: Settings,
    around: Outside,
    root: Path | None,
    clock: Clock,
    ids: Ids,
    keys: Keys,
    warn: Callable[[str], None],
) -> Catalog:
    refusals = Refusals(_state_dir(settings, around) / REFUSALS, SystemClock())
    await refusals.load()
    return Catalog(
        settings.providers,
        settings.models,
        root=root,
        services=ModelServices(
            clock,
            ids,
            keys,
            proxy_for=lambda url: proxy_for(url, around.env),
            ca_file=around.env.get("SSL_CERT_FILE"),
            settings_file=around.user_settings,
        ),
        refusals=refusals,
        retry=settings.retry,
        thinking=settings.thinking,
        warn=warn,
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
        messages.append("testing: only allowed with a scripted or recorded model; it is ignored")
        settings = settings.model_copy(update={"testing": None})
    return replace(layered, settings=settings, messages=tuple(messages))


def _own_settings(client: ClientStart, around: Outside) -> Settings:
    """What is for this client, and not in the user's file for all of them."""
    return from_layers(
        ("initializationOptions", client.options), ("command line", around.command_line)
    ).settings


def _names_a_mode(client: ClientStart, around: Outside) -> bool:
    """Whether the permission mode is one for this client."""
    return "permission_mode" in _own_settings(client, around).model_fields_set


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


def _paths(folders: Folders) -> list[Path]:
    return [folder.path for folder in folders.folders]


def _shut(guarded: Guarded) -> Callable[[str], bool]:
    """Which files are shut."""
    return lambda path: is_secret_file(path) or guarded.why_ignored(path) is not None


def _own(state_dir: Path) -> Callable[[str], bool]:
    """Which paths are those of our own log; of folders where they end with a slash."""
    own = f"{state_dir.absolute()}/"
    return lambda path: path.startswith(own)
