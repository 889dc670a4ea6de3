"""The tool that runs a command, after the buffers it would read from the disk were saved.

It runs in the sandbox where there is one; if that stands in its way, the person may have it run once more without.
"""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from pydantic import Field

from outrider.permissions.commands import Command
from outrider.permissions.decide import Access
from outrider.permissions.secret_values import MOST_BYTES
from outrider.ports.model import ToolCall
from outrider.processes import Capture, CommandResult, JobOrder, SpawnProblem, run_command, shell_argv
from outrider.processes.sandbox import Confined, sign_of_sandbox
from outrider.tools import aftermath
from outrider.tools.command_line import described, look_at, look_with_past, rules_for, secret_files_named
from outrider.tools.context import Action, ToolContext
from outrider.tools.registry import Params, Tool
from outrider.tools.result import ToolResult, error, ok
from outrider.tools.unsaved import saved_by_client
from outrider.workspace.paths import PathProblem
from outrider_protocol import RUN_OUTSIDE, RUN_WITHOUT_SAVING, SAVE_AND_CONTINUE, SAVE_CANCEL
from outrider_protocol.events import JobFinished, JobStarted


class RunCommand(Params):
    """Arguments of `run_command`."""

    command: str = Field(min_length=1, description="A bash command. It has no terminal and no input.")
    cwd: str | None = Field(default=None, description="Folder to run it in, relative to the workspace.")
    timeout: float | None = Field(default=None, gt=0, description="Seconds after which it is ended.")
    background: bool = Field(
        default=False,
        description="Start it as a job and go on, for servers and watchers; read_job and kill_job are for it.",
    )


async def plan_run(params: RunCommand, call: ToolCall, context: ToolContext) -> Action | ToolResult:
    """Run a command."""
    if params.cwd is None and not context.folders.folders:
        return error("no workspace folder is open, so cwd must say where the command runs")
    located = await context.folders.locate(params.cwd or str(context.folders.folders[0].path))
    if isinstance(located, PathProblem):
        return error(located.message)
    if located.resolved is None:
        return error(f"{located.display} is not a folder of the disk.")
    if "\0" in params.command:
        return error("a command cannot hold NUL bytes")
    confined = await context.confine(shell_argv(params.command), located.resolved)
    search_path = confined.env_outside.get("PATH", "")
    command = await _looked_at(params.command, located.resolved, search_path, context)
    if confined.refused:
        return error(confined.told)
    run = _Run(params, call, context, located.resolved, confined, command)

    async def prepare() -> ToolResult | None:
        if await _saved_first(call, context):
            return None
        return ToolResult("denied", "The person cancelled the command, because of unsaved files.")

    where = (
        "the workspace folder"
        if located.display == "."
        else located.display
        if located.inside
        else str(run.cwd)
    )
    manner = "In the background, in" if params.background else "In"
    # A grant is for the scripts as they were, and for how it is run: with other ones it is another command.
    key = ["run", *(["job"] if params.background else []), *(["sandboxed"] if confined.walls else [])]
    scripts = "".join(sorted(command.scripts.values()))
    grant = f"{'-'.join(key)}:{run.cwd}\0{params.command}{scripts}" if located.inside else None
    return Action(
        access=Access("execute", inside=located.inside, grant=grant, command=command),
        perform=run.start if params.background else run.run,
        prepare=prepare,
        title=f"Run: {params.command}",
        detail=f"{manner} {where}, for {run.seconds:g} s at most.\n{confined.told}\n"
        f"{described(command, context.parts_of(command))}".rstrip(),
        digest=run.digest(confined),
        covers=f"this exact command in {where}" if grant else "",
        always=rules_for(command) if grant else (),
        partial=run.shown.text,
    )


class _Run:
    """A command that is about to run."""

    def __init__(
        self,
        params: RunCommand,
        call: ToolCall,
        context: ToolContext,
        cwd: Path,
        confined: Confined,
        command: Command,
    ) -> None:
        limits = context.limits
        most = limits.job_seconds if params.background else limits.command_seconds
        self.cwd = cwd
        self.seconds = min(params.timeout or most, most)
        self.shown = Capture(limits.output_bytes)
        self._params = params
        self._call = call
        self._context = context
        self._confined = confined
        self._command = command

    def digest(self, confined: Confined) -> str:
        """Of all that the run depends on: the whole command line, walls included, the folder, environment and scripts."""
        env = json.dumps(sorted(confined.env.items())).encode("utf-8", "surrogatepass")
        parts = [list(confined.argv), str(self.cwd), hashlib.sha256(env).hexdigest()]
        rest = [*sorted(self._command.scripts.values()), *(["job"] if self._params.background else [])]
        return hashlib.sha256(json.dumps([*parts, *rest]).encode("utf-8", "surrogatepass")).hexdigest()

    async def start(self) -> ToolResult:
        """Start it as a job."""
        context, limits = self._context, self._context.limits
        order = JobOrder(
            id=context.new_id("job"),
            turn_id=context.turn_id,
            command=self._params.command,
            argv=self._confined.argv,
            cwd=self.cwd,
            env=self._confined.env,
            sandboxed=self._confined.walls is not None,
            total_seconds=self.seconds,
            idle_seconds=limits.job_idle_seconds,
            output_limit=limits.output_bytes,
        )
        context.record(
            JobStarted(
                job_id=order.id,
                call_id=self._call.id,
                command=order.command,
                cwd=str(order.cwd),
                sandboxed=order.sandboxed,
            )
        )
        job = await context.jobs.start(order)
        if isinstance(job, SpawnProblem):
            context.record(JobFinished(job_id=order.id, status="lost"))
            return error(f"The job could not be started: {job.message}")
        return ok(
            f"Started as {job.id}. It goes on when you have finished, until the session or its server ends; what it changes in files cannot be undone."
        )

    async def run(self) -> ToolResult:
        """Run it to its end."""
        context, confined = self._context, self._confined
        await asyncio.to_thread(self._learn)
        came, unsaved, changed = await self._once(confined)
        sign = self._sandbox_stood_in_the_way(came)
        if sign is not None:
            outside = self._outside()
            if (refusal := await self._refusal_of_outside(outside, sign, changed)) is not None:
                changed.append(refusal)
            else:
                self._show("\n[once more, outside the sandbox]\n")
                came, unsaved, again = await self._once(outside)
                changed = [*changed, *again, "it was run once more outside the sandbox"]
        return _told(came, self.seconds, context.limits.command_idle_seconds, unsaved, changed)

    def _learn(self) -> None:
        """Know the values in files of secrets that the command names, before it prints them."""
        for path in secret_files_named(self._command.line, self.cwd):
            with suppress(OSError):
                if path.is_file() and path.stat().st_size <= MOST_BYTES:
                    self._context.masking.learn_settings(path.read_text("utf-8", "replace"))

    def _outside(self) -> Confined:
        return replace(self._confined, argv=self._confined.argv_outside, env=self._confined.env_outside)

    async def _refusal_of_outside(self, outside: Confined, sign: str, changed: Sequence[str]) -> str | None:
        """Ask whether it may be run without walls; why it is not, None if it is.

        The run that failed could write in the workspace, its own scripts included, so it is looked at anew, and again after the yes.
        """
        context = self._context
        await self._look_again()
        asked = self.digest(outside)
        action = Action(
            access=Access("execute"),
            perform=self.run,
            title=f"{RUN_OUTSIDE}: {self._params.command}",
            detail=f"It failed in the sandbox: {sign}. Outside it can write everywhere that you can, and reach "
            f"the network. What it did until it failed is done twice{''.join(f'; {one}' for one in changed)}.\n"
            f"{described(self._command, context.parts_of(self._command))}".rstrip(),
            digest=asked,
            leaves_sandbox=True,
        )
        if (await context.approve(self._call, action, ())).decision == "reject":
            return "it failed in the sandbox, and the person chose not to run it outside"
        await self._look_again()
        if self.digest(outside) != asked or await asyncio.to_thread(self.cwd.resolve) != self.cwd:
            return "it failed in the sandbox, and was not run outside: what it runs changed while the person was asked"
        return None

    async def _look_again(self) -> None:
        path = self._confined.env_outside.get("PATH", "")
        self._command = await _looked_at(self._params.command, self.cwd, path, self._context)

    async def _once(self, confined: Confined) -> tuple[CommandResult | SpawnProblem, list[str], list[str]]:
        context = self._context
        unsaved = [context.folders.display_of(uri) for uri in await context.overlay.unsaved()]
        files = await aftermath.before(context, self._command)
        try:
            result = await run_command(
                context.supervisor,
                confined.argv,
                cwd=self.cwd,
                env=confined.env,
                clock=context.clock,
                total_seconds=self.seconds,
                idle_seconds=context.limits.command_idle_seconds,
                output_limit=context.limits.output_bytes,
                on_output=self._show,
            )
        except asyncio.CancelledError:
            # What it did until then is there all the same.
            await aftermath.record(context, self._call, self._params.command, files)
            raise
        changed = await aftermath.record(context, self._call, self._params.command, files)
        return result, unsaved, changed

    def _sandbox_stood_in_the_way(self, came: CommandResult | SpawnProblem) -> str | None:
        walls = self._confined.walls
        if walls is None or not self._confined.may_leave or isinstance(came, SpawnProblem):
            return None
        if came.status != "exited" or came.exit is None or came.exit.code in {0, None}:
            return None
        return sign_of_sandbox(came.output, network=walls.network, hidden=walls.hidden, seen=walls.seen)

    def _show(self, text: str) -> None:
        self.shown.feed(text.encode("utf-8", "replace"))
        self._context.stream_output(self._call, text)


async def _looked_at(text: str, cwd: Path, search_path: str, context: ToolContext) -> Command:
    look = partial(look_at, text, context.folders, cwd, context.why_shut, search_path)
    return await look_with_past(look, context.git_history, search_path)


async def _saved_first(call: ToolCall, context: ToolContext) -> bool:
    """Have the agent's own unsaved buffers saved, by the client or the person; False if the command shall not run."""
    if waiting := await _own_unsaved(context):
        await saved_by_client(waiting, call, context)
    while waiting := await _own_unsaved(context):
        names = ", ".join(context.folders.display_of(uri) for uri in waiting)
        answer = await context.ask(
            call,
            f"The command reads files from the disk, and Outrider's changes in {names} are not saved. "
            f"“{SAVE_AND_CONTINUE}” starts it as soon as you have saved them.",
            [SAVE_AND_CONTINUE, RUN_WITHOUT_SAVING, SAVE_CANCEL],
            free_form=False,
        )
        if answer != SAVE_AND_CONTINUE:
            return answer == RUN_WITHOUT_SAVING
        await context.saved(waiting)
    return True


async def _own_unsaved(context: ToolContext) -> list[str]:
    changed = context.agent_buffers()
    return [uri for uri in await context.overlay.unsaved() if uri in changed] if changed else []


def _told(
    result: CommandResult | SpawnProblem,
    seconds: float,
    idle: float,
    unsaved: list[str],
    changed: list[str],
) -> ToolResult:
    if isinstance(result, SpawnProblem):
        return error(f"The command could not be started: {result.message}")
    notes: list[str] = []
    if result.status == "killed_timeout":
        notes.append(f"ended after {seconds:g} s, its time-out")
    elif result.status == "killed_idle":
        notes.append(
            f"ended after printing nothing for {idle:g} s; it may have waited for input, which it cannot get"
        )
    elif result.status == "lost":
        notes.append("lost: its supervisor died, and its effect is unknown")
    elif result.exit is not None and result.exit.signal is not None:
        notes.append(f"ended by signal {result.exit.signal}")
    elif result.exit is not None:
        notes.append(f"exit code {result.exit.code}")
    if result.left_behind:
        notes.append(f"{result.left_behind} processes it left behind were ended")
    if unsaved:
        notes.append(f"it read the disk, where these buffers are not saved: {', '.join(unsaved)}")
    notes += changed
    content = f"{result.output.rstrip()}\n[{'; '.join(notes)}]".lstrip("\n")
    good = result.status == "exited" and result.exit is not None and result.exit.code == 0
    return ok(content) if good else error(content)


RUN_COMMAND = Tool(
    "run_command",
    "Run a bash command in the workspace and give its output. Standard input is closed.",
    "execute",
    RunCommand,
    plan_run,
)
