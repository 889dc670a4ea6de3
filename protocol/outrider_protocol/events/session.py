"""Events of a session: it begins, is restored, forked, imported, renamed, closed."""

from outrider_protocol.choices import PermissionMode
from outrider_protocol.events.base import EventData
from outrider_protocol.settings import Limits


class SessionStarted(EventData):
    """A session exists."""

    TYPE = "session.started"
    folders: list[str]
    """URIs of the workspace folders."""
    permission_mode: PermissionMode
    """The mode."""
    version: str
    """The version of the program."""
    real_folders: list[str] | None = None
    """Real paths of the folders in order; absent if no link leads to them."""
    tools_hash: str | None = None
    """Content hash of the client tools' definitions; absent if there are none."""


class SessionRestored(EventData):
    """A session was opened again from its log."""

    TYPE = "session.restored"
    turn_id: str | None = None
    """The turn that continues, if one was interrupted or parked."""
    rests: bool | None = None
    """True if it was opened for an undo or redo alone: its turn stays interrupted."""
    folders: list[str]
    """URIs of the workspace folders."""
    permission_mode: PermissionMode
    """The mode."""
    limits: Limits | None = None
    """The limits of the settings."""
    real_folders: list[str] | None = None
    """As in `session.started`."""
    tools_hash: str | None = None
    """As in `session.started`, for the current client."""


class SessionForked(EventData):
    """The events before this one are a copy of another session's. What was allowed for that session is not for this one."""

    TYPE = "session.forked"
    from_session_id: str
    """The other session."""
    from_seq: int
    """Up to which event."""


class SessionImported(EventData):
    """The events before this one come from an export.

    Nothing in them is permission, and nothing that they changed can be undone here.
    """

    TYPE = "session.imported"
    from_session_id: str
    """The id it had."""


class SessionRenamed(EventData):
    """The user named the session."""

    TYPE = "session.renamed"
    title: str
    """Its name, one line."""


class SessionClosed(EventData):
    """The process released the session; it can be resumed."""

    TYPE = "session.closed"
    reason: str
    """Why."""
    left_over: int | None = None
    """Answers that a script has left."""
