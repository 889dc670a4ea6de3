"""Which models refused tools, kept in a file over the processes, so that not each of them has to be refused once more.

It is for a while only: a server may learn. What is in the file is a hint; without it, or with one that cannot be read, a
model is asked as if nothing were known.
"""

import asyncio
import hashlib
import json
import logging
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast, get_args

from outrider.ports.clock import Clock, rfc3339
from outrider_protocol.settings import ToolFormat

log = logging.getLogger(__name__)

FILE: Final = "refused-tools.json"
KEPT: Final = timedelta(days=7)
MOST: Final = 200
"""Models in the file; the oldest go first."""
MOST_BYTES: Final = 1_000_000
"""A longer file is not ours."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    server: str
    """Where it was served: another one of that name may take tools. A hash, as a key may stand in an address."""
    form: ToolFormat
    at: datetime


class Refusals:
    """The file, and what is known of it."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Nothing is known before `load`; `clock` says how old something is."""
        self._path = path
        self._clock = clock
        self._known: dict[str, _Refusal] = {}
        self._writing: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Read the file."""
        self._known = await asyncio.to_thread(self._read)

    def form_of(self, model: str, address: str) -> ToolFormat | None:
        """How a model writes calls that refused tools there lately; None where nothing is known.

        Args:
            model: `provider/name`.
            address: Of its provider.
        """
        known = self._known.get(model)
        if known is None or known.server != _hash(address) or not self._counts(known):
            return None
        return known.form

    def put(self, model: str, address: str, form: ToolFormat) -> None:
        """Remember that it refused tools now, and is asked in that format."""
        self._change(model, _Refusal(_hash(address), form, self._clock.now()))

    def forget(self, model: str) -> None:
        """Know nothing of it any more."""
        if model in self._known:
            self._change(model, None)

    async def close(self) -> None:
        """Wait until what changed is written."""
        if self._writing is not None:
            await self._writing

    def _counts(self, refusal: _Refusal) -> bool:
        return timedelta() <= self._clock.now() - refusal.at < KEPT

    def _change(self, model: str, refusal: _Refusal | None) -> None:
        before, changes = self._writing, {model: refusal}
        self._known = _with(self._known, changes)

        async def write() -> None:
            if before is not None:
                await before
            await asyncio.to_thread(self._write, changes)

        self._writing = asyncio.create_task(write(), name="remember who refused tools")

    def _read(self) -> dict[str, _Refusal]:
        known: dict[str, _Refusal] = {}
        with suppress(OSError, ValueError, RecursionError):
            held = json.loads(_content(self._path))
            for model, said in held.items() if isinstance(held, dict) else ():  # pyright: ignore[reportUnknownVariableType] -- plain JSON
                if (one := _refusal(said)) is not None:  # pyright: ignore[reportUnknownArgumentType] -- as above
                    known[str(model)] = one  # pyright: ignore[reportUnknownArgumentType] -- as above
        return known

    def _write(self, changes: Mapping[str, _Refusal | None]) -> None:
        """Bring a change into the file, whatever other processes wrote there since."""
        kept = {model: one for model, one in _with(self._read(), changes).items() if self._counts(one)}
        latest = sorted(kept.items(), key=lambda item: item[1].at)[-MOST:]
        held = {
            model: {"server": one.server, "format": one.form, "at": rfc3339(one.at)} for model, one in latest
        }
        try:
            _replace(self._path, json.dumps(held, indent=1))
        except OSError as problem:
            log.warning("%s cannot be written: %s", self._path, problem)


def _content(path: Path) -> bytes:
    """What is in a file of ours; nothing where it is not one, such as a pipe that nobody writes to."""
    # Windows has no such flag, and no such pipes.
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return b""
        content = file.read(MOST_BYTES + 1)
    return content if len(content) <= MOST_BYTES else b""


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".refused-")  # only we may read it
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _hash(address: str) -> str:
    return hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()


def _with(known: Mapping[str, _Refusal], changes: Mapping[str, _Refusal | None]) -> dict[str, _Refusal]:
    return {model: one for model, one in {**known, **changes}.items() if one is not None}


def _refusal(said: Any) -> _Refusal | None:
    if not isinstance(said, dict):
        return None
    held = cast("dict[str, Any]", said)
    server, form, at = (held.get(key) for key in ("server", "format", "at"))
    if not isinstance(server, str) or form not in get_args(ToolFormat) or form == "native":
        return None
    with suppress(TypeError, ValueError):
        when = datetime.fromisoformat(cast("str", at))
        return None if when.tzinfo is None else _Refusal(server, cast("ToolFormat", form), when)
    return None
