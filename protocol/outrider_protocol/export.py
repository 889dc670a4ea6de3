"""A session in one file: its events and every text they name. A bug report, a replay and a scenario at once."""

from typing import Literal

from pydantic import Field

from outrider_protocol.notifications import Event
from outrider_protocol.wire import Wire

EXPORT_FORMAT = "outrider-export"


class Export(Wire):
    """One session as one file, to share, replay or play again."""

    format: Literal["outrider-export"] = EXPORT_FORMAT
    """What the file is."""
    version: Literal[1] = 1
    """It changes when a key changes its meaning."""
    program: str
    """Version of the program that made it."""
    session_id: str
    events: list[Event]
    """The whole log, from 1 on."""
    contents: dict[str, str]
    """By content hash: the messages of requests (JSON), the definitions of tools (JSON), texts of files."""
    removed: dict[str, int] = Field(default_factory=dict[str, int])
    """What was removed: by kind, in how many places."""
