"""Background jobs, as a user sees them: those of the sessions that are open in this process."""

from collections.abc import Sequence

from outrider.agent.session.session import Refused, Session
from outrider.ports.text import visible
from outrider.processes import Job
from outrider_protocol.commands import JobInfo, JobsParams, JobsResult


async def jobs(sessions: Sequence[Session], params: JobsParams) -> JobsResult | Refused:
    """List jobs, or read one, wait for it or end it.

    Args:
        sessions: The open sessions.
        params: What is wanted.
    """
    if params.id is None:
        wanted = [one for one in sessions if params.session_id in (None, one.id)]
        return JobsResult(jobs=[_info(session, job) for session in wanted for job in session.jobs.all])
    found = next(
        ((session, job) for session in sessions if (job := session.jobs.get(params.id)) is not None), None
    )
    if found is None:
        return Refused("unknown_id", f"there is no job {params.id!r}")
    session, job = found
    if params.action == "wait":
        await job.wait(params.timeout)
    elif params.action == "kill":
        await job.kill()
    return JobsResult(jobs=[_info(session, job)], output=_shown(session, job.output))


def _shown(session: Session, text: str) -> str:
    """A text of a job as the events have it: without secrets, and with nothing that hides."""
    return session.record.masking.without_secrets(visible(text))


def _info(session: Session, job: Job) -> JobInfo:
    order = job.order
    return JobInfo(
        job_id=job.id,
        session_id=session.id,
        turn_id=order.turn_id,
        command=_shown(session, order.command),
        cwd=str(order.cwd),
        sandboxed=order.sandboxed,
        status=job.status,
        exit_code=job.exit_code,
        signal=job.signal,
        seconds=round(job.seconds, 3),
    )
