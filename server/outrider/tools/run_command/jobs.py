"""The tools for background jobs: what one has printed, and its end. `run_command` starts them."""

from pydantic import Field

from outrider.permissions.policy.decide import Access
from outrider.ports.model import ToolCall
from outrider.processes import Job
from outrider.tools.context import Action, JobContext, ToolResult, error, ok
from outrider.tools.registry import Params, Tool
from outrider.tools.run_command import planted


class ReadJob(Params):
    """Arguments of `read_job`."""

    job: str = Field(min_length=1, description="Its id, such as job_1.")
    wait: float = Field(default=0, ge=0, le=600, description="Seconds to wait for its end.")


class KillJob(Params):
    """Arguments of `kill_job`."""

    job: str = Field(min_length=1, description="Its id.")


async def plan_read_job(params: ReadJob, _call: ToolCall, context: JobContext) -> Action | ToolResult:
    """Read what a job has printed since it was last read."""
    job = context.jobs.get(params.job)
    if job is None:
        return error(_unknown(params.job, context))

    async def perform() -> ToolResult:
        job.is_watched = True
        try:
            await job.wait(params.wait)
        finally:
            job.is_watched = False
        touched = await planted.since_job(context.workspace, job.id)
        return ok(f"{job.unread().rstrip()}\n[{job.id}: {how_it_ended(job)}{touched}]".lstrip("\n"))

    return Action(access=Access("read"), perform=perform)


async def plan_kill_job(params: KillJob, _call: ToolCall, context: JobContext) -> Action | ToolResult:
    """End a job."""
    job = context.jobs.get(params.job)
    if job is None:
        return error(_unknown(params.job, context))

    async def perform() -> ToolResult:
        was_running = job.status == "running"
        job.is_watched = True
        await job.kill()
        said = how_it_ended(job) if was_running else f"it had already ended: {how_it_ended(job)}"
        touched = await planted.since_job(context.workspace, job.id)
        context.workspace.obeyed.at_start.pop(job.id, None)
        return ok(f"{job.unread().rstrip()}\n[{job.id}: {said}{touched}]".lstrip("\n"))

    return Action(
        access=Access("execute", ends_own=True),
        perform=perform,
        title=f"End {job.id}",
        digest=f"end:{job.id}",
    )


def how_it_ended(job: Job) -> str:
    """How a job ended, or that it runs, in words."""
    order = job.order
    match job.status:
        case "running":
            return f"still running after {job.seconds:.0f} s"
        case "killed_timeout":
            return f"ended after {order.total_seconds:g} s, its time-out"
        case "killed_idle":
            return f"ended after printing nothing for {order.idle_seconds:g} s"
        case "lost":
            return "lost: its supervisor died, and its effect is unknown"
        case "killed":
            return "ended, with everything it started"
        case "exited" if job.signal is not None:
            return f"ended by signal {job.signal}"
        case "exited":
            return f"exit code {job.exit_code}"


def _unknown(name: str, context: JobContext) -> str:
    there = ", ".join(job.id for job in context.jobs.all)
    return f"there is no job {name!r} here. {f'Available: {there}.' if there else 'None was started.'}"


READ_JOB = Tool(
    "read_job",
    "Get what a background job printed since the last read, and whether it still runs. Can wait for its end.",
    "read",
    ReadJob,
    plan_read_job,
)

KILL_JOB = Tool(
    "kill_job", "End a background job and everything it started.", "execute", KillJob, plan_kill_job
)
