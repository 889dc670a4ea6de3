"""Keeps a provider's key for the user: in the system's keyring, or in a file that only they can read.

It must never put a key into a message, a settings file or a workspace.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal

from outrider.permissions.policy.own_file import locked

Place = Literal["keyring", "file"]

SERVICE: Final = "outrider"
"""Under which the keyring keeps the keys; the one that the setting `apiKeyKeyring` means where it names none."""
FOLDER: Final = "keys"


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a key is now."""

    settings: dict[str, Any]
    """What the provider's settings say of it."""
    take_back: Callable[[], None]
    """Has the place as it was before. Blocks."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where the keys of one user are kept."""

    folder: Path
    """The user's configuration folder."""
    home: Path | None
    workspaces: Callable[[], Sequence[Path]]
    """Folders in which no key may be."""

    def places(self) -> list[Place]:
        """Where this machine can keep a key, the best first. Blocks."""
        both: list[tuple[Place, bool]] = [
            ("keyring", _keyring() is not None),
            ("file", self._file_problem() is None),
        ]
        return [place for place, is_there in both if is_there]

    def keep(self, place: Place, provider: str, key: str) -> Kept | str:
        """Keep a key. Blocks.

        Args:
            place: Where.
            provider: Whose it is.
            key: The key.

        Returns:
            Where it is now, or why it could not be kept.
        """
        return self._in_keyring(provider, key) if place == "keyring" else self._in_file(provider, key)

    def _in_keyring(self, provider: str, key: str) -> Kept | str:
        ring = _keyring()
        if ring is None:
            return "there is no keyring here: keep the key in a file, or name a variable that has it"
        try:
            before: str | None = ring.get_password(SERVICE, provider)
            ring.set_password(SERVICE, provider, key)
        except Exception as error:  # noqa: BLE001 - each backend raises errors of its own, which may quote the key
            return f"the system's keyring did not take the key: {type(error).__name__}"

        def take_back() -> None:
            with suppress(Exception):
                if before is None:
                    ring.delete_password(SERVICE, provider)
                else:
                    ring.set_password(SERVICE, provider, before)

        return Kept({"apiKeyKeyring": provider}, take_back)

    def _in_file(self, provider: str, key: str) -> Kept | str:
        if problem := self._file_problem():
            return problem
        path = self.folder / FOLDER / provider
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with locked(path):
                before = path.read_bytes() if path.is_file() else None
                _put(path, key.encode("ascii"))
        except OSError as error:
            return f"{path} cannot be written: {error.strerror or type(error).__name__}"

        def take_back() -> None:
            with suppress(OSError):
                if before is None:
                    path.unlink()
                else:
                    _put(path, before)

        return Kept({"apiKeyFile": self._named(path)}, take_back)

    def _named(self, path: Path) -> str:
        if self.home is not None and path.is_relative_to(self.home):
            return f"~/{path.relative_to(self.home).as_posix()}"
        return str(path)

    def _file_problem(self) -> str | None:
        if sys.platform == "win32":
            return "a file that only you can read cannot be made on Windows: use the keyring or a variable"
        real = Path(os.path.realpath(self.folder))
        for workspace in self.workspaces():
            if real.is_relative_to(os.path.realpath(workspace)):
                return f"{self.folder} is in the workspace {workspace}, where no key is kept: use the keyring or a variable"
        return None


def _keyring() -> Any:
    """The system's keyring; None where it cannot keep a key. Blocks."""
    try:
        ring: Any = import_module("keyring")
        backend = ring.get_keyring()
    except Exception:  # noqa: BLE001 - it is not installed, or its system has none
        return None
    is_none = type(backend).__module__.startswith(("keyring.backends.fail", "keyring.backends.null"))
    return None if is_none else ring


def _put(path: Path, content: bytes) -> None:
    # `mkstemp` makes a file that only its owner can read.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
