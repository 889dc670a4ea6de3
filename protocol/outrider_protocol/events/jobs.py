"""Events of commands: that they run without a sandbox, and of those in the background."""

from typing import Literal

from outrider_protocol.events.base import EventData
from outrider_protocol.events.tools import Connection

JobStatus = Literal[
    "exited",
    "killed_timeout",
    "killed_idle",
    "killed_full",
    "lost",
    "killed",
    "cancelled",
    "closed",
    "interrupted",
]
"""How a job ended: by itself, by a time-out, with its supervisor; by somebody; with its turn, its session, the server."""


class SandboxAbsent(EventData):
    """The commands of this session run without a sandbox.

    Once, before the first command that permission mode `full` allows.
    """

    TYPE = "sandbox.absent"
    reason: str
    """Why there is none."""
    chosen: bool
    """True if the setting `sandbox` is off; else the first command asks."""


class AutoLimited(EventData):
    """Permission mode `auto` allows only what `auto-edit` does here: no copy of the files can be kept, so commands ask.

    Once in a session, before the first command that asks for that reason.
    """

    TYPE = "auto.limited"
    reason: str
    """Why there is no copy."""


class JobStarted(EventData):
    """A command runs in the background."""

    TYPE = "job.started"
    job_id: str
    call_id: str | None = None
    """The call that started it; absent for a hook at the end of the session."""
    command: str
    """The command."""
    cwd: str
    """Its folder."""
    sandboxed: bool
    """Whether it runs in the sandbox."""


class JobFinished(EventData):
    """No process of a job is left. Between turns it belongs to none."""

    TYPE = "job.finished"
    job_id: str
    status: JobStatus
    """How it ended."""
    exit_code: int | None = None
    """If it exited."""
    signal: int | None = None
    """If a signal ended it."""
    seconds: float | None = None
    """How long it ran; absent if unknown."""
    output: str | None = None
    """What it printed, head and tail; absent if its turn, session or server ended it."""
    told: str | None = None
    """What the model gets about it with its next request; absent if it knows."""
    connections: list[Connection] | None = None
    """The hosts of `sandbox.network`, and others, that it wanted to reach."""
