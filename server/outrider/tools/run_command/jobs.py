"""The tools for background jobs: what one has printed, and its end. `run_command` starts them."""

from collections.abc import Callable

from pydantic import Field

from outrider.permissions.policy.decide import Access
from outrider.ports.model import ToolCall
from outrider.ports.patterns import PatternError, built
from outrider.ports.text import without_colours
from outrider.processes import Job
from outrider.processes.sandbox import TOO_MANY
from outrider.tools.context import Action, JobContext, ToolResult, error, ok
from outrider.tools.registry import Params, Tool
from outrider.tools.run_command import planted


class ReadJob(Params):
    """Arguments of `read_job`."""

    job: str = Field(min_length=1)
    wait: float = Field(default=0, ge=0, le=600, description="Seconds to wait for its end.")


class Wait(Params):
    """Arguments of `wait`."""

    seconds: float = Field(default=60, gt=0, le=600, description="The longest to wait; 60 if left out.")
    job: str | None = Field(
        default=None, description="Left out: the latest one for text, else only the time is waited."
    )
    text: str | None = Field(
        default=None, min_length=1, max_length=1000, description="Or until it prints this."
    )
    regex: bool = Field(
        default=False, description="Whether text is a regular expression (RE2), for one line."
    )


class KillJob(Params):
    """Arguments of `kill_job`."""

    job: str = Field(min_length=1)


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
        return ok(
            f"{without_colours(job.unread()).rstrip()}\n[{job.id}: {how_it_ended(job)}{touched}]".lstrip("\n")
        )

    return Action(access=Access("read"), perform=perform)


async def plan_wait(params: Wait, _call: ToolCall, context: JobContext) -> Action | ToolResult:
    """Wait for a job, for what it prints, or for a time."""
    if params.job is None and params.text is None:
        return _plan_time(params, context)
    job = _latest(context) if params.job is None else context.jobs.get(params.job)
    if job is None:
        return error(
            _unknown(params.job, context) if params.job else "text is what a job prints, and no job is there."
        )
    is_wanted = _wanted(params)
    if isinstance(is_wanted, PatternError):
        return error(f"text is no regular expression that RE2 takes: {is_wanted}")

    seconds = _longest(params, context)

    async def perform() -> ToolResult:
        job.is_watched = True
        try:
            if is_wanted is None:
                await job.wait(seconds)
                found = ""
            else:
                came = await job.wait_for(is_wanted, seconds)
                found = "the text came; " if came else f"the text did not come in {seconds:g} s; "
                if not came and job.status != "running":
                    found = "it ended before the text came; "
        finally:
            job.is_watched = False
        touched = await planted.since_job(context.workspace, job.id)
        return ok(
            f"{without_colours(job.unread()).rstrip()}\n[{job.id}: {found}{how_it_ended(job)}{touched}]".lstrip(
                "\n"
            )
        )

    return Action(access=Access("read"), perform=perform)


def _latest(context: JobContext) -> Job | None:
    """The job that was started last; one that is started in the same answer has no id yet that the model could know."""
    return context.jobs.all[-1] if context.jobs.all else None


def _plan_time(params: Wait, context: JobContext) -> Action:
    seconds = _longest(params, context)

    async def perform() -> ToolResult:
        await context.clock.sleep(seconds)
        return ok(f"[{seconds:g} s have passed]")

    return Action(access=Access("read"), perform=perform)


def _longest(params: Wait, context: JobContext) -> float:
    """The longest that is waited: no longer than a command may take."""
    return min(params.seconds, context.limits.command_seconds)


def _wanted(params: Wait) -> Callable[[str], bool] | PatternError | None:
    text = params.text
    if text is None:
        return None
    if not params.regex:
        return lambda line: text in line
    try:
        pattern = built(text)
    except PatternError as problem:
        return problem
    return lambda line: pattern.search(line) is not None


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
        return ok(f"{without_colours(job.unread()).rstrip()}\n[{job.id}: {said}{touched}]".lstrip("\n"))

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
            return f"ended after {order.idle_seconds or 0:g} s in which it neither printed nor computed"
        case "killed_full":
            return f"ended, because the temporary files of this session {TOO_MANY}"
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
    "Get what a background job printed since it was last read, and whether it still runs. Its id is in the result that started "
    'it. Example: {"job": "job_1"}',
    "read",
    ReadJob,
    plan_read_job,
)

WAIT = Tool(
    "wait",
    "Wait for the end of a background job, for a text in its output that was not read yet, or for a time, and get what it printed. Use it "
    'instead of sleep in a command. Example: {"job": "job_1", "text": "listening on", "seconds": 30}',
    "read",
    Wait,
    plan_wait,
)

KILL_JOB = Tool(
    "kill_job",
    'End a background job and everything it started. Example: {"job": "job_1"}',
    "execute",
    KillJob,
    plan_kill_job,
)
