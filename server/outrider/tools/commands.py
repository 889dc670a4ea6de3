"""The tool that runs a command, after the buffers it would read from the disk were saved."""

import asyncio
import hashlib
import json
from pathlib import Path

from pydantic import Field

from outrider.permissions.decide import Access
from outrider.ports.model import ToolCall
from outrider.processes import (
    Capture,
    CommandResult,
    SpawnProblem,
    command_environment,
    run_command,
    shell_argv,
)
from outrider.tools import aftermath
from outrider.tools.command_line import described, look_at, rules_for
from outrider.tools.context import Action, ToolContext
from outrider.tools.registry import Params, Tool
from outrider.tools.result import ToolResult, error, ok
from outrider.workspace.paths import PathProblem
from outrider_protocol import RUN_WITHOUT_SAVING, SAVE_AND_CONTINUE, SAVE_CANCEL
from outrider_protocol.events import NotSaved, WorkspaceSaved


class RunCommand(Params):
    """Arguments of `run_command`."""

    command: str = Field(min_length=1, description="A bash command. It has no terminal and no input.")
    cwd: str | None = Field(default=None, description="Folder to run it in, relative to the workspace.")
    timeout: float | None = Field(default=None, gt=0, description="Seconds after which it is ended.")


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
    command = await asyncio.to_thread(look_at, params.command, context.folders, located.resolved)
    cwd, argv, env = located.resolved, shell_argv(params.command), command_environment(context.env)
    seconds = min(params.timeout or context.limits.command_seconds, context.limits.command_seconds)
    shown = Capture(context.limits.output_bytes)

    async def prepare() -> ToolResult | None:
        if await _saved_first(call, context):
            return None
        return ToolResult("denied", "The person cancelled the command, because of unsaved files.")

    async def perform() -> ToolResult:
        unsaved = [context.folders.display_of(uri) for uri in await context.overlay.unsaved()]
        files = await aftermath.before(context, command)
        try:
            result = await run_command(
                context.supervisor,
                argv,
                cwd=cwd,
                env=env,
                clock=context.clock,
                total_seconds=seconds,
                idle_seconds=context.limits.command_idle_seconds,
                output_limit=context.limits.output_bytes,
                on_output=show,
            )
        except asyncio.CancelledError:
            # What it did until then is there all the same.
            await aftermath.record(context, call, params.command, files)
            raise
        changed = await aftermath.record(context, call, params.command, files)
        return _told(result, seconds, context.limits.command_idle_seconds, unsaved, changed)

    def show(text: str) -> None:
        shown.feed(text.encode("utf-8", "replace"))
        context.stream_output(call, text)

    where = (
        "the workspace folder" if located.display == "." else located.display if located.inside else str(cwd)
    )
    # A grant is for the scripts as they were: with other ones it is another command.
    grant = (
        f"run:{cwd}\0{params.command}{''.join(sorted(command.scripts.values()))}" if located.inside else None
    )
    return Action(
        access=Access("execute", inside=located.inside, grant=grant, command=command),
        perform=perform,
        prepare=prepare,
        title=f"Run: {params.command}",
        detail=f"In {where}, for {seconds:g} s at most.\n{described(command, context.parts_of(command))}".rstrip(),
        digest=_digest(argv, cwd, env, command.scripts),
        covers=f"this exact command in {where}" if grant else "",
        always=rules_for(command) if grant else (),
        partial=shown.text,
    )


def _digest(argv: list[str], cwd: Path, env: dict[str, str], scripts: dict[str, str]) -> str:
    hashed_env = hashlib.sha256(json.dumps(sorted(env.items())).encode("utf-8", "surrogatepass")).hexdigest()
    return hashlib.sha256(
        json.dumps([argv, str(cwd), hashed_env, *sorted(scripts.items())]).encode("utf-8", "surrogatepass")
    ).hexdigest()


async def _saved_first(call: ToolCall, context: ToolContext) -> bool:
    """Have the agent's own unsaved buffers saved, by the client or the person; False if the command shall not run."""
    if waiting := await _own_unsaved(context):
        await _saved_by_client(waiting, call, context)
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


async def _saved_by_client(uris: list[str], call: ToolCall, context: ToolContext) -> None:
    """Have the client save what it can, without a question: the changes in these buffers were allowed."""
    shown = context.folders.display_of
    for tried in await context.have_saved(uris):
        failed = [NotSaved(path=shown(uri), reason=reason) for uri, reason in tried.failed.items()]
        saved = [shown(uri) for uri in tried.saved]
        context.record(WorkspaceSaved(call_id=call.id, by=tried.way, paths=saved, failed=failed or None))


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
