"""The hooks at the end of a session. No turn is there whose calls they could be, so each is a background job that is waited for."""

import logging
from typing import Final

from outrider.agent.customization.hooks import HookRun, quoted
from outrider.agent.loop.tool_context import TurnContext
from outrider.agent.services import HooksHere
from outrider.ports.model import ToolCall
from outrider.processes import Job
from outrider.tools.context import ToolResult
from outrider.tools.run_command import planted
from outrider.tools.run_command.tool import RunCommand, plan_run

SECONDS: Final = 3.0
"""How long one hook may take: an editor that ends waits no longer for its servers."""

log = logging.getLogger(__name__)


async def run_end_hooks(hooks: HooksHere, context: TurnContext, session_id: str, reason: str) -> list[str]:
    """Run the hooks of the point `sessionEnd`, one after the other.

    What is not allowed without a question does not run: nobody is there to ask. What they change is not undone.

    Args:
        hooks: The hooks.
        context: As calls see the session; its mode is the one of the latest turn, so that a session that only reads runs none.
        session_id: The session.
        reason: Why it ends.

    Returns:
        For the user: what did not run and why, and which files that something else obeys were changed.
    """
    folder = next(iter(context.workspace.folders.folders), None)
    cwd = str(folder.path) if folder is not None else ""
    runs = await hooks.at("sessionEnd", "", {"sessionId": session_id, "reason": reason}, cwd)
    try:
        return [problem for run in runs if (problem := await _run(run, context))]
    finally:
        hooks.ended(runs)


async def _run(run: HookRun, context: TurnContext) -> str:
    """Run one; a text says what the user should know of it."""
    name = f"the hook {quoted(run.hook.command)} at the end of the session"
    params = RunCommand(command=run.line, background=True, timeout=min(run.hook.seconds or SECONDS, SECONDS))
    before = {job.id for job in context.jobs.all}
    try:
        action = await plan_run(params, ToolCall("", "run_command", ""), context)
        if isinstance(action, ToolResult):
            return f"{name} did not run: {action.content}"
        judgement = context.rules.judge("run_command", action.access)
        if judgement.verdict != "allow":
            return f"{name} did not run: {judgement.reason}"
        if problem := await context.log.settled(durable=True):
            return f"{name} did not run: {problem}"
        context.rules.decided(judgement)
        result = await action.perform()
    except Exception:
        log.exception("%s failed", name)
        return f"{name} failed because of an error in Outrider; see the server log"
    if result.status != "ok":
        return f"{name} did not run: {result.content}"
    job = next(job for job in context.jobs.all if job.id not in before)
    job.is_watched = True  # the model is told nothing: its work is over
    await job.wait(SECONDS + 1)
    return await _came(name, job, context)


async def _came(name: str, job: Job, context: TurnContext) -> str:
    changed = await planted.since_job(context.workspace, job.id)
    context.workspace.obeyed.at_start.pop(job.id, None)
    if job.status != "exited" or job.exit_code:
        how = f"exit code {job.exit_code}" if job.status == "exited" else job.status.replace("_", " ")
        return f"{name} failed: {how}{changed}"
    return f"{name}{changed}" if changed else ""
