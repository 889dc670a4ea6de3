"""Events of a session: it begins, is restored, is forked, is closed."""

from outrider_protocol.events.base import EventData
from outrider_protocol.settings import Limits, PermissionMode


class SessionStarted(EventData):
    """A session exists."""

    TYPE = "session.started"
    folders: list[str]
    """URIs of the workspace folders."""
    permission_mode: PermissionMode
    version: str
    """Version of the program that started it."""
    real_folders: list[str] | None = None
    """Real paths of the folders, in their order; absent where no link leads to any of them."""
    tools_hash: str | None = None
    """Content hash of the definitions of the client's tools; absent where it registered none."""


class SessionRestored(EventData):
    """A session was opened again from its log."""

    TYPE = "session.restored"
    turn_id: str | None = None
    """The turn that goes on, where one was cut off or parked."""
    rests: bool | None = None
    """True where it was opened for an undo or redo alone: its turn, and what is queued, does not go on."""
    folders: list[str]
    permission_mode: PermissionMode
    limits: Limits | None = None
    """The limits of the settings now; absent in logs of old."""
    real_folders: list[str] | None = None
    """As in `session.started`."""
    tools_hash: str | None = None
    """As in `session.started`, of the client of now."""


class SessionForked(EventData):
    """A session began as a copy of another one."""

    TYPE = "session.forked"
    from_session_id: str
    from_seq: int


class SessionClosed(EventData):
    """The process let go of the session; it can be resumed."""

    TYPE = "session.closed"
    reason: str
    left_over: int | None = None
    """Entries of a scripted model that were never asked for."""
