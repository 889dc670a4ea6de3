"""Keeps the tokens of servers like keys: in the system's keyring where there is one, else in a file that only the user can read."""

import asyncio
import json
import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

FILE: Final = "mcp-tokens.json"
_SERVICE: Final = "outrider-mcp"


class Tokens:
    """The tokens of one user."""

    def __init__(self, folder: Path, *, keyring: bool) -> None:
        """Keep them in `folder`, or in the keyring if that is wanted and works."""
        self._path = folder / FILE
        self._keyring = keyring

    async def get(self, name: str) -> str | None:
        """What is kept under a name; None where nothing is."""
        return await asyncio.to_thread(self._get, name)

    async def put(self, name: str, value: str | None) -> str | None:
        """Keep a value, or forget it; a text says why that failed."""
        return await asyncio.to_thread(self._put, name, value)

    def _get(self, name: str) -> str | None:
        ring = self._ring()
        if ring is not None:
            with suppress(Exception):  # what a keyring raises is of its system
                if (found := ring.get_password(_SERVICE, name)) is not None:
                    return str(found)
        return self._read().get(name)

    def _put(self, name: str, value: str | None) -> str | None:
        ring = self._ring()
        if ring is not None:
            with suppress(Exception):  # as above
                if value is None:
                    ring.delete_password(_SERVICE, name)
                else:
                    ring.set_password(_SERVICE, name, value)
                    return None
        kept = self._read()
        kept.pop(name, None)
        if value is not None:
            kept[name] = value
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = self._path.with_name(f".{self._path.name}.new")
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(kept, file)
            fresh.replace(self._path)
        except OSError as error:
            return f"{self._path} cannot be written: {error.strerror}"
        return None

    def _ring(self) -> Any:
        if not self._keyring:
            return None
        try:
            ring: Any = import_module("keyring")
            is_none = type(ring.get_keyring()).__module__.startswith("keyring.backends.fail")
        except Exception:  # noqa: BLE001 - it is not installed, or its system has none
            return None
        return None if is_none else ring

    def _read(self) -> dict[str, str]:
        try:
            found: Any = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return cast("dict[str, str]", found) if isinstance(found, dict) else {}
