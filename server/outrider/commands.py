"""The command table at work: checks the params of each command, does it, and gives its result."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from outrider.agent.context.workspace_news import BYTES_PER_TOKEN, words_of
from outrider.agent.interaction import plan_document
from outrider.agent.interaction.inbox import FROM_ANYBODY
from outrider.agent.interaction.plan_document import PlanProblem
from outrider.agent.service import doctor, whole_sessions
from outrider.agent.service.commands import commands
from outrider.agent.service.export import export_session
from outrider.agent.service.jobs import jobs
from outrider.agent.service.models import models
from outrider.agent.service.permissions import permissions
from outrider.agent.service.servers import servers
from outrider.agent.session.joined import ONLY_WATCHED
from outrider.agent.session.session import Refused
from outrider.app import App
from outrider.guests import FOR_GUESTS, Guests
from outrider.permissions.policy.ledger import LedgerProblem
from outrider.permissions.policy.trust import TrustProblem
from outrider.ports.maps import Focus
from outrider.ports.refusal import CommandError
from outrider.store.problem import StoreReadError
from outrider_protocol import (
    ANSWER,
    CANCEL,
    CHANGES,
    CONTINUE,
    CUSTOM_COMMANDS,
    DELETE,
    DOCTOR,
    EVENTS,
    EXPLORE,
    EXPORT,
    FORK,
    IMPORT,
    INVALID_PARAMS,
    JOBS,
    LEAVE,
    MAP,
    MODELS,
    OPEN,
    PERMISSIONS,
    PLAN,
    PROMPT,
    QUEUE,
    REDO,
    RENAME,
    REQUEST_FAILED,
    RESEND,
    RESTORE,
    RESUME,
    RETRY,
    RUN,
    SERVERS,
    SESSIONS,
    SETUP,
    STATUS,
    STEER,
    TOOLS,
    TRUST,
    UNDO,
    WAIT,
)  # fmt: skip
from outrider_protocol.commands import (
    COMMANDS,
    AnswerParams,
    AnswerResult,
    CancelParams,
    CancelResult,
    ChangesParams,
    ChangesResult,
    CommandsParams,
    CommandsResult,
    ContinueParams,
    DeleteParams,
    DeleteResult,
    DoctorParams,
    DoctorResult,
    EventsParams,
    EventsResult,
    ExploreParams,
    ExportParams,
    ForkFrom,
    ForkResult,
    ImportParams,
    ImportResult,
    JobsParams,
    JobsResult,
    LeaveParams,
    LeaveResult,
    MapParams,
    MapResult,
    ModelsParams,
    ModelsResult,
    OpenParams,
    OpenResult,
    PermissionsParams,
    PermissionsResult,
    PlanParams,
    PromptParams,
    PromptResult,
    QueueParams,
    QueueResult,
    RenameParams,
    RenameResult,
    ResendParams,
    RestoreParams,
    RestoreResult,
    ResumeParams,
    RetryParams,
    RetryResult,
    RunParams,
    RunResult,
    ServersParams,
    ServersResult,
    SessionsParams,
    SessionsResult,
    SessionStatus,
    SetupParams,
    SetupResult,
    StatusParams,
    StatusResult,
    SteerParams,
    SteerResult,
    ToolInfo,
    ToolsParams,
    ToolsResult,
    TrustParams,
    TrustResult,
    UndoParams,
    UndoResult,
    WaitParams,
    WaitResult,
)  # fmt: skip
from outrider_protocol.events import PlanItem, UndonePath
from outrider_protocol.export import Export
from outrider_protocol.wire import Wire

log = logging.getLogger(__name__)

MOST_PROBLEMS = 3
"""Wrong params that one message names."""
LONGEST_MESSAGE = 800
"""Characters of an error's message."""


class Commands:
    """The commands of one server."""

    def __init__(self, app: App) -> None:
        """Bind the commands to a house."""
        self._app = app
        self._doing: set[asyncio.Future[Any]] = set()
        self._handlers: dict[str, Callable[[Any], Awaitable[Wire]]] = {
            RUN: self._run,
            EXPLORE: self._explore,
            PLAN: self._plan,
            STEER: self._steer,
            CANCEL: self._cancel,
            RETRY: self._retry,
            ANSWER: self._answer,
            STATUS: self._status,
            WAIT: self._wait,
            EVENTS: self._events,
            SESSIONS: self._sessions,
            RESUME: self._resume,
            UNDO: self._undo,
            REDO: self._redo,
            CHANGES: self._changes,
            TOOLS: self._tools,
            MODELS: self._models,
            DOCTOR: self._doctor,
            PROMPT: self._prompt,
            MAP: self._map,
            OPEN: self._open,
            EXPORT: self._export,
            PERMISSIONS: self._permissions,
            TRUST: self._trust,
            JOBS: self._jobs,
            CUSTOM_COMMANDS: self._custom_commands,
            CONTINUE: self._continue,
            RESEND: self._resend,
            RESTORE: self._restore,
            QUEUE: self._queue,
            FORK: self._fork,
            RENAME: self._rename,
            DELETE: self._delete,
            IMPORT: self._import,
            LEAVE: self._leave,
            SERVERS: self._servers,
            SETUP: self._setup,
        }

    async def execute(self, name: str, argument: Any, *, forwards: bool = True) -> dict[str, Any]:
        """Do a command; one about a session that another process runs is done there.

        Args:
            name: One of the command table.
            argument: Its one object, as it came.
            forwards: Whether another process may be asked; False for one that was asked itself.

        Raises:
            CommandError: the params are wrong (−32602) or it cannot be done (−32803).
        """
        try:
            to_jsonable_python(argument)
        except (ValueError, RecursionError):  # what cannot be written into the log cannot be taken in
            problem = "is nested too deeply, or has a key with invalid Unicode"
            raise CommandError(
                INVALID_PARAMS, f"{name}: params: {problem}", {"path": "", "problem": problem}
            ) from None
        try:
            params = COMMANDS[name].params.from_wire(argument)
        except ValidationError as error:
            wrong = [
                (_path(one["loc"]), _said(one))
                for one in error.errors(include_url=False, include_context=False)
            ]
            path, problem = wrong[0]
            message = "; ".join(f"{path or 'params'}: {problem}" for path, problem in wrong[:MOST_PROBLEMS])
            raise CommandError(
                INVALID_PARAMS, f"{name}: {message}", {"path": path, "problem": problem}
            ) from None
        try:
            return await self._executed(name, argument, params, forwards=forwards)
        except StoreReadError as error:
            raise CommandError(REQUEST_FAILED, error.problem.message, {"reason": "store_failed"}) from error

    async def _executed(self, name: str, argument: Any, params: Any, *, forwards: bool) -> Any:
        if forwards and name in FOR_GUESTS and (there := await self._where_it_runs(name, params)) is not None:
            if name not in {STATUS, WAIT} and not self._app.services.runtime.editor.traits.takes_approvals:
                raise CommandError(REQUEST_FAILED, ONLY_WATCHED, {"reason": "no_token"})
            given = {key: value for key, value in argument.items() if key != "draft"}
            done = await self._app.sessions.joined.command(there, name, given)
            if done is not None:
                return done
        doing = asyncio.ensure_future(self._handlers[name](params))
        if name == WAIT or (isinstance(params, JobsParams) and params.action == "wait"):
            return (await doing).to_wire()
        # A request that is cancelled in the middle must not leave a turn that never runs, or half an undo.
        self._doing.add(doing)
        doing.add_done_callback(self._done)
        return (await asyncio.shield(doing)).to_wire()

    async def _where_it_runs(self, name: str, params: Any) -> str | None:
        """The session that a command is about, if another process runs it."""
        sessions = self._app.sessions
        if name == ANSWER:
            return await sessions.elsewhere(item_id=params.id)
        session_id, turn_id = getattr(params, "session_id", None), getattr(params, "turn_id", None)
        if getattr(params, "continue_", None):
            session_id = sessions.latest
        return await sessions.elsewhere(session_id=session_id, turn_id=turn_id)

    def _done(self, doing: "asyncio.Future[Any]") -> None:
        self._doing.discard(doing)
        if (
            not doing.cancelled()
            and (problem := doing.exception())
            and not isinstance(problem, CommandError | StoreReadError)
        ):
            log.error("a command failed", exc_info=problem)

    async def _run(self, params: RunParams) -> RunResult:
        if params.fork is not None:
            forked = await self._fork(params.fork)
            params = params.model_copy(update={"fork": None, "session_id": forked.session_id})
        return _accepted(await self._app.sessions.run(params))

    async def _plan(self, params: PlanParams) -> RunResult:
        found = await self._app.services.plans.read(params.uri)
        if isinstance(found, PlanProblem):
            return _accepted(Refused("invalid", found.message))
        path, plan = found
        given = RunParams(
            prompt=plan_document.task(plan, path),
            plan=[PlanItem(text=one.text, status="done" if one.done else "pending") for one in plan.steps],
            plan_document=path,
            acceptance=[*plan.checks, *(params.acceptance or ())] or None,
            session_id=params.session_id or self._app.sessions.that_planned(path),
            model=params.model,
            limits=params.limits,
            thinking=params.thinking,
        )
        return await self._run(given)

    async def _explore(self, params: ExploreParams) -> RunResult:
        return await self._run(RunParams(**dict(params), mode="explore"))

    async def _continue(self, params: ContinueParams) -> RunResult:
        return _accepted(await self._app.sessions.go_on_with(params))

    async def _resend(self, params: ResendParams) -> RunResult:
        if params.files:
            self._need_known_client()
        return _accepted(await self._app.sessions.resend(params))

    async def _restore(self, params: RestoreParams) -> RestoreResult:
        self._need_known_client()
        return _accepted(await self._app.sessions.restore(params))

    async def _queue(self, params: QueueParams) -> QueueResult:
        session = _accepted(self._app.sessions.get(params.session_id))
        _accepted(await session.requeue(params))
        status = session.status()
        return QueueResult(session_id=session.id, queue=status.queue, steering=status.steering)

    async def _fork(self, params: ForkFrom) -> ForkResult:
        if params.files:
            self._need_known_client()
        return _accepted(await whole_sessions.fork(self._app.services, self._app.sessions, params))

    async def _rename(self, params: RenameParams) -> RenameResult:
        return _accepted(await whole_sessions.rename(self._app.sessions, params))

    async def _delete(self, params: DeleteParams) -> DeleteResult:
        self._need_known_client()
        done = _accepted(await whole_sessions.delete(self._app.services, self._app.sessions, params))
        self._app.task_document.forget(params.session_id)
        return done

    async def _import(self, params: ImportParams) -> ImportResult:
        self._need_known_client()
        return _accepted(await whole_sessions.take_in(self._app.services, self._app.sessions, params))

    async def _steer(self, params: SteerParams) -> SteerResult:
        session = _accepted(self._app.sessions.get(params.session_id))
        done = session.steer(params.text) if params.text is not None else session.unsteer(params.remove or "")
        return SteerResult(pending_id=_accepted(await done))

    async def _cancel(self, params: CancelParams) -> CancelResult:
        outcome = _accepted(
            await self._app.sessions.cancel(params.turn_id, params.reason or "cancelled by command")
        )
        return CancelResult(turn_id=params.turn_id, outcome=outcome)

    async def _retry(self, params: RetryParams) -> RetryResult:
        return _accepted(await self._app.sessions.retry(params))

    async def _answer(self, params: AnswerParams) -> AnswerResult:
        _accepted(await self._app.sessions.answer(params, "command"))
        return AnswerResult(id=params.id)

    async def _status(self, params: StatusParams) -> StatusResult:
        if params.session_id is not None:
            return StatusResult(sessions=[_accepted(await self._app.sessions.status(params.session_id))])
        running = [session.status() for session in self._app.sessions.running]
        return StatusResult(sessions=running, model=self._app.next_model)

    async def _wait(self, params: WaitParams) -> WaitResult:
        return _accepted(await self._app.sessions.wait(params.turn_id, params.timeout))

    async def _events(self, params: EventsParams) -> EventsResult:
        return _accepted(await self._app.sessions.events(params))

    async def _sessions(self, params: SessionsParams) -> SessionsResult:
        return await self._app.sessions.list(params)

    async def _leave(self, params: LeaveParams) -> LeaveResult:
        if not await self._app.sessions.joined.leave(params.session_id):
            _accepted(Refused("unknown_id", f"session {params.session_id!r} is not watched here"))
        return LeaveResult(session_id=params.session_id)

    async def _resume(self, params: ResumeParams) -> SessionStatus:
        if await self._app.sessions.elsewhere(session_id=params.session_id) is not None:
            return _accepted(await self._app.sessions.joined.join(params.session_id))
        return _accepted(await self._app.sessions.resume(params.session_id)).status()

    async def _undo(self, params: UndoParams) -> UndoResult:
        return await self._take_back(params, redo=False)

    async def _redo(self, params: UndoParams) -> UndoResult:
        return await self._take_back(params, redo=True)

    async def _take_back(self, params: UndoParams, *, redo: bool) -> UndoResult:
        self._need_known_client()
        if params.dry_run:
            return _accepted(await self._app.sessions.undo(params, redo=redo))
        if params.wait:
            return self._told(
                _accepted(await self._app.sessions.undo(params, redo=redo)), redo=redo, says=params.says
            )
        doing = asyncio.ensure_future(self._take_back_meanwhile(params, redo=redo))
        self._doing.add(doing)
        doing.add_done_callback(self._done)
        return UndoResult(change_id="", undone=[], conflicts=[], not_undoable=[])

    async def _take_back_meanwhile(self, params: UndoParams, *, redo: bool) -> UndoResult:
        """After the command was answered: a message is all that can still be said."""
        try:
            return self._told(
                _accepted(await self._app.sessions.undo(params, redo=redo)), redo=redo, says=params.says
            )
        except CommandError as error:
            self._app.services.runtime.editor.say("warning", f"Outrider: {error.message}")
            raise
        except StoreReadError as error:
            self._app.services.runtime.editor.say("warning", f"Outrider: {error.problem.message}")
            raise CommandError(REQUEST_FAILED, error.problem.message, {"reason": "store_failed"}) from error

    def _told(self, result: UndoResult, *, redo: bool, says: bool) -> UndoResult:
        """Say what was left as it is, or that nothing was done: most clients show nothing of a command's result."""
        left = [f"{conflict.path}, line {conflict.line}: {conflict.reason}" for conflict in result.conflicts]
        left += [f"{item.what}: {item.reason}" for item in result.not_undoable]
        if says and result.undone:
            did = f"Outrider {'redid' if redo else 'undid'} {_counted(result.undone)}"
            rest = f"; left unchanged: {'; '.join(left)}" if left else ""
            level = "warning" if left else "info"
            self._app.services.runtime.editor.say(level, f"{did}{rest}."[:LONGEST_MESSAGE])
        elif left:
            self._app.services.runtime.editor.say(
                "warning", f"Outrider left unchanged: {'; '.join(left)[:LONGEST_MESSAGE]}"
            )
        elif not result.undone and (
            says or not self._app.settings.now.events
        ):  # who gets events looks at the result, too
            what = "redo" if redo else "undo"
            self._app.services.runtime.editor.say("info", f"Outrider: there was nothing to {what}.")
        return result

    async def _changes(self, params: ChangesParams) -> ChangesResult:
        return _accepted(await self._app.sessions.changes(params))

    async def _tools(self, params: ToolsParams) -> ToolsResult:
        offered = await self._app.services.tools.now(params.mode).offered_now(params.mode)
        return ToolsResult(
            tools=[
                ToolInfo(
                    name=tool.name,
                    description=tool.description,
                    input_schema=dict(tool.spec().schema),
                    effect=tool.effect,
                )
                for tool in offered
            ]
        )

    async def _models(self, _params: ModelsParams) -> ModelsResult:
        return await models(self._app.services)

    async def _setup(self, params: SetupParams) -> SetupResult:
        if params.action != "list":  # a key would go where any program says
            self._need_known_client()
        return await self._app.setup.do(params)

    async def _doctor(self, params: DoctorParams) -> DoctorResult:
        return DoctorResult(
            checks=await doctor.examine(self._app.services, self._app.messages, probe=params.probe)
        )

    async def _prompt(self, params: PromptParams) -> PromptResult:
        return _accepted(await self._app.sessions.prompt(params.session_id))

    async def _map(self, params: MapParams) -> MapResult:
        services = self._app.services
        tokens = params.tokens or services.runtime.settings().repository_map.tokens
        focus = Focus(open=params.files or (), words=words_of(params.prompt or ""))
        blocks = await services.maps.draw(focus, tokens * BYTES_PER_TOKEN)
        if blocks is None:
            return _accepted(
                Refused(
                    "no_map", "there is no repository map: no folder is open, or the map could not be made"
                )
            )
        return MapResult(text="\n".join(blocks), files=len(blocks))

    async def _open(self, params: OpenParams) -> OpenResult:
        editor = self._app.services.runtime.editor
        if params.what == "task":
            path = await self._app.task_document.opened()
        elif params.what == "setup":
            path = await self._app.setup_document.opened()
        elif params.what == "changes":
            path = _accepted(await self._app.changes_papers.shown(params.id or ""))
        else:
            item = next((item for item in self._app.sessions.waiting if item.id == params.id), None)
            if item is None:
                return _accepted(Refused("unknown_id", f"there is no open item {params.id!r}"))
            path = await self._app.sessions.paper_of(item, review=params.what == "review")
        if isinstance(path, str):
            raise CommandError(REQUEST_FAILED, path, {"reason": "cannot_write"})
        if not await editor.show(path.as_uri(), take_focus=True):
            editor.say("info", f"Outrider: open {path.parent.name}/{path.name}: write your text there.")
        return OpenResult(uri=path.as_uri())

    async def _permissions(self, params: PermissionsParams) -> PermissionsResult:
        if params.action in {"add", "remove"}:
            self._need_known_client()
        done = await permissions(self._app.services, self._app.sessions.running, params)
        if isinstance(done, LedgerProblem):
            raise CommandError(REQUEST_FAILED, _cut(done.message), {"reason": done.reason})
        return done

    async def _trust(self, params: TrustParams) -> TrustResult:
        if params.action != "list":
            self._need_known_client()
        done = await self._app.services.policy.trust.listed(params)
        if isinstance(done, TrustProblem):
            raise CommandError(REQUEST_FAILED, _cut(done.message), {"reason": done.reason})
        return done

    def _need_known_client(self) -> None:
        """Refuse where any program could be the client: what changes files or the log, or stands for later answers to approvals."""
        if not self._app.services.runtime.editor.traits.takes_approvals:
            raise CommandError(REQUEST_FAILED, FROM_ANYBODY, {"reason": "no_token"})

    async def _servers(self, params: ServersParams) -> ServersResult:
        if params.action != "list":
            self._need_known_client()
        of_mcp: ServersResult = _accepted(await servers(self._app.services, params))
        of_languages = await doctor.servers(self._app.services)
        return of_mcp.model_copy(update={"servers": [*of_languages, *of_mcp.servers]})

    async def _custom_commands(self, _params: CommandsParams) -> CommandsResult:
        return await commands(self._app.services)

    async def _jobs(self, params: JobsParams) -> JobsResult:
        return _accepted(await jobs(self._app.sessions.running, params))

    async def _export(self, params: ExportParams) -> Export:
        return _accepted(await export_session(self._app.services, params.session_id))


def begin(app: App) -> Commands:
    """The commands of a house, which other processes of the user may give, too, as far as `guests` says."""
    commands = Commands(app)
    Guests(app, partial(commands.execute, forwards=False))
    return commands


def _counted(undone: Sequence[UndonePath]) -> str:
    """What was taken back, file by file."""
    files: dict[str, int] = {}
    for one in undone:
        files[one.path] = files.get(one.path, 0) + max(1, one.hunks)
    return ", ".join(f"{hunks} change{'s' * (hunks > 1)} in {path}" for path, hunks in files.items())


def _accepted(value: Any) -> Any:
    if isinstance(value, Refused):
        raise CommandError(REQUEST_FAILED, _cut(value.message), {**value.data, "reason": value.reason})
    return value


def _cut(message: str) -> str:
    """A message, which may quote what was given, however long that is."""
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}…"


def _path(place: Sequence[int | str]) -> str:
    return ".".join(str(part) for part in place)


def _said(problem: Any) -> str:
    if problem["type"] == "extra_forbidden":
        return "there is no such key"
    return str(problem["msg"]).removeprefix("Value error, ")
