"""Looks up the keys of providers: in the environment, by a command, in a file, in the system's keyring.

A key lives in memory only. A source that can change is asked once, and again when a provider refuses its key, as tokens
of an hour do (Google's and Microsoft's). It must never put a key, or what a command printed, into a message.
"""

import asyncio
import os
import stat
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from outrider.ports.clock import Clock, SystemClock
from outrider.ports.secrets import KeySource, NoKey
from outrider.processes import SpawnProblem, Supervisor
from outrider.processes.commands import collect

SECONDS: Final = 60.0
"""How long a command or the keyring may take; a keyring may ask the user for its password."""
MOST_BYTES: Final = 65_536
"""Of a key, and of what a command prints."""
_OPEN_TO_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class Keys:
    """The keys of one process; what `Secrets` asks for."""

    def __init__(
        self, env: Mapping[str, str], supervisor: Supervisor | None = None, clock: Clock | None = None
    ) -> None:
        """Look up keys.

        Args:
            env: The environment; commands get all of it.
            supervisor: Starts commands; None where none may be started.
            clock: Limits the time of commands and of the keyring; None for the real time.
        """
        self._env = env
        self._supervisor = supervisor
        self._clock = clock or SystemClock()
        self._known: dict[KeySource, str] = {}
        self._looking: dict[KeySource, asyncio.Task[str | NoKey]] = {}
        self._given: frozenset[str] = frozenset()

    async def key(self, source: KeySource) -> str | NoKey:
        """The key that a source holds now. Requests at the same time share one look."""
        if (known := self._known.get(source)) is not None:
            return known
        if source.env is not None:
            return self._taken(source, self._env.get(source.env, ""), f"set {source}")
        looking = self._looking.get(source)
        if looking is None:
            looking = self._looking[source] = asyncio.create_task(self._look(source), name="look up a key")
            looking.add_done_callback(lambda _: self._looking.pop(source, None))
        return await asyncio.shield(looking)

    def take(self, source: KeySource, key: str) -> None:
        """Learn the key of a source from the user, who has just given it: a variable has it at the next start only."""
        self._known[source] = key
        self._given |= {key}

    def refused(self, source: KeySource, key: str) -> None:
        """Learn that a provider did not take a key: the source is asked again at the next request."""
        if self._known.get(source) == key:
            del self._known[source]

    def values(self) -> frozenset[str]:
        """Every key given out so far."""
        return self._given

    async def _look(self, source: KeySource) -> str | NoKey:
        if source.command is not None:
            found = await self._printed(source.command)
        elif source.file is not None:
            found = await asyncio.to_thread(_content, source.file, self._env)
        else:
            found = await self._kept(*(source.keyring or ("", "")))
        if isinstance(found, NoKey):
            return found
        key = self._taken(source, found, f"{source} is empty")
        if isinstance(key, str):
            self._known[source] = key
        return key

    def _taken(self, source: KeySource, found: str, if_empty: str) -> str | NoKey:
        key = found.strip()
        if not key:
            return NoKey(f"there is no key; {if_empty}")
        self._given |= {key}
        if not (key.isascii() and key.isprintable()):
            return NoKey(f"the value of {source} has characters that a key cannot have")
        return key

    async def _printed(self, command: tuple[str, ...]) -> str | NoKey:
        if self._supervisor is None:
            return NoKey("apiKeyCommand cannot be run here")
        # Not in the workspace: what programs find there was not written by the user.
        home = Path(self._env.get("HOME") or "/")
        came = await collect(
            self._supervisor,
            command,
            cwd=home,
            env=self._env,
            clock=self._clock,
            seconds=SECONDS,
            limit=MOST_BYTES,
        )
        if isinstance(came, SpawnProblem):
            return NoKey(f"apiKeyCommand failed: {came.message}")
        if came.timed_out:
            return NoKey(f"apiKeyCommand did not end within {SECONDS:.0f} s")
        if came.truncated:
            return NoKey(f"apiKeyCommand printed more than {MOST_BYTES} bytes")
        if came.code != 0:
            how = "was ended by a signal" if came.code is None else f"ended with code {came.code}"
            return NoKey(f"apiKeyCommand {how}; run it in a terminal to see why")
        return came.stdout.decode("utf-8", "replace")

    async def _kept(self, service: str, username: str) -> str | NoKey:
        try:
            async with self._clock.timeout(SECONDS):
                return await asyncio.to_thread(_from_keyring, service, username)
        except TimeoutError:
            return NoKey(f"the system's keyring did not answer within {SECONDS:.0f} s")


def _content(name: str, env: Mapping[str, str]) -> str | NoKey:
    """What a file holds; blocks."""
    path = Path(env.get("HOME") or "/", name[2:]) if name.startswith("~/") else Path(name)
    try:
        # A pipe in its place must not make this wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return NoKey(f"apiKeyFile {name} cannot be read: {error.strerror}")
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return NoKey(f"apiKeyFile {name} is not a file")
        if found.st_mode & _OPEN_TO_OTHERS:
            return NoKey(f"apiKeyFile {name} can be read by other users: run `chmod 600` on it")
        content = os.read(descriptor, MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MOST_BYTES:
        return NoKey(f"apiKeyFile {name} is larger than {MOST_BYTES} bytes")
    return content.decode("utf-8", "replace")


class _Keyring(Protocol):
    """The part of the library `keyring` that is used."""

    def get_password(self, service: str, username: str, /) -> str | None: ...


def _from_keyring(service: str, username: str) -> str | NoKey:
    """What the system's keyring holds; blocks."""
    try:
        keyring = cast("_Keyring", import_module("keyring"))
    except ImportError:
        return NoKey("apiKeyKeyring needs the library keyring: install `outrider[keyring]`")
    try:
        found = keyring.get_password(service, username)
    except Exception as error:  # noqa: BLE001 - each backend raises errors of its own
        return NoKey(f"the system's keyring cannot be used: {type(error).__name__}")
    if found is None:
        how = f"create it with `keyring set {service} {username}`"
        return NoKey(f"the system's keyring has no entry {username} of the service {service}; {how}")
    return found
