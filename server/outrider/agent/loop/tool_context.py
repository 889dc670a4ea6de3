"""One turn as its tools see it: what `tools.context` names, made of the services and one session."""

import asyncio
import hashlib
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from outrider.agent.context.budget import Budget
from outrider.agent.context.workspace_news import Knowledge
from outrider.agent.interaction.inbox import Asking, Inbox, Question
from outrider.agent.interaction.plan_document import Plan, PlanProblem, Step, with_steps
from outrider.agent.loop.live import Live
from outrider.agent.loop.server_questions import ServerQuestions
from outrider.agent.services import Policy, Runtime, Services, TurnVerdicts
from outrider.agent.state.record import Record
from outrider.agent.state.turn_state import CallState, same_words
from outrider.agent.workspace_file import NAME as WORKSPACE_FILE
from outrider.agent.workspace_file import ChecksHere
from outrider.permissions.policy.commands import Command, Part
from outrider.permissions.policy.decide import Access, Judgement, NoSandbox, decide, narrowest
from outrider.permissions.policy.protected_files import attributes, environment
from outrider.permissions.secrets.masking import MaskedStream
from outrider.ports.addresses import resolve
from outrider.ports.editor import ToolAnswer
from outrider.ports.events import StreamFrame
from outrider.ports.ids import IdKind
from outrider.ports.model import ToolCall
from outrider.processes import Jobs, SpawnProblem, command_environment, shell_argv
from outrider.processes.sandbox import Confined, Facts, Hidden, Reach, Sandbox, SandboxWish, Shared
from outrider.processes.sandbox.confinement import installed_with
from outrider.processes.sandbox.facts import NOTHING_HELD
from outrider.tools.context import Action, Approval, PlanUnwritten, ToolContext
from outrider.workspace.documents.saving import Tried, have_saved
from outrider.workspace.edits.review import Review
from outrider.workspace.paths import Located
from outrider.workspace.watch.obeyed_files import Sight
from outrider.workspace.workspace import View
from outrider_protocol.choices import Effect, PermissionMode
from outrider_protocol.events import (
    AutoLimited,
    EventData,
    InputField,
    Mode,
    PlanItem,
    PlanWritten,
    Recalled,
    SandboxAbsent,
    ToolFinished,
    ToolStarted,
)
from outrider_protocol.settings import Autonomy


def shared_by(runtime: Runtime, policy: Policy, name: str) -> Shared:
    """What the commands of a session share, by the session's name. Whoever makes it closes it."""
    reach = Reach(resolve, policy.ledger.why_closed, runtime.deadlines)
    return Shared(runtime.supervisor, runtime.state_dir / "sandbox" / "tmp" / name, reach)


class Commands:
    """Commands in the workspace of a server."""

    def __init__(
        self, runtime: Runtime, workspace: View, sandbox: Sandbox, shared: Shared | None = None
    ) -> None:
        """See to the commands of a session, or of none.

        Args:
            runtime: What the process has.
            workspace: The workspace.
            sandbox: What holds them.
            shared: What the commands of the session share; None where they share nothing.
        """
        self._runtime = runtime
        self._workspace = workspace
        self._sandbox = sandbox
        self._shared = shared
        self.supervisor = runtime.supervisor
        """Where they are started."""
        self.search_path = runtime.env.get("PATH", "")
        """Their `PATH`."""

    async def confine(
        self, argv: Sequence[str], cwd: Path, *, runs_git: bool = False, network: bool = False
    ) -> Confined:
        """Put a command into the sandbox, as far as the settings want it and the system can.

        Args:
            argv: The command.
            cwd: Where it runs; a real path.
            runs_git: Whether it runs git, which then must be told which files hold secrets.
            network: Whether it gets the network, whatever the settings say.
        """
        wish = self._wish()
        if network:
            wish = replace(wish, network=True)
        sight = await asyncio.to_thread(self._look) if wish.mode != "off" else None
        env, seen = self._environment(self._runtime.settings().command_environment), ()
        if runs_git:
            env, seen = await self._without_texts(env)
        return await self._sandbox.confine(
            argv,
            cwd=cwd,
            env=env,
            folders=self._folders,
            wish=replace(wish, readable=(*wish.readable, *seen)),
            protected=sight.protected if sight is not None else (),
            repositories=sight.repositories if sight is not None else (),
            shared=self._shared,
        )

    async def facts(self) -> Facts:
        """What a model should know of how commands run in the first workspace folder, by the settings as they are."""
        cwd = next(iter(self._folders), None)
        if cwd is None:
            return NOTHING_HELD
        return (await self.confine(shell_argv("true"), await asyncio.to_thread(cwd.resolve))).facts

    async def still_confines(self, confined: Confined) -> str | None:
        """Try again whether the sandbox of a command works, and keep that; why it does not, None if it does."""
        return await self._sandbox.still_holds(confined)

    async def confine_server(self, argv: Sequence[str], cwd: Path) -> Confined | SpawnProblem:
        """Put a language server into a read-only sandbox without network; where the settings want no sandbox, into none.

        Args:
            argv: The server; its program may be one of the workspace.
            cwd: Where it runs; a real path.
        """
        wish = self._wish()
        if wish.mode == "off":
            return await self._sandbox.confine(
                argv, cwd=cwd, env=self._environment(()), folders=(), wish=wish
            )
        env = self._environment(())
        seen = await asyncio.to_thread(installed_with, argv, Path(env.get("HOME") or Path.home()))
        confined = await self._confine_reading(argv, cwd, env, seen, of_workspace=True)
        return confined or SpawnProblem(
            "no sandbox here can keep it from writing and from the network; with the setting `sandbox` `off` it runs without one"
        )

    async def confine_to_read(
        self, argv: Sequence[str], cwd: Path, *, runs_git: bool = False
    ) -> Confined | None:
        """Put a command that is known to only read into a read-only sandbox, without the files that are shut; None where there is none.

        Where git keeps the texts of all files, only git may read.

        Args:
            argv: The command.
            cwd: Where it runs; a real path in a workspace folder.
            runs_git: Whether it runs git.
        """
        if self._wish().mode == "off":
            return None
        # What the user has commands get besides may be secret, and nobody asks about this one.
        env, seen = await self._without_texts(self._environment(()))
        # Git may not write down what it found out about the files.
        env["GIT_OPTIONAL_LOCKS"] = "0"
        return await self._confine_reading(argv, cwd, env, seen, with_objects=runs_git)

    async def _confine_reading(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        seen: Sequence[str],
        *,
        with_objects: bool = True,
        of_workspace: bool = False,
    ) -> Confined | None:
        shut = await asyncio.to_thread(
            lambda: self._workspace.hidden_files.look([folder.resolve() for folder in self._folders])
        )
        if not shut.is_whole:
            return None
        return await self._sandbox.confine_reading(
            argv,
            cwd=cwd,
            env=env,
            folders=self._folders,
            wish=self._wish(),
            hidden=Hidden(
                shut.files,
                shut.folders if with_objects else (*shut.folders, *shut.objects),
                seen,
                await asyncio.to_thread(self._kept, "empty", b""),
            ),
            shared=self._shared,
            of_workspace=of_workspace,
        )

    def _environment(self, named: Sequence[str]) -> dict[str, str]:
        providers = self._runtime.settings().providers.values()
        # The keys of the providers, whatever their names: nobody can name these for a command.
        keys = {name for provider in providers if (name := provider.api_key_env) is not None}
        return command_environment(self._runtime.env, named, keys)

    async def _without_texts(self, env: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """The environment in which git takes shut files for binary ones, and the file that it needs for that."""
        path = await asyncio.to_thread(self._attributes)
        return {**env, **environment(path)}, (path,)

    def _attributes(self) -> str:
        """The file of attributes, named by its content, so that a command is the same one after a restart. Blocks."""
        content = attributes(self._folders).encode()
        return self._kept(f"{hashlib.sha256(content).hexdigest()[:32]}.gitattributes", content)

    def _kept(self, name: str, content: bytes) -> str:
        """A file of our own for sandboxes, by a name that stands for its content. Blocks."""
        folder = self._runtime.state_dir / "sandbox"
        path = folder / name
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                file.write(content)
            Path(file.name).replace(path)
        return str(path)

    @property
    def _folders(self) -> list[Path]:
        return [folder.path for folder in self._workspace.folders.folders]

    def _wish(self) -> SandboxWish:
        settings = self._runtime.settings()
        wish, testing = settings.sandbox, settings.testing
        return SandboxWish(
            wish.mode,
            wish.network is True,
            wish.hosts,
            tuple(wish.readable),
            tuple(wish.writable),
            tuple(testing.sandboxes) if testing is not None and testing.sandboxes is not None else None,
        )

    def _look(self) -> Sight:
        """What in the workspace must stay as it is. Blocks."""
        return self._workspace.obeyed.look([folder.resolve() for folder in self._folders])


def _known(record: Record, call: ToolCall) -> CallState:
    """How far a call of the latest response came; one that is not known has not begun."""
    turn = record.state.turn
    return (turn.calls.get(call.id) if turn else None) or CallState(call)


class Log:
    """The session's log, where a turn writes to it, and the live text beside it."""

    def __init__(self, runtime: Runtime, record: Record, turn_id: str | None) -> None:
        self._runtime = runtime
        self._record = record
        self._turn_id = turn_id
        self._streams: dict[str, tuple[MaskedStream, Live]] = {}

    @property
    def turn_id(self) -> str:
        """The turn."""
        return self._turn_id or ""

    def new_id(self, kind: IdKind) -> str:
        """A fresh id."""
        return self._runtime.ids.new(kind)

    def place_of(self, located: Located) -> str | None:
        """The real path of a file, where its path in the session's folders does not tell it."""
        real = located.place
        return None if real == self._record.state.journal.place_of(located.display) else real

    def record(self, data: EventData, blobs: Mapping[str, bytes] | None = None) -> None:
        """Append an event."""
        turn = self._record.state.turn
        known = turn.calls.get(data.call_id) if turn and isinstance(data, ToolStarted) else None
        if known is not None and known.started:
            return  # it began before a restart, had no effect, and is done again
        if isinstance(data, ToolFinished) and data.call_id in self._streams:
            stream, live = self._streams.pop(data.call_id)
            self._send(data.call_id, live, stream.end())
            self._send(data.call_id, live, "", is_last=True)
        self._record.append(data, turn_id=self._turn_id, blobs=blobs)

    async def settled(self, *, durable: bool = False) -> str | None:
        """Wait until all that was recorded is committed."""
        return await self._record.settled(durable=durable)

    def stream(self, call: ToolCall, text: str) -> None:
        """Show a piece of a call's output as it comes."""
        if call.id not in self._streams:
            live = Live(self._runtime.deadlines.monotonic())
            self._streams[call.id] = MaskedStream(self._record.masking), live
        stream, live = self._streams[call.id]
        self._send(call.id, live, stream.feed(text))

    def _send(self, call_id: str, live: Live, text: str, *, is_last: bool = False) -> None:
        """Send as much of a text as is shown, if anything."""
        offset = live.offset
        shown = live.end() if is_last else live.take(text, self._runtime.deadlines.monotonic())
        if shown and self._turn_id is not None:
            session_id = self._record.state.session_id
            self._runtime.on_frame(StreamFrame(session_id, self._turn_id, call_id, "output", offset, shown))


class Rules:
    """What may happen without a question in a turn."""

    def __init__(self, services: Services, record: Record, log: Log, mode: Mode) -> None:
        self._policy = services.policy
        self._workspace = services.workspace
        self._settings = services.runtime.settings
        self._record = record
        self._log = log
        of_turn: PermissionMode = "full" if mode == "agent" else "read-only"
        self._widest: PermissionMode = narrowest(of_turn, self._settings().permission_mode)

    @property
    def permission_mode(self) -> PermissionMode:
        """What holds now: a widened setting counts from the next turn, a narrowed one at once."""
        return narrowest(self._widest, self._settings().permission_mode)

    async def refresh(self, effect: Effect) -> bool:
        """Take in what has changed in the files of rules; gives whether anything has."""
        looks = [self._policy.ledger.refresh_now, self._policy.guarded.refresh_now]
        if effect == "edit":
            looks.append(self._look_at_obeyed)
        return await self._policy.trust.refresh(*looks)

    def _look_at_obeyed(self) -> bool:
        """Find out which files programs obey by another name; no plan depends on it. Blocks."""
        folders = self._workspace.folders.folders
        self._workspace.obeyed.look_for_other_names([folder.path.resolve() for folder in folders])
        return False

    def judge(self, tool: str, access: Access) -> Judgement:
        """Decide on an access of a tool by the modes, rules and grants that hold now."""
        mode = self.permission_mode
        ruling = self._policy.ruling(tool, access, mode)
        guard = self._policy.guarded.why(access.effect, access.paths)
        return decide(access, mode, self._record.state.grants.keys(), ruling, guard)

    def parts_of(self, command: Command) -> list[Part]:
        """The parts of a command line, each judged by the modes and rules that hold now."""
        return self._policy.ledger.parts(command, self.permission_mode)

    def decided(self, judgement: Judgement) -> None:
        """Take note that rules decided."""
        self._policy.ledger.count(judgement.rules)

    def tell_of_no_sandbox(self, none: NoSandbox) -> None:
        """Record, once in a session, that its commands run without a sandbox."""
        if not self._record.state.told_of_no_sandbox:
            self._log.record(SandboxAbsent(reason=none.reason, chosen=none.chosen))

    def tell_of_no_copy(self, reason: str) -> None:
        """Record, once in a session, that commands ask in mode `auto` because no copy of the files can be kept."""
        if not self._record.state.told_of_no_copy:
            self._log.record(AutoLimited(reason=reason))


MOST_QUESTIONS: Final[Mapping[Autonomy, int]] = {"cautious": 5, "balanced": 3, "decisive": 1}
"""Questions of the model in a turn."""
MOST_ROUNDS: Final = 2
"""Answers of the model with questions in a planning turn."""


class User:
    """The user, as the calls of a turn ask them."""

    def __init__(self, services: Services, record: Record, log: Log, inbox: Inbox, budget: Budget) -> None:
        self._services = services
        self._record = record
        self._log = log
        self._inbox = inbox
        self._budget = budget
        self.servers = ServerQuestions(services.runtime, record, log, inbox, budget)
        """What MCP servers want of them."""

    def approved(self, call: ToolCall) -> str | None:
        """Digest of what the user said yes to for a call of the latest response."""
        return _known(self._record, call).approved

    def answered(self, call: ToolCall, question: str) -> str | None:
        """The answer to that question of the call, where it was given already."""
        answered = _known(self._record, call).answered
        return answered[1] if answered and answered[0] == self._inbox.as_shown(question) else None

    def answered_before(self, question: str) -> Recalled | None:
        """The same question of an earlier call of the session, with the answer that it got."""
        shown = self._inbox.as_shown(question)
        answer = self._record.state.answers.get(same_words(shown))
        return None if answer is None else Recalled(question=shown, answer=answer)

    def asks_too_often(self, call: ToolCall) -> str | None:
        """Why the model may not ask again in this turn; None where it may."""
        state = self._record.state
        turn = state.turns[self._log.turn_id]
        if any(item.call_id == call.id for item in state.open.values()):
            return None  # asked before a restart
        most = MOST_QUESTIONS[turn.autonomy]
        if len(turn.asked_at) >= most:
            return f"this turn has asked the user {most} question{'s' if most > 1 else ''}, which is the most it may"
        rounds = set(turn.asked_at)
        if turn.mode == "plan" and turn.steps not in rounds and len(rounds) >= MOST_ROUNDS:
            return f"a planning turn may ask in {MOST_ROUNDS} of its answers at most"
        return None

    def asked_by_hook(self, call: ToolCall) -> str:
        """Why a hook has the user asked about a call; empty where none does."""
        return _known(self._record, call).asks

    def proposed(self, call: ToolCall, action: Action) -> Sequence[str]:
        """The ids of the changes of an action that waits for a yes since before a restart."""
        state = self._record.state
        items = (item for item in state.open.values() if item.call_id == call.id)
        waits = any(state.digests.get(item.id) == action.digest for item in items)
        return _known(self._record, call).asked_for if waits else ()

    def demanded(self, call: ToolCall) -> bool:
        """Whether a call is a check of the task, and not the model's."""
        return _known(self._record, call).check is not None

    def reviews(self, call: ToolCall) -> Sequence[Review]:
        """What the user has decided so far about single hunks of the call's edit."""
        return _known(self._record, call).reviews

    def notes(self, call: ToolCall) -> Sequence[str]:
        """What the user has said so far with a yes to the call."""
        return _known(self._record, call).notes

    async def approve(self, call: ToolCall, action: Action, change_ids: Sequence[str]) -> Approval:
        """Ask for a yes."""
        asking, log = Asking(call.id, action, change_ids), self._log
        seconds = self._budget.limits.ask_seconds
        with self._budget.held():
            return await self._inbox.approve(log.new_id("open"), log.turn_id, asking, seconds)

    @property
    def asks_together(self) -> bool:
        """Whether the edits of one step are asked about at once."""
        return self._services.runtime.editor.traits.asks_together

    async def approve_together(
        self, asked: Sequence[tuple[ToolCall, Action, Sequence[str]]]
    ) -> list[Approval]:
        """Ask for a yes to several edits at once; see `approve`."""
        log = self._log
        askings = [Asking(call.id, action, change_ids) for call, action, change_ids in asked]
        seconds = self._budget.limits.ask_seconds
        with self._budget.held():
            return await self._inbox.approve_together(
                lambda: log.new_id("open"), log.turn_id, askings, seconds
            )

    async def ask(
        self,
        call: ToolCall,
        question: str,
        options: Sequence[str],
        *,
        free_form: bool,
        detail: str = "",
        fields: Sequence[InputField] = (),
        url: str | None = None,
    ) -> str:
        """Ask a question."""
        log, seconds = self._log, self._budget.limits.ask_seconds
        with self._budget.held():
            return await self._inbox.ask(
                log.new_id("open"),
                log.turn_id,
                call.id,
                Question(question, options, free_form, detail, fields, url),
                seconds,
            )

    async def ask_for_trust(self, of_files: Collection[str] = ()) -> None:
        """Ask about the workspace folders that nobody vouches for, where something does not count because of that.

        Args:
            of_files: Instructions that were found further down, as the tools name them.
        """
        folders, trust = self._services.workspace.folders, self._services.policy.trust
        session_id, seconds = self._record.state.session_id, self._budget.limits.ask_seconds
        await trust.refresh()
        for folder in folders.folders:
            if trust.of(folder.path) != "unknown":
                continue
            found = [path for path in of_files if folders.folder_of(path) is folder]
            if not of_files and (own := await self._services.briefing.instructions_of(folder)) is not None:
                found = [own]
            withheld = [f"its instructions ({', '.join(found)}) are ignored"] if found else []
            if await self._services.policy.files.is_there(folder):
                withheld.append(f"its settings ({WORKSPACE_FILE}) are ignored")
            if not of_files and (brought := await self._services.brought.withheld(folder)):
                withheld.append(f"{brought} are ignored")
            if (narrowed := trust.narrows()) is not None:
                withheld.append(
                    f"Outrider asks before every change, even if your settings allow it ({narrowed})"
                )
            if withheld:
                with self._budget.held():
                    await trust.ask(folder, withheld, session_id, self._log.turn_id, seconds)

    async def with_own_steps(self, items: Sequence[PlanItem]) -> tuple[list[PlanItem], list[PlanItem]]:
        """A plan of the model with the steps of the user that are not in it; and those steps."""
        state, shown = self._record.state, self._inbox.as_shown
        turn = state.turns[self._log.turn_id]
        steps = turn.own_steps
        # They may have changed the document since they started it.
        if turn.plan_document is not None and (
            now := await self._services.plans.steps_of(turn.plan_document)
        ):
            steps = [PlanItem(text=shown(one.text), status="done" if one.done else "pending") for one in now]
        known = {same_words(one.text): one.status for one in state.plan}
        steps = [
            one.model_copy(update={"status": known.get(same_words(one.text), one.status)}) for one in steps
        ]
        return with_steps(items, steps)

    async def write_plan(
        self, goal: str, steps: Sequence[str], files: Sequence[str], checks: Sequence[str], notes: str = ""
    ) -> str | PlanUnwritten:
        """Write the document of the turn's plan, in place of the one that it wrote before; gives its path."""
        turn, shown = self._record.state.turns[self._log.turn_id], self._inbox.as_shown
        if turn.mode != "plan":
            return PlanUnwritten("only a planning turn writes one")
        plan = Plan(
            shown(goal),
            tuple(turn.brief),
            tuple(Step(shown(one)) for one in steps),
            tuple(map(shown, files)),
            tuple(map(shown, checks)),
            shown(notes),
        )
        path = await self._services.plans.write(plan, turn.plan_path)
        if isinstance(path, PlanProblem):
            return PlanUnwritten(path.message)
        self._log.record(
            PlanWritten(
                path=path,
                goal=plan.goal,
                brief=list(plan.brief),
                steps=[one.text for one in plan.steps],
                files=list(plan.files),
                checks=list(plan.checks),
            )
        )
        return path

    async def checks_of_workspace(self) -> ChecksHere:
        """The checks that the settings of the workspace name; the user is asked about new ones."""
        session_id, seconds = self._record.state.session_id, self._budget.limits.ask_seconds
        with self._budget.held():
            return await self._services.policy.checks.look(session_id, self._log.turn_id, seconds)


class Client:
    """The client, where it runs tools of its own."""

    def __init__(self, record: Record, log: Log, inbox: Inbox, budget: Budget) -> None:
        self._record = record
        self._log = log
        self._inbox = inbox
        self._budget = budget

    async def call(self, call: ToolCall, given: Mapping[str, Any], *, durable: bool) -> ToolAnswer:
        """Have it run a call."""
        log, limits = self._log, self._budget.of_results()
        with self._budget.held():
            return await self._inbox.call(
                log.new_id("open"), log.turn_id, call, given, limits, durable=durable
            )

    def was_asked(self, call: ToolCall) -> bool:
        """Whether it was asked to run that call."""
        return _known(self._record, call).handed


class Buffers:
    """The open documents that a session has changed, and how they are saved."""

    def __init__(self, services: Services, record: Record, touched: dict[str, int], budget: Budget) -> None:
        self._runtime = services.runtime
        self._workspace = services.workspace
        self._record = record
        self._touched = touched
        self._budget = budget

    @property
    def tells_saves(self) -> bool:
        """Whether the client says when a document was saved."""
        return self._runtime.editor.traits.tells_saves

    def unsaved(self) -> Sequence[str]:
        """URIs of those that were not saved since."""
        documents = {uri: self._workspace.documents.get(uri) for uri in self._touched}
        return [uri for uri, one in documents.items() if one is not None and one.saves == self._touched[uri]]

    def changed(self, uri: str) -> None:
        """Take note that this session changed an open document."""
        document = self._workspace.documents.get(uri)
        if document is not None:
            self._touched[uri] = document.saves

    def is_own_work(self, path: str, on_disk: str, text: str) -> bool:
        """Whether this session's edits alone led from the text on disk to another one."""
        return self._record.state.journal.led(path, on_disk, text)

    async def have_saved(self, uris: Sequence[str]) -> Sequence[Tried]:
        """Have the client save these documents."""
        workspace, runtime = self._workspace, self._runtime
        with self._budget.held():
            return await have_saved(
                uris, workspace.overlay, workspace.documents, runtime.editor, runtime.deadlines
            )

    async def saved(self, uris: Sequence[str]) -> None:
        """Wait until the client has saved these documents, for as long as a question may take."""
        workspace, runtime, waiting = self._workspace, self._runtime, set(uris)
        if waiting & set(self.unsaved()):
            names = ", ".join(workspace.folders.display_of(uri) for uri in uris)
            runtime.editor.say("info", f"Outrider continues as soon as {names} is saved.")
        with self._budget.held():
            for uri in uris:
                await workspace.documents.until(
                    uri,
                    lambda _: not waiting & set(self.unsaved()),
                    runtime.deadlines,
                    self._budget.limits.ask_seconds,
                )


@dataclass(frozen=True, kw_only=True)
class TurnContext(ToolContext):
    """One turn as its tools see it; also an undo, which belongs to no turn."""

    user: User
    knowledge: Knowledge
    verdicts: TurnVerdicts

    @staticmethod
    def of(
        services: Services,
        record: Record,
        inbox: Inbox,
        touched: dict[str, int],
        jobs: Jobs,
        shared: Shared,
        budget: Budget,
        *,
        turn_id: str | None,
        label: str,
        mode: Mode = "agent",
    ) -> "TurnContext":
        """Bind a turn.

        Args:
            services: The services of the server.
            record: The session's log.
            inbox: The session's open items.
            touched: The session's own changes of buffers: URI → how often it had been saved at that time.
            jobs: The session's background jobs.
            shared: What its commands share.
            budget: Has the limits; its watch stops while somebody is waited for.
            turn_id: The turn, None for an undo.
            label: What the editor's undo list calls its changes.
            mode: `plan` and `explore` are read-only.
        """
        runtime, log = services.runtime, Log(services.runtime, record, turn_id)

        return TurnContext(
            workspace=services.workspace,
            knowledge=Knowledge(services, record),
            languages=services.languages,
            verdicts=services.judges(record, turn_id),
            masking=record.masking,
            limits=budget.limits,
            buffers=Buffers(services, record, touched, budget),
            log=log,
            user=User(services, record, log, inbox, budget),
            client=Client(record, log, inbox, budget),
            jobs=jobs,
            rules=Rules(services, record, log, mode),
            commands=Commands(runtime, services.workspace, services.policy.sandbox, shared),
            clock=runtime.deadlines,
            label=label,
        )
