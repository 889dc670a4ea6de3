"""What a process finds around itself; read once, by `app`, and replaced as a whole in tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outrider.ports.clock import Clock
from outrider.ports.ids import Ids


@dataclass(frozen=True, slots=True)
class Watched:
    """Descriptors by which another process sees what this one was asked for while it stands still."""

    input: int
    """Where the client's messages come from."""
    signals: int
    """The reading end of the socket to which Python writes the numbers of signals (`signal.set_wakeup_fd`)."""
    log: int
    """Where the log goes."""


@dataclass(frozen=True, slots=True)
class Outside:
    """The surroundings of a server."""

    env: Mapping[str, str]
    """The environment."""
    state_dir: Path
    """Where logs go unless a setting says otherwise."""
    user_settings: Path
    """The user's TOML file; it need not exist."""
    command_line: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings given on the command line, as they would stand in `initializationOptions`."""
    clock: Clock | None = None
    """A clock to use instead of the one the settings ask for."""
    ids: Ids | None = None
    cache_dir: Path | None = None
    """Where lies what can be made again; None: nowhere."""
    host: str = ""
    """The machine's name."""
    watched: Watched | None = None
    """By what the process is watched for standing still; None: it is not."""


@dataclass(frozen=True, slots=True)
class ClientStart:
    """What the client said about itself in `initialize`."""

    options: Mapping[str, Any]
    """`initializationOptions`."""
    folders: tuple[tuple[str, str], ...]
    """Name and URI of each workspace folder, in order."""
    name: str = ""
    version: str = ""
    widest: str | None = None
    """The widest permission mode it may have, whoever sets one; None for any."""
