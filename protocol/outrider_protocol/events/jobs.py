"""Events of commands that run in the background."""

from typing import Literal

from outrider_protocol.events.base import EventData

JobStatus = Literal[
    "exited", "killed_timeout", "killed_idle", "lost", "killed", "cancelled", "closed", "interrupted"
]
"""How a job ended: by itself, by a time-out, with its supervisor; by somebody; with its turn, its session, the server."""


class JobStarted(EventData):
    """A command runs in the background."""

    TYPE = "job.started"
    job_id: str
    call_id: str
    """The call that started it."""
    command: str
    cwd: str
    sandboxed: bool


class JobFinished(EventData):
    """No process of a job is left."""

    TYPE = "job.finished"
    job_id: str
    status: JobStatus
    exit_code: int | None = None
    signal: int | None = None
    seconds: float | None = None
    """How long it ran; absent where nobody saw its end."""
    output: str | None = None
    """What it printed, head and tail; absent where it ended with its turn, its session or the server."""
    told: str | None = None
    """What the model is told of it with the next request; absent where it knows."""
